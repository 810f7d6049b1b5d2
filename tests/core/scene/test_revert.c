/* Commits that are applied, and then published or reverted. Beside the scene stands a twin that
 * only ever gets the published commits, by obb_edit_commit: whatever readers can ask of the scene,
 * the twin answers the same. */
#include "core/scene/reclaim.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"
#include "tests/core/scene/edits.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- What a view shows ----------------------------------------------------------------------- */

static uint64_t mixed(uint64_t sum, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ byte[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t mixed_whole(uint64_t sum, uint64_t value)
{
    return mixed(sum, &value, sizeof value);
}

static uint64_t mixed_number(uint64_t sum, double value)
{
    return mixed(sum, &value, sizeof value);
}

static uint64_t mixed_text(uint64_t sum, obb_str text)
{
    return mixed(mixed_whole(sum, text.length), text.bytes, text.length);
}

static uint64_t mixed_pose(uint64_t sum, const obb_box *box)
{
    const double parts[] = {box->center.x,       box->center.y,       box->center.z,
                            box->half_extents.x, box->half_extents.y, box->half_extents.z,
                            box->rotation.x,     box->rotation.y,     box->rotation.z,
                            box->rotation.w,     box->angle};
    return mixed(sum, parts, sizeof parts);
}

static bool count_box(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)version;
    (void)verdict;
    ++*(size_t *)context;
    return true;
}

/* Returns how many boxes the broad phase shows. */
static size_t indexed(const struct obb_view *view)
{
    const obb_bounds all = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    size_t count = 0;
    obb_layers_query(view->layers, view->revision, &all, &count, count_box);
    return count;
}

/* Returns one number for all that any thread can see in a view, or 0 if two ways to a box
 * disagree. */
static uint64_t sum_of(const struct obb_view *view)
{
    const obb_view_info *info = obb_view_info_get(view);
    uint64_t sum = mixed_number(mixed_whole(1, info->at.revision), info->at.time);
    sum = mixed_whole(sum, (uint64_t)info->dimensions * 2 + info->clamped);
    size_t boxes = 0, frames = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)), boxes++) {
        const obb_box pose = obb_view_pose(view, box);
        const obb_attributes has = obb_view_attributes(box);
        if (obb_view_find(view, obb_view_name(box)) != box ||
            obb_view_find_id(view, obb_view_id(box)) != box ||
            (has.entity.length > 0 &&
             obb_view_entity(view, has.entity) != obb_version_extras(box)->entity))
            return 0;
        sum = mixed_text(mixed_whole(sum, obb_view_id(box)), obb_view_name(box));
        sum = mixed_whole(mixed_pose(sum, &pose), obb_view_changed(box) * 2 + obb_view_put(box));
        sum = mixed_text(mixed_text(sum, has.entity), has.data);
        sum = mixed_whole(mixed_whole(sum, has.category), has.mask);
        sum = mixed_whole(sum, (uint64_t)(int64_t)has.group);
        if (has.has_ttl)
            sum = mixed_number(mixed_number(sum, has.ttl), obb_view_since(view, box));
        obb_str frame;
        obb_box local;
        if (obb_view_local(box, &frame, &local))
            sum = mixed_text(mixed_pose(sum, &local), frame);
    }
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(view, obb_view_name(frame), true), frames++) {
        const obb_box pose = obb_view_frame_pose(view, frame);
        sum = mixed_text(mixed_pose(sum, &pose), obb_view_name(frame));
    }
    if (boxes != info->boxes || frames != info->frames || indexed(view) != boxes)
        return 0;
    return sum | 1;
}

/* Returns one number for the ids, names and poses that a view shows, which may have overlays. */
static uint64_t poses_of(const struct obb_view *view)
{
    uint64_t sum = mixed_whole(1, obb_view_info_get(view)->boxes);
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box))) {
        const obb_box pose = obb_view_pose(view, box);
        sum = mixed_text(mixed_whole(mixed_pose(sum, &pose), obb_view_id(box)), obb_view_name(box));
    }
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(view, obb_view_name(frame), true)) {
        const obb_box pose = obb_view_frame_pose(view, frame);
        sum = mixed_text(mixed_pose(sum, &pose), obb_view_name(frame));
    }
    return sum;
}

/* ---- Random edits ---------------------------------------------------------------------------- */

enum { NAMES = 24, FRAMES = 4, TAIL = 64, ENTRIES = 8 };

static const char *const frame_names[FRAMES] = {"car", "carrier", "lift", "ship"};

/* Names last as long as the program. */
static obb_str name_of(size_t i)
{
    static char names[NAMES][8];
    (void)snprintf(names[i], sizeof names[i], "n%zu", i);
    return obb_str_of(names[i]);
}

/* One commit of the tail, with all that its edit points to. */
struct applied {
    struct obb_arena arena;
    obb_edit edit;
    obb_target removes[ENTRIES];
    obb_str removed_frames[1];
    obb_pose frames[2];
    obb_put puts[ENTRIES];
    obb_pose poses[ENTRIES];
    obb_transform_edit transforms[2];
    obb_merge merges[1];
    obb_target with[2];
    obb_if_box if_boxes[1];
    obb_needed_moment moments[1];
    obb_settings settings;
    double now_ms;
    struct obb_prepared *prepared;
    obb_committed done;
    struct obb_view *view; /* of the tail, opened behind this commit; or NULL */
    obb_at at;             /* how the view was asked for */
    obb_status viewed;
    uint64_t shown;
    size_t forgotten; /* states given up before that */
    size_t lent;      /* the place of the view with a reader; 0: none */
};

static bool chance(test_rng *rng, size_t percent) { return test_below(rng, 100) < percent; }

static obb_vec3 any_place(test_rng *rng)
{
    return (obb_vec3){(double)test_below(rng, 5), (double)test_below(rng, 5),
                      (double)test_below(rng, 3)};
}

static obb_target any_target(test_rng *rng, const struct obb_scene *scene)
{
    obb_target target = {.name = name_of(test_below(rng, NAMES))};
    if (chance(rng, 20)) {
        target.has_id = true;
        const size_t ids = (size_t)scene->next_id;
        target.id = ids - test_below(rng, ids < 40 ? ids : 40);
    }
    return target;
}

static obb_quat any_rotation(test_rng *rng)
{
    obb_quat q;
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){1, (double)test_below(rng, 2), 0},
                                              30.0 * (double)test_below(rng, 4), &q),
                     OBB_OK);
    return q;
}

static obb_put any_put(test_rng *rng, const struct obb_scene *scene, int dimensions)
{
    static const char *const entities[] = {"", "ann", "bob", "carl"};
    static const char *const data[] = {"", "{\"hp\":3}", "[1,2]", "7"};
    obb_put put = {.target = any_target(rng, scene), .parts = OBB_PUT_ALL};
    if (chance(rng, 10))
        put.parts = 1 + (unsigned)test_below(rng, OBB_PUT_ALL);
    ck_assert_int_eq(obb_box_from_pose(any_place(rng), any_place(rng), any_rotation(rng),
                                       90.0 * (double)test_below(rng, 4), dimensions, &put.box),
                     OBB_OK);
    put.attributes = (obb_attributes){.category = (uint32_t)test_below(rng, 2),
                                      .mask = UINT32_MAX,
                                      .group = (int32_t)test_below(rng, 3) - 1,
                                      .entity = obb_str_of(entities[test_below(rng, 4)]),
                                      .data = obb_str_of(data[test_below(rng, 4)])};
    if (chance(rng, 30))
        put.frame = obb_str_of(frame_names[test_below(rng, FRAMES)]);
    if (chance(rng, 25)) {
        put.attributes.has_ttl = true;
        put.attributes.ttl = (double)test_below(rng, 24) * 0.5;
    }
    return put;
}

static obb_pose any_pose(test_rng *rng, obb_target target)
{
    return (obb_pose){.target = target,
                      .center = any_place(rng),
                      .rotation = any_rotation(rng),
                      .angle = 45.0 * (double)test_below(rng, 4),
                      .has_center = chance(rng, 80),
                      .has_rotation = chance(rng, 40),
                      .teleport = chance(rng, 20)};
}

static void any_entries(test_rng *rng, const struct obb_scene *scene, struct applied *a)
{
    obb_edit *edit = &a->edit;
    const size_t most = chance(rng, 70) ? 2 : ENTRIES;
    for (size_t n = test_below(rng, most); edit->remove_count < n && chance(rng, 50);)
        a->removes[edit->remove_count++] = any_target(rng, scene);
    if (chance(rng, 5))
        a->removed_frames[edit->remove_frame_count++] =
            obb_str_of(frame_names[test_below(rng, FRAMES)]);
    for (size_t n = chance(rng, 25) ? 1 + test_below(rng, 2) : 0; edit->frame_count < n;)
        a->frames[edit->frame_count++] =
            any_pose(rng, (obb_target){.name = obb_str_of(frame_names[test_below(rng, FRAMES)])});
    for (size_t n = test_below(rng, most + 1); edit->put_count < n;)
        a->puts[edit->put_count++] = any_put(rng, scene, edit->dimensions);
    for (size_t n = test_below(rng, most + 1); edit->pose_count < n;)
        a->poses[edit->pose_count++] = any_pose(rng, any_target(rng, scene));
    for (size_t n = chance(rng, 15) ? 1 : 0; edit->transform_count < n;)
        a->transforms[edit->transform_count++] = (obb_transform_edit){
            .target = any_target(rng, scene),
            .transform = {.has_translate = true, .translate = any_place(rng), .local = true}};
    if (chance(rng, 8)) {
        a->with[0] = any_target(rng, scene);
        a->with[1] = any_target(rng, scene);
        a->merges[edit->merge_count++] = (obb_merge){.target = any_target(rng, scene),
                                                     .with = a->with,
                                                     .with_count = 1 + test_below(rng, 2)};
    }
}

/* Writes an edit of any kind, for the newest state of the scene. */
static void any_edit(test_rng *rng, struct obb_scene *scene, struct applied *a)
{
    obb_scene_info info;
    obb_scene_tail_info(scene, &info);
    a->edit = (obb_edit){.dimensions = info.settings.dimensions,
                         .ignore_missing = chance(rng, 80),
                         .all_put_ids = chance(rng, 20),
                         .removes = a->removes,
                         .remove_frames = a->removed_frames,
                         .frames = a->frames,
                         .puts = a->puts,
                         .poses = a->poses,
                         .transforms = a->transforms,
                         .merges = a->merges,
                         .if_boxes = a->if_boxes,
                         .replace_all = chance(rng, 3)};
    a->settings = info.settings;
    if (chance(rng, 6)) {
        a->settings.history_span = 4.0 * (double)test_below(rng, 12);
        a->settings.history_commits = (uint32_t)test_below(rng, 30);
        if (a->edit.replace_all && chance(rng, 50))
            a->settings.dimensions = a->edit.dimensions = 5 - a->edit.dimensions;
        a->edit.settings = &a->settings;
    }
    if (chance(rng, 60)) {
        a->edit.has_time = true;
        a->edit.time = info.now.time + (double)test_below(rng, 5) * 0.5;
        a->edit.restart = chance(rng, 4);
        if (a->edit.restart || chance(rng, 2))
            a->edit.time = (double)test_below(rng, 40);
    }
    if (chance(rng, 10)) {
        a->edit.has_if_revision = true;
        a->edit.if_revision = info.now.revision - (chance(rng, 20) && info.now.revision > 0);
    }
    if (chance(rng, 10))
        a->if_boxes[a->edit.if_box_count++] =
            (obb_if_box){.target = any_target(rng, scene),
                         .revision = test_below(rng, (size_t)info.now.revision + 1)};
    if (chance(rng, 15) && !a->edit.replace_all) {
        a->edit.moments = a->moments;
        a->edit.moment_count = 1;
        a->moments[0] =
            (obb_needed_moment){.at = at_time(info.now.time - (double)test_below(rng, 4) * 0.25),
                                .dimensions = a->edit.dimensions};
    }
    if (!chance(rng, 10)) /* otherwise the time moves on, or nothing happens */
        any_entries(rng, scene, a);
}

/* ---- The scene and its twin ------------------------------------------------------------------ */

enum { OPEN = 6 };

struct pair {
    test_rng rng;
    struct obb_store *store, *twin_store;
    struct obb_scene *scene, *twin;
    double now_ms;
    struct applied tail[TAIL]; /* a ring */
    size_t first, count;
    bool alone; /* no other thread allocates: memory may fail, and calls are watched */
    struct {
        struct obb_view *view; /* of the scene; NULL: none */
        uint64_t shown;
    } open[OPEN]; /* published states that stay open meanwhile */
    struct {
        struct obb_view *view;
        struct obb_layers *fresh;
    } rebuild;
    size_t applied, published, reverted, refused, sealed, stateless, expired, restarts, replaced,
        planar, forgotten, deepest, compared, between, gone, viewed, steps, copies, rebuilt,
        discarded, failed, rehearsals;
};

static struct applied *applied_at(struct pair *pair, size_t i)
{
    return &pair->tail[(pair->first + i) % TAIL];
}

static struct obb_scene *scene_in(struct obb_store **out_store)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 12, .history_commits = 10};
    struct obb_scene *scene;
    ck_assert_int_eq(obb_store_create(9, 1000, NULL, out_store), OBB_OK);
    ck_assert_int_eq(obb_store_add(*out_store, obb_str_of("scene"), &settings, 7, 0.0, &scene),
                     OBB_OK);
    return scene;
}

static struct pair *pair_create(uint64_t seed)
{
    struct pair *pair = calloc(1, sizeof *pair);
    ck_assert_ptr_nonnull(pair);
    pair->rng.s = seed;
    pair->scene = scene_in(&pair->store);
    pair->twin = scene_in(&pair->twin_store);
    for (size_t i = 0; i < TAIL; i++)
        obb_arena_init(&pair->tail[i].arena);
    return pair;
}

static void same_moment(obb_moment a, obb_moment b)
{
    ck_assert_uint_eq(a.revision, b.revision);
    ck_assert_double_eq(a.time, b.time);
}

static void same_settings(const obb_settings *a, const obb_settings *b)
{
    ck_assert(obb_settings_same(a, b));
}

static void same_info(const obb_scene_info *a, const obb_scene_info *b)
{
    same_settings(&a->settings, &b->settings);
    ck_assert_uint_eq(a->boxes, b->boxes);
    ck_assert_uint_eq(a->frames, b->frames);
    same_moment(a->now, b->now);
    same_moment(a->oldest, b->oldest);
    ck_assert_int_eq(a->has_bounds, b->has_bounds);
    const obb_vec3 corners[][2] = {{a->bounds.min, b->bounds.min}, {a->bounds.max, b->bounds.max}};
    for (int i = 0; i < 2 && a->has_bounds; i++) {
        ck_assert(test_same_bits(corners[i][0].x, corners[i][1].x));
        ck_assert(test_same_bits(corners[i][0].y, corners[i][1].y));
        ck_assert(test_same_bits(corners[i][0].z, corners[i][1].z));
    }
}

/* Compares what the two scenes say of a moment. */
static void compare_at(struct pair *pair, obb_at at)
{
    struct obb_view *a = NULL, *b = NULL;
    obb_moment oldest[2] = {{0}}, newest[2] = {{0}};
    const obb_status st = obb_view_open(pair->scene, &at, &a, &oldest[0], &newest[0]);
    ck_assert_int_eq(st, obb_view_open(pair->twin, &at, &b, &oldest[1], &newest[1]));
    if (st == OBB_GONE) {
        same_moment(oldest[0], oldest[1]);
        same_moment(newest[0], newest[1]);
        pair->gone++;
        return;
    }
    ck_assert_int_eq(st, OBB_OK);
    same_moment(a->info.now, b->info.now);
    ck_assert_uint_eq(a->next_id, b->next_id);
    ck_assert_double_eq(obb_view_until(a), obb_view_until(b));
    ck_assert_uint_eq(obb_view_next_id(a), obb_view_next_id(b));
    same_settings(obb_view_settings(a), obb_view_settings(b));
    const uint64_t sum = sum_of(a);
    ck_assert_uint_ne(sum, 0);
    ck_assert_uint_eq(sum, sum_of(b));
    pair->between += a->alpha > 0.0;
    pair->compared++;
    obb_view_close(a);
    obb_view_close(b);
}

/* Compares the commit that made a revision, as the history tells it. */
static void compare_step(struct pair *pair, uint64_t revision)
{
    struct obb_scene *const scenes[] = {pair->scene, pair->twin};
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_effects effects[2];
    obb_committed done[2];
    for (int i = 0; i < 2; i++) {
        struct obb_view *before, *after;
        obb_step step;
        const obb_at at = at_revision(revision - 1);
        ck_assert_int_eq(obb_view_open(scenes[i], &at, &before, NULL, NULL), OBB_OK);
        obb_view_keep_later(before);
        ck_assert(obb_view_step(before, revision, &step));
        ck_assert_int_eq(obb_step_effects(&step, &arena, &effects[i]), OBB_OK);
        ck_assert_int_eq(obb_view_open_later(before, revision, &after), OBB_OK);
        ck_assert_int_eq(obb_committed_read(before, after, &arena, &done[i]), OBB_OK);
        obb_scene_info info;
        obb_scene_info_without_bounds(scenes[i], &info);
        ck_assert(!obb_view_step(before, info.now.revision + 1, &step));
        obb_view_close(after);
        obb_view_close(before);
    }
    same_moment(effects[0].moment, effects[1].moment);
    ck_assert_uint_eq(effects[0].next_id, effects[1].next_id);
    ck_assert_int_eq(effects[0].restarts, effects[1].restarts);
    ck_assert_uint_eq(effects[0].count, effects[1].count);
    for (size_t k = 0; k < effects[0].count; k++) {
        const obb_effect *a = &effects[0].list[k], *b = &effects[1].list[k];
        ck_assert_int_eq(a->kind, b->kind);
        ck_assert_uint_eq(a->id, b->id);
        ck_assert_uint_eq(a->parts, b->parts);
        ck_assert_uint_eq(mixed_pose(0, &a->box), mixed_pose(0, &b->box));
        ck_assert_int_eq(a->teleported, b->teleported);
        ck_assert_int_eq(a->expired, b->expired);
    }
    same_moment(done[0].moment, done[1].moment);
    same_moment(done[0].moment, effects[0].moment);
    ck_assert_uint_eq(done[0].made_count, done[1].made_count);
    ck_assert_uint_eq(done[0].ended_count, done[1].ended_count);
    ck_assert_uint_eq(done[0].expired, done[1].expired);
    ck_assert_uint_eq(done[0].frame_count, done[1].frame_count);
    obb_arena_fini(&arena);
    pair->steps++;
}

static void compare_copies(struct pair *pair)
{
    struct obb_scene *const scenes[] = {pair->scene, pair->twin};
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        struct obb_view *view;
        struct obb_scene *made;
        ck_assert_int_eq(obb_view_open(scenes[i], NULL, &view, NULL, NULL), OBB_OK);
        const obb_copy copy = obb_copy_of(view, obb_str_of("copy"), pair->now_ms);
        ck_assert_int_eq(obb_scene_copy(&copy, NULL, NULL, &made), OBB_OK);
        hashes[i] = obb_scene_hash(made) ^ made->time_stated;
        obb_view_close(view);
        obb_scene_destroy(made);
    }
    ck_assert_uint_eq(hashes[0], hashes[1]);
    pair->copies++;
}

/* Compares everything that readers can ask: some of it, or `all`. */
static void compare(struct pair *pair, bool all)
{
    test_rng *rng = &pair->rng;
    obb_scene_info a, b;
    if (all || chance(rng, 30)) {
        obb_scene_info_get(pair->scene, &a);
        obb_scene_info_get(pair->twin, &b);
        same_info(&a, &b);
    }
    obb_scene_info_without_bounds(pair->scene, &a);
    obb_scene_info_without_bounds(pair->twin, &b);
    same_info(&a, &b);
    ck_assert_uint_eq(obb_scene_hash(pair->scene), obb_scene_hash(pair->twin));
    if (pair->count == 0) {
        obb_scene_tail_info(pair->scene, &a);
        same_info(&a, &b);
        ck_assert_uint_eq(obb_store_boxes(pair->store), obb_store_boxes(pair->twin_store));
        ck_assert_uint_eq(pair->scene->expiry.count, pair->twin->expiry.count);
    }
    ck_assert_uint_eq(obb_store_bytes(pair->store), obb_scene_bytes(pair->scene));
    const obb_target target = any_target(rng, pair->twin);
    ck_assert_uint_eq(obb_scene_changed(pair->scene, &target),
                      obb_scene_changed(pair->twin, &target));
    const uint64_t first =
        all || b.oldest.revision == 0 ? b.oldest.revision : b.oldest.revision - 1;
    for (uint64_t r = first; r <= b.now.revision + 1; r++)
        if (all || chance(rng, 15))
            compare_at(pair, at_revision(r));
    for (int i = all ? 12 : 2; i-- > 0;) {
        obb_at at = at_time(test_uniform(rng, b.oldest.time - 1, b.now.time + 1));
        at.no_interpolation = chance(rng, 20);
        at.clamp = chance(rng, 30);
        compare_at(pair, at);
    }
    compare_at(pair, (obb_at){.kind = OBB_AT_NOW});
    for (uint64_t r = b.oldest.revision + 1; r <= b.now.revision; r++)
        if (chance(rng, all ? 50 : 2))
            compare_step(pair, r);
    if (chance(rng, 1))
        compare_copies(pair);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static obb_at any_moment(test_rng *rng, const obb_scene_info *info)
{
    if (chance(rng, 30))
        return (obb_at){.kind = OBB_AT_NOW};
    if (chance(rng, 50))
        return at_revision(info->now.revision - test_below(rng, 3) % (info->now.revision + 1));
    return at_time(info->now.time - (double)test_below(rng, 8) * 0.25);
}

/* Opens a view behind a commit, as its queries do. */
static void view_tail(struct pair *pair, struct applied *a)
{
    obb_scene_info info;
    obb_scene_tail_info(pair->scene, &info);
    same_moment(info.now, a->done.moment);
    a->at = any_moment(&pair->rng, &info);
    a->viewed = obb_view_open_tail(pair->scene, &a->at, &a->view, NULL, NULL);
    if (a->viewed == OBB_OK) {
        same_moment(a->view->info.now, info.now);
        a->shown = sum_of(a->view);
        ck_assert_uint_ne(a->shown, 0);
        pair->viewed++;
    }
}

/* Returns what the moment of a prepared commit will show. */
static uint64_t rehearsed(const struct applied *a)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_rehearsal rehearsal = {.opened_count = 0};
    obb_fault fault;
    ck_assert_int_eq(obb_rehearse(a->prepared, NULL, &arena, &rehearsal, &fault), OBB_OK);
    const uint64_t sum = poses_of(rehearsal.views[0]);
    obb_rehearsal_end(&rehearsal);
    obb_arena_fini(&arena);
    return sum;
}

/* Checks that the moment of a commit that was applied shows what was rehearsed. */
static void check_rehearsal(struct pair *pair, const struct applied *a, uint64_t expected)
{
    struct obb_view *views[1], *opened[1];
    size_t count = 0;
    struct obb_arena arena;
    obb_arena_init(&arena);
    ck_assert_int_eq(
        obb_views_open_tail(pair->scene, a->moments, 1, &arena, views, opened, &count, NULL),
        OBB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(poses_of(views[0]), expected);
    obb_view_close(opened[0]);
    obb_arena_fini(&arena);
    pair->rehearsals++;
}

/* Checks that nothing is asked of the heap between the two calls. */
static void begin_watch(const struct pair *pair)
{
    if (pair->alone)
        fault_arm(1);
}

static void end_watch(const struct pair *pair)
{
    if (!pair->alone)
        return;
    const size_t asked = fault_seen();
    fault_arm(0);
    ck_assert_uint_eq(asked, 0);
}

/* Lets some allocation of the next call fail, now and then. */
static void arm_sometimes(struct pair *pair)
{
    fault_arm(pair->alone && chance(&pair->rng, 30) ? 1 + test_below(&pair->rng, 12) : 0);
}

static void apply_one(struct pair *pair)
{
    test_rng *rng = &pair->rng;
    struct applied *a = applied_at(pair, pair->count);
    obb_fault fault;
    pair->now_ms += (double)test_below(rng, 3) * 0.5;
    a->now_ms = pair->now_ms;
    a->view = NULL;
    a->lent = 0;
    a->viewed = OBB_GONE;
    a->forgotten = pair->forgotten;
    any_edit(rng, pair->scene, a);
    arm_sometimes(pair);
    const obb_status st =
        obb_edit_prepare(pair->scene, &a->edit, a->now_ms, obb_store_box_room(pair->store),
                         &a->arena, &a->prepared, &fault);
    fault_arm(0);
    if (st != OBB_OK) {
        pair->refused++;
        pair->failed += st == OBB_NO_MEMORY;
        obb_scene_settle(pair->scene);
        obb_arena_reset(&a->arena);
        return;
    }
    const bool sealed = chance(rng, 40), discarded = chance(rng, 4);
    const bool rehearses = a->edit.moment_count > 0 && !discarded;
    const uint64_t expected = rehearses ? rehearsed(a) : 0;
    begin_watch(pair);
    if (sealed)
        obb_edit_seal(a->prepared);
    if (discarded)
        obb_edit_discard(a->prepared);
    else
        obb_edit_apply(a->prepared, &a->done);
    end_watch(pair);
    if (discarded) {
        obb_scene_settle(pair->scene);
        obb_arena_reset(&a->arena);
        pair->discarded++;
        return;
    }
    if (rehearses)
        check_rehearsal(pair, a, expected);
    pair->count++;
    pair->applied++;
    pair->sealed += sealed;
    pair->stateless += !a->done.changed;
    pair->restarts += a->done.restarted;
    pair->replaced += a->edit.replace_all;
    pair->planar += a->edit.dimensions == 2;
    pair->deepest = pair->count > pair->deepest ? pair->count : pair->deepest;
    if (chance(rng, 30))
        view_tail(pair, a);
}

static void close_tail_view(struct applied *a)
{
    obb_view_close(a->view);
    a->view = NULL;
}

/* Gives the twin the edit of a commit that was published. */
static void commit_to_twin(struct pair *pair, struct applied *a)
{
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    if (a->forgotten < pair->forgotten) /* the moments were within reach at that time */
        a->edit.moment_count = 0;
    ck_assert_int_eq(obb_edit_prepare(pair->twin, &a->edit, a->now_ms,
                                      obb_store_box_room(pair->twin_store), &a->arena, &prepared,
                                      &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &done);
    same_moment(done.moment, a->done.moment);
    ck_assert_int_eq(done.changed, a->done.changed);
    ck_assert_int_eq(done.restarted, a->done.restarted);
    ck_assert_uint_eq(done.removed, a->done.removed);
    ck_assert_uint_eq(done.expired, a->done.expired);
    ck_assert_uint_eq(done.put, a->done.put);
    ck_assert_uint_eq(done.posed, a->done.posed);
    ck_assert_uint_eq(done.transformed, a->done.transformed);
    ck_assert_uint_eq(done.removed_frames, a->done.removed_frames);
    ck_assert_uint_eq(done.made_frames, a->done.made_frames);
    ck_assert_uint_eq(done.missed, a->done.missed);
    ck_assert_uint_eq(done.made_count, a->done.made_count);
    ck_assert_uint_eq(done.ended_count, a->done.ended_count);
    for (size_t i = 0; i < a->edit.put_count; i++)
        ck_assert_uint_eq(done.new_ids[i], a->done.new_ids[i]);
    if (a->viewed == OBB_OK && a->forgotten == pair->forgotten) {
        struct obb_view *view;
        ck_assert_int_eq(obb_view_open(pair->twin, &a->at, &view, NULL, NULL), OBB_OK);
        ck_assert_uint_eq(sum_of(view), a->shown);
        obb_view_close(view);
    }
}

static void publish_one(struct pair *pair)
{
    struct applied *a = applied_at(pair, 0);
    const bool early = chance(&pair->rng, 50);
    if (early)
        close_tail_view(a);
    begin_watch(pair);
    obb_edit_publish(a->prepared);
    end_watch(pair);
    pair->expired += a->done.expired;
    commit_to_twin(pair, a);
    if (!early && a->view != NULL) {
        ck_assert_uint_eq(sum_of(a->view), a->shown);
        close_tail_view(a);
    }
    obb_arena_reset(&a->arena);
    pair->first = (pair->first + 1) % TAIL;
    pair->count--;
    pair->published++;
}

static void revert_one(struct pair *pair)
{
    struct applied *a = applied_at(pair, pair->count - 1);
    close_tail_view(a);
    begin_watch(pair);
    obb_edit_revert(a->prepared);
    end_watch(pair);
    obb_arena_reset(&a->arena);
    pair->count--;
    pair->reverted++;
}

/* Opens a published state that stays open, or checks and closes one. */
static void hold_or_release(struct pair *pair)
{
    const size_t i = test_below(&pair->rng, OPEN);
    if (pair->open[i].view != NULL) {
        ck_assert_uint_eq(sum_of(pair->open[i].view), pair->open[i].shown);
        obb_view_close(pair->open[i].view);
        pair->open[i].view = NULL;
        return;
    }
    const obb_at at = {
        .kind = OBB_AT_AGO, .time = (double)test_below(&pair->rng, 8) * 0.25, .clamp = true};
    ck_assert_int_eq(obb_view_open(pair->scene, &at, &pair->open[i].view, NULL, NULL), OBB_OK);
    pair->open[i].shown = sum_of(pair->open[i].view);
}

/* Begins a rebuild of the published state, or ends one. */
static void rebuild(struct pair *pair)
{
    if (pair->rebuild.view == NULL) {
        struct obb_rebuild *rebuild;
        ck_assert_int_eq(obb_view_open(pair->scene, NULL, &pair->rebuild.view, NULL, NULL), OBB_OK);
        ck_assert_int_eq(obb_view_rebuild(pair->rebuild.view, NULL, &rebuild), OBB_OK);
        ck_assert_int_eq(obb_rebuild_finish(rebuild, &pair->rebuild.fresh), OBB_OK);
        return;
    }
    arm_sometimes(pair);
    const obb_status st = obb_scene_rebase(pair->scene, pair->rebuild.fresh);
    fault_arm(0);
    ck_assert(st == OBB_OK || st == OBB_NO_MEMORY);
    obb_view_close(pair->rebuild.view);
    pair->rebuild.view = NULL;
    pair->rebuilt += st == OBB_OK;
    pair->failed += st == OBB_NO_MEMORY;
}

/* Both scenes give up their oldest state, or neither does. */
static void forget(struct pair *pair)
{
    ck_assert_int_eq(obb_scene_forget(pair->scene), obb_scene_forget(pair->twin));
    pair->forgotten++;
}

/* Ends all that is open; `revert` says what becomes of the tail. */
static void settle(struct pair *pair, bool revert)
{
    while (pair->count > 0) {
        if (revert)
            revert_one(pair);
        else
            publish_one(pair);
    }
    for (size_t i = 0; i < OPEN; i++)
        if (pair->open[i].view != NULL) {
            ck_assert_uint_eq(sum_of(pair->open[i].view), pair->open[i].shown);
            obb_view_close(pair->open[i].view);
            pair->open[i].view = NULL;
        }
    if (pair->rebuild.view != NULL)
        rebuild(pair);
}

/* Lets a scene release everything that nobody needs. */
static void reclaim(struct obb_scene *scene)
{
    for (int i = 0; i < 4; i++)
        obb_scene_reclaim(scene, SIZE_MAX);
    obb_scene_settle(scene);
}

/* After all that was open is closed, the scene holds what the twin holds: as many slots, records,
 * strings and states. What grows in steps and never shrinks may be larger. */
static void same_memory(struct pair *pair)
{
    struct obb_scene *a = pair->scene, *b = pair->twin;
    reclaim(a);
    reclaim(b);
    ck_assert_uint_eq(a->versions.count - a->versions.free_count,
                      b->versions.count - b->versions.free_count);
    ck_assert_uint_eq(a->garbage.count, b->garbage.count);
    ck_assert_uint_eq(a->record_bytes, b->record_bytes);
    ck_assert_uint_eq(a->interned.bytes, b->interned.bytes);
    ck_assert_uint_ge(a->ids.nodes, b->ids.nodes);
    ck_assert_uint_le(a->ids.nodes, b->ids.nodes + 1); /* a tree does not become lower again */
    ck_assert_uint_eq(a->names.count, b->names.count);
    ck_assert_uint_eq(a->history.count, b->history.count);
    ck_assert_uint_eq(a->history.held_count, 0);
    ck_assert_uint_eq(a->ended_bytes, b->ended_bytes);
    ck_assert_uint_eq(obb_scene_history_bytes(a) - obb_history_bytes(&a->history) - a->layer_bytes +
                          obb_layers_bytes(obb_history_newest(&a->history)->layers),
                      obb_scene_history_bytes(b) - obb_history_bytes(&b->history) - b->layer_bytes +
                          obb_layers_bytes(obb_history_newest(&b->history)->layers));
}

static void pair_destroy(struct pair *pair)
{
    for (size_t i = 0; i < TAIL; i++)
        obb_arena_fini(&pair->tail[i].arena);
    obb_store_destroy(pair->store);
    obb_store_destroy(pair->twin_store);
    free(pair);
}

static void step(struct pair *pair, size_t apply_percent, size_t publish_percent)
{
    test_rng *rng = &pair->rng;
    if (pair->count < TAIL && (pair->count == 0 || chance(rng, apply_percent)))
        apply_one(pair);
    else if (chance(rng, publish_percent))
        for (size_t n = 1 + test_below(rng, 4); n-- > 0 && pair->count > 0;)
            publish_one(pair);
    else
        for (size_t n = 1 + test_below(rng, chance(rng, 10) ? TAIL : 4);
             n-- > 0 && pair->count > 0;)
            revert_one(pair);
    if (chance(rng, 10))
        hold_or_release(pair);
    if (chance(rng, 2))
        rebuild(pair);
    if (chance(rng, 1))
        forget(pair);
}

START_TEST(readers_are_told_of_published_commits_only)
{
    const size_t rounds = test_effort(150), steps = 400;
    struct pair total = {.applied = 0};
    for (size_t round = 0; round < rounds; round++) {
        struct pair *pair = pair_create(20261123 + round);
        pair->alone = true;
        const size_t apply_percent = 55 + 10 * (round % 5), publish_percent = 20 + 20 * (round % 4);
        for (size_t i = 0; i < steps; i++) {
            step(pair, apply_percent, publish_percent);
            compare(pair, i % 50 == 0);
            if (i % 8 == 0)
                ck_assert(obb_scene_validate(pair->scene));
        }
        settle(pair, round % 2 == 0);
        ck_assert(obb_scene_validate(pair->scene));
        ck_assert(obb_scene_validate(pair->twin));
        compare(pair, true);
        same_memory(pair);
        ck_assert(obb_scene_validate(pair->scene));
        total.applied += pair->applied;
        total.published += pair->published;
        total.reverted += pair->reverted;
        total.refused += pair->refused;
        total.discarded += pair->discarded;
        total.failed += pair->failed;
        total.rehearsals += pair->rehearsals;
        total.sealed += pair->sealed;
        total.stateless += pair->stateless;
        total.expired += pair->expired;
        total.restarts += pair->restarts;
        total.replaced += pair->replaced;
        total.planar += pair->planar;
        total.deepest = pair->deepest > total.deepest ? pair->deepest : total.deepest;
        total.compared += pair->compared;
        total.between += pair->between;
        total.gone += pair->gone;
        total.viewed += pair->viewed;
        total.steps += pair->steps;
        total.copies += pair->copies;
        total.rebuilt += pair->rebuilt;
        pair_destroy(pair);
    }
    printf("tails: %zu commits applied (%zu sealed, %zu without a state, %zu restarts, %zu "
           "imports, %zu planar), %zu published, %zu reverted, %zu refused (%zu without memory), "
           "%zu discarded; %zu "
           "deep; %zu boxes expired; %zu views of the tail; %zu states compared (%zu between two), "
           "%zu gone; %zu steps, %zu copies, %zu rebuilds, %zu rehearsals\n",
           total.applied, total.sealed, total.stateless, total.restarts, total.replaced,
           total.planar, total.published, total.reverted, total.refused, total.failed,
           total.discarded, total.deepest, total.expired, total.viewed, total.compared,
           total.between, total.gone, total.steps, total.copies, total.rebuilt, total.rehearsals);
    ck_assert_uint_eq(total.applied, total.published + total.reverted);
    ck_assert_uint_gt(total.published, total.applied / 5);
    ck_assert_uint_gt(total.reverted, total.applied / 5);
    ck_assert_uint_gt(total.sealed, total.applied / 4);
    ck_assert_uint_gt(total.stateless, total.applied / 50);
    ck_assert_uint_gt(total.refused, total.applied / 50);
    ck_assert_uint_gt(total.failed, total.applied / 50);
    ck_assert_uint_gt(total.restarts, 20);
    ck_assert_uint_gt(total.replaced, 20);
    ck_assert_uint_gt(total.planar, 20);
    ck_assert_uint_gt(total.expired, 100);
    ck_assert_uint_eq(total.deepest, TAIL);
    ck_assert_uint_gt(total.between, 500);
    ck_assert_uint_gt(total.viewed, 500);
    ck_assert_uint_gt(total.steps, 200);
    ck_assert_uint_gt(total.rebuilt, 20);
    ck_assert_uint_gt(total.rehearsals, 200);
}
END_TEST

/* ---- One rule each --------------------------------------------------------------------------- */

/* A commit of a line of tick.h, applied. */
struct tail_commit {
    struct obb_arena arena;
    struct obb_prepared *prepared;
    obb_committed done;
};

static struct tail_commit apply(struct obb_scene *scene, double time, const char *line)
{
    struct tail_commit made;
    obb_fault fault;
    obb_arena_init(&made.arena);
    ck_assert_int_eq(tick_prepare(scene, 0, time, line, &made.arena, &made.prepared, &fault),
                     OBB_OK);
    obb_edit_apply(made.prepared, &made.done);
    ck_assert(obb_scene_validate(scene));
    return made;
}

static void publish(struct obb_scene *scene, struct tail_commit *made)
{
    obb_edit_publish(made->prepared);
    obb_arena_fini(&made->arena);
    ck_assert(obb_scene_validate(scene));
}

static void revert(struct obb_scene *scene, struct tail_commit *made)
{
    obb_edit_revert(made->prepared);
    obb_arena_fini(&made->arena);
    ck_assert(obb_scene_validate(scene));
}

/* Returns what the tail shows at a moment. */
static const char *tail_in(struct obb_scene *scene, obb_at at)
{
    static sight sight_of_tail;
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open_tail(scene, &at, &view, NULL, NULL), OBB_OK);
    sight_of_tail = seen_in(view);
    obb_view_close(view);
    return sight_of_tail.text;
}

static const char *past_in(struct obb_scene *scene, obb_at at)
{
    static sight sight_of_past;
    sight_of_past = seen(scene, at);
    return sight_of_past.text;
}

static const obb_at now_at = {.kind = OBB_AT_NOW};

START_TEST(only_the_writer_sees_the_tail)
{
    struct obb_scene *scene = tick_scene(100, 100);
    tick(scene, 10, "+a:0 +b:1");
    const uint64_t hash = obb_scene_hash(scene);
    struct tail_commit one = apply(scene, 20, "a:10 -b"), two = apply(scene, 30, "a:20 +c:5");
    ck_assert_str_eq(now_in(scene), "1@10 a:0 b:1");
    ck_assert_str_eq(past_in(scene, at_time(15)), "gone 0@10..1@10");
    ck_assert_str_eq(past_in(scene, at_revision(2)), "gone 0@10..1@10");
    ck_assert_str_eq(tail_in(scene, now_at), "3@30 a:20 c:5");
    ck_assert_str_eq(tail_in(scene, at_time(15)), "1@15 a:5 b:1");
    ck_assert_str_eq(tail_in(scene, at_time(25)), "2@25 a:15");
    ck_assert_str_eq(tail_in(scene, at_revision(1)), "1@10 a:0 b:1");
    ck_assert_uint_eq(obb_scene_hash(scene), hash);
    const obb_target a = named("a"), b = named("b"), c = named("c"), third = numbered(3);
    ck_assert_uint_eq(obb_scene_changed(scene, &a), 1);
    ck_assert_uint_eq(obb_scene_changed(scene, &b), 1);
    ck_assert_uint_eq(obb_scene_changed(scene, &third), 0);
    ck_assert_uint_eq(obb_scene_tail_changed(scene, &a), 3);
    ck_assert_uint_eq(obb_scene_tail_changed(scene, &b), 0);
    ck_assert_uint_eq(obb_scene_tail_changed(scene, &c), 3);
    obb_scene_info info;
    obb_scene_info_get(scene, &info);
    ck_assert_uint_eq(info.boxes, 2);
    ck_assert_double_eq(info.bounds.max.x, 2);
    ck_assert_uint_eq(info.now.revision, 1);
    obb_scene_tail_info(scene, &info);
    ck_assert_uint_eq(info.boxes, 2);
    same_moment(info.now, (obb_moment){3, 30});
    publish(scene, &one);
    ck_assert_str_eq(now_in(scene), "2@20 a:10");
    obb_scene_info_get(scene, &info);
    ck_assert_double_eq(info.bounds.max.x, 11);
    revert(scene, &two);
    ck_assert_str_eq(tail_in(scene, now_at), "2@20 a:10");
    obb_scene_info_get(scene, &info);
    ck_assert_double_eq(info.bounds.min.x, 9);
    ck_assert_double_eq(info.bounds.max.x, 11);
    tick(scene, 30, "+d:5"); /* the id that c had */
    ck_assert_uint_eq(obb_scene_changed(scene, &third), 3);
    ck_assert_str_eq(now_in(scene), "3@30 a:10 d:5");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_commit_of_the_tail_may_only_move_the_time_on)
{
    struct obb_scene *scene = tick_scene(100, 100);
    tick(scene, 10, "+a:0");
    struct tail_commit first = apply(scene, 20, ""), second = apply(scene, 30, ""),
                       third = apply(scene, 40, "a:10"), fourth = apply(scene, 50, "");
    ck_assert_str_eq(now_in(scene), "1@10 a:0");
    ck_assert_str_eq(tail_in(scene, at_time(30)), "1@30 a:0");
    ck_assert_str_eq(tail_in(scene, at_time(35)), "1@35 a:5");
    ck_assert_str_eq(tail_in(scene, now_at), "2@50 a:10");
    publish(scene, &first);
    ck_assert_str_eq(now_in(scene), "1@20 a:0");
    ck_assert_str_eq(past_in(scene, at_time(30)), "gone 0@10..1@20");
    publish(scene, &second);
    ck_assert_str_eq(now_in(scene), "1@30 a:0");
    publish(scene, &third);
    ck_assert_str_eq(now_in(scene), "2@40 a:10");
    ck_assert_str_eq(past_in(scene, at_time(50)), "gone 0@10..2@40");
    ck_assert_str_eq(past_in(scene, at_time(35)), "1@35 a:5");
    revert(scene, &fourth);
    ck_assert_str_eq(tail_in(scene, now_at), "2@40 a:10");
    tick(scene, 45, "");
    ck_assert_str_eq(now_in(scene), "2@45 a:10");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_first_time_that_is_stated_is_taken_back)
{
    struct obb_scene *scene = tick_scene(100, 100);
    struct tail_commit idle = apply(scene, NO_TIME, ""), first = apply(scene, -50, "+a:0"),
                       next = apply(scene, -40, "a:10");
    ck_assert_str_eq(now_in(scene), "0@0");
    ck_assert_str_eq(tail_in(scene, at_revision(0)), "0@-50");
    publish(scene, &idle);
    ck_assert_str_eq(now_in(scene), "0@0");
    ck_assert_str_eq(past_in(scene, at_time(-45)), "gone 0@0..0@0");
    revert(scene, &next);
    revert(scene, &first);
    ck_assert_str_eq(tail_in(scene, now_at), "0@0");
    first = apply(scene, -60, "");
    next = apply(scene, -40, "+a:10");
    ck_assert_str_eq(now_in(scene), "0@0");
    publish(scene, &first);
    ck_assert_str_eq(now_in(scene), "0@-60");
    ck_assert_str_eq(past_in(scene, at_time(-50)), "gone 0@-60..0@-60");
    publish(scene, &next);
    ck_assert_str_eq(past_in(scene, at_time(-50)), "0@-50");
    obb_scene_destroy(scene);
}
END_TEST

/* Applies an edit of settings and restart. */
static struct tail_commit apply_edit(struct obb_scene *scene, const obb_edit *edit)
{
    struct tail_commit made;
    obb_fault fault;
    obb_arena_init(&made.arena);
    obb_edit *kept = obb_arena_alloc(&made.arena, 1, sizeof *kept);
    ck_assert_ptr_nonnull(kept);
    *kept = *edit;
    ck_assert_int_eq(
        obb_edit_prepare(scene, kept, 0, SIZE_MAX, &made.arena, &made.prepared, &fault), OBB_OK);
    obb_edit_apply(made.prepared, &made.done);
    return made;
}

START_TEST(the_past_goes_when_its_end_is_published)
{
    struct obb_scene *scene = tick_scene(100, 100);
    tick(scene, 10, "+a:0");
    tick(scene, 20, "a:10");
    const obb_settings few = {.dimensions = 3, .history_span = 100, .history_commits = 0};
    const obb_edit short_past = {.dimensions = 3, .settings = &few},
                   restart = {.dimensions = 3, .has_time = true, .time = 5, .restart = true};
    obb_scene_info info;
    struct tail_commit one = apply_edit(scene, &short_past), two = apply_edit(scene, &restart);
    ck_assert_str_eq(past_in(scene, at_time(15)), "1@15 a:5");
    obb_scene_info_get(scene, &info);
    same_moment(info.oldest, (obb_moment){0, 10});
    ck_assert_uint_eq(info.settings.history_commits, 100);
    obb_scene_tail_info(scene, &info);
    same_moment(info.oldest, (obb_moment){4, 5});
    ck_assert_uint_eq(info.settings.history_commits, 0);
    revert(scene, &two);
    obb_scene_tail_info(scene, &info);
    same_moment(info.oldest, (obb_moment){3, 20});
    revert(scene, &one);
    obb_scene_tail_info(scene, &info);
    same_moment(info.oldest, (obb_moment){0, 10});
    ck_assert_uint_eq(info.settings.history_commits, 100);
    one = apply_edit(scene, &restart);
    two = apply(scene, 6, "a:20");
    ck_assert_str_eq(now_in(scene), "2@20 a:10");
    ck_assert_str_eq(past_in(scene, at_time(15)), "1@15 a:5");
    publish(scene, &one);
    ck_assert_str_eq(now_in(scene), "3@5 a:10");
    ck_assert_str_eq(past_in(scene, at_time(4)), "gone 3@5..3@5");
    publish(scene, &two);
    ck_assert_str_eq(past_in(scene, at_time(5.5)), "3@5.5 a:15");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(room_is_judged_against_the_tail)
{
    struct obb_store *store;
    struct obb_scene *scene;
    const obb_settings settings = {.dimensions = 3, .history_span = 100, .history_commits = 10};
    ck_assert_int_eq(obb_store_create(1, 2, NULL, &store), OBB_OK);
    ck_assert_int_eq(obb_store_add(store, obb_str_of("s"), &settings, 1, 0, &scene), OBB_OK);
    struct tail_commit one = apply(scene, 1, "+a:0"), two = apply(scene, 2, "+b:0");
    ck_assert_uint_eq(obb_store_box_room(store), 0);
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_put put = put_at("c", 0);
    const obb_edit edit = {.dimensions = 3, .puts = &put, .put_count = 1};
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(
        obb_edit_prepare(scene, &edit, 0, obb_store_box_room(store), &arena, &prepared, &fault),
        OBB_LIMIT);
    revert(scene, &two);
    ck_assert_uint_eq(obb_store_box_room(store), 1);
    ck_assert_uint_eq(obb_store_bytes(store), obb_scene_bytes(scene));
    publish(scene, &one);
    ck_assert_uint_eq(obb_store_boxes(store), 1);
    obb_arena_fini(&arena);
    obb_store_destroy(store);
}
END_TEST

START_TEST(a_scene_may_be_destroyed_with_its_tail)
{
    struct obb_store *store;
    struct obb_scene *scene, *dead;
    const obb_settings settings = {.dimensions = 3, .history_span = 100, .history_commits = 10};
    ck_assert_int_eq(obb_store_create(1, 9, NULL, &store), OBB_OK);
    ck_assert_int_eq(obb_store_add(store, obb_str_of("s"), &settings, 1, 0, &scene), OBB_OK);
    tick(scene, 1, "+a:0 +b:2");
    struct tail_commit one = apply(scene, 1, "a:5 +c:0 -b"), two = apply(scene, 2, "+d:0 a:9");
    struct obb_view *published, *tail;
    ck_assert_int_eq(obb_view_open(scene, NULL, &published, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_view_open_tail(scene, NULL, &tail, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_store_remove(store, obb_str_of("s"), &dead), OBB_OK);
    ck_assert_ptr_null(dead);
    ck_assert_uint_eq(obb_store_boxes(store), 0);
    ck_assert_ptr_null(obb_view_close(published));
    ck_assert_uint_gt(obb_store_bytes(store), 0); /* the tail's view holds all of it */
    ck_assert_ptr_eq(obb_view_close(tail), scene);
    ck_assert_uint_eq(obb_store_bytes(store), 0);
    obb_scene_destroy(scene);
    obb_arena_fini(&one.arena);
    obb_arena_fini(&two.arena);
    obb_store_destroy(store);
}
END_TEST

/* ---- Readers beside the writer --------------------------------------------------------------- */

enum { READERS = 2, LENT = 6, LOOKS = 12 };

enum { HOME, AWAY, BACK };

/* A view that a reader looks at. */
struct loan {
    struct obb_view *view; /* NULL: none */
    uint64_t shown;        /* what the twin shows, or the writer saw */
    bool has_step;
    obb_step step; /* to the state after */
    uint64_t told; /* what the twin's step tells */
};

/* Loans go from the writer to a reader, and back: the first half of states that were published when
 * the view was opened, the others of the tail. */
struct crew {
    struct loan loans[LENT];
    atomic_int where[LENT];
    atomic_bool stop;
    atomic_size_t looks, wrong;
};

/* Returns one number for the effects of a step. */
static uint64_t told_by(const obb_step *step)
{
    uint64_t sum = mixed_whole(1, step->moment.revision);
    for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++) {
        obb_effect_place place = {.kind = (obb_effect_kind)kind};
        obb_effect effect;
        while (obb_step_next(step, &place, &effect)) {
            sum = mixed_text(mixed_whole(sum, effect.id * 8 + (uint64_t)kind), effect.name);
            if (effect.kind != OBB_EFFECT_REMOVED && effect.kind != OBB_EFFECT_FRAME_REMOVED)
                sum = mixed_pose(mixed_whole(sum, effect.parts), &effect.box);
        }
    }
    return sum;
}

static void *read_views(void *context)
{
    struct crew *crew = context;
    size_t looks = 0, wrong = 0;
    while (!atomic_load_explicit(&crew->stop, memory_order_acquire))
        for (size_t i = 0; i < LENT; i++) {
            const struct loan *loan = &crew->loans[i];
            int away = AWAY;
            if (!atomic_compare_exchange_strong(&crew->where[i], &away, HOME))
                continue; /* only BACK ends the loan */
            for (int again = 0; again < LOOKS; again++, looks++)
                wrong += sum_of(loan->view) != loan->shown ||
                         (loan->has_step && told_by(&loan->step) != loan->told);
            atomic_store_explicit(&crew->where[i], BACK, memory_order_release);
        }
    atomic_fetch_add(&crew->looks, looks);
    atomic_fetch_add(&crew->wrong, wrong);
    return NULL;
}

/* Closes view i if a reader has given it back. Returns whether there is none any more. */
static bool take_back(struct crew *crew, size_t i)
{
    struct loan *loan = &crew->loans[i];
    if (loan->view != NULL && atomic_load_explicit(&crew->where[i], memory_order_acquire) == BACK) {
        obb_view_close(loan->view);
        loan->view = NULL;
    }
    return loan->view == NULL;
}

static void give(struct crew *crew, size_t i)
{
    atomic_store_explicit(&crew->where[i], AWAY, memory_order_release);
}

/* Lends the view of the tail behind the commit `a`. */
static bool lend_tail(struct crew *crew, struct applied *a)
{
    for (size_t i = LENT / 2; i < LENT && a->view != NULL; i++)
        if (take_back(crew, i)) {
            crew->loans[i] = (struct loan){.view = a->view, .shown = a->shown};
            a->view = NULL;
            a->lent = i;
            give(crew, i);
            return true;
        }
    return false;
}

/* Waits until the view behind the commit is back, if it is lent. */
static void recall_tail(struct crew *crew, struct applied *a)
{
    while (a->lent > 0 && !take_back(crew, a->lent))
        (void)sched_yield();
    a->lent = 0;
}

/* Lends a view of a published state, with the step behind it, as the twin has them, too. */
static bool lend_published(struct pair *pair, struct crew *crew)
{
    const size_t i = test_below(&pair->rng, LENT / 2);
    if (!take_back(crew, i))
        return false;
    struct loan *loan = &crew->loans[i];
    const obb_at at = {
        .kind = OBB_AT_AGO, .time = (double)test_below(&pair->rng, 16) * 0.25, .clamp = true};
    struct obb_view *twin;
    obb_step step;
    ck_assert_int_eq(obb_view_open(pair->scene, &at, &loan->view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_view_open(pair->twin, &at, &twin, NULL, NULL), OBB_OK);
    loan->shown = sum_of(twin);
    obb_view_keep_later(loan->view);
    obb_view_keep_later(twin);
    loan->has_step = obb_view_step(loan->view, loan->view->revision + 1, &loan->step);
    ck_assert_int_eq(loan->has_step, obb_view_step(twin, twin->revision + 1, &step));
    loan->told = loan->has_step ? told_by(&step) : 0;
    obb_view_close(twin);
    give(crew, i);
    return true;
}

START_TEST(readers_see_no_commit_come_or_go)
{
    struct crew *crew = calloc(1, sizeof *crew);
    ck_assert_ptr_nonnull(crew);
    struct pair *pair = pair_create(20261124);
    test_rng *rng = &pair->rng;
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_views, crew), 0);
    size_t published = 0, tails = 0;
    for (size_t i = 0; pair->applied + pair->reverted < test_effort(40000) || published < 100;
         i++) {
        if (pair->count < TAIL && (pair->count == 0 || chance(rng, 60))) {
            const size_t before = pair->applied;
            apply_one(pair);
            struct applied *a = applied_at(pair, pair->count - (pair->applied > before));
            tails += pair->applied > before && chance(rng, 10) && lend_tail(crew, a);
        } else if (chance(rng, 30)) {
            recall_tail(crew, applied_at(pair, 0));
            publish_one(pair);
        } else {
            recall_tail(crew, applied_at(pair, pair->count - 1));
            revert_one(pair);
        }
        if (chance(rng, 30) && lend_published(pair, crew))
            published++;
        if (i % 1000 == 0)
            compare(pair, false);
    }
    for (size_t i = 0; i < pair->count; i++)
        recall_tail(crew, applied_at(pair, i));
    settle(pair, true);
    for (size_t i = 0; i < LENT; i++)
        while (!take_back(crew, i))
            (void)sched_yield();
    atomic_store_explicit(&crew->stop, true, memory_order_release);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert(obb_scene_validate(pair->scene));
    compare(pair, true);
    same_memory(pair);
    printf("readers: %zu commits applied, %zu published, %zu reverted, %zu discarded; %zu views of "
           "published states and %zu of the tail, each looked at %d times by one of %d readers: "
           "%zu looks, %zu wrong\n",
           pair->applied, pair->published, pair->reverted, pair->discarded, published, tails, LOOKS,
           READERS, (size_t)atomic_load(&crew->looks), (size_t)atomic_load(&crew->wrong));
    ck_assert_uint_eq(atomic_load(&crew->wrong), 0);
    ck_assert_uint_eq(atomic_load(&crew->looks), LOOKS * (published + tails));
    ck_assert_uint_gt(pair->published, 1000);
    ck_assert_uint_gt(pair->reverted, 1000);
    ck_assert_uint_gt(tails, 20);
    pair_destroy(pair);
    free(crew);
}
END_TEST

/* A reader that looks up one box of a published state, behind which the writer makes and takes back
 * long chains of versions. */
struct lookup {
    const struct obb_view *view;
    const struct obb_version *box; /* in the view */
    atomic_bool stop;
    atomic_size_t looks, wrong;
};

static void *look_up(void *context)
{
    struct lookup *lookup = context;
    size_t looks = 0, wrong = 0;
    for (; !atomic_load_explicit(&lookup->stop, memory_order_relaxed); looks++) {
        wrong += obb_view_find_id(lookup->view, 2) != lookup->box;
        atomic_store_explicit(&lookup->looks, looks, memory_order_relaxed);
    }
    atomic_store(&lookup->wrong, wrong);
    return NULL;
}

START_TEST(a_walk_along_reverted_versions_begins_anew)
{
    struct obb_scene *scene = tick_scene(100, 100);
    tick(scene, 1, "+a:0 +b:1 +c:2");
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    struct lookup lookup = {.view = view, .box = obb_view_find_id(view, 2)};
    pthread_t reader;
    ck_assert_int_eq(pthread_create(&reader, NULL, look_up, &lookup), 0);
    size_t reverted = 0;
    const size_t rounds = test_effort(1500);
    for (size_t round = 0; round < rounds || atomic_load(&lookup.looks) < 1000; round++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        struct obb_prepared *prepared[TAIL];
        obb_committed done;
        obb_fault fault;
        for (size_t i = 0; i < TAIL; i++) {
            ck_assert_int_eq(tick_prepare(scene, 0, (double)(2 + i), i % 2 ? "a:7 b:8" : "b:7 c:8",
                                          &arena, &prepared[i], &fault),
                             OBB_OK);
            if (i % 3 == 0)
                obb_edit_seal(prepared[i]);
            obb_edit_apply(prepared[i], &done);
        }
        for (size_t i = TAIL; i-- > 0; reverted++)
            obb_edit_revert(prepared[i]);
        obb_arena_fini(&arena);
    }
    atomic_store(&lookup.stop, true);
    pthread_join(reader, NULL);
    ck_assert(obb_scene_validate(scene));
    printf("lookups: %zu beside %zu reverted commits, %zu wrong\n",
           (size_t)atomic_load(&lookup.looks), reverted, (size_t)atomic_load(&lookup.wrong));
    ck_assert_uint_eq(atomic_load(&lookup.wrong), 0);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("revert");
    TCase *tc = tcase_create("revert");
    tcase_set_timeout(tc, test_patience(60));
    test_starts_no_thread(tc);
    tcase_add_test(tc, readers_are_told_of_published_commits_only);
    tcase_add_test(tc, only_the_writer_sees_the_tail);
    tcase_add_test(tc, a_commit_of_the_tail_may_only_move_the_time_on);
    tcase_add_test(tc, the_first_time_that_is_stated_is_taken_back);
    tcase_add_test(tc, the_past_goes_when_its_end_is_published);
    tcase_add_test(tc, room_is_judged_against_the_tail);
    tcase_add_test(tc, a_scene_may_be_destroyed_with_its_tail);
    suite_add_tcase(suite, tc);
    TCase *readers = tcase_create("readers");
    tcase_set_timeout(readers, test_patience(60));
    tcase_add_test(readers, readers_see_no_commit_come_or_go);
    tcase_add_test(readers, a_walk_along_reverted_versions_begins_anew);
    suite_add_tcase(suite, readers);
    return test_main(suite);
}
