/* Holds HTTP exchanges against an OpenAPI 3.1 document: is the operation there, and do parameters, request and answer fit its
 * schemas? The subset of JSON Schema 2020-12 that the document uses; a keyword that is not known fails the load.
 *
 * Answers are held stricter than the document promises to others: a member that no schema names is a fault. Of arrays of more
 * than a thousand items the rest is looked at by samples. */
#ifndef TEST_SUPPORT_SCHEMA_H
#define TEST_SUPPORT_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct schema;

/* The document, as JSON text. NULL when it is not one, or a reference leads nowhere, or a keyword is not known; the reason is printed
 * to stderr. */
struct schema *schema_load(const char *text, size_t length);
void schema_free(struct schema *schema); /* NULL is fine */

struct schema_exchange {
    const char *method, *target; /* path and query string, as sent */
    const char *request_type;    /* Content-Type, or NULL */
    const char *request;         /* body */
    size_t request_length;
    long status;
    const char *answer_type; /* Content-Type, or NULL */
    const char *answer;      /* body */
    size_t answer_length;
};

/* NULL when all is well, else what is not, valid until the next call. A request must fit only where the answer's status is
 * below 300: refusals show requests that do not. */
const char *schema_check(struct schema *schema, const struct schema_exchange *exchange);

/* Does the value fit components/schemas/NAME? NULL or what does not, as above. strict: as answers are held. */
const char *schema_check_value(struct schema *schema, const char *name, json_t *value, bool strict);

/* ---- The document itself --------------------------------------------------------------------------------- */

struct schema_counts {
    size_t operations, statuses, references, schemas, examples;
    size_t faults; /* examples that do not fit their schema; each is printed to stderr */
};

/* Looks at every reference, schema and example of the document. */
struct schema_counts schema_lint(struct schema *schema);

/* ---- What was seen ----------------------------------------------------------------------------------------- */

/* schema_check notes each operation with its status the first time a process meets it: "operationId status", a line of the
 * file that the environment's OBBD_SEEN names. This prints to stderr what the document lists and the file has not; returns how
 * many, and how many there are in all. Statuses under `default` do not count. */
size_t schema_unseen(struct schema *schema, const char *seen_file, size_t *out_of);

#endif
