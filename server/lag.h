/* How late the event loop is: a timer that measures itself, every 100 ms. */
#ifndef SRV_LAG_H
#define SRV_LAG_H

#include "server/base/loop.h"
#include "server/base/metrics.h"

struct srv_lag;

/* metrics: gets loop_lag_us, the worst lateness of the last 10 to 20 s. Returns false if there is
 * no memory. */
bool srv_lag_create(struct srv_loop *loop, struct srv_metrics *metrics, struct srv_lag **out);

/* Begins to measure. Call just before the loop runs. */
void srv_lag_start(struct srv_lag *lag);

void srv_lag_destroy(struct srv_lag *lag); /* NULL is fine */

#endif
