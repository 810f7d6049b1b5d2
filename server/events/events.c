#include "server/events/events.h"

#include "server/scenes/scenes.h"
#include "server/scenes/writer.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASKS = WIRE_TOPICS + 1, /* sets of topics */
    TICK_MS = 5000,
    COMMENT_TICKS = 3,     /* a comment every 15 s */
    KEPT_TICKS = 6,        /* messages for those who left are kept for 25 to 30 s */
    MOST_WAITING = 256,    /* commits in a channel's queue before it is given up */
    MOST_REMEMBERED = 256, /* commits whose messages are kept, */
    MEMORY = 1 << 20,      /* and bytes of them */
    BACKLOG = 256 * 1024   /* bytes a follower may be behind */
};

typedef enum step_kind { JOIN, COMMIT, GONE } step_kind;

/* Something that happened to a scene, in a channel's queue. */
struct step {
    enum step_kind kind;
    struct step *next;
    struct follower *follower; /* JOIN */
    struct obb_view *after;    /* COMMIT: the state it led to */
    obb_committed committed;   /* COMMIT: its lists are part of the step's block */
    size_t put; /* COMMIT: so many of `made` were put, the others posed or transformed */
};

/* One follower: its stream, and itself, live in its request. */
struct follower {
    struct srv_stream stream;
    struct srv_request *request;
    struct channel *joins;   /* while it waits to join */
    struct channel *channel; /* once it has, until its last message */
    unsigned topics;
    bool returns;  /* it has had messages before, */
    uint64_t last; /* up to those of this revision */
    struct step join;
    struct wire_buf first; /* what it gets on joining */
    obb_status status;
    struct follower *previous, *next; /* in the channel, once joined */
};

/* The messages of one commit, by the set of topics. */
struct remembered {
    bool covered[MASKS]; /* somebody wants them for that set, or may come back for them */
    struct wire_buf texts[MASKS];
    size_t bytes;
};

struct channel {
    struct srv_job job; /* the step under way */
    bool busy;
    atomic_bool cancelled;
    struct srv_events *events;
    struct obb_scene *scene;       /* NULL when it is gone */
    struct obb_view *view;         /* of the state that the steps so far led to */
    struct obb_contacts *contacts; /* of that state; NULL unless somebody follows collisions */
    struct step *first, *last;     /* the first is under way while busy */
    size_t waiting;                /* commits in the queue */
    bool lost;                     /* a commit did not fit in: followers must start anew */
    struct step gone;
    struct follower *followers;
    size_t wanted[MASKS];      /* followers by their topics, */
    size_t kept[MASKS];        /* and ticks for which one who left may come back */
    struct obb_arena arena;    /* of the step under way */
    obb_status status;         /* of the step under way */
    struct remembered now;     /* what it says */
    struct remembered *memory; /* a ring of MOST_REMEMBERED */
    size_t oldest, remembered, memory_bytes;
    struct channel *previous, *next;
};

struct srv_events {
    struct srv_services *services;
    struct srv_timer *timer;
    size_t ticks;
    struct channel *channels;
    bool stopped;
};

/* ---- Remembering ------------------------------------------------------------------------------------------------ */

static void forget(struct remembered *messages)
{
    for (size_t i = 0; i < MASKS; i++)
        wire_buf_fini(&messages->texts[i]);
    messages->bytes = 0;
}

static void forget_oldest(struct channel *c)
{
    struct remembered *oldest = &c->memory[c->oldest];
    c->memory_bytes -= oldest->bytes;
    forget(oldest);
    c->oldest = (c->oldest + 1) % MOST_REMEMBERED;
    c->remembered--;
}

static void forget_all(struct channel *c)
{
    while (c->remembered > 0)
        forget_oldest(c);
}

static void remember(struct channel *c)
{
    if (c->remembered == MOST_REMEMBERED)
        forget_oldest(c);
    c->memory[(c->oldest + c->remembered++) % MOST_REMEMBERED] = c->now;
    c->memory_bytes += c->now.bytes;
    c->now = (struct remembered){0};
    while (c->memory_bytes > MEMORY)
        forget_oldest(c);
}

static bool covers(const struct channel *c, unsigned topics)
{
    return c->wanted[topics] > 0 || c->kept[topics] > 0;
}

/* Can the follower go on after the message that it had last? Then what it missed is appended to `first`. Where its topics are not
 * covered not even the present revision will do: it may be one of a scene of this name that is gone. */
static bool resume(const struct channel *c, struct follower *f)
{
    const uint64_t present = obb_view_info_get(c->view)->at.revision;
    if (!f->returns || !c->now.covered[f->topics] || f->last > present ||
        present - f->last > c->remembered)
        return false;
    const size_t from = c->remembered - (size_t)(present - f->last);
    for (size_t i = from; i < c->remembered; i++) {
        const struct remembered *messages = &c->memory[(c->oldest + i) % MOST_REMEMBERED];
        if (!messages->covered[f->topics])
            return false;
    }
    for (size_t i = from; i < c->remembered; i++) {
        const struct wire_buf *text =
            &c->memory[(c->oldest + i) % MOST_REMEMBERED].texts[f->topics];
        wire_buf_append(&f->first, text->bytes, text->length);
    }
    return true;
}

/* ---- Steps, on the pool ------------------------------------------------------------------------------------------ */

static obb_status find_contacts(struct channel *c)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = obb_view_info_get(c->view)->dimensions,
                             .limit = SIZE_MAX};
    struct obb_plan *plan;
    obb_status status = obb_plan_create(c->view, &query, &c->cancelled, &plan);
    if (status != OBB_OK)
        return status;
    status = obb_plan_run(plan);
    if (status == OBB_OK) {
        const obb_result *result = obb_plan_result(plan);
        status = obb_contacts_create(result->pairs, result->pair_count, &c->contacts);
    }
    obb_plan_destroy(plan);
    return status;
}

/* Writes what a follower gets on joining: what it missed, or else the set of collisions, which tells one that comes back, whatever
 * it follows, that it must read the scene anew. */
static void run_join(struct channel *c, struct follower *f)
{
    f->status = OBB_OK;
    if (resume(c, f) || (!f->returns && (f->topics & WIRE_TOPIC_COLLISIONS) == 0))
        return;
    if (c->contacts == NULL)
        f->status = find_contacts(c);
    const obb_box_pair *pairs;
    if (f->status == OBB_OK)
        f->status = obb_contacts_list(c->contacts, c->view, &c->arena, &pairs);
    if (f->status == OBB_OK)
        wire_event_collisions(&f->first, WIRE_COLLISIONS_STATE, obb_view_info_get(c->view)->at,
                              true, pairs, obb_contacts_count(c->contacts));
    if (f->first.failed)
        f->status = OBB_NO_MEMORY;
}

static int by_id(const void *a, const void *b)
{
    const struct obb_version *const *x = a, *const *y = b;
    return obb_view_id(*x) < obb_view_id(*y) ? -1 : obb_view_id(*x) > obb_view_id(*y);
}

static void sort_boxes(const struct obb_version **boxes, size_t count)
{
    size_t ordered = 1; /* mostly all: clients name them in the order in which they made them */
    while (ordered < count && by_id(&boxes[ordered - 1], &boxes[ordered]) < 0)
        ordered++;
    if (ordered < count)
        qsort(boxes, count, sizeof *boxes, by_id);
}

/* What the commit did to boxes, each list by id. Those that it ended and of which it made nothing were removed. */
static bool list_boxes(struct channel *c, const struct step *step, wire_changes *out)
{
    const obb_committed *committed = &step->committed;
    const struct obb_version **made =
        obb_arena_alloc(&c->arena, committed->made_count + committed->ended_count, sizeof *made);
    if (made == NULL)
        return false;
    const struct obb_version **posed = made + step->put, **removed = made + committed->made_count;
    const size_t posed_count = committed->made_count - step->put;
    size_t removed_count = 0;
    memcpy(made, committed->made, committed->made_count * sizeof *made);
    for (size_t i = 0; i < committed->ended_count; i++)
        if (obb_view_find_id(step->after, obb_view_id(committed->ended[i])) == NULL)
            removed[removed_count++] = committed->ended[i];
    sort_boxes(made, step->put);
    sort_boxes(posed, posed_count);
    sort_boxes(removed, removed_count);
    *out = (wire_changes){.put = made,
                          .put_count = step->put,
                          .posed = posed,
                          .posed_count = posed_count,
                          .removed = removed,
                          .removed_count = removed_count};
    return true;
}

/* Does somebody want messages about one of the topics? */
static bool covered(const struct remembered *messages, unsigned topics)
{
    for (unsigned i = 0; i < MASKS; i++)
        if ((i & topics) != 0 && messages->covered[i])
            return true;
    return false;
}

static void write_messages(struct channel *c, const struct step *step, unsigned topics,
                           const obb_contact_changes *contacts, const wire_changes *boxes)
{
    struct wire_buf *text = &c->now.texts[topics];
    const obb_moment moment = step->committed.moment;
    const bool has_boxes = (topics & WIRE_TOPIC_BOXES) != 0 &&
                           boxes->put_count + boxes->posed_count + boxes->removed_count > 0;
    const bool has_commit = (topics & WIRE_TOPIC_COMMITS) != 0;
    if ((topics & WIRE_TOPIC_COLLISIONS) != 0) {
        /* ends come first: a name may be that of another box now, whose pairs begin with the same commit */
        const bool more = has_boxes || has_commit;
        const bool begins = contacts->begun_count > 0, ends = contacts->ended_count > 0;
        if (contacts->removed_count > 0)
            wire_event_collisions(text, WIRE_COLLISIONS_REMOVED, moment, !more && !begins && !ends,
                                  contacts->removed, contacts->removed_count);
        if (ends)
            wire_event_collisions(text, WIRE_COLLISIONS_END, moment, !more && !begins,
                                  contacts->ended, contacts->ended_count);
        if (begins)
            wire_event_collisions(text, WIRE_COLLISIONS_BEGIN, moment, !more, contacts->begun,
                                  contacts->begun_count);
    }
    if (has_boxes)
        wire_event_boxes(text, moment, !has_commit, boxes);
    if (has_commit)
        wire_event_commit(text, &step->committed, true);
}

static void run_commit(struct channel *c, const struct step *step)
{
    const obb_committed *committed = &step->committed;
    obb_contact_changes contacts = {0};
    c->status = OBB_OK;
    if (c->contacts != NULL)
        c->status = obb_contacts_advance(c->contacts, c->view, step->after, committed,
                                         &c->cancelled, &c->arena, &contacts);
    wire_changes boxes = {0};
    if (c->status == OBB_OK && covered(&c->now, WIRE_TOPIC_BOXES) && !list_boxes(c, step, &boxes))
        c->status = OBB_NO_MEMORY;
    for (unsigned topics = 1; topics < MASKS && c->status == OBB_OK; topics++)
        if (c->now.covered[topics])
            write_messages(c, step, topics, &contacts, &boxes);
    for (size_t i = 0; i < MASKS; i++) {
        c->now.bytes += c->now.texts[i].capacity;
        if (c->now.texts[i].failed)
            c->status = OBB_NO_MEMORY;
    }
}

static size_t run_step(struct srv_job *job)
{
    struct channel *c = (struct channel *)job;
    if (c->first->kind == JOIN)
        run_join(c, c->first->follower);
    else
        run_commit(c, c->first);
    return 0;
}

/* ---- Followers, on the loop ------------------------------------------------------------------------------------- */

static struct follower *follower_of(struct srv_stream *stream)
{
    return (struct follower *)(void *)((char *)stream - offsetof(struct follower, stream));
}

static void leave(struct follower *f)
{
    struct channel *c = f->channel;
    if (c == NULL)
        return;
    *(f->previous != NULL ? &f->previous->next : &c->followers) = f->next;
    if (f->next != NULL)
        f->next->previous = f->previous;
    c->wanted[f->topics]--;
    c->kept[f->topics] = KEPT_TICKS;
    c->events->services->metrics.followers--;
    f->channel = NULL;
}

/* The last that it gets. */
static void dismiss(struct follower *f, const struct wire_buf *farewell)
{
    leave(f);
    srv_stream_append(&f->stream, farewell->bytes, farewell->length);
    srv_stream_end(&f->stream);
}

static void dismiss_all(struct channel *c, const struct wire_buf *farewell)
{
    while (c->followers != NULL)
        dismiss(c->followers, farewell);
}

/* Tells them that messages are missing. */
static void overrun(struct channel *c, struct follower *f)
{
    struct wire_buf farewell = {0};
    wire_event_overrun(&farewell, obb_view_info_get(c->view)->at);
    c->events->services->metrics.overruns_total++;
    dismiss(f, &farewell);
    wire_buf_fini(&farewell);
}

static void on_drained(struct srv_stream *stream) { (void)stream; } /* it gets what comes up */

static void on_closed(struct srv_stream *stream)
{
    struct follower *f = follower_of(stream);
    wire_buf_fini(&f->first);
    leave(f);
}

/* The client of a stream is gone, or the service ends. */
static void on_stream_cancel(struct srv_request *request)
{
    struct follower *f = request->work;
    srv_stream_cut(&f->stream);
}

static void tell(struct channel *c)
{
    for (struct follower *f = c->followers, *next; f != NULL; f = next) {
        next = f->next;
        const struct wire_buf *text = &c->now.texts[f->topics];
        if (text->length == 0)
            continue;
        c->events->services->metrics.events_total++;
        if (srv_stream_waiting(&f->stream) + text->length > BACKLOG &&
            srv_stream_waiting(&f->stream) > 0)
            overrun(c, f);
        else
            srv_stream_append(&f->stream, text->bytes, text->length);
    }
}

/* ---- The queue, on the loop --------------------------------------------------------------------------------------- */

static void push(struct channel *c, struct step *step)
{
    step->next = NULL;
    *(c->first != NULL ? &c->last->next : &c->first) = step;
    c->last = step;
    c->waiting += step->kind == COMMIT;
}

static struct step *pop(struct channel *c)
{
    struct step *step = c->first;
    c->first = step->next;
    c->waiting -= step->kind == COMMIT;
    return step;
}

/* Moves on to the state after a commit. */
static void adopt(struct channel *c, struct step *step)
{
    srv_view_close(c->events->services, c->view);
    c->view = step->after;
    obb_free(step);
}

static void drop_contacts(struct channel *c)
{
    obb_contacts_destroy(c->contacts);
    c->contacts = NULL;
}

/* What followers were told has a hole: they must start anew. */
static void start_over(struct channel *c)
{
    while (c->followers != NULL)
        overrun(c, c->followers);
    forget_all(c);
    forget(&c->now);
    memset(c->kept, 0, sizeof c->kept);
    drop_contacts(c);
}

static void channel_destroy(struct channel *c)
{
    struct srv_events *events = c->events;
    assert(!c->busy && c->first == NULL && c->followers == NULL);
    *(c->previous != NULL ? &c->previous->next : &events->channels) = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    drop_contacts(c);
    srv_view_close(c->events->services, c->view);
    forget_all(c);
    forget(&c->now);
    obb_free(c->memory);
    obb_arena_fini(&c->arena);
    obb_free(c);
    if (events->stopped && events->channels == NULL)
        srv_server_may_end(events->services);
}

static void join_over(struct follower *f)
{
    f->request->on_cancel = NULL;
    wire_buf_fini(&f->first);
    if (atomic_load(&f->request->cancelled) || f->status == OBB_CANCELLED)
        srv_reply_cancelled(f->request);
    else
        srv_reply_status(f->request, f->status);
}

static void joined(struct channel *c, struct follower *f)
{
    struct srv_request *request = f->request;
    request->on_cancel = NULL;
    if (f->status != OBB_OK || atomic_load(&request->cancelled)) {
        join_over(f);
        return;
    }
    f->channel = c;
    f->next = c->followers;
    if (f->next != NULL)
        f->next->previous = f;
    c->followers = f;
    c->wanted[f->topics]++;
    c->events->services->metrics.followers++;
    f->stream.on_drained = on_drained;
    f->stream.on_closed = on_closed;
    request->on_cancel = on_stream_cancel;
    srv_reply_stream(request, 200, wire_media_type(WIRE_EVENTS), &f->stream);
    srv_stream_give(&f->stream, &f->first);
}

static void committed(struct channel *c, struct step *step)
{
    adopt(c, step);
    if (c->status != OBB_OK) {
        start_over(c);
        return;
    }
    tell(c);
    remember(c);
}

static void next_step(struct channel *c);

static void on_done(struct srv_job *job)
{
    struct channel *c = (struct channel *)job;
    struct step *step = pop(c);
    c->busy = false;
    if (atomic_load(&c->cancelled)) {
        c->status = OBB_CANCELLED;
        if (step->kind == JOIN)
            step->follower->status = OBB_CANCELLED;
    }
    atomic_store(&c->cancelled, false);
    if (step->kind == JOIN)
        joined(c, step->follower);
    else
        committed(c, step);
    obb_arena_reset(&c->arena);
    next_step(c);
}

static void say_gone(struct channel *c)
{
    struct wire_buf farewell = {0};
    wire_event_gone(&farewell, obb_view_info_get(c->view)->at);
    dismiss_all(c, &farewell);
    wire_buf_fini(&farewell);
    memset(c->kept, 0, sizeof c->kept);
}

/* Commits were left out: forgets what the queue still holds of them and goes on from the present. */
static void find_present(struct channel *c)
{
    struct step *steps = c->first;
    c->first = NULL;
    c->waiting = 0;
    for (struct step *next; steps != NULL; steps = next) {
        next = steps->next;
        if (steps->kind == COMMIT)
            adopt(c, steps);
        else
            push(c, steps);
    }
    start_over(c);
    if (c->scene != NULL && srv_scene_closed(c->events->services, c->scene))
        return; /* still lost; the next commit or tick tries again */
    if (c->scene != NULL) {
        struct obb_view *present;
        if (srv_view_open(c->events->services, c->scene, NULL, &present, NULL, NULL) != OBB_OK)
            return; /* still lost; the next step tries again */
        srv_view_close(c->events->services, c->view);
        c->view = present;
    }
    c->lost = false;
}

/* Does anybody follow one of the topics, or may come back for it? */
static bool wanted(const struct channel *c, unsigned topics)
{
    for (unsigned i = 0; i < MASKS; i++)
        if ((i & topics) != 0 && covers(c, i))
            return true;
    return false;
}

/* The service ends. */
static void drop_steps(struct channel *c)
{
    while (c->first != NULL) {
        struct step *step = pop(c);
        if (step->kind == COMMIT) {
            adopt(c, step);
        } else if (step->kind == JOIN) {
            step->follower->status = OBB_CANCELLED;
            join_over(step->follower);
        }
    }
    memset(c->kept, 0, sizeof c->kept);
    c->lost = false;
}

/* Begins the next step, or ends the channel when there is none and nobody wants it. */
static void next_step(struct channel *c)
{
    if (c->events->stopped)
        drop_steps(c);
    if (c->lost)
        find_present(c);
    while (c->first != NULL) {
        struct step *step = c->first;
        if (step->kind == GONE) {
            (void)pop(c);
            say_gone(c);
            continue;
        }
        if (step->kind == JOIN) {
            struct follower *f = step->follower;
            f->status = c->lost ? OBB_NO_MEMORY : OBB_OK;
            if (f->status != OBB_OK || atomic_load(&f->request->cancelled)) {
                join_over(pop(c)->follower);
                continue;
            }
        }
        for (unsigned i = 0; i < MASKS; i++)
            c->now.covered[i] = covers(c, i);
        if (srv_pool_submit(c->events->services->pool, &c->job) == SRV_SUBMITTED) {
            c->busy = true;
            return;
        }
        if (step->kind == JOIN) {
            step->follower->status = OBB_NO_MEMORY;
            join_over(pop(c)->follower);
        } else {
            adopt(c, pop(c));
            start_over(c);
        }
    }
    if (!wanted(c, WIRE_TOPIC_COLLISIONS))
        drop_contacts(c);
    if (!wanted(c, WIRE_TOPICS))
        channel_destroy(c);
}

/* ---- The face ------------------------------------------------------------------------------------------------------- */

static void on_tick(void *context)
{
    struct srv_events *events = context;
    const bool comment = ++events->ticks % COMMENT_TICKS == 0;
    struct wire_buf text = {0};
    if (comment)
        wire_event_comment(&text);
    for (struct channel *c = events->channels, *next; c != NULL; c = next) {
        next = c->next;
        for (unsigned i = 0; i < MASKS; i++)
            c->kept[i] -= c->kept[i] > 0;
        for (struct follower *f = c->followers; f != NULL && comment; f = f->next)
            if (srv_stream_waiting(&f->stream) == 0)
                srv_stream_append(&f->stream, text.bytes, text.length);
        if (!c->busy)
            next_step(c);
    }
    wire_buf_fini(&text);
}

bool srv_events_create(struct srv_services *services, struct srv_events **out)
{
    struct srv_events *events = obb_calloc(1, sizeof *events);
    if (events == NULL)
        return false;
    events->services = services;
    if (!srv_timer_create(services->loop, on_tick, events, &events->timer)) {
        obb_free(events);
        return false;
    }
    srv_timer_start(events->timer, TICK_MS, TICK_MS);
    *out = events;
    return true;
}

bool srv_events_idle(const struct srv_events *events)
{
    return events->stopped && events->channels == NULL;
}

void srv_events_stop(struct srv_events *events)
{
    events->stopped = true;
    for (struct channel *c = events->channels, *next; c != NULL; c = next) {
        next = c->next;
        struct wire_buf farewell = {0};
        wire_event_shutdown(&farewell, obb_view_info_get(c->view)->at);
        dismiss_all(c, &farewell);
        wire_buf_fini(&farewell);
        if (c->busy) {
            atomic_store(&c->cancelled, true);
            srv_pool_cancelled(&c->job);
        } else {
            next_step(c);
        }
    }
}

void srv_events_destroy(struct srv_events *events)
{
    if (events == NULL)
        return;
    assert(events->channels == NULL);
    srv_timer_destroy(events->timer);
    obb_free(events);
}

static struct channel *channel_find(const struct srv_events *events, const struct obb_scene *scene)
{
    struct channel *c = events->channels;
    while (c != NULL && c->scene != scene)
        c = c->next;
    return c;
}

static struct channel *channel_create(struct srv_events *events, struct obb_scene *scene)
{
    struct channel *c = obb_calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->memory = obb_calloc(MOST_REMEMBERED, sizeof *c->memory);
    if (c->memory == NULL ||
        srv_view_open(events->services, scene, NULL, &c->view, NULL, NULL) != OBB_OK) {
        obb_free(c->memory);
        obb_free(c);
        return NULL;
    }
    c->events = events;
    c->scene = scene;
    c->job.advance = run_step;
    c->job.done = on_done;
    c->job.background = true;
    c->job.cancelled = &c->cancelled;
    c->next = events->channels;
    if (c->next != NULL)
        c->next->previous = c;
    events->channels = c;
    return c;
}

/* How many of the made boxes were put: these come first, in the order of the puts, of which some may have changed nothing. */
static size_t count_put(const obb_edit *edit, const obb_committed *committed)
{
    size_t put = 0;
    for (size_t i = 0; edit != NULL && i < edit->put_count && put < committed->made_count; i++)
        put += obb_str_equal(edit->puts[i].target.name, obb_view_name(committed->made[put]));
    return put;
}

static void push_commit(struct channel *c, struct obb_scene *scene, const obb_edit *edit,
                        const obb_committed *committed)
{
    const size_t boxes = committed->made_count + committed->ended_count;
    struct step *step = c->waiting < MOST_WAITING
                            ? obb_malloc(1, sizeof *step + boxes * sizeof *committed->made)
                            : NULL;
    struct obb_view *after;
    if (step == NULL ||
        srv_view_open(c->events->services, scene, NULL, &after, NULL, NULL) != OBB_OK) {
        obb_free(step);
        c->lost = true;
    } else {
        *step = (struct step){.kind = COMMIT, .after = after, .committed = *committed};
        const struct obb_version **lists = (const struct obb_version **)(void *)(step + 1);
        if (committed->made_count > 0)
            memcpy(lists, committed->made, committed->made_count * sizeof *lists);
        if (committed->ended_count > 0)
            memcpy(lists + committed->made_count, committed->ended,
                   committed->ended_count * sizeof *lists);
        step->committed.made = lists;
        step->committed.ended = lists + committed->made_count;
        step->put = count_put(edit, committed);
        push(c, step);
    }
    if (!c->busy)
        next_step(c);
}

void srv_events_commit(struct srv_events *events, struct obb_scene *scene, const obb_edit *edit,
                       const obb_committed *committed)
{
    struct channel *c = channel_find(events, scene);
    if (c == NULL)
        return;
    if (c->lost && !c->busy)
        next_step(c); /* goes on from the present, so this commit is told already */
    else if (!c->lost && committed->changed)
        push_commit(c, scene, edit, committed);
}

void srv_events_gone(struct srv_events *events, const struct obb_scene *scene)
{
    struct channel *c = channel_find(events, scene);
    if (c == NULL)
        return;
    c->scene = NULL;
    c->gone.kind = GONE;
    push(c, &c->gone);
    if (!c->busy)
        next_step(c);
}

/* ---- GET /v1/scenes/{scene}/events ------------------------------------------------------------------------------------ */

static void on_join_cancel(struct srv_request *request)
{
    struct follower *f = request->work;
    struct channel *c = f->joins;
    if (c->busy && c->first == &f->join) {
        atomic_store(&c->cancelled, true);
        srv_pool_cancelled(&c->job);
        return;
    }
    struct step *before = NULL; /* its connection is wanted back before its turn comes */
    for (struct step *step = c->first; step != &f->join; step = step->next)
        before = step;
    *(before != NULL ? &before->next : &c->first) = f->join.next;
    if (c->last == &f->join)
        c->last = before;
    join_over(f);
}

/* "17": the revision of the last message that the client had; anything else is none that ever was. */
static uint64_t read_last(const char *text)
{
    const size_t length = strlen(text);
    if (length == 0 || length > 16)
        return UINT64_MAX;
    uint64_t last = 0;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return UINT64_MAX;
        last = last * 10 + (uint64_t)(*text - '0');
    }
    return last;
}

void srv_do_events(struct srv_request *request)
{
    struct srv_events *events = request->services->events;
    unsigned topics;
    wire_problem problem;
    if (!wire_read_event_params(request->target.params, request->target.param_count,
                                &request->arena, &topics, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    struct obb_scene *scene = srv_path_scene(request);
    if (scene == NULL)
        return;
    if (events->stopped) {
        srv_reply_cancelled(request);
        return;
    }
    struct follower *f = srv_work_room(request, sizeof *f);
    if (f == NULL)
        return;
    struct channel *c = channel_find(events, scene);
    if (c == NULL)
        c = channel_create(events, scene);
    if (c == NULL) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    f->request = request;
    f->topics = topics;
    f->returns = request->last_event_id != NULL;
    if (f->returns)
        f->last = read_last(request->last_event_id);
    f->joins = c;
    f->join = (struct step){.kind = JOIN, .follower = f};
    request->work = f;
    request->on_cancel = on_join_cancel;
    push(c, &f->join);
    if (!c->busy)
        next_step(c);
}
