#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};
static const obb_vec3 origin = {0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

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
        const double before = i % 3 == 2 ? 1.0 : oracle_excess_rounded(q),
                     after = oracle_excess_rounded(r);
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
    printf("rotation: %zu rotations kept, %zu normalised to within %.3g\n", kept, normalised,
           worst);
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

START_TEST(a_check_says_what_normalising_would)
{
    static const double scales[] = {1,       1e-3,    1e-6,   0.999e-6, 1.001e-6, 1e-9,
                                    0x1p-15, 0x1p-16, 1e150,  0x1p499,  0x1p500,  1e200,
                                    1e308,   0,       5e-324, INFINITY, NAN};
    test_rng rng = {.s = 20261126};
    size_t good = 0, rounds = 0;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        for (int round = 0; round < 1000; round++, rounds++) {
            double part[4];
            for (int k = 0; k < 4; k++) /* one of them in eight is as large as can be, or none */
                part[k] = test_uniform(&rng, -1, 1) * (test_below(&rng, 8) == 0 ? scales[i] : 1);
            for (int k = 0; k < 4 && round % 2 == 0; k++)
                part[k] *= scales[i];
            const obb_quat q = {part[0], part[1], part[2], part[3]};
            obb_quat out;
            const obb_status expected = obb_quat_normalise(q, &out);
            ck_assert_int_eq(obb_quat_check(q), expected);
            good += expected == OBB_OK;
        }
    ck_assert(rounds / 4 < good && good < rounds * 19 / 20);
}
END_TEST

/* Blocks of rotations as clients send them: rounded to floats, to doubles, of any length, or not
 * turned at all. In most blocks all are of one kind. */
START_TEST(many_rotations_are_normalised_to_the_bits_of_each)
{
    enum { MOST = 70, KINDS = 5 };
    test_rng rng = {.s = 20261127};
    const size_t blocks = test_effort(2000);
    size_t changed = 0, kept = 0;
    for (size_t block = 0; block < blocks; block++) {
        const size_t count = test_below(&rng, MOST + 1), all = test_below(&rng, KINDS + 2);
        obb_quat one[MOST], many[MOST];
        for (size_t i = 0; i < count; i++) {
            const size_t kind = all < KINDS ? all : test_below(&rng, KINDS);
            const double size = kind == 2   ? random_magnitude(&rng, 1e-4, 1e140)
                                : kind == 3 ? random_magnitude(&rng, 1e140, 1e300)
                                            : 1.0;
            obb_quat q = random_rotation(&rng);
            if (kind == 0)
                q = (obb_quat){(double)(float)q.x, (double)(float)q.y, (double)(float)q.z,
                               (double)(float)q.w};
            if (kind == 4)
                q = (obb_quat){0, 0, 0, 1};
            one[i] = many[i] = (obb_quat){q.x * size, q.y * size, q.z * size, q.w * size};
            if (test_below(&rng, 8) == 0)
                one[i].y = many[i].y = -0.0;
            ck_assert_int_eq(obb_quat_check(one[i]), OBB_OK);
        }
        obb_quats_normalise(many, count);
        for (size_t i = 0; i < count; i++) {
            obb_quat out;
            ck_assert_int_eq(obb_quat_normalise(one[i], &out), OBB_OK);
            ck_assert(same_bits(&out, &many[i], sizeof out));
            if (same_bits(&out, &one[i], sizeof out))
                kept++;
            else
                changed++;
        }
    }
    ck_assert_uint_gt(changed, blocks * MOST / 8);
    ck_assert_uint_gt(kept, blocks * MOST / 16);
}
END_TEST

START_TEST(no_rotation_is_kept_to_the_bit_with_its_signs)
{
    for (unsigned signs = 0; signs < 16; signs++) {
        const obb_quat q = {copysign(0.0, signs & 1 ? -1.0 : 1.0),
                            copysign(0.0, signs & 2 ? -1.0 : 1.0),
                            copysign(0.0, signs & 4 ? -1.0 : 1.0), signs & 8 ? -1.0 : 1.0};
        obb_quat r;
        ck_assert_int_eq(obb_quat_normalise(q, &r), OBB_OK);
        ck_assert(same_bits(&q, &r, sizeof q));
        const obb_quat off[3] = {
            {.x = DBL_TRUE_MIN, .w = q.w}, {.w = q.w * (1.0 + 0x1p-50)}, {.y = 0x1p-20, .w = q.w}};
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(obb_quat_normalise(off[i], &r), OBB_OK);
            ck_assert_double_le(fabs(oracle_excess_rounded(r)), 4e-16);
            ck_assert(same_bits(&off[i], &r, sizeof r) == (i == 0));
        }
    }
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
    printf("rotation: %zu rotations, axes within %.3g of the truth, orthonormal within %.3g\n",
           cases, worst, skew);
    ck_assert_double_le(worst, 2e-15);
    ck_assert_double_le(skew, 2e-15);
}
END_TEST

/* All 24 rotations that take the coordinate axes to coordinate axes, each from products of quarter
 * turns, as a client may have made them, so that the last bits differ. */
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
    printf("rotation: axis and angle within %.3g of the truth\n", worst);
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
    printf("rotation: axes to rotation and back within %.3g\n", worst);
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

START_TEST(a_product_turns_by_one_after_the_other)
{
    test_rng rng = {.s = 20261223};
    double worst = 0.0;
    for (int i = 0; i < 2000; i++) {
        const obb_quat a = random_rotation(&rng), b = random_rotation(&rng);
        const obb_quat product = obb_quat_product(a, b);
        long double ra[3][3], rb[3][3], rp[3][3];
        oracle_rotation(a, ra);
        oracle_rotation(b, rb);
        oracle_rotation(product, rp);
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) {
                const long double want =
                    ra[j][0] * rb[0][k] + ra[j][1] * rb[1][k] + ra[j][2] * rb[2][k];
                worst = fmax(worst, (double)fabsl(rp[j][k] - want));
            }
    }
    printf("rotation: products within %.3g\n", worst);
    ck_assert_double_le(worst, 2e-15);
    const obb_quat a = random_rotation(&rng), same = obb_quat_product(a, identity);
    ck_assert(same_bits(&a, &same, sizeof a));
    const obb_quat i = {.x = 1}, j = {.y = 1}, k = obb_quat_product(i, j);
    ck_assert(k.x == 0 && k.y == 0 && k.z == 1 && k.w == 0);
}
END_TEST

START_TEST(frames_are_told_apart_by_hand_and_made_orthonormal)
{
    test_rng rng = {.s = 20261224};
    size_t left = 0;
    double worst = 0.0, moved = 0.0;
    for (int i = 0; i < 2000; i++) {
        const obb_box box = {.rotation = random_rotation(&rng)};
        const obb_solid solid = obb_solid_from_box(&box, 3);
        obb_vec3 u[3];
        for (int j = 0; j < 3; j++)
            u[j] = obb_add(solid.axis[j], random_vector(&rng, -3e-7, 3e-7));
        const bool mirrored = i % 3 == 0;
        if (mirrored)
            u[i % 9 / 3] = obb_negate(u[i % 9 / 3]);
        ck_assert(obb_axes_left_handed(u) == mirrored);
        left += mirrored;
        obb_vec3 before[3] = {u[0], u[1], u[2]};
        obb_axes_orthonormalise(u);
        for (int j = 0; j < 3; j++) {
            moved = fmax(moved, obb_length(obb_sub(u[j], before[j])));
            for (int k = 0; k <= j; k++)
                worst = fmax(worst, fabs(obb_dot(u[j], u[k]) - (j == k)));
        }
        if (mirrored)
            u[2] = obb_negate(u[2]);
        const obb_box back = {.rotation = obb_quat_from_orthonormal(u)};
        const obb_solid got = obb_solid_from_box(&back, 3);
        for (int j = 0; j < 3; j++)
            ck_assert_double_le(obb_length(obb_sub(got.axis[j], u[j])), 3e-15);
    }
    printf("rotation: frames orthonormal within %.3g, moved by at most %.3g\n", worst, moved);
    ck_assert_double_le(worst, 2e-15);
    ck_assert_double_le(moved, 1e-6);
    ck_assert_uint_gt(left, 600);
}
END_TEST

START_TEST(a_slerp_takes_the_shorter_arc)
{
    test_rng rng = {.s = 20261225};
    const size_t cases = test_effort(5000);
    double worst = 0.0;
    size_t flipped = 0;
    for (size_t i = 0; i < cases; i++) {
        const obb_quat a = random_rotation(&rng), b = random_rotation(&rng);
        const double t = test_uniform(&rng, 0.001, 0.999);
        obb_quat near = b;
        if (a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w < 0) {
            near = (obb_quat){-b.x, -b.y, -b.z, -b.w};
            flipped++;
        }
        const obb_quat got = obb_quat_slerp(a, b, t);
        long double want[4];
        oracle_slerp(a, near, t, want);
        const double part[4] = {got.x, got.y, got.z, got.w};
        for (int k = 0; k < 4; k++)
            worst = fmax(worst, (double)fabsl(wide(part[k]) - want[k]));
        ck_assert_double_le(fabs(oracle_excess_rounded(got)), 4e-16);
        /* one rotation has two quaternions: the first argument is returned to the bit */
        const obb_quat other = {-a.x, -a.y, -a.z, -a.w};
        const obb_quat still = obb_quat_slerp(a, a, t), same = obb_quat_slerp(a, other, t);
        ck_assert(same_bits(&still, &a, sizeof a) && same_bits(&same, &a, sizeof a));
    }
    printf("rotation: %zu slerps (%zu by the other sign) within %.3g\n", cases, flipped, worst);
    ck_assert_double_le(worst, 2e-15);
    ck_assert(cases / 3 < flipped && flipped < cases * 2 / 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rotation");
    TCase *tc = tcase_create("rotation");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, a_rotation_is_kept_to_the_bit_or_normalised_once);
    tcase_add_test(tc, a_check_says_what_normalising_would);
    tcase_add_test(tc, many_rotations_are_normalised_to_the_bits_of_each);
    tcase_add_test(tc, no_rotation_is_kept_to_the_bit_with_its_signs);
    tcase_add_test(tc, a_rotation_needs_a_length);
    tcase_add_test(tc, the_axes_are_those_of_the_rotation);
    tcase_add_test(tc, multiples_of_90_degrees_give_exact_axes);
    tcase_add_test(tc, axis_and_angle_turn_as_they_should);
    tcase_add_test(tc, axes_make_the_rotation_or_are_refused);
    tcase_add_test(tc, a_product_turns_by_one_after_the_other);
    tcase_add_test(tc, frames_are_told_apart_by_hand_and_made_orthonormal);
    tcase_add_test(tc, a_slerp_takes_the_shorter_arc);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
