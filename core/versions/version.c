#include "core/versions/version.h"

#include "core/base/alloc.h"
#include "core/base/trash.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIRST_PAGES 4

/* Fresh slots are fetched so many before their turn: a commit of many boxes fills them faster than
 * the stores would find their lines. */
#define AHEAD 12

/* From so many pages on a new page gets its memory as a whole. In a small pool most of a page may
 * never be used. */
#define WHOLE_PAGES 8

/* Pages of one block get their memory so many at a time, 288 KiB. A page of the system takes 1.85
 * us so, and 2.5 if it is asked for with one page of versions. More at a time would leave the cache
 * before it is used. */
#define BEGUN_AT_ONCE 8

/* Pages that lie in one block. */
struct obb_version_run {
    struct obb_version_run *next;
    uint32_t first, count;
};

/* The free slots of a page. */
struct obb_page_slots {
    uint32_t next, before; /* in the list of pages that it is in */
    uint32_t free;         /* the first one; the list goes through `older`. A bare page has none */
    uint32_t count;        /* of a bare page: all */
};

/* So many pages without a slot in use keep their memory in any case. */
#define KEPT_PAGES 4

/* Extras of a block: about 3 KiB. */
#define EXTRAS_BLOCK 64
struct obb_extras_block {
    struct obb_extras_block *next;
    struct obb_extras extras[EXTRAS_BLOCK];
};

const struct obb_extras obb_no_extras = {.ttl = OBB_NO_TTL};

_Static_assert(sizeof(struct obb_version_page) < OBB_TRASH_LARGE, "a page is freed at once");

void obb_versions_init(struct obb_versions *pool)
{
    const struct obb_page_list none = {.first = OBB_NO_PAGE};
    *pool = (struct obb_versions){.some = none, .all = none, .bare = none};
}

void obb_versions_fini(struct obb_versions *pool)
{
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    while (pool->runs != NULL) {
        struct obb_version_run *run = pool->runs;
        for (uint32_t i = 1; i < run->count; i++)
            pages[run->first + i] = NULL; /* the first page is the block */
        pool->runs = run->next;
        obb_free(run);
    }
    for (uint32_t i = 0; i < pool->page_count; i++)
        obb_free(pages[i]);
    obb_free((void *)pages);
    for (uint32_t i = 0; i < pool->outgrown_count; i++)
        obb_free((void *)pool->outgrown[i]);
    obb_free((void *)pool->outgrown);
    obb_free(pool->slots);
    while (pool->extras_blocks != NULL) {
        struct obb_extras_block *next = pool->extras_blocks->next;
        obb_free(pool->extras_blocks);
        pool->extras_blocks = next;
    }
    obb_versions_init(pool);
}

/* Replaces the table of pages by one twice as large. Readers may still hold the old table, so it is
 * kept. All old tables together are smaller than the new one. */
static bool grow_table(struct obb_versions *pool)
{
    struct obb_version_page **old = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    const uint32_t capacity = old == NULL ? FIRST_PAGES : pool->page_capacity * 2;
    struct obb_version_page ***outgrown = (struct obb_version_page ***)obb_realloc(
        (void *)pool->outgrown, pool->outgrown_count + 1, sizeof(struct obb_version_page **));
    if (outgrown == NULL)
        return false;
    pool->outgrown = outgrown;
    struct obb_page_slots *slots = obb_realloc(pool->slots, capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    pool->slots = slots;
    struct obb_version_page **pages =
        (struct obb_version_page **)obb_malloc(capacity, sizeof(struct obb_version_page *));
    if (pages == NULL)
        return false;
    if (old != NULL) {
        memcpy((void *)pages, (void *)old, pool->page_count * sizeof(struct obb_version_page *));
        outgrown[pool->outgrown_count++] = old;
    }
    pool->page_capacity = capacity;
    atomic_store_explicit(&pool->pages, pages, memory_order_release);
    return true;
}

/* Adds `count` pages, which lie in one block. */
static bool add_pages(struct obb_versions *pool, uint32_t count)
{
    while (pool->page_capacity - pool->page_count < count)
        if (!grow_table(pool))
            return false;
    struct obb_version_run *run = NULL;
    if (count > 1 && (run = obb_malloc(1, sizeof *run)) == NULL)
        return false;
    struct obb_version_page *block = obb_malloc_lines(count, sizeof *block);
    if (block == NULL) {
        obb_free(run);
        return false;
    }
    if (run != NULL) {
        *run =
            (struct obb_version_run){.next = pool->runs, .first = pool->page_count, .count = count};
        pool->runs = run;
    }
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        pool->slots[pool->page_count] = (struct obb_page_slots){.free = OBB_NO_VERSION};
        pages[pool->page_count++] = block + i;
    }
    return true;
}

bool obb_versions_reserve(struct obb_versions *pool, size_t count)
{
    const size_t fresh = (size_t)pool->page_count * OBB_VERSION_PAGE - pool->count;
    const size_t room = fresh + pool->free_count;
    if (count <= room)
        return true;
    const size_t pages = (count - room + OBB_VERSION_PAGE - 1) / OBB_VERSION_PAGE;
    if (pages < WHOLE_PAGES || pages > OBB_MAX_VERSIONS / OBB_VERSION_PAGE - pool->page_count)
        return true; /* they come one by one, as far as they may */
    return add_pages(pool, (uint32_t)pages);
}

/* Begins the next page, which is one more if none is left. */
static bool begin_page(struct obb_versions *pool)
{
    if (pool->count >= OBB_MAX_VERSIONS)
        return false;
    if (pool->begun == pool->page_count && !add_pages(pool, 1))
        return false;
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_relaxed);
    struct obb_version_page *page = pages[pool->begun];
    uint32_t count = 1; /* of those that follow each other in memory */
    while (count < BEGUN_AT_ONCE && pool->begun + count < pool->page_count &&
           pages[pool->begun + count] == page + count)
        count++;
    if (pool->begun >= WHOLE_PAGES || count > 1)
        obb_fill_pages(page, count * sizeof *page);
    pool->begun += count;
    return true;
}

/* ---- Free slots ------------------------------------------------------------------------------ */

static void enter(struct obb_versions *pool, struct obb_page_list *list, uint32_t page)
{
    struct obb_page_slots *slots = pool->slots;
    slots[page].next = list->first;
    slots[page].before = OBB_NO_PAGE;
    if (list->first != OBB_NO_PAGE)
        slots[list->first].before = page;
    list->first = page;
    list->count++;
}

static void leave(struct obb_versions *pool, struct obb_page_list *list, uint32_t page)
{
    struct obb_page_slots *slots = pool->slots;
    const uint32_t next = slots[page].next, before = slots[page].before;
    if (next != OBB_NO_PAGE)
        slots[next].before = before;
    *(before != OBB_NO_PAGE ? &slots[before].next : &list->first) = next;
    list->count--;
}

/* Lists the slots of a bare page as free. */
static void furnish(struct obb_versions *pool, uint32_t page)
{
    const uint32_t first = page * OBB_VERSION_PAGE;
    obb_fill_pages(obb_versions_slot(pool, first), sizeof(struct obb_version_page));
    for (uint32_t i = OBB_VERSION_PAGE; i-- > 0;) {
        struct obb_version *version = obb_versions_slot(pool, first + i);
        version->self = (first + i) & (OBB_MAX_VERSIONS - 1);
        version->has_extras = 0;
        obb_version_set_older(version, pool->slots[page].free);
        atomic_store_explicit(&obb_version_links(version)->newer, OBB_NO_VERSION,
                              memory_order_relaxed);
        pool->slots[page].free = first + i;
    }
}

/* Takes a free slot, of which there is one. Reads only its links: the slot may be in no cache. */
static uint32_t take_free(struct obb_versions *pool)
{
    uint32_t page = pool->some.first;
    if (page == OBB_NO_PAGE) {
        struct obb_page_list *list = pool->all.first != OBB_NO_PAGE ? &pool->all : &pool->bare;
        page = list->first;
        leave(pool, list, page);
        if (list == &pool->bare)
            furnish(pool, page);
        enter(pool, &pool->some, page);
    }
    struct obb_page_slots *slots = &pool->slots[page];
    const uint32_t taken = slots->free;
    slots->free =
        atomic_load_explicit(&obb_version_links_at(pool, taken)->older, memory_order_relaxed);
    pool->free_count--;
    if (--slots->count == 0)
        leave(pool, &pool->some, page);
    if (pool->some.first != OBB_NO_PAGE) /* most likely the next slot taken */
        obb_versions_prefetch(pool, pool->slots[pool->some.first].free);
    return taken;
}

struct obb_version *obb_versions_take(struct obb_versions *pool, struct obb_record *record)
{
    if (pool->free_count > 0) {
        const uint32_t taken = take_free(pool);
        obb_version_links_at(pool, taken)->record = record;
        return obb_versions_slot(pool, taken);
    }
    if (pool->count == pool->begun * OBB_VERSION_PAGE && !begin_page(pool))
        return NULL;
    struct obb_version *version = obb_versions_slot(pool, pool->count);
    if (pool->count % OBB_VERSION_PAGE + AHEAD < OBB_VERSION_PAGE)
        obb_versions_prefetch(pool, pool->count + AHEAD);
    /* The word of the bit fields is written before it is read: a page that is first read is first
     * the page of zeros, and faults again when it is written. */
    memset((char *)version + offsetof(struct obb_version, group), 0,
           offsetof(struct obb_version, born) - offsetof(struct obb_version, group));
    version->self = pool->count++ & (OBB_MAX_VERSIONS - 1);
    obb_version_links(version)->record = record;
    return version;
}

/* Makes the list of free extras, which is empty, the extras of a new block. */
static bool grow_extras(struct obb_versions *pool)
{
    struct obb_extras_block *block = obb_malloc(1, sizeof *block);
    if (block == NULL)
        return false;
    block->next = pool->extras_blocks;
    pool->extras_blocks = block;
    for (size_t i = EXTRAS_BLOCK; i-- > 0;) {
        block->extras[i].next = pool->free_extras;
        pool->free_extras = &block->extras[i];
    }
    return true;
}

struct obb_extras *obb_versions_extend(struct obb_versions *pool, struct obb_version *version)
{
    struct obb_version_links *links = obb_version_links(version);
    struct obb_extras *before = version->has_extras ? links->extras : NULL;
    if (before != NULL && before->versions == 1)
        return before;
    if (pool->free_extras == NULL && !grow_extras(pool))
        return NULL;
    struct obb_extras *extras = pool->free_extras;
    pool->free_extras = extras->next;
    pool->extras_count++;
    if (before == NULL) {
        *extras = obb_no_extras;
        extras->record = links->record;
    } else {
        *extras = *before;
        before->versions--;
    }
    extras->versions = 1;
    links->extras = extras;
    version->has_extras = 1;
    return extras;
}

void obb_versions_share_extras(const struct obb_version *from, struct obb_version *version)
{
    struct obb_extras *extras = obb_version_links(from)->extras;
    assert(from->has_extras && !version->has_extras && extras->ttl < 0.0);
    obb_version_links(version)->extras = extras;
    version->has_extras = 1;
    extras->versions++;
}

/* Takes the extras from a version, which keeps its record. */
static void drop_extras(struct obb_versions *pool, struct obb_version *version)
{
    struct obb_version_links *links = obb_version_links(version);
    struct obb_extras *extras = links->extras;
    links->record = extras->record;
    version->has_extras = 0;
    if (--extras->versions > 0)
        return;
    extras->next = pool->free_extras;
    pool->free_extras = extras;
    pool->extras_count--;
}

void obb_versions_give(struct obb_versions *pool, struct obb_version *version)
{
    assert(atomic_load_explicit(&version->died, memory_order_relaxed) != OBB_NEVER);
    if (version->has_extras)
        drop_extras(pool, version);
    const uint32_t page = (uint32_t)version->self / OBB_VERSION_PAGE;
    struct obb_page_slots *slots = &pool->slots[page];
    obb_version_set_older(version, slots->free);
    atomic_store_explicit(&obb_version_links(version)->newer, OBB_NO_VERSION, memory_order_relaxed);
    slots->free = version->self;
    pool->free_count++;
    if (++slots->count == 1)
        enter(pool, &pool->some, page);
    if (slots->count < OBB_VERSION_PAGE)
        return;
    leave(pool, &pool->some, page);
    enter(pool, &pool->all, page);
}

void obb_versions_shrink(struct obb_versions *pool, size_t most)
{
    for (; most > 0; most--) {
        const uint32_t used = pool->begun - pool->all.count - pool->bare.count;
        if (pool->all.count <= KEPT_PAGES || pool->all.count <= used)
            return;
        const uint32_t page = pool->all.first;
        leave(pool, &pool->all, page);
        pool->slots[page].free = OBB_NO_VERSION;
        enter(pool, &pool->bare, page);
        obb_drop_pages(obb_versions_slot(pool, page * OBB_VERSION_PAGE),
                       sizeof(struct obb_version_page));
    }
}

size_t obb_versions_count_free(const struct obb_versions *pool)
{
    const struct obb_page_list *const lists[] = {&pool->some, &pool->all};
    size_t count = (size_t)pool->bare.count * OBB_VERSION_PAGE;
    for (int k = 0; k < 2; k++)
        for (uint32_t page = lists[k]->first; page != OBB_NO_PAGE; page = pool->slots[page].next)
            for (uint32_t i = pool->slots[page].free; i != OBB_NO_VERSION && count < pool->count;
                 i = atomic_load_explicit(&obb_version_links_at(pool, i)->older,
                                          memory_order_relaxed))
                count++;
    return count;
}

size_t obb_versions_bytes(const struct obb_versions *pool)
{
    return obb_versions_share(pool, pool->count - pool->free_count) +
           pool->page_capacity *
               (2 * sizeof(struct obb_version_page *) + sizeof(struct obb_page_slots));
}

size_t obb_versions_share(const struct obb_versions *pool, size_t count)
{
    const size_t all = pool->count - pool->free_count;
    const size_t extras = all == 0 ? 0 : (size_t)pool->extras_count * count / all;
    return count * (sizeof(struct obb_version) + sizeof(struct obb_version_links)) +
           extras * sizeof(struct obb_extras);
}

size_t obb_versions_unused(const struct obb_versions *pool)
{
    size_t bytes = (pool->page_count - pool->bare.count) * sizeof(struct obb_version_page);
    for (const struct obb_extras_block *block = pool->extras_blocks; block != NULL;
         block = block->next)
        bytes += sizeof *block;
    return bytes - obb_versions_share(pool, pool->count - pool->free_count);
}
