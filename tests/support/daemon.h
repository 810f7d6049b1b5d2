/* The real daemon as a child process on a free port of loopback, and an HTTP client for it. For end-to-end tests. */
#ifndef TEST_SUPPORT_DAEMON_H
#define TEST_SUPPORT_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct test_daemon {
    pid_t pid;     /* to be signalled and waited for */
    pid_t process; /* the one that listens: another in a container; 0: not to be seen */
    int out;       /* its stdout */
    char url[128]; /* "http://127.0.0.1:PORT" */
    int port;
    char said[4096]; /* what it printed until it was ready, the ready line last */
};

/* Starts the program that the environment's OBBD names (build/obbd) with `--listen 127.0.0.1:0` and the given further
 * arguments (NULL-terminated, or NULL), and waits for its ready line. Fails the test when it does not come. */
void daemon_start(struct test_daemon *daemon, const char *const *arguments);

/* SIGTERM, and its exit status; killed, and -1, when it has not ended after ten seconds. */
int daemon_stop(struct test_daemon *daemon);

/* Runs it with these arguments alone until it ends by itself: its exit status, output and errors (terminated, cut to size). */
int daemon_run(const char *const *arguments, char *out, size_t out_size, char *err,
               size_t err_size);

/* A line of its /proc/PID/status, in MiB: VmRSS (now), VmHWM (at most so far). */
double daemon_memory_mib(const struct test_daemon *daemon, const char *what);

/* A connection of raw bytes to it; -1: it takes none any more. And all of the text sent there. */
int daemon_dial(const struct test_daemon *daemon);
void dial_send(int fd, const char *text);

/* One exchange. Strings are terminated and owned by the answer. */
struct http_answer {
    long status;
    char *head; /* all header lines */
    char *body;
    size_t length;
    double seconds;
};

/* A client keeps its connection; one thread at a time. */
struct http_client;
struct http_client *http_open(const char *url);
void http_close(struct http_client *client);

/* body NULL: none. headers: NULL, or a NULL-terminated list of "Name: value" that are sent too; a JSON Content-Type is sent with a
 * body unless one is among them. The answer replaces (and frees) what *out held before: start from zeroes. Every
 * answer is held against the published schema (tests/support/schema.h), so a test that sees one that does not fit fails. */
void http_send(struct http_client *client, const char *method, const char *path,
               const char *const *headers, const char *body, struct http_answer *out);

/* The same with a body of any bytes. */
void http_send_bytes(struct http_client *client, const char *method, const char *path,
                     const char *const *headers, const char *body, size_t body_length,
                     struct http_answer *out);

/* The value of a header of the answer, NULL when it has none; valid until the next call. */
const char *http_header(struct http_answer *answer, const char *name);
void http_answer_fini(struct http_answer *answer);

/* printf into a buffer that lives until the next call of its kind from the same thread (four in turn). */
const char *test_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
