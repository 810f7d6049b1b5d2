/* The file of tokens: who may do what. */
#ifndef WIRE_REQUEST_TOKENS_H
#define WIRE_REQUEST_TOKENS_H

#include "proto/request/request.h"

#include <stdint.h>

enum { WIRE_SCOPE_READ = 1, WIRE_SCOPE_WRITE = 2, WIRE_SCOPE_ADMIN = 4 };

/* One token. The file holds its hash, never its text. */
typedef struct wire_token {
    obb_str name;
    unsigned char sha256[32]; /* of the token's text */
    unsigned scopes;          /* of WIRE_SCOPE_… */
    const obb_str *scenes; /* names of scenes, or patterns in which * stands for any run of bytes */
    size_t scene_count;
    bool expires;
    int64_t expiry; /* seconds since 1970, UTC: the first second in which the token is invalid */
} wire_token;

/* Reads {"tokens":[{"name","sha256","scopes":[..],"scenes":[..],"expires"}]}, as strictly as any
 * request. `expires` is optional. No two tokens may have the same hash. */
bool wire_read_tokens(const wire_body *body, struct obb_arena *arena, const wire_token **out,
                      size_t *out_count, wire_problem *problem);

#endif
