/* The journal of many processes over one log. Each of them reads the whole log, and the log decides
 * (chain.h): an entry is settled when its record is read and counts. If the record of another
 * process counts first, all entries of that scene that wait are superseded: the loop hears of them
 * from the newest to the oldest, takes each back, and begins them again behind the foreign record.
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
 * The end of a scene is forgotten after a while, as the rule says, with all that is kept of it.
 *
 * While the log cannot be reached, new entries fail at once, and nothing of them is ever sent.
 * Entries that were sent before wait until the log has decided. */
#ifndef SRV_SHARED_H
#define SRV_SHARED_H

#include "server/base/loop.h"
#include "server/journal/journal.h"
#include "server/journal/stream.h"

/* A record of another process that counts. The texts live until srv_shared_applied. */
typedef struct srv_foreign {
    obb_str name;
    uint64_t seq;
    obb_str bytes;
    /* If the record comes in parts: the pieces of its set. They hold the records that come before
     * it, or a snapshot (proto/record). */
    const struct wire_buf *pieces;
    size_t piece_count;
} srv_foreign;

typedef struct srv_shared_options {
    struct srv_loop *loop;
    struct srv_stream *stream; /* the journal's once it is created */
    /* Whatever is kept of the log counts against it, also beyond its limit: messages and slices
     * that wait to be judged, and names. So less is left for others, and the following goes on. */
    struct obb_budget *budget; /* NULL: nothing is counted */
    size_t message_bytes;      /* the longest message, about; 0: 512 KiB */
    size_t slice_bytes;        /* of pieces: likewise; 0: 128 KiB */
    uint64_t patience_ms;      /* a message nothing is heard of for so long may be lost; 0: 1,000 */
    /* Applies a record. Calls srv_shared_applied, now or later; not before the entries of the scene
     * that wait are taken back. */
    void (*foreign)(void *context, const srv_foreign *record);
    void (*caught_up)(void *context); /* all is applied that was in the log at the beginning */
    /* The process cannot follow the log any further. Nothing is called any more. */
    void (*lost)(void *context, const char *why);
    void *context;
} srv_shared_options;

/* Begins to read the log. Returns false without memory or threads; the stream is then still the
 * caller's. */
bool srv_shared_create(const srv_shared_options *options, struct srv_journal **out);

/* The foreign record about this name is applied. */
void srv_shared_applied(struct srv_journal *journal, obb_str name);

#endif
