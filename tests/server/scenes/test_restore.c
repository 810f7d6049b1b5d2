#include "server/scenes/restore.h"

#include "tests/server/scenes/journaled.h"

static size_t threads = 2;

static bool restore(srv_restored *out, char *error, size_t error_size)
{
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    if (!srv_sqlite_open(rig.folder, &backend, error, error_size))
        return false;
    const srv_restore_options options = {
        .backend = backend, .path = rig.folder, .threads = threads};
    ck_assert(srv_restore_begin(&options, &r));
    const bool good = srv_restore_end(r, out, error, error_size);
    backend->close(backend);
    return good;
}

static const struct rig_scene *rig_find(uint64_t number)
{
    for (size_t i = 0; i < rig.scene_count; i++)
        if (rig.scenes[i].journaled.number == number)
            return &rig.scenes[i];
    ck_abort_msg("no scene %llu", (unsigned long long)number);
    return NULL;
}

/* What a restore finds is what the rig has. */
static void check_restored(void)
{
    srv_restored restored;
    char error[600];
    ck_assert_msg(restore(&restored, error, sizeof error), "%s", error);
    size_t alive = 0;
    for (size_t i = 0; i < rig.scene_count; i++)
        alive += !rig.scenes[i].gone;
    ck_assert_uint_eq(restored.count, alive);
    ck_assert_uint_eq(restored.last_seq, rig.snapshots.last_seq);
    for (size_t i = 0; i < restored.count; i++) {
        const srv_restored_scene *found = &restored.scenes[i];
        const struct rig_scene *scene = rig_find(found->journaled.number);
        rig_same_scene(scene->journaled.scene, found->journaled.scene);
        ck_assert(found->epoch == scene->epoch);
        ck_assert_uint_eq(found->journaled.first, scene->journaled.first);
        ck_assert_uint_eq(found->journaled.bytes, scene->journaled.bytes);
        ck_assert_uint_eq(found->journaled.snapshot, scene->journaled.snapshot);
        ck_assert_uint_eq(found->journaled.chunks, scene->journaled.chunks);
        ck_assert_uint_eq(found->journaled.size, scene->journaled.size);
        ck_assert_uint_eq(found->commit_count, scene->remembered_count);
        for (size_t c = 0; c < found->commit_count; c++) {
            char id[24];
            (void)snprintf(id, sizeof id, "c%llu", (unsigned long long)scene->remembered[c]);
            ck_assert(obb_str_equal(found->commits[c].id, obb_str_of(id)));
            ck_assert(obb_str_equal(found->commits[c].answer, obb_str_of("what it said")));
            ck_assert_uint_eq(found->commits[c].moment.revision, scene->moments[c].revision);
        }
    }
    srv_restored_fini(&restored);
}

static obb_settings any_settings(size_t i)
{
    return (obb_settings){.dimensions = i % 3 == 0 ? 2 : 3,
                          .history_span = (double)test_below(&rig.rng, 2000),
                          .history_commits = (uint32_t)test_below(&rig.rng, 100)};
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(scenes_of_records_are_restored_as_they_were)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rig_open_new(seed, seed % 2 == 0 ? 5 : 0);
        for (size_t i = 0; i < 5; i++) {
            const obb_settings settings = any_settings(i);
            (void)rig_make(&settings);
        }
        for (size_t n = 0; n < 1500; n++) {
            struct rig_scene *scene = &rig.scenes[test_below(&rig.rng, rig.scene_count)];
            if (!scene->gone)
                (void)rig_step(scene, n % 10 == 0 ? n + 1 : 0);
            if (n == 700)
                rig_remove(&rig.scenes[3]);
            if (n % 100 == 0)
                srv_loop_step(rig.loop, 1);
        }
        rig_wait();
        rig_close();
        threads = 1 + seed % 3;
        check_restored();
        ck_assert_uint_gt(rig.changed, 800);
        ck_assert_uint_gt(rig.unchanged, 20);
        ck_assert_uint_gt(rig.expired, 20);
        rig_end();
    }
    printf("%zu states, %zu boxes, %zu times between\n", compared_states, compared_boxes,
           compared_between);
    ck_assert_uint_gt(compared_states, 300);
    ck_assert_uint_gt(compared_boxes, 3000);
}
END_TEST

START_TEST(scenes_of_snapshots_and_records_are_restored_as_they_were)
{
    size_t made = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rig_open_new(100 + seed, seed % 3 == 0 ? 3 : 0);
        rig.snapshots.least = 20000; /* bytes */
        for (size_t i = 0; i < 4; i++) {
            const obb_settings settings = any_settings(i);
            (void)rig_make(&settings);
        }
        for (size_t n = 0; n < 3000; n++) {
            struct rig_scene *scene = &rig.scenes[test_below(&rig.rng, rig.scene_count)];
            if (!scene->gone)
                (void)rig_step(scene, n % 20 == 0 ? n + 1 : 0);
            if (n == 1500)
                rig_remove(&rig.scenes[2]);
            if (n % 10 == 0)
                srv_loop_step(rig.loop, 0);
            if (n % 500 == 0)
                rig_wait();
        }
        if (seed % 2 == 0)
            rig_wait(); /* else snapshots under way are given up */
        rig_close();
        for (size_t i = 0; i < rig.scene_count; i++)
            made += rig.scenes[i].journaled.snapshot != 0;
        check_restored();
        rig_end();
    }
    printf("%zu states, %zu boxes, %zu times between; %zu scenes had snapshots\n", compared_states,
           compared_boxes, compared_between, made);
    printf("%zu commits of the history\n", compared_commits);
    ck_assert_uint_gt(compared_commits, 300);
    ck_assert_uint_gt(made, 15);
    ck_assert_uint_gt(compared_states, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("restore");
    TCase *tc = tcase_create("restore");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, scenes_of_records_are_restored_as_they_were);
    tcase_add_test(tc, scenes_of_snapshots_and_records_are_restored_as_they_were);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
