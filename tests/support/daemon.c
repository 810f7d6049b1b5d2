#include "tests/support/daemon.h"

#include "tests/support/schema.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *program(void)
{
    const char *name = getenv("OBBD");
    return name != NULL ? name : "build/obbd";
}

/* Starts the program; *out and *err get the reading ends of pipes (err NULL: inherited). */
static pid_t spawn(const char *const *arguments, int *out, int *err)
{
    int to_out[2], to_err[2] = {-1, -1};
    ck_assert_int_eq(pipe(to_out), 0);
    if (err != NULL)
        ck_assert_int_eq(pipe(to_err), 0);
    const char *argv[64] = {program()};
    size_t count = 1;
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
        ck_assert_uint_lt(count, 63);
        argv[count++] = arguments[i];
    }
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(to_out[1], STDOUT_FILENO);
        if (err != NULL)
            dup2(to_err[1], STDERR_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        char *writable[64];
        memcpy(writable, argv, sizeof writable);
        execv(program(), writable);
        _exit(127);
    }
    close(to_out[1]);
    *out = to_out[0];
    if (err != NULL) {
        close(to_err[1]);
        *err = to_err[0];
    }
    return pid;
}

/* What the socket that listens on this port of IPv4 is called among the descriptors of its
 * process. */
static bool listening_socket(int port, char *out, size_t size)
{
    enum { LOCAL = 1, STATE = 3, INODE = 9, FIELDS }; /* proc(5), /proc/net/tcp */
    bool found = false;
    char line[256];
    FILE *file = fopen("/proc/net/tcp", "r");
    ck_assert_ptr_nonnull(file);
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const char *fields[FIELDS] = {""};
        char *rest = NULL;
        size_t count = 0;
        for (char *field = strtok_r(line, " ", &rest); field != NULL && count < FIELDS;
             field = strtok_r(NULL, " ", &rest))
            fields[count++] = field;
        const char *colon = count == FIELDS ? strchr(fields[LOCAL], ':') : NULL;
        found = colon != NULL && strtol(colon + 1, NULL, 16) == port &&
                strcmp(fields[STATE], "0A") == 0;
        if (found)
            (void)snprintf(out, size, "socket:[%s]", fields[INODE]);
    }
    (void)fclose(file);
    return found;
}

/* The process among those of /proc/<pattern> that has the socket open; 0: none. */
static pid_t owner_of(const char *socket, const char *pattern)
{
    glob_t descriptors;
    pid_t owner = 0;
    if (glob(test_text("/proc/%s/fd/*", pattern), GLOB_NOSORT, NULL, &descriptors) != 0)
        return 0;
    for (size_t i = 0; i < descriptors.gl_pathc && owner == 0; i++) {
        char target[64] = "";
        const char *path = descriptors.gl_pathv[i];
        if (readlink(path, target, sizeof target - 1) > 0 && strcmp(target, socket) == 0)
            owner = (pid_t)strtol(path + strlen("/proc/"), NULL, 10);
    }
    globfree(&descriptors);
    return owner;
}

static pid_t listener(pid_t child, int port)
{
    char socket[64];
    ck_assert_msg(listening_socket(port, socket, sizeof socket), "nobody listens on port %d", port);
    pid_t owner = owner_of(socket, test_text("%d", (int)child));
    if (owner == 0)
        owner = owner_of(socket, "[0-9]*");
    return owner;
}

void daemon_start(struct test_daemon *daemon, const char *const *arguments)
{
    const char *all[62] = {"--listen", "127.0.0.1:0"};
    size_t count = 2;
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        all[count++] = arguments[i];

    *daemon = (struct test_daemon){0};
    daemon->pid = spawn(all, &daemon->out, NULL);
    const double deadline = test_now() + test_timeout(20);
    size_t length = 0;
    const char *line = NULL;
    while (line == NULL || strchr(line, '\n') == NULL) {
        struct pollfd ready = {.fd = daemon->out, .events = POLLIN};
        const double left = deadline - test_now();
        ck_assert_msg(left > 0 && poll(&ready, 1, (int)(left * 1000) + 1) > 0,
                      "the daemon did not say that it listens; it said: %s", daemon->said);
        const ssize_t got =
            read(daemon->out, daemon->said + length, sizeof daemon->said - 1 - length);
        ck_assert_msg(got > 0, "the daemon ended before it was ready; it said: %s", daemon->said);
        length += (size_t)got;
        line = strstr(daemon->said, "obbd: listening on http://");
    }
    daemon->port = (int)strtol(line + strlen("obbd: listening on http://127.0.0.1:"), NULL, 10);
    ck_assert_int_gt(daemon->port, 0);
    daemon->process = listener(daemon->pid, daemon->port);
    (void)snprintf(daemon->url, sizeof daemon->url, "http://127.0.0.1:%d", daemon->port);
}

/* Waits until `deadline` for the end of a child, then kills it. */
static int wait_for(pid_t pid, double deadline)
{
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (test_now() > deadline) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int daemon_stop(struct test_daemon *daemon)
{
    kill(daemon->pid, SIGTERM);
    return daemon_end(daemon);
}

int daemon_end(struct test_daemon *daemon)
{
    const int status = wait_for(daemon->pid, test_now() + test_timeout(10));
    close(daemon->out);
    return status;
}

int daemon_run(const char *const *arguments, char *out, size_t out_size, char *err, size_t err_size)
{
    int fds[2];
    const pid_t pid = spawn(arguments, &fds[0], &fds[1]);
    char *texts[2] = {out, err};
    const size_t sizes[2] = {out_size, err_size};
    size_t lengths[2] = {0, 0};
    const double deadline = test_now() + test_timeout(20);
    for (int open = 2; open > 0 && test_now() < deadline;) {
        struct pollfd ready[2] = {{.fd = fds[0], .events = POLLIN},
                                  {.fd = fds[1], .events = POLLIN}};
        if (poll(ready, 2, 100) <= 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (ready[i].revents == 0)
                continue;
            char bytes[4096];
            const ssize_t got = read(fds[i], bytes, sizeof bytes);
            if (got <= 0) {
                close(fds[i]);
                fds[i] = -1;
                open--;
                continue;
            }
            const size_t room = sizes[i] - 1 - lengths[i];
            const size_t taken = (size_t)got < room ? (size_t)got : room;
            memcpy(texts[i] + lengths[i], bytes, taken);
            lengths[i] += taken;
        }
    }
    for (int i = 0; i < 2; i++) {
        texts[i][lengths[i]] = '\0';
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return wait_for(pid, deadline);
}

double daemon_memory_mib(const struct test_daemon *daemon, const char *what)
{
    char line[256];
    double kib = -1;
    FILE *file = fopen(test_text("/proc/%d/status", (int)daemon->process), "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, what, strlen(what)) == 0)
            kib = strtod(line + strlen(what) + 1, NULL);
    (void)fclose(file);
    ck_assert(kib > 0);
    return kib / 1024;
}

bool daemon_loads(const struct test_daemon *daemon, const char *word)
{
    char line[1024];
    bool loads = false;
    FILE *file = fopen(test_text("/proc/%d/maps", (int)daemon->process), "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *name = strrchr(line, '/');
        loads = loads || (name != NULL && strstr(name, word) != NULL);
    }
    if (file != NULL)
        (void)fclose(file);
    return loads;
}

bool daemon_memory_tells(const struct test_daemon *daemon)
{
    return !daemon_loads(daemon, "libasan") && !daemon_loads(daemon, "libtsan");
}

int daemon_dial(const struct test_daemon *daemon)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)daemon->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

void dial_send(int fd, const char *text)
{
    for (size_t at = 0, length = strlen(text); at < length;) {
        const ssize_t wrote = send(fd, text + at, length - at, MSG_NOSIGNAL);
        ck_assert_int_gt(wrote, 0);
        at += (size_t)wrote;
    }
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

struct http_client {
    CURL *curl;
    char url[128];
};

struct sink {
    char *bytes;
    size_t length, capacity;
};

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    struct sink *sink = context;
    const size_t n = size * count;
    if (sink->capacity - sink->length < n + 1) {
        const size_t capacity = (sink->length + n + 1) * 2;
        char *grown = realloc(sink->bytes, capacity);
        if (grown == NULL)
            return 0;
        sink->bytes = grown;
        sink->capacity = capacity;
    }
    memcpy(sink->bytes + sink->length, bytes, n);
    sink->length += n;
    sink->bytes[sink->length] = '\0';
    return n;
}

/* The document that the daemon publishes; every later answer of this process is held against it,
 * one at a time, as it remembers what it saw. The first client of a process is opened before there
 * are others. */
static struct schema *published;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void load_published(struct http_client *client)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/openapi.json", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    published = schema_load(answer.body, answer.length);
    ck_assert_msg(published != NULL, "the published document does not load");
    http_answer_fini(&answer);
}

int dial_receive(int fd, char *answer, size_t size)
{
    size_t length = 0;
    for (;;) {
        const ssize_t n = recv(fd, answer + length, size - 1 - length, 0);
        if (n <= 0)
            return 0;
        length += (size_t)n;
        answer[length] = '\0';
        const char *end = strstr(answer, "\r\n\r\n"), *field = strstr(answer, "Content-Length: ");
        if (end != NULL && field != NULL &&
            answer + length >= end + 4 + strtoul(field + 16, NULL, 10))
            return (int)strtol(answer + 9, NULL, 10);
    }
}

int dial_exchange(int fd, const char *request, char *answer, size_t size)
{
    for (size_t sent = 0, length = strlen(request); sent < length;) {
        const ssize_t n = send(fd, request + sent, length - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return 0;
        sent += (size_t)n;
    }
    return dial_receive(fd, answer, size);
}

struct http_client *http_open(const char *url)
{
    struct http_client *client = calloc(1, sizeof *client);
    ck_assert_ptr_nonnull(client);
    client->curl = curl_easy_init();
    ck_assert_ptr_nonnull(client->curl);
    (void)snprintf(client->url, sizeof client->url, "%s", url);
    if (published == NULL)
        load_published(client);
    return client;
}

void http_close(struct http_client *client)
{
    curl_easy_cleanup(client->curl);
    free(client);
}

void http_answer_fini(struct http_answer *answer)
{
    free(answer->head);
    free(answer->body);
    *answer = (struct http_answer){0};
}

void http_send(struct http_client *client, const char *method, const char *path,
               const char *const *headers, const char *body, struct http_answer *out)
{
    http_send_bytes(client, method, path, headers, body, body != NULL ? strlen(body) : 0, out);
}

/* A dry run may be about a scene that is not there. */
static bool is_dry_run(const struct http_answer *answer)
{
    static const char member[] = "dry_run"; /* in JSON and in CBOR */
    for (size_t i = 0; i + sizeof member <= answer->length; i++)
        if (memcmp(answer->body + i, member, sizeof member - 1) == 0)
            return true;
    return false;
}

/* Answers about a scene carry its epoch, and others do not. */
static void check_epoch(const char *method, const char *path, struct http_answer *answer)
{
    static const char scenes[] = "/v1/scenes/";
    static const long about[] = {200, 201, 204, 304, 410};
    static const char name[] = "\r\nObbd-Epoch: ";
    char found[17] = "";
    const char *at = strstr(answer->head, name); /* http_header would use up a test_text */
    if (at != NULL)
        (void)snprintf(found, sizeof found, "%.*s", (int)strcspn(at + sizeof name - 1, "\r"),
                       at + sizeof name - 1);
    const char *epoch = at != NULL ? found : NULL;
    const bool is_scene = strncmp(path, scenes, sizeof scenes - 1) == 0;
    ck_assert_msg(epoch == NULL ||
                      (is_scene && strlen(epoch) == 16 && strspn(epoch, "0123456789abcdef") == 16),
                  "%s %s answers with the epoch %s", method, path, epoch);
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        ck_assert_msg(answer->status != about[i] || epoch != NULL || !is_scene ||
                          strcmp(method, "OPTIONS") == 0 || is_dry_run(answer),
                      "%s %s answers %ld without an epoch", method, path, answer->status);
}

void http_send_bytes(struct http_client *client, const char *method, const char *path,
                     const char *const *headers, const char *body, size_t body_length,
                     struct http_answer *out)
{
    http_answer_fini(out);
    CURL *curl = client->curl;
    curl_easy_reset(curl);
    struct sink head = {0}, content = {0};
    take((char[]){""}, 1, 0, &head);
    take((char[]){""}, 1, 0, &content);

    curl_easy_setopt(curl, CURLOPT_URL, test_text("%s%s", client->url, path));
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(test_timeout(60) * 1000));
    curl_easy_setopt(curl, CURLOPT_NOBODY, (long)(strcmp(method, "HEAD") == 0));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &content);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &head);

    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    const char *type = NULL;
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i++) {
        list = curl_slist_append(list, headers[i]);
        if (strncasecmp(headers[i], "Content-Type:", 13) == 0)
            type = headers[i] + 13 + strspn(headers[i] + 13, " ");
    }
    if (body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_length);
        if (type == NULL) {
            type = "application/json";
            list = curl_slist_append(list, "Content-Type: application/json");
        }
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    const CURLcode code = curl_easy_perform(curl);
    curl_slist_free_all(list);
    ck_assert_msg(code == CURLE_OK, "%s %s: %s", method, path, curl_easy_strerror(code));
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME, &out->seconds);
    out->head = head.bytes;
    out->body = content.bytes;
    out->length = content.length;
    if (published == NULL)
        return;
    pthread_mutex_lock(&one_at_a_time);
    const char *fault = schema_check(
        published, &(struct schema_exchange){.method = method,
                                             .target = path,
                                             .request_type = type,
                                             .request = body,
                                             .request_length = body_length,
                                             .status = out->status,
                                             .answer_type = http_header(out, "Content-Type"),
                                             .answer = out->body,
                                             .answer_length = out->length});
    ck_assert_msg(fault == NULL, "the answer is not as published: %s\n%.2000s", fault, out->body);
    check_epoch(method, path, out);
    pthread_mutex_unlock(&one_at_a_time);
}

const char *http_header(struct http_answer *answer, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = answer->head; line != NULL && *line != '\0';) {
        const char *end = strstr(line, "\r\n");
        if (end == NULL)
            return NULL;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            value += strspn(value, " \t");
            return test_text("%.*s", (int)(end - value), value);
        }
        line = end + 2;
    }
    return NULL;
}

const char *test_text(const char *format, ...)
{
    static _Thread_local char texts[4][8192];
    static _Thread_local unsigned turn;
    char *text = texts[turn++ % 4];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    ck_assert_int_lt(length, (int)sizeof texts[0]);
    return text;
}
