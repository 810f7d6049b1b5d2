/* The real daemon as a child process on a free port of loopback, and an HTTP client for it, for
 * end-to-end tests. A function that meets an error of its own fails the test. */
#ifndef TEST_SUPPORT_DAEMON_H
#define TEST_SUPPORT_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct test_daemon {
    pid_t pid;     /* the child, to be signalled and waited for */
    pid_t process; /* the process that listens; in a container another one. 0: unknown */
    int out;       /* its stdout */
    char url[128]; /* "http://127.0.0.1:PORT" */
    int port;
    char said[4096]; /* its output up to and including the ready line */
};

/* Starts the program that the environment variable OBBD names (by default build/obbd) with
 * `--listen 127.0.0.1:0` and the further arguments (NULL-terminated, or NULL). Waits for its ready
 * line; fails the test if the line does not come. */
void daemon_start(struct test_daemon *daemon, const char *const *arguments);

/* Sends SIGTERM and returns the exit status. If the daemon has not ended after ten seconds, kills
 * it and returns -1. */
int daemon_stop(struct test_daemon *daemon);

/* Does the same without a signal: the daemon is about to end by itself. */
int daemon_end(struct test_daemon *daemon);

/* Runs the daemon with only these arguments until it ends by itself. Returns its exit status;
 * writes its output and errors, terminated and cut to size. */
int daemon_run(const char *const *arguments, char *out, size_t out_size, char *err,
               size_t err_size);

/* Returns a line of the daemon's /proc/PID/status in MiB: VmRSS (now) or VmHWM (the most so
 * far). */
double daemon_memory_mib(const struct test_daemon *daemon, const char *what);

/* Returns whether the daemon has loaded a library whose name contains the word. False if that
 * cannot be read, as of a daemon in a container. */
bool daemon_loads(const struct test_daemon *daemon, const char *word);

/* Returns whether these lines tell what the daemon uses. With a sanitizer they do not: what is
 * freed is kept for a while, or has a shadow that is resident, too. */
bool daemon_memory_tells(const struct test_daemon *daemon);

/* daemon_dial opens a connection for raw bytes; -1: the daemon accepts no more. dial_send sends all
 * of the text. */
int daemon_dial(const struct test_daemon *daemon);
void dial_send(int fd, const char *text);

/* Sends a request over such a connection and reads the answer, which has a length. Returns its
 * status, and its head and body; 0: the connection broke. */
int dial_exchange(int fd, const char *request, char *answer, size_t size);

/* Reads the answer to a request that was sent. Returns as dial_exchange. */
int dial_receive(int fd, char *answer, size_t size);

/* The answer of one exchange. Strings are terminated and owned by the answer. */
struct http_answer {
    long status;
    char *head; /* all header lines */
    char *body;
    size_t length;
    double seconds;
};

/* A client keeps its connection. One thread at a time may use it. */
struct http_client;
struct http_client *http_open(const char *url);
void http_close(struct http_client *client);

/* Sends a request and waits for its answer.
 *
 * headers  NULL, or a NULL-terminated list of "Name: value". With a body and no Content-Type in the
 *          list, the client sends that of JSON.
 * body     NULL: none.
 * out      replaced; the strings that it held are freed, so it starts as zeroes.
 *
 * Every answer is checked against the published schema (tests/support/schema.h); an answer that
 * does not fit fails the test. */
void http_send(struct http_client *client, const char *method, const char *path,
               const char *const *headers, const char *body, struct http_answer *out);

/* Does the same with a body of any bytes. */
void http_send_bytes(struct http_client *client, const char *method, const char *path,
                     const char *const *headers, const char *body, size_t body_length,
                     struct http_answer *out);

/* Returns the value of a header, valid until the next call. NULL: the answer does not have it. */
const char *http_header(struct http_answer *answer, const char *name);
void http_answer_fini(struct http_answer *answer);

/* Formats into one of four buffers of this thread, used in turn: the text is valid until the fourth
 * call after. */
const char *test_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
