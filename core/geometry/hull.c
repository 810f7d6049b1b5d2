#include "core/geometry/hull.h"

#include "core/base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    MOST_CORNERS = 65536, /* the proof in hull.h holds up to here */
    POLLED = 16384,       /* points between two polls: 0.2 ms */
    POLLED_TURNS = 4096 /* corners of a polygon that the calipers pass between two polls: 0.2 ms */
};

static const double grid_steps = 1099511627775.0; /* 2^40 - 1 */
static const double left_out =
    0x1p-37; /* a point of at most this excess (see place) is no corner */

/* A floating determinant this small beside its terms is computed again with whole numbers. So
 * all are right within 2^-18. */
static const double cancelled = 0x1p-32;

/* Corners of a polygon stick out by more than this share of its size. This is ten times the
 * rounding error of projecting points on a plane, so heights over an edge rise and fall only
 * once on the way round. */
static const double flat_margin = 4e-15;

/* Holds four times a determinant of three differences: 125 bits. */
__extension__ typedef __int128 wide;

struct face {
    obb_hull_face shape;
    double normal[3]; /* not a unit; in steps squared */
    double weight[3]; /* sums of the magnitudes whose difference each part of the normal is */
    double depth;     /* of the inner point under the plane, times the normal's length */
    double excess;    /* of the farthest point outside (see place) */
    uint32_t farthest, outside; /* points: the farthest, and the head of the list */
    bool alive, visible;
};

struct builder {
    double (*grid)[3]; /* whole numbers, 0 to 2^40 - 1 */
    double inner[3];   /* a point inside all hulls, in quarter steps */
    uint32_t *next;    /* by point: the next of those outside the same face */
    struct face *face;
    uint32_t face_count; /* ever used, at most 2 * limit */
    uint32_t *free;      /* faces to use again */
    uint32_t free_count;
    uint32_t *corner; /* by corner: its point */
    uint32_t corner_count;
    uint32_t *start; /* by corner: the new face whose first corner it is */
    uint32_t *fresh; /* faces made for the corner at hand */
    uint32_t *queue; /* visible faces */
    const atomic_bool *cancel;
};

/* Polls once every POLLED points. Returns false if the work is cancelled. */
static bool goes_on(const atomic_bool *cancel, size_t point)
{
    return point % POLLED != 0 || !obb_cancelled(cancel);
}

/* ---- Which side ------------------------------------------------------------------------------ */

static void differences(const struct builder *b, uint32_t from, uint32_t to, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = b->grid[to][k] - b->grid[from][k]; /* exact */
}

static wide determinant(const double u[3], const double v[3], const double w[3])
{
    int64_t a[3], c[3], d[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (int64_t)u[k];
        c[k] = (int64_t)v[k];
        d[k] = (int64_t)w[k];
    }
    return ((wide)a[1] * c[2] - (wide)a[2] * c[1]) * d[0] +
           ((wide)a[2] * c[0] - (wide)a[0] * c[2]) * d[1] +
           ((wide)a[0] * c[1] - (wide)a[1] * c[0]) * d[2];
}

/* Returns x as a double, within 2^-52 and of the right sign. This conversion does not call the
 * compiler's library. */
static double rounded(wide x)
{
    const wide m = x < 0 ? -x : x;
    const double size = (double)(uint64_t)(m >> 64) * 0x1p64 + (double)(uint64_t)m;
    return x < 0 ? -size : size;
}

/* Returns d, taken from the face's first corner, along the face's normal (not a unit): positive
 * outside, 0 on the plane. The components of d are whole numbers of quarter steps. The sign is
 * exact, the magnitude right within 2^-18 of itself. */
static double along_normal(const struct builder *b, const struct face *f, const double d[3])
{
    const double sum = f->normal[0] * d[0] + f->normal[1] * d[1] + f->normal[2] * d[2];
    /* Normal, products and sums are off by less than 5 * 2^-53 of this. */
    const double terms =
        f->weight[0] * fabs(d[0]) + f->weight[1] * fabs(d[1]) + f->weight[2] * fabs(d[2]);
    if (fabs(sum) > cancelled * terms)
        return sum;
    const uint32_t at = b->corner[f->shape.corner[0]];
    const double quarters[3] = {4.0 * d[0], 4.0 * d[1], 4.0 * d[2]};
    double u[3], v[3];
    differences(b, at, b->corner[f->shape.corner[1]], u);
    differences(b, at, b->corner[f->shape.corner[2]], v);
    return 0.25 * rounded(determinant(u, v, quarters));
}

/* Returns the point's distance from the face's plane times the normal's length: positive
 * outside. */
static double side(const struct builder *b, const struct face *f, uint32_t point)
{
    double d[3];
    differences(b, b->corner[f->shape.corner[0]], point, d);
    return along_normal(b, f, d);
}

/* ---- Faces ----------------------------------------------------------------------------------- */

static uint32_t add_face(struct builder *b, uint32_t i, uint32_t j, uint32_t k)
{
    const uint32_t number = b->free_count > 0 ? b->free[--b->free_count] : b->face_count++;
    struct face *f = &b->face[number];
    *f = (struct face){
        .shape = {.corner = {i, j, k}}, .outside = NONE, .farthest = NONE, .alive = true};
    double u[3], v[3];
    differences(b, b->corner[i], b->corner[j], u);
    differences(b, b->corner[i], b->corner[k], v);
    for (int n = 0; n < 3; n++) {
        const double p = u[(n + 1) % 3] * v[(n + 2) % 3], q = u[(n + 2) % 3] * v[(n + 1) % 3];
        f->normal[n] = p - q;
        f->weight[n] = fabs(p) + fabs(q);
    }
    const double *at = b->grid[b->corner[i]];
    f->depth = -along_normal(
        b, f, (double[]){b->inner[0] - at[0], b->inner[1] - at[1], b->inner[2] - at[2]});
    return number;
}

/* Gives the point to the face of the largest excess: the point's height above the face's plane,
 * divided by the depth of the inner point under it. A point that lies outside of no face is
 * inside the hull and forgotten. The proof in hull.h shows why it is enough to test the faces
 * that replace the point's own one. The distance from the plane would be a wrong measure: a
 * point may lie a last bit above a plane and far beside the face. */
static void place(struct builder *b, uint32_t point, const uint32_t *faces, uint32_t count)
{
    struct face *best = NULL;
    double excess = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        struct face *f = &b->face[faces[i]];
        const double s = side(b, f, point);
        if (s <= 0.0)
            continue;
        const double e = s / f->depth;
        if (best == NULL || e > excess) {
            best = f;
            excess = e;
        }
    }
    if (best == NULL)
        return;
    b->next[point] = best->outside;
    best->outside = point;
    if (best->farthest == NONE || excess > best->excess) {
        best->farthest = point;
        best->excess = excess;
    }
}

/* Returns the face with the farthest point outside, or NONE if no point is worth a corner. */
static uint32_t farthest_face(const struct builder *b)
{
    uint32_t best = NONE;
    double excess = left_out;
    for (uint32_t i = 0; i < b->face_count; i++)
        if (b->face[i].alive && b->face[i].excess > excess) {
            best = i;
            excess = b->face[i].excess;
        }
    return best;
}

static int edge_to(const struct face *f, uint32_t neighbour)
{
    return f->shape.across[0] == neighbour ? 0 : f->shape.across[1] == neighbour ? 1 : 2;
}

/* Makes the farthest point outside `start` a corner. The faces visible from it are removed, and
 * a fan of faces from it to the border of the visible part takes their place. Exact signs make
 * this border one closed loop. Returns false if it was cancelled. */
static bool add_corner(struct builder *b, uint32_t start)
{
    const uint32_t point = b->face[start].farthest;
    const uint32_t apex = b->corner_count++;
    b->corner[apex] = point;

    uint32_t seen = 0;
    b->queue[seen++] = start;
    b->face[start].visible = true;
    for (uint32_t i = 0; i < seen; i++)
        for (int e = 0; e < 3; e++) {
            const uint32_t other = b->face[b->queue[i]].shape.across[e];
            if (!b->face[other].visible && side(b, &b->face[other], point) > 0.0) {
                b->face[other].visible = true;
                b->queue[seen++] = other;
            }
        }

    uint32_t fresh = 0;
    for (uint32_t i = 0; i < seen; i++)
        for (int e = 0; e < 3; e++) {
            const uint32_t old = b->queue[i], outer = b->face[old].shape.across[e];
            if (b->face[outer].visible)
                continue;
            const uint32_t from = b->face[old].shape.corner[e],
                           to = b->face[old].shape.corner[(e + 1) % 3];
            const uint32_t made = add_face(b, from, to, apex);
            b->face[made].shape.across[0] = outer;
            b->face[outer].shape.across[edge_to(&b->face[outer], old)] = made;
            b->start[from] = made;
            b->fresh[fresh++] = made;
        }
    for (uint32_t i = 0; i < fresh; i++) {
        struct face *f = &b->face[b->fresh[i]];
        const uint32_t after = b->start[f->shape.corner[1]];
        f->shape.across[1] = after;
        b->face[after].shape.across[2] = b->fresh[i];
    }
    size_t tests = 0; /* of points against faces since the last poll */
    for (uint32_t i = 0; i < seen; i++) {
        struct face *f = &b->face[b->queue[i]];
        for (uint32_t p = f->outside, next; p != NONE; p = next, tests += fresh) {
            if (tests >= POLLED) {
                tests = 0;
                if (obb_cancelled(b->cancel))
                    return false;
            }
            next = b->next[p];
            if (p != point)
                place(b, p, b->fresh, fresh);
        }
        f->alive = f->visible = false;
        b->free[b->free_count++] = b->queue[i];
    }
    return true;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* Lays the cloud on the grid. Returns false if it has no extent along one of the axes, or if it
 * was cancelled. */
static bool lay_on_grid(struct builder *b, const obb_vec3 *points, size_t count,
                        const obb_vec3 axis[static 3])
{
    for (int k = 0; k < 3; k++) {
        double low = 0.0, high = 0.0; /* of points[0] */
        for (size_t i = 0; i < count; i++) {
            if (!goes_on(b->cancel, i))
                return false;
            const double x = obb_dot(obb_sub(points[i], points[0]), axis[k]);
            b->grid[i][k] = x;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        if (high - low < 1e-300)
            return false;
        for (size_t i = 0; i < count; i++)
            b->grid[i][k] = floor((b->grid[i][k] - low) / (high - low) * grid_steps + 0.5);
    }
    return true;
}

/* Finds four points that span a volume: the two farthest along an axis, the farthest from their
 * line, and the farthest from the plane of the three. Returns false if there are none, or if it was
 * cancelled. */
static bool first_corners(struct builder *b, size_t count)
{
    uint32_t at[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        at[0] = b->grid[i][0] < b->grid[at[0]][0] ? i : at[0];
        at[1] = b->grid[i][0] > b->grid[at[1]][0] ? i : at[1];
    }
    double line[3], best = 0.0;
    differences(b, at[0], at[1], line);
    for (uint32_t i = 0; i < count; i++) {
        if (!goes_on(b->cancel, i))
            return false;
        double d[3];
        differences(b, at[0], i, d);
        const double x = line[1] * d[2] - line[2] * d[1], y = line[2] * d[0] - line[0] * d[2],
                     z = line[0] * d[1] - line[1] * d[0];
        const double size = x * x + y * y + z * z;
        if (size > best) {
            best = size;
            at[2] = i;
        }
    }
    if (best == 0.0)
        return false;
    memcpy(b->corner, at, sizeof at);
    b->corner_count = 4;
    const uint32_t base = add_face(b, 0, 1, 2);
    double farthest = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (!goes_on(b->cancel, i))
            return false;
        const double s = side(b, &b->face[base], i);
        if (fabs(s) > fabs(farthest)) {
            farthest = s;
            b->corner[3] = i;
        }
    }
    b->face_count = 0;
    if (farthest == 0.0)
        return false;
    if (farthest > 0.0) { /* turn the base so that the fourth is behind it */
        const uint32_t swap = b->corner[1];
        b->corner[1] = b->corner[2];
        b->corner[2] = swap;
    }
    for (int k = 0; k < 3; k++)
        b->inner[k] = 0.25 * (b->grid[b->corner[0]][k] + b->grid[b->corner[1]][k] +
                              b->grid[b->corner[2]][k] + b->grid[b->corner[3]][k]);
    return true;
}

/* Returns false if it was cancelled. */
static bool build(struct builder *b, size_t count, size_t limit)
{
    const uint32_t faces[4] = {add_face(b, 0, 1, 2), add_face(b, 0, 3, 1), add_face(b, 1, 3, 2),
                               add_face(b, 2, 3, 0)};
    const uint32_t across[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (uint32_t i = 0; i < 4; i++)
        memcpy(b->face[i].shape.across, across[i], sizeof across[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (!goes_on(b->cancel, i))
            return false;
        place(b, i, faces, 4);
    }
    for (uint32_t f; b->corner_count < limit && (f = farthest_face(b)) != NONE;) {
        if (obb_cancelled(b->cancel) || !add_corner(b, f))
            return false;
    }
    return true;
}

/* Writes the hull with its remaining faces and corners numbered anew. A corner may be missing:
 * the farthest point outside one face need not be the farthest in its direction, so later
 * corners may have enclosed it. */
static obb_status take(struct builder *b, struct obb_budget *budget, obb_hull *hull)
{
    hull->whole = farthest_face(b) == NONE;
    uint32_t *face_number = b->queue, *corner_number = b->start, faces = 0, corners = 0;
    for (uint32_t i = 0; i < b->corner_count; i++)
        corner_number[i] = NONE;
    for (uint32_t i = 0; i < b->face_count; i++) {
        if (!b->face[i].alive)
            continue;
        face_number[i] = faces++;
        for (int e = 0; e < 3; e++) {
            const uint32_t c = b->face[i].shape.corner[e];
            if (corner_number[c] == NONE)
                corner_number[c] = corners++;
        }
    }
    assert(faces == 2 * corners - 4); /* Euler's formula for a closed triangulated surface */
    hull->corner = obb_budget_malloc(budget, corners, sizeof *hull->corner);
    hull->face = obb_budget_malloc(budget, faces, sizeof *hull->face);
    if (hull->corner == NULL || hull->face == NULL)
        return OBB_NO_MEMORY;
    hull->corner_count = corners;
    hull->face_count = faces;
    for (uint32_t i = 0; i < b->corner_count; i++)
        if (corner_number[i] != NONE)
            hull->corner[corner_number[i]] = b->corner[i];
    for (uint32_t i = 0; i < b->face_count; i++) {
        if (!b->face[i].alive)
            continue;
        obb_hull_face *f = &hull->face[face_number[i]];
        for (int e = 0; e < 3; e++) {
            f->corner[e] = corner_number[b->face[i].shape.corner[e]];
            f->across[e] = face_number[b->face[i].shape.across[e]];
        }
    }
    return OBB_OK;
}

obb_status obb_hull_init(obb_hull *hull, const obb_vec3 *points, size_t count,
                         const obb_vec3 axis[static 3], size_t limit, const atomic_bool *cancel,
                         struct obb_budget *budget)
{
    assert(limit >= 4 && limit <= MOST_CORNERS && count < NONE);
    *hull = (obb_hull){.whole = true};
    limit = count > limit ? limit : count < 4 ? 4 : count;
    /* New faces are made before the ones they replace are free again. */
    const size_t faces = 4 * limit;
    struct builder b = {
        .grid = obb_budget_malloc(budget, count, sizeof *b.grid),
        .next = obb_budget_malloc(budget, count, sizeof *b.next),
        .face = obb_budget_malloc(budget, faces, sizeof *b.face),
        .free = obb_budget_malloc(budget, faces, sizeof *b.free),
        .corner = obb_budget_malloc(budget, limit, sizeof *b.corner),
        .start = obb_budget_malloc(budget, limit, sizeof *b.start),
        .fresh = obb_budget_malloc(budget, faces, sizeof *b.fresh),
        .queue = obb_budget_malloc(budget, faces, sizeof *b.queue),
        .cancel = cancel,
    };
    obb_status st = OBB_NO_MEMORY;
    if (b.grid != NULL && b.next != NULL && b.face != NULL && b.free != NULL && b.corner != NULL &&
        b.start != NULL && b.fresh != NULL && b.queue != NULL) {
        st = OBB_OK;
        if (lay_on_grid(&b, points, count, axis) && first_corners(&b, count) &&
            build(&b, count, limit))
            st = take(&b, budget, hull);
        else if (obb_cancelled(cancel))
            st = OBB_CANCELLED;
    }
    obb_budget_free(b.grid);
    obb_budget_free(b.next);
    obb_budget_free(b.face);
    obb_budget_free(b.free);
    obb_budget_free(b.corner);
    obb_budget_free(b.start);
    obb_budget_free(b.fresh);
    obb_budget_free(b.queue);
    if (st != OBB_OK)
        obb_hull_fini(hull);
    return st;
}

void obb_hull_fini(obb_hull *hull)
{
    obb_budget_free(hull->corner);
    obb_budget_free(hull->face);
    *hull = (obb_hull){0};
}

/* ---- In the plane ---------------------------------------------------------------------------- */

static int by_x_then_y(const void *left, const void *right)
{
    const obb_flat *a = left, *b = right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return a->y < b->y ? -1 : a->y > b->y;
}

/* Returns twice the area of the triangle, positive if it is counter-clockwise. */
static double turn(obb_flat a, obb_flat b, obb_flat c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Adds the point to the chain that starts at out[first], and returns the new length. Points come
 * in the order of x then y, and the two products of a turn cancel only if the three points lie
 * on one line. So the chain is convex, however close to upright it is. */
static size_t extend(obb_flat *out, size_t n, size_t first, obb_flat point)
{
    while (n >= first + 2 && turn(out[n - 2], out[n - 1], point) <= 0.0)
        n--;
    if (n == 0 || by_x_then_y(&out[n - 1], &point) != 0)
        out[n++] = point;
    return n;
}

/* Returns whether b lies within margin of the way from a to c. */
static bool on_the_way(obb_flat a, obb_flat b, obb_flat c, double margin)
{
    const double x = b.x - a.x, y = b.y - a.y, along = x * (c.x - b.x) + y * (c.y - b.y);
    const double reach = fabs(c.x - a.x) + fabs(c.y - a.y);
    return fabs(x) + fabs(y) <= margin || (along >= 0.0 && turn(a, b, c) <= margin * reach);
}

/* Removes the corners of a convex polygon that stick out by at most margin. Returns the number
 * of corners left, or 0 if it was cancelled. */
static size_t smoothed(obb_flat *polygon, size_t count, double margin, const atomic_bool *cancel)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!goes_on(cancel, i))
            return 0;
        while (n >= 2 && on_the_way(polygon[n - 2], polygon[n - 1], polygon[i], margin))
            n--;
        polygon[n++] = polygon[i];
    }
    while (n >= 3 && on_the_way(polygon[n - 2], polygon[n - 1], polygon[0], margin))
        n--;
    while (n >= 3 && on_the_way(polygon[n - 1], polygon[0], polygon[1], margin)) {
        n--;
        memmove(polygon, polygon + 1, n * sizeof *polygon);
    }
    return n;
}

size_t obb_hull_flat(obb_flat *points, size_t count, const atomic_bool *cancel, obb_flat *out)
{
    if (count == 0 || !obb_sort_by(points, count, sizeof *points, by_x_then_y, out, cancel))
        return 0;
    double low = points[0].y, high = low;
    for (size_t i = 1; i < count; i++) {
        low = points[i].y < low ? points[i].y : low;
        high = points[i].y > high ? points[i].y : high;
    }
    /* The chain runs from left to right below the line of the outermost points, and back above
     * the line. Each point is tested once, because rounding might put it on both sides. */
    const obb_flat first = points[0], last = points[count - 1];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!goes_on(cancel, i))
            return 0;
        if (turn(first, last, points[i]) <= 0.0)
            n = extend(out, n, 0, points[i]);
    }
    const size_t turned = n - 1;
    for (size_t i = count - 1; i-- > 1;) {
        if (!goes_on(cancel, i))
            return 0;
        if (turn(first, last, points[i]) > 0.0)
            n = extend(out, n, turned, points[i]);
    }
    n = extend(out, n, turned, first);
    n = n > 1 ? n - 1 : n; /* the first came round again */
    return smoothed(out, n, flat_margin * fmax(last.x - first.x, high - low), cancel);
}

bool obb_hull_rectangle(const obb_flat *polygon, size_t count, const atomic_bool *cancel,
                        double *out_area, obb_flat *out_direction)
{
    assert(count >= 3);
    double smallest = HUGE_VAL;
    size_t right = 1, top = 1, left = 1;
    for (size_t i = 0; i < count; i++) {
        if (i % POLLED_TURNS == 0 && obb_cancelled(cancel))
            return false;
        const obb_flat a = polygon[i], b = polygon[(i + 1) % count];
        const double dx = b.x - a.x, dy = b.y - a.y, length = sqrt(dx * dx + dy * dy);
        if (length == 0.0)
            continue;
        const double x = dx / length, y = dy / length;
#define ALONG(n)  ((polygon[(n) % count].x - a.x) * x + (polygon[(n) % count].y - a.y) * y)
#define ACROSS(n) ((polygon[(n) % count].y - a.y) * x - (polygon[(n) % count].x - a.x) * y)
        if (right < i + 1)
            right = i + 1;
        while (right < i + count && ALONG(right + 1) > ALONG(right))
            right++;
        if (top < right)
            top = right;
        while (top < i + count && ACROSS(top + 1) > ACROSS(top))
            top++;
        if (left < top)
            left = top;
        while (left < i + count && ALONG(left + 1) < ALONG(left))
            left++;
        const double area = (ALONG(right) - ALONG(left)) * ACROSS(top);
#undef ALONG
#undef ACROSS
        if (area < smallest) {
            smallest = area;
            *out_direction = (obb_flat){x, y};
        }
    }
    *out_area = smallest;
    return true;
}
