/* Runs of contacts, and the sets of ended boxes that part them, against a look at every box. */
#include "core/query/contact_run.h"

#include "core/versions/version.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

enum { BOXES = 300, MOST_PAIRS = 2000 };

struct world {
    struct obb_version boxes[BOXES]; /* by id */
    bool ended[BOXES], made[BOXES];
    const struct obb_version *ended_list[BOXES], *made_list[BOXES];
    obb_committed committed;
};

/* Chooses ids that are up to `step` apart, and which boxes a commit ends, makes or replaces. */
static void choose(struct world *world, uint64_t step, size_t share, test_rng *rng)
{
    *world = (struct world){.committed = {.changed = true}};
    uint64_t id = test_below(rng, 1000);
    for (size_t i = 0; i < BOXES; i++) {
        id += 1 + test_below(rng, step);
        world->boxes[i].id = id;
        world->ended[i] = test_below(rng, share) == 0;
        world->made[i] = test_below(rng, world->ended[i] ? 2 : share) == 0;
        if (world->ended[i])
            world->ended_list[world->committed.ended_count++] = &world->boxes[i];
        if (world->made[i])
            world->made_list[world->committed.made_count++] = &world->boxes[i];
    }
    world->committed.ended = world->ended_list;
    world->committed.made = world->made_list;
}

/* Fills a run with random pairs in order. Returns their number. */
static size_t fill(struct obb_contact_run *run, const struct world *world, test_rng *rng)
{
    ck_assert_int_eq(obb_contact_run_reserve(run, MOST_PAIRS, NULL), OBB_OK);
    run->count = 0;
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES && run->count < MOST_PAIRS; b++)
            if (test_below(rng, 25) == 0)
                run->pairs[run->count++] =
                    (obb_id_pair){.id = {world->boxes[a].id, world->boxes[b].id},
                                  .boxes = {&world->boxes[a], &world->boxes[b]}};
    return run->count;
}

/* Asserts that a list has the pairs of `all` of which a box was ended, or those of which none was,
 * in order. */
static void check_part(const struct world *world, const obb_id_pair *all, size_t count,
                       const obb_id_pair *list, size_t list_count, bool ended)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t a = (size_t)(all[i].boxes.a - world->boxes),
                     b = (size_t)(all[i].boxes.b - world->boxes);
        if ((world->ended[a] || world->ended[b]) != ended)
            continue;
        ck_assert_uint_lt(at, list_count);
        ck_assert_ptr_eq(list[at].boxes.a, all[i].boxes.a);
        ck_assert_ptr_eq(list[at].boxes.b, all[i].boxes.b);
        ck_assert_uint_eq(list[at].id[0], all[i].id[0]);
        ck_assert_uint_eq(list[at].id[1], all[i].id[1]);
        at++;
    }
    ck_assert_uint_eq(at, list_count);
}

START_TEST(a_run_is_parted_by_the_ended_boxes_and_merged_again)
{
    static const uint64_t steps[] = {1, 5, 1000, (uint64_t)1 << 40};
    static const size_t shares[] = {1, 2, 5, 30, 1000000};
    static obb_id_pair all[MOST_PAIRS];
    static struct world world;
    test_rng rng = {.s = 20261129};
    size_t near = 0, far = 0, removed = 0, taken_in_all = 0, kept = 0;
    for (size_t round = 0; round < test_effort(80); round++) {
        choose(&world, steps[round % 4], shares[round / 4 % 5], &rng);
        struct obb_ended ended;
        ck_assert_int_eq(obb_ended_init(&ended, &world.committed, NULL), OBB_OK);
        near += ended.span > 0;
        far += ended.span == 0;
        for (size_t i = 0; i < BOXES; i++) {
            ck_assert(obb_ended_removed(&ended, world.boxes[i].id) ==
                      (world.ended[i] && !world.made[i]));
            ck_assert(!obb_ended_removed(&ended, world.boxes[BOXES - 1].id + 1 + i));
            removed += world.ended[i] && !world.made[i];
        }
        struct obb_contact_run run = {.pairs = NULL};
        const size_t count = fill(&run, &world, &rng);
        memcpy(all, run.pairs, count * sizeof all[0]);
        obb_id_pair *taken;
        size_t taken_count;
        ck_assert_int_eq(obb_contact_run_part(&run, &ended, NULL, &taken, &taken_count), OBB_OK);
        check_part(&world, all, count, taken, taken_count, true);
        check_part(&world, all, count, run.pairs, run.count, false);
        taken_in_all += taken_count;
        kept += run.count;
        obb_contact_run_merge(&run, taken, taken_count);
        ck_assert_uint_eq(run.count, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_ptr_eq(run.pairs[i].boxes.b, all[i].boxes.b);
        obb_budget_free(taken);
        obb_budget_free(run.pairs);
        obb_ended_fini(&ended);
    }
    ck_assert_uint_gt(near, 20);
    ck_assert_uint_gt(far, 20);
    ck_assert_uint_gt(removed, 100);
    ck_assert_uint_gt(taken_in_all, 1000);
    ck_assert_uint_gt(kept, 1000);
}
END_TEST

START_TEST(want_of_memory_for_the_ended_boxes_is_a_status)
{
    static struct world world;
    test_rng rng = {.s = 20261130};
    for (uint64_t step = 1; step <= 1000; step += 999) {
        choose(&world, step, 5, &rng);
        size_t failures = 0;
        for (obb_status status = OBB_NO_MEMORY; status != OBB_OK; failures++) {
            struct obb_ended ended;
            fault_arm(failures + 1);
            status = obb_ended_init(&ended, &world.committed, NULL);
            fault_arm(0);
            ck_assert(status == OBB_OK || status == OBB_NO_MEMORY);
            obb_ended_fini(&ended);
        }
        ck_assert_uint_ge(failures, 3);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contact_run");
    TCase *tc = tcase_create("contact_run");
    tcase_add_test(tc, a_run_is_parted_by_the_ended_boxes_and_merged_again);
    tcase_add_test(tc, want_of_memory_for_the_ended_boxes_is_a_status);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
