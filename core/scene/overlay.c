#include "core/scene/overlay.h"

#include "core/base/sort.h"
#include "core/scene/commit.h"
#include "core/scene/footprint.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <string.h>

/* The state of the small scene before the edit, and the one after it. */
enum { BEFORE = 1, AFTER = 2 };

/* A version of the small scene whose entity is, for as long as the overlay lives, the string of the
 * scene below: entities are equal if their strings are the same. */
struct lent {
    struct obb_version *version;
    struct obb_interned *own;
    struct lent *next;
};

struct obb_overlay {
    struct obb_scene *scene;
    struct lent *lent;
    uint64_t *hidden; /* places by hash, as in struct obb_view_overlay */
    size_t hidden_mask, hidden_count;
    struct obb_budget *budget;
    size_t drawn; /* from it, for the small scene */
};

struct obb_scene *obb_overlay_end(struct obb_overlay *overlay)
{
    if (overlay == NULL)
        return NULL;
    for (struct lent *lent = overlay->lent; lent != NULL; lent = lent->next)
        lent->version->entity = lent->own;
    struct obb_scene *scene = overlay->scene;
    while (scene != NULL && scene->first_view != NULL)
        (void)obb_view_close(scene->first_view);
    obb_budget_give(overlay->budget, overlay->drawn);
    return scene;
}

void obb_overlay_destroy(struct obb_overlay *overlay)
{
    obb_scene_destroy(obb_overlay_end(overlay));
}

static obb_status draw(struct obb_overlay *overlay, size_t bytes)
{
    if (!obb_budget_take(overlay->budget, bytes))
        return OBB_NO_MEMORY;
    overlay->drawn += bytes;
    return OBB_OK;
}

/* ---- The boxes below that are touched -------------------------------------------------------- */

struct touched {
    uint64_t *ids;
    size_t count;
};

static void touch(struct touched *touched, const struct obb_view *below, const obb_target *target)
{
    const struct obb_version *box =
        target->has_id ? obb_view_find_id(below, target->id) : obb_view_find(below, target->name);
    if (box != NULL)
        touched->ids[touched->count++] = box->id;
}

/* Sorts the ids, and drops repeated ones. */
static void keep_different(struct touched *touched)
{
    size_t kept = 0;
    obb_sort_u64(touched->ids, touched->count);
    for (size_t i = 0; i < touched->count; i++)
        if (kept == 0 || touched->ids[kept - 1] != touched->ids[i])
            touched->ids[kept++] = touched->ids[i];
    touched->count = kept;
}

static obb_status touched_by_edit(const struct obb_view *below, const obb_edit *edit,
                                  struct obb_arena *arena, struct touched *out)
{
    const size_t most =
        edit->remove_count + edit->put_count + edit->pose_count + edit->transform_count;
    *out = (struct touched){.ids = obb_arena_alloc(arena, most, sizeof *out->ids)};
    if (out->ids == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < edit->remove_count; i++)
        touch(out, below, &edit->removes[i]);
    for (size_t i = 0; i < edit->put_count; i++)
        touch(out, below, &edit->puts[i].target);
    for (size_t i = 0; i < edit->pose_count; i++)
        touch(out, below, &edit->poses[i].target);
    for (size_t i = 0; i < edit->transform_count; i++)
        touch(out, below, &edit->transforms[i].target);
    keep_different(out);
    return OBB_OK;
}

static obb_status touched_by_effects(const obb_effects *effects, struct obb_arena *arena,
                                     struct touched *out)
{
    *out = (struct touched){.ids = obb_arena_alloc(arena, effects->count, sizeof *out->ids)};
    if (out->ids == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < effects->count; i++)
        if (effects->list[i].kind != OBB_EFFECT_NEW && effects->list[i].id != 0)
            out->ids[out->count++] = effects->list[i].id;
    keep_different(out);
    return OBB_OK;
}

static obb_status hide(struct obb_overlay *overlay, const struct touched *touched,
                       struct obb_arena *arena)
{
    size_t places = 8;
    while (places < 2 * touched->count)
        places *= 2;
    overlay->hidden = obb_arena_alloc(arena, places, sizeof *overlay->hidden);
    if (overlay->hidden == NULL)
        return OBB_NO_MEMORY;
    memset(overlay->hidden, 0, places * sizeof *overlay->hidden);
    overlay->hidden_mask = places - 1;
    overlay->hidden_count = touched->count;
    for (size_t i = 0; i < touched->count; i++) {
        size_t place = obb_view_place_of(touched->ids[i], overlay->hidden_mask);
        while (overlay->hidden[place] != 0)
            place = (place + 1) & overlay->hidden_mask;
        overlay->hidden[place] = touched->ids[i];
    }
    return OBB_OK;
}

/* ---- The small scene ------------------------------------------------------------------------- */

static obb_status commit(struct obb_scene *scene, const obb_edit *edit, struct obb_arena *arena,
                         obb_fault *out_fault)
{
    struct obb_prepared *prepared;
    obb_committed committed;
    const obb_status st = obb_edit_prepare(scene, edit, 0.0, SIZE_MAX, arena, &prepared, out_fault);
    if (st == OBB_OK)
        obb_edit_commit(prepared, &committed);
    return st;
}

/* Copies the touched boxes as the view shows them: the state BEFORE. */
static obb_status copy_boxes(struct obb_overlay *overlay, const struct obb_view *below,
                             const struct touched *touched, double time, struct obb_arena *arena)
{
    obb_put *puts = obb_arena_alloc(arena, touched->count, sizeof *puts);
    if (puts == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < touched->count; i++) {
        const struct obb_version *box = obb_view_find_id(below, touched->ids[i]);
        puts[i] = (obb_put){.target.name = obb_view_name(box),
                            .parts = OBB_PUT_ALL,
                            .box = obb_view_pose(below, box),
                            .attributes = obb_view_attributes(box)};
    }
    const obb_edit edit = {.dimensions = below->info.dimensions,
                           .has_time = true,
                           .time = time,
                           .puts = puts,
                           .put_count = touched->count,
                           .put_ids = touched->ids,
                           .replace_all = true}; /* a state of its own, also without boxes */
    obb_fault fault;
    obb_status st = draw(overlay, obb_edit_bytes(overlay->scene, &edit));
    if (st == OBB_OK)
        st = commit(overlay->scene, &edit, arena, &fault);
    overlay->scene->next_id = below->next_id;
    return st;
}

/* Makes an overlay whose scene is in the state BEFORE. */
static obb_status begin(const struct obb_view *below, const struct touched *touched, double time,
                        struct obb_arena *arena, struct obb_overlay **out)
{
    struct obb_overlay *overlay = obb_arena_alloc(arena, 1, sizeof *overlay);
    if (overlay == NULL)
        return OBB_NO_MEMORY;
    *overlay = (struct obb_overlay){.budget = arena->budget};
    const obb_settings settings = {.dimensions = below->info.dimensions,
                                   .history_span = OBB_MAX_WHOLE,
                                   .history_commits = AFTER};
    const obb_str name = {"overlay", 7};
    obb_status st = draw(overlay, obb_scene_empty_bytes(name));
    if (st == OBB_OK)
        st = obb_scene_create(name, &settings, 0.0, obb_layers_kernels(below->layers),
                              &overlay->scene);
    if (st == OBB_OK)
        st = hide(overlay, touched, arena);
    if (st == OBB_OK)
        st = copy_boxes(overlay, below, touched, time, arena);
    if (st == OBB_OK)
        *out = overlay;
    else
        obb_overlay_destroy(overlay);
    return st;
}

obb_status obb_overlay_of_edit(const struct obb_view *below, const obb_edit *edit,
                               struct obb_arena *arena, struct obb_overlay **out,
                               obb_fault *out_fault)
{
    struct touched touched;
    struct obb_overlay *overlay;
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE};
    obb_status st = touched_by_edit(below, edit, arena, &touched);
    if (st == OBB_OK)
        st = begin(below, &touched, 0.0, arena, &overlay);
    if (st != OBB_OK)
        return st;
    st = draw(overlay, obb_edit_bytes(overlay->scene, edit));
    if (st == OBB_OK)
        st = commit(overlay->scene, edit, arena, out_fault);
    if (st == OBB_OK)
        *out = overlay;
    else
        obb_overlay_destroy(overlay);
    return st;
}

/* Writes the effects on boxes as the small scene takes them: it has no frames, and its boxes stand
 * where the effects say that they are in the scene. */
static obb_status without_frames(const obb_effects *effects, struct obb_arena *arena,
                                 obb_effects *out)
{
    obb_effect *list = obb_arena_alloc(arena, effects->count, sizeof *list);
    if (list == NULL)
        return OBB_NO_MEMORY;
    out->count = 0;
    for (size_t i = 0; i < effects->count; i++) {
        if (effects->list[i].id == 0)
            continue;
        list[out->count] = effects->list[i];
        list[out->count++].frame = (obb_str){.length = 0};
    }
    out->list = list;
    return OBB_OK;
}

obb_status obb_overlay_of_effects(const struct obb_view *below, const obb_effects *effects,
                                  struct obb_arena *arena, struct obb_overlay **out)
{
    struct touched touched;
    struct obb_overlay *overlay;
    const double after = effects->moment.time, before = below->info.now.time;
    obb_status st = touched_by_effects(effects, arena, &touched);
    if (st == OBB_OK) /* a scene's first commit may state any time */
        st = begin(below, &touched, before < after ? before : after, arena, &overlay);
    if (st != OBB_OK)
        return st;
    obb_effects own = *effects;
    st = without_frames(effects, arena, &own);
    if (st != OBB_OK) {
        obb_overlay_destroy(overlay);
        return st;
    }
    own.moment.revision = effects->appends ? AFTER : BEFORE;
    own.time_stated = true;
    own.has_settings = false;
    struct obb_prepared *prepared;
    obb_committed committed;
    st = draw(overlay, effects->count * (sizeof(struct obb_version) + sizeof(struct obb_record)));
    if (st == OBB_OK)
        st = obb_effects_prepare(overlay->scene, &own, false, arena, &prepared);
    if (st == OBB_OK) {
        obb_edit_commit(prepared, &committed);
        *out = overlay;
    } else {
        obb_overlay_destroy(overlay);
    }
    return st;
}

/* ---- The view -------------------------------------------------------------------------------- */

/* Gives the boxes of `over` the strings of the entities that the scene below has, too. */
static obb_status lend_entities(struct obb_overlay *overlay, const struct obb_view *below,
                                const struct obb_view *over, struct obb_arena *arena)
{
    for (const struct obb_version *box = obb_view_next(over, 0); box != NULL;
         box = obb_view_next(over, box->id)) {
        if (box->entity == NULL)
            continue;
        const struct obb_interned *shared = obb_view_entity(below, obb_interned_text(box->entity));
        if (shared == NULL || shared == box->entity)
            continue;
        struct lent *lent = obb_arena_alloc(arena, 1, sizeof *lent);
        if (lent == NULL)
            return OBB_NO_MEMORY;
        struct obb_version *version = obb_versions_slot(&overlay->scene->versions, box->self);
        *lent = (struct lent){.version = version, .own = box->entity, .next = overlay->lent};
        overlay->lent = lent;
        version->entity = (struct obb_interned *)(uintptr_t)shared;
    }
    return OBB_OK;
}

obb_status obb_overlay_open(struct obb_overlay *overlay, const struct obb_view *below,
                            const obb_at *at, struct obb_arena *arena, struct obb_view **out)
{
    struct obb_view *over, *view = obb_arena_alloc(arena, 1, sizeof *view);
    struct obb_view_overlay *joint = obb_arena_alloc(arena, 1, sizeof *joint);
    if (view == NULL || joint == NULL)
        return OBB_NO_MEMORY;
    obb_status st = obb_view_open(overlay->scene, at, &over, NULL, NULL);
    if (st == OBB_OK)
        st = lend_entities(overlay, below, over, arena);
    if (st != OBB_OK)
        return st;
    *joint = (struct obb_view_overlay){.below = below,
                                       .over = over,
                                       .hidden = overlay->hidden,
                                       .hidden_mask = overlay->hidden_mask};
    *view = *below;
    view->overlay = joint;
    view->next_id = overlay->scene->next_id;
    view->info.boxes = below->info.boxes - overlay->hidden_count + over->info.boxes;
    *out = view;
    return OBB_OK;
}
