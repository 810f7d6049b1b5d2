/* A static broad phase: a tree over a set of versions, immutable once built. Internal to core.
 *
 * An index answers with candidates and a verdict for each. SURE means that the packed float test
 * proves the decision of the double test. DOUBT means that only the double test can decide. So the
 * callers test only the candidates in DOUBT in doubles. */
#ifndef OBB_INDEX_H
#define OBB_INDEX_H

#include "core/base/budget.h"
#include "core/geometry/box.h"
#include "core/geometry/ray.h"
#include "core/kernels/cpu.h"
#include "core/versions/version.h"

#include <stdatomic.h>

struct obb_index;

typedef enum obb_verdict { OBB_DOUBT, OBB_SURE } obb_verdict;

/* Builds an index on this thread.
 *
 * versions    `count` versions, which must outlive the index. The array is not kept.
 * to          NULL, or `count` versions that must outlive the call. Each bound then covers all
 *             poses of obb_box_interpolate from versions[i] to to[i], and no verdict is SURE. to[i]
 *             may be versions[i].
 * dimensions  2 or 3.
 * kernels     NULL: the widest that this CPU has.
 * cancel      may be NULL; polled about every 100 us.
 * budget      the index and the working memory of the build draw from it, and it must outlive the
 *             index; NULL: no limit, as for the indexes of scenes.
 * returns     OBB_NO_MEMORY or OBB_CANCELLED, and then *out is not written.
 * The caller owns one reference to *out. O(count). */
obb_status obb_index_build(const struct obb_version *const *versions,
                           const struct obb_version *const *to, size_t count, int dimensions,
                           const struct obb_kernels *kernels, const atomic_bool *cancel,
                           struct obb_budget *budget, struct obb_index **out);

/* Builds an index of a few versions on this thread, in the order in which they are given. For 100
 * versions it takes a fraction of the time of obb_index_build, but a query looks at most of the
 * entries: for states that few questions are asked of. Parameters as above. OBB_NO_MEMORY.
 * O(count). */
#define OBB_INDEX_FEW 128
obb_status obb_index_build_few(const struct obb_version *const *versions, size_t count,
                               int dimensions, const struct obb_kernels *kernels,
                               struct obb_index **out);

/* Builds an index in phases of independent chunks: call obb_build_advance on one thread, run every
 * chunk of the phase on any threads, and repeat until obb_build_advance returns 0. The index does
 * not depend on which thread ran a chunk. */
struct obb_build;

/* Parameters as above; the arrays `versions` and `to` must outlive the build. OBB_NO_MEMORY. */
obb_status obb_build_create(const struct obb_version *const *versions,
                            const struct obb_version *const *to, size_t count, int dimensions,
                            const struct obb_kernels *kernels, const atomic_bool *cancel,
                            struct obb_budget *budget, struct obb_build **out);

/* Returns the number of chunks of the next phase. 0 means that the index can be taken if
 * *out_status is OBB_OK. After any other status (OBB_NO_MEMORY) the build can only be destroyed. */
size_t obb_build_advance(struct obb_build *build, obb_status *out_status);

/* Runs one chunk of the phase. After OBB_NO_MEMORY or OBB_CANCELLED the build can only be
 * destroyed. */
obb_status obb_build_chunk(struct obb_build *build, size_t chunk);

/* Returns the index with one reference, which is the caller's. Call it once, after the last
 * phase. */
struct obb_index *obb_build_take(struct obb_build *build);
void obb_build_destroy(struct obb_build *build); /* NULL is fine */

/* Adds the bytes of the index to *account, which must outlive the index. The last
 * obb_index_unref subtracts them. An index that has an account keeps it. The writer's. */
void obb_index_charge(struct obb_index *index, size_t *account);

/* Adds the bytes of the pairs that joins have recorded of the index (pair_cache.h) to its account,
 * if it has one: readers do not count. The writer's. O(1); where there are new ones, O(chunks of
 * the join). */
void obb_index_charge_pairs(struct obb_index *index);

/* Frees these pairs. Joins may record them again. The writer's, while there is no reader. */
void obb_index_drop_pairs(struct obb_index *index);

/* Add and drop a reference. NULL is fine for unref. The writer's. */
void obb_index_ref(struct obb_index *index);
void obb_index_unref(struct obb_index *index);

/* Returns the number of versions, dead ones included. */
size_t obb_index_count(const struct obb_index *index);

/* Returns the bytes of the index and its arrays. */
size_t obb_index_bytes(const struct obb_index *index);

/* Returns the obb_index_count versions in the order of the index. */
const struct obb_version *const *obb_index_versions(const struct obb_index *index);

/* Returns their ids, in the same order. */
const uint64_t *obb_index_ids(const struct obb_index *index);

/* Called for each candidate of a walk. If it returns false, the walk ends and returns false too. */
typedef bool obb_index_visit(void *context, const struct obb_version *version, obb_verdict verdict);

/* Visits every version whose bounds meet `bounds`, each in DOUBT. Returns false if `visit` did. */
bool obb_index_query(const struct obb_index *index, const obb_bounds *bounds, void *context,
                     obb_index_visit *visit);

/* Visits every version whose bounds meet the bounds of `box` grown by margin (scene units), except
 * versions that the float test proves apart by more than the margin. SURE means that the two boxes
 * overlap for certain; at a negative margin, that they overlap that deep. Returns false if `visit`
 * did. */
bool obb_index_overlap(const struct obb_index *index, const obb_solid *box, double margin,
                       void *context, obb_index_visit *visit);

/* Called for each candidate of a walk by distance. Returns the new greatest distance of interest;
 * a negative one ends the walk. */
typedef double obb_index_reach(void *context, const struct obb_version *version,
                               double max_distance);

/* A ray that is cast, and the context of its visits. */
struct obb_cast {
    obb_ray ray;
    void *context;
};

#define OBB_CASTS 32 /* the most that one call takes */

/* Visits, for each cast, the versions whose bounds, grown by `grow`, its ray meets, except versions
 * that it misses for certain if `grow` is zero. Near ones come first as far as the tree can tell.
 * The walks of a few rays go on by turns: what one waits for comes from memory meanwhile.
 *
 * casts    at most OBB_CASTS. The max_distance of each becomes the last greatest distance that its
 *          visits returned. A negative one begins no walk.
 * grow     half the extents of the bounds of a moving box, or zero for a ray.
 * closest  only with `grow` zero: `visit` returns at most the distance at which the ray enters the
 *          version (obb_ray_cast), if it starts outside. Then versions behind one that the ray
 *          enters for certain are not visited, and no pose is waited for during the walk. */
void obb_index_rays(const struct obb_index *index, struct obb_cast *casts, size_t count,
                    obb_vec3 grow, bool closest, obb_index_reach *visit);

/* Visits the versions whose bounds are within max_distance of `bounds` (a point: min = max). Near
 * ones come first as far as the tree can tell. Returns the last greatest distance, max_distance if
 * no version was visited. */
double obb_index_nearest(const struct obb_index *index, const obb_bounds *bounds,
                         double max_distance, void *context, obb_index_reach *visit);

/* Checks the structure, for tests and fuzzers: every node holds its children, and every version is
 * there once. */
bool obb_index_validate(const struct obb_index *index);

#endif
