/* Effects: what one commit did to a scene, as plain data.
 *
 * An edit says what was asked; effects say what came out, to the bit: no form of a box, no
 * transform and no condition is left. So a scene that the same effects are applied to in the same
 * order is the same scene, whichever version of obbd computed them. Logs and journals are made of
 * effects.
 *
 * Effects come from a commit that is prepared (obb_prepared_effects, commit.h), or from the
 * history: a step is the way from a kept state to the next one (obb_view_step, view.h). */
#ifndef OBB_EFFECTS_H
#define OBB_EFFECTS_H

#include "core/base/arena.h"
#include "core/scene/edit.h"

struct obb_version;

/* In the order in which a commit's effects are listed and applied. */
typedef enum obb_effect_kind {
    OBB_EFFECT_REMOVED,       /* the box is no more; expired ones come first */
    OBB_EFFECT_FRAME_REMOVED, /* the frame is no more; its boxes were removed before */
    OBB_EFFECT_FRAME,         /* a frame was made or moved, and its boxes with it */
    OBB_EFFECT_PUT,           /* more than the pose of a box changed */
    OBB_EFFECT_NEW,           /* a new box, in the order of ids */
    OBB_EFFECT_POSED          /* only the pose of a box changed, or only its ttl was renewed */
} obb_effect_kind;
#define OBB_EFFECT_KINDS 6

/* What a commit did to one box, or to one frame: of a frame only name, box without half extents,
 * parts and `teleported` count. The texts belong to whoever made the effect. */
typedef struct obb_effect {
    obb_effect_kind kind;
    uint64_t id;               /* 0: a frame */
    obb_str name;              /* applied only for a new box and a frame */
    unsigned parts;            /* OBB_PUT_…: those whose bits changed; all of them for a new box.
                     * OBB_PUT_FRAME: the box stands in another frame, or in none any more */
    obb_box box;               /* after the commit; unless it was removed */
    obb_attributes attributes; /* likewise */
    obb_str frame;             /* the box stands in it after the commit; length 0: in none */
    obb_box local;             /* the pose in that frame */
    bool carried;              /* the box moved with its frame, at the same pose in it */
    bool teleported;           /* the box changed its place or size without interpolation */
    bool expired;              /* the box was removed because its ttl had passed */
    bool put;                  /* of a changed box: a put of the commit names it */
    double since;              /* with a ttl: the time from which it counts */
    /* Of a new box or frame in effects that begin a scene: the revision of the commit that last
     * changed it. 0: that of the effects. */
    uint64_t changed;

    /* The box before and after the commit, NULL: there is none. Both are NULL in an effect that was
     * read from a record. They may be read while a view of the state before is open. */
    const struct obb_version *before, *after;
} obb_effect;

/* What a commit did. */
typedef struct obb_effects {
    obb_moment moment;     /* of the scene after the commit */
    bool appends;          /* the commit made a state. false: it only moved the time on */
    bool time_stated;      /* false: the time is the server's clock, or that of the commit before */
    bool restarts;         /* the clock starts anew: the history before the commit is dropped */
    bool replaces_all;     /* all boxes are removed first, without an effect for each */
    bool has_settings;     /* they changed: */
    obb_settings settings; /* those after the commit */
    uint64_t first_id;     /* of the next new box before the commit; 0 in effects that were read */
    uint64_t next_id;      /* likewise, after the commit */
    size_t removed, put, posed, transformed; /* as in obb_committed */
    size_t boxes;                            /* alive after the commit; only of a prepared commit */
    const obb_effect *list;
    size_t count;
} obb_effects;

/* Describes the change of a box from `before` to `after`, of which one may be NULL. */
obb_effect obb_effect_of(const struct obb_version *before, const struct obb_version *after);

/* Returns whether obb_effect_of would be of the kind, without describing the change. */
bool obb_effect_is(obb_effect_kind kind, const struct obb_version *before,
                   const struct obb_version *after);

/* A place among the effects of one kind, of a step or of a prepared commit. Zeroed except for the
 * kind: before the first. */
typedef struct obb_effect_place {
    obb_effect_kind kind;
    uint64_t next; /* index among the changes, or the id of a new box of a step */
} obb_effect_place;

/* ---- Steps of the history -------------------------------------------------------------------- */

/* The commit that led from a kept state to the next one. Plain data, written by obb_view_step.
 * While the view is open, any thread may read the step. */
typedef struct obb_step {
    obb_moment moment; /* of the commit */
    double until;      /* when the step was taken, its state held until then: later commits that
                        * changed nothing have moved the time on */
    bool time_stated, restarts, has_settings; /* as in obb_effects */
    obb_settings settings;
    uint64_t first_id, next_id; /* the new boxes have ids in [first_id, next_id) */
    size_t ended_count;         /* boxes that were changed or removed */
    size_t expired;             /* the first so many of them were removed by their ttl */
    size_t removed, put, posed, transformed; /* as in obb_effects */
    const struct obb_ended *ended;           /* opaque */
    const struct obb_made *made;             /* opaque; NULL: no frame was made */
    const struct obb_scene *scene;
} obb_step;

/* Writes the next effect of the place's kind, and moves the place on. Returns false if there is
 * none. All effects of a kind take O(changes). Any thread. */
bool obb_step_next(const obb_step *step, obb_effect_place *place, obb_effect *out);

/* Returns whether the frame of the box did all of the effect: the box kept its pose in the frame,
 * and was teleported only if the frame was. effect: OBB_EFFECT_POSED, by obb_step_next. */
bool obb_step_carried(const obb_step *step, const obb_effect *effect);

/* Returns the effects of the step without their list. */
obb_effects obb_step_summary(const obb_step *step);

/* Writes all effects of the step; the list is in the arena. OBB_NO_MEMORY. Any thread; for
 * tests. */
obb_status obb_step_effects(const obb_step *step, struct obb_arena *arena, obb_effects *out);

#endif
