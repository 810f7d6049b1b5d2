#include "core/query/pairs.h"

#include "core/base/sort.h"
#include "core/query/details.h"

bool obb_pairs_admit(const struct obb_compiled_filter *compiled, const struct obb_version *a,
                     const struct obb_version *b)
{
    return obb_filter_pair(a, b) && obb_filter_passes(compiled, a) &&
           obb_filter_passes(compiled, b);
}

bool obb_pairs_add(struct obb_task *task, struct obb_pairs *pairs, const struct obb_version *a,
                   const struct obb_version *b)
{
    if (pairs->just_count) {
        pairs->count++;
        return true;
    }
    if (pairs->count == pairs->capacity) {
        const size_t capacity = pairs->capacity == 0 ? 256 : pairs->capacity * 2;
        obb_box_pair *list =
            obb_arena_grow(&task->keep, pairs->list, pairs->count, capacity, sizeof *list);
        if (list == NULL) {
            obb_task_fail(task, OBB_NO_MEMORY);
            return false;
        }
        pairs->list = list;
        pairs->capacity = capacity;
    }
    pairs->list[pairs->count++] =
        a->id < b->id ? (obb_box_pair){.a = a, .b = b} : (obb_box_pair){.a = b, .b = a};
    return true;
}

void obb_pairs_sort(struct obb_task *task, obb_box_pair *list, size_t count)
{
    if (count < 2)
        return;
    struct obb_ranked *ranked = obb_arena_alloc(&task->scratch, 2 * count, sizeof *ranked);
    obb_box_pair *copy = obb_arena_alloc(&task->scratch, count, sizeof *copy);
    if (ranked == NULL || copy == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = list[i];
        ranked[i] =
            (struct obb_ranked){.major = list[i].a->id, .minor = list[i].b->id, .item = &copy[i]};
    }
    const struct obb_ranked *sorted = obb_sort_ranked(ranked, count, ranked + count, task->cancel);
    if (sorted == NULL)
        obb_task_fail(task, OBB_CANCELLED);
    else
        for (size_t i = 0; i < count; i++)
            list[i] = *(const obb_box_pair *)sorted[i].item;
    obb_arena_reset(&task->scratch);
}

void obb_pairs_details(struct obb_task *task, const obb_box_pair *pairs, obb_details *details,
                       size_t from, size_t to)
{
    for (size_t i = from; i < to && obb_task_goes_on(task); i++) {
        const obb_solid a = obb_view_solid(task->view, pairs[i].a);
        const obb_solid b = obb_view_solid(task->view, pairs[i].b);
        details[i] = obb_details_of(task->query->want, &a, &b);
    }
}
