#include "core/obb.h"
#include "core/scene/commit_inside.h"
#include "core/scene/overlay.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"
#include "tests/support/boxes.h"
#include "tests/support/model.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- Random commits and views of the past, against the model --------------------------------- */

enum { NAMES = 40, HELD = 8 };

struct match {
    test_rng rng;
    struct obb_scene *scene;
    struct model *model;
    struct obb_arena arena; /* of the step */
    char names[NAMES][24];
    double now_ms;
    struct {
        struct obb_view *view;
        model_state state;
    } held[HELD]; /* views that stay open for long */
    struct {
        struct obb_view *view;
        struct obb_layers *fresh; /* made of it; NULL: none is under way */
    } rebuild;
    /* Scenes that are made only of the effects of m->scene's commits. */
    struct obb_scene *mirror; /* of each commit as it was prepared */
    uint64_t fingerprint;     /* of m->scene, kept by what each commit changed */
    struct {
        test_rng rng;
        struct obb_scene *scene; /* of steps of the history, now and then, */
        struct obb_view *view;   /* which begin behind this view of m->scene */
        obb_digest digest;       /* of its state, kept by what each step changed */
        double time;             /* up to which it is told */
        size_t steps, times, loads, effects[OBB_EFFECT_KINDS], teleports;
    } echo;
    size_t steps, changed, refused[64], gone, between, clamped, looked_at, discarded, merged, told,
        imported, rebuilt, sealed, restarted, expired, conditions, refused_boxes, framed,
        frames_moved, frames_removed, laid, laid_at_once, laid_twice, laid_between, laid_frames,
        unlaid, unlaid_framed, rehearsed, rehearsed_between, rehearsed_frames, copied,
        copied_frames, copied_between;
    /* accepted commits with puts in columns, and their rows */
    size_t columnar, rows, plain, one_for_all, each_its_own, laid_columns;
};

static bool chance(struct match *m, unsigned percent) { return test_below(&m->rng, 100) < percent; }

static obb_target any_target(struct match *m)
{
    const model_state *now = model_now(m->model);
    obb_target target = {.name = obb_str_of(m->names[test_below(&m->rng, NAMES)])};
    if (now->count > 0 && chance(m, 70)) { /* one that is there */
        const model_box *box = &now->boxes[test_below(&m->rng, now->count)];
        target = (obb_target){.name = {.bytes = box->name, .length = box->name_length},
                              .id = box->id,
                              .has_id = chance(m, 40)};
    } else if (chance(m, 5)) {
        target.has_id = true;
        target.id = test_below(&m->rng, (size_t)m->model->next_id + 1);
    }
    return target;
}

/* One of a few values, so that commits often change nothing. */
static double any_coordinate(struct match *m) { return (double)test_below(&m->rng, 4); }

static obb_quat any_rotation(struct match *m)
{
    obb_quat q;
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){1, (double)test_below(&m->rng, 2), 0},
                                              30.0 * (double)test_below(&m->rng, 12), &q),
                     OBB_OK);
    return q;
}

/* One of a few names, each with a namesake that it begins. */
static obb_str any_frame_name(struct match *m)
{
    static const char *const names[] = {"ann", "an", "annika", "door", "d\xc3\xb6rr", "z"};
    const model_state *now = model_now(m->model);
    if (now->frame_count > 0 && chance(m, 90)) {
        const model_frame *frame = &now->frames[test_below(&m->rng, now->frame_count)];
        return (obb_str){.bytes = frame->name, .length = frame->name_length};
    }
    return obb_str_of(chance(m, 1) ? "." : names[test_below(&m->rng, 6)]);
}

static obb_put any_put(struct match *m, int dimensions)
{
    static const char *const entities[] = {"", "player-1", "player-2", "m\xc3\xbcller"};
    static const char *const data[] = {"", "{\"hp\":3}", "[1,2]"};
    obb_put put = {.target = any_target(m), .parts = OBB_PUT_ALL};
    if (chance(m, 10))
        put.parts = 1 + (unsigned)test_below(&m->rng, OBB_PUT_ALL);
    const obb_vec3 center = {any_coordinate(m), any_coordinate(m), any_coordinate(m)};
    const obb_vec3 half = {any_coordinate(m), any_coordinate(m), any_coordinate(m)};
    ck_assert_int_eq(obb_box_from_pose(center, half, any_rotation(m),
                                       90.0 * (double)test_below(&m->rng, 4), dimensions, &put.box),
                     OBB_OK);
    put.attributes = (obb_attributes){.category = (uint32_t)test_below(&m->rng, 2),
                                      .mask = UINT32_MAX,
                                      .group = (int32_t)test_below(&m->rng, 3) - 1,
                                      .entity = obb_str_of(entities[test_below(&m->rng, 4)]),
                                      .data = obb_str_of(data[test_below(&m->rng, 3)])};
    if (chance(m, 30))
        put.frame = any_frame_name(m);
    if (chance(m, 25)) {
        put.attributes.has_ttl = true;
        put.attributes.ttl = (double)test_below(&m->rng, 48) * 0.25;
    }
    if (chance(m, 1))
        put.target.name = obb_str_of("..");
    return put;
}

static obb_pose any_pose(struct match *m, int dimensions)
{
    obb_pose pose = {.target = any_target(m),
                     .center = {any_coordinate(m), any_coordinate(m), any_coordinate(m)},
                     .rotation = any_rotation(m),
                     .has_center = chance(m, 80),
                     .has_rotation = chance(m, 40),
                     .teleport = chance(m, 20)};
    if (dimensions == 2) {
        pose.center.z = 0.0;
        pose.angle = 45.0 * (double)test_below(&m->rng, 8);
    }
    return pose;
}

static obb_pose any_frame(struct match *m, int dimensions)
{
    obb_pose pose = any_pose(m, dimensions);
    pose.target = (obb_target){.name = any_frame_name(m)};
    return pose;
}

static obb_transform_edit any_transform(struct match *m)
{
    obb_transform_edit turn = {.target = any_target(m), .transform = {.local = chance(m, 50)}};
    turn.transform.has_translate = chance(m, 70);
    turn.transform.translate = (obb_vec3){any_coordinate(m), any_coordinate(m), 0};
    turn.transform.has_rotate = chance(m, 40);
    turn.transform.rotate = any_rotation(m);
    turn.transform.angle = 90.0;
    turn.transform.has_scale = chance(m, 20);
    turn.transform.scale = (obb_vec3){1, 2, 1};
    return turn;
}

/* A condition on a box that is there or not, and that often holds. */
static obb_if_box any_condition(struct match *m)
{
    const model_state *now = model_now(m->model);
    obb_if_box condition = {.target = any_target(m)};
    const model_box *box = model_find(now, condition.target.name);
    condition.target.has_id = false;
    if (box != NULL && chance(m, 90))
        condition.revision = box->changed + test_below(&m->rng, now->revision - box->changed + 1);
    else if (chance(m, 10))
        condition.revision = test_below(&m->rng, now->revision + 3);
    return condition;
}

#define FILL(m, list, n, make)                                             \
    do {                                                                   \
        const size_t filled = (n);                                         \
        (list) = obb_arena_alloc(&(m)->arena, filled + 1, sizeof *(list)); \
        ck_assert_ptr_nonnull(list);                                       \
        for (size_t at = 0; at < filled; at++)                             \
            (list)[at] = (make);                                           \
    } while (0)

/* A put as columns state it: all of a box, by name. */
static obb_put any_row(struct match *m, int dimensions, bool plain)
{
    obb_put put = any_put(m, dimensions);
    put.target.has_id = false;
    put.parts = OBB_PUT_ALL;
    if (plain) {
        put.frame = put.attributes.entity = put.attributes.data = (obb_str){0};
        put.attributes.has_ttl = false;
        put.attributes.ttl = 0.0;
    }
    return put;
}

/* Turns the puts of the edit into columns, sometimes into more of them. Some members have a column;
 * the others are the same in all rows. Plain columns state no frames, entities, data and ttls. The
 * names mostly differ, and the edit says so. */
static void put_columns(struct match *m, obb_edit *edit)
{
    const bool plain = chance(m, 40), differ = chance(m, 75);
    const size_t first = test_below(&m->rng, NAMES);
    if (chance(m, 5))
        edit->put_count = NAMES - test_below(&m->rng, 10);
    const size_t n = edit->put_count;
    obb_put *rows = NULL, rest = any_row(m, edit->dimensions, plain);
    if (!plain && chance(m, 60))
        rest.frame = any_frame_name(m);
    FILL(m, rows, n, any_row(m, edit->dimensions, plain));
    obb_str *names = NULL, *entities = NULL, *frames = NULL;
    uint32_t *categories = NULL, *masks = NULL;
    int32_t *groups = NULL;
    double *ttls = NULL;
    obb_box *boxes = NULL;
    obb_put_columns *columns = NULL;
    FILL(m, names, n, differ ? obb_str_of(m->names[(first + at) % NAMES]) : rows[at].target.name);
    FILL(m, boxes, n, rows[at].box);
    FILL(m, entities, n, rows[at].attributes.entity);
    FILL(m, frames, n, rows[at].frame);
    FILL(m, categories, n, rows[at].attributes.category);
    FILL(m, masks, n, (uint32_t)test_random(&m->rng));
    FILL(m, groups, n, rows[at].attributes.group);
    FILL(m, ttls, n, rows[at].attributes.has_ttl ? rows[at].attributes.ttl : -1.0);
    FILL(m, columns, 1,
         ((obb_put_columns){.rest = rest,
                            .names = names,
                            .make_boxes = boxes_copy,
                            .maker = boxes,
                            .entities = !plain && chance(m, 50) ? entities : NULL,
                            .frames = !plain && chance(m, 50) ? frames : NULL,
                            .categories = chance(m, 50) ? categories : NULL,
                            .masks = chance(m, 50) ? masks : NULL,
                            .groups = chance(m, 50) ? groups : NULL,
                            .ttls = !plain && chance(m, 50) ? ttls : NULL}));
    edit->puts = NULL;
    edit->put_columns = columns;
    edit->puts_differ = differ;
}

/* Counts a commit that was accepted. */
static void count_columns(struct match *m, const obb_edit *edit)
{
    if (edit->puts != NULL)
        return;
    const obb_put_columns *columns = edit->put_columns;
    const obb_put *rest = &columns->rest;
    m->columnar++;
    m->rows += edit->put_count;
    m->plain += edit->puts_differ && columns->entities == NULL && columns->frames == NULL &&
                columns->ttls == NULL && rest->attributes.entity.length == 0 &&
                rest->frame.length == 0 && !rest->attributes.has_ttl &&
                rest->attributes.data.length == 0;
    m->one_for_all += (columns->entities == NULL && rest->attributes.entity.length > 0) ||
                      (columns->frames == NULL && rest->frame.length > 0) ||
                      (columns->ttls == NULL && rest->attributes.has_ttl);
    m->each_its_own +=
        columns->entities != NULL || columns->frames != NULL || columns->ttls != NULL;
}

/* A commit with about as much of everything as a step of the model can show. */
static obb_edit any_edit(struct match *m)
{
    const model_state *now = model_now(m->model);
    const int dimensions = now->settings.dimensions;
    obb_edit edit = {.dimensions = dimensions,
                     .remove_count = chance(m, 25) ? test_below(&m->rng, 4) : 0,
                     .remove_frame_count = chance(m, 6) ? 1 : 0,
                     .frame_count = chance(m, 40) ? test_below(&m->rng, 4) : 0,
                     .put_count = chance(m, 55) ? test_below(&m->rng, 9) : 0,
                     .pose_count = chance(m, 60) ? test_below(&m->rng, 10) : 0,
                     .transform_count = chance(m, 20) ? test_below(&m->rng, 4) : 0,
                     .merge_count = chance(m, 3) ? 1 : 0,
                     .ignore_missing = chance(m, 85),
                     .remove_must_exist = chance(m, 5),
                     .remove_frame_must_exist = chance(m, 5),
                     .replace_all = chance(m, 1)};
    obb_target *removes = NULL, *with = NULL;
    obb_put *puts = NULL;
    obb_str *remove_frames = NULL;
    obb_pose *poses = NULL, *frames = NULL;
    obb_transform_edit *transforms = NULL;
    obb_merge *merges = NULL;
    FILL(m, remove_frames, edit.remove_frame_count, any_frame_name(m));
    FILL(m, frames, edit.frame_count, any_frame(m, dimensions));
    FILL(m, removes, edit.remove_count, any_target(m));
    FILL(m, puts, edit.put_count, any_put(m, dimensions));
    FILL(m, poses, edit.pose_count, any_pose(m, dimensions));
    FILL(m, transforms, edit.transform_count, any_transform(m));
    FILL(m, with, 2, any_target(m));
    FILL(m, merges, edit.merge_count,
         ((obb_merge){.target = any_target(m), .with = with, .with_count = 2}));
    edit.removes = removes;
    edit.remove_frames = remove_frames;
    edit.frames = frames;
    edit.puts = puts;
    if (edit.put_count > 0 && chance(m, 20))
        put_columns(m, &edit);
    edit.all_put_ids = chance(m, 30);
    edit.poses = poses;
    edit.transforms = transforms;
    edit.merges = merges;
    if (chance(m, 80)) {
        edit.has_time = true;
        edit.time = now->until + (chance(m, 20) ? 0.0 : (double)test_below(&m->rng, 40) * 0.25);
        if (chance(m, 2))
            edit.time = now->until - 0.25;
    }
    if (chance(m, 5)) {
        edit.has_if_revision = true;
        edit.if_revision = now->revision + (chance(m, 80) ? 0 : 1);
    }
    if (chance(m, 5)) {
        obb_if_box *conditions = NULL;
        edit.if_box_count = 1 + test_below(&m->rng, 3);
        FILL(m, conditions, edit.if_box_count, any_condition(m));
        edit.if_boxes = conditions;
    }
    if (chance(m, 2)) { /* the clock starts anew, mostly earlier */
        edit.has_time = edit.restart = true;
        edit.time = (double)test_below(&m->rng, 100) * 0.25;
    }
    if (chance(m, 2)) {
        obb_settings *settings = obb_arena_alloc(&m->arena, 1, sizeof *settings);
        ck_assert_ptr_nonnull(settings);
        *settings = now->settings;
        settings->history_commits = (uint32_t)test_below(&m->rng, 24);
        settings->history_span = (double)test_below(&m->rng, 60);
        edit.settings = settings;
    }
    return edit;
}

static void check_same_answer(const obb_edit *edit, const obb_committed *real,
                              const obb_committed *modelled, const uint64_t *modelled_ids)
{
    ck_assert_uint_eq(real->moment.revision, modelled->moment.revision);
    ck_assert_double_eq(real->moment.time, modelled->moment.time);
    ck_assert_int_eq(real->changed, modelled->changed);
    ck_assert_uint_eq(real->removed, modelled->removed);
    ck_assert_uint_eq(real->expired, modelled->expired);
    ck_assert_uint_eq(real->put, modelled->put);
    ck_assert_uint_eq(real->posed, modelled->posed);
    ck_assert_uint_eq(real->transformed, modelled->transformed);
    ck_assert_uint_eq(real->missed, modelled->missed);
    ck_assert_uint_eq(real->removed_frames, modelled->removed_frames);
    ck_assert_uint_eq(real->made_frames, modelled->made_frames);
    size_t missed = 0;
    for (size_t i = 0; i < edit->put_count; i++)
        ck_assert_uint_eq(real->new_ids[i], modelled_ids[i]);
    for (size_t i = 0; i < edit->pose_count && real->missed_poses != NULL; i++)
        missed += real->missed_poses[i];
    for (size_t i = 0; i < edit->transform_count && real->missed_transforms != NULL; i++)
        missed += real->missed_transforms[i];
    ck_assert_uint_eq(missed, real->missed);
}

static void apply_effects(struct match *m, struct obb_scene *scene, const obb_effects *effects,
                          bool begins)
{
    struct obb_prepared *prepared = NULL;
    obb_committed done;
    const obb_status st = obb_effects_prepare(scene, effects, begins, &m->arena, &prepared);
    ck_assert_msg(st == OBB_OK, "step %zu: %s", m->steps, obb_status_name(st));
    obb_edit_commit(prepared, &done);
}

static obb_digest digest_of(const struct obb_view *view)
{
    obb_digest digest = {0};
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        obb_digest_add(&digest, box);
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, true);
         frame != NULL; frame = obb_view_next_frame(view, obb_view_name(frame), true))
        obb_digest_add(&digest, frame);
    return digest;
}

/* Begins the echo anew with the newest state, as a snapshot is loaded. */
static void load_echo(struct match *m)
{
    obb_view_close(m->echo.view);
    obb_scene_destroy(m->echo.scene);
    obb_scene_info info;
    obb_scene_info_without_bounds(m->scene, &info);
    ck_assert_int_eq(obb_scene_create(obb_str_of("echo"), &info.settings, 7, NULL, &m->echo.scene),
                     OBB_OK);
    ck_assert_int_eq(obb_view_open(m->scene, NULL, &m->echo.view, NULL, NULL), OBB_OK);
    obb_view_keep_later(m->echo.view);
    obb_effects all = {.moment = info.now,
                       .appends = info.now.revision > 0,
                       .time_stated = m->scene->time_stated,
                       .next_id = m->scene->next_id};
    obb_effect *list = obb_arena_alloc(&m->arena, info.boxes + info.frames, sizeof *list);
    ck_assert_ptr_nonnull(list);
    for (const struct obb_version *frame = obb_view_next_frame(m->echo.view, (obb_str){0}, true);
         frame != NULL; frame = obb_view_next_frame(m->echo.view, obb_view_name(frame), true))
        list[all.count++] = obb_effect_of(NULL, frame);
    for (const struct obb_version *box = obb_view_next(m->echo.view, 0); box != NULL;
         box = obb_view_next(m->echo.view, box->id))
        list[all.count++] = obb_effect_of(NULL, box);
    all.list = list;
    if (m->scene->has_committed)
        apply_effects(m, m->echo.scene, &all, true);
    m->echo.digest = digest_of(m->echo.view);
    m->echo.time = info.now.time;
    m->echo.loads++;
    obb_scene_info loaded;
    obb_scene_info_without_bounds(m->echo.scene, &loaded);
    ck_assert_uint_eq(loaded.oldest.revision, info.now.revision);
}

static void echo_time(struct match *m, uint64_t revision, double until, uint64_t next_id)
{
    if (until == m->echo.time)
        return;
    const obb_effects later = {
        .moment = {revision, until}, .time_stated = true, .next_id = next_id};
    apply_effects(m, m->echo.scene, &later, false);
    m->echo.time = until;
    m->echo.times++;
}

static void echo_step(struct match *m, const obb_step *step)
{
    obb_effects effects;
    ck_assert_int_eq(obb_step_effects(step, &m->arena, &effects), OBB_OK);
    for (size_t i = 0; i < effects.count; i++) {
        const obb_effect *effect = &effects.list[i];
        m->echo.effects[effect->kind]++;
        m->echo.teleports += effect->teleported;
        if (effect->before != NULL)
            obb_digest_remove(&m->echo.digest, effect->before);
        if (effect->after != NULL)
            obb_digest_add(&m->echo.digest, effect->after);
    }
    apply_effects(m, m->echo.scene, &effects, false);
    m->echo.time = step->moment.time;
    echo_time(m, step->moment.revision, step->until, step->next_id);
    m->echo.steps++;
}

/* Tells the echo what has come since. */
static void echo_all(struct match *m)
{
    if (m->echo.scene == NULL || test_below(&m->echo.rng, 100) < 1)
        load_echo(m);
    obb_step step;
    uint64_t revision = obb_view_info_get(m->echo.view)->at.revision;
    echo_time(m, revision, obb_view_until(m->echo.view), m->echo.scene->next_id);
    while (obb_view_step(m->echo.view, revision + 1, &step)) {
        echo_step(m, &step);
        revision++;
    }
    struct obb_view *later = NULL;
    ck_assert_int_eq(obb_view_open_later(m->echo.view, revision, &later), OBB_OK);
    obb_view_close(m->echo.view);
    m->echo.view = later;
    obb_scene_info info;
    obb_scene_info_without_bounds(m->scene, &info);
    ck_assert_uint_eq(
        obb_digest_exact(&m->echo.digest, &info.settings, info.now, m->scene->next_id),
        obb_scene_hash(m->scene));
    ck_assert_uint_eq(obb_scene_hash(m->echo.scene), obb_scene_hash(m->scene));
    ck_assert(obb_scene_validate(m->echo.scene));
}

/* Compares a state with a view that has an overlay, or of a copy. Boxes there were last changed by
 * no commit of the scene, so that is not compared. */
static void check_overlay(struct match *m, model_state *state, const struct obb_view *view)
{
    for (size_t i = 0; i < state->count; i++) {
        const struct obb_version *box = obb_view_find_id(view, state->boxes[i].id);
        ck_assert_msg(box != NULL, "step %zu: a box is missing", m->steps);
        state->boxes[i].changed = obb_view_changed(box);
        const obb_attributes attributes = obb_view_attributes(box);
        state->boxes[i].has_ttl = attributes.has_ttl;
        state->boxes[i].ttl = attributes.ttl;
        state->boxes[i].since = obb_view_since(view, box);
        obb_str frame;
        obb_box local;
        if (obb_view_local(box, &frame, &local)) /* half extents are not of the frame */
            state->boxes[i].local.half_extents = local.half_extents;
    }
    const char *difference = model_difference(state, view, &m->looked_at);
    ck_assert_msg(difference == NULL, "step %zu, an overlay: %s", m->steps, difference);
}

/* Checks an overlay of the commit that is prepared, which the model has made already: at the
 * commit, and half way to it. */
static void rehearse(struct match *m, const struct obb_prepared *prepared,
                     const obb_effects *effects)
{
    struct obb_view *below, *over;
    struct obb_overlay *overlay;
    ck_assert_int_eq(obb_view_open(m->scene, NULL, &below, NULL, NULL), OBB_OK);
    const double before = obb_view_info_get(below)->now.time, after = effects->moment.time;
    below->next_id = obb_prepared_first_id(prepared);
    ck_assert_int_eq(obb_overlay_of_effects(below, effects, &m->arena, &overlay), OBB_OK);
    ck_assert_int_eq(obb_overlay_open(overlay, below, NULL, &m->arena, &over), OBB_OK);
    const obb_at now = {.kind = OBB_AT_NOW},
                 half = {.kind = OBB_AT_TIME, .time = before + (after - before) / 2.0};
    obb_moment oldest, newest;
    obb_view_info info;
    model_state state;
    ck_assert_int_eq(model_open(m->model, &now, &state, &info, &oldest, &newest), OBB_OK);
    check_overlay(m, &state, over);
    model_state_free(&state);
    m->rehearsed++;
    for (size_t i = 0; i < effects->count; i++)
        m->rehearsed_frames += effects->list[i].id == 0;
    if (effects->appends && before < after &&
        model_open(m->model, &half, &state, &info, &oldest, &newest) == OBB_OK) {
        ck_assert_int_eq(obb_overlay_open(overlay, below, &half, &m->arena, &over), OBB_OK);
        check_overlay(m, &state, over);
        model_state_free(&state);
        m->rehearsed_between++;
    }
    obb_overlay_destroy(overlay);
    obb_view_close(below);
}

/* The effects, told one by one, are those of the list: also of a commit that is applied. */
static void check_told(struct match *m, const struct obb_prepared *prepared,
                       const obb_effects *effects)
{
    size_t told = 0;
    for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++) {
        obb_effect_place place = {.kind = (obb_effect_kind)kind};
        obb_effect e;
        for (; obb_prepared_next(prepared, &place, &e); told++) {
            ck_assert_uint_lt(told, effects->count);
            const obb_effect *listed = &effects->list[told];
            if (e.kind != (obb_effect_kind)kind || e.kind != listed->kind || e.id != listed->id ||
                e.parts != listed->parts || e.before != listed->before ||
                e.after != listed->after || e.expired != listed->expired ||
                e.teleported != listed->teleported || e.carried != listed->carried)
                ck_abort_msg("effect %zu of kind %d", told, kind);
        }
    }
    ck_assert_uint_eq(told, effects->count);
    m->told += told;
}

static void commit_step(struct match *m)
{
    const obb_edit edit = any_edit(m);
    const size_t room = chance(m, 5) ? test_below(&m->rng, 2) : 1000;
    m->now_ms += (double)test_below(&m->rng, 3);
    uint64_t new_ids[NAMES];
    obb_committed modelled, real;
    obb_fault modelled_fault, fault;
    struct obb_prepared *prepared = NULL;
    if (chance(m, 10)) { /* think again: a discarded commit leaves no trace */
        const uint64_t before = obb_scene_hash(m->scene);
        if (obb_edit_prepare(m->scene, &edit, m->now_ms, room, &m->arena, &prepared, &fault) ==
            OBB_OK) {
            if (test_below(&m->echo.rng, 2) == 0)
                obb_edit_seal(prepared);
            obb_edit_discard(prepared);
            m->discarded++;
        }
        ck_assert(obb_scene_hash(m->scene) == before);
    }
    const uint64_t before_commit = obb_scene_hash(m->scene);
    const obb_status st =
        obb_edit_prepare(m->scene, &edit, m->now_ms, room, &m->arena, &prepared, &fault);
    const obb_status expected =
        model_commit(m->model, &edit, m->now_ms, room, &modelled, new_ids, &modelled_fault);
    ck_assert_msg(st == expected, "step %zu: %s, not %s", m->steps, obb_status_name(st),
                  obb_status_name(expected));
    ck_assert_int_eq(fault.group, modelled_fault.group);
    ck_assert_uint_eq(fault.index, modelled_fault.index);
    ck_assert_uint_eq(fault.member, modelled_fault.member);
    if (st == OBB_OK) {
        obb_effects effects;
        ck_assert_int_eq(obb_prepared_effects(prepared, &m->arena, &effects), OBB_OK);
        ck_assert_uint_eq(obb_scene_hash(m->mirror), before_commit);
        apply_effects(m, m->mirror, &effects, false);
        if (!effects.restarts && !effects.replaces_all && !effects.has_settings)
            rehearse(m, prepared, &effects);
        if (test_below(&m->echo.rng, 3) == 0) {
            obb_edit_seal(prepared);
            m->sealed++;
        }
        check_told(m, prepared, &effects);
        m->fingerprint = obb_prepared_fingerprint(prepared, m->fingerprint);
        if (m->steps % 3 == 0) {
            obb_edit_apply(prepared, &real);
            check_told(m, prepared, &effects);
            obb_edit_publish(prepared);
        } else {
            obb_edit_commit(prepared, &real);
        }
        ck_assert_msg(obb_scene_hash(m->mirror) == obb_scene_hash(m->scene), "step %zu", m->steps);
        ck_assert_uint_eq(m->fingerprint, obb_scene_fingerprint(m->scene));
        ck_assert_uint_eq(m->fingerprint, obb_scene_fingerprint(m->mirror));
        ck_assert(m->mirror->time_stated == m->scene->time_stated &&
                  m->mirror->has_committed == m->scene->has_committed);
        check_same_answer(&edit, &real, &modelled, new_ids);
        ck_assert_int_eq(real.restarted, edit.restart);
        count_columns(m, &edit);
        m->changed += real.changed;
        m->restarted += real.restarted;
        m->expired += real.expired;
        m->conditions += edit.if_box_count;
        m->frames_moved += edit.frame_count;
        m->frames_removed += real.removed_frames;
        m->merged += edit.merge_count;
        m->imported += edit.replace_all && m->rebuild.fresh != NULL;
    } else {
        m->refused[st]++;
        m->refused_boxes += fault.group == OBB_GROUP_IF_BOX;
    }
}

/* The groups of any edit for boxes of those dimensions. */
static obb_edit any_changes(struct match *m, int dimensions)
{
    obb_edit edit = any_edit(m);
    while (edit.dimensions != dimensions || edit.replace_all || edit.merge_count > 0)
        edit = any_edit(m);
    edit.has_time = edit.has_if_revision = edit.restart = false;
    edit.if_box_count = edit.moment_count = 0;
    edit.settings = NULL;
    if (edit.frame_count == 0 && chance(m, 40)) {
        obb_pose *frames;
        FILL(m, frames, 2, any_frame(m, dimensions));
        edit.frames = frames;
        edit.frame_count = 2;
    }
    return edit;
}

/* Lays changes over a view of `state`, and further ones over the result. The model makes them in a
 * scene that begins with that state, which it takes. */
static void lay_step(struct match *m, const struct obb_view *view, model_state *state)
{
    struct model *model = model_create(&state->settings, 0);
    struct obb_overlay *overlays[2] = {NULL, NULL};
    const bool between = view->alpha > 0.0;
    model_state_free(&model->states[0]);
    model->states[0] = *state;
    model->next_id = m->model->next_id;
    model->next_serial = m->model->next_serial;
    for (int i = 0; i < 2; i++) {
        const obb_edit edit = any_changes(m, view->info.dimensions);
        uint64_t new_ids[64];
        obb_committed committed;
        obb_fault fault, expected;
        struct obb_view *over;
        model_state *now = &model->states[model->count - 1];
        for (size_t k = 0; k < now->count; k++) /* they may be interpolated */
            now->boxes[k].local.half_extents = now->boxes[k].box.half_extents;
        for (size_t k = 0; k < now->count; k++) { /* a question lets nothing expire */
            now->boxes[k].has_ttl = false;
            now->boxes[k].ttl = now->boxes[k].since = 0.0;
        }
        const obb_status st = model_commit(model, &edit, 0, 100000, &committed, new_ids, &expected);
        const obb_status got =
            obb_overlay_of_edit(view, &edit, NULL, &m->arena, &overlays[i], &fault);
        ck_assert_msg(got == st, "step %zu: %s, not %s", m->steps, obb_status_name(got),
                      obb_status_name(st));
        if (st != OBB_OK) {
            ck_assert(fault.group == expected.group && fault.index == expected.index);
            m->unlaid++;
            m->unlaid_framed += st == OBB_FRAMED;
            break;
        }
        ck_assert_int_eq(obb_overlay_open(overlays[i], view, NULL, &m->arena, &over), OBB_OK);
        check_overlay(m, &model->states[model->count - 1], over);
        m->laid++;
        m->laid_columns += edit.puts == NULL;
        m->laid_at_once += committed.changed && over->overlay->over->revision == 1;
        m->laid_twice += i == 1;
        m->laid_between += between;
        m->laid_frames += edit.frame_count + edit.remove_frame_count;
        view = over;
    }
    obb_overlay_destroy(overlays[1]);
    obb_overlay_destroy(overlays[0]);
    model_destroy(model);
}

static obb_at any_at(struct match *m)
{
    const model_state *now = model_now(m->model);
    obb_at at = {.kind = (obb_at_kind)test_below(&m->rng, 4),
                 .no_interpolation = chance(m, 20),
                 .clamp = chance(m, 20)};
    const size_t back = test_below(&m->rng, 30);
    if (at.kind == OBB_AT_REVISION)
        at.revision = now->revision + 1 > back ? now->revision + 1 - back : 0;
    else if (at.kind == OBB_AT_TIME)
        at.time = now->until + 1.0 - (double)back * (chance(m, 50) ? 0.25 : 1.3);
    else if (at.kind == OBB_AT_AGO)
        at.time = (double)back * 0.5;
    return at;
}

static bool count_visit(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)version;
    (void)verdict;
    ++*(size_t *)context;
    return true;
}

/* How many boxes the broad phase shows. */
static size_t visible(const struct obb_view *view)
{
    const obb_bounds all = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    size_t count = 0;
    obb_layers_query(view->layers, view->revision, &all, &count, count_visit);
    return count;
}

static void check_view(struct match *m, const model_state *state, const struct obb_view *view)
{
    const char *difference = model_difference(state, view, &m->looked_at);
    ck_assert_msg(difference == NULL, "step %zu, revision %llu: %s", m->steps,
                  (unsigned long long)state->revision, difference);
    ck_assert_uint_eq(visible(view), state->count);
}

/* Opens one state in both; true: *out_view and *out_state are to be released. */
static bool open_both(struct match *m, struct obb_view **out_view, model_state *out_state)
{
    const obb_at at = any_at(m);
    obb_moment oldest, newest, modelled_oldest, modelled_newest;
    obb_view_info info;
    const obb_status expected =
        model_open(m->model, &at, out_state, &info, &modelled_oldest, &modelled_newest);
    const obb_status st = obb_view_open(m->scene, &at, out_view, &oldest, &newest);
    ck_assert_msg(st == expected, "step %zu: %s, not %s", m->steps, obb_status_name(st),
                  obb_status_name(expected));
    if (st == OBB_GONE) {
        m->gone++;
        ck_assert_uint_eq(oldest.revision, modelled_oldest.revision);
        ck_assert_double_eq(oldest.time, modelled_oldest.time);
        ck_assert_uint_eq(newest.revision, modelled_newest.revision);
        ck_assert_double_eq(newest.time, modelled_newest.time);
        return false;
    }
    const obb_view_info *real = obb_view_info_get(*out_view);
    ck_assert_uint_eq(real->at.revision, info.at.revision);
    ck_assert_double_eq(real->at.time, info.at.time);
    ck_assert_uint_eq(real->now.revision, info.now.revision);
    ck_assert_double_eq(real->now.time, info.now.time);
    ck_assert_int_eq(real->clamped, info.clamped);
    ck_assert_int_eq(real->dimensions, info.dimensions);
    ck_assert_uint_eq(real->frames, info.frames);
    m->clamped += info.clamped;
    m->between += (*out_view)->alpha > 0.0;
    for (size_t k = 0; k < out_state->count; k++)
        m->framed += out_state->boxes[k].frame_length > 0;
    check_view(m, out_state, *out_view);
    struct obb_view *mirrored = NULL;
    ck_assert_int_eq(obb_view_open(m->mirror, &at, &mirrored, &oldest, &newest), OBB_OK);
    ck_assert_uint_eq(obb_view_info_get(mirrored)->at.revision, info.at.revision);
    check_view(m, out_state, mirrored);
    obb_view_close(mirrored);
    return true;
}

/* Now and then makes a scene of the state, which is released. Between two commits the copy is only
 * sound: its frames place its boxes. */
static void copy_step(struct match *m, const struct obb_view *view, model_state *state)
{
    if (test_below(&m->echo.rng, 8) == 0) {
        const obb_copy how = obb_copy_of(view, obb_str_of("copy"), 0);
        struct obb_scene *copy;
        struct obb_view *copied;
        ck_assert_int_eq(obb_scene_copy(&how, NULL, NULL, &copy), OBB_OK);
        ck_assert_msg(obb_scene_validate(copy), "step %zu: a copy", m->steps);
        ck_assert_int_eq(obb_view_open(copy, NULL, &copied, NULL, NULL), OBB_OK);
        if (view->alpha == 0.0)
            check_overlay(m, state, copied);
        m->copied++;
        m->copied_frames += state->frame_count;
        m->copied_between += view->alpha > 0.0 && state->frame_count > 0;
        obb_view_close(copied);
        obb_scene_destroy(copy);
    }
    model_state_free(state);
}

static void view_step(struct match *m)
{
    struct obb_view *view = NULL;
    model_state state;
    if (!open_both(m, &view, &state))
        return;
    const size_t i = test_below(&m->rng, (size_t)4 * HELD);
    if (i < HELD && m->held[i].view == NULL) {
        m->held[i].view = view;
        m->held[i].state = state;
        return;
    }
    if (i % 2 == 0 && state.settings.dimensions == model_now(m->model)->settings.dimensions)
        lay_step(m, view, &state);
    else
        copy_step(m, view, &state);
    obb_view_close(view);
}

/* A view that was opened long ago still shows what it showed. */
static void look_again(struct match *m, bool close)
{
    const size_t i = test_below(&m->rng, HELD);
    if (m->held[i].view == NULL)
        return;
    check_view(m, &m->held[i].state, m->held[i].view);
    if (!close)
        return;
    obb_view_close(m->held[i].view);
    model_state_free(&m->held[i].state);
    m->held[i].view = NULL;
}

static struct obb_layers *rebuilt(const struct obb_view *view)
{
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh = NULL;
    ck_assert_int_eq(obb_view_rebuild(view, NULL, &rebuild), OBB_OK);
    ck_assert_int_eq(obb_rebuild_finish(rebuild, &fresh), OBB_OK);
    return fresh;
}

/* The broad phase is rebuilt from one state and put in place some commits later. */
static void rebuild_step(struct match *m, bool last)
{
    if (m->rebuild.fresh == NULL) {
        ck_assert_int_eq(obb_view_open(m->scene, NULL, &m->rebuild.view, NULL, NULL), OBB_OK);
        m->rebuild.fresh = rebuilt(m->rebuild.view);
    }
    if (!last && chance(m, 80))
        return;
    ck_assert_int_eq(obb_scene_rebase(m->scene, m->rebuild.fresh), OBB_OK);
    obb_view_close(m->rebuild.view);
    m->rebuild.fresh = NULL;
    m->rebuilt++;
}

static struct match play(uint64_t seed, const obb_settings *settings, size_t steps)
{
    struct match m = {.rng = {.s = seed}, .model = model_create(settings, 50)};
    ck_assert_int_eq(obb_scene_create(obb_str_of("arena"), settings, 50, NULL, &m.scene), OBB_OK);
    ck_assert_int_eq(obb_scene_create(obb_str_of("mirror"), settings, 0, NULL, &m.mirror), OBB_OK);
    m.now_ms = 50;
    obb_arena_init(&m.arena);
    for (int i = 0; i < NAMES; i++)
        (void)snprintf(m.names[i], sizeof m.names[i], "%s-%d", i % 2 ? "b\xc3\xb6x" : "crate", i);
    for (m.steps = 0; m.steps < steps; m.steps++) {
        commit_step(&m);
        for (int i = 0; i < 3; i++)
            view_step(&m);
        look_again(&m, chance(&m, 10));
        if (test_below(&m.echo.rng, 100) < 40)
            echo_all(&m);
        rebuild_step(&m, m.steps + 1 == steps);
        if (m.steps % 8 == 0)
            ck_assert_msg(obb_scene_validate(m.scene) && obb_scene_validate(m.mirror), "step %zu",
                          m.steps);
        obb_arena_reset(&m.arena);
    }
    for (size_t i = 0; i < HELD; i++)
        if (m.held[i].view != NULL) {
            check_view(&m, &m.held[i].state, m.held[i].view);
            obb_view_close(m.held[i].view);
            model_state_free(&m.held[i].state);
        }
    obb_view_close(m.echo.view);
    ck_assert(obb_scene_validate(m.scene));
    obb_arena_fini(&m.arena);
    obb_scene_destroy(m.scene);
    obb_scene_destroy(m.mirror);
    obb_scene_destroy(m.echo.scene);
    model_destroy(m.model);
    return m;
}

START_TEST(random_commits_and_views_agree_with_the_model)
{
    const size_t steps = test_effort(3000);
    const obb_settings space = {.dimensions = 3, .history_span = 30, .history_commits = 16};
    const obb_settings plane = {.dimensions = 2, .history_span = 1000, .history_commits = 40};
    const struct match runs[] = {play(20261120, &space, steps), play(20261121, &plane, steps)};
    for (size_t i = 0; i < 2; i++) {
        const struct match *m = &runs[i];
        printf("model: %zu steps, %zu changed, %zu discarded, refused: %zu no box, %zu limit, "
               "%zu time, %zu revision, %zu name, %zu shear; views: %zu gone, %zu between, %zu "
               "clamped; %zu boxes compared, %zu in a frame; %zu frames moved, %zu removed; %zu "
               "rebuilt, %zu imports meanwhile\n",
               steps, m->changed, m->discarded, m->refused[OBB_NO_BOX], m->refused[OBB_LIMIT],
               m->refused[OBB_TIME_BACKWARDS], m->refused[OBB_REVISION], m->refused[OBB_BAD_NAME],
               m->refused[OBB_SHEARED], m->gone, m->between, m->clamped, m->looked_at, m->framed,
               m->frames_moved, m->frames_removed, m->rebuilt, m->imported);
        printf("columns: %zu commits, %zu rows; %zu plain, %zu with an extra of all rows, %zu with "
               "extras of each; %zu overlays\n",
               m->columnar, m->rows, m->plain, m->one_for_all, m->each_its_own, m->laid_columns);
        ck_assert_uint_gt(m->rows, m->columnar * 4);
        ck_assert_uint_gt(m->columnar, steps / 20);
        ck_assert_uint_gt(m->plain, steps / 60);
        ck_assert_uint_gt(m->one_for_all, steps / 100);
        ck_assert_uint_gt(m->each_its_own, steps / 100);
        ck_assert_uint_gt(m->laid_columns, steps / 40);
        printf("conditions: %zu boxes held, %zu commits refused; %zu restarts\n", m->conditions,
               m->refused_boxes, m->restarted);
        printf(
            "effects: %zu steps and %zu later times told again, %zu loads; %zu removed, %zu put, "
            "%zu new, %zu posed, %zu teleports; %zu frames, %zu removed\n",
            m->echo.steps, m->echo.times, m->echo.loads, m->echo.effects[OBB_EFFECT_REMOVED],
            m->echo.effects[OBB_EFFECT_PUT], m->echo.effects[OBB_EFFECT_NEW],
            m->echo.effects[OBB_EFFECT_POSED], m->echo.teleports, m->echo.effects[OBB_EFFECT_FRAME],
            m->echo.effects[OBB_EFFECT_FRAME_REMOVED]);
        for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++)
            ck_assert_uint_gt(m->echo.effects[kind],
                              steps / (kind == OBB_EFFECT_FRAME_REMOVED ? 60 : 20));
        ck_assert_uint_gt(m->echo.steps, steps / 3);
        ck_assert_uint_gt(m->echo.times, steps / 50);
        ck_assert_uint_gt(m->echo.loads, steps / 500);
        ck_assert_uint_gt(m->echo.teleports, steps / 50);
        ck_assert_uint_gt(m->changed, steps / 3);
        ck_assert_uint_gt(m->sealed, steps / 10);
        ck_assert_uint_gt(m->told, steps);
        ck_assert_uint_gt(m->discarded, steps / 50);
        ck_assert_uint_gt(m->refused[OBB_NO_BOX], steps / 100);
        ck_assert_uint_gt(m->refused[OBB_LIMIT], 0);
        ck_assert_uint_gt(m->refused[OBB_TIME_BACKWARDS], steps / 200);
        ck_assert_uint_gt(m->refused[OBB_REVISION], steps / 500);
        ck_assert_uint_gt(m->refused_boxes, steps / 500);
        ck_assert_uint_gt(m->conditions, steps / 100);
        ck_assert_uint_gt(m->restarted, steps / 200);
        ck_assert_uint_gt(m->expired, steps / 10);
        ck_assert_uint_gt(m->refused[OBB_BAD_NAME], steps / 500);
        ck_assert_uint_gt(m->refused[OBB_SHEARED], 0);
        ck_assert_uint_gt(m->merged, 0);
        ck_assert_uint_gt(m->gone, steps / 20);
        ck_assert_uint_gt(m->between, steps / 10);
        ck_assert_uint_gt(m->clamped, steps / 20);
        ck_assert_uint_gt(m->looked_at, steps * 20);
        ck_assert_uint_gt(m->rebuilt, steps / 10);
        ck_assert_uint_gt(m->imported, steps / 1000);
        ck_assert_uint_gt(m->refused[OBB_NO_FRAME], steps / 100);
        ck_assert_uint_gt(m->refused[OBB_FRAMED], steps / 100);
        ck_assert_uint_gt(m->framed, m->looked_at / 20);
        ck_assert_uint_gt(m->frames_moved, steps / 4);
        ck_assert_uint_gt(m->frames_removed, steps / 50);
        printf("overlays: %zu laid, %zu in one commit, %zu over others, %zu between commits, %zu "
               "frames, %zu refused, "
               "%zu of a framed box; %zu commits rehearsed, %zu half way, %zu frames\n",
               m->laid, m->laid_at_once, m->laid_twice, m->laid_between, m->laid_frames, m->unlaid,
               m->unlaid_framed, m->rehearsed, m->rehearsed_between, m->rehearsed_frames);
        printf("copies: %zu, %zu frames, %zu between commits\n", m->copied, m->copied_frames,
               m->copied_between);
        ck_assert_uint_gt(m->copied_frames, steps / 20);
        ck_assert_uint_gt(m->copied_between, steps / 200);
        ck_assert_uint_gt(m->laid_at_once, steps / 40);
        ck_assert_uint_gt(m->laid - m->laid_at_once, steps / 10);
        ck_assert_uint_gt(m->laid_twice, steps / 10);
        ck_assert_uint_gt(m->laid_between, steps / 20);
        ck_assert_uint_gt(m->laid_frames, steps / 4);
        ck_assert_uint_gt(m->unlaid_framed, steps / 200);
        ck_assert_uint_gt(m->rehearsed_between, steps / 5);
        ck_assert_uint_gt(m->rehearsed_frames, steps / 20);
    }
}
END_TEST

/* ---- Entities -------------------------------------------------------------------------------- */

START_TEST(an_entity_is_one_interned_string_in_every_state)
{
    struct obb_scene *scene = tick_scene(500, 64);
    struct obb_arena arena;
    obb_arena_init(&arena);
    const char *const names[] = {"head", "torso", "crate"};
    obb_put puts[3];
    for (int i = 0; i < 3; i++)
        puts[i] = (obb_put){.target = {.name = obb_str_of(names[i])},
                            .parts = OBB_PUT_ALL,
                            .box = {.rotation = {0, 0, 0, 1}},
                            .attributes = {.entity = obb_str_of(i < 2 ? "player-1" : "")}};
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = 3};
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_committed done;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 3, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
    struct obb_view *old = NULL, *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &old, NULL, NULL), OBB_OK);
    tick(scene, 1, "-head -torso");
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const struct obb_interned *entity = obb_view_entity(old, obb_str_of("player-1"));
    ck_assert_ptr_nonnull(entity);
    ck_assert_ptr_eq(obb_version_extras(obb_view_find(old, obb_str_of("head")))->entity, entity);
    ck_assert_ptr_eq(obb_version_extras(obb_view_find(old, obb_str_of("torso")))->entity, entity);
    ck_assert_ptr_null(obb_version_extras(obb_view_find(view, obb_str_of("crate")))->entity);
    ck_assert_ptr_null(obb_view_entity(view, obb_str_of("player-2")));
    obb_view_close(old);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Rebuilding beside the work -------------------------------------------------------------- */

START_TEST(a_broad_phase_rebuilt_from_a_view_replaces_the_mended_one)
{
    struct obb_scene *scene = tick_scene(0, 0);
    test_rng rng = {.s = 20261120};
    size_t rebased = 0, decayed = 0, cancelled = 0;
    for (int round = 0; round < 40; round++) {
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        atomic_bool cancel = false;
        struct obb_rebuild *rebuild;
        struct obb_layers *fresh = NULL;
        atomic_store(&cancel, true);
        ck_assert_int_eq(obb_view_rebuild(view, &cancel, &rebuild), OBB_OK);
        if (obb_rebuild_finish(rebuild, &fresh) == OBB_CANCELLED)
            cancelled++;
        else
            ck_assert_int_eq(obb_scene_rebase(scene, fresh), OBB_OK);
        fresh = rebuilt(view);
        for (int i = 0; i < 8; i++) { /* commits go on while it is rebuilt */
            char line[256];
            size_t used = 0;
            for (int k = 0; k < 12; k++)
                used += (size_t)snprintf(line + used, sizeof line - used,
                                         test_below(&rng, 3) == 0 ? "-b%d " : "+b%d:%d ",
                                         (int)test_below(&rng, 100), round * 8 + i);
            tick(scene, round, line);
            decayed += obb_scene_decayed(scene);
        }
        ck_assert_int_eq(obb_scene_rebase(scene, fresh), OBB_OK);
        rebased++;
        obb_view_close(view);
        ck_assert(obb_scene_validate(scene));
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        ck_assert_uint_eq(visible(view), obb_view_info_get(view)->boxes);
        obb_view_close(view);
    }
    ck_assert_uint_eq(rebased, 40);
    ck_assert_uint_gt(cancelled, 20);
    ck_assert_uint_gt(decayed, 0);
    printf("rebuilt %zu times, cancelled %zu, decayed after %zu of 320 commits\n", rebased,
           cancelled, decayed);
    obb_scene_destroy(scene);
}
END_TEST

/* All that is there goes; the words say what comes. */
static void import(struct obb_scene *scene, const obb_settings *settings, const char *line)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_edit edit = tick_edit(NO_TIME, line, &arena);
    edit.replace_all = true;
    edit.settings = settings;
    edit.dimensions = settings->dimensions;
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_committed done;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

/* As all-pairs has them and as every two boxes do. Returns how many there are. */
static size_t check_pairs(struct obb_scene *scene)
{
    struct obb_view *view = NULL;
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_uint_eq(visible(view), obb_view_info_get(view)->boxes);
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = obb_view_info_get(view)->dimensions,
                             .limit = SIZE_MAX};
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    size_t count = 0;
    for (const struct obb_version *a = obb_view_next(view, 0); a != NULL;
         a = obb_view_next(view, obb_view_id(a)))
        for (const struct obb_version *b = obb_view_next(view, obb_view_id(a)); b != NULL;
             b = obb_view_next(view, obb_view_id(b))) {
            const obb_solid one = obb_view_solid(view, a), two = obb_view_solid(view, b);
            if (!obb_sat_overlap(&one, &two))
                continue;
            ck_assert_uint_lt(count, result->pair_count);
            ck_assert_ptr_eq(result->pairs[count].a, a);
            ck_assert_ptr_eq(result->pairs[count].b, b);
            count++;
        }
    ck_assert_uint_eq(count, result->pair_count);
    obb_plan_destroy(plan);
    obb_view_close(view);
    return count;
}

/* Whatever was ended by commits before it and since, and in other dimensions, too. */
START_TEST(a_rebuild_that_comes_after_an_import_is_dropped)
{
    const obb_settings space = {.dimensions = 3}, plane = {.dimensions = 2};
    const char *const moves[] = {"", "a:0 c:3.5", "a:0 b:1 c:2 d:3 e:4"};
    const struct {
        const obb_settings *settings;
        const char *line;
        size_t pairs;
    } imports[] = {{&space, "+x:50 +y:51 +z:53", 2}, {&space, "", 0}, {&plane, "", 0}};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            struct obb_scene *scene = tick_scene(0, 0);
            struct obb_view *view = NULL;
            tick(scene, 1, "+a:0.5 +b:1.5 +c:2.5 +d:3.5 +e:4.5");
            tick(scene, 2, moves[i]);
            ck_assert_uint_gt(check_pairs(scene), 5);
            ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
            struct obb_layers *fresh = rebuilt(view);
            import(scene, imports[k].settings, imports[k].line);
            ck_assert_int_eq(obb_scene_rebase(scene, fresh), OBB_OK);
            obb_view_close(view);
            ck_assert(obb_scene_validate(scene));
            ck_assert_uint_eq(check_pairs(scene), imports[k].pairs);
            if (imports[k].pairs > 0)
                tick(scene, 3, "x:51.5");
            ck_assert_uint_eq(check_pairs(scene), imports[k].pairs + (imports[k].pairs > 0));
            obb_scene_destroy(scene);
        }
}
END_TEST

START_TEST(a_state_that_changed_nothing_but_settings_can_be_rebuilt)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 1, "+a:0.5 +b:1.5 +c:2.5");
    for (uint32_t commits = 1; commits <= 2; commits++) {
        const obb_settings settings = {.dimensions = 3, .history_commits = commits};
        struct obb_view *view = NULL;
        bool changed = false;
        ck_assert_int_eq(tick_configure(scene, &settings, 0, &changed), OBB_OK);
        ck_assert(changed);
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        struct obb_layers *fresh = rebuilt(view);
        if (commits == 2) /* and commits may go on */
            tick(scene, 2, "c:2.25");
        ck_assert_int_eq(obb_scene_rebase(scene, fresh), OBB_OK);
        obb_view_close(view);
        ck_assert(obb_scene_validate(scene));
        ck_assert_uint_eq(check_pairs(scene), 3);
    }
    obb_scene_destroy(scene);
}
END_TEST

/* ---- One writer, several readers ------------------------------------------------------------- */

enum { READERS = 3, SLOTS = 6, CROWD = 60 };

/* Views go from the writer to a reader and back to be closed. */
struct crew {
    _Atomic(struct obb_view *) given[SLOTS], back[SLOTS];
    uint64_t expected[SLOTS]; /* what the writer saw in it */
    atomic_bool stop;
    atomic_size_t looked, wrong;
};

/* All that a view shows, by every way to it, in one number; 0 when the ways disagree. */
static uint64_t digest(const struct obb_view *view)
{
    uint64_t sum = 1;
    size_t boxes = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)), boxes++) {
        if (obb_view_find(view, obb_view_name(box)) != box ||
            obb_view_find_id(view, obb_view_id(box)) != box)
            return 0;
        const obb_attributes attributes = obb_view_attributes(box);
        if (attributes.entity.length > 0 &&
            obb_view_entity(view, attributes.entity) != obb_version_extras(box)->entity)
            return 0;
        const obb_box pose = obb_view_pose(view, box);
        uint64_t bits;
        memcpy(&bits, &pose.center.x, sizeof bits);
        sum = (sum ^ bits ^ obb_view_id(box)) * 0x9e3779b97f4a7c15u + attributes.data.length;
    }
    if (boxes != obb_view_info_get(view)->boxes || visible(view) != boxes)
        return 0;
    return sum | 1;
}

static void *read_views(void *context)
{
    struct crew *crew = context;
    size_t looked = 0, wrong = 0;
    while (!atomic_load_explicit(&crew->stop, memory_order_acquire))
        for (int i = 0; i < SLOTS; i++) {
            struct obb_view *view =
                atomic_exchange_explicit(&crew->given[i], NULL, memory_order_acquire);
            if (view == NULL)
                continue;
            for (int again = 0; again < 3; again++, looked++)
                wrong += digest(view) != crew->expected[i];
            atomic_store_explicit(&crew->back[i], view, memory_order_release);
        }
    atomic_fetch_add(&crew->looked, looked);
    atomic_fetch_add(&crew->wrong, wrong);
    return NULL;
}

/* Puts, poses, teleports and now and then a removal. */
static void any_line(test_rng *rng, char *line, size_t size)
{
    size_t used = (size_t)snprintf(line, size, "? ");
    for (int i = 0; i < 12; i++) {
        const char *sign = test_below(rng, 100) < 5 ? "-" : test_below(rng, 4) == 0 ? "+" : "";
        used += (size_t)snprintf(line + used, size - used, "%sb%d%s%d ", sign,
                                 (int)test_below(rng, CROWD), test_below(rng, 5) == 0 ? "!" : ":",
                                 (int)test_below(rng, 1000));
    }
}

START_TEST(readers_see_one_state_while_the_writer_commits)
{
    struct crew *crew = calloc(1, sizeof *crew);
    ck_assert_ptr_nonnull(crew);
    struct obb_scene *scene = tick_scene(20, 12);
    test_rng rng = {.s = 20261120};
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_views, crew), 0);
    bool lent[SLOTS] = {false};
    size_t commits = 0, discarded = 0, opened = 0, between = 0;
    while (commits < test_effort(4000) ||
           opened < 200) { /* readers may get little of the machine */
        char line[1024];
        any_line(&rng, line, sizeof line);
        struct obb_arena arena;
        obb_arena_init(&arena);
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        obb_committed done;
        ck_assert_int_eq(tick_prepare(scene, 0, (double)commits, line, &arena, &prepared, &fault),
                         OBB_OK);
        if (test_below(&rng, 10) == 0) {
            obb_edit_discard(prepared);
            discarded++;
        } else {
            obb_edit_commit(prepared, &done);
        }
        obb_arena_fini(&arena);
        commits++;
        const size_t i = test_below(&rng, SLOTS);
        struct obb_view *view =
            atomic_exchange_explicit(&crew->back[i], NULL, memory_order_acquire);
        if (view != NULL) {
            obb_view_close(view);
            lent[i] = false;
        }
        if (lent[i])
            continue;
        const obb_at at = {.kind = OBB_AT_AGO,
                           .time = (double)test_below(&rng, 8) * 0.5,
                           .clamp = true,
                           .no_interpolation = test_below(&rng, 4) == 0};
        ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
        between += view->alpha > 0.0;
        opened++;
        crew->expected[i] = digest(view);
        ck_assert(crew->expected[i] != 0);
        lent[i] = true;
        atomic_store_explicit(&crew->given[i], view, memory_order_release);
    }
    for (int i = 0; i < SLOTS; i++) /* let every view be read */
        while (lent[i]) {
            struct obb_view *view =
                atomic_exchange_explicit(&crew->back[i], NULL, memory_order_acquire);
            if (view == NULL) {
                (void)sched_yield();
                continue;
            }
            obb_view_close(view);
            lent[i] = false;
        }
    atomic_store_explicit(&crew->stop, true, memory_order_release);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(atomic_load(&crew->wrong), 0);
    ck_assert_uint_eq(atomic_load(&crew->looked), 3 * opened);
    ck_assert_uint_gt(between, 5);
    ck_assert(obb_scene_validate(scene));
    printf("threads: %zu commits (%zu discarded), %zu views read 3 times by %d readers, "
           "%zu of them between two commits\n",
           commits, discarded, opened, READERS, between);
    obb_scene_destroy(scene);
    free(crew);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scene");
    TCase *model = tcase_create("model");
    tcase_set_timeout(model, test_patience(120));
    test_starts_no_thread(model);
    tcase_add_test(model, random_commits_and_views_agree_with_the_model);
    suite_add_tcase(suite, model);
    TCase *tc = tcase_create("scene");
    tcase_set_timeout(tc, test_patience(60));
    test_starts_no_thread(tc);
    tcase_add_test(tc, an_entity_is_one_interned_string_in_every_state);
    tcase_add_test(tc, a_broad_phase_rebuilt_from_a_view_replaces_the_mended_one);
    tcase_add_test(tc, a_rebuild_that_comes_after_an_import_is_dropped);
    tcase_add_test(tc, a_state_that_changed_nothing_but_settings_can_be_rebuilt);
    suite_add_tcase(suite, tc);
    TCase *readers = tcase_create("readers");
    tcase_set_timeout(readers, test_patience(60));
    tcase_add_test(readers, readers_see_one_state_while_the_writer_commits);
    suite_add_tcase(suite, readers);
    return test_main(suite);
}
