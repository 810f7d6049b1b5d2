#include "core/scene/scene.h"

#include "core/base/alloc.h"
#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <string.h>

/* ---- Life ------------------------------------------------------------------------------------ */

obb_status obb_scene_create(obb_str name, const obb_settings *settings, double now_ms,
                            const struct obb_kernels *kernels, struct obb_scene **out)
{
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (!obb_settings_valid(settings))
        return OBB_BAD_VALUE;
    struct obb_scene *scene = obb_malloc(1, sizeof *scene + name.length);
    struct obb_state *state = obb_state_create(0, 0);
    obb_status st = OBB_NO_MEMORY;
    if (scene == NULL || state == NULL)
        goto fail;
    state->settings = *settings;
    state->first_id = 1;
    st = obb_layers_create(settings->dimensions, kernels, &state->layers);
    if (st != OBB_OK)
        goto fail;
    *scene = (struct obb_scene){
        .settings = *settings,
        .kernels = kernels,
        .next_id = 1,
        .created_ms = now_ms,
        .fresh = {.versions = OBB_NO_VERSION},
        .waiting = {.versions = OBB_NO_VERSION},
        .byte_room = SIZE_MAX,
        .name_length = name.length,
    };
    st = obb_history_init(&scene->history, state);
    if (st != OBB_OK)
        goto fail;
    memcpy(scene->name, name.bytes, name.length);
    obb_layers_charge(state->layers, &scene->layer_bytes);
    obb_versions_init(&scene->versions);
    obb_hash_table_init(&scene->names);
    scene->key = obb_hash_key_of_place(scene);
    obb_interned_table_init(&scene->interned);
    obb_cached_bounds_init(&scene->cached_bounds);
    scene->history.span = settings->history_span;
    scene->history.commits = settings->history_commits;
    *out = scene;
    return OBB_OK;

fail:
    obb_state_destroy(state);
    obb_free(scene);
    return st;
}

/* Destroys all frames, and the mounts of all extras. Nothing was retired since
 * obb_scene_reclaim_all. */
static void destroy_rigs(struct obb_scene *scene)
{
    if (scene->rigs.bytes == 0)
        return;
    for (uint32_t i = 0; i < scene->versions.count; i++) {
        const struct obb_version *version = obb_versions_slot(&scene->versions, i);
        struct obb_extras *extras = obb_version_own_extras(version);
        if (extras == NULL || obb_version_is_frame(version))
            continue;
        obb_mount_unref(&scene->rigs, extras->mount);
        extras->mount = NULL; /* other versions may have the extras, too */
    }
    for (struct obb_rig *rig = atomic_load_explicit(&scene->rigs.first[0], memory_order_relaxed);
         rig != NULL;) {
        struct obb_rig *next = obb_rig_next(rig);
        obb_record_destroy(scene, rig->record);
        obb_rig_destroy(&scene->rigs, rig);
        rig = next;
    }
}

void obb_scene_destroy(struct obb_scene *scene)
{
    if (scene == NULL)
        return;
    assert(scene->first_view == NULL);
    obb_scene_reclaim_all(scene);
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, 1); record != NULL;) {
        struct obb_record *next = obb_id_tree_seek(&scene->ids, record->id + 1);
        obb_record_destroy(scene, record); /* in the order of allocation: fast on large scenes */
        record = next;
    }
    destroy_rigs(scene);
    obb_expiry_fini(&scene->expiry);
    obb_hash_table_fini(&scene->names);
    obb_id_tree_fini(&scene->ids);
    obb_interned_table_fini(&scene->interned);
    obb_versions_fini(&scene->versions);
    for (size_t i = 0; i < scene->history.count; i++)
        obb_state_destroy(obb_history_state(&scene->history, i));
    assert(scene->history.held_first == NULL);
    obb_history_fini(&scene->history);
    obb_free(scene);
}

struct obb_scene *obb_scene_detach(struct obb_scene *scene)
{
    scene->detached = true;
    scene->totals = NULL;
    return scene->first_view == NULL ? scene : NULL;
}

void obb_totals_unref(struct obb_totals *totals)
{
    if (atomic_fetch_sub_explicit(&totals->references, 1, memory_order_acq_rel) == 1)
        obb_free(totals);
}

void obb_scene_count_in(struct obb_scene *scene, struct obb_totals *totals)
{
    (void)atomic_fetch_add_explicit(&totals->references, 1, memory_order_relaxed);
    scene->counted_in = totals;
}

void obb_scene_uncount(struct obb_scene *scene)
{
    if (scene->counted_in == NULL)
        return;
    (void)atomic_fetch_sub_explicit(&scene->counted_in->bytes, scene->settled_bytes,
                                    memory_order_relaxed);
    obb_totals_unref(scene->counted_in);
    scene->counted_in = NULL;
}

bool obb_scene_viewed(const struct obb_scene *scene) { return scene->first_view != NULL; }

obb_str obb_scene_name(const struct obb_scene *scene)
{
    return (obb_str){.bytes = scene->name, .length = scene->name_length};
}

void obb_scene_set_context(struct obb_scene *scene, void *context) { scene->context = context; }

void *obb_scene_context(const struct obb_scene *scene) { return scene->context; }

uint64_t obb_scene_epoch(const struct obb_scene *scene) { return scene->epoch; }

/* ---- What a scene says of itself ------------------------------------------------------------- */

size_t obb_scene_bytes(const struct obb_scene *scene)
{
    return obb_heap_bytes(sizeof *scene + scene->name_length) +
           obb_versions_bytes(&scene->versions) -
           obb_versions_share(&scene->versions, scene->garbage.count) +
           obb_hash_table_bytes(&scene->names) + scene->record_bytes +
           scene->ids.nodes * obb_heap_bytes(sizeof(struct obb_id_tree_node)) +
           obb_hash_table_bytes(&scene->interned.hash_table) + scene->interned.bytes +
           scene->rigs.bytes + scene->layer_bytes + scene->ended_bytes +
           obb_expiry_bytes(&scene->expiry) + obb_history_bytes(&scene->history);
}

void obb_scene_resume(struct obb_scene *scene, double now_ms)
{
    scene->created_ms = now_ms - obb_history_now(&scene->history).time;
}

void obb_scene_keep_up(struct obb_scene *scene, double now_ms)
{
    if (now_ms - scene->created_ms < obb_history_now(&scene->history).time)
        obb_scene_resume(scene, now_ms);
}

void obb_scene_drop_pairs(struct obb_scene *scene)
{
    if (scene->first_view != NULL)
        return;
    obb_layers_drop_pairs(obb_history_newest(&scene->history)->layers);
    obb_scene_settle(scene);
}

void obb_scene_settle(struct obb_scene *scene)
{
    if (scene->totals == NULL)
        return;
    const size_t bytes = obb_scene_bytes(scene);
    (void)atomic_fetch_add_explicit(&scene->totals->bytes, bytes - scene->settled_bytes,
                                    memory_order_relaxed);
    scene->settled_bytes = bytes;
}

void obb_scene_info_without_bounds(const struct obb_scene *scene, obb_scene_info *out)
{
    const struct obb_state *state = obb_history_published(&scene->history);
    *out = (obb_scene_info){
        .settings = state->settings,
        .boxes = state->boxes,
        .frames = state->frames,
        .now = obb_history_now(&scene->history),
        .oldest = obb_history_oldest(&scene->history),
    };
}

void obb_scene_tail_info(const struct obb_scene *scene, obb_scene_info *out)
{
    *out = (obb_scene_info){
        .settings = scene->settings,
        .boxes = obb_scene_boxes(scene),
        .frames = obb_scene_frames(scene),
        .now = obb_history_tail_now(&scene->history),
        .oldest = obb_history_tail_oldest(&scene->history),
    };
}

static const struct obb_cached_bounds *bounds_of(const struct obb_scene *scene)
{
    return obb_scene_has_tail(scene) ? &scene->published.bounds : &scene->cached_bounds;
}

bool obb_scene_measured(const struct obb_scene *scene) { return bounds_of(scene)->known; }

static void measure(struct obb_scene *scene, const struct obb_state *state,
                    struct obb_cached_bounds *out)
{
    obb_cached_bounds_measure(out, &scene->versions, state->revision, state->settings.dimensions);
}

void obb_scene_info_get(struct obb_scene *scene, obb_scene_info *out)
{
    if (!obb_scene_measured(scene)) {
        if (obb_scene_has_tail(scene))
            measure(scene, obb_history_published(&scene->history), &scene->published.bounds);
        if (!scene->cached_bounds.known)
            measure(scene, obb_history_newest(&scene->history), &scene->cached_bounds);
    }
    obb_scene_info_without_bounds(scene, out);
    out->has_bounds = out->boxes > 0;
    if (out->has_bounds)
        out->bounds = bounds_of(scene)->bounds;
}

bool obb_scene_decayed(const struct obb_scene *scene)
{
    return obb_layers_decayed(obb_history_published(&scene->history)->layers);
}

static obb_status rebase(struct obb_state *state, const struct obb_layers *fresh)
{
    struct obb_layers *rebased = NULL;
    const obb_status st = obb_layers_rebased(state->layers, fresh, &rebased);
    if (st == OBB_OK) {
        obb_layers_unref(state->layers);
        state->layers = rebased;
    }
    return st;
}

/* Every commit releases so many objects, so that garbage always shrinks. */
#define RECLAIM_AT_LEAST 256

void obb_scene_sweep(struct obb_scene *scene, size_t ended)
{
    obb_scene_reclaim(scene, 2 * ended + RECLAIM_AT_LEAST);
}

obb_status obb_scene_rebase(struct obb_scene *scene, struct obb_layers *fresh)
{
    const struct obb_history *history = &scene->history;
    size_t i = history->count - 1;
    const obb_status st = rebase(obb_history_state(history, i), fresh);
    /* The next commits build on the newest state. If there is no memory for the states before, they
     * keep what they have. */
    while (obb_history_state(history, i) != obb_history_published(history))
        (void)rebase(obb_history_state(history, --i), fresh);
    obb_layers_unref(fresh);
    obb_scene_settle(scene);
    return st;
}
