/* The history of a scene: its states that can still be asked for, oldest first, and the state that
 * a moment means. Internal to core, the writer's.
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

struct obb_view;

/* The versions that one commit ended, in the order in which the commit touched them. */
struct obb_ended {
    struct obb_ended *next; /* in the list of garbage */
    size_t count, done;     /* done: this many are reclaimed */
    uint32_t versions[];
};

/* Returns the bytes of a list of so many versions on the heap. */
static inline size_t obb_ended_bytes(size_t count)
{
    return obb_heap_bytes(sizeof(struct obb_ended) + count * sizeof(uint32_t));
}

struct obb_state {
    uint64_t revision;
    double time, until;
    bool time_stated; /* by its commit */
    obb_settings settings;
    uint64_t first_id; /* new boxes of its commit have this id or a higher one */
    size_t boxes;      /* alive */
    size_t removed, put, posed, transformed; /* as in obb_committed: of its commit */
    size_t pins;                             /* open views of it */
    struct obb_view *shared; /* while obb_views_open runs: its latest view of this state */
    struct obb_layers *layers;
    struct obb_ended *ended; /* ended by this commit: versions of the state before */
    /* Over the ended versions that are interpolated on the way here, once a view asked; or NULL. */
    struct obb_index *interpolated_index;
    bool interpolated_index_built;
};

/* Returns a state without layers and with room for so many ended versions, or NULL if there is no
 * memory. */
struct obb_state *obb_state_create(uint64_t revision, size_t ended_capacity);
void obb_state_destroy(struct obb_state *state); /* NULL is fine */

/* The kept states: those within reach of `at` and, before them, states that a view still needs and
 * all states after such a state. */
struct obb_history {
    struct obb_state **ring;
    size_t capacity; /* a power of two */
    size_t front, count;
    size_t unreachable; /* this many at the front are out of reach of `at` */
    double span;
    uint32_t commits;
};

/* Begins with one state, which the history owns on OBB_OK. OBB_NO_MEMORY. */
obb_status obb_history_init(struct obb_history *history, struct obb_state *first);
void obb_history_fini(struct obb_history *history); /* does not destroy the states */

/* Returns the bytes of the states without layers and lists of ended versions. */
size_t obb_history_bytes(const struct obb_history *history);

struct obb_state *obb_history_state(const struct obb_history *history, size_t i); /* i-th kept */
struct obb_state *obb_history_newest(const struct obb_history *history);
obb_moment obb_history_oldest(const struct obb_history *history); /* within reach of `at` */
obb_moment obb_history_now(const struct obb_history *history);

obb_status obb_history_reserve(struct obb_history *history); /* room for one more; OBB_NO_MEMORY */
void obb_history_push(struct obb_history *history, struct obb_state *state);

/* Puts states out of reach that `span` and `commits` no longer allow. A state stays within reach
 * while it is one of the newest commits + 1 and the next state begins within the span; the newest
 * state always does. O(1) a state. */
void obb_history_prune(struct obb_history *history);

/* Puts the oldest state out of reach. Returns false if only the newest state is within reach. */
bool obb_history_forget(struct obb_history *history);

/* Removes and returns the oldest state if it is out of reach and no view needs it; otherwise
 * returns NULL. */
struct obb_state *obb_history_pop(struct obb_history *history);

/* The change of the history by a commit that is being prepared. */
struct obb_future {
    obb_moment moment;
    bool appends; /* the commit adds a state */
    /* The state before takes the commit's time: a scene's first commit may state any time. */
    bool restarts;
    double span;
    uint32_t commits;
};

/* The state that `at` means, and the share of the way to the next state. */
struct obb_history_position {
    size_t index;  /* of obb_history_state; the history's count: the state that the future adds */
    obb_moment at; /* as answers call the moment */
    double alpha;  /* 0, or the share of the way to the next state, in (0, 1] */
    bool clamped;
};

/* Finds the state that `at` means, in the history as `future` (may be NULL) will leave it. OBB_GONE
 * outside the history: *out_oldest and *out_newest (each may be NULL) then say what is within.
 * O(log states). */
obb_status obb_history_find(const struct obb_history *history, const struct obb_future *future,
                            const obb_at *at, struct obb_history_position *out,
                            obb_moment *out_oldest, obb_moment *out_newest);

#endif
