/* The end of a phase's time: a request whose work takes too long is cancelled, and a
 * client that is too slow is cut. */
#ifndef SRV_DEADLINE_H
#define SRV_DEADLINE_H

#include "server/http/connection.h"

/* Cancels, cuts, or lets an answer that moves go on. For srv_connections.on_expired. */
void srv_deadline_expired(struct srv_connection *connection);

#endif
