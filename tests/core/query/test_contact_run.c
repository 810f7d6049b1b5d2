/* Runs of contacts, and the sets of ended boxes, against a look at every box and every pair. */
#include "core/query/contact_run.h"

#include "core/versions/version.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>

enum { BOXES = 300 };

struct world {
    struct obb_version boxes[BOXES]; /* by id */
    bool ended[BOXES], made[BOXES];
    const struct obb_version *ended_list[BOXES], *made_list[BOXES];
    uint64_t made_ids[BOXES]; /* from the last one to the first */
    obb_committed committed;
};

/* What a commit does to boxes. */
enum deeds { REPLACES, REPLACES_AND_ADDS, ANY, DEEDS };

/* Chooses ids that are up to `step` apart, and which boxes a commit ends, makes or replaces. */
static void choose(struct world *world, uint64_t step, size_t share, enum deeds deeds,
                   test_rng *rng)
{
    *world = (struct world){.committed = {.changed = true}};
    uint64_t id = test_below(rng, 1000);
    for (size_t i = 0; i < BOXES; i++) {
        id += 1 + test_below(rng, step);
        world->boxes[i].id = id;
        world->ended[i] = test_below(rng, share) == 0;
        world->made[i] = test_below(rng, world->ended[i] ? 2 : share) == 0;
        if (deeds == REPLACES || (deeds == REPLACES_AND_ADDS && world->ended[i]))
            world->made[i] = world->ended[i];
        if (world->ended[i])
            world->ended_list[world->committed.ended_count++] = &world->boxes[i];
        if (world->made[i])
            world->made_list[world->committed.made_count++] = &world->boxes[i];
        world->committed.gone += world->ended[i] && !world->made[i];
    }
    world->committed.ended = world->ended_list;
    world->committed.made = world->made_list;
    for (size_t i = 0; i < world->committed.made_count; i++)
        world->made_ids[world->committed.made_count - 1 - i] = world->made_list[i]->id;
}

/* What a commit does to each pair of boxes, in their order. */
enum lot { NEVER, STAYS, COMES, GOES, COMES_BACK, LOTS };

static size_t rank_of(const struct world *world, const struct obb_version *box)
{
    return (size_t)(box - world->boxes);
}

static obb_id_pair pair_of(const struct world *world, size_t a, size_t b)
{
    return (obb_id_pair){.id = {world->boxes[a].id, world->boxes[b].id},
                         .boxes = {&world->boxes[a], &world->boxes[b]}};
}

/* The pairs of a world before and after a commit, and what is to be told of them. */
struct story {
    const struct world *world;
    enum lot lots[BOXES][BOXES];
    obb_id_pair present[BOXES * BOXES / 2];
    size_t present_count, counts[LOTS];
    bool stayed;
    size_t a, b;       /* where the search for the next pair goes on */
    size_t told, most; /* most: no memory for more; SIZE_MAX: enough */
};

/* Chooses what a commit does, and fills the run and the present pairs. */
static void tell_lots(struct story *story, const struct world *world, struct obb_contact_run *run,
                      size_t share, test_rng *rng)
{
    *story = (struct story){.world = world, .b = 1, .most = SIZE_MAX};
    ck_assert_int_eq(obb_contact_run_init(run, BOXES * BOXES / 2, NULL), OBB_OK);
    run->count = 0;
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES; b++) {
            const bool was = test_below(rng, share) == 0, is = test_below(rng, share) == 0;
            enum lot lot = was ? STAYS : NEVER;
            if (world->ended[a] || world->ended[b])
                lot = was ? is ? COMES_BACK : GOES : is ? COMES : NEVER;
            else if (!was && is && (world->made[a] || world->made[b]))
                lot = COMES;
            story->lots[a][b] = lot;
            story->counts[lot]++;
            if (was)
                obb_contact_run_add(run,
                                    &(obb_box_pair){.a = &world->boxes[a], .b = &world->boxes[b]});
            if (lot == COMES || lot == COMES_BACK)
                story->present[story->present_count++] = pair_of(world, a, b);
        }
}

/* Goes on to the next pair that is to be told. */
static enum lot next_told(struct story *story)
{
    for (; story->a < BOXES; story->a++, story->b = story->a + 1)
        for (; story->b < BOXES; story->b++) {
            const enum lot lot = story->lots[story->a][story->b];
            if (lot == COMES || lot == GOES || (lot == COMES_BACK && story->stayed))
                return lot;
        }
    return NEVER;
}

static bool on_told(void *context, const obb_id_pair *before, const obb_id_pair *after)
{
    struct story *story = context;
    const enum lot lot = next_told(story);
    if (story->told == story->most)
        return false;
    ck_assert_int_ne(lot, NEVER);
    ck_assert_int_eq(before == NULL, lot == COMES);
    ck_assert_int_eq(after == NULL, lot == GOES);
    const obb_id_pair *either[] = {before, after};
    for (size_t i = 0; i < 2; i++)
        if (either[i] != NULL) {
            ck_assert_uint_eq(rank_of(story->world, either[i]->boxes.a), story->a);
            ck_assert_uint_eq(rank_of(story->world, either[i]->boxes.b), story->b);
        }
    story->b++;
    story->told++;
    return true;
}

static bool on_gone(void *context, const obb_id_pair *before, const obb_id_pair *after)
{
    (void)context;
    ck_assert_ptr_nonnull(before);
    ck_assert_ptr_null(after);
    ck_assert_uint_eq(before->id[0], 1); /* the least id, which has ended */
    return true;
}

/* Asserts that the run has the pairs of these lots, in order. */
static void check_run(const struct story *story, const struct obb_contact_run *run, bool after)
{
    size_t at = 0;
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES; b++) {
            const enum lot lot = story->lots[a][b];
            if (lot != STAYS && lot != COMES_BACK && lot != (after ? COMES : GOES))
                continue;
            const obb_id_pair expected = pair_of(story->world, a, b);
            ck_assert_uint_lt(at, run->count);
            ck_assert_uint_eq(run->keys[at], obb_contact_key(expected.id));
            ck_assert_mem_eq(&run->boxes[at], &expected.boxes, sizeof expected.boxes);
            at++;
        }
    ck_assert_uint_eq(at, run->count);
}

static struct obb_contact_step step_of(struct story *story, const struct obb_contact_ended *ended,
                                       const atomic_bool *cancel)
{
    return (struct obb_contact_step){.kernels = obb_kernels_choose(OBB_KERNEL_AUTO),
                                     .ended = ended,
                                     .present = story->present,
                                     .count = story->present_count,
                                     .stayed = story->stayed,
                                     .cancel = cancel,
                                     .tell = on_told,
                                     .context = story};
}

START_TEST(a_run_is_that_after_the_commit_and_tells_what_changed)
{
    static const uint64_t steps[] = {1, 5, 1000, (uint64_t)1 << 20};
    static const size_t shares[] = {1, 2, 5, 30, 1000000};
    static struct world world;
    static struct story story;
    test_rng rng = {.s = 20261129};
    size_t near = 0, far = 0, removed = 0, counts[LOTS] = {0}, told = 0, empty = 0,
           known[DEEDS] = {0};
    for (size_t round = 0; round < test_effort(80); round++) {
        const enum deeds deeds = (enum deeds)(round % DEEDS);
        choose(&world, steps[round % 4], shares[round / 4 % 5], deeds, &rng);
        struct obb_contact_ended ended;
        const uint64_t *made_ids = round / 2 % 2 == 0 ? world.made_ids : NULL;
        known[deeds] += made_ids != NULL && world.committed.ended_count > 0;
        ck_assert_int_eq(obb_contact_ended_init(&ended, &world.committed, made_ids, NULL), OBB_OK);
        near += ended.span > 0;
        far += ended.span == 0;
        for (size_t i = 0; i < BOXES; i++) {
            ck_assert(obb_contact_ended_removed(&ended, world.boxes[i].id) ==
                      (world.ended[i] && !world.made[i]));
            ck_assert(!obb_contact_ended_removed(&ended, world.boxes[BOXES - 1].id + 1 + i));
            removed += world.ended[i] && !world.made[i];
        }
        struct obb_contact_run run;
        tell_lots(&story, &world, &run, round % 7 == 6 ? 1000000 : 3 + round % 30, &rng);
        story.stayed = round % 2 == 0;
        empty += run.count == 0 || story.present_count == 0;
        const struct obb_contact_step step = step_of(&story, &ended, NULL);
        ck_assert_int_eq(obb_contact_run_advance(&run, &step, NULL), OBB_OK);
        ck_assert_int_eq(next_told(&story), NEVER);
        check_run(&story, &run, true);
        for (size_t i = 0; i < LOTS; i++)
            counts[i] += story.counts[i];
        told += story.told;
        obb_contact_run_fini(&run);
        obb_contact_ended_fini(&ended);
    }
    ck_assert_uint_gt(near, 20);
    ck_assert_uint_gt(far, 20);
    ck_assert_uint_gt(removed, 100);
    ck_assert_uint_gt(empty, 5);
    for (size_t i = 0; i < DEEDS; i++)
        ck_assert_uint_gt(known[i], 5);
    for (size_t i = STAYS; i < LOTS; i++)
        ck_assert_uint_gt(counts[i], 1000);
    ck_assert_uint_gt(told, 1000);
    printf("%zu pairs stayed, %zu came, %zu went, %zu came back\n", counts[STAYS], counts[COMES],
           counts[GOES], counts[COMES_BACK]);
}
END_TEST

START_TEST(ended_boxes_with_ids_that_no_run_has_end_no_pair)
{
    enum { FEW = 4 };
    struct obb_version small[FEW], great[FEW];
    const struct obb_version *ended_list[FEW + 1];
    size_t looked_at = 0;
    for (size_t with_small = 0; with_small < 2; with_small++)
        for (uint64_t step = 1; step <= 1000000; step *= 1000) {
            for (size_t i = 0; i < FEW; i++) {
                small[i].id = 1 + i * step;
                great[i].id = OBB_CONTACT_RUN_IDS + small[i].id; /* the same lower half */
                ended_list[i] = &great[i];
            }
            ended_list[FEW] = &small[0];
            const obb_committed committed = {.changed = true,
                                             .gone = FEW + with_small,
                                             .ended = ended_list,
                                             .ended_count = FEW + with_small};
            struct obb_contact_ended ended;
            ck_assert_int_eq(obb_contact_ended_init(&ended, &committed, NULL, NULL), OBB_OK);
            for (size_t i = 0; i < FEW; i++, looked_at++)
                ck_assert_int_eq(obb_contact_ended_removed(&ended, small[i].id),
                                 i == 0 && with_small == 1);
            struct obb_contact_run run;
            ck_assert_int_eq(obb_contact_run_init(&run, FEW, NULL), OBB_OK);
            for (size_t i = 0; i + 1 < FEW; i++)
                obb_contact_run_add(&run, &(obb_box_pair){.a = &small[i], .b = &small[i + 1]});
            ck_assert(!obb_contact_run_add(&run, &(obb_box_pair){.a = &small[0], .b = &great[1]}));
            const struct obb_contact_step step_of_none = {
                .kernels = obb_kernels_choose(OBB_KERNEL_AUTO), .ended = &ended, .tell = on_gone};
            ck_assert_int_eq(obb_contact_run_advance(&run, &step_of_none, NULL), OBB_OK);
            ck_assert_uint_eq(run.count, FEW - 1 - with_small);
            obb_contact_run_fini(&run);
            obb_contact_ended_fini(&ended);
        }
    ck_assert_uint_gt(looked_at, 0);
}
END_TEST

START_TEST(a_run_is_as_it_was_without_memory_and_when_it_is_cancelled)
{
    static struct world world;
    static struct story story;
    test_rng rng = {.s = 20261201};
    choose(&world, 5, 5, ANY, &rng);
    struct obb_contact_ended ended;
    struct obb_contact_run run;
    ck_assert_int_eq(obb_contact_ended_init(&ended, &world.committed, NULL, NULL), OBB_OK);
    tell_lots(&story, &world, &run, 10, &rng);
    const size_t all = story.counts[COMES] + story.counts[GOES];
    ck_assert_uint_gt(all, 100);
    const atomic_bool cancel = true;
    const struct obb_contact_step cancelled = step_of(&story, &ended, &cancel);
    ck_assert_int_eq(obb_contact_run_advance(&run, &cancelled, NULL), OBB_CANCELLED);
    ck_assert_uint_lt(story.told, all);
    check_run(&story, &run, false);
    for (size_t most = 0; most <= all; most++) {
        story.a = story.told = 0;
        story.b = 1;
        story.most = most;
        fault_arm(most == 0 ? 1 : 0); /* then the run itself has none */
        const struct obb_contact_step step = step_of(&story, &ended, NULL);
        const obb_status status = obb_contact_run_advance(&run, &step, NULL);
        fault_arm(0);
        ck_assert_int_eq(status, most < all ? OBB_NO_MEMORY : OBB_OK);
        check_run(&story, &run, status == OBB_OK);
    }
    obb_contact_run_fini(&run);
    obb_contact_ended_fini(&ended);
}
END_TEST

START_TEST(want_of_memory_for_the_ended_boxes_is_a_status)
{
    static struct world world;
    test_rng rng = {.s = 20261130};
    for (uint64_t step = 1; step <= 1000; step += 999) {
        choose(&world, step, 5, ANY, &rng);
        size_t failures = 0;
        for (obb_status status = OBB_NO_MEMORY; status != OBB_OK; failures++) {
            struct obb_contact_ended ended;
            fault_arm(failures + 1);
            status = obb_contact_ended_init(&ended, &world.committed, NULL, NULL);
            fault_arm(0);
            ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
            obb_contact_ended_fini(&ended);
        }
        ck_assert_uint_ge(failures, 3);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contact_run");
    TCase *tc = tcase_create("contact_run");
    tcase_add_test(tc, a_run_is_that_after_the_commit_and_tells_what_changed);
    tcase_add_test(tc, ended_boxes_with_ids_that_no_run_has_end_no_pair);
    tcase_add_test(tc, a_run_is_as_it_was_without_memory_and_when_it_is_cancelled);
    tcase_add_test(tc, want_of_memory_for_the_ended_boxes_is_a_status);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
