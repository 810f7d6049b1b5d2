/* The packed tests: what a box is to them, how exact they are, and one table of functions per instruction set. Internal
 * to core.
 *
 * Every table computes the same operations in the same order on IEEE floats without contraction, so the numbers, and
 * with them the verdicts, are the same bits whatever the width.
 *
 * ---- Why a verdict in floats may be trusted ----------------------------------------------------------------
 *
 * e = 2^-24 is the rounding of a float, S a box's sum of half extents, C its sum of |centre coordinates|, D the
 * distance of two centres; sums over the two boxes are written S and C as well. Products of e are left out where they
 * vanish beside what is added at the end.
 *
 *   centre   hi + lo differs from it by e^2 C. d = (hi_b - hi_a) + (lo_b - lo_a) is off by 2 e |d| + 4 e^2 C in each
 *            coordinate: hi_b - hi_a rounds by e of itself, which is |d| up to the lo's.
 *   axes     u and v are rounded doubles: off by e. w = u x v: off by 2 e from them and 2 e per coordinate from
 *            rounding, together below 6 e.
 *   R        of a's axes with u_b and v_b: 6 e from a's, e from b's, 3 e from rounding: below 11 e. The third column
 *            is the cross product of the first two: 2 sqrt(2) times that and 2 e from rounding. All below 34 e.
 *   d.axis   of a: D (2 + 6 + 3) e + 4 e^2 C, below 12 e D + 4 e^2 C; of b, from these and R: sqrt(3) (12 + 34) e D
 *            + 3 e D + 7 e^2 C, below 83 e D + 7 e^2 C.
 *   face     |d.axis| - (h + sum h' |R|): 83 e D + 7 e^2 C + 35 e S, and six sums of at most D + S: 6 e (D + S).
 *   cross    |t R - t' R'| - (four products h |R|): sqrt(2) (34 + 12) e D + 6 e^2 C + 3 e D from the products,
 *            35 e S + 5 e (2 D + S) from the sums: below 79 e D + 40 e S + 6 e^2 C.
 *
 * Only pairs with D <= 1.01 (S + |margin|) can be misjudged: one that is not apart has D <= S + |margin|, and where
 * a's three faces are found to overlap, D is at most S up to these errors. For them all fifteen are off by less than
 * 131 e (S + |margin|) + 7 e^2 C. The bound kept in `slack` and `error` is 176 e and 16 e^2; beside what it has to
 * spare, the rounding of the double test, that of a quaternion's axes, and the 1e-12 of the pair's extent which
 * the contract allows all vanish.
 *
 *   apart    a gap above the margin by more than the bound is one. Cross axes are not unit vectors but shorter:
 *            a positive gap along one only grows by normalising, so it is compared with max(margin, 0).
 *   sure     every gap lies below min(margin, 0) by more than the bound: all axes overlap that deep, and normalising
 *            a negative gap makes it deeper. A zero cross axis (parallel edges) can never show that. But then it need not:
 *            let edges i of a and j of b enclose an angle with sine L, and let all six faces overlap by G > 0. Turn b
 *            about its centre until the edges are parallel; no point moves by more than sqrt(2) L S_b. Each face
 *            still overlaps by G' = G - 2 sqrt(2) L S (D <= S, as the faces overlap), and now every face of the
 *            Minkowski difference is one of the six, since cross products with the common direction are face
 *            normals: so it holds a ball of radius G', along every axis at all. Turned back, at least
 *            G - 3 sqrt(2) L S is left. The test asks for G > 3 bounds + 5 L S: one bound for G, one and a
 *            half for L, the sum of two elements of R off by 34 e each. */
#ifndef OBB_BATCH_H
#define OBB_BATCH_H

#include "core/geometry/box.h"
#include "core/kernels/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A box for the packed tests: one cache line, the same in every index. In the plane boxes stand upright with z from -S
 * to S, so that they overlap in space where they do in the plane. */
struct obb_packed {
    _Alignas(64) float hi[3];
    float lo[3]; /* the centre is hi + lo */
    float half[3];
    float u[3], v[3]; /* the first two axes; the third is their cross product */
    float slack;      /* this box's share of the error bound, rounded up */
};

#define OBB_PACKED_ERROR  0x1.6p-17 /* 176 * 2^-24, of the sum of half extents, or of a margin */
#define OBB_PACKED_DRIFT  0x1p-44   /* 16 * 2^-48, of the sum of |centre coordinates| */
#define OBB_PACKED_LITTLE 0x1p-100  /* more than the smallest floats lose */

/* A margin, as the tests compare with it. */
struct obb_limits {
    float face;  /* apart beyond it along a face: the margin */
    float cross; /* apart beyond it along a cross axis: the margin, or 0 where it is negative */
    float sure;  /* sure below it: 0, or a negative margin */
    float error; /* of the margin, added to the boxes' slack */
};

/* ---- Bounds in sixteen bits ------------------------------------------------------------------------------------
 *
 * A grid maps each coordinate to a code, 0 to OBB_CODE_MOST, by a function that never falls; so bounds that meet have
 * codes that do. Of each axis k one 32-bit word is kept: the code of the lower bound in its low half and the
 * complement (OBB_CODE_MOST - code) of the upper one in its high half. To ask, bounds are written the other way:
 * upper code low, complement of the lower one high. Then bounds meet where every half is <= the half asked. What is
 * not there has OBB_CODE_NONE in all halves, which is above all. */
#define OBB_CODE_MOST 65534u
#define OBB_CODE_NONE 0xffffffffu

/* Bounds in a uniform grid are moved outwards by this share of a code: what scaling by floats loses, sixteen times. */
#define OBB_CODE_SPARE 0.0625F

struct obb_quantised_bounds {
    uint32_t axis[3];
};

static inline uint32_t obb_code_word(uint32_t lower, uint32_t upper)
{
    return lower | (OBB_CODE_MOST - upper) << 16;
}

/* From the form that is kept to the form that asks, and back. */
static inline uint32_t obb_code_query(uint32_t kept)
{
    return (OBB_CODE_MOST - (kept >> 16)) | (OBB_CODE_MOST - (kept & 0xffffu)) << 16;
}

/* Sixteen bounds. */
#define OBB_NODE 16
struct obb_node {
    _Alignas(64) uint32_t axis[3][OBB_NODE];
};

#define OBB_GROUP ((size_t)OBB_NODE * OBB_NODE) /* boxes of a node of level 1 */

/* Boxes by sixteen (level 0), these by sixteen (level 1), and so on; the highest level is one node, and never below 1. */
#define OBB_LEVELS 8
struct obb_tree {
    const struct obb_node *level[OBB_LEVELS];
    uint32_t nodes
        [OBB_LEVELS]; /* how many of each; the children of node i are nodes 16 i to 16 i + 15 of the level below */
    int top;
};

/* Where codes come from, for the axes of boxes: code c begins at origin + c / scale. */
struct obb_grid {
    double origin[3]; /* hi + lo, exactly */
    double scale[3];  /* codes per scene unit, exactly a float */
    float hi[3], lo[3];
    const struct obb_nonuniform_grid
        *nonuniform; /* NULL: the grid is uniform, as above; else see grid.h */
};

/* A walk down a tree to all children at one level whose bounds meet those asked. */
struct obb_walk {
    struct obb_quantised_bounds query;
    uint32_t node[OBB_LEVELS],
        left[OBB_LEVELS]; /* the way down, and children still to be visited */
    int level;
};

/* A ray in a uniform grid, in codes: origin + t * direction; t in scene units from near to far. */
struct obb_grid_ray {
    float origin[3], inverse[3]; /* 1 / direction, at most 1e30 in size */
    float grow[3];               /* bounds grow by this many codes */
};

/* A target in a uniform grid: bounds in codes, and how large a code is. */
struct obb_grid_target {
    float low[3], high[3];
    float unit[3];
};

/* Boxes at a glance: codes of their centres, how far they reach along any axis, and what holds all of them. */
#define OBB_SUMMARIES 64
struct obb_summaries {
    _Alignas(64) uint32_t code[3][OBB_SUMMARIES];
    float size[OBB_SUMMARIES];
    struct obb_bounds extent;
};

/* One side of a join. */
struct obb_side {
    const struct obb_tree *tree;
    const struct obb_packed *boxes;
    const uint16_t *alive; /* per node of level 0: which of its boxes are there and count */
};

/* Candidates a[k], b[k] that are not apart; b[k] has OBB_PACKED_SURE where the verdict is sure. false ends the join. */
#define OBB_PACKED_SURE ((uint32_t)1 << 31)
typedef bool obb_emit(void *context, const uint32_t *a, const uint32_t *b, size_t count);

struct obb_kernels {
    obb_kernel kind;

    /* Tests a[ia[k]] with b[ib[k]]; the outputs (room for count + 16 each) may be the inputs. Returns how many are left. */
    size_t (*test_pairs)(const struct obb_packed *a, const struct obb_packed *b, const uint32_t *ia,
                         const uint32_t *ib, size_t count, const struct obb_limits *limits,
                         uint32_t *out_a, uint32_t *out_b);

    /* Tests one box with b[ib[k]] in the same way. */
    size_t (*test_one_to_many)(const struct obb_packed *a, const struct obb_packed *b,
                               const uint32_t *ib, size_t count, const struct obb_limits *limits,
                               uint32_t *out_b);

    /* Which children meet what is asked. */
    uint32_t (*test_node)(const struct obb_node *node, const struct obb_quantised_bounds *query);

    /* Goes on with a walk to children of level `floor` (0: boxes) until `room` (at least 16) is used up by fewer than 16;
     * 0: the walk is over. `out` has 16 more of room. */
    size_t (*walk)(const struct obb_tree *tree, struct obb_walk *walk, int floor, uint32_t *out,
                   size_t room);

    /* Summarises up to OBB_SUMMARIES boxes in a uniform grid; codes outside it are 0 or OBB_CODE_MOST. count > 0. */
    void (*summarise)(const struct obb_box *const *boxes, size_t count, const struct obb_grid *grid,
                      struct obb_summaries *out);

    /* Packs up to 16 boxes in space (3-D), and their codes in a uniform grid; the rest of the codes is OBB_CODE_NONE.
     * count > 0. */
    void (*pack)(const struct obb_box *const *boxes, size_t count, const struct obb_grid *grid,
                 struct obb_packed *out, struct obb_node *out_node);

    /* The codes of up to 16 packed boxes in a uniform grid, likewise. */
    void (*encode)(const struct obb_packed *boxes, size_t count, const struct obb_grid *grid,
                   struct obb_node *out);

    /* The bounds of each node's children, as children of out: the level above. */
    void (*merge_nodes)(const struct obb_node *nodes, size_t count, struct obb_node *out);

    /* Joins the boxes under node g of level 1 of a with all of b (or, where both are the same, with those after them),
     * the tests included. false: emit said so. */
    bool (*join)(const struct obb_side *a, const struct obb_side *b, uint32_t g,
                 const struct obb_limits *limits, void *context, obb_emit *emit);

    /* Children whose bounds the ray meets between near and far; where it enters each, rounded down. */
    uint32_t (*ray)(const struct obb_node *node, const struct obb_grid_ray *ray, float near,
                    float far, float out_enter[static OBB_NODE]);

    /* Children within `far` of the target; the distance of each, rounded down. */
    uint32_t (*nearest)(const struct obb_node *node, const struct obb_grid_target *target,
                        float far, float out_distance[static OBB_NODE]);
};

extern const struct obb_kernels obb_kernels_scalar;
#if !defined OBB_ONLY_SCALAR && defined __x86_64__
extern const struct obb_kernels obb_kernels_avx2, obb_kernels_avx512;
#endif
#if !defined OBB_ONLY_SCALAR && defined __aarch64__
extern const struct obb_kernels obb_kernels_neon;
#endif

#endif
