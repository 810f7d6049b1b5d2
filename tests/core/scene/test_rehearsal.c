/* Rehearsals of commits that replace all boxes, and of queries with changes. Random rehearsals are
 * in test_revert.c, those of requests in tests/e2e. */
#include "core/scene/rehearsal.h"

#include "tests/core/scene/edits.h"

#include <stdio.h>
#include <string.h>

static struct obb_scene *scene;
static struct obb_arena arena;

static void setup(void)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 1000, .history_commits = 8};
    obb_arena_init(&arena);
    ck_assert_int_eq(obb_scene_create(obb_str_of("yard"), &settings, 0.0, NULL, &scene), OBB_OK);
}

static void teardown(void)
{
    obb_scene_destroy(scene);
    obb_arena_fini(&arena);
}

/* Returns the boxes of a view with their ids, places and frames, and then its frames. */
static const char *shown(const struct obb_view *view)
{
    static char text[4][1024];
    static size_t next;
    char *out = text[next++ % 4];
    size_t length = 0, boxes = 0, frames = 0;
    obb_str in;
    obb_box local;
    out[0] = '\0';
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)), boxes++) {
        if (!obb_view_local(box, &in, &local))
            in = (obb_str){"-", 1};
        const obb_str name = obb_view_name(box);
        length += (size_t)snprintf(out + length, sizeof text[0] - length, "%.*s#%d@%g/%.*s ",
                                   (int)name.length, name.bytes, (int)obb_view_id(box),
                                   obb_view_pose(view, box).center.x, (int)in.length, in.bytes);
        ck_assert_ptr_eq(obb_view_find(view, name), box);
        const struct obb_version *round[2];
        obb_view_find_names(view, (const obb_str[]){{"nobody", 6}, name}, 2, round);
        ck_assert(round[0] == NULL && round[1] == box);
    }
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(view, obb_view_name(frame), true), frames++) {
        const obb_str name = obb_view_name(frame);
        length +=
            (size_t)snprintf(out + length, sizeof text[0] - length, "%.*s@%g ", (int)name.length,
                             name.bytes, obb_view_frame_pose(view, frame).center.x);
    }
    ck_assert_uint_eq(obb_view_info_get(view)->boxes, boxes);
    ck_assert_uint_eq(obb_view_info_get(view)->frames, frames);
    return out;
}

START_TEST(an_edit_that_replaces_all_boxes_shows_none_of_the_old_ones)
{
    const obb_pose frames[] = {pose_at("ann", 100), pose_at("bob", 200)};
    obb_put puts[] = {put_at("a", 1), put_at("b", 2), put_at("c", 3)};
    puts[1].frame = obb_str_of("bob");
    const obb_edit fill = {.dimensions = 3,
                           .has_time = true,
                           .time = 10,
                           .frames = frames,
                           .frame_count = 2,
                           .puts = puts,
                           .put_count = 3};
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &arena, &committed, &fault), OBB_OK);

    const obb_pose kept[] = {pose_at("ann", 300)};
    obb_put fresh[] = {put_at("d", 4), put_at("a", 5)};
    fresh[0].frame = obb_str_of("ann");
    const obb_needed_moment moments[] = {
        {.dimensions = 3},
        {.dimensions = 3, .at = {.kind = OBB_AT_TIME, .time = 15}},
        {.dimensions = 3, .at = {.kind = OBB_AT_REVISION, .revision = 1}},
        {.dimensions = 3, .at = {.kind = OBB_AT_TIME, .time = 20}}};
    const obb_edit import = {.dimensions = 3,
                             .has_time = true,
                             .time = 20,
                             .frames = kept,
                             .frame_count = 1,
                             .puts = fresh,
                             .put_count = 2,
                             .moments = moments,
                             .moment_count = COUNT(moments),
                             .replace_all = true};
    static const char old[] = "a#1@1/- b#2@202/bob c#3@3/- ann@100 bob@200 ",
                      new[] = "d#4@304/ann a#5@5/- ann@300 ";
    static const char *const expected[] = {new, old, old, new};
    struct obb_prepared *prepared = NULL;
    obb_rehearsal rehearsal = {.opened_count = 0};
    ck_assert_int_eq(obb_edit_prepare(scene, &import, 0.0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    ck_assert_int_eq(obb_rehearse(prepared, NULL, &arena, &rehearsal, &fault), OBB_OK);
    for (size_t i = 0; i < COUNT(moments); i++)
        ck_assert_str_eq(shown(rehearsal.views[i]), expected[i]);
    obb_rehearsal_end(&rehearsal);

    /* the commit shows what was rehearsed */
    obb_edit_commit(prepared, &committed);
    ck_assert(obb_scene_validate(scene));
    for (size_t i = 0; i < COUNT(moments); i++) {
        struct obb_view *view;
        ck_assert_int_eq(obb_view_open(scene, &moments[i].at, &view, NULL, NULL), OBB_OK);
        ck_assert_str_eq(shown(view), expected[i]);
        obb_view_close(view);
    }
}
END_TEST

/* Returns what a query with those changes sees. */
static const char *shown_with(const struct obb_view *view, const obb_edit *with)
{
    struct obb_overlay *overlay = NULL;
    struct obb_view *over;
    obb_fault fault;
    ck_assert_int_eq(obb_overlay_of_edit(view, with, NULL, &arena, &overlay, &fault), OBB_OK);
    ck_assert_int_eq(obb_overlay_open(overlay, view, NULL, &arena, &over), OBB_OK);
    const char *text = shown(over);
    obb_overlay_destroy(overlay);
    return text;
}

START_TEST(the_boxes_of_a_query_have_the_ids_that_follow_the_commit_in_every_state)
{
    const obb_put first = put_at("a", 1), tried = put_at("w", 9);
    const obb_put puts[] = {put_at("n", 2), put_at("gone", 3)};
    const obb_edit fill = {
        .dimensions = 3, .has_time = true, .time = 10, .puts = &first, .put_count = 1};
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &arena, &committed, &fault), OBB_OK);

    const obb_edit with = {.dimensions = 3, .puts = &tried, .put_count = 1};
    const obb_needed_moment moments[] = {
        {.dimensions = 3, .at = {.kind = OBB_AT_REVISION, .revision = 1}, .with = &with},
        {.dimensions = 3, .at = {.kind = OBB_AT_TIME, .time = 15}, .with = &with},
        {.dimensions = 3, .with = &with}};
    const obb_target merged = {.name = obb_str_of("gone")};
    const obb_merge merge = {.target = {.name = obb_str_of("n")}, .with = &merged, .with_count = 1};
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = 20,
                           .puts = puts,
                           .put_count = COUNT(puts),
                           .merges = &merge, /* takes the last new box away, not its id */
                           .merge_count = 1,
                           .moments = moments,
                           .moment_count = COUNT(moments)};
    struct obb_prepared *prepared = NULL;
    obb_rehearsal rehearsal = {.opened_count = 0};
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0.0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    ck_assert_int_eq(obb_rehearse(prepared, NULL, &arena, &rehearsal, &fault), OBB_OK);
    char rehearsed[COUNT(moments)][256];
    for (size_t i = 0; i < COUNT(moments); i++) {
        (void)snprintf(rehearsed[i], sizeof rehearsed[i], "%s",
                       shown_with(rehearsal.views[i], &with));
        ck_assert_ptr_nonnull(strstr(rehearsed[i], "w#4@9/- "));
    }
    obb_rehearsal_end(&rehearsal);
    obb_edit_commit(prepared, &committed);
    for (size_t i = 0; i < COUNT(moments); i++) {
        struct obb_view *view;
        ck_assert_int_eq(obb_view_open(scene, &moments[i].at, &view, NULL, NULL), OBB_OK);
        ck_assert_str_eq(shown_with(view, &with), rehearsed[i]);
        obb_view_close(view);
    }
}
END_TEST

START_TEST(the_changes_of_a_query_are_tried_once_a_state_until_somebody_cancels)
{
    const obb_put put = put_at("a", 1);
    const obb_edit fill = {
        .dimensions = 3, .has_time = true, .time = 10, .puts = &put, .put_count = 1};
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &arena, &committed, &fault), OBB_OK);

    const obb_pose moved = pose_at("a", 5), tried = pose_at("a", 9);
    const obb_edit with = {.dimensions = 3, .poses = &tried, .pose_count = 1};
    static const double times[] = {10, 10, 10, 15, 15, 20, 20};
    enum { POLLS = 2 * 3 }; /* one before the commit is laid over a state, one before `with` is */
    const obb_needed_moment moment = {.dimensions = 3,
                                      .at = {.kind = OBB_AT_TIME},
                                      .times = times,
                                      .count = COUNT(times),
                                      .with = &with};
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = 20,
                           .poses = &moved,
                           .pose_count = 1,
                           .moments = &moment,
                           .moment_count = 1};
    const atomic_bool cancel = false;
    for (size_t n = 0; n <= POLLS; n++) {
        struct obb_prepared *prepared = NULL;
        obb_rehearsal rehearsal = {.opened_count = 0};
        ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0.0, SIZE_MAX, &arena, &prepared, &fault),
                         OBB_OK);
        fault_cancel(n);
        ck_assert_int_eq(obb_rehearse(prepared, &cancel, &arena, &rehearsal, &fault),
                         n == 0 ? OBB_OK : OBB_CANCELLED);
        ck_assert_uint_eq(fault_polls(), n == 0 ? POLLS : n);
        fault_cancel(0);
        ck_assert(fault.group == OBB_GROUP_NONE && !fault.of_with);
        obb_rehearsal_end(&rehearsal);
        obb_edit_discard(prepared);
        ck_assert(obb_scene_validate(scene));
        ck_assert_str_eq(now_in(scene), "1@10 a:1");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rehearsal");
    TCase *tc = tcase_create("rehearsal");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_edit_that_replaces_all_boxes_shows_none_of_the_old_ones);
    tcase_add_test(tc, the_boxes_of_a_query_have_the_ids_that_follow_the_commit_in_every_state);
    tcase_add_test(tc, the_changes_of_a_query_are_tried_once_a_state_until_somebody_cancels);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
