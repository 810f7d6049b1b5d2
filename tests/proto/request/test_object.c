#include "proto/request/object.h"
#include "tests/support/test.h"

#include <string.h>

enum { FIRST, SECOND, THIRD, COUNT };
static const obb_str fields[COUNT] = {
    [FIRST] = WIRE_FIELD("first"), [SECOND] = WIRE_FIELD("second"), [THIRD] = WIRE_FIELD("third")};

/* Reads an object of numbers; its fault, or WIRE_OBB_OK. */
static wire_cause read_object(const char *text, int needed, double values[static COUNT],
                              unsigned *seen, size_t *place)
{
    struct obb_arena arena;
    struct wire_cursor c;
    struct wire_object o;
    obb_arena_init(&arena);
    wire_json_open(&c, text, strlen(text), &arena);
    bool good = wire_object_enter(&o, &c, fields, COUNT);
    for (int field; good && (field = wire_object_next(&o)) >= 0;)
        good = wire_read_number(&c, &values[field]);
    good = good && !c.failed && (needed < 0 || wire_object_need(&o, needed));
    *seen = o.seen;
    *place = c.fault.place;
    const wire_cause cause = good ? WIRE_OBB_OK : c.fault.cause;
    obb_arena_fini(&arena);
    return cause;
}

START_TEST(fields_come_in_any_order_and_once)
{
    static const struct {
        const char *text;
        int needed; /* a field, or -1 */
        wire_cause cause;
        unsigned seen;
        size_t place; /* of the fault */
    } cases[] = {{"{}", -1, WIRE_OBB_OK, 0, 0},
                 {"{\"first\":1,\"second\":2,\"third\":3}", THIRD, WIRE_OBB_OK, 7, 0},
                 {"{\"third\":3,\"first\":1}", FIRST, WIRE_OBB_OK, 5, 0},
                 {" {\"third\":3}", FIRST, WIRE_MISSING_FIELD, 4, 1},
                 {"{\"first\":1,\"fourth\":4}", -1, WIRE_UNKNOWN_FIELD, 1, 20},
                 {"{\"first\":1,\"first\":1}", -1, WIRE_MALFORMED, 1, 10},
                 {"[]", -1, WIRE_WRONG_TYPE, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double values[COUNT] = {0.0};
        unsigned seen;
        size_t place;
        const wire_cause cause = read_object(cases[i].text, cases[i].needed, values, &seen, &place);
        ck_assert_msg(cause == cases[i].cause, "%s: %d", cases[i].text, (int)cause);
        ck_assert_uint_eq(seen, cases[i].seen);
        if (cause != WIRE_OBB_OK)
            ck_assert_msg(place == cases[i].place, "%s: %zu", cases[i].text, place);
        for (int field = 0; field < COUNT; field++)
            ck_assert(values[field] == ((seen >> field & 1) != 0 ? field + 1 : 0));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("object");
    TCase *tc = tcase_create("object");
    tcase_add_test(tc, fields_come_in_any_order_and_once);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
