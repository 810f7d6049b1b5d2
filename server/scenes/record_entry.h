/* A record on its way to the journal: its bytes, which it owns, and whoever waits for it. */
#ifndef SRV_RECORD_ENTRY_H
#define SRV_RECORD_ENTRY_H

#include "server/base/drain.h"
#include "server/scenes/snapshot.h"

/* On the heap, with its bytes. */
struct srv_record_entry {
    struct srv_entry entry; /* first */
    struct wire_buf bytes;
    size_t size;          /* of the bytes, and of its parts */
    uint64_t fingerprint; /* of the scene after it (core/scene/digest.h), if that is known */
    struct srv_drain *drain;
    void (*settled)(struct srv_record_entry *record, srv_journal_status status);
    void *context; /* of `settled` */
};

/* Makes the entry of a record of the scene that the journal calls `scene`, and that has this name,
 * which must live until the entry is appended. The bytes draw from the
 * budget until the journal needs them no more. `dimensions` is that of the scene after the commit.
 * Returns NULL without memory. About 30 ns a pose. Any thread. */
struct srv_record_entry *srv_record_entry_create(const wire_record *record, obb_str name,
                                                 uint64_t scene, int dimensions,
                                                 struct obb_budget *budget);

/* Says that the parts are the record's. They must be durable. */
void srv_record_entry_name_parts(struct srv_record_entry *record, const struct srv_snapshot *parts);

/* Frees an entry that was not appended. NULL is fine. */
void srv_record_entry_destroy(struct srv_record_entry *record);

/* Hands the entry over. `settled` is called as the journal says; it may be NULL. The drain is held,
 * and the entry stays, until the journal needs it no more. Loop only. */
void srv_record_entry_append(
    struct srv_record_entry *record, struct srv_journal *journal, struct srv_drain *drain,
    void (*settled)(struct srv_record_entry *record, srv_journal_status status), void *context);

#endif
