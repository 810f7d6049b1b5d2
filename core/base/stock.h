/* Stock: large blocks that were freed, kept for whoever allocates such a block next.
 *
 * The system takes 2 us for each page of a new block, and clears it, and 0.4 us to take the page
 * back: 6 ms for a block of 9 MB. A service that gets one large request after another pays for the
 * same pages each time: for its body, for what the body decodes to, for results and answers. A
 * block in stock keeps its pages.
 *
 * The process has one stock, because a block may be freed by another thread than the one that will
 * use it next. Allocating and freeing wait for nobody: while one thread has the stock in hand,
 * others find nothing in it and no room. In the beginning the stock has no room. All functions may
 * be called from any thread at the same time. */
#ifndef OBB_STOCK_H
#define OBB_STOCK_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes. Smaller blocks are not kept: the heap has their pages (see server/main.c). */
#define OBB_STOCK_LEAST ((size_t)256 << 10)

/* Says whether memory is short at this moment. Any thread may call it. */
typedef bool obb_stock_scarce(const void *context);

/* Lets the stock hold up to `limit` bytes from now on. 0 gives all blocks back to the system. While
 * `scarce` returns true, the limit is 0, too: then each block that is freed takes all others out of
 * the stock. NULL: memory is never short. Waits while another thread has the stock in hand. */
void obb_stock_set_limit(size_t limit, obb_stock_scarce *scarce, const void *context);

/* Returns a block of at least `bytes` bytes whose address is a multiple of `alignment`, a power of
 * two, or NULL if there is none in stock. The block is at most a 32nd larger than `bytes`, and
 * holds what was last written to it. The caller frees it with obb_free. */
void *obb_stock_take(size_t bytes, size_t alignment);

/* For alloc.c: takes over a block that is being freed. `bytes` is what malloc_usable_size says of
 * it. Blocks that have lain in stock longest give way to it, and are freed as by obb_stock_age.
 * Returns false if the block is too small, or larger than half of the limit: it is still the
 * caller's. */
bool obb_stock_put(void *block, size_t bytes);

/* Frees the blocks that nobody took since the OBB_STOCK_AGES-th call before this one. On a thread
 * that collects trash (trash.h) they become trash. */
#define OBB_STOCK_AGES 5
void obb_stock_age(void);

/* Returns the bytes of the blocks in stock. */
size_t obb_stock_bytes(void);

#endif
