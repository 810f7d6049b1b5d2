/* Snapshots of scenes in the journal, so that a start need not read all that ever happened, and the
 * records before them can be forgotten.
 *
 * A snapshot is the oldest state in the scene's history, box by box, and the commits that led from
 * there to the newest published state. So it stands alone: of the log, only the records after the
 * moment at which it was begun still count. It is made on the pool from views, a piece at a time,
 * and one piece is durable before the next one is made.
 *
 * A snapshot of a scene begins when the records since the last one take more bytes than that
 * snapshot, and at least SRV_SNAPSHOT_LEAST. A scene whose records are the oldest in the log gets
 * one, too, if the log holds too much that no other scene needs. If such a scene has not changed
 * since its last snapshot, only the word that this snapshot is whole is written anew.
 *
 * The record of a very large commit comes in parts, which go the way of the pieces of a snapshot:
 * they are durable before the record names them.
 *
 * In a log of many processes, each scene has its own records, and snapshots of it: the process
 * whose record makes one due writes it, so that not all do. If it never comes, because that process
 * has ended, another one writes it when twice as many bytes of records are there.
 *
 * If there is no memory for a snapshot, that is counted and logged. The records stay, and another
 * snapshot is tried after some more records.
 *
 * All functions are called on the loop. */
#ifndef SRV_SNAPSHOT_H
#define SRV_SNAPSHOT_H

#include "server/base/log.h"
#include "server/journal/journal.h"
#include "server/scenes/lock.h"
#include "server/scenes/parts.h"

enum { SRV_SNAPSHOT_LEAST = 4 << 20 }; /* bytes of records */

/* A scene that the journal holds, in the memory of whoever journals the scene. Zeroed except for
 * the first group. After a restart the second group is that of the restored scene (restore.h). */
struct srv_journaled {
    struct obb_scene *scene; /* in the store, or about to be */
    uint64_t number;         /* of the scene in the journal: from srv_journal_number */

    wire_record_id newest; /* its newest record that is published */
    uint64_t place;        /* of that record in the log; 0: nobody knows it */
    uint64_t first;    /* the first record of the log, by `seq`, that counts for it; 0: none yet */
    uint64_t mark;     /* bytes of all records before that one, since the log began to be counted */
    uint64_t bytes;    /* of its own records that count */
    uint64_t snapshot; /* the number of its last whole snapshot; 0: none */
    uint64_t chunks;   /* of that snapshot */
    uint64_t size;     /* its bytes */
    uint64_t fingerprint; /* of its newest published state, if records carry hashes */
    size_t unpublished;   /* its durable records that are not published yet */

    struct srv_snapshot *under_way;
    struct srv_journaled *previous, *next;
    bool added;
    bool ends;    /* the word that the scene is gone is on its way */
    bool is_left; /* another process has made a snapshot due: it is to write it */
};

/* Zeroed except for the first group. */
struct srv_snapshots {
    struct srv_journal *journal;
    struct srv_pool *pool;
    struct srv_locks *locks;
    struct srv_drain *drain; /* held while a snapshot is under way */
    const struct srv_log *log;
    struct obb_budget *budget; /* pieces and lists of steps draw from it; NULL: no limit */
    /* Appends a record of kind WIRE_RECORD_REMEMBERED for each published commit of the scene whose
     * id is remembered, oldest first. NULL: no commit is remembered. */
    void (*remember)(void *context, const struct srv_journaled *scene, struct wire_buf *out);
    /* Returns an id that no record has: that of the record which says that a snapshot is whole.
     * NULL: the journal needs no such record, and nobody else writes to it. */
    wire_record_id (*new_id)(void *context);
    void *context;
    uint64_t least; /* bytes of records that a snapshot is worth at least; 0: SRV_SNAPSHOT_LEAST */
    uint64_t last_seq; /* of the log: the last record that is durable and published */
    uint64_t total;    /* bytes of all records that were written, as `mark` counts them */

    struct srv_journaled *first;
    struct srv_snapshot *under_way; /* a list of them */
    struct srv_snapshot *regular;   /* of them, the one that nobody asked for; or NULL */
    uint64_t checked;               /* `total` when the oldest records were looked at last */
    uint64_t rests_until;           /* nobody begins a regular one before `total` is as large */
    uint64_t needed;                /* the sum of `bytes` of all scenes */
    bool stopped;
};

/* Begins to keep snapshots of a scene. It need not have a record yet. Call it once for a restored
 * scene, and once when a scene is made. */
void srv_snapshots_add(struct srv_snapshots *all, struct srv_journaled *scene);

/* The scene may end: call it before the entry is appended that says that the scene is gone. A
 * snapshot under way is given up, and none is begun. The records of the scene are kept until its
 * end is durable. */
void srv_snapshots_pause(struct srv_journaled *scene);

/* The end of the scene did not become durable: the scene goes on. */
void srv_snapshots_go_on(struct srv_journaled *scene);

/* Ends all that: the end of the scene is durable, or the scene was never added and will not be
 * durable. A snapshot under way is given up. The memory of `scene` may go afterwards. */
void srv_snapshots_remove(struct srv_snapshots *all, struct srv_journaled *scene);

/* A record of the scene is durable, and what it says is published. `scene` is NULL if the record is
 * the last one of a scene that was removed. Called for every record, in the order of the log; seq:
 * 0 if the record is only as good as durable (sync_ms of the journal), so that nobody knows its
 * place yet. May begin a snapshot. O(1) as a rule. */
void srv_snapshot_written(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t seq,
                          size_t bytes);

/* Called once, on the loop. */
typedef void srv_snapshot_done(void *context, srv_journal_status status);

/* A record of another process was applied to the scene. If it makes a snapshot due, that process
 * writes it. O(1). */
void srv_snapshot_followed(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t seq,
                           size_t bytes);

/* Another process has written a snapshot of the scene, of so many bytes: one of its own that is
 * under way is given up. */
void srv_snapshot_told(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t size);

/* Writes the pieces of a snapshot of a scene that has no record: of a copy, for example, whose
 * making is in no edit. `scene` is in no list yet. Nobody must write to the scene until its
 * snapshot is sealed. Once the pieces are durable, or have failed, calls `done`. A start does not
 * find the scene before srv_snapshot_seal; srv_snapshots_remove drops the pieces. Returns false
 * without memory; `done` is then not called. Several may be under way at a time. */
bool srv_snapshot_make(struct srv_snapshots *all, struct srv_journaled *scene,
                       srv_snapshot_done *done, void *context);

/* Writes that the snapshot of srv_snapshot_make is whole and, in one step with that, that another
 * scene is gone.
 *
 * replaces  the number of that scene, which is paused; 0: none
 * gone      its last record, for which the caller keeps the memory until `done`; or NULL
 *
 * Once that is durable, or has failed, calls `done`. If the status is SRV_JOURNAL_OK, call
 * srv_snapshots_add in `done`. Otherwise the pieces are dropped. Returns false if the pieces were
 * dropped already, at the end of the service; `done` is then not called. */
bool srv_snapshot_seal(struct srv_journaled *scene, uint64_t replaces, const struct wire_buf *gone,
                       srv_snapshot_done *done, void *context);

/* Does the same if a record says that the snapshot is whole, because the journal does not take that
 * word: call it once the record is durable. Its id is scene->newest, and was so when the snapshot
 * was begun. Does nothing if it was given up at the end of the service. */
void srv_snapshot_named(struct srv_journaled *scene);

/* ---- Parts of records ------------------------------------------------------------------------ */

/* Writes the parts of a record into the journal, one after the other. A start removes them if no
 * record names them. Once all are durable, or one has failed, calls `done`. The caller then appends
 * the record, whose entry names srv_snapshot_number, and calls srv_snapshot_parts_end. If they have
 * failed, nothing is left to do. Draws one piece from the budget.
 *
 * scene  its number in the journal
 * record the id of the record
 * parts  copied; its source must live until `done`
 *
 * Returns NULL without memory; `done` is then not called. */
struct srv_snapshot *srv_snapshot_parts(struct srv_snapshots *all, uint64_t scene,
                                        wire_record_id record, uint64_t epoch, int dimensions,
                                        const struct srv_parts *parts, srv_snapshot_done *done,
                                        void *context);

/* Returns what the journal calls the pieces. */
uint64_t srv_snapshot_number(const struct srv_snapshot *snapshot);

/* Returns the bytes of all pieces that are durable. */
uint64_t srv_snapshot_size(const struct srv_snapshot *snapshot);

/* Gives the parts up before `done`, which is then called soon, perhaps within this call, with
 * SRV_JOURNAL_FAILED. */
void srv_snapshot_parts_cancel(struct srv_snapshot *parts);

/* The record that names the parts is durable; or it is not, and the parts are removed. */
void srv_snapshot_parts_end(struct srv_snapshot *parts, bool named);

/* Gives up what is under way, but no parts of a record, and begins nothing any more. For the end of
 * the service. */
void srv_snapshots_stop(struct srv_snapshots *all);

#endif
