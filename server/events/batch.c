#include "server/events/batch.h"

#include <stdlib.h>
#include <string.h>

bool srv_box_matches(const wire_event_params *params, const struct obb_version *box)
{
    if (!wire_event_params_filter(params))
        return true;
    const obb_attributes attributes = obb_view_attributes(box);
    return (!params->has_category || (attributes.category & params->category) != 0) &&
           (params->entity.length == 0 || obb_str_equal(attributes.entity, params->entity)) &&
           obb_str_starts_with(obb_view_name(box), params->prefix);
}

/* ---- Of one commit --------------------------------------------------------------------------- */

/* Writes what the change of a box is to those who asked for `params`. Returns false if it is
 * nothing. A box is new to them, too, if the filter did not let it pass before. With a rate, a
 * removed box that the filter did not let pass is GONE_UNSEEN: a sum may still hold it. */
enum { GONE_UNSEEN = 0, ALIVE = WIRE_BOX_PUT | WIRE_BOX_POSED };

static bool box_of(const struct obb_view *after, const srv_box_change *change,
                   const wire_event_params *params, wire_box_change *out)
{
    const bool was = change->before != NULL && srv_box_matches(params, change->before);
    const struct obb_version *box = change->after != NULL ? change->after : change->before;
    *out = (wire_box_change){.id = obb_view_id(box), .name = obb_view_name(box)};
    if (change->after == NULL) {
        const unsigned expired = change->expired ? WIRE_BOX_EXPIRED : 0;
        out->what = was ? WIRE_BOX_REMOVED | expired : GONE_UNSEEN | expired;
        return was || params->rate > 0;
    }
    if (!srv_box_matches(params, box))
        return false;
    out->what = (obb_view_put(box) ? WIRE_BOX_PUT : WIRE_BOX_POSED) | (was ? 0 : WIRE_BOX_NEW);
    if (params->pose) {
        out->box = obb_view_pose(after, box);
        out->entity = obb_view_attributes(box).entity;
    }
    return true;
}

static bool pair_matches(const wire_event_params *params, const obb_box_pair *pair)
{
    return pair->a != NULL &&
           (srv_box_matches(params, pair->a) || srv_box_matches(params, pair->b));
}

/* Does the same for a pair. */
static bool pair_of(const obb_contact_change *change, const wire_event_params *params,
                    wire_pair_change *out)
{
    const bool was = pair_matches(params, &change->before);
    const bool is = pair_matches(params, &change->after);
    if (was == is)
        return false;
    const obb_box_pair *pair = is ? &change->after : &change->before;
    *out = (wire_pair_change){.a_id = obb_view_id(pair->a),
                              .b_id = obb_view_id(pair->b),
                              .a = obb_view_name(pair->a),
                              .b = obb_view_name(pair->b),
                              .begun = is,
                              .ended = was && !change->removed,
                              .removed = was && change->removed && !change->expired,
                              .expired = was && change->expired};
    return true;
}

static int by_name(const void *a, const void *b)
{
    return obb_str_compare(*(const obb_str *)a, *(const obb_str *)b);
}

/* Lists the names of the frames that pass the filter, each once: a frame that was removed and made
 * again is two. */
static bool list_frames(const obb_committed *committed, const wire_event_params *params,
                        struct obb_arena *arena, struct srv_batch *out)
{
    if (committed->frame_count == 0 || params->entity.length > 0 || params->has_category)
        return true;
    obb_str *names = obb_arena_alloc(arena, committed->frame_count, sizeof *names);
    if (names == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < committed->frame_count; i++) {
        const obb_str name = obb_view_name(committed->frames[i]);
        if (obb_str_starts_with(name, params->prefix))
            names[count++] = name;
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        if (out->frame_count == 0 || by_name(&names[out->frame_count - 1], &names[i]) != 0)
            names[out->frame_count++] = names[i];
    out->frames = names;
    return true;
}

bool srv_batch_of(const srv_changes *changes, const wire_event_params *params,
                  struct obb_arena *arena, struct srv_batch *out)
{
    *out = (struct srv_batch){.commits = 1,
                              .sum = changes->committed,
                              .dimensions = obb_view_info_get(changes->after)->dimensions};
    out->sum.made = out->sum.ended = out->sum.frames = NULL;
    out->sum.made_count = out->sum.ended_count = out->sum.frame_count = 0;
    if ((params->topics & WIRE_TOPIC_BOXES) != 0) {
        out->boxes = obb_arena_alloc(arena, changes->box_count, sizeof *out->boxes);
        if (out->boxes == NULL)
            return false;
        for (size_t i = 0; i < changes->box_count; i++)
            out->box_count +=
                box_of(changes->after, &changes->boxes[i], params, &out->boxes[out->box_count]);
        if (!list_frames(&changes->committed, params, arena, out))
            return false;
    }
    if ((params->topics & WIRE_TOPIC_COLLISIONS) != 0) {
        out->pairs = obb_arena_alloc(arena, changes->contact_count, sizeof *out->pairs);
        if (out->pairs == NULL)
            return false;
        for (size_t i = 0; i < changes->contact_count; i++)
            out->pair_count += pair_of(&changes->contacts[i], params, &out->pairs[out->pair_count]);
    }
    return true;
}

/* ---- Of several commits ---------------------------------------------------------------------- */

/* Returns a copy of the text in the arena. *good is false if there is no room. */
static obb_str copy(struct obb_arena *arena, obb_str text, bool *good)
{
    char *bytes = obb_arena_alloc(arena, text.length, 1);
    if (bytes == NULL) {
        *good = false;
        return (obb_str){.bytes = "", .length = 0};
    }
    if (text.length > 0)
        memcpy(bytes, text.bytes, text.length);
    return (obb_str){.bytes = bytes, .length = text.length};
}

/* The later change of a box wins. A box that is put stays put, a new one new, until it is
 * removed. */
static wire_box_change join_box(const wire_box_change *a, const wire_box_change *b,
                                struct obb_arena *texts, bool *good)
{
    wire_box_change joined = *b;
    if ((b->what & ALIVE) == 0) {
        joined.what |= WIRE_BOX_REMOVED;
    } else {
        const unsigned both = a->what | b->what;
        joined.what = both & (WIRE_BOX_PUT | WIRE_BOX_NEW);
        if ((both & WIRE_BOX_PUT) == 0)
            joined.what |= WIRE_BOX_POSED;
    }
    joined.name = a->name;
    joined.entity = obb_str_equal(a->entity, b->entity) ? a->entity : copy(texts, b->entity, good);
    return joined;
}

static int by_id(const wire_box_change *a, const wire_box_change *b)
{
    return a->id < b->id ? -1 : a->id > b->id;
}

static wire_box_change *join_boxes(const struct srv_batch *sum, const struct srv_batch *next,
                                   struct obb_arena *texts, struct obb_budget *budget,
                                   size_t *out_count)
{
    bool good = true;
    size_t count = 0;
    wire_box_change *list =
        obb_budget_malloc(budget, sum->box_count + next->box_count, sizeof *list);
    for (size_t i = 0, j = 0; list != NULL && (i < sum->box_count || j < next->box_count);) {
        const int order = i == sum->box_count    ? 1
                          : j == next->box_count ? -1
                                                 : by_id(&sum->boxes[i], &next->boxes[j]);
        if (order > 0 && (next->boxes[j].what & ~(unsigned)WIRE_BOX_EXPIRED) == GONE_UNSEEN) {
            j++; /* the sum does not hold it */
            continue;
        }
        wire_box_change *joined = &list[count++];
        if (order < 0) {
            *joined = sum->boxes[i];
        } else if (order > 0) {
            *joined = next->boxes[j];
            joined->name = copy(texts, joined->name, &good);
            joined->entity = copy(texts, joined->entity, &good);
        } else {
            *joined = join_box(&sum->boxes[i], &next->boxes[j], texts, &good);
        }
        i += order <= 0;
        j += order >= 0;
    }
    *out_count = count;
    if (good)
        return list;
    obb_budget_free(list);
    return NULL;
}

static int by_ids(const wire_pair_change *a, const wire_pair_change *b)
{
    if (a->a_id != b->a_id)
        return a->a_id < b->a_id ? -1 : 1;
    return a->b_id < b->b_id ? -1 : a->b_id > b->b_id;
}

/* A pair that comes and goes again and again is told as often as it takes to say that it came, that
 * it went, and how it stands: begins less ends are what they were. */
static wire_pair_change join_pair(const wire_pair_change *a, const wire_pair_change *b)
{
    wire_pair_change joined = *a;
    joined.begun += b->begun;
    joined.ended += b->ended;
    joined.removed = a->removed || b->removed;
    joined.expired = a->expired || b->expired;
    while (joined.begun > 1 && joined.ended > 1) {
        joined.begun--;
        joined.ended--;
    }
    return joined;
}

static wire_pair_change *join_pairs(const struct srv_batch *sum, const struct srv_batch *next,
                                    struct obb_arena *texts, struct obb_budget *budget,
                                    size_t *out_count)
{
    bool good = true;
    size_t count = 0;
    wire_pair_change *list =
        obb_budget_malloc(budget, sum->pair_count + next->pair_count, sizeof *list);
    for (size_t i = 0, j = 0; list != NULL && (i < sum->pair_count || j < next->pair_count);) {
        const int order = i == sum->pair_count    ? 1
                          : j == next->pair_count ? -1
                                                  : by_ids(&sum->pairs[i], &next->pairs[j]);
        wire_pair_change *joined = &list[count++];
        if (order < 0) {
            *joined = sum->pairs[i];
        } else if (order > 0) {
            *joined = next->pairs[j];
            joined->a = copy(texts, joined->a, &good);
            joined->b = copy(texts, joined->b, &good);
        } else {
            *joined = join_pair(&sum->pairs[i], &next->pairs[j]);
        }
        i += order <= 0;
        j += order >= 0;
    }
    *out_count = count;
    if (good)
        return list;
    obb_budget_free(list);
    return NULL;
}

static obb_str *join_frames(const struct srv_batch *sum, const struct srv_batch *next,
                            struct obb_arena *texts, struct obb_budget *budget, size_t *out_count)
{
    bool good = true;
    size_t count = 0;
    obb_str *list = obb_budget_malloc(budget, sum->frame_count + next->frame_count, sizeof *list);
    for (size_t i = 0, j = 0; list != NULL && (i < sum->frame_count || j < next->frame_count);) {
        const int order = i == sum->frame_count    ? 1
                          : j == next->frame_count ? -1
                                                   : by_name(&sum->frames[i], &next->frames[j]);
        list[count++] = order <= 0 ? sum->frames[i] : copy(texts, next->frames[j], &good);
        i += order <= 0;
        j += order >= 0;
    }
    *out_count = count;
    if (good)
        return list;
    obb_budget_free(list);
    return NULL;
}

bool srv_batch_join(struct srv_batch *sum, const struct srv_batch *next, struct obb_budget *budget)
{
    size_t box_count, pair_count;
    sum->texts.budget = budget;
    wire_box_change *boxes = join_boxes(sum, next, &sum->texts, budget, &box_count);
    wire_pair_change *pairs = join_pairs(sum, next, &sum->texts, budget, &pair_count);
    size_t frame_count;
    obb_str *frames = join_frames(sum, next, &sum->texts, budget, &frame_count);
    if (boxes == NULL || pairs == NULL || frames == NULL) {
        obb_budget_free(frames);
        obb_budget_free(boxes);
        obb_budget_free(pairs);
        return false;
    }
    obb_budget_free(sum->boxes);
    obb_budget_free(sum->pairs);
    sum->boxes = boxes;
    sum->box_count = box_count;
    sum->pairs = pairs;
    sum->pair_count = pair_count;
    obb_budget_free(sum->frames);
    sum->frames = frames;
    sum->frame_count = frame_count;
    sum->dimensions = next->dimensions;
    sum->commits += next->commits;
    sum->sum.moment = next->sum.moment;
    sum->sum.removed += next->sum.removed;
    sum->sum.expired += next->sum.expired;
    sum->sum.put += next->sum.put;
    sum->sum.posed += next->sum.posed;
    sum->sum.transformed += next->sum.transformed;
    sum->sum.restarted = sum->sum.restarted || next->sum.restarted;
    return true;
}

void srv_batch_clear(struct srv_batch *sum)
{
    obb_budget_free(sum->boxes);
    obb_budget_free(sum->pairs);
    obb_budget_free(sum->frames);
    obb_arena_fini(&sum->texts);
    *sum = (struct srv_batch){.commits = 0};
}

/* ---- Writing --------------------------------------------------------------------------------- */

bool srv_batch_tells(const struct srv_batch *batch, const wire_event_params *params)
{
    return batch->box_count + batch->pair_count + batch->frame_count > 0 ||
           ((params->topics & WIRE_TOPIC_COMMITS) != 0 && batch->commits > 0);
}

void srv_batch_write(const struct srv_batch *batch, const wire_event_params *params, uint64_t epoch,
                     struct wire_buf *text)
{
    /* ends come first: a name may belong to another box now, whose pairs began later */
    static const wire_collisions kinds[] = {WIRE_COLLISIONS_EXPIRED, WIRE_COLLISIONS_REMOVED,
                                            WIRE_COLLISIONS_END, WIRE_COLLISIONS_BEGIN};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    const obb_moment moment = batch->sum.moment;
    const bool has_commit = (params->topics & WIRE_TOPIC_COMMITS) != 0 && batch->commits > 0;
    size_t counts[KINDS + 1] = {0};
    for (size_t k = 0; k < KINDS; k++)
        counts[k] = wire_pairs_of(batch->pairs, batch->pair_count, kinds[k]);
    counts[KINDS] = batch->box_count + batch->frame_count;
    size_t last = KINDS; /* the last one that is written, without the commit */
    while (last > 0 && counts[last] == 0)
        last--;
    for (size_t k = 0; k < KINDS; k++)
        if (counts[k] > 0)
            wire_event_collisions(text, kinds[k], epoch, moment, k == last && !has_commit,
                                  batch->pairs, batch->pair_count);
    if (counts[KINDS] > 0)
        wire_event_boxes(text, epoch, moment, !has_commit, batch->boxes, batch->box_count,
                         params->pose ? batch->dimensions : 0, batch->frames, batch->frame_count);
    if (has_commit)
        wire_event_commit(text, epoch, &batch->sum, true);
}
