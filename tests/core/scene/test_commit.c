#include "core/scene/scene_data.h"
#include "tests/core/scene/edits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    const obb_needed_moment late[] = {
        {.dimensions = 3}, {.dimensions = 3, .at = {.kind = OBB_AT_REVISION, .revision = 99}}};
    const obb_needed_moment flat[] = {{.dimensions = 2}};
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
        {{.dimensions = 3,
          .merges = bad_with,
          .merge_count = 1,
          .moments = late,
          .moment_count = 2},
         OBB_NO_BOX,
         {.group = OBB_GROUP_MERGE, .member = 1}},
        {{.dimensions = 3, .merges = bad_target, .merge_count = 1},
         OBB_NO_BOX,
         {.group = OBB_GROUP_MERGE, .member = OBB_FAULT_TARGET}},
        {{.dimensions = 3, .moments = late, .moment_count = 2},
         OBB_GONE,
         {.group = OBB_GROUP_MOMENT, .index = 1, .oldest = {0, 5}, .newest = {1, 5}}},
        {{.dimensions = 3, .moments = flat, .moment_count = 1},
         OBB_DIMENSIONS,
         {.group = OBB_GROUP_MOMENT}},
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

/* A needed moment is looked for in the history as the commit will leave it. */
START_TEST(needed_moments_must_be_within_reach_of_the_result)
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
        const obb_needed_moment moment = {.dimensions = 3, .at = rows[i].at};
        obb_edit edit = tick_edit(rows[i].time, rows[i].line, &arena);
        edit.moments = &moment;
        edit.moment_count = 1;
        obb_committed done;
        obb_fault fault;
        const obb_status st = commit(scene, &edit, 9, &arena, &done, &fault);
        ck_assert_msg(st == rows[i].status, "row %zu: %s", i, obb_status_name(st));
        if (st == OBB_OK) { /* and so it is */
            const sight sees = seen(scene, rows[i].at);
            ck_assert_msg(strncmp(sees.text, "gone", 4) != 0, "row %zu: %s", i, sees.text);
        } else {
            ck_assert_int_eq(fault.group, OBB_GROUP_MOMENT);
            edit.moment_count = 0;
            ck_assert_int_eq(commit(scene, &edit, 9, &arena, &done, &fault), OBB_OK);
            const sight sees = seen(scene, rows[i].at);
            ck_assert_msg(strncmp(sees.text, "gone", 4) == 0, "row %zu: %s", i, sees.text);
        }
        obb_arena_fini(&arena);
        obb_scene_destroy(scene);
    }
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

START_TEST(a_transform_that_moves_nothing_raises_no_revision)
{
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
        const obb_settings settings = {.dimensions = dimensions};
        struct obb_scene *scene = NULL;
        ck_assert_int_eq(obb_scene_create(obb_str_of("map"), &settings, 0, NULL, &scene), OBB_OK);
        struct obb_arena arena;
        obb_arena_init(&arena);
        obb_put put = put_at("a", -0.0);
        put.box.center.y = -0.0;
        if (dimensions == 2) {
            put.box.half_extents.z = 0.0;
            put.box.angle = 730.0;
        } else {
            put.box.rotation = (obb_quat){-0.0, 0.6, -0.0, 0.8};
        }
        obb_edit edit = {.dimensions = dimensions, .puts = &put, .put_count = 1};
        obb_committed done;
        obb_fault fault;
        ck_assert_int_eq(commit(scene, &edit, 1, &arena, &done, &fault), OBB_OK);
        const uint64_t before = obb_scene_hash(scene);
        const obb_transform nothing[] = {
            {.has_translate = true},
            {.has_translate = true, .translate = {-0.0, -0.0, -0.0}, .local = true},
            {.has_rotate = true, .rotate = {0, 0, 0, 1}},
            {.has_rotate = true, .rotate = {0, 0, -0.0, 1}, .local = true},
            {.has_rotate = true, .rotate = {0, 0, 0, -1}, .angle = 720},
            {.has_scale = true, .scale = {1, 1, 1}},
            {.has_scale = true, .scale = {1, 1, 1}, .local = true},
        };
        for (size_t i = 0; i < COUNT(nothing); i++) {
            const obb_transform_edit turn = {.target = named("a"), .transform = nothing[i]};
            edit = (obb_edit){.dimensions = dimensions, .transforms = &turn, .transform_count = 1};
            ck_assert_int_eq(commit(scene, &edit, 0, &arena, &done, &fault), OBB_OK);
            ck_assert_msg(!done.changed && done.moment.revision == 1 && done.transformed == 1,
                          "%zu in %d-D", i, dimensions);
            ck_assert_uint_eq(obb_scene_hash(scene), before);
        }
        const obb_transform_edit turn = {
            .target = named("a"),
            .transform = {.has_translate = true, .translate = {5e-324, 0, 0}}};
        edit = (obb_edit){.dimensions = dimensions, .transforms = &turn, .transform_count = 1};
        ck_assert_int_eq(commit(scene, &edit, 0, &arena, &done, &fault), OBB_OK);
        ck_assert(done.changed && done.moment.revision == 2);
        obb_arena_fini(&arena);
        obb_scene_destroy(scene);
    }
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

/* ---- Read from the history ------------------------------------------------------------------- */

enum { KEPT = 60, CROWD = 24 };

/* What a commit said when it was made: ids by the order of ids, and by the edit's own names which
 * of the versions were put. */
struct said {
    obb_committed done;
    uint64_t made[CROWD], ended[CROWD];
    bool put[CROWD];
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void list_ids(const struct obb_version *const *boxes, size_t count, uint64_t *out)
{
    ck_assert_uint_le(count, CROWD);
    for (size_t i = 0; i < count; i++)
        out[i] = obb_view_id(boxes[i]);
    qsort(out, count, sizeof *out, by_value);
}

/* Commits removes, puts, poses and transforms of boxes named x0 and so on. */
static void commit_some(struct obb_scene *scene, test_rng *rng, struct said *out)
{
    static char names[CROWD][8];
    obb_target removes[CROWD];
    obb_put puts[CROWD];
    obb_pose poses[CROWD];
    obb_transform_edit moves[CROWD];
    obb_edit edit = {.dimensions = 3,
                     .ignore_missing = true,
                     .removes = removes,
                     .puts = puts,
                     .poses = poses,
                     .transforms = moves};
    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(names[i], sizeof names[i], "x%zu", i);
        const double x = (double)test_below(rng, 3); /* sometimes where it is already */
        if (test_below(rng, 8) == 0)
            removes[edit.remove_count++] = named(names[i]);
        if (test_below(rng, 5) == 0)
            puts[edit.put_count++] = put_at(names[i], x);
        if (test_below(rng, 4) == 0)
            poses[edit.pose_count++] = pose_at(names[i], x);
        if (test_below(rng, 8) == 0)
            moves[edit.transform_count++] = move_by(names[i], x);
    }
    struct obb_arena arena = {0};
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, 1000, &arena, &out->done, &fault), OBB_OK);
    const obb_committed *done = &out->done;
    list_ids(done->made, done->made_count, out->made);
    list_ids(done->ended, done->ended_count, out->ended);
    for (size_t i = 0; i < done->made_count; i++) {
        const size_t at =
            (size_t)((uint64_t *)bsearch(&(uint64_t){obb_view_id(done->made[i])}, out->made,
                                         done->made_count, sizeof *out->made, by_value) -
                     out->made);
        out->put[at] = false;
        for (size_t k = 0; k < edit.put_count; k++)
            out->put[at] = out->put[at] ||
                           obb_str_equal(edit.puts[k].target.name, obb_view_name(done->made[i]));
    }
    obb_arena_fini(&arena);
}

START_TEST(the_history_says_what_each_commit_did)
{
    static struct said said[KEPT];
    size_t count = 0, made = 0, put = 0, removed = 0, refused = 0;
    test_rng rng = {.s = 20261210};
    struct obb_scene *scene = tick_scene(1e9, KEPT);
    while (count < KEPT) {
        commit_some(scene, &rng, &said[count]);
        count += said[count].done.changed; /* the others are no states */
    }
    for (size_t i = 0; i < KEPT; i++) {
        const struct said *s = &said[i];
        struct obb_view *before, *after;
        const obb_at from = {.kind = OBB_AT_REVISION, .revision = s->done.moment.revision - 1};
        ck_assert_int_eq(obb_view_open(scene, &from, &before, NULL, NULL), OBB_OK);
        obb_view_keep_later(before);
        ck_assert_int_eq(obb_view_open_later(before, s->done.moment.revision, &after), OBB_OK);
        obb_committed read;
        for (size_t n = 1;; n++) {
            struct obb_arena arena = {0};
            fault_arm(n);
            const obb_status status = obb_committed_read(before, after, &arena, &read);
            const bool reached = fault_seen() >= n;
            fault_arm(0);
            ck_assert(status == (reached ? OBB_NO_MEMORY : OBB_OK));
            refused += reached;
            if (!reached) {
                ck_assert_uint_eq(read.moment.revision, s->done.moment.revision);
                ck_assert_double_eq(read.moment.time, s->done.moment.time);
                ck_assert_uint_eq(read.removed, s->done.removed);
                ck_assert_uint_eq(read.put, s->done.put);
                ck_assert_uint_eq(read.posed, s->done.posed);
                ck_assert_uint_eq(read.transformed, s->done.transformed);
                ck_assert_uint_eq(read.made_count, s->done.made_count);
                ck_assert_uint_eq(read.ended_count, s->done.ended_count);
                uint64_t ids[CROWD];
                list_ids(read.made, read.made_count, ids);
                ck_assert_mem_eq(ids, s->made, read.made_count * sizeof *ids);
                list_ids(read.ended, read.ended_count, ids);
                ck_assert_mem_eq(ids, s->ended, read.ended_count * sizeof *ids);
                for (size_t k = 0; k < read.made_count; k++) {
                    const uint64_t id = obb_view_id(read.made[k]);
                    const uint64_t *at =
                        bsearch(&id, s->made, read.made_count, sizeof id, by_value);
                    ck_assert_ptr_eq(read.made[k], obb_view_find_id(after, id));
                    ck_assert(obb_view_put(read.made[k]) == s->put[at - s->made]);
                    put += obb_view_put(read.made[k]);
                }
                size_t gone = 0;
                for (size_t k = 0; k < read.ended_count; k++) {
                    const uint64_t id = obb_view_id(read.ended[k]);
                    ck_assert_ptr_eq(read.ended[k], obb_view_find_id(before, id));
                    gone += bsearch(&id, s->made, read.made_count, sizeof id, by_value) == NULL;
                }
                ck_assert_uint_eq(read.gone, gone);
                ck_assert_uint_eq(s->done.gone, gone);
                made += read.made_count;
                removed += read.removed;
            }
            obb_arena_fini(&arena);
            if (!reached)
                break;
        }
        obb_view_close(before);
        obb_view_close(after);
    }
    printf("%d commits read: %zu versions made, %zu of them put, %zu boxes removed\n", KEPT, made,
           put, removed);
    ck_assert_uint_gt(put, KEPT);
    ck_assert_uint_gt(made - put, KEPT);
    ck_assert_uint_gt(removed, KEPT / 2);
    ck_assert_uint_ge(refused, KEPT);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Memory that runs out -------------------------------------------------------------------- */

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

START_TEST(a_sealed_edit_shows_nothing_and_is_committed_or_discarded)
{
    struct obb_scene *scene = tick_scene(1e9, 4);
    struct obb_view *view = NULL;
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:9");
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    for (int round = 0; round < 2; round++) {
        const uint64_t hash = obb_scene_hash(scene);
        obb_scene_info before, after;
        obb_scene_info_get(scene, &before);
        struct obb_arena arena;
        obb_arena_init(&arena);
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        ck_assert_int_eq(tick_prepare(scene, 0, 3, "-a b:7 +c:20 +d:30", &arena, &prepared, &fault),
                         OBB_OK);
        obb_edit_seal(prepared);
        ck_assert_str_eq(seen_in(view).text, "2@2 a:9 b:2");
        ck_assert_ptr_null(obb_view_find(view, obb_str_of("c")));
        if (round == 0) {
            obb_edit_discard(prepared);
            ck_assert(obb_scene_validate(scene));
            ck_assert_uint_eq(obb_scene_hash(scene), hash);
            ck_assert(obb_scene_measured(scene));
            obb_scene_info_get(scene, &after);
            ck_assert_double_eq(after.bounds.max.x, before.bounds.max.x);
        } else {
            obb_committed done;
            const size_t unused = scene->versions.free_count, garbage = scene->garbage.count;
            fault_arm(1);
            obb_edit_commit(prepared, &done);
            ck_assert_uint_eq(fault_seen(), 0);
            fault_arm(0);
            ck_assert_uint_eq(scene->versions.free_count, unused); /* nothing was reclaimed: O(1) */
            ck_assert_uint_eq(scene->garbage.count, garbage);
            ck_assert(obb_scene_validate(scene));
            ck_assert_str_eq(now_in(scene), "3@3 b:7 c:20 d:30");
            obb_scene_info_get(scene, &after);
            ck_assert_double_eq(after.bounds.max.x, 31);
        }
        ck_assert_str_eq(seen_in(view).text, "2@2 a:9 b:2");
        obb_arena_fini(&arena);
    }
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("commit");
    TCase *tc = tcase_create("commit");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, the_fault_is_the_first_in_the_order_of_application);
    tcase_add_test(tc, needed_moments_must_be_within_reach_of_the_result);
    tcase_add_test(tc, a_commit_that_changes_nothing_raises_no_revision);
    tcase_add_test(tc, a_transform_that_moves_nothing_raises_no_revision);
    tcase_add_test(tc, views_opened_in_between_see_nothing_of_what_is_only_prepared);
    tcase_add_test(tc, the_history_says_what_each_commit_did);
    tcase_add_test(tc, a_sealed_edit_shows_nothing_and_is_committed_or_discarded);
    tcase_add_test(tc, a_commit_that_finds_no_memory_leaves_no_trace);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
