#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

START_TEST(a_view_that_finds_no_memory_is_not_opened)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 1, "+a:1 +b:2");
    tick(scene, 2, "a:3 b:4");
    const obb_at between = at_time(1.5);
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    struct obb_view *view = NULL;
    for (size_t n = 1; st != OBB_OK; n++) {
        fault_arm(n);
        st = obb_view_open(scene, &between, &view, NULL, NULL);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        ck_assert(obb_scene_validate(scene));
    }
    ck_assert_uint_gt(refused, 2); /* the list of interpolated_index, their index, the view */
    ck_assert_str_eq(seen_in(view).text, "1@1.5 a:2 b:3");
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *tc = tcase_create("view");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_view_that_finds_no_memory_is_not_opened);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
