/* Messages of the log of many processes are taken, and wait in their strands to be judged. Gaps in
 * the places of the log are noted, and messages are asked for again. */
#ifndef SRV_DELIVERY_H
#define SRV_DELIVERY_H

#include "server/journal/strand_body.h"

/* Lets the stream deliver the messages of a strand again, from a place on. */
void srv_delivery_again(struct srv_shared *j, struct srv_strand *s, uint64_t from);

/* Takes a message of the log, or a mark, which has no name (srv_stream_calls). */
void srv_delivery_take(void *context, obb_str name, uint64_t seq, uint64_t left, obb_str bytes);

/* The messages that were said to be left will not come. */
void srv_delivery_end(void *context, uint64_t seq);

/* Returns whether more messages may be delivered now. */
bool srv_delivery_wants(void *context);

/* All is delivered that was in the log at the beginning. */
void srv_delivery_caught_up(void *context);

#endif
