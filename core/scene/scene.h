/* A scene: named boxes with one clock, a history, and views of its states.
 *
 * One thread at a time, the writer, calls everything here that takes a non-const scene; who it is may change with the
 * usual care. A view may be read by any number of threads until the writer closes it. */
#ifndef OBB_SCENE_H
#define OBB_SCENE_H

#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/index/rebuild.h"
#include "core/kernels/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OBB_MAX_DATA  1024               /* bytes of compact JSON */
#define OBB_MAX_WHOLE 9007199254740992.0 /* 2^53: times and revisions */

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

/* Which state: now, after a revision, at a time, or `ago` before the newest time. */
typedef enum obb_at_kind { OBB_AT_NOW, OBB_AT_REVISION, OBB_AT_TIME, OBB_AT_AGO } obb_at_kind;
typedef struct obb_at {
    obb_at_kind kind;
    uint64_t revision;
    double time;           /* of OBB_AT_TIME, or the span of OBB_AT_AGO */
    bool no_interpolation; /* "interpolate": false */
    bool clamp;
} obb_at;

/* now_ms: the server's clock, any monotonic milliseconds; the scene's own clock starts at 0 with it. kernels: of its
 * indexes, see cpu.h; NULL chooses. */
obb_status obb_scene_create(obb_str name, const obb_settings *settings, double now_ms,
                            const struct obb_kernels *kernels, struct obb_scene **out);
void obb_scene_destroy(struct obb_scene *scene); /* no view may be open; NULL is fine */
obb_str obb_scene_name(const struct obb_scene *scene);
/* O(1), but a pass over all boxes for the bounds when one that touched them was moved or removed since the last call. */
void obb_scene_info_get(struct obb_scene *scene, obb_scene_info *out);
bool obb_scene_measured(const struct obb_scene *scene); /* so it is O(1) now */

/* The same but for the bounds, which are left out: O(1). */
void obb_scene_info_without_bounds(const struct obb_scene *scene, obb_scene_info *out);

/* ---- Rebuilding the broad phase beside the work ------------------------------------------------------------
 *
 * Commits only mend it, in bounded time. When it has decayed, open a view of the present, rebuild from it on any
 * threads (rebuild.h), and hand the result to the writer, which closes the view afterwards. Commits in between are fine. */

/* Is a rebuild worth its time? */
bool obb_scene_decayed(const struct obb_scene *scene);

/* Puts `fresh`, made of a view that is still open, in place of all that is not newer, and owns it from now on,
 * whatever the answer: OBB_NO_MEMORY leaves the scene as it was. One that comes too late, when commits have replaced or
 * indexed anew all that it could stand for, is dropped: OBB_OK. */
obb_status obb_scene_rebase(struct obb_scene *scene, struct obb_layers *fresh);

#endif
