/* Expiry: the boxes with a ttl, in the order in which they expire. Internal to core, the writer's.
 *
 * A binary heap holds an entry for each current box with a ttl. The record of the box knows the
 * place of its entry, so that an entry moves or goes in O(log n). Of a scene without such boxes
 * there is no heap. The heap changes when a commit is sealed; to prepare a commit only reads it. */
#ifndef OBB_EXPIRY_H
#define OBB_EXPIRY_H

#include "core/base/status.h"
#include "core/scene/moment.h"
#include "core/versions/version.h"

#include <stddef.h>

struct obb_expiry_entry {
    double due; /* the first time at which a commit removes the box */
    struct obb_record *record;
};

/* Zeroed: no box has a ttl. */
struct obb_expiry {
    struct obb_expiry_entry *heap; /* no entry is due before its parent, at (place - 1) / 2 */
    size_t count, room;
};

/* Frees the heap. The records belong to the scene. */
void obb_expiry_fini(struct obb_expiry *expiry);

/* Returns the bytes of the heap. */
size_t obb_expiry_bytes(const struct obb_expiry *expiry);

/* Makes room for so many more boxes. OBB_NO_MEMORY. */
obb_status obb_expiry_reserve(struct obb_expiry *expiry, size_t more);

/* Enters a box, for which there is room, or moves it to another time. O(log n). */
void obb_expiry_set(struct obb_expiry *expiry, struct obb_record *record, double due);

/* Takes a box out. O(log n). */
void obb_expiry_drop(struct obb_expiry *expiry, struct obb_record *record);

/* Puts the entries in order after the caller has changed their times. O(n). */
void obb_expiry_order(struct obb_expiry *expiry);

/* Returns how many boxes are due at a time, or some number of at least `limit` of them.
 * O(result). */
size_t obb_expiry_due(const struct obb_expiry *expiry, double time, size_t limit);

/* Writes the boxes that are due at a time, in no order: as many as obb_expiry_due counts.
 * O(result). */
void obb_expiry_list(const struct obb_expiry *expiry, double time, struct obb_record **out);

/* Returns the time from which the ttl of a version counts under a clock that began at `began`: its
 * last change, or the start of the clock if that is later. */
static inline double obb_expiry_since(const struct obb_version *version, obb_moment began)
{
    return atomic_load_explicit(&version->born, memory_order_relaxed) < began.revision
               ? began.time
               : obb_version_extras(version)->since;
}

#endif
