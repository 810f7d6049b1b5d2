/* Moments: points in the history of a scene, and how one is asked for. */
#ifndef OBB_MOMENT_H
#define OBB_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#define OBB_MAX_WHOLE 9007199254740992.0 /* 2^53: times and revisions */

typedef struct obb_moment {
    uint64_t revision;
    double time;
} obb_moment;

/* The state that is asked for: the newest, the one after a revision, at a time, or `ago` before the
 * newest time. */
typedef enum obb_at_kind { OBB_AT_NOW, OBB_AT_REVISION, OBB_AT_TIME, OBB_AT_AGO } obb_at_kind;
typedef struct obb_at {
    uint64_t revision;
    double time; /* of OBB_AT_TIME, or the span of OBB_AT_AGO */
    obb_at_kind kind;
    bool no_interpolation; /* "interpolate": false */
    bool clamp;            /* outside the history: the nearest state in place of OBB_GONE */
} obb_at;

#endif
