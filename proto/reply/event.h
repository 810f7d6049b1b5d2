/* Messages of a scene's event stream (Server-Sent Events, HTML living standard section 9.2). */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "core/obb.h"
#include "proto/base/buf.h"

/* Each appends one message to buf; check buf->failed once at the end. Its `id` is the revision, which a client names
 * when it comes back. Of the messages about one revision the last alone has it, so that a client cut off between them
 * gets all of them again rather than missing some: `last` says that this is it.
 *
 * Boxes are versions of states that are still held by a view; just their names are written. */

typedef enum wire_collisions {
    WIRE_COLLISIONS_STATE, /* the set at this moment */
    WIRE_COLLISIONS_BEGIN,
    WIRE_COLLISIONS_END,
    WIRE_COLLISIONS_REMOVED /* ends because a box was removed */
} wire_collisions;

void wire_event_collisions(struct wire_buf *buf, wire_collisions kind, obb_moment moment, bool last,
                           const obb_box_pair *pairs, size_t count);

/* What a commit did to boxes. */
typedef struct wire_changes {
    const struct obb_version *const *put, *const *posed, *const *removed;
    size_t put_count, posed_count, removed_count;
} wire_changes;
void wire_event_boxes(struct wire_buf *buf, obb_moment moment, bool last,
                      const wire_changes *changes);

void wire_event_commit(struct wire_buf *buf, const obb_committed *committed, bool last);

/* The last message of a stream: its client was too slow, its scene was deleted, or the service ends. */
void wire_event_overrun(struct wire_buf *buf, obb_moment moment);
void wire_event_gone(struct wire_buf *buf, obb_moment moment);
void wire_event_shutdown(struct wire_buf *buf, obb_moment moment);

/* A comment, which keeps connections alive and says nothing. */
void wire_event_comment(struct wire_buf *buf);

#endif
