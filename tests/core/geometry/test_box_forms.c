#include "core/geometry/angle.h"
#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};
static const obb_vec3 origin = {0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

START_TEST(a_pose_is_checked_and_kept)
{
    const double nan = (double)NAN, inf = HUGE_VAL;
    const struct {
        obb_vec3 center, half;
        obb_quat rotation;
        double angle;
        obb_status in_space, in_plane;
    } table[] = {
        {{1, 2, 3}, {1, 2, 3}, {0, 0, 0, 1}, 30, OBB_OK, OBB_OK},
        {{1e9, -1e9, 1e9}, {1e9, 0, 0}, {0, 0, 0, 1}, 0, OBB_OK, OBB_OK},
        {{1.0000001e9, 0, 0}, {1, 1, 1}, {0, 0, 0, 1}, 0, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, nan, 0}, {1, 1, 1}, {0, 0, 0, 1}, 0, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, -inf}, {1, 1, 1}, {0, 0, 0, 1}, 0, OBB_BAD_NUMBER, OBB_OK},
        {{0, 0, 0}, {1, 2e9, 1}, {0, 0, 0, 1}, 0, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, 0}, {1, nan, 1}, {0, 0, 0, 1}, 0, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, 0}, {-1e-300, 1, 1}, {0, 0, 0, 1}, 0, OBB_BAD_EXTENT, OBB_BAD_EXTENT},
        {{0, 0, 0}, {1, 1, -1}, {0, 0, 0, 1}, 0, OBB_BAD_EXTENT, OBB_OK},
        {{0, 0, 0}, {-0.0, 0, 0}, {0, 0, 0, 1}, 0, OBB_OK, OBB_OK},
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 0, 0}, 0, OBB_BAD_ROTATION, OBB_OK},
        {{0, 0, 0}, {-1, 1, 1}, {0, 0, 0, 0}, 0, OBB_BAD_EXTENT, OBB_BAD_EXTENT},
        {{0, 0, 0}, {-1, 1, 1}, {0, 0, nan, 0}, nan, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 0, 1}, inf, OBB_OK, OBB_BAD_NUMBER},
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 0, 1}, 1e300, OBB_OK, OBB_OK},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int d = 2; d <= 3; d++) {
            obb_box box = {.angle = 42};
            const obb_status want = d == 3 ? table[i].in_space : table[i].in_plane;
            const obb_status got = obb_box_from_pose(table[i].center, table[i].half,
                                                     table[i].rotation, table[i].angle, d, &box);
            ck_assert_msg(got == want, "row %zu in %d dimensions: %d", i, d, got);
            if (got != OBB_OK) {
                ck_assert_double_eq(box.angle, 42);
                continue;
            }
            const obb_box kept = {
                .center = {table[i].center.x, table[i].center.y, d == 3 ? table[i].center.z : 0},
                .half_extents = {table[i].half.x, table[i].half.y, d == 3 ? table[i].half.z : 0},
                .rotation = identity,
                .angle = d == 3 ? 0 : table[i].angle};
            ck_assert(same_bits(&box, &kept, sizeof box));
        }
    ck_assert_int_eq(obb_bad_coordinate((obb_vec3){1e9, -1e9, 0}), -1);
    ck_assert_int_eq(obb_bad_coordinate((obb_vec3){nan, inf, 0}), 0);
    ck_assert_int_eq(obb_bad_coordinate((obb_vec3){0, -inf, nan}), 1);
    ck_assert_int_eq(obb_bad_coordinate((obb_vec3){0, 0, 1e10}), 2);
    ck_assert_int_eq(obb_bad_extent((obb_vec3){0, -0.0, 1}), -1);
    ck_assert_int_eq(obb_bad_extent((obb_vec3){-1, -1, 1}), 0);
    ck_assert_int_eq(obb_bad_extent((obb_vec3){1, -1e-9, -1}), 1);
    ck_assert_int_eq(obb_bad_extent((obb_vec3){1, 1, -1}), 2);
}
END_TEST

START_TEST(min_and_max_turn_about_the_position)
{
    test_rng rng = {.s = 20261214};
    long double worst = 0;
    size_t looked = 0;
    for (int i = 0; i < 4000; i++) {
        const int d = 2 + i % 2;
        const obb_vec3 a = random_vector(&rng, -10, 10), b = random_vector(&rng, -10, 10);
        const obb_vec3 min = obb_min(a, b), max = obb_max(a, b);
        const obb_vec3 position = random_vector(&rng, -100, 100);
        const obb_quat q = random_rotation(&rng);
        const double angle = test_uniform(&rng, -400, 400);
        obb_box box;
        ck_assert_int_eq(obb_box_from_min_max(min, max, position, q, angle, d, &box), OBB_OK);
        /* the corners one by one: position + R * local */
        long double m[16] = {0}, r[3][3];
        if (d == 3)
            oracle_rotation(q, r);
        else
            oracle_axis_angle((obb_vec3){0, 0, 1}, angle, r);
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++)
                m[4 * j + k] = r[k][j];
            m[12 + j] = d == 2 && j == 2 ? 0 : wide(obb_component(position, j));
        }
        oracle_point want[8], got[8];
        const size_t count = oracle_corners(&box, d, got);
        for (size_t k = 0; k < count; k++) {
            const obb_vec3 local = {(k & 1) != 0 ? max.x : min.x, (k & 2) != 0 ? max.y : min.y,
                                    d == 2         ? 0
                                    : (k & 4) != 0 ? max.z
                                                   : min.z};
            const oracle_point p = {{wide(local.x), wide(local.y), wide(local.z)}};
            want[k] = oracle_apply(m, p);
        }
        worst = fmaxl(worst, oracle_set_distance(want, got, count));
        looked++;
    }
    printf("box_forms: %zu of min and max, corners within %.3Lg at 100\n", looked, worst);
    ck_assert(worst <= 1e-13L);

    obb_box box;
    const obb_vec3 one = {1, 1, 1};
    ck_assert_int_eq(obb_box_from_min_max((obb_vec3){-3, 0.25, 7}, (obb_vec3){5, 0.75, 7},
                                          (obb_vec3){1, 2, 3},
                                          (obb_quat){.y = sqrt(0.5), .w = sqrt(0.5)}, 0, 3, &box),
                     OBB_OK);
    ck_assert(box.center.x == 8 && box.center.y == 2.5 && box.center.z == 2);
    ck_assert(box.half_extents.x == 4 && box.half_extents.y == 0.25 && box.half_extents.z == 0);
    const struct {
        obb_vec3 min, max, position;
        obb_status in_space, in_plane;
    } table[] = {
        {{0, 0, 2}, {1, 1, 1}, {0, 0, 0}, OBB_BAD_EXTENT, OBB_OK},
        {{0, 2, 0}, {1, 1, 1}, {0, 0, 0}, OBB_BAD_EXTENT, OBB_BAD_EXTENT},
        {{-2e9, 0, 0}, {1, 1, 1}, {0, 0, 0}, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, 0}, {1, HUGE_VAL, 1}, {0, 0, 0}, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 2e9}, OBB_BAD_NUMBER, OBB_OK},
        {{9e8, 0, 0}, {1e9, 1, 1}, {1e9, 0, 0}, OBB_BAD_NUMBER, OBB_BAD_NUMBER},
        {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}, {1e9, 0, 0}, OBB_OK, OBB_OK},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int d = 2; d <= 3; d++)
            ck_assert_int_eq(obb_box_from_min_max(table[i].min, table[i].max, table[i].position,
                                                  identity, 0, d, &box),
                             d == 3 ? table[i].in_space : table[i].in_plane);
    ck_assert_int_eq(obb_box_from_min_max(origin, one, origin, (obb_quat){0}, 0, 3, &box),
                     OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_box_from_min_max(origin, one, origin, identity, HUGE_VAL, 2, &box),
                     OBB_BAD_NUMBER);
}
END_TEST

START_TEST(a_matrix_makes_the_image_of_the_cube)
{
    test_rng rng = {.s = 20261215};
    const size_t cases = test_effort(6000);
    long double worst = 0;
    size_t mirrors = 0, flat = 0, sized = 0;
    for (size_t i = 0; i < cases; i++) {
        obb_vec3 scale = {random_magnitude(&rng, 1e-4, 1e4), random_magnitude(&rng, 1e-4, 1e4),
                          random_magnitude(&rng, 1e-4, 1e4)};
        if (i % 3 == 1)
            scale.y = -scale.y;
        if (i % 4 == 1)
            *(i % 16 < 6 ? &scale.x : i % 16 < 12 ? &scale.y : &scale.z) = 0;
        mirrors += scale.y < 0 && scale.x * scale.z != 0;
        flat += scale.x * scale.y * scale.z == 0;
        long double exact[16], back[16];
        double m[16];
        random_rigid(&rng, scale, exact);
        oracle_narrowed(exact, m, back);
        obb_vec3 half = {1, 1, 1};
        if (i % 5 == 0) {
            half = random_vector(&rng, 0, 10);
            sized++;
        }
        obb_box box;
        const obb_status st = obb_box_from_matrix(m, i % 5 == 0 ? &half : NULL, &box);
        ck_assert_msg(st == OBB_OK, "case %zu: %d", i, st);
        oracle_point want[8], got[8];
        oracle_corners(&box, 3, got);
        for (size_t k = 0; k < 8; k++) {
            const oracle_point p = {{wide((k & 1) != 0 ? half.x : -half.x),
                                     wide((k & 2) != 0 ? half.y : -half.y),
                                     wide((k & 4) != 0 ? half.z : -half.z)}};
            want[k] = oracle_apply(back, p);
        }
        const long double rounding = 400 * LDBL_EPSILON; /* the oracle's own, at 100 */
        worst =
            fmaxl(worst, (oracle_set_distance(want, got, 8) - rounding) / oracle_diameter(want, 8));
    }
    printf("box_forms: %zu matrices (%zu mirrors, %zu flat, %zu sized), corners within %.3Lg of "
           "the size\n",
           cases, mirrors, flat, sized, worst);
    ck_assert(worst <= 2e-15L);
    ck_assert_uint_gt(mirrors, cases / 6);
    ck_assert_uint_gt(flat, cases / 5);
}
END_TEST

/* The matrix with these columns and no translation. */
static obb_status from_columns(obb_vec3 x, obb_vec3 y, obb_vec3 z, const obb_vec3 *half,
                               obb_box *out)
{
    const double m[16] = {x.x, x.y, x.z, 0, y.x, y.y, y.z, 0, z.x, z.y, z.z, 0, 0, 0, 0, 1};
    return obb_box_from_matrix(m, half, out);
}

START_TEST(matrices_that_make_no_box_are_refused)
{
    const obb_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1}, no = {0};
    obb_box box = {.angle = 42};
    const struct {
        obb_vec3 x, y, z;
        obb_status status;
    } table[] = {
        {{1, 1.1e-6, 0}, y, z, OBB_SHEARED},
        {{1e5, 0.11, 0}, {0, 1e-5, 0}, z, OBB_SHEARED}, /* however the lengths differ */
        {x, x, z, OBB_SHEARED},
        {no, no, z, OBB_SINGULAR},
        {no, no, no, OBB_SINGULAR},
        {no, y, {0, 2e-6, 1}, OBB_SHEARED},
        {{2e9, 0, 0}, y, z, OBB_BAD_NUMBER},
        {{DBL_MAX, DBL_MAX, 0}, y, z, OBB_BAD_NUMBER},
        {{HUGE_VAL, 0, 0}, y, z, OBB_BAD_NUMBER},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        ck_assert_int_eq(from_columns(table[i].x, table[i].y, table[i].z, NULL, &box),
                         table[i].status);
    const obb_vec3 negative = {1, -1, 1}, large = {1, 1, 1.1e9};
    ck_assert_int_eq(from_columns(x, y, z, &negative, &box), OBB_BAD_EXTENT);
    ck_assert_int_eq(from_columns(x, y, z, &large, &box), OBB_BAD_NUMBER);
    for (int i = 0; i < 16; i++) {
        double m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1};
        m[i] = (double)NAN;
        ck_assert_int_eq(obb_box_from_matrix(m, NULL, &box), OBB_BAD_NUMBER);
        m[i] = i % 4 == 3 ? 0.5 : 2e9;
        ck_assert_int_eq(obb_box_from_matrix(m, NULL, &box), i % 4 == 3             ? OBB_BAD_VALUE
                                                             : i % 5 == 0 || i > 11 ? OBB_BAD_NUMBER
                                                                                    : OBB_SHEARED);
    }
    ck_assert_double_eq(box.angle, 42); /* untouched by all of them */

    /* on the right side of the limits */
    ck_assert_int_eq(from_columns((obb_vec3){1, 9e-7, 0}, y, z, NULL, &box), OBB_OK);
    ck_assert_int_eq(from_columns(no, (obb_vec3){0, 3, 0}, (obb_vec3){0, 0, 2}, NULL, &box),
                     OBB_OK);
    ck_assert(box.half_extents.x == 0 && box.half_extents.y == 3 && box.half_extents.z == 2);
    ck_assert(same_bits(&box.rotation, &identity, sizeof identity));
    /* a column that was meant to be zero */
    ck_assert_int_eq(from_columns((obb_vec3){3e-16, 4e-16, 0}, (obb_vec3){0, 3, 0}, z, NULL, &box),
                     OBB_OK);
    ck_assert_double_lt(box.half_extents.x, 1e-15);
    /* a needle is no rounding where its axes are right */
    ck_assert_int_eq(from_columns((obb_vec3){1e-13, 0, 0}, (obb_vec3){0, 3, 0},
                                  (obb_vec3){0, 0, 1e-14}, NULL, &box),
                     OBB_OK);
    ck_assert(box.half_extents.x == 1e-13 && box.half_extents.z == 1e-14);
    /* a flat box has no shear across */
    const obb_vec3 flat = {1, 1, 0};
    ck_assert_int_eq(from_columns(x, y, (obb_vec3){1, 1, 1}, &flat, &box), OBB_OK);
    ck_assert(box.half_extents.x == 1 && box.half_extents.y == 1 && box.half_extents.z == 0);
    /* integers stay what they are */
    ck_assert_int_eq(
        from_columns((obb_vec3){0, 0, -3}, (obb_vec3){5, 0, 0}, (obb_vec3){0, -7, 0}, NULL, &box),
        OBB_OK);
    ck_assert(box.half_extents.x == 3 && box.half_extents.y == 5 && box.half_extents.z == 7);
    const obb_solid solid = obb_solid_from_box(&box, 3);
    ck_assert(solid.axis[0].z == -1 && solid.axis[1].x == 1 && solid.axis[2].y == -1);
}
END_TEST

/* One of the 48 orthonormal frames of coordinate axes, with zeros of either sign; planar ones keep
 * z. */
static void coordinate_frame(test_rng *rng, int dimensions, obb_vec3 out[static 3])
{
    size_t order[3] = {0, 1, 2};
    for (size_t i = (size_t)dimensions - 1; i > 0; i--) {
        const size_t j = test_below(rng, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < 3; i++) {
        double v[3] = {random_zero(rng), random_zero(rng), random_zero(rng)};
        v[order[i]] = test_below(rng, 2) == 0 ? -1.0 : 1.0;
        out[i] = (obb_vec3){v[0], v[1], v[2]};
    }
}

static obb_vec3 corner_of(test_rng *rng, const obb_vec3 frame[static 3], obb_vec3 half, size_t i,
                          int dimensions)
{
    double at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = 0.0;
        for (int j = 0; j < dimensions; j++)
            at[k] += ((i >> j & 1) != 0 ? 1.0 : -1.0) * obb_component(half, j) *
                     obb_component(frame[j], k);
        if (at[k] == 0.0)
            at[k] = random_zero(rng);
    }
    return (obb_vec3){at[0], at[1], at[2]};
}

enum form { AXES, AXIS_ANGLE, MIN_MAX, MATRIX, POINTS, CORNERS, LONG_QUATERNION, FORMS };

static obb_box make_from(test_rng *rng, enum form form, int dimensions)
{
    obb_box box = {.rotation = identity};
    obb_vec3 frame[3], corners[8];
    const obb_vec3 half = random_zeros_in(rng, random_vector(rng, 1, 2));
    coordinate_frame(rng, dimensions, frame);
    const size_t count = dimensions == 3 ? 8 : 4;
    for (size_t i = 0; i < count; i++)
        corners[i] = corner_of(rng, frame, half, i, dimensions);
    obb_status st = OBB_OK;
    switch (form) {
    case AXES:
        if (obb_dot(obb_cross(frame[0], frame[1]), frame[2]) < 0.0)
            frame[2] = obb_negate(frame[2]);
        st = obb_quat_from_axes(frame, &box.rotation);
        break;
    case AXIS_ANGLE:
        st = obb_quat_from_axis_angle(frame[0], 90.0 * (double)test_below(rng, 9) - 360.0,
                                      &box.rotation);
        break;
    case MIN_MAX: {
        const obb_vec3 low = random_zeros_in(rng, (obb_vec3){-1, -1, -1}),
                       high = random_zeros_in(rng, (obb_vec3){1, 1, 1});
        st = obb_box_from_min_max(low, high, frame[0], identity, 0.0, dimensions, &box);
        break;
    }
    case MATRIX: {
        double m[16] = {0};
        for (size_t i = 0; i < 4; i++) {
            const obb_vec3 column = i < 3 ? frame[i] : random_zeros_in(rng, half);
            m[4 * i] = column.x;
            m[4 * i + 1] = column.y;
            m[4 * i + 2] = column.z;
        }
        m[15] = 1.0;
        st = obb_box_from_matrix(m, &half, &box);
        break;
    }
    case POINTS:
        st = obb_fit_points(corners, count, (obb_fit)test_below(rng, 3), dimensions, NULL, NULL,
                            &box);
        break;
    case CORNERS:
        st = obb_fit_corners(corners, count, dimensions, &box);
        break;
    case LONG_QUATERNION: {
        const obb_vec3 v = random_zeros_in(rng, random_vector(rng, -1, 1));
        st = obb_quat_normalise((obb_quat){v.x, v.y, v.z, 2.0}, &box.rotation);
        break;
    }
    case FORMS:
        break;
    }
    ck_assert_msg(st == OBB_OK, "form %d: %s", (int)form, obb_status_name(st));
    return box;
}

START_TEST(what_is_computed_has_no_negative_zero)
{
    const size_t cases = test_effort(20000);
    test_rng rng = {.s = 400};
    size_t found = 0;
    for (size_t i = 0; i < cases; i++) {
        const enum form form = (enum form)(i % FORMS);
        const bool planar =
            test_below(&rng, 2) == 0 && (form == POINTS || form == CORNERS || form == MIN_MAX);
        const obb_box box = make_from(&rng, form, planar ? 2 : 3);
        found += oracle_negative_zeros(&box) > 0;
        ck_assert_msg(oracle_negative_zeros(&box) == 0, "case %zu, form %d", i, (int)form);
    }
    printf("box_forms: %zu boxes in %d forms, %zu with a negative zero\n", cases, FORMS, found);
    ck_assert_uint_eq(found, 0);
    ck_assert(!signbit(obb_arc_tangent(-5e-324, 1e9)));
}
END_TEST

START_TEST(what_is_stated_keeps_its_negative_zeros)
{
    obb_box box;
    const obb_vec3 zeros = {-0.0, -0.0, -0.0};
    ck_assert_int_eq(
        obb_box_from_pose(zeros, zeros, (obb_quat){-0.0, -0.0, -0.0, 1.0}, 0.0, 3, &box), OBB_OK);
    ck_assert_uint_eq(oracle_negative_zeros(&box), 9);
    ck_assert_int_eq(obb_box_from_pose(zeros, zeros, identity, -0.0, 2, &box), OBB_OK);
    ck_assert_uint_eq(oracle_negative_zeros(&box), 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box_forms");
    TCase *tc = tcase_create("box_forms");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, a_pose_is_checked_and_kept);
    tcase_add_test(tc, min_and_max_turn_about_the_position);
    tcase_add_test(tc, a_matrix_makes_the_image_of_the_cube);
    tcase_add_test(tc, matrices_that_make_no_box_are_refused);
    tcase_add_test(tc, what_is_computed_has_no_negative_zero);
    tcase_add_test(tc, what_is_stated_keeps_its_negative_zeros);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
