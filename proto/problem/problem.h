/* Problems (RFC 9457): why a request failed. The only place that knows the numbers of HTTP
 * statuses. */
#ifndef WIRE_PROBLEM_H
#define WIRE_PROBLEM_H

#include "core/obb.h"

#include <stdbool.h>

/* Why a request failed. Every string is constant or lives in the arena of the request. */
typedef struct wire_problem {
    int status;          /* HTTP */
    const char *type;    /* a short name; becomes the `type` URI reference "/problems/<name>" */
    const char *title;   /* a sentence about the type */
    const char *detail;  /* a sentence about this case, or NULL */
    const char *pointer; /* JSON pointer into the body, or NULL */
    bool has_range;      /* 410: oldest and newest say which states are kept */
    obb_moment oldest, newest;
    const char *allow; /* 405: value of the header Allow */
    int retry_after;   /* seconds, for 429 and 503; 0: none */
} wire_problem;

/* The causes that proto finds itself, beside core's statuses: id, HTTP status, type, title. */
#define WIRE_CAUSE_TABLE(X)                                                            \
    X(WIRE_MALFORMED, 400, "malformed", "the body cannot be read")                     \
    X(WIRE_BAD_QUERY_STRING, 400, "bad-query-string", "the query string is not valid") \
    X(WIRE_WRONG_TYPE, 422, "wrong-type", "a value is of the wrong type")              \
    X(WIRE_UNKNOWN_FIELD, 422, "unknown-field", "there is no such field here")         \
    X(WIRE_MISSING_FIELD, 422, "missing-field", "a field that is needed is missing")   \
    X(WIRE_FIELD_CONFLICT, 422, "field-conflict", "two fields exclude each other")     \
    X(WIRE_BAD_LENGTH, 422, "bad-length", "an array has the wrong number of elements") \
    X(WIRE_TOO_LONG, 422, "too-long", "a value takes more room than it may")

/* What is wrong with a value. Core's statuses keep their numbers, as WIRE_OBB_...; proto's own
 * causes follow. */
typedef enum wire_cause {
#define WIRE_CAUSE_OF_CORE(id, name, sentence) WIRE_##id = id,
    OBB_STATUS_TABLE(WIRE_CAUSE_OF_CORE)
#undef WIRE_CAUSE_OF_CORE
#define WIRE_CAUSE_OF_WIRE(id, status, name, sentence) id,
        WIRE_CAUSE_TABLE(WIRE_CAUSE_OF_WIRE)
#undef WIRE_CAUSE_OF_WIRE
} wire_cause;

/* Returns the problem of a status of core: the only table from core's statuses to HTTP. For
 * OBB_LIMIT the detail names the limit of scenes: wire_problem_of_edit names the limit of boxes,
 * and a query that reaches a limit is answered in pages. */
wire_problem wire_problem_of(obb_status status);

/* Returns the problem of a cause, core's or proto's. */
wire_problem wire_problem_of_cause(wire_cause cause);

/* Returns a problem that HTTP itself causes: 400 401 403 404 405 406 413 415 429 500 503. detail
 * may be NULL and must live as long as the problem. Asserts that the status is one of these. */
wire_problem wire_problem_http(int status, const char *detail);

#endif
