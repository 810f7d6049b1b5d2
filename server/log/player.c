#include "server/log/player.h"

#include "server/log/log_file.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct srv_player {
    struct srv_job job; /* first; reads the next line */
    struct srv_player_options options;
    struct srv_timer *timer;
    struct srv_log_file file;
    struct obb_arena arena;  /* of the line */
    char name[OBB_MAX_NAME]; /* of the scene */
    size_t name_length;
    struct srv_write write;
    bool playing; /* from the start to the end: it holds the drain */
    bool waiting; /* for the time of the line */
    bool stopped; /* the service ends */

    /* At this srv_clock the scene had, or would have had, this time. */
    double started, time;

    /* What the job uses: the scene as it must be, and the line that was read. */
    obb_scene_info now;
    srv_log_read read;
    wire_log_commit line;
    size_t commits;
};

static obb_str name_of(const struct srv_player *p)
{
    return (obb_str){.bytes = p->name, .length = p->name_length};
}

/* ---- The scene that the log begins with ------------------------------------------------------ */

static void on_made(struct srv_write *write) { (void)write; } /* the caller looks at the results */

static bool make_scene(struct srv_player *p, char *error, size_t error_size)
{
    wire_log_head head;
    obb_effects effects;
    if (!srv_log_file_open(&p->file, &p->arena, &head, &effects)) {
        char why[400];
        srv_log_file_explain(&p->file, why, sizeof why);
        (void)snprintf(error, error_size, "--replay %s", why);
        return false;
    }
    memcpy(p->name, head.scene.bytes, head.scene.length);
    p->name_length = head.scene.length;
    struct srv_write write = {.op = {.kind = SRV_OP_LOAD,
                                     .scene = head.scene,
                                     .settings = head.settings,
                                     .effects = &effects},
                              .arena = &p->arena,
                              .at_once = true,
                              .done = on_made};
    srv_write(p->options.writer, &write);
    if (write.status != OBB_OK) {
        (void)snprintf(error, error_size, "--replay %.80s: the scene %s cannot be made: %s",
                       p->file.path, wire_show(head.scene).text, obb_status_sentence(write.status));
        return false;
    }
    obb_scene_info_without_bounds(write.scene, &p->now);
    return true;
}

/* ---- Playing --------------------------------------------------------------------------------- */

/* Ends the play. why: NULL if the log is over, or the service ends. */
static void end(struct srv_player *p, const char *why)
{
    SRV_LOG(p->options.log, why != NULL ? SRV_WARN : SRV_INFO, "replay",
            srv_bytes("scene", name_of(p)), srv_integer("commits", (int64_t)p->commits),
            srv_integer("revision", (int64_t)p->now.now.revision),
            srv_integer("line", (int64_t)p->file.line),
            srv_text("end", why != NULL  ? why
                            : p->stopped ? "the service ends"
                                         : "the log is over"));
    srv_log_file_close(&p->file);
    p->playing = false;
    srv_drain_release(p->options.drain);
}

static size_t read_step(struct srv_job *job)
{
    struct srv_player *p = (struct srv_player *)job;
    obb_arena_reset(&p->arena);
    p->read = srv_log_file_next(&p->file, &p->now, &p->arena, &p->line);
    return 0;
}

static void read_next(struct srv_player *p)
{
    if (p->stopped)
        end(p, NULL);
    else if (srv_pool_submit(p->options.pool, &p->job) != SRV_SUBMITTED)
        end(p, obb_status_sentence(OBB_NO_MEMORY));
}

static void on_committed(struct srv_write *write)
{
    struct srv_player *p =
        (struct srv_player *)(void *)((char *)write - offsetof(struct srv_player, write));
    if (write->status != OBB_OK) {
        end(p, obb_status_sentence(write->status));
        return;
    }
    obb_scene_info_without_bounds(write->scene, &p->now);
    p->commits++;
    read_next(p);
}

/* Commits the line. It must meet the scene as the line before has left it. */
static void commit(struct srv_player *p)
{
    p->line.edit.has_if_revision = true;
    p->line.edit.if_revision = p->now.now.revision;
    p->write =
        (struct srv_write){.op = {.kind = SRV_OP_EDIT, .scene = name_of(p), .edit = &p->line.edit},
                           .arena = &p->arena,
                           .done = on_committed};
    srv_write(p->options.writer, &p->write);
}

static void on_due(void *context)
{
    struct srv_player *p = context;
    p->waiting = false;
    commit(p);
}

static void on_read(struct srv_job *job)
{
    struct srv_player *p = (struct srv_player *)job;
    if (p->stopped || p->read == SRV_LOG_END) {
        end(p, NULL);
        return;
    }
    if (p->read == SRV_LOG_BROKEN) {
        end(p, p->file.error);
        return;
    }
    const double now = srv_clock();
    if (p->line.edit.restart) { /* nobody knows how long after the line before */
        p->started = now;
        p->time = p->line.moment.time;
    }
    const double due = p->started + (p->line.moment.time - p->time) / p->options.speed / 1e3;
    p->waiting = due > now;
    if (p->waiting)
        srv_timer_start(p->timer, (uint64_t)ceil((due - now) * 1e3), 0);
    else
        commit(p);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool srv_player_create(const struct srv_player_options *options, struct srv_player **out,
                       char *error, size_t error_size)
{
    struct srv_player *p = obb_calloc(1, sizeof *p);
    if (p == NULL || !srv_timer_create(options->loop, on_due, p, &p->timer)) {
        obb_free(p);
        (void)snprintf(error, error_size, "--replay: there is not enough memory");
        return false;
    }
    p->options = *options;
    p->file.path = options->path;
    p->job.advance = read_step;
    p->job.done = on_read;
    p->job.background = true;
    obb_arena_init(&p->arena);
    if (!make_scene(p, error, error_size)) {
        srv_player_destroy(p);
        return false;
    }
    *out = p;
    return true;
}

void srv_player_start(struct srv_player *p)
{
    if (p == NULL)
        return;
    p->playing = true;
    srv_drain_hold(p->options.drain);
    p->started = srv_clock();
    p->time = p->now.now.time;
    read_next(p);
}

void srv_player_stop(struct srv_player *p)
{
    if (p == NULL || p->stopped)
        return;
    p->stopped = true;
    if (!p->waiting)
        return; /* the line that is under way is the last one */
    p->waiting = false;
    srv_timer_stop(p->timer);
    end(p, NULL);
}

void srv_player_destroy(struct srv_player *p)
{
    if (p == NULL)
        return;
    srv_log_file_close(&p->file);
    srv_timer_destroy(p->timer);
    obb_arena_fini(&p->arena);
    obb_free(p);
}
