#include "server/access/auth.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>
#include <unistd.h>

static char path[64], error[512];

static void setup(void)
{
    (void)snprintf(path, sizeof path, "%s/obbd-tokens-XXXXXX", test_folder());
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
}

static void teardown(void) { (void)unlink(path); }

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* The obvious way: try every length for the first star. */
static bool matches(const char *pattern, const char *name)
{
    if (*pattern == '\0')
        return *name == '\0';
    if (*pattern != '*')
        return *pattern == *name && matches(pattern + 1, name + 1);
    return matches(pattern + 1, name) || (*name != '\0' && matches(pattern, name + 1));
}

START_TEST(patterns_match_whole_names)
{
    static const struct {
        const char *pattern, *name;
        bool match;
    } cases[] = {{"match-*", "match-1", true},
                 {"match-*", "match-", true},
                 {"match-*", "match", false},
                 {"match-*", "a-match-1", false},
                 {"*", "", true},
                 {"*", "anything", true},
                 {"a*b*c", "a--b--c", true},
                 {"a*b*c", "abcb", false},
                 {"a", "A", false},
                 {"", "", true},
                 {"", "a", false},
                 {"a?", "ab", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(srv_auth_match(obb_str_of(cases[i].pattern), obb_str_of(cases[i].name)) ==
                          cases[i].match,
                      "%s %s", cases[i].pattern, cases[i].name);
    test_rng rng = {.s = 20261207};
    size_t hits = 0;
    const size_t rounds = test_effort(50000);
    for (size_t i = 0; i < rounds; i++) {
        char pattern[9] = "", name[9] = "";
        for (size_t j = test_below(&rng, 9); j > 0; j--)
            pattern[j - 1] = "ab*"[test_below(&rng, 3)];
        for (size_t j = test_below(&rng, 9); j > 0; j--)
            name[j - 1] = "ab"[test_below(&rng, 2)];
        const bool expected = matches(pattern, name);
        ck_assert_msg(srv_auth_match(obb_str_of(pattern), obb_str_of(name)) == expected, "%s %s",
                      pattern, name);
        hits += expected;
    }
    ck_assert_uint_gt(hits, rounds / 50);
    ck_assert_uint_lt(hits, rounds / 2);
}
END_TEST

/* sha256 of "secret" */
#define HASH        "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
#define BEARER_HASH "Bearer " HASH

START_TEST(tokens_are_found_by_their_text)
{
    write_file("{\"tokens\":[{\"name\":\"match-server\",\"sha256\":\"" HASH
               "\",\"scopes\":[\"write\",\"read\"],\"scenes\":[\"match-*\",\"lobby\"],\"expires\":"
               "\"2027-01-01T00:00:00Z\"}]}");
    struct srv_auth *auth;
    ck_assert_msg(srv_auth_load(path, &auth, error, sizeof error), "%s", error);
    ck_assert_uint_eq(srv_auth_count(auth), 1);
    const int64_t end = 1798761600; /* of 2026 */
    static const char *const good[] = {"Bearer secret", "bearer secret", "BEARER   secret",
                                       "Bearer secret  "};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(srv_auth_find(auth, good[i], end - 1) != NULL, "%s", good[i]);
    static const char *const bad[] = {
        "", "secret", "Bearer", "Bearer ", "Bearer s", "Bearer Secret", "Basic secret",
        "Bearersecret", "Bearer secret x",
        /* the digest is no token: NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
        BEARER_HASH};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(srv_auth_find(auth, bad[i], end - 1) == NULL, "%s", bad[i]);
    ck_assert_ptr_null(srv_auth_find(auth, NULL, 0));
    ck_assert_ptr_null(srv_auth_find(auth, good[0], end)); /* expired */

    const wire_token *token = srv_auth_find(auth, good[0], 0);
    ck_assert_uint_eq(token->scopes, WIRE_SCOPE_READ | WIRE_SCOPE_WRITE);
    ck_assert(srv_auth_scene(token, obb_str_of("match-7")));
    ck_assert(srv_auth_scene(token, obb_str_of("lobby")));
    ck_assert(!srv_auth_scene(token, obb_str_of("lobby2")));
    srv_auth_destroy(auth);
}
END_TEST

START_TEST(times_of_expiry_are_those_of_the_calendar)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: refused */
    } cases[] = {{"1970-01-01T00:00:00Z", 0},          {"1970-01-01T00:00:01Z", 1},
                 {"2000-02-29T12:34:56Z", 951827696},  {"2000-03-01T00:00:00Z", 951868800},
                 {"2024-02-29T00:00:00Z", 1709164800}, {"2026-12-31T23:59:59Z", 1798761599},
                 {"2100-03-01T00:00:00Z", 4107542400}, {"9999-12-31T23:59:59Z", 253402300799},
                 {"2100-02-29T00:00:00Z", -1},         {"2026-02-29T00:00:00Z", -1},
                 {"2026-13-01T00:00:00Z", -1},         {"2026-00-01T00:00:00Z", -1},
                 {"2026-01-32T00:00:00Z", -1},         {"2026-04-31T00:00:00Z", -1},
                 {"2026-01-01T24:00:00Z", -1},         {"2026-01-01T00:60:00Z", -1},
                 {"2026-01-01T00:00:60Z", -1},         {"2026-01-01T00:00:00", -1},
                 {"2026-01-01T00:00:00+01", -1},       {"2026-01-01 00:00:00Z", -1},
                 {"1969-12-31T23:59:59Z", -1},         {"", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[512];
        (void)snprintf(file, sizeof file,
                       "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"" HASH
                       "\",\"scopes\":[\"read\"],\"scenes\":[\"*\"],\"expires\":\"%s\"}]}",
                       cases[i].text);
        write_file(file);
        struct srv_auth *auth;
        const bool good = srv_auth_load(path, &auth, error, sizeof error);
        ck_assert_msg(good == (cases[i].seconds >= 0), "%s: %s", cases[i].text, error);
        if (!good) {
            ck_assert_ptr_nonnull(strstr(error, " at /tokens/0/expires"));
            continue;
        }
        ck_assert_ptr_null(srv_auth_find(auth, "Bearer secret", cases[i].seconds));
        ck_assert_ptr_nonnull(srv_auth_find(auth, "Bearer secret", cases[i].seconds - 1));
        srv_auth_destroy(auth);
    }
}
END_TEST

START_TEST(broken_files_are_refused_in_one_line)
{
#define ENTRY(more) "{\"tokens\":[{\"name\":\"a\",\"sha256\":\"" HASH "\"" more "}]}"
    static const struct {
        const char *text, *says;
    } broken[] = {
        {"", "is empty"},
        {"{", ""},
        {"[]", ""},
        {"{}", "tokens"},
        {"{\"tokens\":{}}", " at /tokens"},
        {"{\"tokens\":[],\"more\":1}", " at /more"},
        {"{\"tokens\":[{}]}", "name"},
        {ENTRY(""), "scopes"},
        {ENTRY(",\"scopes\":[\"read\"]"), "scenes"},
        {ENTRY(",\"scopes\":[],\"scenes\":[\"*\"]"), " at /tokens/0/scopes"},
        {ENTRY(",\"scopes\":[\"root\"],\"scenes\":[\"*\"]"), " at /tokens/0/scopes/0"},
        {ENTRY(",\"scopes\":[\"read\"],\"scenes\":[]"), " at /tokens/0/scenes"},
        {ENTRY(",\"scopes\":[\"read\"],\"scenes\":[1]"), " at /tokens/0/scenes/0"},
        {ENTRY(",\"scopes\":[\"read\"],\"scenes\":[\"*\"],\"token\":\"secret\""),
         " at /tokens/0/token"},
        {"{\"tokens\":[{\"name\":\"a\",\"sha256\":\"abc\"}]}", " at /tokens/0/sha256"},
        {"{\"tokens\":[{\"name\":\"a\",\"sha256\":\"" HASH
         "\",\"scopes\":[\"read\"],\"scenes\":[\"*\"]},{\"name\":\"b\",\"sha256\":\"" HASH
         "\",\"scopes\":[\"admin\"],\"scenes\":[\"*\"]}]}",
         " at /tokens/1/sha256"},
        {"{\"tokens\":[{\"name\":\"\",\"sha256\":\"" HASH
         "\",\"scopes\":[\"read\"],\"scenes\":[\"*\"]}]}",
         " at /tokens/0/name"},
    };
    struct srv_auth *auth;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_file(broken[i].text);
        ck_assert_msg(!srv_auth_load(path, &auth, error, sizeof error), "%s", broken[i].text);
        ck_assert_msg(strncmp(error, "--token-file ", 13) == 0 &&
                          strstr(error, broken[i].says) != NULL && strchr(error, '\n') == NULL,
                      "%s: %s", broken[i].text, error);
    }
    FILE *file = fopen(path, "w"); /* more than a megabyte */
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), (1 << 20) + 1), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert(!srv_auth_load(path, &auth, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "longer than 1 MiB"));
    ck_assert(!srv_auth_load(test_folder(), &auth, error, sizeof error));
    ck_assert(!srv_auth_load("/nowhere/at/all", &auth, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "No such file"));
}
END_TEST

START_TEST(new_tokens_open_what_their_entry_says)
{
    static const char name[] = "\"ci\" \\ \xc3\xbc";
    char text[2][1024];
    for (int i = 0; i < 2; i++) {
        FILE *out = fmemopen(text[i], sizeof text[i], "w");
        ck_assert_msg(srv_auth_new(name, "read,admin", "a-*,b,\\\"", out, error, sizeof error),
                      "%s", error);
        ck_assert_int_eq(fclose(out), 0);
    }
    ck_assert_str_ne(text[0], text[1]);
    char token[128], entry[512], file[600], bearer[160];
    ck_assert_int_eq(sscanf(text[0], "token: %127s\nentry: %511[^\n]", token, entry), 2);
    ck_assert_uint_eq(strlen(token), 5 + 64);
    ck_assert_ptr_null(strstr(entry, token));
    (void)snprintf(file, sizeof file, "{\"tokens\":[%s]}", entry);
    write_file(file);
    struct srv_auth *auth;
    ck_assert_msg(srv_auth_load(path, &auth, error, sizeof error), "%s", error);
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", token);
    const wire_token *found = srv_auth_find(auth, bearer, 0);
    ck_assert_ptr_nonnull(found);
    ck_assert(obb_str_equal(found->name, obb_str_of(name)));
    ck_assert_uint_eq(found->scopes, WIRE_SCOPE_READ | WIRE_SCOPE_ADMIN);
    ck_assert_uint_eq(found->scene_count, 3);
    ck_assert(srv_auth_scene(found, obb_str_of("a-1")) && srv_auth_scene(found, obb_str_of("b")) &&
              srv_auth_scene(found, obb_str_of("\\\"")));
    srv_auth_destroy(auth);

    FILE *out = fmemopen(text[0], sizeof text[0], "w");
    static const struct {
        const char *name, *scopes, *scenes, *says;
    } wrong[] = {{"", "read", "*", "--new-token: a name is "},
                 {"..", "read", "*", "--new-token: a name is "},
                 {"a\nb", "read", "*", "--new-token: a name is "},
                 {"a\xff", "read", "*", "--new-token: a name is "},
                 {"a", "fly", "*", "--scopes: a list of "},
                 {"a", "", "*", "--scopes: a list of "},
                 {"a", "read,", "*", "--scopes: a list of "},
                 {"a", "readwrite", "*", "--scopes: a list of "},
                 {"a", "read", "", "--scenes: a list of "},
                 {"a", "read", "b,,c", "--scenes: a list of "},
                 {"a", "read", "b\n", "--scenes: a list of "},
                 {"a", "read", "\xc3", "--scenes: a list of "}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!srv_auth_new(wrong[i].name, wrong[i].scopes, wrong[i].scenes, out, error,
                                sizeof error));
        ck_assert_msg(strncmp(error, wrong[i].says, strlen(wrong[i].says)) == 0, "%s", error);
    }
    ck_assert_int_eq(ftell(out), 0); /* nothing was printed */
    ck_assert_int_eq(fclose(out), 0);
}
END_TEST

START_TEST(every_failing_allocation_is_an_error)
{
    write_file(ENTRY(",\"scopes\":[\"read\"],\"scenes\":[\"*\"]"));
    size_t failures = 0;
    for (size_t n = 1; n < 40; n++) {
        struct srv_auth *auth;
        fault_arm(n);
        const bool good = srv_auth_load(path, &auth, error, sizeof error);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert(good != reached);
        failures += !good;
        if (good) {
            srv_auth_destroy(auth);
            break;
        }
    }
    ck_assert_uint_ge(failures, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("auth");
    TCase *tc = tcase_create("auth");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, patterns_match_whole_names);
    tcase_add_test(tc, tokens_are_found_by_their_text);
    tcase_add_test(tc, times_of_expiry_are_those_of_the_calendar);
    tcase_add_test(tc, broken_files_are_refused_in_one_line);
    tcase_add_test(tc, new_tokens_open_what_their_entry_says);
    tcase_add_test(tc, every_failing_allocation_is_an_error);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
