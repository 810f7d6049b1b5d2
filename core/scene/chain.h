/* Chains: the versions of a record, newest first, which readers walk beside the writer. Internal to
 * core. reclaim.h says how versions leave a chain. */
#ifndef OBB_CHAIN_H
#define OBB_CHAIN_H

#include "core/scene/scene_data.h"

/* Walks the chain to the version in the state of `revision`. Returns false if the writer has given
 * slots away meanwhile: the walk may have gone astray. */
static inline bool obb_chain_walk(const struct obb_scene *scene, const struct obb_record *record,
                                  uint64_t revision, const struct obb_version **out)
{
    const uint64_t before = atomic_load_explicit(&scene->unlinks, memory_order_acquire);
    uint32_t i = atomic_load_explicit(&record->newest, memory_order_acquire);
    *out = NULL;
    while (i != OBB_NO_VERSION) {
        const struct obb_version *version = obb_version_at(&scene->versions, i);
        const uint64_t died = atomic_load_explicit(&version->died, memory_order_acquire);
        const uint64_t born = atomic_load_explicit(&version->born, memory_order_acquire);
        i = atomic_load_explicit(&obb_version_links_at(&scene->versions, i)->older,
                                 memory_order_acquire);
        if (atomic_load_explicit(&scene->unlinks, memory_order_relaxed) != before)
            return false;
        if (died <= revision)
            return true;
        if (born <= revision) {
            *out = version;
            return true;
        }
    }
    return true;
}

/* Returns the record's version in the state of `revision`, or NULL. The walk ends at the first
 * version that was born in time: the versions behind it are older than the state. Any thread that
 * holds a view of the state. */
static inline const struct obb_version *
obb_chain_find(const struct obb_scene *scene, const struct obb_record *record, uint64_t revision)
{
    const struct obb_version *version;
    while (!obb_chain_walk(scene, record, revision, &version))
        ;
    return version;
}

#endif
