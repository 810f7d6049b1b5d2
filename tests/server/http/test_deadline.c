/* Clients and work that take too long. */
#include "tests/server/http_service.h"

/* Says `text`, then a byte every 50 ms; ms until the other side has closed. */
static double drip(const char *text)
{
    char heard[1024];
    const double start = now_ms(); /* before the service can know of it */
    const int s = dial();
    say(s, text);
    while (!overhear(s, heard, sizeof heard, 50) && now_ms() - start < 20 * TIMEOUT_MS)
        say(s, "a");
    close(s);
    return now_ms() - start;
}

START_TEST(clients_that_drip_are_cut)
{
    static const char *const texts[] = {
        "",
        "G",
        "GET /hello HTTP/1.1\r\nX-Slow: ",
        "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 1000\r\n\r\n",
        "POST /nowhere HTTP/1.1\r\n" H TYPE "Content-Length: 1000\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE "Transfer-Encoding: chunked\r\n\r\nfff\r\n",
        "GET /hello HTTP/1.1\r\n" H "\r\nGET /hello HTTP/1.1\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const double ms = drip(texts[i]);
        ck_assert_msg(ms > TIMEOUT_MS * 0.9 && ms < TIMEOUT_MS * 2.5 * test_timeout(1), "%s: %g ms",
                      texts[i], ms);
    }
}
END_TEST

START_TEST(silent_connections_are_closed)
{
    char heard[1024];
    const double start = now_ms();
    const int s = dial();
    ck_assert(hear(s, heard, sizeof heard, 20 * TIMEOUT_MS));
    ck_assert_str_eq(heard, "");
    ck_assert(now_ms() - start > TIMEOUT_MS * 0.9);
    close(s);
}
END_TEST

START_TEST(work_that_takes_too_long_is_given_up)
{
    char heard[1024];
    const int s = dial();
    const double start = now_ms();
    say(s, "GET /sleep HTTP/1.1\r\n" H "\r\n");
    (void)hear(s, heard, sizeof heard, 2 * TIMEOUT_MS);
    ck_assert_int_eq(status_of(heard), 503);
    ck_assert(now_ms() - start > TIMEOUT_MS * 0.9);
    ck_assert_int_eq(atomic_load(&late_jobs), 1);
    close(s);
}
END_TEST

START_TEST(clients_that_do_not_read_are_cut)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const int small = 4096;
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ck_assert_int_eq(connect(s, &listener.address.as.any, listener.address.length), 0);
    say(s, "GET /hello HTTP/1.1\r\n" H "\r\n");
    say(s, "GET /large HTTP/1.1\r\n" H "\r\n");
    wait_ms(50);
    const struct exchange other = {"GET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0};
    check(&other, 1); /* others are served meanwhile */
    /* At the least pace 8 MB may take 512 s, but somebody who takes nothing at all does not have
     * them. */
    const double start = now_ms();
    char bytes[65536] = "";
    while (strstr(bytes, "cuts: 1") == NULL && now_ms() - start < 60 * TIMEOUT_MS) {
        const int asks = dial();
        say(asks, "GET /cuts HTTP/1.1\r\n" H "\r\n");
        (void)hear(asks, bytes, sizeof bytes, 30);
        close(asks);
    }
    ck_assert_msg(strstr(bytes, "cuts: 1") != NULL, "%s", bytes);
    size_t taken = 0;
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;)
        taken += (size_t)n;
    printf("cut after %.0f ms, with %zu bytes on their way\n", now_ms() - start, taken);
    ck_assert_uint_lt(taken, 8000000);
    close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("deadline");
    TCase *tc = http_case(suite, setup_short);
    tcase_add_test(tc, clients_that_drip_are_cut);
    tcase_add_test(tc, silent_connections_are_closed);
    tcase_add_test(tc, work_that_takes_too_long_is_given_up);
    tcase_add_test(tc, clients_that_do_not_read_are_cut);
    return test_main(suite);
}
