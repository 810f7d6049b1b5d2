#include "server/scenes/gather.h"

#include <string.h>

obb_status srv_gather(struct srv_gathered *all, const obb_effects *piece)
{
    if (piece->count == 0)
        return OBB_OK;
    if (piece->count > all->room - all->count) {
        size_t room = 2 * all->room + 4096;
        if (room < all->count + piece->count)
            room = all->count + piece->count;
        obb_effect *list = obb_realloc(all->list, room, sizeof *list);
        if (list == NULL)
            return OBB_NO_MEMORY;
        all->list = list;
        all->room = room;
    }
    memcpy(all->list + all->count, piece->list, piece->count * sizeof *piece->list);
    all->count += piece->count;
    return OBB_OK;
}

obb_status srv_gather_part(struct srv_gathered *all, const wire_record *record)
{
    if (record->id.counter != all->parts || (all->parts > 0 && !all->goes_on))
        return OBB_BAD_VALUE;
    all->parts++;
    all->goes_on = record->in_parts;
    return srv_gather(all, &record->effects);
}

obb_status srv_gather_records(struct srv_gathered *all, obb_str records, struct obb_arena *scratch)
{
    obb_status st = OBB_OK;
    obb_str one;
    while (st == OBB_OK && records.length > 0) {
        wire_record record;
        obb_arena_reset(scratch);
        st = wire_record_next(&records, &one) ? wire_record_read(one, scratch, &record)
                                              : OBB_BAD_VALUE;
        if (st == OBB_OK)
            st = record.kind == WIRE_RECORD_PART ? srv_gather_part(all, &record) : OBB_BAD_VALUE;
    }
    return st;
}

obb_status srv_gathered_join(const struct srv_gathered *all, wire_record *record)
{
    if (record->in_parts != (all->parts > 0) || all->goes_on)
        return OBB_BAD_VALUE;
    if (record->in_parts) {
        record->effects.list = all->list;
        record->effects.count = all->count;
    }
    return OBB_OK;
}

void srv_gathered_fini(struct srv_gathered *all)
{
    obb_free(all->list);
    *all = (struct srv_gathered){.list = NULL};
}
