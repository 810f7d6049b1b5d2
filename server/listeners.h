/* The sockets of --listen. */
#ifndef SRV_LISTENERS_H
#define SRV_LISTENERS_H

#include "server/base/config.h"
#include "server/base/log.h"
#include "server/http/http.h"

struct srv_listeners;

/* Opens a socket for each --listen, and lets `http` accept on it. Refuses an address beyond this
 * machine if neither --token-file nor --allow-anonymous is given. Returns false if one cannot be
 * opened: error holds one line. Then *out is NULL or must still be destroyed, after `http`, which
 * may accept on those before it. */
bool srv_listeners_open(const srv_config *config, struct srv_http *http, struct srv_listeners **out,
                        char *error, size_t error_size);

/* Writes the address of each. */
void srv_listeners_announce(const struct srv_listeners *listeners, FILE *announce);

/* Logs the address of each. */
void srv_listeners_log(const struct srv_listeners *listeners, const srv_log *log);

/* Returns the first address, as it was announced. */
const char *srv_listeners_url(const struct srv_listeners *listeners);

/* Removes the files of unix sockets; may be repeated. Connections stay. */
void srv_listeners_close(struct srv_listeners *listeners);

/* After srv_http_destroy. NULL is fine. */
void srv_listeners_destroy(struct srv_listeners *listeners);

#endif
