#include "core/geometry/clip.h"

#include "core/geometry/order.h"
#include "core/geometry/sat.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* ---- A polyhedron by its edges --------------------------------------------------------------- */

/* The room that six planes can need. A plane cuts an edge once at most, and every cut adds a
 * vertex and an edge. Real counts stay below 40. But if rounding decides what is inside (a plate
 * thinner than an ulp in the plane of a face), only this bound holds. */
enum { FACES = 12, MOST_EDGES = 12 << 6, MOST_VERTICES = 8 + MOST_EDGES - 12 };

struct edge {
    uint16_t from, to;   /* vertices */
    uint8_t left, right; /* faces: seen from outside, looking along the edge */
};

/* Faces 0 to 5 are those of the box that the polyhedron starts as, 6 to 11 those of the planes. */
struct polyhedron {
    double at[MOST_VERTICES][3];
    struct edge edges[MOST_EDGES];
    int vertices, edge_count;
};

/* Makes the box about the origin with these half extents along three axes. axes[] holds the
 * coordinates of the first axis, then the second, then the third. */
static void init_box(struct polyhedron *box, const double half[static 3],
                     const double axes[static 9])
{
    box->vertices = 8;
    for (int v = 0; v < 8; v++)
        for (int c = 0; c < 3; c++) {
            box->at[v][c] = 0.0;
            for (int k = 0; k < 3; k++)
                box->at[v][c] += ((v >> k & 1) != 0 ? half[k] : -half[k]) * axes[3 * k + c];
        }
    box->edge_count = 0;
    for (int i = 0; i < 3; i++)
        for (int v = 0; v < 8; v++) {
            if ((v >> i & 1) != 0)
                continue;
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            const uint8_t face_j = (uint8_t)(2 * j + (v >> j & 1));
            const uint8_t face_k = (uint8_t)(2 * k + (v >> k & 1));
            const bool j_is_left = (v >> j & 1) == (v >> k & 1);
            box->edges[box->edge_count++] = (struct edge){.from = (uint16_t)v,
                                                          .to = (uint16_t)(v | 1 << i),
                                                          .left = j_is_left ? face_j : face_k,
                                                          .right = j_is_left ? face_k : face_j};
        }
}

/* The half space on the inner side of a face of the other box. */
struct plane {
    int axis;
    double sign, limit; /* sign * (limit - coordinate) >= 0 */
    uint8_t face;
};

static double depth_in(const struct plane *plane, const double at[static 3])
{
    return plane->sign * (plane->limit - at[plane->axis]);
}

/* Ends of cut edges that wait in a face for their partner: a boundary that leaves a face's kept
 * part through the plane also comes back through the plane. All ends that wait in one face at a
 * time point the same way: all leave or all come back. */
struct loose {
    int first[FACES]; /* into next, or -1 */
    bool leaves[FACES];
    int next[2 * MOST_VERTICES]; /* by vertex, once for each of its two faces */
};

/* Notes that the boundary of `face` leaves or comes back at `vertex`. If its partner waits, adds
 * the edge along the plane between the two. */
static void close_face(struct polyhedron *p, struct loose *loose, const struct plane *plane,
                       uint8_t face, int vertex, bool leaves)
{
    const int waiting = loose->first[face];
    if (waiting < 0 || loose->leaves[face] == leaves) {
        /* A vertex leaves one face and enters the other. */
        const int own = 2 * vertex + (leaves ? 1 : 0);
        loose->next[own] = waiting;
        loose->first[face] = own;
        loose->leaves[face] = leaves;
        return;
    }
    loose->first[face] = loose->next[waiting];
    const int partner = waiting / 2;
    assert(p->edge_count < MOST_EDGES);
    p->edges[p->edge_count++] = (struct edge){.from = (uint16_t)(leaves ? vertex : partner),
                                              .to = (uint16_t)(leaves ? partner : vertex),
                                              .left = face,
                                              .right = plane->face};
}

static int add_crossing(struct polyhedron *p, const struct plane *plane, const double in[static 3],
                        const double out[static 3])
{
    const double depth = depth_in(plane, in), t = depth / (depth - depth_in(plane, out));
    assert(p->vertices < MOST_VERTICES);
    double *at = p->at[p->vertices];
    for (int c = 0; c < 3; c++)
        at[c] = c == plane->axis ? plane->limit : in[c] + t * (out[c] - in[c]);
    return p->vertices++;
}

/* Keeps the part inside of the plane. Each vertex is in or out for all of its edges alike, so
 * the boundary stays closed, whatever rounding says. Returns whether a part was cut off. */
static bool cut(struct polyhedron *p, const struct plane *plane)
{
    struct loose loose;
    for (int f = 0; f < FACES; f++)
        loose.first[f] = -1;
    const int before = p->edge_count;
    int kept = 0;
    for (int i = 0; i < before; i++) {
        struct edge e = p->edges[i];
        const bool from_in = depth_in(plane, p->at[e.from]) >= 0.0;
        const bool to_in = depth_in(plane, p->at[e.to]) >= 0.0;
        if (!from_in && !to_in)
            continue;
        if (from_in != to_in) {
            const int vertex = from_in ? add_crossing(p, plane, p->at[e.from], p->at[e.to])
                                       : add_crossing(p, plane, p->at[e.to], p->at[e.from]);
            close_face(p, &loose, plane, e.left, vertex, from_in);
            close_face(p, &loose, plane, e.right, vertex, to_in);
            *(from_in ? &e.to : &e.from) = (uint16_t)vertex;
        }
        p->edges[kept++] = e;
    }
    const int added = p->edge_count - before;
    memmove(p->edges + kept, p->edges + before, (size_t)added * sizeof *p->edges);
    p->edge_count = kept + added;
    return kept < before || added > 0;
}

static void subtract(double out[static 3], const double a[static 3], const double b[static 3])
{
    for (int c = 0; c < 3; c++)
        out[c] = a[c] - b[c];
}

static double determinant(const double a[static 3], const double b[static 3],
                          const double c[static 3])
{
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* Returns the volume. Each face is divided into triangles between its edges and one of its
 * vertices. Each triangle is the base of a tetrahedron to one common vertex. An edge is in two
 * faces, in opposite directions. */
static double volume_of(const struct polyhedron *p)
{
    if (p->edge_count == 0)
        return 0.0;
    int corner[FACES];
    for (int i = 0; i < p->edge_count; i++) {
        corner[p->edges[i].left] = p->edges[i].from;
        corner[p->edges[i].right] = p->edges[i].from;
    }
    const double *origin = p->at[p->edges[0].from];
    double sum = 0.0;
    for (int i = 0; i < p->edge_count; i++) {
        const struct edge *e = &p->edges[i];
        double from[3], to[3], across[3];
        subtract(from, p->at[e->from], origin);
        subtract(to, p->at[e->to], origin);
        subtract(across, p->at[corner[e->left]], p->at[corner[e->right]]);
        sum += determinant(across, from, to);
    }
    return sum / 6.0;
}

/* ---- Two boxes ------------------------------------------------------------------------------- */

/* A planar box counts as a slice of space of thickness 1. */
static void half_extents_of(const obb_solid *box, double out[static 3])
{
    out[0] = box->half_extents.x;
    out[1] = box->half_extents.y;
    out[2] = box->dimensions == 2 ? 0.5 : box->half_extents.z;
}

static double whole_volume(const double half[static 3])
{
    return (2.0 * half[0]) * (2.0 * half[1]) * (2.0 * half[2]);
}

double obb_clip_volume(const obb_solid *a, const obb_solid *b)
{
    double half_a[3], half_b[3];
    half_extents_of(a, half_a);
    half_extents_of(b, half_b);
    const double volume_a = whole_volume(half_a), volume_b = whole_volume(half_b);
    if (volume_b < volume_a || (volume_b == volume_a && obb_order_exchanged(a, b)))
        return obb_clip_volume(b, a);
    if (volume_a == 0.0 || obb_sat_separation(a, b).gap >= 0.0)
        return 0.0;

    /* Coordinates are along the axes of b, about the centre of a: so a small box keeps its
     * shape, however large the other box is. */
    const obb_vec3 d = obb_sub(b->center, a->center);
    double axes[9];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++)
            axes[3 * k + c] = obb_dot(a->axis[k], b->axis[c]);
    struct polyhedron p;
    init_box(&p, half_a, axes);
    bool less = false;
    for (int f = 0; f < 6; f++) {
        const int axis = f / 2;
        const double sign = f % 2 == 0 ? -1.0 : 1.0;
        const struct plane plane = {.axis = axis,
                                    .sign = sign,
                                    .limit = obb_dot(d, b->axis[axis]) + sign * half_b[axis],
                                    .face = (uint8_t)(6 + f)};
        less = cut(&p, &plane) || less;
    }
    if (!less)
        return volume_a;
    const double volume = volume_of(&p);
    return volume < 0.0 ? 0.0 : volume > volume_a ? volume_a : volume;
}
