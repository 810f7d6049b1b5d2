#include "core/base/budget.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <stdint.h>

struct head {
    struct obb_budget *budget;
    size_t bytes; /* of the block, the head not counted */
};
static_assert(sizeof(struct head) == OBB_BUDGET_HEAD, "blocks stay aligned to 16 bytes");

void obb_budget_init_part(struct obb_budget *budget, size_t limit, struct obb_budget *whole)
{
    budget->limit = limit;
    budget->whole = whole;
    atomic_init(&budget->used, 0);
    atomic_init(&budget->beyond, 0);
}

void obb_budget_init(struct obb_budget *budget, size_t limit)
{
    obb_budget_init_part(budget, limit, NULL);
}

/* Notes that `bytes` would have been in use. */
static void note_refused(struct obb_budget *budget, size_t bytes)
{
    size_t beyond = atomic_load_explicit(&budget->beyond, memory_order_relaxed);
    while (beyond < bytes &&
           !atomic_compare_exchange_weak_explicit(&budget->beyond, &beyond, bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

size_t obb_budget_refused(const struct obb_budget *budget)
{
    return atomic_load_explicit(&budget->beyond, memory_order_relaxed);
}

bool obb_budget_take(struct obb_budget *budget, size_t bytes)
{
    if (budget == NULL)
        return true;
    size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (bytes > budget->limit || used > budget->limit - bytes) {
            note_refused(budget, bytes > SIZE_MAX - used ? SIZE_MAX : used + bytes);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (obb_budget_take(budget->whole, bytes))
        return true;
    (void)atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    return false;
}

void obb_budget_give(struct obb_budget *budget, size_t bytes)
{
    if (budget == NULL)
        return;
    const size_t used = atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    assert(used >= bytes);
    (void)used;
    obb_budget_give(budget->whole, bytes);
}

void obb_budget_charge(struct obb_budget *budget, size_t bytes)
{
    for (; budget != NULL; budget = budget->whole)
        (void)atomic_fetch_add_explicit(&budget->used, bytes, memory_order_relaxed);
}

size_t obb_budget_used(const struct obb_budget *budget)
{
    return budget == NULL ? 0 : atomic_load_explicit(&budget->used, memory_order_relaxed);
}

/* Returns the bytes of a head and count * size, or 0 if there is no such number. */
static size_t with_head(size_t count, size_t size)
{
    const size_t most = PTRDIFF_MAX - sizeof(struct head);
    return size != 0 && count > most / size ? 0 : sizeof(struct head) + count * size;
}

static void *block_of(struct head *head, struct obb_budget *budget, size_t bytes)
{
    if (head == NULL) {
        obb_budget_give(budget, bytes);
        return NULL;
    }
    *head = (struct head){.budget = budget, .bytes = bytes - sizeof *head};
    return head + 1;
}

void *obb_budget_malloc(struct obb_budget *budget, size_t count, size_t size)
{
    const size_t bytes = with_head(count, size);
    if (bytes == 0 || !obb_budget_take(budget, bytes))
        return NULL;
    return block_of(obb_malloc(bytes, 1), budget, bytes);
}

void *obb_budget_calloc(struct obb_budget *budget, size_t count, size_t size)
{
    const size_t bytes = with_head(count, size);
    if (bytes == 0 || !obb_budget_take(budget, bytes))
        return NULL;
    return block_of(obb_calloc(bytes, 1), budget, bytes);
}

void *obb_budget_realloc(struct obb_budget *budget, void *block, size_t count, size_t size)
{
    if (block == NULL)
        return obb_budget_malloc(budget, count, size);
    struct head *head = (struct head *)block - 1;
    const size_t bytes = with_head(count, size);
    if (bytes == 0)
        return NULL;
    const size_t new = bytes - sizeof *head, old = head->bytes;
    budget = head->budget;
    if (new > old && !obb_budget_take(budget, new - old))
        return NULL;
    struct head *moved = obb_realloc(head, bytes, 1);
    if (moved == NULL) {
        if (new > old)
            obb_budget_give(budget, new - old);
        return NULL;
    }
    if (new < old)
        obb_budget_give(budget, old - new);
    moved->bytes = new;
    return moved + 1;
}

void obb_budget_free(void *block)
{
    if (block == NULL)
        return;
    struct head *head = (struct head *)block - 1;
    struct obb_budget *budget = head->budget;
    const size_t bytes = sizeof *head + head->bytes;
    obb_free(head);
    obb_budget_give(budget, bytes);
}
