#define _GNU_SOURCE /* NOLINT: nftw */
#include "tests/support/nats.h"

#include "tests/support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

/* Takes a port that is free. Nobody else is given it as long as the socket is there, which does not
 * listen: the server, which sets SO_REUSEADDR too, can listen there, and do so again after its
 * end. */
static int take_port(int *out_socket)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *out_socket = fd;
    return ntohs(address.sin_port);
}

void nats_init(struct test_nats *nats)
{
    *nats = (struct test_nats){.route_socket = -1};
    nats->port = take_port(&nats->socket);
    (void)snprintf(nats->url, sizeof nats->url, "nats://127.0.0.1:%d", nats->port);
    (void)snprintf(nats->folder, sizeof nats->folder, "%s/obbd-nats-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(nats->folder));
}

void nats_init_cluster(struct test_nats *all, size_t count)
{
    char routes[sizeof all->routes] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(routes);
        nats_init(&all[i]);
        all[i].number = (int)i + 1;
        all[i].route_port = take_port(&all[i].route_socket);
        (void)snprintf(routes + length, sizeof routes - length, "%snats://127.0.0.1:%d",
                       i > 0 ? "," : "", all[i].route_port);
    }
    for (size_t i = 0; i < count; i++)
        memcpy(all[i].routes, routes, sizeof routes);
}

struct test_nats *nats_leader(struct test_nats *all, size_t count, const char *stream)
{
    char words[80], last[32] = "", line[1000];
    struct test_nats *leader = NULL;
    (void)snprintf(words, sizeof words, "new stream leader for '$G > %s'", stream);
    for (size_t i = 0; i < count; i++) {
        char path[100];
        (void)snprintf(path, sizeof path, "%s/log", all[i].folder);
        FILE *log = fopen(path, "r");
        while (log != NULL && fgets(line, sizeof line, log) != NULL) {
            const char *at = strchr(line, ']'); /* "[pid] date time …" */
            if (strstr(line, words) == NULL || at == NULL || strncmp(at + 2, last, 26) <= 0)
                continue;
            (void)snprintf(last, sizeof last, "%.26s", at + 2);
            leader = &all[i];
        }
        if (log != NULL)
            (void)fclose(log);
    }
    return leader;
}

static bool takes_connections(const struct test_nats *nats)
{
    const struct sockaddr_in address = loopback(nats->port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    const bool taken = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return taken;
}

static void run_server(const struct test_nats *nats)
{
    char port[16], log[128];
    (void)snprintf(port, sizeof port, "%d", nats->port);
    (void)snprintf(log, sizeof log, "%s/log", nats->folder);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    char program[] = "nats-server", a[] = "-a", host[] = "127.0.0.1", p[] = "-p", js[] = "-js",
         sd[] = "-sd", l[] = "-l", folder[sizeof nats->folder];
    memcpy(folder, nats->folder, sizeof folder);
    char cluster[] = "--cluster", name[] = "--cluster_name", obbd[] = "obbd", routes[] = "--routes",
         n[] = "-n", own[16], at[64], to[sizeof nats->routes];
    (void)snprintf(own, sizeof own, "n%d", nats->number);
    (void)snprintf(at, sizeof at, "nats://127.0.0.1:%d", nats->route_port);
    memcpy(to, nats->routes, sizeof to);
    char *arguments[] = {program, a,  host, p,    port, js,  sd,     folder, l,   log,
                         cluster, at, name, obbd, n,    own, routes, to,     NULL};
    if (nats->number == 0)
        arguments[10] = NULL;
    (void)execvp(program, arguments);
    _exit(127);
}

void nats_start(struct test_nats *nats)
{
    nats->pid = fork();
    ck_assert_int_ge(nats->pid, 0);
    if (nats->pid == 0)
        run_server(nats);
    while (!takes_connections(nats)) {
        ck_assert_msg(waitpid(nats->pid, NULL, WNOHANG) == 0,
                      "nats-server does not run; see %s/log", nats->folder);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

void nats_end(struct test_nats *nats, int signal)
{
    ck_assert_int_eq(kill(nats->pid, signal), 0);
    ck_assert_int_eq(waitpid(nats->pid, NULL, 0), nats->pid);
    nats->pid = 0;
}

void nats_publish(const struct test_nats *nats, const char *subject, const char *text)
{
    const struct sockaddr_in address = loopback(nats->port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char answer[2048] = "";
    size_t length = 0;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_gt(dprintf(fd, "CONNECT {\"verbose\":false}\r\nPUB %s %zu\r\n%s\r\nPING\r\n",
                             subject, strlen(text), text),
                     0);
    while (strstr(answer, "PONG") == NULL) {
        const ssize_t got = read(fd, answer + length, sizeof answer - 1 - length);
        ck_assert_int_gt(got, 0);
        length += (size_t)got;
        answer[length] = '\0';
    }
    close(fd);
}

static double bytes_found;

static int add_one(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)path;
    (void)place;
    bytes_found += type == FTW_F ? (double)about->st_size : 0;
    return 0;
}

double nats_bytes(const struct test_nats *nats)
{
    bytes_found = 0;
    (void)nftw(nats->folder, add_one, 16, FTW_PHYS); /* files may go meanwhile */
    return bytes_found;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    return remove(path);
}

void nats_fini(struct test_nats *nats)
{
    if (nats->pid != 0)
        nats_end(nats, SIGKILL);
    close(nats->socket);
    if (nats->route_socket >= 0)
        close(nats->route_socket);
    ck_assert_int_eq(nftw(nats->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
