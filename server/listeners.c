#include "server/listeners.h"

#include <stdio.h>

struct srv_listeners {
    size_t count;
    srv_listener items[];
};

static bool open_one(const srv_config *config, const char *text, struct srv_http *http,
                     srv_listener *listener, char *error, size_t error_size)
{
    srv_address address;
    if (!srv_address_read(text, &address, error, error_size))
        return false;
    address.secure = config->tls_cert != NULL && !address.is_unix;
    if (!address.loopback && config->token_file == NULL && !config->allow_anonymous) {
        (void)snprintf(error, error_size,
                       "--listen %s: anybody who reaches this address could do everything: give "
                       "a --token-file, or say --allow-anonymous",
                       text);
        return false;
    }
    if (!srv_listener_open(&address, listener, error, error_size))
        return false;
    if (!srv_http_listen(http, listener, address.secure)) {
        (void)snprintf(error, error_size, "--listen %s: there are too many", text);
        return false;
    }
    return true;
}

bool srv_listeners_open(const srv_config *config, struct srv_http *http, struct srv_listeners **out,
                        char *error, size_t error_size)
{
    const size_t count = config->listen.count;
    struct srv_listeners *listeners =
        obb_calloc(1, sizeof *listeners + count * sizeof *listeners->items);
    if (listeners == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    listeners->count = count;
    for (size_t i = 0; i < count; i++)
        listeners->items[i].descriptor = -1;
    /* also if one fails: until it is destroyed, http may accept on those before it */
    *out = listeners;
    for (size_t i = 0; i < count; i++)
        if (!open_one(config, config->listen.items[i], http, &listeners->items[i], error,
                      error_size))
            return false;
    return true;
}

void srv_listeners_announce(const struct srv_listeners *listeners, FILE *announce)
{
    for (size_t i = 0; i < listeners->count; i++)
        (void)fprintf(announce, "obbd: listening on %s\n", listeners->items[i].url);
}

void srv_listeners_log(const struct srv_listeners *listeners, const srv_log *log)
{
    for (size_t i = 0; i < listeners->count; i++)
        SRV_LOG(log, SRV_INFO, "listening", srv_text("url", listeners->items[i].url));
}

const char *srv_listeners_url(const struct srv_listeners *listeners)
{
    return listeners->items[0].url;
}

void srv_listeners_close(struct srv_listeners *listeners)
{
    for (size_t i = 0; i < listeners->count; i++)
        srv_listener_close(&listeners->items[i]);
}

void srv_listeners_destroy(struct srv_listeners *listeners)
{
    if (listeners == NULL)
        return;
    srv_listeners_close(listeners);
    obb_free(listeners);
}
