/* What durable scenes cost: the daemon with --data beside the daemon without, in one run. Prints a
 * line a figure, and then the goals.
 *
 * Usage: journal FOLDER OBBD: a folder for files, which must lie on a disk, and the program.
 * Environment: QUICK=1 takes less time, and leaves the million boxes out. */
#include "tests/bench/goals.h"
#include "tests/bench/service/meter.h"
#include "tests/bench/service/scene.h"
#include "tests/bench/small.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    WRITERS = SMALL_BOXES,
    ROUNDS = 5,
    SCENES = 4,
    TICK_BOXES = 1000,
    PATIENCE = 120,
    MILLION = 1000000
};

static const char *folder, *program;
static char data_folder[512];
static bool quick;
static int failures;
static size_t checked;

enum goal { RATE, ADDED, TICK_P99, LAG, SNAPSHOT_P99, FILES, START_SMALL, START_LARGE, GOALS };
static bench_goal goals[GOALS] = {
    [RATE] = {"commits of one box, 64 connections, against no journal", "x", 0.5, 0.8, true, NAN},
    [ADDED] = {"one commit, added p50", "ms", 0.5, 0.2, false, NAN},
    [TICK_P99] = {"4 x 60 Hz x 1,000 poses beside 64 writers, p99", "ms", 16, 7, false, NAN},
    [LAG] = {"the same, loop lag", "ms", 5, 2, false, NAN},
    [SNAPSHOT_P99] = {"the same beside a snapshot of 1,000,000 boxes, p99", "x", 2, 1.2, false,
                      NAN},
    [FILES] = {"files after ticks, against 3 x (2 x) live + 64 (16) MB", "x", 1, 1, false, NAN},
    [START_SMALL] = {"start with 10,000 boxes and 10,000 commits", "s", 0.5, 0.15, false, NAN},
    [START_LARGE] = {"start with 1,000,000 boxes", "s", 6, 3.5, false, NAN},
};

/* ---- Daemons --------------------------------------------------------------------------------- */

static void remove_data(void)
{
    DIR *files = opendir(data_folder);
    for (const struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", data_folder, file->d_name);
        if (file->d_name[0] != '.')
            (void)unlink(path);
    }
    if (files != NULL)
        (void)closedir(files);
    (void)rmdir(data_folder);
}

static double data_bytes(void)
{
    double bytes = 0;
    DIR *files = opendir(data_folder);
    for (const struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
        char path[1024];
        struct stat found;
        (void)snprintf(path, sizeof path, "%s/%s", data_folder, file->d_name);
        if (file->d_name[0] != '.' && stat(path, &found) == 0)
            bytes += (double)found.st_size;
    }
    if (files != NULL)
        (void)closedir(files);
    return bytes;
}

static bench_server start_daemon(bool durable)
{
    bench_server server;
    if (!server_obbd_data(&server, folder, program, durable ? data_folder : NULL))
        exit(EXIT_FAILURE);
    return server;
}

static void send_all(const bench_server *server, load_request *requests, size_t count)
{
    bench_meter meter = {.obbd = server};
    for (size_t i = 0; i < count; i++) {
        (void)meter_drop(&meter, &requests[i]);
        load_request_free(&requests[i]);
    }
    checked += meter.checked;
    failures += meter.failures;
    free(requests);
}

static void fill(const bench_server *server, const bench_scene *scene)
{
    size_t count;
    load_request *puts = scene_puts(scene, 50000, &count);
    send_all(server, puts, count);
}

/* The number that stands behind a word of an answer; NaN: there is none. */
static double read_number(const bench_server *server, const char *path, const char *word)
{
    load_request request = load_request_make("GET", path, NULL, NULL, NULL, 0);
    size_t length;
    char *text = load_exchange(&server->tcp, &request, &length);
    const char *found = text != NULL ? strstr(text, word) : NULL;
    const double number = found != NULL ? strtod(found + strlen(word), NULL) : (double)NAN;
    free(text);
    load_request_free(&request);
    return number;
}

/* The largest loop lag of the last seconds, in milliseconds. */
static double loop_lag(const bench_server *server)
{
    return read_number(server, "/metrics", "\nobbd_loop_lag_seconds ") * 1e3;
}

/* ---- Commits of one box ---------------------------------------------------------------------- */

struct small_figures {
    double rate, p50; /* commits a second; milliseconds */
};

static struct small_figures measure_small(bool durable, const bench_scene *scene,
                                          size_t connections)
{
    static load_group group;
    load_request requests[SMALL_COMMITS];
    bench_server server = start_daemon(durable);
    fill(&server, scene);
    group = small_commits(&server.tcp, scene->name, requests, connections, 0);
    const double took = load_run(&group, 1, quick ? 1 : 3, PATIENCE);
    failures += took < 0 || group.wrong > 0;
    checked += group.answers;
    const struct small_figures figures = {(double)group.answers / took,
                                          load_quantile(&group, 0.5) * 1e3};
    small_free(requests);
    server_stop(&server);
    remove_data();
    return figures;
}

static void measure_commits(void)
{
    const int rounds = quick ? 1 : ROUNDS;
    const size_t connections[] = {WRITERS, 1};
    bench_scene scene;
    scene_make(&scene, "small", 10000);
    for (int c = 0; c < 2; c++) {
        double rates[2][ROUNDS], p50[2][ROUNDS];
        for (int i = 0; i < rounds; i++)
            for (int durable = 0; durable < 2; durable++) {
                const struct small_figures f = measure_small(durable == 1, &scene, connections[c]);
                rates[durable][i] = f.rate;
                p50[durable][i] = f.p50;
            }
        const double with = meter_median(rates[1], rounds),
                     without = meter_median(rates[0], rounds);
        const double slow = meter_median(p50[1], rounds), fast = meter_median(p50[0], rounds);
        (void)printf("%zu connections: %.0f commits/s with --data, %.0f without, ratio %.2f; p50 "
                     "%.3f and %.3f ms\n",
                     connections[c], with, without, with / without, slow, fast);
        if (c == 0)
            goals[RATE].measured = with / without;
        else
            goals[ADDED].measured = slow - fast;
    }
    scene_free(&scene);
}

/* ---- The disk -------------------------------------------------------------------------------- */

/* What the disk itself does in the same minute: groups of ticks written to a file and synced,
 * without a daemon. A tick waits for one or two such syncs, so its p99 is not below the disk's. */
static void measure_disk(void)
{
    enum { GROUP = 64 * 1024, ROOM = 256 }; /* bytes; groups until the file begins anew */
    static char group[GROUP];
    static double took[10000]; /* ms */
    char path[1024];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/disk", folder);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    failures += file < 0;
    const double end = load_clock() + (quick ? 2 : 10);
    while (file >= 0 && count < sizeof took / sizeof *took && load_clock() < end) {
        const double begun = load_clock();
        failures += pwrite(file, group, GROUP, (off_t)(count % ROOM) * GROUP) != GROUP;
        failures += fdatasync(file) != 0;
        took[count++] = (load_clock() - begun) * 1e3;
        const struct timespec pause = {.tv_nsec = 2000000};
        (void)nanosleep(&pause, NULL);
    }
    if (file >= 0)
        (void)close(file);
    (void)unlink(path);
    if (count == 0)
        return;
    const double p50 = meter_median(took, (int)count); /* which sorts them */
    (void)printf("the disk alone, 64 KiB written and synced %zu times: p50 %.2f ms, p99 %.2f ms, "
                 "worst %.2f ms\n",
                 count, p50, took[count * 99 / 100], took[count - 1]);
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

/* Runs the ticks and the small writers for so many seconds. Returns the p99 of the ticks in
 * milliseconds. */
static double run_ticks(const bench_server *server, bench_scene *scenes, const bench_scene *small,
                        double seconds, size_t *out_ticks)
{
    static load_group groups[SCENES + 1];
    load_request ticks[SCENES][SCENE_TICKS], requests[SMALL_COMMITS];
    for (size_t s = 0; s < SCENES; s++) {
        for (size_t n = 0; n < SCENE_TICKS; n++)
            ticks[s][n] = scene_tick(&scenes[s], n, true);
        groups[s] = (load_group){.address = server->tcp,
                                 .requests = ticks[s],
                                 .request_count = SCENE_TICKS,
                                 .connections = 1,
                                 .gap_us = 15000};
    }
    groups[SCENES] = small_commits(&server->tcp, small->name, requests, WRITERS, 10000);
    const double took = load_run(groups, SCENES + 1, seconds, PATIENCE);
    failures += took < 0;
    double worst = 0;
    *out_ticks = 0;
    for (size_t s = 0; s <= SCENES; s++) {
        failures += groups[s].answers == 0;
        checked += groups[s].answers;
        if (s == SCENES)
            break;
        const double p99 = load_quantile(&groups[s], 0.99) * 1e3;
        worst = p99 > worst ? p99 : worst;
        *out_ticks += groups[s].answers;
        for (size_t n = 0; n < SCENE_TICKS; n++)
            load_request_free(&ticks[s][n]);
    }
    small_free(requests);
    return worst;
}

/* Starts a daemon that holds the boxes of the ticks, and has run them for a second. */
static bench_server start_ticks(bool durable, bench_scene *scenes, const bench_scene *small)
{
    const bench_server server = start_daemon(durable);
    size_t ticks;
    for (size_t s = 0; s < SCENES; s++)
        fill(&server, &scenes[s]);
    fill(&server, small);
    (void)run_ticks(&server, scenes, small, 1, &ticks);
    return server;
}

static void measure_ticks(void)
{
    static const char *const names[SCENES] = {"tick-1", "tick-2", "tick-3", "tick-4"};
    const double seconds = quick ? 3 : 20;
    bench_scene scenes[SCENES], small;
    size_t ticks, more;
    for (size_t s = 0; s < SCENES; s++)
        scene_make(&scenes[s], names[s], TICK_BOXES);
    scene_make(&small, "small", 10000);
    bench_server server = start_ticks(false, scenes, &small);
    const double plain = run_ticks(&server, scenes, &small, seconds, &ticks);
    (void)printf("4 scenes x 60 Hz x 1,000 poses beside 64 writers, without --data: %zu ticks, "
                 "p99 %.2f ms, loop lag %.2f ms\n",
                 ticks, plain, loop_lag(&server));
    server_stop(&server);
    server = start_ticks(true, scenes, &small);
    const double p99 = run_ticks(&server, scenes, &small, seconds, &ticks);
    goals[TICK_P99].measured = p99;
    goals[LAG].measured = loop_lag(&server);
    (void)printf("the same with --data: %zu ticks, p99 %.2f ms, loop lag %.2f ms\n", ticks, p99,
                 goals[LAG].measured);
    measure_disk();
    /* 64 commits of history, and 14,000 boxes */
    const double live = 250.0 * (SCENES * TICK_BOXES + 10000) + 60.0 * 64 * SCENES * TICK_BOXES;
    const double bytes = data_bytes();
    goals[FILES].measured = bytes / (3 * live + 64e6);
    (void)printf("files after %zu ticks, which wrote %.0f MB: %.0f MB; live %.1f MB; to 3 x live + "
                 "64 MB %.2f, to 2 x live + 16 MB %.2f\n",
                 ticks, 60e-6 * TICK_BOXES * (double)ticks, bytes / 1e6, live / 1e6,
                 goals[FILES].measured, bytes / (2 * live + 16e6));
    if (!quick) {
        bench_scene large;
        scene_make(&large, "large", MILLION);
        fill(&server, &large); /* its records are long enough for a snapshot */
        const double beside = run_ticks(&server, scenes, &small, seconds, &more);
        goals[SNAPSHOT_P99].measured = beside / p99;
        (void)printf("the same beside a snapshot of 1,000,000 boxes: p99 %.2f ms, %.2f x\n", beside,
                     beside / p99);
        scene_free(&large);
    }
    for (size_t s = 0; s < SCENES; s++)
        scene_free(&scenes[s]);
    scene_free(&small);
    server_stop(&server);
    remove_data();
}

/* ---- Starts ---------------------------------------------------------------------------------- */

/* Starts a daemon whose journal holds one scene with so many boxes, and commits after it: those
 * wanted, and at most as many more as come in a twentieth of a second. */
static double measure_start(size_t boxes, size_t commits)
{
    static load_group group;
    load_request requests[SMALL_COMMITS];
    bench_scene scene;
    bench_server server = start_daemon(true);
    scene_make(&scene, "kept", boxes);
    fill(&server, &scene);
    const double filled = read_number(&server, "/v1/scenes/kept", "\"revision\":");
    double made = 0;
    while (made < (double)commits) {
        group = small_commits(&server.tcp, scene.name, requests, WRITERS, 0);
        failures += load_run(&group, 1, 0.05, PATIENCE) < 0;
        made = read_number(&server, "/v1/scenes/kept", "\"revision\":") - filled;
        small_free(requests);
    }
    server_stop(&server);
    double best = INFINITY;
    for (int i = 0; i < (quick ? 1 : 3); i++) {
        server = start_daemon(true);
        best = server.ready < best ? server.ready : best;
        server_stop(&server);
    }
    (void)printf("start with %zu boxes and %.0f commits: ready after %.3f s; files %.0f MB\n",
                 boxes, made, best, data_bytes() / 1e6);
    scene_free(&scene);
    remove_data();
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: journal FOLDER OBBD\n");
        return EXIT_FAILURE;
    }
    folder = argv[1];
    program = argv[2];
    quick = getenv("QUICK") != NULL;
    (void)snprintf(data_folder, sizeof data_folder, "%s/data", folder);
    remove_data();
    measure_commits();
    measure_ticks();
    goals[START_SMALL].measured = measure_start(10000, 10000);
    if (!quick)
        goals[START_LARGE].measured = measure_start(MILLION, 0);
    (void)goals_print(goals, GOALS);
    (void)printf("%zu answers, %d failures\n", checked, failures);
    return failures > 0 || checked == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
