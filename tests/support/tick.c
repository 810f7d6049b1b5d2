#include "tests/support/tick.h"

#include "tests/support/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct obb_scene *tick_scene(double span, uint32_t commits)
{
    const obb_settings settings = {
        .dimensions = 3, .history_span = span, .history_commits = commits};
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_scene_create(obb_str_of("arena"), &settings, 0.0, NULL, &scene), OBB_OK);
    return scene;
}

/* OBB_NO_MEMORY, as tests of that make the arena fail. */
static obb_status parse(double time, const char *line, struct obb_arena *arena, obb_edit **out)
{
    const size_t most = strlen(line) / 2 + 1;
    obb_edit *edit = obb_arena_alloc(arena, 1, sizeof *edit);
    obb_target *removes = obb_arena_alloc(arena, most, sizeof *removes);
    obb_put *puts = obb_arena_alloc(arena, most, sizeof *puts);
    obb_pose *poses = obb_arena_alloc(arena, most, sizeof *poses);
    char *text = obb_arena_alloc(arena, strlen(line) + 1, 1);
    if (edit == NULL || removes == NULL || puts == NULL || poses == NULL || text == NULL)
        return OBB_NO_MEMORY;
    memcpy(text, line, strlen(line) + 1);
    *edit = (obb_edit){.dimensions = 3, .removes = removes, .puts = puts, .poses = poses};
    edit->has_time = time != NO_TIME;
    edit->time = time;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        const char kind = *word;
        edit->ignore_missing = edit->ignore_missing || kind == '?';
        if (kind == '?')
            continue;
        if (kind == '+' || kind == '-')
            word++;
        const size_t length = strcspn(word, ":!");
        const obb_target target = {.name = {.bytes = word, .length = length}};
        const bool teleport = word[length] == '!';
        const double x = word[length] == '\0' ? 0.0 : strtod(word + length + 1, NULL);
        if (kind == '-')
            removes[edit->remove_count++] = target;
        else if (kind == '+')
            puts[edit->put_count++] = (obb_put){
                .target = target,
                .parts = OBB_PUT_ALL,
                .box = {.center = {x, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                .attributes = {.category = 1, .mask = UINT32_MAX}};
        else
            poses[edit->pose_count++] = (obb_pose){
                .target = target, .center = {x, 0, 0}, .has_center = true, .teleport = teleport};
    }
    *out = edit;
    return OBB_OK;
}

obb_edit tick_edit(double time, const char *line, struct obb_arena *arena)
{
    obb_edit *edit = NULL;
    ck_assert_int_eq(parse(time, line, arena, &edit), OBB_OK);
    return *edit;
}

obb_status tick_prepare(struct obb_scene *scene, double now_ms, double time, const char *line,
                        struct obb_arena *arena, struct obb_prepared **out_prepared,
                        obb_fault *out_fault)
{
    obb_edit *edit = NULL;
    const obb_status st = parse(time, line, arena, &edit);
    return st != OBB_OK
               ? st
               : obb_edit_prepare(scene, edit, now_ms, 1000000, arena, out_prepared, out_fault);
}

obb_committed tick_at(struct obb_scene *scene, double now_ms, double time, const char *line)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_prepared *prepared = NULL;
    obb_fault fault = {.group = OBB_GROUP_NONE};
    const obb_status st = tick_prepare(scene, now_ms, time, line, &arena, &prepared, &fault);
    ck_assert_msg(st == OBB_OK, "\"%s\": %s, group %d, index %zu", line, obb_status_name(st),
                  (int)fault.group, fault.index);
    obb_committed committed;
    obb_edit_commit(prepared, &committed);
    obb_arena_fini(&arena);
    return committed;
}

obb_committed tick(struct obb_scene *scene, double time, const char *line)
{
    return tick_at(scene, 0.0, time, line);
}

__attribute__((format(printf, 2, 3))) static void append(sight *into, const char *format, ...)
{
    const size_t used = strlen(into->text);
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(into->text + used, sizeof into->text - used, format, arguments);
    va_end(arguments);
    ck_assert(n >= 0 && (size_t)n < sizeof into->text - used);
}

sight seen_in(const struct obb_view *view)
{
    const obb_view_info *info = obb_view_info_get(view);
    sight result = {.text = ""};
    append(&result, "%llu@%g%s", (unsigned long long)info->at.revision, info->at.time,
           info->clamped ? " clamped" : "");
    size_t boxes = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)), boxes++) {
        const obb_str name = obb_view_name(box);
        append(&result, " %.*s:%g", (int)name.length, name.bytes,
               obb_view_pose(view, box).center.x);
        ck_assert_ptr_eq(obb_view_find(view, name), box);
        ck_assert_ptr_eq(obb_view_find_id(view, obb_view_id(box)), box);
    }
    ck_assert_uint_eq(boxes, info->boxes);
    return result;
}

sight seen(struct obb_scene *scene, obb_at at)
{
    struct obb_view *view = NULL;
    obb_moment oldest, newest;
    sight result = {.text = ""};
    const obb_status st = obb_view_open(scene, &at, &view, &oldest, &newest);
    if (st == OBB_GONE) {
        append(&result, "gone %llu@%g..%llu@%g", (unsigned long long)oldest.revision, oldest.time,
               (unsigned long long)newest.revision, newest.time);
        return result;
    }
    ck_assert_int_eq(st, OBB_OK);
    result = seen_in(view);
    obb_view_close(view);
    return result;
}

obb_at at_time(double time) { return (obb_at){.kind = OBB_AT_TIME, .time = time}; }

obb_at at_revision(uint64_t revision)
{
    return (obb_at){.kind = OBB_AT_REVISION, .revision = revision};
}

obb_at at_ago(double ago) { return (obb_at){.kind = OBB_AT_AGO, .time = ago}; }

obb_at held(obb_at at)
{
    at.no_interpolation = true;
    return at;
}

obb_at clamped(obb_at at)
{
    at.clamp = true;
    return at;
}

obb_status tick_configure(struct obb_scene *scene, const obb_settings *settings, double now_ms,
                          bool *out_changed)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_edit edit = {.dimensions = settings->dimensions, .settings = settings};
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    const obb_status st = obb_edit_prepare(scene, &edit, now_ms, 0, &arena, &prepared, &fault);
    if (st == OBB_OK) {
        obb_committed committed;
        obb_edit_commit(prepared, &committed);
        *out_changed = committed.changed;
    }
    obb_arena_fini(&arena);
    return st;
}
