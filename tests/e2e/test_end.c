/* How the daemon ends, or fails to begin, and what its log says of requests: the program itself,
 * its exit status, its sockets, its stderr. */
#include "tests/server/certificates.h"
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], socket_path[80], log_path[80];
static struct test_daemon daemon;

/* Its stderr goes to log_path. */
static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-end-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(socket_path, sizeof socket_path, "%s/socket", folder);
    (void)snprintf(log_path, sizeof log_path, "%s/log", folder);
    const int kept = dup(STDERR_FILENO), log = open(log_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert(kept >= 0 && log >= 0 && dup2(log, STDERR_FILENO) >= 0);
    daemon_start(&daemon, (const char *[]){"--listen", test_text("unix:%s", socket_path),
                                           "--log-format", "json", NULL});
    ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
    close(kept);
    close(log);
    ck_assert_int_eq(access(socket_path, F_OK), 0);
}

static void teardown(void)
{
    ck_assert_int_ne(access(socket_path, F_OK), 0); /* removed */
    ck_assert_int_eq(unlink(log_path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The first line of the log about that event; NULL: none. Owned by the caller. */
static json_t *find_line(const char *event)
{
    char line[8192];
    json_t *found = NULL;
    FILE *file = fopen(log_path, "r");
    ck_assert_ptr_nonnull(file);
    while (found == NULL && fgets(line, sizeof line, file) != NULL) {
        json_t *object = json_loads(line, 0, NULL);
        ck_assert_msg(object != NULL, "not JSON: %s", line);
        const char *name = json_string_value(json_object_get(object, "event"));
        ck_assert_msg(name != NULL, "%s", line);
        if (strcmp(name, event) == 0)
            found = json_incref(object);
        json_decref(object);
    }
    (void)fclose(file);
    return found;
}

static void wait_for_line(const char *event)
{
    json_t *line;
    while ((line = find_line(event)) == NULL) /* the limit of the test ends it otherwise */
        test_rest(5);
    json_decref(line);
}

/* A request without its body, which is 41 bytes. */
static int begin_request(void)
{
    static const char head[] =
        "PUT /v1/scenes/s/boxes/b HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine-7\r\n"
        "Content-Type: application/json\r\nContent-Length: 41\r\n\r\n";
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)daemon.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(send(fd, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
    return fd;
}

/* By the second answer, all that was sent before has been read. */
static void ask_for_health(void)
{
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    for (int i = 0; i < 2; i++)
        http_send(client, "GET", "/healthz", NULL, NULL, &answer);
    http_answer_fini(&answer);
    http_close(client);
}

static void end_request(int fd, const char *status)
{
    static const char body[] = "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}";
    char answer[4096];
    ck_assert_int_eq(send(fd, body, 41, MSG_NOSIGNAL), 41);
    const ssize_t got = recv(fd, answer, sizeof answer - 1, 0);
    ck_assert_int_gt(got, 12);
    answer[got] = '\0';
    ck_assert_msg(strncmp(answer + 9, status, 3) == 0, "%s", answer);
    ck_assert_msg(strstr(answer, "\r\nX-Request-Id: mine-7\r\n") != NULL, "%s", answer);
}

START_TEST(a_signal_lets_what_is_in_flight_finish)
{
    const int fd = begin_request();
    ask_for_health();
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    wait_for_line("draining");
    ck_assert_int_eq(waitpid(daemon.pid, NULL, WNOHANG), 0);
    end_request(fd, "201");
    close(fd);
    int status;
    ck_assert_int_eq(waitpid(daemon.pid, &status, 0), daemon.pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    wait_for_line("stopped");
    close(daemon.out);
}
END_TEST

START_TEST(a_second_signal_ends_at_once)
{
    const int fd = begin_request();
    ask_for_health();
    ck_assert_int_eq(kill(daemon.pid, SIGINT), 0);
    wait_for_line("draining");
    ck_assert_int_eq(waitpid(daemon.pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(kill(daemon.pid, SIGINT), 0);
    int status;
    ck_assert_int_eq(waitpid(daemon.pid, &status, 0), daemon.pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    wait_for_line("killed");
    close(fd);
    close(daemon.out);
}
END_TEST

static const char *write_file(const char *name, const char *text)
{
    const char *path = test_text("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

START_TEST(a_start_that_fails_says_nothing_but_why)
{
    const char *files[] = {write_file("tokens", "{\"tokens\":[]}"),
                           write_file("certificate", first_certificate),
                           write_file("key", first_key)};
    char listen[64], out[256], err[1024], line[256];
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", daemon.port);
    ck_assert_int_eq(daemon_run((const char *[]){"--token-file", files[0], "--tls-cert", files[1],
                                                 "--tls-key", files[2], "--listen", listen, NULL},
                                out, sizeof out, err, sizeof err),
                     1);
    (void)snprintf(line, sizeof line, "obbd: --listen: https://%s: Address already in use\n",
                   listen);
    ck_assert_str_eq(err, line);
    ck_assert_str_eq(out, "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ck_assert_int_eq(unlink(files[i]), 0);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

START_TEST(a_slow_request_has_a_line_with_its_id)
{
    const int fd = begin_request();
    ask_for_health();
    test_rest(1100);
    end_request(fd, "201");
    close(fd);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    json_t *line = find_line("slow");
    ck_assert_ptr_nonnull(line);
    ck_assert_str_eq(json_string_value(json_object_get(line, "id")), "mine-7");
    ck_assert_str_eq(json_string_value(json_object_get(line, "target")), "/v1/scenes/s/boxes/b");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), 201);
    ck_assert(json_number_value(json_object_get(line, "ms")) >= 1000);
    json_decref(line);
}
END_TEST

START_TEST(a_slow_query_has_its_tag_in_the_line)
{
    static const char body[] = "{\"kind\":\"point\",\"tag\":\"level 3\\n\",\"points\":[[0,0,0]]}";
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    http_send(client, "PUT", "/v1/scenes/s", NULL, "{}", &answer);
    ck_assert_int_eq(answer.status, 201);
    http_close(client);
    http_answer_fini(&answer);
    const int commit = _i;
    char text[256];
    (void)snprintf(text, sizeof text,
                   commit == 1 ? "{\"queries\":[{\"kind\":\"all-pairs\"},%s]}" : "%s", body);
    const int fd = daemon_dial(&daemon);
    dial_send(fd,
              test_text("POST /v1/scenes/s/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                        commit == 1 ? "commit" : "query/point", strlen(text)));
    ask_for_health();
    test_rest(1100);
    dial_send(fd, text);
    char got[4096];
    size_t length = 0;
    for (ssize_t n;
         length < sizeof got - 1 && (n = recv(fd, got + length, sizeof got - 1 - length, 0)) > 0;)
        length += (size_t)n;
    got[length] = '\0';
    close(fd);
    ck_assert_msg(strstr(got, "HTTP/1.1 200") == got &&
                      strstr(got, "\"tag\":\"level 3\\n\"") != NULL,
                  "%s", got);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    json_t *line = find_line("slow");
    ck_assert_str_eq(json_string_value(json_object_get(line, "target")),
                     commit == 1 ? "/v1/scenes/s/commit" : "/v1/scenes/s/query/point");
    ck_assert_str_eq(json_string_value(json_object_get(line, "tag")), "level 3\n");
    json_decref(line);
}
END_TEST

/* ---- Without stdin, stdout or stderr --------------------------------------------------------- */

/* Starts the program with these arguments (NULL-terminated). descriptors: what is to be its stdin,
 * stdout and stderr; -1: that one is closed. */
static pid_t start_with(const char *const *arguments, const int descriptors[static 3])
{
    const char *name = getenv("OBBD");
    char *argv[16] = {(char *)(uintptr_t)(name != NULL ? name : "build/obbd")};
    for (size_t i = 0; arguments[i] != NULL; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            if (descriptors[i] >= 0)
                dup2(descriptors[i], i);
            else
                close(i);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static int status_of(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

START_TEST(what_is_closed_at_the_start_is_no_socket_later)
{
    char path[64], listen[80];
    (void)snprintf(path, sizeof path, "%s/obbd-end-%d", test_folder(), (int)getpid());
    (void)snprintf(listen, sizeof listen, "unix:%s", path);
    const char *const arguments[] = {"--listen", listen, "--demo", "--log-level", "debug", NULL};
    for (int closed = 0; closed < 8; closed++) {
        const int null = open("/dev/null", O_RDWR);
        int descriptors[3];
        for (int i = 0; i < 3; i++)
            descriptors[i] = (closed & 1 << i) != 0 ? -1 : null;
        const pid_t pid = start_with(arguments, descriptors);
        close(null);
        while (access(path, F_OK) != 0) { /* the limit of the test ends it otherwise */
            ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
            test_rest(5);
        }
        for (int i = 0; i < 3; i++) {
            char target[64] = "";
            ck_assert_int_gt(
                readlink(test_text("/proc/%d/fd/%d", (int)pid, i), target, sizeof target - 1), 0);
            ck_assert_msg(strcmp(target, "/dev/null") == 0, "%d, %d: %s", closed, i, target);
        }
        ck_assert_int_eq(kill(pid, SIGTERM), 0);
        ck_assert_int_eq(status_of(pid), 0);
    }
}
END_TEST

/* Runs the program with this stdout, or none (-1), and checks that it says why it failed. */
static void check_lost(const char *const *arguments, int out, const char *why)
{
    char said[1024];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t pid = start_with(arguments, (const int[]){STDIN_FILENO, out, ends[1]});
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], said + length, sizeof said - 1 - length)) > 0;)
        length += (size_t)n;
    said[length] = '\0';
    close(ends[0]);
    const int status = status_of(pid);
    ck_assert_msg(status == 1 && strcmp(said, why) == 0, "%s: %d, %s", arguments[0], status, said);
}

/* What was printed must have arrived: a token that nobody read is lost. */
START_TEST(output_that_cannot_be_written_is_an_error)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-end-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char data[80], copy[80];
    (void)snprintf(data, sizeof data, "%s/data", folder);
    (void)snprintf(copy, sizeof copy, "%s/copy", folder);
    (void)snprintf(log_path, sizeof log_path, "%s/log", folder);
    daemon_start(&daemon, (const char *[]){"--data", data, NULL});
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    do /* until the journal is read */
        http_send(client, "PUT", "/v1/scenes/s", NULL, "{}", &answer);
    while (answer.status == 503);
    ck_assert_int_eq(answer.status, 201);
    http_send(client, "GET", "/v1/scenes/s/log", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    (void)write_file("log", answer.body);
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);

    const char *const runs[][5] = {{"--help", NULL},
                                   {"--version", NULL},
                                   {"--new-token", "x", NULL},
                                   {"--verify", log_path, NULL},
                                   {"--check-data", data, NULL},
                                   {"--data", data, "--backup", copy, NULL}};
    const int full = open("/dev/full", O_WRONLY), null = open("/dev/null", O_WRONLY);
    ck_assert(full >= 0 && null >= 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        check_lost(runs[i], full, "obbd: stdout: No space left on device\n");
        (void)unlink(copy);
        check_lost(runs[i], -1, "obbd: stdout: Bad file descriptor\n");
        (void)unlink(copy);
        const int all[3] = {null, null, STDERR_FILENO};
        ck_assert_int_eq(status_of(start_with(runs[i], all)), 0);
        (void)unlink(copy);
    }
    close(full);
    close(null);
    ck_assert_int_eq(unlink(log_path), 0);
    (void)unlink(test_text("%s/journal.db", data));
    (void)unlink(test_text("%s/spare", data));
    ck_assert_int_eq(rmdir(data), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* Reads all that is in the pipe. */
static void drain(int pipe_end, char *out, size_t size)
{
    size_t length = 0;
    for (ssize_t n; (n = read(pipe_end, out + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    out[length] = '\0';
}

/* The pipe is full before the daemon begins, and while it ends. */
START_TEST(a_log_that_nobody_reads_holds_nobody_up)
{
    static const char page[4096] = "";
    static char text[1 << 20];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    /* non-blocking: in a file description that the daemon does not share */
    const int own = open(test_text("/proc/self/fd/%d", ends[1]), O_WRONLY | O_NONBLOCK);
    ck_assert(own >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    while (write(own, page, sizeof page) > 0)
        ;
    const int kept = dup(STDERR_FILENO);
    ck_assert(kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    struct test_daemon unheard;
    daemon_start(&unheard, (const char *[]){"--log-level", "debug", NULL});
    ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
    close(kept);
    struct http_client *client = http_open(unheard.url);
    struct http_answer answer = {0};
    for (int i = 0; i < 100; i++)
        http_send(client, "GET", "/healthz", NULL, NULL, &answer);

    drain(ends[0], text, sizeof text);
    for (int i = 0; i < 2; i++)
        http_send(client, "GET", "/healthz", NULL, NULL, &answer);
    drain(ends[0], text, sizeof text);
    const char *told = strstr(text, " warn log-dropped lines=");
    ck_assert_msg(told != NULL && strstr(strchr(told, '='), "log-dropped") == NULL, "%s", text);
    const unsigned long lines = strtoul(strchr(told, '=') + 1, NULL, 10);
    ck_assert_uint_ge(lines, 99); /* the last request may end when there is room */
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    ck_assert_ptr_nonnull(
        strstr(answer.body, test_text("\nobbd_log_lines_dropped_total %lu\n", lines)));
    http_close(client);
    http_answer_fini(&answer);

    while (write(own, page, sizeof page) > 0)
        ;
    ck_assert_int_eq(daemon_stop(&unheard), 0);
    close(own);
    close(ends[0]);
    close(ends[1]);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("end");
    TCase *tc = tcase_create("end");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_signal_lets_what_is_in_flight_finish);
    tcase_add_test(tc, a_second_signal_ends_at_once);
    tcase_add_test(tc, a_start_that_fails_says_nothing_but_why);
    tcase_add_test(tc, a_slow_request_has_a_line_with_its_id);
    tcase_add_loop_test(tc, a_slow_query_has_its_tag_in_the_line, 0, 2);
    tcase_add_test(tc, a_log_that_nobody_reads_holds_nobody_up);
    suite_add_tcase(suite, tc);
    TCase *standard = tcase_create("standard");
    tcase_set_timeout(standard, test_timeout(30));
    tcase_add_test(standard, what_is_closed_at_the_start_is_no_socket_later);
    tcase_add_test(standard, output_that_cannot_be_written_is_an_error);
    suite_add_tcase(suite, standard);
    return test_main(suite);
}
