#include "core/query/candidates.h"

#include "core/obb.h"
#include "core/scene/motion.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

enum { BOXES = 60 };

/* How often each box was visited, by id. */
struct visits {
    size_t times[BOXES + 1];
};

static bool note(void *context, const struct obb_version *box, obb_verdict verdict)
{
    struct visits *visits = context;
    (void)verdict;
    visits->times[box->id]++;
    return true;
}

static double note_reach(void *context, const struct obb_version *box, double max_distance)
{
    note(context, box, OBB_SURE);
    return max_distance;
}

/* Which boxes a scene moves. */
enum moving { HALF, ALL, ALL_BUT_ONE, ALL_BUT_ONE_REMOVED, MOVINGS };

/* A scene whose boxes stand at times 0 and 10, some of them elsewhere in between. */
static struct obb_scene *moving_scene(test_rng *rng, enum moving moving)
{
    struct obb_scene *scene = tick_scene(1000, 64);
    char line[64];
    for (int i = 1; i <= BOXES; i++) {
        (void)snprintf(line, sizeof line, "+b%d:%d", i, (int)test_below(rng, 200));
        tick(scene, 0, line);
    }
    char move[BOXES * 16];
    int length = 0;
    for (int i = moving < ALL_BUT_ONE ? 1 : 2; i <= BOXES; i += moving == HALF ? 2 : 1)
        length += snprintf(move + length, sizeof move - (size_t)length, "b%d:%d ", i,
                           (int)test_below(rng, 200));
    if (moving == ALL_BUT_ONE_REMOVED)
        (void)snprintf(move + length, sizeof move - (size_t)length, "-b1");
    tick(scene, 10, move);
    return scene;
}

/* Every box that is in reach is visited once, by its pose in the view, and no box twice. */
START_TEST(every_box_in_reach_is_a_candidate_once)
{
    const enum moving moving = (enum moving)_i;
    test_rng rng = {.s = 20261120};
    struct obb_scene *scene = moving_scene(&rng, moving);
    size_t within = 0, visited = 0, interpolated = 0, standing = 0;
    for (int round = 0; round < 400; round++) {
        const obb_at at = at_time((double)test_below(&rng, 41) / 4.0);
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
        ck_assert_int_eq(obb_motion_make(view, NULL), OBB_OK);
        interpolated += view->alpha > 0.0;
        const double x = test_uniform(&rng, -10, 210), reach = test_uniform(&rng, 0, 15);
        const obb_bounds bounds = {{x - reach, -1, -1}, {x + reach, 1, 1}};
        const obb_box box = {
            .center = {x, 0, 0}, .half_extents = {reach, 1, 1}, .rotation = {0, 0, 0, 1}};
        const obb_solid solid = obb_solid_from_box(&box, 3);
        struct visits by[4] = {{{0}}};
        struct obb_cast cast = {
            .ray = {.origin = {x - reach, 0, 0}, .direction = {1, 0, 0}, .max_distance = 2 * reach},
            .context = &by[2]};
        ck_assert(obb_candidates_query(view, &bounds, &by[0], note));
        ck_assert(obb_candidates_overlap(view, &solid, 0.0, &by[1], note));
        obb_candidates_rays(view, &cast, 1, (obb_vec3){0, 0, 0}, false, note_reach);
        obb_candidates_nearest(view, &bounds, 0.0, &by[3], note_reach);
        for (const struct obb_version *v = obb_view_next(view, 0); v != NULL;
             v = obb_view_next(view, obb_view_id(v))) {
            const obb_box pose = obb_view_pose(view, v);
            const bool is_within = pose.center.x + 1 >= x - reach && pose.center.x - 1 <= x + reach;
            within += is_within;
            standing += is_within && view->alpha > 0.0 && pose.center.x == v->box.center.x;
            for (size_t k = 0; k < 4; k++) {
                const size_t times = by[k].times[obb_view_id(v)];
                visited += times;
                ck_assert_msg(times <= 1 && (times == 1 || !is_within),
                              "round %d, walk %zu: %zu times", round, k, times);
            }
        }
        obb_view_close(view);
    }
    ck_assert_uint_gt(within, 1000);
    /* Most are ruled out; not as many boxes that move, each of which is sought on its whole way. */
    ck_assert_uint_lt(visited, (size_t)4 * 400 * BOXES / (moving == HALF ? 3 : 2));
    ck_assert(100 < interpolated && interpolated < 400);
    (void)printf("candidates: %zu boxes within reach, %zu of them standing between two commits\n",
                 within, standing);
    ck_assert(moving == ALL ? standing < within / 50 : standing > 5);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("candidates");
    TCase *tc = tcase_create("candidates");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_loop_test(tc, every_box_in_reach_is_a_candidate_once, HALF, MOVINGS);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
