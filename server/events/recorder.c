#include "server/events/recorder.h"

#include "server/scenes/services.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_WAITING = 256 * 1024, /* bytes that wait to be kept */
    SHARE = 4,                 /* recorded queries take at most a SHARE-th of the budget */
    FEW = 64                   /* queries that the loop frees by itself at a time: 10 us */
};

/* What is kept of a scene, oldest first. */
struct srv_ring {
    const struct obb_scene *scene;
    struct srv_ring *next;
    struct srv_record *first, *last;
    size_t count, bytes;
    uint64_t last_id;
};

static size_t size_of(const struct srv_record *record)
{
    return sizeof *record + record->tag.length + record->text.length;
}

void srv_record_unref(struct srv_record *record)
{
    if (atomic_fetch_sub_explicit(&record->references, 1, memory_order_acq_rel) == 1)
        obb_budget_free(record);
}

/* ---- Rings ----------------------------------------------------------------------------------- */

static struct srv_ring **ring_place(struct srv_recorder *r, const struct obb_scene *scene)
{
    struct srv_ring **place = &r->rings;
    while (*place != NULL && (*place)->scene != scene)
        place = &(*place)->next;
    return place;
}

static void unref_all(struct srv_record *first)
{
    while (first != NULL) {
        struct srv_record *record = first;
        first = record->next;
        srv_record_unref(record);
    }
}

/* Queries that are freed on the pool. */
struct forgotten {
    struct srv_job job; /* first */
    struct srv_drain *drain;
    struct srv_record *first;
};

static size_t free_forgotten(struct srv_job *job)
{
    unref_all(((struct forgotten *)job)->first);
    return 0;
}

static void on_freed(struct srv_job *job)
{
    struct srv_drain *drain = ((struct forgotten *)job)->drain;
    obb_free(job);
    srv_drain_release(drain);
}

/* Forgets a list of queries that are in no ring: on the pool, if there is memory for a job. */
static void forget(const struct srv_recorder *r, struct srv_record *first)
{
    struct forgotten *f = obb_calloc(1, sizeof *f);
    if (f != NULL) {
        f->job.advance = free_forgotten;
        f->job.done = on_freed;
        f->job.background = true;
        f->drain = r->locks->drain;
        f->first = first;
        if (srv_pool_submit(r->locks->pool, &f->job) == SRV_SUBMITTED) {
            srv_drain_hold(f->drain);
            return;
        }
        obb_free(f);
    }
    unref_all(first);
}

/* Forgets the oldest queries until at most `most` are left. */
static void trim(struct srv_recorder *r, struct srv_ring *ring, size_t most)
{
    if (ring->count <= most)
        return;
    const size_t gone = ring->count - most;
    struct srv_record *first = ring->first, *rest = NULL;
    size_t bytes = ring->bytes;
    if (most > 0) {
        struct srv_record *last = first;
        bytes = size_of(first);
        for (size_t i = 1; i < gone; i++) {
            last = last->next;
            bytes += size_of(last);
        }
        rest = last->next;
        last->next = NULL;
    }
    ring->first = rest;
    ring->last = rest != NULL ? ring->last : NULL;
    ring->count = most;
    ring->bytes -= bytes;
    r->held -= bytes;
    if (gone > FEW)
        forget(r, first);
    else
        unref_all(first);
}

static void drop_ring(struct srv_recorder *r, struct srv_ring **place)
{
    struct srv_ring *ring = *place;
    *place = ring->next;
    trim(r, ring, 0);
    obb_budget_free(ring);
}

static size_t setting(const struct srv_recorder *r, const struct obb_scene *scene)
{
    obb_scene_info info;
    srv_scene_info(r->locks, scene, &info, NULL);
    return info.settings.record;
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    struct srv_recorder *r = context;
    struct srv_ring **place = ring_place(r, scene);
    (void)op;
    (void)committed;
    if (*place != NULL)
        trim(r, *place, setting(r, scene));
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    struct srv_recorder *r = context;
    struct srv_ring **place = ring_place(r, scene);
    (void)op;
    if (*place != NULL)
        drop_ring(r, place);
}

/* What was recorded is in no journal. */
static bool holds(void *context, const struct obb_scene *scene)
{
    return *ring_place(context, scene) != NULL;
}

srv_write_listener srv_recorder_listener(struct srv_recorder *recorder)
{
    return (srv_write_listener){
        .on_commit = on_commit, .on_remove = on_remove, .holds = holds, .context = recorder};
}

/* ---- Recordings ------------------------------------------------------------------------------ */

/* Returns a copy in the request's arena; *good turns false without memory. */
static obb_str copy(struct srv_request *request, obb_str text, bool *good)
{
    char *bytes = obb_arena_alloc(&request->arena, text.length, 1);
    if (bytes == NULL) {
        *good = false;
        return (obb_str){0};
    }
    memcpy(bytes, text.bytes, text.length);
    return (obb_str){bytes, text.length};
}

void srv_recording_begin(struct srv_recording *recording, struct srv_request *request)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)request->number);
    bool good = true;
    recording->recorder = request->services->recorder;
    recording->request_id =
        copy(request, obb_str_of(request->id != NULL ? request->id : number), &good);
    if (request->token != NULL)
        recording->token = copy(request, request->token->name, &good);
    recording->on = good;
    if (!good)
        recording->recorder->metrics->queries_unrecorded_total++;
}

/* Returns a record with room for the texts, or NULL. */
static struct srv_record *record_of(struct srv_recorder *r, const obb_query *query, obb_str text)
{
    const size_t tag = query->has_tag ? query->tag.length : 0;
    struct srv_record *record = obb_budget_malloc(r->budget, 1, sizeof *record + tag + text.length);
    if (record == NULL)
        return NULL;
    char *bytes = (char *)(record + 1);
    *record = (struct srv_record){.references = 1,
                                  .has_tag = query->has_tag,
                                  .tag = {bytes, tag},
                                  .text = {bytes + tag, text.length}};
    if (tag > 0)
        memcpy(bytes, query->tag.bytes, tag);
    memcpy(bytes + tag, text.bytes, text.length);
    return record;
}

/* Appends the text of a query to `text`. */
static void write_text(const struct srv_recording *recording, const struct srv_request *request,
                       const srv_answered *answered, size_t i, size_t view, obb_str sent,
                       struct wire_buf *text)
{
    const struct wire_buf *reply = &request->reply;
    struct wire_buf answer = {.budget = recording->recorder->budget};
    wire_recorded recorded = {.query = &answered->queries[i],
                              .view = answered->views[view],
                              .sent = sent,
                              .request = recording->request_id,
                              .token = recording->token};
    if (answered->entries != NULL) {
        const size_t *entry = answered->entries[i];
        recorded.answer = (obb_str){reply->bytes + entry[0], entry[1] - entry[0]};
        recorded.of_commit = true;
    } else if (!answered->of_commit && request->accept == WIRE_JSON) {
        recorded.answer = (obb_str){reply->bytes, reply->length};
    } else {
        wire_write_result(&answer, WIRE_JSON, recorded.view, recorded.query, answered->results[i]);
        recorded.answer = (obb_str){answer.bytes, answer.length};
    }
    if (answer.failed)
        text->failed = true;
    else
        wire_write_recorded(text, &recorded);
    wire_buf_fini(&answer);
}

static void add(struct srv_recording *recording, struct srv_record *record)
{
    *(recording->first != NULL ? &recording->last->next : &recording->first) = record;
    recording->last = record;
    (void)atomic_fetch_add(&recording->recorder->waiting, size_of(record));
}

void srv_recording_make(struct srv_recording *recording, struct srv_request *request,
                        const srv_answered *answered)
{
    struct srv_recorder *r = recording->recorder;
    struct wire_buf sent = {.budget = r->budget}, text = {.budget = r->budget};
    size_t *ends = obb_arena_alloc(&request->arena, answered->count, sizeof *ends), made = 0;
    const bool good = ends != NULL && !request->reply.failed &&
                      wire_copy_queries(&request->body, answered->of_commit, &request->arena, &sent,
                                        ends, answered->count);
    size_t wanted = 0;
    for (size_t i = 0; i < answered->count; i++)
        wanted += !answered->queries[i].unrecorded;
    for (size_t i = 0, view = 0; i < answered->count && good; i++) {
        const size_t begin = i > 0 ? ends[i - 1] : 0;
        struct srv_record *record = NULL;
        text.length = 0;
        if (!answered->queries[i].unrecorded && atomic_load(&r->waiting) <= MOST_WAITING) {
            write_text(recording, request, answered, i, view,
                       (obb_str){sent.bytes + begin, ends[i] - begin}, &text);
            if (!text.failed)
                record = record_of(r, &answered->queries[i], (obb_str){text.bytes, text.length});
        }
        if (text.failed)
            wire_buf_fini(&text);
        view += obb_query_views(&answered->queries[i]);
        if (record == NULL)
            continue;
        record->hit = wire_result_hits(&answered->queries[i], answered->results[i]);
        add(recording, record);
        made++;
    }
    recording->left_out += wanted - made;
    wire_buf_fini(&sent);
    wire_buf_fini(&text);
}

/* Takes the first record out of a recording. NULL: there is none. */
static struct srv_record *take(struct srv_recording *recording)
{
    struct srv_record *record = recording->first;
    if (record == NULL)
        return NULL;
    recording->first = record->next;
    record->next = NULL;
    (void)atomic_fetch_sub(&recording->recorder->waiting, size_of(record));
    return record;
}

/* Returns the ring of the scene, perhaps a new one; NULL without room. */
static struct srv_ring *ring_of(struct srv_recorder *r, const struct obb_scene *scene)
{
    struct srv_ring **place = ring_place(r, scene);
    if (*place == NULL) {
        *place = obb_budget_calloc(r->budget, 1, sizeof **place);
        if (*place != NULL)
            (*place)->scene = scene;
    }
    return *place;
}

/* Keeps and tells a record, or forgets it. Returns false if there is no room. */
static bool keep(struct srv_recorder *r, struct srv_ring *ring, size_t most,
                 struct obb_scene *scene, struct srv_record *record)
{
    const size_t leaves = ring->count >= most ? size_of(ring->first) : 0;
    if (r->held - leaves + size_of(record) > r->budget->limit / SHARE) {
        srv_record_unref(record);
        return false;
    }
    trim(r, ring, most - 1);
    record->id = ++ring->last_id;
    *(ring->first != NULL ? &ring->last->next : &ring->first) = record;
    ring->last = record;
    ring->count++;
    ring->bytes += size_of(record);
    r->held += size_of(record);
    const wire_recorded_row row = {.id = record->id, .text = record->text};
    srv_events_query(r->events, scene, &row);
    return true;
}

void srv_recording_keep(struct srv_recording *recording, struct srv_request *request,
                        const struct obb_scene *scene)
{
    struct srv_recorder *r = recording->recorder;
    struct obb_scene *present = obb_store_find(r->store, request->target.parts[SRV_SCENE_PART]);
    const size_t most = present == scene ? setting(r, scene) : 0;
    struct srv_ring *ring = most > 0 ? ring_of(r, scene) : NULL;
    r->metrics->queries_unrecorded_total += recording->left_out;
    recording->left_out = 0;
    for (struct srv_record *record; (record = take(recording)) != NULL;) {
        if (ring == NULL)
            srv_record_unref(record);
        if (most > 0 && (ring == NULL || !keep(r, ring, most, present, record)))
            r->metrics->queries_unrecorded_total++;
    }
}

void srv_recorder_add(struct srv_recorder *r, struct obb_scene *scene, const srv_own_query *own)
{
    const size_t most = setting(r, scene);
    if (most == 0)
        return;
    struct wire_buf answer = {.budget = r->budget}, text = {.budget = r->budget};
    wire_write_result(&answer, WIRE_JSON, own->view, own->query, own->result);
    const wire_recorded recorded = {.query = own->query,
                                    .view = own->view,
                                    .sent = own->sent,
                                    .answer = {answer.bytes, answer.length},
                                    .request = own->request};
    if (!answer.failed)
        wire_write_recorded(&text, &recorded);
    struct srv_record *record = NULL;
    if (!answer.failed && !text.failed)
        record = record_of(r, own->query, (obb_str){text.bytes, text.length});
    wire_buf_fini(&answer);
    wire_buf_fini(&text);
    struct srv_ring *ring = record != NULL ? ring_of(r, scene) : NULL;
    if (ring == NULL) {
        if (record != NULL)
            srv_record_unref(record);
        r->metrics->queries_unrecorded_total++;
        return;
    }
    record->hit = wire_result_hits(own->query, own->result);
    if (!keep(r, ring, most, scene, record))
        r->metrics->queries_unrecorded_total++;
}

void srv_recording_skip(struct srv_recording *recording)
{
    recording->recorder->metrics->queries_unrecorded_total++;
}

void srv_recording_drop(struct srv_recording *recording)
{
    for (struct srv_record *record; (record = take(recording)) != NULL;)
        srv_record_unref(record);
}

/* ---- Listing --------------------------------------------------------------------------------- */

static const struct srv_ring *find_ring(const struct srv_recorder *r, const struct obb_scene *scene)
{
    const struct srv_ring *ring = r->rings;
    while (ring != NULL && ring->scene != scene)
        ring = ring->next;
    return ring;
}

size_t srv_recorder_count(const struct srv_recorder *r, const struct obb_scene *scene)
{
    const struct srv_ring *ring = find_ring(r, scene);
    return ring != NULL ? ring->count : 0;
}

size_t srv_recorder_find(struct srv_recorder *r, const struct obb_scene *scene,
                         const wire_recorded_params *params, struct srv_record **out, size_t room)
{
    const struct srv_ring *ring = find_ring(r, scene);
    size_t count = 0;
    struct srv_record *record = ring != NULL ? ring->first : NULL;
    for (; record != NULL && count < room; record = record->next) {
        if (record->id <= params->after_id || (params->has_hit && params->hit != record->hit) ||
            (params->has_tag && !(record->has_tag && obb_str_equal(params->tag, record->tag))))
            continue;
        (void)atomic_fetch_add_explicit(&record->references, 1, memory_order_relaxed);
        out[count++] = record;
    }
    return count;
}

void srv_recorder_fini(struct srv_recorder *recorder)
{
    while (recorder->rings != NULL) {
        struct srv_ring *ring = recorder->rings;
        recorder->rings = ring->next;
        recorder->held -= ring->bytes;
        unref_all(ring->first);
        obb_budget_free(ring);
    }
}
