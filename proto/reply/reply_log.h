/* The lines of a scene's log (NDJSON): first the header and the boxes of the state that it begins
 * with, then a line a commit. They append to buf; check buf->failed once, at the end.
 *
 * The line of a commit is the commit that has the same effects: what POST takes, with `revision`,
 * `time` and `hash` beside it. Numbers are written with the shortest digits that read back to
 * them. */
#ifndef WIRE_REPLY_LOG_H
#define WIRE_REPLY_LOG_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/out.h"

/* Writes the header: that of an export of the view's state, and its hashes. settings: those of the
 * state. The lines of the boxes follow (wire_write_export_box). */
void wire_write_log_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                         const struct obb_view *view, const obb_digest *digest, uint64_t next_id);

/* The members of a line that hold what the commit did. */
enum wire_log_group {
    WIRE_LOG_NO_GROUP,
    WIRE_LOG_REMOVE,
    WIRE_LOG_REMOVE_FRAMES,
    WIRE_LOG_FRAMES,
    WIRE_LOG_PUT,
    WIRE_LOG_POSE
};

/* A line that is being written, perhaps piece by piece, always into the same buffer. */
struct wire_log_line {
    struct wire_out out;
    int dimensions;
    enum wire_log_group group; /* that is open */
};

/* Begins the line of a commit. */
void wire_log_line_begin(struct wire_log_line *line, struct wire_buf *buf, const obb_step *step);

/* Add an effect. First come the removed boxes, the removed frames, and the frames that were made or
 * moved; then all boxes whose effect is OBB_EFFECT_PUT or OBB_EFFECT_NEW, in the order of ids among
 * the new ones; then poses: those of OBB_EFFECT_POSED, except where obb_step_carried, and once more
 * those of OBB_EFFECT_PUT that were teleported. The pose of a box in a frame is that in the
 * frame. */
void wire_log_line_remove(struct wire_log_line *line, const obb_effect *effect);
void wire_log_line_remove_frame(struct wire_log_line *line, const obb_effect *effect);
void wire_log_line_frame(struct wire_log_line *line, const obb_effect *effect);
void wire_log_line_put(struct wire_log_line *line, const obb_effect *effect);
void wire_log_line_pose(struct wire_log_line *line, const obb_effect *effect);

/* Ends the line. hash: obb_digest_content of the state after the commit. */
void wire_log_line_end(struct wire_log_line *line, uint64_t revision, uint64_t hash);

/* Writes the line of a commit that only moved the time on. */
void wire_write_log_time(struct wire_buf *buf, obb_moment moment, uint64_t hash);

#endif
