/* An entry of the journal: bytes about a scene on their way into the log. */
#ifndef SRV_ENTRY_H
#define SRV_ENTRY_H

#include "server/journal/chain.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum srv_journal_status {
    SRV_JOURNAL_OK,
    SRV_JOURNAL_FULL,   /* the disk has no room */
    SRV_JOURNAL_FAILED, /* the back end, or memory, failed */
    /* Nobody knows whether the entry is in the log, and nobody waits any longer: the service ends,
     * or what the log said about it was purged before this process came to it. */
    SRV_JOURNAL_UNKNOWN,
    /* A record of another process came first: what the entry says must begin again behind that. */
    SRV_JOURNAL_SUPERSEDED
} srv_journal_status;

/* Returns whether a record that was settled so may be in the log. */
static inline bool srv_journal_may_hold(srv_journal_status status)
{
    return status == SRV_JOURNAL_OK || status == SRV_JOURNAL_UNKNOWN;
}

typedef enum srv_entry_kind {
    SRV_ENTRY_RECORD, /* what one commit did, `number` is its revision */
    SRV_ENTRY_GONE,   /* the last record of a scene: its snapshot goes, too */
    SRV_ENTRY_CHUNK,  /* a piece of a snapshot or of a record, `number` counts from 0 */
    /* A snapshot is whole: it has `number` chunks, and replaces the one before. It may be the same
     * snapshot, of which fewer records count now. Over a log of many processes: the bytes are the
     * record that says so (WIRE_RECORD_WHOLE). */
    SRV_ENTRY_SNAPSHOT,
    SRV_ENTRY_DROPPED, /* pieces were given up: they go */
    SRV_ENTRY_KINDS
} srv_entry_kind;

/* One entry on its way. In the caller's memory, zeroed except for the first group, until
 * `released`. */
struct srv_entry {
    srv_entry_kind kind;
    uint64_t scene; /* from srv_journal_number */
    uint64_t number;
    /* Of the piece that is written last: how many pieces there are. 0: others follow. */
    uint64_t count;
    /* Of records, and of the last record of a scene. Of pieces, the id of the record that names
     * them. */
    srv_link link;
    obb_str name; /* of the scene, likewise; until the entry is appended */
    /* What the pieces are called, or the snapshot: from srv_journal_number. Of a record: its
     * pieces, which are durable, and stay as long as the record does; 0: it has none. */
    uint64_t snapshot;
    uint64_t from; /* of a snapshot: the first record, by `seq`, that counts after it */
    /* Of the word that a snapshot is whole: another scene that is gone from then on. The bytes are
     * the last record of that scene. Both are durable, or neither. 0: none. */
    uint64_t replaces;
    bool hurries; /* somebody waits until it is durable: it does not wait for sync_ms */
    /* Appends the bytes. Called on the journal's thread, perhaps again after a failure. NULL: no
     * bytes. */
    void (*write)(const struct srv_entry *entry, struct wire_buf *out);
    /* What `write` appends, if it lies in memory until `released`. Else of length 0. */
    obb_str bytes;
    /* The entry may be answered for, or has failed. Called once. */
    void (*settled)(struct srv_entry *entry, srv_journal_status status);
    /* The journal needs the entry no more: its memory may go. Called once, last. */
    void (*released)(struct srv_entry *entry);

    /* Place in the log of a record, or of the last record of the scene that a snapshot replaces,
     * once it is durable; records count from 1. The journal's thread writes it: a record that is
     * settled before it is durable may have its place by then, or 0. */
    _Atomic uint64_t seq;

    /* The journal's. */
    struct srv_entry *previous, *next;
    struct srv_entry *next_unsettled;
    bool answered;
    srv_journal_status status;
    struct srv_pending pending;
    struct srv_strand *strand;
    size_t slices; /* that were sent */
    bool sent;
    bool may_count;         /* all of it was sent at least once */
    uint64_t tag, moved_ms; /* of a piece: its slice that is under way */
    uint64_t heard_ms;      /* likewise: when the slice before was kept */
};

/* What the back end has done, for /metrics. */
struct srv_journal_figures {
    _Atomic uint64_t records, bytes, groups, sync_us, snapshots, failures, size;
    _Atomic uint64_t lost; /* records that were answered for, and given up at the end */
    /* Of many processes over one log: records that were read and do not count; how often the record
     * of another process came before entries that waited. */
    _Atomic uint64_t voided, conflicts;
    /* Likewise: scenes that were loaded from a snapshot at the beginning, or because this process
     * differed from what the log says; the latter alone; snapshots that could not be loaded; purges
     * of messages. */
    _Atomic uint64_t loads, differed, passed_over, purges;
    /* Likewise: scenes that sleep now; how often one was woken, was put to sleep, or could not be
     * woken. */
    _Atomic uint64_t asleep, wakes, sleeps, wake_failures;
    /* Likewise: records whose hash was wrong here also after the scene was loaded again: their
     * writer differed. */
    _Atomic uint64_t disputed;
    _Atomic uint64_t marks; /* likewise: of this process, that were read */
};

#endif
