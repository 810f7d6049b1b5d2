/* An op on its way through the writer, and what the writer works with. The functions are in
 * writer.h. */
#ifndef SRV_WRITE_H
#define SRV_WRITE_H

#include "server/scenes/gather.h"
#include "server/scenes/lock.h"
#include "server/scenes/op.h"
#include "server/scenes/scene_loader.h"
#include "server/scenes/scene_memory.h"
#include "server/scenes/tail.h"

/* Somebody who is told of every applied op, on the loop. It may open views of the scene, and must
 * not write. */
typedef struct srv_write_listener {
    /* An op was applied and has made or changed the scene; or an edit was applied and changed
     * nothing (committed->changed is false then). The arrays in *committed are valid during the
     * call. NULL: not interested. */
    void (*on_commit)(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed);
    /* The scene is about to be removed. NULL: not interested. */
    void (*on_remove)(void *context, const srv_op *op, struct obb_scene *scene);
    /* Returns whether the listener needs the scene in memory, though nobody asks for it. NULL:
     * never. */
    bool (*holds)(void *context, const struct obb_scene *scene);
    void *context;
} srv_write_listener;

enum { SRV_WRITE_LISTENERS = 6 }; /* at most */

/* Zeroed except for the first group. */
struct srv_writer {
    struct obb_store *store;          /* all scenes */
    struct srv_locks *locks;          /* which scenes are locked */
    struct srv_pool *pool;            /* prepares large edits, destroys removed scenes */
    struct srv_drain *drain;          /* held while a removed scene is being destroyed */
    struct srv_scene_memory memory;   /* the limit on the bytes of all scenes */
    struct srv_tails tails;           /* of the durable scenes, and their journal */
    struct obb_budget *budget;        /* what scenes remember draws from it; NULL: no limit */
    struct srv_companions companions; /* of scenes */

    srv_write_listener listeners[SRV_WRITE_LISTENERS]; /* told in this order */
    size_t listener_count;
};

/* Who refused an op. */
typedef enum srv_refused {
    SRV_REFUSED_BY_NONE,      /* nobody: it was applied, or, with check_only, could be */
    SRV_REFUSED_BY_EPOCH,     /* Obbd-If-Epoch does not hold */
    SRV_REFUSED_BY_CONDITION, /* If-Match does not hold */
    SRV_REFUSED_BY_STORE,     /* the scene does not exist, or cannot be made */
    SRV_REFUSED_BY_SCENE,     /* it does not allow the change; or no memory; or cancelled */
    SRV_REFUSED_BY_QUEUE,     /* the pool takes no more work */
    SRV_REFUSED_BY_CALLER,    /* `makes` returned false */
    SRV_REFUSED_BY_JOURNAL,   /* its record could not be written: the op was taken back */
    SRV_REFUSED_BY_ID         /* the commit of its id was another one */
} srv_refused;

/* An op on its way. In the caller's memory, zeroed except for the first group. It must live until
 * the loop's next turn after `done`, because requests that waited for the scene go on behind it. */
struct srv_write {
    struct srv_job job; /* first; the writer's */

    /* The caller's. */
    srv_op op;
    struct obb_arena *arena;      /* for the edit and `committed` */
    const atomic_bool *cancelled; /* give up once this is true; may be NULL */
    bool at_once;                 /* never on the pool: for the start, before the loop runs */
    void (*done)(struct srv_write *write); /* called once, on the loop, now or later */
    /* Called on the loop before an edit that makes a state is applied, again if the edit begins
     * anew. Returns false to refuse it. May be NULL. */
    bool (*makes)(struct srv_write *write);

    /* The results, for `done`. */
    srv_refused refused_by;
    obb_status status;       /* OBB_OK: applied, or could be. Otherwise nothing was changed */
    obb_fault fault;         /* of an edit that its scene refused */
    struct obb_scene *scene; /* the scene of an op that was applied; not of SRV_OP_REMOVE */
    uint64_t changed;        /* of the box of If-Match: by this revision; 0: there is none */
    bool is_there;           /* what If-Match and If-None-Match are about */
    bool ruled_out;          /* by If-None-Match */
    uint64_t epoch;          /* of the scene that is there or was removed; 0: none */
    obb_committed committed; /* what was done to it */
    obb_rehearsal
        rehearsal;   /* of a dry run: the caller closes its views and destroys its overlay */
    bool made_scene; /* by this op */
    bool repeated;   /* the scene remembers the commit: `committed` is what it did then */
    srv_journal_status journal; /* SRV_REFUSED_BY_JOURNAL: why */
    bool differs;   /* of SRV_OP_FOLLOW: the scene after it has another hash than the record says */
    double seconds; /* that preparing and committing an edit took */

    /* The writer's. */
    struct srv_writer *writer;
    void (*begin)(struct srv_write *write); /* begins the op, perhaps once more */
    struct srv_wait wait;
    struct srv_wake_wait wake_wait;
    struct srv_scene_lock lock;
    struct obb_prepared *prepared;
    obb_edit settings_edit; /* of SRV_OP_CONFIGURE */
    struct srv_tail *tail;  /* of a durable scene; NULL: of another one */
    struct srv_tail_wait tail_wait;
    struct srv_tail_item item;
    struct srv_record_entry *record; /* of the op, until the journal has it */
    uint64_t fingerprint;            /* of the scene after it, if records carry hashes */
    bool in_parts;                   /* its effects come before it, in parts */
    struct srv_snapshot *parts;      /* those of an op that makes its scene, until it is settled */
    struct wire_buf outcome;         /* of an edit with an id, until the scene remembers it */
    bool is_remembered;              /* as pending */
    obb_settings made_settings;      /* of a scene that the op makes */
    wire_record_id made_base;        /* what the record of its making follows */
    uint64_t number;       /* what the journal calls a durable scene that the op makes; 0: none */
    bool rests_on_failure; /* what was prepared rests on a change that will be taken back */
    struct obb_scene *made_copy;     /* of SRV_OP_COPY: made, and not in the store yet */
    bool is_copied;                  /* the pool is done with the copy */
    bool is_stored;                  /* the journal has its pieces */
    wire_record_id copy_id;          /* of the record that names its pieces, if one does */
    wire_record_id followed;         /* of SRV_OP_FOLLOW: the id of the record */
    struct srv_gathered gathered;    /* likewise: its effects, if it comes in parts */
    struct srv_scene_loader *loader; /* likewise: of the copy that it makes; owned */
    obb_str followed_id;             /* likewise: the commit's id */
    obb_str answer;      /* likewise, and of a repeated edit: what the commit's answer is made of */
    obb_effects effects; /* likewise */
    double now_ms;
    bool has_shed; /* histories have made room for this edit, or might for its dry run */
};

#endif
