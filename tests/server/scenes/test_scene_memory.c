#include "server/scenes/scene_memory.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

static struct obb_store *store;
static struct srv_locks locks;
static struct srv_scene_memory memory;

static void setup(void)
{
    ck_assert_int_eq(obb_store_create(10, 1000, NULL, &store), OBB_OK);
    locks = (struct srv_locks){.pool = NULL};
    memory = (struct srv_scene_memory){.store = store, .locks = &locks};
}

static void teardown(void) { obb_store_destroy(store); }

/* Adds a scene with so many states within reach. */
static struct obb_scene *add(const char *name, int states)
{
    const obb_settings space = {.dimensions = 3, .history_span = 1e9, .history_commits = 1000};
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_store_add(store, obb_str_of(name), &space, 1, 0, &scene), OBB_OK);
    for (int i = 1; i < states; i++)
        tick(scene, i, i == 1 ? "+a:1 +b:2" : i % 2 ? "a:1 b:2" : "a:3 b:4");
    return scene;
}

static uint64_t states(const struct obb_scene *scene)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    return info.now.revision - info.oldest.revision + 1;
}

START_TEST(without_a_limit_there_is_room_and_nothing_is_given_up)
{
    struct obb_scene *scene = add("a", 10);
    ck_assert_uint_eq(srv_scene_memory_room(&memory), SIZE_MAX);
    ck_assert(srv_scene_memory_shed(&memory, NULL, SIZE_MAX));
    ck_assert_uint_eq(states(scene), 10);
}
END_TEST

START_TEST(room_is_what_the_scenes_and_the_promises_leave)
{
    add("a", 10);
    struct srv_scene_lock lock = {.scene = NULL};
    const size_t used = obb_store_bytes(store);
    memory.limit = used + 1000;
    ck_assert_uint_eq(srv_scene_memory_room(&memory), 1000);
    srv_lock_promise(&locks, &lock, 300);
    ck_assert_uint_eq(srv_scene_memory_room(&memory), 700);
    srv_lock_promise(&locks, &lock, 5000);
    ck_assert_uint_eq(srv_scene_memory_room(&memory), 0);
    srv_lock_promise(&locks, &lock, 0);
    ck_assert_uint_eq(srv_scene_memory_room(&memory), 1000);
    memory.limit = used / 2;
    ck_assert_uint_eq(srv_scene_memory_room(&memory), 0);
}
END_TEST

START_TEST(the_largest_history_goes_first_until_another_is_the_largest)
{
    struct obb_scene *small = add("small", 100), *large = add("large", 400);
    memory.limit = obb_store_bytes(store) + 1000;
    ck_assert(srv_scene_memory_shed(&memory, NULL, 1000));
    ck_assert_uint_eq(states(large), 400); /* there was room */
    ck_assert(srv_scene_memory_shed(&memory, NULL, 20000));
    ck_assert_uint_eq(states(small), 100);
    ck_assert_uint_lt(states(large), 400);
    ck_assert_uint_gt(states(large), 100);
    ck_assert_uint_ge(srv_scene_memory_room(&memory), 20000);

    memory.limit = obb_store_bytes(store) - obb_scene_history_bytes(large); /* now both are asked */
    ck_assert(srv_scene_memory_shed(&memory, NULL, 0));
    ck_assert_uint_lt(states(small), 100);
    ck_assert_uint_lt(states(large), 100);
    const double ratio =
        (double)obb_scene_history_bytes(small) / (double)obb_scene_history_bytes(large);
    ck_assert_double_gt(ratio, 0.8);
    ck_assert_double_lt(ratio, 1.25);
}
END_TEST

/* Also if the histories could give up some of the bytes. */
START_TEST(what_can_never_have_room_takes_no_state)
{
    struct obb_scene *small = add("small", 100), *large = add("large", 400);
    const size_t histories = obb_scene_history_bytes(small) + obb_scene_history_bytes(large);
    memory.limit = obb_store_bytes(store) + 1000;
    const size_t never[] = {memory.limit + 1, SIZE_MAX, obb_store_bytes(store), histories + 9000};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        ck_assert(!srv_scene_memory_might_shed(&memory, NULL, never[i]));
        ck_assert(!srv_scene_memory_shed(&memory, NULL, never[i]));
        ck_assert_uint_eq(states(small), 100);
        ck_assert_uint_eq(states(large), 400);
    }
    ck_assert(srv_scene_memory_might_shed(&memory, NULL, histories / 2));
    ck_assert_uint_eq(states(large), 400); /* who only asks takes none either */
    ck_assert(srv_scene_memory_shed(&memory, NULL, histories / 2));
    ck_assert_uint_lt(states(large), 400);
}
END_TEST

/* Each of many equal histories is the largest once a state. */
START_TEST(each_scene_is_looked_at_once_however_many_states_go)
{
    enum { SCENES = 300, STATES = 20, GONE = 1000 };
    teardown();
    ck_assert_int_eq(obb_store_create(SCENES, 1000, NULL, &store), OBB_OK);
    memory.store = store;
    struct obb_scene *scenes[SCENES];
    for (int i = 0; i < SCENES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", i);
        scenes[i] = add(name, STATES);
    }
    const size_t all = obb_store_bytes(store), state = obb_scene_history_bytes(scenes[0]) / STATES;
    memory.limit = all;
    ck_assert(srv_scene_memory_shed(&memory, NULL, GONE * state));
    ck_assert_uint_eq(memory.looks, SCENES);
    uint64_t fewest = STATES, most = 0, left = 0;
    for (int i = 0; i < SCENES; i++) {
        const uint64_t is = states(scenes[i]);
        fewest = is < fewest ? is : fewest;
        most = is > most ? is : most;
        left += is;
    }
    ck_assert_uint_lt(left, (uint64_t)SCENES * STATES - GONE / 2);
    ck_assert_uint_le(most - fewest, 3); /* they stay equal, as a state more or less can be */

    /* of a thousand states that the commit at hand does not need, some hundred go at a time */
    struct srv_scene_lock lock = {.scene = NULL};
    memory.limit = obb_store_bytes(store) + 64000 * state;
    srv_lock_promise(&locks, &lock, 64000 * state);
    ck_assert(srv_scene_memory_shed(&memory, NULL, 1));
    uint64_t after = 0;
    for (int i = 0; i < SCENES; i++)
        after += states(scenes[i]);
    ck_assert_uint_eq(left - after, 128);
    ck_assert_uint_eq(memory.looks, 2 * (uint64_t)SCENES);
    srv_lock_promise(&locks, &lock, 0);
}
END_TEST

/* Asks for all pairs of the newest state. */
static void ask_pairs(struct obb_scene *scene)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = SIZE_MAX};
    struct obb_view *view = NULL;
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    obb_plan_destroy(plan);
    obb_view_close(view);
}

START_TEST(cached_pairs_go_before_histories)
{
    static char text[300 * 12];
    size_t length = 0;
    struct obb_scene *scene = add("a", 20);
    for (int i = 0; i < 300; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "+c%d:%d ", i, i);
    text[length - 1] = '\0';
    tick(scene, 100, text);
    ask_pairs(scene);
    tick(scene, 101, "a:5");
    const size_t plain = obb_store_bytes(store);
    ask_pairs(scene);
    const size_t cached = obb_store_bytes(store) - plain;
    ck_assert_uint_gt(cached, 1000);
    memory.limit = obb_store_bytes(store);
    ck_assert(srv_scene_memory_shed(&memory, NULL, cached / 2));
    ck_assert_uint_eq(obb_store_bytes(store), plain);
    ck_assert_uint_eq(states(scene), 22);
}
END_TEST

START_TEST(newest_states_and_locked_scenes_stay)
{
    struct obb_scene *free_one = add("free", 50), *locked = add("locked", 400);
    struct srv_scene_lock lock = {.scene = NULL};
    ck_assert(srv_lock_take(&locks, &lock, locked, false, 0));
    memory.limit = 1;
    ck_assert(!srv_scene_memory_shed(&memory, NULL, 0));
    ck_assert_uint_eq(states(free_one), 1);
    ck_assert_uint_eq(states(locked), 400);
    ck_assert(!srv_scene_memory_shed(&memory, locked, 0)); /* whoever locked it may */
    ck_assert_uint_eq(states(locked), 1);
    srv_lock_release(&locks, &lock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scene_memory");
    TCase *tc = tcase_create("scene_memory");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, without_a_limit_there_is_room_and_nothing_is_given_up);
    tcase_add_test(tc, room_is_what_the_scenes_and_the_promises_leave);
    tcase_add_test(tc, the_largest_history_goes_first_until_another_is_the_largest);
    tcase_add_test(tc, what_can_never_have_room_takes_no_state);
    tcase_add_test(tc, each_scene_is_looked_at_once_however_many_states_go);
    tcase_add_test(tc, cached_pairs_go_before_histories);
    tcase_add_test(tc, newest_states_and_locked_scenes_stay);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
