/* Header fields, given as libmicrohttpd gives them: texts in the buffer into which the request was
 * read. */
#include "server/http/headers.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

static struct obb_arena arena;

static void teardown(void) { obb_arena_fini(&arena); }

/* Takes "Name: value\r\n"… apart and gives each field. The texts stay where they are, in a buffer
 * of the test. */
static srv_headers read_fields(const char *text, bool http_1_1)
{
    static char buffer[4096];
    srv_headers h = {.arena = &arena};
    ck_assert_uint_lt(strlen(text), sizeof buffer);
    memcpy(buffer, text, strlen(text) + 1);
    char *at = buffer;
    while (*at != '\0') {
        char *colon = strchr(at, ':'), *end = strstr(at, "\r\n");
        ck_assert(colon != NULL && end != NULL && colon < end);
        *colon = *end = '\0';
        char *value = colon + 1 + strspn(colon + 1, " ");
        srv_headers_take(&h, at, (size_t)(colon - at), value, (size_t)(end - value));
        at = end + 2;
    }
    srv_headers_finish(&h, http_1_1, (uintptr_t)at + 2); /* the empty line */
    return h;
}

START_TEST(known_fields_are_kept)
{
    const srv_headers h =
        read_fields("host: a\r\nORIGIN: b\r\nContent-Type: c\r\nAuthorization: d\r\n"
                    "X-Request-Id: e\r\nLast-Event-ID: f\r\nContent-Length: 12\r\n"
                    "Access-Control-Request-Method: g\r\nExpect: h\r\nOther: i\r\n",
                    true);
    ck_assert_ptr_null(h.fault);
    ck_assert_str_eq(h.host, "a");
    ck_assert_str_eq(h.origin, "b");
    ck_assert_str_eq(h.content_type, "c");
    ck_assert_str_eq(h.authorization, "d");
    ck_assert_str_eq(h.request_id, "e");
    ck_assert_str_eq(h.last_event_id, "f");
    ck_assert_str_eq(h.request_method, "g");
    ck_assert(h.has_length && h.expects && !h.chunked && !h.no_memory);
    ck_assert_uint_eq(h.length, 12);
}
END_TEST

START_TEST(blanks_at_the_end_do_not_belong_to_a_value)
{
    const srv_headers h = read_fields("Host: a \r\nX-Request-Id: b\t \r\nLast-Event-ID: c  \r\n"
                                      "Obbd-If-Epoch: d e\t\r\nAccept:  \r\n",
                                      true);
    ck_assert_ptr_null(h.fault);
    ck_assert_str_eq(h.host, "a");
    ck_assert_str_eq(h.request_id, "b");
    ck_assert_str_eq(h.last_event_id, "c");
    ck_assert_str_eq(h.if_epoch, "d e");
    ck_assert_str_eq(h.accept, "");
    /* libmicrohttpd reads the length of the body itself */
    ck_assert_ptr_nonnull(read_fields("Content-Length: 1 \r\n", true).fault);
}
END_TEST

START_TEST(lists_of_several_lines_are_joined)
{
    const srv_headers h = read_fields("Accept: a\r\nIf-Match: \"1\"\r\nAccept: b\r\nIf-None-Match: "
                                      "*\r\nIf-Match: \"2\"\r\nAccept: c\r\n",
                                      true);
    ck_assert_ptr_null(h.fault);
    ck_assert_str_eq(h.accept, "a, b, c");
    ck_assert_str_eq(h.if_match, "\"1\", \"2\"");
    ck_assert_str_eq(h.if_none_match, "*");
}
END_TEST

START_TEST(fields_that_two_readers_would_read_differently_are_faults)
{
    static const struct {
        const char *text, *fault;
        bool http_1_0;
    } cases[] = {
        {"Host: a\r\nHost: a\r\n", "two Host", false},
        {"Origin: a\r\nOrigin: a\r\n", "two Origin", false},
        {"Content-Type: a\r\nContent-Type: a\r\n", "two Content-Type", false},
        {"Authorization: a\r\nAuthorization: a\r\n", "two Authorization", false},
        {"Obbd-If-Epoch: a\r\nObbd-If-Epoch: a\r\n", "two Obbd-If-Epoch", false},
        {"Content-Length: 1\r\nContent-Length: 1\r\n", "two Content-Length", false},
        {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "both", false},
        {"Content-Length: x\r\n", "not a number", false},
        {"Content-Length: \r\n", "not a number", false},
        {"Content-Length: +1\r\n", "not a number", false},
        {"Content-Length: 99999999999999999999\r\n", "not a number", false},
        {"Transfer-Encoding: gzip\r\n", "chunked", false},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "two Transfer", false},
        {"Transfer-Encoding: chunked\r\n", "HTTP/1.0", true},
        {"a b: c\r\n", "not a token", false},
        {": c\r\n", "not a token", false},
        {"a\x80: c\r\n", "not a token", false},
        {"a: b\x01\r\n", "control", false},
        {"a: b\x7f\r\n", "control", false},
    };
    size_t faults = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const srv_headers h = read_fields(cases[i].text, !cases[i].http_1_0);
        ck_assert_msg(h.fault != NULL && strstr(h.fault, cases[i].fault) != NULL, "%s: %s",
                      cases[i].text, h.fault != NULL ? h.fault : "good");
        faults++;
    }
    ck_assert_uint_ge(faults, 18);
    ck_assert_ptr_null(read_fields("a: b\tc\r\nTransfer-Encoding: CHUNKED\r\n", true).fault);
    ck_assert_uint_eq(read_fields("Content-Length: 9999999999999999999\r\n", true).length,
                      UINT64_C(9999999999999999999));
}
END_TEST

/* The places of the texts show what libmicrohttpd does not say. */
START_TEST(bytes_between_two_fields_are_a_fault)
{
    static const char text[] = "a: b\r\n?c: d\r\n\r\n";
    srv_headers h = {.arena = &arena};
    srv_headers_take(&h, text, 1, text + 3, 1);
    ck_assert_ptr_null(h.fault);
    srv_headers_take(&h, text + 7, 1, text + 10, 1); /* a byte is hidden before it */
    ck_assert_ptr_nonnull(h.fault);

    h = (srv_headers){.arena = &arena};
    srv_headers_take(&h, text, 1, text + 3, 1);
    srv_headers_finish(&h, true, (uintptr_t)text + 8); /* four bytes: two ends of lines */
    ck_assert_ptr_null(h.fault);
    h = (srv_headers){.arena = &arena};
    srv_headers_take(&h, text, 1, text + 3, 1);
    srv_headers_finish(&h, true, (uintptr_t)text + 9);
    ck_assert_ptr_nonnull(h.fault);

    h = (srv_headers){.arena = &arena};
    srv_headers_take(&h, text + 7, 1, text + 3, 1); /* the value lies before the name */
    ck_assert_ptr_nonnull(h.fault);
}
END_TEST

START_TEST(hosts_are_known_by_their_names)
{
    static const char *const names[] = {"obbd.example", "10.0.0.1"};
    static const struct {
        const char *host;
        bool known;
    } cases[] = {{"localhost", true},
                 {"LocalHost:80", true},
                 {"127.0.0.1:1", true},
                 {"[::1]", true},
                 {"[::1]:80", true},
                 {"obbd.example", true},
                 {"OBBD.EXAMPLE:443", true},
                 {"10.0.0.1", true},
                 {"localhost:", true},
                 {"", false},
                 {":80", false},
                 {"localhost:80x", false},
                 {"localhost.evil", false},
                 {"xlocalhost", false},
                 {"obbd.example.", false},
                 {"127.0.0.2", false},
                 {"::1", false},
                 {"10.0.0.11", false}};
    size_t known = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(srv_host_is_known(obb_str_of(cases[i].host), names, 2) == cases[i].known,
                      "%s", cases[i].host);
        known += cases[i].known;
    }
    ck_assert_uint_eq(known, 9);
    ck_assert(!srv_host_is_known(obb_str_of("obbd.example"), NULL, 0));
}
END_TEST

START_TEST(want_of_memory_is_told)
{
    static const char *const texts[] = {"Accept: a\r\nAccept: b\r\n", "Host: a \r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fault_arm(1);
        const srv_headers h = read_fields(texts[i], true);
        fault_arm(0);
        ck_assert(h.no_memory);
        ck_assert_ptr_null(h.fault);
        obb_arena_reset(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("headers");
    TCase *tc = tcase_create("headers");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, known_fields_are_kept);
    tcase_add_test(tc, blanks_at_the_end_do_not_belong_to_a_value);
    tcase_add_test(tc, lists_of_several_lines_are_joined);
    tcase_add_test(tc, fields_that_two_readers_would_read_differently_are_faults);
    tcase_add_test(tc, bytes_between_two_fields_are_a_fault);
    tcase_add_test(tc, hosts_are_known_by_their_names);
    tcase_add_test(tc, want_of_memory_is_told);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
