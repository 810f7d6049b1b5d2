#include "core/scene/record.h"

#include "core/obb.h"
#include "core/scene/name.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>
#include <stdlib.h>

struct hashed {
    uint32_t hash;
    int number;
};

static int by_hash(const void *a, const void *b)
{
    const uint32_t x = ((const struct hashed *)a)->hash, y = ((const struct hashed *)b)->hash;
    return (x > y) - (x < y);
}

START_TEST(names_that_hash_alike_are_told_apart)
{
    enum { NUMBERS = 400000, LINKS_HASH = 0x7fffffff }; /* the table leaves out the top bit */
    struct obb_scene *scene = tick_scene(500, 64);
    struct hashed *all = calloc(NUMBERS, sizeof *all);
    ck_assert_ptr_nonnull(all);
    for (int i = 0; i < NUMBERS; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "n%d", i);
        all[i] = (struct hashed){obb_record_hash(scene, obb_str_of(name)) & LINKS_HASH, i};
    }
    qsort(all, NUMBERS, sizeof *all, by_hash);
    size_t pairs = 0;
    for (int i = 0; i + 1 < NUMBERS; i++) {
        if (all[i].hash != all[i + 1].hash)
            continue;
        const int a = all[i].number, b = all[i + 1].number;
        const double time = (double)(6 * ++pairs);
        char line[96], sees[96];
        (void)snprintf(line, sizeof line, "+n%d:1 +n%d:2", a, b);
        tick(scene, time, line);
        (void)snprintf(line, sizeof line, "n%d:3 n%d:4", a, b);
        tick(scene, time + 1, line);
        (void)snprintf(line, sizeof line, "-n%d +n%d:5", a, a);
        tick(scene, time + 2, line);
        (void)snprintf(line, sizeof line, "-n%d", b);
        tick(scene, time + 3, line);
        (void)snprintf(sees, sizeof sees, "%zu@%g n%d:1 n%d:2", pairs * 5 - 4, time, a, b);
        ck_assert_str_eq(seen(scene, at_time(time)).text, sees);
        (void)snprintf(sees, sizeof sees, "%zu@%g n%d:4 n%d:5", pairs * 5 - 2, time + 2, b, a);
        ck_assert_str_eq(seen(scene, at_time(time + 2)).text, sees);
        (void)snprintf(line, sizeof line, "-n%d", a);
        tick(scene, time + 4, line);
        ck_assert(obb_scene_validate(scene));
    }
    printf("%zu pairs of names hash alike\n", pairs);
    ck_assert_uint_gt(pairs, 5); /* 37 are to be expected */
    free(all);
    obb_scene_destroy(scene);
}
END_TEST

/* Commits `count` puts of boxes `first` and so on, whose names have between 1 and 128 bytes. */
static void put_many(struct obb_scene *scene, size_t first, size_t count)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_put *puts = obb_arena_alloc(&arena, count, sizeof *puts);
    char(*names)[OBB_MAX_NAME + 1] = obb_arena_alloc(&arena, count, sizeof *names);
    ck_assert(puts != NULL && names != NULL);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%0*zu", (int)((first + i) % OBB_MAX_NAME) + 1,
                       first + i);
        puts[i] = (obb_put){.target.name = obb_str_of(names[i]),
                            .parts = OBB_PUT_ALL,
                            .box = {.half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}}};
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = count};
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, count, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

static void remove_all_but_one(struct obb_scene *scene)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const size_t count = obb_view_info_get(view)->boxes;
    obb_target *targets = obb_arena_alloc(&arena, count, sizeof *targets);
    ck_assert_ptr_nonnull(targets);
    size_t found = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        targets[found++] = (obb_target){.id = obb_view_id(box), .has_id = true};
    ck_assert_uint_eq(found, count);
    obb_view_close(view);
    const obb_edit edit = {.dimensions = 3, .removes = targets, .remove_count = count - 1};
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 0, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

START_TEST(records_that_share_blocks_are_counted_until_the_last_one_goes)
{
    enum { MANY = 5000, NAME_BYTES = 64 };      /* about, on average */
    struct obb_scene *scene = tick_scene(0, 1); /* no history */
    put_many(scene, 0, MANY);
    ck_assert(obb_scene_validate(scene));
    const size_t together = scene->record_bytes;
    ck_assert_uint_ge(together, MANY * (size_t)(NAME_BYTES + 32));
    ck_assert_uint_le(together, MANY * (size_t)(NAME_BYTES + 64));
    put_many(scene, MANY, 10); /* few: each has a block of its own */
    size_t alone = 0;
    for (size_t i = MANY; i < MANY + 10; i++)
        alone += obb_record_bytes(i % OBB_MAX_NAME + 1);
    ck_assert_uint_eq(scene->record_bytes, together + alone);
    remove_all_but_one(scene); /* the last box is one of the ten */
    for (int i = 0; i < 60; i++)
        put_many(scene, MANY + 9, 1); /* each commit reclaims some */
    ck_assert_uint_eq(scene->record_bytes, obb_record_bytes((MANY + 9) % OBB_MAX_NAME + 1));
    ck_assert(obb_scene_validate(scene));
    put_many(scene, 0, MANY); /* the same boxes again */
    ck_assert_uint_gt(scene->record_bytes, MANY * (size_t)(NAME_BYTES + 32));
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tc = tcase_create("record");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, names_that_hash_alike_are_told_apart);
    tcase_add_test(tc, records_that_share_blocks_are_counted_until_the_last_one_goes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
