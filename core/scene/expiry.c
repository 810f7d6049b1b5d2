#include "core/scene/expiry.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <string.h>

void obb_expiry_fini(struct obb_expiry *expiry) { obb_free(expiry->heap); }

size_t obb_expiry_bytes(const struct obb_expiry *expiry)
{
    return expiry->room == 0 ? 0 : obb_heap_bytes(expiry->room * sizeof *expiry->heap);
}

obb_status obb_expiry_reserve(struct obb_expiry *expiry, size_t more)
{
    enum { LEAST = 16 };
    const size_t needed = expiry->count + more;
    if (needed <= expiry->room)
        return OBB_OK;
    size_t room = 2 * expiry->room > LEAST ? 2 * expiry->room : LEAST;
    room = room > needed ? room : needed;
    struct obb_expiry_entry *heap = obb_malloc(room, sizeof *heap);
    if (heap == NULL)
        return OBB_NO_MEMORY;
    if (expiry->count > 0)
        memcpy(heap, expiry->heap, expiry->count * sizeof *heap);
    obb_free(expiry->heap);
    expiry->heap = heap;
    expiry->room = room;
    return OBB_OK;
}

static void place(struct obb_expiry *expiry, size_t i, struct obb_expiry_entry entry)
{
    expiry->heap[i] = entry;
    entry.record->expiry = (uint32_t)i;
}

/* Writes the entry at the first place from i up to the root where its parent is not due later. */
static void rise(struct obb_expiry *expiry, size_t i, struct obb_expiry_entry entry)
{
    for (; i > 0 && entry.due < expiry->heap[(i - 1) / 2].due; i = (i - 1) / 2)
        place(expiry, i, expiry->heap[(i - 1) / 2]);
    place(expiry, i, entry);
}

/* Writes the entry at the first place from i down where no child is due earlier. */
static void sink(struct obb_expiry *expiry, size_t i, struct obb_expiry_entry entry)
{
    for (size_t child; (child = 2 * i + 1) < expiry->count; i = child) {
        if (child + 1 < expiry->count && expiry->heap[child + 1].due < expiry->heap[child].due)
            child++;
        if (expiry->heap[child].due >= entry.due)
            break;
        place(expiry, i, expiry->heap[child]);
    }
    place(expiry, i, entry);
}

/* Writes the entry at place i, or where it belongs from there. */
static void settle(struct obb_expiry *expiry, size_t i, struct obb_expiry_entry entry)
{
    if (i > 0 && entry.due < expiry->heap[(i - 1) / 2].due)
        rise(expiry, i, entry);
    else
        sink(expiry, i, entry);
}

void obb_expiry_set(struct obb_expiry *expiry, struct obb_record *record, double due)
{
    const struct obb_expiry_entry entry = {.due = due, .record = record};
    if (record->expiry != OBB_NO_PLACE) {
        settle(expiry, record->expiry, entry);
        return;
    }
    assert(expiry->count < expiry->room);
    rise(expiry, expiry->count++, entry);
}

void obb_expiry_drop(struct obb_expiry *expiry, struct obb_record *record)
{
    const size_t i = record->expiry;
    assert(i < expiry->count && expiry->heap[i].record == record);
    record->expiry = OBB_NO_PLACE;
    const struct obb_expiry_entry last = expiry->heap[--expiry->count];
    if (i < expiry->count)
        settle(expiry, i, last);
}

void obb_expiry_order(struct obb_expiry *expiry)
{
    for (size_t i = expiry->count / 2; i-- > 0;)
        sink(expiry, i, expiry->heap[i]);
}

/* The due entries are a tree at the root of the heap: its next place after i in the order "node,
 * left, right", without the subtree of i if `skip`. Returns the heap's count at the end. */
static size_t next_place(const struct obb_expiry *expiry, size_t i, bool skip)
{
    if (!skip && 2 * i + 1 < expiry->count)
        return 2 * i + 1;
    while (i > 0 && (i % 2 == 0 || i + 1 >= expiry->count))
        i = (i - 1) / 2;
    return i == 0 ? expiry->count : i + 1;
}

size_t obb_expiry_due(const struct obb_expiry *expiry, double time, size_t limit)
{
    size_t count = 0;
    for (size_t i = 0; i < expiry->count && count < limit;) {
        const bool due = expiry->heap[i].due <= time;
        count += due;
        i = next_place(expiry, i, !due);
    }
    return count;
}

void obb_expiry_list(const struct obb_expiry *expiry, double time, struct obb_record **out)
{
    size_t count = 0;
    for (size_t i = 0; i < expiry->count;) {
        const bool due = expiry->heap[i].due <= time;
        if (due)
            out[count++] = expiry->heap[i].record;
        i = next_place(expiry, i, !due);
    }
}
