/* The states of a scene that can still be asked for, oldest first, and which of them a moment means. Internal to core,
 * the writer's.
 *
 * A state holds from its `time` to `until` (a commit that changes nothing but states a later time prolongs it), and from
 * there runs towards the next state, which it reaches at that one's time. Revisions are consecutive. */
#ifndef OBB_HISTORY_H
#define OBB_HISTORY_H

#include "core/index/layers.h"
#include "core/scene/scene.h"

/* The versions that one commit ended, in the order in which it touched them. */
struct obb_ended {
    struct obb_ended *next; /* where it awaits its reclaim */
    size_t count, done;
    uint32_t versions[];
};

struct obb_state {
    uint64_t revision;
    double time, until;
    int dimensions;
    size_t boxes; /* alive */
    size_t pins;  /* open views of it */
    struct obb_layers *layers;
    struct obb_ended *ended; /* by this commit; they belong to the state before */
    struct obb_index *
        interpolated_index; /* over those of them interpolated here, once a view asked; NULL: none */
    bool interpolated_index_built;
};

/* States that are kept: those that `at` reaches and, before them, those that a view still needs or that lie after
 * one that it needs. */
struct obb_history {
    struct obb_state **ring;
    size_t capacity; /* a power of two */
    size_t front, count;
    size_t unreachable; /* this many at the front are out of reach of `at` */
    double span;
    uint32_t commits;
};

/* Takes the first state over on OBB_OK; OBB_NO_MEMORY. */
obb_status obb_history_init(struct obb_history *history, struct obb_state *first);
void obb_history_fini(struct obb_history *history); /* states are their owner's */

struct obb_state *obb_history_state(const struct obb_history *history, size_t i); /* i-th kept */
struct obb_state *obb_history_newest(const struct obb_history *history);
obb_moment obb_history_oldest(const struct obb_history *history); /* that `at` reaches */
obb_moment obb_history_now(const struct obb_history *history);

obb_status obb_history_reserve(struct obb_history *history); /* room for one more; OBB_NO_MEMORY */
void obb_history_push(struct obb_history *history, struct obb_state *state);

/* Moves the reach up to what span and commits allow; O(1) a state. A state stays in reach while it is among the newest
 * commits + 1 and the one after it begins within the span; the newest always does. */
void obb_history_prune(struct obb_history *history);

/* Takes the front state out when it is out of reach and no view needs it; NULL: nothing to take. */
struct obb_state *obb_history_pop(struct obb_history *history);

/* How a commit that is being prepared will leave the history. */
struct obb_future {
    obb_moment moment;
    bool appends;  /* there is a state of its own */
    bool restarts; /* the state before takes its time: the scene's first commit may state any */
    double span;
    uint32_t commits;
};

/* The state that `at` means, and where on the way to the next one. */
struct obb_place {
    size_t index;  /* of obb_history_state; count: the future's own */
    obb_moment at; /* what answers call it */
    double alpha;  /* 0, or the share of the way to the next state, in (0, 1] */
    bool clamped;
};

/* future may be NULL. OBB_GONE, with what is reached in *out_oldest and *out_newest (may be NULL). O(log states). */
obb_status obb_history_find(const struct obb_history *history, const struct obb_future *future,
                            const obb_at *at, struct obb_place *out, obb_moment *out_oldest,
                            obb_moment *out_newest);

#endif
