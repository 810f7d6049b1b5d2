/* Edits: what one commit is asked to do, and where an edit is at fault. Plain data. */
#ifndef OBB_EDIT_H
#define OBB_EDIT_H

#include "core/geometry/transform.h"
#include "core/scene/scene.h"

/* A box by its name or, if has_id, by its id. */
typedef struct obb_target {
    obb_str name;
    uint64_t id;
    bool has_id;
} obb_target;

/* The parts of a box that a put states. PUT states all of them, absent ones by their defaults;
 * PATCH states some. */
enum {
    OBB_PUT_CENTER = 1,
    OBB_PUT_HALF_EXTENTS = 2,
    OBB_PUT_ROTATION = 4, /* or angle */
    OBB_PUT_CATEGORY = 8,
    OBB_PUT_MASK = 16,
    OBB_PUT_GROUP = 32,
    OBB_PUT_ENTITY = 64,
    OBB_PUT_DATA = 128,
    OBB_PUT_FRAME = 256,
    OBB_PUT_TTL = 512,
    OBB_PUT_ALL = 1023,
    OBB_PUT_POSE = OBB_PUT_CENTER | OBB_PUT_ROTATION
};

/* The pose of `box` is in the frame in which the box stands after the put. A put that changes the
 * frame and states no centre, or no rotation, keeps that of the scene, within rounding. */

typedef struct obb_put {
    obb_target target;
    unsigned parts; /* of OBB_PUT_…; without OBB_PUT_ALL the box must exist (else OBB_NO_BOX) */
    obb_box box;    /* canonical, from box_forms.h */
    obb_str frame;  /* length 0: none */
    obb_attributes attributes;
    double since; /* of a box that was exported with a ttl; an edit ignores it */
} obb_put;

/* Makes the boxes of the puts `first` to `first` + `count` - 1, canonical, from box_forms.h. Each
 * call makes the same ones. Any thread. */
typedef void obb_put_make_boxes(const void *maker, size_t first, size_t count, obb_box *out);

/* Puts in columns, which take less memory than a list of them. Put i is `rest`, except for its
 * name, its box, and the members of which there is a column. If the edit says puts_differ, whoever
 * made the columns has checked boxes and numbers, too: obb_edit_prepare looks at those again only
 * if the columns say something of frames, entities or ttls. */
typedef struct obb_put_columns {
    obb_put rest; /* its parts are OBB_PUT_ALL */
    const obb_str *names;
    obb_put_make_boxes *make_boxes; /* so the boxes stand nowhere but in what the caller has */
    const void *maker;
    /* NULL: as `rest` has it. */
    const obb_str *entities, *frames;
    const uint32_t *categories, *masks;
    const int32_t *groups;
    const double *ttls; /* below 0: the box does not expire */
} obb_put_columns;

/* The pose of a box, in its frame if it has one; or of a frame, by name. A new frame begins at 0
 * and not turned. A pose renews the ttl of its box, also if the box stays where it is. */
typedef struct obb_pose {
    obb_target target;
    obb_vec3 center;
    obb_quat rotation; /* normalised by the decoder's obb_quat_normalise */
    double angle;
    bool has_center, has_rotation; /* false: the box keeps its own */
    bool teleport;                 /* no interpolation from the pose before */
} obb_pose;

typedef struct obb_transform_edit {
    obb_target target;
    obb_transform transform;
} obb_transform_edit;

/* The target grows to hold the boxes of `with`, too. A box that is named again, and the target
 * itself, make no difference. */
typedef struct obb_merge {
    obb_target target;
    const obb_target *with;
    size_t with_count;
} obb_merge;

struct obb_edit;

/* A condition: the last commit that changed the box is not later than `revision`, which is not in
 * the future. 0: there is no such box. */
typedef struct obb_if_box {
    obb_target target;
    uint64_t revision;
} obb_if_box;

/* A moment whose state must be known after the commit, seen from the result of the commit. Or many
 * moments: `times` then holds `count` times, each of which stands in place of at.time. */
typedef struct obb_needed_moment {
    obb_at at;
    int dimensions;      /* that the states must have */
    const double *times; /* NULL: one moment, `at` as it is */
    size_t count;
    const struct obb_edit *with; /* changes that are laid over the state (overlay.h), or NULL */
} obb_needed_moment;

/* Returns how many moments these are. */
static inline size_t obb_needed_count(const obb_needed_moment *needed)
{
    return needed->times != NULL ? needed->count : 1;
}

/* Returns moment i of them. */
static inline obb_at obb_needed_at(const obb_needed_moment *needed, size_t i)
{
    obb_at at = needed->at;
    if (needed->times != NULL)
        at.time = needed->times[i];
    return at;
}

/* One commit. Groups stand in the order of application. The caller owns the arrays, which must live
 * until commit or discard. */
typedef struct obb_edit {
    int dimensions; /* for which it was decoded; another scene answers OBB_DIMENSIONS */
    bool has_time, has_if_revision, ignore_missing;
    /* With a time, which may be before the scene's: the clock starts anew. The history before the
     * commit is dropped; always a change. No box expires, and all ttls count from the new time. */
    bool restart;
    double time;
    uint64_t if_revision;
    const obb_if_box *if_boxes; /* of the state before; else OBB_REVISION */
    size_t if_box_count;
    const obb_target *removes;
    size_t remove_count;
    bool remove_must_exist;       /* DELETE of one box: else OBB_NO_BOX */
    const obb_str *remove_frames; /* each with its boxes */
    size_t remove_frame_count;
    bool remove_frame_must_exist; /* DELETE of one frame: else OBB_NO_FRAME */
    const obb_pose *frames;       /* made, or moved with their boxes; without ids */
    size_t frame_count;
    const obb_put *puts;
    const obb_put_columns *put_columns; /* the puts, if `puts` is NULL */
    size_t put_count;
    bool puts_must_exist; /* PATCH of one box: else OBB_NO_BOX, whatever parts it states */
    /* The puts name boxes, all names are valid, and none is there twice: whoever sets this has
     * checked it. */
    bool puts_differ;
    /* Ids of the boxes that the puts make, ascending, none below the scene's next id; NULL: the
     * next ones. Of one put each. */
    const uint64_t *put_ids;
    /* The boxes of the puts as they stand in the scene, one for each put, or NULL: a box that comes
     * into a frame stands where the frame places it. Between two commits it stands elsewhere. */
    const obb_box *put_boxes;
    bool all_put_ids; /* the ids of replaced boxes are wanted, too (obb_committed.new_ids) */
    const obb_pose *poses;
    size_t pose_count;
    const obb_transform_edit *transforms;
    size_t transform_count;
    const obb_merge *merges;
    size_t merge_count;
    const obb_needed_moment *moments; /* else OBB_GONE or OBB_DIMENSIONS */
    size_t moment_count;
    /* Of all moments' `with`, and one more for each, once for each time; for estimates of cost. */
    size_t with_entries;
    size_t with_frames; /* how many of them change frames; likewise */
    /* An import: all boxes and frames are removed first, and none expires; always a change. If
     * `time` is before the scene's, the scene keeps its time. */
    bool replace_all;

    /* Settings of the scene from this commit on, or NULL: unchanged. Other dimensions need a scene
     * without boxes and frames, or replace_all. */
    const obb_settings *settings;
} obb_edit;

/* Returns put i, of a list or of columns. *scratch holds a put of columns. For tests. */
const obb_put *obb_edit_put(const obb_edit *edit, size_t i, obb_put *scratch);

/* As obb_edit_put, but the box of a put of columns is not made: it is not to be read. */
const obb_put *obb_edit_put_without_box(const obb_edit *edit, size_t i, obb_put *scratch);

/* Writes what put i of the columns has of its own into `put`, except the box. All else is as in
 * `rest`, or as another row has left it. */
void obb_put_columns_row(const obb_put_columns *columns, size_t i, obb_put *put);

/* Returns the number of entries of boxes and frames, without merges. */
static inline size_t obb_edit_entries(const obb_edit *edit)
{
    return edit->remove_count + edit->remove_frame_count + edit->frame_count + edit->put_count +
           edit->pose_count + edit->transform_count;
}

/* The group of an edit that is at fault. */
typedef enum obb_group {
    OBB_GROUP_NONE,
    OBB_GROUP_TIME,
    OBB_GROUP_IF_REVISION,
    OBB_GROUP_IF_BOX,
    OBB_GROUP_REMOVE,
    OBB_GROUP_REMOVE_FRAMES,
    OBB_GROUP_FRAMES,
    OBB_GROUP_PUT,
    OBB_GROUP_POSE,
    OBB_GROUP_TRANSFORM,
    OBB_GROUP_MERGE,
    OBB_GROUP_MOMENT
} obb_group;
#define OBB_FAULT_TARGET SIZE_MAX
typedef struct obb_fault {
    obb_group group;
    size_t index; /* within the group */
    size_t
        member; /* of a merge's `with`; OBB_FAULT_TARGET: the merge's target. Of a moment's times */
    obb_moment oldest,
        newest;       /* with OBB_GONE: the part of today's history that would have stayed in reach;
                 * newest with OBB_TIME_BACKWARDS and OBB_REVISION: the last commit */
    uint64_t changed; /* of OBB_GROUP_IF_BOX: the revision that last changed the box; 0: no box */
    int dimensions;   /* with OBB_DIMENSIONS: of the scene, or of the state that a moment names */
    /* The entry is one of the `with` of a moment: group, index and member are of that edit. */
    bool of_with;
    size_t moment;
    size_t bytes; /* with OBB_SCENE_MEMORY: about what the commit would add */
} obb_fault;

#endif
