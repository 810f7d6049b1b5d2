/* What a scene is made of. Internal to core.
 *
 * Who may touch what: the writer everything; readers, each holding a view, the names, ids, interned strings and versions, by their
 * functions for any thread. What readers may still stand on is released in two steps:
 *
 * - A version is waste once the last state that holds it is out of reach and pinned by no view. Readers then can only
 *   meet it as a stale entry of an index (see version.h) or as the end of a removed box, so its slot is free at once
 *   but for the last version of a removed box.
 * - That one, its record, emptied nodes of the ids and interned strings without references are taken out of their structures and
 *   stay in limbo until every view that was open then is closed; those opened since cannot meet them. */
#ifndef OBB_SCENE_BODY_H
#define OBB_SCENE_BODY_H

#include "core/scene/history.h"
#include "core/scene/scene.h"
#include "core/versions/hash_table.h"
#include "core/versions/id_tree.h"
#include "core/versions/interned.h"
#include "core/versions/version.h"

/* What was taken out and awaits its release. */
struct obb_limbo {
    uint32_t
        versions; /* last versions of removed boxes, with their records; list through `newer` */
    struct obb_id_tree_node *nodes;
    struct obb_interned *interned;
    uint64_t ticket; /* once all views up to this one are closed, all of it is free */
};

/* Bounds of all boxes, kept while that is cheap. */
struct obb_rim {
    bool known; /* false: must be computed anew */
    obb_bounds bounds;
};

struct obb_scene {
    obb_settings settings;
    const struct obb_kernels *kernels;
    struct obb_versions versions;
    struct obb_hash_table names; /* of records, those of removed boxes included */
    obb_hash_key key;
    struct obb_id_tree ids;
    struct obb_interned_table interned;
    uint64_t next_id;
    size_t record_bytes; /* of all records, those in limbo included */
    struct obb_history history;
    struct obb_rim rim;

    double created_ms; /* on the server's clock */
    bool has_committed, time_stated;

    struct obb_view *first_view, *last_view; /* open ones, in the order they were opened */
    uint64_t ticket;                         /* of the last view opened */
    struct obb_ended *waste, *waste_end;     /* in the order they died */
    struct obb_limbo fresh, waiting;         /* taken out since `waiting` was sealed, and before */

    size_t *total; /* boxes of all scenes of a store, or NULL */
    bool detached; /* goes with its last view */
    size_t name_length;
    char name[];
};

static inline size_t obb_scene_boxes(const struct obb_scene *scene)
{
    return obb_history_newest(&scene->history)->boxes;
}

/* The latest record of that name, also of a box that is gone; NULL: none. Any thread. */
struct obb_record *obb_scene_record(const struct obb_scene *scene, obb_str name, uint32_t hash);
uint32_t obb_scene_name_hash(const struct obb_scene *scene, obb_str name);

/* Settings in range. */
bool obb_settings_valid(const obb_settings *settings);

/* The current version of the record's box, or NULL. The writer's. */
static inline struct obb_version *obb_scene_current(struct obb_scene *scene,
                                                    const struct obb_record *record)
{
    struct obb_version *newest = obb_versions_slot(
        &scene->versions, atomic_load_explicit(&record->newest, memory_order_relaxed));
    return atomic_load_explicit(&newest->died, memory_order_relaxed) == OBB_NEVER ? newest : NULL;
}

struct obb_state *obb_state_create(uint64_t revision, size_t ended_capacity); /* NULL: no memory */
void obb_state_destroy(struct obb_state *state);                              /* NULL is fine */

/* A record of that name with the scene's next id, in no structure yet; NULL: no memory. */
struct obb_record *obb_record_create(struct obb_scene *scene, obb_str name);
void obb_record_destroy(struct obb_scene *scene, struct obb_record *record);

/* Takes a record out of names and ids and puts it, with its newest version, in limbo. */
void obb_scene_exile(struct obb_scene *scene, struct obb_record *record);

/* Lets go of states, versions and what else nobody needs; about `budget` objects at most. */
void obb_scene_settle(struct obb_scene *scene, size_t budget);

/* Keeps the rim in step with a version that came or went. */
void obb_rim_add(struct obb_rim *rim, const obb_box *box, int dimensions);
void obb_rim_remove(struct obb_rim *rim, const obb_box *box, int dimensions);

/* Takes a scene out of its store: returned when no view holds it, else NULL, and the last view to be closed gives it out. */
struct obb_scene *obb_scene_detach(struct obb_scene *scene);

/* Bytes held for versions, records, names, ids and interned strings; not the broad phases and the heap's own upkeep. */
size_t obb_scene_bytes(const struct obb_scene *scene);

/* Structure check for tests and fuzzers: walks everything. No edit may be prepared. */
bool obb_scene_validate(struct obb_scene *scene);

#endif
