/* What the journal of many processes (shared.h) asks of its owner, and hands over to it. */
#ifndef SRV_SHARED_OPTIONS_H
#define SRV_SHARED_OPTIONS_H

#include "server/base/loop.h"
#include "server/journal/stream.h"
#include "server/journal/waking.h"

/* A record of another process that counts. The texts live until srv_shared_applied. */
typedef struct srv_foreign {
    obb_str name;
    uint64_t seq;
    obb_str bytes;
    /* If the record comes in parts: the pieces of its set. They hold the records that come before
     * it, or a snapshot (proto/record). */
    const struct wire_buf *pieces;
    size_t piece_count;
    /* The record says that a snapshot is whole, and the pieces are those of it: it takes the place
     * of the scene, if there is one. `seq` is then the place of the newest record that it holds. */
    bool is_snapshot;
    /* The scene wakes: it is made of this record, or of the snapshot, and of the records that count
     * behind it, oldest first. They stand from the place `from` on, and `newest` is the last one,
     * with the place `seq`. The scene is not there, or a scene that is only here, in memory. */
    bool wakes;
    /* The scene here is not what the log says (srv_shared_differs): it is replaced, or ends. */
    bool replaces;
    /* The hash in the newest record does not count: it was wrong after the scene was loaded again,
     * or the one in an earlier record of that writer. srv_shared_checked says whether it is
     * right. */
    bool is_unchecked;
    uint64_t from;
    wire_record_id newest;
    const srv_woken_record *records;
    size_t record_count;
} srv_foreign;

typedef struct srv_shared_options {
    struct srv_loop *loop;
    struct srv_stream *stream; /* the journal's once it is created */
    /* Whatever is kept of the log counts against it, also beyond its limit: messages and slices
     * that wait to be judged, and names. So less is left for others, and the following goes on. */
    struct obb_budget *budget; /* NULL: nothing is counted */
    size_t message_bytes;      /* the longest message, about; 0: 512 KiB */
    size_t slice_bytes;        /* of pieces: likewise; 0: 128 KiB */
    uint64_t patience_ms;      /* a message nothing is heard of for so long may be lost; 0: 1,000 */
    uint64_t writer;           /* of the ids of this process's records */
    uint64_t keep_ms; /* for so long, messages are kept that a snapshot makes needless; 0: 60,000 */
    /* Applies a record. Calls srv_shared_applied, now or later; not before the entries of the scene
     * that wait are taken back. */
    void (*foreign)(void *context, const srv_foreign *record);
    /* Another process has written a snapshot of the scene, which holds no more than the scene here:
     * `record` says so. NULL: not interested. */
    void (*snapshot)(void *context, obb_str name, const wire_record *record);
    /* Another process has made a scene of this name. Returns whether it may sleep: it is not held
     * here until somebody wants it (srv_journal_wake). NULL: no scene sleeps. */
    bool (*may_sleep)(void *context, obb_str name);
    /* The scene here is not what the log says, and is loaded again (`again`); or a snapshot of it
     * cannot be loaded. NULL: not interested. */
    void (*warn)(void *context, obb_str name, bool again, const char *why);
    void (*caught_up)(void *context); /* all is applied that was in the log at the beginning */
    /* The process cannot follow the log any further. Nothing is called any more. */
    void (*lost)(void *context, const char *why);
    void *context;
} srv_shared_options;

#endif
