#include "server/access/admit.h"

#include "server/access/rate.h"
#include "server/access/token_hash.h"
#include "server/base/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const unsigned needs[] = {[SRV_OPEN] = 0,
                                 [SRV_READ_OR_WRITE] = WIRE_SCOPE_READ | WIRE_SCOPE_WRITE,
                                 [SRV_READ] = WIRE_SCOPE_READ,
                                 [SRV_WRITE] = WIRE_SCOPE_WRITE,
                                 [SRV_ADMIN] = WIRE_SCOPE_ADMIN};

/* What a token is told that has none of these scopes. */
static const char *const lacks[] = {
    [SRV_READ_OR_WRITE] = "this needs the scope read or write, and the token has neither",
    [SRV_READ] = "this needs the scope read, which the token lacks",
    [SRV_WRITE] = "this needs the scope write, which the token lacks",
    [SRV_ADMIN] = "this needs the scope admin, which the token lacks"};

struct srv_admit {
    srv_admit_options options;
    struct srv_auth *auth;                   /* NULL: everybody may do everything */
    uint64_t version;                        /* counts the times that `auth` was read */
    struct srv_rate *token_rate, *peer_rate; /* NULL: no limit */
};

static bool create_rates(struct srv_admit *a, char *error, size_t error_size)
{
    const uint64_t rate = a->options.client_rate;
    uint64_t secret;
    if (rate == 0)
        return true;
    if (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        (void)snprintf(error, error_size, "--client-rate: no randomness: %s", strerror(errno));
        return false;
    }
    return srv_rate_create(rate, secret, &a->token_rate) &&
           srv_rate_create(rate, secret, &a->peer_rate);
}

bool srv_admit_create(const srv_admit_options *options, struct srv_admit **out, char *error,
                      size_t error_size)
{
    struct srv_admit *a = obb_calloc(1, sizeof *a);
    if (a == NULL)
        return false;
    a->options = *options;
    if (create_rates(a, error, error_size) && srv_admit_reload(a, error, error_size)) {
        *out = a;
        return true;
    }
    srv_admit_destroy(a);
    return false;
}

void srv_admit_destroy(struct srv_admit *a)
{
    if (a == NULL)
        return;
    srv_auth_destroy(a->auth);
    srv_rate_destroy(a->token_rate);
    srv_rate_destroy(a->peer_rate);
    obb_free(a);
}

bool srv_admit_reload(struct srv_admit *a, char *error, size_t error_size)
{
    struct srv_auth *auth;
    if (a->options.token_file == NULL)
        return true;
    if (!srv_auth_load(a->options.token_file, &auth, error, error_size))
        return false;
    srv_auth_destroy(a->auth);
    a->auth = auth;
    a->version++;
    return true;
}

const struct srv_auth *srv_admit_tokens(const struct srv_admit *a) { return a->auth; }

static bool is_without_limit(const struct srv_admit *a, srv_handler *handler)
{
    for (srv_handler *const *free = a->options.without_limit; *free != NULL; free++)
        if (*free == handler)
            return true;
    return false;
}

/* The client of a token is known by the token's name, which a new token may take over. Any other
 * client is known by its address. */
static bool within_rate(struct srv_admit *a, const struct srv_request *request,
                        const wire_token *token)
{
    if (a->peer_rate == NULL || is_without_limit(a, request->route->handler))
        return true;
    const uint64_t now_ns = (uint64_t)(srv_clock() * 1e9);
    if (token == NULL)
        return srv_rate_admit(a->peer_rate, srv_request_peer(request), now_ns);
    unsigned char hash[SRV_TOKEN_HASH];
    uint64_t client;
    srv_token_hash(token->name.bytes, token->name.length, hash);
    memcpy(&client, hash, sizeof client);
    return srv_rate_admit(a->token_rate, client, now_ns);
}

/* Returns why the token does not admit the request, or NULL if it does. */
static const char *denies(const struct srv_admit *a, const struct srv_request *request,
                          const wire_token *token)
{
    const size_t part = a->options.scene_part;
    if ((token->scopes & needs[request->route->scope]) == 0)
        return lacks[request->route->scope];
    if (request->target.part_count > part && !srv_auth_scene(token, request->target.parts[part]))
        return "the token is not for this scene";
    return NULL;
}

static void grant(const struct srv_admit *a, struct srv_request *request, const wire_token *token)
{
    request->token = token;
    request->grant.version = a->version;
    request->grant.expiry = token->expires ? token->expiry : INT64_MAX;
}

bool srv_admit_request(struct srv_admit *a, struct srv_request *request, const char *authorization,
                       wire_problem *problem)
{
    const struct srv_auth *auth = a->auth;
    const unsigned need = needs[request->route->scope];
    const wire_token *token =
        auth != NULL && need != 0 ? srv_auth_find(auth, authorization, time(NULL)) : NULL;
    request->scopes = WIRE_SCOPE_READ | WIRE_SCOPE_WRITE | WIRE_SCOPE_ADMIN;
    if (!within_rate(a, request, token)) {
        a->options.metrics->rate_exceeded_total++;
        *problem = wire_problem_http(429, wire_detail(&request->arena,
                                                      "found more; a client sends at most %" PRIu64
                                                      " requests a second (--client-rate)",
                                                      a->options.client_rate));
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
    request->grant.by_token = true;
    memcpy(request->grant.sha256, token->sha256, sizeof request->grant.sha256);
    grant(a, request, token);
    const char *reason = denies(a, request, token);
    if (reason != NULL)
        *problem = wire_problem_http(403, reason);
    return reason == NULL;
}

bool srv_admit_again(const struct srv_admit *a, struct srv_request *request, wire_problem *problem)
{
    static const char gone[] = "the token has expired meanwhile, or was taken back";
    if (!request->grant.by_token)
        return true;
    if (request->grant.version != a->version) {
        const wire_token *token = srv_auth_find_hash(a->auth, request->grant.sha256);
        const char *reason = token != NULL ? denies(a, request, token) : NULL;
        if (token == NULL || reason != NULL) {
            *problem = wire_problem_http(token == NULL ? 401 : 403, token == NULL ? gone : reason);
            return false;
        }
        grant(a, request, token);
        request->scopes &= token->scopes; /* they may be fewer now */
    }
    if (time(NULL) < request->grant.expiry)
        return true;
    *problem = wire_problem_http(401, gone);
    return false;
}

bool srv_admit_scene(const struct srv_admit *a, const struct srv_request *request, obb_str scene)
{
    if (!request->grant.by_token)
        return true;
    const wire_token *token = srv_auth_find_hash(a->auth, request->grant.sha256);
    return token != NULL && srv_auth_scene(token, scene);
}
