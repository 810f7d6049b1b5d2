#include "server/scenes/starved.h"

/* Whoever gives memory back may be any thread, and says nothing. So the loop looks. */
enum { LOOK_MS = 20 };

/* Bytes that must be free for each one that tries again. */
#define SHARE ((size_t)1 << 20)

void srv_starved_leave(struct srv_starved *starved, struct srv_starving *starving)
{
    if (!starving->waits)
        return;
    struct srv_starving *previous = starving->previous, *next = starving->next;
    *(previous != NULL ? &previous->next : &starved->first) = next;
    *(next != NULL ? &next->previous : &starved->last) = previous;
    starving->waits = false;
    if (starved->first == NULL)
        srv_timer_stop(starved->timer);
}

/* Lets the first ones try, as many as there are shares free; one in any case if the limit is less
 * than a few shares. */
static void look(void *context)
{
    struct srv_starved *starved = context;
    const size_t limit = starved->budget->limit, used = obb_budget_used(starved->budget);
    const size_t share = limit / 8 < SHARE ? limit / 8 + 1 : SHARE;
    for (size_t tries = used < limit ? (limit - used) / share : 0;
         tries > 0 && starved->first != NULL; tries--) {
        struct srv_starving *first = starved->first;
        srv_starved_leave(starved, first);
        first->again(first);
    }
}

bool srv_starved_init(struct srv_starved *starved, struct srv_loop *loop,
                      const struct obb_budget *budget)
{
    starved->budget = budget;
    return srv_timer_create(loop, look, starved, &starved->timer);
}

void srv_starved_fini(struct srv_starved *starved) { srv_timer_destroy(starved->timer); }

void srv_starved_wait(struct srv_starved *starved, struct srv_starving *starving)
{
    if (starving->ticket == 0)
        starving->ticket = ++starved->tickets;
    struct srv_starving *previous = starved->last;
    while (previous != NULL && previous->ticket > starving->ticket)
        previous = previous->previous;
    if (starved->first == NULL)
        srv_timer_start(starved->timer, LOOK_MS, LOOK_MS);
    starving->waits = true;
    starving->previous = previous;
    starving->next = previous != NULL ? previous->next : starved->first;
    *(previous != NULL ? &previous->next : &starved->first) = starving;
    *(starving->next != NULL ? &starving->next->previous : &starved->last) = starving;
}
