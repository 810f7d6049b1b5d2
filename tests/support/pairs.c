#include "tests/support/pairs.h"

#include <math.h>

const char *pairs_name(enum pairs_class kind)
{
    static const char *const names[PAIRS_CLASSES] = {
#define PAIRS_NAME(id, name) [id] = (name),
        PAIRS_TABLE(PAIRS_NAME)
#undef PAIRS_NAME
    };
    return names[kind];
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static double sign_of(test_rng *rng) { return test_below(rng, 2) == 0 ? -1.0 : 1.0; }

static double log_uniform(test_rng *rng, double low, double high)
{
    return exp(test_uniform(rng, log(low), log(high)));
}

/* Integer components: about x, y and z in space, about z in the plane. */
static obb_quat random_rotation(test_rng *rng, int dimensions)
{
    obb_quat q = {0};
    while (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w == 0.0) {
        const double most = 1000.0;
        q.z = floor(test_uniform(rng, -most, most));
        q.w = floor(test_uniform(rng, -most, most));
        if (dimensions == 3) {
            q.x = floor(test_uniform(rng, -most, most));
            q.y = floor(test_uniform(rng, -most, most));
        }
    }
    return q;
}

static obb_quat product(obb_quat p, obb_quat q)
{
    return (obb_quat){p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y,
                      p.w * q.y + p.y * q.w + p.z * q.x - p.x * q.z,
                      p.w * q.z + p.z * q.w + p.x * q.y - p.y * q.x,
                      p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z};
}

/* One of the 24 rotations of a cube, or of the four of a square. */
static obb_quat random_quarter_turns(test_rng *rng, int dimensions)
{
    static const obb_quat quarter[4] = {{0, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}};
    obb_quat q = quarter[test_below(rng, 2)];
    for (int i = 0; i < 4; i++)
        q = product(q, quarter[test_below(rng, dimensions == 3 ? 4 : 2)]);
    return q;
}

static obb_vec3 random_vector(test_rng *rng, double size, int dimensions)
{
    obb_vec3 v = {test_uniform(rng, -size, size), test_uniform(rng, -size, size),
                  test_uniform(rng, -size, size)};
    if (dimensions == 2)
        v.z = 0.0;
    return v;
}

static obb_vec3 random_half(test_rng *rng, double low, double high, int dimensions)
{
    return (obb_vec3){test_uniform(rng, low, high), test_uniform(rng, low, high),
                      dimensions == 3 ? test_uniform(rng, low, high) : 0.0};
}

static double *component(obb_vec3 *v, int i) { return i == 0 ? &v->x : i == 1 ? &v->y : &v->z; }

/* Zero for `count` of the half extents. */
static void flatten(test_rng *rng, obb_vec3 *half, int count, int dimensions)
{
    const int first = (int)test_below(rng, (size_t)dimensions);
    for (int i = 0; i < count; i++)
        *component(half, (first + i) % dimensions) = 0.0;
}

/* Moves b along the axis that parts the two most, so that their gap there becomes `gap`. */
static void place_at_gap(exact_box *a, exact_box *b, int dimensions, double gap)
{
    const exact_gaps truth = exact_gaps_of(a, b, dimensions);
    obb_vec3 n = exact_axis(a, b, truth.axis);
    if (obb_dot(obb_sub(b->center, a->center), n) < 0.0)
        n = obb_negate(n);
    b->center = obb_add(b->center, obb_scale(n, gap - truth.largest));
}

/* Leaves a gap or a penetration of `least` to 1e-5 of the extent. */
static void place_beyond(exact_box *a, exact_box *b, int dimensions, double least, test_rng *rng)
{
    const double extent = exact_gaps_of(a, b, dimensions).extent;
    place_at_gap(a, b, dimensions, sign_of(rng) * extent * log_uniform(rng, least, 1e-5));
}

/* From 1e-12 on: what the promise is about. */
static void place_near(exact_box *a, exact_box *b, int dimensions, test_rng *rng)
{
    place_beyond(a, b, dimensions, 1e-12, rng);
}

/* Puts the edges i of a and j of b across each other, within `middle` of both, `gap` apart: then
 * a.i * b.j alone parts them, as long as the gap is small beside the angle. */
static void cross_edges(exact_box *a, exact_box *b, int i, int j, double middle, double gap,
                        test_rng *rng)
{
    const obb_solid sa = exact_solid(a, 3), sb = exact_solid(b, 3);
    const obb_vec3 n = obb_scale(exact_axis(a, b, 6 + 3 * i + j), sign_of(rng));
    obb_vec3 on_a = {0}, on_b = {0};
    for (int k = 0; k < 3; k++) {
        const double ha = obb_component(a->half_extents, k), hb = obb_component(b->half_extents, k);
        const double sa_k = k == i                         ? test_uniform(rng, -middle, middle)
                            : obb_dot(sa.axis[k], n) < 0.0 ? -1.0
                                                           : 1.0;
        const double sb_k = k == j                         ? test_uniform(rng, -middle, middle)
                            : obb_dot(sb.axis[k], n) < 0.0 ? 1.0
                                                           : -1.0;
        on_a = obb_add(on_a, obb_scale(sa.axis[k], sa_k * ha));
        on_b = obb_add(on_b, obb_scale(sb.axis[k], sb_k * hb));
    }
    b->center = obb_add(a->center, obb_add(obb_sub(on_a, on_b), obb_scale(n, gap)));
}

static obb_quat small_turn(double angle, test_rng *rng, int dimensions)
{
    obb_vec3 v = {0, 0, sign_of(rng)};
    while (dimensions == 3) {
        v = random_vector(rng, 1.0, 3);
        if (obb_dot(v, v) > 0.01 && obb_dot(v, v) <= 1.0)
            break;
    }
    v = obb_scale(v, 0.5 * angle / obb_length(v));
    return (obb_quat){v.x, v.y, v.z, 1.0};
}

/* Long boxes whose axes i and j are all but parallel, ridge across ridge: the deepest or the
 * separating axis is their cross product, and what the other axes show lies below by up to half the
 * angle times the length. So a test that leaves out the products of edges at angles of 1e-11 fails
 * here. */
static void set_long_near_parallel(exact_box *a, exact_box *b, int i, int j, test_rng *rng)
{
    const double angle = log_uniform(rng, 1e-12, 1e-5);
    const obb_quat third = {0.5, 0.5, 0.5, 0.5}; /* x to y to z to x */
    obb_quat turn = {0};                         /* about axis j */
    *(j == 0 ? &turn.x : j == 1 ? &turn.y : &turn.z) = test_uniform(rng, -1, 1);
    turn.w = test_uniform(rng, -1, 1);
    for (int k = j; k != i; k = (k + 1) % 3)
        turn = product(third, turn);
    b->rotation = product(product(a->rotation, small_turn(angle, rng, 3)), turn);
    const double length = test_uniform(rng, 0.5, 1.0), thick = log_uniform(rng, 1e-4, 1.0);
    a->half_extents = obb_scale(a->half_extents, thick);
    b->half_extents = obb_scale(b->half_extents, thick);
    *component(&a->half_extents, i) = length;
    *component(&b->half_extents, j) = length;
    cross_edges(a, b, i, j, 0.2, sign_of(rng) * angle * length * test_uniform(rng, 0.02, 0.3), rng);
}

/* ---- Classes --------------------------------------------------------------------------------- */

static void set_class(exact_box *a, exact_box *b, enum pairs_class kind, int dimensions,
                      size_t index, test_rng *rng)
{
    const bool near = index % 2 == 0;
    switch (kind) {
    case PAIRS_RANDOM:
    case PAIRS_CLASSES:
        break;
    case PAIRS_NEAR: /* so near, too, that they count as touching */
        place_beyond(a, b, dimensions, 1e-13, rng);
        break;
    case PAIRS_CROSS:
        if (dimensions == 3)
            cross_edges(a, b, (int)(index / 3 % 3), (int)(index % 3), 0.8,
                        log_uniform(rng, 1e-11, 1e-3), rng);
        else
            place_near(a, b, dimensions, rng);
        break;
    case PAIRS_PARALLEL:
        b->rotation = product(a->rotation, random_quarter_turns(rng, dimensions));
        if (near)
            place_near(a, b, dimensions, rng);
        break;
    case PAIRS_NEAR_PARALLEL: {
        /* Twelve decades of angle; half of the pairs edge to edge, where the product of the two
         * near-parallel edges is what decides. */
        const double angle = pow(10.0, -1.0 - (double)(index / 2 % 12));
        b->rotation = product(product(a->rotation, small_turn(angle, rng, dimensions)),
                              random_quarter_turns(rng, dimensions));
        if (near || dimensions == 2) {
            place_near(a, b, dimensions, rng);
            break;
        }
        const exact_gaps axes = exact_gaps_of(a, b, 3);
        const obb_solid sa = exact_solid(a, 3), sb = exact_solid(b, 3);
        const int i = (int)(index / 24 % 3);
        int j = 0;
        for (int k = 1; k < 3; k++)
            if (fabs(obb_dot(sa.axis[i], sb.axis[k])) > fabs(obb_dot(sa.axis[i], sb.axis[j])))
                j = k;
        if (axes.counts[6 + 3 * i + j])
            cross_edges(a, b, i, j, 0.8, angle * sign_of(rng) * log_uniform(rng, 1e-4, 0.1), rng);
        break;
    }
    case PAIRS_LONG_NEAR_PARALLEL:
        if (dimensions == 3)
            set_long_near_parallel(a, b, (int)(index / 3 % 3), (int)(index % 3), rng);
        else
            place_near(a, b, dimensions, rng);
        break;
    case PAIRS_CONTAINED: {
        exact_box *inner = index % 4 < 2 ? b : a;
        const exact_box *outer = inner == b ? a : b;
        inner->half_extents = obb_scale(inner->half_extents, 0.05);
        inner->center = obb_add(outer->center, obb_scale(random_vector(rng, 0.1, dimensions), 1.0));
        break;
    }
    case PAIRS_IDENTICAL:
        *b = *a;
        break;
    case PAIRS_FLAT:
    case PAIRS_STICK:
    case PAIRS_POINT: {
        const int zeros = (int)kind - (int)PAIRS_FLAT + 1;
        const int count = zeros > dimensions ? dimensions : zeros;
        if (index % 3 != 1)
            flatten(rng, &a->half_extents, count, dimensions);
        if (index % 3 != 2)
            flatten(rng, &b->half_extents, count, dimensions);
        if (index % 4 == 0) /* in one plane, along one line */
            b->rotation = product(a->rotation, random_quarter_turns(rng, dimensions));
        if (index % 5 == 0)
            b->center = a->center;
        else if (index % 8 < 4)
            place_near(a, b, dimensions, rng);
        break;
    }
    case PAIRS_LONG:
        for (int side = 0; side < 2; side++) {
            obb_vec3 *half = side == 0 ? &a->half_extents : &b->half_extents;
            const int k = (int)test_below(rng, (size_t)dimensions);
            const double thin = log_uniform(rng, 1e-6, 1e-4);
            for (int i = 0; i < dimensions; i++)
                if (i != k && (dimensions == 2 || i != (k + 1) % 3 || index % 3 != 0))
                    *component(half, i) *= thin;
        }
        if (index % 4 == 1)
            b->rotation =
                product(a->rotation, small_turn(log_uniform(rng, 1e-9, 1e-3), rng, dimensions));
        b->center = obb_add(a->center, obb_scale(obb_sub(b->center, a->center), 0.2));
        if (near)
            place_near(a, b, dimensions, rng);
        break;
    case PAIRS_FAR: {
        obb_vec3 far = random_vector(rng, 1.0, dimensions);
        far = obb_scale(far, 1e8 / fmax(0.1, obb_length(far)));
        if (near)
            place_near(a, b, dimensions, rng);
        a->center = obb_add(a->center, far);
        b->center = obb_add(b->center, far);
        break;
    }
    case PAIRS_TINY:
        if (near)
            place_near(a, b, dimensions, rng);
        a->center = obb_scale(a->center, 1e-6);
        b->center = obb_scale(b->center, 1e-6);
        a->half_extents = obb_scale(a->half_extents, 1e-6);
        b->half_extents = obb_scale(b->half_extents, 1e-6);
        if (index % 4 < 2) { /* the rounding of the scaling counts in units of the extent */
            if (near)
                place_near(a, b, dimensions, rng);
        }
        break;
    case PAIRS_SIZES: {
        exact_box *small = index % 4 < 2 ? a : b;
        small->half_extents = obb_scale(small->half_extents, log_uniform(rng, 1e-4, 1e-1));
        place_near(a, b, dimensions, rng);
        break;
    }
    case PAIRS_CONTACT: {
        /* Multiples of 2^-20: every sum is exact, and so is contact on each of the axes in `on`. */
        a->rotation = random_quarter_turns(rng, dimensions);
        b->rotation = random_quarter_turns(rng, dimensions);
        const obb_solid sa = exact_solid(a, dimensions), sb = exact_solid(b, dimensions);
        const size_t on = 1 + test_below(rng, dimensions == 3 ? 7 : 3);
        for (int i = 0; i < dimensions; i++) {
            double *pa = component(&a->half_extents, i), *pb = component(&b->half_extents, i);
            *pa = floor(*pa * 0x1p20) * 0x1p-20;
            *pb = floor(*pb * 0x1p20) * 0x1p-20;
        }
        for (int i = 0; i < dimensions; i++) {
            double reach = 0.0;
            for (int k = 0; k < dimensions; k++)
                reach += fabs(obb_component(sa.axis[k], i)) * obb_component(a->half_extents, k) +
                         fabs(obb_component(sb.axis[k], i)) * obb_component(b->half_extents, k);
            double *ca = component(&a->center, i);
            *ca = floor(*ca * 0x1p20) * 0x1p-20;
            const double apart = (on >> i & 1) != 0
                                     ? sign_of(rng) * reach
                                     : floor(test_uniform(rng, -1, 1) * reach * 0x1p20) * 0x1p-20;
            *component(&b->center, i) = *ca + apart;
        }
        break;
    }
    }
}

/* In space: the rotation as it is stored, and what core makes of it. */
static obb_solid store(exact_box *box)
{
    obb_quat unit;
    obb_box stored;
    if (obb_quat_normalise(box->rotation, &unit) != OBB_OK ||
        obb_box_from_pose(box->center, box->half_extents, unit, 0.0, 3, &stored) != OBB_OK)
        abort();
    *box = exact_of(&stored);
    return obb_solid_from_box(&stored, 3);
}

struct pairs_case pairs_make(enum pairs_class kind, int dimensions, size_t index, test_rng *rng)
{
    struct pairs_case out;
    for (int side = 0; side < 2; side++)
        *(side == 0 ? &out.a : &out.b) =
            (exact_box){.center = random_vector(rng, 1.3, dimensions),
                        .half_extents = random_half(rng, 0.25, 1.25, dimensions),
                        .rotation = random_rotation(rng, dimensions)};
    set_class(&out.a, &out.b, kind, dimensions, index, rng);
    if (dimensions == 3) {
        out.solid_a = store(&out.a);
        out.solid_b = store(&out.b);
    } else {
        out.solid_a = exact_solid(&out.a, 2);
        out.solid_b = exact_solid(&out.b, 2);
    }
    return out;
}
