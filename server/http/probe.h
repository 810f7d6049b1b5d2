/* Is the service ready? For health checks in containers without a shell or curl. */
#ifndef SRV_PROBE_H
#define SRV_PROBE_H

#include "server/base/config.h"

/* Asks /readyz at the config's first --listen, for three seconds at most. A listener that speaks HTTPS is asked in plain text, and
 * counts as ready when it refuses that. false: error holds one line. Blocks. */
bool srv_probe(const srv_config *config, char *error, size_t error_size);

#endif
