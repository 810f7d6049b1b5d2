#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>
#include <string.h>

static const obb_settings space = {.dimensions = 3, .history_span = 500, .history_commits = 64};

static struct obb_store *store_of(size_t scene_limit, size_t box_limit)
{
    struct obb_store *store = NULL;
    ck_assert_int_eq(obb_store_create(scene_limit, box_limit, NULL, &store), OBB_OK);
    return store;
}

static struct obb_scene *add(struct obb_store *store, const char *name)
{
    struct obb_scene *scene = NULL;
    const obb_status st = obb_store_add(store, obb_str_of(name), &space, 1, 0, &scene);
    ck_assert_msg(st == OBB_OK, "%s: %s", name, obb_status_name(st));
    return scene;
}

/* Removes a scene that no view holds, and destroys it. */
static obb_status remove_dead(struct obb_store *store, const char *name)
{
    struct obb_scene *scene = obb_store_find(store, obb_str_of(name)), *dead = NULL;
    const obb_status st = obb_store_remove(store, obb_str_of(name), &dead);
    ck_assert_ptr_eq(dead, scene);
    obb_scene_destroy(dead);
    return st;
}

START_TEST(scenes_are_found_and_listed_in_byte_order)
{
    struct obb_store *store = store_of(1000, 1000);
    const char *const names[] = {"match-2",  "match",        "zoo", "Match",
                                 "match-10", "\xc3\xa4rger", "a"};
    const char *const sorted[] = {"Match",   "a",   "match",       "match-10",
                                  "match-2", "zoo", "\xc3\xa4rger"};
    enum { COUNT = sizeof names / sizeof names[0] };
    for (size_t i = 0; i < COUNT; i++)
        add(store, names[i]);
    obb_str after = {.length = 0};
    for (size_t i = 0; i < COUNT; i++) {
        const struct obb_scene *scene = obb_store_next(store, after);
        ck_assert_ptr_nonnull(scene);
        after = obb_scene_name(scene);
        ck_assert(obb_str_equal(after, obb_str_of(sorted[i])));
        ck_assert_ptr_eq(obb_store_find(store, after), scene);
        ck_assert_ptr_eq(obb_store_at(store, i), scene);
    }
    ck_assert_ptr_null(obb_store_next(store, after));
    ck_assert_ptr_null(obb_store_find(store, obb_str_of("matc")));
    /* A cursor whose scene is gone goes on behind where it was. */
    ck_assert_int_eq(remove_dead(store, "match"), OBB_OK);
    ck_assert(obb_str_equal(obb_scene_name(obb_store_next(store, obb_str_of("match"))),
                            obb_str_of("match-10")));
    ck_assert_int_eq(remove_dead(store, "match"), OBB_NO_SCENE);
    ck_assert_uint_eq(obb_store_scenes(store), COUNT - 1);
    obb_store_destroy(store);
}
END_TEST

START_TEST(what_may_not_be_added_is_refused)
{
    struct obb_store *store = store_of(2, 1000);
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_store_add(store, obb_str_of(".."), &space, 1, 0, &scene), OBB_BAD_NAME);
    const obb_settings flat = {.dimensions = 1};
    ck_assert_int_eq(obb_store_add(store, obb_str_of("a"), &flat, 1, 0, &scene), OBB_BAD_VALUE);
    const obb_settings negative = {.dimensions = 3, .history_span = -1};
    ck_assert_int_eq(obb_store_add(store, obb_str_of("a"), &negative, 1, 0, &scene), OBB_BAD_VALUE);
    add(store, "a");
    ck_assert_int_eq(obb_store_add(store, obb_str_of("a"), &space, 1, 0, &scene), OBB_BAD_VALUE);
    add(store, "b");
    ck_assert_int_eq(obb_store_add(store, obb_str_of("c"), &space, 1, 0, &scene), OBB_LIMIT);
    ck_assert_ptr_null(scene);
    ck_assert_uint_eq(obb_store_scenes(store), 2);
    obb_store_destroy(store);
}
END_TEST

START_TEST(boxes_are_counted_over_all_scenes)
{
    struct obb_store *store = store_of(10, 5);
    struct obb_scene *a = add(store, "a"), *b = add(store, "b");
    tick(a, 1, "+x:0 +y:0");
    tick(b, 1, "+x:0 +y:0");
    tick(b, 2, "-x +x:1 y:3");
    ck_assert_uint_eq(obb_store_boxes(store), 4);
    ck_assert_uint_eq(obb_store_box_room(store), 1);
    tick(b, 3, "-x");
    ck_assert_uint_eq(obb_store_box_room(store), 2);
    ck_assert_int_eq(remove_dead(store, "a"), OBB_OK);
    ck_assert_uint_eq(obb_store_boxes(store), 1);
    obb_store_destroy(store);
}
END_TEST

START_TEST(a_full_store_adopts_and_adds_no_more)
{
    struct obb_store *store = store_of(1, 10);
    struct obb_scene *scene = NULL, *other = NULL;
    ck_assert(!obb_store_full(store));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(obb_scene_create(obb_str_of(i == 0   ? "a"
                                                     : i == 1 ? "b"
                                                              : "c"),
                                          &space, 0, NULL, &scene),
                         OBB_OK);
        ck_assert_int_eq(obb_store_adopt(store, scene, 7), OBB_OK);
        ck_assert(obb_store_full(store));
    }
    ck_assert_uint_eq(obb_store_scenes(store), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(obb_store_add(store, obb_str_of("d"), &space, 7, 0, &other), OBB_LIMIT);
        ck_assert_int_eq(remove_dead(store, i == 0 ? "a" : i == 1 ? "b" : "c"), OBB_OK);
    }
    ck_assert_int_eq(obb_store_add(store, obb_str_of("d"), &space, 7, 0, &other), OBB_OK);
    obb_store_destroy(store);
}
END_TEST

START_TEST(frames_of_an_adopted_scene_are_counted)
{
    struct obb_store *store = store_of(10, 10);
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &space, 0, NULL, &scene), OBB_OK);
    const obb_pose frame = {.target = {.name = obb_str_of("cart")}};
    const obb_edit edit = {.dimensions = 3, .frames = &frame, .frame_count = 1};
    struct obb_arena arena;
    struct obb_prepared *prepared = NULL;
    obb_committed done;
    obb_fault fault;
    obb_arena_init(&arena);
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 10, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
    ck_assert_int_eq(obb_store_adopt(store, scene, 7), OBB_OK);
    ck_assert_uint_eq(obb_store_boxes(store), 1);
    ck_assert_int_eq(remove_dead(store, "s"), OBB_OK);
    ck_assert_uint_eq(obb_store_boxes(store), 0);
    ck_assert_uint_eq(obb_store_box_room(store), 10);
    obb_store_destroy(store);
}
END_TEST

/* Asks for all pairs of the newest state. Returns the bytes by which the store grows by it. */
static size_t ask_pairs(const struct obb_store *store, struct obb_scene *scene)
{
    const size_t before = obb_store_bytes(store);
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = 3,
                             .limit = SIZE_MAX,
                             .filter = {.category = UINT32_MAX, .mask = UINT32_MAX}};
    struct obb_view *view = NULL;
    struct obb_plan *plan = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    ck_assert_uint_gt(obb_plan_result(plan)->pair_count, 500);
    obb_plan_destroy(plan);
    ck_assert_uint_eq(obb_store_bytes(store), before); /* the writer counts */
    obb_view_close(view);
    ck_assert_uint_eq(obb_store_bytes(store), obb_scene_bytes(scene));
    return obb_store_bytes(store) - before;
}

START_TEST(cached_pairs_are_counted_and_given_up)
{
    enum { BOXES = 500, MOST = BOXES * 16 + 1000 }; /* two pairs a box, of 8 bytes */
    static char text[BOXES * 20];
    size_t length = 0;
    for (int i = 0; i < BOXES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "+b%d:%d ", i, i);
    text[length - 1] = '\0';
    struct obb_store *store = store_of(1, BOXES);
    for (int room = 0; room < 2; room++) {
        struct obb_scene *scene = add(store, "a");
        tick(scene, 0, text);
        obb_store_cache(store, obb_store_bytes(store) + (room != 0 ? 2 * (size_t)MOST : 0));
        ck_assert_uint_eq(ask_pairs(store, scene), 0); /* nobody has asked before */
        tick(scene, 1, "b7:9");
        const size_t grown = ask_pairs(store, scene);
        if (room != 0)
            ck_assert((size_t)BOXES * 16 <= grown && grown <= MOST);
        else
            ck_assert_uint_eq(grown, 0);
        tick(scene, 2, "b7:12");
        ck_assert_uint_eq(ask_pairs(store, scene), 0);
        const size_t before = obb_store_bytes(store);
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        obb_scene_drop_pairs(scene); /* perhaps somebody reads them */
        ck_assert_uint_eq(obb_store_bytes(store), before);
        obb_view_close(view);
        obb_scene_drop_pairs(scene);
        ck_assert_uint_eq(obb_store_bytes(store), before - grown);
        ck_assert_uint_eq(ask_pairs(store, scene), 0); /* as if nobody had asked */
        ck_assert_uint_eq(ask_pairs(store, scene), grown);
        ck_assert_int_eq(remove_dead(store, "a"), OBB_OK);
        ck_assert_uint_eq(obb_store_bytes(store), 0);
    }
    obb_store_destroy(store);
}
END_TEST

START_TEST(a_removed_scene_lives_until_its_last_view_is_closed)
{
    struct obb_store *store = store_of(10, 100);
    struct obb_scene *old = add(store, "arena");
    tick(old, 10, "+x:1");
    struct obb_view *views[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(obb_view_open(old, NULL, &views[i], NULL, NULL), OBB_OK);
    struct obb_scene *dead = old;
    ck_assert_int_eq(obb_store_remove(store, obb_str_of("arena"), &dead), OBB_OK);
    ck_assert_ptr_null(dead);
    ck_assert_ptr_null(obb_store_find(store, obb_str_of("arena")));
    struct obb_scene *anew = add(store, "arena");
    ck_assert_str_eq(seen(anew, (obb_at){.kind = OBB_AT_NOW}).text, "0@0"); /* starts anew */
    ck_assert_str_eq(seen_in(views[0]).text, "1@10 x:1");
    ck_assert_ptr_null(obb_view_close(views[0]));
    ck_assert_str_eq(seen_in(views[1]).text, "1@10 x:1");
    obb_store_destroy(store);
    ck_assert_str_eq(seen_in(views[1]).text, "1@10 x:1");
    dead = obb_view_close(views[1]);
    ck_assert_ptr_eq(dead, old);
    obb_scene_destroy(dead);
}
END_TEST

START_TEST(a_scene_that_finds_no_memory_is_not_added)
{
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    for (size_t n = 1; st != OBB_OK; n++) {
        struct obb_store *store = NULL;
        struct obb_scene *scene = NULL;
        fault_arm(n);
        st = obb_store_create(10, 100, NULL, &store);
        if (st == OBB_OK)
            st = obb_store_add(store, obb_str_of("arena"), &space, 1, 0, &scene);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        if (store != NULL)
            ck_assert_uint_eq(obb_store_scenes(store), st == OBB_OK);
        obb_store_destroy(store);
    }
    ck_assert_uint_ge(refused, 6); /* store, list, scene, state, its list of ended, layers, ring */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tc = tcase_create("store");
    tcase_add_test(tc, scenes_are_found_and_listed_in_byte_order);
    tcase_add_test(tc, what_may_not_be_added_is_refused);
    tcase_add_test(tc, boxes_are_counted_over_all_scenes);
    tcase_add_test(tc, a_full_store_adopts_and_adds_no_more);
    tcase_add_test(tc, frames_of_an_adopted_scene_are_counted);
    tcase_add_test(tc, cached_pairs_are_counted_and_given_up);
    tcase_add_test(tc, a_removed_scene_lives_until_its_last_view_is_closed);
    tcase_add_test(tc, a_scene_that_finds_no_memory_is_not_added);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
