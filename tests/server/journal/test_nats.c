#include "server/journal/nats.h"

#include "tests/support/fault.h"
#include "tests/support/nats.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* ---- A log in a server of its own ------------------------------------------------------------ */

enum { RECORDS = 1000, FLIGHT = 200 /* messages under way */ };

static struct test_nats nats;
static struct srv_loop *loop;
static const srv_log quiet = {.descriptor = -1, .level = SRV_ERROR};

/* What a stream has delivered. */
struct reader {
    struct srv_stream *stream;
    size_t records, marks;
    uint64_t numbers[RECORDS]; /* of the records, in their order */
    uint64_t last, left;       /* the place of the last message, and what it said */
    size_t appended;
};

static void on_appended(void *context, uint64_t tag, bool known)
{
    struct reader *r = context;
    (void)tag;
    ck_assert(known);
    r->appended++;
}

static void on_delivered(void *context, obb_str name, uint64_t seq, uint64_t left, obb_str bytes)
{
    struct reader *r = context;
    ck_assert_uint_gt(seq, r->last);
    r->last = seq;
    r->left = left;
    if (name.length == 0) {
        r->marks++;
        return;
    }
    ck_assert_uint_lt(r->records, RECORDS);
    ck_assert_uint_eq(bytes.length, sizeof(uint64_t));
    memcpy(&r->numbers[r->records++], bytes.bytes, sizeof(uint64_t));
}

static void on_end(void *context, uint64_t seq)
{
    struct reader *r = context;
    ck_assert_uint_eq(seq, r->last);
    ck_assert_uint_gt(r->left, 0);
    r->left = 0;
}

static bool wants(void *context)
{
    (void)context;
    return true;
}

static void on_any(void *context) { (void)context; }

static void open_reader(struct reader *r)
{
    static const char *urls[1];
    static srv_nats_options options;
    char error[200];
    urls[0] = nats.url;
    options = (srv_nats_options){
        .loop = loop, .log = &quiet, .urls = urls, .url_count = 1, .replicas = 1};
    *r = (struct reader){0};
    ck_assert_msg(srv_nats_open(&options, &r->stream, error, sizeof error), "%s", error);
    const struct srv_stream_calls calls = {.appended = on_appended,
                                           .delivered = on_delivered,
                                           .at_end = on_end,
                                           .wants = wants,
                                           .rest = on_any,
                                           .caught_up = on_any,
                                           .context = r};
    ck_assert(r->stream->begin(r->stream, &calls));
    while (!r->stream->connected(r->stream))
        srv_loop_step(loop, 10);
}

/* Waits until all records are delivered, each once and in their order, and a mark behind them. */
static void read_all(const struct reader *r)
{
    while (r->records < RECORDS || r->marks == 0 || r->left > 0)
        srv_loop_step(loop, 10);
    for (uint64_t i = 0; i < RECORDS; i++)
        ck_assert_uint_eq(r->numbers[i], i);
}

static void setup(void)
{
    nats_init(&nats);
    nats_start(&nats);
    ck_assert(srv_loop_create(&loop));
}

static void teardown(void)
{
    srv_loop_destroy(loop);
    nats_fini(&nats);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Servers before 2.9.12 move those who read the log on to the first message that a removal has left
 * of its name, past messages of other names. Here each record is followed at once by a mark that
 * clears, so that whoever was not given the record by then would never be. */
START_TEST(a_record_before_a_mark_that_clears_is_delivered)
{
    static struct reader writer, late;
    open_reader(&writer);
    for (uint64_t i = 0; i < RECORDS; i++) {
        const obb_str bytes = {(const char *)&i, sizeof i};
        ck_assert(writer.stream->append(writer.stream, obb_str_of("a scene"), 2 * i, bytes));
        ck_assert(writer.stream->mark(writer.stream, 2 * i + 1, obb_str_of("a mark"), true));
        while (writer.appended + FLIGHT < 2 * i)
            srv_loop_step(loop, 10);
    }
    while (writer.appended < (size_t)2 * RECORDS)
        srv_loop_step(loop, 10);
    read_all(&writer);
    writer.stream->close(writer.stream);

    open_reader(&late);
    read_all(&late);
    ck_assert_uint_eq(late.marks, 1); /* behind as many gaps as records */
    late.stream->close(late.stream);
    printf("%d records, each before a mark that clears; %zu marks were seen\n", RECORDS,
           writer.marks);
}
END_TEST

/* Waits for TURNS marks, one after the other. anew: the log is asked for anew before each. Returns
 * how many allocations that took, other than those of the library. */
static size_t allocations_of_marks(struct reader *r, bool anew)
{
    enum { TURNS = 20 };
    const size_t from = r->marks;
    fault_arm(0);
    for (size_t i = 1; i <= TURNS; i++) {
        if (anew)
            r->stream->rewind(r->stream, r->last + 1);
        (void)r->stream->mark(r->stream, r->appended, obb_str_of("a mark"), false);
        while (r->marks < from + i || r->appended < from + i)
            srv_loop_step(loop, 10);
    }
    return fault_seen();
}

/* While servers fail, it is asked for again and again, perhaps for days. */
START_TEST(a_log_that_is_asked_for_anew_goes_on_and_nothing_is_kept_of_that)
{
    static struct reader r;
    open_reader(&r);
    (void)allocations_of_marks(&r, false);
    const size_t once = allocations_of_marks(&r, false), anew = allocations_of_marks(&r, true);
    printf("%zu allocations for marks, %zu if the log is asked for anew before each\n", once, anew);
    ck_assert_uint_le(anew, once + 5);
    r.stream->close(r.stream);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nats");
    TCase *tc = tcase_create("nats");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_record_before_a_mark_that_clears_is_delivered);
    tcase_add_test(tc, a_log_that_is_asked_for_anew_goes_on_and_nothing_is_kept_of_that);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
