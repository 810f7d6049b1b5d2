#include "server/data.h"

#include "server/journal/grouped.h"
#include "server/journal/sqlite.h"
#include "server/scenes/durable.h"
#include "server/scenes/scene_memory.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ERROR_SIZE = 512, CAUSE_SIZE = 400 };

struct srv_data {
    srv_data_options options;
    struct srv_backend *backend; /* until the journal has it */
    struct srv_bell *bell;       /* rung by the last thread of the restore */
    struct srv_restore *restore; /* while it is under way */
    srv_restored restored;       /* what came of it, until the service has taken it over */
    struct srv_job job;          /* lets the scenes give up states that have no room together */
    struct srv_journal *journal;
    struct srv_snapshots snapshots;
    bool stopped;
    double begun;
    char error[ERROR_SIZE];
};

bool srv_data_open(const srv_data_options *options, struct srv_data **out, char *error,
                   size_t error_size)
{
    struct srv_data *data = obb_calloc(1, sizeof *data);
    if (data == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    char why[ERROR_SIZE];
    data->options = *options;
    if (!srv_sqlite_open(options->folder, &data->backend, why, sizeof why)) {
        (void)snprintf(error, error_size, "--data %s", why);
        obb_free(data);
        return false;
    }
    *out = data;
    return true;
}

/* ---- Restoring ------------------------------------------------------------------------------- */

static void fail(struct srv_data *data, const char *error)
{
    (void)snprintf(data->error, sizeof data->error, "--data %.*s", CAUSE_SIZE, error);
    data->options.failed(data->options.context);
}

/* Lets the service go on with the restored scenes, which are in the store. */
static bool take_over(struct srv_data *data)
{
    const srv_data_options *o = &data->options;
    data->backend->log = o->log;
    if (!srv_grouped_create(o->loop, data->backend, o->sync_ms, &data->journal))
        return false;
    data->backend = NULL;
    data->snapshots.journal = data->journal;
    data->snapshots.pool = o->pool;
    data->snapshots.locks = o->locks;
    data->snapshots.drain = o->drain;
    data->snapshots.log = o->log;
    data->snapshots.budget = o->budget;
    data->snapshots.remember = srv_durable_remember;
    data->snapshots.last_seq = data->restored.last_seq;
    data->snapshots.total = data->restored.total;
    return o->ready(o->context, &data->restored);
}

/* The service has what was restored, or will never have it. */
static void end_restore(struct srv_data *data)
{
    srv_restored_fini(&data->restored);
    srv_drain_release(data->options.drain);
}

static struct srv_data *data_of(struct srv_job *job)
{
    return (struct srv_data *)(void *)((char *)job - offsetof(struct srv_data, job));
}

/* Nobody touches the scenes before the service is ready. */
static size_t shed_step(struct srv_job *job)
{
    (void)srv_scene_memory_shed(data_of(job)->options.memory, NULL, 0);
    return 0;
}

static void on_shed(struct srv_job *job)
{
    struct srv_data *data = data_of(job);
    const srv_data_options *o = &data->options;
    char error[CAUSE_SIZE];
    if (!data->stopped && !take_over(data)) {
        (void)snprintf(error, sizeof error, "%s: there is not enough memory", o->folder);
        fail(data, error);
    } else if (!data->stopped) {
        SRV_LOG(o->log, SRV_INFO, "restored", srv_text("data", o->folder),
                srv_integer("scenes", (int64_t)data->restored.count),
                srv_integer("boxes", (int64_t)data->restored.boxes),
                srv_integer("records", (int64_t)data->restored.records),
                srv_integer("sync_ms", (int64_t)o->sync_ms),
                srv_number("ms", (srv_clock() - data->begun) * 1e3));
    }
    end_restore(data);
}

/* Puts the restored scenes into the store. Returns false after saying why not. */
static bool adopt(struct srv_data *data)
{
    const srv_data_options *o = &data->options;
    char why[CAUSE_SIZE - 100], error[CAUSE_SIZE];
    if (srv_restored_adopt(&data->restored, o->store, srv_clock() * 1e3, why, sizeof why))
        return true;
    (void)snprintf(error, sizeof error, "%.90s: %s", o->folder, why);
    fail(data, error);
    return false;
}

static void on_restored(void *context)
{
    struct srv_data *data = context;
    char error[CAUSE_SIZE];
    const bool good = srv_restore_end(data->restore, &data->restored, error, sizeof error);
    data->restore = NULL;
    if (!good && !data->stopped)
        fail(data, error);
    if (!good || data->stopped || !adopt(data)) {
        end_restore(data);
        return;
    }
    data->job = (struct srv_job){.advance = shed_step, .done = on_shed, .background = true};
    if (srv_pool_submit(data->options.pool, &data->job) == SRV_SUBMITTED)
        return;
    (void)shed_step(&data->job);
    on_shed(&data->job);
}

/* On the last thread of the restore. */
static void on_ended(void *context) { srv_bell_ring(((struct srv_data *)context)->bell); }

bool srv_data_begin(struct srv_data *data)
{
    const srv_data_options *o = &data->options;
    const srv_restore_options restore = {.backend = data->backend,
                                         .path = o->folder,
                                         .threads = o->threads,
                                         .kernels = o->kernels,
                                         .scene_memory = o->memory->limit,
                                         .log = o->log,
                                         .takes_over = true,
                                         .ended = on_ended,
                                         .context = data};
    data->begun = srv_clock();
    if (!srv_bell_create(o->loop, on_restored, data, &data->bell))
        return false;
    if (!srv_restore_begin(&restore, &data->restore))
        return false;
    srv_drain_hold(o->drain);
    return true;
}

void srv_data_stop(struct srv_data *data)
{
    if (data == NULL || data->stopped)
        return;
    data->stopped = true;
    if (data->restore != NULL)
        srv_restore_cancel(data->restore);
    if (data->journal == NULL)
        return;
    srv_snapshots_stop(&data->snapshots);
    srv_journal_hurry(data->journal);
}

void srv_data_destroy(struct srv_data *data)
{
    if (data == NULL)
        return;
    if (data->restore != NULL) { /* the loop was stopped under way */
        char error[ERROR_SIZE];
        srv_restored restored;
        srv_restore_cancel(data->restore);
        (void)srv_restore_end(data->restore, &restored, error, sizeof error);
        srv_restored_fini(&restored);
    }
    srv_journal_destroy(data->journal);
    if (data->backend != NULL)
        data->backend->close(data->backend);
    srv_bell_destroy(data->bell);
    obb_free(data);
}

struct srv_journal *srv_data_journal(const struct srv_data *data) { return data->journal; }

struct srv_snapshots *srv_data_snapshots(struct srv_data *data) { return &data->snapshots; }

const char *srv_data_error(const struct srv_data *data) { return data->error; }

/* ---- Looking --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const char *folder)
{
    static const char *const files[] = {"journal.db", "journal.db-wal"};
    uint64_t bytes = 0;
    for (size_t i = 0; i < 2; i++) {
        char path[ERROR_SIZE];
        struct stat found;
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (stat(path, &found) == 0)
            bytes += (uint64_t)found.st_size;
    }
    return bytes;
}

static bool is_there(const char *folder, char *line, size_t line_size)
{
    char path[ERROR_SIZE];
    struct stat found;
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    if (stat(path, &found) == 0)
        return true;
    (void)snprintf(line, line_size, "%s: %s", path, strerror(errno));
    return false;
}

bool srv_data_check(const char *folder, size_t threads, char *line, size_t line_size)
{
    struct srv_backend *backend = NULL;
    struct srv_restore *restore = NULL;
    srv_restored restored;
    if (!is_there(folder, line, line_size) || !srv_sqlite_open(folder, &backend, line, line_size))
        return false;
    bool good = srv_sqlite_check(backend, line, line_size);
    if (good) {
        const srv_restore_options options = {
            .backend = backend, .path = folder, .threads = threads};
        good = srv_restore_begin(&options, &restore);
        if (!good)
            (void)snprintf(line, line_size, "%s: there is not enough memory", folder);
    }
    good = good && srv_restore_end(restore, &restored, line, line_size);
    if (good) {
        const int length = snprintf(
            line, line_size, "%s is whole: %zu scenes, %zu boxes, %llu records, %llu bytes", folder,
            restored.count, restored.boxes, (unsigned long long)restored.records,
            (unsigned long long)bytes_of(folder));
        if (restored.replaced > 0 && length > 0 && (size_t)length < line_size)
            (void)snprintf(line + length, line_size - (size_t)length,
                           "; the next start removes %zu scenes that copies have replaced",
                           restored.replaced);
        srv_restored_fini(&restored);
    }
    backend->close(backend);
    return good;
}
