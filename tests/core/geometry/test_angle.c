#include "core/geometry/angle.h"
#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How far a double is from the truth, in units of the double's last place. */
static double error_in_ulps(double got, mpf_t truth)
{
    mpf_t difference;
    mpf_init2(difference, 300);
    mpf_set_d(difference, got);
    mpf_sub(difference, difference, truth);
    const double nearest = fabs(mpf_get_d(truth));
    const double ulp = nextafter(nearest, HUGE_VAL) - nearest;
    const double error = fabs(mpf_get_d(difference)) / ulp;
    mpf_clear(difference);
    return error;
}

START_TEST(sine_and_cosine_are_within_an_ulp)
{
    test_rng rng = {.s = 20261201};
    mpf_t s, c;
    mpf_init2(s, 300);
    mpf_init2(c, 300);
    const size_t cases = test_effort(6000);
    double worst = 0.0;
    size_t looked = 0, nearest = 0, small = 0;
    for (size_t i = 0; i < cases; i++) {
        double degrees = 0.0;
        switch (i % 4) {
        case 0:
            degrees = test_uniform(&rng, -360, 360);
            break;
        case 1: /* beside a multiple of 90, where one of them almost vanishes */
            degrees = 90.0 * (double)test_below(&rng, 8) - 360.0 +
                      random_magnitude(&rng, 1e-13, 1) * (i % 8 < 4 ? 1 : -1);
            break;
        case 2:
            degrees = random_magnitude(&rng, 1e-90, 1);
            break;
        default: /* beside the ends of the kernel's range */
            degrees = 45.0 + 90.0 * (double)test_below(&rng, 4) + test_uniform(&rng, -1e-6, 1e-6);
        }
        double got_s, got_c;
        obb_sin_cos(degrees, &got_s, &got_c);
        oracle_sin_cos(degrees, s, c);
        if (mpf_cmp_d(s, 1e-15) < 0 && mpf_cmp_d(s, -1e-15) > 0)
            small++;
        const double es = error_in_ulps(got_s, s), ec = error_in_ulps(got_c, c);
        ck_assert_msg(es <= 1.0 && ec <= 1.0, "%.17g degrees: %g and %g ulp", degrees, es, ec);
        worst = fmax(worst, fmax(es, ec));
        nearest += (size_t)(es <= 0.5) + (size_t)(ec <= 0.5);
        looked += 2;
    }
    mpf_clears(s, c, NULL);
    printf("angle: %zu sines and cosines, at most %.3f ulp off, %.1f %% the nearest double\n",
           looked, worst, 100.0 * (double)nearest / (double)looked);
    ck_assert_uint_gt(looked, 10000);
    ck_assert_uint_gt(small, 100);
    ck_assert_uint_gt(nearest, looked * 9 / 10);
}
END_TEST

START_TEST(whole_turns_change_nothing_and_the_simple_angles_are_exact)
{
    const double half = 0.5, diagonal = sqrt(0.5), any = 2; /* irrational */
    const struct {
        double degrees, sine, cosine;
    } table[] = {
        {0, 0, 1},
        {30, half, any},
        {45, diagonal, diagonal},
        {60, any, half},
        {90, 1, 0},
        {120, any, -half},
        {135, diagonal, -diagonal},
        {150, half, any},
        {180, 0, -1},
        {210, -half, any},
        {225, -diagonal, -diagonal},
        {240, any, -half},
        {270, -1, 0},
        {300, any, half},
        {315, -diagonal, diagonal},
        {330, -half, any},
        {-30, -half, any},
        {-45, -diagonal, diagonal},
        {-90, -1, 0},
        {-180, 0, -1},
    };
    size_t looked = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int turns = -3; turns <= 3; turns++, looked++) {
            double s, c;
            obb_sin_cos(table[i].degrees + 360e11 * turns, &s, &c);
            if (table[i].sine != any)
                ck_assert_double_eq(s, table[i].sine);
            if (table[i].cosine != any)
                ck_assert_double_eq(c, table[i].cosine);
            ck_assert(!(s == 0.0 && signbit(s)) && !(c == 0.0 && signbit(c)));
        }
    ck_assert_uint_eq(looked, 7 * sizeof table / sizeof table[0]);
    test_rng rng = {.s = 20261202};
    for (int i = 0; i < 1000; i++) {
        const double degrees = test_uniform(&rng, -1, 1) * random_magnitude(&rng, 1, 1e300);
        double s, c, s1, c1;
        obb_sin_cos(degrees, &s, &c);
        obb_sin_cos(fmod(degrees, 360.0), &s1, &c1);
        ck_assert(s == s1 && c == c1);
    }
}
END_TEST

START_TEST(the_arc_tangent_points_where_the_vector_points)
{
    test_rng rng = {.s = 20261203};
    mpf_t s, c, x, y;
    mpf_init2(s, 300);
    mpf_init2(c, 300);
    mpf_init2(x, 300);
    mpf_init2(y, 300);
    const size_t cases = test_effort(4000);
    double worst = 0.0;
    size_t quadrants[4] = {0};
    for (size_t i = 0; i < cases; i++) {
        const double vx = test_uniform(&rng, -1, 1) * random_magnitude(&rng, 1e-8, 1e8),
                     vy = test_uniform(&rng, -1, 1) * random_magnitude(&rng, 1e-8, 1e8);
        const double angle = obb_arc_tangent(vy, vx);
        quadrants[(vx < 0) + 2 * (vy < 0)]++;
        /* sin(truth - angle) = (y cos(angle) - x sin(angle)) / |(x, y)|, and the sine of an error
         * this small is it */
        oracle_sin_cos(angle, s, c);
        mpf_set_d(x, vx);
        mpf_set_d(y, vy);
        mpf_mul(c, c, y);
        mpf_mul(s, s, x);
        mpf_sub(c, c, s);
        const double error = mpf_get_d(c) / hypot(vx, vy) * 57.29577951308232;
        const double ulps = fabs(error) / (nextafter(fabs(angle), HUGE_VAL) - fabs(angle));
        ck_assert_msg(ulps <= 4.0, "atan2(%.17g, %.17g): %g ulp", vy, vx, ulps);
        ck_assert(angle >= -180.0 && angle <= 180.0);
        /* the cosine of the error, so that opposite directions are told apart */
        double ds, dc;
        obb_sin_cos(angle, &ds, &dc);
        ck_assert_double_gt((vx * dc + vy * ds) / hypot(vx, vy), 0.999);
        worst = fmax(worst, ulps);
    }
    mpf_clears(s, c, x, y, NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_gt(quadrants[i], cases / 8);
    printf("angle: %zu arc tangents, at most %.3f ulp off\n", cases, worst);
    const double exact[][3] = {{0, 1, 0},    {1, 1, 45},   {1, 0, 90},
                               {1, -1, 135}, {0, -1, 180}, {-1, -1, -135},
                               {-1, 0, -90}, {-1, 1, -45}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        for (int exponent = -1000; exponent <= 1000; exponent += 25)
            ck_assert_double_eq(
                obb_arc_tangent(ldexp(exact[i][0], exponent), ldexp(exact[i][1], exponent)),
                exact[i][2]);
}
END_TEST

START_TEST(every_machine_gives_the_same_bits)
{
    test_rng rng = {.s = 20261204};
    uint64_t hash = 14695981039346656037u; /* FNV-1a over the words */
    for (int i = 0; i < 100000; i++) {
        double v[3];
        obb_sin_cos(test_uniform(&rng, -720, 720), &v[0], &v[1]);
        const double y = test_uniform(&rng, -1, 1), x = test_uniform(&rng, -1, 1);
        v[2] = obb_arc_tangent(y, x);
        for (int j = 0; j < 3; j++) {
            uint64_t bits;
            memcpy(&bits, &v[j], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
    }
    ck_assert_uint_eq(hash, 9340054439596353138u);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("angle");
    TCase *tc = tcase_create("angle");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, sine_and_cosine_are_within_an_ulp);
    tcase_add_test(tc, whole_turns_change_nothing_and_the_simple_angles_are_exact);
    tcase_add_test(tc, the_arc_tangent_points_where_the_vector_points);
    tcase_add_test(tc, every_machine_gives_the_same_bits);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
