#include "core/scene/store.h"

#include "core/base/alloc.h"
#include "core/scene/name.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <string.h>

/* A sorted array: scenes are created and removed seldom, found and listed often. */
struct obb_store {
    struct obb_scene **scenes; /* by name */
    size_t count, capacity;
    size_t scene_limit, box_limit;
    const struct obb_kernels *kernels;
    struct obb_totals *totals; /* each change of a scene updates them */
};

void obb_store_cache(struct obb_store *store, size_t bytes) { store->totals->most_cached = bytes; }

const struct obb_kernels *obb_store_kernels(const struct obb_store *store)
{
    return store->kernels;
}

obb_status obb_store_create(size_t scene_limit, size_t box_limit, const struct obb_kernels *kernels,
                            struct obb_store **out)
{
    struct obb_store *store = obb_malloc(1, sizeof *store);
    struct obb_totals *totals = obb_calloc(1, sizeof *totals);
    if (store == NULL || totals == NULL) {
        obb_free(store);
        obb_free(totals);
        return OBB_NO_MEMORY;
    }
    totals->most_cached = SIZE_MAX;
    atomic_init(&totals->references, 1);
    *store = (struct obb_store){
        .scene_limit = scene_limit, .box_limit = box_limit, .kernels = kernels, .totals = totals};
    *out = store;
    return OBB_OK;
}

void obb_store_destroy(struct obb_store *store)
{
    if (store == NULL)
        return;
    for (size_t i = 0; i < store->count; i++)
        obb_scene_destroy(obb_scene_detach(store->scenes[i]));
    obb_free((void *)store->scenes);
    obb_totals_unref(store->totals);
    obb_free(store);
}

static int compare(obb_str a, obb_str b)
{
    const size_t shared = a.length < b.length ? a.length : b.length;
    const int order = shared == 0 ? 0 : memcmp(a.bytes, b.bytes, shared);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Returns the number of scenes with a name before this one. */
static size_t rank_of(const struct obb_store *store, obb_str name)
{
    size_t low = 0, high = store->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare(obb_scene_name(store->scenes[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct obb_store *store, size_t rank, obb_str name)
{
    return rank < store->count && obb_str_equal(obb_scene_name(store->scenes[rank]), name);
}

struct obb_scene *obb_store_find(const struct obb_store *store, obb_str name)
{
    const size_t rank = rank_of(store, name);
    return is_at(store, rank, name) ? store->scenes[rank] : NULL;
}

bool obb_store_full(const struct obb_store *store) { return store->count >= store->scene_limit; }

/* Makes room for one scene more. */
static obb_status reserve(struct obb_store *store)
{
    if (store->count < store->capacity)
        return OBB_OK;
    const size_t capacity = store->capacity == 0 ? 16 : store->capacity * 2;
    struct obb_scene **scenes = (struct obb_scene **)obb_realloc((void *)store->scenes, capacity,
                                                                 sizeof(struct obb_scene *));
    if (scenes == NULL)
        return OBB_NO_MEMORY;
    store->scenes = scenes;
    store->capacity = capacity;
    return OBB_OK;
}

obb_status obb_store_adopt(struct obb_store *store, struct obb_scene *scene, uint64_t epoch)
{
    const size_t rank = rank_of(store, obb_scene_name(scene));
    if (is_at(store, rank, obb_scene_name(scene)))
        return OBB_BAD_VALUE;
    const obb_status st = reserve(store);
    if (st != OBB_OK)
        return st;
    scene->epoch = epoch;
    scene->totals = store->totals;
    (void)atomic_fetch_add_explicit(&store->totals->boxes,
                                    obb_scene_boxes(scene) + obb_scene_frames(scene),
                                    memory_order_relaxed);
    obb_scene_settle(scene);
    memmove((void *)(store->scenes + rank + 1), (void *)(store->scenes + rank),
            (store->count - rank) * sizeof(struct obb_scene *));
    store->scenes[rank] = scene;
    store->count++;
    return OBB_OK;
}

obb_status obb_store_add(struct obb_store *store, obb_str name, const obb_settings *settings,
                         uint64_t epoch, double now_ms, struct obb_scene **out)
{
    struct obb_scene *scene = NULL;
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (obb_store_find(store, name) != NULL)
        return OBB_BAD_VALUE;
    obb_status st = obb_store_full(store) ? OBB_LIMIT : reserve(store);
    if (st == OBB_OK)
        st = obb_scene_create(name, settings, now_ms, store->kernels, &scene);
    if (st == OBB_OK)
        st = obb_store_adopt(store, scene, epoch);
    if (st == OBB_OK)
        *out = scene;
    return st;
}

obb_status obb_store_remove(struct obb_store *store, obb_str name, struct obb_scene **out_dead)
{
    const size_t rank = rank_of(store, name);
    if (!is_at(store, rank, name))
        return OBB_NO_SCENE;
    struct obb_scene *scene = store->scenes[rank];
    store->count--;
    memmove((void *)(store->scenes + rank), (void *)(store->scenes + rank + 1),
            (store->count - rank) * sizeof(struct obb_scene *));
    (void)atomic_fetch_sub_explicit(&store->totals->boxes,
                                    obb_scene_boxes(scene) + obb_scene_frames(scene),
                                    memory_order_relaxed);
    obb_scene_count_in(scene, store->totals);
    *out_dead = obb_scene_detach(scene);
    if (*out_dead != NULL)
        obb_scene_uncount(scene);
    return OBB_OK;
}

struct obb_scene *obb_store_next(const struct obb_store *store, obb_str after)
{
    size_t rank = rank_of(store, after);
    rank += is_at(store, rank, after); /* no scene has the empty name */
    return rank < store->count ? store->scenes[rank] : NULL;
}

size_t obb_store_scenes(const struct obb_store *store) { return store->count; }

struct obb_scene *obb_store_at(const struct obb_store *store, size_t i)
{
    assert(i < store->count);
    return store->scenes[i];
}

size_t obb_store_boxes(const struct obb_store *store)
{
    return atomic_load_explicit(&store->totals->boxes, memory_order_relaxed);
}

size_t obb_store_bytes(const struct obb_store *store)
{
    return atomic_load_explicit(&store->totals->bytes, memory_order_relaxed);
}

size_t obb_store_box_room(const struct obb_store *store)
{
    const size_t boxes = obb_store_boxes(store);
    return boxes < store->box_limit ? store->box_limit - boxes : 0;
}
