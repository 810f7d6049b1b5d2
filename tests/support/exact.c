#include "tests/support/exact.h"

#include <gmp.h>
#include <math.h>

/* ---- Integers: gaps -------------------------------------------------------------------------- */

typedef struct zvec {
    mpz_t c[3];
} zvec;

struct zbox {
    zvec center, half; /* times 2^shift */
    zvec axis[3];      /* times norm */
    mpz_t norm;        /* squared length of the quaternion, as an integer */
};

static void zvec_init(zvec *v)
{
    for (int i = 0; i < 3; i++)
        mpz_init(v->c[i]);
}

static void zvec_clear(zvec *v)
{
    for (int i = 0; i < 3; i++)
        mpz_clear(v->c[i]);
}

/* The least k such that x * 2^k is an integer; 0 for 0. */
static int binary_places(double x)
{
    if (x == 0.0)
        return 0;
    int exponent;
    double mantissa = frexp(x, &exponent);
    int places = -exponent;
    while (mantissa != floor(mantissa)) {
        mantissa *= 2.0;
        places++;
    }
    return places;
}

static int most_places(obb_vec3 v)
{
    const int x = binary_places(v.x), y = binary_places(v.y), z = binary_places(v.z);
    return x > y ? (x > z ? x : z) : (y > z ? y : z);
}

/* x * 2^shift, which is an integer. */
static void set_scaled(mpz_t out, double x, int shift)
{
    int exponent;
    const double mantissa = frexp(x, &exponent); /* x = mantissa * 2^exponent */
    mpz_set_d(out, ldexp(mantissa, 53));
    exponent += shift - 53;
    if (exponent >= 0)
        mpz_mul_2exp(out, out, (mp_bitcnt_t)exponent);
    else
        mpz_tdiv_q_2exp(out, out, (mp_bitcnt_t)-exponent);
}

static void zvec_set(zvec *out, obb_vec3 v, int shift)
{
    set_scaled(out->c[0], v.x, shift);
    set_scaled(out->c[1], v.y, shift);
    set_scaled(out->c[2], v.z, shift);
}

static void zdot(mpz_t out, const zvec *a, const zvec *b)
{
    mpz_mul(out, a->c[0], b->c[0]);
    mpz_addmul(out, a->c[1], b->c[1]);
    mpz_addmul(out, a->c[2], b->c[2]);
}

static void zcross(zvec *out, const zvec *a, const zvec *b)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        mpz_mul(out->c[i], a->c[j], b->c[k]);
        mpz_submul(out->c[i], a->c[k], b->c[j]);
    }
}

/* The axes are the columns of the rotation matrix of q, times |q|^2: integers. */
static void set_axes(struct zbox *box, obb_quat rotation)
{
    mpz_t q[4], t;
    mpz_init(t);
    int shift = most_places((obb_vec3){rotation.x, rotation.y, rotation.z});
    const int w = binary_places(rotation.w);
    shift = w > shift ? w : shift;
    const double parts[4] = {rotation.x, rotation.y, rotation.z, rotation.w};
    for (int i = 0; i < 4; i++) {
        mpz_init(q[i]);
        set_scaled(q[i], parts[i], shift);
        mpz_addmul(box->norm, q[i], q[i]);
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        /* R[i][i] = n - 2 (qj^2 + qk^2); R[j][i] = 2 (qi qj + qk w); R[k][i] = 2 (qi qk - qj w) */
        mpz_mul(t, q[j], q[j]);
        mpz_addmul(t, q[k], q[k]);
        mpz_mul_2exp(t, t, 1);
        mpz_sub(box->axis[i].c[i], box->norm, t);
        mpz_mul(t, q[i], q[j]);
        mpz_addmul(t, q[k], q[3]);
        mpz_mul_2exp(box->axis[i].c[j], t, 1);
        mpz_mul(t, q[i], q[k]);
        mpz_submul(t, q[j], q[3]);
        mpz_mul_2exp(box->axis[i].c[k], t, 1);
    }
    for (int i = 0; i < 4; i++)
        mpz_clear(q[i]);
    mpz_clear(t);
}

static void zbox_init(struct zbox *box, const exact_box *from, int shift)
{
    zvec_init(&box->center);
    zvec_init(&box->half);
    for (int i = 0; i < 3; i++)
        zvec_init(&box->axis[i]);
    mpz_init(box->norm);
    zvec_set(&box->center, from->center, shift);
    zvec_set(&box->half, from->half_extents, shift);
    set_axes(box, from->rotation);
}

static void zbox_clear(struct zbox *box)
{
    zvec_clear(&box->center);
    zvec_clear(&box->half);
    for (int i = 0; i < 3; i++)
        zvec_clear(&box->axis[i]);
    mpz_clear(box->norm);
}

/* numerator / (denominator * 2^shift) as a double within 2 ulp. */
static double ratio(const mpz_t numerator, const mpz_t denominator, int shift)
{
    long en, ed;
    const double n = mpz_get_d_2exp(&en, numerator), d = mpz_get_d_2exp(&ed, denominator);
    return n == 0.0 ? 0.0 : ldexp(n / d, (int)(en - ed) - shift);
}

/* numerator / (sqrt(square) * 2^shift), likewise. */
static double ratio_root(const mpz_t numerator, const mpz_t square, int shift)
{
    long en, es;
    const double n = mpz_get_d_2exp(&en, numerator);
    double s = mpz_get_d_2exp(&es, square);
    if (es % 2 != 0) {
        s *= 2.0;
        es--;
    }
    return n == 0.0 ? 0.0 : ldexp(n / sqrt(s), (int)(en - es / 2) - shift);
}

static int common_shift(const exact_box *a, const exact_box *b)
{
    const obb_vec3 all[4] = {a->center, b->center, a->half_extents, b->half_extents};
    int shift = 0;
    for (int i = 0; i < 4; i++) {
        const int places = most_places(all[i]);
        shift = places > shift ? places : shift;
    }
    return shift;
}

struct zpair {
    struct zbox a, b;
    zvec d;
    int shift;
};

static void zpair_init(struct zpair *p, const exact_box *a, const exact_box *b)
{
    p->shift = common_shift(a, b);
    zbox_init(&p->a, a, p->shift);
    zbox_init(&p->b, b, p->shift);
    zvec_init(&p->d);
    for (int i = 0; i < 3; i++)
        mpz_sub(p->d.c[i], p->b.center.c[i], p->a.center.c[i]);
}

static void zpair_clear(struct zpair *p)
{
    zbox_clear(&p->a);
    zbox_clear(&p->b);
    zvec_clear(&p->d);
}

/* out = (|d . L| - sum of h_k |axis_k . L|) for an integer direction L, times norm a * norm b. */
static void zgap(mpz_t out, const struct zpair *p, const zvec *along)
{
    mpz_t t, sum;
    mpz_inits(t, sum, NULL);
    zdot(out, &p->d, along);
    mpz_abs(out, out);
    mpz_mul(out, out, p->a.norm);
    mpz_mul(out, out, p->b.norm);
    for (int side = 0; side < 2; side++) {
        const struct zbox *box = side == 0 ? &p->a : &p->b;
        mpz_set_ui(sum, 0);
        for (int k = 0; k < 3; k++) {
            zdot(t, &box->axis[k], along);
            mpz_abs(t, t);
            mpz_addmul(sum, t, box->half.c[k]);
        }
        mpz_submul(out, sum, side == 0 ? p->b.norm : p->a.norm);
    }
    mpz_clears(t, sum, NULL);
}

static double gap_of(const struct zpair *p, const zvec *along, const mpz_t length2)
{
    mpz_t gap, norms;
    mpz_inits(gap, norms, NULL);
    zgap(gap, p, along);
    mpz_mul(norms, p->a.norm, p->b.norm);
    mpz_mul(norms, norms, norms);
    mpz_mul(norms, norms, length2);
    const double value = ratio_root(gap, norms, p->shift);
    mpz_clears(gap, norms, NULL);
    return value;
}

/* Axis of the contract's list, times an integer; false when it has no direction. */
static bool zaxis(zvec *out, mpz_t length2, const struct zpair *p, int axis)
{
    for (int k = 0; k < 3 && axis < 6; k++)
        mpz_set(out->c[k], axis < 3 ? p->a.axis[axis].c[k] : p->b.axis[axis - 3].c[k]);
    if (axis >= 6)
        zcross(out, &p->a.axis[(axis - 6) / 3], &p->b.axis[(axis - 6) % 3]);
    zdot(length2, out, out);
    return mpz_sgn(length2) != 0;
}

static double extent_of(const obb_solid *a, const obb_solid *b)
{
    obb_vec3 corners_a[8], corners_b[8];
    obb_solid at = *a, bt = *b; /* about a's centre, so that far ones keep their digits */
    at.center = (obb_vec3){0};
    bt.center = obb_sub(b->center, a->center);
    const obb_solid *solids[2] = {&at, &bt};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 8; i++) {
            const obb_solid *s = solids[side];
            obb_vec3 c = s->center;
            c = obb_add(c, obb_scale(s->axis[0], i & 1 ? s->half_extents.x : -s->half_extents.x));
            c = obb_add(c, obb_scale(s->axis[1], i & 2 ? s->half_extents.y : -s->half_extents.y));
            c = obb_add(c, obb_scale(s->axis[2], i & 4 ? s->half_extents.z : -s->half_extents.z));
            (side == 0 ? corners_a : corners_b)[i] = c;
        }
    double most = 0.0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            most = fmax(most, obb_length(obb_sub(corners_b[j], corners_a[i])));
    return most;
}

exact_gaps exact_gaps_of(const exact_box *a, const exact_box *b, int dimensions)
{
    const obb_solid sa = exact_solid(a, dimensions), sb = exact_solid(b, dimensions);
    exact_gaps out = {.axis = -1, .extent = extent_of(&sa, &sb)};
    struct zpair p;
    zpair_init(&p, a, b);
    zvec along;
    mpz_t length2;
    zvec_init(&along);
    mpz_init(length2);
    for (int axis = 0; axis < OBB_AXES; axis++) {
        if (dimensions == 2 && (axis >= 6 || axis % 3 == 2))
            continue;
        if (!zaxis(&along, length2, &p, axis))
            continue;
        out.counts[axis] = true;
        out.gap[axis] = gap_of(&p, &along, length2);
        if (out.axis < 0 || out.gap[axis] > out.largest) {
            out.axis = axis;
            out.largest = out.gap[axis];
        }
    }
    zvec_clear(&along);
    mpz_clear(length2);
    zpair_clear(&p);
    return out;
}

double exact_gap_along(const exact_box *a, const exact_box *b, obb_vec3 direction)
{
    struct zpair p;
    zpair_init(&p, a, b);
    zvec along;
    mpz_t length2;
    zvec_init(&along);
    mpz_init(length2);
    zvec_set(&along, direction, most_places(direction));
    zdot(length2, &along, &along);
    const double gap = gap_of(&p, &along, length2);
    zvec_clear(&along);
    mpz_clear(length2);
    zpair_clear(&p);
    return gap;
}

obb_vec3 exact_axis(const exact_box *a, const exact_box *b, int axis)
{
    struct zpair p;
    zpair_init(&p, a, b);
    zvec along;
    mpz_t length2;
    zvec_init(&along);
    mpz_init(length2);
    obb_vec3 out = {0};
    if (zaxis(&along, length2, &p, axis))
        out = (obb_vec3){ratio_root(along.c[0], length2, 0), ratio_root(along.c[1], length2, 0),
                         ratio_root(along.c[2], length2, 0)};
    zvec_clear(&along);
    mpz_clear(length2);
    zpair_clear(&p);
    return out;
}

exact_box exact_of(const obb_box *box)
{
    return (exact_box){
        .center = box->center, .half_extents = box->half_extents, .rotation = box->rotation};
}

obb_solid exact_solid(const exact_box *box, int dimensions)
{
    obb_solid solid = {
        .center = box->center, .half_extents = box->half_extents, .dimensions = dimensions};
    struct zbox z;
    zbox_init(&z, box, common_shift(box, box));
    for (int i = 0; i < 3; i++)
        solid.axis[i] =
            (obb_vec3){ratio(z.axis[i].c[0], z.norm, 0), ratio(z.axis[i].c[1], z.norm, 0),
                       ratio(z.axis[i].c[2], z.norm, 0)};
    zbox_clear(&z);
    return solid;
}
