/* Lists of effects that came in several records: the parts of a large commit. Any thread. */
#ifndef SRV_GATHER_H
#define SRV_GATHER_H

#include "proto/wire.h"

/* Effects in one list. Zeroed: none yet. */
struct srv_gathered {
    obb_effect *list; /* owned; texts belong to the records */
    size_t count, room;
    uint64_t parts; /* of a commit */
    bool goes_on;   /* the last part was not the last of its commit */
};

/* Adds effects to the list. OBB_NO_MEMORY. */
obb_status srv_gather(struct srv_gathered *all, const obb_effects *piece);

/* Adds a part of a commit (WIRE_RECORD_PART). OBB_BAD_VALUE: another part comes next, or none. */
obb_status srv_gather_part(struct srv_gathered *all, const wire_record *record);

/* Adds all parts that are in the bytes of records, whose texts must live as long as the list.
 * OBB_BAD_VALUE: the bytes are damaged, or hold something else. */
obb_status srv_gather_records(struct srv_gathered *all, obb_str records, struct obb_arena *scratch);

/* Gives a record the effects of its parts. OBB_BAD_VALUE: they are not whole, or not its. */
obb_status srv_gathered_join(const struct srv_gathered *all, wire_record *record);

/* Frees the list, which is empty afterwards. */
void srv_gathered_fini(struct srv_gathered *all);

#endif
