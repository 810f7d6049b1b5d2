/* The files of proto/contract/examples/: exchanges with the service, as documentation, as the examples of the OpenAPI document, and as
 * tests that are replayed in order against a fresh daemon. See proto/contract/examples/README.md for the format. */
#ifndef PROTO_TOOLS_EXCHANGE_H
#define PROTO_TOOLS_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* One header line. */
struct exchange_header {
    const char *name, *value;
};

enum { EXCHANGE_HEADERS = 8 }; /* the most of a request or an answer */

struct exchange {
    const char *title; /* a sentence */
    const char *method;
    const char *target; /* path and query string, as sent */
    struct exchange_header sent[EXCHANGE_HEADERS];
    size_t sent_count;
    const char *request; /* body; NULL: none */
    int status;
    struct exchange_header expected[EXCHANGE_HEADERS];
    size_t expected_count;
    const char *answer; /* body; NULL: none */
    int line;           /* of the title */
};

struct exchanges {
    struct exchange *list;
    size_t count;
    char *text; /* holds all strings */
};

/* Reads a file. On failure prints a line "file:line: what" to stderr and returns false; *out is then empty. */
bool exchanges_read(const char *path, struct exchanges *out);
void exchanges_fini(struct exchanges *exchanges);

/* The value of a header of the list, or NULL. Names are compared without case. */
const char *exchange_header(const struct exchange_header *headers, size_t count, const char *name);

/* The media types of the bodies: what Content-Type says, else JSON, or for a status of 400 and more a problem. */
const char *exchange_request_type(const struct exchange *exchange);
const char *exchange_answer_type(const struct exchange *exchange);

#endif
