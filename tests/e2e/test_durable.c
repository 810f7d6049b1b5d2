/* Durable scenes: a daemon with --data that is stopped and started, and one that is killed while
 * clients write and read. */
#define _GNU_SOURCE /* NOLINT: unshare */
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNIT(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"
#define S       "/v1/scenes/s"

static char folder[64], data[96];
static struct test_daemon obbd;
static struct http_client *client;

/* With an option beside --data, and its value, if it has one. A slow machine may take its time. */
static void start_with(const char *option, const char *value)
{
    daemon_start(&obbd, (const char *[]){"--data", data, "--request-timeout", "600000", option,
                                         value, NULL});
    client = http_open(obbd.url);
    struct http_answer answer = {0};
    while (answer.status != 200) { /* until all scenes are loaded */
        http_send(client, "GET", "/readyz", NULL, NULL, &answer);
        if (answer.status != 200)
            test_rest(5);
    }
    http_answer_fini(&answer);
}

static void start(void) { start_with(NULL, NULL); }

static void stop(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&obbd), 0);
}

/* Kills the daemon. */
static void end_at_once(void)
{
    http_close(client);
    ck_assert_int_eq(kill(obbd.pid, SIGKILL), 0);
    ck_assert_int_eq(daemon_stop(&obbd), -1);
}

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-durable-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(data, sizeof data, "%s/data", folder);
    start();
}

static void teardown(void)
{
    stop();
    DIR *files = opendir(data);
    ck_assert_ptr_nonnull(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;)
        if (file->d_name[0] != '.')
            ck_assert_int_eq(unlink(test_text("%s/%s", data, file->d_name)), 0);
    (void)closedir(files);
    ck_assert_int_eq(rmdir(data), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- Restarts -------------------------------------------------------------------------------- */

/* All that can be read of the scene, with its headers that matter; owned by the caller. */
static char *picture_of(const char *scene)
{
    static const struct {
        const char *method, *path, *body;
    } looks[] = {
        {"GET", "", NULL},
        {"GET", "/export", NULL},
        {"GET", "/log?from=1", NULL},
        {"POST", "/query/all-pairs", "{\"by\":\"id\"}"},
        {"POST", "/query/point", "{\"points\":[[1,0,0]],\"at\":{\"time\":1015}}"},
        {"POST", "/query/point", "{\"points\":[[1,0,0]],\"at\":{\"revision\":2}}"},
    };
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        struct http_answer answer = {0};
        http_send(client, looks[i].method, test_text("/v1/scenes/%s%s", scene, looks[i].path), NULL,
                  looks[i].body, &answer);
        const char *epoch = http_header(&answer, "Obbd-Epoch");
        (void)fprintf(out, "%ld %s %s\n", answer.status, epoch != NULL ? epoch : "", answer.body);
        http_answer_fini(&answer);
    }
    (void)fclose(out);
    return text;
}

START_TEST(a_restart_changes_nothing_that_can_be_read)
{
    struct stat found;
    ck_assert_int_eq(stat(data, &found), 0);
    ck_assert_int_eq(found.st_mode & 0777, 0700);
    static const char *const commits[] = {
        "{\"time\":1000,\"put\":{\"a\":" UNIT(0) ",\"b\":" UNIT(9) ",\"gone\":" UNIT(50) "}}",
        "{\"time\":1010,\"pose\":{\"a\":{\"center\":[1,0,0]}},\"remove\":[\"gone\"]}",
        "{\"time\":1020,\"frames\":{\"f\":{\"center\":[0,5,0]}},\"put\":{\"in\":{\"center\":"
        "[1,0,0],\"half_extents\":[1,1,1],\"frame\":\"f\",\"entity\":\"e\",\"data\":{\"hp\":3}}}}",
        "{\"time\":1030,\"frames\":{\"f\":{\"center\":[0,6,0],\"teleport\":true}}}",
        "{\"time\":1040,\"put\":{\"brief\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"ttl\":"
        "100}},\"transform\":{\"b\":{\"rotate\":{\"axis\":[0,0,1],\"degrees\":30}}}}",
        "{\"time\":1050}",
    };
    expect(client, "PUT", S, "{\"history\":{\"span\":5000,\"commits\":100},\"record\":3}", 201,
           "{\"durable\":true}");
    for (size_t i = 0; i < sizeof commits / sizeof commits[0]; i++)
        expect(client, "POST", S "/commit", commits[i], 200, NULL);
    expect(client, "POST", S "/copy", "{\"to\":\"t\"}", 201, "{\"durable\":true}");
    expect(client, "PUT", "/v1/scenes/lobby", "{\"durable\":false}", 201, "{\"durable\":null}");
    expect(client, "PUT", "/v1/scenes/short", NULL, 201, NULL);
    expect(client, "DELETE", "/v1/scenes/short", NULL, 204, NULL);
    char *before[] = {picture_of("s"), picture_of("t")};
    ck_assert_ptr_nonnull(strstr(before[0], "\"revision\":5,\"hash\":")); /* the log */
    for (int times = 0; times < 2; times++) {
        stop();
        start();
        char *after[] = {picture_of("s"), picture_of("t")};
        for (int i = 0; i < 2; i++) {
            ck_assert_str_eq(before[i], after[i]);
            free(after[i]);
        }
        expect(client, "GET", "/v1/scenes/lobby", NULL, 404, NULL);
        expect(client, "GET", "/v1/scenes/short", NULL, 404, NULL);
        expect(client, "GET", "/v1/scenes", NULL, 200,
               "{\"scenes\":[{\"name\":\"s\",\"boxes\":4,\"revision\":5},"
               "{\"name\":\"t\",\"boxes\":4,\"revision\":1}]}");
    }
    free(before[0]);
    free(before[1]);
    /* ids, revisions, the clock and what expires go on */
    expect(client, "POST", S "/commit", "{\"time\":1040}", 409, NULL);
    expect(client, "POST", S "/commit", "{\"time\":1140,\"put\":{\"new\":" UNIT(70) "}}", 200,
           "{\"revision\":6,\"ids\":{\"new\":6},\"expired\":1}");
}
END_TEST

/* ... whatever the scene is that was copied. */
START_TEST(a_copy_is_as_durable_as_the_scene_that_it_replaces)
{
    expect(client, "PUT", "/v1/scenes/lobby", "{\"durable\":false}", 201, "{\"durable\":null}");
    expect(client, "PUT", "/v1/scenes/lobby/boxes/a", UNIT(0), 201, NULL);
    expect(client, "PUT", S "/boxes/b", UNIT(0), 201, NULL);
    expect(client, "PUT", "/v1/scenes/brief", "{\"durable\":false}", 201, NULL);
    expect(client, "POST", "/v1/scenes/lobby/copy", "{\"to\":\"s\",\"replace\":true}", 201,
           "{\"durable\":true,\"boxes\":1}");
    expect(client, "POST", "/v1/scenes/lobby/copy", "{\"to\":\"new\"}", 201,
           "{\"durable\":true,\"boxes\":1}");
    expect(client, "POST", S "/copy", "{\"to\":\"brief\",\"replace\":true}", 201,
           "{\"durable\":null,\"boxes\":1}");
    stop();
    start();
    expect(client, "GET", S "/boxes/a", NULL, 200, NULL);
    expect(client, "GET", "/v1/scenes/new/boxes/a", NULL, 200, NULL);
    expect(client, "GET", "/v1/scenes/brief", NULL, 404, NULL);
    expect(client, "GET", "/v1/scenes/lobby", NULL, 404, NULL);
}
END_TEST

START_TEST(a_commit_is_known_again_after_a_restart)
{
    static const char body[] = "{\"id\":\"shot-1\",\"time\":1000,\"put\":{\"a\":" UNIT(
        0) "},\"queries\":[{\"kind\":\"point\",\"points\":[[0,0,0]]}]}";
    expect(client, "POST", S "/commit", body, 200, "{\"revision\":1,\"repeated\":null}");
    stop();
    start();
    expect(client, "POST", S "/commit", body, 200,
           "{\"revision\":1,\"repeated\":true,\"put\":1,\"ids\":{\"a\":1}}");
    expect(client, "GET", S, NULL, 200, "{\"revision\":1}");
}
END_TEST

/* A scene with a snapshot, as every copy has one, forgets the id after 10 minutes. The id may then
 * come again, in a commit that only states a time. */
START_TEST(a_forgotten_id_may_come_again_in_a_scene_with_a_snapshot)
{
    expect(client, "POST", "/v1/scenes/first/commit", "{\"time\":0,\"put\":{\"a\":" UNIT(0) "}}",
           200, NULL);
    expect(client, "POST", "/v1/scenes/first/copy", "{\"to\":\"s\"}", 201, NULL);
    expect(client, "POST", S "/commit", "{\"id\":\"tick\",\"time\":1,\"put\":{\"b\":" UNIT(9) "}}",
           200, NULL);
    expect(client, "POST", S "/commit", "{\"time\":700000,\"put\":{\"c\":" UNIT(20) "}}", 200,
           NULL);
    expect(client, "POST", S "/commit", "{\"id\":\"tick\",\"time\":700001}", 200,
           "{\"revision\":3,\"time\":700001,\"repeated\":null}");
    end_at_once();
    start();
    expect(client, "GET", S, NULL, 200, "{\"revision\":3,\"time\":700001}");
    expect(client, "POST", S "/commit", "{\"id\":\"tick\",\"time\":700001}", 200,
           "{\"repeated\":true}");
    expect(client, "POST", S "/commit", "{\"time\":700002,\"put\":{\"d\":" UNIT(30) "}}", 200,
           NULL);
    end_at_once();
    start(); /* records behind it are not damage */
    expect(client, "GET", S, NULL, 200, "{\"revision\":4,\"time\":700002,\"boxes\":4}");
    expect(client, "GET", S "/log?from=2", NULL, 200, NULL);
}
END_TEST

static uint64_t metric(const char *name)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    const char *line = strstr(answer.body, test_text("\n%s ", name));
    ck_assert_ptr_nonnull(line);
    const uint64_t value = strtoull(line + strlen(name) + 2, NULL, 10);
    http_answer_fini(&answer);
    return value;
}

/* What scenes remember takes more than the memory limit of the next start. */
START_TEST(what_is_remembered_needs_no_room_at_a_start)
{
    enum { COMMITS = 100, MISSED = 2000, EACH = 100, LIMIT = 1 << 20 };
    static const char again[] = "{\"id\":\"c0\",\"put\":{\"b\":" UNIT(0) "}}";
    char *text = malloc((size_t)EACH * (MISSED + 2));
    ck_assert_ptr_nonnull(text);
    for (int n = 0; n < COMMITS; n++) { /* its outcome tells of each pose that was missed */
        char *at = text + snprintf(text, EACH,
                                   "{\"id\":\"c%d\",\"ignore_missing\":true,\"put\":{\"a%d\":" UNIT(
                                       0) "},\"pose\":{",
                                   n, n);
        for (int i = 0; i < MISSED; i++)
            at += snprintf(at, EACH, "%s\"m%d\":{\"center\":[0,0,0]}", i > 0 ? "," : "", i);
        (void)snprintf(at, EACH, "}}");
        expect(client, "POST", S "/commit", text, 200, NULL);
    }
    free(text);
    stop();
    start_with("--memory-limit", "1MiB");
    const uint64_t held = metric("obbd_in_flight_bytes");
    printf("%llu bytes are held\n", (unsigned long long)held);
    ck_assert_uint_gt(held, LIMIT);
    expect(client, "GET", S, NULL, 200, "{\"boxes\":100}");
    expect(client, "POST", S "/commit", again, 503, NULL);
    stop();
    start();
    expect(client, "POST", S "/commit", again, 422, NULL); /* it is known */
}
END_TEST

/* Returns the revision of the oldest state of the scene. */
static long oldest_of(const char *scene)
{
    static const char before[] = "\"oldest\":{\"revision\":";
    struct http_answer answer = {0};
    http_send(client, "GET", test_text("/v1/scenes/%s", scene), NULL, NULL, &answer);
    const char *oldest = strstr(answer.body, before);
    ck_assert_ptr_nonnull(oldest);
    const long revision = strtol(oldest + strlen(before), NULL, 10);
    http_answer_fini(&answer);
    return revision;
}

/* Also before the first write. A state that was given up does not answer again. */
START_TEST(a_start_keeps_to_the_limit_of_the_scenes)
{
    enum { COMMITS = 400, BOXES = 40 };
    const uint64_t limit = 1 << 20;
    static char text[BOXES * 100];
    static const char settings[] = "{\"history\":{\"span\":60000,\"commits\":4000}}";
    stop();
    start_with("--scene-memory", "1MiB");
    expect(client, "PUT", S, settings, 201, NULL);
    expect(client, "PUT", "/v1/scenes/small", settings, 201, NULL);
    expect(client, "PUT", "/v1/scenes/small/boxes/a", UNIT(0), 201, NULL);
    for (int n = 0; n < COMMITS; n++) {
        int length = sprintf(text, "{\"time\":%d,\"put\":{", n);
        for (int i = 0; i < BOXES; i++)
            length +=
                sprintf(text + length, "%s\"b%d\":{\"center\":[%d,%d,0],\"half_extents\":[1,1,1]}",
                        i > 0 ? "," : "", i, i, n);
        (void)sprintf(text + length, "}}");
        expect(client, "POST", S "/commit", text, 200, NULL);
    }
    const long before = oldest_of("s");
    ck_assert_int_gt(before, COMMITS / 4);
    end_at_once();
    start_with("--scene-memory", "1MiB");
    const long after = oldest_of("s");
    printf("the oldest states before and after the start are %ld and %ld\n", before, after);
    ck_assert_uint_le(metric("obbd_scene_bytes"), limit);
    ck_assert_uint_ge(metric("obbd_scene_bytes"), limit / 10 * 9);
    ck_assert_int_gt(after, COMMITS / 4);
    ck_assert_int_eq(oldest_of("small"), 0);
    expect(client, "POST", S "/query/point", "{\"points\":[[0,2,0]],\"at\":{\"revision\":2}}", 410,
           NULL);
}
END_TEST

/* All scenes of the folder are there. New ones have no room; those that are there change, and
 * copies replace them. */
START_TEST(a_lower_limit_of_scenes_is_for_new_ones)
{
    expect(client, "PUT", S "/boxes/a", UNIT(0), 201, NULL);
    expect(client, "PUT", "/v1/scenes/t/boxes/b", UNIT(1), 201, NULL);
    expect(client, "PUT", "/v1/scenes/u/boxes/c", UNIT(2), 201, NULL);
    stop();
    start_with("--scene-limit", "1");
    expect(client, "GET", "/v1/scenes", NULL, 200,
           "{\"scenes\":[{\"name\":\"s\"},{\"name\":\"t\"},{\"name\":\"u\"}]}");
    expect(client, "PUT", "/v1/scenes/new", NULL, 413, NULL);
    expect(client, "POST", S "/copy", "{\"to\":\"new\"}", 413, NULL);
    expect(client, "PUT", S "/boxes/b", UNIT(9), 201, NULL);
    expect(client, "POST", S "/copy", "{\"to\":\"t\",\"replace\":true}", 201, "{\"boxes\":2}");
    expect(client, "DELETE", "/v1/scenes/u", NULL, 204, NULL);
    expect(client, "PUT", "/v1/scenes/u", NULL, 413, NULL); /* two are still too many */
    stop();
    start_with("--scene-limit", "1");
    expect(client, "GET", "/v1/scenes/t", NULL, 200, "{\"boxes\":2}");
}
END_TEST

START_TEST(a_second_daemon_on_the_folder_is_refused)
{
    char out[256], err[512];
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--data", data, NULL};
    ck_assert_int_eq(daemon_run(arguments, out, sizeof out, err, sizeof err), 1);
    ck_assert_msg(strchr(err, '\n') == err + strlen(err) - 1, "%s", err);
    ck_assert_msg(strstr(err, data) != NULL, "%s", err);
}
END_TEST

START_TEST(the_demo_leaves_a_kept_scene_of_its_name_alone)
{
    expect(client, "PUT", "/v1/scenes/demo/boxes/a", UNIT(1), 201, NULL);
    stop();
    start_with("--demo", NULL);
    expect(client, "GET", "/v1/scenes/demo", NULL, 200, "{\"boxes\":1}");
    expect(client, "PUT", "/v1/scenes/demo/boxes/b", UNIT(2), 201, NULL);
    stop();
    start_with("--demo", NULL);
    expect(client, "GET", "/v1/scenes/demo", NULL, 200, "{\"boxes\":2,\"revision\":2}");
    expect(client, "DELETE", "/v1/scenes/demo", NULL, 204, NULL);
    stop();
    start_with("--demo", NULL); /* its own scene is in memory */
    expect(client, "GET", "/v1/scenes/demo/boxes/pillar-1", NULL, 200, NULL);
    stop();
    start();
    expect(client, "GET", "/v1/scenes/demo", NULL, 404, NULL);
}
END_TEST

/* Nothing is done to either: the daemon ends with one line. */
START_TEST(a_replay_does_not_begin_in_a_kept_scene)
{
    char out[600], err[600];
    struct http_answer log = {0};
    char path[96];
    (void)snprintf(path, sizeof path, "%s/log", folder);
    expect(client, "PUT", S, "{\"history\":{\"span\":60000,\"commits\":100}}", 201, NULL);
    expect(client, "PUT", S "/boxes/a", UNIT(1), 201, NULL);
    expect(client, "PUT", S "/boxes/b", UNIT(2), 201, NULL);
    http_send(client, "GET", S "/log?from=1", NULL, NULL, &log);
    ck_assert_int_eq(log.status, 200);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(log.body, 1, log.length, file), log.length);
    ck_assert_int_eq(fclose(file), 0);
    http_answer_fini(&log);
    char *before = picture_of("s");
    stop();
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--data", data,
                                     "--replay", path,          NULL};
    ck_assert_int_eq(daemon_run(arguments, out, sizeof out, err, sizeof err), 1);
    ck_assert_str_eq(err, test_text("obbd: --data %s: scene \"s\": --replay makes a scene of this "
                                    "name, too\n",
                                    data));
    start();
    char *after = picture_of("s");
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    /* once it is gone, the play begins, and is in memory */
    expect(client, "DELETE", S, NULL, 204, NULL);
    stop();
    start_with("--replay", path);
    expect(client, "GET", S "/boxes/a", NULL, 200, NULL);
    stop();
    start();
    expect(client, "GET", S, NULL, 404, NULL);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Reads the stream behind `last` up to the commit of revision 5. Returns its messages, owned. */
static char *messages_behind(const char *topics, const char *last)
{
    struct follower f;
    struct follower_message message;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    follower_open(&f, daemon_dial(&obbd), test_text(S "/events?topics=%s", topics), last);
    do {
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        (void)fprintf(out, "%s %s %s\n", message.event, message.id_text, message.data);
    } while (strcmp(message.event, "commit") != 0 || message.id < 5);
    follower_close(&f);
    (void)fclose(out);
    return text;
}

/* The client returns after a restart, says what it saw last, and misses nothing. */
static void follow_over_restart(bool killed_at_once)
{
    static const char *const topics[] = {"commits", "boxes,commits", "collisions,commits"};
    enum { TOPICS = sizeof topics / sizeof topics[0] };
    struct follower f;
    struct follower_message message;
    char last[64], *before[TOPICS];
    expect(client, "PUT", S, "{\"history\":{\"span\":5000,\"commits\":4}}", 201, NULL);
    follower_open(&f, daemon_dial(&obbd), S "/events?topics=commits", NULL);
    follower_await(&f);
    for (int i = 1; i <= 5; i++)
        expect(client, "POST", S "/commit",
               test_text("{\"time\":%d,\"put\":{\"a\":" UNIT(0) ",\"b\":{\"center\":[%d.5,0,0],"
                                                                "\"half_extents\":[1,1,1]}}}",
                         1000 + i, i % 2 * 5),
               200, NULL);
    do
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    while (strcmp(message.event, "commit") != 0 || message.id < 2);
    ck_assert_int_eq(message.id, 2);
    (void)snprintf(last, sizeof last, "%s", message.id_text);
    follower_close(&f);
    for (size_t i = 0; i < TOPICS; i++)
        before[i] = messages_behind(topics[i], last);
    ck_assert_ptr_null(strstr(before[0], "state")); /* the history reaches */
    ck_assert_ptr_nonnull(strstr(before[0], "\"revision\":3"));
    if (killed_at_once)
        end_at_once();
    else
        stop();
    start();
    for (size_t i = 0; i < TOPICS; i++) {
        char *after = messages_behind(topics[i], last);
        ck_assert_str_eq(before[i], after);
        free(after);
        free(before[i]);
    }
    /* what comes behind it, and a client of a state that the history has not any more */
    follower_open(&f, daemon_dial(&obbd), S "/events?topics=commits", last);
    expect(client, "POST", S "/commit", "{\"time\":1006,\"remove\":[\"a\"]}", 200, NULL);
    for (long revision = 3; revision <= 6; revision++) {
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        ck_assert_str_eq(message.event, "commit");
        ck_assert_int_eq(message.id, revision);
    }
    follower_close(&f);
    last[0] = '1';
    follower_open(&f, daemon_dial(&obbd), S "/events?topics=commits", last);
    ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    ck_assert_str_eq(message.event, "state");
    follower_close(&f);
    expect(client, "DELETE", S, NULL, 204, NULL);
}

START_TEST(an_event_stream_goes_on_over_a_restart)
{
    follow_over_restart(false);
    follow_over_restart(true);
}
END_TEST

/* ---- Kills ----------------------------------------------------------------------------------- */

enum { WRITERS = 4, SCENES = 2 };

/* One client that writes. Each commit puts two boxes of the same place, so that half a commit would
 * be seen. */
static struct writer {
    pthread_t thread;
    size_t number;
    uint64_t sent, acknowledged; /* commits; at most one is not acknowledged */
    int socket;
} writers[WRITERS];

static atomic_bool killed;
static _Atomic uint64_t seen[WRITERS]; /* the last commit of each that a reader saw */
static size_t reads, unknown, repeated;

static const char *commit_text(const struct writer *w, uint64_t n)
{
    char body[512];
    const size_t k = w->number;
    const int length = snprintf(
        body, sizeof body,
        "{\"id\":\"%zu-%llu\",\"put\":{\"w%zu\":{\"center\":[%llu,0,0],\"half_extents\":[1,1,1]},"
        "\"w%zu-%llu\":{\"center\":[%llu,0,0],\"half_extents\":[1,1,1]}}}",
        k, (unsigned long long)n, k, (unsigned long long)n, k, (unsigned long long)(n % 20),
        (unsigned long long)n);
    return test_text("POST /v1/scenes/s%zu/commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                     "application/json\r\nContent-Length: %d\r\n\r\n%s",
                     k % SCENES, length, body);
}

/* Sends one commit until it is acknowledged or the daemon is gone. */
static bool write_one(struct writer *w, uint64_t n)
{
    char answer[4096];
    int status = 503;
    while (status == 503) {
        status = dial_exchange(w->socket, commit_text(w, n), answer, sizeof answer);
        if (status == 503)
            test_rest(5);
    }
    if (status == 0)
        return false;
    ck_assert_msg(status == 200, "%s", answer);
    if (strstr(answer, "\"repeated\":true") != NULL)
        repeated++;
    w->acknowledged = n;
    return true;
}

static void *write_all(void *context)
{
    struct writer *w = context;
    w->socket = daemon_dial(&obbd);
    while (w->socket >= 0 && !atomic_load(&killed)) {
        w->sent++;
        if (!write_one(w, w->sent))
            break;
    }
    if (w->socket >= 0)
        close(w->socket);
    return NULL;
}

/* What is seen is durable: it must be there after a kill. */
static void *read_all(void *context)
{
    (void)context;
    const int socket = daemon_dial(&obbd);
    char answer[4096];
    for (size_t turn = 0; socket >= 0 && !atomic_load(&killed); turn++) {
        const size_t k = turn % WRITERS;
        const char *text = test_text("GET /v1/scenes/s%zu/boxes/w%zu HTTP/1.1\r\nHost: localhost"
                                     "\r\n\r\n",
                                     k % SCENES, k);
        const int status = dial_exchange(socket, text, answer, sizeof answer);
        if (status == 0)
            break;
        const char *center = strstr(answer, "\"center\":[");
        if (status == 200 && center != NULL) {
            const uint64_t n = strtoull(center + 10, NULL, 10);
            if (n > atomic_load(&seen[k]))
                atomic_store(&seen[k], n);
            reads++;
        }
    }
    if (socket >= 0)
        close(socket);
    return NULL;
}

/* Returns the commit that a box is at; 0: there is no such box. */
static uint64_t commit_of(const char *scene, const char *box)
{
    struct http_answer answer = {0};
    uint64_t n = 0;
    http_send(client, "GET", test_text("/v1/scenes/%s/boxes/%s", scene, box), NULL, NULL, &answer);
    if (answer.status == 200)
        n = strtoull(strstr(answer.body, "\"center\":[") + 10, NULL, 10);
    http_answer_fini(&answer);
    return n;
}

static uint64_t revision_of(const char *scene)
{
    struct http_answer answer = {0};
    http_send(client, "GET", test_text("/v1/scenes/%s", scene), NULL, NULL, &answer);
    const char *field = answer.status == 200 ? strstr(answer.body, "\"revision\":") : NULL;
    const uint64_t revision = field != NULL ? strtoull(field + 11, NULL, 10) : 0;
    http_answer_fini(&answer);
    return revision;
}

/* After a kill: all that was acknowledged or seen is there, and what was not acknowledged is there
 * whole or not at all. Each commit raised the revision of its scene by one. */
static void check_writers(void)
{
    static const char *const scenes[SCENES] = {"s0", "s1"};
    uint64_t commits[SCENES] = {0};
    for (size_t k = 0; k < WRITERS; k++) {
        struct writer *w = &writers[k];
        const char *scene = scenes[k % SCENES];
        const uint64_t n = commit_of(scene, test_text("w%zu", k));
        ck_assert_msg(n >= w->acknowledged && n <= w->sent && n >= atomic_load(&seen[k]),
                      "writer %zu: sent %llu, acknowledged %llu, seen %llu, found %llu", k,
                      (unsigned long long)w->sent, (unsigned long long)w->acknowledged,
                      (unsigned long long)atomic_load(&seen[k]), (unsigned long long)n);
        if (n > 0)
            ck_assert_uint_eq(
                commit_of(scene, test_text("w%zu-%llu", k, (unsigned long long)n % 20)), n);
        commits[k % SCENES] += n;
        unknown += w->sent > w->acknowledged;
    }
    for (size_t s = 0; s < SCENES; s++)
        ck_assert_uint_eq(revision_of(scenes[s]), commits[s]);
}

static uint64_t all_acknowledged(void)
{
    uint64_t commits = 0;
    for (size_t k = 0; k < WRITERS; k++)
        commits += writers[k].acknowledged;
    return commits;
}

/* Returns whether enough was written, read and left without an answer. A busy machine does little
 * before each kill, and needs more of them. */
static bool is_enough(size_t rounds)
{
    return all_acknowledged() > 4 * rounds && reads > rounds && unknown > rounds;
}

START_TEST(a_kill_loses_nothing_that_was_acknowledged_or_seen)
{
    const size_t rounds = test_effort(5);
    size_t round = 0;
    test_rng rng = {16};
    for (size_t k = 0; k < WRITERS; k++)
        writers[k] = (struct writer){.number = k};
    for (; round < rounds || !is_enough(rounds); round++) {
        pthread_t reader;
        atomic_store(&killed, false);
        for (size_t k = 0; k < WRITERS; k++)
            ck_assert_int_eq(pthread_create(&writers[k].thread, NULL, write_all, &writers[k]), 0);
        ck_assert_int_eq(pthread_create(&reader, NULL, read_all, NULL), 0);
        test_rest(20 + (long)test_below(&rng, 300));
        http_close(client);
        ck_assert_int_eq(kill(obbd.pid, SIGKILL), 0);
        atomic_store(&killed, true);
        for (size_t k = 0; k < WRITERS; k++)
            (void)pthread_join(writers[k].thread, NULL);
        (void)pthread_join(reader, NULL);
        ck_assert_int_eq(daemon_stop(&obbd), -1);
        char out[512], err[512];
        if (round % 2 == 1) /* looking changes nothing */
            ck_assert_int_eq(daemon_run((const char *[]){"--check-data", data, NULL}, out,
                                        sizeof out, err, sizeof err),
                             0);
        start();
        check_writers();
        for (size_t k = 0; k < WRITERS; k++) { /* the last commit is sent again, and applied once */
            writers[k].socket = daemon_dial(&obbd);
            if (writers[k].sent > 0)
                ck_assert(write_one(&writers[k], writers[k].sent));
            close(writers[k].socket);
        }
        check_writers();
    }
    printf("%zu kills, %llu commits, %zu reads, %zu without an answer, %zu were applied already\n",
           round, (unsigned long long)all_acknowledged(), reads, unknown, repeated);
}
END_TEST

/* ---- Kills beside copies --------------------------------------------------------------------- */

static uint64_t copies_sent;
static _Atomic uint64_t copies_acknowledged;

/* Sends a request with a body; returns whether it was answered, with one of two statuses. */
static bool post(int socket, const char *path, const char *body, int status, int other)
{
    char answer[4096];
    const char *text = test_text("POST /v1/scenes/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                 "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                 path, strlen(body), body);
    const int got = dial_exchange(socket, text, answer, sizeof answer);
    ck_assert_msg(got == 0 || got == status || got == other, "%s", answer);
    return got != 0;
}

/* Changes one scene, and puts a copy of it in the place of another, again and again. */
static void *copy_all(void *context)
{
    const int socket = daemon_dial(&obbd);
    (void)context;
    while (socket >= 0 && !atomic_load(&killed)) {
        char body[200];
        const unsigned long long n = copies_sent + 1;
        (void)snprintf(body, sizeof body,
                       "{\"put\":{\"a\":{\"center\":[%llu,0,0],\"half_extents\":[1,1,1]},\"b\":{"
                       "\"center\":[%llu,0,0],\"half_extents\":[1,1,1]}}}",
                       n, n);
        if (!post(socket, "from/commit", body, 200, 200))
            break;
        copies_sent = n;
        if (!post(socket, "from/copy", "{\"to\":\"to\",\"replace\":true}", 201, 200))
            break;
        atomic_store(&copies_acknowledged, n);
    }
    if (socket >= 0)
        close(socket);
    return NULL;
}

START_TEST(a_kill_beside_a_copy_leaves_the_former_scene_or_the_copy)
{
    const size_t rounds = test_effort(12);
    size_t former = 0, later = 0, round = 0;
    test_rng rng = {17};
    for (; round < rounds || former + later == 0; round++) {
        pthread_t writer;
        char out[600], err[600];
        atomic_store(&killed, false);
        const uint64_t until = atomic_load(&copies_acknowledged) + 1 + test_below(&rng, 10);
        ck_assert_int_eq(pthread_create(&writer, NULL, copy_all, NULL), 0);
        while (atomic_load(&copies_acknowledged) < until)
            test_rest(1);
        test_rest((long)test_below(&rng, 20));
        end_at_once();
        atomic_store(&killed, true);
        (void)pthread_join(writer, NULL);
        ck_assert_int_eq(daemon_run((const char *[]){"--check-data", data, NULL}, out, sizeof out,
                                    err, sizeof err),
                         0);
        ck_assert_msg(strstr(out, "that copies have replaced") == NULL, "%s", out);
        start();
        const uint64_t n = commit_of("to", "a"), acknowledged = atomic_load(&copies_acknowledged);
        ck_assert_uint_eq(commit_of("to", "b"), n);
        ck_assert_msg(n >= acknowledged && n <= copies_sent,
                      "sent %llu, acknowledged %llu, found %llu", (unsigned long long)copies_sent,
                      (unsigned long long)acknowledged, (unsigned long long)n);
        former += n < copies_sent;
        later += n > acknowledged;
        copies_sent = commit_of("from", "a");
        atomic_store(&copies_acknowledged, n);
        expect(client, "GET", "/v1/scenes", NULL, 200,
               n == 0 ? "{\"scenes\":[{\"name\":\"from\"}]}"
                      : "{\"scenes\":[{\"name\":\"from\"},{\"name\":\"to\",\"boxes\":2}]}");
    }
    printf("%zu kills, %llu copies: %zu left the former scene, %zu a copy that was not answered\n",
           round, (unsigned long long)atomic_load(&copies_acknowledged), former, later);
}
END_TEST

/* ---- Syncs and answers ----------------------------------------------------------------------- */

/* Makes a program that runs the daemon under strace, which writes its calls to a file. The daemon
 * keeps its process id. A sanitizer cannot look for leaks while it is traced. */
static void make_tracer(const char *path, const char *calls)
{
    const char *program = getenv("OBBD");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fprintf(file,
                  "#!/bin/sh\nexport ASAN_OPTIONS=detect_leaks=0\nexec strace -D -f -s 16 -o %s -e "
                  "trace=fdatasync,fsync,sendmsg,sendto,write,writev %s \"$@\"\n",
                  calls, program != NULL ? program : "build/obbd");
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
}

/* Returns whether a line of strace tells of a sync that has ended well. */
static bool ends_a_sync(const char *line)
{
    return strstr(line, "sync") != NULL && strstr(line, "= 0") != NULL;
}

START_TEST(an_answer_is_sent_after_the_sync_of_its_commit)
{
    enum { COMMITS = 40 };
    char tracer[96], calls[96], line[512];
    const char *set = getenv("OBBD");
    char *former = set != NULL ? strdup(set) : NULL;
    size_t answers = 0, syncs = 0, since = 0;
    (void)snprintf(tracer, sizeof tracer, "%s/tracer", folder);
    (void)snprintf(calls, sizeof calls, "%s/calls", folder);
    make_tracer(tracer, calls);
    stop();
    ck_assert_int_eq(setenv("OBBD", tracer, 1), 0);
    start();
    for (int i = 0; i < COMMITS; i++)
        expect(client, "POST", S "/commit",
               test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", i),
               200, test_text("{\"revision\":%d}", i + 1));
    stop();
    if (former != NULL)
        ck_assert_int_eq(setenv("OBBD", former, 1), 0);
    else
        ck_assert_int_eq(unsetenv("OBBD"), 0);
    free(former);
    FILE *file = fopen(calls, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const bool sync = ends_a_sync(line);
        syncs += sync;
        since += sync;
        if (strstr(line, "\"HTTP/1.1 200 OK") == NULL)
            continue;
        answers++;
        if (answers > 1) /* the first one is of /readyz */
            ck_assert_msg(since > 0, "answer %zu has no sync before it", answers);
        since = 0;
    }
    ck_assert_int_eq(fclose(file), 0);
    printf("%zu answers, %zu syncs\n", answers, syncs);
    ck_assert_uint_eq(answers, COMMITS + 1);
    ck_assert_uint_ge(syncs, COMMITS);
    ck_assert_int_eq(unlink(tracer), 0);
    ck_assert_int_eq(unlink(calls), 0);
    start();
}
END_TEST

/* ---- Imports and ticks ----------------------------------------------------------------------- */

enum { IMPORTED = 30000 };

static char *import_text; /* owned: the whole request */
static atomic_int import_status;

static void make_import(void)
{
    enum { LINE = 90, ROOM = 300 };
    char *body = malloc((size_t)IMPORTED * LINE + ROOM), *at = body;
    ck_assert_ptr_nonnull(body);
    at += sprintf(at,
                  "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"boxes\":%d,"
                  "\"history\":{\"span\":0,\"commits\":0}}\n",
                  IMPORTED);
    for (int i = 0; i < IMPORTED; i++)
        at += sprintf(at, "{\"name\":\"b%d\",\"center\":[%d,0,0],\"half_extents\":[1,1,1]}\n", i,
                      3 * i);
    const size_t length = (size_t)(at - body);
    import_text = malloc(length + ROOM);
    ck_assert_ptr_nonnull(import_text);
    (void)snprintf(import_text, length + ROOM,
                   "POST /v1/scenes/large/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                   "application/x-ndjson\r\nContent-Length: %zu\r\n\r\n%s",
                   length, body);
    free(body);
}

static void *import_large(void *context)
{
    char answer[4096];
    const int socket = daemon_dial(&obbd);
    (void)context;
    atomic_store(&import_status, dial_exchange(socket, import_text, answer, sizeof answer));
    close(socket);
    return NULL;
}

/* Returns whether the scene is there; if so, it is whole. */
static bool large_is_there(void)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/v1/scenes/large", NULL, NULL, &answer);
    const bool there = answer.status == 200;
    http_answer_fini(&answer);
    if (there)
        expect(client, "GET", "/v1/scenes/large", NULL, 200,
               test_text("{\"boxes\":%d,\"revision\":1}", IMPORTED));
    return there;
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

START_TEST(an_import_that_is_cut_short_is_there_whole_or_not_at_all)
{
    const size_t rounds = test_effort(8);
    size_t absent = 0, present = 0, round = 0;
    test_rng rng = {18};
    make_import();
    const double begun = now_ms();
    (void)import_large(NULL);
    ck_assert_int_eq(atomic_load(&import_status), 201);
    const double taken = now_ms() - begun;
    for (; round < rounds || absent == 0; round++) {
        pthread_t importer;
        expect(client, "DELETE", "/v1/scenes/large", NULL, 204, NULL);
        atomic_store(&import_status, 0);
        ck_assert_int_eq(pthread_create(&importer, NULL, import_large, NULL), 0);
        test_rest((long)(taken * test_uniform(&rng, 0, 1.2)));
        if (round % 2 == 0)
            end_at_once();
        else
            stop();
        (void)pthread_join(importer, NULL);
        start();
        const bool there = large_is_there();
        ck_assert(there || atomic_load(&import_status) != 201);
        if (!there) {
            (void)import_large(NULL);
            ck_assert_int_eq(atomic_load(&import_status), 201);
            ck_assert(large_is_there());
        }
        absent += !there;
        present += there;
    }
    free(import_text);
    printf("%zu imports were cut short: %zu are not there, %zu are\n", round, absent, present);
}
END_TEST

/* Moves so many boxes of the scene of ticks, which it makes. */
static void tick(uint64_t n)
{
    enum { BOXES = 1000, LINE = 80 };
    static char body[BOXES * LINE + 100];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"%s\":{", n == 1 ? "put" : "pose");
    for (int i = 0; i < BOXES; i++)
        length +=
            (size_t)snprintf(body + length, sizeof body - length,
                             "%s\"t%d\":{\"center\":[%d,%llu,0]%s}", i > 0 ? "," : "", i, 3 * i,
                             (unsigned long long)n, n == 1 ? ",\"half_extents\":[1,1,1]" : "");
    (void)snprintf(body + length, sizeof body - length, "}}");
    expect(client, "POST", "/v1/scenes/ticks/commit", body, 200,
           test_text("{\"revision\":%llu}", (unsigned long long)n));
}

START_TEST(ticks_go_on_beside_snapshots)
{
    enum { SNAPSHOTS = 3, FEWEST = 100, MOST = 2000 };
    pthread_t importer;
    uint64_t n = 0, snapshots = 0;
    make_import();
    tick(++n);
    ck_assert_int_eq(pthread_create(&importer, NULL, import_large, NULL), 0);
    for (; n < FEWEST || snapshots < SNAPSHOTS;
         snapshots = metric("obbd_journal_snapshots_total")) {
        tick(++n);
        ck_assert_uint_lt(n, MOST);
    }
    (void)pthread_join(importer, NULL);
    free(import_text);
    ck_assert_int_eq(atomic_load(&import_status), 201);
    end_at_once();
    start();
    expect(client, "GET", "/v1/scenes/ticks", NULL, 200,
           test_text("{\"revision\":%llu,\"boxes\":1000}", (unsigned long long)n));
    expect(client, "GET", "/v1/scenes/ticks/boxes/t999", NULL, 200,
           test_text("{\"center\":[2997,%llu,0]}", (unsigned long long)n));
    ck_assert(large_is_there());
    printf("%llu ticks without a pause, and %llu snapshots\n", (unsigned long long)n,
           (unsigned long long)snapshots);
}
END_TEST

/* ---- A full disk ----------------------------------------------------------------------------- */

/* Mounts a small disk of its own for this process and its children. Returns false if the system
 * does not allow that. */
static bool mount_small(void)
{
    const unsigned user = getuid();
    if (unshare(CLONE_NEWNS | (user != 0 ? CLONE_NEWUSER : 0)) != 0)
        return false;
    if (user != 0) { /* the user goes on as root of a namespace of its own */
        FILE *map = fopen("/proc/self/uid_map", "w");
        const bool good = map != NULL && fprintf(map, "0 %u 1", user) > 0 && fclose(map) == 0;
        if (!good)
            return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=96m") == 0;
}

/* Puts boxes with long data. Returns the status of the answer. */
static long put_many(unsigned n)
{
    enum { BOXES = 400, DATA = 1000 };
    static char body[BOXES * (DATA + 200)];
    static char text[DATA];
    memset(text, 'x', sizeof text - 1);
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (unsigned i = 0; i < BOXES; i++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "%s\"b%u-%u\":{\"center\":[%u,%u,0],\"half_extents\":[1,1,1],"
                                   "\"data\":\"%s\"}",
                                   i > 0 ? "," : "", n, i, 4 * i, 4 * n, text);
    (void)snprintf(body + length, sizeof body - length, "}}");
    struct http_answer answer = {0};
    http_send(client, "POST", S "/commit", NULL, body, &answer);
    const long status = answer.status;
    ck_assert_msg(status == 200 || status == 507 || status == 503, "%ld %s", status, answer.body);
    if (status == 503)
        printf("%s\n", answer.body);
    http_answer_fini(&answer);
    return status;
}

/* Makes a folder on a small disk, which a ballast fills in part. Returns false if the system does
 * not allow that. */
static bool begin_small(char ballast[static 96])
{
    static char megabyte[1 << 20];
    (void)snprintf(folder, sizeof folder, "%s/obbd-full-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    if (!mount_small()) {
        printf("no small disk can be mounted here: SKIPPED\n");
        ck_assert_int_eq(rmdir(folder), 0);
        return false;
    }
    (void)snprintf(data, sizeof data, "%s/data", folder);
    (void)snprintf(ballast, 96, "%s/ballast", folder);
    FILE *file = fopen(ballast, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 40; i++)
        ck_assert_uint_eq(fwrite(megabyte, sizeof megabyte, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    return true;
}

static void end_small(void)
{
    ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Puts boxes until the disk is full, and sees that what was refused is not there. Returns how many
 * puts were answered. */
static unsigned put_until_full(void)
{
    enum { MOST = 200 };
    unsigned good = 0;
    long status;
    while ((status = put_many(good)) == 200) {
        good++;
        ck_assert_uint_lt(good, MOST);
    }
    ck_assert_int_eq(status, 507);
    expect(client, "GET", S, NULL, 200,
           test_text("{\"revision\":%u,\"boxes\":%u}", good, good * 400));
    return good;
}

START_TEST(a_full_disk_refuses_changes_until_there_is_room)
{
    char ballast[96];
    if (!begin_small(ballast))
        return;
    start();
    const unsigned good = put_until_full();
    expect(client, "GET", S "/boxes/b0-0", NULL, 200, "{\"changed\":1}");
    ck_assert_int_eq(unlink(ballast), 0);
    while (put_many(1000) != 200) /* without a restart */
        test_rest(10);
    expect(client, "GET", S, NULL, 200, test_text("{\"revision\":%u}", good + 1));
    /* how far back the log goes depends on when snapshots are made */
    struct http_answer written = {0}, after = {0};
    http_send(client, "GET", S "/export", NULL, NULL, &written);
    stop();
    start();
    http_send(client, "GET", S "/export", NULL, NULL, &after);
    ck_assert_int_eq(written.status, 200);
    ck_assert(after.status == 200 && strcmp(written.body, after.body) == 0);
    http_answer_fini(&written);
    http_answer_fini(&after);
    stop();
    printf("%u commits of 400 boxes until the disk was full\n", good);
    ck_assert_uint_gt(good, 0);
    end_small();
}
END_TEST

/* Takes all room that the small disk has left, also what was given up since the last call. */
static void fill(FILE *filler)
{
    static char page[4096];
    while (fwrite(page, sizeof page, 1, filler) == 1 && fflush(filler) == 0)
        ;
    clearerr(filler);
}

/* Commits are answered at once. Those that the disk then has no room for are tried until the end,
 * and further ones are refused. */
START_TEST(a_disk_that_stays_full_does_not_hold_up_the_end)
{
    enum { TIMES = 10, REST_MS = 30 };
    char ballast[96], path[112];
    if (!begin_small(ballast))
        return;
    start_with("--sync", "10");
    (void)snprintf(path, sizeof path, "%s/filler", folder);
    FILE *filler = fopen(path, "w");
    ck_assert_ptr_nonnull(filler);
    unsigned commits = 0;
    for (int broken = 0; broken < TIMES; commits++) {
        ck_assert_uint_lt(commits, 200);
        (void)put_many(commits);
        fill(filler);
        test_rest(REST_MS);
        broken = metric("obbd_journal_broken") != 0 ? broken + 1 : 0;
    }
    ck_assert_int_eq(put_many(commits), 507);
    http_close(client);
    const double begun = now_ms();
    ck_assert_int_eq(daemon_stop(&obbd), 1);
    const double took = now_ms() - begun;
    printf("it ended after %.0f ms\n", took);
    ck_assert_double_lt(took, test_timeout(5) * 1000);
    (void)fclose(filler);
    ck_assert_int_eq(unlink(path), 0);
    start(); /* what is there is a beginning */
    struct http_answer answer = {0};
    http_send(client, "GET", S, NULL, NULL, &answer);
    ck_assert(answer.status == 200 || answer.status == 404);
    http_answer_fini(&answer);
    stop();
    end_small();
}
END_TEST

/* Starts the daemon, whose files may be so long and no longer, until the limit is raised. */
static void start_limited(rlim_t bytes)
{
    struct rlimit former;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &former), 0);
    const struct rlimit low = {.rlim_cur = bytes, .rlim_max = former.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    start(); /* it inherits the limit */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &former), 0);
}

/* `ulimit -f` is to the journal what a full disk is. */
START_TEST(a_limit_of_the_length_of_files_is_a_full_disk)
{
    enum { LIMIT = 24 << 20 }; /* more than the spare file takes */
    stop();
    start_limited(LIMIT);
    if (obbd.process != obbd.pid) {
        printf("the daemon does not inherit the limit here: SKIPPED\n");
        return;
    }
    const unsigned good = put_until_full();
    struct rlimit own;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &own), 0);
    ck_assert_int_eq(prlimit(obbd.pid, RLIMIT_FSIZE, &own, NULL), 0);
    while (put_many(1000) != 200) /* without a restart */
        test_rest(10);
    stop();
    start();
    expect(client, "GET", S, NULL, 200,
           test_text("{\"revision\":%u,\"boxes\":%u}", good + 1, good * 400 + 400));
    printf("%u commits of 400 boxes until the files were as long as they may be\n", good);
    ck_assert_uint_gt(good, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("durable");
    TCase *tc = tcase_create("durable");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(120));
    tcase_add_test(tc, a_restart_changes_nothing_that_can_be_read);
    tcase_add_test(tc, a_copy_is_as_durable_as_the_scene_that_it_replaces);
    tcase_add_test(tc, a_commit_is_known_again_after_a_restart);
    tcase_add_test(tc, a_forgotten_id_may_come_again_in_a_scene_with_a_snapshot);
    tcase_add_test(tc, what_is_remembered_needs_no_room_at_a_start);
    tcase_add_test(tc, a_start_keeps_to_the_limit_of_the_scenes);
    tcase_add_test(tc, a_lower_limit_of_scenes_is_for_new_ones);
    tcase_add_test(tc, a_second_daemon_on_the_folder_is_refused);
    tcase_add_test(tc, the_demo_leaves_a_kept_scene_of_its_name_alone);
    tcase_add_test(tc, a_replay_does_not_begin_in_a_kept_scene);
    tcase_add_test(tc, a_kill_loses_nothing_that_was_acknowledged_or_seen);
    tcase_add_test(tc, an_event_stream_goes_on_over_a_restart);
    tcase_add_test(tc, an_answer_is_sent_after_the_sync_of_its_commit);
    tcase_add_test(tc, an_import_that_is_cut_short_is_there_whole_or_not_at_all);
    tcase_add_test(tc, ticks_go_on_beside_snapshots);
    tcase_add_test(tc, a_kill_beside_a_copy_leaves_the_former_scene_or_the_copy);
    tcase_add_test(tc, a_limit_of_the_length_of_files_is_a_full_disk);
    suite_add_tcase(suite, tc);
    TCase *full = tcase_create("full");
    tcase_set_timeout(full, test_patience(120));
    tcase_add_test(full, a_full_disk_refuses_changes_until_there_is_room);
    tcase_add_test(full, a_disk_that_stays_full_does_not_hold_up_the_end);
    suite_add_tcase(suite, full);
    return test_main(suite);
}
