#include "proto/request/edit_problem.h"

#include "proto/problem/detail.h"
#include "proto/problem/pointer.h"
#include "proto/request/value.h"

#include <inttypes.h>

static void point_at_target(struct wire_pointer *pointer, const char *group,
                            const obb_target *target)
{
    wire_pointer_key(pointer, obb_str_of(group));
    wire_pointer_key(pointer, target->name);
}

static void point_at_row(struct wire_pointer *pointer, const char *group, const char *column,
                         size_t row)
{
    wire_pointer_key(pointer, obb_str_of(group));
    wire_pointer_key(pointer, obb_str_of(column));
    wire_pointer_index(pointer, row);
}

/* Points at row i of the puts in columns, or at its frame: that may be one for all rows. */
static void point_at_put_row(struct wire_pointer *pointer, obb_status status, const obb_edit *edit,
                             size_t i)
{
    if (status != OBB_NO_FRAME) {
        point_at_row(pointer, "put", "names", i);
        return;
    }
    wire_pointer_key(pointer, obb_str_of("put"));
    wire_pointer_key(pointer, obb_str_of("frames"));
    if (edit->put_columns->frames != NULL)
        wire_pointer_index(pointer, i);
}

/* The parts of a transform. */
enum part { MATRIX, SCALE, ROTATE, TRANSLATE };

/* Returns the part of a transform that core refused. If the new box leaves the range, the part is
 * the one that is applied last, of those that were sent. */
static enum part part_at_fault(obb_status status, const obb_transform *t)
{
    if (t->has_matrix)
        return MATRIX;
    if (status == OBB_SHEARED || status == OBB_SINGULAR)
        return SCALE;
    return t->has_translate ? TRANSLATE : t->has_rotate ? ROTATE : SCALE;
}

static void point_at_part(struct wire_pointer *pointer, obb_status status,
                          const obb_transform_edit *change)
{
    static const char *const names[] = {
        [MATRIX] = "matrix", [SCALE] = "scale", [ROTATE] = "rotate", [TRANSLATE] = "translate"};
    if (wire_problem_of(status).status == 422)
        wire_pointer_key(pointer, obb_str_of(names[part_at_fault(status, &change->transform)]));
}

/* Returns the part of a transform as a detail shows it. */
static const char *show_part(obb_status status, const obb_transform *t, int dimensions,
                             struct obb_arena *arena)
{
    const enum part part = part_at_fault(status, t);
    if (part == MATRIX || part == ROTATE)
        return part == MATRIX ? "a matrix" : "a rotation";
    const obb_vec3 v = part == SCALE ? t->scale : t->translate;
    return wire_detail(arena, "[%s,%s%s%s]", wire_show_number(v.x).text, wire_show_number(v.y).text,
                       dimensions == 3 ? "," : "",
                       dimensions == 3 ? wire_show_number(v.z).text : "");
}

/* Appends the entry of a commit that the fault names. */
static void point_at_entry(struct wire_pointer *pointer, obb_status status, const obb_fault *fault,
                           const wire_edit_form *form, bool has_if_revision, const obb_edit *edit)
{
    const size_t i = fault->index;
    obb_put put;
    switch (fault->group) {
    case OBB_GROUP_TIME:
        wire_pointer_key(pointer, obb_str_of("time"));
        break;
    case OBB_GROUP_IF_REVISION:
        if (has_if_revision) /* otherwise it was a header of HTTP */
            wire_pointer_key(pointer, obb_str_of("if_revision"));
        break;
    case OBB_GROUP_IF_BOX:
        point_at_target(pointer, "if_box", &edit->if_boxes[i].target);
        break;
    case OBB_GROUP_REMOVE:
        wire_pointer_key(pointer, obb_str_of("remove"));
        wire_pointer_index(pointer, i);
        break;
    case OBB_GROUP_REMOVE_FRAMES:
        wire_pointer_key(pointer, obb_str_of("remove_frames"));
        wire_pointer_index(pointer, i);
        break;
    case OBB_GROUP_FRAMES:
        if (form->frame_names)
            point_at_row(pointer, "frames", "names", i);
        else
            point_at_target(pointer, "frames", &edit->frames[i].target);
        break;
    case OBB_GROUP_PUT:
        if (form->put_columns) {
            point_at_put_row(pointer, status, edit, i);
        } else {
            point_at_target(pointer, "put", &obb_edit_put_without_box(edit, i, &put)->target);
            if (status == OBB_NO_FRAME)
                wire_pointer_key(pointer, obb_str_of("frame"));
        }
        break;
    case OBB_GROUP_POSE:
        if (form->pose_names || form->pose_ids)
            point_at_row(pointer, "pose", form->pose_names ? "names" : "ids", i);
        else
            point_at_target(pointer, "pose", &edit->poses[i].target);
        break;
    case OBB_GROUP_TRANSFORM:
        point_at_target(pointer, "transform", &edit->transforms[i].target);
        point_at_part(pointer, status, &edit->transforms[i]);
        break;
    case OBB_GROUP_MOMENT:
        wire_pointer_key(pointer, obb_str_of("queries"));
        wire_pointer_index(pointer, i);
        if (edit->moments[i].times != NULL) {
            wire_pointer_key(pointer, obb_str_of("rays"));
            wire_pointer_key(pointer, obb_str_of("times"));
            wire_pointer_index(pointer, fault->member);
        } else if (status == OBB_GONE || edit->moments[i].at.kind != OBB_AT_NOW) {
            wire_pointer_key(pointer, obb_str_of("at"));
        }
        break;
    case OBB_GROUP_MERGE: /* a commit has no merges */
    case OBB_GROUP_NONE:
        break;
    }
}

/* Returns the box that the fault names, or NULL. *scratch holds a put of columns. */
static const obb_target *target_of(const obb_fault *fault, const obb_edit *edit, obb_put *scratch)
{
    const size_t i = fault->index;
    switch (fault->group) {
    case OBB_GROUP_REMOVE:
        return &edit->removes[i];
    case OBB_GROUP_FRAMES:
        return &edit->frames[i].target;
    case OBB_GROUP_PUT:
        return &obb_edit_put_without_box(edit, i, scratch)->target;
    case OBB_GROUP_POSE:
        return &edit->poses[i].target;
    case OBB_GROUP_TRANSFORM:
        return &edit->transforms[i].target;
    case OBB_GROUP_MERGE:
        return fault->member < edit->merges[i].with_count ? &edit->merges[i].with[fault->member]
                                                          : &edit->merges[i].target;
    case OBB_GROUP_NONE:
    case OBB_GROUP_TIME:
    case OBB_GROUP_IF_REVISION:
    case OBB_GROUP_IF_BOX:
    case OBB_GROUP_REMOVE_FRAMES:
    case OBB_GROUP_MOMENT:
        break;
    }
    return NULL;
}

static wire_problem problem_of_no_box(const obb_fault *fault, const obb_edit *edit,
                                      struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_NO_BOX);
    obb_put put;
    const obb_target *target = target_of(fault, edit, &put);
    if (target != NULL && !target->has_id)
        return wire_problem_of_name(OBB_NO_BOX, target->name, arena);
    if (target != NULL)
        problem.detail = wire_detail(arena, "there is no box of the id %" PRIu64, target->id);
    return problem;
}

static wire_problem problem_of_no_frame(const obb_fault *fault, const obb_edit *edit,
                                        struct obb_arena *arena)
{
    const size_t i = fault->index;
    obb_put put;
    return wire_problem_of_name(OBB_NO_FRAME,
                                fault->group == OBB_GROUP_PUT
                                    ? obb_edit_put_without_box(edit, i, &put)->frame
                                    : edit->remove_frames[i],
                                arena);
}

/* The detail of a box that its frame places out of range. */
static const char *beyond_range(const obb_fault *fault, const obb_edit *edit,
                                struct obb_arena *arena)
{
    obb_put put;
    const obb_target *target = target_of(fault, edit, &put);
    const char *const rule =
        "coordinates in the scene are at most 1e9 in magnitude, and angles finite";
    if (target == NULL)
        return rule;
    return fault->group == OBB_GROUP_FRAMES
               ? wire_detail(arena, "found a pose of %s with which a box in it is out of range; %s",
                             wire_show(target->name).text, rule)
               : wire_detail(arena, "found a pose that its frame places out of range; %s", rule);
}

/* Returns the problem without its pointer. */
static wire_problem problem_of(obb_status status, const obb_fault *fault, const obb_edit *edit,
                               struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(status);
    obb_put put;
    const bool transforms = fault->group == OBB_GROUP_TRANSFORM;
    if (status == OBB_NO_BOX)
        return problem_of_no_box(fault, edit, arena);
    if (status == OBB_NO_FRAME)
        return problem_of_no_frame(fault, edit, arena);
    if (status == OBB_FRAMED)
        problem.detail =
            wire_detail(arena, "found %s, which stands in a frame; %s",
                        wire_show(target_of(fault, edit, &put)->name).text, problem.detail);
    if (status == OBB_BAD_NUMBER && fault->group != OBB_GROUP_NONE && !transforms &&
        fault->group != OBB_GROUP_MERGE)
        problem.detail = beyond_range(fault, edit, arena);
    if (status == OBB_GONE) {
        const obb_at at = obb_needed_at(&edit->moments[fault->index], fault->member);
        return wire_problem_of_gone(&at, fault->oldest, fault->newest, arena);
    }
    if (fault->group == OBB_GROUP_IF_BOX)
        return wire_problem_of_if_box(edit->if_boxes[fault->index].target.name, fault->changed,
                                      edit->if_boxes[fault->index].revision, arena);
    if (status == OBB_REVISION)
        return wire_problem_of_revision(
            &fault->newest.revision, obb_str_of(wire_detail(arena, "%" PRIu64, edit->if_revision)),
            arena);
    if (status == OBB_DIMENSIONS && fault->group == OBB_GROUP_MOMENT) {
        const obb_needed_moment *moment = &edit->moments[fault->index];
        const obb_at at = obb_needed_at(moment, fault->member);
        return wire_problem_of_past_dimensions(&at, fault->dimensions, moment->dimensions, arena);
    }
    if (status == OBB_DIMENSIONS)
        return wire_problem_of_dimensions(fault->dimensions, edit->dimensions, arena);
    if (status == OBB_TIME_BACKWARDS)
        problem.detail = wire_detail(
            arena,
            "found %s; the last commit is of %s, and a time is not before it unless \"restart\" is "
            "true",
            wire_show_number(edit->time).text, wire_show_number(fault->newest.time).text);
    if (problem.status != 422 || (!transforms && fault->group != OBB_GROUP_MERGE))
        return problem;
    const char *rule = problem.detail, *found;
    if (status == OBB_BAD_NUMBER)
        rule = "the box would reach beyond coordinates or half extents of 1e9";
    if (transforms) {
        const obb_transform_edit change = edit->transforms[fault->index];
        if (change.transform.has_matrix && wire_matrix_detail(status) != NULL)
            rule = wire_matrix_detail(status);
        found = show_part(status, &change.transform, edit->dimensions, arena);
    } else {
        found =
            wire_detail(arena, "%zu boxes to merge with", edit->merges[fault->index].with_count);
    }
    problem.detail = wire_detail(arena, "found %s; %s", found, rule);
    return problem;
}

wire_problem wire_problem_of_with(obb_status status, const obb_fault *fault, const obb_query *query,
                                  size_t index, struct obb_arena *arena)
{
    const wire_with *with = (const wire_with *)(const void *)query->with;
    wire_problem problem = problem_of(status, fault, &with->edit, arena);
    struct wire_pointer pointer = {.length = 0};
    if (index != SIZE_MAX) {
        wire_pointer_key(&pointer, obb_str_of("queries"));
        wire_pointer_index(&pointer, index);
    }
    wire_pointer_key(&pointer, obb_str_of("with"));
    point_at_entry(&pointer, status, fault, &with->form, false, &with->edit);
    problem.pointer = wire_pointer_take(&pointer, arena);
    problem.has_tag = query->has_tag;
    problem.tag = query->tag;
    return problem;
}

wire_problem wire_problem_of_edit(obb_status status, const obb_fault *fault,
                                  const wire_commit *commit, const obb_edit *edit,
                                  struct obb_arena *arena)
{
    if (fault->of_with)
        return wire_problem_of_with(status, fault, &commit->queries[fault->moment], fault->moment,
                                    arena);
    wire_problem problem = problem_of(status, fault, edit, arena);
    struct wire_pointer pointer = {.length = 0};
    if (commit != NULL) {
        point_at_entry(&pointer, status, fault, &commit->form, commit->edit.has_if_revision, edit);
    } else if (fault->group == OBB_GROUP_TRANSFORM) {
        point_at_part(&pointer, status, &edit->transforms[fault->index]);
    } else if (edit->replace_all &&
               (fault->group == OBB_GROUP_FRAMES || fault->group == OBB_GROUP_PUT)) {
        /* an import: the header is line 0, frames come before boxes */
        wire_pointer_index(&pointer, 1 + fault->index +
                                         (fault->group == OBB_GROUP_PUT ? edit->frame_count : 0));
        if (status == OBB_NO_FRAME)
            wire_pointer_key(&pointer, obb_str_of("frame"));
    } else if (status == OBB_NO_FRAME && fault->group == OBB_GROUP_PUT) {
        wire_pointer_key(&pointer, obb_str_of("frame"));
    } else if (fault->group == OBB_GROUP_MERGE && problem.status == 422) {
        wire_pointer_key(&pointer, obb_str_of("with"));
    } else if (fault->group == OBB_GROUP_MERGE && status == OBB_NO_BOX &&
               fault->member < edit->merges[fault->index].with_count) {
        wire_pointer_key(&pointer, obb_str_of("with"));
        wire_pointer_index(&pointer, fault->member);
    }
    /* The pose of a single box or frame is the whole body: its pointer is empty. */
    if (pointer.length > 0 || (problem.status == 422 && fault->group != OBB_GROUP_NONE))
        problem.pointer = wire_pointer_take(&pointer, arena);
    if (commit != NULL && fault->group == OBB_GROUP_MOMENT && fault->index < commit->query_count) {
        problem.has_tag = commit->queries[fault->index].has_tag;
        problem.tag = commit->queries[fault->index].tag;
    }
    return problem;
}
