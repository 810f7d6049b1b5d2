#include "core/query/plan.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <math.h>
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

/* ---- Times ----------------------------------------------------------------------------------- */

enum { NAMES = 12, COMMITS = 20, RAYS = 300 };

/* Commits that move boxes on a line, and remove some, which later come again as other boxes. */
static struct obb_scene *busy_scene(test_rng *rng)
{
    struct obb_scene *scene = tick_scene(1e6, 64);
    bool there[NAMES] = {false};
    for (int t = 0; t < COMMITS; t++) {
        char edit[NAMES * 8] = "";
        for (int i = 0; i < NAMES; i++) {
            char part[8];
            const int x = (int)test_below(rng, 90);
            if (!there[i])
                (void)snprintf(part, sizeof part, "+%c:%d ", 'a' + i, x);
            else if (test_below(rng, 8) == 0)
                (void)snprintf(part, sizeof part, "-%c ", 'a' + i);
            else
                (void)snprintf(part, sizeof part, "%c:%d ", 'a' + i, x);
            there[i] = part[0] != '-';
            /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy) */
            (void)strcat(edit, part);
        }
        tick(scene, t * 10, edit);
    }
    return scene;
}

/* The answer of a ray alone, in a view of its time. */
static obb_hit alone(struct obb_scene *scene, const obb_query *query, size_t ray, uint64_t *out_id)
{
    obb_query one = *query;
    obb_at at = query->at;
    struct obb_view *view;
    struct obb_plan *plan;
    obb_hit hit = {.distance = -1};
    at.time = query->times[ray];
    one.items.rays = &query->items.rays[ray];
    one.count = 1;
    one.times = NULL;
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_plan_create(view, &one, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    ck_assert(result->views == NULL && result->answer_count == 1);
    if (result->answers[0].hit_count > 0) {
        hit = result->answers[0].hits[0];
        *out_id = obb_view_id(hit.box);
    }
    obb_plan_destroy(plan);
    obb_view_close(view);
    return hit;
}

/* Changes that every state takes: "b" goes, "a" is another box or a new one, "z" is new. */
static const obb_edit *changes(void)
{
    static obb_target gone;
    static obb_put puts[2];
    static obb_edit edit;
    gone = (obb_target){.name = obb_str_of("b")};
    for (int i = 0; i < 2; i++)
        puts[i] = (obb_put){.target = {.name = obb_str_of(i == 0 ? "a" : "z")},
                            .parts = OBB_PUT_ALL,
                            .box = {.center = {20 + 40 * i, 0, 0},
                                    .half_extents = {3, 3, 3},
                                    .rotation = {0, 0, 0, 1}},
                            .attributes = {.category = 1, .mask = UINT32_MAX}};
    edit = (obb_edit){
        .dimensions = 3, .removes = &gone, .remove_count = 1, .puts = puts, .put_count = 2};
    return &edit;
}

START_TEST(rays_with_times_hit_what_they_hit_alone)
{
    test_rng rng = {.s = 20261122};
    size_t hits = 0, misses = 0, excluded = 0, between = 0, changed = 0;
    for (int round = 0; round < 16; round++) { /* in the second half of them with changes */
        struct obb_scene *scene = busy_scene(&rng);
        static obb_ray rays[RAYS];
        static double times[RAYS];
        const obb_str names[] = {obb_str_of("a"), obb_str_of("d"), obb_str_of("nobody")};
        for (size_t i = 0; i < RAYS; i++) {
            const double x = test_uniform(&rng, -5, 95);
            ck_assert_int_eq(obb_ray_make((obb_vec3){x, 0, 0},
                                          (obb_vec3){test_below(&rng, 2) ? 1 : -1, 0, 0}, 8,
                                          &rays[i]),
                             OBB_OK);
            times[i] = test_below(&rng, 4) == 0 ? (double)test_below(&rng, COMMITS) * 10
                                                : test_uniform(&rng, -20, COMMITS * 10);
        }
        obb_query query = {
            .kind = OBB_QUERY_RAY,
            .dimensions = 3,
            .count = RAYS,
            .items = {.rays = rays},
            .times = times,
            .limit = 10,
            .with = round >= 8 ? changes() : NULL,
            .at = {.kind = OBB_AT_TIME, .clamp = true, .no_interpolation = round % 4 == 3}};
        if (round % 2 == 1) {
            query.filter.exclude = names;
            query.filter.exclude_count = 3;
        }
        const obb_needed_moment moments = obb_query_moments(&query);
        struct obb_view *views[RAYS], *opened[RAYS];
        size_t opened_count;
        struct obb_arena arena;
        obb_arena_init(&arena);
        ck_assert_int_eq(
            obb_views_open(scene, &moments, 1, &arena, views, opened, &opened_count, NULL), OBB_OK);
        struct obb_plan *plan;
        ck_assert_int_eq(
            obb_plan_create_timed((const struct obb_view *const *)views, &query, NULL, NULL, &plan),
            OBB_OK);
        double ns = 1e9;
        ck_assert_int_eq(round % 8 < 4 ? obb_plan_run(plan) : obb_plan_try(plan, &ns), OBB_OK);
        const obb_result *result = obb_plan_result(plan);
        ck_assert_uint_eq(result->answer_count, RAYS);
        for (size_t i = 0; i < RAYS; i++) {
            uint64_t id = 0;
            const obb_hit truth = alone(scene, &query, i, &id);
            const obb_answer *answer = &result->answers[i];
            ck_assert(query.with != NULL || result->views[i] == views[i]);
            ck_assert(obb_view_info_get(result->views[i])->at.time ==
                      obb_view_info_get(views[i])->at.time);
            ck_assert_uint_eq(answer->hit_count, truth.box != NULL);
            misses += truth.box == NULL;
            between += obb_view_info_get(views[i])->at.time != floor(times[i] / 10) * 10;
            if (truth.box == NULL)
                continue;
            hits++;
            ck_assert_uint_eq(obb_view_id(answer->hits[0].box), id);
            ck_assert(answer->hits[0].distance == truth.distance &&
                      answer->hits[0].point.x == truth.point.x);
            const char name = obb_view_name(answer->hits[0].box).bytes[0];
            ck_assert(round % 2 == 0 || (name != 'a' && name != 'd'));
            excluded += round % 2 == 0 && (name == 'a' || name == 'd');
            changed += name == 'z' || (name == 'a' && query.with != NULL);
            ck_assert(name != 'b' || query.with == NULL);
            ck_assert(name != 'z' || query.with != NULL);
        }
        obb_plan_destroy(plan);
        for (size_t i = 0; i < opened_count; i++)
            obb_view_close(opened[i]);
        obb_arena_fini(&arena);
        obb_scene_destroy(scene);
    }
    printf("%zu hits, %zu misses, %zu of boxes that a filter leaves out, %zu between commits, %zu "
           "of boxes that a query puts\n",
           hits, misses, excluded, between, changed);
    ck_assert(hits > 1200 && misses > 200 && excluded > 100 && between > 1200 && changed > 300);
}
END_TEST

/* Rays of equal times share what is laid over their state, and a change that one state refuses ends
 * the query. */
START_TEST(changes_are_laid_over_each_state_once)
{
    enum { MANY = 4000 };
    struct obb_scene *scene = tick_scene(1e6, 64);
    tick(scene, 0, "+a:0");
    tick(scene, 10, "a:10");
    tick(scene, 20, "-a +b:5");
    static obb_ray rays[MANY];
    static double times[MANY];
    static struct obb_view *views[MANY], *opened[MANY];
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(obb_ray_make((obb_vec3){-9, 0, 0}, (obb_vec3){1, 0, 0}, 99, &rays[i]),
                         OBB_OK);
        times[i] = (double)(i % 3) * 5;
    }
    const obb_pose pose = {
        .target = {.name = obb_str_of("a")}, .has_center = true, .center = {40, 0, 0}};
    const obb_edit moved = {.dimensions = 3, .poses = &pose, .pose_count = 1};
    obb_query query = {.kind = OBB_QUERY_RAY,
                       .dimensions = 3,
                       .count = MANY,
                       .items = {.rays = rays},
                       .times = times,
                       .limit = 10,
                       .with = &moved,
                       .at = {.kind = OBB_AT_TIME, .clamp = true}};
    for (int round = 0; round < 2; round++) {
        struct obb_budget budget;
        struct obb_arena arena;
        struct obb_plan *plan;
        size_t opened_count;
        obb_budget_init(&budget, (size_t)4 << 20); /* of 1 KiB a ray */
        obb_arena_init(&arena);
        const obb_needed_moment moments = obb_query_moments(&query);
        ck_assert_int_eq(
            obb_views_open(scene, &moments, 1, &arena, views, opened, &opened_count, NULL), OBB_OK);
        ck_assert_int_eq(obb_plan_create_timed((const struct obb_view *const *)views, &query, NULL,
                                               &budget, &plan),
                         OBB_OK);
        ck_assert_int_eq(obb_plan_run(plan), round == 0 ? OBB_OK : OBB_NO_BOX);
        if (round == 0) {
            for (size_t i = 0; i < MANY; i++)
                ck_assert(obb_plan_result(plan)->answers[i].hits[0].distance == 48);
            ck_assert_ptr_eq(obb_plan_result(plan)->views[0], obb_plan_result(plan)->views[3]);
            ck_assert_ptr_ne(obb_plan_result(plan)->views[0], obb_plan_result(plan)->views[1]);
        } else {
            ck_assert_int_eq(obb_plan_fault(plan)->group, OBB_GROUP_POSE);
        }
        obb_plan_destroy(plan);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        for (size_t i = 0; i < opened_count; i++)
            obb_view_close(opened[i]);
        obb_arena_fini(&arena);
        times[MANY - 1] = 20; /* "a" is not there any more */
    }
    obb_scene_destroy(scene);
}
END_TEST

/* A name is excluded in every state, whichever box has it there. */
START_TEST(a_name_is_excluded_at_all_times)
{
    struct obb_scene *scene = tick_scene(1e6, 64);
    tick(scene, 0, "+a:0");
    tick(scene, 10, "-a");
    tick(scene, 20, "+a:0 +b:50");
    tick(scene, 30, "-a -b");
    tick(scene, 40, "+b:0");
    obb_ray rays[3];
    const double times[3] = {5, 25, 40};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(obb_ray_make((obb_vec3){-9, 0, 0}, (obb_vec3){1, 0, 0}, 20, &rays[i]),
                         OBB_OK);
    const obb_str name = obb_str_of("a");
    for (size_t excluding = 0; excluding < 2; excluding++) {
        const obb_query query = {.kind = OBB_QUERY_RAY,
                                 .dimensions = 3,
                                 .count = 3,
                                 .items = {.rays = rays},
                                 .times = times,
                                 .limit = 10,
                                 .filter = {.exclude = &name, .exclude_count = excluding},
                                 .at = {.kind = OBB_AT_TIME}};
        const obb_needed_moment moments = obb_query_moments(&query);
        struct obb_view *views[3], *opened[3];
        size_t opened_count;
        struct obb_arena arena;
        obb_arena_init(&arena);
        ck_assert_int_eq(
            obb_views_open(scene, &moments, 1, &arena, views, opened, &opened_count, NULL), OBB_OK);
        struct obb_plan *plan;
        ck_assert_int_eq(
            obb_plan_create_timed((const struct obb_view *const *)views, &query, NULL, NULL, &plan),
            OBB_OK);
        ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
        const obb_result *result = obb_plan_result(plan);
        ck_assert_uint_eq(result->answers[0].hit_count, 1 - excluding);
        ck_assert_uint_eq(result->answers[1].hit_count, 1 - excluding);
        ck_assert_uint_eq(result->answers[2].hit_count, 1);
        obb_plan_destroy(plan);
        for (size_t i = 0; i < opened_count; i++)
            obb_view_close(opened[i]);
        obb_arena_fini(&arena);
    }
    obb_scene_destroy(scene);
}
END_TEST

/* A filter may exclude millions of names. */
START_TEST(excluded_names_are_looked_up_until_somebody_cancels)
{
    enum { MANY = 20000, TRIES = 20 };
    struct obb_scene *scene;
    struct obb_view *view = row_of_boxes(&scene);
    static obb_str names[MANY];
    static uint64_t ids[MANY];
    const obb_vec3 point = {0.5, 0, 0};
    for (size_t i = 0; i < MANY; i++) {
        names[i] = obb_str_of(i % 2 == 0 ? "a" : "nobody");
        ids[i] = MANY - i + 1; /* not 1, which is "a" */
    }
    const obb_filter filters[] = {
        {.exclude = names, .exclude_count = MANY},
        {.exclude_ids = ids, .exclude_id_count = MANY},
        {.exclude_entities = names, .exclude_entity_count = MANY},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const atomic_bool cancel = false;
        const obb_query query = {.kind = OBB_QUERY_POINT,
                                 .dimensions = 3,
                                 .count = 1,
                                 .items = {.points = &point},
                                 .limit = 10,
                                 .filter = filters[i]};
        struct obb_budget budget;
        struct obb_plan *plan = NULL;
        obb_budget_init(&budget, SIZE_MAX);
        fault_cancel(0);
        ck_assert_int_eq(obb_plan_create(view, &query, &cancel, &budget, &plan), OBB_OK);
        const size_t polls = fault_polls();
        ck_assert_uint_ge(polls, MANY / 64);
        ck_assert_uint_ge(obb_budget_used(&budget), MANY * sizeof(uint64_t));
        ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
        ck_assert_uint_eq(obb_plan_result(plan)->answers[0].hit_count, i == 2 ? 2 : 1);
        obb_plan_destroy(plan);
        for (size_t n = 1; n <= polls; n += polls / TRIES) {
            plan = NULL;
            fault_cancel(n);
            ck_assert_int_eq(obb_plan_create(view, &query, &cancel, &budget, &plan), OBB_CANCELLED);
            ck_assert(plan == NULL && obb_budget_used(&budget) == 0);
        }
        fault_cancel(0);
        obb_budget_init(&budget, MANY);
        ck_assert_int_eq(obb_plan_create(view, &query, NULL, &budget, &plan), OBB_NO_MEMORY);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
    }
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_state_of_other_dimensions_refuses_the_rays)
{
    struct obb_scene *scene = tick_scene(1e6, 64);
    obb_settings settings = {.dimensions = 2, .history_span = 1e6, .history_commits = 64};
    bool changed;
    tick(scene, 0, "");
    ck_assert_int_eq(tick_configure(scene, &settings, 10, &changed), OBB_OK);
    obb_ray ray[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(obb_ray_make((obb_vec3){0}, (obb_vec3){1, 0, 0}, 1, &ray[i]), OBB_OK);
    struct obb_view *views[2];
    ck_assert_int_eq(
        obb_view_open(scene, &(obb_at){.kind = OBB_AT_REVISION}, &views[0], NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_view_open(scene, NULL, &views[1], NULL, NULL), OBB_OK);
    const obb_query query = {.kind = OBB_QUERY_RAY,
                             .dimensions = 3,
                             .count = 2,
                             .items = {.rays = ray},
                             .times = (const double[]){0, 10}};
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(
        obb_plan_create_timed((const struct obb_view *const *)views, &query, NULL, NULL, &plan),
        OBB_DIMENSIONS);
    ck_assert_ptr_null(plan);
    obb_view_close(views[0]);
    obb_view_close(views[1]);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tc = tcase_create("plan");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_plan_has_its_result_after_the_last_phase);
    tcase_add_test(tc, a_plan_is_refused_or_ends_as_it_should);
    tcase_add_test(tc, every_kind_of_plan_keeps_within_its_budget);
    tcase_add_test(tc, rays_with_times_hit_what_they_hit_alone);
    tcase_add_test(tc, changes_are_laid_over_each_state_once);
    tcase_add_test(tc, a_name_is_excluded_at_all_times);
    tcase_add_test(tc, excluded_names_are_looked_up_until_somebody_cancels);
    tcase_add_test(tc, a_state_of_other_dimensions_refuses_the_rays);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
