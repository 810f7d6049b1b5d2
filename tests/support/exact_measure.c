#include "tests/support/exact.h"

#include <gmp.h>

/* Distances and volumes with 320 bits: inputs and rotations are exact to that, and so, but for
 * 1e-80, are results. */

enum { BITS = 320 };

typedef struct fvec {
    mpf_t c[3];
} fvec;

static void finit(fvec *v)
{
    for (int i = 0; i < 3; i++)
        mpf_init2(v->c[i], BITS);
}

static void fclear(fvec *v)
{
    for (int i = 0; i < 3; i++)
        mpf_clear(v->c[i]);
}

static void fcopy(fvec *out, const fvec *v)
{
    for (int i = 0; i < 3; i++)
        mpf_set(out->c[i], v->c[i]);
}

static void fset(fvec *v, obb_vec3 from)
{
    mpf_set_d(v->c[0], from.x);
    mpf_set_d(v->c[1], from.y);
    mpf_set_d(v->c[2], from.z);
}

static void fsub(fvec *out, const fvec *a, const fvec *b)
{
    for (int i = 0; i < 3; i++)
        mpf_sub(out->c[i], a->c[i], b->c[i]);
}

/* out += v * s */
static void fadd_scaled(fvec *out, const fvec *v, const mpf_t s)
{
    mpf_t t;
    mpf_init2(t, BITS);
    for (int i = 0; i < 3; i++) {
        mpf_mul(t, v->c[i], s);
        mpf_add(out->c[i], out->c[i], t);
    }
    mpf_clear(t);
}

static void fdot(mpf_t out, const fvec *a, const fvec *b)
{
    mpf_t t;
    mpf_init2(t, BITS);
    mpf_mul(out, a->c[0], b->c[0]);
    for (int i = 1; i < 3; i++) {
        mpf_mul(t, a->c[i], b->c[i]);
        mpf_add(out, out, t);
    }
    mpf_clear(t);
}

static void fcross(fvec *out, const fvec *a, const fvec *b)
{
    mpf_t t;
    mpf_init2(t, BITS);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        mpf_mul(out->c[i], a->c[j], b->c[k]);
        mpf_mul(t, a->c[k], b->c[j]);
        mpf_sub(out->c[i], out->c[i], t);
    }
    mpf_clear(t);
}

struct fbox {
    fvec center, axis[3];
    mpf_t half[3];
};

static void fbox_init(struct fbox *box, const exact_box *from)
{
    const obb_quat q = from->rotation;
    const double parts[4] = {q.x, q.y, q.z, q.w};
    mpf_t p[4], norm, t, u;
    mpf_init2(norm, BITS);
    mpf_init2(t, BITS);
    mpf_init2(u, BITS);
    finit(&box->center);
    fset(&box->center, from->center);
    for (int i = 0; i < 4; i++) {
        mpf_init2(p[i], BITS);
        mpf_set_d(p[i], parts[i]);
        mpf_mul(t, p[i], p[i]);
        mpf_add(norm, norm, t);
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        finit(&box->axis[i]);
        mpf_init2(box->half[i], BITS);
        mpf_set_d(box->half[i], obb_component(from->half_extents, i));
        mpf_mul(t, p[j], p[j]);
        mpf_mul(u, p[k], p[k]);
        mpf_add(t, t, u);
        mpf_mul_ui(t, t, 2);
        mpf_sub(box->axis[i].c[i], norm, t);
        mpf_mul(t, p[i], p[j]);
        mpf_mul(u, p[k], p[3]);
        mpf_add(t, t, u);
        mpf_mul_ui(box->axis[i].c[j], t, 2);
        mpf_mul(t, p[i], p[k]);
        mpf_mul(u, p[j], p[3]);
        mpf_sub(t, t, u);
        mpf_mul_ui(box->axis[i].c[k], t, 2);
        for (int c = 0; c < 3; c++)
            mpf_div(box->axis[i].c[c], box->axis[i].c[c], norm);
    }
    for (int i = 0; i < 4; i++)
        mpf_clear(p[i]);
    mpf_clears(norm, t, u, NULL);
}

static void fbox_clear(struct fbox *box)
{
    fclear(&box->center);
    for (int i = 0; i < 3; i++) {
        fclear(&box->axis[i]);
        mpf_clear(box->half[i]);
    }
}

/* Corner by bits: bit k set is plus along axis k. */
static void fcorner(fvec *out, const struct fbox *box, int corner)
{
    mpf_t h;
    mpf_init2(h, BITS);
    fcopy(out, &box->center);
    for (int k = 0; k < 3; k++) {
        if ((corner >> k & 1) != 0)
            mpf_set(h, box->half[k]);
        else
            mpf_neg(h, box->half[k]);
        fadd_scaled(out, &box->axis[k], h);
    }
    mpf_clear(h);
}

/* ---- Squared distances; each takes the smaller of what it finds and what is there ------------ */

static void take_less(mpf_t least, const mpf_t candidate)
{
    if (mpf_cmp(candidate, least) < 0)
        mpf_set(least, candidate);
}

static void point_to_box(mpf_t least, const fvec *point, const struct fbox *box)
{
    fvec d;
    mpf_t along, sum;
    finit(&d);
    mpf_init2(along, BITS);
    mpf_init2(sum, BITS);
    fsub(&d, point, &box->center);
    for (int i = 0; i < 3; i++) {
        fdot(along, &d, &box->axis[i]);
        mpf_abs(along, along);
        mpf_sub(along, along, box->half[i]);
        if (mpf_sgn(along) > 0) {
            mpf_mul(along, along, along);
            mpf_add(sum, sum, along);
        }
    }
    take_less(least, sum);
    fclear(&d);
    mpf_clears(along, sum, NULL);
}

/* Segment p + t u, t in [0, 1]. */
static void point_to_segment(mpf_t least, const fvec *point, const fvec *p, const fvec *u)
{
    fvec d;
    mpf_t t, length2;
    finit(&d);
    mpf_init2(t, BITS);
    mpf_init2(length2, BITS);
    fsub(&d, point, p);
    fdot(t, &d, u);
    fdot(length2, u, u);
    if (mpf_sgn(t) < 0 || mpf_sgn(length2) == 0)
        mpf_set_ui(t, 0);
    else if (mpf_cmp(t, length2) > 0)
        mpf_set_ui(t, 1);
    else
        mpf_div(t, t, length2);
    mpf_neg(t, t);
    fadd_scaled(&d, u, t);
    fdot(t, &d, &d);
    take_less(least, t);
    fclear(&d);
    mpf_clears(t, length2, NULL);
}

static bool in_unit(const mpf_t numerator, const mpf_t denominator)
{
    return mpf_sgn(numerator) >= 0 && mpf_cmp(numerator, denominator) <= 0;
}

/* Where the segments p + s u and q + t v are closest at inner points of both. */
static void segment_to_segment(mpf_t least, const fvec *p, const fvec *u, const fvec *q,
                               const fvec *v)
{
    fvec w, n, c;
    mpf_t s, t, n2;
    finit(&w);
    finit(&n);
    finit(&c);
    mpf_init2(s, BITS);
    mpf_init2(t, BITS);
    mpf_init2(n2, BITS);
    fsub(&w, q, p);
    fcross(&n, u, v);
    fdot(n2, &n, &n);
    if (mpf_sgn(n2) != 0) {
        fcross(&c, &w, v);
        fdot(s, &c, &n);
        fcross(&c, &w, u);
        fdot(t, &c, &n);
        if (in_unit(s, n2) && in_unit(t, n2)) {
            fdot(s, &w, &n);
            mpf_mul(s, s, s);
            mpf_div(s, s, n2);
            take_less(least, s);
        }
    }
    fclear(&w);
    fclear(&n);
    fclear(&c);
    mpf_clears(s, t, n2, NULL);
}

/* The twelve edges: those along axis i start at a corner without bit i. */
static void edge_of(const struct fbox *box, int i, int corner, fvec *p, fvec *u)
{
    fvec end;
    finit(&end);
    fcorner(p, box, corner);
    fcorner(&end, box, corner | 1 << i);
    fsub(u, &end, p);
    fclear(&end);
}

static void segment_to_edges(mpf_t least, const fvec *p, const fvec *u, const struct fbox *box)
{
    fvec q, v;
    finit(&q);
    finit(&v);
    for (int i = 0; i < 3; i++)
        for (int corner = 0; corner < 8; corner++)
            if ((corner >> i & 1) == 0) {
                edge_of(box, i, corner, &q, &v);
                segment_to_segment(least, p, u, &q, &v);
            }
    fclear(&q);
    fclear(&v);
}

/* Does the segment meet the box? Cuts it by the six planes. */
static bool segment_meets(const fvec *p, const fvec *u, const struct fbox *box)
{
    fvec d;
    mpf_t low, high, at, along, t;
    finit(&d);
    mpf_init2(low, BITS);
    mpf_init2(high, BITS);
    mpf_init2(at, BITS);
    mpf_init2(along, BITS);
    mpf_init2(t, BITS);
    mpf_set_ui(high, 1);
    fsub(&d, p, &box->center);
    bool meets = true;
    for (int i = 0; i < 3; i++)
        for (int side = 0; side < 2; side++) { /* at + t along <= half */
            fdot(at, &d, &box->axis[i]);
            fdot(along, u, &box->axis[i]);
            if (side == 1) {
                mpf_neg(at, at);
                mpf_neg(along, along);
            }
            mpf_sub(t, box->half[i], at);
            if (mpf_sgn(along) == 0) {
                meets = meets && mpf_sgn(t) >= 0;
                continue;
            }
            mpf_div(t, t, along);
            if (mpf_sgn(along) > 0)
                take_less(high, t);
            else if (mpf_cmp(t, low) > 0)
                mpf_set(low, t);
        }
    meets = meets && mpf_cmp(low, high) <= 0;
    fclear(&d);
    mpf_clears(low, high, at, along, t, NULL);
    return meets;
}

static double root_of(mpf_t square)
{
    mpf_sqrt(square, square);
    return mpf_get_d(square);
}

static void init_distance(mpf_t least)
{
    mpf_init2(least, BITS);
    mpf_set_d(least, 1e300);
}

double exact_distance(const exact_box *a, const exact_box *b, int dimensions)
{
    if (exact_gaps_of(a, b, dimensions).largest <= 0.0)
        return 0.0;
    struct fbox box[2];
    fbox_init(&box[0], a);
    fbox_init(&box[1], b);
    fvec p, u;
    mpf_t least;
    finit(&p);
    finit(&u);
    init_distance(least);
    for (int side = 0; side < 2; side++)
        for (int corner = 0; corner < 8; corner++) {
            fcorner(&p, &box[side], corner);
            point_to_box(least, &p, &box[1 - side]);
        }
    for (int i = 0; i < 3 && dimensions == 3; i++)
        for (int corner = 0; corner < 8; corner++)
            if ((corner >> i & 1) == 0) {
                edge_of(&box[0], i, corner, &p, &u);
                segment_to_edges(least, &p, &u, &box[1]);
            }
    const double distance = root_of(least);
    fclear(&p);
    fclear(&u);
    mpf_clear(least);
    fbox_clear(&box[0]);
    fbox_clear(&box[1]);
    return distance;
}

double exact_point_distance(obb_vec3 point, const exact_box *box)
{
    struct fbox f;
    fvec p;
    mpf_t least;
    fbox_init(&f, box);
    finit(&p);
    init_distance(least);
    fset(&p, point);
    point_to_box(least, &p, &f);
    const double distance = root_of(least);
    fbox_clear(&f);
    fclear(&p);
    mpf_clear(least);
    return distance;
}

double exact_segment_distance(obb_vec3 p, obb_vec3 q, const exact_box *box)
{
    struct fbox f;
    fvec start, end, way, corner;
    mpf_t least;
    fbox_init(&f, box);
    finit(&start);
    finit(&end);
    finit(&way);
    finit(&corner);
    init_distance(least);
    fset(&start, p);
    fset(&end, q);
    fsub(&way, &end, &start);
    if (segment_meets(&start, &way, &f))
        mpf_set_ui(least, 0);
    point_to_box(least, &start, &f);
    point_to_box(least, &end, &f);
    for (int i = 0; i < 8; i++) {
        fcorner(&corner, &f, i);
        point_to_segment(least, &corner, &start, &way);
    }
    segment_to_edges(least, &start, &way, &f);
    const double distance = root_of(least);
    fbox_clear(&f);
    fclear(&start);
    fclear(&end);
    fclear(&way);
    fclear(&corner);
    mpf_clear(least);
    return distance;
}

/* ---- Volumes: a box as six tetrahedra, each cut by six planes -------------------------------- */

struct tet {
    fvec v[4];
};

static void tet_init(struct tet *t)
{
    for (int i = 0; i < 4; i++)
        finit(&t->v[i]);
}

static void tet_clear(struct tet *t)
{
    for (int i = 0; i < 4; i++)
        fclear(&t->v[i]);
}

/* sum += |det| of the edges: six times the volume. */
static void add_volume(mpf_t sum, const struct tet *t)
{
    fvec e[3], c;
    mpf_t det;
    mpf_init2(det, BITS);
    finit(&c);
    for (int i = 0; i < 3; i++) {
        finit(&e[i]);
        fsub(&e[i], &t->v[i + 1], &t->v[0]);
    }
    fcross(&c, &e[0], &e[1]);
    fdot(det, &c, &e[2]);
    mpf_abs(det, det);
    mpf_add(sum, sum, det);
    for (int i = 0; i < 3; i++)
        fclear(&e[i]);
    fclear(&c);
    mpf_clear(det);
}

/* How far inside the plane (0 to 5: axis, then side) the point lies. */
static void depth_in(mpf_t out, const fvec *point, const struct fbox *box, int plane)
{
    fvec d;
    finit(&d);
    fsub(&d, point, &box->center);
    fdot(out, &d, &box->axis[plane / 2]);
    if (plane % 2 == 0)
        mpf_neg(out, out);
    mpf_add(out, out, box->half[plane / 2]);
    fclear(&d);
}

static void between(fvec *out, const fvec *in, const mpf_t depth_of_in, const fvec *off,
                    const mpf_t depth_of_off)
{
    fvec way;
    mpf_t t;
    finit(&way);
    mpf_init2(t, BITS);
    fsub(&way, off, in);
    mpf_sub(t, depth_of_in, depth_of_off);
    mpf_div(t, depth_of_in, t);
    fcopy(out, in);
    fadd_scaled(out, &way, t);
    fclear(&way);
    mpf_clear(t);
}

static void cut(mpf_t sum, const struct tet *t, const struct fbox *box, int plane);

/* The prism between triangles 012 and 345, as three tetrahedra. */
static void cut_prism(mpf_t sum, const fvec *const p[static 6], const struct fbox *box, int plane)
{
    static const int corners[3][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}};
    struct tet part;
    tet_init(&part);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++)
            fcopy(&part.v[k], p[corners[i][k]]);
        cut(sum, &part, box, plane);
    }
    tet_clear(&part);
}

/* Adds six times the volume of what is inside of planes `plane` and on. */
static void cut(mpf_t sum, const struct tet *t, const struct fbox *box, int plane)
{
    if (plane == 6) {
        add_volume(sum, t);
        return;
    }
    mpf_t depth[4];
    int in[4], off[4], ins = 0, offs = 0;
    for (int i = 0; i < 4; i++) {
        mpf_init2(depth[i], BITS);
        depth_in(depth[i], &t->v[i], box, plane);
        if (mpf_sgn(depth[i]) >= 0)
            in[ins++] = i;
        else
            off[offs++] = i;
    }
    fvec x[4];
    for (int i = 0; i < 4; i++)
        finit(&x[i]);
    int crossings = 0;
    for (int i = 0; i < ins; i++)
        for (int k = 0; k < offs; k++)
            between(&x[crossings++], &t->v[in[i]], depth[in[i]], &t->v[off[k]], depth[off[k]]);
    if (ins == 4) {
        cut(sum, t, box, plane + 1);
    } else if (ins == 1) {
        struct tet tip;
        tet_init(&tip);
        fcopy(&tip.v[0], &t->v[in[0]]);
        for (int k = 0; k < 3; k++)
            fcopy(&tip.v[k + 1], &x[k]);
        cut(sum, &tip, box, plane + 1);
        tet_clear(&tip);
    } else if (ins == 2) { /* triangles at either inner corner */
        const fvec *const p[6] = {&t->v[in[0]], &x[0], &x[1], &t->v[in[1]], &x[2], &x[3]};
        cut_prism(sum, p, box, plane + 1);
    } else if (ins == 3) { /* the inner face and the cut */
        const fvec *const p[6] = {&t->v[in[0]], &t->v[in[1]], &t->v[in[2]], &x[0], &x[1], &x[2]};
        cut_prism(sum, p, box, plane + 1);
    }
    for (int i = 0; i < 4; i++) {
        mpf_clear(depth[i]);
        fclear(&x[i]);
    }
}

double exact_volume(const exact_box *a, const exact_box *b, int dimensions)
{
    /* The plane is a slice of thickness 1. */
    exact_box slice[2] = {*a, *b};
    if (dimensions == 2)
        slice[0].half_extents.z = slice[1].half_extents.z = 0.5;
    struct fbox box[2];
    fbox_init(&box[0], &slice[0]);
    fbox_init(&box[1], &slice[1]);
    /* The ways from corner 0 to corner 7 along the axes, in every order, are six tetrahedra. */
    static const int orders[6][2] = {{1, 3}, {1, 5}, {2, 3}, {2, 6}, {4, 5}, {4, 6}};
    mpf_t sum;
    mpf_init2(sum, BITS);
    struct tet t;
    tet_init(&t);
    for (int i = 0; i < 6; i++) {
        fcorner(&t.v[0], &box[0], 0);
        fcorner(&t.v[1], &box[0], orders[i][0]);
        fcorner(&t.v[2], &box[0], orders[i][1]);
        fcorner(&t.v[3], &box[0], 7);
        cut(sum, &t, &box[1], 0);
    }
    mpf_div_ui(sum, sum, 6);
    const double volume = mpf_get_d(sum);
    tet_clear(&t);
    mpf_clear(sum);
    fbox_clear(&box[0]);
    fbox_clear(&box[1]);
    return volume;
}
