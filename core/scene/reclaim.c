#include "core/scene/reclaim.h"

#include "core/base/alloc.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <string.h>

/* Destroys a state that is no longer kept. Nobody but the state can hold the versions that `next`,
 * the kept state after it, has in its lists, unless an older state does: they may be garbage. The
 * versions in the lists of the state itself are held by an older state. */
static void drop_state(struct obb_scene *scene, struct obb_state *state, struct obb_state *next)
{
    if (next->ended != NULL)
        obb_ended_append(&scene->garbage, next->ended);
    obb_ended_append_list(&scene->garbage, &next->earlier);
    next->ended = NULL;
    if (state->ended != NULL)
        obb_ended_append(&next->earlier, state->ended);
    obb_ended_append_list(&next->earlier, &state->earlier);
    state->ended = NULL;
    obb_index_unref(next->motion_index);
    next->motion_index = NULL;
    obb_state_destroy(state);
}

/* Takes states that are out of reach out of the ring: those that a view needs are held. Stops once
 * the freed broad phases are as large as the budget: the system takes about 100 ns to take a KiB
 * back. */
static void release_states(struct obb_scene *scene, size_t budget)
{
    const size_t before = scene->layer_bytes;
    struct obb_state *state;
    while ((before - scene->layer_bytes) / 1024 <= budget &&
           (state = obb_history_pop(&scene->history)) != NULL) {
        if (state->pins > 0) {
            obb_history_hold(&scene->history, state);
            scene->gaps = true;
        } else {
            drop_state(scene, state, obb_history_state(&scene->history, 0));
        }
    }
}

void obb_scene_unpin(struct obb_scene *scene, struct obb_state *state)
{
    assert(state->pins > 0);
    if (--state->pins > 0 || !obb_history_holds(&scene->history, state))
        return;
    struct obb_state *next = obb_history_after(&scene->history, state);
    obb_history_unhold(&scene->history, state);
    drop_state(scene, state, next);
}

void obb_scene_drop_parts(struct obb_scene *scene, struct obb_version *version)
{
    struct obb_extras *extras = obb_version_own_extras(version);
    if (extras == NULL || extras->versions > 1)
        return;
    obb_interned_table_drop(&scene->interned, extras->entity, &scene->fresh.interned);
    obb_interned_table_drop(&scene->interned, extras->data, &scene->fresh.interned);
    extras->entity = extras->data = NULL;
    if (obb_version_is_frame(version))
        return;
    obb_mount_unref(&scene->rigs, extras->mount);
    extras->mount = NULL;
}

void obb_scene_retire(struct obb_scene *scene, struct obb_record *record)
{
    const uint32_t newest = atomic_load_explicit(&record->newest, memory_order_relaxed);
    struct obb_version *version = obb_versions_slot(&scene->versions, newest);
    if (obb_version_is_frame(version)) {
        obb_rigs_remove(&scene->rigs, obb_version_rig(version));
    } else {
        obb_hash_table_remove(&scene->names, &record->link);
        obb_id_tree_remove(&scene->ids, record, &scene->fresh.nodes);
    }
    atomic_store_explicit(&obb_version_links(version)->newer, scene->fresh.versions,
                          memory_order_relaxed);
    scene->fresh.versions = newest;
}

/* A released version has another `newer`: its slot is free, retired, or holds a version of another
 * place in the chains. If its page gave its memory back, the slot is all zeros and does not even
 * know its own number, by which its links would be found. */
struct obb_version *obb_scene_older(struct obb_scene *scene, const struct obb_version *version)
{
    const uint32_t i =
        atomic_load_explicit(&obb_version_links(version)->older, memory_order_relaxed);
    if (i == OBB_NO_VERSION)
        return NULL;
    const struct obb_version_links *links = obb_version_links_at(&scene->versions, i);
    if (atomic_load_explicit(&links->newer, memory_order_relaxed) != version->self)
        return NULL;
    struct obb_version *older = obb_versions_slot(&scene->versions, i);
    return older->self == i && obb_version_record(older) == obb_version_record(version) ? older
                                                                                        : NULL;
}

void obb_scene_note_unlinks(struct obb_scene *scene)
{
    const uint64_t unlinks = atomic_load_explicit(&scene->unlinks, memory_order_relaxed);
    atomic_store_explicit(&scene->unlinks, unlinks + 1, memory_order_release);
}

/* Links the neighbours of a version past it. Returns false if the version has no neighbour: it is
 * the last one of a removed box. */
static bool unlink_version(struct obb_scene *scene, struct obb_version *version)
{
    struct obb_version *older = obb_scene_older(scene, version);
    const uint32_t newer = obb_version_newer(version);
    const uint32_t past = older == NULL ? OBB_NO_VERSION : older->self;
    if (newer != OBB_NO_VERSION)
        obb_version_set_older(obb_versions_slot(&scene->versions, newer), past);
    else if (older != NULL)
        atomic_store_explicit(&obb_version_record(version)->newest, past, memory_order_release);
    else
        return false;
    if (older != NULL)
        atomic_store_explicit(&obb_version_links(older)->newer, newer, memory_order_release);
    obb_scene_note_unlinks(scene);
    return true;
}

static void release_version(struct obb_scene *scene, struct obb_version *version)
{
    obb_scene_drop_parts(scene, version);
    if (scene->gaps ? unlink_version(scene, version) : obb_version_newer(version) != OBB_NO_VERSION)
        obb_versions_give(&scene->versions, version);
    else
        obb_scene_retire(scene, obb_version_record(version));
}

#define PAGES_AT_LEAST 4  /* of versions that give their memory back at a time: 20 us */
#define AHEAD          16 /* versions that are fetched into the cache ahead of their turn */

/* Looks at all versions of a block anew, as another state is the last one that may hold them. */
static void look_again(struct obb_scene *scene, struct obb_ended *block)
{
    memmove(block->versions + block->kept, block->versions + block->done,
            (block->count - block->done) * sizeof *block->versions);
    block->count -= block->done - block->kept;
    scene->garbage.count += block->kept;
    block->done = block->kept = 0;
}

static void free_block(struct obb_scene *scene, struct obb_ended *block)
{
    scene->ended_bytes -= obb_ended_bytes(block->room);
    obb_free(block);
}

/* Gives the versions of a block that are still held to the state after the one that holds them. */
static void keep_block(struct obb_scene *scene, struct obb_ended *block, struct obb_state *next)
{
    struct obb_ended *last = next->earlier.last;
    block->count = block->kept;
    block->done = block->kept = 0;
    if (block->count > 0 && last != NULL && block->count <= last->room - last->count) {
        memcpy(last->versions + last->count, block->versions,
               block->count * sizeof *block->versions);
        last->count += block->count;
        next->earlier.count += block->count;
        block->count = 0;
    }
    if (block->count > 0)
        obb_ended_append(&next->earlier, block);
    else
        free_block(scene, block);
}

/* Looks at up to `budget` versions of the garbage. */
static size_t clear_garbage(struct obb_scene *scene, size_t budget)
{
    struct obb_ended_list *garbage = &scene->garbage;
    while (garbage->first != NULL) {
        struct obb_ended *block = garbage->first;
        struct obb_state *next;
        const struct obb_state *holder = obb_history_before(&scene->history, block->died, &next);
        const uint64_t needed = holder == NULL ? 0 : holder->revision + 1; /* born before it */
        if (block->needed != needed && block->kept > 0)
            look_again(scene, block);
        block->needed = needed;
        for (; block->done < block->count && budget > 0; budget--, garbage->count--) {
            if (block->count - block->done > AHEAD)
                obb_versions_prefetch(&scene->versions, block->versions[block->done + AHEAD]);
            const uint32_t i = block->versions[block->done++];
            struct obb_version *version = obb_versions_slot(&scene->versions, i);
            if (atomic_load_explicit(&version->born, memory_order_relaxed) < needed)
                block->versions[block->kept++] = i;
            else
                release_version(scene, version);
        }
        if (block->done < block->count)
            break;
        garbage->first = block->next;
        if (garbage->first == NULL)
            garbage->last = NULL;
        keep_block(scene, block, next);
    }
    scene->gaps = scene->gaps && (garbage->first != NULL || scene->history.held_first != NULL);
    return budget;
}

static bool nothing_retired(const struct obb_retired *retired)
{
    return retired->versions == OBB_NO_VERSION && retired->nodes == NULL &&
           retired->interned == NULL;
}

bool obb_scene_has_retired(const struct obb_scene *scene)
{
    return !nothing_retired(&scene->fresh) || !nothing_retired(&scene->waiting);
}

static void free_retired(struct obb_scene *scene, struct obb_retired *retired, size_t budget)
{
    for (; retired->versions != OBB_NO_VERSION && budget > 0; budget--) {
        struct obb_version *version = obb_versions_slot(&scene->versions, retired->versions);
        retired->versions = obb_version_newer(version);
        if (obb_version_is_frame(version))
            obb_rig_destroy(&scene->rigs, obb_version_rig(version));
        obb_record_destroy(scene, obb_version_record(version));
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
    release_states(scene, budget);
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
    obb_versions_shrink(&scene->versions, PAGES_AT_LEAST + budget / OBB_VERSION_PAGE);
}

void obb_scene_reclaim_all(struct obb_scene *scene)
{
    free_retired(scene, &scene->waiting, SIZE_MAX);
    free_retired(scene, &scene->fresh, SIZE_MAX);
    while (scene->garbage.first != NULL) {
        struct obb_ended *next = scene->garbage.first->next;
        obb_free(scene->garbage.first);
        scene->garbage.first = next;
    }
}
