/* Messages of a scene's event stream (Server-Sent Events, HTML living standard section 9.2).
 *
 * Each function appends one message to buf; check buf->failed once, at the end. The `id` of a
 * message is the revision and the scene's epoch, and a client that comes back sends the last id
 * that it saw. Of the messages about one revision only the last one has an id (`last`). So a client
 * that was cut off between them gets all of them again instead of missing some.
 *
 * Lists of boxes are by id, lists of pairs by (id, id). */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "core/obb.h"
#include "proto/base/buf.h"

typedef enum wire_collisions {
    WIRE_COLLISIONS_BEGIN,
    WIRE_COLLISIONS_END,
    WIRE_COLLISIONS_REMOVED, /* ended because a box was removed */
    WIRE_COLLISIONS_EXPIRED  /* ended because a box expired */
} wire_collisions;

/* A pair that began or ceased to collide, perhaps several times. */
typedef struct wire_pair_change {
    uint64_t a_id, b_id;
    obb_str a, b;
    unsigned begun, ended; /* so often; `ended` while both boxes were there */
    bool removed;          /* it ended with one of the boxes, too */
    bool expired;          /* it ended with one that expired, too */
} wire_pair_change;

/* Returns how many of the pairs the message of that kind names, each as often as it happened. */
size_t wire_pairs_of(const wire_pair_change *pairs, size_t count, wire_collisions kind);

/* Writes the pairs that collide now: names of the versions. */
void wire_event_state(struct wire_buf *buf, uint64_t epoch, obb_moment moment,
                      const obb_box_pair *pairs, size_t count);

/* Writes the pairs to which that happened. */
void wire_event_collisions(struct wire_buf *buf, wire_collisions kind, uint64_t epoch,
                           obb_moment moment, bool last, const wire_pair_change *pairs,
                           size_t count);

/* What happened to a box: PUT, POSED or REMOVED; NEW beside the first two, EXPIRED beside
 * REMOVED. */
enum {
    WIRE_BOX_PUT = 1,
    WIRE_BOX_POSED = 2,
    WIRE_BOX_REMOVED = 4,
    WIRE_BOX_NEW = 8,
    WIRE_BOX_EXPIRED = 16
};

typedef struct wire_box_change {
    uint64_t id;
    obb_str name;
    unsigned what;
    obb_box box;    /* of a box that was put or posed, where poses are asked for */
    obb_str entity; /* likewise; length 0: none */
} wire_box_change;

/* Writes the names of the boxes that were changed, and their poses. dimensions: of the scene; 0:
 * without poses. frames: the names of frames that were made, moved or removed. */
void wire_event_boxes(struct wire_buf *buf, uint64_t epoch, obb_moment moment, bool last,
                      const wire_box_change *boxes, size_t count, int dimensions,
                      const obb_str *frames, size_t frame_count);

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
