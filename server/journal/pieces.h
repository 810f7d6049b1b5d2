/* Pieces beside a log of many processes: the parts of large records, and the states of copies. They
 * are kept in sets. The set of a record has the record's id, and is whole before the record is
 * appended. Whoever reads the record then gets the pieces.
 *
 * A piece is kept in slices of up to `slice_bytes`, each under a key of its own. So a slice that is
 * kept twice makes no difference. The slice that is written last says how many pieces there are.
 *
 * Loop only. */
#ifndef SRV_PIECES_H
#define SRV_PIECES_H

#include "server/journal/entry.h"
#include "server/journal/stream.h"

/* Gets all pieces of a set. In the caller's memory, zeroed except for the first group, until `done`
 * or srv_fetch_end. */
struct srv_fetch {
    wire_record_id set;
    /* All pieces are there. If `found` is false, the servers have said for SRV_PIECES_PATIENCE_MS
     * that one is not, or one is damaged, or there is no memory. Called once. */
    void (*done)(struct srv_fetch *fetch, bool found);
    uint64_t patience_ms; /* in place of SRV_PIECES_PATIENCE_MS; 0: that */

    struct wire_buf *pieces; /* owned; they count against the budget of srv_pieces */
    size_t count;

    /* Of srv_pieces. */
    struct srv_pieces *all;
    struct srv_fetch *previous, *next;
    size_t room;
    uint64_t total;                /* pieces; 0: nobody knows yet */
    uint64_t slice;                /* the next one, of the piece behind the last whole one */
    uint64_t tag;                  /* of what is asked for; 0: nothing */
    uint64_t asked_ms, missing_ms; /* missing_ms: when a server first said that it is not there */
    size_t misses;                 /* servers that said so, one after the other */
    bool under_way;
};

enum {
    SRV_PIECES_PATIENCE_MS = 30000,
    SRV_PIECES_MISSES = 5 /* answers, before a piece is gone: also if they come slowly */
};

/* Zeroed except for the first group. */
struct srv_pieces {
    struct srv_stream *stream;
    struct obb_budget *budget; /* counts what was got, in any case; NULL: nothing is counted */
    size_t slice_bytes;
    uint64_t patience_ms; /* a slice of which nothing is heard for so long is sent again */

    struct srv_entry *first; /* under way: pieces, sets that are dropped, words about snapshots */
    struct srv_fetch *fetches;
    struct wire_buf message;
    uint64_t tag;
};

/* Keeps the piece of an entry (SRV_ENTRY_CHUNK), removes a set (SRV_ENTRY_DROPPED), or appends the
 * record to the log that says that a set is a whole snapshot (SRV_ENTRY_SNAPSHOT). The entry is
 * settled when that is done, or has failed because the stream is away, or because nothing was kept
 * for SRV_PIECES_PATIENCE_MS; never within this call. entry->bytes must be set. */
void srv_pieces_append(struct srv_pieces *all, struct srv_entry *entry, uint64_t now_ms);

/* Removes a set. If the servers cannot be reached, it stays as an orphan. */
void srv_pieces_drop(struct srv_pieces *all, wire_record_id set, uint64_t now_ms);

/* Begins to get the pieces of a set. `done` is not called within this call. */
void srv_fetch_begin(struct srv_pieces *all, struct srv_fetch *fetch, uint64_t now_ms);

/* Frees the pieces, and gives the fetch up if it is under way. Zeroes are fine. */
void srv_fetch_end(struct srv_fetch *fetch);

/* As in srv_stream_calls. srv_pieces_appended returns false if the tag is not of a piece. */
bool srv_pieces_appended(struct srv_pieces *all, uint64_t tag, bool known, uint64_t now_ms);
void srv_pieces_got(struct srv_pieces *all, uint64_t tag, srv_stream_found found, obb_str bytes,
                    uint64_t now_ms);

/* Tries again what makes no progress. Call it a few times within patience_ms. */
void srv_pieces_look(struct srv_pieces *all, uint64_t now_ms);

/* Gives up all entries, for the end of the service. */
void srv_pieces_give_up(struct srv_pieces *all);

/* Nothing is under way any more. */
void srv_pieces_fini(struct srv_pieces *all);

#endif
