#include "server/scenes/snapshot.h"

#include "tests/server/scenes/journaled.h"
#include "tests/support/fault.h"

static const obb_settings space = {.dimensions = 3, .history_span = 1e6, .history_commits = 8};
static const obb_settings present = {.dimensions = 3}; /* no history: boxes are told one by one */

enum { LONG = 1000, BOXES_A_PIECE = 260 }; /* bytes of data; so many boxes make more than a piece */

/* Puts so many new boxes with data of that length. */
static void put_boxes(struct rig_scene *scene, size_t count, size_t length)
{
    static char data[LONG];
    obb_put *puts = calloc(count, sizeof *puts);
    char(*names)[48] = calloc(count, sizeof *names);
    ck_assert(puts != NULL && names != NULL);
    memset(data, '1', sizeof data);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "box %zu of %zu", i, scene->commits);
        puts[i] = (obb_put){.target = {.name = obb_str_of(names[i])},
                            .parts = OBB_PUT_ALL,
                            .box = {.half_extents = {1, 1, 1}, .rotation = {.w = 1}},
                            .attributes = {.data = {.bytes = data, .length = length}}};
        puts[i].box.center.x = (double)i;
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = count};
    ck_assert(rig_commit(scene, &edit, scene->time + 1, 0));
    free(puts);
    free(names);
}

static void put_many(struct rig_scene *scene, size_t count) { put_boxes(scene, count, 300); }

/* Puts the boxes of so many pieces. */
static void put_pieces(struct rig_scene *scene, size_t count)
{
    put_boxes(scene, count * BOXES_A_PIECE, LONG);
}

/* Makes every scene of the rig from the journal again, and compares. */
static void check_all(void)
{
    srv_restored restored;
    char error[600];
    struct srv_backend *backend = NULL;
    struct srv_restore *r = NULL;
    ck_assert_msg(srv_sqlite_open(rig.folder, &backend, error, sizeof error), "%s", error);
    ck_assert_msg(srv_sqlite_check(backend, error, sizeof error), "%s", error);
    const srv_restore_options options = {.backend = backend, .path = rig.folder, .threads = 2};
    ck_assert(srv_restore_begin(&options, &r));
    ck_assert_msg(srv_restore_end(r, &restored, error, sizeof error), "%s", error);
    size_t found = 0;
    for (size_t i = 0; i < restored.count; i++)
        for (size_t k = 0; k < rig.scene_count; k++)
            if (rig.scenes[k].journaled.number == restored.scenes[i].journaled.number) {
                rig_same_scene(rig.scenes[k].journaled.scene, restored.scenes[i].journaled.scene);
                ck_assert_uint_eq(restored.scenes[i].epoch, rig.scenes[k].epoch);
                found++;
            }
    ck_assert_uint_eq(found, restored.count);
    srv_restored_fini(&restored);
    backend->close(backend);
}

/* The journal does a slice of upkeep behind each group: commits as often as there may be slices. */
static void tidy_up(struct rig_scene *scene)
{
    for (int i = 0; i < 20; i++) {
        put_many(scene, 1);
        rig_wait();
    }
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(a_large_scene_is_told_in_pieces_and_its_records_are_forgotten)
{
    rig_open_new(1, 0);
    struct rig_scene *scene = rig_make(&space);
    for (size_t i = 0; i < 18; i++)
        put_pieces(scene, 1); /* 5 MB of records */
    rig_wait();
    ck_assert_uint_ne(scene->journaled.snapshot, 0);
    ck_assert_uint_gt(scene->journaled.chunks, 12); /* 250 KB each */
    ck_assert_uint_gt(scene->journaled.size, 4 << 20);
    tidy_up(scene);
    rig_close();
    ck_assert_int_eq(rig_ask("select count(*) from snapshot"), 1);
    ck_assert_int_eq(rig_ask("select count(*) from chunk"), (int64_t)scene->journaled.chunks);
    ck_assert_int_gt(rig_ask("select max(length(body)) from chunk"), 200000);
    ck_assert_int_eq(rig_ask("select min(seq) from record"), (int64_t)scene->journaled.first);
    check_all();
    rig_end();
}
END_TEST

/* A commit of very many boxes is in the history: no piece of the snapshot is as long as that. */
START_TEST(a_large_commit_of_the_history_is_told_in_parts)
{
    rig_open_new(11, 0);
    struct rig_scene *scene = rig_make(&space);
    put_many(scene, 2);
    put_boxes(scene, 12000, 40);
    put_boxes(scene, 2500, 0); /* just one part */
    put_boxes(scene, 2501, 0);
    put_boxes(scene, 600, LONG); /* more than a part, because of its texts */
    put_many(scene, 3);
    rig.snapshots.least = 1000;
    put_many(scene, 1);
    rig_wait();
    put_many(scene, 1);
    rig_wait();
    ck_assert_uint_ne(scene->journaled.snapshot, 0);
    rig_close();
    const int64_t longest = rig_ask("select max(length(body)) from chunk");
    printf("%lld bytes in the longest piece\n", (long long)longest);
    ck_assert_int_lt(longest, 1000000);
    ck_assert_int_gt(rig_ask("select sum(length(body)) from chunk"), 2500000);
    check_all();
    rig_end();
}
END_TEST

/* 12 scenes; one is busy, the others rest, or change now and then. One of those that rest is locked
 * for a while, and the journal writes a record of it meanwhile. */
START_TEST(idle_scenes_do_not_hold_the_log_back)
{
    enum { LOCKED_FROM = 1000, LOCKED_UNTIL = 1800 };
    rig_open_new(2, 0);
    rig.snapshots.least = 30000;
    for (size_t i = 0; i < 12; i++) {
        struct rig_scene *scene = rig_make(&space);
        for (size_t n = 0; n < 20; n++)
            (void)rig_step(scene, 0);
    }
    rig_wait();
    const uint64_t before = rig.scenes[1].journaled.first;
    uint64_t most = 0;
    for (size_t n = 0; n < 4000; n++) {
        (void)rig_step(&rig.scenes[0], 0);
        if (n % 500 == 499)
            (void)rig_step(&rig.scenes[5], 0);
        if (n == LOCKED_FROM) {
            rig_wait();
            put_many(&rig.scenes[7], 1);
            rig_lock(&rig.scenes[7]);
        }
        if (n == LOCKED_UNTIL) {
            ck_assert_uint_eq(rig.scenes[7].held_count, 1);
            ck_assert_uint_le(rig.scenes[7].journaled.first, rig.scenes[7].held[0].seq);
            rig_unlock(&rig.scenes[7]);
        }
        if (n % 10 == 9) {
            rig_wait();
            uint64_t first = UINT64_MAX;
            for (size_t i = 0; i < 12; i++)
                if (rig.scenes[i].journaled.mark < first)
                    first = rig.scenes[i].journaled.mark;
            if (rig.snapshots.total - first > most && n > 2000)
                most = rig.snapshots.total - first;
        }
    }
    rig_wait();
    printf("%llu bytes written, at most %llu kept\n", (unsigned long long)rig.snapshots.total,
           (unsigned long long)most);
    ck_assert_uint_gt(rig.scenes[1].journaled.first, before);
    ck_assert_uint_gt(rig.snapshots.total, 600000);
    ck_assert_uint_lt(most, 180000);
    rig_close();
    check_all();
    rig_end();
}
END_TEST

/* A scene is locked while the journal writes two of its records. The first one makes a snapshot due
 * before the second one is published. */
START_TEST(a_snapshot_waits_for_the_records_that_are_not_published)
{
    rig_open_new(14, 0);
    rig.snapshots.least = 10000;
    struct rig_scene *scene = rig_make(&space), *other = rig_make(&space);
    rig_wait();
    put_many(scene, 100);
    put_many(scene, 1);
    rig_lock(scene);
    put_many(other, 1);
    rig_wait();
    ck_assert_uint_eq(scene->held_count, 2);
    ck_assert_uint_gt(rig.snapshots.last_seq, scene->held[1].seq); /* of the other scene */
    srv_lock_release(&rig.locks, &scene->lock);
    rig_publish(scene, 0);
    ck_assert_ptr_null(scene->journaled.under_way);
    rig_publish(scene, 1);
    ck_assert_ptr_nonnull(scene->journaled.under_way);
    rig_wait();
    ck_assert_uint_ne(scene->journaled.snapshot, 0);
    rig_close();
    check_all();
    rig_end();
}
END_TEST

START_TEST(a_scene_that_goes_takes_its_snapshot_along)
{
    size_t caught = 0;
    for (size_t turns = 0; turns < 12; turns++) {
        rig_open_new(3, 0);
        rig.snapshots.least = 1000;
        struct rig_scene *scene = rig_make(&space), *other = rig_make(&space);
        put_pieces(scene, 4);
        while (scene->journaled.under_way == NULL)
            srv_loop_step(rig.loop, 10);
        for (size_t i = 0; i < turns; i++)
            srv_loop_step(rig.loop, 10);
        caught += scene->journaled.under_way != NULL;
        rig_remove(scene);
        put_many(other, 1);
        rig_wait();
        ck_assert_ptr_null(rig.snapshots.under_way);
        tidy_up(other);
        rig_close();
        ck_assert_int_eq(rig_ask("select count(*) from snapshot where scene = 1"), 0);
        ck_assert_int_eq(
            rig_ask("select count(*) from chunk where id >> 20 not in (select number from "
                    "snapshot)"),
            0);
        check_all();
        rig_end();
    }
    ck_assert_uint_gt(caught, 4);
}
END_TEST

static size_t made, made_badly;

static void on_sealed(void *context, srv_journal_status status)
{
    struct rig_scene *scene = context;
    made += status == SRV_JOURNAL_OK;
    made_badly += status != SRV_JOURNAL_OK;
    if (status == SRV_JOURNAL_OK)
        srv_snapshots_add(&rig.snapshots, &scene->journaled);
}

static void on_made(void *context, srv_journal_status status)
{
    struct rig_scene *scene = context;
    if (status == SRV_JOURNAL_OK)
        ck_assert(srv_snapshot_seal(&scene->journaled, 0, NULL, on_sealed, scene));
    else
        on_sealed(context, status);
}

START_TEST(a_scene_without_a_record_is_made_by_its_snapshot)
{
    made = made_badly = 0;
    rig_open_new(4, 0);
    struct rig_scene *scene = rig_make(&space);
    for (size_t n = 0; n < 60; n++)
        (void)rig_step(scene, 0);
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene->journaled.scene, NULL, &view, NULL, NULL), OBB_OK);
    struct rig_scene *copy = &rig.scenes[rig.scene_count++];
    *copy = (struct rig_scene){.name = "copy", .dimensions = 3, .epoch = 77};
    const obb_copy of = obb_copy_of(view, obb_str_of(copy->name), 0);
    ck_assert_int_eq(obb_scene_copy(&of, NULL, NULL, &copy->journaled.scene), OBB_OK);
    obb_view_close(view);
    ck_assert_int_eq(obb_store_adopt(rig.store, copy->journaled.scene, copy->epoch), OBB_OK);
    copy->journaled.number = srv_journal_number(rig.journal);
    ck_assert(srv_snapshot_make(&rig.snapshots, &copy->journaled, on_made, copy));
    rig_wait();
    ck_assert_uint_eq(made, 1);
    for (size_t n = 0; n < 60; n++)
        (void)rig_step(n % 2 == 0 ? copy : scene, 0);
    rig_wait();
    rig_close();
    check_all();
    rig_end();
}
END_TEST

/* A back end that refuses some chunks and words, as if the disk were full for a while. */
static struct picky {
    struct srv_backend backend; /* first */
    struct srv_backend *inner;
    struct srv_journal_figures figures;
    _Atomic size_t refuse_in, refused; /* entries until one is refused; 0: none */
    _Atomic int refused_kind;
} picky;

static srv_journal_status picky_add(struct srv_backend *backend, struct srv_entry *entry,
                                    struct wire_buf *bytes)
{
    (void)backend;
    if (entry->kind != SRV_ENTRY_RECORD && atomic_load(&picky.refuse_in) > 0 &&
        atomic_fetch_sub(&picky.refuse_in, 1) == 1) {
        atomic_store(&picky.refused_kind, (int)entry->kind);
        atomic_fetch_add(&picky.refused, 1);
        picky.inner->undo(picky.inner);
        return SRV_JOURNAL_FULL;
    }
    return picky.inner->add(picky.inner, entry, bytes);
}

static void picky_undo(struct srv_backend *backend)
{
    (void)backend;
    picky.inner->undo(picky.inner);
}

static srv_journal_status picky_commit(struct srv_backend *backend)
{
    (void)backend;
    return picky.inner->commit(picky.inner);
}

static bool picky_tidy(struct srv_backend *backend, uint64_t edge)
{
    (void)backend;
    return picky.inner->tidy(picky.inner, edge);
}

static bool picky_recover(struct srv_backend *backend)
{
    (void)backend;
    return true;
}

static void picky_close(struct srv_backend *backend)
{
    (void)backend;
    picky.inner->close(picky.inner);
}

static struct srv_backend *wrap(struct srv_backend *inner)
{
    memset(&picky, 0, sizeof picky);
    picky.backend = (struct srv_backend){.add = picky_add,
                                         .undo = picky_undo,
                                         .commit = picky_commit,
                                         .tidy = picky_tidy,
                                         .recover = picky_recover,
                                         .close = picky_close,
                                         .last_number = inner->last_number,
                                         .last_seq = inner->last_seq};
    picky.inner = inner;
    inner->figures = &picky.figures;
    return &picky.backend;
}

START_TEST(a_snapshot_that_the_journal_refuses_goes_on_when_it_works_again)
{
    enum { PIECES = 3 };
    size_t n = 0, words = 0;
    rig_wrap = wrap;
    do {
        rig_open_new(6, 0);
        struct rig_scene *scene = rig_make(&present);
        rig.snapshots.least = 1 << 30;
        put_pieces(scene, PIECES);
        rig_wait();
        atomic_store(&picky.refuse_in, ++n);
        rig.snapshots.least = 1000;
        put_many(scene, 5);
        while (atomic_load(&picky.refused) == 0 && scene->journaled.snapshot == 0)
            srv_loop_step(rig.loop, 10);
        while (srv_journal_state(rig.journal) != SRV_JOURNAL_OK)
            srv_loop_step(rig.loop, 10);
        atomic_store(&picky.refuse_in, 0);
        words += atomic_load(&picky.refused_kind) == SRV_ENTRY_SNAPSHOT;
        if (n % 3 == 2) {
            rig_remove(scene); /* instead */
            scene = rig_make(&present);
        }
        put_many(scene, n % 3 == 2 ? 10 : 1);
        rig_wait();
        ck_assert_uint_ne(scene->journaled.snapshot, 0);
        ck_assert_ptr_null(rig.snapshots.under_way);
        rig_close();
        check_all();
        rig_end();
    } while (atomic_load(&picky.refused) > 0);
    rig_wrap = NULL;
    printf("%zu entries were refused in turn\n", n - 1);
    ck_assert_uint_ge(n - 1, PIECES + 3); /* the end, the head and the word, too */
    ck_assert_uint_eq(words, 1);
}
END_TEST

START_TEST(a_scene_that_cannot_be_made_durable_is_told_of)
{
    rig_wrap = wrap;
    for (size_t n = 1; n < 4; n++) {
        made = made_badly = 0;
        rig_open_new(7, 0);
        rig.snapshots.least = 1 << 30;
        struct rig_scene *scene = rig_make(&space);
        rig_wait();
        obb_settings settings = space;
        struct srv_journaled lost = {.number = srv_journal_number(rig.journal)};
        ck_assert_int_eq(obb_store_add(rig.store, obb_str_of("lost"), &settings, 5, 0, &lost.scene),
                         OBB_OK);
        struct rig_scene context = {.journaled = lost};
        atomic_store(&picky.refuse_in, n);
        ck_assert(srv_snapshot_make(&rig.snapshots, &context.journaled, on_made, &context));
        while (made + made_badly == 0)
            srv_loop_step(rig.loop, 10);
        ck_assert_uint_eq(made_badly, 1);
        while (srv_journal_state(rig.journal) != SRV_JOURNAL_OK)
            srv_loop_step(rig.loop, 10);
        put_many(scene, 1); /* what is there of it is dropped */
        rig_wait();
        tidy_up(scene);
        ck_assert_ptr_null(rig.snapshots.under_way);
        rig_close();
        ck_assert_int_eq(rig_ask("select count(*) from chunk"), 0);
        check_all(); /* there is no other scene */
        rig_end();
    }
    rig_wrap = NULL;
}
END_TEST

static uint64_t failures(void) { return atomic_load(&srv_journal_figures(rig.journal)->failures); }

/* Commits until the scene has a snapshot that is newer than `former`. */
static void put_until_snapshot(struct rig_scene *scene, uint64_t former)
{
    for (size_t n = 0; scene->journaled.snapshot == former; n++) {
        ck_assert_uint_lt(n, 200);
        put_many(scene, 20);
        rig_wait();
    }
}

START_TEST(a_snapshot_that_the_budget_refuses_is_made_later)
{
    enum { LIMITS = 16 };
    size_t refused = 0, granted = 0;
    for (size_t i = 0; i < LIMITS; i++) {
        struct obb_budget budget;
        /* from nothing to more than the list of a piece's effects, which is 2,500 long */
        obb_budget_init(&budget, 700 * i * i * i);
        rig_open_new(8, 0);
        rig.snapshots.budget = &budget;
        struct rig_scene *scene = rig_make(i % 2 == 0 ? &space : &present);
        for (size_t n = 0; n < 4; n++)
            put_many(scene, 50);
        rig_wait();
        rig.snapshots.least = 1000;
        put_many(scene, 1);
        rig_wait();
        const bool made_at_once = scene->journaled.snapshot != 0;
        refused += !made_at_once;
        granted += made_at_once;
        ck_assert_uint_eq(failures() > 0, !made_at_once);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        budget.limit = SIZE_MAX;
        put_until_snapshot(scene, scene->journaled.snapshot);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        rig_close();
        check_all();
        rig_end();
    }
    printf("%zu budgets refused a snapshot, %zu had room\n", refused, granted);
    ck_assert(refused >= 5 && granted >= 3);
}
END_TEST

START_TEST(each_failing_allocation_of_a_snapshot_is_met)
{
    size_t met = 0;
    bool reached = true;
    for (size_t n = 1; reached; n++) {
        rig_open_new(9, 0);
        struct rig_scene *scene = rig_make(&space);
        for (size_t i = 0; i < 5; i++)
            put_many(scene, 30);
        rig_wait();
        rig.snapshots.least = 1000;
        /* the same as when a record is published */
        fault_arm(n);
        srv_snapshot_written(&rig.snapshots, &scene->journaled, rig.snapshots.last_seq, 0);
        /* if the journal had no memory for a piece, the piece waits for the next record */
        while ((!srv_drain_empty(&rig.drain) && failures() == 0) ||
               srv_journal_state(rig.journal) != SRV_JOURNAL_OK)
            srv_loop_step(rig.loop, 10);
        reached = fault_seen() >= n;
        fault_arm(0);
        met += scene->journaled.snapshot == 0;
        ck_assert(reached || scene->journaled.snapshot != 0);
        ck_assert_uint_eq(failures() > 0, scene->journaled.snapshot == 0);
        put_until_snapshot(scene, scene->journaled.snapshot);
        rig_close();
        check_all();
        rig_end();
    }
    printf("%zu failing allocations were met\n", met);
    ck_assert_uint_gt(met, 10);
}
END_TEST

START_TEST(at_the_end_of_the_service_nothing_is_left_under_way)
{
    for (size_t turns = 0; turns < 8; turns++) {
        made = made_badly = 0;
        rig_open_new(5, turns % 2 == 0 ? 0 : 2);
        rig.snapshots.least = 1000;
        struct rig_scene *scene = rig_make(&space);
        put_pieces(scene, 4);
        for (size_t i = 0; i < turns; i++)
            srv_loop_step(rig.loop, 5);
        rig_close(); /* which stops them */
        ck_assert_ptr_null(rig.snapshots.under_way);
        check_all();
        rig_end();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *tc = tcase_create("snapshot");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_large_scene_is_told_in_pieces_and_its_records_are_forgotten);
    tcase_add_test(tc, a_large_commit_of_the_history_is_told_in_parts);
    tcase_add_test(tc, idle_scenes_do_not_hold_the_log_back);
    tcase_add_test(tc, a_snapshot_waits_for_the_records_that_are_not_published);
    tcase_add_test(tc, a_scene_that_goes_takes_its_snapshot_along);
    tcase_add_test(tc, a_scene_without_a_record_is_made_by_its_snapshot);
    tcase_add_test(tc, a_snapshot_that_the_journal_refuses_goes_on_when_it_works_again);
    tcase_add_test(tc, a_scene_that_cannot_be_made_durable_is_told_of);
    tcase_add_test(tc, a_snapshot_that_the_budget_refuses_is_made_later);
    tcase_add_test(tc, each_failing_allocation_of_a_snapshot_is_met);
    tcase_add_test(tc, at_the_end_of_the_service_nothing_is_left_under_way);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
