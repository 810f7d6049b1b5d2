#include "proto/request/request_copy.h"
#include "tests/proto/request/requests.h"

static bool read(const wire_body *body, struct obb_arena *room, wire_copy *out,
                 wire_problem *problem)
{
    return wire_read_copy(body, room, out, problem);
}

START_TEST(a_copy_is_read_from_both_media)
{
    static const char text[] = "{\"replace\":true,\"at\":{\"time\":5.5,\"clamp\":true},\"to\":"
                               "\"m\\u00fcde\"}";
    for (int media = 0; media < 2; media++) {
        struct cbor_maker m = {0};
        struct obb_arena own;
        obb_arena_init(&own);
        wire_copy copy;
        wire_problem problem;
        ck_assert(maker_from_json(&m, text, strlen(text), false));
        const wire_body body = media == 0 ? json(text)
                                          : (wire_body){.bytes = (const char *)m.bytes,
                                                        .length = m.length,
                                                        .media = WIRE_CBOR};
        ck_assert(read(&body, &own, &copy, &problem));
        ck_assert(obb_str_equal(copy.to, obb_str_of("m\xc3\xbc"
                                                    "de")));
        ck_assert(copy.replace && copy.has_at && copy.at.kind == OBB_AT_TIME);
        ck_assert(copy.at.time == 5.5 && copy.at.clamp);
        obb_arena_fini(&own);
        free(m.bytes);
    }
}
END_TEST

START_TEST(what_is_left_out_is_not_so)
{
    struct obb_arena own;
    obb_arena_init(&own);
    wire_copy copy;
    wire_problem problem;
    const wire_body body = json("{\"to\":\"t\"}"), bare = json("{}");
    ck_assert(read(&body, &own, &copy, &problem));
    ck_assert(!copy.replace && !copy.has_at && obb_str_equal(copy.to, obb_str_of("t")));
    ck_assert(!read(&bare, &own, &copy, &problem));
    ck_assert(problem.status == 422 && obb_str_equal(copy.to, obb_str_of("t"))); /* as it was */
    obb_arena_fini(&own);
}
END_TEST

START_TEST(copies_that_are_wrong_are_refused)
{
    static const struct refusal refusals[] = {
        {"", 422, ""},
        {"[]", 422, ""},
        {"{\"replace\":true}", 422, ""},
        {"{\"to\":null}", 422, "/to"},
        {"{\"to\":[\"t\"]}", 422, "/to"},
        {"{\"to\":\"\"}", 422, "/to"},
        {"{\"to\":\".\"}", 422, "/to"},
        {"{\"to\":\"..\"}", 422, "/to"},
        {"{\"to\":\"a\\u0007\"}", 422, "/to"},
        {"{\"to\":\"t\",\"replace\":1}", 422, "/replace"},
        {"{\"to\":\"t\",\"replace\":null}", 422, "/replace"},
        {"{\"to\":\"t\",\"at\":{}}", 422, "/at"},
        {"{\"to\":\"t\",\"at\":{\"clamp\":true}}", 422, "/at"},
        {"{\"to\":\"t\",\"at\":{\"time\":1e309}}", 422, "/at/time"},
        {"{\"to\":\"t\",\"at\":{\"time\":1e16}}", 422, "/at/time"},
        {"{\"to\":\"t\",\"at\":{\"revision\":-1}}", 422, "/at/revision"},
        {"{\"to\":\"t\",\"at\":{\"ago\":-1}}", 422, "/at/ago"},
        {"{\"to\":\"t\",\"at\":{\"time\":1,\"revision\":1}}", 422, "/at/revision"},
        {"{\"to\":\"t\",\"at\":{\"when\":1}}", 422, "/at/when"},
        {"{\"to\":\"t\",\"name\":\"u\"}", 422, "/name"},
        {"{\"to\":\"t\",\"to\":\"t\"}", 400, NULL},
        {"{\"to\":\"t\",\"at\":{\"time\":1,\"time\":1}}", 400, NULL},
        {"{\"to\":\"t\"", 400, NULL},
        {"{\"to\":\"t\",\"at\":{\"time\":NaN}}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_COPY, 3, refusals);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_copy");
    TCase *tc = tcase_create("request_copy");
    tcase_add_test(tc, a_copy_is_read_from_both_media);
    tcase_add_test(tc, what_is_left_out_is_not_so);
    tcase_add_test(tc, copies_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
