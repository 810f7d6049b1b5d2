/* A slow and obvious scene: every state is a whole copy, and a commit is applied entry by entry as
 * the contract says. The answers of the real scene must equal the model's, bit for bit. */
#ifndef TEST_SUPPORT_MODEL_H
#define TEST_SUPPORT_MODEL_H

#include "core/obb.h"

typedef struct model_box {
    uint64_t id;
    char name[OBB_MAX_NAME];
    size_t name_length;
    obb_box box;
    uint32_t category, mask;
    int32_t group;
    char entity[OBB_MAX_NAME];
    size_t entity_length;
    char data[OBB_MAX_DATA];
    size_t data_length;
    bool teleported;  /* by the commit that made the state */
    uint64_t changed; /* the revision that last changed it */
    bool has_ttl;
    double ttl, since; /* 0 without a ttl */
    char frame[OBB_MAX_NAME];
    size_t frame_length; /* 0: none */
    obb_box local;       /* the pose in the frame; half_extents are those of `box` */
} model_box;

typedef struct model_frame {
    uint64_t serial; /* of a frame that is removed and made again, another */
    char name[OBB_MAX_NAME];
    size_t name_length;
    obb_box pose; /* half_extents are 0 */
    bool teleported;
    bool unplaced; /* a box in it is out of range, and a later row of the edit moves the frame */
} model_frame;

typedef struct model_state {
    uint64_t revision;
    double time, until;
    obb_settings settings;
    model_box *boxes; /* by id */
    size_t count;
    model_frame *frames; /* by name */
    size_t frame_count;
} model_state;

struct model {
    model_state *states; /* the states that `at` can name, oldest first */
    size_t count;
    uint64_t next_id, next_serial;
    double created_ms;
    bool has_committed, time_stated;
};

struct model *model_create(const obb_settings *settings, double now_ms);
void model_destroy(struct model *model);
const model_state *model_now(const struct model *model);

/* Applies a commit and writes its answer. On a fault the model is unchanged.
 *
 * out          new_ids, missed_poses and missed_transforms are NULL.
 * out_new_ids  room for one id a put, or NULL. */
obb_status model_commit(struct model *model, const obb_edit *edit, double now_ms, size_t box_room,
                        obb_committed *out, uint64_t *out_new_ids, obb_fault *out_fault);

/* Writes a copy of the state that `at` names; the caller releases it with model_state_free.
 * OBB_GONE: the state is not kept any more. */
obb_status model_open(const struct model *model, const obb_at *at, model_state *out,
                      obb_view_info *out_info, obb_moment *out_oldest, obb_moment *out_newest);
void model_state_free(model_state *state);

/* Returns the box of that name, or NULL. */
const model_box *model_find(const model_state *state, obb_str name);

/* Returns the frame of that name, or NULL. */
model_frame *model_find_frame(const model_state *state, obb_str name);

/* Returns NULL if the view shows exactly the state: names, ids, order, poses and attributes of all
 * boxes, and all frames and the poses in them. Otherwise returns the difference as a sentence. Adds
 * the number of compared boxes to *looked_at. */
const char *model_difference(const model_state *state, const struct obb_view *view,
                             size_t *looked_at);

#endif
