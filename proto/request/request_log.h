/* Logs: the lines that wire_write_log_head, wire_write_export_box and wire_log_line_begin write,
 * one at a time. */
#ifndef WIRE_REQUEST_LOG_H
#define WIRE_REQUEST_LOG_H

#include "proto/request/request.h"

/* The first line: the state that the log begins with. */
typedef struct wire_log_head {
    obb_str scene; /* its name */
    obb_settings settings;
    obb_moment moment;
    size_t frames, boxes; /* so many lines of frames follow, and then of boxes */
    uint64_t next_id;     /* of the next new box */
    uint64_t hash;        /* obb_digest_content */
    uint64_t exact;       /* obb_digest_exact */
} wire_log_head;

/* A line behind the boxes: what one commit did. The edit has no condition and no query, and states
 * the time of the commit. If it gives the scene other dimensions, it replaces all boxes. */
typedef struct wire_log_commit {
    obb_edit edit;
    obb_moment moment;
    uint64_t hash; /* obb_digest_content of the state after the commit */
} wire_log_commit;

/* Read one line, without its newline. Pointers of problems point into the line. */
bool wire_read_log_head(const wire_body *line, struct obb_arena *arena, wire_log_head *out,
                        wire_problem *problem);

bool wire_read_log_frame(const wire_body *line, int dimensions, struct obb_arena *arena,
                         obb_pose *out, wire_problem *problem);

/* The id of the box is in out->target.id, without has_id; 0: the line has none. */
bool wire_read_log_box(const wire_body *line, int dimensions, struct obb_arena *arena, obb_put *out,
                       wire_problem *problem);

bool wire_read_log_commit(const wire_body *line, const obb_settings *current,
                          struct obb_arena *arena, wire_log_commit *out, wire_problem *problem);

#endif
