/* A scene that is slow and obvious: every state is a whole copy, applied entry by entry as api.md says. What the
 * real one answers must be equal, bit for bit. */
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
    bool teleported; /* by the commit that made the state */
} model_box;

typedef struct model_state {
    uint64_t revision;
    double time, until;
    obb_settings settings;
    model_box *boxes; /* by id */
    size_t count;
} model_state;

struct model {
    model_state *states; /* in reach of `at`, oldest first */
    size_t count;
    uint64_t next_id;
    double created_ms;
    bool has_committed, time_stated;
};

struct model *model_create(const obb_settings *settings, double now_ms);
void model_destroy(struct model *model);
const model_state *model_now(const struct model *model);

/* What a commit answers. new_ids, missed_poses and missed_transforms of *out are NULL; out_new_ids (room for a put each) may
 * be NULL. On a fault nothing has changed. */
obb_status model_commit(struct model *model, const obb_edit *edit, double now_ms, size_t box_room,
                        obb_committed *out, uint64_t *out_new_ids, obb_fault *out_fault);

/* The state that `at` means, as it was then: a copy to be released with model_state_free. OBB_GONE. */
obb_status model_open(const struct model *model, const obb_at *at, model_state *out,
                      obb_view_info *out_info, obb_moment *out_oldest, obb_moment *out_newest);
void model_state_free(model_state *state);

/* The box of that name, or NULL. */
const model_box *model_find(const model_state *state, obb_str name);

/* NULL when the view shows exactly the state (names, ids, order, poses, attributes, none more, none less), else what
 * differs; *looked_at grows by the boxes compared. */
const char *model_difference(const model_state *state, const struct obb_view *view,
                             size_t *looked_at);

#endif
