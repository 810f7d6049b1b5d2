/* The measured servers, as child processes on loopback. None outlives the benchmark. */
#ifndef BENCH_SERVICE_SERVERS_H
#define BENCH_SERVICE_SERVERS_H

#include "tests/bench/service/load.h"

#include <sys/types.h>

typedef struct bench_server {
    const char *name;
    pid_t pid;
    load_address tcp, local; /* a free port of loopback, and a unix socket */
    double ready;            /* seconds from the start until it answered /readyz; obbd only */
} bench_server;

/* Each starts a server that keeps its files in `folder` (in build/), and waits until it listens.
 * False: the server did not start; prints the reason to stderr. The first two servers answer
 * everything with `body`. */
bool server_nginx(bench_server *server, const char *folder, const char *body);
bool server_fixed(bench_server *server, const char *folder, const char *program, const char *body);
bool server_node(bench_server *server, const char *folder,
                 const char *engine); /* "rapier", "three" */
bool server_obbd(bench_server *server, const char *folder, const char *program);

/* Starts the daemon with --data, or without if `data` is NULL. */
bool server_obbd_data(bench_server *server, const char *folder, const char *program,
                      const char *data);

void server_stop(bench_server *server);

/* Returns the processor time of all threads of the server in seconds, to the nanosecond. */
double server_cpu(const bench_server *server);

/* Returns the resident memory of the server in bytes. */
double server_memory(const bench_server *server);

#endif
