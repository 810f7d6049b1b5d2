/* The face of proto: request bytes to core's plain data, core's results to bytes, and problems.
 *
 * Everything here is a pure function of its arguments; any thread. What a decoder yields lives in the arena it was given
 * and may point into the body, which must live as long. */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/reply/event.h"

typedef enum wire_media {
    WIRE_JSON,
    WIRE_CBOR,
    WIRE_NDJSON,
    WIRE_EVENTS, /* of answers alone */
    WIRE_PROBLEM
} wire_media;

/* "application/json" and so on, for Content-Type. */
const char *wire_media_type(wire_media media);

/* The media of a Content-Type value (parameters such as charset=utf-8 allowed); false: not one of ours (415). */
bool wire_media_from_content_type(const char *value, wire_media *out);

/* What an Accept value (NULL: none) allows of the `offered` media, first offered first among equals; false: 406. */
bool wire_media_from_accept(const char *value, const wire_media *offered, size_t count,
                            wire_media *out);

/* ---- Problems (RFC 9457) --------------------------------------------------------------------------------- */

/* Why a request failed. Filled by the decoders or by wire_problem_of; all strings live in the arena or are constant. */
typedef struct wire_problem {
    int status;          /* HTTP */
    const char *type;    /* short name, becomes the `type` URI reference "/problems/<name>" */
    const char *title;   /* a sentence for the type */
    const char *detail;  /* a sentence for this case, or NULL */
    const char *pointer; /* JSON pointer into the body, or NULL */
    bool has_range;      /* 410: what is kept */
    obb_moment oldest, newest;
    const char *allow; /* 405: value of Allow */
    int retry_after;   /* seconds for 429 and 503, 0: none */
} wire_problem;

/* The only table from core's statuses to HTTP. The limit that no edit ran into is that of scenes. */
wire_problem wire_problem_of(obb_status status);

/* A problem of HTTP's own making: 400 401 403 404 405 406 413 415 429 500 503. detail may be NULL. */
wire_problem wire_problem_http(int status, const char *detail);

/* ---- Requests -------------------------------------------------------------------------------------------- */

typedef struct wire_body {
    const char *bytes;
    size_t length; /* 0: no body at all, which reads as {} where all fields are optional */
    wire_media media;
    bool *
        postponed; /* NULL; else what takes long is not done: the decoder returns false (*problem says nothing then)
                      * and sets this, and is to be called again without */
} wire_body;

/* Decoders return true and fill *out, or false and fill *problem. dimensions are those of the scene (3 where there is none yet).
 *
 * A body that is malformed anywhere is a 400, whatever else is wrong with it. Else the first value at fault is a 422 with its
 * pointer: the element of a vector, the unknown field itself, the object that lacks a field. What a decoder takes is in range
 * and of the right shape; what depends on the scene (is the box there? is it 412?) core says later.
 *
 * Memory: at most some 16 bytes of the arena a byte of body (lists of bare ids), for bodies of boxes 1 to 3. */

bool wire_read_settings(const wire_body *body, const obb_settings *current, struct obb_arena *arena,
                        obb_settings *out, wire_problem *problem);

/* PUT (patch false) or PATCH of one box. A patch may be any subset of the pose form, or a whole box in another form; `entity` and `data`
 * of null are none. */
bool wire_read_box(const wire_body *body, int dimensions, bool patch, obb_str name,
                   struct obb_arena *arena, obb_put *out, wire_problem *problem);
bool wire_read_transform(const wire_body *body, int dimensions, obb_str name,
                         struct obb_arena *arena, obb_transform_edit *out, wire_problem *problem);
bool wire_read_merge(const wire_body *body, obb_str name, struct obb_arena *arena, obb_merge *out,
                     wire_problem *problem);

/* A commit: the edit, its queries, and what is needed to name its parts again. Moment i of the edit belongs to query i. Of several faults the one counts that is
 * first in the order of application (time, if_revision, remove, put, pose, transform, queries), inside a group as sent; unknown
 * fields come before all. A pose whose first member is an array is one in columns. With a problem *out holds the groups that are
 * applied before the fault's: the scene may not allow them, which counts before it. */
typedef struct wire_commit {
    obb_edit edit;
    const obb_query *queries; /* to be answered on the result */
    size_t query_count;
    bool columnar_names, columnar_ids; /* pose was sent in columns */
} wire_commit;
bool wire_read_commit(const wire_body *body, int dimensions, struct obb_arena *arena,
                      wire_commit *out, wire_problem *problem);

/* An import (application/x-ndjson): the header line, then a box a line, as wire_write_export_head and …_box write them. The
 * edit replaces all, with the settings and the time (where it has one) of the header. A problem's pointer begins with the
 * line, from 0. */
bool wire_read_import(const wire_body *body, struct obb_arena *arena, obb_edit *out,
                      wire_problem *problem);

/* Boxes are meant by name, or written out; by id where the query says "by":"id", and then pairs may be one flat array. */
bool wire_read_query(const wire_body *body, obb_query_kind kind, int dimensions,
                     struct obb_arena *arena, obb_query *out, wire_problem *problem);

/* The kind that a path's last part names; false: none. */
bool wire_query_kind(obb_str name, obb_query_kind *out);

/* The problem of an edit that core refused: points at the entry that `fault` names. commit may be NULL for
 * requests about a single box, whose fault has a pointer only where it lies in `with` or in what shears. */
wire_problem wire_problem_of_edit(obb_status status, const obb_fault *fault,
                                  const wire_commit *commit, const obb_edit *edit,
                                  struct obb_arena *arena);

/* Query-string parameters, percent-decoded, in the order sent. */
typedef struct wire_param {
    obb_str key, value; /* value length 0 where there was no "=" */
} wire_param;

enum {
    WIRE_INCLUDE_AXES = 1,
    WIRE_INCLUDE_CORNERS = 2,
    WIRE_INCLUDE_PLANES = 4,
    WIRE_INCLUDE_EDGES = 8,
    WIRE_INCLUDE_AABB = 16,
    WIRE_INCLUDE_MATRIX = 32,
    WIRE_INCLUDE_VOLUME = 64
};
typedef struct wire_box_params {
    unsigned include; /* of WIRE_INCLUDE_… */
    bool has_at;
    obb_at at;
} wire_box_params;
typedef struct wire_list_params {
    size_t limit;
    uint64_t after_id;  /* boxes: list after this id */
    obb_str after_name; /* scenes: list after this name */
    obb_str prefix;     /* boxes; length 0: any */
    obb_str entity;     /* boxes; length 0: any */
    bool has_at;
    obb_at at;
} wire_list_params;
/* Unknown, repeated or malformed parameters: 400. */
bool wire_read_box_params(const wire_param *params, size_t count, struct obb_arena *arena,
                          wire_box_params *out, wire_problem *problem);
bool wire_read_box_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                               wire_list_params *out, wire_problem *problem);
bool wire_read_scene_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                 wire_list_params *out, wire_problem *problem);

enum {
    WIRE_TOPIC_COLLISIONS = 1,
    WIRE_TOPIC_BOXES = 2,
    WIRE_TOPIC_COMMITS = 4,
    WIRE_TOPICS = 7 /* all of them, which is what no parameter means */
};
bool wire_read_event_params(const wire_param *params, size_t count, struct obb_arena *arena,
                            unsigned *out_topics, wire_problem *problem);

bool wire_read_no_params(const wire_param *params, size_t count, struct obb_arena *arena,
                         wire_problem *problem);

/* ---- The file of tokens ------------------------------------------------------------------------------------ */

enum { WIRE_SCOPE_READ = 1, WIRE_SCOPE_WRITE = 2, WIRE_SCOPE_ADMIN = 4 };

/* Who may do what: never the token itself, only its hash. */
typedef struct wire_token {
    obb_str name;
    unsigned char sha256[32]; /* of the token's text */
    unsigned scopes;          /* of WIRE_SCOPE_… */
    const obb_str *scenes; /* names of scenes, or patterns in which * stands for any run of bytes */
    size_t scene_count;
    bool expires;
    int64_t expiry; /* seconds since 1970, UTC: from then on it is good for nothing */
} wire_token;

/* {"tokens":[{"name","sha256","scopes":[..],"scenes":[..],"expires"}]}, strict as any request; expires may be absent. */
bool wire_read_tokens(const wire_body *body, struct obb_arena *arena, const wire_token **out,
                      size_t *out_count, wire_problem *problem);

/* ---- Replies: appended to buf in the given media; check buf->failed once at the end --------------------- */

void wire_write_problem(struct wire_buf *buf, const wire_problem *problem); /* always JSON */

void wire_write_scene(struct wire_buf *buf, wire_media media, obb_str name,
                      const obb_scene_info *info);

typedef struct wire_scene_row {
    obb_str name;
    size_t boxes;
    uint64_t revision;
} wire_scene_row;
/* more: there is a next page, after the last row. */
void wire_write_scenes(struct wire_buf *buf, wire_media media, const wire_scene_row *rows,
                       size_t count, bool more);

/* One box with the state's revision and time (and `at` where has_at). */
void wire_write_box(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                    const struct obb_version *box, unsigned include, bool has_at);

/* Boxes of a state by id (and `at` where has_at). more: there is a next page, after the last of them. */
void wire_write_boxes(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                      const struct obb_version *const *boxes, size_t count, bool has_at, bool more);

void wire_write_result(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                       const obb_query *query, const obb_result *result);

/* The answer of a commit. views[i] and results[i] belong to query i of the commit; or, where the changes were made and the queries
 * could not be answered, the problem stands in place of each result. */
void wire_write_committed(struct wire_buf *buf, wire_media media, const wire_commit *commit,
                          const obb_committed *committed, const struct obb_view *const *views,
                          const obb_result *const *results, const wire_problem *unanswered);

/* All-pairs as NDJSON: lines of pairs from..to-1 of a result, and the last line: how many there are, and whether lines were left
 * out. */
void wire_write_pair_lines(struct wire_buf *buf, const struct obb_view *view,
                           const obb_query *query, const obb_result *result, size_t from,
                           size_t to);
void wire_write_pair_end(struct wire_buf *buf, const struct obb_view *view, const obb_query *query,
                         uint64_t count, bool truncated);

/* A scene as lines of NDJSON: the header, then each box by id. The view shows the present. */
void wire_write_export_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                            const struct obb_view *view);
void wire_write_export_box(struct wire_buf *buf, const struct obb_view *view,
                           const struct obb_version *box);

/* The OpenAPI document as JSON, built in; constant. */
obb_str wire_openapi(void);

#endif
