/* --scene-memory: what the scenes hold together is bounded. Histories go first, the largest before
 * others; then commits are refused, except those that make their scene smaller. */
#include "tests/support/cbor.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 20, BOXES = 100 };

static struct test_daemon daemon;
static struct http_client *client;

static void start(void)
{
    daemon_start(&daemon, (const char *[]){"--scene-memory", "1MiB", "--history-commits", "4000",
                                           "--history", "60000", NULL});
    client = http_open(daemon.url);
}

static void stop(void)
{
    expect(client, "GET", "/healthz", NULL, 200, NULL);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static double metric(const char *name)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    const char *at = strstr(answer.body, test_text("\n%s ", name));
    ck_assert_msg(at != NULL, "no %s", name);
    const double value = strtod(strchr(at + 1, ' '), NULL);
    http_answer_fini(&answer);
    return value;
}

/* Sends a commit of `count` boxes of the scene, put or posed, or its dry run. Returns the
 * status. */
static long send(const char *scene, const char *group, int count, int shift, bool dry_run)
{
    static char body[400000];
    int length = sprintf(body, "{\"dry_run\":%s,\"time\":%d,\"%s\":{", dry_run ? "true" : "false",
                         shift, group);
    const bool whole = strcmp(group, "put") == 0;
    for (int i = 0; i < count; i++)
        length += sprintf(body + length, "%s\"b%d\":{\"center\":[%d,%d,0]%s}", i > 0 ? "," : "", i,
                          i, shift, whole ? ",\"half_extents\":[1,1,1]" : "");
    (void)sprintf(body + length, "}}");
    struct http_answer answer = {0};
    http_send(client, "POST", test_text("/v1/scenes/%s/commit", scene), NULL, body, &answer);
    const long status = answer.status;
    if (status != 200)
        ck_assert_msg(strstr(answer.body, "/problems/scene-memory") != NULL &&
                          strstr(answer.body, "(--scene-memory)") != NULL &&
                          strstr(answer.body, "of 1048576 bytes are free") != NULL,
                      "%s", answer.body);
    http_answer_fini(&answer);
    return status;
}

static long commit(const char *scene, const char *group, int count, int shift)
{
    return send(scene, group, count, shift, false);
}

static long rehearse(const char *scene, const char *group, int count, int shift)
{
    return send(scene, group, count, shift, true);
}

static json_int_t oldest(const char *scene)
{
    struct http_answer answer = {0};
    http_send(client, "GET", test_text("/v1/scenes/%s", scene), NULL, NULL, &answer);
    json_t *info = json_loads(answer.body, 0, NULL);
    const json_int_t revision =
        json_integer_value(json_object_get(json_object_get(info, "oldest"), "revision"));
    json_decref(info);
    http_answer_fini(&answer);
    return revision;
}

START_TEST(the_largest_history_gives_up_its_oldest_states_first)
{
    ck_assert_double_eq(metric("obbd_scene_memory_limit_bytes"), LIMIT);
    ck_assert_double_eq(metric("obbd_scene_bytes"), 0);
    ck_assert_int_eq(commit("small", "put", 10, 1), 200);
    for (int t = 2; t <= 30; t++)
        ck_assert_int_eq(commit("small", "pose", 10, t), 200);
    ck_assert_int_eq(commit("large", "put", BOXES, 1), 200);
    int t = 2;
    for (; oldest("large") == 0 && t < 1000; t++)
        ck_assert_int_eq(commit("large", "pose", BOXES, t), 200);
    printf("the larger scene lost its first state after %d commits of %d poses\n", t, BOXES);
    ck_assert_int_gt(t, 10);
    ck_assert_int_lt(t, 100);
    for (const int end = t + 100; t < end; t++) { /* on and on */
        ck_assert_int_eq(commit("large", "pose", BOXES, t), 200);
        ck_assert_double_le(metric("obbd_scene_bytes"), LIMIT);
    }
    ck_assert_double_ge(metric("obbd_scene_bytes"),
                        LIMIT * 0.9); /* and no more than that is given up */
    ck_assert_int_eq(oldest("small"), 0);
    const json_int_t first = oldest("large");
    ck_assert_int_gt(first, 100);

    /* What is gone says what is left. */
    expect(client, "POST", "/v1/scenes/large/query/point",
           "{\"points\":[[0,2,0]],\"at\":{\"revision\":1}}", 410,
           test_text("{\"type\":\"/problems/gone\",\"pointer\":\"/"
                     "at\",\"oldest\":{\"revision\":%lld},\"newest\":{\"revision\":%d}}",
                     (long long)first, t - 1));
    expect(client, "POST", "/v1/scenes/large/query/point",
           test_text("{\"points\":[[0,%lld,0]],\"at\":{\"revision\":%lld}}", (long long)first,
                     (long long)first),
           200, NULL);
    expect(client, "POST", "/v1/scenes/small/query/point",
           "{\"points\":[[0,1,0]],\"at\":{\"revision\":1}}", 200, "{\"at\":{\"revision\":1}}");
}
END_TEST

START_TEST(what_still_has_no_room_is_refused_and_changes_nothing)
{
    ck_assert_int_eq(commit("a", "put", 2000, 1), 200);
    ck_assert_int_eq(commit("b", "put", 5000, 1), 413);
    expect(client, "GET", "/v1/scenes/b", NULL, 404, NULL);
    ck_assert_int_eq(commit("a", "put", 5000, 2), 413);
    expect(client, "GET", "/v1/scenes/a", NULL, 200, "{\"revision\":1,\"boxes\":2000,\"time\":1}");
    ck_assert_int_eq(commit("a", "pose", 2000, 2), 413);
    expect(client, "POST", "/v1/scenes/a/boxes/b1/transform", "{\"translate\":[1,0,0]}", 200, NULL);

    /* An import obeys too. */
    static char lines[600000];
    int length = sprintf(lines, "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,"
                                "\"history\":{\"span\":0,\"commits\":0},\"time\":9}\n");
    for (int i = 0; i < 5000; i++)
        length +=
            sprintf(lines + length,
                    "{\"name\":\"i%d\",\"center\":[%d,0,0],\"half_extents\":[1,1,1]}\n", i, i);
    struct http_answer answer = {0};
    http_send(client, "POST", "/v1/scenes/c/import",
              (const char *[]){"Content-Type: application/x-ndjson", NULL}, lines, &answer);
    ck_assert_msg(answer.status == 413 && strstr(answer.body, "/problems/scene-memory") != NULL,
                  "%ld %s", answer.status, answer.body);
    expect(client, "GET", "/v1/scenes/c", NULL, 404, NULL);
    ck_assert_double_le(metric("obbd_scene_bytes"), LIMIT);

    /* In CBOR as in JSON. */
    json_t *body = json_pack("{s:{}}", "put");
    for (int i = 0; i < 3000; i++)
        json_object_set_new(
            json_object_get(body, "put"), test_text("n%d", i),
            json_pack("{s:[iii],s:[iii]}", "center", i, 0, 0, "half_extents", 1, 1, 1));
    size_t size = 0;
    char *bytes = cbor_written(body, &size);
    http_send_bytes(
        client, "POST", "/v1/scenes/a/commit",
        (const char *[]){"Content-Type: application/cbor", "Accept: application/cbor", NULL}, bytes,
        size, &answer);
    ck_assert_int_eq(answer.status, 413);
    json_t *problem = strstr(answer.head, "problem+cbor") != NULL || answer.body[0] != '{'
                          ? cbor_read(answer.body, answer.length)
                          : json_loads(answer.body, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(problem, "type")), "/problems/scene-memory");
    json_decref(problem);
    json_decref(body);
    free(bytes);

    /* Smaller always has room, and makes room. */
    json_t *names = json_array();
    for (int i = 0; i < 1500; i++)
        json_array_append_new(names, json_string(test_text("b%d", i)));
    json_t *smaller = json_pack("{s:o,s:{s:{s:[iii],s:[iii]}}}", "remove", names, "put", "fresh",
                                "center", 0, 0, 0, "half_extents", 1, 1, 1);
    char *text = json_dumps(smaller, JSON_COMPACT);
    expect(client, "POST", "/v1/scenes/a/commit", text, 200, "{\"removed\":1500}");
    free(text);
    json_decref(smaller);
    expect(client, "GET", "/v1/scenes/a", NULL, 200, "{\"boxes\":501}");
    ck_assert_int_eq(commit("b", "put", 500, 1), 200);
    ck_assert_double_le(metric("obbd_scene_bytes"), LIMIT);

    /* A scene that goes gives everything back. */
    expect(client, "DELETE", "/v1/scenes/a", NULL, 204, "");
    expect(client, "DELETE", "/v1/scenes/b", NULL, 204, "");
    ck_assert_double_eq(metric("obbd_scene_bytes"), 0);
    ck_assert_int_eq(commit("d", "put", 2000, 1), 200);
    http_answer_fini(&answer);
}
END_TEST

/* Few boxes are rehearsed at once, many on the pool. */
START_TEST(a_dry_run_has_room_if_histories_may_make_it_and_takes_none)
{
    ck_assert_int_eq(rehearse("b", "put", 5000, 1), 413);
    expect(client, "GET", "/v1/scenes/b", NULL, 404, NULL);
    ck_assert_int_eq(commit("a", "put", 2000, 1), 200);
    ck_assert_int_eq(rehearse("a", "put", 5000, 2), 413);
    ck_assert_int_eq(rehearse("a", "pose", 20, 2), 200);
    expect(client, "DELETE", "/v1/scenes/a", NULL, 204, "");

    /* a history that fills the memory */
    ck_assert_int_eq(commit("c", "put", BOXES, 1), 200);
    int shift = 2;
    while (oldest("c") == 0 && shift < 1000)
        ck_assert_int_eq(commit("c", "pose", BOXES, shift++), 200);
    ck_assert_int_gt(oldest("c"), 0);
    const json_int_t kept = oldest("c");
    static const int counts[] = {200, 1500};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        ck_assert_int_eq(rehearse("c", "put", counts[i], shift), 200);
        ck_assert_int_eq(oldest("c"), kept);
    }
    ck_assert_int_eq(rehearse("c", "put", 5000, shift), 413);
    ck_assert_int_eq(oldest("c"), kept);
    ck_assert_int_eq(commit("c", "put", counts[1], shift), 200);
    ck_assert_int_gt(oldest("c"), kept);
}
END_TEST

START_TEST(empty_scenes_count_too)
{
    int made = 0;
    struct http_answer answer = {0};
    for (; made < 1000; made++) {
        http_send(client, "PUT", test_text("/v1/scenes/s%d", made), NULL, "{}", &answer);
        if (answer.status != 201)
            break;
    }
    printf("%d empty scenes\n", made);
    ck_assert_int_gt(made, 100);
    ck_assert_int_lt(made, 1000);
    ck_assert_int_eq(answer.status, 413);
    ck_assert_ptr_nonnull(strstr(answer.body, "/problems/scene-memory"));
    ck_assert_double_le(metric("obbd_scene_bytes"), LIMIT);
    http_answer_fini(&answer);
}
END_TEST

START_TEST(sizes_that_are_none_are_refused)
{
    char out[4096], err[4096];
    ck_assert_int_eq(daemon_run((const char *[]){"--scene-memory", "much", NULL}, out, sizeof out,
                                err, sizeof err),
                     1);
    ck_assert_msg(strstr(err, "--scene-memory") != NULL, "%s", err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scene_memory");
    TCase *tc = tcase_create("scene_memory");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, the_largest_history_gives_up_its_oldest_states_first);
    tcase_add_test(tc, what_still_has_no_room_is_refused_and_changes_nothing);
    tcase_add_test(tc, a_dry_run_has_room_if_histories_may_make_it_and_takes_none);
    tcase_add_test(tc, empty_scenes_count_too);
    suite_add_tcase(suite, tc);
    TCase *start_only = tcase_create("options");
    tcase_add_test(start_only, sizes_that_are_none_are_refused);
    suite_add_tcase(suite, start_only);
    return test_main(suite);
}
