#include "server/http/route.h"
#include "server/routes/table.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

static struct obb_arena arena;
static srv_target target;

static void setup(void) { obb_arena_init(&arena); }
static void teardown(void) { obb_arena_fini(&arena); }

static const char *take(const char *text)
{
    bool no_memory;
    const char *fault = srv_target_read(obb_str_of(text), &arena, &target, &no_memory);
    ck_assert(!no_memory);
    return fault;
}

static void expect_str(obb_str got, const char *expected)
{
    ck_assert_msg(obb_str_equal(got, obb_str_of(expected)), "%.*s instead of %s", (int)got.length,
                  got.bytes, expected);
}

START_TEST(paths_are_split_before_they_are_decoded)
{
    ck_assert_ptr_null(take("/"));
    ck_assert_uint_eq(target.part_count, 0);
    ck_assert_ptr_null(take("/v1/scenes/a%2Fb/boxes/%E2%98%83%20%25"));
    ck_assert_uint_eq(target.part_count, 5);
    expect_str(target.parts[0], "v1");
    expect_str(target.parts[2], "a/b");
    expect_str(target.parts[4], "\xE2\x98\x83 %");
    ck_assert_ptr_null(take("/a+b/%c3%a9/\xc3\xa9"));
    expect_str(target.parts[0], "a+b"); /* + is a plus in a path */
    expect_str(target.parts[1], "\xc3\xa9");
    expect_str(target.parts[2], "\xc3\xa9");
    ck_assert_ptr_null(take("/a/"));
    ck_assert_uint_eq(target.part_count, 2);
    expect_str(target.parts[1], "");
    ck_assert_ptr_null(take("//a"));
    ck_assert_uint_eq(target.part_count, 2);
    ck_assert_ptr_null(take("/../%2e%2e"));
    expect_str(target.parts[0], "..");
    expect_str(target.parts[1], "..");
    ck_assert_ptr_null(take("/%00"));
    ck_assert_uint_eq(target.parts[0].length, 1);
    ck_assert_ptr_null(take("/1/2/3/4/5/6/7/8/9/10/11"));
    ck_assert_uint_gt(target.part_count, SRV_MAX_PARTS);
}
END_TEST

START_TEST(query_strings_become_parameters_in_order)
{
    ck_assert_ptr_null(take("/p?a=1&b&c=&=d&e=f=g&&h+i=j%26%3d+k"));
    static const char *const expected[][2] = {{"a", "1"}, {"b", ""},    {"c", ""},
                                              {"", "d"},  {"e", "f=g"}, {"h i", "j&= k"}};
    ck_assert_uint_eq(target.param_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < target.param_count; i++) {
        expect_str(target.params[i].key, expected[i][0]);
        expect_str(target.params[i].value, expected[i][1]);
    }
    ck_assert_ptr_null(take("/p?"));
    ck_assert_uint_eq(target.param_count, 0);
    ck_assert_ptr_null(take("/p?a=/b?c"));
    ck_assert_uint_eq(target.part_count, 1);
    expect_str(target.params[0].value, "/b?c");
}
END_TEST

START_TEST(other_forms_of_targets)
{
    ck_assert_ptr_null(take("http://example.org:80/a?b=c"));
    expect_str(target.authority, "example.org:80");
    ck_assert_uint_eq(target.part_count, 1);
    ck_assert_uint_eq(target.param_count, 1);
    ck_assert_ptr_null(take("*"));
    ck_assert(target.asterisk);
}
END_TEST

START_TEST(broken_targets_are_refused)
{
    static const char *const broken[] = {"",
                                         "a",
                                         "a/b",
                                         "?a",
                                         "/%",
                                         "/%1",
                                         "/%zz",
                                         "/%g0",
                                         "/a%",
                                         "/?a=%",
                                         "/?%4",
                                         "/?a=%f",
                                         "/ a",
                                         "/a\tb",
                                         "/a#b",
                                         "/a\x7f",
                                         "/\x01",
                                         "/%ff",
                                         "/%c3",
                                         "/%c0%80",
                                         "/%e0%80%80",
                                         "/%ed%a0%80",
                                         "/%f0%80%80%80",
                                         "/%f4%90%80%80",
                                         "/%f5%80%80%80",
                                         "/%80",
                                         "/%e2%98",
                                         "/\xff",
                                         "/?a=%ff",
                                         "/?%c3=1",
                                         "http://",
                                         "http:///a",
                                         "http://a",
                                         "http://a?b",
                                         "**",
                                         "ftp://a/b"};
    const size_t count = sizeof broken / sizeof *broken;
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(take(broken[i]) != NULL, "\"%s\" was accepted", broken[i]);
    ck_assert_uint_gt(count, 30);
}
END_TEST

/* Whatever the bytes, nothing beyond them is read: each target stands in a block of exactly its
 * size. */
START_TEST(random_targets_do_no_harm)
{
    static const char alphabet[] = "/%?&=+aF0 #\xc3\xa9\xe2\x98\x83.";
    test_rng rng = {.s = 20261121};
    size_t accepted = 0;
    const size_t cases = test_effort(20000);
    for (size_t i = 0; i < cases; i++) {
        const size_t length = test_below(&rng, 24);
        char *text = malloc(length + 1);
        ck_assert_ptr_nonnull(text);
        for (size_t j = 0; j < length; j++)
            text[j] = alphabet[test_below(&rng, sizeof alphabet - 1)];
        if (length > 0 && test_below(&rng, 4) != 0)
            text[0] = '/';
        char *exact = realloc(text, length > 0 ? length : 1);
        bool no_memory;
        accepted += srv_target_read((obb_str){.bytes = exact, .length = length}, &arena, &target,
                                    &no_memory) == NULL;
        free(exact);
        obb_arena_reset(&arena);
    }
    ck_assert_uint_gt(accepted, cases / 50);
    ck_assert_uint_lt(accepted, cases / 2);
}
END_TEST

START_TEST(the_table_finds_what_the_contract_names)
{
    static const struct {
        const char *method, *path, *pattern; /* NULL: none */
    } cases[] = {
        {"GET", "/healthz", "/healthz"},
        {"HEAD", "/healthz", "/healthz"},
        {"GET", "/v1/scenes", "/v1/scenes"},
        {"GET", "/v1/scenes/healthz", "/v1/scenes/{scene}"},
        {"PUT", "/v1/scenes/a", "/v1/scenes/{scene}"},
        {"DELETE", "/v1/scenes/a", "/v1/scenes/{scene}"},
        {"GET", "/v1/scenes/a/boxes", "/v1/scenes/{scene}/boxes"},
        {"PATCH", "/v1/scenes/a/boxes/boxes", "/v1/scenes/{scene}/boxes/{box}"},
        {"POST", "/v1/scenes/a/boxes/b/transform", "/v1/scenes/{scene}/boxes/{box}/transform"},
        {"POST", "/v1/scenes/a/boxes/b/merge", "/v1/scenes/{scene}/boxes/{box}/merge"},
        {"POST", "/v1/scenes/a/commit", "/v1/scenes/{scene}/commit"},
        {"POST", "/v1/scenes/a/query/ray", "/v1/scenes/{scene}/query/{kind}"},
        {"GET", "/v2/scenes", NULL},
        {"GET", "/v1", NULL},
        {"GET", "/v1/scenes/a/boxes/b/c", NULL},
        {"GET", "/V1/scenes", NULL},
        {"GET", "/%76%31/scenes", "/v1/scenes"},
    };
    struct srv_routes *routes;
    ck_assert(srv_routes_create(srv_route_table, srv_route_count, &routes));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *allow;
        ck_assert_ptr_null(take(cases[i].path));
        const srv_route *route =
            srv_routes_find(routes, srv_method_of(cases[i].method), &target, &arena, &allow);
        if (cases[i].pattern == NULL) {
            ck_assert_msg(route == NULL && allow == NULL, "%s", cases[i].path);
        } else {
            ck_assert_msg(route != NULL, "%s %s", cases[i].method, cases[i].path);
            ck_assert_str_eq(route->pattern, cases[i].pattern);
            ck_assert_ptr_eq(&srv_route_table[srv_route_index(routes, route)], route);
        }
    }

    const char *allow;
    ck_assert_ptr_null(take("/v1/scenes/a"));
    ck_assert_ptr_null(srv_routes_find(routes, SRV_POST, &target, &arena, &allow));
    ck_assert_str_eq(allow, "GET, HEAD, PUT, DELETE, OPTIONS");
    ck_assert_ptr_null(take("/v1/scenes/a/commit"));
    ck_assert_ptr_null(srv_routes_find(routes, srv_method_of("BREW"), &target, &arena, &allow));
    ck_assert_str_eq(allow, "POST, OPTIONS");
    srv_routes_destroy(routes);
}
END_TEST

START_TEST(methods_have_names_and_routes_a_place)
{
    struct srv_routes *routes;
    ck_assert(srv_routes_create(srv_route_table, srv_route_count, &routes));
    ck_assert_uint_eq(srv_routes_count(routes), srv_route_count);
    size_t gets = 0;
    for (size_t i = 0; i < srv_route_count; i++) {
        const srv_route *route = srv_route_at(routes, i);
        ck_assert_uint_eq(srv_route_index(routes, route), i);
        ck_assert_int_eq(srv_method_of(srv_method_name(route->method)), route->method);
        gets += strcmp(srv_method_name(route->method), "GET") == 0; /* never HEAD */
    }
    ck_assert_uint_gt(gets, 5);
    srv_routes_destroy(routes);
}
END_TEST

START_TEST(want_of_memory_is_told_apart_from_broken_targets)
{
    size_t failures = 0;
    for (size_t n = 1; n < 10; n++) {
        bool no_memory;
        obb_arena_fini(&arena);
        fault_arm(n);
        const char *fault =
            srv_target_read(obb_str_of("/a%20b?c=%20"), &arena, &target, &no_memory);
        fault_arm(0);
        ck_assert_ptr_null(fault);
        failures += no_memory;
        if (!no_memory)
            break;
    }
    ck_assert_uint_ge(failures, 1);
    fault_arm(1);
    struct srv_routes *routes;
    const bool made = srv_routes_create(srv_route_table, srv_route_count, &routes);
    fault_arm(2);
    const bool again = srv_routes_create(srv_route_table, srv_route_count, &routes);
    fault_arm(0);
    ck_assert(!made && !again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("route");
    TCase *tc = tcase_create("route");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, paths_are_split_before_they_are_decoded);
    tcase_add_test(tc, query_strings_become_parameters_in_order);
    tcase_add_test(tc, other_forms_of_targets);
    tcase_add_test(tc, broken_targets_are_refused);
    tcase_add_test(tc, random_targets_do_no_harm);
    tcase_add_test(tc, the_table_finds_what_the_contract_names);
    tcase_add_test(tc, methods_have_names_and_routes_a_place);
    tcase_add_test(tc, want_of_memory_is_told_apart_from_broken_targets);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
