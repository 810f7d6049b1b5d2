#include "core/obb.h"
#include "tests/support/pairs.h"

#include <math.h>
#include <stdio.h>

static const double promise = 1e-12; /* of the extent */

static double larger(double x, double y) { return x > y ? x : y; }

/* The rounding of coordinates of this size. */
static double grain(obb_vec3 v) { return 0x1p-51 * (fabs(v.x) + fabs(v.y) + fabs(v.z)); }

static bool same(obb_vec3 u, obb_vec3 v)
{
    return test_same_bits(u.x, v.x) && test_same_bits(u.y, v.y) && test_same_bits(u.z, v.z);
}

struct tally {
    size_t cases, apart;
    double distance_error, outside, between; /* worst, in units of the extent */
};

static void print(const char *what, int dimensions, const struct tally *t, double seconds)
{
    (void)printf("%d-D %-36s cases %6zu apart %3.0f%% distance error %.0e outside its box %.0e "
                 "between points %.0e (%.2f s)\n",
                 dimensions, what, t->cases, 100.0 * (double)t->apart / (double)t->cases,
                 t->distance_error, t->outside, t->between, seconds);
}

/* error is allowed to be `allowed` and the promised part of the extent. */
static void check_error(double error, double allowed, double extent, double *worst)
{
    ck_assert_double_le(error, promise * extent + allowed);
    if (extent > 0.0)
        *worst = larger(*worst, (error - allowed) / extent);
}

/* Both points in their boxes (NULL: no box), as far apart as the distance says, and that is the
 * true one. */
static void check_witness(obb_witness w, double truth, const exact_box *a, const exact_box *b,
                          double extent, struct tally *tally)
{
    tally->cases++;
    tally->apart += truth > 0.0;
    check_error(fabs(w.distance - truth), 0.0, extent, &tally->distance_error);
    if (a != NULL)
        check_error(exact_point_distance(w.on_a, a), grain(w.on_a), extent, &tally->outside);
    check_error(exact_point_distance(w.on_b, b), grain(w.on_b), extent, &tally->outside);
    check_error(fabs(obb_length(obb_sub(w.on_b, w.on_a)) - w.distance),
                grain(w.on_a) + grain(w.on_b), extent, &tally->between);
    if (w.distance == 0.0)
        ck_assert(same(w.on_a, w.on_b));
}

static void check_pairs(enum pairs_class kind, int dimensions, size_t cases)
{
    test_rng rng = {.s = 20261121u + (uint64_t)kind * 97u + (uint64_t)dimensions};
    struct tally tally = {0};
    const double start = test_seconds();
    for (size_t i = 0; i < cases; i++) {
        const struct pairs_case c = pairs_make(kind, dimensions, i, &rng);
        const obb_witness w = obb_closest_boxes(&c.solid_a, &c.solid_b);
        const double extent = exact_gaps_of(&c.a, &c.b, dimensions).extent;
        check_witness(w, exact_distance(&c.a, &c.b, dimensions), &c.a, &c.b, extent, &tally);
        ck_assert((w.distance == 0.0) == obb_sat_overlap(&c.solid_a, &c.solid_b));
        ck_assert_double_ge(w.distance, obb_sat_separation(&c.solid_a, &c.solid_b).gap);
        const obb_witness m = obb_closest_boxes(&c.solid_b, &c.solid_a);
        ck_assert(m.distance == w.distance && same(m.on_a, w.on_b) && same(m.on_b, w.on_a));
    }
    print(pairs_name(kind), dimensions, &tally, test_seconds() - start);
    ck_assert_uint_eq(tally.cases, cases);
    if (kind == PAIRS_CONTAINED || kind == PAIRS_IDENTICAL || kind == PAIRS_CONTACT)
        ck_assert_uint_eq(tally.apart, 0);
    else
        ck_assert(tally.apart > cases / 10);
}

START_TEST(every_class_of_pairs_agrees_with_exact_arithmetic)
{
    check_pairs((enum pairs_class)_i, 3, test_effort(300));
    check_pairs((enum pairs_class)_i, 2, test_effort(200));
}
END_TEST

/* A point inside, on a face, edge or corner, near one, or anywhere, in the box's own frame. */
static obb_vec3 point_about(const obb_solid *box, size_t index, test_rng *rng)
{
    double own[3];
    for (int k = 0; k < 3; k++) {
        const double h = obb_component(box->half_extents, k);
        const size_t way = index / (k == 0 ? 1u : k == 1 ? 4u : 16u) % 4;
        own[k] = way == 0   ? test_uniform(rng, -1, 1) * h
                 : way == 1 ? (test_below(rng, 2) ? h : -h)
                 : way == 2 ? h + test_uniform(rng, 0, 2)
                            : -h - exp(test_uniform(rng, -30, 3));
    }
    if (box->dimensions == 2)
        own[2] = 0.0;
    obb_vec3 at = box->center;
    for (int k = 0; k < 3; k++)
        at = obb_add(at, obb_scale(box->axis[k], own[k]));
    return at;
}

static double extent_about(const obb_solid *box, obb_vec3 p, obb_vec3 q)
{
    return obb_length(box->half_extents) +
           larger(obb_length(obb_sub(p, box->center)), obb_length(obb_sub(q, box->center)));
}

START_TEST(points_agree_with_exact_arithmetic)
{
    test_rng rng = {.s = 20261122};
    struct tally tally = {0};
    const double start = test_seconds();
    const size_t cases = test_effort(6000);
    size_t inside = 0;
    for (size_t i = 0; i < cases; i++) {
        const struct pairs_case c =
            pairs_make((enum pairs_class)(i % PAIRS_CLASSES), 3, i / PAIRS_CLASSES, &rng);
        const obb_vec3 p = point_about(&c.solid_a, i / PAIRS_CLASSES, &rng);
        const obb_witness w = obb_closest_point(p, &c.solid_a);
        check_witness(w, exact_point_distance(p, &c.a), NULL, &c.a, extent_about(&c.solid_a, p, p),
                      &tally);
        ck_assert(same(w.on_a, p));
        inside += w.distance == 0.0;
    }
    print("points", 3, &tally, test_seconds() - start);
    ck_assert(cases / 50 < inside && tally.apart > cases / 3);
}
END_TEST

START_TEST(segments_agree_with_exact_arithmetic)
{
    test_rng rng = {.s = 20261123};
    struct tally tally = {0};
    const double start = test_seconds();
    const size_t cases = test_effort(6000);
    size_t through = 0;
    for (size_t i = 0; i < cases; i++) {
        const struct pairs_case c =
            pairs_make((enum pairs_class)(i % PAIRS_CLASSES), 3, i / PAIRS_CLASSES, &rng);
        const obb_vec3 p = point_about(&c.solid_a, test_below(&rng, 64), &rng);
        obb_vec3 q = point_about(&c.solid_a, test_below(&rng, 64), &rng);
        if (i % 5 == 0) /* along an edge, but for an angle of 1e-1 to 1e-16 */
            q = obb_add(obb_add(p, obb_scale(c.solid_a.axis[i % 3], test_uniform(&rng, -3, 3))),
                        obb_scale(c.solid_a.axis[(i + 1) % 3], pow(10.0, -1.0 - (double)(i % 16))));
        if (i % 11 == 0)
            q = p;
        const obb_witness w = obb_closest_segment(p, q, &c.solid_a);
        const double extent = extent_about(&c.solid_a, p, q);
        check_witness(w, exact_segment_distance(p, q, &c.a), NULL, &c.a, extent, &tally);
        /* on_a lies on the segment: what it is off the line, and beyond the ends */
        const obb_vec3 way = obb_sub(q, p), at = obb_sub(w.on_a, p);
        const double length = obb_length(way), allowed = promise * extent + grain(w.on_a);
        if (length > 0.0) {
            const obb_vec3 u = obb_scale(way, 1.0 / length);
            ck_assert_double_le(obb_length(obb_cross(at, u)), allowed);
            ck_assert_double_ge(obb_dot(at, u), -allowed);
            ck_assert_double_le(obb_dot(at, u), length + allowed);
        } else {
            ck_assert_double_le(obb_length(at), allowed);
        }
        through += w.distance == 0.0;
    }
    print("segments", 3, &tally, test_seconds() - start);
    ck_assert(cases / 20 < through && tally.apart > cases / 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("closest");
    TCase *tc = tcase_create("closest");
    tcase_add_loop_test(tc, every_class_of_pairs_agrees_with_exact_arithmetic, 0, PAIRS_CLASSES);
    tcase_add_test(tc, points_agree_with_exact_arithmetic);
    tcase_add_test(tc, segments_agree_with_exact_arithmetic);
    tcase_set_timeout(tc, test_patience(60));
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
