#include "server/access/rate.h"

#include "core/obb.h"

#include <assert.h>
#include <stddef.h>

enum { SETS = 2048, WAYS = 8 };

struct client {
    uint64_t id;
    uint64_t due_ns; /* when the bucket is full again; in the past: the place is free */
};

struct srv_rate {
    uint64_t period_ns, tolerance_ns, secret;
    struct client rest; /* shared by all clients without a place */
    struct client clients[SETS * WAYS];
};

bool srv_rate_create(uint64_t per_second, uint64_t secret, struct srv_rate **out)
{
    assert(per_second >= 1 && per_second <= 1000000);
    struct srv_rate *rate = obb_calloc(1, sizeof *rate);
    if (rate == NULL)
        return false;
    rate->period_ns = 1000000000 / per_second;
    rate->tolerance_ns = rate->period_ns * (per_second - 1);
    rate->secret = secret;
    *out = rate;
    return true;
}

void srv_rate_destroy(struct srv_rate *rate) { obb_free(rate); }

/* Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure
 * 16. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns the client's place. A new client gets a free place in whichever of its two sets has more
 * of them, or the shared place if both are full. */
static struct client *place_of(struct srv_rate *rate, uint64_t id, uint64_t now_ns)
{
    const uint64_t hash = mix(id ^ rate->secret);
    const size_t sets[] = {hash % SETS, (hash >> 32) % SETS};
    struct client *best = &rate->rest;
    size_t most = 0;
    for (size_t i = 0; i < 2; i++) {
        struct client *set = &rate->clients[sets[i] * WAYS], *idle = NULL;
        size_t count = 0;
        for (size_t way = 0; way < WAYS; way++) {
            if (set[way].id == id)
                return &set[way];
            if (set[way].due_ns <= now_ns) {
                idle = &set[way];
                count++;
            }
        }
        if (count > most) {
            best = idle;
            most = count;
        }
    }
    return best;
}

bool srv_rate_admit(struct srv_rate *rate, uint64_t client, uint64_t now_ns)
{
    struct client *place = place_of(rate, client, now_ns);
    if (place->due_ns > now_ns + rate->tolerance_ns)
        return false;
    place->id = client;
    place->due_ns = (place->due_ns > now_ns ? place->due_ns : now_ns) + rate->period_ns;
    return true;
}
