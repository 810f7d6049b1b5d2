/* All pairs as a stream of lines: as many as there are in the memory of a few, at the pace of who
 * reads them, and of one revision. */
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct test_daemon daemon;
static struct http_client *client;

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

/* So many boxes that all overlap, as commit 1 at time 0. */
static void put_heap(int boxes, int group)
{
    char *body = malloc((size_t)boxes * 100 + 100);
    ck_assert_ptr_nonnull(body);
    int length = sprintf(body, "{\"time\":0,\"put\":{");
    for (int i = 0; i < boxes; i++)
        length += sprintf(body + length,
                          "%s\"b%d\":{\"center\":[%g,0,0],\"half_extents\":[1,1,1],\"group\":%d}",
                          i > 0 ? "," : "", i, i / (double)boxes, group);
    (void)sprintf(body + length, "}}");
    expect(client, "POST", "/v1/scenes/heap/commit", body, 200, "{\"revision\":1}");
    free(body);
}

static long pairs_of(long boxes) { return boxes * (boxes - 1) / 2; }

/* ---- What a stream says ---------------------------------------------------------------------- */

/* The lines of an answer, each as JSON. */
static json_t *stream_lines(const char *body)
{
    static const char *const headers[] = {"Accept: application/x-ndjson", NULL};
    struct http_answer answer = {0};
    http_send(client, "POST", "/v1/scenes/heap/query/all-pairs", headers, body, &answer);
    ck_assert_msg(answer.status == 200, "%s: %s", body, answer.body);
    json_t *lines = json_array();
    for (const char *at = answer.body, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_t *line = json_loadb(at, (size_t)(end - at), JSON_DECODE_ANY, NULL);
        ck_assert_ptr_nonnull(line);
        json_array_append_new(lines, line);
    }
    http_answer_fini(&answer);
    return lines;
}

START_TEST(a_stream_is_the_list_and_then_its_count)
{
    enum { BOXES = 200 }; /* two pages */
    const long all = pairs_of(BOXES);
    put_heap(BOXES, 0);
    expect(client, "POST", "/v1/scenes/heap/commit",
           "{\"time\":10,\"pose\":{\"b0\":{\"center\":[100,0,0]}},\"remove\":[\"b1\"]}", 200, NULL);
    const struct {
        const char *options; /* of the query at revision 1 */
        long listed;
        bool truncated;
    } rows[] = {
        {"", all, false}, /* no limit by default */
        {",\"limit\":50", 50, true},
        {",\"limit\":0", 0, true},
        {",\"limit\":18000", 18000, true}, /* in the middle of a page */
        {",\"limit\":16384", 16384, true}, /* at its end */
        {",\"limit\":19900", 19900, false},
        {",\"limit\":9007199254740992", all, false},
        {",\"count_only\":true", 0, false},
        {",\"count_only\":true,\"limit\":3", 0, false},
        {",\"by\":\"id\"", all, false},
        {",\"want\":[\"relation\"],\"limit\":100", 100, true},
    };
    ck_assert_int_eq(all, 19900);
    size_t compared = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[200];
        (void)snprintf(body, sizeof body, "{\"at\":{\"revision\":1}%s}", rows[i].options);
        json_t *lines = stream_lines(body);
        ck_assert_uint_eq(json_array_size(lines), (size_t)rows[i].listed + 1);
        const json_t *last = json_array_get(lines, (size_t)rows[i].listed);
        ck_assert_int_eq(json_integer_value(json_object_get(last, "count")), all);
        ck_assert_int_eq(json_integer_value(json_object_get(last, "revision")), 2);
        ck_assert_int_eq(
            json_integer_value(json_object_get(json_object_get(last, "at"), "revision")), 1);
        ck_assert_int_eq(json_is_true(json_object_get(last, "truncated")), rows[i].truncated);

        /* the same pairs as those of one document, which lists a million */
        struct http_answer answer = {0};
        http_send(client, "POST", "/v1/scenes/heap/query/all-pairs", NULL, body, &answer);
        json_t *whole = json_loads(answer.body, 0, NULL);
        const json_t *pairs = json_object_get(whole, "pairs");
        const bool flat = strstr(body, "by") != NULL;
        bool same = true;
        for (long k = 0; k < rows[i].listed; k++, compared++) {
            const json_t *line = json_array_get(lines, (size_t)k);
            for (size_t side = 0; flat && side < 2; side++)
                same = same && json_equal(json_array_get(line, side),
                                          json_array_get(pairs, 2 * (size_t)k + side));
            same = same && (flat || json_equal(line, json_array_get(pairs, (size_t)k)));
        }
        ck_assert_msg(same, "%s", body);
        json_decref(whole);
        json_decref(lines);
        http_answer_fini(&answer);
    }
    /* now, and half-way between the two commits, where b0 has left and b1 is still there */
    json_t *now = stream_lines("{}"), *between = stream_lines("{\"at\":{\"time\":5}}");
    ck_assert_uint_eq(json_array_size(now), (size_t)pairs_of(BOXES - 2) + 1);
    ck_assert_uint_eq(json_array_size(between), (size_t)pairs_of(BOXES - 1) + 1);
    compared += json_array_size(now) + json_array_size(between);
    json_decref(now);
    json_decref(between);
    printf("%zu lines\n", compared);
}
END_TEST

/* ---- What it takes --------------------------------------------------------------------------- */

static long metric(const char *name)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    char line[64];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(answer.body, line);
    ck_assert_ptr_nonnull(at);
    const long value = strtol(at + strlen(line), NULL, 10);
    http_answer_fini(&answer);
    return value;
}

/* Until the metric has that value; the test's own time limit ends it otherwise. */
static void wait_until(const char *name, long value)
{
    while (metric(name) != value)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* A stream of all pairs, begun and not read; HTTP/1.0, so that it comes as it is. Sockets hold some
 * 10 MB of it. */
static int begin_stream(void)
{
    const int fd = daemon_dial(&daemon);
    ck_assert_int_ge(fd, 0);
    dial_send(fd, "POST /v1/scenes/heap/query/all-pairs HTTP/1.0\r\nHost: localhost\r\n"
                  "Accept: application/x-ndjson\r\nContent-Type: application/json\r\n"
                  "Content-Length: 11\r\n\r\n{\"by\":\"id\"}");
    return fd;
}

struct reader {
    int fd;
    char bytes[1 << 16];
    size_t length, at;
};

/* The next line, without its end; NULL: there is none. */
static char *next_line(struct reader *r)
{
    for (;;) {
        char *end = memchr(r->bytes + r->at, '\n', r->length - r->at);
        if (end != NULL) {
            char *line = r->bytes + r->at;
            *end = '\0';
            r->at = (size_t)(end + 1 - r->bytes);
            return line;
        }
        memmove(r->bytes, r->bytes + r->at, r->length - r->at);
        r->length -= r->at;
        r->at = 0;
        const ssize_t got = read(r->fd, r->bytes + r->length, sizeof r->bytes - r->length);
        if (got <= 0)
            return NULL;
        r->length += (size_t)got;
    }
}

#define BIG_HEAP 5000 /* its pairs are a stream of 150 MB */
#define MOST_MIB 16

START_TEST(twelve_million_pairs_take_the_memory_of_a_few)
{
    /* A stream of 54 MB is enough for what is asserted beside the memory. */
    const bool tells = daemon_memory_tells(&daemon);
    const int boxes = tells ? BIG_HEAP : 3000;
    put_heap(boxes, 0);
    const double before = daemon_memory_mib(&daemon, "VmRSS");
    static struct reader r;
    r.fd = begin_stream();
    ck_assert_ptr_nonnull(next_line(&r)); /* it has begun */
    /* Nobody reads on: the work stops by itself, and commits go on. */
    wait_until("obbd_queue", 0);
    ck_assert_int_gt(metric("obbd_in_flight_bytes"), 0);
    expect(client, "POST", "/v1/scenes/heap/commit",
           "{\"remove\":[\"b2999\"],\"put\":{\"late\":{\"center\":[0,0,0],"
           "\"half_extents\":[9,9,9]}},\"pose\":{\"b0\":{\"center\":[500,0,0]}}}",
           200, "{\"revision\":2}");
    const long sent = metric("obbd_sent_bytes_total");
    ck_assert_int_lt(sent, 32 << 20);

    double most = 0;
    long lines = 0, last_a = 0, last_b = 0, most_in_flight = 0;
    bool ordered = true; /* and so no pair comes twice */
    char *line;
    while ((line = next_line(&r)) != NULL && line[0] != '{') {
        if (line[0] != '[')
            continue; /* of the head */
        char *comma;
        const long a = strtol(line + 1, &comma, 10), b = strtol(comma + 1, NULL, 10);
        ordered = ordered && a < b && (a > last_a || (a == last_a && b > last_b));
        last_a = a;
        last_b = b;
        if (lines++ % 100000 == 0) {
            const double now = daemon_memory_mib(&daemon, "VmRSS");
            const long in_flight = metric("obbd_in_flight_bytes");
            most = now > most ? now : most;
            most_in_flight = in_flight > most_in_flight ? in_flight : most_in_flight;
        }
    }
    ck_assert_ptr_nonnull(line);
    char last[64];
    (void)snprintf(last, sizeof last, "{\"count\":%ld,\"revision\":1,\"time\":0}", pairs_of(boxes));
    ck_assert_str_eq(line, last);
    ck_assert(ordered);
    ck_assert_int_eq(lines, pairs_of(boxes));
    ck_assert_ptr_null(next_line(&r));
    close(r.fd);
    printf("%ld pairs: the daemon grew by %.1f MiB at most, %ld bytes in flight\n", lines,
           most - before, most_in_flight);
    ck_assert(most_in_flight > 0 && most_in_flight < MOST_MIB << 20);
    ck_assert(!tells || most - before < MOST_MIB);
    wait_until("obbd_in_flight_bytes", 0);
}
END_TEST

START_TEST(nobody_works_for_who_has_gone)
{
    put_heap(BIG_HEAP, 0);
    static struct reader r;
    for (int i = 0; i < 6; i++) {
        r = (struct reader){.fd = begin_stream()};
        for (int k = 0; k < i * 20000; k++) /* somewhere on the way */
            ck_assert_ptr_nonnull(next_line(&r));
        if (i % 2 == 0) { /* a reset instead of an orderly end */
            const struct linger now = {.l_onoff = 1, .l_linger = 0};
            setsockopt(r.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        close(r.fd);
        wait_until("obbd_connections", 1); /* this one alone */
        wait_until("obbd_queue", 0);
        wait_until("obbd_in_flight_bytes", 0);
        ck_assert_int_lt(metric("obbd_sent_bytes_total"),
                         (i + 1) * (32L << 20)); /* of 150 MB each */
    }
}
END_TEST

/* Waits for the answer, and returns its status; nothing of it is read. */
static int peek_status(int stream)
{
    char line[13] = ""; /* HTTP/1.x 200 */
    ck_assert_int_eq(recv(stream, line, 12, MSG_PEEK | MSG_WAITALL), 12);
    return (int)strtol(line + 9, NULL, 10);
}

START_TEST(a_stream_that_is_not_read_is_cut)
{
    daemon_stop(&daemon);
    http_close(client);
    const char *limit = test_text("%d", (int)(300 * test_timeout(1))); /* enough for the heap */
    daemon_start(&daemon, (const char *[]){"--request-timeout", limit, NULL});
    client = http_open(daemon.url);
    put_heap(3000, 0);
    static struct reader r;
    r = (struct reader){.fd = begin_stream()};
    wait_until("obbd_connections_cut_total", 1);
    wait_until("obbd_in_flight_bytes", 0);
    char *line;
    while ((line = next_line(&r)) != NULL)
        ck_assert_msg(line[0] != '{', "%s", line); /* the end is missing, so the client knows */
    close(r.fd);
}
END_TEST

START_TEST(a_slow_reader_holds_a_removed_scene_no_longer_than_a_request_may_take)
{
    daemon_stop(&daemon);
    http_close(client);
    const char *limit = test_text("%d", (int)(500 * test_timeout(1)));
    daemon_start(&daemon, (const char *[]){"--request-timeout", limit, NULL});
    client = http_open(daemon.url);
    put_heap(3000, 0);
    const int fd = begin_stream(), little = 4096;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    ck_assert_int_eq(peek_status(fd), 200);
    expect(client, "DELETE", "/v1/scenes/heap", NULL, 204, NULL);
    long total = 0;
    for (int i = 0; metric("obbd_connections_cut_total") == 0; i++) {
        char bytes[4096]; /* the sockets hold so many of these that the next piece is far away */
        const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        total += got > 0 ? got : 0;
        ck_assert_int_lt(i, (int)(1000 * test_timeout(1))); /* ten times as long */
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    printf("cut after %ld bytes\n", total);
    ck_assert_int_gt(total, 0);
    wait_until("obbd_in_flight_bytes", 0);
    close(fd);
}
END_TEST

static int begin_get(const char *path)
{
    const int fd = daemon_dial(&daemon);
    ck_assert_int_ge(fd, 0);
    dial_send(fd, test_text("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path));
    ck_assert_int_eq(peek_status(fd), 200);
    return fd;
}

/* Puts 1,000 boxes that were never there before, as a dry run or beside a pose that is refused. */
static void send_nothing(int i)
{
    enum { BOXES = 1000 };
    char *body = malloc(BOXES * 80 + 100);
    ck_assert_ptr_nonnull(body);
    int length =
        sprintf(body, "{%s,\"put\":{",
                i % 2 == 0 ? "\"dry_run\":true" : "\"pose\":{\"none\":{\"center\":[0,0,0]}}");
    for (int k = 0; k < BOXES; k++)
        length +=
            sprintf(body + length, "%s\"n%d-%d\":{\"center\":[%d,99,0],\"half_extents\":[1,1,1]}",
                    k > 0 ? "," : "", i, k, k);
    (void)sprintf(body + length, "}}");
    expect(client, "POST", "/v1/scenes/heap/commit", body, i % 2 == 0 ? 200 : 404, NULL);
    free(body);
}

/* Whoever follows a quiet scene, or does not read what he asked for, holds its state for long. */
START_TEST(what_comes_to_nothing_does_not_add_up_beside_who_waits)
{
    enum { FEW = 10, MANY = 60 };
    put_heap(3000, 0);
    const long scene = metric("obbd_scene_bytes");
    const int waiting[] = {begin_get("/v1/scenes/heap/events?topics=boxes"),
                           begin_get("/v1/scenes/heap/log?follow=true"), begin_stream()};
    ck_assert_int_eq(peek_status(waiting[2]), 200);
    long held = 0, before = -1;
    while (metric("obbd_queue") > 0 || held != before) { /* until the sockets take no more */
        test_rest((long)(200 * test_timeout(1)));
        before = held;
        held = metric("obbd_in_flight_bytes");
    }
    for (int i = 0; i < FEW; i++)
        send_nothing(i);
    const long few = metric("obbd_scene_bytes");
    for (int i = FEW; i < MANY; i++)
        send_nothing(i);
    const long many = metric("obbd_scene_bytes");
    printf("%ld bytes, %ld after %d edits that came to nothing, %ld after %d\n", scene, few,
           (int)FEW, many, (int)MANY);
    ck_assert_int_lt(many, 2 * few);
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        close(waiting[i]);
}
END_TEST

/* Each stream that began waits with little while there is no memory for its next piece, so many
 * begin; those that find no memory even for that are refused. */
START_TEST(streams_share_the_memory_set_aside_for_answers)
{
    enum { LIMIT = 12 << 20, MOST = 300 };
    daemon_stop(&daemon);
    http_close(client);
    daemon_start(&daemon, (const char *[]){"--memory-limit", "12MiB", NULL});
    client = http_open(daemon.url);
    put_heap(3000, 0);
    static const char *const headers[] = {"Accept: application/x-ndjson", NULL};
    struct http_answer answer = {0};
    int streams[MOST], begun = 0, refused = 0;
    long most = 0;
    wait_until("obbd_in_flight_bytes", 0); /* the memory of the commit is given back */
    for (int i = 0; i < MOST; i++) {
        streams[i] = begin_stream();
        const int status = peek_status(streams[i]);
        if (status == 200) {
            begun++;
        } else {
            char refusal[2048] = "";
            ck_assert_int_eq(status, 503);
            ck_assert_int_gt(recv(streams[i], refusal, sizeof refusal - 1, 0), 0);
            ck_assert_msg(strstr(refusal, "\r\nRetry-After: ") != NULL, "%s", refusal);
            refused++;
        }
        /* Freed blocks that wait for the pool are counted beyond the limit: not for long, or the
         * limit of the test ends it. */
        long in_flight;
        while ((in_flight = metric("obbd_in_flight_bytes")) > LIMIT)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        most = in_flight > most ? in_flight : most;
    }
    printf("%d streams at the same time, %d refused, at most %ld bytes in flight\n", begun, refused,
           most);
    ck_assert_int_gt(begun, 0);
    ck_assert_int_gt(refused, 0);
    ck_assert_int_gt(most, LIMIT / 2); /* together they want more than there is */
    for (int i = 0; i < MOST; i++)
        close(streams[i]);
    /* The daemon sees that a reader has gone when it sends the next piece. A new stream waits for
     * the workers behind all these pieces, and is cut if that takes longer than a request may. */
    wait_until("obbd_connections", 1);
    wait_until("obbd_in_flight_bytes", 0);
    http_send(client, "POST", "/v1/scenes/heap/query/all-pairs", headers, "{\"limit\":9}", &answer);
    ck_assert_int_eq(answer.status, 200);
    http_answer_fini(&answer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("streams");
    TCase *tc = tcase_create("streams");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_stream_is_the_list_and_then_its_count);
    tcase_add_test(tc, twelve_million_pairs_take_the_memory_of_a_few);
    tcase_add_test(tc, nobody_works_for_who_has_gone);
    tcase_add_test(tc, a_stream_that_is_not_read_is_cut);
    tcase_add_test(tc, a_slow_reader_holds_a_removed_scene_no_longer_than_a_request_may_take);
    tcase_add_test(tc, what_comes_to_nothing_does_not_add_up_beside_who_waits);
    tcase_add_test(tc, streams_share_the_memory_set_aside_for_answers);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
