/* Recorded queries: what a scene keeps of the queries that it was asked, that each can be asked
 * again, what lists and streams tell of them, and what is left out. */
#include "tests/support/cbor.h"
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct test_daemon daemon;
static struct http_client *client;
static struct http_answer answer;

static void start_with(const char *const *arguments)
{
    daemon_start(&daemon, arguments);
    client = http_open(daemon.url);
}

static void start(void) { start_with(NULL); }

static void stop(void)
{
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* Returns the JSON of the answer; the caller owns it. */
static json_t *ask_with(const char *method, const char *path, const char *const *headers,
                        const char *body, long status)
{
    http_send(client, method, path, headers, body, &answer);
    ck_assert_msg(answer.status == status, "%s %s %s: %ld %s", method, path,
                  body != NULL ? body : "", answer.status, answer.body);
    json_t *value = json_loads(answer.body, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(value);
    return value;
}

static json_t *ask(const char *method, const char *path, const char *body, long status)
{
    return ask_with(method, path, NULL, body, status);
}

static void send_to(const char *method, const char *path, const char *body)
{
    json_decref(ask(method, path, body, strcmp(method, "PUT") == 0 ? 201 : 200));
}

static void make_scene(int record)
{
    send_to("PUT", "/v1/scenes/s", test_text("{\"record\":%d}", record));
    send_to("POST", "/v1/scenes/s/commit",
            "{\"time\":10,\"put\":{\"a\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"data\":{"
            "\"box\":\"d\"}},"
            "\"b\":{\"center\":[1.5,0,0],\"half_extents\":[1,1,1],\"entity\":\"e\"},"
            "\"c\":{\"center\":[50,0,0],\"half_extents\":[1,1,1]},"
            "\"d\":{\"center\":[0,90,0],\"half_extents\":[1,1,1]}}}");
}

static json_t *list(const char *params)
{
    return ask("GET", test_text("/v1/scenes/s/queries%s", params), NULL, 200);
}

static const json_t *entries(const json_t *listed) { return json_object_get(listed, "queries"); }

/* Checks the ids of the listed queries: "1 2 3". */
static void check_ids(const char *params, const char *ids)
{
    json_t *listed = list(params);
    char got[256] = "";
    size_t i, length = 0;
    json_t *entry;
    json_array_foreach(json_object_get(listed, "queries"), i, entry) length +=
        (size_t)snprintf(got + length, sizeof got - length, i > 0 ? " %d" : "%d",
                         (int)json_integer_value(json_object_get(entry, "id")));
    ck_assert_msg(strcmp(got, ids) == 0, "%s: %s, not %s", params, got, ids);
    json_decref(listed);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    ck_assert_msg(text != NULL, "%s", key);
    return text;
}

static long metric(const char *name)
{
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    const char *at = strstr(answer.body, test_text("\n%s ", name));
    ck_assert_msg(at != NULL, "%s", name);
    return strtol(at + strlen(name) + 2, NULL, 10);
}

static const char *const kinds[][2] = {
    {"pairs", "{\"pairs\":[[\"a\",\"b\"],[\"a\",{\"center\":[0,0,2.5],\"half_extents\":[1,1,1]}],["
              "\"a\",\"x\"]],"
              "\"want\":[\"distance\",\"axis\",\"data\"],\"tag\":\"p \\n\\\"\\u00e9\"}"},
    {"all-pairs", "{\"by\":\"id\",\"count_only\":false}"},
    {"all-pairs", ""},
    {"overlap",
     "{\"shapes\":[\"a\",{\"sphere\":{\"center\":[0,0,0],\"radius\":1}}],\"margin\":1e-3}"},
    {"point", "{\"points\":[[0.1,0,0],[7,7,7]],\"filter\":{\"exclude\":[\"b\"]},\"by\":\"id\"}"},
    {"ray",
     "{ \"kind\" : \"ray\", \"rays\":[{\"from\":[-5,0,0],\"to\":[60,0.0,-0.0]}],\"mode\":\"all\","
     "\"explain\":[\"d\"],\"want\":[\"pose\"]}"},
    {"ray",
     "{\"rays\":{\"origins\":[-5,0,0,9,9,9],\"directions\":[1,0,0,1,0,0]},\"columns\":true}"},
    {"sweep", "{\"sweeps\":[{\"box\":\"a\",\"motion\":[60,0,0]}],\"at\":{\"revision\":1}}"},
    {"nearest", "{\"points\":[[3,3,3]],\"k\":2,\"at\":{\"ago\":5,\"clamp\":true}}"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Posts each recorded query as it is; the answer must be the recorded one. */
static void ask_again(const json_t *recorded, size_t expected)
{
    size_t i;
    json_t *entry;
    ck_assert_uint_eq(json_array_size(recorded), expected);
    json_t *copy = json_deep_copy(recorded); /* asking adds to the record */
    json_array_foreach(copy, i, entry)
    {
        char *body = json_dumps(json_object_get(entry, "query"), JSON_COMPACT);
        json_t *again =
            ask("POST", test_text("/v1/scenes/s/query/%s", text_of(entry, "kind")), body, 200);
        ck_assert_msg(json_equal(again, json_object_get(entry, "answer")), "%s: %s", body,
                      answer.body);
        const json_t *at = json_object_get(entry, "at"), *own = json_object_get(again, "at");
        ck_assert(own == NULL || json_equal(own, at));
        ck_assert_int_eq(json_integer_value(json_object_get(at, "revision")), 1);
        ck_assert(json_is_boolean(json_object_get(at, "clamped")));
        json_decref(again);
        free(body);
    }
    json_decref(copy);
}

START_TEST(each_kind_can_be_asked_again)
{
    make_scene(100);
    for (size_t i = 0; i < KINDS; i++)
        send_to("POST", test_text("/v1/scenes/s/query/%s", kinds[i][0]),
                kinds[i][1][0] != '\0' ? kinds[i][1] : NULL);
    json_t *listed = list("");
    ask_again(entries(listed), KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        const json_t *entry = json_array_get(entries(listed), i);
        json_t *sent = json_loads(kinds[i][1][0] != '\0' ? kinds[i][1] : "{}", 0, NULL);
        ck_assert_str_eq(text_of(entry, "kind"), kinds[i][0]);
        ck_assert(json_equal(sent, json_object_get(entry, "query")));
        ck_assert_int_eq(json_integer_value(json_object_get(entry, "id")), (int)i + 1);
        ck_assert_int_eq(json_integer_value(json_object_get(entry, "revision")), 1);
        ck_assert(json_equal(json_object_get(entry, "tag"),
                             i == 0 ? json_object_get(sent, "tag") : json_null()));
        ck_assert(json_is_null(json_object_get(entry, "token")));
        json_decref(sent);
    }
    json_decref(listed);
}
END_TEST

/* The same in CBOR, bodies and answers, with typed arrays; and the list in CBOR. */
/* Posts a recorded query with one member of the recorded `at` in place of its own. Returns the
 * answer, which the caller owns. */
static json_t *ask_same_state(const json_t *entry)
{
    const json_t *at = json_object_get(entry, "at"), *query = json_object_get(entry, "query");
    const json_t *own = json_object_get(query, "at");
    const bool by_time =
        (json_object_get(own, "time") != NULL || json_object_get(own, "ago") != NULL) &&
        json_integer_value(json_object_get(at, "revision")) <
            json_integer_value(json_object_get(entry, "revision"));
    const char *member = by_time ? "time" : "revision";
    json_t *body = json_copy((json_t *)(uintptr_t)query);
    ck_assert_int_eq(
        json_object_set_new(body, "at", json_pack("{s:O}", member, json_object_get(at, member))),
        0);
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *again =
        ask("POST", test_text("/v1/scenes/s/query/%s", text_of(entry, "kind")), text, 200);
    free(text);
    json_decref(body);
    return again;
}

/* A member of the recorded `at` names the state that was asked, whatever was committed since; the
 * whole `at` is refused. */
START_TEST(the_state_of_each_can_be_asked_again)
{
    static const char *const asked[] = {"null",
                                        "{\"revision\":1}",
                                        "{\"revision\":2}", /* 3 is of the same time */
                                        "{\"revision\":99,\"clamp\":true}",
                                        "{\"time\":150}",
                                        "{\"time\":200}",
                                        "{\"time\":250}",
                                        "{\"time\":250,\"interpolate\":false}",
                                        "{\"time\":320}",
                                        "{\"time\":350}",
                                        "{\"time\":9,\"clamp\":true}",
                                        "{\"time\":999,\"clamp\":true}",
                                        "{\"ago\":170}",
                                        "{\"ago\":0}",
                                        "{\"ago\":1e6,\"clamp\":true}"};
    enum { ASKED = sizeof asked / sizeof asked[0] };
    static const char commit[] =
        "{\"time\":%d,\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}";
    static const int before[][2] = {{100, 0}, {200, 2}, {200, 3}, {300, 4}};
    static const int since[][2] = {{350, 8}, {350, 9}, {450, 20}};
    send_to("PUT", "/v1/scenes/s", "{\"record\":100,\"history\":{\"span\":10000,\"commits\":64}}");
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        send_to("POST", "/v1/scenes/s/commit", test_text(commit, before[i][0], before[i][1]));
    send_to("POST", "/v1/scenes/s/commit", "{\"time\":350}");
    for (size_t i = 0; i < ASKED; i++)
        send_to("POST", "/v1/scenes/s/query/nearest",
                i == 0
                    ? "{\"points\":[[0,5,0]],\"want\":[\"pose\"]}"
                    : test_text("{\"points\":[[0,5,0]],\"want\":[\"pose\"],\"at\":%s}", asked[i]));
    json_t *listed = list("");
    ck_assert_uint_eq(json_array_size(entries(listed)), ASKED);
    for (size_t i = 0; i < sizeof since / sizeof since[0]; i++)
        send_to("POST", "/v1/scenes/s/commit", test_text(commit, since[i][0], since[i][1]));
    for (size_t i = 0; i < ASKED; i++) {
        const json_t *entry = json_array_get(entries(listed), i);
        json_t *again = ask_same_state(entry);
        ck_assert_msg(json_equal(json_object_get(again, "results"),
                                 json_object_get(json_object_get(entry, "answer"), "results")),
                      "%s: %s", asked[i], answer.body);
        json_decref(again);
        char *whole = json_dumps(json_object_get(entry, "at"), JSON_COMPACT);
        again = ask("POST", "/v1/scenes/s/query/point",
                    test_text("{\"points\":[],\"at\":%s}", whole), 422);
        ck_assert_str_eq(text_of(again, "pointer"), "/at/time");
        free(whole);
        json_decref(again);
    }
    printf("%d states\n", (int)ASKED);
    json_decref(listed);
}
END_TEST

START_TEST(queries_in_cbor_are_told_as_json)
{
    static const char *const both[] = {"Content-Type: application/cbor", "Accept: application/cbor",
                                       NULL};
    make_scene(100);
    for (size_t i = 0; i < KINDS; i++) {
        json_t *sent = json_loads(kinds[i][1][0] != '\0' ? kinds[i][1] : "{}", 0, NULL);
        size_t length;
        char *body = cbor_written(sent, &length);
        http_send_bytes(client, "POST", test_text("/v1/scenes/s/query/%s", kinds[i][0]), both, body,
                        length, &answer);
        ck_assert_msg(answer.status == 200, "%s: %ld", kinds[i][1], answer.status);
        free(body);
        json_decref(sent);
    }
    /* {"points": float32 [1.5, 0, 0]} */
    static const char typed[] = "\xa1\x66points\xd8\x55\x4c\0\0\xc0\x3f\0\0\0\0\0\0\0\0";
    http_send_bytes(client, "POST", "/v1/scenes/s/query/point", both, typed, sizeof typed - 1,
                    &answer);
    ck_assert_int_eq(answer.status, 200);
    json_t *listed = list("");
    ask_again(entries(listed), KINDS + 1);
    for (size_t i = 0; i < KINDS; i++) {
        json_t *sent = json_loads(kinds[i][1][0] != '\0' ? kinds[i][1] : "{}", 0, NULL);
        char *got = json_dumps(json_object_get(json_array_get(entries(listed), i), "query"), 0);
        ck_assert_str_eq(text_of(json_array_get(entries(listed), i), "kind"), kinds[i][0]);
        ck_assert_msg(json_object_size(json_object_get(json_array_get(entries(listed), i),
                                                       "query")) == json_object_size(sent),
                      "%s", got);
        free(got);
        json_decref(sent);
    }
    char *last =
        json_dumps(json_object_get(json_array_get(entries(listed), KINDS), "query"), JSON_COMPACT);
    ck_assert_str_eq(last, "{\"points\":[1.5,0,0]}");
    free(last);
    json_decref(listed);
    http_send(client, "GET", "/v1/scenes/s/queries?limit=5", both, NULL, &answer);
    json_t *binary = cbor_read(answer.body, answer.length);
    json_t *text = list("?limit=5");
    for (size_t i = 0; i < 5; i++) {
        const json_t *a = json_array_get(entries(binary), i), *b = json_array_get(entries(text), i);
        ck_assert(json_equal(json_object_get(a, "id"), json_object_get(b, "id")));
        ck_assert(json_equal(json_object_get(a, "request"), json_object_get(b, "request")));
        ck_assert(json_equal(json_object_get(a, "kind"), json_object_get(b, "kind")));
    }
    ck_assert_str_eq(text_of(binary, "cursor"), "5");
    ck_assert_str_eq(text_of(text, "cursor"), "5");
    json_decref(text);
    json_decref(binary);
}
END_TEST

/* Queries of commits are told as if they had been asked alone, in JSON and in CBOR. */
START_TEST(queries_of_commits_are_recorded)
{
    static const char *const headers[] = {"X-Request-Id: tick-7", "Content-Type: application/json",
                                          NULL};
    static const char *const binary[] = {"Accept: application/cbor", NULL};
    make_scene(100);
    static const char commit[] =
        "{\"queries\":[{\"kind\":\"pairs\",\"pairs\":[[\"a\",\"b\"]],\"tag\":\"\"},"
        "{\"kind\":\"all-pairs\"},{\"kind\":\"nearest\",\"points\":[[0,0,0]],\"at\":{\"time\":10}}]"
        "}";
    json_decref(ask_with("POST", "/v1/scenes/s/commit", headers, commit, 200));
    http_send(client, "POST", "/v1/scenes/s/commit", binary, commit, &answer);
    ck_assert_int_eq(answer.status, 200);
    json_decref(ask("POST", "/v1/scenes/s/commit",
                    "{\"if_revision\":9,\"queries\":[{\"kind\":\"all-pairs\"}]}", 412));
    json_decref(ask("POST", "/v1/scenes/s/query/point", "{\"points\":[[1]]}", 422));
    send_to("POST", "/v1/scenes/s/commit",
            "{\"dry_run\":true,\"remove\":[\"a\"],\"queries\":[{\"kind\":\"all-pairs\"}]}");
    json_decref(ask("POST", "/v1/scenes/s/commit", "{\"time\":20}", 200)); /* no state of its own */
    json_t *listed = list("");
    for (size_t i = 0; i < 3; i++) {
        const json_t *a = json_array_get(entries(listed), i),
                     *b = json_array_get(entries(listed), i + 3);
        ck_assert_str_eq(text_of(a, "request"), "tick-7");
        ck_assert(json_equal(json_object_get(a, "answer"), json_object_get(b, "answer")));
        ck_assert(json_equal(json_object_get(a, "query"), json_object_get(b, "query")));
        ck_assert(json_equal(json_object_get(a, "tag"),
                             i == 0 ? json_object_get(b, "tag") : json_null()));
    }
    ck_assert_uint_eq(json_array_size(entries(listed)), 6);
    ck_assert_str_eq(text_of(json_array_get(entries(listed), 0), "tag"), "");
    json_decref(listed);
    send_to("POST", "/v1/scenes/s/commit",
            "{\"time\":20,\"pose\":{\"c\":{\"center\":[51,0,0]}},\"queries\":[{\"kind\":"
            "\"overlap\",\"shapes\":[\"c\"]}]}");
    listed = list("?cursor=6");
    const json_t *entry = json_array_get(entries(listed), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(entry, "at"), "revision")),
                     2);
    ck_assert_uint_eq(json_array_size(entries(listed)), 1);
    json_decref(listed);
}
END_TEST

START_TEST(lists_are_narrowed_and_paged)
{
    make_scene(100);
    send_to("POST", "/v1/scenes/s/query/ray",
            "{\"rays\":[{\"origin\":[-5,0,0],\"direction\":[1,0,0]}],\"tag\":\"x\",\"want\":["
            "\"data\"]}"); /* a */
    send_to("POST", "/v1/scenes/s/query/ray",
            "{\"rays\":[{\"origin\":[-5,0,0],\"direction\":[-1,0,0]}],\"tag\":\"x\"}");
    send_to("POST", "/v1/scenes/s/query/point",
            "{\"points\":[[50,0,0]],\"by\":\"id\",\"tag\":\"\"}"); /* c, by id */
    send_to("POST", "/v1/scenes/s/query/pairs", "{\"pairs\":[[\"a\",\"d\"]]}");
    send_to("POST", "/v1/scenes/s/query/all-pairs",
            "{\"filter\":{\"exclude\":[\"c\"]}}"); /* a, b */
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{\"filter\":{\"prefix\":\"c\"}}");
    send_to("POST", "/v1/scenes/s/query/overlap", "{\"shapes\":[\"gone\"]}");
    send_to("POST", "/v1/scenes/s/query/sweep",
            "{\"sweeps\":[{\"box\":2,\"motion\":[0,0,1]}],\"by\":\"id\",\"limit\":4}"); /* b: a */
    check_ids("", "1 2 3 4 5 6 7 8");
    check_ids("?tag=x", "1 2");
    check_ids("?tag=", "3");
    check_ids("?tag=y", "");
    check_ids("?hit=true", "1 3 5 8");
    check_ids("?hit=false", "2 4 6 7");
    check_ids("?box=a", "1 4 5 8");
    check_ids("?box=b", "5 8");
    check_ids("?box=c", "3 5");
    check_ids("?box=d", "4"); /* not the data of a, nor a limit of 4 */
    check_ids("?box=gone", "7");
    check_ids("?box=x", "");
    check_ids("?box=e", ""); /* an entity */
    check_ids("?box=a&hit=false", "4");
    check_ids("?tag=x&hit=true&box=a", "1");
    check_ids("?limit=3", "1 2 3");
    check_ids("?limit=3&cursor=3", "4 5 6");
    check_ids("?limit=3&cursor=6", "7 8");
    check_ids("?box=a&limit=2&cursor=1", "4 5");
    json_t *listed = list("?limit=3&cursor=5");
    ck_assert(json_object_get(listed, "cursor") == NULL);
    json_decref(listed);
    listed = list("?box=a&limit=3");
    ck_assert_str_eq(text_of(listed, "cursor"), "5");
    json_decref(listed);
    static const char *const wrong[] = {"?box=..",   "?hit=yes",  "?limit=0",
                                        "?cursor=0", "?kind=ray", "?tag=1&tag=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_problem(client, "GET", test_text("/v1/scenes/s/queries%s", wrong[i]), NULL, 400,
                       NULL);
    expect_problem(client, "GET", "/v1/scenes/none/queries", NULL, 404, NULL);
    expect_problem(client, "PUT", "/v1/scenes/s", "{\"record\":10001}", 422, "/record");
}
END_TEST

/* Data of as many levels as it can have, in the query and in the answer. */
START_TEST(boxes_beside_deep_data_are_found)
{
    enum { LEVELS = 64 };
    char data[2 * LEVELS + 1] = "";
    for (int i = 0; i < 2 * LEVELS; i++)
        data[i] = i < LEVELS ? '[' : ']';
    make_scene(100);
    send_to("PUT", "/v1/scenes/s/boxes/z",
            test_text("{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"data\":%s}", data));
    send_to("POST", "/v1/scenes/s/query/overlap",
            "{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":9}}],\"want\":[\"data\"]}");
    send_to("POST", "/v1/scenes/s/query/pairs",
            test_text("{\"with\":{\"put\":{\"n\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],"
                      "\"data\":%s}}},\"pairs\":[[\"n\",\"c\"]]}",
                      data));
    check_ids("?box=a", "1");
    check_ids("?box=z", "1");
    check_ids("?box=c", "2");
}
END_TEST

START_TEST(who_does_not_want_it_is_not_recorded)
{
    make_scene(100);
    send_to("POST", "/v1/scenes/s/query/point", "{\"points\":[[0,0,0]],\"record\":false}");
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{\"record\":false,\"tag\":\"x\"}");
    check_ids("", "");
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{\"record\":true,\"tag\":\"x\"}");
    send_to("POST", "/v1/scenes/s/commit",
            "{\"queries\":[{\"kind\":\"point\",\"points\":[[0,0,0]],\"record\":false},"
            "{\"kind\":\"point\",\"points\":[[9,0,0]],\"tag\":\"y\"},"
            "{\"kind\":\"all-pairs\",\"record\":false}]}");
    check_ids("", "1 2");
    check_ids("?tag=x", "1");
    check_ids("?tag=y", "2");
    expect_problem(client, "POST", "/v1/scenes/s/query/point",
                   "{\"points\":[[0,0,0]],\"record\":1}", 422, "/record");
    ck_assert_int_eq(metric("obbd_queries_unrecorded_total"), 0);
}
END_TEST

START_TEST(the_last_ones_are_kept)
{
    make_scene(2);
    for (int i = 0; i < 5; i++)
        send_to("POST", "/v1/scenes/s/query/all-pairs", test_text("{\"limit\":%d}", i));
    check_ids("", "4 5");
    expect(client, "PUT", "/v1/scenes/s", "{\"record\":1}", 200, "{\"record\":1,\"revision\":2}");
    check_ids("", "5");
    expect(client, "PUT", "/v1/scenes/s", "{\"record\":0}", 200, "{\"record\":0,\"revision\":3}");
    check_ids("", "");
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{}");
    check_ids("", "");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"record\":0,\"revision\":3}");
    expect(client, "PUT", "/v1/scenes/s", "{\"record\":10000}", 200, "{\"record\":10000}");
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{}");
    check_ids("", "6"); /* an id is not given again */
    http_send(client, "GET", "/v1/scenes/s/export", NULL, NULL, &answer);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"record\":10000,"));
    char *lines = strdup(answer.body);
    static const char *const ndjson[] = {"Content-Type: application/x-ndjson", NULL};
    json_t *made = ask_with("POST", "/v1/scenes/t/import", ndjson, lines, 201);
    ck_assert_int_eq(json_integer_value(json_object_get(made, "record")), 10000);
    json_decref(made);
    free(lines);
    http_send(client, "GET", "/v1/scenes/s/log?from=3", NULL, NULL, &answer);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"record\":0,\"boxes\""));
    ck_assert_ptr_nonnull(strstr(answer.body, "\"commits\":64},\"record\":10000}"));
    expect(client, "DELETE", "/v1/scenes/s", NULL, 204, "");
    make_scene(3);
    check_ids("", "");
    ck_assert_int_eq(metric("obbd_queries_unrecorded_total"), 0);
}
END_TEST

static const char *next_event(struct follower *f, struct follower_message *message)
{
    ck_assert(follower_next(f, FOLLOWER_PATIENT, message));
    return message->event;
}

START_TEST(streams_tell_queries_as_they_happen)
{
    struct follower all, some, boxes;
    struct follower_message message;
    make_scene(4);
    follower_open(&some, daemon_dial(&daemon),
                  "/v1/scenes/s/events?topics=queries&prefix=zz&rate=0.001", NULL);
    follower_open(&all, daemon_dial(&daemon), "/v1/scenes/s/events", NULL);
    follower_open(&boxes, daemon_dial(&daemon), "/v1/scenes/s/events?topics=boxes,commits", NULL);
    ck_assert_str_eq(next_event(&all, &message), "state");
    while (metric("obbd_followers") < 3)
        continue;
    for (int i = 1; i <= 3; i++) {
        send_to("POST", "/v1/scenes/s/query/point",
                test_text("{\"points\":[[%d,0,0]],\n \"tag\":\"t%d\"}", i, i));
        struct follower *const both[] = {&all, &some};
        json_t *listed = list(test_text("?tag=t%d", i));
        for (size_t k = 0; k < 2; k++) {
            ck_assert_str_eq(next_event(both[k], &message), "query");
            ck_assert_str_eq(message.id_text, ""); /* it moves no resume point */
            json_t *told = json_loads(message.data, 0, NULL);
            ck_assert(json_equal(told, json_array_get(entries(listed), 0)));
            json_decref(told);
        }
        json_decref(listed);
    }
    send_to("POST", "/v1/scenes/s/commit",
            "{\"time\":11,\"put\":{\"n\":{\"center\":[0,0,50],\"half_extents\":[1,1,1]}},"
            "\"queries\":[{\"kind\":\"all-pairs\"}]}");
    ck_assert_str_eq(next_event(&boxes, &message), "boxes");
    ck_assert_str_eq(next_event(&boxes, &message), "commit");
    ck_assert_str_eq(next_event(&some, &message), "query");
    bool query = false, commit = false;
    while (!query || !commit) {
        const char *event = next_event(&all, &message);
        query = query || strcmp(event, "query") == 0;
        commit = commit || strcmp(event, "commit") == 0;
    }
    follower_close(&all);
    while (metric("obbd_followers") > 2)
        continue;
    follower_open(&all, daemon_dial(&daemon), "/v1/scenes/s/events?topics=queries", "2");
    while (metric("obbd_followers") < 3)
        continue;
    send_to("POST", "/v1/scenes/s/query/all-pairs", "{\"tag\":\"later\"}");
    ck_assert_str_eq(next_event(&all, &message), "query"); /* not those that it was away for */
    ck_assert_ptr_nonnull(strstr(message.data, "\"tag\":\"later\""));
    expect(client, "DELETE", "/v1/scenes/s", NULL, 204, "");
    ck_assert_str_eq(next_event(&all, &message), "gone");
    follower_close(&all);
    follower_close(&some);
    follower_close(&boxes);
    expect_problem(client, "GET", "/v1/scenes/s/events?topics=query", NULL, 400, NULL);
}
END_TEST

/* Streams of lines are not recorded; large bodies and answers are, on the pool. */
START_TEST(large_queries_are_recorded_and_lines_are_not)
{
    enum { MANY = 20000 };
    static const char *const lines[] = {"Accept: application/x-ndjson", NULL};
    make_scene(10);
    http_send(client, "POST", "/v1/scenes/s/query/all-pairs", lines, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    check_ids("", "");
    ck_assert_int_eq(metric("obbd_queries_unrecorded_total"), 1);
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    char *body = malloc(32 * MANY), *at = body;
    at += sprintf(at, "{\"points\":[");
    for (int i = 0; i < MANY; i++)
        at += sprintf(at, "%s[%d,0,0]", i > 0 ? " ,\n" : "", i % 60);
    (void)sprintf(at, "]}");
    for (int i = 0; i < 3; i++)
        send_to("POST", "/v1/scenes/s/query/point", body);
    json_t *sent = json_loads(body, 0, NULL), *listed = list("?box=c&hit=true");
    ck_assert_uint_eq(json_array_size(entries(listed)), 3);
    ck_assert(json_equal(sent, json_object_get(json_array_get(entries(listed), 1), "query")));
    json_decref(sent);
    json_decref(listed);
    free(body);
}
END_TEST

/* Returns the bytes in use, once they are at most `most` or do not become fewer: large blocks are
 * freed behind the answer. */
static long in_use(long most)
{
    long bytes = metric("obbd_in_flight_bytes");
    for (int tries = 0; tries < 500 * test_timeout(1) && bytes > most; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        bytes = metric("obbd_in_flight_bytes");
    }
    return bytes;
}

/* Without room for the record the query is answered all the same. */
START_TEST(recording_gives_way)
{
    enum { ASKED = 60, POINTS = 4000 };
    stop();
    start_with((const char *const[]){"--memory-limit", "4MiB", NULL});
    make_scene(10000);
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    char *body = malloc(32 * POINTS), *at = body;
    at += sprintf(at, "{\"points\":[");
    for (int i = 0; i < POINTS; i++)
        at += sprintf(at, "%s[%d,0,0]", i > 0 ? "," : "", i % 60);
    (void)sprintf(at, "]}");
    for (int i = 0; i < ASKED; i++)
        send_to("POST", "/v1/scenes/s/query/point", body);
    free(body);
    const long left_out = metric("obbd_queries_unrecorded_total");
    const long most = 1024 * 1024 + 65536, held = in_use(most);
    ck_assert_msg(left_out > 0 && left_out < ASKED, "%ld", left_out);
    ck_assert_msg(held > 0 && held <= most, "%ld", held);
    expect(client, "PUT", "/v1/scenes/s", "{\"record\":0}", 200, NULL);
    ck_assert_int_lt(in_use(65535), 65536);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded");
    TCase *tc = tcase_create("recorded");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, each_kind_can_be_asked_again);
    tcase_add_test(tc, the_state_of_each_can_be_asked_again);
    tcase_add_test(tc, queries_in_cbor_are_told_as_json);
    tcase_add_test(tc, queries_of_commits_are_recorded);
    tcase_add_test(tc, lists_are_narrowed_and_paged);
    tcase_add_test(tc, boxes_beside_deep_data_are_found);
    tcase_add_test(tc, who_does_not_want_it_is_not_recorded);
    tcase_add_test(tc, the_last_ones_are_kept);
    tcase_add_test(tc, streams_tell_queries_as_they_happen);
    tcase_add_test(tc, large_queries_are_recorded_and_lines_are_not);
    tcase_add_test(tc, recording_gives_way);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
