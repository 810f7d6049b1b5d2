/* The header fields of a request: the few that matter, and their faults. libmicrohttpd accepts
 * nearly anything, so this file enforces the rules of RFC 9112 that keep two readers from seeing
 * two different requests. */
#ifndef SRV_HEADERS_H
#define SRV_HEADERS_H

#include "core/obb.h"

#include <stdint.h>

/* Starts as zeroes with an arena. Values have no blanks at either end. They point into the request,
 * or into the arena if several lines were joined or blanks were left out. All are terminated. */
typedef struct srv_headers {
    struct obb_arena *arena;
    const char *fault; /* a sentence; NULL: none. The end of a request with a fault is in doubt */
    const char *host, *content_type, *accept, *if_match, *if_none_match, *last_event_id,
        *authorization, *origin, *request_method, *request_id, *if_epoch;
    bool has_length, chunked, expects; /* Content-Length, Transfer-Encoding, Expect */
    uint64_t length;                   /* of Content-Length */
    bool no_memory;                    /* fields are missing */
    uintptr_t previous_end;            /* of the value before; 0: this is the first field */
} srv_headers;

/* Takes the next field. Both texts are terminated and lie in the buffer into which the request was
 * read. */
void srv_headers_take(srv_headers *headers, const char *name, size_t name_length, const char *value,
                      size_t value_length);

/* Checks the headers as a whole, after the last field. http_1_1: the version of the request. end:
 * the address in the buffer at which the headers end. */
void srv_headers_finish(srv_headers *headers, bool http_1_1, uintptr_t end);

/* Returns whether a Host value, with or without port, names this machine's loopback or one of
 * `names`. Ignores case. */
bool srv_host_is_known(obb_str host, const char *const *names, size_t count);

#endif
