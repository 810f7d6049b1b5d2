#include "core/obb.h"
#include "tests/support/pairs.h"

#include <math.h>
#include <stdio.h>

static double volume_of(const obb_solid *box)
{
    const obb_vec3 h = box->half_extents;
    return 4.0 * h.x * h.y * (box->dimensions == 3 ? 2.0 * h.z : 1.0);
}

/* Of the box, or the length around it in the plane. */
static double surface_of(const obb_solid *box)
{
    const obb_vec3 h = box->half_extents;
    return box->dimensions == 3 ? 8.0 * (h.x * h.y + h.y * h.z + h.z * h.x) : 4.0 * (h.x + h.y);
}

struct tally {
    size_t cases, partly; /* partly: something is shared, and not the whole of the smaller box */
    double error;         /* worst, in units of the smaller volume */
    double bound;         /* worst, in units of what the header allows */
};

static void check_pair(const struct pairs_case *c, struct tally *tally)
{
    const obb_solid *a = &c->solid_a, *b = &c->solid_b;
    const double volume = obb_clip_volume(a, b), mirrored = obb_clip_volume(b, a);
    const double truth = exact_volume(&c->a, &c->b, a->dimensions);
    const double va = volume_of(a), vb = volume_of(b), least = va < vb ? va : vb;
    const double allowed =
        0x1p-46 * obb_sat_extent(a, b) * (va < vb ? surface_of(a) : surface_of(b));
    ck_assert(test_same_bits(volume, mirrored));
    ck_assert_double_ge(volume, 0.0);
    ck_assert_double_le(volume, least * (1.0 + 0x1p-51));
    const double error = fabs(volume - truth);
    tally->cases++;
    tally->partly += 1e-6 * least < truth && truth < (1.0 - 1e-6) * least;
    if (least == 0.0) {
        ck_assert_double_eq(volume, 0.0);
    } else {
        ck_assert_double_le(error, allowed);
        tally->error = fmax(tally->error, error / least);
        tally->bound = fmax(tally->bound, error / allowed);
    }
    if (obb_sat_separation(a, b).gap >= 0.0)
        ck_assert_double_eq(volume, 0.0);
}

static void check_class(enum pairs_class kind, int dimensions, size_t cases)
{
    test_rng rng = {.s = 20261124u + (uint64_t)kind * 97u + (uint64_t)dimensions};
    struct tally tally = {0};
    const double start = test_seconds();
    for (size_t i = 0; i < cases; i++) {
        struct pairs_case c = pairs_make(kind, dimensions, i, &rng);
        if (kind != PAIRS_CONTACT && i / 8 % 2 != 0) { /* deeper into each other */
            c.b.center = obb_scale(obb_add(c.a.center, c.b.center), 0.5);
            c.solid_b.center = c.b.center;
        }
        check_pair(&c, &tally);
    }
    (void)printf("%d-D %-36s cases %6zu partly shared %3.0f%% error %.0e of the smaller volume, "
                 "%.0e of what is allowed (%.2f s)\n",
                 dimensions, pairs_name(kind), tally.cases,
                 100.0 * (double)tally.partly / (double)tally.cases, tally.error, tally.bound,
                 test_seconds() - start);
    ck_assert_double_le(tally.error, 1e-9);
    if (kind < PAIRS_CONTAINED || kind == PAIRS_LONG || kind == PAIRS_FAR || kind == PAIRS_TINY)
        ck_assert_double_gt((double)tally.partly, 0.1 * (double)cases);
}

START_TEST(every_class_agrees_with_exact_arithmetic)
{
    check_class((enum pairs_class)_i, 3, test_effort(150));
    check_class((enum pairs_class)_i, 2, test_effort(100));
}
END_TEST

/* Long and flat boxes that share about half of themselves: where the rounding of rotations shows
 * the most. */
START_TEST(thin_boxes_that_share_much)
{
    test_rng rng = {.s = 20261126};
    const size_t cases = test_effort(300);
    struct tally tally[4] = {{0}};
    for (size_t i = 0; i < cases; i++) {
        const size_t decade = i % 4; /* 1e-3 to 1e-6 as thick as long */
        const double thin = pow(10.0, -3.0 - (double)decade);
        struct pairs_case c = pairs_make(PAIRS_RANDOM, 3, i, &rng);
        c.a.half_extents.z *= thin;
        if (i % 8 < 4)
            c.a.half_extents.y *= thin;
        c.b.half_extents = c.a.half_extents;
        const obb_quat q = c.a.rotation;
        const double turn = 0.2 * thin;
        const obb_quat turned = {q.x + turn * test_uniform(&rng, -1, 1),
                                 q.y + turn * test_uniform(&rng, -1, 1),
                                 q.z + turn * test_uniform(&rng, -1, 1), q.w};
        ck_assert_int_eq(obb_quat_normalise(turned, &c.b.rotation), OBB_OK);
        c.b.center = c.a.center;
        for (int k = 0; k < 3; k++)
            c.b.center = obb_add(
                c.b.center, obb_scale(c.solid_a.axis[k], 0.5 * test_uniform(&rng, -1, 1) *
                                                             obb_component(c.a.half_extents, k)));
        const obb_box a = {
            .center = c.a.center, .half_extents = c.a.half_extents, .rotation = c.a.rotation};
        const obb_box b = {
            .center = c.b.center, .half_extents = c.b.half_extents, .rotation = c.b.rotation};
        c.solid_a = obb_solid_from_box(&a, 3);
        c.solid_b = obb_solid_from_box(&b, 3);
        check_pair(&c, &tally[decade]);
    }
    for (int decade = 0; decade < 4; decade++) {
        (void)printf("thin, 1e-%d: cases %zu partly shared %3.0f%% error %.0e of the smaller "
                     "volume\n",
                     decade + 3, tally[decade].cases,
                     100.0 * (double)tally[decade].partly / (double)tally[decade].cases,
                     tally[decade].error);
        ck_assert_double_le(tally[decade].error, 1e-9);
        ck_assert_double_gt((double)tally[decade].partly, 0.8 * (double)tally[decade].cases);
    }
}
END_TEST

static obb_solid cube(double x, double y, double z, double half)
{
    return (obb_solid){.center = {x, y, z},
                       .half_extents = {half, half, half},
                       .axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                       .dimensions = 3};
}

START_TEST(aligned_boxes_are_exact)
{
    const obb_solid a = cube(0, 0, 0, 1), in = cube(0.25, -0.5, 0.125, 0.25);
    ck_assert_double_eq(obb_clip_volume(&a, &a), 8.0);
    ck_assert_double_eq(obb_clip_volume(&a, &in), 0.125);
    const obb_solid off = cube(1.5, 1.75, -1.0, 1);
    ck_assert_double_eq(obb_clip_volume(&a, &off), 0.5 * 0.25 * 1.0);
    const obb_solid face = cube(2, 0, 0, 1), edge = cube(2, -2, 0, 1), corner = cube(2, 2, 2, 1);
    ck_assert_double_eq(obb_clip_volume(&a, &face), 0.0);
    ck_assert_double_eq(obb_clip_volume(&a, &edge), 0.0);
    ck_assert_double_eq(obb_clip_volume(&a, &corner), 0.0);
}
END_TEST

/* A box in another along the same axes has all of its own volume in it, to the bit, also where they
 * share faces. */
START_TEST(what_lies_inside_is_shared_to_the_bit)
{
    test_rng rng = {.s = 20261127};
    const size_t cases = test_effort(20000);
    size_t flush = 0;
    for (size_t i = 0; i < cases; i++) {
        double center[3], half[3], inner_center[3], inner[3];
        for (int k = 0; k < 3; k++) { /* multiples of 2^-20, so that sums are exact */
            half[k] = (double)(1 + test_below(&rng, 1u << 22)) * 0x1p-20;
            inner[k] = (double)(1 + test_below(&rng, (size_t)(half[k] * 0x1p20))) * 0x1p-20;
            center[k] = ((double)test_below(&rng, 1u << 24) - 0x1p23) * 0x1p-20;
            const double room = half[k] - inner[k];
            const size_t side = test_below(&rng, 3);
            flush += side != 1;
            inner_center[k] = center[k] + ((double)side - 1.0) * room;
        }
        const obb_solid axes = cube(0, 0, 0, 1);
        obb_solid a = axes, b = axes;
        a.center = (obb_vec3){center[0], center[1], center[2]};
        a.half_extents = (obb_vec3){half[0], half[1], half[2]};
        b.center = (obb_vec3){inner_center[0], inner_center[1], inner_center[2]};
        b.half_extents = (obb_vec3){inner[0], inner[1], inner[2]};
        const double volume = (2.0 * inner[0]) * (2.0 * inner[1]) * (2.0 * inner[2]);
        ck_assert_double_eq(obb_clip_volume(&a, &b), volume);
        ck_assert_double_eq(obb_clip_volume(&b, &a), volume);
    }
    ck_assert_uint_gt(flush, cases);
}
END_TEST

/* So little that rounding has a say in the sign of a sum. */
START_TEST(what_is_barely_shared_is_never_negative)
{
    test_rng rng = {.s = 20261128};
    const size_t cases = test_effort(20000);
    size_t shared = 0;
    for (size_t i = 0; i < cases; i++) {
        struct pairs_case c = pairs_make(PAIRS_RANDOM, 3, i, &rng);
        const obb_solid *a = &c.solid_a;
        obb_solid *b = &c.solid_b;
        const obb_separation s = obb_sat_separation(a, b);
        const double depth = pow(10.0, test_uniform(&rng, -16.5, -13.0));
        b->center = obb_sub(b->center, obb_scale(s.normal, s.gap + depth));
        const double volume = obb_clip_volume(a, b);
        ck_assert_double_ge(volume, 0.0);
        shared += volume > 0.0;
    }
    ck_assert_uint_gt(shared, cases / 10);
}
END_TEST

/* A plate thinner than an ulp of its coordinates in the plane of a face: which of its corners are
 * inside is rounding's to say, and the boundary must stay closed and within its bounds all the
 * same. */
START_TEST(rounding_alone_says_what_is_inside)
{
    test_rng rng = {.s = 20261125};
    const size_t cases = test_effort(20000);
    size_t shared = 0;
    for (size_t i = 0; i < cases; i++) {
        struct pairs_case c = pairs_make(PAIRS_PARALLEL, 3, 1, &rng);
        obb_solid *a = &c.solid_a, *b = &c.solid_b;
        double *thin[3] = {&a->half_extents.x, &a->half_extents.y, &a->half_extents.z};
        for (size_t k = 0; k <= i % 3; k++)
            *thin[(k + i / 3) % 3] = pow(10.0, -14.0 - (double)(i / 9 % 4));
        a->center = b->center;
        for (int k = 0; k < 3; k++) /* in 0 to 3 planes of b */
            if ((i / 36 >> k & 1) != 0)
                a->center =
                    obb_add(a->center, obb_scale(b->axis[k], obb_component(b->half_extents, k)));
        const double volume = obb_clip_volume(a, b);
        ck_assert(0.0 <= volume && volume <= volume_of(a) * (1.0 + 0x1p-51));
        shared += volume > 0.0;
    }
    ck_assert_uint_gt(shared, cases / 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clip");
    TCase *tc = tcase_create("clip");
    tcase_add_loop_test(tc, every_class_agrees_with_exact_arithmetic, 0, PAIRS_CLASSES);
    tcase_add_test(tc, thin_boxes_that_share_much);
    tcase_add_test(tc, aligned_boxes_are_exact);
    tcase_add_test(tc, what_lies_inside_is_shared_to_the_bit);
    tcase_add_test(tc, what_is_barely_shared_is_never_negative);
    tcase_add_test(tc, rounding_alone_says_what_is_inside);
    tcase_set_timeout(tc, test_patience(60));
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
