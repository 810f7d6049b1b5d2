/* What daemons over one log do: three servers of NATS and nodes, all on loopback of one machine, so
 * they share its processors with the clients. Prints a line a figure, and then the goals. A figure
 * is never asserted. A wrong answer, a gap, a duplicate or a hash that differs fails the run.
 *
 * Environment: OBBD names the daemon. QUICK=1 takes less time, and leaves the million boxes out. */
#include "tests/bench/goals.h"
#include "tests/bench/service/meter.h"
#include "tests/bench/service/scene.h"
#include "tests/bench/small.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"
#include "tests/support/writers.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PATIENCE = 60, /* seconds for an answer */
    CLIENTS = 64,
    COMMITS = 20000, /* of two nodes on one scene, about */
    ROUNDS = 3,
    READERS = 2,
    TICK_BOXES = 1000,
    SEEN = 2000 /* commits of which the time to another node is taken */
};

enum goal {
    ONE_P50,
    ONE_P99,
    RATE,
    SEEN_P50,
    SEEN_P99,
    WRONG,
    RATIO,
    KILLED_WRONG,
    WRITE_STALL,
    READ_STALL,
    TOUCH_SMALL,
    TOUCH_LARGE,
    GOALS
};

static bench_goal goals[GOALS] = {
    [ONE_P50] = {"one commit, p50", "ms", 2, 0.8, false, NAN},
    [ONE_P99] = {"one commit, p99", "ms", 20, 5, false, NAN},
    [RATE] = {"64 writers on one scene", "/s", 5000, 20000, true, NAN},
    [SEEN_P50] = {"seen at another node, p50", "ms", 4, 1.5, false, NAN},
    [SEEN_P99] = {"seen at another node, p99", "ms", 30, 8, false, NAN},
    [WRONG] = {"two nodes, 20,000 commits to one scene: wrong", "", 0, 0, false, NAN},
    [RATIO] = {"the same, rate against one node", "x", 0.3, 0.6, true, NAN},
    [KILLED_WRONG] = {"the same while the leader and a node are killed: wrong", "", 0, 0, false,
                      NAN},
    [WRITE_STALL] = {"the same, longest stall of writes", "s", 15, 7, false, NAN},
    [READ_STALL] = {"the same, longest stall of reads", "s", 0.1, 0, false, NAN},
    [TOUCH_SMALL] = {"first touch of 10,000 boxes and 1,000 commits", "s", 0.4, 0.15, false, NAN},
    [TOUCH_LARGE] = {"first touch of 1,000,000 boxes", "s", 8, 4.5, false, NAN},
};

static struct test_cluster cluster;
static bool quick;
static int failures;
static size_t checked;

static load_address address_of(const struct test_daemon *daemon)
{
    return load_loopback((uint16_t)daemon->port);
}

/* Puts all boxes of a scene that scene_make made. */
static void fill(const struct test_daemon *daemon, const bench_scene *scene)
{
    const load_address address = address_of(daemon);
    size_t count;
    load_request *puts = scene_puts(scene, 50000, &count);
    for (size_t i = 0; i < count; i++) {
        failures += load_status(&address, &puts[i]) != 200;
        load_request_free(&puts[i]);
        checked++;
    }
    free(puts);
}

static void expect_status(size_t node, const char *method, const char *path, const char *body,
                          long status)
{
    struct http_answer answer = {0};
    http_send(cluster.nodes[node].client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%s %s: %ld %s", method, path, answer.status,
                  answer.body);
    http_answer_fini(&answer);
}

/* ---- What it takes --------------------------------------------------------------------------- */

struct cost {
    double node, follower, servers; /* seconds of processors */
    double bytes;                   /* of the log on each server */
};

static double cost_of_servers(void)
{
    double seconds = 0;
    for (size_t i = 0; i < CLUSTER_SERVERS; i++) {
        const bench_server server = {.pid = cluster.servers[i].pid};
        seconds += server_cpu(&server);
    }
    return seconds;
}

static struct cost cost_now(void)
{
    struct cost cost = {.bytes = nats_bytes(&cluster.servers[0])};
    const bench_server node = {.pid = cluster.nodes[0].obbd.pid},
                       follower = {.pid = cluster.nodes[1].obbd.pid};
    cost.node = server_cpu(&node);
    cost.follower = server_cpu(&follower);
    cost.servers = cost_of_servers();
    return cost;
}

static void print_cost(struct cost before, double commits)
{
    const struct cost after = cost_now();
    (void)printf("  each takes %.0f us of the node, %.0f us of one that follows, %.0f us of the "
                 "three servers, and %.0f bytes on the disk of each server\n",
                 (after.node - before.node) / commits * 1e6,
                 (after.follower - before.follower) / commits * 1e6,
                 (after.servers - before.servers) / commits * 1e6,
                 (after.bytes - before.bytes) / commits);
}

/* ---- One node -------------------------------------------------------------------------------- */

struct small_figures {
    double rate, p50, p99; /* commits a second; milliseconds */
};

static struct small_figures measure_small(const struct test_daemon *daemon, const char *scene,
                                          size_t connections)
{
    static load_group group;
    load_request requests[SMALL_COMMITS];
    const load_address address = address_of(daemon);
    group = small_commits(&address, scene, requests, connections, 0);
    const double took = load_run(&group, 1, quick ? 2 : 8, PATIENCE);
    failures += took < 0 || group.wrong > 0;
    checked += group.answers;
    small_free(requests);
    return (struct small_figures){(double)group.answers / took, load_quantile(&group, 0.5) * 1e3,
                                  load_quantile(&group, 0.99) * 1e3};
}

/* Commits of 1,000 poses, with 64 rays each, as fast as one client sends them. */
static void measure_ticks(void)
{
    static load_group group;
    bench_scene scene;
    load_request ticks[SCENE_TICKS];
    scene_make(&scene, "ticks", TICK_BOXES);
    fill(&cluster.nodes[0].obbd, &scene);
    for (size_t n = 0; n < SCENE_TICKS; n++)
        ticks[n] = scene_tick(&scene, n, true);
    group = (load_group){.address = address_of(&cluster.nodes[0].obbd),
                         .requests = ticks,
                         .request_count = SCENE_TICKS,
                         .connections = 1};
    const struct cost before = cost_now();
    const double took = load_run(&group, 1, quick ? 2 : 8, PATIENCE);
    failures += took < 0 || group.wrong > 0;
    checked += group.answers;
    cluster_wait_number(&cluster, 1, scene.name, "revision",
                        cluster_number(&cluster, 0, scene.name, "revision"));
    (void)printf("ticks of 1,000 poses, one connection: %.0f ticks/s, p50 %.3f ms, p99 %.3f ms\n",
                 (double)group.answers / took, load_quantile(&group, 0.5) * 1e3,
                 load_quantile(&group, 0.99) * 1e3);
    print_cost(before, (double)group.answers);
    for (size_t n = 0; n < SCENE_TICKS; n++)
        load_request_free(&ticks[n]);
    scene_free(&scene);
}

static void print_small(const char *what, size_t connections, struct small_figures f)
{
    (void)printf("%s, %zu connections: %.0f commits/s, p50 %.3f ms, p99 %.3f ms\n", what,
                 connections, f.rate, f.p50, f.p99);
}

static void measure_one_node(void)
{
    static const size_t connections[] = {1, CLIENTS};
    struct test_daemon plain;
    struct small_figures f;
    bench_scene scene;
    scene_make(&scene, "small", 10000);
    daemon_start(&plain, NULL);
    fill(&plain, &scene);
    for (size_t i = 0; i < 2; i++)
        print_small("without a journal", connections[i],
                    measure_small(&plain, scene.name, connections[i]));
    ck_assert_int_eq(daemon_stop(&plain), 0);
    fill(&cluster.nodes[0].obbd, &scene);
    f = measure_small(&cluster.nodes[0].obbd, scene.name, connections[0]);
    print_small("three servers, a second node follows", connections[0], f);
    goals[ONE_P50].measured = f.p50;
    goals[ONE_P99].measured = f.p99;
    const struct cost before = cost_now();
    const int64_t revision = cluster_number(&cluster, 0, scene.name, "revision");
    f = measure_small(&cluster.nodes[0].obbd, scene.name, connections[1]);
    const int64_t last = cluster_number(&cluster, 0, scene.name, "revision");
    cluster_wait_number(&cluster, 1, scene.name, "revision", last);
    print_small("the same", connections[1], f);
    print_cost(before, (double)(last - revision));
    goals[RATE].measured = f.rate;
    scene_free(&scene);
}

/* ---- Seen at another node -------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* From the request of a commit at one node to its event at the other. */
static void measure_seen(void)
{
    static double seconds[SEEN];
    const size_t count = quick ? SEEN / 10 : SEEN;
    char answer[4096], body[128];
    struct follower f;
    struct follower_message message;
    expect_status(0, "PUT", "/v1/scenes/seen", NULL, 201);
    cluster_wait(&cluster, 1, "/v1/scenes/seen", 200);
    follower_open(&f, daemon_dial(&cluster.nodes[1].obbd), "/v1/scenes/seen/events?topics=commits",
                  NULL);
    const int fd = daemon_dial(&cluster.nodes[0].obbd);
    for (size_t i = 0; i < count; i++) {
        const double begun = load_clock();
        const int length =
            snprintf(body, sizeof body,
                     "{\"put\":{\"a\":{\"center\":[%zu,0,0],\"half_extents\":[1,1,1]}}}", i);
        dial_send(fd, test_text("POST /v1/scenes/seen/commit HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Type: application/json\r\nContent-Length: "
                                "%d\r\n\r\n%s",
                                length, body));
        do
            ck_assert(follower_next(&f, PATIENCE * 1000, &message));
        while (strcmp(message.event, "commit") != 0 || message.id <= (long)i);
        seconds[i] = load_clock() - begun;
        ck_assert_int_eq(message.id, (long)i + 1);
        ck_assert_int_eq(dial_receive(fd, answer, sizeof answer), 200);
        checked++;
    }
    follower_close(&f);
    (void)close(fd);
    qsort(seconds, count, sizeof seconds[0], by_size);
    goals[SEEN_P50].measured = seconds[count / 2] * 1e3;
    goals[SEEN_P99].measured = seconds[count * 99 / 100] * 1e3;
    (void)printf("seen at another node, %zu commits one by one: p50 %.3f ms, p99 %.3f ms, longest "
                 "%.3f ms\n",
                 count, goals[SEEN_P50].measured, goals[SEEN_P99].measured,
                 seconds[count - 1] * 1e3);
}

/* ---- Two nodes on one scene ------------------------------------------------------------------ */

static struct test_writers begin_writers(const char *scene, size_t nodes)
{
    const struct test_writers writers = {.cluster = &cluster,
                                         .nodes = nodes,
                                         .scene = scene,
                                         .count = CLIENTS,
                                         .commits = (quick ? COMMITS / 10 : COMMITS) / CLIENTS + 1};
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s", scene);
    expect_status(0, "PUT", path, NULL, 201);
    for (size_t i = 1; i < nodes; i++)
        cluster_wait(&cluster, i, path, 200);
    return writers;
}

/* Returns how many revisions are wrong, and at how many nodes boxes or hashes are. */
static size_t end_writers(struct test_writers *writers)
{
    const size_t wrong = writers_join(writers) + writers_different(writers);
    checked += writers->count * writers->commits;
    failures += wrong > 0;
    return wrong;
}

static double measure_shared_once(size_t nodes, int round, size_t *out_wrong)
{
    char scene[32];
    (void)snprintf(scene, sizeof scene, "shared-%zu-%d", nodes, round);
    struct test_writers writers = begin_writers(scene, nodes);
    const size_t total = writers.count * writers.commits;
    const double conflicts = cluster_metric(&cluster, 0, "obbd_journal_conflicts_total") +
                             cluster_metric(&cluster, 1, "obbd_journal_conflicts_total");
    const double begun = load_clock();
    writers_start(&writers);
    writers_wait(&writers, total, total);
    const double rate = (double)total / (load_clock() - begun);
    *out_wrong += end_writers(&writers);
    (void)printf("%zu node%s, 64 clients, %zu commits to one scene: %.0f commits/s, %.0f "
                 "conflicts\n",
                 nodes, nodes > 1 ? "s" : "", total, rate,
                 cluster_metric(&cluster, 0, "obbd_journal_conflicts_total") +
                     cluster_metric(&cluster, 1, "obbd_journal_conflicts_total") - conflicts);
    return rate;
}

static void measure_shared(void)
{
    const int rounds = quick ? 1 : ROUNDS;
    double rates[3][ROUNDS];
    size_t wrong = 0;
    for (int round = 0; round < rounds; round++)
        for (size_t nodes = 1; nodes <= 2; nodes++)
            rates[nodes][round] = measure_shared_once(nodes, round, &wrong);
    goals[WRONG].measured = (double)wrong;
    goals[RATIO].measured = meter_median(rates[2], rounds) / meter_median(rates[1], rounds);
}

/* ---- Kills ----------------------------------------------------------------------------------- */

static struct reader {
    pthread_t thread;
    struct test_caller caller;
    size_t reads, broken;
    double longest; /* from the first attempt to the answer, at whichever node */
} readers[READERS];

static atomic_bool readers_end;

static void *read_on(void *context)
{
    struct reader *r = context;
    char answer[4096];
    while (!atomic_load(&readers_end)) {
        const double begun = load_clock();
        int status = 0;
        while (status != 200) {
            status = caller_exchange(&r->caller,
                                     "GET /v1/scenes/killed HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                     answer, sizeof answer);
            ck_assert_msg(status == 200 || status == 0, "%s", answer);
            r->broken += status == 0;
        }
        const double took = load_clock() - begun;
        r->longest = took > r->longest ? took : r->longest;
        r->reads++;
        test_rest(2);
    }
    caller_close(&r->caller);
    return NULL;
}

static void begin_readers(void)
{
    atomic_store(&readers_end, false);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] =
            (struct reader){.caller = {.cluster = &cluster, .nodes = 2, .at = i, .fd = -1}};
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
}

static void end_readers(void)
{
    size_t reads = 0, broken = 0;
    double longest = 0;
    atomic_store(&readers_end, true);
    for (size_t i = 0; i < READERS; i++) {
        ck_assert_int_eq(pthread_join(readers[i].thread, NULL), 0);
        reads += readers[i].reads;
        broken += readers[i].broken;
        longest = readers[i].longest > longest ? readers[i].longest : longest;
    }
    checked += reads;
    goals[READ_STALL].measured = longest;
    (void)printf("%zu reads beside that, %zu of them asked once more at the other node, longest "
                 "%.3f s\n",
                 reads, broken, longest);
}

/* Clients go to the other node when theirs ends. */
static void measure_kills(void)
{
    struct test_writers writers = begin_writers("killed", 2);
    const size_t total = writers.count * writers.commits;
    begin_readers();
    const double begun = load_clock();
    writers_start(&writers);
    writers_wait(&writers, total / 5, 2 * total / 5);
    struct test_nats *leader = nats_leader(cluster.servers, CLUSTER_SERVERS, "OBBD");
    ck_assert_ptr_nonnull(leader);
    nats_end(leader, SIGKILL);
    writers_wait(&writers, 2 * total / 5, 3 * total / 5);
    nats_start(leader);
    writers_wait(&writers, 3 * total / 5, 4 * total / 5);
    cluster_kill(&cluster, 1);
    writers_wait(&writers, 4 * total / 5, total);
    cluster_start(&cluster, 1);
    writers_wait(&writers, total, total);
    const double took = load_clock() - begun;
    end_readers();
    goals[KILLED_WRONG].measured = (double)end_writers(&writers);
    goals[WRITE_STALL].measured = writers.longest;
    (void)printf("the leader of the log killed and started anew, then a node: %zu commits in %.1f "
                 "s, %zu answers 503, %zu without an answer, %zu repeated, longest %.2f s\n",
                 total, took, writers.refused, writers.broken, writers.repeated, writers.longest);
}

/* ---- First touch ----------------------------------------------------------------------------- */

/* Returns what a node says of a scene: its settings, counts and revision. The caller owns it. NULL:
 * the node does not serve the scene. */
static char *scene_said(size_t node, const char *scene)
{
    struct http_answer answer = {0};
    char *said = NULL;
    http_send(cluster.nodes[node].client, "GET", test_text("/v1/scenes/%s", scene), NULL, NULL,
              &answer);
    if (answer.status == 200)
        said = strdup(answer.body);
    http_answer_fini(&answer);
    return said;
}

/* Returns what a node exports of a scene, which the caller frees. */
static struct http_answer exported(size_t node, const char *scene)
{
    struct http_answer answer = {0};
    http_send(cluster.nodes[node].client, "GET", test_text("/v1/scenes/%s/export", scene), NULL,
              NULL, &answer);
    return answer;
}

/* Starts the second node, which then holds no scene. Returns the seconds from the first request
 * about the scene until it is served. A scene whose export differs from that of the first node is a
 * failure. They are compared after the clock has stopped. */
static double touch_once(const char *scene)
{
    char *expected = scene_said(0, scene), *said = NULL;
    ck_assert_ptr_nonnull(expected);
    double begun = load_clock();
    cluster_start(&cluster, 1);
    const double started = load_clock() - begun;
    failures += cluster_metric(&cluster, 1, "obbd_boxes") != 0;
    const bench_server node = {.pid = cluster.nodes[1].obbd.pid};
    const double servers = cost_of_servers(), own = server_cpu(&node);
    begun = load_clock();
    while ((said = scene_said(1, scene)) == NULL) {
        ck_assert_msg(load_clock() - begun < PATIENCE, "%s is not served", scene);
        test_rest(1);
    }
    const double took = load_clock() - begun;
    (void)printf("  started in %.3f s; served %.3f s after the first request, with %.2f s of the "
                 "node's processors and %.2f s of the servers'\n",
                 started, took, server_cpu(&node) - own, cost_of_servers() - servers);
    struct http_answer there = exported(0, scene), here = exported(1, scene);
    const bool differs =
        strcmp(said, expected) != 0 || there.status != 200 || strcmp(there.body, here.body) != 0;
    if (differs)
        (void)printf("  the scene differs: %s, not %s\n", said, expected);
    failures += differs;
    checked += 2;
    http_answer_fini(&there);
    http_answer_fini(&here);
    free(expected);
    free(said);
    cluster_stop(&cluster, 1);
    return took;
}

/* Returns the median of some rounds. */
static double measure_touch(size_t boxes, size_t commits, int rounds)
{
    static load_group group;
    double seconds[ROUNDS];
    load_request requests[SMALL_COMMITS];
    bench_scene scene;
    cluster_init(&cluster, CLUSTER_SERVERS);
    cluster_start(&cluster, 0);
    scene_make(&scene, "kept", boxes);
    fill(&cluster.nodes[0].obbd, &scene);
    const load_address address = address_of(&cluster.nodes[0].obbd);
    for (uint64_t made = 0; made < commits; made += group.answers) {
        group = small_commits(&address, scene.name, requests, CLIENTS, 0);
        failures += load_run(&group, 1, 0.05, PATIENCE) < 0 || group.wrong > 0;
        small_free(requests);
    }
    failures += cluster_number(&cluster, 0, scene.name, "boxes") != (int64_t)boxes;
    (void)printf("a node beside a log of %zu boxes and %lld commits:\n", boxes,
                 (long long)cluster_number(&cluster, 0, scene.name, "revision"));
    for (int round = 0; round < rounds; round++)
        seconds[round] = touch_once(scene.name);
    scene_free(&scene);
    cluster_fini(&cluster);
    return meter_median(seconds, rounds);
}

START_TEST(the_cluster_is_measured)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    quick = getenv("QUICK") != NULL;
    ck_assert_int_eq(setenv("OBBD_LOG_LEVEL", "error", 1), 0); /* no lines between the figures */
    const char *part = getenv("PART");
    if (part == NULL) {
        cluster_init(&cluster, CLUSTER_SERVERS);
        cluster_start(&cluster, 0);
        cluster_start(&cluster, 1);
        measure_one_node();
        measure_ticks();
        measure_seen();
        measure_shared();
        measure_kills();
        cluster_fini(&cluster);
    }
    if (part == NULL || strcmp(part, "touch") == 0)
        goals[TOUCH_SMALL].measured = measure_touch(10000, 1000, ROUNDS);
    if ((part == NULL && !quick) || (part != NULL && strcmp(part, "large") == 0))
        goals[TOUCH_LARGE].measured = measure_touch(1000000, 0, 1);
    const size_t missed = goals_print(goals, GOALS);
    (void)printf("%zu goals missed; %zu answers, %d failures\n", missed, checked, failures);
    ck_assert_int_eq(failures, 0);
    ck_assert_uint_gt(checked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, the_cluster_is_measured);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
