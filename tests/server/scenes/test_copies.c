/* Durable copies, removals and large imports, while the journal fails at each of its calls in turn:
 * what was answered is in the journal, and what was refused is not. */
#include "server/scenes/writer.h"

#include "tests/server/scenes/journaled.h"

/* ---- A back end that fails ------------------------------------------------------------------- */

enum { GROUP = 64 };

/* Keeps a group to itself until it is committed, so a call that fails leaves nothing of it. */
static struct frail {
    struct srv_backend backend; /* first */
    struct srv_backend *inner;
    struct srv_journal_figures figures;
    struct srv_entry *entries[GROUP];
    struct wire_buf bytes[GROUP]; /* owned */
    size_t count;
    _Atomic size_t fails_in; /* calls until one fails; 0: none */
    atomic_bool stays;       /* all later ones fail, too: as if the process had ended */
    atomic_bool failed;
} frail;

static void forget_group(void)
{
    while (frail.count > 0)
        wire_buf_fini(&frail.bytes[--frail.count]);
}

static bool fails(void)
{
    size_t left = atomic_load(&frail.fails_in);
    while (left > 0 && !atomic_compare_exchange_weak(&frail.fails_in, &left, left - 1)) {
    }
    if (left != 1 && !(atomic_load(&frail.stays) && atomic_load(&frail.failed)))
        return false;
    atomic_store(&frail.failed, true);
    forget_group();
    return true;
}

static srv_journal_status frail_add(struct srv_backend *backend, struct srv_entry *entry,
                                    struct wire_buf *bytes)
{
    (void)backend;
    if (fails())
        return SRV_JOURNAL_FULL;
    ck_assert_uint_lt(frail.count, GROUP);
    frail.entries[frail.count] = entry;
    frail.bytes[frail.count] = (struct wire_buf){0};
    wire_buf_append(&frail.bytes[frail.count++], bytes->bytes, bytes->length);
    return SRV_JOURNAL_OK;
}

static void frail_undo(struct srv_backend *backend)
{
    (void)backend;
    forget_group();
}

static srv_journal_status frail_commit(struct srv_backend *backend)
{
    (void)backend;
    if (fails())
        return SRV_JOURNAL_FULL;
    for (size_t i = 0; i < frail.count; i++)
        ck_assert_int_eq(frail.inner->add(frail.inner, frail.entries[i], &frail.bytes[i]),
                         SRV_JOURNAL_OK);
    forget_group();
    return frail.inner->commit(frail.inner);
}

static bool frail_tidy(struct srv_backend *backend, uint64_t edge)
{
    (void)backend;
    return !(atomic_load(&frail.stays) && atomic_load(&frail.failed)) &&
           frail.inner->tidy(frail.inner, edge);
}

static bool frail_recover(struct srv_backend *backend)
{
    (void)backend;
    return !atomic_load(&frail.stays);
}

static void frail_close(struct srv_backend *backend)
{
    (void)backend;
    frail.inner->close(frail.inner);
}

static struct srv_backend *wrap(struct srv_backend *inner)
{
    memset(&frail, 0, sizeof frail);
    frail.backend = (struct srv_backend){.add = frail_add,
                                         .undo = frail_undo,
                                         .commit = frail_commit,
                                         .tidy = frail_tidy,
                                         .recover = frail_recover,
                                         .close = frail_close,
                                         .last_number = inner->last_number,
                                         .last_seq = inner->last_seq};
    frail.inner = inner;
    inner->figures = &frail.figures;
    return &frail.backend;
}

/* ---- Ops ------------------------------------------------------------------------------------- */

static struct srv_writer writer;
static struct obb_arena arena;
static size_t under_way;
static atomic_bool given_up;

static void on_done(struct srv_write *write)
{
    (void)write;
    under_way--;
}

static void begin_op(struct srv_write *write, srv_op op)
{
    op.settings = (obb_settings){.dimensions = 3, .history_span = 1e6, .history_commits = 20};
    *write = (struct srv_write){.op = op, .arena = &arena, .cancelled = &given_up, .done = on_done};
    under_way++;
    srv_write(&writer, write);
}

static void run_loop(void)
{
    while (under_way > 0)
        srv_loop_step(rig.loop, 10);
}

static srv_op op_of(srv_op_kind kind, const char *scene)
{
    return (srv_op){.kind = kind, .scene = obb_str_of(scene)};
}

/* Returns an op that copies the present of a scene. */
static srv_op copy_of(const char *from, const char *to)
{
    srv_op op = op_of(SRV_OP_COPY, to);
    struct obb_scene *scene = obb_store_find(rig.store, obb_str_of(from));
    ck_assert_int_eq(srv_view_open(&rig.locks, scene, NULL, &op.from, NULL, NULL), OBB_OK);
    op.copy = obb_copy_of(op.from, op.scene, 0);
    op.replace = true;
    return op;
}

/* Puts a box into a scene, which is made if it is not there. */
static void put(const char *scene, double x, bool in_memory)
{
    struct srv_write write;
    const obb_put one = {
        .target = {.name = obb_str_of("box")},
        .parts = OBB_PUT_ALL,
        .box = {.center = {.x = x}, .half_extents = {1, 1, 1}, .rotation = {.w = 1}}};
    const obb_edit edit = {.dimensions = 3, .puts = &one, .put_count = 1};
    srv_op op = op_of(SRV_OP_EDIT, scene);
    op.edit = &edit;
    op.in_memory = in_memory;
    begin_op(&write, op);
    run_loop();
    ck_assert_int_eq(write.status, OBB_OK);
}

/* ---- The kinds of ops ------------------------------------------------------------------------ */

enum what {
    COPY_OVER_MEMORY, /* asks nothing of the journal */
    COPY_NEW,
    COPY_OVER,
    REMOVE,
    IMPORT_NEW,
    IMPORT_OVER,
    KINDS
};

enum { IMPORTED = 12000, PARTS = 5 }; /* boxes, and how many parts their record has */

/* Returns an op that replaces all boxes of scene b by so many, the first at 3. */
static srv_op import_of(size_t count)
{
    static obb_edit edit;
    static obb_put *puts; /* owned */
    static char(*names)[32];
    free(puts);
    free(names);
    puts = calloc(count, sizeof *puts);
    names = calloc(count, sizeof *names);
    ck_assert(puts != NULL && names != NULL);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "box %zu", i);
        puts[i] = (obb_put){.target = {.name = obb_str_of(names[i])},
                            .parts = OBB_PUT_ALL,
                            .box = {.center = {.x = 3 + (double)i},
                                    .half_extents = {1, 1, 1},
                                    .rotation = {.w = 1}}};
    }
    edit = (obb_edit){.dimensions = 3, .replace_all = true, .puts = puts, .put_count = count};
    srv_op op = op_of(SRV_OP_EDIT, "b");
    op.edit = &edit;
    return op;
}

static srv_op the_op(enum what what)
{
    srv_op op = what == REMOVE       ? op_of(SRV_OP_REMOVE, "b")
                : what >= IMPORT_NEW ? import_of(IMPORTED)
                                     : copy_of("a", "b");
    return op;
}

static void begin_rig(enum what what)
{
    rig_wrap = wrap;
    rig_open_new(1, 0);
    obb_arena_init(&arena);
    writer = (struct srv_writer){
        .store = rig.store, .locks = &rig.locks, .pool = rig.pool, .drain = &rig.drain};
    writer.memory = (struct srv_scene_memory){.store = rig.store, .locks = &rig.locks};
    writer.tails = (struct srv_tails){.journal = rig.journal,
                                      .snapshots = &rig.snapshots,
                                      .locks = &rig.locks,
                                      .drain = &rig.drain,
                                      .writer = 7};
    rig.snapshots.remember = NULL;
    put("other", 0, false);
    if (what != COPY_NEW && what != IMPORT_NEW)
        put("b", 1, what == COPY_OVER_MEMORY);
    put("a", 2, false);
    put("a", 3, false);
}

/* Where the box of scene b stands; -1: there is no such scene. */
static double place_of(struct obb_scene *scene)
{
    struct obb_view *view = NULL;
    if (scene == NULL)
        return -1;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    const double x = obb_view_pose(view, obb_view_next(view, 0)).center.x;
    obb_view_close(view);
    return x;
}

static double expected(enum what what, bool done, bool on_disk)
{
    static const double former[KINDS] = {1, -1, 1, 1, -1, 1}, later[KINDS] = {3, 3, 3, -1, 3, 3};
    if (on_disk && what == COPY_OVER_MEMORY)
        return -1; /* the scene is in memory */
    return done ? later[what] : former[what];
}

/* Ends the journal and the writer, and compares what a start would find with what the store has. */
static void end_rig(enum what what, bool done)
{
    char error[600];
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    srv_restored restored;
    size_t durable = 0;
    ck_assert(place_of(obb_store_find(rig.store, obb_str_of("b"))) == expected(what, done, false));
    rig_close();
    ck_assert_msg(srv_sqlite_open(rig.folder, &backend, error, sizeof error), "%s", error);
    const srv_restore_options options = {.backend = backend, .path = rig.folder, .threads = 2};
    ck_assert(srv_restore_begin(&options, &r));
    ck_assert_msg(srv_restore_end(r, &restored, error, sizeof error), "%s", error);
    ck_assert_uint_eq(restored.replaced, 0);
    double place = -1;
    for (size_t i = 0; i < restored.count; i++) {
        struct obb_scene *found = restored.scenes[i].journaled.scene;
        const obb_str name = obb_scene_name(found);
        struct obb_scene *kept = obb_store_find(rig.store, name);
        ck_assert_ptr_nonnull(kept);
        ck_assert_uint_eq(obb_scene_hash(found), obb_scene_hash(kept));
        ck_assert(restored.scenes[i].epoch == obb_scene_epoch(kept));
        if (obb_str_equal(name, obb_str_of("b")))
            place = place_of(found);
    }
    for (const struct obb_scene *scene = obb_store_next(rig.store, obb_str_of("")); scene != NULL;
         scene = obb_store_next(rig.store, obb_scene_name(scene)))
        durable += srv_tail_of(scene) != NULL;
    ck_assert_uint_eq(restored.count, durable);
    ck_assert(place == expected(what, done, true));
    srv_restored_fini(&restored);
    backend->figures = &frail.figures;
    while (backend->tidy(backend, 1))
        ;
    backend->close(backend);
    ck_assert_int_eq(rig_ask("select count(*) from chunk where id >> 20 not in (select number from "
                             "snapshot union all select number from pieces)"),
                     0);
    srv_writer_fini(&writer);
    obb_arena_fini(&arena);
    rig_end();
    rig_wrap = NULL;
}

/* Does the op while the n-th call of the journal fails. Returns whether the op was done. */
static bool do_with_failure(enum what what, size_t n)
{
    struct srv_write write;
    const srv_op op = the_op(what);
    atomic_store(&frail.failed, false);
    atomic_store(&frail.fails_in, n);
    begin_op(&write, op);
    run_loop();
    atomic_store(&frail.fails_in, 0);
    if (write.status == OBB_OK)
        return true;
    ck_assert_int_eq(write.refused_by, SRV_REFUSED_BY_JOURNAL);
    ck_assert_int_eq(write.journal, SRV_JOURNAL_FULL);
    return false;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(a_process_that_ends_leaves_all_of_it_or_nothing)
{
    const enum what what = (enum what)_i;
    size_t refused = 0;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        begin_rig(what);
        atomic_store(&frail.stays, true);
        done = do_with_failure(what, n);
        refused += !done;
        end_rig(what, done);
    }
    printf("%d: %zu calls\n", _i, refused);
    ck_assert_uint_ge(refused, 2);
    ck_assert(what == REMOVE || refused >= 6);
    ck_assert(what < IMPORT_NEW ||
              refused == 2 * ((size_t)PARTS + 1)); /* each entry, and each group */
}
END_TEST

/* After a failure the service goes on, writes snapshots, and forgets records. */
START_TEST(a_journal_that_fails_once_takes_it_later)
{
    const enum what what = (enum what)_i;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        begin_rig(what);
        rig.snapshots.least = 300;
        done = do_with_failure(what, n);
        while (srv_journal_state(rig.journal) != SRV_JOURNAL_OK)
            srv_loop_step(rig.loop, 10);
        for (size_t i = 0; i < 12; i++)
            put("a", i % 2 == 0 ? 2 : 3, false);
        rig_wait();
        ck_assert(done || do_with_failure(what, 0));
        for (size_t i = 0; i < 12; i++)
            put("a", i % 2 == 0 ? 2 : 3, false);
        rig_wait();
        end_rig(what, true);
    }
}
END_TEST

/* The client of a copy goes while the copy, all of whose pieces are durable, waits for its
 * place. */
START_TEST(a_copy_that_is_given_up_before_it_is_whole_is_not_found)
{
    struct srv_write copy;
    struct srv_scene_lock lock = {0};
    begin_rig(COPY_OVER);
    begin_op(&copy, copy_of("a", "b"));
    while (rig.snapshots.under_way == NULL)
        srv_loop_step(rig.loop, 10);
    ck_assert(
        srv_lock_take(&rig.locks, &lock, obb_store_find(rig.store, obb_str_of("b")), false, 0));
    while (copy.wait.lock == NULL)
        srv_loop_step(rig.loop, 10);
    ck_assert_ptr_nonnull(rig.snapshots.under_way);
    atomic_store(&given_up, true);
    srv_write_cancel(&copy);
    ck_assert(copy.refused_by == SRV_REFUSED_BY_SCENE && copy.status == OBB_CANCELLED);
    atomic_store(&given_up, false);
    srv_lock_release(&rig.locks, &lock);
    srv_lock_wake(&lock);
    rig_wait();
    ck_assert_ptr_null(rig.snapshots.under_way);
    put("b", 1, false); /* lets the journal tidy up */
    rig_wait();
    end_rig(COPY_OVER, false);
}
END_TEST

/* Another scene takes the name while the copy is being made. */
START_TEST(a_copy_over_a_scene_in_memory_is_durable_if_a_durable_scene_came)
{
    struct srv_write copy, gone;
    begin_rig(COPY_OVER_MEMORY);
    begin_op(&copy, copy_of("a", "b"));
    begin_op(&gone, op_of(SRV_OP_REMOVE, "b"));
    put("b", 9, false);
    run_loop();
    ck_assert(copy.status == OBB_OK && gone.status == OBB_OK);
    ck_assert_ptr_nonnull(srv_tail_of(obb_store_find(rig.store, obb_str_of("b"))));
    end_rig(COPY_OVER, true);
}
END_TEST

/* ... while its pieces are written. They are dropped. */
START_TEST(a_copy_that_was_to_be_durable_is_in_memory_if_a_scene_in_memory_came)
{
    struct srv_write copy;
    begin_rig(COPY_NEW);
    rig_wait();
    ck_assert_ptr_null(rig.snapshots.under_way);
    begin_op(&copy, copy_of("a", "b"));
    while (rig.snapshots.under_way == NULL)
        srv_loop_step(rig.loop, 10);
    ck_assert_uint_eq(under_way, 1);
    put("b", 9, true);
    run_loop();
    ck_assert_int_eq(copy.status, OBB_OK);
    ck_assert_ptr_null(srv_tail_of(obb_store_find(rig.store, obb_str_of("b"))));
    end_rig(COPY_OVER_MEMORY, true);
}
END_TEST

/* The client of an import that makes its scene goes while the parts are written. */
START_TEST(an_import_that_is_given_up_is_not_found)
{
    struct srv_write import;
    begin_rig(IMPORT_NEW);
    begin_op(&import, the_op(IMPORT_NEW));
    while (rig.snapshots.under_way == NULL)
        srv_loop_step(rig.loop, 10);
    atomic_store(&given_up, true);
    srv_write_cancel(&import);
    run_loop();
    ck_assert(import.refused_by == SRV_REFUSED_BY_SCENE && import.status == OBB_CANCELLED);
    atomic_store(&given_up, false);
    put("a", 3, false);
    rig_wait();
    ck_assert_ptr_null(rig.snapshots.under_way);
    end_rig(IMPORT_NEW, false);
}
END_TEST

/* While the parts of an import are written, the scene is as it was, and what builds on the import
 * waits. */
START_TEST(a_scene_can_be_read_while_the_parts_of_an_import_are_written)
{
    struct srv_write import, later;
    const obb_pose pose = {
        .target = {.name = obb_str_of("box 0")}, .center = {.x = 3}, .has_center = true};
    const obb_edit edit = {.dimensions = 3, .poses = &pose, .pose_count = 1};
    begin_rig(IMPORT_OVER);
    begin_op(&import, the_op(IMPORT_OVER));
    while (rig.snapshots.under_way == NULL)
        srv_loop_step(rig.loop, 10);
    struct obb_scene *scene = obb_store_find(rig.store, obb_str_of("b"));
    ck_assert(!srv_scene_locked(&rig.locks, scene));
    srv_op op = op_of(SRV_OP_EDIT, "b");
    op.edit = &edit;
    begin_op(&later, op);
    ck_assert_ptr_nonnull(later.tail_wait.tail);
    size_t looks = 0;
    while (under_way == 2) {
        ck_assert(place_of(scene) == 1);
        looks++;
        srv_loop_step(rig.loop, 10);
    }
    ck_assert_uint_ge(looks, PARTS);
    run_loop();
    ck_assert(import.status == OBB_OK && later.status == OBB_OK);
    ck_assert_uint_eq(import.committed.moment.revision, 2);
    ck_assert_uint_eq(later.committed.moment.revision, 2); /* the box was there already */
    rig_wait();
    end_rig(IMPORT_OVER, true);
}
END_TEST

/* The commit before an import fails while the parts of the import are written. */
START_TEST(an_import_fails_with_the_commit_before_it)
{
    struct srv_write before, import;
    const obb_pose pose = {
        .target = {.name = obb_str_of("box")}, .center = {.x = 7}, .has_center = true};
    const obb_edit edit = {.dimensions = 3, .poses = &pose, .pose_count = 1};
    size_t failed = 0;
    for (size_t n = 1; n <= 8; n++) {
        begin_rig(IMPORT_OVER);
        srv_op op = op_of(SRV_OP_EDIT, "b");
        op.edit = &edit;
        atomic_store(&frail.stays, true);
        atomic_store(&frail.fails_in, n);
        begin_op(&before, op);
        begin_op(&import, the_op(IMPORT_OVER));
        run_loop();
        ck_assert_int_eq(import.refused_by, SRV_REFUSED_BY_JOURNAL);
        failed += before.refused_by == SRV_REFUSED_BY_JOURNAL;
        const bool was_moved = before.status == OBB_OK;
        ck_assert(place_of(obb_store_find(rig.store, obb_str_of("b"))) == (was_moved ? 7 : 1));
        if (was_moved) { /* back to where end_rig looks for it */
            atomic_store(&frail.stays, false);
            atomic_store(&frail.fails_in, 0);
            while (srv_journal_state(rig.journal) != SRV_JOURNAL_OK)
                srv_loop_step(rig.loop, 10);
            put("b", 1, false);
        }
        end_rig(IMPORT_OVER, false);
    }
    ck_assert(failed >= 1 && failed <= 4);
}
END_TEST

START_TEST(an_import_takes_less_memory_than_its_record)
{
    enum { MANY = 60000, LIMIT = 6 << 20, TOO_LITTLE = 200000 };
    for (size_t i = 0; i < 2; i++) {
        struct obb_budget budget;
        struct srv_write import;
        begin_rig(IMPORT_NEW);
        obb_budget_init(&budget, i == 0 ? LIMIT : TOO_LITTLE);
        writer.tails.budget = rig.snapshots.budget = &budget;
        begin_op(&import, import_of(MANY));
        run_loop();
        if (i == 0)
            ck_assert_int_eq(import.status, OBB_OK);
        else
            ck_assert(import.status == OBB_NO_MEMORY && import.refused_by == SRV_REFUSED_BY_SCENE);
        rig.snapshots.budget = NULL;
        rig_wait();
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        end_rig(IMPORT_NEW, i == 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copies");
    TCase *tc = tcase_create("copies");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_loop_test(tc, a_process_that_ends_leaves_all_of_it_or_nothing, COPY_NEW, KINDS);
    tcase_add_loop_test(tc, a_journal_that_fails_once_takes_it_later, COPY_NEW, KINDS);
    tcase_add_test(tc, a_copy_that_is_given_up_before_it_is_whole_is_not_found);
    tcase_add_test(tc, a_copy_over_a_scene_in_memory_is_durable_if_a_durable_scene_came);
    tcase_add_test(tc, a_copy_that_was_to_be_durable_is_in_memory_if_a_scene_in_memory_came);
    tcase_add_test(tc, an_import_that_is_given_up_is_not_found);
    tcase_add_test(tc, a_scene_can_be_read_while_the_parts_of_an_import_are_written);
    tcase_add_test(tc, an_import_fails_with_the_commit_before_it);
    tcase_add_test(tc, an_import_takes_less_memory_than_its_record);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
