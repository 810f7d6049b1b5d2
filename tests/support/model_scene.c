#include "tests/support/model_scene.h"

#include "core/geometry/frame.h"

#include <stdio.h>
#include <string.h>

#define TICK 16.0 /* a power of two, so that shares of the way between two commits are exact */

void model_scene_init(struct model_scene *model, uint64_t seed, int dimensions, double spread)
{
    *model = (struct model_scene){.rng = {.s = seed},
                                  .framed = true,
                                  .rig_rng = {.s = seed + 1},
                                  .dimensions = dimensions,
                                  .spread = spread,
                                  .state_count = 1};
    model->states = calloc(1, sizeof *model->states);
    const obb_settings settings = {
        .dimensions = dimensions, .history_span = 1e9, .history_commits = 1000};
    ck_assert_int_eq(obb_scene_create(obb_str_of("model"), &settings, 0.0, NULL, &model->scene),
                     OBB_OK);
}

void model_scene_fini(struct model_scene *model)
{
    obb_scene_destroy(model->scene);
    for (size_t i = 0; i < model->state_count; i++)
        free(model->states[i].boxes);
    free(model->states);
}

const model_state *model_scene_newest(const struct model_scene *model)
{
    return &model->states[model->state_count - 1];
}

static double random_extent(test_rng *rng)
{
    if (test_below(rng, 20) == 0)
        return 0.0;
    return test_below(rng, 20) == 0 ? test_uniform(rng, 2.0, 6.0) : test_uniform(rng, 0.1, 1.0);
}

static obb_vec3 random_center(struct model_scene *model)
{
    const double s = model->spread;
    obb_vec3 c = {test_uniform(&model->rng, -s, s), test_uniform(&model->rng, -s, s),
                  model->dimensions == 3 ? test_uniform(&model->rng, -s, s) : 0.0};
    if (test_below(&model->rng, 4) == 0) /* on a grid: neighbours touch exactly */
        c = (obb_vec3){floor(c.x), floor(c.y), floor(c.z)};
    return c;
}

static void turn(struct model_scene *model, obb_quat *rotation, double *angle)
{
    test_rng *rng = &model->rng;
    const bool upright = test_below(rng, 3) == 0;
    *rotation = (obb_quat){0.0, 0.0, 0.0, 1.0};
    *angle = 0.0;
    if (model->dimensions == 2) {
        *angle = upright ? 0.0 : test_uniform(rng, -180.0, 180.0);
    } else if (!upright) {
        const obb_quat q = {test_uniform(rng, -1, 1), test_uniform(rng, -1, 1),
                            test_uniform(rng, -1, 1), test_uniform(rng, 0.1, 1)};
        ck_assert_int_eq(obb_quat_normalise(q, rotation), OBB_OK);
    }
}

model_box model_scene_random_box(struct model_scene *model)
{
    test_rng *rng = &model->rng;
    model_box b = {.category = 1u << test_below(rng, 4),
                   .mask = (uint32_t)test_below(rng, 16),
                   .group = (int32_t)test_below(rng, 5) - 2};
    if (test_below(rng, 2) == 0)
        b.mask = UINT32_MAX;
    if (test_below(rng, 2) == 0)
        (void)snprintf(b.entity, sizeof b.entity, "e%zu", test_below(rng, 6));
    obb_vec3 center = random_center(model);
    obb_vec3 half = {random_extent(rng), random_extent(rng),
                     model->dimensions == 3 ? random_extent(rng) : 0.0};
    if (test_below(rng, 4) == 0) {
        half.x = half.y = 0.5;
        half.z = model->dimensions == 3 ? 0.5 : 0.0;
    }
    obb_quat rotation;
    double angle;
    turn(model, &rotation, &angle);
    ck_assert_int_eq(obb_box_from_pose(center, half, rotation, angle, model->dimensions, &b.box),
                     OBB_OK);
    return b;
}

static const char *const rig_names[MODEL_RIGS] = {"rig-0", "rig-1", "rig-2", "rig-3"};

static obb_put put_of(const model_box *b)
{
    return (obb_put){.target = {.name = obb_str_of(b->name)},
                     .parts = OBB_PUT_ALL,
                     .box = b->rig > 0 ? b->local : b->box,
                     .frame = obb_str_of(b->rig > 0 ? rig_names[b->rig - 1] : ""),
                     .attributes = {.category = b->category,
                                    .mask = b->mask,
                                    .group = b->group,
                                    .entity = obb_str_of(b->entity)}};
}

static bool same_vector(obb_vec3 a, obb_vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static bool same_pose(const obb_box *a, const obb_box *b)
{
    return same_vector(a->center, b->center) && same_vector(a->half_extents, b->half_extents) &&
           a->rotation.x == b->rotation.x && a->rotation.y == b->rotation.y &&
           a->rotation.z == b->rotation.z && a->rotation.w == b->rotation.w && a->angle == b->angle;
}

/* Makes or moves the rigs, and adds their poses to the edit. out_teleported has one flag a rig. */
static void move_rigs(struct model_scene *model, bool all, bool some, obb_edit *edit,
                      obb_pose *poses, bool *out_teleported)
{
    struct model_scene draw = *model; /* what boxes are drawn stays as it is without rigs */
    draw.rng = model->rig_rng;
    for (int i = 0; i < MODEL_RIGS; i++) {
        out_teleported[i] = false;
        if (!all && (!some || test_below(&draw.rng, 2) == 0))
            continue;
        obb_pose pose = {.target = {.name = obb_str_of(rig_names[i])},
                         .center = random_center(&draw),
                         .has_center = true,
                         .has_rotation = true,
                         .teleport = test_below(&draw.rng, 4) == 0};
        turn(&draw, &pose.rotation, &pose.angle);
        model->rigs[i] =
            (obb_box){.center = pose.center, .rotation = pose.rotation, .angle = pose.angle};
        out_teleported[i] = pose.teleport;
        poses[edit->frame_count++] = pose;
    }
    edit->frames = poses;
    model->rig_rng = draw.rng;
}

/* Computes the box in the scene of a box that stands in a rig. */
static void place(const struct model_scene *model, model_box *b)
{
    if (b->rig == 0)
        return;
    const obb_frame frame = obb_frame_from_pose(&model->rigs[b->rig - 1], model->dimensions);
    ck_assert_int_eq(obb_frame_place(&frame, &b->local, &b->box), OBB_OK);
}

void model_scene_commit(struct model_scene *model, size_t put, size_t moved)
{
    test_rng *rng = &model->rng;
    const model_state *old = model_scene_newest(model);
    obb_target *removes = calloc(old->count + 1, sizeof *removes);
    obb_put *puts = calloc(old->count + put, sizeof *puts);
    obb_pose *poses = calloc(old->count + 1, sizeof *poses);
    obb_edit edit = {.dimensions = model->dimensions,
                     .has_time = true,
                     .time = (double)model->state_count * TICK,
                     .removes = removes,
                     .puts = puts,
                     .poses = poses};
    model_state next = {.revision = model->state_count,
                        .time = edit.time,
                        .boxes = calloc(old->count + put, sizeof *next.boxes)};
    obb_pose rigs[MODEL_RIGS];
    bool teleported[MODEL_RIGS];
    move_rigs(model, model->framed && model->state_count == 1, model->framed && moved > 0, &edit,
              rigs, teleported);
    const double share = old->count > 0 ? (double)moved / (double)old->count : 0.0;
    for (size_t i = 0; i < old->count; i++) {
        model_box b = old->boxes[i];
        const double lot = test_uniform(rng, 0.0, 1.0);
        const obb_box before = b.box;
        const bool jumped = b.rig > 0 && teleported[b.rig - 1];
        place(model, &b);
        b.interpolated = !jumped && !same_pose(&before, &b.box);
        if (lot < share) {
            obb_box *posed = b.rig > 0 ? &b.local : &b.box;
            obb_pose *pose = &poses[edit.pose_count++];
            *pose = (obb_pose){.has_center = true,
                               .has_rotation = test_below(rng, 2) == 0,
                               .teleport = test_below(rng, 4) == 0,
                               .center = random_center(model),
                               .rotation = posed->rotation,
                               .angle = posed->angle};
            if (test_below(rng, 2) == 0)
                pose->target = (obb_target){.id = b.id, .has_id = true};
            else
                pose->target.name = obb_str_of(old->boxes[i].name);
            if (pose->has_rotation)
                turn(model, &pose->rotation, &pose->angle);
            posed->center = pose->center;
            posed->rotation = pose->rotation;
            posed->angle = pose->angle;
            place(model, &b);
            b.interpolated = !jumped && !pose->teleport && !same_pose(&before, &b.box);
        } else if (lot < share * 1.1) {
            const model_box fresh = model_scene_random_box(model);
            b.box = fresh.box;
            b.rig = 0; /* a put without a frame takes the box out */
            b.category = fresh.category;
            b.mask = fresh.mask;
            b.group = fresh.group;
            memcpy(b.entity, fresh.entity, sizeof b.entity);
            b.interpolated = !jumped && !same_pose(&before, &b.box);
        } else if (lot < share * 1.2) {
            removes[edit.remove_count++] = (obb_target){.name = obb_str_of(old->boxes[i].name)};
            continue;
        }
        next.boxes[next.count++] = b;
        if (lot >= share && lot < share * 1.1) /* the name must stay where it is */
            puts[edit.put_count++] = put_of(&next.boxes[next.count - 1]);
    }
    const size_t replaced = edit.put_count;
    for (size_t i = 0; i < put; i++) {
        model_box b = model_scene_random_box(model);
        (void)snprintf(b.name, sizeof b.name, "%s-%zu", test_below(rng, 2) == 0 ? "wall" : "crate",
                       model->named++);
        if (model->framed && test_below(&model->rig_rng, 8) == 0) {
            b.rig = 1 + (int)test_below(&model->rig_rng, MODEL_RIGS);
            b.local = b.box;
            place(model, &b);
        }
        next.boxes[next.count++] = b;
        puts[edit.put_count++] = put_of(&next.boxes[next.count - 1]);
    }

    struct obb_arena arena = {0};
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(model->scene, &edit, 0.0, 1000000, &arena, &prepared, &fault),
                     OBB_OK);
    obb_committed committed;
    obb_edit_commit(prepared, &committed);
    ck_assert(committed.changed);
    ck_assert_uint_eq(committed.moment.revision, next.revision);
    for (size_t i = 0; i < put; i++)
        next.boxes[next.count - put + i].id = committed.new_ids[replaced + i];
    obb_arena_fini(&arena);
    if (next.revision == 1) /* what comes before the first commit has no time of its own */
        model->states[0].time = next.time;
    free(removes);
    free(puts);
    free(poses);
    model->states = realloc(model->states, (model->state_count + 1) * sizeof *model->states);
    model->states[model->state_count++] = next;
}

model_state model_scene_between(const struct model_scene *model, size_t revision, double alpha)
{
    const model_state *from = &model->states[revision];
    model_state state = {.revision = from->revision,
                         .time = from->time + alpha * TICK,
                         .boxes = calloc(from->count + 1, sizeof *state.boxes),
                         .count = from->count};
    for (size_t i = 0; i < from->count; i++) {
        state.boxes[i] = from->boxes[i];
        if (alpha == 0.0)
            continue;
        const model_state *to = &model->states[revision + 1];
        for (size_t k = 0; k < to->count; k++)
            if (to->boxes[k].id == from->boxes[i].id && to->boxes[k].interpolated)
                state.boxes[i].box = obb_box_interpolate(&from->boxes[i].box, &to->boxes[k].box,
                                                         alpha, model->dimensions);
    }
    return state;
}

struct obb_view *model_scene_view(const struct model_scene *model, size_t revision, double alpha)
{
    const model_state *state = &model->states[revision];
    const obb_at by_revision = {.kind = OBB_AT_REVISION, .revision = state->revision};
    const obb_at by_time = {.kind = OBB_AT_TIME, .time = state->time + alpha * TICK};
    struct obb_view *view;
    ck_assert_int_eq(
        obb_view_open(model->scene, alpha == 0.0 ? &by_revision : &by_time, &view, NULL, NULL),
        OBB_OK);
    const obb_view_info *info = obb_view_info_get(view);
    ck_assert_uint_eq(info->at.revision, state->revision);
    ck_assert_double_eq(info->at.time, state->time + alpha * TICK);
    ck_assert_uint_eq(info->boxes, state->count);
    return view;
}
