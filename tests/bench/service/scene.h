/* The scenes and requests of the benchmark, and what is right about the answers: by brute force, for every server alike. */
#ifndef BENCH_SERVICE_SCENE_H
#define BENCH_SERVICE_SCENE_H

#include "core/obb.h"
#include "tests/bench/service/load.h"
#include "tests/support/test.h"

/* Boxes "box-1" to "box-N" in a cube that grows with them, so that each overlaps about one other; half extents 0.5 to 1.5, turned
 * any way. */
typedef struct bench_scene {
    const char *name;
    size_t count;
    double half; /* of the cube */
    obb_box *boxes;
    obb_solid *solids;
} bench_scene;

void scene_make(bench_scene *scene, const char *name, size_t count);
void scene_free(bench_scene *scene);

/* Commits that put all boxes of the scene, `size` at a time; *out_count of them, owned by the caller. */
load_request *scene_puts(const bench_scene *scene, size_t size, size_t *out_count);

/* Each makes one request, the n-th of its kind. */
load_request scene_get(const bench_scene *scene, size_t n);
load_request scene_pair(const bench_scene *scene, size_t n);
load_request scene_overlap(const bench_scene *scene, size_t n);
load_request scene_all_pairs(const bench_scene *scene);

/* A tick: every box gets the n-th of its poses, and then 64 rays are asked about the result. JSON by name, or CBOR in columns. */
enum { SCENE_RAYS = 64, SCENE_TICKS = 4 };
load_request scene_tick(const bench_scene *scene, size_t n, bool cbor);

/* Is the answer to the n-th right? A verdict about boxes whose gap is within 1e-3 of 0 may fall either way, as may a ray's between
 * hits that lie within 1e-2: some engines compute in floats. */
bool scene_get_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_pair_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_overlap_right(const bench_scene *scene, size_t n, const char *body, size_t length);
bool scene_all_pairs_right(const bench_scene *scene, const char *body, size_t length);
bool scene_tick_right(const bench_scene *scene, size_t n, bool cbor, const char *body,
                      size_t length);

#endif
