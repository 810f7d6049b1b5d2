/* Requests: the body that every decoder reads, and the rules that all decoders keep.
 *
 * A decoder is a pure function; any thread may call it. It returns true and fills *out, or returns
 * false and fills *problem. `dimensions` are those of the scene, or 3 if there is no scene yet.
 * Everything that a decoder yields lives in the arena or points into the body, so both must outlive
 * it.
 *
 * If a body is malformed anywhere, the problem is a 400, whatever else is wrong with it. Otherwise
 * the first value at fault gives a 422 with its pointer: the element of a vector, the unknown field
 * itself, the object that lacks a field. Accepted values are in range and of the right shape.
 * Questions about the scene (is the box there? is this a 412?) are answered by core later.
 *
 * Memory   at most about 25 bytes of the arena for a byte of the body (bare ids in CBOR; 12 in
 *          JSON); 1 to 3 for bodies of boxes. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include "core/obb.h"
#include "proto/codec/media.h"
#include "proto/problem/problem.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wire_body {
    const char *bytes;
    size_t length; /* 0: no body; reads as {} if all fields are optional */
    wire_media media;
    /* If not NULL, the decoder does no slow work (a tight fit of points, very many digits). When it
     * comes to such work it sets *postponed and returns false; *problem then means nothing, and the
     * caller decodes again with postponed = NULL. */
    bool *postponed;
    const atomic_bool
        *cancel; /* once true, the decoder soon fails with OBB_CANCELLED; may be NULL */
} wire_body;

#endif
