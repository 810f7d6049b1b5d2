/* Listening sockets: from what --listen says to an open descriptor. */
#ifndef SRV_LISTEN_H
#define SRV_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

typedef struct srv_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    } as;
    socklen_t length;
    bool is_unix;
    bool secure;   /* speaks HTTPS; set by the caller, for the url */
    bool loopback; /* nobody outside this machine can reach it; so too for unix sockets */
} srv_address;

/* "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/run/obbd.sock". false: error holds one line. May ask the resolver. */
bool srv_address_read(const char *text, srv_address *out, char *error, size_t error_size);

typedef struct srv_listener {
    int descriptor; /* owned, non-blocking, -1: none */
    srv_address address;
    dev_t device; /* of the unix socket's file, which may no longer be what lies at its path */
    ino_t inode;
    char host[64]; /* "127.0.0.1", "[::1]", as in the url; "" for unix sockets */
    char url
        [160]; /* "http://127.0.0.1:7480" or "https://…" with the port that was found, or "unix:/run/obbd.sock" */
} srv_listener;

/* Binds and listens. A unix socket gets mode 0660; one that nobody answers on any more is replaced, a file of another kind never.
 * false: nothing is left open and error holds one line. */
bool srv_listener_open(const srv_address *address, srv_listener *out, char *error,
                       size_t error_size);

/* Removes the file of a unix socket, unless another lies there by now. May be repeated. */
void srv_listener_close(srv_listener *listener);

#endif
