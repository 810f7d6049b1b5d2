/* Walks: going over a value of any kind without knowing it beforehand, to skip it, to copy it, or
 * to find a place in it. */
#ifndef WIRE_WALK_H
#define WIRE_WALK_H

#include "proto/base/buf.h"
#include "proto/codec/cursor.h"

/* Moves past the next value. It is checked as strictly as if it had been read, duplicate keys
 * included. Returns false if the cursor failed. */
bool wire_skip(struct wire_cursor *c);

/* Likewise, of the value of the member `key`: the levels of `data` count on their own. */
bool wire_skip_member(struct wire_cursor *c, obb_str key);

/* Copies the next value, which is data, as compact JSON in UTF-8 into the arena; numbers keep the
 * digits that were sent. More than OBB_MAX_DATA bytes are WIRE_TOO_LONG, numbers beyond the range
 * of a double OBB_BAD_NUMBER. Returns false if the cursor failed. */
bool wire_capture(struct wire_cursor *c, obb_str *out);

/* Appends the next value, which was decoded once already, to `out` as compact JSON of any length.
 * Numbers keep the digits that were sent; typed arrays of CBOR become arrays. Returns false if the
 * cursor or the buffer failed. */
bool wire_transcode(struct wire_cursor *c, struct wire_buf *out);

/* Returns the problem of a cursor that failed. Walks the whole document again. If the document is
 * malformed, the problem is a 400 that says so, whatever the fault was: a client must first send a
 * document that can be read. Otherwise the problem is the fault, with its pointer, and the detail
 * names the value that was found. A pointer of more than 1,024 bytes ends at an enclosing value. */
wire_problem wire_cursor_explain(struct wire_cursor *c);

#endif
