/* Commits and views of the past as one line each, so that tests of time read as tables. Boxes are
 * cubes of half extent 1 on the x axis. */
#ifndef TEST_SUPPORT_TICK_H
#define TEST_SUPPORT_TICK_H

#include "core/obb.h"

#define NO_TIME (-1e300)

/* Creates a scene named "arena" in space, whose clock starts at 0 server milliseconds. */
struct obb_scene *tick_scene(double span, uint32_t commits);

/* Makes one commit at `time` from words such as those below. NO_TIME: the commit states no time,
 * and the server's clock is now_ms.
 *   +door:3   put `door` at x = 3       lift:4  pose `lift` to x = 4
 *   ghost!9   teleport it to x = 9      -crate  remove `crate`
 *   ?         skip poses of boxes that are not there
 * Returns the answer; fails the test if the commit is refused. */
obb_committed tick_at(struct obb_scene *scene, double now_ms, double time, const char *line);
obb_committed tick(struct obb_scene *scene, double time, const char *line);

/* Returns only the edit, allocated in the arena. Fails the test if there is no memory. */
obb_edit tick_edit(double time, const char *line, struct obb_arena *arena);

/* Only prepares the commit and returns the status. OBB_OK: *out_prepared, in the arena, is ready
 * for obb_edit_commit. Otherwise writes *out_fault. */
obb_status tick_prepare(struct obb_scene *scene, double now_ms, double time, const char *line,
                        struct obb_arena *arena, struct obb_prepared **out_prepared,
                        obb_fault *out_fault);

/* Changes the settings by a commit that changes no box. *out_changed says whether the revision was
 * raised. The errors are those of obb_edit_prepare. */
obb_status tick_configure(struct obb_scene *scene, const obb_settings *settings, double now_ms,
                          bool *out_changed);

typedef struct sight {
    char text[1024];
} sight;

/* Return a state as text: "revision@time", " clamped" if it is, and its boxes by id, such as "2@15
 * door:3 lift:4.5". Outside the history: "gone 3@10..7@70". */
sight seen(struct obb_scene *scene, obb_at at);
sight seen_in(const struct obb_view *view);

obb_at at_time(double time);
obb_at at_revision(uint64_t revision);
obb_at at_ago(double ago);
obb_at held(obb_at at);
obb_at clamped(obb_at at);

#endif
