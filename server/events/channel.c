#include "server/events/channel.h"

#include "server/events/channel_steps.h"
#include "server/scenes/work.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { MOST_WAITING = 256 }; /* commits in a channel's queue before it is given up */

struct srv_channel {
    struct srv_job job; /* first; the running step */
    bool busy;          /* a step is running: the first of the queue */
    struct srv_channels *channels;
    struct obb_scene *scene; /* NULL once it is removed */
    struct srv_channel_state state;
    struct srv_step *first, *last;
    size_t waiting; /* commits in the queue */
    bool lost;      /* a commit did not fit in: the subscribers must start anew */
    struct srv_step removed, sums;
    bool sums_queued;
    struct srv_timer *timer; /* for the next sums; NULL until an audience has a rate */
    struct srv_wait wait;    /* for the scene to be unlocked, so that views can be opened */
    struct srv_channel *previous, *next;
};

/* ---- Subscribers ----------------------------------------------------------------------------- */

static void on_left(struct srv_subscriber *s)
{
    struct srv_channel *c = s->channel;
    srv_audience_remove(s->audience, s);
    c->channels->metrics->followers--;
}

static void add_subscriber(struct srv_channel *c, struct srv_subscriber *s)
{
    s->channel = c;
    srv_audience_add(s->audience, s);
    c->channels->metrics->followers++;
    srv_subscriber_start(s, on_left);
}

/* Returns a message that ends a stream, or NULL if there is no memory. It is there also when the
 * budget is empty: it is short, and says why. */
static struct srv_message *last_message(const struct srv_channel *c,
                                        void (*write)(struct wire_buf *buf, obb_moment moment))
{
    struct srv_message *message = srv_message_create(NULL);
    if (message != NULL)
        write(&message->text, obb_view_info_get(c->state.view)->at);
    if (message == NULL || !message->text.failed)
        return message;
    srv_message_unref(message);
    return NULL;
}

static void finish_all(struct srv_channel *c,
                       void (*write)(struct wire_buf *buf, obb_moment moment))
{
    struct srv_message *message = last_message(c, write);
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next)
        while (a->subscribers != NULL)
            srv_subscriber_finish(a->subscribers, message);
    srv_message_unref(message);
}

/* Ends the stream with the message that some are missing. */
static void overrun(struct srv_channel *c, struct srv_subscriber *s)
{
    struct srv_message *message = last_message(c, wire_event_overrun);
    c->channels->metrics->overruns_total++;
    srv_subscriber_overrun(s, message);
    srv_message_unref(message);
}

/* Sends a message to all subscribers. NULL: none. lost: they are sent away instead. */
static void tell(struct srv_channel *c, struct srv_audience *a, struct srv_message *message,
                 bool lost)
{
    if (message != NULL)
        srv_feed_append(&a->feed, message);
    for (struct srv_subscriber *s = a->subscribers, *next; s != NULL; s = next) {
        next = s->next;
        if (lost) {
            overrun(c, s);
        } else if (message != NULL) {
            c->channels->metrics->events_total++;
            if (!srv_subscriber_send(s, message))
                overrun(c, s);
        }
    }
}

static void send_message(struct srv_channel *c, struct srv_audience *a)
{
    struct srv_message *message = a->now;
    if (message != NULL)
        srv_audience_sent(a, srv_clock());
    tell(c, a, message, a->lost);
    a->lost = false;
    a->now = NULL;
    srv_message_unref(message);
}

/* Returns whether somebody follows one of the topics. */
static bool wanted(const struct srv_channel *c, unsigned topics)
{
    for (const struct srv_audience *a = c->state.audiences; a != NULL; a = a->next)
        if (a->subscribers != NULL && (a->params.topics & topics) != 0)
            return true;
    return false;
}

/* ---- Audiences with a rate ------------------------------------------------------------------- */

/* Decides whose sums the next step sends. A younger audience waits for the elder one, unless that
 * has nothing to send. */
static void find_due(struct srv_channel *c, srv_step_kind kind)
{
    const double now = srv_clock();
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        a->due = kind == SRV_STEP_REMOVED;
        if (a->params.rate > 0 && now >= a->not_before) {
            a->due = a->due || a->elder == a || a->elder->due ||
                     (kind == SRV_STEP_SUMS && !srv_audience_waits(a->elder));
        }
    }
}

/* Moves the subscribers of younger audiences to the elder ones where none of the two has a sum. */
static void merge_audiences(struct srv_channel *c)
{
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        if (a->elder != a && !srv_audience_waits(a) && srv_audience_takes(a->elder))
            srv_audience_merge(a->elder, a);
    }
}

/* Starts the timer for the sum that may be sent first. */
static void set_timer(struct srv_channel *c)
{
    enum { LONGEST_MS = 86400000 };
    double first = HUGE_VAL;
    for (const struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        if (srv_audience_waits(a) && (a->elder == a || !srv_audience_waits(a->elder)))
            first = fmin(first, a->not_before);
    }
    if (c->timer != NULL && first < HUGE_VAL) {
        const double ms = ceil((first - srv_clock()) * 1e3);
        srv_timer_start(c->timer, (uint64_t)fmin(fmax(ms, 0), LONGEST_MS), 0);
    }
}

static void on_timer(void *context);

/* Returns the audience that somebody who asks for this joins now, or NULL if there is no room for a
 * new one. */
static struct srv_audience *audience_of(struct srv_channel *c, const wire_event_params *params)
{
    struct srv_audience **end = &c->state.audiences, *elder = NULL;
    for (; *end != NULL; end = &(*end)->next) {
        if (!wire_event_params_equal(&(*end)->params, params))
            continue;
        if (srv_audience_takes(*end))
            return *end;
        elder = (*end)->elder;
    }
    if (params->rate > 0 && c->timer == NULL &&
        !srv_timer_create(c->channels->loop, on_timer, c, &c->timer))
        return NULL;
    *end = srv_audience_create(c->channels->budget, params);
    if (*end != NULL && elder != NULL) {
        (*end)->elder = elder;
        elder->younger++;
    }
    return *end;
}

/* The eldest audience is taken out of the list: the next one takes its place. */
static void find_elder(struct srv_channel *c, const struct srv_audience *gone)
{
    struct srv_audience *elder = NULL;
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        if (a->elder != gone)
            continue;
        if (elder == NULL)
            elder = a;
        else
            elder->younger++;
        a->elder = elder;
    }
}

/* Ends the audiences without subscribers. */
static void end_audiences(struct srv_channel *c)
{
    for (struct srv_audience **place = &c->state.audiences; *place != NULL;) {
        struct srv_audience *a = *place;
        if (a->subscribers != NULL) {
            place = &a->next;
            continue;
        }
        *place = a->next;
        if (a->elder != a)
            a->elder->younger--;
        else if (a->younger > 0)
            find_elder(c, a);
        srv_audience_destroy(a);
    }
}

/* ---- The queue ------------------------------------------------------------------------------- */

static void push(struct srv_channel *c, struct srv_step *step)
{
    step->next = NULL;
    *(c->first != NULL ? &c->last->next : &c->first) = step;
    c->last = step;
    c->waiting += step->kind == SRV_STEP_COMMIT;
}

static struct srv_step *pop(struct srv_channel *c)
{
    struct srv_step *step = c->first;
    c->first = step->next;
    c->waiting -= step->kind == SRV_STEP_COMMIT;
    return step;
}

/* Closes the first `count` views. */
static void close_missed(struct srv_channel *c, struct srv_missed *missed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        srv_view_close(c->channels->locks, missed->views[i]);
    for (size_t i = count; i < missed->count; i++)
        missed->views[i - count] = missed->views[i];
    missed->count -= count;
}

/* Releases all that a join holds of what its client missed. */
static void forget_missed(struct srv_channel *c, struct srv_missed *missed)
{
    close_missed(c, missed, missed->count);
    obb_contacts_destroy(missed->contacts);
    srv_message_unref(missed->text);
    srv_batch_clear(&missed->sum);
    missed->contacts = NULL;
    missed->text = NULL;
}

static void refuse_join(struct srv_channel *c, struct srv_step *step, obb_status status)
{
    forget_missed(c, &step->missed);
    step->subscriber->status = status;
    srv_subscriber_refuse(step->subscriber);
}

static void drop_present(struct srv_channel *c)
{
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next)
        srv_audience_move_on(a);
}

/* Moves on to the state after a commit. */
static void adopt(struct srv_channel *c, struct srv_step *step)
{
    srv_view_close(c->channels->locks, c->state.view);
    c->state.view = step->after;
    drop_present(c);
    obb_budget_free(step);
}

static void drop_contacts(struct srv_channel *c)
{
    obb_contacts_destroy(c->state.contacts);
    c->state.contacts = NULL;
}

/* The messages have a gap: ends all streams, so that every client starts anew. */
static void start_over(struct srv_channel *c)
{
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        while (a->subscribers != NULL)
            overrun(c, a->subscribers);
        srv_message_unref(a->now);
        srv_batch_clear(&a->sum);
        a->now = NULL;
        a->lost = false;
    }
    drop_contacts(c);
}

static void channel_destroy(struct srv_channel *c)
{
    struct srv_channels *channels = c->channels;
    assert(!c->busy && c->first == NULL && c->wait.lock == NULL);
    *(c->previous != NULL ? &c->previous->next : &channels->first) = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    drop_contacts(c);
    srv_timer_destroy(c->timer);
    srv_view_close(channels->locks, c->state.view);
    obb_arena_fini(&c->state.arena);
    obb_budget_free(c);
    srv_drain_release(channels->drain);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void next_step(struct srv_channel *c);

static size_t run_step(struct srv_job *job)
{
    struct srv_channel *c = (struct srv_channel *)job;
    srv_step_run(&c->state, c->first);
    return 0;
}

static uint64_t revision_of(const struct obb_view *view)
{
    return obb_view_info_get(view)->at.revision;
}

/* Returns whether the views of what a client missed lead to the channel's state, or there are
 * none. */
static bool missed_whole(const struct srv_channel *c, const struct srv_missed *missed)
{
    return missed->count == 0 ||
           revision_of(missed->views[missed->count - 1]) == revision_of(c->state.view);
}

static void joined(struct srv_channel *c, struct srv_step *step)
{
    struct srv_subscriber *s = step->subscriber;
    if (s->status != OBB_OK || atomic_load(&s->request->cancelled)) {
        refuse_join(c, step, s->status);
        return;
    }
    forget_missed(c, &step->missed);
    s->request->on_cancel = NULL;
    if (s->first != NULL)
        srv_audience_sent(s->audience, srv_clock());
    add_subscriber(c, s);
}

static void send_messages(struct srv_channel *c)
{
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next)
        send_message(c, a);
    merge_audiences(c);
}

static void committed(struct srv_channel *c, struct srv_step *step)
{
    adopt(c, step);
    if (c->state.status != OBB_OK) {
        start_over(c);
        return;
    }
    send_messages(c);
}

static void say_removed(struct srv_channel *c) { finish_all(c, wire_event_gone); }

static void on_done(struct srv_job *job)
{
    struct srv_channel *c = (struct srv_channel *)job;
    struct srv_step *step = c->first;
    const srv_step_kind kind = step->kind;
    c->busy = false;
    if (atomic_load(&c->state.cancelled)) {
        c->state.status = OBB_CANCELLED;
        if (kind == SRV_STEP_JOIN)
            step->subscriber->status = OBB_CANCELLED;
    }
    atomic_store(&c->state.cancelled, false);
    if (kind == SRV_STEP_JOIN && step->subscriber->status == OBB_OK &&
        !missed_whole(c, &step->missed)) {
        close_missed(c, &step->missed, step->missed.count - 1); /* the step goes on from there */
        next_step(c);
        return;
    }
    (void)pop(c);
    if (kind == SRV_STEP_JOIN)
        joined(c, step);
    else if (kind == SRV_STEP_COMMIT)
        committed(c, step);
    else
        send_messages(c);
    if (kind == SRV_STEP_REMOVED)
        say_removed(c);
    next_step(c);
}

static void cancel_step(struct srv_channel *c)
{
    atomic_store(&c->state.cancelled, true);
    srv_pool_cancelled(&c->job);
}

/* After a lost commit: forgets the commits in the queue, and goes on from the present state of the
 * scene. */
static void find_present(struct srv_channel *c)
{
    struct srv_locks *locks = c->channels->locks;
    struct srv_step *steps = c->first;
    c->first = NULL;
    c->waiting = 0;
    for (struct srv_step *next; steps != NULL; steps = next) {
        next = steps->next;
        if (steps->kind == SRV_STEP_COMMIT)
            adopt(c, steps);
        else
            push(c, steps);
    }
    start_over(c);
    if (c->scene != NULL && srv_scene_locked(locks, c->scene))
        return; /* still lost; the next commit or tick tries again */
    if (c->scene != NULL) {
        struct obb_view *present;
        if (srv_view_open(locks, c->scene, NULL, &present, NULL, NULL) != OBB_OK)
            return; /* still lost; the next step tries again */
        srv_view_close(locks, c->state.view);
        c->state.view = present;
        drop_present(c);
    }
    c->lost = false;
}

/* Empties the queue because the service ends. */
static void drop_steps(struct srv_channel *c)
{
    while (c->first != NULL) {
        struct srv_step *step = pop(c);
        if (step->kind == SRV_STEP_COMMIT)
            adopt(c, step);
        else if (step->kind == SRV_STEP_JOIN)
            refuse_join(c, step, OBB_CANCELLED);
    }
    c->sums_queued = false;
    c->lost = false;
}

static void go_on(struct srv_channel *c);

static void on_unlocked(struct srv_wait *wait)
{
    go_on((struct srv_channel *)(void *)((char *)wait - offsetof(struct srv_channel, wait)));
}

/* Opens the next views of what the client missed. OBB_NO_MEMORY; OBB_CANCELLED: not now, since the
 * scene is locked. */
static obb_status open_missed(struct srv_channel *c, struct srv_missed *missed)
{
    struct srv_locks *locks = c->channels->locks;
    if (!missed_whole(c, missed) &&
        srv_lock_wait(locks, obb_view_scene(missed->views[0]), &c->wait))
        return OBB_CANCELLED;
    while (!missed_whole(c, missed) && missed->count < SRV_MISSED_VIEWS) {
        const struct obb_view *last = missed->views[missed->count - 1];
        const obb_status status =
            srv_view_open_later(locks, last, revision_of(last) + 1, &missed->views[missed->count]);
        if (status != OBB_OK)
            return status;
        missed->count++;
    }
    return OBB_OK;
}

/* Makes a join ready to run. OBB_NO_MEMORY; OBB_CANCELLED as open_missed. */
static obb_status begin_join(struct srv_channel *c, struct srv_step *step)
{
    struct srv_subscriber *s = step->subscriber;
    struct srv_missed *missed = &step->missed;
    s->audience = audience_of(c, &s->params);
    if (s->audience == NULL)
        return OBB_NO_MEMORY;
    const bool known = s->audience->has_missed && s->audience->missed_since == s->last;
    const bool nothing = missed->count == 1 && missed->text == NULL && missed_whole(c, missed);
    if (known || nothing)
        forget_missed(c, missed);
    return missed->count > 0 ? open_missed(c, missed) : OBB_OK;
}

/* Makes a step ready to run on the pool. Returns false if the step is done already, or must wait:
 * *out_waits. */
static bool begin_step(struct srv_channel *c, struct srv_step *step, bool *out_waits)
{
    *out_waits = false;
    if (step->kind == SRV_STEP_JOIN) {
        obb_status status = OBB_OK;
        const bool refused = c->lost || atomic_load(&step->subscriber->request->cancelled);
        if (!refused)
            status = begin_join(c, step);
        *out_waits = status == OBB_CANCELLED;
        if (refused || status == OBB_NO_MEMORY)
            refuse_join(c, pop(c), c->lost ? OBB_NO_MEMORY : status);
        if (refused || status != OBB_OK)
            return false;
    }
    if (step->kind == SRV_STEP_SUMS)
        c->sums_queued = false;
    find_due(c, step->kind);
    bool waiting = false;
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        a->covered = a->subscribers != NULL;
        waiting = waiting || (a->due && srv_audience_waits(a));
    }
    if (waiting || step->kind == SRV_STEP_JOIN || step->kind == SRV_STEP_COMMIT)
        return true;
    (void)pop(c);
    if (step->kind == SRV_STEP_REMOVED)
        say_removed(c);
    return false;
}

/* Begins the next step. If there is none and nobody wants the channel, destroys it. */
static void next_step(struct srv_channel *c)
{
    bool waits;
    if (c->channels->stopped)
        drop_steps(c);
    if (c->lost)
        find_present(c);
    while (c->first != NULL) {
        struct srv_step *step = c->first;
        if (!begin_step(c, step, &waits)) {
            if (waits)
                return;
            continue;
        }
        if (srv_pool_submit(c->channels->pool, &c->job) == SRV_SUBMITTED) {
            c->busy = true;
            obb_view_rest(c->state.view, false);
            return;
        }
        const srv_step_kind kind = step->kind;
        (void)pop(c);
        if (kind == SRV_STEP_JOIN)
            refuse_join(c, step, OBB_NO_MEMORY);
        else if (kind == SRV_STEP_COMMIT)
            adopt(c, step);
        if (kind != SRV_STEP_JOIN)
            start_over(c);
        if (kind == SRV_STEP_REMOVED)
            say_removed(c);
    }
    obb_view_rest(c->state.view, true);
    set_timer(c);
    if (!wanted(c, WIRE_TOPIC_COLLISIONS))
        drop_contacts(c);
    end_audiences(c);
    if (c->state.audiences == NULL)
        channel_destroy(c);
}

static void go_on(struct srv_channel *c)
{
    if (!c->busy && c->wait.lock == NULL)
        next_step(c);
}

static void on_timer(void *context)
{
    struct srv_channel *c = context;
    if (!c->sums_queued) {
        c->sums_queued = true;
        push(c, &c->sums);
    }
    go_on(c);
}

/* ---- Finding and making ---------------------------------------------------------------------- */

struct srv_channel *srv_channel_find(const struct srv_channels *channels,
                                     const struct obb_scene *scene)
{
    struct srv_channel *c = channels->first;
    while (c != NULL && c->scene != scene)
        c = c->next;
    return c;
}

struct srv_channel *srv_channel_create(struct srv_channels *channels, struct obb_scene *scene)
{
    struct srv_channel *c = obb_budget_calloc(channels->budget, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->state.budget = c->state.arena.budget = channels->budget;
    if (srv_view_open(channels->locks, scene, NULL, &c->state.view, NULL, NULL) != OBB_OK) {
        obb_budget_free(c);
        return NULL;
    }
    c->channels = channels;
    c->scene = scene;
    c->wait.again = on_unlocked;
    c->sums.kind = SRV_STEP_SUMS;
    c->job.advance = run_step;
    c->job.done = on_done;
    c->job.background = true;
    c->job.cancelled = &c->state.cancelled;
    c->next = channels->first;
    if (c->next != NULL)
        c->next->previous = c;
    channels->first = c;
    srv_drain_hold(channels->drain);
    return c;
}

/* ---- Commits --------------------------------------------------------------------------------- */

void srv_channel_commit(struct srv_channel *c, struct obb_scene *scene)
{
    if (c->lost) {
        go_on(c); /* finds the present, which has this commit already */
        return;
    }
    struct srv_step *step =
        c->waiting < MOST_WAITING ? obb_budget_calloc(c->channels->budget, 1, sizeof *step) : NULL;
    if (step != NULL &&
        srv_view_open(c->channels->locks, scene, NULL, &step->after, NULL, NULL) != OBB_OK) {
        obb_budget_free(step);
        step = NULL;
    }
    if (step != NULL) {
        step->kind = SRV_STEP_COMMIT;
        push(c, step);
    } else {
        c->lost = true;
    }
    go_on(c);
}

/* A step that runs meanwhile touches neither the feeds nor the subscribers. */
void srv_channel_query(struct srv_channel *c, const wire_recorded_row *row)
{
    for (struct srv_audience *a = c->state.audiences; a != NULL; a = a->next) {
        if (a->subscribers == NULL || (a->params.topics & WIRE_TOPIC_QUERIES) == 0)
            continue;
        struct srv_message *message = srv_message_create(c->channels->budget);
        if (message != NULL)
            wire_event_query(&message->text, row);
        if (message == NULL || message->text.failed) {
            tell(c, a, NULL, true);
        } else {
            tell(c, a, message, false);
        }
        srv_message_unref(message);
    }
    go_on(c);
}

void srv_channels_remove(struct srv_channels *channels, const struct obb_scene *scene)
{
    struct srv_channel *c = srv_channel_find(channels, scene);
    if (c == NULL)
        return;
    c->scene = NULL;
    c->removed.kind = SRV_STEP_REMOVED;
    push(c, &c->removed);
    go_on(c);
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* In the request's arena. */
struct joining {
    struct srv_subscriber subscriber; /* first */
    struct srv_step step;
    struct srv_channel *channel;
};

/* The client is gone before it has joined. */
static void on_join_cancel(struct srv_request *request)
{
    struct joining *j = request->work;
    struct srv_channel *c = j->channel;
    if (c->busy && c->first == &j->step) {
        cancel_step(c);
        return;
    }
    struct srv_step *before = NULL;
    for (struct srv_step *step = c->first; step != &j->step; step = step->next)
        before = step;
    *(before != NULL ? &before->next : &c->first) = j->step.next;
    if (c->last == &j->step)
        c->last = before;
    refuse_join(c, &j->step, OBB_CANCELLED);
}

/* Holds the state that a returning client knows, and with it all later ones, if that is in the
 * scene's history. OBB_NO_MEMORY. */
static obb_status hold_missed(struct srv_channel *c, struct obb_scene *scene,
                              const struct srv_subscriber *s, struct srv_missed *missed)
{
    const obb_at at = {.kind = OBB_AT_REVISION, .revision = s->last};
    if (!s->returns)
        return OBB_OK;
    const obb_status status =
        srv_view_open(c->channels->locks, scene, &at, &missed->views[0], NULL, NULL);
    missed->count = status == OBB_OK;
    if (status == OBB_OK)
        obb_view_keep_later(missed->views[0]);
    return status == OBB_GONE ? OBB_OK : status;
}

void srv_channel_join(struct srv_channel *c, struct obb_scene *scene, struct srv_request *request,
                      const wire_event_params *params)
{
    struct joining *j = srv_work_room(request, sizeof *j);
    if (j != NULL) {
        srv_subscriber_init(&j->subscriber, request, params);
        j->step.kind = SRV_STEP_JOIN;
        j->step.subscriber = &j->subscriber;
        j->channel = c;
        request->work = j;
        request->on_cancel = on_join_cancel;
        const obb_status status = hold_missed(c, scene, &j->subscriber, &j->step.missed);
        if (status == OBB_OK)
            push(c, &j->step);
        else
            refuse_join(c, &j->step, status);
    }
    go_on(c);
}

/* ---- All channels ---------------------------------------------------------------------------- */

void srv_channels_tick(struct srv_channels *channels, struct srv_message *comment)
{
    for (struct srv_channel *c = channels->first, *next; c != NULL; c = next) {
        next = c->next;
        for (struct srv_audience *a = c->state.audiences; a != NULL && comment != NULL; a = a->next)
            for (struct srv_subscriber *s = a->subscribers; s != NULL; s = s->next)
                srv_subscriber_keep_alive(s, comment);
        if (!c->busy)
            drop_present(c); /* who is sent it holds it */
        go_on(c);
    }
}

void srv_channels_stop(struct srv_channels *channels)
{
    channels->stopped = true;
    for (struct srv_channel *c = channels->first, *next; c != NULL; c = next) {
        next = c->next;
        finish_all(c, wire_event_shutdown);
        if (c->wait.lock != NULL)
            srv_lock_unwait(&c->wait);
        if (c->busy)
            cancel_step(c);
        else
            next_step(c);
    }
}
