/* A scene's clock: commits that let it start anew. */
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT   "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
#define COMMIT "/v1/scenes/s/commit"
#define BOXES  "/v1/scenes/s/boxes"

static struct test_daemon daemon;
static struct http_client *client;

static void setup(void)
{
    daemon_start(&daemon, NULL);
    client = http_open(daemon.url);
}

static void teardown(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

START_TEST(a_restart_drops_the_history_and_keeps_the_boxes)
{
    expect(client, "POST", COMMIT, "{\"time\":1000,\"put\":{\"a\":" UNIT ",\"b\":" UNIT "}}", 200,
           "{\"revision\":1}");
    expect(client, "POST", COMMIT, "{\"time\":1010,\"pose\":{\"a\":{\"center\":[3,0,0]}}}", 200,
           "{\"revision\":2}");
    expect(client, "POST", COMMIT, "{\"time\":5,\"remove\":[\"a\"]}", 409,
           "{\"type\":\"/problems/time-backwards\",\"pointer\":\"/time\",\"detail\":\"found 5; the "
           "last commit is of 1010, and a time is not before it unless \\\"restart\\\" is true\"}");
    expect(client, "POST", COMMIT, "{\"time\":5,\"restart\":false,\"remove\":[\"a\"]}", 409,
           "{\"pointer\":\"/time\"}");
    /* queries of the commit see only the state that it makes */
    expect(client, "POST", COMMIT,
           "{\"time\":5,\"restart\":true,\"queries\":[{\"kind\":\"all-pairs\",\"at\":"
           "{\"revision\":2}}]}",
           410,
           "{\"pointer\":\"/queries/0/at\",\"detail\":\"found revision 2; kept are the revisions 3 "
           "to 3, of the times 5 to 5\",\"oldest\":{\"revision\":3,\"time\":5},\"newest\":{"
           "\"revision\":3,\"time\":5}}");
    expect(client, "POST", COMMIT,
           "{\"time\":5,\"restart\":true,\"pose\":{\"b\":{\"center\":[9,0,0]}},\"queries\":"
           "[{\"kind\":\"point\",\"points\":[[3,0,0]],\"at\":{\"revision\":3}}]}",
           200,
           "{\"revision\":3,\"time\":5,\"posed\":1,\"results\":[{\"at\":{\"revision\":3,\"time\":5,"
           "\"clamped\":false},\"results\":[{\"boxes\":[\"a\"]}]}]}");
    expect(client, "GET", "/v1/scenes/s", NULL, 200,
           "{\"boxes\":2,\"revision\":3,\"time\":5,\"oldest\":{\"revision\":3,\"time\":5}}");
    expect(client, "GET", BOXES "/a?at_revision=2", NULL, 410,
           "{\"oldest\":{\"revision\":3,\"time\":5},\"newest\":{\"revision\":3,\"time\":5}}");
    expect(client, "GET", BOXES "/a?at_time=1005", NULL, 410, NULL);
    expect(client, "GET", BOXES "/a?at_time=5", NULL, 200, "{\"changed\":2,\"center\":[3,0,0]}");
    /* the clock goes on from there, and poses run between commits as ever */
    expect_problem(client, "POST", COMMIT, "{\"time\":4}", 409, "/time");
    expect(client, "POST", COMMIT, "{\"time\":15,\"pose\":{\"a\":{\"center\":[5,0,0]}}}", 200,
           "{\"revision\":4,\"time\":15}");
    expect(client, "GET", BOXES "/a?at_time=10", NULL, 200, "{\"center\":[4,0,0]}");
    /* a new revision though nothing changes, also at a later time */
    expect(client, "POST", COMMIT, "{\"time\":15,\"restart\":true}", 200,
           "{\"revision\":5,\"time\":15}");
    expect(client, "POST", COMMIT, "{\"time\":2000,\"restart\":true}", 200,
           "{\"revision\":6,\"time\":2000}");
    expect(client, "GET", "/v1/scenes/s", NULL, 200,
           "{\"boxes\":2,\"oldest\":{\"revision\":6,\"time\":2000}}");
    expect(client, "POST", COMMIT, "{\"time\":-7.5,\"restart\":true}", 200, "{\"time\":-7.5}");
    expect(client, "POST", "/v1/scenes/s/query/point", "{\"points\":[[5,0,0]]}", 200,
           "{\"revision\":7,\"time\":-7.5,\"results\":[{\"boxes\":[\"a\"]}]}");
    /* a scene's first commit may restart, too */
    expect(client, "POST", "/v1/scenes/t/commit",
           "{\"time\":50,\"restart\":true,\"put\":{\"a\":" UNIT "}}", 200, "{\"revision\":1}");
    expect(client, "GET", "/v1/scenes/t", NULL, 200,
           "{\"oldest\":{\"revision\":1,\"time\":50},\"time\":50}");
    expect(client, "POST", "/v1/scenes/none/commit", "{\"time\":50,\"restart\":true}", 404, NULL);
}
END_TEST

START_TEST(a_restart_needs_its_time)
{
    expect(client, "PUT", BOXES "/a", UNIT, 201, NULL);
    static const struct {
        const char *body;
        long status;
        const char *pointer;
    } rows[] = {
        {"{\"restart\":true}", 422, "/restart"},
        {"{\"restart\":true,\"put\":{\"z\":7}}", 422, "/restart"},
        {"{\"put\":{\"z\":7},\"restart\":true}", 422, "/restart"},
        {"{\"if_revision\":9,\"restart\":true}", 422, "/restart"},
        {"{\"if_revision\":-1,\"restart\":true}", 422, "/restart"},
        {"{\"restart\":1,\"time\":5}", 422, "/restart"},
        {"{\"restart\":null}", 422, "/restart"},
        {"{\"restart\":true,\"time\":\"x\"}", 422, "/time"},
        {"{\"restart\":true,\"extra\":1}", 422, "/extra"},
        {"{\"restart\":true,\"restart\":true}", 400, NULL},
        {"{\"restart\":true", 400, NULL},
        {"{\"time\":1e6,\"restart\":true,\"if_revision\":9}", 412, "/if_revision"},
        {"{\"time\":1e6,\"restart\":true,\"pose\":{\"ghost\":{}}}", 404, "/pose/ghost"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_problem(client, "POST", COMMIT, rows[i].body, rows[i].status, rows[i].pointer);
    expect(client, "POST", COMMIT, "{\"restart\":false}", 200, "{\"revision\":1}");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":1,\"boxes\":1}");
}
END_TEST

START_TEST(followers_hear_of_a_restart)
{
    struct follower f;
    struct follower_message message;
    expect(client, "POST", COMMIT, "{\"time\":1000,\"put\":{\"a\":" UNIT "}}", 200, NULL);
    follower_open(&f, daemon_dial(&daemon), "/v1/scenes/s/events?topics=commits", "1");
    follower_await(&f);
    expect(client, "POST", COMMIT, "{\"time\":1001,\"put\":{\"b\":" UNIT "}}", 200, NULL);
    expect(client, "POST", COMMIT, "{\"time\":5,\"restart\":true}", 200, NULL);
    do
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    while (strcmp(message.event, "commit") != 0 || message.id < 2); /* behind a state */
    ck_assert_ptr_null(strstr(message.data, "restart"));
    ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    ck_assert_str_eq(message.data, "{\"revision\":3,\"time\":5,\"put\":0,\"posed\":0,"
                                   "\"transformed\":0,\"removed\":0,\"restart\":true}");
    follower_close(&f);
}
END_TEST

/* Whoever follows the log is told of the restart, and what was written is a log that verifies. */
START_TEST(a_log_that_is_followed_over_a_restart_plays_again)
{
    char path[64], out[4096], err[4096];
    static char text[65536];
    expect(client, "POST", COMMIT, "{\"time\":1000,\"put\":{\"a\":" UNIT "}}", 200, NULL);
    const int fd = daemon_dial(&daemon);
    dial_send(fd, "GET /v1/scenes/s/log?follow=true HTTP/1.0\r\nHost: localhost\r\n\r\n");
    size_t length = 0;
    bool sent = false;
    const char *told;
    while ((told = strstr(text, "\"restart\":true")) == NULL || strchr(told, '\n') == NULL) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ck_assert_msg(poll(&ready, 1, -1) == 1, "%s", text);
        const ssize_t got = read(fd, text + length, sizeof text - 1 - length);
        ck_assert_int_gt(got, 0);
        length += (size_t)got;
        if (!sent && strstr(text, "\"put\":{\"a\":") != NULL) {
            sent = true;
            expect(client, "POST", COMMIT,
                   "{\"time\":5,\"restart\":true,\"pose\":{\"a\":{\"center\":[3,0,0]}}}", 200,
                   NULL);
        }
    }
    close(fd);
    const char *body = strstr(text, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    ck_assert_ptr_nonnull(strstr(body, "{\"time\":5,\"restart\":true,"));
    (void)snprintf(path, sizeof path, "%s/obbd-clock-XXXXXX", test_folder());
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    const size_t size = strlen(body + 4);
    ck_assert_int_eq(write(file, body + 4, size), (ssize_t)size);
    close(file);
    ck_assert_msg(
        daemon_run((const char *[]){"--verify", path, NULL}, out, sizeof out, err, sizeof err) == 0,
        "%s %s", out, err);
    (void)unlink(path);
}
END_TEST

/* A ttl of 0 ends with the next commit, of whatever kind, also at the same time. */
START_TEST(every_commit_ends_what_is_due_and_reading_never_does)
{
    static const struct {
        const char *method, *path, *body;
        long status;
    } commits[] = {
        {"POST", COMMIT, "{\"time\":20}", 200},
        {"POST", COMMIT, "{\"queries\":[]}", 200},
        {"PUT", BOXES "/other", "{\"center\":[9,0,0],\"half_extents\":[1,1,1]}", 200},
        {"PATCH", BOXES "/other", "{\"center\":[10,0,0]}", 200},
        {"POST", BOXES "/other/transform", "{\"translate\":[1,0,0]}", 200},
        {"DELETE", BOXES "/other", NULL, 204},
        {"PUT", "/v1/scenes/s/frames/f", "{}", 201},
        {"DELETE", "/v1/scenes/s/frames/f", NULL, 204},
    };
    static const char *const readings[] = {
        BOXES, BOXES "/due", "/v1/scenes/s", "/v1/scenes/s/export", BOXES "/due?at_time=20",
    };
    expect(client, "POST", COMMIT, "{\"time\":20,\"put\":{\"other\":" UNIT "}}", 200, NULL);
    for (size_t i = 0; i < sizeof commits / sizeof commits[0]; i++) {
        expect(client, "PUT", BOXES "/due",
               "{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"ttl\":0}", 201, "{\"ttl\":0}");
        for (size_t k = 0; k < sizeof readings / sizeof readings[0]; k++)
            expect(client, "GET", readings[k], NULL, 200, NULL);
        expect(client, "POST", "/v1/scenes/s/query/point", "{\"points\":[[0,0,0]]}", 200,
               i < 2 ? "{\"results\":[{\"boxes\":[\"other\",\"due\"]}]}"
                     : "{\"results\":[{\"boxes\":[\"due\"]}]}");
        expect(client, commits[i].method, commits[i].path, commits[i].body, commits[i].status,
               i < 2 ? "{\"expired\":1,\"removed\":0}" : NULL);
        expect(client, "GET", BOXES "/due", NULL, 404, NULL);
        if (i == 1)
            expect(client, "PUT", BOXES "/other", "{\"center\":[8,0,0],\"half_extents\":[1,1,1]}",
                   200, NULL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tc = tcase_create("clock");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_restart_drops_the_history_and_keeps_the_boxes);
    tcase_add_test(tc, a_restart_needs_its_time);
    tcase_add_test(tc, followers_hear_of_a_restart);
    tcase_add_test(tc, every_commit_ends_what_is_due_and_reading_never_does);
    tcase_add_test(tc, a_log_that_is_followed_over_a_restart_plays_again);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
