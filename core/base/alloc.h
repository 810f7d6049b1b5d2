/* Memory from the heap, with products checked for overflow. Large blocks that were freed may be
 * kept and given out again (stock.h). Tests wrap malloc and its kin at link time to make the n-th
 * call fail, so core keeps no state for such tests. */
#ifndef OBB_ALLOC_H
#define OBB_ALLOC_H

#include <stddef.h>

/* Returns about how many bytes a block of `bytes` takes from the heap: 8 for its header, and all
 * rounded up to 16, as glibc does. For figures only. */
static inline size_t obb_heap_bytes(size_t bytes)
{
    const size_t taken = (bytes + 8 + 15) & ~(size_t)15;
    return taken < 32 ? 32 : taken;
}

/* Return a block of count * size bytes, or NULL if there is no memory or the product overflows.
 * A count or size of 0 gives a pointer that may be freed. obb_calloc zeroes the block. The
 * caller frees the block with obb_free. */
void *obb_malloc(size_t count, size_t size);
void *obb_calloc(size_t count, size_t size);

/* Returns a block of count * size bytes that begins at a cache line, OBB_LINE bytes. Otherwise as
 * obb_malloc. Such a block cannot grow. */
#define OBB_LINE 64
void *obb_malloc_lines(size_t count, size_t size);

/* Asks the system for pages of 2 MiB under a block that the caller is about to fill as a whole. A
 * page takes one fault, whatever its size, and a fault of 4 KiB costs more than the work on the
 * page: to fill 93 MB took 35 ms in pages of 4 KiB, and takes 8 ms in large ones. The block takes
 * no more memory than before. If the system grants none, the block stays as it is, and so does a
 * block of less than OBB_LARGE_PAGES: glibc maps blocks of that size by themselves, and smaller
 * ones may lie in its heap, in which large pages lost (with blocks of 8 MiB and more, a put of
 * 100,000 boxes took 66 ms in place of 55). */
#define OBB_LARGE_PAGES ((size_t)32 << 20)
void obb_use_large_pages(void *block, size_t bytes);

/* Gives the memory of the whole pages in a part of a block back to the system. The part stays
 * readable, as zeros or as it was, and gets memory again when it is written. */
void obb_drop_pages(void *part, size_t bytes);

/* Asks the system for all pages that lie wholly in a block, which the caller is about to fill. So a
 * page of 4 KiB takes 1.7 us; the fault at the first write to it would take 2.5 us. A page that is
 * there takes 20 ns: it is looked for first, as asking for it again would take 150. The block keeps
 * what was written to it. If the system refuses, the pages come one by one as they are written. A
 * thread that maps memory meanwhile waits for 64 pages at most. */
void obb_fill_pages(void *block, size_t bytes);

/* Returns the block grown or shrunk to count * size bytes, and takes the old block. Returns NULL as
 * obb_malloc does; then the old block is unchanged and still the caller's. */
void *obb_realloc(void *block, size_t count, size_t size);

/* Releases a block of the functions above. NULL is allowed. A thread that collects trash (trash.h)
 * keeps large blocks for another thread, unless they go into stock (stock.h). */
void obb_free(void *block);

#endif
