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
        {"starts in contact, moves away", {-2, 0, 0}, {-5, 0, 0}, false, false, 0, none},
        {"starts in contact, moves along", {-2, 0, 0}, {0, 5, 0}, false, false, 0, none},
        {"starts in contact, moves into it", {-2, 0, 0}, {5, 5, 0}, true, true, 0, nx},
        {"starts corner on corner, moves along one", {-2, 2, 0}, {5, 0, 0}, false, false, 0, none},
        {"starts corner on corner, moves along the other",
         {-2, 2, 0},
         {0, -5, 0},
         false,
         false,
         0,
         none},
        {"starts corner on corner, moves between", {-2, 2, 0}, {5, -5, 0}, true, true, 0, nx},
        {"starts a hair deep, moves along",
         {-1.9999999999999998, 0, 0},
         {0, 5, 0},
         false,
         false,
         0,
         none},
        {"starts a hair deep, moves into it",
         {-1.9999999999999998, 0, 0},
         {5, 0, 0},
         true,
         true,
         0,
         nx},
        {"starts a hair apart, moves along",
         {-2.0000000000000004, 0, 0},
         {0, 5, 0},
         false,
         false,
         0,
         none},
        {"starts deep, moves away", {-1.5, 0, 0}, {-5, 0, 0}, true, true, 0, nx},
        {"starts deep, moves along", {-1.5, 0, 0}, {0, 5, 0}, true, true, 0, nx},
        {"starts inside", {-0.5, 0, 0}, {9, 0, 0}, true, true, 0, nx},
        {"moves less than a denormal can say", {-6, 0, 0}, {5e-324, 0, 0}, false, false, 0, none},
    };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dimensions = 2; dimensions <= 3; dimensions++, checked++)
            check_exact(&cases[i], dimensions);
    ck_assert_uint_eq(checked, 44);
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
        ck_assert_int_eq(hit.started_overlapping, hit.fraction == 0.0);
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

/* Returns what a vector has along a plane with that unit normal. */
static obb_vec3 part_along(obb_vec3 v, obb_vec3 n)
{
    return obb_sub(v, obb_scale(n, obb_dot(v, n)));
}

/* Long boxes with edges all but parallel, moved along those and across their cross product: that
 * alone tells on the whole way whether they meet, and by exact arithmetic it does. Those that rest
 * on each other from the start may slide; from above, by as much as is not within rounding of 0,
 * all come down to where that product tells. */
START_TEST(ridges_slide_along_ridges)
{
    const size_t cases = test_effort(6000);
    test_rng rng = {.s = 200};
    size_t missed = 0, met = 0, rested = 0, landed = 0, stayed_above = 0;
    for (size_t index = 0; index < cases; index++) {
        const struct pairs_case c = pairs_make(PAIRS_LONG_NEAR_PARALLEL, 3, index, &rng);
        const int i = (int)(index / 3 % 3), j = (int)(index % 3);
        const exact_gaps truth = exact_gaps_of(&c.a, &c.b, 3);
        const double gap = truth.gap[6 + 3 * i + j];
        const obb_vec3 n = exact_axis(&c.a, &c.b, 6 + 3 * i + j);
        const obb_vec3 along = obb_scale(c.solid_a.axis[i], obb_component(c.a.half_extents, i) *
                                                                test_uniform(&rng, -0.5, 0.5));
        const obb_vec3 motion = part_along(along, n);
        obb_solid mover = c.solid_a;
        mover.center = obb_sub(mover.center, obb_scale(motion, 0.5));
        exact_box start = c.a;
        start.center = mover.center;
        const exact_gaps at_start = exact_gaps_of(&start, &c.b, 3);
        /* The bound of sweep.h, and as much for the rotations and the place half way. */
        const double bound = 2e-14 * scale_of(&mover, motion, &c.solid_b);
        obb_sweep_hit hit;
        bool got = obb_sweep_cast(&mover, motion, 1.0, &c.solid_b, &hit);
        if (gap > bound) {
            ck_assert_msg(!got, "case %zu: %g apart on the way", index, gap);
            missed++;
        } else if (fabs(at_start.largest) < 2e-12 * at_start.extent) {
            if (fabs(at_start.largest) < 0.9e-12 * at_start.extent &&
                gap > -0.9e-12 * at_start.extent)
                ck_assert_msg(!got, "case %zu: stopped by what it rests on", index);
            rested++;
        } else if (truth.largest < -bound) {
            ck_assert_msg(got && hit.fraction <= 0.5, "case %zu: %g deep half way", index,
                          -truth.largest);
            met++;
        }
        /* Down on the ridge from above, to the same place. */
        const obb_vec3 up = obb_dot(n, obb_sub(mover.center, c.b.center)) > 0.0 ? n : obb_negate(n);
        const double lift = 1e-3 * truth.extent;
        mover.center = obb_add(mover.center, obb_scale(up, lift));
        const obb_vec3 down = obb_sub(c.solid_a.center, mover.center);
        got = obb_sweep_cast(&mover, down, 1.0, &c.solid_b, &hit);
        if (gap > bound) {
            ck_assert_msg(!got, "case %zu: %g above at the end", index, gap);
            stayed_above++;
        } else if (truth.largest < -bound) {
            ck_assert_msg(got, "case %zu: %g deep at the end", index, -truth.largest);
            landed++;
        }
    }
    printf("sweeps, ridge along ridge: %zu cases, %zu met, %zu missed, %zu rested; from above %zu "
           "landed, %zu did not\n",
           cases, met, missed, rested, landed, stayed_above);
    ck_assert_uint_gt(missed, cases / 3);
    ck_assert_uint_gt(met, cases / 4);
    ck_assert_uint_gt(landed, cases / 3);
    ck_assert_uint_gt(stayed_above, cases / 3);
}
END_TEST

/* ---- Boxes that rest on each other ----------------------------------------------------------- */

static long double exact_dot(obb_vec3 a, obb_vec3 b)
{
    return (long double)a.x * (long double)b.x + (long double)a.y * (long double)b.y +
           (long double)a.z * (long double)b.z;
}

/* A box on a face of another one, with outward normal n, at a height of about `gap` above it: it
 * stands on a corner that is inside of the face, or on a face of its own where it is turned as the
 * other one. */
static void rest_on_face(test_rng *rng, int dimensions, bool turned_alike, obb_vec3 about,
                         double gap, obb_solid *mover, obb_solid *target, obb_vec3 *out_normal)
{
    *target = slow_random_solid(rng, dimensions, about, 1.0, 2.0);
    *mover = slow_random_solid(rng, dimensions, about, 1.0, 2.0);
    obb_solid *both[2] = {mover, target};
    for (int i = 0; i < 2; i++)
        both[i]->half_extents = (obb_vec3){test_uniform(rng, 0.1, 2.0), test_uniform(rng, 0.1, 2.0),
                                           dimensions == 3 ? test_uniform(rng, 0.1, 2.0) : 0.0};
    if (turned_alike)
        for (int i = 0; i < 3; i++)
            mover->axis[i] = target->axis[i];
    const int face = (int)test_below(rng, (size_t)dimensions);
    const obb_vec3 n =
        test_below(rng, 2) == 0 ? target->axis[face] : obb_negate(target->axis[face]);
    obb_vec3 at = obb_scale(n, obb_component(target->half_extents, face) + gap);
    for (int i = 0; i < dimensions; i++) {
        if (i != face)
            at = obb_add(at, obb_scale(target->axis[i], obb_component(target->half_extents, i) *
                                                            test_uniform(rng, -0.7, 0.7)));
        const double toward = obb_dot(mover->axis[i], n) < 0.0 ? -1.0 : 1.0;
        at = obb_add(at, obb_scale(mover->axis[i], toward * obb_component(mover->half_extents, i)));
    }
    mover->center = obb_add(target->center, at);
    *out_normal = n;
}

static double farthest_corners(const obb_solid *a, const obb_solid *b)
{
    obb_vec3 ca[8], cb[8];
    double farthest = 0.0;
    slow_corners(a, ca);
    slow_corners(b, cb);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            farthest = fmax(farthest, obb_length(obb_sub(ca[i], cb[j])));
    return farthest;
}

static double largest_coordinate(const obb_solid *a, const obb_solid *b)
{
    double largest = 0.0;
    for (int k = 0; k < 3; k++)
        largest = fmax(largest,
                       fmax(fabs(obb_component(a->center, k)), fabs(obb_component(b->center, k))));
    return largest;
}

enum way { ALONG, AWAY, INTO, WAYS };

/* A motion along, away from or into a face. Of a vector that is nearly the normal little is left
 * along the face, with the rounding of the whole: a second step takes it out. */
static obb_vec3 motion_by_face(test_rng *rng, int dimensions, enum way way, obb_vec3 n)
{
    const double length = pow(10.0, test_uniform(rng, -3.0, 2.0));
    const double steep = pow(10.0, test_uniform(rng, -9.0, 1.0));
    const obb_vec3 any = slow_random_vector(rng, dimensions, length);
    const obb_vec3 along = part_along(part_along(any, n), n);
    const double rise = way == ALONG ? 0.0 : way == AWAY ? steep : -steep;
    return obb_add(along, obb_scale(n, rise * obb_length(along)));
}

struct resting_counts {
    size_t of_way[WAYS], rests, deep, above, free, blocked, later;
};

static void check_resting_case(size_t i, enum way way, obb_vec3 n, const obb_solid *mover,
                               obb_vec3 motion, const obb_solid *target,
                               struct resting_counts *counts)
{
    const double extent = farthest_corners(mover, target), length = obb_length(motion);
    const double scale = scale_of(mover, motion, target), bound = 1e-14 * scale;
    const double gap = (double)slow_gap(mover, target);
    const double rise = (double)exact_dot(motion, n);
    const double allowed = 1e-12 * extent + 1e-14 * largest_coordinate(mover, target);
    obb_sweep_hit hit = {.fraction = -1.0};
    const bool got = obb_sweep_cast(mover, motion, 1.0, target, &hit);
    counts->of_way[way]++;
    if (got) { /* whatever was decided, what is said about a contact is true of it */
        ck_assert_int_eq(hit.started_overlapping, hit.fraction == 0.0);
        obb_solid moved = *mover;
        moved.center = obb_add(mover->center, obb_scale(motion, hit.fraction));
        const double there = gap_along(hit.normal, &moved, target);
        ck_assert_msg(fabs(there - (hit.started_overlapping ? gap : 0.0)) <= 1e-12 * scale,
                      "case %zu: %g along the normal, gap at the start %g", i, there, gap);
        ck_assert_msg(obb_dot(hit.normal, n) > 0.9, "case %zu: normal %g %g %g on %g %g %g", i,
                      hit.normal.x, hit.normal.y, hit.normal.z, n.x, n.y, n.z);
    }
    if (gap < -1.1 * allowed) { /* deep at the start */
        ck_assert_msg(got && hit.started_overlapping, "case %zu: %g deep", i, -gap);
        counts->deep++;
        return;
    }
    if (fabs(gap) < 0.9 * allowed) {
        counts->rests++;
        if (way != INTO) {
            ck_assert_msg(!got, "case %zu: gap %g, motion %g out of %g: hit at %g", i, gap, rise,
                          length, hit.fraction);
            counts->free++;
            return;
        }
    } else if (gap > 1.1 * allowed) {
        counts->above++;
    } else {
        return; /* either will do */
    }
    /* What is left goes by the ray through the boxes' difference. */
    if (way == INTO && gap <= bound) {
        if (rise < -1e-10 * length - 2.0 * bound) {
            ck_assert_msg(got && hit.fraction * -rise <= 2.0 * bound,
                          "case %zu: gap %g, %g into it: fraction %g", i, gap, -rise, hit.fraction);
            ck_assert(gap > -bound || hit.started_overlapping);
            counts->blocked++;
        }
        return;
    }
    const slow_span span = slow_sweep(mover, motion, target);
    if (fabs((double)span.clearance) <= bound)
        return;
    if (way != INTO || rise < -1e-10 * length)
        ck_assert_msg(got == (span.clearance < 0), "case %zu: clearance %Lg", i, span.clearance);
    if (got && span.clearance < 0) {
        ck_assert_double_le(fabs(hit.fraction - (double)span.enter),
                            1e-15 + bound * (double)((span.leave - span.enter) / -span.clearance));
        counts->later++;
    }
}

/* From 1e-9 of the extent apart to as much deep, down to nothing: a box that stands on a face is
 * stopped by it exactly where it moves into it. */
START_TEST(what_rests_on_a_face_slides_along_it_and_leaves_it)
{
    const size_t cases = test_effort(6000);
    const int dimensions = 2 + _i / 2;
    test_rng rng = {.s = 300 + (uint64_t)_i};
    struct resting_counts counts = {.rests = 0};
    for (size_t i = 0; i < cases; i++) {
        const double hair = pow(10.0, test_uniform(&rng, -17.0, -9.0));
        const double gap = i % 5 == 0 ? 0.0 : i % 5 < 3 ? hair : -hair;
        const enum way way = (enum way)(i % WAYS);
        obb_solid mover, target;
        obb_vec3 n;
        rest_on_face(&rng, dimensions, _i % 2 == 0, (obb_vec3){0, 0, 0}, gap, &mover, &target, &n);
        check_resting_case(i, way, n, &mover, motion_by_face(&rng, dimensions, way, n), &target,
                           &counts);
    }
    printf("sweeps from rest in %d-D, %s: %zu cases, %zu rest, %zu deep, %zu above; %zu free, %zu "
           "blocked, %zu met later\n",
           dimensions, _i % 2 == 0 ? "face on face" : "corner on face", cases, counts.rests,
           counts.deep, counts.above, counts.free, counts.blocked, counts.later);
    for (int way = 0; way < WAYS; way++)
        ck_assert_uint_gt(counts.of_way[way], cases / 4);
    ck_assert_uint_gt(counts.rests, cases / 3);
    ck_assert_uint_gt(counts.deep, cases / 12);
    ck_assert_uint_gt(counts.above, cases / 12);
    ck_assert_uint_gt(counts.free, cases / 4);
    ck_assert_uint_gt(counts.blocked, cases / 8);
    ck_assert_uint_gt(counts.later, cases / 50);
}
END_TEST

/* The two boxes whose slide was stopped by a sideways normal: a floor turned by 8 degrees, and one
 * as much that stands on it. */
START_TEST(a_turned_floor_lets_a_box_slide)
{
    obb_box floor, box;
    ck_assert_int_eq(
        obb_box_from_pose((obb_vec3){0, 0, 0}, (obb_vec3){5, 1, 0}, upright, 8.0, 2, &floor),
        OBB_OK);
    ck_assert_int_eq(obb_box_from_pose((obb_vec3){-0.2783462019201309, 1.9805361374831407, 0},
                                       (obb_vec3){1, 1, 0}, upright, 8.0, 2, &box),
                     OBB_OK);
    const obb_solid target = obb_solid_from_box(&floor, 2), mover = obb_solid_from_box(&box, 2);
    const obb_vec3 along = {0.9902680687415704, 0.13917310096006544, 0}, up = target.axis[1];
    obb_sweep_hit hit;
    ck_assert(!obb_sweep_cast(&mover, along, 1.0, &target, &hit));
    ck_assert(!obb_sweep_cast(&mover, obb_negate(along), 1.0, &target, &hit));
    ck_assert(!obb_sweep_cast(&mover, obb_add(along, up), 1.0, &target, &hit));
    ck_assert(obb_sweep_cast(&mover, obb_sub(along, up), 1.0, &target, &hit));
    ck_assert(hit.started_overlapping && hit.fraction == 0.0);
    ck_assert_double_gt(obb_dot(hit.normal, up), 1.0 - 1e-15);
}
END_TEST

/* What a game does every tick: a box falls and walks; where it is stopped, what is left of its
 * motion goes on along the surface. Its place after many ticks is known: on the floor, as far as
 * all its steps along it together. */
START_TEST(a_walker_gets_as_far_as_its_steps)
{
    const size_t walkers = test_effort(200);
    const int ticks = 50;
    test_rng rng = {.s = 310};
    size_t stops = 0, slides = 0;
    double worst_way = 0.0, worst_height = 0.0;
    for (size_t i = 0; i < walkers; i++) {
        const int dimensions = 2 + (int)(i % 2);
        const double far = i % 4 < 2 ? 0.0 : pow(10.0, test_uniform(&rng, 0.0, 7.0));
        obb_solid mover, floor;
        obb_vec3 n;
        rest_on_face(&rng, dimensions, i % 3 == 0, (obb_vec3){far, -far, 0}, 0.125, &mover, &floor,
                     &n);
        const double wide = 1000.0; /* the floor, except in height */
        for (int k = 0; k < dimensions; k++)
            if (fabs(obb_dot(floor.axis[k], n)) < 0.5) {
                if (k == 0)
                    floor.half_extents.x = wide;
                else if (k == 1)
                    floor.half_extents.y = wide;
                else
                    floor.half_extents.z = wide;
            }
        const obb_vec3 start = mover.center;
        obb_vec3 sum = {0, 0, 0};
        for (int tick = 0; tick < ticks; tick++) {
            const obb_vec3 step = slow_random_vector(&rng, dimensions, 0.5);
            const obb_vec3 along = part_along(step, n);
            obb_vec3 motion = obb_sub(along, n);
            sum = obb_add(sum, along);
            obb_sweep_hit hit;
            bool stopped = true;
            for (int slide = 0; slide < 3 && stopped; slide++) {
                stopped = obb_sweep_cast(&mover, motion, 1.0, &floor, &hit);
                const double share = stopped ? hit.fraction : 1.0;
                mover.center = obb_add(mover.center, obb_scale(motion, share));
                motion = obb_scale(motion, 1.0 - share);
                if (stopped)
                    motion = obb_sub(motion, obb_scale(hit.normal, obb_dot(motion, hit.normal)));
                stops += stopped;
                slides += slide > 0 && !stopped;
            }
            ck_assert_msg(!stopped, "walker %zu, tick %d: stopped by its floor", i, tick);
        }
        const obb_vec3 way = obb_sub(mover.center, start);
        const double rounding = 1e-12 * wide + 1e-14 * far;
        const double height = obb_dot(way, n) + 0.125;
        const double off = obb_length(obb_sub(part_along(way, n), sum));
        ck_assert_msg(off <= rounding, "walker %zu: %g beside its way", i, off);
        ck_assert_msg(fabs(height) <= 4.0 * rounding, "walker %zu: %g above its floor", i, height);
        worst_way = fmax(worst_way, off / rounding);
        worst_height = fmax(worst_height, fabs(height) / rounding);
    }
    printf("walkers: %zu of %d ticks, %zu stops, %zu slides; off by %.2g and %.2g of the bounds\n",
           walkers, ticks, stops, slides, worst_way, worst_height);
    ck_assert_uint_gt(stops, walkers * (size_t)ticks / 2);
    ck_assert_uint_gt(slides, walkers * (size_t)ticks / 2);
}
END_TEST

/* The least of many places, and of a search over thirds between the two beside the least: the
 * distance is convex along the way. The places are relative to the target. */
static double sampled_distance(const obb_solid *mover, obb_vec3 motion, const obb_solid *target)
{
    enum { PLACES = 400 };
    obb_solid still = *target;
    still.center = (obb_vec3){0, 0, 0};
    double least = HUGE_VAL, at = 0.0;
    for (int i = 0; i <= PLACES; i++) {
        obb_solid moved = *mover;
        moved.center =
            obb_add(obb_sub(mover->center, target->center), obb_scale(motion, (double)i / PLACES));
        const double distance = obb_closest_boxes(&moved, &still).distance;
        if (distance < least) {
            least = distance;
            at = (double)i / PLACES;
        }
    }
    double low = fmax(at - 1.0 / PLACES, 0.0), high = fmin(at + 1.0 / PLACES, 1.0);
    for (int i = 0; i < 90; i++) {
        const double third = (high - low) / 3;
        obb_solid one = *mover, two = *mover;
        const obb_vec3 from = obb_sub(mover->center, target->center);
        one.center = obb_add(from, obb_scale(motion, low + third));
        two.center = obb_add(from, obb_scale(motion, high - third));
        const double a = obb_closest_boxes(&one, &still).distance;
        const double b = obb_closest_boxes(&two, &still).distance;
        least = fmin(least, fmin(a, b));
        if (a <= b)
            high = high - third;
        else
            low = low + third;
    }
    return least;
}

START_TEST(the_least_distance_on_the_way_agrees_with_dense_samples)
{
    test_rng rng = {.s = 33};
    size_t ends = 0, between = 0, none = 0, count = test_effort(600);
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        const int dimensions = i % 4 == 0 ? 2 : 3;
        const obb_vec3 at = {i % 8 == 1 ? 1e8 : 0.0, 0.0, 0.0};
        const obb_solid target = slow_random_solid(&rng, dimensions, at, 1.0, 2.0);
        const obb_solid mover = slow_random_solid(&rng, dimensions, at, 8.0, 2.0);
        obb_vec3 motion = slow_random_vector(&rng, dimensions, i % 10 == 2 ? 1e-3 : 16.0);
        if (i % 7 == 0) /* along an axis of the target: the distance has level stretches */
            motion = obb_scale(target.axis[i % 2], test_uniform(&rng, -16.0, 16.0));
        if (i % 50 == 3)
            motion = (obb_vec3){0, 0, 0};
        const double scale = obb_length(obb_sub(mover.center, target.center)) + obb_length(motion) +
                             obb_length(mover.half_extents) + obb_length(target.half_extents);
        const double wanted = sampled_distance(&mover, motion, &target);
        const double got = obb_sweep_distance(&mover, motion, &target);
        ck_assert_msg(fabs(got - wanted) <= 2e-12 * scale + 1e-14, "case %zu: %.17g, not %.17g", i,
                      got, wanted);
        worst = fmax(worst, fabs(got - wanted) / scale);
        obb_solid still = target, from = mover, to = mover;
        still.center = (obb_vec3){0, 0, 0};
        from.center = obb_sub(mover.center, target.center);
        to.center = obb_add(from.center, motion);
        const double first = obb_closest_boxes(&from, &still).distance;
        const double last = obb_closest_boxes(&to, &still).distance;
        none += wanted <= 1e-12 * scale;
        ends += wanted > 1e-9 && fmin(first, last) - wanted < 1e-12;
        between += wanted > 1e-9 && fmin(first, last) - wanted > 1e-6;
        obb_sweep_hit hit;
        if (wanted > 1e-9) /* a mover that rests and leaves has no distance and no hit */
            ck_assert(!obb_sweep_cast(&mover, motion, 1.0, &target, &hit));
    }
    printf("%zu at an end, %zu between, %zu in contact; worst %.2g of the scale\n", ends, between,
           none, worst);
    ck_assert(ends > count / 10 && between > count / 10 && none > count / 20);
}
END_TEST

START_TEST(the_least_distance_of_straight_boxes_is_exact)
{
    const obb_solid mover = slow_solid((obb_vec3){-10, 4, 0}, (obb_vec3){1, 1, 1}, upright);
    const obb_solid target = slow_solid((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1}, upright);
    const struct {
        obb_vec3 motion;
        double distance;
    } cases[] = {
        {{20, 0, 0}, 2.0},              /* passes above */
        {{0, 0, 0}, 8.246211251235321}, /* stays: 8, 2 */
        {{5, 0, 0}, 3.605551275463989}, /* ends before: 3, 2 */
        {{-5, 0, 0}, 8.246211251235321},
        {{20, -1, 0}, 1.3982532744289824}, /* of a corner from a slanting line: 28 / sqrt(401) */
        {{20, -4, 0}, 0.0},
        {{10, -2, 0}, 0.0}, /* touches at the end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = obb_sweep_distance(&mover, cases[i].motion, &target);
        ck_assert_double_eq_tol(got, cases[i].distance, 1e-12);
    }
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
    tcase_add_loop_test(tc, what_rests_on_a_face_slides_along_it_and_leaves_it, 0, 4);
    tcase_add_test(tc, a_turned_floor_lets_a_box_slide);
    tcase_add_test(tc, a_walker_gets_as_far_as_its_steps);
    tcase_add_test(tc, the_least_distance_on_the_way_agrees_with_dense_samples);
    tcase_add_test(tc, the_least_distance_of_straight_boxes_is_exact);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
