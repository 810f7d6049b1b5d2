/* What a scene is made of. Internal to core.
 *
 * Who may touch what: the writer everything; readers, each holding a view, the names, ids, labels and versions, by their
 * functions for any thread. */
#ifndef OBB_SCENE_BODY_H
#define OBB_SCENE_BODY_H

#include "core/scene/cached_bounds.h"
#include "core/scene/history.h"
#include "core/scene/reclaim.h"
#include "core/scene/scene.h"
#include "core/versions/ids.h"
#include "core/versions/label.h"
#include "core/versions/names.h"
#include "core/versions/version.h"

struct obb_scene {
    obb_settings settings;
    const struct obb_kernels *kernels;
    struct obb_versions versions;
    struct obb_names names; /* of records, those of removed boxes included */
    obb_hash_key key;
    struct obb_ids ids;
    struct obb_labels labels;
    uint64_t next_id;
    size_t record_bytes; /* of all records, retired ones included */
    struct obb_history history;
    struct obb_cached_bounds cached_bounds;

    double created_ms; /* on the server's clock */
    bool has_committed, time_stated;

    struct obb_view *first_view, *last_view; /* open ones, in the order they were opened */
    uint64_t ticket;                         /* of the last view opened */
    struct obb_ended *garbage, *garbage_end; /* in the order they died */
    struct obb_retired fresh, waiting;       /* taken out since `waiting` was sealed, and before */

    size_t *total; /* boxes of all scenes of a store, or NULL */
    bool detached; /* goes with its last view */
    size_t name_length;
    char name[];
};

static inline size_t obb_scene_boxes(const struct obb_scene *scene)
{
    return obb_history_newest(&scene->history)->boxes;
}

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

/* Takes a scene out of its store: returned when no view holds it, else NULL, and the last view to be closed gives it out. */
struct obb_scene *obb_scene_detach(struct obb_scene *scene);

/* Bytes held for versions, records, names, ids and labels; not the broad phases and the heap's own upkeep. */
size_t obb_scene_bytes(const struct obb_scene *scene);

#endif
