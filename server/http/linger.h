/* Lingering: a client that is refused while it still sends can read the reason.
 *
 * If a socket with unread bytes is closed, the connection is reset, and the answer on its way may
 * be lost. So a second descriptor keeps the socket open after its owner has shut down the sending
 * side and closed the first one. The bytes that still arrive are read and forgotten, until the
 * client closes, for two seconds and a MiB at most. */
#ifndef SRV_LINGER_H
#define SRV_LINGER_H

#include "server/base/loop.h"

#include <stddef.h>

struct srv_lingerer;

/* All lingering sockets. Zeroes except for the loop are an empty list. */
struct srv_lingerers {
    struct srv_loop *loop;
    struct srv_lingerer *first;
    size_t count;
};

/* Lingers on the socket, which the caller still closes. If there is no memory, no descriptor, or 64
 * sockets linger already, does nothing: the client may then miss its answer. */
void srv_linger(struct srv_lingerers *lingerers, int socket);

void srv_linger_stop(struct srv_lingerers *lingerers); /* closes all of them */

#endif
