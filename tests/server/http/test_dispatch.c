/* Requests in whatever pieces they arrive, and however large their line and headers are. */
#include "tests/server/http_service.h"
#include "tests/support/fault.h"

START_TEST(thousands_of_parameters_and_huge_headers_have_an_answer)
{
    static char request[200000], heard[8192];
    size_t length = (size_t)snprintf(request, sizeof request, "GET /hello?");
    for (int i = 0; i < 20000; i++)
        length += (size_t)snprintf(request + length, sizeof request - length, "a&b=%d&", i % 10);
    (void)snprintf(request + length, sizeof request - length, " HTTP/1.1\r\n" H "\r\n");
    int s = dial();
    say(s, request);
    ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS)); /* longer than a request line may be */
    ck_assert_int_eq(status_of(heard), 414);
    close(s);

    request[15000] = '\0';
    (void)snprintf(request + 15000, sizeof request - 15000, " HTTP/1.1\r\n" H "\r\n");
    s = dial();
    say(s, request); /* 3,000 parameters */
    ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 200);
    close(s);

    length = (size_t)snprintf(request, sizeof request, "GET /hello HTTP/1.1\r\n" H);
    for (int i = 0; length < 100000; i++)
        length += (size_t)snprintf(request + length, sizeof request - length, "X-%d: %d\r\n", i, i);
    (void)snprintf(request + length, sizeof request - length, "\r\n");
    s = dial();
    say(s, request);
    ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 431);
    close(s);

    length = (size_t)snprintf(request, sizeof request, "GET /hello HTTP/1.1\r\n" H);
    for (int i = 0; length < 9500; i++)
        length +=
            (size_t)snprintf(request + length, sizeof request - length, "X-%d: %0100d\r\n", i, i);
    (void)snprintf(request + length, sizeof request - length, "\r\n");
    s = dial();
    say(s, request);
    ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 200);
    close(s);
}
END_TEST

START_TEST(requests_in_one_packet_or_byte_by_byte_are_the_same)
{
    static const char one[] = "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 3\r\n\r\nabc";
    char pipeline[4096] = "", heard[8192];
    for (size_t i = 0; i < 20; i++)
        memcpy(pipeline + i * (sizeof one - 1), one, sizeof one);
    int s = dial();
    say(s, pipeline);
    ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_uint_eq(count_of(heard, "\r\n\r\n3 294"), 20);
    close(s);
    s = dial();
    for (const char *byte = one; *byte != '\0'; byte++)
        say_bytes(s, byte, 1);
    ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 200);
    close(s);
}
END_TEST

/* The end of what the client says may go unnoticed when it came with the request (libmicrohttpd
 * waits for an edge that has passed), until the deadline. */
START_TEST(who_has_said_all_and_closes_its_half_hears_the_answer)
{
    char heard[8192];
    const int s = dial();
    say(s, "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 3\r\n\r\nabc");
    shutdown(s, SHUT_WR);
    ck_assert(hear(s, heard, sizeof heard, 3 * TIMEOUT_MS));
    ck_assert_ptr_nonnull(strstr(heard, "3 294"));
    close(s);
}
END_TEST

/* Whichever allocation fails while a request is served, the next one is served as ever. */
START_TEST(every_failing_allocation_costs_one_request)
{
    static const char *const requests[] = {
        "GET /things/a%20b?c=d HTTP/1.1\r\n" H "Accept: a/b\r\nAccept: */*\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 3\r\n\r\nabc",
        "GET /nowhere HTTP/1.1\r\n" H "\r\n"};
    size_t failures = 0;
    for (size_t r = 0; r < 3; r++)
        for (size_t n = 1; n < 40; n++) {
            char heard[4096];
            const int s = dial();
            fault_arm(n);
            say(s, requests[r]);
            (void)hear(s, heard, sizeof heard, 20);
            const bool reached = fault_seen() >= n;
            fault_arm(0);
            const int status = status_of(heard);
            ck_assert_msg(status == 0 || status == 503 || status == (r == 2 ? 404 : 200), "%s",
                          heard);
            failures += status != (r == 2 ? 404 : 200);
            close(s);
            if (!reached)
                break;
        }
    ck_assert_uint_ge(failures, 3);
    printf("%zu requests lost\n", failures);
    const struct exchange after = {"GET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0};
    check(&after, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch");
    TCase *tc = http_case(suite, setup);
    tcase_add_test(tc, thousands_of_parameters_and_huge_headers_have_an_answer);
    tcase_add_test(tc, requests_in_one_packet_or_byte_by_byte_are_the_same);
    TCase *late = http_case(suite, setup_short);
    tcase_add_test(late, who_has_said_all_and_closes_its_half_hears_the_answer);
    tcase_add_test(tc, every_failing_allocation_costs_one_request);
    return test_main(suite);
}
