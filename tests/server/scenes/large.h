/* Requests that are large enough for the pool, and that do not wait for their answers. For the
 * programs of this folder and of routes: each includes it once. */
#ifndef TEST_SERVER_LARGE_H
#define TEST_SERVER_LARGE_H

#include "tests/server/service.h"

#include <poll.h>

enum { LARGE = 5000 };

/* The text of a commit that puts LARGE boxes, all at one height: each state of the scene has one.
 * Owned by the caller. */
static inline char *large_commit(int height, const char *more)
{
    char *text = malloc((size_t)LARGE * 80 + 1000);
    ck_assert_ptr_nonnull(text);
    char *at = text + snprintf(text, 100, "{\"put\":{");
    for (int i = 0; i < LARGE; i++)
        at += snprintf(at, 80, "%s\"b%d\":{\"center\":[%d,%d,0],\"half_extents\":[0,0,0]}",
                       i > 0 ? "," : "", i, i, height);
    (void)snprintf(at, 500, "}%s}", more);
    return text;
}

/* Sends a request on a connection of its own and does not wait. */
static inline int begin(const char *method, const char *path, const char *body)
{
    char head[512];
    const int s = dial();
    const int length = snprintf(head, sizeof head,
                                "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                                method, path, strlen(body));
    ck_assert_int_eq(send(s, head, (size_t)length, MSG_NOSIGNAL), length);
    for (size_t sent = 0; sent < strlen(body);) {
        const ssize_t n = send(s, body + sent, strlen(body) - sent, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    return s;
}

/* Its status; the answer, cut to size, in *out. */
static inline int end(int s, char *out, size_t size)
{
    size_t length = 0;
    char bytes[65536];
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;) {
        const size_t room = size - 1 - length, kept = (size_t)n < room ? (size_t)n : room;
        memcpy(out + length, bytes, kept);
        length += kept;
    }
    out[length] = '\0';
    close(s);
    return strncmp(out, "HTTP/1.1 ", 9) == 0 ? (int)strtol(out + 9, NULL, 10) : 0;
}

/* Returns a short --request-timeout in milliseconds, in which a machine can make a commit of
 * make_row, however slow it is. */
static inline int short_limit_ms(void) { return 500 + (int)(500 * test_timeout(1)); }

enum { ROW_COMMIT = 2500 }; /* boxes that make_row puts in one commit */

/* Makes a scene of boxes in a row, `step` apart, in commits that are small enough for a short
 * --request-timeout. */
static inline void make_row(const char *scene, int boxes, int step)
{
    char *text = malloc((size_t)ROW_COMMIT * 70 + 100);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < boxes;) {
        const int until = boxes - i < ROW_COMMIT ? boxes : i + ROW_COMMIT;
        char *at = text + snprintf(text, 100, "{\"put\":{");
        for (const char *comma = ""; i < until; i++, comma = ",")
            at += snprintf(at, 70, "%s\"b%d\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}",
                           comma, i, i * step);
        (void)snprintf(at, 3, "}}");
        ck_assert_msg(end(begin("POST", scene, text), heard, 4096) == 200, "%s", heard);
    }
    free(text);
}

#endif
