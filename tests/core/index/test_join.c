/* Joins against brute force in doubles, on every named scene and of what moved. */
#include "core/index/join.h"
#include "tests/support/boxes.h"
#include "tests/support/fault.h"
#include "tests/support/model_layers.h"
#include "tests/support/test.h"

#include <stdio.h>

START_TEST(a_join_of_what_moved_has_just_its_pairs)
{
    test_rng rng = {.s = 20261127};
    struct model_layers_counts counts = {0};
    const size_t commits = test_effort(40), edits = 80; /* in each, at most */
    struct model_layers *model =
        model_layers_create(3, (size_t)2 * MODEL_LAYERS_BOXES + commits * edits);
    for (size_t c = 0; c < commits; c++) {
        model_layers_commit(
            model, c == 0 ? (size_t)2 * MODEL_LAYERS_BOXES : test_below(&rng, edits), &rng);
        struct model_layers_state *state = model_layers_state(&model->world, model->revision);
        const struct obb_version *moved[MODEL_LAYERS_BOXES];
        bool is_moved[MODEL_LAYERS_BOXES] = {false};
        size_t moved_count = 0;
        for (size_t i = state->count; i-- > 0;)
            if (atomic_load(&state->boxes[i]->born) == model->revision || c % 13 == 5) {
                is_moved[i] = true;
                moved[moved_count++] = state->boxes[i];
            }
        struct obb_join *join = NULL;
        ck_assert_int_eq(obb_join_create_moved(model->layers, model->revision, 0, moved,
                                               moved_count, NULL, NULL, &join),
                         OBB_OK);
        ck_assert_int_eq(model_layers_join(join, false), OBB_OK);
        model_layers_check_join(join, state, 0, is_moved, &counts);
        obb_join_destroy(join);
        free(state);
    }
    ck_assert_uint_gt(counts.pairs, 1000);
    model_layers_free(model);
}
END_TEST

START_TEST(joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin)
{
    static const size_t counts_of[] = {0, 1, 2, 16, 17, 100, 500};
    static const double margins[] = {0, -0.125, 0.25};
    struct model_layers_counts counts = {0}, counting = {0};
    size_t joins = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 0; s < sizeof counts_of / sizeof counts_of[0]; s++)
                for (int k = OBB_KERNEL_SCALAR; k < OBB_KERNEL_COUNT; k++) {
                    const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)k);
                    if (kernels == NULL)
                        continue;
                    struct boxes_world world;
                    struct obb_layers *layers =
                        model_layers_of_scene(&world, kind, counts_of[s], dimensions, kernels);
                    struct model_layers_state *state = model_layers_state(&world, OBB_NEVER - 1);
                    /* Distances of many pairs take long. */
                    const size_t tried = counts_of[s] <= 100 ? 3 : 2;
                    for (size_t m = 0; m < tried; m++, joins++) {
                        struct obb_join *join = NULL;
                        ck_assert_int_eq(
                            obb_join_create(layers, OBB_NEVER - 1, margins[m], NULL, NULL, &join),
                            OBB_OK);
                        ck_assert_int_eq(model_layers_join(join, joins % 2 == 1), OBB_OK);
                        model_layers_check_join(join, state, margins[m], NULL, &counts);
                        obb_join_destroy(join);
                        ck_assert_int_eq(obb_join_create_counting(layers, OBB_NEVER - 1, margins[m],
                                                                  NULL, NULL, &join),
                                         OBB_OK);
                        ck_assert_int_eq(model_layers_join(join, joins % 2 == 0), OBB_OK);
                        model_layers_check_counting(join, state, margins[m], &counting);
                        obb_join_destroy(join);
                    }
                    free(state);
                    obb_layers_unref(layers);
                    boxes_world_fini(&world);
                }
    (void)printf("joins: %zu, %zu pairs of %zu (%zu sure, %zu in doubt)\n", joins, counts.pairs,
                 counts.checked, counts.sure, counts.doubt);
    (void)printf("counting joins: %zu pairs, %zu of them counted, %zu sure ones kept\n",
                 counting.pairs, counting.counted, counting.sure);
    ck_assert_uint_ge(joins, 300);
    ck_assert_uint_gt(counts.pairs, 100000);
    ck_assert_uint_eq(counting.pairs, counts.pairs);
    ck_assert_uint_gt(counting.counted, counting.pairs / 10);
    ck_assert_uint_gt(counting.sure, counting.pairs / 20);
}
END_TEST

START_TEST(a_join_stops_when_cancelled_and_survives_each_failing_allocation)
{
    struct boxes_world world;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_POINT, 400, 3, NULL);
    atomic_bool cancel = true;
    struct obb_join *join = NULL;
    ck_assert_int_eq(obb_join_create(layers, OBB_NEVER - 1, 0, &cancel, NULL, &join), OBB_OK);
    ck_assert_int_eq(model_layers_join(join, false), OBB_CANCELLED);
    obb_join_destroy(join);

    size_t failures = 0, pairs = 0;
    for (int counting = 0; counting < 2; counting++) {
        for (size_t n = 1;; n++) {
            join = NULL;
            fault_arm(n);
            obb_status status = (counting ? obb_join_create_counting : obb_join_create)(
                layers, OBB_NEVER - 1, 0, NULL, NULL, &join);
            if (status == OBB_OK)
                status = model_layers_join(join, false);
            fault_arm(0);
            pairs = status == OBB_OK ? obb_join_pair_count(join) + obb_join_counted(join) : 0;
            obb_join_destroy(join);
            if (status == OBB_OK)
                break;
            ck_assert_int_eq(status, OBB_NO_MEMORY);
            failures++;
        }
        ck_assert_uint_ge(failures, 4);
        ck_assert_uint_gt(pairs, 10000);
        failures = 0;
    }
    obb_join_destroy(NULL);
    obb_layers_unref(layers);
    boxes_world_fini(&world);
}
END_TEST

START_TEST(a_join_of_what_moved_draws_its_index_from_the_budget)
{
    enum { COUNT = 400, ENTRY = 64 + 8 + 8 /* a packed box, its version, its id */ };
    struct boxes_world world;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_POINT, COUNT, 3, NULL);
    struct model_layers_state *state = model_layers_state(&world, OBB_NEVER - 1);
    size_t refused = 0;
    bool good = false;
    for (size_t limit = 1; !good; limit += limit / 2 + 1) {
        struct obb_budget budget;
        obb_budget_init(&budget, limit);
        struct obb_join *join = NULL;
        obb_status status = obb_join_create_moved(layers, OBB_NEVER - 1, 0, state->boxes,
                                                  state->count, NULL, &budget, &join);
        if (status == OBB_OK) {
            ck_assert_uint_ge(obb_budget_used(&budget), (size_t)COUNT * ENTRY);
            status = model_layers_join(join, false);
        }
        ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
        ck_assert_uint_le(obb_budget_used(&budget), limit);
        obb_join_destroy(join);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        good = status == OBB_OK;
        refused += !good;
    }
    ck_assert_uint_gt(refused, 20);
    free(state);
    obb_layers_unref(layers);
    boxes_world_fini(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("join");
    TCase *tc = tcase_create("join");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_join_of_what_moved_has_just_its_pairs);
    tcase_add_test(tc, joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin);
    tcase_add_test(tc, a_join_stops_when_cancelled_and_survives_each_failing_allocation);
    tcase_add_test(tc, a_join_of_what_moved_draws_its_index_from_the_budget);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
