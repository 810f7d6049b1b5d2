#include "core/obb.h"
#include "tests/support/oracle_query.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

static const obb_quat upright = {0.0, 0.0, 0.0, 1.0};

static obb_ray made(obb_vec3 origin, obb_vec3 direction, double max_distance)
{
    obb_ray ray;
    ck_assert_int_eq(obb_ray_make(origin, direction, max_distance, &ray), OBB_OK);
    return ray;
}

static double scale_of(const obb_ray *ray, const obb_solid *box)
{
    return obb_length(obb_sub(ray->origin, box->center)) + obb_length(box->half_extents);
}

START_TEST(directions_are_normalised_whatever_their_length)
{
    const obb_vec3 o = {1.0, 2.0, 3.0};
    const double lengths[] = {1.0, 5.0, 1e-9, 1e-300, 1e300, 5e-324};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const obb_ray ray = made(o, (obb_vec3){0.0, -lengths[i], 0.0}, 7.0);
        ck_assert_double_eq(ray.direction.x, 0.0);
        ck_assert_double_eq(ray.direction.y, -1.0);
        ck_assert_double_eq(ray.max_distance, 7.0);
    }
    const obb_ray slanted = made(o, (obb_vec3){3e200, 0.0, -4e200}, HUGE_VAL);
    ck_assert_double_eq_tol(slanted.direction.x, 0.6, 1e-15);
    ck_assert_double_eq_tol(slanted.direction.z, -0.8, 1e-15);
}
END_TEST

START_TEST(what_is_no_ray_is_refused_and_nothing_written)
{
    const obb_vec3 o = {0.0, 0.0, 0.0}, d = {0.0, 0.0, 1.0};
    const struct {
        obb_vec3 origin, direction;
        double max_distance;
        obb_status status;
    } refused[] = {
        {{(double)NAN, 0.0, 0.0}, d, 1.0, OBB_BAD_NUMBER},
        {{0.0, HUGE_VAL, 0.0}, d, 1.0, OBB_BAD_NUMBER},
        {{0.0, 0.0, 1.1e9}, d, 1.0, OBB_BAD_NUMBER},
        {o, {0.0, (double)NAN, 0.0}, 1.0, OBB_BAD_NUMBER},
        {o, {0.0, 0.0, HUGE_VAL}, 1.0, OBB_BAD_NUMBER},
        {o, d, (double)NAN, OBB_BAD_NUMBER},
        {o, d, -1.0, OBB_BAD_EXTENT},
        {o, {0.0, -0.0, 0.0}, 1.0, OBB_BAD_VALUE},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        obb_ray ray = {.max_distance = 42.0};
        ck_assert_int_eq(
            obb_ray_make(refused[i].origin, refused[i].direction, refused[i].max_distance, &ray),
            refused[i].status);
        ck_assert_double_eq(ray.max_distance, 42.0);
    }
    obb_ray ray;
    ck_assert_int_eq(obb_ray_make(o, d, 0.0, &ray), OBB_OK);
    ck_assert_int_eq(obb_ray_make(o, d, HUGE_VAL, &ray), OBB_OK);
}
END_TEST

/* One line of the table: the cube [-1,1]^3 (with z from 0 to 0 where flat), and what a ray along it
 * meets. */
struct exact_case {
    const char *name;
    obb_vec3 origin, direction;
    double max_distance;
    obb_inside inside;
    bool hit, started_inside;
    double distance;
    obb_vec3 normal;
};

static void check_exact(const struct exact_case *c, const obb_solid *box)
{
    const obb_ray ray = made(c->origin, c->direction, c->max_distance);
    obb_ray_hit hit = {.distance = -1.0};
    ck_assert_msg(obb_ray_cast(&ray, box, c->inside, &hit) == c->hit, "%s", c->name);
    if (!c->hit) {
        ck_assert_double_eq(hit.distance, -1.0);
        return;
    }
    ck_assert_msg(hit.distance == c->distance && !signbit(hit.distance), "%s: distance %g", c->name,
                  hit.distance);
    ck_assert_msg(hit.normal.x == c->normal.x && hit.normal.y == c->normal.y &&
                      hit.normal.z == c->normal.z,
                  "%s: normal %g %g %g", c->name, hit.normal.x, hit.normal.y, hit.normal.z);
    ck_assert_msg(!(signbit(hit.normal.x) && hit.normal.x == 0.0) &&
                      !(signbit(hit.normal.y) && hit.normal.y == 0.0) &&
                      !(signbit(hit.normal.z) && hit.normal.z == 0.0),
                  "%s: negative zero", c->name);
    ck_assert_msg(hit.started_inside == c->started_inside, "%s", c->name);
    const obb_vec3 point = obb_add(ray.origin, obb_scale(ray.direction, c->distance));
    ck_assert_msg(hit.point.x == point.x && hit.point.y == point.y && hit.point.z == point.z, "%s",
                  c->name);
}

START_TEST(contact_with_a_straight_box_is_exact)
{
    const obb_vec3 px = {1, 0, 0}, nx = {-1, 0, 0}, py = {0, 1, 0}, ny = {0, -1, 0};
    const double far = HUGE_VAL;
    const struct exact_case cases[] = {
        {"from the front", {-5, 0, 0}, px, far, OBB_INSIDE_HIT, true, false, 4, nx},
        {"from behind", {5, 0, 0}, nx, far, OBB_INSIDE_HIT, true, false, 4, px},
        {"pointing away", {-5, 0, 0}, nx, far, OBB_INSIDE_HIT, false, false, 0, px},
        {"ends on the face", {-5, 0, 0}, px, 4, OBB_INSIDE_HIT, true, false, 4, nx},
        {"ends before the face",
         {-5, 0, 0},
         px,
         3.999999999999999,
         OBB_INSIDE_HIT,
         false,
         false,
         0,
         px},
        {"along a face", {-5, 1, 0}, px, far, OBB_INSIDE_HIT, true, false, 4, nx},
        {"beside a face",
         {-5, 1.0000000000000002, 0},
         px,
         far,
         OBB_INSIDE_HIT,
         false,
         false,
         0,
         px},
        {"along an edge", {-5, 1, -1}, px, far, OBB_INSIDE_HIT, true, false, 4, nx},
        {"onto an edge", {-3, 3, 0}, {1, -1, 0}, far, OBB_INSIDE_HIT, true, false, sqrt(8), nx},
        {"starts on the face, inwards", {-1, 0, 0}, px, far, OBB_INSIDE_HIT, true, true, 0, nx},
        {"starts on the face, outwards", {-1, 0, 0}, nx, far, OBB_INSIDE_HIT, true, true, 0, px},
        {"starts on the face, along it", {-1, 0, 0}, py, far, OBB_INSIDE_HIT, true, true, 0, ny},
        {"starts on a corner", {1, 1, 1}, px, far, OBB_INSIDE_HIT, true, true, 0, nx},
        {"starts inside", {0.5, 0, 0}, px, far, OBB_INSIDE_HIT, true, true, 0, nx},
        {"starts inside, no length", {0.5, 0, 0}, px, 0, OBB_INSIDE_HIT, true, true, 0, nx},
        {"starts outside, no length", {1.5, 0, 0}, px, 0, OBB_INSIDE_HIT, false, true, 0, nx},
        {"exit", {0.5, 0, 0}, px, far, OBB_INSIDE_EXIT, true, true, 0.5, px},
        {"exit at the very end", {0.5, 0, 0}, px, 0.5, OBB_INSIDE_EXIT, true, true, 0.5, px},
        {"ends inside", {0.5, 0, 0}, px, 0.25, OBB_INSIDE_EXIT, false, true, 0, px},
        {"exit from the face, outwards", {-1, 0, 0}, nx, far, OBB_INSIDE_EXIT, true, true, 0, nx},
        {"exit from the face, inwards", {-1, 0, 0}, px, far, OBB_INSIDE_EXIT, true, true, 2, px},
        {"exit from the face, along it", {-1, 0, 0}, py, far, OBB_INSIDE_EXIT, true, true, 1, py},
        {"exit by an edge", {0, 0, 0}, {1, 1, 0}, far, OBB_INSIDE_EXIT, true, true, sqrt(2), px},
        {"exit of one that starts outside",
         {-5, 0, 0},
         px,
         far,
         OBB_INSIDE_EXIT,
         true,
         false,
         4,
         nx},
        {"ignore", {0.5, 0, 0}, px, far, OBB_INSIDE_IGNORE, false, false, 0, px},
        {"ignore on the surface", {1, 0, 0}, px, far, OBB_INSIDE_IGNORE, false, false, 0, px},
        {"ignore of one that starts outside",
         {-5, 0, 0},
         px,
         far,
         OBB_INSIDE_IGNORE,
         true,
         false,
         4,
         nx},
        {"from a billion away", {-1e9, 0, 0}, px, far, OBB_INSIDE_HIT, true, false, 999999999, nx},
    };
    obb_solid cube = slow_solid((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1}, upright);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_exact(&cases[i], &cube);
    cube.half_extents.z = 0.0;
    cube.dimensions = 2;
    size_t planar = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].origin.z == 0.0) {
            check_exact(&cases[i], &cube);
            planar++;
        }
    ck_assert_uint_eq(planar, sizeof cases / sizeof *cases - 2);
}
END_TEST

START_TEST(boxes_without_thickness_are_met_too)
{
    const obb_vec3 origin = {-5, 0, 0}, px = {1, 0, 0};
    const obb_ray ray = made(origin, px, HUGE_VAL);
    for (int flat = 1; flat < 8; flat++) { /* every choice of zero extents */
        const obb_vec3 half = {(flat & 1) != 0 ? 0.0 : 2.0, (flat & 2) != 0 ? 0.0 : 2.0,
                               (flat & 4) != 0 ? 0.0 : 2.0};
        const obb_solid box = slow_solid((obb_vec3){0, 0, 0}, half, upright);
        obb_ray_hit hit;
        ck_assert(obb_ray_cast(&ray, &box, OBB_INSIDE_HIT, &hit));
        ck_assert_double_eq(hit.distance, 5.0 - half.x);
        const obb_ray through = made((obb_vec3){0, 0, 0}, px, HUGE_VAL); /* from within it */
        ck_assert(obb_ray_cast(&through, &box, OBB_INSIDE_EXIT, &hit));
        ck_assert(hit.started_inside);
        ck_assert_double_eq(hit.distance, half.x);
        const obb_ray beside = made((obb_vec3){-5, 2.5, 0}, px, HUGE_VAL);
        ck_assert(!obb_ray_cast(&beside, &box, OBB_INSIDE_HIT, &hit));
    }
}
END_TEST

/* Random rays, half of them aimed at the box, against the oracle's interval. `spread` and `about`
 * say how far from each other and from the origin. */
static void compare_with_oracle(uint64_t seed, int dimensions, obb_vec3 about, double spread)
{
    const size_t cases = test_effort(6000);
    test_rng rng = {.s = seed};
    size_t hits = 0, inside = 0, clear = 0;
    double worst = 0.0;
    for (size_t i = 0; i < cases; i++) {
        const obb_solid box = slow_random_solid(&rng, dimensions, about, 1.0, 2.0);
        const obb_vec3 from = obb_add(
            about, slow_random_vector(&rng, dimensions, test_below(&rng, 4) == 0 ? 1.0 : spread));
        obb_vec3 way = slow_random_vector(&rng, dimensions, 1.0);
        if (test_below(&rng, 2) == 0)
            way = obb_sub(obb_add(box.center, slow_random_vector(&rng, dimensions, 2.0)), from);
        const obb_ray ray = made(from, way, test_uniform(&rng, 0.0, 3.0 * spread));
        const double bound = 16.0 * 0x1p-53 * scale_of(&ray, &box);
        const slow_span span = slow_ray(ray.origin, ray.direction, ray.max_distance, &box);
        const long double start = slow_excess(ray.origin, &box);

        obb_ray_hit hit;
        const bool got = obb_ray_cast(&ray, &box, OBB_INSIDE_HIT, &hit);
        if (fabs((double)span.clearance) > bound) {
            ck_assert_msg(got == (span.clearance < 0), "case %zu: clearance %Lg", i,
                          span.clearance);
            clear++;
        }
        obb_ray_hit other;
        if (!got) {
            if (fabs((double)start) > bound) {
                ck_assert(start > 0);
                ck_assert(!obb_ray_cast(&ray, &box, OBB_INSIDE_EXIT, &other));
                ck_assert(!obb_ray_cast(&ray, &box, OBB_INSIDE_IGNORE, &other));
            }
            continue;
        }
        hits++;
        if (fabs((double)start) > bound)
            ck_assert_msg(hit.started_inside == (start < 0), "case %zu", i);
        ck_assert_double_le(hit.distance, ray.max_distance);
        ck_assert_double_eq_tol(obb_length(hit.normal), 1.0, 1e-14);
        ck_assert_double_le(obb_dot(hit.normal, ray.direction), 0.0);
        if (hit.started_inside) {
            inside++;
            ck_assert_double_eq(hit.distance, 0.0);
            ck_assert(!obb_ray_cast(&ray, &box, OBB_INSIDE_IGNORE, &other));
            const bool leaves = obb_ray_cast(&ray, &box, OBB_INSIDE_EXIT, &other);
            const long double end =
                slow_excess(obb_add(ray.origin, obb_scale(ray.direction, ray.max_distance)), &box);
            if (fabs((double)end) > bound + 1e-15 * ray.max_distance)
                ck_assert_msg(leaves == (end > 0), "case %zu", i);
            if (!leaves)
                continue;
            ck_assert_double_ge(obb_dot(other.normal, ray.direction), 0.0);
            hit = other;
        }
        /* On the surface, and no earlier than the oracle says. */
        const double on_surface = 16.0 * 0x1p-53 * (scale_of(&ray, &box) + obb_length(ray.origin));
        const double off = fabs((double)slow_excess(hit.point, &box));
        worst = fmax(worst, off / on_surface);
        ck_assert_msg(off <= on_surface, "case %zu: %g off the surface, %g allowed", i, off,
                      on_surface);
        const double expected = (double)(hit.started_inside ? span.leave : span.enter);
        /* The excess is convex along the ray, so an error of the surface is one of the distance,
         * times at most this. */
        if ((double)span.clearance < -bound)
            ck_assert_double_le(fabs(hit.distance - expected),
                                bound + on_surface *
                                            (double)((span.leave - span.enter) / -span.clearance));
    }
    printf("rays %dd spread %g at %g: %zu cases, %zu hits, %zu from inside, %zu clear, "
           "surface error %.2f of bound\n",
           dimensions, spread, about.x, cases, hits, inside, clear, worst);
    ck_assert_uint_gt(hits, cases / 10);
    ck_assert_uint_lt(hits, cases * 9 / 10);
    ck_assert_uint_gt(inside, cases / 100);
    ck_assert_uint_gt(clear, cases * 9 / 10);
}

START_TEST(random_rays_agree_with_the_oracle)
{
    const obb_vec3 here = {0, 0, 0}, far_away = {1e8, -1e8, 1e8}, far_planar = {1e8, -1e8, 0};
    compare_with_oracle(1, 3, here, 5.0);
    compare_with_oracle(2, 2, here, 5.0);
    compare_with_oracle(3, 3, here, 1e8);
    compare_with_oracle(4, 3, far_away, 5.0);
    compare_with_oracle(5, 2, far_planar, 5.0);
}
END_TEST

START_TEST(distances_of_rays_agree_with_the_oracle)
{
    test_rng rng = {.s = 32};
    size_t hits = 0, misses = 0, beyond = 0, count = test_effort(3000);
    for (size_t i = 0; i < count; i++) {
        const int dimensions = i % 3 == 0 ? 2 : 3;
        const obb_vec3 far = {i % 4 == 0 ? 1e8 : 0.0, 0.0, 0.0};
        const obb_solid box = slow_random_solid(&rng, dimensions, far, 3.0, 2.0);
        obb_ray ray;
        const obb_vec3 origin = obb_add(far, slow_random_vector(&rng, dimensions, 6.0));
        const obb_vec3 aim =
            obb_add(obb_sub(box.center, origin), slow_random_vector(&rng, dimensions, 3.0));
        ck_assert_int_eq(obb_ray_make(origin, i % 3 == 1 ? obb_negate(aim) : aim,
                                      i % 2 == 0 ? HUGE_VAL : test_uniform(&rng, 0.0, 6.0), &ray),
                         OBB_OK);
        const double end = ray.max_distance < 100.0 ? ray.max_distance : 100.0;
        /* relative to the box, so that the oracle's ends are not rounded to the grid of 1e8 */
        obb_solid near = box;
        near.center = (obb_vec3){0, 0, 0};
        const obb_vec3 from = obb_sub(ray.origin, box.center);
        const double wanted = (double)slow_segment_distance(
            from, obb_add(from, obb_scale(ray.direction, end)), &near);
        const double got = obb_ray_distance(&ray, &box);
        ck_assert_msg(fabs(got - wanted) <= 1e-11, "case %zu: %.17g, not %.17g", i, got, wanted);
        obb_ray_hit hit;
        const bool meets = obb_ray_cast(&ray, &box, OBB_INSIDE_HIT, &hit);
        ck_assert(wanted > 0.0 && wanted < 1e-7 ? true : meets == (wanted == 0.0));
        hits += meets;
        misses += !meets;
        obb_ray endless = ray;
        endless.max_distance = HUGE_VAL;
        beyond += !meets && obb_ray_cast(&endless, &box, OBB_INSIDE_HIT, &hit);
    }
    printf("%zu hits, %zu misses, %zu of them by their end\n", hits, misses, beyond);
    ck_assert(hits > count / 10 && misses > count / 5 && beyond > count / 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ray");
    TCase *tc = tcase_create("ray");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, directions_are_normalised_whatever_their_length);
    tcase_add_test(tc, what_is_no_ray_is_refused_and_nothing_written);
    tcase_add_test(tc, contact_with_a_straight_box_is_exact);
    tcase_add_test(tc, boxes_without_thickness_are_met_too);
    tcase_add_test(tc, random_rays_agree_with_the_oracle);
    tcase_add_test(tc, distances_of_rays_agree_with_the_oracle);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
