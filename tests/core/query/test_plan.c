#include "core/query/plan.h"

#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

static struct obb_view *row_of_boxes(struct obb_scene **out_scene)
{
    *out_scene = tick_scene(0, 0);
    tick(*out_scene, 0, "+a:0 +b:1 +c:2 +d:9");
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(*out_scene, NULL, &view, NULL, NULL), OBB_OK);
    return view;
}

START_TEST(a_plan_has_its_result_after_the_last_phase)
{
    struct obb_scene *scene;
    struct obb_view *view = row_of_boxes(&scene);
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = 10};
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, &plan), OBB_OK);
    obb_status status = OBB_OK;
    size_t phases = 0;
    for (size_t chunks; (chunks = obb_plan_advance(plan, &status)) > 0; phases++)
        for (size_t i = chunks; i-- > 0;) /* in any order */
            ck_assert_int_eq(obb_plan_chunk(plan, i), OBB_OK);
    ck_assert_int_eq(status, OBB_OK);
    ck_assert_uint_ge(phases, 2);
    const obb_result *result = obb_plan_result(plan);
    ck_assert(result->count == 3 && result->pair_count == 3 && !result->truncated);
    ck_assert_uint_eq(obb_view_id(result->pairs[2].a), 2); /* b and c */
    ck_assert_uint_eq(obb_view_id(result->pairs[2].b), 3);
    obb_plan_destroy(plan);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_plan_is_refused_or_ends_as_it_should)
{
    struct obb_scene *scene;
    struct obb_view *view = row_of_boxes(&scene);
    const obb_vec3 points[] = {{0.5, 0, 0}, {5, 0, 0}};
    obb_query query = {.kind = OBB_QUERY_POINT,
                       .dimensions = 2,
                       .count = 2,
                       .items = {.points = points},
                       .limit = 10};
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, &plan), OBB_DIMENSIONS);
    ck_assert_ptr_null(plan);
    query.dimensions = 3;

    double ns = 1e9;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_try(plan, &ns), OBB_OK);
    ck_assert(0.0 < ns && ns < 1e9);
    ck_assert_uint_eq(obb_plan_result(plan)->answers[0].hit_count, 2);
    ck_assert_uint_eq(obb_plan_result(plan)->answers[1].hit_count, 0);
    obb_plan_destroy(plan);

    const atomic_bool cancel = true;
    ck_assert_int_eq(obb_plan_create(view, &query, &cancel, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_CANCELLED);
    obb_plan_destroy(plan);
    obb_plan_destroy(NULL);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tc = tcase_create("plan");
    tcase_add_test(tc, a_plan_has_its_result_after_the_last_phase);
    tcase_add_test(tc, a_plan_is_refused_or_ends_as_it_should);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
