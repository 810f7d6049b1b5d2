/* Streams: answers of unknown length. */
#include "server/http/exchange.h"
#include "server/http/stream.h"
#include "tests/server/http_service.h"

#include <stdlib.h>

static const int pieces = 5;

struct owner {
    struct srv_stream stream;
    struct srv_timer *timer;
    int left;       /* pieces to come */
    bool cut, slow; /* cut it at its end; give pieces by a timer */
};

static _Atomic int drained, closed; /* calls */

static void piece(struct owner *o)
{
    if (o->left > 0) {
        o->left--;
        if (o->left % 2 == 0) {
            srv_stream_lend(&o->stream, "a piece;", 8);
            ck_assert_uint_ge(srv_stream_waiting(&o->stream), 8);
            return;
        }
        struct wire_buf buf = {0};
        wire_buf_append(&buf, "a ", 2);
        wire_buf_append(&buf, "piece;", 6);
        srv_stream_give(&o->stream, &buf);
        ck_assert_uint_eq(buf.length, 0);
        wire_buf_fini(&buf);
    } else if (o->cut) {
        srv_stream_cut(&o->stream);
    } else {
        srv_stream_end(&o->stream);
    }
}

static void on_timer(void *context) { piece(context); }

static void on_drained(struct srv_stream *stream)
{
    struct owner *o = (struct owner *)(void *)stream;
    atomic_fetch_add(&drained, 1);
    if (o->slow)
        srv_timer_start(o->timer, 5, 0);
    else
        piece(o);
}

static void on_closed(struct srv_stream *stream)
{
    struct owner *o = (struct owner *)(void *)stream;
    atomic_fetch_add(&closed, 1);
    srv_timer_destroy(o->timer);
    free(o);
}

static void on_cancel(struct srv_request *request)
{
    struct owner *o = request->work;
    srv_stream_cut(&o->stream);
}

/* /stream/once, /stream/slow, /stream/cut */
static void do_stream(struct srv_request *request)
{
    const obb_str kind = request->target.parts[1];
    struct owner *o = calloc(1, sizeof *o);
    ck_assert_ptr_nonnull(o);
    o->left = pieces;
    o->cut = obb_str_equal(kind, obb_str_of("cut"));
    o->slow = obb_str_equal(kind, obb_str_of("slow"));
    o->stream.on_drained = on_drained;
    o->stream.on_closed = on_closed;
    ck_assert(srv_timer_create(loop, on_timer, o, &o->timer));
    request->work = o;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, "text/plain", &o->stream);
}

static void never_drained(struct srv_stream *stream)
{
    (void)stream;
    atomic_fetch_add(&drained, 1);
}

/* A stream without a piece, whose owner works or waits for something to happen. */
static void do_still(struct srv_request *request)
{
    struct owner *o = calloc(1, sizeof *o);
    ck_assert_ptr_nonnull(o);
    o->stream.on_drained = never_drained;
    o->stream.on_closed = on_closed;
    o->stream.working = obb_str_equal(request->target.parts[1], obb_str_of("working"));
    o->stream.endless = obb_str_equal(request->target.parts[1], obb_str_of("endless"));
    request->work = o;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, "text/plain", &o->stream);
}

/* A stream without end. */
static void give_block(struct srv_stream *stream)
{
    struct wire_buf buf = {0};
    char *room = wire_buf_room(&buf, 65536);
    ck_assert_ptr_nonnull(room);
    memset(room, 'x', 65536);
    wire_buf_added(&buf, 65536);
    srv_stream_give(stream, &buf);
    wire_buf_fini(&buf);
}

static void do_endless(struct srv_request *request)
{
    struct owner *o = calloc(1, sizeof *o);
    ck_assert_ptr_nonnull(o);
    o->stream.on_drained = give_block;
    o->stream.on_closed = on_closed;
    request->work = o;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, "text/plain", &o->stream);
}

/* Lends `left` pieces, each as the one before is taken, and then none. */
static void lend_next(struct srv_stream *stream)
{
    struct owner *o = (struct owner *)(void *)stream;
    if (o->left-- > 0)
        srv_stream_lend(stream, "a piece;", 8);
}

/* A stream without end, for which some pieces wait at its start. */
static void do_waiting_pieces(struct srv_request *request)
{
    struct owner *o = calloc(1, sizeof *o);
    ck_assert_ptr_nonnull(o);
    o->left = pieces;
    o->stream.on_drained = lend_next;
    o->stream.on_closed = on_closed;
    o->stream.endless = true;
    request->work = o;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, "text/plain", &o->stream);
}

enum { MANY = 200 };

static struct owner *asleep[MANY]; /* streams without end that have nothing to send */
static int asleep_count;
static int told;           /* of these, so many have taken the piece that all were lent */
static int told_before;    /* when the loop slept */
static atomic_int at_once; /* the most between two times; the loop's thread writes it */

static void on_told(struct srv_stream *stream)
{
    struct owner *o = (struct owner *)(void *)stream;
    told += o->left == 0;
    o->left = 1;
}

static void do_asleep(struct srv_request *request)
{
    struct owner *o = calloc(1, sizeof *o);
    ck_assert_ptr_nonnull(o);
    o->left = 1;
    o->stream.on_drained = on_told;
    o->stream.on_closed = on_closed;
    o->stream.endless = true;
    request->work = o;
    request->on_cancel = on_cancel;
    ck_assert_int_lt(asleep_count, MANY);
    asleep[asleep_count++] = o;
    srv_reply_stream(request, 200, "text/plain", &o->stream);
}

static char long_piece[200000];
static uint64_t sent_before; /* bytes, as told_before and at_once */
static _Atomic uint64_t most_sent;

/* /tell/short, /tell/long: lends all sleeping streams a piece. */
static void do_tell(struct srv_request *request)
{
    const bool is_long = obb_str_equal(request->target.parts[1], obb_str_of("long"));
    for (int i = 0; i < asleep_count; i++) {
        asleep[i]->left = 0;
        srv_stream_lend(&asleep[i]->stream, is_long ? long_piece : "a piece;",
                        is_long ? sizeof long_piece : 8);
    }
    srv_reply_constant(request, 200, "text/plain", obb_str_of("told"));
}

static void look_at_told(void *context)
{
    (void)context;
    if (told - told_before > atomic_load(&at_once))
        atomic_store(&at_once, told - told_before);
    told_before = told;
    const uint64_t sent = metrics.sent_bytes - sent_before;
    if (sent > atomic_load(&most_sent))
        atomic_store(&most_sent, sent);
    sent_before = metrics.sent_bytes;
}

static void look_before_sleep(void) { srv_loop_set_rest(loop, look_at_told, NULL); }

static void setup_many_streams(void)
{
    static const srv_route more[] = {{SRV_GET, "/asleep", do_asleep, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/tell/{length}", do_tell, 0, 0, SRV_OPEN}};
    before_loop_runs = look_before_sleep;
    start_with(MANY + 1, 8u << 20, more, 2, NULL);
}

static void setup_streams(void)
{
    static const srv_route more[] = {{SRV_GET, "/endless", do_endless, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/stream/{kind}", do_stream, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/still/{kind}", do_still, 0, 0, SRV_OPEN},
                                     {SRV_GET, "/pieces", do_waiting_pieces, 0, 0, SRV_OPEN}};
    start_with(64, 8u << 20, more, 4, NULL);
}

static void setup_short_streams(void)
{
    times_out = true;
    setup_streams();
}

/* Waits until so many are closed. One that never is fails by the limit of the test. */
static void wait_closed(int count)
{
    while (atomic_load(&closed) < count)
        wait_ms(1);
    ck_assert_int_eq(atomic_load(&closed), count);
}

START_TEST(pieces_arrive_in_order_and_the_connection_stays)
{
    static const char *const requests[] = {"GET /stream/once HTTP/1.1\r\n" H "\r\n",
                                           "GET /stream/slow HTTP/1.1\r\n" H "\r\n"};
    const int s = dial();
    for (int i = 0; i < 2; i++) {
        char heard[4096];
        say(s, requests[i]);
        ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
        ck_assert_int_eq(status_of(heard), 200);
        ck_assert_ptr_nonnull(strstr(heard, "Transfer-Encoding: chunked\r\n"));
        ck_assert_ptr_nonnull(strstr(heard, "X-Content-Type-Options: nosniff\r\n"));
        ck_assert_uint_eq(count_of(heard, "a piece;"), (size_t)pieces);
        ck_assert_str_eq(heard + strlen(heard) - 5, "0\r\n\r\n");
        wait_closed(i + 1);
    }
    ck_assert_int_eq(atomic_load(&drained),
                     pieces + 1 + pieces + 1); /* one piece in memory at a time */
    close(s);
}
END_TEST

START_TEST(pieces_that_wait_for_a_stream_without_end_are_sent_as_one)
{
    static const char chunk[] = "28\r\na piece;a piece;a piece;a piece;a piece;\r\n";
    char heard[4096], body[sizeof chunk] = "";
    const int s = dial();
    say(s, "GET /pieces HTTP/1.1\r\n" H "\r\n");
    hear_head(s, heard, sizeof heard);
    ck_assert_int_eq(recv(s, body, sizeof chunk - 1, MSG_WAITALL), sizeof chunk - 1);
    ck_assert_str_eq(body, chunk);
    close(s);
    wait_closed(1);
}
END_TEST

START_TEST(a_cut_stream_has_no_end)
{
    char heard[4096];
    const int s = dial();
    say(s, "GET /stream/cut HTTP/1.1\r\n" H "\r\n");
    ck_assert(hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_uint_eq(count_of(heard, "a piece;"), (size_t)pieces);
    ck_assert_str_ne(heard + strlen(heard) - 5, "0\r\n\r\n");
    wait_closed(1);
    close(s);
}
END_TEST

START_TEST(the_answer_to_head_has_no_body)
{
    char heard[4096];
    const int s = dial();
    say(s, "HEAD /stream/once HTTP/1.1\r\n" H "\r\n");
    hear_head(s, heard, sizeof heard);
    ck_assert_int_eq(status_of(heard), 200);
    (void)overhear(s, heard, sizeof heard, PATIENCE_MS);
    ck_assert_str_eq(heard, "");
    wait_closed(1);
    close(s);
}
END_TEST

START_TEST(a_client_that_goes_is_noticed_between_two_pieces)
{
    char heard[4096];
    const int s = dial();
    say(s, "GET /still/waiting HTTP/1.1\r\n" H "\r\n");
    hear_head(s, heard, sizeof heard);
    ck_assert_int_eq(status_of(heard), 200);
    ck_assert_int_eq(atomic_load(&closed), 0);
    close(s);
    wait_closed(1);
}
END_TEST

START_TEST(who_sends_no_more_gets_all_pieces)
{
    char heard[4096];
    const int s = dial();
    say(s, "GET /stream/slow HTTP/1.1\r\n" H "\r\n");
    ck_assert_int_eq(shutdown(s, SHUT_WR), 0);
    ck_assert(hear(s, heard, sizeof heard, 10 * TIMEOUT_MS));
    ck_assert_uint_eq(count_of(heard, "a piece;"), (size_t)pieces);
    ck_assert_str_eq(heard + strlen(heard) - 5, "0\r\n\r\n");
    wait_closed(1);
    close(s);
}
END_TEST

START_TEST(who_sends_no_more_leaves_a_stream_without_end)
{
    char heard[4096];
    const int s = dial();
    say(s, "GET /still/endless HTTP/1.1\r\n" H "\r\n");
    hear_head(s, heard, sizeof heard);
    ck_assert_int_eq(status_of(heard), 200);
    ck_assert_int_eq(atomic_load(&closed), 0);
    ck_assert_int_eq(shutdown(s, SHUT_WR), 0);
    wait_closed(1);
    close(s);
}
END_TEST

/* The requests of /still/{kind} that were counted with this status. */
static uint64_t counted(int status)
{
    static const int statuses[] = SRV_STATUS_LIST;
    size_t s = 0;
    while (statuses[s] != status)
        s++;
    return metrics.routes[ROUTES + 2].requests[s];
}

static uint64_t timed(void)
{
    uint64_t count = 0;
    for (size_t c = 0; c < SRV_COSTS; c++)
        for (size_t i = 0; i <= SRV_LATENCIES; i++)
            count += metrics.latency[c].counts[i];
    return count;
}

/* That its client goes is the ordinary end of a stream without end. */
START_TEST(streams_without_end_count_with_their_status_and_without_their_time)
{
    char heard[4096];
    static const char *const requests[] = {"GET /still/endless HTTP/1.1\r\n" H "\r\n",
                                           "GET /still/waiting HTTP/1.1\r\n" H "\r\n"};
    for (int i = 0; i < 2; i++) {
        const int s = dial();
        say(s, requests[i]);
        hear_head(s, heard, sizeof heard);
        ck_assert_int_eq(status_of(heard), 200);
        close(s);
        wait_closed(i + 1);
        ck_assert_uint_eq(counted(200), 1);
        ck_assert_uint_eq(counted(0), (uint64_t)i);
        ck_assert_uint_eq(metrics.cancelled_total, (uint64_t)i);
        ck_assert_uint_eq(timed(), (uint64_t)i);
    }
}
END_TEST

START_TEST(only_an_owner_that_works_is_late)
{
    char heard[4096];
    const int waiting = dial(), working = dial();
    say(waiting, "GET /still/waiting HTTP/1.1\r\n" H "\r\n");
    const double start = now_ms();
    say(working, "GET /still/working HTTP/1.1\r\n" H "\r\n");
    ck_assert(hear(working, heard, sizeof heard, 10 * TIMEOUT_MS));
    ck_assert_double_ge(now_ms() - start, TIMEOUT_MS * 0.9);
    wait_closed(1);
    ck_assert(!overhear(waiting, heard, sizeof heard, 2 * TIMEOUT_MS));
    ck_assert_int_eq(atomic_load(&closed), 1);
    close(waiting);
    wait_closed(2);
    close(working);
}
END_TEST

/* One whose kernel takes little for it. */
static int dial_small(void)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0), small = 16384;
    ck_assert_int_ge(s, 0);
    ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    ck_assert_int_eq(connect(s, &listener.address.as.any, listener.address.length), 0);
    return s;
}

/* Reads slowly, beside a client that reads nothing, until the latter is cut. Returns false if the
 * machine has kept this one from reading for long, too. */
static bool reads_slowly(void)
{
    char bytes[8192];
    const int slow = dial_small(), still = dial_small();
    say(slow, "GET /endless HTTP/1.1\r\n" H "\r\n");
    say(still, "GET /endless HTTP/1.1\r\n" H "\r\n");
    const double start = now_ms();
    double last = start, longest = 0;
    size_t taken = 0;
    ssize_t n = 1;
    while (n > 0 && (last - start < 6 * TIMEOUT_MS || atomic_load(&closed) == 0)) {
        n = recv(slow, bytes, sizeof bytes, 0);
        taken += n > 0 ? (size_t)n : 0;
        wait_ms(40);
        const double now = now_ms();
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    const bool counts = longest < TIMEOUT_MS / 2.0;
    if (counts) {
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(atomic_load(&closed), 1);
        ck_assert_uint_gt(taken, sizeof bytes);
    }
    close(still);
    close(slow);
    wait_closed(2);
    return counts;
}

START_TEST(who_reads_slowly_stays_and_who_reads_nothing_is_cut)
{
    while (!reads_slowly())
        atomic_store(&closed, 0);
}
END_TEST

/* Opens many streams, lends each a piece, and reads `length` bytes of each. */
static void tell_many(const char *request, size_t length)
{
    static char body[sizeof long_piece];
    char heard[4096];
    int clients[MANY];
    for (int i = 0; i < MANY; i++) {
        clients[i] = dial();
        say(clients[i], "GET /asleep HTTP/1.1\r\n" H "\r\n");
        hear_head(clients[i], heard, sizeof heard);
    }
    const int s = dial();
    say(s, request);
    ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 200);
    close(s);
    for (int i = 0; i < MANY; i++) {
        ck_assert(recv(clients[i], body, length, MSG_WAITALL) == (ssize_t)length);
        close(clients[i]);
    }
    wait_closed(MANY);
}

/* The loop takes two turns between two times that it sleeps. */
START_TEST(of_many_streams_that_are_told_at_once_the_loop_wakes_some_a_turn)
{
    const int most = 2 * SRV_WOKEN;
    tell_many("GET /tell/short HTTP/1.1\r\n" H "\r\n", 13);
    printf("%d of %d streams at once\n", atomic_load(&at_once), MANY);
    ck_assert_int_eq(told, MANY);
    ck_assert_int_gt(atomic_load(&at_once), 0);
    ck_assert_int_le(atomic_load(&at_once), most);
}
END_TEST

/* libmicrohttpd sends less than 16 KiB of a stream in a run: a long piece takes 13 or more. */
START_TEST(while_some_of_many_streams_go_on_to_send_the_loop_wakes_fewer)
{
    enum { RUNS = 16 };
    const uint64_t chunk = 16384;
    const uint64_t most = 2 * chunk * (SRV_WOKEN + RUNS * SRV_WOKEN_AT_LEAST);
    tell_many("GET /tell/long HTTP/1.1\r\n" H "\r\n", sizeof long_piece);
    printf("%llu KiB at once\n", (unsigned long long)atomic_load(&most_sent) / 1024);
    ck_assert_uint_gt(atomic_load(&most_sent), chunk);
    ck_assert_uint_le(atomic_load(&most_sent), most);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *tc = http_case(suite, setup_streams);
    tcase_add_test(tc, pieces_arrive_in_order_and_the_connection_stays);
    tcase_add_test(tc, pieces_that_wait_for_a_stream_without_end_are_sent_as_one);
    tcase_add_test(tc, a_cut_stream_has_no_end);
    tcase_add_test(tc, the_answer_to_head_has_no_body);
    tcase_add_test(tc, a_client_that_goes_is_noticed_between_two_pieces);
    tcase_add_test(tc, who_sends_no_more_gets_all_pieces);
    tcase_add_test(tc, who_sends_no_more_leaves_a_stream_without_end);
    tcase_add_test(tc, streams_without_end_count_with_their_status_and_without_their_time);
    TCase *many = http_case(suite, setup_many_streams);
    tcase_add_test(many, of_many_streams_that_are_told_at_once_the_loop_wakes_some_a_turn);
    tcase_add_test(many, while_some_of_many_streams_go_on_to_send_the_loop_wakes_fewer);
    TCase *late = http_case(suite, setup_short_streams);
    tcase_add_test(late, only_an_owner_that_works_is_late);
    tcase_add_test(late, who_reads_slowly_stays_and_who_reads_nothing_is_cut);
    return test_main(suite);
}
