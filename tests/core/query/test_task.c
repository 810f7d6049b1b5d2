#include "core/query/task.h"

#include "core/obb.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

START_TEST(the_first_failure_is_kept)
{
    struct obb_task task = {0};
    ck_assert(obb_task_goes_on(&task));
    ck_assert_int_eq(obb_task_fail(&task, OBB_NO_MEMORY), OBB_NO_MEMORY);
    ck_assert_int_eq(obb_task_fail(&task, OBB_CANCELLED), OBB_NO_MEMORY);
    ck_assert(!obb_task_goes_on(&task));
    ck_assert_int_eq(task.status, OBB_NO_MEMORY);
}
END_TEST

START_TEST(a_task_ends_after_its_steps_or_soon_after_it_is_cancelled)
{
    atomic_bool cancel = false;
    struct obb_task counted = {.most_steps = 5}, cancelled = {.cancel = &cancel};
    for (int i = 0; i < 5; i++)
        ck_assert(obb_task_goes_on(&counted));
    ck_assert(!obb_task_goes_on(&counted));
    ck_assert_int_eq(counted.status, OBB_CANCELLED);

    for (int i = 0; i < 1000; i++)
        ck_assert(obb_task_goes_on(&cancelled));
    atomic_store(&cancel, true);
    int steps = 1;
    while (obb_task_goes_on(&cancelled))
        steps++;
    ck_assert_int_le(steps, 64);
    ck_assert_int_eq(cancelled.status, OBB_CANCELLED);
}
END_TEST

START_TEST(a_reference_means_a_stored_box_or_the_one_written_in_its_place)
{
    struct obb_scene *scene = tick_scene(0, 0);
    tick(scene, 0, "+a:1 +b:2");
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const struct obb_task task = {.view = view};
    const obb_box written = {
        .center = {7, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}};
    const struct {
        obb_ref ref;
        double x;
        uint64_t id; /* 0: not a stored box */
    } there[] = {{{.kind = OBB_REF_NAME, .name = obb_str_of("b")}, 2, 2},
                 {{.kind = OBB_REF_ID, .id = 1}, 1, 1},
                 {{.kind = OBB_REF_INLINE, .box = &written}, 7, 0}};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        struct obb_named named;
        obb_answer answer = {0};
        ck_assert(obb_task_resolve(&task, &there[i].ref, &named, &answer));
        ck_assert_uint_eq(answer.missing_count, 0);
        ck_assert_double_eq(named.solid.center.x, there[i].x);
        ck_assert_uint_eq(named.box == NULL ? 0 : named.box->id, there[i].id);
    }
    const obb_ref missing[] = {{.kind = OBB_REF_NAME, .name = obb_str_of("c")},
                               {.kind = OBB_REF_ID, .id = 3}};
    struct obb_named named;
    obb_answer answer = {0};
    for (size_t i = 0; i < 2; i++)
        ck_assert(!obb_task_resolve(&task, &missing[i], &named, &answer));
    ck_assert_uint_eq(answer.missing_count, 2);
    ck_assert(answer.missing[0] == &missing[0] && answer.missing[1] == &missing[1]);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("task");
    TCase *tc = tcase_create("task");
    tcase_add_test(tc, the_first_failure_is_kept);
    tcase_add_test(tc, a_task_ends_after_its_steps_or_soon_after_it_is_cancelled);
    tcase_add_test(tc, a_reference_means_a_stored_box_or_the_one_written_in_its_place);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
