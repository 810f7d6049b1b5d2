/* The header fields of a request: the few that matter, and what is broken about them. libmicrohttpd takes nearly anything, so
 * the rules of RFC 9112 that keep two readers from seeing two different requests are held here. */
#ifndef SRV_HEADERS_H
#define SRV_HEADERS_H

#include "core/obb.h"

#include <stdint.h>

/* Start from zeroes and an arena. Values are the sender's, terminated, or joined in the arena. */
typedef struct srv_headers {
    struct obb_arena *arena;
    const char *fault; /* a sentence: the request is broken, and so may be where it ends */
    const char *host, *content_type, *accept, *if_match, *if_none_match, *last_event_id,
        *authorization, *origin, *request_method, *request_id;
    bool has_length, chunked, expects; /* Content-Length, Transfer-Encoding, Expect */
    uint64_t length;                   /* of Content-Length */
    bool no_memory;                    /* what was given is not complete */
    uintptr_t previous_end;            /* of the value before; 0: there was none */
} srv_headers;

/* The next field. Both texts are terminated and lie in the buffer into which the request was read, as it came. */
void srv_headers_take(srv_headers *headers, const char *name, size_t name_length, const char *value,
                      size_t value_length);

/* All fields were given. http_1_1: the request says so; end: where its headers end in the buffer. */
void srv_headers_finish(srv_headers *headers, bool http_1_1, uintptr_t end);

/* Does a Host, which may say a port, name this machine's loopback or one of `names`? Letters compare without case. */
bool srv_host_is_known(obb_str host, const char *const *names, size_t count);

#endif
