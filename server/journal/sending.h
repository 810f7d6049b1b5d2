/* Entries on their way to the log of many processes: sent, sent again, settled, taken back. */
#ifndef SRV_SENDING_H
#define SRV_SENDING_H

#include "server/journal/strand_body.h"

/* Returns the entry that has this part. */
static inline struct srv_entry *srv_entry_of(struct srv_pending *pending)
{
    return (struct srv_entry *)(void *)((char *)pending - offsetof(struct srv_entry, pending));
}

/* Says what became of an entry, and gives it back. */
void srv_entry_settle(struct srv_entry *entry, srv_journal_status status);

/* Keeps the list of strands that have pending entries. */
void srv_sending_note_waiting(struct srv_shared *j, struct srv_strand *s);

/* Takes out all pending entries and settles them, the newest first. The calls may append others.
 * unknown: those that were sent may count in what was purged. */
void srv_sending_settle_all(struct srv_shared *j, struct srv_strand *s, srv_journal_status status,
                            bool unknown);

/* Lets everything pending of a name be sent once more. */
void srv_sending_rewind(struct srv_shared *j, struct srv_strand *s);

/* Sends what was not sent yet of a name as one message, unless one is under way, or records of the
 * log are still to be judged: one of them may come first. */
void srv_sending_send(struct srv_shared *j, struct srv_strand *s);

/* The message with this tag is in the log; if not `known`, nobody knows (srv_stream_calls). */
void srv_sending_appended(void *context, uint64_t tag, bool known);

/* Takes back all entries of a strand that wait. If a foreign record came first, it is applied
 * meanwhile, and so is all that was read behind it. Only then do the entries begin again; those
 * that may count already do not (`unknown`, as in srv_sending_settle_all). */
void srv_sending_supersede(struct srv_shared *j, struct srv_strand *s, bool unknown);

#endif
