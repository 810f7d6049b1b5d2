#include "core/query/hits.h"

#include "core/base/cancel.h"

enum { POLLED = 4096 /* hits listed between two polls: 40 us */ };

bool obb_hits_add(struct obb_task *task, struct obb_hits *hits, uint64_t rank,
                  const struct obb_version *box, const void *item)
{
    if (hits->count == hits->capacity) {
        const size_t capacity = hits->capacity == 0 ? 32 : hits->capacity * 2;
        struct obb_ranked *list =
            obb_arena_grow(&task->scratch, hits->list, hits->count, capacity, sizeof *list);
        if (list == NULL) {
            obb_task_fail(task, OBB_NO_MEMORY);
            return false;
        }
        hits->list = list;
        hits->capacity = capacity;
    }
    hits->list[hits->count++] = (struct obb_ranked){.major = rank, .minor = box->id, .item = item};
    return true;
}

bool obb_hits_sort(struct obb_task *task, struct obb_hits *hits)
{
    if (hits->count < 2)
        return true;
    struct obb_ranked *spare = obb_arena_alloc(&task->scratch, hits->count, sizeof *spare);
    if (spare == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return false;
    }
    struct obb_ranked *sorted = obb_sort_ranked(hits->list, hits->count, spare, task->cancel);
    if (sorted == NULL) {
        obb_task_fail(task, OBB_CANCELLED);
        return false;
    }
    hits->list = sorted;
    return true;
}

obb_hit *obb_hits_answer(struct obb_task *task, const struct obb_hits *hits, bool is_cast,
                         obb_answer *answer)
{
    const size_t limit = task->query->limit;
    const size_t listed = hits->count < limit ? hits->count : limit;
    obb_hit *found = NULL;
    if (listed > 0) {
        found = obb_task_keep(task, listed, sizeof *found);
        if (found == NULL)
            return NULL;
    }
    for (size_t i = 0; i < listed; i++) {
        if (i % POLLED == 0 && obb_cancelled(task->cancel)) {
            obb_task_fail(task, OBB_CANCELLED);
            return NULL;
        }
        found[i] =
            is_cast ? *(const obb_hit *)hits->list[i].item : (obb_hit){.box = hits->list[i].item};
    }
    answer->hits = found;
    answer->hit_count = listed;
    answer->count = hits->count;
    answer->truncated = listed < hits->count;
    return found;
}
