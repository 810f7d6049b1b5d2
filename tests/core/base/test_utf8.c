#include "core/base/utf8.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sequence of a code point by the table of RFC 3629, 3, bit by bit; 0 for a surrogate or a
 * number that is too large. */
static size_t oracle_put(uint32_t code, unsigned char out[4])
{
    static const struct {
        uint32_t below;
        int bits;
        unsigned lead;
    } rows[4] = {{0x80, 0, 0x00}, {0x800, 1, 0xc0}, {0x10000, 2, 0xe0}, {0x110000, 3, 0xf0}};
    if (code >= 0xd800 && code <= 0xdfff)
        return 0;
    for (int r = 0; r < 4; r++)
        if (code < rows[r].below) {
            for (int i = rows[r].bits; i > 0; i--, code /= 64)
                out[i] = (unsigned char)(0x80 + code % 64);
            out[0] = (unsigned char)(rows[r].lead + code);
            return (size_t)rows[r].bits + 1;
        }
    return 0;
}

START_TEST(every_code_point_is_written_and_read)
{
    size_t written = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        unsigned char want[4] = {0};
        const size_t length = oracle_put(code, want);
        if (length == 0)
            continue;
        char got[4] = {0};
        ck_assert_uint_eq(obb_utf8_put(code, got), length);
        ck_assert_int_eq(memcmp(got, want, sizeof got), 0);
        for (size_t cut = 0; cut <= length; cut++) /* a sequence cut short is none */
            ck_assert_uint_eq(obb_utf8_length(got, got + cut), cut == length ? length : 0);
        written++;
    }
    ck_assert_uint_eq(written, 0x110000 - 0x800);
}
END_TEST

/* The first bytes of text that are valid are those that some code point is written as. */
START_TEST(nothing_else_is_a_sequence)
{
    static bool one[256], two[256 * 256], three[256 * 256 * 256];
    size_t four = 0, valid = 0, looked = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        unsigned char s[4] = {0};
        const size_t length = oracle_put(code, s);
        if (length == 1)
            one[s[0]] = true;
        else if (length == 2)
            two[s[0] << 8 | s[1]] = true;
        else if (length == 3)
            three[s[0] << 16 | s[1] << 8 | s[2]] = true;
        four += length == 4;
    }
    ck_assert_uint_eq(four, 0x100000);
    for (uint32_t i = 0; i < 256 * 256 * 256; i++) {
        const char text[3] = {(char)(i >> 16), (char)(i >> 8), (char)i};
        const size_t want = one[i >> 16] ? 1 : two[i >> 8] ? 2 : three[i] ? 3 : 0;
        const size_t got = obb_utf8_length(text, text + 3);
        if (got != want)
            ck_abort_msg("bytes %06x: %zu, not %zu", i, got, want);
        valid += want != 0;
        looked++;
    }
    printf("utf8: %zu of %zu texts of three bytes begin with a sequence\n", valid, looked);
    ck_assert(looked / 3 < valid && valid < looked * 2 / 3);
    /* the edges of four bytes: overlong, beyond U+10FFFF, and lead bytes that are none */
    const struct {
        const char *text;
        size_t length;
    } table[] = {
        {"\xf0\x8f\xbf\xbf", 0}, {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0}, {"\xf8\x88\x80\x80", 0},
        {"\xf1\x80\x80\x7f", 0}, {"\xf1\x80\xc0\x80", 0}, {"\xff\xbf\xbf\xbf", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        ck_assert_uint_eq(obb_utf8_length(table[i].text, table[i].text + 4), table[i].length);
}
END_TEST

/* The same verdict as one sequence after the other gives, wherever a sequence lies in the steps of
 * eight bytes. */
START_TEST(a_text_is_valid_if_all_of_it_is)
{
    test_rng rng = {.s = 20261227};
    size_t valid = 0;
    const size_t cases = test_effort(50000);
    for (size_t i = 0; i < cases; i++) {
        char text[40];
        size_t length = 0;
        const size_t want_length = (size_t)test_below(&rng, 36);
        while (length < want_length) {
            uint32_t code = (uint32_t)test_below(&rng, test_below(&rng, 4) != 0 ? 0x80 : 0x110000);
            unsigned char s[4];
            const size_t n = oracle_put(code, s);
            memcpy(text + length, s, n);
            length += n;
        }
        if (length > 0 && i % 2 == 1)
            text[test_below(&rng, length)] = (char)(0x80 + test_below(&rng, 0x80));
        bool want = true;
        for (const char *at = text; want && at < text + length;) {
            const size_t n = obb_utf8_length(at, text + length);
            want = n != 0;
            at += n;
        }
        char *exact = malloc(length + (length == 0)); /* a byte too far is seen by the sanitizer */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, text, length);
        ck_assert(obb_utf8_valid((obb_str){exact, length}) == want);
        free(exact);
        valid += want;
    }
    printf("utf8: %zu of %zu texts valid\n", valid, cases);
    ck_assert(cases / 3 < valid && valid < cases * 2 / 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("utf8");
    TCase *tc = tcase_create("utf8");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, every_code_point_is_written_and_read);
    tcase_add_test(tc, nothing_else_is_a_sequence);
    tcase_add_test(tc, a_text_is_valid_if_all_of_it_is);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
