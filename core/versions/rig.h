/* Rigs: the frames of a scene by name, and the boxes in them. Internal to core.
 *
 * A frame is a record with versions like a box, so that its poses are kept, reclaimed and
 * interpolated as those of boxes are; its id is 0. Its rig is what else a scene knows of the frame:
 * the place in the order of names, and the boxes that stand in the frame now.
 *
 * A box in a frame has a mount: the rig, and the pose of the box in the frame. Its versions share
 * the mount until that pose changes. The pose of a version is the one in the scene, computed when
 * the version was made (core/geometry/frame.h).
 *
 * The rigs form a skip list by name, for one writer and readers that never wait. Of namesakes the
 * latest stands first.
 *
 * Source   Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", CACM 33(6), 1990;
 *          with one writer, publishing a link with release suffices for readers. */
#ifndef OBB_RIG_H
#define OBB_RIG_H

#include "core/base/status.h"
#include "core/versions/version.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* How a box stands in a frame. Immutable once its version is published, except the writer's
 * members. */
struct obb_mount {
    struct obb_rig *rig;
    obb_vec3 center; /* in the frame, as obb_box has them */
    obb_quat rotation;
    double angle;
    uint32_t references; /* the writer's: extras of versions that have it */
    uint32_t seat;       /* the writer's: where the box stands in rig->boxes, if it is there now */
};

struct obb_rig {
    struct obb_record *record; /* of the frame */
    /* The writer's: the boxes whose current version stands in the frame, in no order. */
    struct obb_record **boxes;
    uint32_t count, capacity;
    uint32_t entering; /* boxes that the commit that is being prepared will add */
    uint32_t height;
    _Atomic(struct obb_rig *) next[]; /* `height` of them */
};

#define OBB_RIG_HEIGHT 16

/* Lives in the caller's memory and must not move. Zeroed memory is an empty list. */
struct obb_rigs {
    _Atomic(struct obb_rig *) first[OBB_RIG_HEIGHT];
    /* The rest is the writer's. */
    uint64_t made; /* rigs ever made */
    size_t bytes;  /* of all rigs and mounts, also of retired ones */
};

/* Returns a rig of that record, in no list yet, or NULL if there is no memory. */
struct obb_rig *obb_rig_create(struct obb_rigs *rigs, struct obb_record *record);

/* Frees a rig that no reader can see. The record belongs to the scene. */
void obb_rig_destroy(struct obb_rigs *rigs, struct obb_rig *rig);

/* Puts the rig before all others of its name. Never fails. The writer's. */
void obb_rigs_insert(struct obb_rigs *rigs, struct obb_rig *rig);

/* Takes a rig out. Readers that stand on the rig still find their way. The writer's. */
void obb_rigs_remove(struct obb_rigs *rigs, struct obb_rig *rig);

/* Returns the first rig whose name is not before `name` in byte order, or if `after`, the first one
 * whose name is behind it; or NULL. O(log n). Any thread. */
struct obb_rig *obb_rigs_seek(const struct obb_rigs *rigs, obb_str name, bool after);

/* Returns how many boxes stand in the frame of that name now, 0 if there is no such frame. The
 * writer's. */
size_t obb_rigs_boxes(const struct obb_rigs *rigs, obb_str name);

/* Returns the rig behind this one, or NULL. Any thread. */
static inline struct obb_rig *obb_rig_next(const struct obb_rig *rig)
{
    return atomic_load_explicit(&rig->next[0], memory_order_acquire);
}

/* Makes room for so many boxes in all. OBB_NO_MEMORY. The writer's. */
obb_status obb_rig_reserve(struct obb_rigs *rigs, struct obb_rig *rig, uint32_t count);

/* Puts a box into its rig, which has room, or takes it out. The mount is that of the box. To take
 * it out, the caller passes the pool in which the records' newest versions stand. The writer's. */
void obb_rig_enter(struct obb_rig *rig, struct obb_record *record, struct obb_mount *mount);
void obb_rig_leave(struct obb_rig *rig, const struct obb_mount *mount,
                   struct obb_versions *versions);

/* Takes obb_rig_leave back: the box has its seat again. What was done to the rig since is taken
 * back already. The writer's. */
void obb_rig_return(struct obb_rig *rig, struct obb_record *record, const struct obb_mount *mount,
                    struct obb_versions *versions);

/* Returns a mount with one reference, or NULL if there is no memory. half_extents of `local` are
 * ignored. The writer's. */
struct obb_mount *obb_mount_create(struct obb_rigs *rigs, struct obb_rig *rig,
                                   const obb_box *local);

/* Returns the pose of the box in its frame, with these half extents. */
static inline obb_box obb_mount_pose(const struct obb_mount *mount, obb_vec3 half_extents)
{
    return (obb_box){.center = mount->center,
                     .half_extents = half_extents,
                     .rotation = mount->rotation,
                     .angle = mount->angle};
}

/* Returns whether the pose has the bits of `local`, the half extents aside. */
static inline bool obb_mount_has_pose(const struct obb_mount *mount, const obb_box *local)
{
    const obb_box pose = obb_mount_pose(mount, local->half_extents);
    return obb_box_same_bits(&pose, local);
}

/* Adds or drops one reference; NULL is fine. The last one frees the mount: a reader sees it only
 * through a version that its view holds. The writer's. */
void obb_mount_ref(struct obb_mount *mount);
void obb_mount_unref(struct obb_rigs *rigs, struct obb_mount *mount);

/* Checks order, links and the seats of all rigs, for tests. *out_count is the number of rigs. */
bool obb_rigs_validate(const struct obb_rigs *rigs, struct obb_versions *versions,
                       size_t *out_count);

#endif
