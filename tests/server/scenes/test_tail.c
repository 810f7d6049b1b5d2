/* Durable scenes: random ops through the one door while a back end in memory fails at random. Each
 * op that was not refused by the journal is done again on a store without a journal, in the order
 * of the answers: both must answer the same, and what the log holds must be the same scenes. */
#include "server/journal/backend.h"
#include "server/journal/grouped.h"
#include "server/scenes/writer.h"
#include "tests/server/still_pool.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SCENES = 3, SLOTS = 24, LARGE = 12000 };

static test_rng rng;
static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct srv_locks locks, twin_locks;
static struct srv_writer writer, twin;
static struct srv_journal *journal;
static struct srv_snapshots snapshots;

/* ---- A back end in memory -------------------------------------------------------------------- */

struct logged {
    srv_entry_kind kind;
    uint64_t scene, pieces;
    char *bytes;
    size_t length;
};

static struct memory {
    struct srv_backend backend; /* first */
    struct logged *log;
    size_t count, capacity, fresh; /* the last `fresh` are not committed */
    _Atomic size_t groups, failures;
    _Atomic size_t fail_in; /* calls until one fails; 0: none */
    _Atomic int fails_with;
} memory;
static pthread_mutex_t log_guard = PTHREAD_MUTEX_INITIALIZER; /* of the log and its counts */

static void forget_fresh(void)
{
    for (; memory.fresh > 0; memory.fresh--)
        free(memory.log[--memory.count].bytes);
}

static srv_journal_status fails_now(void)
{
    const size_t left = atomic_load(&memory.fail_in);
    if (left == 0)
        return SRV_JOURNAL_OK;
    atomic_store(&memory.fail_in, left - 1);
    if (left > 1)
        return SRV_JOURNAL_OK;
    forget_fresh();
    memory.failures++;
    return (srv_journal_status)atomic_load(&memory.fails_with);
}

static srv_journal_status add(struct srv_entry *entry, const struct wire_buf *bytes)
{
    const srv_journal_status status = fails_now();
    if (status != SRV_JOURNAL_OK)
        return status;
    if (memory.count == memory.capacity) {
        memory.capacity = 2 * memory.capacity + 1000;
        memory.log = realloc(memory.log, memory.capacity * sizeof *memory.log);
        ck_assert_ptr_nonnull(memory.log);
    }
    char *copy = malloc(bytes->length + 1);
    memcpy(copy, bytes->length > 0 ? bytes->bytes : "", bytes->length);
    memory.log[memory.count].kind = entry->kind;
    memory.log[memory.count].scene = entry->scene;
    memory.log[memory.count].pieces = entry->snapshot;
    memory.log[memory.count].bytes = copy;
    memory.log[memory.count].length = bytes->length;
    entry->seq = ++memory.count;
    memory.fresh++;
    return SRV_JOURNAL_OK;
}

static srv_journal_status memory_add(struct srv_backend *backend, struct srv_entry *entry,
                                     struct wire_buf *bytes)
{
    (void)backend;
    (void)pthread_mutex_lock(&log_guard);
    const srv_journal_status status = add(entry, bytes);
    (void)pthread_mutex_unlock(&log_guard);
    return status;
}

static void memory_undo(struct srv_backend *backend)
{
    (void)backend;
    (void)pthread_mutex_lock(&log_guard);
    forget_fresh();
    (void)pthread_mutex_unlock(&log_guard);
}

static srv_journal_status memory_commit(struct srv_backend *backend)
{
    (void)backend;
    (void)pthread_mutex_lock(&log_guard);
    const srv_journal_status status = fails_now();
    if (status == SRV_JOURNAL_OK) {
        memory.fresh = 0;
        memory.groups++;
    }
    (void)pthread_mutex_unlock(&log_guard);
    return status;
}

static bool memory_tidy(struct srv_backend *backend, uint64_t edge)
{
    (void)backend;
    (void)edge;
    return false;
}

static bool memory_recover(struct srv_backend *backend)
{
    (void)backend;
    return true;
}

static void memory_close(struct srv_backend *backend) { (void)backend; }

/* ---- Two writers ----------------------------------------------------------------------------- */

static void begin(void)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 2, 8, NULL, &pool));
    drain = (struct srv_drain){0};
    memory.count = memory.fresh = 0;
    memory.backend = (struct srv_backend){.add = memory_add,
                                          .undo = memory_undo,
                                          .commit = memory_commit,
                                          .tidy = memory_tidy,
                                          .recover = memory_recover,
                                          .close = memory_close};
    ck_assert(srv_grouped_create(loop, &memory.backend, 0, &journal));
    locks = twin_locks = (struct srv_locks){.pool = pool, .drain = &drain};
    snapshots =
        (struct srv_snapshots){.journal = journal, .pool = pool, .locks = &locks, .drain = &drain};
    writer = (struct srv_writer){.locks = &locks, .pool = pool, .drain = &drain};
    twin = writer;
    twin.locks = &twin_locks;
    writer.tails = (struct srv_tails){
        .journal = journal, .snapshots = &snapshots, .locks = &locks, .drain = &drain, .writer = 7};
    ck_assert_int_eq(obb_store_create(SCENES, 100000, NULL, &writer.store), OBB_OK);
    ck_assert_int_eq(obb_store_create(SCENES, 100000, NULL, &twin.store), OBB_OK);
}

static void end(void)
{
    srv_snapshots_stop(&snapshots);
    while (!srv_drain_empty(&drain))
        srv_loop_step(loop, 10);
    srv_journal_destroy(journal);
    srv_writer_fini(&writer);
    srv_writer_fini(&twin);
    obb_store_destroy(writer.store);
    obb_store_destroy(twin.store);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
    forget_fresh();
    while (memory.count > 0)
        free(memory.log[--memory.count].bytes);
    free(memory.log);
    memory.log = NULL;
    memory.capacity = 0;
}

/* ---- Ops ------------------------------------------------------------------------------------- */

static const char *const scene_names[SCENES] = {"a", "b", "c"};
static char box_names[LARGE][24];

/* One op under way, with all that it points to. */
struct slot {
    struct srv_write write; /* first */
    struct obb_arena arena;
    obb_edit edit;
    obb_put *puts;
    obb_pose poses[4];
    obb_target removes[2];
    char condition[24], id[8];
    bool busy;
};

static struct slot slots[SLOTS];
static double now;
static struct counts {
    size_t ops, applied, unchanged, refused, failed, large, made, removed, dry, repeated, misused;
} counts;

static obb_box random_box(void)
{
    obb_box box;
    ck_assert_int_eq(
        obb_box_from_pose((obb_vec3){test_uniform(&rng, -9, 9), test_uniform(&rng, -9, 9),
                                     test_uniform(&rng, -9, 9)},
                          (obb_vec3){1, 1, 1}, (obb_quat){0, 0, 0, 1}, 0, 3, &box),
        OBB_OK);
    return box;
}

static void make_puts(struct slot *slot, size_t count)
{
    slot->puts = calloc(count, sizeof *slot->puts);
    for (size_t i = 0; i < count; i++) {
        const size_t name = count < 100 ? test_below(&rng, 20) : i;
        slot->puts[i] = (obb_put){.target = {.name = obb_str_of(box_names[name])},
                                  .parts = OBB_PUT_ALL,
                                  .box = random_box(),
                                  .attributes = {.category = 1, .mask = 1}};
    }
    /* a name stands only once in an edit */
    for (size_t i = 0; count < 100 && i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (slot->puts[i].target.name.bytes == slot->puts[k].target.name.bytes)
                count = i;
    slot->edit.puts = slot->puts;
    slot->edit.put_count = count;
}

static void make_edit(struct slot *slot)
{
    slot->edit = (obb_edit){.dimensions = 3, .has_time = true, .time = ++now};
    switch (test_below(&rng, 8)) {
    case 0: /* changes nothing, and states nothing */
        slot->edit.has_time = false;
        break;
    case 1: /* only the time goes on */
        break;
    case 2:
        slot->removes[0] = (obb_target){.name = obb_str_of(box_names[test_below(&rng, 20)])};
        slot->edit.removes = slot->removes;
        slot->edit.remove_count = 1;
        slot->edit.remove_must_exist = true;
        break;
    case 3:
    case 4: {
        const size_t count = 1 + test_below(&rng, 4), first = test_below(&rng, 17);
        for (size_t i = 0; i < count; i++)
            slot->poses[i] = (obb_pose){.target = {.name = obb_str_of(box_names[first + i])},
                                        .center = random_box().center,
                                        .has_center = true};
        slot->edit.poses = slot->poses;
        slot->edit.pose_count = count;
        slot->edit.ignore_missing = test_below(&rng, 2) == 0;
        break;
    }
    case 5:
        if (test_below(&rng, 16) == 0) { /* on the pool */
            make_puts(slot, LARGE);
            slot->edit.replace_all = test_below(&rng, 2) == 0;
            counts.large++;
        } else {
            make_puts(slot, 1 + test_below(&rng, 5));
        }
        break;
    default:
        make_puts(slot, 1 + test_below(&rng, 5));
        break;
    }
}

static obb_edit twin_edit; /* the twin's copy */

/* Does on the twin what was answered, and compares the answers. */
static void on_done(struct srv_write *w)
{
    struct slot *slot = (struct slot *)w;
    slot->busy = false;
    if (w->op.dry_run)
        obb_rehearsal_end(&w->rehearsal);
    if (w->refused_by == SRV_REFUSED_BY_JOURNAL) {
        counts.failed++;
        return;
    }
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct srv_write other = {.op = w->op, .arena = &arena, .at_once = true, .done = on_done};
    other.op.epoch = w->epoch;
    other.op.dry_run = false;
    static bool inside;
    if (inside) { /* the twin's own end */
        obb_arena_fini(&arena);
        return;
    }
    inside = true;
    twin_edit = slot->edit;
    struct slot plain = {.busy = true};
    plain.write = other;
    plain.write.op.edit = w->op.edit != NULL ? &twin_edit : NULL;
    plain.write.op.check_only = w->op.dry_run;
    srv_write(&twin, &plain.write);
    inside = false;
    const struct srv_write *t = &plain.write;
    ck_assert_msg(t->status == w->status && (t->refused_by == w->refused_by), "%s %s, %d %d",
                  obb_status_name(w->status), obb_status_name(t->status), (int)w->refused_by,
                  (int)t->refused_by);
    ck_assert_int_eq(t->repeated, w->repeated);
    counts.repeated += w->repeated;
    counts.misused += w->refused_by == SRV_REFUSED_BY_ID;
    if (w->status == OBB_OK && !w->op.dry_run) {
        const obb_committed *a = &w->committed, *b = &t->committed;
        ck_assert(a->changed == b->changed && a->made_count == b->made_count &&
                  a->ended_count == b->ended_count && a->missed == b->missed && a->put == b->put &&
                  a->posed == b->posed);
        for (size_t i = 0;
             w->op.edit != NULL && w->op.kind == SRV_OP_EDIT && i < w->op.edit->put_count; i++)
            ck_assert_uint_eq(a->new_ids[i], b->new_ids[i]);
        if (w->op.kind != SRV_OP_REMOVE) {
            ck_assert_uint_eq(a->moment.revision, b->moment.revision);
            /* nobody sees more than what was answered */
            obb_scene_info seen, twin_sees;
            obb_scene_info_without_bounds(w->scene, &seen);
            obb_scene_info_without_bounds(t->scene, &twin_sees);
            ck_assert(seen.now.revision == twin_sees.now.revision &&
                      seen.now.time == twin_sees.now.time && seen.boxes == twin_sees.boxes);
            ck_assert(w->repeated || seen.now.revision == a->moment.revision);
        }
        counts.applied += a->changed && !w->repeated;
        counts.unchanged += !a->changed;
        counts.made += w->made_scene;
        counts.removed += w->op.kind == SRV_OP_REMOVE;
    } else {
        counts.refused += w->status != OBB_OK;
    }
    obb_arena_fini(&arena);
}

/* Returns whether new settings will take the time that was stated last: not that of the clock,
 * which the twin reads later. */
static bool has_stated_time(obb_str name)
{
    const struct obb_scene *scene = obb_store_find(writer.store, name);
    if (scene == NULL)
        return false;
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].busy && slots[i].write.op.kind == SRV_OP_REMOVE &&
            obb_str_equal(slots[i].write.op.scene, name))
            return false;
    obb_scene_info info;
    srv_scene_info(&locks, scene, &info, NULL);
    return info.now.time >= 1;
}

static void start_op(struct slot *slot)
{
    const char *name = scene_names[test_below(&rng, SCENES)];
    obb_arena_fini(&slot->arena);
    obb_arena_init(&slot->arena);
    free(slot->puts);
    slot->puts = NULL;
    srv_op op = {.kind = SRV_OP_EDIT, .scene = obb_str_of(name), .edit = &slot->edit};
    op.settings = (obb_settings){.dimensions = 3, .history_span = 1e3, .history_commits = 8};
    make_edit(slot);
    switch (test_below(&rng, 30)) {
    case 0:
        op.kind = SRV_OP_CREATE;
        op.edit = NULL;
        break;
    case 1:
        if (!has_stated_time(op.scene))
            break;
        op.kind = SRV_OP_CONFIGURE;
        op.settings.history_commits = (uint32_t)(5 + test_below(&rng, 5));
        op.edit = NULL;
        break;
    case 2:
        if (test_below(&rng, 4) == 0) {
            op.kind = SRV_OP_REMOVE;
            op.edit = NULL;
        }
        break;
    case 3:
        op.dry_run = true;
        counts.dry++;
        break;
    case 4:
    case 5:
    case 6:
    case 7: /* is sent again now and then */
        (void)snprintf(slot->id, sizeof slot->id, "id%u", (unsigned)test_below(&rng, 30));
        op.id = op.sent_id = obb_str_of(slot->id);
        break;
    case 8: {
        const struct obb_scene *scene = obb_store_find(writer.store, op.scene);
        obb_scene_info info = {0};
        if (scene != NULL)
            obb_scene_info_without_bounds(scene, &info);
        (void)snprintf(slot->condition, sizeof slot->condition, "\"%llu\"",
                       (unsigned long long)info.now.revision + test_below(&rng, 2));
        op.if_match = slot->condition;
        break;
    }
    default:
        break;
    }
    slot->write = (struct srv_write){.op = op, .arena = &slot->arena, .done = on_done};
    slot->busy = true;
    counts.ops++;
    srv_write(&writer, &slot->write);
}

static bool any_busy(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].busy)
            return true;
    return false;
}

/* ---- The log --------------------------------------------------------------------------------- */

/* The scenes of the log, made by a plain reading of it as far as it was read. */
static struct {
    struct obb_scene *scenes[SCENES];
    uint64_t numbers[SCENES];
    wire_record_id newest[SCENES];
    size_t at, records, joined; /* `joined`: of the records, those that had parts */
} reader;

/* Gives a record the effects of its parts, which are in the log before it. */
static void join_parts(size_t at, struct obb_arena *arena, wire_record *record)
{
    obb_effect *list = obb_arena_alloc(arena, LARGE, sizeof *list);
    size_t count = 0;
    uint64_t parts = 0;
    bool goes_on = true;
    ck_assert(record->in_parts == (memory.log[at].pieces != 0));
    if (!record->in_parts)
        return;
    for (size_t i = 0; i < at; i++) {
        if (memory.log[i].kind != SRV_ENTRY_CHUNK || memory.log[i].pieces != memory.log[at].pieces)
            continue;
        obb_str rest = {memory.log[i].bytes, memory.log[i].length}, one;
        while (rest.length > 0) {
            wire_record part = {.kind = WIRE_RECORD_KINDS};
            ck_assert(wire_record_next(&rest, &one));
            ck_assert_int_eq(wire_record_read(one, arena, &part), OBB_OK);
            ck_assert(part.kind == WIRE_RECORD_PART && part.id.counter == parts++ && goes_on);
            ck_assert(part.epoch == record->epoch);
            goes_on = part.in_parts;
            for (size_t k = 0; k < part.effects.count; k++)
                list[count++] = part.effects.list[k];
        }
    }
    ck_assert(!goes_on && count > SRV_WHOLE_EFFECTS && count <= LARGE);
    record->effects.list = list;
    record->effects.count = count;
    reader.joined++;
}

/* Reads the record at place i of the log, and does in its scene what it says. */
static void read_record(size_t i)
{
    const uint64_t number = memory.log[i].scene;
    struct obb_arena arena;
    obb_arena_init(&arena);
    wire_record record = {.kind = WIRE_RECORD_KINDS};
    const obb_str bytes = {memory.log[i].bytes, memory.log[i].length};
    ck_assert_int_eq(wire_record_read(bytes, &arena, &record), OBB_OK);
    join_parts(i, &arena, &record);
    uint64_t fresh = 0;
    for (size_t k = 0; k < record.effects.count; k++)
        fresh += record.effects.list[k].kind == OBB_EFFECT_NEW;
    ck_assert(record.kind == WIRE_RECORD_GONE || record.base_id == record.effects.next_id - fresh);
    size_t s = 0;
    if (record.kind == WIRE_RECORD_MADE) {
        while (s < SCENES - 1 && !obb_str_equal(record.name, obb_str_of(scene_names[s])))
            s++;
        ck_assert_ptr_null(reader.scenes[s]);
        reader.numbers[s] = number;
        ck_assert(record.effects.has_settings);
        ck_assert_int_eq(
            obb_scene_create(record.name, &record.effects.settings, 0, NULL, &reader.scenes[s]),
            OBB_OK);
    } else {
        while (s < SCENES - 1 && reader.numbers[s] != number)
            s++;
    }
    ck_assert_uint_eq(reader.numbers[s], number);
    ck_assert(record.kind == WIRE_RECORD_MADE
                  ? !wire_record_id_is(record.base)
                  : wire_record_id_equal(record.base, reader.newest[s]));
    reader.newest[s] = record.id;
    if (record.kind == WIRE_RECORD_GONE) {
        obb_scene_destroy(reader.scenes[s]);
        reader.scenes[s] = NULL;
        reader.numbers[s] = 0;
    } else {
        struct obb_prepared *prepared = NULL;
        obb_committed committed;
        ck_assert_int_eq(
            obb_effects_prepare(reader.scenes[s], &record.effects, false, &arena, &prepared),
            OBB_OK);
        obb_edit_commit(prepared, &committed);
    }
    reader.records++;
    obb_arena_fini(&arena);
}

/* Reads what came into the log since the last call, and compares its scenes with those of the
 * store. Meanwhile no piece of a snapshot comes into the log. */
static void compare_with_log(void)
{
    (void)pthread_mutex_lock(&log_guard);
    for (; reader.at < memory.count; reader.at++) {
        const srv_entry_kind kind = memory.log[reader.at].kind;
        if (kind == SRV_ENTRY_RECORD || kind == SRV_ENTRY_GONE)
            read_record(reader.at); /* a snapshot says nothing new */
    }
    for (size_t s = 0; s < SCENES; s++) {
        struct obb_scene *kept = obb_store_find(writer.store, obb_str_of(scene_names[s])),
                         *other = obb_store_find(twin.store, obb_str_of(scene_names[s]));
        ck_assert((kept != NULL) == (reader.scenes[s] != NULL) &&
                  (kept != NULL) == (other != NULL));
        if (kept == NULL)
            continue;
        ck_assert_uint_eq(obb_scene_hash(kept), obb_scene_hash(reader.scenes[s]));
        ck_assert_uint_eq(obb_scene_hash(kept), obb_scene_hash(other));
    }
    (void)pthread_mutex_unlock(&log_guard);
}

static void end_reader(void)
{
    for (size_t s = 0; s < SCENES; s++)
        obb_scene_destroy(reader.scenes[s]);
    memset(&reader, 0, sizeof reader);
}

/* Returns whether every kind of end was seen often enough, and enough records in parts were read.
 * The threads decide how soon that is, so the ops go on until it is so. */
static bool enough(void)
{
    return counts.applied >= 1500 && counts.unchanged >= 200 && counts.refused >= 100 &&
           counts.failed >= 100 && counts.made >= 5 && counts.removed >= 5 && counts.large >= 10 &&
           counts.dry >= 20 && counts.repeated >= 10 && counts.misused >= 10 &&
           memory.failures >= 20 && reader.joined > 10;
}

static void run_random_ops(void)
{
    counts = (struct counts){0};
    atomic_store(&memory.failures, 0);
    atomic_store(&memory.groups, 0);
    for (size_t i = 0; i < LARGE; i++)
        (void)snprintf(box_names[i], sizeof box_names[i], "b%zu", i);
    for (size_t i = 0; i < SLOTS; i++)
        obb_arena_init(&slots[i].arena);
    begin();
    while (!enough()) {
        for (size_t n = test_below(&rng, 8); n > 0; n--) {
            struct slot *slot = &slots[test_below(&rng, SLOTS)];
            if (!slot->busy)
                start_op(slot);
        }
        if (test_below(&rng, 20) == 0) {
            atomic_store(&memory.fails_with,
                         test_below(&rng, 2) == 0 ? SRV_JOURNAL_FULL : SRV_JOURNAL_FAILED);
            atomic_store(&memory.fail_in, 1 + test_below(&rng, 6));
        }
        srv_loop_step(loop, 0);
        if (test_below(&rng, 100) == 0) {
            atomic_store(&memory.fail_in, 0);
            while (any_busy())
                srv_loop_step(loop, 10);
            compare_with_log();
        }
    }
    atomic_store(&memory.fail_in, 0);
    while (any_busy())
        srv_loop_step(loop, 10);
    compare_with_log();
    printf("%zu ops: %zu changed a scene, %zu did not, %zu refused, %zu failed with the journal; "
           "%zu scenes made, %zu removed, %zu large, %zu dry runs, %zu repeated, %zu with an id of "
           "another commit; %zu failures of %zu groups, %zu records read, %zu of them in parts\n",
           counts.ops, counts.applied, counts.unchanged, counts.refused, counts.failed, counts.made,
           counts.removed, counts.large, counts.dry, counts.repeated, counts.misused,
           atomic_load(&memory.failures), atomic_load(&memory.groups), reader.records,
           reader.joined);
    end_reader();
    end();
    for (size_t i = 0; i < SLOTS; i++) {
        obb_arena_fini(&slots[i].arena);
        free(slots[i].puts);
        slots[i].puts = NULL;
    }
}

START_TEST(what_is_answered_is_in_the_log_and_what_failed_is_not_there)
{
    rng = (test_rng){18};
    for (size_t runs = test_effort(1); runs > 0; runs--)
        run_random_ops();
}
END_TEST

/* ---- A failure before a large commit --------------------------------------------------------- */

static size_t ended;

static void on_ended(struct srv_write *w)
{
    ((struct slot *)w)->busy = false;
    ended++;
}

/* Begins to make the scene "a", or to put so many boxes into it. */
static void begin_op(struct slot *slot, size_t puts)
{
    obb_arena_init(&slot->arena);
    slot->edit = (obb_edit){.dimensions = 3};
    slot->write = (struct srv_write){
        .op = {.kind = puts > 0 ? SRV_OP_EDIT : SRV_OP_CREATE,
               .scene = obb_str_of("a"),
               .edit = puts > 0 ? &slot->edit : NULL,
               .settings = {.dimensions = 3, .history_span = 1e3, .history_commits = 8}},
        .arena = &slot->arena,
        .done = on_ended};
    if (puts > 0)
        make_puts(slot, puts);
    srv_write(&writer, &slot->write);
}

/* Begins a run with the scene "a" and the names of so many boxes. */
static struct obb_scene *begin_with_scene(uint64_t seed, size_t names)
{
    rng = (test_rng){seed};
    for (size_t i = 0; i < names; i++)
        (void)snprintf(box_names[i], sizeof box_names[i], "b%zu", i);
    begin();
    atomic_store(&memory.failures, 0);
    ended = 0;
    begin_op(&slots[0], 0);
    while (ended < 1)
        srv_loop_step(loop, 10);
    return obb_store_find(writer.store, obb_str_of("a"));
}

/* Ends a run of three ops. */
static void end_ops(void)
{
    end();
    for (size_t i = 0; i < 3; i++) {
        obb_arena_fini(&slots[i].arena);
        free(slots[i].puts);
        slots[i].puts = NULL;
    }
}

static const struct {
    srv_journal_status status;
    bool is_locked; /* the scene, when the record before fails and until the parts are durable */
} fates[] = {{SRV_JOURNAL_SUPERSEDED, false},
             {SRV_JOURNAL_SUPERSEDED, true},
             {SRV_JOURNAL_FAILED, false},
             {SRV_JOURNAL_FAILED, true}};

/* The journal's thread stands still before the record of a small commit, and so do both workers
 * before the first part of the large one behind it. */
START_TEST(a_large_commit_fails_as_the_one_before_it)
{
    const srv_journal_status status = fates[_i].status;
    struct srv_scene_lock lock = {.scene = NULL};
    struct obb_scene *scene = begin_with_scene(19, LARGE);
    (void)pthread_mutex_lock(&log_guard);
    begin_op(&slots[1], 1);
    begin_op(&slots[2], LARGE);
    still_begin(pool);
    while (snapshots.under_way == NULL) /* the large one is prepared */
        srv_loop_step(loop, 10);
    if (fates[_i].is_locked)
        ck_assert(srv_lock_take(&locks, &lock, scene, false, 0));
    atomic_store(&memory.fails_with, (int)status);
    atomic_store(&memory.fail_in, 1);
    (void)pthread_mutex_unlock(&log_guard);
    while (atomic_load(&memory.failures) == 0 || srv_journal_state(journal) != SRV_JOURNAL_OK)
        srv_loop_step(loop, 10);
    still_end();
    if (fates[_i].is_locked) {
        while (snapshots.under_way != NULL)
            srv_loop_step(loop, 10);
        ck_assert_uint_eq(ended, 1);
        srv_lock_release(&locks, &lock);
        srv_lock_wake(&lock);
    }
    while (ended < 3 || still_ended < STILL_WORKERS)
        srv_loop_step(loop, 10);
    for (size_t i = 1; i < 3; i++) {
        const struct srv_write *w = &slots[i].write;
        const bool goes_on = status == SRV_JOURNAL_SUPERSEDED; /* it is made again */
        ck_assert_int_eq(w->refused_by, goes_on ? SRV_REFUSED_BY_NONE : SRV_REFUSED_BY_JOURNAL);
        if (goes_on)
            ck_assert_uint_eq(w->committed.moment.revision, i);
        else
            ck_assert_int_eq(w->journal, status);
    }
    size_t records = 0;
    (void)pthread_mutex_lock(&log_guard);
    for (size_t i = 0; i < memory.count; i++)
        records += memory.log[i].kind == SRV_ENTRY_RECORD;
    (void)pthread_mutex_unlock(&log_guard);
    ck_assert_uint_eq(records, status == SRV_JOURNAL_SUPERSEDED ? 3 : 1);
    end_ops();
}
END_TEST

/* The journal's thread stands still before the record of the commit, and then both workers: so the
 * loop cannot have the scene taken back before they go on. */
START_TEST(a_commit_that_takes_long_to_take_back_is_taken_back_on_the_pool)
{
    enum { MANY = 5000 };
    obb_scene_info info;
    struct obb_scene *scene = begin_with_scene(20, MANY);
    (void)pthread_mutex_lock(&log_guard);
    begin_op(&slots[1], MANY);
    while (srv_scene_locked(&locks, scene)) /* until it is prepared, and then it is applied */
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(obb_store_boxes(writer.store), MANY);
    still_begin(pool);
    atomic_store(&memory.fails_with, (int)SRV_JOURNAL_FAILED);
    atomic_store(&memory.fail_in, 1);
    (void)pthread_mutex_unlock(&log_guard);
    while (!srv_scene_locked(&locks, scene) && ended == 1)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(ended, 1); /* nobody hears of it before the scene is taken back */
    begin_op(&slots[2], 1);
    for (int i = 0; i < 10; i++)
        srv_loop_step(loop, 1);
    ck_assert_uint_eq(ended, 1);
    still_end();
    while (ended < 3 || still_ended < STILL_WORKERS)
        srv_loop_step(loop, 10);
    ck_assert_int_eq(slots[1].write.refused_by, SRV_REFUSED_BY_JOURNAL);
    ck_assert_int_eq(slots[2].write.refused_by, SRV_REFUSED_BY_NONE);
    obb_scene_info_without_bounds(scene, &info);
    ck_assert_uint_eq(info.now.revision, 1);
    ck_assert_uint_eq(info.boxes, 1);
    ck_assert_uint_eq(obb_store_boxes(writer.store), 1);
    end_ops();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tail");
    TCase *tc = tcase_create("tail");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_is_answered_is_in_the_log_and_what_failed_is_not_there);
    tcase_add_loop_test(tc, a_large_commit_fails_as_the_one_before_it, 0,
                        sizeof fates / sizeof *fates);
    tcase_add_test(tc, a_commit_that_takes_long_to_take_back_is_taken_back_on_the_pool);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
