/* Answers in columns, for replies that hold them as parts. Internal to the room. */
#ifndef WIRE_REPLY_COLUMNS_BODY_H
#define WIRE_REPLY_COLUMNS_BODY_H

#include "proto/codec/out.h"

/* Writes the member "columns" of a query's answer: for each item the first hit, or zeros. If the
 * items have times of their own, also the moments at which they were judged. */
void wire_put_columns(struct wire_out *out, const obb_query *query, const obb_result *result);

#endif
