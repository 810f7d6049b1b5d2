#include "server/journal/strand_body.h"

#include <string.h>

/* Looks at what waits, until a strand gives up. */
enum { PATIENT_LOOKS = SRV_SHARED_PARTS_PATIENCES * SRV_SHARED_LOOKS };

/* ---- Memory ---------------------------------------------------------------------------------- */

void *srv_shared_calloc(struct srv_shared *j, size_t bytes)
{
    void *block = obb_calloc(1, bytes);
    if (block != NULL)
        obb_budget_charge(j->options.budget, bytes);
    return block;
}

void srv_shared_free(struct srv_shared *j, void *block, size_t bytes)
{
    obb_free(block);
    obb_budget_give(j->options.budget, bytes);
}

void srv_shared_drop_bytes(struct srv_shared *j, struct wire_buf *bytes)
{
    obb_budget_give(j->options.budget, bytes->capacity);
    wire_buf_fini(bytes);
}

/* ---- The table ------------------------------------------------------------------------------- */

struct srv_strand **srv_strand_place(struct srv_shared *j, obb_str name)
{
    struct srv_strand **place =
        &j->buckets[obb_hash(j->key, name.bytes, name.length) % SRV_STRAND_BUCKETS];
    while (*place != NULL && !obb_str_equal(srv_strand_name(*place), name))
        place = &(*place)->next;
    return place;
}

struct srv_strand *srv_strand_of(struct srv_shared *j, obb_str name)
{
    struct srv_strand **place = srv_strand_place(j, name);
    if (*place != NULL)
        return *place;
    struct srv_strand *s = srv_shared_calloc(j, sizeof *s + name.length);
    if (s == NULL)
        return NULL;
    s->journal = j;
    s->slices.budget = j->options.budget;
    s->name = (char *)(s + 1);
    memcpy(s->name, name.bytes, name.length);
    s->name_length = name.length;
    *place = s;
    return s;
}

static void free_message(struct srv_shared *j, struct srv_strand_message *m)
{
    srv_shared_free(j, m, sizeof *m + m->bytes.length);
}

void srv_strand_end_flight(struct srv_shared *j, struct srv_strand *s)
{
    if (s->flight == 0)
        return;
    struct srv_strand **place = &j->flights[s->flight % SRV_STRAND_BUCKETS];
    while (*place != s)
        place = &(*place)->next_flight;
    *place = s->next_flight;
    s->flight = 0;
}

void srv_strand_drop_source(struct srv_shared *j, struct srv_strand *s)
{
    srv_shared_drop_bytes(j, &s->source.record);
    s->source = (struct srv_strand_source){.from = 0};
}

void srv_strand_end_waking(struct srv_shared *j, struct srv_strand *s)
{
    struct srv_strand_waking *w = s->waking;
    if (w == NULL)
        return;
    s->waking = NULL;
    j->waking_count--;
    srv_waking_end(&w->get);
    srv_shared_drop_bytes(j, &w->record);
    srv_shared_free(j, w, sizeof *w);
}

void srv_strand_drop_named(struct srv_shared *j, struct srv_strand *s, uint64_t place,
                           bool everywhere)
{
    struct srv_strand_named **at = &s->named;
    while (*at != NULL) {
        struct srv_strand_named *n = *at;
        if (n->place >= place) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        if (everywhere)
            srv_pieces_drop(&j->pieces, n->set, srv_shared_now_ms(j));
        srv_shared_free(j, n, sizeof *n);
    }
}

void srv_strand_note_named(struct srv_shared *j, struct srv_strand *s, wire_record_id set,
                           uint64_t place)
{
    if (!j->options.stream->removes(j->options.stream))
        return;
    for (const struct srv_strand_named *n = s->named; n != NULL; n = n->next)
        if (wire_record_id_equal(n->set, set))
            return;
    struct srv_strand_named *n = srv_shared_calloc(j, sizeof *n);
    if (n == NULL)
        return;
    *n = (struct srv_strand_named){.next = s->named, .set = set, .place = place};
    s->named = n;
}

void srv_strand_free(struct srv_shared *j, struct srv_strand *s)
{
    srv_strand_end_waking(j, s);
    srv_strand_drop_source(j, s);
    for (struct srv_strand_message *m = s->first, *next; m != NULL; m = next) {
        next = m->next;
        free_message(j, m);
    }
    srv_strand_end_flight(j, s);
    srv_strand_drop_named(j, s, UINT64_MAX, false);
    srv_fetch_end(&s->fetch);
    srv_slices_drop(&s->slices, UINT64_MAX);
    srv_shared_drop_bytes(j, &s->applied);
    srv_shared_free(j, s, sizeof *s + s->name_length);
}

/* ---- Messages -------------------------------------------------------------------------------- */

void srv_strand_drop_message(struct srv_shared *j, struct srv_strand *s)
{
    struct srv_strand_message *m = s->first;
    const bool was_full = srv_shared_is_full(j);
    s->first = m->next;
    if (s->first == NULL)
        s->last = NULL;
    j->unjudged--;
    j->inbox -= m->bytes.length;
    s->bytes -= m->bytes.length;
    if (s->holds)
        j->held -= m->bytes.length;
    free_message(j, m);
    if (was_full && !srv_shared_is_full(j))
        j->options.stream->resume(j->options.stream);
}

void srv_strand_set_holds(struct srv_shared *j, struct srv_strand *s, bool holds)
{
    const bool was_full = srv_shared_is_full(j);
    if (holds && !s->holds)
        j->held += s->bytes;
    if (!holds && s->holds)
        j->held -= s->bytes;
    s->holds = holds;
    if (was_full && !srv_shared_is_full(j))
        j->options.stream->resume(j->options.stream);
}

void srv_strand_add_fresh(struct srv_shared *j, struct srv_strand *s)
{
    if (s->is_fresh)
        return;
    s->is_fresh = true;
    s->next_fresh = j->fresh;
    j->fresh = s;
}

bool srv_offer_read(obb_str bytes, uint64_t seq, struct srv_offer *out)
{
    wire_record record;
    obb_str one;
    if (!wire_record_next(&bytes, &one) || wire_slice_is(one) ||
        wire_record_head(one, &record) != OBB_OK || record.kind != WIRE_RECORD_WHOLE)
        return false;
    *out = (struct srv_offer){
        .set = record.id, .base = record.base, .place = record.seen, .seq = seq, .record = one};
    return true;
}

/* ---- State ----------------------------------------------------------------------------------- */

void srv_strand_be_patient(const struct srv_shared *j, struct srv_strand *s)
{
    s->patient_until = j->looks + PATIENT_LOOKS;
}

bool srv_strand_is_impatient(const struct srv_shared *j, const struct srv_strand *s)
{
    return j->read_all && j->looks >= s->patient_until && j->looks - j->delivered >= PATIENT_LOOKS;
}

bool srv_strand_is_held(const struct srv_shared *j, const struct srv_strand *s)
{
    if (!s->holds || s->has_offer)
        return false;
    return s->doubts ? j->gap != 0 || j->looks < s->patient_until : !srv_strand_is_impatient(j, s);
}

bool srv_strand_is_unchecked(const struct srv_strand *s)
{
    const wire_record_id id = s->chain.newest;
    return wire_record_id_is(id) &&
           (id.writer == s->disputed || wire_record_id_equal(id, s->differed));
}

/* ---- What is told ---------------------------------------------------------------------------- */

void srv_strand_warn(struct srv_shared *j, const struct srv_strand *s, bool again, const char *why)
{
    if (j->options.warn != NULL)
        j->options.warn(j->options.context, srv_strand_name(s), again, why);
}

void srv_shared_lose(struct srv_shared *j, const char *why)
{
    if (j->is_lost)
        return;
    j->is_lost = true;
    j->options.lost(j->options.context, why);
}

void srv_shared_look_if_caught_up(struct srv_shared *j)
{
    if (!j->read_all || j->unjudged > 0 || j->lacking > 0 || j->rereads || j->told || j->is_lost)
        return;
    j->told = true;
    j->options.caught_up(j->options.context);
}
