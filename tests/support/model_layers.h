/* Layers under random edits, the boxes that brute force finds alive in them, and the check of a
 * join against these. */
#ifndef TEST_SUPPORT_MODEL_LAYERS_H
#define TEST_SUPPORT_MODEL_LAYERS_H

#include "core/geometry/box.h"
#include "core/index/join.h"
#include "core/index/layers.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

#define MODEL_LAYERS_BOXES 600 /* alive at most */

struct model_layers {
    struct boxes_world world;
    struct obb_version *current[MODEL_LAYERS_BOXES]; /* by slot; NULL: free */
    size_t alive;
    uint64_t next_id, revision;
    struct obb_layers *layers;
    double side;
};

/* Returns an empty model with room for `versions` versions. */
struct model_layers *model_layers_create(int dimensions, size_t versions);
void model_layers_free(struct model_layers *model);

/* Commits `changes` random changes: new boxes, removals, short moves and teleports. */
void model_layers_commit(struct model_layers *model, size_t changes, test_rng *rng);

/* Removes every box, creates new layers, as an import does, and commits `changes` random changes. */
void model_layers_import(struct model_layers *model, size_t changes, test_rng *rng);

/* Rebuilds the layers on this thread. Returns the first status that is not OBB_OK. */
obb_status model_layers_rebuild(const struct obb_layers *layers, uint64_t revision,
                                struct obb_layers **out);

/* Returns layers of several levels over `count` boxes of a named scene. In every second scene some
 * boxes are not plain, but in a group. kernels: NULL chooses. */
struct obb_layers *model_layers_of_scene(struct boxes_world *world, boxes_kind kind, size_t count,
                                         int dimensions, const struct obb_kernels *kernels);

/* The versions alive at a revision, by id, and their solids. */
struct model_layers_state {
    size_t count;
    const struct obb_version *boxes[MODEL_LAYERS_BOXES];
    obb_solid solids[MODEL_LAYERS_BOXES];
};

/* Finds them by looking at every version. The caller frees the result. */
struct model_layers_state *model_layers_state(const struct boxes_world *world, uint64_t revision);

/* Runs all phases of a join, the chunks of each forwards or backwards. Returns the first status
 * that is not OBB_OK. */
obb_status model_layers_join(struct obb_join *join, bool backwards);

/* What the checks below have seen so far. */
struct model_layers_counts {
    size_t pairs, sure, doubt, checked, counted;
};

/* Asserts that the join lists every overlapping pair once, in order, that every SURE pair overlaps,
 * and, unless `moved` is NULL, that one box of every pair is among the moved. */
void model_layers_check_join(struct obb_join *join, const struct model_layers_state *state,
                             double margin, const bool *moved, struct model_layers_counts *counts);

/* Asserts that what a counting join counted and those of its kept pairs that overlap are as many as
 * the overlapping pairs, that each kept pair is a pair of the state, kept once and not to be
 * counted, and that its marks are true. */
void model_layers_check_counting(struct obb_join *join, const struct model_layers_state *state,
                                 double margin, struct model_layers_counts *counts);

#endif
