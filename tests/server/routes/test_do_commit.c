/* Commits whose changes were made, and whose queries cannot be answered. */
#include "core/query/plan.h"
#include "tests/server/scenes/large.h"

#include <stdio.h>
#include <string.h>

static void setup_narrow(void)
{
    service_start((const char *[]){"--memory-limit", "2MiB", NULL});
    make_row("/v1/scenes/s/commit", 1500, 0); /* 1.1 million pairs */
}

/* With memory for the heavy request that fills the queue: it must last. */
static void setup_queue(void)
{
    service_start((const char *[]){"--queue-limit", "1", NULL});
    make_row("/v1/scenes/s/commit", 1500, 0);
}

/* Moves b0 to x and asks for so many pairs; the commit must stand, whatever becomes of the
 * queries. */
static void move_and_ask(int x, int pairs, const char *problem)
{
    char sought[160];
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"pose\":{\"b0\":{\"center\":[%d,0,0]}},\"queries\":["
                         "{\"kind\":\"point\",\"points\":[[9,9,9]]},"
                         "{\"kind\":\"all-pairs\",\"want\":[\"mtv\"],\"limit\":%d}]}",
                         x, pairs),
                     200);
    const char *const found = strstr(heard, problem);
    ck_assert_msg(found != NULL, "%s", heard);
    const char *const after = strstr(found, "\"}},{\"problem\":"); /* of the first of two */
    ck_assert_msg(strstr(heard, "\"posed\":1,") != NULL && after != NULL &&
                      strchr(found + strlen(problem), '"') == after &&
                      strstr(heard, "retry_after") == NULL && strstr(heard, "Retry-After") == NULL,
                  "%s", heard);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/boxes/b0", "%s", ""), 200);
    (void)snprintf(sought, sizeof sought, "\"center\":[%d,0,0]", x);
    ck_assert_msg(strstr(heard, sought) != NULL, "%s", heard);
}

/* Waits until the pool has freed what requests before have left: it counts until then. */
static void wait_until_idle(void)
{
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL);
}

START_TEST(changes_stand_where_there_is_no_room_for_their_answer)
{
    static const char large[] = "\"status\":413,\"detail\":\"found queries that take at least ";
    wait_until_idle();
    move_and_ask(5, 100000, large);
    wait_until_idle();
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"queries\":[{\"kind\":\"all-pairs\",\"want\":[\"mtv\"],\"limit\":%d}]}",
                         100000),
                     413);
    ck_assert_msg(strstr(heard, large) != NULL && strstr(heard, "Retry-After") == NULL &&
                      strstr(heard, "; --memory-limit is 2097152\"") != NULL,
                  "%s", heard);
}
END_TEST

/* Puts a box in scene s that expires by the next commit. */
static void put_for_a_moment(void)
{
    ck_assert_msg(ask("PUT", "/v1/scenes/s/boxes/brief",
                      "{\"center\":[9,9,9],\"half_extents\":[1,1,1],\"ttl\":1}") == 201,
                  "%s", heard);
    test_rest(20);
}

/* Returns the revision of scene s. */
static unsigned long revision(void)
{
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 200);
    const char *at = strstr(heard, "\"revision\":");
    ck_assert_ptr_nonnull(at);
    return strtoul(at + strlen("\"revision\":"), NULL, 10);
}

START_TEST(a_commit_of_queries_that_lets_boxes_expire_stands)
{
    static const char queries[] = "{\"queries\":[{\"kind\":\"all-pairs\",\"want\":[\"mtv\"],"
                                  "\"limit\":100000}]}",
                      large[] = "\"status\":413,\"detail\":\"found queries that take at least ";
    put_for_a_moment();
    const unsigned long before = revision();
    wait_until_idle();
    ck_assert_msg(ask("POST", "/v1/scenes/s/commit", queries) == 200, "%s", heard);
    const char *const found = strstr(heard, "\"results\":[{\"problem\":{");
    ck_assert_msg(found != NULL && strstr(found, large) != NULL &&
                      strstr(heard, "Retry-After") == NULL,
                  "%s", heard);
    ck_assert_uint_eq(revision(), before + 1);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/boxes/brief", "%s", ""), 404);
    wait_until_idle();
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", queries), 413); /* none is left */
    ck_assert_uint_eq(revision(), before + 1);
}
END_TEST

START_TEST(changes_stand_where_the_queue_is_full)
{
    const int s =
        begin("POST", "/v1/scenes/s/query/all-pairs", "{\"want\":[\"volume\"],\"limit\":1100000}");
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (strstr(heard, "\nobbd_queue 1\n") == NULL);
    move_and_ask(7, 100000, "\"status\":503,\"detail\":\"too many heavy requests are waiting");
    close(s);
}
END_TEST

/* Has one worker: what several take for the same query depends on how they share it. */
static void start_limited(size_t limit)
{
    char bytes[24];
    (void)snprintf(bytes, sizeof bytes, "%zu", limit);
    service_start((const char *[]){"--memory-limit", bytes, "--workers", "1", NULL});
}

START_TEST(a_commit_whose_ids_find_no_room_is_answered_without_them)
{
    enum { BOXES = 9000 };
    static const size_t kib = 1024;
    static char out[1 << 20];
    char *text = malloc((size_t)BOXES * 60 + 100);
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "{\"put\":{");
    for (int i = 0; i < BOXES; i++)
        at += sprintf(at, "%s\"b%d\":{\"center\":[0,0,0],\"half_extents\":[0,0,0]}",
                      i > 0 ? "," : "", i);
    (void)sprintf(at, "},\"queries\":[{\"kind\":\"point\",\"points\":[]}]}");
    /* The least limit that lets the commit be made leaves no room for its ids, which take some 128
     * KiB. It lies between `low` and `high`. */
    size_t low = 1024 * kib, high = 65536 * kib, made = 0;
    while (high - low > 32 * kib) {
        const size_t middle = low + (high - low) / 2;
        start_limited(middle);
        const int status = end(begin("POST", "/v1/scenes/t/commit", text), out, sizeof out);
        ck_assert(status == 200 || status == 503 || status == 413);
        *(status == 200 ? &high : &low) = middle;
        made += status == 200;
        if (status == 200 && strstr(out, "\"ids_omitted\":true") != NULL)
            ck_assert_msg(strstr(out, "\"put\":9000,\"posed\":0,\"transformed\":0,"
                                      "\"ids_omitted\":true,\"results\":[{") != NULL,
                          "%s", out);
        ck_assert_int_eq(ask("GET", "/v1/scenes/t", "%s", ""), status == 200 ? 200 : 404);
        ck_assert(status != 200 || strstr(heard, "\"boxes\":9000") != NULL);
        service_stop();
    }
    start_limited(high);
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/t/commit", text), out, sizeof out), 200);
    ck_assert_msg(strstr(out, "\"ids_omitted\":true") != NULL, "%.200s", out);
    service_stop();
    printf("at a limit of %zu KiB, and at %zu larger ones\n", high / kib, made);
    ck_assert_uint_gt(made, 0);
    free(text);
}
END_TEST

START_TEST(queries_whose_answers_can_never_fit_are_refused_before_the_commit)
{
    enum { QUERIES = 10000 };
    start_limited(8 << 20);
    ck_assert_int_eq(
        ask("PUT", "/v1/scenes/s/boxes/b0", "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"), 201);
    static const char query[] = "{\"kind\":\"point\",\"points\":[]},";
    static char out[4096];
    char *text = malloc(QUERIES * sizeof query + 200);
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "{\"pose\":{\"b0\":{\"center\":[9,0,0]}},\"queries\":[");
    for (int i = 0; i < QUERIES; i++)
        at += sprintf(at, "%s", query);
    memcpy(at - 1, "]}", sizeof "]}");
    const char *const alone = strstr(text, "\"queries\"");
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/s/commit", text), out, sizeof out), 413);
    char detail[120]; /* problems of 256 bytes each, in a buffer that doubles, and the plans */
    (void)snprintf(detail, sizeof detail,
                   "\"detail\":\"found 10000 queries, which take at least %zu bytes beside the "
                   "commit's ",
                   ((size_t)4 << 20) + QUERIES * obb_plan_least());
    ck_assert_msg(strstr(out, detail) != NULL, "%s", out);
    ck_assert_uint_eq(revision(), 1);
    /* without changes, too, if it would let a box expire */
    put_for_a_moment();
    text[alone - text - 1] = '{';
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/s/commit", alone - 1), out, sizeof out), 413);
    ck_assert_msg(strstr(out, detail) != NULL, "%s", out);
    ck_assert_uint_eq(revision(), 2);
    service_stop();
    free(text);
}
END_TEST

/* Returns the bytes that requests hold, as the metrics in `heard` say. */
static size_t in_flight(void)
{
    const char *line = strstr(heard, "\nobbd_in_flight_bytes ");
    ck_assert_ptr_nonnull(line);
    return strtoull(line + strlen("\nobbd_in_flight_bytes "), NULL, 10);
}

/* Alone, a query is answered or is too large. Beside a body that does not end, it may be sent
 * again. */
START_TEST(a_query_that_fits_alone_waits_for_others)
{
    static const size_t kib = 1024;
    static const char path[] = "/v1/scenes/s/query/all-pairs", query[] = "{\"limit\":400000}";
    size_t low = 1024 * kib, high = 65536 * kib, answered = 0, refused = 0;
    char out[4096];
    while (high - low > 512 * kib) {
        const size_t middle = low + (high - low) / 2;
        start_limited(middle);
        make_row("/v1/scenes/s/commit", 1000, 0);
        const int status = end(begin("POST", path, query), out, sizeof out);
        ck_assert_msg(status == 200 || (status == 413 && strstr(out, "Retry-After") == NULL &&
                                        strstr(out, "found queries that take at least ") != NULL),
                      "%s", out);
        *(status == 200 ? &high : &low) = middle;
        *(status == 200 ? &answered : &refused) += 1;
        service_stop();
    }
    printf("answered at %zu limits, refused at %zu; the least is %zu KiB\n", answered, refused,
           high / kib);
    ck_assert(answered > 0 && refused > 0);
    start_limited(high + 1024 * kib); /* a commit takes a little more than a route */
    make_row("/v1/scenes/s/commit", 1000, 0);
    const int s = dial();
    static const char head[] = "POST /v1/scenes/s/commit HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 16777216\r\n\r\n";
    static char body[12 << 20];
    memset(body, ' ', sizeof body);
    ck_assert_int_eq(send(s, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
    for (size_t sent = 0; sent < sizeof body;) {
        const ssize_t n = send(s, body + sent, sizeof body - sent, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (in_flight() < sizeof body);
    ck_assert_int_eq(end(begin("POST", path, query), out, sizeof out), 503);
    ck_assert_msg(strstr(out, "Retry-After: 1") != NULL &&
                      strstr(out, "answers in flight use up the memory") != NULL,
                  "%s", out);
    /* a commit stands, and its queries may be asked again; without changes all of it may */
    static const char move[] = "{\"pose\":{\"b0\":{\"center\":[0,0,0]}},\"queries\":[{\"kind\":"
                               "\"all-pairs\",\"limit\":400000}]}";
    static const char look[] = "{\"queries\":[{\"kind\":\"all-pairs\",\"limit\":400000}]}";
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/s/commit", move), out, sizeof out), 200);
    ck_assert_msg(strstr(out, "\"posed\":1,") != NULL && strstr(out, "Retry-After") == NULL &&
                      strstr(out, "\"results\":[{\"problem\":{") != NULL &&
                      strstr(out, "\"status\":503,\"detail\":\"answers in flight use up the memory "
                                  "set aside for them\"") != NULL,
                  "%s", out);
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/s/commit", look), out, sizeof out), 503);
    ck_assert_ptr_nonnull(strstr(out, "Retry-After: 1"));
    close(s);
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (in_flight() > 0);
    ck_assert_int_eq(end(begin("POST", path, query), out, sizeof out), 200);
    service_stop();
}
END_TEST

static void setup_usual(void) { service_start(NULL); }

/* As many as the contract lets a commit have, at the usual --memory-limit. */
START_TEST(a_commit_may_have_100000_queries)
{
    enum { QUERIES = 100000 };
    static const char query[] = "{\"kind\":\"point\",\"points\":[[0,0,0]]},",
                      result[] = "{\"results\":[{\"boxes\":[\"b0\"]}]}";
    static char out[QUERIES * sizeof result + 4096];
    char *text = malloc(QUERIES * sizeof query + 200);
    ck_assert_ptr_nonnull(text);
    char *at =
        text + sprintf(text, "{\"put\":{\"b0\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}},"
                             "\"queries\":[");
    for (int i = 0; i < QUERIES; i++)
        at += sprintf(at, "%s", query);
    memcpy(at - 1, "]}", sizeof "]}");
    ck_assert_msg(end(begin("POST", "/v1/scenes/s/commit", text), out, sizeof out) == 200, "%.500s",
                  out);
    size_t results = 0;
    for (const char *one = out; (one = strstr(one, result)) != NULL; one += sizeof result - 1)
        results++;
    ck_assert_uint_eq(results, QUERIES);
    free(text);
}
END_TEST

/* Returns the milliseconds of CPU that the loop has taken. */
static double loop_ms(void)
{
    clockid_t clock;
    struct timespec spent;
    ck_assert_int_eq(pthread_getcpuclockid(service_thread, &clock), 0);
    ck_assert_int_eq(clock_gettime(clock, &spent), 0);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

/* The plans of all queries are there until the last one has its result, or the client goes. */
START_TEST(the_loop_frees_no_plans_of_a_client_that_goes)
{
    enum {
        QUERIES = 99999,
        SLOW = 2000,
        HELD = 160 << 20 /* bytes: 90 MiB of the request, and most of the plans' 90 MiB */
    };
    static const char query[] = "{\"kind\":\"point\",\"points\":[[9,9,9]]},",
                      shape[] = "{\"center\":[0,0,0],\"half_extents\":[1,1,1]},";
    char *text = malloc(QUERIES * sizeof query + SLOW * sizeof shape + 200);
    ck_assert_ptr_nonnull(text);
    make_row("/v1/scenes/s/commit", 1500, 0);
    char *at = text + sprintf(text, "{\"queries\":[");
    for (int i = 0; i < QUERIES; i++)
        at += sprintf(at, "%s", query);
    at += sprintf(at, "{\"kind\":\"nearest\",\"k\":1000,\"boxes\":[");
    for (int i = 0; i < SLOW; i++) /* 2.5 ms each */
        at += sprintf(at, "%s", shape);
    memcpy(at - 1, "]}]}", sizeof "]}]}");
    const int s = begin("POST", "/v1/scenes/s/commit", text);
    do {
        test_rest(10);
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    } while (in_flight() < HELD);
    test_rest(300); /* the last query takes longer */
    const struct linger reset = {.l_onoff = 1};
    setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    const double before = loop_ms();
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    const double closed = loop_ms(), ask_ms = (closed - before) / 10;
    size_t asks = 0;
    close(s);
    do {
        test_rest(20);
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
        asks++;
    } while (in_flight() > 0);
    const double spent = loop_ms() - closed;
    printf("the loop took %.1f ms; for %zu times the metrics %.1f\n", spent, asks,
           (double)asks * ask_ms);
    ck_assert_double_lt(spent, 10.0 * test_timeout(1) + 2 * (double)asks * ask_ms);
    free(text);
}
END_TEST

/* Lists of bare ids take many times their bytes when they are decoded. */
START_TEST(what_can_never_be_decoded_is_too_large)
{
    enum { IDS = 200000 };
    static char out[4096];
    char *text = malloc(IDS * 2 + 64);
    ck_assert_ptr_nonnull(text);
    start_limited(1 << 20);
    for (int ids = IDS; ids >= 2; ids = ids == IDS ? 2 : 0) {
        char *at = text + sprintf(text, "{\"by\":\"id\",\"pairs\":[");
        for (int i = 0; i < ids; i++)
            at += sprintf(at, "%d,", 1 + i % 2);
        memcpy(at - 1, "]}", sizeof "]}");
        ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), ids == IDS ? 201 : 200);
        const int status = end(begin("POST", "/v1/scenes/s/query/pairs", text), out, sizeof out);
        ck_assert_int_eq(status, ids == IDS ? 413 : 200);
        ck_assert_msg(
            status == 200 ||
                (strstr(out, "\"detail\":\"found a request that takes at least ") != NULL &&
                 strstr(out, " bytes; --memory-limit is 1048576\"") != NULL &&
                 strstr(out, "Retry-After") == NULL),
            "%s", out);
    }
    service_stop();
    free(text);
}
END_TEST

static void setup_wide(void) { service_start((const char *[]){"--history", "1000", NULL}); }

/* The views of these queries are opened on the pool. Other commits of the scene wait meanwhile. */
START_TEST(many_queries_of_many_moments_see_the_state_that_their_commit_left)
{
    enum { QUERIES = 4000, OTHERS = 8 };
    char sought[100], *text = malloc(QUERIES * 100 + 200);
    static char out[QUERIES * 400];
    ck_assert_ptr_nonnull(text);
    for (int t = 0; t <= 1; t++)
        ck_assert_int_eq(ask("POST", "/v1/scenes/m/commit",
                             "{\"time\":%d,\"put\":{\"a\":{\"center\":[%d,0,0],"
                             "\"half_extents\":[1,1,1]}}}",
                             t * 100, t * 100),
                         200);
    char *at = text + sprintf(text, "{\"time\":200,\"pose\":{\"a\":{\"center\":[200,0,0]}},"
                                    "\"queries\":[");
    for (int i = 0; i < QUERIES; i++) /* from 0 to 200, where a stands then */
        at += sprintf(at, "%s{\"kind\":\"point\",\"points\":[[%d,0,0]],\"at\":{\"time\":%d}}",
                      i > 0 ? "," : "", i % 201, i % 201);
    memcpy(at, "]}", sizeof "]}");
    const int s = begin("POST", "/v1/scenes/m/commit", text);
    int others[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        others[i] = begin("POST", "/v1/scenes/m/commit",
                          "{\"put\":{\"b\":{\"center\":[0,9,0],\"half_extents\":[1,1,1]}}}");
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    size_t answers = 0, hits = 0;
    for (const char *p = out; (p = strstr(p, "\"boxes\"")) != NULL; p++)
        hits += strncmp(p, "\"boxes\":[\"a\"]", 13) == 0;
    for (const char *p = out; (p = strstr(p, "\"at\":{")) != NULL; p++)
        answers++;
    ck_assert_msg(answers == QUERIES && hits == QUERIES, "%zu answers, %zu hits: %.600s", answers,
                  hits, out);
    for (int i = 0; i < OTHERS; i++)
        ck_assert_int_eq(end(others[i], sought, sizeof sought), 200);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("do_commit");
    TCase *tc = tcase_create("narrow");
    tcase_add_checked_fixture(tc, setup_narrow, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, changes_stand_where_there_is_no_room_for_their_answer);
    tcase_add_test(tc, a_commit_of_queries_that_lets_boxes_expire_stands);
    TCase *queue = tcase_create("queue");
    tcase_add_checked_fixture(queue, setup_queue, service_stop);
    tcase_set_timeout(queue, test_timeout(20));
    tcase_add_test(queue, changes_stand_where_the_queue_is_full);
    suite_add_tcase(suite, queue);
    TCase *limits = tcase_create("limits");
    tcase_set_timeout(limits, test_timeout(20));
    tcase_add_test(limits, a_commit_whose_ids_find_no_room_is_answered_without_them);
    tcase_add_test(limits, queries_whose_answers_can_never_fit_are_refused_before_the_commit);
    tcase_add_test(limits, a_query_that_fits_alone_waits_for_others);
    tcase_add_test(limits, what_can_never_be_decoded_is_too_large);
    suite_add_tcase(suite, limits);
    suite_add_tcase(suite, tc);
    TCase *usual = tcase_create("usual");
    tcase_add_checked_fixture(usual, setup_usual, service_stop);
    tcase_set_timeout(usual, test_timeout(60));
    tcase_add_test(usual, a_commit_may_have_100000_queries);
    tcase_add_test(usual, the_loop_frees_no_plans_of_a_client_that_goes);
    suite_add_tcase(suite, usual);
    TCase *wide = tcase_create("wide");
    tcase_add_checked_fixture(wide, setup_wide, service_stop);
    tcase_set_timeout(wide, test_patience(60));
    tcase_add_test(wide, many_queries_of_many_moments_see_the_state_that_their_commit_left);
    suite_add_tcase(suite, wide);
    return test_main(suite);
}
