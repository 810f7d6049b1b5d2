/* Requests that are refused by their headers, and requests that are not. */
#include "tests/server/http_service.h"

START_TEST(good_requests_are_answered_and_keep_the_connection)
{
    static const struct exchange good[] = {
        {"GET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "\r\n\r\nhello", 0},
        {"GET /hello HTTP/1.1\nHost: localhost\n\n", 200, false, "hello", 0}, /* RFC 9112, 2.2 */
        {"\r\nGET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0},
        {"HEAD /hello HTTP/1.1\r\n" H "\r\n", 200, false, "Content-Length: 5\r\n\r\n", 0},
        {"GET http://localhost/hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200, false, "hello",
         0},
        {"GET /things/%2e%2e%2f?x=1&y HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: LOCALHOST:81\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: [::1]:81\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: obbd.example\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: 127.9.9.9\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\nHost: 127.9.9.9:81\r\n\r\n", 200, false, "hello", 0},
        {"GET http://localhost/hello HTTP/1.1\r\nHost:\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\n" H "Accept: text/html, application/*\r\n\r\n", 200, false,
         "hello", 0},
        {"GET /hello HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 200, false, "hello", 0},
        {"GET /hello HTTP/1.1\r\n" H "X-Empty:\r\nX-Tab:\ta\tb\r\n\r\n", 200, false, "hello", 0},
        {"POST /count HTTP/1.1\r\n" H
         "Content-Type: application/json; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc",
         200, false, "\r\n\r\n3 294", 0},
        {"POST /count HTTP/1.1\r\n" H
         "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
         "2;x=y\r\nab\r\n1\r\nc\r\n0\r\nX-Trailer: t\r\n\r\n",
         200, false, "\r\n\r\n3 294", 0},
        {"POST /count HTTP/1.1\r\n" H "\r\n", 200, false, "\r\n\r\n0 0", 0},
        /* an empty body is none, whatever is said of it */
        {"POST /count HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, false,
         "\r\n\r\n0 0", 0},
        {"POST /count HTTP/1.1\r\n" H
         "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         200, false, "\r\n\r\n0 0", 0},
        {"GET /hello HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, false,
         "hello", 0},
        {"OPTIONS /hello HTTP/1.1\r\n" H "\r\n", 204, false, "Allow: GET, HEAD, OPTIONS", 0},
        {"OPTIONS * HTTP/1.1\r\n" H "\r\n", 204, false, "Allow: ", 0},
        {"GET /hello HTTP/1.0\r\n\r\n", 200, true, "hello", 0},
        {"GET /hello HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 200, true, "hello", 0},
    };
    check(good, sizeof good / sizeof *good);
}
END_TEST

START_TEST(wrong_requests_are_refused_and_keep_the_connection)
{
    static const struct exchange wrong[] = {
        {"GET /nowhere HTTP/1.1\r\n" H "\r\n", 404, false, "\"status\":404", 0},
        {"GET /hello/ HTTP/1.1\r\n" H "\r\n", 404, false, NULL, 0},
        {"GET / HTTP/1.1\r\n" H "\r\n", 404, false, NULL, 0},
        {"POST /hello HTTP/1.1\r\n" H "\r\n", 405, false, "Allow: GET, HEAD, OPTIONS", 0},
        {"BREW /hello HTTP/1.1\r\n" H "\r\n", 405, false, "Allow: ", 0},
        {"get /hello HTTP/1.1\r\n" H "\r\n", 405, false, NULL, 0},
        {"OPTIONS /nowhere HTTP/1.1\r\n" H "\r\n", 404, false, NULL, 0},
        {"GET * HTTP/1.1\r\n" H "\r\n", 400, false, NULL, 0},
        {"GET hello HTTP/1.1\r\n" H "\r\n", 400, false, NULL, 0},
        {"GET /things/%zz HTTP/1.1\r\n" H "\r\n", 400, false, NULL, 0},
        {"GET /things/a b HTTP/1.1\r\n" H "\r\n", 400, false, NULL, 0},
        {"GET /things/%ff HTTP/1.1\r\n" H "\r\n", 400, false, "UTF-8", 0},
        {"GET /hello HTTP/1.1\r\n\r\n", 400, false, "Host", 0},
        {"GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\nHost: localhost:80x\r\n\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\nHost: 127.9.9.8\r\n\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\nHost: 127.9.9.9.evil.example\r\n\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\nHost:\r\n\r\n", 403, false, "known by that name", 0},
        {"GET /hello HTTP/1.1\r\nHost: :80\r\n\r\n", 403, false, NULL, 0},
        {"GET http://evil.example/hello HTTP/1.1\r\n" H "\r\n", 403, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\n" H "Accept: image/png\r\n\r\n", 406, false, NULL, 0},
        {"GET /hello HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nab", 400, false, "no body", 0},
        {"POST /count HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nab", 415, false, NULL, 0},
        {"POST /count HTTP/1.1\r\n" H "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nab",
         415, false, NULL, 0},
        {"POST /count HTTP/1.1\r\n" H
         "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
         415, false, "text/plain", 0},
        {"GET /hello HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 400,
         false, "no body", 0},
    };
    check(wrong, sizeof wrong / sizeof *wrong);
}
END_TEST

START_TEST(requests_whose_end_is_in_doubt_end_the_connection)
{
#define HIDDEN "a header field is folded, has no name, or holds a NUL"
    static const char nul_in_value[] = "GET /hello HTTP/1.1\r\n" H "X: a\0b\r\nY: c\r\n\r\n";
    static const char nul_in_end[] = "GET /hello HTTP/1.1\r\n" H "X: a\0b\r\n\r\n";
    static const char nul_in_line[] = "GET /hello\0/x HTTP/1.1\r\n" H "\r\n";
    static const struct exchange broken[] = {
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 5\r\nTransfer-Encoding: "
         "chunked\r\n\r\n0\r\n\r\nGET /hello HTTP/1.1\r\n\r\n",
         400, true, "both", 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", 400,
         true, "two Content-Length", 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400,
         true, "two Content-Length", 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400,
         true, NULL, 0},
        {"POST /count HTTP/1.1\r\n" H TYPE
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, true, NULL, 0},
        {"POST /count HTTP/1.0\r\n" TYPE "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, true,
         NULL, 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: -1\r\n\r\n", 400, true, "malformed", 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: +3\r\n\r\nabc", 400, true, "malformed",
         0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: \r\n\r\nabc", 400, true, "malformed",
         0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 5x\r\n\r\nabcde", 400, true,
         "malformed", 0},
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 99999999999999999999999\r\n\r\n", 400,
         true, "malformed", 0},
        {"GET /hello HTTP/1.1\r\n" H "Host: localhost\r\n\r\n", 400, true, "two Host", 0},
        {"GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, true, "token", 0},
        {"GET /hello HTTP/1.1\r\n" H "Content-Length : 5\r\n\r\n", 400, true, "token", 0},
        {"GET /hello HTTP/1.1\r\n" H ": empty\r\n\r\n", 400, true, HIDDEN, 0},
        {"GET /hello HTTP/1.1\r\n" H "X: a\x01z\r\n\r\n", 400, true, "control", 0},
        {"GET /hello HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", 400, true, "control", 0},
        {"GET /hello HTTP/1.1\r\nX: a\r\n b\r\n" H "\r\n", 400, true, HIDDEN, 0},
        {"GET /hello HTTP/1.1\r\n" H "Content-Length: 1\r\n 2\r\n\r\n", 400, true, HIDDEN, 0},
        {nul_in_value, 400, true, HIDDEN, sizeof nul_in_value - 1},
        {nul_in_end, 400, true, HIDDEN, sizeof nul_in_end - 1},
        {nul_in_line, 400, true, "NUL", sizeof nul_in_line - 1},
        /* a body that would not be read */
        {"POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 99999999999999\r\n\r\n", 413, true,
         NULL, 0},
        {"POST /nowhere HTTP/1.1\r\n" H TYPE "Content-Length: 2000000\r\n\r\n", 404, true, NULL, 0},
        {"POST /count HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 20\r\n\r\n", 415,
         true, NULL, 0},
    };
    check(broken, sizeof broken / sizeof *broken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission");
    TCase *tc = http_case(suite, setup);
    tcase_add_test(tc, good_requests_are_answered_and_keep_the_connection);
    tcase_add_test(tc, wrong_requests_are_refused_and_keep_the_connection);
    tcase_add_test(tc, requests_whose_end_is_in_doubt_end_the_connection);
    return test_main(suite);
}
