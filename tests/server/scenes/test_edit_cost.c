/* What an edit is estimated to take. */
#include "server/scenes/edit_cost_body.h"

#include "server/scenes/loop_time.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

/* Of so many boxes of a frame a query's overlay takes about 2.5 ms. */
START_TEST(changes_of_a_query_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it)
{
    enum { BOXES = 1200 };
    static obb_put puts[BOXES];
    static char names[BOXES][8];
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_pose frame = {.target.name = obb_str_of("ann")};
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        puts[i] = (obb_put){.target.name = obb_str_of(names[i]),
                            .parts = OBB_PUT_ALL,
                            .box = {.half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                            .frame = frame.target.name};
    }
    const obb_edit fill = {
        .dimensions = 3, .frames = &frame, .frame_count = 1, .puts = puts, .put_count = BOXES};
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &fill, 0.0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &committed);

    const obb_edit with = {.dimensions = 3, .frames = &frame, .frame_count = 1};
    const obb_needed_moment moment = {.dimensions = 3, .with = &with};
    obb_edit edit = {.dimensions = 3, .moments = &moment, .moment_count = 1, .with_entries = 2};
    const struct srv_write write = {.scene = scene, .op = {.kind = SRV_OP_EDIT, .edit = &edit}};
    ck_assert(srv_edit_cost(&write) < SRV_LOOP_NS);
    edit.with_frames = 1;
    const double cost = srv_edit_cost(&write);
    ck_assert(2e6 < cost && cost < 4e6);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edit_cost");
    TCase *tc = tcase_create("edit_cost");
    tcase_add_test(tc, changes_of_a_query_that_move_a_frame_cost_by_the_boxes_that_may_stand_in_it);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
