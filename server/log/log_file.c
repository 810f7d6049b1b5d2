#include "server/log/log_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Notes what is wrong. Returns false. */
__attribute__((format(printf, 2, 3))) static bool fail(struct srv_log_file *file,
                                                       const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(file->error, sizeof file->error, format, values);
    va_end(values);
    return false;
}

static bool fail_memory(struct srv_log_file *file)
{
    return fail(file, "there is not enough memory");
}

static bool fail_problem(struct srv_log_file *file, const wire_problem *problem)
{
    const bool at = problem->pointer != NULL && problem->pointer[0] != '\0';
    return fail(file, "%s%s%s", at ? problem->pointer : "", at ? ": " : "",
                problem->detail != NULL ? problem->detail : problem->title);
}

/* Reads the next line. It is in the arena, because what is decoded points into it. *out_end: there
 * is none. */
static bool read_line(struct srv_log_file *file, struct obb_arena *arena, wire_body *out,
                      bool *out_end)
{
    char *line = NULL;
    size_t capacity = 0;
    errno = 0;
    const ssize_t length = getline(&line, &capacity, file->file);
    const bool failed = length < 0 && !feof(file->file);
    const int error = errno;
    char *copy = length > 0 ? obb_arena_alloc(arena, (size_t)length, 1) : NULL;
    if (copy != NULL)
        memcpy(copy, line, (size_t)length);
    free(line); /* getline's, from the heap of libc */
    *out_end = length < 0;
    if (failed)
        return fail(file, "%s", strerror(error));
    if (length < 0)
        return true;
    file->line++;
    if (copy == NULL)
        return fail_memory(file);
    if (copy[length - 1] != '\n')
        return fail(file, "the line has no end: the file was cut");
    *out = (wire_body){.bytes = copy, .length = (size_t)length - 1, .media = WIRE_NDJSON};
    return true;
}

/* The effects of the lines that were read so far: frames by name, then boxes. */
struct lines {
    struct srv_log_file *file;
    struct obb_arena *arena;
    int dimensions;
    struct obb_arena growing; /* holds the list, so that it can grow in place */
    obb_effect *list;
    size_t count, capacity, frames;
};

/* Returns the next line of the first state. */
static bool read_state_line(struct lines *lines, const char *what, wire_body *out)
{
    bool end;
    if (!read_line(lines->file, lines->arena, out, &end))
        return false;
    return !end || fail(lines->file, "a %s was to follow: the file was cut", what);
}

static bool read_frame(struct lines *lines, obb_effect *out)
{
    wire_body line;
    wire_problem problem;
    obb_pose pose;
    if (!read_state_line(lines, "frame", &line))
        return false;
    if (!wire_read_log_frame(&line, lines->dimensions, lines->arena, &pose, &problem))
        return fail_problem(lines->file, &problem);
    *out = (obb_effect){
        .kind = OBB_EFFECT_FRAME,
        .name = pose.target.name,
        .parts = OBB_PUT_CENTER | OBB_PUT_ROTATION,
        .box = {.center = pose.center, .rotation = pose.rotation, .angle = pose.angle}};
    return true;
}

/* Compares two names byte by byte: the order of the frames of an export. */
static int compare(obb_str a, obb_str b)
{
    const size_t shorter = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.bytes, b.bytes, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Finds a frame by bisection. */
static const obb_effect *find_frame(const struct lines *lines, obb_str name)
{
    size_t low = 0, high = lines->frames;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(lines->list[middle].name, name);
        if (order == 0)
            return &lines->list[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Puts a box into the scene whose pose is that in a frame. */
static bool place_box(struct lines *lines, obb_effect *box)
{
    const obb_effect *frame = find_frame(lines, box->frame);
    if (frame == NULL)
        return fail(lines->file, "/frame: found %s; there is no such frame",
                    wire_show(box->frame).text);
    const obb_frame placed = obb_frame_from_pose(&frame->box, lines->dimensions);
    box->local = box->box;
    return obb_frame_place(&placed, &box->local, &box->box) == OBB_OK ||
           fail(lines->file, "/frame: %s", obb_status_sentence(OBB_BAD_NUMBER));
}

static bool read_box(struct lines *lines, obb_effect *out)
{
    wire_body line;
    wire_problem problem;
    obb_put put;
    if (!read_state_line(lines, "box", &line))
        return false;
    if (!wire_read_log_box(&line, lines->dimensions, lines->arena, &put, &problem))
        return fail_problem(lines->file, &problem);
    if (put.target.id == 0)
        return fail(lines->file, "\"id\" is missing");
    *out = (obb_effect){.kind = OBB_EFFECT_NEW,
                        .id = put.target.id,
                        .name = put.target.name,
                        .parts = OBB_PUT_ALL,
                        .box = put.box,
                        .attributes = put.attributes,
                        .since = put.since,
                        .frame = put.frame};
    return put.frame.length == 0 || place_box(lines, out);
}

/* Reads `count` more lines. Room is made for lines that are there, not for those that are
 * announced. */
static bool read_lines(struct lines *lines, size_t count,
                       bool (*read)(struct lines *lines, obb_effect *out))
{
    for (; count > 0; count--) {
        if (lines->count == lines->capacity) {
            const size_t larger = lines->capacity == 0 ? 1024 : 2 * lines->capacity;
            obb_effect *grown = obb_arena_grow(&lines->growing, lines->list, lines->capacity,
                                               larger, sizeof *grown);
            if (grown == NULL)
                return fail_memory(lines->file);
            lines->list = grown;
            lines->capacity = larger;
        }
        if (!read(lines, &lines->list[lines->count]))
            return false;
        lines->count++;
    }
    return true;
}

/* Reads all frames and boxes of the first state. */
static bool read_state(struct srv_log_file *file, struct obb_arena *arena,
                       const wire_log_head *head, obb_effects *effects)
{
    struct lines lines = {.file = file, .arena = arena, .dimensions = head->settings.dimensions};
    bool good = read_lines(&lines, head->frames, read_frame);
    lines.frames = lines.count;
    good = good && read_lines(&lines, head->boxes, read_box);
    if (good) {
        obb_effect *all = obb_arena_alloc(arena, lines.count, sizeof *all);
        if (all == NULL)
            good = fail_memory(file);
        else if (lines.count > 0)
            memcpy(all, lines.list, lines.count * sizeof *all);
        effects->list = all;
        effects->count = lines.count;
    }
    obb_arena_fini(&lines.growing);
    return good;
}

bool srv_log_file_open(struct srv_log_file *file, struct obb_arena *arena, wire_log_head *out_head,
                       obb_effects *out_effects)
{
    wire_body line;
    wire_problem problem;
    bool end;
    file->file = fopen(file->path, "re");
    if (file->file == NULL)
        return fail(file, "%s", strerror(errno));
    if (!read_line(file, arena, &line, &end))
        return false;
    if (end)
        return fail(file, "the file is empty");
    if (!wire_read_log_head(&line, arena, out_head, &problem))
        return fail_problem(file, &problem);
    file->began = true;
    *out_effects = (obb_effects){.moment = out_head->moment,
                                 .appends = out_head->moment.revision > 0,
                                 .time_stated = true,
                                 .next_id = out_head->next_id};
    return read_state(file, arena, out_head, out_effects);
}

void srv_log_file_explain(const struct srv_log_file *file, char *out, size_t out_size)
{
    if (file->line > 0)
        (void)snprintf(out, out_size, "%.80s, line %zu: %s", file->path, file->line, file->error);
    else
        (void)snprintf(out, out_size, "%.80s: %s", file->path, file->error);
}

void srv_log_file_close(struct srv_log_file *file)
{
    if (file->file != NULL)
        (void)fclose(file->file);
    file->file = NULL;
}

static bool changes_nothing(const obb_edit *edit)
{
    return edit->remove_count + edit->remove_frame_count + edit->frame_count + edit->put_count +
                   edit->pose_count ==
               0 &&
           edit->settings == NULL;
}

srv_log_read srv_log_file_next(struct srv_log_file *file, const obb_scene_info *now,
                               struct obb_arena *arena, wire_log_commit *out)
{
    wire_body line;
    wire_problem problem;
    bool end;
    if (!read_line(file, arena, &line, &end))
        return SRV_LOG_BROKEN;
    if (end)
        return SRV_LOG_END;
    if (!wire_read_log_commit(&line, &now->settings, arena, out, &problem)) {
        (void)fail_problem(file, &problem);
        return SRV_LOG_BROKEN;
    }
    const bool time_only = changes_nothing(&out->edit) && out->moment.revision == now->now.revision;
    if (!time_only && out->moment.revision != now->now.revision + 1) {
        (void)fail(file, "revision %llu does not follow revision %llu",
                   (unsigned long long)out->moment.revision, (unsigned long long)now->now.revision);
        return SRV_LOG_BROKEN;
    }
    /* only an import of no box into a scene without boxes raises the revision and changes
     * nothing */
    if (!time_only && changes_nothing(&out->edit) && now->boxes == 0)
        out->edit.replace_all = true;
    return SRV_LOG_COMMIT;
}
