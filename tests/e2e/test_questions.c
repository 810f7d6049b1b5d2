/* Questions about answers and about what is not stored: tag, explain, with and dry_run, as a client sees them, in JSON
 * and in CBOR. Each test has a daemon of its own. */
#include "tests/support/cbor.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
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

static bool equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_array(a)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!equal(json_array_get(a, i), json_array_get(b, i)))
                return false;
        return true;
    }
    if (json_is_object(a)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)a, key, value)
        {
            const json_t *other = json_object_get(b, key);
            if (other == NULL || !equal(value, other))
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
    ck_assert_msg(equal(real, wanted), "%s\nas CBOR: %s", path, text);
    free(text);
    free(bytes);
    json_decref(real);
    http_answer_fini(&answer);
}

/* Posts the text as JSON and as CBOR, which must answer alike, and returns the answer, which the caller owns. The request
 * must change nothing. */
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

/* The answer is exactly `wanted`. */
static void says(const char *path, const char *text, const char *wanted)
{
    json_error_t error;
    json_t *real = ask(path, text, 200), *told = json_loads(wanted, 0, &error);
    ck_assert_msg(told != NULL, "the test's own JSON: %s in %s", error.text, wanted);
    char *line = json_dumps(real, 0);
    ck_assert_msg(equal(real, told), "%s\nanswers\n%s\nand not\n%s", text, line, wanted);
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

int main(void)
{
    Suite *suite = suite_create("questions");
    TCase *tc = tcase_create("questions");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_tag_comes_back_in_answers_entries_problems_and_last_lines);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
