/* The body of a request, collected in one buffer that grows with the bytes that have arrived, or
 * that comes from stock. */
#ifndef SRV_BODY_H
#define SRV_BODY_H

#include "server/http/exchange.h"

enum { SRV_FIRST_BODY = 65536 }; /* bytes: the largest buffer before more than that has arrived */

/* Returns the detail of the 413 for a body of `length` bytes, as far as the length is known. */
const char *srv_body_too_long(struct srv_exchange *x, uint64_t length);

/* Appends bytes that have arrived to x->body, or forgets them if x->refused_with_body. If they
 * exceed --body-limit, or --memory-limit leaves no room for them, refuses the exchange and drops
 * the body, and the bytes that follow with it. */
void srv_body_take(struct srv_exchange *x, const char *bytes, size_t size);

#endif
