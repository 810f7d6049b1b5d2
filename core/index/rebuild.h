/* A rebuild: the broad phase of a state made anew, to replace one that has decayed.
 *
 * A rebuild runs in phases of independent chunks: call obb_rebuild_advance on one thread, run every
 * chunk of the phase on any threads, and repeat until obb_rebuild_advance returns 0. The result
 * does not depend on which thread ran a chunk. The first phase gathers the versions alive at the
 * revision; the other phases build an index of them (index.h). O(entries). */
#ifndef OBB_REBUILD_H
#define OBB_REBUILD_H

#include "core/base/status.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct obb_layers; /* a broad phase; obb_rebuild_take makes it, obb_scene_rebase takes it */
struct obb_rebuild;

/* Creates a rebuild of the versions alive in `layers` at `revision`. A view of that revision must
 * stay open until the result is in its scene. *cancel (may be NULL) is polled about every 100 us.
 * OBB_NO_MEMORY. */
obb_status obb_rebuild_create(const struct obb_layers *layers, uint64_t revision,
                              const atomic_bool *cancel, struct obb_rebuild **out);

/* Returns the number of chunks of the next phase. 0 means that the layers can be taken if
 * *out_status is OBB_OK. After any other status (OBB_NO_MEMORY, OBB_CANCELLED) the rebuild can only
 * be destroyed. */
size_t obb_rebuild_advance(struct obb_rebuild *rebuild, obb_status *out_status);

/* Runs one chunk of the phase. After OBB_NO_MEMORY or OBB_CANCELLED the rebuild can only be
 * destroyed. */
obb_status obb_rebuild_chunk(struct obb_rebuild *rebuild, size_t chunk);

/* Gives out the new layers, which the caller owns. Call it once, after the last phase.
 * OBB_NO_MEMORY. */
obb_status obb_rebuild_take(struct obb_rebuild *rebuild, struct obb_layers **out);
void obb_rebuild_destroy(struct obb_rebuild *rebuild); /* NULL is fine */

/* Runs the remaining phases on this thread and gives out the new layers. Destroys the rebuild, also
 * if it fails. For tests and benchmarks. */
obb_status obb_rebuild_finish(struct obb_rebuild *rebuild, struct obb_layers **out);

#endif
