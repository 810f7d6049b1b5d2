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
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
