#include "server/scenes/record_entry.h"

struct srv_record_entry *srv_record_entry_create(const wire_record *record, obb_str name,
                                                 uint64_t scene, int dimensions,
                                                 struct obb_budget *budget)
{
    const bool gone = record->kind == WIRE_RECORD_GONE;
    struct srv_record_entry *r = obb_calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->entry = (struct srv_entry){.kind = gone ? SRV_ENTRY_GONE : SRV_ENTRY_RECORD,
                                  .scene = scene,
                                  .number = record->effects.moment.revision,
                                  .link = {.kind = record->kind,
                                           .id = record->id,
                                           .base = record->base,
                                           .seen = record->seen,
                                           .in_parts = record->in_parts},
                                  .name = name};
    r->bytes.budget = budget;
    wire_record_write(record, dimensions, &r->bytes);
    r->size = r->bytes.length;
    r->entry.bytes = (obb_str){.bytes = r->bytes.bytes, .length = r->bytes.length};
    if (!r->bytes.failed)
        return r;
    srv_record_entry_destroy(r);
    return NULL;
}

void srv_record_entry_name_parts(struct srv_record_entry *r, const struct srv_snapshot *parts)
{
    r->entry.snapshot = srv_snapshot_number(parts);
    r->size += (size_t)srv_snapshot_size(parts);
}

void srv_record_entry_destroy(struct srv_record_entry *r)
{
    if (r == NULL)
        return;
    wire_buf_fini(&r->bytes);
    obb_free(r);
}

static void write_bytes(const struct srv_entry *entry, struct wire_buf *out)
{
    const struct srv_record_entry *r = (const struct srv_record_entry *)entry;
    wire_buf_append(out, r->bytes.bytes, r->bytes.length);
}

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    struct srv_record_entry *r = (struct srv_record_entry *)entry;
    if (r->settled != NULL)
        r->settled(r, status);
}

static void on_released(struct srv_entry *entry)
{
    struct srv_record_entry *r = (struct srv_record_entry *)entry;
    struct srv_drain *drain = r->drain;
    srv_record_entry_destroy(r);
    srv_drain_release(drain);
}

void srv_record_entry_append(
    struct srv_record_entry *r, struct srv_journal *journal, struct srv_drain *drain,
    void (*settled)(struct srv_record_entry *record, srv_journal_status status), void *context)
{
    r->settled = settled;
    r->context = context;
    r->drain = drain;
    r->entry.write = write_bytes;
    r->entry.settled = on_settled;
    r->entry.released = on_released;
    srv_drain_hold(drain);
    srv_journal_append(journal, &r->entry);
}
