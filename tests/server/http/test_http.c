/* The service as a whole: its listeners and its end. */
#include "tests/server/http_service.h"

static srv_listener further[16];

/* Answers with the number of further listeners that were taken. */
static void do_listen(struct srv_request *request)
{
    char error[256];
    srv_address address;
    int taken = 0;
    ck_assert(srv_address_read("127.0.0.1:0", &address, error, sizeof error));
    for (size_t i = 0; i < 16; i++) {
        ck_assert_msg(srv_listener_open(&address, &further[i], error, sizeof error), "%s", error);
        taken += srv_http_listen(http, &further[i], false);
    }
    char text[32];
    const int length = snprintf(text, sizeof text, "taken: %d", taken);
    wire_buf_append(&request->reply, text, (size_t)length);
    srv_reply(request, 200, "text/plain");
}

START_TEST(a_seventeenth_listener_is_refused)
{
    const struct exchange more = {"GET /listen HTTP/1.1\r\n" H "\r\n", 200, false, "taken: 15", 0};
    check(&more, 1);
    const srv_listener first = listener;
    for (size_t i = 0; i < 15; i++) { /* each of them is served */
        const struct exchange hello = {"GET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0};
        listener = further[i];
        check(&hello, 1);
    }
    listener = first;
    teardown();
    for (size_t i = 0; i < 16; i++)
        srv_listener_close(&further[i]);
}
END_TEST

static void do_cut(struct srv_request *request)
{
    srv_http_cut(http);
    srv_reply_empty(request, 204);
}

static void setup_more(void)
{
    static const srv_route more[] = {{SRV_GET, "/cut", do_cut, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/listen", do_listen, 0, 0, SRV_OPEN}};
    start_with(64, 8u << 20, more, 2, NULL);
}

static void setup_short_more(void)
{
    times_out = true;
    setup_more();
}

START_TEST(a_cut_cancels_all_work_and_ends_all_connections)
{
    char heard[1024];
    const int idle = dial(), asleep = dial(), s = dial();
    say(asleep, "GET /sleep HTTP/1.1\r\n" H "\r\n");
    await_sleepers(1);
    ck_assert_int_eq(atomic_load(&cancelled_jobs), 0);
    say(s, "GET /cut HTTP/1.1\r\n" H "\r\n");
    ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert(hear(idle, heard, sizeof heard, PATIENCE_MS));
    ck_assert(hear(asleep, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(atomic_load(&cancelled_jobs), 1);
    ck_assert_int_eq(atomic_load(&late_jobs), 0);
    close(idle);
    close(asleep);
    close(s);
}
END_TEST

START_TEST(a_request_that_holds_the_end_back_is_answered)
{
    char heard[1024];
    const int asleep = dial(), s = dial();
    const double start = now_ms();
    say(asleep, "GET /sleep HTTP/1.1\r\n" H "\r\n");
    await_sleepers(1);
    say(s, "GET /stop HTTP/1.1\r\n" H "\r\n");
    ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert(hear(asleep, heard, sizeof heard, 5 * TIMEOUT_MS)); /* 503 when its time is over */
    ck_assert_int_eq(status_of(heard), 503);
    ck_assert(now_ms() - start > TIMEOUT_MS * 0.9);
    close(asleep);
    close(s);
    finish();
}
END_TEST

static void nothing(void) {}

static void add_ending(Suite *suite, const char *name, void (*begin)(void), const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, begin, nothing);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, test);
    suite_add_tcase(suite, tc);
}

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *tc = http_case(suite, setup_more);
    tcase_add_test(tc, a_cut_cancels_all_work_and_ends_all_connections);
    add_ending(suite, "listeners", setup_more, a_seventeenth_listener_is_refused);
    add_ending(suite, "drain", setup_short_more, a_request_that_holds_the_end_back_is_answered);
    return test_main(suite);
}
