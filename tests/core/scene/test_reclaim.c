#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static bool count_visit(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)version;
    (void)verdict;
    ++*(size_t *)context;
    return true;
}

/* How many boxes the broad phase shows. */
static size_t visible(const struct obb_view *view)
{
    const obb_bounds all = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    size_t count = 0;
    obb_layers_query(view->layers, view->revision, &all, &count, count_visit);
    return count;
}

static void churn(struct obb_scene *scene, test_rng *rng, size_t commits, size_t *serial)
{
    enum { PER_COMMIT = 20 };
    for (size_t i = 0; i < commits; i++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        obb_put puts[PER_COMMIT];
        obb_target removes[PER_COMMIT];
        char names[PER_COMMIT][24], old[PER_COMMIT][24], data[PER_COMMIT][24];
        for (size_t k = 0; k < PER_COMMIT; k++, ++*serial) {
            /* Names come back after a while, each time as another box; data never does. */
            (void)snprintf(names[k], sizeof names[k], "box-%zu", *serial % 2000);
            (void)snprintf(old[k], sizeof old[k], "box-%zu", (*serial + 1000) % 2000);
            (void)snprintf(data[k], sizeof data[k], "%zu", *serial);
            removes[k] = (obb_target){.name = obb_str_of(old[k])};
            puts[k] = (obb_put){.target = {.name = obb_str_of(names[k])},
                                .parts = OBB_PUT_ALL,
                                .box = {.center = {test_uniform(rng, -99, 99), 0, 0},
                                        .half_extents = {1, 1, 1},
                                        .rotation = {0, 0, 0, 1}},
                                .attributes = {.entity = obb_str_of(*serial % 2 ? "odd" : ""),
                                               .data = obb_str_of(data[k])}};
        }
        const obb_edit edit = {.dimensions = 3,
                               .removes = removes,
                               .remove_count = PER_COMMIT,
                               .puts = puts,
                               .put_count = PER_COMMIT};
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        obb_committed done;
        ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                         OBB_OK);
        if (i % 7 == 0) { /* some are thought better of */
            obb_edit_discard(prepared);
            ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                             OBB_OK);
        }
        obb_edit_commit(prepared, &done);
        obb_arena_fini(&arena);
        if (i % 5 == 0) {
            struct obb_view *view = NULL;
            ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
            obb_view_close(view);
        }
    }
}

START_TEST(memory_does_not_grow_with_the_boxes_that_ever_were)
{
    struct obb_scene *scene = tick_scene(500, 16);
    test_rng rng = {.s = 20261120};
    size_t serial = 0;
    const size_t rounds = test_effort(10);
    churn(scene, &rng, 500, &serial);
    const size_t warm = obb_scene_bytes(scene);
    for (size_t round = 0; round < rounds; round++)
        churn(scene, &rng, 500, &serial);
    ck_assert(obb_scene_validate(scene));
    const size_t late = obb_scene_bytes(scene);
    printf("churn: %zu bytes with 1000 boxes of 10,000 ever made, %zu of %zu\n", warm, late,
           serial);
    ck_assert_uint_ge(serial, 100000);
    ck_assert_uint_le(late, warm + warm / 50);

    /* A view held meanwhile keeps what it needs, and no longer. */
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    churn(scene, &rng, 500, &serial);
    const size_t held = obb_scene_bytes(scene);
    ck_assert_uint_gt(held, late * 2);
    ck_assert_uint_eq(visible(view), 1000);
    obb_view_close(view);
    churn(scene, &rng, 500, &serial);
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_le(scene->versions.count - scene->versions.free_count, 1000 + 20 * 20 * 2);
    obb_scene_destroy(scene);
}
END_TEST

static void do_edit(struct obb_scene *scene, const obb_edit *edit)
{
    struct obb_arena arena;
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_committed done;
    obb_arena_init(&arena);
    ck_assert_int_eq(obb_edit_prepare(scene, edit, 0, SIZE_MAX, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

/* ---- Old views ------------------------------------------------------------------------------- */

enum { CROWD = 1000 };

/* Puts (x is 0) or poses all boxes of the crowd. */
static void move_crowd(struct obb_scene *scene, double x)
{
    static obb_put puts[CROWD];
    static obb_pose poses[CROWD];
    static char names[CROWD][16];
    for (size_t i = 0; i < CROWD; i++) {
        (void)snprintf(names[i], sizeof names[i], "box-%zu", i);
        const obb_target target = {.name = obb_str_of(names[i])};
        const obb_vec3 center = {(double)i * 3, x, 0};
        puts[i] = (obb_put){
            .target = target,
            .parts = OBB_PUT_ALL,
            .box = {.center = center, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}}};
        poses[i] = (obb_pose){.target = target, .center = center, .has_center = true};
    }
    const obb_edit edit = {.dimensions = 3,
                           .puts = puts,
                           .put_count = x == 0 ? CROWD : 0,
                           .poses = poses,
                           .pose_count = x == 0 ? 0 : CROWD};
    do_edit(scene, &edit);
}

static bool stands_at(const struct obb_view *view, double x)
{
    size_t count = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, box->id), count++)
        if (box->box.center.y != x)
            return false;
    return count == CROWD && visible(view) == CROWD;
}

START_TEST(old_views_keep_only_their_own_states)
{
    const size_t commits = test_effort(2000);
    enum { HISTORY = 8, STATE_BYTES = CROWD * 300 };
    struct obb_scene *scene = tick_scene(1e9, HISTORY);
    struct obb_view *old[3] = {NULL};
    move_crowd(scene, 0);
    ck_assert_int_eq(obb_view_open(scene, NULL, &old[0], NULL, NULL), OBB_OK);
    size_t most = 0;
    for (size_t i = 1; i <= commits; i++) {
        move_crowd(scene, (double)i);
        if (i == commits / 4 || i == commits / 2)
            ck_assert_int_eq(obb_view_open(scene, NULL, &old[i == commits / 4 ? 1 : 2], NULL, NULL),
                             OBB_OK);
        const size_t bytes = obb_scene_history_bytes(scene);
        most = bytes > most ? bytes : most;
    }
    printf("old views: %zu bytes of history at most, %.1f states, after %zu commits of %d poses\n",
           most, (double)most / STATE_BYTES, commits, CROWD);
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_le(most, (HISTORY + 3 + 3) * STATE_BYTES); /* what is reclaimed comes late */
    ck_assert(obb_scene_validate(scene));
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_le(scene->versions.count, (HISTORY + 3 + 3) * CROWD);
    ck_assert(stands_at(old[0], 0));
    /* NOLINTNEXTLINE(bugprone-integer-division) */
    ck_assert(stands_at(old[1], (double)(commits / 4)));
    /* NOLINTNEXTLINE(bugprone-integer-division) */
    ck_assert(stands_at(old[2], (double)(commits / 2)));
    obb_view_close(old[1]);
    ck_assert(obb_scene_validate(scene));
    ck_assert(stands_at(old[0], 0));
    /* NOLINTNEXTLINE(bugprone-integer-division) */
    ck_assert(stands_at(old[2], (double)(commits / 2)));
    obb_view_close(old[0]);
    move_crowd(scene, -1);
    move_crowd(scene, -2);
    ck_assert(obb_scene_validate(scene));
    /* NOLINTNEXTLINE(bugprone-integer-division) */
    ck_assert(stands_at(old[2], (double)(commits / 2)));
    obb_view_close(old[2]);
    move_crowd(scene, -3);
    move_crowd(scene, -4);
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_eq(scene->garbage.count, 0);
    ck_assert(!scene->gaps);
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_eq(scene->versions.count - scene->versions.free_count, (HISTORY + 1) * CROWD);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Pages that gave their memory back ------------------------------------------------------- */

enum { LAND = 12000 };

enum deed { PUT, POSE, REMOVE };

/* Does one thing with the boxes from `first` to end - 1 of the land. */
static void work_land(struct obb_scene *scene, size_t first, size_t end, enum deed deed, double x)
{
    static obb_put puts[LAND];
    static obb_pose poses[LAND];
    static obb_target removes[LAND];
    static char names[LAND][16];
    const size_t count = end - first;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "land-%zu", first + i);
        const obb_vec3 center = {(double)(first + i) * 3, x, 0};
        removes[i] = (obb_target){.name = obb_str_of(names[i])};
        poses[i] = (obb_pose){.target = removes[i], .center = center, .has_center = true};
        puts[i] = (obb_put){
            .target = removes[i],
            .parts = OBB_PUT_ALL,
            .box = {.center = center, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}}};
    }
    const obb_edit edit = {.dimensions = 3,
                           .puts = puts,
                           .put_count = deed == PUT ? count : 0,
                           .poses = poses,
                           .pose_count = deed == POSE ? count : 0,
                           .removes = removes,
                           .remove_count = deed == REMOVE ? count : 0};
    do_edit(scene, &edit);
}

/* Lets some commits pass, so that what can be reclaimed is. */
static void wait_on_land(struct obb_scene *scene)
{
    for (size_t i = 0; i < 150; i++)
        work_land(scene, LAND - 1, LAND, POSE, (double)i + 100);
}

/* The first versions go while no view is open, so the second ones are not unlinked from them. Their
 * pages give their memory back. Then a view holds the second ones beyond the history. */
START_TEST(a_version_is_told_from_the_one_before_whose_page_has_no_memory)
{
    enum { STAY = LAND / 3 * 2 };
    struct obb_scene *scene = tick_scene(0, 1);
    work_land(scene, 0, LAND, PUT, 0);
    work_land(scene, 0, LAND, POSE, 1);
    wait_on_land(scene);
    work_land(scene, 0, STAY, REMOVE, 0);
    wait_on_land(scene);
    ck_assert_uint_gt(scene->versions.bare.count, 0);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    work_land(scene, STAY, LAND, POSE, 2);
    wait_on_land(scene);
    ck_assert(scene->gaps);
    obb_view_close(view);
    wait_on_land(scene);
    ck_assert(!scene->gaps);
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_eq(obb_scene_boxes(scene), LAND - STAY);
    obb_scene_destroy(scene);
}
END_TEST

static void ignore(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
}

/* The broad phase of a state, in one block. */
START_TEST(a_thread_that_collects_hands_on_the_large_blocks_of_a_state)
{
    struct obb_scene *scene = tick_scene(0, 0);
    struct obb_view *view = NULL;
    obb_trash_collect(ignore, NULL);
    move_crowd(scene, 0);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    move_crowd(scene, 1);
    const size_t held = scene->layer_bytes, waiting = obb_trash_waiting();
    obb_view_close(view);
    const size_t freed = held - scene->layer_bytes;
    ck_assert_uint_gt(freed, OBB_TRASH_LARGE);
    ck_assert_uint_ge(obb_trash_waiting() - waiting + 4096, freed);
    obb_scene_destroy(scene);
    size_t bytes;
    obb_trash_collect(NULL, NULL);
    obb_trash_empty(obb_trash_take(&bytes));
    obb_trash_emptied(bytes);
    ck_assert_uint_eq(obb_trash_waiting(), 0);
}
END_TEST

START_TEST(a_view_that_keeps_later_states_keeps_all_of_them)
{
    struct obb_scene *scene = tick_scene(1e9, 2);
    struct obb_view *old = NULL, *view = NULL, *later = NULL;
    tick(scene, 1, "+a:1");
    ck_assert_int_eq(obb_view_open(scene, NULL, &old, NULL, NULL), OBB_OK);
    for (int i = 2; i <= 9; i++)
        tick(scene, i, i % 2 ? "a:1" : "a:2");
    ck_assert_uint_eq(scene->history.held_count, 1);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_view_keep_later(view);
    for (int i = 10; i <= 30; i++)
        tick(scene, i, i % 2 ? "a:1" : "a:2");
    ck_assert(obb_scene_validate(scene));
    obb_step step;
    for (uint64_t r = 10; r <= 30; r++) {
        ck_assert(obb_view_step(view, r, &step));
        ck_assert_double_eq(step.moment.time, (double)r);
        ck_assert_uint_eq(step.ended_count, 1);
    }
    ck_assert_int_eq(obb_view_open_later(view, 20, &later), OBB_OK);
    obb_view_close(view);
    ck_assert(obb_scene_validate(scene));
    ck_assert_str_eq(seen_in(later).text, "20@20 a:2");
    ck_assert(obb_view_step(later, 21, &step));
    obb_view_close(later);
    ck_assert_str_eq(seen_in(old).text, "1@1 a:1");
    ck_assert_uint_eq(scene->history.held_count, 1);
    obb_view_close(old);
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_eq(scene->history.count, 3);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_removed_box_stays_in_the_old_views_that_have_it)
{
    struct obb_scene *scene = tick_scene(0, 0);
    struct obb_view *first = NULL, *second = NULL;
    tick(scene, 1, "+a:1 +b:1");
    ck_assert_int_eq(obb_view_open(scene, NULL, &first, NULL, NULL), OBB_OK);
    tick(scene, 2, "a:2");
    tick(scene, 3, "a:3");
    ck_assert_int_eq(obb_view_open(scene, NULL, &second, NULL, NULL), OBB_OK);
    tick(scene, 4, "a:4");
    tick(scene, 5, "-a");
    tick(scene, 6, "+a:6");
    tick(scene, 7, "a:7");
    tick(scene, 8, "-a b:8");
    ck_assert(obb_scene_validate(scene));
    ck_assert_str_eq(seen_in(first).text, "1@1 a:1 b:1");
    ck_assert_str_eq(seen_in(second).text, "3@3 a:3 b:1");
    obb_view_close(second);
    ck_assert(obb_scene_validate(scene));
    ck_assert_str_eq(seen_in(first).text, "1@1 a:1 b:1");
    ck_assert_ptr_nonnull(obb_view_find(first, obb_str_of("a")));
    obb_view_close(first);
    tick(scene, 9, "b:9");
    ck_assert(obb_scene_validate(scene));
    ck_assert_str_eq(seen(scene, (obb_at){.kind = OBB_AT_NOW}).text, "9@9 b:9");
    ck_assert_uint_eq(scene->names.count, 1);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- Readers of old views beside the writer -------------------------------------------------- */

enum { HERD = 24, ROUNDS = 4000, SLOTS = 12, READERS = 2 };

/* Where each box is after each commit, from none on; 0: nowhere. */
static double (*plan_of)[HERD];

struct slot {
    pthread_mutex_t lock; /* held while a reader reads the view, or the writer replaces it */
    struct obb_view *view;
};

struct herd {
    struct obb_scene *scene;
    struct slot slots[SLOTS];
    atomic_bool over;
    _Atomic size_t looks;
};

static void make_plan(size_t rounds)
{
    plan_of = calloc(rounds + 1, sizeof *plan_of);
    ck_assert_ptr_nonnull(plan_of);
    test_rng rng = {.s = 20261122};
    for (size_t r = 1; r <= rounds; r++)
        for (size_t i = 0; i < HERD; i++) {
            const double before = plan_of[r - 1][i];
            const size_t what = test_below(&rng, 20);
            plan_of[r][i] = what < 8 ? (double)(r * 100 + i) : what == 8 ? 0 : before;
        }
}

static char herd_names[HERD][8];

static void commit_plan(struct obb_scene *scene, size_t r)
{
    obb_put puts[HERD];
    obb_target removes[HERD];
    obb_edit edit = {.dimensions = 3, .puts = puts, .removes = removes};
    for (size_t i = 0; i < HERD; i++) {
        const obb_target target = {.name = obb_str_of(herd_names[i])};
        if (plan_of[r][i] == plan_of[r - 1][i])
            continue;
        if (plan_of[r][i] == 0)
            removes[edit.remove_count++] = target;
        else
            puts[edit.put_count++] = (obb_put){.target = target,
                                               .parts = OBB_PUT_ALL,
                                               .box = {.center = {plan_of[r][i], 0, 0},
                                                       .half_extents = {1, 1, 1},
                                                       .rotation = {0, 0, 0, 1}}};
    }
    const obb_settings other = {
        .dimensions = 3, .history_span = 0, .history_commits = (uint32_t)(r % 7)};
    edit.settings = &other; /* so every commit makes a revision */
    do_edit(scene, &edit);
}

static void *read_old_views(void *context)
{
    struct herd *herd = context;
    test_rng rng = {.s = 7};
    while (!atomic_load(&herd->over)) {
        struct slot *slot = &herd->slots[test_below(&rng, SLOTS)];
        if (pthread_mutex_trylock(&slot->lock) != 0)
            continue;
        for (size_t turn = 0; slot->view != NULL && turn < 20; turn++) {
            const uint64_t revision = obb_view_info_get(slot->view)->at.revision;
            const size_t i = test_below(&rng, HERD);
            const struct obb_version *box = obb_view_find(slot->view, obb_str_of(herd_names[i]));
            const double x = box == NULL ? 0 : box->box.center.x;
            ck_assert_msg(x == plan_of[revision][i], "revision %zu, box %zu: %g, not %g",
                          (size_t)revision, i, x, plan_of[revision][i]);
            if (box != NULL)
                ck_assert_ptr_eq(obb_view_find_id(slot->view, box->id), box);
            obb_str names[OBB_VIEW_ROUND];
            const struct obb_version *boxes[OBB_VIEW_ROUND];
            const size_t count = test_below(&rng, OBB_VIEW_ROUND + 1);
            for (size_t k = 0; k < count; k++)
                names[k] = obb_str_of(herd_names[(i + k) % HERD]);
            obb_view_find_names(slot->view, names, count, boxes);
            for (size_t k = 0; k < count; k++)
                ck_assert_msg((boxes[k] == NULL ? 0 : boxes[k]->box.center.x) ==
                                  plan_of[revision][(i + k) % HERD],
                              "revision %zu, box %zu of a round", (size_t)revision, (i + k) % HERD);
            atomic_fetch_add(&herd->looks, 1);
        }
        (void)pthread_mutex_unlock(&slot->lock);
    }
    return NULL;
}

START_TEST(readers_of_old_views_see_their_states_while_versions_leave)
{
    const size_t rounds = test_effort(ROUNDS);
    static struct herd herd;
    make_plan(rounds);
    herd.scene = tick_scene(0, 3);
    for (size_t i = 0; i < HERD; i++)
        (void)snprintf(herd_names[i], sizeof herd_names[i], "b%zu", i);
    pthread_t threads[READERS];
    for (size_t i = 0; i < SLOTS; i++)
        ck_assert_int_eq(pthread_mutex_init(&herd.slots[i].lock, NULL), 0);
    for (size_t i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_old_views, &herd), 0);
    test_rng rng = {.s = 20261123};
    size_t most_held = 0, unlinked = 0;
    for (size_t r = 1; r <= rounds; r++) {
        commit_plan(herd.scene, r);
        struct slot *slot = &herd.slots[test_below(&rng, 8) > 0 ? test_below(&rng, SLOTS) : 0];
        if (test_below(&rng, 6) == 0 && pthread_mutex_trylock(&slot->lock) == 0) {
            obb_view_close(slot->view);
            slot->view = NULL;
            if (test_below(&rng, 10) > 0)
                ck_assert_int_eq(obb_view_open(herd.scene, NULL, &slot->view, NULL, NULL), OBB_OK);
            (void)pthread_mutex_unlock(&slot->lock);
        }
        const size_t held = herd.scene->history.held_count;
        most_held = held > most_held ? held : most_held;
        if (r % 64 == 0)
            ck_assert_msg(obb_scene_validate(herd.scene), "commit %zu", r);
    }
    atomic_store(&herd.over, true);
    for (size_t i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    unlinked = (size_t)atomic_load(&herd.scene->unlinks);
    printf("readers of old views: %zu looks, %zu states held at most, %zu versions left chains\n",
           (size_t)atomic_load(&herd.looks), most_held, unlinked);
    ck_assert_uint_gt(atomic_load(&herd.looks), rounds / 4);
    ck_assert_uint_ge(most_held, SLOTS / 2);
    ck_assert_uint_gt(unlinked, rounds);
    for (size_t i = 0; i < SLOTS; i++) {
        obb_view_close(herd.slots[i].view);
        (void)pthread_mutex_destroy(&herd.slots[i].lock);
    }
    ck_assert(obb_scene_validate(herd.scene));
    obb_scene_destroy(herd.scene);
    free(plan_of);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reclaim");
    TCase *tc = tcase_create("reclaim");
    tcase_set_timeout(tc, test_patience(60));
    test_starts_no_thread(tc);
    tcase_add_test(tc, memory_does_not_grow_with_the_boxes_that_ever_were);
    tcase_add_test(tc, old_views_keep_only_their_own_states);
    tcase_add_test(tc, a_version_is_told_from_the_one_before_whose_page_has_no_memory);
    tcase_add_test(tc, a_thread_that_collects_hands_on_the_large_blocks_of_a_state);
    tcase_add_test(tc, a_view_that_keeps_later_states_keeps_all_of_them);
    tcase_add_test(tc, a_removed_box_stays_in_the_old_views_that_have_it);
    suite_add_tcase(suite, tc);
    TCase *readers = tcase_create("readers");
    tcase_set_timeout(readers, test_patience(60));
    tcase_add_test(readers, readers_of_old_views_see_their_states_while_versions_leave);
    suite_add_tcase(suite, readers);
    return test_main(suite);
}
