/* Commits and views of the past in one line each, so that tests of time read as tables. Boxes are cubes of half extent 1
 * somewhere on the x axis. */
#ifndef TEST_SUPPORT_TICK_H
#define TEST_SUPPORT_TICK_H

#include "core/obb.h"

#define NO_TIME (-1e300)

/* A scene named "arena" in space, its clock starting at 0 server milliseconds. */
struct obb_scene *tick_scene(double span, uint32_t commits);

/* One commit at `time` (NO_TIME: it states none; the server's clock says now_ms) from words such as
 *   +door:3   put `door` at x = 3       lift:4  pose `lift` to x = 4
 *   ghost!9   teleport it to x = 9      -crate  remove `crate`
 *   ?         skip poses of boxes that are not there
 * Returns its answer; the test fails when it is refused. */
obb_committed tick_at(struct obb_scene *scene, double now_ms, double time, const char *line);
obb_committed tick(struct obb_scene *scene, double time, const char *line);

/* Just the edit, in the arena; the test fails when there is no memory. */
obb_edit tick_edit(double time, const char *line, struct obb_arena *arena);

/* Only prepared: the status, *out_fault, and with OBB_OK something for obb_edit_commit in the arena. */
obb_status tick_prepare(struct obb_scene *scene, double now_ms, double time, const char *line,
                        struct obb_arena *arena, struct obb_prepared **out_prepared,
                        obb_fault *out_fault);

typedef struct sight {
    char text[1024];
} sight;

/* "revision@time" of the state, " clamped" where it is, and its boxes by id: "2@15 door:3 lift:4.5"; outside the history
 * "gone 3@10..7@70". */
sight seen(struct obb_scene *scene, obb_at at);
sight seen_in(const struct obb_view *view);

obb_at at_time(double time);
obb_at at_revision(uint64_t revision);
obb_at at_ago(double ago);
obb_at held(obb_at at);
obb_at clamped(obb_at at);

#endif
