/* The start and stop order of the daemon, and nothing else. */
#include "server/server.h"

#include "server/access/admit.h"
#include "server/base/drain.h"
#include "server/base/trash.h"
#include "server/base/workers.h"
#include "server/cluster.h"
#include "server/credentials.h"
#include "server/data.h"
#include "server/events/recorder.h"
#include "server/lag.h"
#include "server/listeners.h"
#include "server/log/log_stream.h"
#include "server/log/player.h"
#include "server/routes/demo.h"
#include "server/routes/demo_play.h"
#include "server/routes/handlers.h"
#include "server/routes/page.h"
#include "server/routes/table.h"
#include "server/scenes/await.h"
#include "server/scenes/durable.h"
#include "server/scenes/epoch.h"
#include "server/scenes/rebuild.h"
#include "server/scenes/scenes.h"
#include "server/scenes/starved.h"
#include "server/scenes/sweep.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    DRAIN_MS = 5000,       /* for requests in flight to finish after SIGTERM */
    MOST_STOCK = 64 << 20, /* bytes */
    AGE_MS = 1000,         /* between two looks at the blocks in stock */
    TOKENS_MS = 1000       /* between two looks at the tokens of open streams */
};

struct srv_server {
    struct srv_services services; /* what handlers see of all this */
    srv_log log;
    struct srv_log_dropped dropped; /* log lines */
    struct srv_metrics metrics;
    struct obb_budget budget; /* of --memory-limit */
    struct srv_loop *loop;
    struct srv_pool *pool;
    struct obb_store *store;
    struct srv_drain drain; /* work beside requests, which the end waits for */
    struct srv_trash trash;
    struct srv_locks locks;
    struct srv_writer writer;
    struct srv_rebuilds rebuilds;
    struct srv_sweeps sweeps;
    struct srv_recorder recorder;
    struct srv_log_streams logs;
    struct srv_starved starved;
    struct srv_awaits awaits;
    struct srv_data *data;       /* of --data, or NULL */
    struct srv_cluster *cluster; /* of --journal, or NULL */
    bool failed;                 /* it cannot go on: srv_data_error or srv_cluster_error */
    struct srv_player *player;   /* of --replay, or NULL */
    struct srv_demo_play *demo;  /* of --demo, or NULL */
    struct srv_routes *routes;
    struct srv_admit *admit;
    struct srv_http *http;
    struct srv_listeners *listeners;
    struct srv_credentials credentials;
    struct srv_lag *lag;
    struct srv_timer *drain_timer, *token_timer;
};

void srv_server_version(FILE *out)
{
    (void)fprintf(out, "obbd %s (libmicrohttpd %s, libuv %s)\n", SRV_VERSION, srv_http_version(),
                  srv_loop_version());
}

/* ---- The end -----------------------------------------------------------------------------------
 *
 * SIGTERM      no new connections, /readyz 503; event streams end; requests in flight finish
 * idle         no request is in flight: rebuilds are cancelled. When the drain is empty, too, and
 *              no request came meanwhile on a connection that was kept, the loop stops, and destroy
 *              closes what is left (idle connections)
 * 5 s later    requests that are still in flight are cancelled and cut
 * 2nd signal   ends at once */

static void end_if_over(void *context)
{
    struct srv_server *server = context;
    if (server->services.draining && srv_http_idle(server->http) && srv_drain_empty(&server->drain))
        srv_loop_stop(server->loop);
}

static void on_idle(void *context)
{
    struct srv_server *server = context;
    srv_rebuilds_cancel(&server->rebuilds);
    end_if_over(server);
}

static void on_drain_over(void *context)
{
    struct srv_server *server = context;
    SRV_LOG(&server->log, SRV_WARN, "drain-over",
            srv_integer("connections", (int64_t)srv_http_connections(server->http)));
    srv_http_cut(server->http);
}

static void begin_to_end(struct srv_server *server)
{
    server->services.draining = true;
    srv_timer_start(server->drain_timer, DRAIN_MS, 0);
    srv_events_stop(server->services.events);
    srv_log_streams_stop(&server->logs);
    srv_data_stop(server->data);
    srv_awaits_stop(&server->awaits);
    srv_cluster_stop(server->cluster);
    srv_player_stop(server->player);
    srv_demo_play_stop(server->demo);
    srv_http_quiesce(server->http, on_idle, server);
    srv_listeners_close(server->listeners);
}

static void on_signal(void *context)
{
    struct srv_server *server = context;
    if (server->services.draining) {
        SRV_LOG(&server->log, SRV_WARN, "killed", srv_text("by", "a second signal"));
        srv_listeners_close(server->listeners);
        _exit(EXIT_FAILURE);
    }
    SRV_LOG(&server->log, SRV_INFO, "draining",
            srv_integer("connections", (int64_t)srv_http_connections(server->http)));
    begin_to_end(server);
}

static void on_hangup(void *context)
{
    struct srv_server *server = context;
    srv_credentials_reload(&server->credentials);
    srv_http_recheck(server->http);
}

static void on_token_timer(void *context)
{
    struct srv_server *server = context;
    srv_http_recheck(server->http);
}

/* ---- The beginning --------------------------------------------------------------------------- */

/* Refuses what is about scenes until all of them are there. */
static bool scenes_are_there(const struct srv_request *request, wire_problem *problem)
{
    const struct srv_target *target = &request->target;
    if (!request->services->restoring || target->part_count == 0 ||
        !obb_str_equal(target->parts[0], obb_str_of("v1")))
        return true;
    *problem = wire_problem_http(503, "the scenes are being restored");
    problem->retry_after = 1;
    return false;
}

static bool admit(struct srv_request *request, const char *authorization, wire_problem *problem)
{
    return srv_admit_request(request->services->admit, request, authorization, problem) &&
           scenes_are_there(request, problem) &&
           srv_epoch_check(request,
                           srv_request_may_await(request) ? SRV_MAKES_NONE_YET
                                                          : srv_route_makes(request->route),
                           problem);
}

/* Checks that new scenes begin with a history that a scene may have. */
static bool history_fits(const srv_config *config, char *error, size_t error_size)
{
    if (config->history_span > config->history_max)
        (void)snprintf(error, error_size,
                       "--history: found %.15g; 0 to %.15g, as --history-max says",
                       config->history_span, config->history_max);
    else if (config->history_commits > config->history_commits_max)
        (void)snprintf(error, error_size,
                       "--history-commits: found %llu; 0 to %llu, as --history-commits-max says",
                       (unsigned long long)config->history_commits,
                       (unsigned long long)config->history_commits_max);
    else
        return true;
    return false;
}

/* Checks that the system lets the daemon start its threads. */
static bool threads_fit(const srv_config *config, size_t workers, char *error, size_t error_size)
{
    enum { JOURNAL = 12 }; /* the journal's, and those of the library of --journal */
    const bool kept = config->data != NULL || config->journal.count > 0;
    const size_t needed = workers + (kept ? JOURNAL : 0), allowed = srv_workers_try(needed);
    if (allowed < needed)
        (void)snprintf(error, error_size,
                       "--workers: of %zu threads the system starts %zu (ulimit -u, ulimit -v, or "
                       "the limit of processes of a container)",
                       needed, allowed);
    return allowed == needed;
}

static bool admit_again(struct srv_request *request, wire_problem *problem)
{
    return srv_admit_again(request->services->admit, request, problem);
}

static bool create_base(struct srv_server *server, size_t workers)
{
    const srv_config *config = server->services.config;
    return srv_metrics_init(&server->metrics, srv_route_count) && srv_loop_create(&server->loop) &&
           srv_loop_signals(server->loop, on_signal, on_hangup, server) &&
           srv_pool_create(server->loop, workers, config->queue_limit, &server->budget,
                           &server->pool) &&
           srv_timer_create(server->loop, on_drain_over, server, &server->drain_timer) &&
           srv_timer_create(server->loop, on_token_timer, server, &server->token_timer) &&
           srv_lag_create(server->loop, &server->metrics, &server->lag) &&
           srv_starved_init(&server->starved, server->loop, &server->budget);
}

static void publish_limits(struct srv_metrics *metrics, const srv_config *config, size_t workers)
{
    metrics->workers = workers;
    metrics->connection_limit = config->connection_limit;
    metrics->queue_limit = config->queue_limit;
    metrics->client_rate = config->client_rate;
    metrics->body_limit = config->body_limit;
    metrics->memory_limit = config->memory_limit;
    metrics->scene_limit = config->scene_limit;
    metrics->box_limit = config->box_limit;
    metrics->scene_memory = config->scene_memory;
    metrics->timeout_ms = config->request_timeout_ms;
    metrics->journal_sync_ms = config->sync_ms;
}

/* Makes the store, and all that changes it or follows its changes. */
static bool create_scenes(struct srv_server *server, const struct obb_kernels *kernels)
{
    const srv_config *config = server->services.config;
    if (obb_store_create(config->scene_limit, config->box_limit, kernels, &server->store) != OBB_OK)
        return false;
    if (config->scene_memory != 0) /* boxes and their history come before what can be found again */
        obb_store_cache(server->store, config->scene_memory / 4 * 3);
    server->drain = (struct srv_drain){.on_empty = end_if_over, .context = server};
    server->locks = (struct srv_locks){.pool = server->pool, .drain = &server->drain};
    server->writer = (struct srv_writer){
        .store = server->store,
        .locks = &server->locks,
        .memory = {.store = server->store, .locks = &server->locks, .limit = config->scene_memory},
        .pool = server->pool,
        .drain = &server->drain,
        .budget = &server->budget};
    server->rebuilds = (struct srv_rebuilds){.pool = server->pool,
                                             .locks = &server->locks,
                                             .drain = &server->drain,
                                             .metrics = &server->metrics,
                                             .log = &server->log};
    server->sweeps = (struct srv_sweeps){.loop = server->loop,
                                         .pool = server->pool,
                                         .locks = &server->locks,
                                         .drain = &server->drain};
    if (!srv_sweeps_init(&server->sweeps))
        return false;
    const struct srv_channels events = {.loop = server->loop,
                                        .pool = server->pool,
                                        .budget = &server->budget,
                                        .locks = &server->locks,
                                        .drain = &server->drain,
                                        .metrics = &server->metrics};
    if (!srv_events_create(server->loop, &events, &server->services.events))
        return false;
    srv_writer_listen(&server->writer, srv_events_listener(server->services.events));
    server->recorder = (struct srv_recorder){.budget = &server->budget,
                                             .store = server->store,
                                             .locks = &server->locks,
                                             .events = server->services.events,
                                             .metrics = &server->metrics};
    srv_writer_listen(&server->writer, srv_recorder_listener(&server->recorder));
    srv_writer_listen(&server->writer, srv_log_listener(&server->logs));
    server->awaits = (struct srv_awaits){.loop = server->loop,
                                         .store = server->store,
                                         .locks = &server->locks,
                                         .budget = &server->budget};
    srv_writer_listen(&server->writer, srv_awaits_listener(&server->awaits));
    return srv_awaits_init(&server->awaits);
}

static void publish_services(struct srv_server *server)
{
    struct srv_services *services = &server->services;
    services->log = &server->log;
    services->metrics = &server->metrics;
    services->budget = &server->budget;
    services->pool = server->pool;
    services->store = server->store;
    services->locks = &server->locks;
    services->writer = &server->writer;
    services->recorder = &server->recorder;
    services->logs = &server->logs;
    services->starved = &server->starved;
    services->awaits = &server->awaits;
    services->precede = srv_request_wakes;
}

static bool create_http(struct srv_server *server)
{
    const srv_config *config = server->services.config;
    if (!srv_routes_create(srv_route_table, srv_route_count, &server->routes))
        return false;
    const srv_http_options http = {.loop = server->loop,
                                   .log = &server->log,
                                   .metrics = &server->metrics,
                                   .routes = server->routes,
                                   .services = &server->services,
                                   .connection_limit = config->connection_limit,
                                   .body_limit = config->body_limit,
                                   .budget = &server->budget,
                                   .request_timeout_ms = config->request_timeout_ms,
                                   .hosts = config->hosts.items,
                                   .host_count = config->hosts.count,
                                   .origins = config->cors_origins.items,
                                   .origin_count = config->cors_origins.count,
                                   .check_host = config->token_file == NULL,
                                   .admit = admit,
                                   .find_epoch = srv_epoch_find,
                                   .precede = srv_request_wakes,
                                   .admit_again = admit_again};
    return srv_http_create(&http, &server->http);
}

/* Makes the scene of --demo, if it is said. A scene of that name that --data has kept stays as it
 * is. */
static bool make_demo(struct srv_server *server)
{
    const srv_config *config = server->services.config;
    if (config->demo == SRV_DEMO_OFF)
        return true;
    if (obb_store_find(server->store, obb_str_of(SRV_DEMO_SCENE)) != NULL) {
        SRV_LOG(&server->log, SRV_INFO, "demo", srv_text("scene", SRV_DEMO_SCENE),
                srv_text("kept", "a scene of that name is among those of --data"));
        return true;
    }
    const bool moves = config->demo == SRV_DEMO_MOVES;
    const obb_settings settings = moves ? srv_demo_settings(srv_most_settings(&server->services))
                                        : srv_default_settings(&server->services);
    if (srv_demo_create(&server->writer, &settings, moves) != OBB_OK)
        return false;
    if (moves)
        srv_demo_play_start(server->demo);
    return true;
}

/* Without --data the demo is made before rebuilds and sweeps listen, because no job may be under
 * way while the start can still fail. With --data it is made when all scenes are there. */
static bool create_demo(struct srv_server *server)
{
    const srv_config *config = server->services.config;
    const struct srv_demo_play_options options = {.loop = server->loop,
                                                  .writer = &server->writer,
                                                  .recorder = &server->recorder,
                                                  .drain = &server->drain,
                                                  .metrics = &server->metrics,
                                                  .log = &server->log};
    if (config->demo == SRV_DEMO_MOVES && !srv_demo_play_create(&options, &server->demo))
        return false;
    if (config->data == NULL && !make_demo(server))
        return false;
    srv_writer_listen(&server->writer, srv_rebuilds_listener(&server->rebuilds));
    srv_writer_listen(&server->writer, srv_sweeps_listener(&server->sweeps));
    return true;
}

static void log_start(const struct srv_server *server)
{
    srv_credentials_log(&server->credentials);
    srv_listeners_log(server->listeners, &server->log);
}

/* ---- The folder of --data -------------------------------------------------------------------- */

/* Says that the commits which the scenes remember leave requests no room, if it is so. */
static void tell_if_full(const struct srv_server *server)
{
    const size_t used = obb_budget_used(&server->budget);
    if (used >= server->services.config->memory_limit)
        SRV_LOG(&server->log, SRV_WARN, "memory-full", srv_integer("bytes", (int64_t)used),
                srv_text("why", "scenes remember more commits than --memory-limit has room for: "
                                "changes are refused"));
}

static bool on_restored(void *context, const srv_restored *restored)
{
    struct srv_server *server = context;
    struct srv_tails *tails = &server->writer.tails;
    tails->snapshots = srv_data_snapshots(server->data);
    tails->locks = &server->locks;
    tails->drain = &server->drain;
    tails->budget = &server->budget;
    tails->journal = srv_data_journal(server->data);
    bool good = srv_epoch_draw(&tails->writer);
    for (size_t i = 0; i < restored->count && good; i++)
        good = srv_durable_resume(&server->writer, &restored->scenes[i]);
    server->services.journal = tails->journal;
    good = good && make_demo(server);
    server->services.restoring = !good;
    if (good) { /* a journal that cannot be restored is told in one line */
        log_start(server);
        tell_if_full(server);
        srv_player_start(server->player);
    }
    return good;
}

static void on_data_failed(void *context)
{
    struct srv_server *server = context;
    server->failed = true;
    if (!server->services.draining)
        begin_to_end(server);
}

/* Opens the folder of --data, if it is said. */
static bool open_data(struct srv_server *server, size_t workers, const struct obb_kernels *kernels,
                      char *error, size_t error_size)
{
    const srv_config *config = server->services.config;
    const srv_data_options options = {.folder = config->data,
                                      .sync_ms = config->sync_ms,
                                      .threads = workers,
                                      .kernels = kernels,
                                      .memory = &server->writer.memory,
                                      .loop = server->loop,
                                      .store = server->store,
                                      .pool = server->pool,
                                      .locks = &server->locks,
                                      .drain = &server->drain,
                                      .budget = &server->budget,
                                      .log = &server->log,
                                      .ready = on_restored,
                                      .failed = on_data_failed,
                                      .context = server};
    server->services.restoring = config->data != NULL;
    return config->data == NULL || srv_data_open(&options, &server->data, error, error_size);
}

/* ---- The log of --journal -------------------------------------------------------------------- */

static void on_followed(void *context)
{
    struct srv_server *server = context;
    server->services.restoring = false;
    log_start(server);
}

/* Opens what --journal needs, if it is said. */
static bool open_cluster(struct srv_server *server, char *error, size_t error_size)
{
    const srv_config *config = server->services.config;
    const srv_cluster_options options = {.config = config,
                                         .loop = server->loop,
                                         .writer = &server->writer,
                                         .awaits = &server->awaits,
                                         .log = &server->log,
                                         .ready = on_followed,
                                         .failed = on_data_failed,
                                         .context = server};
    if (config->journal.count == 0)
        return true;
    server->services.restoring = true;
    return srv_cluster_open(&options, &server->cluster, error, error_size);
}

/* Begins to restore, or to follow. Returns false after saying why not. */
static bool begin_scenes(struct srv_server *server)
{
    if (server->data == NULL && server->cluster == NULL)
        log_start(server);
    if ((server->data == NULL || srv_data_begin(server->data)) &&
        (server->cluster == NULL || srv_cluster_begin(server->cluster))) {
        if (server->cluster != NULL)
            server->services.journal = server->awaits.journal =
                srv_cluster_journal(server->cluster);
        return true;
    }
    (void)fprintf(stderr, "obbd: --%s: there is not enough memory\n",
                  server->data != NULL ? "data" : "journal");
    return false;
}

/* Makes the scene of --replay, if it is said. */
static bool create_player(struct srv_server *server, char *error, size_t error_size)
{
    const srv_config *config = server->services.config;
    const struct srv_player_options options = {.path = config->replay,
                                               .speed = config->replay_speed,
                                               .loop = server->loop,
                                               .pool = server->pool,
                                               .writer = &server->writer,
                                               .drain = &server->drain,
                                               .log = &server->log};
    return config->replay == NULL ||
           srv_player_create(&options, &server->player, error, error_size);
}

static bool create_admission(struct srv_server *server, char *error, size_t error_size)
{
    static srv_handler *const without_limit[] = {srv_do_health, srv_do_ready, NULL};
    const srv_config *config = server->services.config;
    const srv_admit_options options = {.token_file = config->token_file,
                                       .client_rate = config->client_rate,
                                       .scene_part = SRV_SCENE_PART,
                                       .without_limit = without_limit,
                                       .metrics = &server->metrics};
    if (!srv_admit_create(&options, &server->admit, error, error_size))
        return false;
    server->services.admit = server->admit;
    server->credentials = (struct srv_credentials){
        .config = config, .log = &server->log, .admit = server->admit, .http = server->http};
    return srv_credentials_load_certificate(&server->credentials, error, error_size);
}

bool srv_server_create(const srv_config *config, struct srv_server **out, char *error,
                       size_t error_size)
{
    struct srv_server *server = obb_calloc(1, sizeof *server);
    (void)snprintf(error, error_size,
                   "there is not enough memory, or there are not enough descriptors");
    if (server == NULL)
        return false;
    server->services.config = config;
    obb_budget_init(&server->budget, config->memory_limit);
    server->log = (srv_log){.descriptor = srv_log_open(STDERR_FILENO),
                            .dropped = &server->dropped,
                            .level = (srv_level)config->log_level,
                            .json = config->log_format == 1};
    if (!history_fits(config, error, error_size)) {
        srv_server_destroy(server);
        return false;
    }
    const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)config->kernel);
    const size_t workers = config->workers != 0 ? config->workers : srv_pool_default();
    if (kernels == NULL) {
        (void)snprintf(error, error_size, "--kernel %s: this machine cannot run it",
                       obb_kernel_name((obb_kernel)config->kernel));
    } else if (threads_fit(config, workers, error, error_size) && create_base(server, workers) &&
               create_scenes(server, kernels)) {
        publish_limits(&server->metrics, config, workers);
        publish_services(server);
        if (open_data(server, workers, kernels, error, error_size) &&
            open_cluster(server, error, error_size) && create_http(server) &&
            create_player(server, error, error_size) && create_demo(server) &&
            create_admission(server, error, error_size) &&
            srv_listeners_open(config, server->http, &server->listeners, error, error_size)) {
            *out = server;
            return true;
        }
    }
    srv_server_destroy(server);
    return false;
}

struct srv_loop *srv_server_loop(const struct srv_server *server) { return server->loop; }

/* Returns how many bytes of freed blocks are kept for the next request. */
static size_t stock_of(const srv_config *config)
{
    const uint64_t part = config->memory_limit / 8;
    return part < MOST_STOCK ? (size_t)part : MOST_STOCK;
}

/* Returns how many records were answered for that the journal has given up. */
static uint64_t lost_records(const struct srv_server *server)
{
    const struct srv_journal *journal = server->services.journal;
    return journal != NULL ? atomic_load(&srv_journal_figures(journal)->lost) : 0;
}

int srv_server_run(struct srv_server *server, FILE *announce)
{
    srv_listeners_announce(server->listeners, announce);
    if (server->services.config->demo)
        srv_demo_hints(announce, srv_listeners_url(server->listeners),
                       server->services.config->token_file != NULL, srv_page_is_built());
    (void)fflush(announce);
    srv_lag_start(server->lag);
    if (!begin_scenes(server))
        return EXIT_FAILURE;
    if (server->data == NULL)
        srv_player_start(server->player);
    srv_timer_start(server->token_timer, TOKENS_MS, TOKENS_MS);
    server->trash = (struct srv_trash){.loop = server->loop,
                                       .pool = server->pool,
                                       .drain = &server->drain,
                                       .budget = &server->budget,
                                       .stock = stock_of(server->services.config),
                                       .age_ms = AGE_MS};
    srv_trash_start(&server->trash);
    srv_loop_run(server->loop);
    srv_trash_stop(&server->trash);
    if (server->failed) {
        char error[512];
        (void)snprintf(error, sizeof error, "%s",
                       server->data != NULL ? srv_data_error(server->data)
                                            : srv_cluster_error(server->cluster));
        srv_log_one_line(error);
        (void)fprintf(stderr, "obbd: %s\n", error);
        return EXIT_FAILURE;
    }
    const uint64_t lost = lost_records(server);
    if (lost > 0)
        SRV_LOG(&server->log, SRV_ERROR, "journal-lost", srv_integer("records", (int64_t)lost),
                srv_text("why", "the disk was full, or failed, until the end"));
    SRV_LOG(&server->log, SRV_INFO, "stopped", srv_text("by", "signal"));
    return lost > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

void srv_server_destroy(struct srv_server *server)
{
    if (server == NULL)
        return;
    srv_http_destroy(server->http);
    srv_listeners_destroy(server->listeners);
    srv_recorder_fini(&server->recorder);
    srv_events_destroy(server->services.events);
    srv_player_destroy(server->player);
    srv_demo_play_destroy(server->demo);
    srv_writer_fini(&server->writer);
    srv_data_destroy(server->data);
    srv_cluster_destroy(server->cluster);
    obb_store_destroy(server->store);
    srv_admit_destroy(server->admit);
    srv_routes_destroy(server->routes);
    srv_sweeps_fini(&server->sweeps);
    srv_timer_destroy(server->drain_timer);
    srv_timer_destroy(server->token_timer);
    srv_lag_destroy(server->lag);
    srv_starved_fini(&server->starved);
    srv_awaits_fini(&server->awaits);
    srv_pool_destroy(server->pool);
    srv_loop_destroy(server->loop);
    srv_metrics_fini(&server->metrics);
    srv_log_close(server->log.descriptor, STDERR_FILENO);
    obb_free(server);
}
