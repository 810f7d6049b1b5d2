/* Hashes of states, to compare scenes in logs, replays, tests and benchmarks.
 *
 * A digest is a sum over the boxes and frames of a state: it does not depend on the order in which
 * they were added, and a commit changes it by those that the commit changed. The bits are the same
 * on every CPU.
 *
 * Source   each summand is a SipHash (see core/base/hash.h); Bellare, Micciancio, "A new paradigm
 *          for collision-free hashing: incrementality at reduced cost", Eurocrypt 1997, for
 *          sums. */
#ifndef OBB_DIGEST_H
#define OBB_DIGEST_H

#include "core/scene/scene.h"

struct obb_version;

/* Zeroed: no box. */
typedef struct obb_digest {
    uint64_t content;  /* over names, poses, attributes, frames and poses in them */
    uint64_t identity; /* over these and the ids */
} obb_digest;

/* Adds a box or a frame, or takes it out again. About 60 ns. Any thread that may read the box. */
void obb_digest_add(obb_digest *digest, const struct obb_version *box);
void obb_digest_remove(obb_digest *digest, const struct obb_version *box);

/* Returns the hash of a state by what it holds: settings, time, and its boxes without ids. A copy
 * of the scene, in which ids and revisions are others, has the same hash. */
uint64_t obb_digest_content(const obb_digest *digest, const obb_settings *settings, double time);

/* Returns the hash of a state with everything that later commits build on: also the revision, the
 * ids, and the id of the next new box. */
uint64_t obb_digest_exact(const obb_digest *digest, const obb_settings *settings, obb_moment moment,
                          uint64_t next_id);

/* Returns obb_digest_exact of the published state. O(boxes). The writer's. */
uint64_t obb_scene_hash(struct obb_scene *scene);

/* A fingerprint is a sum over the boxes and frames of a state, too, and covers what
 * obb_digest.identity covers. It finds states that differ by accident, and is kept with every
 * commit: about 15 ns for a pose, from a cache. Whoever wants to can make two states with the same
 * fingerprint.
 *
 * Source   Carter, Wegman, "Universal classes of hash functions", Journal of Computer and System
 *          Sciences 18, 1979, for sums of words times random numbers. */

/* Changes a fingerprint by one box or frame. before, after: as obb_effect has them; NULL: there is
 * none. Any thread that may read both. */
void obb_fingerprint_change(uint64_t *fingerprint, const struct obb_version *before,
                            const struct obb_version *after);

/* Returns the fingerprint of the published state. O(boxes). The writer's. */
uint64_t obb_scene_fingerprint(struct obb_scene *scene);

/* Returns the hash of a state of which the fingerprint is known: it covers what obb_digest_exact
 * covers, and is another one. */
uint64_t obb_fingerprint_hash(uint64_t fingerprint, const obb_settings *settings, obb_moment moment,
                              uint64_t next_id);

#endif
