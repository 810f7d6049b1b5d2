#include "core/obb.h"
#include "tests/support/oracle_query.h"
#include "tests/support/pairs.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

static const obb_quat upright = {0.0, 0.0, 0.0, 1.0};

static double scale_of(const obb_solid *mover, obb_vec3 motion, const obb_solid *target)
{
    return obb_length(obb_sub(mover->center, target->center)) + obb_length(motion) +
           obb_length(mover->half_extents) + obb_length(target->half_extents);
}

/* A cube of edge 2 that moves from `from` by `motion`, against a cube of edge 2 at the origin. */
struct exact_case {
    const char *name;
    obb_vec3 from, motion;
    bool hit, started_overlapping;
    double fraction;
    obb_vec3 normal;
};

static void check_exact(const struct exact_case *c, int dimensions)
{
    obb_solid target = slow_solid((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1}, upright);
    obb_solid mover = slow_solid(c->from, (obb_vec3){1, 1, 1}, upright);
    target.dimensions = mover.dimensions = dimensions;
    if (dimensions == 2)
        target.half_extents.z = mover.half_extents.z = 0.0;
    obb_sweep_hit hit = {.fraction = -1.0};
    ck_assert_msg(obb_sweep_cast(&mover, c->motion, 1.0, &target, &hit) == c->hit, "%s", c->name);
    if (!c->hit) {
        ck_assert_double_eq(hit.fraction, -1.0);
        return;
    }
    ck_assert_msg(hit.fraction == c->fraction && !signbit(hit.fraction), "%s: fraction %g", c->name,
                  hit.fraction);
    ck_assert_msg(hit.started_overlapping == c->started_overlapping, "%s", c->name);
    ck_assert_msg(hit.normal.x == c->normal.x && hit.normal.y == c->normal.y &&
                      hit.normal.z == c->normal.z,
                  "%s: normal %g %g %g", c->name, hit.normal.x, hit.normal.y, hit.normal.z);
    mover.center = obb_add(mover.center, obb_scale(c->motion, c->fraction));
    ck_assert_msg(slow_excess(hit.point, &target) <= 0 && slow_excess(hit.point, &mover) <= 0,
                  "%s: point %g %g %g", c->name, hit.point.x, hit.point.y, hit.point.z);
}

START_TEST(contact_of_straight_boxes_is_exact)
{
    const obb_vec3 nx = {-1, 0, 0}, py = {0, 1, 0}, none = {0, 0, 0};
    const struct exact_case cases[] = {
        {"head on", {-6, 0, 0}, {8, 0, 0}, true, false, 0.5, nx},
        {"away", {-6, 0, 0}, {-8, 0, 0}, false, false, 0, none},
        {"too short", {-6, 0, 0}, {3.9999999999999996, 0, 0}, false, false, 0, none},
        {"reaches it at the very end", {-6, 0, 0}, {4, 0, 0}, true, false, 1, nx},
        {"grazes a face", {-6, 2, 0}, {8, 0, 0}, true, false, 0.5, nx},
        {"passes a hair beside", {-6, 2.0000000000000004, 0}, {8, 0, 0}, false, false, 0, none},
        {"edge onto edge", {-6, 6, 0}, {8, -8, 0}, true, false, 0.5, nx},
        {"does not move, touches", {0, 2, 0}, none, true, true, 0, py},
        {"does not move, apart", {0, 2.0000000000000004, 0}, none, false, false, 0, none},
        {"starts in contact, moves away", {-2, 0, 0}, {-5, 0, 0}, true, true, 0, nx},
        {"starts in contact, moves along", {-2, 0, 0}, {0, 5, 0}, true, true, 0, nx},
        {"starts inside", {-0.5, 0, 0}, {9, 0, 0}, true, true, 0, nx},
        {"moves less than a denormal can say", {-6, 0, 0}, {5e-324, 0, 0}, false, false, 0, none},
    };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dimensions = 2; dimensions <= 3; dimensions++, checked++)
            check_exact(&cases[i], dimensions);
    ck_assert_uint_eq(checked, 26);
}
END_TEST

/* How the two boxes of a case lie to each other. */
enum placing { ANY_TURN, NEARLY_PARALLEL, PARALLEL, FAR_AWAY, PLANAR, PLACINGS };
static const char *const placing_names[PLACINGS] = {"any turn", "nearly parallel", "parallel",
                                                    "far away", "planar"};

static void random_case(test_rng *rng, enum placing placing, obb_solid *mover, obb_vec3 *motion,
                        obb_solid *target)
{
    const int dimensions = placing == PLANAR ? 2 : 3;
    const obb_vec3 about = placing == FAR_AWAY ? (obb_vec3){1e8, 1e8, -1e8} : (obb_vec3){0, 0, 0};
    *target = slow_random_solid(rng, dimensions, about, 1.0, 2.0);
    *mover = slow_random_solid(rng, dimensions, about, 6.0, 2.0);
    if (placing == PARALLEL || placing == NEARLY_PARALLEL) {
        const obb_vec3 half = mover->half_extents;
        const obb_vec3 center = mover->center;
        const double angle = placing == PARALLEL ? 0.0 : pow(10.0, test_uniform(rng, -12.0, -1.0));
        const obb_quat turn = {test_uniform(rng, -1, 1), test_uniform(rng, -1, 1),
                               test_uniform(rng, -1, 1), test_uniform(rng, -1, 1)};
        *target = slow_solid(target->center, target->half_extents, turn);
        *mover = slow_solid(center, half,
                            (obb_quat){turn.x + angle * test_uniform(rng, -1, 1),
                                       turn.y + angle * test_uniform(rng, -1, 1),
                                       turn.z + angle * test_uniform(rng, -1, 1), turn.w});
    }
    *motion = slow_random_vector(rng, dimensions, 10.0);
    if (test_below(rng, 2) == 0)
        *motion =
            obb_scale(obb_sub(obb_add(target->center, slow_random_vector(rng, dimensions, 2.0)),
                              mover->center),
                      test_uniform(rng, 0.5, 2.0));
}

/* The gap between the two along one unit vector that points from target to mover. */
static double gap_along(obb_vec3 normal, const obb_solid *mover, const obb_solid *target)
{
    const obb_vec3 apart = obb_sub(mover->center, target->center);
    double gap = obb_dot(normal, apart);
    for (int i = 0; i < mover->dimensions; i++)
        gap -= obb_component(mover->half_extents, i) * fabs(obb_dot(normal, mover->axis[i])) +
               obb_component(target->half_extents, i) * fabs(obb_dot(normal, target->axis[i]));
    return gap;
}

static void compare_with_oracle(uint64_t seed, enum placing placing)
{
    const size_t cases = test_effort(1500);
    test_rng rng = {.s = seed};
    size_t hits = 0, starts = 0, clear = 0;
    double worst_gap = 0.0, worst_point = 0.0;
    for (size_t i = 0; i < cases; i++) {
        obb_solid mover, target;
        obb_vec3 motion;
        random_case(&rng, placing, &mover, &motion, &target);
        const double scale = scale_of(&mover, motion, &target), bound = 1e-14 * scale;
        /* Rounding of a position so far out, when the mover is put where it touches. */
        const double ulps = 0x1p-52 * (obb_length(mover.center) + obb_length(motion));
        const slow_span span = slow_sweep(&mover, motion, &target);
        obb_sweep_hit hit;
        const bool got = obb_sweep_cast(&mover, motion, 1.0, &target, &hit);
        if (fabs((double)span.clearance) > bound) {
            ck_assert_msg(got == (span.clearance < 0), "%s case %zu: clearance %Lg",
                          placing_names[placing], i, span.clearance);
            clear++;
        }
        if (!got)
            continue;
        hits++;
        ck_assert_int_eq(hit.started_overlapping, obb_sat_overlap(&mover, &target));
        obb_sweep_hit again; /* up to there, but no less far */
        ck_assert(obb_sweep_cast(&mover, motion, hit.fraction, &target, &again));
        ck_assert_double_eq(again.fraction, hit.fraction);
        ck_assert(hit.fraction == 0.0 ||
                  !obb_sweep_cast(&mover, motion, hit.fraction * 0.999999, &target, &again));
        ck_assert_double_eq_tol(obb_length(hit.normal), 1.0, 1e-14);
        ck_assert(0.0 <= hit.fraction && hit.fraction <= 1.0);
        obb_solid moved = mover;
        moved.center = obb_add(mover.center, obb_scale(motion, hit.fraction));
        const double off =
            fmax((double)slow_excess(hit.point, &moved), (double)slow_excess(hit.point, &target));
        const double allowed = 1e-12 * scale + 4.0 * ulps;
        worst_point = fmax(worst_point, off / allowed);
        ck_assert_msg(off <= allowed, "%s case %zu: point off by %g", placing_names[placing], i,
                      off);
        if (hit.started_overlapping) {
            starts++;
            ck_assert_double_eq(hit.fraction, 0.0);
            const double depth = -obb_sat_separation(&mover, &target).gap;
            ck_assert_double_le(fabs(gap_along(hit.normal, &mover, &target) + depth),
                                1e-12 * scale);
            continue;
        }
        ck_assert_double_le(obb_dot(hit.normal, motion), 0.0);
        ck_assert_double_le(fabs(gap_along(hit.normal, &moved, &target)), bound + ulps);
        const double gap =
            fabs((double)slow_moved_gap(&mover, motion, (long double)hit.fraction, &target));
        worst_gap = fmax(worst_gap, gap / bound);
        ck_assert_msg(gap <= bound, "%s case %zu: gap at contact %g of scale %g",
                      placing_names[placing], i, gap, scale);
        if ((double)span.clearance < -bound) /* the gap is convex along the way: see test_ray.c */
            ck_assert_double_le(fabs(hit.fraction - (double)span.enter),
                                1e-15 +
                                    bound * (double)((span.leave - span.enter) / -span.clearance));
    }
    printf("sweeps, %s: %zu cases, %zu hits, %zu from overlap, %zu clear; gap %.3f and point %.3f "
           "of their bounds\n",
           placing_names[placing], cases, hits, starts, clear, worst_gap, worst_point);
    ck_assert_uint_gt(hits, cases / 10);
    ck_assert_uint_lt(hits, cases * 9 / 10);
    ck_assert_uint_gt(starts, cases / 100);
    ck_assert_uint_gt(clear, cases * 9 / 10);
}

START_TEST(random_sweeps_agree_with_the_oracle)
{
    compare_with_oracle(100 + (uint64_t)_i, (enum placing)_i);
}
END_TEST

/* Long boxes with edges all but parallel, moved along those and across their cross product: that alone tells on the whole
 * way whether they meet, and by exact arithmetic it does. */
START_TEST(ridges_slide_along_ridges)
{
    const size_t cases = test_effort(6000);
    test_rng rng = {.s = 200};
    size_t missed = 0, met = 0;
    for (size_t index = 0; index < cases; index++) {
        const struct pairs_case c = pairs_make(PAIRS_LONG_NEAR_PARALLEL, 3, index, &rng);
        const int i = (int)(index / 3 % 3), j = (int)(index % 3);
        const exact_gaps truth = exact_gaps_of(&c.a, &c.b, 3);
        const obb_vec3 n = exact_axis(&c.a, &c.b, 6 + 3 * i + j);
        const obb_vec3 along = obb_scale(c.solid_a.axis[i], obb_component(c.a.half_extents, i) *
                                                                test_uniform(&rng, -0.5, 0.5));
        const obb_vec3 motion = obb_sub(along, obb_scale(n, obb_dot(along, n)));
        obb_solid mover = c.solid_a;
        mover.center = obb_sub(mover.center, obb_scale(motion, 0.5));
        /* The bound of sweep.h, and as much for the rotations and the place half way. */
        const double bound = 2e-14 * scale_of(&mover, motion, &c.solid_b);
        obb_sweep_hit hit;
        const bool got = obb_sweep_cast(&mover, motion, 1.0, &c.solid_b, &hit);
        if (truth.gap[6 + 3 * i + j] > bound) {
            ck_assert_msg(!got, "case %zu: %g apart on the way", index, truth.gap[6 + 3 * i + j]);
            missed++;
        } else if (truth.largest < -bound) {
            ck_assert_msg(got && hit.fraction <= 0.5, "case %zu: %g deep half way", index,
                          -truth.largest);
            met++;
        }
    }
    printf("sweeps, ridge along ridge: %zu cases, %zu met, %zu missed\n", cases, met, missed);
    ck_assert_uint_gt(missed, cases / 3);
    ck_assert_uint_gt(met, cases / 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tc = tcase_create("sweep");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, contact_of_straight_boxes_is_exact);
    tcase_add_loop_test(tc, random_sweeps_agree_with_the_oracle, 0, PLACINGS);
    tcase_add_test(tc, ridges_slide_along_ridges);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
