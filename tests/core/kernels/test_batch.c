/* Every kernel that this CPU has: bit by bit what the scalar one gives, and never sure of what the
 * double test denies. */
#include "core/geometry/sat.h"
#include "core/geometry/shape.h"
#include "core/index/grid.h"
#include "core/index/packed.h"
#include "core/index/tree.h"
#include "core/kernels/batch.h"
#include "core/kernels/cpu.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = OBB_NODE, PAIRS = 2000 }; /* ROOM: what kernels may write behind their lists */

static const struct obb_kernels
    *others[OBB_KERNEL_COUNT]; /* of this CPU, all but the scalar ones */
static size_t other_count;

static void choose_kernels(void)
{
    other_count = 0;
    for (int k = OBB_KERNEL_SCALAR + 1; k < OBB_KERNEL_COUNT; k++)
        if (obb_kernels_choose((obb_kernel)k) != NULL)
            others[other_count++] = obb_kernels_choose((obb_kernel)k);
}

/* ---- Pairs of boxes -------------------------------------------------------------------------- */

enum kind {
    RANDOM,        /* half of them overlap */
    NEAR,          /* touching but for a share of 1e-4 to 1e-14 of their size */
    FAR,           /* touching but for 1e-2 to 1e-9, at 1e8 */
    THIN,          /* one, two or three extents are zero */
    EQUAL,         /* the same box, or all but */
    PARALLEL,      /* edges that enclose 0 to 1e-1 */
    HUGE_AND_TINY, /* sizes of 1e-9 to 1e9 */
    OUTERMOST,     /* at the ends of the range */
    UPRIGHT,       /* turned about z only, most of them; touching, or at the edge of the bound */
    KINDS
};
static const char *const kind_names[KINDS] = {
    "random",        "near touching",    "far from the origin",    "zero extents",
    "all but equal", "all but parallel", "sizes from 1e-9 to 1e9", "at 1e9",
    "upright"};

static double power(test_rng *rng, double least, double most)
{
    return pow(10.0, test_uniform(rng, least, most));
}

static obb_quat normal(obb_quat q)
{
    obb_quat out;
    ck_assert_int_eq(obb_quat_normalise(q, &out), OBB_OK);
    return out;
}

static obb_quat nudged(test_rng *rng, obb_quat q, double size)
{
    q.x += test_uniform(rng, -size, size);
    q.y += test_uniform(rng, -size, size);
    q.z += test_uniform(rng, -size, size);
    return normal(q);
}

/* Moves b until it touches a, but for `off` times its size. */
static void touch(const obb_box *a, obb_box *b, double off)
{
    for (int i = 0; i < 4; i++) {
        const obb_solid solid_a = obb_solid_from_box(a, 3), solid_b = obb_solid_from_box(b, 3);
        const obb_separation s = obb_sat_separation(&solid_a, &solid_b);
        b->center = obb_sub(b->center, obb_scale(s.normal, s.gap));
        if (i == 3)
            b->center = obb_add(b->center, obb_scale(s.normal, off * obb_length(b->half_extents)));
    }
}

/* Returns a rotation about z; one in 16 tilts by a little. */
static obb_quat upright(test_rng *rng)
{
    const double angle = test_below(rng, 4) == 0 ? 0 : test_uniform(rng, -4, 4);
    const double tilt = test_below(rng, 16) == 0 ? power(rng, -9, 0) : 0;
    return normal((obb_quat){tilt, -tilt, sin(angle / 2), cos(angle / 2)});
}

/* Puts a box on another, or beside it, at the distance at which the packed test begins to call them
 * apart, but for its rounding. */
static void put_at_bound(test_rng *rng, const obb_box *a, obb_box *b)
{
    const struct obb_packed packed_a = obb_packed_from_box(a, 3),
                            packed_b = obb_packed_from_box(b, 3);
    const double bound = (double)packed_a.slack + (double)packed_b.slack;
    touch(a, b, bound * (1 + test_uniform(rng, -0.001, 0.001)) / obb_length(b->half_extents));
}

static void make_pair(enum kind kind, test_rng *rng, obb_box *a, obb_box *b)
{
    *a = boxes_random(rng, 1.16, 3);
    *b = boxes_random(rng, 1.16, 3);
    a->rotation = normal(a->rotation);
    b->rotation = normal(b->rotation);
    const double sign = test_below(rng, 2) == 0 ? -1 : 1;
    switch (kind) {
    case NEAR:
        touch(a, b, sign * power(rng, -14, -4));
        break;
    case FAR:
        a->center = obb_add(a->center, (obb_vec3){1e8, -1e8, 1e8});
        b->center = obb_add(b->center, (obb_vec3){1e8, -1e8, 1e8});
        touch(a, b, sign * power(rng, -9, -2));
        break;
    case THIN:
        for (int side = 0; side < 2; side++) {
            const size_t which = test_below(rng, 8);
            obb_vec3 *half = side == 0 ? &a->half_extents : &b->half_extents;
            half->x *= (which & 1) != 0;
            half->y *= (which & 2) != 0;
            half->z *= (which & 4) != 0;
        }
        if (test_below(rng, 2) == 0)
            touch(a, b, sign * power(rng, -12, -3));
        break;
    case EQUAL:
        *b = *a;
        if (test_below(rng, 2) == 0) {
            b->center.x += power(rng, -16, -3);
            b->rotation = nudged(rng, b->rotation, power(rng, -16, -3));
        }
        break;
    case PARALLEL:
        b->rotation = nudged(rng, a->rotation, test_below(rng, 4) == 0 ? 0 : power(rng, -12, -1));
        if (test_below(rng, 2) == 0)
            touch(a, b, sign * power(rng, -12, -3));
        break;
    case HUGE_AND_TINY:
        a->half_extents = obb_scale(a->half_extents, power(rng, -9, 9));
        b->half_extents = obb_scale(b->half_extents, power(rng, -9, 9));
        a->half_extents = obb_min(a->half_extents, (obb_vec3){1e9, 1e9, 1e9});
        b->half_extents = obb_min(b->half_extents, (obb_vec3){1e9, 1e9, 1e9});
        if (test_below(rng, 2) == 0)
            touch(a, b, sign * power(rng, -9, 0));
        break;
    case OUTERMOST:
        a->center = (obb_vec3){sign * 1e9, 1e9, -1e9};
        b->center = test_below(rng, 2) == 0 ? a->center : obb_scale(a->center, -1);
        a->half_extents = obb_scale(a->half_extents, power(rng, -3, 9));
        break;
    case UPRIGHT:
        a->rotation = upright(rng);
        b->rotation = test_below(rng, 4) == 0 ? a->rotation : upright(rng);
        if (test_below(rng, 2) == 0)
            put_at_bound(rng, a, b);
        else if (test_below(rng, 2) == 0)
            touch(a, b, sign * power(rng, -14, -3));
        break;
    case RANDOM:
    case KINDS:
        break;
    }
}

struct batch {
    size_t count;
    obb_box boxes[2][PAIRS];
    struct obb_packed packed[2][PAIRS];
    uint32_t index[2][PAIRS];
};

static struct batch *make_batch(enum kind kind, uint64_t seed)
{
    struct batch *batch = aligned_alloc(64, (sizeof *batch + 63) / 64 * 64);
    ck_assert_ptr_nonnull(batch);
    batch->count = PAIRS;
    test_rng rng = {.s = seed};
    for (size_t i = 0; i < PAIRS; i++) {
        make_pair(kind, &rng, &batch->boxes[0][i], &batch->boxes[1][i]);
        for (int side = 0; side < 2; side++)
            batch->packed[side][i] = obb_packed_from_box(&batch->boxes[side][i], 3);
    }
    for (size_t i = 0; i < PAIRS; i++)
        batch->index[0][i] = batch->index[1][i] = (uint32_t)i;
    return batch;
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

enum { SENTINEL = 0x5eed };

struct outcome {
    uint32_t a[PAIRS + ROOM + 2], b[PAIRS + ROOM + 2]; /* written from [shift] on */
    size_t count;
};

static void run(const struct obb_kernels *kernels, const struct batch *batch, size_t first,
                size_t count, size_t shift, double margin, struct outcome *out)
{
    const struct obb_limits limits = obb_limits_of(margin);
    for (size_t i = 0; i < PAIRS + ROOM + 2; i++)
        out->a[i] = out->b[i] = SENTINEL;
    out->count = kernels->test_pairs(batch->packed[0], batch->packed[1], batch->index[0] + first,
                                     batch->index[1] + first, count, &limits, out->a + shift,
                                     out->b + shift);
    ck_assert_uint_le(out->count, count);
    ck_assert(shift == 0 || (out->a[0] == SENTINEL && out->b[0] == SENTINEL));
    ck_assert_uint_eq(out->a[shift + count + ROOM], SENTINEL);
    ck_assert_uint_eq(out->b[shift + count + ROOM], SENTINEL);
}

static void require_same(const struct outcome *x, size_t shift_x, const struct outcome *y,
                         size_t shift_y, const char *what)
{
    ck_assert_msg(x->count == y->count, "%s: %zu pairs left, not %zu", what, y->count, x->count);
    ck_assert_mem_eq(x->a + shift_x, y->a + shift_y, x->count * sizeof x->a[0]);
    ck_assert_mem_eq(x->b + shift_x, y->b + shift_y, x->count * sizeof x->b[0]);
}

START_TEST(every_kernel_says_what_the_scalar_one_says_and_the_double_test_agrees)
{
    static const double margins[] = {0, 0.25, -0.125};
    static struct outcome scalar, other;
    size_t looked_at = 0, doubtful = 0;
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (size_t seed = 1; seed <= test_effort(2); seed++) {
            struct batch *batch = make_batch(kind, 20261120 + seed * 100 + (uint64_t)kind);
            for (int m = 0; m < 3; m++) {
                run(&obb_kernels_scalar, batch, 0, PAIRS, 0, margins[m], &scalar);
                for (size_t k = 0; k < other_count; k++) {
                    run(others[k], batch, 0, PAIRS, 1, margins[m], &other);
                    require_same(&scalar, 0, &other, 1, kind_names[kind]);
                }
                size_t at = 0, hits = 0, sure = 0, doubt = 0;
                for (size_t i = 0; i < PAIRS; i++) {
                    const obb_solid a = obb_solid_from_box(&batch->boxes[0][i], 3);
                    const obb_solid b = obb_solid_from_box(&batch->boxes[1][i], 3);
                    const bool truth = margins[m] == 0 ? obb_sat_overlap(&a, &b)
                                                       : obb_shape_boxes(&a, &b, margins[m]);
                    const bool left = at < scalar.count && scalar.a[at] == i;
                    const bool is_sure = left && (scalar.b[at] & OBB_PACKED_SURE) != 0;
                    ck_assert_msg(left || !truth, "%s, margin %g: %zu is called apart",
                                  kind_names[kind], margins[m], i);
                    ck_assert_msg(!is_sure || truth, "%s, margin %g: %zu is called sure",
                                  kind_names[kind], margins[m], i);
                    ck_assert(!left || (scalar.b[at] & ~OBB_PACKED_SURE) == i);
                    hits += truth;
                    sure += is_sure;
                    doubt += left && !is_sure;
                    at += left;
                }
                ck_assert_uint_eq(at, scalar.count);
                looked_at += PAIRS;
                doubtful += doubt;
                if (m > 0)
                    continue;
                (void)printf("%-24s %4zu of %d overlap, %4zu for sure, %4zu in doubt\n",
                             kind_names[kind], hits, PAIRS, sure, doubt);
                if (kind == RANDOM) {
                    ck_assert(hits > PAIRS * 2 / 5 && hits < PAIRS * 3 / 5);
                    ck_assert_uint_le(doubt, PAIRS / 200);
                    ck_assert_uint_ge(sure, hits - PAIRS / 200);
                } else if (kind == NEAR || kind == FAR) {
                    ck_assert(hits > PAIRS / 4 && hits < PAIRS * 3 / 4);
                    ck_assert(doubt > PAIRS / 2 && doubt < PAIRS);
                } else {
                    ck_assert_uint_gt(hits, PAIRS / 8);
                    ck_assert_uint_lt(doubt, PAIRS * 9 / 10);
                }
            }
            free(batch);
        }
    (void)printf("%zu verdicts, %zu in doubt, %zu kernels beside the scalar one\n", looked_at,
                 doubtful, other_count);
    ck_assert_uint_gt(doubtful, 0);
}
END_TEST

START_TEST(any_number_of_pairs_from_any_place)
{
    static struct outcome scalar, other;
    const enum kind kind = _i == 0 ? RANDOM : UPRIGHT;
    struct batch *batch = make_batch(kind, 7);
    test_rng rng = {.s = 8};
    for (size_t i = 0; i < PAIRS; i++) { /* in any order, and again and again */
        batch->index[0][i] = (uint32_t)test_below(&rng, PAIRS);
        batch->index[1][i] = (uint32_t)test_below(&rng, PAIRS);
    }
    size_t left = 0;
    for (size_t count = 0; count <= 67; count++)
        for (size_t first = 0; first < 19; first += 3) {
            run(&obb_kernels_scalar, batch, first, count, 0, 0, &scalar);
            left += scalar.count;
            for (size_t k = 0; k < other_count; k++) {
                run(others[k], batch, first, count, first % 2, 0, &other);
                require_same(&scalar, 0, &other, first % 2, "a part");
            }
            /* one by one */
            size_t at = 0;
            for (size_t i = 0; i < count; i++) {
                run(&obb_kernels_scalar, batch, first + i, 1, 0, 0, &other);
                for (size_t k = 0; k < other.count; k++, at++) {
                    ck_assert_uint_eq(scalar.a[at], other.a[k]);
                    ck_assert_uint_eq(scalar.b[at], other.b[k]);
                }
            }
            ck_assert_uint_eq(at, scalar.count);
        }
    ck_assert_uint_gt(left, 1000);
    free(batch);
}
END_TEST

/* Moves all boxes away from the origin, to `by` times their distance. */
static void spread(struct batch *batch, double by)
{
    for (size_t i = 0; i < PAIRS; i++)
        for (int side = 0; side < 2; side++) {
            obb_box *box = &batch->boxes[side][i];
            box->center = obb_scale(box->center, by);
            batch->packed[side][i] = obb_packed_from_box(box, 3);
        }
}

/* Long lists of pairs that are mostly apart are tested in two stages. The share that is left is on
 * both sides of the one at which the first stage ends early. */
START_TEST(long_lists_are_tested_as_pair_by_pair)
{
    static const double apart[] = {1, 1.5, 2, 3, 5};
    static const size_t counts[] = {1023, 1024, 1025, 1100, 1999, PAIRS};
    static struct outcome scalar, other, one;
    size_t most = 0, least = PAIRS, looked_at = 0;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        struct batch *batch = make_batch(RANDOM, 11);
        test_rng rng = {.s = 12};
        spread(batch, apart[i]);
        for (size_t k = 0; k < PAIRS; k++)
            batch->index[1][k] = (uint32_t)test_below(&rng, PAIRS);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const size_t count = counts[c];
            run(&obb_kernels_scalar, batch, 0, count, 0, 0, &scalar);
            size_t at = 0;
            for (size_t k = 0; k < count; k++) {
                run(&obb_kernels_scalar, batch, k, 1, 0, 0, &one);
                ck_assert(at + one.count <= scalar.count);
                if (one.count > 0) {
                    ck_assert_uint_eq(scalar.a[at], one.a[0]);
                    ck_assert_uint_eq(scalar.b[at++], one.b[0]);
                }
            }
            ck_assert_uint_eq(at, scalar.count);
            for (size_t k = 0; k < other_count; k++) {
                run(others[k], batch, 0, count, count % 2, 0, &other);
                require_same(&scalar, 0, &other, count % 2, "a long list");
            }
            looked_at += count;
        }
        most = scalar.count > most ? scalar.count : most;
        least = scalar.count < least ? scalar.count : least;
        free(batch);
    }
    (void)printf("long lists: %zu pairs, %zu to %zu of %d left\n", looked_at, least, most, PAIRS);
    ck_assert(most > PAIRS / 3 && least > 0 && least < PAIRS / 20);
}
END_TEST

START_TEST(outputs_may_be_the_inputs)
{
    static struct outcome apart;
    struct batch *batch = make_batch(RANDOM, 9);
    if (_i == 1) /* most are apart then, and are tested in two stages */
        spread(batch, 5);
    const struct obb_limits limits = obb_limits_of(0);
    run(&obb_kernels_scalar, batch, 0, PAIRS - 37, 0, 0, &apart);
    for (size_t k = 0; k <= other_count; k++) {
        static uint32_t a[PAIRS + ROOM], b[PAIRS + ROOM];
        const struct obb_kernels *kernels = k < other_count ? others[k] : &obb_kernels_scalar;
        memcpy(a, batch->index[0], sizeof batch->index[0]);
        memcpy(b, batch->index[1], sizeof batch->index[1]);
        const size_t left = kernels->test_pairs(batch->packed[0], batch->packed[1], a, b,
                                                PAIRS - 37, &limits, a, b);
        ck_assert_uint_eq(left, apart.count);
        ck_assert_mem_eq(a, apart.a, left * sizeof a[0]);
        ck_assert_mem_eq(b, apart.b, left * sizeof b[0]);
    }
    free(batch);
}
END_TEST

START_TEST(one_box_against_many_is_as_pair_by_pair)
{
    static struct outcome each;
    size_t left = 0;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct batch *batch = make_batch(kind, 10);
        const struct obb_limits limits = obb_limits_of(0);
        for (uint32_t i = 0; i < 40; i++) {
            const size_t count = i + 1;
            for (size_t j = 0; j < count; j++) {
                batch->index[0][j] = i;
                batch->index[1][j] = (uint32_t)(((size_t)i * 7 + j * 13) % PAIRS);
            }
            batch->index[1][0] = i; /* its partner among them */
            run(&obb_kernels_scalar, batch, 0, count, 0, 0, &each);
            left += each.count;
            for (size_t k = 0; k <= other_count; k++) {
                const struct obb_kernels *kernels =
                    k < other_count ? others[k] : &obb_kernels_scalar;
                uint32_t out[41 + ROOM];
                out[count + ROOM] = SENTINEL;
                ck_assert_uint_eq(kernels->test_one_to_many(&batch->packed[0][i], batch->packed[1],
                                                            batch->index[1], count, &limits, out),
                                  each.count);
                ck_assert_mem_eq(out, each.b, each.count * sizeof out[0]);
                ck_assert_uint_eq(out[count + ROOM], SENTINEL);
            }
        }
        free(batch);
    }
    (void)printf("one against many: %zu left\n", left);
    ck_assert_uint_gt(left, 1000);
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------- */

static struct obb_grid grid_of(const obb_box *boxes, size_t count)
{
    obb_bounds all = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (size_t i = 0; i < count; i++) {
        const struct obb_packed packed = obb_packed_from_box(&boxes[i], 3);
        const obb_bounds own = obb_packed_bounds(&packed);
        all.min = obb_min(all.min, own.min);
        all.max = obb_max(all.max, own.max);
    }
    return obb_grid_uniform(&all);
}

START_TEST(boxes_are_packed_and_coded_to_the_same_bits)
{
    size_t looked_at = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++) {
        obb_box boxes[OBB_NODE];
        const obb_box *from[OBB_NODE];
        for (uint64_t seed = 1; seed <= 20; seed++) {
            boxes_make(kind, OBB_NODE, 3, seed, boxes);
            for (size_t i = 0; i < OBB_NODE; i++)
                from[i] = &boxes[i];
            const struct obb_grid grid = grid_of(boxes, OBB_NODE);
            for (size_t count = 1; count <= OBB_NODE; count++) {
                struct obb_packed packed[OBB_NODE], again[OBB_NODE];
                struct obb_node node, same, coded;
                memset(packed, 0, sizeof packed);
                memset(again, 0, sizeof again);
                obb_kernels_scalar.pack(from, count, from, &grid, packed, &node);
                for (size_t k = 0; k < other_count; k++) {
                    others[k]->pack(from, count, from, &grid, again, &same);
                    ck_assert_mem_eq(packed, again, sizeof packed); /* nothing behind the last */
                    ck_assert_mem_eq(&node, &same, sizeof node);
                    others[k]->encode(packed, count, &grid, &coded);
                    obb_kernels_scalar.encode(packed, count, &grid, &same);
                    ck_assert_mem_eq(&coded, &same, sizeof same);
                }
                for (size_t i = 0; i < OBB_NODE; i++, looked_at++)
                    ck_assert((node.axis[0][i] == OBB_CODE_NONE) == (i >= count));
            }
        }
    }
    (void)printf("packed: %zu\n", looked_at);
}
END_TEST

static struct obb_node random_node(test_rng *rng, size_t count)
{
    struct obb_node node;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < OBB_NODE; i++) {
            const uint32_t x = (uint32_t)test_below(rng, OBB_CODE_MOST + 1);
            const uint32_t y = (uint32_t)test_below(rng, OBB_CODE_MOST + 1);
            node.axis[k][i] =
                i < count ? obb_code_word(x < y ? x : y, x < y ? y : x) : OBB_CODE_NONE;
        }
    return node;
}

START_TEST(nodes_are_tested_and_merged_alike)
{
    test_rng rng = {.s = 11};
    size_t asked = 0, met = 0;
    for (size_t i = 0; i < test_effort(20000); i++) {
        const size_t count = test_below(&rng, OBB_NODE + 1);
        struct obb_node nodes[OBB_NODE];
        nodes[0] = random_node(&rng, count);
        const struct obb_node other = random_node(&rng, OBB_NODE);
        struct obb_quantised_bounds quantised = obb_node_child(&other, (uint32_t)(i % OBB_NODE));
        if (i % 4 == 0) /* edges that meet exactly */
            quantised = obb_node_child(&nodes[0], 0);
        struct obb_quantised_bounds question;
        uint32_t truth = 0;
        for (int k = 0; k < 3; k++)
            question.axis[k] = quantised.axis[k] == OBB_CODE_NONE
                                   ? OBB_CODE_NONE - 0x10001u
                                   : obb_code_query(quantised.axis[k]);
        for (uint32_t c = 0; c < count; c++) {
            bool meets = true;
            for (int k = 0; k < 3; k++)
                meets = meets && (nodes[0].axis[k][c] & 0xffffu) <= (question.axis[k] & 0xffffu) &&
                        nodes[0].axis[k][c] >> 16 <= question.axis[k] >> 16;
            truth |= (uint32_t)meets << c;
        }
        ck_assert_uint_eq(obb_kernels_scalar.test_node(&nodes[0], &question), truth);
        for (size_t k = 0; k < other_count; k++)
            ck_assert_uint_eq(others[k]->test_node(&nodes[0], &question), truth);
        asked++;
        met += (size_t)__builtin_popcount(truth);
        if (i % 16 != 0)
            continue;
        for (size_t n = 1; n < OBB_NODE; n++)
            nodes[n] = random_node(&rng, 1 + test_below(&rng, OBB_NODE));
        struct obb_node above, same;
        const size_t some = 1 + test_below(&rng, OBB_NODE);
        obb_kernels_scalar.merge_nodes(nodes, some, &above);
        for (size_t k = 0; k < other_count; k++) {
            others[k]->merge_nodes(nodes, some, &same);
            ck_assert_mem_eq(&above, &same, sizeof same);
        }
    }
    (void)printf("nodes: %zu asked, %zu children met\n", asked, met);
    ck_assert_uint_gt(met, asked);
}
END_TEST

START_TEST(places_see_the_same_children_at_the_same_distance)
{
    test_rng rng = {.s = 12};
    size_t seen = 0, asked = 0;
    for (size_t i = 0; i < test_effort(20000); i++, asked++) {
        const struct obb_node node = random_node(&rng, test_below(&rng, OBB_NODE + 1));
        struct obb_grid_target target;
        for (int k = 0; k < 3; k++) {
            target.low[k] = (float)test_uniform(&rng, -10000, 70000);
            target.high[k] = target.low[k] + (float)test_below(&rng, 5000);
            target.unit[k] = (float)test_uniform(&rng, 0.001, 2);
        }
        const float far = test_below(&rng, 2) == 0 ? 1e30F : (float)test_uniform(&rng, 0, 90000);
        float near[2][OBB_NODE];
        const uint32_t close = obb_kernels_scalar.nearest(&node, &target, far, near[0]);
        seen += (size_t)__builtin_popcount(close);
        for (size_t k = 0; k < other_count; k++) {
            ck_assert_uint_eq(others[k]->nearest(&node, &target, far, near[1]), close);
            ck_assert_mem_eq(near[0], near[1], sizeof near[0]);
        }
    }
    (void)printf("targets: %zu asked, %zu children seen\n", asked, seen);
    ck_assert_uint_gt(seen, asked);
}
END_TEST

/* Leaves of small bounds, each about a place of its own, and the tree above them. */
enum { FEW_LEAVES = 400, LEAVES = 2600, TREE_NODES = 2 * LEAVES };
static void random_tree(test_rng *rng, size_t count, struct obb_node *nodes, struct obb_tree *out)
{
    ck_assert_uint_le(obb_tree_shape(count, out), TREE_NODES);
    obb_tree_place(out, nodes);
    for (size_t i = 0; i < out->nodes[0] * (size_t)OBB_NODE; i++) {
        struct obb_node *leaf = &nodes[i / OBB_NODE];
        for (int k = 0; k < 3; k++) {
            const uint32_t place =
                i % OBB_NODE == 0 ? (uint32_t)test_below(rng, OBB_CODE_MOST - 6000) : 0;
            const uint32_t first = leaf->axis[k][0] & 0xffffu;
            const uint32_t lower =
                place + (i % OBB_NODE == 0 ? 0 : first) + (uint32_t)test_below(rng, 4);
            leaf->axis[k][i % OBB_NODE] =
                i < count ? obb_code_word(lower, lower + (uint32_t)test_below(rng, 5000))
                          : OBB_CODE_NONE;
        }
    }
    for (int level = 1; level <= out->top; level++)
        obb_tree_merge(out, &obb_kernels_scalar, nodes, level, 0, out->nodes[level]);
}

/* Where a ray enters and leaves a box of a leaf, in doubles. */
static void cross_box(const struct obb_grid_ray *ray, const struct obb_node *leaf, uint32_t child,
                      double *enter, double *leave)
{
    *enter = 0;
    for (int k = 0; k < 3; k++) {
        const uint32_t word = leaf->axis[k][child];
        const double low = word & 0xffffu, high = OBB_CODE_MOST + 1 - (word >> 16);
        const double one = (low - (double)ray->low[k]) * (double)ray->inverse[k];
        const double other = (high - (double)ray->high[k]) * (double)ray->inverse[k];
        *enter = fmax(*enter, fmin(one, other));
        *leave = fmin(*leave, fmax(one, other));
    }
}

struct walked {
    size_t count;
    size_t stops;
    uint32_t leaf[LEAVES], boxes[LEAVES];
    float enter[LEAVES][OBB_NODE];
};

/* Walks along a ray that ends at `later` after its first leaf. */
static void walk_along(const struct obb_kernels *kernels, const struct obb_tree *tree,
                       const struct obb_grid_ray *ray, float far, float later, struct walked *out)
{
    struct obb_ray_walk walk = {.ray = *ray, .far = far, .level = -1};
    out->count = out->stops = 0;
    for (;;) {
        uint32_t leaf, boxes;
        float enter[OBB_NODE];
        if (!kernels->ray(tree, &walk, &leaf, &boxes, enter))
            return;
        if (boxes == 0) {
            out->stops++;
            continue;
        }
        ck_assert_uint_lt(out->count, LEAVES);
        out->leaf[out->count] = leaf;
        out->boxes[out->count] = boxes;
        for (uint32_t k = 0; k < OBB_NODE; k++)
            out->enter[out->count][k] = boxes >> k & 1u ? enter[k] : 0;
        out->count++;
        walk.far = fminf(walk.far, later);
    }
}

START_TEST(rays_meet_the_same_leaves_in_the_same_order_and_miss_none)
{
    static struct obb_node nodes[TREE_NODES];
    static struct walked walked[2];
    static uint32_t seen[LEAVES];
    test_rng rng = {.s = 13};
    size_t asked = 0, leaves = 0, boxes = 0, behind = 0, stops = 0;
    for (size_t i = 0; i < test_effort(100); i++) {
        const size_t most = i % 4 == 0    ? 40
                            : i % 16 == 3 ? LEAVES * OBB_NODE
                                          : FEW_LEAVES * OBB_NODE;
        const size_t count = 1 + test_below(&rng, most);
        struct obb_tree tree;
        random_tree(&rng, count, nodes, &tree);
        for (int r = 0; r < 20; r++, asked++) {
            struct obb_grid_ray ray;
            for (int k = 0; k < 3; k++) {
                const double way = test_below(&rng, 4) == 0 ? 0 : test_uniform(&rng, -1, 1);
                const float origin = (float)test_uniform(&rng, -10000, 75000);
                const float grow = (float)test_below(&rng, r % 5 == 0 ? 90000 : 3);
                ray.low[k] = origin + grow;
                ray.high[k] = origin - grow;
                ray.inverse[k] = way == 0 ? 1e30F : (float)(1 / way);
            }
            const float far = test_below(&rng, 2) == 0 ? 1e30F : (float)test_uniform(&rng, 0, 9e4);
            const float later = test_below(&rng, 2) == 0 ? far : (float)test_uniform(&rng, -1, 3e4);
            walk_along(&obb_kernels_scalar, &tree, &ray, far, later, &walked[0]);
            for (size_t k = 0; k < other_count; k++) {
                walk_along(others[k], &tree, &ray, far, later, &walked[1]);
                ck_assert_uint_eq(walked[0].count, walked[1].count);
                const size_t n = walked[0].count;
                ck_assert_mem_eq(walked[0].leaf, walked[1].leaf, n * sizeof walked[0].leaf[0]);
                ck_assert_mem_eq(walked[0].boxes, walked[1].boxes, n * sizeof walked[0].boxes[0]);
                ck_assert_mem_eq(walked[0].enter, walked[1].enter, n * sizeof walked[0].enter[0]);
            }
            memset(seen, 0, sizeof seen);
            for (size_t n = 0; n < walked[0].count; n++) {
                ck_assert_uint_eq(seen[walked[0].leaf[n]], 0); /* once */
                seen[walked[0].leaf[n]] = walked[0].boxes[n];
            }
            for (uint32_t box = 0; box < count; box++) {
                const uint32_t leaf = box / OBB_NODE, child = box % OBB_NODE;
                double enter, leave = (double)far;
                cross_box(&ray, &nodes[leaf], child, &enter, &leave);
                const bool met = (seen[leaf] >> child & 1u) != 0;
                const bool near = enter * (1 + 1e-6) < fmin((double)far, (double)later);
                if (near && enter * (1 + 1e-6) < leave)
                    ck_assert(met);
                if (enter > leave * (1 + 1e-6) || leave < 0)
                    ck_assert(!met);
                behind += !near && enter < leave && !met;
                boxes += met;
            }
            leaves += walked[0].count;
            stops += walked[0].stops;
            for (size_t n = 0; n < walked[0].count; n++)
                for (uint32_t k = 0; k < OBB_NODE; k++)
                    if (walked[0].boxes[n] >> k & 1u) {
                        double enter, leave = (double)far;
                        cross_box(&ray, &nodes[walked[0].leaf[n]], k, &enter, &leave);
                        ck_assert(fabs((double)walked[0].enter[n][k] - enter) <= enter * 0x1p-20);
                    }
        }
    }
    (void)printf("rays: %zu asked, %zu leaves, %zu boxes; %zu too far\n", asked, leaves, boxes,
                 behind);
    ck_assert_uint_gt(boxes, asked);
    ck_assert_uint_gt(leaves, asked);
    ck_assert_uint_gt(behind, asked);
    ck_assert_uint_gt(stops, 20); /* in trees that are large enough */
}
END_TEST

/* The tables end with the two entries that a kernel may read beyond them. */
START_TEST(keys_are_found_alike)
{
    enum { SLABS = 18, BITS = 9, BEYOND = 2 };
    static uint16_t slab[(1 << 10) + BEYOND], column[(SLABS << BITS) + BEYOND];
    test_rng rng = {.s = 20261208};
    size_t keys = 0, large = 0, odd = 0;
    for (size_t round = 0; round < test_effort(20000); round++) {
        if (round % 1000 == 0) {
            for (size_t i = 0; i < (size_t)1 << 10; i++)
                slab[i] = (uint16_t)test_below(&rng, SLABS);
            for (size_t i = 0; i < (size_t)SLABS << BITS; i++)
                column[i] = (uint16_t)test_below(&rng, 4096);
        }
        const uint8_t x = (uint8_t)test_below(&rng, 3), y = (uint8_t)((x + 1) % 3);
        const uint8_t z = (uint8_t)(3 - x - y);
        const struct obb_cuts cuts = {.axis = {x, y, z},
                                      .shift = {6, 16 - BITS},
                                      .bits = BITS,
                                      .first = (uint32_t)test_below(&rng, 60000),
                                      .slab = slab,
                                      .column = column};
        struct obb_summaries boxes;
        const size_t count = 1 + test_below(&rng, OBB_SUMMARIES);
        uint32_t truth[OBB_SUMMARIES], above = 0;
        for (size_t i = 0; i < OBB_SUMMARIES; i++) { /* what lies beyond `count` is anything */
            for (int k = 0; k < 3; k++)
                boxes.code[k][i] = i < count ? (uint32_t)test_below(&rng, 65536) : UINT32_MAX;
            boxes.size[i] = i < count ? (float)test_below(&rng, 3) : 9;
            if (i >= count)
                continue;
            const uint32_t here = column[slab[boxes.code[x][i] / 64] * (1u << BITS) +
                                         boxes.code[y][i] / (1u << (16 - BITS))];
            const uint32_t along = boxes.code[z][i];
            truth[i] = (cuts.first + here) * 65536 + (here % 2 == 0 ? along : 65535 - along);
            above |= boxes.size[i] > 1 ? 1u << i : 0;
            odd += here % 2;
        }
        for (size_t k = 0; k <= other_count; k++) {
            const struct obb_kernels *kernels = k < other_count ? others[k] : &obb_kernels_scalar;
            uint32_t out[OBB_SUMMARIES + 1];
            for (size_t i = 0; i <= OBB_SUMMARIES; i++)
                out[i] = 4711;
            ck_assert_uint_eq(kernels->keys(&cuts, 1, &boxes, count, out), above);
            ck_assert_mem_eq(out, truth, count * sizeof out[0]);
            ck_assert_uint_eq(out[count], 4711);
        }
        keys += count;
        large += (size_t)__builtin_popcount(above);
    }
    (void)printf("keys: %zu, %zu of large boxes, %zu of columns that go down\n", keys, large, odd);
    ck_assert_uint_gt(large, keys / 8);
    ck_assert_uint_gt(odd, keys / 8);
}
END_TEST

START_TEST(ids_in_a_set_are_found_alike)
{
    enum { WORDS = 20, IDS = 64 };
    test_rng rng = {.s = 20261207};
    size_t asked = 0, found = 0, outside = 0;
    for (size_t round = 0; round < test_effort(20000); round++) {
        uint64_t bits[WORDS];
        uint32_t ids[IDS];
        const size_t count = test_below(&rng, IDS + 1);
        const uint32_t span = 1 + (uint32_t)test_below(&rng, (size_t)WORDS * 64);
        const uint32_t most = UINT32_MAX - span, first = round % 3 == 0 ? 0
                                                         : round % 3 == 1
                                                             ? most
                                                             : (uint32_t)test_below(&rng, most);
        uint64_t truth = 0;
        for (size_t i = 0; i < WORDS; i++)
            bits[i] = test_random(&rng);
        for (size_t i = 0; i < count; i++) {
            const uint64_t place = test_below(&rng, 2) == 0 ? test_below(&rng, span)
                                                            : test_below(&rng, (uint64_t)1 << 32);
            ids[i] = first + (uint32_t)place;
            const uint64_t at = (uint32_t)(ids[i] - first);
            outside += at >= span;
            truth |= (uint64_t)(at < span && (bits[at / 64] >> at % 64 & 1) != 0) << i;
        }
        const struct obb_marks marks = {.bits = bits, .first = first, .span = span};
        ck_assert_uint_eq(obb_kernels_scalar.marked(&marks, ids, count), truth);
        for (size_t k = 0; k < other_count; k++)
            ck_assert_uint_eq(others[k]->marked(&marks, ids, count), truth);
        asked += count;
        found += (size_t)__builtin_popcountll(truth);
    }
    (void)printf("ids: %zu asked, %zu in the set, %zu outside of its span\n", asked, found,
                 outside);
    ck_assert_uint_gt(found, asked / 8);
    ck_assert_uint_gt(outside, asked / 8);
}
END_TEST

int main(void)
{
    choose_kernels();
    Suite *suite = suite_create("core/batch");
    TCase *tcase = tcase_create("batch");
    tcase_set_timeout(tcase, test_patience(60));
    tcase_add_test(tcase, every_kernel_says_what_the_scalar_one_says_and_the_double_test_agrees);
    tcase_add_loop_test(tcase, any_number_of_pairs_from_any_place, 0, 2);
    tcase_add_test(tcase, long_lists_are_tested_as_pair_by_pair);
    tcase_add_loop_test(tcase, outputs_may_be_the_inputs, 0, 2);
    tcase_add_test(tcase, one_box_against_many_is_as_pair_by_pair);
    tcase_add_test(tcase, boxes_are_packed_and_coded_to_the_same_bits);
    tcase_add_test(tcase, nodes_are_tested_and_merged_alike);
    tcase_add_test(tcase, places_see_the_same_children_at_the_same_distance);
    tcase_add_test(tcase, keys_are_found_alike);
    tcase_add_test(tcase, ids_in_a_set_are_found_alike);
    tcase_add_test(tcase, rays_meet_the_same_leaves_in_the_same_order_and_miss_none);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
