/* Packed boxes: bounds that hold the box in doubles and little more, and limits on the safe side of
 * a margin. */
#include "core/index/packed.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

enum { BOXES = 500 };

static bool holds(const obb_bounds *outer, const obb_bounds *inner, double spare)
{
    return outer->min.x <= inner->min.x + spare && inner->max.x <= outer->max.x + spare &&
           outer->min.y <= inner->min.y + spare && inner->max.y <= outer->max.y + spare &&
           outer->min.z <= inner->min.z + spare && inner->max.z <= outer->max.z + spare;
}

START_TEST(bounds_of_a_packed_box_hold_the_box_and_little_more)
{
    static obb_box boxes[BOXES];
    size_t looked_at = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++) {
        boxes_make(kind, BOXES, 3, 20261130, boxes);
        for (size_t i = 0; i < BOXES; i++, looked_at++) {
            const obb_solid solid = obb_solid_from_box(&boxes[i], 3);
            const struct obb_packed packed = obb_packed_from_box(&boxes[i], 3);
            const obb_bounds exact = obb_solid_bounds(&solid), bounds = obb_packed_bounds(&packed);
            ck_assert_msg(holds(&bounds, &exact, 0), "%s, box %zu", boxes_name(kind), i);
            ck_assert_msg(holds(&exact, &bounds, 2 * (double)packed.slack), "%s, box %zu is wide",
                          boxes_name(kind), i);
        }
    }
    (void)printf("packed: %zu boxes\n", looked_at);
    ck_assert_uint_ge(looked_at, (size_t)BOXES * BOXES_KINDS);
}
END_TEST

START_TEST(a_centre_keeps_twice_the_digits_of_a_float)
{
    static obb_box boxes[BOXES];
    size_t beyond_a_float = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++) {
        boxes_make(kind, BOXES, 3, 20261131, boxes);
        for (size_t i = 0; i < BOXES; i++) {
            const struct obb_packed packed = obb_packed_from_box(&boxes[i], 3);
            for (int k = 0; k < 3; k++) {
                const double c = obb_component(boxes[i].center, k);
                const double kept = (double)packed.hi[k] + (double)packed.lo[k];
                ck_assert_double_le(fabs(kept - c), fabs(c) * 0x1p-48 + 0x1p-149);
                beyond_a_float += (double)packed.hi[k] != c;
            }
        }
    }
    ck_assert_uint_gt(beyond_a_float, (size_t)BOXES * BOXES_KINDS);
}
END_TEST

/* Two boxes of the plane overlap in space where they do in the plane, so z may part none of
 * them. */
START_TEST(boxes_of_the_plane_stand_upright_and_reach_as_far_as_they_are_wide)
{
    static obb_box boxes[BOXES];
    boxes_make(BOXES_UNIFORM, BOXES, 2, 20261132, boxes);
    for (size_t i = 0; i < BOXES; i++) {
        const obb_solid solid = obb_solid_from_box(&boxes[i], 2);
        const struct obb_packed packed = obb_packed_from_box(&boxes[i], 2);
        const struct obb_packed same = obb_packed_from_solid(&solid);
        const obb_vec3 half = boxes[i].half_extents;
        ck_assert_mem_eq(&packed, &same, sizeof packed);
        ck_assert_double_eq((double)packed.half[2], (double)(float)(half.x + half.y));
        ck_assert_double_eq((double)packed.u[2], 0);
        ck_assert_double_eq((double)packed.v[2], 0);
        ck_assert_double_eq((double)packed.hi[2] + (double)packed.lo[2], 0);
    }
}
END_TEST

START_TEST(limits_are_on_the_safe_side_of_the_margin)
{
    test_rng rng = {.s = 20261133};
    size_t rounded = 0;
    for (size_t i = 0; i < test_effort(10000); i++) {
        const double size = pow(10.0, test_uniform(&rng, -9, 9));
        const double margin = i == 0 ? 0 : i % 2 == 0 ? size : -size;
        const struct obb_limits limits = obb_limits_of(margin);
        const double ulps = fabs(margin) * 0x1p-21 + 0x1p-148;
        ck_assert_double_ge((double)limits.face, margin);
        ck_assert_double_le((double)limits.face, margin + ulps);
        ck_assert_double_ge((double)limits.cross, fmax(margin, 0));
        ck_assert_double_le((double)limits.cross, fmax(margin, 0) + ulps);
        ck_assert_double_le((double)limits.sure, fmin(margin, 0));
        ck_assert_double_ge((double)limits.sure, fmin(margin, 0) - ulps);
        ck_assert_double_ge((double)limits.error, fabs(margin) * OBB_PACKED_ERROR);
        ck_assert_double_le((double)limits.error, fabs(margin) * OBB_PACKED_ERROR + ulps);
        rounded += (double)limits.face != margin;
    }
    ck_assert_uint_gt(rounded, test_effort(10000) / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed");
    TCase *tc = tcase_create("packed");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, bounds_of_a_packed_box_hold_the_box_and_little_more);
    tcase_add_test(tc, a_centre_keeps_twice_the_digits_of_a_float);
    tcase_add_test(tc, boxes_of_the_plane_stand_upright_and_reach_as_far_as_they_are_wide);
    tcase_add_test(tc, limits_are_on_the_safe_side_of_the_margin);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
