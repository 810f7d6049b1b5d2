#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

static obb_digest digest_of(struct obb_scene *scene)
{
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_digest digest = {0};
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        obb_digest_add(&digest, box);
    obb_view_close(view);
    return digest;
}

static uint64_t content_of(struct obb_scene *scene)
{
    const obb_digest digest = digest_of(scene);
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    return obb_digest_content(&digest, &info.settings, info.now.time);
}

START_TEST(the_content_has_neither_ids_nor_revisions)
{
    struct obb_scene *a = tick_scene(500, 64), *b = tick_scene(500, 64);
    tick(a, 1, "+x:1 +y:2");
    tick(b, 1, "+gone:1 +y:2");
    tick(b, 1, "-gone");
    tick(b, 1, "+x:1");
    ck_assert(obb_scene_hash(a) != obb_scene_hash(b));
    ck_assert(content_of(a) == content_of(b));
    tick(a, 2, "");
    ck_assert(content_of(a) != content_of(b)); /* the time */
    tick(b, 2, "");
    ck_assert(content_of(a) == content_of(b));
    tick(a, 2, "x:-1");
    ck_assert(content_of(a) != content_of(b));
    tick(b, 2, "x:-1");
    ck_assert(content_of(a) == content_of(b));
    obb_scene_info info;
    obb_scene_info_without_bounds(a, &info);
    info.settings.history_commits++;
    const obb_digest digest = digest_of(a);
    ck_assert(obb_digest_content(&digest, &info.settings, 2) != content_of(a));
    obb_scene_destroy(a);
    obb_scene_destroy(b);
}
END_TEST

START_TEST(the_hash_tells_states_apart_and_not_how_they_came_about)
{
    struct obb_scene *a = tick_scene(500, 64), *b = tick_scene(500, 64);
    tick(a, 1, "+x:1 +y:2");
    tick(b, 1, "+x:5 +y:5 x:1 y:2");
    ck_assert(obb_scene_hash(a) == obb_scene_hash(b));
    tick(a, 1, "x:3");
    tick(b, 1, "x:4");
    ck_assert(obb_scene_hash(a) != obb_scene_hash(b)); /* a pose */
    tick(a, 1, "x:4");
    ck_assert(obb_scene_hash(a) != obb_scene_hash(b)); /* the revision */
    tick(a, 1, "x:9");
    tick(b, 1, "x:5");
    tick(b, 1, "x:9");
    ck_assert(obb_scene_hash(a) == obb_scene_hash(b));
    tick(b, 2, "");
    ck_assert(obb_scene_hash(a) != obb_scene_hash(b)); /* the time */
    tick(a, 2, "");
    ck_assert(obb_scene_hash(a) == obb_scene_hash(b));
    tick(a, 3, "-y +z:1");
    tick(b, 3, "-y +w:1");
    ck_assert(obb_scene_hash(a) != obb_scene_hash(b)); /* a name */
    obb_scene_destroy(a);
    obb_scene_destroy(b);

    struct obb_scene *golden = tick_scene(500, 64);
    tick(golden, 1234.5, "+crate-8:0.1 +door:-7");
    tick(golden, 1235.5, "door:3.25");
    /* Written down once: the same on every CPU and in every build. */
    ck_assert_uint_eq(obb_scene_hash(golden), 0x49ff0794c3429247);
    obb_scene_destroy(golden);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("digest");
    TCase *tc = tcase_create("digest");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, the_content_has_neither_ids_nor_revisions);
    tcase_add_test(tc, the_hash_tells_states_apart_and_not_how_they_came_about);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
