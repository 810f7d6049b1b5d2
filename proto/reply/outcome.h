/* The outcome of a commit: what its answer is made of beside the results of queries, as bytes. They
 * are kept for a client that repeats a commit by its id, and read beside the repeated commit, which
 * has the names, perhaps in another order. */
#ifndef WIRE_OUTCOME_H
#define WIRE_OUTCOME_H

#include "core/obb.h"
#include "proto/base/buf.h"

/* Appends the outcome: about 120 bytes, 27 for each run of new ids that follow each other, 8 for
 * each new id, and 17 for each entry that was skipped. If more than 262,144 boxes are new or
 * entries were skipped, the 8 bytes of each are left out. Without memory buf->failed is set.
 *
 * Cost     about 15 ns an entry. */
void wire_write_outcome(struct wire_buf *buf, const obb_edit *edit, const obb_committed *committed);

/* Reads the outcome of a commit whose edit is repeated, its entries in any order. Where these bytes
 * were left out, and in an outcome of an older journal, the order must be that of the first time.
 * The lists of *out are in the arena; it has none of versions.
 *
 * errors  OBB_BAD_VALUE: the edit puts, poses or transforms other boxes, or poses other frames, or
 *         in another order where that counts, or the bytes are no outcome; OBB_NO_MEMORY;
 *         OBB_CANCELLED.
 * cancel  may be NULL; polled every 4,096 entries.
 * Cost    about 15 ns an entry, and 150 ns a new id. */
obb_status wire_read_outcome(obb_str bytes, const obb_edit *edit, const atomic_bool *cancel,
                             struct obb_arena *arena, obb_committed *out);

#endif
