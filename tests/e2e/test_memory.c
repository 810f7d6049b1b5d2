/* The memory of the daemon under requests that want far more than --memory-limit. */
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_MIB 32
#define SLACK_MIB 64

static struct test_daemon daemon;
static struct http_client *client;

static void start(void)
{
    daemon_start(&daemon, (const char *[]){"--memory-limit", "32MiB", "--body-limit", "64MiB",
                                           "--workers", "2", NULL});
    client = http_open(daemon.url);
}

static void stop(void)
{
    expect(client, "GET", "/healthz", NULL, 200, NULL); /* unharmed */
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static char *buffer_of(size_t size)
{
    char *buffer = malloc(size);
    ck_assert_ptr_nonnull(buffer);
    return buffer;
}

/* Puts boxes in one place: each overlaps all others. */
static void put_heap(int count)
{
    char *body = buffer_of((size_t)count * 64 + 64), *at = body;
    at += sprintf(at, "{\"put\":{");
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s\"b%d\":{\"center\":[0,0,0],\"half_extents\":[9,9,9]}",
                      i > 0 ? "," : "", i);
    (void)sprintf(at, "}}");
    expect(client, "POST", "/v1/scenes/heap/commit", body, 200, NULL);
    free(body);
}

static void check_refusal(const char *path, const char *body, long status)
{
    struct http_answer answer = {0};
    http_send(client, "POST", path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%ld: %.300s", answer.status, answer.body);
    ck_assert((http_header(&answer, "Retry-After") != NULL) == (status == 503));
    ck_assert_msg(strstr(answer.body, "\"detail\":") != NULL, "%s", answer.body);
    http_answer_fini(&answer);
}

/* Waits until the requests have given back all that they drew. */
static void wait_for_none(void)
{
    for (;;) {
        struct http_answer answer = {0};
        http_send(client, "GET", "/metrics", NULL, NULL, &answer);
        const bool none = strstr(answer.body, "\nobbd_in_flight_bytes 0\n") != NULL;
        http_answer_fini(&answer);
        if (none)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

START_TEST(requests_keep_within_the_memory_limit)
{
    put_heap(5000);
    wait_for_none();
    const double before = daemon_memory_mib(&daemon, "VmRSS");
    enum { SHAPES = 1000, IDS = 4 << 20 };

    char *overlaps = buffer_of(SHAPES * 5 + 64), *at = overlaps;
    at += sprintf(at, "{\"limit\":5000,\"shapes\":[");
    for (int i = 0; i < SHAPES; i++)
        at += sprintf(at, "%s\"b1\"", i > 0 ? "," : "");
    (void)sprintf(at, "]}");
    check_refusal("/v1/scenes/heap/query/overlap", overlaps, 413); /* 5 million hits */
    free(overlaps);

    char *pairs = buffer_of((size_t)IDS * 10 + 64);
    at = pairs + sprintf(pairs, "{\"by\":\"id\",\"pairs\":[1,1");
    for (int i = 2; i < IDS; i++) {
        memcpy(at, ",1", 2);
        at += 2;
    }
    memcpy(at, "]}", 3);
    check_refusal("/v1/scenes/heap/query/pairs", pairs, 413); /* 8 MiB that say 96: never */
    memset(at, ' ', (size_t)IDS * 7);
    at[(size_t)IDS * 7] = '\0';
    check_refusal("/v1/scenes/heap/query/pairs", pairs, 413); /* 36 MiB */
    free(pairs);

    wait_for_none();
    const double most = daemon_memory_mib(&daemon, "VmHWM");
    printf("%.1f MiB before, %.1f at most, %.1f after\n", before, most,
           daemon_memory_mib(&daemon, "VmRSS"));
    if (daemon_memory_tells(&daemon))
        ck_assert_double_le(most, before + LIMIT_MIB + SLACK_MIB);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tc = tcase_create("memory");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, requests_keep_within_the_memory_limit);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
