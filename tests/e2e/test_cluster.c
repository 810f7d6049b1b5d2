/* Several daemons over one log: --journal, with a server of NATS on loopback. */
#include "tests/support/cluster.h"
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"
#include "tests/support/writers.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNIT(x)      "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"
#define S            "/v1/scenes/s"
#define LONG_HISTORY "{\"history\":{\"span\":60000,\"commits\":2000}}"

enum { NODES = CLUSTER_NODES };

static struct test_cluster cluster;
static struct test_node *const nodes = cluster.nodes;

static void start(size_t i) { cluster_start(&cluster, i); }

static void wait_for(size_t i, const char *path, long status)
{
    cluster_wait(&cluster, i, path, status);
}

static void wait_for_revision(size_t i, const char *scene, int64_t revision)
{
    cluster_wait_number(&cluster, i, scene, "revision", revision);
}

static void wait_for_boxes(size_t i, const char *scene, int64_t boxes)
{
    cluster_wait_number(&cluster, i, scene, "boxes", boxes);
}

static int64_t number_of(size_t i, const char *scene, const char *member)
{
    return cluster_number(&cluster, i, scene, member);
}

static double metric(size_t i, const char *name) { return cluster_metric(&cluster, i, name); }

static void same_at_all(const char *scene)
{
    ck_assert_uint_eq(cluster_different(&cluster, scene), 0);
}

/* Waits until what a node holds for requests is less than so many bytes. Blocks that were freed
 * count until the pool has given them back. */
static void wait_for_memory(size_t node, double bytes)
{
    for (int n = 0; metric(node, "obbd_in_flight_bytes") >= bytes; n++) {
        ck_assert_int_lt(n, 6000);
        test_rest(5);
    }
}

static void setup(void)
{
    cluster_init(&cluster, 1);
    start(0);
    start(1);
}

static void teardown(void) { cluster_fini(&cluster); }

/* ---- Two nodes ------------------------------------------------------------------------------- */

START_TEST(what_is_written_at_one_node_is_read_at_all)
{
    struct http_client *a = nodes[0].client, *b = nodes[1].client;
    expect(a, "PUT", S, "{\"history\":{\"span\":5000,\"commits\":100}}", 201, "{\"durable\":true}");
    wait_for(1, S, 200);
    expect(b, "PUT", S, NULL, 200, "{\"history\":{\"commits\":100}}");
    expect(b, "POST", S "/commit", "{\"time\":1000,\"put\":{\"a\":" UNIT(0) "}}", 200,
           "{\"revision\":1,\"ids\":{\"a\":1}}");
    wait_for_revision(0, "s", 1);
    expect(a, "POST", S "/commit", "{\"time\":1010,\"put\":{\"b\":" UNIT(5) "}}", 200,
           "{\"revision\":2,\"ids\":{\"b\":2}}");
    wait_for_revision(1, "s", 2);
    expect(b, "POST", S "/commit", "{\"time\":1005}", 409, NULL);
    expect(b, "POST", S "/commit",
           "{\"time\":1020,\"frames\":{\"f\":{\"center\":[0,5,0]}},\"put\":{\"in\":{\"center\":"
           "[1,0,0],\"half_extents\":[1,1,1],\"frame\":\"f\",\"entity\":\"e\",\"data\":{\"hp\":3}},"
           "\"brief\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"ttl\":100}}}",
           200, "{\"revision\":3}");
    wait_for_revision(0, "s", 3);
    expect(a, "POST", S "/commit", "{\"time\":1200}", 200, "{\"revision\":4,\"expired\":1}");
    wait_for_revision(1, "s", 4);
    start(2); /* late */
    same_at_all("s");
    expect(a, "PUT", "/v1/scenes/lobby", "{\"durable\":false}", 201, "{\"durable\":null}");
    expect(b, "GET", "/v1/scenes/lobby", NULL, 404, NULL);
    expect(b, "DELETE", S, NULL, 204, NULL);
    wait_for(0, S, 404);
    wait_for(2, S, 404);
    expect(a, "POST", S "/commit", "{\"put\":{\"a\":" UNIT(0) "}}", 200, "{\"revision\":1}");
    wait_for(1, S, 200);
    wait_for(2, S, 200);
    same_at_all("s");
}
END_TEST

START_TEST(a_commit_is_known_again_at_another_node)
{
    static const char body[] = "{\"id\":\"shot-1\",\"time\":1000,\"put\":{\"a\":" UNIT(
        0) "},\"queries\":[{\"kind\":\"point\",\"points\":[[0,0,0]]}]}";
    expect(nodes[0].client, "POST", S "/commit", body, 200, "{\"revision\":1,\"repeated\":null}");
    wait_for(1, S, 200);
    expect(nodes[1].client, "POST", S "/commit", body, 200,
           "{\"revision\":1,\"repeated\":true,\"put\":1,\"ids\":{\"a\":1}}");
    start(2);
    expect(nodes[2].client, "POST", S "/commit", body, 200, "{\"revision\":1,\"repeated\":true}");
    same_at_all("s");
}
END_TEST

START_TEST(events_are_complete_at_every_node)
{
    struct follower f;
    struct follower_message message;
    expect(nodes[0].client, "PUT", S, NULL, 201, NULL);
    wait_for(1, S, 200);
    follower_open(&f, daemon_dial(&nodes[1].obbd), S "/events?topics=commits", NULL);
    for (int n = 0; metric(1, "obbd_followers") < 1; n++) {
        ck_assert_int_lt(n, 6000);
        test_rest(5);
    }
    for (int i = 1; i <= 50; i++)
        expect(nodes[i % 3 == 0].client, "POST", S "/commit",
               test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", i),
               200, NULL);
    for (long revision = 1; revision <= 50; revision++) {
        do
            ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        while (strcmp(message.event, "commit") != 0);
        ck_assert_int_eq(message.id, revision);
    }
    follower_close(&f);
}
END_TEST

/* Returns a commit of boxes "first" to "last - 1", owned by the caller. */
static char *many_boxes(int first, int last)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    (void)fprintf(out, "{\"time\":%d,\"put\":{", first + 1);
    for (int i = first; i < last; i++)
        (void)fprintf(out, "%s\"%d\":{\"center\":[%d,%d,0],\"half_extents\":[1,1,1]}",
                      i > first ? "," : "", i, i % 300 * 3, i / 300 * 3);
    (void)fprintf(out, "}}");
    (void)fclose(out);
    return text;
}

static void commit_boxes(size_t node, const char *scene, int first, int last, const char *answer)
{
    char *body = many_boxes(first, last);
    expect(nodes[node].client, "POST", test_text("/v1/scenes/%s/commit", scene), body, 200, answer);
    free(body);
}

/* A record that takes several messages of the log, and records whose effects lie beside it. */
START_TEST(large_commits_reach_all_nodes)
{
    struct http_client *a = nodes[0].client, *b = nodes[1].client;
    commit_boxes(0, "s", 0, 9000, "{\"revision\":1,\"put\":9000}");
    wait_for(1, S, 200);
    wait_for_revision(1, "s", 1);
    commit_boxes(1, "s", 5000, 17000, "{\"revision\":2,\"put\":12000}");
    wait_for_revision(0, "s", 2);
    expect(a, "POST", S "/commit", "{\"time\":200000,\"remove\":[\"7\",\"16999\"]}", 200,
           "{\"revision\":3,\"removed\":2}");
    wait_for_revision(1, "s", 3);
    commit_boxes(0, "large", 0, 100000, "{\"revision\":1,\"put\":100000}"); /* makes its scene */
    wait_for(1, "/v1/scenes/large", 200);
    expect(b, "POST", "/v1/scenes/large/commit", "{\"time\":30000,\"remove\":[\"3\"]}", 200,
           "{\"revision\":2}");
    start(2); /* late */
    wait_for_revision(0, "large", 2);
    same_at_all("s");
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_int_eq(number_of(i, "large", "boxes"), 99999);
        expect(nodes[i].client, "GET", "/v1/scenes/large/boxes/99999", NULL, 200,
               "{\"id\":100000,\"changed\":1,\"center\":[297,999,0]}");
        wait_for_memory(i, 4e6); /* nothing is kept that was sent, got or applied */
    }
}
END_TEST

START_TEST(copies_reach_all_nodes)
{
    struct http_client *a = nodes[0].client, *b = nodes[1].client;
    commit_boxes(0, "s", 0, 3000, "{\"revision\":1}");
    expect(a, "POST", S "/copy", "{\"to\":\"t\"}", 201, "{\"revision\":1,\"boxes\":3000}");
    wait_for(1, "/v1/scenes/t", 200);
    expect(b, "POST", "/v1/scenes/t/commit", "{\"time\":5000,\"remove\":[\"3\"]}", 200,
           "{\"revision\":2}");
    wait_for_revision(0, "t", 2);
    wait_for_revision(1, "s", 1);
    expect(b, "POST", S "/copy", "{\"to\":\"t\"}", 409, NULL);
    expect(b, "POST", S "/copy", "{\"to\":\"t\",\"replace\":true}", 201, "{\"boxes\":3000}");
    wait_for_boxes(0, "t", 3000);
    expect(a, "POST", "/v1/scenes/t/commit", "{\"time\":5000,\"remove\":[\"4\"]}", 200,
           "{\"revision\":2}");
    wait_for_revision(1, "t", 2);
    expect(a, "POST", S "/copy", "{\"to\":\"u\"}", 201, NULL);
    wait_for(1, "/v1/scenes/u", 200);
    expect(b, "DELETE", "/v1/scenes/u", NULL, 204, NULL);
    start(2); /* late */
    wait_for(0, "/v1/scenes/u", 404);
    expect(nodes[2].client, "GET", "/v1/scenes/u", NULL, 404, NULL);
    same_at_all("s");
    same_at_all("t");
    expect(nodes[2].client, "POST", "/v1/scenes/t/copy", "{\"to\":\"u\"}", 201, "{\"boxes\":2999}");
    wait_for(0, "/v1/scenes/u", 200);
    wait_for(1, "/v1/scenes/u", 200);
    same_at_all("u");
}
END_TEST

/* Waits until the figures of this name of two nodes add up to as much. */
static void wait_for_sum(const char *name, double least)
{
    for (int n = 0; metric(0, name) + metric(1, name) < least; n++) {
        ck_assert_msg(n < 6000, "%s", name);
        test_rest(5);
    }
}

/* Enough is written for snapshots, and the log is purged of what they hold. */
START_TEST(a_node_that_joins_late_loads_snapshots)
{
    enum { EACH = 9000, TIMES = 5 };
    static const char known[] = "{\"id\":\"once\",\"time\":900000,\"put\":{\"a\":" UNIT(0) "}}";
    expect(nodes[0].client, "PUT", S, "{\"history\":{\"span\":60000,\"commits\":50}}", 201, NULL);
    commit_boxes(0, "small", 0, 300, "{\"revision\":1}");
    for (int i = 0; i < TIMES; i++) {
        commit_boxes(0, "s", i * EACH, (i + 1) * EACH, NULL);
        wait_for_revision(1, "s", i + 1); /* it never lags behind a purge */
    }
    expect(nodes[0].client, "POST", S "/commit", known, 200, "{\"revision\":6}");
    wait_for_sum("obbd_journal_snapshots_total", 1);
    wait_for_sum("obbd_journal_purges_total", 1);
    start(2); /* late */
    wait_for_revision(2, "s", TIMES + 1);
    ck_assert_double_ge(metric(2, "obbd_journal_loads_total"), 1);
    for (size_t i = 0; i < NODES; i++) {
        wait_for_revision(i, "s", TIMES + 1);
        ck_assert_double_eq(metric(i, "obbd_journal_passed_over_total"), 0);
        ck_assert_double_eq(metric(i, "obbd_journal_differed_total"), 0);
        ck_assert_double_eq(metric(i, "obbd_journal_disputed_total"), 0);
    }
    same_at_all("s");
    same_at_all("small");
    expect(nodes[2].client, "POST", S "/commit", known, 200,
           "{\"revision\":6,\"repeated\":true,\"put\":1}");
    expect(nodes[2].client, "POST", S "/commit", "{\"time\":900001,\"remove\":[\"7\"]}", 200,
           "{\"revision\":7}");
    wait_for_revision(0, "s", TIMES + 2);
    expect(nodes[0].client, "DELETE", S, NULL, 204, NULL);
    wait_for(2, S, 404);
    commit_boxes(2, "s", 0, 300, "{\"revision\":1}");
    cluster_stop(&cluster, 1);
    start(1); /* late again, behind the end of a scene that was in a snapshot */
    for (size_t i = 0; i < NODES; i++)
        wait_for_boxes(i, "s", 300);
    same_at_all("s");
}
END_TEST

/* With --journal-idle 0 a node holds all scenes, or ends. */
START_TEST(a_node_that_cannot_hold_the_scene_of_a_snapshot_ends_with_one_line)
{
    enum { EACH = 9000, TIMES = 5 };
    char out[64], err[2048];
    commit_boxes(0, "small", 0, 300, "{\"revision\":1}"); /* it is made of records, and first */
    for (int i = 0; i < TIMES; i++)
        commit_boxes(0, "s", i * EACH, (i + 1) * EACH, NULL);
    wait_for_sum("obbd_journal_snapshots_total", 1);
    wait_for_sum("obbd_journal_purges_total", 1);
    const char *arguments[] = {"--journal",
                               cluster.servers[0].url,
                               "--journal-replicas",
                               "1",
                               "--journal-idle",
                               "0",
                               "--scene-limit",
                               "1",
                               NULL};
    ck_assert_int_eq(daemon_run(arguments, out, sizeof out, err, sizeof err), 1);
    ck_assert_msg(strstr(err, "scene \"s\", ") != NULL, "%s", err);
    ck_assert_msg(strstr(err, "there are more than --scene-limit allows") != NULL, "%s", err);
}
END_TEST

enum { COPIERS = 2, COPIES = 12 };

struct copier {
    pthread_t thread;
    size_t node;
    size_t made;
};

/* Copies a scene onto another again and again, and writes to it between. */
static void *run_copier(void *context)
{
    struct copier *c = context;
    struct http_client *client = http_open(nodes[c->node].obbd.url);
    for (size_t i = 0; i < COPIES;) {
        struct http_answer answer = {0};
        http_send(client, "POST", S "/copy", NULL, "{\"to\":\"t\",\"replace\":true}", &answer);
        ck_assert_msg(answer.status == 201 || answer.status == 503, "%s", answer.body);
        c->made += answer.status == 201;
        i += answer.status == 201;
        http_send(client, "POST", "/v1/scenes/t/commit", NULL,
                  c->node == 0 ? "{\"put\":{\"n0\":" UNIT(0) "}}"
                               : "{\"put\":{\"n1\":" UNIT(1) "}}",
                  &answer);
        ck_assert_msg(answer.status == 200, "%s", answer.body);
        http_answer_fini(&answer);
    }
    http_close(client);
    return NULL;
}

START_TEST(copies_of_two_nodes_onto_one_scene_come_one_after_the_other)
{
    struct copier copiers[COPIERS] = {{.node = 0}, {.node = 1}};
    commit_boxes(0, "s", 0, 300, "{\"revision\":1}");
    wait_for_revision(1, "s", 1);
    for (size_t i = 0; i < COPIERS; i++)
        ck_assert_int_eq(pthread_create(&copiers[i].thread, NULL, run_copier, &copiers[i]), 0);
    for (size_t i = 0; i < COPIERS; i++)
        ck_assert_int_eq(pthread_join(copiers[i].thread, NULL), 0);
    expect(nodes[0].client, "PUT", "/v1/scenes/last", NULL, 201, NULL);
    start(2);
    expect(nodes[2].client, "POST", "/v1/scenes/t/commit", "{\"put\":{\"z\":" UNIT(0) "}}", 200,
           NULL);
    const int64_t boxes = number_of(2, "t", "boxes");
    for (size_t i = 0; i < 2; i++)
        wait_for_boxes(i, "t", boxes);
    same_at_all("t");
    ck_assert_uint_eq(copiers[0].made + copiers[1].made, (size_t)COPIERS * COPIES);
}
END_TEST

/* ---- Reads of what was written elsewhere ----------------------------------------------------- */

/* Returns the number behind the first "revision": of an answer, or -1. */
static int64_t revision_in(const char *answer)
{
    static const char key[] = "\"revision\":";
    const char *at = strstr(answer, key);
    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static void send_get(int fd, const char *target)
{
    dial_send(fd, test_text("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target));
}

static void send_post(int fd, const char *target, const char *body)
{
    dial_send(fd, test_text("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            target, strlen(body), body));
}

/* Returns the revision of an answer with status 200. */
static int64_t receive_revision(int fd)
{
    char answer[4096];
    const int status = dial_receive(fd, answer, sizeof answer);
    ck_assert_msg(status == 200, "%d %s", status, answer);
    return revision_in(answer);
}

static void commit_at(size_t node, const char *scene, int x, int64_t revision)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/commit", scene);
    expect(nodes[node].client, "POST", path,
           test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", x), 200,
           test_text("{\"revision\":%lld}", (long long)revision));
}

/* Waits until so many requests wait at a node. Returns false if that takes long: none of them waits
 * for longer than 5 s. */
static bool wait_for_awaiting(size_t node, double count)
{
    for (int n = 0; metric(node, "obbd_journal_awaiting") < count; n++) {
        if (n == 500)
            return false;
        test_rest(5);
    }
    return true;
}

START_TEST(a_revision_that_another_node_has_shown_is_read_at_any)
{
    enum { ROUNDS = 200 };
    int late = 0;
    for (int i = 1; i <= ROUNDS; i++) {
        commit_at(0, "s", i, i);
        late += number_of(1, "s", "revision") < i;
        const char *body = NULL;
        const char *path = test_text(S "?revision=%d", i);
        if (i % 4 == 1)
            path = test_text(S "/boxes/a?at_revision=%d", i);
        if (i % 4 == 2)
            path = test_text(S "/boxes?revision=%d", i);
        if (i % 4 == 3) {
            path = S "/query/all-pairs";
            body = test_text("{\"at\":{\"revision\":%d}}", i);
        }
        expect(nodes[1].client, body != NULL ? "POST" : "GET", path, body, 200,
               test_text("{\"revision\":%d}", i));
    }
    printf("%d of %d plain reads at another node were late\n", late, (int)ROUNDS);
}
END_TEST

enum { WAITERS = 7 };

/* Each request is there before the commit that it waits for. Returns false if the machine is so
 * slow that one of them has waited for 5 s. */
static bool answers_what_waits(const char *scene)
{
    static const struct {
        const char *target, *body;
        bool is_query, is_left;
    } waiters[WAITERS] = {{"?revision=0", NULL, false, false}, /* nobody knows the scene yet */
                          {"/boxes/a?revision=2", NULL, false, false},
                          {"/boxes?at_revision=2", NULL, false, false},
                          {"/frames?revision=1", NULL, false, false},
                          {"/query/all-pairs", "{\"at\":{\"revision\":2}}", true, false},
                          {"/commit", "{\"if_revision\":2,\"remove\":[\"a\"]}", false, false},
                          {"?revision=9", NULL, false, true}};
    int fds[WAITERS];
    char answer[4096], path[64];
    bool good = true;
    (void)snprintf(path, sizeof path, "/v1/scenes/%s", scene);
    for (int i = 0; i < WAITERS; i++) {
        fds[i] = daemon_dial(&nodes[1].obbd);
        ck_assert_int_ge(fds[i], 0);
        const char *target = test_text("%s%s", path, waiters[i].target);
        if (waiters[i].body != NULL)
            send_post(fds[i], target, waiters[i].body);
        else
            send_get(fds[i], target);
    }
    good = wait_for_awaiting(1, WAITERS);
    expect(nodes[1].client, "GET", path, NULL, 404, NULL);
    expect(nodes[0].client, "PUT", path, LONG_HISTORY, 201, NULL);
    for (int x = 1; x <= 2; x++)
        commit_at(0, scene, x, x);
    for (int i = 0; i < WAITERS; i++) {
        const int status = waiters[i].is_left ? 503 : dial_receive(fds[i], answer, sizeof answer);
        ck_assert_msg(status == 200 || status == 503, "%s: %d %s", waiters[i].target, status,
                      answer);
        good = good && (status == 200 || waiters[i].is_left);
    }
    for (int i = 0; i < WAITERS; i++)
        close(fds[i]); /* one of them waits still */
    for (int n = 0; metric(1, "obbd_journal_awaiting") > 0; n++) {
        ck_assert_int_lt(n, 6000);
        test_rest(5);
    }
    if (good) /* the commit that waited is the third one */
        expect(nodes[1].client, "GET", path, NULL, 200, "{\"revision\":3,\"boxes\":0}");
    return good;
}

START_TEST(a_request_waits_for_a_revision_until_it_is_published)
{
    char scene[] = "a";
    for (; !answers_what_waits(scene); scene[0]++)
        ck_assert_int_lt(scene[0], 'j');
    wait_for_memory(1, 1e5);
}
END_TEST

/* The other node stands still while something is committed. When it goes on, it has the requests
 * and the records. While no plain read was late, more and more is committed: a node judges only
 * some of that before it looks at requests. */
START_TEST(a_fresh_read_sees_what_a_plain_one_misses)
{
    enum { ROUNDS = 20 };
    int plain = daemon_dial(&nodes[1].obbd), fresh = daemon_dial(&nodes[1].obbd),
        query = daemon_dial(&nodes[1].obbd), least = daemon_dial(&nodes[1].obbd);
    int64_t revision = 1;
    commit_at(0, "s", 1, 1);
    wait_for_revision(1, "s", 1);
    int late = 0, commits = 1;
    for (int i = 0; i < ROUNDS || late == 0; i++) {
        ck_assert_int_eq(kill(nodes[1].obbd.pid, SIGSTOP), 0);
        for (int k = 0; k < commits; k++) {
            revision++;
            commit_at(0, "s", (int)revision, revision);
        }
        commits *= i < ROUNDS ? 1 : 2;
        send_get(plain, S);
        send_get(fresh, i % 2 == 0 ? S "?fresh" : S "/boxes?fresh=true");
        send_post(query, S "/query/all-pairs", "{\"fresh\":true}");
        send_get(least, test_text(S "?revision=%lld", (long long)revision));
        ck_assert_int_eq(kill(nodes[1].obbd.pid, SIGCONT), 0);
        late += receive_revision(plain) < revision;
        ck_assert_int_eq(receive_revision(fresh), revision);
        ck_assert_int_eq(receive_revision(query), revision);
        ck_assert_int_eq(receive_revision(least), revision);
    }
    printf("%d plain reads were late, and no fresh one; at most %d commits in a round\n", late,
           commits);
    ck_assert_double_ge(metric(1, "obbd_journal_marks_total"), ROUNDS);
    close(plain);
    close(fresh);
    close(query);
    close(least);
}
END_TEST

START_TEST(a_fresh_read_right_after_a_commit_elsewhere_sees_it)
{
    enum { ROUNDS = 200 };
    for (int i = 1; i <= ROUNDS; i++) {
        commit_at(0, "s", i, i);
        if (i % 2 == 0)
            expect(nodes[1].client, "GET", S "/boxes/a?fresh", NULL, 200,
                   test_text("{\"revision\":%d,\"center\":[%d,0,0]}", i, i));
        else
            expect(nodes[1].client, "POST", S "/commit",
                   "{\"queries\":[{\"kind\":\"all-pairs\",\"fresh\":true}]}", 200,
                   test_text("{\"revision\":%d}", i));
    }
    expect(nodes[0].client, "PUT", "/v1/scenes/t", NULL, 201, NULL);
    expect(nodes[1].client, "GET", "/v1/scenes?fresh", NULL, 200,
           "{\"scenes\":[{\"name\":\"s\",\"boxes\":1,\"revision\":200},"
           "{\"name\":\"t\",\"boxes\":0,\"revision\":0}]}");
    expect(nodes[0].client, "DELETE", "/v1/scenes/t", NULL, 204, NULL);
    expect(nodes[1].client, "GET", "/v1/scenes/t?fresh", NULL, 404, NULL);
    start(2); /* late: it passes the marks by */
    same_at_all("s");
    ck_assert_double_eq(metric(0, "obbd_journal_marks_total"), 0);
    ck_assert_double_eq(metric(2, "obbd_journal_differed_total"), 0);
    ck_assert_double_eq(metric(2, "obbd_journal_disputed_total"), 0);
}
END_TEST

/* The other node stands still while the scene is made anew. */
START_TEST(a_read_waits_for_the_epoch_that_it_names)
{
    enum { ROUNDS = 10 };
    struct http_answer answer = {0};
    commit_at(0, "s", 1, 1);
    wait_for_revision(1, "s", 1);
    int fd = daemon_dial(&nodes[1].obbd);
    for (int i = 0; i < ROUNDS; i++) {
        char epoch[32], got[4096];
        ck_assert_int_eq(kill(nodes[1].obbd.pid, SIGSTOP), 0);
        expect(nodes[0].client, "DELETE", S, NULL, 204, NULL);
        http_send(nodes[0].client, "PUT", S, NULL, NULL, &answer);
        ck_assert_int_eq(answer.status, 201);
        (void)snprintf(epoch, sizeof epoch, "%s", http_header(&answer, "Obbd-Epoch"));
        dial_send(fd, test_text("GET " S "?%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                "Obbd-If-Epoch: %s\r\n\r\n",
                                i % 2 == 0 ? "revision=0" : "fresh", epoch));
        ck_assert_int_eq(kill(nodes[1].obbd.pid, SIGCONT), 0);
        const int status = dial_receive(fd, got, sizeof got);
        ck_assert_msg(status == 200, "%d %s", status, got);
        ck_assert_ptr_nonnull(strstr(got, epoch));
    }
    close(fd);
    expect(nodes[0].client, "DELETE", S, NULL, 204, NULL);
    wait_for(1, S, 404);
    static const char *const other[] = {"Obbd-If-Epoch: 0123456789abcdef", NULL};
    http_send(nodes[1].client, "GET", S "?fresh", other, NULL, &answer);
    ck_assert_int_eq(answer.status, 404);
    expect(nodes[0].client, "PUT", S, NULL, 201, NULL);
    http_send(nodes[1].client, "GET", S "?fresh", other, NULL, &answer);
    ck_assert_int_eq(answer.status, 412);
    http_send(nodes[1].client, "GET", S "?revision=0", other, NULL, &answer);
    ck_assert_int_eq(answer.status, 412); /* after a while: it is another scene */
    http_answer_fini(&answer);
}
END_TEST

START_TEST(whoever_waits_is_answered_when_the_node_ends)
{
    char answer[4096];
    int fd = daemon_dial(&nodes[1].obbd);
    send_get(fd, S "?revision=5");
    ck_assert(wait_for_awaiting(1, 1));
    cluster_stop(&cluster, 1);
    const int status = dial_receive(fd, answer, sizeof answer);
    ck_assert_msg(status == 503, "%d %s", status, answer);
    ck_assert_ptr_nonnull(strstr(answer, "Retry-After: "));
    close(fd);
}
END_TEST

START_TEST(a_revision_that_never_comes_is_refused_and_so_are_malformed_words)
{
    struct http_answer answer = {0};
    struct http_client *b = nodes[1].client;
    commit_at(0, "s", 1, 1);
    expect(b, "GET", S "?revision=1", NULL, 200, "{\"revision\":1}");
    http_send(b, "GET", S "?revision=99", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    ck_assert_double_ge(answer.seconds, 4.9);
    http_send(b, "POST", "/v1/scenes/none/commit", NULL,
              "{\"if_revision\":7,\"put\":{\"a\":" UNIT(0) "}}", &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    http_answer_fini(&answer);
    expect(b, "GET", "/v1/scenes/none", NULL, 404, NULL);
    expect_problem(b, "GET", S "?revision=x", NULL, 400, NULL);
    expect_problem(b, "GET", S "?fresh=maybe", NULL, 400, NULL);
    expect_problem(b, "POST", S "/query/all-pairs", "{\"fresh\":1}", 422, "/fresh");
    expect_problem(b, "POST", S "/commit",
                   "{\"queries\":[{\"kind\":\"all-pairs\",\"fresh\":\"yes\"}]}", 422,
                   "/queries/0/fresh");
    expect_problem(b, "POST", S "/commit", "{\"if_revision\":0}", 412, "/if_revision");
    expect(b, "POST", S "/query/all-pairs", "{\"at\":{\"revision\":99,\"clamp\":true}}", 200,
           "{\"revision\":1}");
    nats_end(cluster.servers, SIGKILL);
    for (int n = 0; n == 0 || answer.status != 503; n++) { /* it hears of the end a little later */
        ck_assert_int_lt(n, 10);
        http_send(b, "GET", S "?fresh", NULL, NULL, &answer);
    }
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    http_answer_fini(&answer);
    expect(b, "GET", S, NULL, 200, "{\"revision\":1}");
    nats_start(cluster.servers);
}
END_TEST

/* ---- Without the servers --------------------------------------------------------------------- */

START_TEST(without_the_servers_writes_are_refused_and_reads_go_on)
{
    struct http_answer answer = {0};
    expect(nodes[0].client, "POST", S "/commit", "{\"put\":{\"a\":" UNIT(0) "}}", 200,
           "{\"revision\":1}");
    nats_end(cluster.servers, SIGKILL);
    cluster_launch(&cluster, 2);
    expect(nodes[2].client, "GET", "/readyz", NULL, 503, NULL);
    http_send(nodes[2].client, "POST", S "/commit", NULL, "{\"time\":5}", &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    for (int n = 0; n == 0 || answer.status != 503; n++) { /* it hears of the end a little later */
        ck_assert_int_lt(n, 10);
        http_send(nodes[0].client, "POST", S "/commit", NULL,
                  test_text("{\"id\":\"i%d\",\"put\":{\"b\":" UNIT(0) "}}", n), &answer);
    }
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    expect(nodes[0].client, "GET", S "/boxes/a", NULL, 200, "{\"id\":1}");
    http_answer_fini(&answer);
    nats_start(cluster.servers);
    wait_for(2, "/readyz", 200);
    for (int n = 0; answer.status != 200; n++) {
        ck_assert_int_lt(n, 1000);
        http_send(nodes[0].client, "POST", S "/commit", NULL, "{\"put\":{\"c\":" UNIT(0) "}}",
                  &answer);
        if (answer.status != 200)
            test_rest(10);
    }
    json_t *body = json_loads(answer.body, 0, NULL);
    const int64_t revision = json_integer_value(json_object_get(body, "revision"));
    json_decref(body);
    http_answer_fini(&answer);
    wait_for_revision(1, "s", revision);
    wait_for_revision(2, "s", revision);
    same_at_all("s");
}
END_TEST

/* ---- Scenes that sleep ----------------------------------------------------------------------- */

/* A scene that nobody asks for goes after 1.5 s. */
static void setup_idle(void)
{
    cluster_init(&cluster, 1);
    cluster.idle = "1";
    start(0);
    start(1);
}

static void wait_for_metric(size_t i, const char *name, double value)
{
    for (int n = 0; metric(i, name) != value; n++) {
        ck_assert_msg(n < 6000, "node %zu, %s", i, name);
        test_rest(5);
    }
}

/* Follows the scene "s" at a node, which then holds it until the stream is closed. */
static void hold(struct follower *f, size_t node)
{
    follower_open(f, daemon_dial(&nodes[node].obbd), S "/events?topics=commits", NULL);
    follower_await(f);
    wait_for_metric(node, "obbd_followers", 1);
}

START_TEST(a_node_holds_only_what_was_asked_of_it)
{
    struct http_client *a = nodes[0].client, *b = nodes[1].client;
    struct http_answer answer = {0};
    struct follower f;
    commit_boxes(0, "s", 0, 300, "{\"revision\":1}");
    commit_boxes(0, "s", 200, 310, "{\"revision\":2}");
    expect(a, "POST", S "/commit", "{\"time\":900,\"remove\":[\"7\"]}", 200, "{\"revision\":3}");
    expect(a, "PUT", "/v1/scenes/t", NULL, 201, NULL);
    expect(a, "POST", S "/copy", "{\"to\":\"copy\"}", 201, NULL);
    wait_for_metric(1, "obbd_scenes_asleep", 3);
    expect(b, "GET", "/v1/scenes?fresh", NULL, 200,
           "{\"scenes\":[{\"name\":\"copy\",\"boxes\":309,\"revision\":1},"
           "{\"name\":\"s\",\"boxes\":309,\"revision\":3},"
           "{\"name\":\"t\",\"boxes\":0,\"revision\":0}]}");
    expect(b, "GET", "/v1/scenes?limit=1", NULL, 200,
           "{\"scenes\":[{\"name\":\"copy\",\"boxes\":309,\"revision\":1}]}");
    ck_assert_double_eq(metric(1, "obbd_scenes"), 0);
    ck_assert_double_eq(metric(1, "obbd_boxes"), 0);
    expect(b, "GET", S "?revision=3", NULL, 200, "{\"boxes\":309,\"revision\":3}");
    ck_assert_double_eq(metric(1, "obbd_scene_wakes_total"), 1); /* nothing else has asked for it */
    hold(&f, 1); /* or it may sleep again while it is looked at */
    ck_assert_double_eq(metric(1, "obbd_scenes"), 1);
    ck_assert_double_eq(metric(1, "obbd_boxes"), 309);
    ck_assert_double_eq(metric(1, "obbd_scenes_asleep"), 2);
    follower_close(&f);
    same_at_all("s");
    start(2);
    http_send(nodes[2].client, "GET", "/v1/scenes/t",
              (const char *const[]){"Obbd-If-Epoch: 0000000000000001", NULL}, NULL, &answer);
    ck_assert_int_eq(answer.status, 412);
    ck_assert_double_eq(metric(2, "obbd_scenes"), 0);
    http_answer_fini(&answer);
    expect(nodes[2].client, "PUT", "/v1/scenes/t", NULL, 200, "{\"revision\":0}"); /* it is there */
    expect(nodes[2].client, "POST", "/v1/scenes/t/copy", "{\"to\":\"copy\"}", 409, NULL);
    expect(nodes[2].client, "POST", S "/query/point", "{\"points\":[[0,0,0]]}", 200,
           "{\"revision\":3}");
    expect(b, "DELETE", "/v1/scenes/copy", NULL, 204, NULL); /* it is woken to end */
    wait_for(0, "/v1/scenes/copy", 404);
    wait_for(2, "/v1/scenes/copy", 404);
    same_at_all("s");
    same_at_all("t");
}
END_TEST

START_TEST(a_scene_sleeps_when_nobody_asks_and_wakes_the_same)
{
    struct http_client *a = nodes[0].client, *b = nodes[1].client;
    static const char known[] = "{\"id\":\"once\",\"time\":500,\"put\":{\"a\":" UNIT(0) "}}";
    commit_boxes(0, "s", 0, 300, "{\"revision\":1}");
    expect(a, "POST", S "/commit", known, 200, "{\"revision\":2}");
    expect(a, "PUT", "/v1/scenes/lobby", "{\"durable\":false}", 201, NULL);
    wait_for_revision(1, "s", 2);
    char *before = cluster_picture(&cluster, 0, "s");
    for (size_t i = 0; i < 2; i++) {
        wait_for_metric(i, "obbd_scenes_asleep", 1);
        ck_assert_double_eq(metric(i, "obbd_scenes"), i == 0); /* the lobby stays */
        ck_assert_double_eq(metric(i, "obbd_boxes"), 0);
        wait_for_memory(i, 1e6);
    }
    char *after = cluster_picture(&cluster, 0, "s");
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    same_at_all("s");
    expect(b, "POST", S "/commit", known, 200, "{\"revision\":2,\"repeated\":true}");
    for (size_t i = 0; i < 2; i++)
        wait_for_metric(i, "obbd_scenes_asleep", 1);
    expect(b, "POST", S "/commit", "{\"if_revision\":2,\"time\":600,\"remove\":[\"7\"]}", 200,
           "{\"revision\":3,\"removed\":1}");
    expect(a, "GET", S "?revision=3", NULL, 200, "{\"boxes\":300}");
    same_at_all("s");
    ck_assert_double_ge(metric(1, "obbd_scene_wakes_total"), 2);
    ck_assert_double_eq(metric(0, "obbd_scene_wake_failures_total"), 0);
}
END_TEST

START_TEST(a_stream_of_events_wakes_a_scene_and_keeps_it)
{
    struct follower f;
    struct follower_message message;
    expect(nodes[0].client, "PUT", S, NULL, 201, NULL);
    wait_for_metric(1, "obbd_scenes_asleep", 1);
    follower_open(&f, daemon_dial(&nodes[1].obbd), S "/events?topics=commits", NULL);
    wait_for_metric(1, "obbd_followers", 1);
    wait_for_metric(0, "obbd_scenes_asleep", 1);
    test_rest(1000);
    ck_assert_double_eq(metric(1, "obbd_scenes"), 1);
    for (int i = 1; i <= 3; i++) {
        expect(nodes[0].client, "POST", S "/commit",
               test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", i),
               200, NULL);
        do
            ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        while (strcmp(message.event, "commit") != 0);
        ck_assert_int_eq(message.id, i);
        if (i == 2)
            wait_for_metric(0, "obbd_scenes_asleep", 1);
    }
    follower_close(&f);
    wait_for_metric(1, "obbd_scenes_asleep", 1);
}
END_TEST

START_TEST(a_scene_that_sleeps_cannot_be_had_without_the_servers)
{
    struct http_answer answer = {0};
    struct follower f;
    commit_boxes(0, "s", 0, 300, "{\"revision\":1}");
    hold(&f, 0);
    wait_for_metric(1, "obbd_scenes_asleep", 1);
    nats_end(cluster.servers, SIGKILL);
    follower_close(&f);
    http_send(nodes[1].client, "GET", S, NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    http_send(nodes[1].client, "POST", S "/commit", NULL, "{\"put\":{\"a\":" UNIT(0) "}}", &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(http_header(&answer, "Retry-After"));
    expect(nodes[1].client, "GET", "/v1/scenes", NULL, 200,
           "{\"scenes\":[{\"name\":\"s\",\"boxes\":300,\"revision\":1}]}");
    test_rest(2500); /* what the first node holds stays */
    expect(nodes[0].client, "GET", S, NULL, 200, "{\"boxes\":300}");
    nats_start(cluster.servers);
    wait_for(1, S, 200);
    http_answer_fini(&answer);
    same_at_all("s");
}
END_TEST

/* Snapshots are written and the log is purged, while nodes begin and wake the scene. */
START_TEST(a_scene_wakes_beside_purges)
{
    enum { EACH = 9000, TIMES = 5 };
    for (int i = 0; i < TIMES; i++) {
        commit_boxes(0, "s", i * EACH, (i + 1) * EACH, NULL);
        if (nodes[2].runs)
            cluster_stop(&cluster, 2);
        start(2);
        for (size_t k = 1; k < NODES; k++)
            wait_for_revision(k, "s", i + 1);
    }
    wait_for_sum("obbd_journal_snapshots_total", 1);
    wait_for_sum("obbd_journal_purges_total", 1);
    cluster_stop(&cluster, 2);
    start(2);
    ck_assert_double_eq(metric(2, "obbd_scenes"), 0);
    same_at_all("s");
    ck_assert_double_eq(metric(2, "obbd_journal_loads_total"), 1);
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_double_eq(metric(i, "obbd_journal_differed_total"), 0);
        ck_assert_double_eq(metric(i, "obbd_journal_disputed_total"), 0);
    }
}
END_TEST

/* Nobody goes on from a log that is damaged: neither who reads it on, nor who begins. */
START_TEST(a_damaged_record_of_the_log_is_found)
{
    char out[64], err[2048];
    expect(nodes[0].client, "PUT", S, NULL, 201, NULL);
    wait_for(1, S, 200);
    nats_publish(cluster.servers, "obbd.commit.cw" /* s */, "flipped");
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(daemon_end(&nodes[i].obbd), 1);
        http_close(nodes[i].client);
        nodes[i].runs = false;
    }
    const char *arguments[] = {"--journal", cluster.servers[0].url, "--journal-replicas", "1",
                               NULL};
    ck_assert_int_eq(daemon_run(arguments, out, sizeof out, err, sizeof err), 1);
    ck_assert_ptr_nonnull(strstr(err, "a record of the log is damaged"));
}
END_TEST

/* ---- Many writers, and ends ------------------------------------------------------------------ */

enum { WRITERS = 6, COMMITS = 120, ALL = WRITERS * COMMITS };

static struct test_writers writers;

/* At the first two nodes. */
static void start_writers(void)
{
    expect(nodes[0].client, "PUT", S, LONG_HISTORY, 201, NULL);
    writers = (struct test_writers){
        .cluster = &cluster, .nodes = 2, .scene = "s", .count = WRITERS, .commits = COMMITS};
    writers_start(&writers);
}

/* Each commit made one state, and a repeated one none. */
static void end_writers(void)
{
    ck_assert_uint_eq(writers_join(&writers), 0);
    start(2);
    ck_assert_uint_eq(writers_different(&writers), 0);
    printf("%d commits, %zu repeated, %zu refused, %zu without an answer\n", (int)ALL,
           writers.repeated, writers.refused, writers.broken);
}

/* Writers stay within what is allowed, so that some commits are left for what comes next. */
START_TEST(nothing_is_lost_when_nodes_and_servers_end)
{
    struct test_nats *nats = cluster.servers;
    start_writers();
    writers_wait(&writers, ALL / 6, ALL / 3);
    cluster_kill(&cluster, 1);
    writers_wait(&writers, ALL / 3, ALL / 2);
    start(1);
    writers_wait(&writers, ALL / 2, 2 * ALL / 3);
    nats_end(nats, SIGKILL);
    test_rest(300);
    nats_start(nats);
    writers_wait(&writers, 2 * ALL / 3, 5 * ALL / 6);
    ck_assert_int_eq(kill(nats->pid, SIGSTOP), 0);
    test_rest(1500);
    ck_assert_int_eq(kill(nats->pid, SIGCONT), 0);
    cluster_kill(&cluster, 0);
    start(0);
    end_writers();
    ck_assert_uint_gt(writers.broken, 0);
}
END_TEST

/* The log is on three servers. The one that leads it is killed under the writers. */
START_TEST(nothing_is_lost_when_the_leader_ends)
{
    cluster_init(&cluster, 3);
    start(0);
    start(1);
    start_writers();
    writers_wait(&writers, ALL / 4, ALL / 2);
    struct test_nats *leader = nats_leader(cluster.servers, 3, "OBBD");
    ck_assert_ptr_nonnull(leader);
    nats_end(leader, SIGKILL);
    writers_wait(&writers, ALL / 2, 3 * ALL / 4);
    nats_start(leader);
    end_writers();
    cluster_fini(&cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_written_at_one_node_is_read_at_all);
    tcase_add_test(tc, a_commit_is_known_again_at_another_node);
    tcase_add_test(tc, events_are_complete_at_every_node);
    tcase_add_test(tc, large_commits_reach_all_nodes);
    tcase_add_test(tc, copies_reach_all_nodes);
    tcase_add_test(tc, a_node_that_joins_late_loads_snapshots);
    tcase_add_test(tc, a_node_that_cannot_hold_the_scene_of_a_snapshot_ends_with_one_line);
    tcase_add_test(tc, a_scene_wakes_beside_purges);
    tcase_add_test(tc, copies_of_two_nodes_onto_one_scene_come_one_after_the_other);
    tcase_add_test(tc, a_revision_that_another_node_has_shown_is_read_at_any);
    tcase_add_test(tc, a_request_waits_for_a_revision_until_it_is_published);
    tcase_add_test(tc, a_fresh_read_sees_what_a_plain_one_misses);
    tcase_add_test(tc, a_fresh_read_right_after_a_commit_elsewhere_sees_it);
    tcase_add_test(tc, a_read_waits_for_the_epoch_that_it_names);
    tcase_add_test(tc, whoever_waits_is_answered_when_the_node_ends);
    tcase_add_test(tc, a_revision_that_never_comes_is_refused_and_so_are_malformed_words);
    tcase_add_test(tc, without_the_servers_writes_are_refused_and_reads_go_on);
    tcase_add_test(tc, a_damaged_record_of_the_log_is_found);
    tcase_add_test(tc, nothing_is_lost_when_nodes_and_servers_end);
    suite_add_tcase(suite, tc);
    TCase *sleep = tcase_create("sleep");
    tcase_set_timeout(sleep, test_timeout(60));
    tcase_add_checked_fixture(sleep, setup_idle, teardown);
    tcase_add_test(sleep, a_node_holds_only_what_was_asked_of_it);
    tcase_add_test(sleep, a_scene_sleeps_when_nobody_asks_and_wakes_the_same);
    tcase_add_test(sleep, a_stream_of_events_wakes_a_scene_and_keeps_it);
    tcase_add_test(sleep, a_scene_that_sleeps_cannot_be_had_without_the_servers);
    suite_add_tcase(suite, sleep);
    TCase *servers = tcase_create("three servers");
    tcase_set_timeout(servers, test_timeout(90));
    tcase_add_test(servers, nothing_is_lost_when_the_leader_ends);
    suite_add_tcase(suite, servers);
    return test_main(suite);
}
