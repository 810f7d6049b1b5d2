/* Runs the daemon at full load for SECONDS (environment; 60 by default): readers, commits, event
 * streams, clients that come and go, cancelled queries for all pairs, clients that do not read.
 * Looks at its memory, descriptors and threads each second. After the first third none of them may
 * grow any more. After the last client has gone, the daemon has as many descriptors as before the
 * first. */
#include "tests/soak/peer.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BOXES = 2000,
    PILE = 600, /* boxes in one place: 179,700 pairs */
    ROOM = 65536,
    PROBES = 1 << 20,
    LONGEST = 24 * 3600
};

/* What a client does. */
enum role {
    PROBE,    /* a query of one pair, timed */
    READER,   /* queries and reads, as fast as they are answered */
    WRITER,   /* commits */
    FOLLOWER, /* an event stream, left and taken up again */
    DEAF,     /* an event stream that nobody reads */
    VISITOR,  /* comes, asks, and goes, in order or with a reset */
    FICKLE,   /* asks for all pairs and does not wait */
    LAZY,     /* asks for a large answer and hardly reads */
    MAKER,    /* makes scenes and deletes them */
    ROLES
};

static const struct {
    const char *name;
    int count;
    double stays; /* seconds that a connection lasts; 0: as long as it likes */
    double rests; /* seconds between an answer and the next request */
} roles[ROLES] = {{"probe", 1, 0, 0.002}, {"reader", 24, 0, 0}, {"writer", 4, 0, 0.05},
                  {"follower", 8, 5, 0},  {"deaf", 4, 3, 0},    {"visitor", 8, 0.02, 0},
                  {"fickle", 4, 0.05, 0}, {"lazy", 3, 4, 0},    {"maker", 2, 0, 0}};

struct client {
    enum role role;
    int fd;                   /* -1: away */
    double since, asked, due; /* due: when it asks next; 0: it waits for an answer */
    size_t turn;
    char heard[ROOM]; /* of the answer under way */
    size_t length;
};

static struct test_daemon daemon;
static struct client clients[64];
static int client_count;
static test_rng rng = {.s = 20261122};
static size_t served[ROLES], refused[ROLES], wrong;
static double probes[PROBES]; /* seconds */
static size_t probe_count;
static double tick_time;

/* ---- What is asked --------------------------------------------------------------------------- */

static char body[ROOM], request[ROOM + 512];

__attribute__((format(printf, 3, 4))) static void say(const struct client *c, const char *line,
                                                      const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(body, sizeof body, format, values);
    va_end(values);
    ck_assert_int_lt(size, (int)sizeof body);
    const int length = snprintf(
        request, sizeof request, "%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s",
        line, size > 0 ? "Content-Type: application/json\r\n" : "", size, body);
    (void)send(c->fd, request, (size_t)length, MSG_NOSIGNAL); /* who was cut sees it on reading */
}

static void ask_reader(struct client *c)
{
    const double x = test_uniform(&rng, -50, 50), z = test_uniform(&rng, -50, 50);
    switch (c->turn++ % 5) {
    case 0:
        say(c, test_text("GET /v1/scenes/field/boxes/b%05zu", test_below(&rng, BOXES)), "%s", "");
        break;
    case 1:
        say(c, "POST /v1/scenes/field/query/overlap",
            "{\"shapes\":[{\"center\":[%g,0,%g],\"half_extents\":[3,3,3]}]}", x, z);
        break;
    case 2:
        say(c, "POST /v1/scenes/field/query/ray",
            "{\"rays\":[{\"from\":[%g,0,%g],\"to\":[%g,0,%g]}],\"mode\":\"all\"}", x, z, -x, -z);
        break;
    case 3:
        say(c, "POST /v1/scenes/field/query/nearest",
            "{\"points\":[[%g,0,%g]],\"k\":5,\"at\":{\"ago\":50,\"clamp\":true}}", x, z);
        break;
    default:
        say(c, "GET /v1/scenes/field/boxes?limit=50", "%s", "");
        break;
    }
}

static void ask_writer(struct client *c)
{
    static char poses[ROOM / 2];
    size_t length = 0;
    const size_t first = test_below(&rng, BOXES);
    for (size_t i = 0; i < 50; i++)
        length += (size_t)snprintf(poses + length, sizeof poses - length,
                                   "%s\"b%05zu\":{\"center\":[%g,0,%g]}", i > 0 ? "," : "",
                                   (first + i) % BOXES, test_uniform(&rng, -50, 50),
                                   test_uniform(&rng, -50, 50));
    const size_t guest = test_below(&rng, 100);
    tick_time += 1;
    if (c->turn++ % 2 == 0)
        say(c, "POST /v1/scenes/field/commit",
            "{\"time\":%.17g,\"pose\":{%s},\"put\":{\"g%zu\":{\"center\":[0,0,0],"
            "\"half_extents\":[1,1,1],\"data\":{\"n\":%zu}}}}",
            tick_time, poses, guest, c->turn);
    else
        say(c, "POST /v1/scenes/field/commit",
            "{\"time\":%.17g,\"pose\":{%s},\"remove\":[\"g%zu\"],\"queries\":[{\"kind\":"
            "\"point\",\"points\":[[0,0,0]]}]}",
            tick_time, poses, guest);
}

static void ask_maker(struct client *c)
{
    const size_t scene = c->turn / 2 % 8;
    if (c->turn++ % 2 == 0)
        say(c, test_text("PUT /v1/scenes/m%d-%zu/boxes/a", c->fd, scene),
            "{\"points\":[[0,0,0],[1,2,3],[%g,1,0],[0,0,5]],\"fit\":\"tight\"}",
            test_uniform(&rng, 1, 9));
    else
        say(c, test_text("DELETE /v1/scenes/m%d-%zu", c->fd, scene), "%s", "");
}

static void ask(struct client *c)
{
    c->asked = peer_seconds();
    c->due = 0;
    c->length = 0;
    switch (c->role) {
    case PROBE:
        say(c, "POST /v1/scenes/field/query/pairs", "{\"pairs\":[[\"b00001\",\"b00002\"]]}");
        break;
    case READER:
        ask_reader(c);
        break;
    case WRITER:
        ask_writer(c);
        break;
    case FOLLOWER:
    case DEAF:
        say(c, "GET /v1/scenes/field/events", "%s", "");
        break;
    case FICKLE:
    case LAZY:
        say(c, "POST /v1/scenes/pile/query/all-pairs", "{\"want\":[\"data\"],\"limit\":100000}");
        break;
    case MAKER:
        ask_maker(c);
        break;
    case VISITOR:
    case ROLES:
        say(c, "GET /healthz", "%s", "");
        break;
    }
}

/* ---- Coming, hearing, going ------------------------------------------------------------------ */

static void come(struct client *c)
{
    c->fd = peer_connect(daemon.port, c->role == DEAF || c->role == LAZY);
    ck_assert_int_ge(c->fd, 0);
    c->since = peer_seconds();
    ask(c);
}

static void go(struct client *c, bool reset)
{
    peer_close(c->fd, reset);
    c->fd = -1;
}

/* The answer is whole: counts it. */
static void judge(struct client *c, int status)
{
    const double seconds = peer_seconds() - c->asked;
    served[c->role] += status >= 200 && status < 300;
    refused[c->role] += status == 503;
    /* writers overtake each other, so that time runs backwards; what was not made for want of room
     * cannot be deleted */
    const bool expected = (status >= 200 && status < 300) || status == 503 ||
                          (c->role == WRITER && status == 409) ||
                          (c->role == MAKER && status == 404);
    if (!expected && wrong++ < 5)
        printf("%s: %.300s\n", roles[c->role].name, c->heard);
    if (c->role == PROBE && probe_count < PROBES)
        probes[probe_count++] = seconds;
}

/* Something has come for it, or its end. */
static void hear(struct client *c)
{
    const bool stream = c->role >= FOLLOWER && c->role != VISITOR && c->role != MAKER;
    if (stream)
        c->length = 0; /* nobody looks at it */
    const ssize_t got = recv(c->fd, c->heard + c->length,
                             c->role == LAZY ? 512 : sizeof c->heard - 1 - c->length, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN)
            go(c, false);
        return;
    }
    c->length += (size_t)got;
    c->heard[c->length] = '\0';
    if (stream) {
        served[c->role]++;
        return;
    }
    const char *end = strstr(c->heard, "\r\n\r\n");
    if (end == NULL)
        return;
    const char *length = strstr(c->heard, "Content-Length: ");
    const size_t size = length != NULL ? strtoul(length + 16, NULL, 10) : 0;
    ck_assert_uint_lt((size_t)(end + 4 - c->heard) + size, sizeof c->heard);
    if (c->length < (size_t)(end + 4 - c->heard) + size)
        return;
    judge(c, (int)strtol(c->heard + 9, NULL, 10));
    c->due = peer_seconds() + roles[c->role].rests;
    if (roles[c->role].rests <= 0)
        ask(c);
}

static void live(double until)
{
    struct pollfd ready[64];
    for (double now; (now = peer_seconds()) < until;) {
        for (int i = 0; i < client_count; i++) {
            struct client *c = &clients[i];
            const double stays = roles[c->role].stays;
            if (c->fd >= 0 && stays > 0 && now - c->since > stays)
                go(c, test_below(&rng, 2) == 0);
            if (c->fd < 0)
                come(c);
            else if (c->due > 0 && now >= c->due)
                ask(c);
            ready[i] = (struct pollfd){.fd = c->role == DEAF ? -1 : c->fd, .events = POLLIN};
        }
        if (poll(ready, (nfds_t)client_count, 1) <= 0)
            continue;
        for (int i = 0; i < client_count; i++)
            if (ready[i].revents != 0)
                hear(&clients[i]);
    }
}

/* ---- What is seen of the daemon -------------------------------------------------------------- */

struct sample {
    double memory_mib, descriptors, threads;
};

static struct sample look(void)
{
    struct sample s = {0};
    char line[256];
    FILE *file = fopen(test_text("/proc/%d/status", (int)daemon.pid), "r");
    ck_assert_msg(file != NULL, "the daemon is gone");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            s.memory_mib = strtod(line + 6, NULL) / 1024;
        else if (strncmp(line, "Threads:", 8) == 0)
            s.threads = strtod(line + 8, NULL);
    }
    (void)fclose(file);
    DIR *folder = opendir(test_text("/proc/%d/fd", (int)daemon.pid));
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        s.descriptors++;
    (void)closedir(folder);
    return s;
}

/* The median of a column from `from` to `to`; offset: of the column in a sample. */
static double median(const struct sample *samples, size_t from, size_t to, size_t offset)
{
    static double values[LONGEST];
    const size_t count = to - from;
    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&samples[from + i] + offset, sizeof values[i]);
    return peer_quantile(values, count, 0.5);
}

/* The second third against the last. */
static void check_trend(const char *what, const struct sample *samples, size_t count, size_t offset,
                        double slack)
{
    const double middle = median(samples, count / 3, 2 * count / 3, offset);
    const double last = median(samples, 2 * count / 3, count, offset);
    printf("%-12s %10.1f in the second third, %10.1f in the last\n", what, middle, last);
    ck_assert_msg(last <= middle * 1.05 + slack, "%s: grows", what);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void report(void)
{
    for (int r = 0; r < ROLES; r++)
        printf("%-9s %3d  %9zu answers or pieces, %zu refused\n", roles[r].name, roles[r].count,
               served[r], refused[r]);
    printf("a query of one pair beside all that: %.2f ms median, %.2f ms p99, %.2f ms at most\n",
           peer_quantile(probes, probe_count, 0.5) * 1e3,
           peer_quantile(probes, probe_count, 0.99) * 1e3,
           peer_quantile(probes, probe_count, 1) * 1e3);
}

START_TEST(nothing_grows_under_load)
{
    static struct sample samples[LONGEST];
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    const size_t seconds = peer_run_seconds(15, LONGEST);
    daemon_start(&daemon, (const char *[]){"--request-timeout", "5000", "--queue-limit", "16",
                                           "--log-level", "error", NULL});
    struct http_client *client = http_open(daemon.url);
    peer_put_boxes(client, "field", 3, BOXES, 50, &rng);
    peer_put_boxes(client, "pile", 3, PILE, 0.5, &rng);
    const struct sample before = look();
    for (int r = 0; r < ROLES; r++)
        for (int i = 0; i < roles[r].count; i++)
            clients[client_count++] = (struct client){.role = (enum role)r, .fd = -1};

    const size_t every = seconds / 60 + 1;
    const double begun = peer_seconds();
    printf("second  MiB  descriptors  threads\n");
    for (size_t i = 0; i < seconds; i++) {
        live(begun + (double)i + 1);
        samples[i] = look();
        if (i % every == 0)
            printf("%6zu %6.1f %6.0f %6.0f\n", i + 1, samples[i].memory_mib, samples[i].descriptors,
                   samples[i].threads);
    }
    for (int i = 0; i < client_count; i++)
        if (clients[i].fd >= 0)
            go(&clients[i], false);
    report();
    check_trend("MiB", samples, seconds, offsetof(struct sample, memory_mib), 8);
    check_trend("descriptors", samples, seconds, offsetof(struct sample, descriptors), 32);
    check_trend("threads", samples, seconds, offsetof(struct sample, threads), 0);
    ck_assert_msg(wrong == 0, "%zu answers that nobody expected", wrong);
    for (int r = 0; r < ROLES; r++)
        ck_assert_msg(served[r] > 0 || r == DEAF || r == FICKLE, "%s: nothing", roles[r].name);
    for (int i = 0; look().descriptors > before.descriptors; i++) {
        ck_assert_msg(i < 1000, "%.0f descriptors before, %.0f after", before.descriptors,
                      look().descriptors);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    printf("when all have gone: %.1f MiB, %.0f descriptors (%.0f before)\n", look().memory_mib,
           look().descriptors, before.descriptors);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("soak");
    TCase *tc = tcase_create("soak");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, nothing_grows_under_load);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
