#include "core/geometry/eigen.h"

#include <math.h>
#include <stdbool.h>

static const double rounding = 4e-15; /* see obb_eigen_symmetric */

/* Convergence is quadratic, and about 6 sweeps suffice. The bound proves that the loop ends. */
enum { MAX_SWEEPS = 30 };

static void rotate(obb_vec3 *a, obb_vec3 *b, double c, double s)
{
    const obb_vec3 p = *a, q = *b;
    *a = obb_sub(obb_scale(p, c), obb_scale(q, s));
    *b = obb_add(obb_scale(p, s), obb_scale(q, c));
}

void obb_eigen_symmetric(const obb_symmetric *m, obb_vec3 out_vectors[static 3],
                         double out_values[static 3])
{
    double a[3][3] = {{m->xx, m->xy, m->zx}, {m->xy, m->yy, m->yz}, {m->zx, m->yz, m->zz}};
    obb_vec3 v[3] = {{.x = 1.0}, {.y = 1.0}, {.z = 1.0}};
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < MAX_SWEEPS; sweep++) {
        rotated = false;
        for (int p = 0; p < 3; p++) {
            const int q = (p + 1) % 3, r = (p + 2) % 3;
            const double off = a[p][q];
            if (fabs(off) <= rounding * sqrt(fabs(a[p][p] * a[q][q])))
                continue;
            rotated = true;
            /* The smaller of the two rotations that make a[p][q] zero. */
            const double theta = (a[q][q] - a[p][p]) / (2.0 * off);
            const double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
            const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
            a[p][p] -= t * off;
            a[q][q] += t * off;
            a[p][q] = a[q][p] = 0.0;
            const double rp = a[r][p], rq = a[r][q];
            a[r][p] = a[p][r] = c * rp - s * rq;
            a[r][q] = a[q][r] = s * rp + c * rq;
            rotate(&v[p], &v[q], c, s);
        }
    }
    for (int i = 0; i < 3; i++) {
        out_vectors[i] = v[i];
        out_values[i] = a[i][i];
    }
}
