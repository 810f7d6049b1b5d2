#include "tests/proto/request/requests.h"

#define TAIL  "0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HASH  "0" TAIL
#define GOOD  "\"name\":\"ops\",\"sha256\":\"" HASH "\",\"scopes\":[\"read\",\"admin\"]"
#define OTHER "\"name\":\"ops\",\"sha256\":\"f" TAIL "\",\"scopes\":[\"read\"]"

static bool read(const char *text, const wire_token **out, size_t *count, wire_problem *problem)
{
    const wire_body body = json(text);
    return wire_read_tokens(&body, &arena, out, count, problem);
}

START_TEST(tokens_are_read)
{
    const wire_token *tokens;
    size_t count;
    wire_problem problem;
    ck_assert(read("{\"tokens\":[]}", &tokens, &count, &problem) && count == 0);
    ck_assert(read("{\"tokens\":[{" GOOD ",\"scenes\":[\"*\",\"yard-*\"],"
                   "\"expires\":\"2000-02-29T12:34:56Z\"},{" OTHER ",\"scenes\":[\"a\"]}]}",
                   &tokens, &count, &problem));
    ck_assert_uint_eq(count, 2);
    ck_assert(obb_str_equal(tokens[0].name, obb_str_of("ops")));
    ck_assert(tokens[0].scopes == (WIRE_SCOPE_READ | WIRE_SCOPE_ADMIN));
    ck_assert(tokens[0].sha256[1] == 0x11 && tokens[0].sha256[31] == 0xff);
    ck_assert(tokens[0].scene_count == 2);
    ck_assert(obb_str_equal(tokens[0].scenes[1], obb_str_of("yard-*")));
    ck_assert(tokens[0].expires && tokens[0].expiry == 951827696); /* date -d ... +%s */
    ck_assert(!tokens[1].expires);
}
END_TEST

START_TEST(tokens_that_are_wrong_are_refused)
{
    static const struct refusal cases[] = {
        {"", 422, ""},
        {"{\"tokens\":{}}", 422, "/tokens"},
        {"{\"tokens\":[{" GOOD "}]}", 422, "/tokens/0"},
        {"{\"tokens\":[{" GOOD ",\"scenes\":[]}]}", 422, "/tokens/0/scenes"},
        {"{\"tokens\":[{\"scopes\":[]}]}", 422, "/tokens/0/scopes"},
        {"{\"tokens\":[{\"scopes\":[\"root\"]}]}", 422, "/tokens/0/scopes/0"},
        {"{\"tokens\":[{\"sha256\":\"00\"}]}", 422, "/tokens/0/sha256"},
        {"{\"tokens\":[{\"sha256\":"
         "\"AA112233445566778899aabbccddeeff00112233445566778899aabbccddeef"
         "f\"}]}",
         422, "/tokens/0/sha256"},
        {"{\"tokens\":[{\"expires\":\"2001-02-29T00:00:00Z\"}]}", 422, "/tokens/0/expires"},
        {"{\"tokens\":[{\"expires\":\"2001-02-28 00:00:00Z\"}]}", 422, "/tokens/0/expires"},
        {"{\"tokens\":[{\"expires\":\"2001-02-28T24:00:00Z\"}]}", 422, "/tokens/0/expires"},
        {"{\"tokens\":[{\"token\":\"secret\"}]}", 422, "/tokens/0/token"},
        {"{\"tokens\":[{" GOOD ",\"scenes\":[\"*\"]},{" OTHER ",\"scenes\":[\"*\"]},"
         "{\"sha256\":\"\\u0030" TAIL
         "\",\"name\":\"b\",\"scopes\":[\"read\"],\"scenes\":[\"*\"]}]}",
         422, "/tokens/2/sha256"},
        {"{\"tokens\":[", 400, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wire_token *tokens;
        size_t count;
        wire_problem problem;
        ck_assert_msg(!read(cases[i].text, &tokens, &count, &problem), "%s", cases[i].text);
        ck_assert_int_eq(problem.status, cases[i].status);
        if (cases[i].pointer == NULL)
            ck_assert_ptr_null(problem.pointer);
        else
            ck_assert_str_eq(problem.pointer, cases[i].pointer);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_tokens");
    TCase *tc = tcase_create("request_tokens");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, tokens_are_read);
    tcase_add_test(tc, tokens_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
