/* A scene and a slow and obvious model of it: every state is a plain list of boxes, copied with
 * each commit. */
#ifndef TEST_SUPPORT_MODEL_SCENE_H
#define TEST_SUPPORT_MODEL_SCENE_H

#include "core/obb.h"
#include "tests/support/test.h"

typedef struct model_box {
    uint64_t id;
    char name[24];
    char entity[8]; /* empty: none */
    uint32_t category, mask;
    int32_t group;
    obb_box box;
    bool interpolated; /* from the state before to this one */
    int rig;           /* the frame that the box stands in, plus 1; 0: none */
    obb_box local;     /* with a rig: the box in it */
} model_box;

typedef struct model_state {
    uint64_t revision;
    double time;
    model_box *boxes; /* by id */
    size_t count;
} model_state;

enum { MODEL_RIGS = 4 };

struct model_scene {
    test_rng rng;
    bool framed; /* some boxes stand in frames; may be set to false before the first commit */
    test_rng rig_rng;
    obb_box rigs[MODEL_RIGS]; /* the newest poses of the frames */
    int dimensions;
    double spread; /* centres lie within this of the origin */
    struct obb_scene *scene;
    model_state *states; /* states[r] is the state after revision r */
    size_t state_count;
    size_t named; /* names given so far */
};

/* Makes an empty scene whose history keeps every commit of the test. */
void model_scene_init(struct model_scene *model, uint64_t seed, int dimensions, double spread);
void model_scene_fini(struct model_scene *model);

/* Makes one commit, 16 units of time after the one before. It puts `put` new boxes and poses about
 * `moved` of the existing ones, a quarter of these by teleport. It puts anew, and removes, a tenth
 * as many. Unless `framed` is false, the first commit makes frames, an eighth of the new
 * boxes stand in them, and a commit that moves boxes moves about half of the frames. Checks
 * revision and time. */
void model_scene_commit(struct model_scene *model, size_t put, size_t moved);

/* Returns a box of random pose, size and attributes, without id and name. */
model_box model_scene_random_box(struct model_scene *model);

const model_state *model_scene_newest(const struct model_scene *model);

/* Returns the state of `revision`, interpolated `alpha` of the way to the next commit. alpha is a
 * multiple of 1/16 from 0 to 1, and 0 for revision 0. The caller frees the boxes. */
model_state model_scene_between(const struct model_scene *model, size_t revision, double alpha);

/* Opens the scene's view of the same state. */
struct obb_view *model_scene_view(const struct model_scene *model, size_t revision, double alpha);

#endif
