/* A fresh broad phase of a state, to be put in place of one that has decayed.
 *
 * In phases of independent chunks: run every chunk of a phase on any threads, then call obb_rebuild_advance on one. What comes
 * out does not depend on who ran which chunk. First the versions alive at the revision are gathered, then an index is built of
 * them (index.h). O(entries). */
#ifndef OBB_REBUILD_H
#define OBB_REBUILD_H

#include "core/base/status.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct obb_layers; /* a broad phase, on its way from obb_rebuild_take to obb_scene_rebase */
struct obb_rebuild;

/* Of what is alive in `layers` at `revision`, of which a view stays open until the result is in its scene. *cancel (may be NULL)
 * is polled about every 100 us. OBB_NO_MEMORY. */
obb_status obb_rebuild_create(const struct obb_layers *layers, uint64_t revision,
                              const atomic_bool *cancel, struct obb_rebuild **out);

/* Chunks of the next phase. 0: all is done and can be taken, or *out_status says why not: OBB_NO_MEMORY, OBB_CANCELLED. */
size_t obb_rebuild_advance(struct obb_rebuild *rebuild, obb_status *out_status);

/* OBB_NO_MEMORY, OBB_CANCELLED: the rebuild is of no use any more and can only be destroyed. */
obb_status obb_rebuild_chunk(struct obb_rebuild *rebuild, size_t chunk);

/* The fresh layers, once; the caller's. OBB_NO_MEMORY. */
obb_status obb_rebuild_take(struct obb_rebuild *rebuild, struct obb_layers **out);
void obb_rebuild_destroy(struct obb_rebuild *rebuild); /* NULL is fine */

/* All that is left of it on this thread, for whoever has no workers (tests and benchmarks); the rebuild is gone afterwards,
 * whatever the answer. */
obb_status obb_rebuild_finish(struct obb_rebuild *rebuild, struct obb_layers **out);

#endif
