#include "server/cluster.h"

#include "server/journal/nats.h"
#include "server/scenes/await.h"
#include "server/scenes/durable.h"
#include "server/scenes/epoch.h"
#include "server/scenes/follow.h"
#include "server/scenes/sleeper.h"

#include <stdio.h>

enum { ERROR_SIZE = 512 };

struct srv_cluster {
    srv_cluster_options options;
    struct srv_stream *stream; /* until the journal has it */
    struct srv_journal *journal;
    struct srv_follower follower;
    struct srv_snapshots snapshots; /* of scenes and copies, and parts of records */
    struct srv_sleeper sleeper;
    bool stopped;
    double begun;
    char error[ERROR_SIZE];
};

static void on_foreign(void *context, const srv_foreign *record)
{
    srv_follow(&((struct srv_cluster *)context)->follower, record);
}

/* Another process has written a snapshot of a scene. */
static void on_snapshot(void *context, obb_str name, const wire_record *record)
{
    struct srv_cluster *c = context;
    const struct obb_scene *scene = obb_store_find(c->options.writer->store, name);
    struct srv_tail *tail = scene != NULL ? srv_tail_of(scene) : NULL;
    if (tail != NULL)
        srv_snapshot_told(&c->snapshots, srv_tail_journaled(tail), record->base_id);
}

static void on_warning(void *context, obb_str name, bool again, const char *why)
{
    const struct srv_cluster *c = context;
    SRV_LOG(c->options.log, SRV_WARN, again ? "scene-again" : "snapshot-passed-over",
            srv_bytes("scene", name), srv_text("why", why));
}

/* A scene sleeps unless one of its name is held here, or somebody waits for what it will be. */
static bool may_sleep(void *context, obb_str name)
{
    const struct srv_cluster *c = context;
    return obb_store_find(c->options.writer->store, name) == NULL &&
           !srv_awaits_name(c->options.awaits, name);
}

static wire_record_id new_id(void *context)
{
    struct srv_cluster *c = context;
    return srv_tails_new_id(&c->options.writer->tails);
}

static void on_caught_up(void *context)
{
    struct srv_cluster *c = context;
    const struct obb_store *store = c->options.writer->store;
    SRV_LOG(c->options.log, SRV_INFO, "followed",
            srv_integer("scenes", (int64_t)obb_store_scenes(store)),
            srv_integer("boxes", (int64_t)obb_store_boxes(store)),
            srv_integer("asleep", (int64_t)atomic_load(&srv_journal_figures(c->journal)->asleep)),
            srv_number("ms", (srv_clock() - c->begun) * 1e3));
    c->options.ready(c->options.context);
}

static void on_lost(void *context, const char *why)
{
    struct srv_cluster *c = context;
    if (c->stopped)
        return;
    (void)snprintf(c->error, sizeof c->error, "--journal: %s", why);
    c->options.failed(c->options.context);
}

bool srv_cluster_open(const srv_cluster_options *options, struct srv_cluster **out, char *error,
                      size_t error_size)
{
    struct srv_cluster *c = obb_calloc(1, sizeof *c);
    const srv_config *config = options->config;
    if (c == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    c->options = *options;
    const srv_nats_options nats = {.loop = options->loop,
                                   .log = options->log,
                                   .budget = options->writer->budget,
                                   .urls = config->journal.items,
                                   .url_count = config->journal.count,
                                   .replicas = config->journal_replicas,
                                   .credentials = config->journal_credentials,
                                   .ca = config->journal_ca,
                                   .certificate = config->journal_cert,
                                   .key = config->journal_key};
    char why[ERROR_SIZE - 20];
    if (!srv_nats_open(&nats, &c->stream, why, sizeof why)) {
        (void)snprintf(error, error_size, "--journal: %s", why);
        obb_free(c);
        return false;
    }
    *out = c;
    return true;
}

bool srv_cluster_begin(struct srv_cluster *c)
{
    const srv_cluster_options *o = &c->options;
    struct srv_tails *tails = &o->writer->tails;
    c->begun = srv_clock();
    c->follower = (struct srv_follower){.writer = o->writer,
                                        .loop = o->loop,
                                        .drain = o->writer->drain,
                                        .lost = on_lost,
                                        .context = c};
    if (!srv_epoch_draw(&tails->writer))
        return false;
    const srv_shared_options shared = {.loop = o->loop,
                                       .stream = c->stream,
                                       .budget = o->writer->budget,
                                       .writer = tails->writer,
                                       .keep_ms = o->config->journal_keep * 1000,
                                       .foreign = on_foreign,
                                       .snapshot = on_snapshot,
                                       .may_sleep = o->config->journal_idle > 0 ? may_sleep : NULL,
                                       .warn = on_warning,
                                       .caught_up = on_caught_up,
                                       .lost = on_lost,
                                       .context = c};
    if (!srv_follower_init(&c->follower) || !srv_shared_create(&shared, &c->journal))
        return false;
    c->stream = NULL;
    c->follower.journal = c->journal;
    c->snapshots = (struct srv_snapshots){.journal = c->journal,
                                          .pool = o->writer->pool,
                                          .locks = o->writer->locks,
                                          .drain = o->writer->drain,
                                          .log = o->log,
                                          .budget = o->writer->budget,
                                          .remember = srv_durable_remember,
                                          .new_id = new_id,
                                          .context = c};
    tails->journal = c->journal;
    tails->hashes = true;
    tails->snapshots = &c->snapshots;
    tails->locks = o->writer->locks;
    tails->drain = o->writer->drain;
    tails->budget = o->writer->budget;
    c->sleeper = (struct srv_sleeper){.loop = o->loop,
                                      .writer = o->writer,
                                      .journal = c->journal,
                                      .idle_s = o->config->journal_idle,
                                      .request_ms = o->config->request_timeout_ms,
                                      .scene_limit = o->config->scene_limit};
    return srv_sleeper_start(&c->sleeper);
}

void srv_cluster_stop(struct srv_cluster *c)
{
    if (c == NULL || c->stopped)
        return;
    c->stopped = true;
    if (c->journal == NULL)
        return;
    srv_sleeper_stop(&c->sleeper);
    srv_follower_stop(&c->follower);
    srv_snapshots_stop(&c->snapshots);
    srv_journal_hurry(c->journal);
}

void srv_cluster_destroy(struct srv_cluster *c)
{
    if (c == NULL)
        return;
    srv_sleeper_stop(&c->sleeper);
    srv_journal_destroy(c->journal);
    if (c->stream != NULL)
        c->stream->close(c->stream);
    srv_follower_fini(&c->follower);
    obb_free(c);
}

struct srv_journal *srv_cluster_journal(const struct srv_cluster *c) { return c->journal; }

const char *srv_cluster_error(const struct srv_cluster *c) { return c->error; }
