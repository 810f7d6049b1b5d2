#include "core/scene/history.h"

#include "core/base/alloc.h"

#include <assert.h>

struct obb_state *obb_state_create(uint64_t revision, size_t ended_capacity)
{
    struct obb_state *state = obb_calloc(1, sizeof *state);
    struct obb_ended *ended =
        ended_capacity > (PTRDIFF_MAX - sizeof *ended) / sizeof ended->versions[0]
            ? NULL
            : obb_malloc(1, sizeof *ended + ended_capacity * sizeof ended->versions[0]);
    if (state == NULL || ended == NULL) {
        obb_free(state);
        obb_free(ended);
        return NULL;
    }
    *ended = (struct obb_ended){.died = revision, .room = ended_capacity};
    state->revision = revision;
    state->ended = ended;
    return state;
}

void obb_state_destroy(struct obb_state *state)
{
    if (state == NULL)
        return;
    obb_layers_unref(state->layers);
    obb_index_unref(state->motion_index);
    obb_free(state->ended);
    obb_free(state->made_frames);
    for (struct obb_ended *block = state->earlier.first; block != NULL;) {
        struct obb_ended *next = block->next;
        obb_free(block);
        block = next;
    }
    obb_free(state);
}

obb_status obb_history_init(struct obb_history *history, struct obb_state *first)
{
    *history = (struct obb_history){.capacity = 0};
    const obb_status st = obb_history_reserve(history);
    if (st == OBB_OK)
        obb_history_push(history, first);
    return st;
}

void obb_history_fini(struct obb_history *history) { obb_free((void *)history->ring); }

size_t obb_history_bytes(const struct obb_history *history)
{
    return (history->count + history->held_count) * obb_heap_bytes(sizeof(struct obb_state)) +
           obb_heap_bytes(history->capacity * sizeof(struct obb_state *));
}

struct obb_state *obb_history_state(const struct obb_history *history, size_t i)
{
    assert(i < history->count);
    return history->ring[(history->front + i) & (history->capacity - 1)];
}

struct obb_state *obb_history_newest(const struct obb_history *history)
{
    return obb_history_state(history, history->count - 1);
}

/* Without the tail. */
static size_t published_count(const struct obb_history *history)
{
    return history->tail.commits == 0 ? history->count : history->count - history->tail.states;
}

struct obb_state *obb_history_published(const struct obb_history *history)
{
    return obb_history_state(history, published_count(history) - 1);
}

obb_moment obb_history_now(const struct obb_history *history)
{
    const struct obb_state *state = obb_history_published(history);
    return (obb_moment){.revision = state->revision, .time = obb_history_until(history, state)};
}

double obb_history_until(const struct obb_history *history, const struct obb_state *state)
{
    return history->tail.commits > 0 && state == obb_history_published(history)
               ? history->tail.until
               : state->until;
}

obb_moment obb_history_tail_now(const struct obb_history *history)
{
    const struct obb_state *state = obb_history_newest(history);
    return (obb_moment){.revision = state->revision, .time = state->until};
}

obb_status obb_history_reserve(struct obb_history *history)
{
    if (history->count < history->capacity)
        return OBB_OK;
    const size_t capacity = history->capacity == 0 ? 4 : history->capacity * 2;
    struct obb_state **ring = (struct obb_state **)obb_malloc(capacity, sizeof(struct obb_state *));
    if (ring == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < history->count; i++)
        ring[i] = obb_history_state(history, i);
    obb_free((void *)history->ring);
    history->ring = ring;
    history->capacity = capacity;
    history->front = 0;
    return OBB_OK;
}

void obb_history_push(struct obb_history *history, struct obb_state *state)
{
    assert(history->count < history->capacity);
    history->ring[(history->front + history->count) & (history->capacity - 1)] = state;
    history->count++;
}

void obb_history_unpush(struct obb_history *history)
{
    assert(history->count > 1);
    history->count--;
}

bool obb_history_can_forget(const struct obb_history *history)
{
    return history->unreachable + 1 < published_count(history);
}

bool obb_history_forget(struct obb_history *history)
{
    const bool others = obb_history_can_forget(history);
    history->unreachable += others;
    return others;
}

struct obb_state *obb_history_pop(struct obb_history *history)
{
    struct obb_state *state = obb_history_state(history, 0);
    if (history->unreachable == 0 || state->keeps > 0)
        return NULL;
    history->front = (history->front + 1) & (history->capacity - 1);
    history->count--;
    history->unreachable--;
    return state;
}

/* ---- Held states ----------------------------------------------------------------------------- */

void obb_history_hold(struct obb_history *history, struct obb_state *state)
{
    state->older = history->held_last;
    state->newer = NULL;
    *(history->held_last != NULL ? &history->held_last->newer : &history->held_first) = state;
    history->held_last = state;
    history->held_count++;
}

void obb_history_unhold(struct obb_history *history, struct obb_state *state)
{
    *(state->older != NULL ? &state->older->newer : &history->held_first) = state->newer;
    *(state->newer != NULL ? &state->newer->older : &history->held_last) = state->older;
    history->held_count--;
}

bool obb_history_holds(const struct obb_history *history, const struct obb_state *state)
{
    return state->revision < obb_history_state(history, 0)->revision;
}

struct obb_state *obb_history_after(const struct obb_history *history,
                                    const struct obb_state *state)
{
    return state->newer != NULL ? state->newer : obb_history_state(history, 0);
}

struct obb_state *obb_history_before(const struct obb_history *history, uint64_t revision,
                                     struct obb_state **out_next)
{
    struct obb_state *before = history->held_last;
    *out_next = obb_history_state(history, 0);
    assert(revision <= (*out_next)->revision);
    while (before != NULL && before->revision >= revision) {
        *out_next = before;
        before = before->older;
    }
    return before;
}

void obb_ended_append(struct obb_ended_list *list, struct obb_ended *block)
{
    block->next = NULL;
    *(list->last != NULL ? &list->last->next : &list->first) = block;
    list->last = block;
    list->count += block->count;
}

void obb_ended_append_list(struct obb_ended_list *list, struct obb_ended_list *other)
{
    if (other->first == NULL)
        return;
    *(list->last != NULL ? &list->last->next : &list->first) = other->first;
    list->last = other->last;
    list->count += other->count;
    *other = (struct obb_ended_list){.first = NULL};
}

/* ---- The history as a commit that is being prepared will leave it ---------------------------- */

static size_t count_in(const struct obb_history *history, const struct obb_future *future)
{
    return future == NULL ? published_count(history) : history->count + future->appends;
}

/* Returns whether state i is the published one, without the commits of the tail. */
static bool is_behind_tail(const struct obb_history *history, const struct obb_future *future,
                           size_t i)
{
    return future == NULL && history->tail.commits > 0 && i + 1 == published_count(history);
}

static uint64_t revision_in(const struct obb_history *history, size_t i)
{
    return obb_history_state(history, 0)->revision + i;
}

/* Returns the time at which state i begins. */
static double time_in(const struct obb_history *history, const struct obb_future *future, size_t i)
{
    const bool is_newest = i + 1 == history->count;
    if (is_behind_tail(history, future, i))
        return history->tail.time;
    if (future != NULL && (i == history->count || (is_newest && future->restarts)))
        return future->moment.time;
    return obb_history_state(history, i)->time;
}

/* Returns the time until which state i holds. */
static double until_in(const struct obb_history *history, const struct obb_future *future, size_t i)
{
    const bool is_newest = i + 1 == history->count;
    if (is_behind_tail(history, future, i))
        return history->tail.until;
    if (future != NULL &&
        (i == history->count || (is_newest && (future->restarts || !future->appends))))
        return future->moment.time;
    return obb_history_state(history, i)->until;
}

/* Returns how many states are out of reach once the tail is published. */
static size_t unreachable_of_tail(const struct obb_history *history)
{
    const uint64_t front = revision_in(history, 0), oldest = history->tail.oldest_revision;
    return history->tail.commits == 0 || oldest < front + history->unreachable
               ? history->unreachable
               : (size_t)(oldest - front);
}

static size_t unreachable_in(const struct obb_history *history, const struct obb_future *future)
{
    const size_t count = count_in(history, future);
    if (future->drops)
        return count - 1;
    const double since = until_in(history, future, count - 1) - future->span;
    size_t i = unreachable_of_tail(history);
    while (i + 1 < count &&
           (count - i > (size_t)future->commits + 1 || time_in(history, future, i + 1) <= since))
        i++;
    return i;
}

static void set_unreachable(struct obb_history *history, size_t count)
{
    if (history->tail.commits == 0)
        history->unreachable = count;
    else
        history->tail.oldest_revision = revision_in(history, count);
}

void obb_history_prune(struct obb_history *history)
{
    const struct obb_future future = obb_history_tail_future(history);
    set_unreachable(history, unreachable_in(history, &future));
}

void obb_history_drop(struct obb_history *history) { set_unreachable(history, history->count - 1); }

void obb_history_reach(struct obb_history *history, uint64_t revision)
{
    const uint64_t front = revision_in(history, 0);
    if (revision > front + history->unreachable)
        history->unreachable = (size_t)(revision - front);
}

obb_moment obb_history_oldest(const struct obb_history *history)
{
    const size_t i = history->unreachable;
    return (obb_moment){.revision = revision_in(history, i), .time = time_in(history, NULL, i)};
}

obb_moment obb_history_tail_oldest(const struct obb_history *history)
{
    const struct obb_state *state = obb_history_state(history, unreachable_of_tail(history));
    return (obb_moment){.revision = state->revision, .time = state->time};
}

struct obb_future obb_history_tail_future(const struct obb_history *history)
{
    return (struct obb_future){.moment = obb_history_tail_now(history),
                               .span = history->span,
                               .commits = history->commits};
}

/* What is within reach: the states from `oldest` to `newest`, up to the moment `last`. */
struct reach {
    size_t oldest, newest;
    obb_moment first, last;
};

static struct reach reach_of(const struct obb_history *history, const struct obb_future *future)
{
    const size_t newest = count_in(history, future) - 1;
    const size_t oldest = future == NULL ? history->unreachable : unreachable_in(history, future);
    return (struct reach){
        .oldest = oldest,
        .newest = newest,
        .first = {revision_in(history, oldest), time_in(history, future, oldest)},
        .last = {revision_in(history, newest), until_in(history, future, newest)}};
}

/* Returns the last state within reach that began at t or before. t is not before the oldest
 * state. */
static size_t state_at(const struct obb_history *history, const struct obb_future *future,
                       const struct reach *reach, double t)
{
    size_t low = reach->oldest, high = reach->newest + 1; /* the state is in [low, high) */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (time_in(history, future, middle) <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns the time up to which a state within reach holds. */
static double until_within(const struct obb_history *history, const struct obb_future *future,
                           const struct reach *reach, size_t i)
{
    return i == reach->newest ? reach->last.time : until_in(history, future, i);
}

static struct obb_history_position position_at_time(const struct obb_history *history,
                                                    const struct obb_future *future,
                                                    const struct reach *reach, double t,
                                                    bool no_interpolation)
{
    const size_t i = state_at(history, future, reach, t);
    const double until = until_within(history, future, reach, i);
    struct obb_history_position position = {.index = i, .at = {revision_in(history, i), t}};
    if (no_interpolation) {
        position.at.time = t < until ? time_in(history, future, i) : until;
    } else if (t > until) {
        const double next = time_in(history, future, i + 1);
        position.alpha = (t - until) / (next - until);
    }
    return position;
}

static obb_status find_within(const struct obb_history *history, const struct obb_future *future,
                              const struct reach *reach, const obb_at *at,
                              struct obb_history_position *out, obb_moment *out_oldest,
                              obb_moment *out_newest)
{
    const obb_moment first = reach->first, last = reach->last;
    bool before = false, after = false;
    struct obb_history_position position = {.index = reach->newest, .at = last};
    if (at->kind == OBB_AT_REVISION) {
        before = at->revision < first.revision;
        after = at->revision > last.revision;
        if (before) {
            position = (struct obb_history_position){.index = reach->oldest, .at = first};
        } else if (!after) {
            const size_t i = reach->oldest + (size_t)(at->revision - first.revision);
            position.index = i;
            position.at = (obb_moment){at->revision, until_within(history, future, reach, i)};
        }
    } else if (at->kind != OBB_AT_NOW) {
        const double t = at->kind == OBB_AT_TIME ? at->time : last.time - at->time;
        before = t < first.time;
        after = !(t <= last.time);
        if (!after) /* if several states begin at the oldest time, the last one holds there */
            position = position_at_time(history, future, reach, before ? first.time : t,
                                        at->no_interpolation);
    }
    if ((before || after) && !at->clamp) {
        if (out_oldest != NULL)
            *out_oldest = first;
        if (out_newest != NULL)
            *out_newest = last;
        return OBB_GONE;
    }
    position.clamped = before || after;
    *out = position;
    return OBB_OK;
}

obb_status obb_history_find(const struct obb_history *history, const struct obb_future *future,
                            const obb_at *at, struct obb_history_position *out,
                            obb_moment *out_oldest, obb_moment *out_newest)
{
    const struct reach reach = reach_of(history, future);
    return find_within(history, future, &reach, at, out, out_oldest, out_newest);
}

obb_status obb_history_find_as_of(const struct obb_history *history, const obb_moment *present,
                                  const obb_at *at, struct obb_history_position *out,
                                  obb_moment *out_oldest, obb_moment *out_newest)
{
    struct reach reach = reach_of(history, NULL);
    if (present->revision < reach.first.revision) {
        if (out_oldest != NULL)
            *out_oldest = reach.first;
        if (out_newest != NULL)
            *out_newest = reach.last;
        return OBB_GONE;
    }
    if (present->revision <= reach.last.revision) {
        reach.newest = reach.oldest + (size_t)(present->revision - reach.first.revision);
        reach.last = *present;
    }
    return find_within(history, NULL, &reach, at, out, out_oldest, out_newest);
}
