/* The whole service in this process, on a free port of loopback, and a client of raw bytes for it.
 * For the programs of this folder: each includes it once. */
#ifndef TEST_SERVER_SERVICE_H
#define TEST_SERVER_SERVICE_H

#include "server/server.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct srv_server *service;
static srv_config service_config;
static pthread_t service_thread;
static int service_port, service_status = -1;
static FILE *service_announce;

/* Unless an option says otherwise, requests have ten minutes: a slow machine may take its time. */
static char *service_environment[] = {(char[]){"OBBD_REQUEST_TIMEOUT=600000"},
                                      (char[]){"OBBD_WORKERS=2"}, NULL};

static void *serve(void *context)
{
    (void)context;
    service_status = srv_server_run(service, service_announce);
    return NULL;
}

/* With these options more (NULL-terminated, or NULL). */
static void service_start(const char *const *more)
{
    static const char *const arguments[] = {"obbd", "--listen", "127.0.0.1:0", "--log-level",
                                            "error"};
    char error[256], line[256];
    char *argv[32];
    int argc = 0;
    for (; argc < 5; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc];
    for (; more != NULL && *more != NULL; more++)
        argv[argc++] = (char *)(uintptr_t)*more;
    signal(SIGPIPE, SIG_IGN);
    ck_assert_msg(
        srv_config_read(argc, argv, service_environment, &service_config, error, sizeof error),
        "%s", error);
    ck_assert_msg(srv_server_create(&service_config, &service, error, sizeof error), "%s", error);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    service_announce = fdopen(ends[1], "w");
    ck_assert_ptr_nonnull(service_announce);
    ck_assert_int_eq(pthread_create(&service_thread, NULL, serve, NULL), 0);
    FILE *said = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, said));
    const char *colon = strrchr(line, ':');
    ck_assert_msg(strncmp(line, "obbd: listening on http", 23) == 0 && colon != NULL, "%s", line);
    service_port = (int)strtol(colon + 1, NULL, 10);
    fclose(said);
}

/* After it was told to end. */
static void service_join(void)
{
    ck_assert_int_eq(pthread_join(service_thread, NULL), 0);
    ck_assert_int_eq(service_status, 0);
    srv_server_destroy(service);
    srv_config_fini(&service_config);
    fclose(service_announce);
}

static inline void service_stop(void)
{
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    service_join();
}

static inline char *find_bytes(char *in, size_t length, const char *sought, size_t size)
{
    for (size_t i = 0; i + size <= length; i++)
        if (memcmp(in + i, sought, size) == 0)
            return in + i;
    return NULL;
}

static int dial(void)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_ge(s, 0);
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
    return s;
}

/* One request on a connection of its own: its status; the answer, cut to size, in `heard`. fields:
 * header lines, each with its line end. A body is JSON unless they say otherwise. */
static char heard[1 << 20];

__attribute__((format(printf, 4, 0))) static inline int
ask_v(const char *fields, const char *method, const char *path, const char *format, va_list values)
{
    static char body[1 << 20], request[(1 << 20) + 1024];
    const int size = vsnprintf(body, sizeof body, format, values);
    ck_assert_int_lt(size, (int)sizeof body);
    const bool json = size > 0 && strstr(fields, "Content-Type") == NULL;
    const int length = snprintf(request, sizeof request,
                                "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s"
                                "Content-Length: %d\r\n\r\n%s",
                                method, path, fields,
                                json ? "Content-Type: application/json\r\n" : "", size, body);
    const int s = dial();
    ck_assert_int_eq(send(s, request, (size_t)length, MSG_NOSIGNAL), length);
    size_t got = 0;
    for (ssize_t n; (n = recv(s, heard + got, sizeof heard - 1 - got, 0)) > 0;)
        got += (size_t)n;
    heard[got] = '\0';
    close(s);
    ck_assert_msg(strncmp(heard, "HTTP/1.1 ", 9) == 0, "%s", heard);
    return (int)strtol(heard + 9, NULL, 10);
}

__attribute__((format(printf, 3, 4))) static inline int ask(const char *method, const char *path,
                                                            const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int answer = ask_v("", method, path, format, values);
    va_end(values);
    return answer;
}

#endif
