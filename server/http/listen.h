/* Listening sockets: from the text of --listen to an open descriptor. */
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
    bool secure;   /* HTTPS; set by the caller, for the url */
    bool loopback; /* nobody outside this machine can reach it; true for unix sockets, too */
} srv_address;

/* Reads an address: "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/run/obbd.sock". May ask the
 * resolver. Returns false if the text is no address: error then holds one line. */
bool srv_address_read(const char *text, srv_address *out, char *error, size_t error_size);

typedef struct srv_listener {
    int descriptor; /* owned, non-blocking, -1: none */
    srv_address address;
    dev_t device; /* of the unix socket's file; another file may lie at its path by now */
    ino_t inode;
    char host[64]; /* "127.0.0.1", "[::1]", as in the url; "" for unix sockets */

    /* "http://127.0.0.1:7480" or "https://…" with the port in use, or "unix:/run/obbd.sock". */
    char url[160];
} srv_listener;

/* Binds and listens. A unix socket gets mode 0660. If a socket without a listener lies at its path,
 * replaces it; a file of another kind is never replaced. Returns false on failure: error then holds
 * one line, and nothing is left open. */
bool srv_listener_open(const srv_address *address, srv_listener *out, char *error,
                       size_t error_size);

/* Closes the descriptor, and removes the file of a unix socket unless another file lies there by
 * now. May be repeated. */
void srv_listener_close(srv_listener *listener);

#endif
