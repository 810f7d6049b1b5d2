/* The journal: an ordered log of what commits did, and snapshots of scenes, kept by a back end.
 *
 * Entries are bytes to the journal. The loop hands entries over in their order. One thread of the
 * journal writes all that wait as one group, all or nothing, and reports back on the loop. The
 * order of the log is one order over all scenes, so what a back end finds after a crash is always
 * the beginning of that order.
 *
 * If a group fails, all entries that are not durable fail with it, because each may rest on the one
 * before it. The loop then hears of them from the newest to the oldest, and takes each back. Later
 * entries fail too until the back end has recovered by itself.
 *
 * All functions are called on the loop. */
#ifndef SRV_JOURNAL_H
#define SRV_JOURNAL_H

#include "server/base/loop.h"
#include "server/journal/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_backend;
struct srv_journal;

/* sync_ms  0: an entry is settled once it is durable. Otherwise it is settled at once, and is
 *          durable so many milliseconds later; a failure is then only counted and tried again.
 * The journal owns the back end, which is open and loaded. Returns false without memory or threads;
 * the back end is then still the caller's. */
bool srv_journal_create(struct srv_loop *loop, struct srv_backend *backend, uint64_t sync_ms,
                        struct srv_journal **out);

/* Writes what waits and ends the thread. No callback is called any more: no entry may be unsettled.
 * Accepts NULL. */
void srv_journal_destroy(struct srv_journal *journal);

/* The service ends: from now on no entry waits for sync_ms. */
void srv_journal_hurry(struct srv_journal *journal);

/* Hands an entry over. `settled` and `released` are called later, never inside this call. O(1), no
 * system call except to wake the thread. */
void srv_journal_append(struct srv_journal *journal, struct srv_entry *entry);

/* Returns a number that no scene and no snapshot of this journal has had. */
uint64_t srv_journal_number(struct srv_journal *journal);

/* Records below `seq` are not needed any more. The thread removes them when it has time. */
void srv_journal_forget(struct srv_journal *journal, uint64_t seq);

/* Returns SRV_JOURNAL_OK, or why entries fail at this moment. */
srv_journal_status srv_journal_state(struct srv_journal *journal);

/* Returns how many entries wait or are being written. */
size_t srv_journal_waiting(struct srv_journal *journal);

/* Counts upkeep of the loop that failed, among the failures of the journal. */
void srv_journal_count_failure(struct srv_journal *journal);

const struct srv_journal_figures *srv_journal_figures(const struct srv_journal *journal);

#endif
