/* A static broad phase: a tree over a set of versions, immutable once built. Internal to core.
 *
 * Answers are candidates with a verdict: SURE where the packed float test proves the decision of the double test,
 * DOUBT where only the double test can tell. So callers test in doubles just what is in doubt. */
#ifndef OBB_INDEX_H
#define OBB_INDEX_H

#include "core/geometry/box.h"
#include "core/geometry/ray.h"
#include "core/kernels/cpu.h"
#include "core/versions/version.h"

#include <stdatomic.h>

struct obb_index;

typedef enum obb_verdict { OBB_DOUBT, OBB_SURE } obb_verdict;

/* Builds over `count` versions (dimensions 2 or 3). With `to` (else NULL) every bound covers the way from
 * versions[i] to to[i] as obb_box_interpolate goes it, and nothing is ever SURE: to[i] may be versions[i]. The arrays
 * are the caller's and not kept; the versions must outlive the index. kernels: NULL chooses. Polls *cancel (may be
 * NULL) about every 100 us: OBB_CANCELLED. OBB_NO_MEMORY. O(n). */
obb_status obb_index_build(const struct obb_version *const *versions,
                           const struct obb_version *const *to, size_t count, int dimensions,
                           const struct obb_kernels *kernels, const atomic_bool *cancel,
                           struct obb_index **out);

/* The same in phases of independent chunks: run every chunk of a phase on any threads, then call obb_build_advance on one; 0
 * chunks: the index is there to be taken, or *out_status says why not. `versions` and `to` must outlive this. The
 * index does not depend on who ran its chunks. OBB_NO_MEMORY from all that answer; from a chunk OBB_CANCELLED as well.
 * After a failure it can only be destroyed. */
struct obb_build;
obb_status obb_build_create(const struct obb_version *const *versions,
                            const struct obb_version *const *to, size_t count, int dimensions,
                            const struct obb_kernels *kernels, const atomic_bool *cancel,
                            struct obb_build **out);
size_t obb_build_advance(struct obb_build *build, obb_status *out_status);
obb_status obb_build_chunk(struct obb_build *build, size_t chunk);
struct obb_index *obb_build_take(struct obb_build *build); /* once; the caller's then */
void obb_build_destroy(struct obb_build *build);           /* NULL is fine */

void obb_index_ref(struct obb_index *index);   /* the writer's */
void obb_index_unref(struct obb_index *index); /* the writer's; NULL is fine */
size_t obb_index_count(const struct obb_index *index);

/* The versions in the index's own order; obb_index_count of them. */
const struct obb_version *const *obb_index_versions(const struct obb_index *index);

/* Every version whose bounds meet `bounds`; false from visit ends the walk, and is then what the walk returns. */
typedef bool obb_index_visit(void *context, const struct obb_version *version, obb_verdict verdict);
bool obb_index_query(const struct obb_index *index, const obb_bounds *bounds, void *context,
                     obb_index_visit *visit);

/* Every version whose bounds meet those of `box` grown by margin; SURE: the two overlap for certain (at a negative
 * margin: penetrate that deep). Versions that the float test proves apart by more than the margin are not visited. */
bool obb_index_overlap(const struct obb_index *index, const obb_solid *box, double margin,
                       void *context, obb_index_visit *visit);

/* Versions whose bounds (grown by `grow`, half extents of a moving box's bounds, zero for a ray) the segment meets,
 * near ones first as far as the tree knows. visit returns the new greatest distance of interest (negative: enough),
 * and the walk returns the last. */
typedef double obb_index_reach(void *context, const struct obb_version *version,
                               double max_distance);
double obb_index_ray(const struct obb_index *index, const obb_ray *ray, obb_vec3 grow,
                     void *context, obb_index_reach *visit);

/* Versions by the distance of their bounds from `bounds` (a point: min = max), near ones first as far as the tree knows. visit
 * returns the new greatest distance of interest (negative: enough), and the walk returns the last. */
double obb_index_nearest(const struct obb_index *index, const obb_bounds *bounds,
                         double max_distance, void *context, obb_index_reach *visit);

/* Structure check for tests and fuzzers: bounds contain children, every version once. */
bool obb_index_validate(const struct obb_index *index);

#endif
