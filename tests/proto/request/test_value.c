#include "proto/request/value.h"
#include "tests/proto/request/requests.h"

static struct wire_cursor cursor_of(const char *text)
{
    struct wire_cursor c;
    wire_json_open(&c, text, strlen(text), &arena);
    return c;
}

START_TEST(numbers_have_ranges)
{
    static const struct {
        const char *text;
        wire_range range;
        wire_cause cause; /* WIRE_OBB_OK: taken */
    } cases[] = {{"1e308", WIRE_ANY, WIRE_OBB_OK},
                 {"1e309", WIRE_ANY, WIRE_OBB_BAD_NUMBER},
                 {"-1e9", WIRE_COORDINATE, WIRE_OBB_OK},
                 {"1000000000.0000002", WIRE_COORDINATE, WIRE_OBB_BAD_NUMBER},
                 {"0", WIRE_HALF_EXTENT, WIRE_OBB_OK},
                 {"-1e-300", WIRE_HALF_EXTENT, WIRE_OBB_BAD_EXTENT},
                 {"1e10", WIRE_HALF_EXTENT, WIRE_OBB_BAD_NUMBER},
                 {"-9007199254740992", WIRE_TIME, WIRE_OBB_OK},
                 {"9007199254740994", WIRE_TIME, WIRE_OBB_BAD_NUMBER},
                 {"\"1\"", WIRE_ANY, WIRE_WRONG_TYPE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c = cursor_of(cases[i].text);
        double value = 0.5;
        const bool good = wire_read_real(&c, cases[i].range, &value);
        ck_assert_msg(good == (cases[i].cause == WIRE_OBB_OK), "%s", cases[i].text);
        ck_assert(good || (c.fault.cause == cases[i].cause && value == 0.5));
    }
}
END_TEST

START_TEST(whole_numbers_and_words_say_what_is_needed)
{
    static const obb_str words[] = {{"one", 3}, {"two", 3}};
    double whole;
    int word;
    struct wire_cursor c = cursor_of("7");
    ck_assert(wire_read_whole(&c, 2, 7, &whole) && whole == 7);
    c = cursor_of("2.5");
    ck_assert(!wire_read_whole(&c, 2, 7, &whole) && c.fault.cause == WIRE_OBB_BAD_VALUE);
    ck_assert_str_eq(c.fault.detail, "a whole number from 2 to 7 is needed here");
    c = cursor_of("2");
    ck_assert(!wire_read_whole(&c, 1, 1, &whole));
    ck_assert_str_eq(c.fault.detail, "1 is needed here");
    c = cursor_of("\"two\"");
    ck_assert(wire_read_word(&c, words, 2, &word) && word == 1);
    c = cursor_of("\"three\"");
    ck_assert(!wire_read_word(&c, words, 2, &word) && c.fault.cause == WIRE_OBB_BAD_VALUE);
    ck_assert_str_eq(c.fault.detail, "one of one, two is needed here");
}
END_TEST

START_TEST(a_vector_has_as_many_numbers_as_the_scene_has_dimensions)
{
    obb_vec3 v;
    struct wire_cursor c = cursor_of("[1,2]");
    ck_assert(wire_read_vector(&c, 2, WIRE_ANY, &v) && v.x == 1 && v.y == 2 && v.z == 0);
    c = cursor_of("[1,2]");
    ck_assert(!wire_read_vector(&c, 3, WIRE_ANY, &v) && c.fault.cause == WIRE_BAD_LENGTH);
    c = cursor_of("[1,2,3]");
    ck_assert(!wire_read_vector(&c, 2, WIRE_ANY, &v) && c.fault.cause == WIRE_BAD_LENGTH);
    c = cursor_of("[1,2,-3]");
    ck_assert(!wire_read_vector(&c, 3, WIRE_HALF_EXTENT, &v));
    ck_assert(c.fault.cause == WIRE_OBB_BAD_EXTENT && c.fault.item == 2);
}
END_TEST

/* Requests that name a box or an entity where @ stands, and the place of that. */
static const struct {
    int route;
    const char *text, *pointer;
} naming[] = {
    {DUMP_BOX, "{" POSE ",\"entity\":\"@\"}", "/entity"},
    {DUMP_MERGE, "{\"with\":[\"b\",\"@\"]}", "/with/1"},
    {DUMP_COMMIT, "{\"remove\":[\"@\"]}", "/remove/0"},
    {DUMP_COMMIT, "{\"put\":{\"@\":{" POSE "}}}", "/put/@"},
    {DUMP_COMMIT, "{\"pose\":{\"@\":{}}}", "/pose/@"},
    {DUMP_COMMIT, "{\"pose\":{\"names\":[\"@\"],\"centers\":[0,0,0]}}", "/pose/names/0"},
    {DUMP_COMMIT, "{\"transform\":{\"@\":{\"scale\":2}}}", "/transform/@"},
    {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"pairs\":[[\"a\",\"@\"]]}", "/pairs/0/1"},
    {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"pairs\":[1,\"@\"],\"by\":\"id\"}", "/pairs/1"},
    {DUMP_QUERY + OBB_QUERY_OVERLAP, "{\"shapes\":[\"@\"]}", "/shapes/0"},
    {DUMP_QUERY + OBB_QUERY_SWEEP, "{\"sweeps\":[{\"box\":\"@\",\"motion\":[0,0,1]}]}",
     "/sweeps/0/box"},
    {DUMP_QUERY + OBB_QUERY_NEAREST, "{\"boxes\":[\"@\"]}", "/boxes/0"},
    {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"filter\":{\"exclude\":[\"@\"]}}", "/filter/exclude/0"},
    {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"filter\":{\"exclude_entities\":[\"@\"]}}",
     "/filter/exclude_entities/0"},
};

#define BYTES_16  "0123456789abcdef"
#define BYTES_128 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16

enum { NAMING_ROOM = 512 };

/* The text with the name in the place of @, where it has one. */
static void put_name(char out[static NAMING_ROOM], const char *text, const char *name)
{
    const int before = (int)strcspn(text, "@");
    const bool has_place = text[before] == '@';
    (void)snprintf(out, NAMING_ROOM, "%.*s%s%s", before, text, has_place ? name : "",
                   has_place ? text + before + 1 : "");
}

START_TEST(names_are_checked_wherever_one_stands)
{
    static const char *const wrong[] = {"", ".", "..", "a\x7f", "\xc2\x85", BYTES_128 "0"};
    static const char *const right[] = {"a", "...", ".a", "\xc2\xa0", BYTES_128};
    size_t looked_at = 0;
    for (size_t i = 0; i < sizeof naming / sizeof *naming; i++) {
        char text[NAMING_ROOM], pointer[NAMING_ROOM];
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++, looked_at++) {
            put_name(text, naming[i].text, wrong[k]);
            put_name(pointer, naming[i].pointer, wrong[k]);
            const struct refusal refusal = {text, 422, pointer};
            check_refusals(naming[i].route, 3, &refusal, 1);
        }
        for (size_t k = 0; k < sizeof right / sizeof *right; k++, looked_at++) {
            put_name(text, naming[i].text, right[k]);
            check_taken(naming[i].route, 3, text);
        }
    }
    obb_query query;
    wire_problem problem;
    const wire_body body = json("{\"pairs\":[[\"a\",\"\"]]}");
    ck_assert(!wire_read_query(&body, OBB_QUERY_PAIRS, 3, &arena, &query, &problem));
    ck_assert_str_eq(problem.type, "bad-name");
    printf("%zu names\n", looked_at);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value");
    TCase *tc = tcase_create("value");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, numbers_have_ranges);
    tcase_add_test(tc, whole_numbers_and_words_say_what_is_needed);
    tcase_add_test(tc, a_vector_has_as_many_numbers_as_the_scene_has_dimensions);
    tcase_add_test(tc, names_are_checked_wherever_one_stands);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
