#include "core/scene/scene_check.h"

#include "core/base/alloc.h"
#include "core/geometry/frame.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <stdlib.h>

/* Counts of a walk over all versions that are not free. */
struct census {
    size_t kept, garbage, retired;
    size_t listed; /* versions that died and are in the lists of states, or will be */
    size_t interned_uses;
    const struct obb_state **states; /* all kept ones, oldest first */
    size_t *alive, *frames_alive;    /* one per state */
    size_t state_count;
    size_t seated; /* boxes that stand in a frame now */
};

static uint64_t died_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->died, memory_order_relaxed);
}

static uint64_t born_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->born, memory_order_relaxed);
}

/* Counts the strings of extras. */
static bool interned_valid(const struct obb_scene *scene, const struct obb_extras *extras,
                           struct census *census)
{
    const struct obb_interned *const strings[] = {extras->entity, extras->data};
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        if (strings[i] == NULL)
            continue;
        census->interned_uses++;
        if (obb_interned_table_find(&scene->interned, obb_interned_text(strings[i])) != strings[i])
            return false;
    }
    return true;
}

/* Counts the version in the states that hold it. Returns whether there is one. */
static bool count_alive(const struct obb_version *version, struct census *census)
{
    bool held = false;
    for (size_t s = 0; s < census->state_count; s++) {
        const uint64_t revision = census->states[s]->revision;
        const bool alive = born_of(version) <= revision && revision < died_of(version);
        *(obb_version_is_frame(version) ? &census->frames_alive[s] : &census->alive[s]) += alive;
        held = held || alive;
    }
    return held;
}

static bool held_by_a_state(const struct obb_version *version, const struct census *census)
{
    for (size_t s = 0; s < census->state_count; s++)
        if (born_of(version) <= census->states[s]->revision &&
            census->states[s]->revision < died_of(version))
            return true;
    return false;
}

/* Checks the mount of a box: if the version is current, the box has its seat, and its pose is that
 * of the mount placed by the frame. */
static bool mount_valid(struct obb_scene *scene, const struct obb_version *version,
                        struct census *census)
{
    if (obb_version_is_frame(version))
        return version->has_extras &&
               obb_version_rig(version)->record == obb_version_record(version);
    const struct obb_mount *mount = obb_version_mount(version);
    if (mount == NULL)
        return true;
    if (mount->references == 0 || died_of(version) != OBB_NEVER)
        return mount->references > 0;
    census->seated++;
    const struct obb_version *current = obb_scene_current(scene, mount->rig->record);
    if (current == NULL || mount->seat >= mount->rig->count ||
        mount->rig->boxes[mount->seat] != obb_version_record(version))
        return false;
    const obb_frame frame = obb_frame_from_pose(&current->box, scene->settings.dimensions);
    const obb_box local = obb_mount_pose(mount, version->box.half_extents);
    obb_box placed;
    return obb_frame_place(&frame, &local, &placed) == OBB_OK &&
           obb_box_same_bits(&placed, &version->box);
}

/* Checks the record's versions that are not released, from the newest back: each must follow the
 * version before it. */
static bool chain_valid(struct obb_scene *scene, const struct obb_record *record,
                        struct census *census)
{
    const struct obb_version *newer = NULL;
    const struct obb_version *version = obb_versions_slot(
        &scene->versions, atomic_load_explicit(&record->newest, memory_order_relaxed));
    for (; version != NULL; newer = version, version = obb_scene_older(scene, version)) {
        if (obb_version_record(version) != record || version->id != record->id ||
            born_of(version) >= died_of(version))
            return false;
        if (obb_version_newer(version) != (newer == NULL ? OBB_NO_VERSION : newer->self) ||
            (newer != NULL && died_of(version) > born_of(newer)))
            return false;
        if (!count_alive(version, census))
            continue; /* garbage, which slots_valid counts */
        census->kept++;
        if (!mount_valid(scene, version, census))
            return false;
    }
    return true;
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

static bool rigs_valid(struct obb_scene *scene, struct census *census)
{
    size_t count = 0, seats = 0;
    if (!obb_rigs_validate(&scene->rigs, &scene->versions, &count))
        return false;
    for (struct obb_rig *rig = obb_rigs_seek(&scene->rigs, (obb_str){0}, false); rig != NULL;
         rig = obb_rig_next(rig)) {
        if (rig->record->id != 0 || !chain_valid(scene, rig->record, census))
            return false;
        count--;
        seats += rig->count;
    }
    return count == 0 && seats == census->seated;
}

/* Checks that the versions of a block died by `revision`, and are held. */
static bool block_valid(struct obb_scene *scene, const struct obb_ended *block, uint64_t revision,
                        struct census *census)
{
    census->listed += block->count;
    for (size_t k = 0; k < block->count; k++) {
        const struct obb_version *version = obb_versions_slot(&scene->versions, block->versions[k]);
        if (died_of(version) > revision || !held_by_a_state(version, census))
            return false;
    }
    return block->count <= block->room && block->done == 0 && block->kept == 0;
}

static bool lists_valid(struct obb_scene *scene, const struct obb_state *state, bool oldest,
                        struct census *census)
{
    size_t count = 0;
    if (oldest && (state->ended != NULL ? state->ended->count > 0 : state->earlier.count > 0))
        return false;
    if (state->ended != NULL && !block_valid(scene, state->ended, state->revision, census))
        return false;
    for (const struct obb_ended *block = state->earlier.first; block != NULL; block = block->next) {
        count += block->count;
        if (!block_valid(scene, block, state->revision, census))
            return false;
    }
    return count == state->earlier.count;
}

/* Checks that the broad phase of a kept state holds its boxes. */
static bool layers_valid(const struct obb_state *state)
{
    return obb_layers_alive(state->layers) == state->boxes &&
           obb_layers_validate(state->layers, state->revision);
}

static bool tail_valid(const struct obb_history *history)
{
    const struct obb_history_tail *tail = &history->tail;
    if (tail->commits == 0)
        return true;
    if (tail->states >= history->count || tail->states > tail->commits ||
        history->unreachable + tail->states >= history->count)
        return false;
    size_t ended = 0;
    for (size_t i = history->count - tail->states; i < history->count; i++)
        ended += obb_history_state(history, i)->ended->count;
    const struct obb_state *published = obb_history_published(history);
    const bool restated = tail->time < published->time || tail->time > published->time;
    return ended == tail->ended && tail->time <= tail->until &&
           (restated || tail->until <= published->until) &&
           tail->oldest_revision <= obb_history_newest(history)->revision &&
           layers_valid(published);
}

static bool states_valid(struct obb_scene *scene, struct census *census)
{
    const struct obb_history *history = &scene->history;
    size_t pins = 0;
    for (size_t i = 0; i < census->state_count; i++) {
        const struct obb_state *state = census->states[i];
        const struct obb_state *before = i == 0 ? NULL : census->states[i - 1];
        const bool follows = i > history->held_count; /* without a gap */
        if (state->boxes != census->alive[i] || state->frames != census->frames_alive[i] ||
            state->time > state->until || (i < history->held_count && state->pins == 0) ||
            state->keeps > state->pins ||
            (before != NULL && (state->revision <= before->revision ||
                                (follows && state->revision != before->revision + 1) ||
                                (state->clock == before->clock && state->time < before->until))) ||
            !lists_valid(scene, state, before == NULL, census))
            return false;
        pins += state->pins;
    }
    for (const struct obb_view *view = scene->first_view; view != NULL; view = view->next) {
        if (view->next != NULL && view->next->ticket <= view->ticket)
            return false;
        pins -= view->later != NULL ? 2 : 1;
    }
    if (scene->oldest_ticket != (scene->first_view == NULL ? 0 : scene->first_view->ticket))
        return false;
    return pins == 0 && history->unreachable < history->count && tail_valid(history) &&
           layers_valid(obb_history_newest(history));
}

static bool retired_valid(struct obb_scene *scene, const struct obb_retired *retired,
                          struct census *census)
{
    for (uint32_t i = retired->versions; i != OBB_NO_VERSION;) {
        const struct obb_version *version = obb_versions_slot(&scene->versions, i);
        if (died_of(version) == OBB_NEVER || census->retired++ > scene->versions.count)
            return false;
        i = obb_version_newer(version);
    }
    return true;
}

/* Checks that every slot is held by a state, garbage, retired or free. */
static bool slots_valid(struct obb_scene *scene, struct census *census)
{
    if (!retired_valid(scene, &scene->fresh, census) ||
        !retired_valid(scene, &scene->waiting, census))
        return false;
    size_t waiting = 0; /* perhaps garbage */
    for (const struct obb_ended *block = scene->garbage.first; block != NULL; block = block->next) {
        waiting += block->count - block->done;
        census->listed += block->kept;
        for (size_t i = block->done; i < block->count; i++) {
            struct obb_version *version = obb_versions_slot(&scene->versions, block->versions[i]);
            const bool held = held_by_a_state(version, census);
            census->listed += held ? 1 : 0;
            census->garbage += held ? 0 : 1;
        }
    }
    const size_t unused = obb_versions_count_free(&scene->versions);
    return unused == scene->versions.free_count && waiting == scene->garbage.count &&
           census->listed == census->kept - obb_scene_boxes(scene) - obb_scene_frames(scene) &&
           census->kept + census->garbage + census->retired + unused == scene->versions.count;
}

static int by_extras(const void *a, const void *b)
{
    const struct obb_version *const *x = a, *const *y = b;
    const uintptr_t of_x = (uintptr_t)obb_version_extras(*x),
                    of_y = (uintptr_t)obb_version_extras(*y);
    return of_x < of_y ? -1 : of_x > of_y;
}

static int by_mount(const void *a, const void *b)
{
    const struct obb_version *const *x = a, *const *y = b;
    const uintptr_t of_x = (uintptr_t)obb_version_mount(*x),
                    of_y = (uintptr_t)obb_version_mount(*y);
    return of_x < of_y ? -1 : of_x > of_y;
}

/* Checks that each mount knows how many extras have it. `list` is a box of each extras; it is put
 * in another order. */
static bool mounts_counted(const struct obb_version **list, size_t count)
{
    qsort((void *)list, count, sizeof *list, by_mount);
    for (size_t i = 0, end; i < count; i = end) {
        const struct obb_mount *mount = obb_version_mount(list[i]);
        for (end = i + 1; end < count && obb_version_mount(list[end]) == mount; end++)
            ;
        if (mount != NULL && mount->references != end - i)
            return false;
    }
    return true;
}

/* Checks the extras of all versions of slots: that each knows how many versions have them, that
 * these are of one box or frame, and that extras with a ttl have one version. `list` has room for
 * all slots. */
static bool each_extras_valid(const struct obb_scene *scene, const struct obb_version **list,
                              struct census *census)
{
    size_t extended = 0, different = 0, boxes = 0;
    for (uint32_t i = 0; i < scene->versions.count; i++) {
        const struct obb_version *version = obb_version_at(&scene->versions, i);
        if (version->has_extras)
            list[extended++] = version;
    }
    qsort((void *)list, extended, sizeof *list, by_extras);
    for (size_t i = 0, end; i < extended; i = end, different++) {
        const struct obb_extras *extras = obb_version_extras(list[i]);
        for (end = i + 1; end < extended && obb_version_extras(list[end]) == extras; end++)
            if (list[end]->id != list[i]->id)
                return false;
        if (extras->versions != end - i || (end - i > 1 && extras->ttl >= 0.0) ||
            extras->record->id != list[i]->id || !interned_valid(scene, extras, census))
            return false;
        if (!obb_version_is_frame(list[i]))
            list[boxes++] = list[i];
    }
    return different == scene->versions.extras_count && mounts_counted(list, boxes);
}

static bool extras_valid(const struct obb_scene *scene, struct census *census)
{
    const struct obb_version **list = (const struct obb_version **)obb_calloc(
        scene->versions.count, sizeof(const struct obb_version *));
    const bool valid = list != NULL && each_extras_valid(scene, list, census);
    obb_free((void *)list);
    return valid;
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

/* Checks the bounds of a state by measuring them anew. */
static bool bounds_valid(const struct obb_scene *scene, const struct obb_cached_bounds *cached,
                         const struct obb_state *state)
{
    if (!cached->known || state->boxes == 0)
        return true;
    struct obb_cached_bounds anew;
    obb_cached_bounds_measure(&anew, &scene->versions, state->revision, state->settings.dimensions);
    const obb_bounds *a = &cached->bounds, *b = &anew.bounds;
    return a->min.x == b->min.x && a->min.y == b->min.y && a->min.z == b->min.z &&
           a->max.x == b->max.x && a->max.y == b->max.y && a->max.z == b->max.z;
}

static bool cached_bounds_valid(const struct obb_scene *scene)
{
    const struct obb_history *history = &scene->history;
    return bounds_valid(scene, &scene->cached_bounds, obb_history_newest(history)) &&
           (!obb_scene_has_tail(scene) ||
            bounds_valid(scene, &scene->published.bounds, obb_history_published(history)));
}

/* Checks that the expiry holds the current boxes with a ttl, in order. */
static bool expiry_valid(struct obb_scene *scene)
{
    const struct obb_expiry *expiry = &scene->expiry;
    const obb_moment began = obb_history_newest(&scene->history)->began;
    size_t timed = 0;
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, 1); record != NULL;
         record = obb_id_tree_seek(&scene->ids, record->id + 1)) {
        const struct obb_version *box = obb_scene_current(scene, record);
        const double ttl = box == NULL ? OBB_NO_TTL : obb_version_extras(box)->ttl;
        const bool held = box != NULL && ttl >= 0.0;
        const size_t i = record->expiry;
        if (held != (i != OBB_NO_PLACE))
            return false;
        if (!held)
            continue;
        timed++;
        if (i >= expiry->count || expiry->heap[i].record != record ||
            expiry->heap[i].due != obb_expiry_since(box, began) + ttl ||
            expiry->heap[(i > 0 ? i - 1 : 0) / 2].due > expiry->heap[i].due)
            return false;
    }
    return timed == expiry->count;
}

/* Lists the kept states. Returns false if there is no memory. */
static bool list_states(const struct obb_scene *scene, struct census *census)
{
    const struct obb_history *history = &scene->history;
    const size_t count = history->held_count + history->count;
    census->alive = obb_calloc(count, 2 * sizeof *census->alive);
    census->frames_alive = census->alive == NULL ? NULL : census->alive + count;
    census->states = (const struct obb_state **)obb_calloc(count, sizeof(const struct obb_state *));
    if (census->alive == NULL || census->states == NULL)
        return false;
    for (const struct obb_state *state = history->held_first; state != NULL; state = state->newer)
        census->states[census->state_count++] = state;
    for (size_t i = 0; i < history->count; i++)
        census->states[census->state_count++] = obb_history_state(history, i);
    return census->state_count == count;
}

bool obb_scene_validate(struct obb_scene *scene)
{
    struct census census = {.kept = 0};
    const bool valid = list_states(scene, &census) && records_valid(scene, &census) &&
                       rigs_valid(scene, &census) && states_valid(scene, &census) &&
                       slots_valid(scene, &census) && extras_valid(scene, &census) &&
                       interned_counted(scene, &census) && cached_bounds_valid(scene) &&
                       expiry_valid(scene);
    obb_free(census.alive);
    obb_free((void *)census.states);
    return valid;
}
