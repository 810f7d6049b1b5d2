/* The worst requests of each kind at once for SECONDS (environment; 60), from clients that read,
 * read slowly, do not read, leave in the middle or close their half. Memory must stay within scenes
 * + --memory-limit + 64 MiB, every answer must be one that the contract allows, and on a quiet
 * machine of two cores the loop and cheap queries must stay quick: NOISY=1 prints those two figures
 * without asserting them. KIND=n sends one kind only. */
#include "tests/soak/peer.h"
#include "tests/soak/worst.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Among SENDERS no heavy request is done in time, so that no large answer is written. Therefore
 * only FEW of them begin new requests in every other tide. */
enum {
    MEMORY_LIMIT_MIB = 256,
    SLACK_MIB = 64,
    REQUEST_TIMEOUT_S = 5,
    RUNAWAY_MIB = 4096, /* beyond the scenes: the run ends, so that the machine survives */
    SENDERS = 64,
    FEW = 4,        /* senders that stay at work in every other tide */
    TIDE = 8,       /* seconds; a backlog lasts for five */
    FOLLOWERS = 50, /* besides, where events are among the kinds */
    ROOM = 65536,
    HEAD_ROOM = 2048,
    MIB = 1 << 20,
    PROBE_GAP_US = 5000,
    PROBES = 1 << 20, /* an hour and a half of them */
    LONGEST = 3600,
    TICK_MS = 50,
    TICKS_PER_MOVE = 20, /* all boxes of "race" move once in so many ticks */
    MOVED = 1000         /* boxes of "field" that each tick moves */
};

static const double most_lag = 0.020, most_probe = 0.010; /* seconds */

/* ---- Beside the senders: one thread probes, one moves boxes, one reads /metrics -------------- */

static struct test_daemon daemon;
static atomic_bool over; /* the threads end */

static double probes[PROBES];
static size_t probe_count, probe_refused; /* read when the thread has ended */

static int post(int fd, const char *target, const char *body, char *answer, size_t room)
{
    static _Thread_local char request[1 << 20];
    const int length = snprintf(request, sizeof request,
                                "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                target, strlen(body), body);
    if (length < 0 || (size_t)length >= sizeof request)
        return 0;
    return peer_exchange(fd, request, (size_t)length, answer, room);
}

/* A query of one pair every PROBE_GAP_US. Its time counts from when it was due, so that a stall
 * counts for each query that it held up. */
static void *probe(void *context)
{
    (void)context;
    char answer[4096];
    int fd = peer_connect(daemon.port, false);
    double due = peer_seconds();
    while (!atomic_load(&over) && fd >= 0 && probe_count < PROBES) {
        const double rest = due - peer_seconds();
        if (rest > 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)(rest * 1e9)}, NULL);
        const int status = post(fd, "/v1/scenes/lone/query/pairs",
                                "{\"pairs\":[[\"b00001\",\"b00002\"]]}", answer, sizeof answer);
        if (status == 0) { /* closed: the next one has a connection of its own */
            close(fd);
            fd = peer_connect(daemon.port, false);
        }
        probe_refused += status != 200;
        probes[probe_count++] = peer_seconds() - due;
        due += PROBE_GAP_US * 1e-6;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static atomic_uint_fast64_t field_ms, race_ms; /* the clocks of these scenes, as last stated */
static _Atomic double in_flight_mib, lag, worst_lag;
static atomic_size_t ticks, ticks_refused;

/* A commit that poses `count` boxes of a scene from this id on. */
static int pose(int fd, const char *scene, size_t first, size_t count, double time, test_rng *rng)
{
    static char body[1 << 20], answer[8192];
    size_t length = (size_t)sprintf(body, "{\"time\":%.0f,\"pose\":{\"ids\":[", time);
    for (size_t i = 0; i < count; i++)
        length += (size_t)sprintf(body + length, "%s%zu", i > 0 ? "," : "", first + i);
    length += (size_t)sprintf(body + length, "],\"centers\":[");
    for (size_t i = 0; i < count; i++)
        length += (size_t)sprintf(body + length, "%s%.2f,0,%.2f", i > 0 ? "," : "",
                                  test_uniform(rng, -100, 100), test_uniform(rng, -100, 100));
    (void)sprintf(body + length, "]}}");
    return post(fd, test_text("/v1/scenes/%s/commit", scene), body, answer, sizeof answer);
}

/* One tick of everything that moves. Returns how many of its commits were refused. */
static size_t tick(int fd, size_t number, bool all, test_rng *rng)
{
    char answer[4096];
    size_t refused = 0;
    field_ms += WORST_STEP;
    refused += pose(fd, "field", 1 + test_below(rng, WORST_BOXES - MOVED), MOVED,
                    (double)atomic_load(&field_ms), rng) != 200;
    if (all) {
        const double next = (double)(atomic_load(&race_ms) + WORST_STEP);
        refused += pose(fd, "race", 1, WORST_BOXES, next, rng) != 200;
        race_ms += WORST_STEP;
    }
    /* a box leaves the heap, or comes back: 2,999 pairs end or begin */
    refused +=
        post(fd, "/v1/scenes/heap/commit",
             test_text("{\"pose\":{\"b00007\":{\"center\":[%d,0,0]}}}", number % 2 == 0 ? 1000 : 0),
             answer, sizeof answer) != 200;
    return refused;
}

static double metric(const char *text, const char *name)
{
    const char *at = strstr(text, test_text("\n%s ", name));
    return at != NULL ? strtod(at + strlen(name) + 2, NULL) : 0;
}

static void *watch(void *context)
{
    (void)context;
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char answer[1 << 18];
    int fd = peer_connect(daemon.port, false);
    while (!atomic_load(&over) && fd >= 0) {
        if (peer_exchange(fd, request, sizeof request - 1, answer, sizeof answer) == 200) {
            atomic_store(&in_flight_mib, metric(answer, "obbd_in_flight_bytes") / MIB);
            atomic_store(&lag, metric(answer, "obbd_loop_lag_seconds"));
            if (atomic_load(&lag) > atomic_load(&worst_lag))
                atomic_store(&worst_lag, atomic_load(&lag));
        } else {
            close(fd);
            fd = peer_connect(daemon.port, false);
        }
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void *move(void *context)
{
    test_rng *rng = context;
    int fd = peer_connect(daemon.port, false);
    double due = peer_seconds();
    for (size_t number = 0; !atomic_load(&over) && fd >= 0; number++) {
        const double rest = due - peer_seconds();
        if (rest > 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)(rest * 1e9)}, NULL);
        const size_t refused = tick(fd, number, number % TICKS_PER_MOVE == 0, rng);
        ticks_refused += refused;
        ticks++;
        if (refused > 0) { /* whatever the reason, the connection may be gone */
            close(fd);
            fd = peer_connect(daemon.port, false);
        }
        due = peer_seconds() > due + 1 ? peer_seconds() : due + TICK_MS * 1e-3;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* ---- The senders ----------------------------------------------------------------------------- */

enum manner {
    READS,
    SLOW,   /* at 64 to 256 KB/s */
    DEAF,   /* sends all, and reads nothing */
    LEAVES, /* in the middle of the request or of the answer */
    HALF    /* closes its sending half behind the request, or in the middle of it */
};

struct sender {
    int fd; /* -1: none */
    bool follows;
    enum manner manner;
    double since, until;           /* until: when it goes, whatever has come */
    double rate;                   /* bytes a second that it reads; 0: all there is */
    size_t sent, stops;            /* bytes of the request; it stops after so many */
    bool shut;                     /* no more is sent */
    size_t got, head_length;       /* bytes of the answer, and of its head once that is whole */
    int status;                    /* 0: not yet there */
    char head[HEAD_ROOM], tail[8]; /* the first and the last bytes of the answer */
    struct worst_request request;
};

static struct sender senders[SENDERS + FOLLOWERS];
static test_rng rng = {.s = 20261122};
static int only; /* KIND; 0: all */

static struct count {
    size_t sent, served, too_large, invalid, busy, other, cut, left;
    size_t surprises;
    double bytes;
} counts[WORST_KINDS];

__attribute__((format(printf, 2, 3))) static void surprise(const struct sender *s,
                                                           const char *format, ...)
{
    struct count *count = &counts[s->request.kind];
    if (count->surprises++ >= 3)
        return;
    va_list values;
    va_start(values, format);
    printf("%s: ", worst_names[s->request.kind]);
    vprintf(format, values);
    va_end(values);
    printf("\n  %.*s\n", (int)strcspn(s->request.head, "\r"), s->request.head);
}

static void start(struct sender *s)
{
    static const enum manner usual[] = {READS, READS, READS, READS, SLOW, SLOW, DEAF, LEAVES, HALF};
    const bool follows = s->follows;
    worst_kind kind = WORST_EVENTS;
    while (!follows && kind == WORST_EVENTS)
        kind = (worst_kind)(only > 0 ? only : 1 + (int)test_below(&rng, WORST_KINDS - 1));
    s->manner = follows ? DEAF : usual[test_below(&rng, sizeof usual / sizeof *usual)];
    worst_make(kind, (double)atomic_load(&race_ms), &rng, &s->request);
    if (s->request.slow && s->manner == READS)
        s->manner = SLOW;
    s->fd = peer_connect(daemon.port, s->manner != READS);
    if (s->fd < 0)
        return;
    const double now = peer_seconds();
    s->since = now;
    s->until = now + (s->manner == DEAF ? 4 : 20);
    s->rate = s->manner == SLOW ? test_uniform(&rng, 65536, 262144) : 0;
    s->sent = s->got = s->head_length = 0;
    s->shut = false;
    s->status = 0;
    s->stops = s->request.length;
    if (s->manner == LEAVES || (s->manner == HALF && test_below(&rng, 3) == 0))
        s->stops = 1 + test_below(&rng, s->request.length);
    if (s->manner == LEAVES &&
        test_below(&rng, 2) == 0) { /* in the middle of the work or the answer */
        s->stops = s->request.length;
        s->until = now + test_uniform(&rng, 0.01, 2);
    }
    counts[kind].sent++;
}

/* Is what has come, until the daemon closed, the whole answer? */
static bool whole(const struct sender *s)
{
    const char *length = strstr(s->head, "Content-Length: ");
    if (s->head_length == 0)
        return false;
    if (strstr(s->head, "Transfer-Encoding: chunked") != NULL)
        return memcmp(s->tail + 1, "\r\n0\r\n\r\n", 7) == 0;
    return length != NULL && s->got - s->head_length == strtoul(length + 16, NULL, 10);
}

static void judge(struct sender *s)
{
    struct count *count = &counts[s->request.kind];
    const int status = s->status;
    const int *also = s->request.also;
    count->bytes += (double)s->got;
    if (s->stops < s->request.length) /* any answer to half a request is right */
        return;
    count->served += status == 200;
    count->too_large += status == 413;
    count->invalid += status == 422;
    count->busy += status == 503;
    const bool expected = status == 200 || status == 413 || status == 422 || status == 503 ||
                          (status != 0 && (status == also[0] || status == also[1]));
    count->other += status != 0 && status != 200 && status != 413 && status != 422 && status != 503;
    if (status != 0 && !expected)
        surprise(s, "status %d: %.300s", status, s->head);
    if (status == 503 && strstr(s->head, "Retry-After: ") == NULL)
        surprise(s, "503 without Retry-After");
    const double seconds =
        peer_seconds() - s->since; /* the daemon's clock stands while its loop is late */
    if (strstr(s->head, "/problems/cancelled") != NULL && seconds < REQUEST_TIMEOUT_S / 2.0)
        surprise(s, "cancelled after %.2f s, though its client waits%s", seconds,
                 s->manner == HALF ? ", its sending half closed" : "");
}

/* It goes by itself, or the daemon has closed. */
static void end(struct sender *s, bool by_daemon)
{
    struct count *count = &counts[s->request.kind];
    if (s->status != 0)
        judge(s);
    const bool hears = s->manner == READS || s->manner == HALF;
    const bool left = !by_daemon || s->manner == DEAF || s->stops < s->request.length;
    const bool cut = !left && !whole(s);
    count->left += left;
    count->cut += cut;
    if (!by_daemon && s->manner == READS && s->status == 0)
        surprise(s, "no answer within %.0f s; %zu of %zu bytes of the request were taken",
                 peer_seconds() - s->since, s->sent, s->request.length);
    const bool had_its_time =
        s->request.fleeting && s->status == 200 && peer_seconds() - s->since >= REQUEST_TIMEOUT_S;
    if (cut && hears && s->sent == s->request.length && !had_its_time)
        surprise(s, "closed %s the answer to the whole request%s after %.1f s",
                 s->status == 0 ? "before" : "in the middle of",
                 s->manner == HALF ? ", whose client has closed its sending half," : "",
                 peer_seconds() - s->since);
    peer_close(s->fd, test_below(&rng, 2) == 0);
    s->fd = -1;
}

static void send_more(struct sender *s)
{
    static char bytes[ROOM];
    const size_t left = s->stops - s->sent;
    const size_t length = worst_bytes(&s->request, s->sent, bytes, left < ROOM ? left : ROOM);
    const ssize_t wrote = send(s->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote > 0)
        s->sent += (size_t)wrote;
    else if (errno != EAGAIN)
        s->shut = true; /* the daemon reads no more; what it said is still to be read */
    if (s->sent < s->stops)
        return;
    s->shut = true;
    if (s->manner == LEAVES && s->stops < s->request.length)
        s->until = 0;
    else if (s->manner == HALF)
        (void)shutdown(s->fd, SHUT_WR);
}

static void take(struct sender *s, const char *bytes, size_t length)
{
    if (s->got < HEAD_ROOM - 1) {
        const size_t room = HEAD_ROOM - 1 - s->got, count = length < room ? length : room;
        memcpy(s->head + s->got, bytes, count);
        s->head[s->got + count] = '\0';
        const char *behind = strstr(s->head, "\r\n\r\n");
        if (s->head_length == 0 && behind != NULL) {
            s->head_length = (size_t)(behind + 4 - s->head);
            s->status = (int)strtol(s->head + strlen("HTTP/1.1 "), NULL, 10);
        }
    }
    s->got += length;
    const size_t fresh = length < sizeof s->tail ? length : sizeof s->tail;
    memmove(s->tail, s->tail + fresh, sizeof s->tail - fresh);
    memcpy(s->tail + sizeof s->tail - fresh, bytes + length - fresh, fresh);
}

static void read_more(struct sender *s, double now)
{
    static char bytes[ROOM];
    size_t most = sizeof bytes;
    if (s->rate > 0) {
        const double allowed = (now - s->since) * s->rate - (double)s->got;
        most = allowed < (double)most ? (size_t)allowed : most;
    }
    const ssize_t got = recv(s->fd, bytes, most, MSG_DONTWAIT);
    if (got > 0)
        take(s, bytes, (size_t)got);
    else if (got == 0 || errno != EAGAIN)
        end(s, true);
}

static bool reads_now(const struct sender *s, double now)
{
    return s->manner != DEAF &&
           (s->rate <= 0 || (now - s->since) * s->rate - (double)s->got >= 1024);
}

/* One turn of all senders; `few`: only some of them begin something new. */
static void turn(bool few)
{
    struct pollfd ready[SENDERS + FOLLOWERS];
    const double now = peer_seconds();
    const size_t count = only == 0 || only == WORST_EVENTS ? SENDERS + FOLLOWERS : SENDERS;
    const size_t first = only == WORST_EVENTS ? SENDERS : 0;
    for (size_t i = first; i < count; i++) {
        struct sender *s = &senders[i];
        if (s->fd >= 0 && now >= s->until)
            end(s, false);
        if (s->fd < 0 && (s->follows || !few || i < FEW))
            start(s);
    }
    for (size_t i = 0; i < SENDERS + FOLLOWERS; i++) {
        const struct sender *s = &senders[i];
        const short events = (short)((reads_now(s, now) ? POLLIN : 0) | (s->shut ? 0 : POLLOUT));
        ready[i] = (struct pollfd){.fd = events != 0 ? s->fd : -1, .events = events};
    }
    if (poll(ready, SENDERS + FOLLOWERS, 2) <= 0)
        return;
    for (size_t i = 0; i < SENDERS + FOLLOWERS; i++) {
        struct sender *s = &senders[i];
        if ((ready[i].revents & POLLOUT) != 0 && !s->shut)
            send_more(s);
        if ((ready[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
            continue;
        if (s->manner != DEAF)
            read_more(s, now);
        else if ((ready[i].revents & (POLLHUP | POLLERR)) != 0)
            end(s, true);
    }
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* A line of the daemon's /proc/PID/status in MiB; 0: it is gone. */
static double memory_mib(const char *what)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen(test_text("/proc/%d/status", (int)daemon.process), "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, what, strlen(what)) == 0)
            kib = strtod(line + strlen(what) + 1, NULL);
    (void)fclose(file);
    return kib / 1024;
}

static void put_scene(struct http_client *client, const char *scene, int dimensions, int boxes,
                      double half_width)
{
    struct http_answer answer = {0};
    http_send(client, "PUT", test_text("/v1/scenes/%s", scene), NULL,
              test_text("{\"dimensions\":%d,\"history\":{\"span\":%d,\"commits\":%d}}", dimensions,
                        WORST_STEP * WORST_STATES, WORST_STATES),
              &answer);
    ck_assert_int_eq(answer.status, 201);
    http_answer_fini(&answer);
    peer_put_boxes(client, scene, dimensions, boxes, half_width, &rng);
}

static void fill(void)
{
    struct http_client *client = http_open(daemon.url);
    put_scene(client, "pile", 3, WORST_BOXES, 0.5);
    put_scene(client, "field", 3, WORST_BOXES, 100);
    put_scene(client, "race", 3, WORST_BOXES, 100);
    put_scene(client, "plane", 2, WORST_BOXES, 0.5);
    put_scene(client, "heap", 3, WORST_HEAP, 0.5);
    put_scene(client, "spare", 3, 10, 5);
    put_scene(client, "lone", 3, 10, 5);
    http_close(client);
    const int fd = peer_connect(daemon.port, false);
    for (size_t i = 0; i < (size_t)2 * WORST_STATES; i++)
        ck_assert_uint_eq(tick(fd, i, true, &rng), 0);
    close(fd);
}

/* Makes VmHWM begin anew. */
static void forget_peak(void)
{
    FILE *file = fopen(test_text("/proc/%d/clear_refs", (int)daemon.process), "w");
    ck_assert_ptr_nonnull(file);
    (void)fputs("5", file);
    (void)fclose(file);
}

static void report(void)
{
    printf("%-10s %8s %8s %7s %7s %7s %7s %7s %7s %9s\n", "kind", "sent", "200", "413", "422",
           "503", "other", "cut", "left", "MiB read");
    for (int kind = 1; kind < WORST_KINDS; kind++) {
        const struct count *c = &counts[kind];
        printf("%2d %-7.7s %8zu %8zu %7zu %7zu %7zu %7zu %7zu %7zu %9.1f\n", kind,
               worst_names[kind], c->sent, c->served, c->too_large, c->invalid, c->busy, c->other,
               c->cut, c->left, c->bytes / MIB);
    }
    printf("probe: %zu queries, %zu not served, %.2f ms median, %.2f ms p99, %.2f ms at most\n",
           probe_count, probe_refused, peer_quantile(probes, probe_count, 0.5) * 1e3,
           peer_quantile(probes, probe_count, 0.99) * 1e3,
           peer_quantile(probes, probe_count, 1) * 1e3);
    printf("mover: %zu ticks, %zu commits refused\n", atomic_load(&ticks),
           atomic_load(&ticks_refused));
}

/* Prints a bound. Returns 1 if it is broken. */
static int broken(const char *what, const char *unit, double found, double most, bool binds)
{
    const bool breaks = !(found <= most);
    printf("%-34s %10.1f %s, %10.1f allowed%s\n", what, found, unit, most,
           !breaks  ? ""
           : !binds ? ": over, on a machine that is not quiet"
                    : ": OVER");
    return breaks && binds;
}

static void run(size_t seconds, double scenes)
{
    const size_t every = (seconds - 1) / 60 + 1;
    const double begun = peer_seconds();
    printf("second  RSS MiB  in flight MiB  loop lag ms\n");
    for (size_t i = 1; i <= seconds; i++) {
        while (peer_seconds() < begun + (double)i) {
            turn((i - 1) / TIDE % 2 == 1);
            const double now = memory_mib("VmRSS");
            if (now <= 0 || now > scenes + RUNAWAY_MIB) {
                printf("the run ends in second %zu: %s\n", i,
                       now <= 0 ? "the daemon is gone" : "memory runs away");
                return;
            }
        }
        if (i % every == 0)
            printf("%6zu %8.1f %14.1f %12.2f\n", i, memory_mib("VmRSS"),
                   atomic_load(&in_flight_mib), atomic_load(&lag) * 1e3);
    }
}

START_TEST(the_worst_requests_have_bounds)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    const size_t seconds = peer_run_seconds(1, LONGEST);
    const char *kind = getenv("KIND"), *noisy = getenv("NOISY");
    const bool quiet = noisy == NULL || strcmp(noisy, "1") != 0;
    only = kind != NULL ? (int)strtol(kind, NULL, 10) : 0;
    ck_assert_msg(only >= 0 && only < WORST_KINDS, "KIND is 1 to %d", WORST_KINDS - 1);
    worst_init();
    daemon_start(&daemon,
                 (const char *[]){"--memory-limit", test_text("%dMiB", MEMORY_LIMIT_MIB),
                                  "--request-timeout", test_text("%d", REQUEST_TIMEOUT_S * 1000),
                                  "--log-level", "error", NULL});
    fill();
    const double scenes = memory_mib("VmRSS");
    forget_peak();
    printf("scenes: %.1f MiB\n", scenes);

    for (size_t i = 0; i < SENDERS + FOLLOWERS; i++) {
        senders[i].fd = -1;
        senders[i].follows = i >= SENDERS;
    }
    pthread_t prober, mover, watcher;
    test_rng mover_rng = {.s = 20261123};
    ck_assert_int_eq(pthread_create(&prober, NULL, probe, NULL), 0);
    ck_assert_int_eq(pthread_create(&mover, NULL, move, &mover_rng), 0);
    ck_assert_int_eq(pthread_create(&watcher, NULL, watch, NULL), 0);
    run(seconds, scenes);
    const double peak = memory_mib("VmHWM");
    atomic_store(&over, true);
    for (size_t i = 0; i < SENDERS + FOLLOWERS; i++)
        if (senders[i].fd >= 0)
            peer_close(senders[i].fd, true);
    if (memory_mib("VmRSS") > scenes + RUNAWAY_MIB)
        kill(daemon.process, SIGKILL);
    pthread_join(prober, NULL);
    pthread_join(mover, NULL);
    pthread_join(watcher, NULL);
    const int status = daemon_stop(&daemon);

    report();
    int failures =
        broken("peak resident memory", "MiB", peak, scenes + MEMORY_LIMIT_MIB + SLACK_MIB, true);
    failures += broken("worst obbd_loop_lag_seconds", "ms", atomic_load(&worst_lag) * 1e3,
                       most_lag * 1e3, quiet);
    failures += broken("p99 of the probe", "ms", peer_quantile(probes, probe_count, 0.99) * 1e3,
                       most_probe * 1e3, quiet);
    size_t surprises = 0, never = 0;
    for (int k = 1; k < WORST_KINDS; k++) {
        surprises += counts[k].surprises;
        never += (only == 0 || only == k) && counts[k].sent == 0;
    }
    failures += broken("answers that nobody expected", "  ", (double)surprises, 0, true);
    failures += broken("kinds that were never sent", "  ", (double)never, 0, true);
    failures += broken("exit status of the daemon", "  ", status < 0 ? 255 : status, 0, true);
    ck_assert_msg(failures == 0, "%d bounds broken", failures);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounds");
    TCase *tc = tcase_create("bounds");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, the_worst_requests_have_bounds);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
