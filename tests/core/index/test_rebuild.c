/* Rebuilding layers in phases. */
#include "core/index/layers.h"
#include "core/index/rebuild.h"
#include "tests/support/boxes.h"
#include "tests/support/model_layers.h"
#include "tests/support/test.h"

/* In phases, the chunks of each run backwards. */
static struct obb_layers *rebuilt_backwards(const struct obb_layers *layers, uint64_t revision,
                                            size_t *chunks)
{
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh = NULL;
    obb_status status = obb_rebuild_create(layers, revision, NULL, &rebuild);
    ck_assert_int_eq(status, OBB_OK);
    for (size_t n; (n = obb_rebuild_advance(rebuild, &status)) > 0; *chunks += n)
        for (size_t i = n; i-- > 0;)
            ck_assert_int_eq(obb_rebuild_chunk(rebuild, i), OBB_OK);
    ck_assert_int_eq(status, OBB_OK);
    ck_assert_int_eq(obb_rebuild_take(rebuild, &fresh), OBB_OK);
    obb_rebuild_destroy(rebuild);
    return fresh;
}

START_TEST(chunks_of_a_rebuild_run_in_any_order_and_leave_out_the_dead)
{
    enum { COUNT = 20000, ENDED = 3000 };
    struct boxes_world world;
    struct obb_layers *layers = model_layers_of_scene(&world, BOXES_SIZES, COUNT, 3, NULL);
    const struct obb_version *ended[ENDED];
    for (size_t i = 0; i < ENDED; i++)
        ended[i] = &world.versions[i * 5];
    const uint64_t revision = 1000;
    struct obb_layers *next = NULL, *fresh = NULL;
    ck_assert_int_eq(obb_layers_next(layers, NULL, 0, ended, ENDED, revision, NULL, &next), OBB_OK);
    for (size_t i = 0; i < ENDED; i++)
        atomic_store(&world.versions[i * 5].died, revision);
    ck_assert_int_eq(model_layers_rebuild(next, revision, &fresh), OBB_OK);
    size_t chunks = 0;
    struct obb_layers *other = rebuilt_backwards(next, revision, &chunks);
    ck_assert_uint_gt(chunks, 12);
    ck_assert(obb_layers_validate(fresh, revision) && obb_layers_validate(other, revision));
    ck_assert_uint_eq(obb_layers_entries(fresh), COUNT - ENDED);
    ck_assert_uint_eq(obb_layers_entries(other), COUNT - ENDED);
    const struct obb_index *one = obb_layers_level(fresh, 0), *two = obb_layers_level(other, 0);
    for (size_t i = 0; i < COUNT - ENDED; i++)
        ck_assert_ptr_eq(obb_index_versions(one)[i], obb_index_versions(two)[i]);
    obb_layers_unref(layers);
    obb_layers_unref(next);
    obb_layers_unref(fresh);
    obb_layers_unref(other);
    boxes_world_fini(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rebuild");
    TCase *tc = tcase_create("rebuild");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, chunks_of_a_rebuild_run_in_any_order_and_leave_out_the_dead);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
