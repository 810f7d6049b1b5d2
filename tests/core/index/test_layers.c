/* Layers against brute force in doubles, under random edits. */
#include "core/geometry/sat.h"
#include "core/index/join.h"
#include "core/index/layers.h"
#include "tests/support/boxes.h"
#include "tests/support/fault.h"
#include "tests/support/model_layers.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool count_visit(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)verdict;
    ((unsigned char *)context)[version->self]++;
    return true;
}

static double count_reach(void *context, const struct obb_version *version, double max_distance)
{
    ((unsigned char *)context)[version->self]++;
    return max_distance;
}

static void check_queries(const struct obb_layers *layers, const struct boxes_world *world,
                          uint64_t revision, const struct model_layers_state *state, test_rng *rng)
{
    unsigned char *times = malloc(world->count + 1);
    ck_assert_ptr_nonnull(times);
    const obb_bounds everywhere = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    const obb_ray ray = {
        .origin = {-100, 0.5, 0}, .direction = {0.8, 0.6, 0}, .max_distance = HUGE_VAL};
    for (int what = 0; what < 4; what++) {
        memset(times, 0, world->count + 1);
        const obb_solid *asked =
            state->count > 0 ? &state->solids[test_below(rng, state->count)] : NULL;
        if (what == 0)
            obb_layers_query(layers, revision, &everywhere, times, count_visit);
        else if (what == 1 && asked != NULL)
            obb_layers_overlap(layers, revision, asked, 0, times, count_visit);
        else if (what == 2)
            obb_layers_rays(layers, revision, &(struct obb_cast){.ray = ray, .context = times}, 1,
                            (obb_vec3){1000, 1000, 1000}, false, count_reach);
        else
            obb_layers_nearest(layers, revision, &everywhere, HUGE_VAL, times, count_reach);
        size_t visited = 0, alive = 0;
        for (size_t i = 0; i < world->count; i++) {
            ck_assert_uint_le(times[i], 1);
            visited += times[i];
        }
        for (size_t i = 0; i < state->count; i++) {
            const bool must =
                what != 1 || (asked != NULL && obb_sat_overlap(asked, &state->solids[i]));
            ck_assert(!must || times[state->boxes[i]->self] == 1);
            alive += times[state->boxes[i]->self];
        }
        ck_assert_uint_eq(visited, alive); /* none that is dead */
    }
    free(times);
}

START_TEST(layers_show_each_state_under_random_edits_now_and_later)
{
    test_rng rng = {.s = 20261126};
    struct model_layers_counts counts = {0};
    size_t states = 0, rebased = 0, late = 0, decayed = 0, shrunk = 0;
    for (int round = 0; round < 3; round++) {
        enum { KEPT = 8 };
        const int dimensions = round == 0 ? 2 : 3;
        struct model_layers *model = model_layers_create(dimensions, 400000);
        struct obb_layers *kept[KEPT] = {NULL}, *fresh = NULL;
        const size_t commits = test_effort(150);
        for (size_t c = 0; c < commits && model->world.count + MODEL_LAYERS_BOXES < 400000; c++) {
            const size_t changes =
                c % 10 == 0 ? MODEL_LAYERS_BOXES / 2 : test_below(&rng, c % 3 * 30 + 2);
            const size_t before = obb_layers_entries(model->layers);
            if (c % 20 < 3) /* ids at times too far apart for bits */
                model->next_id += (uint64_t)1 << 2 * test_below(&rng, 9);
            if (round == 2)
                obb_layers_short_lived(model->layers);
            if (c % 40 == 39)
                model_layers_import(model, changes, &rng);
            else
                model_layers_commit(model, changes, &rng);
            shrunk += obb_layers_entries(model->layers) < before;
            ck_assert(obb_layers_validate(model->layers, model->revision));
            ck_assert_uint_eq(obb_layers_alive(model->layers), model->alive);
            ck_assert_uint_ge(obb_layers_entries(model->layers), model->alive);

            /* A rebuild starts at one commit and comes in some commits later. */
            decayed += obb_layers_decayed(model->layers);
            if (fresh != NULL && c % 5 == 0) {
                struct obb_layers *next = NULL;
                ck_assert_int_eq(obb_layers_rebased(model->layers, fresh, &next), OBB_OK);
                ck_assert(obb_layers_validate(next, model->revision));
                rebased += next != model->layers;
                late += next == model->layers;
                obb_layers_unref(model->layers);
                obb_layers_unref(fresh);
                model->layers = next;
                fresh = NULL;
            } else if (fresh == NULL && c % 7 == 0) {
                ck_assert_int_eq(model_layers_rebuild(model->layers, model->revision, &fresh),
                                 OBB_OK);
            }

            obb_layers_ref(model->layers);
            obb_layers_unref(kept[model->revision % KEPT]);
            kept[model->revision % KEPT] = model->layers;
            for (uint64_t back = 0; back < KEPT && back < model->revision; back += 3) {
                const uint64_t revision = model->revision - back;
                const struct obb_layers *layers = kept[revision % KEPT];
                struct model_layers_state *state = model_layers_state(&model->world, revision);
                check_queries(layers, &model->world, revision, state, &rng);
                if (back == 0 || c % 10 == 0) {
                    struct model_layers_join join = {.list = OBB_JOIN_BOXES,
                                                     .limit = SIZE_MAX,
                                                     .plain_pass = true,
                                                     .backwards = c % 2 == 0,
                                                     .counts = &counts};
                    ck_assert_int_eq(model_layers_join(layers, revision, &join), OBB_OK);
                    model_layers_check_join(&join, state, NULL);
                    obb_budget_free(join.boxes);
                }
                free(state);
                states++;
            }
        }
        for (size_t i = 0; i < KEPT; i++)
            obb_layers_unref(kept[i]);
        obb_layers_unref(fresh);
        model_layers_free(model);
    }
    (void)printf(
        "edits: %zu states, %zu pairs (%zu sure, %zu in doubt), %zu rebased, %zu too late, "
        "%zu decayed, %zu shrunk\n",
        states, counts.pairs, counts.sure, counts.doubt, rebased, late, decayed, shrunk);
    ck_assert_uint_gt(states, 500);
    ck_assert_uint_gt(counts.pairs, 10000);
    ck_assert_uint_gt(rebased, 5);
    ck_assert_uint_gt(late, 5);
    ck_assert_uint_gt(shrunk, 5);
}
END_TEST

/* Were it laid under what commits have indexed since, that would be twice the entries. */
START_TEST(a_rebuild_is_dropped_when_commits_have_indexed_all_of_it_anew)
{
    enum { COUNT = 20000, ADDED = 8000 };
    struct boxes_world world, more;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_UNIFORM, COUNT, 3, NULL);
    struct obb_layers *fresh = NULL, *next = NULL, *rebased = NULL;
    ck_assert_int_eq(model_layers_rebuild(layers, 1000, &fresh), OBB_OK);
    test_rng rng = {.s = 20261128};
    boxes_world_init(&more, ADDED, 3);
    const struct obb_version *added[ADDED];
    for (size_t i = 0; i < ADDED; i++) {
        const obb_box box = boxes_random(&rng, 50, 3);
        added[i] = boxes_world_add(&more, &box, COUNT + 1 + i, 1001, NULL);
    }
    const atomic_bool cancel = true;
    ck_assert_int_eq(obb_layers_next(layers, added, ADDED, NULL, 0, 1001, &cancel, &next),
                     OBB_CANCELLED);
    ck_assert_ptr_null(next);
    ck_assert_int_eq(obb_layers_next(layers, added, ADDED, NULL, 0, 1001, NULL, &next), OBB_OK);
    ck_assert_uint_eq(obb_layers_levels(next), 1);
    ck_assert_int_eq(obb_layers_rebased(next, fresh, &rebased), OBB_OK);
    ck_assert_ptr_eq(rebased, next);
    ck_assert(obb_layers_validate(rebased, 1001));
    ck_assert_uint_eq(obb_layers_entries(rebased), COUNT + ADDED);
    ck_assert(!obb_layers_decayed(rebased));
    obb_layers_unref(layers);
    obb_layers_unref(fresh);
    obb_layers_unref(next);
    obb_layers_unref(rebased);
    boxes_world_fini(&more);
    boxes_world_fini(&world);
}
END_TEST

START_TEST(making_layers_survives_each_failing_allocation)
{
    struct boxes_world world;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_UNIFORM, 300, 3, NULL);
    const size_t alive = obb_layers_alive(layers);
    test_rng rng = {.s = 1};
    struct boxes_world more;
    boxes_world_init(&more, 8, 3);
    const struct obb_version *added[8];
    for (size_t i = 0; i < 8; i++) {
        const obb_box box = boxes_random(&rng, 5, 3);
        added[i] = boxes_world_add(&more, &box, 1000 + i, 1000, NULL);
    }
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct obb_layers *empty = NULL, *next = NULL, *fresh = NULL, *rebased = NULL;
        fault_arm(n);
        obb_status status = obb_layers_create(3, NULL, &empty);
        if (status == OBB_OK)
            status = obb_layers_next(layers, added, 8, NULL, 0, 1000, NULL, &next);
        if (status == OBB_OK)
            status = model_layers_rebuild(next, 1000, &fresh);
        if (status == OBB_OK)
            status = obb_layers_rebased(next, fresh, &rebased);
        fault_arm(0);
        if (status == OBB_OK) {
            ck_assert(obb_layers_validate(rebased, 1000));
            ck_assert_uint_eq(obb_layers_alive(rebased), alive + 8);
        }
        ck_assert(obb_layers_validate(layers, OBB_NEVER - 1));
        ck_assert_uint_eq(obb_layers_alive(layers), alive);
        obb_layers_unref(empty);
        obb_layers_unref(next);
        obb_layers_unref(fresh);
        obb_layers_unref(rebased);
        if (status == OBB_OK)
            break;
        ck_assert_int_eq(status, OBB_NO_MEMORY);
        failures++;
    }
    ck_assert_uint_ge(failures, 5);
    obb_layers_unref(layers);
    boxes_world_fini(&more);
    boxes_world_fini(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *tc = tcase_create("layers");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, layers_show_each_state_under_random_edits_now_and_later);
    tcase_add_test(tc, a_rebuild_is_dropped_when_commits_have_indexed_all_of_it_anew);
    tcase_add_test(tc, making_layers_survives_each_failing_allocation);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
