#include "tests/support/clouds.h"

#include "tests/support/oracle_box.h"

#include <math.h>
#include <string.h>

const char *cloud_name(cloud_kind kind)
{
    static const char *const names[CLOUD_KINDS] = {
        [CLOUD_CUBE] = "cube",     [CLOUD_BALL] = "ball",           [CLOUD_SPHERE] = "sphere",
        [CLOUD_BOX] = "box",       [CLOUD_ELLIPSOID] = "ellipsoid", [CLOUD_GRID] = "grid",
        [CLOUD_NEEDLE] = "needle", [CLOUD_DISC] = "disc",           [CLOUD_PRISM] = "prism",
        [CLOUD_CURVE] = "curve"};
    return names[kind];
}

static obb_vec3 in_ball(test_rng *rng)
{
    for (;;) {
        const obb_vec3 v = random_vector(rng, -1, 1);
        if (obb_dot(v, v) <= 1.0 && obb_dot(v, v) > 1e-4)
            return v;
    }
}

static obb_vec3 turned_by(long double r[3][3], obb_vec3 v)
{
    double out[3];
    for (int k = 0; k < 3; k++)
        out[k] = (double)(r[k][0] * (long double)v.x + r[k][1] * (long double)v.y +
                          r[k][2] * (long double)v.z);
    return (obb_vec3){out[0], out[1], out[2]};
}

void cloud_fill(test_rng *rng, cloud_kind kind, bool turned, obb_vec3 *points, size_t count)
{
    const obb_vec3 half = {random_magnitude(rng, 0.1, 1), random_magnitude(rng, 0.1, 1),
                           random_magnitude(rng, 0.1, 1)};
    const double pi = 3.141592653589793;
    for (size_t i = 0; i < count; i++) {
        obb_vec3 v = random_vector(rng, -1, 1);
        switch (kind) {
        case CLOUD_BALL:
            v = in_ball(rng);
            break;
        case CLOUD_SPHERE:
        case CLOUD_ELLIPSOID:
            v = in_ball(rng);
            v = obb_scale(v, 1.0 / obb_length(v));
            if (kind == CLOUD_ELLIPSOID)
                v = (obb_vec3){v.x, v.y / 2, v.z / 3};
            break;
        case CLOUD_BOX:
            if (i < 8)
                v = (obb_vec3){(i & 1) != 0 ? 1 : -1, (i & 2) != 0 ? 1 : -1, (i & 4) != 0 ? 1 : -1};
            v = (obb_vec3){v.x * half.x, v.y * half.y, v.z * half.z};
            break;
        case CLOUD_GRID:
            v = (obb_vec3){(double)test_below(rng, 5), (double)test_below(rng, 5),
                           (double)test_below(rng, 5)};
            break;
        case CLOUD_NEEDLE:
            v.x *= 1e6;
            break;
        case CLOUD_DISC:
            v = in_ball(rng);
            v.z *= 1e-6;
            break;
        case CLOUD_PRISM: {
            const size_t side = i / 2, sides = (count + 1) / 2;
            const double a = 2 * pi * (double)side / (double)sides;
            v = (obb_vec3){cos(a), sin(a), i % 2 == 0 ? -0.7 : 0.7};
            break;
        }
        case CLOUD_CURVE: {
            const double a = 20 * (double)i / (double)count;
            v = (obb_vec3){cos(a), sin(a), 0.1 * a};
            break;
        }
        case CLOUD_CUBE:
        case CLOUD_KINDS:
            break;
        }
        points[i] = v;
    }
    if (!turned)
        return;
    long double r[3][3];
    oracle_rotation(random_rotation(rng), r);
    for (size_t i = 0; i < count; i++)
        points[i] = turned_by(r, points[i]);
}

void cloud_move(obb_vec3 *points, size_t count, obb_vec3 by)
{
    for (size_t i = 0; i < count; i++)
        points[i] = obb_add(points[i], by);
}

double cloud_width(const obb_vec3 *points, size_t count, obb_vec3 direction)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        const double x = obb_dot(obb_sub(points[i], points[0]), direction);
        low = fmin(low, x);
        high = fmax(high, x);
    }
    return high - low;
}

static double volume_turned(const obb_vec3 *points, size_t count, const double q[4])
{
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const double n = 1.0 / (x * x + y * y + z * z + w * w);
    const obb_vec3 a[3] = {
        {1 - 2 * n * (y * y + z * z), 2 * n * (x * y + w * z), 2 * n * (x * z - w * y)},
        {2 * n * (x * y - w * z), 1 - 2 * n * (x * x + z * z), 2 * n * (y * z + w * x)},
        {2 * n * (x * z + w * y), 2 * n * (y * z - w * x), 1 - 2 * n * (x * x + y * y)}};
    return cloud_width(points, count, a[0]) * cloud_width(points, count, a[1]) *
           cloud_width(points, count, a[2]);
}

double cloud_smallest_volume(test_rng *rng, const obb_vec3 *points, size_t count, int starts)
{
    double smallest = HUGE_VAL;
    for (int s = 0; s < starts; s++) {
        const obb_quat start = random_rotation(rng);
        double q[4] = {start.x, start.y, start.z, start.w};
        double volume = volume_turned(points, count, q), step = 0.3;
        while (step > 1e-9) {
            bool gained = false;
            for (int t = 0; t < 12 && !gained; t++) {
                double p[4];
                for (int k = 0; k < 4; k++)
                    p[k] = q[k] + step * test_uniform(rng, -1, 1);
                const double v = volume_turned(points, count, p);
                if (v < volume) {
                    const double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
                    for (int k = 0; k < 4; k++)
                        q[k] = p[k] / n;
                    volume = v;
                    gained = true;
                }
            }
            step = fmin(gained ? step * 1.3 : step * 0.7, 0.5);
        }
        smallest = fmin(smallest, volume);
    }
    return smallest;
}

double cloud_smallest_area(const obb_vec3 *points, size_t count)
{
    double smallest = HUGE_VAL;
    if (cloud_width(points, count, (obb_vec3){1, 0, 0}) == 0.0 ||
        cloud_width(points, count, (obb_vec3){0, 1, 0}) == 0.0)
        return 0.0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const obb_vec3 d = obb_sub(points[j], points[i]);
            const double n = hypot(d.x, d.y);
            if (n == 0.0)
                continue;
            const obb_vec3 u = {d.x / n, d.y / n, 0}, v = {-d.y / n, d.x / n, 0};
            smallest =
                fmin(smallest, cloud_width(points, count, u) * cloud_width(points, count, v));
        }
    return smallest;
}
