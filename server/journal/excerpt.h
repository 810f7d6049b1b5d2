/* An excerpt of the journal of one process: all that it holds of one scene, read slice by slice
 * beside the work. First come the pieces of the scene's snapshot, if it has one, and then its
 * records, each behind its pieces, in the order of the log.
 *
 * While somebody reads an excerpt, the journal drops nothing: neither records that are not needed
 * any more, nor former snapshots. So each excerpt should have an end soon. */
#ifndef SRV_EXCERPT_H
#define SRV_EXCERPT_H

#include "server/journal/entry.h"

/* A row of the journal about a scene. Zeroed except for what it is. */
struct srv_row {
    uint64_t seq;                 /* of a record, or of that of a piece; 0: a piece of a snapshot */
    bool is_piece;                /* of a record */
    uint64_t number, count, from; /* of a piece of a snapshot: its place, how many there are, and
                                   * the first record, by `seq`, that counts after it */
    struct wire_buf bytes;        /* owned */
};

enum {
    SRV_EXCERPT_ROWS = 256,       /* of a slice, at most */
    SRV_EXCERPT_BYTES = 256 << 10 /* of their bodies, after which a slice ends: 0.3 ms */
};

/* In the owner's memory, zeroed except for the first group. */
struct srv_excerpt {
    uint64_t scene;                            /* its number in the journal */
    struct obb_budget *budget;                 /* what the rows draw from */
    void (*read)(struct srv_excerpt *excerpt); /* on the loop: the slice is there, or failed */

    /* The slice. The owner may take the bytes of its rows. */
    struct srv_row rows[SRV_EXCERPT_ROWS];
    size_t count;
    bool ended;        /* nothing comes behind it */
    obb_status status; /* OBB_NO_MEMORY; or OBB_BAD_VALUE: what was found is damaged, or the journal
                        * cannot be read at this moment */

    /* The journal's. */
    bool begun, in_record;
    size_t bytes;
    uint64_t chunks, first; /* of the snapshot */
    uint64_t set, set_next; /* pieces that are being read; 0: none */
    uint64_t next;          /* the record that comes next */
    struct srv_excerpt *following;
};

/* Frees the rows of the slice. */
void srv_excerpt_clear(struct srv_excerpt *excerpt);

#endif
