/* Random commits told again by their effects are in test_scene.c. */
#include "core/scene/scene_data.h"
#include "tests/core/scene/edits.h"

#include <math.h>
#include <string.h>

static obb_effect new_box(uint64_t id, const char *name, double x)
{
    const obb_put put = put_at(name, x);
    return (obb_effect){.kind = OBB_EFFECT_NEW,
                        .id = id,
                        .name = put.target.name,
                        .parts = OBB_PUT_ALL,
                        .box = put.box,
                        .attributes = put.attributes};
}

static obb_effect posed(uint64_t id, double x)
{
    obb_effect effect = new_box(id, "", x);
    effect.kind = OBB_EFFECT_POSED;
    effect.parts = OBB_PUT_CENTER;
    return effect;
}

static obb_effect removed(uint64_t id)
{
    return (obb_effect){.kind = OBB_EFFECT_REMOVED, .id = id};
}

static obb_status apply(struct obb_scene *scene, const obb_effects *effects, bool begins)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_prepared *prepared = NULL;
    const obb_status st = obb_effects_prepare(scene, effects, begins, &arena, &prepared);
    obb_committed done;
    if (st == OBB_OK)
        obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
    ck_assert(obb_scene_validate(scene));
    return st;
}

/* Boxes a (id 1), b (2) and c (3) at revision 1 and time 5; c is gone at revision 2 and time 6. */
static struct obb_scene *two_boxes(void)
{
    struct obb_scene *scene = tick_scene(100, 4);
    tick(scene, 5, "+a:1 +b:2 +c:3");
    tick(scene, 6, "-c");
    return scene;
}

START_TEST(effects_that_cannot_be_are_refused_and_change_nothing)
{
    obb_effect bad[12];
    for (size_t i = 0; i < COUNT(bad); i++)
        bad[i] = new_box(4, "d", 1);
    bad[0].id = 3;                                /* an id that was given before */
    bad[1].id = (uint64_t)OBB_MAX_WHOLE + 1;      /* more than an id can be */
    bad[2].name = obb_str_of("b");                /* taken */
    bad[3].name = obb_str_of("..");               /* no name */
    bad[4].parts = OBB_PUT_CENTER;                /* half a box */
    bad[5].box.center.x = 2e9;                    /* far */
    bad[6].box.half_extents.y = -1;               /* thin */
    bad[7].box.rotation = (obb_quat){0, 0, 0, 2}; /* not normalised */
    bad[8].box.rotation = (obb_quat){0, 0, 0, 0}; /* none */
    bad[9].box.angle = (double)INFINITY;
    bad[10].attributes.entity = obb_str_of("a\nb");
    static char long_data[OBB_MAX_DATA + 2];
    memset(long_data, '1', sizeof long_data - 1);
    bad[11].attributes.data = obb_str_of(long_data);
    const obb_effect lost[] = {posed(3, 1)}, gone[] = {removed(7)};
    const obb_effect late[] = {posed(1, 9), removed(1)}, twice[] = {removed(1), removed(1)};
    const obb_settings flat = {.dimensions = 2}, odd = {.dimensions = 4};
    const obb_moment next = {3, 6};

    const struct {
        obb_effects effects;
        obb_status status;
    } rows[] = {
        {{.moment = {4, 6}, .appends = true, .next_id = 4}, OBB_REVISION},
        {{.moment = {2, 6}, .appends = true, .next_id = 4}, OBB_REVISION},
        {{.moment = {3, 6}, .next_id = 4}, OBB_REVISION},
        {{.moment = {3, 5.5}, .appends = true, .next_id = 4}, OBB_TIME_BACKWARDS},
        {{.moment = {3, (double)NAN}, .appends = true, .next_id = 4}, OBB_BAD_VALUE},
        {{.moment = {3, 6}, .appends = true, .next_id = 3}, OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .has_settings = true, .settings = odd, .next_id = 4},
         OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .has_settings = true, .settings = flat, .next_id = 4},
         OBB_DIMENSIONS},
        {{.moment = next, .appends = true, .next_id = 4, .list = lost, .count = 1}, OBB_NO_BOX},
        {{.moment = next, .appends = true, .next_id = 4, .list = gone, .count = 1}, OBB_NO_BOX},
        {{.moment = next, .appends = true, .next_id = 4, .list = late, .count = 2}, OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 4, .list = twice, .count = 2}, OBB_NO_BOX},
        {{.moment = {2, 7}, .next_id = 4, .list = late, .count = 1}, OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[0], .count = 1},
         OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[1], .count = 1},
         OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[2], .count = 1},
         OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[3], .count = 1},
         OBB_BAD_NAME},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[4], .count = 1},
         OBB_BAD_VALUE},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[5], .count = 1},
         OBB_BAD_NUMBER},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[6], .count = 1},
         OBB_BAD_EXTENT},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[7], .count = 1},
         OBB_BAD_ROTATION},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[8], .count = 1},
         OBB_BAD_NUMBER},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[9], .count = 1},
         OBB_BAD_NUMBER},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[10], .count = 1},
         OBB_BAD_NAME},
        {{.moment = next, .appends = true, .next_id = 5, .list = &bad[11], .count = 1},
         OBB_BAD_VALUE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct obb_scene *scene = two_boxes();
        const uint64_t before = obb_scene_hash(scene);
        const obb_status st = apply(scene, &rows[i].effects, false);
        ck_assert_msg(st == rows[i].status, "row %zu: %s", i, obb_status_name(st));
        ck_assert(obb_scene_hash(scene) == before);
        ck_assert(apply(scene, &rows[i].effects, true) != OBB_OK); /* only an empty scene begins */
        obb_scene_destroy(scene);
    }
}
END_TEST

START_TEST(a_loaded_state_keeps_its_gaps_and_is_the_only_one)
{
    const obb_effect boxes[] = {new_box(3, "c", 3), new_box(17, "a", -0.0), new_box(900, "b", 5)};
    const obb_effects load = {.moment = {41, 7.5},
                              .appends = true,
                              .time_stated = true,
                              .next_id = 1000,
                              .list = boxes,
                              .count = 3};
    struct obb_scene *scene = tick_scene(100, 4);
    ck_assert_int_eq(apply(scene, &load, true), OBB_OK);
    ck_assert_str_eq(now_in(scene), "41@7.5 c:3 a:-0 b:5");
    obb_at at = at_revision(40);
    ck_assert_str_eq(seen(scene, at).text, "gone 41@7.5..41@7.5");
    at = at_time(7);
    ck_assert_str_eq(seen(scene, at).text, "gone 41@7.5..41@7.5");
    const obb_committed done = tick(scene, 9, "c:4 +d:1");
    ck_assert_uint_eq(done.moment.revision, 42);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    ck_assert_ptr_nonnull(obb_view_find_id(view, 1000));
    ck_assert_ptr_eq(obb_view_find_id(view, 1000), obb_view_find(view, obb_str_of("d")));
    obb_view_close(view);
    ck_assert_str_eq(seen(scene, at_revision(41)).text, "41@7.5 c:3 a:-0 b:5");
    obb_scene_destroy(scene);

    /* Revision 0 holds no box: there is only its time to load. */
    const obb_effects start = {.moment = {0, 50}, .time_stated = true, .next_id = 1};
    scene = tick_scene(100, 4);
    ck_assert_int_eq(apply(scene, &start, true), OBB_OK);
    ck_assert_str_eq(now_in(scene), "0@50");
    tick(scene, 51, "+a:1");
    ck_assert_str_eq(seen(scene, at_time(50.5)).text, "0@50.5");
    obb_scene_destroy(scene);
}
END_TEST

/* As if commits had led to it: the revisions at which its boxes were changed are kept. */
START_TEST(a_loaded_state_knows_when_its_boxes_were_changed)
{
    obb_effect boxes[] = {{.kind = OBB_EFFECT_FRAME,
                           .name = obb_str_of("cart"),
                           .parts = OBB_PUT_POSE,
                           .box = {.rotation = {.w = 1}},
                           .changed = 12},
                          new_box(3, "a", 3),
                          new_box(4, "b", 4),
                          new_box(5, "c", 5)};
    obb_effects load = {.moment = {41, 7.5},
                        .appends = true,
                        .time_stated = true,
                        .next_id = 6,
                        .list = boxes,
                        .count = 4};
    boxes[1].changed = 1;
    boxes[2].changed = 41;
    struct obb_scene *scene = tick_scene(100, 4);
    boxes[3].changed = 42; /* is to come */
    ck_assert_int_eq(apply(scene, &load, true), OBB_BAD_VALUE);
    boxes[3].changed = 0;
    ck_assert_int_eq(apply(scene, &load, true), OBB_OK);
    const obb_target a = named("a"), b = named("b"), c = named("c");
    ck_assert_uint_eq(obb_scene_changed(scene, &a), 1);
    ck_assert_uint_eq(obb_scene_changed(scene, &b), 41);
    ck_assert_uint_eq(obb_scene_changed(scene, &c), 41);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const struct obb_version *cart = obb_view_find_frame(view, obb_str_of("cart"));
    ck_assert_uint_eq(obb_view_changed(cart), 12);
    tick(scene, 9, "a:4");
    ck_assert_uint_eq(obb_scene_changed(scene, &a), 42);
    ck_assert_str_eq(seen_in(view).text, "41@7.5 a:3 b:4 c:5");
    obb_view_close(view);
    ck_assert_str_eq(seen(scene, at_revision(41)).text, "41@7.5 a:3 b:4 c:5");
    obb_effect late = new_box(6, "d", 1);
    late.changed = 1;
    const obb_effects next = {
        .moment = {43, 9}, .appends = true, .next_id = 7, .list = &late, .count = 1};
    ck_assert_int_eq(apply(scene, &next, false), OBB_BAD_VALUE); /* only when they begin a scene */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_clock_of_a_loaded_scene_goes_on_from_its_newest_time)
{
    const obb_effect box = new_box(1, "a", 1);
    const obb_effects load = {
        .moment = {3, 5000}, .appends = true, .next_id = 2, .list = &box, .count = 1};
    struct obb_scene *scene = tick_scene(100, 4);
    ck_assert_int_eq(apply(scene, &load, true), OBB_OK);
    obb_scene_resume(scene, 777);
    (void)tick_at(scene, 787, NO_TIME, "a:2");
    ck_assert_str_eq(now_in(scene), "4@5010 a:2");
    (void)tick_at(scene, 700, NO_TIME, "a:3"); /* never back */
    ck_assert_str_eq(now_in(scene), "5@5010 a:3");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_clock_of_a_scene_that_follows_keeps_up)
{
    const obb_effects ahead = {.moment = {1, 5000}, .appends = true, .next_id = 1};
    struct obb_scene *scene = tick_scene(100, 4); /* made at 0 */
    ck_assert_int_eq(apply(scene, &ahead, false), OBB_OK);
    obb_scene_keep_up(scene, 777); /* was behind */
    (void)tick_at(scene, 787, NO_TIME, "+a:2");
    ck_assert_str_eq(now_in(scene), "2@5010 a:2");
    obb_scene_keep_up(scene, 900); /* is ahead of its newest state, and stays so */
    (void)tick_at(scene, 901, NO_TIME, "a:3");
    ck_assert_str_eq(now_in(scene), "3@5124 a:3");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(effects_of_other_dimensions_follow)
{
    struct obb_scene *scene = tick_scene(1000, 64), *twin = tick_scene(1000, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(twin, 1, "+a:1 +b:2");
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_view_keep_later(view);
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_put flat = put_at("b", 3);
    flat.box.center.z = flat.box.half_extents.z = 0;
    flat.box.angle = 30;
    const obb_settings plane = {.dimensions = 2, .history_span = 10, .history_commits = 3};
    const obb_edit import = {
        .dimensions = 2, .replace_all = true, .puts = &flat, .put_count = 1, .settings = &plane};
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(commit(scene, &import, 9, &arena, &done, &fault), OBB_OK);
    obb_step step;
    obb_effects effects;
    ck_assert(obb_view_step(view, 2, &step));
    ck_assert(!obb_view_step(view, 3, &step));
    ck_assert(obb_view_step(view, 2, &step));
    ck_assert_int_eq(obb_step_effects(&step, &arena, &effects), OBB_OK);
    ck_assert(effects.has_settings && !effects.time_stated && !effects.replaces_all);
    ck_assert_uint_eq(effects.count, 3); /* two removed, one new */
    ck_assert_int_eq(apply(twin, &effects, false), OBB_OK);
    ck_assert(obb_scene_hash(twin) == obb_scene_hash(scene));
    obb_view_close(view);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
    obb_scene_destroy(twin);
}
END_TEST

START_TEST(without_memory_nothing_is_applied)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_scene *source = two_boxes();
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_effects effects;
    ck_assert_int_eq(tick_prepare(source, 0, 7, "-a +d:4 +e:5 b:3", &arena, &prepared, &fault),
                     OBB_OK);
    ck_assert_int_eq(obb_prepared_effects(prepared, &arena, &effects), OBB_OK);
    size_t refused = 0;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        struct obb_scene *scene = two_boxes();
        const uint64_t before = obb_scene_hash(scene);
        struct obb_arena room;
        obb_arena_init(&room);
        struct obb_prepared *other = NULL;
        fault_arm(n);
        const obb_status st = obb_effects_prepare(scene, &effects, false, &room, &other);
        done = fault_seen() < n;
        fault_arm(0);
        ck_assert_int_eq(st, done ? OBB_OK : OBB_NO_MEMORY);
        if (done)
            obb_edit_discard(other);
        ck_assert(obb_scene_hash(scene) == before);
        ck_assert(obb_scene_validate(scene));
        refused += !done;
        obb_arena_fini(&room);
        obb_scene_destroy(scene);
    }
    ck_assert_uint_ge(refused, 5);
    obb_edit_discard(prepared);
    obb_arena_fini(&arena);
    obb_scene_destroy(source);
}
END_TEST

START_TEST(effects_of_frames_place_their_boxes)
{
    struct obb_scene *scene = tick_scene(0, 0);
    const obb_effect frame = {.kind = OBB_EFFECT_FRAME,
                              .name = obb_str_of("ann"),
                              .parts = OBB_PUT_POSE,
                              .box = {.center = {10, 0, 0}, .rotation = {0, 0, 0, 1}}};
    obb_effect limb = new_box(1, "limb", 12);
    limb.frame = obb_str_of("ann");
    limb.local = (obb_box){.center = {2, 0, 0}, .rotation = {0, 0, 0, 1}};
    obb_effect moved = frame, carried = posed(1, 22), gone = frame, elsewhere = limb,
               nowhere = limb;
    moved.box.center.x = 20;
    carried.frame = limb.frame;
    carried.local = limb.local;
    gone.kind = OBB_EFFECT_FRAME_REMOVED;
    elsewhere.local.center.x = 3; /* ann does not place it at 12 then */
    nowhere.frame = obb_str_of("bob");
    const struct {
        obb_effect list[2];
        size_t count;
        obb_status status;
        const char *after;
    } rows[] = {
        {{gone}, 1, OBB_NO_FRAME, "0@0"},
        {{frame, elsewhere}, 2, OBB_BAD_VALUE, "0@0"},
        {{frame, nowhere}, 2, OBB_NO_FRAME, "0@0"},
        {{limb, frame}, 2, OBB_NO_FRAME, "0@0"},
        {{frame, limb}, 2, OBB_OK, "1@1 limb:12"},
        {{moved, carried}, 2, OBB_OK, "2@2 limb:22"},
        {{gone}, 1, OBB_OK, "3@3"}, /* and the boxes that are left in it */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        obb_scene_info info;
        obb_scene_info_without_bounds(scene, &info);
        const uint64_t before = obb_scene_hash(scene);
        const obb_effects effects = {.moment = {info.now.revision + 1, info.now.time + 1},
                                     .appends = true,
                                     .time_stated = true,
                                     .next_id = 2,
                                     .list = rows[i].list,
                                     .count = rows[i].count};
        ck_assert_msg(apply(scene, &effects, false) == rows[i].status, "row %zu", i);
        ck_assert((obb_scene_hash(scene) == before) == (rows[i].status != OBB_OK));
        ck_assert_str_eq(seen(scene, (obb_at){.kind = OBB_AT_NOW}).text, rows[i].after);
        ck_assert(obb_scene_validate(scene));
    }
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("effects");
    TCase *tc = tcase_create("effects");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, effects_that_cannot_be_are_refused_and_change_nothing);
    tcase_add_test(tc, a_loaded_state_keeps_its_gaps_and_is_the_only_one);
    tcase_add_test(tc, a_loaded_state_knows_when_its_boxes_were_changed);
    tcase_add_test(tc, the_clock_of_a_loaded_scene_goes_on_from_its_newest_time);
    tcase_add_test(tc, the_clock_of_a_scene_that_follows_keeps_up);
    tcase_add_test(tc, effects_of_other_dimensions_follow);
    tcase_add_test(tc, effects_of_frames_place_their_boxes);
    tcase_add_test(tc, without_memory_nothing_is_applied);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
