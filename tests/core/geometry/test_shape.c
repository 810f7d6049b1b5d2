#include "core/obb.h"
#include "tests/support/oracle_query.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

static const obb_quat upright = {0.0, 0.0, 0.0, 1.0};

static obb_shape sphere(obb_vec3 center, double radius)
{
    obb_shape shape;
    ck_assert_int_eq(obb_shape_sphere(center, radius, &shape), OBB_OK);
    return shape;
}

static obb_shape capsule(obb_vec3 a, obb_vec3 b, double radius)
{
    obb_shape shape;
    ck_assert_int_eq(obb_shape_capsule(a, b, radius, &shape), OBB_OK);
    return shape;
}

START_TEST(what_is_no_shape_is_refused)
{
    const obb_vec3 o = {0, 0, 0};
    obb_shape shape;
    ck_assert_int_eq(obb_shape_sphere((obb_vec3){(double)NAN, 0, 0}, 1.0, &shape), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_shape_sphere((obb_vec3){0, 1.1e9, 0}, 1.0, &shape), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_shape_sphere(o, HUGE_VAL, &shape), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_shape_sphere(o, (double)NAN, &shape), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_shape_sphere(o, -1e-300, &shape), OBB_BAD_EXTENT);
    ck_assert_int_eq(obb_shape_capsule(o, (obb_vec3){0, 0, HUGE_VAL}, 1.0, &shape), OBB_BAD_NUMBER);
    ck_assert_int_eq(obb_shape_capsule(o, o, -1.0, &shape), OBB_BAD_EXTENT);
    ck_assert_int_eq(obb_shape_sphere(o, 0.0, &shape), OBB_OK);

    double matrix[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    ck_assert_int_eq(obb_shape_frustum(matrix, &shape), OBB_OK);
    matrix[5] = 0.0; /* y is lost */
    ck_assert_int_eq(obb_shape_frustum(matrix, &shape), OBB_SINGULAR);
    matrix[5] = (double)NAN;
    ck_assert_int_eq(obb_shape_frustum(matrix, &shape), OBB_BAD_NUMBER);
    const double zero[16] = {0.0};
    ck_assert_int_eq(obb_shape_frustum(zero, &shape), OBB_SINGULAR);
    /* far plane at infinity: near 0.1, z' = -z - 0.2, w' = -z */
    const double endless[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, -1, 0, 0, -0.2, 0};
    ck_assert_int_eq(obb_shape_frustum(endless, &shape), OBB_SINGULAR);
    /* near plane behind the eye: w passes zero on the way to the far plane */
    const double inside_out[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0.5};
    ck_assert_int_eq(obb_shape_frustum(inside_out, &shape), OBB_SINGULAR);
}
END_TEST

START_TEST(contact_with_a_straight_box_is_exact)
{
    const obb_solid box = slow_solid((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1}, upright);
    const struct {
        obb_shape shape;
        double margin;
        bool overlap;
    } cases[] = {
        {sphere((obb_vec3){3, 0, 0}, 2), 0, true}, /* touches the face */
        {sphere((obb_vec3){3, 0, 0}, 1.9999999999999998), 0, false},
        {sphere((obb_vec3){4, 5, 0}, 5), 0, true}, /* touches an edge: 3, 4, 5 */
        {sphere((obb_vec3){4.000000000000001, 5, 0}, 5), 0, false},
        {sphere((obb_vec3){2, 3, 3}, 3), 0, true}, /* touches a corner: 1, 2, 2, 3 */
        {sphere((obb_vec3){2, 3, 3}, 2.9999999999999996), 0, false},
        {sphere((obb_vec3){0, 0, 0}, 0), 0, true}, /* a point inside */
        {sphere((obb_vec3){1, 1, 1}, 0), 0, true}, /* a point on the corner */
        {sphere((obb_vec3){3, 0, 0}, 1), 1, true},
        {sphere((obb_vec3){3, 0, 0}, 1), 0.9999999999999998, false},
        {sphere((obb_vec3){3, 0, 0}, 3), -1, true}, /* one deep */
        {sphere((obb_vec3){3, 0, 0}, 3), -1.0000000000000002, false},
        {sphere((obb_vec3){0, 0, 0}, 1), -1, true}, /* shrunk to its centre */
        {sphere((obb_vec3){0, 0, 0}, 1), -2, true}, /* two from any side of the box */
        {sphere((obb_vec3){0, 0, 0}, 1), -2.0000000000000004, false},
        {sphere((obb_vec3){0.5, 0, 0}, 1), -1.5, true},
        {sphere((obb_vec3){0.5, 0, 0}, 1), -1.5000000000000002, false},
        {sphere((obb_vec3){0, 0, 0}, 0), -1, true},
        {sphere((obb_vec3){1, 1, 1}, 1), -1, true}, /* on the corner: as deep as its radius */
        {sphere((obb_vec3){1, 1, 1}, 1), -1.0000000000000002, false},
        {capsule((obb_vec3){-5, 3, 0}, (obb_vec3){5, 3, 0}, 2), 0, true},
        {capsule((obb_vec3){-5, 3, 0}, (obb_vec3){5, 3, 0}, 1.9999999999999998), 0, false},
        {capsule((obb_vec3){-5, 1, 0}, (obb_vec3){5, 1, 0}, 0), 0, true}, /* a line along a face */
        {capsule((obb_vec3){-5, 3, 0}, (obb_vec3){5, 3, 0}, 1), 1, true},
        {capsule((obb_vec3){-5, 3, 0}, (obb_vec3){5, 3, 0}, 3), -1, true},
        {capsule((obb_vec3){-5, 3, 0}, (obb_vec3){5, 3, 0}, 3), -1.0000000000000002, false},
        {capsule((obb_vec3){-5, 0, 0}, (obb_vec3){5, 0, 0}, 1), -2, true}, /* through the middle */
        {capsule((obb_vec3){-5, 0, 0}, (obb_vec3){5, 0, 0}, 1), -2.0000000000000004, false},
        {capsule((obb_vec3){0, 0, 0}, (obb_vec3){9, 0, 0}, 0.25), -1.25, true}, /* out by the end */
        {capsule((obb_vec3){0, 0, 0}, (obb_vec3){9, 0, 0}, 0.25), -1.2500000000000002, false},
        {capsule((obb_vec3){0.5, 0.5, -9}, (obb_vec3){0.5, 0.5, 9}, 0), -0.5, true},
        {capsule((obb_vec3){0.5, 0.5, -9}, (obb_vec3){0.5, 0.5, 9}, 0), -0.5000000000000001, false},
        /* on the line 0.6 x + 0.8 y = 0.5: 1.4 - 0.5 from the box's edge at x = y = 1 */
        {capsule((obb_vec3){-3.7, 3.4, 0}, (obb_vec3){4.3, -2.6, 0}, 0), -0.875, true},
        {capsule((obb_vec3){-3.7, 3.4, 0}, (obb_vec3){4.3, -2.6, 0}, 0), -0.925, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(obb_shape_overlap(&cases[i].shape, &box, cases[i].margin) == cases[i].overlap,
                      "case %zu", i);

    const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    obb_shape cube; /* the frustum that is the cube [-1,1]^3 */
    ck_assert_int_eq(obb_shape_frustum(identity, &cube), OBB_OK);
    const struct {
        obb_vec3 center;
        double margin;
        bool overlap;
    } neighbours[] = {
        {{2, 0, 0}, 0, true},      {{2.0000000000000004, 0, 0}, 0, false},
        {{2, 2, 2}, 0, true},      {{0, 0, 0}, 0, true},
        {{3, 0, 0}, 1, true},      {{3, 0, 0}, 0.9999999999999998, false},
        {{5, 6, 0}, 5, true},      {{5.000000000000001, 6, 0}, 5, false},
        {{3, 4, 4}, 3, true},      {{3, 4, 4}, 2.9999999999999996, false},
        {{1.5, 0, 0}, -0.5, true}, {{1.5, 0, 0}, -0.5000000000000001, false},
    };
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
        const obb_solid other = slow_solid(neighbours[i].center, (obb_vec3){1, 1, 1}, upright);
        const obb_shape as_box = obb_shape_box(&box);
        ck_assert_msg(obb_shape_overlap(&cube, &other, neighbours[i].margin) ==
                          neighbours[i].overlap,
                      "frustum, neighbour %zu", i);
        ck_assert_msg(obb_shape_overlap(&as_box, &other, neighbours[i].margin) ==
                          neighbours[i].overlap,
                      "box, neighbour %zu", i);
    }
}
END_TEST

/* A segment as a box without width. */
static obb_solid segment_solid(obb_vec3 p, obb_vec3 q, int dimensions)
{
    const obb_vec3 half = obb_scale(obb_sub(q, p), 0.5);
    const double length = obb_length(half);
    obb_solid solid = slow_solid(obb_add(p, half), (obb_vec3){length, 0, 0}, upright);
    solid.dimensions = dimensions;
    if (length == 0.0)
        return solid;
    const obb_vec3 x = obb_scale(half, 1.0 / length);
    const obb_vec3 z = dimensions == 2   ? (obb_vec3){0, 0, 1}
                       : fabs(x.x) > 0.7 ? (obb_vec3){-x.z, 0, x.x}
                                         : (obb_vec3){0, x.z, -x.y};
    solid.axis[0] = x;
    solid.axis[2] = obb_scale(z, 1.0 / obb_length(z));
    solid.axis[1] = obb_cross(solid.axis[2], x);
    return solid;
}

START_TEST(spheres_and_capsules_agree_with_the_oracle)
{
    const size_t cases = test_effort(4000);
    test_rng rng = {.s = 31};
    size_t overlaps = 0, clear = 0, of_kind[4] = {0};
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = test_below(&rng, 3) == 0 ? 2 : 3;
        const obb_vec3 about = {test_below(&rng, 4) == 0 ? 1e8 : 0.0, 0.0, 0.0};
        const obb_solid box = slow_random_solid(&rng, dimensions, about, 2.0, 2.0);
        const obb_vec3 a = obb_add(about, slow_random_vector(&rng, dimensions, 4.0));
        const bool round = test_below(&rng, 2) == 0;
        const obb_vec3 b = round ? a : obb_add(about, slow_random_vector(&rng, dimensions, 4.0));
        const double radius = test_uniform(&rng, 0.0, 1.0), margin = test_uniform(&rng, -1.0, 1.0);
        const obb_shape shape = round ? sphere(a, radius) : capsule(a, b, radius);
        const long double distance = slow_segment_distance(a, b, &box);
        const long double reach = (long double)radius + (long double)margin;
        const obb_solid line = segment_solid(a, b, dimensions);
        const long double beyond = (reach < 0 ? slow_gap(&line, &box) : distance) - reach;
        const bool got = obb_shape_overlap(&shape, &box, margin);
        overlaps += got;
        if (fabsl(beyond) > 1e-13L * 20) {
            ck_assert_msg(got == (beyond < 0), "case %zu: beyond by %Lg", i, beyond);
            of_kind[shape.kind]++;
            clear++;
        }
        if (got && margin > 0.0) { /* the bounds that a broad phase would use reach the box */
            const obb_bounds mine = obb_shape_bounds(&shape, margin);
            const obb_bounds its = obb_solid_bounds(&box);
            ck_assert(mine.min.x <= its.max.x && its.min.x <= mine.max.x);
            ck_assert(mine.min.y <= its.max.y && its.min.y <= mine.max.y);
            ck_assert(mine.min.z <= its.max.z && its.min.z <= mine.max.z);
        }
    }
    printf("%zu spheres and %zu capsules decided, %zu overlaps\n", of_kind[OBB_SHAPE_SPHERE],
           of_kind[OBB_SHAPE_CAPSULE], overlaps);
    ck_assert_uint_gt(of_kind[OBB_SHAPE_SPHERE], cases / 4);
    ck_assert_uint_gt(of_kind[OBB_SHAPE_CAPSULE], cases / 4);
    ck_assert(cases / 10 < overlaps && overlaps < cases * 9 / 10);
    ck_assert_uint_gt(clear, cases * 9 / 10);
}
END_TEST

/* With a margin below minus the radius the centre, or the segment, must itself be deep in the
 * box. */
START_TEST(deep_spheres_and_capsules_agree_with_the_oracle)
{
    const size_t cases = test_effort(6000);
    test_rng rng = {.s = 35};
    size_t of_kind[2] = {0}, deep[2] = {0}, planar = 0;
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = i % 3 == 0 ? 2 : 3;
        const obb_vec3 about = {i % 4 == 0 ? 1e8 : 0.0, 0.0, 0.0};
        obb_solid box = slow_random_solid(&rng, dimensions, about, 1.0, 2.0);
        box.half_extents = (obb_vec3){test_uniform(&rng, 1.0, 5.0), test_uniform(&rng, 1.0, 5.0),
                                      dimensions == 3 ? test_uniform(&rng, 1.0, 5.0) : 0.0};
        const bool round = test_below(&rng, 2) == 0;
        const double length = pow(10.0, test_uniform(&rng, -6.0, 1.0));
        const obb_vec3 a = obb_add(box.center, slow_random_vector(&rng, dimensions, 3.0));
        const obb_vec3 way = test_below(&rng, 4) == 0 /* all but along an axis of the box */
                                 ? obb_add(obb_scale(box.axis[0], length),
                                           slow_random_vector(&rng, dimensions, 1e-9 * length))
                                 : slow_random_vector(&rng, dimensions, length);
        const obb_vec3 b = round ? a : obb_add(a, way);
        const double radius = test_uniform(&rng, 0.0, 1.0);
        const obb_shape shape = round ? sphere(a, radius) : capsule(a, b, radius);
        const obb_solid line = segment_solid(a, b, dimensions);
        const long double gap = round ? slow_excess(a, &box) : slow_gap(&line, &box);
        /* about as deep as it is, or some other depth */
        const double wanted = test_below(&rng, 2) == 0 ? (double)-gap * test_uniform(&rng, 0.9, 1.1)
                                                       : test_uniform(&rng, 0.0, 3.0);
        const double margin = -radius - fabs(wanted);
        const long double beyond = gap - ((long double)radius + (long double)margin);
        /* 1e-13 of the scale; half way along a segment at 1e8, a double is off by 1.5e-8 */
        const long double bound = 1e-13L * 30 + (i % 4 == 0 && !round ? 5e-8L : 0);
        if (fabsl(beyond) < bound)
            continue;
        const bool got = obb_shape_overlap(&shape, &box, margin);
        ck_assert_msg(got == (beyond < 0), "case %zu: beyond by %Lg", i, beyond);
        of_kind[round]++;
        deep[round] += got;
        planar += got && dimensions == 2;
    }
    printf("deep: %zu of %zu capsules and %zu of %zu spheres deep enough, %zu in the plane\n",
           deep[0], of_kind[0], deep[1], of_kind[1], planar);
    for (int k = 0; k < 2; k++) {
        ck_assert_uint_gt(of_kind[k], cases * 2 / 5);
        ck_assert(of_kind[k] / 5 < deep[k] && deep[k] < of_kind[k] * 4 / 5);
    }
    ck_assert_uint_gt(planar, cases / 20);
}
END_TEST

/* ---- Frustums -------------------------------------------------------------------------------- */

/* out = a * b, column-major. */
static void multiply(const double a[static 16], const double b[static 16], double out[static 16])
{
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 4; r++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++)
                sum += a[4 * k + r] * b[4 * c + k];
            out[4 * c + r] = sum;
        }
}

/* A camera somewhere, looking somewhere: perspective or parallel, sometimes with w negative or
 * mirrored. */
static void random_camera(test_rng *rng, obb_vec3 about, double out[static 16])
{
    const obb_solid frame = slow_random_solid(rng, 3, about, 3.0, 1.0);
    double view[16] = {0.0};
    for (int r = 0; r < 3; r++) {
        const obb_vec3 axis = frame.axis[r];
        view[r] = axis.x;
        view[4 + r] = axis.y;
        view[8 + r] = axis.z;
        view[12 + r] = -obb_dot(axis, frame.center);
    }
    view[15] = 1.0;
    const double near = test_uniform(rng, 0.1, 1.0);
    const double far = test_below(rng, 4) == 0 ? near * pow(10.0, test_uniform(rng, 1.0, 6.0))
                                               : near + test_uniform(rng, 1.0, 9.0);
    const double fx = test_uniform(rng, 0.5, 2.0), fy = test_uniform(rng, 0.5, 2.0);
    double projection[16] = {0.0};
    projection[0] = test_below(rng, 4) == 0 ? -fx : fx;
    projection[5] = fy;
    if (test_below(rng, 3) == 0) {
        projection[10] = -2.0 / (far - near);
        projection[14] = -(far + near) / (far - near);
        projection[15] = 1.0;
    } else {
        projection[8] = test_uniform(rng, -0.5, 0.5); /* off-centre */
        projection[10] = -(far + near) / (far - near);
        projection[14] = -2.0 * far * near / (far - near);
        projection[11] = -1.0;
    }
    multiply(projection, view, out);
    if (test_below(rng, 4) == 0)
        for (int i = 0; i < 16; i++)
            out[i] = -out[i];
}

static void clip_of(const double m[static 16], obb_vec3 p, double out[static 4])
{
    for (int r = 0; r < 4; r++)
        out[r] = m[r] * p.x + m[4 + r] * p.y + m[8 + r] * p.z + m[12 + r];
}

START_TEST(a_frustum_is_what_its_matrix_shows)
{
    const size_t cases = test_effort(300);
    test_rng rng = {.s = 32};
    size_t shown = 0, looked_at = 0;
    for (size_t i = 0; i < cases; i++) {
        double matrix[16];
        random_camera(&rng, (obb_vec3){0, 0, 0}, matrix);
        obb_shape frustum;
        ck_assert_int_eq(obb_shape_frustum(matrix, &frustum), OBB_OK);
        for (int c = 0; c < 8; c++) {
            double clip[4]; /* of the far corners, z and w cancel but for a share of near / far */
            clip_of(matrix, frustum.corners[c], clip);
            for (int k = 0; k < 3; k++)
                ck_assert_double_eq_tol(clip[k] / clip[3], (c >> k & 1) != 0 ? 1.0 : -1.0, 1e-9);
        }
        const double side = matrix[3] * frustum.corners[0].x + matrix[7] * frustum.corners[0].y +
                            matrix[11] * frustum.corners[0].z + matrix[15];
        for (int j = 0; j < 50; j++) { /* points of space, as boxes without extent */
            const obb_vec3 p = slow_random_vector(&rng, 3, 6.0);
            double clip[4], beyond = -HUGE_VAL;
            clip_of(matrix, p, clip);
            const double w = side > 0.0 ? clip[3] : -clip[3];
            for (int k = 0; k < 3; k++)
                beyond = fmax(beyond, fabs(clip[k]) - w);
            if (fabs(beyond) < 1e-9)
                continue;
            const obb_solid point = slow_solid(p, (obb_vec3){0, 0, 0}, upright);
            const bool got = obb_shape_overlap(&frustum, &point, 0.0);
            ck_assert_msg(got == (beyond < 0.0), "camera %zu, point %d, beyond %g", i, j, beyond);
            shown += got;
            looked_at++;
        }
    }
    printf("frustums: %zu points looked at, %zu shown\n", looked_at, shown);
    ck_assert_uint_gt(looked_at, cases * 40);
    ck_assert_uint_gt(shown, looked_at / 50);
}
END_TEST

START_TEST(frustums_and_boxes_agree_with_the_oracle)
{
    const size_t cases = test_effort(600);
    test_rng rng = {.s = 33};
    size_t overlaps = 0, near = 0, deep = 0, clear = 0;
    for (size_t i = 0; i < cases; i++) {
        const obb_vec3 about = {test_below(&rng, 4) == 0 ? 1e4 : 0.0, 0.0, 0.0};
        double matrix[16];
        random_camera(&rng, about, matrix);
        obb_shape frustum;
        ck_assert_int_eq(obb_shape_frustum(matrix, &frustum), OBB_OK);
        obb_solid box = slow_random_solid(&rng, 3, about, 6.0, 2.0);
        if (test_below(&rng, 4) == 0) /* parallel to the near plane, with corners of its own */
            box.center = obb_add(frustum.corners[0], slow_random_vector(&rng, 3, 1.0));
        obb_vec3 corners[8];
        slow_corners(&box, corners);
        const long double gap = slow_hull_gap(frustum.corners, corners);
        const long double distance = slow_hull_distance(frustum.corners, corners);
        const long double bound =
            1e-11L; /* the corners of the box, so far out, are rounded in the oracle */
        const bool got = obb_shape_overlap(&frustum, &box, 0.0);
        overlaps += got;
        if (fabsl(gap) > bound) {
            ck_assert_msg(got == (gap < 0), "case %zu: gap %Lg", i, gap);
            clear++;
        }
        const long double margin = (long double)test_uniform(&rng, 0.0, 2.0) * fabsl(gap);
        if (gap > bound) {
            const long double wide = (long double)test_uniform(&rng, 0.5, 1.5) * distance;
            if (fabsl(distance - wide) > bound)
                ck_assert_msg(obb_shape_overlap(&frustum, &box, (double)wide) == (distance < wide),
                              "case %zu: distance %Lg, margin %Lg", i, distance, wide);
            near += distance < wide;
        } else if (gap < -bound && fabsl(gap + margin) > bound) {
            ck_assert_msg(obb_shape_overlap(&frustum, &box, -(double)margin) == (-gap > margin),
                          "case %zu: depth %Lg, margin %Lg", i, -gap, -margin);
            deep += -gap > margin;
        }
    }
    printf("frustums against boxes: %zu cases, %zu overlap, %zu near, %zu deep, %zu clear\n", cases,
           overlaps, near, deep, clear);
    ck_assert(cases / 10 < overlaps && overlaps < cases * 9 / 10);
    ck_assert_uint_gt(near, cases / 20);
    ck_assert_uint_gt(deep, cases / 20);
    ck_assert_uint_gt(clear, cases * 9 / 10);
}
END_TEST

START_TEST(boxes_within_a_margin_agree_with_the_oracle)
{
    const size_t cases = test_effort(1000);
    test_rng rng = {.s = 34};
    size_t near = 0, deep = 0, apart = 0, planar = 0;
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = test_below(&rng, 3) == 0 ? 2 : 3;
        const obb_solid a = slow_random_solid(&rng, dimensions, (obb_vec3){0, 0, 0}, 3.0, 2.0);
        const obb_solid b = slow_random_solid(&rng, dimensions, (obb_vec3){0, 0, 0}, 3.0, 2.0);
        obb_vec3 ca[8], cb[8];
        slow_corners(&a, ca);
        slow_corners(&b, cb);
        const long double gap = slow_gap(&a, &b);
        const double bound = 1e-12;
        if ((double)gap > bound) {
            const double distance = (double)slow_hull_distance(ca, cb);
            const double margin = distance * test_uniform(&rng, 0.5, 1.5);
            if (fabs(distance - margin) < bound)
                continue;
            ck_assert_msg(obb_shape_boxes(&a, &b, margin) == (distance < margin),
                          "case %zu: distance %g, margin %g", i, distance, margin);
            ck_assert(obb_shape_boxes(&b, &a, margin) == (distance < margin));
            near += distance < margin;
            planar += dimensions == 2;
            apart += distance > margin;
        } else if ((double)gap < -bound) {
            const double margin = (double)gap * test_uniform(&rng, 0.5, 1.5);
            if (fabs((double)gap - margin) < bound)
                continue;
            ck_assert_msg(obb_shape_boxes(&a, &b, margin) == ((double)gap < margin), "case %zu", i);
            ck_assert(obb_shape_boxes(&b, &a, margin) == ((double)gap < margin));
            deep += (double)gap < margin;
        }
    }
    printf("boxes: %zu within a margin, %zu beyond, %zu of both in the plane; %zu deep enough\n",
           near, apart, planar, deep);
    ck_assert_uint_gt(planar, cases / 20);
    ck_assert_uint_gt(near, cases / 20);
    ck_assert_uint_gt(apart, cases / 20);
    ck_assert_uint_gt(deep, cases / 20);
}
END_TEST

START_TEST(distances_of_shapes_agree_with_the_oracle)
{
    test_rng rng = {.s = 31};
    size_t apart = 0, together = 0, count = test_effort(1500);
    for (size_t i = 0; i < count; i++) {
        const int dimensions = i % 5 == 0 && i % 4 < 3 ? 2 : 3; /* frustums have a volume */
        const obb_vec3 o = {0, 0, 0};
        const obb_solid box = slow_random_solid(&rng, dimensions, o, 3.0, 2.0);
        obb_vec3 corners[8];
        slow_corners(&box, corners);
        const obb_vec3 p = slow_random_vector(&rng, dimensions, 4.0);
        const obb_vec3 q = slow_random_vector(&rng, dimensions, 4.0);
        const double radius = test_uniform(&rng, 0.0, 2.0);
        obb_shape shape;
        double wanted;
        switch (i % 4) {
        case 0:
            shape = sphere(p, radius);
            wanted = fmax((double)slow_segment_distance(p, p, &box) - radius, 0.0);
            break;
        case 1:
            shape = capsule(p, q, radius);
            wanted = fmax((double)slow_segment_distance(p, q, &box) - radius, 0.0);
            break;
        case 2: {
            const obb_solid other = slow_random_solid(&rng, dimensions, o, 3.0, 2.0);
            obb_vec3 others[8];
            slow_corners(&other, others);
            shape = obb_shape_box(&other);
            wanted = (double)slow_hull_distance(others, corners);
            break;
        }
        default: {
            const double f = test_uniform(&rng, 0.5, 2.0);
            const double looking[16] = {f, 0, 0, 0, 0, f, 0, 0, 0, 0, -1.2, -1.0, 0, 0, -1.1, 0.5};
            ck_assert_int_eq(obb_shape_frustum(looking, &shape), OBB_OK);
            wanted = (double)slow_hull_distance(shape.corners, corners);
        }
        }
        const double got = obb_shape_distance(&shape, &box);
        ck_assert_msg(fabs(got - wanted) <= 1e-11, "case %zu: %.17g, not %.17g", i, got, wanted);
        ck_assert(fabs(wanted) < 1e-9 || obb_shape_overlap(&shape, &box, 0.0) == (got == 0.0));
        apart += wanted > 0.0;
        together += wanted == 0.0;
    }
    printf("%zu shapes apart, %zu not\n", apart, together);
    ck_assert(apart > count / 5 && together > count / 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *tc = tcase_create("shape");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_is_no_shape_is_refused);
    tcase_add_test(tc, contact_with_a_straight_box_is_exact);
    tcase_add_test(tc, spheres_and_capsules_agree_with_the_oracle);
    tcase_add_test(tc, deep_spheres_and_capsules_agree_with_the_oracle);
    tcase_add_test(tc, a_frustum_is_what_its_matrix_shows);
    tcase_add_test(tc, frustums_and_boxes_agree_with_the_oracle);
    tcase_add_test(tc, boxes_within_a_margin_agree_with_the_oracle);
    tcase_add_test(tc, distances_of_shapes_agree_with_the_oracle);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
