/* A scene beside a slow and obvious model of it: every state is a plain list of boxes, copied with each commit. */
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
    bool glides; /* from the state before to this one */
} model_box;

typedef struct model_state {
    uint64_t revision;
    double time;
    model_box *boxes; /* by id */
    size_t count;
} model_state;

struct model_scene {
    test_rng rng;
    int dimensions;
    double spread; /* centres lie within this of the origin */
    struct obb_scene *scene;
    model_state *states; /* states[r] is the one after revision r */
    size_t state_count;
    size_t named; /* names given so far */
};

/* An empty scene whose history keeps everything the test will do. */
void model_scene_init(struct model_scene *model, uint64_t seed, int dimensions, double spread);
void model_scene_fini(struct model_scene *model);

/* One commit, 16 units of time after the one before: `put` new boxes, and of those that are there about `moved` posed (a
 * quarter by teleport), a tenth as many put anew and removed. Revision and time are checked. */
void model_scene_commit(struct model_scene *model, size_t put, size_t moved);

/* A box of random pose, size and attributes, without id and name. */
model_box model_scene_random_box(struct model_scene *model);

const model_state *model_scene_newest(const struct model_scene *model);

/* How the state stands `alpha` (0 to 1, a multiple of 1/16; 0 for revision 0) of the way to the next commit; the boxes
 * are the caller's to free. */
model_state model_scene_between(const struct model_scene *model, size_t revision, double alpha);

/* Opens the view of that. */
struct obb_view *model_scene_view(const struct model_scene *model, size_t revision, double alpha);

#endif
