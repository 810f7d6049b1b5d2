/* The loop's trash: large blocks that the loop frees are given back to the system on the pool,
 * whatever their size. Until then the budget counts them, so that the memory of the process stays
 * within it.
 *
 * Of the large blocks that any thread frees, some are kept in stock for the next request
 * (core/base/stock.h). The budget does not count them: the stock has a limit of its own, and keeps
 * nothing while more than half of the budget is in use. A block that nobody takes for five to six
 * times age_ms becomes trash. */
#ifndef SRV_TRASH_H
#define SRV_TRASH_H

#include "server/base/drain.h"
#include "server/base/pool.h"

/* Zeroed except for the first group. */
struct srv_trash {
    struct srv_loop *loop;
    struct srv_pool *pool;
    struct srv_drain *drain; /* held while blocks are on the pool */
    struct obb_budget *budget;
    size_t stock;    /* bytes that are kept in stock at most */
    uint64_t age_ms; /* between two calls of obb_stock_age */

    struct srv_timer *timer; /* NULL: there was no memory for it */
    bool ages;               /* the timer runs, because blocks are in stock */
    struct srv_job job;
    struct obb_trash_block *blocks; /* on the pool */
    size_t bytes;                   /* of these blocks */
    bool busy;
    uint64_t jobs; /* submitted so far */
};

/* Begins and ends to collect what the loop frees, and to keep blocks in stock. Called on the loop's
 * thread. No job may be left at the end. What is collected or kept then is freed before
 * srv_trash_stop returns. */
void srv_trash_start(struct srv_trash *trash);
void srv_trash_stop(struct srv_trash *trash);

#endif
