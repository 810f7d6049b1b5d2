#include "tests/proto/request/requests.h"

START_TEST(transforms_are_read)
{
    obb_transform_edit change;
    wire_problem problem;
    wire_body body = json("{\"rotate\":{\"axis\":[0,1,0],\"degrees\":180},\"space\":\"local\","
                          "\"scale\":2,\"translate\":[1,2,3]}");
    ck_assert(wire_read_transform(&body, 3, obb_str_of("door"), &arena, &change, &problem));
    const obb_transform *t = &change.transform;
    ck_assert(obb_str_equal(change.target.name, obb_str_of("door")));
    ck_assert(t->has_rotate && t->has_scale && t->has_translate && !t->has_matrix && t->local);
    ck_assert(t->translate.z == 3 && t->scale.x == 2 && t->scale.z == 2);
    ck_assert(fabs(t->rotate.y - 1) < 1e-15);
    body = json("{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,5,0,0,1],\"space\":\"world\"}");
    ck_assert(wire_read_transform(&body, 3, obb_str_of("door"), &arena, &change, &problem));
    ck_assert(t->has_matrix && !t->has_rotate && t->matrix[12] == 5);
    body = json("{\"rotate\":90,\"scale\":[2,3]}");
    ck_assert(wire_read_transform(&body, 2, obb_str_of("door"), &arena, &change, &problem));
    ck_assert(t->angle == 90 && t->scale.y == 3 && t->scale.z == 1);
    check_same(DUMP_TRANSFORM, 2, "{\"rotate\":90,\"scale\":2}",
               "{\"rotate\":{\"degrees\":90},\"scale\":[2,2]}");
    check_taken(DUMP_TRANSFORM, 3, "{\"rotate\":[0,0,0,5],\"scale\":[-1,1,0.5]}");

    static const struct refusal refusals[] = {
        {"", 422, ""},
        {"{}", 422, ""},
        {"{\"space\":\"local\"}", 422, ""},
        {"{\"translate\":[1,2]}", 422, "/translate"},
        {"{\"translate\":[1,2,2e9]}", 422, "/translate/2"},
        {"{\"rotate\":5}", 422, "/rotate"},
        {"{\"rotate\":[0,0,0,0]}", 422, "/rotate"},
        {"{\"rotate\":{\"axis\":[0,0,0],\"degrees\":5}}", 422, "/rotate/axis"},
        {"{\"scale\":[1,1]}", 422, "/scale"},
        {"{\"scale\":\"2\"}", 422, "/scale"},
        {"{\"scale\":2,\"space\":\"box\"}", 422, "/space"},
        {"{\"scale\":2,\"space\":1}", 422, "/space"},
        {"{\"scale\":2,\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"scale\":2}", 422, "/scale"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"space\":\"local\"}", 422, "/space"},
        {"{\"matrix\":[1,0,0,0]}", 422, "/matrix"},
        {"{\"move\":[1,2,3]}", 422, "/move"},
        {"{\"scale\":2,\"scale\":2}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_TRANSFORM, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"rotate\":[0,0,0,1]}", 422, "/rotate"},
        {"{\"rotate\":{\"axis\":[0,0,1],\"degrees\":5}}", 422, "/rotate/axis"},
        {"{\"rotate\":{}}", 422, "/rotate"},
        {"{\"scale\":[1,1,1]}", 422, "/scale"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
    };
    CHECK_REFUSALS(DUMP_TRANSFORM, 2, planar);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_transform");
    TCase *tc = tcase_create("request_transform");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, transforms_are_read);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
