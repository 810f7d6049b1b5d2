/* What an edit is estimated to take. */
#include "server/scenes/edit_cost_body.h"

#include "server/scenes/loop_time.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

enum { BOXES = 1200, FRAMES = 101, NAME = 24 };

/* Makes a scene with so many frames, of which one holds all boxes: the one with number `full`. */
static struct obb_scene *scene_of(size_t frames, size_t full, char names[static FRAMES][NAME],
                                  obb_pose poses[static FRAMES])
{
    static obb_put puts[BOXES];
    static char boxes[BOXES][NAME];
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = tick_scene(500, 64);
    for (size_t i = 0; i < frames; i++) {
        (void)snprintf(names[i], NAME, "f%zu", i);
        poses[i] = (obb_pose){.target.name = obb_str_of(names[i])};
    }
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(boxes[i], sizeof boxes[i], "b%zu", i);
        puts[i] = (obb_put){.target.name = obb_str_of(boxes[i]),
                            .parts = OBB_PUT_ALL,
                            .box = {.half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                            .frame = poses[full].target.name};
    }
    const obb_edit fill = {
        .dimensions = 3, .frames = poses, .frame_count = frames, .puts = puts, .put_count = BOXES};
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &fill, 0.0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &committed);
    obb_arena_fini(&arena);
    return scene;
}

/* Of so many boxes of a frame a query's overlay takes about 2.5 ms. */
START_TEST(changes_of_a_query_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it)
{
    static char names[FRAMES][NAME];
    static obb_pose frames[FRAMES];
    struct obb_scene *scene = scene_of(1, 0, names, frames);
    const obb_edit with = {.dimensions = 3, .frames = frames, .frame_count = 1};
    const obb_needed_moment moment = {.dimensions = 3, .with = &with};
    obb_edit edit = {.dimensions = 3, .moments = &moment, .moment_count = 1, .with_entries = 2};
    const struct srv_write write = {.scene = scene, .op = {.kind = SRV_OP_EDIT, .edit = &edit}};
    ck_assert(srv_edit_cost(&write) < SRV_LOOP_NS);
    edit.with_frames = 1;
    const double cost = srv_edit_cost(&write);
    ck_assert(2e6 < cost && cost < 4e6);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_boxes_of_every_named_frame_count_wherever_it_is_named)
{
    enum { NAMED = 60 };
    static char names[FRAMES][NAME];
    static obb_pose frames[FRAMES];
    for (size_t full = 0; full < FRAMES; full += 20) {
        struct obb_scene *scene = scene_of(FRAMES, full, names, frames);
        obb_str removes[NAMED];
        for (size_t i = 0; i < NAMED; i++)
            removes[i] = frames[i].target.name;
        const obb_edit moves = {.dimensions = 3, .frames = frames, .frame_count = NAMED},
                       removals = {
                           .dimensions = 3, .remove_frames = removes, .remove_frame_count = NAMED};
        const struct srv_write moving = {.scene = scene,
                                         .op = {.kind = SRV_OP_EDIT, .edit = &moves}},
                               removing = {.scene = scene,
                                           .op = {.kind = SRV_OP_EDIT, .edit = &removals}};
        ck_assert((srv_edit_cost(&moving) > SRV_LOOP_NS) == (full < NAMED));
        ck_assert((srv_edit_cost(&removing) > SRV_LOOP_NS) == (full < NAMED));
        obb_scene_destroy(scene);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edit_cost");
    TCase *tc = tcase_create("edit_cost");
    tcase_add_test(tc, changes_of_a_query_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it);
    tcase_add_test(tc, the_boxes_of_every_named_frame_count_wherever_it_is_named);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
