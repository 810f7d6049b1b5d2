#include "core/scene/motion.h"

#include "core/obb.h"
#include "core/query/cost.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <pthread.h>
#include <stdio.h>

enum { BOXES = 500 };
/* NOLINTNEXTLINE(readability-identifier-naming) */
static const double LOOP_NS = 1e5; /* of the server's loop */

/* A scene of a row of boxes, of which the first `moving` move by 10 from time 0 to 10. */
static struct obb_scene *moving_scene(int moving)
{
    static char text[BOXES * 20];
    struct obb_scene *scene = tick_scene(1000, 64);
    size_t length = 0;
    for (int i = 0; i < BOXES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "+b%d:%d ", i, i);
    text[length - 1] = '\0';
    tick(scene, 0, text);
    length = 0;
    for (int i = 0; i < moving; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "b%d:%d ", i, i + 10);
    text[length - 1] = '\0';
    tick(scene, 10, text);
    return scene;
}

static struct obb_view *open_at(struct obb_scene *scene, double time)
{
    const obb_at at = at_time(time);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    return view;
}

/* NOLINTNEXTLINE(readability-identifier-naming) */
static const obb_vec3 POINT = {105, 0, 0}; /* half way of b100 */
/* NOLINTNEXTLINE(readability-identifier-naming) */
static const obb_ref PAIR[1][2] = {{{.kind = OBB_REF_ID, .id = 1}, {.kind = OBB_REF_ID, .id = 2}}};
/* NOLINTNEXTLINE(readability-identifier-naming) */
static const obb_query POINT_QUERY = {
    .kind = OBB_QUERY_POINT, .dimensions = 3, .count = 1, .items = {.points = &POINT}, .limit = 10};

/* Returns how many boxes the query finds. */
static size_t ask(const struct obb_view *view, const obb_query *query)
{
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_plan_create(view, query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const size_t found = obb_plan_result(plan)->answers[0].hit_count;
    obb_plan_destroy(plan);
    return found;
}

START_TEST(only_a_query_that_walks_builds_the_index)
{
    struct obb_scene *scene = moving_scene(BOXES);
    const size_t before = scene->layer_bytes;
    fault_arm(0);
    struct obb_view *view = open_at(scene, 5);
    ck_assert_uint_eq(fault_seen(), 1); /* the view */
    ck_assert_uint_eq(obb_motion_left(view), BOXES);
    ck_assert_double_eq(obb_view_pose(view, obb_view_find(view, obb_str_of("b100"))).center.x, 105);
    const obb_query pairs = {.kind = OBB_QUERY_PAIRS,
                             .dimensions = 3,
                             .count = 1,
                             .items = {.pairs = PAIR},
                             .limit = 10};
    (void)ask(view, &pairs);
    ck_assert_double_eq(obb_query_motion_cost(view, &pairs), 0.0);
    ck_assert_uint_eq(obb_motion_left(view), BOXES);
    ck_assert_uint_eq(ask(view, &POINT_QUERY), 3); /* b100 and the two beside it touch */
    ck_assert_uint_eq(obb_motion_left(view), 0);
    ck_assert_uint_eq(obb_index_count(obb_motion_index(view)), BOXES);
    ck_assert_uint_eq(scene->layer_bytes, before);

    struct obb_view *other = open_at(scene, 7); /* on the same way */
    ck_assert_uint_eq(obb_motion_left(other), 0);
    const struct obb_index *index = obb_motion_index(other);
    ck_assert_ptr_eq(index, obb_motion_index(view));
    obb_view_close(view); /* the writer counts the index, once */
    ck_assert_uint_eq(scene->layer_bytes, before + obb_index_bytes(index));
    obb_view_close(other);
    ck_assert_uint_eq(scene->layer_bytes, before + obb_index_bytes(index));
    ck_assert(obb_scene_validate(scene));
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_view_of_a_state_needs_no_index)
{
    struct obb_scene *scene = moving_scene(BOXES);
    struct obb_view *view = open_at(scene, 10);
    ck_assert_uint_eq(obb_motion_left(view), 0);
    fault_arm(1);
    ck_assert_int_eq(obb_motion_make(view, NULL), OBB_OK);
    ck_assert_int_eq(obb_motion_make_now(view), OBB_OK);
    fault_arm(0);
    ck_assert_ptr_null(obb_motion_index(view));
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(boxes_that_jump_or_stay_are_not_in_the_index)
{
    struct obb_scene *scene = tick_scene(1000, 64);
    tick(scene, 0, "+a:0 +b:5 +c:9");
    tick(scene, 10, "-a");
    struct obb_view *view = open_at(scene, 5);
    ck_assert_uint_eq(obb_motion_left(view), 1); /* looked at */
    ck_assert_int_eq(obb_motion_make(view, NULL), OBB_OK);
    ck_assert_ptr_null(obb_motion_index(view));
    ck_assert_uint_eq(obb_motion_left(view), 0);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(an_index_that_fails_is_made_another_time)
{
    struct obb_scene *scene = moving_scene(BOXES);
    struct obb_view *view = open_at(scene, 5);
    const atomic_bool cancel = false;
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    fault_cancel(1);
    ck_assert_int_eq(obb_motion_make(view, &cancel), OBB_CANCELLED);
    fault_cancel(0);
    for (size_t n = 1; st != OBB_OK; n++) {
        ck_assert_uint_eq(obb_motion_left(view), BOXES);
        fault_arm(n);
        st = obb_motion_make(view, NULL);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        ck_assert(obb_scene_validate(scene));
    }
    ck_assert_uint_ge(refused, 2); /* the list, the index */
    ck_assert_uint_eq(ask(view, &POINT_QUERY), 3);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

static obb_status try_within(const struct obb_view *view, double ns)
{
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_plan_create(view, &POINT_QUERY, NULL, NULL, &plan), OBB_OK);
    const obb_status st = obb_plan_try(plan, &ns);
    obb_plan_destroy(plan);
    return st;
}

/* The loop tries a query within its time. */
START_TEST(the_loop_builds_only_a_small_index_and_never_waits)
{
    struct obb_scene *large = moving_scene(BOXES), *small = moving_scene(10);
    struct obb_view *view = open_at(large, 5), *light = open_at(small, 5);
    ck_assert(obb_query_cost(view, &POINT_QUERY) > LOOP_NS);
    ck_assert_int_eq(try_within(view, LOOP_NS), OBB_CANCELLED);
    ck_assert_uint_eq(obb_motion_left(view), BOXES);
    ck_assert_int_eq(obb_motion_make(view, NULL), OBB_OK); /* on the pool */
    ck_assert(obb_query_cost(view, &POINT_QUERY) < LOOP_NS);
    ck_assert_int_eq(try_within(view, LOOP_NS), OBB_OK);

    ck_assert(obb_query_cost(light, &POINT_QUERY) < LOOP_NS);
    atomic_store(&light->later->motion, OBB_MOTION_BUILDING); /* by a worker */
    ck_assert_int_eq(try_within(light, LOOP_NS), OBB_CANCELLED);
    const atomic_bool cancel = true;
    ck_assert_int_eq(obb_motion_make(light, &cancel), OBB_CANCELLED); /* gives up waiting */
    atomic_store(&light->later->motion, OBB_MOTION_NONE);             /* it has failed */
    ck_assert_int_eq(try_within(light, LOOP_NS), OBB_OK);
    ck_assert_uint_eq(obb_motion_left(light), 0);
    obb_view_close(view);
    obb_view_close(light);
    obb_scene_destroy(large);
    obb_scene_destroy(small);
}
END_TEST

struct reader {
    const struct obb_view *view;
    pthread_barrier_t *start;
    size_t found;
};

static void *read_between(void *context)
{
    struct reader *reader = context;
    (void)pthread_barrier_wait(reader->start);
    reader->found = ask(reader->view, &POINT_QUERY);
    return NULL;
}

START_TEST(readers_at_once_build_the_index_once)
{
    enum { READERS = 4, ROUNDS = 40 };
    size_t alone = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct obb_scene *scene = moving_scene(BOXES);
        struct obb_view *views[READERS];
        const size_t before = scene->layer_bytes;
        for (int i = 0; i < READERS; i++)
            views[i] = open_at(scene, i % 2 == 0 ? 5 : 5.5);
        const int count = round == 0 ? 1 : READERS;
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, (unsigned)count);
        struct reader readers[READERS];
        pthread_t threads[READERS];
        fault_arm(0);
        for (int i = 0; i < count; i++) {
            readers[i] = (struct reader){.view = views[i], .start = &start};
            ck_assert_int_eq(pthread_create(&threads[i], NULL, read_between, &readers[i]), 0);
        }
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        /* each reader makes a plan; the index is made by one */
        const size_t seen = fault_seen();
        fault_arm(0);
        ck_assert_uint_eq(ask(views[0], &POINT_QUERY), 3);
        const size_t index = seen - (size_t)count * fault_seen();
        alone = round == 0 ? index : alone;
        ck_assert_uint_gt(alone, 1);
        ck_assert_uint_eq(index, alone);
        for (int i = 0; i < count; i++)
            ck_assert_uint_eq(readers[i].found, i % 2 == 0 ? 3 : 2);
        for (int i = 0; i < READERS; i++)
            obb_view_close(views[i]);
        ck_assert_uint_gt(scene->layer_bytes, before);
        pthread_barrier_destroy(&start);
        obb_scene_destroy(scene);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("motion");
    TCase *tc = tcase_create("motion");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, only_a_query_that_walks_builds_the_index);
    tcase_add_test(tc, a_view_of_a_state_needs_no_index);
    tcase_add_test(tc, boxes_that_jump_or_stay_are_not_in_the_index);
    tcase_add_test(tc, an_index_that_fails_is_made_another_time);
    tcase_add_test(tc, the_loop_builds_only_a_small_index_and_never_waits);
    tcase_add_test(tc, readers_at_once_build_the_index_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
