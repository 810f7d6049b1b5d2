#include "server/http/engine.h"

#include "server/http/dispatch.h"
#include "server/http/malformed.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of libmicrohttpd for each connection: request line and headers must fit. It clears them one
 * and a half times a request, so 32,768 would cost 4 % of a GET more. */
enum { CONNECTION_MEMORY = 16384 };

/* For GnuTLS: its usual algorithms, and TLS 1.2 and newer. "NORMAL" alone takes TLS 1.0, too. A
 * name that begins with @ would be looked up in the machine's policy, which could allow TLS 1.0. */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct srv_engine {
    struct srv_engines *engines;
    struct MHD_Daemon *daemon;
    struct srv_watch *ready; /* on libmicrohttpd's epoll descriptor */
    bool secure;
    size_t connections;
    struct srv_engine *next;
};

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void on_connection(void *context, struct MHD_Connection *mhd, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct srv_engine *engine = context;
    struct srv_engines *engines = engine->engines;
    struct srv_connection *c = *state;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const int descriptor =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c = srv_connection_open(engines->connections, mhd, descriptor, engines->endpoint,
                                engine->secure);
        *state = c; /* NULL: its first request line ends the connection */
        engine->connections += c != NULL;
        return;
    }
    if (c == NULL)
        return;
    engine->connections--;
    *state = NULL;
    srv_connection_close(c);
}

/* Leaves targets as they are: route.c decodes them. */
static size_t no_unescape(void *context, struct MHD_Connection *mhd, char *text)
{
    (void)context;
    (void)mhd;
    return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list values)
{
    struct srv_engines *engines = context;
    const srv_log *log = engines->options->log;
    /* of each answer on a unix socket it complains twice that TCP_NODELAY and TCP_CORK are missing:
     * "Setting %s option to …" */
    static const char setting[] = "Setting ";
    if (strncmp(format, setting, sizeof setting - 1) == 0)
        return;
    if (engines->running != NULL && srv_malformed_is_told(format))
        srv_malformed_answer(engines->connections, engines->lingerers);
    if (!srv_log_wants(log, SRV_DEBUG))
        return;
    char text[512];
    const int length = vsnprintf(text, sizeof text, format, values);
    if (length <= 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    SRV_LOG(log, SRV_DEBUG, "libmicrohttpd", srv_text("message", text));
}

/* ---- One engine ------------------------------------------------------------------------------ */

static void on_ready(void *context, unsigned events)
{
    (void)events;
    const struct srv_engine *engine = context;
    srv_loop_due(engine->engines->options->loop);
}

static void stop(struct srv_engine *engine)
{
    srv_watch_destroy(engine->ready);
    if (engine->daemon != NULL)
        MHD_stop_daemon(engine->daemon);
    obb_free(engine);
}

/* certificate: NULL for plain connections. Returns NULL if the engine cannot be started. */
static struct srv_engine *start(struct srv_engines *engines, const char *certificate,
                                const char *key)
{
    const srv_http_options *options = engines->options;
    struct srv_engine *engine = obb_calloc(1, sizeof *engine);
    if (engine == NULL)
        return NULL;
    engine->engines = engines;
    engine->secure = certificate != NULL;
    const struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)priorities},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_END, 0, NULL}};
    engine->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (engine->secure ? MHD_USE_TLS : 0u),
        0, NULL, NULL, srv_dispatch_access, NULL, MHD_OPTION_EXTERNAL_LOGGER, on_log,
        (void *)engines, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)options->connection_limit + SRV_ACCEPTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_URI_LOG_CALLBACK, srv_dispatch_line,
        (void *)engines->exchanges, MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, srv_dispatch_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, (void *)engine, MHD_OPTION_ARRAY, engine->secure ? secure : &secure[3],
        MHD_OPTION_END);
    if (engine->daemon == NULL ||
        !srv_watch_create(options->loop,
                          MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                          SRV_READABLE, on_ready, engine, &engine->ready)) {
        stop(engine);
        return NULL;
    }
    engine->next = engines->all;
    engines->all = engine;
    return engine;
}

/* ---- All engines ----------------------------------------------------------------------------- */

bool srv_engines_start(struct srv_engines *engines)
{
    engines->plain = start(engines, NULL, NULL);
    return engines->plain != NULL;
}

void srv_engines_stop(struct srv_engines *engines)
{
    for (struct srv_engine *engine = engines->all, *next; engine != NULL; engine = next) {
        next = engine->next;
        stop(engine);
    }
    engines->all = engines->plain = engines->secure = NULL;
}

bool srv_engines_use_certificate(struct srv_engines *engines, const char *certificate,
                                 const char *key)
{
    struct srv_engine *engine = start(engines, certificate, key);
    if (engine == NULL)
        return false;
    engines->secure = engine;
    srv_loop_due(engines->options->loop); /* the engine before may have no connection left */
    return true;
}

void srv_engines_add(struct srv_engines *engines, bool secure, int descriptor,
                     const struct sockaddr *from, socklen_t length,
                     const struct srv_endpoint *endpoint)
{
    const struct srv_engine *engine = secure ? engines->secure : engines->plain;
    engines->endpoint = endpoint;
    (void)MHD_add_connection(engine->daemon, descriptor, from, length);
}

/* Stops engines of earlier certificates without connections. */
static void stop_unused(struct srv_engines *engines)
{
    for (struct srv_engine **at = &engines->all; *at != NULL;) {
        struct srv_engine *engine = *at;
        if (engine == engines->plain || engine == engines->secure || engine->connections > 0) {
            at = &engine->next;
            continue;
        }
        *at = engine->next;
        stop(engine);
    }
}

bool srv_engines_run(struct srv_engines *engines)
{
    bool again = srv_exchanges_wake(engines->exchanges);
    engines->connections->runs++;
    for (struct srv_engine *engine = engines->all; engine != NULL; engine = engine->next) {
        engines->running = engine;
        MHD_run(engine->daemon);
        srv_exchanges_suspend(engines->exchanges);
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        again |= MHD_get_timeout(engine->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
    }
    engines->running = NULL;
    stop_unused(engines);
    return again;
}
