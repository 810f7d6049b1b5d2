#include "tests/bench/service/servers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_SECONDS = 20, BACKLOG = 1024 };

static load_address local(const char *folder, const char *name)
{
    load_address address = {.length = sizeof(struct sockaddr_un)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    (void)snprintf(un.sun_path, sizeof un.sun_path, "%s/%s.sock", folder, name);
    (void)unlink(un.sun_path);
    memcpy(&address.as, &un, sizeof un);
    return address;
}

static const char *path_of(const load_address *address)
{
    return ((const struct sockaddr_un *)&address->as)->sun_path;
}

/* Listens; the port that was free goes into the address. */
static int listen_on(load_address *address)
{
    const int descriptor = socket(address->as.ss_family, SOCK_STREAM, 0);
    if (descriptor < 0 ||
        bind(descriptor, (const struct sockaddr *)&address->as, address->length) != 0 ||
        listen(descriptor, BACKLOG) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address->as, &address->length) != 0) {
        (void)fprintf(stderr, "listen: %s\n", strerror(errno));
        return -1;
    }
    return descriptor;
}

/* Starts the program; its stdout can be read from *out unless that is NULL. Its errors go to
 * folder/NAME.log. */
static bool start(bench_server *server, const char *folder, const char *const *arguments, int *out)
{
    char log[256];
    (void)snprintf(log, sizeof log, "%s/%s.log", folder, server->name);
    int ends[2] = {-1, -1};
    if (out != NULL && pipe(ends) != 0)
        return false;
    const pid_t parent = getpid();
    server->pid = fork();
    if (server->pid == 0) {
        const int errors = open(log, O_CREAT | O_TRUNC | O_WRONLY, 0644);
        (void)dup2(errors, STDERR_FILENO);
        (void)dup2(out != NULL ? ends[1] : errors, STDOUT_FILENO);
        if (out != NULL)
            (void)close(ends[0]);
        /* it ends with us, however we end */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
            execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        (void)fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    if (out != NULL) {
        (void)close(ends[1]);
        *out = ends[0];
    }
    return server->pid > 0;
}

/* Reads from the pipe until `wanted` lines were seen. */
static bool read_lines(int descriptor, int wanted, char *text, size_t size)
{
    size_t length = 0;
    const double until = load_clock() + START_SECONDS;
    for (int lines = 0; lines < wanted;) {
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        if (load_clock() > until || length + 1 == size || poll(&ready, 1, 100) < 0)
            return false;
        if (ready.revents == 0)
            continue;
        const ssize_t n = read(descriptor, text + length, 1);
        if (n != 1)
            return false;
        lines += text[length] == '\n';
        length++;
    }
    text[length] = '\0';
    return true;
}

/* Waits until a request is answered. */
/* Waits until the path is answered with 200. A server that is not ready yet says 503. */
static bool wait_answer(const bench_server *server, const char *path)
{
    load_request request = load_request_make("GET", path, NULL, NULL, NULL, 0);
    const double until = load_clock() + START_SECONDS;
    int status = load_status(&server->tcp, &request);
    while (status == 503 && load_clock() < until) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        status = load_status(&server->tcp, &request);
    }
    load_request_free(&request);
    return status == 200;
}

static bool came_up(bench_server *server, bool good, const char *folder)
{
    if (!good) {
        (void)fprintf(stderr, "%s did not start: see %s/%s.log\n", server->name, folder,
                      server->name);
        server_stop(server);
    }
    return good;
}

/* Waits until somebody accepts at its port. */
static bool wait_listening(const bench_server *server)
{
    const double until = load_clock() + START_SECONDS;
    for (;;) {
        const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        const bool good =
            connect(descriptor, (const struct sockaddr *)&server->tcp.as, server->tcp.length) == 0;
        (void)close(descriptor);
        if (good)
            return true;
        if (load_clock() > until || waitpid(server->pid, NULL, WNOHANG) != 0)
            return false;
        const struct timespec pause = {.tv_nsec = 5000000};
        (void)nanosleep(&pause, NULL);
    }
}

bool server_nginx(bench_server *server, const char *folder, const char *body)
{
    *server =
        (bench_server){.name = "nginx", .tcp = load_loopback(0), .local = local(folder, "nginx")};
    /* nginx knows no port 0: it gets one that was free a moment ago */
    const int tcp = listen_on(&server->tcp);
    (void)close(tcp);
    char conf[256], absolute[4096];
    (void)snprintf(conf, sizeof conf, "%s/nginx.conf", folder);
    FILE *file = fopen(conf, "w");
    if (tcp < 0 || file == NULL || realpath(conf, absolute) == NULL)
        return false;
    (void)fprintf(file,
                  "daemon off; master_process off; worker_processes 1; pid nginx.pid;\n"
                  "error_log stderr error; events { worker_connections 2048; }\n"
                  "http { access_log off; keepalive_requests 1000000000; keepalive_timeout 600;\n"
                  " client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;\n"
                  " uwsgi_temp_path uwsgi; scgi_temp_path scgi; default_type application/json;\n"
                  " server { listen 127.0.0.1:%d; listen unix:%s;\n"
                  "  location / { return 200 '%s'; } } }\n",
                  ntohs(((const struct sockaddr_in *)&server->tcp.as)->sin_port),
                  path_of(&server->local), body);
    (void)fclose(file);
    const char *const arguments[] = {"nginx", "-p", folder, "-e", "stderr", "-c", absolute, NULL};
    return came_up(server, start(server, folder, arguments, NULL) && wait_listening(server),
                   folder);
}

bool server_fixed(bench_server *server, const char *folder, const char *program, const char *body)
{
    *server =
        (bench_server){.name = "epoll", .tcp = load_loopback(0), .local = local(folder, "epoll")};
    const int tcp = listen_on(&server->tcp), un = listen_on(&server->local);
    char first[16], second[16];
    (void)snprintf(first, sizeof first, "%d", tcp);
    (void)snprintf(second, sizeof second, "%d", un);
    const char *const arguments[] = {program, first, second, body, NULL};
    const bool good =
        tcp >= 0 && un >= 0 && start(server, folder, arguments, NULL) && wait_answer(server, "/");
    (void)close(tcp);
    (void)close(un);
    return came_up(server, good, folder);
}

/* From the lines "... http://127.0.0.1:PORT". */
static bool read_port(bench_server *server, const char *text)
{
    const char *at = strstr(text, "http://127.0.0.1:");
    if (at == NULL)
        return false;
    server->tcp = load_loopback((uint16_t)strtoul(at + 17, NULL, 10));
    return true;
}

bool server_node(bench_server *server, const char *folder, const char *engine)
{
    *server = (bench_server){.name = engine, .local = local(folder, engine)};
    char script[256], text[1024];
    (void)snprintf(script, sizeof script, "%s/node/server.mjs", folder);
    const char *const arguments[] = {"node", script, engine, path_of(&server->local), NULL};
    int out = -1;
    const bool good = start(server, folder, arguments, &out) &&
                      read_lines(out, 1, text, sizeof text) && read_port(server, text);
    return came_up(server, good, folder); /* the pipe stays open as long as we run */
}

bool server_obbd(bench_server *server, const char *folder, const char *program)
{
    return server_obbd_data(server, folder, program, NULL);
}

bool server_obbd_data(bench_server *server, const char *folder, const char *program,
                      const char *data)
{
    *server = (bench_server){.name = "obbd", .local = local(folder, "obbd")};
    char un[256], text[1024];
    (void)snprintf(un, sizeof un, "unix:%s", path_of(&server->local));
    const char *const arguments[] = {
        program, "--listen",    "127.0.0.1:0", "--listen",
        un,      "--log-level", "warn",        data != NULL ? "--data" : NULL,
        data,    NULL};
    int out = -1;
    const double begun = load_clock();
    const bool good = start(server, folder, arguments, &out) &&
                      read_lines(out, 2, text, sizeof text) && read_port(server, text) &&
                      wait_answer(server, "/readyz");
    server->ready = load_clock() - begun;
    return came_up(server, good, folder);
}

void server_stop(bench_server *server)
{
    if (server->pid <= 0)
        return;
    (void)kill(server->pid, SIGTERM);
    const double until = load_clock() + 8;
    while (waitpid(server->pid, NULL, WNOHANG) == 0) {
        if (load_clock() > until)
            (void)kill(server->pid, SIGKILL);
        const struct timespec pause = {.tv_nsec = 2000000};
        (void)nanosleep(&pause, NULL);
    }
    server->pid = 0;
}

double server_cpu(const bench_server *server)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)server->pid);
    DIR *tasks = opendir(path);
    double sum = 0;
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char file[384];
        (void)snprintf(file, sizeof file, "%s/%s/schedstat", path, task->d_name);
        FILE *f = task->d_name[0] != '.' ? fopen(file, "r") : NULL;
        char line[128];
        if (f != NULL) {
            if (fgets(line, sizeof line, f) != NULL)
                sum += strtod(line, NULL) * 1e-9;
            (void)fclose(f);
        }
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return sum;
}

double server_memory(const bench_server *server)
{
    char path[64], line[256];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    FILE *f = fopen(path, "r");
    double kib = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (f != NULL)
        (void)fclose(f);
    return kib * 1024;
}
