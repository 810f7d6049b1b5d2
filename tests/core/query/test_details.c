#include "core/query/details.h"

#include "core/obb.h"
#include "tests/support/test.h"

static obb_solid cube_at(double x)
{
    const obb_box box = {.center = {x, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}};
    return obb_solid_from_box(&box, 3);
}

START_TEST(details_say_what_is_wanted_and_no_more)
{
    const obb_solid a = cube_at(0), apart = cube_at(5), half = cube_at(1);
    const obb_details none = obb_details_of(OBB_WANT_DATA | OBB_WANT_POSE, &a, &half);
    ck_assert(none.volume == 0.0 && none.separation.gap == 0.0 && none.witness.distance == 0.0);

    const obb_details away = obb_details_of(OBB_WANT_OF_PAIR, &a, &apart);
    ck_assert_int_eq(away.relation, obb_sat_relation(&a, &apart));
    ck_assert_double_eq(away.separation.gap, 3.0);
    ck_assert_double_eq(away.witness.distance, 3.0);
    ck_assert(away.volume == 0.0 && away.iou == 0.0);

    const obb_details over = obb_details_of(OBB_WANT_MTV | OBB_WANT_VOLUME, &a, &half);
    ck_assert_double_eq(over.separation.gap, -1.0);
    ck_assert_double_eq_tol(over.volume, 4.0, 1e-12);
    ck_assert_double_eq_tol(over.iou, 4.0 / 12.0, 1e-12);
    ck_assert_double_eq(over.witness.distance, 0.0);
}
END_TEST

START_TEST(a_box_shares_all_of_itself)
{
    const obb_solid a = cube_at(3);
    const obb_details same = obb_details_of(OBB_WANT_VOLUME, &a, &a);
    ck_assert_double_eq_tol(same.volume, 8.0, 1e-12);
    ck_assert_double_eq_tol(same.iou, 1.0, 1e-12);
    ck_assert_double_le(same.iou, 1.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("details");
    TCase *tc = tcase_create("details");
    tcase_add_test(tc, details_say_what_is_wanted_and_no_more);
    tcase_add_test(tc, a_box_shares_all_of_itself);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
