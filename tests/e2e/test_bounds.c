/* One request may not take the memory of the process: --memory-limit bounds everything that
 * requests take beside the scenes. Each test sends one of the worst requests that the contract
 * allows, and looks at the daemon's peak. */
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LIMIT_MIB = 64,
    SLACK_MIB = 64, /* beside scenes and limit, whatever is sent */
    PILE = 10000
};

static struct test_daemon daemon;
static struct http_client *client;
static double scenes_mib;

/* Boxes that all overlap. */
static void put_pile(int boxes)
{
    enum { BATCH = 1000 };
    static char body[BATCH * 80 + 64];
    for (int begin = 0; begin < boxes; begin += BATCH) {
        int length = sprintf(body, "{\"time\":0,\"put\":{");
        for (int i = begin; i < begin + BATCH && i < boxes; i++)
            length +=
                sprintf(body + length, "%s\"b%d\":{\"center\":[%g,0,0],\"half_extents\":[1,1,1]}",
                        i > begin ? "," : "", i, i / (double)boxes);
        (void)sprintf(body + length, "}}");
        expect(client, "POST", "/v1/scenes/pile/commit", body, 200, NULL);
    }
    scenes_mib = daemon_memory_mib(&daemon, "VmHWM");
}

static void start(void)
{
    daemon_start(&daemon, (const char *[]){"--memory-limit", test_text("%dMiB", LIMIT_MIB),
                                           "--request-timeout",
                                           test_text("%.0f", test_timeout(5) * 1000), NULL});
    client = http_open(daemon.url);
}

static void stop(void)
{
    expect(client, "GET", "/healthz", NULL, 200, NULL);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* What was asked since put_pile stayed within the bound. */
static void expect_bound(const char *what)
{
    const double beside = daemon_memory_mib(&daemon, "VmHWM") - scenes_mib;
    printf("%s: %.1f MiB beside the scenes at most\n", what, beside);
    ck_assert_msg(beside <= LIMIT_MIB + SLACK_MIB || !daemon_memory_tells(&daemon),
                  "%s takes %.1f MiB; %d MiB are allowed", what, beside, LIMIT_MIB + SLACK_MIB);
}

/* Sends a body of this head, `count` times the item and this tail. The answer is 200, 413, 422 or
 * 503. */
static void send_many(const char *path, const char *type, const char *head, size_t head_length,
                      const char *item, size_t count, const char *tail)
{
    const size_t item_length = strlen(item), tail_length = strlen(tail);
    char *body = malloc(head_length + item_length * count + tail_length + 1);
    ck_assert_ptr_nonnull(body);
    memcpy(body, head, head_length);
    char *at = body + head_length;
    for (size_t i = 0; i < count; i++, at += item_length)
        memcpy(at, item, item_length + 1);
    memcpy(at, tail, tail_length + 1);
    struct http_answer answer = {0};
    http_send_bytes(client, "POST", path, (const char *[]){type, NULL}, body,
                    head_length + item_length * count + tail_length, &answer);
    ck_assert_msg(answer.status == 200 || answer.status == 413 || answer.status == 422 ||
                      answer.status == 503,
                  "%ld: %.300s", answer.status, answer.body);
    ck_assert(answer.status != 503 || http_header(&answer, "Retry-After") != NULL);
    http_answer_fini(&answer);
    free(body);
}

static const char json[] = "Content-Type: application/json",
                  cbor[] = "Content-Type: application/cbor";

START_TEST(twenty_million_boxes_found)
{
    static const char head[] = "{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":5}}";
    put_pile(PILE);
    send_many("/v1/scenes/pile/query/overlap", json, head, sizeof head - 1,
              ",{\"sphere\":{\"center\":[0,0,0],\"radius\":5}}", 1999, "]}");
    expect_bound("2,000 shapes that find 10,000 boxes each");
}
END_TEST

START_TEST(five_million_hits_of_rays)
{
    static const char head[] = "{\"mode\":\"all\",\"rays\":[{\"from\":[-9,0,0],\"to\":[9,0,0]}";
    put_pile(PILE);
    send_many("/v1/scenes/pile/query/ray", json, head, sizeof head - 1,
              ",{\"from\":[-9,0,0],\"to\":[9,0,0]}", 499, "]}");
    expect_bound("500 rays through 10,000 boxes");
}
END_TEST

START_TEST(items_of_a_byte_each)
{
    /* {"by":"id","pairs":[1,2,1,2,…]} of 16 Mi numbers, one byte each */
    static const char head[] = "\xa2\x62"
                               "by\x62id\x65pairs\x9a\x01\x00\x00\x00";
    put_pile(2);
    send_many("/v1/scenes/pile/query/pairs", cbor, head, sizeof head - 1, "\x01\x02", 8 << 20, "");
    expect_bound("pairs in a body of 16 MiB");
}
END_TEST

START_TEST(a_commit_of_empty_queries)
{
    static const char head[] = "{\"queries\":[{\"kind\":\"point\",\"points\":[]}";
    put_pile(2);
    send_many("/v1/scenes/pile/commit", json, head, sizeof head - 1,
              ",{\"kind\":\"point\",\"points\":[]}", 99999, "]}");
    expect_bound("a commit of 100,000 empty queries");
}
END_TEST

/* Waits for the first event, or the end of the stream. */
static void wait_for_event(int fd)
{
    static char text[4096];
    size_t length = 0;
    while (length < sizeof text - 1 && strstr(text, "event: ") == NULL) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ck_assert_int_gt(poll(&ready, 1, (int)(test_timeout(30) * 1000)), 0);
        const ssize_t got = recv(fd, text + length, sizeof text - 1 - length, 0);
        if (got <= 0)
            return;
        length += (size_t)got;
        text[length] = '\0';
    }
}

START_TEST(an_event_of_four_million_pairs)
{
    put_pile(3000);
    const int fd = daemon_dial(&daemon);
    ck_assert_int_ge(fd, 0);
    dial_send(fd,
              "GET /v1/scenes/pile/events?topics=collisions HTTP/1.1\r\nHost: localhost\r\n\r\n");
    wait_for_event(fd);
    expect_bound("the first event about 3,000 boxes in one place");
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounds");
    TCase *tc = tcase_create("bounds");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, twenty_million_boxes_found);
    tcase_add_test(tc, five_million_hits_of_rays);
    tcase_add_test(tc, items_of_a_byte_each);
    tcase_add_test(tc, a_commit_of_empty_queries);
    tcase_add_test(tc, an_event_of_four_million_pairs);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
