/* The face of server: the daemon as one object, with its start and stop order. See README.md. */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include "server/base/config.h"

#define SRV_VERSION "0.1.0"

struct srv_server;

/* Opens everything up to the listening sockets. false: nothing is left and error holds one line. The config must outlive
 * the server. */
bool srv_server_create(const srv_config *config, struct srv_server **out, char *error,
                       size_t error_size);

/* Says on `announce` where it listens, and serves until SIGTERM or SIGINT has come and what was in flight is done. Returns the
 * exit status. */
int srv_server_run(struct srv_server *server, FILE *announce);

void srv_server_version(FILE *out); /* "obbd 0.1.0 (…)" and a newline */

void srv_server_destroy(struct srv_server *server); /* NULL is fine */

#endif
