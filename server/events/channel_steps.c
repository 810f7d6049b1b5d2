#include "server/events/channel_steps.h"

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
        status = obb_contacts_create(state->budget, result->pairs, result->pair_count,
                                     &state->cancelled, out);
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

static void want(srv_wanted *wanted, const wire_event_params *params)
{
    wanted->topics |= params->topics;
    wanted->stayed = wanted->stayed || wire_event_params_filter(params);
}

/* Writes the batch as a message. *out is NULL if it tells nothing. Returns false if there is no
 * room. */
static bool write_batch(const struct srv_channel_state *state, const struct srv_batch *batch,
                        const wire_event_params *params, struct srv_message **out)
{
    *out = NULL;
    if (!srv_batch_tells(batch, params))
        return true;
    struct srv_message *message = srv_message_create(state->budget);
    if (message == NULL)
        return false;
    srv_batch_write(batch, params, epoch_of(state), &message->text);
    if (message->text.failed) {
        srv_message_unref(message);
        return false;
    }
    *out = message;
    return true;
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* Adds what one commit told the audience: as messages, or to their sum if the audience has a rate.
 * Returns false if there is no room. */
static bool add_missed(struct srv_channel_state *state, const srv_changes *changes,
                       const wire_event_params *params, struct srv_missed *missed)
{
    struct srv_batch batch;
    if (!srv_batch_of(changes, params, &state->arena, &batch))
        return false;
    if (params->rate > 0)
        return srv_batch_join(&missed->sum, &batch, state->budget);
    srv_batch_write(&batch, params, epoch_of(state), &missed->text->text);
    return !missed->text->text.failed;
}

/* Writes what the commits between the views told the audience. */
static obb_status write_missed(struct srv_channel_state *state, struct srv_missed *missed,
                               const wire_event_params *params)
{
    srv_wanted wanted = {.topics = 0};
    want(&wanted, params);
    if (missed->text == NULL)
        missed->text = srv_message_create(state->budget);
    if (missed->text == NULL)
        return OBB_NO_MEMORY;
    if ((params->topics & WIRE_TOPIC_COLLISIONS) != 0 && missed->contacts == NULL) {
        const obb_status status = find_contacts(state, missed->views[0], &missed->contacts);
        if (status != OBB_OK)
            return status;
    }
    for (size_t i = 1; i < missed->count; i++) {
        srv_changes changes;
        unsigned lost;
        const obb_status status =
            srv_changes_gather(missed->views[i - 1], missed->views[i], &wanted, &missed->contacts,
                               &state->cancelled, &state->arena, &changes, &lost);
        if (status != OBB_OK)
            return status;
        if ((lost & params->topics) != 0 || !add_missed(state, &changes, params, missed))
            return OBB_NO_MEMORY;
        obb_arena_reset(&state->arena);
    }
    return OBB_OK;
}

/* All that the client missed is there: keeps it for others who come back from there, too.
 * OBB_NO_MEMORY. */
static obb_status keep_missed(struct srv_channel_state *state, struct srv_missed *missed,
                              struct srv_subscriber *s)
{
    struct srv_audience *audience = s->audience;
    srv_batch_write(&missed->sum, &s->params, epoch_of(state), &missed->text->text);
    if (missed->text->text.failed)
        return OBB_NO_MEMORY;
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
    return OBB_OK;
}

/* Lists the pairs of the present state that the audience is told of. */
static obb_status list_pairs(struct srv_channel_state *state, const wire_event_params *params,
                             const obb_box_pair **out, size_t *out_count)
{
    const obb_box_pair *all;
    const obb_status status = obb_contacts_list(state->contacts, state->view, &state->arena, &all);
    if (status != OBB_OK)
        return status;
    *out = all;
    *out_count = obb_contacts_count(state->contacts);
    if (!wire_event_params_filter(params))
        return OBB_OK;
    obb_box_pair *some = obb_arena_alloc(&state->arena, *out_count, sizeof *some);
    if (some == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < *out_count; i++)
        if (srv_box_matches(params, all[i].a) || srv_box_matches(params, all[i].b))
            some[count++] = all[i];
    *out = some;
    *out_count = count;
    return OBB_OK;
}

/* Writes the message of the present state. */
static obb_status write_present(struct srv_channel_state *state, struct srv_audience *audience)
{
    const obb_box_pair *pairs;
    size_t count;
    const obb_status status = list_pairs(state, &audience->params, &pairs, &count);
    if (status != OBB_OK)
        return status;
    struct srv_message *message = srv_message_create(state->budget);
    if (message == NULL)
        return OBB_NO_MEMORY;
    wire_event_state(&message->text, epoch_of(state), obb_view_info_get(state->view)->at, pairs,
                     count);
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
        s->status = write_missed(state, missed, &s->params);
        if (s->status != OBB_OK ||
            revision_of(missed->views[missed->count - 1]) != revision_of(state->view))
            return;
        s->status = keep_missed(state, missed, s);
    } else {
        needs_state = !missed_known(state, s) && (s->returns || follows);
    }
    const bool writes = needs_state && s->audience->present == NULL;
    if (s->status == OBB_OK && state->contacts == NULL && (follows || writes))
        s->status = find_contacts(state, state->view, &state->contacts);
    if (s->status == OBB_OK && writes)
        s->status = write_present(state, s->audience);
    if (needs_state)
        s->first = s->audience->present;
}

/* ---- Commits --------------------------------------------------------------------------------- */

/* Writes the messages of an audience with a rate, if it is their turn. Returns false if there is no
 * room. */
static bool tell_sum(struct srv_channel_state *state, struct srv_audience *a)
{
    if (!a->due || !srv_batch_tells(&a->sum, &a->params))
        return true;
    const bool good = write_batch(state, &a->sum, &a->params, &a->now);
    if (good)
        srv_batch_clear(&a->sum);
    return good;
}

/* Tells an audience of a commit. Returns false if there is no room. */
static bool tell(struct srv_channel_state *state, const srv_changes *changes,
                 struct srv_audience *a)
{
    struct srv_batch batch;
    if (!srv_batch_of(changes, &a->params, &state->arena, &batch))
        return false;
    if (a->params.rate > 0)
        return srv_batch_join(&a->sum, &batch, state->budget) && tell_sum(state, a);
    return write_batch(state, &batch, &a->params, &a->now);
}

static void run_commit(struct srv_channel_state *state, const struct srv_step *step)
{
    srv_wanted wanted = {.topics = 0};
    unsigned lost;
    for (const struct srv_audience *a = state->audiences; a != NULL; a = a->next)
        if (a->covered)
            want(&wanted, &a->params);
    srv_changes changes;
    state->status = srv_changes_gather(state->view, step->after, &wanted, &state->contacts,
                                       &state->cancelled, &state->arena, &changes, &lost);
    if (state->status != OBB_OK)
        return;
    for (struct srv_audience *a = state->audiences; a != NULL; a = a->next)
        a->lost = a->covered && ((a->params.topics & lost) != 0 || !tell(state, &changes, a));
}

/* Writes the sums of those whose turn it is. */
static void run_sums(struct srv_channel_state *state)
{
    for (struct srv_audience *a = state->audiences; a != NULL; a = a->next)
        a->lost = a->covered && !tell_sum(state, a);
}

void srv_step_run(struct srv_channel_state *state, struct srv_step *step)
{
    if (step->kind == SRV_STEP_JOIN)
        run_join(state, step);
    else if (step->kind == SRV_STEP_COMMIT)
        run_commit(state, step);
    else
        run_sums(state);
    if (state->arena.total > KEPT_ARENA)
        obb_arena_fini(&state->arena);
    else
        obb_arena_reset(&state->arena);
}
