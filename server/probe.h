/* The client of the health check, for containers without a shell or curl: `obbd --probe` asks the
 * running service. */
#ifndef SRV_PROBE_H
#define SRV_PROBE_H

#include "server/base/config.h"

/* Asks for /readyz at the first --listen of `config`. Waits three seconds at most for each step. If
 * the listener speaks HTTPS, the request is still sent in plain text, and an answer or the end of
 * the connection counts as ready. Returns true if the service is ready. Otherwise error holds one
 * line. Blocks. */
bool srv_probe(const srv_config *config, char *error, size_t error_size);

#endif
