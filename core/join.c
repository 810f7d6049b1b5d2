#include "core/layers.h"

#include "core/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 512 /* boxes asked in one chunk */

struct list {
    obb_join_pair *pairs;
    size_t count, capacity;
};

/* Every box asks all layers for its neighbours. */
struct obb_join {
    const struct obb_layers *layers;
    uint64_t revision;
    double margin;
    bool only_moved;
    const atomic_bool *cancel;
    const struct obb_version **asking;
    size_t asking_count, chunk_count;
    struct list *lists; /* one per chunk */
    obb_join_pair *pairs;
    size_t pair_count;
    int phase;
};

static int by_address(const void *a, const void *b)
{
    const struct obb_version *const *p = a, *const *q = b;
    return ((uintptr_t)*p > (uintptr_t)*q) - ((uintptr_t)*p < (uintptr_t)*q);
}

static bool gather(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)verdict;
    struct obb_join *join = context;
    join->asking[join->asking_count++] = version;
    return true;
}

static obb_status create(const struct obb_layers *layers, uint64_t revision, double margin,
                         const struct obb_version *const *moved, size_t moved_count,
                         const atomic_bool *cancel, struct obb_join **out)
{
    struct obb_join *join = obb_calloc(1, sizeof *join);
    if (join == NULL)
        return OBB_NO_MEMORY;
    *join = (struct obb_join){.layers = layers,
                              .revision = revision,
                              .margin = margin,
                              .only_moved = moved != NULL,
                              .cancel = cancel};
    const size_t room = moved != NULL ? moved_count : obb_layers_entries(layers);
    join->asking = obb_malloc(room, sizeof *join->asking);
    if (join->asking == NULL) {
        obb_join_destroy(join);
        return OBB_NO_MEMORY;
    }
    if (moved != NULL) {
        memcpy(join->asking, moved, moved_count * sizeof *moved);
        join->asking_count = moved_count;
        qsort(join->asking, moved_count, sizeof *join->asking, by_address);
    } else {
        const obb_bounds everywhere = {{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL},
                                       {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
        obb_layers_query(layers, revision, &everywhere, join, gather);
    }
    join->chunk_count = (join->asking_count + CHUNK - 1) / CHUNK;
    join->lists = obb_calloc(join->chunk_count, sizeof *join->lists);
    if (join->lists == NULL) {
        obb_join_destroy(join);
        return OBB_NO_MEMORY;
    }
    *out = join;
    return OBB_OK;
}

obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision, double margin,
                           const atomic_bool *cancel, struct obb_join **out)
{
    return create(layers, revision, margin, NULL, 0, cancel, out);
}

obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision, double margin,
                                 const struct obb_version *const *moved, size_t moved_count,
                                 const atomic_bool *cancel, struct obb_join **out)
{
    const struct obb_version *const none[1] = {NULL};
    return create(layers, revision, margin, moved != NULL ? moved : none, moved_count, cancel, out);
}

struct asked {
    const struct obb_join *join;
    const struct obb_version *version;
    struct list *list;
    bool no_memory;
};

static bool add_pair(void *context, const struct obb_version *other, obb_verdict verdict)
{
    struct asked *asked = context;
    const struct obb_join *join = asked->join;
    const uint64_t id = asked->version->id, other_id = other->id;
    if (id == other_id)
        return true;
    /* The one with the smaller id finds the pair, but for one that did not move and so does not ask. */
    if (id > other_id && (!join->only_moved || bsearch(&other, join->asking, join->asking_count,
                                                       sizeof other, by_address) != NULL))
        return true;
    struct list *list = asked->list;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? CHUNK : list->capacity * 2;
        obb_join_pair *pairs = obb_realloc(list->pairs, capacity, sizeof *pairs);
        if (pairs == NULL) {
            asked->no_memory = true;
            return false;
        }
        list->pairs = pairs;
        list->capacity = capacity;
    }
    list->pairs[list->count++] = (obb_join_pair){.a = id < other_id ? asked->version : other,
                                                 .b = id < other_id ? other : asked->version,
                                                 .verdict = verdict};
    return true;
}

obb_status obb_join_chunk(struct obb_join *join, size_t chunk)
{
    const size_t first = chunk * CHUNK;
    const size_t end = first + CHUNK < join->asking_count ? first + CHUNK : join->asking_count;
    for (size_t i = first; i < end; i++) {
        if (join->cancel != NULL && atomic_load_explicit(join->cancel, memory_order_relaxed))
            return OBB_CANCELLED;
        struct asked asked = {
            .join = join, .version = join->asking[i], .list = &join->lists[chunk]};
        const obb_solid solid =
            obb_solid_from_box(&asked.version->box, obb_layers_dimensions(join->layers));
        obb_layers_overlap(join->layers, join->revision, &solid, join->margin, &asked, add_pair);
        if (asked.no_memory)
            return OBB_NO_MEMORY;
    }
    return OBB_OK;
}

static int by_ids(const void *a, const void *b)
{
    const obb_join_pair *p = a, *q = b;
    if (p->a != q->a)
        return p->a->id < q->a->id ? -1 : 1;
    return (p->b->id > q->b->id) - (p->b->id < q->b->id);
}

size_t obb_join_advance(struct obb_join *join, obb_status *out_status)
{
    *out_status = OBB_OK;
    join->phase++;
    if (join->phase == 1 && join->chunk_count > 0)
        return join->chunk_count;
    size_t count = 0;
    for (size_t i = 0; i < join->chunk_count; i++)
        count += join->lists[i].count;
    join->pairs = obb_malloc(count, sizeof *join->pairs);
    if (join->pairs == NULL) {
        *out_status = OBB_NO_MEMORY;
        return 0;
    }
    for (size_t i = 0; i < join->chunk_count; i++) {
        if (join->lists[i].count > 0)
            memcpy(join->pairs + join->pair_count, join->lists[i].pairs,
                   join->lists[i].count * sizeof *join->pairs);
        join->pair_count += join->lists[i].count;
    }
    qsort(join->pairs, count, sizeof *join->pairs, by_ids);
    return 0;
}

size_t obb_join_pair_count(const struct obb_join *join) { return join->pair_count; }

const obb_join_pair *obb_join_pairs(const struct obb_join *join) { return join->pairs; }

void obb_join_destroy(struct obb_join *join)
{
    if (join == NULL)
        return;
    for (size_t i = 0; join->lists != NULL && i < join->chunk_count; i++)
        obb_free(join->lists[i].pairs);
    obb_free(join->lists);
    obb_free(join->asking);
    obb_free(join->pairs);
    obb_free(join);
}
