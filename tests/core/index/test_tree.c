/* Levels over packed boxes: their shape, bounds that hold all below them, and walks against brute
 * force. */
#include "core/index/grid.h"
#include "core/index/packed.h"
#include "core/index/tree.h"
#include "core/kernels/cpu.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

START_TEST(each_level_has_a_sixteenth_of_the_nodes_below_it)
{
    static const size_t counts[] = {0,   1,   15,   16,   17,      255,
                                    256, 257, 4096, 4097, 1000000, (size_t)1 << 31};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct obb_tree tree;
        const size_t sum = obb_tree_shape(counts[i], &tree);
        ck_assert(tree.top >= 1 && tree.top < OBB_LEVELS);
        ck_assert_uint_eq(tree.nodes[tree.top], 1);
        size_t below = counts[i], nodes = 0;
        for (int level = 0; level <= tree.top; level++) {
            const size_t needed = below == 0 ? 1 : (below + OBB_NODE - 1) / OBB_NODE;
            ck_assert_uint_eq(tree.nodes[level], needed);
            nodes += needed;
            below = needed;
        }
        ck_assert_uint_eq(nodes, sum);
    }
}
END_TEST

START_TEST(the_first_line_is_aligned_and_within_the_spare_bytes)
{
    static char block[256];
    for (size_t i = 0; i < 128; i++) {
        const char *line = obb_first_line(block + i);
        ck_assert_uint_eq((uintptr_t)line % 64, 0);
        ck_assert(line >= block + i && line < block + i + 64);
    }
}
END_TEST

enum { MOST = 1500 };

struct forest {
    size_t count;
    obb_box boxes[MOST];
    struct obb_packed packed[MOST];
    obb_bounds bounds[MOST]; /* of the packed boxes, grown */
    struct obb_node *nodes;
    void *block;
    struct obb_tree tree;
    struct obb_grid grid;
    struct obb_nonuniform_grid nonuniform;
};

static obb_bounds grown(const obb_bounds *b, double by)
{
    return (obb_bounds){{b->min.x - by, b->min.y - by, b->min.z - by},
                        {b->max.x + by, b->max.y + by, b->max.z + by}};
}

static bool meet(const obb_bounds *a, const obb_bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}

/* Pieces of equal width: a nonuniform grid in form, so that its code paths run. */
static void make_nonuniform(struct forest *f, const obb_bounds *extent)
{
    for (int k = 0; k < 3; k++) {
        const double low = obb_component(extent->min, k), high = obb_component(extent->max, k);
        for (int i = 0; i <= OBB_GRID_PIECES; i++)
            f->nonuniform.knot[k][i] =
                i == OBB_GRID_PIECES ? high : low + (high - low) * i / OBB_GRID_PIECES;
        for (int i = 0; i < OBB_GRID_PIECES; i++) {
            const double width = f->nonuniform.knot[k][i + 1] - f->nonuniform.knot[k][i];
            f->nonuniform.scale[k][i] = width > 1e-290 ? OBB_GRID_PIECE_CODES / width : 0;
        }
    }
    f->grid.nonuniform = &f->nonuniform;
}

static struct forest *forest_of(boxes_kind kind, size_t count, bool uniform, double grow,
                                const struct obb_kernels *kernels)
{
    struct forest *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    ck_assert_ptr_nonnull(f);
    f->count = count;
    boxes_make(kind, count, 3, 20261160 + count, f->boxes);
    obb_bounds extent = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (size_t i = 0; i < count; i++) {
        f->packed[i] = obb_packed_from_box(&f->boxes[i], 3);
        f->bounds[i] = obb_packed_bounds(&f->packed[i]);
        f->bounds[i] = grown(&f->bounds[i], grow);
        extent.min = obb_min(extent.min, f->bounds[i].min);
        extent.max = obb_max(extent.max, f->bounds[i].max);
    }
    f->grid = obb_grid_uniform(&extent);
    if (!uniform)
        make_nonuniform(f, &extent);
    f->block = malloc((obb_tree_shape(count, &f->tree) + 1) * sizeof *f->nodes);
    ck_assert_ptr_nonnull(f->block);
    f->nodes = obb_first_line(f->block);
    obb_tree_over(&f->tree, kernels, &f->grid, f->packed, count, grow, f->nodes);
    return f;
}

static void forest_free(struct forest *f)
{
    free(f->block);
    free(f);
}

/* The quantised bounds of each node hold those of its children. */
static void check_levels(const struct forest *f)
{
    for (int level = 1; level <= f->tree.top; level++)
        for (size_t i = 0; i < (size_t)f->tree.nodes[level - 1] * OBB_NODE; i++) {
            const struct obb_quantised_bounds below =
                obb_node_child(&f->tree.level[level - 1][i / OBB_NODE], (uint32_t)(i % OBB_NODE));
            const size_t node = i / OBB_NODE;
            const struct obb_quantised_bounds above =
                obb_node_child(&f->tree.level[level][node / OBB_NODE], (uint32_t)(node % OBB_NODE));
            for (int k = 0; k < 3; k++) {
                ck_assert_uint_le(above.axis[k] & 0xffffu, below.axis[k] & 0xffffu);
                ck_assert_uint_le(above.axis[k] >> 16, below.axis[k] >> 16);
            }
        }
}

START_TEST(walks_find_all_boxes_that_meet_the_query_once_and_few_others)
{
    static const boxes_kind kinds[] = {BOXES_UNIFORM, BOXES_SIZES, BOXES_STICKS, BOXES_POINT};
    static const size_t counts[] = {1, 16, 17, 300, MOST};
    static const double grows[] = {0, 0.5};
    test_rng rng = {.s = 20261161};
    size_t met = 0, found = 0, asked = 0;
    for (size_t variant = 0; variant < 80; variant++)
        for (int k = OBB_KERNEL_SCALAR; k < OBB_KERNEL_COUNT; k++) {
            const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)k);
            if (kernels == NULL)
                continue;
            struct forest *f = forest_of(kinds[variant % 4], counts[variant / 4 % 5],
                                         variant / 20 % 2 == 0, grows[variant / 40], kernels);
            check_levels(f);
            for (size_t q = 0; q < test_effort(10); q++, asked++) {
                const obb_bounds query = f->bounds[test_below(&rng, f->count)];
                const struct obb_quantised_bounds quantised = obb_grid_quantise(&f->grid, &query);
                struct obb_walk walk = obb_walk_start(&f->tree, kernels, &quantised);
                unsigned char seen[MOST] = {0};
                uint32_t out[64 + OBB_NODE];
                for (size_t n; (n = kernels->walk(&f->tree, &walk, 0, out, 64)) > 0;)
                    for (size_t i = 0; i < n; i++) {
                        ck_assert_uint_lt(out[i], f->count);
                        ck_assert_uint_eq(seen[out[i]]++, 0);
                        found++;
                    }
                for (size_t i = 0; i < f->count; i++) {
                    const bool meets = meet(&f->bounds[i], &query);
                    ck_assert(!meets || seen[i] == 1);
                    met += meets;
                }
            }
            forest_free(f);
        }
    (void)printf("walks: %zu asked, %zu met, %zu found\n", asked, met, found);
    ck_assert_uint_gt(met, asked * 2);
    ck_assert_uint_lt(found, met + met / 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *tc = tcase_create("tree");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, each_level_has_a_sixteenth_of_the_nodes_below_it);
    tcase_add_test(tc, the_first_line_is_aligned_and_within_the_spare_bytes);
    tcase_add_test(tc, walks_find_all_boxes_that_meet_the_query_once_and_few_others);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
