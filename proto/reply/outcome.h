/* The outcome of a commit: what its answer is made of beside the results of queries, as bytes. They
 * are kept for a client that repeats a commit by its id, and read beside the repeated commit, which
 * has the names. */
#ifndef WIRE_OUTCOME_H
#define WIRE_OUTCOME_H

#include "core/obb.h"
#include "proto/base/buf.h"

/* Appends the outcome: an array of numbers in CBOR, about 110 bytes, 27 for each run of new ids
 * that follow each other, and 9 for each entry that was skipped. Without memory buf->failed is
 * set. */
void wire_write_outcome(struct wire_buf *buf, const obb_edit *edit, const obb_committed *committed);

/* Reads the outcome of a commit whose edit is repeated. The lists of *out are in the arena; it has
 * none of versions.
 *
 * errors  OBB_BAD_VALUE: the edit has another number of puts, poses or transforms, or the bytes are
 *         no outcome; OBB_NO_MEMORY. */
obb_status wire_read_outcome(obb_str bytes, const obb_edit *edit, struct obb_arena *arena,
                             obb_committed *out);

#endif
