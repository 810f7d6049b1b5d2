#include "core/scene/commit.h"

#include "core/base/alloc.h"
#include "core/scene/apply.h"
#include "core/scene/apply_copy.h"
#include "core/scene/apply_effects.h"
#include "core/scene/commit_inside.h"
#include "core/scene/digest.h"
#include "core/scene/footprint.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define AHEAD  16    /* changes whose versions are fetched ahead of their turn... */
#define CACHED 16384 /* ...if there are more than so many: fewer are still in the cache */

/* How a commit is made:
 *
 * 1. Prepare writes the new versions into slots of their own, born at a revision that no view has
 *    yet, and enters new boxes in the hash table and the id tree at once. Readers pass over both.
 * 2. `newer` of a current version that is replaced points to the new version; of a version that is
 *    removed, `newer` holds a mark. Only the writer reads `newer` before `died` is set.
 * 3. Seal sets `newest` and `died`. No view has the commit's revision, so none sees a difference.
 * 4. Apply puts the state into the history, as part of the tail, and seals before that if nobody
 *    has. Only the next edit and views of the tail see the state.
 * 5. Publish moves the end of the published states on, and with it what readers are told of the
 *    scene. Or revert takes the state out of the history, and then does what discard does to a
 *    sealed edit.
 *
 * Commit is apply and publish in one. */

/* What a commit changes beside boxes, frames and the states that it makes. */
struct present {
    double time, until; /* of the newest state */
    uint64_t oldest_revision;
    uint64_t next_id;
    bool has_committed, time_stated;
    obb_settings settings;
    struct obb_cached_bounds bounds;
};

struct obb_prepared {
    struct obb_apply apply;
    obb_settings settings; /* after the commit */
    struct obb_future future;
    struct obb_state *state; /* NULL: nothing changes */
    bool sealed;
    struct obb_cached_bounds bounds; /* as they were before the seal */
    struct present before, after;    /* of an edit that was applied */
    bool begins;                     /* the state stands alone, in a scene that holds nothing yet */
    bool loads_since;                /* effects or a copy say from when each ttl counts */
    obb_edit of_effects;     /* with time and settings of effects that are applied, and no entry */
    const obb_effects *told; /* the effects that are applied, or NULL */
    const struct obb_version **made, **ended, **frames;
    size_t made_count, ended_count, gone, frame_count; /* gone: ended, and none made */
    size_t ended_bytes;                                /* of the state's list of ended versions */
    size_t excess; /* bytes of the edit if the scene has no room for them; else 0 */
};

/* ---- Preparing ------------------------------------------------------------------------------- */

/* Checks the conditions on single boxes. fault->newest is written. */
static obb_status check_boxes(const struct obb_prepared *p, obb_fault *fault)
{
    const obb_edit *edit = p->apply.edit;
    fault->group = OBB_GROUP_IF_BOX;
    for (; fault->index < edit->if_box_count; fault->index++) {
        const obb_if_box *condition = &edit->if_boxes[fault->index];
        fault->changed = obb_scene_tail_changed(p->apply.scene, &condition->target);
        const bool holds = condition->revision == 0
                               ? fault->changed == 0
                               : fault->changed != 0 && fault->changed <= condition->revision &&
                                     condition->revision <= fault->newest.revision;
        if (!holds)
            return OBB_REVISION;
    }
    *fault = (obb_fault){
        .group = OBB_GROUP_NONE, .newest = fault->newest, .dimensions = fault->dimensions};
    return OBB_OK;
}

static obb_status check_moment(struct obb_prepared *p, double now_ms, obb_fault *fault)
{
    const struct obb_scene *scene = p->apply.scene;
    const obb_edit *edit = p->apply.edit;
    const obb_moment now = obb_history_tail_now(&scene->history);
    p->future.moment = now;
    fault->group = OBB_GROUP_TIME;
    fault->newest = now;
    if (edit->has_time) {
        if (!(fabs(edit->time) <= OBB_MAX_WHOLE))
            return OBB_BAD_NUMBER;
        const bool earlier = scene->has_committed && edit->time < now.time;
        if (earlier && !edit->replace_all && !edit->restart)
            return OBB_TIME_BACKWARDS;
        if (!earlier || edit->restart)
            p->future.moment.time = edit->time;
        p->future.drops = edit->restart;
        p->future.restarts = !scene->has_committed;
    } else if (!scene->time_stated && now_ms - scene->created_ms > now.time) {
        p->future.moment.time = now_ms - scene->created_ms;
    }
    fault->group = OBB_GROUP_IF_REVISION;
    if (edit->has_if_revision && edit->if_revision != now.revision)
        return OBB_REVISION;
    return check_boxes(p, fault);
}

/* The mounts of two versions of one box; for a frame, both are the same rig. */
static bool same_mount(const struct obb_version *a, const struct obb_version *b)
{
    const struct obb_mount *from = obb_version_mount(a), *to = obb_version_mount(b);
    if (from == to)
        return true;
    if (from == NULL || to == NULL || from->rig != to->rig)
        return false;
    const obb_box local = obb_mount_pose(from, a->box.half_extents);
    return obb_mount_has_pose(to, &local);
}

/* Returns whether the ttl is the same and counts from the same time, under a clock that began at
 * `began`. */
static bool same_ttl(const struct obb_version *a, const struct obb_version *b, obb_moment began)
{
    const struct obb_extras *from = obb_version_extras(a), *to = obb_version_extras(b);
    const double since = obb_expiry_since(a, began);
    return !(from->ttl < to->ttl || from->ttl > to->ttl) &&
           (from->ttl < 0.0 || !(since < to->since || since > to->since));
}

static bool same_attributes(const struct obb_version *a, const struct obb_version *b)
{
    const struct obb_extras *from = obb_version_extras(a), *to = obb_version_extras(b);
    return a->category == b->category && a->mask == b->mask && a->group == b->group &&
           from->entity == to->entity && from->data == to->data && same_mount(a, b);
}

static struct obb_version *version_or_null(const struct obb_prepared *p, uint32_t i)
{
    return i == OBB_NO_VERSION ? NULL : obb_apply_slot(&p->apply, i);
}

/* Returns the version after a change, or, of a removed box or frame, the one before. */
static struct obb_version *latest_of(const struct obb_prepared *p, const struct obb_change *change)
{
    return obb_apply_slot(&p->apply, change->new == OBB_NO_VERSION ? change->old : change->new);
}

/* Drops the changes between the first `kept` and the one at `next`, which are undone. */
static void keep_rest(struct obb_prepared *p, size_t kept, size_t next)
{
    struct obb_change *changes = p->apply.changes;
    memmove(changes + kept, changes + next, (p->apply.change_count - next) * sizeof *changes);
    p->apply.change_count -= next - kept;
}

/* Undoes changes whose new version equals the old one, and lists the versions of the others. */
static obb_status list_changes(struct obb_prepared *p)
{
    const obb_moment began = obb_history_newest(&p->apply.scene->history)->began;
    size_t kept = 0;
    for (size_t i = 0; i < p->apply.change_count; i++) {
        if (obb_apply_given_up(&p->apply)) {
            keep_rest(p, kept, i);
            return OBB_CANCELLED;
        }
        const struct obb_change change = p->apply.changes[i];
        if (change.old != OBB_NO_VERSION && change.new != OBB_NO_VERSION) {
            const struct obb_version *old = obb_apply_slot(&p->apply, change.old);
            struct obb_version *new = obb_apply_slot(&p->apply, change.new);
            const bool moved = !obb_box_same_bits(&old->box, &new->box);
            if (!moved && same_attributes(old, new) && same_ttl(old, new, began)) {
                obb_apply_undo(&p->apply, &change);
                continue;
            }
            new->interpolated = new->interpolated &&moved;
            struct obb_extras *extras = obb_version_own_extras(new);
            if (extras != NULL && extras->ttl >= 0.0 && !p->loads_since)
                extras->since = p->future.moment.time;
        }
        p->apply.changes[kept++] = change;
    }
    p->apply.change_count = kept;
    const struct obb_version **lists = (const struct obb_version **)obb_arena_alloc(
        p->apply.arena, kept, 3 * sizeof(const struct obb_version *));
    if (lists == NULL)
        return OBB_NO_MEMORY;
    p->made = lists;
    p->ended = lists + kept;
    p->frames = lists + 2 * kept;
    const bool frames = p->apply.scene->rigs.bytes > 0; /* else no version need be looked at */
    for (size_t i = 0; i < kept; i++) {
        if (obb_apply_given_up(&p->apply))
            return OBB_CANCELLED;
        const struct obb_change *change = &p->apply.changes[i];
        const struct obb_version *old = version_or_null(p, change->old),
                                 *new = version_or_null(p, change->new);
        if (frames && obb_version_is_frame(latest_of(p, change))) {
            p->frames[p->frame_count++] = latest_of(p, change);
            continue;
        }
        if (new != NULL)
            p->made[p->made_count++] = new;
        if (old != NULL)
            p->ended[p->ended_count++] = old;
        p->gone += new == NULL;
    }
    return OBB_OK;
}

/* Returns the rig that a change brings its box into, or NULL. */
static struct obb_rig *rig_entered(const struct obb_prepared *p, const struct obb_change *change)
{
    const struct obb_version *old = version_or_null(p, change->old),
                             *new = version_or_null(p, change->new);
    if (new == NULL || obb_version_is_frame(new) ||
        (old != NULL && obb_version_extras(old) == obb_version_extras(new)))
        return NULL;
    const struct obb_mount *from = old == NULL ? NULL : obb_version_mount(old),
                           *to = obb_version_mount(new);
    return to == NULL || (from != NULL && from->rig == to->rig) ? NULL : to->rig;
}

/* Makes room in the rigs for the boxes that will enter them. */
static obb_status reserve_seats(struct obb_prepared *p)
{
    if (p->apply.scene->rigs.bytes == 0)
        return OBB_OK; /* there is no frame */
    obb_status st = OBB_OK;
    size_t end = 0; /* after the last change that enters a rig */
    for (size_t i = 0; i < p->apply.change_count && st == OBB_OK; i++) {
        struct obb_rig *rig = rig_entered(p, &p->apply.changes[i]);
        if (obb_apply_given_up(&p->apply))
            st = OBB_CANCELLED;
        if (rig == NULL || st != OBB_OK)
            continue;
        st = obb_rig_reserve(&p->apply.scene->rigs, rig, rig->count + ++rig->entering);
        end = i + 1;
    }
    for (size_t i = end; i-- > 0;) {
        struct obb_rig *rig = rig_entered(p, &p->apply.changes[i]);
        if (rig != NULL)
            rig->entering = 0;
    }
    return st;
}

/* Makes room in the expiry for the boxes of the commit that have a ttl. */
static obb_status reserve_expiry(struct obb_prepared *p)
{
    if (p->apply.scene->versions.extras_count == 0)
        return OBB_OK; /* no box has a ttl */
    size_t timed = 0;
    for (size_t i = 0; i < p->made_count; i++)
        timed += obb_version_extras(p->made[i])->ttl >= 0.0;
    return timed == 0 ? OBB_OK : obb_expiry_reserve(&p->apply.scene->expiry, timed);
}

/* Makes the broad phase of the state after the commit. */
static obb_status prepare_layers(struct obb_prepared *p)
{
    struct obb_layers *before = obb_history_newest(&p->apply.scene->history)->layers;
    if (!p->apply.edit->replace_all &&
        p->settings.dimensions == p->apply.scene->settings.dimensions) {
        if (p->made_count + p->ended_count > 0)
            return obb_layers_next(before, p->made, p->made_count, p->ended, p->ended_count,
                                   p->apply.revision, p->apply.cancel, &p->state->layers);
        obb_layers_ref(before);
        p->state->layers = before;
        return OBB_OK;
    }
    struct obb_layers *empty = NULL; /* no box of the state before is left */
    obb_status st = obb_layers_create(p->settings.dimensions, p->apply.scene->kernels, &empty);
    if (st == OBB_OK)
        obb_layers_charge(empty, &p->apply.scene->layer_bytes);
    if (st == OBB_OK)
        st = obb_layers_next(empty, p->made, p->made_count, NULL, 0, p->apply.revision,
                             p->apply.cancel, &p->state->layers);
    obb_layers_unref(empty);
    return st;
}

/* Returns how many versions of boxes and frames the commit ends. */
static size_t listed_count(const struct obb_prepared *p)
{
    return p->ended_count + p->frame_count - p->apply.made_frames;
}

/* Lists the frames that the commit makes in its state. */
static obb_status list_made_frames(struct obb_prepared *p)
{
    if (p->apply.made_frames == 0)
        return OBB_OK;
    struct obb_made *made =
        obb_malloc(1, sizeof *made + p->apply.made_frames * sizeof made->versions[0]);
    if (made == NULL)
        return OBB_NO_MEMORY;
    made->count = 0;
    for (size_t i = 0; i < p->apply.change_count; i++)
        if (p->apply.changes[i].old == OBB_NO_VERSION &&
            obb_version_is_frame(latest_of(p, &p->apply.changes[i])))
            made->versions[made->count++] = p->apply.changes[i].new;
    p->state->made_frames = made;
    return OBB_OK;
}

static obb_status prepare_state(struct obb_prepared *p)
{
    const size_t listed = listed_count(p);
    p->state = obb_state_create(p->apply.revision, listed);
    if (p->state == NULL || obb_history_reserve(&p->apply.scene->history) != OBB_OK)
        return OBB_NO_MEMORY;
    p->state->settings = p->settings;
    p->state->first_id = p->apply.first_id;
    p->state->time_stated = p->apply.edit->has_time;
    p->ended_bytes = obb_ended_bytes(listed);
    p->apply.scene->ended_bytes += p->ended_bytes;
    p->state->restarted = p->future.drops;
    p->state->clock = obb_history_newest(&p->apply.scene->history)->clock + p->future.drops;
    p->state->boxes = p->apply.boxes;
    p->state->frames = p->apply.frames;
    p->state->time = p->state->until = p->future.moment.time;
    p->state->expired = p->apply.expired;
    p->state->began = obb_history_newest(&p->apply.scene->history)->began;
    if (p->future.drops)
        p->state->began = (obb_moment){.revision = p->state->revision, .time = p->state->time};
    struct obb_ended *ended = p->state->ended;
    for (size_t i = 0; i < p->apply.change_count; i++)
        if (p->apply.changes[i].old != OBB_NO_VERSION)
            ended->versions[ended->count++] = p->apply.changes[i].old;
    const obb_status st = list_made_frames(p);
    return st == OBB_OK ? prepare_layers(p) : st;
}

/* Checks that one moment is within reach after the commit, and that its state has the
 * dimensions. */
static obb_status check_needed_moment(const struct obb_prepared *p, const obb_at *at,
                                      int dimensions, obb_fault *fault)
{
    const struct obb_history *history = &p->apply.scene->history;
    fault->dimensions = p->settings.dimensions;
    if (at->kind != OBB_AT_NOW) {
        struct obb_history_position position;
        const obb_status st =
            obb_history_find(history, &p->future, at, &position, &fault->oldest, &fault->newest);
        /* The commit is not made: the newest state is the one that is there, unless the commit
         * would leave nothing but its own in reach. */
        const obb_moment now = obb_history_tail_now(history);
        if (st == OBB_GONE && fault->oldest.revision <= now.revision)
            fault->newest = now;
        if (st != OBB_OK)
            return st;
        if (position.index < history->count)
            fault->dimensions = obb_history_state(history, position.index)->settings.dimensions;
    }
    return fault->dimensions == dimensions ? OBB_OK : OBB_DIMENSIONS;
}

/* Checks that the moments that the edit needs are within reach after the commit. */
static obb_status check_needed_moments(const struct obb_prepared *p, obb_fault *fault)
{
    fault->group = OBB_GROUP_MOMENT;
    for (; fault->index < p->apply.edit->moment_count; fault->index++) {
        const obb_needed_moment *needed = &p->apply.edit->moments[fault->index];
        const size_t count = obb_needed_count(needed);
        for (fault->member = 0; fault->member < count; fault->member++) {
            const obb_at at = obb_needed_at(needed, fault->member);
            const obb_status st = check_needed_moment(p, &at, needed->dimensions, fault);
            if (st != OBB_OK)
                return st;
        }
    }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

/* Returns whether boxes expire by this commit. */
static bool expires(const struct obb_prepared *p)
{
    const struct obb_expiry *expiry = &p->apply.scene->expiry;
    return !p->future.drops && !p->apply.edit->replace_all &&
           obb_expiry_due(expiry, p->future.moment.time, 1) > 0;
}

/* Returns how many boxes the edit removes at most. */
static size_t most_gone(const struct obb_prepared *p)
{
    const struct obb_apply *apply = &p->apply;
    const struct obb_scene *scene = apply->scene;
    const obb_edit *edit = apply->edit;
    if (edit->replace_all)
        return obb_scene_boxes(scene);
    size_t gone =
        p->future.drops ? 0 : obb_expiry_due(&scene->expiry, p->future.moment.time, SIZE_MAX);
    for (size_t i = 0; i < edit->remove_frame_count; i++)
        gone += obb_rigs_boxes(&scene->rigs, edit->remove_frames[i]);
    for (size_t i = 0; i < edit->remove_count; i++)
        gone += obb_apply_has_box(apply, &edit->removes[i]);
    return gone;
}

/* Returns how many boxes the edit makes at least. */
static size_t least_made(const struct obb_prepared *p)
{
    const obb_edit *edit = p->apply.edit;
    if (edit->replace_all)
        return edit->put_count;
    size_t made = 0;
    for (size_t i = 0; i < edit->put_count; i++) {
        obb_put scratch;
        const obb_put *put = obb_edit_put_without_box(edit, i, &scratch);
        made += put->parts == OBB_PUT_ALL && !obb_apply_has_box(&p->apply, &put->target);
    }
    return made;
}

/* Returns whether it is certain that the edit makes boxes, and leaves as many as there are now or
 * more. O(entries). */
static bool cannot_shrink(const struct obb_prepared *p)
{
    const size_t made = least_made(p);
    return made > 0 && made >= most_gone(p);
}

/* Finds out whether the scene has room for the edit. An edit that removes boxes may go on without,
 * if the scene may become smaller: it is known later whether it does. What an edit makes before it
 * is refused stays until all views that are open now are closed or rest. */
static obb_status check_room(struct obb_prepared *p, obb_fault *fault)
{
    const obb_edit *edit = p->apply.edit;
    const size_t room = p->apply.scene->byte_room;
    if (room == SIZE_MAX)
        return OBB_OK;
    const size_t bytes = obb_edit_bytes(p->apply.scene, edit);
    p->excess = bytes > room ? bytes : 0;
    fault->bytes = p->excess;
    const bool removes =
        edit->remove_count + edit->remove_frame_count > 0 || edit->replace_all || expires(p);
    return p->excess > 0 && (!removes || cannot_shrink(p)) ? OBB_SCENE_MEMORY : OBB_OK;
}

static obb_status prepare(struct obb_prepared *p, double now_ms, obb_fault *fault)
{
    const obb_edit *edit = p->apply.edit;
    const struct obb_scene *scene = p->apply.scene;
    obb_status st = check_moment(p, now_ms, fault);
    if (st != OBB_OK)
        return st;
    st = check_room(p, fault);
    if (st != OBB_OK)
        return st;
    p->apply.time = p->future.moment.time;
    if (expires(p))
        st = obb_apply_expiry(&p->apply);
    if (st == OBB_OK)
        st = obb_apply_run(&p->apply, fault);
    if (st != OBB_OK)
        return st;
    st = list_changes(p);
    if (st == OBB_OK)
        st = reserve_seats(p);
    if (st == OBB_OK)
        st = reserve_expiry(p);
    if (st != OBB_OK)
        return st;
    fault->bytes = p->excess;
    if (p->excess > 0 && p->apply.boxes >= obb_scene_boxes(scene) &&
        p->made_count + p->frame_count > 0)
        return OBB_SCENE_MEMORY;
    p->future.appends = p->apply.change_count > 0 || edit->replace_all || p->future.drops ||
                        !obb_settings_same(&p->settings, &scene->settings);
    if (p->future.appends) {
        st = prepare_state(p);
        if (st != OBB_OK)
            return st;
        p->future.moment.revision = p->state->revision;
    } else if (!edit->has_time) {
        p->future.moment = obb_history_tail_now(&scene->history);
    }
    return check_needed_moments(p, fault);
}

/* Keeps the lists of boxes of the rigs up to date, after the record has its newest version. */
static void change_rig(struct obb_prepared *p, const struct obb_version *old,
                       const struct obb_version *new)
{
    const struct obb_mount *from = old == NULL ? NULL : obb_version_mount(old);
    struct obb_mount *to = new == NULL ? NULL : obb_version_mount(new);
    if (from == to)
        return;
    if (from != NULL && to != NULL && from->rig == to->rig) {
        to->seat = from->seat;
        return;
    }
    if (from != NULL)
        obb_rig_leave(from->rig, from, &p->apply.scene->versions);
    if (to != NULL)
        obb_rig_enter(to->rig, obb_version_record(new), to);
}

/* Takes change_rig back: all boxes have their seats again, in whose order boxes move with their
 * frame. */
static void unchange_rig(struct obb_prepared *p, const struct obb_version *old,
                         const struct obb_version *new)
{
    struct obb_versions *versions = &p->apply.scene->versions;
    struct obb_mount *to = old == NULL ? NULL : obb_version_mount(old);
    const struct obb_mount *from = new == NULL ? NULL : obb_version_mount(new);
    if (from == to)
        return;
    if (from != NULL && to != NULL && from->rig == to->rig) {
        to->seat = from->seat;
        return;
    }
    if (from != NULL)
        obb_rig_leave(from->rig, from, versions);
    if (to != NULL)
        obb_rig_return(to->rig, obb_version_record(old), to, versions);
}

/* Keeps the expiry up to date, as the current version of a box changes from one to the other under
 * the clock that began at `began`. */
static void change_expiry(struct obb_prepared *p, const struct obb_version *from,
                          const struct obb_version *to, obb_moment began)
{
    struct obb_expiry *expiry = &p->apply.scene->expiry;
    const double ttl = to == NULL ? OBB_NO_TTL : obb_version_extras(to)->ttl;
    if (to != NULL && ttl >= 0.0)
        obb_expiry_set(expiry, obb_version_record(to), obb_expiry_since(to, began) + ttl);
    else if (from != NULL && obb_version_extras(from)->ttl >= 0.0)
        obb_expiry_drop(expiry, obb_version_record(from));
}

/* Lets all ttls count as the clock says that began at `began`. O(boxes with a ttl). */
static void restart_expiry(struct obb_prepared *p, obb_moment began)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_expiry *expiry = &scene->expiry;
    for (size_t i = 0; i < expiry->count; i++) {
        const struct obb_version *box = obb_scene_current(scene, expiry->heap[i].record);
        expiry->heap[i].due = obb_expiry_since(box, began) + obb_version_extras(box)->ttl;
    }
    obb_expiry_order(expiry);
}

static void unflip(struct obb_prepared *p, const struct obb_change *change)
{
    struct obb_version *old = version_or_null(p, change->old),
                       *new = version_or_null(p, change->new);
    if (!obb_version_is_frame(latest_of(p, change))) {
        change_expiry(p, new, old, obb_history_newest(&p->apply.scene->history)->began);
        unchange_rig(p, old, new);
    }
    if (old == NULL)
        return;
    atomic_store_explicit(&old->died, OBB_NEVER, memory_order_release);
    atomic_store_explicit(&obb_version_record(old)->newest, change->old, memory_order_release);
}

void obb_edit_discard(struct obb_prepared *p)
{
    for (size_t i = p->apply.change_count; p->sealed && i-- > 0;)
        unflip(p, &p->apply.changes[i]);
    if (p->sealed && p->future.drops)
        restart_expiry(p, obb_history_newest(&p->apply.scene->history)->began);
    if (p->sealed) {
        p->apply.scene->cached_bounds = p->bounds;
        obb_scene_note_unlinks(p->apply.scene);
    }
    obb_state_destroy(p->state);
    p->apply.scene->ended_bytes -= p->ended_bytes;
    for (size_t i = p->apply.change_count; i-- > 0;)
        obb_apply_undo(&p->apply, &p->apply.changes[i]);
    p->apply.scene->next_id = p->apply.first_id;
    obb_scene_sweep(p->apply.scene, p->apply.change_count);
}

obb_status obb_edit_prepare(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                            size_t box_room, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault)
{
    return obb_edit_prepare_until(scene, edit, now_ms, box_room, NULL, arena, out_prepared,
                                  out_fault);
}

obb_status obb_edit_prepare_until(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                                  size_t box_room, const atomic_bool *cancel,
                                  struct obb_arena *arena, struct obb_prepared **out_prepared,
                                  obb_fault *out_fault)
{
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE, .dimensions = scene->settings.dimensions};
    const obb_settings settings = edit->settings != NULL ? *edit->settings : scene->settings;
    if (!obb_settings_valid(&settings))
        return OBB_BAD_VALUE;
    if (edit->dimensions != settings.dimensions ||
        (settings.dimensions != scene->settings.dimensions && !edit->replace_all &&
         obb_scene_boxes(scene) + obb_scene_frames(scene) > 0))
        return OBB_DIMENSIONS;
    struct obb_prepared *p = obb_arena_alloc(arena, 1, sizeof *p);
    if (p == NULL)
        return OBB_NO_MEMORY;
    *p = (struct obb_prepared){
        .settings = settings,
        .future = {.span = settings.history_span, .commits = settings.history_commits},
    };
    obb_status st = obb_apply_init(&p->apply, scene, edit, settings.dimensions, box_room, arena);
    if (st != OBB_OK)
        return st;
    p->apply.cancel = cancel;
    st = prepare(p, now_ms, out_fault);
    if (st == OBB_OK)
        *out_prepared = p;
    else
        obb_edit_discard(p);
    return st;
}

/* ---- Effects --------------------------------------------------------------------------------- */

bool obb_prepared_next(const struct obb_prepared *p, obb_effect_place *place, obb_effect *out)
{
    if (place->kind <= OBB_EFFECT_FRAME_REMOVED && p->apply.edit->replace_all)
        return false;
    while (place->next < p->apply.change_count) {
        const size_t i = (size_t)place->next++;
        const struct obb_version *before = version_or_null(p, p->apply.changes[i].old),
                                 *after = version_or_null(p, p->apply.changes[i].new);
        if (!obb_effect_is(place->kind, before, after))
            continue;
        *out = obb_effect_of(before, after);
        out->expired = i < p->apply.expired;
        return true;
    }
    return false;
}

uint64_t obb_prepared_fingerprint(const struct obb_prepared *p, uint64_t before)
{
    uint64_t fingerprint = before;
    for (size_t i = 0; i < p->apply.change_count; i++)
        obb_fingerprint_change(&fingerprint, version_or_null(p, p->apply.changes[i].old),
                               version_or_null(p, p->apply.changes[i].new));
    return fingerprint;
}

obb_effects obb_prepared_summary(const struct obb_prepared *p)
{
    const struct obb_scene *scene = p->apply.scene;
    obb_committed said;
    obb_prepared_describe(p, &said);
    return (obb_effects){.moment = p->future.moment,
                         .appends = p->future.appends,
                         .time_stated = p->apply.edit->has_time,
                         .replaces_all = p->apply.edit->replace_all,
                         .restarts = p->future.drops,
                         .has_settings = !obb_settings_same(&p->settings, &scene->settings),
                         .settings = p->settings,
                         .first_id = p->apply.first_id,
                         .next_id = scene->next_id,
                         .boxes = p->apply.boxes,
                         .removed = said.removed,
                         .put = said.put,
                         .posed = said.posed,
                         .transformed = said.transformed};
}

obb_status obb_prepared_effects(const struct obb_prepared *p, struct obb_arena *arena,
                                obb_effects *out)
{
    obb_effect *list = obb_arena_alloc(arena, p->apply.change_count, sizeof *list);
    if (list == NULL)
        return OBB_NO_MEMORY;
    *out = obb_prepared_summary(p);
    for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++) {
        obb_effect_place place = {.kind = (obb_effect_kind)kind};
        while (out->count < p->apply.change_count &&
               obb_prepared_next(p, &place, &list[out->count]))
            out->count++;
    }
    out->list = list;
    return OBB_OK;
}

/* Prepares the effects on a scene whose newest moment fits. */
static obb_status prepare_effects(struct obb_prepared *p, const obb_effects *effects)
{
    obb_status st = obb_apply_effects(&p->apply, effects, p->begins);
    if (st != OBB_OK)
        return st;
    st = list_changes(p);
    if (st == OBB_OK)
        st = reserve_seats(p);
    if (st == OBB_OK)
        st = reserve_expiry(p);
    if (st != OBB_OK)
        return st;
    if (!p->future.appends)
        return p->apply.change_count == 0 ? OBB_OK : OBB_BAD_VALUE;
    size_t fresh = 0; /* boxes and frames */
    for (size_t i = 0; i < p->apply.change_count; i++)
        fresh += p->apply.changes[i].old == OBB_NO_VERSION;
    if (p->settings.dimensions != p->apply.scene->settings.dimensions &&
        fresh < p->apply.boxes + p->apply.frames)
        return OBB_DIMENSIONS;
    return prepare_state(p);
}

obb_status obb_effects_prepare(struct obb_scene *scene, const obb_effects *effects, bool begins,
                               struct obb_arena *arena, struct obb_prepared **out_prepared)
{
    const obb_settings settings = effects->has_settings ? effects->settings : scene->settings;
    const obb_moment now = obb_history_tail_now(&scene->history);
    const uint64_t most = (uint64_t)OBB_MAX_WHOLE;
    if (!obb_settings_valid(&settings) || !(fabs(effects->moment.time) <= OBB_MAX_WHOLE) ||
        effects->moment.revision > most || effects->next_id > most)
        return OBB_BAD_VALUE;
    if (begins ? scene->has_committed || scene->first_view != NULL || obb_scene_has_tail(scene) ||
                     (effects->moment.revision == 0) == effects->appends
               : effects->moment.revision != now.revision + effects->appends)
        return OBB_REVISION;
    if (effects->restarts && !effects->appends)
        return OBB_BAD_VALUE;
    const bool restarts = !scene->has_committed && (effects->time_stated || begins);
    if (!restarts && effects->moment.time < now.time && !effects->restarts)
        return OBB_TIME_BACKWARDS;
    struct obb_prepared *p = obb_arena_alloc(arena, 1, sizeof *p);
    if (p == NULL)
        return OBB_NO_MEMORY;
    *p = (struct obb_prepared){
        .settings = settings,
        .future = {.moment = effects->moment,
                   .appends = effects->appends,
                   .drops = effects->restarts,
                   .restarts = restarts,
                   .span = settings.history_span,
                   .commits = settings.history_commits},
        .told = effects,
        .begins = begins,
        .of_effects = {.dimensions = settings.dimensions,
                       .has_time = effects->time_stated,
                       .time = effects->moment.time,
                       .replace_all = effects->replaces_all},
        .loads_since = true,
    };
    obb_status st = obb_apply_init_effects(&p->apply, scene, &p->of_effects, effects,
                                           settings.dimensions, arena);
    if (st != OBB_OK)
        return st;
    p->apply.revision = effects->appends ? effects->moment.revision : now.revision + 1;
    p->apply.time = effects->moment.time;
    st = prepare_effects(p, effects);
    if (st == OBB_OK)
        *out_prepared = p;
    else
        obb_edit_discard(p);
    return st;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Returns what prepares the first state of a scene, with no list yet. NULL: there is no memory. */
static struct obb_prepared *begin_first(const struct obb_scene *scene, double time,
                                        struct obb_arena *arena)
{
    const obb_settings *settings = &scene->settings;
    struct obb_prepared *p = obb_arena_alloc(arena, 1, sizeof *p);
    if (p != NULL)
        *p = (struct obb_prepared){
            .settings = *settings,
            .future = {.moment = {.revision = 1, .time = time},
                       .appends = true,
                       .restarts = true,
                       .span = settings->history_span,
                       .commits = settings->history_commits},
            .begins = true,
            .loads_since = true,
        };
    return p;
}

/* Makes the lists and the state of a first commit whose changes are made. */
static obb_status prepare_first(struct obb_prepared *p)
{
    obb_status st = list_changes(p);
    if (st == OBB_OK)
        st = reserve_seats(p);
    if (st == OBB_OK)
        st = reserve_expiry(p);
    return st == OBB_OK ? prepare_state(p) : st;
}

obb_status obb_copy_prepare(struct obb_scene *scene, const struct obb_view *view, uint64_t next_id,
                            bool time_stated, const atomic_bool *cancel, struct obb_arena *arena,
                            struct obb_prepared **out_prepared)
{
    const double time = view->info.at.time;
    struct obb_prepared *p = begin_first(scene, time, arena);
    if (p == NULL)
        return OBB_NO_MEMORY;
    p->of_effects =
        (obb_edit){.dimensions = scene->settings.dimensions, .has_time = time_stated, .time = time};
    obb_status st = obb_apply_init_copy(&p->apply, scene, &p->of_effects, view, arena);
    if (st != OBB_OK)
        return st;
    st = obb_apply_copy(&p->apply, view, cancel);
    if (st == OBB_OK)
        st = prepare_first(p);
    if (st != OBB_OK) {
        obb_edit_discard(p);
        return st;
    }
    scene->next_id = next_id;
    *out_prepared = p;
    return OBB_OK;
}

obb_status obb_laid_prepare(struct obb_scene *scene, const struct obb_view *view,
                            const struct obb_version *const *boxes, size_t count, uint64_t next_id,
                            const obb_edit *edit, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault)
{
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE, .dimensions = scene->settings.dimensions};
    if (edit->dimensions != scene->settings.dimensions)
        return OBB_DIMENSIONS;
    struct obb_prepared *p = begin_first(scene, 0.0, arena);
    if (p == NULL)
        return OBB_NO_MEMORY;
    obb_status st = obb_apply_init_laid(&p->apply, scene, edit, count, arena);
    if (st != OBB_OK)
        return st;
    st = obb_apply_lay(&p->apply, view, boxes, count);
    scene->next_id = next_id;
    if (st == OBB_OK)
        st = obb_apply_run(&p->apply, out_fault);
    if (st == OBB_OK)
        st = prepare_first(p);
    if (st == OBB_OK)
        *out_prepared = p;
    else
        obb_edit_discard(p);
    return st;
}

/* ---- Committing ------------------------------------------------------------------------------ */

static void flip(struct obb_prepared *p, const struct obb_change *change)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_version *old = version_or_null(p, change->old),
                       *new = version_or_null(p, change->new);
    if (old != NULL) {
        if (new == NULL)
            obb_apply_set_newer(old, OBB_NO_VERSION);
        else
            atomic_store_explicit(&obb_version_record(old)->newest, change->new,
                                  memory_order_release);
        atomic_store_explicit(&old->died, p->state->revision, memory_order_release);
    }
    if (obb_version_is_frame(latest_of(p, change)))
        return;
    change_rig(p, old, new);
    change_expiry(p, old, new, p->state->began);
    if (old != NULL)
        obb_cached_bounds_remove(&scene->cached_bounds, &old->box, scene->settings.dimensions);
    if (new != NULL)
        obb_cached_bounds_add(&scene->cached_bounds, &new->box, p->settings.dimensions);
}

/* Fetches the versions of a change. */
static void fetch(const struct obb_prepared *p, const struct obb_change *change)
{
    const struct obb_versions *versions = &p->apply.scene->versions;
    if (change->old != OBB_NO_VERSION)
        obb_versions_prefetch(versions, change->old);
    if (change->new != OBB_NO_VERSION)
        obb_versions_prefetch(versions, change->new);
}

static void flip_all(struct obb_prepared *p)
{
    const size_t count = p->apply.change_count, fetched = count > CACHED ? count - AHEAD : 0;
    for (size_t i = 0; i < count; i++) {
        if (i < fetched)
            fetch(p, &p->apply.changes[i + AHEAD]);
        flip(p, &p->apply.changes[i]);
    }
    if (p->future.drops)
        restart_expiry(p, p->state->began);
}

void obb_edit_seal(struct obb_prepared *p)
{
    if (!p->future.appends)
        return;
    p->sealed = true;
    p->bounds = p->apply.scene->cached_bounds;
    flip_all(p);
    obb_scene_sweep(p->apply.scene, p->apply.change_count);
}

void obb_prepared_describe(const struct obb_prepared *p, obb_committed *out)
{
    const obb_edit *edit = p->apply.edit;
    *out = (obb_committed){
        .moment = p->future.moment,
        .changed = p->future.appends,
        .restarted = p->future.drops,
        .removed_frames = p->apply.removed_frames,
        .made_frames = p->apply.made_frames,
        .removed = p->apply.removed,
        .expired = p->apply.expired,
        .put = edit->put_count,
        .posed = edit->pose_count - p->apply.missed_pose_count,
        .transformed = edit->transform_count - p->apply.missed_transform_count,
        .new_ids = p->apply.new_ids,
        .missed_poses = p->apply.missed_poses,
        .missed_transforms = p->apply.missed_transforms,
        .missed = p->apply.missed_pose_count + p->apply.missed_transform_count,
        .made = p->made,
        .ended = p->ended,
        .made_count = p->made_count,
        .ended_count = p->ended_count,
        .gone = p->gone,
        .frames = p->frames,
        .frame_count = p->frame_count,
    };
    if (p->told == NULL)
        return;
    out->removed = p->told->removed;
    out->put = p->told->put;
    out->posed = p->told->posed;
    out->transformed = p->told->transformed;
}

struct obb_scene *obb_prepared_scene(const struct obb_prepared *p) { return p->apply.scene; }

const obb_edit *obb_prepared_edit(const struct obb_prepared *p) { return p->apply.edit; }

uint64_t obb_prepared_first_id(const struct obb_prepared *p) { return p->apply.first_id; }

obb_status obb_prepared_find(const struct obb_prepared *p, const obb_at *at,
                             struct obb_history_position *out)
{
    return obb_history_find(&p->apply.scene->history, &p->future, at, out, NULL, NULL);
}

/* The scene had the boxes and frames of `before`, and has those of `after`. */
static void count_boxes(const struct obb_scene *scene, const struct obb_state *before,
                        const struct obb_state *after)
{
    if (scene->totals != NULL)
        (void)atomic_fetch_add_explicit(
            &scene->totals->boxes, after->boxes + after->frames - before->boxes - before->frames,
            memory_order_relaxed);
}

/* Makes the commit's state the newest one of the history. The history is not pruned. */
static void append(struct obb_prepared *p, obb_committed *out)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_state *before = obb_history_newest(&scene->history);
    if (p->future.restarts)
        before->time = before->until = p->future.moment.time;
    if (p->future.appends) {
        count_boxes(scene, before, p->state);
        if (!p->sealed)
            flip_all(p);
        obb_history_push(&scene->history, p->state);
        scene->settings = p->settings;
        scene->history.span = p->settings.history_span;
        scene->history.commits = p->settings.history_commits;
    } else {
        before->until = p->future.moment.time;
    }
    scene->time_stated = scene->time_stated || p->apply.edit->has_time;
    scene->has_committed = scene->has_committed || p->future.appends || p->apply.edit->has_time;
    obb_prepared_describe(p, out);
    if (p->future.appends) {
        p->state->removed = out->removed;
        p->state->put = out->put;
        p->state->posed = out->posed;
        p->state->transformed = out->transformed;
    }
}

/* Puts states out of reach that the commit lets go. */
static void prune(const struct obb_prepared *p)
{
    struct obb_history *history = &p->apply.scene->history;
    if (p->future.drops || p->begins)
        obb_history_drop(history);
    obb_history_prune(history);
}

static void clean_up(const struct obb_prepared *p)
{
    if (!p->sealed) /* the next seal reclaims what this commit leaves */
        obb_scene_sweep(p->apply.scene, p->apply.change_count);
    obb_scene_settle(p->apply.scene);
}

void obb_edit_commit(struct obb_prepared *p, obb_committed *out)
{
    assert(!obb_scene_has_tail(p->apply.scene));
    if (p->begins && p->future.appends) /* no view has seen the state before */
        obb_history_newest(&p->apply.scene->history)->revision = p->state->revision - 1;
    append(p, out);
    prune(p);
    clean_up(p);
}

/* ---- The tail -------------------------------------------------------------------------------- */

static struct present present_of(const struct obb_scene *scene)
{
    const struct obb_state *newest = obb_history_newest(&scene->history);
    return (struct present){.time = newest->time,
                            .until = newest->until,
                            .oldest_revision = obb_history_tail_oldest(&scene->history).revision,
                            .next_id = scene->next_id,
                            .has_committed = scene->has_committed,
                            .time_stated = scene->time_stated,
                            .settings = scene->settings,
                            .bounds = scene->cached_bounds};
}

/* Lets readers know the scene as it was when its published state was the newest one. */
static void show(struct obb_scene *scene, const struct present *present)
{
    scene->history.tail.time = present->time;
    scene->history.tail.until = present->until;
    scene->published = (struct obb_published){.next_id = present->next_id,
                                              .time_stated = present->time_stated,
                                              .bounds = present->bounds};
}

void obb_edit_apply(struct obb_prepared *p, obb_committed *out)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_history_tail *tail = &scene->history.tail;
    assert(!p->begins);
    p->before = present_of(scene);
    p->before.next_id = p->apply.first_id;
    if (p->sealed)
        p->before.bounds = p->bounds;
    if (tail->commits++ == 0) {
        show(scene, &p->before);
        tail->states = tail->ended = 0;
        tail->oldest_revision = p->before.oldest_revision;
    }
    append(p, out);
    if (p->future.appends) {
        tail->states++;
        tail->ended += p->state->ended->count;
    }
    prune(p);
    p->after = present_of(scene);
    obb_scene_settle(scene);
}

void obb_edit_publish(struct obb_prepared *p)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_history_tail *tail = &scene->history.tail;
    assert(tail->commits > 0 && tail->states >= p->future.appends);
    if (p->future.appends) {
        tail->states--;
        tail->ended -= p->state->ended->count;
    }
    if (--tail->commits > 0)
        show(scene, &p->after);
    assert(!p->future.appends || obb_history_published(&scene->history) == p->state);
    obb_history_reach(&scene->history, p->after.oldest_revision);
    clean_up(p);
}

void obb_edit_revert(struct obb_prepared *p)
{
    struct obb_scene *scene = p->apply.scene;
    struct obb_history *history = &scene->history;
    struct obb_history_tail *tail = &history->tail;
    assert(tail->commits > 0 && tail->states >= p->future.appends);
    if (p->future.appends) {
        assert(obb_history_newest(history) == p->state && p->state->pins == 0);
        obb_history_unpush(history);
        tail->states--;
        tail->ended -= p->state->ended->count;
    }
    tail->commits--;
    tail->oldest_revision = p->before.oldest_revision;
    struct obb_state *newest = obb_history_newest(history);
    if (p->future.restarts) /* else it is the same, and workers may read it */
        newest->time = p->before.time;
    newest->until = p->before.until;
    if (p->future.appends)
        count_boxes(scene, p->state, newest);
    scene->settings = p->before.settings;
    history->span = scene->settings.history_span;
    history->commits = scene->settings.history_commits;
    scene->time_stated = p->before.time_stated;
    scene->has_committed = p->before.has_committed;
    p->bounds = p->before.bounds;
    p->sealed = p->future.appends;
    obb_edit_discard(p);
    obb_scene_settle(scene);
}

obb_status obb_committed_read(const struct obb_view *before, const struct obb_view *after,
                              struct obb_arena *arena, obb_committed *out)
{
    assert(after->scene == before->scene && after->revision == before->revision + 1);
    const struct obb_state *state = after->state;
    const struct obb_ended *from = state->ended;
    const size_t new_frames = state->made_frames == NULL ? 0 : state->made_frames->count;
    const struct obb_version **ended = (const struct obb_version **)obb_arena_alloc(
        arena, from->count, sizeof(const struct obb_version *));
    if (ended == NULL)
        return OBB_NO_MEMORY;
    const struct obb_version **frames = (const struct obb_version **)obb_arena_alloc(
        arena, from->count + new_frames, sizeof(const struct obb_version *));
    if (frames == NULL)
        return OBB_NO_MEMORY;
    size_t replaced = 0, ended_count = 0, frame_count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const struct obb_version *old = obb_version_at(after->versions, from->versions[i]);
        const uint32_t newer = obb_version_newer(old);
        if (obb_version_is_frame(old)) {
            frames[frame_count++] =
                newer == OBB_NO_VERSION ? old : obb_version_at(after->versions, newer);
            continue;
        }
        ended[ended_count++] = old;
        replaced += newer != OBB_NO_VERSION;
    }
    for (size_t i = 0; i < new_frames; i++)
        frames[frame_count++] = obb_version_at(after->versions, state->made_frames->versions[i]);
    const size_t removed = ended_count - replaced;
    const size_t new = after->info.boxes + removed - before->info.boxes;
    const struct obb_version **made = (const struct obb_version **)obb_arena_alloc(
        arena, replaced + new, sizeof(const struct obb_version *));
    if (made == NULL)
        return OBB_NO_MEMORY;
    size_t made_count = 0;
    for (size_t i = 0; i < ended_count; i++)
        if (obb_version_newer(ended[i]) != OBB_NO_VERSION)
            made[made_count++] = obb_version_at(after->versions, obb_version_newer(ended[i]));
    uint64_t id = state->first_id - 1;
    while (made_count < replaced + new) {
        made[made_count] = obb_view_next(after, id);
        assert(made[made_count] != NULL); /* a commit never removes a box that it makes */
        id = made[made_count++]->id;
    }
    *out = (obb_committed){.moment = {state->revision, state->time},
                           .changed = true,
                           .restarted = state->restarted,
                           .removed = state->removed,
                           .expired = state->expired,
                           .put = state->put,
                           .posed = state->posed,
                           .transformed = state->transformed,
                           .made = made,
                           .ended = ended,
                           .made_count = made_count,
                           .ended_count = ended_count,
                           .gone = removed,
                           .frames = frames,
                           .frame_count = frame_count};
    return OBB_OK;
}

bool obb_committed_expired(const obb_committed *committed, uint64_t id)
{
    size_t low = 0, high = committed->expired;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (committed->ended[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < committed->expired && committed->ended[low]->id == id;
}

uint64_t obb_scene_changed(struct obb_scene *scene, const obb_target *target)
{
    const struct obb_view now = obb_view_of_now(scene);
    const struct obb_version *box =
        target->has_id ? obb_view_find_id(&now, target->id) : obb_view_find(&now, target->name);
    return box != NULL ? obb_view_changed(box) : 0;
}

uint64_t obb_scene_tail_changed(struct obb_scene *scene, const obb_target *target)
{
    const struct obb_record *record =
        target->has_id ? obb_id_tree_find(&scene->ids, target->id)
                       : obb_record_find(scene, target->name, obb_record_hash(scene, target->name));
    const struct obb_version *current = record != NULL ? obb_scene_current(scene, record) : NULL;
    return current != NULL ? obb_view_changed(current) : 0;
}

bool obb_scene_tail_has_frame(struct obb_scene *scene, obb_str name)
{
    const struct obb_rig *rig = obb_rigs_seek(&scene->rigs, name, false);
    return rig != NULL && obb_str_equal(obb_record_name(rig->record), name) &&
           obb_scene_current(scene, rig->record) != NULL;
}
