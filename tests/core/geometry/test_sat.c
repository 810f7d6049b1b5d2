#include "core/obb.h"
#include "tests/support/pairs.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- Boxes along the coordinate axes: every answer is exact ---------------------------------- */

/* Axis i of the box is coordinate axis (i + turn) % 3, in alternating directions. */
static obb_solid aligned(obb_vec3 center, obb_vec3 half_extents, int turn)
{
    static const obb_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    obb_solid box = {.center = center, .dimensions = 3};
    const double h[3] = {half_extents.x, half_extents.y, half_extents.z};
    double own[3];
    for (int i = 0; i < 3; i++) {
        const int k = (i + turn) % 3;
        box.axis[i] = turn % 2 == 1 && i > 0 ? obb_negate(unit[k]) : unit[k];
        own[i] = h[k];
    }
    box.half_extents = (obb_vec3){own[0], own[1], own[2]};
    return box;
}

START_TEST(exact_contact_of_aligned_boxes_is_a_gap_of_zero)
{
    test_rng rng = {.s = 20261120};
    size_t cases = test_effort(20000), beyond = 0;
    for (size_t n = 0; n < cases; n++) {
        /* Multiples of 2^-20 below 2^10: every sum is exact, so contact is exact. */
        double c[3], ha[3], hb[3], d[3];
        for (int i = 0; i < 3; i++) {
            c[i] = ((double)test_below(&rng, 1u << 30) - 0x1p29) * 0x1p-20;
            ha[i] = (double)test_below(&rng, 1u << 24) * 0x1p-20;
            hb[i] = (double)test_below(&rng, 1u << 24) * 0x1p-20;
            const double reach = ha[i] + hb[i];
            d[i] = floor(test_uniform(&rng, -1, 1) * reach * 0x1p20) * 0x1p-20;
        }
        const int k = (int)test_below(&rng, 3);
        d[k] = test_below(&rng, 2) ? ha[k] + hb[k] : -(ha[k] + hb[k]);
        const obb_solid a = aligned((obb_vec3){c[0], c[1], c[2]}, (obb_vec3){ha[0], ha[1], ha[2]},
                                    (int)test_below(&rng, 6));
        const obb_solid b = aligned((obb_vec3){c[0] + d[0], c[1] + d[1], c[2] + d[2]},
                                    (obb_vec3){hb[0], hb[1], hb[2]}, (int)test_below(&rng, 6));
        const obb_separation s = obb_sat_separation(&a, &b);
        ck_assert_double_eq(s.gap, 0.0);
        ck_assert(obb_sat_overlap(&a, &b));
        ck_assert_int_eq(obb_sat_relation(&a, &b), OBB_TOUCHING);

        /* The next double beyond contact, where the sum is still exact, is apart. */
        obb_solid off = b;
        double *coordinate = k == 0 ? &off.center.x : k == 1 ? &off.center.y : &off.center.z;
        *coordinate += d[k] > 0 ? 0x1p-20 : -0x1p-20;
        ck_assert(!obb_sat_overlap(&a, &off));
        ck_assert_double_eq(obb_sat_separation(&a, &off).gap, 0x1p-20);
        beyond++;
    }
    ck_assert_uint_ge(beyond, 20000);
}
END_TEST

/* ---- Boxes without their solids -------------------------------------------------------------- */

/* A box along the coordinate axes: its rotation is the identity, in any signs. */
static obb_box straight_box(test_rng *rng, int dimensions)
{
    static const double zeros[2] = {0.0, -0.0};
    obb_box box = {.center = {test_uniform(rng, -9, 9), test_uniform(rng, -9, 9), 0.0},
                   .half_extents = {test_uniform(rng, 0, 3), test_uniform(rng, 0, 3), 0.0},
                   .rotation = {zeros[test_below(rng, 2)], zeros[test_below(rng, 2)],
                                zeros[test_below(rng, 2)], test_below(rng, 2) ? 1.0 : -1.0},
                   .angle = zeros[test_below(rng, 2)]};
    if (dimensions == 3) {
        box.center.z = test_uniform(rng, -9, 9);
        box.half_extents.z = test_below(rng, 8) > 0 ? test_uniform(rng, 0, 3) : 0.0;
    }
    return box;
}

/* Moves b along one axis so that it touches a, up to two steps of a double. */
static void make_touch(test_rng *rng, const obb_box *a, obb_box *b, int dimensions)
{
    const size_t k = test_below(rng, (size_t)dimensions);
    const double reach =
        obb_component(a->half_extents, (int)k) + obb_component(b->half_extents, (int)k);
    double *to = k == 0 ? &b->center.x : k == 1 ? &b->center.y : &b->center.z;
    *to = obb_component(a->center, (int)k) + (test_below(rng, 2) ? reach : -reach);
    const double toward = test_below(rng, 2) ? INFINITY : -INFINITY;
    for (size_t steps = test_below(rng, 3); steps > 0; steps--)
        *to = nextafter(*to, toward);
}

static bool overlap_of_solids(const obb_box *a, const obb_box *b, int dimensions)
{
    const obb_solid solid_a = obb_solid_from_box(a, dimensions);
    const obb_solid solid_b = obb_solid_from_box(b, dimensions);
    return obb_sat_overlap(&solid_a, &solid_b);
}

/* The box as a scene stores it, up to the rounding of the angle. */
static obb_box stored(const exact_box *box)
{
    obb_box out = {.center = box->center,
                   .half_extents = box->half_extents,
                   .angle = 2.0 * atan2(box->rotation.z, box->rotation.w)};
    ck_assert(obb_quat_normalise(box->rotation, &out.rotation) == OBB_OK);
    return out;
}

START_TEST(boxes_have_the_verdict_of_their_solids)
{
    test_rng rng = {.s = 20261126};
    size_t cases = test_effort(200000), touching = 0, overlapping = 0, turned = 0;
    for (size_t n = 0; n < cases; n++) {
        const int dimensions = 2 + (int)test_below(&rng, 2);
        obb_box a = straight_box(&rng, dimensions), b = straight_box(&rng, dimensions);
        if (test_below(&rng, 4) > 0) {
            make_touch(&rng, &a, &b, dimensions);
            touching++;
        }
        const bool expected = overlap_of_solids(&a, &b, dimensions);
        ck_assert(obb_sat_overlap_of_boxes(&a, &b, dimensions) == expected);
        ck_assert(obb_sat_overlap_of_boxes(&b, &a, dimensions) == expected);
        overlapping += expected;
        const struct pairs_case other =
            pairs_make((enum pairs_class)(n % PAIRS_CLASSES), dimensions, n, &rng);
        const obb_box c = stored(&other.a), d = stored(&other.b);
        const bool meet = overlap_of_solids(&c, &d, dimensions);
        ck_assert(obb_sat_overlap_of_boxes(&c, &d, dimensions) == meet);
        turned += meet;
        ck_assert(obb_sat_overlap_of_boxes(&a, &d, dimensions) ==
                  overlap_of_solids(&a, &d, dimensions)); /* one of them turned */
    }
    printf(
        "%zu pairs along the axes, %zu of them touch or nearly, %zu overlap; of as many that are "
        "turned, %zu overlap\n",
        cases, touching, overlapping, turned);
    ck_assert_uint_ge(turned, cases / 50);
    ck_assert_uint_ge(cases - turned, cases / 50);
    ck_assert_uint_ge(touching, cases / 2);
    ck_assert_uint_ge(overlapping, cases / 50);
    ck_assert_uint_ge(cases - overlapping, cases / 50);
}
END_TEST

/* ---- Against exact arithmetic, class by class ------------------------------------------------ */

/* What is promised, in units of the pair's extent. A pair apart by 1e-12 has a gap on some axis of
 * 1e-12 / sqrt(3). */
static const double promise = 1e-12, promised_gap = 0.57e-12;

struct tally {
    size_t cases, decided, wrong; /* decided: far enough from contact to count */
    size_t overlapping, mirrored; /* mirrored: the exchanged pair named the mirrored axis */
    size_t alone;                 /* one axis parts them, and none else */
    size_t touching;              /* by relation, and to be so by the truth as well */
    double gap_error, move_error; /* worst, in units of the extent */
    double seconds;
};

static int mirrored_axis(int axis)
{
    return axis < 3 ? axis + 3 : axis < 6 ? axis - 3 : 6 + 3 * ((axis - 6) % 3) + (axis - 6) / 3;
}

static bool is_negated(obb_vec3 u, obb_vec3 v) { return u.x == -v.x && u.y == -v.y && u.z == -v.z; }

static double larger(double x, double y) { return x > y ? x : y; }

/* The rounding of coordinates of this size: points far out cannot be better than that. */
static double grain(obb_vec3 v) { return 0x1p-51 * (fabs(v.x) + fabs(v.y) + fabs(v.z)); }

static double cosine_of(const struct pairs_case *c, int axis)
{
    return fabs(obb_dot(c->solid_a.axis[(axis - 6) / 3], c->solid_b.axis[(axis - 6) % 3]));
}

static size_t axes_that_part(const exact_gaps *truth)
{
    size_t count = 0;
    for (int k = 0; k < OBB_AXES; k++)
        count += truth->counts[k] && truth->gap[k] > 0.0;
    return count;
}

/* How far b reaches out of a at most (<= 0: a contains b), from the true gaps on the faces of a. */
static double reach_out(const obb_solid *a, const obb_solid *b, const double gaps[static 3])
{
    double most = -HUGE_VAL;
    for (int i = 0; i < a->dimensions; i++) {
        double radius = 0.0;
        for (int j = 0; j < 3; j++)
            radius += obb_component(b->half_extents, j) * fabs(obb_dot(a->axis[i], b->axis[j]));
        most = larger(most, gaps[i] + 2.0 * radius);
    }
    return most;
}

static void check_separation(const struct pairs_case *c, const exact_gaps *truth, obb_separation s,
                             struct tally *tally)
{
    const double extent = truth->extent;
    const int dimensions = c->solid_a.dimensions;
    ck_assert(0 <= s.axis && s.axis < OBB_AXES && truth->counts[s.axis]);
    ck_assert_double_eq_tol(obb_length(s.normal), 1.0, 2e-15);
    const obb_vec3 d = obb_sub(c->b.center, c->a.center);
    ck_assert_double_ge(obb_dot(d, s.normal), -1e-15 * extent);

    /* Overlapping, the gap is the largest; apart, it is the gap along the normal, and the largest
     * again unless rounding has a say in the direction of nearly parallel edges. */
    const double error = s.gap <= 0.0 ? fabs(s.gap - truth->largest)
                                      : fabs(s.gap - exact_gap_along(&c->a, &c->b, s.normal));
    ck_assert_double_le(error, promise * extent);
    tally->gap_error = larger(tally->gap_error, extent > 0.0 ? error / extent : 0.0);
    bool plain = true;
    for (int k = 6; k < OBB_AXES && dimensions == 3; k++)
        plain = plain && (cosine_of(c, k) < 0.99);
    if (plain)
        ck_assert_double_le(fabs(s.gap - truth->largest), promise * extent);

    /* First of those that tie. */
    for (int k = 0; k < s.axis; k++)
        if (truth->counts[k] && (k < 6 || cosine_of(c, k) < 0.99))
            ck_assert_double_lt(truth->gap[k], truth->largest - 1e-15 * extent);

    if (s.gap <= 0.0) {
        exact_box moved = c->b;
        moved.center = obb_add(moved.center, obb_scale(s.normal, -s.gap));
        const double left = fabs(exact_gaps_of(&c->a, &moved, dimensions).largest);
        ck_assert_double_le(left, promise * extent + grain(moved.center));
        tally->move_error =
            larger(tally->move_error,
                   extent > 0.0 ? larger(left - grain(moved.center), 0.0) / extent : 0.0);
    }
}

/* The gap, up to rounding, belongs to the axis that the exchanged pair named as well. */
static void check_mirror(const struct pairs_case *c, const exact_gaps *truth, obb_separation s,
                         struct tally *tally)
{
    const obb_separation m = obb_sat_separation(&c->solid_b, &c->solid_a);
    ck_assert(test_same_bits(s.gap, m.gap));
    ck_assert(obb_sat_overlap(&c->solid_b, &c->solid_a) ==
              obb_sat_overlap(&c->solid_a, &c->solid_b));
    const int back = mirrored_axis(m.axis);
    if (back == s.axis) {
        tally->mirrored++;
        const obb_vec3 d = obb_sub(c->b.center, c->a.center);
        if (obb_dot(d, s.normal) != 0.0)
            ck_assert(is_negated(s.normal, m.normal));
    } else if (back < 6 || cosine_of(c, back) < 0.99) { /* tied */
        ck_assert(truth->counts[back]);
        ck_assert_double_ge(truth->gap[back], s.gap - 2e-13 * truth->extent);
    }
    ck_assert(test_same_bits(obb_sat_extent(&c->solid_a, &c->solid_b),
                             obb_sat_extent(&c->solid_b, &c->solid_a)));
}

static void check_relation(const struct pairs_case *c, const exact_gaps *truth, struct tally *tally)
{
    const obb_relation r = obb_sat_relation(&c->solid_a, &c->solid_b);
    const obb_relation m = obb_sat_relation(&c->solid_b, &c->solid_a);
    const double extent = truth->extent;
    ck_assert_double_eq_tol(obb_sat_extent(&c->solid_a, &c->solid_b), extent,
                            4e-15 * extent + DBL_MIN);
    const double b_out = reach_out(&c->solid_a, &c->solid_b, truth->gap);
    const double a_out = reach_out(&c->solid_b, &c->solid_a, truth->gap + 3);
    const double clear = 1e-13 * extent;
    if (truth->largest > 1.01 * promise * extent)
        ck_assert_int_eq(r, OBB_SEPARATE);
    else if (truth->largest < 0.99 * promise * extent && b_out <= 0.0)
        ck_assert_int_eq(r, OBB_CONTAINS);
    else if (truth->largest < 0.99 * promise * extent && b_out > clear && a_out <= 0.0)
        ck_assert_int_eq(r, OBB_INSIDE);
    else if (b_out > clear && a_out > clear && fabs(truth->largest) < 0.99 * promise * extent) {
        ck_assert_int_eq(r, OBB_TOUCHING);
        tally->touching++;
    } else if (b_out > clear && a_out > clear && truth->largest < -1.01 * promise * extent)
        ck_assert_int_eq(r, OBB_INTERSECTING);
    const bool equal = a_out <= clear && b_out <= clear;
    if (r == OBB_CONTAINS)
        ck_assert(m == OBB_INSIDE || (equal && m == OBB_CONTAINS));
    else if (r == OBB_INSIDE)
        ck_assert_int_eq(m, OBB_CONTAINS);
    else
        ck_assert_int_eq(m, r);
}

static void check_pair(const struct pairs_case *c, struct tally *tally)
{
    const exact_gaps truth = exact_gaps_of(&c->a, &c->b, c->solid_a.dimensions);
    const bool overlap = obb_sat_overlap(&c->solid_a, &c->solid_b);
    const obb_separation s = obb_sat_separation(&c->solid_a, &c->solid_b);
    tally->cases++;
    tally->overlapping += truth.largest <= 0.0;
    ck_assert(overlap == (s.gap <= 0.0));
    const bool exact = truth.largest == 0.0 && s.gap == 0.0;
    if (exact || fabs(truth.largest) > promised_gap * truth.extent) {
        tally->decided++;
        tally->wrong += overlap != (truth.largest <= 0.0);
    }
    tally->alone += axes_that_part(&truth) == 1 && truth.axis >= 6;
    check_separation(c, &truth, s, tally);
    check_mirror(c, &truth, s, tally);
    check_relation(c, &truth, tally);
}

static void run_class(enum pairs_class kind, int dimensions, size_t cases, struct tally *tally)
{
    test_rng rng = {.s = 20261120u + (uint64_t)kind * 97u + (uint64_t)dimensions};
    const double start = test_seconds();
    for (size_t i = 0; i < cases; i++) {
        const struct pairs_case c = pairs_make(kind, dimensions, i, &rng);
        check_pair(&c, tally);
    }
    tally->seconds = test_seconds() - start;
    (void)printf("%d-D %-36s cases %7zu decided %7zu wrong %zu overlap %3.0f%% cross alone %3.0f%% "
                 "mirrored %3.0f%% gap error %.0e after move %.0e (%.2f s)\n",
                 dimensions, pairs_name(kind), tally->cases, tally->decided, tally->wrong,
                 100.0 * (double)tally->overlapping / (double)tally->cases,
                 100.0 * (double)tally->alone / (double)tally->cases,
                 100.0 * (double)tally->mirrored / (double)tally->cases, tally->gap_error,
                 tally->move_error, tally->seconds);
    ck_assert_uint_eq(tally->cases, cases);
    ck_assert_uint_eq(tally->wrong, 0);
}

static void expect_rates(enum pairs_class kind, int dimensions, const struct tally *tally)
{
    const double n = (double)tally->cases;
    const double overlapping = (double)tally->overlapping / n, alone = (double)tally->alone / n;
    const double decided = (double)tally->decided / n;
    if (kind == PAIRS_CONTAINED || kind == PAIRS_IDENTICAL || kind == PAIRS_CONTACT)
        ck_assert_double_eq(overlapping, 1.0);
    else if (kind == PAIRS_CROSS && dimensions == 3)
        ck_assert_double_gt(alone, 0.9);
    else if (kind == PAIRS_STICK || kind == PAIRS_POINT || kind == PAIRS_FLAT)
        ck_assert(0.02 < overlapping && overlapping < 0.98);
    else
        ck_assert(0.1 < overlapping && overlapping < 0.9);
    if (kind == PAIRS_NEAR_PARALLEL && dimensions == 3)
        ck_assert_double_gt(alone, 0.15);
    if (kind == PAIRS_LONG_NEAR_PARALLEL && dimensions == 3)
        ck_assert_double_gt(alone, 0.2);
    if (kind == PAIRS_NEAR)
        ck_assert_uint_gt(tally->touching, tally->cases / 20);
    if (kind != PAIRS_STICK && kind != PAIRS_POINT && kind != PAIRS_FLAT && kind != PAIRS_IDENTICAL)
        ck_assert_double_gt(decided, 0.8);
}

static void check_class(enum pairs_class kind)
{
    for (int dimensions = 3; dimensions >= 2; dimensions--) {
        struct tally tally = {0};
        run_class(kind, dimensions, test_effort(dimensions == 3 ? 2400 : 600), &tally);
        expect_rates(kind, dimensions, &tally);
    }
}

START_TEST(every_class_agrees_with_exact_arithmetic)
{
    check_class((enum pairs_class)_i);
}
END_TEST

START_TEST(axis_names_are_in_the_order_of_the_contract)
{
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "a.%c", "xyz"[i]);
        ck_assert_str_eq(obb_sat_axis_name(i), name);
        (void)snprintf(name, sizeof name, "b.%c", "xyz"[i]);
        ck_assert_str_eq(obb_sat_axis_name(3 + i), name);
        for (int j = 0; j < 3; j++) {
            (void)snprintf(name, sizeof name, "a.%c*b.%c", "xyz"[i], "xyz"[j]);
            ck_assert_str_eq(obb_sat_axis_name(6 + 3 * i + j), name);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sat");
    TCase *tc = tcase_create("sat");
    tcase_add_test(tc, exact_contact_of_aligned_boxes_is_a_gap_of_zero);
    tcase_add_test(tc, boxes_have_the_verdict_of_their_solids);
    tcase_add_loop_test(tc, every_class_agrees_with_exact_arithmetic, 0, PAIRS_CLASSES);
    tcase_add_test(tc, axis_names_are_in_the_order_of_the_contract);
    tcase_set_timeout(tc, test_patience(60));
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
