/* The journal of many processes over one log. Each of them reads the whole log, or what
 * is left of it, and the log decides (chain.h): an entry is settled when its record is read and
 * counts. If the record of another process counts first, all entries of that scene that wait are
 * superseded: the loop hears of them from the newest to the oldest, takes each back, and begins
 * them again behind the foreign record.
 *
 * A record that is too long for one message goes in slices. It counts where its last slice stands,
 * if it would have counted where its first slice stands, and no other record of its scene counts
 * between.
 *
 * The parts of a very large record, and the state of a copy, go beside the log (pieces.h). A
 * foreign record in parts is applied once they were got.
 *
 * What waits for a scene goes into one message, and the next message goes when the one before is
 * known to be in the log. If nobody knows, or if the log does not show what it was said to hold,
 * the same records are sent once more.
 *
 * A record is judged once the foreign record before it of that scene is applied. So what counts and
 * what the store holds never differ between two steps of the loop.
 *
 * A snapshot of a scene lies beside the log, too. The process whose record makes one due writes it,
 * and then a record that says which records it holds (WIRE_RECORD_WHOLE). `keep_ms` later the same
 * process purges the messages before those, with the pieces that only they named. Whoever begins
 * and finds no beginning of a scene keeps its messages until it reads that record, loads the
 * snapshot, and judges what comes behind.
 *
 * A process that lags may find places missing in the log: messages were purged before it came to
 * them, about one scene or another. Until it has read all that was in the log by then, it judges
 * nothing about a scene that does not go on from what it read before. Otherwise a record that
 * reached the log late could seem to count: its own, for one, which it sent before it lagged. If
 * a snapshot holds what the process missed, it loads the scene anew, and goes on from there. Nobody
 * knows whether its entries that were sent count in what was purged (SRV_JOURNAL_UNKNOWN).
 *
 * A snapshot may also show that the scene here is another one though no place was missing: servers
 * differed. The process then loads it, and reads the log once more from there.
 *
 * Each record of a commit holds a hash of the scene after it. If the scene here has another one, it
 * sleeps at once, and is made from the log. If the hash is wrong then, too, the log is believed,
 * and the writer of the record is not: its hashes do not count until one is right.
 *
 * The end of a scene is forgotten after a while, as the rule says, with all that is kept of it.
 *
 * A scene that another process made need not be held here: it sleeps. Its records are judged as
 * ever, but nothing is applied. When somebody wants it, it is made from the log (waking.h), and
 * goes on as every scene does.
 *
 * Marks tell this process what the others have read (marks.h). They count as places of the log, and
 * are in no chain.
 *
 * While the log cannot be reached, new entries fail at once, and nothing of them is ever sent.
 * Entries that were sent before wait until the log has decided. */
#ifndef SRV_SHARED_H
#define SRV_SHARED_H

#include "server/journal/journal.h"
#include "server/journal/marks.h"
#include "server/journal/shared_options.h"

/* Begins to read the log. Returns false without memory or threads; the stream is then still the
 * caller's. */
bool srv_shared_create(const srv_shared_options *options, struct srv_journal **out);

/* The foreign record about this name is applied, or the snapshot is loaded. */
void srv_shared_applied(struct srv_journal *journal, obb_str name);

/* Appends a mark to the log, and calls wait->read once all is applied that any process has read of
 * the log by now: about wait->name, or about all names. Never within this call, and not as long as
 * the log cannot be reached. The owner may take `wait` out before (srv_mark_wait_leave). */
void srv_shared_mark(struct srv_journal *journal, struct srv_mark_wait *wait);

/* The foreign record about this name is not applied: the scene here is not what the log says. It
 * sleeps until it is made from the log once more, which begins at once: srv_foreign.replaces.
 * `why` is one line. Returns false, and does nothing, if that was done for this record before,
 * or if nobody knows from where on the scene is to be read. */
bool srv_shared_differs(struct srv_journal *journal, obb_str name, const char *why);

/* Call it before srv_shared_applied, of what was unchecked: whether its hash is right. */
void srv_shared_checked(struct srv_journal *journal, obb_str name, bool is_right);

/* Lets a scene sleep that is held here, and that nothing waits for. Returns false if it must be
 * held; otherwise the caller takes it out of the store before anything else. */
bool srv_shared_sleep(struct srv_journal *journal, obb_str name);

/* The snapshot of this name does not hold what the record says, or is damaged, or a scene that
 * wakes cannot be made: it is passed over. `why` is one line. */
void srv_shared_refused(struct srv_journal *journal, obb_str name, const char *why);

#endif
