#include "tests/core/scene/edits.h"

#include "core/scene/overlay.h"
#include "core/scene/scene_data.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { BOXES = 4000 };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Puts all boxes if x is 0, else poses them. */
static void move_all(struct obb_scene *scene, double time, double x, size_t text)
{
    static obb_put puts[BOXES];
    static obb_pose poses[BOXES];
    static char names[BOXES][40], data[BOXES][600];
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "box-%zu", i);
        puts[i] = put_at(names[i], (double)i + x);
        if (text > 0) {
            (void)snprintf(data[i], sizeof data[i], "\"%0*zu\"", (int)text, i);
            puts[i].attributes.data = obb_str_of(data[i]);
        }
        poses[i] = pose_at(names[i], (double)i + x);
    }
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = time,
                           .puts = puts,
                           .put_count = x == 0 ? BOXES : 0,
                           .poses = poses,
                           .pose_count = x == 0 ? 0 : BOXES};
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_committed done;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

static double heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd);
}

START_TEST(the_bytes_of_a_scene_are_those_of_the_heap)
{
    static const struct {
        const char *what;
        size_t text, commits;
        double x;
    } rows[] = {{"boxes", 0, 0, 0},
                {"boxes with data", 500, 0, 0},
                {"boxes and a history of 40 commits", 0, 40, 1},
                {"data and history, longer than what is kept", 100, 90, 1}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        const double before = heap_bytes();
        struct obb_scene *scene = tick_scene(1e9, 64);
        move_all(scene, 0, 0, rows[r].text);
        for (size_t i = 1; i <= rows[r].commits; i++)
            move_all(scene, (double)i, rows[r].x * (double)i, 0);
        const double heap = heap_bytes() - before;
        const double told = (double)obb_scene_bytes(scene);
        printf("%s: %.0f bytes of the heap, counted %.0f (%+.1f %%)\n", rows[r].what, heap, told,
               (told / heap - 1) * 100);
        ck_assert_double_ge(told, heap * 0.97);
        ck_assert_double_le(told, heap * 1.03);
        obb_scene_destroy(scene);
        ck_assert_double_le(heap_bytes() - before, heap * 0.01); /* the heap keeps small blocks */
    }
}
END_TEST

/* A query with times may lay thousands. Each is a scene of its own, with pages that are mostly
 * empty. */
START_TEST(overlays_draw_what_they_take_from_the_heap)
{
    enum { OVERLAYS = 500 };
    static struct obb_overlay *overlays[OVERLAYS];
    struct obb_scene *scene = tick_scene(0, 0);
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_put framed = put_at("head", 1), with_data = put_at("a", 2);
    framed.frame = obb_str_of("ann");
    with_data.attributes.data = obb_str_of("{\"hp\":7}");
    const obb_pose frame = pose_at("ann", 1), pose = pose_at("a", 2), moved = pose_at("ann", 3);
    const obb_put puts[] = {put_at("a", 1), framed};
    const obb_edit fill = {
        .dimensions = 3, .frames = &frame, .frame_count = 1, .puts = puts, .put_count = 2};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &fill, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const obb_edit edits[] = {
        {.dimensions = 3, .poses = &pose, .pose_count = 1},
        {.dimensions = 3, .puts = &with_data, .put_count = 1},
        {.dimensions = 3, .frames = &moved, .frame_count = 1},
    };
    for (size_t e = 0; e < COUNT(edits); e++) {
        struct obb_budget budget;
        obb_budget_init(&budget, SIZE_MAX);
        obb_arena_fini(&arena);
        arena.budget = &budget;
        const double before = heap_bytes();
        for (size_t i = 0; i < OVERLAYS; i++)
            ck_assert_int_eq(
                obb_overlay_of_edit(view, &edits[e], NULL, &arena, &overlays[i], &fault), OBB_OK);
        const double heap = heap_bytes() - before, drawn = (double)obb_budget_used(&budget);
        printf("%d overlays: %.0f bytes of the heap, drawn %.0f (%+.1f %%)\n", OVERLAYS, heap,
               drawn, (drawn / heap - 1) * 100);
        ck_assert_double_ge(drawn, heap * 0.97);
        ck_assert_double_le(drawn, heap * 1.2);
        for (size_t i = 0; i < OVERLAYS; i++)
            obb_overlay_destroy(overlays[i]);
        obb_arena_fini(&arena);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
    }
    arena.budget = NULL;
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST
#endif

START_TEST(the_estimate_of_an_edit_is_near_what_its_commit_adds)
{
    struct obb_scene *scene = tick_scene(1e9, 64);
    obb_put puts[1000];
    char names[1000][24], data[1000][40];
    for (size_t i = 0; i < COUNT(puts); i++) {
        (void)snprintf(names[i], sizeof names[i], "box-%zu", i);
        (void)snprintf(data[i], sizeof data[i], "{\"number\":%zu}", i);
        puts[i] = put_at(names[i], (double)i);
        puts[i].attributes.data = obb_str_of(data[i]);
        puts[i].attributes.entity = obb_str_of("crowd");
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = COUNT(puts)};
    const size_t before = obb_scene_bytes(scene), told = obb_edit_bytes(scene, &edit);
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &edit, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    const size_t added = obb_scene_bytes(scene) - before;
    printf("estimated %zu bytes, added %zu\n", told, added);
    ck_assert_uint_ge(told, added - added / 10);
    ck_assert_uint_le(told, added + added / 10);
    obb_pose poses[1000];
    for (size_t i = 0; i < COUNT(poses); i++)
        poses[i] = pose_at(names[i], -(double)i - 1);
    const obb_edit tick_of_all = {.dimensions = 3, .poses = poses, .pose_count = COUNT(poses)};
    const size_t then = obb_scene_bytes(scene), tick_told = obb_edit_bytes(scene, &tick_of_all);
    ck_assert_int_eq(commit(scene, &tick_of_all, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    const size_t tick_added = obb_scene_bytes(scene) - then;
    printf("estimated %zu bytes, added %zu\n", tick_told, tick_added);
    ck_assert_uint_ge(tick_told, tick_added - tick_added / 10);
    ck_assert_uint_le(tick_told, tick_added + tick_added / 10);
    const obb_edit nothing = {.dimensions = 3, .has_time = true, .time = 9};
    ck_assert_uint_eq(obb_edit_bytes(scene, &nothing), 0);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_oldest_state_is_forgotten_and_its_view_stays)
{
    struct obb_scene *scene = tick_scene(1e9, 64);
    tick(scene, 10, "+a:1");
    tick(scene, 20, "a:2");
    tick(scene, 30, "a:3");
    struct obb_view *view = NULL;
    const obb_at first = at_revision(1);
    ck_assert_int_eq(obb_view_open(scene, &first, &view, NULL, NULL), OBB_OK);
    const size_t full = obb_scene_history_bytes(scene);
    ck_assert(obb_scene_forget(scene)); /* state 0 */
    ck_assert(obb_scene_forget(scene)); /* state 1, which the view holds */
    ck_assert(obb_scene_validate(scene));
    ck_assert_str_eq(seen(scene, at_revision(1)).text, "gone 2@20..3@30");
    ck_assert_str_eq(seen(scene, at_revision(2)).text, "2@20 a:2");
    ck_assert_str_eq(seen_in(view).text, "1@10 a:1");
    ck_assert(obb_scene_forget(scene));
    ck_assert(!obb_scene_forget(scene)); /* the newest stays */
    ck_assert_str_eq(seen(scene, at_revision(2)).text, "gone 3@30..3@30");
    ck_assert_str_eq(seen_in(view).text, "1@10 a:1");
    ck_assert_ptr_null(obb_view_close(view));
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_lt(obb_scene_history_bytes(scene), full);
    tick(scene, 40, "a:4");
    ck_assert_str_eq(seen(scene, at_time(35)).text, "3@35 a:3.5");
    obb_scene_destroy(scene);
}
END_TEST

/* Puts boxes with data that is new, and removes some. */
static void change_any(struct obb_scene *scene, test_rng *rng)
{
    enum { MOST = 40 };
    static char names[MOST][16], data[MOST][400];
    obb_put puts[MOST];
    obb_target removes[MOST];
    struct obb_arena arena;
    obb_fault fault;
    obb_committed done;
    for (size_t i = 0; i < MOST; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%zu", i);
        (void)snprintf(data[i], sizeof data[i], "\"%0*d\"", 1 + (int)test_below(rng, 390),
                       (int)test_below(rng, 1000));
        puts[i] = put_at(names[i], (double)test_below(rng, 100));
        puts[i].attributes.data = obb_str_of(data[i]);
        removes[i] = named(names[i]);
    }
    const size_t from = test_below(rng, MOST);
    const size_t removed = test_below(rng, 3) == 0 ? test_below(rng, from + 1) : 0;
    const obb_edit edit = {.dimensions = 3,
                           .ignore_missing = true,
                           .puts = puts + from,
                           .put_count = test_below(rng, MOST - from),
                           .removes = removes,
                           .remove_count = removed};
    obb_arena_init(&arena);
    ck_assert_int_eq(commit(scene, &edit, SIZE_MAX, &arena, &done, &fault), OBB_OK);
    obb_arena_fini(&arena);
}

START_TEST(no_more_bytes_are_forgotten_than_was_said)
{
    const size_t scenes = test_effort(100);
    double said = 0, gone = 0;
    test_rng rng = {11};
    for (size_t n = 0; n < scenes; n++) {
        struct obb_scene *scene = tick_scene(1e9, 64);
        ck_assert_uint_eq(obb_scene_forgettable_bytes(scene), 0);
        for (size_t i = test_below(&rng, 80); i > 0; i--)
            change_any(scene, &rng);
        const size_t before = obb_scene_bytes(scene), most = obb_scene_forgettable_bytes(scene);
        while (obb_scene_forget(scene))
            ;
        const size_t after = obb_scene_bytes(scene);
        ck_assert_uint_le(before, after + most);
        ck_assert_uint_eq(obb_scene_forgettable_bytes(scene), 0);
        said += (double)most;
        gone += (double)before - (double)after;
        obb_scene_destroy(scene);
    }
    printf("of %zu scenes %.0f bytes were forgotten, and %.0f said\n", scenes, gone, said);
    ck_assert_double_gt(gone, said * 0.5);
}
END_TEST

/* Makes an edit that the scene has no room for, in the arena, which it begins. */
static obb_edit edit_without_room(struct obb_scene *scene, const char *line, bool replaces,
                                  struct obb_arena *arena)
{
    obb_arena_init(arena);
    obb_edit edit = tick_edit(20, line, arena);
    edit.replace_all = replaces;
    obb_scene_set_room(scene, 100);
    return edit;
}

START_TEST(an_edit_without_room_is_refused_unless_the_scene_becomes_smaller)
{
    static const struct {
        const char *line;
        bool replaces;
        obb_status status;
        const char *after;
    } rows[] = {
        {"+c:3", false, OBB_SCENE_MEMORY, "1@10 a:1 b:2"},
        {"a:3", false, OBB_SCENE_MEMORY, "1@10 a:1 b:2"},
        {"-none +c:3", false, OBB_SCENE_MEMORY, "1@10 a:1 b:2"},
        {"-a +c:3", false, OBB_SCENE_MEMORY, "1@10 a:1 b:2"},
        {"+a:1 +b:3", true, OBB_SCENE_MEMORY, "1@10 a:1 b:2"},
        {"-a", false, OBB_OK, "2@20 b:2"},
        {"-a b:5", false, OBB_OK, "2@20 b:5"},
        {"-none", false, OBB_OK, "1@20 a:1 b:2"},
        {"", false, OBB_OK, "1@20 a:1 b:2"},
        {"+c:3", true, OBB_OK, "2@20 c:3"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct obb_scene *scene = tick_scene(1e9, 64);
        tick(scene, 10, "+a:1 +b:2");
        struct obb_arena arena;
        const obb_edit edit = edit_without_room(scene, rows[i].line, rows[i].replaces, &arena);
        obb_fault fault;
        obb_committed done;
        const size_t bytes = obb_scene_bytes(scene);
        const obb_status status = commit(scene, &edit, SIZE_MAX, &arena, &done, &fault);
        ck_assert_msg(status == rows[i].status, "%s: %s", rows[i].line, obb_status_name(status));
        ck_assert_str_eq(now_in(scene), rows[i].after);
        if (status != OBB_OK) {
            ck_assert_int_eq(fault.group, OBB_GROUP_NONE);
            ck_assert_uint_eq(fault.bytes, obb_edit_bytes(scene, &edit));
            ck_assert_uint_eq(obb_scene_bytes(scene), bytes);
            obb_scene_set_room(scene, fault.bytes);
            ck_assert_int_eq(commit(scene, &edit, SIZE_MAX, &arena, &done, &fault), OBB_OK);
        }
        obb_arena_fini(&arena);
        obb_scene_destroy(scene);
    }
}
END_TEST

/* Records that an edit made and gave up stay until the views that were open are closed: readers may
 * be on their way through them. So a client that sends a refused edit again and again, beside a
 * slow reader, must not make any. */
START_TEST(an_edit_that_is_refused_for_room_takes_none_beside_a_view)
{
    static const struct {
        const char *line;
        bool replaces;
    } rows[] = {{"+c:3", false},
                {"-none +c:3", false},
                {"-a +c:3", false},
                {"-a +a:3 +c:3", false},
                {"-a -none -b +c:3 +d:4", false},
                {"+c:1 +d:3", true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct obb_scene *scene = tick_scene(1e9, 64);
        tick(scene, 10, "+a:1 +b:2");
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        const size_t bytes = obb_scene_bytes(scene);
        for (int again = 0; again < 3; again++) {
            struct obb_arena arena;
            const obb_edit edit = edit_without_room(scene, rows[i].line, rows[i].replaces, &arena);
            obb_fault fault;
            obb_committed done;
            ck_assert_int_eq(commit(scene, &edit, SIZE_MAX, &arena, &done, &fault),
                             OBB_SCENE_MEMORY);
            ck_assert_uint_eq(fault.bytes, obb_edit_bytes(scene, &edit));
            obb_arena_fini(&arena);
        }
        ck_assert_msg(obb_scene_bytes(scene) == bytes, "%s: %zu bytes more", rows[i].line,
                      obb_scene_bytes(scene) - bytes);
        obb_view_close(view);
        obb_scene_destroy(scene);
    }
}
END_TEST

/* Discards the same edit so many times. Returns the bytes of the scene after the last one. */
static size_t discard_often(struct obb_scene *scene, int times)
{
    for (int i = 0; i < times; i++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        const obb_edit edit = tick_edit(20, "+c:3 +d:4 -a", &arena);
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        obb_scene_renew_views(scene);
        ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                         OBB_OK);
        obb_edit_discard(prepared);
        obb_arena_fini(&arena);
        ck_assert_msg(obb_scene_validate(scene), "edit %d", i);
    }
    return obb_scene_bytes(scene);
}

/* A follower of a quiet scene keeps a view open for hours. */
START_TEST(edits_that_come_to_nothing_do_not_add_up_beside_a_view_that_rests)
{
    struct obb_scene *scene = tick_scene(1e9, 64);
    tick(scene, 10, "+a:1 +b:2");
    struct obb_view *views[3] = {NULL};
    for (size_t i = 0; i < COUNT(views); i++)
        ck_assert_int_eq(obb_view_open(scene, NULL, &views[i], NULL, NULL), OBB_OK);
    obb_view_rest(views[0], true);
    obb_view_rest(views[2], true);
    const size_t before = obb_scene_bytes(scene), beside_one = discard_often(scene, 10);
    ck_assert_uint_gt(discard_often(scene, 10), beside_one); /* views[1] is awake */
    obb_view_rest(views[1], true);
    const size_t few = discard_often(scene, 3);
    ck_assert_uint_lt(few, beside_one);
    ck_assert_uint_le(discard_often(scene, 100), few);
    for (size_t i = 0; i < COUNT(views); i++) {
        obb_view_rest(views[i], false);
        ck_assert_ptr_nonnull(obb_view_find(views[i], obb_str_of("a")));
        ck_assert_ptr_null(obb_view_find(views[i], obb_str_of("c")));
    }
    tick(scene, 20, "-a +c:3");
    ck_assert_ptr_nonnull(obb_view_find(views[0], obb_str_of("a")));
    for (size_t i = 0; i < COUNT(views); i++)
        obb_view_close(views[i]);
    ck_assert(obb_scene_validate(scene));
    printf("%zu bytes at first, %zu beside views at rest, %zu beside one that is awake\n", before,
           few, beside_one);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_store_knows_the_bytes_of_all_its_scenes)
{
    const obb_settings space = {.dimensions = 3, .history_span = 1e9, .history_commits = 64};
    struct obb_store *store = NULL;
    struct obb_scene *scenes[3];
    ck_assert_int_eq(obb_store_create(10, 1000, NULL, &store), OBB_OK);
    ck_assert_uint_eq(obb_store_bytes(store), 0);
    const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < COUNT(scenes); i++) {
        ck_assert_int_eq(obb_store_add(store, obb_str_of(names[i]), &space, 1 + i, 0, &scenes[i]),
                         OBB_OK);
        ck_assert_uint_le(obb_scene_bytes(scenes[i]), obb_scene_empty_bytes(obb_str_of(names[i])));
    }
    size_t sum = 0;
    for (int t = 1; t <= 20; t++) {
        sum = 0;
        for (size_t i = 0; i < COUNT(scenes); i++) {
            tick(scenes[i], t, t == 1 ? "+x:0 +y:1" : t % 2 ? "x:1" : "x:2 y:4");
            if (t % 7 == 0)
                ck_assert(obb_scene_forget(scenes[i]));
            sum += obb_scene_bytes(scenes[i]);
        }
        ck_assert_uint_eq(obb_store_bytes(store), sum);
    }
    struct obb_scene *dead = NULL;
    const size_t gone = obb_scene_bytes(scenes[1]);
    ck_assert_int_eq(obb_store_remove(store, obb_str_of("b"), &dead), OBB_OK);
    obb_scene_destroy(dead);
    ck_assert_uint_eq(obb_store_bytes(store), sum - gone);
    obb_store_destroy(store);
}
END_TEST

START_TEST(a_removed_scene_counts_until_its_last_view_is_closed)
{
    const obb_settings space = {.dimensions = 3, .history_span = 1e9, .history_commits = 64};
    struct obb_store *store = NULL;
    struct obb_scene *scene = NULL, *dead = NULL;
    struct obb_view *views[2];
    ck_assert_int_eq(obb_store_create(10, 1000, NULL, &store), OBB_OK);
    ck_assert_int_eq(obb_store_add(store, obb_str_of("a"), &space, 1, 0, &scene), OBB_OK);
    tick(scene, 10, "+x:0 +y:1");
    for (size_t i = 0; i < COUNT(views); i++)
        ck_assert_int_eq(obb_view_open(scene, NULL, &views[i], NULL, NULL), OBB_OK);
    const size_t bytes = obb_store_bytes(store);
    ck_assert_int_eq(obb_store_remove(store, obb_str_of("a"), &dead), OBB_OK);
    ck_assert_ptr_null(dead);
    ck_assert_uint_eq(obb_store_boxes(store), 0);
    ck_assert_uint_eq(obb_store_bytes(store), bytes);
    ck_assert_ptr_null(obb_view_close(views[1]));
    ck_assert_uint_ge(obb_store_bytes(store), bytes / 2);
    ck_assert_int_eq(obb_store_add(store, obb_str_of("a"), &space, 2, 0, &scene), OBB_OK);
    obb_scene_destroy(obb_view_close(views[0]));
    ck_assert_uint_eq(obb_store_bytes(store), obb_scene_bytes(scene));
    obb_store_destroy(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("footprint");
    TCase *tc = tcase_create("footprint");
    tcase_set_timeout(tc, test_patience(60));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tc, the_bytes_of_a_scene_are_those_of_the_heap);
    tcase_add_test(tc, overlays_draw_what_they_take_from_the_heap);
#endif
    tcase_add_test(tc, the_estimate_of_an_edit_is_near_what_its_commit_adds);
    tcase_add_test(tc, the_oldest_state_is_forgotten_and_its_view_stays);
    tcase_add_test(tc, no_more_bytes_are_forgotten_than_was_said);
    tcase_add_test(tc, an_edit_without_room_is_refused_unless_the_scene_becomes_smaller);
    tcase_add_test(tc, an_edit_that_is_refused_for_room_takes_none_beside_a_view);
    tcase_add_test(tc, edits_that_come_to_nothing_do_not_add_up_beside_a_view_that_rests);
    tcase_add_test(tc, a_store_knows_the_bytes_of_all_its_scenes);
    tcase_add_test(tc, a_removed_scene_counts_until_its_last_view_is_closed);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
