/* A record that is too long for one message of a log travels in slices. A slice names its record as
 * the record itself does, so that whoever reads the log knows of the first slice whether the rest
 * is worth keeping.
 *
 *   length    u32   of the whole slice
 *   checksum  u32   CRC-32C of all that follows
 *   version   u8    WIRE_SLICE: no record has this version
 *   kind      u8    of the record
 *   writer, counter of the record and of its base, number, count   u64 each
 *   the bytes
 *
 * To wire_record_next a slice is a record. */
#ifndef WIRE_SLICE_H
#define WIRE_SLICE_H

#include "proto/record/record.h"

enum { WIRE_SLICE = 0, WIRE_SLICE_HEAD = 58 /* bytes of a slice beside those of the record */ };

typedef struct wire_slice {
    wire_record_kind kind;
    wire_record_id id, base;
    uint64_t number, count; /* slice `number`, from 0, of `count` */
    obb_str bytes;
} wire_slice;

/* Appends the slice. Without memory out->failed is set. */
void wire_slice_write(const wire_slice *slice, struct wire_buf *out);

/* Returns whether the bytes, which are whole (wire_record_next), say that they are a slice. */
bool wire_slice_is(obb_str bytes);

/* Reads one whole slice, whose bytes point into `bytes`. OBB_BAD_VALUE: they are none, each
 * truncation and flipped bit included. */
obb_status wire_slice_read(obb_str bytes, wire_slice *out);

#endif
