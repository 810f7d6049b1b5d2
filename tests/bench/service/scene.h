/* The scenes and requests of the benchmark, and judges of the answers: by brute force, the same for
 * every server. */
#ifndef BENCH_SERVICE_SCENE_H
#define BENCH_SERVICE_SCENE_H

#include "core/obb.h"
#include "tests/bench/service/load.h"
#include "tests/support/test.h"

/* Boxes "box-1" to "box-N" in a cube that grows with N, so that each box overlaps about one other.
 * Half extents are 0.5 to 1.5, rotations are random. */
typedef struct bench_scene {
    const char *name;
    size_t count;
    double half; /* of the cube */
    obb_box *boxes;
    obb_solid *solids;
} bench_scene;

void scene_make(bench_scene *scene, const char *name, size_t count);
void scene_free(bench_scene *scene);

/* Returns commits that put all boxes of the scene, `size` at a time. *out_count: their number. The
 * caller owns them. */
load_request *scene_puts(const bench_scene *scene, size_t size, size_t *out_count);

/* Returns an import of all boxes into the scene of that name. The caller owns it. */
load_request scene_import(const bench_scene *scene, const char *name);

/* Each returns one request, the n-th of its kind. */
load_request scene_get(const bench_scene *scene, size_t n);
load_request scene_pair(const bench_scene *scene, size_t n);
load_request scene_overlap(const bench_scene *scene, size_t n);
load_request scene_all_pairs(const bench_scene *scene);

/* Returns a tick: a commit that gives every box its n-th pose and queries the result with 64 rays.
 * It is JSON by name, or CBOR in columns. */
enum { SCENE_RAYS = 64, SCENE_TICKS = 4 };
load_request scene_tick(const bench_scene *scene, size_t n, bool cbor);

/* Is the answer to the n-th request right? Some engines compute in floats, so a verdict about boxes
 * with a gap within 1e-3 of 0 may be either, and a ray may choose either of two hits within
 * 1e-2. */
bool scene_get_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_pair_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_overlap_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_all_pairs_right(const bench_scene *scene, const char *body, size_t length);
bool scene_tick_right(const bench_scene *scene, size_t n, bool cbor, const char *body,
                      size_t length);

#endif
