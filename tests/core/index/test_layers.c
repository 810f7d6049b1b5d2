/* Layers and joins against brute force in doubles, under random edits and on every named scene. */
#include "core/geometry/sat.h"
#include "core/geometry/shape.h"
#include "core/index/join.h"
#include "core/index/rebuild.h"
#include "tests/support/boxes.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- A model: what is alive after each commit --------------------------------------------------------- */

#define MOST_BOXES 600

struct model {
    struct boxes_world world;
    struct obb_version *current[MOST_BOXES]; /* by slot; NULL: free */
    size_t alive;
    uint64_t next_id, revision;
    struct obb_layers *layers;
    double side;
};

static struct model *model_create(int dimensions, size_t versions)
{
    struct model *model = calloc(1, sizeof *model);
    ck_assert_ptr_nonnull(model);
    boxes_world_init(&model->world, versions, dimensions);
    model->next_id = 1;
    model->side = dimensions == 3 ? 8 : 20;
    ck_assert_int_eq(obb_layers_create(dimensions, NULL, &model->layers), OBB_OK);
    return model;
}

static void model_free(struct model *model)
{
    obb_layers_unref(model->layers);
    boxes_world_fini(&model->world);
    free(model);
}

/* One commit of `changes` random changes: new boxes, removals, short moves and teleports. */
static void model_commit(struct model *model, size_t changes, test_rng *rng)
{
    const struct obb_version *added[MOST_BOXES] = {NULL}, *ended[MOST_BOXES] = {NULL};
    bool touched[MOST_BOXES] = {false};
    size_t added_count = 0, ended_count = 0;
    const uint64_t revision = model->revision + 1;
    for (size_t k = 0; k < changes; k++) {
        const size_t slot = test_below(rng, MOST_BOXES);
        struct obb_version *old = model->current[slot];
        if (touched[slot])
            continue;
        touched[slot] = true;
        obb_box box = boxes_random(rng, model->side, model->world.dimensions);
        const size_t what = test_below(rng, 8);
        if (old == NULL) {
            model->current[slot] =
                boxes_world_add(&model->world, &box, model->next_id++, revision, NULL);
            added[added_count++] = model->current[slot];
            model->alive++;
            continue;
        }
        ended[ended_count++] = old;
        if (what == 0) {
            model->current[slot] = NULL;
            model->alive--;
            continue;
        }
        if (what > 1) { /* a short move; else a teleport */
            const obb_vec3 step = obb_scale(box.half_extents, 0.2);
            box = old->box;
            box.center = obb_add(box.center, step);
        }
        model->current[slot] = boxes_world_add(&model->world, &box, 0, revision, old);
        added[added_count++] = model->current[slot];
    }
    struct obb_layers *next = NULL;
    ck_assert_int_eq(
        obb_layers_next(model->layers, added, added_count, ended, ended_count, revision, &next),
        OBB_OK);
    for (size_t i = 0; i < ended_count; i++) {
        struct obb_version *version = &model->world.versions[ended[i]->self];
        atomic_store(&version->died, revision);
    }
    obb_layers_unref(model->layers);
    model->layers = next;
    model->revision = revision;
}

/* The same with nothing left of what was: the layers begin anew, as with an import. */
static void model_import(struct model *model, size_t changes, test_rng *rng)
{
    for (size_t slot = 0; slot < MOST_BOXES; slot++)
        if (model->current[slot] != NULL) {
            atomic_store(&model->current[slot]->died, model->revision + 1);
            model->current[slot] = NULL;
        }
    model->alive = 0;
    obb_layers_unref(model->layers);
    ck_assert_int_eq(obb_layers_create(model->world.dimensions, NULL, &model->layers), OBB_OK);
    model_commit(model, changes, rng);
}

static obb_status rebuild(const struct obb_layers *layers, uint64_t revision,
                          struct obb_layers **out)
{
    struct obb_rebuild *rebuild;
    const obb_status status = obb_rebuild_create(layers, revision, NULL, &rebuild);
    return status == OBB_OK ? obb_rebuild_finish(rebuild, out) : status;
}

/* ---- What brute force says ------------------------------------------------------------------------------ */

struct state {
    size_t count;
    const struct obb_version *boxes[MOST_BOXES]; /* by id */
    obb_solid solids[MOST_BOXES];
};

static int by_id(const void *a, const void *b)
{
    const struct obb_version *const *p = a, *const *q = b;
    return ((*p)->id > (*q)->id) - ((*p)->id < (*q)->id);
}

/* Everything alive at the revision. */
static struct state *state_of(const struct boxes_world *world, uint64_t revision)
{
    struct state *state = calloc(1, sizeof *state);
    ck_assert_ptr_nonnull(state);
    for (size_t i = 0; i < world->count; i++) {
        const struct obb_version *version = &world->versions[i];
        if (obb_version_alive(version, revision, revision))
            state->boxes[state->count++] = version;
    }
    qsort(state->boxes, state->count, sizeof state->boxes[0], by_id);
    for (size_t i = 0; i < state->count; i++)
        state->solids[i] = obb_solid_from_box(&state->boxes[i]->box, world->dimensions);
    return state;
}

struct counts {
    size_t pairs, sure, doubt, checked;
};

static obb_status run(struct obb_join *join, bool backwards)
{
    for (;;) {
        obb_status status = OBB_NO_MEMORY;
        const size_t chunks = obb_join_advance(join, &status);
        if (chunks == 0)
            return status;
        for (size_t i = 0; i < chunks; i++) {
            status = obb_join_chunk(join, backwards ? chunks - 1 - i : i);
            if (status != OBB_OK)
                return status;
        }
    }
}

/* Each overlapping pair (of which one is `moved`, where that is given) is there once, in order, the sure ones all overlap. */
static void check_join(struct obb_join *join, const struct state *state, double margin,
                       const bool *moved, struct counts *counts)
{
    const size_t count = obb_join_pair_count(join);
    const obb_join_pair *pairs = obb_join_pairs(join);
    size_t at = 0;
    for (size_t i = 0; i < state->count; i++)
        for (size_t k = i + 1; k < state->count; k++) {
            const bool listed =
                at < count && pairs[at].a == state->boxes[i] && pairs[at].b == state->boxes[k];
            const bool wanted = moved == NULL || moved[i] || moved[k];
            const bool overlap = obb_shape_boxes(&state->solids[i], &state->solids[k], margin);
            if (wanted && overlap)
                ck_assert_msg(listed, "pair %zu of %zu: %zu %zu missing", at, count, i, k);
            if (listed) {
                ck_assert(wanted);
                ck_assert(overlap || pairs[at].verdict == OBB_DOUBT);
                counts->sure += pairs[at].verdict == OBB_SURE;
                counts->doubt += pairs[at].verdict == OBB_DOUBT;
                at++;
            }
            counts->pairs += wanted && overlap;
            counts->checked++;
        }
    ck_assert_uint_eq(at, count); /* nothing else, and in this order */
}

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
                          uint64_t revision, const struct state *state, test_rng *rng)
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
            obb_layers_ray(layers, revision, &ray, (obb_vec3){1000, 1000, 1000}, times,
                           count_reach);
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
    struct counts counts = {0};
    size_t states = 0, rebased = 0, late = 0, decayed = 0, shrunk = 0;
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
        enum { KEPT = 8 };
        struct model *model = model_create(dimensions, 400000);
        struct obb_layers *kept[KEPT] = {NULL}, *fresh = NULL;
        const size_t commits = test_effort(150);
        for (size_t c = 0; c < commits && model->world.count + MOST_BOXES < 400000; c++) {
            const size_t changes = c % 10 == 0 ? MOST_BOXES / 2 : test_below(&rng, c % 3 * 30 + 2);
            const size_t before = obb_layers_entries(model->layers);
            if (c % 40 == 39)
                model_import(model, changes, &rng);
            else
                model_commit(model, changes, &rng);
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
                ck_assert_int_eq(rebuild(model->layers, model->revision, &fresh), OBB_OK);
            }

            obb_layers_ref(model->layers);
            obb_layers_unref(kept[model->revision % KEPT]);
            kept[model->revision % KEPT] = model->layers;
            for (uint64_t back = 0; back < KEPT && back < model->revision; back += 3) {
                const uint64_t revision = model->revision - back;
                const struct obb_layers *layers = kept[revision % KEPT];
                struct state *state = state_of(&model->world, revision);
                check_queries(layers, &model->world, revision, state, &rng);
                if (back == 0 || c % 10 == 0) {
                    struct obb_join *join = NULL;
                    ck_assert_int_eq(obb_join_create(layers, revision, 0, NULL, &join), OBB_OK);
                    ck_assert_int_eq(run(join, c % 2 == 0), OBB_OK);
                    check_join(join, state, 0, NULL, &counts);
                    obb_join_destroy(join);
                }
                free(state);
                states++;
            }
        }
        for (size_t i = 0; i < KEPT; i++)
            obb_layers_unref(kept[i]);
        obb_layers_unref(fresh);
        model_free(model);
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

START_TEST(a_join_of_what_moved_has_just_its_pairs)
{
    test_rng rng = {.s = 20261127};
    struct counts counts = {0};
    const size_t commits = test_effort(40), edits = 80; /* in each, at most */
    struct model *model = model_create(3, (size_t)2 * MOST_BOXES + commits * edits);
    for (size_t c = 0; c < commits; c++) {
        model_commit(model, c == 0 ? (size_t)2 * MOST_BOXES : test_below(&rng, edits), &rng);
        struct state *state = state_of(&model->world, model->revision);
        const struct obb_version *moved[MOST_BOXES];
        bool is_moved[MOST_BOXES] = {false};
        size_t moved_count = 0;
        for (size_t i = state->count; i-- > 0;)
            if (atomic_load(&state->boxes[i]->born) == model->revision || c % 13 == 5) {
                is_moved[i] = true;
                moved[moved_count++] = state->boxes[i];
            }
        struct obb_join *join = NULL;
        ck_assert_int_eq(obb_join_create_moved(model->layers, model->revision, 0, moved,
                                               moved_count, NULL, &join),
                         OBB_OK);
        ck_assert_int_eq(run(join, false), OBB_OK);
        check_join(join, state, 0, is_moved, &counts);
        obb_join_destroy(join);
        free(state);
    }
    ck_assert_uint_gt(counts.pairs, 1000);
    model_free(model);
}
END_TEST

/* ---- Joins of every scene ------------------------------------------------------------------------------ */

/* Layers of several levels over `count` boxes of a scene. */
static struct obb_layers *layers_of(struct boxes_world *world, boxes_kind kind, size_t count,
                                    int dimensions, const struct obb_kernels *kernels)
{
    obb_box *boxes = malloc((count + 1) * sizeof *boxes);
    const struct obb_version **added = malloc((count + 1) * sizeof *added);
    ck_assert(boxes != NULL && added != NULL);
    boxes_make(kind, count, dimensions, 20261120 + count, boxes);
    boxes_world_init(world, count, dimensions);
    struct obb_layers *layers = NULL;
    ck_assert_int_eq(obb_layers_create(dimensions, kernels, &layers), OBB_OK);
    size_t made = 0;
    for (uint64_t revision = 1; made < count; revision++) {
        const size_t until = revision == 1 ? (count + 1) / 2 : made + (count - made + 3) / 4;
        size_t n = 0;
        for (; made < until; made++)
            added[n++] = boxes_world_add(world, &boxes[made], made + 1, revision, NULL);
        struct obb_layers *next = NULL;
        ck_assert_int_eq(obb_layers_next(layers, added, n, NULL, 0, revision, &next), OBB_OK);
        obb_layers_unref(layers);
        layers = next;
    }
    free(boxes);
    free(added);
    return layers;
}

START_TEST(joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin)
{
    static const size_t counts_of[] = {0, 1, 2, 16, 17, 100, 500};
    static const double margins[] = {0, -0.125, 0.25};
    struct counts counts = {0};
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
                        layers_of(&world, kind, counts_of[s], dimensions, kernels);
                    struct state *state = state_of(&world, OBB_NEVER - 1);
                    /* Distances of many pairs take long. */
                    const size_t tried = counts_of[s] <= 100 ? 3 : 2;
                    for (size_t m = 0; m < tried; m++, joins++) {
                        struct obb_join *join = NULL;
                        ck_assert_int_eq(
                            obb_join_create(layers, OBB_NEVER - 1, margins[m], NULL, &join),
                            OBB_OK);
                        ck_assert_int_eq(run(join, joins % 2 == 1), OBB_OK);
                        check_join(join, state, margins[m], NULL, &counts);
                        obb_join_destroy(join);
                    }
                    free(state);
                    obb_layers_unref(layers);
                    boxes_world_fini(&world);
                }
    (void)printf("joins: %zu, %zu pairs of %zu (%zu sure, %zu in doubt)\n", joins, counts.pairs,
                 counts.checked, counts.sure, counts.doubt);
    ck_assert_uint_ge(joins, 300);
    ck_assert_uint_gt(counts.pairs, 100000);
}
END_TEST

START_TEST(a_join_stops_when_cancelled_and_survives_each_failing_allocation)
{
    struct boxes_world world;
    struct obb_layers *layers = layers_of(&world, BOXES_POINT, 400, 3, NULL);
    atomic_bool cancel = true;
    struct obb_join *join = NULL;
    ck_assert_int_eq(obb_join_create(layers, OBB_NEVER - 1, 0, &cancel, &join), OBB_OK);
    ck_assert_int_eq(run(join, false), OBB_CANCELLED);
    obb_join_destroy(join);

    size_t failures = 0, pairs = 0;
    for (size_t n = 1;; n++) {
        join = NULL;
        fault_arm(n);
        obb_status status = obb_join_create(layers, OBB_NEVER - 1, 0, NULL, &join);
        if (status == OBB_OK)
            status = run(join, false);
        fault_arm(0);
        pairs = status == OBB_OK ? obb_join_pair_count(join) : 0;
        obb_join_destroy(join);
        if (status == OBB_OK)
            break;
        ck_assert_int_eq(status, OBB_NO_MEMORY);
        failures++;
    }
    ck_assert_uint_ge(failures, 4);
    ck_assert_uint_gt(pairs, 10000);
    obb_join_destroy(NULL);
    obb_layers_unref(layers);
    boxes_world_fini(&world);
}
END_TEST

/* In phases, the chunks of each run backwards. */
static struct obb_layers *rebuilt_backwards(const struct obb_layers *layers, uint64_t revision,
                                            size_t *chunks)
{
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh = NULL;
    obb_status status = obb_rebuild_create(layers, revision, NULL, &rebuild);
    ck_assert_int_eq(status, OBB_OK);
    for (size_t n; (n = obb_rebuild_advance(rebuild, &status)) > 0; *chunks += n)
        for (size_t i = n; i-- > 0;)
            ck_assert_int_eq(obb_rebuild_chunk(rebuild, i), OBB_OK);
    ck_assert_int_eq(status, OBB_OK);
    ck_assert_int_eq(obb_rebuild_take(rebuild, &fresh), OBB_OK);
    obb_rebuild_destroy(rebuild);
    return fresh;
}

START_TEST(chunks_of_a_rebuild_run_in_any_order_and_leave_out_the_dead)
{
    enum { COUNT = 20000, ENDED = 3000 };
    struct boxes_world world;
    struct obb_layers *layers = layers_of(&world, BOXES_SIZES, COUNT, 3, NULL);
    const struct obb_version *ended[ENDED];
    for (size_t i = 0; i < ENDED; i++)
        ended[i] = &world.versions[i * 5];
    const uint64_t revision = 1000;
    struct obb_layers *next = NULL, *fresh = NULL;
    ck_assert_int_eq(obb_layers_next(layers, NULL, 0, ended, ENDED, revision, &next), OBB_OK);
    for (size_t i = 0; i < ENDED; i++)
        atomic_store(&world.versions[i * 5].died, revision);
    ck_assert_int_eq(rebuild(next, revision, &fresh), OBB_OK);
    size_t chunks = 0;
    struct obb_layers *other = rebuilt_backwards(next, revision, &chunks);
    ck_assert_uint_gt(chunks, 12);
    ck_assert(obb_layers_validate(fresh, revision) && obb_layers_validate(other, revision));
    ck_assert_uint_eq(obb_layers_entries(fresh), COUNT - ENDED);
    ck_assert_uint_eq(obb_layers_entries(other), COUNT - ENDED);
    const struct obb_index *one = obb_layers_level(fresh, 0), *two = obb_layers_level(other, 0);
    for (size_t i = 0; i < COUNT - ENDED; i++)
        ck_assert_ptr_eq(obb_index_versions(one)[i], obb_index_versions(two)[i]);
    obb_layers_unref(layers);
    obb_layers_unref(next);
    obb_layers_unref(fresh);
    obb_layers_unref(other);
    boxes_world_fini(&world);
}
END_TEST

/* Were it laid under what commits have indexed since, that would be twice the entries. */
START_TEST(a_rebuild_is_dropped_when_commits_have_indexed_all_of_it_anew)
{
    enum { COUNT = 20000, ADDED = 8000 };
    struct boxes_world world, more;
    struct obb_layers *layers = layers_of(&world, BOXES_UNIFORM, COUNT, 3, NULL);
    struct obb_layers *fresh = NULL, *next = NULL, *rebased = NULL;
    ck_assert_int_eq(rebuild(layers, 1000, &fresh), OBB_OK);
    test_rng rng = {.s = 20261128};
    boxes_world_init(&more, ADDED, 3);
    const struct obb_version *added[ADDED];
    for (size_t i = 0; i < ADDED; i++) {
        const obb_box box = boxes_random(&rng, 50, 3);
        added[i] = boxes_world_add(&more, &box, COUNT + 1 + i, 1001, NULL);
    }
    ck_assert_int_eq(obb_layers_next(layers, added, ADDED, NULL, 0, 1001, &next), OBB_OK);
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
    struct obb_layers *layers = layers_of(&world, BOXES_UNIFORM, 300, 3, NULL);
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
            status = obb_layers_next(layers, added, 8, NULL, 0, 1000, &next);
        if (status == OBB_OK)
            status = rebuild(next, 1000, &fresh);
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
    tcase_add_test(tc, a_join_of_what_moved_has_just_its_pairs);
    tcase_add_test(tc, joins_of_all_scenes_have_each_pair_once_with_every_kernel_and_margin);
    tcase_add_test(tc, a_join_stops_when_cancelled_and_survives_each_failing_allocation);
    tcase_add_test(tc, chunks_of_a_rebuild_run_in_any_order_and_leave_out_the_dead);
    tcase_add_test(tc, a_rebuild_is_dropped_when_commits_have_indexed_all_of_it_anew);
    tcase_add_test(tc, making_layers_survives_each_failing_allocation);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
