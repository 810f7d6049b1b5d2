#include "server/events/channel_steps.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_ARENA = 65536 }; /* bytes of working memory that stay for the next step */

static obb_status find_contacts(struct srv_channel_state *state)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = obb_view_info_get(state->view)->dimensions,
                             .limit = SIZE_MAX};
    struct obb_plan *plan;
    obb_status status =
        obb_plan_create(state->view, &query, &state->cancelled, state->budget, &plan);
    if (status != OBB_OK)
        return status;
    status = obb_plan_run(plan);
    if (status == OBB_OK) {
        const obb_result *result = obb_plan_result(plan);
        status =
            obb_contacts_create(state->budget, result->pairs, result->pair_count, &state->contacts);
    }
    obb_plan_destroy(plan);
    return status;
}

/* A revision alone does not tell this scene from a removed one of the same name. So nothing is
 * missed only where the set was covered at the present revision, whoever followed since. */
static bool resume(const struct srv_channel_state *state, struct srv_subscriber *s)
{
    const uint64_t present = obb_view_info_get(state->view)->at.revision;
    if (!s->returns)
        return false;
    if (s->last == present && state->seen[s->topics] == present + 1)
        return true;
    return state->now.covered[s->topics] &&
           srv_replay_resume(&state->replay, s->topics, s->last, present, &s->first);
}

/* Returns the epoch of the channel's scene. */
static uint64_t epoch_of(const struct srv_channel_state *state)
{
    return obb_scene_epoch(obb_view_scene(state->view));
}

/* Writes the message of the present state. */
static obb_status write_present(struct srv_channel_state *state)
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
    state->present = message;
    return OBB_OK;
}

static void run_join(struct srv_channel_state *state, struct srv_subscriber *s)
{
    const bool follows = (s->topics & WIRE_TOPIC_COLLISIONS) != 0;
    const bool needs_state = !resume(state, s) && (s->returns || follows);
    s->status = OBB_OK;
    const bool writes = needs_state && state->present == NULL;
    if (state->contacts == NULL && (follows || writes))
        s->status = find_contacts(state);
    if (s->status == OBB_OK && writes)
        s->status = write_present(state);
    if (needs_state)
        s->first = state->present;
}

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

/* Lists what the commit did to boxes, each list by id. An ended box that is not in the state after
 * was removed. Returns false if there is no memory. */
static bool list_boxes(struct srv_channel_state *state, const struct srv_step *step,
                       wire_changes *out)
{
    const obb_committed *committed = &step->committed;
    const struct obb_version **made = obb_arena_alloc(
        &state->arena, committed->made_count + committed->ended_count, sizeof *made);
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

/* Returns whether somebody wants messages about one of the topics. */
static bool covered(const struct srv_messages *messages, unsigned topics)
{
    for (unsigned i = 0; i < SRV_TOPIC_SETS; i++)
        if ((i & topics) != 0 && messages->covered[i])
            return true;
    return false;
}

static void write_text(struct wire_buf *text, uint64_t epoch, const struct srv_step *step,
                       unsigned topics, const obb_contact_changes *contacts,
                       const wire_changes *boxes)
{
    const obb_moment moment = step->committed.moment;
    const bool has_boxes = (topics & WIRE_TOPIC_BOXES) != 0 &&
                           boxes->put_count + boxes->posed_count + boxes->removed_count > 0;
    const bool has_commit = (topics & WIRE_TOPIC_COMMITS) != 0;
    if ((topics & WIRE_TOPIC_COLLISIONS) != 0) {
        /* ends come first: a name may belong to another box now, whose pairs begin with the same
         * commit */
        const bool more = has_boxes || has_commit;
        const bool begins = contacts->begun_count > 0, ends = contacts->ended_count > 0;
        if (contacts->removed_count > 0)
            wire_event_collisions(text, WIRE_COLLISIONS_REMOVED, epoch, moment,
                                  !more && !begins && !ends, contacts->removed,
                                  contacts->removed_count);
        if (ends)
            wire_event_collisions(text, WIRE_COLLISIONS_END, epoch, moment, !more && !begins,
                                  contacts->ended, contacts->ended_count);
        if (begins)
            wire_event_collisions(text, WIRE_COLLISIONS_BEGIN, epoch, moment, !more,
                                  contacts->begun, contacts->begun_count);
    }
    if (has_boxes)
        wire_event_boxes(text, epoch, moment, !has_commit, boxes);
    if (has_commit)
        wire_event_commit(text, epoch, &step->committed, true);
}

/* Writes the messages for a set of topics. Returns false if there is no room for them. */
static bool write_message(struct srv_channel_state *state, const struct srv_step *step,
                          unsigned topics, const obb_contact_changes *contacts,
                          const wire_changes *boxes)
{
    struct srv_message *message = srv_message_create(state->budget);
    if (message == NULL)
        return false;
    write_text(&message->text, epoch_of(state), step, topics, contacts, boxes);
    const bool good = !message->text.failed;
    if (good && message->text.length > 0) {
        state->now.of[topics] = message;
        state->now.bytes += message->text.capacity;
    } else {
        srv_message_unref(message);
    }
    return good;
}

static void run_commit(struct srv_channel_state *state, const struct srv_step *step)
{
    const obb_committed *committed = &step->committed;
    obb_contact_changes contacts = {0};
    unsigned lost = 0; /* topics */
    state->status = OBB_OK;
    if (state->contacts != NULL)
        state->status = obb_contacts_advance(state->contacts, state->view, step->after, committed,
                                             &state->cancelled, &state->arena, &contacts);
    if (state->status == OBB_CANCELLED)
        return;
    if (state->status != OBB_OK) {
        obb_contacts_destroy(state->contacts);
        state->contacts = NULL;
        state->status = OBB_OK;
        lost |= WIRE_TOPIC_COLLISIONS;
    }
    wire_changes boxes = {0};
    if (covered(&state->now, WIRE_TOPIC_BOXES) && !list_boxes(state, step, &boxes))
        lost |= WIRE_TOPIC_BOXES;
    for (unsigned topics = 1; topics < SRV_TOPIC_SETS; topics++)
        state->lost[topics] =
            state->now.covered[topics] &&
            ((topics & lost) != 0 || !write_message(state, step, topics, &contacts, &boxes));
}

void srv_step_run(struct srv_channel_state *state, const struct srv_step *step)
{
    if (step->kind == SRV_STEP_JOIN)
        run_join(state, step->subscriber);
    else
        run_commit(state, step);
    if (state->arena.total > KEPT_ARENA)
        obb_arena_fini(&state->arena);
    else
        obb_arena_reset(&state->arena);
}
