/* Puts in columns: one array of names, one of all centres, one of all half extents, and so on.
 * Internal to the room. */
#ifndef WIRE_PUT_COLUMNS_H
#define WIRE_PUT_COLUMNS_H

#include "proto/codec/cursor.h"

/* Returns true if the next value is an object of columns: its member "names" is an array. The
 * cursor stays where it is, unless it failed. Looks no further than to the first member that is an
 * object, because no column is one. */
bool wire_is_put_columns(struct wire_cursor *c);

/* Reads {"names","centers","half_extents","rotations" or "angles","entities","category","mask",
 * "group"}. *out is in the arena. Returns false if the cursor failed; *out then holds the rows
 * before the one at fault, none if the fault is in the columns as such. A name that an earlier row
 * has, too, is a fault of its row (OBB_BAD_NAME). */
bool wire_read_put_columns(struct wire_cursor *c, int dimensions, const obb_put_columns **out,
                           size_t *out_count);

#endif
