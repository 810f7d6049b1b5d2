/* Checks HTTP exchanges against an OpenAPI 3.1 document: is the operation there, and do parameters,
 * request and answer fit its schemas? It knows the subset of JSON Schema 2020-12 that the document
 * uses; a document with another keyword does not load.
 *
 * Answers are checked more strictly than the document promises: a member that no schema names is a
 * fault. Of an array of more than a thousand items, the items after these are checked by
 * samples. */
#ifndef TEST_SUPPORT_SCHEMA_H
#define TEST_SUPPORT_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct schema;

/* Loads the document from JSON text. NULL: the text is not JSON, a reference leads nowhere, or a
 * keyword is not known; prints the reason to stderr. */
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

/* Returns NULL if the exchange fits, otherwise the fault as a sentence, valid until the next call.
 * The request is checked only if the answer's status is below 300, because a refusal answers a
 * wrong request. */
const char *schema_check(struct schema *schema, const struct schema_exchange *exchange);

/* Checks a value against components/schemas/NAME and returns as schema_check does. strict: as
 * strictly as answers. */
const char *schema_check_value(struct schema *schema, const char *name, json_t *value, bool strict);

/* ---- The document itself --------------------------------------------------------------------- */

struct schema_counts {
    size_t operations, statuses, references, schemas, examples;
    size_t faults; /* examples that do not fit their schema; each is printed to stderr */
};

/* Checks every reference, schema and example of the document. */
struct schema_counts schema_lint(struct schema *schema);

/* ---- Statuses seen --------------------------------------------------------------------------- */

/* Compares the statuses of the document with the statuses that processes have met. schema_check
 * appends a line "operationId status" to the file that the environment variable OPERATIONS_SEEN
 * names, the first time that its process meets them. Prints the statuses missing in the file to
 * stderr. Returns their number; writes the number of all statuses to *out_of. Statuses under
 * `default` do not count. */
size_t schema_unseen(struct schema *schema, const char *seen_file, size_t *out_of);

#endif
