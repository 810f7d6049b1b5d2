/* Requests that libmicrohttpd refuses by itself. */
#include "server/http/malformed.h"
#include "tests/server/http_service.h"

/* What libmicrohttpd refuses by itself: no problem document, but a status and a closed
 * connection. */
START_TEST(what_cannot_be_parsed_ends_the_connection)
{
    static const char *const garbage[] = {
        "GARBAGE\r\n\r\n",
        "GET /hello HTTP/9.9\r\n" H "\r\n",
        "GET /hello HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: -1\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 5x\r\n\r\nabcde",
        "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 99999999999999999999999999\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
        "POST /count HTTP/1.1\r\n" H TYPE
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        char heard[4096];
        const int s = dial();
        say(s, garbage[i]);
        ck_assert_msg(hear(s, heard, sizeof heard, PATIENCE_MS), "%s is still open: %s", garbage[i],
                      heard);
        const int status = status_of(heard);
        ck_assert_msg(status == 0 || (status >= 400 && status < 600), "%s: %s", garbage[i], heard);
        close(s);
    }
}
END_TEST

START_TEST(a_length_that_is_no_number_has_one_answer)
{
    static const char *const lengths[] = {"-1", "5x", "x", "0x5", "1e3", "+1"};
    size_t answered = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char request[256], heard[4096];
        (void)snprintf(request, sizeof request,
                       "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: %s\r\n\r\n", lengths[i]);
        const int idle = dial(), s = dial(); /* an older connection must not get the answer */
        say(s, request);
        ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS));
        ck_assert_msg(status_of(heard) == 400 && count_of(heard, "HTTP/1.1 ") == 1 &&
                          count_of(heard, "Content-Length: ") == 1 &&
                          count_of(heard, "X-Content-Type-Options: nosniff\r\n") == 1 &&
                          count_of(heard, "Content-Type: application/problem+json\r\n") == 1,
                      "%s: %s", lengths[i], heard);
        answered++;
        close(s);
        say(idle, "GET /hello HTTP/1.1\r\n" H "\r\n");
        (void)hear(idle, heard, sizeof heard, 20);
        ck_assert_int_eq(status_of(heard), 200);
        close(idle);
    }
    ck_assert_uint_ge(answered, 6);
}
END_TEST

/* The messages that it writes most often, of answers to clients that have gone, cost no search. */
START_TEST(only_lines_about_a_length_tell_of_such_a_request)
{
    static const char *const told[] = {
        "Failed to parse 'Content-Length' header. Closing connection.\n",
        "Too large value of 'Content-Length' header. Closing connection.\n"};
    static const char *const others[] = {"Failed to push the data from buffers to the network.",
                                         "Socket has been disconnected when reading request.\n",
                                         "Error processing request. Closing connection.\n", ""};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        ck_assert(srv_malformed_is_told(told[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(!srv_malformed_is_told(others[i]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("malformed");
    TCase *tc = http_case(suite, setup);
    tcase_add_test(tc, what_cannot_be_parsed_ends_the_connection);
    tcase_add_test(tc, a_length_that_is_no_number_has_one_answer);
    tcase_add_test(tc, only_lines_about_a_length_tell_of_such_a_request);
    return test_main(suite);
}
