#include "core/base/stock.h"

#include "core/base/trash.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST = 32 }; /* blocks */

/* A block that is taken may be larger than what was asked for by one part in so many. The budget
 * counts only what was asked for, and all pages of the block are there. */
enum { SLACK = 32 };

struct kept {
    void *block;
    size_t bytes;
    uint64_t number; /* of the puts, in their order */
    unsigned ages;   /* calls of obb_stock_age since it was put here */
};

static struct {
    atomic_flag in_hand; /* a thread reads or writes the rest */
    atomic_size_t bytes; /* of all blocks; read by any thread */
    obb_stock_scarce *scarce;
    const void *context;
    size_t limit;
    size_t count;
    uint64_t puts;
    struct kept kept[MOST];
} stock = {.in_hand = ATOMIC_FLAG_INIT};

static bool take_in_hand(void)
{
    return !atomic_flag_test_and_set_explicit(&stock.in_hand, memory_order_acquire);
}

static void let_go(void) { atomic_flag_clear_explicit(&stock.in_hand, memory_order_release); }

static void add_bytes(size_t bytes)
{
    atomic_store_explicit(&stock.bytes, obb_stock_bytes() + bytes, memory_order_relaxed);
}

/* Takes a block out of the list. */
static void *remove_kept(size_t i)
{
    const struct kept kept = stock.kept[i];
    stock.kept[i] = stock.kept[--stock.count];
    add_bytes(-kept.bytes);
    return kept.block;
}

void obb_stock_set_limit(size_t limit, obb_stock_scarce *scarce, const void *context)
{
    while (!take_in_hand())
        continue;
    stock.scarce = scarce;
    stock.context = context;
    stock.limit = limit;
    while (limit == 0 && stock.count > 0)
        free(remove_kept(stock.count - 1));
    let_go();
}

void *obb_stock_take(size_t bytes, size_t alignment)
{
    if (bytes < OBB_STOCK_LEAST || obb_stock_bytes() < bytes || !take_in_hand())
        return NULL;
    size_t best = stock.count;
    for (size_t i = 0; i < stock.count; i++) {
        const struct kept *kept = &stock.kept[i];
        if (kept->bytes >= bytes && kept->bytes - bytes <= bytes / SLACK &&
            ((uintptr_t)kept->block & (alignment - 1)) == 0 &&
            (best == stock.count || kept->bytes < stock.kept[best].bytes))
            best = i;
    }
    void *block = best < stock.count ? remove_kept(best) : NULL;
    let_go();
    return block;
}

static void free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!obb_trash_put(blocks[i]))
            free(blocks[i]);
}

/* Takes the block out of the list that has lain there longest. */
static void *remove_oldest(void)
{
    size_t oldest = 0;
    for (size_t i = 1; i < stock.count; i++)
        if (stock.kept[i].number < stock.kept[oldest].number)
            oldest = i;
    return remove_kept(oldest);
}

/* Returns how many bytes may be in stock now. */
static size_t limit_now(void)
{
    return stock.scarce != NULL && stock.scarce(stock.context) ? 0 : stock.limit;
}

bool obb_stock_put(void *block, size_t bytes)
{
    if (bytes < OBB_STOCK_LEAST || !take_in_hand())
        return false;
    void *old[MOST];
    size_t count = 0;
    const size_t limit = limit_now();
    const bool fits = bytes <= limit / 2;
    const size_t beside = fits ? limit - bytes : limit;
    while (obb_stock_bytes() > beside || (fits && stock.count == MOST))
        old[count++] = remove_oldest();
    if (fits) {
        stock.kept[stock.count++] =
            (struct kept){.block = block, .bytes = bytes, .number = stock.puts++};
        add_bytes(bytes);
    }
    let_go();
    free_all(old, count);
    return fits;
}

void obb_stock_age(void)
{
    void *old[MOST];
    size_t count = 0;
    if (!take_in_hand())
        return;
    for (size_t i = stock.count; i-- > 0;)
        if (stock.kept[i].ages++ == OBB_STOCK_AGES)
            old[count++] = remove_kept(i);
    let_go();
    free_all(old, count);
}

size_t obb_stock_bytes(void) { return atomic_load_explicit(&stock.bytes, memory_order_relaxed); }
