/* The scene of --demo as clients see it: it moves by itself, its shots come as queries, and its
 * past can be asked; --demo=still stands. */
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct test_daemon daemon;
static struct http_client *client;
static struct http_answer answer;

static void start_with(const char *const *arguments)
{
    daemon_start(&daemon, arguments);
    client = http_open(daemon.url);
}

static void stop(void)
{
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* Returns the JSON of an answer of 200; the caller owns it. */
static json_t *get(const char *method, const char *path, const char *body)
{
    http_send(client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == 200, "%s %s: %ld %s", method, path, answer.status, answer.body);
    json_t *value = json_loads(answer.body, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(value);
    return value;
}

static double number(json_t *owned, const char *key)
{
    const double value = json_number_value(json_object_get(owned, key));
    json_decref(owned);
    return value;
}

START_TEST(it_moves_and_its_past_can_be_asked)
{
    start_with((const char *[]){"--demo", NULL});
    expect(client, "GET", "/v1/scenes/demo", NULL, 200,
           "{\"boxes\":191,\"record\":200,\"history\":{\"span\":30000,\"commits\":1024}}");
    while (number(get("GET", "/v1/scenes/demo", NULL), "revision") < 12) {
    }
    ck_assert_double_eq(fmod(number(get("GET", "/v1/scenes/demo", NULL), "time"), 50), 0);
    expect(client, "GET", "/v1/scenes/demo/boxes/player-3-torso?at_time=0", NULL, 200,
           "{\"entity\":\"player-3\",\"frame\":\"player-3\"}");
    expect(client, "GET", "/v1/scenes/demo/boxes/player-3-torso?at_time=500", NULL, 200,
           "{\"frame\":\"player-3\",\"local\":{\"center\":[0,1.15,0],\"rotation\":[0,0,0,1]}}");
    json_t *then = get("GET", "/v1/scenes/demo/boxes/player-2-torso?at_time=0", NULL);
    json_t *later = get("GET", "/v1/scenes/demo/boxes/player-2-torso?at_time=500", NULL);
    double squares = 0.0;
    for (size_t i = 0; i < 3; i++) {
        const double moved =
            json_number_value(json_array_get(json_object_get(later, "center"), i)) -
            json_number_value(json_array_get(json_object_get(then, "center"), i));
        squares += moved * moved;
    }
    ck_assert_double_eq_tol(sqrt(squares), 5.5 * 0.5,
                            1e-6); /* a straight, or a corner is shorter */
    json_decref(then);
    json_decref(later);
    /* crates that rest on each other are no news; players meet 2.6 s after the start */
    expect(client, "POST", "/v1/scenes/demo/query/all-pairs",
           "{\"at\":{\"time\":0},\"count_only\":true}", 200, "{\"count\":0}");
    while (number(get("GET", "/v1/scenes/demo", NULL), "time") < 2700) {
    }
    ck_assert_double_gt(number(get("POST", "/v1/scenes/demo/query/all-pairs",
                                   "{\"at\":{\"time\":2600},\"count_only\":true}"),
                               "count"),
                        0);
    stop();
}
END_TEST

START_TEST(a_shot_a_second_comes_as_a_query_that_can_be_asked_again)
{
    start_with((const char *[]){"--demo", NULL});
    const int fd = daemon_dial(&daemon);
    struct follower follower;
    struct follower_message message;
    follower_open(&follower, fd, "/v1/scenes/demo/events?topics=queries", NULL);
    do
        ck_assert(follower_next(&follower, FOLLOWER_PATIENT, &message));
    while (strcmp(message.event, "query") != 0);
    json_t *shot = json_loads(message.data, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(shot);
    const char *tag = json_string_value(json_object_get(shot, "tag"));
    ck_assert_msg(strncmp(tag, "player-1 at player-", 19) == 0, "%s", tag);
    ck_assert_str_eq(json_string_value(json_object_get(shot, "kind")), "ray");
    ck_assert_str_eq(json_string_value(json_object_get(shot, "request")), "demo-1");
    char *query = json_dumps(json_object_get(shot, "query"), JSON_COMPACT);
    json_t *again = get("POST", "/v1/scenes/demo/query/ray", query);
    json_t *first = json_object_get(shot, "answer");
    ck_assert(json_equal(json_object_get(again, "results"), json_object_get(first, "results")));
    ck_assert(json_equal(json_object_get(again, "at"), json_object_get(first, "at")));
    free(query);
    json_decref(again);
    json_decref(shot);
    follower_close(&follower);
    close(fd);
    stop();
}
END_TEST

START_TEST(a_scene_that_is_removed_is_not_made_again)
{
    start_with((const char *[]){"--demo", NULL});
    expect(client, "DELETE", "/v1/scenes/demo", NULL, 204, "");
    expect(client, "PUT", "/v1/scenes/demo", "{\"dimensions\":2}", 201, "{\"revision\":0}");
    /* four ticks of a scene that would move */
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    expect(client, "GET", "/v1/scenes/demo", NULL, 200, "{\"revision\":0,\"boxes\":0}");
    stop();
}
END_TEST

START_TEST(a_history_that_may_be_short_makes_that_of_the_demo_short)
{
    start_with((const char *[]){"--demo", "--history=50", "--history-max=100",
                                "--history-commits-max=100", NULL});
    expect(client, "GET", "/v1/scenes/demo", NULL, 200,
           "{\"history\":{\"span\":100,\"commits\":100}}");
    stop();
}
END_TEST

START_TEST(the_still_demo_stands)
{
    start_with((const char *[]){"--demo=still", NULL});
    expect(client, "GET", "/v1/scenes/demo", NULL, 200,
           "{\"boxes\":189,\"record\":0,\"history\":{\"span\":500,\"commits\":64},\"revision\":1}");
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    expect(client, "GET", "/v1/scenes/demo", NULL, 200, "{\"revision\":1,\"time\":0}");
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demo");
    TCase *tc = tcase_create("demo");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, it_moves_and_its_past_can_be_asked);
    tcase_add_test(tc, a_shot_a_second_comes_as_a_query_that_can_be_asked_again);
    tcase_add_test(tc, a_scene_that_is_removed_is_not_made_again);
    tcase_add_test(tc, a_history_that_may_be_short_makes_that_of_the_demo_short);
    tcase_add_test(tc, the_still_demo_stands);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
