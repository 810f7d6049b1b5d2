/* How often each client may send: a bucket of tokens a client, in memory of a fixed size. The loop's thread alone.
 *
 * A client may send `per_second` requests at once, and gets one of them back each 1/per_second s, so that after a refusal it never
 * waits longer than a second. What is refused costs it nothing.
 *
 * A client whose bucket is full again is forgotten, as nothing tells it from a new one: each request keeps its client here for
 * 1/per_second s, so that the places, 16,384, are all taken only while more than 16,384 x per_second requests a second are
 * admitted. Then nobody loses a place: clients that have none share one bucket, until places are free again. Which of 16 places
 * a client may have hangs on a secret, so that nobody can aim at those of another.
 *
 * Source   GCRA as a virtual schedule: ITU-T I.371, annex A; ATM Forum, Traffic Management 4.0, 1996, 4.4.2. Places by two
 *          choices: Azar, Broder, Karlin, Upfal, "Balanced Allocations", SIAM J. Comput. 29, 1999. */
#ifndef SRV_RATE_H
#define SRV_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct srv_rate;

/* per_second: 1 to 1,000,000. secret: random. About 256 KiB, of which the system gives what is touched. false: no memory. */
bool srv_rate_create(uint64_t per_second, uint64_t secret, struct srv_rate **out);
void srv_rate_destroy(struct srv_rate *rate); /* NULL is fine */

/* May the client send now? If so, it has. now_ns: nanoseconds of any clock that does not go back. 40 to 200 ns, as caches have it. */
bool srv_rate_admit(struct srv_rate *rate, uint64_t client, uint64_t now_ns);

#endif
