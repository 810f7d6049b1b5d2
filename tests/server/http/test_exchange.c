/* Exchanges: their pool, and requests whose client goes. */
#include "server/http/body.h"
#include "server/http/exchange.h"
#include "tests/server/http_service.h"
#include "tests/support/fault.h"

START_TEST(work_for_clients_that_go_is_given_up)
{
    const int s = dial();
    say(s, "GET /sleep HTTP/1.1\r\n" H "\r\n");
    await_sleepers(1);
    const double start = now_ms();
    if (_i == 1)
        reset(s);
    else
        close(s);
    while (atomic_load(&cancelled_jobs) == 0) /* if it never is, by the limit of the test */
        wait_ms(0.1);
    printf("noticed after %.2f ms\n", now_ms() - start);
    ck_assert_int_eq(atomic_load(&cancelled_jobs), 1);
    ck_assert_int_eq(atomic_load(&late_jobs), 0);
}
END_TEST

START_TEST(who_sends_no_more_is_still_answered)
{
    char heard[4096];
    const int s = dial();
    say(s, "GET /sleep HTTP/1.1\r\n" H "\r\n");
    await_sleepers(1);
    ck_assert_int_eq(shutdown(s, SHUT_WR), 0);
    ck_assert(hear(s, heard, sizeof heard, 10 * TIMEOUT_MS));
    ck_assert_int_eq(status_of(heard), 503);      /* the first byte is that of the answer */
    ck_assert_int_eq(atomic_load(&late_jobs), 1); /* its time was over: not before */
    close(s);
}
END_TEST

/* ---- The pool, without a service ------------------------------------------------------------- */

static struct srv_connections connections;
static struct srv_exchanges exchanges;
static struct srv_connection *connection;
static srv_http_options options = {
    .metrics = &metrics, .budget = &budget, .body_limit = 1u << 21, .request_timeout_ms = 60000};

static void on_gone(void *context) { (void)context; }

static void setup_pool(void)
{
    static const struct srv_endpoint endpoint = {0};
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_metrics_init(&metrics, 0));
    obb_budget_init(&budget, 1u << 20);
    options.loop = loop;
    connections = (struct srv_connections){.options = &options, .on_closed = on_gone};
    exchanges = (struct srv_exchanges){.options = &options};
    ck_assert(srv_connections_init(&connections));
    connection = srv_connection_open(&connections, NULL, -1, &endpoint, false);
    ck_assert_ptr_nonnull(connection);
}

static void teardown_pool(void)
{
    srv_connection_close(connection);
    srv_connections_fini(&connections);
    srv_exchanges_fini(&exchanges);
    ck_assert_uint_eq(exchanges.active, 0);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_loop_destroy(loop);
    srv_metrics_fini(&metrics);
}

START_TEST(exchanges_come_back_empty_with_their_buffers)
{
    struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
    ck_assert_ptr_nonnull(x);
    ck_assert_ptr_eq(connection->exchange, x);
    ck_assert_uint_eq(exchanges.active, 1);
    ck_assert_ptr_nonnull(obb_arena_alloc(&x->request.arena, 100, 1));
    wire_buf_append(&x->request.reply, "reply", 5);
    x->body = obb_malloc(1000, 1);
    ck_assert_ptr_nonnull(x->body);
    x->body_capacity = 1000;
    x->body_length = 10;
    srv_exchange_refuse(x, 404, NULL);
    x->handled = x->headers_seen = x->request.has_etag = true;
    const char *reply = x->request.reply.bytes, *body = x->body;
    srv_exchange_end(x);
    ck_assert_ptr_null(connection->exchange);
    ck_assert_uint_eq(exchanges.active, 0);
    ck_assert_uint_eq(exchanges.free_count, 1);

    fault_arm(1); /* it takes no memory to begin again */
    struct srv_exchange *y = srv_exchange_begin(&exchanges, connection);
    fault_arm(0);
    ck_assert_ptr_eq(y, x);
    ck_assert_uint_eq(y->request.number, 2);
    ck_assert_ptr_eq(y->request.reply.bytes, reply);
    ck_assert_uint_eq(y->request.reply.length, 0);
    ck_assert_ptr_eq(y->body, body);
    ck_assert_uint_eq(y->body_length, 0);
    ck_assert(!y->refused && !y->handled && !y->headers_seen && !y->request.has_etag);
    srv_exchange_end(y);
}
END_TEST

/* Fills the body as bytes that arrive do. */
static void take_body(struct srv_exchange *x, size_t size)
{
    char *bytes = obb_calloc(size, 1);
    ck_assert_ptr_nonnull(bytes);
    x->declared = size;
    srv_body_take(x, bytes, size);
    obb_free(bytes);
}

START_TEST(large_buffers_go_with_their_request)
{
    struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
    ck_assert_ptr_nonnull(obb_arena_alloc(&x->request.arena, SRV_OWN_BUFFER + 1, 1));
    ck_assert_ptr_nonnull(wire_buf_room(&x->request.reply, SRV_OWN_BUFFER + 1));
    take_body(x, SRV_OWN_BUFFER + 1);
    ck_assert_uint_gt(obb_budget_used(&budget), 0);
    srv_exchange_end(x);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    x = srv_exchange_begin(&exchanges, connection);
    ck_assert_uint_eq(x->request.arena.total, 0);
    ck_assert_uint_eq(x->request.reply.capacity, 0);
    ck_assert_ptr_null(x->body);
    ck_assert_uint_eq(x->body_capacity, 0);
    srv_exchange_end(x);
}
END_TEST

START_TEST(small_requests_draw_nothing)
{
    for (int i = 0; i < 3; i++) {
        struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
        ck_assert_ptr_nonnull(obb_arena_alloc(&x->request.arena, 8192, 1));
        ck_assert_ptr_nonnull(wire_buf_room(&x->request.reply, 8192));
        take_body(x, SRV_OWN_BUFFER);
        ck_assert_uint_eq(x->body_length, SRV_OWN_BUFFER);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        srv_exchange_end(x);
    }
}
END_TEST

START_TEST(the_memory_limit_is_shared_and_given_back)
{
    enum { HALF = 1 << 19 };
    struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
    take_body(x, HALF);
    ck_assert(!x->refused);
    ck_assert_uint_eq(obb_budget_used(&budget), HALF - SRV_OWN_BUFFER);
    ck_assert_ptr_nonnull(obb_arena_alloc(&x->request.arena, HALF, 1));
    ck_assert_ptr_null(obb_arena_alloc(&x->request.arena, HALF, 1));
    ck_assert_ptr_null(wire_buf_room(&x->request.reply, HALF));
    ck_assert_uint_le(obb_budget_used(&budget), 1u << 20);
    srv_exchange_end(x);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

START_TEST(bodies_without_room_are_refused)
{
    ck_assert(obb_budget_take(&budget, 1u << 19));
    struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
    take_body(x, 1u << 20); /* later, perhaps */
    ck_assert(x->refused && x->discard);
    ck_assert_int_eq(x->refusal.status, 503);
    ck_assert_int_eq(x->refusal.retry_after, 1);
    srv_exchange_end(x);
    x = srv_exchange_begin(&exchanges, connection);
    take_body(x, (1u << 20) + 1); /* never */
    ck_assert(x->refused && x->discard);
    ck_assert_int_eq(x->refusal.status, 413);
    srv_exchange_end(x);
    ck_assert_uint_eq(obb_budget_used(&budget), 1u << 19);
    obb_budget_give(&budget, 1u << 19);
}
END_TEST

static int cancels;
static void on_cancel(struct srv_request *request)
{
    ck_assert(atomic_load(&request->cancelled));
    cancels++;
}

START_TEST(a_request_is_cancelled_once)
{
    struct srv_exchange *x = srv_exchange_begin(&exchanges, connection);
    x->request.on_cancel = on_cancel;
    ck_assert(!srv_request_late(&x->request));
    srv_exchange_cancel(x, true);
    srv_exchange_cancel(x, false);
    ck_assert_int_eq(cancels, 1);
    ck_assert(srv_request_late(&x->request));
    ck_assert_uint_eq(metrics.cancelled_total, 1);
    srv_exchange_end(x);
}
END_TEST

START_TEST(want_of_memory_begins_no_exchange)
{
    fault_arm(1);
    ck_assert_ptr_null(srv_exchange_begin(&exchanges, connection));
    fault_arm(0);
    ck_assert_ptr_null(connection->exchange);
    ck_assert_uint_eq(exchanges.active, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *tc = http_case(suite, setup);
    tcase_add_loop_test(tc, work_for_clients_that_go_is_given_up, 0, 2);
    TCase *late = http_case(suite, setup_short);
    tcase_add_test(late, who_sends_no_more_is_still_answered);
    TCase *pool = tcase_create("pool");
    tcase_add_checked_fixture(pool, setup_pool, teardown_pool);
    tcase_add_test(pool, exchanges_come_back_empty_with_their_buffers);
    tcase_add_test(pool, large_buffers_go_with_their_request);
    tcase_add_test(pool, small_requests_draw_nothing);
    tcase_add_test(pool, bodies_without_room_are_refused);
    tcase_add_test(pool, the_memory_limit_is_shared_and_given_back);
    tcase_add_test(pool, a_request_is_cancelled_once);
    tcase_add_test(pool, want_of_memory_begins_no_exchange);
    suite_add_tcase(suite, pool);
    return test_main(suite);
}
