/* Exchanges with the service: the files of proto/contract/examples/. They are documentation, the
 * examples of the OpenAPI document, and tests that are replayed in order against a fresh daemon.
 * proto/contract/examples/README.md describes their format. */
#ifndef PROTO_TOOLS_EXCHANGE_H
#define PROTO_TOOLS_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* One header line. */
struct exchange_header {
    const char *name, *value;
};

enum { EXCHANGE_HEADERS = 8 }; /* the most that a request or an answer may have */

struct exchange {
    const char *title; /* a sentence */
    const char *words; /* the lines with # below it, joined; NULL: none */
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
    char *text; /* owned; holds all strings */
};

/* Reads a file. On failure prints a line "file:line: message" to stderr and returns false; *out is
 * then empty. */
bool exchanges_read(const char *path, struct exchanges *out);

/* Frees the exchanges and their strings. */
void exchanges_fini(struct exchanges *exchanges);

/* Returns the value of a header of the list, or NULL. Names are compared without case. */
const char *exchange_header(const struct exchange_header *headers, size_t count, const char *name);

/* Return the media types of the bodies: the Content-Type if there is one; otherwise JSON, or a
 * problem for an answer with a status of 400 or more. */
const char *exchange_request_type(const struct exchange *exchange);
const char *exchange_answer_type(const struct exchange *exchange);

#endif
