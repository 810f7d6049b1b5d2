/* Requests with work on the pool that end before their time. */
#include "tests/server/scenes/large.h"

#include <math.h>

static void setup(void) { service_start(NULL); }

/* The text of a commit whose tight fits take minutes to decode. Owned by the caller. */
static char *slow_commit(void)
{
    enum { BOXES = 2000, POINTS = 500 };
    char *points = malloc((size_t)POINTS * 40), *at = points;
    ck_assert_ptr_nonnull(points);
    for (int i = 0; i < POINTS; i++) { /* on a ball */
        const double z = (i + 0.5) * 2 / POINTS - 1, a = i * 2.4, r = sqrt(1 - z * z);
        at += snprintf(at, 40, "%s[%.4f,%.4f,%.4f]", i > 0 ? "," : "", r * cos(a), r * sin(a), z);
    }
    const size_t length = (size_t)(at - points);
    char *text = malloc(BOXES * (length + 60) + 100);
    ck_assert_ptr_nonnull(text);
    at = text + snprintf(text, 100, "{\"put\":{");
    for (int i = 0; i < BOXES; i++)
        at += snprintf(at, length + 60, "%s\"b%d\":{\"fit\":\"tight\",\"points\":[%s]}",
                       i > 0 ? "," : "", i, points);
    (void)snprintf(at, 10, "}}");
    free(points);
    return text;
}

/* Decoding that went on fails by the limit of the test. */
START_TEST(decoding_ends_when_its_client_goes)
{
    char *commit = slow_commit();
    const int s = begin("POST", "/v1/scenes/s/commit", commit);
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (strstr(heard, "\nobbd_queue 1\n") == NULL);
    close(s);
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (strstr(heard, "\nobbd_queue 0\n") == NULL);
    ck_assert_ptr_nonnull(strstr(heard, "\nobbd_cancelled_total 1\n"));
    /* the job ends a turn of the loop before its request, and this answer may come between the
     * two */
    while (strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL)
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 404);
    free(commit);
}
END_TEST

static void setup_narrow(void)
{
    service_start((const char *[]){"--memory-limit", "8MiB", NULL});
    make_row("/v1/scenes/s/commit", 1500, 0);
}

START_TEST(requests_that_want_more_than_the_limit_give_all_back)
{
    static char shapes[1000 * 5 + 64], pairs[200000 * 2 + 64];
    char *at = shapes + snprintf(shapes, 32, "{\"shapes\":[\"b0\"");
    for (int i = 1; i < 1000; i++)
        at += snprintf(at, 8, ",\"b0\"");
    (void)snprintf(at, 8, "]}");
    at = pairs + snprintf(pairs, 32, "{\"by\":\"id\",\"pairs\":[1,1");
    for (int i = 2; i < 200000; i++)
        at += snprintf(at, 8, ",1");
    (void)snprintf(at, 8, "]}");
    static const struct {
        const char *path, *body;
    } worst[] = {
        /* the second is larger than the limit when it is decoded, the others as they run */
        {"/v1/scenes/s/query/overlap", shapes},
        {"/v1/scenes/s/query/pairs", pairs},
        {"/v1/scenes/s/query/all-pairs", "{\"want\":[\"mtv\"],\"limit\":1100000}"},
        {"/v1/scenes/s/query/all-pairs", "{\"limit\":1100000}"}};
    for (int i = 0; i < 4; i++) {
        static char answer[4096];
        const int status = end(begin("POST", worst[i].path, worst[i].body), answer, sizeof answer);
        ck_assert_msg(status == 413, "%d: %s", i, answer);
        ck_assert_msg(strstr(answer, "Retry-After") == NULL &&
                          strstr(answer, " at least ") != NULL &&
                          strstr(answer, "; --memory-limit is 8388608\"") != NULL,
                      "%s", answer);
        do
            ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
        while (strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("work");
    TCase *tc = tcase_create("work");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, decoding_ends_when_its_client_goes);
    suite_add_tcase(suite, tc);
    TCase *narrow = tcase_create("narrow");
    tcase_add_checked_fixture(narrow, setup_narrow, service_stop);
    tcase_set_timeout(narrow, test_patience(60));
    tcase_add_test(narrow, requests_that_want_more_than_the_limit_give_all_back);
    suite_add_tcase(suite, narrow);
    return test_main(suite);
}
