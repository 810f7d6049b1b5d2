#include "server/journal/sqlite.h"

#include "server/base/loop.h"
#include "server/journal/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Steps to change the format:
 *   1. Raise FORMAT, and write down here what the new one does otherwise.
 *   2. Let open_tables bring a journal of each older format to the new one, in one transaction.
 *   3. Keep a journal of the old format among the tests, and test that it is read.
 *
 * 1   record, chunk, snapshot, edge as in `tables` below
 * 2   the table `pieces` */
enum { FORMAT = 2, APPLICATION = 0x6f626264 };

enum {
    CHECKPOINT_PAGES = 100, /* of the write-ahead log; a page takes about 10 us */
    FORGET_ROWS = 1000,     /* at most, a slice, and */
    FORGET_BYTES = 800000,  /* of their bodies, or one row: such a slice takes as long as a group */
    FORGET_CHUNKS = 4,
    PASSED_ROWS = 2000,     /* of other scenes, in a slice of an excerpt */
    SPARE_BYTES = 20 << 20, /* more than twice the longest write-ahead log of usual groups */
    CALM_S = 2,             /* without a failure, until the log says that it works again */
    SNAPSHOT_COLUMNS = 6,
    NAME_SIZE = 200, /* of the name of a scene in an error, as it is shown */
    SCENE_SIZE = NAME_SIZE + 40,
    CHUNK_BITS = 20 /* a chunk's id is its snapshot's number and, in these bits, its own */
};

static const char tables[] =
    "create table record(seq integer primary key, scene integer not null, revision integer not "
    "null, gone integer not null, sum integer not null, body blob not null);"
    "create table chunk(id integer primary key, sum integer not null, body blob not null);"
    /* `first`: records of the scene count from here; `records`: the last record that was durable
     * when the snapshot was done */
    "create table snapshot(scene integer primary key, number integer not null, chunks integer not "
    "null, first integer not null, records integer not null, sum integer not null);"
    /* the first record that is kept, and the sum of the one before it */
    "create table edge(id integer primary key, seq integer not null, before integer not null, sum "
    "integer not null);";

/* What the chunks of a record are called; its sum covers that. They are there as long as the record
 * is. */
static const char table_of_pieces[] =
    "create table pieces(record integer primary key, number integer not null);";

enum statement {
    BEGIN,
    COMMIT,
    ADD_RECORD,
    ADD_CHUNK,
    FIND_SNAPSHOT,
    SET_SNAPSHOT,
    DROP_SNAPSHOT,
    DROP_WORD,
    DROP_CHUNKS,
    SUM_OF_RECORD,
    SLICE_OF_RECORDS,
    DROP_RECORDS,
    ADD_PIECES,
    FIND_PIECES,
    DROP_PIECES,
    SET_EDGE,
    READ_CHUNKS,
    READ_RECORDS,
    STATEMENTS
};

static const char *const statements[STATEMENTS] = {
    [BEGIN] = "begin immediate",
    [COMMIT] = "commit",
    [ADD_RECORD] = "insert into record values(?1, ?2, ?3, ?4, ?5, ?6)",
    /* A group that failed may be there all the same, and its chunks are added again. */
    [ADD_CHUNK] = "insert or replace into chunk values(?1, ?2, ?3)",
    [FIND_SNAPSHOT] = ("select number, chunks, first, records, sum from snapshot where "
                       "scene = ?1"),
    [SET_SNAPSHOT] = "insert or replace into snapshot values(?1, ?2, ?3, ?4, ?5, ?6)",
    [DROP_SNAPSHOT] = "delete from snapshot where scene = ?1",
    [DROP_WORD] = "delete from snapshot where scene = ?1 and number = ?2",
    [DROP_CHUNKS] = ("delete from chunk where id in (select id from chunk where id >= ?1 and id < "
                     "?2 limit ?3)"),
    [SUM_OF_RECORD] = "select sum from record where seq = ?1",
    [SLICE_OF_RECORDS] =
        ("select max(seq) from (select seq, sum(bytes) over (order by seq) as until from (select "
         "seq, 64 + length(body) as bytes from record where seq < ?1 order by seq limit ?2)) where "
         "until <= ?3"),
    [DROP_RECORDS] = "delete from record where seq < ?1",
    [ADD_PIECES] = "insert into pieces values(?1, ?2)",
    [FIND_PIECES] = "select number from pieces where record < ?1 order by record limit 1",
    [DROP_PIECES] = "delete from pieces where number = ?1",
    [SET_EDGE] = "insert or replace into edge values(1, ?1, ?2, ?3)",
    [READ_CHUNKS] = "select id, sum, body from chunk where id >= ?1 and id < ?2 order by id",
    [READ_RECORDS] = ("select seq, scene, gone, coalesce(pieces.number, 0), body from record left "
                      "join pieces on pieces.record = seq where seq >= ?1 order by seq"),
};

/* The end of the log. */
struct end {
    uint64_t seq, sum; /* of the last record; 0: there was none yet */
};

/* A list of numbers that grows. */
struct numbers {
    uint64_t *items; /* owned */
    size_t count, capacity;
};

struct sqlite {
    struct srv_backend backend; /* first */
    char *path, *wal_path, *spare_path;
    int folder; /* descriptor of the folder, whose lock keeps the database file still; -1: none */
    sqlite3 *db;
    sqlite3_stmt *ready[STATEMENTS];
    struct end now, durable;
    uint64_t edge; /* the first record that is kept */
    /* What tidy removes, slice by slice. The last `fresh_…` of each belong to the group that is
     * being written. */
    struct numbers dead_snapshots, dead_scenes;
    size_t fresh_snapshots, fresh_scenes;
    /* The rows of snapshots that the group being written changes, as they were before: as many
     * numbers each as a row has columns. The number of the snapshot is 0 if there was no row. */
    struct numbers former_rows;
    int wal_pages;
    bool in_group;
    bool full;        /* the spare file was given up */
    bool broken;      /* this connection must not be used again */
    bool told;        /* the log says that it fails */
    double calm_from; /* by the clock: from then on it has not failed for a while */
    char why[160];    /* why it failed the last time */
};

/* ---- Sums ------------------------------------------------------------------------------------ */

/* The key of the sums is part of the format. They find damage; they do not stop somebody who forges
 * a file. */
static uint64_t sum_of(const uint64_t *numbers, size_t count, const void *bytes, size_t length)
{
    obb_hash_key key = {.k0 = 0x6f62626420736372, .k1 = 0x626f6f6b2e2e2e2e};
    unsigned char head[64];
    for (size_t i = 0; i < count; i++)
        obb_word_put(head + 8 * i, numbers[i]);
    key.k0 = obb_hash(key, head, 8 * count);
    return obb_hash(key, bytes, length);
}

static uint64_t sum_of_record(uint64_t before, uint64_t seq, uint64_t scene, uint64_t revision,
                              bool gone, uint64_t pieces, obb_str body)
{
    const uint64_t head[] = {before, seq, scene, revision, gone, body.length, pieces};
    return sum_of(head, pieces != 0 ? 7 : 6, body.bytes, body.length);
}

static uint64_t sum_of_chunk(uint64_t id, obb_str body)
{
    const uint64_t head[] = {id, body.length};
    return sum_of(head, 2, body.bytes, body.length);
}

static uint64_t sum_of_snapshot(uint64_t scene, uint64_t number, uint64_t chunks, uint64_t first,
                                uint64_t records)
{
    const uint64_t head[] = {scene, number, chunks, first, records};
    return sum_of(head, 5, "", 0);
}

static uint64_t sum_of_edge(uint64_t seq, uint64_t before)
{
    const uint64_t head[] = {seq, before};
    return sum_of(head, 2, "", 0);
}

/* ---- Lists of numbers ------------------------------------------------------------------------ */

/* Makes room for so many more, at most 16. */
static bool numbers_reserve_more(struct numbers *numbers, size_t more)
{
    if (numbers->count + more <= numbers->capacity)
        return true;
    const size_t capacity = numbers->capacity == 0 ? 16 : 2 * numbers->capacity;
    uint64_t *items = obb_realloc(numbers->items, capacity, sizeof *items);
    if (items == NULL)
        return false;
    numbers->items = items;
    numbers->capacity = capacity;
    return true;
}

static bool numbers_reserve(struct numbers *numbers) { return numbers_reserve_more(numbers, 1); }

/* After numbers_reserve. */
static void numbers_push(struct numbers *numbers, uint64_t number)
{
    numbers->items[numbers->count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void numbers_sort(struct numbers *numbers)
{
    if (numbers->count > 1)
        qsort(numbers->items, numbers->count, sizeof *numbers->items, compare_numbers);
}

/* After numbers_sort. */
static bool numbers_has(const struct numbers *numbers, uint64_t number)
{
    return numbers->count > 0 && bsearch(&number, numbers->items, numbers->count,
                                         sizeof *numbers->items, compare_numbers) != NULL;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static struct sqlite *self(struct srv_backend *backend) { return (struct sqlite *)backend; }

/* Binds whole numbers to the first parameters. They are kept as SQLite's signed ones. */
static sqlite3_stmt *bound(struct sqlite *s, enum statement which, const uint64_t *numbers,
                           size_t count)
{
    sqlite3_stmt *statement = s->ready[which];
    for (size_t i = 0; i < count; i++)
        (void)sqlite3_bind_int64(statement, (int)i + 1, (sqlite3_int64)numbers[i]);
    return statement;
}

/* Runs a statement that gives no rows. */
static int run(sqlite3_stmt *statement)
{
    const int result = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

static int run_with(struct sqlite *s, enum statement which, const uint64_t *numbers, size_t count)
{
    return run(bound(s, which, numbers, count));
}

/* Runs a statement with a body behind its numbers. */
static int run_with_body(struct sqlite *s, enum statement which, const uint64_t *numbers,
                         size_t count, obb_str body)
{
    sqlite3_stmt *statement = bound(s, which, numbers, count);
    int result = sqlite3_bind_blob64(statement, (int)count + 1, body.length != 0 ? body.bytes : "",
                                     body.length, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = run(statement);
    (void)sqlite3_clear_bindings(statement);
    return result;
}

/* Returns the first number of the first row; *out_found is false if there is no row. */
static int find(struct sqlite *s, enum statement which, uint64_t number, uint64_t *out,
                bool *out_found)
{
    sqlite3_stmt *statement = bound(s, which, &number, 1);
    const int result = sqlite3_step(statement);
    *out_found = result == SQLITE_ROW;
    *out = *out_found ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

static uint64_t number_in(sqlite3_stmt *row, int column)
{
    return (uint64_t)sqlite3_column_int64(row, column);
}

static obb_str body_in(sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);
    return (obb_str){.bytes = bytes != NULL ? bytes : "",
                     .length = (size_t)sqlite3_column_bytes(row, column)};
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void undo(struct sqlite *s)
{
    if (sqlite3_get_autocommit(s->db) == 0)
        (void)sqlite3_exec(s->db, "rollback", NULL, NULL, NULL);
    s->in_group = false;
    s->now = s->durable;
    s->dead_snapshots.count -= s->fresh_snapshots;
    s->dead_scenes.count -= s->fresh_scenes;
    s->fresh_snapshots = s->fresh_scenes = 0;
}

/* Returns false while somebody copies the database file (backup.h). */
static bool may_checkpoint(const struct sqlite *s)
{
    return s->folder < 0 || flock(s->folder, LOCK_EX | LOCK_NB) == 0;
}

static void end_checkpoint(const struct sqlite *s)
{
    if (s->folder >= 0)
        (void)flock(s->folder, LOCK_UN);
}

/* Returns whether the system refused room: on the disk, of the user's quota, or beyond the length
 * that the process may give a file. */
static bool means_full(int system)
{
    return system == ENOSPC || system == EDQUOT || system == EFBIG;
}

/* Returns whether a file is as long as the process may make one. SQLite does not always keep the
 * error of the write that failed. */
static bool has_full_length(const struct sqlite *s)
{
    enum { NEAR = 65536 }; /* the last pages may have found no room as a whole */
    const char *const paths[] = {s->path, s->wal_path};
    struct rlimit limit;
    struct stat file;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (stat(paths[i], &file) == 0 && (rlim_t)file.st_size + NEAR >= limit.rlim_cur)
            return true;
    return false;
}

/* Keeps why it failed. `system`: the error of the system, or 0. */
static void keep_cause(struct sqlite *s, const char *what, int system)
{
    (void)snprintf(s->why, sizeof s->why, "%s%s%s", what, system != 0 ? ": " : "",
                   system != 0 ? strerror(system) : "");
}

/* Says in the log that it fails, once until it works again. */
static void tell_failure(struct sqlite *s)
{
    if (s->backend.log == NULL)
        return;
    s->calm_from = srv_clock() + CALM_S;
    if (!s->told)
        SRV_LOG(s->backend.log, SRV_WARN, "journal-fails", srv_text("data", s->path),
                srv_text("why", s->why));
    s->told = true;
}

/* A group is durable. Says in the log that it works, if it has not failed again for a while. */
static void tell_success(struct sqlite *s)
{
    if (!s->told || srv_clock() < s->calm_from)
        return;
    s->told = false;
    SRV_LOG(s->backend.log, SRV_INFO, "journal-works", srv_text("data", s->path));
}

/* Undoes the group and says what the failure means. After a full disk the connection is still good.
 * After anything else it is not: what the file holds is then unknown. */
static srv_journal_status failed(struct sqlite *s, int result)
{
    const int system = sqlite3_system_errno(s->db);
    const bool full =
        result == SQLITE_FULL || ((result & 0xff) == SQLITE_IOERR &&
                                  (means_full(system) || (system == 0 && has_full_length(s))));
    keep_cause(s, sqlite3_errstr(result), system);
    tell_failure(s);
    undo(s);
    if (result == SQLITE_NOMEM)
        return SRV_JOURNAL_FAILED;
    if ((result & 0xff) != SQLITE_FULL)
        s->broken = true;
    if (!full)
        return SRV_JOURNAL_FAILED;
    s->full = true;
    srv_spare_give_up(s->spare_path);
    if (!s->broken && may_checkpoint(s)) {
        (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        end_checkpoint(s);
    }
    return SRV_JOURNAL_FULL;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint64_t chunk_id(uint64_t snapshot, uint64_t number)
{
    return snapshot << CHUNK_BITS | number;
}

/* pieces: what its chunks are called; 0: it has none. */
static int add_record(struct sqlite *s, struct srv_entry *entry, uint64_t scene, uint64_t revision,
                      bool gone, uint64_t pieces, obb_str body)
{
    if (gone && !numbers_reserve(&s->dead_scenes))
        return SQLITE_NOMEM;
    const struct end next = {
        .seq = s->now.seq + 1,
        .sum = sum_of_record(s->now.sum, s->now.seq + 1, scene, revision, gone, pieces, body)};
    const uint64_t columns[] = {next.seq, scene, revision, gone, next.sum};
    const uint64_t of_pieces[] = {next.seq, pieces};
    int result = run_with_body(s, ADD_RECORD, columns, 5, body);
    if (result == SQLITE_OK && pieces != 0)
        result = run_with(s, ADD_PIECES, of_pieces, 2);
    if (result != SQLITE_OK)
        return result;
    s->now = next;
    entry->seq = next.seq;
    if (gone) {
        numbers_push(&s->dead_scenes, scene);
        s->fresh_scenes++;
    }
    return SQLITE_OK;
}

static int add_chunk(struct sqlite *s, const struct srv_entry *entry, obb_str body)
{
    const uint64_t id = chunk_id(entry->snapshot, entry->number);
    const uint64_t columns[] = {id, sum_of_chunk(id, body)};
    return run_with_body(s, ADD_CHUNK, columns, 2, body);
}

/* Keeps the row of a scene's snapshot before the group changes it. *out_number: of the snapshot, or
 * 0. */
static int keep_row(struct sqlite *s, uint64_t scene, uint64_t *out_number)
{
    *out_number = 0;
    if (!numbers_reserve_more(&s->former_rows, SNAPSHOT_COLUMNS))
        return SQLITE_NOMEM;
    sqlite3_stmt *statement = bound(s, FIND_SNAPSHOT, &scene, 1);
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW || result == SQLITE_DONE) {
        const bool found = result == SQLITE_ROW;
        if (found)
            *out_number = number_in(statement, 0);
        numbers_push(&s->former_rows, scene);
        for (int i = 0; i < SNAPSHOT_COLUMNS - 1; i++)
            numbers_push(&s->former_rows, found ? number_in(statement, i) : 0);
    }
    (void)sqlite3_reset(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

/* The chunks of the snapshot before are removed later, by tidy. */
static int add_snapshot(struct sqlite *s, const struct srv_entry *entry)
{
    uint64_t former;
    if (!numbers_reserve(&s->dead_snapshots))
        return SQLITE_NOMEM;
    int result = keep_row(s, entry->scene, &former);
    if (result != SQLITE_OK)
        return result;
    const uint64_t columns[SNAPSHOT_COLUMNS] = {
        entry->scene,
        entry->snapshot,
        entry->number,
        entry->from,
        s->durable.seq,
        sum_of_snapshot(entry->scene, entry->snapshot, entry->number, entry->from, s->durable.seq)};
    result = run_with(s, SET_SNAPSHOT, columns, SNAPSHOT_COLUMNS);
    if (result == SQLITE_OK && former != 0 && former != entry->snapshot) {
        numbers_push(&s->dead_snapshots, former);
        s->fresh_snapshots++;
    }
    return result;
}

/* Its chunks are removed later, too. The word that it is whole may be there, if it is given up
 * after all. */
static int drop_snapshot(struct sqlite *s, const struct srv_entry *entry)
{
    const uint64_t columns[] = {entry->scene, entry->snapshot};
    uint64_t former;
    if (!numbers_reserve(&s->dead_snapshots))
        return SQLITE_NOMEM;
    int result = keep_row(s, entry->scene, &former);
    if (result == SQLITE_OK)
        result = run_with(s, DROP_WORD, columns, 2);
    if (result != SQLITE_OK)
        return result;
    numbers_push(&s->dead_snapshots, entry->snapshot);
    s->fresh_snapshots++;
    return SQLITE_OK;
}

static int begin(struct sqlite *s)
{
    if (s->in_group)
        return SQLITE_OK;
    const int result = run(s->ready[BEGIN]);
    s->in_group = result == SQLITE_OK;
    s->former_rows.count = 0;
    return result;
}

static srv_journal_status sqlite_add(struct srv_backend *backend, struct srv_entry *entry,
                                     struct wire_buf *bytes)
{
    struct sqlite *s = self(backend);
    const obb_str body = {.bytes = bytes->bytes, .length = bytes->length};
    if (s->broken) /* upkeep has failed, which nobody is told of */
        return s->full ? SRV_JOURNAL_FULL : SRV_JOURNAL_FAILED;
    int result = begin(s);
    if (result == SQLITE_OK) {
        switch (entry->kind) {
        case SRV_ENTRY_RECORD:
            result =
                add_record(s, entry, entry->scene, entry->number, false, entry->snapshot, body);
            break;
        case SRV_ENTRY_GONE:
            result = add_record(s, entry, entry->scene, entry->number, true, 0, body);
            break;
        case SRV_ENTRY_CHUNK:
            result = add_chunk(s, entry, body);
            break;
        case SRV_ENTRY_SNAPSHOT:
            result = add_snapshot(s, entry);
            if (result == SQLITE_OK && entry->replaces != 0)
                result = add_record(s, entry, entry->replaces, 0, true, 0, body);
            break;
        case SRV_ENTRY_DROPPED:
            result = drop_snapshot(s, entry);
            break;
        case SRV_ENTRY_KINDS:
            break;
        }
    }
    return result == SQLITE_OK ? SRV_JOURNAL_OK : failed(s, result);
}

static void sqlite_undo(struct srv_backend *backend) { undo(self(backend)); }

static srv_journal_status sqlite_commit(struct srv_backend *backend)
{
    struct sqlite *s = self(backend);
    const int result = run(s->ready[COMMIT]);
    if (result != SQLITE_OK)
        return failed(s, result);
    s->in_group = false;
    s->durable = s->now;
    s->former_rows.count = 0;
    s->fresh_snapshots = s->fresh_scenes = 0;
    tell_success(s);
    return SRV_JOURNAL_OK;
}

/* ---- Upkeep ---------------------------------------------------------------------------------- */

/* Removes some chunks of a dead snapshot. */
static int drop_chunks(struct sqlite *s)
{
    const uint64_t number = s->dead_snapshots.items[s->dead_snapshots.count - 1];
    const uint64_t columns[] = {chunk_id(number, 0), chunk_id(number + 1, 0), FORGET_CHUNKS};
    const int result = run_with(s, DROP_CHUNKS, columns, 3);
    if (result == SQLITE_OK && sqlite3_changes(s->db) < FORGET_CHUNKS)
        s->dead_snapshots.count--;
    return result;
}

/* Lets go of the snapshot of a scene that is gone. */
static int drop_scene(struct sqlite *s)
{
    const uint64_t scene = s->dead_scenes.items[s->dead_scenes.count - 1];
    uint64_t snapshot;
    bool found;
    if (!numbers_reserve(&s->dead_snapshots))
        return SQLITE_NOMEM;
    int result = find(s, FIND_SNAPSHOT, scene, &snapshot, &found);
    if (result == SQLITE_OK && found)
        result = run_with(s, DROP_SNAPSHOT, &scene, 1);
    if (result != SQLITE_OK)
        return result;
    s->dead_scenes.count--;
    if (found)
        numbers_push(&s->dead_snapshots, snapshot);
    return SQLITE_OK;
}

/* Lets go of the pieces of records below `seq`. */
static int drop_pieces(struct sqlite *s, uint64_t seq)
{
    for (;;) {
        uint64_t number;
        bool found;
        if (!numbers_reserve(&s->dead_snapshots))
            return SQLITE_NOMEM;
        int result = find(s, FIND_PIECES, seq, &number, &found);
        if (result == SQLITE_OK && found)
            result = run_with(s, DROP_PIECES, &number, 1);
        if (result != SQLITE_OK || !found)
            return result;
        numbers_push(&s->dead_snapshots, number);
    }
}

/* Returns the end of the next slice of records below `edge` that go at once. */
static int slice_of_records(struct sqlite *s, uint64_t edge, uint64_t *out_upto)
{
    const uint64_t bounds[] = {edge, FORGET_ROWS, FORGET_BYTES};
    sqlite3_stmt *statement = bound(s, SLICE_OF_RECORDS, bounds, 3);
    const int result = sqlite3_step(statement);
    const uint64_t last = result == SQLITE_ROW ? number_in(statement, 0) : 0;
    *out_upto = last >= s->edge ? last + 1 : s->edge + 1; /* none: the first alone is too long */
    (void)sqlite3_reset(statement);
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

/* Forgets the oldest records, those below `edge`. */
static int drop_records(struct sqlite *s, uint64_t edge)
{
    uint64_t upto = 0, before = 0;
    bool found = false;
    int result = slice_of_records(s, edge, &upto);
    if (result == SQLITE_OK)
        result = find(s, SUM_OF_RECORD, upto - 1, &before, &found);
    if (result == SQLITE_OK && !found)
        return SQLITE_CORRUPT;
    if (result == SQLITE_OK)
        result = run_with(s, DROP_RECORDS, &upto, 1);
    if (result == SQLITE_OK)
        result = drop_pieces(s, upto);
    const uint64_t columns[] = {upto, before, sum_of_edge(upto, before)};
    if (result == SQLITE_OK)
        result = run_with(s, SET_EDGE, columns, 3);
    if (result == SQLITE_OK)
        s->edge = upto;
    return result;
}

static void measure(struct sqlite *s)
{
    uint64_t size = 0;
    struct stat found;
    if (stat(s->path, &found) == 0)
        size += (uint64_t)found.st_size;
    if (stat(s->wal_path, &found) == 0)
        size += (uint64_t)found.st_size;
    atomic_store_explicit(&s->backend.figures->size, size, memory_order_relaxed);
}

/* By hand, because SQLite swallows the errors of automatic ones. The next group waits for it, so it
 * is short: ten times the pages cost a fifth less in all, but made the p99 of ticks 5 ms longer. */
static int checkpoint(struct sqlite *s)
{
    if (!may_checkpoint(s))
        return SQLITE_OK; /* later */
    const int result =
        sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    end_checkpoint(s);
    s->wal_pages = 0;
    measure(s);
    return result;
}

/* One kind of upkeep a slice, each a transaction of its own. Scenes that are gone come before
 * records: the record that says so may only go when no snapshot is left. */
static int drop_some(struct sqlite *s, uint64_t edge)
{
    const struct numbers snapshots = s->dead_snapshots, scenes = s->dead_scenes;
    const uint64_t kept = s->edge;
    int result = begin(s);
    if (result == SQLITE_OK)
        result = s->dead_scenes.count > 0      ? drop_scene(s)
                 : s->dead_snapshots.count > 0 ? drop_chunks(s)
                                               : drop_records(s, edge);
    if (result == SQLITE_OK)
        result = run(s->ready[COMMIT]);
    if (result == SQLITE_OK) {
        s->in_group = false;
        return result;
    }
    s->dead_snapshots.count = snapshots.count;
    s->dead_scenes.count = scenes.count;
    s->edge = kept;
    return result;
}

static bool something_to_drop(const struct sqlite *s, uint64_t edge)
{
    return s->dead_scenes.count > 0 || s->dead_snapshots.count > 0 || edge > s->edge;
}

static bool sqlite_tidy(struct srv_backend *backend, uint64_t edge)
{
    struct sqlite *s = self(backend);
    const uint64_t safe_edge = edge <= s->durable.seq + 1 ? edge : s->durable.seq + 1;
    int result = SQLITE_OK;
    if (s->broken)
        return false;
    if (atomic_load_explicit(&s->backend.figures->size, memory_order_relaxed) == 0)
        measure(s);
    if (s->wal_pages >= CHECKPOINT_PAGES)
        result = checkpoint(s);
    else if (!backend->keeps && something_to_drop(s, safe_edge))
        result = drop_some(s, safe_edge);
    if (result != SQLITE_OK) {
        (void)failed(s, result);
        atomic_fetch_add_explicit(&s->backend.figures->failures, 1, memory_order_relaxed);
        return false;
    }
    return s->wal_pages >= CHECKPOINT_PAGES || (!backend->keeps && something_to_drop(s, safe_edge));
}

/* ---- Excerpts -------------------------------------------------------------------------------- */

static bool has_room(const struct srv_excerpt *e)
{
    return e->count < SRV_EXCERPT_ROWS && e->bytes < SRV_EXCERPT_BYTES;
}

static int add_row(struct srv_excerpt *e, struct srv_row row, obb_str body)
{
    row.bytes.budget = e->budget;
    wire_buf_append(&row.bytes, body.bytes, body.length);
    if (row.bytes.failed) {
        wire_buf_fini(&row.bytes);
        return SQLITE_NOMEM;
    }
    e->rows[e->count++] = row;
    e->bytes += body.length;
    return SQLITE_OK;
}

/* Finds the scene's snapshot, and the record that comes next behind it. */
static int begin_excerpt(struct sqlite *s, struct srv_excerpt *e)
{
    sqlite3_stmt *row = bound(s, FIND_SNAPSHOT, &e->scene, 1);
    const int result = sqlite3_step(row);
    e->next = s->edge;
    if (result == SQLITE_ROW) {
        e->set = number_in(row, 0);
        e->chunks = number_in(row, 1);
        e->next = e->first = number_in(row, 2);
    }
    (void)sqlite3_reset(row);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Reads pieces of a snapshot, or of the record that comes next. */
static int read_set(struct sqlite *s, struct srv_excerpt *e)
{
    const bool of_record = e->in_record;
    const uint64_t bounds[] = {chunk_id(e->set, e->set_next), chunk_id(e->set + 1, 0)};
    sqlite3_stmt *row = bound(s, READ_CHUNKS, bounds, 2);
    int result = SQLITE_OK, step = SQLITE_ROW;
    while (result == SQLITE_OK && has_room(e) && (step = sqlite3_step(row)) == SQLITE_ROW) {
        const obb_str body = body_in(row, 2);
        const uint64_t id = chunk_id(e->set, e->set_next);
        if (number_in(row, 0) != id || number_in(row, 1) != sum_of_chunk(id, body))
            result = SQLITE_CORRUPT;
        else
            result = add_row(e,
                             (struct srv_row){.seq = of_record ? e->next : 0,
                                              .is_piece = of_record,
                                              .number = e->set_next,
                                              .count = of_record ? 0 : e->chunks,
                                              .from = of_record ? 0 : e->first},
                             body);
        e->set_next++;
    }
    (void)sqlite3_reset(row);
    if (result == SQLITE_OK && step == SQLITE_DONE) {
        if (!of_record && e->set_next != e->chunks)
            return SQLITE_CORRUPT;
        e->set = e->set_next = 0;
    }
    return result != SQLITE_OK || step == SQLITE_DONE || step == SQLITE_ROW ? result : step;
}

/* Adds the record in a row, or finds its pieces first. */
static int read_record_of(struct srv_excerpt *e, sqlite3_stmt *row)
{
    const uint64_t pieces = number_in(row, 3);
    if (number_in(row, 2) != 0) { /* the scene is gone */
        e->ended = true;
        return SQLITE_OK;
    }
    if (pieces != 0 && !e->in_record) {
        e->in_record = true;
        e->set = pieces;
        return SQLITE_OK;
    }
    e->in_record = false;
    return add_row(e, (struct srv_row){.seq = number_in(row, 0)}, body_in(row, 4));
}

/* Reads records, up to one whose pieces come first. */
static int read_records(struct sqlite *s, struct srv_excerpt *e, size_t *passed)
{
    sqlite3_stmt *row = bound(s, READ_RECORDS, &e->next, 1);
    int result = SQLITE_OK, step = SQLITE_ROW;
    while (result == SQLITE_OK && e->set == 0 && !e->ended && has_room(e) &&
           *passed < PASSED_ROWS && (step = sqlite3_step(row)) == SQLITE_ROW) {
        const uint64_t seq = number_in(row, 0);
        if (number_in(row, 1) != e->scene)
            ++*passed;
        else
            result = read_record_of(e, row);
        e->next = e->set != 0 ? seq : seq + 1;
    }
    (void)sqlite3_reset(row);
    e->ended = e->ended || step == SQLITE_DONE;
    return result != SQLITE_OK || step == SQLITE_DONE || step == SQLITE_ROW ? result : step;
}

static void sqlite_read(struct srv_backend *backend, struct srv_excerpt *e)
{
    struct sqlite *s = self(backend);
    size_t passed = 0;
    int result = s->broken ? SQLITE_IOERR : SQLITE_OK;
    if (result == SQLITE_OK && e->next == 0)
        result = begin_excerpt(s, e);
    while (result == SQLITE_OK && !e->ended && has_room(e) && passed < PASSED_ROWS)
        result = e->set != 0 ? read_set(s, e) : read_records(s, e, &passed);
    e->status = result == SQLITE_OK      ? OBB_OK
                : result == SQLITE_NOMEM ? OBB_NO_MEMORY
                                         : OBB_BAD_VALUE;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int on_wal(void *context, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct sqlite *)context)->wal_pages = pages;
    return SQLITE_OK;
}

static int number_of(sqlite3 *db, const char *pragma, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, pragma, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    *out = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_finalize(statement);
    return result == SQLITE_ROW ? SQLITE_OK : result;
}

/* Runs what makes tables of this format of the tables that are there, all or nothing. */
static bool make_tables(sqlite3 *db, const char *first, const char *second)
{
    char stamp[96];
    (void)snprintf(stamp, sizeof stamp, "pragma application_id=%d; pragma user_version=%d; commit",
                   APPLICATION, FORMAT);
    if (sqlite3_exec(db, "begin immediate", NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, first, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, second, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, stamp, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    (void)sqlite3_exec(db, "rollback", NULL, NULL, NULL);
    return false;
}

/* Returns the text for one line, or NULL if the tables are there. */
static const char *open_tables(sqlite3 *db)
{
    int64_t application, format, pages;
    if (number_of(db, "pragma page_count", &pages) != SQLITE_OK ||
        number_of(db, "pragma application_id", &application) != SQLITE_OK ||
        number_of(db, "pragma user_version", &format) != SQLITE_OK)
        return sqlite3_errmsg(db);
    if (pages == 0 || (application == 0 && format == 0 && pages == 1))
        return make_tables(db, tables, table_of_pieces) ? NULL : sqlite3_errmsg(db);
    if (application != APPLICATION)
        return "it is not a journal of obbd";
    if (format > FORMAT)
        return "it was written by a newer obbd";
    if (format < 1)
        return "it has a format that was never written";
    return format == FORMAT || make_tables(db, "", table_of_pieces) ? NULL : sqlite3_errmsg(db);
}

/* Opens the connection. Returns the text for one line, or NULL. */
static const char *connect_db(struct sqlite *s)
{
    static const char settings[] = "pragma page_size=4096; pragma locking_mode=exclusive; "
                                   "pragma journal_mode=wal; pragma synchronous=full; "
                                   "pragma wal_autocheckpoint=0; pragma cell_size_check=on; "
                                   "pragma cache_size=-16000; pragma temp_store=memory";
    if (sqlite3_open_v2(s->path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return s->db != NULL ? sqlite3_errmsg(s->db) : "there is not enough memory";
    (void)sqlite3_extended_result_codes(s->db, 1);
    const int result = sqlite3_exec(s->db, settings, NULL, NULL, NULL);
    if ((result & 0xff) == SQLITE_BUSY)
        return "another obbd uses it";
    if (result != SQLITE_OK)
        return sqlite3_errmsg(s->db);
    const char *text = open_tables(s->db);
    if (text != NULL)
        return text;
    (void)sqlite3_wal_hook(s->db, on_wal, s);
    for (size_t i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->ready[i],
                               NULL) != SQLITE_OK)
            return sqlite3_errmsg(s->db);
    return NULL;
}

static void disconnect(struct sqlite *s)
{
    for (size_t i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(s->ready[i]);
        s->ready[i] = NULL;
    }
    /* the last connection checkpoints when it is closed */
    const bool free = may_checkpoint(s);
    if (!free && s->db != NULL)
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(s->db);
    if (free)
        end_checkpoint(s);
    s->db = NULL;
    s->in_group = false;
    s->wal_pages = 0;
}

static void sqlite_close(struct srv_backend *backend)
{
    struct sqlite *s = self(backend);
    disconnect(s);
    if (s->folder >= 0)
        (void)close(s->folder);
    obb_free(s->dead_snapshots.items);
    obb_free(s->dead_scenes.items);
    obb_free(s->former_rows.items);
    obb_free(s->path);
    obb_free(s->wal_path);
    obb_free(s->spare_path);
    obb_free(s);
}

/* Returns an owned text, or NULL without memory. */
static char *joined(const char *dir, const char *name)
{
    const size_t size = strlen(dir) + strlen(name) + 2;
    char *path = obb_malloc(size, 1);
    if (path != NULL)
        (void)snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* Removes what the file holds of a group that failed: records beyond the last group that was
 * answered for, and what the group did to snapshots. The chunks of the former snapshots are still
 * there: only tidy removes chunks, once the group that replaces them is durable. */
static bool take_back(struct sqlite *s)
{
    char text[192];
    (void)snprintf(text, sizeof text,
                   "begin immediate; delete from pieces where record > %llu; delete from record "
                   "where seq > %llu",
                   (unsigned long long)s->durable.seq, (unsigned long long)s->durable.seq);
    bool good = sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK;
    /* a row that the group changed twice gets its first state last */
    for (size_t end = s->former_rows.count; end > 0 && good; end -= SNAPSHOT_COLUMNS) {
        const uint64_t *row = &s->former_rows.items[end - SNAPSHOT_COLUMNS];
        good = (row[1] != 0 ? run_with(s, SET_SNAPSHOT, row, SNAPSHOT_COLUMNS)
                            : run_with(s, DROP_SNAPSHOT, row, 1)) == SQLITE_OK;
    }
    return good && run(s->ready[COMMIT]) == SQLITE_OK;
}

/* After a failed sync nobody knows whether the file holds the last group, or the last slice of
 * upkeep, and this connection's cache may be wrong. So another connection looks, and takes the
 * group back.
 *
 * Source   Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020. */
static bool reconnect(struct sqlite *s)
{
    int64_t last = 0, edge = 1;
    disconnect(s);
    bool good = connect_db(s) == NULL &&
                number_of(s->db, "select coalesce(max(seq), 1) from edge", &edge) == SQLITE_OK &&
                number_of(s->db, "select coalesce(max(seq), 0) from record", &last) == SQLITE_OK;
    if (good) {
        s->edge = (uint64_t)edge;
        const uint64_t found = last != 0 ? (uint64_t)last : s->edge - 1;
        good = found >= s->durable.seq;
        if (good && (found > s->durable.seq || s->former_rows.count > 0))
            good = take_back(s);
    }
    if (!good)
        disconnect(s);
    return good;
}

static bool sqlite_recover(struct srv_backend *backend)
{
    struct sqlite *s = self(backend);
    const bool has_room = !s->full || srv_spare_make(s->spare_path, SPARE_BYTES);
    s->full = !has_room;
    if (!has_room || (s->broken && !reconnect(s))) {
        tell_failure(s);
        return false;
    }
    s->broken = false;
    return true;
}

/* Makes the file if it is not there, so that only its owner may read it. SQLite gives its other
 * files the same rights. */
static bool make_file(const char *path)
{
    const int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    return file >= 0 && close(file) == 0;
}

bool srv_sqlite_open(const char *dir, struct srv_backend **out, char *error, size_t error_size)
{
    struct sqlite *s = obb_calloc(1, sizeof *s);
    if (s != NULL) {
        s->folder = -1;
        s->backend = (struct srv_backend){.add = sqlite_add,
                                          .undo = sqlite_undo,
                                          .commit = sqlite_commit,
                                          .tidy = sqlite_tidy,
                                          .read = sqlite_read,
                                          .recover = sqlite_recover,
                                          .close = sqlite_close};
        s->path = joined(dir, "journal.db");
        s->wal_path = joined(dir, "journal.db-wal");
        s->spare_path = joined(dir, "spare");
    }
    if (s == NULL || s->path == NULL || s->wal_path == NULL || s->spare_path == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        if (s != NULL)
            sqlite_close(&s->backend);
        return false;
    }
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        (void)snprintf(error, error_size, "%s: %s", dir, strerror(errno));
        sqlite_close(&s->backend);
        return false;
    }
    s->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *text = s->folder >= 0 && make_file(s->path) ? connect_db(s) : strerror(errno);
    if (text != NULL) {
        (void)snprintf(error, error_size, "%s: %s", s->path, text);
        sqlite_close(&s->backend);
        return false;
    }
    if (!srv_spare_make(s->spare_path, SPARE_BYTES)) {
        s->full = true;
        s->backend.trouble = SRV_JOURNAL_FULL;
        keep_cause(s, "there is no room for the spare file", 0);
    }
    *out = &s->backend;
    return true;
}

/* ---- Loading --------------------------------------------------------------------------------- */

struct load {
    struct sqlite *s;
    const struct srv_backend_visitor *visitor;
    char *error;
    size_t error_size;
    struct numbers gone; /* scenes whose records do not count; sorted once all are known */
    uint64_t before;     /* the sum of the record before the first that is kept */
};

/* SQLite met damage, or could not read. */
static bool unreadable(struct load *l, int result)
{
    (void)snprintf(l->error, l->error_size, "%s: %s", l->s->path,
                   result == SQLITE_NOMEM ? "there is not enough memory"
                                          : sqlite3_errmsg(l->s->db));
    return false;
}

static bool stopped(struct load *l)
{
    (void)snprintf(l->error, l->error_size, "%s: %s", l->s->path, l->visitor->error);
    return false;
}

static void saw_number(struct sqlite *s, uint64_t number)
{
    if (number > s->backend.last_number)
        s->backend.last_number = number;
}

/* Calls `row` for each row of a query, with up to two numbers bound. */
static bool each(struct load *l, const char *query, uint64_t first, uint64_t second,
                 bool (*row)(struct load *l, sqlite3_stmt *row, void *context), void *context)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(l->s->db, query, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)first);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)second);
        for (result = sqlite3_step(statement); result == SQLITE_ROW;
             result = sqlite3_step(statement))
            if (!row(l, statement, context)) {
                (void)sqlite3_finalize(statement);
                return false;
            }
    }
    const bool good = result == SQLITE_DONE || unreadable(l, result);
    (void)sqlite3_finalize(statement);
    return good;
}

static bool read_name(struct load *l, sqlite3_stmt *row, void *context)
{
    char name[NAME_SIZE];
    if (l->visitor->name(l->visitor->context, body_in(row, 0), name, sizeof name))
        (void)snprintf(context, SCENE_SIZE, "the scene %s", name);
    return true;
}

/* Writes which scene it is: by its name, if what is there of its beginning tells that. */
static void describe_scene(struct load *l, uint64_t scene, char out[static SCENE_SIZE])
{
    (void)snprintf(out, SCENE_SIZE, "the scene with the number %llu", (unsigned long long)scene);
    if (l->visitor->name == NULL)
        return;
    if (each(l, "select body from record where scene = ?1 order by seq limit 1", scene, 0,
             read_name, out))
        (void)each(l,
                   "select body from chunk where id = (select number << 20 from snapshot where "
                   "scene = ?1)",
                   scene, 0, read_name, out);
}

/* Something of a scene is not what was written: `what`, and its number unless that is 0. */
static bool damaged(struct load *l, uint64_t scene, const char *what, uint64_t number)
{
    char which[SCENE_SIZE], count[24] = "";
    describe_scene(l, scene, which);
    if (number != 0)
        (void)snprintf(count, sizeof count, " %llu", (unsigned long long)number);
    (void)snprintf(l->error, l->error_size, "%s is damaged: %s%s of %s is not what was written",
                   l->s->path, what, count, which);
    return false;
}

static bool edge_is_damaged(struct load *l)
{
    (void)snprintf(l->error, l->error_size,
                   "%s is damaged: the beginning of the log is not what was written", l->s->path);
    return false;
}

static bool read_edge(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    l->s->edge = number_in(row, 0);
    l->before = number_in(row, 1);
    if (number_in(row, 2) != sum_of_edge(l->s->edge, l->before))
        return edge_is_damaged(l);
    l->s->now.seq = l->s->edge - 1;
    l->s->now.sum = l->before;
    return true;
}

/* Checks that the records follow each other, before any is shown. */
static bool read_record(struct load *l, sqlite3_stmt *row, void *context)
{
    struct sqlite *s = l->s;
    (void)context;
    const uint64_t seq = number_in(row, 0), scene = number_in(row, 1);
    const bool gone = number_in(row, 3) != 0;
    const uint64_t sum = sum_of_record(s->now.sum, seq, scene, number_in(row, 2), gone,
                                       number_in(row, 6), body_in(row, 5));
    if (seq != s->now.seq + 1 || sum != number_in(row, 4))
        return damaged(l, scene, "record", s->now.seq + 1);
    s->now = (struct end){.seq = seq, .sum = sum};
    saw_number(s, scene);
    saw_number(s, number_in(row, 6));
    if (!gone)
        return true;
    if (!numbers_reserve(&l->gone) || !numbers_reserve(&s->dead_scenes))
        return unreadable(l, SQLITE_NOMEM);
    numbers_push(&l->gone, scene);
    numbers_push(&s->dead_scenes, scene);
    return true;
}

static bool show_counts(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    if (l->visitor->counted != NULL)
        l->visitor->counted(l->visitor->context, l->s->now.seq + 1 - l->s->edge, number_in(row, 0));
    return true;
}

struct snapshot {
    uint64_t scene, number, chunks, first, seen;
};

static bool show_chunk(struct load *l, sqlite3_stmt *row, void *context)
{
    struct snapshot *snapshot = context;
    const obb_str body = body_in(row, 2);
    const uint64_t id = chunk_id(snapshot->number, snapshot->seen);
    if (number_in(row, 0) != id || number_in(row, 1) != sum_of_chunk(id, body))
        return damaged(l, snapshot->scene, "the snapshot", 0);
    if (l->visitor->chunk != NULL &&
        !l->visitor->chunk(l->visitor->context, snapshot->scene, snapshot->seen, snapshot->chunks,
                           snapshot->first, body))
        return stopped(l);
    snapshot->seen++;
    return true;
}

static bool show_snapshot(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    struct snapshot snapshot = {.scene = number_in(row, 0),
                                .number = number_in(row, 1),
                                .chunks = number_in(row, 2),
                                .first = number_in(row, 3)};
    const uint64_t records = number_in(row, 4);
    if (number_in(row, 5) != sum_of_snapshot(snapshot.scene, snapshot.number, snapshot.chunks,
                                             snapshot.first, records) ||
        records > l->s->now.seq || snapshot.first < l->s->edge)
        return damaged(l, snapshot.scene, "the snapshot", 0);
    saw_number(l->s, snapshot.scene);
    saw_number(l->s, snapshot.number);
    if (numbers_has(&l->gone, snapshot.scene))
        return true;
    if (!each(l, "select id, sum, body from chunk where id >= ?1 and id < ?2 order by id",
              chunk_id(snapshot.number, 0), chunk_id(snapshot.number + 1, 0), show_chunk,
              &snapshot))
        return false;
    return snapshot.seen == snapshot.chunks || damaged(l, snapshot.scene, "the snapshot", 0);
}

struct pieces {
    uint64_t scene, seq, number, seen;
};

static bool show_piece(struct load *l, sqlite3_stmt *row, void *context)
{
    struct pieces *pieces = context;
    const obb_str body = body_in(row, 2);
    const uint64_t id = chunk_id(pieces->number, pieces->seen++);
    if (number_in(row, 0) != id || number_in(row, 1) != sum_of_chunk(id, body))
        return damaged(l, pieces->scene, "a piece of record", pieces->seq);
    return l->visitor->piece == NULL ||
           l->visitor->piece(l->visitor->context, pieces->scene, pieces->seq, body) || stopped(l);
}

/* Shows the pieces of a record, if it has any. */
static bool show_pieces(struct load *l, sqlite3_stmt *row, uint64_t scene)
{
    struct pieces pieces = {.scene = scene, .seq = number_in(row, 0), .number = number_in(row, 6)};
    return pieces.number == 0 ||
           each(l, "select id, sum, body from chunk where id >= ?1 and id < ?2 order by id",
                chunk_id(pieces.number, 0), chunk_id(pieces.number + 1, 0), show_piece, &pieces);
}

static bool show_record(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    const uint64_t scene = number_in(row, 1);
    if (!numbers_has(&l->gone, scene) && !show_pieces(l, row, scene))
        return false;
    return l->visitor->record == NULL || numbers_has(&l->gone, scene) ||
           l->visitor->record(l->visitor->context, scene, number_in(row, 2), number_in(row, 0),
                              body_in(row, 5)) ||
           stopped(l);
}

/* Chunks of a snapshot that was not finished or was replaced, or of a record that never came. */
static bool find_dead_snapshot(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    const uint64_t number = number_in(row, 0);
    saw_number(l->s, number);
    if (!numbers_reserve(&l->s->dead_snapshots))
        return unreadable(l, SQLITE_NOMEM);
    numbers_push(&l->s->dead_snapshots, number);
    return true;
}

bool srv_sqlite_load(struct srv_backend *backend, const struct srv_backend_visitor *visitor,
                     char *error, size_t error_size)
{
    static const char records[] =
        "select seq, scene, revision, gone, sum, body, coalesce(pieces.number, 0) from record left "
        "join pieces on pieces.record = seq order by seq";
    static const char chunks[] =
        "select coalesce(sum(chunks), 0) + (select count(*) from chunk where id >> 20 in (select "
        "number from pieces)) from snapshot";
    struct sqlite *s = self(backend);
    struct load l = {.s = s, .visitor = visitor};
    l.error = error;
    l.error_size = error_size;
    s->edge = 1;
    bool good = each(&l, "select seq, before, sum from edge", 0, 0, read_edge, NULL) &&
                each(&l, records, 0, 0, read_record, NULL);
    numbers_sort(&l.gone);
    good =
        good && each(&l, chunks, 0, 0, show_counts, NULL) &&
        each(&l, "select scene, number, chunks, first, records, sum from snapshot order by scene",
             0, 0, show_snapshot, NULL) &&
        each(&l, records, 0, 0, show_record, NULL) &&
        each(&l,
             "select distinct id >> 20 from chunk where id >> 20 not in (select number from "
             "snapshot union all select number from pieces)",
             0, 0, find_dead_snapshot, NULL);
    s->durable = s->now;
    s->backend.last_seq = s->now.seq;
    obb_free(l.gone.items);
    return good;
}

static bool read_verdict(struct load *l, sqlite3_stmt *row, void *context)
{
    (void)context;
    const char *text = (const char *)sqlite3_column_text(row, 0);
    if (text != NULL && strcmp(text, "ok") == 0)
        return true;
    (void)snprintf(l->error, l->error_size, "%s is damaged: %s", l->s->path,
                   text != NULL ? text : "SQLite does not say where");
    return false;
}

bool srv_sqlite_check(struct srv_backend *backend, char *error, size_t error_size)
{
    struct load l = {.s = self(backend)};
    l.error = error;
    l.error_size = error_size;
    return each(&l, "pragma integrity_check(1)", 0, 0, read_verdict, NULL);
}

/* Puts the write-ahead log into the database file. SQLite does that when the connection is closed,
 * too, and then tells nobody whether it could. */
static bool merge_log(struct sqlite *s, char *error, size_t error_size)
{
    if (sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) == SQLITE_OK)
        return true;
    (void)snprintf(error, error_size, "%s: %s", s->path, sqlite3_errmsg(s->db));
    return false;
}

bool srv_sqlite_seal(const char *path, char *error, size_t error_size)
{
    static const struct srv_backend_visitor nobody;
    struct sqlite s = {.folder = -1};
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%s", path);
    s.path = copy;
    const char *text = connect_db(&s);
    if (text != NULL)
        (void)snprintf(error, error_size, "%s: %s", path, text);
    const bool good = text == NULL && srv_sqlite_check(&s.backend, error, error_size) &&
                      srv_sqlite_load(&s.backend, &nobody, error, error_size) &&
                      merge_log(&s, error, error_size);
    disconnect(&s);
    obb_free(s.dead_snapshots.items);
    obb_free(s.dead_scenes.items);
    return good;
}
