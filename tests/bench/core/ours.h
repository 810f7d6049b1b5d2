/* What the benchmarks measure of core, in plain types: for benchmark.c, and for peers.cpp, which cannot read core's headers.
 * Functions that measure return seconds; whatever fails for want of memory ends the program. */
#ifndef BENCH_CORE_OURS_H
#define BENCH_CORE_OURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Scenes ----------------------------------------------------------------------------------------------------- */

/* A box in doubles: axes are unit vectors, a turn of (x, y, z, w). */
typedef struct ours_box {
    double center[3], half[3], rotation[4], axis[3][3];
} ours_box;

/* The scenes of the benchmark; all others say how they differ from them. */
typedef struct ours_scene {
    const char *name; /* "uniform", "clustered", "sizes", "city", "sticks" */
    size_t count;
} ours_scene;
enum { OURS_SCENES = 8 };
extern const ours_scene ours_scenes[OURS_SCENES];

/* A scene's boxes as core keeps them, ids 1 to count; with room for `steps` in which a tenth of them moves. */
struct ours_world;
struct ours_world *ours_world_make(const ours_scene *scene, size_t steps);
void ours_world_free(struct ours_world *world);
size_t ours_world_count(const struct ours_world *world);
void ours_world_box(const struct ours_world *world, size_t i, ours_box *out); /* id i + 1 */
double
ours_world_side(const struct ours_world *world); /* of the cube that the uniform scene fills */

/* The next kernel of this CPU after `name` (NULL: the first), from "scalar" to the widest; NULL: no more. */
const char *ours_next_kernel(const char *name);
const char *ours_widest_kernel(void);
bool ours_has_floats(void); /* the widest one also without error bounds, named "floats" */

/* ---- All pairs -------------------------------------------------------------------------------------------------- */

typedef struct ours_pairs {
    uint32_t (*list)[2]; /* ids, by (id, id); the world's, good until the next call */
    size_t count;
    size_t candidates,
        doubtful; /* what the float test left, and what of that the double test had to decide */
    double build, join, decide; /* seconds of each stage */
} ours_pairs;

/* An index over all boxes, and all pairs that touch; seconds of both. Without `exact` the answer is that of the float test alone
 * (kernel: NULL for the widest, "floats" for one without error bounds), which may be wrong. */
double ours_all_pairs(struct ours_world *world, const char *kernel, unsigned workers, bool exact,
                      ours_pairs *out);
uint64_t ours_pairs_hash(const ours_pairs *pairs);

/* By the double test: > 0 apart, <= 0 overlapping; scene units. */
double ours_gap(const struct ours_world *world, uint32_t id_a, uint32_t id_b);

/* ---- A tenth moves, again and again ----------------------------------------------------------------------------- */

/* Moves a tenth of the boxes, others each time; the new poses are there at once, and no index knows of them. Returns how many moved;
 * *out_moved: their numbers, the world's. */
size_t ours_world_move(struct ours_world *world, const uint32_t **out_moved);

/* What ours_world_move did comes into the index that the last call left, which is built anew when it has decayed, and all pairs
 * are found again; seconds. */
double ours_pairs_again(struct ours_world *world, ours_pairs *out);

/* ---- Single queries on the index that ours_all_pairs or ours_pairs_again left ------------------------------------ */

/* Queries number first to first + count - 1 of a fixed list; answers are mixed into *hash. */
typedef struct ours_ray {
    double origin[3], direction[3];
} ours_ray;
void ours_query_box(const struct ours_world *world, size_t i, ours_box *out);
void ours_query_ray(const struct ours_world *world, size_t i, ours_ray *out);
double ours_overlaps(const struct ours_world *world, size_t count, uint64_t *hash,
                     size_t *out_hits);
/* out_first: the id that each ray hits first, 0 for none; may be NULL. */
double ours_rays(const struct ours_world *world, size_t count, uint64_t *hash, size_t *out_hits,
                 uint32_t *out_first);

/* ---- Kernels ------------------------------------------------------------------------------------------------------ */

/* Pairs of boxes that overlap in half of the cases, packed. */
struct ours_kernel_pairs;
struct ours_kernel_pairs *ours_kernel_pairs_make(size_t count);
void ours_kernel_pairs_free(struct ours_kernel_pairs *pairs);
void ours_kernel_pair(const struct ours_kernel_pairs *pairs, size_t i, ours_box *out_a,
                      ours_box *out_b);

/* Tests them all with a kernel, or (name "double") in doubles; how many are not apart, and which, mixed into *hash: of kernels
 * the same bits in all. */
double ours_kernel_run(struct ours_kernel_pairs *pairs, const char *kernel, uint64_t *hash,
                       size_t *out_hits);

#ifdef __cplusplus
}
#endif

#endif
