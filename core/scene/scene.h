/* A scene: named boxes with one clock and a history.
 *
 * Commits may be applied before they are published (commit.h): they are then the tail of the scene.
 * A function that does not name the tail answers with the published state.
 *
 * One thread at a time, the writer, makes every call that takes a non-const scene. The writer may
 * be another thread later, with the usual synchronisation between the two. */
#ifndef OBB_SCENE_H
#define OBB_SCENE_H

#include "core/base/status.h"
#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/kernels/cpu.h"
#include "core/scene/moment.h"
#include "core/scene/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBB_MAX_DATA 1024 /* bytes of compact JSON */

struct obb_layers;
struct obb_scene;

typedef struct obb_attributes {
    uint32_t category, mask;
    int32_t group;
    obb_str entity; /* length 0: none */
    obb_str data;   /* compact JSON, length 0: none */
    bool has_ttl;   /* the box expires */
    double ttl;     /* milliseconds after its last change, 0 to OBB_MAX_WHOLE */
} obb_attributes;

typedef struct obb_scene_info {
    obb_settings settings;
    size_t boxes, frames;
    obb_moment now, oldest;
    bool has_bounds;
    obb_bounds bounds;
} obb_scene_info;

/* Creates an empty scene, which the caller destroys.
 *
 * now_ms   the server's clock, any monotonic milliseconds; the scene's own clock starts at 0 at
 *          this moment.
 * kernels  of the scene's indexes, see cpu.h; NULL chooses.
 * errors   OBB_BAD_NAME, OBB_BAD_VALUE (settings out of range), OBB_NO_MEMORY. */
obb_status obb_scene_create(obb_str name, const obb_settings *settings, double now_ms,
                            const struct obb_kernels *kernels, struct obb_scene **out);
void obb_scene_destroy(struct obb_scene *scene); /* no view may be open; NULL is fine */

obb_str obb_scene_name(const struct obb_scene *scene); /* lives as long as the scene */

/* Returns whether a view of the scene is open. The writer's. */
bool obb_scene_viewed(const struct obb_scene *scene);

/* Returns the scene's epoch, which it was added to its store with: a number that tells this making
 * of the scene from every other one. 0 if the scene was never in a store. Any thread. */
uint64_t obb_scene_epoch(const struct obb_scene *scene);

/* A pointer for whoever owns the store, which core only keeps. NULL at first. The writer's. */
void obb_scene_set_context(struct obb_scene *scene, void *context);
void *obb_scene_context(const struct obb_scene *scene);

/* Writes the info of the published state. O(1) if the bounds are cached. Otherwise O(boxes): a box
 * that touched the bounds was moved or removed since the last call. */
void obb_scene_info_get(struct obb_scene *scene, obb_scene_info *out);

/* Returns true if the bounds are cached, so that obb_scene_info_get takes O(1). */
bool obb_scene_measured(const struct obb_scene *scene);

/* Writes the info without bounds: has_bounds is false. O(1). */
void obb_scene_info_without_bounds(const struct obb_scene *scene, obb_scene_info *out);

/* Writes the info of the newest state, which the next commit builds on, without bounds: `oldest` is
 * within reach once the tail is published. O(1). The writer's. */
void obb_scene_tail_info(const struct obb_scene *scene, obb_scene_info *out);

/* Returns the bytes that the scene holds, with its tail: versions, records, names, interned
 * strings, broad phases and the states of the history, each with the overhead of the heap. Versions
 * that no state holds any longer do not count, because their slots are used again. O(1). The
 * writer's. */
size_t obb_scene_bytes(const struct obb_scene *scene);

/* Lets the clock of the scene go on: at `now_ms` of the server's clock the scene has the time of
 * its newest state. For a scene whose commits were loaded. The writer's. */
void obb_scene_resume(struct obb_scene *scene, double now_ms);

/* Lets the clock of the scene catch up: if at `now_ms` of the server's clock it is behind the time
 * of the newest state, it goes on from that time. For a scene that follows the commits of others.
 * The writer's. */
void obb_scene_keep_up(struct obb_scene *scene, double now_ms);

/* Releases what commits have put out of reach and no reader needs: states, broad phases, and about
 * twice `ended` versions. Commits release what earlier ones left; the writer may call this
 * between two of them. Like obb_edit_seal it runs on any thread, and no view may be opened
 * meanwhile. Call obb_scene_settle afterwards. Takes about 10 ns a version. */
void obb_scene_sweep(struct obb_scene *scene, size_t ended);

/* Brings the figure of obb_store_bytes up to date after an edit was refused or the scene was swept.
 * Commits, closed views and rebuilds do so themselves. O(1). The thread of the store. */
void obb_scene_settle(struct obb_scene *scene);

/* Frees the pairs that queries have cached with the broad phase of the newest state, unless a view
 * is open. The writer's. O(levels). */
void obb_scene_drop_pairs(struct obb_scene *scene);

/* ---- Rebuilding the broad phase in the background -----------------------------------------------
 *
 * Commits only mend the broad phase, in bounded time. When it has decayed, the writer opens a view
 * of the published state, any threads rebuild the broad phase from the view (obb_view_rebuild), and
 * the writer takes the result over (obb_scene_rebase) before it closes the view. Commits may be
 * made in between. */

/* Returns true if the broad phase has decayed so far that a rebuild is worth its time. */
bool obb_scene_decayed(const struct obb_scene *scene);

/* Puts `fresh` in place of all layers that are not newer, in the published state and in those of
 * the tail. `fresh` was made of a view that is still open; the scene owns it from now on, also
 * after an error. If commits have replaced or indexed anew everything that `fresh` could stand for,
 * it is dropped and the call returns OBB_OK. OBB_NO_MEMORY leaves the scene as it was. About 0.2 us
 * for each state of the tail. */
obb_status obb_scene_rebase(struct obb_scene *scene, struct obb_layers *fresh);

#endif
