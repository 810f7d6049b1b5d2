/* Overlays of edits that touch many boxes. Random overlays are in test_scene.c, those of requests
 * in tests/e2e. */
#include "core/scene/overlay.h"

#include "tests/core/scene/edits.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* The first boxes stand in the frame "most". The others stand in "left" and "right" by turns. */
enum { IN_MOST = 5000, BY_TURNS = 1500, BOXES = IN_MOST + BY_TURNS };

static struct obb_scene *scene;
static struct obb_view *view;
static struct obb_arena arena;

static void setup(void)
{
    static obb_put puts[BOXES];
    static char names[BOXES][16];
    struct obb_arena filling;
    obb_committed committed;
    obb_fault fault;
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        puts[i] = put_at(names[i], (double)i);
        puts[i].frame = obb_str_of(i < IN_MOST ? "most" : i % 2 == 0 ? "left" : "right");
    }
    const obb_pose frames[] = {pose_at("most", 0), pose_at("left", 0), pose_at("right", 0)};
    const obb_edit fill = {.dimensions = 3,
                           .frames = frames,
                           .frame_count = COUNT(frames),
                           .puts = puts,
                           .put_count = BOXES};
    scene = tick_scene(0, 0);
    obb_arena_init(&filling);
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &filling, &committed, &fault), OBB_OK);
    obb_arena_fini(&filling);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_arena_init(&arena);
}

static void teardown(void)
{
    obb_arena_fini(&arena);
    (void)obb_view_close(view);
    obb_scene_destroy(scene);
}

static size_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Lets each poll end the work, one after the other. Returns how many polls there are. */
static size_t end_at_each_poll(const obb_edit *edit)
{
    const atomic_bool cancel = false;
    struct obb_budget budget;
    obb_budget_init(&budget, SIZE_MAX);
    arena.budget = &budget;
    size_t n = 0;
    obb_status st = OBB_CANCELLED;
    while (st == OBB_CANCELLED) {
        struct obb_overlay *overlay = NULL;
        obb_fault fault;
        fault_cancel(++n);
        st = obb_overlay_of_edit(view, edit, &cancel, &arena, &overlay, &fault);
        const size_t polls = fault_polls();
        fault_cancel(0);
        ck_assert_uint_eq(polls, st == OBB_CANCELLED ? n : n - 1);
        ck_assert_int_eq(fault.group, OBB_GROUP_NONE);
        ck_assert((overlay == NULL) == (st == OBB_CANCELLED));
        obb_overlay_destroy(overlay);
        obb_arena_fini(&arena);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
    }
    ck_assert_int_eq(st, OBB_OK);
    ck_assert(obb_scene_validate(scene));
    return n - 1;
}

static void end_twice(const obb_edit *edit, size_t least, const char *what)
{
    const size_t polls = end_at_each_poll(edit), before = heap_bytes();
    ck_assert_uint_eq(end_at_each_poll(edit), polls);
    const size_t after = heap_bytes(); /* the heap keeps small blocks from the first time */
    printf("%s: %zu polls, %zu bytes before, %zu after\n", what, polls, before, after);
    ck_assert_uint_ge(polls, least);
    ck_assert_uint_le(after, before + 4096);
}

START_TEST(an_overlay_of_many_boxes_ends_soon_after_it_is_cancelled)
{
    enum { PASSES = 11, LEAST = PASSES * IN_MOST / 1024 - 2 };
    const obb_pose most = pose_at("most", 1), sides[] = {pose_at("left", 1), pose_at("right", 2)};
    const obb_str gone = obb_str_of("most");
    const obb_target removed = named("b6000");
    const obb_edit move = {.dimensions = 3, .frames = &most, .frame_count = 1},
                   remove = {.dimensions = 3, .remove_frames = &gone, .remove_frame_count = 1},
                   sort = {.dimensions = 3,
                           .removes = &removed,
                           .remove_count = 1,
                           .frames = sides,
                           .frame_count = COUNT(sides)};
    /* Three passes find the boxes and their frames and copy them. Then each of two commits applies
     * its entries, looks through its changes twice, and looks for the frames that they enter. */
    end_twice(&move, LEAST, "a frame that moves");
    end_twice(&remove, LEAST, "a frame that goes");
    /* the removed box is not in its place among the ids, and there is a name for each box */
    end_twice(&sort, BY_TURNS / 8, "lists to sort");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overlay");
    TCase *tc = tcase_create("overlay");
    tcase_set_timeout(tc, test_patience(120));
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_overlay_of_many_boxes_ends_soon_after_it_is_cancelled);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
