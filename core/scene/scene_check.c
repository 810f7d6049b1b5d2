#include "core/scene/scene_check.h"

#include "core/base/alloc.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

/* Counts of a walk over all versions that are not free. */
struct census {
    size_t kept, garbage, retired;
    size_t interned_uses;
    size_t *alive; /* one per state */
};

static uint64_t died_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->died, memory_order_relaxed);
}

static uint64_t born_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->born, memory_order_relaxed);
}

static uint32_t newer_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->newer, memory_order_relaxed);
}

static bool interned_valid(const struct obb_scene *scene, const struct obb_version *version,
                           struct census *census)
{
    const struct obb_interned *const strings[] = {version->entity, version->data};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        if (strings[i] == NULL)
            continue;
        census->interned_uses++;
        if (obb_interned_table_find(&scene->interned, obb_interned_text(strings[i])) != strings[i])
            return false;
    }
    return true;
}

/* Checks the record's versions that some state holds, from the newest back: each must follow the
 * version before it. */
static bool chain_valid(struct obb_scene *scene, const struct obb_record *record,
                        struct census *census)
{
    const struct obb_history *history = &scene->history;
    const uint64_t front = obb_history_state(history, 0)->revision;
    const struct obb_version *newer = NULL;
    uint32_t i = atomic_load_explicit(&record->newest, memory_order_relaxed);
    for (;;) {
        const struct obb_version *version = obb_versions_slot(&scene->versions, i);
        if (version->self != i || version->record != record || version->id != record->id ||
            born_of(version) >= died_of(version))
            return false;
        if (newer_of(version) != (newer == NULL ? OBB_NO_VERSION : newer->self) ||
            (newer != NULL && died_of(version) != born_of(newer)))
            return false;
        if (died_of(version) <= front)
            return newer == NULL; /* garbage, which slots_valid counts */
        census->kept++;
        if (!interned_valid(scene, version, census))
            return false;
        for (size_t s = 0; s < history->count; s++)
            census->alive[s] += born_of(version) <= front + s && front + s < died_of(version);
        if (born_of(version) <= front || version->older == OBB_NO_VERSION)
            return true;
        newer = version;
        i = version->older;
    }
}

static bool record_findable(const struct obb_scene *scene, const struct obb_record *record)
{
    const uint32_t hash = obb_record_hash(scene, obb_record_name(record));
    const struct obb_link *link = obb_hash_table_find(&scene->names, hash);
    while (link != NULL && link != &record->link)
        link = obb_hash_table_find_next(&scene->names, link);
    return link != NULL;
}

static bool records_valid(struct obb_scene *scene, struct census *census)
{
    size_t count = 0;
    if (!obb_hash_table_validate(&scene->names) || !obb_id_tree_validate(&scene->ids, &count) ||
        count != scene->names.count)
        return false;
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, 0); record != NULL;
         record = obb_id_tree_seek(&scene->ids, record->id + 1))
        if (record->id == 0 || record->id >= scene->next_id || !record_findable(scene, record) ||
            !chain_valid(scene, record, census))
            return false;
    return true;
}

static bool states_valid(struct obb_scene *scene, const struct census *census)
{
    const struct obb_history *history = &scene->history;
    size_t pins = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct obb_state *state = obb_history_state(history, i);
        const struct obb_state *before = i == 0 ? NULL : obb_history_state(history, i - 1);
        if (state->boxes != census->alive[i] || state->time > state->until ||
            (before != NULL &&
             (state->revision != before->revision + 1 || state->time < before->until)))
            return false;
        const size_t ended = state->ended == NULL ? 0 : state->ended->count;
        if (before == NULL && ended > 0)
            return false;
        for (size_t k = 0; k < ended; k++)
            if (died_of(obb_versions_slot(&scene->versions, state->ended->versions[k])) !=
                state->revision)
                return false;
        pins += state->pins;
    }
    for (const struct obb_view *view = scene->first_view; view != NULL; view = view->next) {
        if (pins-- == 0 || (view->next != NULL && view->next->ticket <= view->ticket))
            return false;
    }
    if (scene->oldest_ticket != (scene->first_view == NULL ? 0 : scene->first_view->ticket))
        return false;
    const struct obb_state *newest = obb_history_newest(history);
    return pins == 0 && history->unreachable < history->count &&
           obb_layers_alive(newest->layers) == newest->boxes &&
           obb_layers_validate(newest->layers, newest->revision);
}

static bool retired_valid(struct obb_scene *scene, const struct obb_retired *retired,
                          struct census *census)
{
    for (uint32_t i = retired->versions; i != OBB_NO_VERSION;) {
        const struct obb_version *version = obb_versions_slot(&scene->versions, i);
        if (died_of(version) == OBB_NEVER || census->retired++ > scene->versions.count)
            return false;
        i = newer_of(version);
    }
    return true;
}

/* Checks that every slot is held by a state, garbage, retired or free. */
static bool slots_valid(struct obb_scene *scene, struct census *census)
{
    if (!retired_valid(scene, &scene->fresh, census) ||
        !retired_valid(scene, &scene->waiting, census))
        return false;
    for (const struct obb_ended *block = scene->garbage; block != NULL; block = block->next)
        for (size_t i = block->done; i < block->count; i++, census->garbage++)
            if (!interned_valid(scene, obb_versions_slot(&scene->versions, block->versions[i]),
                                census))
                return false;
    size_t unused = 0;
    for (uint32_t i = scene->versions.free; i != OBB_NO_VERSION && unused <= scene->versions.count;
         i = obb_versions_slot(&scene->versions, i)->older)
        unused++;
    return unused == scene->versions.free_count && census->garbage == scene->garbage_count &&
           census->kept + census->garbage + census->retired + unused == scene->versions.count;
}

static bool interned_counted(const struct obb_scene *scene, const struct census *census)
{
    size_t references = 0;
    for (const struct obb_link *link = obb_hash_table_walk(&scene->interned.hash_table, NULL);
         link != NULL; link = obb_hash_table_walk(&scene->interned.hash_table, link))
        references += ((const struct obb_interned *)link)->references;
    return obb_hash_table_validate(&scene->interned.hash_table) &&
           references == census->interned_uses;
}

static bool cached_bounds_valid(struct obb_scene *scene)
{
    const struct obb_cached_bounds before = scene->cached_bounds;
    if (!before.known)
        return true;
    scene->cached_bounds.known = false;
    obb_scene_info info;
    obb_scene_info_get(scene, &info); /* measures anew */
    const obb_bounds *a = &before.bounds, *b = &info.bounds;
    return !info.has_bounds ||
           (a->min.x == b->min.x && a->min.y == b->min.y && a->min.z == b->min.z &&
            a->max.x == b->max.x && a->max.y == b->max.y && a->max.z == b->max.z);
}

bool obb_scene_validate(struct obb_scene *scene)
{
    struct census census = {.kept = 0};
    census.alive = obb_calloc(scene->history.count, sizeof *census.alive);
    if (census.alive == NULL)
        return false;
    const bool valid = records_valid(scene, &census) && states_valid(scene, &census) &&
                       slots_valid(scene, &census) && interned_counted(scene, &census) &&
                       cached_bounds_valid(scene);
    obb_free(census.alive);
    return valid;
}
