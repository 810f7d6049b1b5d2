#include "server/events/channel.h"

#include "server/events/channel_steps.h"
#include "server/scenes/work.h"

#include <assert.h>
#include <string.h>

enum {
    KEPT_TICKS = 6,    /* after its last subscriber, a set of topics stays covered for 25 to 30 s */
    MOST_WAITING = 256 /* commits in a channel's queue before it is given up */
};

struct srv_channel {
    struct srv_job job; /* first; the running step */
    bool busy;          /* a step is running: the first of the queue */
    struct srv_channels *channels;
    struct obb_scene *scene; /* NULL once it is removed */
    struct srv_channel_state state;
    struct srv_step *first, *last;
    size_t waiting; /* commits in the queue */
    bool lost;      /* a commit did not fit in: the subscribers must start anew */
    struct srv_step removed;
    struct srv_feed feeds[SRV_TOPIC_SETS];
    struct srv_subscriber *subscribers;
    size_t wanted[SRV_TOPIC_SETS]; /* subscribers by their topics, */
    size_t kept[SRV_TOPIC_SETS];   /* and ticks for which one who left may come back */
    struct srv_channel *previous, *next;
};

/* ---- Subscribers ----------------------------------------------------------------------------- */

static void on_left(struct srv_subscriber *s)
{
    struct srv_channel *c = s->channel;
    *(s->previous != NULL ? &s->previous->next : &c->subscribers) = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    c->wanted[s->topics]--;
    c->kept[s->topics] = KEPT_TICKS;
    c->channels->metrics->followers--;
}

static void add_subscriber(struct srv_channel *c, struct srv_subscriber *s)
{
    s->channel = c;
    s->next = c->subscribers;
    if (s->next != NULL)
        s->next->previous = s;
    c->subscribers = s;
    c->wanted[s->topics]++;
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
    while (c->subscribers != NULL)
        srv_subscriber_finish(c->subscribers, message);
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

static void send_messages(struct srv_channel *c)
{
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
        if (c->state.now.of[i] != NULL)
            srv_feed_append(&c->feeds[i], c->state.now.of[i]);
    for (struct srv_subscriber *s = c->subscribers, *next; s != NULL; s = next) {
        next = s->next;
        struct srv_message *message = c->state.now.of[s->topics];
        if (c->state.lost[s->topics]) {
            overrun(c, s);
        } else if (message != NULL) {
            c->channels->metrics->events_total++;
            if (!srv_subscriber_send(s, message))
                overrun(c, s);
        }
    }
}

/* What had no room is missing: nobody can come back across it. */
static void forget_lost(struct srv_channel *c)
{
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++) {
        if (!c->state.lost[i])
            continue;
        c->state.lost[i] = c->state.now.covered[i] = false;
        c->kept[i] = 0;
    }
}

/* Returns whether messages for this set of topics must be written: somebody wants them, or may come
 * back for them. */
static bool covers(const struct srv_channel *c, unsigned topics)
{
    return c->wanted[topics] > 0 || c->kept[topics] > 0;
}

/* Notes how far the covered sets are. */
static void note_seen(struct srv_channel *c)
{
    const uint64_t present = obb_view_info_get(c->state.view)->at.revision;
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
        if (covers(c, i))
            c->state.seen[i] = present + 1;
}

/* Returns whether somebody follows one of the topics, or may come back for it. */
static bool wanted(const struct srv_channel *c, unsigned topics)
{
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
        if ((i & topics) != 0 && covers(c, i))
            return true;
    return false;
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

static void refuse_join(struct srv_step *step, obb_status status)
{
    step->subscriber->status = status;
    srv_subscriber_refuse(step->subscriber);
}

static void drop_present(struct srv_channel *c)
{
    srv_message_unref(c->state.present);
    c->state.present = NULL;
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

/* The messages have a gap: ends all streams and forgets what was kept, so that every client starts
 * anew. */
static void start_over(struct srv_channel *c)
{
    while (c->subscribers != NULL)
        overrun(c, c->subscribers);
    srv_replay_clear(&c->state.replay);
    srv_messages_clear(&c->state.now);
    memset(c->kept, 0, sizeof c->kept);
    memset(c->state.lost, 0, sizeof c->state.lost);
    memset(c->state.seen, 0, sizeof c->state.seen);
    drop_contacts(c);
}

static void channel_destroy(struct srv_channel *c)
{
    struct srv_channels *channels = c->channels;
    assert(!c->busy && c->first == NULL && c->subscribers == NULL);
    *(c->previous != NULL ? &c->previous->next : &channels->first) = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    drop_contacts(c);
    drop_present(c);
    srv_view_close(channels->locks, c->state.view);
    srv_replay_fini(&c->state.replay);
    srv_messages_clear(&c->state.now);
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
        srv_feed_fini(&c->feeds[i]);
    obb_arena_fini(&c->state.arena);
    obb_budget_free(c);
    srv_drain_release(channels->drain);
}

/* Returns the scene's place, which may be another scene's at present. */
static struct srv_place *place_of(struct srv_channels *channels, const struct obb_scene *scene)
{
    /* Knuth, 6.4: the product spreads addresses, which are multiples of a power of two */
    const uint64_t spread = (uint64_t)(uintptr_t)scene * 0x9e3779b97f4a7c15u;
    return &channels->places[(spread >> 32) % SRV_PLACES];
}

static void remember_place(struct srv_channel *c)
{
    struct srv_place *place = place_of(c->channels, c->scene);
    place->scene = c->scene;
    memcpy(place->seen, c->state.seen, sizeof place->seen);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void next_step(struct srv_channel *c);

static size_t run_step(struct srv_job *job)
{
    struct srv_channel *c = (struct srv_channel *)job;
    srv_step_run(&c->state, c->first);
    return 0;
}

static void joined(struct srv_channel *c, struct srv_subscriber *s)
{
    s->request->on_cancel = NULL;
    if (s->status != OBB_OK || atomic_load(&s->request->cancelled))
        srv_subscriber_refuse(s);
    else
        add_subscriber(c, s);
    note_seen(c);
}

static void committed(struct srv_channel *c, struct srv_step *step)
{
    adopt(c, step);
    if (c->state.status != OBB_OK) {
        start_over(c);
        return;
    }
    send_messages(c);
    forget_lost(c);
    srv_replay_add(&c->state.replay, &c->state.now);
    note_seen(c);
}

static void on_done(struct srv_job *job)
{
    struct srv_channel *c = (struct srv_channel *)job;
    struct srv_step *step = pop(c);
    c->busy = false;
    if (atomic_load(&c->state.cancelled)) {
        c->state.status = OBB_CANCELLED;
        if (step->kind == SRV_STEP_JOIN)
            step->subscriber->status = OBB_CANCELLED;
    }
    atomic_store(&c->state.cancelled, false);
    if (step->kind == SRV_STEP_JOIN)
        joined(c, step->subscriber);
    else
        committed(c, step);
    next_step(c);
}

static void cancel_step(struct srv_channel *c)
{
    atomic_store(&c->state.cancelled, true);
    srv_pool_cancelled(&c->job);
}

static void say_removed(struct srv_channel *c)
{
    finish_all(c, wire_event_gone);
    memset(c->kept, 0, sizeof c->kept);
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
            refuse_join(step, OBB_CANCELLED);
    }
    memset(c->kept, 0, sizeof c->kept);
    c->lost = false;
}

/* Begins the next step. If there is none and nobody wants the channel, destroys it. */
static void next_step(struct srv_channel *c)
{
    if (c->channels->stopped)
        drop_steps(c);
    if (c->lost)
        find_present(c);
    while (c->first != NULL) {
        struct srv_step *step = c->first;
        if (step->kind == SRV_STEP_REMOVED) {
            (void)pop(c);
            say_removed(c);
            continue;
        }
        if (step->kind == SRV_STEP_JOIN &&
            (c->lost || atomic_load(&step->subscriber->request->cancelled))) {
            refuse_join(pop(c), c->lost ? OBB_NO_MEMORY : OBB_OK);
            continue;
        }
        for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
            c->state.now.covered[i] = covers(c, i);
        if (srv_pool_submit(c->channels->pool, &c->job) == SRV_SUBMITTED) {
            c->busy = true;
            return;
        }
        if (step->kind == SRV_STEP_JOIN) {
            refuse_join(pop(c), OBB_NO_MEMORY);
        } else {
            adopt(c, pop(c));
            start_over(c);
        }
    }
    if (!wanted(c, WIRE_TOPIC_COLLISIONS))
        drop_contacts(c);
    if (wanted(c, WIRE_TOPICS))
        return;
    if (c->scene != NULL)
        remember_place(c);
    channel_destroy(c);
}

static void go_on(struct srv_channel *c)
{
    if (!c->busy)
        next_step(c);
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
    if (!srv_replay_init(&c->state.replay, channels->budget)) {
        obb_budget_free(c);
        return NULL;
    }
    if (srv_view_open(channels->locks, scene, NULL, &c->state.view, NULL, NULL) != OBB_OK) {
        srv_replay_fini(&c->state.replay);
        obb_budget_free(c);
        return NULL;
    }
    c->channels = channels;
    c->scene = scene;
    const struct srv_place *place = place_of(channels, scene);
    if (place->scene == scene)
        memcpy(c->state.seen, place->seen, sizeof place->seen);
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

/* Returns how many of the made boxes were put. They come first, in the order of the puts, of which
 * some may have changed nothing. */
static size_t count_put(const obb_edit *edit, const obb_committed *committed)
{
    size_t put = 0;
    for (size_t i = 0; edit != NULL && i < edit->put_count && put < committed->made_count; i++)
        put += obb_str_equal(edit->puts[i].target.name, obb_view_name(committed->made[put]));
    return put;
}

/* Returns the step of a commit, with its lists copied behind it and a view of the state after it.
 * NULL: no memory. */
static struct srv_step *commit_step(struct srv_channel *c, struct obb_scene *scene,
                                    const obb_edit *edit, const obb_committed *committed)
{
    const size_t boxes = committed->made_count + committed->ended_count;
    struct srv_step *step =
        obb_budget_malloc(c->channels->budget, 1, sizeof *step + boxes * sizeof *committed->made);
    struct obb_view *after;
    if (step == NULL ||
        srv_view_open(c->channels->locks, scene, NULL, &after, NULL, NULL) != OBB_OK) {
        obb_budget_free(step);
        return NULL;
    }
    *step = (struct srv_step){.kind = SRV_STEP_COMMIT, .after = after, .committed = *committed};
    const struct obb_version **lists = (const struct obb_version **)(void *)(step + 1);
    if (committed->made_count > 0)
        memcpy(lists, committed->made, committed->made_count * sizeof *lists);
    if (committed->ended_count > 0)
        memcpy(lists + committed->made_count, committed->ended,
               committed->ended_count * sizeof *lists);
    step->committed.made = lists;
    step->committed.ended = lists + committed->made_count;
    step->put = count_put(edit, committed);
    return step;
}

void srv_channel_commit(struct srv_channel *c, struct obb_scene *scene, const obb_edit *edit,
                        const obb_committed *committed)
{
    if (c->lost) {
        go_on(c); /* finds the present, which has this commit already */
        return;
    }
    if (!committed->changed)
        return;
    struct srv_step *step =
        c->waiting < MOST_WAITING ? commit_step(c, scene, edit, committed) : NULL;
    if (step != NULL)
        push(c, step);
    else
        c->lost = true;
    go_on(c);
}

void srv_channels_remove(struct srv_channels *channels, const struct obb_scene *scene)
{
    struct srv_place *place = place_of(channels, scene);
    if (place->scene == scene)
        place->scene = NULL;
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
    srv_subscriber_refuse(&j->subscriber);
}

void srv_channel_join(struct srv_channel *c, struct srv_request *request, unsigned topics)
{
    struct joining *j = srv_work_room(request, sizeof *j);
    if (j != NULL) {
        srv_subscriber_init(&j->subscriber, request, topics);
        j->step = (struct srv_step){.kind = SRV_STEP_JOIN, .subscriber = &j->subscriber};
        j->channel = c;
        request->work = j;
        request->on_cancel = on_join_cancel;
        push(c, &j->step);
    }
    go_on(c);
}

/* ---- All channels ---------------------------------------------------------------------------- */

void srv_channels_tick(struct srv_channels *channels, struct srv_message *comment)
{
    for (struct srv_channel *c = channels->first, *next; c != NULL; c = next) {
        next = c->next;
        for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
            c->kept[i] -= c->kept[i] > 0;
        for (struct srv_subscriber *s = c->subscribers; s != NULL && comment != NULL; s = s->next)
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
        if (c->busy)
            cancel_step(c);
        else
            next_step(c);
    }
}
