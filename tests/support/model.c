#include "tests/support/model.h"

#include "core/geometry/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *block)
{
    if (block == NULL)
        abort();
    return block;
}

static model_state copy_of(const model_state *state, size_t more)
{
    model_state copy = *state;
    copy.boxes = checked(malloc((state->count + more + 1) * sizeof *copy.boxes));
    if (state->count > 0)
        memcpy(copy.boxes, state->boxes, state->count * sizeof *copy.boxes);
    return copy;
}

static model_state copy_with_frames(const model_state *state, size_t more, size_t more_frames)
{
    model_state copy = copy_of(state, more);
    copy.frames = checked(malloc((state->frame_count + more_frames + 1) * sizeof *copy.frames));
    if (state->frame_count > 0)
        memcpy(copy.frames, state->frames, state->frame_count * sizeof *copy.frames);
    return copy;
}

void model_state_free(model_state *state)
{
    free(state->boxes);
    free(state->frames);
}

struct model *model_create(const obb_settings *settings, double now_ms)
{
    struct model *model = checked(calloc(1, sizeof *model));
    model->states = checked(calloc(1, sizeof *model->states));
    model->states[0] = (model_state){.settings = *settings};
    model->count = 1;
    model->next_id = 1;
    model->created_ms = now_ms;
    return model;
}

void model_destroy(struct model *model)
{
    for (size_t i = 0; i < model->count; i++)
        model_state_free(&model->states[i]);
    free(model->states);
    free(model);
}

const model_state *model_now(const struct model *model) { return &model->states[model->count - 1]; }

/* ---- Commits --------------------------------------------------------------------------------- */

static model_box *by_target(model_state *state, const obb_target *target)
{
    for (size_t i = 0; i < state->count; i++) {
        model_box *box = &state->boxes[i];
        const obb_str name = {.bytes = box->name, .length = box->name_length};
        if (target->has_id ? box->id == target->id : obb_str_equal(name, target->name))
            return box;
    }
    return NULL;
}

const model_box *model_find(const model_state *state, obb_str name)
{
    for (size_t i = 0; i < state->count; i++) {
        const model_box *box = &state->boxes[i];
        if (obb_str_equal((obb_str){.bytes = box->name, .length = box->name_length}, name))
            return box;
    }
    return NULL;
}

static void remove_at(model_state *state, model_box *box)
{
    const size_t i = (size_t)(box - state->boxes);
    memmove(box, box + 1, (state->count - i - 1) * sizeof *box);
    state->count--;
}

static void put_text(char *place, size_t *length, obb_str text)
{
    if (text.length > 0)
        memcpy(place, text.bytes, text.length);
    *length = text.length;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

model_frame *model_find_frame(const model_state *state, obb_str name)
{
    for (size_t i = 0; i < state->frame_count; i++) {
        model_frame *frame = &state->frames[i];
        if (obb_str_equal((obb_str){.bytes = frame->name, .length = frame->name_length}, name))
            return frame;
    }
    return NULL;
}

static bool stands_in(const model_box *box, const model_frame *frame)
{
    return box->frame_length > 0 && box->frame_length == frame->name_length &&
           memcmp(box->frame, frame->name, frame->name_length) == 0;
}

/* The pose in the scene, in the order of operations that core/geometry/frame.h documents. */
static bool place(const model_frame *frame, model_box *box, int dimensions)
{
    const obb_solid f = obb_solid_from_box(&frame->pose, dimensions);
    const double v[3] = {box->local.center.x, box->local.center.y, box->local.center.z};
    const double c[3] = {f.center.x, f.center.y, f.center.z};
    const double a[3][3] = {{f.axis[0].x, f.axis[0].y, f.axis[0].z},
                            {f.axis[1].x, f.axis[1].y, f.axis[1].z},
                            {f.axis[2].x, f.axis[2].y, f.axis[2].z}};
    double sum[3];
    for (int i = 0; i < 3; i++) {
        double turned = a[0][i] * v[0];
        turned = turned + a[1][i] * v[1];
        turned = turned + a[2][i] * v[2];
        sum[i] = c[i] + turned;
        if (!(fabs(sum[i]) <= OBB_MAX_COORDINATE))
            return false;
        if (sum[i] == 0.0)
            sum[i] = 0.0 * 0.0; /* not -0.0 */
    }
    box->box.center = (obb_vec3){sum[0], sum[1], sum[2]};
    box->box.half_extents = box->local.half_extents;
    if (dimensions == 2) {
        box->box.rotation = box->local.rotation;
        box->box.angle = frame->pose.angle + box->local.angle;
        return isfinite(box->box.angle);
    }
    const obb_quat p = frame->pose.rotation, q = box->local.rotation;
    obb_quat product = {p.w * q.x + p.x * q.w + (p.y * q.z - p.z * q.y),
                        p.w * q.y + p.y * q.w + (p.z * q.x - p.x * q.z),
                        p.w * q.z + p.z * q.w + (p.x * q.y - p.y * q.x),
                        p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z};
    product = (obb_quat){product.x + 0.0, product.y + 0.0, product.z + 0.0, product.w + 0.0};
    return obb_quat_normalise(product, &box->box.rotation) == OBB_OK;
}

static void set_pose(const obb_pose *pose, int dimensions, obb_box *box)
{
    if (pose->has_center)
        box->center = pose->center;
    if (pose->has_rotation && dimensions == 2)
        box->angle = pose->angle;
    else if (pose->has_rotation)
        box->rotation = pose->rotation;
}

static bool same_pose(const obb_box *a, const obb_box *b);

static obb_status make_frame(struct model *model, model_state *state, const obb_pose *pose,
                             size_t room)
{
    const obb_str name = pose->target.name;
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (state->count + state->frame_count >= room)
        return OBB_LIMIT;
    model_frame frame = {.serial = model->next_serial++, .pose.rotation = {0, 0, 0, 1}};
    put_text(frame.name, &frame.name_length, name);
    set_pose(pose, state->settings.dimensions, &frame.pose);
    size_t at = 0;
    for (; at < state->frame_count; at++) { /* byte by byte; a name before those it begins */
        const model_frame *other = &state->frames[at];
        const size_t shorter = name.length < other->name_length ? name.length : other->name_length;
        const int order = memcmp(other->name, name.bytes, shorter);
        if (order > 0 || (order == 0 && other->name_length > name.length))
            break;
    }
    memmove(&state->frames[at + 1], &state->frames[at],
            (state->frame_count - at) * sizeof *state->frames);
    state->frames[at] = frame;
    state->frame_count++;
    return OBB_OK;
}

/* Returns the number of rows up to the last row before row `end` that names the frame; 0: none. */
static size_t rows_up_to_last(const obb_edit *edit, size_t end, obb_str name)
{
    while (end > 0 && !obb_str_equal(edit->frames[end - 1].target.name, name))
        end--;
    return end;
}

/* Moves the frame of row i. Where its boxes stand counts after its last row alone: until then they
 * may be out of range. */
static obb_status move_frame(struct model *model, model_state *state, const obb_edit *edit,
                             size_t i, size_t room, size_t *out_made)
{
    const int dimensions = state->settings.dimensions;
    const obb_pose *pose = &edit->frames[i];
    const bool last = rows_up_to_last(edit, edit->frame_count, pose->target.name) == i + 1;
    model_frame *frame = model_find_frame(state, pose->target.name);
    if (frame == NULL) {
        const obb_status st = make_frame(model, state, pose, room);
        *out_made += st == OBB_OK;
        return st;
    }
    const obb_box before = frame->pose;
    set_pose(pose, dimensions, &frame->pose);
    if (same_pose(&before, &frame->pose) && !frame->unplaced)
        return OBB_OK;
    frame->teleported = frame->teleported || pose->teleport;
    frame->unplaced = false;
    for (size_t k = 0; k < state->count; k++)
        if (stands_in(&state->boxes[k], frame)) {
            frame->unplaced = !place(frame, &state->boxes[k], dimensions) || frame->unplaced;
            state->boxes[k].teleported = state->boxes[k].teleported || pose->teleport;
        }
    return frame->unplaced && last ? OBB_BAD_NUMBER : OBB_OK;
}

/* Returns the status of an edit whose row of a frame is at fault. The rows before it come first,
 * and the boxes of their frames may be at fault. */
static obb_status fault_of_frames(const model_state *state, const obb_edit *edit, obb_status status,
                                  size_t *index)
{
    if (status == OBB_OK || status == OBB_BAD_NUMBER)
        return status;
    for (size_t i = 0; i < *index; i++) {
        const obb_str name = edit->frames[i].target.name;
        const model_frame *frame = model_find_frame(state, name);
        if (frame == NULL || !frame->unplaced)
            continue;
        *index = rows_up_to_last(edit, *index, name) - 1;
        return OBB_BAD_NUMBER;
    }
    return status;
}

static void remove_frame(model_state *state, model_frame *frame, size_t *removed)
{
    for (size_t i = state->count; i-- > 0;)
        if (stands_in(&state->boxes[i], frame)) {
            remove_at(state, &state->boxes[i]);
            ++*removed;
        }
    const size_t i = (size_t)(frame - state->frames);
    memmove(frame, frame + 1, (state->frame_count - i - 1) * sizeof *frame);
    state->frame_count--;
}

/* Gives the box the frame and the pose that a put states. */
static obb_status put_pose(model_state *state, const obb_put *put, model_box *box)
{
    const int dimensions = state->settings.dimensions;
    obb_box *pose = &box->box;
    const model_frame *frame =
        box->frame_length == 0
            ? NULL
            : model_find_frame(state, (obb_str){.bytes = box->frame, .length = box->frame_length});
    if ((put->parts & OBB_PUT_FRAME) != 0) {
        const model_frame *other =
            put->frame.length == 0 ? NULL : model_find_frame(state, put->frame);
        if (other == NULL && put->frame.length > 0)
            return OBB_NO_FRAME;
        if (other != NULL && other != frame &&
            (put->parts & (OBB_PUT_CENTER | OBB_PUT_ROTATION)) !=
                (OBB_PUT_CENTER | OBB_PUT_ROTATION)) {
            const obb_frame f = obb_frame_from_pose(&other->pose, dimensions);
            if (obb_frame_local(&f, &box->box, &box->local) != OBB_OK)
                return OBB_BAD_NUMBER;
        } else if (other != NULL && other != frame) {
            box->local = box->box;
        }
        frame = other;
        put_text(box->frame, &box->frame_length, put->frame);
    }
    if (frame != NULL)
        pose = &box->local;
    if (put->parts & OBB_PUT_CENTER)
        pose->center = put->box.center;
    if (put->parts & OBB_PUT_HALF_EXTENTS)
        pose->half_extents = put->box.half_extents;
    if (put->parts & OBB_PUT_ROTATION) {
        pose->rotation = put->box.rotation;
        pose->angle = put->box.angle;
    }
    return frame == NULL || place(frame, box, dimensions) ? OBB_OK : OBB_BAD_NUMBER;
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

static void renew(model_box *box, double time) { box->since = box->has_ttl ? time : 0.0; }

static obb_status put(struct model *model, model_state *state, const obb_put *put, size_t room,
                      uint64_t *out_new_id)
{
    model_box *box = by_target(state, &put->target);
    *out_new_id = 0;
    if (box == NULL) {
        if (put->parts != OBB_PUT_ALL || put->target.has_id)
            return OBB_NO_BOX;
        if (!obb_name_valid(put->target.name))
            return OBB_BAD_NAME;
        if (state->count + state->frame_count >= room)
            return OBB_LIMIT;
        box = &state->boxes[state->count++];
        memset(box, 0, sizeof *box);
        box->id = model->next_id++;
        put_text(box->name, &box->name_length, put->target.name);
        *out_new_id = box->id;
    }
    const obb_status st = put_pose(state, put, box);
    if (st != OBB_OK)
        return st;
    if (put->parts & OBB_PUT_CATEGORY)
        box->category = put->attributes.category;
    if (put->parts & OBB_PUT_MASK)
        box->mask = put->attributes.mask;
    if (put->parts & OBB_PUT_GROUP)
        box->group = put->attributes.group;
    if (put->parts & OBB_PUT_ENTITY)
        put_text(box->entity, &box->entity_length, put->attributes.entity);
    if (put->parts & OBB_PUT_DATA)
        put_text(box->data, &box->data_length, put->attributes.data);
    if (put->parts & OBB_PUT_TTL) {
        box->has_ttl = put->attributes.has_ttl;
        box->ttl = box->has_ttl ? put->attributes.ttl : 0.0;
    }
    renew(box, state->time);
    return OBB_OK;
}

/* Returns put i: of columns it is `rest`, but what has a column is as its row says. */
static obb_put put_of(const obb_edit *edit, size_t i)
{
    if (edit->puts != NULL)
        return edit->puts[i];
    const obb_put_columns *columns = edit->put_columns;
    obb_put put = columns->rest;
    obb_attributes *a = &put.attributes;
    put.target.name = columns->names[i];
    columns->make_boxes(columns->maker, i, 1, &put.box);
    put.frame = columns->frames != NULL ? columns->frames[i] : put.frame;
    a->entity = columns->entities != NULL ? columns->entities[i] : a->entity;
    a->category = columns->categories != NULL ? columns->categories[i] : a->category;
    a->mask = columns->masks != NULL ? columns->masks[i] : a->mask;
    a->group = columns->groups != NULL ? columns->groups[i] : a->group;
    if (columns->ttls != NULL) {
        a->has_ttl = columns->ttls[i] >= 0.0;
        a->ttl = columns->ttls[i];
    }
    return put;
}

static obb_status pose(model_state *state, const obb_pose *pose)
{
    model_box *box = by_target(state, &pose->target);
    if (box == NULL)
        return OBB_NO_BOX;
    const int dimensions = state->settings.dimensions;
    box->teleported = box->teleported || pose->teleport;
    renew(box, state->time);
    if (box->frame_length == 0) {
        set_pose(pose, dimensions, &box->box);
        return OBB_OK;
    }
    set_pose(pose, dimensions, &box->local);
    const obb_str frame = {.bytes = box->frame, .length = box->frame_length};
    return place(model_find_frame(state, frame), box, dimensions) ? OBB_OK : OBB_BAD_NUMBER;
}

static obb_status turn(model_state *state, const obb_transform_edit *turn)
{
    model_box *box = by_target(state, &turn->target);
    if (box == NULL)
        return OBB_NO_BOX;
    if (box->frame_length > 0)
        return OBB_FRAMED;
    obb_box turned;
    const obb_status st =
        obb_box_transform(&box->box, &turn->transform, state->settings.dimensions, &turned);
    if (st == OBB_OK)
        box->box = turned;
    return st;
}

static obb_status merge(model_state *state, const obb_merge *merge, size_t *out_member)
{
    model_box *box = by_target(state, &merge->target);
    *out_member = OBB_FAULT_TARGET;
    if (box == NULL)
        return OBB_NO_BOX;
    if (box->frame_length > 0)
        return OBB_FRAMED;
    obb_box *others = checked(malloc((merge->with_count + 1) * sizeof *others));
    size_t count = 0;
    for (size_t i = 0; i < merge->with_count; i++) {
        const model_box *other = by_target(state, &merge->with[i]);
        if (other == NULL) {
            *out_member = i;
            free(others);
            return OBB_NO_BOX;
        }
        bool again = other == box;
        for (size_t k = 0; k < i; k++)
            again = again || by_target(state, &merge->with[k]) == other;
        if (!again)
            others[count++] = other->box;
    }
    obb_box merged;
    const obb_status st =
        obb_fit_merge(&box->box, others, count, state->settings.dimensions, NULL, &merged);
    free(others);
    if (st == OBB_OK)
        box->box = merged;
    return st;
}

/* One entry of a group on the state; *out_skipped: it names a box that is not there, which was to
 * be ignored. */
static obb_status entry(struct model *model, model_state *state, const obb_edit *edit, size_t room,
                        obb_fault *fault, uint64_t *new_ids, obb_committed *counts)
{
    const size_t i = fault->index;
    obb_status st = OBB_OK;
    if (fault->group == OBB_GROUP_REMOVE) {
        model_box *box = by_target(state, &edit->removes[i]);
        if (box == NULL)
            return edit->remove_must_exist ? OBB_NO_BOX : OBB_OK;
        remove_at(state, box);
        counts->removed++;
    } else if (fault->group == OBB_GROUP_REMOVE_FRAMES) {
        model_frame *frame = model_find_frame(state, edit->remove_frames[i]);
        if (frame == NULL)
            return edit->remove_frame_must_exist ? OBB_NO_FRAME : OBB_OK;
        remove_frame(state, frame, &counts->removed);
        counts->removed_frames++;
    } else if (fault->group == OBB_GROUP_FRAMES) {
        st = move_frame(model, state, edit, i, room, &counts->made_frames);
        st = fault_of_frames(state, edit, st, &fault->index);
    } else if (fault->group == OBB_GROUP_PUT) {
        uint64_t new_id = 0;
        const obb_put stated = put_of(edit, i);
        st = put(model, state, &stated, room, &new_id);
        if (st == OBB_OK && edit->all_put_ids)
            new_id = by_target(state, &stated.target)->id;
        if (new_ids != NULL)
            new_ids[i] = new_id;
        counts->put++;
    } else if (fault->group == OBB_GROUP_POSE) {
        st = pose(state, &edit->poses[i]);
        counts->posed += st == OBB_OK;
    } else if (fault->group == OBB_GROUP_TRANSFORM) {
        st = turn(state, &edit->transforms[i]);
        counts->transformed += st == OBB_OK;
    } else {
        return merge(state, &edit->merges[i], &fault->member);
    }
    const bool may_miss = fault->group == OBB_GROUP_POSE || fault->group == OBB_GROUP_TRANSFORM;
    if (st == OBB_NO_BOX && may_miss && edit->ignore_missing) {
        counts->missed++;
        return OBB_OK;
    }
    return st;
}

static obb_status apply(struct model *model, model_state *state, const obb_edit *edit, size_t room,
                        obb_fault *fault, uint64_t *new_ids, obb_committed *counts)
{
    const struct {
        obb_group group;
        size_t count;
    } groups[] = {
        {OBB_GROUP_REMOVE, edit->remove_count}, {OBB_GROUP_REMOVE_FRAMES, edit->remove_frame_count},
        {OBB_GROUP_FRAMES, edit->frame_count},  {OBB_GROUP_PUT, edit->put_count},
        {OBB_GROUP_POSE, edit->pose_count},     {OBB_GROUP_TRANSFORM, edit->transform_count},
        {OBB_GROUP_MERGE, edit->merge_count},
    };
    if (edit->replace_all) {
        counts->removed += state->count;
        counts->removed_frames += state->frame_count;
        state->count = state->frame_count = 0;
    }
    for (size_t i = 0; i < state->count && !edit->replace_all && !edit->restart;) {
        const model_box *box = &state->boxes[i];
        if (box->has_ttl && box->since + box->ttl <= state->time) {
            remove_at(state, &state->boxes[i]);
            counts->expired++;
        } else {
            i++;
        }
    }
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            *fault = (obb_fault){.group = groups[g].group, .index = i};
            const obb_status st = entry(model, state, edit, room, fault, new_ids, counts);
            if (st != OBB_OK)
                return st;
        }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

static bool same_text(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length == b_length && (a_length == 0 || memcmp(a, b, a_length) == 0);
}

/* Bit for bit. */
static bool same_pose(const obb_box *a, const obb_box *b)
{
    const double p[] = {a->center.x,       a->center.y,       a->center.z,   a->half_extents.x,
                        a->half_extents.y, a->half_extents.z, a->rotation.x, a->rotation.y,
                        a->rotation.z,     a->rotation.w,     a->angle};
    const double q[] = {b->center.x,       b->center.y,       b->center.z,   b->half_extents.x,
                        b->half_extents.y, b->half_extents.z, b->rotation.x, b->rotation.y,
                        b->rotation.z,     b->rotation.w,     b->angle};
    for (size_t i = 0; i < sizeof p / sizeof p[0]; i++) {
        uint64_t x, y;
        memcpy(&x, &p[i], sizeof x);
        memcpy(&y, &q[i], sizeof y);
        if (x != y)
            return false;
    }
    return true;
}

static bool same_box(const model_box *a, const model_box *b)
{
    return a->id == b->id && same_pose(&a->box, &b->box) && a->category == b->category &&
           a->mask == b->mask && a->group == b->group &&
           same_text(a->entity, a->entity_length, b->entity, b->entity_length) &&
           same_text(a->data, a->data_length, b->data, b->data_length) &&
           same_text(a->frame, a->frame_length, b->frame, b->frame_length) &&
           (a->frame_length == 0 || same_pose(&a->local, &b->local)) && a->has_ttl == b->has_ttl &&
           !(a->ttl < b->ttl || a->ttl > b->ttl || a->since < b->since || a->since > b->since);
}

static bool same_frame(const model_frame *a, const model_frame *b)
{
    return a->serial == b->serial && same_pose(&a->pose, &b->pose);
}

static bool same_content(const model_state *a, const model_state *b)
{
    if (a->count != b->count || a->frame_count != b->frame_count ||
        a->settings.dimensions != b->settings.dimensions ||
        a->settings.history_span != b->settings.history_span ||
        a->settings.history_commits != b->settings.history_commits)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_box(&a->boxes[i], &b->boxes[i]))
            return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (!same_frame(&a->frames[i], &b->frames[i]))
            return false;
    return true;
}

static void forget_before(struct model *model, size_t first)
{
    for (size_t i = 0; i < first; i++)
        model_state_free(&model->states[i]);
    model->count -= first;
    memmove(model->states, model->states + first, model->count * sizeof *model->states);
}

/* A state is kept while a time within `span` needs it and it is among the newest
 * `commits` + 1. */
static void forget(struct model *model)
{
    const model_state *now = model_now(model);
    const double since = now->until - now->settings.history_span;
    size_t gone = 0;
    while (gone + 1 < model->count &&
           (model->count - gone > (size_t)now->settings.history_commits + 1 ||
            model->states[gone + 1].time <= since))
        gone++;
    forget_before(model, gone);
}

obb_status model_commit(struct model *model, const obb_edit *edit, double now_ms, size_t box_room,
                        obb_committed *out, uint64_t *out_new_ids, obb_fault *out_fault)
{
    model_state *now = &model->states[model->count - 1];
    const obb_settings settings = edit->settings != NULL ? *edit->settings : now->settings;
    *out = (obb_committed){.moment = {now->revision, now->until}};
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE};
    if (edit->dimensions != settings.dimensions ||
        (settings.dimensions != now->settings.dimensions && now->count + now->frame_count > 0 &&
         !edit->replace_all))
        return OBB_DIMENSIONS;
    const bool earlier = edit->has_time && model->has_committed && edit->time < now->until;
    if (earlier && !edit->replace_all && !edit->restart) {
        out_fault->group = OBB_GROUP_TIME;
        return OBB_TIME_BACKWARDS;
    }
    if (edit->has_if_revision && edit->if_revision != now->revision) {
        out_fault->group = OBB_GROUP_IF_REVISION;
        return OBB_REVISION;
    }

    for (size_t i = 0; i < edit->if_box_count; i++) {
        const model_box *box = by_target(now, &edit->if_boxes[i].target);
        const uint64_t asked = edit->if_boxes[i].revision;
        if (box == NULL ? asked == 0
                        : asked != 0 && box->changed <= asked && asked <= now->revision)
            continue;
        *out_fault = (obb_fault){.group = OBB_GROUP_IF_BOX, .index = i};
        return OBB_REVISION;
    }

    model_state next = copy_with_frames(now, edit->put_count, edit->frame_count);
    next.settings = settings;
    for (size_t i = 0; i < next.count; i++)
        next.boxes[i].teleported = false;
    for (size_t i = 0; i < next.frame_count; i++)
        next.frames[i].teleported = false;
    double time = now->until;
    if (edit->has_time)
        time = earlier && !edit->restart ? now->until : edit->time;
    else if (!model->time_stated)
        time = fmax(now->until, now_ms - model->created_ms);
    next.time = time;
    const uint64_t next_id = model->next_id;
    const obb_status st = apply(model, &next, edit, now->count + now->frame_count + box_room,
                                out_fault, out_new_ids, out);
    if (st != OBB_OK) {
        model->next_id = next_id;
        model_state_free(&next);
        return st;
    }

    const bool changed = edit->replace_all || edit->restart || !same_content(now, &next);
    if (!changed && !edit->has_time)
        time = now->until;
    if (edit->has_time && !model->has_committed) /* the first may state any */
        now->time = now->until = time;
    if (changed) {
        next.revision = now->revision + 1;
        for (size_t i = 0; i < next.count; i++) {
            const model_box *before = NULL;
            for (size_t k = 0; k < now->count && before == NULL; k++)
                before = now->boxes[k].id == next.boxes[i].id ? &now->boxes[k] : NULL;
            if (before == NULL || !same_box(before, &next.boxes[i]))
                next.boxes[i].changed = next.revision;
            if (edit->restart || next.boxes[i].changed == next.revision)
                renew(&next.boxes[i], time);
        }
        next.time = next.until = time;
        model->states = checked(realloc(model->states, (model->count + 1) * sizeof *model->states));
        model->states[model->count++] = next;
        if (edit->restart) /* the new state stands alone */
            forget_before(model, model->count - 1);
    } else {
        now->until = time;
        model_state_free(&next);
    }
    model->has_committed = model->has_committed || changed || edit->has_time;
    model->time_stated = model->time_stated || edit->has_time;
    forget(model);
    out->changed = changed;
    out->restarted = edit->restart;
    out->moment = (obb_moment){model_now(model)->revision, time};
    return OBB_OK;
}

/* ---- The past -------------------------------------------------------------------------------- */

/* Poses of `state` on the way to `later`; what that one removes stands, what it makes is not there
 * yet. */
static void interpolate(model_state *state, const model_state *later, double share)
{
    for (size_t i = 0; i < state->count; i++) {
        model_box *box = &state->boxes[i];
        for (size_t k = 0; k < later->count; k++)
            if (later->boxes[k].id == box->id && !later->boxes[k].teleported)
                box->box = obb_box_interpolate(&box->box, &later->boxes[k].box, share,
                                               state->settings.dimensions);
    }
    for (size_t i = 0; i < state->frame_count; i++) {
        model_frame *frame = &state->frames[i];
        for (size_t k = 0; k < later->frame_count; k++)
            if (later->frames[k].serial == frame->serial && !later->frames[k].teleported)
                frame->pose = obb_box_interpolate(&frame->pose, &later->frames[k].pose, share,
                                                  state->settings.dimensions);
    }
}

obb_status model_open(const struct model *model, const obb_at *at, model_state *out,
                      obb_view_info *out_info, obb_moment *out_oldest, obb_moment *out_newest)
{
    const model_state *first = &model->states[0], *last = model_now(model);
    *out_oldest = (obb_moment){first->revision, first->time};
    *out_newest = (obb_moment){last->revision, last->until};
    obb_at asked = *at;
    if (asked.kind == OBB_AT_AGO) {
        asked.kind = OBB_AT_TIME;
        asked.time = last->until - at->time;
    }
    *out_info = (obb_view_info){.now = *out_newest};
    const model_state *found = last;
    double time = last->until, share = 0.0;
    const bool by_time = asked.kind == OBB_AT_TIME, by_revision = asked.kind == OBB_AT_REVISION;
    const bool before =
        by_time ? asked.time < first->time : by_revision && asked.revision < first->revision;
    const bool after =
        by_time ? asked.time > last->until : by_revision && asked.revision > last->revision;
    if ((before || after) && !asked.clamp)
        return OBB_GONE;
    out_info->clamped = before || after;
    if (before && by_time)
        asked.time = first->time;
    if (before && by_revision) {
        found = first;
        time = first->time;
    } else if (!after && by_revision) {
        found = &model->states[asked.revision - first->revision];
        time = found->until;
    } else if (!after && by_time) {
        for (const model_state *s = first; s <= last; s++)
            if (s->time <= asked.time)
                found = s;
        time = asked.time;
        if (asked.no_interpolation)
            time = asked.time >= found->until ? found->until : found->time;
        else if (asked.time > found->until)
            share = (asked.time - found->until) / (found[1].time - found->until);
    }
    *out = copy_with_frames(found, 0, 0);
    if (share > 0.0)
        interpolate(out, found + 1, share);
    out_info->at = (obb_moment){found->revision, time};
    out_info->dimensions = found->settings.dimensions;
    out_info->boxes = found->count;
    out_info->frames = found->frame_count;
    return OBB_OK;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static const char *frames_difference(const model_state *state, const struct obb_view *view)
{
    if (obb_view_info_get(view)->frames != state->frame_count)
        return "the view counts other frames";
    obb_str after = {.length = 0};
    for (size_t i = 0; i < state->frame_count; i++) {
        const model_frame *frame = &state->frames[i];
        const obb_str name = {.bytes = frame->name, .length = frame->name_length};
        const struct obb_version *version = obb_view_find_frame(view, name);
        if (version == NULL || !obb_str_equal(obb_view_name(version), name))
            return "a frame is not found by its name";
        if (obb_view_next_frame(view, after, true) != version ||
            obb_view_next_frame(view, name, false) != version)
            return "the walk by name comes to another frame";
        const obb_box pose = obb_view_frame_pose(view, version);
        if (!same_pose(&pose, &frame->pose))
            return "the pose of a frame differs";
        after = name;
    }
    return obb_view_next_frame(view, after, true) == NULL ? NULL
                                                          : "the walk by name finds one more";
}

const char *model_difference(const model_state *state, const struct obb_view *view,
                             size_t *looked_at)
{
    if (obb_view_info_get(view)->boxes != state->count)
        return "the view counts other boxes";
    uint64_t after = 0;
    for (size_t i = 0; i < state->count; i++, (*looked_at)++) {
        const model_box *box = &state->boxes[i];
        const obb_str name = {.bytes = box->name, .length = box->name_length};
        const struct obb_version *version = obb_view_find(view, name);
        if (version == NULL)
            return "a box is not found by its name";
        if (obb_view_id(version) != box->id || !obb_str_equal(obb_view_name(version), name))
            return "a name finds another box";
        if (obb_view_find_id(view, box->id) != version)
            return "id and name find different boxes";
        if (obb_view_next(view, after) != version)
            return "the walk by id comes to another box";
        const obb_box pose = obb_view_pose(view, version);
        if (!same_pose(&pose, &box->box))
            return "a pose differs";
        if (obb_view_changed(version) != box->changed)
            return "another commit changed a box last";
        const obb_attributes a = obb_view_attributes(version);
        if (a.category != box->category || a.mask != box->mask || a.group != box->group ||
            !same_text(a.entity.bytes, a.entity.length, box->entity, box->entity_length) ||
            !same_text(a.data.bytes, a.data.length, box->data, box->data_length))
            return "attributes differ";
        if (a.has_ttl != box->has_ttl || a.ttl < box->ttl || a.ttl > box->ttl)
            return "a ttl differs";
        const double since = obb_view_since(view, version);
        if (box->has_ttl && (since < box->since || since > box->since))
            return "a ttl counts from another time";
        obb_str frame = {.length = 0};
        obb_box local;
        if (obb_view_local(version, &frame, &local) != (box->frame_length > 0) ||
            !same_text(frame.bytes, frame.length, box->frame, box->frame_length))
            return "a frame differs";
        if (frame.length > 0 && !same_pose(&local, &box->local))
            return "a pose in a frame differs";
        after = box->id;
    }
    return obb_view_next(view, after) == NULL ? frames_difference(state, view)
                                              : "the walk by id finds one box more";
}
