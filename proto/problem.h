/* Why requests fail, and what that is in HTTP: the only table of statuses. */
#ifndef WIRE_PROBLEM_H
#define WIRE_PROBLEM_H

#include "proto/wire.h"

/* Causes of proto's own, beside core's statuses: what a request can do wrong before core sees it. */
#define WIRE_CAUSE_TABLE(X)                                                            \
    X(WIRE_MALFORMED, 400, "malformed", "the body cannot be read")                     \
    X(WIRE_BAD_QUERY_STRING, 400, "bad-query-string", "the query string is not valid") \
    X(WIRE_WRONG_TYPE, 422, "wrong-type", "a value is of the wrong type")              \
    X(WIRE_UNKNOWN_FIELD, 422, "unknown-field", "there is no such field here")         \
    X(WIRE_MISSING_FIELD, 422, "missing-field", "a field that is needed is missing")   \
    X(WIRE_FIELD_CONFLICT, 422, "field-conflict", "two fields exclude each other")     \
    X(WIRE_BAD_LENGTH, 422, "bad-length", "an array has the wrong number of elements") \
    X(WIRE_TOO_LONG, 422, "too-long", "a value takes more room than it may")

/* Core's statuses keep their numbers, as WIRE_OBB_...; proto's own follow. */
typedef enum wire_cause {
#define WIRE_CAUSE_OF_CORE(id, name, sentence) WIRE_##id = id,
    OBB_STATUS_TABLE(WIRE_CAUSE_OF_CORE)
#undef WIRE_CAUSE_OF_CORE
#define WIRE_CAUSE_OF_WIRE(id, status, name, sentence) id,
        WIRE_CAUSE_TABLE(WIRE_CAUSE_OF_WIRE)
#undef WIRE_CAUSE_OF_WIRE
} wire_cause;

/* The problem of a cause, core's or proto's, as wire_problem_of. */
wire_problem wire_problem_of_cause(wire_cause cause);

/* A JSON pointer (RFC 6901), grown one reference at a time; a key that does not fit, or that
 * holds a zero byte, ends it at the enclosing value. */
struct wire_pointer {
    char text[1024];
    size_t length;
    bool full;
};
void wire_pointer_key(struct wire_pointer *pointer, obb_str key); /* escapes ~ and / */
void wire_pointer_index(struct wire_pointer *pointer, size_t index);
/* In the arena; NULL when there is no memory. */
const char *wire_pointer_take(const struct wire_pointer *pointer, struct obb_arena *arena);

#endif
