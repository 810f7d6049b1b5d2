/* Extras of versions: which versions of a box share them, and that no state sees another's. */
#include "core/scene/scene_data.h"
#include "tests/core/scene/edits.h"

#include <stdio.h>

enum { BLOCK = 64 }; /* extras that the pool allocates at once */

static obb_put put_in(const char *name, double x, const char *entity, const char *data)
{
    obb_put put = put_at(name, x);
    put.frame = obb_str_of("car");
    put.attributes.entity = obb_str_of(entity);
    put.attributes.data = obb_str_of(data);
    return put;
}

/* Commits with arenas of its own, and checks the scene. */
static obb_status apply(struct obb_scene *scene, const obb_edit *edit)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_committed done;
    obb_fault fault;
    const obb_status st = commit(scene, edit, SIZE_MAX, &arena, &done, &fault);
    obb_arena_fini(&arena);
    return st;
}

/* Poses the frame. */
static void drive(struct obb_scene *scene, double time)
{
    const obb_pose pose = pose_at("car", time);
    const obb_edit edit = {
        .dimensions = 3, .has_time = true, .time = time, .frames = &pose, .frame_count = 1};
    ck_assert_int_eq(apply(scene, &edit), OBB_OK);
}

static obb_status put_one(struct obb_scene *scene, double time, obb_put put)
{
    const obb_edit edit = {
        .dimensions = 3, .has_time = true, .time = time, .puts = &put, .put_count = 1};
    return apply(scene, &edit);
}

/* Makes a scene with a frame at 0 and boxes "a", "b", "c" in it at 0, 10 and 20. */
static struct obb_scene *scene_with_car(uint32_t commits)
{
    struct obb_scene *scene = tick_scene(1e9, commits);
    const obb_pose pose = pose_at("car", 0);
    const obb_put puts[] = {put_in("a", 0, "team", "{\"n\":1}"), put_in("b", 10, "", "{\"n\":1}"),
                            put_in("c", 20, "", "")};
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = 0,
                           .frames = &pose,
                           .frame_count = 1,
                           .puts = puts,
                           .put_count = COUNT(puts)};
    ck_assert_int_eq(apply(scene, &edit), OBB_OK);
    return scene;
}

/* Returns "x frame entity data" of a box in a state. */
static const char *told(struct obb_scene *scene, const char *name, double time)
{
    static char text[128];
    struct obb_view *view = NULL;
    const obb_at at = at_time(time);
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    const struct obb_version *box = obb_view_find(view, obb_str_of(name));
    ck_assert_ptr_nonnull(box);
    const obb_attributes has = obb_view_attributes(box);
    obb_str frame = {.bytes = "", .length = 0};
    obb_box local;
    (void)obb_view_local(box, &frame, &local);
    (void)snprintf(text, sizeof text, "%g %.*s %.*s %.*s", obb_view_pose(view, box).center.x,
                   (int)frame.length, frame.bytes, (int)has.entity.length, has.entity.bytes,
                   (int)has.data.length, has.data.bytes);
    obb_view_close(view);
    return text;
}

START_TEST(versions_share_extras_until_one_of_them_changes)
{
    const size_t ticks = 20;
    struct obb_scene *scene = scene_with_car(1000);
    const uint32_t *extras = &scene->versions.extras_count;
    ck_assert_uint_eq(*extras, 4);
    for (int i = 1; i <= (int)ticks; i++)
        drive(scene, i);
    ck_assert_uint_eq(*extras, 4); /* 84 versions have them */
    ck_assert_uint_eq(scene->versions.count - scene->versions.free_count, 4 * (ticks + 1));

    ck_assert_int_eq(put_one(scene, 21, put_in("a", 0, "team", "{\"n\":2}")), OBB_OK);
    ck_assert_uint_eq(*extras, 5);
    ck_assert_int_eq(put_one(scene, 22, put_in("b", 11, "", "{\"n\":1}")), OBB_OK);
    ck_assert_uint_eq(*extras, 6); /* another mount */
    ck_assert_int_eq(put_one(scene, 23, put_at("c", 5)), OBB_OK);
    drive(scene, 24);
    obb_put leaves = put_at("b", 31);
    leaves.attributes.data = obb_str_of("{\"n\":1}");
    ck_assert_int_eq(put_one(scene, 25, leaves), OBB_OK); /* of b only the data stays */
    drive(scene, 26);

    static const struct {
        const char *name;
        double time;
        const char *told;
    } rows[] = {
        {"a", 0, "0 car team {\"n\":1}"},
        {"a", 20, "20 car team {\"n\":1}"},
        {"a", 21, "20 car team {\"n\":2}"},
        {"a", 26, "26 car team {\"n\":2}"},
        {"b", 7, "17 car  {\"n\":1}"},
        {"b", 21, "30 car  {\"n\":1}"},
        {"b", 22, "31 car  {\"n\":1}"},
        {"b", 24, "35 car  {\"n\":1}"},
        {"b", 25, "31   {\"n\":1}"},
        {"b", 26, "31   {\"n\":1}"},
        {"c", 22, "40 car  "},
        {"c", 23, "5   "},
        {"c", 26, "5   "},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_str_eq(told(scene, rows[i].name, rows[i].time), rows[i].told);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(what_changes_nothing_leaves_extras_as_they_are)
{
    struct obb_scene *scene = scene_with_car(1000);
    drive(scene, 1);
    ck_assert_int_eq(put_one(scene, 1, put_in("a", 0, "team", "{\"n\":1}")), OBB_OK);
    ck_assert_uint_eq(scene->versions.extras_count, 4);
    ck_assert_uint_eq(scene->versions.count - scene->versions.free_count, 8);
    obb_put twice[] = {put_in("a", 0, "other", ""), put_in("a", 0, "team", "{\"n\":1}")};
    const obb_edit back = {.dimensions = 3, .puts = twice, .put_count = 2};
    ck_assert_int_eq(apply(scene, &back), OBB_OK);
    ck_assert_uint_eq(scene->versions.extras_count, 4);
    obb_put bad[] = {put_in("a", 3, "other", "{}"), put_in("b", 3, "other", "{}"),
                     put_in("", 0, "", "")};
    const obb_edit refused = {.dimensions = 3, .puts = bad, .put_count = 3};
    ck_assert_int_eq(apply(scene, &refused), OBB_BAD_NAME);
    ck_assert_uint_eq(scene->versions.extras_count, 4);
    ck_assert_str_eq(told(scene, "a", 1), "1 car team {\"n\":1}");
    ck_assert_str_eq(told(scene, "b", 1), "11 car  {\"n\":1}");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(shared_extras_go_with_their_last_version)
{
    struct obb_scene *scene = scene_with_car(4);
    for (int i = 1; i < 30; i++) {
        const char *data = i % 3 == 0 ? "{\"n\":3}" : "{\"n\":4}";
        ck_assert_int_eq(put_one(scene, i, put_in("a", 0, "team", data)), OBB_OK);
        drive(scene, i);
        ck_assert_uint_le(scene->versions.extras_count, 4 + 5);
    }
    const obb_target all[] = {named("a"), named("b"), named("c")};
    const obb_edit removal = {
        .dimensions = 3, .has_time = true, .time = 30, .removes = all, .remove_count = COUNT(all)};
    ck_assert_int_eq(apply(scene, &removal), OBB_OK);
    for (int i = 31; i < 45; i++)
        drive(scene, i);
    ck_assert_uint_eq(scene->versions.extras_count, 1); /* the frame's */
    ck_assert_uint_eq(scene->interned.hash_table.count, 0);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(each_version_with_a_ttl_has_extras_of_its_own)
{
    struct obb_scene *scene = scene_with_car(1000);
    obb_put timed = put_in("a", 0, "team", "{\"n\":1}");
    timed.attributes.has_ttl = true;
    timed.attributes.ttl = 100;
    ck_assert_int_eq(put_one(scene, 1, timed), OBB_OK);
    ck_assert_uint_eq(scene->versions.extras_count, 5);
    drive(scene, 2);
    drive(scene, 3);
    ck_assert_uint_eq(scene->versions.extras_count, 7);
    timed.attributes.has_ttl = false;
    ck_assert_int_eq(put_one(scene, 4, timed), OBB_OK);
    ck_assert_uint_eq(scene->versions.extras_count, 8);
    drive(scene, 5);
    ck_assert_uint_eq(scene->versions.extras_count, 8);
    drive(scene, 500); /* it does not expire */
    ck_assert_str_eq(told(scene, "a", 500), "500 car team {\"n\":1}");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(without_memory_for_extras_the_scene_is_as_before)
{
    struct obb_scene *scene = scene_with_car(1000);
    char name[24];
    for (int i = 4; i < BLOCK; i++) { /* then no extras are free */
        (void)snprintf(name, sizeof name, "more-%d", i);
        ck_assert_int_eq(put_one(scene, 1, put_in(name, i, "", "")), OBB_OK);
    }
    drive(scene, 2);
    ck_assert_uint_eq(scene->versions.extras_count, BLOCK);
    obb_put leaves = put_at("a", 1);
    leaves.attributes.entity = obb_str_of("team");
    obb_pose away = pose_at("b", 3);
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = 3,
                           .puts = &leaves,
                           .put_count = 1,
                           .poses = &away,
                           .pose_count = 1};
    struct obb_arena arena;
    obb_arena_init(&arena);
    size_t refused = 0;
    obb_status st = OBB_NO_MEMORY;
    for (size_t n = 1; st == OBB_NO_MEMORY; n++) {
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        fault_arm(n);
        st = obb_edit_prepare(scene, &edit, 0.0, SIZE_MAX, &arena, &prepared, &fault);
        fault_arm(0);
        ck_assert(st == OBB_OK || st == OBB_NO_MEMORY);
        refused += st == OBB_NO_MEMORY;
        if (st == OBB_OK)
            obb_edit_discard(prepared);
        ck_assert(obb_scene_validate(scene));
        ck_assert_uint_eq(scene->versions.extras_count, BLOCK);
        ck_assert_str_eq(told(scene, "a", 2), "2 car team {\"n\":1}");
        obb_arena_reset(&arena);
    }
    printf("extras: refused %zu times for want of memory\n", refused);
    ck_assert_uint_gt(refused, 2);
    obb_arena_fini(&arena);
    ck_assert_int_eq(apply(scene, &edit), OBB_OK);
    ck_assert_str_eq(told(scene, "a", 3), "1  team ");
    ck_assert_str_eq(told(scene, "b", 3), "5 car  {\"n\":1}");
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(the_check_counts_the_versions_of_extras_and_the_extras_of_mounts)
{
    struct obb_scene *scene = scene_with_car(1000);
    drive(scene, 1);
    struct obb_view *view = NULL;
    const obb_at now = {.kind = OBB_AT_NOW};
    ck_assert_int_eq(obb_view_open(scene, &now, &view, NULL, NULL), OBB_OK);
    const struct obb_version *box = obb_view_find(view, obb_str_of("a"));
    ck_assert(box->has_extras);
    struct obb_extras *extras = obb_version_links(box)->extras;
    ck_assert_uint_eq(extras->versions, 2);
    ck_assert(obb_version_shares(box));
    extras->versions = 3;
    ck_assert(!obb_scene_validate(scene));
    extras->versions = 1;
    ck_assert(!obb_scene_validate(scene));
    extras->versions = 2;
    ck_assert_uint_eq(extras->mount->references, 1);
    extras->mount->references = 2;
    ck_assert(!obb_scene_validate(scene));
    extras->mount->references = 1;
    ck_assert(obb_scene_validate(scene));
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extras");
    TCase *tcase = tcase_create("extras");
    tcase_add_test(tcase, versions_share_extras_until_one_of_them_changes);
    tcase_add_test(tcase, what_changes_nothing_leaves_extras_as_they_are);
    tcase_add_test(tcase, shared_extras_go_with_their_last_version);
    tcase_add_test(tcase, each_version_with_a_ttl_has_extras_of_its_own);
    tcase_add_test(tcase, without_memory_for_extras_the_scene_is_as_before);
    tcase_add_test(tcase, the_check_counts_the_versions_of_extras_and_the_extras_of_mounts);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
