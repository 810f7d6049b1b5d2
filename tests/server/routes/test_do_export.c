/* Exports and imports over HTTP. */
#include "tests/server/service.h"

#include <string.h>

static void setup(void)
{
    service_start((const char *[]){"--history-max", "800", "--history-commits-max", "70", NULL});
}

#define HEADER(span, commits, time)                                                         \
    "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":" span \
    ",\"commits\":" commits "},\"time\":" time "}\n"

/* Imports a scene without boxes, and returns the answer. */
__attribute__((format(printf, 2, 3))) static int lines(const char *path, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int answer =
        ask_v("Content-Type: application/x-ndjson\r\n", "POST", path, format, values);
    va_end(values);
    return answer;
}

static const char *import(const char *header)
{
    ck_assert_int_eq(lines("/v1/scenes/s/import", "%s", header), 200);
    return heard;
}

START_TEST(a_backup_goes_back_into_its_scene)
{
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":%d,\"put\":{\"a\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}}}", 1000),
        200);
    ck_assert_ptr_nonnull(strstr(import(HEADER("500", "64", "2000")), "\"time\":2000,"));
    ck_assert_ptr_nonnull(strstr(import(HEADER("500", "64", "1000")), "\"time\":2000,"));
    ck_assert_ptr_nonnull(strstr(heard, "\"revision\":3,"));
}
END_TEST

START_TEST(the_history_of_an_import_is_cut_to_the_maximum)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "%s", "{}"), 201);
    ck_assert_ptr_nonnull(
        strstr(import(HEADER("1e9", "64", "1")), "\"history\":{\"span\":800,\"commits\":64}"));
    ck_assert_ptr_nonnull(
        strstr(import(HEADER("7", "4294967295", "1")), "\"history\":{\"span\":7,\"commits\":70}"));
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "%s", "{\"history\":{\"span\":801}}"), 422);
    ck_assert_ptr_nonnull(
        strstr(heard, "\"detail\":\"found 801; 0 to 800, as --history-max says\""));
    ck_assert_ptr_nonnull(strstr(heard, "\"pointer\":\"/history/span\""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("do_export");
    TCase *tc = tcase_create("do_export");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_backup_goes_back_into_its_scene);
    tcase_add_test(tc, the_history_of_an_import_is_cut_to_the_maximum);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
