#include "server/base/loop.h"
#include "server/journal/sqlite.h"
#include "tests/server/journal/faulty_vfs.h"
#include "tests/support/fault.h"

#include <dirent.h>
#include <fcntl.h>
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
    uint64_t pieces; /* that come before it; of the bytes of a chunk, made from `seed` */
    unsigned char seed;
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

static srv_journal_status add_pieces(const struct item *item, uint64_t number)
{
    srv_journal_status status = SRV_JOURNAL_OK;
    for (uint64_t i = 0; i < item->pieces && status == SRV_JOURNAL_OK; i++) {
        struct srv_entry chunk = {
            .kind = SRV_ENTRY_CHUNK, .scene = item->scene, .snapshot = number, .number = i};
        status = add(&chunk, room, chunk_bytes(item->seed, i, room));
    }
    return status;
}

static srv_journal_status add_record(size_t scene, bool gone)
{
    struct item *item = make_item(scene, ++model.revisions[scene], gone);
    struct srv_entry entry = {.kind = gone ? SRV_ENTRY_GONE : SRV_ENTRY_RECORD,
                              .scene = item->scene,
                              .number = item->revision};
    item->pieces = 0;
    if (!gone && test_below(&rng, 40) == 0) {
        item->pieces = 1 + test_below(&rng, 2);
        item->seed = (unsigned char)test_random(&rng);
        entry.snapshot = ++model.next_number;
        const srv_journal_status before = add_pieces(item, entry.snapshot);
        if (before != SRV_JOURNAL_OK)
            return before;
    }
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
    size_t snapshots, chunks, records, pieces;
    uint64_t piece_of, its_pieces; /* the record whose pieces came last, and how many */
    uint64_t records_of[SCENES];   /* of the scenes that the model has now */
    bool wrong;
} found;

static bool see_chunk(void *context, uint64_t scene, uint64_t number, uint64_t count, uint64_t from,
                      obb_str body)
{
    const bool lax = *(const bool *)context;
    found.chunks++;
    found.snapshots += number == 0;
    for (size_t i = 0; i < SCENES && !lax; i++) {
        const struct snapshot *s = &model.snapshots[i];
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

static bool see_piece(void *context, uint64_t scene, uint64_t seq, obb_str body)
{
    (void)context;
    const struct item *item = seq <= model.last ? &model.items[seq] : &model.items[0];
    if (found.piece_of != seq)
        found.its_pieces = 0;
    found.piece_of = seq;
    const size_t length = chunk_bytes(item->seed, found.its_pieces++, room);
    found.wrong |= seq <= found.last || item->scene != scene || found.its_pieces > item->pieces ||
                   length != body.length || memcmp(room, body.bytes, length) != 0;
    found.pieces++;
    return true;
}

static bool see_record(void *context, uint64_t scene, uint64_t revision, uint64_t seq, obb_str body)
{
    (void)context;
    const struct item *item = seq <= model.last ? &model.items[seq] : &model.items[0];
    found.wrong |= seq <= found.last || item->scene != scene || item->revision != revision ||
                   item->length != body.length ||
                   memcmp(item->bytes, body.bytes, body.length) != 0 ||
                   item->pieces != (found.piece_of == seq ? found.its_pieces : 0);
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
    const struct srv_backend_visitor visitor = {.chunk = see_chunk,
                                                .piece = see_piece,
                                                .record = see_record,
                                                .context = &lax,
                                                .error = error};
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
    size_t snapshots = 0, chunks = 0, records = 0, pieces = 0;
    for (size_t i = 0; i < SCENES; i++) {
        snapshots += model.snapshots[i].there;
        chunks += model.snapshots[i].there ? (size_t)model.snapshots[i].chunks : 0;
    }
    for (uint64_t seq = model.edge; seq <= model.durable; seq++) {
        const bool there = !scene_is_gone(model.items[seq].scene);
        records += there;
        pieces += there && !model.items[seq].gone ? (size_t)model.items[seq].pieces : 0;
    }
    ck_assert_uint_eq(found.pieces, pieces);
    ck_assert_uint_eq(found.snapshots, snapshots);
    ck_assert_uint_eq(found.chunks, chunks);
    ck_assert_uint_eq(found.records, records);
}

/* ---- The folder ------------------------------------------------------------------------------ */

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-journal-XXXXXX", test_folder());
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
    } rows[] = {{"pragma user_version=3", "was written by a newer obbd"},
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
    size_t forgot = 0, reopened = 0, snapshots = 0, pieces = 0;
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
            pieces += found.pieces;
            ck_assert_uint_ge(model.next_number, backend->last_number);
            reopened++;
        }
    }
    ck_assert_uint_gt(forgot, 5);
    ck_assert_uint_gt(reopened, 10);
    ck_assert_uint_gt(snapshots, 10);
    ck_assert_uint_gt(replaced, 5);
    ck_assert_uint_gt(pieces, 50);
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

START_TEST(a_group_that_is_taken_back_is_not_in_the_next_one)
{
    load_all();
    backend->undo(backend); /* none is begun */
    ck_assert_int_eq(write_group(10), SRV_JOURNAL_OK);
    const uint64_t last = model.last, revision = model.revisions[0];
    ck_assert_int_eq(add_record(0, false), SRV_JOURNAL_OK);
    backend->undo(backend);
    model.last = last;
    model.revisions[0] = revision;
    ck_assert_int_eq(write_group(10), SRV_JOURNAL_OK);
    close_backend();
    load_all();
    ck_assert_uint_eq(found.last, model.last);
}
END_TEST

/* A start that looks at each of them for each record would take ten times as long. */
START_TEST(scenes_that_are_gone_are_left_out_quickly)
{
    enum { GONE = 100000 };
    load_all();
    const double begun = srv_clock();
    for (uint64_t scene = GONE; scene > 0; scene--) {
        struct srv_entry entry = {.kind = SRV_ENTRY_GONE, .scene = 1000 + scene};
        ck_assert_int_eq(add(&entry, "gone", 4), SRV_JOURNAL_OK);
    }
    struct srv_entry stays = {.kind = SRV_ENTRY_RECORD, .scene = 1000, .number = 1};
    ck_assert_int_eq(add(&stays, "stays", 5), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    const double written = srv_clock();
    close_backend();
    const double closed = srv_clock();
    ck_assert_msg(load_at(folder, true), "%s", error);
    const double loaded = srv_clock();
    printf("%d scenes that are gone: %.2f s to write, %.2f s to read\n", (int)GONE, written - begun,
           loaded - closed);
    ck_assert_uint_eq(found.records, 1);
    ck_assert_uint_eq(found.last, GONE + 1);
    ck_assert_double_lt(loaded - closed, 2 * (written - begun));
}
END_TEST

/* Returns the number that a query of the database gives, which nobody has open. */
static int64_t ask(const char *query)
{
    char path[160];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    /* the file system that fails has no shared memory */
    ck_assert_int_eq(sqlite3_exec(db, "pragma locking_mode=exclusive", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, query, -1, &statement, NULL), SQLITE_OK);
    const int result = sqlite3_step(statement);
    ck_assert(result == SQLITE_ROW || result == SQLITE_DONE);
    const int64_t number = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return number;
}

/* Adds a record with that many pieces. Returns what they are called. */
static uint64_t add_in_pieces(size_t scene, uint64_t pieces)
{
    struct item *item = make_item(scene, ++model.revisions[scene], false);
    struct srv_entry entry = {.kind = SRV_ENTRY_RECORD,
                              .scene = item->scene,
                              .number = item->revision,
                              .snapshot = ++model.next_number};
    item->pieces = pieces;
    item->seed = 5;
    ck_assert_int_eq(add_pieces(item, entry.snapshot), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK); /* they are durable before it */
    ck_assert_int_eq(add(&entry, item->bytes, item->length), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    ck_assert_uint_eq(entry.seq, ++model.last);
    model.durable = model.last;
    return entry.snapshot;
}

START_TEST(pieces_of_a_record_stay_as_long_as_it_does)
{
    load_all();
    (void)add_in_pieces(0, 3);
    (void)add_in_pieces(1, 17); /* more than one slice removes */
    (void)add_in_pieces(0, 2);
    ck_assert_int_eq(add_record(2, false), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    model.durable = model.last;
    while (backend->tidy(backend, 1))
        ;
    close_backend();
    load_all();
    ck_assert_uint_eq(found.pieces, 22 + (size_t)model.items[model.last].pieces);
    ck_assert_uint_eq(backend->last_number, model.next_number);
    while (backend->tidy(backend, 3)) /* forgets the first two */
        ;
    model.edge = 3;
    close_backend();
    ck_assert_int_eq(
        ask("select count(*) from chunk where id >> 20 in (select number from pieces)"),
        2 + (int64_t)model.items[model.last].pieces);
    ck_assert_int_eq(ask("select count(*) from chunk where id >> 20 not in (select number from "
                         "pieces)"),
                     0);
    load_all();
    /* pieces whose record never came go when the journal is opened again */
    struct item lost = {.scene = model.scene_numbers[0], .pieces = 3};
    ck_assert_int_eq(add_pieces(&lost, 900), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    close_backend();
    load_all();
    ck_assert_uint_eq(backend->last_number, 900);
    while (backend->tidy(backend, 3))
        ;
    close_backend();
    ck_assert_int_eq(ask("select count(*) from chunk where id >> 20 = 900"), 0);
    ck_assert_int_gt(ask("select count(*) from chunk"), 0);
}
END_TEST

START_TEST(a_record_that_lacks_pieces_is_damaged)
{
    static const char *const damages[] = {
        "delete from pieces",
        "update pieces set number = number + 1",
        "update pieces set record = record + 1",
        "delete from chunk where id = (select max(id) from chunk)",
        "update chunk set body = body || x'00'",
        "insert into pieces select seq, 77 from record where seq = 2",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        remove_in(folder);
        memset(&model, 0, sizeof model);
        model.edge = 1;
        for (size_t k = 0; k < SCENES; k++)
            model.scene_numbers[k] = ++model.next_number;
        load_all();
        const uint64_t number = add_in_pieces(0, 3);
        struct item plain = {.scene = model.scene_numbers[0], .revision = 2};
        struct srv_entry entry = {.kind = SRV_ENTRY_RECORD, .scene = plain.scene, .number = 2};
        model.items[++model.last] = plain;
        ck_assert_int_eq(add(&entry, "", 0), SRV_JOURNAL_OK);
        ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
        model.durable = model.last;
        ck_assert_uint_gt(number, 0);
        close_backend();
        (void)ask(damages[i]);
        const bool opened = load_at(folder, true);
        if (i == 3) { /* SQLite does not know how many there were, but the record does */
            ck_assert(opened && found.wrong);
            close_backend();
            continue;
        }
        ck_assert_msg(!opened, "%s", damages[i]);
        ck_assert_ptr_nonnull(strstr(error, "journal.db is damaged: "));
    }
}
END_TEST

/* A journal of the first format is one without the table of pieces. */
START_TEST(a_journal_of_the_first_format_is_read_and_goes_on)
{
    load_all();
    for (size_t i = 0; i < 5; i++) {
        struct item *item = make_item(0, ++model.revisions[0], false);
        struct srv_entry entry = {
            .kind = SRV_ENTRY_RECORD, .scene = item->scene, .number = item->revision};
        item->pieces = 0;
        ck_assert_int_eq(add(&entry, item->bytes, item->length), SRV_JOURNAL_OK);
        model.durable = ++model.last;
    }
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    close_backend();
    (void)ask("drop table pieces");
    (void)ask("pragma user_version = 1");
    load_all();
    (void)add_in_pieces(0, 3);
    close_backend();
    load_all();
    ck_assert_uint_eq(found.pieces, 3);
    close_backend();
    ck_assert_int_eq(ask("pragma user_version"), 2);
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
    ck_assert_int_eq(ask("select (select count(*) from chunk) + (select count(*) from snapshot)"),
                     0);
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

/* ---- Excerpts -------------------------------------------------------------------------------- */

/* Checks the rows of a slice. *next: the record that comes next; *pieces: how many of its pieces,
 * or of the snapshot's, have come. */
static void check_slice(const struct srv_excerpt *e, const struct snapshot *snapshot,
                        uint64_t *next, uint64_t *pieces, size_t *looked)
{
    for (size_t i = 0; i < e->count; i++, ++*looked) {
        const struct srv_row *row = &e->rows[i];
        if (row->seq == 0) {
            ck_assert(snapshot->there && *next == 0 && !row->is_piece);
            ck_assert_uint_eq(row->number, *pieces);
            ck_assert_uint_eq(row->count, snapshot->chunks);
            ck_assert_uint_eq(row->from, snapshot->from);
            const size_t length = chunk_bytes(snapshot->seed, (*pieces)++, room);
            ck_assert_mem_eq(row->bytes.bytes, room, length);
            ck_assert_uint_eq(row->bytes.length, length);
            continue;
        }
        if (*next == 0) {
            ck_assert_uint_eq(*pieces, snapshot->there ? snapshot->chunks : 0);
            *next = snapshot->there ? snapshot->from : model.edge;
            *pieces = 0;
        }
        while (model.items[*next].scene != e->scene)
            ++*next;
        const struct item *item = &model.items[*next];
        ck_assert_uint_eq(row->seq, *next);
        ck_assert_int_eq(row->is_piece, *pieces < item->pieces);
        const size_t length = row->is_piece ? chunk_bytes(item->seed, *pieces, room) : item->length;
        ck_assert_uint_eq(row->bytes.length, length);
        ck_assert_mem_eq(row->bytes.bytes, row->is_piece ? room : item->bytes, length);
        *pieces = row->is_piece ? *pieces + 1 : 0;
        *next += !row->is_piece;
    }
}

/* Reads an excerpt of a scene while groups are written. */
static size_t check_excerpt(size_t scene, size_t *slices)
{
    static struct srv_excerpt e;
    const struct snapshot snapshot = model.snapshots[scene];
    const uint64_t from = snapshot.there ? snapshot.from : model.edge;
    uint64_t next = 0, pieces = 0;
    size_t looked = 0;
    e = (struct srv_excerpt){.scene = model.scene_numbers[scene]};
    backend->keeps = true;
    for (bool ended = false; !ended; ended = e.ended, ++*slices) {
        srv_excerpt_clear(&e);
        backend->read(backend, &e);
        ck_assert_int_eq(e.status, OBB_OK);
        check_slice(&e, &snapshot, &next, &pieces, &looked);
        if (e.ended)
            break;
        ck_assert_int_eq(write_group(6), SRV_JOURNAL_OK);
        while (backend->tidy(backend, model.durable + 1))
            ;
    }
    /* nothing is left out */
    for (uint64_t seq = next != 0 ? next : from; seq <= model.durable; seq++)
        ck_assert(model.items[seq].scene != e.scene || model.items[seq].gone);
    srv_excerpt_clear(&e);
    backend->keeps = false;
    return looked;
}

START_TEST(an_excerpt_is_all_that_is_there_of_a_scene)
{
    enum { LONG = 1000 };
    size_t looked = 0, slices = 0, excerpts = 0;
    load_all();
    while (model.last + LONG + 600 < RECORDS) {
        ck_assert_int_eq(write_group(40), SRV_JOURNAL_OK);
        looked += check_excerpt(excerpts++ % SCENES, &slices);
        forget_some();
    }
    const uint64_t forgotten = model.edge - 1;
    for (size_t i = 0; i < LONG; i++)
        ck_assert_int_eq(add_record(0, false), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    model.durable = model.last;
    const size_t many = check_excerpt(0, &slices);
    printf("%zu rows of %zu excerpts, %zu in one of %zu slices, %llu records were forgotten\n",
           looked, excerpts, many, slices, (unsigned long long)forgotten);
    ck_assert_msg(looked > 10 * excerpts && many >= LONG && slices >= LONG / SRV_EXCERPT_ROWS &&
                      forgotten > 500,
                  "%zu %zu %zu %zu %llu", looked, excerpts, many, slices,
                  (unsigned long long)forgotten);
    static struct srv_excerpt e;
    struct obb_budget little;
    obb_budget_init(&little, 1000);
    e = (struct srv_excerpt){.scene = model.scene_numbers[0], .budget = &little};
    backend->read(backend, &e);
    ck_assert_int_eq(e.status, OBB_NO_MEMORY);
    srv_excerpt_clear(&e);
    ck_assert_uint_eq(obb_budget_used(&little), 0);
    e = (struct srv_excerpt){.scene = ++model.next_number}; /* of no scene */
    for (size_t i = 0; !e.ended; i++) {
        backend->read(backend, &e);
        ck_assert(e.status == OBB_OK && e.count == 0 && i < 100);
    }
    close_backend();
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

/* Returns how often `what` stands in what a pipe holds, and empties the pipe. */
static size_t lines_with(int pipe_end, const char *what)
{
    char text[4096];
    const ssize_t length = read(pipe_end, text, sizeof text - 1);
    size_t count = 0;
    text[length > 0 ? length : 0] = '\0';
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

START_TEST(the_log_says_once_that_the_disk_is_full_and_later_that_it_works)
{
    enum { TRIES = 5 };
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    const srv_log log = {.descriptor = ends[1], .level = SRV_INFO};
    faulty_begin();
    load_all();
    backend->log = &log;
    ck_assert_int_eq(write_group(6), SRV_JOURNAL_OK);
    ck_assert_uint_eq(lines_with(ends[0], "journal-"), 0);
    for (size_t i = 0; i < TRIES; i++) {
        faulty_arm(FAULTY_WRITE, 1, 1, SQLITE_FULL);
        ck_assert_int_eq(write_group(6), SRV_JOURNAL_FULL);
        ck_assert_uint_eq(lines_with(ends[0], "warn journal-fails"), i == 0);
        while (!backend->recover(backend))
            ;
    }
    const double begun = srv_clock();
    size_t works = 0;
    while (works == 0 && srv_clock() - begun < test_timeout(20)) {
        test_rest(10);
        ck_assert_int_eq(write_group(1), SRV_JOURNAL_OK);
        works = lines_with(ends[0], "info journal-works");
    }
    ck_assert_uint_eq(works, 1);
    ck_assert_double_gt(srv_clock() - begun, 1); /* it might only come and go */
    ck_assert_int_eq(write_group(6), SRV_JOURNAL_OK);
    ck_assert_uint_eq(lines_with(ends[0], "journal-"), 0);
    close_backend();
    faulty_end();
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

/* Recovers, as the journal does, in a few tries. */
static void recover(void)
{
    for (size_t tries = 0; !backend->recover(backend); tries++)
        ck_assert_uint_lt(tries, 100);
}

/* Lets the next sync fail, and the one when the connection is closed: so the write-ahead log stays,
 * and what was being written is there all the same. */
static void arm_sync(void) { faulty_arm(FAULTY_SYNC, 1, 2, 0); }

static void disarm_and_recover(void)
{
    recover();
    ck_assert_uint_ge(faulty.seen, 2);
    faulty_arm(FAULTY_SYNC, 0, 0, 0);
}

/* The group is in the file all the same. */
static void fail_to_commit(void)
{
    arm_sync();
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_FAILED);
    disarm_and_recover();
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

/* Adds a snapshot of one chunk of so many bytes, and the word that it is whole. */
static void add_whole(uint64_t scene, uint64_t snapshot, uint64_t from, uint64_t replaces,
                      size_t length)
{
    unsigned char *some = calloc(length, 1);
    ck_assert_ptr_nonnull(some);
    struct srv_entry chunk = {.kind = SRV_ENTRY_CHUNK, .scene = scene, .snapshot = snapshot};
    struct srv_entry word = {.kind = SRV_ENTRY_SNAPSHOT,
                             .scene = scene,
                             .snapshot = snapshot,
                             .number = 1,
                             .from = from,
                             .replaces = replaces};
    ck_assert_int_eq(add(&chunk, some, length), SRV_JOURNAL_OK);
    ck_assert_int_eq(add(&word, "", 0), SRV_JOURNAL_OK);
    free(some);
}

/* Adds a record of that scene, and makes it durable. */
static void write_record(uint64_t scene, uint64_t revision)
{
    struct srv_entry record = {.kind = SRV_ENTRY_RECORD, .scene = scene, .number = revision};
    ck_assert_int_eq(add(&record, "", 0), SRV_JOURNAL_OK);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
}

/* Returns the number of the snapshot of scene 70, or 0; records and chunks are counted, too. */
static int64_t snapshot_of_70(int64_t *out_records, int64_t *out_chunks)
{
    close_backend();
    *out_records = ask("select count(*) from record");
    *out_chunks = ask("select count(*) from chunk");
    const int64_t number = ask("select number from snapshot where scene = 70");
    ck_assert_msg(load_at(folder, true), "%s", error);
    return number;
}

/* A scene has a snapshot. A failed group that is there all the same changes it in different ways:
 * the journal is as before, whatever comes then. */
START_TEST(a_failed_group_leaves_the_snapshots_before_it)
{
    int64_t records, chunks;
    struct srv_entry dropped = {.kind = SRV_ENTRY_DROPPED, .scene = 70, .snapshot = 901};
    struct srv_entry gone = {.kind = SRV_ENTRY_GONE, .scene = 70};
    struct srv_entry drops_it = {.kind = SRV_ENTRY_DROPPED, .scene = 70, .snapshot = 900};
    faulty_begin();
    for (size_t i = 0; i < 6; i++) {
        remove_in(folder);
        ck_assert(load_at(folder, true));
        write_record(70, 1);
        write_record(71, 1);
        add_whole(70, 900, 2, 0, 100);
        ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
        if (i < 5)
            add_whole(70, 901, 3, i == 1 ? 71 : 0, 100);
        if (i == 2)
            ck_assert_int_eq(add(&gone, "", 0), SRV_JOURNAL_OK);
        if (i == 3) /* twice in one group */
            add_whole(70, 902, 3, 0, 100);
        if (i == 5)
            ck_assert_int_eq(add(&drops_it, "", 0), SRV_JOURNAL_OK);
        fail_to_commit();
        if (i == 4) { /* the loop gives up the one that failed */
            ck_assert_int_eq(add(&dropped, "", 0), SRV_JOURNAL_OK);
            ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
        }
        while (backend->tidy(backend, 1))
            ;
        ck_assert_int_eq(snapshot_of_70(&records, &chunks), 900);
        ck_assert_int_eq(records, 2);
        ck_assert_uint_eq(found.snapshots, 1);
        ck_assert_uint_eq(found.chunks, 1);
        ck_assert_uint_eq(found.records, 2);
        while (backend->tidy(backend, 1))
            ;
        ck_assert_int_eq(snapshot_of_70(&records, &chunks), 900);
        ck_assert_int_eq(chunks, 1); /* those of the failed group are gone */
        close_backend();
    }
    faulty_end();
}
END_TEST

START_TEST(a_failed_checkpoint_leaves_the_group_before_it)
{
    int64_t records, chunks;
    faulty_begin();
    load_all();
    add_whole(70, 900, 1, 0, (size_t)1001 * 4096);
    ck_assert_int_eq(backend->commit(backend), SRV_JOURNAL_OK);
    const uint64_t failures = figures.failures;
    arm_sync();
    ck_assert(!backend->tidy(backend, 1));
    ck_assert_uint_eq(figures.failures, failures + 1);
    disarm_and_recover();
    ck_assert_int_eq(snapshot_of_70(&records, &chunks), 900);
    ck_assert_uint_eq(found.snapshots, 1);
    close_backend();
    faulty_end();
}
END_TEST

/* What was to be forgotten is forgotten, but the back end was told that it failed. */
START_TEST(forgetting_goes_on_after_it_failed)
{
    faulty_begin();
    for (uint64_t left = 0; left < 2; left++) {
        remove_in(folder);
        ck_assert(load_at(folder, true));
        for (uint64_t i = 1; i <= 3; i++)
            write_record(70, i);
        const uint64_t edge = 4 - left;
        arm_sync();
        ck_assert(!backend->tidy(backend, edge));
        disarm_and_recover();
        const uint64_t failures = figures.failures;
        while (backend->tidy(backend, edge))
            ;
        ck_assert_uint_eq(figures.failures, failures);
        write_record(70, 4);
        close_backend();
        ck_assert_int_eq(ask("select count(*) from record"), 1 + (int64_t)left);
        ck_assert_int_eq(ask("select max(seq) from record"), 4);
        ck_assert_msg(load_at(folder, true), "%s", error);
        ck_assert_uint_eq(found.records, 1 + left);
        close_backend();
    }
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
    tcase_add_test(tests, a_group_that_is_taken_back_is_not_in_the_next_one);
    tcase_add_test(tests, scenes_that_are_gone_are_left_out_quickly);
    tcase_add_test(tests, chunks_that_nobody_needs_are_removed);
    tcase_add_test(tests, pieces_of_a_record_stay_as_long_as_it_does);
    tcase_add_test(tests, a_record_that_lacks_pieces_is_damaged);
    tcase_add_test(tests, a_journal_of_the_first_format_is_read_and_goes_on);
    tcase_add_test(tests, an_excerpt_is_all_that_is_there_of_a_scene);
    tcase_add_test(tests, a_file_that_is_cut_shows_a_beginning_or_is_refused);
    tcase_add_test(tests, a_flipped_bit_shows_a_beginning_or_is_refused);
    tcase_add_test(tests, each_failing_call_loses_nothing_that_was_answered);
    tcase_add_test(tests, the_log_says_once_that_the_disk_is_full_and_later_that_it_works);
    tcase_add_test(tests, a_failed_group_that_is_there_all_the_same_does_not_count);
    tcase_add_test(tests, a_failed_group_leaves_the_snapshots_before_it);
    tcase_add_test(tests, a_failed_checkpoint_leaves_the_group_before_it);
    tcase_add_test(tests, forgetting_goes_on_after_it_failed);
    tcase_add_test(tests, each_failing_allocation_is_met);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
