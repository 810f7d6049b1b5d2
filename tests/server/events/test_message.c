/* Messages that several hold, and their feeds. */
#include "server/events/message.h"
#include "tests/support/test.h"

static struct srv_message *message(struct obb_budget *budget, const char *text)
{
    struct srv_message *m = srv_message_create(budget);
    ck_assert_ptr_nonnull(m);
    wire_buf_append(&m->text, text, strlen(text));
    ck_assert(!m->text.failed);
    return m;
}

START_TEST(a_message_lives_as_long_as_somebody_may_need_it)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    struct srv_feed feed = {0};
    struct srv_message *first = message(&budget, "one");
    srv_feed_append(&feed, first);
    ck_assert_uint_eq(first->end, 3);
    const size_t one = obb_budget_used(&budget);
    for (int i = 0; i < 1000; i++) { /* who has the first may need all of them */
        struct srv_message *m = message(&budget, "four");
        srv_feed_append(&feed, m);
        srv_message_unref(m);
    }
    ck_assert_uint_eq(feed.end, 3 + 1000 * 4);
    ck_assert_uint_eq(feed.newest->end, feed.end);
    ck_assert_uint_eq(obb_budget_used(&budget), 1001 * one);
    size_t count = 0;
    for (const struct srv_message *m = first; m != NULL; m = m->next)
        count++;
    ck_assert_uint_eq(count, 1001);
    srv_message_unref(first);
    ck_assert_uint_eq(obb_budget_used(&budget), one); /* the newest */
    srv_feed_fini(&feed);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_message_unref(NULL);
    ck_assert_ptr_null(srv_message_ref(NULL));
}
END_TEST

START_TEST(without_room_there_is_none)
{
    struct obb_budget budget;
    obb_budget_init(&budget, sizeof(struct srv_message) + 64);
    struct srv_message *m = srv_message_create(&budget);
    ck_assert_ptr_nonnull(m);
    ck_assert_ptr_null(srv_message_create(&budget));
    wire_buf_append(&m->text, "text", 4);
    ck_assert(m->text.failed);
    srv_message_unref(m);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tc = tcase_create("message");
    tcase_add_test(tc, a_message_lives_as_long_as_somebody_may_need_it);
    tcase_add_test(tc, without_room_there_is_none);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
