/* Reads the input as commits to a scene. They put, move, teleport, turn and remove one or many
 * boxes at a time, or replace all boxes; and they make, move and remove frames that boxes stand in.
 * In some inputs the clock starts anew now and then, also at an earlier time; in some, puts are in
 * columns. Rebuilds of the broad phase run between commits and end some commits after their begin.
 * Some inputs apply commits first, and publish or revert them later. After each commit the
 * published state equals the slow model, its broad phase is valid, and queries find the same boxes
 * as brute force. */
#include "core/index/layers.h"
#include "core/query/query.h"
#include "core/scene/scene_check.h"
#include "core/scene/view_inside.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/boxes.h"
#include "tests/support/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 400, COMMITS = 60, ENTRIES = 64, FRAMES = 6, FRAME_ENTRIES = 4, TAIL = 4 };
#define STEP 16.0 /* the time between two commits */

static double coordinate(struct fuzz_input *s, double scale)
{
    return ((double)fuzz_next(s) - 128) * scale;
}

static obb_vec3 place(struct fuzz_input *s)
{
    static const double scales[] = {0.125, 0.125, 0.03125, 1, 0, 1e-7, 1e5, 7e6};
    const double scale = scales[fuzz_next(s) % 8];
    const double x = coordinate(s, scale), y = coordinate(s, scale);
    return (obb_vec3){x, y, coordinate(s, scale)};
}

static obb_vec3 extents(struct fuzz_input *s)
{
    static const double sizes[] = {0.5, 0, 1, 2, 0.25, 1e-6, 30, 1e6};
    const int which = fuzz_next(s), more = fuzz_next(s);
    return (obb_vec3){sizes[which % 8], sizes[which / 8 % 8], sizes[more % 8]};
}

static obb_quat rotation(struct fuzz_input *s)
{
    obb_quat q = {coordinate(s, 1), coordinate(s, 1), coordinate(s, 1), coordinate(s, 1)}, out;
    return obb_quat_normalise(q, &out) == OBB_OK ? out : (obb_quat){0, 0, 0, 1};
}

static char box_names[NAMES][8];

/* One commit, and what its edit points to. */
struct commit {
    obb_edit edit;
    obb_put puts[ENTRIES];
    obb_pose poses[ENTRIES];
    obb_target removes[ENTRIES];
    obb_pose frames[FRAME_ENTRIES];
    obb_str removed_frames[FRAME_ENTRIES];
    bool framed;   /* the input has frames: its last byte is even */
    bool restarts; /* commits may restart the clock: the last byte but two says so */
    bool columnar; /* puts are in columns: the last byte but three says so */
    obb_put_columns columns;
    obb_str names[ENTRIES], framed_in[ENTRIES];
    obb_box boxes[ENTRIES];
    double ttls[ENTRIES];
    double time;
    struct obb_arena arena;
    struct obb_prepared *prepared;
    obb_committed done;
};

static obb_str frame_name(int which)
{
    static const char *const names[FRAMES] = {"a", "ab", "b", "c", "d", "e"};
    return obb_str_of(names[which % FRAMES]);
}

static void read_entry(struct fuzz_input *s, struct commit *c, obb_target target)
{
    obb_edit *edit = &c->edit;
    switch (fuzz_next(s) % 8) {
    case 0:
    case 1:
    case 2: {
        obb_put put = {.target = target,
                       .parts = OBB_PUT_ALL,
                       .attributes = {.category = 1, .mask = UINT32_MAX}};
        const obb_vec3 center = place(s), half = extents(s);
        const int in = c->framed ? fuzz_next(s) : 1;
        if (in % 4 == 0)
            put.frame = frame_name(in / 4);
        if (in % 8 == 5) {
            put.attributes.has_ttl = true;
            /* NOLINTNEXTLINE(bugprone-integer-division) */
            put.attributes.ttl = 8.0 * (in / 8);
        }
        if (in % 32 == 31)
            put.parts = 1 + (unsigned)fuzz_next(s) * 2 % OBB_PUT_ALL;
        if (obb_box_from_pose(center, half, rotation(s), 0, 3, &put.box) == OBB_OK &&
            edit->put_count < ENTRIES)
            c->puts[edit->put_count++] = put;
        break;
    }
    case 3:
        if (edit->remove_count < ENTRIES)
            c->removes[edit->remove_count++] = target;
        break;
    default: {
        const int how = fuzz_next(s);
        obb_pose pose = {.target = target,
                         .has_center = how % 4 != 0,
                         .has_rotation = how % 4 <= 1,
                         .teleport = how % 16 > 11};
        pose.center = place(s);
        pose.rotation = rotation(s);
        if (edit->pose_count < ENTRIES)
            c->poses[edit->pose_count++] = pose;
    }
    }
}

/* Frames that are made or moved, and now and then one that goes. */
static void read_frames(struct fuzz_input *s, struct commit *c)
{
    const int how = fuzz_next(s);
    c->edit.frame_count = (size_t)(how % (FRAME_ENTRIES + 1));
    for (size_t i = 0; i < c->edit.frame_count; i++) {
        const int which = fuzz_next(s);
        c->frames[i] = (obb_pose){.target = {.name = frame_name(which / 8)},
                                  .has_center = which % 4 != 0,
                                  .has_rotation = which % 4 <= 1,
                                  .teleport = which % 8 > 5,
                                  .center = place(s),
                                  .rotation = rotation(s)};
    }
    if (how / 16 == 3)
        c->removed_frames[c->edit.remove_frame_count++] = frame_name(how);
}

/* Now and then the clock starts anew, up to seven commits earlier. */
static void read_restart(struct fuzz_input *s, struct commit *c)
{
    const int how = fuzz_next(s);
    c->edit.restart = how % 8 == 7;
    if (c->edit.restart)
        c->edit.time -= STEP * (how / 8 % 8);
}

/* Turns the puts into columns, unless one of them states some parts only. Members that are the same
 * in all puts have no column. */
static void make_columns(struct commit *c)
{
    obb_edit *edit = &c->edit;
    bool whole = edit->put_count > 0, differ = true, same_frame = true, same_ttl = true;
    const obb_put *first = &c->puts[0];
    for (size_t i = 0; i < edit->put_count; i++) {
        const obb_put *put = &c->puts[i];
        c->names[i] = put->target.name;
        c->boxes[i] = put->box;
        c->framed_in[i] = put->frame;
        c->ttls[i] = put->attributes.has_ttl ? put->attributes.ttl : -1.0;
        whole = whole && put->parts == OBB_PUT_ALL;
        same_frame = same_frame && obb_str_equal(put->frame, first->frame);
        same_ttl = same_ttl && c->ttls[i] == c->ttls[0];
        for (size_t k = 0; k < i; k++)
            differ = differ && !obb_str_equal(c->names[k], c->names[i]);
    }
    if (!whole)
        return;
    c->columns = (obb_put_columns){.rest = *first,
                                   .names = c->names,
                                   .make_boxes = boxes_copy,
                                   .maker = c->boxes,
                                   .frames = same_frame ? NULL : c->framed_in,
                                   .ttls = same_ttl ? NULL : c->ttls};
    edit->puts = NULL;
    edit->put_columns = &c->columns;
    edit->puts_differ = differ;
}

static void read_commit(struct fuzz_input *s, struct commit *c, double time)
{
    c->time = time;
    c->edit = (obb_edit){.dimensions = 3,
                         .has_time = true,
                         .time = time,
                         .ignore_missing = true,
                         .removes = c->removes,
                         .puts = c->puts,
                         .poses = c->poses,
                         .frames = c->frames,
                         .remove_frames = c->removed_frames};
    if (c->restarts)
        read_restart(s, c);
    if (c->framed)
        read_frames(s, c);
    const int how = fuzz_next(s), count = 1 + how % 8;
    c->edit.replace_all = how / 8 == 31 && !c->edit.restart; /* no request asks for both */
    for (int i = 0; i < count; i++) {
        const int first = fuzz_next(s) * 2 % NAMES, many = fuzz_next(s);
        /* A run of boxes that all take the same bytes, but for where they are; or one. */
        const int run = many % 8 == 0 ? 1 + many / 8 : 1;
        for (int k = 0; k < run; k++) {
            struct fuzz_input same = *s;
            const int which = (first + k) % NAMES;
            const obb_target target = {.name = obb_str_of(box_names[which])};
            const size_t puts = c->edit.put_count;
            read_entry(k + 1 < run ? &same : s, c, target);
            if (c->edit.put_count > puts)
                c->puts[puts].box.center.x += 0.75 * k;
        }
    }
    if (c->columnar)
        make_columns(c);
}

/* What the view's queries say, against every pair and every box. */
static void ask(const struct obb_view *view, const model_state *state, struct fuzz_input *s)
{
    obb_solid *solids = calloc(state->count + 1, sizeof *solids);
    fuzz_check(solids != NULL, "memory");
    for (size_t i = 0; i < state->count; i++)
        solids[i] = obb_solid_from_box(&state->boxes[i].box, 3);

    const obb_filter filter = {.category = UINT32_MAX, .mask = UINT32_MAX};
    const obb_query pairs = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = 3,
                             .limit = SIZE_MAX,
                             .max_distance = HUGE_VAL,
                             .filter = filter};
    struct obb_plan *plan;
    fuzz_check(obb_plan_create(view, &pairs, NULL, NULL, &plan) == OBB_OK &&
                   obb_plan_run(plan) == OBB_OK,
               "all pairs");
    const obb_result *result = obb_plan_result(plan);
    size_t at = 0;
    for (size_t i = 0; i < state->count; i++)
        for (size_t k = i + 1; k < state->count; k++) {
            if (!obb_sat_overlap(&solids[i], &solids[k]))
                continue;
            fuzz_check(at < result->pair_count &&
                           obb_view_id(result->pairs[at].a) == state->boxes[i].id &&
                           obb_view_id(result->pairs[at].b) == state->boxes[k].id,
                       "a pair is missing, or one too many");
            at++;
        }
    fuzz_check(at == result->pair_count, "pairs too many");
    obb_plan_destroy(plan);

    obb_ray ray;
    const obb_vec3 from = place(s), to = place(s);
    if (obb_ray_make(from, obb_sub(to, from), HUGE_VAL, &ray) == OBB_OK) {
        const obb_query rays = {.kind = OBB_QUERY_RAY,
                                .dimensions = 3,
                                .count = 1,
                                .items.rays = &ray,
                                .limit = 1,
                                .max_distance = HUGE_VAL,
                                .filter = filter};
        double nearest = HUGE_VAL;
        uint64_t id = 0;
        for (size_t i = 0; i < state->count; i++) {
            obb_ray_hit hit;
            if (obb_ray_cast(&ray, &solids[i], OBB_INSIDE_HIT, &hit) && hit.distance < nearest) {
                nearest = hit.distance;
                id = state->boxes[i].id;
            }
        }
        fuzz_check(obb_plan_create(view, &rays, NULL, NULL, &plan) == OBB_OK &&
                       obb_plan_run(plan) == OBB_OK,
                   "a ray");
        const obb_answer *answer = &obb_plan_result(plan)->answers[0];
        fuzz_check(id == 0 ? answer->hit_count == 0
                           : answer->hit_count == 1 && obb_view_id(answer->hits[0].box) == id &&
                                 answer->hits[0].distance == nearest,
                   "another box is hit first");
        obb_plan_destroy(plan);
    }
    free(solids);
}

/* The service rebuilds what has decayed, at times of its own. */
struct rebuilding {
    struct obb_view *view; /* NULL: none is under way */
    struct obb_layers *fresh;
};

static void begin_rebuild(struct rebuilding *r, struct obb_scene *scene)
{
    struct obb_rebuild *rebuild;
    fuzz_check(obb_view_open(scene, NULL, &r->view, NULL, NULL) == OBB_OK &&
                   obb_view_rebuild(r->view, NULL, &rebuild) == OBB_OK &&
                   obb_rebuild_finish(rebuild, &r->fresh) == OBB_OK,
               "a rebuild");
}

static void end_rebuild(struct rebuilding *r, struct obb_scene *scene)
{
    fuzz_check(obb_scene_rebase(scene, r->fresh) == OBB_OK, "a rebuild that ends");
    obb_view_close(r->view);
    r->view = NULL;
}

/* 0: at once, or the end of one that is under way. 1: begins one. 2: ends it. */
static void rebuild(struct rebuilding *r, struct obb_scene *scene, int how)
{
    if (r->view == NULL && how <= 1)
        begin_rebuild(r, scene);
    if (r->view != NULL && (how == 0 || how == 2))
        end_rebuild(r, scene);
}

/* The scene, its model, and the commits that are applied and not published: the model gets a commit
 * when it is published. */
struct match {
    struct obb_scene *scene;
    struct model *model;
    struct commit *commits; /* a ring of TAIL */
    size_t first, count;
    struct rebuilding rebuilding;
};

static struct commit *commit_at(struct match *m, size_t i)
{
    return &m->commits[(m->first + i) % TAIL];
}

/* Gives the model a commit that readers of the scene see from now on, or that was refused. */
static void tell_model(struct match *m, const struct commit *c, obb_status status)
{
    obb_committed expected;
    obb_fault fault;
    fuzz_check(status == model_commit(m->model, &c->edit, c->time, NAMES, &expected, NULL, &fault),
               "another status than the model's");
    if (status != OBB_OK)
        return;
    fuzz_check(c->done.changed == expected.changed && c->done.restarted == expected.restarted &&
                   c->done.removed == expected.removed && c->done.expired == expected.expired &&
                   c->done.put == expected.put && c->done.posed == expected.posed &&
                   c->done.removed_frames == expected.removed_frames &&
                   c->done.made_frames == expected.made_frames,
               "another answer than the model's");
}

static void publish(struct match *m)
{
    struct commit *c = commit_at(m, 0);
    obb_edit_publish(c->prepared);
    tell_model(m, c, OBB_OK);
    m->first++;
    m->count--;
}

static void revert(struct match *m) { obb_edit_revert(commit_at(m, --m->count)->prepared); }

/* Reads a commit, and makes it. If `held`, it only becomes part of the tail, and commits of the
 * tail are published or reverted. */
static void make(struct match *m, struct fuzz_input *s, double time, bool held)
{
    struct commit *c = commit_at(m, m->count);
    obb_fault fault;
    read_commit(s, c, time);
    obb_arena_reset(&c->arena);
    const obb_status status =
        obb_edit_prepare(m->scene, &c->edit, time, NAMES, &c->arena, &c->prepared, &fault);
    const int how = held ? fuzz_next(s) : 0;
    if (status == OBB_OK && how % 2 == 1)
        obb_edit_seal(c->prepared);
    if (status == OBB_OK && held) {
        obb_edit_apply(c->prepared, &c->done);
        m->count++;
    } else {
        if (status == OBB_OK)
            obb_edit_commit(c->prepared, &c->done);
        if (m->count == 0) /* otherwise the model is not where the commit was judged */
            tell_model(m, c, status);
    }
    for (int i = how / 2 % 4; i > 0 && m->count > 0; i--)
        publish(m);
    for (int i = how / 8 % 4; i > 0 && m->count > 0; i--)
        revert(m);
    if (m->count == TAIL)
        publish(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct commit commits[TAIL]; /* large */
    for (size_t i = 0; i < NAMES; i++)
        (void)snprintf(box_names[i], sizeof box_names[i], "%zu", i);
    struct fuzz_input s = {.bytes = bytes, .left = length};
    const bool held = length > 1 && bytes[length - 2] % 4 == 3;
    const obb_settings settings = {.dimensions = 3, .history_span = 40, .history_commits = 4};
    struct match m = {.model = model_create(&settings, 0), .commits = commits};
    fuzz_check(obb_scene_create(obb_str_of("fuzz"), &settings, 0, NULL, &m.scene) == OBB_OK,
               "a scene");
    for (size_t i = 0; i < TAIL; i++) {
        commits[i].framed = length > 0 && bytes[length - 1] % 2 == 0;
        commits[i].restarts = length > 2 && bytes[length - 3] % 8 == 5;
        commits[i].columnar = length > 3 && bytes[length - 4] % 4 == 1;
        obb_arena_init(&commits[i].arena);
    }
    for (int n = 1; n <= COMMITS && s.left > 0; n++) {
        make(&m, &s, STEP * n, held);
        rebuild(&m.rebuilding, m.scene, fuzz_next(&s) % 8);
        struct obb_view *view;
        fuzz_check(obb_view_open(m.scene, NULL, &view, NULL, NULL) == OBB_OK, "a view");
        fuzz_check(obb_layers_validate(view->layers, view->revision),
                   "a broad phase that is not valid");
        size_t looked_at = 0;
        const char *difference = model_difference(model_now(m.model), view, &looked_at);
        fuzz_check(difference == NULL, difference);
        fuzz_check(obb_scene_validate(m.scene), "a scene that is not valid");
        ask(view, model_now(m.model), &s);
        obb_view_close(view);
    }
    rebuild(&m.rebuilding, m.scene, 2);
    while (m.count > 0)
        revert(&m);
    fuzz_check(obb_scene_validate(m.scene), "a scene that is not valid without its tail");
    for (size_t i = 0; i < TAIL; i++)
        obb_arena_fini(&commits[i].arena);
    obb_scene_destroy(m.scene);
    model_destroy(m.model);
    return 0;
}
