/* Waking: gets all that a scene of a log of many processes is made of, which this process does not
 * hold: its last snapshot, or nothing, and the records that count behind it.
 *
 * The messages about the scene are read once more, beside the log, from a place on where it is
 * known which record was the newest one (`chain`), to the place `until`. They are judged by the
 * rule as they were judged before. So the last one that counts must be the one that is known
 * (`newest`). If it is not, messages were purged meanwhile, or the server differs: the scene is
 * then not made of what was read.
 *
 * Records that count behind `until` come from whoever reads the log (srv_waking_add).
 *
 * Loop only. */
#ifndef SRV_WAKING_H
#define SRV_WAKING_H

#include "server/journal/pieces.h"
#include "server/journal/slices.h"

/* A record that counts, with its pieces. */
typedef struct srv_woken_record {
    uint64_t seq;
    obb_str bytes;
    const struct wire_buf *pieces;
    size_t piece_count;
} srv_woken_record;

struct srv_woken;
struct srv_woken_list {
    struct srv_woken *first, *last;
};

/* In the caller's memory, zeroed except for the first group, until srv_waking_end. */
struct srv_waking {
    struct srv_stream *stream;
    struct srv_pieces *pieces;
    struct obb_budget *budget; /* what is got counts against it, in any case; NULL: nothing does */
    uint64_t patience_ms;
    obb_str name;           /* lives as long as this */
    struct srv_chain chain; /* before the first record that is read; nothing is pending */
    uint64_t from, until;   /* the places of the first and of the last message that are read */
    wire_record_id newest;  /* that counts up to `until` */
    wire_record_id set;     /* of the snapshot; zeroes: the first record makes the scene */
    uint64_t tag;           /* of what is read; no other waking has it */
    /* Everything is got: srv_waking_list. Or it is not, `why` says it in one line, and only
     * srv_waking_end may follow. Called once, never within srv_waking_begin. */
    void (*done)(struct srv_waking *waking, const char *why);

    struct srv_fetch snapshot;
    bool has_snapshot;
    struct srv_slices slices;
    struct srv_woken_list records, later; /* owned; later: behind `until` */
    size_t count;
    uint64_t read, heard_ms; /* the last message that was read; when */
    size_t asks;             /* since then */
    bool is_asked, is_read;
    struct srv_woken *fetching; /* whose pieces are being got */
    srv_woken_record *list;     /* owned */
    const char *why;            /* it has failed */
    bool is_over;
};

/* Begins to get it. `done` is not called within this call. */
void srv_waking_begin(struct srv_waking *waking, uint64_t now_ms);

/* A message that was asked for was delivered. */
void srv_waking_read(struct srv_waking *waking, uint64_t seq, obb_str bytes, uint64_t now_ms);

/* Adds a record, which is copied, that counts behind `until`, in the order of the log. `done` is
 * not called within this call: without memory it is called later. */
void srv_waking_add(struct srv_waking *waking, uint64_t seq, obb_str bytes, bool in_parts);

/* Asks again for what does not come. Call it a few times within patience_ms. */
void srv_waking_look(struct srv_waking *waking, uint64_t now_ms);

/* Returns all records, once everything is got; NULL without memory. They live until
 * srv_waking_end. */
const srv_woken_record *srv_waking_list(struct srv_waking *waking, size_t *out_count);

/* Frees all that was got, and gives up what is under way. */
void srv_waking_end(struct srv_waking *waking);

#endif
