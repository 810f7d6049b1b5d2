#include "server/server.h"

#include "server/access/auth.h"
#include "server/access/rate.h"
#include "server/base/file.h"
#include "server/base/sha256.h"
#include "server/events/events.h"
#include "server/routes/demo.h"
#include "server/routes/table.h"
#include "server/scenes/scenes.h"
#include "server/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAIN_MS = 5000, /* for requests in flight to finish after SIGTERM */
    LAG_MS = 100,    /* between two measurements of how late the loop is */
    LAG_WINDOW =
        100 /* measurements: of the last one or two windows, 10 to 20 s, the worst is told */
};

struct srv_server {
    struct srv_services services;
};

void srv_server_version(FILE *out)
{
    (void)fprintf(out, "obbd %s (libmicrohttpd %s, libuv %s)\n", SRV_VERSION, srv_http_version(),
                  srv_loop_version());
}

/* ---- The end ----------------------------------------------------------------------------------------------- *
 *
 * SIGTERM  -> no new connections, /readyz 503; event streams end; requests in flight finish
 * idle     -> work beside requests is cancelled; when it is over, and no request came meanwhile on a connection that was
 *             kept, the loop stops, and destroy closes what is left (idle connections)
 * 5 s over -> what is still in flight is cancelled and cut
 * again    -> ends at once */

static void on_idle(void *context)
{
    struct srv_services *services = context;
    srv_rebuilds_cancel(services);
    srv_server_may_end(services);
}

void srv_server_may_end(struct srv_services *services)
{
    if (services->draining && srv_http_idle(services->http) && services->rebuilds == NULL &&
        services->burials == 0 && srv_events_idle(services->events))
        srv_loop_stop(services->loop);
}

static void on_drain_over(void *context)
{
    struct srv_services *services = context;
    SRV_LOG(&services->log, SRV_WARN, "drain-over",
            srv_integer("connections", (int64_t)srv_http_connections(services->http)));
    srv_http_cut(services->http);
}

static void close_listeners(struct srv_services *services)
{
    for (size_t i = 0; i < services->config->listen.count; i++)
        srv_listener_close(&services->listeners[i]);
}

static void on_signal(void *context)
{
    struct srv_services *services = context;
    if (services->draining) {
        SRV_LOG(&services->log, SRV_WARN, "killed", srv_text("by", "a second signal"));
        close_listeners(services);
        _exit(EXIT_FAILURE);
    }
    services->draining = true;
    SRV_LOG(&services->log, SRV_INFO, "draining",
            srv_integer("connections", (int64_t)srv_http_connections(services->http)));
    srv_timer_start(services->drain, DRAIN_MS, 0);
    srv_events_stop(services->events);
    srv_http_quiesce(services->http, on_idle, services);
    close_listeners(services);
}

static void on_lag(void *context)
{
    struct srv_services *services = context;
    const double now = srv_clock(), late = (now - services->lag_due) * 1e6;
    if (++services->lag_count % LAG_WINDOW == 0) {
        services->lag_before = services->lag_worst;
        services->lag_worst = 0;
    }
    if (late > services->lag_worst)
        services->lag_worst = late;
    const double worst =
        services->lag_worst > services->lag_before ? services->lag_worst : services->lag_before;
    services->metrics.loop_lag_us = (uint64_t)worst;
    services->lag_due = now + LAG_MS * 1e-3;
    srv_timer_start(services->lag, LAG_MS, 0);
}

/* ---- Tokens and certificates -------------------------------------------------------------------------------------- */

/* A token's client is known by its name, which a new token may take over; anybody else by where he comes from. */
static bool within_rate(const struct srv_request *request, const wire_token *token)
{
    struct srv_services *services = request->services;
    srv_handler *handler = request->route->handler;
    if (services->peer_rate == NULL || handler == srv_do_health || handler == srv_do_ready)
        return true;
    const uint64_t now_ns = (uint64_t)(srv_clock() * 1e9);
    if (token == NULL)
        return srv_rate_admit(services->peer_rate, srv_request_peer(request), now_ns);
    unsigned char hash[SRV_SHA256];
    uint64_t client;
    srv_sha256(token->name.bytes, token->name.length, hash);
    memcpy(&client, hash, sizeof client);
    return srv_rate_admit(services->token_rate, client, now_ns);
}

/* Is the sender within its rate, and does its token allow the request's route and scene? */
static bool admit(struct srv_request *request, const char *authorization, wire_problem *problem)
{
    static const unsigned needs[] = {[SRV_OPEN] = 0,
                                     [SRV_READ] = WIRE_SCOPE_READ,
                                     [SRV_WRITE] = WIRE_SCOPE_WRITE,
                                     [SRV_ADMIN] = WIRE_SCOPE_ADMIN};
    const struct srv_auth *auth = request->services->auth;
    const unsigned need = needs[request->route->scope];
    const wire_token *token =
        auth != NULL && need != 0 ? srv_auth_find(auth, authorization, time(NULL)) : NULL;
    request->scopes = WIRE_SCOPE_READ | WIRE_SCOPE_WRITE | WIRE_SCOPE_ADMIN;
    if (!within_rate(request, token)) {
        request->services->metrics.rate_exceeded_total++;
        *problem = wire_problem_http(429, wire_detail(&request->arena,
                                                      "found more; a client sends at most %" PRIu64
                                                      " requests a second (--client-rate)",
                                                      request->services->config->client_rate));
        return false;
    }
    if (auth == NULL || need == 0)
        return true;
    if (token == NULL) {
        *problem = wire_problem_http(401, authorization == NULL
                                              ? "a token is needed: Authorization: Bearer …"
                                              : "the token is not known, or has expired");
        return false;
    }
    request->scopes = token->scopes;
    request->token = token;
    if ((token->scopes & need) == 0) {
        *problem = wire_problem_http(403, "the token lacks the scope for this");
        return false;
    }
    if (request->target.part_count > SRV_SCENE_PART &&
        !srv_auth_scene(token, request->target.parts[SRV_SCENE_PART])) {
        *problem = wire_problem_http(403, "the token is not for this scene");
        return false;
    }
    return true;
}

/* What was in use stays unless all is good. */
static bool load_tokens(struct srv_services *services, char *error, size_t error_size)
{
    struct srv_auth *auth;
    if (services->config->token_file == NULL)
        return true;
    if (!srv_auth_load(services->config->token_file, &auth, error, error_size))
        return false;
    srv_auth_destroy(services->auth);
    services->auth = auth;
    return true;
}

static void log_tokens(const struct srv_services *services)
{
    if (services->auth != NULL)
        SRV_LOG(&services->log, SRV_INFO, "tokens",
                srv_integer("count", (int64_t)srv_auth_count(services->auth)));
}

static bool load_certificate(struct srv_services *services, char *error, size_t error_size)
{
    const srv_config *config = services->config;
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
    const bool good = key != NULL && srv_http_use_certificate(services->http, certificate, key);
    if (key != NULL && !good)
        (void)snprintf(error, error_size,
                       "--tls-cert %.200s: not a certificate, or not that of the key",
                       config->tls_cert);
    obb_free(certificate);
    obb_free(key);
    return good;
}

static void log_certificate(const struct srv_services *services)
{
    if (services->config->tls_cert != NULL)
        SRV_LOG(&services->log, SRV_INFO, "certificate",
                srv_text("file", services->config->tls_cert));
}

static void on_hangup(void *context)
{
    struct srv_services *services = context;
    char error[512];
    if (load_tokens(services, error, sizeof error))
        log_tokens(services);
    else
        SRV_LOG(&services->log, SRV_ERROR, "reload", srv_text("kept", "tokens"),
                srv_text("error", error));
    if (load_certificate(services, error, sizeof error))
        log_certificate(services);
    else
        SRV_LOG(&services->log, SRV_ERROR, "reload", srv_text("kept", "certificate"),
                srv_text("error", error));
}

/* ---- The beginning ------------------------------------------------------------------------------------------ */

static bool open_listeners(struct srv_services *services, char *error, size_t error_size)
{
    const srv_config *config = services->config;
    services->listeners = obb_calloc(config->listen.count, sizeof *services->listeners);
    if (services->listeners == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    for (size_t i = 0; i < config->listen.count; i++)
        services->listeners[i].descriptor = -1;
    for (size_t i = 0; i < config->listen.count; i++) {
        srv_listener *listener = &services->listeners[i];
        srv_address address;
        if (!srv_address_read(config->listen.items[i], &address, error, error_size))
            return false;
        address.secure = config->tls_cert != NULL && !address.is_unix;
        if (!address.loopback && config->token_file == NULL && !config->allow_anonymous) {
            (void)snprintf(
                error, error_size,
                "--listen %s: anybody who reaches this address could do everything: give "
                "a --token-file, or say --allow-anonymous",
                config->listen.items[i]);
            return false;
        }
        if (!srv_listener_open(&address, listener, error, error_size))
            return false;
        if (!srv_http_listen(services->http, listener, address.secure)) {
            (void)snprintf(error, error_size, "--listen %s: there are too many",
                           config->listen.items[i]);
            return false;
        }
    }
    return true;
}

static bool create_rates(struct srv_services *services, char *error, size_t error_size)
{
    const uint64_t rate = services->config->client_rate;
    uint64_t secret;
    if (rate == 0)
        return true;
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        (void)snprintf(error, error_size, "--client-rate: no randomness: %s", strerror(errno));
        return false;
    }
    return srv_rate_create(rate, secret, &services->token_rate) &&
           srv_rate_create(rate, secret, &services->peer_rate);
}

static bool create_demo(struct srv_services *services)
{
    const obb_settings settings = srv_default_settings(services);
    return !services->config->demo ||
           srv_demo_create(services->store, &settings, srv_now_ms()) == OBB_OK;
}

static bool create_parts(struct srv_services *services, const struct obb_kernels *kernels)
{
    const srv_config *config = services->config;
    const size_t workers = config->workers != 0 ? config->workers : srv_pool_cores();
    if (!srv_metrics_init(&services->metrics, srv_route_table, srv_route_count) ||
        !srv_loop_create(&services->loop) ||
        !srv_loop_signals(services->loop, on_signal, on_hangup, services) ||
        !srv_pool_create(services->loop, workers, config->queue_limit, &services->pool) ||
        !srv_timer_create(services->loop, on_drain_over, services, &services->drain) ||
        !srv_timer_create(services->loop, on_lag, services, &services->lag) ||
        !srv_routes_create(srv_route_table, srv_route_count, &services->routes) ||
        obb_store_create(config->scene_limit, config->box_limit, kernels, &services->store) !=
            OBB_OK)
        return false;
    services->metrics.workers = workers;
    services->metrics.connection_limit = config->connection_limit;
    services->metrics.queue_limit = config->queue_limit;
    services->metrics.client_rate = config->client_rate;
    services->metrics.body_limit = config->body_limit;
    services->metrics.memory_limit = config->memory_limit;
    services->metrics.scene_limit = config->scene_limit;
    services->metrics.box_limit = config->box_limit;
    services->metrics.timeout_ms = config->request_timeout_ms;
    const srv_http_options http = {.loop = services->loop,
                                   .log = &services->log,
                                   .metrics = &services->metrics,
                                   .routes = services->routes,
                                   .services = services,
                                   .connection_limit = config->connection_limit,
                                   .body_limit = config->body_limit,
                                   .memory_limit = config->memory_limit,
                                   .request_timeout_ms = config->request_timeout_ms,
                                   .hosts = config->hosts.items,
                                   .host_count = config->hosts.count,
                                   .origins = config->cors_origins.items,
                                   .origin_count = config->cors_origins.count,
                                   .check_host = config->token_file == NULL,
                                   .admit = admit};
    return srv_events_create(services, &services->events) &&
           srv_http_create(&http, &services->http);
}

bool srv_server_create(const srv_config *config, struct srv_server **out, char *error,
                       size_t error_size)
{
    struct srv_server *server = obb_calloc(1, sizeof *server);
    (void)snprintf(error, error_size,
                   "there is not enough memory, or there are not enough descriptors");
    if (server == NULL)
        return false;
    struct srv_services *services = &server->services;
    services->config = config;
    services->log = (srv_log){.descriptor = STDERR_FILENO,
                              .level = (srv_level)config->log_level,
                              .json = config->log_format == 1};
    const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)config->kernel);
    if (kernels == NULL)
        (void)snprintf(error, error_size, "--kernel %s: this machine cannot run it",
                       obb_kernel_name((obb_kernel)config->kernel));
    else if (create_parts(services, kernels) && create_demo(services) &&
             create_rates(services, error, error_size) &&
             load_tokens(services, error, error_size) &&
             load_certificate(services, error, error_size) &&
             open_listeners(services, error, error_size)) {
        *out = server;
        return true;
    }
    srv_server_destroy(server);
    return false;
}

int srv_server_run(struct srv_server *server, FILE *announce)
{
    struct srv_services *services = &server->services;
    log_tokens(services);
    log_certificate(services);
    for (size_t i = 0; i < services->config->listen.count; i++) {
        (void)fprintf(announce, "obbd: listening on %s\n", services->listeners[i].url);
        SRV_LOG(&services->log, SRV_INFO, "listening", srv_text("url", services->listeners[i].url));
    }
    if (services->config->demo)
        srv_demo_hints(announce, services->listeners[0].url);
    (void)fflush(announce);
    services->lag_due = srv_clock() + LAG_MS * 1e-3;
    srv_timer_start(services->lag, LAG_MS, 0);
    srv_loop_run(services->loop);
    SRV_LOG(&services->log, SRV_INFO, "stopped", srv_text("by", "signal"));
    return EXIT_SUCCESS;
}

void srv_server_destroy(struct srv_server *server)
{
    if (server == NULL)
        return;
    struct srv_services *services = &server->services;
    srv_http_destroy(services->http);
    if (services->listeners != NULL)
        close_listeners(services);
    obb_free(services->listeners);
    srv_events_destroy(services->events);
    obb_store_destroy(services->store);
    srv_auth_destroy(services->auth);
    srv_rate_destroy(services->token_rate);
    srv_rate_destroy(services->peer_rate);
    srv_routes_destroy(services->routes);
    srv_timer_destroy(services->drain);
    srv_timer_destroy(services->lag);
    srv_pool_destroy(services->pool);
    srv_loop_destroy(services->loop);
    srv_metrics_fini(&services->metrics);
    obb_free(server);
}
