/* Slices: records that are too long for one message of the log, put together again.
 *
 * A record counts where its last slice stands, if it would have counted where its first slice
 * stands, and no other record of its scene counts between. The caller judges that: it adds only
 * slices that follow the newest record that counts, and drops all slices once another one does.
 *
 * Plain data, one thread at a time. */
#ifndef SRV_SLICES_H
#define SRV_SLICES_H

#include "server/journal/chain.h"

#include <stdbool.h>
#include <stdint.h>

struct srv_assembly;

/* The records of one scene of which some slices were read. Zeroed except for the budget. */
struct srv_slices {
    struct obb_budget *budget; /* what is kept counts against it, in any case; NULL: nothing does */
    struct srv_assembly *first; /* owned */
};

/* Returns what the rule reads of a record. */
srv_link srv_link_of(const wire_record *record);

/* Reads the head of the next record about a scene, or puts a slice of one to those before it,
 * unless it cannot count.
 *
 * chain      the records that count so far
 * seq        the place of the message that holds the record
 * bytes      the record, or a slice. If *out_whole, and out_record->bytes is not NULL, the record
 *            was put together: *bytes are those of out_record
 * out_whole  there is a record to judge, whose head is *out
 * out_record empty before. Its bytes are the caller's, as in srv_slices_add
 * out_from   the place of the first slice of the record, or `seq`
 *
 * Returns false if the bytes are damaged, or without memory. */
bool srv_slices_read(struct srv_slices *all, const struct srv_chain *chain, uint64_t seq,
                     obb_str *bytes, wire_record *out, bool *out_whole, struct wire_buf *out_record,
                     uint64_t *out_from);

/* Puts a slice, which was read at this place of the log, to those before it. One that came again is
 * passed by. Returns false without memory.
 *
 * out_whole  it was the last one, and all are there: *out_record, which is empty, holds the record,
 *            and *out_from is the place of its first slice. The bytes still count against the
 *            budget, and are the caller's. */
bool srv_slices_add(struct srv_slices *all, const wire_slice *slice, uint64_t seq, bool *out_whole,
                    struct wire_buf *out_record, uint64_t *out_from);

/* Returns how many slices of this record were read. */
uint64_t srv_slices_of(const struct srv_slices *all, wire_record_id id);

/* Drops the slices of records whose last slice so far stands before this place. */
void srv_slices_drop(struct srv_slices *all, uint64_t seq);

#endif
