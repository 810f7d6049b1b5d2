/* Lingering: a client that is refused while it still sends must be able to read why.
 *
 * Closing a socket that holds unread bytes resets the connection and may destroy the answer on its way. So a second
 * descriptor keeps the socket open after its owner has shut down the sending side and closed its own, and what comes in is
 * read and forgotten, for a while. */
#ifndef SRV_LINGER_H
#define SRV_LINGER_H

#include "server/base/loop.h"

#include <stddef.h>

struct srv_lingerer;

/* Zeroed but for the loop, it is empty. */
struct srv_lingerers {
    struct srv_loop *loop;
    struct srv_lingerer *first;
    size_t count;
};

/* Lingers on the socket, which stays the caller's to close. Where that cannot be done (too many do, no memory, no descriptors)
 * the client may miss its answer, and that is all. */
void srv_linger(struct srv_lingerers *lingerers, int socket);

void srv_linger_stop(struct srv_lingerers *lingerers); /* ends all */

#endif
