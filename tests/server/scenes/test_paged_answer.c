/* Answers in pieces while there is no memory, or no worker is free. */
#include "server/scenes/paged_answer.h"

#include "server/http/exchange.h"
#include "server/scenes/lock.h"
#include "server/scenes/services.h"
#include "tests/server/http_service.h"

enum {
    LINES = 5000,
    FEW_LINES = 600, /* one piece, and more than narrow sockets hold */
    LINE = 100,
    NEEDED = 100000
};

static struct srv_pool *pool;
static struct srv_starved starved;
static struct srv_locks locks;
static struct obb_store *store;
static struct obb_scene *scene;
static srv_config config;
static struct srv_services services;

static _Atomic size_t hogged;          /* bytes of the budget that the test has */
static _Atomic int starvations;        /* tries that found no memory */
static _Atomic int light_after_gap;    /* pieces after an empty one that need no `advance` */
static _Atomic int closed;             /* answers that are over */
static _Atomic int on_loop, elsewhere; /* pieces by the thread that wrote them */

/* Takes what is left of the budget. */
static void hog(void)
{
    for (size_t step = budget.limit; step > 0; step /= 2)
        while (obb_budget_take(&budget, step))
            atomic_fetch_add(&hogged, step);
}

static void give_up(void) { obb_budget_give(&budget, atomic_exchange(&hogged, 0)); }

/* ---- An answer of LINES lines ---------------------------------------------------------------- */

struct lines {
    struct srv_paged_answer answer; /* first */
    size_t next;
    size_t hog_at; /* the line at which the test takes all memory; LINES: never */
    size_t count;
    size_t gap_at; /* the line at which a piece ends, and the next one is empty; LINES: none does */
    bool gapped;   /* the empty piece was the last one */
    bool needs;    /* each piece needs memory beside its bytes */
};

static bool write_lines(struct srv_paged_answer *answer)
{
    struct lines *l = (struct lines *)answer;
    char line[LINE + 1];
    atomic_fetch_add(pthread_equal(pthread_self(), thread) ? &on_loop : &elsewhere, 1);
    if (l->needs && !obb_budget_take(&budget, NEEDED)) {
        atomic_fetch_add(&starvations, 1);
        answer->starved = true;
        return true;
    }
    if (l->needs)
        obb_budget_give(&budget, NEEDED);
    if (l->gapped) /* without memory the worker's piece may be begun anew, and not on the loop */
        atomic_fetch_add(&light_after_gap, answer->light);
    l->gapped = false;
    if (l->next == l->gap_at) {
        l->gap_at = LINES;
        l->gapped = true;
        return true;
    }
    while (srv_paged_answer_has_room(answer, LINE)) {
        if (l->next == l->hog_at)
            hog();
        if (l->next == l->count)
            return false;
        if (l->next == l->gap_at)
            return true;
        (void)snprintf(line, sizeof line, "%099zu\n", l->next++);
        wire_buf_append(&answer->piece, line, LINE);
    }
    return true;
}

static void lines_closed(struct srv_paged_answer *answer)
{
    srv_view_close(&locks, (struct obb_view *)(uintptr_t)answer->view);
    atomic_fetch_add(&closed, 1);
}

/* Lets the sockets between client and server hold no more than a few KiB. */
static void narrow(int s, int option)
{
    const int little = 4096;
    ck_assert_int_eq(setsockopt(s, SOL_SOCKET, option, &little, sizeof little), 0);
}

/* /lines/light, /lines/heavy, /lines/hungry, /lines/late, /lines/few, /lines/gap */
static void do_lines(struct srv_request *request)
{
    const obb_str kind = request->target.parts[1];
    request->services = &services;
    struct lines *l = srv_work_room(request, sizeof *l);
    ck_assert_ptr_nonnull(l);
    l->needs = obb_str_equal(kind, obb_str_of("hungry")) || obb_str_equal(kind, obb_str_of("late"));
    l->hog_at = obb_str_equal(kind, obb_str_of("late")) ? LINES / 2 : LINES + 1;
    l->count = obb_str_equal(kind, obb_str_of("few")) ? FEW_LINES : LINES;
    l->gap_at = obb_str_equal(kind, obb_str_of("gap")) ? LINES / 2 : LINES;
    if (l->count == FEW_LINES)
        narrow(request->exchange->connection->descriptor, SO_SNDBUF);
    struct obb_view *view;
    ck_assert_int_eq(srv_view_open(&locks, scene, NULL, &view, NULL, NULL), OBB_OK);
    l->answer.view = view;
    l->answer.write = write_lines;
    l->answer.closed = lines_closed;
    l->answer.light =
        obb_str_equal(kind, obb_str_of("light")) || obb_str_equal(kind, obb_str_of("gap"));
    srv_paged_answer_start(&l->answer, request, WIRE_NDJSON);
}

/* ---- What keeps the worker busy -------------------------------------------------------------- */

static struct srv_bell *busy; /* keeps it so until `enough` */
static atomic_bool is_busy, enough, rested;

static size_t keep_busy(struct srv_job *job)
{
    (void)job;
    atomic_store(&is_busy, true);
    while (!atomic_load(&enough))
        test_rest(1);
    return 0;
}

static void rest(struct srv_job *job)
{
    (void)job;
    atomic_store(&rested, true);
}

static void begin_busy(void *context)
{
    static struct srv_job job;
    (void)context;
    job = (struct srv_job){.advance = keep_busy, .done = rest, .background = true};
    ck_assert_int_eq(srv_pool_submit(pool, &job), SRV_SUBMITTED);
}

/* Returns once the worker is busy. */
static void make_busy(void)
{
    atomic_store(&enough, false);
    atomic_store(&rested, false);
    atomic_store(&is_busy, false);
    srv_bell_ring(busy);
    while (!atomic_load(&is_busy))
        test_rest(1);
}

/* Before the loop's thread runs. */
static void make_services(void)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 1, .history_commits = 1};
    starved = (struct srv_starved){.budget = NULL};
    config = (srv_config){.request_timeout_ms = times_out ? TIMEOUT_MS : LONG_MS};
    ck_assert(srv_pool_create(loop, 1, 8, &budget, &pool));
    ck_assert(srv_bell_create(loop, begin_busy, NULL, &busy));
    ck_assert(srv_starved_init(&starved, loop, &budget));
    ck_assert_int_eq(obb_store_create(8, 1000, obb_kernels_choose(OBB_KERNEL_AUTO), &store),
                     OBB_OK);
    ck_assert_int_eq(obb_store_add(store, obb_str_of("s"), &settings, 1, 0.0, &scene), OBB_OK);
    locks = (struct srv_locks){.pool = pool};
    services = (struct srv_services){.config = &config,
                                     .metrics = &metrics,
                                     .budget = &budget,
                                     .pool = pool,
                                     .starved = &starved,
                                     .store = store,
                                     .locks = &locks};
}

/* After it has ended. */
static void free_services(void)
{
    srv_bell_destroy(busy);
    obb_store_destroy(store);
    srv_starved_fini(&starved);
    srv_pool_destroy(pool);
}

static void setup_lines(void)
{
    static const srv_route more[] = {{SRV_GET, "/lines/{kind}", do_lines, 0, 0, SRV_OPEN}};
    hogged = 0;
    starvations = closed = on_loop = elsewhere = 0;
    before_loop_runs = make_services;
    before_loop_ends = free_services;
    start_with(64, 8u << 20, more, 1, NULL);
}

static void setup_short_lines(void)
{
    times_out = true;
    setup_lines();
}

/* ---- A client -------------------------------------------------------------------------------- */

static int ask(const char *kind)
{
    char request[96];
    const int s = dial();
    (void)snprintf(request, sizeof request,
                   "GET /lines/%s HTTP/1.1\r\n" H "Connection: close\r\n\r\n", kind);
    say(s, request);
    return s;
}

/* Reads on, for `ms` without a byte at most. Returns whether the other side has closed. */
static bool read_on(int s, char *heard, size_t size, size_t *length, double ms)
{
    struct pollfd ready = {.fd = s, .events = POLLIN};
    while (poll(&ready, 1, (int)ms) > 0) {
        const ssize_t n = recv(s, heard + *length, size - 1 - *length, 0);
        if (n <= 0)
            return true;
        *length += (size_t)n;
        heard[*length] = '\0';
    }
    return false;
}

/* Returns how many of the lines came, in their order; none may come twice. The sizes of chunks
 * stand between some of them. */
static size_t count_lines(char *heard)
{
    static char lines[LINES * LINE + 65536];
    size_t count = 0, length = 0;
    char *at = strstr(heard, "\r\n\r\n");
    ck_assert_ptr_nonnull(at);
    for (at += 4; *at != '\0';) { /* a size, the chunk, an end of line */
        char *chunk;
        const size_t size = strtoul(at, &chunk, 16), there = strlen(chunk + 2);
        memcpy(lines + length, chunk + 2, size < there ? size : there);
        length += size < there ? size : there;
        at = chunk + 2 + (size < there ? size + 2 : there);
    }
    char line[LINE + 1];
    for (; (count + 1) * LINE <= length; count++) {
        (void)snprintf(line, sizeof line, "%099zu\n", count);
        ck_assert_mem_eq(lines + count * LINE, line, LINE);
    }
    return count;
}

static bool is_complete(const char *heard, size_t length)
{
    return length > 5 && strcmp(heard + length - 5, "0\r\n\r\n") == 0;
}

static char heard[2 * LINES * LINE];

#define WHILE_MS (10e3 * test_timeout(1)) /* for bytes that are sure to come */

START_TEST(an_answer_is_all_its_lines_in_order)
{
    static const char *const kinds[] = {"light", "heavy", "hungry"};
    for (size_t i = 0; i < 3; i++) {
        size_t length = 0;
        const int s = ask(kinds[i]);
        ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
        ck_assert(is_complete(heard, length));
        ck_assert_uint_eq(count_lines(heard), LINES);
        close(s);
    }
    ck_assert_int_eq(atomic_load(&on_loop), 0); /* the worker was free */
    ck_assert_int_gt(atomic_load(&elsewhere), 3);
}
END_TEST

START_TEST(short_lines_need_neither_a_worker_nor_the_budget)
{
    size_t length = 0;
    make_busy();
    hog();
    const int s = ask("light");
    ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
    ck_assert(is_complete(heard, length));
    ck_assert_uint_eq(count_lines(heard), LINES);
    ck_assert_int_eq(atomic_load(&elsewhere), 0);
    ck_assert_int_gt(atomic_load(&on_loop), LINES * LINE / 8192);
    close(s);
    give_up();
    atomic_store(&enough, true);
    while (!atomic_load(&rested))
        test_rest(1);
}
END_TEST

/* All pairs are written so if a piece ends with a page of them. */
START_TEST(an_empty_piece_that_the_loop_wrote_is_not_the_last_one)
{
    size_t length = 0;
    make_busy();
    const int s = ask("gap");
    while (length < (size_t)LINES / 2 * LINE)
        ck_assert(!read_on(s, heard, sizeof heard, &length, 10));
    ck_assert_int_eq(atomic_load(&elsewhere), 0);
    atomic_store(&enough, true);
    ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
    ck_assert(is_complete(heard, length));
    ck_assert_uint_eq(count_lines(heard), LINES);
    ck_assert_int_eq(atomic_load(&light_after_gap), 0);
    close(s);
    while (!atomic_load(&rested))
        test_rest(1);
}
END_TEST

START_TEST(an_answer_without_memory_waits_until_there_is_some)
{
    size_t length = 0;
    const int s = ask("late");
    do /* until it is known to wait, and all before is read */
        ck_assert(!read_on(s, heard, sizeof heard, &length, TIMEOUT_MS / 4.0));
    while (atomic_load(&starvations) == 0 || length < (size_t)LINES / 2 * LINE);
    const size_t before = count_lines(heard);
    ck_assert_uint_ge(before, LINES / 2);
    ck_assert_uint_lt(before, LINES);
    ck_assert_int_gt(atomic_load(&starvations), 0);
    ck_assert_int_eq(atomic_load(&closed), 0);
    /* it holds nothing: all that is drawn is the test's */
    ck_assert_uint_eq(obb_budget_used(&budget), atomic_load(&hogged));
    give_up();
    ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
    ck_assert(is_complete(heard, length));
    ck_assert_uint_eq(count_lines(heard), LINES);
    close(s);
}
END_TEST

static void wait_closed(void)
{
    while (atomic_load(&closed) == 0) /* if it never is, the limit of the test ends it */
        test_rest(1);
    ck_assert_int_eq(atomic_load(&closed), 1);
}

START_TEST(an_answer_holds_no_view_once_its_last_piece_is_written)
{
    size_t length = 0;
    const int s = dial();
    narrow(s, SO_RCVBUF);
    say(s, "GET /lines/few HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    wait_closed(); /* nothing is read yet */
    ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
    ck_assert(is_complete(heard, length));
    ck_assert_uint_eq(count_lines(heard), FEW_LINES);
    ck_assert_int_eq(atomic_load(&closed), 1);
    close(s);
}
END_TEST

START_TEST(an_answer_that_never_gets_memory_is_cut)
{
    size_t length = 0;
    const int s = ask("late");
    ck_assert(read_on(s, heard, sizeof heard, &length, WHILE_MS));
    ck_assert(!is_complete(heard, length));
    wait_closed();
    ck_assert_uint_lt(count_lines(heard), LINES);
    close(s);
    give_up();
}
END_TEST

START_TEST(who_leaves_does_not_wait)
{
    size_t length = 0;
    const int s = ask("late");
    while (atomic_load(&starvations) == 0)
        ck_assert(!read_on(s, heard, sizeof heard, &length, 10));
    reset(s);
    wait_closed();
    give_up();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paged_answer");
    TCase *tc = tcase_create("paged_answer");
    tcase_add_checked_fixture(tc, setup_lines, teardown);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, an_answer_is_all_its_lines_in_order);
    tcase_add_test(tc, short_lines_need_neither_a_worker_nor_the_budget);
    tcase_add_test(tc, an_empty_piece_that_the_loop_wrote_is_not_the_last_one);
    tcase_add_test(tc, an_answer_without_memory_waits_until_there_is_some);
    tcase_add_test(tc, who_leaves_does_not_wait);
    tcase_add_test(tc, an_answer_holds_no_view_once_its_last_piece_is_written);
    suite_add_tcase(suite, tc);
    TCase *late = tcase_create("late");
    tcase_add_checked_fixture(late, setup_short_lines, teardown);
    tcase_set_timeout(late, test_patience(60));
    tcase_add_test(late, an_answer_that_never_gets_memory_is_cut);
    suite_add_tcase(suite, late);
    return test_main(suite);
}
