/* The rate limit of each client: a token bucket for each, in memory of a fixed size. On the loop's
 * thread only.
 *
 * A client may send `per_second` requests at once, and gets one back each 1/per_second s. So after
 * a refusal a client waits a second at most. A refused request costs the client nothing.
 *
 * A client whose bucket is full again is forgotten, as it does not differ from a new one. So each
 * request keeps its client here for 1/per_second s, and all 16,384 places are taken only while more
 * than 16,384 x per_second requests a second are admitted. Even then no client loses its place:
 * clients without a place share one bucket until places are free again. A secret decides which 16
 * places a client may have, so nobody can aim at the places of another client.
 *
 * Source   GCRA as a virtual schedule: ITU-T I.371, annex A; ATM Forum, Traffic Management 4.0,
 *          1996, 4.4.2. Places by two choices: Azar, Broder, Karlin, Upfal, "Balanced Allocations",
 *          SIAM J. Comput. 29, 1999. */
#ifndef SRV_RATE_H
#define SRV_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct srv_rate;

/* per_second: 1 to 1,000,000. secret: random. Takes about 256 KiB; the system provides pages when
 * they are first touched. Returns false without memory. */
bool srv_rate_create(uint64_t per_second, uint64_t secret, struct srv_rate **out);
void srv_rate_destroy(struct srv_rate *rate); /* accepts NULL */

/* Returns whether the client may send now, and counts the request if so. now_ns: nanoseconds of a
 * monotonic clock. Costs 40 to 200 ns, depending on the caches. */
bool srv_rate_admit(struct srv_rate *rate, uint64_t client, uint64_t now_ns);

#endif
