#include "core/scene/record.h"

#include "core/obb.h"
#include "core/scene/scene_check.h"
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

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tc = tcase_create("record");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, names_that_hash_alike_are_told_apart);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
