/* A server of NATS with JetStream as a child process, on a free port of loopback and with a folder
 * of its own. A function that meets an error of its own fails the test. */
#ifndef TEST_SUPPORT_NATS_H
#define TEST_SUPPORT_NATS_H

#include <stddef.h>
#include <sys/types.h>

struct test_nats {
    pid_t pid;                    /* 0: it does not run */
    int port, socket;             /* the socket keeps the port for it */
    char url[64];                 /* "nats://127.0.0.1:PORT" */
    char folder[64];              /* of its streams and its log */
    int number;                   /* in its cluster, from 1; 0: it is alone */
    int route_port, route_socket; /* likewise; -1: none */
    char routes[160];             /* to all of the cluster */
};

/* Chooses a port and makes the folder. The server does not run yet. */
void nats_init(struct test_nats *nats);

/* Does the same for `count` servers that are one cluster, at most four. */
void nats_init_cluster(struct test_nats *all, size_t count);

/* Returns which of them has said last that it leads the stream of that name, or NULL. */
struct test_nats *nats_leader(struct test_nats *all, size_t count, const char *stream);

/* Starts the server, also after its end, and waits until it takes connections. */
void nats_start(struct test_nats *nats);

/* Ends the server with this signal, and waits for its end. Its streams stay. */
void nats_end(struct test_nats *nats, int signal);

/* Sends a message past any client library, and waits until the server has it. */
void nats_publish(const struct test_nats *nats, const char *subject, const char *text);

/* Returns the bytes of its streams and its log on the disk. Not for several threads at once. */
double nats_bytes(const struct test_nats *nats);

/* Ends the server if it runs, and removes its folder. */
void nats_fini(struct test_nats *nats);

#endif
