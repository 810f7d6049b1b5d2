#include "core/index/rebuild.h"

#include "core/base/alloc.h"
#include "core/index/layers.h"

#include <string.h>

#define GATHER_ENTRIES 8192 /* entries checked in a chunk: 50 us */
#define AHEAD          24   /* versions that are fetched before they are looked at */

struct obb_rebuild {
    const struct obb_layers *layers;
    uint64_t revision;
    const atomic_bool *cancel;
    const struct obb_version **versions; /* each chunk fills its own part; then without gaps */
    size_t *counts;                      /* per chunk */
    size_t entries, gather_chunks, count;
    bool begun;
    struct obb_build *build; /* NULL until all versions are gathered */
};

obb_status obb_rebuild_create(const struct obb_layers *layers, uint64_t revision,
                              const atomic_bool *cancel, struct obb_rebuild **out)
{
    struct obb_rebuild *r = obb_calloc(1, sizeof *r);
    if (r == NULL)
        return OBB_NO_MEMORY;
    r->layers = layers;
    r->revision = revision;
    r->cancel = cancel;
    r->entries = obb_layers_entries(layers);
    r->gather_chunks = (r->entries + GATHER_ENTRIES - 1) / GATHER_ENTRIES;
    r->versions = obb_malloc(r->entries, sizeof *r->versions);
    r->counts = obb_malloc(r->gather_chunks, sizeof *r->counts);
    if (r->versions == NULL || r->counts == NULL) {
        obb_rebuild_destroy(r);
        return OBB_NO_MEMORY;
    }
    *out = r;
    return OBB_OK;
}

void obb_rebuild_destroy(struct obb_rebuild *r)
{
    if (r == NULL)
        return;
    obb_build_destroy(r->build);
    obb_free(r->versions);
    obb_free(r->counts);
    obb_free(r);
}

static void gather(struct obb_rebuild *r, size_t chunk)
{
    const size_t first = chunk * GATHER_ENTRIES;
    const struct obb_version **out = r->versions + first;
    size_t before = 0; /* entries of the levels so far */
    for (size_t i = 0; i < obb_layers_levels(r->layers); i++) {
        const struct obb_index *index = obb_layers_level(r->layers, i);
        const struct obb_version *const *old = obb_index_versions(index);
        const size_t n = obb_index_count(index);
        const bool whole = obb_layers_whole(r->layers, i, r->revision);
        for (size_t k = first > before ? first - before : 0;
             k < n && before + k < first + GATHER_ENTRIES; k++) {
            if (!whole && k + AHEAD < n)
                __builtin_prefetch(&old[k + AHEAD]->died);
            if (whole || obb_layers_shows(r->layers, i, old[k], r->revision))
                *out++ = old[k];
        }
        before += n;
    }
    r->counts[chunk] = (size_t)(out - (r->versions + first));
}

static obb_status start_building(struct obb_rebuild *r)
{
    for (size_t c = 0; c < r->gather_chunks; c++) {
        memmove(r->versions + r->count, r->versions + c * GATHER_ENTRIES,
                r->counts[c] * sizeof(struct obb_version *));
        r->count += r->counts[c];
    }
    return obb_build_create(r->versions, NULL, r->count, obb_layers_dimensions(r->layers),
                            obb_layers_kernels(r->layers), r->cancel, NULL, &r->build);
}

size_t obb_rebuild_advance(struct obb_rebuild *r, obb_status *out_status)
{
    *out_status = OBB_OK;
    if (!r->begun) {
        r->begun = true;
        if (r->gather_chunks > 0)
            return r->gather_chunks;
    }
    if (r->build == NULL)
        *out_status = start_building(r);
    return *out_status == OBB_OK ? obb_build_advance(r->build, out_status) : 0;
}

obb_status obb_rebuild_chunk(struct obb_rebuild *r, size_t chunk)
{
    if (r->cancel != NULL && atomic_load_explicit(r->cancel, memory_order_relaxed))
        return OBB_CANCELLED;
    if (r->build != NULL)
        return obb_build_chunk(r->build, chunk);
    gather(r, chunk);
    return OBB_OK;
}

obb_status obb_rebuild_take(struct obb_rebuild *r, struct obb_layers **out)
{
    struct obb_index *index = obb_build_take(r->build);
    const obb_status status = obb_layers_over(r->layers, index, r->revision, out);
    if (status != OBB_OK)
        obb_index_unref(index);
    return status;
}

obb_status obb_rebuild_finish(struct obb_rebuild *r, struct obb_layers **out)
{
    obb_status status = OBB_OK;
    for (size_t chunks; status == OBB_OK && (chunks = obb_rebuild_advance(r, &status)) > 0;)
        for (size_t i = 0; i < chunks && status == OBB_OK; i++)
            status = obb_rebuild_chunk(r, i);
    if (status == OBB_OK)
        status = obb_rebuild_take(r, out);
    obb_rebuild_destroy(r);
    return status;
}
