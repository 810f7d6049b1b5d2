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

/* Reads the next line. It is in the arena, because what is decoded points into it. *out_end: there is
 * none. */
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

static bool read_box(struct srv_log_file *file, struct obb_arena *arena, int dimensions,
                     obb_effect *out)
{
    wire_body line;
    wire_problem problem;
    obb_put put;
    bool end;
    if (!read_line(file, arena, &line, &end))
        return false;
    if (end)
        return fail(file, "a box was to follow: the file was cut");
    if (!wire_read_log_box(&line, dimensions, arena, &put, &problem))
        return fail_problem(file, &problem);
    if (put.target.id == 0)
        return fail(file, "\"id\" is missing");
    *out = (obb_effect){.kind = OBB_EFFECT_NEW,
                        .id = put.target.id,
                        .name = put.target.name,
                        .parts = OBB_PUT_ALL,
                        .box = put.box,
                        .attributes = put.attributes};
    return true;
}

/* Reads so many boxes. Room is made for lines that are there, not for those that are announced. */
static bool read_boxes(struct srv_log_file *file, struct obb_arena *arena,
                       const wire_log_head *head, obb_effects *effects)
{
    struct obb_arena lists; /* so that the list can grow in place */
    obb_effect *list = NULL;
    size_t capacity = 0;
    obb_arena_init(&lists);
    bool good = true;
    while (good && effects->count < head->boxes) {
        if (effects->count == capacity) {
            const size_t larger = capacity == 0 ? 1024 : 2 * capacity;
            obb_effect *grown = obb_arena_grow(&lists, list, capacity, larger, sizeof *list);
            good = grown != NULL || fail_memory(file);
            list = good ? grown : list;
            capacity = good ? larger : capacity;
        }
        good = good && read_box(file, arena, head->settings.dimensions, &list[effects->count]);
        effects->count += good;
    }
    if (good) {
        obb_effect *all = obb_arena_alloc(arena, effects->count, sizeof *all);
        good = all != NULL || fail_memory(file);
        if (good && effects->count > 0)
            memcpy(all, list, effects->count * sizeof *all);
        effects->list = all;
    }
    obb_arena_fini(&lists);
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
    return read_boxes(file, arena, out_head, out_effects);
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
    return edit->remove_count + edit->put_count + edit->pose_count == 0 && edit->settings == NULL;
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
    /* only an import of no box into a scene without boxes raises the revision and changes nothing */
    if (!time_only && changes_nothing(&out->edit) && now->boxes == 0)
        out->edit.replace_all = true;
    return SRV_LOG_COMMIT;
}
