/* Restoring: the scenes of a journal, as they were when the last process that wrote it ended.
 *
 * One thread reads the back end. Others apply what it reads, each scene on one of them, in the
 * order of the log. A scene gets its epoch, settings, ids, revisions, history and remembered
 * commits back, and its clock goes on from its last time: the pause does not count. What does not
 * fit together is damage: nothing is restored then.
 *
 * A scene that alone takes more than --scene-memory allows forgets its oldest states on the way.
 * The owner of the store lets all scenes together keep to the limit once it has them.
 *
 * If two scenes have one name, the one with the smaller number was replaced by a copy, and the
 * process ended before it wrote that the scene is gone. The replaced scene is left out. */
#ifndef SRV_RESTORE_H
#define SRV_RESTORE_H

#include "server/base/log.h"
#include "server/journal/backend.h"
#include "server/scenes/scene_loader.h"

/* All that a journal held. Its lists and texts live until srv_restored_fini. */
typedef struct srv_restored {
    srv_restored_scene *scenes; /* by number */
    size_t count;
    uint64_t last_seq, total;          /* as in struct srv_snapshots */
    uint64_t records;                  /* that were applied */
    size_t boxes;                      /* and frames */
    size_t replaced;                   /* scenes that were left out */
    struct srv_scene_loader **loaders; /* owned: what the scenes lie in */
} srv_restored;

/* Destroys also the scenes that srv_restored_adopt has not given to a store. Accepts zeroes. */
void srv_restored_fini(srv_restored *restored);

struct srv_restore;

typedef struct srv_restore_options {
    struct srv_backend *backend;       /* as srv_sqlite_open left it; nobody else may touch it */
    const char *path;                  /* of the journal, for errors */
    size_t threads;                    /* that apply, beside the one that reads; at least 1 */
    const struct obb_kernels *kernels; /* of every index; NULL chooses */
    size_t scene_memory;               /* bytes: a larger scene forgets states; 0: no limit */
    const struct srv_log *log;         /* where progress is told; NULL: nowhere */
    bool takes_over;                   /* write to the journal which scenes were replaced */
    void (*ended)(void *context);      /* called on the last of the threads; NULL: not interested */
    void *context;
} srv_restore_options;

/* Begins to read. Returns false without memory or threads. */
bool srv_restore_begin(const srv_restore_options *options, struct srv_restore **out);

/* Gives up as soon as it can: srv_restore_end then says so. Any thread. */
void srv_restore_cancel(struct srv_restore *restore);

/* Waits for the threads, and frees the restore. Returns false if the journal is damaged, a newer
 * obbd wrote it, it cannot be written, there is no memory, or it was given up: error then holds one
 * line, and *out is zeroed. The caller ends *out with srv_restored_fini. */
bool srv_restore_end(struct srv_restore *restore, srv_restored *out, char *error,
                     size_t error_size);

/* Gives all scenes to the store, whatever its limit of scenes. Their clocks go on at `now_ms`.
 * Returns false if two scenes have one name, or there is no memory; error then holds one line, and
 * some scenes are the store's. On the loop's thread. */
bool srv_restored_adopt(srv_restored *restored, struct obb_store *store, double now_ms, char *error,
                        size_t error_size);

#endif
