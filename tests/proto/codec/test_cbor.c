#include "proto/codec/cursor.h"
#include "proto/codec/out.h"
#include "proto/codec/walk.h"
#include "proto/wire.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/exact.h"
#include "tests/proto/oracle_cbor.h"
#include "tests/support/test.h"

#include <stdio.h>

static struct obb_arena arena;
static char *opened; /* what the cursor of the moment reads */
static size_t opened_length;

static void close_bytes(void)
{
    if (opened != NULL)
        exact_free(opened, opened_length);
    opened = NULL;
}

static void start(void) { obb_arena_init(&arena); }

static void stop(void)
{
    close_bytes();
    obb_arena_fini(&arena);
}

/* Opens a copy of exactly the bytes' size, which lives until the next is opened. */
static struct wire_cursor open_bytes(const void *bytes, size_t length)
{
    struct wire_cursor c;
    close_bytes();
    opened = exact_copy(bytes, length);
    opened_length = length;
    wire_cbor_open(&c, opened, length, &arena);
    return c;
}

#define OPEN(literal) open_bytes(literal, sizeof literal - 1)

/* Is the whole a value that we take? Whatever we take libcbor's own reader must take, too. */
static bool taken(const void *bytes, size_t length)
{
    struct wire_cursor c = open_bytes(bytes, length);
    const bool ours = wire_skip(&c) && wire_finish(&c);
    if (ours) {
        ck_assert(oracle_cbor(bytes, length));
    } else {
        ck_assert_int_eq(c.fault.cause, WIRE_MALFORMED);
        ck_assert_int_eq(wire_cursor_explain(&c).status, 400);
    }
    return ours;
}

#define BYTES(literal)              \
    {                               \
        literal, sizeof literal - 1 \
    }

#define ZEROS_16  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ZEROS_128 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16

START_TEST(numbers_of_every_width_are_read)
{
    static const struct {
        obb_str bytes;
        double value;
    } cases[] = {
        {BYTES("\x00"), 0},
        {BYTES("\x17"), 23},
        {BYTES("\x18\xff"), 255},
        {BYTES("\x19\xff\xff"), 65535},
        {BYTES("\x1a\xff\xff\xff\xff"), 4294967295.0},
        {BYTES("\x1b\x00\x20\x00\x00\x00\x00\x00\x00"), 9007199254740992.0},
        {BYTES("\x1b\xff\xff\xff\xff\xff\xff\xff\xff"), 18446744073709551616.0},
        {BYTES("\x20"), -1},
        {BYTES("\x37"), -24},
        {BYTES("\x38\xff"), -256},
        {BYTES("\x39\xff\xff"), -65536},
        {BYTES("\x3a\xff\xff\xff\xff"), -4294967296.0},
        {BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), -18446744073709551616.0},
        {BYTES("\xf9\x3c\x00"), 1},
        {BYTES("\xf9\x80\x00"), -0.0},
        {BYTES("\xf9\x00\x01"), 0x1p-24},
        {BYTES("\xf9\x7b\xff"), 65504},
        {BYTES("\xfa\x3f\x80\x00\x00"), 1},
        {BYTES("\xfa\x3d\xcc\xcc\xcd"), (double)0.1f},
        {BYTES("\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), 0.1},
        {BYTES("\xfb\x80\x00\x00\x00\x00\x00\x00\x00"), -0.0},
        {BYTES("\x1b\x00\x00\x00\x00\x00\x00\x00\x05"), 5}, /* not the shortest, yet well-formed */
        {BYTES("\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x08\x00"), 0x1p64}, /* a tie to even */
        {BYTES("\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x08\x01"), 0x1.0000000000001p64},
        {BYTES("\xc3\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00"), -0x1p64},
        {BYTES("\xd8\x02\x41\x07"), 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c = open_bytes(cases[i].bytes.bytes, cases[i].bytes.length);
        double got;
        ck_assert_int_eq(wire_peek(&c), WIRE_KIND_NUMBER);
        ck_assert(wire_read_number(&c, &got) && wire_finish(&c));
        ck_assert_msg(got == cases[i].value && signbit(got) == signbit(cases[i].value), "%zu: %a",
                      i, got);
    }
    static const obb_str infinite[] = {
        BYTES("\xf9\x7c\x00"), BYTES("\xf9\x7e\x00"), BYTES("\xfa\xff\x80\x00\x00"),
        BYTES("\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00"), BYTES("\xc2\x58\x81\x01" ZEROS_128)};
    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++) {
        struct wire_cursor c = open_bytes(infinite[i].bytes, infinite[i].length);
        double got;
        ck_assert(!wire_read_number(&c, &got));
        ck_assert_int_eq(c.fault.cause, WIRE_OBB_BAD_NUMBER);
        ck_assert(taken(infinite[i].bytes, infinite[i].length)); /* well-formed all the same */
    }
}
END_TEST

START_TEST(what_is_not_well_formed_or_hostile_is_refused)
{
    static const obb_str cases[] = {
        BYTES(""),
        BYTES("\x18"),
        BYTES("\x1b\x00"),
        BYTES("\xfb\x00\x00"),
        BYTES("\x00\x00"),                                 /* something follows */
        BYTES("\x61"),                                     /* a text that ends early */
        BYTES("\x7b\xff\xff\xff\xff\xff\xff\xff\xff\x00"), /* of 2^64 - 1 bytes */
        BYTES("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff\x00"),
        BYTES("\x82\x00"),
        BYTES("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"), /* 2^64 - 1 items */
        BYTES("\x9a\x7f\xff\xff\xff\x00\x00\x00"),
        BYTES("\xa1\x61\x61"),
        BYTES("\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00"),
        BYTES("\xbb\x80\x00\x00\x00\x00\x00\x00\x00\x00"), /* twice this wraps to 0 */
        BYTES("\xba\x00\x00\x00\x02\x61\x61\x00"),
        BYTES("\x9f\xff"), /* indefinite lengths */
        BYTES("\xbf\xff"),
        BYTES("\x7f\x61\x61\xff"),
        BYTES("\x5f\x41\x61\xff"),
        BYTES("\xff"), /* a break and nothing else */
        BYTES("\x81\xff"),
        BYTES("\x1c"), /* reserved */
        BYTES("\x3d"),
        BYTES("\xfc"),
        BYTES("\xf8"),
        BYTES("\xf8\x10"), /* a simple value in two bytes that has one */
        BYTES("\xf8\x1f"),
        BYTES("\x62\xc3\x28"),                 /* not UTF-8 */
        BYTES("\x63\xed\xa0\x80"),             /* a surrogate */
        BYTES("\xa1\x61\xff\x00"),             /* in a key */
        BYTES("\xa1\x00\x00"),                 /* a key that is no text */
        BYTES("\xa1\x41\x61\x00"),             /* nor are bytes */
        BYTES("\xa1\x80\x00"),                 /* nor is an array */
        BYTES("\xa2\x61\x61\x00\x61\x61\x00"), /* a key twice */
        BYTES("\x81\xa2\x61\x61\x00\x61\x61\x01"),
        BYTES("\xc1"), /* a tag of nothing */
        BYTES("\xd8\x56"),
        BYTES("\xd8\x56\x48\x00\x00"), /* a typed array that ends early */
        BYTES("\xd8\x56\x5b\xff\xff\xff\xff\xff\xff\xff\xf8"),
        BYTES("\xd8\x55\x5b\x7f\xff\xff\xff\xff\xff\xff\xfc\x00\x00\x00\x00"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(!taken(cases[i].bytes, cases[i].length), "case %zu", i);
    ck_assert_uint_eq(arena.total <= 1 << 16,
                      1); /* nothing was set aside for what was only promised */
    printf("%zu refused, %zu bytes of memory\n", sizeof cases / sizeof *cases, arena.total);
}
END_TEST

START_TEST(what_json_has_not_is_well_formed_but_of_the_wrong_type)
{
    static const obb_str cases[] = {
        BYTES("\x41\x61"), /* bytes */
        BYTES("\xf7"),     /* undefined */
        BYTES("\xe0"),     /* a simple value that means nothing yet */
        BYTES("\xf3"),
        BYTES("\xf8\x20"),
        BYTES("\xf8\xff"),
        BYTES("\xc6\x00"), /* a tag that means nothing yet */
        BYTES("\xd4\xe5"),
        BYTES("\xc1\x00"),                     /* a time */
        BYTES("\xc2\x01"),                     /* a big number without bytes */
        BYTES("\xc4\x82\x20\x01"),             /* a decimal fraction */
        BYTES("\xd9\xd9\xf7\x00"),             /* says that it is CBOR */
        BYTES("\xd8\x51\x44\x00\x00\x80\x3f"), /* a typed array big end first */
        BYTES("\xd8\x56\x44\x00\x00\x00\x00"), /* half an element */
        BYTES("\xd8\x56\x00"),                 /* a typed array of no bytes */
        BYTES("\xd8\x56\xd8\x56\x40"),
        BYTES("\xc1\xc1\xc1\xc1\xa1\x61\x61\x00"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c = open_bytes(cases[i].bytes, cases[i].length);
        double numbers[4];
        size_t count;
        ck_assert_int_eq(wire_peek(&c), WIRE_KIND_OTHER);
        ck_assert(!wire_read_numbers(&c, numbers, 4, &count));
        const wire_problem problem = wire_cursor_explain(&c);
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.type, "wrong-type");
        ck_assert_str_eq(problem.pointer, "");
        ck_assert(taken(cases[i].bytes, cases[i].length));
        c = open_bytes(cases[i].bytes, cases[i].length);
        obb_str text;
        ck_assert(!wire_capture(&c, &text)); /* nor can it be data */
        ck_assert_int_eq(wire_cursor_explain(&c).status, 422);
    }
}
END_TEST

START_TEST(typed_arrays_are_arrays_of_numbers)
{
    static const double values[] = {0, 1.5, -2.25, 1e6, 3};
    enum { COUNT = 5 };
    static const unsigned tags[] = {MAKER_F64, MAKER_F32};
    for (size_t t = 0; t < 2; t++) {
        struct cbor_maker m = {0};
        maker_head(&m, 4, 2); /* [typed, 7] */
        maker_typed(&m, tags[t], values, COUNT);
        maker_head(&m, 0, 7);
        double got[COUNT];
        size_t count;

        struct wire_cursor c = open_bytes(m.bytes, m.length);
        ck_assert(wire_enter_array(&c) && wire_next_item(&c));
        ck_assert(wire_read_numbers(&c, got, COUNT, &count));
        ck_assert_uint_eq(count, COUNT);
        ck_assert_mem_eq(got, values, sizeof values);
        ck_assert(wire_next_item(&c) && wire_read_number(&c, got) && got[0] == 7);
        ck_assert(!wire_next_item(&c) && wire_finish(&c));

        c = open_bytes(m.bytes, m.length); /* one by one */
        ck_assert(wire_enter_array(&c) && wire_next_item(&c) && wire_enter_array(&c));
        for (int i = 0; i < COUNT; i++)
            ck_assert(wire_next_item(&c) && wire_peek(&c) == WIRE_KIND_NUMBER &&
                      wire_read_number(&c, got) && got[0] == values[i]);
        ck_assert(!wire_next_item(&c) && wire_next_item(&c) && wire_read_number(&c, got));
        ck_assert(!wire_next_item(&c) && wire_finish(&c));

        c = open_bytes(m.bytes, m.length); /* as a column, without a copy */
        struct wire_column column;
        const size_t before = arena.total;
        ck_assert(wire_enter_array(&c) && wire_next_item(&c) && wire_read_column(&c, &column));
        ck_assert_uint_eq(column.count, COUNT);
        ck_assert((const char *)column.values > c.start && (const char *)column.values < c.end);
        ck_assert_uint_eq(arena.total, before);
        wire_column_get(&column, 1, 3, got);
        ck_assert_mem_eq(got, values + 1, 3 * sizeof *got);

        c = open_bytes(m.bytes, m.length);
        ck_assert(wire_enter_array(&c) && wire_next_item(&c));
        ck_assert(!wire_read_numbers(&c, got, COUNT - 1, &count));
        ck_assert_int_eq(c.fault.cause, WIRE_BAD_LENGTH);
        free(m.bytes);
    }
    static const double ids[] = {1, 2, 4294967295.0};
    struct cbor_maker m = {0};
    maker_typed(&m, MAKER_U32, ids, 3);
    struct wire_cursor c = open_bytes(m.bytes, m.length);
    struct wire_column column;
    double got[3];
    ck_assert(wire_read_column(&c, &column) && wire_finish(&c) && column.type == WIRE_U32LE);
    wire_column_get(&column, 0, 3, got);
    ck_assert_mem_eq(got, ids, sizeof ids);
    free(m.bytes);
}
END_TEST

START_TEST(a_fault_in_a_typed_array_names_the_element)
{
    static const double values[] = {0, 1, (double)NAN, 3};
    struct cbor_maker m = {0};
    maker_head(&m, 5, 1);
    maker_text(&m, "center", 6);
    maker_typed(&m, MAKER_F64, values, 4);
    double got[4];
    size_t count;
    obb_str key;
    struct wire_cursor c = open_bytes(m.bytes, m.length);
    ck_assert(wire_enter_object(&c) && wire_next_key(&c, &key));
    ck_assert(!wire_read_numbers(&c, got, 4, &count));
    wire_problem problem = wire_cursor_explain(&c);
    ck_assert_int_eq(problem.status, 422);
    ck_assert_str_eq(problem.pointer, "/center/2");
    c = open_bytes(m.bytes, m.length); /* and when it is read one by one */
    ck_assert(wire_enter_object(&c) && wire_next_key(&c, &key) && wire_enter_array(&c));
    while (wire_next_item(&c) && wire_read_number(&c, got))
        continue;
    problem = wire_cursor_explain(&c);
    ck_assert_str_eq(problem.pointer, "/center/2");
    free(m.bytes);
}
END_TEST

START_TEST(depth_is_bounded)
{
    for (int levels = 63; levels <= 66; levels++) {
        char bytes[128];
        memset(bytes, '\x81', sizeof bytes);
        bytes[levels - 1] = '\x80';
        ck_assert_int_eq(taken(bytes, (size_t)levels), levels <= WIRE_DEPTH);
    }
    enum { WALL = 1 << 20 };
    char *wall = malloc(WALL);
    ck_assert_ptr_nonnull(wall);
    memset(wall, '\x81', WALL);
    ck_assert(!taken(wall, WALL));
    memset(wall, '\xc1', WALL); /* tags are levels, too */
    ck_assert(!taken(wall, WALL));
    wall[WALL - 1] = '\x00';
    struct wire_cursor c = open_bytes(wall, WALL);
    ck_assert(!wire_skip(&c));
    ck_assert_uint_eq(c.fault.place, WIRE_DEPTH); /* the rest is not looked at */
    free(wall);
    for (int tags = 0; tags <= 66; tags++)
        for (int arrays = 63 - tags > 0 ? 63 - tags : 0; arrays + tags <= 66; arrays++) {
            char bytes[128];
            memset(bytes, '\x81', sizeof bytes);
            memset(bytes + arrays, '\xc1', (size_t)tags);
            bytes[arrays + tags] = '\x00';
            ck_assert_int_eq(taken(bytes, (size_t)(arrays + tags) + 1),
                             arrays + tags <= WIRE_DEPTH);
        }
}
END_TEST

START_TEST(data_becomes_json)
{
    static const struct {
        obb_str bytes;
        const char *text;
    } cases[] = {
        {BYTES("\xf6"), "null"},
        {BYTES("\x82\xf5\xf4"), "[true,false]"},
        {BYTES("\xa1\x61\x61\x83\x01\x20\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00"),
         "{\"a\":[1,-1,1.5]}"},
        {BYTES("\x1b\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615"},
        {BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), "-18446744073709551616"},
        {BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xfe"), "-18446744073709551615"},
        {BYTES("\x1b\x00\x20\x00\x00\x00\x00\x00\x01"), "9007199254740993"},
        {BYTES("\xfb\x80\x00\x00\x00\x00\x00\x00\x00"), "-0.0"},
        {BYTES("\x65\x61\x00\x22\x5c\x0a"), "\"a\\u0000\\\"\\\\\\n\""},
        {BYTES("\xd8\x55\x48\x00\x00\x80\x3f\x00\x00\x20\xc0"), "[1,-2.5]"},
        {BYTES("\xd8\x46\x44\x07\x00\x00\x00"), "[7]"},
        {BYTES("\xd8\x46\x40"), "[]"},
        {BYTES("\x84\xc2\x40\xc3\x40\xc2\x42\x00\x07\xc3\x41\xff"), "[0,-1,7,-256]"},
        {BYTES("\xc3\x49\x00\xff\xff\xff\xff\xff\xff\xff\xff"), "-18446744073709551616"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c = open_bytes(cases[i].bytes.bytes, cases[i].bytes.length);
        obb_str got;
        ck_assert(wire_capture(&c, &got) && wire_finish(&c));
        ck_assert_msg(obb_str_equal(got, obb_str_of(cases[i].text)), "%.*s", (int)got.length,
                      got.bytes);
    }
    struct wire_cursor c = OPEN("\x82\x01\xf9\x7e\x00");
    obb_str got;
    ck_assert(!wire_capture(&c, &got));
    const wire_problem problem = wire_cursor_explain(&c);
    ck_assert_int_eq(problem.status, 422);
    ck_assert_str_eq(problem.pointer, "/1");
}
END_TEST

/* JSON text as data to CBOR, and back. */
static void check_there_and_back(const char *json, struct wire_buf *cbor)
{
    struct wire_out out = wire_out_cbor(cbor);
    wire_out_data(&out, obb_str_of(json));
    ck_assert(!cbor->failed);
    struct wire_cursor c = open_bytes(cbor->bytes, cbor->length);
    obb_str got;
    ck_assert_msg(wire_capture(&c, &got) && wire_finish(&c), "%s", json);
    ck_assert_msg(obb_str_equal(got, obb_str_of(json)), "%s: %.*s", json, (int)got.length,
                  got.bytes);
}

START_TEST(whole_numbers_of_any_size_come_and_go)
{
    static const struct {
        const char *json;
        obb_str cbor;
    } cases[] = {
        {"18446744073709551615", BYTES("\x1b\xff\xff\xff\xff\xff\xff\xff\xff")},
        {"18446744073709551616", BYTES("\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00")},
        {"18446744073709551617", BYTES("\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x01")},
        {"-9223372036854775809", BYTES("\x3b\x80\x00\x00\x00\x00\x00\x00\x00")},
        {"-18446744073709551616", BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xff")},
        {"-18446744073709551617", BYTES("\xc3\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00")},
        {"1000000000000000000000000000000",
         BYTES("\xc2\x4d\x0c\x9f\x2c\x9c\xd0\x46\x74\xed\xea\x40\x00\x00\x00")},
        {"-1000000000000000000000000000000",
         BYTES("\xc3\x4d\x0c\x9f\x2c\x9c\xd0\x46\x74\xed\xea\x3f\xff\xff\xff")},
        {"[340282366920938463463374607431768211455,-340282366920938463463374607431768211457]",
         BYTES("\x82\xc2\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
               "\xc3\x51\x01" ZEROS_16)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_buf cbor = {0};
        check_there_and_back(cases[i].json, &cbor);
        ck_assert_msg(obb_str_equal((obb_str){cbor.bytes, cbor.length}, cases[i].cbor), "%s",
                      cases[i].json);
        wire_buf_fini(&cbor);
    }

    test_rng rng = {.s = 2026};
    const size_t count = test_effort(20000);
    size_t bignums = 0, negative = 0;
    for (size_t i = 0; i < count; i++) {
        char text[1 + WIRE_BIGNUM_DIGITS + 1], *to = text;
        if (test_below(&rng, 2) == 0)
            *to++ = '-';
        negative += to > text;
        *to++ = (char)('1' + test_below(&rng, 9));
        /* a run of one digit carries far */
        const bool run = test_below(&rng, 4) == 0;
        const uint64_t digit = 9 * test_below(&rng, 2);
        for (size_t left = test_below(&rng, WIRE_BIGNUM_DIGITS - 1); left > 0; left--)
            *to++ = (char)('0' + (run && left > 1 ? digit : test_below(&rng, 10)));
        *to = '\0';
        struct wire_buf cbor = {0};
        check_there_and_back(text, &cbor);
        bignums += (unsigned char)cbor.bytes[0] >> 5 == 6;
        wire_buf_fini(&cbor);
    }
    ck_assert_uint_gt(bignums, count / 2);
    ck_assert_uint_gt(negative, count / 3);
    printf("%zu whole numbers, %zu of them bignums\n", count, bignums);
}
END_TEST

START_TEST(bignums_end_where_doubles_do)
{
    enum { MOST = 130 };
    unsigned char bytes[3 + MOST] = {0xc2, 0x58};
    obb_str got;
    for (unsigned tag = 2; tag <= 3; tag++)
        for (unsigned length = 0; length <= MOST; length++) {
            const double above = ldexp(1.0, 8 * (int)length);
            bytes[0] = (unsigned char)(0xc0 | tag);
            bytes[2] = (unsigned char)length;
            memset(bytes + 3, 0xff, length);
            struct wire_cursor c = open_bytes(bytes, 3 + length);
            double number = 0.0;
            const bool read = wire_read_number(&c, &number);
            ck_assert_int_eq(read,
                             length < WIRE_BIGNUM_BYTES); /* 2^1024 - 1 is out of range, too */
            if (read)
                ck_assert_double_eq(number, tag == 2 ? above - 1.0 : -above);
            c = open_bytes(bytes, 3 + length);
            ck_assert_int_eq(wire_capture(&c, &got), read);
            if (!read)
                ck_assert_str_eq(wire_cursor_explain(&c).type, "bad-number");
            ck_assert(taken(bytes, 3 + length));
        }
    bytes[0] = 0xc2; /* zeros may come before the number, however many */
    memset(bytes + 3, 0, MOST);
    bytes[2 + MOST] = 42;
    struct wire_cursor c = open_bytes(bytes, sizeof bytes);
    ck_assert(wire_capture(&c, &got) && obb_str_equal(got, obb_str_of("42")));
}
END_TEST

START_TEST(random_bytes_are_taken_only_when_libcbor_takes_them)
{
    test_rng rng = {.s = 11};
    const size_t cases = test_effort(200000);
    size_t good = 0;
    for (size_t i = 0; i < cases; i++) {
        unsigned char bytes[24];
        const size_t length = 1 + test_below(&rng, sizeof bytes);
        static const unsigned char likely[] = {0x80, 0x81, 0x82, 0x83, 0xa0, 0xa1, 0x61,
                                               0x62, 0x41, 0xd8, 0x55, 0x56, 0x46, 0x44,
                                               0x48, 0xf5, 0xf6, 0xf9, 0xfa, 0xfb};
        for (size_t k = 0; k < length; k++)
            bytes[k] = test_below(&rng, 2) == 0 ? likely[test_below(&rng, sizeof likely)]
                                                : (unsigned char)test_random(&rng);
        good += taken(bytes, length);
    }
    ck_assert_uint_gt(good, cases / 200);
    ck_assert_uint_lt(good, cases / 2);
    printf("%zu random inputs, %zu taken\n", cases, good);
}
END_TEST

START_TEST(columns_of_a_commit_come_from_typed_arrays)
{
    enum { COUNT = 1000 };
    static double ids[COUNT], centers[3 * COUNT], rotations[4 * COUNT];
    test_rng rng = {.s = 3};
    for (int i = 0; i < COUNT; i++) {
        ids[i] = i + 1;
        rotations[4 * i + 3] = 1;
        for (int k = 0; k < 3; k++)
            centers[3 * i + k] = (double)(float)test_uniform(&rng, -100, 100);
    }
    static const unsigned tags[] = {MAKER_F64, MAKER_F32};
    for (size_t t = 0; t < 2; t++) {
        struct cbor_maker m = {0};
        maker_head(&m, 5, 1);
        maker_text(&m, "pose", 4);
        maker_head(&m, 5, 3);
        maker_text(&m, "ids", 3);
        maker_typed(&m, MAKER_U32, ids, COUNT);
        maker_text(&m, "centers", 7);
        maker_typed(&m, tags[t], centers, (size_t)3 * COUNT);
        maker_text(&m, "rotations", 9);
        maker_typed(&m, tags[t], rotations, (size_t)4 * COUNT);
        const wire_body body = {
            .bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
        wire_commit commit;
        wire_problem problem;
        ck_assert(wire_read_commit(&body, 3, &arena, &commit, &problem));
        ck_assert(commit.form.pose_ids && commit.edit.pose_count == COUNT);
        for (int i = 0; i < COUNT; i++) {
            const obb_pose *pose = &commit.edit.poses[i];
            const double *center = centers + (ptrdiff_t)3 * i;
            ck_assert(pose->target.has_id && pose->target.id == (uint64_t)i + 1);
            ck_assert(pose->has_center && pose->center.x == center[0] &&
                      pose->center.z == center[2]);
            ck_assert(pose->has_rotation && pose->rotation.w == 1);
        }
        /* NaN in a column is found where it is */
        const size_t width = tags[t] == MAKER_F64 ? 8 : 4;
        memset(m.bytes + m.length - (4 * (size_t)COUNT - 402) * width, 0xff, width);
        ck_assert(!wire_read_commit(&body, 3, &arena, &commit, &problem));
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.pointer, "/pose/rotations/402");
        free(m.bytes);
    }
}
END_TEST

/* {"put":{"names":[..],"centers","half_extents"}} of these names, of which name `at` is `bytes` as
 * they are, unless `bytes` is NULL. */
static struct cbor_maker columns_of_names(size_t count, size_t at, const char *bytes, size_t length)
{
    static const double zeros[3 * 200];
    struct cbor_maker m = {0};
    char name[300];
    maker_head(&m, 5, 1);
    maker_text(&m, "put", 3);
    maker_head(&m, 5, 3);
    maker_text(&m, "names", 5);
    maker_head(&m, 4, count);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%0*zu", (int)(3 + i % 126), i);
        if (i == at && bytes != NULL)
            maker_put(&m, bytes, length);
        else
            maker_text(&m, name, strlen(name));
    }
    maker_text(&m, "centers", 7);
    maker_typed(&m, MAKER_F64, zeros, 3 * count);
    maker_text(&m, "half_extents", 12);
    maker_typed(&m, MAKER_F64, zeros, 3);
    return m;
}

/* Of 3 to 128 bytes, so with heads of one byte and of two. */
START_TEST(names_of_columns_are_read_many_at_a_time)
{
    static const size_t counts[] = {1, 63, 64, 65, 128, 200};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        struct cbor_maker m = columns_of_names(counts[k], 0, NULL, 0);
        const wire_body body = {
            .bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
        wire_commit commit;
        wire_problem problem;
        ck_assert(wire_read_commit(&body, 3, &arena, &commit, &problem));
        ck_assert_uint_eq(commit.edit.put_count, counts[k]);
        for (size_t i = 0; i < counts[k]; i++) {
            char name[300];
            (void)snprintf(name, sizeof name, "%0*zu", (int)(3 + i % 126), i);
            ck_assert(obb_str_equal(commit.edit.put_columns->names[i], obb_str_of(name)));
        }
        free(m.bytes);
    }
}
END_TEST

START_TEST(a_name_of_columns_that_is_none_is_refused_where_it_stands)
{
    enum { COUNT = 200 };
    static char long_name[3 + 129];
    memset(long_name, 'n', sizeof long_name);
    long_name[0] = 0x78;
    long_name[1] = (char)129;
    static char long_head[5] = {0x79, 0, 2, 'o', 'k'}; /* accepted: not the shortest head */
    const struct {
        const char *bytes;
        size_t length;
        int status; /* 200: a name like any other */
    } cases[] = {
        {"\140", 1, 422},
        {"\141.", 2, 422},
        {"\142..", 3, 422},
        {"\143a\037b", 4, 422},
        {"\143a\177b", 4, 422},
        {"\142\302\205", 3, 422}, /* a C1 control */
        {long_name, 2 + 129, 422},
        {"\012", 1, 422},
        {"\366", 1, 422},
        {"\101n", 2, 422},
        {"\200", 1, 422},
        {"\141\377", 2, 400},
        {"\143\355\240\200", 4, 400}, /* a surrogate */
        {"\142\303\251", 3, 200},
        {"\170\002ok", 4, 200},
        {long_head, 5, 200},
    };
    static const size_t places[] = {0, 1, 63, 64, 100, 199};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            struct cbor_maker m =
                columns_of_names(COUNT, places[p], cases[k].bytes, cases[k].length);
            const wire_body body = {
                .bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
            wire_commit commit;
            wire_problem problem;
            char pointer[40];
            (void)snprintf(pointer, sizeof pointer, "/put/names/%zu", places[p]);
            const bool good = wire_read_commit(&body, 3, &arena, &commit, &problem);
            ck_assert_msg(good == (cases[k].status == 200), "case %zu at %zu", k, places[p]);
            if (!good)
                ck_assert_msg(problem.status == cases[k].status &&
                                  (problem.status == 400 || strcmp(problem.pointer, pointer) == 0),
                              "case %zu at %zu: %d at %s", k, places[p], problem.status,
                              problem.pointer);
            else
                ck_assert_uint_eq(commit.edit.put_count, COUNT);
            free(m.bytes);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cbor");
    TCase *tc = tcase_create("cbor");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, numbers_of_every_width_are_read);
    tcase_add_test(tc, what_is_not_well_formed_or_hostile_is_refused);
    tcase_add_test(tc, what_json_has_not_is_well_formed_but_of_the_wrong_type);
    tcase_add_test(tc, typed_arrays_are_arrays_of_numbers);
    tcase_add_test(tc, a_fault_in_a_typed_array_names_the_element);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, data_becomes_json);
    tcase_add_test(tc, whole_numbers_of_any_size_come_and_go);
    tcase_add_test(tc, bignums_end_where_doubles_do);
    tcase_add_test(tc, random_bytes_are_taken_only_when_libcbor_takes_them);
    tcase_add_test(tc, columns_of_a_commit_come_from_typed_arrays);
    tcase_add_test(tc, names_of_columns_are_read_many_at_a_time);
    tcase_add_test(tc, a_name_of_columns_that_is_none_is_refused_where_it_stands);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
