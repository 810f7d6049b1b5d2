#include "server/journal/backend.h"
#include "server/journal/grouped.h"
#include "server/journal/journal.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 20000 };

static struct srv_loop *loop;
static struct srv_journal *journal;
static struct srv_timer *timer;
static test_rng rng;

/* ---- A back end in memory -------------------------------------------------------------------- */

static struct memory {
    struct srv_backend backend; /* first */
    uint64_t log[MOST];         /* what each durable entry said */
    size_t count, fresh;        /* the last `fresh` are not committed */
    size_t groups, recoveries;
    _Atomic size_t fail_in; /* calls until one fails; 0: none */
    _Atomic size_t refuse_recovery;
    srv_journal_status fails_with;
    _Atomic uint64_t edge;
    size_t slices, slices_left; /* of an excerpt */
    size_t seen;                /* durable entries when its first slice was read */
    _Atomic size_t kept;        /* calls of tidy that may drop nothing */
    bool closed;
} memory;

static bool fails_now(void)
{
    const size_t left = atomic_load(&memory.fail_in);
    if (left == 0)
        return false;
    atomic_store(&memory.fail_in, left - 1);
    if (left > 1)
        return false;
    memory.count -= memory.fresh;
    memory.fresh = 0;
    return true;
}

static srv_journal_status memory_add(struct srv_backend *backend, struct srv_entry *entry,
                                     struct wire_buf *bytes)
{
    (void)backend;
    if (fails_now())
        return memory.fails_with;
    memcpy(&memory.log[memory.count], bytes->bytes, sizeof memory.log[0]);
    entry->seq = ++memory.count;
    memory.fresh++;
    return SRV_JOURNAL_OK;
}

static void memory_undo(struct srv_backend *backend)
{
    (void)backend;
    memory.count -= memory.fresh;
    memory.fresh = 0;
}

static srv_journal_status memory_commit(struct srv_backend *backend)
{
    (void)backend;
    if (fails_now())
        return memory.fails_with;
    memory.fresh = 0;
    memory.groups++;
    return SRV_JOURNAL_OK;
}

static bool memory_tidy(struct srv_backend *backend, uint64_t edge)
{
    if (backend->keeps) {
        atomic_fetch_add(&memory.kept, 1);
        return false;
    }
    const uint64_t before = atomic_load(&memory.edge);
    const uint64_t after = edge > before + 10 ? before + 10 : edge;
    atomic_store(&memory.edge, after);
    return after < edge;
}

static void memory_read(struct srv_backend *backend, struct srv_excerpt *excerpt)
{
    (void)backend;
    if (memory.slices++ == 0)
        memory.seen = memory.count - memory.fresh;
    excerpt->ended = --memory.slices_left == 0;
}

static bool memory_recover(struct srv_backend *backend)
{
    (void)backend;
    memory.recoveries++;
    const size_t left = atomic_load(&memory.refuse_recovery);
    if (left > 0)
        atomic_store(&memory.refuse_recovery, left - 1);
    return left == 0;
}

static void memory_close(struct srv_backend *backend)
{
    (void)backend;
    memory.closed = true;
}

/* ---- Entries --------------------------------------------------------------------------------- */

struct item {
    struct srv_entry entry; /* first */
    uint64_t says;
    bool settled, released;
    srv_journal_status status;
};

static struct item items[MOST];
static size_t appended, settled, released, good, broken;
static uint64_t last_good; /* the item settled last, and well */

static _Atomic size_t no_memory_in; /* entries until one has no memory for its bytes; 0: none */

static void write_item(const struct srv_entry *entry, struct wire_buf *out)
{
    const size_t left = atomic_load(&no_memory_in);
    if (left > 0)
        atomic_store(&no_memory_in, left - 1);
    out->failed = out->failed || left == 1;
    wire_buf_append(out, &((const struct item *)entry)->says, sizeof(uint64_t));
}

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    struct item *item = (struct item *)entry;
    broken += item->settled || item->released;
    item->settled = true;
    item->status = status;
    settled++;
    if (status == SRV_JOURNAL_OK) {
        broken += item->says <= last_good;
        last_good = item->says;
        good++;
    } else {
        for (size_t i = item->says; i < appended; i++)
            broken += !items[i].settled; /* from the newest to the oldest */
    }
}

static void on_released(struct srv_entry *entry)
{
    struct item *item = (struct item *)entry;
    broken += !item->settled || item->released;
    item->released = true;
    released++;
}

static bool hurries; /* the next entry */

static void append(void)
{
    struct item *item = &items[appended++];
    *item = (struct item){.entry = {.kind = SRV_ENTRY_RECORD,
                                    .scene = 1,
                                    .number = appended,
                                    .hurries = hurries,
                                    .write = write_item,
                                    .settled = on_settled,
                                    .released = on_released},
                          .says = appended};
    const size_t before = settled;
    srv_journal_append(journal, &item->entry);
    broken += settled != before;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static size_t bursts;

/* Appends some now and then until enough were settled. */
static void on_timer(void *context)
{
    (void)context;
    if (bursts > 0) {
        for (size_t i = 1 + test_below(&rng, 50); i > 0 && appended < MOST; i--)
            append();
        bursts--;
    } else if (settled == appended && released == appended) {
        srv_loop_stop(loop);
    }
}

static void run(size_t n)
{
    bursts = n;
    srv_timer_start(timer, 1, 1);
    srv_loop_run(loop);
}

/* Records are dropped in slices, beside the work, when the thread comes to it. */
static void run_until_forgotten(uint64_t edge)
{
    while (atomic_load(&memory.edge) < edge)
        run(1);
    ck_assert_uint_eq(atomic_load(&memory.edge), edge);
}

static void begin(uint64_t sync_ms)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_timer_create(loop, on_timer, NULL, &timer));
    memset(&memory, 0, sizeof memory);
    memory.backend = (struct srv_backend){.add = memory_add,
                                          .undo = memory_undo,
                                          .commit = memory_commit,
                                          .tidy = memory_tidy,
                                          .read = memory_read,
                                          .recover = memory_recover,
                                          .close = memory_close,
                                          .last_number = 41};
    memory.fails_with = SRV_JOURNAL_FAILED;
    rng = (test_rng){16};
    appended = settled = released = good = broken = 0;
    last_good = 0;
    ck_assert(srv_grouped_create(loop, &memory.backend, sync_ms, &journal));
}

static void end(void)
{
    srv_journal_destroy(journal);
    ck_assert(memory.closed);
    srv_timer_destroy(timer);
    srv_loop_destroy(loop);
    ck_assert_uint_eq(broken, 0);
}

/* The log holds just what was settled well, in order. */
static void check_log(void)
{
    size_t at = 0;
    for (size_t i = 0; i < appended; i++)
        if (items[i].status == SRV_JOURNAL_OK)
            ck_assert_uint_eq(memory.log[at++], items[i].says);
    ck_assert_uint_eq(at, memory.count);
    ck_assert_uint_eq(at, good);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(entries_are_settled_in_their_order)
{
    begin(0);
    ck_assert_uint_eq(srv_journal_number(journal), 42);
    ck_assert_uint_eq(srv_journal_number(journal), 43);
    run(100);
    ck_assert_uint_gt(appended, 1000);
    ck_assert_uint_eq(good, appended);
    for (size_t i = 0; i < appended; i++)
        ck_assert_uint_eq(items[i].entry.seq, i + 1);
    const struct srv_journal_figures *figures = srv_journal_figures(journal);
    ck_assert_uint_eq(atomic_load(&figures->records), appended);
    ck_assert_uint_eq(atomic_load(&figures->bytes), 8 * appended);
    ck_assert_uint_eq(atomic_load(&figures->groups), memory.groups);
    ck_assert_uint_lt(memory.groups, appended); /* one sync for several */
    ck_assert_uint_eq(srv_journal_waiting(journal), 0);
    check_log();
    end();
}
END_TEST

static size_t slices_heard;

static void on_read(struct srv_excerpt *excerpt)
{
    slices_heard++;
    append(); /* a commit between two slices */
    if (!excerpt->ended) {
        srv_journal_read(journal, excerpt);
        return;
    }
    srv_journal_read_end(journal, excerpt);
    srv_loop_stop(loop);
}

/* Also while entries may wait for a minute. */
START_TEST(an_excerpt_has_what_was_appended_before_and_is_read_beside_the_work)
{
    static struct srv_excerpt excerpt;
    static const uint64_t syncs[] = {0, 60000};
    for (size_t i = 0; i < 2; i++) {
        begin(syncs[i]);
        ck_assert(srv_journal_has_excerpts(journal));
        for (size_t k = 0; k < 30; k++)
            append();
        excerpt = (struct srv_excerpt){.read = on_read};
        memory.slices_left = 100;
        slices_heard = 0;
        srv_journal_forget(journal, 25);
        srv_journal_read(journal, &excerpt);
        ck_assert_uint_eq(slices_heard, 0); /* never within the call */
        srv_loop_run(loop);
        ck_assert_uint_eq(memory.slices, 100);
        ck_assert_uint_ge(memory.seen, 30);
        ck_assert_uint_gt(atomic_load(&memory.kept), 0);
        srv_journal_hurry(journal);
        run(2);
        run_until_forgotten(25); /* it drops again */
        check_log();
        end();
    }
}
END_TEST

/* Begins, appends entries of which the n-th call to the back end fails, and sees that the log holds
 * what was answered. */
static void run_with_failure(uint64_t sync_ms, size_t n)
{
    begin(sync_ms);
    memory.fails_with = n % 2 == 0 ? SRV_JOURNAL_FULL : SRV_JOURNAL_FAILED;
    atomic_store(&memory.refuse_recovery, n % 3);
    atomic_store(&memory.fail_in, n);
    run(5);
    for (size_t i = 0; i < appended; i++)
        ck_assert(items[i].status == SRV_JOURNAL_OK || items[i].status == memory.fails_with);
    check_log();
}

/* It works again by itself, and then nothing fails. */
static void run_recovered(void)
{
    while (srv_journal_state(journal) != SRV_JOURNAL_OK)
        run(0);
    const size_t before = good, more = appended;
    run(2);
    ck_assert_uint_eq(good - before, appended - more);
    check_log();
}

START_TEST(a_failure_takes_all_that_follows_with_it)
{
    size_t failures = 0;
    for (size_t n = 1; n < 60; n++) {
        run_with_failure(0, n);
        failures += good < appended;
        ck_assert_uint_eq(atomic_load(&srv_journal_figures(journal)->failures), good < appended);
        run_recovered();
        end();
    }
    ck_assert_uint_gt(failures, 40);
}
END_TEST

/* What was added before it must not be in the group after it. */
START_TEST(an_entry_without_memory_takes_its_group_with_it)
{
    size_t in_group = 0;
    for (size_t n = 1; n < 60; n++) {
        begin(0);
        atomic_store(&no_memory_in, n);
        run(5);
        /* the entry before it was in its group */
        in_group += n > 1 && n <= appended && items[n - 2].status == SRV_JOURNAL_FAILED;
        for (size_t i = 0; i < appended; i++)
            ck_assert(items[i].status == SRV_JOURNAL_OK || items[i].status == SRV_JOURNAL_FAILED);
        while (srv_journal_state(journal) != SRV_JOURNAL_OK)
            run(0);
        atomic_store(&no_memory_in, 0);
        run(2);
        check_log();
        end();
    }
    printf("%zu groups were taken back\n", in_group);
    ck_assert_uint_gt(in_group, 20);
}
END_TEST

START_TEST(entries_that_need_not_be_durable_are_settled_at_once_and_written_later)
{
    enum { SYNC_MS = 20 };
    begin(SYNC_MS);
    const double begun = srv_clock();
    run(40);
    ck_assert_uint_eq(good, appended);
    /* a group for each interval, and the first one */
    ck_assert_double_le((double)memory.groups, (srv_clock() - begun) * 1e3 / SYNC_MS + 1);
    check_log();
    end();
}
END_TEST

/* Nobody knows when they would be durable. Those that were answered before are written again. */
START_TEST(while_a_group_cannot_be_written_further_entries_are_refused)
{
    size_t refused = 0;
    for (size_t n = 1; n < 60; n++) {
        run_with_failure(1, n);
        refused += appended - good;
        ck_assert_uint_le(atomic_load(&srv_journal_figures(journal)->failures), 1);
        run_recovered();
        end();
    }
    printf("%zu entries were refused\n", refused);
    ck_assert_uint_gt(refused, 100);
}
END_TEST

/* Appends entries that are written as one group. */
static void append_group(size_t n)
{
    while (n-- > 0) {
        hurries = n == 0;
        append();
    }
    hurries = false;
}

/* The disk is full, and stays so. */
START_TEST(at_the_end_what_was_answered_is_given_up_after_a_while)
{
    begin(86400000);
    append_group(10);
    while (released < appended)
        srv_loop_step(loop, 10);
    const size_t kept = memory.count;
    ck_assert_uint_eq(kept, appended);
    memory.fails_with = SRV_JOURNAL_FULL;
    atomic_store(&memory.refuse_recovery, SIZE_MAX);
    atomic_store(&memory.fail_in, 1);
    append_group(10);
    while (srv_journal_state(journal) == SRV_JOURNAL_OK || settled < appended)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(good, appended); /* all are answered */
    ck_assert_uint_eq(released, kept);
    append(); /* this one is refused */
    while (settled < appended)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(good, kept + 10);
    const double begun = srv_clock();
    srv_journal_hurry(journal);
    append();
    while (released < appended)
        srv_loop_step(loop, 10);
    const double took = srv_clock() - begun;
    printf("given up after %.1f s\n", took);
    ck_assert_double_gt(took, 1);
    ck_assert_double_lt(took, test_timeout(4));
    atomic_store(&memory.refuse_recovery, 0); /* too late */
    append();
    while (released < appended)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(memory.count, kept);
    ck_assert_uint_eq(atomic_load(&srv_journal_figures(journal)->lost), 10);
    ck_assert_uint_eq(srv_journal_waiting(journal), 0);
    end();
    ck_assert_uint_eq(memory.count, kept);
}
END_TEST

/* If it waited for its time, which is a day, this test would not end. */
START_TEST(an_entry_that_hurries_takes_along_what_waits)
{
    begin(86400000);
    for (size_t i = 0; i < 10; i++)
        append();
    hurries = true;
    append();
    hurries = false;
    while (released < 11)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(memory.groups, 1);
    append(); /* waits again */
    srv_loop_step(loop, 10);
    ck_assert_uint_eq(released, 11);
    end();
    ck_assert_uint_eq(memory.count, 12);
}
END_TEST

START_TEST(the_end_writes_what_waits)
{
    begin(1000);
    for (size_t i = 0; i < 10; i++)
        append();
    end();
    ck_assert_uint_eq(memory.count, 10);
}
END_TEST

START_TEST(records_are_forgotten_slice_by_slice)
{
    begin(0);
    run(10);
    srv_journal_forget(journal, 95);
    srv_journal_forget(journal, 90); /* never back */
    end();
    ck_assert_uint_le(atomic_load(&memory.edge), 95);
    begin(0);
    run(10);
    srv_journal_forget(journal, 15);
    run_until_forgotten(15);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *tests = tcase_create("thread");
    tcase_set_timeout(tests, test_patience(60));
    tcase_add_test(tests, entries_are_settled_in_their_order);
    tcase_add_test(tests, an_excerpt_has_what_was_appended_before_and_is_read_beside_the_work);
    tcase_add_test(tests, a_failure_takes_all_that_follows_with_it);
    tcase_add_test(tests, an_entry_without_memory_takes_its_group_with_it);
    tcase_add_test(tests, entries_that_need_not_be_durable_are_settled_at_once_and_written_later);
    tcase_add_test(tests, while_a_group_cannot_be_written_further_entries_are_refused);
    tcase_add_test(tests, at_the_end_what_was_answered_is_given_up_after_a_while);
    tcase_add_test(tests, an_entry_that_hurries_takes_along_what_waits);
    tcase_add_test(tests, the_end_writes_what_waits);
    tcase_add_test(tests, records_are_forgotten_slice_by_slice);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
