#include "proto/request/orientation.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static wire_cause read_one(const char *text, enum wire_orientation_field field, int dimensions,
                           struct wire_orientation *out)
{
    struct obb_arena arena;
    struct wire_cursor c;
    obb_arena_init(&arena);
    wire_json_open(&c, text, strlen(text), &arena);
    const bool good = wire_read_orientation(&c, field, dimensions, out);
    const wire_cause cause = good ? WIRE_OBB_OK : c.fault.cause;
    obb_arena_fini(&arena);
    return cause;
}

START_TEST(the_ways_to_say_one_orientation_agree)
{
    /* a quarter turn about z */
    static const struct {
        enum wire_orientation_field field;
        const char *text;
    } cases[] = {
        {WIRE_ORIENTATION_ROTATION, "[0,0,0.7071067811865476,0.7071067811865476]"},
        {WIRE_ORIENTATION_AXES, "[[0,1,0],[-1,0,0]]"},
        {WIRE_ORIENTATION_AXES, "[[0,1,0],[-1,0,0],[0,0,1]]"},
        {WIRE_ORIENTATION_AXIS_ANGLE, "{\"degrees\":90,\"axis\":[0,0,3]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_orientation o = {.given = false};
        ck_assert_int_eq(read_one(cases[i].text, cases[i].field, 3, &o), WIRE_OBB_OK);
        ck_assert(o.given && o.place == 0);
        ck_assert(fabs(o.rotation.z - sqrt(0.5)) < 1e-15 && fabs(o.rotation.w - sqrt(0.5)) < 1e-15);
        /* a second one is a conflict, and leaves the first */
        ck_assert_int_eq(read_one("[0,0,0,1]", WIRE_ORIENTATION_ROTATION, 3, &o),
                         WIRE_FIELD_CONFLICT);
        ck_assert(o.rotation.z > 0.7);
    }
}
END_TEST

START_TEST(what_is_no_orientation_is_refused)
{
    static const struct {
        enum wire_orientation_field field;
        int dimensions;
        const char *text;
        wire_cause cause;
    } cases[] = {
        {WIRE_ORIENTATION_ANGLE, 2, "30", WIRE_OBB_OK},
        {WIRE_ORIENTATION_ANGLE, 3, "30", WIRE_UNKNOWN_FIELD},
        {WIRE_ORIENTATION_ROTATION, 2, "[0,0,0,1]", WIRE_UNKNOWN_FIELD},
        {WIRE_ORIENTATION_ROTATION, 3, "[0,0,0]", WIRE_BAD_LENGTH},
        {WIRE_ORIENTATION_AXES, 3, "[[1,0,0]]", WIRE_BAD_LENGTH},
        {WIRE_ORIENTATION_AXES, 3, "[[1,0,0],[0,1,0],[0,0,1],[0,0,1]]", WIRE_BAD_LENGTH},
        {WIRE_ORIENTATION_AXES, 3, "[[1,0,0],[1,0,0]]", WIRE_OBB_NOT_ORTHONORMAL},
        {WIRE_ORIENTATION_AXIS_ANGLE, 3, "{\"axis\":[0,0,0],\"degrees\":1}", WIRE_OBB_BAD_ROTATION},
        {WIRE_ORIENTATION_AXIS_ANGLE, 3, "{\"axis\":[0,0,1]}", WIRE_MISSING_FIELD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_orientation o = {.given = false};
        ck_assert_msg(read_one(cases[i].text, cases[i].field, cases[i].dimensions, &o) ==
                          cases[i].cause,
                      "%s", cases[i].text);
        ck_assert_int_eq(o.given, cases[i].cause == WIRE_OBB_OK);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("orientation");
    TCase *tc = tcase_create("orientation");
    tcase_add_test(tc, the_ways_to_say_one_orientation_agree);
    tcase_add_test(tc, what_is_no_orientation_is_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
