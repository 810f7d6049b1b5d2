/* Structured log lines: an event and its fields, as text or as JSON. Each line is one write(2). */
#ifndef SRV_LOG_H
#define SRV_LOG_H

#include "core/obb.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum srv_level { SRV_DEBUG, SRV_INFO, SRV_WARN, SRV_ERROR } srv_level;
#define SRV_LEVEL_NAMES "debug", "info", "warn", "error" /* in the order of srv_level */

/* Lines that were dropped because the descriptor had no room for them. */
struct srv_log_dropped {
    _Atomic uint64_t lines;  /* since the start */
    _Atomic uint64_t untold; /* those that no line has told of yet */
};

/* The destination of log lines, and their least level. Copied freely. */
typedef struct srv_log {
    int descriptor;                  /* of srv_log_open, or stderr's; not owned */
    struct srv_log_dropped *dropped; /* not owned; NULL: dropped lines are not counted */
    srv_level level;
    bool json;
} srv_log;

typedef enum srv_field_kind { SRV_FIELD_TEXT, SRV_FIELD_INTEGER, SRV_FIELD_NUMBER } srv_field_kind;
typedef struct srv_field {
    const char *key;
    srv_field_kind kind;
    obb_str text;
    int64_t integer;
    double number;
} srv_field;

static inline srv_field srv_text(const char *key, const char *text)
{
    return (srv_field){.key = key, .kind = SRV_FIELD_TEXT, .text = obb_str_of(text)};
}
static inline srv_field srv_bytes(const char *key, obb_str text)
{
    return (srv_field){.key = key, .kind = SRV_FIELD_TEXT, .text = text};
}
static inline srv_field srv_integer(const char *key, int64_t integer)
{
    return (srv_field){.key = key, .kind = SRV_FIELD_INTEGER, .integer = integer};
}
static inline srv_field srv_number(const char *key, double number)
{
    return (srv_field){.key = key, .kind = SRV_FIELD_NUMBER, .number = number};
}

static inline bool srv_log_wants(const srv_log *log, srv_level level)
{
    return level >= log->level;
}

/* Returns a descriptor for the lines of a log, to be given to srv_log_close: if `descriptor` is a
 * pipe, one of its own, which does not block. (O_NONBLOCK belongs to all processes that share a
 * descriptor.) Otherwise, and if the pipe cannot be opened anew, `descriptor` itself. */
int srv_log_open(int descriptor);
void srv_log_close(int opened, int descriptor);

/* Writes a line if `level` is at least the log's. A field whose key is NULL is left out. Field
 * texts may hold any bytes: all but printable ASCII are escaped, so no client can forge a line.
 * Cuts each text after 512 bytes of the line, with "..." in place of the rest. Cuts the line at
 * about 4 KiB. Safe from any thread.
 *
 * Does not wait for the reader of a pipe: if the pipe is full, the line is dropped and counted, and
 * the next line that finds room stands behind one that says how many were dropped. */
void srv_log_write(const srv_log *log, srv_level level, const char *event, const srv_field *fields,
                   size_t count);

/* Replaces control characters by ?, in messages that quote texts of others. */
void srv_log_one_line(char *text);

/* Writes a line with the given fields: SRV_LOG(log, SRV_INFO, "listening", srv_text("address",
 * "127.0.0.1:7480")); */
#define SRV_LOG(log, level, ...)                                                   \
    do {                                                                           \
        if (srv_log_wants((log), (level)))                                         \
            SRV_LOG_FIELDS((log), (level), __VA_ARGS__, (srv_field){.key = NULL}); \
    } while (0)
#define SRV_LOG_FIELDS(log, level, event, ...)                         \
    srv_log_write((log), (level), (event), (srv_field[]){__VA_ARGS__}, \
                  sizeof(srv_field[]){__VA_ARGS__} / sizeof(srv_field) - 1)

#endif
