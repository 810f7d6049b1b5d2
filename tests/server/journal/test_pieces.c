/* Pieces beside a log, over a store in the hands of the test that loses, repeats and delays. */
#include "server/journal/pieces.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 4000, CALLS = 64, SLICE = 100, PATIENCE_MS = 10 };

/* ---- The store ------------------------------------------------------------------------------- */

static struct {
    struct srv_stream stream; /* first */
    struct kept {
        char key[96];
        char *bytes; /* owned */
        size_t length;
    } kept[KEPT];
    size_t count;
    struct call {
        enum { PUT, GET, DROP } kind;
        char key[96];
        char *bytes; /* owned; of PUT */
        size_t length;
        uint64_t tag;
    } calls[CALLS];
    size_t called;
    bool away;
} store;

static bool note(struct call call, obb_str key)
{
    if (store.away || store.called == CALLS) {
        free(call.bytes);
        return false;
    }
    (void)snprintf(call.key, sizeof call.key, "%.*s", (int)key.length, key.bytes);
    store.calls[store.called++] = call;
    return true;
}

static bool put(struct srv_stream *stream, obb_str key, uint64_t tag, obb_str bytes)
{
    (void)stream;
    char *copy = malloc(bytes.length);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes.bytes, bytes.length);
    return note((struct call){.kind = PUT, .bytes = copy, .length = bytes.length, .tag = tag}, key);
}

static bool get(struct srv_stream *stream, obb_str key, uint64_t tag)
{
    (void)stream;
    return note((struct call){.kind = GET, .tag = tag}, key);
}

static bool drop(struct srv_stream *stream, obb_str set, uint64_t tag)
{
    (void)stream;
    return note((struct call){.kind = DROP, .tag = tag}, set);
}

static bool connected(struct srv_stream *stream)
{
    (void)stream;
    return !store.away;
}

static struct kept *find(const char *key)
{
    for (size_t i = 0; i < store.count; i++)
        if (strcmp(store.kept[i].key, key) == 0)
            return &store.kept[i];
    return NULL;
}

static void keep(struct call *call)
{
    struct kept *kept = find(call->key);
    if (kept == NULL) {
        ck_assert_uint_lt(store.count, KEPT);
        kept = &store.kept[store.count++];
        memcpy(kept->key, call->key, sizeof kept->key);
        kept->bytes = NULL;
    }
    free(kept->bytes);
    kept->bytes = call->bytes;
    kept->length = call->length;
    call->bytes = NULL;
}

static void drop_all(const char *set)
{
    const size_t length = strlen(set);
    for (size_t i = store.count; i-- > 0;)
        if (strncmp(store.kept[i].key, set, length) == 0 && store.kept[i].key[length] == '.') {
            free(store.kept[i].bytes);
            store.kept[i] = store.kept[--store.count];
        }
}

/* ---- The rig --------------------------------------------------------------------------------- */

static test_rng rng;
static struct srv_pieces pieces;
static struct obb_budget budget;
static uint64_t now;
static size_t lost, unheard, lagging;

/* Does one of the calls under way, whichever; one in `faults` goes wrong. 0: none does. */
static void serve(size_t faults)
{
    if (store.called == 0)
        return;
    const size_t i = test_below(&rng, store.called);
    struct call call = store.calls[i];
    store.calls[i] = store.calls[--store.called];
    const bool fails = faults != 0 && test_below(&rng, faults) == 0;
    if (call.kind == GET) {
        const struct kept *kept = find(call.key);
        lagging += fails;
        if (kept == NULL || fails)
            srv_pieces_got(&pieces, call.tag, SRV_STREAM_MISSING, obb_str_of(""), now);
        else
            srv_pieces_got(&pieces, call.tag, SRV_STREAM_FOUND,
                           (obb_str){.bytes = kept->bytes, .length = kept->length}, now);
        return;
    }
    const size_t fate = fails ? test_below(&rng, 3) : 3;
    if (fate > 0 && call.kind == PUT)
        keep(&call);
    if (fate > 0 && call.kind == DROP)
        drop_all(call.key);
    lost += fate == 0;
    unheard += fate == 1;
    free(call.bytes);
    if (fate > 1)
        ck_assert(srv_pieces_appended(&pieces, call.tag, fate == 3, now));
}

static void setup(void)
{
    memset(&store, 0, sizeof store);
    store.stream =
        (struct srv_stream){.put = put, .get = get, .drop = drop, .connected = connected};
    rng = (test_rng){20261123};
    now = 1000;
    lost = unheard = lagging = 0;
    obb_budget_init(&budget, 0);
    pieces = (struct srv_pieces){.stream = &store.stream,
                                 .budget = &budget,
                                 .slice_bytes = SLICE,
                                 .patience_ms = PATIENCE_MS};
}

static void teardown(void)
{
    ck_assert(pieces.first == NULL && pieces.fetches == NULL);
    srv_pieces_fini(&pieces);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    while (store.count > 0)
        free(store.kept[--store.count].bytes);
    while (store.called > 0)
        free(store.calls[--store.called].bytes);
}

static void look(void)
{
    now++;
    srv_pieces_look(&pieces, now);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

struct item {
    struct srv_entry entry; /* first */
    char bytes[1000];
    bool released;
    srv_journal_status status;
};

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    ((struct item *)entry)->status = status;
}

static void on_released(struct srv_entry *entry) { ((struct item *)entry)->released = true; }

static void append(struct item *item, srv_entry_kind kind, wire_record_id set, uint64_t number,
                   uint64_t count, size_t length)
{
    *item = (struct item){.released = false};
    for (size_t i = 0; i < length; i++)
        item->bytes[i] = (char)(number * 7 + i);
    item->entry = (struct srv_entry){.kind = kind,
                                     .number = number,
                                     .count = count,
                                     .link = {.id = set},
                                     .bytes = {item->bytes, length},
                                     .settled = on_settled,
                                     .released = on_released};
    srv_pieces_append(&pieces, &item->entry, now);
    ck_assert(!item->released); /* never within the call */
}

static void finish(struct item *item, size_t faults)
{
    for (size_t n = 0; !item->released; n++) {
        ck_assert_uint_lt(n, 100000);
        serve(faults);
        look();
    }
}

static size_t length_of(uint64_t number) { return (size_t)(number * 37 % 950) + 1; }

static size_t done, found_all;

static void on_done(struct srv_fetch *fetch, bool found)
{
    (void)fetch;
    done++;
    found_all += found;
}

static void write_set(wire_record_id set, uint64_t count, bool head_last, size_t faults)
{
    struct item item;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t number = head_last ? (i + 1) % count : i;
        append(&item, SRV_ENTRY_CHUNK, set, number, i + 1 == count ? count : 0, length_of(number));
        finish(&item, faults);
        ck_assert_int_eq(item.status, SRV_JOURNAL_OK);
    }
}

static void drop_set(wire_record_id set, size_t faults)
{
    struct item item;
    append(&item, SRV_ENTRY_DROPPED, set, 0, 0, 0);
    finish(&item, faults);
    ck_assert_int_eq(item.status, SRV_JOURNAL_OK);
}

static void read_set(wire_record_id set, uint64_t count, size_t faults)
{
    struct srv_fetch fetch = {.set = set, .done = on_done};
    done = found_all = 0;
    srv_fetch_begin(&pieces, &fetch, now);
    for (size_t n = 0; done == 0; n++) {
        ck_assert_uint_lt(n, 100000);
        serve(faults);
        look();
    }
    ck_assert_uint_eq(found_all, 1);
    ck_assert_uint_eq(fetch.count, count);
    for (uint64_t i = 0; i < count; i++) {
        ck_assert_uint_eq(fetch.pieces[i].length, length_of(i));
        for (size_t k = 0; k < length_of(i); k++)
            ck_assert_int_eq(fetch.pieces[i].bytes[k], (char)(i * 7 + k));
    }
    ck_assert_uint_gt(obb_budget_used(&budget), 0); /* also beyond its limit */
    srv_fetch_end(&fetch);
}

START_TEST(what_was_kept_is_got_whatever_is_lost_between)
{
    for (uint64_t set = 1; set <= test_effort(12); set++) {
        const uint64_t count = set % 12 * 5 + 1;
        write_set((wire_record_id){7, set}, count, set % 2 == 0, 5);
        read_set((wire_record_id){7, set}, count, 5);
        if (set > 13) /* the store has no room for more; the first set stays */
            drop_set((wire_record_id){7, set - 12}, 5);
    }
    read_set((wire_record_id){7, 1}, 6, 0);
    ck_assert_uint_gt(lost, 20);
    ck_assert_uint_gt(unheard, 20);
    ck_assert_uint_gt(lagging, 100);
}
END_TEST

START_TEST(a_set_that_is_dropped_is_gone_and_no_other)
{
    write_set((wire_record_id){7, 1}, 5, false, 0);
    write_set((wire_record_id){7, 12}, 5, false, 0);
    drop_set((wire_record_id){7, 1}, 3);
    read_set((wire_record_id){7, 12}, 5, 0);
    struct srv_fetch fetch = {.set = {7, 1}, .done = on_done};
    done = found_all = 0;
    srv_fetch_begin(&pieces, &fetch, now);
    for (int i = 0; done == 0 && i < 20; i++) {
        serve(0);
        look();
    }
    ck_assert_uint_eq(done, 0); /* a server may lag: it is asked again and again */
    now += SRV_PIECES_PATIENCE_MS;
    serve(0);
    look();
    ck_assert(done == 1 && found_all == 0);
    srv_fetch_end(&fetch);
}
END_TEST

START_TEST(a_slice_that_is_damaged_or_another_one_is_not_taken)
{
    struct srv_fetch fetch = {.set = {7, 1}, .done = on_done};
    write_set(fetch.set, 3, false, 0);
    for (int other = 0; other < 2; other++) {
        struct kept *kept = &store.kept[1];
        if (other == 0)
            kept->bytes[kept->length / 2] ^= 1;
        else
            memcpy(kept->key, store.kept[0].key, sizeof kept->key);
        if (other == 1)
            memset(store.kept[0].key, 0, sizeof store.kept[0].key);
        done = found_all = 0;
        srv_fetch_begin(&pieces, &fetch, now);
        for (int i = 0; done == 0; i++) {
            ck_assert_int_lt(i, 1000);
            serve(0);
            look();
        }
        ck_assert_uint_eq(found_all, 0);
        srv_fetch_end(&fetch);
        fetch = (struct srv_fetch){.set = {7, 1}, .done = on_done};
    }
}
END_TEST

START_TEST(without_the_store_pieces_fail_and_fetches_wait)
{
    struct item item, last;
    struct srv_fetch fetch = {.set = {7, 1}, .done = on_done};
    write_set(fetch.set, 2, false, 0);
    store.away = true;
    done = found_all = 0;
    append(&item, SRV_ENTRY_CHUNK, (wire_record_id){7, 2}, 0, 1, 10);
    srv_fetch_begin(&pieces, &fetch, now);
    for (int i = 0; i <= PATIENCE_MS; i++)
        look();
    ck_assert(item.released && item.status == SRV_JOURNAL_FAILED);
    now += UINT64_C(2) * SRV_PIECES_PATIENCE_MS;
    look();
    ck_assert_uint_eq(done, 0);
    store.away = false;
    look();
    ck_assert_uint_eq(store.called, 1);
    for (int i = 0; i < 3; i++) { /* no server answers for long */
        now += SRV_PIECES_PATIENCE_MS;
        srv_pieces_got(&pieces, store.calls[--store.called].tag, SRV_STREAM_UNKNOWN, obb_str_of(""),
                       now);
        look();
        ck_assert_uint_eq(done, 0);
    }
    for (int i = 0; done == 0; i++) {
        ck_assert_int_lt(i, 1000);
        serve(0);
        look();
    }
    ck_assert_uint_eq(found_all, 1);
    srv_fetch_end(&fetch);
    append(&item, SRV_ENTRY_CHUNK, (wire_record_id){7, 3}, 0, 0, 10);
    append(&last, SRV_ENTRY_CHUNK, (wire_record_id){7, 3}, 1, 2, 10);
    srv_pieces_give_up(&pieces);
    ck_assert(item.released && item.status == SRV_JOURNAL_FAILED && last.released);
    while (store.called > 0)
        serve(0); /* answers that come too late */
}
END_TEST

START_TEST(a_fetch_may_be_given_up)
{
    struct srv_fetch fetch = {.set = {7, 1}, .done = on_done};
    write_set(fetch.set, 20, true, 0);
    done = 0;
    srv_fetch_begin(&pieces, &fetch, now);
    for (int i = 0; i < 5; i++)
        serve(0);
    ck_assert_uint_gt(fetch.count, 0);
    srv_fetch_end(&fetch);
    serve(0);
    look();
    ck_assert_uint_eq(done, 0);
    srv_fetch_end(&fetch); /* zeroes are fine */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pieces");
    TCase *tc = tcase_create("pieces");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_was_kept_is_got_whatever_is_lost_between);
    tcase_add_test(tc, a_set_that_is_dropped_is_gone_and_no_other);
    tcase_add_test(tc, a_slice_that_is_damaged_or_another_one_is_not_taken);
    tcase_add_test(tc, without_the_store_pieces_fail_and_fetches_wait);
    tcase_add_test(tc, a_fetch_may_be_given_up);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
