#include "core/query/cost.h"

#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

START_TEST(a_query_costs_by_its_items_and_what_they_want)
{
    struct obb_scene *scene = tick_scene(100, 64);
    tick(scene, 0, "+a:0 +b:1 +c:2 +d:9");
    tick(scene, 10, "a:5");
    const obb_at between = at_time(5);
    struct obb_view *now = NULL, *moving = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &now, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_view_open(scene, &between, &moving, NULL, NULL), OBB_OK);
    for (int kind = 0; kind < OBB_QUERY_KINDS; kind++) {
        if (kind == OBB_QUERY_ALL_PAIRS)
            continue;
        obb_query query = {.kind = (obb_query_kind)kind, .k = 3};
        const double nothing = obb_query_cost(now, &query);
        const double item = obb_query_item_cost(now, &query);
        const double step = obb_query_step_cost(now, &query);
        query.count = 1000;
        ck_assert(nothing > 0.0 && item > 0.0 && step > 0.0);
        ck_assert_double_eq(obb_query_cost(now, &query), nothing + 1000 * item);
        query.count = 0;
        /* Poses between two commits must be worked out. */
        ck_assert(obb_query_step_cost(moving, &query) > step);
        ck_assert((kind == OBB_QUERY_PAIRS) == (obb_query_item_cost(moving, &query) == item));
        query.want = OBB_WANT_VOLUME;
        const bool of_pairs = kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_OVERLAP;
        ck_assert(of_pairs == (obb_query_item_cost(now, &query) > item));
        query.want = OBB_WANT_POSE;
        ck_assert(obb_query_step_cost(now, &query) > step);
    }
    obb_view_close(now);
    obb_view_close(moving);
    obb_scene_destroy(scene);
}
END_TEST

/* A test by distances takes ten times as long as one by axes. */
START_TEST(a_candidate_costs_what_its_test_takes)
{
    struct obb_scene *scene = tick_scene(100, 64);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    obb_shape sphere, frustum;
    ck_assert_int_eq(obb_shape_sphere((obb_vec3){0, 0, 0}, 1, &sphere), OBB_OK);
    ck_assert_int_eq(obb_shape_frustum(identity, &frustum), OBB_OK);
    const obb_query_shape shapes[] = {{.is_ref = true}, {.shape = &sphere}, {.shape = &frustum}};
    obb_query query = {
        .kind = OBB_QUERY_OVERLAP, .dimensions = 3, .count = 2, .items.shapes = shapes};
    const double usual = obb_query_step_cost(view, &query);
    query.margin = 0.5;
    const double apart = obb_query_step_cost(view, &query);
    query.count = 3;
    const double both = obb_query_step_cost(view, &query);
    query.margin = 0;
    ck_assert_double_eq(obb_query_step_cost(view, &query), apart);
    ck_assert(usual * 10 < apart && apart * 1.5 < both && both < usual * 30);
    query = (obb_query){.kind = OBB_QUERY_NEAREST, .dimensions = 3, .k = 1};
    const double of_points = obb_query_step_cost(view, &query);
    query.of_boxes = true;
    ck_assert(of_points * 10 < obb_query_step_cost(view, &query));
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(what_a_filter_excludes_is_counted)
{
    struct obb_scene *scene = tick_scene(100, 64);
    tick(scene, 0, "+a:0");
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const double times[] = {0, 0, 0};
    const obb_edit nothing = {.dimensions = 3};
    for (int kind = 0; kind < OBB_QUERY_KINDS; kind++) {
        obb_query query = {.kind = (obb_query_kind)kind, .dimensions = 3, .count = 3};
        const double bare = obb_query_cost(view, &query);
        query.filter.exclude_id_count = 100000;
        const double ids = obb_query_cost(view, &query) - bare;
        query.filter = (obb_filter){.exclude_count = 100000};
        const double names = obb_query_cost(view, &query) - bare;
        query.filter = (obb_filter){.exclude_entity_count = 100000};
        ck_assert_double_eq(obb_query_cost(view, &query) - bare, names);
        ck_assert(1e6 < ids && ids < names && 10e6 < names && names < 100e6);
        if (kind != OBB_QUERY_RAY)
            continue;
        /* once for all states, but for each state that has boxes of its own */
        query.times = times;
        const double once = obb_query_cost(view, &query);
        query.with = &nothing;
        ck_assert(obb_query_cost(view, &query) - once > 1.9 * names);
    }
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

/* The boxes of a moved frame are copied and posed: which ones stand in it, is not known before. */
START_TEST(changes_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it)
{
    struct obb_scene *scene = tick_scene(100, 64);
    tick(scene, 0, "+a:0 +b:1 +c:2 +d:9");
    const obb_pose frame = {.target.name = obb_str_of("ann"), .has_center = true};
    const obb_edit moves = {.dimensions = 3, .frames = &frame, .frame_count = 1};
    obb_query query = {.kind = OBB_QUERY_POINT, .dimensions = 3, .count = 1, .with = &moves};
    double cost[2];
    for (int framed = 0; framed < 2; framed++) {
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        cost[framed] = obb_query_cost(view, &query);
        obb_view_close(view);
        struct obb_arena arena;
        struct obb_prepared *prepared;
        obb_committed committed;
        obb_fault fault;
        obb_arena_init(&arena);
        ck_assert_int_eq(obb_edit_prepare(scene, &moves, 0.0, 9, &arena, &prepared, &fault),
                         OBB_OK);
        obb_edit_commit(prepared, &committed);
        obb_arena_fini(&arena);
    }
    ck_assert(cost[1] - cost[0] > 7e3 && cost[1] - cost[0] < 10e3); /* 2 us for each of four */
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *tc = tcase_create("cost");
    tcase_add_test(tc, a_query_costs_by_its_items_and_what_they_want);
    tcase_add_test(tc, a_candidate_costs_what_its_test_takes);
    tcase_add_test(tc, what_a_filter_excludes_is_counted);
    tcase_add_test(tc, changes_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
