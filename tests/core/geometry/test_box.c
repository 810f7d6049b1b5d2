#include "core/geometry/angle.h"
#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

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
        ck_assert_double_le(fabs(oracle_excess_rounded(got.rotation)), 4e-16);
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
        {0, 90, 0.5, 45},       {350, 10, 0.25, 355},  {350, 10, 0.75, 365}, {10, 350, 0.5, 0},
        {-170, 170, 0.5, -180}, {0, 180, 0.5, 90},     {0, -180, 0.5, -90},  {0, 720, 0.5, 0},
        {720, 730, 0.5, 5},     {90, 90, 0.3, 90},     {0, 181, 0.5, -89.5}, {-360, 350, 0.5, -5},
        {720, 720, 0.5, 720},   {1e17, 330, 0.5, 305}, {5, 5, 0.1, 5},
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

START_TEST(no_pose_between_two_has_a_negative_zero)
{
    const size_t cases = test_effort(5000);
    test_rng rng = {.s = 401};
    size_t turned = 0;
    for (size_t i = 0; i < cases; i++) { /* turns about one coordinate axis */
        obb_box box[2];
        for (int k = 0; k < 2; k++) {
            double s, c;
            obb_sin_cos(test_uniform(&rng, -180, 180), &s, &c);
            box[k] = (obb_box){.center = {random_zero(&rng), k == 0 ? -0.0 : -5e-324, 1},
                               .rotation = {random_zero(&rng), random_zero(&rng), s, c}};
            ck_assert_int_eq(obb_quat_normalise(box[k].rotation, &box[k].rotation), OBB_OK);
        }
        const obb_box got = obb_box_interpolate(&box[0], &box[1], test_uniform(&rng, 0, 1), 3);
        ck_assert_msg(oracle_negative_zeros(&got) == 0, "case %zu", i);
        turned += got.rotation.z != box[0].rotation.z;
    }
    ck_assert_uint_gt(turned, cases * 9 / 10);
}
END_TEST

/* x less the nearest whole number of turns, exactly. out is initialised. */
static void reduced(mpq_t x, mpq_t out)
{
    mpq_t turn;
    mpz_t turns;
    mpq_init(turn);
    mpz_init(turns);
    mpq_set_ui(turn, 360, 1);
    mpq_div(out, x, turn); /* in turns; the nearest whole number is floor(x + 1/2) */
    mpz_mul_2exp(turns, mpq_numref(out), 1);
    mpz_add(turns, turns, mpq_denref(out));
    mpz_fdiv_q(turns, turns, mpq_denref(out));
    mpz_fdiv_q_2exp(turns, turns, 1);
    mpq_set_z(out, turns);
    mpq_mul(out, out, turn);
    mpq_sub(out, x, out);
    mpq_clear(turn);
    mpz_clear(turns);
}

/* How far `got` is from the angle at t on the shorter way from a to b, in degrees. */
static double off_by(double a, double b, double t, double got)
{
    mpq_t from, to, way, share, want;
    mpq_inits(from, to, way, share, want, NULL);
    mpq_set_d(from, a);
    mpq_set_d(to, b);
    mpq_sub(want, to, from);
    reduced(want, way);
    mpq_set_d(share, t);
    mpq_mul(way, way, share);
    mpq_add(want, from, way);
    mpq_set_d(share, got);
    mpq_sub(want, share, want);
    reduced(want, way);
    const double off = mpq_get_d(way);
    mpq_clears(from, to, way, share, want, NULL);
    return fabs(off);
}

START_TEST(an_angle_of_many_turns_is_interpolated_as_well_as_any)
{
    const size_t cases = test_effort(20000);
    test_rng rng = {.s = 402};
    size_t large = 0, small = 0;
    double worst = 0.0;
    for (size_t i = 0; i < cases; i++) {
        double end[2];
        for (int k = 0; k < 2; k++) {
            const double size = pow(10.0, test_uniform(&rng, 0.0, i % 8 == 0 ? 300.0 : 18.0));
            end[k] = test_below(&rng, 2) == 0 ? test_uniform(&rng, -360, 360)
                                              : test_uniform(&rng, -size, size);
        }
        const double t = test_uniform(&rng, 0, 1);
        const obb_box a = {.rotation = identity, .angle = end[0]},
                      b = {.rotation = identity, .angle = end[1]};
        const obb_box got = obb_box_interpolate(&a, &b, t, 2);
        if (fabs(off_by(end[0], end[1], 1.0, end[0])) > 180.0 - 1e-9)
            continue; /* half a turn: either way */
        const double off = off_by(end[0], end[1], t, got.angle);
        ck_assert_msg(off <= 2e-13, "case %zu: %g to %g at %g is %g, off by %g", i, end[0], end[1],
                      t, got.angle, off);
        ck_assert(fabs(got.angle) <= 540.0 || got.angle == end[0]);
        worst = fmax(worst, off);
        large += fabs(end[0]) > 1e6;
        small += fabs(end[0]) < 360.0;
        ck_assert(obb_box_interpolate(&a, &b, 0.0, 2).angle == end[0]);
        ck_assert(obb_box_interpolate(&a, &b, 1.0, 2).angle == end[1]);
        const obb_box still = obb_box_interpolate(&a, &a, t, 2);
        ck_assert(still.angle == end[0]);
    }
    printf("box: %zu angles between, %zu from beyond 1e6 degrees, off by %.2g degrees\n", cases,
           large, worst);
    ck_assert_uint_gt(large, cases / 5);
    ck_assert_uint_gt(small, cases / 5);
    const obb_box a = {.rotation = identity, .angle = 1e17},
                  b = {.rotation = identity, .angle = 330};
    const obb_box half = obb_box_interpolate(&a, &b, 0.5, 2); /* 1e17 is 280 and whole turns */
    ck_assert_double_eq(half.angle, 305.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box");
    TCase *tc = tcase_create("box");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, corners_are_in_order_and_where_they_should_be);
    tcase_add_test(tc, bounds_hold_the_box_in_exact_arithmetic_and_fit);
    tcase_add_test(tc, volume_and_matrix);
    tcase_add_test(tc, interpolation_is_exact_at_the_ends_and_accurate_between);
    tcase_add_test(tc, angles_go_the_shorter_way);
    tcase_add_test(tc, no_pose_between_two_has_a_negative_zero);
    tcase_add_test(tc, an_angle_of_many_turns_is_interpolated_as_well_as_any);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
