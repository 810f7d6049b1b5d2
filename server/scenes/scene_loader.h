/* One scene as it is loaded from the journal: the pieces of its snapshot, then its records, in the
 * order of the log. One thread at a time uses a loader; which one does not matter. */
#ifndef SRV_SCENE_LOADER_H
#define SRV_SCENE_LOADER_H

#include "server/journal/excerpt.h"
#include "server/scenes/remembered.h"
#include "server/scenes/snapshot.h"

/* A scene of the journal. */
typedef struct srv_restored_scene {
    struct srv_journaled journaled; /* as it is given to srv_snapshots_add */
    uint64_t epoch;
    const srv_restored_commit *commits; /* oldest first */
    size_t commit_count;
} srv_restored_scene;

/* Zeroed except for the first group. */
struct srv_scene_loader {
    uint64_t number;                   /* of the scene in the journal */
    const struct obb_kernels *kernels; /* of its indexes */

    srv_restored_scene restored; /* the scene is the loader's until somebody takes it out */
    uint64_t records;            /* that were applied */
    size_t limit;                /* bytes: a larger scene forgets its oldest states; 0: none */
    bool goes_on;                /* a commit of the log was applied, behind the snapshot */
    bool is_exact; /* set by whoever gives only records that follow the snapshot and each other */
    /* Set by whoever wants restored.journaled.fingerprint. The hashes in records are compared. */
    bool hashes;
    bool differs;    /* the last record that has a hash has another one than the scene after it */
    char error[200]; /* what does not fit, once a call has returned false */
    bool no_memory;  /* what does not fit is only that */

    srv_restored_commit *commits; /* owned; restored.commits */
    size_t commit_room;
    /* Owned: the pieces of a snapshot that is not whole yet, or of a record that comes next. */
    struct wire_buf *chunks;
    size_t chunk_count, chunk_room;
    struct obb_arena kept;    /* texts of the remembered commits */
    struct obb_arena scratch; /* of one record */
};

void srv_scene_loader_init(struct srv_scene_loader *loader, uint64_t number,
                           const struct obb_kernels *kernels);

/* Destroys the scene, too, unless restored.journaled.scene is NULL. */
void srv_scene_loader_fini(struct srv_scene_loader *loader);

/* The functions below return false if the bytes are damaged or do not fit what came before, if a
 * newer obbd wrote them, or without memory; `error` then holds one line. */

/* Takes piece number `number` of `count`, and its bytes, which are left empty. from: the first
 * record that counts after the snapshot. The last piece makes the scene. */
bool srv_scene_loader_chunk(struct srv_scene_loader *loader, uint64_t number, uint64_t count,
                            uint64_t from, struct wire_buf *bytes);

/* Takes a piece of a record, with its bytes, which are left empty. The record comes behind its
 * pieces. */
bool srv_scene_loader_piece(struct srv_scene_loader *loader, uint64_t seq, struct wire_buf *bytes);

/* Applies a record with its pieces, unless the snapshot holds what it says. */
bool srv_scene_loader_record(struct srv_scene_loader *loader, uint64_t seq, obb_str bytes);

/* Takes a row of the journal: one of the above. Its bytes may be taken. */
bool srv_scene_loader_row(struct srv_scene_loader *loader, struct srv_row *row);

/* Checks, after the last record, that there is a scene. */
bool srv_scene_loader_end(struct srv_scene_loader *loader);

#endif
