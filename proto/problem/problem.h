/* Problems (RFC 9457): why a request failed. The only place that knows the numbers of HTTP
 * statuses. */
#ifndef WIRE_PROBLEM_H
#define WIRE_PROBLEM_H

#include "core/obb.h"

#include <stdbool.h>
#include <stdint.h>

/* Why a request failed. Every string is constant or lives in the arena of the request. */
typedef struct wire_problem {
    int status;          /* HTTP */
    const char *type;    /* a short name; becomes the `type` URI reference "/problems/<name>" */
    const char *title;   /* a sentence about the type */
    const char *detail;  /* a sentence about this case: what was found, what is allowed */
    const char *pointer; /* JSON pointer into the body, or NULL */
    bool has_range;      /* 410: oldest and newest say which states are kept */
    obb_moment oldest, newest;
    const char *allow; /* 405: value of the header Allow */
    int retry_after;   /* seconds, for 429 and 503; 0: none */
    bool has_tag;      /* the problem is one of a query with this tag */
    obb_str tag;
} wire_problem;

/* The causes that proto finds itself, beside core's statuses: id, HTTP status, type, title, and
 * what is allowed unless the place that refuses knows it better. */
#define WIRE_CAUSE_TABLE(X)                                                            \
    X(WIRE_MALFORMED, 400, "malformed", "the body cannot be read",                     \
      "a body is one well-formed value")                                               \
    X(WIRE_BAD_QUERY_STRING, 400, "bad-query-string", "the query string is not valid", \
      "a query string holds known parameters, each once")                              \
    X(WIRE_WRONG_TYPE, 422, "wrong-type", "a value is of the wrong type",              \
      "a value of another type is needed here")                                        \
    X(WIRE_UNKNOWN_FIELD, 422, "unknown-field", "there is no such field here",         \
      "the published document lists the known ones")                                   \
    X(WIRE_MISSING_FIELD, 422, "missing-field", "a field that is needed is missing",   \
      "a field that is needed is missing")                                             \
    X(WIRE_FIELD_CONFLICT, 422, "field-conflict", "two fields exclude each other",     \
      "another field excludes it")                                                     \
    X(WIRE_BAD_LENGTH, 422, "bad-length", "an array has the wrong number of elements", \
      "another number of elements is needed here")                                     \
    X(WIRE_TOO_LONG, 422, "too-long", "a value takes more room than it may", "less is needed here")

/* What is wrong with a value. Core's statuses keep their numbers, as WIRE_OBB_...; proto's own
 * causes follow. */
typedef enum wire_cause {
#define WIRE_CAUSE_OF_CORE(id, name, sentence) WIRE_##id = id,
    OBB_STATUS_TABLE(WIRE_CAUSE_OF_CORE)
#undef WIRE_CAUSE_OF_CORE
#define WIRE_CAUSE_OF_WIRE(id, status, name, sentence, rule) id,
        WIRE_CAUSE_TABLE(WIRE_CAUSE_OF_WIRE)
#undef WIRE_CAUSE_OF_WIRE
} wire_cause;

/* Returns the problem of a status of core: the only table from core's statuses to HTTP. The detail
 * says what is allowed. The functions below and wire_problem_of_edit also say what was found. */
wire_problem wire_problem_of(obb_status status);

/* Returns the problem of a cause, core's or proto's. The detail says what is allowed. */
wire_problem wire_problem_of_cause(wire_cause cause);

/* Returns the problem of a name in the path: OBB_BAD_NAME, OBB_NO_SCENE, OBB_NO_BOX or
 * OBB_NO_FRAME. */
wire_problem wire_problem_of_name(obb_status status, obb_str name, struct obb_arena *arena);

/* Returns the problem of a state that is not kept (OBB_GONE). The caller sets the pointer. */
wire_problem wire_problem_of_gone(const obb_at *at, obb_moment oldest, obb_moment newest,
                                  struct obb_arena *arena);

/* Returns the problem of a scene that is not at the revision that a condition asks for
 * (OBB_REVISION). found is NULL if there is no scene. asked is the condition as it was sent. */
wire_problem wire_problem_of_revision(const uint64_t *found, obb_str asked,
                                      struct obb_arena *arena);

/* Returns the problem of a box that was changed by the commit `changed` (0: there is no box), where
 * a condition asks for `asked` (0: no box) or an earlier one, which may not be in the future
 * (OBB_REVISION). */
wire_problem wire_problem_of_if_box(obb_str name, uint64_t changed, uint64_t asked,
                                    struct obb_arena *arena);

/* Returns the problem of a box whose revisions, `changed` to `present`, are not those that If-Match
 * asks for. asked is the condition as it was sent. */
wire_problem wire_problem_of_box_match(obb_str name, uint64_t changed, uint64_t present,
                                       obb_str asked, struct obb_arena *arena);

/* Returns the problem of what is there although If-None-Match rules that out, or is not there
 * although If-Match asks for it. `kind`: "box", "frame" or "scene". */
wire_problem wire_problem_of_presence(const char *kind, obb_str name, bool is_there,
                                      struct obb_arena *arena);

/* Returns the problem (409) of a copy whose place is taken. */
wire_problem wire_problem_of_taken_scene(obb_str name, struct obb_arena *arena);

/* A commit has the id of an earlier one that it cannot be a repetition of. 422. */
wire_problem wire_problem_of_commit_id(obb_str id, struct obb_arena *arena);

/* The setting "durable" that was sent cannot be had: the scene exists and was made with the other
 * one, or the service keeps no journal. `durable`: what the scene is, or would be. 422. */
wire_problem wire_problem_of_durable(bool durable, bool exists, struct obb_arena *arena);

/* Returns the problem of a scene that has another epoch than a condition asks for. found is 0 if
 * there is no scene. */
wire_problem wire_problem_of_epoch(uint64_t found, uint64_t asked, struct obb_arena *arena);

/* Returns the problem of a scene that has other dimensions than were sent (OBB_DIMENSIONS). */
wire_problem wire_problem_of_dimensions(int has, int sent, struct obb_arena *arena);

/* Returns the problem of a query that asks for a state of other dimensions. The caller sets the
 * pointer, unless the state is the present one. */
wire_problem wire_problem_of_past_dimensions(const obb_at *at, int has, int sent,
                                             struct obb_arena *arena);

/* Returns the problem of a limit that is reached (OBB_LIMIT). what names in the plural the things
 * that are limited; option is the option that sets the limit. */
wire_problem wire_problem_of_limit(const char *what, uint64_t limit, const char *option,
                                   struct obb_arena *arena);

/* Returns the problem of a commit for which the memory for scenes has no room (OBB_SCENE_MEMORY).
 * bytes: what the commit would add. free_bytes: how many of `limit` are free. */
wire_problem wire_problem_of_scene_memory(size_t bytes, size_t free_bytes, size_t limit,
                                          struct obb_arena *arena);

/* Returns a problem that HTTP itself causes: 400 401 403 404 405 406 413 415 429 500 503. detail
 * must live as long as the problem. Asserts that the status is one of these. */
wire_problem wire_problem_http(int status, const char *detail);

#endif
