/* One change of the store as plain data: all that can be done to scenes, and nothing about who
 * asked for it. */
#ifndef SRV_OP_H
#define SRV_OP_H

#include "proto/wire.h"

struct srv_foreign;

typedef enum srv_op_kind {
    SRV_OP_CREATE,    /* makes the scene, which must not exist, with `settings` */
    SRV_OP_CONFIGURE, /* gives the scene, which must exist, `settings` */
    /* Applies `edit` as one commit. If the scene does not exist and the edit replaces all boxes, or
     * its first put is of a whole box, makes the scene first: with the settings of the edit, or
     * with `settings` if it has none. */
    SRV_OP_EDIT,
    /* Makes the scene, which must not exist, with `settings` and the state that `effects` load. For
     * the start of the service: it is never done on the pool. */
    SRV_OP_LOAD,
    /* Makes the scene as `copy` says, which names it, too. If the scene exists, the copy takes its
     * place only with `replace`, and is as durable as that scene. */
    SRV_OP_COPY,
    SRV_OP_REMOVE, /* removes the scene, which must exist, with its history */
    /* Does what `record` says, which another process has written into the log, and which counts: it
     * makes, changes or removes the scene. Or loads the snapshot that it speaks of, in place of the
     * scene, if there is one. No limit holds, and no condition. */
    SRV_OP_FOLLOW
} srv_op_kind;

/* What it points to is the caller's, and must live until the op is done. */
typedef struct srv_op {
    srv_op_kind kind;
    obb_str scene;              /* its name, which is valid */
    obb_settings settings;      /* of all kinds except SRV_OP_REMOVE */
    const obb_edit *edit;       /* of SRV_OP_EDIT */
    const obb_effects *effects; /* of SRV_OP_LOAD; see obb_effects_prepare, which begins */
    obb_copy copy;              /* of SRV_OP_COPY */
    struct obb_view *from;      /* of SRV_OP_COPY: its view, which the writer closes */
    bool replace;               /* of SRV_OP_COPY */
    obb_str record;             /* of SRV_OP_FOLLOW */
    uint64_t seq; /* its place in the log; of a snapshot: that of the newest record it holds */
    const struct wire_buf *pieces; /* if it comes in parts: as in srv_foreign */
    size_t piece_count;
    /* Of SRV_OP_FOLLOW: the scene wakes, and is made of this, of which the record and the pieces
     * are a part. NULL: it does not. */
    const struct srv_foreign *woken;
    bool is_unchecked; /* likewise: as in srv_foreign */
    bool replaces;     /* likewise */
    uint64_t epoch;    /* of a scene that the op makes; 0: the writer draws it */
    bool in_memory;    /* of SRV_OP_CREATE and SRV_OP_EDIT: a scene that it makes is not durable */
    /* Of SRV_OP_EDIT: keeps nothing; srv_write.rehearsal has the views of the edit's moments on the
     * states that the commit would make, and `committed` says what it would do. */
    bool dry_run;
    /* Of SRV_OP_EDIT: the id that the client gave the commit. A commit whose id the scene remembers
     * is not applied again, whatever its conditions. Length 0: none. */
    obb_str sent_id;
    obb_str id;      /* the same, if the scene is to remember the commit: it holds changes */
    bool check_only; /* of SRV_OP_EDIT: only tells whether the scene would allow the edit */
    /* Obbd-If-Epoch: the scene must be of this epoch. NULL: no condition. An op that would not make
     * a scene which does not exist ignores it. */
    const uint64_t *if_epoch;
    /* If-Match, as it was sent: the scene must have one of these revisions. NULL: no condition.
     * SRV_OP_REMOVE of a scene that does not exist ignores it. */
    const char *if_match;
    /* If-None-Match, likewise: what the op puts must not be there with one of these. NULL: no
     * condition. */
    const char *if_none_match;
    /* The box that both are about: if it is there, any revision from the commit that last changed
     * the box to the present one holds. Or the frame. Length 0: they are about the scene. */
    obb_str if_match_box, if_match_frame;
} srv_op;

#endif
