#include "core/geometry/affine.h"

#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

static obb_status image(const obb_box *box, obb_vec3 x, obb_vec3 y, obb_vec3 z, int dimensions,
                        obb_box *out)
{
    return obb_box_linear_image(box, (obb_vec3[]){x, y, z}, dimensions, out);
}

START_TEST(the_image_of_a_box_has_the_images_of_its_corners)
{
    test_rng rng = {.s = 20261226};
    const size_t cases = test_effort(4000);
    long double worst = 0;
    size_t mirrors = 0, stretched = 0;
    for (size_t i = 0; i < cases; i++) {
        /* scale along the box's own axes, then a rigid motion: no shear */
        const obb_box box = random_box(&rng, 3);
        obb_vec3 scale = {1, 1, 1};
        if (i % 3 != 0) {
            scale = (obb_vec3){random_magnitude(&rng, 0.1, 10), random_magnitude(&rng, 0.1, 10),
                               random_magnitude(&rng, 0.1, 10)};
            stretched++;
        }
        if (i % 4 == 1) {
            scale.z = -scale.z;
            mirrors++;
        }
        long double own[3][3], rigid[16], exact[16], back[16];
        double m[16];
        oracle_rotation(box.rotation, own);
        random_rigid(&rng, (obb_vec3){1, 1, 1}, rigid);
        memcpy(exact, rigid, sizeof exact);
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) {
                exact[4 * j + k] = 0;
                for (int l = 0; l < 3; l++) {
                    long double a = 0; /* of the scale's matrix: row l, column j */
                    for (int n = 0; n < 3; n++)
                        a += own[l][n] * wide(obb_component(scale, n)) * own[j][n];
                    exact[4 * j + k] += rigid[4 * l + k] * a;
                }
            }
        oracle_narrowed(exact, m, back);
        obb_box got = box;
        ck_assert_int_eq(obb_box_affine_image(&got, m, &got), OBB_OK); /* in place */
        oracle_point want[8], have[8];
        oracle_corners(&box, 3, want);
        for (int k = 0; k < 8; k++)
            want[k] = oracle_apply(back, want[k]);
        oracle_corners(&got, 3, have);
        long double reach = 0;
        for (int k = 0; k < 8; k++)
            for (int l = 0; l < 3; l++)
                reach = fmaxl(reach, fabsl(want[k].at[l]));
        worst = fmaxl(worst, oracle_set_distance(want, have, 8) / reach);
        if (i % 3 == 0) /* a map that only turns or mirrors keeps the extents to the bit */
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
    }
    printf("affine: %zu images (%zu mirrors, %zu stretched), corners within %.3Lg\n", cases,
           mirrors, stretched, worst);
    ck_assert(worst <= 2e-14L);
    ck_assert_uint_gt(mirrors, cases / 5);
    ck_assert_uint_gt(stretched, cases / 2);
}
END_TEST

START_TEST(a_map_that_does_not_turn_keeps_the_rotation)
{
    const obb_box oblique = {{1, 2, 3}, {1, 2, 3}, {.z = 0.6, .w = 0.8}, 0};
    obb_box got;
    ck_assert_int_eq(
        image(&oblique, (obb_vec3){3, 0, 0}, (obb_vec3){0, 3, 0}, (obb_vec3){0, 0, 3}, 3, &got),
        OBB_OK);
    ck_assert(same_bits(&got.rotation, &oblique.rotation, sizeof got.rotation));
    ck_assert(got.center.x == 3 && got.center.y == 6 && got.center.z == 9);
    const obb_box planar = {{1, 2, 0}, {1, 2, 0}, {.w = 1}, 30};
    ck_assert_int_eq(
        image(&planar, (obb_vec3){0, 1, 0}, (obb_vec3){-1, 0, 0}, (obb_vec3){0}, 2, &got), OBB_OK);
    ck_assert_double_eq_tol(got.angle, 120, 1e-13);
    ck_assert(got.center.x == -2 && got.center.y == 1 && got.center.z == 0);
    ck_assert(same_bits(&got.rotation, &identity, sizeof identity));
}
END_TEST

START_TEST(maps_that_make_no_box_are_refused)
{
    const obb_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1}, no = {0};
    const obb_box box = {{1, 2, 3}, {1, 2, 3}, {.w = 1}, 0},
                  flat = {{1, 2, 3}, {1, 0, 3}, {.w = 1}, 0},
                  planar = {{1, 2, 0}, {1, 2, 0}, {.w = 1}, 0};
    const struct {
        const obb_box *box;
        obb_vec3 x, y, z;
        int dimensions;
        obb_status status;
    } table[] = {
        {&box, x, y, z, 3, OBB_OK},
        {&box, no, y, z, 3, OBB_OK}, /* flat: the cross product is its axis */
        {&box, no, no, z, 3, OBB_SINGULAR},
        {&box, {1, 1.1e-6, 0}, y, z, 3, OBB_SHEARED},
        {&flat, x, {1, 1, 0}, z, 3, OBB_OK}, /* where it has no extent it may lean */
        {&flat, {1, 0, 1}, y, z, 3, OBB_SHEARED},
        {&box, {1e-13, 1e-13, 0}, y, z, 3, OBB_OK}, /* perhaps the rounding of zero */
        {&box, {1e-11, 1e-11, 0}, y, z, 3, OBB_SHEARED},
        {&box, {HUGE_VAL, 0, 0}, y, z, 3, OBB_BAD_NUMBER},
        {&box, {2e9, 0, 0}, y, z, 3, OBB_OK}, /* the range is the caller's to check */
        {&planar, x, y, no, 2, OBB_OK},
        {&planar, no, y, z, 2, OBB_OK},
        {&planar, no, no, z, 2, OBB_SINGULAR},
        {&planar, {1, 1, 0}, y, z, 2, OBB_SHEARED},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        obb_box got = {.angle = 42};
        const obb_status st =
            image(table[i].box, table[i].x, table[i].y, table[i].z, table[i].dimensions, &got);
        ck_assert_msg(st == table[i].status, "row %zu: %s", i, obb_status_name(st));
        ck_assert(st == OBB_OK || got.angle == 42);
    }
    for (int i = 0; i < 16; i++) {
        double m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1};
        obb_box got = {.angle = 42};
        m[i] = (double)NAN;
        ck_assert_int_eq(obb_box_affine_image(&box, m, &got), OBB_BAD_NUMBER);
        m[i] = 0.5;
        if (i % 4 == 3)
            ck_assert_int_eq(obb_box_affine_image(&box, m, &got), OBB_BAD_VALUE);
        ck_assert_double_eq(got.angle, 42);
    }
}
END_TEST

START_TEST(images_too_short_for_a_double_still_turn_the_box)
{
    /* 1/8 of a turn about z, and a scale down to the smallest numbers */
    const obb_box box = {{0, 0, 0}, {1, 2, 3}, identity, 0.0};
    for (int exponent = -1074; exponent <= -1000; exponent++) {
        const double s = ldexp(1.0, exponent);
        obb_box got;
        ck_assert_int_eq(
            image(&box, (obb_vec3){s, s, 0}, (obb_vec3){-s, s, 0}, (obb_vec3){0, 0, s}, 3, &got),
            OBB_OK);
        ck_assert_double_eq_tol(got.rotation.z, sin(acos(-1) / 8), 1e-15);
        ck_assert_double_eq_tol(got.rotation.w, cos(acos(-1) / 8), 1e-15);
        ck_assert_int_eq(image(&(obb_box){{0, 0, 0}, {1, 2, 0}, identity, 0.0}, (obb_vec3){s, s, 0},
                               (obb_vec3){-s, s, 0}, (obb_vec3){0}, 2, &got),
                         OBB_OK);
        ck_assert_double_eq_tol(got.angle, 45.0, 1e-13);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("affine");
    TCase *tc = tcase_create("affine");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, the_image_of_a_box_has_the_images_of_its_corners);
    tcase_add_test(tc, a_map_that_does_not_turn_keeps_the_rotation);
    tcase_add_test(tc, maps_that_make_no_box_are_refused);
    tcase_add_test(tc, images_too_short_for_a_double_still_turn_the_box);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
