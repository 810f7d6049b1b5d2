/* The order of faults: of two faults in one request the contract says which one is told. */
#include "tests/support/cbor.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"

static struct test_daemon daemon;
static struct http_client *client;
static struct http_answer answer;
static size_t asked;

static void setup(void)
{
    daemon_start(&daemon, NULL);
    client = http_open(daemon.url);
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":5,\"put\":{\"a\":" UNIT ",\"b\":" UNIT "}}", 200, NULL);
    expect(client, "PUT", "/v1/scenes/flat", "{\"dimensions\":2}", 201, NULL);
}

static void teardown(void)
{
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* Sends the body as it is, and if it is JSON, as CBOR, too. The pointer of a problem must be the
 * same. */
static void refused(const char *method, const char *path, const char *header, const char *body,
                    long status, const char *pointer)
{
    json_t *value = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
    size_t length = 0;
    char *binary = value != NULL ? cbor_written(value, &length) : NULL;
    for (int media = 0; media < (binary != NULL ? 2 : 1); media++, asked++) {
        const char *const headers[] = {media == 0 ? "Content-Type: application/json"
                                                  : "Content-Type: application/cbor",
                                       header, NULL};
        http_send_bytes(client, method, path, headers, media == 0 ? body : binary,
                        media == 0 ? strlen(body) : length, &answer);
        ck_assert_msg(answer.status == status, "%s %s %s %s: %ld instead of %ld\n%s", method, path,
                      header != NULL ? header : "", body, answer.status, status, answer.body);
        json_t *problem = json_loads(answer.body, 0, NULL);
        const char *at = json_string_value(json_object_get(problem, "pointer"));
        ck_assert_msg(pointer == NULL || (at != NULL && strcmp(at, pointer) == 0), "%s %s %s: %s",
                      method, path, body, answer.body);
        json_decref(problem);
    }
    free(binary);
    json_decref(value);
}

/* ---- The body before the place --------------------------------------------------------------- */

/* Requests about what is not there, with a body that is good, one that is not, and where. */
static const struct {
    const char *method, *path, *good, *bad, *pointer;
} places[] = {
    {"POST", "/v1/scenes/none/query/pairs", "{\"pairs\":[]}", "{\"pairs\":[[\"a\"]]}", "/pairs/0"},
    {"POST", "/v1/scenes/none/query/all-pairs", "{}", "{\"limit\":-1}", "/limit"},
    {"POST", "/v1/scenes/none/query/overlap", "{\"shapes\":[\"a\"]}", "{\"shapes\":[7]}",
     "/shapes/0"},
    {"POST", "/v1/scenes/none/query/point", "{\"points\":[[0,0,0]]}", "{\"points\":\"x\"}",
     "/points"},
    {"POST", "/v1/scenes/none/query/point", "{\"points\":[[0,0]]}", "{\"points\":[[0]]}",
     "/points/0"},
    {"POST", "/v1/scenes/none/query/ray", "{\"rays\":[]}", "{\"rays\":[{}]}", "/rays/0"},
    {"POST", "/v1/scenes/none/query/ray", "{\"rays\":[{\"from\":[0,0],\"to\":[1,1]}]}",
     "{\"rays\":[{\"from\":[0,0],\"to\":[1,1,1]}]}", "/rays/0/from"},
    {"POST", "/v1/scenes/none/query/sweep", "{\"sweeps\":[]}", "{\"sweeps\":[],\"want\":[\"x\"]}",
     "/want/0"},
    {"POST", "/v1/scenes/none/query/nearest", "{\"points\":[],\"k\":1}", "{\"points\":[],\"k\":-1}",
     "/k"},
    {"POST", "/v1/scenes/none/query/point",
     "{\"points\":[],\"with\":{\"put\":{\"a\":" UNIT "}},\"explain\":[\"a\"],\"tag\":\"t\"}",
     "{\"points\":[],\"with\":{\"put\":{\"a\":{}}},\"tag\":\"t\"}", "/with/put/a"},
    {"POST", "/v1/scenes/none/commit", "{\"remove\":[\"a\"]}", "{\"remove\":[7]}", "/remove/0"},
    {"POST", "/v1/scenes/none/copy", "{\"to\":\"t\"}", "{\"to\":7}", "/to"},
    {"PATCH", "/v1/scenes/none/boxes/a", "{}", "{\"ttl\":-1}", "/ttl"},
    {"PATCH", "/v1/scenes/s/boxes/none", "{}", "{\"ttl\":-1}", "/ttl"},
    {"POST", "/v1/scenes/none/boxes/a/transform", "{\"translate\":[1,0,0]}", "{\"translate\":7}",
     "/translate"},
    {"POST", "/v1/scenes/s/boxes/none/transform", "{\"translate\":[1,0,0]}", "{\"translate\":7}",
     "/translate"},
    {"POST", "/v1/scenes/none/boxes/a/merge", "{\"with\":[\"b\"]}", "{\"with\":[]}", "/with"},
    {"POST", "/v1/scenes/s/boxes/none/merge", "{\"with\":[\"b\"]}", "{\"with\":[]}", "/with"},
    {"PUT", "/v1/scenes/s/boxes/new",
     "{\"half_extents\":[1,1,1],\"center\":[0,0,0],\"frame\":\"f\"}",
     "{\"half_extents\":[1,1,-1],\"center\":[0,0,0],\"frame\":\"f\"}", "/half_extents/2"},
};

START_TEST(the_body_is_judged_before_the_place)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *method = places[i].method, *path = places[i].path;
        refused(method, path, NULL, places[i].good, 404, NULL);
        refused(method, path, NULL, places[i].bad, 422, places[i].pointer);
        refused(method, path, NULL, "{", 400, NULL);
        refused(method, path, NULL, "[]", 422, "");
        refused(method, path, NULL, "{\"colour\":1}", 422, "/colour");
        refused(method, path, NULL, "{\"a\":{\"b\":1,\"b\":1}}", 400, NULL);
    }
    refused("POST", "/v1/scenes/none/query/point", NULL, "", 422, "");
    refused("POST", "/v1/scenes/none/query/all-pairs", NULL, "", 404, NULL);
    refused("POST", "/v1/scenes/none/query/guess", NULL, "{", 404, NULL);
    /* in both problems the tag is told */
    refused("POST", "/v1/scenes/none/query/point", NULL, "{\"points\":7,\"tag\":\"t\"}", 422,
            "/points");
    ck_assert_ptr_nonnull(strstr(answer.body, "\"tag\":\"t\""));
    refused("POST", "/v1/scenes/none/query/point", NULL, "{\"points\":[],\"tag\":\"t\"}", 404,
            NULL);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"tag\":\"t\""));
    /* the scene that is there says how many numbers a vector has */
    refused("POST", "/v1/scenes/s/query/point", NULL, "{\"points\":[[0,0]]}", 422, "/points/0");
    refused("POST", "/v1/scenes/flat/query/point", NULL, "{\"points\":[[0,0,0]]}", 422,
            "/points/0");
    printf("%zu requests\n", asked);
}
END_TEST

START_TEST(the_query_string_is_judged_before_the_place)
{
    static const char *const paths[] = {
        "/v1/scenes/none?x=1",           "/v1/scenes/none/boxes?limit=x",
        "/v1/scenes/none/boxes/a?x=1",   "/v1/scenes/s/boxes/none?include=x",
        "/v1/scenes/none/frames?x=1",    "/v1/scenes/none/frames/a?at_time=x",
        "/v1/scenes/s/frames/none?x=1",  "/v1/scenes/none/log?from=x",
        "/v1/scenes/none/queries?hit=x", "/v1/scenes/none/events?rate=0",
        "/v1/scenes/none/export?x=1"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        expect_problem(client, "GET", paths[i], NULL, 400, NULL);
        expect_problem(client, "GET", test_text("%.*s", (int)strcspn(paths[i], "?"), paths[i]),
                       NULL, 404, NULL);
    }
    expect_problem(client, "DELETE", "/v1/scenes/none?x=1", NULL, 400, NULL);
    expect_problem(client, "DELETE", "/v1/scenes/s/boxes/none?x=1", NULL, 400, NULL);
    expect_problem(client, "DELETE", "/v1/scenes/s/frames/none?x=1", NULL, 400, NULL);
    refused("POST", "/v1/scenes/none/query/point?x=1", NULL, "{", 400, NULL);
}
END_TEST

/* ---- The body before conditions, and the epoch before the body ------------------------------- */

START_TEST(conditions_come_behind_the_body_and_the_epoch_before_it)
{
    static const char match[] = "If-Match: \"99\"", epoch[] = "Obbd-If-Epoch: 0000000000000001";
    static const struct {
        const char *method, *path, *good, *bad;
    } rows[] = {
        {"PUT", "/v1/scenes/s", "{}", "{\"record\":-1}"},
        {"PUT", "/v1/scenes/s/boxes/a", UNIT, "{}"},
        {"PATCH", "/v1/scenes/s/boxes/a", "{}", "{\"ttl\":-1}"},
        {"POST", "/v1/scenes/s/boxes/a/transform", "{\"translate\":[1,0,0]}", "{}"},
        {"POST", "/v1/scenes/s/boxes/a/merge", "{\"with\":[\"b\"]}", "{}"},
        {"PUT", "/v1/scenes/s/frames/f", "{}", "{\"half_extents\":1}"},
        {"POST", "/v1/scenes/s/commit", "{\"put\":{\"c\":" UNIT "}}", "{\"put\":{\"c\":1}}"},
        {"POST", "/v1/scenes/s/copy", "{\"to\":\"t\"}", "{}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        refused(rows[i].method, rows[i].path, match, rows[i].good, 412, NULL);
        /* of a commit, If-Match stands where if_revision does: before its entries */
        refused(rows[i].method, rows[i].path, match, rows[i].bad,
                strstr(rows[i].path, "commit") != NULL ? 412 : 422, NULL);
        refused(rows[i].method, rows[i].path, match, "{", 400, NULL);
        refused(rows[i].method, rows[i].path, epoch, rows[i].good, 412, NULL);
        refused(rows[i].method, rows[i].path, epoch, rows[i].bad, 412, NULL);
        refused(rows[i].method, rows[i].path, epoch, "{", 412, NULL);
    }
    refused("POST", "/v1/scenes/s/query/point", epoch, "{", 412, NULL);
    refused("POST", "/v1/scenes/none/query/point", epoch, "{", 404, NULL);
    refused("POST", "/v1/scenes/none/query/point", epoch, "{\"points\":7}", 404, NULL);
    refused("POST", "/v1/scenes/none/commit", epoch, "{", 412, NULL);
    refused("POST", "/v1/scenes/s/query/point", NULL, "{\"points\":7,\"at\":{\"revision\":99}}",
            422, "/points");
    refused("POST", "/v1/scenes/s/query/point", NULL, "{\"points\":[],\"at\":{\"revision\":99}}",
            410, "/at");
    refused("POST", "/v1/scenes/s/copy", NULL, "{\"to\":7,\"at\":{\"revision\":99}}", 422, "/to");
    refused("POST", "/v1/scenes/s/copy", NULL, "{\"to\":\"s\",\"at\":{\"revision\":99}}", 410,
            "/at");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":1}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order");
    TCase *tc = tcase_create("order");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, the_body_is_judged_before_the_place);
    tcase_add_test(tc, the_query_string_is_judged_before_the_place);
    tcase_add_test(tc, conditions_come_behind_the_body_and_the_epoch_before_it);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
