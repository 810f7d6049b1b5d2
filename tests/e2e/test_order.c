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

/* ---- Changes of a query ---------------------------------------------------------------------- */

#define LOST   "\"pose\":{\"none\":{}}"
#define BROKEN "\"transform\":{\"a\":{}}"
#define GONE   "\"at\":{\"revision\":99}"

/* In the order of application: of two faults, one of the scene and one of the body, the first. */
static const struct {
    const char *changes; /* of a query, and as well of a commit */
    long status;
    const char *pointer;
} orders[] = {
    {LOST, 404, "/pose/none"},
    {BROKEN, 422, "/transform/a"},
    {LOST "," BROKEN, 404, "/pose/none"},
    {BROKEN "," LOST, 404, "/pose/none"},
    {"\"pose\":{\"none\":{},\"a\":{\"center\":[0,0]}}", 404, "/pose/none"},
    {"\"pose\":{\"a\":{\"center\":[0,0]},\"none\":{}}", 422, "/pose/a/center"},
    {"\"pose\":{\"names\":[\"none\",\"a\"],\"centers\":[0,0,0,0,0,2e9]}", 404, "/pose/names/0"},
    {"\"pose\":{\"names\":[\"a\",\"none\"],\"centers\":[0,0,2e9,0,0,0]}", 422, "/pose/centers/2"},
    {"\"put\":{\"c\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"frame\":\"f\"},\"d\":{}}", 404,
     "/put/c/frame"},
    {"\"put\":{\"d\":{},\"c\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"frame\":\"f\"}}", 422,
     "/put/d"},
    {"\"put\":{\"c\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"frame\":\"f\"}},"
     "\"frames\":{\"g\":{\"center\":7}}",
     422, "/frames/g/center"},
    {"\"put\":{\"names\":[\"c\",\"d\"],\"centers\":[0,0,0,0,0,0],\"half_extents\":[1,1,1],"
     "\"frames\":\"f\",\"ttl\":[1,-1]}",
     404, "/put/frames"},
    {"\"put\":{\"names\":[\"c\",\"d\"],\"centers\":[0,0,0,0,0,0],\"half_extents\":[1,1,1],"
     "\"frames\":[null,\"f\"],\"ttl\":[1,2]}",
     404, "/put/frames/1"},
    {"\"remove\":[\"a\"],\"pose\":{\"a\":{},\"b\":7}", 404, "/pose/a"},
    {"\"remove\":[\"a\",7],\"pose\":{\"a\":{}}", 422, "/remove/1"},
    {LOST ",\"remove_frames\":7", 422, "/remove_frames"},
    {LOST ",\"colour\":1", 422, "/colour"},
    {LOST ",\"pose\":{}", 400, NULL},
};

/* Sends the changes between the two texts, and expects the pointer below that prefix. */
static void refused_in(const char *path, const char *before, const char *after, size_t row,
                       const char *prefix)
{
    char body[1024], pointer[96];
    (void)snprintf(body, sizeof body, "%s%s%s", before, orders[row].changes, after);
    (void)snprintf(pointer, sizeof pointer, "%s%s", prefix,
                   orders[row].pointer != NULL ? orders[row].pointer : "");
    refused("POST", path, NULL, body, orders[row].status,
            orders[row].pointer != NULL ? pointer : NULL);
}

START_TEST(changes_of_a_query_are_judged_in_their_order)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        refused_in("/v1/scenes/s/commit", "{", "}", i, "");
        refused_in("/v1/scenes/s/query/all-pairs", "{\"with\":{", "}}", i, "/with");
        refused_in("/v1/scenes/s/query/point", "{\"with\":{", "},\"points\":[[0,0,0]]}", i,
                   "/with");
        refused_in("/v1/scenes/s/query/ray", "{\"rays\":[],\"with\":{",
                   "},\"at\":{\"time\":4,\"clamp\":true}}", i, "/with");
        refused_in("/v1/scenes/s/commit",
                   "{\"queries\":[{\"kind\":\"point\",\"points\":[],\"with\":{", "}}]}", i,
                   "/queries/0/with");
        refused_in(
            "/v1/scenes/s/commit",
            "{\"dry_run\":true,\"put\":{\"z\":" UNIT "},\"queries\":[{\"kind\":\"all-pairs\"},"
            "{\"with\":{",
            "},\"kind\":\"point\",\"points\":[]},{\"kind\":\"guess\"}]}", i, "/queries/1/with");
    }
    printf("%zu requests\n", asked);
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":1,\"boxes\":2}");
}
END_TEST

START_TEST(changes_are_judged_among_other_faults)
{
    static const struct {
        const char *path, *body;
        long status;
        const char *pointer;
    } rows[] = {
        /* another fault of the body comes before what the scene refuses */
        {"query/point", "{\"points\":7,\"with\":{" LOST "}}", 422, "/points"},
        {"query/point", "{\"with\":{" LOST "},\"points\":7}", 422, "/points"},
        {"query/point", "{\"with\":{" LOST "," BROKEN "},\"points\":7}", 422, "/with/transform/a"},
        {"query/point", "{\"with\":{" LOST "," BROKEN "}}", 422, "/with/transform/a"},
        {"query/point", "{\"with\":{" LOST "," BROKEN "},\"points\":[]", 400, NULL},
        {"query/point", "{\"points\":[],\"with\":{" LOST "," BROKEN "},\"x\":{\"a\":1,\"a\":2}}",
         400, NULL},
        /* without the state nothing is laid over it */
        {"query/point", "{\"points\":[]," GONE ",\"with\":{" LOST "}}", 410, "/at"},
        {"query/point", "{\"with\":{" LOST "," BROKEN "},\"points\":[]," GONE "}", 422,
         "/with/transform/a"},
        /* queries of a commit in their order, behind its changes */
        {"commit", "{\"queries\":[{\"kind\":\"all-pairs\",\"with\":{" LOST "}},{\"kind\":7}]}", 404,
         "/queries/0/with/pose/none"},
        {"commit",
         "{\"queries\":[{\"kind\":\"all-pairs\",\"with\":{" LOST "}},{\"kind\":\"all-pairs\"," GONE
         "}]}",
         404, "/queries/0/with/pose/none"},
        {"commit",
         "{\"queries\":[{\"kind\":\"all-pairs\"," GONE "},{\"kind\":\"all-pairs\",\"with\":{" LOST
         "}}]}",
         410, "/queries/0/at"},
        {"commit",
         "{\"queries\":[{\"kind\":\"all-pairs\"," GONE ",\"with\":{" LOST "," BROKEN "}}]}", 422,
         "/queries/0/with/transform/a"},
        {"commit",
         "{\"pose\":{\"none\":{}},\"queries\":[{\"kind\":\"all-pairs\",\"with\":{" BROKEN "}}]}",
         404, "/pose/none"},
        {"commit",
         "{\"remove\":[\"b\"],\"queries\":[{\"kind\":\"all-pairs\",\"with\":{\"pose\":{\"b\":{}}"
         "," BROKEN "}}]}",
         404, "/queries/0/with/pose/b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/scenes/s/%s", rows[i].path);
        refused("POST", path, NULL, rows[i].body, rows[i].status, rows[i].pointer);
    }
    /* a problem has the tag of its query, wherever the fault lies */
    refused("POST", "/v1/scenes/s/query/point", NULL,
            "{\"with\":{" LOST "," BROKEN "},\"points\":[],\"tag\":\"t\"}", 404, "/with/pose/none");
    ck_assert_ptr_nonnull(strstr(answer.body, "\"tag\":\"t\""));
    refused("POST", "/v1/scenes/s/commit", NULL,
            "{\"queries\":[{\"kind\":\"all-pairs\",\"tag\":\"t\",\"with\":{" BROKEN "}}]}", 422,
            "/queries/0/with/transform/a");
    ck_assert_ptr_nonnull(strstr(answer.body, "\"tag\":\"t\""));
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":1,\"boxes\":2}");
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
    tcase_add_test(tc, changes_of_a_query_are_judged_in_their_order);
    tcase_add_test(tc, changes_are_judged_among_other_faults);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
