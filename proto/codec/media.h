/* Media types: which of them a body has, and which of them an answer may have. */
#ifndef WIRE_MEDIA_H
#define WIRE_MEDIA_H

#include <stdbool.h>
#include <stddef.h>

typedef enum wire_media {
    WIRE_JSON,
    WIRE_CBOR,
    WIRE_NDJSON,
    WIRE_EVENTS, /* answers only */
    WIRE_PROBLEM /* answers only */
} wire_media;

/* Returns the value of Content-Type: "application/json" and so on. Constant. */
const char *wire_media_type(wire_media media);

/* Reads a Content-Type value, which may have parameters such as charset=utf-8; NULL means that
 * there is no header. Returns false if the value is not the type of a request body that this
 * service reads (415). */
bool wire_media_from_content_type(const char *value, wire_media *out);

/* Picks one of the `count` > 0 offered media by an Accept value; NULL means that there is no
 * header. Of media that are accepted equally the one offered first wins. Returns false if none is
 * accepted (406); *out is then the first one. Source RFC 9110, 12.5.1. */
bool wire_media_from_accept(const char *value, const wire_media *offered, size_t count,
                            wire_media *out);

#endif
