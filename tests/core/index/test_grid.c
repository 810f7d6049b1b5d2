/* Uniform and nonuniform grids: codes that never fall, and quantised bounds that hold what was
 * quantised. */
#include "core/index/grid.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

static double power(test_rng *rng, double least, double most)
{
    return pow(10.0, test_uniform(rng, least, most));
}

/* Bounds of any size, anywhere within the range of coordinates. */
static obb_bounds random_extent(test_rng *rng)
{
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = (test_below(rng, 2) == 0 ? -1 : 1) * power(rng, -6, 9);
        high[k] = low[k] + (test_below(rng, 8) == 0 ? 0 : power(rng, -6, 9));
    }
    return (obb_bounds){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

/* A grid with most of its codes around one part of the extent, as crowded scenes get. */
static struct obb_grid nonuniform_over(const obb_bounds *extent, test_rng *rng,
                                       struct obb_nonuniform_grid *nonuniform)
{
    struct obb_grid grid = obb_grid_uniform(extent);
    for (int k = 0; k < 3; k++) {
        const double low = obb_component(extent->min, k), high = obb_component(extent->max, k);
        double *knot = nonuniform->knot[k];
        knot[0] = low;
        knot[OBB_GRID_PIECES] = high;
        const double middle = test_uniform(rng, 0.1, 0.8), width = power(rng, -8, -1);
        for (int i = 1; i < OBB_GRID_PIECES; i++) {
            const int pair = i / 2; /* two knots each coincide */
            knot[i] = low + (high - low) * (middle + width * pair / OBB_GRID_PIECES);
        }
        for (int i = 0; i < OBB_GRID_PIECES; i++)
            nonuniform->scale[k][i] =
                knot[i + 1] - knot[i] > 1e-290 ? OBB_GRID_PIECE_CODES / (knot[i + 1] - knot[i]) : 0;
    }
    grid.nonuniform = nonuniform;
    return grid;
}

START_TEST(a_uniform_grid_holds_its_extent_with_room_at_both_ends)
{
    test_rng rng = {.s = 20261140};
    for (size_t i = 0; i < test_effort(5000); i++) {
        const obb_bounds extent = random_extent(&rng);
        const struct obb_grid grid = obb_grid_uniform(&extent);
        ck_assert_ptr_null(grid.nonuniform);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq(grid.origin[k], (double)grid.hi[k] + (double)grid.lo[k]);
            ck_assert_double_eq(grid.scale[k], (double)(float)grid.scale[k]);
            ck_assert_uint_ge(obb_grid_code(&grid, k, obb_component(extent.min, k)), 3);
            ck_assert_uint_le(obb_grid_code(&grid, k, obb_component(extent.max, k)),
                              OBB_CODE_MOST - 3);
            ck_assert_uint_eq(obb_grid_code(&grid, k, -1e300), 0);
            ck_assert_uint_eq(obb_grid_code(&grid, k, 1e300), OBB_CODE_MOST);
        }
    }
}
END_TEST

START_TEST(codes_never_fall_where_coordinates_rise)
{
    test_rng rng = {.s = 20261141};
    size_t risen = 0, same = 0;
    for (size_t i = 0; i < test_effort(2000); i++) {
        const obb_bounds extent = random_extent(&rng);
        struct obb_nonuniform_grid nonuniform;
        const struct obb_grid grid =
            i % 2 == 0 ? obb_grid_uniform(&extent) : nonuniform_over(&extent, &rng, &nonuniform);
        for (int k = 0; k < 3; k++) {
            const double low = obb_component(extent.min, k), high = obb_component(extent.max, k);
            double x = low - (high - low) * 0.1;
            uint32_t code = obb_grid_code(&grid, k, x);
            for (int step = 0; step < 40; step++) {
                x += (high - low) * test_uniform(&rng, 0, 1) * power(&rng, -6, -1);
                const uint32_t next = obb_grid_code(&grid, k, x);
                ck_assert_uint_le(code, next);
                risen += code < next;
                same += code == next;
                code = next;
            }
        }
    }
    (void)printf("codes: %zu rose, %zu stayed\n", risen, same);
    ck_assert_uint_gt(risen, same / 4);
    ck_assert_uint_gt(same, risen / 100);
}
END_TEST

START_TEST(quantised_bounds_hold_what_was_quantised_and_are_two_codes_wider_at_most)
{
    test_rng rng = {.s = 20261142};
    size_t inside = 0, asked = 0;
    for (size_t i = 0; i < test_effort(5000); i++, asked++) {
        const obb_bounds extent = random_extent(&rng);
        struct obb_nonuniform_grid nonuniform;
        const bool uniform = i % 2 == 0;
        const struct obb_grid grid =
            uniform ? obb_grid_uniform(&extent) : nonuniform_over(&extent, &rng, &nonuniform);
        double low[3], high[3];
        for (int k = 0; k < 3; k++) { /* a third of them reach out of the extent */
            const double from = obb_component(extent.min, k);
            const double width = obb_component(extent.max, k) - from;
            const double a = from + width * test_uniform(&rng, i % 3 == 0 ? -0.5 : 0, 1);
            const double b = from + width * test_uniform(&rng, 0, i % 3 == 0 ? 1.5 : 1);
            low[k] = fmin(a, b);
            high[k] = fmax(a, b);
        }
        const obb_bounds bounds = {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
        const struct obb_quantised_bounds quantised = obb_grid_quantise(&grid, &bounds);
        const obb_bounds held = obb_grid_bounds(&grid, &quantised);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_le(obb_component(held.min, k), low[k]);
            ck_assert_double_ge(obb_component(held.max, k), high[k]);
            if (!uniform || i % 3 == 0)
                continue;
            const double spare =
                1 / grid.scale[k] + (fabs(low[k]) + fabs(high[k]) + fabs(grid.origin[k])) * 0x1p-48;
            ck_assert_double_ge(obb_component(held.min, k), low[k] - spare);
            ck_assert_double_le(obb_component(held.max, k), high[k] + spare);
            inside++;
        }
    }
    ck_assert_uint_gt(inside, asked / 2);
}
END_TEST

START_TEST(a_nonuniform_grid_tells_apart_what_a_uniform_one_does_not)
{
    const obb_bounds extent = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    struct obb_nonuniform_grid nonuniform;
    for (int k = 0; k < 3; k++) {
        double *knot = nonuniform.knot[k];
        knot[0] = -1e9;
        knot[OBB_GRID_PIECES] = 1e9;
        for (int i = 1; i < OBB_GRID_PIECES; i++)
            knot[i] = i;
        for (int i = 0; i < OBB_GRID_PIECES; i++)
            nonuniform.scale[k][i] = OBB_GRID_PIECE_CODES / (knot[i + 1] - knot[i]);
    }
    const struct obb_grid uniform = obb_grid_uniform(&extent);
    struct obb_grid grid = uniform;
    grid.nonuniform = &nonuniform;
    for (int k = 0; k < 3; k++)
        for (int i = 1; i < OBB_GRID_PIECES - 1; i++) {
            ck_assert_uint_eq(obb_grid_code(&grid, k, i), (uint64_t)i * OBB_GRID_PIECE_CODES);
            ck_assert_uint_eq(obb_grid_code(&grid, k, i + 0.9999),
                              ((uint64_t)i + 1) * OBB_GRID_PIECE_CODES - 1);
            ck_assert_uint_eq(obb_grid_code(&uniform, k, i), obb_grid_code(&uniform, k, i + 0.9));
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grid");
    TCase *tc = tcase_create("grid");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_uniform_grid_holds_its_extent_with_room_at_both_ends);
    tcase_add_test(tc, codes_never_fall_where_coordinates_rise);
    tcase_add_test(tc, quantised_bounds_hold_what_was_quantised_and_are_two_codes_wider_at_most);
    tcase_add_test(tc, a_nonuniform_grid_tells_apart_what_a_uniform_one_does_not);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
