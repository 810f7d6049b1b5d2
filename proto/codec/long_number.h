/* Numbers in JSON that take very many bytes. */
#ifndef WIRE_LONG_NUMBER_H
#define WIRE_LONG_NUMBER_H

#include "proto/codec/cursor.h"

/* Reads the number at `at`, which lies in the body of the cursor, as wire_number_read does. Polls
 * for cancelling. Returns the end of the number. Returns NULL if there is none, or if the work is
 * cancelled, which is noted. */
const char *wire_long_number_read(struct wire_cursor *c, const char *at, double *out);

#endif
