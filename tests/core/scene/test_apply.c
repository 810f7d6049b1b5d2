#include "core/scene/scene_data.h"
#include "tests/core/scene/edits.h"

#include <math.h>
#include <stdio.h>

START_TEST(groups_apply_in_the_order_remove_put_pose_transform)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1 +b:2");
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_target removes[] = {named("a"), named("nobody"), named("a")};
    const obb_put puts[] = {put_at("a", 10), put_at("c", 30), put_at("b", 20)};
    const obb_pose poses[] = {pose_at("c", 31), pose_at("c", 32), pose_at("a", 11)};
    const obb_transform_edit turns[] = {move_by("c", 100), move_by("a", 100), move_by("c", 1000)};
    const obb_edit edit = {.dimensions = 3,
                           .removes = removes,
                           .remove_count = COUNT(removes),
                           .puts = puts,
                           .put_count = COUNT(puts),
                           .poses = poses,
                           .pose_count = COUNT(poses),
                           .transforms = turns,
                           .transform_count = COUNT(turns)};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 10, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@0 b:20 a:111 c:1132");
    ck_assert_uint_eq(done.removed, 1);
    ck_assert_uint_eq(done.put, 3);
    ck_assert_uint_eq(done.posed, 3);
    ck_assert_uint_eq(done.transformed, 3);
    ck_assert_uint_eq(done.new_ids[0], 3); /* "a" is another box now */
    ck_assert_uint_eq(done.new_ids[1], 4);
    ck_assert_uint_eq(done.new_ids[2], 0); /* "b" is the one it was */
    ck_assert_uint_eq(done.made_count, 3); /* one version a box, however often it was changed */
    ck_assert_uint_eq(done.ended_count, 2);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_ids_of_all_puts_are_told_if_they_are_wanted)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1 +b:2 +c:3");
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_target removes[] = {named("a")};
    const obb_put puts[] = {put_at("c", 30), put_at("d", 10), put_at("b", 2), put_at("a", 5),
                            put_at("d", 11)};
    const obb_edit edit = {.dimensions = 3,
                           .removes = removes,
                           .remove_count = COUNT(removes),
                           .puts = puts,
                           .put_count = COUNT(puts),
                           .all_put_ids = true};
    static const uint64_t expected[] = {3, 4, 2, 5, 4}; /* "b" is put where it is */
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 10, &arena, &done, &fault), OBB_OK);
    for (size_t i = 0; i < COUNT(expected); i++)
        ck_assert_uint_eq(done.new_ids[i], expected[i]);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_put_may_name_a_box_of_the_same_commit_by_its_id)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1");
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_put puts[] = {put_at("b", 2), put_at("", 30)};
    puts[1].target = numbered(2);
    puts[1].parts = OBB_PUT_CENTER;
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = COUNT(puts)};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 10, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@0 a:1 b:30");
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(what_is_missing_can_be_skipped_and_is_listed)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1");
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_pose poses[] = {pose_at("x", 5), pose_at("a", 2), pose_at("", 6)};
    poses[2].target = numbered(9);
    const obb_transform_edit turns[] = {move_by("a", 10), move_by("y", 10)};
    const obb_edit edit = {.dimensions = 3,
                           .ignore_missing = true,
                           .poses = poses,
                           .pose_count = COUNT(poses),
                           .transforms = turns,
                           .transform_count = COUNT(turns)};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@0 a:12");
    ck_assert_uint_eq(done.posed, 1);
    ck_assert_uint_eq(done.transformed, 1);
    ck_assert_uint_eq(done.missed, 3);
    const bool missed_poses[] = {true, false, true}, missed_transforms[] = {false, true};
    ck_assert_mem_eq(done.missed_poses, missed_poses, sizeof missed_poses);
    ck_assert_mem_eq(done.missed_transforms, missed_transforms, sizeof missed_transforms);
    const obb_edit none = {
        .dimensions = 3, .ignore_missing = true, .poses = poses + 1, .pose_count = 1};
    ck_assert_int_eq(commit(scene, &none, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_ptr_null(done.missed_poses);
    ck_assert_ptr_null(done.missed_transforms);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_patch_changes_what_it_states)
{
    struct obb_scene *scene = tick_scene(0, 0);
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_put whole = put_at("a", 1);
    whole.box.half_extents = (obb_vec3){1, 2, 3};
    whole.attributes = (obb_attributes){.category = 4,
                                        .mask = 5,
                                        .group = -6,
                                        .entity = obb_str_of("player"),
                                        .data = obb_str_of("{\"hp\":7}")};
    obb_edit edit = {.dimensions = 3, .puts = &whole, .put_count = 1};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 1, &arena, &done, &fault), OBB_OK);

    obb_put other = put_at("a", 9);
    other.box.half_extents = (obb_vec3){9, 9, 9};
    other.box.rotation = (obb_quat){1, 0, 0, 0};
    other.attributes = (obb_attributes){.category = 9,
                                        .mask = 9,
                                        .group = 9,
                                        .entity = obb_str_of("nine"),
                                        .data = obb_str_of("9")};
    edit.puts = &other;
    for (unsigned part = 1; part <= OBB_PUT_DATA; part *= 2) {
        other.parts = part;
        struct obb_view *before = NULL, *after = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &before, NULL, NULL), OBB_OK);
        ck_assert_int_eq(commit(scene, &edit, 0, &arena, &done, &fault), OBB_OK);
        ck_assert(done.changed);
        ck_assert_int_eq(obb_view_open(scene, NULL, &after, NULL, NULL), OBB_OK);
        const struct obb_version *was = obb_view_next(before, 0), *is = obb_view_next(after, 0);
        const obb_attributes a = obb_view_attributes(was), b = obb_view_attributes(is);
        const unsigned changed =
            (was->box.center.x != is->box.center.x ? OBB_PUT_CENTER : 0) |
            (was->box.half_extents.z != is->box.half_extents.z ? OBB_PUT_HALF_EXTENTS : 0) |
            (was->box.rotation.x != is->box.rotation.x ? OBB_PUT_ROTATION : 0) |
            (a.category != b.category ? OBB_PUT_CATEGORY : 0) |
            (a.mask != b.mask ? OBB_PUT_MASK : 0) | (a.group != b.group ? OBB_PUT_GROUP : 0) |
            (!obb_str_equal(a.entity, b.entity) ? OBB_PUT_ENTITY : 0) |
            (!obb_str_equal(a.data, b.data) ? OBB_PUT_DATA : 0);
        ck_assert_uint_eq(changed, part);
        ck_assert_uint_eq(obb_view_id(is), 1);
        obb_view_close(before);
        obb_view_close(after);
    }
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(an_import_replaces_all_as_one_commit_with_new_ids)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2 +c:3");
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_put puts[] = {put_at("b", 20), put_at("d", 40)};
    const obb_settings planar = {.dimensions = 2, .history_span = 7, .history_commits = 9};
    const obb_edit import = {.dimensions = 2,
                             .replace_all = true,
                             .settings = &planar,
                             .puts = puts,
                             .put_count = COUNT(puts)};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &import, 0, &arena, &done, &fault),
                     OBB_OK); /* room of the old */
    ck_assert_str_eq(now_in(scene), "2@1 b:20 d:40");
    ck_assert_uint_eq(done.removed, 3);
    ck_assert_uint_eq(done.new_ids[0], 4);
    ck_assert_uint_eq(done.new_ids[1], 5);
    obb_scene_info info;
    obb_scene_info_get(scene, &info);
    ck_assert_int_eq(info.settings.dimensions, 2);
    ck_assert_double_eq(info.settings.history_span, 7);
    ck_assert_str_eq(seen(scene, at_revision(1)).text, "1@1 a:1 b:2 c:3");

    const obb_edit nothing = {.dimensions = 2, .replace_all = true};
    ck_assert_int_eq(commit(scene, &nothing, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_int_eq(commit(scene, &nothing, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "4@1"); /* even of nothing over nothing */

    obb_edit stated = {.dimensions = 2, .replace_all = true, .has_time = true, .time = 8};
    ck_assert_int_eq(commit(scene, &stated, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "5@8");
    stated.time = 3; /* a backup comes later than it was made */
    ck_assert_int_eq(commit(scene, &stated, 0, &arena, &done, &fault), OBB_OK);
    ck_assert_double_eq(done.moment.time, 8);
    ck_assert_str_eq(now_in(scene), "6@8");
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(in_the_plane_a_pose_has_an_angle_and_no_depth)
{
    const obb_settings planar = {.dimensions = 2};
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_scene_create(obb_str_of("map"), &planar, 0, NULL, &scene), OBB_OK);
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_put put = put_at("a", 1);
    obb_pose pose = pose_at("a", 2);
    pose.has_rotation = true;
    pose.rotation = (obb_quat){1, 0, 0, 0};
    pose.center.z = 7;
    pose.angle = 30;
    obb_edit edit = {
        .dimensions = 2, .puts = &put, .put_count = 1, .poses = &pose, .pose_count = 1};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 1, &arena, &done, &fault), OBB_OK);
    ck_assert_double_eq(done.made[0]->box.center.x, 2);
    ck_assert_double_eq(done.made[0]->box.center.z, 0);
    ck_assert_double_eq(done.made[0]->box.angle, 30);
    ck_assert_double_eq(done.made[0]->box.rotation.w, 1);
    pose.angle = (double)NAN;
    ck_assert_int_eq(commit(scene, &edit, 1, &arena, &done, &fault), OBB_BAD_NUMBER);
    ck_assert_int_eq(fault.group, OBB_GROUP_POSE);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(room_counts_what_the_commit_frees)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1 +b:2");
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_target removes[] = {named("a")};
    const obb_put puts[] = {put_at("c", 1), put_at("b", 5), put_at("d", 1)};
    const obb_edit edit = {
        .dimensions = 3, .removes = removes, .remove_count = 1, .puts = puts, .put_count = 3};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 0, &arena, &done, &fault), OBB_LIMIT);
    ck_assert_uint_eq(fault.index, 2);
    ck_assert_int_eq(commit(scene, &edit, 1, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@0 b:5 c:1 d:1");
    const obb_edit more = {.dimensions = 3, .puts = puts, .put_count = 1, .removes = removes};
    ck_assert_int_eq(commit(scene, &more, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* Merges `a` with the boxes of that list, and returns the box that it becomes. */
static obb_box merged(const obb_put *puts, size_t put_count, const obb_target *with, size_t count)
{
    struct obb_scene *scene = tick_scene(0, 0);
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_merge merge = {.target = named("a"), .with = with, .with_count = count};
    const obb_edit edit = {
        .dimensions = 3, .puts = puts, .put_count = put_count, .merges = &merge, .merge_count = 1};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, put_count, &arena, &done, &fault), OBB_OK);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const obb_box box = obb_view_pose(view, obb_view_find(view, obb_str_of("a")));
    (void)obb_view_close(view);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
    return box;
}

START_TEST(a_box_that_a_merge_names_again_makes_no_difference)
{
    enum { ROUNDS = 50 };
    const obb_target once[] = {named("d"), named("b"), named("c")};
    const obb_target again[] = {named("d"), named("a"), named("d"), named("b"), named("d"),
                                named("c"), named("b"), named("a"), named("d")};
    test_rng r = {.s = 20261122};
    for (int i = 0; i < ROUNDS; i++) {
        obb_put puts[] = {put_at("a", 0), put_at("b", 0), put_at("c", 0), put_at("d", 0)};
        for (size_t k = 0; k < COUNT(puts); k++) /* along a line, so that no axis is free */
            puts[k].box.center =
                (obb_vec3){test_uniform(&r, 0, 50), test_uniform(&r, 0, 5), test_uniform(&r, 0, 9)};
        const obb_box box = merged(puts, COUNT(puts), once, COUNT(once));
        const obb_box same = merged(puts, COUNT(puts), again, COUNT(again));
        ck_assert_mem_eq(&box.center, &same.center, sizeof box.center);
        ck_assert_mem_eq(&box.half_extents, &same.half_extents, sizeof box.half_extents);
        ck_assert_mem_eq(&box.rotation, &same.rotation, sizeof box.rotation);
    }
    printf("%d merges\n", (int)ROUNDS);
}
END_TEST

/* ---- Frames ---------------------------------------------------------------------------------- */

static obb_put framed_at(const char *name, const char *frame, double x)
{
    obb_put put = put_at(name, x);
    put.frame = obb_str_of(frame);
    return put;
}

static obb_pose turned(const char *name, double x, double degrees, bool teleport)
{
    obb_pose pose = pose_at(name, x);
    pose.has_rotation = true;
    pose.teleport = teleport;
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){0, 1, 0}, degrees, &pose.rotation),
                     OBB_OK);
    return pose;
}

/* The rig of most of these tests: frame ann at x = 10, with head at 1 and foot at -1 in it; and the
 * box crate at 3 in no frame. */
static struct obb_scene *rig_of_ann(struct obb_arena *arena)
{
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_pose frames[] = {pose_at("ann", 10)};
    const obb_put puts[] = {framed_at("head", "ann", 1), framed_at("foot", "ann", -1),
                            put_at("crate", 3)};
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .frames = frames,
                           .frame_count = 1,
                           .puts = puts,
                           .put_count = 3};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 4, arena, &done, &fault), OBB_OK);
    ck_assert_uint_eq(done.made_frames, 1);
    ck_assert_uint_eq(done.frame_count, 1);
    ck_assert_uint_eq(done.made_count, 3);
    ck_assert_str_eq(now_in(scene), "1@0 head:11 foot:9 crate:3");
    return scene;
}

static obb_status frame_commit(struct obb_scene *scene, const obb_pose *frames, size_t count,
                               double time, struct obb_arena *arena, obb_committed *done)
{
    const obb_edit edit = {
        .dimensions = 3, .has_time = true, .time = time, .frames = frames, .frame_count = count};
    obb_fault fault;
    return commit(scene, &edit, 4, arena, done, &fault);
}

START_TEST(a_frame_moves_its_boxes_and_no_others)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    obb_committed done;
    const obb_pose move = pose_at("ann", 20);
    ck_assert_int_eq(frame_commit(scene, &move, 1, 16, &arena, &done), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@16 head:21 foot:19 crate:3");
    ck_assert_uint_eq(done.posed, 0);
    ck_assert_uint_eq(done.made_count, 2);
    ck_assert_uint_eq(done.frame_count, 1);
    ck_assert_uint_eq(done.made_frames, 0);
    /* between the two commits the limbs and the frame are on their way */
    ck_assert_str_eq(seen(scene, at_time(4)).text, "1@4 head:13.5 foot:11.5 crate:3");
    struct obb_view *view;
    const obb_at at = at_time(4);
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    const obb_box between = obb_view_frame_pose(view, obb_view_find_frame(view, obb_str_of("ann")));
    ck_assert_double_eq(between.center.x, 12.5);
    obb_str frame;
    obb_box local;
    ck_assert(obb_view_local(obb_view_find(view, obb_str_of("foot")), &frame, &local));
    ck_assert(obb_str_equal(frame, obb_str_of("ann")));
    ck_assert_double_eq(local.center.x, -1);
    ck_assert(!obb_view_local(obb_view_find(view, obb_str_of("crate")), &frame, &local));
    obb_view_close(view);
    /* half a turn exchanges the two; by teleport nothing is between */
    const obb_pose turn = turned("ann", 20, 180, true);
    ck_assert_int_eq(frame_commit(scene, &turn, 1, 32, &arena, &done), OBB_OK);
    ck_assert_str_eq(now_in(scene), "3@32 head:19 foot:21 crate:3");
    ck_assert_str_eq(seen(scene, at_time(31)).text, "2@31 head:21 foot:19 crate:3");
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_same_pose_of_a_frame_again_changes_nothing)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    obb_committed done;
    const obb_pose again[] = {pose_at("ann", 10), {.target = named("ann"), .teleport = true}};
    ck_assert_int_eq(frame_commit(scene, again, 2, 1, &arena, &done), OBB_OK);
    ck_assert(!done.changed);
    const obb_pose there_and_back[] = {pose_at("ann", 30), pose_at("ann", 10)};
    ck_assert_int_eq(frame_commit(scene, there_and_back, 2, 2, &arena, &done), OBB_OK);
    ck_assert(!done.changed);
    const obb_pose last_wins[] = {pose_at("ann", 30), pose_at("ann", 40)};
    ck_assert_int_eq(frame_commit(scene, last_wins, 2, 3, &arena, &done), OBB_OK);
    ck_assert(done.changed);
    ck_assert_str_eq(now_in(scene), "2@3 head:41 foot:39 crate:3");
    const obb_pose alone = {.target = named("bob")};
    ck_assert_int_eq(frame_commit(scene, &alone, 1, 4, &arena, &done), OBB_OK);
    ck_assert(done.changed); /* a frame alone raises the revision */
    ck_assert_uint_eq(done.moment.revision, 3);
    ck_assert_uint_eq(done.made_count + done.ended_count, 0);
    ck_assert_int_eq(frame_commit(scene, &alone, 1, 5, &arena, &done), OBB_OK);
    ck_assert(!done.changed);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* Columns may name a frame many times. The last pose wins; none is interpolated if one of them
 * teleports; and the boxes are made room for once. */
START_TEST(a_frame_that_is_named_often_moves_its_boxes_once)
{
    enum { BOXES = 1000, ROWS = 2000 };
    static obb_put puts[BOXES];
    static char names[BOXES][8];
    static obb_pose rows[ROWS];
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_pose frames[] = {pose_at("ann", 10), pose_at("bob", 20)};
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        puts[i] = framed_at(names[i], i % 2 == 0 ? "ann" : "bob", (double)i);
    }
    const obb_edit fill = {.dimensions = 3,
                           .has_time = true,
                           .frames = frames,
                           .frame_count = 2,
                           .puts = puts,
                           .put_count = BOXES};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = pose_at(i % 2 == 0 ? "bob" : "ann", (double)(1000 + i));
    rows[1].teleport = true;
    obb_arena_fini(&arena);
    ck_assert_int_eq(frame_commit(scene, rows, ROWS, 16, &arena, &done), OBB_OK);
    ck_assert_uint_lt(arena.total, 1 << 20);
    ck_assert_uint_eq(done.made_count, BOXES);
    ck_assert_uint_eq(done.ended_count, BOXES);
    ck_assert_uint_eq(done.frame_count, 2);
    for (size_t i = 0; i < BOXES; i++) { /* those of bob, which is named first, come first */
        const size_t box = i < BOXES / 2 ? 2 * i + 1 : 2 * i - BOXES;
        const double frame = i < BOXES / 2 ? 2998 : 2999;
        ck_assert_uint_eq(obb_view_id(done.made[i]), box + 1);
        ck_assert_double_eq(done.made[i]->box.center.x, frame + (double)box);
        ck_assert_uint_eq(done.made[i]->interpolated, i < BOXES / 2);
    }
    /* a box that cannot stand where its frame is, is the fault of the pose that counts, unless an
     * earlier entry is at fault */
    const obb_pose far[] = {pose_at("ann", 5), pose_at("ann", 999999500), pose_at("cid", 1),
                            pose_at("..", 1)};
    for (size_t count = 3; count <= 4; count++) {
        const obb_edit edit = {.dimensions = 3, .frames = far, .frame_count = count};
        const obb_edit rest = {.dimensions = 3, .frames = far + 2, .frame_count = count - 2};
        ck_assert_int_eq(commit(scene, &edit, 9, &arena, &done, &fault), OBB_BAD_NUMBER);
        ck_assert(fault.group == OBB_GROUP_FRAMES && fault.index == 1);
        if (count == 4) {
            ck_assert_int_eq(commit(scene, &rest, 9, &arena, &done, &fault), OBB_BAD_NAME);
            ck_assert(fault.group == OBB_GROUP_FRAMES && fault.index == 1);
        }
    }
    const obb_pose back[] = {far[1], far[0]};
    ck_assert_int_eq(frame_commit(scene, back, 2, 17, &arena, &done), OBB_OK);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(frames_apply_between_remove_and_put)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    const obb_target removes[] = {named("foot")};
    const obb_str remove_frames[] = {obb_str_of("ann"), obb_str_of("nobody"), obb_str_of("ann")};
    const obb_pose frames[] = {pose_at("ann", 100), pose_at("bob", 200)};
    const obb_put puts[] = {framed_at("hand", "ann", 5), framed_at("crate", "bob", 6)};
    const obb_pose poses[] = {pose_at("crate", 7)};
    const obb_edit edit = {.dimensions = 3,
                           .removes = removes,
                           .remove_count = 1,
                           .remove_frames = remove_frames,
                           .remove_frame_count = COUNT(remove_frames),
                           .frames = frames,
                           .frame_count = 2,
                           .puts = puts,
                           .put_count = 2,
                           .poses = poses,
                           .pose_count = 1};
    ck_assert_uint_eq(obb_edit_framed(scene, &edit), 6); /* ann has two, and is named three times */
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 4, &arena, &done, &fault), OBB_OK);
    ck_assert_str_eq(now_in(scene), "2@0 crate:207 hand:105");
    ck_assert_uint_eq(done.removed, 2); /* foot, and head with its frame */
    ck_assert_uint_eq(done.removed_frames, 1);
    ck_assert_uint_eq(done.made_frames, 2);
    ck_assert_uint_eq(done.posed, 1);
    ck_assert_uint_eq(done.frame_count, 3); /* the old ann, the new one, bob */
    ck_assert_str_eq(seen(scene, at_revision(1)).text, "1@0 head:11 foot:9 crate:3");
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* A PATCH of crate, which stands at 3 in no frame and turned by a quarter, into `frame`. */
static obb_put patched(const char *frame, unsigned parts, double x)
{
    obb_put put = framed_at("crate", frame, x);
    put.parts = parts;
    return put;
}

static obb_box local_pose(struct obb_scene *scene, const char *name, char *frame)
{
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_str in = {.length = 0};
    obb_box local = {.angle = 0};
    (void)obb_view_local(obb_view_find(view, obb_str_of(name)), &in, &local);
    (void)snprintf(frame, 8, "%.*s", (int)in.length, in.length == 0 ? "" : in.bytes);
    obb_view_close(view);
    return local;
}

START_TEST(a_patch_of_the_frame_keeps_the_place_in_the_scene)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    const obb_pose frames[] = {pose_at("bob", 40), turned("eve", 2, 90, false)};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(frame_commit(scene, frames, 2, 0, &arena, &done), OBB_OK);
    const struct {
        const char *frame;
        unsigned parts;
        double x;             /* that the patch states */
        const char *in, *now; /* the frame and the place afterwards */
        obb_vec3 local;
    } rows[] = {
        {"ann", OBB_PUT_FRAME, 99, "ann", "3@0 head:11 foot:9 crate:3", {-7, 0, 0}},
        {"", OBB_PUT_CENTER, 5, "ann", "4@0 head:11 foot:9 crate:15", {5, 0, 0}},
        {"bob", OBB_PUT_FRAME, 99, "bob", "5@0 head:11 foot:9 crate:15", {-25, 0, 0}},
        {"bob", OBB_PUT_FRAME, 99, "bob", "5@0 head:11 foot:9 crate:15", {-25, 0, 0}},
        {"ann", OBB_PUT_FRAME | OBB_PUT_CENTER, 4, "ann", "6@0 head:11 foot:9 crate:14", {4, 0, 0}},
        {"eve", OBB_PUT_FRAME, 99, "eve", "7@0 head:11 foot:9 crate:14", {0, 0, 12}},
        {"", OBB_PUT_FRAME, 99, "", "8@0 head:11 foot:9 crate:14", {0, 0, 0}},
        {"", OBB_PUT_FRAME, 99, "", "8@0 head:11 foot:9 crate:14", {0, 0, 0}},
        {"ann", OBB_PUT_ALL, 1, "ann", "9@0 head:11 foot:9 crate:11", {1, 0, 0}},
        {"", OBB_PUT_ALL, 3, "", "10@0 head:11 foot:9 crate:3", {0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const obb_put put = patched(rows[i].frame, rows[i].parts, rows[i].x);
        const obb_edit edit = {.dimensions = 3, .puts = &put, .put_count = 1};
        ck_assert_int_eq(commit(scene, &edit, 4, &arena, &done, &fault), OBB_OK);
        ck_assert_str_eq(now_in(scene), rows[i].now);
        char frame[8];
        const obb_box local = local_pose(scene, "crate", frame);
        ck_assert_str_eq(frame, rows[i].in);
        ck_assert_double_eq(local.center.x, rows[i].local.x);
        ck_assert_double_eq(local.center.z, rows[i].local.z);
    }
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_pose_of_a_framed_box_is_in_its_frame)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    obb_committed done;
    obb_fault fault;
    const obb_pose frames[] = {turned("ann", 10, 90, false)};
    const obb_pose poses[] = {pose_at("head", 0), pose_at("crate", 4)};
    const obb_edit edit = {
        .dimensions = 3, .frames = frames, .frame_count = 1, .poses = poses, .pose_count = 2};
    ck_assert_int_eq(commit(scene, &edit, 4, &arena, &done, &fault), OBB_OK);
    ck_assert_uint_eq(done.posed, 2);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const obb_box head = obb_view_pose(view, obb_view_find(view, obb_str_of("head"))),
                  foot = obb_view_pose(view, obb_view_find(view, obb_str_of("foot")));
    ck_assert_double_eq(head.center.x, 10);
    ck_assert_double_eq(head.rotation.y, frames[0].rotation.y);
    ck_assert_double_eq(foot.center.x, 10); /* at -x of a frame that was turned about y */
    ck_assert_double_eq(foot.center.z, 1);
    obb_view_close(view);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(what_frames_forbid_is_refused_and_changes_nothing)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = rig_of_ann(&arena);
    const obb_target with[] = {named("head"), named("foot")};
    const obb_transform_edit moves[] = {move_by("crate", 1), move_by("head", 1)};
    const obb_merge merges[] = {{.target = named("crate"), .with = with, .with_count = 2},
                                {.target = named("head"), .with = with, .with_count = 2}};
    const obb_put lost[] = {put_at("x", 1), framed_at("y", "nobody", 1)};
    const obb_put far[] = {framed_at("y", "ann", 999999995)};
    const obb_pose far_pose[] = {pose_at("crate", 1), pose_at("head", 999999995)};
    const obb_pose far_frames[] = {pose_at("bob", 1), pose_at("ann", 1e9)};
    const obb_pose bad_name[] = {pose_at("..", 1)}, bad_center[] = {pose_at("ann", 2e9)};
    const obb_str gone[] = {obb_str_of("ann")}, nobody[] = {obb_str_of("nobody")};
    const struct {
        obb_status status;
        obb_group group;
        size_t index, member;
        obb_edit edit;
        size_t room;
    } rows[] = {
        {OBB_FRAMED, OBB_GROUP_TRANSFORM, 1, 0, {.transforms = moves, .transform_count = 2}, 9},
        {OBB_FRAMED, OBB_GROUP_MERGE, 1, OBB_FAULT_TARGET, {.merges = merges, .merge_count = 2}, 9},
        {OBB_NO_FRAME, OBB_GROUP_PUT, 1, 0, {.puts = lost, .put_count = 2}, 9},
        {OBB_NO_FRAME,
         OBB_GROUP_PUT,
         0,
         0,
         {.remove_frames = gone, .remove_frame_count = 1, .puts = far, .put_count = 1},
         9},
        {OBB_NO_FRAME,
         OBB_GROUP_REMOVE_FRAMES,
         0,
         0,
         {.remove_frames = nobody, .remove_frame_count = 1, .remove_frame_must_exist = true},
         9},
        {OBB_BAD_NUMBER, OBB_GROUP_PUT, 0, 0, {.puts = far, .put_count = 1}, 9},
        {OBB_BAD_NUMBER, OBB_GROUP_POSE, 1, 0, {.poses = far_pose, .pose_count = 2}, 9},
        {OBB_BAD_NUMBER, OBB_GROUP_FRAMES, 1, 0, {.frames = far_frames, .frame_count = 2}, 9},
        {OBB_BAD_NUMBER, OBB_GROUP_FRAMES, 0, 0, {.frames = bad_center, .frame_count = 1}, 9},
        {OBB_BAD_NAME, OBB_GROUP_FRAMES, 0, 0, {.frames = bad_name, .frame_count = 1}, 9},
        {OBB_LIMIT, OBB_GROUP_FRAMES, 0, 0, {.frames = far_frames, .frame_count = 1}, 0},
    };
    const uint64_t before = obb_scene_hash(scene);
    for (size_t i = 0; i < COUNT(rows); i++) {
        obb_edit edit = rows[i].edit;
        edit.dimensions = 3;
        obb_committed done;
        obb_fault fault;
        ck_assert_msg(commit(scene, &edit, rows[i].room, &arena, &done, &fault) == rows[i].status,
                      "row %zu", i);
        ck_assert_int_eq(fault.group, rows[i].group);
        ck_assert_uint_eq(fault.index, rows[i].index);
        ck_assert_uint_eq(fault.member, rows[i].member);
        ck_assert(obb_scene_hash(scene) == before);
    }
    /* a framed box may stand in `with`, and its target may not */
    const obb_edit merge = {.dimensions = 3, .merges = merges, .merge_count = 1};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &merge, 0, &arena, &done, &fault), OBB_OK);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(frames_hold_the_dimensions_and_fall_to_an_import)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_pose frame = pose_at("ann", 1);
    obb_committed done;
    ck_assert_int_eq(frame_commit(scene, &frame, 1, 1, &arena, &done), OBB_OK);
    const obb_settings planar = {.dimensions = 2};
    bool changed;
    ck_assert_int_eq(tick_configure(scene, &planar, 0, &changed), OBB_DIMENSIONS);
    obb_pose flat = pose_at("bob", 2);
    flat.has_rotation = true;
    flat.angle = 90;
    const obb_put put = framed_at("limb", "bob", 3);
    const obb_edit edit = {.dimensions = 2,
                           .settings = &planar,
                           .replace_all = true,
                           .frames = &flat,
                           .frame_count = 1,
                           .puts = &put,
                           .put_count = 1};
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 4, &arena, &done, &fault), OBB_OK);
    ck_assert_uint_eq(done.removed_frames, 1);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_ptr_null(obb_view_find_frame(view, obb_str_of("ann")));
    ck_assert_uint_eq(obb_view_info_get(view)->frames, 1);
    const obb_box limb = obb_view_pose(view, obb_view_find(view, obb_str_of("limb")));
    ck_assert_double_eq(limb.center.x, 2);
    ck_assert_double_eq(limb.center.y, 3);
    ck_assert_double_eq(limb.angle, 90);
    obb_view_close(view);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* Every allocation of a commit that makes, moves and removes frames fails once. */
START_TEST(a_commit_of_frames_that_finds_no_memory_leaves_no_trace)
{
    struct obb_arena keep;
    obb_arena_init(&keep);
    struct obb_scene *scene = rig_of_ann(&keep);
    const obb_pose frames[] = {pose_at("ann", 50), pose_at("bob", 60), pose_at("cid", 70)};
    obb_put puts[24];
    char names[24][8];
    for (size_t i = 0; i < COUNT(puts); i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        puts[i] = framed_at(names[i], i % 2 == 0 ? "ann" : "bob", (double)i);
    }
    const obb_pose poses[] = {pose_at("head", 2)};
    const obb_edit edit = {.dimensions = 3,
                           .frames = frames,
                           .frame_count = COUNT(frames),
                           .puts = puts,
                           .put_count = COUNT(puts),
                           .poses = poses,
                           .pose_count = 1};
    const uint64_t before = obb_scene_hash(scene);
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        obb_committed done;
        fault_arm(n);
        const obb_status st = obb_edit_prepare(scene, &edit, 0, 99, &arena, &prepared, &fault);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        if (!reached) {
            ck_assert_int_eq(st, OBB_OK);
            obb_edit_commit(prepared, &done);
            obb_arena_fini(&arena);
            break;
        }
        ck_assert_int_eq(st, OBB_NO_MEMORY);
        ck_assert(obb_scene_hash(scene) == before);
        ck_assert(obb_scene_validate(scene));
        obb_arena_fini(&arena);
        failed++;
    }
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_gt(failed, 30);
    printf("%zu allocations failed\n", failed);
    obb_arena_fini(&keep);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apply");
    TCase *tc = tcase_create("apply");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, groups_apply_in_the_order_remove_put_pose_transform);
    tcase_add_test(tc, the_ids_of_all_puts_are_told_if_they_are_wanted);
    tcase_add_test(tc, a_put_may_name_a_box_of_the_same_commit_by_its_id);
    tcase_add_test(tc, what_is_missing_can_be_skipped_and_is_listed);
    tcase_add_test(tc, a_patch_changes_what_it_states);
    tcase_add_test(tc, an_import_replaces_all_as_one_commit_with_new_ids);
    tcase_add_test(tc, in_the_plane_a_pose_has_an_angle_and_no_depth);
    tcase_add_test(tc, room_counts_what_the_commit_frees);
    tcase_add_test(tc, a_box_that_a_merge_names_again_makes_no_difference);
    tcase_add_test(tc, a_frame_moves_its_boxes_and_no_others);
    tcase_add_test(tc, the_same_pose_of_a_frame_again_changes_nothing);
    tcase_add_test(tc, a_frame_that_is_named_often_moves_its_boxes_once);
    tcase_add_test(tc, frames_apply_between_remove_and_put);
    tcase_add_test(tc, a_patch_of_the_frame_keeps_the_place_in_the_scene);
    tcase_add_test(tc, a_pose_of_a_framed_box_is_in_its_frame);
    tcase_add_test(tc, what_frames_forbid_is_refused_and_changes_nothing);
    tcase_add_test(tc, frames_hold_the_dimensions_and_fall_to_an_import);
    tcase_add_test(tc, a_commit_of_frames_that_finds_no_memory_leaves_no_trace);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
