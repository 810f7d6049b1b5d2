#include "core/geometry/sat.h"

#include "core/geometry/exact.h"

#include <assert.h>
#include <stdint.h>

/* Above this |cosine| (an angle below 7.2 degrees) two edges are nearly parallel. Their cross
 * product is then computed with twice the digits, because the rounding error of the plain one,
 * divided by its length, would show. */
static const double near_parallel = 1.0 - 0x1p-7;

/* The squared length (2^-44, squared) below which the cross product of two unit edges may be
 * only the rounding of its parts. The other axes find every gap that such an axis could, up to a
 * few times 2^-44 of the pair's extent. */
static const double parallel_length2 = 0x1p-88;

/* This times the sum of all lengths of a pair is more than the rounding error of every gap
 * before its division by the length of its axis. EXACTNESS.md derives these constants. */
static const double rounding = 0x1p-45;

/* ---- A pair, seen from both boxes at once -------------------------------------------------------
 *
 * There are two lanes, the first for a and the second for b, so exchanging a and b exchanges the
 * lanes. This makes every gap symmetric to the last bit. Two lanes are also what the baseline of
 * each CPU computes at once. */

typedef double lanes __attribute__((vector_size(16)));
typedef int64_t mask __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))

INLINE lanes exchanged(lanes x) { return __builtin_shufflevector(x, x, 1, 0); }

INLINE lanes magnitude(lanes x) { return (lanes)((mask)x & INT64_MAX); }

INLINE bool any(mask x) { return (x[0] | x[1]) != 0; }

INLINE lanes spread(double x) { return (lanes){x, x}; }

struct pair {
    obb_vec3 d;    /* from the centre of a to that of b */
    lanes h[3];    /* half extents of a, of b */
    lanes t[3];    /* d along axis i of a, of b */
    lanes r[3][3]; /* cosines: axis i of a with axis j of b, axis i of b with axis j of a */
    lanes m[3][3]; /* their magnitudes */
};

INLINE lanes dot(const lanes u[static 3], const lanes v[static 3])
{
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

INLINE void set_cosine(struct pair *p, const lanes u[static 3], const lanes v[static 3], int i,
                       int j)
{
    const lanes w[3] = {exchanged(v[0]), exchanged(v[1]), exchanged(v[2])};
    p->r[i][j] = dot(u, w);
    p->m[i][j] = magnitude(p->r[i][j]);
    p->r[j][i] = exchanged(p->r[i][j]);
    p->m[j][i] = exchanged(p->m[i][j]);
}

/* Sets both lanes to the same cosine. */
INLINE void set_cosine_of_like(struct pair *p, const obb_solid *a, const obb_solid *b, int i)
{
    p->r[i][i] = spread(obb_dot(a->axis[i], b->axis[i]));
    p->m[i][i] = magnitude(p->r[i][i]);
}

INLINE void set_pair(struct pair *p, const obb_solid *a, const obb_solid *b)
{
    p->d = obb_sub(b->center, a->center);
    const lanes d[3] = {spread(p->d.x), spread(p->d.y), spread(p->d.z)};
    const lanes u[3] = {
        {a->axis[0].x, b->axis[0].x}, {a->axis[0].y, b->axis[0].y}, {a->axis[0].z, b->axis[0].z}};
    const lanes v[3] = {
        {a->axis[1].x, b->axis[1].x}, {a->axis[1].y, b->axis[1].y}, {a->axis[1].z, b->axis[1].z}};
    const lanes w[3] = {
        {a->axis[2].x, b->axis[2].x}, {a->axis[2].y, b->axis[2].y}, {a->axis[2].z, b->axis[2].z}};
    p->h[0] = (lanes){a->half_extents.x, b->half_extents.x};
    p->h[1] = (lanes){a->half_extents.y, b->half_extents.y};
    p->h[2] = (lanes){a->half_extents.z, b->half_extents.z};
    p->t[0] = dot(d, u);
    p->t[1] = dot(d, v);
    p->t[2] = dot(d, w);
    set_cosine_of_like(p, a, b, 0);
    set_cosine_of_like(p, a, b, 1);
    set_cosine_of_like(p, a, b, 2);
    set_cosine(p, u, v, 0, 1);
    set_cosine(p, u, w, 0, 2);
    set_cosine(p, v, w, 1, 2);
}

/* Returns the gaps on axis i of a and on axis i of b. */
INLINE lanes gap_on_faces(const struct pair *p, int i)
{
    const lanes other = exchanged(p->h[0]) * p->m[i][0] + exchanged(p->h[1]) * p->m[i][1] +
                        exchanged(p->h[2]) * p->m[i][2];
    return magnitude(p->t[i]) - (p->h[i] + other);
}

/* Returns d along axis i of the lane's own box x axis j of the other one, in the frame of the
 * lane's own box. (In the second lane d is along other x own, so it is negated.) */
INLINE lanes along_edges(const struct pair *p, int i, int j)
{
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    return p->t[i2] * p->r[i1][j] - p->t[i1] * p->r[i2][j];
}

/* Returns the gaps on axis i of a x axis j of b, and on axis j of a x axis i of b, each times
 * the length of that product, for i <= j. d is taken in the frame of the box whose axis comes
 * first in its box, which is symmetric too. If neither comes first, d is the mean of both
 * frames. */
INLINE lanes gap_on_edges(const struct pair *p, int i, int j)
{
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    lanes d = along_edges(p, i, j);
    if (i == j)
        d = 0.5 * (d - exchanged(d));
    const lanes own = p->h[i1] * p->m[i2][j] + p->h[i2] * p->m[i1][j];
    const lanes other = exchanged(p->h[j1]) * p->m[i][j2] + exchanged(p->h[j2]) * p->m[i][j1];
    return magnitude(d) - (own + other);
}

/* Returns the squared lengths of these products, likewise as a mean. */
INLINE lanes length2_of_edges(const struct pair *p, int i, int j)
{
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    const lanes own = p->r[i1][j] * p->r[i1][j] + p->r[i2][j] * p->r[i2][j];
    const lanes other = p->r[j1][i] * p->r[j1][i] + p->r[j2][i] * p->r[j2][i];
    return 0.5 * (own + exchanged(other));
}

INLINE double rounding_of(const struct pair *p)
{
    const double d = fabs(p->d.x) + fabs(p->d.y) + fabs(p->d.z);
    const lanes h = p->h[0] + p->h[1] + p->h[2];
    return rounding * (d + (h[0] + h[1]));
}

/* ---- Nearly parallel edges ------------------------------------------------------------------- */

/* Returns the unit vector along u x v, for unit vectors that are not parallel. */
static obb_vec3 cross_direction(obb_vec3 u, obb_vec3 v)
{
    const obb_vec3 c = obb_exact_cross(u, v);
    return obb_scale(c, 1.0 / obb_length(c));
}

/* Returns the gap on axis i of a x axis j of b for nearly parallel axes: every length is
 * projected separately on the true direction. */
static double gap_on_near_parallel(const obb_solid *a, const obb_solid *b, const struct pair *p,
                                   int i, int j)
{
    const obb_vec3 n = cross_direction(a->axis[i], b->axis[j]);
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    const double ra =
        p->h[i1][0] * fabs(obb_dot(a->axis[i1], n)) + p->h[i2][0] * fabs(obb_dot(a->axis[i2], n));
    const double rb =
        p->h[j1][1] * fabs(obb_dot(b->axis[j1], n)) + p->h[j2][1] * fabs(obb_dot(b->axis[j2], n));
    return fabs(obb_dot(p->d, n)) - (ra + rb);
}

/* ---- Does a touch b? ------------------------------------------------------------------------- */

INLINE mask is_near_parallel(const struct pair *p, int i, int j)
{
    return p->m[i][j] > near_parallel;
}

/* Returns the lanes that are nearly parallel, but neither clearly without a gap nor noise: only
 * the true direction can decide them. */
INLINE mask is_open(const struct pair *p, double unclear, int i, int j)
{
    return is_near_parallel(p, i, j) & (gap_on_edges(p, i, j) > unclear) &
           (length2_of_edges(p, i, j) > parallel_length2);
}

INLINE mask is_apart(const struct pair *p, int i, int j)
{
    return ~is_near_parallel(p, i, j) & (gap_on_edges(p, i, j) > 0.0);
}

/* Returns whether f(pair, ..., i, j) holds in any lane for any of the six (i, j) whose lanes are
 * the nine products. */
#define ANY_EDGES(f, ...)                                                    \
    any(f(__VA_ARGS__, 0, 0) | f(__VA_ARGS__, 0, 1) | f(__VA_ARGS__, 0, 2) | \
        f(__VA_ARGS__, 1, 1) | f(__VA_ARGS__, 1, 2) | f(__VA_ARGS__, 2, 2))

static bool apart_on_near_parallel(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    /* Computed again: passing the caller's pair would put it into memory for all callers that
     * never come here. */
    set_pair(&p, a, b);
    const double unclear = -rounding_of(&p);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            const mask open = is_open(&p, unclear, i, j);
            if ((open[0] && gap_on_near_parallel(a, b, &p, i, j) > 0.0) ||
                (open[1] && gap_on_near_parallel(a, b, &p, j, i) > 0.0))
                return true;
        }
    return false;
}

INLINE mask has_gap(const struct pair *p, int i, int j) { return gap_on_edges(p, i, j) > 0.0; }

/* Decides pairs whose faces have no gap and some of whose edges are nearly parallel. */
static bool overlap_on_edges(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    set_pair(&p, a, b);
    return !ANY_EDGES(is_apart, &p) &&
           (!ANY_EDGES(is_open, &p, -rounding_of(&p)) || !apart_on_near_parallel(a, b));
}

static bool overlap_in_plane(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    set_pair(&p, a, b);
    return !any((gap_on_faces(&p, 0) > 0.0) | (gap_on_faces(&p, 1) > 0.0));
}

bool obb_sat_overlap(const obb_solid *a, const obb_solid *b)
{
    if (a->dimensions == 2)
        return overlap_in_plane(a, b);
    struct pair p;
    set_pair(&p, a, b);
    if (any((gap_on_faces(&p, 0) > 0.0) | (gap_on_faces(&p, 1) > 0.0) |
            (gap_on_faces(&p, 2) > 0.0)))
        return false;
    if (ANY_EDGES(is_near_parallel, &p))
        return overlap_on_edges(a, b);
    return !ANY_EDGES(has_gap, &p);
}

static bool along_coordinate_axes(const obb_box *box, int dimensions)
{
    const obb_quat q = box->rotation;
    return dimensions == 2 ? box->angle == 0.0
                           : q.x == 0.0 && q.y == 0.0 && q.z == 0.0 && q.w * q.w == 1.0;
}

bool obb_sat_overlap_of_boxes(const obb_box *a, const obb_box *b, int dimensions)
{
    if (along_coordinate_axes(a, dimensions) && along_coordinate_axes(b, dimensions)) {
        const obb_vec3 d = obb_sub(b->center, a->center), h = a->half_extents, g = b->half_extents;
        return fabs(d.x) <= h.x + g.x && fabs(d.y) <= h.y + g.y &&
               (dimensions == 2 || fabs(d.z) <= h.z + g.z);
    }
    const obb_solid solid_a = obb_solid_from_box(a, dimensions);
    const obb_solid solid_b = obb_solid_from_box(b, dimensions);
    return obb_sat_overlap(&solid_a, &solid_b);
}

/* ---- How far apart, and where ---------------------------------------------------------------- */

INLINE double larger(double x, double y) { return x > y ? x : y; }

/* Writes the gaps of all axes in the contract's order and returns the largest. Axes that are
 * noise, that the plane does not have, or whose gap is certain to lie below the largest by more
 * than slack get -HUGE_VAL. */
static double set_gaps(const obb_solid *a, const obb_solid *b, const struct pair *p, double slack,
                       double out_gaps[static OBB_AXES])
{
    double largest = -HUGE_VAL;
    for (int k = 0; k < OBB_AXES; k++)
        out_gaps[k] = -HUGE_VAL;
    for (int i = 0; i < a->dimensions; i++) {
        const lanes gap = gap_on_faces(p, i);
        out_gaps[i] = gap[0];
        out_gaps[3 + i] = gap[1];
        largest = larger(largest, larger(gap[0], gap[1]));
    }
    if (a->dimensions == 2)
        return largest;

    double scaled[3][3], length2[3][3]; /* of axis i of a x axis j of b */
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            const lanes gap = gap_on_edges(p, i, j), square = length2_of_edges(p, i, j);
            scaled[i][j] = gap[0];
            scaled[j][i] = gap[1];
            length2[i][j] = square[0];
            length2[j][i] = square[1];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (p->m[i][j][0] <= near_parallel) {
                const double gap = scaled[i][j] / sqrt(length2[i][j]);
                out_gaps[6 + 3 * i + j] = gap;
                largest = larger(largest, gap);
            }
    /* Nearly parallel edges count only if they may have the largest gap. scaled + slack is above
     * the true gap times the true length, and the computed length is right within a quarter. */
    const double below = largest - 2.0 * slack;
    const double limit = below < 0.0 ? 1.25 * below : 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (p->m[i][j][0] > near_parallel && length2[i][j] > parallel_length2 &&
                scaled[i][j] + slack >= limit * sqrt(length2[i][j])) {
                const double gap = gap_on_near_parallel(a, b, p, i, j);
                out_gaps[6 + 3 * i + j] = gap;
                largest = larger(largest, gap);
            }
    return largest;
}

static obb_vec3 direction_of(const obb_solid *a, const obb_solid *b, int axis)
{
    if (axis < 3)
        return a->axis[axis];
    if (axis < 6)
        return b->axis[axis - 3];
    return cross_direction(a->axis[(axis - 6) / 3], b->axis[(axis - 6) % 3]);
}

obb_separation obb_sat_separation(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    set_pair(&p, a, b);
    const double slack = rounding_of(&p);
    double gaps[OBB_AXES];
    const double largest = set_gaps(a, b, &p, slack, gaps);
    int axis = 0;
    while (gaps[axis] < largest - slack)
        axis++;
    const obb_vec3 n = direction_of(a, b, axis);
    return (obb_separation){
        .axis = axis, .normal = obb_dot(p.d, n) < 0.0 ? obb_negate(n) : n, .gap = largest};
}

/* ---- Relation and extent --------------------------------------------------------------------- */

/* Returns how far the other box reaches out of the lane's own one at most. If this is <= 0, the
 * other box is inside. */
static lanes reach_out(const struct pair *p, int dimensions)
{
    lanes reach = spread(-HUGE_VAL);
    for (int i = 0; i < dimensions; i++) {
        const lanes other = exchanged(p->h[0]) * p->m[i][0] + exchanged(p->h[1]) * p->m[i][1] +
                            exchanged(p->h[2]) * p->m[i][2];
        const lanes out = magnitude(p->t[i]) + other - p->h[i];
        reach = (lanes){larger(reach[0], out[0]), larger(reach[1], out[1])};
    }
    return reach;
}

/* Returns the distance of the farthest corners. For each corner of one box the farthest corner
 * of the other is known by its signs. The corners of both boxes are tried, to keep the result
 * symmetric. */
static double extent_of(const struct pair *p)
{
    lanes farthest = {0.0, 0.0};
    for (int corner = 0; corner < 8; corner++) {
        const lanes x[3] = {corner & 1 ? p->h[0] : -p->h[0], corner & 2 ? p->h[1] : -p->h[1],
                            corner & 4 ? p->h[2] : -p->h[2]};
        lanes sum = dot(x, p->t);
        for (int j = 0; j < 3; j++) {
            const lanes along = x[0] * p->r[0][j] + x[1] * p->r[1][j] + x[2] * p->r[2][j];
            sum += exchanged(p->h[j]) * magnitude(along + exchanged(p->t[j]));
        }
        farthest = (lanes){larger(farthest[0], sum[0]), larger(farthest[1], sum[1])};
    }
    const lanes h2 = dot(p->h, p->h);
    return sqrt(obb_dot(p->d, p->d) + (h2[0] + h2[1]) + 2.0 * larger(farthest[0], farthest[1]));
}

double obb_sat_extent(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    set_pair(&p, a, b);
    return extent_of(&p);
}

obb_relation obb_sat_relation(const obb_solid *a, const obb_solid *b)
{
    struct pair p;
    set_pair(&p, a, b);
    const double slack = rounding_of(&p), touching = 1e-12 * extent_of(&p);
    double gaps[OBB_AXES];
    const double gap = set_gaps(a, b, &p, slack, gaps);
    if (gap > touching)
        return OBB_SEPARATE;
    const lanes reach = reach_out(&p, a->dimensions);
    if (reach[0] <= slack)
        return OBB_CONTAINS;
    if (reach[1] <= slack)
        return OBB_INSIDE;
    return gap >= -touching ? OBB_TOUCHING : OBB_INTERSECTING;
}

const char *obb_sat_axis_name(int axis)
{
    static const char *const names[OBB_AXES] = {
        "a.x",     "a.y",     "a.z",     "b.x",     "b.y",     "b.z",     "a.x*b.x", "a.x*b.y",
        "a.x*b.z", "a.y*b.x", "a.y*b.y", "a.y*b.z", "a.z*b.x", "a.z*b.y", "a.z*b.z"};
    assert(0 <= axis && axis < OBB_AXES);
    return names[axis];
}
