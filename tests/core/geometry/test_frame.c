#include "core/geometry/frame.h"
#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static double sum_of(obb_vec3 v) { return fabs(v.x) + fabs(v.y) + fabs(v.z); }

static double ulp_of(double v) { return nextafter(fabs(v), HUGE_VAL) - fabs(v); }

/* Returns |v - exact|, rounded. */
static double error_of(double v, const mpq_t exact)
{
    mpq_t apart;
    mpq_init(apart);
    mpq_set_d(apart, v);
    mpq_sub(apart, apart, exact);
    const double error = fabs(mpq_get_d(apart));
    mpq_clear(apart);
    return error;
}

static obb_box random_pose(test_rng *rng, int dimensions)
{
    obb_box box = random_box(rng, dimensions);
    if (test_below(rng, 3) == 0)
        box.center = random_vector(rng, -5e8, 5e8);
    if (dimensions == 2) {
        box.center.z = 0.0;
        box.angle = test_uniform(rng, -1000, 1000);
    } else {
        ck_assert_int_eq(obb_quat_normalise(random_rotation(rng), &box.rotation), OBB_OK);
    }
    return box;
}

START_TEST(a_placed_box_is_within_the_documented_bound_of_the_exact_one)
{
    test_rng rng = {.s = 20261122};
    const size_t cases = test_effort(3000);
    double worst = 0.0, worst_turn = 0.0;
    mpq_t exact;
    mpq_init(exact);
    for (size_t i = 0; i < cases; i++) {
        const obb_box pose = random_pose(&rng, 3), local = random_pose(&rng, 3);
        const obb_frame frame = obb_frame_from_pose(&pose, 3);
        obb_box placed;
        if (obb_frame_place(&frame, &local, &placed) != OBB_OK) {
            ck_assert_double_gt(sum_of(pose.center) + 2 * sum_of(local.center), 1e9);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            const double v = obb_component(placed.center, k);
            oracle_placed(pose.center, pose.rotation, local.center, k, exact);
            const double error = error_of(v, exact),
                         bound = 4e-15 * sum_of(local.center) + ulp_of(v);
            ck_assert_double_le(error, bound);
            worst = fmax(worst, error / bound);
        }
        const obb_quat p = pose.rotation, q = local.rotation;
        const long double a[4] = {p.x, p.y, p.z, p.w}, b[4] = {q.x, q.y, q.z, q.w};
        long double c[4] = {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
                            a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
                            a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
                            a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
        const long double length = sqrtl(c[0] * c[0] + c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
        const double got[4] = {placed.rotation.x, placed.rotation.y, placed.rotation.z,
                               placed.rotation.w};
        for (int k = 0; k < 4; k++)
            worst_turn = fmax(worst_turn, (double)fabsl((long double)got[k] - c[k] / length));
        ck_assert_double_le(worst_turn, 2e-15);
        ck_assert_double_le(fabs(oracle_excess_rounded(placed.rotation)), 4e-16);
        ck_assert_double_eq(placed.half_extents.y, local.half_extents.y);
    }
    mpq_clear(exact);
    printf("frame: the worst of %zu poses took %.2g of its bound, rotations were off by %.2g\n",
           cases, worst, worst_turn);
    ck_assert_double_gt(worst, 0.05);
}
END_TEST

START_TEST(in_the_plane_the_angle_is_the_plain_sum)
{
    test_rng rng = {.s = 20261123};
    const size_t cases = test_effort(1000);
    mpf_t s, c, exact, part;
    mpf_inits(s, c, exact, part, NULL);
    mpf_set_prec(exact, 300);
    mpf_set_prec(part, 300);
    mpf_set_prec(s, 300);
    mpf_set_prec(c, 300);
    for (size_t i = 0; i < cases; i++) {
        const obb_box pose = random_pose(&rng, 2), local = random_pose(&rng, 2);
        const obb_frame frame = obb_frame_from_pose(&pose, 2);
        obb_box placed;
        if (obb_frame_place(&frame, &local, &placed) != OBB_OK)
            continue;
        ck_assert_double_eq(placed.angle, pose.angle + local.angle);
        ck_assert_double_eq(placed.rotation.w, 1.0);
        ck_assert_double_eq(placed.center.z, 0.0);
        oracle_sin_cos(pose.angle, s, c);
        for (int k = 0; k < 2; k++) {
            mpf_set_d(exact, obb_component(pose.center, k));
            mpf_set_d(part, k == 0 ? local.center.x : local.center.y);
            mpf_mul(part, part, c);
            mpf_add(exact, exact, part);
            mpf_set_d(part, k == 0 ? -local.center.y : local.center.x);
            mpf_mul(part, part, s);
            mpf_add(exact, exact, part);
            const double v = obb_component(placed.center, k);
            mpf_set_d(part, v);
            mpf_sub(part, part, exact);
            ck_assert_double_le(fabs(mpf_get_d(part)), 4e-15 * sum_of(local.center) + ulp_of(v));
        }
    }
    mpf_clears(s, c, exact, part, NULL);
}
END_TEST

/* A door that is turned by quarters stands exactly where a ruler says. */
START_TEST(quarter_turns_move_whole_numbers_exactly)
{
    size_t placed_exactly = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int quarter = -3; quarter <= 3; quarter++) {
            const obb_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
            obb_box pose = {.center = {10, 20, 30}}, placed;
            ck_assert_int_eq(obb_quat_from_axis_angle(axes[axis], 90.0 * quarter, &pose.rotation),
                             OBB_OK);
            const double v[3] = {1, -2, 3}, from[3] = {10, 20, 30};
            double want[3] = {1, -2, 3};
            const int a = (axis + 1) % 3, b = (axis + 2) % 3;
            for (int turns = (quarter + 4) % 4; turns > 0; turns--) { /* a -> b, b -> -a */
                const double x = want[a];
                want[a] = -want[b];
                want[b] = x;
            }
            const obb_frame frame = obb_frame_from_pose(&pose, 3);
            const obb_box local = {.center = {v[0], v[1], v[2]}, .rotation = {0, 0, 0, 1}};
            ck_assert_int_eq(obb_frame_place(&frame, &local, &placed), OBB_OK);
            for (int k = 0; k < 3; k++, placed_exactly++)
                ck_assert_double_eq(obb_component(placed.center, k), from[k] + want[k]);
            ck_assert_double_eq_tol(
                fabs(placed.rotation.x * pose.rotation.x + placed.rotation.y * pose.rotation.y +
                     placed.rotation.z * pose.rotation.z + placed.rotation.w * pose.rotation.w),
                1.0, 1e-15);
            obb_box back;
            ck_assert_int_eq(obb_frame_local(&frame, &placed, &back), OBB_OK);
            for (int k = 0; k < 3; k++)
                ck_assert_double_eq(obb_component(back.center, k), v[k]);
        }
    ck_assert_uint_eq(placed_exactly, 63);
}
END_TEST

START_TEST(the_local_pose_of_a_placed_box_is_the_one_that_was_placed)
{
    test_rng rng = {.s = 20261124};
    const size_t cases = test_effort(3000);
    size_t compared = 0;
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = i % 2 == 0 ? 3 : 2;
        const obb_box pose = random_pose(&rng, dimensions), local = random_pose(&rng, dimensions);
        const obb_frame frame = obb_frame_from_pose(&pose, dimensions);
        obb_box placed, back, again;
        if (obb_frame_place(&frame, &local, &placed) != OBB_OK ||
            obb_frame_local(&frame, &placed, &back) != OBB_OK)
            continue;
        const double near = 1e-14 * (sum_of(local.center) + sum_of(placed.center));
        ck_assert_double_le(sum_of(obb_sub(back.center, local.center)), near);
        ck_assert_double_eq_tol(
            fabs(back.rotation.x * local.rotation.x + back.rotation.y * local.rotation.y +
                 back.rotation.z * local.rotation.z + back.rotation.w * local.rotation.w),
            1.0, 1e-14);
        ck_assert_double_eq_tol(back.angle, local.angle, 1e-12);
        ck_assert_int_eq(obb_frame_place(&frame, &back, &again), OBB_OK);
        ck_assert_double_le(sum_of(obb_sub(again.center, placed.center)), 2 * near);
        compared++;
    }
    ck_assert_uint_gt(compared, cases / 2);
}
END_TEST

START_TEST(a_frame_that_does_not_turn_adds_centres_and_keeps_rotations)
{
    test_rng rng = {.s = 20261125};
    for (int i = 0; i < 200; i++) {
        const obb_vec3 at = {(double)(i % 7), -3, 0.5};
        const obb_frame frame =
            obb_frame_from_pose(&(obb_box){.center = at, .rotation = {0, 0, 0, 1}}, 3);
        obb_box local = random_pose(&rng, 3), placed;
        local.rotation = obb_quat_normalise_computed(local.rotation);
        if (obb_frame_place(&frame, &local, &placed) != OBB_OK)
            continue;
        const obb_vec3 want = obb_add(at, local.center);
        ck_assert(test_same_bits(placed.center.x, want.x) &&
                  test_same_bits(placed.center.y, want.y) &&
                  test_same_bits(placed.center.z, want.z));
        ck_assert_mem_eq(&placed.rotation, &local.rotation, sizeof placed.rotation);
    }
}
END_TEST

START_TEST(no_computed_number_is_a_negative_zero)
{
    test_rng rng = {.s = 20261126};
    size_t zeros = 0;
    for (int i = 0; i < 2000; i++) {
        const int dimensions = i % 2 == 0 ? 3 : 2;
        obb_box pose = {.rotation = {0, 0, 0, 1}}, local = pose, placed, back;
        pose.center = random_zeros_in(&rng, (obb_vec3){1, 0, 0});
        local.center = random_zeros_in(&rng, (obb_vec3){-1, 0, 0});
        if (dimensions == 3) {
            pose.rotation.x = random_zero(&rng);
            local.rotation.z = random_zero(&rng);
        } else {
            pose.center.z = local.center.z = 0.0;
            pose.angle = random_zero(&rng);
            local.angle = random_zero(&rng);
        }
        const obb_frame frame = obb_frame_from_pose(&pose, dimensions);
        ck_assert_int_eq(obb_frame_place(&frame, &local, &placed), OBB_OK);
        ck_assert_int_eq(obb_frame_local(&frame, &local, &back), OBB_OK);
        ck_assert_uint_eq(oracle_negative_zeros(&placed), 0);
        ck_assert_uint_eq(oracle_negative_zeros(&back), 0);
        zeros += oracle_negative_zeros(&pose) + oracle_negative_zeros(&local);
    }
    ck_assert_uint_gt(zeros, 2000);
}
END_TEST

START_TEST(a_box_beyond_the_range_is_refused_and_nothing_is_written)
{
    const obb_frame far =
        obb_frame_from_pose(&(obb_box){.center = {1e9, 0, 0}, .rotation = {0, 0, 0, 1}}, 3);
    obb_box local = {.center = {1, 0, 0}, .rotation = {0, 0, 0, 1}}, out = {.angle = 7};
    ck_assert_int_eq(obb_frame_place(&far, &local, &out), OBB_BAD_NUMBER);
    local.center.x = -1e9;
    ck_assert_int_eq(obb_frame_local(&far, &local, &out), OBB_BAD_NUMBER);
    ck_assert_double_eq(out.angle, 7);
    local.center.x = 0;
    ck_assert_int_eq(obb_frame_place(&far, &local, &out), OBB_OK);
    ck_assert_double_eq(out.center.x, 1e9);
    const obb_frame turned =
        obb_frame_from_pose(&(obb_box){.rotation = {0, 0, 0, 1}, .angle = DBL_MAX}, 2);
    local = (obb_box){.rotation = {0, 0, 0, 1}, .angle = DBL_MAX};
    ck_assert_int_eq(obb_frame_place(&turned, &local, &out), OBB_BAD_NUMBER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tc = tcase_create("frame");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_placed_box_is_within_the_documented_bound_of_the_exact_one);
    tcase_add_test(tc, in_the_plane_the_angle_is_the_plain_sum);
    tcase_add_test(tc, quarter_turns_move_whole_numbers_exactly);
    tcase_add_test(tc, the_local_pose_of_a_placed_box_is_the_one_that_was_placed);
    tcase_add_test(tc, a_frame_that_does_not_turn_adds_centres_and_keeps_rotations);
    tcase_add_test(tc, no_computed_number_is_a_negative_zero);
    tcase_add_test(tc, a_box_beyond_the_range_is_refused_and_nothing_is_written);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
