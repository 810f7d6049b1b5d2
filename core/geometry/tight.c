#include "core/geometry/tight.h"

#include "core/geometry/hull.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    FINE_CORNERS = 2048, /* of the hull that stands for the points */
    MAX_CORNERS = 256,   /* of the hull whose edges are tried three by three */
    MIN_CORNERS = 32,
    POLISHED = 16, /* boxes that are refined around the fine hull */
    MAX_ROUNDS = 8 /* of refinement of one box */
};

/* The most triples of edges to try, at about 40 ns each. A sphere's hull of 256 corners has 0.3
 * million, but a prism's has 10 million. */
static const size_t max_triples = 1000000;

/* If the cosine of two unit normals is less than 1 by at most this, their faces are one face,
 * and the edge between them is none. */
static const double coplanar = 1e-14;

/* An axis counts as supporting an edge of the hull up to this share of the cloud's size. A box
 * tried needlessly costs time, and a box missed costs volume. */
static const double support_slack = 1e-9;

/* An axis counts as lying along an edge if the square of the sine between them is below this. */
static const double parallel = 1e-12;

/* A discriminant this small beside its terms counts as 0. */
static const double double_root = 1e-13;

struct edge {
    obb_vec3 direction; /* unit */
    obb_vec3 across[2]; /* units at right angles to it and to each other */
    obb_vec3 from;      /* one end */
    obb_vec3 side[2];   /* unit normals of its two faces */
    obb_vec3 apex[2];   /* their third corners */
};

struct candidate {
    double volume;
    obb_vec3 axis[3];
};

struct search {
    obb_vec3 *corner; /* of the hull, about one of them */
    size_t corner_count;
    obb_vec3 *normal; /* of its faces: units, or zero */
    struct edge *edge;
    size_t edge_count;
    /* edge_count rows of `words`: the edges that can lie in a face next to a face that holds
     * this edge. */
    uint64_t *meets;
    size_t words;
    obb_flat *shadow, *outline; /* of the corners on a plane */
    double slack;
    const atomic_bool *cancel;
    bool cancelled;                  /* a poll said so: the search ends, and has no result */
    struct candidate best[POLISHED]; /* smallest first */
};

/* Polls. Returns false if the search is to end. */
static bool goes_on(struct search *s)
{
    s->cancelled = s->cancelled || obb_cancelled(s->cancel);
    return !s->cancelled;
}

/* Returns v / |v| by one reciprocal, or zero for zero. If the squares would underflow, v is scaled
 * first: a length whose square is denormal has too few digits to divide by. */
static obb_vec3 unit_or_zero(obb_vec3 v)
{
    double square = obb_dot(v, v);
    if (square < 0x1p-960) {
        const double largest = obb_largest_part(v);
        if (largest == 0.0)
            return v;
        v = obb_divide(v, largest);
        square = obb_dot(v, v);
    }
    return obb_scale(v, 1.0 / sqrt(square));
}

/* Returns a unit vector at right angles to the unit vector n, from the first coordinate axis
 * that is not near n. */
static obb_vec3 perpendicular_by_first_small_part(obb_vec3 n)
{
    return unit_or_zero(obb_cross(fabs(n.x) < 0.6   ? (obb_vec3){.x = 1.0}
                                  : fabs(n.y) < 0.6 ? (obb_vec3){.y = 1.0}
                                                    : (obb_vec3){.z = 1.0},
                                  n));
}

/* ---- Candidates ------------------------------------------------------------------------------ */

/* Keeps the box among the best few, unless one of them has the same volume and so is almost
 * surely the same box. */
static void offer(struct candidate best[static POLISHED], double volume, obb_vec3 x, obb_vec3 y,
                  obb_vec3 z)
{
    for (size_t i = 0; i < POLISHED; i++) {
        if (fabs(volume - best[i].volume) <= 1e-12 * volume)
            return;
        if (volume < best[i].volume) {
            memmove(&best[i + 1], &best[i], (POLISHED - 1 - i) * sizeof best[i]);
            best[i] = (struct candidate){.volume = volume, .axis = {x, y, z}};
            return;
        }
    }
}

/* Returns how far the corners reach along a direction. */
static double width(const obb_vec3 *corner, size_t count, obb_vec3 n)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        const double x = obb_dot(corner[i], n);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    return high - low;
}

/* Returns the volume of the smallest box with this axis, and writes another of its axes. shadow
 * and outline have room for count + 1 points. Returns infinity if the axis was noise. */
static double turn_about(const obb_vec3 *corner, size_t count, obb_vec3 axis, obb_flat *shadow,
                         obb_flat *outline, obb_vec3 *out_other)
{
    const obb_vec3 u = perpendicular_by_first_small_part(axis);
    const obb_vec3 v = obb_cross(axis, u);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        shadow[i] = (obb_flat){obb_dot(corner[i], u), obb_dot(corner[i], v)};
        const double x = obb_dot(corner[i], axis);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    const size_t sides = obb_hull_flat(shadow, count, NULL, outline);
    if (sides < 3)
        return HUGE_VAL; /* the axis was noise */
    obb_flat along;
    double area;
    (void)obb_hull_rectangle(outline, sides, NULL, &area, &along);
    *out_other = obb_add(obb_scale(u, along.x), obb_scale(v, along.y));
    return area * (high - low);
}

static void offer_about(struct search *s, obb_vec3 axis)
{
    obb_vec3 other;
    const double volume =
        turn_about(s->corner, s->corner_count, axis, s->shadow, s->outline, &other);
    if (volume < s->best[POLISHED - 1].volume)
        offer(s->best, volume, axis, other, obb_cross(axis, other));
}

/* Tests whether the plane through the edge with this normal (or its opposite) leaves the hull on
 * one side. A convex body is on one side if its two faces at the edge are. Returns the normal's
 * sign, or 0 if the hull is on both sides. */
static int supports(const struct edge *e, obb_vec3 n, double slack)
{
    const double a = obb_dot(obb_sub(e->apex[0], e->from), n),
                 b = obb_dot(obb_sub(e->apex[1], e->from), n);
    if (a <= slack && b <= slack)
        return 1;
    return a >= -slack && b >= -slack ? -1 : 0;
}

/* Offers the boxes with axes x, y, z at right angles to edges e, f, g. x = c a + s b with a and
 * b across e. Then y is along x cross f, and z along x (x f) - f. There remains (x g)(x f) = f
 * g, a quadratic equation for s / c. */
static void offer_three(struct search *s, const struct edge *e, const struct edge *f,
                        const struct edge *g)
{
    const obb_vec3 a = e->across[0], b = e->across[1];
    const double af = obb_dot(a, f->direction), ag = obb_dot(a, g->direction),
                 bf = obb_dot(b, f->direction), bg = obb_dot(b, g->direction),
                 fg = obb_dot(f->direction, g->direction);
    const double p = bf * bg - fg, half_q = 0.5 * (af * bg + bf * ag), r = af * ag - fg;
    const double square = half_q * half_q, discriminant = square - p * r;
    if (discriminant < -double_root * (square + fabs(p * r)))
        return;
    /* The roots are ratios s : c, without cancellation. A double root would be off by the square
     * root of its rounding. */
    const bool twice = discriminant <= double_root * (square + fabs(p * r));
    const double h = -(half_q + (twice ? 0.0 : (half_q < 0.0 ? -1.0 : 1.0) * sqrt(discriminant)));
    const double root[2][2] = {{h, p}, {r, h}};
    for (int i = 0; i < 2; i++) {
        const obb_vec3 x =
            unit_or_zero(obb_add(obb_scale(a, root[i][1]), obb_scale(b, root[i][0])));
        if (supports(e, x, s->slack) == 0)
            continue;
        /* If x is f's own direction, y is across f anyhow, and g determines z. */
        const obb_vec3 xf = obb_cross(x, f->direction), xg = obb_cross(x, g->direction);
        const bool by_f = obb_dot(xf, xf) > parallel;
        if (!by_f && obb_dot(xg, xg) <= parallel)
            continue;
        const obb_vec3 z = unit_or_zero(by_f ? obb_cross(x, xf) : xg), y = obb_cross(z, x);
        if (supports(f, y, s->slack) == 0 || supports(g, z, s->slack) == 0)
            continue;
        const double volume = width(s->corner, s->corner_count, x) *
                              width(s->corner, s->corner_count, y) *
                              width(s->corner, s->corner_count, z);
        if (volume < s->best[POLISHED - 1].volume)
            offer(s->best, volume, x, y, z);
    }
}

/* Returns whether a plane that holds edge e and one that holds f can be at right angles and
 * support the hull. The normals of such planes lie between the normals of the edge's two faces.
 * So if a pair is at right angles, the products at the ends of the two ranges take both signs. */
static bool can_meet(const struct edge *e, const struct edge *f)
{
    int positive = 0, negative = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double d = obb_dot(e->side[i], f->side[j]);
            positive += d > support_slack;
            negative += d < -support_slack;
        }
    return positive < 4 && negative < 4;
}

static void try_faces(struct search *s, const obb_hull *hull)
{
    for (size_t i = 0; i < hull->face_count && goes_on(s); i++) {
        const obb_vec3 n = s->normal[i];
        bool tried = obb_dot(n, n) < 0.5;
        for (int e = 0; e < 3; e++) {
            const uint32_t other = hull->face[i].across[e];
            tried = tried || (other < i && obb_dot(n, s->normal[other]) > 1.0 - coplanar);
        }
        if (!tried)
            offer_about(s, n);
    }
}

static void try_opposite_edges(struct search *s)
{
    for (size_t i = 0; i < s->edge_count && goes_on(s); i++)
        for (size_t j = 0; j < i; j++) {
            const obb_vec3 n = unit_or_zero(obb_cross(s->edge[i].direction, s->edge[j].direction));
            if (obb_dot(n, n) < 0.5)
                continue;
            const int a = supports(&s->edge[i], n, s->slack);
            if (a != 0 && supports(&s->edge[j], n, s->slack) == -a)
                offer_about(s, n);
        }
}

/* Fills the rows. A row holds only edges of smaller number, so each pair and triple comes once.
 * Returns the number of triples. */
static size_t list_meetings(struct search *s)
{
    memset(s->meets, 0, s->edge_count * s->words * sizeof *s->meets);
    size_t triples = 0;
    for (size_t i = 0; i < s->edge_count && goes_on(s); i++) {
        uint64_t *row = &s->meets[i * s->words];
        for (size_t j = 0; j < i; j++) {
            if (!can_meet(&s->edge[i], &s->edge[j]))
                continue;
            row[j / 64] |= (uint64_t)1 << j % 64;
            for (size_t w = 0; w <= j / 64; w++)
                triples += (size_t)__builtin_popcountll(row[w] & s->meets[j * s->words + w]);
        }
    }
    return triples;
}

static void try_triples(struct search *s)
{
    for (size_t i = 0; i < s->edge_count && goes_on(s); i++)
        for (size_t j = 0; j < i; j++) {
            const uint64_t *row = &s->meets[i * s->words], *other = &s->meets[j * s->words];
            if ((row[j / 64] >> j % 64 & 1) == 0)
                continue;
            for (size_t w = 0; w <= j / 64; w++)
                for (uint64_t both = row[w] & other[w]; both != 0; both &= both - 1) {
                    const size_t k = w * 64 + (size_t)__builtin_ctzll(both);
                    offer_three(s, &s->edge[i], &s->edge[j], &s->edge[k]);
                }
        }
}

static void list_normals(struct search *s, const obb_hull *hull)
{
    for (size_t i = 0; i < hull->face_count; i++) {
        const uint32_t *c = hull->face[i].corner;
        s->normal[i] = unit_or_zero(obb_cross(obb_sub(s->corner[c[1]], s->corner[c[0]]),
                                              obb_sub(s->corner[c[2]], s->corner[c[0]])));
    }
}

static void list_edges(struct search *s, const obb_hull *hull)
{
    s->edge_count = 0;
    for (uint32_t i = 0; i < hull->face_count; i++)
        for (int e = 0; e < 3; e++) {
            const obb_hull_face *f = &hull->face[i];
            const uint32_t other = f->across[e];
            if (other < i || obb_dot(s->normal[i], s->normal[other]) > 1.0 - coplanar)
                continue;
            const obb_hull_face *g = &hull->face[other];
            int back = 0; /* the number of the same edge in g */
            while (g->across[back] != i)
                back++;
            const obb_vec3 from = s->corner[f->corner[e]], to = s->corner[f->corner[(e + 1) % 3]];
            const obb_vec3 direction = unit_or_zero(obb_sub(to, from)),
                           across = perpendicular_by_first_small_part(direction);
            s->edge[s->edge_count++] = (struct edge){
                .direction = direction,
                .across = {across, obb_cross(direction, across)},
                .from = from,
                .side = {s->normal[i], s->normal[other]},
                .apex = {s->corner[f->corner[(e + 2) % 3]], s->corner[g->corner[(back + 2) % 3]]},
            };
        }
}

static void search_fini(struct search *s)
{
    obb_budget_free(s->corner);
    obb_budget_free(s->normal);
    obb_budget_free(s->edge);
    obb_budget_free(s->meets);
    obb_budget_free(s->shadow);
    obb_budget_free(s->outline);
}

static obb_status search_init(struct search *s, const obb_vec3 *points, const obb_hull *hull,
                              const atomic_bool *cancel, struct obb_budget *budget)
{
    const size_t edges = hull->face_count / 2 * 3;
    *s = (struct search){
        .corner_count = hull->corner_count, .words = (edges + 63) / 64, .cancel = cancel};
    s->corner = obb_budget_malloc(budget, hull->corner_count, sizeof *s->corner);
    s->normal = obb_budget_malloc(budget, hull->face_count, sizeof *s->normal);
    s->edge = obb_budget_malloc(budget, edges, sizeof *s->edge);
    s->meets = obb_budget_malloc(budget, edges, s->words * sizeof *s->meets);
    s->shadow = obb_budget_malloc(budget, hull->corner_count, sizeof *s->shadow);
    s->outline = obb_budget_malloc(budget, hull->corner_count + 1, sizeof *s->outline);
    if (s->corner == NULL || s->normal == NULL || s->edge == NULL || s->meets == NULL ||
        s->shadow == NULL || s->outline == NULL) {
        search_fini(s);
        return OBB_NO_MEMORY;
    }
    double size = 0.0;
    for (size_t i = 0; i < hull->corner_count; i++) {
        s->corner[i] = obb_sub(points[hull->corner[i]], points[hull->corner[0]]);
        size = fmax(size, obb_length(s->corner[i]));
    }
    s->slack = support_slack * size;
    list_normals(s, hull);
    list_edges(s, hull);
    return OBB_OK;
}

/* Tries the boxes of a hull with few corners. The hull is made smaller until its edges are few
 * enough, too. */
static obb_status search_hull(const obb_vec3 *points, size_t count, const obb_vec3 frame[static 3],
                              const atomic_bool *cancel, struct obb_budget *budget,
                              struct candidate best[static POLISHED], bool *out_whole)
{
    for (size_t limit = MAX_CORNERS;; limit /= 2) {
        obb_hull hull;
        obb_status st = obb_hull_init(&hull, points, count, frame, limit, cancel, budget);
        if (st != OBB_OK || hull.face_count == 0)
            return st;
        struct search s;
        st = search_init(&s, points, &hull, cancel, budget);
        const bool few = st == OBB_OK && (list_meetings(&s) <= max_triples || limit <= MIN_CORNERS);
        if (few) {
            memcpy(s.best, best, sizeof s.best);
            try_faces(&s, &hull);
            try_opposite_edges(&s);
            try_triples(&s);
            memcpy(best, s.best, sizeof s.best);
            *out_whole = hull.whole;
        }
        if (st == OBB_OK) {
            st = s.cancelled ? OBB_CANCELLED : OBB_OK;
            search_fini(&s);
        }
        obb_hull_fini(&hull);
        if (st != OBB_OK || few)
            return st;
    }
}

/* ---- Refinement ------------------------------------------------------------------------------ */

/* Turns the box about each of its axes to the best angle until this gains nothing or it is
 * cancelled. */
static void polish(const obb_vec3 *points, size_t count, const atomic_bool *cancel,
                   obb_flat *shadow, obb_flat *outline, struct candidate *box)
{
    box->volume = width(points, count, box->axis[0]) * width(points, count, box->axis[1]) *
                  width(points, count, box->axis[2]);
    int stuck = 0;
    for (int step = 0; step < 3 * MAX_ROUNDS && stuck < 3 && !obb_cancelled(cancel); step++) {
        const obb_vec3 axis = box->axis[step % 3];
        obb_vec3 other;
        const double volume = turn_about(points, count, axis, shadow, outline, &other);
        stuck++;
        if (volume < box->volume * (1.0 - 1e-12)) {
            box->volume = volume;
            box->axis[(step + 1) % 3] = other;
            box->axis[(step + 2) % 3] = obb_cross(axis, other);
            stuck = 0;
        }
    }
}

/* Polishes all candidates and puts the best in front. */
static obb_status polish_all(const obb_vec3 *points, size_t count, const atomic_bool *cancel,
                             struct obb_budget *budget, struct candidate best[static POLISHED])
{
    obb_flat *shadow = obb_budget_malloc(budget, count, sizeof *shadow);
    obb_flat *outline = obb_budget_malloc(budget, count + 1, sizeof *outline);
    obb_status st = shadow != NULL && outline != NULL ? OBB_OK : OBB_NO_MEMORY;
    for (size_t i = 0; st == OBB_OK && i < POLISHED; i++) {
        polish(points, count, cancel, shadow, outline, &best[i]);
        if (obb_cancelled(cancel))
            st = OBB_CANCELLED;
        if (st == OBB_OK && best[i].volume < best[0].volume)
            best[0] = best[i];
    }
    obb_budget_free(shadow);
    obb_budget_free(outline);
    return st;
}

/* Returns the hull's corners relative to one of them, scaled to a size of 1 so that no square
 * underflows. Returns NULL if there is no memory. The caller frees them. */
static obb_vec3 *scaled_corners(const obb_hull *hull, const obb_vec3 *points,
                                struct obb_budget *budget)
{
    obb_vec3 *corner = obb_budget_malloc(budget, hull->corner_count, sizeof *corner);
    if (corner == NULL)
        return NULL;
    double size = 0.0;
    for (size_t i = 0; i < hull->corner_count; i++) {
        const obb_vec3 d = obb_sub(points[hull->corner[i]], points[hull->corner[0]]);
        size = fmax(size, obb_largest_part(d));
        corner[i] = d;
    }
    for (size_t i = 0; i < hull->corner_count; i++)
        corner[i] = obb_divide(corner[i], size);
    return corner;
}

obb_status obb_tight_axes(const obb_vec3 *points, size_t count, const obb_vec3 frame[static 3],
                          const atomic_bool *cancel, struct obb_budget *budget,
                          obb_vec3 out_axes[static 3])
{
    obb_hull fine;
    obb_status st = obb_hull_init(&fine, points, count, frame, FINE_CORNERS, cancel, budget);
    if (st != OBB_OK)
        return st;
    struct candidate best[POLISHED];
    for (size_t i = 0; i < POLISHED; i++)
        best[i] = (struct candidate){.volume = HUGE_VAL, .axis = {frame[0], frame[1], frame[2]}};
    if (fine.face_count > 0) {
        bool whole = true;
        obb_vec3 *corner = scaled_corners(&fine, points, budget);
        st = corner != NULL
                 ? search_hull(corner, fine.corner_count, frame, cancel, budget, best, &whole)
                 : OBB_NO_MEMORY;
        if (st == OBB_OK && !whole)
            st = polish_all(corner, fine.corner_count, cancel, budget, best);
        obb_budget_free(corner);
    }
    obb_hull_fini(&fine);
    if (st == OBB_OK)
        memcpy(out_axes, best[0].axis, 3 * sizeof *out_axes);
    return st;
}
