/* Opening and closing a body: the first and the last step of every decoder. Internal to the
 * room. */
#ifndef WIRE_REQUEST_BODY_H
#define WIRE_REQUEST_BODY_H

#include "proto/codec/cursor.h"
#include "proto/request/request.h"

/* Opens a cursor on the body. A body of length 0 reads as {}. */
void wire_body_open(struct wire_cursor *c, const wire_body *body, struct obb_arena *arena);

/* Returns true if `ok` and nothing follows the value. Otherwise fills *problem with the fault of
 * the cursor and returns false. If `ok` is false, the cursor must have failed. */
bool wire_body_close(struct wire_cursor *c, bool ok, wire_problem *problem);

#endif
