#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};
static const obb_vec3 origin = {0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

/* ---- Rotations ------------------------------------------------------------------------------------------- */

static double exact_excess(obb_quat q)
{
    mpq_t e;
    mpq_init(e);
    oracle_excess(q, e);
    const double value = mpq_get_d(e);
    mpq_clear(e);
    return value;
}

START_TEST(a_rotation_is_kept_to_the_bit_or_normalised_once)
{
    test_rng rng = {.s = 20261210};
    const size_t cases = test_effort(20000);
    size_t kept = 0, normalised = 0;
    double worst = 0.0;
    for (size_t i = 0; i < cases; i++) {
        obb_quat q = random_rotation(&rng), r, s;
        if (i % 3 == 1) { /* a few units of the last place off */
            q.x *= 1.0 + (double)test_below(&rng, 8) * 0x1p-52;
            q.w *= 1.0 - (double)test_below(&rng, 8) * 0x1p-52;
        } else if (i % 3 == 2) {
            const double size = random_magnitude(&rng, 1e-5, 1e300);
            q = (obb_quat){q.x * size, q.y * size, q.z * size, q.w * size};
        }
        ck_assert_int_eq(obb_quat_normalise(q, &r), OBB_OK);
        const double before = i % 3 == 2 ? 1.0 : exact_excess(q), after = exact_excess(r);
        if (fabs(before) <= 4e-16) {
            ck_assert(same_bits(&q, &r, sizeof q));
            kept++;
        } else {
            ck_assert_double_le(fabs(after), 4e-16);
            normalised++;
            worst = fmax(worst, fabs(after));
            /* the same direction: every pair of parts in the same ratio */
            const double in[4] = {q.x, q.y, q.z, q.w}, out[4] = {r.x, r.y, r.z, r.w};
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < j; k++)
                    ck_assert_double_le(
                        fabs(in[j] * out[k] - in[k] * out[j]),
                        1e-15 * fmax(fmax(fabs(q.x), fabs(q.y)), fmax(fabs(q.z), fabs(q.w))));
        }
        ck_assert_int_eq(obb_quat_normalise(r, &s), OBB_OK);
        ck_assert(same_bits(&r, &s, sizeof r));
    }
    printf("box: %zu rotations kept, %zu normalised to within %.3g\n", kept, normalised, worst);
    ck_assert_uint_gt(kept, cases / 5);
    ck_assert_uint_gt(normalised, cases / 3);
}
END_TEST

START_TEST(a_rotation_needs_a_length)
{
    obb_quat q = {.x = 7};
    ck_assert_int_eq(obb_quat_normalise((obb_quat){0}, &q), OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_quat_normalise((obb_quat){.y = 9.99e-7}, &q), OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_quat_normalise((obb_quat){.y = DBL_MIN}, &q), OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_quat_normalise((obb_quat){.z = (double)NAN}, &q), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_quat_normalise((obb_quat){.z = HUGE_VAL}, &q), OBB_BAD_NUMBER);
    ck_assert_double_eq(q.x, 7); /* untouched by all of them */
    ck_assert_int_eq(obb_quat_normalise((obb_quat){.y = -1e-6}, &q), OBB_OK);
    ck_assert_double_eq(q.y, -1);
    ck_assert_int_eq(obb_quat_normalise((obb_quat){DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}, &q),
                     OBB_OK);
    ck_assert(q.x == 0.5 && q.y == 0.5 && q.z == 0.5 && q.w == 0.5);
}
END_TEST

static double axis_difference(const obb_solid *solid, long double r[3][3])
{
    double worst = 0.0;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++)
            worst = fmax(worst, (double)fabsl(wide(obb_component(solid->axis[j], k)) - r[k][j]));
    return worst;
}

START_TEST(the_axes_are_those_of_the_rotation)
{
    test_rng rng = {.s = 20261211};
    const size_t cases = test_effort(20000);
    double worst = 0.0, skew = 0.0;
    for (size_t i = 0; i < cases; i++) {
        obb_box box = {.rotation = random_rotation(&rng)};
        if (i % 2 == 1) { /* close to a multiple of 90 degrees about something */
            const obb_vec3 v = random_vector(&rng, -1, 1);
            const double e = random_magnitude(&rng, 1e-17, 1e-3), s = sqrt(0.5);
            const obb_quat simple[3] = {{.w = 1}, {s, 0, 0, s}, {0.5, -0.5, 0.5, 0.5}};
            box.rotation = simple[i / 2 % 3];
            box.rotation.x += v.x * e;
            box.rotation.y += v.y * e;
            box.rotation.z += v.z * e;
        }
        ck_assert_int_eq(obb_quat_normalise(box.rotation, &box.rotation), OBB_OK);
        const obb_solid solid = obb_solid_from_box(&box, 3);
        long double r[3][3];
        oracle_rotation(box.rotation, r);
        worst = fmax(worst, axis_difference(&solid, r));
        for (int j = 0; j < 3; j++)
            for (int k = 0; k <= j; k++)
                skew = fmax(skew, fabs(obb_dot(solid.axis[j], solid.axis[k]) - (j == k)));
        ck_assert_double_gt(obb_dot(obb_cross(solid.axis[0], solid.axis[1]), solid.axis[2]), 0.99);
    }
    printf("box: %zu rotations, axes within %.3g of the truth, orthonormal within %.3g\n", cases,
           worst, skew);
    ck_assert_double_le(worst, 2e-15);
    ck_assert_double_le(skew, 2e-15);
}
END_TEST

/* All 24 rotations that take the coordinate axes to coordinate axes, each from products of quarter turns, as a client may
 * have made them, so that the last bits differ. */
START_TEST(multiples_of_90_degrees_give_exact_axes)
{
    const double s = 0.70710678118654746, c = 0.70710678118654757; /* as sin and cos may say */
    const obb_quat turn[4] = {{.w = 1}, {s, 0, 0, c}, {0, c, 0, s}, {0, 0, c, c}};
    size_t looked = 0;
    bool seen[27 * 27 * 27] = {false};
    size_t kinds = 0;
    for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
        obb_quat q = identity;
        for (int j = 0, digits = i; j < 4; j++, digits /= 4) {
            const obb_quat a = q, b = turn[digits % 4];
            q = (obb_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                           a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                           a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                           a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
        }
        obb_box box;
        ck_assert_int_eq(obb_box_from_pose(origin, (obb_vec3){1, 2, 3}, q, 0, 3, &box), OBB_OK);
        const obb_solid solid = obb_solid_from_box(&box, 3);
        int key = 0;
        for (int j = 0; j < 3; j++) {
            int ones = 0;
            for (int k = 0; k < 3; k++) {
                const double v = obb_component(solid.axis[j], k);
                ck_assert(v == 0.0 || fabs(v) == 1.0);
                ones += v != 0.0;
                key = key * 3 + (int)v + 1;
            }
            ck_assert_int_eq(ones, 1);
        }
        kinds += !seen[key];
        seen[key] = true;
        looked++;
    }
    ck_assert_uint_eq(looked, 256);
    ck_assert_uint_eq(kinds, 24);
    /* in the plane */
    for (int i = -720; i <= 720; i += 90) {
        const obb_box box = {.half_extents = {1, 2, 0}, .rotation = identity, .angle = i};
        const obb_solid solid = obb_solid_from_box(&box, 2);
        ck_assert_double_eq(fabs(solid.axis[0].x) + fabs(solid.axis[0].y), 1);
        ck_assert_double_eq(solid.axis[0].x * solid.axis[0].y, 0);
        ck_assert_double_eq(solid.axis[0].x, solid.axis[1].y);
        ck_assert_double_eq(solid.axis[0].y, -solid.axis[1].x);
    }
    /* and an angle that is small but real stays */
    const obb_box near = {.rotation = {.z = 1e-13, .w = 1}};
    ck_assert_double_eq(obb_solid_from_box(&near, 3).axis[0].y, 2e-13);
}
END_TEST

START_TEST(axis_and_angle_turn_as_they_should)
{
    test_rng rng = {.s = 20261212};
    double worst = 0.0;
    for (int i = 0; i < 5000; i++) {
        const double size = random_magnitude(&rng, 1e-5, 1e200);
        const obb_vec3 axis = obb_scale(random_vector(&rng, -1, 1), size);
        const double degrees = test_uniform(&rng, -1080, 1080);
        obb_box box = {0};
        ck_assert_int_eq(obb_quat_from_axis_angle(axis, degrees, &box.rotation), OBB_OK);
        const obb_solid solid = obb_solid_from_box(&box, 3);
        long double r[3][3];
        oracle_axis_angle(axis, degrees, r);
        worst = fmax(worst, axis_difference(&solid, r));
    }
    printf("box: axis and angle within %.3g of the truth\n", worst);
    ck_assert_double_le(worst, 3e-15);
    for (int quarter = -8; quarter <= 8; quarter++)
        for (int axis = 0; axis < 3; axis++) {
            obb_box box = {0};
            const obb_vec3 v = {axis == 0 ? 3 : 0, axis == 1 ? 1e-5 : 0, axis == 2 ? 1e9 : 0};
            ck_assert_int_eq(obb_quat_from_axis_angle(v, 90.0 * quarter, &box.rotation), OBB_OK);
            long double r[3][3];
            oracle_axis_angle(v, 90.0 * quarter, r);
            const obb_solid solid = obb_solid_from_box(&box, 3);
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    ck_assert_double_eq(obb_component(solid.axis[j], k), (double)roundl(r[k][j]));
        }
    obb_quat q;
    ck_assert_int_eq(obb_quat_from_axis_angle(origin, 10, &q), OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){9e-7, 0, 0}, 10, &q), OBB_BAD_ROTATION);
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){1, HUGE_VAL, 0}, 10, &q), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){1, 0, 0}, HUGE_VAL, &q), OBB_BAD_NUMBER);
}
END_TEST

START_TEST(axes_make_the_rotation_or_are_refused)
{
    test_rng rng = {.s = 20261213};
    double worst = 0.0;
    size_t mirrors = 0;
    for (int i = 0; i < 5000; i++) {
        obb_box box = {.rotation = random_rotation(&rng)}, back = {0};
        const obb_solid solid = obb_solid_from_box(&box, 3);
        obb_vec3 axes[3] = {solid.axis[0], solid.axis[1], solid.axis[2]};
        if (i % 2 == 1) { /* any one of them turned round makes a mirrored frame of the same box */
            axes[i % 3] = obb_negate(axes[i % 3]);
            mirrors++;
        }
        ck_assert_int_eq(obb_quat_from_axes(axes, &back.rotation), OBB_OK);
        const obb_solid got = obb_solid_from_box(&back, 3);
        for (int j = 0; j < 3; j++) {
            const double sign = i % 2 == 1 && j == 2 ? -1.0 : 1.0;
            worst = fmax(worst, obb_length(obb_sub(got.axis[j], obb_scale(axes[j], sign))));
        }
    }
    printf("box: axes to rotation and back within %.3g\n", worst);
    ck_assert_double_le(worst, 3e-15);
    ck_assert_uint_eq(mirrors, 2500);

    const obb_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    const struct {
        obb_vec3 axes[3];
        obb_status status;
    } table[] = {
        {{{1, 9e-7, 0}, y, z}, OBB_OK},
        {{{1, 1.1e-6, 0}, y, z}, OBB_NOT_ORTHONORMAL},
        {{x, {0, 1, -1.1e-6}, z}, OBB_NOT_ORTHONORMAL},
        {{x, y, {1.1e-6, 0, 1}}, OBB_NOT_ORTHONORMAL},
        {{{1 + 9e-7, 0, 0}, y, z}, OBB_OK},
        {{x, {0, 1 + 1.1e-6, 0}, z}, OBB_NOT_ORTHONORMAL},
        {{x, y, {0, 0, 1 - 1.1e-6}}, OBB_NOT_ORTHONORMAL},
        {{x, x, z}, OBB_NOT_ORTHONORMAL},
        {{x, y, {0, 0, 0}}, OBB_NOT_ORTHONORMAL},
        {{{DBL_MAX, DBL_MAX, 0}, y, z}, OBB_NOT_ORTHONORMAL},
        {{{HUGE_VAL, 0, 0}, y, z}, OBB_BAD_NUMBER},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        obb_quat q;
        ck_assert_int_eq(obb_quat_from_axes(table[i].axes, &q), table[i].status);
    }
    /* an error is shared out between the two axes that make it */
    obb_box box = {0};
    ck_assert_int_eq(obb_quat_from_axes((obb_vec3[]){{1, 8e-7, 0}, y, z}, &box.rotation), OBB_OK);
    ck_assert_double_eq_tol(obb_solid_from_box(&box, 3).axis[0].y, 4e-7, 1e-12);
}
END_TEST

/* ---- Forms ----------------------------------------------------------------------------------------------- */

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

/* A random affine map as a column-major matrix: a rotation, with scale along the given axes before it. */
static void random_rigid(test_rng *rng, obb_vec3 scale, long double out[16])
{
    long double r[3][3];
    oracle_rotation(random_rotation(rng), r);
    const obb_vec3 t = random_vector(rng, -100, 100);
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 3; k++)
            out[4 * j + k] = r[k][j] * wide(obb_component(scale, j));
        out[4 * j + 3] = 0;
        out[12 + j] = wide(obb_component(t, j));
    }
    out[15] = 1;
}

static void narrowed(const long double m[16], double out[16], long double back[16])
{
    for (int i = 0; i < 16; i++) {
        out[i] = (double)m[i];
        back[i] = wide(out[i]);
    }
}

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
    printf("box: %zu of min and max, corners within %.3Lg at 100\n", looked, worst);
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
        narrowed(exact, m, back);
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
    printf(
        "box: %zu matrices (%zu mirrors, %zu flat, %zu sized), corners within %.3Lg of the size\n",
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

/* ---- What follows ---------------------------------------------------------------------------------------- */

START_TEST(corners_are_in_order_and_where_they_should_be)
{
    test_rng rng = {.s = 20261216};
    const size_t cases = test_effort(2000);
    double worst = 0.0;
    mpq_t exact, got;
    mpq_inits(exact, got, NULL);
    for (size_t i = 0; i < cases; i++) {
        const int d = 2 + (int)(i % 2);
        const obb_box box = random_box(&rng, d);
        const obb_solid solid = obb_solid_from_box(&box, d);
        obb_vec3 corner[8];
        obb_solid_corners(&solid, corner);
        const double size = obb_length(box.half_extents);
        for (unsigned c = 0; c < 8; c++)
            for (int k = 0; k < 3; k++) {
                const double v = obb_component(corner[c], k);
                oracle_solid_corner(&solid, d == 3 ? c : c & 3, k, exact);
                mpq_set_d(got, v);
                mpq_sub(got, got, exact);
                const double error = fabs(mpq_get_d(got));
                ck_assert_double_le(error, fmax(4 * 0x1p-52 * fabs(v), 4e-16 * size));
                worst = fmax(worst, error / (fabs(v) + size));
            }
    }
    mpq_clears(exact, got, NULL);
    printf("box: %zu boxes, corners within %.3g\n", cases, worst);

    const obb_box box = {{10, 20, 30}, {1, 2, 3}, {.w = 1}, 0};
    const obb_solid solid = obb_solid_from_box(&box, 3);
    obb_vec3 corner[8];
    obb_solid_corners(&solid, corner);
    ck_assert(corner[0].x == 9 && corner[0].y == 18 && corner[0].z == 27);
    ck_assert(corner[1].x == 11 && corner[1].y == 18 && corner[1].z == 27);
    ck_assert(corner[2].x == 9 && corner[2].y == 22 && corner[2].z == 27);
    ck_assert(corner[4].x == 9 && corner[4].y == 18 && corner[4].z == 33);
}
END_TEST

START_TEST(bounds_hold_the_box_in_exact_arithmetic_and_fit)
{
    test_rng rng = {.s = 20261217};
    const size_t cases = test_effort(3000);
    mpq_t c, v, slack;
    mpq_inits(c, v, slack, NULL);
    double widest = 0.0;
    size_t tight = 0;
    for (size_t i = 0; i < cases; i++) {
        const int d = 2 + (int)(i % 2);
        obb_box box = random_box(&rng, d);
        if (i % 4 >= 2)
            box.center = obb_scale(box.center, random_magnitude(&rng, 1e-12, 1e7));
        if (d == 2)
            box.center.z = 0;
        if (i % 6 == 1)
            box.half_extents = obb_scale(box.half_extents, random_magnitude(&rng, 1e-305, 1));
        if (i % 24 == 1) /* where products underflow */
            box.half_extents = obb_scale(box.half_extents, 1e-15);
        if (i % 10 == 3)
            box.half_extents.x = 0;
        if (i % 20 == 3)
            box.half_extents = (obb_vec3){0};
        if (i % 7 == 3 && d == 3)
            box.rotation = identity;
        const obb_solid solid = obb_solid_from_box(&box, d);
        const obb_bounds bounds = obb_solid_bounds(&solid);
        const double size = obb_length(box.half_extents);
        for (int k = 0; k < 3; k++)
            for (int side = 0; side < 2; side++) {
                const double bound = obb_component(side != 0 ? bounds.max : bounds.min, k);
                double least = HUGE_VAL; /* the distance to the nearest corner */
                for (unsigned corner = 0; corner < 8; corner++) {
                    oracle_solid_corner(&solid, corner, k, c);
                    mpq_set_d(v, bound);
                    mpq_sub(slack, v, c);
                    ck_assert_msg(side != 0 ? mpq_sgn(slack) >= 0 : mpq_sgn(slack) <= 0,
                                  "case %zu axis %d side %d", i, k, side);
                    least = fmin(least, fabs(mpq_get_d(slack)));
                }
                ck_assert_double_le(least, 3e-15 * size + 0x1p-51 * fabs(bound) + 0x1p-1060);
                if (size > 0.0 && least > 0.0)
                    widest = fmax(widest, least / (size + fabs(bound)));
                tight += least == 0.0;
            }
    }
    mpq_clears(c, v, slack, NULL);
    printf("box: %zu bounds, %zu of %zu exact, the others wider by at most %.3g\n", cases, tight,
           6 * cases, widest);
    ck_assert_uint_gt(tight, cases / 10);

    /* a box on the grid has the bounds that one expects */
    const obb_box box = {{0.5, -2, 1e8}, {1, 2, 3}, {.y = sqrt(0.5), .w = sqrt(0.5)}, 0};
    const obb_solid solid = obb_solid_from_box(&box, 3);
    const obb_bounds bounds = obb_solid_bounds(&solid);
    ck_assert(bounds.min.x == -2.5 && bounds.min.y == -4 && bounds.min.z == 1e8 - 1);
    ck_assert(bounds.max.x == 3.5 && bounds.max.y == 0 && bounds.max.z == 1e8 + 1);
    /* and one beside it is rounded to the outside */
    const obb_box fine = {{1, 1, 1}, {0x1p-60, 0, 0}, {.w = 1}, 0};
    const obb_solid small = obb_solid_from_box(&fine, 3);
    const obb_bounds around = obb_solid_bounds(&small);
    ck_assert(around.min.x < 1 && around.max.x > 1 && around.min.y == 1 && around.max.y == 1);
}
END_TEST

START_TEST(volume_and_matrix)
{
    test_rng rng = {.s = 20261218};
    for (int i = 0; i < 500; i++) {
        const int d = 2 + i % 2;
        const obb_box box = random_box(&rng, d);
        const obb_solid solid = obb_solid_from_box(&box, d);
        const obb_vec3 h = box.half_extents;
        const long double volume =
            d == 3 ? 8 * wide(h.x) * wide(h.y) * wide(h.z) : 4 * wide(h.x) * wide(h.y);
        ck_assert_double_le((double)fabsl(wide(obb_solid_volume(&solid)) / volume - 1), 3e-16);
        if (d == 2)
            continue;
        double m[16];
        obb_solid_matrix(&solid, m);
        obb_box back;
        ck_assert_int_eq(obb_box_from_matrix(m, NULL, &back), OBB_OK);
        oracle_point a[8], b[8];
        oracle_corners(&box, 3, a);
        oracle_corners(&back, 3, b);
        ck_assert(oracle_set_distance(a, b, 8) <= 5e-15L * oracle_diameter(a, 8));
    }
    const obb_box flat = {{1, 2, 3}, {4, 0, 6}, {.w = 1}, 0};
    const obb_solid solid = obb_solid_from_box(&flat, 3);
    ck_assert_double_eq(obb_solid_volume(&solid), 0);
    double m[16];
    obb_solid_matrix(&solid, m);
    const double want[16] = {4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 1, 2, 3, 1};
    for (int i = 0; i < 16; i++)
        ck_assert_double_eq(m[i], want[i]);
}
END_TEST

/* ---- Changes --------------------------------------------------------------------------------------------- */

enum { TRANSLATE = 1, ROTATE = 2, SCALE = 4, LOCAL = 8, MATRIX = 16 };

/* a * b, affine. */
static void multiply(const long double a[16], const long double b[16], long double out[16])
{
    long double m[16];
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < 4; k++) {
            m[4 * j + k] = 0;
            for (int l = 0; l < 4; l++)
                m[4 * j + k] += a[4 * l + k] * b[4 * j + l];
        }
    memcpy(out, m, sizeof m);
}

static void linear_map(long double r[3][3], long double out[16])
{
    memset(out, 0, 16 * sizeof *out);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++)
            out[4 * j + k] = r[k][j];
    out[15] = 1;
}

/* The map that a transform stands for, from the contract's words. */
static void map_of(const obb_box *box, const obb_transform *t, int d, long double out[16])
{
    long double m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, r[3][3], step[16];
    if (t->has_matrix) {
        for (int i = 0; i < 16; i++)
            out[i] = wide(t->matrix[i]);
        return;
    }
    if (t->has_scale) {
        long double s[16] = {wide(t->scale.x),
                             0,
                             0,
                             0,
                             0,
                             wide(t->scale.y),
                             0,
                             0,
                             0,
                             0,
                             d == 3 ? wide(t->scale.z) : 1,
                             0,
                             0,
                             0,
                             0,
                             1};
        multiply(s, m, m);
    }
    if (t->has_rotate) {
        if (d == 3)
            oracle_rotation(t->rotate, r);
        else
            oracle_axis_angle((obb_vec3){0, 0, 1}, t->angle, r);
        linear_map(r, step);
        multiply(step, m, m);
    }
    if (t->has_translate)
        for (int k = 0; k < d; k++)
            m[12 + k] += wide(obb_component(t->translate, k));
    if (t->local) { /* out of the scene into the box's frame, the map, and back */
        if (d == 3)
            oracle_rotation(box->rotation, r);
        else
            oracle_axis_angle((obb_vec3){0, 0, 1}, box->angle, r);
        long double frame[16], inverse[16], rt[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                rt[i][j] = r[j][i];
        linear_map(r, frame);
        linear_map(rt, inverse);
        for (int k = 0; k < 3; k++) {
            frame[12 + k] = wide(obb_component(box->center, k));
            for (int l = 0; l < 3; l++)
                inverse[12 + k] -= rt[k][l] * wide(obb_component(box->center, l));
        }
        multiply(m, inverse, m);
        multiply(frame, m, m);
    }
    memcpy(out, m, sizeof m);
}

START_TEST(a_transform_moves_every_corner)
{
    test_rng rng = {.s = 20261219};
    const size_t cases = test_effort(12000);
    size_t seen[32] = {0}, mirrors = 0, done = 0, turned = 0;
    long double worst = 0;
    for (size_t i = 0; i < cases; i++) {
        const int d = 2 + (int)(i % 2);
        obb_box box = random_box(&rng, d);
        obb_transform t = {.angle = 0};
        unsigned what = (unsigned)test_below(&rng, 20);
        if (what >= 16)
            what = d == 3 ? MATRIX : SCALE;
        t.has_translate = (what & TRANSLATE) != 0;
        t.has_rotate = (what & ROTATE) != 0;
        t.has_scale = (what & SCALE) != 0;
        t.local = (what & LOCAL) != 0;
        t.has_matrix = (what & MATRIX) != 0;
        t.translate = random_vector(&rng, -50, 50);
        t.rotate = random_rotation(&rng);
        const double length = random_magnitude(&rng, 1e-3, 1e3); /* need not be a unit */
        t.rotate = (obb_quat){t.rotate.x * length, t.rotate.y * length, t.rotate.z * length,
                              t.rotate.w * length};
        t.angle = test_uniform(&rng, -360, 360);
        t.scale = (obb_vec3){random_magnitude(&rng, 0.1, 10), random_magnitude(&rng, 0.1, 10),
                             random_magnitude(&rng, 0.1, 10)};
        if (!t.local && what != MATRIX) {
            /* a scale that does not shear: uniform, or along the axes of a box that lies along the scene's */
            const unsigned kind = (unsigned)test_below(&rng, 3);
            if (kind == 0)
                t.scale.y = t.scale.z = t.scale.x;
            else if (kind == 1 && d == 3)
                box.rotation = (obb_quat[]){{.w = 1},
                                            {.x = sqrt(0.5), .w = sqrt(0.5)},
                                            {-0.5, 0.5, 0.5, 0.5}}[test_below(&rng, 3)];
            else if (kind == 1)
                box.angle = 90.0 * (double)test_below(&rng, 5) - 180.0;
            else if (d == 3) { /* about one axis, and the same along the others */
                box.rotation = (obb_quat){.z = sin(1.0 + (double)i), .w = cos(1.0 + (double)i)};
                ck_assert_int_eq(obb_quat_normalise(box.rotation, &box.rotation), OBB_OK);
                t.scale.y = t.scale.x;
            } else
                t.scale.y = t.scale.x;
        }
        if (test_below(&rng, 2) == 0)
            t.scale.x = -t.scale.x;
        if (test_below(&rng, 2) == 0)
            t.scale.y = -t.scale.y;
        if (test_below(&rng, 2) == 0)
            t.scale.z = -t.scale.z;
        mirrors += (t.has_scale || t.has_matrix) && t.scale.x * t.scale.y * t.scale.z < 0;
        if (t.has_matrix) { /* scale along the box's axes, then a rigid motion */
            long double own[3][3], a[16], b[16];
            oracle_rotation(box.rotation, own);
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++) {
                    a[4 * j + k] = 0;
                    for (int l = 0; l < 3; l++)
                        a[4 * j + k] += own[k][l] * wide(obb_component(t.scale, l)) * own[j][l];
                }
            for (int k = 0; k < 4; k++) {
                a[12 + k] = k == 3;
                a[4 * k + 3] = k == 3;
            }
            random_rigid(&rng, (obb_vec3){1, 1, 1}, b);
            multiply(b, a, b);
            narrowed(b, t.matrix, a);
        }
        obb_box got;
        const obb_status st = obb_box_transform(&box, &t, d, &got);
        ck_assert_msg(st == OBB_OK, "case %zu, kind %u: %d", i, what, st);
        long double m[16];
        map_of(&box, &t, d, m);
        oracle_point want[8], have[8];
        const size_t count = oracle_corners(&box, d, want);
        long double reach = 0;
        for (size_t k = 0; k < count; k++) {
            for (int l = 0; l < 3; l++)
                reach = fmaxl(reach, fabsl(want[k].at[l]));
            want[k] = oracle_apply(m, want[k]);
            for (int l = 0; l < 3; l++)
                reach = fmaxl(reach, fabsl(want[k].at[l]));
        }
        oracle_corners(&got, d, have);
        const long double error = oracle_set_distance(want, have, count) / reach;
        ck_assert_msg(error <= 2e-14L, "case %zu, kind %u in %d: %Lg", i, what, d, error);
        worst = fmaxl(worst, error);
        seen[what]++;
        done++;
        turned += !same_bits(&got.rotation, &box.rotation, sizeof got.rotation);
        /* what is not changed keeps its bits */
        if ((what & (SCALE | MATRIX)) == 0)
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
        if ((what & (ROTATE | SCALE | MATRIX)) == 0)
            ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation) &&
                      got.angle == box.angle);
        if ((what & (TRANSLATE | LOCAL)) == LOCAL)
            ck_assert(same_bits(&got.center, &box.center, sizeof box.center));
    }
    for (unsigned what = 0; what <= MATRIX; what++)
        ck_assert_uint_gt(seen[what], cases / 100);
    ck_assert_uint_gt(mirrors, cases / 8);
    ck_assert_uint_gt(turned, cases / 8);
    printf("box: %zu transforms of 17 kinds (%zu mirrors), corners within %.3Lg\n", done, mirrors,
           worst);
}
END_TEST

START_TEST(transforms_keep_what_they_do_not_change)
{
    test_rng rng = {.s = 20261220};
    for (int i = 0; i < 500; i++) {
        const int d = 2 + i % 2;
        const obb_box box = random_box(&rng, d);
        obb_box got;
        /* an identity in any form, and a matrix that only moves */
        obb_transform t = {.has_rotate = true, .has_scale = true, .has_translate = true};
        t.rotate = identity;
        t.scale = (obb_vec3){1, 1, 1};
        t.local = i % 4 >= 2;
        ck_assert_int_eq(obb_box_transform(&box, &t, d, &got), OBB_OK);
        ck_assert_double_eq(got.angle, box.angle);
        ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation));
        ck_assert(got.center.x == box.center.x && got.half_extents.y == box.half_extents.y);
        if (d == 3) {
            const obb_transform moved = {
                .has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1}};
            ck_assert_int_eq(obb_box_transform(&box, &moved, 3, &got), OBB_OK);
            ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation));
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
            ck_assert(got.center.x == box.center.x + 5);
            /* a rigid matrix keeps the extents */
            long double wide_matrix[16], back[16];
            obb_transform rigid = {.has_matrix = true};
            random_rigid(&rng, (obb_vec3){1, 1, 1}, wide_matrix);
            narrowed(wide_matrix, rigid.matrix, back);
            ck_assert_int_eq(obb_box_transform(&box, &rigid, 3, &got), OBB_OK);
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
        }
        /* mirrored twice is what it was */
        const obb_transform mirror = {.has_scale = true, .scale = {-1, 1, 1}};
        ck_assert_int_eq(obb_box_transform(&box, &mirror, d, &got), OBB_OK);
        ck_assert_int_eq(obb_box_transform(&got, &mirror, d, &got), OBB_OK);
        ck_assert(same_bits(&got, &box, sizeof box));
    }
    /* four quarter turns about a far corner, exactly */
    obb_box box = {{3, 4, 5}, {1, 2, 3}, {.w = 1}, 0}, got = box;
    obb_transform t = {.has_rotate = true, .rotate = {.z = sqrt(0.5), .w = sqrt(0.5)}};
    const double x[4] = {-4, -3, 4, 3}, y[4] = {3, -4, -3, 4};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(obb_box_transform(&got, &t, 3, &got), OBB_OK);
        ck_assert(got.center.x == x[i] && got.center.y == y[i] && got.center.z == 5);
        const obb_solid solid = obb_solid_from_box(&got, 3);
        ck_assert(fabs(solid.axis[0].x) == (i % 2 == 1) && solid.axis[2].z == 1);
    }
    box = (obb_box){{3, 4, 0}, {1, 2, 0}, {.w = 1}, 350};
    t = (obb_transform){.has_rotate = true, .angle = 20, .local = true};
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 10);
}
END_TEST

START_TEST(transforms_that_make_no_box_are_refused)
{
    const obb_box oblique = {{1, 2, 3}, {1, 2, 3}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box flat = {{1, 2, 3}, {1, 0, 3}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box segment = {{1, 2, 3}, {1, 0, 0}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box planar = {{1, 2, 0}, {1, 2, 0}, {.w = 1}, 30};
    const double nan = (double)NAN;
    const struct {
        const obb_box *box;
        int dimensions;
        obb_status status;
        obb_transform t;
    } table[] = {
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {2, 1, 1}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 2, 5}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {1 + 1e-6, 1, 1}}},
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {1 + 3e-6, 1, 1}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 1}, .local = true}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {0, 0, 0}, .local = true}},
        {&oblique, 3, OBB_SINGULAR, {.has_scale = true, .scale = {0, 0, 0}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 2, 0}}},
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {0, 1, 1}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1, nan, 1}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1e9, 1e9, 1e9}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1e300, 1e300, 1e300}}},
        {&flat, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 1}}},
        {&segment, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 3}}},
        {&oblique, 3, OBB_BAD_ROTATION, {.has_rotate = true}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_rotate = true, .rotate = {.x = nan}}},
        {&oblique, 3, OBB_OK, {.has_rotate = true, .rotate = {.x = 5}, .angle = nan}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_translate = true, .translate = {HUGE_VAL, 0, 0}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_translate = true, .translate = {0, 1e9, 0}}},
        {&oblique, 3, OBB_OK, {.has_translate = true, .translate = {0, 9e8, 0}}},
        {&oblique, 3, OBB_BAD_VALUE, {.has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1}}},
        {&oblique,
         3,
         OBB_BAD_VALUE,
         {.has_matrix = true,
          .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
          .local = true}},
        {&oblique,
         3,
         OBB_BAD_VALUE,
         {.has_matrix = true,
          .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
          .has_scale = true}},
        {&oblique,
         3,
         OBB_SHEARED,
         {.has_matrix = true, .matrix = {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&oblique,
         3,
         OBB_SINGULAR,
         {.has_matrix = true, .matrix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&planar,
         2,
         OBB_BAD_VALUE,
         {.has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&planar, 2, OBB_SHEARED, {.has_scale = true, .scale = {2, 1, 0}}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {2, 1, 0}, .local = true}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {2, -2, 0}}},
        {&planar, 2, OBB_SINGULAR, {.has_scale = true, .scale = {0, 0, 0}}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {1, 1, nan}}},
        {&planar, 2, OBB_BAD_NUMBER, {.has_rotate = true, .angle = nan}},
        {&planar, 2, OBB_OK, {.has_rotate = true, .angle = 1e300}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        obb_box got = {.angle = 42};
        const obb_status st =
            obb_box_transform(table[i].box, &table[i].t, table[i].dimensions, &got);
        ck_assert_msg(st == table[i].status, "row %zu: %s", i, obb_status_name(st));
        ck_assert(st == OBB_OK || got.angle == 42);
        /* a box that came out can go in again */
        obb_box again;
        if (st == OBB_OK)
            ck_assert_int_eq(obb_box_from_pose(got.center, got.half_extents, got.rotation,
                                               got.angle, table[i].dimensions, &again),
                             OBB_OK);
    }
    /* the flat box is where its corners are sent, though its third axis leans */
    obb_box got;
    const obb_transform t = {.has_scale = true, .scale = {2, 1, 1}};
    ck_assert_int_eq(obb_box_transform(&flat, &t, 3, &got), OBB_OK);
    long double m[16];
    map_of(&flat, &t, 3, m);
    oracle_point want[8], have[8];
    oracle_corners(&flat, 3, want);
    for (int i = 0; i < 8; i++)
        want[i] = oracle_apply(m, want[i]);
    oracle_corners(&got, 3, have);
    ck_assert(oracle_set_distance(want, have, 8) < 1e-14L);
}
END_TEST

START_TEST(interpolation_is_exact_at_the_ends_and_accurate_between)
{
    test_rng rng = {.s = 20261221};
    const size_t cases = test_effort(20000);
    double worst = 0.0;
    size_t near = 0, far = 0, flipped = 0, same = 0;
    for (size_t i = 0; i < cases; i++) {
        obb_box a = random_box(&rng, 3), b = random_box(&rng, 3);
        if (i % 4 == 1) { /* a small turn, down to nothing */
            const double e = random_magnitude(&rng, 1e-18, 1e-1);
            const obb_vec3 v = random_vector(&rng, -e, e);
            b.rotation = (obb_quat){a.rotation.x + v.x, a.rotation.y + v.y, a.rotation.z + v.z,
                                    a.rotation.w};
            ck_assert_int_eq(obb_quat_normalise(b.rotation, &b.rotation), OBB_OK);
            near++;
        } else if (i % 4 ==
                   2) { /* almost half a turn, where the way is a matter of the last bits */
            const double e = random_magnitude(&rng, 1e-12, 1e-3);
            const obb_quat q = a.rotation;
            b.rotation = (obb_quat){-q.y + e * q.x, q.x + e * q.y, -q.w + e * q.z, q.z + e * q.w};
            ck_assert_int_eq(obb_quat_normalise(b.rotation, &b.rotation), OBB_OK);
            far++;
        }
        if (i % 8 >= 4)
            b.rotation = (obb_quat){-b.rotation.x, -b.rotation.y, -b.rotation.z, -b.rotation.w};
        obb_box got = obb_box_interpolate(&a, &b, 0.0, 3);
        ck_assert(same_bits(&got, &a, sizeof a));
        got = obb_box_interpolate(&a, &b, 1.0, 3);
        ck_assert(same_bits(&got, &b, sizeof b));
        const double t = i % 16 == 0   ? 0.5
                         : i % 16 == 1 ? random_magnitude(&rng, 1e-18, 1)
                         : i % 16 == 2 ? 1 - 0x1p-53
                                       : test_uniform(&rng, 0, 1);
        got = obb_box_interpolate(&a, &b, t, 3);
        obb_quat target = b.rotation;
        const long double dot =
            wide(a.rotation.x) * wide(target.x) + wide(a.rotation.y) * wide(target.y) +
            wide(a.rotation.z) * wide(target.z) + wide(a.rotation.w) * wide(target.w);
        if (dot < 0) {
            target = (obb_quat){-target.x, -target.y, -target.z, -target.w};
            flipped++;
        }
        if (same_bits(&a.rotation, &target, sizeof target)) {
            ck_assert(same_bits(&got.rotation, &a.rotation, sizeof target));
            same++;
        }
        long double q[4];
        oracle_slerp(a.rotation, target, t, q);
        const double part[4] = {got.rotation.x, got.rotation.y, got.rotation.z, got.rotation.w};
        for (int k = 0; k < 4; k++)
            worst = fmax(worst, (double)fabsl(wide(part[k]) - q[k]));
        ck_assert_double_le(fabs(exact_excess(got.rotation)), 4e-16);
        for (int k = 0; k < 3; k++) {
            const double from = obb_component(a.center, k), to = obb_component(b.center, k);
            const long double want = wide(from) + (wide(to) - wide(from)) * wide(t);
            ck_assert(fabsl(wide(obb_component(got.center, k)) - want) <= 1e-13L);
            const double h0 = obb_component(a.half_extents, k),
                         h1 = obb_component(b.half_extents, k),
                         h = obb_component(got.half_extents, k);
            ck_assert(h >= fmin(h0, h1) - 1e-12 && h <= fmax(h0, h1) + 1e-12 && h >= 0.0);
        }
    }
    printf("box: %zu interpolations (%zu near, %zu half a turn, %zu the other sign, %zu equal), "
           "rotation within %.3g\n",
           cases, near, far, flipped, same, worst);
    ck_assert_double_le(worst, 2e-15);
    ck_assert_uint_gt(flipped, cases / 3);
    ck_assert_uint_gt(same, 0);

    /* what is equal in both stays */
    const obb_box box = random_box(&rng, 3);
    const obb_box still = obb_box_interpolate(&box, &box, 0.3, 3);
    ck_assert(same_bits(&box, &still, sizeof box));
    /* the two signs of one rotation are the same rotation */
    obb_box other = box;
    other.rotation = (obb_quat){-box.rotation.x, -box.rotation.y, -box.rotation.z, -box.rotation.w};
    const obb_box between = obb_box_interpolate(&box, &other, 0.7, 3);
    ck_assert(same_bits(&between, &box, sizeof box));
    /* exactly half a turn: the way the numbers go */
    const obb_box a = {.rotation = {.w = 1}}, b = {.rotation = {.x = 1}};
    const obb_box half = obb_box_interpolate(&a, &b, 0.5, 3);
    ck_assert_double_eq_tol(half.rotation.x, sqrt(0.5), 2e-16);
    ck_assert_double_eq_tol(half.rotation.w, sqrt(0.5), 2e-16);
}
END_TEST

START_TEST(angles_go_the_shorter_way)
{
    const struct {
        double from, to, t, want;
    } table[] = {
        {0, 90, 0.5, 45},       {350, 10, 0.25, 355}, {350, 10, 0.75, 365}, {10, 350, 0.5, 0},
        {-170, 170, 0.5, -180}, {0, 180, 0.5, 90},    {0, -180, 0.5, -90},  {0, 720, 0.5, 0},
        {720, 730, 0.5, 725},   {90, 90, 0.3, 90},    {0, 181, 0.5, -89.5}, {-360, 350, 0.5, -365},
        {5, 5, 0.1, 5},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const obb_box a = {.half_extents = {1, 2, 0}, .rotation = identity, .angle = table[i].from};
        const obb_box b = {.half_extents = {3, 4, 0}, .rotation = identity, .angle = table[i].to};
        obb_box got = obb_box_interpolate(&a, &b, table[i].t, 2);
        ck_assert_double_eq(got.angle, table[i].want);
        ck_assert(same_bits(&got.rotation, &identity, sizeof identity));
        got = obb_box_interpolate(&a, &b, 0, 2);
        ck_assert(same_bits(&got, &a, sizeof a));
        got = obb_box_interpolate(&a, &b, 1, 2);
        ck_assert(same_bits(&got, &b, sizeof b));
    }
}
END_TEST

START_TEST(every_machine_gives_the_same_bits)
{
    test_rng rng = {.s = 20261222};
    uint64_t hash = 14695981039346656037u; /* FNV-1a over the words */
    for (int i = 0; i < 20000; i++) {
        obb_box box[2];
        for (int j = 0; j < 2; j++) {
            const obb_vec3 c = random_vector(&rng, -100, 100), h = random_vector(&rng, 0, 10),
                           v = random_vector(&rng, -1, 1);
            ck_assert_int_eq(obb_box_from_pose(c, h, (obb_quat){v.x, v.y, v.z, 0.5}, 0, 3, &box[j]),
                             OBB_OK);
        }
        obb_box out = obb_box_interpolate(&box[0], &box[1], test_uniform(&rng, 0, 1), 3);
        const obb_transform t = {.has_scale = true,
                                 .scale = {-3, 3, 3},
                                 .has_rotate = true,
                                 .rotate = box[1].rotation,
                                 .has_translate = true,
                                 .translate = box[1].center};
        ck_assert_int_eq(obb_box_transform(&out, &t, 3, &out), OBB_OK);
        const obb_solid solid = obb_solid_from_box(&out, 3);
        const obb_bounds bounds = obb_solid_bounds(&solid);
        const double v[] = {out.center.x,    out.center.y,   out.half_extents.z,
                            out.rotation.x,  out.rotation.w, solid.axis[0].x,
                            solid.axis[1].z, bounds.min.x,   bounds.max.z};
        for (size_t j = 0; j < sizeof v / sizeof v[0]; j++) {
            uint64_t bits;
            memcpy(&bits, &v[j], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
    }
    ck_assert_uint_eq(hash, 15232142221835576350u);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box");
    TCase *tc = tcase_create("box");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, a_rotation_is_kept_to_the_bit_or_normalised_once);
    tcase_add_test(tc, a_rotation_needs_a_length);
    tcase_add_test(tc, the_axes_are_those_of_the_rotation);
    tcase_add_test(tc, multiples_of_90_degrees_give_exact_axes);
    tcase_add_test(tc, axis_and_angle_turn_as_they_should);
    tcase_add_test(tc, axes_make_the_rotation_or_are_refused);
    tcase_add_test(tc, a_pose_is_checked_and_kept);
    tcase_add_test(tc, min_and_max_turn_about_the_position);
    tcase_add_test(tc, a_matrix_makes_the_image_of_the_cube);
    tcase_add_test(tc, matrices_that_make_no_box_are_refused);
    tcase_add_test(tc, corners_are_in_order_and_where_they_should_be);
    tcase_add_test(tc, bounds_hold_the_box_in_exact_arithmetic_and_fit);
    tcase_add_test(tc, volume_and_matrix);
    tcase_add_test(tc, a_transform_moves_every_corner);
    tcase_add_test(tc, transforms_keep_what_they_do_not_change);
    tcase_add_test(tc, transforms_that_make_no_box_are_refused);
    tcase_add_test(tc, interpolation_is_exact_at_the_ends_and_accurate_between);
    tcase_add_test(tc, angles_go_the_shorter_way);
    tcase_add_test(tc, every_machine_gives_the_same_bits);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
