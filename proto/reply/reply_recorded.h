/* Recorded queries: what a scene keeps of a query that was answered, and what it tells of it.
 *
 * The text of a recorded query is JSON: the members
 * {"kind","query","answer","at","revision","time", "tag","request","token"} without the braces. Its
 * id is known only when it is kept, so the id is written before the text whenever it is told. */
#ifndef WIRE_REPLY_RECORDED_H
#define WIRE_REPLY_RECORDED_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"

#include <stdatomic.h>

typedef struct wire_recorded {
    const obb_query *query;      /* its kind and tag */
    const struct obb_view *view; /* that it was asked about; of rays with times that of the first */
    obb_str sent;                /* the query as JSON, as wire_copy_queries gives it */
    obb_str answer;  /* JSON, as wire_write_result writes it; or a result of a commit, */
    bool of_commit;  /* which lacks revision and time */
    obb_str request; /* the id of the request */
    obb_str token;   /* the name of the token; length 0: none */
} wire_recorded;

/* Appends the text. Check buf->failed. */
void wire_write_recorded(struct wire_buf *buf, const wire_recorded *recorded);

/* Returns whether the answer found something: pairs that overlap; all-pairs a pair; the other kinds
 * a box or a hit for one of the items. */
bool wire_result_hits(const obb_query *query, const obb_result *result);

/* Returns whether the query or the answer of a text names the box, by its name or by `id` (0: by
 * name only). O(length of the text). False without memory in the arena. */
bool wire_recorded_names(obb_str text, obb_str name, uint64_t id, struct obb_arena *arena);

typedef struct wire_recorded_row {
    uint64_t id;
    obb_str text;
} wire_recorded_row;

/* Writes a list of recorded queries. now: the present moment of the scene. more: a page follows. If
 * `cancel` turns true, the list is left incomplete. */
void wire_write_recorded_list(struct wire_buf *buf, wire_media media, const wire_recorded_row *rows,
                              size_t count, bool more, obb_moment now, const atomic_bool *cancel);

/* Writes the message of an event stream. It has no `id:`, because it moves no resume point. */
void wire_event_query(struct wire_buf *buf, const wire_recorded_row *row);

#endif
