#include "core/scene/view.h"

#include "core/base/alloc.h"
#include "core/scene/chain.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <assert.h>
#include <stdlib.h>

#define RECLAIM_AT_CLOSE 256 /* a view that is closed releases at most so many objects */

/* ---- Opening and closing --------------------------------------------------------------------- */

/* totals: NULL if the scene is in no store. */
static size_t cache_room(const struct obb_totals *totals)
{
    if (totals == NULL)
        return SIZE_MAX;
    const size_t bytes = atomic_load_explicit(&totals->bytes, memory_order_relaxed);
    return totals->most_cached > bytes ? totals->most_cached - bytes : 0;
}

/* Returns the view of that place in the history, with the tail or without. The view is not held
 * yet. */
static struct obb_view describe(struct obb_scene *scene,
                                const struct obb_history_position *position, bool tail)
{
    struct obb_state *state = obb_history_state(&scene->history, position->index);
    struct obb_state *later =
        position->alpha > 0.0 ? obb_history_state(&scene->history, position->index + 1) : NULL;
    return (struct obb_view){
        .info = {.at = position->at,
                 .now = tail ? obb_history_tail_now(&scene->history)
                             : obb_history_now(&scene->history),
                 .clamped = position->clamped,
                 .dimensions = state->settings.dimensions,
                 .boxes = state->boxes,
                 .frames = state->frames},
        .revision = state->revision,
        .alpha = position->alpha,
        .layers = state->layers,
        .cache_room = cache_room(scene->totals),
        .versions = &scene->versions,
        .scene = scene,
        .state = state,
        .later = later,
        .next_id = tail ? scene->next_id : obb_scene_published_next_id(scene),
    };
}

/* Puts a view behind all open ones. */
static void link_last(struct obb_view *view)
{
    struct obb_scene *scene = view->scene;
    view->ticket = ++scene->ticket;
    view->previous = scene->last_view;
    view->next = NULL;
    *(scene->last_view != NULL ? &scene->last_view->next : &scene->first_view) = view;
    scene->last_view = view;
    scene->oldest_ticket = scene->first_view->ticket;
}

static void unlink_view(struct obb_view *view)
{
    struct obb_scene *scene = view->scene;
    *(view->previous != NULL ? &view->previous->next : &scene->first_view) = view->next;
    *(view->next != NULL ? &view->next->previous : &scene->last_view) = view->previous;
    scene->oldest_ticket = scene->first_view == NULL ? 0 : scene->first_view->ticket;
}

/* Returns a view on the heap that holds its state, or NULL if there is no memory. */
static struct obb_view *hold(const struct obb_view *description)
{
    struct obb_view *view = obb_malloc(1, sizeof *view);
    if (view == NULL)
        return NULL;
    *view = *description;
    link_last(view);
    obb_layers_ref(view->layers); /* a rebase may give the state other layers meanwhile */
    view->opened = view;
    view->state->pins++;
    if (view->later != NULL)
        view->later->pins++;
    return view;
}

static obb_status find(struct obb_scene *scene, const obb_at *at, bool tail,
                       struct obb_history_position *out, obb_moment *out_oldest,
                       obb_moment *out_newest)
{
    const struct obb_history *history = &scene->history;
    if (!tail)
        return obb_history_find(history, NULL, at, out, out_oldest, out_newest);
    const struct obb_future future = obb_history_tail_future(history);
    return obb_history_find(history, &future, at, out, out_oldest, out_newest);
}

static obb_status open_one(struct obb_scene *scene, const obb_at *at, bool tail,
                           struct obb_view **out, obb_moment *out_oldest, obb_moment *out_newest)
{
    const obb_at now = {.kind = OBB_AT_NOW};
    struct obb_history_position position;
    const obb_status st =
        find(scene, at == NULL ? &now : at, tail, &position, out_oldest, out_newest);
    if (st != OBB_OK)
        return st;
    const struct obb_view description = describe(scene, &position, tail);
    struct obb_view *view = hold(&description);
    if (view == NULL)
        return OBB_NO_MEMORY;
    *out = view;
    return OBB_OK;
}

obb_status obb_view_open(struct obb_scene *scene, const obb_at *at, struct obb_view **out,
                         obb_moment *out_oldest, obb_moment *out_newest)
{
    return open_one(scene, at, false, out, out_oldest, out_newest);
}

obb_status obb_view_open_tail(struct obb_scene *scene, const obb_at *at, struct obb_view **out,
                              obb_moment *out_oldest, obb_moment *out_newest)
{
    return open_one(scene, at, true, out, out_oldest, out_newest);
}

struct obb_view obb_view_of_now(struct obb_scene *scene)
{
    const obb_at now = {.kind = OBB_AT_NOW};
    struct obb_history_position position;
    (void)find(scene, &now, false, &position, NULL, NULL);
    return describe(scene, &position, false);
}

void obb_view_keep_later(struct obb_view *view)
{
    assert(!obb_history_holds(&view->scene->history, view->state));
    view->state->keeps += !view->keeps_later;
    view->keeps_later = true;
}

static size_t index_of(const struct obb_history *history, uint64_t revision)
{
    return (size_t)(revision - obb_history_state(history, 0)->revision);
}

obb_status obb_view_open_later(const struct obb_view *view, uint64_t revision,
                               struct obb_view **out)
{
    struct obb_scene *scene = view->scene;
    assert(view->keeps_later && revision >= view->revision);
    const size_t index = index_of(&scene->history, revision);
    const struct obb_state *state = obb_history_state(&scene->history, index);
    assert(revision <= obb_history_published(&scene->history)->revision);
    const struct obb_history_position position = {
        .index = index, .at = {revision, obb_history_until(&scene->history, state)}};
    const struct obb_view description = describe(scene, &position, false);
    struct obb_view *later = hold(&description);
    if (later == NULL)
        return OBB_NO_MEMORY;
    obb_view_keep_later(later);
    *out = later;
    return OBB_OK;
}

/* Returns the id of the first box that was or will be made after state `index`. */
static uint64_t next_id_of(const struct obb_scene *scene, size_t index)
{
    const struct obb_history *history = &scene->history;
    return index + 1 < history->count ? obb_history_state(history, index + 1)->first_id
                                      : obb_scene_published_next_id(scene);
}

bool obb_view_step(const struct obb_view *view, uint64_t revision, obb_step *out)
{
    const struct obb_scene *scene = view->scene;
    const struct obb_history *history = &scene->history;
    assert(view->keeps_later && revision > view->revision);
    const size_t index = index_of(history, revision);
    if (revision > obb_history_published(history)->revision)
        return false;
    const struct obb_state *state = obb_history_state(history, index);
    const struct obb_state *before = obb_history_state(history, index - 1);
    *out = (obb_step){
        .moment = {revision, state->time},
        .until = obb_history_until(history, state),
        .time_stated = state->time_stated,
        .restarts = state->restarted,
        .has_settings = !obb_settings_same(&state->settings, &before->settings),
        .settings = state->settings,
        .first_id = state->first_id,
        .expired = state->expired,
        .removed = state->removed,
        .put = state->put,
        .posed = state->posed,
        .transformed = state->transformed,
        .next_id = next_id_of(scene, index),
        .ended_count = state->ended->count,
        .ended = state->ended,
        .made = state->made_frames,
        .scene = scene,
    };
    return true;
}

const obb_settings *obb_view_settings(const struct obb_view *view)
{
    return &view->state->settings;
}

double obb_view_until(const struct obb_view *view)
{
    return obb_history_until(&view->scene->history, view->state);
}

uint64_t obb_view_next_id(const struct obb_view *view)
{
    return next_id_of(view->scene, index_of(&view->scene->history, view->revision));
}

/* Writes a view of that place to *out: the state's latest one if it is the same, else one in the
 * arena beside it. The first view of a state is held, and joins the list. */
static obb_status share(struct obb_scene *scene, const struct obb_history_position *position,
                        bool tail, struct obb_arena *arena, struct obb_view **out,
                        struct obb_view **opened, size_t *opened_count)
{
    struct obb_state *state = obb_history_state(&scene->history, position->index);
    struct obb_view *view = state->shared;
    if (view == NULL || view->alpha != position->alpha || view->info.at.time != position->at.time ||
        view->info.clamped != position->clamped) {
        const struct obb_view description = describe(scene, position, tail);
        view = state->shared == NULL ? hold(&description) : obb_arena_alloc(arena, 1, sizeof *view);
        if (view == NULL)
            return OBB_NO_MEMORY;
        if (state->shared == NULL) {
            opened[(*opened_count)++] = view;
        } else {
            *view = description;
            view->opened = state->shared->opened;
        }
        if (view->later != NULL && view->opened->later == NULL) {
            view->opened->later = view->later;
            view->later->pins++;
        }
        state->shared = view;
    }
    *out = view;
    return OBB_OK;
}

/* The states among which moments are looked for. */
struct among {
    bool tail;
    const obb_moment *present; /* without the tail: the newest moment; NULL: what it is now */
};

/* Opens the states of one of the moments that obb_views_open opens, whose index is fault->index. */
static obb_status open_moments(struct obb_scene *scene, const obb_needed_moment *needed,
                               struct among among, struct obb_arena *arena, struct obb_view **views,
                               struct obb_view **opened, size_t *opened_count, obb_fault *fault)
{
    const size_t count = obb_needed_count(needed);
    for (fault->member = 0; fault->member < count; fault->member++) {
        const obb_at at = obb_needed_at(needed, fault->member);
        struct obb_history_position position;
        obb_moment *const oldest = &fault->oldest, *const newest = &fault->newest;
        obb_status st = among.present == NULL
                            ? find(scene, &at, among.tail, &position, oldest, newest)
                            : obb_history_find_as_of(&scene->history, among.present, &at, &position,
                                                     oldest, newest);
        if (st == OBB_OK)
            st = share(scene, &position, among.tail, arena, &views[fault->member], opened,
                       opened_count);
        if (st != OBB_OK)
            return st;
    }
    return OBB_OK;
}

static obb_status open_many(struct obb_scene *scene, const obb_needed_moment *moments, size_t count,
                            struct among among, struct obb_arena *arena,
                            struct obb_view **out_views, struct obb_view **out_opened,
                            size_t *out_opened_count, obb_fault *out_fault)
{
    obb_status st = OBB_OK;
    obb_fault fault = {.group = OBB_GROUP_MOMENT};
    *out_opened_count = 0;
    for (; fault.index < count; fault.index++) {
        st = open_moments(scene, &moments[fault.index], among, arena, out_views, out_opened,
                          out_opened_count, &fault);
        if (st != OBB_OK)
            break;
        out_views += obb_needed_count(&moments[fault.index]);
    }
    for (size_t i = 0; i < *out_opened_count; i++)
        out_opened[i]->state->shared = NULL;
    if (st != OBB_OK && out_fault != NULL)
        *out_fault = fault;
    return st;
}

obb_status obb_views_open(struct obb_scene *scene, const obb_needed_moment *moments, size_t count,
                          struct obb_arena *arena, struct obb_view **out_views,
                          struct obb_view **out_opened, size_t *out_opened_count,
                          obb_fault *out_fault)
{
    const struct among published = {.tail = false};
    return open_many(scene, moments, count, published, arena, out_views, out_opened,
                     out_opened_count, out_fault);
}

obb_status obb_views_open_as_of(struct obb_scene *scene, const obb_moment *present,
                                const obb_needed_moment *moments, size_t count,
                                struct obb_arena *arena, struct obb_view **out_views,
                                struct obb_view **out_opened, size_t *out_opened_count,
                                obb_fault *out_fault)
{
    const struct among earlier = {.tail = false, .present = present};
    return open_many(scene, moments, count, earlier, arena, out_views, out_opened, out_opened_count,
                     out_fault);
}

obb_status obb_views_open_tail(struct obb_scene *scene, const obb_needed_moment *moments,
                               size_t count, struct obb_arena *arena, struct obb_view **out_views,
                               struct obb_view **out_opened, size_t *out_opened_count,
                               obb_fault *out_fault)
{
    const struct among all = {.tail = true};
    return open_many(scene, moments, count, all, arena, out_views, out_opened, out_opened_count,
                     out_fault);
}

#define NS_VIEW 150.0 /* nanoseconds, about, to open a view, cold */

double obb_views_cost(const obb_needed_moment *moments, size_t count, double limit)
{
    double ns = 0.0;
    for (size_t i = 0; i < count && ns <= limit; i++)
        ns += NS_VIEW * (double)obb_needed_count(&moments[i]);
    return ns;
}

/* Counts the index that a reader has made: readers do not count, and each of them has a view
 * open. */
static void charge_motion(struct obb_scene *scene, const struct obb_state *state)
{
    if (atomic_load_explicit(&state->motion, memory_order_acquire) == OBB_MOTION_MADE &&
        state->motion_index != NULL)
        obb_index_charge(state->motion_index, &scene->layer_bytes);
}

void obb_view_rest(const struct obb_view *view, bool rests)
{
    if (view != NULL)
        view->opened->rests = rests;
}

void obb_scene_renew_views(struct obb_scene *scene)
{
    const uint64_t last = scene->ticket;
    struct obb_view *next;
    if (!obb_scene_has_retired(scene))
        return;
    for (struct obb_view *view = scene->first_view; view != NULL && view->ticket <= last;
         view = next) {
        next = view->next;
        if (!view->rests)
            continue;
        unlink_view(view);
        link_last(view);
    }
}

struct obb_scene *obb_view_close(struct obb_view *view)
{
    if (view == NULL)
        return NULL;
    struct obb_scene *scene = view->scene;
    unlink_view(view);
    view->state->keeps -= view->keeps_later;
    if (view->later != NULL) {
        charge_motion(scene, view->later);
        obb_scene_unpin(scene, view->later);
    }
    obb_scene_unpin(scene, view->state);
    obb_layers_charge_pairs(view->layers);
    obb_layers_unref(view->layers);
    obb_free(view);
    if (scene->detached && scene->first_view == NULL) {
        obb_scene_uncount(scene);
        return scene;
    }
    obb_scene_reclaim(scene, RECLAIM_AT_CLOSE);
    obb_scene_settle(scene);
    return NULL;
}

const obb_view_info *obb_view_info_get(const struct obb_view *view) { return &view->info; }

const struct obb_scene *obb_view_scene(const struct obb_view *view) { return view->scene; }

obb_status obb_view_rebuild(const struct obb_view *view, const atomic_bool *cancel,
                            struct obb_rebuild **out)
{
    return obb_rebuild_create(view->layers, view->revision, cancel, out);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

static const struct obb_version *version_in(const struct obb_view *view,
                                            const struct obb_record *record)
{
    return obb_chain_find(view->scene, record, view->revision);
}

static const struct obb_version *unless_hidden(const struct obb_view_overlay *overlay,
                                               const struct obb_version *box)
{
    return box == NULL || obb_view_hides(overlay, box->id) ? NULL : box;
}

/* Returns the box of that name and hash in a view without an overlay, or NULL. */
static const struct obb_version *find_hashed(const struct obb_view *view, obb_str name,
                                             uint32_t hash)
{
    /* A name may belong to a removed box and, later, to another box: at most one of the two is in
     * this state. */
    const struct obb_hash_table *names = &view->scene->names;
    for (const struct obb_link *link = obb_hash_table_find(names, hash); link != NULL;
         link = obb_hash_table_find_next(names, link)) {
        const struct obb_record *record = (const struct obb_record *)link;
        if (!obb_str_equal(obb_record_name(record), name))
            continue;
        const struct obb_version *version = version_in(view, record);
        if (version != NULL)
            return version;
    }
    return NULL;
}

const struct obb_version *obb_view_find(const struct obb_view *view, obb_str name)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay == NULL)
        return find_hashed(view, name, obb_record_hash(view->scene, name));
    const struct obb_version *box = obb_view_find(overlay->over, name);
    return box != NULL ? box : unless_hidden(overlay, obb_view_find(overlay->below, name));
}

/* Looks up a round of names, so that their cache misses overlap. */
static void find_round(const struct obb_view *view, const obb_str *names, size_t count,
                       const struct obb_version **out)
{
    const struct obb_hash_table *table = &view->scene->names;
    uint32_t hashes[OBB_VIEW_ROUND];
    for (size_t i = 0; i < count; i++) {
        hashes[i] = obb_record_hash(view->scene, names[i]);
        obb_hash_table_prefetch_bucket(table, hashes[i]);
    }
    for (size_t i = 0; i < count; i++)
        obb_hash_table_prefetch_link(table, hashes[i]);
    for (size_t i = 0; i < count; i++) {
        const struct obb_link *link = obb_hash_table_find(table, hashes[i]);
        if (link == NULL)
            continue;
        const struct obb_record *record = (const struct obb_record *)link;
        obb_versions_prefetch(&view->scene->versions,
                              atomic_load_explicit(&record->newest, memory_order_acquire));
    }
    for (size_t i = 0; i < count; i++)
        out[i] = find_hashed(view, names[i], hashes[i]);
}

void obb_view_find_names(const struct obb_view *view, const obb_str *names, size_t count,
                         const struct obb_version **out)
{
    assert(count <= OBB_VIEW_ROUND);
    if (view->overlay == NULL) {
        find_round(view, names, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = obb_view_find(view, names[i]);
}

size_t obb_view_ids_of_name(const struct obb_view *view, obb_str name, uint64_t *out, size_t room)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        const size_t below = obb_view_ids_of_name(overlay->below, name, out, room);
        const size_t left = below < room ? room - below : 0;
        return below + obb_view_ids_of_name(overlay->over, name, out + (room - left), left);
    }
    const struct obb_hash_table *names = &view->scene->names;
    const uint32_t hash = obb_record_hash(view->scene, name);
    size_t count = 0;
    for (const struct obb_link *link = obb_hash_table_find(names, hash); link != NULL;
         link = obb_hash_table_find_next(names, link)) {
        const struct obb_record *record = (const struct obb_record *)link;
        if (!obb_str_equal(obb_record_name(record), name))
            continue;
        if (count < room)
            out[count] = record->id;
        count++;
    }
    return count;
}

const struct obb_version *obb_view_find_id(const struct obb_view *view, uint64_t id)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        const struct obb_version *box = obb_view_find_id(overlay->over, id);
        return box != NULL ? box : unless_hidden(overlay, obb_view_find_id(overlay->below, id));
    }
    const struct obb_record *record = obb_id_tree_find(&view->scene->ids, id);
    return record == NULL ? NULL : version_in(view, record);
}

const struct obb_version *obb_view_next(const struct obb_view *view, uint64_t after)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        const struct obb_version *over = obb_view_next(overlay->over, after);
        const struct obb_version *below = obb_view_next(overlay->below, after);
        while (below != NULL && obb_view_hides(overlay, below->id))
            below = obb_view_next(overlay->below, below->id);
        return over == NULL || (below != NULL && below->id < over->id) ? below : over;
    }
    const struct obb_version *version = NULL;
    while (version == NULL && after < UINT64_MAX) {
        const struct obb_record *record = obb_id_tree_seek(&view->scene->ids, after + 1);
        if (record == NULL)
            break;
        version = version_in(view, record);
        after = record->id;
    }
    return version;
}

const struct obb_interned *obb_view_entity(const struct obb_view *view, obb_str entity)
{
    for (; view->overlay != NULL; view = view->overlay->below) {
        const struct obb_interned *own =
            obb_interned_table_find(&view->overlay->over->scene->interned, entity);
        if (own != NULL && own->lent != NULL)
            return own->lent;
    }
    return obb_interned_table_find(&view->scene->interned, entity);
}

static int compare_names(const void *left, const void *right)
{
    const obb_str *a = left, *b = right;
    return obb_str_compare(*a, *b);
}

/* Returns whether the overlay hides a frame of that name, or shows it anew. */
static bool hides_frame(const struct obb_view_overlay *overlay, obb_str name)
{
    return overlay->hidden_frame_count > 0 &&
           bsearch(&name, overlay->hidden_frames, overlay->hidden_frame_count, sizeof name,
                   compare_names) != NULL;
}

const struct obb_version *obb_view_next_frame(const struct obb_view *view, obb_str name, bool after)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        const struct obb_version *over = obb_view_next_frame(overlay->over, name, after);
        const struct obb_version *below = obb_view_next_frame(overlay->below, name, after);
        while (below != NULL && hides_frame(overlay, obb_view_name(below)))
            below = obb_view_next_frame(overlay->below, obb_view_name(below), true);
        return over == NULL || (below != NULL &&
                                obb_str_compare(obb_view_name(below), obb_view_name(over)) < 0)
                   ? below
                   : over;
    }
    const struct obb_version *version = NULL;
    for (const struct obb_rig *rig = obb_rigs_seek(&view->scene->rigs, name, after);
         rig != NULL && version == NULL; rig = obb_rig_next(rig))
        version = version_in(view, rig->record);
    return version;
}

const struct obb_version *obb_view_find_frame(const struct obb_view *view, obb_str name)
{
    const struct obb_version *frame = obb_view_next_frame(view, name, false);
    return frame != NULL && obb_str_equal(obb_view_name(frame), name) ? frame : NULL;
}

obb_box obb_view_frame_pose(const struct obb_view *view, const struct obb_version *frame)
{
    for (; view->overlay != NULL; view = view->overlay->below)
        if (obb_view_find_frame(view->overlay->over, obb_view_name(frame)) == frame)
            return obb_view_frame_pose(view->overlay->over, frame);
    const struct obb_version *to = view->alpha > 0.0 ? obb_view_interpolated(view, frame) : NULL;
    return to == NULL
               ? frame->box
               : obb_box_interpolate(&frame->box, &to->box, view->alpha, view->info.dimensions);
}

/* ---- What a state says of a box -------------------------------------------------------------- */

uint64_t obb_view_id(const struct obb_version *box) { return box->id; }

uint64_t obb_view_changed(const struct obb_version *box)
{
    return atomic_load_explicit(&box->born, memory_order_relaxed);
}

double obb_view_since(const struct obb_view *view, const struct obb_version *box)
{
    return obb_expiry_since(box, view->state->began);
}

obb_str obb_view_name(const struct obb_version *box)
{
    return obb_record_name(obb_version_record(box));
}

bool obb_view_put(const struct obb_version *box) { return box->put; }

obb_box obb_view_pose(const struct obb_view *view, const struct obb_version *box)
{
    for (; view->overlay != NULL; view = view->overlay->below)
        if (box->id >= view->overlay->below->next_id || obb_view_hides(view->overlay, box->id))
            return obb_view_pose(view->overlay->over, box);
    const struct obb_version *to = obb_view_interpolates_to(view, box);
    return to == NULL
               ? box->box
               : obb_box_interpolate(&box->box, &to->box, view->alpha, view->info.dimensions);
}

bool obb_view_local(const struct obb_version *box, obb_str *out_frame, obb_box *out_local)
{
    const struct obb_mount *mount = obb_version_mount(box);
    if (mount == NULL)
        return false;
    *out_frame = obb_record_name(mount->rig->record);
    *out_local = obb_mount_pose(mount, box->box.half_extents);
    return true;
}

obb_solid obb_view_solid(const struct obb_view *view, const struct obb_version *box)
{
    const obb_box pose = obb_view_pose(view, box);
    return obb_solid_from_box(&pose, view->info.dimensions);
}

obb_attributes obb_view_attributes(const struct obb_version *box)
{
    const struct obb_extras *extras = obb_version_extras(box);
    return (obb_attributes){
        .category = box->category,
        .mask = box->mask,
        .group = box->group,
        .entity = obb_interned_text(extras->entity),
        .data = obb_interned_text(extras->data),
        .has_ttl = extras->ttl >= 0.0,
        .ttl = extras->ttl >= 0.0 ? extras->ttl : 0.0,
    };
}
