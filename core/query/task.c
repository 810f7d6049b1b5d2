#include "core/query/task.h"

#include "core/geometry/frame.h"

#define POLL_STEPS 64 /* between two looks at *cancel */

obb_status obb_task_fail(struct obb_task *task, obb_status status)
{
    if (task->status == OBB_OK)
        task->status = status;
    return task->status;
}

void obb_task_end(struct obb_task *task)
{
    obb_arena_fini(&task->keep);
    obb_arena_fini(&task->scratch);
}

bool obb_task_spend(struct obb_task *task, uint32_t steps)
{
    const uint32_t before = task->steps;
    task->steps += steps;
    if (task->steps / POLL_STEPS != before / POLL_STEPS && task->cancel != NULL &&
        atomic_load_explicit(task->cancel, memory_order_relaxed))
        obb_task_fail(task, OBB_CANCELLED);
    if (task->most_steps != 0 && task->steps > task->most_steps)
        obb_task_fail(task, OBB_CANCELLED);
    return task->status == OBB_OK;
}

bool obb_task_goes_on(struct obb_task *task) { return obb_task_spend(task, 1); }

void *obb_task_keep(struct obb_task *task, size_t count, size_t size)
{
    void *block = obb_arena_alloc(&task->keep, count, size);
    if (block == NULL)
        obb_task_fail(task, OBB_NO_MEMORY);
    return block;
}

/* ---- Boxes that items name ------------------------------------------------------------------- */

const struct obb_version *obb_task_find(const struct obb_task *task, const obb_ref *ref)
{
    return ref->kind == OBB_REF_ID ? obb_view_find_id(task->view, ref->id)
                                   : obb_view_find(task->view, ref->name);
}

/* If its frame is not there, or places it beyond the range, the box is missing. */
static bool resolve_framed(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                           obb_answer *answer)
{
    const int dimensions = task->view->info.dimensions;
    const struct obb_version *version = obb_view_find_frame(task->view, ref->framed->frame);
    if (version != NULL) {
        const obb_box pose = obb_view_frame_pose(task->view, version);
        const obb_frame frame = obb_frame_from_pose(&pose, dimensions);
        obb_box placed;
        if (obb_frame_place(&frame, &ref->framed->local, &placed) == OBB_OK) {
            *out = (struct obb_named){.solid = obb_solid_from_box(&placed, dimensions)};
            return true;
        }
    }
    answer->missing[answer->missing_count++] = ref;
    return false;
}

bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer)
{
    if (ref->kind == OBB_REF_INLINE) {
        *out =
            (struct obb_named){.solid = obb_solid_from_box(ref->box, task->view->info.dimensions)};
        return true;
    }
    if (ref->kind == OBB_REF_FRAMED)
        return resolve_framed(task, ref, out, answer);
    const struct obb_version *box = obb_task_find(task, ref);
    if (box == NULL) {
        answer->missing[answer->missing_count++] = ref;
        return false;
    }
    *out = (struct obb_named){.box = box, .solid = obb_view_solid(task->view, box)};
    return true;
}
