#include "server/scenes/restore.h"

#include "server/data.h"
#include "tests/server/scenes/journaled.h"
#include "tests/support/fault.h"

static size_t threads = 2;
static bool takes_over; /* the next restore writes which scenes were replaced */
static size_t scene_memory;

static bool restore(srv_restored *out, char *error, size_t error_size)
{
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    if (!srv_sqlite_open(rig.folder, &backend, error, error_size))
        return false;
    const srv_restore_options options = {.backend = backend,
                                         .path = rig.folder,
                                         .threads = threads,
                                         .scene_memory = scene_memory,
                                         .takes_over = takes_over};
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

/* What a restore finds is what the rig has, beside so many scenes that copies have replaced. */
static void check_restored_beside(size_t replaced)
{
    srv_restored restored;
    char error[600];
    ck_assert_msg(restore(&restored, error, sizeof error), "%s", error);
    size_t alive = 0;
    for (size_t i = 0; i < rig.scene_count; i++)
        alive += !rig.scenes[i].gone;
    ck_assert_uint_eq(restored.count, alive);
    ck_assert_uint_eq(restored.replaced, replaced);
    rig.snapshots.last_seq += takes_over ? replaced : 0;
    ck_assert_uint_eq(restored.last_seq, rig.snapshots.last_seq);
    size_t boxes = 0;
    for (size_t i = 0; i < restored.count; i++) {
        const srv_restored_scene *found = &restored.scenes[i];
        const struct rig_scene *scene = rig_find(found->journaled.number);
        rig_same_scene(scene->journaled.scene, found->journaled.scene);
        obb_scene_info info;
        obb_scene_info_without_bounds(scene->journaled.scene, &info);
        boxes += info.boxes + info.frames;
        ck_assert(found->epoch == scene->epoch);
        ck_assert(wire_record_id_equal(found->journaled.newest, scene->journaled.newest));
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
    ck_assert_uint_eq(restored.boxes, boxes);
    srv_restored_fini(&restored);
}

static void check_restored(void) { check_restored_beside(0); }

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

/* Each is at most as large as the limit, or has one state. The newest states are as they were. */
START_TEST(scenes_beyond_the_limit_of_bytes_forget_their_oldest_states)
{
    static const obb_settings settings = {
        .dimensions = 3, .history_span = 1e9, .history_commits = 1000};
    size_t forgot = 0, kept = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        rig_open_new(200 + seed, 0);
        rig.snapshots.least = seed == 1 ? 0 : 20000; /* bytes */
        for (size_t i = 0; i < 4; i++) {
            struct rig_scene *scene = rig_make(&settings);
            for (size_t n = i * i * 60 + 1; n > 0; n--) {
                (void)rig_step(scene, 0);
                srv_loop_step(rig.loop, 0);
            }
        }
        rig_wait();
        rig_close();
        srv_restored restored;
        char error[600];
        const size_t limit = obb_scene_bytes(rig.scenes[3].journaled.scene) / 2;
        scene_memory = limit;
        ck_assert_msg(restore(&restored, error, sizeof error), "%s", error);
        scene_memory = 0;
        ck_assert_uint_eq(restored.count, 4);
        for (size_t i = 0; i < restored.count; i++) {
            struct obb_scene *found = restored.scenes[i].journaled.scene;
            struct obb_scene *was = rig_find(restored.scenes[i].journaled.number)->journaled.scene;
            obb_scene_info now, then;
            obb_scene_info_without_bounds(found, &now);
            obb_scene_info_without_bounds(was, &then);
            ck_assert(obb_scene_bytes(found) <= limit || now.oldest.revision == now.now.revision);
            ck_assert_uint_eq(obb_scene_hash(found), obb_scene_hash(was));
            ck_assert_uint_ge(now.oldest.revision, then.oldest.revision);
            forgot += now.oldest.revision > then.oldest.revision;
            kept += now.oldest.revision == then.oldest.revision;
        }
        srv_restored_fini(&restored);
        rig_end();
    }
    printf("%zu scenes forgot states, %zu did not\n", forgot, kept);
    ck_assert(forgot >= 2 && kept >= 2);
}
END_TEST

static void on_sealed(void *context, srv_journal_status status)
{
    struct rig_scene *copy = context;
    ck_assert_int_eq(status, SRV_JOURNAL_OK);
    srv_snapshots_add(&rig.snapshots, &copy->journaled);
}

static void on_copied(void *context, srv_journal_status status)
{
    struct rig_scene *copy = context;
    ck_assert_int_eq(status, SRV_JOURNAL_OK);
    ck_assert(srv_snapshot_seal(&copy->journaled, 0, NULL, on_sealed, copy));
}

/* Puts a copy of `from` in the place of `to`, and does not write that `to` is gone. */
static struct rig_scene *replace_by_copy(struct rig_scene *to, const struct rig_scene *from)
{
    struct obb_view *view = NULL;
    struct obb_scene *dead = NULL;
    struct rig_scene *copy = &rig.scenes[rig.scene_count++];
    *copy = (struct rig_scene){.dimensions = from->dimensions, .epoch = test_random(&rig.rng)};
    memcpy(copy->name, to->name, sizeof copy->name);
    ck_assert_int_eq(obb_view_open(from->journaled.scene, NULL, &view, NULL, NULL), OBB_OK);
    obb_copy of = obb_copy_of(view, obb_str_of(copy->name), 0);
    of.epoch = copy->epoch;
    ck_assert_int_eq(obb_scene_copy(&of, NULL, NULL, &copy->journaled.scene), OBB_OK);
    obb_view_close(view);
    copy->journaled.number = srv_journal_number(rig.journal);
    ck_assert(srv_snapshot_make(&rig.snapshots, &copy->journaled, on_copied, copy));
    rig_wait();
    srv_snapshots_remove(&rig.snapshots, &to->journaled);
    rig_wait();
    to->gone = true;
    ck_assert_int_eq(obb_store_remove(rig.store, obb_str_of(to->name), &dead), OBB_OK);
    obb_scene_destroy(dead);
    to->journaled.scene = NULL;
    ck_assert_int_eq(obb_store_adopt(rig.store, copy->journaled.scene, copy->epoch), OBB_OK);
    return copy;
}

static void step_often(struct rig_scene *scene)
{
    for (size_t n = 0; n < 200; n++)
        (void)rig_step(scene, 0);
    rig_wait();
}

/* Lets the back end tidy up, as a journal does that takes over the folder. */
static void tidy_up(void)
{
    char error[600];
    static const struct srv_backend_visitor nobody;
    struct srv_journal_figures figures = {0};
    struct srv_backend *backend = NULL;
    ck_assert_msg(srv_sqlite_open(rig.folder, &backend, error, sizeof error), "%s", error);
    ck_assert_msg(srv_sqlite_load(backend, &nobody, error, sizeof error), "%s", error);
    backend->figures = &figures;
    while (backend->tidy(backend, 0))
        ;
    backend->close(backend);
}

/* Returns the place of the last record in the log, which may be forgotten. */
static uint64_t last_record(void)
{
    return (uint64_t)rig_ask("select max(coalesce((select max(seq) from record), 0), "
                             "coalesce((select seq - 1 from edge), 0))");
}

START_TEST(of_scenes_with_one_name_the_last_one_counts)
{
    size_t snapshots = 0;
    for (uint64_t turn = 0; turn < 4; turn++) {
        rig_open_new(300 + turn, 0);
        rig.snapshots.least =
            turn % 2 == 0 ? 5000 : 0; /* replaced scenes have snapshots, or none */
        for (size_t i = 0; i < 4; i++) {
            const obb_settings settings = any_settings(1);
            step_often(rig_make(&settings));
        }
        struct rig_scene *copy = replace_by_copy(&rig.scenes[1], &rig.scenes[2]);
        size_t replaced = 1;
        if (turn >= 2) { /* once more, and another one by a copy of itself */
            (void)replace_by_copy(copy, &rig.scenes[0]);
            (void)replace_by_copy(&rig.scenes[3], &rig.scenes[3]);
            replaced = 3;
        }
        const uint64_t records = rig.snapshots.last_seq;
        rig_close();
        threads = 1 + turn % 3;
        char line[600], says[100];
        (void)snprintf(says, sizeof says, "; the next start removes %zu scenes", replaced);
        ck_assert(srv_data_check(rig.folder, threads, line, sizeof line));
        ck_assert_msg(strstr(line, " is whole: 4 scenes, ") != NULL && strstr(line, says) != NULL,
                      "%s", line);
        check_restored_beside(replaced); /* looking writes nothing */
        ck_assert_uint_eq(last_record(), records);
        takes_over = true;
        check_restored_beside(replaced);
        ck_assert_uint_eq(last_record(), records + replaced);
        snapshots += (size_t)rig_ask("select count(*) from snapshot where scene in (2, 4)");
        tidy_up();
        takes_over = false;
        check_restored();
        ck_assert(srv_data_check(rig.folder, threads, line, sizeof line));
        ck_assert_msg(strstr(line, "; ") == NULL, "%s", line);
        size_t kept = 0, chunks = 0;
        for (size_t i = 0; i < rig.scene_count; i++)
            if (!rig.scenes[i].gone) {
                kept += rig.scenes[i].journaled.snapshot != 0;
                chunks += (size_t)rig.scenes[i].journaled.chunks;
            }
        ck_assert_int_eq(rig_ask("select count(*) from snapshot"), (int64_t)kept);
        ck_assert_int_eq(rig_ask("select count(*) from chunk"), (int64_t)chunks);
        rig_end();
    }
    printf("%zu replaced scenes had a snapshot\n", snapshots);
    ck_assert_uint_gt(snapshots, 1);
}
END_TEST

/* Lets a loader take a record of the scene "s", and returns what it says. */
static const char *load(struct srv_scene_loader *loader, wire_record record)
{
    struct wire_buf bytes = {0};
    record.name = obb_str_of(record.kind == WIRE_RECORD_MADE ? "s" : "");
    wire_record_write(&record, 3, &bytes);
    const bool good = srv_scene_loader_record(
        loader, ++rig.counter, (obb_str){.bytes = bytes.bytes, .length = bytes.length});
    wire_buf_fini(&bytes);
    return good ? "good" : loader->error;
}

/* A record between two others is missing. */
START_TEST(each_record_comes_behind_the_one_that_it_names)
{
    struct srv_scene_loader loader;
    wire_record made = {.kind = WIRE_RECORD_MADE,
                        .id = {7, 1},
                        .effects = {.has_settings = true, .settings = any_settings(1)}};
    made.effects.settings.dimensions = 3;
    wire_record commit = {.kind = WIRE_RECORD_COMMIT,
                          .id = {7, 2},
                          .base = {7, 1},
                          .effects = {.moment = {.time = 1}, .time_stated = true, .next_id = 1}};
    rig = (struct rig){.rng = {500}};
    srv_scene_loader_init(&loader, 3, NULL);
    ck_assert_str_eq(load(&loader, made), "good");
    ck_assert_str_eq(load(&loader, commit), "good");
    commit.id = (wire_record_id){8, 1}; /* of another process */
    commit.base = (wire_record_id){7, 2};
    ck_assert_str_eq(load(&loader, commit), "good");
    commit.id = (wire_record_id){8, 2}; /* names none, as in older versions */
    commit.base = (wire_record_id){0};
    ck_assert_str_eq(load(&loader, commit), "good");
    commit.id = (wire_record_id){8, 4};
    commit.base = (wire_record_id){8, 3};
    ck_assert_str_eq(load(&loader, commit), "scene \"s\", record 5: it is damaged");
    srv_scene_loader_fini(&loader);
}
END_TEST

/* Restores while the n-th allocation fails. Returns whether it was reached. */
static bool restore_with_failure(size_t n, size_t *refused)
{
    srv_restored restored = {.scenes = NULL};
    char error[600] = "";
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    fault_arm(n);
    bool good = srv_sqlite_open(rig.folder, &backend, error, sizeof error);
    if (good) {
        const srv_restore_options options = {
            .backend = backend, .path = rig.folder, .threads = threads, .takes_over = takes_over};
        good = srv_restore_begin(&options, &r);
        if (!good)
            (void)snprintf(error, sizeof error, "there is not enough memory");
        good = good && srv_restore_end(r, &restored, error, sizeof error);
        backend->close(backend);
    }
    const bool reached = fault_seen() >= n;
    fault_arm(0);
    ck_assert_msg(reached || good, "%s", error);
    if (!good) { /* one line that says so */
        ck_assert_msg(strstr(error, "memory") != NULL || strstr(error, "cannot be written") != NULL,
                      "%s", error);
        ck_assert_ptr_null(strchr(error, '\n'));
        ck_assert(restored.scenes == NULL && restored.count == 0);
        ++*refused;
    }
    if (good)
        ck_assert_uint_eq(restored.count, 2);
    srv_restored_fini(&restored);
    return reached;
}

START_TEST(each_failing_allocation_of_a_restore_is_met)
{
    size_t n = 1, refused = 0;
    rig_open_new(400, 0);
    rig.snapshots.least = 1000;
    const obb_settings settings = any_settings(1);
    for (size_t i = 0; i < 2; i++) {
        struct rig_scene *scene = rig_make(&settings);
        for (size_t k = 0; k < 8; k++)
            (void)rig_step(scene, k % 3 == 0 ? k + 1 : 0);
        rig_wait();
    }
    rig.snapshots.least = 1 << 30;
    (void)replace_by_copy(&rig.scenes[0], &rig.scenes[1]);
    (void)rig_step(&rig.scenes[1], 77);
    rig_close();
    ck_assert_int_gt(rig_ask("select count(*) from snapshot"), 1);
    threads = 1;
    while (restore_with_failure(n, &refused))
        n++;
    check_restored_beside(1); /* nothing was lost */
    takes_over = true;
    for (n = 1; restore_with_failure(n, &refused) && n < 10000; n++)
        ;
    takes_over = false;
    rig.snapshots.last_seq++; /* the end of the replaced scene */
    check_restored();
    printf("%zu allocations, %zu refusals\n", n - 1, refused);
    ck_assert_uint_gt(refused, n);
    rig_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("restore");
    TCase *tc = tcase_create("restore");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, scenes_of_records_are_restored_as_they_were);
    tcase_add_test(tc, scenes_of_snapshots_and_records_are_restored_as_they_were);
    tcase_add_test(tc, scenes_beyond_the_limit_of_bytes_forget_their_oldest_states);
    tcase_add_test(tc, of_scenes_with_one_name_the_last_one_counts);
    tcase_add_test(tc, each_record_comes_behind_the_one_that_it_names);
    tcase_add_test(tc, each_failing_allocation_of_a_restore_is_met);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
