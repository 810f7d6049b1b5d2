#include "tests/support/follower.h"

#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void follower_open(struct follower *f, int fd, const char *path, const char *last)
{
    *f = (struct follower){.fd = fd};
    ck_assert_int_ge(fd, 0);
    dial_send(fd, test_text("GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n", path,
                            last != NULL ? "Last-Event-ID: " : "", last != NULL ? last : "",
                            last != NULL ? "\r\n" : ""));
}

void follower_close(struct follower *f)
{
    close(f->fd);
    free(f->text);
    *f = (struct follower){.fd = -1};
}

static void append(struct follower *f, const char *bytes, size_t count)
{
    if (f->length + count >= f->capacity) {
        f->capacity = (f->length + count + 4096) * 2;
        f->text = realloc(f->text, f->capacity);
        ck_assert_ptr_nonnull(f->text);
    }
    memcpy(f->text + f->length, bytes, count);
    f->length += count;
    f->text[f->length] = '\0';
}

static void receive(struct follower *f, const char *at, const char *end)
{
    while (at < end) {
        switch (f->part) {
        case HEAD:
            append(f, at++, 1);
            if (f->length >= 4 && strcmp(f->text + f->length - 4, "\r\n\r\n") == 0) {
                ck_assert_msg(strncmp(f->text, "HTTP/1.1 200", 12) == 0 &&
                                  strstr(f->text, "text/event-stream") != NULL,
                              "%s", f->text);
                f->length = 0;
                f->part = SIZE;
            }
            break;
        case SIZE: {
            static const char digits[] = "0123456789abcdef";
            const char byte = *at++, *digit = strchr(digits, byte | 0x20);
            if (byte == '\n')
                f->part = f->left > 0 ? CHUNK : LAST;
            else if (byte != '\r')
                f->left = f->left * 16 + (size_t)(digit - digits);
            break;
        }
        case CHUNK: {
            const size_t here = (size_t)(end - at), size = here < f->left ? here : f->left;
            append(f, at, size);
            at += size;
            f->left -= size;
            if (f->left == 0)
                f->part = CHUNK_END;
            break;
        }
        case CHUNK_END:
        case LAST:
            if (*at++ == '\n') {
                f->ended = f->part == LAST;
                f->part = f->ended ? DONE : SIZE;
            }
            break;
        case DONE:
            ck_abort_msg("%zu bytes behind the end of the stream", (size_t)(end - at));
        }
    }
}

/* A whole message that is there, as lines of text; false: it is a comment. */
static bool read_message(char *lines, struct follower_message *out)
{
    *out = (struct follower_message){.event = "", .data = "", .id_text = "", .id = -1};
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "id: ", 4) == 0)
            out->id = strtol(out->id_text = line + 4, NULL, 10);
        else if (strncmp(line, "event: ", 7) == 0)
            out->event = line + 7;
        else if (strncmp(line, "data: ", 6) == 0)
            out->data = line + 6;
        else
            ck_assert_msg(line[0] == ':', "%s", line);
    }
    return out->event[0] != '\0';
}

/* Reads what comes. Returns false if the stream ended, or nothing came for `ms` milliseconds. */
static bool read_some(struct follower *f, int ms)
{
    struct pollfd ready = {.fd = f->fd, .events = POLLIN};
    if (poll(&ready, 1, ms) <= 0)
        return false;
    char bytes[16384];
    const ssize_t n = recv(f->fd, bytes, sizeof bytes, 0);
    if (n > 0)
        receive(f, bytes, bytes + n);
    return n > 0;
}

void follower_await(struct follower *f)
{
    while (f->part == HEAD)
        ck_assert_msg(read_some(f, FOLLOWER_PATIENT), "no answer came: %s", f->text);
}

/* Returns the end of the message that begins at `taken`, or NULL if it has not come. Looks at each
 * byte once, however many reads the message takes. */
static char *end_of_message(struct follower *f)
{
    if (f->part == HEAD || f->length == f->taken)
        return NULL;
    char *end = strstr(f->text + f->searched, "\n\n");
    f->searched = end != NULL ? (size_t)(end + 2 - f->text) : f->length - 1;
    return end;
}

bool follower_next(struct follower *f, int ms, struct follower_message *out)
{
    for (;;) {
        for (char *end; (end = end_of_message(f)) != NULL;) {
            char *lines = f->text + f->taken;
            *end = '\0';
            f->taken = (size_t)(end + 2 - f->text);
            if (read_message(lines, out))
                return true;
        }
        if (f->ended)
            return false;
        if (f->taken > 0) {
            f->length -= f->taken;
            f->searched -= f->taken;
            memmove(f->text, f->text + f->taken, f->length + 1);
            f->taken = 0;
        }
        if (!read_some(f, ms))
            return false;
    }
}
