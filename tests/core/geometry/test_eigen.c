#include "core/geometry/eigen.h"
#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static long double wide(double v) { return (long double)v; }

/* m * v, in long double. */
static void times(const obb_symmetric *m, obb_vec3 v, long double out[3])
{
    out[0] = wide(m->xx) * wide(v.x) + wide(m->xy) * wide(v.y) + wide(m->zx) * wide(v.z);
    out[1] = wide(m->xy) * wide(v.x) + wide(m->yy) * wide(v.y) + wide(m->yz) * wide(v.z);
    out[2] = wide(m->zx) * wide(v.x) + wide(m->yz) * wide(v.y) + wide(m->zz) * wide(v.z);
}

/* R diag(values) R^T in long double, rounded. */
static obb_symmetric made_of(obb_quat q, const double values[3])
{
    long double r[3][3], m[3][3] = {{0}};
    oracle_rotation(q, r);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                m[i][j] += r[i][k] * wide(values[k]) * r[j][k];
    return (obb_symmetric){.xx = (double)m[0][0],
                           .yy = (double)m[1][1],
                           .zz = (double)m[2][2],
                           .xy = (double)m[0][1],
                           .yz = (double)m[1][2],
                           .zx = (double)m[2][0]};
}

START_TEST(vectors_are_orthonormal_and_belong_to_their_values)
{
    test_rng rng = {.s = 20261301};
    const size_t cases = test_effort(20000);
    double residual = 0.0, skew = 0.0;
    for (size_t i = 0; i < cases; i++) {
        double values[3] = {test_uniform(&rng, 0, 1), test_uniform(&rng, 0, 1),
                            test_uniform(&rng, 0, 1)};
        if (i % 3 == 1)
            values[0] = random_magnitude(&rng, 1e-18, 1);
        if (i % 5 == 1)
            values[1] = values[2];
        if (i % 7 == 1)
            values[1] = 0.0;
        const double size = random_magnitude(&rng, 1e-100, 1e100);
        for (int k = 0; k < 3; k++)
            values[k] *= size;
        const obb_symmetric m = made_of(random_rotation(&rng), values);
        obb_vec3 v[3];
        double value[3];
        obb_eigen_symmetric(&m, v, value);
        double sum = 0.0;
        for (int k = 0; k < 3; k++) {
            long double mv[3];
            times(&m, v[k], mv);
            for (int j = 0; j < 3; j++)
                residual = fmax(
                    residual,
                    (double)fabsl(mv[j] - wide(value[k]) * wide(obb_component(v[k], j))) / size);
            for (int j = 0; j < 3; j++)
                skew = fmax(skew, fabs(obb_dot(v[k], v[j]) - (j == k)));
            sum += value[k];
        }
        ck_assert_double_eq_tol(sum / size, (values[0] + values[1] + values[2]) / size, 1e-14);
        ck_assert_double_gt(obb_dot(obb_cross(v[0], v[1]), v[2]), 0.99);
    }
    printf("eigen: %zu matrices, residual at most %.3g of the largest value, orthonormal within "
           "%.3g\n",
           cases, residual, skew);
    ck_assert_double_le(residual, 1e-14);
    ck_assert_double_le(skew, 2e-15);
}
END_TEST

START_TEST(rounding_makes_no_frame)
{
    test_rng rng = {.s = 20261302};
    for (int i = 0; i < 1000;
         i++) { /* all values alike, and beside the diagonal a few units of the last place */
        const obb_symmetric m = {.xx = 1,
                                 .yy = 1 + test_uniform(&rng, -1e-15, 1e-15),
                                 .zz = 1,
                                 .xy = test_uniform(&rng, -1e-15, 1e-15),
                                 .yz = test_uniform(&rng, -1e-15, 1e-15)};
        obb_vec3 v[3];
        double value[3];
        obb_eigen_symmetric(&m, v, value);
        ck_assert(v[0].x == 1 && v[1].y == 1 && v[2].z == 1 && v[0].y == 0 && v[2].x == 0);
    }
    const obb_symmetric zero = {0};
    obb_vec3 v[3];
    double value[3];
    obb_eigen_symmetric(&zero, v, value);
    ck_assert(v[0].x == 1 && v[1].y == 1 && v[2].z == 1 && value[0] == 0);
}
END_TEST

START_TEST(small_values_are_as_good_as_large_ones)
{
    /* A graded matrix: as large as 1, as small as 1e-12, and each value right to its own last
     * places. Written as D C D with C well conditioned; the truth by one exact step: its
     * determinant. */
    test_rng rng = {.s = 20261303};
    double worst = 0.0;
    for (int i = 0; i < 2000; i++) {
        const double d[3] = {1.0, random_magnitude(&rng, 1e-6, 1), random_magnitude(&rng, 1e-6, 1)};
        const double a = test_uniform(&rng, -0.4, 0.4), b = test_uniform(&rng, -0.4, 0.4),
                     c = test_uniform(&rng, -0.4, 0.4);
        const obb_symmetric m = {.xx = d[0] * d[0],
                                 .yy = d[1] * d[1],
                                 .zz = d[2] * d[2],
                                 .xy = a * d[0] * d[1],
                                 .yz = b * d[1] * d[2],
                                 .zx = c * d[2] * d[0]};
        obb_vec3 v[3];
        double value[3];
        obb_eigen_symmetric(&m, v, value);
        const long double determinant =
            wide(m.xx) * (wide(m.yy) * wide(m.zz) - wide(m.yz) * wide(m.yz)) -
            wide(m.xy) * (wide(m.xy) * wide(m.zz) - wide(m.yz) * wide(m.zx)) +
            wide(m.zx) * (wide(m.xy) * wide(m.yz) - wide(m.yy) * wide(m.zx));
        const long double product = wide(value[0]) * wide(value[1]) * wide(value[2]);
        worst = fmax(worst, (double)fabsl(product / determinant - 1));
    }
    printf("eigen: graded matrices, product of the values within %.3g of the determinant\n", worst);
    ck_assert_double_le(worst, 1e-13);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eigen");
    TCase *tc = tcase_create("eigen");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, vectors_are_orthonormal_and_belong_to_their_values);
    tcase_add_test(tc, rounding_makes_no_frame);
    tcase_add_test(tc, small_values_are_as_good_as_large_ones);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
