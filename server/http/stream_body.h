/* The inside of streams, for server/http. */
#ifndef SRV_STREAM_BODY_H
#define SRV_STREAM_BODY_H

#include "server/http/exchange.h"
#include "server/http/stream.h"

/* Returns false if the stream has stood still for a whole --request-timeout: the client has taken
 * none of the bytes that wait, or the owner, `working`, has given none. Returns false, too, if the
 * owner says that the stream may not go on. Called once each such time. */
bool srv_stream_check(struct srv_exchange *x);

/* Frees the pending bytes and tells the owner that the stream is over. */
void srv_stream_close(struct srv_stream *stream);

#endif
