#include "core/scene/rehearsal.h"

#include "core/base/cancel.h"
#include "core/scene/commit_inside.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

/* Where a moment lies. */
enum place {
    KEPT,    /* in the history as it is */
    BETWEEN, /* between the newest state and the commit */
    AFTER    /* at the commit */
};

static enum place place_of(const struct obb_history_position *position, size_t count)
{
    if (position->index >= count)
        return AFTER;
    return position->index + 1 == count && position->alpha > 0.0 ? BETWEEN : KEPT;
}

/* Returns how to ask for the state that the view is opened on: the newest one below an overlay. */
static obb_at state_of(const struct obb_history_position *position, enum place place)
{
    if (place != KEPT)
        return (obb_at){.kind = OBB_AT_NOW};
    if (position->alpha > 0.0)
        return (obb_at){.kind = OBB_AT_TIME, .time = position->at.time};
    return (obb_at){.kind = OBB_AT_REVISION, .revision = position->at.revision};
}

/* Returns the number of all moments. */
static size_t count_moments(const obb_edit *edit)
{
    size_t count = 0;
    for (size_t i = 0; i < edit->moment_count; i++)
        count += obb_needed_count(&edit->moments[i]);
    return count;
}

static obb_status find_positions(const struct obb_prepared *prepared,
                                 struct obb_history_position *positions)
{
    const obb_edit *edit = obb_prepared_edit(prepared);
    size_t next = 0;
    for (size_t i = 0; i < edit->moment_count; i++)
        for (size_t k = 0; k < obb_needed_count(&edit->moments[i]); k++) {
            const obb_at at = obb_needed_at(&edit->moments[i], k);
            const obb_status st = obb_prepared_find(prepared, &at, &positions[next++]);
            if (st != OBB_OK)
                return st;
        }
    return OBB_OK;
}

static obb_status open_views(const struct obb_prepared *prepared, struct obb_arena *arena,
                             const struct obb_history_position *positions, size_t count,
                             obb_rehearsal *out)
{
    struct obb_scene *scene = obb_prepared_scene(prepared);
    const size_t kept = scene->history.count;
    obb_needed_moment *states = obb_arena_alloc(arena, count, sizeof *states);
    if (states == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        states[i] =
            (obb_needed_moment){.at = state_of(&positions[i], place_of(&positions[i], kept))};
    obb_fault fault;
    const obb_status st = obb_views_open_tail(scene, states, count, arena, out->views, out->opened,
                                              &out->opened_count, &fault);
    for (size_t i = 0; i < out->opened_count; i++)
        out->opened[i]->next_id = obb_prepared_first_id(prepared);
    return st;
}

/* Returns a copy of the view that names the moment as the commit would. next_id: the scene's after
 * the commit; boxes that a query adds to the view have ids from it on. */
static struct obb_view *named(const struct obb_view *view,
                              const struct obb_history_position *position, uint64_t next_id,
                              struct obb_arena *arena)
{
    struct obb_view *copy = obb_arena_alloc(arena, 1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *view;
    copy->info.at = position->at;
    copy->info.clamped = position->clamped;
    copy->next_id = next_id;
    return copy;
}

/* Lays the commit over the views of the moments that it makes. Moments that follow each other at
 * the same place share a view. */
static obb_status lay_commit(const struct obb_prepared *prepared, const atomic_bool *cancel,
                             struct obb_arena *arena, const struct obb_history_position *positions,
                             size_t count, obb_rehearsal *out)
{
    const size_t kept = obb_prepared_scene(prepared)->history.count;
    const uint64_t next_id = obb_prepared_scene(prepared)->next_id;
    struct obb_view *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct obb_history_position *position = &positions[i];
        const enum place place = place_of(position, kept);
        if (i > 0 && position->index == positions[i - 1].index &&
            position->at.time == positions[i - 1].at.time &&
            position->clamped == positions[i - 1].clamped) {
            out->views[i] = last;
            continue;
        }
        if (obb_cancelled(cancel))
            return OBB_CANCELLED;
        struct obb_view *below = out->views[i];
        if (place != KEPT) {
            obb_status st = OBB_OK;
            obb_effects effects;
            if (out->overlay == NULL) {
                st = obb_prepared_effects(prepared, arena, &effects);
                if (st == OBB_OK)
                    st = obb_overlay_of_effects(below, &effects, arena, &out->overlay);
            }
            const obb_at at = {.kind = OBB_AT_TIME, .time = position->at.time};
            if (st == OBB_OK)
                st = obb_overlay_open(out->overlay, below, place == BETWEEN ? &at : NULL, arena,
                                      &below);
            if (st != OBB_OK)
                return st;
        }
        last = named(below, position, next_id, arena);
        if (last == NULL)
            return OBB_NO_MEMORY;
        out->views[i] = last;
    }
    return OBB_OK;
}

/* Checks the `with` of each moment on each of its views once: those that are the same follow each
 * other. */
static obb_status check_withs(const struct obb_prepared *prepared, const atomic_bool *cancel,
                              struct obb_budget *budget, const obb_rehearsal *rehearsal,
                              obb_fault *fault)
{
    struct obb_view *const *views = rehearsal->views;
    const obb_edit *edit = obb_prepared_edit(prepared);
    struct obb_arena arena = {.budget = budget};
    obb_status st = OBB_OK;
    size_t next = 0;
    for (size_t i = 0; i < edit->moment_count && st == OBB_OK; i++) {
        const size_t first = next;
        next += obb_needed_count(&edit->moments[i]);
        for (size_t k = first; k < next && edit->moments[i].with != NULL && st == OBB_OK; k++) {
            if (k > first && views[k] == views[k - 1])
                continue;
            struct obb_overlay *overlay = NULL;
            st = obb_cancelled(cancel) ? OBB_CANCELLED
                                       : obb_overlay_of_edit(views[k], edit->moments[i].with,
                                                             cancel, &arena, &overlay, fault);
            fault->of_with = true;
            fault->moment = i;
            obb_overlay_destroy(overlay);
            obb_arena_reset(&arena);
        }
    }
    obb_arena_fini(&arena);
    fault->of_with = fault->of_with && fault->group != OBB_GROUP_NONE;
    return st;
}

obb_status obb_rehearse(const struct obb_prepared *prepared, const atomic_bool *cancel,
                        struct obb_arena *arena, obb_rehearsal *out, obb_fault *out_fault)
{
    const size_t count = count_moments(obb_prepared_edit(prepared));
    struct obb_history_position *positions = obb_arena_alloc(arena, count, sizeof *positions);
    out->views = (struct obb_view **)obb_arena_alloc(arena, 2 * count, sizeof(struct obb_view *));
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE};
    if (positions == NULL || out->views == NULL)
        return OBB_NO_MEMORY;
    out->opened = out->views + count;
    obb_status st = find_positions(prepared, positions);
    if (st == OBB_OK)
        st = open_views(prepared, arena, positions, count, out);
    if (st == OBB_OK)
        st = lay_commit(prepared, cancel, arena, positions, count, out);
    return st == OBB_OK ? check_withs(prepared, cancel, arena->budget, out, out_fault) : st;
}

void obb_rehearsal_end(obb_rehearsal *rehearsal)
{
    obb_overlay_destroy(rehearsal->overlay);
    for (size_t i = 0; i < rehearsal->opened_count; i++)
        (void)obb_view_close(rehearsal->opened[i]);
    *rehearsal = (obb_rehearsal){.opened_count = 0};
}
