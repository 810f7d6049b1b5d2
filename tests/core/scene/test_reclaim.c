#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>

static bool count_visit(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)version;
    (void)verdict;
    ++*(size_t *)context;
    return true;
}

/* How many boxes the broad phase shows. */
static size_t visible(const struct obb_view *view)
{
    const obb_bounds all = {{-1e9, -1e9, -1e9}, {1e9, 1e9, 1e9}};
    size_t count = 0;
    obb_layers_query(view->layers, view->revision, &all, &count, count_visit);
    return count;
}

static void churn(struct obb_scene *scene, test_rng *rng, size_t commits, size_t *serial)
{
    enum { PER_COMMIT = 20 };
    for (size_t i = 0; i < commits; i++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        obb_put puts[PER_COMMIT];
        obb_target removes[PER_COMMIT];
        char names[PER_COMMIT][24], old[PER_COMMIT][24], data[PER_COMMIT][24];
        for (size_t k = 0; k < PER_COMMIT; k++, ++*serial) {
            /* Names come back after a while, each time as another box; data never does. */
            (void)snprintf(names[k], sizeof names[k], "box-%zu", *serial % 2000);
            (void)snprintf(old[k], sizeof old[k], "box-%zu", (*serial + 1000) % 2000);
            (void)snprintf(data[k], sizeof data[k], "%zu", *serial);
            removes[k] = (obb_target){.name = obb_str_of(old[k])};
            puts[k] = (obb_put){.target = {.name = obb_str_of(names[k])},
                                .parts = OBB_PUT_ALL,
                                .box = {.center = {test_uniform(rng, -99, 99), 0, 0},
                                        .half_extents = {1, 1, 1},
                                        .rotation = {0, 0, 0, 1}},
                                .attributes = {.entity = obb_str_of(*serial % 2 ? "odd" : ""),
                                               .data = obb_str_of(data[k])}};
        }
        const obb_edit edit = {.dimensions = 3,
                               .removes = removes,
                               .remove_count = PER_COMMIT,
                               .puts = puts,
                               .put_count = PER_COMMIT};
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        obb_committed done;
        ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                         OBB_OK);
        if (i % 7 == 0) { /* some are thought better of */
            obb_edit_discard(prepared);
            ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault),
                             OBB_OK);
        }
        obb_edit_commit(prepared, &done);
        obb_arena_fini(&arena);
        if (i % 5 == 0) {
            struct obb_view *view = NULL;
            ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
            obb_view_close(view);
        }
    }
}

START_TEST(memory_does_not_grow_with_the_boxes_that_ever_were)
{
    struct obb_scene *scene = tick_scene(500, 16);
    test_rng rng = {.s = 20261120};
    size_t serial = 0;
    const size_t rounds = test_effort(10);
    churn(scene, &rng, 500, &serial);
    const size_t warm = obb_scene_bytes(scene);
    for (size_t round = 0; round < rounds; round++)
        churn(scene, &rng, 500, &serial);
    ck_assert(obb_scene_validate(scene));
    const size_t late = obb_scene_bytes(scene);
    printf("churn: %zu bytes with 1000 boxes of 10,000 ever made, %zu of %zu\n", warm, late,
           serial);
    ck_assert_uint_ge(serial, 100000);
    ck_assert_uint_le(late, warm + warm / 50);

    /* A view held meanwhile keeps what it needs, and no longer. */
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    churn(scene, &rng, 500, &serial);
    const size_t held = obb_scene_bytes(scene);
    ck_assert_uint_gt(held, late * 2);
    ck_assert_uint_eq(visible(view), 1000);
    obb_view_close(view);
    churn(scene, &rng, 500, &serial);
    ck_assert(obb_scene_validate(scene));
    ck_assert_uint_le(scene->versions.count - scene->versions.free_count, 1000 + 20 * 20 * 2);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reclaim");
    TCase *tc = tcase_create("reclaim");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, memory_does_not_grow_with_the_boxes_that_ever_were);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
