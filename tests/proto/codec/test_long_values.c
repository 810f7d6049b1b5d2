/* Strings, numbers and white space of very many bytes: read as short ones are, and polled for
 * cancelling. */
#include "proto/base/number.h"
#include "proto/codec/long_number.h"
#include "proto/codec/walk.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/exact.h"
#include "tests/proto/oracle_json.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 5 << 20 };
static char text[ROOM];

static size_t add(size_t length, const char *more)
{
    for (; *more != '\0'; more++)
        text[length++] = *more;
    return length;
}

/* Writes `begin`, `filler` over and over for at least `bytes` bytes, and `end`. */
static size_t write_text(const char *begin, const char *filler, size_t bytes, const char *end)
{
    const size_t unit = strlen(filler);
    size_t length = add(0, begin);
    for (size_t i = 0; i < bytes; i += unit)
        length = add(length, filler);
    return add(length, end);
}

static const struct {
    const char *begin, *filler, *end;
} fillers[] = {
    {"[\"", "a", "\",1]"},    {"[\"", "\xc3\xa9", "\",1]"},
    {"[\"\\n", "a", "\",1]"}, {"[\"", "a", "\\u00e9\",1]"},
    {"[\"", "\\n", "\",1]"},  {"[\"", "\\ud83d\\ude00", "\",1]"},
    {"{\"", "a", "\":1}"},    {"{\"\\n", "a", "\":1}"},
    {"", " ", "[1]"},         {"[", "\n", "1]"},
    {"[1", "\t", ",2]"},      {"[1,", "\r", "[]]"},
    {"[\"a\"", " ", "]"},     {"{", " ", "\"a\":1}"},
    {"{\"a\"", " ", ":1}"},   {"{\"a\":", " ", "1}"},
    {"[1]", " ", ""},         {"[1", "0", "e-9999999]"},
    {"[0.", "0", "1]"},       {"[0.", "7", "]"},
    {"[1e-", "0", "5]"},      {"[-0.", "0", "]"},
};
enum { FILLERS = sizeof fillers / sizeof fillers[0] };

/* jansson is the oracle. */
START_TEST(long_values_are_read_as_short_ones)
{
    size_t looked_at = 0;
    for (size_t i = 0; i < FILLERS; i++)
        for (size_t bytes = WIRE_POLLED_BYTES - 14; bytes <= WIRE_POLLED_BYTES + 6; bytes++) {
            const size_t length =
                write_text(fillers[i].begin, fillers[i].filler, bytes, fillers[i].end);
            char *block = exact_copy(text, length);
            const char *difference;
            ck_assert_int_eq(oracle_json(block, length, &difference), ORACLE_TAKEN);
            ck_assert_msg(*difference == '\0', "%s...%s: %s", fillers[i].begin, fillers[i].end,
                          difference);
            exact_free(block, length);
            for (size_t cut = 1; cut <= 8; cut += 3) { /* prefixes, also within a sequence */
                block = exact_copy(text, length - cut);
                (void)oracle_json(block, length - cut, &difference);
                ck_assert_msg(*difference == '\0', "%s...%s: %s", fillers[i].begin, fillers[i].end,
                              difference);
                exact_free(block, length - cut);
            }
            looked_at++;
        }
    printf("%zu long documents\n", looked_at);
}
END_TEST

START_TEST(long_texts_of_cbor_are_checked)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    static const char *const sequences[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        for (size_t before = 0; before < 5; before++)
            for (int broken = 0; broken < 2; broken++) {
                static const char some[] = "xxxxx";
                char begin[8];
                (void)snprintf(begin, sizeof begin, "%.*s", (int)before, some);
                const size_t length = write_text(begin, sequences[i], (size_t)3 * WIRE_POLLED_BYTES,
                                                 broken ? "\x80" : "");
                if (broken) /* a byte that does not belong there */
                    memmove(text + WIRE_POLLED_BYTES, text + length - 1, 1);
                struct cbor_maker m = {0};
                maker_text(&m, text, length);
                struct wire_cursor c;
                obb_str got;
                wire_cbor_open(&c, (const char *)m.bytes, m.length, &arena);
                ck_assert_int_eq(wire_read_string(&c, &got) && wire_finish(&c), !broken);
                ck_assert(broken || obb_str_equal(got, (obb_str){text, length}));
                ck_assert(!broken || c.fault.cause == WIRE_MALFORMED);
                free(m.bytes);
            }
    obb_arena_fini(&arena);
}
END_TEST

static bool skip_all(struct wire_cursor *c) { return wire_skip(c) && wire_finish(c); }

/* Reads an array or object of strings, as a decoder does. */
static bool read_all(struct wire_cursor *c)
{
    obb_str got;
    if (wire_peek(c) == WIRE_KIND_OBJECT)
        return wire_enter_object(c) && wire_next_key(c, &got) && wire_skip(c) &&
               !wire_next_key(c, &got) && wire_finish(c);
    if (!wire_enter_array(c))
        return false;
    double number;
    while (wire_next_item(c)) {
        const wire_kind kind = wire_peek(c);
        if (!(kind == WIRE_KIND_STRING   ? wire_read_string(c, &got)
              : kind == WIRE_KIND_NUMBER ? wire_read_number(c, &number)
                                         : wire_skip(c)))
            return false;
    }
    return wire_finish(c);
}

static void check_polls(const char *bytes, size_t length, bool cbor,
                        bool (*read)(struct wire_cursor *c), const char *what)
{
    const atomic_bool cancel = false;
    size_t polls = 0;
    for (size_t n = 0; n <= polls; n += n < 3 || polls - n < 3 ? 1 : polls / 7 + 1) {
        struct obb_arena arena;
        struct wire_cursor c;
        obb_arena_init(&arena);
        fault_cancel(n);
        if (cbor)
            wire_cbor_open(&c, bytes, length, &arena);
        else
            wire_json_open_for(&c, bytes, length, &arena, &cancel);
        c.cancel = &cancel;
        const bool good = read(&c);
        if (n == 0)
            polls = fault_polls();
        fault_cancel(0);
        ck_assert_msg(good == (n == 0), "%s: %zu", what, n);
        ck_assert(good || c.fault.cause == (wire_cause)OBB_CANCELLED);
        obb_arena_fini(&arena);
    }
    ck_assert_msg(polls >= length / WIRE_POLLED_BYTES, "%s: %zu polls", what, polls);
}

START_TEST(long_values_are_polled)
{
    enum { LONG = 4 << 20 };
    for (size_t i = 0; i < FILLERS; i++) {
        const size_t length = write_text(fillers[i].begin, fillers[i].filler, LONG, fillers[i].end);
        check_polls(text, length, false, skip_all, fillers[i].begin);
        check_polls(text, length, false, read_all, fillers[i].begin);
    }
    struct cbor_maker m = {0};
    const size_t length = write_text("", "\xc3\xa9", LONG, "");
    maker_head(&m, 4, 1);
    maker_text(&m, text, length);
    check_polls((const char *)m.bytes, m.length, true, skip_all, "text");
    check_polls((const char *)m.bytes, m.length, true, read_all, "text");
    free(m.bytes);
}
END_TEST

/* Both readers give the same bits and the same end, of numbers and of what is none. */
START_TEST(both_readers_of_numbers_agree)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    test_rng rng = {.s = 20261130};
    const size_t cases = test_effort(100000);
    size_t numbers = 0, cut = 0;
    for (size_t i = 0; i < cases; i++) {
        static const char likely[] = "0123456789000999555..eE+--x";
        size_t length = 1 + test_below(&rng, 12);
        for (size_t k = 0; k < length; k++)
            text[k] = likely[test_below(&rng, sizeof likely - 1)];
        if (i % 3 == 0) { /* very many digits, mostly the same ones */
            length = 0;
            const size_t digits[] = {test_below(&rng, 900), test_below(&rng, 900)};
            const char digit = "09"[test_below(&rng, 2)];
            for (int part = 0; part < 2; part++) {
                text[length++] = (char)(part == 0 ? likely[test_below(&rng, 10)] : '.');
                for (size_t k = 0; k < digits[part]; k++)
                    text[length++] =
                        (char)(test_below(&rng, 40) > 0 ? digit : likely[test_below(&rng, 10)]);
            }
            length += (size_t)sprintf(text + length, "5e%d", (int)test_below(&rng, 1400) - 1000);
            cut += digits[0] + digits[1] > 800;
        }
        if (i % 3 == 1) /* a tie of two doubles, or a hair beside it */
            length =
                (size_t)sprintf(text, "%llu.%s%d", (1ULL << 53) + 2 * test_below(&rng, 1000) + 1,
                                test_below(&rng, 2) == 0 ? "" : "000000000000000000000000",
                                (int)test_below(&rng, 2));
        double wanted = 0.5, got = 0.5;
        struct wire_cursor c;
        wire_json_open(&c, text, length, &arena);
        const char *end = wire_number_read(text, text + length, &wanted);
        ck_assert_ptr_eq(wire_long_number_read(&c, text, &got), end);
        ck_assert_msg(end == NULL || test_same_bits(got, wanted), "%.*s: %a, not %a", (int)length,
                      text, got, wanted);
        numbers += end != NULL;
    }
    ck_assert_uint_gt(numbers, cases / 2);
    ck_assert_uint_gt(cut, cases / 10);
    printf("%zu texts, %zu numbers\n", cases, numbers);
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("long_values");
    TCase *tc = tcase_create("long_values");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, long_values_are_read_as_short_ones);
    tcase_add_test(tc, long_texts_of_cbor_are_checked);
    tcase_add_test(tc, long_values_are_polled);
    tcase_add_test(tc, both_readers_of_numbers_agree);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
