#include "server/journal/shared.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 1000 };

static struct srv_loop *loop;
static struct srv_journal *journal;

/* The clock by which a turn of the journal ends stands still. So whatever can be judged is judged
 * at once, however slow the machine is. Timers go by another clock. */
uint64_t uv_hrtime(void); /* instead of that of libuv, for srv_clock */
uint64_t uv_hrtime(void) { return 0; }

/* ---- A log in the hands of the test ---------------------------------------------------------- */

static struct {
    struct srv_stream stream; /* first */
    struct srv_stream_calls calls;
    bool away, full, closed;
    struct {
        char name[8];
        uint64_t tag;
        size_t records;
        struct wire_buf bytes; /* owned */
    } sent[MOST];
    size_t count;
    uint64_t seq, left; /* left: messages behind the one that is shown next */
    /* What was asked for last of pieces, and how often. */
    char key[96];
    uint64_t tag;
    size_t gets, drops;
    /* Likewise of purges and rewinds. */
    char purged[8];
    uint64_t purged_below, purge_tag, rewound;
    size_t purges, rewinds;
    bool keeps_all; /* nothing may be removed */
    bool all_sleep; /* scenes of others do */
    /* What was asked for last of messages, and how often. */
    uint64_t asked, asked_tag;
    size_t asks;
    uint64_t lag_ms; /* of what is not delivered */
} the_log;

static bool log_begin(struct srv_stream *stream, const struct srv_stream_calls *calls)
{
    (void)stream;
    the_log.calls = *calls;
    return true;
}

static size_t records_of(obb_str bytes)
{
    size_t count = 0;
    for (obb_str one; bytes.length > 0 && wire_record_next(&bytes, &one);)
        count++;
    return count;
}

static bool log_append(struct srv_stream *stream, obb_str name, uint64_t tag, obb_str bytes)
{
    (void)stream;
    if (the_log.away || the_log.full)
        return false;
    ck_assert_uint_lt(the_log.count, MOST);
    (void)snprintf(the_log.sent[the_log.count].name, 8, "%.*s", (int)name.length, name.bytes);
    the_log.sent[the_log.count].tag = tag;
    the_log.sent[the_log.count].records = records_of(bytes);
    the_log.sent[the_log.count].bytes = (struct wire_buf){0};
    wire_buf_append(&the_log.sent[the_log.count++].bytes, bytes.bytes, bytes.length);
    return true;
}

static bool log_mark(struct srv_stream *stream, uint64_t tag, obb_str bytes, bool clears)
{
    ck_assert(!clears); /* not so soon */
    return log_append(stream, obb_str_of(""), tag, bytes);
}

static bool log_get(struct srv_stream *stream, obb_str key, uint64_t tag)
{
    (void)stream;
    (void)snprintf(the_log.key, sizeof the_log.key, "%.*s", (int)key.length, key.bytes);
    the_log.tag = tag;
    the_log.gets++;
    return true;
}

static bool log_has(struct srv_stream *stream, uint64_t seq, uint64_t tag)
{
    (void)stream;
    the_log.asked = seq;
    the_log.asked_tag = tag;
    the_log.asks++;
    return true;
}

/* It cannot be read at this moment. */
static bool log_read(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    (void)stream;
    (void)name;
    (void)seq;
    (void)tag;
    return false;
}

static bool log_removes(struct srv_stream *stream)
{
    (void)stream;
    return !the_log.keeps_all;
}

static bool log_drop(struct srv_stream *stream, obb_str set, uint64_t tag)
{
    (void)stream;
    (void)snprintf(the_log.key, sizeof the_log.key, "%.*s", (int)set.length, set.bytes);
    the_log.tag = tag;
    the_log.drops++;
    return true;
}

static bool log_purge(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    (void)stream;
    (void)snprintf(the_log.purged, sizeof the_log.purged, "%.*s", (int)name.length, name.bytes);
    the_log.purged_below = seq;
    the_log.purge_tag = tag;
    the_log.purges++;
    return true;
}

static void log_rewind(struct srv_stream *stream, uint64_t seq)
{
    (void)stream;
    the_log.rewound = seq;
    the_log.rewinds++;
}

static void log_resume(struct srv_stream *stream) { (void)stream; }

static bool log_connected(struct srv_stream *stream)
{
    (void)stream;
    return !the_log.away;
}

static uint64_t log_lag_ms(struct srv_stream *stream)
{
    (void)stream;
    return the_log.lag_ms;
}

static void log_close(struct srv_stream *stream)
{
    (void)stream;
    the_log.closed = true;
}

/* Shows the n-th message that was sent to its sender. */
static void show(size_t n)
{
    the_log.calls.delivered(
        the_log.calls.context, obb_str_of(the_log.sent[n].name), ++the_log.seq, the_log.left,
        (obb_str){.bytes = the_log.sent[n].bytes.bytes, .length = the_log.sent[n].bytes.length});
    the_log.calls.rest(the_log.calls.context);
}

static void acknowledge(size_t n, bool known)
{
    the_log.calls.appended(the_log.calls.context, the_log.sent[n].tag, known);
}

static void show_bytes(const char *name, struct wire_buf *bytes)
{
    the_log.calls.delivered(the_log.calls.context, obb_str_of(name), ++the_log.seq, the_log.left,
                            (obb_str){.bytes = bytes->bytes, .length = bytes->length});
    the_log.calls.rest(the_log.calls.context);
    wire_buf_fini(bytes);
}

/* Shows a record of somebody else. */
static void show_foreign(const char *name, wire_record record)
{
    struct wire_buf bytes = {0};
    wire_record_write(&record, 3, &bytes);
    show_bytes(name, &bytes);
}

/* Shows a slice of a record of somebody else. */
static void show_slice(const char *name, const wire_record *record, uint64_t number, uint64_t count)
{
    struct wire_buf whole = {0}, bytes = {0};
    wire_record_write(record, 3, &whole);
    const size_t from = whole.length * number / count, end = whole.length * (number + 1) / count;
    const wire_slice slice = {.kind = record->kind,
                              .id = record->id,
                              .base = record->base,
                              .number = number,
                              .count = count,
                              .bytes = {whole.bytes + from, end - from}};
    wire_slice_write(&slice, &bytes);
    show_bytes(name, &bytes);
    wire_buf_fini(&whole);
}

/* Lets so many messages about other names pass by that are purged, in two steps: whoever finds that
 * more than SRV_CHAIN_WINDOW were purged at once cannot go on. */
static void pass_window(void)
{
    for (int i = 0; i < 2; i++) {
        const wire_record other = {
            .kind = WIRE_RECORD_COMMIT, .id = {8, 1}, .base = {8, 9}}; /* never counts */
        the_log.seq += SRV_CHAIN_WINDOW / 2;
        show_foreign("other", other);
    }
}

/* ---- Entries --------------------------------------------------------------------------------- */

static struct obb_budget budget; /* it is full from the beginning */

static char story[1000]; /* what the journal has told, in order */

/* Adds "word number; ", or "word; " for 0. */
static void tell(const char *word, int number)
{
    const size_t length = strlen(story);
    char digits[16] = "";
    if (number != 0)
        (void)snprintf(digits, sizeof digits, " %d", number);
    (void)snprintf(story + length, sizeof story - length, "%s%s; ", word, digits);
}

struct item {
    struct srv_entry entry; /* first */
    struct wire_buf bytes;
    int number;
};

static void write_item(const struct srv_entry *entry, struct wire_buf *out)
{
    const struct item *item = (const struct item *)entry;
    wire_buf_append(out, item->bytes.bytes, item->bytes.length);
}

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    static const char *const words[] = {[SRV_JOURNAL_OK] = "good",
                                        [SRV_JOURNAL_FULL] = "full",
                                        [SRV_JOURNAL_FAILED] = "failed",
                                        [SRV_JOURNAL_UNKNOWN] = "unknown",
                                        [SRV_JOURNAL_SUPERSEDED] = "superseded"};
    tell(words[status], ((struct item *)entry)->number);
}

static void on_released(struct srv_entry *entry)
{
    struct item *item = (struct item *)entry;
    wire_buf_fini(&item->bytes);
    free(item);
}

static const wire_record_id none = {0, 0};

static wire_record_id mine(int number) { return (wire_record_id){7, (uint64_t)number}; }

static bool in_parts; /* what the next record says comes in parts, which are kept */

/* Appends record `number` of this process, with this base; longer by so many bytes. */
static void append(const char *name, wire_record_kind kind, int number, wire_record_id base,
                   size_t longer)
{
    static char text[4000];
    struct item *item = calloc(1, sizeof *item);
    ck_assert_ptr_nonnull(item);
    const wire_record record = {.kind = kind,
                                .id = mine(number),
                                .base = base,
                                .in_parts = in_parts,
                                .answer = {.bytes = text, .length = longer}};
    wire_record_write(&record, 3, &item->bytes);
    item->number = number;
    item->entry =
        (struct srv_entry){.kind = kind == WIRE_RECORD_GONE ? SRV_ENTRY_GONE : SRV_ENTRY_RECORD,
                           .link = {kind, record.id, base, .in_parts = in_parts},
                           .name = obb_str_of(name),
                           .write = write_item,
                           .bytes = {item->bytes.bytes, item->bytes.length},
                           .settled = on_settled,
                           .released = on_released};
    const size_t before = strlen(story);
    srv_journal_append(journal, &item->entry);
    ck_assert_uint_eq(strlen(story), before); /* never inside the call */
}

static void on_foreign(void *context, const srv_foreign *record)
{
    (void)context;
    wire_record head;
    ck_assert_int_eq(wire_record_head(record->bytes, &head), OBB_OK);
    tell(record->is_snapshot ? "snapshot" : "foreign", (int)head.id.counter);
}

static void on_snapshot(void *context, obb_str name, const wire_record *record)
{
    (void)context;
    (void)name;
    tell("told of", (int)record->id.counter);
}

static void on_warning(void *context, obb_str name, bool again, const char *why)
{
    (void)context;
    (void)name;
    (void)why;
    tell(again ? "again" : "warning", 0);
}

static void on_caught_up(void *context)
{
    (void)context;
    tell("caught up", 0);
}

static bool may_sleep(void *context, obb_str name)
{
    (void)context;
    (void)name;
    return the_log.all_sleep;
}

static void on_lost(void *context, const char *why)
{
    (void)context;
    tell("lost", 0);
    tell(why, 0);
}

static void setup(void)
{
    memset(&the_log, 0, sizeof the_log);
    story[0] = '\0';
    the_log.stream = (struct srv_stream){.begin = log_begin,
                                         .append = log_append,
                                         .mark = log_mark,
                                         .removes = log_removes,
                                         .get = log_get,
                                         .has = log_has,
                                         .read = log_read,
                                         .drop = log_drop,
                                         .purge = log_purge,
                                         .rewind = log_rewind,
                                         .resume = log_resume,
                                         .connected = log_connected,
                                         .lag_ms = log_lag_ms,
                                         .close = log_close};
    ck_assert(srv_loop_create(&loop));
    obb_budget_init(&budget, 0);
    const srv_shared_options options = {.loop = loop,
                                        .stream = &the_log.stream,
                                        .budget = &budget,
                                        .message_bytes = 1000,
                                        .patience_ms = 10,
                                        .writer = 7,
                                        .keep_ms = 1,
                                        .foreign = on_foreign,
                                        .snapshot = on_snapshot,
                                        .warn = on_warning,
                                        .caught_up = on_caught_up,
                                        .may_sleep = may_sleep,
                                        .lost = on_lost};
    ck_assert(srv_shared_create(&options, &journal));
}

static void teardown(void)
{
    srv_journal_destroy(journal);
    ck_assert(the_log.closed);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_loop_destroy(loop);
    for (size_t i = 0; i < the_log.count; i++)
        wire_buf_fini(&the_log.sent[i].bytes);
}

/* Runs the loop until so many messages were sent, or the story is as long. */
static void run_until(size_t sent, size_t length)
{
    for (int i = 0; the_log.count < sent || strlen(story) < length; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(what_waits_goes_into_the_next_message)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    append("s", WIRE_RECORD_COMMIT, 3, mine(2), 0);
    append("t", WIRE_RECORD_MADE, 4, none, 0);
    ck_assert_uint_eq(the_log.count, 2); /* each scene has a message of its own */
    ck_assert_uint_eq(the_log.sent[0].records, 1);
    acknowledge(0, true);
    ck_assert_uint_eq(the_log.count, 3);
    ck_assert_uint_eq(the_log.sent[2].records, 2);
    ck_assert_str_eq(story, ""); /* an acknowledgement settles nothing */
    show(0);
    show(2);
    show(1);
    ck_assert_str_eq(story, "good 1; good 2; good 3; good 4; ");
    ck_assert_uint_eq(srv_journal_waiting(journal), 0);
    ck_assert(wire_record_id_equal(srv_journal_newest(journal, obb_str_of("s")), mine(3)));
}
END_TEST

START_TEST(a_message_of_which_nothing_is_heard_is_sent_again_and_counts_once)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    run_until(2, 0);
    acknowledge(1, false); /* and again */
    run_until(3, 0);
    acknowledge(2, true); /* and again, because the log does not show it */
    run_until(4, 0);
    show(3);
    show(0);
    show(1);
    ck_assert_str_eq(story, "good 1; ");
    ck_assert_uint_eq(atomic_load(&srv_journal_figures(journal)->voided), 2);
}
END_TEST

START_TEST(what_another_process_came_before_is_taken_back_from_the_newest_to_the_oldest)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      changed = {.kind = WIRE_RECORD_COMMIT, .id = {8, 2}, .base = {8, 1}};
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    append("s", WIRE_RECORD_COMMIT, 3, mine(2), 0);
    show_foreign("s", made);
    ck_assert_str_eq(story, "foreign 1; superseded 3; superseded 2; superseded 1; ");
    story[0] = '\0';
    show_foreign("s", changed); /* waits until the one before is applied */
    show(0);
    ck_assert_str_eq(story, "");
    append("s", WIRE_RECORD_COMMIT, 4, mine(3), 0); /* rests on what does not count */
    run_until(0, 1);
    ck_assert_str_eq(story, "superseded 4; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "superseded 4; foreign 2; ");
    srv_shared_applied(journal, obb_str_of("s"));
    append("s", WIRE_RECORD_COMMIT, 5, changed.id, 0);
    show(the_log.count - 1);
    ck_assert_str_eq(story, "superseded 4; foreign 2; good 5; ");
    ck_assert_uint_eq(atomic_load(&srv_journal_figures(journal)->conflicts), 1);
}
END_TEST

START_TEST(a_long_record_goes_in_slices)
{
    append("s", WIRE_RECORD_MADE, 1, none, 2500);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(the_log.count, i + 1);
        acknowledge(i, true);
    }
    ck_assert_uint_eq(the_log.count, 4);
    for (size_t i = 0; i < 4; i++)
        show(i);
    ck_assert_str_eq(story, "good 1; good 2; ");
}
END_TEST

START_TEST(without_the_log_entries_fail_at_once_and_what_was_sent_waits)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    the_log.away = true;
    ck_assert_int_eq(srv_journal_state(journal), SRV_JOURNAL_FAILED);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    append("s", WIRE_RECORD_COMMIT, 3, mine(2), 0);
    run_until(0, 20);
    ck_assert_str_eq(story, "failed 3; failed 2; ");
    the_log.away = false;
    run_until(2, 0);
    show(1);
    ck_assert_str_eq(story, "failed 3; failed 2; good 1; ");
}
END_TEST

START_TEST(at_the_end_what_the_log_does_not_show_is_given_up)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    srv_journal_hurry(journal);
    append("t", WIRE_RECORD_MADE, 3, none, 0);
    run_until(0, 10);
    ck_assert_str_eq(story, "failed 3; ");
    run_until(0, 30);
    ck_assert_str_eq(story, "failed 3; unknown 2; unknown 1; ");
}
END_TEST

START_TEST(the_beginning_is_over_when_all_of_it_is_applied)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}};
    show_foreign("s", made);
    the_log.calls.caught_up(the_log.calls.context);
    ck_assert_str_eq(story, "foreign 1; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "foreign 1; caught up; ");
}
END_TEST

START_TEST(what_cannot_be_sent_is_sent_later)
{
    the_log.full = true;
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    srv_loop_step(loop, 10);
    ck_assert_uint_eq(the_log.count, 0);
    the_log.full = false;
    run_until(1, 0);
    show(0);
    ck_assert_str_eq(story, "good 1; ");
}
END_TEST

START_TEST(many_scenes_wait_and_each_hears_of_its_message)
{
    enum { SCENES = 300 };
    char names[SCENES][16];
    for (int i = 0; i < SCENES; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        append(names[i], WIRE_RECORD_MADE, i + 1, none, 0);
        append(names[i], WIRE_RECORD_COMMIT, 1000 + i, mine(i + 1), 0);
    }
    ck_assert_uint_eq(the_log.count, SCENES);
    for (int i = SCENES; i-- > 0;) {
        acknowledge((size_t)i, true);
        ck_assert_str_eq(the_log.sent[the_log.count - 1].name, names[i]);
    }
    ck_assert_uint_eq(the_log.count, (size_t)2 * SCENES);
    srv_journal_hurry(journal);
    the_log.away = true;
    for (int i = 0; srv_journal_waiting(journal) > 0; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
}
END_TEST

START_TEST(what_is_kept_of_the_log_counts_and_is_given_back)
{
    static const char text[3000];
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      long_one = {.kind = WIRE_RECORD_COMMIT,
                                  .id = {8, 2},
                                  .base = {8, 1},
                                  .answer = {text, sizeof text}},
                      next = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}};
    show_foreign("s", made);
    srv_shared_applied(journal, obb_str_of("s"));
    const size_t before = obb_budget_used(&budget);
    show_slice("s", &long_one, 0, 3);
    show_slice("s", &long_one, 1, 3);
    show_slice("s", &long_one, 0, 3); /* came again */
    ck_assert_uint_gt(obb_budget_used(&budget), before + 2000);
    ck_assert_str_eq(story, "foreign 1; ");
    show_slice("s", &long_one, 2, 3);
    ck_assert_str_eq(story, "foreign 1; foreign 2; ");
    ck_assert_uint_gt(obb_budget_used(&budget), before + 3000); /* until it is applied */
    show_foreign("s", next);
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "foreign 1; foreign 2; foreign 3; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_uint_eq(obb_budget_used(&budget), before);
    show_slice("s", &long_one, 0, 3); /* can never count */
    ck_assert_uint_eq(obb_budget_used(&budget), before);
}
END_TEST

START_TEST(scenes_that_ended_are_forgotten_after_a_while)
{
    enum { SCENES = 200 };
    char name[8];
    the_log.calls.caught_up(the_log.calls.context); /* whoever ends a scene later purges it */
    for (uint64_t i = 1; i <= SCENES; i++) {
        const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, i}, .seen = the_log.seq},
                          gone = {.kind = WIRE_RECORD_GONE, .id = {9, i}, .base = {8, i}};
        (void)snprintf(name, sizeof name, "n%d", (int)i);
        show_foreign(name, made);
        srv_shared_applied(journal, obb_str_of(name));
        show_foreign(name, gone);
        srv_shared_applied(journal, obb_str_of(name));
        story[0] = '\0';
    }
    ck_assert_uint_eq(srv_journal_newest(journal, obb_str_of("n7")).writer, 9);
    const wire_record late = {.kind = WIRE_RECORD_MADE, .id = {10, 1}, .seen = the_log.seq};
    const size_t one = obb_budget_used(&budget) / SCENES;
    pass_window();
    show_foreign("n7", late); /* whoever forgot n7, and whoever did not, find it void */
    ck_assert_str_eq(story, "");
    for (int i = 0; obb_budget_used(&budget) >= one; i++) {
        ck_assert_int_lt(i, 10000);
        srv_loop_step(loop, 10);
    }
    ck_assert(!wire_record_id_is(srv_journal_newest(journal, obb_str_of("n7"))));
    const wire_record anew = {.kind = WIRE_RECORD_MADE, .id = {11, 1}, .seen = the_log.seq};
    show_foreign("n7", anew);
    ck_assert_str_eq(story, "foreign 1; ");
}
END_TEST

/* The making of a scene comes so late that nobody knows any more whether it came before. */
START_TEST(what_comes_too_late_begins_again)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    the_log.seq += SRV_CHAIN_WINDOW;
    show(0);
    ck_assert_str_eq(story, "superseded 2; superseded 1; ");
    ck_assert_uint_eq(atomic_load(&srv_journal_figures(journal)->voided), 1);
    ck_assert_uint_eq(srv_journal_seen(journal), the_log.seq);
}
END_TEST

START_TEST(a_damaged_record_ends_the_following)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    the_log.sent[0].bytes.bytes[20] ^= 1;
    show(0);
    ck_assert_ptr_eq(strstr(story, "lost; a record of the log is damaged"), story);
    srv_journal_hurry(journal); /* its entry is given up */
    run_until(0, strlen(story) + 5);
    ck_assert_ptr_nonnull(strstr(story, "unknown 1; "));
}
END_TEST

/* ---- Snapshots ------------------------------------------------------------------------------- */

static const wire_record_id word_id = {8, 100};

/* Shows the word that a snapshot is whole, which holds the records up to `base`, at this place. */
static void show_whole(const char *name, wire_record_id id, wire_record_id base, uint64_t place)
{
    const wire_record record = {
        .kind = WIRE_RECORD_WHOLE, .id = id, .base = base, .seen = place, .name = obb_str_of(name)};
    show_foreign(name, record);
}

/* Answers for the only piece of the set that was asked for, or says that it is not there. */
static void answer(wire_record_id set, bool found)
{
    struct wire_buf bytes = {0};
    const wire_slice slice = {
        .kind = WIRE_RECORD_PART, .id = set, .base = {1, 0}, .count = 1, .bytes = {"piece", 5}};
    wire_slice_write(&slice, &bytes);
    the_log.calls.got(the_log.calls.context, the_log.tag,
                      found ? SRV_STREAM_FOUND : SRV_STREAM_MISSING,
                      (obb_str){.bytes = bytes.bytes, .length = found ? bytes.length : 0});
    wire_buf_fini(&bytes);
}

/* Answers that pieces are not there until the journal has told so much. */
static void miss_until(size_t length)
{
    for (int i = 0; strlen(story) < length; i++) {
        ck_assert_int_lt(i, 1000);
        answer(word_id, false);
        srv_loop_step(loop, 10);
    }
}

static uint64_t figure(const _Atomic uint64_t *figure) { return atomic_load(figure); }

START_TEST(whoever_begins_behind_a_purge_loads_the_snapshot)
{
    const wire_record third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      fourth = {.kind = WIRE_RECORD_COMMIT, .id = {8, 4}, .base = {8, 3}},
                      fifth = {.kind = WIRE_RECORD_COMMIT, .id = {8, 5}, .base = {8, 4}};
    the_log.seq = 40; /* the first two records, and others, were purged */
    show_foreign("s", third);
    show_foreign("s", fourth);
    ck_assert_str_eq(story, "");
    show_whole("s", word_id, third.id, 41);
    ck_assert_uint_eq(the_log.gets, 1);
    ck_assert_str_eq(the_log.key, "0000000000000008-100.0.0");
    show_foreign("s", fifth);
    the_log.calls.caught_up(the_log.calls.context);
    ck_assert_str_eq(story, "");
    answer(word_id, true);
    ck_assert_str_eq(story, "snapshot 100; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "snapshot 100; foreign 4; ");
    srv_shared_applied(journal, obb_str_of("s"));
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "snapshot 100; foreign 4; told of 100; foreign 5; caught up; ");
    append("s", WIRE_RECORD_COMMIT, 6, fifth.id, 0);
    show(0);
    ck_assert_ptr_nonnull(strstr(story, "good 6; "));
    ck_assert_uint_eq(the_log.rewinds, 0);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->loads), 1);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->differed), 0);
}
END_TEST

START_TEST(a_snapshot_that_is_damaged_is_passed_over)
{
    const wire_record third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      fourth = {.kind = WIRE_RECORD_COMMIT, .id = {8, 4}, .base = {8, 3}};
    the_log.seq = 40;
    show_foreign("s", third);
    show_whole("s", word_id, third.id, 41);
    answer(word_id, true);
    srv_shared_refused(journal, obb_str_of("s"), "it is damaged");
    ck_assert_str_eq(story, "snapshot 100; warning; ");
    show_foreign("s", fourth);
    show_whole("s", (wire_record_id){9, 200}, fourth.id, 43); /* another one is there */
    ck_assert_str_eq(the_log.key, "0000000000000009-200.0.0");
    answer((wire_record_id){9, 200}, true);
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "snapshot 100; warning; snapshot 200; told of 200; ");
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->passed_over), 1);
    the_log.calls.caught_up(the_log.calls.context);
    ck_assert_ptr_nonnull(strstr(story, "caught up; "));
}
END_TEST

START_TEST(without_a_snapshot_that_can_be_loaded_nothing_is_served)
{
    const wire_record third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}};
    the_log.seq = 40;
    show_foreign("s", third);
    show_whole("s", word_id, third.id, 41);
    the_log.calls.caught_up(the_log.calls.context);
    miss_until(strlen("warning; lost; "));
    ck_assert_ptr_eq(strstr(story, "warning; lost; no snapshot"), story);
}
END_TEST

START_TEST(records_that_never_counted_need_no_snapshot)
{
    const wire_record third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      made = {.kind = WIRE_RECORD_MADE, .id = {8, 4}};
    show_foreign("s", third);
    show_foreign("s", made);
    ck_assert_str_eq(story, "");
    the_log.calls.caught_up(the_log.calls.context);
    run_until(0, 1);
    ck_assert_str_eq(story, "foreign 4; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "foreign 4; caught up; ");
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->voided), 1);
}
END_TEST

/* A record came in parts, which were removed while this process was on its way to them. */
START_TEST(parts_that_are_gone_are_in_a_snapshot)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}, .in_parts = true},
                      next = {.kind = WIRE_RECORD_COMMIT, .id = {8, 2}, .base = {8, 1}};
    show_foreign("s", made);
    ck_assert_str_eq(the_log.key, "0000000000000008-1.0.0");
    show_foreign("s", next);
    show_whole("s", word_id, made.id, 1);
    for (int i = 0; strcmp(the_log.key, "0000000000000008-100.0.0") != 0; i++) {
        ck_assert_int_lt(i, 10000);
        answer(made.id, false);
        srv_loop_step(loop, 10);
    }
    ck_assert_str_eq(story, "");
    answer(word_id, true);
    srv_shared_applied(journal, obb_str_of("s"));
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "snapshot 100; foreign 2; told of 100; ");
}
END_TEST

static void append_in_parts(int number, wire_record_id base)
{
    in_parts = true;
    append("s", WIRE_RECORD_MADE, number, base, 0);
    in_parts = false;
}

/* Each may take the place of a scene that is there. But whoever makes one holds the name until that
 * is settled, and applying the other one waits for it. */
START_TEST(a_making_in_parts_begins_anew_while_another_one_is_got_or_applied)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}, .in_parts = true};
    show_foreign("s", made);
    append_in_parts(1, made.id);
    run_until(0, 1);
    ck_assert_str_eq(story, "superseded 1; ");
    answer(made.id, true);
    append_in_parts(2, made.id);
    run_until(0, strlen("superseded 1; foreign 1; s"));
    ck_assert_str_eq(story, "superseded 1; foreign 1; superseded 2; ");
    srv_shared_applied(journal, obb_str_of("s"));
    append_in_parts(3, made.id);
    ck_assert_uint_eq(the_log.count, 1);
    show(0);
    ck_assert_str_eq(story, "superseded 1; foreign 1; superseded 2; good 3; ");
}
END_TEST

/* Shows the making of "s" to a process that has read everything, and lets it append record 1 behind
 * that. Then messages are purged that it has not read, and `left` are left behind the next one. */
static void fall_behind(const wire_record *made, uint64_t left)
{
    the_log.calls.caught_up(the_log.calls.context);
    show_foreign("s", *made);
    srv_shared_applied(journal, obb_str_of("s"));
    append("s", WIRE_RECORD_COMMIT, 1, made->id, 0);
    story[0] = '\0';
    the_log.seq = 40;
    the_log.left = left;
}

/* Its own record, and one of another process, follow the newest one that it has read. They reached
 * the log too late: others counted before, which were purged. */
START_TEST(a_late_record_behind_a_purge_does_not_count)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      late = {.kind = WIRE_RECORD_COMMIT, .id = {9, 1}, .base = {8, 1}},
                      fourth = {.kind = WIRE_RECORD_COMMIT, .id = {8, 4}, .base = {8, 3}},
                      other = {.kind = WIRE_RECORD_MADE, .id = {9, 2}};
    fall_behind(&made, 5);
    show_foreign("s", third);
    show(0);
    show_foreign("s", late);
    show_foreign("t", other); /* goes on */
    ck_assert_str_eq(story, "foreign 2; ");
    srv_shared_applied(journal, obb_str_of("t"));
    append("s", WIRE_RECORD_COMMIT, 5, mine(1), 0); /* is not sent before it is known */
    show_foreign("s", fourth);
    ck_assert_str_eq(story, "foreign 2; ");
    show_whole("s", word_id, third.id, 41);
    ck_assert_str_eq(story, "foreign 2; again; ");
    answer(word_id, true);
    ck_assert_str_eq(story, "foreign 2; again; snapshot 100; superseded 5; unknown 1; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_ptr_nonnull(strstr(story, "unknown 1; foreign 4; "));
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert(wire_record_id_equal(srv_journal_newest(journal, obb_str_of("s")), fourth.id));
    ck_assert_ptr_nonnull(strstr(story, "foreign 4; told of 100; "));
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->differed), 1);
    ck_assert_uint_eq(the_log.rewinds, 0);
    append("s", WIRE_RECORD_COMMIT, 6, fourth.id, 0);
    show(the_log.count - 1);
    ck_assert_ptr_nonnull(strstr(story, "good 6; "));
}
END_TEST

/* The purge was about another scene: the record is as void as ever. */
START_TEST(a_void_record_behind_a_purge_waits_until_the_log_was_read)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      void_one = {.kind = WIRE_RECORD_COMMIT, .id = {9, 1}, .base = {9, 9}},
                      other = {.kind = WIRE_RECORD_MADE, .id = {9, 2}};
    fall_behind(&made, 3);
    show_foreign("s", void_one);
    show(0);
    ck_assert_str_eq(story, "");
    show_foreign("t", other); /* one more was there when the first one was sent */
    ck_assert_str_eq(story, "foreign 2; ");
    srv_shared_applied(journal, obb_str_of("t"));
    show_foreign("u", void_one);
    ck_assert_str_eq(story, "foreign 2; good 1; ");
    ck_assert_uint_eq(the_log.gets, 0);
}
END_TEST

/* The servers count messages as left that are gone: the log ends before they come. */
START_TEST(a_void_record_behind_a_purge_waits_no_longer_than_to_the_end_of_the_log)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      void_one = {.kind = WIRE_RECORD_COMMIT, .id = {9, 1}, .base = {9, 9}};
    fall_behind(&made, 3);
    show_foreign("s", void_one);
    the_log.left = 2;
    show(0);
    the_log.calls.at_end(the_log.calls.context, the_log.seq - 1); /* of an earlier moment */
    the_log.calls.rest(the_log.calls.context);
    ck_assert_str_eq(story, "");
    the_log.calls.at_end(the_log.calls.context, the_log.seq);
    the_log.calls.rest(the_log.calls.context);
    ck_assert_str_eq(story, "good 1; ");
    ck_assert_uint_eq(the_log.gets, 0);
}
END_TEST

/* The first record behind the purge follows the newest one that was read. */
START_TEST(a_record_that_follows_behind_a_purge_counts_at_once)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}};
    fall_behind(&made, 1000);
    show(0);
    ck_assert_str_eq(story, "good 1; ");
}
END_TEST

/* Slices of a record were purged: what is left of it cannot be put together. */
START_TEST(the_rest_of_a_record_in_slices_behind_a_purge_waits)
{
    static char text[3000];
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      second = {.kind = WIRE_RECORD_COMMIT,
                                .id = {8, 2},
                                .base = {8, 1},
                                .answer = {text, sizeof text}};
    fall_behind(&made, 2);
    show_slice("s", &second, 2, 3);
    show(0);
    ck_assert_str_eq(story, "");
    show_whole("s", word_id, second.id, 41);
    answer(word_id, true);
    ck_assert_str_eq(story, "again; snapshot 100; unknown 1; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert(wire_record_id_equal(srv_journal_newest(journal, obb_str_of("s")), second.id));
}
END_TEST

/* Nobody else judges a scene of which messages lack, whatever becomes of the snapshot. */
START_TEST(a_snapshot_that_is_needed_is_tried_again)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      other = {.kind = WIRE_RECORD_MADE, .id = {9, 2}};
    fall_behind(&made, 3);
    show_foreign("s", third);
    show(0);
    show_whole("s", word_id, third.id, 41);
    miss_until(strlen("again; warning; "));
    const size_t asked = the_log.gets;
    show_foreign("t", other); /* all is read that has to be */
    srv_shared_applied(journal, obb_str_of("t"));
    ck_assert_str_eq(story, "again; warning; foreign 2; ");
    for (int i = 0; the_log.gets == asked; i++) {
        ck_assert_int_lt(i, 10000);
        srv_loop_step(loop, 10);
    }
    answer(word_id, true);
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "again; warning; foreign 2; snapshot 100; unknown 1; told of 100; ");
}
END_TEST

START_TEST(whoever_fell_too_far_behind_ends)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      other = {.kind = WIRE_RECORD_MADE, .id = {9, 2}, .seen = SRV_CHAIN_WINDOW};
    fall_behind(&made, 1);
    the_log.seq = SRV_CHAIN_WINDOW;
    show_foreign("t", other);
    srv_shared_applied(journal, obb_str_of("t"));
    ck_assert_str_eq(story, "foreign 2; ");
    show_foreign("u", other);
    ck_assert_ptr_nonnull(strstr(story, "lost; the log went on too far"));
    srv_journal_hurry(journal);
    run_until(0, strlen(story) + 5);
}
END_TEST

START_TEST(whoever_has_not_read_what_was_purged_loads_the_scene_again)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      third = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}},
                      fourth = {.kind = WIRE_RECORD_COMMIT, .id = {8, 4}, .base = {8, 3}},
                      other = {.kind = WIRE_RECORD_MADE, .id = {9, 1}};
    the_log.calls.caught_up(the_log.calls.context);
    show_foreign("s", made);
    srv_shared_applied(journal, obb_str_of("s"));
    story[0] = '\0';
    append("s", WIRE_RECORD_COMMIT, 1, made.id, 0); /* never counts */
    show_foreign("s", third);
    show_foreign("t", other);
    srv_shared_applied(journal, obb_str_of("t"));
    show_foreign("s", fourth);
    ck_assert_str_eq(story, "foreign 1; ");
    show_whole("s", word_id, third.id, 2);
    ck_assert_str_eq(story, "foreign 1; again; ");
    answer(word_id, true);
    ck_assert_str_eq(story, "foreign 1; again; snapshot 100; unknown 1; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert(the_log.rewinds == 1 && the_log.rewound == 2);
    the_log.seq = 1; /* all is delivered again */
    show_foreign("s", third);
    show_foreign("t", other);
    show_foreign("s", fourth);
    ck_assert_str_eq(story, "foreign 1; again; snapshot 100; unknown 1; foreign 4; ");
    srv_shared_applied(journal, obb_str_of("s"));
    show_whole("s", word_id, third.id, 2);
    ck_assert_ptr_nonnull(strstr(story, "foreign 4; told of 100; "));
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->differed), 1);
    append("s", WIRE_RECORD_COMMIT, 2, fourth.id, 0);
    show(the_log.count - 1);
    ck_assert_ptr_nonnull(strstr(story, "good 2; "));
}
END_TEST

START_TEST(a_snapshot_that_is_refused_leaves_the_scene_as_it_was)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      next = {.kind = WIRE_RECORD_COMMIT, .id = {8, 2}, .base = {8, 1}};
    the_log.calls.caught_up(the_log.calls.context);
    show_foreign("s", made);
    srv_shared_applied(journal, obb_str_of("s"));
    show_whole("s", word_id, (wire_record_id){9, 9}, 1000); /* of a record that nobody wrote */
    answer(word_id, true);
    srv_shared_refused(journal, obb_str_of("s"), "it is another one");
    show_foreign("s", next);
    ck_assert_ptr_nonnull(strstr(story, "again; snapshot 100; warning; foreign 2; "));
    srv_shared_applied(journal, obb_str_of("s"));
}
END_TEST

/* The journal's own snapshot: a while later it purges what that holds. */
START_TEST(what_a_snapshot_holds_is_purged_later)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    append("s", WIRE_RECORD_COMMIT, 2, mine(1), 0);
    acknowledge(0, true);
    show(0);
    show(1);
    show_whole("s", mine(50), mine(1), 1); /* none is older */
    for (int i = 0; the_log.purges == 0; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
    ck_assert_uint_eq(the_log.purged_below, 1);
    the_log.calls.appended(the_log.calls.context, the_log.purge_tag, true);
    ck_assert_uint_eq(the_log.drops, 0);
    show_whole("s", mine(60), mine(2), 2);
    for (int i = 0; the_log.purges < 3; i++) { /* asked for again if nothing is heard */
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
    ck_assert_str_eq(the_log.purged, "s");
    ck_assert_uint_eq(the_log.purged_below, 2);
    the_log.calls.appended(the_log.calls.context, the_log.purge_tag, false);
    for (int i = 0; the_log.purges < 4; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->purges), 1);
    the_log.calls.appended(the_log.calls.context, the_log.purge_tag, true);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->purges), 2);
    ck_assert_uint_eq(the_log.drops, 1); /* the snapshot before */
    ck_assert_str_eq(the_log.key, "0000000000000007-50");
    the_log.calls.appended(the_log.calls.context, the_log.tag, true);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->snapshots), 2);
    ck_assert_ptr_null(strstr(story, "told of"));
}
END_TEST

START_TEST(the_lag_is_that_of_what_is_not_delivered_or_not_applied)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}};
    ck_assert_uint_eq(srv_journal_lag_ms(journal), 0);
    the_log.lag_ms = 700;
    ck_assert_uint_eq(srv_journal_lag_ms(journal), 700);
    the_log.lag_ms = 5;
    show_foreign("s", made);
    for (int i = 0; srv_journal_lag_ms(journal) < 30; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
    srv_shared_applied(journal, obb_str_of("s"));
    srv_loop_step(loop, 10);
    ck_assert_uint_eq(srv_journal_lag_ms(journal), 5);
}
END_TEST

/* The servers may not remove anything. */
START_TEST(a_log_that_keeps_all_is_not_purged)
{
    the_log.keeps_all = true;
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    acknowledge(0, true);
    show(0);
    show_whole("s", mine(50), mine(1), 1);
    for (int i = 0; i < 50; i++)
        srv_loop_step(loop, 10);
    const uint64_t used = obb_budget_used(&budget);
    for (int n = 51; n < 80; n++)
        show_whole("s", mine(n), mine(1), 1);
    ck_assert_uint_eq(obb_budget_used(&budget), used); /* nothing is kept of their pieces */
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->snapshots), 30);
    append("s", WIRE_RECORD_GONE, 2, mine(1), 0);
    show(1);
    the_log.seq += SRV_CHAIN_WINDOW; /* the end is forgotten */
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}, .seen = the_log.seq};
    show_foreign("t", made);
    srv_shared_applied(journal, obb_str_of("t"));
    for (int i = 0; i < 100; i++)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(the_log.purges, 0);
}
END_TEST

START_TEST(a_scene_that_ended_is_purged_once_its_end_is_forgotten)
{
    append("s", WIRE_RECORD_MADE, 1, none, 0);
    show(0);
    show_whole("s", word_id, mine(1), 1);
    append("s", WIRE_RECORD_GONE, 2, mine(1), 0);
    show(1);
    srv_loop_step(loop, 20);
    ck_assert_uint_eq(the_log.purges, 0);
    the_log.seq += SRV_CHAIN_WINDOW;
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}, .seen = the_log.seq};
    show_foreign("t", made);
    srv_shared_applied(journal, obb_str_of("t"));
    for (int i = 0; the_log.purges == 0; i++) {
        ck_assert_int_lt(i, 10000);
        srv_loop_step(loop, 10);
    }
    ck_assert_str_eq(the_log.purged, "s");
    ck_assert_uint_eq(the_log.purged_below, the_log.seq); /* the last message stays */
    the_log.calls.appended(the_log.calls.context, the_log.purge_tag, true);
    ck_assert_str_eq(the_log.key, "0000000000000008-100");
    the_log.calls.appended(the_log.calls.context, the_log.tag, true);
}
END_TEST

/* ---- Scenes that ended unseen ---------------------------------------------------------------- */

static void answer_has(srv_stream_found found)
{
    the_log.calls.got(the_log.calls.context, the_log.asked_tag, found, obb_str_of(""));
}

/* Lets at least one look at all names pass, unless the machine is slow. */
static void look_around(void)
{
    for (int i = 0; i < 20; i++)
        srv_loop_step(loop, 10);
}

static void look_until_asked(size_t asks)
{
    for (int i = 0; the_log.asks < asks; i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
    ck_assert_uint_eq(the_log.asks, asks);
}

static void look_until_gone(void)
{
    for (int i = 0; srv_journal_asleep(journal, obb_str_of("s"), NULL); i++) {
        ck_assert_int_lt(i, 1000);
        srv_loop_step(loop, 10);
    }
}

/* Whoever begins has read that "s" was made, and changed at the place 2, and then much about
 * others. */
static void read_of_an_old_scene(void)
{
    const wire_record made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                      changed = {.kind = WIRE_RECORD_COMMIT, .id = {8, 2}, .base = {8, 1}};
    the_log.all_sleep = true;
    show_foreign("s", made);
    show_foreign("s", changed);
    pass_window();
    look_around();
    ck_assert_uint_eq(the_log.asks, 0); /* it may still read of the end */
    the_log.calls.caught_up(the_log.calls.context);
    look_until_asked(1);
    ck_assert_uint_eq(the_log.asked, 2);
    ck_assert(srv_journal_asleep(journal, obb_str_of("s"), NULL));
}

START_TEST(a_scene_whose_end_was_purged_before_it_was_read_is_gone)
{
    srv_asleep asleep;
    read_of_an_old_scene();
    answer_has(SRV_STREAM_MISSING);
    ck_assert_uint_eq(the_log.count, 1); /* a mark */
    look_around();
    ck_assert(srv_journal_asleep(journal, obb_str_of("s"), NULL)); /* the mark is not read yet */
    show(0);
    look_until_gone();
    ck_assert(!srv_journal_next_asleep(journal, obb_str_of(""), &asleep));
    ck_assert_uint_eq(the_log.asks, 1);
    /* as at all others it may be made anew, by one who knows of none */
    const wire_record anew = {.kind = WIRE_RECORD_MADE, .id = {8, 7}, .seen = the_log.seq};
    show_foreign("s", anew);
    ck_assert(srv_journal_asleep(journal, obb_str_of("s"), NULL));
    ck_assert(wire_record_id_equal(srv_journal_newest(journal, obb_str_of("s")), anew.id));
}
END_TEST

static void on_woken(struct srv_wake_wait *wait, bool good)
{
    (void)wait;
    tell(good ? "woken" : "not woken", 0);
}

START_TEST(whoever_waits_for_a_scene_that_ended_unseen_is_told)
{
    struct srv_wake_wait wait = {.done = on_woken};
    read_of_an_old_scene();
    ck_assert(srv_journal_wake(journal, obb_str_of("s"), &wait));
    answer_has(SRV_STREAM_MISSING);
    show(0);
    look_until_gone();
    run_until(0, strlen("caught up; woken; "));
    ck_assert_str_eq(story, "caught up; woken; ");
}
END_TEST

START_TEST(a_scene_that_is_in_the_log_stays_and_is_asked_for_once)
{
    read_of_an_old_scene();
    answer_has(SRV_STREAM_UNKNOWN);
    look_until_asked(2); /* nobody knew */
    answer_has(SRV_STREAM_FOUND);
    look_around();
    ck_assert_uint_eq(the_log.asks, 2);
    ck_assert(srv_journal_asleep(journal, obb_str_of("s"), NULL));
}
END_TEST

/* Its messages were purged because a snapshot holds them, of which the log tells further on. */
START_TEST(a_scene_of_which_a_later_message_tells_stays)
{
    const wire_record changed = {.kind = WIRE_RECORD_COMMIT, .id = {8, 3}, .base = {8, 2}};
    read_of_an_old_scene();
    answer_has(SRV_STREAM_MISSING);
    show_foreign("s", changed);
    show(0);
    look_around();
    ck_assert(srv_journal_asleep(journal, obb_str_of("s"), NULL));
    ck_assert(wire_record_id_equal(srv_journal_newest(journal, obb_str_of("s")), changed.id));
    ck_assert_uint_eq(the_log.asks, 1);
}
END_TEST

/* ---- Marks ----------------------------------------------------------------------------------- */

struct marked {
    struct srv_mark_wait wait; /* first */
    int number;
};

static void on_mark(struct srv_mark_wait *wait) { tell("mark", ((struct marked *)wait)->number); }

static void mark(struct marked *m, const char *name, int number)
{
    *m = (struct marked){.wait = {.name = obb_str_of(name), .read = on_mark}, .number = number};
    const size_t before = strlen(story);
    srv_shared_mark(journal, &m->wait);
    ck_assert_uint_eq(strlen(story), before); /* never inside the call */
}

static const wire_record foreign_made = {.kind = WIRE_RECORD_MADE, .id = {8, 1}},
                         foreign_next = {.kind = WIRE_RECORD_COMMIT, .id = {8, 2}, .base = {8, 1}};

START_TEST(a_mark_is_told_once_all_before_it_is_applied)
{
    struct marked s, t, all;
    mark(&s, "s", 1);
    mark(&t, "t", 2);
    mark(&all, "", 3);
    ck_assert_uint_eq(the_log.count, 1); /* the other two came too late for it */
    ck_assert_str_eq(the_log.sent[0].name, "");
    show_foreign("s", foreign_made);
    show_foreign("u", foreign_made);
    show(0);
    ck_assert_str_eq(story, "foreign 1; foreign 1; ");
    ck_assert_uint_eq(the_log.count, 2);
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "foreign 1; foreign 1; mark 1; ");
    show(1);
    ck_assert_str_eq(story, "foreign 1; foreign 1; mark 1; mark 2; "); /* of t nothing is known */
    srv_shared_applied(journal, obb_str_of("u"));
    ck_assert_str_eq(story, "foreign 1; foreign 1; mark 1; mark 2; mark 3; ");
    ck_assert_uint_eq(the_log.count, 2);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->marks), 2);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->records), 2);
}
END_TEST

START_TEST(what_comes_behind_a_mark_is_not_waited_for)
{
    struct marked s, all;
    mark(&s, "s", 1);
    show_foreign("s", foreign_made);
    show(0);
    show_foreign("s", foreign_next);
    mark(&all, "", 2);
    show(1);
    ck_assert_str_eq(story, "foreign 1; ");
    srv_shared_applied(journal, obb_str_of("s"));
    ck_assert_str_eq(story, "foreign 1; mark 1; foreign 2; ");
    show_foreign("t", foreign_made); /* behind the second mark */
    srv_shared_applied(journal, obb_str_of("s"));
    run_until(0, strlen(story) + 1);
    ck_assert_str_eq(story, "foreign 1; mark 1; foreign 2; foreign 1; mark 2; ");
    srv_shared_applied(journal, obb_str_of("t"));
}
END_TEST

START_TEST(a_mark_that_is_not_shown_is_sent_again_and_either_serves)
{
    struct marked s, t;
    the_log.full = true;
    mark(&s, "s", 1);
    ck_assert_uint_eq(the_log.count, 0);
    the_log.full = false;
    run_until(2, 0); /* nothing is heard of the first one */
    acknowledge(1, false);
    run_until(3, 0);
    ck_assert_uint_eq(the_log.sent[0].bytes.length, the_log.sent[2].bytes.length);
    mark(&t, "t", 2);
    show(1);
    ck_assert_str_eq(story, "mark 1; ");
    show(0);
    show(2);
    ck_assert_str_eq(story, "mark 1; "); /* the one under way came later than those */
    show(3);
    ck_assert_str_eq(story, "mark 1; mark 2; ");
    ck_assert_uint_eq(srv_journal_seen(journal), 4);
}
END_TEST

START_TEST(marks_of_others_and_of_those_who_left_are_places_of_the_log_and_nothing_else)
{
    struct marked s;
    struct wire_buf bytes = {0};
    wire_buf_append(&bytes, "0123456789abcdef", 16);
    show_bytes("", &bytes);
    show_foreign("s", foreign_made);
    srv_shared_applied(journal, obb_str_of("s"));
    mark(&s, "s", 1);
    srv_mark_wait_leave(&s.wait);
    srv_mark_wait_leave(&s.wait);
    show(0);
    show_foreign("s", foreign_next);
    srv_shared_applied(journal, obb_str_of("s"));
    append("s", WIRE_RECORD_COMMIT, 1, foreign_next.id, 0);
    show(1);
    ck_assert_str_eq(story, "foreign 1; foreign 2; good 1; ");
    ck_assert_uint_eq(srv_journal_seen(journal), 5);
    ck_assert_uint_eq(figure(&srv_journal_figures(journal)->voided), 0);
    mark(&s, "s", 2);
    show(2);
    ck_assert_str_eq(story, "foreign 1; foreign 2; good 1; mark 2; ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared");
    TCase *tc = tcase_create("shared");
    tcase_set_timeout(tc, test_timeout(20));
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_waits_goes_into_the_next_message);
    tcase_add_test(tc, a_message_of_which_nothing_is_heard_is_sent_again_and_counts_once);
    tcase_add_test(tc,
                   what_another_process_came_before_is_taken_back_from_the_newest_to_the_oldest);
    tcase_add_test(tc, a_long_record_goes_in_slices);
    tcase_add_test(tc, without_the_log_entries_fail_at_once_and_what_was_sent_waits);
    tcase_add_test(tc, at_the_end_what_the_log_does_not_show_is_given_up);
    tcase_add_test(tc, the_beginning_is_over_when_all_of_it_is_applied);
    tcase_add_test(tc, what_cannot_be_sent_is_sent_later);
    tcase_add_test(tc, many_scenes_wait_and_each_hears_of_its_message);
    tcase_add_test(tc, what_is_kept_of_the_log_counts_and_is_given_back);
    tcase_add_test(tc, scenes_that_ended_are_forgotten_after_a_while);
    tcase_add_test(tc, what_comes_too_late_begins_again);
    tcase_add_test(tc, a_damaged_record_ends_the_following);
    tcase_add_test(tc, whoever_begins_behind_a_purge_loads_the_snapshot);
    tcase_add_test(tc, a_snapshot_that_is_damaged_is_passed_over);
    tcase_add_test(tc, without_a_snapshot_that_can_be_loaded_nothing_is_served);
    tcase_add_test(tc, records_that_never_counted_need_no_snapshot);
    tcase_add_test(tc, parts_that_are_gone_are_in_a_snapshot);
    tcase_add_test(tc, a_making_in_parts_begins_anew_while_another_one_is_got_or_applied);
    tcase_add_test(tc, a_late_record_behind_a_purge_does_not_count);
    tcase_add_test(tc, a_void_record_behind_a_purge_waits_until_the_log_was_read);
    tcase_add_test(tc, a_void_record_behind_a_purge_waits_no_longer_than_to_the_end_of_the_log);
    tcase_add_test(tc, a_record_that_follows_behind_a_purge_counts_at_once);
    tcase_add_test(tc, the_rest_of_a_record_in_slices_behind_a_purge_waits);
    tcase_add_test(tc, a_snapshot_that_is_needed_is_tried_again);
    tcase_add_test(tc, whoever_fell_too_far_behind_ends);
    tcase_add_test(tc, whoever_has_not_read_what_was_purged_loads_the_scene_again);
    tcase_add_test(tc, a_snapshot_that_is_refused_leaves_the_scene_as_it_was);
    tcase_add_test(tc, what_a_snapshot_holds_is_purged_later);
    tcase_add_test(tc, the_lag_is_that_of_what_is_not_delivered_or_not_applied);
    tcase_add_test(tc, a_log_that_keeps_all_is_not_purged);
    tcase_add_test(tc, a_scene_that_ended_is_purged_once_its_end_is_forgotten);
    tcase_add_test(tc, a_scene_whose_end_was_purged_before_it_was_read_is_gone);
    tcase_add_test(tc, whoever_waits_for_a_scene_that_ended_unseen_is_told);
    tcase_add_test(tc, a_scene_that_is_in_the_log_stays_and_is_asked_for_once);
    tcase_add_test(tc, a_scene_of_which_a_later_message_tells_stays);
    tcase_add_test(tc, a_mark_is_told_once_all_before_it_is_applied);
    tcase_add_test(tc, what_comes_behind_a_mark_is_not_waited_for);
    tcase_add_test(tc, a_mark_that_is_not_shown_is_sent_again_and_either_serves);
    tcase_add_test(tc,
                   marks_of_others_and_of_those_who_left_are_places_of_the_log_and_nothing_else);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
