/* Commits that are sent again by their id. */
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"
#define S       "/v1/scenes/s"
#define COMMIT  S "/commit"

static struct test_daemon daemon;
static struct http_client *client;

static void setup(void)
{
    daemon_start(&daemon, (const char *[]){NULL});
    client = http_open(daemon.url);
    expect(client, "POST", COMMIT, "{\"time\":1000,\"put\":{\"a\":" UNIT(0) ",\"b\":" UNIT(9) "}}",
           200, NULL);
}

static void teardown(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* Sends a commit and returns its answer, which the caller frees. */
static char *answer_to(const char *body)
{
    struct http_answer answer = {0};
    http_send(client, "POST", COMMIT, NULL, body, &answer);
    ck_assert_msg(answer.status == 200, "%ld %s", answer.status, answer.body);
    char *text = strdup(answer.body);
    http_answer_fini(&answer);
    return text;
}

/* Both answers are the same to the byte, except that the second one says "repeated". */
static void same_but_repeated(const char *first, const char *second)
{
    static const char word[] = "\"repeated\":true,";
    const char *place = strstr(second, word);
    ck_assert_msg(place != NULL && strstr(first, word) == NULL, "%s\n%s", first, second);
    const size_t before = (size_t)(place - second);
    ck_assert_msg(strncmp(first, second, before) == 0 &&
                      strcmp(first + before, place + strlen(word)) == 0,
                  "%s\n%s", first, second);
}

START_TEST(a_repeated_commit_gets_the_former_answer_whole)
{
    static const char *const bodies[] = {
        "{\"id\":\"put\",\"time\":1010,"
        "\"put\":{\"c\":" UNIT(20) ",\"a\":" UNIT(1) ",\"d\":" UNIT(
            30) "},"
                "\"queries\":[{\"kind\":\"point\",\"points\":[[1.5,0,0]]},{\"kind\":\"all-pairs\"}]"
                "}",
        "{\"id\":\"pose\",\"time\":1020,\"ignore_missing\":true,"
        "\"pose\":{\"a\":{\"center\":[8.5,0,0]},\"ghost\":{\"center\":[0,0,0]}},"
        "\"queries\":[{\"kind\":\"all-pairs\"},"
        "{\"kind\":\"point\",\"points\":[[1.5,0,0]],\"at\":{\"time\":1015}},"
        "{\"kind\":\"point\",\"points\":[[4,0,0]],\"at\":{\"ago\":5}}]}",
        "{\"id\":\"columns\",\"time\":1030,\"put\":{\"names\":[\"e\",\"a\"],"
        "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1]}}",
        "{\"id\":\"remove\",\"time\":1040,\"remove\":[\"c\",\"nobody\"],"
        "\"transform\":{\"b\":{\"translate\":[1,0,0]}}}",
    };
    enum { COUNT = sizeof bodies / sizeof bodies[0] };
    char *first[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        first[i] = answer_to(bodies[i]);
    for (size_t i = 0; i < COUNT; i++) {
        char *second = answer_to(bodies[i]);
        same_but_repeated(first[i], second);
        free(second);
        free(first[i]);
    }
    expect(client, "GET", S, NULL, 200, "{\"revision\":5,\"time\":1040,\"boxes\":4}");
    printf("%d commits were sent again\n", (int)COUNT);
}
END_TEST

/* Makes a commit whose answer must hold `sought`, then the commits `between` (NULL-terminated), and
 * then the first one again: the answer must be the same. */
static void comes_again_whole(const char *body, const char *sought, const char *const *between)
{
    char *first = answer_to(body);
    ck_assert_msg(strstr(first, sought) != NULL, "%s", first);
    for (; *between != NULL; between++)
        free(answer_to(*between));
    char *second = answer_to(body);
    same_but_repeated(first, second);
    free(first);
    free(second);
}

/* A commit that states no time keeps that of the commit before, so a moment of the clock alone does
 * not tell the two states apart. */
START_TEST(a_repeated_commit_is_asked_of_its_own_state_and_not_of_a_later_one_of_its_time)
{
    static const char away[] = "{\"pose\":{\"a\":{\"center\":[0,90,0]}}}";
    static const char *const then[] = {away, NULL};
    static const char *const later[] = {"{\"time\":1005,\"pose\":{\"a\":{\"center\":[0,90,0]}}}",
                                        NULL};
    static const char found[] = "{\"boxes\":[\"a\"]}",
                      clamped[] = "\"clamped\":true},\"results\":[{\"boxes\":[\"a\"]}";
    static const struct {
        const char *at, *sought;
        const char *const *between;
    } rows[] = {{"{\"ago\":0}", found, then},
                {"{\"time\":1000}", found, then},
                {"{\"time\":1000,\"interpolate\":false}", found, then},
                {"{\"ago\":0,\"clamp\":true}", found, then},
                /* moments that lie after the state, and not after what comes later */
                {"{\"time\":1001,\"clamp\":true}", clamped, later},
                {"{\"revision\":13,\"clamp\":true}", clamped, later}};
    enum { COUNT = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < COUNT; i++) {
        char body[256];
        (void)snprintf(body, sizeof body,
                       "{\"id\":\"row %zu\",\"pose\":{\"a\":{\"center\":[%zu,50,0]}},\"queries\":["
                       "{\"kind\":\"point\",\"points\":[[%zu,50,0]],\"at\":%s}]}",
                       i, 10 * i, 10 * i, rows[i].at);
        comes_again_whole(body, rows[i].sought, rows[i].between);
    }
    /* a state that was prolonged since then is named by the time that was asked for */
    comes_again_whole(
        "{\"id\":\"still\",\"time\":1010,\"pose\":{\"a\":{\"center\":[0,60,0]}},"
        "\"queries\":[{\"kind\":\"point\",\"points\":[[0,60,0]],\"at\":{\"ago\":0}}]}",
        found,
        (const char *const[]){"{\"time\":1020}",
                              "{\"time\":1030,\"pose\":{\"a\":{\"center\":[0,90,0]}}}", NULL});
    comes_again_whole(
        "{\"id\":\"shot\",\"pose\":{\"a\":{\"center\":[0,0,0]}},\"queries\":[{\"kind\":"
        "\"ray\",\"rays\":{\"origins\":[0,5,0],\"targets\":[0,0,0],\"times\":[1030]}}]}",
        "\"box\":\"a\"", then);
    printf("%d moments were asked again\n", (int)COUNT + 2);
}
END_TEST

/* A client may build the commit anew from a map that has no order. */
START_TEST(a_commit_that_comes_again_in_another_order_gets_the_ids_of_its_names)
{
    expect(client, "POST", COMMIT,
           "{\"id\":\"p\",\"put\":{\"gun\":" UNIT(1) ",\"a\":" UNIT(2) ",\"door\":" UNIT(3) "}}",
           200, "{\"ids\":{\"gun\":3,\"door\":4}}");
    expect(client, "POST", COMMIT,
           "{\"id\":\"p\",\"put\":{\"door\":" UNIT(3) ",\"gun\":" UNIT(1) ",\"a\":" UNIT(2) "}}",
           200, "{\"repeated\":true,\"put\":3,\"ids\":{\"gun\":3,\"door\":4}}");
    expect(client, "POST", COMMIT,
           "{\"id\":\"m\",\"ignore_missing\":true,\"pose\":{\"x\":{\"center\":[0,0,0]},"
           "\"a\":{\"center\":[5,0,0]}},\"transform\":{\"b\":{\"translate\":[1,0,0]},"
           "\"y\":{\"translate\":[1,0,0]}}}",
           200, "{\"missing\":[\"x\",\"y\"]}");
    expect(client, "POST", COMMIT,
           "{\"id\":\"m\",\"ignore_missing\":true,\"pose\":{\"a\":{\"center\":[5,0,0]},"
           "\"x\":{\"center\":[0,0,0]}},\"transform\":{\"y\":{\"translate\":[1,0,0]},"
           "\"b\":{\"translate\":[1,0,0]}}}",
           200, "{\"repeated\":true,\"missing\":[\"x\",\"y\"]}");
    expect(client, "POST", COMMIT,
           "{\"id\":\"f\",\"frames\":{\"ann\":{\"center\":[0,0,0]},\"bob\":{\"center\":[1,0,0]}}}",
           200, "{\"frames\":2}");
    expect(client, "POST", COMMIT,
           "{\"id\":\"f\",\"frames\":{\"bob\":{\"center\":[1,0,0]},\"ann\":{\"center\":[0,0,0]}}}",
           200, "{\"repeated\":true,\"frames\":2}");
    static const char *const others[] = {
        "{\"id\":\"p\",\"put\":{\"gun\":" UNIT(1) ",\"a\":" UNIT(2) ",\"window\":" UNIT(3) "}}",
        "{\"id\":\"f\",\"frames\":{\"ann\":{\"center\":[0,0,0]}}}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_problem(client, "POST", COMMIT, others[i], 422, "/id");
}
END_TEST

/* Writes a commit with `count` puts, from the first to the last, or back. */
static char *many_puts(size_t count, bool back)
{
    char *body = malloc(64 + 64 * count), *at = body;
    ck_assert_ptr_nonnull(body);
    at += sprintf(at, "{\"id\":\"many\",\"time\":2000,\"put\":{");
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, "%s\"n%zu\":" UNIT(0), i > 0 ? "," : "", back ? count - 1 - i : i);
    (void)sprintf(at, "}}");
    return body;
}

START_TEST(many_puts_may_come_again_in_another_order)
{
    enum { COUNT = 20000 };
    char *there = many_puts(COUNT, false), *back = many_puts(COUNT, true);
    free(answer_to(there));
    char *again = answer_to(back);
    ck_assert_ptr_nonnull(strstr(again, "\"repeated\":true"));
    for (size_t i = 0; i < COUNT; i += 97) {
        char id[40];
        (void)snprintf(id, sizeof id, "\"n%zu\":%zu", i, i + 3);
        ck_assert_msg(strstr(again, id) != NULL, "%s", id);
    }
    free(there);
    free(back);
    free(again);
}
END_TEST

START_TEST(conditions_that_held_then_are_not_judged_again)
{
    static const char body[] = "{\"id\":\"once\",\"if_revision\":1,\"if_box\":{\"a\":1},"
                               "\"pose\":{\"a\":{\"center\":[1,0,0]}}}";
    char *first = answer_to(body), *second = answer_to(body);
    same_but_repeated(first, second);
    free(first);
    free(second);
    expect(client, "POST", COMMIT, "{\"id\":\"twice\",\"if_revision\":1,\"remove\":[\"a\"]}", 412,
           NULL);
    /* a refused commit is not remembered */
    expect(client, "POST", COMMIT, "{\"id\":\"twice\",\"if_revision\":2,\"remove\":[\"a\"]}", 200,
           "{\"revision\":3,\"removed\":1}");
    /* a dry run neither is nor looks */
    expect(client, "POST", COMMIT, "{\"id\":\"dry\",\"dry_run\":true,\"remove\":[\"b\"]}", 200,
           "{\"dry_run\":true,\"removed\":1}");
    expect(client, "POST", COMMIT, "{\"id\":\"dry\",\"remove\":[\"b\"]}", 200,
           "{\"revision\":4,\"removed\":1}");
    expect(client, "POST", COMMIT, "{\"id\":\"once\",\"dry_run\":true}", 200,
           "{\"dry_run\":true,\"revision\":4}");
    /* a commit without changes is not remembered, but looks */
    expect(client, "POST", COMMIT, "{\"id\":\"asks\",\"queries\":[]}", 200, "{\"revision\":4}");
    expect(client, "POST", COMMIT, "{\"id\":\"asks\",\"put\":{\"f\":" UNIT(50) "}}", 200,
           "{\"revision\":5,\"put\":1}");
    static const char *const less[] = {"{\"id\":\"asks\"}", "{\"id\":\"asks\",\"put\":{}}",
                                       "{\"id\":\"asks\",\"queries\":[{\"kind\":\"all-pairs\"}]}"};
    for (size_t i = 0; i < sizeof less / sizeof *less; i++)
        expect_problem(client, "POST", COMMIT, less[i], 422, "/id");
}
END_TEST

START_TEST(ids_belong_to_a_scene_and_go_with_it)
{
    static const char body[] = "{\"id\":\"x\",\"time\":2000,\"put\":{\"z\":" UNIT(0) "}}";
    free(answer_to(body));
    expect(client, "POST", "/v1/scenes/other/commit", body, 200, "{\"revision\":1}");
    expect(client, "POST", COMMIT, body, 200, "{\"revision\":2,\"repeated\":true}");
    expect(client, "DELETE", S, NULL, 204, NULL);
    expect(client, "POST", COMMIT, body, 200, "{\"revision\":1,\"ids\":{\"z\":1}}");
}
END_TEST

START_TEST(an_id_is_refused_that_is_none)
{
    static const struct {
        const char *body, *problem;
    } rows[] = {
        {"{\"id\":\"\",\"time\":1001}", "{\"pointer\":\"/id\",\"status\":422}"},
        {"{\"id\":7,\"time\":1001}", "{\"pointer\":\"/id\",\"status\":422}"},
        {"{\"id\":null,\"time\":1001}", "{\"pointer\":\"/id\",\"status\":422}"},
        {"{\"id\":\"1234567890123456789012345678901234567890123456789012345678901234+\","
         "\"time\":1001}",
         "{\"pointer\":\"/id\",\"status\":422}"},
        {"{\"id\":\"known\",\"remove\":[\"a\"],\"put\":{\"b\":" UNIT(0) "}}",
         "{\"pointer\":\"/id\",\"status\":422}"},
        {"{\"id\":\"known\",\"pose\":{\"b\":{\"center\":[0,0,0]}}}",
         "{\"pointer\":\"/id\",\"status\":422}"},
    };
    expect(client, "POST", COMMIT, "{\"id\":\"known\",\"remove\":[\"a\"]}", 200, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(client, "POST", COMMIT, rows[i].body, 422, rows[i].problem);
    expect(client, "POST", COMMIT,
           "{\"id\":\"1234567890123456789012345678901234567890123456789012345678901234\","
           "\"time\":1001}",
           200, NULL);
    expect(client, "GET", S, NULL, 200, "{\"revision\":2,\"boxes\":1}");
}
END_TEST

START_TEST(queries_beyond_the_history_have_a_problem_in_place_of_their_result)
{
    expect(client, "PUT", S, "{\"history\":{\"span\":60000,\"commits\":2}}", 200, NULL);
    static const char body[] = "{\"id\":\"old\",\"pose\":{\"a\":{\"center\":[5,0,0]}},"
                               "\"queries\":[{\"kind\":\"all-pairs\"}]}";
    free(answer_to(body));
    for (int i = 0; i < 5; i++) {
        char move[64];
        (void)snprintf(move, sizeof move, "{\"pose\":{\"a\":{\"center\":[%d,0,0]}}}", i);
        free(answer_to(move));
    }
    expect(
        client, "POST", COMMIT, body, 200,
        "{\"revision\":3,\"repeated\":true,\"posed\":1,\"results\":[{\"problem\":{\"status\":410,"
        "\"oldest\":{\"revision\":6,\"time\":1000}}}]}");
}
END_TEST

/* The clock comes to the same time again, with another state. */
START_TEST(a_time_before_the_clock_started_anew_is_gone)
{
    static const char body[] =
        "{\"id\":\"first\",\"time\":1020,\"pose\":{\"a\":{\"center\":[5,0,0]}},\"queries\":["
        "{\"kind\":\"all-pairs\",\"at\":{\"time\":1010}},"
        "{\"kind\":\"ray\",\"rays\":{\"origins\":[5,5,0],\"targets\":[5,0,0],\"times\":[1020]}}]}";
    free(answer_to(body));
    free(answer_to("{\"time\":1000,\"restart\":true,\"remove\":[\"a\"]}"));
    free(answer_to("{\"time\":1030,\"remove\":[\"b\"]}"));
    expect(client, "POST", COMMIT, body, 200,
           "{\"revision\":2,\"repeated\":true,\"results\":[{\"problem\":{\"status\":410}},"
           "{\"problem\":{\"status\":410}}]}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("commit_ids");
    TCase *tc = tcase_create("commit_ids");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_repeated_commit_gets_the_former_answer_whole);
    tcase_add_test(tc,
                   a_repeated_commit_is_asked_of_its_own_state_and_not_of_a_later_one_of_its_time);
    tcase_add_test(tc, a_commit_that_comes_again_in_another_order_gets_the_ids_of_its_names);
    tcase_add_test(tc, many_puts_may_come_again_in_another_order);
    tcase_add_test(tc, conditions_that_held_then_are_not_judged_again);
    tcase_add_test(tc, ids_belong_to_a_scene_and_go_with_it);
    tcase_add_test(tc, an_id_is_refused_that_is_none);
    tcase_add_test(tc, queries_beyond_the_history_have_a_problem_in_place_of_their_result);
    tcase_add_test(tc, a_time_before_the_clock_started_anew_is_gone);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
