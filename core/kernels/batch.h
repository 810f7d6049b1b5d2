/* The packed tests: their data, the bound of their error, and one table of functions per
 * instruction set (struct obb_kernels). Internal to core.
 *
 * Every table computes the same operations in the same order on IEEE floats without contraction.
 * So the numbers, and with them the verdicts, have the same bits at every vector width.
 *
 * ---- Why a verdict in floats may be trusted ---------------------------------------------------
 *
 * e = 2^-24 is the rounding of a float. S is the sum of the half extents of a box, C the sum of its
 * |centre coordinates|, D the distance of two centres; sums over the two boxes are written S and C
 * as well. Products of e are left out if they vanish beside the spare part of the bound.
 *
 *   centre   hi + lo differs from the centre by e^2 C. d = (hi_b - hi_a) + (lo_b - lo_a) is off
 *            by 2 e |d| + 4 e^2 C in each coordinate: hi_b - hi_a rounds by e of itself, which is
 *            |d| up to lo_b - lo_a.
 *   axes     u and v are rounded doubles: off by e. w = u x v: off by 2 e from them and 2 e per
 *            coordinate from rounding, together below 6 e.
 *   R        of the axes of a with u_b and v_b: 6 e from a, e from b, 3 e from rounding: below
 *            11 e. The third column is the cross product of the first two: 2 sqrt(2) times that
 *            and 2 e from rounding. All are below 34 e.
 *   d.axis   of a: D (2 + 6 + 3) e + 4 e^2 C, below 12 e D + 4 e^2 C. Of b, from these and R:
 *            sqrt(3) (12 + 34) e D + 3 e D + 7 e^2 C, below 83 e D + 7 e^2 C.
 *   face     |d.axis| - (h + sum h' |R|): 83 e D + 7 e^2 C + 35 e S, and six sums of at most
 *            D + S: 6 e (D + S).
 *   cross    |t R - t' R'| - (four products h |R|): sqrt(2) (34 + 12) e D + 6 e^2 C + 3 e D from
 *            the products, 35 e S + 5 e (2 D + S) from the sums: below 79 e D + 40 e S + 6 e^2 C.
 *
 * Only pairs with D <= 1.01 (S + |margin|) can be misjudged. A pair that is not apart has
 * D <= S + |margin|, and if the three faces of a are found to overlap, D is at most S up to these
 * errors. For such pairs all fifteen gaps are off by less than 131 e (S + |margin|) + 7 e^2 C. The
 * bound kept in `slack` and `error` is 176 e and 16 e^2. Its spare part covers the rounding of the
 * double test, the rounding of the axes of a quaternion, and the 1e-12 of the extent of a pair that
 * the contract allows.
 *
 *   apart    A gap above the margin by more than the bound is real. Cross axes are shorter than
 *            unit vectors: a positive gap along one only grows by normalising, so the gap is
 *            compared with max(margin, 0).
 *   sure     Every gap lies below min(margin, 0) by more than the bound: all axes overlap that
 *            deep, and normalising a negative gap makes it deeper. A zero cross axis (parallel
 *            edges) can never show that, and need not. Let edges i of a and j of b enclose an angle
 *            with sine L, and let all six faces overlap by G > 0. Turn b about its centre until the
 *            edges are parallel; no point moves by more than sqrt(2) L S_b. Each face still
 *            overlaps by G' = G - 2 sqrt(2) L S (D <= S, as the faces overlap). Now every face of
 *            the Minkowski difference is one of the six, since cross products with the common
 *            direction are face normals. So the difference holds a ball of radius G', along every
 *            axis at all. After b is turned back, at least G - 3 sqrt(2) L S is left. The test asks
 *            for G > 3 bounds + 5 L S: one bound for G, and one and a half for L, which is the sum
 *            of two elements of R off by 34 e each.
 *   upright  If the first two axes of both boxes are level (z is exactly zero in u and v), each
 *            cross axis is zero or parallel to a face normal, so the faces alone tell whether the
 *            boxes are apart. They are sure by the rule above, with L = 0. A vector of which all
 *            lanes are upright computes just the faces. In a mixed one, cross axes do not count for
 *            the upright lanes: so the verdict does not depend on what else is in the vector. */
#ifndef OBB_BATCH_H
#define OBB_BATCH_H

#include "core/geometry/box.h"
#include "core/kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A box for the packed tests: one cache line, the same in every index. Boxes of the plane stand
 * upright with z from -S to S, so they overlap in space if they overlap in the plane. */
struct obb_packed {
    _Alignas(64) float hi[3];
    float lo[3]; /* the centre is hi + lo */
    float half[3];
    float u[3], v[3]; /* the first two axes; the third is their cross product */
    float slack;      /* the share of this box in the error bound, rounded up */
};

#define OBB_PACKED_ERROR  0x1.6p-17 /* 176 * 2^-24 of the sum of half extents, or of a margin */
#define OBB_PACKED_DRIFT  0x1p-44   /* 16 * 2^-48 of the sum of |centre coordinates| */
#define OBB_PACKED_LITTLE 0x1p-100  /* more than the rounding of the smallest floats */

/* A margin in the form that the tests compare with. */
struct obb_limits {
    float face;  /* apart above it along a face: the margin */
    float cross; /* apart above it along a cross axis: the margin, or 0 if it is negative */
    float sure;  /* sure below it: 0, or the margin if it is negative */
    float error; /* share of the margin in the error bound, added to the slack of the boxes */
};

/* ---- Quantised bounds --------------------------------------------------------------------------
 *
 * A grid maps each coordinate to a code of 16 bits, 0 to OBB_CODE_MOST. The map never falls, so if
 * bounds meet, their codes meet too. Bounds are written as one 32-bit word for each axis, in one of
 * two forms:
 *
 *   stored   low half: the code of the lower bound; high half: the complement of the code of the
 *            upper bound (OBB_CODE_MOST - code).
 *   query    low half: the code of the upper bound; high half: the complement of the code of the
 *            lower bound.
 *
 * Stored bounds meet a query if every stored half is <= the same half of the query. An empty child
 * slot holds OBB_CODE_NONE, which compares greater than every code, so it never matches. */
#define OBB_CODE_MOST 65534u
#define OBB_CODE_NONE 0xffffffffu

/* Bounds on a uniform grid grow by this share of a code: sixteen times the loss of scaling by
 * floats. */
#define OBB_CODE_SPARE 0.0625F

/* One word for each axis. */
struct obb_quantised_bounds {
    uint32_t axis[3];
};

/* Returns the word of a lower and an upper code, in the stored form. */
static inline uint32_t obb_code_word(uint32_t lower, uint32_t upper)
{
    return lower | (OBB_CODE_MOST - upper) << 16;
}

/* Converts a word from the stored form to the query form, or back. */
static inline uint32_t obb_code_query(uint32_t kept)
{
    return (OBB_CODE_MOST - (kept >> 16)) | (OBB_CODE_MOST - (kept & 0xffffu)) << 16;
}

/* A node: the bounds of its 16 children, in the stored form. */
#define OBB_NODE 16
struct obb_node {
    _Alignas(64) uint32_t axis[3][OBB_NODE];
};

#define OBB_GROUP ((size_t)OBB_NODE * OBB_NODE) /* boxes under a node of level 1 */

/* The implicit tree: 16 boxes a node (level 0), 16 of these nodes a node of level 1, and so on. The
 * highest level is one node, and never below level 1. */
#define OBB_LEVELS 8
struct obb_tree {
    const struct obb_node *level[OBB_LEVELS];
    uint32_t nodes[OBB_LEVELS]; /* of each level; node i has nodes 16 i to 16 i + 15 below it */
    int top;
};

/* A grid. On a uniform grid, code c begins at origin + c / scale. If `nonuniform` is set, codes
 * come from it instead. */
struct obb_grid {
    double origin[3]; /* exactly hi + lo */
    double scale[3];  /* codes per scene unit; exactly a float */
    float hi[3], lo[3];
    const struct obb_nonuniform_grid
        *nonuniform; /* NULL: the grid is uniform; else see core/index/grid.h */
};

/* A walk down a tree to all children of one level whose bounds meet a query. */
struct obb_walk {
    struct obb_quantised_bounds query;
    uint32_t node[OBB_LEVELS]; /* the path from the root */
    uint32_t left[OBB_LEVELS]; /* children still to be visited, as bits */
    int level;
};

/* A ray on a uniform grid: it passes a lower bound at distance (bound - low) * inverse and an upper
 * bound at (bound - high) * inverse. Bounds are codes, distances are scene units. */
struct obb_grid_ray {
    float low[3], high[3]; /* the origin, plus and minus the growth of bounds, in codes */
    float inverse[3];      /* 1 / direction, at most 1e30 in size */
};

/* A walk along a ray, to the leaves that it meets. A child waits under a key that orders the
 * children of a node as the ray meets them: the bits of the distance at which the ray enters it,
 * rounded down to 28 bits, and its number. */
struct obb_ray_walk {
    struct obb_grid_ray ray;
    float far;                 /* where the ray ends; may be lowered between two calls */
    int level;                 /* of the node whose children come next; -1: before the root */
    uint32_t node[OBB_LEVELS]; /* the path from the root */
    int32_t last[OBB_LEVELS];  /* the key of the child on the path */
    uint32_t left[OBB_LEVELS]; /* children that wait; some may begin beyond `far` by now */
    _Alignas(64) int32_t keys[OBB_LEVELS][OBB_NODE]; /* INT32_MAX: not met */
};

/* The target of a search by distance on a uniform grid. */
struct obb_grid_target {
    float low[3], high[3]; /* its bounds in codes */
    float unit[3];         /* the width of a code in scene units */
};

/* Summaries of up to OBB_SUMMARIES boxes: all that ordering them needs. They are few, so that the
 * boxes that come next are fetched a few at a time, while these are summarised and get their
 * keys. */
#define OBB_SUMMARIES 16
struct obb_summaries {
    _Alignas(64) uint32_t code[3][OBB_SUMMARIES]; /* of the centre */
    float size[OBB_SUMMARIES]; /* no part of the box is farther from its centre along any axis */
};

/* Where boxes belong by the codes of their centres (core/index/tiles.h): a slab by the first axis,
 * and a column by the slab and the second axis. Up to two bytes behind an entry of a table are
 * read with it. */
struct obb_cuts {
    uint8_t axis[3];         /* shortest first */
    unsigned shift[2];       /* from codes to bins, along the first two axes */
    unsigned bits;           /* of the bins along the second axis */
    uint32_t first, columns; /* number of the first column, and of all columns */
    uint16_t *slab, *column; /* tables by bin of the first axis; by slab and bin of the second */
};

/* What the boxes summarised so far fill, as the lanes of a vector keep it: low[k][i] and high[k][i]
 * bound the boxes of lane i along axis k. A vector of doubles has up to OBB_LANES lanes. */
#define OBB_LANES 8
struct obb_extents {
    _Alignas(64) double low[3][OBB_LANES], high[3][OBB_LANES];
};

/* One side of a join. */
struct obb_side {
    const struct obb_tree *tree;
    const struct obb_packed *boxes;
    const uint16_t
        *alive; /* per node of level 0: which of its boxes are there and alive, as bits */
};

/* Takes candidates of a join: pairs a[k], b[k] that are not apart. b[k] is marked by
 * OBB_PACKED_SURE if the verdict is sure. Returning false ends the join. */
#define OBB_PACKED_SURE ((uint32_t)1 << 31)
typedef bool obb_emit(void *context, const uint32_t *a, const uint32_t *b, size_t count);

/* A set of ids: a bit for each id from `first` on. */
struct obb_marks {
    const uint64_t *bits;
    uint32_t first, span; /* span: ids that have a bit */
};

/* The functions of one instruction set. */
struct obb_kernels {
    obb_kernel kind;

    /* Tests the pairs a[ia[k]], b[ib[k]] and lists those that are not apart, each b marked if the
     * verdict is sure. The outputs have room for count + 16 each, and may be the inputs. Returns
     * the number listed. */
    size_t (*test_pairs)(const struct obb_packed *a, const struct obb_packed *b, const uint32_t *ia,
                         const uint32_t *ib, size_t count, const struct obb_limits *limits,
                         uint32_t *out_a, uint32_t *out_b);

    /* Tests the pairs of one box and b[ib[k]] in the same way. */
    size_t (*test_one_to_many)(const struct obb_packed *a, const struct obb_packed *b,
                               const uint32_t *ib, size_t count, const struct obb_limits *limits,
                               uint32_t *out_b);

    /* Returns the children that meet a query, as bits. query: in the query form. */
    uint32_t (*test_node)(const struct obb_node *node, const struct obb_quantised_bounds *query);

    /* Continues a walk to children of level `floor` (0: boxes) until fewer than 16 of `room` (at
     * least 16) are left. `out` has room for 16 more. Returns the number listed; 0 ends the
     * walk. */
    size_t (*walk)(const struct obb_tree *tree, struct obb_walk *walk, int floor, uint32_t *out,
                   size_t room);

    /* Summarises up to OBB_SUMMARIES boxes on a uniform grid, and widens the extents by them. Codes
     * outside the grid are 0 or OBB_CODE_MOST. count > 0. */
    void (*summarise)(const struct obb_box *const *boxes, size_t count, const struct obb_grid *grid,
                      struct obb_summaries *out, struct obb_extents *extents);

    /* Finds the keys of up to OBB_SUMMARIES boxes: the column of each in the high 16 bits, and its
     * position along it, to and fro, in the low 16 bits. Returns which boxes are larger than
     * `large`, as bits. */
    uint32_t (*keys)(const struct obb_cuts *cuts, float large, const struct obb_summaries *boxes,
                     size_t count, uint32_t *out);

    /* Packs up to 16 boxes of space (3-D) and quantises their bounds on a uniform grid. Sets the
     * remaining children to OBB_CODE_NONE. count > 0. Between its steps it prefetches the 16 boxes
     * at `next`, two lines each. */
    void (*pack)(const struct obb_box *const *boxes, size_t count,
                 const struct obb_box *const *next, const struct obb_grid *grid,
                 struct obb_packed *out, struct obb_node *out_node);

    /* Quantises the bounds of up to 16 packed boxes on a uniform grid in the same way. */
    void (*encode)(const struct obb_packed *boxes, size_t count, const struct obb_grid *grid,
                   struct obb_node *out);

    /* Merges the bounds of the children of each node, which gives a node of the level above. */
    void (*merge_nodes)(const struct obb_node *nodes, size_t count, struct obb_node *out);

    /* Joins the boxes under node g of level 1 of a with all boxes of b and tests the pairs. If a
     * and b are the same side, joins them with the boxes after them. Returns false if emit did. */
    bool (*join)(const struct obb_side *a, const struct obb_side *b, uint32_t g,
                 const struct obb_limits *limits, void *context, obb_emit *emit);

    /* Continues a walk to the next leaf of which the ray meets a box before it ends. Returns false
     * at the end of the walk. *out_met: the boxes whose bounds it meets, as bits; *out_enter: where
     * it enters each, within 2^-20 of the distance. Depth first, and the nearest child of a node
     * first. Also stops where the leaves that come next are being fetched, with 0 in *out_met, if
     * the tree is large: so the caller may go on with another walk meanwhile. */
    bool (*ray)(const struct obb_tree *tree, struct obb_ray_walk *walk, uint32_t *out_leaf,
                uint32_t *out_met, float out_enter[static OBB_NODE]);

    /* Returns the children within `far` of the target, as bits, and the distance of each, rounded
     * down. */
    uint32_t (*nearest)(const struct obb_node *node, const struct obb_grid_target *target,
                        float far, float out_distance[static OBB_NODE]);

    /* Returns which of up to 64 ids are in a set, as bits. */
    uint64_t (*marked)(const struct obb_marks *marks, const uint32_t *ids, size_t count);
};

extern const struct obb_kernels obb_kernels_scalar;
#if !defined OBB_ONLY_SCALAR && defined __x86_64__
extern const struct obb_kernels obb_kernels_avx2, obb_kernels_avx512;
#endif
#if !defined OBB_ONLY_SCALAR && defined __aarch64__
extern const struct obb_kernels obb_kernels_neon;
#endif

#endif
