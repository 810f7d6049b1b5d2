#include "core/hull.h"
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

/* The farthest that a point lies outside of the hull along the way from its middle, in parts of that way: by long double,
 * with the cloud measured along the axes in units of its extents. */
static double farthest_outside(const obb_hull *hull, const obb_vec3 *points, size_t count)
{
    double width[3];
    for (int k = 0; k < 3; k++)
        width[k] = cloud_width(points, count, coordinate_axes[k]);
    typedef struct vector {
        long double at[3];
    } vector;
    vector *p = calloc(count, sizeof *p), middle = {{0}};
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            p[i].at[k] = ((long double)obb_component(points[i], k) -
                          (long double)obb_component(points[0], k)) /
                         (long double)width[k];
    for (size_t i = 0; i < hull->corner_count; i++)
        for (int k = 0; k < 3; k++)
            middle.at[k] += p[hull->corner[i]].at[k] / (long double)hull->corner_count;
    double farthest = 0.0;
    for (size_t i = 0; i < count; i++) {
        /* the factor by which the way leaves the hull is the largest over the faces */
        long double factor = 0;
        for (size_t f = 0; f < hull->face_count; f++) {
            const vector *a = &p[hull->corner[hull->face[f].corner[0]]],
                         *b = &p[hull->corner[hull->face[f].corner[1]]],
                         *c = &p[hull->corner[hull->face[f].corner[2]]];
            long double n[3], to = 0, face = 0;
            for (int k = 0; k < 3; k++) {
                const int l = (k + 1) % 3, m = (k + 2) % 3;
                n[k] = (b->at[l] - a->at[l]) * (c->at[m] - a->at[m]) -
                       (b->at[m] - a->at[m]) * (c->at[l] - a->at[l]);
            }
            for (int k = 0; k < 3; k++) {
                to += n[k] * (p[i].at[k] - middle.at[k]);
                face += n[k] * (a->at[k] - middle.at[k]);
            }
            if (face > 1e-9L) /* not a sliver, whose direction is rounding */
                factor = fmaxl(factor, to / face);
        }
        farthest = fmax(farthest, (double)(factor - 1));
    }
    free(p);
    return farthest;
}

START_TEST(hulls_are_closed_and_hold_every_point)
{
    test_rng rng = {.s = 20261310};
    const size_t sizes[] = {4, 5, 8, 20, 100, 250};
    size_t looked = 0, cut = 0;
    double worst = 0.0;
    for (size_t round = 0; round < test_effort(6); round++)
        for (int kind = 0; kind < CLOUD_KINDS; kind++)
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                obb_vec3 points[250];
                const size_t count = sizes[n];
                cloud_fill(&rng, (cloud_kind)kind, round % 2 == 1 && kind != CLOUD_NEEDLE, points,
                           count);
                const size_t limit = round % 3 == 2 ? 24 : 1000;
                obb_hull hull;
                ck_assert_int_eq(obb_hull_init(&hull, points, count, coordinate_axes, limit),
                                 OBB_OK);
                if (hull.face_count == 0) { /* four points in a plane */
                    ck_assert(kind == CLOUD_GRID || kind == CLOUD_PRISM || kind == CLOUD_BOX);
                    ck_assert_uint_le(count, 5);
                    continue;
                }
                check_surface(&hull, count);
                ck_assert_uint_le(hull.corner_count, limit);
                ck_assert(hull.whole || hull.corner_count <= limit);
                if (hull.whole)
                    worst = fmax(worst, farthest_outside(&hull, points, count));
                else
                    cut++;
                obb_hull_fini(&hull);
                looked++;
            }
    printf("hull: %zu hulls, %zu of them cut short, no point farther outside than %.3g\n", looked,
           cut, worst);
    ck_assert_uint_gt(looked, 300);
    ck_assert_uint_gt(cut, 20);
    ck_assert_double_le(worst, 0x1p-36);
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
    ck_assert_int_eq(obb_hull_init(&hull, points, 5000, coordinate_axes, 16), OBB_OK);
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
        ck_assert_int_eq(obb_hull_init(&hull, points, count, coordinate_axes, 64), OBB_OK);
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
        const obb_status st = obb_hull_init(&hull, points, 100, coordinate_axes, 1000);
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
        const size_t n = obb_hull_flat(points, count, out);
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

/* On a line that rounding bends, a point may seem to lie on both sides: it must not be listed twice. */
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
        const size_t n = obb_hull_flat(points, count, out);
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
        const size_t n = obb_hull_flat(points, count, out);
        if (n < 3)
            continue;
        obb_flat u;
        const double area = obb_hull_rectangle(out, n, &u),
                     truth = cloud_smallest_area(copy, count);
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
    tcase_set_timeout(tc, test_timeout((double)test_effort(300)));
    tcase_add_test(tc, hulls_are_closed_and_hold_every_point);
    tcase_add_test(tc, a_hull_cut_short_takes_what_sticks_out);
    tcase_add_test(tc, clouds_without_volume_have_no_hull);
    tcase_add_test(tc, a_failing_heap_is_a_status);
    tcase_add_test(tc, polygons_turn_left_and_hold_every_point);
    tcase_add_test(tc, a_bent_line_fits_its_room);
    tcase_add_test(tc, rectangles_are_the_smallest);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
