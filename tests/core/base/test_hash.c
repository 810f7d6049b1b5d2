#include "core/base/hash.h"
#include "core/base/word.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

/* Outputs of the authors' reference implementation (one round a word, three at the end) for the
 * bytes 00, 01, 02, ... of each length from 0 on, with the key 00 01 ... 0f. */
static const uint64_t reference[] = {
    0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb,
    0xcf75576088d38328, 0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140,
    0x369095118d299a8e, 0x25a48eb36c063de4, 0x79de85ee92ff097f, 0x70c118c1f94dc352,
    0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34, 0xd320d86d2a519956,
    0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c,
};
enum { REFERENCES = sizeof reference / sizeof reference[0] };

START_TEST(hashes_equal_those_of_the_reference_implementation)
{
    const obb_hash_key key = {.k0 = 0x0706050403020100, .k1 = 0x0f0e0d0c0b0a0908};
    for (size_t length = 0; length < REFERENCES; length++) {
        unsigned char *bytes = calloc(1, length + 1); /* exactly so many, for the sanitizer */
        ck_assert_ptr_nonnull(bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)i;
        ck_assert_uint_eq(obb_hash(key, bytes, length), reference[length]);
        free(bytes);
    }
}
END_TEST

START_TEST(keys_of_two_places_differ)
{
    const int places[2] = {0, 0};
    const obb_hash_key a = obb_hash_key_of_place(&places[0]), b = obb_hash_key_of_place(&places[1]);
    ck_assert(a.k0 != b.k0 && a.k1 != b.k1 && a.k0 != a.k1);
}
END_TEST

START_TEST(words_are_the_sums_of_their_bytes)
{
    test_rng rng = {.s = 20261124};
    size_t high = 0;
    for (size_t i = 0; i < 4000; i++) {
        const size_t count = i % 9;
        unsigned char *bytes = malloc(count + (count == 0)); /* exactly so many */
        ck_assert_ptr_nonnull(bytes);
        uint64_t want = 0;
        for (size_t k = 0; k < count; k++) {
            bytes[k] = (unsigned char)test_below(&rng, 256);
            want += (uint64_t)bytes[k] << (8 * k);
        }
        ck_assert_uint_eq(obb_word_of(bytes, count), want);
        if (count == 8) {
            unsigned char written[8];
            ck_assert_uint_eq(obb_word_at(bytes), want);
            obb_word_put(written, want);
            ck_assert_mem_eq(written, bytes, sizeof written);
        }
        high += want >> 63;
        free(bytes);
    }
    ck_assert_uint_gt(high, 100); /* of 444 words of eight bytes */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash");
    TCase *tc = tcase_create("hash");
    tcase_add_test(tc, words_are_the_sums_of_their_bytes);
    tcase_add_test(tc, hashes_equal_those_of_the_reference_implementation);
    tcase_add_test(tc, keys_of_two_places_differ);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
