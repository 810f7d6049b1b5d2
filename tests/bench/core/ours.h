/* The parts of core that the benchmarks measure, in plain types: for benchmark.c, and for
 * peers.cpp, which cannot read core's headers. A function that measures returns seconds. If there
 * is no memory, the program ends. */
#ifndef BENCH_CORE_OURS_H
#define BENCH_CORE_OURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Scenes ---------------------------------------------------------------------------------- */

/* A box in doubles. The axes are unit vectors; the rotation is a quaternion (x, y, z, w). */
typedef struct ours_box {
    double center[3], half[3], rotation[4], axis[3][3];
} ours_box;

/* The scenes of the benchmark, with their number of boxes. */
typedef struct ours_scene {
    const char *name; /* "uniform", "clustered", "sizes", "city", "sticks" */
    size_t count;
} ours_scene;
enum { OURS_SCENES = 8 };
extern const ours_scene ours_scenes[OURS_SCENES];

/* A world holds a scene's boxes as core keeps them, with ids 1 to count, and room for `steps` in
 * each of which `moves` boxes move. */
struct ours_world;
struct ours_world *ours_world_make(const ours_scene *scene, size_t steps, size_t moves);
void ours_world_free(struct ours_world *world);
size_t ours_world_count(const struct ours_world *world);
void ours_world_box(const struct ours_world *world, size_t i, ours_box *out); /* id i + 1 */

/* Returns the next kernel of this CPU after `name` (NULL: the first), from "scalar" to the widest.
 * NULL: no more. */
const char *ours_next_kernel(const char *name);
const char *ours_widest_kernel(void);
bool ours_has_floats(void); /* is there a variant without error bounds, named "floats"? */

/* ---- All pairs ------------------------------------------------------------------------------- */

typedef struct ours_pairs {
    const uint64_t *list; /* by (id, id), see ours_pair; the world's, valid until the next call */
    uint64_t base;        /* id of rank 0 */
    size_t count;
    size_t candidates,
        doubtful; /* pairs that passed the float test; those of them that the double test decided */
    double build, join; /* seconds of each stage */
    double wall;        /* of both stages, on the wall */
} ours_pairs;

typedef struct ours_ids {
    uint32_t a, b;
} ours_ids;

/* Returns a pair of a list, which has them as the join does: as ranks, the smaller one in the high
 * half. Answers by id are written from them, too. */
static inline ours_ids ours_pair(const ours_pairs *pairs, size_t i)
{
    const uint64_t rank = pairs->list[i];
    return (ours_ids){(uint32_t)(pairs->base + (rank >> 32)),
                      (uint32_t)(pairs->base + (uint32_t)rank)};
}

/* Builds an index over all boxes and finds all pairs that touch. Returns the seconds of both.
 * kernel: NULL for the widest, "floats" for the one without error bounds. Without `exact` only the
 * float test decides, and the answer may be wrong. */
double ours_all_pairs(struct ours_world *world, const char *kernel, unsigned workers, bool exact,
                      ours_pairs *out);
uint64_t ours_pairs_hash(const ours_pairs *pairs);

/* Counts all pairs with the index of the last call, without listing them. Returns seconds. */
double ours_count_pairs(struct ours_world *world, size_t *out_count);

/* Returns the gap by the double test, in scene units. > 0: apart. <= 0: overlapping. */
double ours_gap(const struct ours_world *world, uint32_t id_a, uint32_t id_b);

/* ---- Some move, again and again -------------------------------------------------------------- */

/* Moves one in so many of the boxes, others each time. The boxes have their new poses at once; no
 * index holds them yet. Returns how many moved, and their numbers in *out_moved, which the world
 * owns. */
size_t ours_world_move(struct ours_world *world, const uint32_t **out_moved);

/* Adds the boxes of ours_world_move to the index of the last call, and builds the index anew if it
 * has decayed. Returns seconds. */
double ours_mend(struct ours_world *world);

/* Does the same, and finds all pairs again. Returns the seconds of both. */
double ours_pairs_again(struct ours_world *world, ours_pairs *out);

/* ---- The contact set: the pairs of a scene, followed from commit to commit ------------------- */

/* A scene that holds the boxes of a world, and the contact set that the stream of events keeps of
 * it. The world must outlive it. */
struct ours_contacts;
struct ours_contacts *ours_contacts_make(const struct ours_world *world);
void ours_contacts_free(struct ours_contacts *contacts);

/* Moves the boxes of the last ours_world_move in the scene, too, by one commit. Brings the set to
 * the state after it, and lists all pairs. Returns the seconds of update and list, and in
 * *out_commit those of the commit. */
double ours_contacts_again(struct ours_contacts *contacts, double *out_commit);

/* Ends the program if the pairs of the set are not the expected ones. */
void ours_contacts_check(struct ours_contacts *contacts, const ours_pairs *expected);

/* ---- Single queries on the index of ours_all_pairs or ours_pairs_again ----------------------- */

/* Run the first `count` queries of a fixed list and mix their answers into *hash. Return
 * seconds. */
typedef struct ours_ray {
    double origin[3], direction[3];
} ours_ray;
void ours_query_box(const struct ours_world *world, size_t i, ours_box *out);
void ours_query_ray(const struct ours_world *world, size_t i, ours_ray *out);
double ours_overlaps(const struct ours_world *world, size_t count, uint64_t *hash,
                     size_t *out_hits);
/* out_first: NULL, or receives the id that each ray hits first, 0 for none. */
double ours_rays(const struct ours_world *world, size_t count, uint64_t *hash, size_t *out_hits,
                 uint32_t *out_first);

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Packed pairs of boxes, half of which overlap. */
struct ours_kernel_pairs;
struct ours_kernel_pairs *ours_kernel_pairs_make(size_t count);
void ours_kernel_pairs_free(struct ours_kernel_pairs *pairs);
void ours_kernel_pair(const struct ours_kernel_pairs *pairs, size_t i, ours_box *out_a,
                      ours_box *out_b);

/* Tests all pairs with a kernel, or in doubles if the name is "double". Returns seconds. Writes the
 * number of pairs that are not apart and mixes their numbers into *hash, which is the same for all
 * kernels. */
double ours_kernel_run(struct ours_kernel_pairs *pairs, const char *kernel, uint64_t *hash,
                       size_t *out_hits);

#ifdef __cplusplus
}
#endif

#endif
