#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <string.h>

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
    ck_assert_uint_eq(obb_scene_fingerprint(golden), 0x31b12cfbf8dbc55c);
    obb_scene_destroy(golden);
}
END_TEST

/* A box of which each number is another power of two, so that each bit can be flipped. */
static obb_put plain_put(void)
{
    obb_put put = {.target = {.name = obb_str_of("a")},
                   .parts = OBB_PUT_ALL,
                   .attributes = {.category = 1, .mask = 2, .group = 3}};
    ck_assert_int_eq(obb_box_from_pose((obb_vec3){1, 2, 4}, (obb_vec3){8, 16, 32},
                                       (obb_quat){0.5, 0.5, 0.5, 0.5}, 0, 3, &put.box),
                     OBB_OK);
    return put;
}

static uint64_t fingerprint_of(const obb_put *put)
{
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_edit edit = {.dimensions = 3, .puts = put, .put_count = 1};
    struct obb_prepared *prepared;
    struct obb_arena arena;
    obb_committed committed;
    obb_fault fault;
    obb_arena_init(&arena);
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 9, &arena, &prepared, &fault), OBB_OK);
    const uint64_t told = obb_prepared_fingerprint(prepared, 0);
    obb_edit_commit(prepared, &committed);
    const uint64_t fingerprint = obb_scene_fingerprint(scene);
    ck_assert_uint_eq(told, fingerprint);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
    return fingerprint;
}

START_TEST(a_fingerprint_depends_on_each_bit_and_on_each_pair_of_signs)
{
    const obb_put put = plain_put();
    const uint64_t plain = fingerprint_of(&put);
    double *numbers[7];
    obb_put other = put;
    numbers[0] = &other.box.center.x;
    numbers[1] = &other.box.center.y;
    numbers[2] = &other.box.center.z;
    numbers[3] = &other.box.half_extents.x;
    numbers[4] = &other.box.half_extents.y;
    numbers[5] = &other.box.half_extents.z;
    numbers[6] = &other.box.rotation.x;
    size_t flipped = 0;
    for (size_t i = 0; i < 6; i++)
        for (int bit = 0; bit < 52; bit++, flipped++) {
            other = put;
            uint64_t word;
            memcpy(&word, numbers[i], sizeof word);
            word ^= UINT64_C(1) << bit;
            memcpy(numbers[i], &word, sizeof word);
            ck_assert(fingerprint_of(&other) != plain);
        }
    for (size_t i = 0; i < 3; i++)
        for (size_t k = i + 1; k < 7; k++, flipped++) {
            other = put;
            *numbers[i] = -*numbers[i];
            if (k < 3 || k == 6) /* half extents have no sign */
                *numbers[k] = -*numbers[k];
            ck_assert(fingerprint_of(&other) != plain);
        }
    const obb_attributes attributes[] = {
        {.category = 5, .mask = 2, .group = 3},
        {.category = 1, .mask = 6, .group = 3},
        {.category = 1, .mask = 2, .group = 7},
        {.category = 1, .mask = 2, .group = 3, .entity = obb_str_of("e")},
        {.category = 1, .mask = 2, .group = 3, .data = obb_str_of("1")},
        {.category = 1, .mask = 2, .group = 3, .has_ttl = true, .ttl = 9}};
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++, flipped++) {
        other = put;
        other.attributes = attributes[i];
        ck_assert(fingerprint_of(&other) != plain);
    }
    other = put;
    other.target.name = obb_str_of("b");
    ck_assert(fingerprint_of(&other) != plain);
    ck_assert_uint_eq(flipped, 6 * 52 + 15 + 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("digest");
    TCase *tc = tcase_create("digest");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, the_content_has_neither_ids_nor_revisions);
    tcase_add_test(tc, the_hash_tells_states_apart_and_not_how_they_came_about);
    tcase_add_test(tc, a_fingerprint_depends_on_each_bit_and_on_each_pair_of_signs);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
