#include "proto/request/edit_problem.h"

#include "proto/problem/pointer.h"
#include "proto/request/value.h"

static void point_at_target(struct wire_pointer *pointer, const char *group,
                            const obb_target *target)
{
    wire_pointer_key(pointer, obb_str_of(group));
    wire_pointer_key(pointer, target->name);
}

/* Appends the part of a transform that core refused. If the new box leaves the range, the part is
 * the one that is applied last. */
static void point_at_part(struct wire_pointer *pointer, obb_status status,
                          const obb_transform_edit *change)
{
    const obb_transform *t = &change->transform;
    if (wire_problem_of(status).status != 422)
        return;
    const bool scale = status == OBB_SHEARED || status == OBB_SINGULAR || !t->has_translate;
    wire_pointer_key(pointer, obb_str_of(t->has_matrix ? "matrix" : scale ? "scale" : "translate"));
}

/* Appends the entry of a commit that the fault names. */
static void point_at_entry(struct wire_pointer *pointer, obb_status status, const obb_fault *fault,
                           const wire_commit *commit, const obb_edit *edit)
{
    const size_t i = fault->index;
    switch (fault->group) {
    case OBB_GROUP_TIME:
        wire_pointer_key(pointer, obb_str_of("time"));
        break;
    case OBB_GROUP_IF_REVISION:
        if (commit->edit.has_if_revision) /* otherwise it was a header of HTTP */
            wire_pointer_key(pointer, obb_str_of("if_revision"));
        break;
    case OBB_GROUP_REMOVE:
        wire_pointer_key(pointer, obb_str_of("remove"));
        wire_pointer_index(pointer, i);
        break;
    case OBB_GROUP_PUT:
        point_at_target(pointer, "put", &edit->puts[i].target);
        break;
    case OBB_GROUP_POSE:
        if (commit->columnar_names || commit->columnar_ids) {
            wire_pointer_key(pointer, obb_str_of("pose"));
            wire_pointer_key(pointer, obb_str_of(commit->columnar_names ? "names" : "ids"));
            wire_pointer_index(pointer, i);
        } else {
            point_at_target(pointer, "pose", &edit->poses[i].target);
        }
        break;
    case OBB_GROUP_TRANSFORM:
        point_at_target(pointer, "transform", &edit->transforms[i].target);
        point_at_part(pointer, status, &edit->transforms[i]);
        break;
    case OBB_GROUP_MOMENT:
        wire_pointer_key(pointer, obb_str_of("queries"));
        wire_pointer_index(pointer, i);
        if (status == OBB_GONE)
            wire_pointer_key(pointer, obb_str_of("at"));
        break;
    case OBB_GROUP_MERGE: /* a commit has no merges */
    case OBB_GROUP_NONE:
        break;
    }
}

wire_problem wire_problem_of_edit(obb_status status, const obb_fault *fault,
                                  const wire_commit *commit, const obb_edit *edit,
                                  struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(status);
    struct wire_pointer pointer = {.length = 0};
    if (status == OBB_GONE) {
        problem.has_range = true;
        problem.oldest = fault->oldest;
        problem.newest = fault->newest;
    }
    if (status == OBB_LIMIT)
        problem.detail = "there are as many boxes, in all scenes, as --box-limit allows";
    if (fault->group == OBB_GROUP_TRANSFORM && edit->transforms[fault->index].transform.has_matrix)
        problem.detail = wire_matrix_detail(status);
    if (commit != NULL) {
        point_at_entry(&pointer, status, fault, commit, edit);
    } else if (fault->group == OBB_GROUP_TRANSFORM) {
        point_at_part(&pointer, status, &edit->transforms[fault->index]);
    } else if (fault->group == OBB_GROUP_MERGE && problem.status == 422) {
        wire_pointer_key(&pointer, obb_str_of("with"));
    } else if (fault->group == OBB_GROUP_MERGE && status == OBB_NO_BOX &&
               fault->member < edit->merges[fault->index].with_count) {
        wire_pointer_key(&pointer, obb_str_of("with"));
        wire_pointer_index(&pointer, fault->member);
    }
    if (status == OBB_BAD_NUMBER &&
        (fault->group == OBB_GROUP_TRANSFORM || fault->group == OBB_GROUP_MERGE))
        problem.detail = "the box would reach beyond coordinates or half extents of 1e9";
    if (pointer.length > 0)
        problem.pointer = wire_pointer_take(&pointer, arena);
    return problem;
}
