#include "server/journal/backup.h"

#include "tests/server/journal/faulty_vfs.h"
#include "tests/server/scenes/journaled.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static char target[64], file[100], line[600];
static size_t compared;

static void setup(void)
{
    (void)snprintf(target, sizeof target, "%s/obbd-backup-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(target));
    (void)snprintf(file, sizeof file, "%s/journal.db", target);
}

/* Removes all that is in the folder of the copies. Returns how many files there were. */
static size_t empty(void)
{
    DIR *dir = opendir(target);
    size_t files = 0;
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", target, entry->d_name);
        files += unlink(path) == 0;
    }
    closedir(dir);
    return files;
}

static void teardown(void)
{
    (void)empty();
    (void)rmdir(target);
}

static const obb_settings space = {.dimensions = 3, .history_span = 1e6, .history_commits = 20};

/* The boxes of the state are the same. Commits that the copy does not have may have moved the time
 * of the state on. */
static void same_state(struct obb_scene *now, struct obb_scene *copied, uint64_t revision)
{
    const obb_at at = {.kind = OBB_AT_REVISION, .revision = revision};
    struct obb_view *x = NULL, *y = NULL;
    ck_assert_int_eq(obb_view_open(now, &at, &x, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_view_open(copied, &at, &y, NULL, NULL), OBB_OK);
    ck_assert_double_ge(obb_view_info_get(x)->at.time, obb_view_info_get(y)->at.time);
    ck_assert_uint_eq(obb_view_info_get(x)->boxes, obb_view_info_get(y)->boxes);
    const struct obb_version *p = obb_view_next(x, 0), *q = obb_view_next(y, 0);
    for (; p != NULL && q != NULL;
         p = obb_view_next(x, obb_view_id(p)), q = obb_view_next(y, obb_view_id(q))) {
        ck_assert_uint_eq(obb_view_id(p), obb_view_id(q));
        rig_same_box(x, p, y, q);
    }
    ck_assert(p == NULL && q == NULL);
    obb_view_close(x);
    obb_view_close(y);
}

/* Restores the copy, compares the state of each scene with the rig's at the same revision, and
 * returns the sum of the revisions. */
static uint64_t check_copy(void)
{
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    srv_restored restored;
    char error[600];
    struct stat found;
    ck_assert_int_eq(stat(file, &found), 0);
    ck_assert_uint_eq(found.st_mode & 0777, 0600);
    ck_assert_msg(srv_sqlite_open(target, &backend, error, sizeof error), "%s", error);
    const srv_restore_options options = {.backend = backend, .path = target, .threads = 1};
    ck_assert(srv_restore_begin(&options, &r));
    ck_assert_msg(srv_restore_end(r, &restored, error, sizeof error), "%s", error);
    backend->close(backend);
    uint64_t sum = 0;
    for (size_t i = 0; i < restored.count; i++) {
        obb_scene_info info;
        obb_scene_info_without_bounds(restored.scenes[i].journaled.scene, &info);
        sum += info.now.revision;
        for (size_t k = 0; k < rig.scene_count; k++)
            if (rig.scenes[k].journaled.number == restored.scenes[i].journaled.number) {
                obb_scene_info now;
                obb_scene_info_without_bounds(rig.scenes[k].journaled.scene, &now);
                if (info.now.revision < now.oldest.revision)
                    continue; /* commits that are not durable have pushed it out of the history */
                same_state(rig.scenes[k].journaled.scene, restored.scenes[i].journaled.scene,
                           info.now.revision);
                compared++;
            }
    }
    ck_assert_uint_eq(restored.count, rig.scene_count);
    srv_restored_fini(&restored);
    return sum;
}

/* The sum of the revisions that are durable. */
static uint64_t durable(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < rig.scene_count; i++) {
        obb_scene_info info;
        obb_scene_info_without_bounds(rig.scenes[i].journaled.scene, &info);
        sum += info.now.revision - (info.now.revision < rig.scenes[i].in_journal
                                        ? info.now.revision
                                        : rig.scenes[i].in_journal);
    }
    return sum;
}

START_TEST(a_copy_made_while_commits_are_written_holds_what_was_durable)
{
    size_t copies = 0, behind = 0;
    rig_open_new(11, 0);
    for (size_t i = 0; i < 3; i++)
        (void)rig_make(&space);
    rig_wait();
    rig.snapshots.least = 200000;
    for (size_t n = 0; n < 24000; n++) {
        (void)rig_step(&rig.scenes[test_below(&rig.rng, 3)], 0);
        if (n % 50 == 0)
            srv_loop_step(rig.loop, 0);
        if (n % 1000 != 999)
            continue;
        /* the journal's thread has work meanwhile */
        const uint64_t before = durable();
        ck_assert_msg(srv_backup(rig.folder, file, line, sizeof line), "%s", line);
        const uint64_t copied = check_copy();
        ck_assert_uint_ge(copied, before);
        behind += copied > before;
        copies++;
        (void)empty();
    }
    rig_wait();
    rig_close();
    /* of a folder that nobody uses */
    ck_assert_msg(srv_backup(rig.folder, file, line, sizeof line), "%s", line);
    ck_assert_ptr_nonnull(strstr(line, " is a copy of "));
    for (size_t i = 0; i < 3; i++)
        rig.scenes[i].in_journal = 0;
    ck_assert_uint_eq(check_copy(), durable());
    printf("%zu copies, %zu with commits that were not answered yet; %zu scenes compared\n", copies,
           behind, compared);
    ck_assert_uint_gt(compared, 20);
    ck_assert_uint_ge(copies, 20);
    rig_end();
}
END_TEST

START_TEST(while_a_copy_is_made_commits_go_on_and_the_log_grows)
{
    char path[120];
    struct stat log;
    rig_open_new(12, 0);
    struct rig_scene *scene = rig_make(&space);
    rig_wait();
    const int lock = open(rig.folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(lock, 0);
    ck_assert_int_eq(flock(lock, LOCK_SH), 0); /* as a backup does */
    for (size_t n = 0; n < 30000; n++) {
        (void)rig_step(scene, 0);
        if (n % 100 == 0)
            rig_wait();
    }
    rig_wait();
    (void)snprintf(path, sizeof path, "%s/journal.db-wal", rig.folder);
    ck_assert_int_eq(stat(path, &log), 0);
    printf("%lld bytes in the log\n", (long long)log.st_size);
    ck_assert_int_gt(log.st_size, 6 << 20);
    rig_close(); /* which leaves the log as it is */
    ck_assert_int_eq(stat(path, &log), 0);
    close(lock);
    ck_assert_msg(srv_backup(rig.folder, file, line, sizeof line), "%s", line);
    ck_assert_uint_eq(check_copy(), durable());
    rig_end();
}
END_TEST

/* The copy has a write-ahead log beside it, which is put into the file at the end. */
START_TEST(each_failing_call_is_said_or_the_copy_is_whole)
{
    static const size_t least[FAULTY_CALLS] = {
        [FAULTY_WRITE] = 10, [FAULTY_SYNC] = 1, [FAULTY_TRUNCATE] = 1};
    rig_open_new(15, 0);
    struct rig_scene *scene = rig_make(&space);
    rig_wait();
    const int lock = open(rig.folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(lock, 0);
    ck_assert_int_eq(flock(lock, LOCK_SH), 0);
    for (size_t n = 0; n < 400; n++)
        (void)rig_step(scene, 0);
    rig_wait();
    rig_close(); /* which leaves the log as it is */
    close(lock);
    faulty_begin();
    for (enum faulty_call call = FAULTY_WRITE; call < FAULTY_CALLS; call++) {
        size_t n = 0, told = 0;
        do {
            faulty_arm(call, ++n, 1, SQLITE_FULL);
            const bool good = srv_backup(rig.folder, file, line, sizeof line);
            faulty.fails_at = 0;
            told += !good;
            ck_assert_ptr_null(strchr(line, '\n'));
            if (good)
                ck_assert_uint_eq(check_copy(), durable());
            const size_t files = empty();
            ck_assert(good || files == 0);
        } while (faulty.seen >= n);
        printf("%zu calls failed in turn, %zu copies failed\n", n - 1, told);
        ck_assert_uint_ge(told, least[call]);
    }
    faulty_end();
    rig_end();
}
END_TEST

START_TEST(what_cannot_be_copied_is_said_in_one_line_and_leaves_nothing)
{
    char at[200];
    rig_open_new(13, 0);
    (void)rig_make(&space);
    rig_wait();
    rig_close();
    ck_assert(!srv_backup("/nobody/home", file, line, sizeof line));
    ck_assert_str_eq(line, "--backup /nobody/home: No such file or directory");
    ck_assert(!srv_backup(target, file, line, sizeof line));
    (void)snprintf(at, sizeof at, "--backup %s/journal.db: No such file or directory", target);
    ck_assert_str_eq(line, at);
    ck_assert(!srv_backup(rig.folder, "/nobody/home/x", line, sizeof line));
    ck_assert_str_eq(line, "--backup /nobody/home/x.part: No such file or directory");
    ck_assert(!srv_backup(rig.folder, rig.folder, line, sizeof line));
    (void)snprintf(at, sizeof at, "--backup %s: File exists", rig.folder);
    ck_assert_str_eq(line, at);
    ck_assert_uint_eq(empty(), 0);
    /* a damaged database */
    (void)snprintf(at, sizeof at, "%s/journal.db", rig.folder);
    FILE *db = fopen(at, "r+");
    ck_assert_ptr_nonnull(db);
    ck_assert_int_eq(fseek(db, 3000, SEEK_SET), 0);
    for (int i = 0; i < 9000; i++)
        (void)fputc(i, db);
    (void)fclose(db);
    ck_assert(!srv_backup(rig.folder, file, line, sizeof line));
    ck_assert_ptr_null(strchr(line, '\n'));
    ck_assert_uint_eq(empty(), 0);
    rig_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backup");
    TCase *tc = tcase_create("backup");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_copy_made_while_commits_are_written_holds_what_was_durable);
    tcase_add_test(tc, while_a_copy_is_made_commits_go_on_and_the_log_grows);
    tcase_add_test(tc, each_failing_call_is_said_or_the_copy_is_whole);
    tcase_add_test(tc, what_cannot_be_copied_is_said_in_one_line_and_leaves_nothing);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
