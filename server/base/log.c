#include "server/base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE = 4096,
    TAIL = 8,  /* bytes that are kept for the end of the line */
    TEXT = 512 /* the most bytes of a text as it is written; a line has room for seven of these */
};

static_assert(LINE <= PIPE_BUF, "a pipe takes each line whole");

static const char cut[] = "..."; /* stands for the rest of a text */

struct line {
    char bytes[LINE];
    size_t length;
};

static bool add(struct line *to, const char *bytes, size_t length)
{
    if (length > LINE - TAIL - to->length)
        return false;
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return true;
}

static void add_text(struct line *to, const char *text) { (void)add(to, text, strlen(text)); }

/* Escapes as in JSON; bytes beyond ASCII become \u00XX each, which keeps the line ASCII whatever
 * was sent. */
static void add_quoted(struct line *to, obb_str text)
{
    add_text(to, "\"");
    const size_t begin = to->length;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        char escaped[8];
        size_t length = 1;
        escaped[0] = (char)c;
        if (c == '"' || c == '\\') {
            escaped[0] = '\\';
            escaped[1] = (char)c;
            length = 2;
        } else if (c < 0x20 || c > 0x7e) {
            length = (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c);
        }
        if (to->length - begin + length > TEXT) {
            add_text(to, cut);
            break;
        }
        if (!add(to, escaped, length))
            break;
    }
    to->bytes[to->length++] = '"'; /* there is always room: see TAIL */
}

static void add_plain(struct line *to, obb_str text)
{
    (void)add(to, text.bytes, text.length < TEXT ? text.length : TEXT);
    if (text.length > TEXT)
        add_text(to, cut);
}

static bool plain(obb_str text)
{
    if (text.length == 0)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        if (c <= 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return true;
}

static void add_value(struct line *to, const srv_field *field, bool json)
{
    char number[32];
    switch (field->kind) {
    case SRV_FIELD_TEXT:
        if (!json && plain(field->text))
            add_plain(to, field->text);
        else
            add_quoted(to, field->text);
        break;
    case SRV_FIELD_INTEGER:
        (void)snprintf(number, sizeof number, "%lld", (long long)field->integer);
        add_text(to, number);
        break;
    case SRV_FIELD_NUMBER:
        (void)snprintf(number, sizeof number, "%.6g", field->number);
        add_text(to, number);
        break;
    }
}

void srv_log_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

int srv_log_open(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISFIFO(about.st_mode))
        return descriptor;
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    const int opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return opened >= 0 ? opened : descriptor;
}

void srv_log_close(int opened, int descriptor)
{
    if (opened != descriptor)
        (void)close(opened);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void compose(const srv_log *log, srv_level level, const char *event, const srv_field *fields,
                    size_t count, struct line *out)
{
    static const char *const levels[] = {SRV_LEVEL_NAMES};
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    char stamp[40];
    const size_t date = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(stamp + date, sizeof stamp - date, ".%03dZ", (int)(now.tv_nsec / 1000000));

    out->length = 0;
    add_text(out, log->json ? "{\"time\":\"" : "");
    add_text(out, stamp);
    add_text(out, log->json ? "\",\"level\":\"" : " ");
    add_text(out, levels[level]);
    add_text(out, log->json ? "\",\"event\":" : " ");
    if (log->json)
        add_quoted(out, obb_str_of(event));
    else
        add_text(out, event);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].key == NULL)
            continue;
        const size_t before = out->length;
        add_text(out, log->json ? ",\"" : " ");
        add_text(out, fields[i].key);
        add_text(out, log->json ? "\":" : "=");
        add_value(out, &fields[i], log->json);
        if (out->length >
            LINE - TAIL - 64) { /* nearly full: this field may be cut, so it is left out */
            out->length = before;
            break;
        }
    }
    if (log->json)
        out->bytes[out->length++] = '}';
    out->bytes[out->length++] = '\n';
}

/* Linux calls a pipe writable if it has a page to spare, and then the whole line fits. Files are
 * always writable. */
static bool has_room(const srv_log *log)
{
    struct pollfd at = {.fd = log->descriptor, .events = POLLOUT};
    return poll(&at, 1, 0) != 0;
}

static void drop(struct srv_log_dropped *dropped)
{
    if (dropped == NULL)
        return;
    atomic_fetch_add(&dropped->lines, 1);
    atomic_fetch_add(&dropped->untold, 1);
}

/* Says how many lines were dropped since this was last said. There is room. */
static void tell_dropped(const srv_log *log)
{
    const uint64_t lines = log->dropped != NULL ? atomic_exchange(&log->dropped->untold, 0) : 0;
    const srv_log plain = {.descriptor = log->descriptor, .level = SRV_WARN, .json = log->json};
    if (lines != 0)
        SRV_LOG(&plain, SRV_WARN, "log-dropped", srv_integer("lines", (int64_t)lines));
}

void srv_log_write(const srv_log *log, srv_level level, const char *event, const srv_field *fields,
                   size_t count)
{
    if (!srv_log_wants(log, level))
        return;
    if (has_room(log))
        tell_dropped(log);
    if (!has_room(log)) {
        drop(log->dropped);
        return;
    }
    struct line out;
    compose(log, level, event, fields, count, &out);
    size_t written = 0;
    while (written < out.length) {
        const ssize_t n = write(log->descriptor, out.bytes + written, out.length - written);
        if (n < 0 && errno == EAGAIN) /* somebody else has taken the room */
            drop(log->dropped);
        if (n <= 0)
            return; /* the log is broken, and there is no other place to say so */
        written += (size_t)n;
    }
}
