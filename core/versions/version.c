#include "core/versions/version.h"

#include "core/base/alloc.h"
#include "core/base/trash.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIRST_PAGES 4

_Static_assert(OBB_VERSION_PAGE * sizeof(struct obb_version) < OBB_TRASH_LARGE,
               "a page is freed at once");

void obb_versions_init(struct obb_versions *pool)
{
    *pool = (struct obb_versions){.free = OBB_NO_VERSION};
}

void obb_versions_fini(struct obb_versions *pool)
{
    struct obb_version **pages = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    for (uint32_t i = 0; i < pool->page_count; i++)
        obb_free(pages[i]);
    obb_free((void *)pages);
    for (uint32_t i = 0; i < pool->outgrown_count; i++)
        obb_free((void *)pool->outgrown[i]);
    obb_free((void *)pool->outgrown);
    obb_versions_init(pool);
}

/* Replaces the table of pages by one twice as large. Readers may still hold the old table, so it is
 * kept. All old tables together are smaller than the new one. */
static bool grow_table(struct obb_versions *pool)
{
    struct obb_version **old = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    const uint32_t capacity = old == NULL ? FIRST_PAGES : pool->page_capacity * 2;
    struct obb_version ***outgrown = (struct obb_version ***)obb_realloc(
        (void *)pool->outgrown, pool->outgrown_count + 1, sizeof(struct obb_version **));
    if (outgrown == NULL)
        return false;
    pool->outgrown = outgrown;
    struct obb_version **pages =
        (struct obb_version **)obb_malloc(capacity, sizeof(struct obb_version *));
    if (pages == NULL)
        return false;
    if (old != NULL) {
        memcpy((void *)pages, (void *)old, pool->page_count * sizeof(struct obb_version *));
        outgrown[pool->outgrown_count++] = old;
    }
    pool->page_capacity = capacity;
    atomic_store_explicit(&pool->pages, pages, memory_order_release);
    return true;
}

static bool grow(struct obb_versions *pool)
{
    if (pool->count >= OBB_MAX_VERSIONS)
        return false;
    if (pool->page_count == pool->page_capacity && !grow_table(pool))
        return false;
    struct obb_version *page = obb_malloc_lines(OBB_VERSION_PAGE, sizeof *page);
    if (page == NULL)
        return false;
    atomic_load_explicit(&pool->pages, memory_order_relaxed)[pool->page_count++] = page;
    return true;
}

struct obb_version *obb_versions_take(struct obb_versions *pool)
{
    if (pool->free != OBB_NO_VERSION) {
        struct obb_version *version = obb_versions_slot(pool, pool->free);
        pool->free = atomic_load_explicit(&version->older, memory_order_relaxed);
        pool->free_count--;
        if (pool->free != OBB_NO_VERSION) /* most likely the next slot taken */
            obb_version_prefetch(obb_versions_slot(pool, pool->free));
        return version;
    }
    if (pool->count == pool->page_count * OBB_VERSION_PAGE && !grow(pool))
        return NULL;
    struct obb_version *version = obb_versions_slot(pool, pool->count);
    /* The word of the bit fields is written before it is read: a page that is first read is first
     * the page of zeros, and faults again when it is written. */
    memset((char *)version + offsetof(struct obb_version, group), 0,
           offsetof(struct obb_version, entity) - offsetof(struct obb_version, group));
    version->self = pool->count++ & (OBB_MAX_VERSIONS - 1);
    return version;
}

void obb_versions_give(struct obb_versions *pool, struct obb_version *version)
{
    assert(atomic_load_explicit(&version->died, memory_order_relaxed) != OBB_NEVER);
    version->mount = NULL; /* a free slot has none */
    obb_version_set_older(version, pool->free);
    atomic_store_explicit(&version->newer, OBB_NO_VERSION, memory_order_relaxed);
    pool->free = version->self;
    pool->free_count++;
}

size_t obb_versions_bytes(const struct obb_versions *pool)
{
    return (size_t)(pool->count - pool->free_count) * sizeof(struct obb_version) +
           (size_t)pool->page_capacity * 2 * sizeof(struct obb_version *);
}
