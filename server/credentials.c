#include "server/credentials.h"

#include "server/base/file.h"

#include <stdio.h>

bool srv_credentials_load_certificate(const struct srv_credentials *c, char *error,
                                      size_t error_size)
{
    const srv_config *config = c->config;
    if (config->tls_cert == NULL && config->tls_key == NULL)
        return true;
    if (config->tls_cert == NULL || config->tls_key == NULL) {
        (void)snprintf(error, error_size, "--tls-cert and --tls-key go together");
        return false;
    }
    size_t length;
    char *certificate = srv_file_read("--tls-cert", config->tls_cert, &length, error, error_size);
    char *key = certificate != NULL
                    ? srv_file_read("--tls-key", config->tls_key, &length, error, error_size)
                    : NULL;
    const bool good = key != NULL && srv_http_use_certificate(c->http, certificate, key);
    if (key != NULL && !good)
        (void)snprintf(error, error_size,
                       "--tls-cert %.200s: not a certificate, or not that of the key",
                       config->tls_cert);
    obb_free(certificate);
    obb_free(key);
    return good;
}

static void log_tokens(const struct srv_credentials *c)
{
    const struct srv_auth *auth = srv_admit_tokens(c->admit);
    if (auth != NULL)
        SRV_LOG(c->log, SRV_INFO, "tokens", srv_integer("count", (int64_t)srv_auth_count(auth)));
}

static void log_certificate(const struct srv_credentials *c)
{
    if (c->config->tls_cert != NULL)
        SRV_LOG(c->log, SRV_INFO, "certificate", srv_text("file", c->config->tls_cert));
}

static void log_kept(const struct srv_credentials *c, const char *kept, const char *error)
{
    SRV_LOG(c->log, SRV_ERROR, "reload", srv_text("kept", kept), srv_text("error", error));
}

void srv_credentials_reload(const struct srv_credentials *c)
{
    char error[512];
    if (srv_admit_reload(c->admit, error, sizeof error))
        log_tokens(c);
    else
        log_kept(c, "tokens", error);
    if (srv_credentials_load_certificate(c, error, sizeof error))
        log_certificate(c);
    else
        log_kept(c, "certificate", error);
}

void srv_credentials_log(const struct srv_credentials *c)
{
    log_tokens(c);
    log_certificate(c);
}
