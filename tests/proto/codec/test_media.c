#include "proto/wire.h"
#include "tests/support/test.h"

#include <stdio.h>

START_TEST(content_types_are_recognised)
{
    static const struct {
        const char *value;
        int media; /* -1: not one of ours */
    } cases[] = {
        {"application/json", WIRE_JSON},
        {"application/cbor", WIRE_CBOR},
        {"application/x-ndjson", WIRE_NDJSON},
        {"Application/JSON", WIRE_JSON},
        {"  application/json  ", WIRE_JSON},
        {"application/json; charset=utf-8", WIRE_JSON},
        {"application/json;charset=UTF-8", WIRE_JSON},
        {"application/json ; Charset=\"utf-8\" ", WIRE_JSON},
        {"application/json; charset=utf-8; profile=\"a;b,c\\\"d\"", WIRE_JSON},
        {"application/json;", WIRE_JSON},
        {"application/json; charset=latin1", -1},
        {"application/json; charset=utf-16", -1},
        {"application/json; charset", -1},
        {"application/json; charset=", -1},
        {"application/json; x=\"open", -1},
        {"application/json x", -1},
        {"application/json, application/cbor", -1},
        {"application/problem+json", -1},
        {"application/jsonx", -1},
        {"application/jso", -1},
        {"application", -1},
        {"text/plain", -1},
        {"*/*", -1},
        {"", -1},
        {" ", -1},
        {";", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_media media = WIRE_PROBLEM;
        const bool ours = wire_media_from_content_type(cases[i].value, &media);
        ck_assert_msg((ours ? (int)media : -1) == cases[i].media, "%s: %d %d", cases[i].value, ours,
                      (int)media);
    }
    wire_media media;
    ck_assert(!wire_media_from_content_type(NULL, &media));
    printf("%zu content types\n", sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(accept_chooses_by_weight_then_by_what_is_offered_first)
{
    static const wire_media offered[] = {WIRE_JSON, WIRE_CBOR, WIRE_NDJSON};
    static const struct {
        const char *value;
        int media; /* -1: nothing is acceptable */
    } cases[] = {
        {NULL, WIRE_JSON},
        {"", WIRE_JSON},
        {"  ", WIRE_JSON},
        {"*/*", WIRE_JSON},
        {"application/*", WIRE_JSON},
        {"application/json", WIRE_JSON},
        {"application/cbor", WIRE_CBOR},
        {"APPLICATION/CBOR", WIRE_CBOR},
        {"application/x-ndjson", WIRE_NDJSON},
        {"application/cbor, application/json", WIRE_JSON},
        {"application/cbor, application/json;q=0.9", WIRE_CBOR},
        {"application/json;q=0.5, */*;q=0.4", WIRE_JSON},
        {"application/json;q=0.3, */*;q=0.4", WIRE_CBOR},
        {"*/*;q=0.1, application/x-ndjson;q=0.2", WIRE_NDJSON},
        {"application/json;q=0, application/*", WIRE_CBOR},
        {"application/json;q=0, */*;q=0.001", WIRE_CBOR},
        {"application/json;q=0", -1},
        {"*/*;q=0", -1},
        {"*/*;q=0.0", -1},
        {"text/html", -1},
        {"text/*", -1},
        {"text/html, */*;q=0.8", WIRE_JSON},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", WIRE_JSON},
        {"application/json; version=1; q=0.2, application/cbor;q=0.3", WIRE_CBOR},
        {"application/json;q=\"0.1\", application/cbor;q=0.3", WIRE_CBOR},
        {",, application/cbor ,", WIRE_CBOR},
        {"application/cbor garbage, application/json;q=0.1", WIRE_JSON},
        {"application/cbor;q=\"x, application/json",
         WIRE_JSON}, /* what makes no sense is passed over */
        {"application/json;q=2, application/cbor;q=1", WIRE_JSON},
        {"application", -1},
        {"*", -1},
        {"app*/json", -1},
        {"garbage", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_media media = WIRE_PROBLEM;
        const bool found = wire_media_from_accept(cases[i].value, offered, 3, &media);
        ck_assert_msg((found ? (int)media : -1) == cases[i].media, "%s: %d %d", cases[i].value,
                      found, (int)media);
    }
    static const wire_media lines[] = {WIRE_NDJSON};
    wire_media media;
    ck_assert(!wire_media_from_accept("application/json", lines, 1, &media));
    ck_assert(wire_media_from_accept("*/*", lines, 1, &media));
    printf("%zu values of Accept\n", sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(every_media_has_its_type)
{
    ck_assert_str_eq(wire_media_type(WIRE_JSON), "application/json");
    ck_assert_str_eq(wire_media_type(WIRE_CBOR), "application/cbor");
    ck_assert_str_eq(wire_media_type(WIRE_NDJSON), "application/x-ndjson");
    ck_assert_str_eq(wire_media_type(WIRE_PROBLEM), "application/problem+json");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("media");
    TCase *tc = tcase_create("media");
    tcase_add_test(tc, content_types_are_recognised);
    tcase_add_test(tc, accept_chooses_by_weight_then_by_what_is_offered_first);
    tcase_add_test(tc, every_media_has_its_type);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
