/* What changed a box last, and conditions on it: `changed`, `if_box` and If-Match about one box. */
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void expect_changed(const char *box, int changed, int revision)
{
    expect(client, "GET", test_text(BOXES "/%s", box), NULL, 200,
           test_text("{\"name\":\"%s\",\"changed\":%d,\"revision\":%d}", box, changed, revision));
}

START_TEST(a_box_says_which_commit_changed_it_last)
{
    expect(client, "POST", COMMIT, "{\"time\":1000,\"put\":{\"a\":" UNIT ",\"b\":" UNIT "}}", 200,
           "{\"revision\":1}");
    expect(client, "POST", COMMIT, "{\"time\":1010,\"pose\":{\"a\":{\"center\":[3,0,0]}}}", 200,
           "{\"revision\":2}");
    expect_changed("a", 2, 2);
    expect_changed("b", 1, 2);
    expect(client, "POST", COMMIT,
           "{\"pose\":{\"a\":{\"center\":[3,0,0]}},\"put\":{\"c\":" UNIT "}}", 200,
           "{\"revision\":3}");
    expect_changed("a", 2, 3); /* the same place is no change */
    expect_changed("c", 3, 3);
    expect(client, "PATCH", BOXES "/b", "{\"data\":1}", 200, "{\"changed\":4,\"revision\":4}");
    expect(client, "PATCH", BOXES "/b", "{\"data\":1}", 200, "{\"changed\":4,\"revision\":4}");
    expect(client, "POST", BOXES "/b/transform", "{\"translate\":[0,1,0]}", 200, "{\"changed\":5}");
    expect(client, "PUT", "/v1/scenes/s", "{\"history\":{\"span\":400}}", 200, "{\"revision\":6}");
    expect(client, "GET", BOXES, NULL, 200,
           "{\"revision\":6,\"boxes\":[{\"name\":\"a\",\"id\":1,\"changed\":2,\"center\":[3,0,0],"
           "\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
           "\"group\":0},{\"name\":\"b\",\"id\":2,\"changed\":5,\"center\":[0,1,0],"
           "\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
           "\"group\":0,\"data\":1},{\"name\":\"c\",\"id\":3,\"changed\":3,\"center\":[0,0,0],"
           "\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
           "\"group\":0}]}");
    /* the past says what it was then; between two commits, those of the earlier one */
    expect(client, "GET", BOXES "/a?at_revision=1", NULL, 200, "{\"changed\":1}");
    expect(client, "GET", BOXES "/a?at_time=1005", NULL, 200,
           "{\"changed\":1,\"center\":[1.5,0,0]}");
    expect(client, "GET", BOXES "?at_revision=4&prefix=b", NULL, 200,
           "{\"boxes\":[{\"name\":\"b\",\"id\":2,\"changed\":4,\"center\":[0,0,0],"
           "\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
           "\"group\":0,\"data\":1}]}");
    /* a box made again is changed by that commit; queries and exports do not say */
    expect(client, "POST", COMMIT, "{\"remove\":[\"c\"],\"put\":{\"c\":" UNIT "}}", 200,
           "{\"revision\":7}");
    expect_changed("c", 7, 7);
    struct http_answer answer = {0};
    http_send(client, "GET", "/v1/scenes/s/export", NULL, NULL, &answer);
    ck_assert_ptr_nonnull(strstr(answer.body, "{\"name\":\"c\","));
    ck_assert_ptr_null(strstr(answer.body, "changed"));
    char *lines = strdup(answer.body);
    ck_assert_ptr_nonnull(lines);
    http_send(client, "POST", "/v1/scenes/s/import",
              (const char *[]){"Content-Type: application/x-ndjson", NULL}, lines, &answer);
    ck_assert_int_eq(answer.status, 200);
    expect_changed("a", 8, 8);
    free(lines);
    http_answer_fini(&answer);
}
END_TEST

START_TEST(a_commit_holds_only_while_its_boxes_are_as_they_were)
{
    /* a and c at revision 1, b at 2, c is gone at 3 and again there at 4, d is gone */
    expect(client, "POST", COMMIT,
           "{\"time\":0,\"put\":{\"a\":" UNIT ",\"c\":" UNIT ",\"d\":" UNIT "}}", 200, NULL);
    expect(client, "PUT", BOXES "/b", UNIT, 201, NULL);
    expect(client, "POST", COMMIT, "{\"remove\":[\"c\",\"d\"]}", 200, NULL);
    expect(client, "PUT", BOXES "/c", UNIT, 201, "{\"revision\":4}");
    static const struct {
        const char *conditions;
        const char *pointer; /* of the first that does not hold; NULL: all do */
    } rows[] = {
        {"{}", NULL},
        {"{\"a\":1}", NULL},
        {"{\"a\":4,\"b\":2,\"c\":4,\"d\":0,\"never\":0}", NULL},
        {"{\"a\":0}", "/if_box/a"},
        {"{\"b\":1}", "/if_box/b"},
        {"{\"a\":1,\"b\":3,\"c\":3}", "/if_box/c"},
        {"{\"c\":1}", "/if_box/c"},
        {"{\"d\":1}", "/if_box/d"},
        {"{\"d\":4}", "/if_box/d"},
        {"{\"nev/er\":4}", "/if_box/nev~1er"},
        {"{\"a\":5}", "/if_box/a"}, /* a revision that never was */
        {"{\"a\":9007199254740992}", "/if_box/a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* a commit that changes nothing, so that each row finds the same */
        const char *body =
            test_text("{\"if_box\":%s,\"pose\":{\"a\":{\"center\":[0,0,0]}}}", rows[i].conditions);
        if (rows[i].pointer == NULL)
            expect(client, "POST", COMMIT, body, 200, "{\"revision\":4,\"posed\":1}");
        else
            expect_problem(client, "POST", COMMIT, body, 412, rows[i].pointer);
    }
    printf("%zu conditions\n", sizeof rows / sizeof *rows);
    expect(client, "POST", COMMIT, "{\"if_box\":{\"b\":1},\"put\":{\"e\":" UNIT "}}", 412,
           "{\"type\":\"/problems/revision\",\"detail\":\"found the box \\\"b\\\" changed by "
           "revision 2; the condition asks for no change after revision 1\"}");
    expect(client, "POST", COMMIT, "{\"if_box\":{\"b\":0}}", 412,
           "{\"detail\":\"found the box \\\"b\\\"; the condition asks that there is none\"}");
    expect(client, "POST", COMMIT, "{\"if_box\":{\"b\":9}}", 412,
           "{\"detail\":\"found revision 9, which the scene has not reached; the box \\\"b\\\" was "
           "last changed by revision 2\"}");
    expect(
        client, "POST", COMMIT, "{\"if_box\":{\"d\":3}}", 412,
        "{\"detail\":\"found no box \\\"d\\\"; the condition asks for one that was last changed by "
        "revision 3 or before\"}");
    expect(client, "GET", BOXES "/e", NULL, 404, NULL); /* nothing was done */
    /* its place in the order: after time and if_revision, before every change */
    expect_problem(client, "POST", COMMIT, "{\"if_box\":{\"b\":1},\"time\":-1}", 409, "/time");
    expect_problem(client, "POST", COMMIT, "{\"if_box\":{\"b\":1},\"if_revision\":1}", 412,
                   "/if_revision");
    expect_problem(client, "POST", COMMIT, "{\"put\":{\"z\":7},\"if_box\":{\"b\":1}}", 412,
                   "/if_box/b");
    expect_problem(client, "POST", COMMIT, "{\"pose\":{\"ghost\":{}},\"if_box\":{\"b\":1}}", 412,
                   "/if_box/b");
    expect_problem(client, "POST", COMMIT, "{\"if_box\":{\"b\":1,\"a\":-1}}", 412, "/if_box/b");
    expect_problem(client, "POST", COMMIT, "{\"if_box\":{\"a\":-1,\"b\":1}}", 422, "/if_box/a");
    /* the state before the commit counts, and a scene that is not there has no box */
    expect(client, "POST", COMMIT, "{\"if_box\":{\"a\":1},\"remove\":[\"a\"]}", 200,
           "{\"removed\":1}");
    expect_problem(client, "POST", "/v1/scenes/none/commit",
                   "{\"if_box\":{\"a\":1},\"put\":{\"a\":" UNIT "}}", 412, "/if_box/a");
    expect(client, "GET", "/v1/scenes/none", NULL, 404, NULL);
    expect(client, "POST", "/v1/scenes/none/commit",
           "{\"if_box\":{\"a\":0},\"put\":{\"a\":" UNIT "}}", 200, "{\"put\":1}");
}
END_TEST

/* The status of a request about one box with If-Match. */
static long match(const char *method, const char *path, const char *body, const char *tags)
{
    struct http_answer answer = {0};
    http_send(client, method, path, (const char *[]){test_text("If-Match: %s", tags), NULL}, body,
              &answer);
    const long status = answer.status;
    http_answer_fini(&answer);
    return status;
}

/* The status of a PUT with a condition on what is there. */
static long put_if(const char *path, const char *field, const char *body)
{
    struct http_answer answer = {0};
    http_send(client, "PUT", path, (const char *[]){field, NULL}, body, &answer);
    const long status = answer.status;
    ck_assert_msg(status < 400 || strstr(answer.body, "\"detail\":\"found ") != NULL, "%s",
                  answer.body);
    http_answer_fini(&answer);
    return status;
}

START_TEST(a_put_may_ask_that_nothing_is_there_or_something)
{
    static const char none[] = "If-None-Match: *", any[] = "If-Match: *";
    static const struct {
        const char *path, *body;
    } rows[] = {{"/v1/scenes/new", "{}"},
                {BOXES "/new", UNIT},
                {"/v1/scenes/s/frames/new", "{\"center\":[1,0,0]}"}};
    expect(client, "PUT", BOXES "/old", UNIT, 201, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(put_if(rows[i].path, any, rows[i].body), 412);
        ck_assert_int_eq(put_if(rows[i].path, none, rows[i].body), 201);
        ck_assert_int_eq(put_if(rows[i].path, none, rows[i].body), 412);
        ck_assert_int_eq(put_if(rows[i].path, any, rows[i].body), 200);
        expect(client, "DELETE", rows[i].path, NULL, 204, NULL);
        ck_assert_int_eq(put_if(rows[i].path, any, rows[i].body), 412);
        ck_assert_int_eq(put_if(rows[i].path, none, rows[i].body), 201);
    }
    /* a tag that the box has, and one that it has not */
    struct http_answer answer = {0};
    http_send(client, "GET", BOXES "/new", NULL, NULL, &answer);
    char tag[80];
    (void)snprintf(tag, sizeof tag, "If-None-Match: %s", http_header(&answer, "ETag"));
    http_answer_fini(&answer);
    ck_assert_int_eq(put_if(BOXES "/new", tag, UNIT), 412);
    ck_assert_int_eq(put_if(BOXES "/new", "If-None-Match: \"1\"", UNIT), 200);
    /* in a scene that is not there */
    ck_assert_int_eq(put_if("/v1/scenes/later/boxes/a", any, UNIT), 412);
    ck_assert_int_eq(put_if("/v1/scenes/later/boxes/a", none, UNIT), 201);
}
END_TEST

START_TEST(a_read_may_ask_for_the_present_state)
{
    expect(client, "PUT", BOXES "/a", UNIT, 201, NULL);              /* 1 */
    expect(client, "PUT", "/v1/scenes/s/frames/f", "{}", 201, NULL); /* 2 */
    expect(client, "PUT", BOXES "/b", UNIT, 201, NULL);              /* 3 */
    static const struct {
        const char *method, *path, *body;
        long first; /* status for the tag of revision 1 */
    } rows[] = {{"GET", "/v1/scenes/s", NULL, 412},
                {"GET", BOXES, NULL, 412},
                {"GET", BOXES "/a", NULL, 200}, /* which did not change since */
                {"GET", BOXES "/b", NULL, 412},
                {"GET", BOXES "/a?at_revision=1", NULL, 200},
                {"GET", BOXES "?at_revision=1", NULL, 412},
                {"GET", "/v1/scenes/s/frames", NULL, 412},
                {"GET", "/v1/scenes/s/frames/f", NULL, 412},
                {"GET", "/v1/scenes/s/export", NULL, 412},
                {"POST", "/v1/scenes/s/query/all-pairs", "{}", 412},
                {"POST", "/v1/scenes/s/query/point", "{\"points\":[[0,0,0]]}", 412}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(match(rows[i].method, rows[i].path, rows[i].body, "\"3\""), 200);
        ck_assert_int_eq(match(rows[i].method, rows[i].path, rows[i].body, "*"), 200);
        ck_assert_int_eq(match(rows[i].method, rows[i].path, rows[i].body, "\"4\""), 412);
        ck_assert_int_eq(match(rows[i].method, rows[i].path, rows[i].body, "\"1\""), rows[i].first);
    }
    ck_assert_int_eq(match("GET", BOXES "/none", NULL, "*"), 404);
}
END_TEST

START_TEST(any_revision_since_its_last_change_matches_a_box)
{
    expect(client, "PUT", BOXES "/a", UNIT, 201, NULL);              /* 1 */
    expect(client, "PATCH", BOXES "/a", "{\"group\":1}", 200, NULL); /* 2: a */
    for (int i = 0; i < 3; i++)                                      /* 3 to 5: others */
        expect(client, "PUT", test_text(BOXES "/o%d", i), UNIT, 201, NULL);
    static const struct {
        const char *tags;
        bool holds;
    } rows[] = {{"\"1\"", false},        {"\"2\"", true},    {"\"3\"", true},
                {"\"5\"", true},         {"\"6\"", false},   {"\"0\", \"4\"", true},
                {"\"0\", \"6\"", false}, {"W/\"3\"", false}, {"*", true}};
    static const char *const requests[][3] = {
        {"PUT", BOXES "/a", "{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"group\":1}"},
        {"PATCH", BOXES "/a", "{}"},
        {"POST", BOXES "/a/transform", "{\"translate\":[0,0,0]}"},
        {"POST", BOXES "/a/merge", "{\"with\":[\"o0\"]}"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 4; k++) /* none of these changes anything */
            ck_assert_msg(match(requests[k][0], requests[k][1], requests[k][2], rows[i].tags) ==
                              (rows[i].holds ? 200 : 412),
                          "%s %s", requests[k][0], rows[i].tags);
    struct http_answer answer = {0};
    http_send(client, "GET", BOXES "/a", NULL, NULL, &answer);
    const char *epoch = http_header(&answer, "Obbd-Epoch");
    ck_assert_int_eq(match("PATCH", BOXES "/a", "{}", test_text("\"2.%s\"", epoch)), 200);
    ck_assert_int_eq(match("PATCH", BOXES "/a", "{}", "\"2.0000000000000000\""), 412);
    http_answer_fini(&answer);
    /* on scenes and commits only the scene's revision holds, and so for a box that is not there */
    ck_assert_int_eq(match("POST", COMMIT, "{}", "\"2\""), 412);
    ck_assert_int_eq(match("PUT", "/v1/scenes/s", "{}", "\"4\""), 412);
    ck_assert_int_eq(match("PUT", "/v1/scenes/s", "{}", "\"5\""), 200);
    ck_assert_int_eq(match("PUT", BOXES "/new", UNIT, "\"4\""), 412);
    ck_assert_int_eq(match("PUT", BOXES "/new", UNIT, "\"5\""), 201); /* 6 */
    ck_assert_int_eq(match("DELETE", BOXES "/o0", NULL, "\"2\""), 412);
    ck_assert_int_eq(match("DELETE", BOXES "/o0", NULL, "\"3\""), 204);
    ck_assert_int_eq(match("DELETE", BOXES "/o0", NULL, "\"7\""), 404);
    printf("%zu lists of tags, 4 requests each\n", sizeof rows / sizeof *rows);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("changed");
    TCase *tc = tcase_create("changed");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_box_says_which_commit_changed_it_last);
    tcase_add_test(tc, a_commit_holds_only_while_its_boxes_are_as_they_were);
    tcase_add_test(tc, a_put_may_ask_that_nothing_is_there_or_something);
    tcase_add_test(tc, a_read_may_ask_for_the_present_state);
    tcase_add_test(tc, any_revision_since_its_last_change_matches_a_box);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
