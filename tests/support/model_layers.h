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

/* Commits short moves of up to `moves` boxes of those that are there. */
void model_layers_move(struct model_layers *model, size_t moves, test_rng *rng);

/* Removes every box, creates new layers, as an import does, and commits `changes` random
 * changes. */
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

/* What the checks below have seen so far. */
struct model_layers_counts {
    size_t pairs, listed, checked;
    size_t sure, doubt; /* pairs that joins have asked about */
    size_t marked;      /* joins that asked no version whether it is alive (obb_join_marked) */
    size_t cached;      /* joins that read pairs from a cache (obb_join_cached) */
};

/* A join to be checked, and what its judge is to know. */
struct model_layers_join {
    double margin;
    obb_join_list list;
    size_t limit;
    bool plain_pass;
    size_t cache_room;                      /* of the wish */
    const struct obb_version *const *moved; /* NULL: all pairs */
    size_t moved_count;
    bool backwards; /* the chunks of each phase are run in this order */
    const atomic_bool *cancel;
    struct obb_budget *budget;
    int dimensions;
    struct model_layers_counts *counts;
    /* What came out of it; the caller frees the lists by obb_budget_free. */
    obb_join_counts found;
    obb_box_pair *boxes;
    obb_id_pair *ids;
    uint64_t *ranks, base;
};

/* Runs a join, whose judge makes the double test, asserts that sure pairs overlap, and refuses a
 * fifth of the pairs that it must be asked for. Returns the first status that is not OBB_OK; then
 * there is nothing to free. */
obb_status model_layers_join(const struct obb_layers *layers, uint64_t revision,
                             struct model_layers_join *join);

/* Asserts that the join found the pairs of the state that overlap and are not refused, counted
 * them, and listed the first ones up to its limit in order; unless moved is NULL, only those of
 * which one box is moved. */
void model_layers_check_join(const struct model_layers_join *join,
                             const struct model_layers_state *state, const bool *moved);

#endif
