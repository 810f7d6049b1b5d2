#include "server/journal/sqlite.h"
#include "tests/server/journal/faulty_vfs.h"
#include "tests/support/fault.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCENES = 5, RECORDS = 4000, CHUNKS = 6, MOST = 300 };

static char folder[64], copy[80], error[512];
static struct srv_backend *backend;
static struct srv_journal_figures figures;
static test_rng rng;

/* ---- A model of the log ---------------------------------------------------------------------- */

struct item {
    uint64_t scene, revision;
    bool gone;
    unsigned char bytes[MOST];
    size_t length;
};

struct snapshot {
    bool there;
    uint64_t number, chunks, from, records;
    unsigned char seed;
};

static struct {
    struct item items[RECORDS + 1]; /* by seq, from 1 */
    uint64_t last, durable, edge;
    struct snapshot snapshots[SCENES];
    struct snapshot
        ghosts[SCENES]; /* of a group that failed: may have become durable all the same */
    uint64_t revisions[SCENES], next_number;
    uint64_t scene_numbers[SCENES];
} model;

/* The bytes of a chunk, made from a seed. */
static size_t chunk_bytes(unsigned char seed, uint64_t number, unsigned char *out)
{
    const size_t length = 3000 + 777 * (size_t)number;
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)(seed + i * 7 + number);
    return length;
}

static struct wire_buf bytes;
static size_t replaced; /* scenes, by snapshots */
static unsigned char room[16384];

static srv_journal_status add(struct srv_entry *entry, const void *from, size_t length)
{
    bytes.length = 0;
    wire_buf_append(&bytes, from, length);
    return backend->add(backend, entry, &bytes);
}

/* Makes the next record of the model, with random bytes. */
static struct item *make_item(size_t scene, uint64_t revision, bool gone)
{
    struct item *item = &model.items[model.last + 1];
    item->scene = model.scene_numbers[scene];
    item->revision = revision;
    item->gone = gone;
    item->length = test_below(&rng, MOST);
    for (size_t i = 0; i < item->length; i++)
        item->bytes[i] = (unsigned char)test_random(&rng);
    return item;
}

/* Another scene takes the place of one that is gone. */
static void begin_anew(size_t scene)
{
    model.snapshots[scene].there = false;
    model.scene_numbers[scene] = ++model.next_number;
    model.revisions[scene] = 0;
}

static srv_journal_status add_record(size_t scene, bool gone)
{
    const struct item *item = make_item(scene, ++model.revisions[scene], gone);
    struct srv_entry entry = {.kind = gone ? SRV_ENTRY_GONE : SRV_ENTRY_RECORD,
                              .scene = item->scene,
                              .number = item->revision};
    const srv_journal_status status = add(&entry, item->bytes, item->length);
    if (status != SRV_JOURNAL_OK)
        return status;
    ck_assert_uint_eq(entry.seq, ++model.last);
    if (gone)
        begin_anew(scene);
    return SRV_JOURNAL_OK;
}

static srv_journal_status add_snapshot(size_t scene)
{
    struct snapshot next = {.there = true,
                            .number = ++model.next_number,
                            .chunks = 1 + test_below(&rng, CHUNKS),
                            .from = model.durable + 1,
                            .records = model.durable,
                            .seed = (unsigned char)test_random(&rng)};
    for (uint64_t i = 0; i < next.chunks; i++) {
        struct srv_entry chunk = {.kind = SRV_ENTRY_CHUNK,
                                  .scene = model.scene_numbers[scene],
                                  .snapshot = next.number,
                                  .number = i};
        const size_t length = chunk_bytes(next.seed, i, room);
        const srv_journal_status status = add(&chunk, room, length);
        if (status != SRV_JOURNAL_OK)
            return status;
    }
    struct srv_entry done = {.kind = SRV_ENTRY_SNAPSHOT,
                             .scene = model.scene_numbers[scene],
                             .snapshot = next.number,
                             .number = next.chunks,
                             .from = next.from};
    const struct item *gone = NULL;
    const size_t victim = (scene + 1 + test_below(&rng, SCENES - 1)) % SCENES;
    if (test_below(&rng, 3) == 0) { /* as a copy does */
        gone = make_item(victim, 0, true);
        done.replaces = gone->scene;
    }
    const srv_journal_status status =
        add(&done, gone != NULL ? (const void *)gone->bytes : "", gone != NULL ? gone->length : 0);
    if (status != SRV_JOURNAL_OK)
        return status;
    model.snapshots[scene] = next;
    if (gone != NULL) {
        ck_assert_uint_eq(done.seq, ++model.last);
        begin_anew(victim);
        replaced++;
    }
    return SRV_JOURNAL_OK;
}

/* A group of a few entries. On failure the model is as the last durable group left it. */
static srv_journal_status write_group(size_t entries)
{
    srv_journal_status status = SRV_JOURNAL_OK;
    const uint64_t was = model.last;
    uint64_t revisions[SCENES], scenes[SCENES];
    struct snapshot snapshots[SCENES];
    memcpy(revisions, model.revisions, sizeof revisions);
    memcpy(scenes, model.scene_numbers, sizeof scenes);
    memcpy(snapshots, model.snapshots, sizeof snapshots);
    for (size_t i = 0; i < entries && status == SRV_JOURNAL_OK; i++) {
        const size_t scene = test_below(&rng, SCENES), what = test_below(&rng, 100);
        status = what < 4 ? add_snapshot(scene) : add_record(scene, what < 6);
    }
    if (status == SRV_JOURNAL_OK)
        status = backend->commit(backend);
    if (status == SRV_JOURNAL_OK) {
        model.durable = model.last;
    } else {
        model.last = was;
        for (size_t i = 0; i < SCENES; i++)
            if (model.snapshots[i].number > snapshots[i].number && snapshots[i].there)
                model.ghosts[i] = model.snapshots[i];
        memcpy(model.revisions, revisions, sizeof revisions);
        memcpy(model.scene_numbers, scenes, sizeof scenes);
        memcpy(model.snapshots, snapshots, sizeof snapshots);
    }
    return status;
}

/* ---- What is found --------------------------------------------------------------------------- */

static struct {
    uint64_t edge, last; /* of the records that were shown or left out */
    uint64_t scenes[RECORDS], numbers[RECORDS];
    size_t snapshots, chunks, records;
    uint64_t records_of[SCENES]; /* of the scenes that the model has now */
    bool wrong;
} found;

static bool see_chunk(void *context, uint64_t scene, uint64_t number, uint64_t count, uint64_t from,
                      obb_str body)
{
    const bool lax = *(const bool *)context;
    found.chunks++;
    found.snapshots += number == 0;
    for (size_t i = 0; i < SCENES && !lax; i++) {
        struct snapshot *s = &model.snapshots[i];
        if (model.scene_numbers[i] == scene && number == 0 && model.ghosts[i].there &&
            model.ghosts[i].chunks == count && model.ghosts[i].from == from &&
            !(s->there && s->chunks == count && s->from == from))
            *s = model.ghosts[i];
        if (model.scene_numbers[i] != scene || !s->there)
            continue;
        const size_t length = chunk_bytes(s->seed, number, room);
        found.wrong |= s->chunks != count || s->from != from || length != body.length ||
                       memcmp(room, body.bytes, length) != 0;
        return true;
    }
    found.wrong |= !lax;
    return true;
}

static bool see_record(void *context, uint64_t scene, uint64_t revision, uint64_t seq, obb_str body)
{
    (void)context;
    const struct item *item = seq <= model.last ? &model.items[seq] : &model.items[0];
    found.wrong |= seq <= found.last || item->scene != scene || item->revision != revision ||
                   item->length != body.length || memcmp(item->bytes, body.bytes, body.length) != 0;
    found.last = seq;
    found.records++;
    return true;
}

static bool load_at(const char *dir, bool lax)
{
    memset(&found, 0, sizeof found);
    if (!srv_sqlite_open(dir, &backend, error, sizeof error))
        return false;
    backend->figures = &figures;
    const struct srv_backend_visitor visitor = {
        .chunk = see_chunk, .record = see_record, .context = &lax, .error = error};
    if (srv_sqlite_load(backend, &visitor, error, sizeof error))
        return true;
    backend->close(backend);
    backend = NULL;
    return false;
}

static bool scene_is_gone(uint64_t scene)
{
    for (size_t i = 0; i < SCENES; i++)
        if (model.scene_numbers[i] == scene)
            return false;
    return true;
}

/* Opens the journal and holds all that it shows against the model. */
static void load_all(void)
{
    ck_assert_msg(load_at(folder, false), "%s", error);
    ck_assert(!found.wrong);
    size_t snapshots = 0, chunks = 0, records = 0;
    for (size_t i = 0; i < SCENES; i++) {
        snapshots += model.snapshots[i].there;
        chunks += model.snapshots[i].there ? (size_t)model.snapshots[i].chunks : 0;
    }
    for (uint64_t seq = model.edge; seq <= model.durable; seq++)
        records += !scene_is_gone(model.items[seq].scene);
    ck_assert_uint_eq(found.snapshots, snapshots);
    ck_assert_uint_eq(found.chunks, chunks);
    ck_assert_uint_eq(found.records, records);
}

/* ---- The folder ------------------------------------------------------------------------------ */

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/obbd-journal-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(copy, sizeof copy, "%s/copy", folder);
    memset(&model, 0, sizeof model);
    memset(&figures, 0, sizeof figures);
    model.edge = 1;
    for (size_t i = 0; i < SCENES; i++)
        model.scene_numbers[i] = ++model.next_number;
    rng = (test_rng){2026};
    backend = NULL;
}

static void remove_in(const char *dir)
{
    static const char *const names[] = {"journal.db", "journal.db-wal", "journal.db-shm",
                                        "journal.db-journal", "spare"};
    char path[160];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
}

static void close_backend(void)
{
    if (backend != NULL)
        backend->close(backend);
    backend = NULL;
}

static void teardown(void)
{
    close_backend();
    wire_buf_fini(&bytes);
    remove_in(copy);
    (void)rmdir(copy);
    remove_in(folder);
    ck_assert_int_eq(rmdir(folder), 0);
}

static size_t read_whole(const char *dir, const char *name, unsigned char **out)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    *out = NULL;
    if (file == NULL)
        return 0;
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    *out = malloc(size + 1);
    ck_assert_uint_eq(fread(*out, 1, size, file), size);
    (void)fclose(file);
    return size;
}

static void write_whole(const char *dir, const char *name, const unsigned char *from, size_t size)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(from, 1, size, file), size);
    (void)fclose(file);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(a_new_folder_is_made_for_its_owner)
{
    char path[160];
    struct stat stat_of;
    (void)snprintf(path, sizeof path, "%s", copy);
    ck_assert(load_at(path, false));
    ck_assert_uint_eq(found.records + found.chunks, 0);
    ck_assert_int_eq(backend->trouble, SRV_JOURNAL_OK);
    ck_assert_int_eq(stat(path, &stat_of), 0);
    ck_assert_uint_eq(stat_of.st_mode & 0777, 0700);
    static const char *const names[] = {"journal.db", "journal.db-wal", "spare"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", copy, names[i]);
        ck_assert_int_eq(stat(path, &stat_of), 0);
        ck_assert_uint_eq(stat_of.st_mode & 0777, 0600);
    }
}
END_TEST

START_TEST(a_folder_is_one_process_s)
{
    load_all();
    struct srv_backend *second;
    ck_assert(!srv_sqlite_open(folder, &second, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "another obbd uses it"));
}
END_TEST

START_TEST(another_file_is_refused_by_name)
{
    static const struct {
        const char *statement, *text;
    } rows[] = {{"pragma user_version=2", "was written by a newer obbd"},
                {"pragma application_id=7", "is not a journal of obbd"}};
    for (size_t i = 0; i < 2; i++) {
        load_all();
        close_backend();
        char path[160];
        sqlite3 *db;
        (void)snprintf(path, sizeof path, "%s/journal.db", folder);
        ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
        ck_assert_int_eq(sqlite3_exec(db, rows[i].statement, NULL, NULL, NULL), SQLITE_OK);
        (void)sqlite3_close(db);
        ck_assert(!load_at(folder, false));
        ck_assert_ptr_nonnull(strstr(error, rows[i].text));
        remove_in(folder);
    }
    write_whole(folder, "journal.db", (const unsigned char *)"no database at all, but longer", 30);
    ck_assert(!load_at(folder, false));
    ck_assert_ptr_nonnull(strstr(error, "journal.db: file is not a database"));
}
END_TEST

/* Lets everything that the snapshots hold already be forgotten. */
static void forget_some(void)
{
    uint64_t edge = model.durable + 1;
    for (size_t i = 0; i < SCENES; i++) {
        uint64_t needed = edge;
        if (model.snapshots[i].there)
            needed = model.snapshots[i].from;
        else
            for (uint64_t seq = model.durable; seq >= model.edge; seq--)
                if (model.items[seq].scene == model.scene_numbers[i])
                    needed = seq;
        edge = needed < edge ? needed : edge;
    }
    for (size_t slices = 0; backend->tidy(backend, edge); slices++)
        ck_assert_uint_lt(slices, 10000);
    if (edge > model.edge)
        model.edge = edge;
}

START_TEST(what_is_committed_is_found_again)
{
    size_t forgot = 0, reopened = 0, snapshots = 0;
    load_all();
    while (model.last + 30 < RECORDS) {
        ck_assert_int_eq(write_group(1 + test_below(&rng, 20)), SRV_JOURNAL_OK);
        if (test_below(&rng, 8) == 0) {
            const uint64_t was = model.edge;
            forget_some();
            forgot += model.edge > was;
        }
        if (test_below(&rng, 16) == 0) {
            close_backend();
            load_all();
            snapshots += found.snapshots;
            ck_assert_uint_ge(model.next_number, backend->last_number);
            reopened++;
        }
    }
    ck_assert_uint_gt(forgot, 5);
    ck_assert_uint_gt(reopened, 10);
    ck_assert_uint_gt(snapshots, 10);
    ck_assert_uint_gt(replaced, 5);
    ck_assert_msg(srv_sqlite_check(backend, error, sizeof error), "%s", error);
}
END_TEST

START_TEST(a_group_that_is_not_committed_is_not_found)
{
    load_all();
    ck_assert_int_eq(write_group(10), SRV_JOURNAL_OK);
    const uint64_t last = model.last;
    ck_assert_int_eq(add_record(0, false), SRV_JOURNAL_OK);
    close_backend();
    model.last = last;
    load_all();
    ck_assert_uint_eq(found.last, last);
}
END_TEST

START_TEST(chunks_that_nobody_needs_are_removed)
{
    load_all();
    for (size_t i = 0; i < 40; i++) {
        ck_assert_int_eq(add_snapshot(0), SRV_JOURNAL_OK);
        ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    }
    ck_assert_int_eq(add_record(0, true), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    model.durable = model.last;
    while (backend->tidy(backend, 1))
        ;
    /* chunks of a snapshot that is not finished go when the journal is opened again */
    unsigned char some[100] = {1};
    struct srv_entry chunk = {.kind = SRV_ENTRY_CHUNK, .scene = 9, .snapshot = 900};
    ck_assert_int_eq(add(&chunk, some, sizeof some), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    close_backend();
    load_all();
    ck_assert_uint_eq(backend->last_number, 900);
    while (backend->tidy(backend, 1))
        ;
    close_backend();
    char path[160];
    sqlite3 *db;
    sqlite3_stmt *count;
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db,
                                        "select (select count(*) from chunk) + (select count(*) "
                                        "from snapshot)",
                                        -1, &count, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(count), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(count, 0), 0);
    (void)sqlite3_finalize(count);
    (void)sqlite3_close(db);
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Opens the damaged copy. What it shows must be the beginning of the log, or it must be refused. */
static bool open_damaged(void)
{
    const bool opened = load_at(copy, true);
    ck_assert(!found.wrong);
    if (opened)
        close_backend();
    else
        ck_assert(error[0] != '\0' && strchr(error, '\n') == NULL);
    return opened;
}

struct files {
    unsigned char *db, *wal;
    size_t db_size, wal_size;
};

/* A journal with both a database and a write-ahead log, copied while it is open. */
static struct files some_files(void)
{
    struct files files;
    load_all();
    while (model.last < 600)
        ck_assert_int_eq(write_group(1 + test_below(&rng, 20)), SRV_JOURNAL_OK);
    close_backend(); /* moves all into the database */
    load_all();
    while (model.last < 900)
        ck_assert_int_eq(write_group(1 + test_below(&rng, 20)), SRV_JOURNAL_OK);
    files.db_size = read_whole(folder, "journal.db", &files.db);
    files.wal_size = read_whole(folder, "journal.db-wal", &files.wal);
    ck_assert_uint_gt(files.db_size, 100000);
    ck_assert_uint_gt(files.wal_size, 100000);
    close_backend();
    ck_assert_int_eq(mkdir(copy, 0700), 0);
    return files;
}

static void put_files(const struct files *files)
{
    remove_in(copy);
    write_whole(copy, "journal.db", files->db, files->db_size);
    write_whole(copy, "journal.db-wal", files->wal, files->wal_size);
}

START_TEST(a_file_that_is_cut_shows_a_beginning_or_is_refused)
{
    const struct files whole = some_files();
    size_t looked = 0, opened = 0;
    for (size_t at = 0; at <= whole.wal_size; at += 4120 / 2) {
        struct files cut = whole;
        cut.wal_size = at;
        put_files(&cut);
        opened += open_damaged();
        looked++;
    }
    ck_assert_uint_eq(opened, looked); /* each commit before the cut is there */
    for (size_t at = 0; at < whole.db_size; at += 4096 / 2) {
        struct files cut = whole;
        cut.db_size = at;
        put_files(&cut);
        (void)open_damaged();
        looked++;
    }
    printf("%zu files that were cut, %zu opened\n", looked, opened);
    free(whole.db);
    free(whole.wal);
}
END_TEST

START_TEST(a_flipped_bit_shows_a_beginning_or_is_refused)
{
    const struct files whole = some_files();
    const size_t looked = test_effort(400);
    size_t refused = 0, short_ones = 0;
    for (size_t i = 0; i < looked; i++) {
        struct files flipped = whole;
        const bool wal = i % 2 == 0;
        const size_t at = test_below(&rng, wal ? whole.wal_size : whole.db_size);
        unsigned char *byte = &(wal ? flipped.wal : flipped.db)[at];
        const unsigned char was = *byte;
        *byte ^= (unsigned char)(1u << test_below(&rng, 8));
        put_files(&flipped);
        *byte = was;
        const bool opened = open_damaged();
        refused += !opened;
        short_ones += opened && found.last < model.last;
    }
    printf("%zu flipped bits: %zu refused, %zu show a beginning\n", looked, refused, short_ones);
    ck_assert_uint_gt(refused, looked / 20);
    ck_assert_uint_gt(short_ones, looked / 10);
    free(whole.db);
    free(whole.wal);
}
END_TEST

/* ---- Failures -------------------------------------------------------------------------------- */

/* Writes groups while one call fails. Returns false if the call was never reached. */
static bool write_with_fault(enum faulty_call call, size_t n, size_t times, int result)
{
    size_t failures = 0;
    faulty_arm(call, n, times, result);
    for (size_t i = 0; i < 12; i++) {
        if (write_group(6) != SRV_JOURNAL_OK) {
            failures++;
            for (size_t tries = 0; !backend->recover(backend); tries++)
                ck_assert_uint_lt(tries, 100);
        }
        if (i % 3 == 0)
            (void)backend->tidy(backend, model.edge);
    }
    /* a failed upkeep is met by the next group */
    if (write_group(1) != SRV_JOURNAL_OK)
        while (!backend->recover(backend))
            ;
    const bool reached = faulty.seen >= n;
    faulty_arm(call, 0, 0, 0);
    close_backend();
    load_all();
    return reached || failures > 0;
}

START_TEST(each_failing_call_loses_nothing_that_was_answered)
{
    static const struct {
        enum faulty_call call;
        int result;
        const char *name;
    } rows[] = {{FAULTY_WRITE, SQLITE_IOERR_WRITE, "write"},
                {FAULTY_WRITE, SQLITE_FULL, "write on a full disk"},
                {FAULTY_SYNC, SQLITE_IOERR_FSYNC, "sync"},
                {FAULTY_TRUNCATE, SQLITE_IOERR_TRUNCATE, "truncate"}};
    faulty_begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t times = 1; times <= 3; times += 2) {
            size_t n = 1, step = 1;
            for (;; n += step) {
                memset(&model, 0, sizeof model);
                model.edge = 1;
                for (size_t k = 0; k < SCENES; k++)
                    model.scene_numbers[k] = ++model.next_number;
                remove_in(folder);
                load_all();
                if (!write_with_fault(rows[i].call, n, times, rows[i].result))
                    break;
                close_backend();
                step = n < 40 || test_effort(1) > 1 ? 1 : 7;
            }
            close_backend();
            printf("%s: %zu in a row, up to call %zu\n", rows[i].name, times, n - 1);
            ck_assert(n > 2 || rows[i].call == FAULTY_TRUNCATE);
        }
    faulty_end();
}
END_TEST

/* Commits while the sync fails: the group is in the file all the same. */
static void fail_to_commit(void)
{
    faulty_arm(FAULTY_SYNC, 1, 1, 0);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_FAILED);
    faulty_arm(FAULTY_SYNC, 0, 0, 0);
    while (!backend->recover(backend))
        ;
}

START_TEST(a_failed_group_that_is_there_all_the_same_does_not_count)
{
    unsigned char some[100] = {1};
    faulty_begin();
    load_all();
    struct srv_entry chunk = {.kind = SRV_ENTRY_CHUNK, .scene = 70, .snapshot = 900};
    struct srv_entry word = {
        .kind = SRV_ENTRY_SNAPSHOT, .scene = 70, .snapshot = 900, .number = 1, .from = 1};
    struct srv_entry dropped = {.kind = SRV_ENTRY_DROPPED, .scene = 70, .snapshot = 900};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(add(&chunk, some, sizeof some), SRV_JOURNAL_OK);
        if (i == 0)
            fail_to_commit(); /* the chunk is added again */
    }
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    ck_assert_int_eq(add(&word, "", 0), SRV_JOURNAL_OK);
    fail_to_commit();
    close_backend();
    ck_assert_msg(load_at(folder, true), "%s", error);
    ck_assert_uint_eq(found.snapshots, 0); /* nobody was told of the scene */
    /* it is whole later, and dropped */
    ck_assert_int_eq(add(&chunk, some, sizeof some), SRV_JOURNAL_OK);
    ck_assert_int_eq(add(&word, "", 0), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    close_backend();
    ck_assert_msg(load_at(folder, true), "%s", error);
    ck_assert_uint_eq(found.snapshots, 1);
    ck_assert_int_eq(add(&dropped, "", 0), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    while (backend->tidy(backend, 1))
        ;
    close_backend();
    ck_assert_msg(load_at(folder, true), "%s", error);
    ck_assert_uint_eq(found.snapshots, 0);
    close_backend();
    faulty_end();
}
END_TEST

START_TEST(each_failing_allocation_is_met)
{
    load_all();
    ck_assert_int_eq(write_group(10), SRV_JOURNAL_OK);
    close_backend();
    size_t n = 1;
    for (;; n++) {
        fault_arm(n);
        const bool opened = load_at(folder, false);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert(opened || error[0] != '\0');
        close_backend();
        if (!reached)
            break;
    }
    printf("%zu allocations\n", n - 1);
    ck_assert_uint_gt(n, 4); /* SQLite's own are not ours to fail */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sqlite");
    TCase *tests = tcase_create("log");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, test_patience(60));
    tcase_add_test(tests, a_new_folder_is_made_for_its_owner);
    tcase_add_test(tests, a_folder_is_one_process_s);
    tcase_add_test(tests, another_file_is_refused_by_name);
    tcase_add_test(tests, what_is_committed_is_found_again);
    tcase_add_test(tests, a_group_that_is_not_committed_is_not_found);
    tcase_add_test(tests, chunks_that_nobody_needs_are_removed);
    tcase_add_test(tests, a_file_that_is_cut_shows_a_beginning_or_is_refused);
    tcase_add_test(tests, a_flipped_bit_shows_a_beginning_or_is_refused);
    tcase_add_test(tests, each_failing_call_loses_nothing_that_was_answered);
    tcase_add_test(tests, a_failed_group_that_is_there_all_the_same_does_not_count);
    tcase_add_test(tests, each_failing_allocation_is_met);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
