/* What SIGHUP reads again: the token file and the certificate with its key. A broken file changes
 * nothing. */
#ifndef SRV_CREDENTIALS_H
#define SRV_CREDENTIALS_H

#include "server/access/admit.h"
#include "server/base/config.h"
#include "server/base/log.h"
#include "server/http/http.h"

/* Its collaborators. All must outlive it. */
struct srv_credentials {
    const srv_config *config; /* names the files */
    const srv_log *log;       /* told what was read */
    struct srv_admit *admit;  /* uses the tokens */
    struct srv_http *http;    /* uses the certificate */
};

/* Reads --tls-cert and --tls-key, if given, and lets `http` use them for new connections. Returns
 * false if they are not good: error holds one line, and what was in use stays. */
bool srv_credentials_load_certificate(const struct srv_credentials *credentials, char *error,
                                      size_t error_size);

/* Reads all files again. Logs for each what was read, or what was wrong with it. */
void srv_credentials_reload(const struct srv_credentials *credentials);

/* Logs how many tokens and which certificate are in use. */
void srv_credentials_log(const struct srv_credentials *credentials);

#endif
