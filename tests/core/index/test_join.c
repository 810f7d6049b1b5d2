/* Joins against brute force in doubles, on every named scene and of what moved. */
#include "core/index/join.h"
#include "tests/support/boxes.h"
#include "tests/support/fault.h"
#include "tests/support/model_layers.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>

/* Asserts that an index has just these versions, and their ids in its order. */
static void check_made(const struct obb_index *index, const struct obb_version *const *versions,
                       size_t count)
{
    ck_assert_uint_eq(obb_index_count(index), count);
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        for (size_t k = 0; k < count; k++)
            found += obb_index_versions(index)[k] == versions[i];
        ck_assert_uint_eq(found, 1);
        ck_assert_uint_eq(obb_index_ids(index)[i], obb_index_versions(index)[i]->id);
    }
}

START_TEST(a_join_of_what_moved_has_just_its_pairs)
{
    test_rng rng = {.s = 20261127};
    struct model_layers_counts counts = {0};
    const size_t commits = test_effort(40), edits = 80; /* in each, at most */
    size_t newest = 0, most = 0;                        /* commits whose boxes are a level */
    struct model_layers *model = model_layers_create(
        3, (size_t)2 * MODEL_LAYERS_BOXES + commits * (edits + MODEL_LAYERS_BOXES / 13 + 1));
    for (size_t c = 0; c < commits; c++) {
        if (c % 13 == 5) /* nearly all */
            model_layers_move(model, (size_t)4 * MODEL_LAYERS_BOXES, &rng);
        else
            model_layers_commit(
                model, c == 0 ? (size_t)2 * MODEL_LAYERS_BOXES : test_below(&rng, edits), &rng);
        struct model_layers_state *state = model_layers_state(&model->world, model->revision);
        const struct obb_version *moved[MODEL_LAYERS_BOXES];
        bool is_moved[MODEL_LAYERS_BOXES] = {false};
        size_t moved_count = 0;
        for (size_t i = state->count; i-- > 0;)
            if (atomic_load(&state->boxes[i]->born) == model->revision) {
                is_moved[i] = true;
                moved[moved_count++] = state->boxes[i];
            }
        const struct obb_index *made = obb_layers_made(model->layers, model->revision, moved_count);
        if (made != NULL) {
            newest++;
            check_made(made, moved, moved_count);
            ck_assert_ptr_null(obb_layers_made(model->layers, model->revision, moved_count - 1));
            ck_assert_ptr_null(obb_layers_made(model->layers, model->revision - 1, moved_count));
        }
        most = moved_count > most ? moved_count : most;
        struct model_layers_join join = {.list = (obb_join_list)(c % 4),
                                         .limit = c % 3 == 0 ? 7 : SIZE_MAX,
                                         .plain_pass = c % 5 != 0,
                                         .moved = moved,
                                         .moved_count = moved_count,
                                         .counts = &counts};
        ck_assert_int_eq(model_layers_join(model->layers, model->revision, &join), OBB_OK);
        model_layers_check_join(&join, state, is_moved);
        obb_budget_free(join.boxes);
        obb_budget_free(join.ids);
        obb_budget_free(join.ranks);
        free(state);
    }
    ck_assert_uint_gt(counts.pairs, 1000);
    ck_assert_uint_gt(counts.listed, 500);
    ck_assert(commits / 10 < newest && newest < commits * 9 / 10);
    ck_assert_uint_gt(most, MODEL_LAYERS_BOXES / 2);
    model_layers_free(model);
}
END_TEST

/* Commits random changes, with removals or only moves, and checks a join of all pairs and one of
 * what moved after each against brute force. One commit fails each allocation of the joins. */
static void join_after_commits(bool removals, struct model_layers_counts *counts, size_t *out_joins)
{
    test_rng rng = {.s = 20261128};
    const size_t commits = test_effort(30), edits = 90; /* in each, at most */
    struct model_layers *model =
        model_layers_create(3, (size_t)2 * MODEL_LAYERS_BOXES + commits * edits);
    model_layers_commit(model, (size_t)2 * MODEL_LAYERS_BOXES, &rng);
    for (size_t c = 0; c < commits; c++) {
        const size_t changes = 1 + test_below(&rng, edits);
        if (removals)
            model_layers_commit(model, changes, &rng);
        else
            model_layers_move(model, changes, &rng);
        struct model_layers_state *state = model_layers_state(&model->world, model->revision);
        const struct obb_version *moved[MODEL_LAYERS_BOXES];
        bool is_moved[MODEL_LAYERS_BOXES] = {false};
        size_t moved_count = 0;
        for (size_t i = 0; i < state->count; i++)
            if (atomic_load(&state->boxes[i]->born) == model->revision) {
                is_moved[i] = true;
                moved[moved_count++] = state->boxes[i];
            }
        for (int k = 0; k < 2; k++) {
            struct model_layers_join join = {.list = (obb_join_list)(c % 4),
                                             .limit = SIZE_MAX,
                                             .plain_pass = c % 5 != 0,
                                             .cache_room =
                                                 c != 7 ? SIZE_MAX : 0, /* it fails without harm */
                                             .backwards = c % 2 == 0,
                                             .moved = k == 0 ? NULL : moved,
                                             .moved_count = moved_count,
                                             .counts = counts};
            size_t failures = 0;
            obb_status status = OBB_NO_MEMORY;
            for (size_t n = c == 7 ? 1 : 0; status != OBB_OK; n++, failures++) {
                fault_arm(n);
                status = model_layers_join(model->layers, model->revision, &join);
                fault_arm(0);
                ck_assert(status == OBB_OK || (status == OBB_NO_MEMORY && n > 0));
            }
            ck_assert(failures > 6 || c != 7);
            model_layers_check_join(&join, state, k == 0 ? NULL : is_moved);
            obb_budget_free(join.boxes);
            obb_budget_free(join.ids);
            obb_budget_free(join.ranks);
            ++*out_joins;
        }
        free(state);
    }
    ck_assert(obb_layers_validate(model->layers, model->revision));
    model_layers_free(model);
}

START_TEST(joins_find_the_living_by_marks_unless_a_box_was_removed)
{
    struct model_layers_counts counts = {0};
    size_t joins = 0;
    join_after_commits(false, &counts, &joins);
    ck_assert_uint_gt(counts.marked, joins / 2);
    ck_assert_uint_gt(counts.pairs, 1000);
    ck_assert_uint_gt(counts.cached, 0);
    counts.marked = joins = 0;
    join_after_commits(true, &counts, &joins);
    ck_assert_uint_gt(counts.marked, 0);
    ck_assert_uint_lt(counts.marked, joins / 2);
}
END_TEST

static void free_lists(struct model_layers_join *join)
{
    obb_budget_free(join->boxes);
    obb_budget_free(join->ids);
    obb_budget_free(join->ranks);
}

/* Runs a join of all pairs at a revision and checks it against brute force. Returns whether it read
 * pairs from a cache. */
static bool reads_cache(const struct model_layers *model, const struct obb_layers *layers,
                        uint64_t revision, struct model_layers_join join)
{
    const size_t before = join.counts->cached;
    struct model_layers_state *state = model_layers_state(&model->world, revision);
    ck_assert_int_eq(model_layers_join(layers, revision, &join), OBB_OK);
    model_layers_check_join(&join, state, NULL);
    free_lists(&join);
    free(state);
    return join.counts->cached > before;
}

START_TEST(joins_read_what_another_one_has_recorded_of_an_index)
{
    test_rng rng = {.s = 20261129};
    struct model_layers_counts counts = {0};
    struct model_layers *model = model_layers_create(3, (size_t)8 * MODEL_LAYERS_BOXES);
    struct model_layers_join join = {.list = OBB_JOIN_RANKS,
                                     .limit = SIZE_MAX,
                                     .plain_pass = true,
                                     .cache_room = SIZE_MAX,
                                     .counts = &counts};
    model_layers_commit(model, (size_t)2 * MODEL_LAYERS_BOXES, &rng);
    struct obb_layers *first = model->layers;
    const uint64_t whole = model->revision;
    obb_layers_ref(first);
    ck_assert(!reads_cache(model, first, whole, join));
    ck_assert(!reads_cache(model, first, whole, join)); /* no commit in between */
    model_layers_move(model, 20, &rng);
    join.cache_room = 0;
    ck_assert(!reads_cache(model, model->layers, model->revision, join)); /* no room */
    ck_assert(!reads_cache(model, model->layers, model->revision, join));
    join.cache_room = SIZE_MAX;
    ck_assert(!reads_cache(model, model->layers, model->revision, join)); /* this one records */
    /* From here on all read it: of this state, of the one before, in which the dead are alive, and
     * of later ones; also if there is no room for more; except with a margin. */
    for (int k = 0; k < 12; k++) {
        join.list = (obb_join_list)(k % 4);
        join.limit = k % 3 == 0 ? 50 : SIZE_MAX;
        join.plain_pass = k % 2 == 0;
        join.backwards = k % 5 == 0;
        ck_assert(reads_cache(model, model->layers, model->revision, join));
        ck_assert(reads_cache(model, first, whole, join));
        join.margin = k % 2 == 0 ? 0.125 : -0.125;
        ck_assert(!reads_cache(model, model->layers, model->revision, join));
        join.margin = 0;
        join.cache_room = 0;
        ck_assert(reads_cache(model, model->layers, model->revision, join));
        join.cache_room = SIZE_MAX;
        if (k < 4)
            model_layers_move(model, 10, &rng);
    }
    /* The index of a rebuild is recorded at once, though all its entries are alive. */
    struct obb_layers *fresh = NULL, *rebased = NULL;
    ck_assert_int_eq(model_layers_rebuild(model->layers, model->revision, &fresh), OBB_OK);
    ck_assert_int_eq(obb_layers_rebased(model->layers, fresh, &rebased), OBB_OK);
    obb_layers_unref(fresh);
    ck_assert(!reads_cache(model, rebased, model->revision, join));
    ck_assert(reads_cache(model, rebased, model->revision, join));
    obb_layers_unref(rebased);
    obb_layers_unref(first);
    ck_assert_uint_gt(counts.pairs, 10000);
    ck_assert_uint_gt(counts.doubt, 100);
    model_layers_free(model);
}
END_TEST

START_TEST(a_recording_join_that_fails_or_is_cancelled_leaves_no_half_list)
{
    test_rng rng = {.s = 20261130};
    struct model_layers_counts counts = {0};
    size_t failures = 0;
    for (size_t n = 0; n < 40; n++) {
        atomic_bool cancel = n % 4 == 3;
        struct model_layers *model = model_layers_create(3, (size_t)4 * MODEL_LAYERS_BOXES);
        struct model_layers_join join = {.list = OBB_JOIN_BOXES,
                                         .limit = SIZE_MAX,
                                         .plain_pass = true,
                                         .cache_room = SIZE_MAX,
                                         .counts = &counts};
        model_layers_commit(model, (size_t)2 * MODEL_LAYERS_BOXES, &rng);
        ck_assert(!reads_cache(model, model->layers, model->revision, join));
        model_layers_move(model, 20, &rng);
        join.cancel = &cancel;
        fault_arm(n);
        const obb_status status = model_layers_join(model->layers, model->revision, &join);
        fault_arm(0);
        failures += status != OBB_OK;
        if (status == OBB_OK)
            free_lists(&join);
        join.cancel = NULL;
        for (int again = 0; again < 3; again++)
            (void)reads_cache(model, model->layers, model->revision, join);
        model_layers_free(model);
    }
    ck_assert_uint_gt(failures, 15);
    ck_assert_uint_gt(counts.cached, 40);
}
END_TEST

/* A join on a thread of its own. */
struct beside {
    pthread_t thread;
    const struct model_layers *model;
    struct model_layers_counts counts;
    struct model_layers_join join;
    obb_status status;
};

static void *join_beside(void *context)
{
    struct beside *beside = context;
    beside->status =
        model_layers_join(beside->model->layers, beside->model->revision, &beside->join);
    return NULL;
}

START_TEST(joins_at_once_record_and_read_the_same_pairs)
{
    enum { THREADS = 4 };
    test_rng rng = {.s = 20261201};
    size_t cached = 0, walked = 0;
    struct model_layers_counts counts = {0};
    for (int round = 0; round < 20; round++) {
        struct model_layers *model = model_layers_create(3, (size_t)4 * MODEL_LAYERS_BOXES);
        model_layers_commit(model, (size_t)2 * MODEL_LAYERS_BOXES, &rng);
        const struct model_layers_join join = {.list = OBB_JOIN_RANKS,
                                               .limit = SIZE_MAX,
                                               .plain_pass = true,
                                               .cache_room = SIZE_MAX,
                                               .counts = &counts};
        (void)reads_cache(model, model->layers, model->revision, join);
        model_layers_move(model, 20, &rng);
        struct model_layers_state *state = model_layers_state(&model->world, model->revision);
        struct beside all[THREADS];
        for (int i = 0; i < THREADS; i++) {
            all[i] = (struct beside){.model = model, .join = join};
            all[i].join.counts = &all[i].counts;
        }
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&all[i].thread, NULL, join_beside, &all[i]), 0);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(all[i].thread, NULL), 0);
        for (int i = 0; i < THREADS; i++) {
            ck_assert_int_eq(all[i].status, OBB_OK);
            model_layers_check_join(&all[i].join, state, NULL);
            free_lists(&all[i].join);
            cached += all[i].counts.cached;
            walked += 1 - all[i].counts.cached;
        }
        ck_assert(reads_cache(model, model->layers, model->revision, join));
        free(state);
        model_layers_free(model);
    }
    ck_assert_uint_ge(walked, 20);
    printf("joins at once: %zu read the cache, %zu did not\n", cached, walked);
}
END_TEST

START_TEST(joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin)
{
    static const size_t counts_of[] = {0, 1, 2, 16, 17, 100, 500};
    static const double margins[] = {0, -0.125, 0.25};
    static const size_t limits[] = {SIZE_MAX, SIZE_MAX, 0, 1, 1000};
    struct model_layers_counts counts = {0};
    size_t joins = 0, ranked = 0, with_ids = 0, asked = 0, doubts = 0;
    size_t scenes = 0; /* of each, another limit comes first */
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
                    scenes++;
                    for (size_t m = 0; m < 4 * tried; m++, joins++) {
                        struct model_layers_join join = {.margin = margins[m / 4],
                                                         .list = (obb_join_list)(m % 4),
                                                         .limit = limits[(scenes + m) % 5],
                                                         .plain_pass = joins % 4 != 3,
                                                         .backwards = joins % 2 == 1,
                                                         .counts = &counts};
                        const size_t before = counts.sure + counts.doubt, doubt = counts.doubt;
                        ck_assert_int_eq(model_layers_join(layers, OBB_NEVER - 1, &join), OBB_OK);
                        model_layers_check_join(&join, state, NULL);
                        if (!join.plain_pass) /* all candidates were asked about */
                            ck_assert_uint_eq(join.found.candidates,
                                              counts.sure + counts.doubt - before);
                        ck_assert_uint_eq(join.found.doubts, counts.doubt - doubt);
                        asked += counts.sure + counts.doubt - before;
                        doubts += join.found.doubts;
                        ranked += join.ranks != NULL;
                        with_ids += join.ids != NULL;
                        obb_budget_free(join.boxes);
                        obb_budget_free(join.ids);
                        obb_budget_free(join.ranks);
                    }
                    free(state);
                    obb_layers_unref(layers);
                    boxes_world_fini(&world);
                }
    (void)printf("joins: %zu, %zu pairs of %zu (%zu asked about, %zu in doubt), %zu listed\n",
                 joins, counts.pairs, counts.checked, asked, doubts, counts.listed);
    ck_assert_uint_ge(joins, 900);
    ck_assert_uint_ge(ranked, joins / 4 * 3 / 8); /* every fourth lists ranks, if it has pairs */
    ck_assert_uint_ge(with_ids, joins / 4 * 3 / 8);
    ck_assert_uint_gt(counts.pairs, 300000);
    ck_assert_uint_gt(counts.listed, counts.pairs / 5);
    ck_assert_uint_gt(counts.sure, counts.pairs / 5); /* not plain, or all are asked about */
    ck_assert_uint_lt(asked, counts.pairs);           /* so some pairs passed */
    ck_assert_uint_gt(doubts, 1000);
}
END_TEST

/* The ids of a state may be farther apart than ranks reach; then boxes are listed in their
 * place. */
START_TEST(a_join_of_ids_beyond_ranks_lists_boxes)
{
    enum { COUNT = 300 };
    struct boxes_world world;
    struct obb_layers *old = model_layers_of_scene(&world, BOXES_POINT, COUNT, 3, NULL);
    const struct obb_version *added[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        world.versions[i].id = 1 + (i * 7919 % COUNT) * ((uint64_t)1 << 30);
        added[i] = &world.versions[i];
    }
    obb_layers_unref(old);
    struct obb_layers *empty = NULL, *layers = NULL;
    ck_assert_int_eq(obb_layers_create(3, NULL, &empty), OBB_OK);
    ck_assert_int_eq(obb_layers_next(empty, added, COUNT, NULL, 0, 100, NULL, &layers), OBB_OK);
    struct model_layers_state *state = model_layers_state(&world, OBB_NEVER - 1);
    struct model_layers_counts counts = {0};
    for (int list = OBB_JOIN_COUNT; list <= OBB_JOIN_IDS; list++) {
        struct model_layers_join join = {
            .list = (obb_join_list)list, .limit = 10000, .plain_pass = true, .counts = &counts};
        ck_assert_int_eq(model_layers_join(layers, OBB_NEVER - 1, &join), OBB_OK);
        ck_assert_ptr_null(join.ranks);
        ck_assert_int_eq(join.boxes == NULL && join.ids == NULL, list == OBB_JOIN_COUNT);
        model_layers_check_join(&join, state, NULL);
        obb_budget_free(join.boxes);
        obb_budget_free(join.ids);
    }
    ck_assert_uint_gt(counts.listed, 1000);
    free(state);
    obb_layers_unref(layers);
    obb_layers_unref(empty);
    boxes_world_fini(&world);
}
END_TEST

/* Boxes in a row, each of which meets the next one. The ids of `low` of them come first, and those
 * of the others after a gap. */
START_TEST(pairs_of_ids_with_a_gap_are_listed_in_order)
{
    enum { COUNT = 40, GAP = 3000 };
    struct model_layers_counts counts = {0};
    for (size_t low = 0; low <= COUNT; low++) {
        struct boxes_world world;
        boxes_world_init(&world, COUNT, 3);
        const struct obb_version *added[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            const obb_box box = {.center = {1.5 * (double)i, 0, 0},
                                 .half_extents = {1, 1, 1},
                                 .rotation = {0, 0, 0, 1}};
            const size_t number = i * 17 % COUNT;
            added[i] =
                boxes_world_add(&world, &box, 1 + number + (number < low ? 0 : GAP), 1, NULL);
        }
        struct obb_layers *empty = NULL, *layers = NULL;
        ck_assert_int_eq(obb_layers_create(3, NULL, &empty), OBB_OK);
        ck_assert_int_eq(obb_layers_next(empty, added, COUNT, NULL, 0, 100, NULL, &layers), OBB_OK);
        struct model_layers_state *state = model_layers_state(&world, OBB_NEVER - 1);
        struct model_layers_join join = {
            .list = OBB_JOIN_RANKS, .limit = SIZE_MAX, .plain_pass = true, .counts = &counts};
        ck_assert_int_eq(model_layers_join(layers, OBB_NEVER - 1, &join), OBB_OK);
        ck_assert_ptr_nonnull(join.ranks);
        model_layers_check_join(&join, state, NULL);
        obb_budget_free(join.ranks);
        free(state);
        obb_layers_unref(layers);
        obb_layers_unref(empty);
        boxes_world_fini(&world);
    }
    ck_assert_uint_eq(counts.listed, (size_t)(COUNT + 1) * (COUNT - 1));
}
END_TEST

START_TEST(a_join_stops_when_cancelled_and_survives_each_failing_allocation)
{
    struct boxes_world world;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_POINT, 400, 3, NULL);
    atomic_bool cancel = true;
    struct model_layers_counts counts = {0};
    struct model_layers_join join = {.list = OBB_JOIN_BOXES,
                                     .limit = SIZE_MAX,
                                     .plain_pass = true,
                                     .cancel = &cancel,
                                     .counts = &counts};
    ck_assert_int_eq(model_layers_join(layers, OBB_NEVER - 1, &join), OBB_CANCELLED);

    join.cancel = NULL;
    for (int list = OBB_JOIN_COUNT; list <= OBB_JOIN_IDS; list++) {
        size_t failures = 0;
        join.list = (obb_join_list)list;
        for (size_t n = 1;; n++) {
            fault_arm(n);
            const obb_status status = model_layers_join(layers, OBB_NEVER - 1, &join);
            fault_arm(0);
            if (status == OBB_OK)
                break;
            ck_assert_int_eq(status, OBB_NO_MEMORY);
            failures++;
        }
        ck_assert_uint_ge(failures, 4);
        ck_assert_uint_gt(join.found.pairs, 10000);
        obb_budget_free(join.boxes);
        obb_budget_free(join.ids);
        obb_budget_free(join.ranks);
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
    struct model_layers_counts counts = {0};
    for (size_t limit = 1; !good; limit += limit / 2 + 1) {
        struct obb_budget budget;
        obb_budget_init(&budget, limit);
        struct model_layers_join join = {.list = OBB_JOIN_BOXES,
                                         .limit = SIZE_MAX,
                                         .plain_pass = true,
                                         .moved = state->boxes,
                                         .moved_count = state->count,
                                         .budget = &budget,
                                         .counts = &counts};
        const obb_status status = model_layers_join(layers, OBB_NEVER - 1, &join);
        ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
        ck_assert_uint_le(obb_budget_used(&budget), limit);
        good = status == OBB_OK;
        refused += !good;
        if (good) {
            ck_assert_uint_ge(limit, (size_t)COUNT * ENTRY);
            obb_budget_free(join.boxes);
            obb_budget_free(join.ids);
        }
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
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
    tcase_add_test(tc, joins_find_the_living_by_marks_unless_a_box_was_removed);
    tcase_add_test(tc, joins_read_what_another_one_has_recorded_of_an_index);
    tcase_add_test(tc, a_recording_join_that_fails_or_is_cancelled_leaves_no_half_list);
    tcase_add_test(tc, joins_at_once_record_and_read_the_same_pairs);
    tcase_add_test(tc, joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin);
    tcase_add_test(tc, a_join_of_ids_beyond_ranks_lists_boxes);
    tcase_add_test(tc, pairs_of_ids_with_a_gap_are_listed_in_order);
    tcase_add_test(tc, a_join_stops_when_cancelled_and_survives_each_failing_allocation);
    tcase_add_test(tc, a_join_of_what_moved_draws_its_index_from_the_budget);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
