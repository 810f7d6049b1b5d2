#include "server/http/admission.h"

#include "server/http/body.h"

#include <string.h>

/* The path has no such method. allow: its methods, or NULL if there is no such path. */
static void refuse_method(struct srv_exchange *x, srv_method method, const char *allow)
{
    if (allow != NULL && method == SRV_OPTIONS) {
        x->allow = allow;
        return;
    }
    if (allow == NULL) {
        srv_exchange_refuse(x, 404, "nothing is found under this path");
        return;
    }
    srv_exchange_refuse(x, 405,
                        wire_detail(&x->request.arena, "found %s; this path takes %s",
                                    wire_show(obb_str_of(x->method)).text, allow));
    x->refusal.allow = allow;
}

/* ---- Pages of other origins ------------------------------------------------------------------ */

/* Returns the value of Access-Control-Allow-Origin if a page of that origin may see answers of this
 * scope, else NULL. Origins are compared byte by byte, as browsers write them in one form only. */
static const char *cors_of(const srv_http_options *options, const char *origin, srv_scope scope)
{
    const char *found = NULL;
    for (size_t i = 0; i < options->origin_count; i++) {
        if (strcmp(options->origins[i], origin) == 0)
            return origin;
        if (strcmp(options->origins[i], "*") == 0 && scope <= SRV_READ)
            found = "*";
    }
    return found;
}

/* Is the page this service's own? With HTTPS a page at http:// is not: whoever is on the way to the
 * browser may have written it. A plain connection may come from a proxy that ends HTTPS, so pages
 * of both are its own. */
static bool same_origin(const struct srv_exchange *x, const char *origin, obb_str host)
{
    const char *name = NULL;
    if (strncmp(origin, "https://", 8) == 0)
        name = origin + 8;
    else if (strncmp(origin, "http://", 7) == 0 && !x->connection->secure)
        name = origin + 7;
    return name != NULL && obb_str_equal(obb_str_of(name), host);
}

/* Refuses calls from pages of other origins. A browser would stop only the unusual ones of these
 * calls, and hide the answers of the others from the page; here they are not even worked on.
 * *out_reads_only: the page may read, whatever its token allows. */
static bool check_origin(struct srv_exchange *x, const srv_headers *h, obb_str host,
                         srv_scope scope, bool *out_reads_only)
{
    *out_reads_only = false;
    if (h->origin == NULL)
        return true;
    const bool own = same_origin(x, h->origin, host);
    x->cors = cors_of(x->all->options, h->origin, scope);
    *out_reads_only = x->cors != NULL && strcmp(x->cors, "*") == 0 && !own;
    if (x->cors != NULL || scope == SRV_OPEN || own)
        return true;
    srv_exchange_refuse(x, 403,
                        "pages of this origin may not call this service (see --cors-origin)");
    return false;
}

/* A browser asks which requests a page may send. */
static void check_preflight(struct srv_exchange *x, const srv_headers *h, obb_str host)
{
    const char *allow;
    bool reads_only;
    const srv_route *route =
        srv_routes_find(x->all->options->routes, srv_method_of(h->request_method),
                        &x->request.target, &x->request.arena, &allow);
    if (route != NULL && check_origin(x, h, host, route->scope, &reads_only))
        x->preflight = x->cors != NULL;
}

/* ---- The checks, in their order -------------------------------------------------------------- */

/* May a request name the service so? */
static bool is_known(const struct srv_exchange *x, obb_str host)
{
    const srv_http_options *options = x->all->options;
    const char *const *own = &x->connection->endpoint->host;
    return *own == NULL || srv_host_is_known(host, own, 1) ||
           srv_host_is_known(host, options->hosts, options->host_count);
}

static bool check_target(struct srv_exchange *x)
{
    bool no_memory = x->no_memory;
    const char *fault =
        no_memory ? NULL
                  : srv_target_read(x->target, &x->request.arena, &x->request.target, &no_memory);
    if (no_memory)
        srv_exchange_refuse(x, 503, "there is not enough memory for this request");
    else if (fault != NULL)
        srv_exchange_refuse(x, 400, fault);
    return !x->refused;
}

/* Writes the name by which the request calls the service to *out; "" if it names none. */
static bool check_host(struct srv_exchange *x, const srv_headers *h, const char *version,
                       obb_str *out)
{
    const obb_str authority = x->request.target.authority;
    *out = h->host != NULL ? obb_str_of(h->host) : (obb_str){.bytes = "", .length = 0};
    if (authority.length != 0)
        *out = authority;
    if (h->host == NULL && strcmp(version, "HTTP/1.1") == 0) {
        srv_exchange_refuse(x, 400, "there is no Host field");
        return false;
    }
    /* HTTP/1.0 needs no name: health checks speak it, browsers do not */
    const bool named = h->host != NULL || authority.length != 0;
    if (named && !is_known(x, *out)) {
        srv_exchange_refuse(x, 403, "this service is not known by that name (see --host)");
        return false;
    }
    return true;
}

/* The target "*" is no path: it is only for OPTIONS. */
static void answer_asterisk(struct srv_exchange *x, srv_method method)
{
    if (method == SRV_OPTIONS)
        x->allow = "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS";
    else
        srv_exchange_refuse(x, 400, "the target does not start with /");
}

static bool find_route(struct srv_exchange *x, const srv_headers *h, obb_str host,
                       srv_method method)
{
    const srv_http_options *options = x->all->options;
    struct srv_request *request = &x->request;
    const char *allow = NULL;
    request->route =
        srv_routes_find(options->routes, method, &request->target, &request->arena, &allow);
    if (request->route != NULL)
        return true;
    refuse_method(x, method, allow);
    if (x->refused && h->origin != NULL)
        x->cors = cors_of(options, h->origin, SRV_OPEN);
    if (x->allow != NULL && h->request_method != NULL)
        check_preflight(x, h, host);
    return false;
}

static bool check_rights(struct srv_exchange *x, const srv_headers *h, obb_str host)
{
    const srv_http_options *options = x->all->options;
    bool reads_only;
    if (!check_origin(x, h, host, x->request.route->scope, &reads_only))
        return false;
    if (options->admit != NULL && !options->admit(&x->request, h->authorization, &x->refusal)) {
        x->refused = true;
        return false;
    }
    x->admitted = true;
    if (reads_only)
        x->request.scopes &= WIRE_SCOPE_READ;
    return true;
}

/* Refuses a header that names no media type of the set `media`, which is not empty. */
static void refuse_media(struct srv_exchange *x, int status, const char *header, const char *found,
                         unsigned media)
{
    struct obb_arena *arena = &x->request.arena;
    const char *list = "";
    for (wire_media m = WIRE_JSON; m < WIRE_PROBLEM; m++)
        if ((media & 1u << m) != 0)
            list =
                wire_detail(arena, "%s%s%s", list, *list != '\0' ? ", " : "", wire_media_type(m));
    srv_exchange_refuse(x, status,
                        found == NULL
                            ? wire_detail(arena, "found no %s; it is one of %s", header, list)
                            : wire_detail(arena, "found the %s %s; it is one of %s", header,
                                          wire_show(obb_str_of(found)).text, list));
}

static bool check_accept(struct srv_exchange *x, const srv_headers *h)
{
    const srv_route *route = x->request.route;
    if (route->offers == 0)
        return true;
    wire_media offered[WIRE_PROBLEM];
    size_t count = 0;
    for (wire_media media = WIRE_JSON; media < WIRE_PROBLEM; media++)
        if (route->offers & 1u << media)
            offered[count++] = media;
    if (!wire_media_from_accept(h->accept, offered, count, &x->request.accept)) {
        refuse_media(x, 406, "Accept", h->accept, route->offers);
        return false;
    }
    return true;
}

static void check_body(struct srv_exchange *x, const srv_headers *h)
{
    const srv_route *route = x->request.route;
    wire_body *body = &x->request.body;
    if (x->declared == 0)
        return;
    if (route->takes == 0)
        srv_exchange_refuse(x, 400, "this request takes no body");
    else if (h->content_type == NULL ||
             !wire_media_from_content_type(h->content_type, &body->media) ||
             (route->takes & 1u << body->media) == 0)
        refuse_media(x, 415, "Content-Type", h->content_type, route->takes);
    else if (x->declared != UINT64_MAX && x->declared > x->all->options->body_limit)
        srv_exchange_refuse(x, 413, srv_body_too_long(x, x->declared));
    /* a body in chunks may turn out to be empty, which is none */
    x->refused_with_body = x->refused && x->declared == UINT64_MAX;
    x->refused = x->refused && !x->refused_with_body;
}

void srv_admission_check(struct srv_exchange *x, const srv_headers *headers, const char *version)
{
    obb_str host;
    if (!check_target(x) || !check_host(x, headers, version, &host))
        return;
    const srv_method method = srv_method_of(x->method);
    if (x->request.target.asterisk) {
        answer_asterisk(x, method);
        return;
    }
    if (find_route(x, headers, host, method) && check_rights(x, headers, host) &&
        check_accept(x, headers))
        check_body(x, headers);
}
