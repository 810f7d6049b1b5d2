/* The answers that handlers give, as a client sees them. */
#include "server/http/exchange.h"
#include "tests/server/http_service.h"

static void do_tagged(struct srv_request *request)
{
    wire_buf_append(&request->reply, "tagged", 6);
    request->has_etag = true;
    request->etag = request->target.param_count == 0 ? 0 : UINT64_MAX;
    request->epoch = request->target.param_count == 0 ? 0xabc : UINT64_MAX;
    srv_reply(request, 201, "text/plain");
}

static void do_empty(struct srv_request *request) { srv_reply_empty(request, 204); }

static void do_problem(struct srv_request *request)
{
    static const int statuses[] = {401, 405, 503};
    wire_buf_append(&request->reply, "forgotten", 9);
    request->has_etag = true;
    wire_problem problem = wire_problem_http(statuses[request->target.param_count], "a sentence");
    problem.allow = problem.status == 405 ? "GET" : NULL;
    problem.retry_after = problem.status == 503 ? 7 : 0;
    srv_reply_problem(request, &problem);
}

static void do_fields(struct srv_request *request)
{
    static const char *const fields[] = {"X-One", "1", "X-Two", "2", NULL};
    srv_reply_constant_with(request, 200, "text/plain", obb_str_of("constant"), fields);
}

/* More bytes than --memory-limit has. */
static void do_huge(struct srv_request *request)
{
    ck_assert_ptr_null(wire_buf_room(&request->reply, 9u << 20));
    srv_reply(request, 200, "text/plain");
}

/* Each half of a block of the answer has its own letter. */
static void do_long(struct srv_request *request)
{
    static const size_t size = 1000000;
    char *room = wire_buf_room(&request->reply, size);
    ck_assert_ptr_nonnull(room);
    for (size_t i = 0; i < size; i++)
        room[i] = (char)('a' + i / 65536 % 26);
    wire_buf_added(&request->reply, size);
    ck_assert_uint_ge(obb_budget_used(&budget), size - SRV_OWN_BUFFER);
    ck_assert_uint_le(obb_budget_used(&budget), 2 * size);
    srv_reply(request, 200, "text/plain");
}

/* How many bytes of bodies were sent so far. */
static void do_sent(struct srv_request *request)
{
    char text[32];
    const int length =
        snprintf(text, sizeof text, "sent: %llu", (unsigned long long)metrics.sent_bytes);
    wire_buf_append(&request->reply, text, (size_t)length);
    srv_reply(request, 200, "text/plain");
}

static void setup_answers(void)
{
    static const srv_route more[] = {{SRV_GET, "/tagged", do_tagged, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/empty", do_empty, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/problem", do_problem, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/fields", do_fields, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/huge", do_huge, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/long", do_long, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/sent", do_sent, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/read", do_hello, 0, 0, SRV_READ},
                                     {SRV_PUT, "/read", do_hello, 0, 0, SRV_WRITE}};
    start_with(64, 8u << 20, more, sizeof more / sizeof *more, "https://page.example");
}

START_TEST(answers_have_the_fields_that_belong_to_them)
{
    static const struct exchange answers[] = {
        {"GET /tagged HTTP/1.1\r\n" H "\r\n", 201, false, "ETag: \"0.0000000000000abc\"\r\n", 0},
        {"GET /tagged?all HTTP/1.1\r\n" H "\r\n", 201, false,
         "ETag: \"18446744073709551615.ffffffffffffffff\"\r\n", 0},
        {"GET /tagged HTTP/1.1\r\n" H "\r\n", 201, false, "Obbd-Epoch: 0000000000000abc\r\n", 0},
        {"GET /tagged?all HTTP/1.1\r\n" H "\r\n", 201, false, "Obbd-Epoch: ffffffffffffffff\r\n",
         0},
        {"GET /empty HTTP/1.1\r\n" H "\r\n", 204, false, NULL, 0},
        {"GET /problem HTTP/1.1\r\n" H "\r\n", 401, false, "WWW-Authenticate: Bearer\r\n", 0},
        {"GET /problem?1 HTTP/1.1\r\n" H "\r\n", 405, false, "Allow: GET\r\n", 0},
        {"GET /problem?1&2 HTTP/1.1\r\n" H "\r\n", 503, false, "Retry-After: 7\r\n", 0},
        {"GET /problem?1&2 HTTP/1.1\r\n" H "\r\n", 503, false, "\"detail\":\"a sentence\"", 0},
        {"GET /hello HTTP/1.1\r\n" H "X-Request-Id: abc-1\r\n\r\n", 200, false,
         "X-Request-Id: abc-1\r\n", 0},
        {"GET /huge HTTP/1.1\r\n" H "\r\n", 503, false, "memory set aside", 0},
        {"GET /fields HTTP/1.1\r\n" H "\r\n", 200, false, "X-One: 1\r\n", 0},
        {"GET /fields HTTP/1.1\r\n" H "X-Request-Id: b\r\n\r\n", 200, false, "X-Two: 2\r\n", 0},
    };
    check(answers, sizeof answers / sizeof *answers);
    static const char *const hidden[] = {
        "GET /problem HTTP/1.1\r\n" H "\r\n",
        "GET /hello HTTP/1.1\r\n" H "X-Request-Id: a b\r\n\r\n"}; /* not printable as one word */
    for (size_t i = 0; i < 2; i++) {
        char heard[4096];
        const int s = dial();
        say(s, hidden[i]);
        ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
        ck_assert_int_ne(status_of(heard), 0);
        ck_assert_msg(strstr(heard, "ETag") == NULL && strstr(heard, "forgotten") == NULL &&
                          strstr(heard, "X-Request-Id") == NULL,
                      "%s", heard);
        close(s);
    }
}
END_TEST

START_TEST(pages_of_a_known_origin_may_see_answers)
{
#define PAGE  "Origin: https://page.example\r\n"
#define OTHER "Origin: https://other.example\r\n"
    static const struct exchange answers[] = {
        {"GET /read HTTP/1.1\r\n" H PAGE "\r\n", 200, false,
         "Access-Control-Allow-Origin: https://page.example\r\n", 0},
        {"GET /read HTTP/1.1\r\n" H PAGE "\r\n", 200, false, "Vary: Origin\r\n", 0},
        {"GET /read HTTP/1.1\r\n" H OTHER "\r\n", 403, false, "--cors-origin", 0},
        {"GET /nowhere HTTP/1.1\r\n" H PAGE "\r\n", 404, false, "Access-Control-Allow-Origin: ", 0},
        {"OPTIONS /read HTTP/1.1\r\n" H PAGE "Access-Control-Request-Method: PUT\r\n\r\n", 204,
         false, "Access-Control-Allow-Methods: GET, HEAD, PUT, OPTIONS\r\n", 0},
        {"OPTIONS /read HTTP/1.1\r\n" H OTHER "Access-Control-Request-Method: PUT\r\n\r\n", 403,
         false, NULL, 0},
        {"GET /read HTTP/1.1\r\n" H "Origin: http://localhost\r\n\r\n", 200, false, "hello", 0},
    };
    check(answers, sizeof answers / sizeof *answers);
}
END_TEST

START_TEST(long_answers_arrive_whole)
{
    static char heard[2000000];
    for (int round = 0; round < 2; round++) {
        const int s = dial();
        say(s, "GET /long HTTP/1.1\r\n" H "\r\n");
        ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
        ck_assert_int_eq(status_of(heard), 200);
        const char *body = strstr(heard, "\r\n\r\n");
        ck_assert_ptr_nonnull(body);
        body += 4;
        ck_assert_uint_eq(strlen(body), 1000000);
        for (size_t i = 0; i < 1000000; i++)
            ck_assert_int_eq(body[i], 'a' + (int)(i / 65536 % 26));
        close(s);
    }
}
END_TEST

/* Sends the request, and returns the answer in `heard`. */
static const char *answer_to(const char *request)
{
    static char heard[4096];
    const int s = dial();
    say(s, request);
    (void)overhear(s, heard, sizeof heard, PATIENCE_MS);
    ck_assert_int_ne(status_of(heard), 0);
    close(s);
    return heard;
}

START_TEST(the_answer_to_head_has_a_length_and_no_bytes)
{
    static const char *const heads[] = {
        "HEAD /hello HTTP/1.1\r\n" H "\r\n", "HEAD /tagged HTTP/1.1\r\n" H "\r\n",
        "HEAD /long HTTP/1.1\r\n" H "\r\n", "HEAD /problem HTTP/1.1\r\n" H "\r\n",
        "HEAD /nowhere HTTP/1.1\r\n" H "\r\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *heard = answer_to(heads[i]), *body = strstr(heard, "\r\n\r\n");
        ck_assert_msg(body != NULL && body[4] == '\0', "%s", heard);
        ck_assert_msg(strstr(heard, "\r\nContent-Length: 0\r\n") == NULL, "%s", heard);
    }
    ck_assert_ptr_nonnull(strstr(answer_to("GET /sent HTTP/1.1\r\n" H "\r\n"), "\r\n\r\nsent: 0"));
    ck_assert_ptr_nonnull(strstr(answer_to("GET /sent HTTP/1.1\r\n" H "\r\n"), "\r\n\r\nsent: 7"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answer");
    TCase *tc = http_case(suite, setup_answers);
    tcase_add_test(tc, answers_have_the_fields_that_belong_to_them);
    tcase_add_test(tc, pages_of_a_known_origin_may_see_answers);
    tcase_add_test(tc, long_answers_arrive_whole);
    tcase_add_test(tc, the_answer_to_head_has_a_length_and_no_bytes);
    return test_main(suite);
}
