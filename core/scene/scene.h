/* A scene: named boxes with one clock and a history.
 *
 * One thread at a time, the writer, makes every call that takes a non-const scene. The writer may
 * be another thread later, with the usual synchronisation between the two. */
#ifndef OBB_SCENE_H
#define OBB_SCENE_H

#include "core/base/status.h"
#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/kernels/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBB_MAX_DATA  1024               /* bytes of compact JSON */
#define OBB_MAX_WHOLE 9007199254740992.0 /* 2^53: times and revisions */

struct obb_layers;
struct obb_scene;

typedef struct obb_settings {
    int dimensions;           /* 2 or 3 */
    double history_span;      /* units of the scene's clock, >= 0 */
    uint32_t history_commits; /* >= 0 */
} obb_settings;

typedef struct obb_attributes {
    uint32_t category, mask;
    int32_t group;
    obb_str entity; /* length 0: none */
    obb_str data;   /* compact JSON, length 0: none */
} obb_attributes;

typedef struct obb_moment {
    uint64_t revision;
    double time;
} obb_moment;

typedef struct obb_scene_info {
    obb_settings settings;
    size_t boxes;
    obb_moment now, oldest;
    bool has_bounds;
    obb_bounds bounds;
} obb_scene_info;

/* The state that is asked for: the newest, the one after a revision, at a time, or `ago` before the
 * newest time. */
typedef enum obb_at_kind { OBB_AT_NOW, OBB_AT_REVISION, OBB_AT_TIME, OBB_AT_AGO } obb_at_kind;
typedef struct obb_at {
    obb_at_kind kind;
    uint64_t revision;
    double time;           /* of OBB_AT_TIME, or the span of OBB_AT_AGO */
    bool no_interpolation; /* "interpolate": false */
    bool clamp;            /* outside the history: the nearest state in place of OBB_GONE */
} obb_at;

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

/* Writes the info of the newest state. O(1) if the bounds are cached. Otherwise O(boxes): a box
 * that touched the bounds was moved or removed since the last call. */
void obb_scene_info_get(struct obb_scene *scene, obb_scene_info *out);

/* Returns true if the bounds are cached, so that obb_scene_info_get takes O(1). */
bool obb_scene_measured(const struct obb_scene *scene);

/* Writes the info without bounds: has_bounds is false. O(1). */
void obb_scene_info_without_bounds(const struct obb_scene *scene, obb_scene_info *out);

/* ---- Rebuilding the broad phase in the background -----------------------------------------------
 *
 * Commits only mend the broad phase, in bounded time. When it has decayed, the writer opens a view
 * of the newest state, any threads rebuild the broad phase from the view (obb_view_rebuild), and
 * the writer takes the result over (obb_scene_rebase) before it closes the view. Commits may be
 * made in between. */

/* Returns true if the broad phase has decayed so far that a rebuild is worth its time. */
bool obb_scene_decayed(const struct obb_scene *scene);

/* Puts `fresh` in place of all layers that are not newer. `fresh` was made of a view that is still
 * open; the scene owns it from now on, also after an error. If commits have replaced or indexed
 * anew everything that `fresh` could stand for, it is dropped and the call returns OBB_OK.
 * OBB_NO_MEMORY leaves the scene as it was. */
obb_status obb_scene_rebase(struct obb_scene *scene, struct obb_layers *fresh);

#endif
