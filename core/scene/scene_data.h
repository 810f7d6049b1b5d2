/* The data of a scene, which the nouns of this room share. Internal to core.
 *
 * The writer may touch everything. A reader holds a view and may call those functions of the hash
 * table, the id tree, the interned strings and the versions that are for any thread. reclaim.h says
 * how objects are released that a reader may still see. */
#ifndef OBB_SCENE_BODY_H
#define OBB_SCENE_BODY_H

#include "core/scene/cached_bounds.h"
#include "core/scene/expiry.h"
#include "core/scene/history.h"
#include "core/scene/settings.h"
#include "core/versions/hash_table.h"
#include "core/versions/id_tree.h"
#include "core/versions/interned.h"
#include "core/versions/rig.h"
#include "core/versions/version.h"

/* Retired objects (see reclaim.h). */
struct obb_retired {
    uint32_t versions; /* last versions of removed boxes and frames, linked by `newer`; each with
                        * its record, and of a frame its rig */
    struct obb_id_tree_node *nodes;
    struct obb_interned *interned;
    uint64_t ticket; /* all objects may be freed once the views up to this one are closed */
};

struct obb_view;

/* What readers are told of a scene while commits are not published. */
struct obb_published {
    uint64_t next_id;
    bool time_stated;
    struct obb_cached_bounds bounds;
};

/* What all scenes of a store hold together. */
struct obb_totals {
    /* A worker that has a scene locked may close views of it (rehearsal.h), or take a commit
     * back. */
    atomic_size_t boxes, bytes;
    size_t most_cached;       /* pairs are cached while the scenes hold less (obb_store_cache) */
    atomic_size_t references; /* of the store, and of each removed scene that counts */
};

void obb_totals_unref(struct obb_totals *totals);

struct obb_scene {
    obb_settings settings;
    uint64_t epoch; /* written once, before anybody sees the scene */
    const struct obb_kernels *kernels;
    struct obb_versions versions;
    struct obb_hash_table names; /* of records, also of removed boxes */
    obb_hash_key key;
    struct obb_id_tree ids;
    struct obb_interned_table interned;
    struct obb_rigs rigs; /* frames, also removed ones */
    uint64_t next_id;
    struct obb_record_block *record_block; /* the one that new records go into, or NULL */
    struct obb_record_block *ready_blocks; /* for the records that come while `gathers` */
    uint32_t ready_next;                   /* so many blocks are made ready next */
    bool gathers;                          /* new records go into blocks (record.h) */
    size_t record_bytes;                   /* of all records, also of retired ones */
    size_t layer_bytes;                    /* of the layers of all states, and of all indexes */
    size_t ended_bytes;                    /* of the lists of ended versions, also of garbage */
    struct obb_history history;
    struct obb_cached_bounds cached_bounds;
    struct obb_expiry expiry;       /* of the boxes with a ttl */
    struct obb_published published; /* counts if history.tail has commits */

    double created_ms; /* on the server's clock */
    bool has_committed, time_stated;

    struct obb_view *first_view, *last_view; /* open views, by ticket */
    uint64_t ticket;                         /* of the last view */
    uint64_t oldest_ticket;                  /* of first_view; 0: no view is open */
    struct obb_ended_list garbage; /* ended versions that perhaps no state holds any longer */
    bool gaps;                     /* versions may leave a chain before older ones (reclaim.h) */
    _Atomic uint64_t unlinks;      /* how often slots were given away that readers may walk to */
    struct obb_retired fresh, waiting; /* retired since `waiting` was sealed, and before */

    size_t byte_room;              /* bytes that the next edit may add */
    struct obb_totals *totals;     /* of the store that holds the scene, or NULL */
    size_t settled_bytes;          /* the scene's share of totals->bytes */
    bool detached;                 /* removed from its store: destroyed after its last view */
    struct obb_totals *counted_in; /* of a detached scene: where settled_bytes still count, owned */
    void *context;                 /* of the store's owner */
    size_t name_length;
    char name[];
};

/* The functions below, and all members of the scene, count the tail in. */
static inline size_t obb_scene_boxes(const struct obb_scene *scene)
{
    return obb_history_newest(&scene->history)->boxes;
}

static inline size_t obb_scene_frames(const struct obb_scene *scene)
{
    return obb_history_newest(&scene->history)->frames;
}

/* Returns the current version of the record's box, or NULL. The writer's. */
static inline struct obb_version *obb_scene_current(struct obb_scene *scene,
                                                    const struct obb_record *record)
{
    struct obb_version *newest = obb_versions_slot(
        &scene->versions, atomic_load_explicit(&record->newest, memory_order_relaxed));
    return atomic_load_explicit(&newest->died, memory_order_relaxed) == OBB_NEVER ? newest : NULL;
}

/* Returns whether commits are applied and not published. */
static inline bool obb_scene_has_tail(const struct obb_scene *scene)
{
    return scene->history.tail.commits > 0;
}

/* Returns the id of the next new box without the tail. */
static inline uint64_t obb_scene_published_next_id(const struct obb_scene *scene)
{
    return obb_scene_has_tail(scene) ? scene->published.next_id : scene->next_id;
}

/* Marks a scene as removed from its store. Returns the scene if no view is open; otherwise NULL,
 * and obb_view_close returns the scene with its last view. */
struct obb_scene *obb_scene_detach(struct obb_scene *scene);

/* Lets the bytes of a detached scene count in `totals`, until no view holds it any longer. */
void obb_scene_count_in(struct obb_scene *scene, struct obb_totals *totals);
void obb_scene_uncount(struct obb_scene *scene);

#endif
