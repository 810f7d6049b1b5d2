/* The order of boxes: columns of about equal count, larger ranks in front, and each column sorted
 * along it. */
#include "core/base/alloc.h"
#include "core/index/tiles.h"
#include "core/kernels/cpu.h"
#include "core/versions/version.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>

enum { SAMPLE = 4096 };

START_TEST(ranks_begin_above_large_and_grow_by_eight)
{
    ck_assert_uint_eq(obb_rank_of(2, 0), 0);
    ck_assert_uint_eq(obb_rank_of(2, 2), 0);
    ck_assert_uint_eq(obb_rank_of(2, 2.001), 1);
    ck_assert_uint_eq(obb_rank_of(2, 16), 1);
    ck_assert_uint_eq(obb_rank_of(2, 16.001), 2);
    ck_assert_uint_eq(obb_rank_of(2, 1e300), OBB_RANKS - 1);
}
END_TEST

/* Cells all over the grid; one in sixteen has a rank above 0 when `ranks`. */
static void random_cells(struct obb_grid_cell *cells, size_t count, bool ranks, test_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++)
            cells[i].code[k] = (uint16_t)test_below(rng, 65535);
        cells[i].rank = (uint16_t)(ranks && test_below(rng, 16) == 0 ? 1 + test_below(rng, 3) : 0);
    }
}

/* Returns the key of one box. It is the last of a few, and each is counted once. */
static uint32_t key_of(const struct obb_tiles *tiles, const uint32_t code[3], double size)
{
    static uint32_t counts[1 << 16];
    struct obb_summaries boxes;
    uint32_t keys[3];
    for (size_t i = 0; i < 3; i++) {
        boxes.size[i] = i == 2 ? (float)size : 0x1p100F;
        for (size_t k = 0; k < 3; k++)
            boxes.code[k][i] = i == 2 ? code[k] : 0;
    }
    obb_tiles_keys(tiles, obb_kernels_choose(OBB_KERNEL_AUTO), &boxes, 3, keys, counts);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_gt(counts[keys[i] >> 16], 0);
        counts[keys[i] >> 16]--;
    }
    return keys[2];
}

START_TEST(every_box_has_a_column_and_larger_ranks_come_first)
{
    static struct obb_grid_cell sample[SAMPLE];
    test_rng rng = {.s = 20261150};
    size_t keys = 0, large = 0;
    for (int round = 0; round < 20; round++) {
        random_cells(sample, SAMPLE, true, &rng);
        const double width[3] = {test_uniform(&rng, 0, 10), test_uniform(&rng, 0, 10),
                                 test_uniform(&rng, 0, 10)};
        struct obb_tiles *tiles = NULL;
        ck_assert_int_eq(
            obb_tiles_create(sample, SAMPLE, (size_t)SAMPLE * 32, width, 4, NULL, &tiles), OBB_OK);
        ck_assert(tiles->columns > 0 && tiles->columns < 1u << 16);
        uint32_t least[OBB_RANKS], most[OBB_RANKS];
        for (uint32_t r = 0; r < OBB_RANKS; r++) { /* each rank has columns of its own */
            least[r] = tiles->ranks[r].first;
            most[r] = least[r] + tiles->ranks[r].columns - 1;
            ck_assert(r == 0 || most[r] < least[r - 1]);
        }
        for (size_t i = 0; i < test_effort(5000); i++, keys++) {
            uint32_t code[3];
            for (int k = 0; k < 3; k++)
                code[k] = (uint32_t)test_below(&rng, 65535);
            double size = test_uniform(&rng, 0, 5); /* ranks that the sample has, and others */
            for (size_t r = test_below(&rng, OBB_RANKS); r > 0; r--)
                size *= 8;
            const uint32_t rank = obb_rank_of(4, (double)(float)size);
            const uint32_t column = key_of(tiles, code, size) >> 16;
            ck_assert(least[rank] <= column && column <= most[rank]);
            large += rank > 0;
        }
        obb_budget_free(tiles);
    }
    ck_assert(keys / 2 < large && large < keys);
}
END_TEST

START_TEST(columns_hold_about_as_many_boxes_each)
{
    static struct obb_grid_cell sample[SAMPLE];
    test_rng rng = {.s = 20261151};
    random_cells(sample, SAMPLE, false, &rng);
    const double width[3] = {1, 1, 1};
    struct obb_tiles *tiles = NULL;
    ck_assert_int_eq(obb_tiles_create(sample, SAMPLE, (size_t)SAMPLE * 32, width, 1, NULL, &tiles),
                     OBB_OK);
    ck_assert_uint_ge(tiles->ranks[0].columns, 100); /* 8192 tiles of sixteen: about 20 * 20 */
    size_t *counts = calloc(tiles->columns, sizeof *counts);
    ck_assert_ptr_nonnull(counts);
    const size_t boxes = (size_t)tiles->ranks[0].columns * 400;
    for (size_t i = 0; i < boxes; i++) {
        const uint32_t code[3] = {(uint32_t)test_below(&rng, 65535),
                                  (uint32_t)test_below(&rng, 65535),
                                  (uint32_t)test_below(&rng, 65535)};
        counts[key_of(tiles, code, 0.5) >> 16]++;
    }
    for (uint32_t c = 0; c < tiles->ranks[0].columns; c++)
        ck_assert_msg(counts[tiles->ranks[0].first + c] > 50 &&
                          counts[tiles->ranks[0].first + c] < 1600,
                      "column %u of %u has %zu", c, tiles->ranks[0].columns,
                      counts[tiles->ranks[0].first + c]);
    (void)printf("tiles: %u columns for %zu boxes\n", tiles->ranks[0].columns, boxes);
    free(counts);
    obb_budget_free(tiles);
}
END_TEST

/* Neighbours along the longest axis get neighbouring keys, up one column and down the next. */
START_TEST(a_column_goes_along_the_longest_axis_to_and_fro)
{
    static struct obb_grid_cell sample[SAMPLE];
    test_rng rng = {.s = 20261152};
    random_cells(sample, SAMPLE, false, &rng);
    for (int longest = 0; longest < 3; longest++) {
        double width[3] = {1, 1.5, 2};
        width[longest] = 9;
        struct obb_tiles *tiles = NULL;
        ck_assert_int_eq(
            obb_tiles_create(sample, SAMPLE, (size_t)SAMPLE * 32, width, 1, NULL, &tiles), OBB_OK);
        size_t up = 0, down = 0;
        for (size_t i = 0; i < test_effort(2000); i++) {
            uint32_t code[3];
            for (int k = 0; k < 3; k++)
                code[k] = (uint32_t)test_below(&rng, 65534);
            const uint32_t here = key_of(tiles, code, 0.5);
            code[longest]++;
            const uint32_t next = key_of(tiles, code, 0.5);
            ck_assert(here + 1 == next || next + 1 == here);
            up += here < next;
            down += here > next;
        }
        ck_assert(up > down / 4 && down > up / 4);
        obb_budget_free(tiles);
    }
}
END_TEST

START_TEST(a_column_is_sorted_and_equals_keep_their_order)
{
    enum { MOST = 60000 };
    static const size_t counts[] = {0, 1, 2, 15, 17, 300, 5000, MOST};
    uint64_t *boxes = malloc(MOST * sizeof *boxes), *spare = malloc(MOST * sizeof *spare);
    struct obb_version *stored = calloc(MOST, sizeof *stored);
    const struct obb_version **versions = malloc(MOST * sizeof *versions);
    const struct obb_version **out = malloc(MOST * sizeof *out);
    ck_assert(boxes != NULL && spare != NULL && stored != NULL);
    ck_assert(versions != NULL && out != NULL);
    for (size_t i = 0; i < MOST; i++)
        versions[i] = &stored[i];
    test_rng rng = {.s = 20261153};
    size_t ties = 0, looked_at = 0;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int equal = 0; equal < 2; equal++) {
            const size_t count = counts[c];
            for (size_t i = 0; i < count; i++) {
                const size_t along = equal ? test_below(&rng, 7) * 9000 : test_below(&rng, 65536);
                boxes[i] = (uint64_t)along << 32 | i;
            }
            obb_tiles_order_column(boxes, count, versions, out, spare);
            unsigned char *seen = calloc(count + 1, 1);
            ck_assert_ptr_nonnull(seen);
            /* as many bins as half the boxes, at least 16; where 2048 bins would have more than
             * sixteen boxes each, all bits are looked at */
            unsigned bits = 4;
            while (1u << bits < 2048 && (size_t)2 << bits < count)
                bits++;
            const unsigned shift = count <= (size_t)16 << bits ? 48 - bits : 32;
            size_t before = 0;
            for (size_t i = 0; i < count; i++, looked_at++) {
                const size_t which = (size_t)(out[i] - stored);
                ck_assert_uint_lt(which, count);
                ck_assert_uint_eq(seen[which]++, 0);
                if (i > 0) {
                    const uint64_t a = boxes[before] >> shift, b = boxes[which] >> shift;
                    ck_assert(a < b || (a == b && before < which));
                    ties += a == b;
                }
                before = which;
            }
            free(seen);
        }
    free((void *)out);
    free((void *)versions);
    free(stored);
    free(boxes);
    free(spare);
    ck_assert(ties > looked_at / 4 && ties < looked_at);
}
END_TEST

START_TEST(tiles_survive_each_failing_allocation)
{
    static struct obb_grid_cell sample[SAMPLE];
    test_rng rng = {.s = 20261154};
    random_cells(sample, SAMPLE, true, &rng);
    const double width[3] = {1, 2, 3};
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct obb_tiles *tiles = NULL;
        fault_arm(n);
        const obb_status status = obb_tiles_create(sample, SAMPLE, SAMPLE, width, 1, NULL, &tiles);
        fault_arm(0);
        if (status == OBB_OK) {
            obb_budget_free(tiles);
            break;
        }
        ck_assert_int_eq(status, OBB_NO_MEMORY);
        ck_assert_ptr_null(tiles);
        failures++;
    }
    ck_assert_uint_eq(failures, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tc = tcase_create("tiles");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, ranks_begin_above_large_and_grow_by_eight);
    tcase_add_test(tc, every_box_has_a_column_and_larger_ranks_come_first);
    tcase_add_test(tc, columns_hold_about_as_many_boxes_each);
    tcase_add_test(tc, a_column_goes_along_the_longest_axis_to_and_fro);
    tcase_add_test(tc, a_column_is_sorted_and_equals_keep_their_order);
    tcase_add_test(tc, tiles_survive_each_failing_allocation);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
