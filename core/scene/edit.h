/* Commits: many changes, all or nothing. prepare checks and allocates everything; commit cannot fail. */
#ifndef OBB_EDIT_H
#define OBB_EDIT_H

#include "core/base/arena.h"
#include "core/geometry/transform.h"
#include "core/scene/scene.h"

struct obb_query;

/* A box that is named, or, where has_id, meant by its id. */
typedef struct obb_target {
    obb_str name;
    uint64_t id;
    bool has_id;
} obb_target;

/* Which parts of a box a put states. PUT states all (the rest are defaults); PATCH just some. */
enum {
    OBB_PUT_CENTER = 1,
    OBB_PUT_HALF_EXTENTS = 2,
    OBB_PUT_ROTATION = 4, /* or angle */
    OBB_PUT_CATEGORY = 8,
    OBB_PUT_MASK = 16,
    OBB_PUT_GROUP = 32,
    OBB_PUT_ENTITY = 64,
    OBB_PUT_DATA = 128,
    OBB_PUT_ALL = 255
};

typedef struct obb_put {
    obb_target target;
    unsigned parts; /* of OBB_PUT_…; anything but OBB_PUT_ALL needs the box to exist (OBB_NO_BOX) */
    obb_box box;    /* canonical, from box.h */
    obb_attributes attributes;
} obb_put;

typedef struct obb_pose {
    obb_target target;
    obb_vec3 center;
    obb_quat rotation; /* normalised by the decoder's obb_quat_normalise */
    double angle;
    bool has_center, has_rotation; /* what is absent stays */
    bool teleport;
} obb_pose;

typedef struct obb_transform_edit {
    obb_target target;
    obb_transform transform;
} obb_transform_edit;

typedef struct obb_merge {
    obb_target target;
    const obb_target *with;
    size_t with_count;
} obb_merge;

/* One commit as plain data, groups in the order of application. Arrays belong to the caller and must live until
 * commit or discard. */
typedef struct obb_edit {
    int dimensions; /* what it was decoded for; OBB_DIMENSIONS when the scene differs */
    bool has_time, has_if_revision, ignore_missing;
    double time;
    uint64_t if_revision;
    const obb_target *removes;
    size_t remove_count;
    bool remove_must_exist; /* DELETE of one box: OBB_NO_BOX */
    const obb_put *puts;
    size_t put_count;
    const obb_pose *poses;
    size_t pose_count;
    const obb_transform_edit *transforms;
    size_t transform_count;
    const obb_merge *merges;
    size_t merge_count;
    const struct obb_query *queries; /* their `at` must be answerable on the result */
    size_t query_count;
    bool replace_all; /* import: every box that is there is removed first; always a change */
    const obb_settings *settings; /* of the scene from this commit on; NULL: as they are. Other
                                   * dimensions need a scene without boxes, or replace_all */
} obb_edit;

/* Where an edit is at fault. */
typedef enum obb_group {
    OBB_GROUP_NONE,
    OBB_GROUP_TIME,
    OBB_GROUP_IF_REVISION,
    OBB_GROUP_REMOVE,
    OBB_GROUP_PUT,
    OBB_GROUP_POSE,
    OBB_GROUP_TRANSFORM,
    OBB_GROUP_MERGE,
    OBB_GROUP_QUERY
} obb_group;
#define OBB_FAULT_TARGET SIZE_MAX
typedef struct obb_fault {
    obb_group group;
    size_t index;  /* within the group */
    size_t member; /* of a merge's `with`; OBB_FAULT_TARGET: the box that grows */
    obb_moment oldest,
        newest; /* with OBB_GONE: of what is there, the commit not being made, what it would have left in reach;
                 * newest also with OBB_TIME_BACKWARDS and OBB_REVISION: the last commit */
    int dimensions; /* with OBB_DIMENSIONS: of the scene, or of the state that a query asks about */
} obb_fault;

struct obb_prepared;

typedef struct obb_committed {
    obb_moment moment;
    bool changed;                            /* false: nothing was different, the revision stands */
    size_t removed, put, posed, transformed; /* entries that were applied; removed: boxes */
    const uint64_t *new_ids;       /* one per put, 0 where it replaced a box; in the arena */
    const bool *missed_poses;      /* one per pose: skipped by ignore_missing; NULL when none was */
    const bool *missed_transforms; /* one per transform, likewise */
    size_t missed;

    /* What this commit made and ended, in the arena; boxes that it replaced are in both. Those ended may be used while a view
     * of the state before is open, those made while one of the state after is. */
    const struct obb_version *const *made, *const *ended;
    size_t made_count, ended_count;
} obb_committed;

/* box_room: how many boxes the service may still add; what the edit removes makes room as well. Errors leave the scene
 * as it was and *out_fault written: OBB_DIMENSIONS, OBB_TIME_BACKWARDS, OBB_REVISION, OBB_NO_BOX, OBB_LIMIT, OBB_SHEARED,
 * OBB_BAD_NUMBER, OBB_BAD_EXTENT, OBB_BAD_NAME (of a new box or an entity), OBB_BAD_VALUE (data too long, settings), what
 * transforms and merges answer, OBB_GONE, OBB_NO_MEMORY. Until commit or discard views of the scene may be opened and
 * closed, which see nothing of the edit; nothing else may touch it. commit asks for no memory. Cost: what the edit
 * names (about 60 ns a pose), and the upkeep of the broad phase (see layers.h). */
obb_status obb_edit_prepare(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                            size_t box_room, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault);
void obb_edit_commit(struct obb_prepared *prepared, obb_committed *out_committed);
void obb_edit_discard(struct obb_prepared *prepared);

#endif
