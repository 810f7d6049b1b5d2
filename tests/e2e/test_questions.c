/* Questions about answers and about what is not stored: tag, explain, with and dry_run, as a client
 * sees them, in JSON and in CBOR. Each test has a daemon of its own. */
#include "tests/support/cbor.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct test_daemon daemon;
static struct http_client *client;
static size_t asked; /* requests that were sent in both media */

static void start(void)
{
    daemon_start(&daemon, NULL);
    client = http_open(daemon.url);
}

static void stop(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* Numbers may differ by `slack`. */
static bool equal(const json_t *a, const json_t *b, double slack)
{
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <= slack;
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!equal(json_array_get(a, i), json_array_get(b, i), slack))
                return false;
        return true;
    }
    if (json_is_object(a)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)a, key, value)
        {
            const json_t *other = json_object_get(b, key);
            if (other == NULL || !equal(value, other, slack))
                return false;
        }
        return json_object_size(a) == json_object_size(b);
    }
    return json_equal(a, b) != 0;
}

/* Posts the body as CBOR, and checks that the answer is `wanted`. */
static void post_cbor(const char *path, const json_t *body, long status, const json_t *wanted)
{
    static const char *const headers[] = {"Content-Type: application/cbor",
                                          "Accept: application/cbor", NULL};
    struct http_answer answer = {0};
    size_t length = 0;
    char *bytes = cbor_written(body, &length);
    http_send_bytes(client, "POST", path, headers, bytes, length, &answer);
    json_t *real = answer.status < 400 ? cbor_read(answer.body, answer.length)
                                       : json_loads(answer.body, 0, NULL);
    ck_assert_int_eq(answer.status, status);
    char *text = json_dumps(real, 0);
    ck_assert_msg(equal(real, wanted, 0.0), "%s\nas CBOR: %s", path, text);
    free(text);
    free(bytes);
    json_decref(real);
    http_answer_fini(&answer);
}

/* Posts the text as JSON and as CBOR, which must answer alike, and returns the answer, which the
 * caller owns. The request must change nothing. */
static json_t *ask(const char *where, const char *text, long status)
{
    char path[128]; /* `where` may be a text of test_text, which the client writes to */
    (void)snprintf(path, sizeof path, "%s", where);
    struct http_answer answer = {0};
    json_error_t error;
    json_t *body = json_loads(text, 0, &error);
    ck_assert_msg(body != NULL, "%s in %s", error.text, text);
    http_send(client, "POST", path, NULL, text, &answer);
    ck_assert_msg(answer.status == status, "%s %s\nanswers %ld: %s", path, text, answer.status,
                  answer.body);
    json_t *real = json_loads(answer.body, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(real != NULL, "%s: %s", error.text, answer.body);
    post_cbor(path, body, status, real);
    json_decref(body);
    http_answer_fini(&answer);
    asked++;
    return real;
}

/* The answer is `wanted`, and nothing more. */
static void says(const char *path, const char *text, const char *wanted)
{
    json_error_t error;
    json_t *real = ask(path, text, 200), *told = json_loads(wanted, 0, &error);
    ck_assert_msg(told != NULL, "the test's own JSON: %s in %s", error.text, wanted);
    char *line = json_dumps(real, 0);
    ck_assert_msg(equal(real, told, 1e-14), "%s\nanswers\n%s\nand not\n%s", text, line, wanted);
    free(line);
    json_decref(real);
    json_decref(told);
}

/* The request is refused with this status, pointer (NULL: none) and tag (NULL: none). */
static void refused(const char *path, const char *text, long status, const char *pointer,
                    const char *tag)
{
    json_t *problem = ask(path, text, status);
    const char *const where = json_string_value(json_object_get(problem, "pointer"));
    const char *const mark = json_string_value(json_object_get(problem, "tag"));
    char *line = json_dumps(problem, 0);
    ck_assert_msg((where == NULL) == (pointer == NULL) &&
                      (where == NULL || strcmp(where, pointer) == 0) &&
                      (mark == NULL) == (tag == NULL) && (mark == NULL || strcmp(mark, tag) == 0) &&
                      strlen(json_string_value(json_object_get(problem, "detail"))) > 8,
                  "%s\nis refused by %s", text, line);
    free(line);
    json_decref(problem);
}

#define YARD "/v1/scenes/yard"

/* ---- tag ------------------------------------------------------------------------------------- */

START_TEST(a_tag_comes_back_in_answers_entries_problems_and_last_lines)
{
    static const char tag[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\xc3\xa9";
    expect(client, "POST", YARD "/commit",
           "{\"time\":10,\"put\":{\"a\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}}}", 200,
           NULL);
    static const char *const kinds[][2] = {
        {"pairs", "\"pairs\":[]"},     {"overlap", "\"shapes\":[]"}, {"point", "\"points\":[]"},
        {"ray", "\"rays\":[]"},        {"sweep", "\"sweeps\":[]"},   {"nearest", "\"points\":[]"},
        {"all-pairs", "\"by\":\"id\""}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        json_t *answer = ask(test_text(YARD "/query/%s", kinds[i][0]),
                             test_text("{%s,\"tag\":\"t %zu\"}", kinds[i][1], i), 200);
        ck_assert_str_eq(json_string_value(json_object_get(answer, "tag")), test_text("t %zu", i));
        json_decref(answer);
        answer = ask(test_text(YARD "/query/%s", kinds[i][0]),
                     test_text("{%s,\"tag\":\"\"}", kinds[i][1]), 200);
        ck_assert_str_eq(json_string_value(json_object_get(answer, "tag")), "");
        json_decref(answer);
        answer = ask(
            YARD "/commit",
            test_text("{\"queries\":[{\"kind\":\"%s\",%s,\"tag\":\"in\"},{\"kind\":\"%s\",%s}]}",
                      kinds[i][0], kinds[i][1], kinds[i][0], kinds[i][1]),
            200);
        const json_t *results = json_object_get(answer, "results");
        ck_assert_str_eq(json_string_value(json_object_get(json_array_get(results, 0), "tag")),
                         "in");
        ck_assert_ptr_null(json_object_get(json_array_get(results, 1), "tag"));
        ck_assert_ptr_null(json_object_get(answer, "tag"));
        json_decref(answer);
    }
    says(YARD "/query/point", "{\"points\":[[0,0,0]],\"tag\":\"x\",\"by\":\"id\"}",
         "{\"revision\":1,\"time\":10,\"tag\":\"x\",\"results\":[{\"boxes\":[1]}]}");
    refused(YARD "/query/point", test_text("{\"points\":[],\"tag\":\"%s\"}", tag), 422, "/tag",
            NULL);
    refused(YARD "/query/point", "{\"points\":[],\"tag\":5}", 422, "/tag", NULL);
    refused(YARD "/query/point", "{\"points\":[[1]],\"tag\":\"late\"}", 422, "/points/0", "late");
    refused(YARD "/query/point", "{\"points\":[],\"at\":{\"revision\":9},\"tag\":\"gone\"}", 410,
            "/at", "gone");
    refused("/v1/scenes/none/query/point", "{\"points\":[],\"tag\":\"nowhere\"}", 404, NULL,
            "nowhere");
    refused("/v1/scenes/none/query/point", "{\"points\":[]}", 404, NULL, NULL);
    refused(YARD "/commit",
            "{\"queries\":[{\"kind\":\"all-pairs\",\"tag\":\"first\"},"
            "{\"kind\":\"all-pairs\",\"tag\":\"second\",\"at\":{\"revision\":9}}]}",
            410, "/queries/1/at", "second");
    refused(YARD "/commit",
            "{\"queries\":[{\"kind\":\"all-pairs\",\"tag\":\"first\"},"
            "{\"kind\":\"all-pairs\",\"limit\":-1,\"tag\":\"second\"}]}",
            422, "/queries/1/limit", "second");
    refused(YARD "/commit",
            "{\"pose\":{\"ghost\":{\"center\":[0,0,0]}},\"queries\":[{\"kind\":\"all-pairs\","
            "\"tag\":\"x\"}]}",
            404, "/pose/ghost", NULL);

    struct http_answer answer = {0};
    http_send(
        client, "POST", YARD "/query/all-pairs",
        (const char *[]){"Accept: application/x-ndjson", "Content-Type: application/json", NULL},
        "{\"tag\":\"lines\"}", &answer);
    ck_assert_int_eq(answer.status, 200);
    json_t *last = json_loads(answer.body, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(last, "tag")), "lines");
    json_decref(last);
    http_answer_fini(&answer);
    printf("%zu requests in both media\n", asked);
}
END_TEST

/* ---- explain --------------------------------------------------------------------------------- */

#define UNIT(x, rest) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]" rest "}"

/* Boxes of half extent 1 on the x axis at 0, 4, 8 and 12, and one far above. */
static void make_row(void)
{
    expect(
        client, "POST", YARD "/commit",
        "{\"time\":10,\"put\":{\"a\":" UNIT(0, ",\"entity\":\"e\"") ",\"b\":" UNIT(
            4, ",\"entity\":\"f\"") ",\"c\":" UNIT(8,
                                                   ",\"entity\":\"e\"") ",\"d\":" UNIT(12,
                                                                                       ",\"categor"
                                                                                       "y\":2,"
                                                                                       "\"mask\":"
                                                                                       "4") ",\"up"
                                                                                            "\":{"
                                                                                            "\"cen"
                                                                                            "ter\""
                                                                                            ":[0,"
                                                                                            "10,0]"
                                                                                            ",\"ha"
                                                                                            "lf_"
                                                                                            "exten"
                                                                                            "ts\":"
                                                                                            "[1,1,"
                                                                                            "1]}}"
                                                                                            "}",
        200, "{\"ids\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"up\":5}}");
}

#define HEAD "{\"revision\":1,\"time\":10,\"results\":["
#define HIT(box, distance, x) \
    "{\"box\":\"" box "\",\"distance\":" #distance ",\"point\":[" #x ",0,0],\"normal\":[-1,0,0]}"
#define ENDLESS "\"rays\":[{\"origin\":[-3,0,0],\"direction\":[1,0,0]}]"

START_TEST(an_answer_says_why_a_box_is_not_in_it)
{
    make_row();
    static const struct {
        const char *kind, *query, *result;
    } cases[] = {
        {"ray", ENDLESS ",\"explain\":[\"b\",\"a\",\"nobody\",\"up\",\"a\"]",
         "{\"hits\":[" HIT("a", 2, -1) "],\"explain\":["
                                       "{\"box\":\"b\",\"verdict\":\"behind\",\"behind\":\"a\"},{"
                                       "\"box\":\"a\",\"verdict\":\"hit\"},"
                                       "{\"box\":\"nobody\",\"verdict\":\"absent\"},{\"box\":"
                                       "\"up\",\"verdict\":\"missed\",\"gap\":9},"
                                       "{\"box\":\"a\",\"verdict\":\"hit\"}]}"},
        {"ray", ENDLESS ",\"explain\":[]", "{\"hits\":[" HIT("a", 2, -1) "],\"explain\":[]}"},
        /* the ray ends 3 before d */
        {"ray",
         "\"rays\":[{\"from\":[-3,0,0],\"to\":[8,0,0]}],\"limit\":0,\"explain\":[\"a\",\"b\","
         "\"d\"]",
         "{\"hits\":[],\"truncated\":true,\"count\":1,\"explain\":[{\"box\":\"a\",\"verdict\":"
         "\"cut\"},"
         "{\"box\":\"b\",\"verdict\":\"behind\",\"behind\":\"a\"},"
         "{\"box\":\"d\",\"verdict\":\"missed\",\"gap\":3}]}"},
        {"ray", ENDLESS ",\"mode\":\"all\",\"limit\":2,\"explain\":[\"b\",\"c\"]",
         "{\"hits\":[" HIT("a", 2, -1) "," HIT(
             "b", 6,
             3) "],\"truncated\":true,\"count\":4,\"explain\":["
                "{\"box\":\"b\",\"verdict\":\"hit\"},{\"box\":\"c\",\"verdict\":\"cut\"}]}"},
        {"ray", ENDLESS ",\"mode\":\"closest_per_entity\",\"explain\":[\"c\",\"d\"]",
         "{\"hits\":[" HIT("a", 2, -1) "," HIT("b", 6, 3) "," HIT(
             "d", 14, 11) "],\"explain\":["
                          "{\"box\":\"c\",\"verdict\":\"behind\",\"behind\":\"a\"},{\"box\":\"d\","
                          "\"verdict\":\"hit\"}]}"},
        {"ray",
         "\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,1]}],\"inside\":\"ignore\",\"explain\":["
         "\"a\",\"b\"]",
         "{\"hits\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":0},"
         "{\"box\":\"b\",\"verdict\":\"missed\",\"gap\":3}]}"},
        /* each reason alone, and the first of all of them */
        {"point", "\"points\":[[0,0,0]],\"filter\":{\"mask\":2},\"explain\":[\"a\",\"d\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"mask\"},"
         "{\"box\":\"d\",\"verdict\":\"missed\",\"gap\":11}]}"},
        {"point", "\"points\":[[0,0,0]],\"filter\":{\"category\":2},\"explain\":[\"a\",\"d\"]",
         "{\"boxes\":[\"a\"],\"explain\":[{\"box\":\"a\",\"verdict\":\"hit\"},"
         "{\"box\":\"d\",\"verdict\":\"filtered\",\"by\":\"category\"}]}"},
        {"point",
         "\"points\":[[0,0,0]],\"filter\":{\"prefix\":\"u\",\"exclude\":[\"up\"]},\"explain\":["
         "\"a\",\"up\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"prefix\"},"
         "{\"box\":\"up\",\"verdict\":\"filtered\",\"by\":\"exclude\"}]}"},
        {"point",
         "\"points\":[[0,0,0]],\"filter\":{\"exclude_entities\":[\"e\"],\"exclude\":[\"a\"]},"
         "\"explain\":[\"a\",\"c\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"exclude\"},"
         "{\"box\":\"c\",\"verdict\":\"filtered\",\"by\":\"entity\"}]}"},
        {"point",
         "\"points\":[[12,0,0]],\"filter\":{\"mask\":1,\"category\":3,\"prefix\":\"x\",\"exclude\":"
         "[\"d\"]},\"explain\":[\"d\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"d\",\"verdict\":\"filtered\",\"by\":\"mask\"}]}"},
        {"point",
         "\"points\":[[12,0,0]],\"filter\":{\"category\":3,\"prefix\":\"x\",\"exclude\":[\"d\"]},"
         "\"explain\":[\"d\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"d\",\"verdict\":\"filtered\",\"by\":\"category\"}]"
         "}"},
        /* overlap: the gap does not count the margin; the axis is that of boxes */
        {"overlap", "\"shapes\":[\"a\"],\"margin\":1,\"explain\":[\"a\",\"b\",\"up\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"self\"},"
         "{\"box\":\"b\",\"verdict\":\"missed\",\"gap\":2,\"axis\":{\"name\":\"a.x\",\"normal\":[1,"
         "0,0],\"gap\":2}},"
         "{\"box\":\"up\",\"verdict\":\"missed\",\"gap\":8,\"axis\":{\"name\":\"a.y\",\"normal\":["
         "0,1,0],\"gap\":8}}]}"},
        {"overlap", "\"shapes\":[" UNIT(1, "") "],\"margin\":-1.5,\"explain\":[\"a\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":0,"
         "\"axis\":{\"name\":\"a.x\",\"normal\":[-1,0,0],\"gap\":-1}}]}"},
        {"overlap",
         "\"shapes\":[{\"sphere\":{\"center\":[0,5,0],\"radius\":1}}],\"explain\":[\"a\",\"up\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":3},"
         "{\"box\":\"up\",\"verdict\":\"missed\",\"gap\":3}]}"},
        {"overlap",
         "\"shapes\":[{\"capsule\":{\"a\":[0,5,0],\"b\":[4,5,0],\"radius\":1}}],\"limit\":0,"
         "\"margin\":3,\"explain\":[\"b\",\"d\"]",
         "{\"boxes\":[],\"truncated\":true,\"count\":3,\"explain\":[{\"box\":\"b\",\"verdict\":"
         "\"cut\"},"
         "{\"box\":\"d\",\"verdict\":\"missed\",\"gap\":7.06225774829855}]}"},
        {"overlap", "\"shapes\":[\"nobody\"],\"explain\":[\"a\"]", "{\"missing\":[\"nobody\"]}"},
        /* sweeps: the least gap is that on the way */
        {"sweep",
         "\"sweeps\":[{\"box\":\"up\",\"motion\":[12,-6,0]}],\"explain\":[\"up\",\"a\",\"d\"]",
         "{\"hits\":[],\"explain\":[{\"box\":\"up\",\"verdict\":\"filtered\",\"by\":\"self\"},"
         "{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":6.260990336999411},"
         "{\"box\":\"d\",\"verdict\":\"missed\",\"gap\":2}]}"},
        {"sweep",
         "\"sweeps\":[{\"box\":" UNIT(-5,
                                      "") ",\"motion\":[9,0,0]}],\"explain\":[\"a\",\"b\",\"c\"]",
         "{\"hits\":[{\"box\":\"a\",\"fraction\":0.3333333333333333,\"point\":[-1,1,1],\"normal\":["
         "-1,0,0]}],\"explain\":["
         "{\"box\":\"a\",\"verdict\":\"hit\"},{\"box\":\"b\",\"verdict\":\"behind\",\"behind\":"
         "\"a\"},"
         "{\"box\":\"c\",\"verdict\":\"missed\",\"gap\":2}]}"},
        /* nearest: beyond k, and beyond max_distance */
        {"nearest",
         "\"points\":[[0,0,0]],\"k\":2,\"max_distance\":9,\"explain\":[\"b\",\"c\",\"up\",\"d\"]",
         "{\"boxes\":[{\"box\":\"a\",\"distance\":0,\"point\":[0,0,0]},{\"box\":\"b\",\"distance\":"
         "3,\"point\":[3,0,0]}],"
         "\"explain\":[{\"box\":\"b\",\"verdict\":\"hit\"},{\"box\":\"c\",\"verdict\":\"behind\","
         "\"behind\":\"b\"},"
         "{\"box\":\"up\",\"verdict\":\"behind\",\"behind\":\"b\"},{\"box\":\"d\",\"verdict\":"
         "\"missed\",\"gap\":11}]}"},
        {"nearest", "\"boxes\":[\"a\"],\"max_distance\":3,\"explain\":[\"a\",\"c\"],\"want\":[]",
         "{\"boxes\":[{\"box\":\"b\",\"distance\":2,\"point\":[3,1,1]}],\"explain\":["
         "{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"self\"},"
         "{\"box\":\"c\",\"verdict\":\"missed\",\"gap\":6,\"axis\":{\"name\":\"a.x\",\"normal\":[1,"
         "0,0],\"gap\":6}}]}"},
        {"nearest", "\"points\":[[0,0,0]],\"k\":0,\"by\":\"id\",\"explain\":[1,99,\"b\"]",
         "{\"boxes\":[],\"explain\":[{\"box\":1,\"verdict\":\"cut\"},{\"box\":99,\"verdict\":"
         "\"absent\"},"
         "{\"box\":2,\"verdict\":\"cut\"}]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[4096], query[2048];
        (void)snprintf(query, sizeof query, "{%s}", cases[i].query);
        (void)snprintf(wanted, sizeof wanted, HEAD "%s]}", cases[i].result);
        says(test_text(YARD "/query/%s", cases[i].kind), query, wanted);
        (void)snprintf(query, sizeof query, "{\"queries\":[{\"kind\":\"%s\",%s}]}", cases[i].kind,
                       cases[i].query);
        (void)snprintf(
            wanted, sizeof wanted,
            "{\"revision\":1,\"time\":10,\"removed\":0,\"put\":0,\"posed\":0,\"transformed\":0,"
            "\"results\":[{\"results\":[%s]}]}",
            cases[i].result);
        says(YARD "/commit", query, wanted);
    }
    refused(YARD "/query/pairs", "{\"pairs\":[],\"explain\":[\"a\"]}", 422, "/explain", NULL);
    refused(YARD "/query/all-pairs", "{\"explain\":[\"a\"],\"tag\":\"t\"}", 422, "/explain", "t");
    refused(YARD "/query/ray", "{\"rays\":[],\"explain\":[1]}", 422, "/explain/0", NULL);
    refused(YARD "/query/ray",
            "{\"rays\":[],\"explain\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
            "\"a\","
            "\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}",
            422, "/explain", NULL);
    printf("%zu explained answers\n", sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(the_past_is_explained_as_it_was)
{
    make_row();
    expect(client, "POST", YARD "/commit",
           "{\"time\":20,\"remove\":[\"up\"],\"pose\":{\"a\":{\"center\":[0,8,0]}},\"put\":{"
           "\"new\":" UNIT(0, "") "}}",
           200, NULL);
    says(YARD "/query/point",
         "{\"points\":[[0,0,0]],\"at\":{\"time\":15},\"explain\":[\"a\",\"up\",\"new\"]}",
         "{\"revision\":2,\"time\":20,\"at\":{\"revision\":1,\"time\":15,\"clamped\":false},"
         "\"results\":[{\"boxes\":[],"
         "\"explain\":[{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":3},"
         "{\"box\":\"up\",\"verdict\":\"missed\",\"gap\":9},{\"box\":\"new\",\"verdict\":"
         "\"absent\"}]}]}");
}
END_TEST

/* ---- with ------------------------------------------------------------------------------------ */

/* The member `results` or `pairs` of an answer, without the state. The caller owns it. */
static json_t *found_in(json_t *answer)
{
    json_t *found = json_object_get(answer, "results");
    return json_incref(found != NULL ? found : json_object_get(answer, "pairs"));
}

static const struct {
    const char *kind, *query;
} questions[] = {
    {"pairs", "\"pairs\":[[\"a\",\"b\"],[\"new\",\"c\"],[\"up\",\"a\"]],\"want\":[\"relation\","
              "\"mtv\",\"distance\",\"pose\",\"entity\"]"},
    {"all-pairs", "\"want\":[\"relation\"]"},
    {"all-pairs", "\"by\":\"id\",\"margin\":3"},
    {"overlap",
     "\"shapes\":[\"a\",{\"sphere\":{\"center\":[4,0,0],\"radius\":5}},\"new\"],\"by\":\"id\""},
    {"overlap", "\"shapes\":[{\"capsule\":{\"a\":[0,0,0],\"b\":[9,0,0],\"radius\":1}}],\"filter\":{"
                "\"exclude_entities\":[\"e\"]},"
                "\"explain\":[\"a\",\"new\",\"c\",\"up\"],\"want\":[\"pose\",\"entity\",\"data\"]"},
    {"point", "\"points\":[[0,0,0],[4,0,0],[0,5,0]]"},
    {"ray", ENDLESS ",\"mode\":\"closest_per_entity\",\"explain\":[\"a\",\"b\",\"c\",\"new\"]"},
    {"ray", ENDLESS ",\"mode\":\"all\",\"filter\":{\"exclude\":[\"b\"]}"},
    {"sweep", "\"sweeps\":[{\"box\":\"up\",\"motion\":[0,-20,0]},{\"box\":\"new\",\"motion\":[20,0,"
              "0]}],\"mode\":\"all\""},
    {"nearest", "\"boxes\":[\"a\",\"new\"],\"k\":3"},
    {"nearest",
     "\"points\":[[3,3,0]],\"k\":2,\"max_distance\":5,\"explain\":[\"a\",\"b\",\"new\"]"},
};

static const char *const changes[] = {
    "{}",
    "{\"remove\":[\"a\",\"nobody\",\"c\"]}",
    "{\"put\":{\"new\":" UNIT(1, ",\"entity\":\"e\",\"data\":{\"n\":1}") "}}",
    "{\"put\":{\"b\":" UNIT(1.5, ",\"entity\":\"g\"") ",\"new\":" UNIT(5, ",\"entity\":\"g\"") "}}",
    "{\"remove\":[\"b\"],\"put\":{\"b\":" UNIT(3, "") "}}", /* another box of the same name */
    "{\"pose\":{\"up\":{\"center\":[0,1.5,0]},\"c\":{\"rotation\":[0,0,0.6,0.8]}}}",
    "{\"pose\":{\"ids\":[5,1],\"centers\":[8,1,0,0,1,0]}}",
    "{\"pose\":{\"names\":[\"up\",\"up\"],\"centers\":[0,3,0,0,1,0]}}",
    "{\"transform\":{\"a\":{\"translate\":[3,0,0]},\"up\":{\"scale\":8}},\"remove\":[\"d\"]}",
    "{\"put\":{\"names\":[\"new\",\"a\"],\"centers\":[2,0,0,0,2,0],\"half_extents\":[1,1,1]},"
    "\"pose\":{\"new\":{\"center\":[6,0,0]}}}",
};

/* The same row as another scene. */
static void make_copy(size_t i)
{
    struct http_answer answer = {0};
    http_send(client, "GET", YARD "/export", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/scenes/copy-%zu/import", i);
    static const char *const headers[] = {"Content-Type: application/x-ndjson", NULL};
    char *body = strdup(answer.body);
    http_send(client, "POST", path, headers, body, &answer);
    ck_assert_msg(answer.status == 200 || answer.status == 201, "%s", answer.body);
    free(body);
    http_answer_fini(&answer);
}

START_TEST(changes_of_a_query_answer_as_a_commit_and_change_nothing)
{
    make_row();
    for (size_t w = 0; w < sizeof changes / sizeof *changes; w++) {
        char body[2048], path[128];
        make_copy(w);
        (void)snprintf(path, sizeof path, "/v1/scenes/copy-%zu/commit", w);
        expect(client, "POST", path, changes[w], 200, NULL);
        for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
            (void)snprintf(path, sizeof path, "/v1/scenes/copy-%zu/query/%s", w, questions[q].kind);
            (void)snprintf(body, sizeof body, "{%s}", questions[q].query);
            json_t *committed = ask(path, body, 200), *wanted = found_in(committed);
            (void)snprintf(path, sizeof path, YARD "/query/%s", questions[q].kind);
            (void)snprintf(body, sizeof body, "{%s,\"with\":%s}", questions[q].query, changes[w]);
            json_t *real = ask(path, body, 200), *found = found_in(real);
            char *text = json_dumps(real, 0), *should = json_dumps(committed, 0);
            ck_assert_msg(equal(found, wanted, 0.0), "%s\n%s\nanswers %s\nnot %s", path, body, text,
                          should);
            ck_assert(json_is_true(json_object_get(real, "with")));
            ck_assert_int_eq(json_integer_value(json_object_get(real, "revision")), 1);
            json_decref(found);
            json_decref(real);
            /* the same in a commit, beside another query without changes */
            (void)snprintf(body, sizeof body,
                           "{\"queries\":[{\"kind\":\"%s\",%s,\"with\":%s},{\"kind\":\"all-pairs\","
                           "\"count_only\":true}]}",
                           questions[q].kind, questions[q].query, changes[w]);
            real = ask(YARD "/commit", body, 200);
            json_t *entry = json_array_get(json_object_get(real, "results"), 0);
            json_t *plain = json_array_get(json_object_get(real, "results"), 1);
            found = found_in(entry);
            ck_assert(equal(found, wanted, 0.0) && json_is_true(json_object_get(entry, "with")));
            ck_assert_ptr_null(json_object_get(plain, "with"));
            ck_assert_int_eq(json_integer_value(json_object_get(plain, "count")), 0);
            json_decref(found);
            json_decref(real);
            json_decref(wanted);
            json_decref(committed);
            free(text);
            free(should);
        }
    }
    expect(client, "GET", YARD, NULL, 200, "{\"boxes\":5,\"revision\":1}");
    expect(client, "PUT", YARD "/boxes/later", UNIT(50, ""), 201,
           "{\"id\":6}"); /* no id was used up */
    printf("%zu changes under %zu questions\n", sizeof changes / sizeof *changes,
           sizeof questions / sizeof *questions);
}
END_TEST

START_TEST(changes_hold_for_the_state_that_is_asked)
{
    make_row();
    expect(client, "POST", YARD "/commit",
           "{\"time\":20,\"pose\":{\"a\":{\"center\":[0,8,0]}},\"remove\":[\"up\"]}", 200, NULL);
    /* at 15 a is on its way at y 4: the transform moves it from there */
    says(YARD "/query/point",
         "{\"points\":[[0,6,0],[0,4,0],[0,10,0]],\"at\":{\"time\":15},\"with\":{\"transform\":{"
         "\"a\":{\"translate\":[0,2,0]}}},\"tag\":\"t\"}",
         "{\"revision\":2,\"time\":20,\"tag\":\"t\",\"with\":true,\"at\":{\"revision\":1,\"time\":"
         "15,\"clamped\":false},"
         "\"results\":[{\"boxes\":[\"a\"]},{\"boxes\":[]},{\"boxes\":[\"up\"]}]}");
    says(YARD "/query/point",
         "{\"points\":[[0,0,0],[0,9,0]],\"at\":{\"revision\":1},\"with\":{\"pose\":{\"up\":{"
         "\"center\":[0,0,0]}}},\"by\":\"id\"}",
         "{\"revision\":2,\"time\":20,\"with\":true,\"at\":{\"revision\":1,\"time\":10,\"clamped\":"
         "false},"
         "\"results\":[{\"boxes\":[1,5]},{\"boxes\":[]}]}");
    refused(YARD "/query/point",
            "{\"points\":[],\"with\":{\"pose\":{\"up\":{\"center\":[0,0,0]}}}}", 404,
            "/with/pose/up", NULL);
    /* rays with times of their own: the transform moves a box from where it is at each time */
#define TIMED                                                                                      \
    "\"columns\":true,\"rays\":{\"origins\":[0,2,-50,0,6,-50,0,10,-50],\"directions\":[0,0,1,0,0," \
    "1,0,0,1],\"times\":[10,15,20]}"
    says(YARD "/query/ray", "{" TIMED ",\"with\":{\"transform\":{\"a\":{\"translate\":[0,2,0]}}}}",
         "{\"revision\":2,\"time\":20,\"with\":true,\"columns\":{\"boxes\":[1,1,1],"
         "\"distances\":[49,49,49],\"points\":[0,2,-1,0,6,-1,0,10,-1],"
         "\"normals\":[0,0,-1,0,0,-1,0,0,-1],\"times\":[10,15,20],\"revisions\":[1,1,2],"
         "\"clamped\":[0,0,0]}}");
    /* what one of the states refuses ends the query */
    refused(YARD "/query/ray", "{" TIMED ",\"with\":{\"pose\":{\"up\":{\"center\":[0,0,0]}}}}", 404,
            "/with/pose/up", NULL);
    refused(YARD "/commit",
            "{\"queries\":[{\"kind\":\"ray\"," TIMED
            ",\"with\":{\"pose\":{\"up\":{\"center\":[0,0,0]}}}}]}",
            404, "/queries/0/with/pose/up", NULL);
#undef TIMED
    /* in a commit the changes come after those of the commit */
    json_t *answer = ask(
        YARD "/commit",
        "{\"dry_run\":true,\"put\":{\"x\":" UNIT(
            30, "") "},\"queries\":[{\"kind\":\"point\",\"points\":[[31,0,0],[30,0,0]],"
                    "\"with\":{\"transform\":{\"x\":{\"translate\":[2,0,0]}},\"put\":{\"y\":" UNIT(
                        30, "") "}},\"by\":\"id\"}]}",
        200);
    json_t *wanted = json_loads("[{\"boxes\":[6,7]},{\"boxes\":[7]}]", 0, NULL);
    json_t *found = found_in(json_array_get(json_object_get(answer, "results"), 0));
    char *text = json_dumps(answer, 0);
    ck_assert_msg(equal(found, wanted, 0.0), "%s", text);
    free(text);
    json_decref(found);
    json_decref(wanted);
    json_decref(answer);
    /* lines */
    struct http_answer lines = {0};
    http_send(
        client, "POST", YARD "/query/all-pairs",
        (const char *[]){"Accept: application/x-ndjson", "Content-Type: application/json", NULL},
        "{\"with\":{\"put\":{\"z\":" UNIT(4, "") "}}}", &lines);
    ck_assert_str_eq(lines.body,
                     "[\"b\",\"z\"]\n{\"count\":1,\"revision\":2,\"time\":20,\"with\":true}\n");
    http_answer_fini(&lines);
}
END_TEST

START_TEST(changes_that_a_commit_would_refuse_are_refused_alike)
{
    make_row();
    static const struct {
        const char *with;
        long status;
        const char *pointer;
    } cases[] = {
        {"{\"pose\":{\"ghost\":{\"center\":[0,0,0]}}}", 404, "/pose/ghost"},
        {"{\"pose\":{\"names\":[\"a\",\"ghost\"],\"centers\":[0,0,0,0,0,0]}}", 404,
         "/pose/names/1"},
        {"{\"pose\":{\"ids\":[99],\"centers\":[0,0,0]}}", 404, "/pose/ids/0"},
        {"{\"transform\":{\"ghost\":{\"scale\":2}}}", 404, "/transform/ghost"},
        {"{\"remove\":[\"a\"],\"pose\":{\"a\":{\"center\":[0,0,0]}}}", 404, "/pose/a"},
        {"{\"transform\":{\"a\":{\"scale\":0}}}", 422, "/transform/a/scale"},
        {"{\"transform\":{\"a\":{\"translate\":[1e9,0,0]},\"b\":{\"translate\":[1e9,0,0]}}}", 422,
         "/transform/b/translate"},
        {"{\"put\":{\"n\":{\"center\":[0,0,0]}}}", 422, "/put/n"},
        {"{\"put\":{\"n\":{\"center\":[0,0,0],\"half_extents\":[-1,0,0]}}}", 422,
         "/put/n/half_extents/0"},
        {"{\"time\":7}", 422, "/time"},
        {"{\"if_revision\":1}", 422, "/if_revision"},
        {"{\"queries\":[]}", 422, "/queries"},
        {"{\"remove\":\"a\"}", 422, "/remove"},
        {"[]", 422, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024], pointer[128];
        (void)snprintf(body, sizeof body, "{\"points\":[],\"tag\":\"t\",\"with\":%s}",
                       cases[i].with);
        (void)snprintf(pointer, sizeof pointer, "/with%s", cases[i].pointer);
        refused(YARD "/query/point", body, cases[i].status, pointer, "t");
        (void)snprintf(body, sizeof body,
                       "{\"put\":{\"made\":" UNIT(
                           90, "") "},\"queries\":[{\"kind\":\"all-pairs\",\"with\":{}},"
                                   "{\"kind\":\"point\",\"points\":[],\"tag\":\"t\",\"with\":%s}]}",
                       cases[i].with);
        (void)snprintf(pointer, sizeof pointer, "/queries/1/with%s", cases[i].pointer);
        refused(YARD "/commit", body, cases[i].status, pointer, "t");
        expect_problem(client, "GET", YARD "/boxes/made", NULL, 404, NULL); /* all or nothing */
    }
    /* 1,000 entries, and one more; each name of columns counts */
    static char body[81920], centers[32768], names[32768];
    for (int count = 999; count <= 1000; count++) {
        size_t n = 0, c = 0;
        for (int i = 0; i < count; i++) {
            n += (size_t)snprintf(names + n, sizeof names - n, "%s\"n%d\"", i > 0 ? "," : "", i);
            c += (size_t)snprintf(centers + c, sizeof centers - c, "%s%d,0,0", i > 0 ? "," : "", i);
        }
        (void)snprintf(body, sizeof body,
                       "{\"points\":[[3,0,0]],\"with\":{\"remove\":[\"a\"],\"put\":{\"names\":[%s],"
                       "\"centers\":[%s],\"half_extents\":[0.25,0.25,0.25]}}}",
                       names, centers);
        if (count == 999)
            says(YARD "/query/point", body,
                 "{\"revision\":1,\"time\":10,\"with\":true,\"results\":[{\"boxes\":[\"b\",\"n3\"]}"
                 "]}");
        else
            refused(YARD "/query/point", body, 422, "/with", NULL);
    }
    printf("%zu refusals of changes\n", sizeof cases / sizeof *cases);
}
END_TEST

/* A rig: ann at 10, turned a quarter about z at 30, with a limb 2 before her and a hat; a box
 * beside. */
#define RIG         "/v1/scenes/rig"
#define LIMB(extra) "{\"frame\":\"ann\",\"center\":[2,0,0],\"half_extents\":[0.5,0.5,0.5]" extra "}"

static void make_rig(const char *path, bool moved)
{
    expect(client, "POST", path,
           "{\"time\":10,\"frames\":{\"ann\":{\"center\":[0,0,0]},\"bob\":{\"center\":[0,20,0]}},"
           "\"put\":{\"limb\":" LIMB("") ",\"hat\":{\"frame\":\"ann\",\"center\":[0,0,3],"
                                         "\"half_extents\":[1,1,1]},"
                                         "\"free\":" UNIT(30, "") "}}",
           200, NULL);
    if (moved)
        expect(
            client, "POST", path,
            "{\"time\":20,\"frames\":{\"ann\":{\"center\":[10,0,0],\"axis_angle\":{\"axis\":[0,0,"
            "1],\"degrees\":90}}},\"pose\":{\"limb\":{\"center\":[4,0,0]}}}",
            200, NULL);
}

static const char *const rig_changes[] = {
    "{\"frames\":{\"ann\":{\"center\":[0,5,0]}}}",
    "{\"frames\":{\"names\":[\"ann\",\"cid\"],\"centers\":[0,5,0,1,1,1]},\"put\":{\"new\":{"
    "\"frame\":"
    "\"cid\",\"center\":[1,0,0],\"half_extents\":[1,1,1]}}}",
    "{\"remove_frames\":[\"ann\",\"nobody\"]}",
    "{\"pose\":{\"limb\":{\"center\":[0,0,1]}}}",
    "{\"put\":{\"limb\":{\"frame\":\"bob\",\"center\":[1,0,0],\"half_extents\":[1,1,1]},"
    "\"free\":{\"frame\":\"ann\",\"center\":[2,1,0],\"half_extents\":[1,1,1]}}}",
    "{\"put\":{\"limb\":" UNIT(3, "") "},\"frames\":{\"ann\":{\"center\":[0,1,0]}}}",
    "{\"remove\":[\"hat\"],\"frames\":{\"ann\":{\"rotation\":[0,0,0.6,0.8]},\"bob\":{}}}",
    "{\"remove_frames\":[\"ann\"],\"frames\":{\"ann\":{\"center\":[0,0,9]}},\"put\":{"
    "\"limb\":" LIMB("") "},\"transform\":{\"free\":{\"translate\":[-20,0,0]}}}",
};

static const struct {
    const char *kind, *query;
} rig_questions[] = {
    {"pairs", "\"pairs\":[[\"limb\",\"hat\"],[\"free\",\"new\"],[\"limb\",{\"frame\":\"ann\","
              "\"center\":[2,0,0],\"half_extents\":[1,1,1]}]],\"want\":[\"pose\",\"distance\"]"},
    {"all-pairs", "\"margin\":9,\"want\":[\"pose\",\"relation\"]"},
    {"overlap", "\"shapes\":[{\"frame\":\"ann\",\"center\":[1,0,0],\"half_extents\":[3,3,3]},"
                "{\"frame\":\"cid\",\"center\":[0,0,0],\"half_extents\":[2,2,2]},"
                "{\"sphere\":{\"center\":[0,0,0],\"radius\":99}}],\"want\":[\"pose\"]"},
    {"nearest", "\"points\":[[0,0,0],[10,4,0]],\"k\":9,\"want\":[\"pose\"],\"by\":\"id\""},
};

/* A query with changes of frames answers as on a copy to which the changes were committed. */
START_TEST(changes_of_frames_answer_as_a_commit_and_change_nothing)
{
    make_rig(RIG "/commit", true);
    for (size_t w = 0; w < sizeof rig_changes / sizeof *rig_changes; w++)
        for (int past = 0; past < 2; past++) {
            char path[128], body[4096];
            (void)snprintf(path, sizeof path, "/v1/scenes/rig-%zu-%d/commit", w, past);
            make_rig(path, past == 0);
            expect(client, "POST", path, rig_changes[w], 200, NULL);
            for (size_t q = 0; q < sizeof rig_questions / sizeof *rig_questions; q++) {
                (void)snprintf(path, sizeof path, "/v1/scenes/rig-%zu-%d/query/%s", w, past,
                               rig_questions[q].kind);
                (void)snprintf(body, sizeof body, "{%s}", rig_questions[q].query);
                json_t *committed = ask(path, body, 200), *wanted = found_in(committed);
                (void)snprintf(path, sizeof path, RIG "/query/%s", rig_questions[q].kind);
                (void)snprintf(body, sizeof body, "{%s%s,\"with\":%s}", rig_questions[q].query,
                               past == 1 ? ",\"at\":{\"revision\":1}" : "", rig_changes[w]);
                json_t *real = ask(path, body, 200), *found = found_in(real);
                char *text = json_dumps(real, 0), *should = json_dumps(committed, 0);
                ck_assert_msg(equal(found, wanted, 0.0), "%s\n%s\nanswers %s\nnot %s", path, body,
                              text, should);
                free(text);
                free(should);
                json_decref(found);
                json_decref(real);
                json_decref(wanted);
                json_decref(committed);
            }
        }
    expect(client, "GET", RIG, NULL, 200, "{\"boxes\":3,\"revision\":2}");
    expect(client, "GET", RIG "/boxes/limb", NULL, 200,
           "{\"frame\":\"ann\",\"local\":{\"center\":[4,0,0],\"rotation\":[0,0,0,1]}}");
    printf("%zu changes of frames under %zu questions\n", sizeof rig_changes / sizeof *rig_changes,
           sizeof rig_questions / sizeof *rig_questions);
}
END_TEST

START_TEST(changes_in_a_frame_start_from_the_state_that_is_asked)
{
    make_rig(RIG "/commit", true);
    /* half way ann is at x 5, turned by 45 degrees; her boxes hold the poses in her of then,
     * revision 1 */
    says(RIG "/query/point",
         "{\"points\":[[5,0,7]],\"at\":{\"time\":15},\"with\":{\"pose\":{\"limb\":{\"center\":[0,0,"
         "7]"
         "}}},\"want\":[\"pose\"]}",
         "{\"revision\":2,\"time\":20,\"with\":true,\"at\":{\"revision\":1,\"time\":15,\"clamped\":"
         "false},\"results\":[{\"boxes\":[{\"box\":\"limb\",\"pose\":{\"center\":[5,0,7],"
         "\"half_extents\":[0.5,0.5,0.5],\"rotation\":[0,0,0.3826834323650898,0.9238795325112867],"
         "\"frame\":\"ann\",\"local\":{\"center\":[0,0,7],\"rotation\":[0,0,0,1]}}}]}]}");
    /* a frame that is moved takes its boxes along at these poses: the limb is 2 before her */
    says(
        RIG "/query/point",
        "{\"points\":[[2,9,0],[0,9,3],[7,0,0]],\"at\":{\"time\":15},\"with\":{\"frames\":{\"ann\":{"
        "\"center\":[0,9,0],\"rotation\":[0,0,0,1]}}}}",
        "{\"revision\":2,\"time\":20,\"with\":true,\"at\":{\"revision\":1,\"time\":15,\"clamped\":"
        "false},\"results\":[{\"boxes\":[\"limb\"]},{\"boxes\":[\"hat\"]},{\"boxes\":[]}]}");
    /* other boxes of the frame stay where they are between the commits: half way from 2 to 10, 4 */
    says(RIG "/query/point",
         "{\"points\":[[6,2,0],[5,0,9]],\"at\":{\"time\":15},\"with\":{\"pose\":{\"hat\":{"
         "\"center\":["
         "0,0,9]}}}}",
         "{\"revision\":2,\"time\":20,\"with\":true,\"at\":{\"revision\":1,\"time\":15,\"clamped\":"
         "false},\"results\":[{\"boxes\":[\"limb\"]},{\"boxes\":[\"hat\"]}]}");
    /* a frame that is made later is not there yet */
    expect(client, "POST", RIG "/commit", "{\"time\":30,\"frames\":{\"cid\":{}}}", 200, NULL);
    refused(RIG "/query/point",
            "{\"points\":[],\"at\":{\"time\":25},\"with\":{\"put\":{\"x\":{\"frame\":\"cid\","
            "\"center\":[0,0,0],\"half_extents\":[1,1,1]}}}}",
            404, "/with/put/x/frame", NULL);
}
END_TEST

START_TEST(changes_of_frames_that_a_commit_would_refuse_are_refused_alike)
{
    make_rig(RIG "/commit", false);
    static const struct {
        const char *with;
        long status;
        const char *pointer;
    } cases[] = {
        {"{\"put\":{\"x\":{\"frame\":\"nobody\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}}}",
         404, "/put/x/frame"},
        {"{\"remove_frames\":[\"ann\"],\"put\":{\"x\":" LIMB("") "}}", 404, "/put/x/frame"},
        {"{\"remove_frames\":[\"ann\"],\"pose\":{\"limb\":{}}}", 404, "/pose/limb"},
        {"{\"transform\":{\"limb\":{\"scale\":2}}}", 409, "/transform/limb"},
        {"{\"put\":{\"free\":" LIMB("") "},\"transform\":{\"free\":{\"scale\":2}}}", 409,
         "/transform/free"},
        {"{\"frames\":{\"ann\":{\"center\":[1e9,0,0]}}}", 422, "/frames/ann"},
        {"{\"frames\":{\"ann\":{\"centre\":[0,0,0]}}}", 422, "/frames/ann/centre"},
        {"{\"frames\":{\"names\":[\"ann\"],\"centers\":[0,0]}}", 422, "/frames/centers"},
        {"{\"frames\":[]}", 422, "/frames"},
        {"{\"remove_frames\":\"ann\"}", 422, "/remove_frames"},
        {"{\"remove_frames\":[7]}", 422, "/remove_frames/0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024], pointer[128];
        (void)snprintf(body, sizeof body, "{\"points\":[],\"tag\":\"t\",\"with\":%s}",
                       cases[i].with);
        (void)snprintf(pointer, sizeof pointer, "/with%s", cases[i].pointer);
        refused(RIG "/query/point", body, cases[i].status, pointer, "t");
        (void)snprintf(body, sizeof body,
                       "{\"frames\":{\"made\":{}},\"queries\":[{\"kind\":\"point\",\"points\":[],"
                       "\"tag\":\"t\",\"with\":%s}]}",
                       cases[i].with);
        (void)snprintf(pointer, sizeof pointer, "/queries/0/with%s", cases[i].pointer);
        refused(RIG "/commit", body, cases[i].status, pointer, "t");
        expect_problem(client, "GET", RIG "/frames/made", NULL, 404, NULL); /* all or nothing */
    }
    /* frames count among the 1,000 entries */
    static char body[40960], names[20480];
    for (int count = 1000; count <= 1001; count++) {
        size_t n = 0;
        for (int i = 0; i < count - 1; i++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s\"n%d\"", i > 0 ? "," : "", i);
        (void)snprintf(body, sizeof body,
                       "{\"points\":[],\"with\":{\"frames\":{\"ann\":{}},\"remove_frames\":[%s]}}",
                       names);
        if (count == 1000)
            says(RIG "/query/point", body,
                 "{\"revision\":1,\"time\":10,\"with\":true,\"results\":[]}");
        else
            refused(RIG "/query/point", body, 422, "/with", NULL);
    }
    printf("%zu refusals of changes of frames\n", sizeof cases / sizeof *cases);
}
END_TEST

/* ---- dry_run --------------------------------------------------------------------------------- */

START_TEST(a_dry_run_answers_everything_and_keeps_nothing)
{
    make_row();
    static const char tick[] = "\"time\":20,\"remove\":[\"c\"],\"put\":{\"new\":" UNIT(
        2, ",\"entity\":\"e\"") "},\"pose\":{\"a\":{\"center\":[0,8,0]},"
                                "\"up\":{\"center\":[0,0,0],\"teleport\":true},\"ghost\":{"
                                "\"center\":[1,1,1]}},\"transform\":{\"d\":{\"translate\":[-8,0,0]}"
                                "},\"ignore_missing\":true,"
                                "\"queries\":[{\"kind\":\"all-pairs\",\"by\":\"id\",\"want\":["
                                "\"pose\",\"entity\"]},"
                                "{\"kind\":\"point\",\"points\":[[0,0,0],[0,4,0],[0,10,0],[8,0,0]],"
                                "\"at\":{\"time\":15},\"want\":[\"pose\"]},"
                                "{\"kind\":\"point\",\"points\":[[0,2,0]],\"at\":{\"ago\":8}},"
                                "{\"kind\":\"point\",\"points\":[[0,8,0]],\"at\":{\"revision\":2}},"
                                "{\"kind\":\"point\",\"points\":[[0,0,0]],\"at\":{\"revision\":1}},"
                                "{\"kind\":\"point\",\"points\":[[0,0,0]],\"at\":{\"time\":99,"
                                "\"clamp\":true}},"
                                "{\"kind\":\"all-pairs\",\"at\":{\"time\":16.5},\"margin\":9},"
                                "{\"kind\":\"ray\"," ENDLESS
                                ",\"mode\":\"all\",\"explain\":[\"a\",\"c\",\"new\",\"up\"]},"
                                "{\"kind\":\"sweep\",\"sweeps\":[{\"box\":\"a\",\"motion\":[0,-20,"
                                "0]}],\"at\":{\"time\":12},\"tag\":\"t\"},"
                                "{\"kind\":\"nearest\",\"points\":[[9,0,0]],\"with\":{\"remove\":["
                                "\"d\"]},\"k\":2}]";
    char body[4096];
    (void)snprintf(body, sizeof body, "{\"dry_run\":true,%s}", tick);
    json_t *dry = ask(YARD "/commit", body, 200); /* twice: nothing was kept */
    expect(client, "GET", YARD, NULL, 200, "{\"boxes\":5,\"revision\":1,\"time\":10}");
    (void)snprintf(body, sizeof body, "{%s}", tick);
    struct http_answer answer = {0};
    http_send(client, "POST", YARD "/commit", NULL, body, &answer);
    ck_assert_msg(answer.status == 200, "%s", answer.body);
    json_t *wet = json_loads(answer.body, 0, NULL);
    ck_assert(json_is_true(json_object_get(dry, "dry_run")));
    ck_assert_int_eq(json_integer_value(json_object_get(dry, "revision")), 1);
    ck_assert_double_eq(json_number_value(json_object_get(dry, "time")), 10);
    ck_assert_int_eq(json_integer_value(json_object_get(wet, "revision")), 2);
    static const char *const members[] = {"removed", "put",     "posed",  "transformed",
                                          "ids",     "missing", "results"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *would = json_object_get(dry, members[i]),
                     *did = json_object_get(wet, members[i]);
        char *a = json_dumps(would, JSON_ENCODE_ANY), *b = json_dumps(did, JSON_ENCODE_ANY);
        ck_assert_msg(equal(would, did, 0.0), "%s:\nwould be %s\nbut was %s", members[i], a, b);
        free(a);
        free(b);
    }
    json_decref(dry);
    json_decref(wet);
    http_answer_fini(&answer);
    /* nothing that is refused is tried */
    static const struct {
        const char *body;
        long status;
        const char *pointer;
    } cases[] = {
        {"{\"dry_run\":true,\"time\":5}", 409, "/time"},
        {"{\"dry_run\":true,\"if_revision\":7}", 412, "/if_revision"},
        {"{\"dry_run\":true,\"pose\":{\"ghost\":{\"center\":[0,0,0]}}}", 404, "/pose/ghost"},
        {"{\"dry_run\":true,\"queries\":[{\"kind\":\"all-pairs\",\"at\":{\"revision\":4}}]}", 410,
         "/queries/0/at"},
        {"{\"dry_run\":1}", 422, "/dry_run"},
        {"{\"dry_run\":true,\"put\":{\"x\":{}}}", 422, "/put/x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(YARD "/commit", cases[i].body, cases[i].status, cases[i].pointer, NULL);
    says(YARD "/commit", "{\"dry_run\":false,\"queries\":[]}",
         "{\"revision\":2,\"time\":20,\"removed\":0,\"put\":0,\"posed\":0,\"transformed\":0,"
         "\"results\":[]}");
}
END_TEST

/* Sends a commit, first as a dry run and then to be made: both answer the members in `wanted`. The
 * dry run, which is sent twice, leaves the scene at the moment `before`, and its answer holds
 * nothing more. */
static void dry_as_made(const char *tick, const char *before, const char *after, const char *wanted)
{
    char body[2048], answer[2048];
    (void)snprintf(body, sizeof body, "{\"dry_run\":true,%s}", tick);
    (void)snprintf(answer, sizeof answer, "{%s,\"dry_run\":true,%s}", before, wanted);
    says(YARD "/commit", body, answer);
    expect(client, "GET", YARD, NULL, 200, test_text("{%s}", before));
    (void)snprintf(body, sizeof body, "{%s}", tick);
    (void)snprintf(answer, sizeof answer, "{%s,\"dry_run\":null,%s}", after, wanted);
    expect(client, "POST", YARD "/commit", body, 200, answer);
    expect(client, "GET", YARD, NULL, 200, test_text("{%s}", after));
}

#define RESTARTED                                                                                  \
    "\"removed\":0,\"put\":0,\"posed\":1,\"transformed\":0,\"results\":["                          \
    "{\"results\":[{\"boxes\":[2]},{\"boxes\":[1]},{\"boxes\":[6]}]},"                             \
    "{\"at\":{\"revision\":3,\"time\":3,\"clamped\":true},\"results\":[{\"boxes\":[]},{\"boxes\":" \
    "["                                                                                            \
    "\"a\"]}]},"                                                                                   \
    "{\"at\":{\"revision\":3,\"time\":3,\"clamped\":false},\"results\":[{\"boxes\":[\"b\"]}]}]"

START_TEST(a_dry_run_restarts_no_clock)
{
    static const char meanwhile[] =
        "{\"points\":[[0,4,0]],\"at\":{\"time\":15},\"by\":\"id\"}"; /* a is on its way */
    char body[1024];
    make_row();
    expect(client, "POST", YARD "/commit",
           "{\"time\":20,\"pose\":{\"a\":{\"center\":[0,8,0]}},\"put\":{\"brief\":" UNIT(
               50, ",\"ttl\":15") "}}",
           200, "{\"revision\":2}");
    expect(client, "GET", YARD, NULL, 200, "{\"oldest\":{\"revision\":0,\"time\":10}}");
    /* the state before a restart is out of reach of the same commit's queries */
    static const struct {
        const char *rest;
        long status;
        const char *pointer;
    } cases[] = {
        {"\"time\":3,\"restart\":true,\"queries\":[{\"kind\":\"point\",\"points\":[],\"at\":{"
         "\"time\":15}}]",
         410, "/queries/0/at"},
        {"\"time\":3,\"restart\":true,\"queries\":[{\"kind\":\"point\",\"points\":[],\"at\":{"
         "\"revision\":2}}]",
         410, "/queries/0/at"},
        {"\"restart\":true", 422, "/restart"},
        {"\"time\":3", 409, "/time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dry = 1; dry >= 0; dry--) {
            (void)snprintf(body, sizeof body, "{%s%s}", dry ? "\"dry_run\":true," : "",
                           cases[i].rest);
            refused(YARD "/commit", body, cases[i].status, cases[i].pointer, NULL);
        }
    static const char tick[] =
        "\"time\":3,\"restart\":true,\"pose\":{\"b\":{\"center\":[4,9,0]}},\"queries\":["
        "{\"kind\":\"point\",\"points\":[[4,9,0],[0,8,0],[50,0,0]],\"by\":\"id\"},"
        "{\"kind\":\"point\",\"points\":[[0,4,0],[0,8,0]],\"at\":{\"time\":15,\"clamp\":true}},"
        "{\"kind\":\"point\",\"points\":[[4,9,0]],\"at\":{\"revision\":3}}]";
    (void)snprintf(body, sizeof body, "{\"dry_run\":true,%s}", tick);
    says(YARD "/commit", body, "{\"revision\":2,\"time\":20,\"dry_run\":true," RESTARTED "}");
    /* history, clock and ttl are as they were */
    expect(client, "GET", YARD, NULL, 200,
           "{\"revision\":2,\"time\":20,\"oldest\":{\"revision\":0,\"time\":10}}");
    expect(client, "POST", YARD "/query/point", meanwhile, 200, "{\"results\":[{\"boxes\":[1]}]}");
    expect(client, "POST", YARD "/commit", "{\"time\":34}", 200, "{\"expired\":null}");
    dry_as_made(tick, "\"revision\":2,\"time\":34", "\"revision\":3,\"time\":3", RESTARTED);
    expect_problem(client, "POST", YARD "/query/point", meanwhile, 410, "/at");
}
END_TEST

START_TEST(a_dry_run_judges_conditions_of_boxes)
{
    make_row();
    expect(client, "POST", YARD "/commit", "{\"pose\":{\"a\":{\"center\":[0,8,0]}}}", 200,
           "{\"revision\":2}");
    static const struct {
        const char *rest, *pointer;
    } cases[] = {
        {"\"if_box\":{\"a\":1},\"put\":{\"x\":" UNIT(1, "") "}", "/if_box/a"},
        {"\"if_box\":{\"b\":1,\"a\":0},\"remove\":[\"b\"]", "/if_box/a"},
        {"\"if_box\":{\"a\":2,\"x\":2}", "/if_box/x"},
        {"\"if_box\":{\"a\":3},\"frames\":{\"ann\":{}}", "/if_box/a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *problems[2];
        for (int dry = 0; dry < 2; dry++) {
            char body[256];
            (void)snprintf(body, sizeof body, "{%s%s}", dry ? "\"dry_run\":true," : "",
                           cases[i].rest);
            refused(YARD "/commit", body, 412, cases[i].pointer, NULL);
            problems[dry] = ask(YARD "/commit", body, 412);
        }
        ck_assert(equal(problems[0], problems[1], 0.0)); /* word for word */
        json_decref(problems[0]);
        json_decref(problems[1]);
    }
    expect(client, "GET", YARD, NULL, 200, "{\"revision\":2,\"boxes\":5}");
    expect_problem(client, "GET", YARD "/boxes/x", NULL, 404, NULL);
    /* conditions that hold, and what they guard is not kept: they hold again */
    dry_as_made(
        "\"if_box\":{\"a\":2,\"b\":1,\"x\":0},\"remove\":[\"b\"],\"put\":{\"x\":" UNIT(1, "") "}",
        "\"revision\":2,\"time\":10", "\"revision\":3,\"time\":10",
        "\"removed\":1,\"put\":1,\"posed\":0,\"transformed\":0,\"ids\":{\"x\":6},"
        "\"results\":[]");
    refused(YARD "/commit", "{\"dry_run\":true,\"if_box\":{\"x\":0}}", 412, "/if_box/x", NULL);
}
END_TEST

START_TEST(a_dry_run_answers_the_ids_of_columns)
{
    make_row();
    dry_as_made(
        "\"remove\":[\"c\"],\"put\":{\"names\":[\"new\",\"a\",\"c\",\"newer\"],"
        "\"centers\":[20,0,0,30,0,0,40,0,0,50,0,0],\"half_extents\":[1,1,1],"
        "\"entities\":[\"g\",null,\"g\",null]},\"queries\":[{\"kind\":\"point\",\"by\":"
        "\"id\",\"points\":[20,0,0,30,0,0,40,0,0,50,0,0,0,0,0,8,0,0]},"
        "{\"kind\":\"point\",\"points\":[20,0,0,30,0,0],\"want\":[\"entity\"]}]",
        "\"revision\":1,\"time\":10", "\"revision\":2,\"time\":10",
        "\"removed\":1,\"put\":4,\"posed\":0,\"transformed\":0,\"ids\":[6,1,7,8],"
        "\"results\":[{\"results\":[{\"boxes\":[6]},{\"boxes\":[1]},{\"boxes\":[7]},"
        "{\"boxes\":[8]},{\"boxes\":[]},{\"boxes\":[]}]},{\"results\":[{\"boxes\":[{\"box\":"
        "\"new\",\"entity\":\"g\"}]},{\"boxes\":[{\"box\":\"a\"}]}]}]");
    expect(client, "GET", YARD "/boxes/newer", NULL, 200, "{\"id\":8,\"center\":[50,0,0]}");
    refused(YARD "/commit",
            "{\"dry_run\":true,\"put\":{\"names\":[\"y\",\"y\"],\"centers\":[0,0,0,1,1,1],"
            "\"half_extents\":[1,1,1]}}",
            422, "/put/names/1", NULL);
    refused(YARD "/commit",
            "{\"dry_run\":true,\"put\":{\"names\":[\"y\",\"z\"],\"centers\":[0,0,0,1,1,1],"
            "\"half_extents\":[1,1,1],\"frames\":[null,\"nobody\"]}}",
            404, "/put/frames/1", NULL);
}
END_TEST

/* The scene has the string of a new entity only while the dry run is prepared. */
START_TEST(a_dry_run_excludes_entities_as_the_commit)
{
    static const char of_e[] = UNIT(1, ",\"entity\":\"E\""), of_g[] = UNIT(1, ",\"entity\":\"G\"");
    static const char told[] =
        "[{\"results\":[{\"boxes\":[\"x\"],\"explain\":[{\"box\":\"c\",\"verdict\":\"filtered\","
        "\"by\":\"entity\"},{\"box\":\"x\",\"verdict\":\"hit\"}]}]},"
        "{\"with\":true,\"results\":[{\"boxes\":[\"x\",\"z\"]}]}]";
    json_t *wanted = json_loads(told, 0, NULL);
    ck_assert_ptr_nonnull(wanted);
    expect(client, "POST", "/v1/scenes/e/commit", "{\"put\":{\"x\":" UNIT(1, "") "}}", 200, NULL);
    for (int dry = 1; dry >= 0; dry--) {
        char body[2048];
        (void)snprintf(body, sizeof body,
                       "{\"dry_run\":%s,\"put\":{\"c\":%s},\"queries\":["
                       "{\"kind\":\"point\",\"points\":[[1,0,0]],\"explain\":[\"c\",\"x\"],"
                       "\"filter\":{\"exclude_entities\":[\"E\"]}},"
                       "{\"kind\":\"point\",\"points\":[[1,0,0]],\"with\":{\"put\":{\"y\":%s,"
                       "\"z\":%s}},\"filter\":{\"exclude_entities\":[\"E\",\"F\"]}}]}",
                       dry ? "true" : "false", of_e, of_e, of_g);
        struct http_answer sent = {0};
        http_send(client, "POST", "/v1/scenes/e/commit", NULL, body, &sent);
        json_t *answer = json_loads(sent.body, 0, NULL);
        ck_assert_msg(equal(json_object_get(answer, "results"), wanted, 0.0), "dry run %d: %s", dry,
                      sent.body);
        json_decref(answer);
        http_answer_fini(&sent);
    }
    json_decref(wanted);
}
END_TEST

START_TEST(a_dry_run_makes_no_scene)
{
    says("/v1/scenes/none/commit",
         "{\"dry_run\":true,\"put\":{\"a\":" UNIT(
             0, "") "},\"queries\":[{\"kind\":\"point\",\"points\":[[0,0,0]],\"at\":{\"revision\":"
                    "1},\"by\":\"id\"}],\"time\":5}",
         "{\"revision\":0,\"time\":0,\"dry_run\":true,\"removed\":0,\"put\":1,\"posed\":0,"
         "\"transformed\":0,\"ids\":{\"a\":1},\"results\":["
         "{\"at\":{\"revision\":1,\"time\":5,\"clamped\":false},\"results\":[{\"boxes\":[1]}]}]}");
    expect(client, "GET", "/v1/scenes", NULL, 200, "{\"scenes\":[]}");
    refused("/v1/scenes/none/commit", "{\"dry_run\":true,\"pose\":{\"a\":{\"center\":[0,0,0]}}}",
            404, NULL, NULL);
    /* many boxes, on the pool */
    static char body[400000];
    size_t n = (size_t)snprintf(body, sizeof body, "{\"dry_run\":true,\"put\":{");
    for (int i = 0; i < 3000; i++)
        n += (size_t)snprintf(body + n, sizeof body - n,
                              "%s\"b%d\":{\"center\":[%d,0,0],\"half_extents\":[0.5,1,1]}",
                              i > 0 ? "," : "", i, i);
    (void)snprintf(body + n, sizeof body - n,
                   "},\"queries\":[{\"kind\":\"all-pairs\",\"count_only\":true}]}");
    json_t *answer = ask("/v1/scenes/none/commit", body, 200);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_array_get(json_object_get(answer, "results"), 0), "count")),
                     2999);
    json_decref(answer);
    expect(client, "GET", "/v1/scenes", NULL, 200, "{\"scenes\":[]}");
}
END_TEST

START_TEST(a_dry_run_with_frames_answers_as_the_commit)
{
    make_rig(RIG "/commit", false);
    static const char tick[] =
        "\"time\":20,\"remove_frames\":[\"bob\",\"nobody\"],\"frames\":{\"ann\":{\"center\":[8,0,0]"
        ","
        "\"rotation\":[0,0,0.6,0.8]},\"cid\":{\"center\":[0,0,5]}},\"put\":{\"new\":{\"frame\":"
        "\"cid\",\"center\":[1,0,0],\"half_extents\":[1,1,1]},\"free\":" LIMB(
            "") "},\"pose\":{\"hat\":{\"center\":[0,1,3]}},\"queries\":["
                "{\"kind\":\"all-pairs\",\"margin\":99,\"want\":[\"pose\"],\"by\":\"id\"},"
                "{\"kind\":\"nearest\",\"points\":[[0,0,0]],\"k\":9,\"want\":[\"pose\"],\"at\":{"
                "\"time\":15}},"
                "{\"kind\":\"overlap\",\"shapes\":[{\"frame\":\"ann\",\"center\":[0,0,0],\"half_"
                "extents\":[3,3,3]},{\"frame\":\"bob\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
                ","
                "{\"frame\":\"cid\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}]},"
                "{\"kind\":\"overlap\",\"shapes\":[{\"frame\":\"ann\",\"center\":[0,0,0],\"half_"
                "extents\":[3,3,3]},{\"frame\":\"bob\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
                "],\"at\":{\"ago\":4}},"
                "{\"kind\":\"overlap\",\"shapes\":[{\"frame\":\"bob\",\"center\":[0,0,0],\"half_"
                "extents\":[1,1,1]}],\"at\":{\"revision\":1}},"
                "{\"kind\":\"nearest\",\"points\":[[0,0,0]],\"k\":9,\"want\":[\"pose\"],\"with\":{"
                "\"frames\":{\"ann\":{\"center\":[0,0,0]},\"cid\":{\"center\":[1,1,1]}}}},"
                "{\"kind\":\"nearest\",\"points\":[[0,0,0]],\"k\":9,\"want\":[\"pose\"],\"at\":{"
                "\"time\":17},\"with\":{\"frames\":{\"ann\":{\"center\":[0,0,0]}},\"pose\":{"
                "\"free\":{\"center\":[1,2,3]}}}}]";
    char body[4096];
    (void)snprintf(body, sizeof body, "{\"dry_run\":true,%s}", tick);
    json_t *dry = ask(RIG "/commit", body, 200); /* twice: nothing was kept */
    expect(client, "GET", RIG, NULL, 200, "{\"boxes\":3,\"revision\":1,\"time\":10}");
    expect_problem(client, "GET", RIG "/frames/cid", NULL, 404, NULL);
    (void)snprintf(body, sizeof body, "{%s}", tick);
    struct http_answer answer = {0};
    http_send(client, "POST", RIG "/commit", NULL, body, &answer);
    ck_assert_msg(answer.status == 200, "%s", answer.body);
    json_t *wet = json_loads(answer.body, 0, NULL);
    ck_assert(json_is_true(json_object_get(dry, "dry_run")));
    static const char *const members[] = {"removed", "removed_frames", "frames", "put",
                                          "posed",   "transformed",    "ids",    "results"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *would = json_object_get(dry, members[i]),
                     *did = json_object_get(wet, members[i]);
        char *a = json_dumps(would, JSON_ENCODE_ANY), *b = json_dumps(did, JSON_ENCODE_ANY);
        ck_assert_msg(would != NULL && equal(would, did, 0.0), "%s:\nwould be %s\nbut was %s",
                      members[i], a, b);
        free(a);
        free(b);
    }
    json_decref(dry);
    json_decref(wet);
    http_answer_fini(&answer);
    refused(
        RIG "/commit",
        "{\"dry_run\":true,\"put\":{\"x\":{\"frame\":\"bob\",\"center\":[0,0,0],\"half_extents\":"
        "[1,1,1]}}}",
        404, "/put/x/frame", NULL);
    refused(RIG "/commit", "{\"dry_run\":true,\"transform\":{\"limb\":{\"scale\":2}}}", 409,
            "/transform/limb", NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("questions");
    TCase *tc = tcase_create("questions");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_tag_comes_back_in_answers_entries_problems_and_last_lines);
    tcase_add_test(tc, an_answer_says_why_a_box_is_not_in_it);
    tcase_add_test(tc, the_past_is_explained_as_it_was);
    tcase_add_test(tc, changes_of_a_query_answer_as_a_commit_and_change_nothing);
    tcase_add_test(tc, changes_hold_for_the_state_that_is_asked);
    tcase_add_test(tc, changes_that_a_commit_would_refuse_are_refused_alike);
    tcase_add_test(tc, a_dry_run_answers_everything_and_keeps_nothing);
    tcase_add_test(tc, a_dry_run_restarts_no_clock);
    tcase_add_test(tc, a_dry_run_judges_conditions_of_boxes);
    tcase_add_test(tc, a_dry_run_answers_the_ids_of_columns);
    tcase_add_test(tc, a_dry_run_excludes_entities_as_the_commit);
    tcase_add_test(tc, a_dry_run_makes_no_scene);
    tcase_add_test(tc, changes_of_frames_answer_as_a_commit_and_change_nothing);
    tcase_add_test(tc, changes_in_a_frame_start_from_the_state_that_is_asked);
    tcase_add_test(tc, changes_of_frames_that_a_commit_would_refuse_are_refused_alike);
    tcase_add_test(tc, a_dry_run_with_frames_answers_as_the_commit);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
