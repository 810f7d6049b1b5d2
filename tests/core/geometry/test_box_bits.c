/* What happens to the last bits of a box: negative zeros, whole turns, transforms that move
 * nothing. */
#include "core/geometry/angle.h"
#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};

static bool is_negative_zero(double v) { return v == 0.0 && signbit(v); }

static size_t negative_zeros(const double *v, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_negative_zero(v[i]);
    return found;
}

enum { NUMBERS = 11 };

static void numbers_of(const obb_box *box, double out[static NUMBERS])
{
    const double v[NUMBERS] = {box->center.x,       box->center.y,       box->center.z,
                               box->half_extents.x, box->half_extents.y, box->half_extents.z,
                               box->rotation.x,     box->rotation.y,     box->rotation.z,
                               box->rotation.w,     box->angle};
    memcpy(out, v, sizeof v);
}

static size_t negative_zeros_of(const obb_box *box)
{
    double v[NUMBERS];
    numbers_of(box, v);
    return negative_zeros(v, NUMBERS);
}

static bool same_bits(const obb_box *a, const obb_box *b)
{
    double v[NUMBERS], w[NUMBERS];
    numbers_of(a, v);
    numbers_of(b, w);
    for (size_t i = 0; i < NUMBERS; i++)
        if (!test_same_bits(v[i], w[i]))
            return false;
    return true;
}

/* 0.0 or -0.0 */
static double any_zero(test_rng *rng) { return test_below(rng, 2) == 0 ? 0.0 : -0.0; }

/* v with some of its numbers taken for a zero of either sign. */
static obb_vec3 with_zeros(test_rng *rng, obb_vec3 v)
{
    return (obb_vec3){test_below(rng, 2) == 0 ? any_zero(rng) : v.x,
                      test_below(rng, 2) == 0 ? any_zero(rng) : v.y,
                      test_below(rng, 2) == 0 ? any_zero(rng) : v.z};
}

/* ---- Negative zeros --------------------------------------------------------------------------------------------------- */

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
        double v[3] = {any_zero(rng), any_zero(rng), any_zero(rng)};
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
            at[k] = any_zero(rng);
    }
    return (obb_vec3){at[0], at[1], at[2]};
}

enum form { AXES, AXIS_ANGLE, MIN_MAX, MATRIX, POINTS, CORNERS, LONG_QUATERNION, FORMS };

static obb_box make_from(test_rng *rng, enum form form, int dimensions)
{
    obb_box box = {.rotation = identity};
    obb_vec3 frame[3], corners[8];
    const obb_vec3 half = with_zeros(rng, random_vector(rng, 1, 2));
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
        const obb_vec3 low = with_zeros(rng, (obb_vec3){-1, -1, -1}),
                       high = with_zeros(rng, (obb_vec3){1, 1, 1});
        st = obb_box_from_min_max(low, high, frame[0], identity, 0.0, dimensions, &box);
        break;
    }
    case MATRIX: {
        double m[16] = {0};
        for (size_t i = 0; i < 4; i++) {
            const obb_vec3 column = i < 3 ? frame[i] : with_zeros(rng, half);
            m[4 * i] = column.x;
            m[4 * i + 1] = column.y;
            m[4 * i + 2] = column.z;
        }
        m[15] = 1.0;
        st = obb_box_from_matrix(m, &half, &box);
        break;
    }
    case POINTS:
        st = obb_fit_points(corners, count, (obb_fit)test_below(rng, 3), dimensions, &box);
        break;
    case CORNERS:
        st = obb_fit_corners(corners, count, dimensions, &box);
        break;
    case LONG_QUATERNION: {
        const obb_vec3 v = with_zeros(rng, random_vector(rng, -1, 1));
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
        found += negative_zeros_of(&box) > 0;
        ck_assert_msg(negative_zeros_of(&box) == 0, "case %zu, form %d", i, (int)form);
    }
    printf("box bits: %zu boxes in %d forms, %zu with a negative zero\n", cases, FORMS, found);
    ck_assert_uint_eq(found, 0);
    ck_assert(!is_negative_zero(obb_arc_tangent(-5e-324, 1e9)));
}
END_TEST

START_TEST(what_is_stated_keeps_its_negative_zeros)
{
    obb_box box;
    const obb_vec3 zeros = {-0.0, -0.0, -0.0};
    ck_assert_int_eq(
        obb_box_from_pose(zeros, zeros, (obb_quat){-0.0, -0.0, -0.0, 1.0}, 0.0, 3, &box), OBB_OK);
    ck_assert_uint_eq(negative_zeros_of(&box), 9);
    ck_assert_int_eq(obb_box_from_pose(zeros, zeros, identity, -0.0, 2, &box), OBB_OK);
    ck_assert_uint_eq(negative_zeros_of(&box), 5);
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
            box[k] = (obb_box){.center = {any_zero(&rng), k == 0 ? -0.0 : -5e-324, 1},
                               .rotation = {any_zero(&rng), any_zero(&rng), s, c}};
            ck_assert_int_eq(obb_quat_normalise(box[k].rotation, &box[k].rotation), OBB_OK);
        }
        const obb_box got = obb_box_interpolate(&box[0], &box[1], test_uniform(&rng, 0, 1), 3);
        ck_assert_msg(negative_zeros_of(&got) == 0, "case %zu", i);
        turned += got.rotation.z != box[0].rotation.z;
    }
    ck_assert_uint_gt(turned, cases * 9 / 10);
}
END_TEST

/* ---- Large angles ------------------------------------------------------------------------------------------------------- */

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
    printf("box bits: %zu angles between, %zu from beyond 1e6 degrees, off by %.2g degrees\n",
           cases, large, worst);
    ck_assert_uint_gt(large, cases / 5);
    ck_assert_uint_gt(small, cases / 5);
    const obb_box a = {.rotation = identity, .angle = 1e17},
                  b = {.rotation = identity, .angle = 330};
    const obb_box half = obb_box_interpolate(&a, &b, 0.5, 2); /* 1e17 is 280 and whole turns */
    ck_assert_double_eq(half.angle, 305.0);
}
END_TEST

/* ---- Transforms that move nothing ------------------------------------------------------------------------------------------ */

/* A transform that says nothing, in one of many ways. */
static obb_transform nothing(test_rng *rng, int dimensions)
{
    obb_transform t = {.local = test_below(rng, 2) == 0};
    if (dimensions == 3 && test_below(rng, 5) == 0) {
        const double z = any_zero(rng);
        return (obb_transform){.has_matrix = true,
                               .matrix = {1, z, 0, z, 0, 1, z, 0, z, 0, 1, 0, z, 0, z, 1}};
    }
    t.has_translate = test_below(rng, 2) == 0;
    t.has_scale = test_below(rng, 2) == 0;
    t.has_rotate = test_below(rng, 2) == 0;
    t.translate = (obb_vec3){any_zero(rng), any_zero(rng), any_zero(rng)};
    t.scale = (obb_vec3){1, 1, 1};
    const double turns = (double)test_below(rng, 7) - 3.0;
    t.angle = 360.0 * turns * (test_below(rng, 2) == 0 ? 1.0 : 1e12);
    if (test_below(rng, 2) == 0)
        ck_assert_int_eq(
            obb_quat_from_axis_angle(random_vector(rng, -1, 1), 360.0 * turns, &t.rotate), OBB_OK);
    else
        t.rotate = (obb_quat){any_zero(rng), any_zero(rng), any_zero(rng), 3.0};
    return t;
}

START_TEST(a_transform_that_moves_nothing_changes_no_bit)
{
    const size_t cases = test_effort(20000);
    test_rng rng = {.s = 403};
    size_t zeros = 0, turns = 0;
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = 2 + (int)(i % 2);
        obb_box box = random_box(&rng, dimensions);
        box.center = with_zeros(&rng, box.center);
        box.half_extents = with_zeros(&rng, box.half_extents);
        if (dimensions == 2) {
            box.center.z = box.half_extents.z = 0.0;
            box.angle = test_below(&rng, 4) == 0
                            ? 360.0 * (double)test_below(&rng, 5) - 720.0 + any_zero(&rng)
                            : test_uniform(&rng, -1e6, 1e6);
        } else if (test_below(&rng, 2) == 0) {
            double s, c;
            obb_sin_cos(test_uniform(&rng, -180, 180), &s, &c);
            ck_assert_int_eq(
                obb_quat_normalise((obb_quat){any_zero(&rng), s, any_zero(&rng), c}, &box.rotation),
                OBB_OK);
        }
        const obb_transform t = nothing(&rng, dimensions);
        obb_box got;
        const obb_status st = obb_box_transform(&box, &t, dimensions, &got);
        ck_assert_msg(st == OBB_OK, "case %zu: %s", i, obb_status_name(st));
        ck_assert_msg(same_bits(&got, &box), "case %zu in %d-D", i, dimensions);
        zeros += negative_zeros_of(&box) > 0;
        turns += fabs(box.angle) > 360.0;
    }
    printf("box bits: %zu transforms that move nothing, %zu of boxes with negative zeros, %zu of "
           "many turns\n",
           cases, zeros, turns);
    ck_assert_uint_gt(zeros, cases / 2);
    ck_assert_uint_gt(turns, cases / 4);
}
END_TEST

START_TEST(a_transform_that_moves_leaves_no_negative_zero_behind)
{
    obb_box box = {{-0.0, 3, -0.0}, {1, 2, 3}, identity, 0.0}, got;
    /* a quarter turn about z: x is -3, y is 0, z stays to the bit */
    obb_transform t = {.has_rotate = true, .rotate = {.z = sqrt(0.5), .w = sqrt(0.5)}};
    ck_assert_int_eq(obb_box_transform(&box, &t, 3, &got), OBB_OK);
    ck_assert(got.center.x == -3 && got.center.y == 0 && !signbit(got.center.y));
    ck_assert(is_negative_zero(got.center.z));
    /* there and back is not a negative zero either */
    t = (obb_transform){.has_translate = true, .translate = {0, -3, 0}};
    ck_assert_int_eq(obb_box_transform(&box, &t, 3, &got), OBB_OK);
    ck_assert(got.center.y == 0 && !signbit(got.center.y) && is_negative_zero(got.center.x));
    /* in the plane an angle of many turns comes back within one only where it is turned */
    box = (obb_box){{1, 2, 0}, {1, 2, 0}, identity, 730.0};
    t = (obb_transform){.has_rotate = true, .angle = 20.0, .local = true};
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 30.0);
    t.angle = -720.0;
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 730.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("box_bits");
    TCase *tc = tcase_create("box_bits");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_is_computed_has_no_negative_zero);
    tcase_add_test(tc, what_is_stated_keeps_its_negative_zeros);
    tcase_add_test(tc, no_pose_between_two_has_a_negative_zero);
    tcase_add_test(tc, an_angle_of_many_turns_is_interpolated_as_well_as_any);
    tcase_add_test(tc, a_transform_that_moves_nothing_changes_no_bit);
    tcase_add_test(tc, a_transform_that_moves_leaves_no_negative_zero_behind);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
