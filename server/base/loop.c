/* The C library asks for the name, which it needs for syscall().
 *
 * NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
#define _DEFAULT_SOURCE
#include "server/base/loop.h"

#include "core/obb.h"

#include <assert.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#define SLICE_NS 100000 /* the shortest that Linux grants */

struct srv_loop {
    uv_loop_t uv;
    uv_prepare_t before_sleep;
    uv_check_t after_wake;
    uv_idle_t stay_awake; /* while it is active the loop polls without sleeping */
    uv_signal_t signals[3];
    int signal_count;
    srv_callback *on_end, *on_hangup;
    void *signal_context;
    srv_turn *turn;
    void *turn_context;
    srv_callback *rest;
    void *rest_context;
    bool due, stopped;
};

struct srv_timer {
    uv_timer_t uv;
    srv_callback *callback;
    void *context;
};

struct srv_watch {
    uv_poll_t uv;
    unsigned events;
    bool running;
    srv_watch_callback *callback;
    void *context;
};

/* ---- Turns ----------------------------------------------------------------------------------- */

static void idle(uv_idle_t *handle) { (void)handle; }

static void take_turn(struct srv_loop *loop)
{
    if (!loop->due || loop->stopped || loop->turn == NULL)
        return;
    loop->due = false;
    if (loop->turn(loop->turn_context))
        loop->due = true;
    if (loop->due)
        uv_idle_start(&loop->stay_awake, idle);
    else
        uv_idle_stop(&loop->stay_awake);
}

static void before_sleep(uv_prepare_t *handle)
{
    struct srv_loop *loop = handle->data;
    take_turn(loop);
    if (loop->rest != NULL && !loop->stopped)
        loop->rest(loop->rest_context);
}
static void after_wake(uv_check_t *handle) { take_turn(handle->data); }

static void prepare(struct srv_loop *loop)
{
    if (loop->turn != NULL || loop->rest != NULL)
        uv_prepare_start(&loop->before_sleep, before_sleep);
    else
        uv_prepare_stop(&loop->before_sleep);
}

void srv_loop_set_turn(struct srv_loop *loop, srv_turn *turn, void *context)
{
    loop->turn = turn;
    loop->turn_context = context;
    if (turn != NULL) {
        uv_check_start(&loop->after_wake, after_wake);
    } else {
        uv_check_stop(&loop->after_wake);
        uv_idle_stop(&loop->stay_awake);
        loop->due = false;
    }
    prepare(loop);
}

void srv_loop_set_rest(struct srv_loop *loop, srv_callback *rest, void *context)
{
    loop->rest = rest;
    loop->rest_context = context;
    prepare(loop);
}

void srv_loop_due(struct srv_loop *loop) { loop->due = true; }

/* ---- The loop -------------------------------------------------------------------------------- */

bool srv_loop_create(struct srv_loop **out)
{
    struct srv_loop *loop = obb_calloc(1, sizeof *loop);
    if (loop == NULL)
        return false;
    if (uv_loop_init(&loop->uv) != 0) {
        obb_free(loop);
        return false;
    }
    /* these three cannot fail */
    uv_prepare_init(&loop->uv, &loop->before_sleep);
    uv_check_init(&loop->uv, &loop->after_wake);
    uv_idle_init(&loop->uv, &loop->stay_awake);
    loop->before_sleep.data = loop->after_wake.data = loop;
    *out = loop;
    return true;
}

void srv_loop_destroy(struct srv_loop *loop)
{
    if (loop == NULL)
        return;
    uv_close((uv_handle_t *)&loop->before_sleep, NULL);
    uv_close((uv_handle_t *)&loop->after_wake, NULL);
    uv_close((uv_handle_t *)&loop->stay_awake, NULL);
    for (int i = 0; i < loop->signal_count; i++)
        uv_close((uv_handle_t *)&loop->signals[i], NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    const int left_open = uv_loop_close(&loop->uv);
    assert(left_open == 0);
    obb_free(loop);
}

/* Asks Linux (6.12 and later) for short slices of time. The loop, which wakes up for a short while,
 * then gets the processor of a worker at once, instead of at the end of the worker's slice. Threads
 * that start from here on have usual slices. If Linux refuses, the loop only waits longer. */
static void ask_for_short_slices(void)
{
    /* sched_setattr(2): the C library has no call for it, and Linux's header quarrels with it */
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } asked = {.size = sizeof asked};
    enum { RESET_ON_FORK = 1 };
    if (syscall(SYS_sched_getattr, 0, &asked, sizeof asked, 0) != 0 || asked.policy != SCHED_OTHER)
        return;
    asked.flags = RESET_ON_FORK;
    asked.runtime_ns = SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &asked, 0);
}

void srv_loop_run(struct srv_loop *loop)
{
    ask_for_short_slices();
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void srv_loop_step(struct srv_loop *loop, int wait_ms)
{
    struct pollfd ready = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};
    if (wait_ms > 0)
        (void)poll(&ready, 1, wait_ms);
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
}

void srv_loop_stop(struct srv_loop *loop)
{
    loop->stopped = true;
    uv_stop(&loop->uv);
}

uint64_t srv_loop_now_ms(const struct srv_loop *loop) { return uv_now(&loop->uv); }
double srv_clock(void) { return (double)uv_hrtime() * 1e-9; }
const char *srv_loop_version(void) { return uv_version_string(); }
struct uv_loop_s *srv_loop_uv(struct srv_loop *loop) { return &loop->uv; }

static void on_signal(uv_signal_t *handle, int number)
{
    struct srv_loop *loop = handle->data;
    (number == SIGHUP ? loop->on_hangup : loop->on_end)(loop->signal_context);
}

bool srv_loop_signals(struct srv_loop *loop, srv_callback *callback, srv_callback *hangup,
                      void *context)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    loop->on_end = callback;
    loop->on_hangup = hangup;
    loop->signal_context = context;
    for (int i = 0; i < (hangup != NULL ? 3 : 2); i++) {
        uv_signal_t *handle = &loop->signals[loop->signal_count];
        if (uv_signal_init(&loop->uv, handle) != 0)
            return false;
        loop->signal_count++;
        handle->data = loop;
        if (uv_signal_start(handle, on_signal, numbers[i]) != 0)
            return false;
    }
    return true;
}

/* ---- Timers ---------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *handle)
{
    struct srv_timer *timer = handle->data;
    timer->callback(timer->context);
}

bool srv_timer_create(struct srv_loop *loop, srv_callback *callback, void *context,
                      struct srv_timer **out)
{
    struct srv_timer *timer = obb_calloc(1, sizeof *timer);
    if (timer == NULL)
        return false;
    uv_timer_init(&loop->uv, &timer->uv);
    timer->uv.data = timer;
    timer->callback = callback;
    timer->context = context;
    *out = timer;
    return true;
}

void srv_timer_start(struct srv_timer *timer, uint64_t in_ms, uint64_t then_every_ms)
{
    uv_timer_start(&timer->uv, on_timer, in_ms, then_every_ms);
}

void srv_timer_stop(struct srv_timer *timer) { (void)uv_timer_stop(&timer->uv); }

static void free_handle(uv_handle_t *handle) { obb_free(handle->data); }

void srv_timer_destroy(struct srv_timer *timer)
{
    if (timer != NULL)
        uv_close((uv_handle_t *)&timer->uv, free_handle);
}

/* ---- Watches --------------------------------------------------------------------------------- */

static bool hung_up(const uv_poll_t *handle)
{
    uv_os_fd_t descriptor;
    if (uv_fileno((const uv_handle_t *)handle, &descriptor) != 0)
        return false;
    struct pollfd state = {.fd = descriptor};
    return poll(&state, 1, 0) > 0; /* nothing is asked for, so the answer is POLLHUP or POLLERR */
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct srv_watch *watch = handle->data;
    unsigned seen = 0;
    if (events & UV_READABLE)
        seen |= SRV_READABLE;
    if (events & UV_DISCONNECT)
        seen |= SRV_HALF_CLOSED;
    if (events & UV_PRIORITIZED) {
        if (!hung_up(handle)) {
            srv_watch_pause(watch);
            return;
        }
        seen |= SRV_HANGUP;
    }
    if (status < 0) /* a broken descriptor: the next read tells the reason */
        seen = watch->events;
    watch->callback(watch->context, seen);
}

/* Each watch hears of EPOLLHUP and EPOLLERR. A watch for these alone asks for urgent data, because
 * libuv watches no descriptor for nothing. */
void srv_watch_go(struct srv_watch *watch)
{
    if (watch->running)
        return;
    const int events = ((watch->events & SRV_READABLE) ? UV_READABLE : 0) |
                       ((watch->events & SRV_HALF_CLOSED) ? UV_DISCONNECT : 0) |
                       ((watch->events & SRV_HANGUP) ? UV_PRIORITIZED : 0);
    watch->running = uv_poll_start(&watch->uv, events, on_poll) == 0;
}

void srv_watch_pause(struct srv_watch *watch)
{
    if (watch->running)
        uv_poll_stop(&watch->uv);
    watch->running = false;
}

void srv_watch_change(struct srv_watch *watch, unsigned events)
{
    srv_watch_pause(watch);
    watch->events = events;
    srv_watch_go(watch);
}

bool srv_watch_create(struct srv_loop *loop, int descriptor, unsigned events,
                      srv_watch_callback *callback, void *context, struct srv_watch **out)
{
    struct srv_watch *watch = obb_calloc(1, sizeof *watch);
    if (watch == NULL)
        return false;
    if (uv_poll_init(&loop->uv, &watch->uv, descriptor) != 0) {
        obb_free(watch);
        return false;
    }
    watch->uv.data = watch;
    watch->events = events;
    watch->callback = callback;
    watch->context = context;
    srv_watch_go(watch);
    *out = watch;
    return true;
}

void srv_watch_destroy(struct srv_watch *watch)
{
    if (watch != NULL)
        uv_close((uv_handle_t *)&watch->uv, free_handle);
}

/* ---- Bells ----------------------------------------------------------------------------------- */

/* Not uv_async_t: until version 1.45 of libuv the loop spins while a thread that has just woken it
 * is kept off its processor. */
struct srv_bell {
    struct srv_watch *watch;
    int descriptor; /* of an event counter */
    atomic_bool rung;
    srv_callback *callback;
    void *context;
};

static void on_ring(void *context, unsigned events)
{
    struct srv_bell *bell = context;
    uint64_t count;
    (void)events;
    const ssize_t got = read(bell->descriptor, &count, sizeof count);
    (void)got; /* nothing, if the counter was read before */
    (void)atomic_exchange(&bell->rung, false);
    bell->callback(bell->context);
}

bool srv_bell_create(struct srv_loop *loop, srv_callback *callback, void *context,
                     struct srv_bell **out)
{
    struct srv_bell *bell = obb_calloc(1, sizeof *bell);
    if (bell == NULL)
        return false;
    bell->callback = callback;
    bell->context = context;
    bell->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell->descriptor >= 0 &&
        srv_watch_create(loop, bell->descriptor, SRV_READABLE, on_ring, bell, &bell->watch)) {
        *out = bell;
        return true;
    }
    if (bell->descriptor >= 0)
        (void)close(bell->descriptor);
    obb_free(bell);
    return false;
}

void srv_bell_ring(struct srv_bell *bell)
{
    static const uint64_t one = 1;
    if (atomic_exchange(&bell->rung, true))
        return;
    const ssize_t written = write(bell->descriptor, &one, sizeof one);
    assert(written == sizeof one); /* the counter cannot be full */
    (void)written;
}

void srv_bell_destroy(struct srv_bell *bell)
{
    if (bell == NULL)
        return;
    srv_watch_destroy(bell->watch);
    (void)close(bell->descriptor);
    obb_free(bell);
}
