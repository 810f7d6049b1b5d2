/* The workers: threads of libuv's pool that run items, one after the other, and give each back to
 * the loop.
 *
 * A thread comes from libuv when there is an item for it, and goes back there when there was none
 * for a tenth of a second. In between it takes items from the queue of these workers, and gives
 * them back by a bell of theirs: with libuv before 1.45 the loop spins while a thread that has just
 * woken it through libuv is kept off its processor.
 *
 * All functions but srv_workers_queued are called on the loop. */
#ifndef SRV_WORKERS_H
#define SRV_WORKERS_H

#include "server/base/loop.h"

#include <stddef.h>

struct srv_workers;

/* In the owner's memory, zeroed except for the first group, from srv_workers_queue until `back`. */
struct srv_item {
    void (*run)(struct srv_item *item); /* on a worker; unless the item is withdrawn */
    /* On the loop, never inside a call of this file. The item may be queued again or freed. */
    void (*back)(struct srv_item *item);

    /* The workers'. */
    size_t worker; /* the number of the worker that runs it, from 0 */
    bool queued;
    struct srv_item *before, *behind;
};

/* Starts up to `count` threads with stacks like those of libuv's, all alive at the same time, and
 * ends them. Returns how many the system allowed: libuv ends the process if it cannot start its
 * threads. `count` is at most SRV_MOST_THREADS. Cost: about 30 us a thread. */
enum { SRV_MOST_THREADS = 2048 };
size_t srv_workers_try(size_t count);

/* Starts libuv's threads, too. count: threads at a time. The first workers of a process fix the
 * number of libuv's threads. Returns false without memory or descriptors. */
bool srv_workers_create(struct srv_loop *loop, size_t count, struct srv_workers **out);

/* No item may be queued or under way. Threads that wait are sent back to libuv; the loop must run
 * until it is destroyed. Accepts NULL. */
void srv_workers_destroy(struct srv_workers *workers);

/* Queues a item; they are run in this order. */
void srv_workers_queue(struct srv_workers *workers, struct srv_item *item);

/* Returns how many items no worker has begun. Any thread. */
size_t srv_workers_queued(const struct srv_workers *workers);

/* Gives back a item without a run, if no worker has begun it. */
void srv_workers_withdraw(struct srv_workers *workers, struct srv_item *item);

#endif
