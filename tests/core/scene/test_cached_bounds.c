#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

static obb_bounds slow_bounds(const struct obb_view *view)
{
    obb_bounds bounds = {{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}};
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box))) {
        const obb_solid solid = obb_view_solid(view, box);
        const obb_bounds b = obb_solid_bounds(&solid);
        bounds = (obb_bounds){obb_min(bounds.min, b.min), obb_max(bounds.max, b.max)};
    }
    return bounds;
}

START_TEST(a_scene_s_bounds_are_those_of_its_boxes)
{
    struct obb_scene *scene = tick_scene(0, 0);
    obb_scene_info info;
    obb_scene_info_get(scene, &info);
    ck_assert(!info.has_bounds && info.boxes == 0);
    test_rng rng = {.s = 20261120};
    size_t shrank = 0, grew = 0, kept = 0, empty = 0;
    for (int i = 0; i < 2000; i++) {
        const obb_bounds before = info.bounds;
        const bool had_bounds = info.has_bounds;
        char line[64];
        const int box = (int)test_below(&rng, 12);
        if (test_below(&rng, 2) == 0) /* far out now and then */
            (void)snprintf(line, sizeof line, "+b%d:%d", box,
                           (int)test_below(&rng, test_below(&rng, 4) == 0 ? 1000 : 10));
        else
            (void)snprintf(line, sizeof line, "-b%d", box);
        tick(scene, i, line);
        if (i % 3 == 0)
            continue; /* what happens between two questions adds up */
        obb_scene_info_get(scene, &info);
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
        const obb_bounds slow = slow_bounds(view);
        obb_view_close(view);
        ck_assert_int_eq(info.has_bounds, info.boxes > 0);
        empty += info.boxes == 0;
        if (!info.has_bounds)
            continue;
        ck_assert_double_eq(info.bounds.min.x, slow.min.x);
        ck_assert_double_eq(info.bounds.max.x, slow.max.x);
        ck_assert_double_eq(info.bounds.min.y, slow.min.y);
        ck_assert_double_eq(info.bounds.max.z, slow.max.z);
        if (had_bounds) {
            grew += info.bounds.max.x > before.max.x;
            shrank += info.bounds.max.x < before.max.x;
            kept += info.bounds.max.x == before.max.x;
        }
    }
    ck_assert(grew > 100 && shrank > 100 && kept > 100);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cached_bounds");
    TCase *tc = tcase_create("cached_bounds");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_scene_s_bounds_are_those_of_its_boxes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
