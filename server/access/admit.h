/* Admission: may this request go on to its route? By the token that it shows and by the rate of its
 * client. Loop only. */
#ifndef SRV_ADMIT_H
#define SRV_ADMIT_H

#include "server/access/auth.h"
#include "server/base/metrics.h"
#include "server/http/request.h"

struct srv_admit;

typedef struct srv_admit_options {
    const char *token_file;            /* --token-file; NULL: everybody may do everything */
    uint64_t client_rate;              /* --client-rate; 0: no limit */
    size_t scene_part;                 /* the part of a path that names a scene */
    srv_handler *const *without_limit; /* handlers that no rate limits, then NULL */
    struct srv_metrics *metrics;       /* counts refused requests */
} srv_admit_options;

/* Reads the token file. The options' pointers must outlive the result. Returns false if the file is
 * broken or there is no memory; then error holds one line if it is the file, or the randomness, and
 * is as it was if it is the memory. */
bool srv_admit_create(const srv_admit_options *options, struct srv_admit **out, char *error,
                      size_t error_size);
void srv_admit_destroy(struct srv_admit *admit); /* NULL is fine */

/* Reads the token file again. Returns false if it is broken: error holds one line, and the tokens
 * before stay in use. */
bool srv_admit_reload(struct srv_admit *admit, char *error, size_t error_size);

/* Returns the tokens in use, or NULL if everybody may do everything. */
const struct srv_auth *srv_admit_tokens(const struct srv_admit *admit);

/* Checks, in this order: the client's rate (429), the token (401), its scope and its scenes (403).
 * authorization: the header's value, or NULL. Sets request->scopes, request->token and
 * request->grant. Returns false if the request is refused, as *problem says. */
bool srv_admit_request(struct srv_admit *admit, struct srv_request *request,
                       const char *authorization, wire_problem *problem);

/* Checks that the token by which the request was admitted still admits it: it is in use and has not
 * expired (401), and has the scope and the scene (403). Looks the token up only after a reload, and
 * then sets request->token anew and takes away the scopes that the token lost. Called before a
 * handler is called later than admission, and for open streams. Returns false if the request is
 * refused, as *problem says. True without tokens. */
bool srv_admit_again(const struct srv_admit *admit, struct srv_request *request,
                     wire_problem *problem);

/* Returns whether the token by which the request was admitted is for the scene, too. True without
 * tokens. */
bool srv_admit_scene(const struct srv_admit *admit, const struct srv_request *request,
                     obb_str scene);

#endif
