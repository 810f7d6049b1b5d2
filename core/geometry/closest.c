#include "core/geometry/closest.h"

#include "core/geometry/exact.h"
#include "core/geometry/order.h"
#include "core/geometry/sat.h"

#include <float.h>

/* ---- A segment against a box, in the box's frame --------------------------------------------- */

struct line {
    double at[3], along[3]; /* at + t * along; t runs over an interval */
};

static double outside(double coordinate, double half)
{
    return coordinate > half ? coordinate - half : coordinate < -half ? coordinate + half : 0.0;
}

static double distance2_at(const struct line *line, const double half[static 3], double t)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const double e = outside(line->at[i] + t * line->along[i], half[i]);
        sum += e * e;
    }
    return sum;
}

/* The t at which a line enters and leaves the slab of each axis, and the square of its speed
 * along that axis. */
struct stops {
    double enter[3], leave[3], weight[3];
};

/* A line parallel to a slab has no stops there: a weight of 0 makes the axis count for nothing. */
static void set_stops(struct stops *out, const struct line *line, const double half[static 3])
{
    for (int i = 0; i < 3; i++) {
        const double along = line->along[i], square = along * along;
        out->weight[i] = square >= DBL_MIN ? square : 0.0;
        const double inverse = square >= DBL_MIN ? 1.0 / along : 0.0;
        const double t = (-half[i] - line->at[i]) * inverse, u = (half[i] - line->at[i]) * inverse;
        out->enter[i] = t < u ? t : u;
        out->leave[i] = t < u ? u : t;
    }
}

/* Returns half the derivative of the squared distance, which never falls as t grows and is
 * linear between stops. It is computed from the stops and not from coordinates, so each term has
 * the right sign. So its sign cannot change by rounding where a fast coordinate comes to rest in
 * its slab beside a slow one, and its errors are those of the stops, that is of the box's size. */
static double slope_at(const struct stops *s, double t)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const double past = t < s->enter[i]   ? t - s->enter[i]
                            : t > s->leave[i] ? t - s->leave[i]
                                              : 0.0;
        sum += s->weight[i] * past;
    }
    return sum;
}

/* Returns the t in [low, high] at which the line is closest to the box. */
static double closest_on_line(const struct stops *s, double low, double high)
{
    if (slope_at(s, low) >= 0.0)
        return low;
    if (slope_at(s, high) <= 0.0)
        return high;
    for (int i = 0; i < 6; i++) {
        const double t = i < 3 ? s->enter[i] : s->leave[i - 3];
        if (low < t && t < high) {
            if (slope_at(s, t) < 0.0)
                low = t;
            else
                high = t;
        }
    }
    /* There is no stop between low and high, so the derivative is linear there. Its zero is the
     * weighted mean of its stops. */
    double sum = 0.0, weight = 0.0;
    for (int i = 0; i < 3; i++)
        if (s->enter[i] >= high || s->leave[i] <= low) {
            sum += s->weight[i] * (s->enter[i] >= high ? s->enter[i] : s->leave[i]);
            weight += s->weight[i];
        }
    const double t = sum / weight;
    return t < low ? low : t > high ? high : t;
}

/* ---- Two boxes ------------------------------------------------------------------------------- */

/* The pair has half extents of its own, because overlapping boxes are shrunk. */
struct pair {
    const obb_solid *box[2];
    double half[2][3];
    double t[2][3];  /* centre of the other box, in the frame of each */
    double r[3][3];  /* cosines: axis i of the first with axis j of the second */
    obb_vec3 d;      /* from centre to centre */
    obb_vec3 normal; /* an axis, from the first to the second; they are `gap` apart along it */
    double gap;
    double rounding; /* of a length of the pair */
};

struct found {
    double distance2;
    int side, direction; /* an edge of this box */
    double own[3];       /* the point on it, in the frame of its box */
    double other[3];     /* the same point in the frame of the other box */
};

static void set_half(struct pair *p, double scale)
{
    for (int side = 0; side < 2; side++) {
        const obb_vec3 h = p->box[side]->half_extents;
        p->half[side][0] = h.x * scale;
        p->half[side][1] = h.y * scale;
        p->half[side][2] = h.z * scale;
    }
}

static double cosine(const struct pair *p, int side, int own, int other)
{
    return side == 0 ? p->r[own][other] : p->r[other][own];
}

/* Tries one edge against the other box: parallel to axis `direction` of its own box, at the
 * corner own[]. */
static void try_edge(const struct pair *p, int side, int direction, const double own[static 3],
                     struct found *best)
{
    struct line line;
    for (int j = 0; j < 3; j++) {
        line.at[j] = p->t[1 - side][j];
        for (int k = 0; k < 3; k++)
            if (k != direction)
                line.at[j] += own[k] * cosine(p, side, k, j);
        line.along[j] = cosine(p, side, direction, j);
    }
    const double h = p->half[side][direction];
    struct stops stops;
    set_stops(&stops, &line, p->half[1 - side]);
    const double t = closest_on_line(&stops, -h, h);
    const double distance2 = distance2_at(&line, p->half[1 - side], t);
    if (distance2 >= best->distance2)
        return;
    *best = (struct found){.distance2 = distance2, .side = side, .direction = direction};
    for (int k = 0; k < 3; k++) {
        best->own[k] = k == direction ? t : own[k];
        best->other[k] = line.at[k] + t * line.along[k];
    }
}

/* Tries the edges of one box that lie on the side away from the other box along the axes of
 * `turned` (bit 0: the next axis after the edge's own, bit 1: the one after that). An edge that
 * lies behind the foremost one is farther by that much along the normal, and is left out if this
 * makes it too far. */
static void try_edges(const struct pair *p, int side, unsigned turned, struct found *best)
{
    const int dimensions = p->box[0]->dimensions;
    double toward[3]; /* the normal in the box's frame, pointing to the other box */
    for (int k = 0; k < 3; k++) {
        const double n = obb_dot(p->box[side]->axis[k], p->normal);
        toward[k] = side == 0 ? n : -n;
    }
    for (int i = 0; i < dimensions; i++) {
        double own[3] = {0.0, 0.0, 0.0}, behind = 0.0;
        bool again = false; /* the same edge as one that is not turned, or no edge of the plane */
        for (int k = 1; k < 3; k++) {
            const int axis = (i + k) % 3;
            const double h = p->half[side][axis];
            own[axis] = toward[axis] < 0.0 ? -h : h;
            if ((turned & (unsigned)k) != 0) {
                own[axis] = -own[axis];
                behind += 2.0 * h * fabs(toward[axis]);
                again = again || h == 0.0;
            }
        }
        const double least = p->gap + behind;
        if (!again && (turned == 0 || least * least < best->distance2))
            try_edge(p, side, i, own, best);
    }
}

/* From coordinates along the box's axes to a vector of the scene. */
static obb_vec3 in_scene(const obb_solid *box, const double own[static 3])
{
    return obb_combine(box->axis, (obb_vec3){own[0], own[1], own[2]});
}

static double clamped(double x, double h) { return x > h ? h : x < -h ? -h : x; }

/* Writes both points, each from the centre of its box. */
static void points_of(const struct pair *p, const struct found *found, obb_vec3 out[static 2])
{
    const int other = 1 - found->side;
    double on_other[3];
    for (int k = 0; k < 3; k++)
        on_other[k] = clamped(found->other[k], p->half[other][k]);
    out[found->side] = in_scene(p->box[found->side], found->own);
    out[other] = in_scene(p->box[other], on_other);
}

/* Takes the direction between the points found as the normal if the gap along it is larger: no
 * two points are closer than this gap. Returns whether only rounding is left between the gap and
 * the distance. */
static bool aim(struct pair *p, const struct found *found)
{
    obb_vec3 point[2];
    points_of(p, found, point);
    const obb_vec3 way = obb_sub(obb_add(p->d, point[1]), point[0]);
    const double length = obb_length(way);
    if (length <= p->rounding)
        return true;
    const obb_vec3 n = obb_scale(way, 1.0 / length);
    double gap = obb_dot(p->d, n);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3; k++)
            gap -= p->half[side][k] * fabs(obb_dot(p->box[side]->axis[k], n));
    if (gap > p->gap) {
        p->gap = gap;
        p->normal = n;
    }
    return length - gap <= p->rounding;
}

/* Tries the foremost edges, again as long as the points found improve the normal. Then tries the
 * edges that the gap along the normal does not rule out, which are few.
 *
 * No edge needs to be turned on both axes. Proof: the way between closest points makes less than
 * a right angle with a normal along which there is a gap. So along one of the box's axes at
 * least the way points to the same side as the normal, and the closest point is not turned
 * there. If this axis is the edge's own, the point is the end of the edge, and so on another
 * edge too; if the point is inside of the edge, the way is perpendicular to the edge. */
static struct found closest_edge(struct pair *p)
{
    struct found best = {.distance2 = HUGE_VAL};
    double before;
    do {
        before = best.distance2;
        try_edges(p, 0, 0, &best);
        try_edges(p, 1, 0, &best);
        if (aim(p, &best))
            return best;
    } while (best.distance2 < before);
    for (unsigned turned = 1; turned < 3; turned++) {
        try_edges(p, 0, turned, &best);
        try_edges(p, 1, turned, &best);
    }
    return best;
}

/* ---- Overlapping boxes ----------------------------------------------------------------------- */

/* Returns the factor by which both boxes must be scaled about their centres for their shadows on
 * n to touch, 1 at most. */
static double share_along(const struct pair *p, obb_vec3 n)
{
    double reach = 0.0;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3; k++)
            reach += p->half[side][k] * fabs(obb_dot(p->box[side]->axis[k], n));
    const double way = fabs(obb_dot(p->d, n));
    return way < reach ? way / reach : way > 0.0 ? 1.0 : 0.0;
}

static void take_share(struct pair *p, obb_vec3 n, double *most)
{
    const double share = share_along(p, n);
    if (share > *most) {
        *most = share;
        p->normal = obb_dot(p->d, n) < 0.0 ? obb_negate(n) : n;
    }
}

/* Shrinks both boxes about their centres until they just touch. */
static void shrink(struct pair *p)
{
    double most = 0.0;
    const int dimensions = p->box[0]->dimensions;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < dimensions; k++)
            take_share(p, p->box[side]->axis[k], &most);
    for (int i = 0; i < 3 && dimensions == 3; i++)
        for (int j = 0; j < 3; j++) {
            const obb_vec3 n = obb_exact_cross(p->box[0]->axis[i], p->box[1]->axis[j]);
            const double length = obb_length(n);
            if (length >
                0.0) /* any direction is sound: a bad one only fails to improve the share */
                take_share(p, obb_scale(n, 1.0 / length), &most);
        }
    set_half(p, most);
    p->gap = 0.0;
}

/* ---- The calls ------------------------------------------------------------------------------- */

obb_witness obb_closest_boxes(const obb_solid *a, const obb_solid *b)
{
    if (obb_order_exchanged(a, b)) {
        const obb_witness w = obb_closest_boxes(b, a);
        return (obb_witness){.distance = w.distance, .on_a = w.on_b, .on_b = w.on_a};
    }
    const obb_separation s = obb_sat_separation(a, b);
    struct pair p = {
        .box = {a, b}, .d = obb_sub(b->center, a->center), .normal = s.normal, .gap = s.gap};
    for (int i = 0; i < 3; i++) {
        p.t[0][i] = obb_dot(p.d, a->axis[i]);
        p.t[1][i] = -obb_dot(p.d, b->axis[i]);
        for (int j = 0; j < 3; j++)
            p.r[i][j] = obb_dot(a->axis[i], b->axis[j]);
    }
    set_half(&p, 1.0);
    p.rounding =
        0x1p-50 * (obb_length(p.d) + obb_length(a->half_extents) + obb_length(b->half_extents));
    const bool overlap = s.gap <= 0.0;
    if (overlap)
        shrink(&p);

    const struct found found = closest_edge(&p);
    obb_vec3 point[2];
    points_of(&p, &found, point);
    if (overlap) { /* the two points are one up to rounding */
        const obb_vec3 step = obb_sub(obb_add(p.d, point[1]), point[0]);
        const obb_vec3 common = obb_add(a->center, obb_add(point[0], obb_scale(step, 0.5)));
        return (obb_witness){.distance = 0.0, .on_a = common, .on_b = common};
    }
    const double distance = sqrt(found.distance2);
    return (obb_witness){.distance = distance > s.gap ? distance : s.gap,
                         .on_a = obb_add(a->center, point[0]),
                         .on_b = obb_add(b->center, point[1])};
}

obb_witness obb_closest_point(obb_vec3 point, const obb_solid *box)
{
    const obb_vec3 d = obb_sub(point, box->center);
    const double h[3] = {box->half_extents.x, box->half_extents.y, box->half_extents.z};
    double on_box[3], sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const double own = obb_dot(d, box->axis[i]), e = outside(own, h[i]);
        on_box[i] = clamped(own, h[i]);
        sum += e * e;
    }
    if (sum == 0.0)
        return (obb_witness){.distance = 0.0, .on_a = point, .on_b = point};
    return (obb_witness){
        .distance = sqrt(sum), .on_a = point, .on_b = obb_add(box->center, in_scene(box, on_box))};
}

/* Cuts [*low, *high] down to the part of the line inside the box. Returns false if there is
 * none. */
static bool cut(const struct line *line, const double half[static 3], const struct stops *stops,
                double *low, double *high)
{
    for (int i = 0; i < 3; i++) {
        if (stops->weight[i] == 0.0) {
            if (outside(line->at[i], half[i]) != 0.0)
                return false;
            continue;
        }
        *low = stops->enter[i] > *low ? stops->enter[i] : *low;
        *high = stops->leave[i] < *high ? stops->leave[i] : *high;
    }
    return *low <= *high;
}

static obb_vec3 between(obb_vec3 p, obb_vec3 q, double t)
{
    return t == 1.0 ? q : obb_add(p, obb_scale(obb_sub(q, p), t));
}

obb_witness obb_closest_segment(obb_vec3 p, obb_vec3 q, const obb_solid *box)
{
    const obb_vec3 from = obb_sub(p, box->center), way = obb_sub(q, p);
    const double half[3] = {box->half_extents.x, box->half_extents.y, box->half_extents.z};
    struct line line;
    for (int i = 0; i < 3; i++) {
        line.at[i] = obb_dot(from, box->axis[i]);
        line.along[i] = obb_dot(way, box->axis[i]);
    }
    double low = 0.0, high = 1.0;
    struct stops stops;
    set_stops(&stops, &line, half);
    const bool meets = cut(&line, half, &stops, &low, &high);
    const double t = meets ? low + 0.5 * (high - low) : closest_on_line(&stops, 0.0, 1.0);
    const double distance2 = meets ? 0.0 : distance2_at(&line, half, t);
    const obb_vec3 on_segment = between(p, q, t);
    if (distance2 == 0.0)
        return (obb_witness){.distance = 0.0, .on_a = on_segment, .on_b = on_segment};
    double on_box[3];
    for (int i = 0; i < 3; i++)
        on_box[i] = clamped(line.at[i] + t * line.along[i], half[i]);
    return (obb_witness){.distance = sqrt(distance2),
                         .on_a = on_segment,
                         .on_b = obb_add(box->center, in_scene(box, on_box))};
}
