#include "server/journal/backup.h"

#include "server/journal/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 512, BLOCK = 1 << 16, LOG_HEAD = 32 };

struct backup {
    char from[PATH_SIZE], from_log[PATH_SIZE]; /* journal.db, journal.db-wal */
    char to[PATH_SIZE], to_log[PATH_SIZE];     /* the copy, until it is whole */
    char *line;
    size_t line_size;
};

static bool fail(const struct backup *b, const char *path)
{
    (void)snprintf(b->line, b->line_size, "--backup %s: %s", path, strerror(errno));
    return false;
}

static bool make_path(char out[static PATH_SIZE], const char *folder, const char *name)
{
    const int length = snprintf(out, PATH_SIZE, "%s%s", folder, name);
    errno = ENAMETOOLONG;
    return length > 0 && length < PATH_SIZE;
}

/* Copies what a descriptor holds, from its beginning on. */
static bool copy(int from, int to)
{
    char block[BLOCK];
    off_t at = 0;
    for (ssize_t got; (got = pread(from, block, sizeof block, at)) != 0; at += got) {
        if (got < 0)
            return false;
        for (ssize_t put = 0; put < got;) {
            const ssize_t n = pwrite(to, block + put, (size_t)(got - put), at + put);
            if (n < 0)
                return false;
            put += n;
        }
    }
    return ftruncate(to, at) == 0 && fsync(to) == 0;
}

/* Copies a file into a new one. Returns false with the path at fault. */
static bool copy_file(const char *from, const char *to, const char **out_path)
{
    const int source = open(from, O_RDONLY | O_CLOEXEC);
    *out_path = from;
    if (source < 0)
        return false;
    const int copied = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    *out_path = to;
    bool good = copied >= 0 && copy(source, copied);
    const int error = errno;
    if (copied >= 0)
        good = close(copied) == 0 && good;
    (void)close(source);
    errno = error;
    return good;
}

/* Reads the head of the write-ahead log, which changes when the log begins anew. A log that is not
 * there has a head of zeroes. */
static bool read_head(const struct backup *b, char out[static LOG_HEAD])
{
    memset(out, 0, LOG_HEAD);
    const int file = open(b->from_log, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    const bool good = pread(file, out, LOG_HEAD, 0) >= 0;
    (void)close(file);
    return good;
}

/* Copies the log, as it was at one moment. It may begin anew once: nobody can checkpoint. */
static bool copy_log(const struct backup *b)
{
    char before[LOG_HEAD], after[LOG_HEAD];
    const char *path = b->from_log;
    for (int turns = 0; turns < 3; turns++) {
        (void)unlink(b->to_log);
        if (!read_head(b, before))
            return fail(b, path);
        if (!copy_file(b->from_log, b->to_log, &path) && (errno != ENOENT || path != b->from_log))
            return fail(b, path);
        if (!read_head(b, after))
            return fail(b, path);
        if (memcmp(before, after, sizeof before) == 0)
            return true;
    }
    errno = EBUSY;
    return fail(b, path);
}

static bool copy_both(const struct backup *b, const char *folder)
{
    const char *path;
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return fail(b, folder);
    bool good = flock(lock, LOCK_SH) == 0 || fail(b, folder); /* waits for a checkpoint */
    if (good && !copy_file(b->from, b->to, &path))
        good = fail(b, path);
    good = good && copy_log(b);
    (void)close(lock);
    return good;
}

/* Puts the copy in its place, if nothing has come there meanwhile. */
static bool put_in_place(const struct backup *b, const char *file)
{
    struct stat found;
    const int copied = open(b->to, O_RDONLY | O_CLOEXEC);
    if (copied < 0 || fsync(copied) != 0 || fstat(copied, &found) != 0 || link(b->to, file) != 0) {
        if (copied >= 0)
            (void)close(copied);
        return fail(b, file);
    }
    (void)close(copied);
    (void)snprintf(b->line, b->line_size, "%s is a copy of %s: %lld bytes", file, b->from,
                   (long long)found.st_size);
    return true;
}

bool srv_backup(const char *folder, const char *file, char *line, size_t line_size)
{
    struct backup b = {.line = line};
    struct stat found;
    b.line_size = line_size;
    if (!make_path(b.from, folder, "/journal.db") ||
        !make_path(b.from_log, folder, "/journal.db-wal") || !make_path(b.to, file, ".part") ||
        !make_path(b.to_log, file, ".part-wal"))
        return fail(&b, file);
    errno = EEXIST;
    if (lstat(file, &found) == 0)
        return fail(&b, file);
    (void)unlink(b.to); /* of a backup that was killed */
    (void)unlink(b.to_log);
    const bool good =
        copy_both(&b, folder) && srv_sqlite_seal(b.to, line, line_size) && put_in_place(&b, file);
    (void)unlink(b.to);
    (void)unlink(b.to_log);
    return good;
}
