/* The history of a scene: its states that can still be asked for, oldest first, and the state that
 * a moment means. Internal to core, the writer's.
 *
 * The newest states may be the tail: the writer has applied their commits, and not published them
 * yet. Only the writer sees the tail. For everybody else the newest state is the published one, and
 * a function that does not name the tail answers with the published states.
 *
 * A state holds from its `time` to `until`; a commit that changes nothing and states a later time
 * moves `until`. From `until` to the `time` of the next state, poses are interpolated between the
 * two states. Revisions are consecutive. */
#ifndef OBB_HISTORY_H
#define OBB_HISTORY_H

#include "core/base/alloc.h"
#include "core/index/layers.h"
#include "core/scene/moment.h"
#include "core/scene/settings.h"

#include <stdatomic.h>

struct obb_view;

/* The versions that one commit ended, of boxes and of frames, in the order in which the commit
 * touched them; or those of several commits, of which the same kept state is the last one that
 * holds them. */
struct obb_ended {
    struct obb_ended *next; /* in a list */
    uint64_t died;          /* of one of the versions */
    size_t room, count;
    /* While the versions are being reclaimed: `done` of them have been looked at, and the first
     * `kept` are those that a state before `needed` holds. */
    size_t done, kept;
    uint64_t needed;
    uint32_t versions[];
};

/* Returns the bytes of a block for so many versions on the heap. */
static inline size_t obb_ended_bytes(size_t room)
{
    return obb_heap_bytes(sizeof(struct obb_ended) + room * sizeof(uint32_t));
}

/* A list of blocks. */
struct obb_ended_list {
    struct obb_ended *first, *last;
    size_t count; /* versions that have not been looked at */
};

/* The versions of frames that one commit made. */
struct obb_made {
    size_t count;
    uint32_t versions[];
};

enum obb_motion_phase { OBB_MOTION_NONE, OBB_MOTION_BUILDING, OBB_MOTION_MADE };

struct obb_state {
    uint64_t revision;
    double time, until;
    bool time_stated; /* by its commit */
    bool restarted;   /* its commit let the clock start anew */
    uint64_t clock;   /* how often the clock has started anew */
    obb_moment began; /* the last time that it did; zeroes: never */
    obb_settings settings;
    uint64_t first_id;    /* new boxes of its commit have this id or a higher one */
    size_t boxes, frames; /* alive */
    size_t removed, put, posed, transformed; /* as in obb_committed: of its commit */
    size_t expired;                          /* likewise; the first so many of `ended` */
    size_t pins;                             /* open views that need it */
    size_t keeps;                            /* open views that need all later states, too */
    struct obb_view *shared; /* while obb_views_open runs: its latest view of this state */
    struct obb_layers *layers;
    struct obb_ended *ended;       /* ended by this commit: versions of the state before; or NULL */
    struct obb_made *made_frames;  /* by this commit, or NULL */
    struct obb_ended_list earlier; /* ended by commits before, and held by the kept state before */
    struct obb_state *older, *newer; /* neighbours in the list of held states */
    /* The index of the boxes that move on the way here (motion.h). A worker writes motion_index
     * before `motion` says OBB_MOTION_MADE. NULL: none moves. */
    _Atomic int motion; /* an obb_motion_phase */
    struct obb_index *motion_index;
};

/* Returns a state without layers and with room for so many ended versions, or NULL if there is no
 * memory. */
struct obb_state *obb_state_create(uint64_t revision, size_t ended_capacity);
void obb_state_destroy(struct obb_state *state); /* NULL is fine */

/* What the published state is while commits are not published. A commit that only moves the time on
 * changes `until` of the state before it, and the first commit of a scene its `time`. */
struct obb_history_tail {
    size_t commits;           /* that are not published; 0: the other members mean nothing */
    size_t states;            /* that these commits have made: the newest ones of the ring */
    size_t ended;             /* versions that these commits have ended */
    double time, until;       /* of the published state */
    uint64_t oldest_revision; /* within reach of `at` once the tail is published */
};

/* The kept states. The ring has those within reach of `at` and, before them, those that a view
 * keeps together with a state before them: they follow each other without a gap. The held states
 * are older, out of reach, and each is kept only for the views of itself. */
struct obb_history {
    struct obb_state **ring;
    size_t capacity; /* a power of two */
    size_t front, count;
    size_t unreachable;                       /* this many at the front are out of reach of `at` */
    struct obb_state *held_first, *held_last; /* oldest and newest */
    size_t held_count;
    double span;      /* of the settings of the newest state */
    uint32_t commits; /* likewise */
    struct obb_history_tail tail;
};

/* Begins with one state, which the history owns on OBB_OK. OBB_NO_MEMORY. */
obb_status obb_history_init(struct obb_history *history, struct obb_state *first);

/* Frees the ring. The caller has destroyed the states. */
void obb_history_fini(struct obb_history *history);

/* Returns the bytes of the states without layers and lists of ended versions. */
size_t obb_history_bytes(const struct obb_history *history);

/* Return state i of the ring, from the oldest one on; the newest state, with the tail; and the
 * newest one that is published. */
struct obb_state *obb_history_state(const struct obb_history *history, size_t i);
struct obb_state *obb_history_newest(const struct obb_history *history);
struct obb_state *obb_history_published(const struct obb_history *history);

/* Return two moments: of the oldest state within reach of `at`; and the revision of the published
 * state with the time until which it holds. */
obb_moment obb_history_oldest(const struct obb_history *history);
obb_moment obb_history_now(const struct obb_history *history);

/* Returns the time until which a kept state holds, without the tail. */
double obb_history_until(const struct obb_history *history, const struct obb_state *state);

/* Return the moments of the newest state, and of the oldest one that is within reach once the tail
 * is published. */
obb_moment obb_history_tail_now(const struct obb_history *history);
obb_moment obb_history_tail_oldest(const struct obb_history *history);

/* Makes room in the ring for one more state. OBB_NO_MEMORY. */
obb_status obb_history_reserve(struct obb_history *history);

/* Adds the newest state, for which there is room. The history owns it. */
void obb_history_push(struct obb_history *history, struct obb_state *state);

/* Takes the newest state out again, which the caller owns. */
void obb_history_unpush(struct obb_history *history);

/* Puts states out of reach that `span` and `commits` no longer allow. A state stays within reach
 * while it is one of the newest commits + 1 and the next state begins within the span; the newest
 * state always does. With a tail, readers go on reaching the states until it is published.
 * O(1) a state. */
void obb_history_prune(struct obb_history *history);

/* Puts all states before that of `revision` out of reach, which is not after the published one. */
void obb_history_reach(struct obb_history *history, uint64_t revision);

/* Returns whether there is a state within reach beside the published one. */
bool obb_history_can_forget(const struct obb_history *history);

/* Puts the oldest state out of reach. Returns false if only the published state is within reach. */
bool obb_history_forget(struct obb_history *history);

/* Puts all states but the newest one out of reach, with a tail as obb_history_prune does. O(1). */
void obb_history_drop(struct obb_history *history);

/* Takes the oldest state out of the ring if it is out of reach and no view keeps the states after
 * it; otherwise returns NULL. The caller holds the state if a view needs it. */
struct obb_state *obb_history_pop(struct obb_history *history);

/* Puts a state that was just popped at the end of the held states, and takes it out. */
void obb_history_hold(struct obb_history *history, struct obb_state *state);
void obb_history_unhold(struct obb_history *history, struct obb_state *state);

/* Returns whether the state is held. */
bool obb_history_holds(const struct obb_history *history, const struct obb_state *state);

/* Returns the kept state after a held state. */
struct obb_state *obb_history_after(const struct obb_history *history,
                                    const struct obb_state *state);

/* Finds the place of a revision that is not after the oldest state of the ring among the kept
 * states: returns the newest state before the revision, or NULL, and *out_next, the oldest one at
 * the revision or after. O(held states that are newer). */
struct obb_state *obb_history_before(const struct obb_history *history, uint64_t revision,
                                     struct obb_state **out_next);

/* Appends a block, or a list, which is empty then. O(1). */
void obb_ended_append(struct obb_ended_list *list, struct obb_ended *block);
void obb_ended_append_list(struct obb_ended_list *list, struct obb_ended_list *other);

/* The change of the history, with the tail, by a commit that is being prepared. */
struct obb_future {
    obb_moment moment;
    bool appends; /* the commit adds a state */
    /* The state before takes the commit's time: a scene's first commit may state any time. */
    bool restarts;
    bool drops; /* the commit's state stands alone: those before are out of reach */
    double span;
    uint32_t commits;
};

/* Returns the future in which nothing happens. */
struct obb_future obb_history_tail_future(const struct obb_history *history);

/* The state that `at` means, and the share of the way to the next state. */
struct obb_history_position {
    size_t index;  /* of obb_history_state; the history's count: the state that the future adds */
    obb_moment at; /* as answers call the moment */
    double alpha;  /* 0, or the share of the way to the next state, in (0, 1] */
    bool clamped;
};

/* Finds the state that `at` means, among the published states, or, with a `future`, in the history
 * with the tail as the future will leave it. OBB_GONE outside the history: *out_oldest and
 * *out_newest (each may be NULL) then say what is within. O(log states). */
obb_status obb_history_find(const struct obb_history *history, const struct obb_future *future,
                            const obb_at *at, struct obb_history_position *out,
                            obb_moment *out_oldest, obb_moment *out_newest);

/* Finds the published state that `at` meant when `present` was the newest moment. If the state of
 * `present` is out of reach: OBB_GONE, whatever `at` is; *out_oldest and *out_newest say what is
 * within now. Otherwise as obb_history_find. O(log states). */
obb_status obb_history_find_as_of(const struct obb_history *history, const obb_moment *present,
                                  const obb_at *at, struct obb_history_position *out,
                                  obb_moment *out_oldest, obb_moment *out_newest);

#endif
