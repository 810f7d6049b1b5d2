/* The answer to a Content-Length that is no number.
 *
 * libmicrohttpd 0.9.75 answers such a request by itself, before it calls any handler, and sends the
 * header fields of its answer twice. The only sign beforehand is a line in its log. When that
 * comes, and a connection has just read its headers but not come to its handler, the answer is sent
 * from here and the sending side of the socket is shut down: the answer of libmicrohttpd goes
 * nowhere, and ends the connection. */
#ifndef SRV_MALFORMED_H
#define SRV_MALFORMED_H

#include "server/http/connection.h"
#include "server/http/linger.h"

/* Returns whether a line of libmicrohttpd's log, given as its format, tells of such a request. */
bool srv_malformed_is_told(const char *format);

/* Looks for the connection of such a request and answers it. A secure connection gets no answer.
 * Called while libmicrohttpd writes such a line to its log. Cost: O(connections), the newest
 * first. */
void srv_malformed_answer(struct srv_connections *connections, struct srv_lingerers *lingerers);

#endif
