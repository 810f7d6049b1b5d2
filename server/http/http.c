#include "server/http/http.h"

#include "server/http/accept.h"
#include "server/http/answer_body.h"
#include "server/http/deadline.h"
#include "server/http/engine.h"
#include "server/http/linger.h"

#include <assert.h>
#include <microhttpd.h>

/* The parts of the service, in the order in which they start. */
struct srv_http {
    srv_http_options options;
    struct srv_lingerers lingerers;     /* clients that read why they were refused */
    struct srv_constants constants;     /* answers that many requests share */
    struct srv_connections connections; /* all, with their deadlines */
    struct srv_exchanges exchanges;     /* requests under way, and the pool of their memory */
    struct srv_engines engines;         /* libmicrohttpd */
    struct srv_acceptor acceptor;       /* new connections */
    srv_callback *idle;
    void *idle_context;
};

static bool turn(void *context)
{
    struct srv_http *http = context;
    const bool again = srv_engines_run(&http->engines);
    if (http->connections.closing && http->exchanges.active == 0)
        http->idle(http->idle_context);
    return again;
}

static void label_metrics(const srv_http_options *options)
{
    for (size_t i = 0; i < srv_routes_count(options->routes); i++) {
        const srv_route *route = srv_route_at(options->routes, i);
        srv_metrics_label(options->metrics, i, srv_method_name(route->method), route->pattern);
    }
}

bool srv_http_create(const srv_http_options *options, struct srv_http **out)
{
    assert(options->metrics->route_count >= srv_routes_count(options->routes));
    struct srv_http *http = obb_calloc(1, sizeof *http);
    if (http == NULL)
        return false;
    http->options = *options;
    options = &http->options;
    http->lingerers.loop = options->loop;
    http->connections.options = options;
    http->connections.on_expired = srv_deadline_expired;
    http->exchanges.options = options;
    http->exchanges.constants = &http->constants;
    http->exchanges.lingerers = &http->lingerers;
    http->engines.options = options;
    http->engines.connections = &http->connections;
    http->engines.exchanges = &http->exchanges;
    http->engines.lingerers = &http->lingerers;
    http->acceptor.options = options;
    http->acceptor.connections = &http->connections;
    http->acceptor.engines = &http->engines;
    if (!srv_constants_init(&http->constants) || !srv_connections_init(&http->connections) ||
        !srv_engines_start(&http->engines) || !srv_acceptor_init(&http->acceptor)) {
        srv_http_destroy(http);
        return false;
    }
    label_metrics(options);
    srv_loop_set_turn(options->loop, turn, http);
    *out = http;
    return true;
}

bool srv_http_use_certificate(struct srv_http *http, const char *certificate, const char *key)
{
    return srv_engines_use_certificate(&http->engines, certificate, key);
}

bool srv_http_listen(struct srv_http *http, const srv_listener *listener, bool secure)
{
    assert(!secure || http->engines.secure != NULL);
    return srv_acceptor_listen(&http->acceptor, listener, secure);
}

const char *srv_http_version(void) { return MHD_get_version(); }

void srv_http_quiesce(struct srv_http *http, srv_callback *idle, void *context)
{
    srv_acceptor_stop(&http->acceptor);
    http->connections.closing = true;
    http->idle = idle;
    http->idle_context = context;
    srv_loop_due(http->options.loop);
}

size_t srv_http_connections(const struct srv_http *http) { return http->connections.count; }

bool srv_http_idle(const struct srv_http *http) { return http->exchanges.active == 0; }

void srv_http_recheck(struct srv_http *http)
{
    wire_problem problem; /* nobody hears of it: the answer has begun */
    for (struct srv_connection *c = http->connections.oldest; c != NULL; c = c->newer)
        if (c->phase == SRV_PHASE_STREAM &&
            !http->options.admit_again(&c->exchange->request, &problem))
            srv_connection_cut(c);
}

void srv_http_cut(struct srv_http *http)
{
    for (struct srv_connection *c = http->connections.oldest; c != NULL; c = c->newer) {
        if (c->phase == SRV_PHASE_WORK || c->phase == SRV_PHASE_STREAM)
            srv_exchange_cancel(c->exchange, false);
        srv_connection_cut(c);
    }
    srv_loop_due(http->options.loop);
}

void srv_http_destroy(struct srv_http *http)
{
    if (http == NULL)
        return;
    srv_acceptor_stop(&http->acceptor);
    srv_loop_set_turn(http->options.loop, NULL, NULL);
    srv_engines_stop(&http->engines);
    srv_connections_fini(&http->connections);
    srv_acceptor_fini(&http->acceptor);
    srv_linger_stop(&http->lingerers);
    srv_constants_fini(&http->constants);
    srv_exchanges_fini(&http->exchanges);
    obb_free(http);
}
