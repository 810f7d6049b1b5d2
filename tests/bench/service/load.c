#include "tests/bench/service/load.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_BUFFER = 16384, EVENTS = 256 };

struct connection {
    load_group *group; /* NULL: a single exchange, on a socket that blocks */
    load_request *request;
    int descriptor;
    bool busy, writing;
    size_t sent;
    char *in; /* owned */
    size_t received, room;
    size_t head, body; /* lengths, once the head is there */
    int status;
    double start, resume; /* resume: when the pause is over */
};

double load_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

load_address load_loopback(uint16_t port)
{
    load_address address = {.length = sizeof(struct sockaddr_in)};
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&address.as, &in, sizeof in);
    return address;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        (void)fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

load_request load_request_make(const char *method, const char *path, const char *type,
                               const char *accept, const void *body, size_t body_length)
{
    char head[1024], typed[128] = "", accepts[128] = "", length[64] = "";
    if (body != NULL) {
        (void)snprintf(typed, sizeof typed, "Content-Type: %s\r\n", type);
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n", body_length);
    }
    if (accept != NULL)
        (void)snprintf(accepts, sizeof accepts, "Accept: %s\r\n", accept);
    const size_t head_length =
        (size_t)snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n",
                         method, path, typed, accepts, length);
    load_request request = {.length = head_length + body_length};
    request.bytes = must(malloc(request.length));
    memcpy(request.bytes, head, head_length);
    if (body != NULL)
        memcpy(request.bytes + head_length, body, body_length);
    return request;
}

void load_request_free(load_request *request)
{
    free(request->bytes);
    free(request->expected);
    *request = (load_request){0};
}

/* ---- Histograms ------------------------------------------------------------------------------ */

static size_t bucket_of(double seconds)
{
    const uint64_t ns = seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
    if (ns < 32)
        return (size_t)ns;
    unsigned power = 5;
    while (ns >> power > 1)
        power++;
    return (size_t)(power - 4) * 32 + (size_t)((ns >> (power - 5)) & 31);
}

static double bucket_end(size_t bucket)
{
    if (bucket < 32)
        return (double)(bucket + 1) * 1e-9;
    const double unit = (double)(UINT64_C(1) << (bucket / 32 - 1));
    return ((double)(bucket % 32 + 33) * unit) * 1e-9;
}

double load_quantile(const load_group *group, double share)
{
    const double wanted = share * (double)group->answers;
    uint64_t seen = 0;
    for (size_t i = 0; i < LOAD_BUCKETS; i++) {
        seen += group->buckets[i];
        if (group->buckets[i] > 0 && (double)seen >= wanted)
            return bucket_end(i);
    }
    return 0;
}

/* ---- Connections ----------------------------------------------------------------------------- */

static bool connect_to(struct connection *c, const load_address *address)
{
    c->descriptor = socket(address->as.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->descriptor < 0 ||
        connect(c->descriptor, (const struct sockaddr *)&address->as, address->length) != 0) {
        (void)fprintf(stderr, "connect: %s\n", strerror(errno));
        return false;
    }
    const int on = 1;
    if (address->as.ss_family == AF_INET)
        (void)setsockopt(c->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fcntl(c->descriptor, F_SETFL, O_NONBLOCK) == 0;
}

static void watch(int poll, struct connection *c, bool writing, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (writing ? (unsigned)EPOLLOUT : 0u),
                                .data.ptr = c};
    c->writing = writing;
    (void)epoll_ctl(poll, operation, c->descriptor, &event);
}

/* Sends what can be sent. */
static bool push(int poll, struct connection *c)
{
    while (c->sent < c->request->length) {
        const ssize_t n = send(c->descriptor, c->request->bytes + c->sent,
                               c->request->length - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return false;
        c->sent += (size_t)n;
    }
    const bool writing = c->sent < c->request->length;
    if (writing != c->writing)
        watch(poll, c, writing, EPOLL_CTL_MOD);
    return true;
}

static bool begin(int poll, struct connection *c)
{
    load_group *group = c->group;
    c->request = &group->requests[group->next++ % group->request_count];
    c->sent = c->received = c->head = 0;
    c->busy = true;
    c->start = load_clock();
    return push(poll, c);
}

static bool read_head(struct connection *c)
{
    c->in[c->received] = '\0';
    const char *end = strstr(c->in, "\r\n\r\n");
    if (end == NULL)
        return true;
    c->head = (size_t)(end - c->in) + 4;
    c->body = 0;
    if (c->received < 12 || strncmp(c->in, "HTTP/1.1 ", 9) != 0)
        return false;
    c->status = (int)strtol(c->in + 9, NULL, 10);
    for (const char *line = strstr(c->in, "\r\n"); line < end; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            c->body = strtoul(line + 17, NULL, 10);
    return true;
}

enum { FAILED = -1, PARTIAL, COMPLETE };

/* Receives what has come. */
static int pull(struct connection *c)
{
    for (;;) {
        if (c->room - c->received < FIRST_BUFFER / 2) {
            c->room = c->room == 0 ? FIRST_BUFFER : c->room * 2;
            c->in = must(realloc(c->in, c->room));
        }
        const size_t want = c->room - c->received - 1;
        const ssize_t n = recv(c->descriptor, c->in + c->received, want, 0);
        if (n < 0 && errno == EAGAIN && c->group != NULL)
            return PARTIAL;
        if (n <= 0)
            return FAILED;
        c->received += (size_t)n;
        if (c->head == 0 && !read_head(c))
            return FAILED;
        if (c->head != 0 && c->received >= c->head + c->body)
            return c->received == c->head + c->body ? COMPLETE : FAILED;
        if ((size_t)n < want)
            return PARTIAL;
    }
}

static const char *find(const char *bytes, size_t length, const char *word)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++)
        if (bytes[i] == word[0] && memcmp(bytes + i, word, size) == 0)
            return bytes + i;
    return NULL;
}

static bool right(const struct connection *c)
{
    const load_request *request = c->request;
    if (c->status < 200 || c->status > 299)
        return false;
    if (request->expected == NULL)
        return true;
    const char *body = c->in + c->head, *expected = request->expected;
    size_t length = c->body, expected_length = request->expected_length;
    if (request->from != NULL) {
        const char *at = find(body, length, request->from);
        const char *expected_at = find(expected, expected_length, request->from);
        if (at == NULL || expected_at == NULL)
            return false;
        length -= (size_t)(at - body);
        expected_length -= (size_t)(expected_at - expected);
        body = at;
        expected = expected_at;
    }
    return length == expected_length && memcmp(body, expected, length) == 0;
}

static void count(struct connection *c, double now)
{
    load_group *group = c->group;
    group->answers++;
    group->buckets[bucket_of(now - c->start)]++;
    if (right(c))
        return;
    if (group->wrong++ == 0)
        (void)fprintf(stderr, "a wrong answer to %.60s: %.*s\n", c->request->bytes,
                      (int)(c->received < 600 ? c->received : 600), c->in);
}

/* What happens on a connection. false: it is broken. */
static bool serve(int poll, struct connection *c, unsigned events, bool counted)
{
    if ((events & EPOLLOUT) != 0 && !push(poll, c))
        return false;
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0)
        return true;
    const int state = pull(c);
    if (state != COMPLETE)
        return state == PARTIAL;
    if (!c->busy)
        return false;
    const double now = load_clock();
    c->busy = false;
    if (!counted)
        return true;
    count(c, now);
    if (c->group->gap_us == 0)
        return begin(poll, c);
    c->resume = now + (double)c->group->gap_us * 1e-6;
    return true;
}

/* Those whose pause is over go on; returns the milliseconds until the next one, at most 100. */
static int resume(int poll, struct connection *connections, size_t total, bool *failed)
{
    const double now = load_clock();
    double next = now + 0.1;
    for (size_t i = 0; i < total; i++) {
        struct connection *c = &connections[i];
        if (c->busy || c->group->gap_us == 0)
            continue;
        if (c->resume <= now)
            *failed |= !begin(poll, c);
        else if (c->resume < next)
            next = c->resume;
    }
    return (int)((next - now) * 1e3) + 1;
}

static bool all_have_answers(const load_group *groups, size_t count_of_groups)
{
    for (size_t g = 0; g < count_of_groups; g++)
        if (groups[g].answers == 0)
            return false;
    return true;
}

double load_run(load_group *groups, size_t count_of_groups, double seconds, double patience)
{
    size_t total = 0;
    bool failed = false, paused = false;
    for (size_t g = 0; g < count_of_groups; g++) {
        total += groups[g].connections;
        paused |= groups[g].gap_us != 0;
        groups[g].answers = groups[g].wrong = 0;
        memset(groups[g].buckets, 0, sizeof groups[g].buckets);
    }
    assert(total > 0);
    struct connection *connections = must(calloc(total, sizeof *connections));
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *c = connections;
    for (size_t g = 0; g < count_of_groups; g++)
        for (size_t i = 0; i < groups[g].connections; i++, c++) {
            c->group = &groups[g];
            c->descriptor = -1;
            failed = failed || !connect_to(c, &groups[g].address);
            if (!failed)
                watch(poll, c, false, EPOLL_CTL_ADD);
        }
    const double start = load_clock();
    for (size_t i = 0; i < total && !failed; i++)
        failed = !begin(poll, &connections[i]);

    double end = start;
    for (bool counted = true; !failed;) {
        struct epoll_event events[EVENTS];
        const int wait = paused && counted ? resume(poll, connections, total, &failed) : 100;
        const int ready = epoll_wait(poll, events, EVENTS, wait);
        for (int i = 0; i < ready && !failed; i++)
            failed = !serve(poll, events[i].data.ptr, events[i].events, counted);
        const double now = load_clock();
        if (counted && now - start >= seconds && all_have_answers(groups, count_of_groups)) {
            counted = false;
            end = now;
        }
        bool busy = false;
        if (!counted || ready == 0)
            for (size_t i = 0; i < total; i++) {
                busy |= connections[i].busy;
                failed |= connections[i].busy && now - connections[i].start > patience;
            }
        if (!counted && !busy)
            break;
    }
    for (size_t i = 0; i < total; i++) {
        if (connections[i].descriptor >= 0)
            (void)close(connections[i].descriptor);
        free(connections[i].in);
    }
    free(connections);
    (void)close(poll);
    return failed ? -1 : end - start;
}

/* Sends one request over a connection of its own. Returns true if the answer is complete; c->in is
 * the caller's in any case. */
static bool exchange(const load_address *address, load_request *request, struct connection *c)
{
    *c = (struct connection){.request = request, .descriptor = -1};
    const struct timeval patience = {.tv_sec = 60};
    bool good = connect_to(c, address) && fcntl(c->descriptor, F_SETFL, 0) == 0 &&
                setsockopt(c->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0;
    while (good && c->sent < request->length) {
        const ssize_t n =
            send(c->descriptor, request->bytes + c->sent, request->length - c->sent, MSG_NOSIGNAL);
        good = n > 0;
        c->sent += good ? (size_t)n : 0;
    }
    int state = PARTIAL;
    while (good && state == PARTIAL)
        state = pull(c);
    if (c->descriptor >= 0)
        (void)close(c->descriptor);
    return state == COMPLETE;
}

int load_status(const load_address *address, const load_request *request)
{
    load_request copy = *request;
    struct connection c;
    const bool good = exchange(address, &copy, &c);
    free(c.in);
    return good ? c.status : 0;
}

char *load_exchange(const load_address *address, const load_request *request, size_t *out_length)
{
    load_request copy = *request;
    struct connection c;
    if (!exchange(address, &copy, &c) || c.status < 200 || c.status > 299) {
        (void)fprintf(stderr, "%.60s: %.*s\n", copy.bytes,
                      (int)(c.received < 600 ? c.received : 600), c.in != NULL ? c.in : "");
        free(c.in);
        return NULL;
    }
    char *body = must(malloc(c.body + 1));
    memcpy(body, c.in + c.head, c.body);
    body[c.body] = '\0';
    *out_length = c.body;
    free(c.in);
    return body;
}
