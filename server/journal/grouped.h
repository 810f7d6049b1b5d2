/* The journal of one process, in a back end.
 *
 * Entries are bytes to it. One thread writes all that wait as one group, all or nothing, and
 * reports back on the loop. The order of the log is one order over all scenes, so what a back end
 * finds after a crash is always the beginning of that order.
 *
 * If a group fails, all entries that are not durable fail with it, because each may rest on the one
 * before it. Later entries fail too until the back end has recovered by itself. */
#ifndef SRV_GROUPED_H
#define SRV_GROUPED_H

#include "server/base/loop.h"
#include "server/journal/journal.h"

struct srv_backend;

/* sync_ms  0: an entry is settled once it is durable. Otherwise it is settled at once. Its
 *          group is begun so many milliseconds later at most, or as soon as the group before it is
 *          durable. A group that fails is counted and tried again, and further entries fail
 *          meanwhile. At the end of the service (srv_journal_hurry) it is tried for 2 s. What is
 *          not durable then is given up, and counted (srv_journal_figures.lost).
 * The journal owns the back end, which is open and loaded. Returns false without memory or threads;
 * the back end is then still the caller's. */
bool srv_grouped_create(struct srv_loop *loop, struct srv_backend *backend, uint64_t sync_ms,
                        struct srv_journal **out);

#endif
