/* The C library asks for the name, which it needs for madvise().
 *
 * NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
#define _DEFAULT_SOURCE
#include "core/base/alloc.h"

#include "core/base/stock.h"
#include "core/base/trash.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

/* A block of up to so many bytes that grows is copied into a block in stock: a page is copied
 * faster than the system gives a new one. Larger blocks grow in place or move without a copy. */
#define COPIED ((size_t)2 << 20)

/* Returns count * size, but at least 1. On overflow it returns SIZE_MAX, which no heap grants. */
static size_t product(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return 1;
    return count > SIZE_MAX / size ? SIZE_MAX : count * size;
}

void *obb_malloc(size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    void *block = obb_stock_take(bytes, _Alignof(max_align_t));
    if (block != NULL)
        return block;
    return bytes > PTRDIFF_MAX ? NULL : malloc(bytes);
}

void *obb_calloc(size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    return bytes > PTRDIFF_MAX ? NULL : calloc(1, bytes);
}

void *obb_malloc_lines(size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    if (bytes > PTRDIFF_MAX - OBB_LINE)
        return NULL;
    void *block = obb_stock_take(bytes, OBB_LINE);
    if (block != NULL)
        return block;
    return aligned_alloc(OBB_LINE, (bytes + OBB_LINE - 1) / OBB_LINE * OBB_LINE); /* whole lines */
}

void obb_use_large_pages(void *block, size_t bytes)
{
    if (bytes < OBB_LARGE_PAGES)
        return;
    char *at = block;
    const size_t before = LARGE_PAGE - 1 - ((uintptr_t)block + LARGE_PAGE - 1) % LARGE_PAGE;
    const size_t whole = (bytes - before) / LARGE_PAGE * LARGE_PAGE;
    (void)madvise(at + before, whole, MADV_HUGEPAGE); /* without them it only takes longer */
}

enum { PAGE = 4096 };

void obb_drop_pages(void *part, size_t bytes)
{
    const size_t before = PAGE - 1 - ((uintptr_t)part + PAGE - 1) % PAGE;
    if (bytes >= before + PAGE)
        (void)madvise((char *)part + before, (bytes - before) / PAGE * PAGE, MADV_DONTNEED);
}

#ifdef MADV_POPULATE_WRITE
enum { STEP = 64 * PAGE };

/* Returns whether up to STEP bytes of whole pages have all their pages, as blocks do that were in
 * use before. */
static bool all_there(void *at, size_t bytes)
{
    unsigned char there[STEP / PAGE];
    if (mincore(at, bytes, there) != 0)
        return false;
    for (size_t i = 0; i < bytes / PAGE; i++)
        if ((there[i] & 1) == 0)
            return false;
    return true;
}
#endif

void obb_fill_pages(void *block, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const size_t before = PAGE - 1 - ((uintptr_t)block + PAGE - 1) % PAGE;
    char *at = (char *)block + before;
    size_t left = bytes < before ? 0 : (bytes - before) / PAGE * PAGE;
    while (left > 0) {
        const size_t step = left < STEP ? left : STEP;
        if (!all_there(at, step) && madvise(at, step, MADV_POPULATE_WRITE) != 0)
            return; /* the pages come one by one, as they are written */
        at += step;
        left -= step;
    }
#else
    (void)block;
    (void)bytes;
#endif
}

void *obb_realloc(void *block, size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    const size_t old = malloc_usable_size(block);
    void *larger =
        old < bytes && old <= COPIED ? obb_stock_take(bytes, _Alignof(max_align_t)) : NULL;
    if (larger == NULL)
        return bytes > PTRDIFF_MAX ? NULL : realloc(block, bytes);
    if (old > 0)
        memcpy(larger, block, old);
    obb_free(block);
    return larger;
}

void obb_free(void *block)
{
    const size_t bytes = malloc_usable_size(block);
    if (!obb_stock_put(block, bytes) && !obb_trash_put(block))
        free(block);
}
