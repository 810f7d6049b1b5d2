/* The client of the health check, for containers without a shell or curl: `obbd --probe` asks the
 * running service. */
#ifndef SRV_PROBE_H
#define SRV_PROBE_H

#include "server/base/config.h"

/* Asks for /readyz at the first --listen of `config`. Waits three seconds at most for each step. If
 * the listener speaks HTTPS, so does the probe, which takes any certificate. Returns true if the
 * answer has status 200. Otherwise error holds one line. Blocks. */
bool srv_probe(const srv_config *config, char *error, size_t error_size);

#endif
