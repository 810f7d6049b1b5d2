#include "core/geometry/hull.h"
#include "tests/support/clouds.h"
#include "tests/support/fault.h"
#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>

static const obb_vec3 coordinate_axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* A closed surface whose faces agree with their neighbours, corners used all and once. */
static void check_surface(const obb_hull *hull, size_t count)
{
    ck_assert_uint_eq(hull->face_count, 2 * hull->corner_count - 4);
    size_t *faces_at = calloc(hull->corner_count, sizeof *faces_at);
    bool *seen = calloc(count, sizeof *seen);
    for (size_t i = 0; i < hull->corner_count; i++) {
        ck_assert_uint_lt(hull->corner[i], count);
        ck_assert(!seen[hull->corner[i]]);
        seen[hull->corner[i]] = true;
    }
    for (size_t i = 0; i < hull->face_count; i++)
        for (int e = 0; e < 3; e++) {
            const obb_hull_face *f = &hull->face[i];
            ck_assert_uint_lt(f->corner[e], hull->corner_count);
            ck_assert_uint_lt(f->across[e], hull->face_count);
            faces_at[f->corner[e]]++;
            const obb_hull_face *g = &hull->face[f->across[e]];
            int back = 0;
            while (back < 3 && g->across[back] != i)
                back++;
            ck_assert_int_lt(back, 3);
            ck_assert_uint_eq(g->corner[back], f->corner[(e + 1) % 3]);
            ck_assert_uint_eq(g->corner[(back + 1) % 3], f->corner[e]);
        }
    for (size_t i = 0; i < hull->corner_count; i++)
        ck_assert_uint_ge(faces_at[i], 3);
    free(faces_at);
    free(seen);
}

__extension__ typedef __int128 wide;

typedef struct step {
    int64_t at[3];
} step;

/* The grid of hull.h along the coordinate axes. */
static void lay_on_grid(const obb_vec3 *points, size_t count, step *out)
{
    for (int k = 0; k < 3; k++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < count; i++) {
            const double x = obb_component(points[i], k) - obb_component(points[0], k);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        for (size_t i = 0; i < count; i++) {
            const double x = obb_component(points[i], k) - obb_component(points[0], k);
            out[i].at[k] = (int64_t)floor((x - low) / (high - low) * (0x1p40 - 1) + 0.5);
        }
    }
}

static wide height(const step *a, const step *b, const step *c, const step *p)
{
    wide u[3], v[3], d[3];
    for (int k = 0; k < 3; k++) {
        u[k] = b->at[k] - a->at[k];
        v[k] = c->at[k] - a->at[k];
        d[k] = p->at[k] - a->at[k];
    }
    return (u[1] * v[2] - u[2] * v[1]) * d[0] + (u[2] * v[0] - u[0] * v[2]) * d[1] +
           (u[0] * v[1] - u[1] * v[0]) * d[2];
}

/* By whole numbers: on the grid no corner lies above a face; and the farthest that a point does, in
 * parts of the hull's width there. */
static double farthest_above(const obb_hull *hull, const obb_vec3 *points, size_t count)
{
    step *grid = calloc(count, sizeof *grid);
    lay_on_grid(points, count, grid);
    double farthest = 0.0;
    for (size_t f = 0; f < hull->face_count; f++) {
        const uint32_t *c = hull->face[f].corner;
        const step *a = &grid[hull->corner[c[0]]], *b = &grid[hull->corner[c[1]]],
                   *d = &grid[hull->corner[c[2]]];
        wide most = 0, deepest = 0;
        for (size_t i = 0; i < hull->corner_count; i++) {
            const wide h = height(a, b, d, &grid[hull->corner[i]]);
            ck_assert(h <= 0);
            deepest = h < deepest ? h : deepest;
        }
        ck_assert(deepest < 0);
        for (size_t i = 0; i < count; i++) {
            const wide h = height(a, b, d, &grid[i]);
            most = h > most ? h : most;
        }
        farthest = fmax(farthest, (double)most / -(double)deepest);
    }
    free(grid);
    return farthest;
}

/* The farthest that the points themselves reach beyond the hull in the direction of one of its
 * faces: with the cloud measured in units of its extents, and the sum of the direction's parts
 * 1. */
static double farthest_beyond(const obb_hull *hull, const obb_vec3 *points, size_t count)
{
    typedef struct vector {
        long double at[3];
    } vector;
    vector *p = calloc(count, sizeof *p);
    for (int k = 0; k < 3; k++) {
        const double width = cloud_width(points, count, coordinate_axes[k]);
        for (size_t i = 0; i < count; i++)
            p[i].at[k] = ((long double)obb_component(points[i], k) -
                          (long double)obb_component(points[0], k)) /
                         (long double)width;
    }
    long double farthest = 0;
    for (size_t f = 0; f < hull->face_count; f++) {
        const vector *a = &p[hull->corner[hull->face[f].corner[0]]],
                     *b = &p[hull->corner[hull->face[f].corner[1]]],
                     *c = &p[hull->corner[hull->face[f].corner[2]]];
        long double n[3], size = 0, corners = -HUGE_VALL, all = -HUGE_VALL;
        for (int k = 0; k < 3; k++) {
            const int l = (k + 1) % 3, m = (k + 2) % 3;
            n[k] = (b->at[l] - a->at[l]) * (c->at[m] - a->at[m]) -
                   (b->at[m] - a->at[m]) * (c->at[l] - a->at[l]);
            size += fabsl(n[k]);
        }
        if (size == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            all = fmaxl(all, n[0] * p[i].at[0] + n[1] * p[i].at[1] + n[2] * p[i].at[2]);
        for (size_t i = 0; i < hull->corner_count; i++) {
            const vector *at = &p[hull->corner[i]];
            corners = fmaxl(corners, n[0] * at->at[0] + n[1] * at->at[1] + n[2] * at->at[2]);
        }
        farthest = fmaxl(farthest, (all - corners) / size);
    }
    free(p);
    return (double)farthest;
}

START_TEST(hulls_are_closed_and_hold_every_point)
{
    test_rng rng = {.s = 20261310};
    const size_t sizes[] = {4, 5, 8, 20, 100, 250};
    size_t looked = 0, cut = 0;
    double above = 0.0, beyond = 0.0;
    for (size_t round = 0; round < test_effort(6); round++)
        for (int kind = 0; kind < CLOUD_KINDS; kind++)
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                obb_vec3 points[250];
                const size_t count = sizes[n];
                cloud_fill(&rng, (cloud_kind)kind, round % 2 == 1 && kind != CLOUD_NEEDLE, points,
                           count);
                const size_t limit = round % 3 == 2 ? 24 : 1000;
                obb_hull hull;
                ck_assert_int_eq(
                    obb_hull_init(&hull, points, count, coordinate_axes, limit, NULL, NULL),
                    OBB_OK);
                if (hull.face_count == 0) { /* four points in a plane */
                    ck_assert(kind == CLOUD_GRID || kind == CLOUD_PRISM || kind == CLOUD_BOX);
                    ck_assert_uint_le(count, 5);
                    continue;
                }
                check_surface(&hull, count);
                ck_assert_uint_le(hull.corner_count, limit);
                ck_assert(hull.whole || hull.corner_count <= limit);
                if (hull.whole) {
                    above = fmax(above, farthest_above(&hull, points, count));
                    beyond = fmax(beyond, farthest_beyond(&hull, points, count));
                } else {
                    cut++;
                }
                obb_hull_fini(&hull);
                looked++;
            }
    printf("hull: %zu hulls, %zu of them cut short, on the grid no point farther outside than %.3g "
           "of the width, nor as it is than %.3g\n",
           looked, cut, above, beyond);
    ck_assert_uint_gt(looked, 300);
    ck_assert_uint_gt(cut, 20);
    ck_assert_double_le(above, 0x1p-36);
    /* a step for the grid: half of one for the point, half for the corner; a width is 1 at most */
    ck_assert_double_le(beyond, 0x1p-36 + 0x1.01p-40);
}
END_TEST

/* A cube with points a hair above its faces: what may be left out, and what may not. */
START_TEST(points_that_hardly_stick_out_are_left_out_within_the_bound)
{
    test_rng rng = {.s = 20261317};
    size_t left = 0, taken = 0;
    double above = 0.0;
    for (size_t round = 0; round < test_effort(300); round++) {
        obb_vec3 points[68];
        for (unsigned i = 0; i < 68; i++) {
            double at[3];
            for (unsigned k = 0; k < 3; k++)
                at[k] = i < 8 ? ((i >> k & 1) != 0 ? 1 : -1) : test_uniform(&rng, -1, 1);
            if (i >= 8)
                at[i % 3] = (i % 2 == 0 ? 1 : -1) * (1 + random_magnitude(&rng, 0x1p-42, 0x1p-26));
            points[i] = (obb_vec3){at[0], at[1], at[2]};
        }
        obb_hull hull;
        ck_assert_int_eq(obb_hull_init(&hull, points, 68, coordinate_axes, 1000, NULL, NULL),
                         OBB_OK);
        check_surface(&hull, 68);
        ck_assert(hull.whole);
        above = fmax(above, farthest_above(&hull, points, 68));
        taken += hull.corner_count - 8;
        left += 68 - hull.corner_count;
        obb_hull_fini(&hull);
    }
    printf("hull: %zu points a hair outside taken, %zu left out, by up to %.3g of the width\n",
           taken, left, above);
    ck_assert(taken > left / 10 && left > taken / 10);
    ck_assert(0x1p-39 < above && above <= 0x1p-36);
}
END_TEST

START_TEST(a_hull_cut_short_takes_what_sticks_out)
{
    test_rng rng = {.s = 20261311};
    obb_vec3 points[5000];
    cloud_fill(&rng, CLOUD_BALL, false, points, 5000);
    for (unsigned i = 0; i < 8; i++) /* eight spikes among them */
        points[1000 + 17 * i] =
            (obb_vec3){(i & 1) != 0 ? 3 : -3, (i & 2) != 0 ? 3 : -3, (i & 4) != 0 ? 3 : -3};
    obb_hull hull;
    ck_assert_int_eq(obb_hull_init(&hull, points, 5000, coordinate_axes, 16, NULL, NULL), OBB_OK);
    size_t spikes = 0;
    for (size_t i = 0; i < hull.corner_count; i++)
        spikes +=
            (hull.corner[i] - 1000) % 17 == 0 && hull.corner[i] >= 1000 && hull.corner[i] < 1136;
    ck_assert_uint_eq(spikes, 8);
    ck_assert(hull.whole); /* the ball is inside */
    obb_hull_fini(&hull);
}
END_TEST

START_TEST(clouds_without_volume_have_no_hull)
{
    test_rng rng = {.s = 20261312};
    obb_vec3 points[50];
    for (int flat = 0; flat < 4; flat++) {
        for (int i = 0; i < 50; i++) {
            points[i] = random_vector(&rng, -1, 1);
            if (flat < 3)
                points[i].z = 7;
            if (flat < 2)
                points[i].y = 0.1;
            if (flat < 1)
                points[i].x = -3;
        }
        obb_hull hull;
        const size_t count = flat == 3 ? 3 : 50;
        ck_assert_int_eq(obb_hull_init(&hull, points, count, coordinate_axes, 64, NULL, NULL),
                         OBB_OK);
        ck_assert_uint_eq(hull.face_count, 0);
        obb_hull_fini(&hull);
    }
}
END_TEST

START_TEST(a_failing_heap_is_a_status)
{
    test_rng rng = {.s = 20261313};
    obb_vec3 points[100];
    cloud_fill(&rng, CLOUD_SPHERE, false, points, 100);
    size_t n = 0;
    for (;;) {
        obb_hull hull;
        fault_arm(++n);
        const obb_status st = obb_hull_init(&hull, points, 100, coordinate_axes, 1000, NULL, NULL);
        fault_arm(0);
        if (st == OBB_OK) {
            obb_hull_fini(&hull);
            break;
        }
        ck_assert_int_eq(st, OBB_NO_MEMORY);
        ck_assert_ptr_null(hull.face);
    }
    ck_assert_uint_gt(n, 8);
}
END_TEST

/* A point of a grid that is turned by an angle that depends on the round. */
static obb_flat turned_grid(test_rng *rng, size_t round)
{
    const double a = 0.785398163397448309616 * (double)(round % 8) + (round % 16 < 8 ? 0.0 : 0.3);
    const double x = (double)test_below(rng, 4), y = (double)test_below(rng, 4);
    return (obb_flat){x * cos(a) - y * sin(a), x * sin(a) + y * cos(a)};
}

START_TEST(polygons_turn_left_and_hold_every_point)
{
    test_rng rng = {.s = 20261314};
    size_t looked = 0, corners = 0;
    for (size_t round = 0; round < test_effort(2000); round++) {
        obb_flat points[60], copy[60], out[61];
        const size_t count = 1 + test_below(&rng, 60);
        for (size_t i = 0; i < count; i++) {
            points[i] = (obb_flat){test_uniform(&rng, -1, 1), test_uniform(&rng, -1, 1)};
            if (round % 4 == 1)
                points[i] = (obb_flat){(double)test_below(&rng, 4), (double)test_below(&rng, 4)};
            if (round % 4 == 2) { /* pairs a rounding apart, on a circle */
                const double a = (double)(i - i % 2), e = i % 2 == 0 ? 0.0 : 1e-16;
                points[i] = (obb_flat){cos(a) + e, sin(a) - e};
            }
            if (round % 4 ==
                3) /* a grid turned by eighths, so that edges are upright but for rounding */
                points[i] = turned_grid(&rng, round);
            if (round % 8 ==
                4) { /* a line but for rounding, on both sides of which a point may seem to lie */
                const double t = (double)test_below(&rng, 7) / 7;
                points[i] = (obb_flat){t * 0.3, t * 0.7};
            }
            copy[i] = points[i];
        }
        const size_t n = obb_hull_flat(points, count, NULL, out);
        ck_assert_uint_ge(n, 1);
        corners += n;
        for (size_t i = 0; i < n && n >= 3; i++) {
            const obb_flat a = out[i], b = out[(i + 1) % n], c = out[(i + 2) % n];
            const double turn = (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x);
            ck_assert_double_gt(turn, 0);
            for (size_t j = 0; j < count; j++) {
                const double side =
                    (b.x - a.x) * (copy[j].y - a.y) - (b.y - a.y) * (copy[j].x - a.x);
                ck_assert_double_ge(side / hypot(b.x - a.x, b.y - a.y), -2e-14);
                looked++;
            }
        }
    }
    printf("hull: %zu corners of polygons, %zu points against their edges\n", corners, looked);
    ck_assert_uint_gt(looked, 100000);
}
END_TEST

/* On a line that rounding bends, a point may seem to lie on both sides: it must not be listed
 * twice. */
START_TEST(a_bent_line_fits_its_room)
{
    test_rng rng = {.s = 20261316};
    size_t corners = 0;
    for (size_t round = 0; round < test_effort(50000); round++) {
        obb_flat points[12], out[26];
        const size_t count = 3 + test_below(&rng, 10);
        const double a = test_uniform(&rng, 0, 6.28), f = test_uniform(&rng, 0.1, 1);
        for (size_t i = 0; i < count; i++) {
            const double t = (double)test_below(&rng, 5) + f * (double)test_below(&rng, 5);
            points[i] = (obb_flat){t * cos(a), t * sin(a)};
        }
        for (size_t i = 0; i < 26; i++)
            out[i].x = 1e99;
        const size_t n = obb_hull_flat(points, count, NULL, out);
        ck_assert_uint_le(n, count);
        for (size_t i = count + 1; i < 26; i++)
            ck_assert_double_eq(out[i].x, 1e99);
        corners += n;
    }
    ck_assert_uint_gt(corners, 90000);
}
END_TEST

START_TEST(rectangles_are_the_smallest)
{
    test_rng rng = {.s = 20261315};
    size_t looked = 0;
    double worst = 0.0;
    for (size_t round = 0; round < test_effort(1500); round++) {
        obb_flat points[40], out[41];
        obb_vec3 copy[40];
        const size_t count = 3 + test_below(&rng, 38);
        for (size_t i = 0; i < count; i++) {
            copy[i] = random_vector(&rng, -1, 1);
            if (round % 4 == 1)
                copy[i] = (obb_vec3){(double)test_below(&rng, 4), (double)test_below(&rng, 4), 0};
            if (round % 4 == 2) {
                const double a = (double)(i - i % 2), e = i % 2 == 0 ? 0.0 : 1e-16;
                copy[i] = (obb_vec3){cos(a) + e, sin(a), 0};
            }
            if (round % 4 == 3) {
                const obb_flat p = turned_grid(&rng, round);
                copy[i] = (obb_vec3){p.x, p.y, 0};
            }
            points[i] = (obb_flat){copy[i].x, copy[i].y};
        }
        const size_t n = obb_hull_flat(points, count, NULL, out);
        if (n < 3)
            continue;
        obb_flat u;
        double area;
        ck_assert(obb_hull_rectangle(out, n, NULL, &area, &u));
        const double truth = cloud_smallest_area(copy, count);
        ck_assert_double_eq_tol(hypot(u.x, u.y), 1, 1e-15);
        const double own = cloud_width(copy, count, (obb_vec3){u.x, u.y, 0}) *
                           cloud_width(copy, count, (obb_vec3){-u.y, u.x, 0});
        worst = fmax(worst, fmax(fabs(area / truth - 1), fabs(own / truth - 1)));
        looked++;
    }
    printf("hull: %zu rectangles, areas within %.3g of the smallest by all pairs\n", looked, worst);
    ck_assert_uint_gt(looked, 1000);
    ck_assert_double_le(worst, 1e-13);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hull");
    TCase *tc = tcase_create("hull");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, hulls_are_closed_and_hold_every_point);
    tcase_add_test(tc, points_that_hardly_stick_out_are_left_out_within_the_bound);
    tcase_add_test(tc, a_hull_cut_short_takes_what_sticks_out);
    tcase_add_test(tc, clouds_without_volume_have_no_hull);
    tcase_add_test(tc, a_failing_heap_is_a_status);
    tcase_add_test(tc, polygons_turn_left_and_hold_every_point);
    tcase_add_test(tc, a_bent_line_fits_its_room);
    tcase_add_test(tc, rectangles_are_the_smallest);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
