#include "server/journal/marks.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* ---- A log of many processes, in the hands of the test --------------------------------------- */

enum { PROCESSES = 3, MESSAGES = 4000, WAITERS = 40, PATIENCE = 100, STEPS = 40000 };

struct message {
    char bytes[16];
    size_t from; /* the process */
    bool is_gone;
};

/* A message on its way into the log. */
struct flight {
    uint64_t tag;
    char bytes[16];
    bool clears;
};

struct waiter {
    struct srv_mark_wait wait; /* first */
    uint64_t end;              /* of the log when it began to wait */
    uint64_t since_ms;
    bool waits;
};

/* The stream of one process. */
struct process {
    struct srv_stream stream; /* first */
    struct srv_marks marks;
    uint64_t read; /* messages */
    struct flight flights[64];
    size_t flight_count;
    struct waiter waiters[WAITERS];
};

static struct message messages[MESSAGES];
static uint64_t length;
static struct process processes[PROCESSES];
static size_t told, lost, clears, cleared;
static bool is_full;

static bool mark(struct srv_stream *stream, uint64_t tag, obb_str bytes, bool removes)
{
    struct process *p = (struct process *)stream;
    ck_assert_uint_eq(bytes.length, 16);
    if (is_full || p->flight_count == 64)
        return false;
    struct flight *f = &p->flights[p->flight_count++];
    *f = (struct flight){.tag = tag, .clears = removes};
    memcpy(f->bytes, bytes.bytes, 16);
    return true;
}

static void on_read(struct srv_mark_wait *wait)
{
    struct waiter *w = (struct waiter *)wait;
    ck_assert(w->waits);
    ck_assert_uint_gt(wait->place, w->end); /* the mark was appended after it had begun to wait */
    w->waits = false;
    told++;
}

static void setup(void)
{
    memset(processes, 0, sizeof processes);
    memset(messages, 0, sizeof messages);
    length = 0;
    told = lost = clears = cleared = 0;
    is_full = false;
    for (size_t i = 0; i < PROCESSES; i++) {
        processes[i].stream = (struct srv_stream){.mark = mark};
        processes[i].marks = (struct srv_marks){
            .stream = &processes[i].stream, .writer = i + 1, .patience_ms = PATIENCE};
    }
}

/* Puts a message into the log, and takes out those that it removes. */
static void put(const struct process *p, const struct flight *f)
{
    const size_t from = (size_t)(p - processes);
    ck_assert_uint_lt(length, MESSAGES);
    for (uint64_t i = 0; f->clears && i < length; i++)
        if (messages[i].from == from && !messages[i].is_gone) {
            messages[i].is_gone = true;
            cleared++;
        }
    clears += f->clears;
    messages[length].from = from;
    memcpy(messages[length++].bytes, f->bytes, 16);
}

/* A message reaches the log, or is lost; its sender hears of that, hears that nobody knows, or
 * hears nothing. */
static void land(struct process *p, size_t which, test_rng *r, uint64_t now_ms)
{
    const struct flight f = p->flights[which];
    p->flights[which] = p->flights[--p->flight_count];
    const bool arrives = test_below(r, 5) != 0;
    lost += !arrives;
    if (arrives)
        put(p, &f);
    if (test_below(r, 3) != 0)
        ck_assert(srv_marks_appended(&p->marks, f.tag, arrives && test_below(r, 4) != 0, now_ms));
}

static void read_next(struct process *p, uint64_t now_ms)
{
    if (p->read == length)
        return;
    const struct message *m = &messages[p->read++];
    if (m->is_gone)
        return;
    struct srv_mark_waits waits =
        srv_marks_read(&p->marks, p->read, (obb_str){.bytes = m->bytes, .length = 16}, now_ms);
    for (struct srv_mark_wait *wait = waits.first, *next; wait != NULL; wait = next) {
        next = wait->next;
        ck_assert_uint_eq(wait->place, p->read);
        wait->read(wait);
    }
}

static size_t left(void)
{
    size_t count = 0;
    for (uint64_t i = 0; i < length; i++)
        count += !messages[i].is_gone;
    return count;
}

/* Whoever is told has read a mark that was appended later than it began to wait, whatever is lost,
 * repeated, or left; and everybody who stays is told. */
START_TEST(a_mark_is_appended_behind_whoever_waits_for_it)
{
    test_rng r = {.s = 20261124};
    uint64_t now_ms = 1000;
    size_t asked = 0, gone = 0;
    for (int step = 0; step < STEPS; step++) {
        struct process *p = &processes[test_below(&r, PROCESSES)];
        struct waiter *w = &p->waiters[test_below(&r, WAITERS)];
        is_full = test_below(&r, 10) == 0;
        switch (test_below(&r, 6)) {
        case 0:
            if (length == MESSAGES - 1000 || w->waits)
                break;
            *w = (struct waiter){
                .wait = {.read = on_read}, .end = length, .since_ms = now_ms, .waits = true};
            srv_marks_add(&p->marks, &w->wait, now_ms);
            asked++;
            break;
        case 1:
            if (test_below(&r, 20) == 0 && w->waits) {
                srv_mark_wait_leave(&w->wait);
                w->waits = false;
                gone++;
            }
            break;
        case 2:
        case 3:
            if (p->flight_count > 0)
                land(p, test_below(&r, p->flight_count), &r, now_ms);
            break;
        case 4:
            read_next(p, now_ms);
            break;
        default:
            now_ms += test_below(&r, PATIENCE);
            srv_marks_look(&p->marks, now_ms);
        }
    }
    is_full = false;
    for (int step = 0; step < 2000; step++)
        for (size_t i = 0; i < PROCESSES; i++) {
            struct process *p = &processes[i];
            if (p->flight_count > 0 && length < MESSAGES - 10)
                land(p, 0, &r, now_ms);
            for (int n = 0; n < 10; n++)
                read_next(p, now_ms);
            now_ms += PATIENCE;
            srv_marks_look(&p->marks, now_ms);
        }
    printf(
        "%zu waited, %zu told, %zu left; %llu messages, %zu lost; %zu cleared by %zu, %zu stay\n",
        asked, told, gone, (unsigned long long)length, lost, cleared, clears, left());
    ck_assert_uint_eq(told + gone, asked);
    ck_assert(told > 100 && gone > 100 && lost > 100 && cleared > 100);
    ck_assert_uint_eq(left(), PROCESSES); /* the last one of each */
}
END_TEST

/* The log takes all that is under way. */
static void land_all(struct process *p, uint64_t now_ms)
{
    while (p->flight_count > 0)
        put(p, &p->flights[--p->flight_count]);
    while (p->read < length)
        read_next(p, now_ms);
}

START_TEST(old_marks_go_in_a_while)
{
    struct process *p = &processes[0];
    struct waiter *w = p->waiters;
    for (size_t i = 0; i < 3; i++) {
        w[i] = (struct waiter){.wait = {.read = on_read}, .end = length, .waits = true};
        srv_marks_add(&p->marks, &w[i].wait, 1000);
        land_all(p, 1000);
        ck_assert_uint_eq(left(), i > 0 ? 2 : 1);
        srv_marks_look(&p->marks, 1000 + SRV_MARKS_CLEAR_MS - 1);
        ck_assert_uint_eq(p->flight_count, 0);
        srv_marks_look(&p->marks, 1000 + SRV_MARKS_CLEAR_MS);
        land_all(p, 1000);
        ck_assert_uint_eq(clears, i); /* one stands alone */
        ck_assert_uint_eq(left(), 1);
    }
    ck_assert_uint_eq(told, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("marks");
    TCase *tc = tcase_create("marks");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, a_mark_is_appended_behind_whoever_waits_for_it);
    tcase_add_test(tc, old_marks_go_in_a_while);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
