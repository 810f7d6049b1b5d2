/* Admission: the refusals that need only the headers. It finds the route, and checks in turn the
 * target, the name of the service, the method, the origin of the calling page, the sender's rights,
 * and the media types and length of the body. */
#ifndef SRV_ADMISSION_H
#define SRV_ADMISSION_H

#include "server/http/exchange.h"
#include "server/http/headers.h"

/* Fills x->request from the target and the headers. On the first fault it refuses the exchange
 * (x->refused, or x->refused_with_body), or leaves the answer to OPTIONS in x->allow. x->declared
 * must be set. version: as sent, "HTTP/1.1". */
void srv_admission_check(struct srv_exchange *x, const srv_headers *headers, const char *version);

#endif
