/* Messages of a scene's event stream (Server-Sent Events, HTML living standard section 9.2).
 *
 * Each function appends one message to buf; check buf->failed once, at the end. The `id` of a
 * message is the revision and the scene's epoch, and a client that comes back sends the last id that
 * it saw. Of the
 * messages about one revision only the last one has an id (`last`). So a client that was cut off
 * between them gets all of them again instead of missing some.
 *
 * Boxes are versions that a view still holds. Only their names are written. */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "core/obb.h"
#include "proto/base/buf.h"

typedef enum wire_collisions {
    WIRE_COLLISIONS_STATE, /* the set at this moment */
    WIRE_COLLISIONS_BEGIN,
    WIRE_COLLISIONS_END,
    WIRE_COLLISIONS_REMOVED /* ended because a box was removed */
} wire_collisions;

/* Writes pairs that collide, or that began or stopped to collide. */
void wire_event_collisions(struct wire_buf *buf, wire_collisions kind, uint64_t epoch,
                           obb_moment moment, bool last, const obb_box_pair *pairs, size_t count);

/* The boxes that a commit changed. */
typedef struct wire_changes {
    const struct obb_version *const *put, *const *posed, *const *removed;
    size_t put_count, posed_count, removed_count;
} wire_changes;

/* Writes the names of the boxes that a commit changed. */
void wire_event_boxes(struct wire_buf *buf, uint64_t epoch, obb_moment moment, bool last,
                      const wire_changes *changes);

/* Writes how many boxes a commit changed. */
void wire_event_commit(struct wire_buf *buf, uint64_t epoch, const obb_committed *committed,
                       bool last);

/* Write the last message of a stream: the client was too slow, the scene was deleted, or the
 * service ends. */
void wire_event_overrun(struct wire_buf *buf, obb_moment moment);
void wire_event_gone(struct wire_buf *buf, obb_moment moment);
void wire_event_shutdown(struct wire_buf *buf, obb_moment moment);

/* Writes a comment, which keeps the connection alive and means nothing. */
void wire_event_comment(struct wire_buf *buf);

#endif
