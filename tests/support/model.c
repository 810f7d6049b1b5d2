#include "tests/support/model.h"

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

void model_state_free(model_state *state) { free(state->boxes); }

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

/* ---- Commits ------------------------------------------------------------------------------------------------- */

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
        if (state->count >= room)
            return OBB_LIMIT;
        box = &state->boxes[state->count++];
        memset(box, 0, sizeof *box);
        box->id = model->next_id++;
        put_text(box->name, &box->name_length, put->target.name);
        *out_new_id = box->id;
    }
    if (put->parts & OBB_PUT_CENTER)
        box->box.center = put->box.center;
    if (put->parts & OBB_PUT_HALF_EXTENTS)
        box->box.half_extents = put->box.half_extents;
    if (put->parts & OBB_PUT_ROTATION) {
        box->box.rotation = put->box.rotation;
        box->box.angle = put->box.angle;
    }
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
    return OBB_OK;
}

static obb_status pose(model_state *state, const obb_pose *pose)
{
    model_box *box = by_target(state, &pose->target);
    if (box == NULL)
        return OBB_NO_BOX;
    if (pose->has_center)
        box->box.center = pose->center;
    if (pose->has_rotation && state->settings.dimensions == 2)
        box->box.angle = pose->angle;
    else if (pose->has_rotation)
        box->box.rotation = pose->rotation;
    box->teleported = box->teleported || pose->teleport;
    return OBB_OK;
}

static obb_status turn(model_state *state, const obb_transform_edit *turn)
{
    model_box *box = by_target(state, &turn->target);
    if (box == NULL)
        return OBB_NO_BOX;
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

/* One entry of a group on the state; *out_skipped: it names a box that is not there, which was to be ignored. */
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
    } else if (fault->group == OBB_GROUP_PUT) {
        uint64_t new_id = 0;
        st = put(model, state, &edit->puts[i], room, &new_id);
        if (st == OBB_OK && edit->all_put_ids)
            new_id = by_target(state, &edit->puts[i].target)->id;
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
        {OBB_GROUP_REMOVE, edit->remove_count}, {OBB_GROUP_PUT, edit->put_count},
        {OBB_GROUP_POSE, edit->pose_count},     {OBB_GROUP_TRANSFORM, edit->transform_count},
        {OBB_GROUP_MERGE, edit->merge_count},
    };
    if (edit->replace_all) {
        counts->removed += state->count;
        state->count = 0;
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
    return a_length == b_length && memcmp(a, b, a_length) == 0;
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
           same_text(a->data, a->data_length, b->data, b->data_length);
}

static bool same_content(const model_state *a, const model_state *b)
{
    if (a->count != b->count || a->settings.dimensions != b->settings.dimensions ||
        a->settings.history_span != b->settings.history_span ||
        a->settings.history_commits != b->settings.history_commits)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_box(&a->boxes[i], &b->boxes[i]))
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

/* api.md section 10: a state is kept while a time within `span` needs it and it is among the newest `commits` + 1. */
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
        (settings.dimensions != now->settings.dimensions && now->count > 0 && !edit->replace_all))
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

    model_state next = copy_of(now, edit->put_count);
    next.settings = settings;
    for (size_t i = 0; i < next.count; i++)
        next.boxes[i].teleported = false;
    const uint64_t next_id = model->next_id;
    const obb_status st =
        apply(model, &next, edit, now->count + box_room, out_fault, out_new_ids, out);
    if (st != OBB_OK) {
        model->next_id = next_id;
        model_state_free(&next);
        return st;
    }

    const bool changed = edit->replace_all || edit->restart || !same_content(now, &next);
    double time = now->until;
    if (edit->has_time)
        time = earlier && !edit->restart ? now->until : edit->time;
    else if (changed && !model->time_stated)
        time = fmax(now->until, now_ms - model->created_ms);
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

/* ---- The past ------------------------------------------------------------------------------------------------- */

/* Poses of `state` on the way to `later`; what that one removes stands, what it makes is not there yet. */
static void interpolate(model_state *state, const model_state *later, double share)
{
    for (size_t i = 0; i < state->count; i++) {
        model_box *box = &state->boxes[i];
        for (size_t k = 0; k < later->count; k++)
            if (later->boxes[k].id == box->id && !later->boxes[k].teleported)
                box->box = obb_box_interpolate(&box->box, &later->boxes[k].box, share,
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
    *out = copy_of(found, 0);
    if (share > 0.0)
        interpolate(out, found + 1, share);
    out_info->at = (obb_moment){found->revision, time};
    out_info->dimensions = found->settings.dimensions;
    out_info->boxes = found->count;
    return OBB_OK;
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

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
        after = box->id;
    }
    return obb_view_next(view, after) == NULL ? NULL : "the walk by id finds one box more";
}
