/* The set of pairs that follows commits, against all-pairs asked anew after each. */
#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 400, NAME = 16 };

/* A scene of boxes that come, move and go. */
struct world {
    test_rng rng;
    struct obb_scene *scene;
    double side;
    char names[MOST][NAME];
    bool there[MOST];
    size_t box_count;
    uint64_t next_id;       /* of new boxes; 0: as the scene gives them */
    struct obb_arena arena; /* of one commit */
    obb_committed committed;
};

static void world_init(struct world *w, uint64_t seed, double side)
{
    memset(w, 0, sizeof *w);
    w->rng.s = seed;
    w->side = side;
    const obb_settings settings = {.dimensions = 3, .history_commits = 4, .history_span = 10};
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &w->scene), OBB_OK);
    for (size_t i = 0; i < MOST; i++)
        (void)snprintf(w->names[i], NAME, "box-%zu", i);
}

static void world_fini(struct world *w)
{
    obb_arena_fini(&w->arena);
    obb_scene_destroy(w->scene);
}

static obb_target target_of(struct world *w, size_t i)
{
    return (obb_target){.name = obb_str_of(w->names[i])};
}

static obb_vec3 random_point(struct world *w)
{
    return (obb_vec3){test_uniform(&w->rng, 0, w->side), test_uniform(&w->rng, 0, w->side),
                      test_uniform(&w->rng, 0, w->side)};
}

static obb_put random_put(struct world *w, size_t i)
{
    obb_put put = {.target = target_of(w, i), .parts = OBB_PUT_ALL};
    const obb_vec3 half = {test_uniform(&w->rng, 0.2, 1), test_uniform(&w->rng, 0.2, 1),
                           test_uniform(&w->rng, 0.2, 1)};
    obb_quat rotation;
    ck_assert_int_eq(
        obb_quat_normalise((obb_quat){test_uniform(&w->rng, -1, 1), test_uniform(&w->rng, -1, 1),
                                      test_uniform(&w->rng, -1, 1), 1},
                           &rotation),
        OBB_OK);
    ck_assert_int_eq(obb_box_from_pose(random_point(w), half, rotation, 0, 3, &put.box), OBB_OK);
    put.attributes.category = test_below(&w->rng, 8) == 0 ? 2 : 1;
    put.attributes.mask = test_below(&w->rng, 8) == 0 ? 1 : 3;
    put.attributes.group = (int32_t)test_below(&w->rng, 5) - 2;
    return put;
}

/* One commit of about so many removes, puts (new and over), poses and turns; committed is good
 * until the next. */
static void world_commit(struct world *w, size_t share)
{
    static obb_target removes[MOST];
    static obb_put puts[MOST];
    static obb_pose poses[MOST];
    static obb_transform_edit turns[MOST];
    obb_edit edit = {
        .dimensions = 3, .removes = removes, .puts = puts, .poses = poses, .transforms = turns};
    obb_arena_reset(&w->arena);
    for (size_t i = 0; i < MOST; i++) {
        if (test_below(&w->rng, 100) >= share)
            continue;
        const size_t what = test_below(&w->rng, 10);
        if (!w->there[i]) {
            puts[edit.put_count++] = random_put(w, i);
            w->there[i] = true;
            continue;
        }
        if (what < 2) {
            removes[edit.remove_count++] = target_of(w, i);
            if (what == 0) { /* and made again: another box of the same name */
                puts[edit.put_count++] = random_put(w, i);
            } else {
                w->there[i] = false;
            }
        } else if (what < 4) {
            puts[edit.put_count++] = random_put(w, i);
        } else if (what < 8) {
            poses[edit.pose_count++] = (obb_pose){
                .target = target_of(w, i), .center = random_point(w), .has_center = true};
        } else {
            turns[edit.transform_count++] = (obb_transform_edit){
                .target = target_of(w, i),
                .transform = {.has_translate = true, .translate = {0.1, 0, 0}}};
        }
    }
    static uint64_t ids[MOST];
    for (size_t i = 0; i < edit.put_count && w->next_id > 0; i++)
        ids[i] = w->next_id++;
    edit.put_ids = w->next_id > 0 ? ids : NULL;
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(w->scene, &edit, 0, MOST, &w->arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &w->committed);
}

static struct obb_view *present(struct world *w)
{
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(w->scene, NULL, &view, NULL, NULL), OBB_OK);
    return view;
}

/* What all-pairs says: ids, two a pair, in order. */
struct ids {
    uint64_t (*pairs)[2];
    size_t count;
};

static struct ids ask(struct obb_view *view)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = SIZE_MAX};
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    struct ids ids = {.pairs = calloc(result->pair_count + 1, sizeof *ids.pairs),
                      .count = result->pair_count};
    ck_assert_ptr_nonnull(ids.pairs);
    for (size_t i = 0; i < ids.count; i++) {
        ids.pairs[i][0] = obb_view_id(result->pairs[i].a);
        ids.pairs[i][1] = obb_view_id(result->pairs[i].b);
    }
    obb_plan_destroy(plan);
    return ids;
}

static bool has(const struct ids *ids, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->pairs[i][0] == a && ids->pairs[i][1] == b)
            return true;
    return false;
}

static obb_status try_to_follow(struct obb_view *view, const atomic_bool *cancel,
                                struct obb_contacts **out)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = SIZE_MAX};
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    const obb_status status =
        obb_contacts_create(NULL, result->pairs, result->pair_count, cancel, out);
    obb_plan_destroy(plan);
    return status;
}

static struct obb_contacts *follow(struct obb_view *view)
{
    struct obb_contacts *contacts;
    ck_assert_int_eq(try_to_follow(view, NULL, &contacts), OBB_OK);
    return contacts;
}

/* Creates a set with each poll of some telling that the work is cancelled, and then with none.
 * Returns how many times it was cancelled. */
static size_t cancel_at_polls(struct obb_view *view)
{
    const atomic_bool cancel = false;
    size_t cancelled = 0;
    for (obb_status status = OBB_CANCELLED; status == OBB_CANCELLED;) {
        struct obb_contacts *contacts = NULL;
        fault_cancel(cancelled + 1);
        status = try_to_follow(view, &cancel, &contacts);
        fault_cancel(0);
        ck_assert(status == OBB_OK || status == OBB_CANCELLED);
        cancelled += status == OBB_CANCELLED;
        obb_contacts_destroy(contacts);
    }
    return cancelled;
}

static void expect_list(const struct obb_contacts *contacts, struct obb_view *view,
                        const struct ids *expected)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_box_pair *pairs;
    ck_assert_uint_eq(obb_contacts_count(contacts), expected->count);
    ck_assert_int_eq(obb_contacts_list(contacts, view, &arena, &pairs), OBB_OK);
    for (size_t i = 0; i < expected->count; i++) {
        ck_assert_uint_eq(obb_view_id(pairs[i].a), expected->pairs[i][0]);
        ck_assert_uint_eq(obb_view_id(pairs[i].b), expected->pairs[i][1]);
    }
    obb_arena_fini(&arena);
}

struct tally {
    size_t begun, ended, removed, stayed;
};

static void expect_versions(const obb_box_pair *pair, const struct obb_view *view, uint64_t a,
                            uint64_t b)
{
    ck_assert_ptr_eq(pair->a, obb_view_find_id(view, a));
    ck_assert_ptr_eq(pair->b, obb_view_find_id(view, b));
}

/* Each change is by (id, id), in the sets that it says, and of the versions of its states. */
static struct tally expect_changes(const obb_contact_change *changes, size_t count,
                                   const struct obb_view *before, const struct obb_view *after,
                                   const struct ids *old, const struct ids *new)
{
    struct tally tally = {0};
    uint64_t last_a = 0, last_b = 0;
    for (size_t i = 0; i < count; i++) {
        const obb_contact_change *c = &changes[i];
        const bool was = c->before.a != NULL, is = c->after.a != NULL;
        ck_assert(was || is);
        const obb_box_pair *pair = is ? &c->after : &c->before;
        const uint64_t a = obb_view_id(pair->a), b = obb_view_id(pair->b);
        ck_assert_uint_lt(a, b);
        ck_assert(last_a < a || (last_a == a && last_b < b));
        ck_assert(was == has(old, a, b) && is == has(new, a, b));
        if (was)
            expect_versions(&c->before, before, a, b);
        if (is)
            expect_versions(&c->after, after, a, b);
        ck_assert(c->removed ==
                  (obb_view_find_id(after, a) == NULL || obb_view_find_id(after, b) == NULL));
        tally.begun += !was;
        tally.stayed += was && is;
        tally.removed += c->removed;
        tally.ended += !is && !c->removed;
        last_a = a;
        last_b = b;
    }
    return tally;
}

START_TEST(the_set_and_its_changes_are_those_of_all_pairs)
{
    const size_t commits = test_effort(150);
    size_t begun = 0, ended = 0, removed = 0, stayed = 0, listed = 0;
    static struct world w;
    world_init(&w, 20261201, 9);
    struct obb_view *before = present(&w);
    struct ids old = ask(before);
    struct obb_contacts *contacts = follow(before);
    for (size_t round = 0; round < commits; round++) {
        world_commit(&w, round % 10 == 0 ? 60 : round % 7);
        struct obb_view *after = present(&w);
        const struct ids new = ask(after);
        struct obb_arena arena;
        obb_arena_init(&arena);
        const bool all = round % 2 == 0;
        const obb_contact_change *changes;
        size_t change_count;
        ck_assert_int_eq(obb_contacts_advance(contacts, before, after, &w.committed, all, NULL,
                                              &arena, &changes, &change_count),
                         OBB_OK);
        expect_list(contacts, after, &new);
        const struct tally t = expect_changes(changes, change_count, before, after, &old, &new);

        size_t expected_begun = 0, expected_ended = 0, expected_removed = 0, expected_stayed = 0;
        for (size_t i = 0; i < new.count; i++)
            expected_begun += !has(&old, new.pairs[i][0], new.pairs[i][1]);
        for (size_t i = 0; i < old.count; i++) {
            const uint64_t a = old.pairs[i][0], b = old.pairs[i][1];
            if (has(&new, a, b)) {
                stayed++;
                expected_stayed +=
                    all && (obb_view_find_id(before, a) != obb_view_find_id(after, a) ||
                            obb_view_find_id(before, b) != obb_view_find_id(after, b));
                continue;
            }
            const bool gone =
                obb_view_find_id(after, a) == NULL || obb_view_find_id(after, b) == NULL;
            expected_removed += gone;
            expected_ended += !gone;
        }
        ck_assert_uint_eq(t.begun, expected_begun);
        ck_assert_uint_eq(t.ended, expected_ended);
        ck_assert_uint_eq(t.removed, expected_removed);
        ck_assert_uint_eq(t.stayed, expected_stayed);
        begun += t.begun;
        ended += t.ended;
        removed += t.removed;
        listed += t.stayed;
        obb_arena_fini(&arena);
        free(old.pairs);
        old = new;
        obb_view_close(before);
        before = after;
    }
    printf("%zu commits: %zu pairs began, %zu ended, %zu went with a box, %zu stayed\n", commits,
           begun, ended, removed, stayed);
    ck_assert_uint_gt(begun, commits);
    ck_assert_uint_gt(ended, commits / 2);
    ck_assert_uint_gt(removed, commits / 2);
    ck_assert_uint_gt(stayed, commits * 10);
    ck_assert_uint_gt(listed, commits);
    free(old.pairs);
    obb_contacts_destroy(contacts);
    obb_view_close(before);
    world_fini(&w);
}
END_TEST

/* Commits of one box and of most boxes take turns, so the set changes its form again and again. */
START_TEST(the_set_is_the_same_in_lists_and_in_a_sorted_array)
{
    const size_t rounds = test_effort(8);
    size_t in_lists = 0, in_array = 0, changed = 0, compared = 0;
    static struct world w;
    world_init(&w, 20261204, 7);
    world_commit(&w, 100);
    struct obb_view *before = present(&w);
    struct ids old = ask(before);
    struct obb_contacts *contacts = follow(before);
    bool listed = obb_contacts_listed(contacts);
    for (size_t round = 0; round < rounds * 30; round++) {
        const bool many = round % 30 >= 25;
        do
            world_commit(&w, many ? 70 : 1);
        while (w.committed.made_count + w.committed.ended_count == 0);
        struct obb_view *after = present(&w);
        const struct ids new = ask(after);
        struct obb_arena arena;
        obb_arena_init(&arena);
        const obb_contact_change *changes;
        size_t change_count;
        ck_assert_int_eq(obb_contacts_advance(contacts, before, after, &w.committed, true, NULL,
                                              &arena, &changes, &change_count),
                         OBB_OK);
        expect_list(contacts, after, &new);
        const struct tally t = expect_changes(changes, change_count, before, after, &old, &new);
        ck_assert_uint_eq(old.count + t.begun, new.count + change_count - t.begun - t.stayed);
        compared += new.count;
        changed += obb_contacts_listed(contacts) != listed;
        listed = obb_contacts_listed(contacts);
        in_lists += listed;
        in_array += !listed;
        obb_arena_fini(&arena);
        free(old.pairs);
        old = new;
        obb_view_close(before);
        before = after;
    }
    printf("%zu commits in lists, %zu in a sorted array, %zu changes, %zu pairs compared\n",
           in_lists, in_array, changed, compared);
    ck_assert_uint_ge(in_lists, rounds * 2);
    ck_assert_uint_ge(in_array, rounds * 2);
    ck_assert_uint_ge(changed, rounds);
    ck_assert_uint_gt(compared, rounds * 1000);
    free(old.pairs);
    obb_contacts_destroy(contacts);
    obb_view_close(before);
    world_fini(&w);
}
END_TEST

/* Ids that no sorted array of pairs holds: the set goes on in lists, and never leaves them. */
START_TEST(a_set_with_great_ids_is_in_lists)
{
    const size_t rounds = test_effort(40);
    size_t in_array = 0, in_lists = 0, great = 0, polls = 0, pairs = 0;
    static struct world w;
    world_init(&w, 20261206, 7);
    world_commit(&w, 100);
    struct obb_view *before = present(&w);
    struct obb_contacts *contacts = follow(before);
    for (size_t round = 0; round < rounds; round++) {
        if (round == rounds / 2)
            w.next_id = ((uint64_t)1 << 32) - 30;
        world_commit(&w, 70); /* most boxes, which is the work of a sorted array */
        struct obb_view *after = present(&w);
        struct ids new = ask(after);
        struct obb_arena arena;
        obb_arena_init(&arena);
        const obb_contact_change *changes;
        size_t change_count, have_great = 0;
        ck_assert_int_eq(obb_contacts_advance(contacts, before, after, &w.committed, true, NULL,
                                              &arena, &changes, &change_count),
                         OBB_OK);
        expect_list(contacts, after, &new);
        for (size_t i = 0; i < new.count; i++)
            have_great += new.pairs[i][1] >> 32 != 0;
        great += have_great;
        in_array += !obb_contacts_listed(contacts);
        in_lists += obb_contacts_listed(contacts);
        ck_assert(great == 0 || obb_contacts_listed(contacts));
        if (have_great > 0) { /* and a new set likewise */
            struct obb_contacts *other = follow(after);
            ck_assert(obb_contacts_listed(other));
            expect_list(other, after, &new);
            obb_contacts_destroy(other);
            polls += cancel_at_polls(after);
            pairs += new.count;
        }
        obb_arena_fini(&arena);
        free(new.pairs);
        obb_view_close(before);
        before = after;
    }
    ck_assert_uint_ge(polls, pairs / 256); /* at least once for 256 pairs */
    printf("%zu commits in a sorted array, %zu in lists, %zu pairs with great ids\n", in_array,
           in_lists, great);
    ck_assert_uint_ge(in_array, rounds / 4);
    ck_assert_uint_ge(in_lists, rounds / 4);
    ck_assert_uint_gt(great, rounds);
    obb_contacts_destroy(contacts);
    obb_view_close(before);
    world_fini(&w);
}
END_TEST

/* Boxes that touch everything come and go: lists are long and change at any place. */
START_TEST(a_box_that_touches_all_others)
{
    static struct world w;
    world_init(&w, 20261202, 60);
    world_commit(&w, 100);
    struct obb_view *view = present(&w);
    struct obb_contacts *contacts = follow(view);
    size_t begun = 0, removed = 0;
    for (int round = 0; round < 20; round++) {
        obb_put floor = random_put(&w, 0);
        floor.attributes = (obb_attributes){.category = 3, .mask = UINT32_MAX};
        floor.target.name = obb_str_of("floor");
        ck_assert_int_eq(obb_box_from_pose((obb_vec3){30, 30, 30}, (obb_vec3){50, 50, 50},
                                           (obb_quat){0, 0, 0, 1}, 0, 3, &floor.box),
                         OBB_OK);
        const bool put = round % 2 == 0;
        const obb_edit edit = {.dimensions = 3,
                               .puts = &floor,
                               .put_count = put,
                               .removes = &floor.target,
                               .remove_count = !put};
        struct obb_prepared *prepared;
        obb_fault fault;
        struct obb_arena arena;
        obb_arena_init(&arena);
        obb_committed committed;
        ck_assert_int_eq(obb_edit_prepare(w.scene, &edit, 0, MOST, &arena, &prepared, &fault),
                         OBB_OK);
        obb_edit_commit(prepared, &committed);
        struct obb_view *after = present(&w);
        const obb_contact_change *changes;
        size_t change_count;
        ck_assert_int_eq(obb_contacts_advance(contacts, view, after, &committed, false, NULL,
                                              &arena, &changes, &change_count),
                         OBB_OK);
        for (size_t i = 0; i < change_count; i++) {
            begun += changes[i].before.a == NULL;
            removed += changes[i].removed;
        }
        const struct ids expected = ask(after);
        expect_list(contacts, after, &expected);
        free(expected.pairs);
        obb_arena_fini(&arena);
        obb_view_close(view);
        view = after;
    }
    ck_assert_uint_eq(begun, (size_t)MOST * 10);
    ck_assert_uint_eq(removed, (size_t)MOST * 10);
    obb_contacts_destroy(contacts);
    obb_view_close(view);
    world_fini(&w);
}
END_TEST

START_TEST(want_of_memory_and_cancelling_are_statuses)
{
    static struct world w;
    world_init(&w, 20261203, 6);
    world_commit(&w, 100);
    struct obb_view *before = present(&w);
    world_commit(&w, 50);
    struct obb_view *after = present(&w);
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct obb_contacts *contacts = follow(before);
        struct obb_arena arena;
        obb_arena_init(&arena);
        const obb_contact_change *changes;
        size_t change_count;
        const obb_box_pair *list;
        fault_arm(n);
        obb_status status = obb_contacts_advance(contacts, before, after, &w.committed, true, NULL,
                                                 &arena, &changes, &change_count);
        if (status == OBB_OK)
            status = obb_contacts_list(contacts, after, &arena, &list);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert(status == (reached ? OBB_NO_MEMORY : OBB_OK));
        obb_contacts_destroy(contacts);
        obb_arena_fini(&arena);
        failures += reached;
        if (!reached)
            break;
    }
    ck_assert_uint_gt(failures, 5);

    for (size_t n = 1; n < 4; n++) {
        struct obb_contacts *contacts;
        fault_arm(n);
        const obb_status status = obb_contacts_create(NULL, NULL, 0, NULL, &contacts);
        fault_arm(0);
        if (status == OBB_OK) {
            ck_assert_uint_gt(n, 2);
            obb_contacts_destroy(contacts);
        }
    }

    struct obb_budget budget;
    obb_budget_init(&budget, 4096);
    struct obb_contacts *none;
    ck_assert_int_eq(obb_contacts_create(&budget, NULL, 1000, NULL, &none), OBB_NO_MEMORY);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_int_eq(obb_contacts_create(&budget, NULL, 0, NULL, &none), OBB_OK);
    ck_assert_uint_gt(obb_budget_used(&budget), 0);
    obb_contacts_destroy(none);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);

    ck_assert_uint_gt(cancel_at_polls(before), 0);
    struct obb_contacts *contacts = follow(before);
    const atomic_bool cancel = true;
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_contact_change *changes;
    size_t change_count;
    ck_assert_int_eq(obb_contacts_advance(contacts, before, after, &w.committed, false, &cancel,
                                          &arena, &changes, &change_count),
                     OBB_CANCELLED);
    obb_contacts_destroy(contacts);
    obb_arena_fini(&arena);
    obb_view_close(before);
    obb_view_close(after);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contacts");
    TCase *tc = tcase_create("contacts");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, the_set_and_its_changes_are_those_of_all_pairs);
    tcase_add_test(tc, the_set_is_the_same_in_lists_and_in_a_sorted_array);
    tcase_add_test(tc, a_set_with_great_ids_is_in_lists);
    tcase_add_test(tc, a_box_that_touches_all_others);
    tcase_add_test(tc, want_of_memory_and_cancelling_are_statuses);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
