/* The face of server: the daemon as one object, with its start and stop order. See README.md. */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include "server/base/config.h"

#define SRV_VERSION "0.1.0"

struct srv_loop;
struct srv_server;

/* Starts everything up to the listening sockets. The config must outlive the server. Returns false
 * if that fails: nothing is left, and error holds one line. */
bool srv_server_create(const srv_config *config, struct srv_server **out, char *error,
                       size_t error_size);

/* Writes to `announce` where it listens. Then serves until SIGTERM or SIGINT has come and the
 * requests in flight are answered. Returns the exit status. */
int srv_server_run(struct srv_server *server, FILE *announce);

/* Returns the loop, for a caller that runs it by hand before srv_server_run. */
struct srv_loop *srv_server_loop(const struct srv_server *server);

/* Writes "obbd 0.1.0 (…)" and a newline. */
void srv_server_version(FILE *out);

void srv_server_destroy(struct srv_server *server); /* NULL is fine */

#endif
