#include "core/query/task.h"

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

bool obb_task_goes_on(struct obb_task *task)
{
    if ((++task->steps & 63) == 0 && task->cancel != NULL &&
        atomic_load_explicit(task->cancel, memory_order_relaxed))
        obb_task_fail(task, OBB_CANCELLED);
    if (task->most_steps != 0 && task->steps > task->most_steps)
        obb_task_fail(task, OBB_CANCELLED);
    return task->status == OBB_OK;
}

void *obb_task_keep(struct obb_task *task, size_t count, size_t size)
{
    void *block = obb_arena_alloc(&task->keep, count, size);
    if (block == NULL)
        obb_task_fail(task, OBB_NO_MEMORY);
    return block;
}

/* ---- Boxes that items name ------------------------------------------------------------------- */

bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer)
{
    if (ref->kind == OBB_REF_INLINE) {
        *out =
            (struct obb_named){.solid = obb_solid_from_box(ref->box, task->view->info.dimensions)};
        return true;
    }
    const struct obb_version *box = ref->kind == OBB_REF_ID ? obb_view_find_id(task->view, ref->id)
                                                            : obb_view_find(task->view, ref->name);
    if (box == NULL) {
        answer->missing[answer->missing_count++] = ref;
        return false;
    }
    *out = (struct obb_named){.box = box, .solid = obb_view_solid(task->view, box)};
    return true;
}
