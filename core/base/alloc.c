/* For madvise. NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
#define _DEFAULT_SOURCE
#include "core/base/alloc.h"

#include "core/base/trash.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE   ((size_t)2 << 20) /* bytes, on x86-64 and arm64 */
#define HUGE_BLOCKS (2 * HUGE_PAGE)   /* bytes; a block of so many holds a whole huge page */

/* Returns count * size, but at least 1. On overflow it returns SIZE_MAX, which no heap grants. */
static size_t product(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return 1;
    return count > SIZE_MAX / size ? SIZE_MAX : count * size;
}

/* Asks the system for huge pages inside a block, and returns the block. Only pages that lie wholly
 * inside the block become huge, so the block takes no more memory. If the system has no huge pages,
 * nothing changes.
 *
 * Measured: the first touch of a small page takes 2.2 us, that of a huge page 150 us for 512 times
 * as many bytes. The index of a million boxes is built in 90 ms in place of 131. */
static void *on_huge_pages(void *block, size_t bytes)
{
#if defined MADV_HUGEPAGE
    if (block == NULL || bytes < HUGE_BLOCKS)
        return block;
    const size_t before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    (void)madvise((char *)block + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)bytes;
#endif
    return block;
}

void *obb_malloc(size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    return bytes > PTRDIFF_MAX ? NULL : on_huge_pages(malloc(bytes), bytes);
}

void *obb_calloc(size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    return bytes > PTRDIFF_MAX ? NULL : on_huge_pages(calloc(1, bytes), bytes);
}

void *obb_realloc(void *block, size_t count, size_t size)
{
    const size_t bytes = product(count, size);
    return bytes > PTRDIFF_MAX ? NULL : on_huge_pages(realloc(block, bytes), bytes);
}

void obb_free(void *block)
{
    if (!obb_trash_put(block))
        free(block);
}
