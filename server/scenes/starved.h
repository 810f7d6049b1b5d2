/* Answers that have begun, and find no memory in --memory-limit for their next piece. They wait in
 * the order in which they came, hold little meanwhile, and go on when there is memory again. Loop
 * only. */
#ifndef SRV_STARVED_H
#define SRV_STARVED_H

#include "core/obb.h"
#include "server/base/loop.h"

#include <stdbool.h>
#include <stdint.h>

/* One that may wait. In the owner's memory, zeroed. */
struct srv_starving {
    void (*again)(struct srv_starving *starving); /* the owner's: try once more */

    /* Private. */
    bool waits;
    uint64_t ticket; /* its place in the order; 0: none */
    struct srv_starving *previous, *next;
};

/* Zeroed, except for the first group. */
struct srv_starved {
    const struct obb_budget *budget;
    struct srv_timer *timer; /* of srv_starved_init */

    struct srv_starving *first, *last; /* who waits, by ticket */
    uint64_t tickets;
};

/* Returns false without memory. */
bool srv_starved_init(struct srv_starved *starved, struct srv_loop *loop,
                      const struct obb_budget *budget);

/* Nobody may wait. Accepts zeroes. */
void srv_starved_fini(struct srv_starved *starved);

/* Lets an owner wait. If it has waited before, and was not fed since, it has its old place. */
void srv_starved_wait(struct srv_starved *starved, struct srv_starving *starving);

/* Takes an owner that waits out of the order. Does nothing for others. */
void srv_starved_leave(struct srv_starved *starved, struct srv_starving *starving);

/* Says that the owner has got what it waited for. */
static inline void srv_starved_fed(struct srv_starving *starving) { starving->ticket = 0; }

#endif
