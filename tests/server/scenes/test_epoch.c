/* Epochs: which answers carry one, and what Obbd-If-Epoch allows. */
#include "tests/server/files.h"
#include "tests/support/follower.h"

enum { DIGITS = 16, ROOM = DIGITS + 1 };

#define UNIT  "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
#define S     "/v1/scenes/s"
#define LINES "Content-Type: application/x-ndjson\r\n"
#define HEAD                                                     \
    "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3," \
    "\"history\":{\"span\":500,\"commits\":64},\"time\":5}\n"

static void setup(void) { service_start(NULL); }

/* The Obbd-Epoch of the answer in `heard`; "": it has none. */
static const char *heard_epoch(void)
{
    static const char name[] = "\r\nObbd-Epoch: ";
    static char epoch[ROOM];
    epoch[0] = '\0';
    const char *body = strstr(heard, "\r\n\r\n"), *at = strstr(heard, name);
    ck_assert_ptr_nonnull(body);
    if (at == NULL || at > body)
        return epoch;
    memcpy(epoch, at + sizeof name - 1, DIGITS);
    epoch[DIGITS] = '\0';
    ck_assert_uint_eq(strspn(epoch, "0123456789abcdef"), DIGITS);
    ck_assert_int_eq(strncmp(at + sizeof name - 1 + DIGITS, "\r\n", 2), 0);
    ck_assert_ptr_null(strstr(at + 1, name)); /* once */
    return epoch;
}

/* Makes the scene s with the box a, at revision 1, and writes its epoch. */
static void make_scene(char out[static ROOM])
{
    ck_assert_int_eq(ask("POST", S "/commit", "{\"time\":1000,\"put\":{\"a\":" UNIT "}}"), 200);
    (void)snprintf(out, ROOM, "%s", heard_epoch());
    ck_assert_str_ne(out, "");
}

static const char *field(const char *name, const char *value)
{
    static char text[256];
    (void)snprintf(text, sizeof text, "%s: %s\r\n", name, value);
    return text;
}

struct row {
    const char *method, *path, *fields, *body;
    int status;
};

START_TEST(every_answer_about_a_scene_carries_its_epoch)
{
    static const struct row about[] = {
        {"GET", S, "", "", 200},
        {"HEAD", S, "", "", 200},
        {"GET", S, "If-None-Match: \"1\"\r\n", "", 304},
        {"PUT", S, "", "{}", 200},
        {"GET", S "?limit=1", "", "", 400},
        {"PUT", S, "", "{", 400},
        {"PUT", S, "", "[]", 422},
        {"PUT", S, "", "{\"dimensions\":2}", 409},
        {"PUT", S, "If-Match: \"7\"\r\n", "{}", 412},
        {"PUT", S, "Content-Type: text/plain\r\n", "{}", 415},
        {"GET", S, "Accept: image/png\r\n", "", 406},
        {"GET", S "/export", "", "", 200},
        {"GET", S "/boxes", "", "", 200},
        {"GET", S "/boxes?limit=0", "", "", 400},
        {"GET", S "/boxes/a", "", "", 200},
        {"GET", S "/boxes/a", "Accept: application/cbor\r\n", "", 200},
        {"GET", S "/boxes/a?at_revision=1", "", "", 200},
        {"GET", S "/boxes/a?at_revision=9", "", "", 410},
        {"GET", S "/boxes/none", "", "", 404},
        {"GET", S "/boxes/..%2F..", "", "", 404},
        {"PUT", S "/boxes/b", "", UNIT, 201},
        {"PUT", S "/boxes/b", "", UNIT, 200},
        {"PUT", S "/boxes/b", "", "{\"center\":1}", 422},
        {"PATCH", S "/boxes/b", "", "{\"group\":3}", 200},
        {"POST", S "/boxes/b/transform", "", "{\"translate\":[1,0,0]}", 200},
        {"POST", S "/boxes/b/merge", "", "{\"with\":[\"a\"]}", 200},
        {"POST", S "/boxes/b/merge", "", "{\"with\":[\"none\"]}", 404},
        {"DELETE", S "/boxes/b", "", "", 204},
        {"DELETE", S "/boxes/b", "", "", 404},
        {"POST", S "/commit", "", "{\"queries\":[{\"kind\":\"all-pairs\"}]}", 200},
        {"POST", S "/commit", "", "{\"time\":0}", 409},
        {"POST", S "/commit", "", "{\"if_revision\":99}", 412},
        {"POST", S "/query/all-pairs", "", "{}", 200},
        {"POST", S "/query/all-pairs", "Accept: application/x-ndjson\r\n", "{}", 200},
        {"POST", S "/query/point", "", "{\"points\":[[0,0,0]]}", 200},
        {"POST", S "/query/point", "", "{\"points\":[[0,0]]}", 422},
        {"POST", S "/query/nothing", "", "{}", 404},
        {"HEAD", S "/events", "", "", 200},
        {"GET", S "/events?topics=weather", "", "", 400},
        {"POST", S "/import", LINES, HEAD, 200}, /* keeps the epoch */
        {"POST", S "/import", LINES, "{}\n", 422},
        {"DELETE", S, "", "", 204}, /* of the scene that it deletes */
    };
    static const struct row not_about[] = {
        {"GET", S, "", "", 404},
        {"DELETE", S, "", "", 404},
        {"GET", S "/boxes/a", "", "", 404},
        {"POST", S "/commit", "", "{}", 404},
        {"POST", S "/query/all-pairs", "", "{}", 404},
        {"PUT", S "/boxes/a", "", "{", 400},
        {"PUT", S, "If-Match: *\r\n", "{}", 412},
        {"GET", "/v1/scenes", "", "", 200},
        {"GET", "/v1/scenes?limit=0", "", "", 400},
        {"GET", "/healthz", "", "", 200},
        {"OPTIONS", S, "", "", 204},
        {"POST", S, "", "{}", 405},
        {"GET", S, "Host: twice\r\n", "", 400},
        {"GET", "/nowhere", "", "", 404},
    };
    char epoch[ROOM];
    make_scene(epoch);
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        const struct row *row = &about[i];
        const int status = ask_with(row->fields, row->method, row->path, "%s", row->body);
        ck_assert_msg(status == row->status, "%s %s: %s", row->method, row->path, heard);
        ck_assert_msg(strcmp(heard_epoch(), epoch) == 0, "%s %s: %s", row->method, row->path,
                      heard);
    }
    for (size_t i = 0; i < sizeof not_about / sizeof *not_about; i++) {
        const struct row *row = &not_about[i];
        const int status = ask_with(row->fields, row->method, row->path, "%s", row->body);
        ck_assert_msg(status == row->status, "%s %s: %s", row->method, row->path, heard);
        ck_assert_msg(heard_epoch()[0] == '\0', "%s %s: %s", row->method, row->path, heard);
    }
    printf("%zu answers with an epoch, %zu without\n", sizeof about / sizeof *about,
           sizeof not_about / sizeof *not_about);
}
END_TEST

START_TEST(each_making_draws_another_number)
{
    enum { MADE = 200 };
    static const char *const makers[][4] = {{"PUT", S, "", "{}"},
                                            {"PUT", S "/boxes/a", "", UNIT},
                                            {"POST", S "/commit", "", "{\"put\":{\"a\":" UNIT "}}"},
                                            {"POST", S "/import", LINES, HEAD}};
    uint64_t made[MADE], ones = 0, zeroes = 0;
    for (int i = 0; i < MADE; i++) {
        const char *const *maker = makers[i % 4];
        const int status = ask_with(maker[2], maker[0], maker[1], "%s", maker[3]);
        ck_assert_msg(status == 201 || status == 200, "%s", heard);
        made[i] = strtoull(heard_epoch(), NULL, 16);
        ck_assert_uint_ne(made[i], 0);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(made[i], made[k]);
        ones |= made[i];
        zeroes |= ~made[i];
        ck_assert_int_eq(ask("DELETE", S, "%s", ""), 204);
        ck_assert_uint_eq(strtoull(heard_epoch(), NULL, 16), made[i]);
    }
    ck_assert_uint_eq(ones, UINT64_MAX); /* each bit was set, and was not */
    ck_assert_uint_eq(zeroes, UINT64_MAX);
}
END_TEST

/* Without --data a service that starts again begins its scenes anew. */
START_TEST(a_service_that_starts_again_draws_another_number)
{
    char first[ROOM], second[ROOM];
    make_scene(first);
    service_stop();
    service_start(NULL);
    make_scene(second);
    ck_assert_ptr_nonnull(strstr(heard, "\"revision\":1,"));
    ck_assert_str_ne(first, second);
}
END_TEST

static void expect_epoch_problem(void)
{
    ck_assert_msg(strstr(heard, "\"type\":\"/problems/epoch\"") != NULL &&
                      strstr(heard, "application/problem+json") != NULL,
                  "%s", heard);
}

START_TEST(a_request_goes_on_only_with_the_epoch_that_it_names)
{
    static const struct row rows[] = {
        {"GET", S, "", "", 200},
        {"PUT", S, "", "{}", 200},
        {"GET", S "/boxes", "", "", 200},
        {"GET", S "/boxes/a", "", "", 200},
        {"GET", S "/export", "", "", 200},
        {"HEAD", S "/events", "", "", 200},
        {"PUT", S "/boxes/b", "", UNIT, 201},
        {"PATCH", S "/boxes/b", "", "{\"group\":1}", 200},
        {"POST", S "/boxes/b/transform", "", "{\"translate\":[1,0,0]}", 200},
        {"POST", S "/boxes/b/merge", "", "{\"with\":[\"a\"]}", 200},
        {"DELETE", S "/boxes/b", "", "", 204},
        {"POST", S "/commit", "", "{\"put\":{\"b\":" UNIT "}}", 200},
        {"POST", S "/query/point", "", "{\"points\":[[0,0,0]]}", 200},
        {"POST", S "/query/all-pairs", "Accept: application/x-ndjson\r\n", "{}", 200},
        {"POST", S "/import", LINES, HEAD, 200},
        {"DELETE", S, "", "", 204},
    };
    char epoch[ROOM], other[ROOM], upper[ROOM], fields[256], before[ROOM + 64];
    make_scene(epoch);
    for (int i = 0; i < ROOM; i++)
        upper[i] = (char)(epoch[i] >= 'a' ? epoch[i] - 32 : epoch[i]);
    (void)snprintf(other, sizeof other, "%s", epoch);
    other[15] = other[15] == '0' ? '1' : '0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        const char *const refused[] = {other, "0000000000000000", "ffffffffffffffff"};
        ck_assert_int_eq(ask("GET", S, "%s", ""), 200);
        (void)snprintf(before, sizeof before, "%.79s", strstr(heard, "\"boxes\":"));
        for (size_t k = 0; k < 3; k++) {
            (void)snprintf(fields, sizeof fields, "%sObbd-If-Epoch: %s\r\n", row->fields,
                           refused[k]);
            ck_assert_int_eq(ask_with(fields, row->method, row->path, "%s", row->body), 412);
            ck_assert_str_eq(heard_epoch(), epoch);
            if (strcmp(row->method, "HEAD") != 0)
                expect_epoch_problem();
        }
        if (row->body[0] != '\0') { /* before the body is looked at */
            ck_assert_int_eq(ask_with(fields, row->method, row->path, "%s", "{,"), 412);
            expect_epoch_problem();
        }
        ck_assert_int_eq(ask("GET", S, "%s", ""), 200);
        ck_assert_ptr_nonnull(strstr(heard, before)); /* nothing was done */
        (void)snprintf(fields, sizeof fields, "%sObbd-If-Epoch: %s\r\n", row->fields,
                       i % 2 == 0 ? epoch : upper);
        const int status = ask_with(fields, row->method, row->path, "%s", row->body);
        ck_assert_msg(status == row->status, "%s %s: %s", row->method, row->path, heard);
        ck_assert_str_eq(heard_epoch(), epoch);
    }
    printf("%zu requests, each with its epoch and with three others\n", sizeof rows / sizeof *rows);
}
END_TEST

START_TEST(the_problem_says_both_epochs)
{
    char epoch[ROOM], detail[128];
    make_scene(epoch);
    ck_assert_int_eq(ask_with(field("Obbd-If-Epoch", "00000000000000AB"), "GET", S, "%s", ""), 412);
    (void)snprintf(detail, sizeof detail,
                   "\"detail\":\"found the epoch %s; the condition asks for 00000000000000ab\"",
                   epoch);
    ck_assert_msg(strstr(heard, detail) != NULL, "%s", heard);
    ck_assert_int_eq(ask_with(field("Obbd-If-Epoch", epoch), "PUT", "/v1/scenes/t", "{}"), 412);
    (void)snprintf(detail, sizeof detail,
                   "\"detail\":\"found no scene; the condition asks for the epoch %s\"", epoch);
    ck_assert_msg(strstr(heard, detail) != NULL, "%s", heard);
    /* If-Match that does not hold either comes second */
    ck_assert_int_eq(
        ask_with("Obbd-If-Epoch: 0000000000000000\r\nIf-Match: \"7\"\r\n", "PUT", S, "{}"), 412);
    expect_epoch_problem();
}
END_TEST

START_TEST(a_malformed_epoch_is_no_epoch)
{
    static const char *const malformed[] = {
        "",
        "0",
        "*",
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789abcdeg",
        "\"0123456789abcdef\"",
        "0x23456789abcdef",
        "-123456789abcdef",
        "0123456789abcdef, 0123456789abcdef",
    };
    static const struct row rows[] = {{"GET", S, "", "", 0},
                                      {"GET", "/v1/scenes/none", "", "", 0},
                                      {"PUT", S "/boxes/b", "", "{,", 0},
                                      {"POST", S "/commit", "", "{\"put\":{\"c\":" UNIT "}}", 0},
                                      {"POST", "/v1/scenes/none/commit", "", "{}", 0},
                                      {"DELETE", S, "", "", 0}};
    char epoch[ROOM];
    make_scene(epoch);
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            ck_assert_int_eq(ask_with(field("Obbd-If-Epoch", malformed[i]), rows[k].method,
                                      rows[k].path, "%s", rows[k].body),
                             400);
            ck_assert_msg(strstr(heard, "Obbd-If-Epoch") != NULL &&
                              strstr(heard, "; an epoch is 16 hex digits\"") != NULL,
                          "%s", heard);
        }
    ck_assert_int_eq(
        ask_with("Obbd-If-Epoch: 0123456789abcdef\r\nObbd-If-Epoch: 0123456789abcdef\r\n", "GET", S,
                 "%s", ""),
        400);
    ck_assert_ptr_nonnull(strstr(heard, "there are two Obbd-If-Epoch fields"));
    ck_assert_int_eq(ask("GET", S, "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\"boxes\":1,\"revision\":1,"));
    ck_assert_str_eq(heard_epoch(), epoch);
    /* the list of scenes is about none of them */
    ck_assert_int_eq(ask_with(field("Obbd-If-Epoch", "x"), "GET", "/v1/scenes", "%s", ""), 200);
}
END_TEST

START_TEST(a_scene_that_is_not_there_is_not_made)
{
    static const struct row rows[] = {
        {"PUT", S, "", "{}", 412},
        {"PUT", S, "", "{,", 412},
        {"PUT", S "/boxes/a", "", UNIT, 412},
        {"PUT", S "/boxes/a", "", "{,", 412},
        {"POST", S "/import", LINES, HEAD, 412},
        {"POST", S "/import", LINES, "{,", 412},
        {"POST", S "/commit", "", "{\"put\":{\"a\":" UNIT "}}", 412},
        {"POST", S "/commit", "", "{\"put\":{\"a\":", 412},
        {"POST", S "/commit", "", "{\"put\":{\"a\":{\"center\":1}}}", 412},
        {"POST", S "/commit", "", "{\"remove\":[\"a\"]}", 404},
        {"POST", S "/commit", "", "{}", 404},
        {"GET", S, "", "", 404},
        {"DELETE", S, "", "", 404},
        {"GET", S "/export", "", "", 404},
        {"GET", S "/events", "", "", 404},
        {"GET", S "/boxes", "", "", 404},
        {"GET", S "/boxes/a", "", "", 404},
        {"PATCH", S "/boxes/a", "", "{,", 404},
        {"DELETE", S "/boxes/a", "", "", 404},
        {"POST", S "/boxes/a/transform", "", "{,", 404},
        {"POST", S "/boxes/a/merge", "", "{,", 404},
        {"POST", S "/query/all-pairs", "", "{,", 404},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char fields[256];
        (void)snprintf(fields, sizeof fields, "%sObbd-If-Epoch: 0000000000000000\r\n", row->fields);
        const int status = ask_with(fields, row->method, row->path, "%s", row->body);
        ck_assert_msg(status == row->status, "%s %s: %s", row->method, row->path, heard);
        ck_assert_str_eq(heard_epoch(), "");
        if (status == 412)
            expect_epoch_problem();
        else
            ck_assert_msg(strstr(heard, "/problems/no-scene") != NULL, "%s", heard);
        ck_assert_int_eq(ask("GET", "/v1/scenes", "%s", ""), 200);
        ck_assert_ptr_nonnull(strstr(heard, "{\"scenes\":[]}"));
    }
    printf("%zu requests to a scene that is not there\n", sizeof rows / sizeof *rows);
}
END_TEST

START_TEST(a_tag_of_a_scene_that_was_made_again_is_another_tag)
{
    char first[ROOM], second[ROOM], tag[64];
    make_scene(first);
    (void)snprintf(tag, sizeof tag, "\"1.%s\"", first);
    ck_assert_ptr_nonnull(strstr((ask("GET", S "/boxes/a", "%s", ""), heard), tag));
    ck_assert_int_eq(ask_with(field("If-None-Match", tag), "GET", S "/boxes/a", "%s", ""), 304);
    ck_assert_int_eq(ask_with(field("If-Match", tag), "PATCH", S "/boxes/a", "{\"group\":0}"), 200);
    ck_assert_int_eq(ask("DELETE", S, "%s", ""), 204);
    make_scene(second);
    ck_assert_str_ne(first, second);
    static const char *const paths[] = {S, S "/boxes", S "/boxes/a", S "/export"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(ask_with(field("If-None-Match", tag), "GET", paths[i], "%s", ""), 200);
        ck_assert_int_eq(ask_with("If-None-Match: \"1\"\r\n", "GET", paths[i], "%s", ""), 304);
        (void)snprintf(tag, sizeof tag, "\"0\", W/\"1.%s\"", second);
        ck_assert_int_eq(ask_with(field("If-None-Match", tag), "GET", paths[i], "%s", ""), 304);
        ck_assert_str_eq(heard_epoch(), second);
        (void)snprintf(tag, sizeof tag, "\"1.%s\"", first);
    }
    ck_assert_int_eq(ask_with(field("If-Match", tag), "PUT", S "/boxes/a", UNIT), 412);
    ck_assert_ptr_nonnull(strstr(heard, "/problems/revision"));
    ck_assert_int_eq(ask_with(field("If-Match", tag), "POST", S "/commit", "{\"time\":2000}"), 412);
    (void)snprintf(tag, sizeof tag, "\"7\", \"1.%s\"", second);
    ck_assert_int_eq(ask_with(field("If-Match", tag), "POST", S "/commit", "{\"time\":2000}"), 200);
    ck_assert_int_eq(ask_with("If-Match: \"1\"\r\n", "DELETE", S, "%s", ""), 204);
}
END_TEST

static void follow_from(struct follower *f, const char *last)
{
    follower_open(f, dial(), S "/events?topics=commits", last);
    follower_await(f);
}

START_TEST(a_stream_goes_on_only_in_its_own_epoch)
{
    struct follower f, keeper;
    struct follower_message message;
    char first[ROOM], second[ROOM], last[64];
    make_scene(first);
    follow_from(&keeper, NULL);
    ck_assert_int_eq(ask("PUT", S "/boxes/b", UNIT), 201);
    ck_assert(follower_next(&keeper, FOLLOWER_PATIENT, &message));
    ck_assert_str_eq(message.event, "commit");
    (void)snprintf(last, sizeof last, "2.%s", first);
    ck_assert_str_eq(message.id_text, last);
    for (size_t i = 0; i < 2; i++) { /* a bare revision is one of this epoch */
        (void)snprintf(last, sizeof last, i == 0 ? "1" : "1.%s", first);
        follow_from(&f, last);
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        ck_assert_str_eq(message.event, "commit");
        ck_assert_int_eq(message.id, 2);
        follower_close(&f);
    }
    follower_close(&keeper);
    ck_assert_int_eq(ask("DELETE", S, "%s", ""), 204);
    make_scene(second);
    follow_from(&keeper, NULL); /* keeps the messages of this epoch */
    ck_assert_int_eq(ask("PUT", S "/boxes/b", UNIT), 201);
    ck_assert(follower_next(&keeper, FOLLOWER_PATIENT, &message));
    const char *const anew[] = {first, "0000000000000000", "1", ""};
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(last, sizeof last, "1.%s", anew[i]);
        follow_from(&f, last);
        ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
        ck_assert_msg(strcmp(message.event, "state") == 0 && message.id == 2, "%s: %s", last,
                      message.event);
        (void)snprintf(last, sizeof last, "2.%s", second);
        ck_assert_str_eq(message.id_text, last);
        follower_close(&f);
    }
    follower_close(&keeper);
}
END_TEST

START_TEST(who_may_not_ask_hears_of_no_epoch)
{
#define WRONG "Obbd-If-Epoch: 0000000000000000\r\n"
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes/match-1", "%s", ""), 200);
    ck_assert_str_ne(heard_epoch(), "");
    static const char *const conditions[] = {"", WRONG, "Obbd-If-Epoch: x\r\n"};
    for (size_t i = 0; i < 3; i++) {
        char fields[512];
        ck_assert_int_eq(ask_with(conditions[i], "GET", "/v1/scenes/match-1", "%s", ""), 401);
        ck_assert_str_eq(heard_epoch(), "");
        (void)snprintf(fields, sizeof fields, "%s%s", WRITER, conditions[i]);
        ck_assert_int_eq(ask_with(fields, "GET", "/v1/scenes/other", "%s", ""), 403);
        ck_assert_str_eq(heard_epoch(), "");
        (void)snprintf(fields, sizeof fields, "%s%s", READER, conditions[i]);
        ck_assert_int_eq(ask_with(fields, "PUT", "/v1/scenes/match-1/boxes/a", UNIT), 403);
        ck_assert_str_eq(heard_epoch(), "");
    }
    ck_assert_int_eq(ask_with(READER WRONG, "GET", "/v1/scenes/match-1", "%s", ""), 412);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("epoch");
    TCase *tc = tcase_create("epoch");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, every_answer_about_a_scene_carries_its_epoch);
    tcase_add_test(tc, each_making_draws_another_number);
    tcase_add_test(tc, a_service_that_starts_again_draws_another_number);
    tcase_add_test(tc, a_request_goes_on_only_with_the_epoch_that_it_names);
    tcase_add_test(tc, the_problem_says_both_epochs);
    tcase_add_test(tc, a_malformed_epoch_is_no_epoch);
    tcase_add_test(tc, a_scene_that_is_not_there_is_not_made);
    tcase_add_test(tc, a_tag_of_a_scene_that_was_made_again_is_another_tag);
    tcase_add_test(tc, a_stream_goes_on_only_in_its_own_epoch);
    suite_add_tcase(suite, tc);
    TCase *secured = tcase_create("tokens");
    tcase_add_checked_fixture(secured, setup_tokens, service_stop);
    tcase_set_timeout(secured, test_patience(60));
    tcase_add_test(secured, who_may_not_ask_hears_of_no_epoch);
    suite_add_tcase(suite, secured);
    return test_main(suite);
}
