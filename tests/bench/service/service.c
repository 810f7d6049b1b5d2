/* Measures obbd beside nginx, the smallest possible server, and two services in Node, in turn in
 * one run: processor time per request, latency, and the goals of the service. See README.md.
 *
 * Usage: service FOLDER OBBD FIXED: a folder for its files, and two programs. Environment: QUICK=1
 * is shorter and uses fewer connections; PART=word runs only the parts whose name contains the word
 * (small, queries, ticks, bulk, beside, columns, pairs, questions, copies, rigs, memory,
 * ready, events). */
#include "tests/bench/service/columns.h"
#include "tests/bench/service/copies.h"
#include "tests/bench/service/followers.h"
#include "tests/bench/service/load.h"
#include "tests/bench/service/pairs.h"
#include "tests/bench/service/questions.h"
#include "tests/bench/service/rigs.h"
#include "tests/bench/service/scene.h"
#include "tests/bench/service/servers.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REQUESTS = 64, ROUNDS = 5, CELLS = 128, PATIENCE = 60 };

struct bench {
    const char *folder, *obbd_program, *fixed_program;
    bool quick;
    FILE *csv;
    int failures; /* wrong answers and broken connections */
    size_t checked;
    bench_server nginx, fixed, rapier, three, obbd;
    bench_scene still, tick, big_tick, crowd;
};

/* ---- Goals ----------------------------------------------------------------------------------- */

enum goal {
    GET_NGINX,
    POST_NGINX,
    POST_RAPIER,
    OVERLAP_RAPIER,
    PAIRS_RAPIER,
    TICK_RAPIER,
    TICK_P50,
    TICK_P99,
    UPSERT,
    UNIX_TCP,
    BESIDE_QUERY,
    BESIDE_COMMIT,
    COLUMN_PUT,
    COLUMN_POSES,
    COLUMN_RAYS,
    PAIRS_CORE,
    EXPLAIN,
    WITH,
    COPY,
    COPY_COMMIT,
    FRAMES,
    FRAME_BYTES,
    MEMORY,
    READY,
    EVENTS,
    GOALS
};

static struct {
    const char *what, *unit;
    double must, aim;
    bool at_least; /* else at most */
    double measured;
} goals[GOALS] = {
    [GET_NGINX] = {"GET of a small answer, CPU against nginx's fixed answer", "x", 1.25, 1.1},
    [POST_NGINX] = {"POST of one pair, CPU against nginx's fixed answer", "x", 1.5, 1.2},
    [POST_RAPIER] = {"POST of one pair, CPU against Node + Rapier", "x", 0.5, 0.4},
    [OVERLAP_RAPIER] = {"overlap in 10,000, CPU against Node + Rapier", "x", 0.35, 0.25},
    [PAIRS_RAPIER] = {"all pairs of 10,000, CPU against Node + Rapier", "x", 0.2, 0.05},
    [TICK_RAPIER] = {"tick 1,000 + 64 in JSON, p50 against Node + Rapier", "x", 0.25, 0.15},
    [TICK_P50] = {"tick 1,000 + 64 in CBOR, p50", "ms", 0.2, 0.1},
    [TICK_P99] = {"tick 1,000 + 64 in CBOR, p99", "ms", 1, 0.4},
    [UPSERT] = {"JSON upsert of 100,000, million boxes per second and core", "", 1.5, 3, true},
    [UNIX_TCP] = {"unix socket against TCP, CPU of a GET", "x", 0.8, 0.6},
    [BESIDE_QUERY] = {"one-pair query beside all pairs of 100,000, p99", "ms", 1, 0.3},
    [BESIDE_COMMIT] = {"one-box commit beside all pairs of 100,000, p99", "ms", 1, 0.3},
    [COLUMN_PUT] = {"100,000 boxes put in columns, CBOR, CPU against a JSON map", "x", 0.35, 0.2},
    [COLUMN_POSES] = {"100,000 poses and all pairs in one commit, CPU against both alone", "x", 1.3,
                      1.1},
    [COLUMN_RAYS] = {"10,000 rays at 10,000 times, CPU against one time", "x", 3, 2},
    [PAIRS_CORE] = {"all pairs of 100,000 by id in CBOR, CPU against core", "x", 1.15, 1.1},
    [EXPLAIN] = {"explain of one box, CPU against the query alone, worst of three kinds", "x", 2,
                 1.3},
    [WITH] = {"ray with 100 poses, CPU against a commit of them and the ray", "x", 1, 0.5},
    [COPY] = {"copy of 100,000 boxes, CPU against importing them", "x", 0.5, 0.2},
    [COPY_COMMIT] = {"one-box commit beside copies of its 100,000 boxes, p99", "ms", 5, 5},
    [FRAMES] = {"tick of 100 frames with 15 boxes each, CPU against 1,500 poses", "x", 1.3, 1},
    [FRAME_BYTES] = {"the same, bytes of the body", "x", 0.1, 0.1},
    [MEMORY] = {"memory per box at 1,000,000", "bytes", 400, 250},
    [READY] = {"start to ready", "ms", 50, 10},
    [EVENTS] = {"poses of 1,000 boxes at 60 Hz to 100 followers, share of a core", "", 0.6, 0.4},
};

/* ---- Cells: a server, requests and a number of connections ----------------------------------- */

struct cell {
    const char *what;
    bench_server *server;
    bool local;
    load_request *requests;
    size_t request_count, connections;
    struct sample {
        double cpu, p50, p99, rate;
    } samples[ROUNDS], median;
    int sample_count;
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const struct cell *cell, size_t offset)
{
    double values[ROUNDS];
    for (int i = 0; i < cell->sample_count; i++)
        memcpy(&values[i], (const char *)&cell->samples[i] + offset, sizeof values[i]);
    qsort(values, (size_t)cell->sample_count, sizeof values[0], by_size);
    return values[cell->sample_count / 2];
}

static const load_address *address_of(const struct cell *cell)
{
    return cell->local ? &cell->server->local : &cell->server->tcp;
}

static void measure(struct bench *bench, struct cell *cell, double seconds)
{
    static load_group group; /* its histogram is large */
    group = (load_group){.address = *address_of(cell),
                         .requests = cell->requests,
                         .request_count = cell->request_count,
                         .connections = cell->connections};
    const double cpu = server_cpu(cell->server);
    const double took = load_run(&group, 1, seconds, PATIENCE);
    if (took < 0 || group.answers == 0 || group.wrong > 0) {
        (void)fprintf(stderr, "%s, %s: %llu of %llu answers were wrong%s\n", cell->server->name,
                      cell->what, (unsigned long long)group.wrong,
                      (unsigned long long)group.answers, took < 0 ? ", then it broke off" : "");
        bench->failures++;
        return;
    }
    const double answers = (double)group.answers;
    bench->checked += (size_t)group.answers;
    cell->samples[cell->sample_count++] =
        (struct sample){.cpu = (server_cpu(cell->server) - cpu) / answers,
                        .p50 = load_quantile(&group, 0.5),
                        .p99 = load_quantile(&group, 0.99),
                        .rate = answers / took};
}

/* All cells in turn, some rounds of it, and the medians. */
static void run(struct bench *bench, struct cell *cells, size_t count, double seconds)
{
    const int rounds = bench->quick ? 1 : ROUNDS;
    for (size_t i = 0; i < count; i++) { /* engines that compile while they run, do it now */
        measure(bench, &cells[i], 0.1);
        cells[i].sample_count = 0;
    }
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            measure(bench, &cells[i], bench->quick ? seconds / 2 : seconds);
    for (size_t i = 0; i < count; i++) {
        struct cell *c = &cells[i];
        if (c->sample_count == 0)
            continue;
        c->median = (struct sample){.cpu = median_of(c, offsetof(struct sample, cpu)),
                                    .p50 = median_of(c, offsetof(struct sample, p50)),
                                    .p99 = median_of(c, offsetof(struct sample, p99)),
                                    .rate = median_of(c, offsetof(struct sample, rate))};
        FILE *const outs[] = {stdout, bench->csv};
        for (int o = 0; o < 2; o++)
            (void)fprintf(outs[o], "%s,%s,%s,%zu,%.2f,%.4f,%.4f,%.0f\n", c->what, c->server->name,
                          c->local ? "unix" : "tcp", c->connections, c->median.cpu * 1e6,
                          c->median.p50 * 1e3, c->median.p99 * 1e3, c->median.rate);
    }
    (void)fflush(stdout);
}

/* The first cell's figure against the second's; NaN where either is missing. */
static double ratio(double a, double b) { return a > 0 && b > 0 ? a / b : (double)NAN; }

/* ---- Requests that were answered right once, and must be so again ---------------------------- */

typedef load_request maker(const bench_scene *scene, size_t n);
typedef bool checker(const bench_scene *scene, size_t n, const char *body, size_t length);

static load_request *prepare(struct bench *bench, const bench_server *server,
                             const bench_scene *scene, maker *make, checker *right, size_t count,
                             const char *from)
{
    load_request *requests = calloc(count, sizeof *requests);
    if (requests == NULL)
        exit(1);
    for (size_t n = 0; n < count; n++) {
        load_request *r = &requests[n];
        *r = make(scene, n);
        r->expected = load_exchange(&server->tcp, r, &r->expected_length);
        r->from = from;
        bench->checked++;
        if (r->expected == NULL || !right(scene, n, r->expected, r->expected_length)) {
            bench->failures++;
            (void)fprintf(stderr, "%s answered wrong:\n%.*s\n%.1000s\n", server->name,
                          (int)(r->length < 300 ? r->length : 300), r->bytes,
                          r->expected != NULL ? r->expected : "");
        }
    }
    return requests;
}

static void give_back(load_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        load_request_free(&requests[i]);
    free(requests);
}

/* The same requests for a server that knows one answer. */
static load_request *same_answer(maker *make, const bench_scene *scene, const char *body)
{
    load_request *requests = calloc(REQUESTS, sizeof *requests);
    for (size_t n = 0; n < REQUESTS && requests != NULL; n++) {
        requests[n] = make(scene, n);
        requests[n].expected = strdup(body);
        requests[n].expected_length = strlen(body);
    }
    if (requests == NULL)
        exit(1);
    return requests;
}

static bool put(const bench_server *server, const bench_scene *scene, size_t size)
{
    size_t count;
    load_request *requests = scene_puts(scene, size, &count);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        size_t length;
        char *body = load_exchange(&server->tcp, &requests[i], &length);
        good = body != NULL;
        free(body);
    }
    give_back(requests, count);
    return good;
}

static void pause_for(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    (void)nanosleep(&time, NULL);
}

/* ---- Small requests -------------------------------------------------------------------------- */

static const size_t connection_counts[] = {16, 1, 64, 128, 256};

static void small_requests(struct bench *bench, const char *body)
{
    bench_server *const servers[] = {&bench->nginx, &bench->fixed, &bench->obbd, &bench->rapier,
                                     &bench->three};
    load_request *gets[5], *posts[5];
    for (size_t s = 0; s < 5; s++) {
        const bool fixed = s < 2;
        gets[s] = fixed ? same_answer(scene_get, &bench->still, body)
                        : prepare(bench, servers[s], &bench->still, scene_get, scene_get_right,
                                  REQUESTS, NULL);
        posts[s] = fixed ? same_answer(scene_pair, &bench->still, body)
                         : prepare(bench, servers[s], &bench->still, scene_pair, scene_pair_right,
                                   REQUESTS, NULL);
    }
    struct cell cells[CELLS], *get[5][2], *post[5][2];
    size_t count = 0;
    for (size_t k = 0; k < (bench->quick ? 1 : 5); k++)
        for (int local = 0; local < 2; local++)
            for (size_t s = 0; s < 5; s++) {
                const struct cell base = {.server = servers[s],
                                          .local = local != 0,
                                          .request_count = REQUESTS,
                                          .connections = connection_counts[k]};
                struct cell *const g = &cells[count++], *const p = &cells[count++];
                *g = *p = base;
                g->what = "get";
                g->requests = gets[s];
                p->what = "pair";
                p->requests = posts[s];
                if (k == 0) {
                    get[s][local] = g;
                    post[s][local] = p;
                }
            }
    run(bench, cells, count, 0.5);
    goals[GET_NGINX].measured = ratio(get[2][0]->median.cpu, get[0][0]->median.cpu);
    goals[POST_NGINX].measured = ratio(post[2][0]->median.cpu, post[0][0]->median.cpu);
    goals[POST_RAPIER].measured = ratio(post[2][0]->median.cpu, post[3][0]->median.cpu);
    goals[UNIX_TCP].measured = ratio(get[2][1]->median.cpu, get[2][0]->median.cpu);
    for (size_t s = 0; s < 5; s++) {
        give_back(gets[s], REQUESTS);
        give_back(posts[s], REQUESTS);
    }
}

/* ---- Queries of 10,000 boxes ----------------------------------------------------------------- */

static load_request make_all_pairs(const bench_scene *scene, size_t n)
{
    (void)n;
    return scene_all_pairs(scene);
}

static bool all_pairs_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    (void)n;
    return scene_all_pairs_right(scene, body, length);
}

static void queries(struct bench *bench)
{
    bench_server *const servers[] = {&bench->obbd, &bench->rapier, &bench->three};
    struct cell overlaps[3], pairs[2];
    for (size_t s = 0; s < 3; s++)
        overlaps[s] =
            (struct cell){.what = "overlap in 10000",
                          .server = servers[s],
                          .requests = prepare(bench, servers[s], &bench->still, scene_overlap,
                                              scene_overlap_right, REQUESTS, NULL),
                          .request_count = REQUESTS,
                          .connections = 16};
    for (size_t s = 0; s < 2; s++)
        pairs[s] = (struct cell){.what = "all pairs of 10000",
                                 .server = servers[s],
                                 .requests = prepare(bench, servers[s], &bench->still,
                                                     make_all_pairs, all_pairs_right, 1, NULL),
                                 .request_count = 1,
                                 .connections = 1};
    run(bench, overlaps, 3, 0.5);
    run(bench, pairs, 2, 1);
    goals[OVERLAP_RAPIER].measured = ratio(overlaps[0].median.cpu, overlaps[1].median.cpu);
    goals[PAIRS_RAPIER].measured = ratio(pairs[0].median.cpu, pairs[1].median.cpu);
    for (size_t s = 0; s < 3; s++)
        give_back(overlaps[s].requests, REQUESTS);
    for (size_t s = 0; s < 2; s++)
        give_back(pairs[s].requests, 1);
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

static load_request tick_json(const bench_scene *scene, size_t n)
{
    return scene_tick(scene, n, false);
}
static load_request tick_cbor(const bench_scene *scene, size_t n)
{
    return scene_tick(scene, n, true);
}
static bool json_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    return scene_tick_right(scene, n, false, body, length);
}
static bool cbor_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    return scene_tick_right(scene, n, true, body, length);
}

static struct cell tick_cell(struct bench *bench, bench_server *server, const bench_scene *scene,
                             const char *what, bool cbor)
{
    return (struct cell){.what = what,
                         .server = server,
                         .requests =
                             prepare(bench, server, scene, cbor ? tick_cbor : tick_json,
                                     cbor ? cbor_right : json_right, SCENE_TICKS, "results"),
                         .request_count = SCENE_TICKS,
                         .connections = 1};
}

static void any_answer(struct cell *cell)
{
    for (size_t i = 0; i < cell->request_count; i++) {
        free(cell->requests[i].expected);
        cell->requests[i].expected = NULL;
    }
}

static void ticks(struct bench *bench)
{
    struct cell cells[] = {
        tick_cell(bench, &bench->obbd, &bench->tick, "tick 1000 JSON", false),
        tick_cell(bench, &bench->rapier, &bench->tick, "tick 1000 JSON", false),
        tick_cell(bench, &bench->obbd, &bench->tick, "tick 1000 CBOR", true),
        tick_cell(bench, &bench->obbd, &bench->tick, "tick 1000 CBOR", true),
        tick_cell(bench, &bench->obbd, &bench->big_tick, "tick 10000 JSON", false),
        tick_cell(bench, &bench->rapier, &bench->big_tick, "tick 10000 JSON", false),
        tick_cell(bench, &bench->obbd, &bench->big_tick, "tick 10000 CBOR", true),
    };
    const size_t count = sizeof cells / sizeof cells[0];
    cells[3].local = true;
    /* of hits at equal distance, Rapier names one or the other, as its tree has grown */
    any_answer(&cells[1]);
    any_answer(&cells[5]);
    run(bench, cells, count, 1);
    goals[TICK_RAPIER].measured = ratio(cells[0].median.p50, cells[1].median.p50);
    goals[TICK_P50].measured = cells[2].median.p50 * 1e3;
    goals[TICK_P99].measured = cells[2].median.p99 * 1e3;
    for (size_t i = 0; i < count; i++)
        give_back(cells[i].requests, SCENE_TICKS);
}

/* ---- Bulk, memory, and light beside heavy ---------------------------------------------------- */

/* Puts the scene as one commit. Returns millions of boxes per second of processor time, including
 * the work of the service after its answer. */
static double bulk_put(struct bench *bench, const bench_scene *scene)
{
    size_t count, length = 0;
    load_request *request = scene_puts(scene, scene->count, &count);
    const double cpu = server_cpu(&bench->obbd), begun = load_clock();
    char *body = load_exchange(&bench->obbd.tcp, request, &length);
    const double took = load_clock() - begun;
    pause_for(0.3);
    const double used = server_cpu(&bench->obbd) - cpu;
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "\"put\":%zu,", scene->count);
    bench->failures += body == NULL || strstr(body, wanted) == NULL;
    bench->checked++;
    (void)printf("bulk of %zu boxes,obbd,tcp,1,%.2f,%.4f,,%.0f\n", scene->count, used * 1e6,
                 took * 1e3, (double)scene->count / took);
    free(body);
    give_back(request, count);
    return (double)scene->count / used / 1e6;
}

/* The crowd, and as many again under other names: the median. */
static void bulk(struct bench *bench)
{
    double rates[ROUNDS] = {bulk_put(bench, &bench->crowd)};
    for (int i = 1; i < ROUNDS; i++) {
        char name[32];
        bench_scene other = bench->crowd;
        (void)snprintf(name, sizeof name, "crowd-%d", i);
        other.name = name;
        rates[i] = bulk_put(bench, &other);
    }
    qsort(rates, ROUNDS, sizeof rates[0], by_size);
    goals[UPSERT].measured = rates[ROUNDS / 2];
}

static load_request far_box(const bench_scene *scene, double step)
{
    char path[64], body[256];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/commit", scene->name);
    const int length = snprintf(
        body, sizeof body, "{\"put\":{\"far\":{\"center\":[%g,0,0],\"half_extents\":[1,1,1]}}}",
        scene->half * 2 + step);
    return load_request_make("POST", path, "application/json", NULL, body, (size_t)length);
}

/* A thread of its own reads the long answers, because a thread that reads two megabytes at a time
 * is late for the short answers. */
struct heavy {
    load_group *group;
    double seconds, took;
};

static void *run_heavy(void *context)
{
    struct heavy *heavy = context;
    heavy->took = load_run(heavy->group, 1, heavy->seconds, PATIENCE);
    return NULL;
}

static void beside(struct bench *bench)
{
    load_request commits[] = {far_box(&bench->crowd, 0), far_box(&bench->crowd, 1)};
    size_t length = 0;
    char *body = load_exchange(&bench->obbd.tcp, &commits[0], &length);
    bench->failures += body == NULL;
    free(body);
    load_request *heavy = prepare(bench, &bench->obbd, &bench->crowd, make_all_pairs,
                                  all_pairs_right, 1, "\"count\"");
    load_request *light = prepare(bench, &bench->obbd, &bench->crowd, scene_pair, scene_pair_right,
                                  REQUESTS, "results");
    load_group *groups = calloc(3, sizeof *groups);
    if (groups == NULL)
        exit(1);
    const load_group base = {.address = bench->obbd.tcp, .connections = 1, .gap_us = 1000};
    for (int alone = 1; alone >= 0; alone--) {
        groups[0] = groups[1] = groups[2] = base;
        groups[0].requests = light;
        groups[0].request_count = REQUESTS;
        groups[1].requests = commits;
        groups[1].request_count = 2;
        groups[2].requests = heavy;
        groups[2].request_count = 1;
        groups[2].gap_us = 0;
        struct heavy beside = {.group = &groups[2], .seconds = bench->quick ? 2 : 8};
        pthread_t thread;
        if (!alone && pthread_create(&thread, NULL, run_heavy, &beside) != 0)
            exit(1);
        const double took = load_run(groups, 2, beside.seconds, PATIENCE);
        if (!alone)
            (void)pthread_join(thread, NULL);
        bench->failures += took < 0 || beside.took < 0;
        for (int i = 0; i < 3 - alone; i++) {
            const load_group *g = &groups[i];
            bench->failures += g->wrong > 0 || g->answers == 0;
            bench->checked += (size_t)g->answers;
            (void)printf("%s %s all pairs of 100000,obbd,tcp,1,,%.4f,%.4f,%.0f\n",
                         i == 0   ? "pair"
                         : i == 1 ? "commit"
                                  : "all pairs",
                         alone ? "without" : "beside", load_quantile(g, 0.5) * 1e3,
                         load_quantile(g, 0.99) * 1e3, (double)g->answers / took);
        }
    }
    goals[BESIDE_QUERY].measured = load_quantile(&groups[0], 0.99) * 1e3;
    goals[BESIDE_COMMIT].measured = load_quantile(&groups[1], 0.99) * 1e3;
    free(groups);
    give_back(heavy, 1);
    give_back(light, REQUESTS);
    load_request_free(&commits[0]);
    load_request_free(&commits[1]);
}

/* A million boxes in a daemon of their own, ten commits of them. */
static void memory(struct bench *bench)
{
    enum { MILLION = 1000000 };
    bench_server server;
    if (!server_obbd(&server, bench->folder, bench->obbd_program)) {
        bench->failures++;
        return;
    }
    const double before = server_memory(&server);
    bench_scene scene;
    scene_make(&scene, "million", MILLION);
    bench->failures += !put(&server, &scene, MILLION / 10);
    pause_for(1);
    const double loaded = server_memory(&server) - before;
    load_request later =
        far_box(&scene, 0); /* a second after: the states in between are history no more */
    size_t length = 0;
    char *body = load_exchange(&server.tcp, &later, &length);
    bench->failures += body == NULL;
    pause_for(7); /* after six seconds no freed block is kept for the next request */
    goals[MEMORY].measured = (server_memory(&server) - before) / MILLION;
    (void)printf("memory per box with the load in the history: %.0f bytes, later: %.0f\n",
                 loaded / MILLION, goals[MEMORY].measured);
    free(body);
    load_request_free(&later);
    server_stop(&server);
    scene_free(&scene);
}

/* Starts a daemon of its own for a part; the caller stops it. false: it did not start. */
static bool start_meter(struct bench *bench, bench_server *server, bench_meter *out)
{
    const bool good = server_obbd(server, bench->folder, bench->obbd_program);
    *out = (bench_meter){.obbd = server};
    bench->failures += !good;
    return good;
}

static void stop_meter(struct bench *bench, bench_server *server, const bench_meter *meter)
{
    server_stop(server);
    bench->checked += meter->checked;
    bench->failures += meter->failures;
}

static int rounds_of(const struct bench *bench) { return bench->quick ? 3 : METER_ROUNDS; }

static void columns(struct bench *bench)
{
    bench_server server;
    bench_meter meter;
    if (!start_meter(bench, &server, &meter))
        return;
    const struct columns_figures figures = columns_measure(&meter, rounds_of(bench));
    stop_meter(bench, &server, &meter);
    goals[COLUMN_PUT].measured = figures.put;
    goals[COLUMN_POSES].measured = figures.poses;
    goals[COLUMN_RAYS].measured = figures.rays;
}

static void pairs(struct bench *bench)
{
    bench_server server;
    bench_meter meter;
    if (!start_meter(bench, &server, &meter))
        return;
    goals[PAIRS_CORE].measured = pairs_measure(&meter, rounds_of(bench));
    stop_meter(bench, &server, &meter);
}

static void questions(struct bench *bench)
{
    bench_server server;
    bench_meter meter;
    if (!start_meter(bench, &server, &meter))
        return;
    const struct questions_figures figures = questions_measure(&meter, rounds_of(bench));
    stop_meter(bench, &server, &meter);
    goals[EXPLAIN].measured = figures.explain;
    goals[WITH].measured = figures.with;
}

static void copies(struct bench *bench)
{
    bench_server server;
    bench_meter meter;
    if (!start_meter(bench, &server, &meter))
        return;
    const struct copies_figures figures = copies_measure(&meter, rounds_of(bench));
    stop_meter(bench, &server, &meter);
    goals[COPY].measured = figures.copy;
    goals[COPY_COMMIT].measured = figures.commit;
}

static void rigs(struct bench *bench)
{
    bench_server server;
    bench_meter meter;
    if (!start_meter(bench, &server, &meter))
        return;
    const struct rigs_figures figures = rigs_measure(&meter, rounds_of(bench));
    stop_meter(bench, &server, &meter);
    goals[FRAMES].measured = figures.cpu;
    goals[FRAME_BYTES].measured = figures.bytes;
}

static void ready(struct bench *bench)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        bench_server server;
        if (!server_obbd(&server, bench->folder, bench->obbd_program)) {
            bench->failures++;
            return;
        }
        times[i] = server.ready;
        server_stop(&server);
    }
    qsort(times, ROUNDS, sizeof times[0], by_size);
    goals[READY].measured = times[ROUNDS / 2] * 1e3;
}

/* ---- Events ---------------------------------------------------------------------------------- */

enum { TICKS_A_SECOND = 60 };

/* Commits a tick of CBOR 60 times a second while so many follow the scene with poses. Returns the
 * share of a core that the daemon takes; negative: it broke off. */
static double follow_ticks(struct bench *bench, bench_server *server, const bench_scene *scene,
                           load_request *ticks, size_t count, double seconds)
{
    followers *all =
        followers_open(&server->tcp, "/v1/scenes/events/events?topics=boxes&include=pose", count);
    if (all == NULL)
        return -1;
    pause_for(0.3); /* all have joined */
    const size_t commits = (size_t)(seconds * TICKS_A_SECOND);
    const double cpu = server_cpu(server), begun = load_clock();
    bool good = true;
    for (size_t i = 0; i < commits && good; i++) {
        size_t length = 0;
        char *body = load_exchange(&server->tcp, &ticks[i % SCENE_TICKS], &length);
        good = body != NULL;
        free(body);
        const double ahead = begun + (double)(i + 1) / TICKS_A_SECOND - load_clock();
        if (ahead > 0)
            pause_for(ahead);
    }
    const double took = load_clock() - begun;
    pause_for(0.3); /* all have read */
    /* of a core at the full pace, also where this machine was too busy to keep it */
    const double share = (server_cpu(server) - cpu) / (double)commits * TICKS_A_SECOND;
    const followers_tally tally = followers_close(all);
    good = good && tally.fewest == commits && tally.most == commits && tally.gone == 0;
    if (!good)
        (void)fprintf(stderr, "events: of %zu messages %zu to %zu came, %zu streams ended\n",
                      commits, tally.fewest, tally.most, tally.gone);
    bench->checked += tally.messages;
    bench->failures += !good;
    (void)printf(
        "poses of %zu boxes to %zu followers,obbd,tcp,%zu,%.2f,,,%.1f a second, %.0f bytes a "
        "message, %.3f of a core\n",
        scene->count, count, count, share / TICKS_A_SECOND * 1e6, (double)commits / took,
        tally.bytes / (double)(tally.messages + 1), share);
    return share;
}

/* To one and to a hundred: each message is written once for all. */
static void events(struct bench *bench)
{
    bench_server server;
    bench_scene scene;
    if (!server_obbd(&server, bench->folder, bench->obbd_program)) {
        bench->failures++;
        return;
    }
    scene_make(&scene, "events", 1000);
    bench->failures += !put(&server, &scene, scene.count);
    load_request ticks[SCENE_TICKS];
    for (size_t n = 0; n < SCENE_TICKS; n++)
        ticks[n] = scene_tick(&scene, n, true);
    const double seconds = bench->quick ? 3 : 10;
    (void)follow_ticks(bench, &server, &scene, ticks, 1, seconds);
    goals[EVENTS].measured = follow_ticks(bench, &server, &scene, ticks, 100, seconds);
    for (size_t n = 0; n < SCENE_TICKS; n++)
        load_request_free(&ticks[n]);
    server_stop(&server);
    scene_free(&scene);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void print_goals(FILE *out)
{
    (void)fprintf(out, "\n| what | must | aim | measured | |\n|---|---|---|---|---|\n");
    for (int i = 0; i < GOALS; i++) {
        const double x = goals[i].measured;
        const bool least = goals[i].at_least;
        const char *verdict = !(x > 0)             ? "not measured"
                              : least              ? x >= goals[i].aim    ? "aim"
                                                     : x >= goals[i].must ? "must"
                                                                          : "missed"
                              : x <= goals[i].aim  ? "aim"
                              : x <= goals[i].must ? "must"
                                                   : "missed";
        (void)fprintf(out, "| %s | %.3g %s | %.3g %s | %.3g %s | %s |\n", goals[i].what,
                      goals[i].must, goals[i].unit, goals[i].aim, goals[i].unit, x, goals[i].unit,
                      verdict);
    }
}

/* What nginx and the least of servers give to everything: what obbd says of a box. */
static char *fixed_body(const struct bench *bench)
{
    load_request request = scene_get(&bench->still, 0);
    size_t length;
    char *body = load_exchange(&bench->obbd.tcp, &request, &length);
    load_request_free(&request);
    return body;
}

static bool picked(const char *part)
{
    const char *word = getenv("PART");
    return word == NULL || strstr(part, word) != NULL;
}

/* Returns whether a part is picked that compares servers. */
static bool picked_peers(void)
{
    return picked("small") || picked("queries") || picked("ticks") || picked("bulk") ||
           picked("beside");
}

static bool start(struct bench *bench, char **out_body)
{
    scene_make(&bench->still, "still", 10000);
    scene_make(&bench->tick, "tick", 1000);
    scene_make(&bench->big_tick, "tick-10000", 10000);
    scene_make(&bench->crowd, "crowd", 100000);
    const bench_scene *const scenes[] = {&bench->still, &bench->tick, &bench->big_tick};
    bench_server *const servers[] = {&bench->obbd, &bench->rapier, &bench->three};
    bool good = server_obbd(&bench->obbd, bench->folder, bench->obbd_program) &&
                server_node(&bench->rapier, bench->folder, "rapier") &&
                server_node(&bench->three, bench->folder, "three");
    for (size_t s = 0; s < 3 && good; s++)
        for (size_t i = 0; i < 3 && good; i++)
            good = put(servers[s], scenes[i], scenes[i]->count);
    *out_body = good ? fixed_body(bench) : NULL;
    return *out_body != NULL && server_nginx(&bench->nginx, bench->folder, *out_body) &&
           server_fixed(&bench->fixed, bench->folder, bench->fixed_program, *out_body);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *quick = getenv("QUICK");
    static struct bench bench;
    bench = (struct bench){.folder = argv[1],
                           .obbd_program = argv[2],
                           .fixed_program = argv[3],
                           .quick = quick != NULL && strcmp(quick, "1") == 0};
    char path[256], *body = NULL;
    (void)snprintf(path, sizeof path, "%s/results.csv", bench.folder);
    bench.csv = fopen(path, "w");
    if (bench.csv == NULL)
        return 1;
    (void)printf("what,server,transport,connections,cpu_us,p50_ms,p99_ms,per_second\n");
    if (picked("ready"))
        ready(&bench);
    if (picked("columns"))
        columns(&bench);
    if (picked("pairs"))
        pairs(&bench);
    if (picked("questions"))
        questions(&bench);
    if (picked("copies"))
        copies(&bench);
    if (picked("rigs"))
        rigs(&bench);
    if (picked("events"))
        events(&bench);
    if (picked_peers() && start(&bench, &body)) {
        if (picked("small"))
            small_requests(&bench, body);
        if (picked("queries"))
            queries(&bench);
        if (picked("ticks"))
            ticks(&bench);
        if (picked("bulk") || picked("beside"))
            bulk(&bench);
        if (picked("beside"))
            beside(&bench);
    } else if (picked_peers()) {
        bench.failures++;
    }
    bench_server *const servers[] = {&bench.nginx, &bench.fixed, &bench.rapier, &bench.three,
                                     &bench.obbd};
    for (size_t s = 0; s < 5; s++)
        server_stop(servers[s]);
    if (picked("memory"))
        memory(&bench);
    print_goals(stdout);
    print_goals(bench.csv);
    (void)printf("\n%zu answers checked, %d failures; figures in %s\n", bench.checked,
                 bench.failures, path);
    (void)fclose(bench.csv);
    free(body);
    scene_free(&bench.still);
    scene_free(&bench.tick);
    scene_free(&bench.big_tick);
    scene_free(&bench.crowd);
    return bench.failures > 0 || bench.checked == 0;
}
