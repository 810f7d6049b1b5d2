/* The power fails: all that was written and not synced is gone. What was answered by then is there,
 * or, with sync_ms, what the syncs so far had to cover. */
#include "server/scenes/restore.h"

#include "tests/server/scenes/journaled.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- A disk that forgets what was not synced ------------------------------------------------- */

enum { FILES = 2 };

/* What is safe of one file: its bytes at the last sync. */
struct platter {
    const char *suffix;
    char *bytes; /* owned */
    size_t size, room;
};

static struct {
    sqlite3_vfs vfs, *below;
    pthread_mutex_t lock;
    /* Under the lock. */
    struct platter platters[FILES];
    bool cut;     /* no sync counts any more */
    size_t syncs; /* of the write-ahead log */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .platters = {{.suffix = "journal.db"}, {.suffix = "journal.db-wal"}}};

struct disk_file {
    sqlite3_file file; /* first */
    sqlite3_file *below;
    struct platter *platter; /* NULL: of no interest */
};

static sqlite3_file *below(sqlite3_file *file) { return ((struct disk_file *)file)->below; }

static int disk_close(sqlite3_file *file)
{
    const int result = below(file)->pMethods->xClose(below(file));
    sqlite3_free(below(file));
    return result;
}

static int disk_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    return below(file)->pMethods->xRead(below(file), out, n, at);
}

static int disk_write(sqlite3_file *file, const void *in, int n, sqlite3_int64 at)
{
    return below(file)->pMethods->xWrite(below(file), in, n, at);
}

static int disk_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return below(file)->pMethods->xTruncate(below(file), size);
}

/* Copies the whole file: what it holds now is safe. */
static int keep(struct disk_file *f)
{
    sqlite3_int64 size = 0;
    struct platter *p = f->platter;
    int result = f->below->pMethods->xFileSize(f->below, &size);
    if (result != SQLITE_OK)
        return result;
    if ((size_t)size > p->room) {
        free(p->bytes);
        p->room = 2 * (size_t)size;
        p->bytes = malloc(p->room);
    }
    p->size = p->bytes != NULL ? (size_t)size : 0;
    if (p->size > 0)
        result = f->below->pMethods->xRead(f->below, p->bytes, (int)size, 0);
    return result;
}

static int disk_sync(sqlite3_file *file, int flags)
{
    struct disk_file *f = (struct disk_file *)file;
    (void)flags; /* the sync itself is left out, so that many can be tried */
    int result = SQLITE_OK;
    (void)pthread_mutex_lock(&disk.lock);
    if (!disk.cut && f->platter != NULL) {
        result = keep(f);
        disk.syncs += f->platter == &disk.platters[1];
    }
    (void)pthread_mutex_unlock(&disk.lock);
    return result;
}

static int disk_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return below(file)->pMethods->xFileSize(below(file), out);
}

static int disk_lock(sqlite3_file *file, int lock)
{
    return below(file)->pMethods->xLock(below(file), lock);
}

static int disk_unlock(sqlite3_file *file, int lock)
{
    return below(file)->pMethods->xUnlock(below(file), lock);
}

static int disk_reserved(sqlite3_file *file, int *out)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), out);
}

static int disk_control(sqlite3_file *file, int what, void *argument)
{
    return below(file)->pMethods->xFileControl(below(file), what, argument);
}

static int disk_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int disk_traits(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

/* Version 1: without shared memory, which an exclusive connection does not need. */
static const sqlite3_io_methods disk_methods = {.iVersion = 1,
                                                .xClose = disk_close,
                                                .xRead = disk_read,
                                                .xWrite = disk_write,
                                                .xTruncate = disk_truncate,
                                                .xSync = disk_sync,
                                                .xFileSize = disk_size,
                                                .xLock = disk_lock,
                                                .xUnlock = disk_unlock,
                                                .xCheckReservedLock = disk_reserved,
                                                .xFileControl = disk_control,
                                                .xSectorSize = disk_sector,
                                                .xDeviceCharacteristics = disk_traits};

static bool ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text), end = strlen(suffix);
    return length >= end && strcmp(text + length - end, suffix) == 0;
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct disk_file *f = (struct disk_file *)file;
    (void)vfs;
    *f = (struct disk_file){.below = sqlite3_malloc(disk.below->szOsFile)};
    if (f->below == NULL)
        return SQLITE_NOMEM;
    memset(f->below, 0, (size_t)disk.below->szOsFile);
    const int result = disk.below->xOpen(disk.below, name, f->below, flags, out);
    if (result != SQLITE_OK) {
        sqlite3_free(f->below);
        return result;
    }
    f->file.pMethods = &disk_methods;
    for (size_t i = 0; i < FILES && name != NULL; i++)
        if (ends_with(name, disk.platters[i].suffix))
            f->platter = &disk.platters[i];
    return SQLITE_OK;
}

/* Makes the disk SQLite's default one. */
static void disk_begin(void)
{
    disk.below = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.below;
    disk.vfs.szOsFile = (int)sizeof(struct disk_file);
    disk.vfs.zName = "disk";
    disk.vfs.pNext = NULL;
    disk.vfs.xOpen = disk_open;
    disk.cut = false;
    disk.syncs = 0;
    for (size_t i = 0; i < FILES; i++)
        disk.platters[i].size = 0;
    ck_assert_int_eq(sqlite3_vfs_register(&disk.vfs, 1), SQLITE_OK);
}

static void cut_the_power(void)
{
    (void)pthread_mutex_lock(&disk.lock);
    disk.cut = true;
    (void)pthread_mutex_unlock(&disk.lock);
}

static size_t syncs(void)
{
    (void)pthread_mutex_lock(&disk.lock);
    const size_t count = disk.syncs;
    (void)pthread_mutex_unlock(&disk.lock);
    return count;
}

/* Puts into the folder what was safe when the power was cut, and takes the disk away. */
static void disk_end(void)
{
    ck_assert(disk.cut);
    ck_assert_int_eq(sqlite3_vfs_unregister(&disk.vfs), SQLITE_OK);
    for (size_t i = 0; i < FILES; i++) {
        char path[160];
        struct platter *p = &disk.platters[i];
        (void)snprintf(path, sizeof path, "%s/%s", rig.folder, p->suffix);
        (void)unlink(path);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fwrite(p->bytes, 1, p->size, file), p->size);
        ck_assert_int_eq(fclose(file), 0);
        free(p->bytes);
        p->bytes = NULL;
        p->size = p->room = 0;
    }
}

/* ---- Scenes on it ---------------------------------------------------------------------------- */

enum {
    SCENES = 3,
    MOST = 4000,
    AHEAD = 500 /* commits that are sent before they are answered, at most */
};

static size_t sent, answers, cut_at; /* the power fails at that answer; 0: at none */
static bool ahead;                   /* or later, when an answer has come ahead of its sync */
static bool was_cut;
static uint64_t answered[SCENES]; /* the last revision of each scene, while there was power */
static struct answer {            /* each of them */
    size_t scene, syncs;          /* how many there were before it */
    uint64_t revision;
} all[MOST];
static size_t sent_syncs[SCENES][MOST]; /* by revision: how many there were before it was sent */
static size_t covered; /* answers that came after a sync which was begun after they were sent */

static void on_answer(struct rig_scene *scene, uint64_t revision)
{
    const size_t i = (size_t)(scene - rig.scenes), now = syncs();
    if (was_cut)
        return;
    ck_assert_uint_lt(answers, MOST);
    all[answers++] = (struct answer){.scene = i, .syncs = now, .revision = revision};
    covered += now > sent_syncs[i][revision];
    answered[i] = revision;
    if (cut_at > 0 && answers >= cut_at && (!ahead || covered < answers)) {
        cut_the_power();
        was_cut = true;
    }
}

static void send(struct rig_scene *scene)
{
    const obb_put put = {.target = {.name = obb_str_of("box")},
                         .parts = OBB_PUT_ALL,
                         .box = {.center = {.x = (double)test_below(&rig.rng, 1000)},
                                 .half_extents = {1, 1, 1},
                                 .rotation = {.w = 1}}};
    const obb_edit edit = {.dimensions = 3, .puts = &put, .put_count = 1};
    obb_scene_info info;
    obb_scene_info_without_bounds(scene->journaled.scene, &info);
    ck_assert_uint_lt(info.now.revision + 1, MOST);
    sent_syncs[scene - rig.scenes][info.now.revision + 1] = syncs();
    ck_assert(rig_commit(scene, &edit, 0, 0));
    sent++;
}

/* Sends fewer than `most` commits, as long as the disk keeps up. */
static void send_some(size_t most)
{
    for (size_t n = test_below(&rig.rng, most); n > 0 && sent < answers + AHEAD; n--)
        send(&rig.scenes[test_below(&rig.rng, SCENES)]);
}

static void begin(uint64_t seed, uint64_t sync_ms)
{
    static const obb_settings settings = {
        .dimensions = 3, .history_span = 1e9, .history_commits = MOST};
    disk_begin();
    rig_open_new(seed, sync_ms);
    rig.snapshots.least = seed % 2 == 0 ? 3000 : 0;
    for (size_t i = 0; i < SCENES; i++)
        (void)rig_make(&settings);
    rig_wait();
    sent = answers = covered = 0;
    was_cut = ahead = false;
    memset(answered, 0, sizeof answered);
    rig_on_settled = on_answer;
}

static size_t lost, kept_more;

/* Ends the rig, starts again, and compares. Of each scene, at least the state of `least` is there,
 * and what is there is as it was sent. */
static void end(const uint64_t least[static SCENES])
{
    char error[600];
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    srv_restored restored;
    rig_wait();
    rig_close();
    rig_on_settled = NULL;
    disk_end();
    ck_assert_msg(srv_sqlite_open(rig.folder, &backend, error, sizeof error), "%s", error);
    const srv_restore_options options = {.backend = backend, .path = rig.folder, .threads = 2};
    ck_assert(srv_restore_begin(&options, &r));
    ck_assert_msg(srv_restore_end(r, &restored, error, sizeof error), "%s", error);
    ck_assert_uint_eq(restored.count, SCENES);
    for (size_t i = 0; i < SCENES; i++) {
        struct obb_scene *found = restored.scenes[i].journaled.scene;
        obb_scene_info info;
        obb_scene_info_without_bounds(found, &info);
        const uint64_t revision = info.now.revision;
        ck_assert_msg(revision >= least[i], "scene %zu: revision %llu of %llu", i,
                      (unsigned long long)revision, (unsigned long long)least[i]);
        lost += answered[i] > revision ? (size_t)(answered[i] - revision) : 0;
        kept_more += revision > answered[i];
        rig_same_at(rig.scenes[i].journaled.scene, found,
                    (obb_at){.kind = OBB_AT_REVISION, .revision = revision});
    }
    srv_restored_fini(&restored);
    backend->close(backend);
    rig_end();
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(what_was_answered_is_there_when_the_power_fails_at_once)
{
    const size_t turns = test_effort(40);
    size_t commits = 0;
    lost = kept_more = 0;
    for (size_t turn = 0; turn < turns; turn++) {
        begin(1 + turn, 0);
        cut_at = 1 + test_below(&rig.rng, 150);
        while (!was_cut) {
            send_some(6);
            srv_loop_step(rig.loop, 0);
        }
        ck_assert_uint_eq(covered, answers); /* each answer came behind a sync of its own commit */
        commits += answers;
        end(answered);
    }
    printf("%zu answers, %zu cuts: %zu lost, %zu scenes had more\n", commits, turns, lost,
           kept_more);
    ck_assert_uint_eq(lost, 0);
    ck_assert_uint_gt(commits, 20 * turns);
}
END_TEST

/* The bound of what is lost is said in syncs, not in seconds, so that a busy machine does not
 * matter: if a commit is answered while a group is being synced, the next group covers it, which is
 * written sync_ms later. Between two groups there may be syncs of upkeep. The last part shows that
 * time alone brings the next sync. */
START_TEST(with_sync_ms_the_next_sync_covers_what_was_answered)
{
    const size_t turns = test_effort(24);
    size_t commits = 0, cuts = 0;
    lost = kept_more = 0;
    /* A disk that keeps everything proves nothing, nor does one that loses most. */
    for (size_t turn = 0; turn < turns || lost <= turns / 2 || lost >= commits / 2; turn++) {
        uint64_t least[SCENES] = {0};
        begin(1000 + turn, 5);
        ahead = true; /* they do not wait for a sync */
        cut_at = 60 + test_below(&rig.rng, 400);
        while (!was_cut) {
            send_some(4);
            srv_loop_step(rig.loop, 1);
        }
        const size_t before = syncs(); /* none counts any more */
        for (size_t i = 0; i < answers; i++)
            if (all[i].syncs + (rig.snapshots.least == 0 ? 2 : 5) <= before &&
                all[i].revision > least[all[i].scene])
                least[all[i].scene] = all[i].revision;
        commits += answers;
        cuts++;
        end(least);
    }
    printf("%zu answers, %zu cuts: %zu lost\n", commits, cuts, lost);
    /* after the last commit, time alone makes all of it durable */
    begin(1, 5);
    cut_at = 0;
    for (size_t n = 0; n < 50; n++)
        send(&rig.scenes[n % SCENES]);
    while (answers < 50 || srv_journal_waiting(rig.journal) > 0)
        srv_loop_step(rig.loop, 10);
    cut_the_power();
    end(answered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("power");
    TCase *tc = tcase_create("power");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_was_answered_is_there_when_the_power_fails_at_once);
    tcase_add_test(tc, with_sync_ms_the_next_sync_covers_what_was_answered);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
