#include "proto/base/crc32c.h"
#include "tests/support/test.h"

#include <string.h>

/* The definition, bit by bit. */
static uint32_t slow(const unsigned char *bytes, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * length; i++) {
        const uint32_t bit = ((unsigned)bytes[i / 8] >> (i % 8) & 1u) ^ (crc & 1u);
        crc = crc >> 1 ^ (bit ? 0x82f63b78u : 0u);
    }
    return ~crc;
}

/* RFC 3720, appendix B.4. */
START_TEST(the_published_examples)
{
    unsigned char bytes[32];
    memset(bytes, 0, sizeof bytes);
    ck_assert_uint_eq(wire_crc32c(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(wire_crc32c(bytes, 32), 0x62a8ab43);
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(wire_crc32c(bytes, 32), 0x46dd794e);
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    ck_assert_uint_eq(wire_crc32c(bytes, 32), 0x113fdb5c);
    ck_assert_uint_eq(wire_crc32c("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(wire_crc32c("", 0), 0);
}
END_TEST

START_TEST(random_bytes_at_random_places)
{
    unsigned char bytes[600];
    test_rng rng = {32};
    for (size_t n = test_effort(2000); n > 0; n--) {
        const size_t from = test_below(&rng, 16), length = test_below(&rng, 500);
        for (size_t i = 0; i < length; i++)
            bytes[from + i] = (unsigned char)test_random(&rng);
        const uint32_t expected = slow(bytes + from, length);
        ck_assert_uint_eq(wire_crc32c(bytes + from, length), expected);
        ck_assert_uint_eq(wire_crc32c_plain(bytes + from, length), expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crc32c");
    TCase *tests = tcase_create("checksum");
    tcase_add_test(tests, the_published_examples);
    tcase_add_test(tests, random_bytes_at_random_places);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
