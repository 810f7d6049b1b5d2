#include "server/access/token_hash.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const char *hex(const unsigned char *bytes)
{
    static char text[65];
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

START_TEST(sha256_gives_the_published_digests)
{
    /* FIPS 180-4 examples, and lengths around the edges of a block */
    static char million[1000000];
    memset(million, 'a', sizeof million);
    const struct {
        const char *text;
        size_t length;
        const char *digest;
    } vectors[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {million, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {million, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        unsigned char digest[SRV_TOKEN_HASH];
        srv_token_hash(vectors[i].text, vectors[i].length, digest);
        ck_assert_str_eq(hex(digest), vectors[i].digest);
    }
}
END_TEST

START_TEST(every_bit_counts_and_nothing_beyond_the_end)
{
    unsigned char first[SRV_TOKEN_HASH], other[SRV_TOKEN_HASH];
    char text[70];
    memset(text, 'x', sizeof text);
    srv_token_hash(text, 69, first);
    text[69] = 'y'; /* beyond the end */
    srv_token_hash(text, 69, other);
    ck_assert_mem_eq(first, other, sizeof first);
    for (size_t bit = 0; bit < (size_t)69 * 8; bit++) {
        text[bit / 8] = (char)((unsigned char)text[bit / 8] ^ (1u << bit % 8));
        srv_token_hash(text, 69, other);
        ck_assert_mem_ne(first, other, sizeof first);
        text[bit / 8] = (char)((unsigned char)text[bit / 8] ^ (1u << bit % 8));
    }
    srv_token_hash(NULL, 0, first);
    srv_token_hash("", 0, other);
    ck_assert_mem_eq(first, other, sizeof first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token_hash");
    TCase *tc = tcase_create("token_hash");
    tcase_add_test(tc, sha256_gives_the_published_digests);
    tcase_add_test(tc, every_bit_counts_and_nothing_beyond_the_end);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
