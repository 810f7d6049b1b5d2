#include "server/journal/slices.h"

/* A record of which some slices were read. */
struct srv_assembly {
    struct srv_assembly *next;
    wire_record_id id;
    uint64_t slices;
    uint64_t from, seq; /* the places of the first one and of the last one */
    struct wire_buf bytes;
};

static struct srv_assembly *find(const struct srv_slices *all, wire_record_id id)
{
    struct srv_assembly *a = all->first;
    while (a != NULL && !wire_record_id_equal(a->id, id))
        a = a->next;
    return a;
}

bool srv_slices_add(struct srv_slices *all, const wire_slice *slice, uint64_t seq, bool *out_whole,
                    struct wire_buf *out_record, uint64_t *out_from)
{
    struct srv_assembly *a = find(all, slice->id);
    *out_whole = false;
    if (a == NULL && slice->number == 0) {
        a = obb_calloc(1, sizeof *a);
        if (a == NULL)
            return false;
        obb_budget_charge(all->budget, sizeof *a);
        a->id = slice->id;
        a->from = seq;
        a->next = all->first;
        all->first = a;
    }
    if (a == NULL || a->slices != slice->number)
        return true; /* a slice that came again, or whose first one does not count */
    const size_t before = a->bytes.capacity;
    wire_buf_append(&a->bytes, slice->bytes.bytes, slice->bytes.length);
    obb_budget_charge(all->budget, a->bytes.capacity - before);
    a->slices++;
    a->seq = seq;
    if (a->bytes.failed || a->slices < slice->count)
        return !a->bytes.failed;
    *out_record = a->bytes;
    *out_from = a->from;
    a->bytes = (struct wire_buf){0};
    *out_whole = true;
    return true;
}

srv_link srv_link_of(const wire_record *record)
{
    return (srv_link){.kind = record->kind,
                      .id = record->id,
                      .base = record->base,
                      .seen = record->seen,
                      .in_parts = record->in_parts};
}

bool srv_slices_read(struct srv_slices *all, const struct srv_chain *chain, uint64_t seq,
                     obb_str *bytes, wire_record *out, bool *out_whole, struct wire_buf *out_record,
                     uint64_t *out_from)
{
    wire_slice slice;
    *out_from = seq;
    *out_whole = !wire_slice_is(*bytes);
    if (*out_whole)
        return wire_record_head(*bytes, out) == OBB_OK;
    if (wire_slice_read(*bytes, &slice) != OBB_OK)
        return false;
    /* whether it comes too late is seen when it is whole */
    const srv_link link = {.kind = slice.kind, .id = slice.id, .base = slice.base, .seen = seq};
    if (!srv_chain_counts(chain, &link, seq))
        return true;
    if (seq > SRV_CHAIN_WINDOW)
        srv_slices_drop(all, seq - SRV_CHAIN_WINDOW);
    if (!srv_slices_add(all, &slice, seq, out_whole, out_record, out_from))
        return false;
    if (!*out_whole)
        return true;
    *bytes = (obb_str){.bytes = out_record->bytes, .length = out_record->length};
    return wire_record_head(*bytes, out) == OBB_OK;
}

uint64_t srv_slices_of(const struct srv_slices *all, wire_record_id id)
{
    const struct srv_assembly *a = find(all, id);
    return a != NULL ? a->slices : 0;
}

void srv_slices_drop(struct srv_slices *all, uint64_t seq)
{
    struct srv_assembly **place = &all->first;
    while (*place != NULL) {
        struct srv_assembly *a = *place;
        if (a->seq >= seq) {
            place = &a->next;
            continue;
        }
        *place = a->next;
        obb_budget_give(all->budget, a->bytes.capacity + sizeof *a);
        wire_buf_fini(&a->bytes);
        obb_free(a);
    }
}
