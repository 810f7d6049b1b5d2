/* A back end of the journal: where the log and the snapshots lie. Its functions are called one at a
 * time: at first by whoever opens it, later by the journal's thread. */
#ifndef SRV_BACKEND_H
#define SRV_BACKEND_H

#include "server/base/log.h"
#include "server/journal/excerpt.h"

struct srv_backend {
    /* Adds to the group an entry whose bytes are `bytes`; begins a group if none is begun. Writes
     * entry->seq of records. Returns why it failed; the group is then undone, as by `undo`. */
    srv_journal_status (*add)(struct srv_backend *backend, struct srv_entry *entry,
                              struct wire_buf *bytes);

    /* Takes back what was added to the group, if one is begun: the next group does not hold it. */
    void (*undo)(struct srv_backend *backend);

    /* Makes the group durable. On failure nothing of the group will ever be found again. */
    srv_journal_status (*commit)(struct srv_backend *backend);

    /* Does a slice of upkeep: forgets records below `edge`, removes chunks of former snapshots,
     * makes files shorter. Returns true if more is left to do. */
    bool (*tidy)(struct srv_backend *backend, uint64_t edge);

    /* Reads the next slice of an excerpt, whose slice is empty. No group is begun. Takes less than
     * a millisecond, if the disk is quick. */
    void (*read)(struct srv_backend *backend, struct srv_excerpt *excerpt);

    /* Tries to become usable again after a failure. Returns true if entries may be added. */
    bool (*recover)(struct srv_backend *backend);

    void (*close)(struct srv_backend *backend); /* frees the back end, too */

    bool keeps; /* set by the journal: `tidy` drops nothing, since somebody reads an excerpt */
    srv_journal_status trouble; /* why no entry may be added until `recover`, at the beginning */
    const srv_log *log; /* where the back end says that it has failed; not owned; NULL: nowhere */
    struct srv_journal_figures *figures; /* where the back end counts; set by the journal */
    uint64_t last_number; /* the largest number of a scene or snapshot that was found */
    uint64_t last_seq;    /* of the last record that was found, or forgotten */
};

/* What loading finds, in order: for each scene with a snapshot its chunks, then all records that
 * are there, in the order of the log, each behind its pieces. Scenes that are gone are left out. A
 * record whose revision is in its scene's snapshot already is shown, too. */
struct srv_backend_visitor {
    /* How much there is, before anything is shown: records, and pieces of snapshots and of records,
     * those of scenes that are gone among them. NULL: not interested. */
    void (*counted)(void *context, uint64_t records, uint64_t chunks);
    /* Return false to stop; `error` then holds one line. NULL: not interested. */
    bool (*chunk)(void *context, uint64_t scene, uint64_t number, uint64_t count, uint64_t from,
                  obb_str bytes);
    /* seq: of the record that the piece belongs to, and that comes next. */
    bool (*piece)(void *context, uint64_t scene, uint64_t seq, obb_str bytes);
    bool (*record)(void *context, uint64_t scene, uint64_t revision, uint64_t seq, obb_str bytes);
    /* Writes the name of a scene that the first record of `bytes` makes, or begins a snapshot of.
     * Returns false if it tells none. NULL: errors have the numbers of scenes. */
    bool (*name)(void *context, obb_str bytes, char *out, size_t size);
    void *context;
    char *error; /* one line, if one of them has returned false */
};

#endif
