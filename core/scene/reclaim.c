#include "core/scene/reclaim.h"

#include "core/base/alloc.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

/* Destroys states that nobody needs, oldest first. The versions that the next state ended were held
 * by the destroyed state and by no state that stays, so they are garbage. */
static void release_states(struct obb_scene *scene)
{
    struct obb_state *gone;
    while ((gone = obb_history_pop(&scene->history)) != NULL) {
        obb_state_destroy(gone);
        struct obb_state *front = obb_history_state(&scene->history, 0);
        obb_index_unref(front->interpolated_index);
        front->interpolated_index = NULL;
        if (scene->garbage == NULL)
            scene->garbage = front->ended;
        else
            scene->garbage_end->next = front->ended;
        scene->garbage_end = front->ended;
        scene->garbage_count += front->ended->count;
        front->ended = NULL;
    }
}

void obb_scene_retire(struct obb_scene *scene, struct obb_record *record)
{
    obb_hash_table_remove(&scene->names, &record->link);
    obb_id_tree_remove(&scene->ids, record, &scene->fresh.nodes);
    const uint32_t newest = atomic_load_explicit(&record->newest, memory_order_relaxed);
    struct obb_version *version = obb_versions_slot(&scene->versions, newest);
    atomic_store_explicit(&version->newer, scene->fresh.versions, memory_order_relaxed);
    scene->fresh.versions = newest;
}

static void release_version(struct obb_scene *scene, uint32_t index)
{
    struct obb_version *version = obb_versions_slot(&scene->versions, index);
    obb_interned_table_drop(&scene->interned, version->entity, &scene->fresh.interned);
    obb_interned_table_drop(&scene->interned, version->data, &scene->fresh.interned);
    if (atomic_load_explicit(&version->newer, memory_order_relaxed) == OBB_NO_VERSION)
        obb_scene_retire(scene, version->record);
    else
        obb_versions_give(&scene->versions, version);
}

#define AHEAD 16 /* versions that are fetched into the cache ahead of their turn */

static size_t clear_garbage(struct obb_scene *scene, size_t budget)
{
    while (scene->garbage != NULL) {
        struct obb_ended *block = scene->garbage;
        for (; block->done < block->count && budget > 0; budget--) {
            if (block->count - block->done > AHEAD)
                obb_version_prefetch(
                    obb_versions_slot(&scene->versions, block->versions[block->done + AHEAD]));
            release_version(scene, block->versions[block->done++]);
            scene->garbage_count--;
        }
        if (block->done < block->count)
            break;
        scene->garbage = block->next;
        scene->ended_bytes -= obb_ended_bytes(block->count);
        obb_free(block);
    }
    return budget;
}

static bool nothing_retired(const struct obb_retired *retired)
{
    return retired->versions == OBB_NO_VERSION && retired->nodes == NULL &&
           retired->interned == NULL;
}

static void free_retired(struct obb_scene *scene, struct obb_retired *retired, size_t budget)
{
    for (; retired->versions != OBB_NO_VERSION && budget > 0; budget--) {
        struct obb_version *version = obb_versions_slot(&scene->versions, retired->versions);
        retired->versions = atomic_load_explicit(&version->newer, memory_order_relaxed);
        obb_record_destroy(scene, version->record);
        obb_versions_give(&scene->versions, version);
    }
    for (; retired->nodes != NULL && budget > 0; budget--) {
        struct obb_id_tree_node *node = retired->nodes;
        retired->nodes = node->retired;
        obb_id_tree_node_free(&scene->ids, node);
    }
    for (; retired->interned != NULL && budget > 0; budget--) {
        struct obb_interned *interned = retired->interned;
        retired->interned = interned->retired;
        obb_interned_table_free(&scene->interned, interned);
    }
}

void obb_scene_reclaim(struct obb_scene *scene, size_t budget)
{
    release_states(scene);
    (void)clear_garbage(scene, budget);
    /* Twice: without open views, objects that were retired a moment ago can be freed at once. */
    for (int i = 0; i < 2; i++) {
        const bool held =
            scene->oldest_ticket != 0 && scene->oldest_ticket <= scene->waiting.ticket;
        if (!held)
            free_retired(scene, &scene->waiting, budget);
        if (nothing_retired(&scene->waiting)) {
            scene->waiting = scene->fresh;
            scene->waiting.ticket = scene->ticket;
            scene->fresh = (struct obb_retired){.versions = OBB_NO_VERSION};
        }
    }
}

void obb_scene_reclaim_all(struct obb_scene *scene)
{
    free_retired(scene, &scene->waiting, SIZE_MAX);
    free_retired(scene, &scene->fresh, SIZE_MAX);
    while (scene->garbage != NULL) {
        struct obb_ended *next = scene->garbage->next;
        obb_free(scene->garbage);
        scene->garbage = next;
    }
}
