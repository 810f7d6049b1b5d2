#include "server/scenes/remembered.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static struct srv_remembered *list;
static struct obb_budget budget;

static void begin(void)
{
    obb_budget_init(&budget, (size_t)64 << 20);
    list = srv_remembered_create(&budget);
    ck_assert_ptr_nonnull(list);
}

static void end(void)
{
    srv_remembered_destroy(list);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}

static obb_str id_of(size_t n)
{
    static char text[24];
    (void)snprintf(text, sizeof text, "commit-%zu", n);
    return obb_str_of(text);
}

static void push(size_t n, const char *outcome, double time)
{
    const obb_moment moment = {n, time};
    ck_assert(srv_remembered_push(list, id_of(n), obb_str_of(outcome), moment, false));
}

static void publish(size_t n, const char *outcome, double time)
{
    push(n, outcome, time);
    srv_remembered_publish(list);
}

static bool knows(size_t n, double time)
{
    const srv_remembered_commit *commit = srv_remembered_find(list, id_of(n), time);
    ck_assert(commit == NULL || commit->moment.revision == n);
    return commit != NULL;
}

START_TEST(pending_commits_are_published_in_order_and_reverted_from_the_end)
{
    push(1, "one", 10);
    push(2, "two", 20);
    push(3, "", 30);
    ck_assert(srv_remembered_find(list, id_of(2), 30)->pending);
    ck_assert_ptr_null(srv_remembered_at(list, 0));
    srv_remembered_publish(list);
    srv_remembered_revert(list);
    ck_assert(!srv_remembered_find(list, id_of(1), 30)->pending && knows(2, 30) && !knows(3, 30));
    ck_assert(obb_str_equal(srv_remembered_at(list, 0)->outcome, obb_str_of("one")));
    ck_assert_ptr_null(srv_remembered_at(list, 1));
    srv_remembered_revert(list);
    ck_assert(knows(1, 30) && !knows(2, 30));
    ck_assert_ptr_null(srv_remembered_find(NULL, id_of(1), 30));
}
END_TEST

START_TEST(as_many_are_remembered_as_is_said)
{
    enum { COMMITS = 5000 };
    for (size_t n = 1; n <= COMMITS; n++) {
        publish(n, "x", (double)n);
        ck_assert(knows(n, (double)n));
    }
    size_t known = 0;
    for (size_t n = 1; n <= COMMITS; n++)
        known += knows(n, COMMITS);
    ck_assert_uint_eq(known, SRV_REMEMBERED_COMMITS);
    ck_assert(knows(COMMITS - SRV_REMEMBERED_COMMITS + 1, COMMITS));
    for (size_t i = 0; i < known; i++)
        ck_assert_uint_eq(srv_remembered_at(list, i)->moment.revision, COMMITS - known + 1 + i);
    printf("%zu of %d commits\n", known, COMMITS);
}
END_TEST

START_TEST(they_are_forgotten_after_ten_minutes_of_the_scene)
{
    publish(1, "x", 1000);
    ck_assert(knows(1, 1000 + SRV_REMEMBERED_MS) && !knows(1, 1001 + SRV_REMEMBERED_MS));
    publish(2, "x", 1001 + SRV_REMEMBERED_MS);
    ck_assert_uint_eq(srv_remembered_at(list, 0)->moment.revision, 2);
    push(3, "x", 0); /* one on its way is known at any time */
    ck_assert(knows(3, 1e15));
}
END_TEST

START_TEST(their_bytes_are_bounded)
{
    enum { LONG = 100000 };
    static char text[LONG + 1];
    memset(text, 'x', LONG);
    for (size_t n = 1; n <= 200; n++)
        publish(n, text, 1);
    size_t known = 0;
    for (size_t n = 1; n <= 200; n++)
        known += knows(n, 1);
    ck_assert_uint_eq(known, SRV_REMEMBERED_BYTES / (LONG + id_of(100).length));
    ck_assert(obb_budget_used(&budget) < SRV_REMEMBERED_BYTES + ((size_t)1 << 20));
    /* one that is too large alone is not remembered */
    static char huge[SRV_REMEMBERED_BYTES + 2];
    memset(huge, 'x', sizeof huge - 1);
    publish(201, huge, 1);
    ck_assert(!knows(201, 1) && !knows(200, 1));
    budget.limit = obb_budget_used(&budget);
    ck_assert(!srv_remembered_push(list, id_of(202), obb_str_of(text), (obb_moment){0}, false));
    ck_assert(!knows(202, 1));
}
END_TEST

/* What the journal says is remembered also if there is no room, and takes the room of others. */
START_TEST(what_must_be_remembered_needs_no_room)
{
    enum { COMMITS = 100 };
    static char ids[COMMITS][24];
    static srv_restored_commit commits[COMMITS];
    for (size_t i = 0; i < COMMITS; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "commit-%zu", i + 1);
        commits[i] = (srv_restored_commit){
            .id = obb_str_of(ids[i]), .answer = obb_str_of("it was made"), .moment = {i + 1, 1}};
    }
    budget.limit = 0;
    ck_assert(!srv_remembered_push(list, id_of(1), obb_str_of("x"), (obb_moment){1, 1}, false));
    ck_assert(srv_remembered_resume(&list, &budget, commits, COMMITS));
    ck_assert(knows(1, 1) && knows(COMMITS, 1));
    ck_assert_uint_gt(obb_budget_used(&budget), COMMITS * (sizeof "it was made" - 1));
    ck_assert(!srv_remembered_push(list, id_of(0), obb_str_of("x"), (obb_moment){0}, false));
    ck_assert(srv_remembered_push(list, id_of(0), obb_str_of("x"), (obb_moment){0}, true));
    srv_remembered_revert(list);
    ck_assert(!knows(0, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remembered");
    TCase *tc = tcase_create("remembered");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, pending_commits_are_published_in_order_and_reverted_from_the_end);
    tcase_add_test(tc, as_many_are_remembered_as_is_said);
    tcase_add_test(tc, they_are_forgotten_after_ten_minutes_of_the_scene);
    tcase_add_test(tc, their_bytes_are_bounded);
    tcase_add_test(tc, what_must_be_remembered_needs_no_room);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
