#include "core/obb.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Boxes along the coordinate axes: every answer is exact --------------------------------------------- */

/* Axis i of the box is coordinate axis (i + turn) % 3, in alternating directions. */
static obb_solid aligned(obb_vec3 center, obb_vec3 half_extents, int turn)
{
    static const obb_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    obb_solid box = {.center = center, .dimensions = 3};
    const double h[3] = {half_extents.x, half_extents.y, half_extents.z};
    double own[3];
    for (int i = 0; i < 3; i++) {
        const int k = (i + turn) % 3;
        box.axis[i] = turn % 2 == 1 && i > 0 ? obb_negate(unit[k]) : unit[k];
        own[i] = h[k];
    }
    box.half_extents = (obb_vec3){own[0], own[1], own[2]};
    return box;
}

START_TEST(exact_contact_of_aligned_boxes_is_a_gap_of_zero)
{
    test_rng rng = {.s = 20261120};
    size_t cases = test_effort(20000), beyond = 0;
    for (size_t n = 0; n < cases; n++) {
        /* Multiples of 2^-20 below 2^10: every sum is exact, so contact is exact. */
        double c[3], ha[3], hb[3], d[3];
        for (int i = 0; i < 3; i++) {
            c[i] = ((double)test_below(&rng, 1u << 30) - 0x1p29) * 0x1p-20;
            ha[i] = (double)test_below(&rng, 1u << 24) * 0x1p-20;
            hb[i] = (double)test_below(&rng, 1u << 24) * 0x1p-20;
            const double reach = ha[i] + hb[i];
            d[i] = floor(test_uniform(&rng, -1, 1) * reach * 0x1p20) * 0x1p-20;
        }
        const int k = (int)test_below(&rng, 3);
        d[k] = test_below(&rng, 2) ? ha[k] + hb[k] : -(ha[k] + hb[k]);
        const obb_solid a = aligned((obb_vec3){c[0], c[1], c[2]}, (obb_vec3){ha[0], ha[1], ha[2]},
                                    (int)test_below(&rng, 6));
        const obb_solid b = aligned((obb_vec3){c[0] + d[0], c[1] + d[1], c[2] + d[2]},
                                    (obb_vec3){hb[0], hb[1], hb[2]}, (int)test_below(&rng, 6));
        const obb_separation s = obb_sat_separation(&a, &b);
        ck_assert_double_eq(s.gap, 0.0);
        ck_assert(obb_sat_overlap(&a, &b));
        ck_assert_int_eq(obb_sat_relation(&a, &b), OBB_TOUCHING);

        /* The next double beyond contact, where the sum is still exact, is apart. */
        obb_solid off = b;
        double *coordinate = k == 0 ? &off.center.x : k == 1 ? &off.center.y : &off.center.z;
        *coordinate += d[k] > 0 ? 0x1p-20 : -0x1p-20;
        ck_assert(!obb_sat_overlap(&a, &off));
        ck_assert_double_eq(obb_sat_separation(&a, &off).gap, 0x1p-20);
        beyond++;
    }
    ck_assert_uint_ge(beyond, 20000);
}
END_TEST

START_TEST(axis_names_are_in_the_order_of_the_contract)
{
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "a.%c", "xyz"[i]);
        ck_assert_str_eq(obb_sat_axis_name(i), name);
        (void)snprintf(name, sizeof name, "b.%c", "xyz"[i]);
        ck_assert_str_eq(obb_sat_axis_name(3 + i), name);
        for (int j = 0; j < 3; j++) {
            (void)snprintf(name, sizeof name, "a.%c*b.%c", "xyz"[i], "xyz"[j]);
            ck_assert_str_eq(obb_sat_axis_name(6 + 3 * i + j), name);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sat");
    TCase *tc = tcase_create("sat");
    tcase_add_test(tc, exact_contact_of_aligned_boxes_is_a_gap_of_zero);
    tcase_add_test(tc, axis_names_are_in_the_order_of_the_contract);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
