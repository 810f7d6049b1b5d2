#include "tests/support/oracle_box.h"

#include <float.h>
#include <math.h>
#include <string.h>

static long double wide(double v) { return (long double)v; }

/* v / |v| */
static void unit(const double *v, int count, long double *out)
{
    long double n = 0;
    for (int i = 0; i < count; i++)
        n += wide(v[i]) * wide(v[i]);
    for (int i = 0; i < count; i++)
        out[i] = wide(v[i]) / sqrtl(n);
}

void oracle_rotation(obb_quat q, long double out[3][3])
{
    long double u[4];
    unit((const double[]){q.x, q.y, q.z, q.w}, 4, u);
    const long double x = u[0], y = u[1], z = u[2], w = u[3];
    const long double m[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
        {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
        {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)},
    };
    memcpy(out, m, sizeof m);
}

static const long double pi = 3.14159265358979323846264338327950288L;

void oracle_axis_angle(obb_vec3 axis, double degrees, long double out[3][3])
{
    long double u[3];
    unit((const double[]){axis.x, axis.y, axis.z}, 3, u);
    const long double a = wide(fmod(degrees, 360.0)) * pi / 180, c = cosl(a), s = sinl(a);
    const long double cross[3][3] = {{0, -u[2], u[1]}, {u[2], 0, -u[0]}, {-u[1], u[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = (i == j ? c : 0) + s * cross[i][j] + (1 - c) * u[i] * u[j];
}

size_t oracle_corners(const obb_box *box, int dimensions, oracle_point out[8])
{
    long double r[3][3];
    if (dimensions == 3)
        oracle_rotation(box->rotation, r);
    else
        oracle_axis_angle((obb_vec3){0, 0, 1}, box->angle, r);
    const size_t count = dimensions == 3 ? 8 : 4;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            out[i].at[k] = wide(obb_component(box->center, k));
            for (int j = 0; j < dimensions; j++) {
                const long double h = wide(obb_component(box->half_extents, j));
                out[i].at[k] += ((i >> j & 1) != 0 ? h : -h) * r[k][j];
            }
        }
    return count;
}

oracle_point oracle_apply(const long double m[16], oracle_point p)
{
    oracle_point q = {{0}};
    for (int k = 0; k < 3; k++)
        q.at[k] = m[k] * p.at[0] + m[4 + k] * p.at[1] + m[8 + k] * p.at[2] + m[12 + k];
    return q;
}

static long double distance(oracle_point a, oracle_point b)
{
    long double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += (a.at[k] - b.at[k]) * (a.at[k] - b.at[k]);
    return sqrtl(sum);
}

static long double one_way(const oracle_point *a, const oracle_point *b, size_t count)
{
    long double farthest = 0;
    for (size_t i = 0; i < count; i++) {
        long double nearest = distance(a[i], b[0]);
        for (size_t j = 1; j < count; j++)
            nearest = fminl(nearest, distance(a[i], b[j]));
        farthest = fmaxl(farthest, nearest);
    }
    return farthest;
}

long double oracle_set_distance(const oracle_point *a, const oracle_point *b, size_t count)
{
    return fmaxl(one_way(a, b, count), one_way(b, a, count));
}

long double oracle_diameter(const oracle_point *points, size_t count)
{
    long double largest = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            largest = fmaxl(largest, distance(points[i], points[j]));
    return largest;
}

void oracle_slerp(obb_quat a, obb_quat b, double t, long double out[4])
{
    const long double p[4] = {wide(a.x), wide(a.y), wide(a.z), wide(a.w)},
                      q[4] = {wide(b.x), wide(b.y), wide(b.z), wide(b.w)};
    long double apart = 0, together = 0, length = 0;
    for (int i = 0; i < 4; i++) {
        apart += (p[i] - q[i]) * (p[i] - q[i]);
        together += (p[i] + q[i]) * (p[i] + q[i]);
    }
    const long double angle = 2 * atan2l(sqrtl(apart), sqrtl(together));
    for (int i = 0; i < 4; i++) {
        out[i] = angle == 0 ? p[i]
                            : (sinl((1 - wide(t)) * angle) * p[i] + sinl(wide(t) * angle) * q[i]) /
                                  sinl(angle);
        length += out[i] * out[i];
    }
    for (int i = 0; i < 4; i++)
        out[i] /= sqrtl(length);
}

enum { BITS = 300 };

void oracle_sin_cos(double degrees, mpf_t out_sin, mpf_t out_cos)
{
    mpf_t x, term, power;
    mpf_init2(x, BITS);
    mpf_init2(term, BITS);
    mpf_init2(power, BITS);
    mpf_set_str(x,
                "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
                "8628034825342117067982148086513282306647",
                10);
    mpf_set_d(term, degrees);
    mpf_mul(x, x, term);
    mpf_div_ui(x, x, 180);
    mpf_set_ui(out_cos, 0);
    mpf_set_ui(out_sin, 0);
    mpf_set_ui(power, 1); /* x^n / n! */
    for (unsigned n = 0; n < 200; n++) {
        mpf_ptr sum = n % 2 == 0 ? out_cos : out_sin;
        if (n % 4 < 2)
            mpf_add(sum, sum, power);
        else
            mpf_sub(sum, sum, power);
        mpf_mul(power, power, x);
        mpf_div_ui(power, power, n + 1);
    }
    mpf_clears(x, term, power, NULL);
}

void oracle_excess(obb_quat q, mpq_t out)
{
    const double part[4] = {q.x, q.y, q.z, q.w};
    mpq_t p;
    mpq_init(p);
    mpq_set_si(out, -1, 1);
    for (int i = 0; i < 4; i++) {
        mpq_set_d(p, part[i]);
        mpq_mul(p, p, p);
        mpq_add(out, out, p);
    }
    mpq_clear(p);
}

void oracle_solid_corner(const obb_solid *solid, unsigned i, int k, mpq_t out)
{
    mpq_t a, h;
    mpq_inits(a, h, NULL);
    mpq_set_d(out, obb_component(solid->center, k));
    for (int j = 0; j < 3; j++) {
        mpq_set_d(a, obb_component(solid->axis[j], k));
        mpq_set_d(h, obb_component(solid->half_extents, j));
        mpq_mul(a, a, h);
        if ((i >> j & 1) != 0)
            mpq_add(out, out, a);
        else
            mpq_sub(out, out, a);
    }
    mpq_clears(a, h, NULL);
}

/* Adds factor * a * b to out. */
static void add_product(mpq_t out, int factor, double a, double b)
{
    mpq_t x, y;
    mpq_inits(x, y, NULL);
    mpq_set_d(x, a);
    mpq_set_d(y, b * (double)factor); /* a factor of 1 or 2, or its negative: exact */
    mpq_mul(x, x, y);
    mpq_add(out, out, x);
    mpq_clears(x, y, NULL);
}

void oracle_placed(obb_vec3 center, obb_quat q, obb_vec3 local, int k, mpq_t out)
{
    const double v[3] = {q.x, q.y, q.z}; /* row k of |q|^2 R, by the textbook */
    mpq_t sum, norm, entry, part;
    mpq_inits(sum, norm, entry, part, NULL);
    for (int i = 0; i < 3; i++)
        add_product(norm, 1, v[i], v[i]);
    add_product(norm, 1, q.w, q.w);
    for (int j = 0; j < 3; j++) {
        mpq_set_ui(entry, 0, 1);
        add_product(entry, 2, v[k], v[j]);
        if (j == k) {
            add_product(entry, 2, q.w, q.w);
            mpq_sub(entry, entry, norm);
        } else {
            const bool even = (k + 1) % 3 == j;
            add_product(entry, even ? -2 : 2, q.w, v[3 - j - k]);
        }
        mpq_set_d(part, obb_component(local, j));
        mpq_mul(part, part, entry);
        mpq_add(sum, sum, part);
    }
    mpq_div(sum, sum, norm);
    mpq_set_d(out, obb_component(center, k));
    mpq_add(out, out, sum);
    mpq_clears(sum, norm, entry, part, NULL);
}

obb_vec3 random_vector(test_rng *rng, double low, double high)
{
    obb_vec3 v;
    v.x = test_uniform(rng, low, high);
    v.y = test_uniform(rng, low, high);
    v.z = test_uniform(rng, low, high);
    return v;
}

obb_quat random_rotation(test_rng *rng)
{
    for (;;) {
        const obb_vec3 v = random_vector(rng, -1, 1);
        const double w = test_uniform(rng, -1, 1);
        const double n = sqrt(v.x * v.x + v.y * v.y + v.z * v.z + w * w);
        if (n > 0.1 && n <= 1.0)
            return (obb_quat){v.x / n, v.y / n, v.z / n, w / n};
    }
}

double random_magnitude(test_rng *rng, double low, double high)
{
    return low * pow(high / low, test_uniform(rng, 0, 1));
}

obb_box random_box(test_rng *rng, int dimensions)
{
    obb_box box = {.rotation = {.w = 1}};
    box.center = random_vector(rng, -100, 100);
    box.half_extents.x = random_magnitude(rng, 1e-3, 1e3);
    box.half_extents.y = random_magnitude(rng, 1e-3, 1e3);
    box.half_extents.z = random_magnitude(rng, 1e-3, 1e3);
    if (dimensions == 3) {
        (void)obb_quat_normalise(random_rotation(rng), &box.rotation);
    } else {
        box.center.z = box.half_extents.z = 0;
        box.angle = test_uniform(rng, -360, 360);
    }
    return box;
}

double oracle_excess_rounded(obb_quat q)
{
    mpq_t e;
    mpq_init(e);
    oracle_excess(q, e);
    const double value = mpq_get_d(e);
    mpq_clear(e);
    return value;
}

void oracle_narrowed(const long double m[16], double out[16], long double back[16])
{
    for (int i = 0; i < 16; i++) {
        out[i] = (double)m[i];
        back[i] = wide(out[i]);
    }
}

void random_rigid(test_rng *rng, obb_vec3 scale, long double out[16])
{
    long double r[3][3];
    oracle_rotation(random_rotation(rng), r);
    const obb_vec3 t = random_vector(rng, -100, 100);
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 3; k++)
            out[4 * j + k] = r[k][j] * wide(obb_component(scale, j));
        out[4 * j + 3] = 0;
        out[12 + j] = wide(obb_component(t, j));
    }
    out[15] = 1;
}

size_t oracle_negative_zeros(const obb_box *box)
{
    const double v[] = {box->center.x,       box->center.y,       box->center.z,
                        box->half_extents.x, box->half_extents.y, box->half_extents.z,
                        box->rotation.x,     box->rotation.y,     box->rotation.z,
                        box->rotation.w,     box->angle};
    size_t found = 0;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        found += v[i] == 0.0 && signbit(v[i]);
    return found;
}

double random_zero(test_rng *rng) { return test_below(rng, 2) == 0 ? 0.0 : -0.0; }

obb_vec3 random_zeros_in(test_rng *rng, obb_vec3 v)
{
    return (obb_vec3){test_below(rng, 2) == 0 ? random_zero(rng) : v.x,
                      test_below(rng, 2) == 0 ? random_zero(rng) : v.y,
                      test_below(rng, 2) == 0 ? random_zero(rng) : v.z};
}
