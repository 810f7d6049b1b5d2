#include "server/events/channel_steps.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_ARENA = 65536 }; /* bytes of working memory that stay for the next step */

/* The contacts of the state that the view shows. */
static obb_status find_contacts(struct srv_channel_state *state, struct obb_view *view,
                                struct obb_contacts **out)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = obb_view_info_get(view)->dimensions,
                             .limit = SIZE_MAX};
    struct obb_plan *plan;
    obb_status status = obb_plan_create(view, &query, &state->cancelled, state->budget, &plan);
    if (status != OBB_OK)
        return status;
    status = obb_plan_run(plan);
    if (status == OBB_OK) {
        const obb_result *result = obb_plan_result(plan);
        status = obb_contacts_create(state->budget, result->pairs, result->pair_count, out);
    }
    obb_plan_destroy(plan);
    return status;
}

static uint64_t revision_of(const struct obb_view *view)
{
    return obb_view_info_get(view)->at.revision;
}

/* Returns the epoch of the channel's scene. */
static uint64_t epoch_of(const struct srv_channel_state *state)
{
    return obb_scene_epoch(obb_view_scene(state->view));
}

/* ---- What a commit did ----------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct obb_version *const *x = a, *const *y = b;
    return obb_view_id(*x) < obb_view_id(*y) ? -1 : obb_view_id(*x) > obb_view_id(*y);
}

static void sort_boxes(const struct obb_version **boxes, size_t count)
{
    size_t ordered =
        1; /* mostly all are: clients name boxes in the order in which they made them */
    while (ordered < count && by_id(&boxes[ordered - 1], &boxes[ordered]) < 0)
        ordered++;
    if (ordered < count)
        qsort(boxes, count, sizeof *boxes, by_id);
}

/* What one commit did, gathered once for all audiences. The lists are in the arena. */
struct changes {
    obb_committed committed;
    wire_changes boxes;
    const obb_contact_change *contacts;
    size_t contact_count;
};

/* Lists what the commit did to boxes, each list by id. An ended box that is not in the state after
 * was removed. Returns false if there is no memory. */
static bool list_boxes(struct obb_arena *arena, const struct obb_view *after,
                       const obb_committed *committed, wire_changes *out)
{
    const size_t made_count = committed->made_count;
    const struct obb_version **list = (const struct obb_version **)obb_arena_alloc(
        arena, 2 * made_count + committed->ended_count, sizeof *list);
    if (list == NULL)
        return false;
    const struct obb_version **put = list, **posed = put + made_count,
                             **removed = posed + made_count;
    *out = (wire_changes){.put = put, .posed = posed, .removed = removed};
    for (size_t i = 0; i < made_count; i++)
        if (obb_view_put(committed->made[i]))
            put[out->put_count++] = committed->made[i];
        else
            posed[out->posed_count++] = committed->made[i];
    for (size_t i = 0; i < committed->ended_count; i++)
        if (obb_view_find_id(after, obb_view_id(committed->ended[i])) == NULL)
            removed[out->removed_count++] = committed->ended[i];
    sort_boxes(put, out->put_count);
    sort_boxes(posed, out->posed_count);
    sort_boxes(removed, out->removed_count);
    return true;
}

/* Gathers what the commit between two states did, for those topics. *contacts is moved on, or, with
 * an error, dropped. *out_lost is the topics for which there is no room. OBB_CANCELLED. */
static obb_status gather(struct srv_channel_state *state, struct obb_contacts **contacts,
                         const struct obb_view *before, const struct obb_view *after,
                         unsigned topics, struct changes *out, unsigned *out_lost)
{
    *out = (struct changes){.contact_count = 0};
    *out_lost = 0;
    const bool read = obb_committed_read(before, after, &state->arena, &out->committed) == OBB_OK;
    if (!read)
        *out_lost = WIRE_TOPICS;
    obb_status status = OBB_OK;
    if (*contacts != NULL) {
        status = read ? obb_contacts_advance(*contacts, before, after, &out->committed, false,
                                             &state->cancelled, &state->arena, &out->contacts,
                                             &out->contact_count)
                      : OBB_NO_MEMORY;
    }
    if (status != OBB_OK) {
        obb_contacts_destroy(*contacts);
        *contacts = NULL;
        *out_lost |= WIRE_TOPIC_COLLISIONS;
    }
    if (status == OBB_CANCELLED)
        return status;
    if (read && (topics & WIRE_TOPIC_BOXES) != 0 &&
        !list_boxes(&state->arena, after, &out->committed, &out->boxes))
        *out_lost |= WIRE_TOPIC_BOXES;
    return OBB_OK;
}

/* ---- Writing it ------------------------------------------------------------------------------ */

/* The pairs of one kind. */
struct pairs {
    obb_box_pair *list;
    size_t count;
};

static bool list_pairs(struct obb_arena *arena, const struct changes *changes, wire_collisions kind,
                       struct pairs *out)
{
    out->list = obb_arena_alloc(arena, changes->contact_count, sizeof *out->list);
    out->count = 0;
    if (out->list == NULL)
        return false;
    for (size_t i = 0; i < changes->contact_count; i++) {
        const obb_contact_change *change = &changes->contacts[i];
        const wire_collisions is = change->removed            ? WIRE_COLLISIONS_REMOVED
                                   : change->before.a != NULL ? WIRE_COLLISIONS_END
                                                              : WIRE_COLLISIONS_BEGIN;
        if (is == kind)
            out->list[out->count++] =
                kind == WIRE_COLLISIONS_BEGIN ? change->after : change->before;
    }
    return true;
}

/* Appends the messages about a commit. Returns false if there is no room for them. */
static bool write_text(struct wire_buf *text, uint64_t epoch, struct obb_arena *arena,
                       const struct changes *changes, unsigned topics)
{
    const obb_moment moment = changes->committed.moment;
    const wire_changes *boxes = &changes->boxes;
    const bool has_boxes = (topics & WIRE_TOPIC_BOXES) != 0 &&
                           boxes->put_count + boxes->posed_count + boxes->removed_count > 0;
    const bool has_commit = (topics & WIRE_TOPIC_COMMITS) != 0;
    if ((topics & WIRE_TOPIC_COLLISIONS) != 0) {
        /* ends come first: a name may belong to another box now, whose pairs begin with the same
         * commit */
        struct pairs removed, ended, begun;
        if (!list_pairs(arena, changes, WIRE_COLLISIONS_REMOVED, &removed) ||
            !list_pairs(arena, changes, WIRE_COLLISIONS_END, &ended) ||
            !list_pairs(arena, changes, WIRE_COLLISIONS_BEGIN, &begun))
            return false;
        const bool more = has_boxes || has_commit;
        const bool begins = begun.count > 0, ends = ended.count > 0;
        if (removed.count > 0)
            wire_event_collisions(text, WIRE_COLLISIONS_REMOVED, epoch, moment,
                                  !more && !begins && !ends, removed.list, removed.count);
        if (ends)
            wire_event_collisions(text, WIRE_COLLISIONS_END, epoch, moment, !more && !begins,
                                  ended.list, ended.count);
        if (begins)
            wire_event_collisions(text, WIRE_COLLISIONS_BEGIN, epoch, moment, !more, begun.list,
                                  begun.count);
    }
    if (has_boxes)
        wire_event_boxes(text, epoch, moment, !has_commit, boxes);
    if (has_commit)
        wire_event_commit(text, epoch, &changes->committed, true);
    return !text->failed;
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* Writes what the commits between the views told the audience. */
static obb_status write_missed(struct srv_channel_state *state, struct srv_missed *missed,
                               const struct srv_audience *audience)
{
    const unsigned topics = audience->params.topics;
    if (missed->text == NULL)
        missed->text = srv_message_create(state->budget);
    if (missed->text == NULL)
        return OBB_NO_MEMORY;
    if ((topics & WIRE_TOPIC_COLLISIONS) != 0 && missed->contacts == NULL) {
        const obb_status status = find_contacts(state, missed->views[0], &missed->contacts);
        if (status != OBB_OK)
            return status;
    }
    for (size_t i = 1; i < missed->count; i++) {
        struct changes changes;
        unsigned lost;
        const obb_status status = gather(state, &missed->contacts, missed->views[i - 1],
                                         missed->views[i], topics, &changes, &lost);
        if (status != OBB_OK)
            return status;
        if ((lost & topics) != 0 ||
            !write_text(&missed->text->text, epoch_of(state), &state->arena, &changes, topics))
            return OBB_NO_MEMORY;
        obb_arena_reset(&state->arena);
    }
    return OBB_OK;
}

/* All that the client missed is written: it is there for others who come back from there, too. */
static void keep_missed(struct srv_channel_state *state, struct srv_missed *missed,
                        struct srv_subscriber *s)
{
    struct srv_audience *audience = s->audience;
    if (missed->text->text.length == 0) {
        srv_message_unref(missed->text);
        missed->text = NULL;
    }
    srv_message_unref(audience->missed);
    audience->missed = s->first = missed->text;
    audience->missed_since = s->last;
    audience->has_missed = true;
    missed->text = NULL;
    if (state->contacts == NULL) {
        state->contacts = missed->contacts;
        missed->contacts = NULL;
    }
}

/* Writes the message of the present state. */
static obb_status write_present(struct srv_channel_state *state, struct srv_audience *audience)
{
    const obb_box_pair *pairs;
    const obb_status status =
        obb_contacts_list(state->contacts, state->view, &state->arena, &pairs);
    if (status != OBB_OK)
        return status;
    struct srv_message *message = srv_message_create(state->budget);
    if (message == NULL)
        return OBB_NO_MEMORY;
    wire_event_collisions(&message->text, WIRE_COLLISIONS_STATE, epoch_of(state),
                          obb_view_info_get(state->view)->at, true, pairs,
                          obb_contacts_count(state->contacts));
    if (message->text.failed) {
        srv_message_unref(message);
        return OBB_NO_MEMORY;
    }
    audience->present = message;
    return OBB_OK;
}

/* Returns whether the subscriber is told nothing for what it missed, or what was written for
 * another one. */
static bool missed_known(const struct srv_channel_state *state, struct srv_subscriber *s)
{
    const struct srv_audience *audience = s->audience;
    if (!s->returns)
        return false;
    if (audience->has_missed && audience->missed_since == s->last) {
        s->first = audience->missed;
        return true;
    }
    return s->last == revision_of(state->view);
}

static void run_join(struct srv_channel_state *state, struct srv_step *step)
{
    struct srv_subscriber *s = step->subscriber;
    struct srv_missed *missed = &step->missed;
    const bool follows = (s->params.topics & WIRE_TOPIC_COLLISIONS) != 0;
    s->status = OBB_OK;
    s->first = NULL;
    bool needs_state = false;
    if (missed->count > 0) {
        s->status = write_missed(state, missed, s->audience);
        if (s->status == OBB_OK &&
            revision_of(missed->views[missed->count - 1]) == revision_of(state->view))
            keep_missed(state, missed, s);
        else
            return;
    } else {
        needs_state = !missed_known(state, s) && (s->returns || follows);
    }
    const bool writes = needs_state && s->audience->present == NULL;
    if (state->contacts == NULL && (follows || writes))
        s->status = find_contacts(state, state->view, &state->contacts);
    if (s->status == OBB_OK && writes)
        s->status = write_present(state, s->audience);
    if (needs_state)
        s->first = s->audience->present;
}

/* ---- Commits --------------------------------------------------------------------------------- */

/* Writes the messages for an audience. Returns false if there is no room for them. */
static bool write_now(struct srv_channel_state *state, const struct changes *changes,
                      struct srv_audience *audience)
{
    struct srv_message *message = srv_message_create(state->budget);
    if (message == NULL)
        return false;
    const bool good = write_text(&message->text, epoch_of(state), &state->arena, changes,
                                 audience->params.topics);
    if (good && message->text.length > 0)
        audience->now = message;
    else
        srv_message_unref(message);
    return good;
}

static void run_commit(struct srv_channel_state *state, const struct srv_step *step)
{
    unsigned topics = 0, lost;
    for (const struct srv_audience *a = state->audiences; a != NULL; a = a->next)
        topics |= a->covered ? a->params.topics : 0;
    struct changes changes;
    state->status =
        gather(state, &state->contacts, state->view, step->after, topics, &changes, &lost);
    if (state->status != OBB_OK)
        return;
    for (struct srv_audience *a = state->audiences; a != NULL; a = a->next)
        a->lost = a->covered && ((a->params.topics & lost) != 0 || !write_now(state, &changes, a));
}

void srv_step_run(struct srv_channel_state *state, struct srv_step *step)
{
    if (step->kind == SRV_STEP_JOIN)
        run_join(state, step);
    else
        run_commit(state, step);
    if (state->arena.total > KEPT_ARENA)
        obb_arena_fini(&state->arena);
    else
        obb_arena_reset(&state->arena);
}
