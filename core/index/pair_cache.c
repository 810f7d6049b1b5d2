#include "core/index/pair_cache.h"

#include "core/base/alloc.h"

#define FIRST_PAIRS 1024 /* that a list has room for at first */

static void free_lists(struct obb_pair_lists *lists)
{
    for (size_t c = 0; lists != NULL && c < lists->chunks; c++)
        obb_free(lists->lists[c].pairs);
    obb_free(lists);
}

void obb_pair_cache_fini(struct obb_pair_cache *cache)
{
    free_lists(atomic_load_explicit(&cache->lists, memory_order_acquire));
}

void obb_pair_cache_succeed(struct obb_pair_cache *cache, const struct obb_pair_cache *earlier)
{
    if (cache != NULL && earlier != NULL &&
        atomic_load_explicit(&earlier->read, memory_order_relaxed))
        atomic_store_explicit(&cache->likely, true, memory_order_relaxed);
}

const struct obb_pair_lists *obb_pair_cache_read(struct obb_pair_cache *cache)
{
    const struct obb_pair_lists *lists = atomic_load_explicit(&cache->lists, memory_order_acquire);
    if (lists != NULL && !atomic_load_explicit(&cache->read, memory_order_relaxed))
        atomic_store_explicit(&cache->read, true, memory_order_relaxed);
    return lists;
}

struct obb_pair_lists *obb_pair_cache_claim(struct obb_pair_cache *cache, bool outlived,
                                            size_t chunks, size_t most)
{
    const bool again = atomic_exchange_explicit(&cache->asked, true, memory_order_relaxed);
    if (!(again && outlived) && !atomic_load_explicit(&cache->likely, memory_order_relaxed))
        return NULL;
    if (atomic_exchange_explicit(&cache->claimed, true, memory_order_relaxed))
        return NULL;
    struct obb_pair_lists *lists = obb_calloc(1, sizeof *lists + chunks * sizeof lists->lists[0]);
    if (lists == NULL) {
        atomic_store_explicit(&cache->claimed, false, memory_order_relaxed);
        return NULL;
    }
    lists->chunks = chunks;
    lists->most = most;
    return lists;
}

/* Makes room for more pairs in a list. Returns false if they take too much or without memory. */
static bool make_room(struct obb_pair_lists *lists, struct obb_pair_list *list, size_t count)
{
    if (list->capacity - list->count >= count)
        return true;
    size_t capacity = list->capacity == 0 ? FIRST_PAIRS : list->capacity * 2;
    capacity = capacity < list->count + count ? list->count + count : capacity;
    const size_t more = (capacity - list->capacity) * sizeof *list->pairs;
    if (atomic_fetch_add_explicit(&lists->bytes, more, memory_order_relaxed) + more > lists->most)
        return false;
    struct obb_entry_pair *pairs = obb_realloc(list->pairs, capacity, sizeof *pairs);
    if (pairs == NULL)
        return false;
    list->pairs = pairs;
    list->capacity = capacity;
    return true;
}

bool obb_pair_lists_add(struct obb_pair_lists *lists, size_t chunk, const uint32_t *a,
                        const uint32_t *b, size_t count)
{
    struct obb_pair_list *list = &lists->lists[chunk];
    if (atomic_load_explicit(&lists->failed, memory_order_relaxed))
        return false;
    if (!make_room(lists, list, count)) {
        atomic_store_explicit(&lists->failed, true, memory_order_relaxed);
        return false;
    }
    struct obb_entry_pair *pairs = list->pairs + list->count;
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct obb_entry_pair){a[i], b[i]};
    list->count += count;
    return true;
}

void obb_pair_lists_end(struct obb_pair_lists *lists, size_t chunk)
{
    struct obb_pair_list *list = &lists->lists[chunk];
    if (list->capacity == list->count)
        return;
    struct obb_entry_pair *pairs = obb_realloc(list->pairs, list->count, sizeof *pairs);
    if (pairs == NULL)
        return;
    atomic_fetch_sub_explicit(&lists->bytes, (list->capacity - list->count) * sizeof *pairs,
                              memory_order_relaxed);
    list->pairs = pairs;
    list->capacity = list->count;
}

void obb_pair_cache_release(struct obb_pair_cache *cache, struct obb_pair_lists *lists,
                            bool complete)
{
    const bool failed = atomic_load_explicit(&lists->failed, memory_order_relaxed);
    if (complete && !failed) {
        atomic_store_explicit(&cache->lists, lists, memory_order_release);
        return;
    }
    free_lists(lists);
    if (!failed)
        atomic_store_explicit(&cache->claimed, false, memory_order_relaxed);
}

size_t obb_pair_cache_bytes(const struct obb_pair_cache *cache)
{
    const struct obb_pair_lists *lists = atomic_load_explicit(&cache->lists, memory_order_acquire);
    if (lists == NULL)
        return 0;
    size_t sum = obb_heap_bytes(sizeof *lists + lists->chunks * sizeof lists->lists[0]);
    for (size_t c = 0; c < lists->chunks; c++)
        sum += obb_heap_bytes(lists->lists[c].capacity * sizeof(struct obb_entry_pair));
    return sum;
}
