#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(a_view_that_finds_no_memory_is_not_opened)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:3 b:4");
    const obb_at between = at_time(1.5);
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    struct obb_view *view = NULL;
    for (size_t n = 1; st != OBB_OK; n++) {
        fault_arm(n);
        st = obb_view_open(scene, &between, &view, NULL, NULL);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        ck_assert(obb_scene_validate(scene));
    }
    ck_assert_uint_eq(refused, 1); /* the view, and nothing for the boxes that move */
    ck_assert_str_eq(seen_in(view).text, "1@1.5 a:2 b:3");
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(views_that_are_opened_together_share_their_states)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:3 b:4");
    tick(scene, 3, "a:5");
    const struct {
        obb_at at;
        const char *seen;
        size_t same_as; /* the first moment with this view */
    } cases[] = {
        {{.kind = OBB_AT_NOW}, "3@3 a:5 b:4", 0}, {{.kind = OBB_AT_NOW}, "3@3 a:5 b:4", 0},
        {at_time(1.5), "1@1.5 a:2 b:3", 2},       {at_time(3), "3@3 a:5 b:4", 0},
        {at_time(1.5), "1@1.5 a:2 b:3", 2},       {at_ago(1.5), "1@1.5 a:2 b:3", 2},
        {at_revision(1), "1@1 a:1 b:2", 6},       {clamped(at_time(9)), "3@3 clamped a:5 b:4", 7},
        {at_time(2.5), "2@2.5 a:4 b:4", 8},
    };
    enum { MOMENTS = sizeof cases / sizeof cases[0] };
    obb_needed_moment moments[MOMENTS];
    struct obb_view *views[MOMENTS], *opened[MOMENTS];
    size_t opened_count;
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < MOMENTS; i++)
        moments[i] = (obb_needed_moment){.at = cases[i].at, .dimensions = 3};
    ck_assert_int_eq(
        obb_views_open(scene, moments, MOMENTS, &arena, views, opened, &opened_count, NULL),
        OBB_OK);
    ck_assert_uint_eq(opened_count, 3); /* of 3 states */
    for (size_t i = 0; i < MOMENTS; i++) {
        ck_assert_str_eq(seen_in(views[i]).text, cases[i].seen);
        ck_assert_ptr_eq(views[i], views[cases[i].same_as]);
    }
    ck_assert(obb_scene_validate(scene));
    for (size_t i = 0; i < opened_count; i++)
        obb_view_close(opened[i]);
    /* the views opened before a moment outside of the history are the caller's to close */
    moments[2].at = at_time(99);
    ck_assert_int_eq(
        obb_views_open(scene, moments, MOMENTS, &arena, views, opened, &opened_count, NULL),
        OBB_GONE);
    ck_assert_uint_eq(opened_count, 1);
    obb_view_close(opened[0]);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_view_leads_to_the_later_states_also_beyond_the_history)
{
    static const char *const states[] = {"1@1 a:1 b:2", "2@2 a:3 b:4", "3@3 a:5 b:4", "4@4 b:4",
                                         "5@5 b:4 c:6"};
    struct obb_scene *scene = tick_scene(1e9, 2);
    struct obb_view *views[5], *none;
    tick(scene, 1, "+a:1 +b:2");
    ck_assert_int_eq(obb_view_open(scene, NULL, &views[0], NULL, NULL), OBB_OK);
    obb_view_keep_later(views[0]);
    tick(scene, 2, "a:3 b:4");
    tick(scene, 3, "a:5");
    tick(scene, 4, "-a");
    tick(scene, 5, "+c:6");
    ck_assert_int_eq(
        obb_view_open(scene, &(obb_at){.kind = OBB_AT_REVISION, .revision = 2}, &none, NULL, NULL),
        OBB_GONE);
    for (size_t i = 1; i < 5; i++) {
        fault_arm(1);
        ck_assert_int_eq(obb_view_open_later(views[i - 1], i + 1, &views[i]), OBB_NO_MEMORY);
        fault_arm(0);
        ck_assert_int_eq(obb_view_open_later(views[i - 1], i + 1, &views[i]), OBB_OK);
        ck_assert_str_eq(seen_in(views[i]).text, states[i]);
        obb_view_close(views[i - 1]); /* the one that is open holds the rest */
        ck_assert(obb_scene_validate(scene));
    }
    obb_view_close(views[4]);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_times_of_a_moment_are_opened_one_by_one)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:3 b:4");
    tick(scene, 3, "a:5");
    const double times[] = {1.5, 3, 2.5, 1.5, -7}, beyond[] = {2, 3.25, 99};
    obb_needed_moment moments[] = {
        {.dimensions = 3},
        {.at = clamped(at_time(0)), .dimensions = 3, .times = times, .count = 5},
        {.at = at_revision(1), .dimensions = 3}};
    static const char *const expected[] = {"3@3 a:5 b:4",   "1@1.5 a:2 b:3", "3@3 a:5 b:4",
                                           "2@2.5 a:4 b:4", "1@1.5 a:2 b:3", "1@1 clamped a:1 b:2",
                                           "1@1 a:1 b:2"};
    enum { VIEWS = 7 };
    struct obb_view *views[VIEWS], *opened[VIEWS];
    size_t opened_count;
    obb_fault fault;
    struct obb_arena arena;
    obb_arena_init(&arena);
    ck_assert_int_eq(
        obb_views_open(scene, moments, 3, &arena, views, opened, &opened_count, &fault), OBB_OK);
    for (size_t i = 0; i < VIEWS; i++)
        ck_assert_str_eq(seen_in(views[i]).text, expected[i]);
    ck_assert_uint_eq(opened_count, 3); /* of the states 1 to 3 */
    ck_assert_ptr_eq(views[1], views[4]);
    const double cost = obb_views_cost(moments, 3, 1e9);
    ck_assert_double_eq_tol(cost, VIEWS * obb_views_cost(moments, 1, 1e9), 1e-6);
    ck_assert(obb_views_cost(moments, 3, cost / 2) > cost / 2);
    for (size_t i = 0; i < opened_count; i++)
        obb_view_close(opened[i]);
    /* a time outside of the history is named */
    moments[1] =
        (obb_needed_moment){.at = at_time(0), .dimensions = 3, .times = beyond, .count = 3};
    ck_assert_int_eq(
        obb_views_open(scene, moments, 3, &arena, views, opened, &opened_count, &fault), OBB_GONE);
    ck_assert(fault.group == OBB_GROUP_MOMENT && fault.index == 1 && fault.member == 1);
    ck_assert(fault.oldest.revision == 0 && fault.newest.revision == 3 && fault.newest.time == 3);
    for (size_t i = 0; i < opened_count; i++)
        obb_view_close(opened[i]);
    ck_assert(obb_scene_validate(scene));
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* What a moment means if `present` is the newest moment, as `seen` says it. */
static sight seen_as_of(struct obb_scene *scene, obb_moment present, obb_at at)
{
    const obb_needed_moment moment = {.at = at, .dimensions = 3};
    struct obb_view *view, *opened;
    size_t opened_count;
    struct obb_arena arena;
    sight out = {.text = "gone"};
    obb_arena_init(&arena);
    const obb_status st = obb_views_open_as_of(scene, &present, &moment, 1, &arena, &view, &opened,
                                               &opened_count, NULL);
    ck_assert(st == OBB_OK || st == OBB_GONE);
    ck_assert_uint_eq(opened_count, st == OBB_OK);
    if (st == OBB_OK) {
        out = seen_in(view);
        obb_view_close(opened);
    }
    obb_arena_fini(&arena);
    return out;
}

enum { ASKED = 12 };

/* A present, and what was seen then. */
struct earlier {
    obb_moment present;
    obb_at at[ASKED];
    sight saw[ASKED];
};

static obb_at random_moment(test_rng *rng, obb_moment present)
{
    const double back = (double)test_below(rng, 24) / 2 - 2;
    const obb_at moments[] = {{.kind = OBB_AT_NOW},
                              at_revision(present.revision + 2 - test_below(rng, 10)),
                              at_time(present.time - back),
                              at_time(present.time),
                              at_ago(back),
                              at_ago(0)};
    obb_at at = moments[test_below(rng, sizeof moments / sizeof moments[0])];
    at = test_below(rng, 3) == 0 ? held(at) : at;
    return test_below(rng, 3) == 0 ? clamped(at) : at;
}

/* Among the commits are some that keep the time and some that only prolong the state before. What
 * was seen at once is the expectation, as long as its state is within reach. */
START_TEST(as_of_an_earlier_present_moments_mean_what_they_meant_then)
{
    enum { COMMITS = 40, SPAN = 12 };
    static const char *const words[] = {"a:", "a!", "+b:", "-b +b:", "+a:"};
    enum { WORDS = sizeof words / sizeof words[0] };
    static struct earlier earlier[COMMITS];
    size_t same = 0, gone = 0, differ_now = 0;
    test_rng rng = {.s = 20261130};
    for (size_t round = 0; round < test_effort(30); round++) {
        struct obb_scene *scene = tick_scene(SPAN, 10);
        double time = 100;
        tick(scene, time, "+a:1 +b:2");
        for (size_t c = 0; c < COMMITS; c++) {
            char line[64];
            const size_t word = test_below(&rng, WORDS + 1);
            (void)snprintf(line, sizeof line, "%s%d", words[word % WORDS],
                           (int)test_below(&rng, 1000));
            time += (double)(test_below(&rng, 2) * test_below(&rng, 4));
            struct earlier *e = &earlier[c];
            e->present = tick(scene, time, word == WORDS ? "" : line).moment;
            for (size_t k = 0; k < ASKED; k++) {
                e->at[k] = random_moment(&rng, e->present);
                e->saw[k] = seen(scene, e->at[k]);
            }
            obb_scene_info info;
            obb_scene_info_without_bounds(scene, &info);
            for (size_t i = 0; i <= c * ASKED + ASKED - 1; i++) {
                e = &earlier[i / ASKED];
                const obb_at at = e->at[i % ASKED];
                const char *saw = e->saw[i % ASKED].text;
                const uint64_t revision = strtoull(saw, NULL, 10);
                const bool was_gone = strncmp(saw, "gone", 4) == 0;
                const bool left = e->present.revision < info.oldest.revision;
                if (!left && !was_gone && at.clamp && revision < info.oldest.revision)
                    continue; /* the oldest state is another one by now */
                const sight sees = seen_as_of(scene, e->present, at);
                if (left || was_gone || revision < info.oldest.revision) {
                    ck_assert_str_eq(sees.text, "gone");
                    gone++;
                } else {
                    ck_assert_str_eq(sees.text, saw);
                    differ_now += strcmp(seen(scene, at).text, saw) != 0;
                    same++;
                }
            }
        }
        ck_assert(obb_scene_validate(scene));
        obb_scene_destroy(scene);
    }
    printf("%zu moments meant the same, which %zu would not now; %zu were gone\n", same, differ_now,
           gone);
    ck_assert(same > 10000 && differ_now > 1000 && gone > 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tc = tcase_create("view");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_view_that_finds_no_memory_is_not_opened);
    tcase_add_test(tc, views_that_are_opened_together_share_their_states);
    tcase_add_test(tc, a_view_leads_to_the_later_states_also_beyond_the_history);
    tcase_add_test(tc, the_times_of_a_moment_are_opened_one_by_one);
    tcase_add_test(tc, as_of_an_earlier_present_moments_mean_what_they_meant_then);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
