#include "core/obb.h"
#include "core/scene/scene_body.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static obb_target named(const char *name) { return (obb_target){.name = obb_str_of(name)}; }

static obb_target numbered(uint64_t id) { return (obb_target){.id = id, .has_id = true}; }

static obb_put put_at(const char *name, double x)
{
    return (obb_put){
        .target = named(name),
        .parts = OBB_PUT_ALL,
        .box = {.center = {x, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
        .attributes = {.category = 1, .mask = UINT32_MAX}};
}

static obb_pose pose_at(const char *name, double x)
{
    return (obb_pose){.target = named(name), .center = {x, 0, 0}, .has_center = true};
}

static obb_transform_edit move_by(const char *name, double x)
{
    return (obb_transform_edit){.target = named(name),
                                .transform = {.has_translate = true, .translate = {x, 0, 0}}};
}

/* Commits, or says why not; the arena keeps what the answer points to. */
static obb_status commit(struct obb_scene *scene, const obb_edit *edit, size_t room,
                         struct obb_arena *arena, obb_committed *out, obb_fault *out_fault)
{
    struct obb_prepared *prepared = NULL;
    const obb_status st = obb_edit_prepare(scene, edit, 0.0, room, arena, &prepared, out_fault);
    if (st == OBB_OK) {
        fault_arm(1); /* whatever is asked of the heap now is refused */
        obb_edit_commit(prepared, out);
        const size_t asked = fault_seen();
        fault_arm(0);
        ck_assert_uint_eq(asked, 0); /* commit cannot fail */
    }
    ck_assert(obb_scene_validate(scene));
    return st;
}

static const char *now_in(struct obb_scene *scene)
{
    static sight sight_of_now;
    sight_of_now = seen(scene, (obb_at){.kind = OBB_AT_NOW});
    return sight_of_now.text;
}

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

/* Every edit has exactly one thing wrong beside what is said to come first. */
START_TEST(the_fault_is_the_first_in_the_order_of_application)
{
    struct obb_scene *scene = tick_scene(100, 4);
    tick(scene, 5, "+a:1 +b:2");
    const uint64_t before = obb_scene_hash(scene);

    const obb_target gone[] = {named("a"), named("nobody")};
    const obb_put far[] = {put_at("c", 1), put_at("d", 2e9)};
    obb_put thin[] = {put_at("c", 1)};
    thin[0].box.half_extents.y = -1;
    const obb_put bad_name[] = {put_at("c", 1), put_at("c", 2), put_at("..", 1)};
    obb_put part[] = {put_at("c", 1), put_at("x", 1)};
    part[1].parts = OBB_PUT_MASK;
    obb_put by_id[] = {put_at("a", 1)};
    by_id[0].target = numbered(77);
    obb_put entity[] = {put_at("a", 1)};
    entity[0].attributes.entity = obb_str_of("two\nlines");
    obb_put wide[] = {put_at("a", 1)};
    wide[0].box.half_extents.z = 2e9;
    static char long_data[OBB_MAX_DATA + 2];
    memset(long_data, '1', sizeof long_data - 1);
    obb_put heavy[] = {put_at("a", 1), put_at("a", 1)};
    heavy[0].attributes.data = obb_str_of(long_data + 1); /* just so */
    heavy[1].attributes.data = obb_str_of(long_data);
    const obb_put two[] = {put_at("c", 1), put_at("d", 1)};
    const obb_pose lost[] = {pose_at("a", 1), pose_at("b", 1), pose_at("x", 1)};
    const obb_pose nowhere[] = {pose_at("b", 1), pose_at("a", (double)NAN)};
    const obb_transform_edit lost_transform[] = {move_by("x", 1)};
    const obb_transform_edit far_turn[] = {move_by("a", 1), move_by("a", 1e9)};
    const obb_target with[] = {named("b"), named("x")};
    const obb_merge bad_with[] = {{.target = named("a"), .with = with, .with_count = 2}};
    const obb_merge bad_target[] = {{.target = named("x"), .with = with, .with_count = 1}};
    const obb_query late[] = {{.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3},
                              {.kind = OBB_QUERY_ALL_PAIRS,
                               .dimensions = 3,
                               .has_at = true,
                               .at = {.kind = OBB_AT_REVISION, .revision = 99}}};
    const obb_query flat[] = {{.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 2}};
    const obb_settings planar = {.dimensions = 2}, odd = {.dimensions = 7};

    const struct {
        obb_edit edit;
        obb_status status;
        obb_fault fault;
    } rows[] = {
        {{.dimensions = 2}, OBB_DIMENSIONS, {.group = OBB_GROUP_NONE}},
        {{.dimensions = 2, .settings = &planar}, OBB_DIMENSIONS, {.group = OBB_GROUP_NONE}},
        {{.dimensions = 3, .settings = &odd}, OBB_BAD_VALUE, {.group = OBB_GROUP_NONE}},
        {{.dimensions = 3, .has_time = true, .time = 4, .has_if_revision = true, .if_revision = 9},
         OBB_TIME_BACKWARDS,
         {.group = OBB_GROUP_TIME, .newest = {1, 5}}},
        {{.dimensions = 3, .has_time = true, .time = (double)NAN},
         OBB_BAD_NUMBER,
         {.group = OBB_GROUP_TIME, .newest = {1, 5}}},
        {{.dimensions = 3, .has_if_revision = true, .if_revision = 9, .puts = far, .put_count = 2},
         OBB_REVISION,
         {.group = OBB_GROUP_IF_REVISION, .newest = {1, 5}}},
        {{.dimensions = 3,
          .removes = gone,
          .remove_count = 2,
          .remove_must_exist = true,
          .puts = far,
          .put_count = 2},
         OBB_NO_BOX,
         {.group = OBB_GROUP_REMOVE, .index = 1}},
        {{.dimensions = 3, .puts = far, .put_count = 2, .poses = lost, .pose_count = 3},
         OBB_BAD_NUMBER,
         {.group = OBB_GROUP_PUT, .index = 1}},
        {{.dimensions = 3, .puts = thin, .put_count = 1}, OBB_BAD_EXTENT, {.group = OBB_GROUP_PUT}},
        {{.dimensions = 3, .puts = wide, .put_count = 1}, OBB_BAD_NUMBER, {.group = OBB_GROUP_PUT}},
        {{.dimensions = 3, .puts = heavy, .put_count = 2},
         OBB_BAD_VALUE,
         {.group = OBB_GROUP_PUT, .index = 1}},
        {{.dimensions = 3, .puts = bad_name, .put_count = 3},
         OBB_BAD_NAME,
         {.group = OBB_GROUP_PUT, .index = 2}},
        {{.dimensions = 3, .puts = part, .put_count = 2},
         OBB_NO_BOX,
         {.group = OBB_GROUP_PUT, .index = 1}},
        {{.dimensions = 3, .puts = by_id, .put_count = 1}, OBB_NO_BOX, {.group = OBB_GROUP_PUT}},
        {{.dimensions = 3, .puts = entity, .put_count = 1}, OBB_BAD_NAME, {.group = OBB_GROUP_PUT}},
        {{.dimensions = 3, .puts = two, .put_count = 2, .poses = lost, .pose_count = 3},
         OBB_LIMIT, /* room for one */
         {.group = OBB_GROUP_PUT, .index = 1}},
        {{.dimensions = 3,
          .poses = lost,
          .pose_count = 3,
          .transforms = lost_transform,
          .transform_count = 1},
         OBB_NO_BOX,
         {.group = OBB_GROUP_POSE, .index = 2}},
        {{.dimensions = 3, .removes = gone, .remove_count = 1, .poses = lost, .pose_count = 3},
         OBB_NO_BOX, /* a box that the same commit removes is gone for what follows */
         {.group = OBB_GROUP_POSE, .index = 0}},
        {{.dimensions = 3, .poses = nowhere, .pose_count = 2, .ignore_missing = true},
         OBB_BAD_NUMBER,
         {.group = OBB_GROUP_POSE, .index = 1}},
        {{.dimensions = 3, .transforms = lost_transform, .transform_count = 1},
         OBB_NO_BOX,
         {.group = OBB_GROUP_TRANSFORM}},
        {{.dimensions = 3, .transforms = far_turn, .transform_count = 2},
         OBB_BAD_NUMBER,
         {.group = OBB_GROUP_TRANSFORM, .index = 1}},
        {{.dimensions = 3, .merges = bad_with, .merge_count = 1, .queries = late, .query_count = 2},
         OBB_NO_BOX,
         {.group = OBB_GROUP_MERGE, .member = 1}},
        {{.dimensions = 3, .merges = bad_target, .merge_count = 1},
         OBB_NO_BOX,
         {.group = OBB_GROUP_MERGE, .member = OBB_FAULT_TARGET}},
        {{.dimensions = 3, .queries = late, .query_count = 2},
         OBB_GONE,
         {.group = OBB_GROUP_QUERY, .index = 1, .oldest = {0, 5}, .newest = {1, 5}}},
        {{.dimensions = 3, .queries = flat, .query_count = 1},
         OBB_DIMENSIONS,
         {.group = OBB_GROUP_QUERY}},
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < COUNT(rows); i++) {
        obb_committed done;
        obb_fault fault;
        const obb_status st = commit(scene, &rows[i].edit, 1, &arena, &done, &fault);
        ck_assert_msg(st == rows[i].status, "row %zu: %s, not %s", i, obb_status_name(st),
                      obb_status_name(rows[i].status));
        const obb_fault *expected = &rows[i].fault;
        ck_assert_msg(fault.group == expected->group && fault.index == expected->index &&
                          fault.member == expected->member,
                      "row %zu: group %d, index %zu, member %zu", i, (int)fault.group, fault.index,
                      fault.member);
        ck_assert_uint_eq(fault.oldest.revision, expected->oldest.revision);
        ck_assert_double_eq(fault.oldest.time, expected->oldest.time);
        ck_assert_uint_eq(fault.newest.revision, expected->newest.revision);
        ck_assert_double_eq(fault.newest.time, expected->newest.time);
        if (st == OBB_DIMENSIONS)
            ck_assert_int_eq(fault.dimensions, 3);  /* those of the scene */
        ck_assert(obb_scene_hash(scene) == before); /* nothing has changed */
    }
    tick(scene, 6, "+c:3");
    ck_assert_str_eq(now_in(scene), "2@6 a:1 b:2 c:3"); /* and refused boxes have used no id */
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_uint_eq(obb_view_id(obb_view_find(view, obb_str_of("c"))), 3);
    obb_view_close(view);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* Queries of a commit run on its result, so their `at` is judged by the history as it will be then. */
START_TEST(queries_must_be_answerable_on_the_result)
{
    const struct {
        uint32_t commits;
        double span;
        const char *before[3]; /* at times 10, 20 and 30 */
        double time;
        const char *line;
        obb_at at;
        obb_status status;
    } rows[] = {
        /* The first commit sets the clock, also of the empty scene before it. */
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_TIME, .time = 500}, OBB_OK},
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_REVISION, .revision = 0}, OBB_OK},
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_REVISION, .revision = 1}, OBB_OK},
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_REVISION, .revision = 2}, OBB_GONE},
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_TIME, .time = 499}, OBB_GONE},
        {4, 100, {NULL}, 500, "+a:1", {.kind = OBB_AT_TIME, .time = 499, .clamp = true}, OBB_OK},
        {4, 100, {NULL}, 500, "", {.kind = OBB_AT_TIME, .time = 500}, OBB_OK},
        /* Time goes on, whether or not something changes. */
        {4, 100, {"+a:1"}, 50, "a:2", {.kind = OBB_AT_AGO, .time = 40}, OBB_OK},
        {4, 100, {"+a:1"}, 50, "a:2", {.kind = OBB_AT_AGO, .time = 41}, OBB_GONE},
        {4, 100, {"+a:1"}, 50, "a:1", {.kind = OBB_AT_TIME, .time = 50}, OBB_OK},
        {4, 100, {"+a:1"}, 50, "a:1", {.kind = OBB_AT_TIME, .time = 51}, OBB_GONE},
        /* What the commit pushes out is gone for its queries. */
        {2,
         100,
         {"+a:1", "a:2", "a:3"},
         40,
         "a:4",
         {.kind = OBB_AT_REVISION, .revision = 2},
         OBB_OK},
        {2,
         100,
         {"+a:1", "a:2", "a:3"},
         40,
         "a:4",
         {.kind = OBB_AT_REVISION, .revision = 1},
         OBB_GONE},
        {2,
         100,
         {"+a:1", "a:2", "a:3"},
         40,
         "a:3",
         {.kind = OBB_AT_REVISION, .revision = 1},
         OBB_OK},
        {9, 15, {"+a:1", "a:2", "a:3"}, 44, "a:4", {.kind = OBB_AT_TIME, .time = 20}, OBB_OK},
        {9, 15, {"+a:1", "a:2", "a:3"}, 45, "a:4", {.kind = OBB_AT_TIME, .time = 20}, OBB_GONE},
        {9, 15, {"+a:1", "a:2", "a:3"}, 45, "a:3", {.kind = OBB_AT_TIME, .time = 20}, OBB_GONE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct obb_scene *scene = tick_scene(rows[i].span, rows[i].commits);
        for (size_t k = 0; k < 3 && rows[i].before[k] != NULL; k++)
            tick(scene, 10.0 * (double)(k + 1), rows[i].before[k]);
        struct obb_arena arena;
        obb_arena_init(&arena);
        const obb_query query = {
            .kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .has_at = true, .at = rows[i].at};
        obb_edit edit = tick_edit(rows[i].time, rows[i].line, &arena);
        edit.queries = &query;
        edit.query_count = 1;
        obb_committed done;
        obb_fault fault;
        const obb_status st = commit(scene, &edit, 9, &arena, &done, &fault);
        ck_assert_msg(st == rows[i].status, "row %zu: %s", i, obb_status_name(st));
        if (st == OBB_OK) { /* and so it is */
            const sight sees = seen(scene, rows[i].at);
            ck_assert_msg(strncmp(sees.text, "gone", 4) != 0, "row %zu: %s", i, sees.text);
        } else {
            ck_assert_int_eq(fault.group, OBB_GROUP_QUERY);
            edit.query_count = 0;
            ck_assert_int_eq(commit(scene, &edit, 9, &arena, &done, &fault), OBB_OK);
            const sight sees = seen(scene, rows[i].at);
            ck_assert_msg(strncmp(sees.text, "gone", 4) == 0, "row %zu: %s", i, sees.text);
        }
        obb_arena_fini(&arena);
        obb_scene_destroy(scene);
    }
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

START_TEST(a_commit_that_changes_nothing_raises_no_revision)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1 +b:2");
    const char *const nothing[] = {"", "a:1", "a:5 a:1", "+a:1", "+b:3 b:2", "a!1", "-x"};
    for (size_t i = 0; i < COUNT(nothing); i++) {
        const obb_committed done = tick(scene, 0, nothing[i]);
        ck_assert_msg(!done.changed && done.moment.revision == 1, "\"%s\"", nothing[i]);
        ck_assert_uint_eq(done.made_count + done.ended_count, 0);
    }
    const char *const something[] = {"a:-0", "a:0", "-a +a:0", "+c:1", "-c"};
    for (size_t i = 0; i < COUNT(something); i++) {
        const obb_committed done = tick(scene, 0, something[i]);
        ck_assert_msg(done.changed && done.moment.revision == 2 + i, "\"%s\"", something[i]);
    }
    ck_assert(obb_scene_validate(scene));
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

START_TEST(views_opened_in_between_see_nothing_of_what_is_only_prepared)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_view *views[4] = {NULL};
    for (size_t i = 0; i < 2; i++) { /* one is discarded, one committed */
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        ck_assert_int_eq(tick_prepare(scene, 0, 2, "-a +c:3 b:20", &arena, &prepared, &fault),
                         OBB_OK);
        ck_assert_int_eq(obb_view_open(scene, NULL, &views[2 * i], NULL, NULL), OBB_OK);
        ck_assert_int_eq(obb_view_open(scene, NULL, &views[2 * i + 1], NULL, NULL), OBB_OK);
        ck_assert_str_eq(seen_in(views[2 * i]).text, "1@1 a:1 b:2");
        obb_view_close(views[2 * i + 1]);
        if (i == 0) {
            obb_edit_discard(prepared);
        } else {
            obb_committed done;
            obb_edit_commit(prepared, &done);
        }
        ck_assert_str_eq(seen_in(views[2 * i]).text, "1@1 a:1 b:2");
        ck_assert(obb_scene_validate(scene));
    }
    ck_assert_str_eq(now_in(scene), "2@2 b:20 c:3");
    obb_view_close(views[0]);
    obb_view_close(views[2]);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Memory that runs out ----------------------------------------------------------------------------------------- */

enum { MIXED_PUTS = 40, MIXED_POSES = 30 };

/* An edit with some of everything, so that every place that asks for memory is passed. */
static obb_edit mixed_edit(void)
{
    static obb_put puts[MIXED_PUTS];
    static obb_pose poses[MIXED_POSES];
    static obb_transform_edit turns[MIXED_POSES];
    static char names[MIXED_PUTS][24], data[MIXED_PUTS][24], old[2 * MIXED_POSES][24];
    static obb_target removes[1], with[2];
    static obb_merge merges[1];
    for (int i = 0; i < MIXED_PUTS; i++) {
        (void)snprintf(names[i], sizeof names[i], "new %d", i);
        (void)snprintf(data[i], sizeof data[i], "{\"n\":%d}", i);
        puts[i] = put_at(names[i], i);
        puts[i].attributes.data = obb_str_of(data[i]);
        puts[i].attributes.entity = obb_str_of(i % 3 == 0 ? "player" : "");
    }
    for (int i = 0; i < MIXED_POSES; i++) {
        (void)snprintf(old[i], sizeof old[i], "old%d", i);
        (void)snprintf(old[MIXED_POSES + i], sizeof old[i], "old%d", 40 + i);
        poses[i] = pose_at(old[i], 1000 + i);
        turns[i] = move_by(old[MIXED_POSES + i], 2000);
    }
    poses[7].target = named("nobody");
    turns[7].target = named("nobody");
    removes[0] = named("old90");
    with[0] = named("old91");
    with[1] = named("old92");
    merges[0] = (obb_merge){.target = named("old93"), .with = with, .with_count = 2};
    return (obb_edit){.dimensions = 3,
                      .ignore_missing = true,
                      .removes = removes,
                      .remove_count = 1,
                      .puts = puts,
                      .put_count = MIXED_PUTS,
                      .poses = poses,
                      .pose_count = MIXED_POSES,
                      .transforms = turns,
                      .transform_count = MIXED_POSES,
                      .merges = merges,
                      .merge_count = 1};
}

/* A scene of so many boxes, named old0 and so on. */
static struct obb_scene *crowd(int boxes)
{
    struct obb_scene *scene = tick_scene(500, 64);
    char line[64];
    for (int i = 0; i < boxes; i += 2) {
        (void)snprintf(line, sizeof line, "+old%d:%d +old%d:%d", i, i, i + 1, i);
        tick(scene, 1, line);
    }
    return scene;
}

START_TEST(a_commit_that_finds_no_memory_leaves_no_trace)
{
    /* So many that the pool's page, or its table of pages, is full at any of the edit's entries. */
    const int boxes[] = {100, 400, 440, 480, 490, 500, 512, 2000, 2048, 2040};
    size_t refused = 0, most = 0;
    for (size_t b = 0; b < COUNT(boxes); b++) {
        struct obb_scene *scene = crowd(boxes[b]), *twin = crowd(boxes[b]);
        struct obb_arena spare;
        obb_arena_init(&spare);
        const obb_edit edit = mixed_edit();
        const uint64_t before = obb_scene_hash(scene);
        obb_status st = OBB_NO_MEMORY;
        obb_committed done, twin_done;
        obb_fault fault;
        for (size_t n = 1; st != OBB_OK; n++) {
            struct obb_arena arena;
            obb_arena_init(&arena);
            struct obb_prepared *prepared = NULL;
            fault_arm(n);
            st = obb_edit_prepare(scene, &edit, 0, 1000, &arena, &prepared, &fault);
            fault_arm(0);
            if (st == OBB_OK) {
                obb_edit_commit(prepared, &done);
            } else {
                ck_assert_int_eq(st, OBB_NO_MEMORY);
                ck_assert(obb_scene_hash(scene) == before);
                ck_assert(n % 16 != 0 || obb_scene_validate(scene));
                refused++;
                most = n > most ? n : most;
            }
            obb_arena_fini(&arena);
        }
        ck_assert_int_eq(commit(twin, &edit, 1000, &spare, &twin_done, &fault), OBB_OK);
        ck_assert(obb_scene_validate(scene));
        ck_assert(obb_scene_hash(scene) == obb_scene_hash(twin)); /* ids and all */
        ck_assert_uint_eq(done.posed, MIXED_POSES - 1);
        obb_arena_fini(&spare);
        obb_scene_destroy(scene);
        obb_scene_destroy(twin);
    }
    printf("commits: %zu allocations refused, at most %zu in one\n", refused, most);
    ck_assert_uint_gt(most,
                      (size_t)2 * MIXED_PUTS); /* a record and a text each, and what holds them */
}
END_TEST

START_TEST(a_view_that_finds_no_memory_is_not_opened)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:3 b:4");
    const obb_at between = at_time(1.5);
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    struct obb_view *view = NULL;
    for (size_t n = 1; st != OBB_OK; n++) {
        fault_arm(n);
        st = obb_view_open(scene, &between, &view, NULL, NULL);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        ck_assert(obb_scene_validate(scene));
    }
    ck_assert_uint_gt(refused, 2); /* the list of movers, their index, the view */
    ck_assert_str_eq(seen_in(view).text, "1@1.5 a:2 b:3");
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edit");
    TCase *tc = tcase_create("edit");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, groups_apply_in_the_order_remove_put_pose_transform);
    tcase_add_test(tc, the_fault_is_the_first_in_the_order_of_application);
    tcase_add_test(tc, queries_must_be_answerable_on_the_result);
    tcase_add_test(tc, what_is_missing_can_be_skipped_and_is_listed);
    tcase_add_test(tc, a_commit_that_changes_nothing_raises_no_revision);
    tcase_add_test(tc, a_patch_changes_what_it_states);
    tcase_add_test(tc, an_import_replaces_all_as_one_commit_with_new_ids);
    tcase_add_test(tc, in_the_plane_a_pose_has_an_angle_and_no_depth);
    tcase_add_test(tc, room_counts_what_the_commit_frees);
    tcase_add_test(tc, views_opened_in_between_see_nothing_of_what_is_only_prepared);
    tcase_add_test(tc, a_commit_that_finds_no_memory_leaves_no_trace);
    tcase_add_test(tc, a_view_that_finds_no_memory_is_not_opened);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
