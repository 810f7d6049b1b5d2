#include "core/query/plan.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>
#include <string.h>

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
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
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
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_DIMENSIONS);
    ck_assert_ptr_null(plan);
    query.dimensions = 3;

    double ns = 1e9;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_try(plan, &ns), OBB_OK);
    ck_assert(0.0 < ns && ns < 1e9);
    ck_assert_uint_eq(obb_plan_result(plan)->answers[0].hit_count, 2);
    ck_assert_uint_eq(obb_plan_result(plan)->answers[1].hit_count, 0);
    obb_plan_destroy(plan);

    const atomic_bool cancel = true;
    ck_assert_int_eq(obb_plan_create(view, &query, &cancel, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_CANCELLED);
    obb_plan_destroy(plan);
    obb_plan_destroy(NULL);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Budgets --------------------------------------------------------------------------------- */

enum { HEAP = 300 };

/* Boxes in one place: each overlaps all others. */
static struct obb_view *heap_of_boxes(struct obb_scene **out_scene)
{
    static char text[HEAP * 16];
    size_t length = 0;
    for (int i = 0; i < HEAP; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s+n%d:0", i > 0 ? " " : "", i);
    *out_scene = tick_scene(0, 0);
    tick(*out_scene, 0, text);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(*out_scene, NULL, &view, NULL, NULL), OBB_OK);
    return view;
}

static obb_status run(const struct obb_view *view, const obb_query *query,
                      struct obb_budget *budget, size_t *out_held)
{
    struct obb_plan *plan;
    obb_status status = obb_plan_create(view, query, NULL, budget, &plan);
    if (status != OBB_OK)
        return status;
    status = obb_plan_run(plan);
    *out_held = obb_budget_used(budget);
    obb_plan_destroy(plan);
    return status;
}

START_TEST(every_kind_of_plan_keeps_within_its_budget)
{
    struct obb_scene *scene;
    struct obb_view *view = heap_of_boxes(&scene);
    enum { ITEMS = 64 };
    static obb_ref refs[ITEMS][2];
    static obb_query_shape shapes[ITEMS];
    static obb_vec3 points[ITEMS];
    static obb_ray rays[ITEMS];
    static obb_query_sweep sweeps[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        refs[i][0] = refs[i][1] = (obb_ref){.kind = OBB_REF_ID, .id = 1};
        shapes[i] = (obb_query_shape){.is_ref = true, .ref = refs[i][0]};
        ck_assert_int_eq(obb_ray_make((obb_vec3){-9, 0, 0}, (obb_vec3){1, 0, 0}, 99, &rays[i]),
                         OBB_OK);
        sweeps[i] = (obb_query_sweep){.ref = refs[i][0], .motion = {3, 0, 0}};
    }
    const obb_query base = {
        .dimensions = 3, .count = ITEMS, .limit = 1000000, .k = HEAP, .max_distance = 1e9};
    obb_query queries[9];
    for (int i = 0; i < 9; i++) {
        queries[i] = base;
        queries[i].kind = i < OBB_QUERY_KINDS ? (obb_query_kind)i : OBB_QUERY_ALL_PAIRS;
        queries[i].mode = OBB_ALL;
        if (queries[i].kind == OBB_QUERY_ALL_PAIRS)
            queries[i].count = 0;
    }
    queries[OBB_QUERY_PAIRS].items.pairs = (const obb_ref(*)[2])refs;
    queries[OBB_QUERY_OVERLAP].items.shapes = shapes;
    queries[OBB_QUERY_POINT].items.points = queries[OBB_QUERY_NEAREST].items.points = points;
    queries[OBB_QUERY_RAY].items.rays = rays;
    queries[OBB_QUERY_SWEEP].items.sweeps = sweeps;
    queries[7].paged = true;
    queries[8].want = OBB_WANT_RELATION;
    for (int i = 0; i < 9; i++) {
        size_t refused = 0, held = 0, least = 0;
        obb_status status = OBB_NO_MEMORY;
        for (size_t limit = 1; status != OBB_OK; limit += limit / 4 + 1) {
            struct obb_budget budget;
            obb_budget_init(&budget, limit);
            status = run(view, &queries[i], &budget, &held);
            ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
            ck_assert_uint_eq(obb_budget_used(&budget), 0);
            refused += status == OBB_NO_MEMORY;
            least = limit;
        }
        (void)printf("query %d: %zu refused, takes %zu bytes, holds %zu\n", i, refused, least,
                     held);
        ck_assert_uint_gt(refused, 0);
        ck_assert_uint_gt(held, 0);
        ck_assert_uint_le(held, least);
        status = OBB_NO_MEMORY;
        for (size_t n = 1; status != OBB_OK; n++) {
            struct obb_budget budget;
            obb_budget_init(&budget, 1u << 30);
            fault_arm(n);
            status = run(view, &queries[i], &budget, &held);
            fault_arm(0);
            ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
            ck_assert_uint_eq(obb_budget_used(&budget), 0);
        }
    }
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
    tcase_add_test(tc, every_kind_of_plan_keeps_within_its_budget);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
