/* A file system for SQLite whose n-th write, sync or truncation fails. It stands on SQLite's own.
 * For the programs of this folder: each includes it once. */
#ifndef TEST_FAULTY_VFS_H
#define TEST_FAULTY_VFS_H

#include "tests/support/test.h"

#include <sqlite3.h>
#include <string.h>

enum faulty_call { FAULTY_WRITE, FAULTY_SYNC, FAULTY_TRUNCATE, FAULTY_CALLS };

static struct {
    sqlite3_vfs vfs, *below;
    enum faulty_call call;
    size_t fails_at, seen; /* 0: none fails */
    size_t times;          /* so many calls fail in a row */
    int result;
} faulty;

struct faulty_file {
    sqlite3_file file; /* first */
    sqlite3_file *below;
};

static sqlite3_file *below(sqlite3_file *file) { return ((struct faulty_file *)file)->below; }

static bool fails(enum faulty_call call)
{
    if (faulty.fails_at == 0 || call != faulty.call)
        return false;
    faulty.seen++;
    return faulty.seen >= faulty.fails_at && faulty.seen < faulty.fails_at + faulty.times;
}

static int faulty_close(sqlite3_file *file)
{
    const int result = below(file)->pMethods->xClose(below(file));
    sqlite3_free(below(file));
    return result;
}

static int faulty_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    return below(file)->pMethods->xRead(below(file), out, n, at);
}

static int faulty_write(sqlite3_file *file, const void *in, int n, sqlite3_int64 at)
{
    if (fails(FAULTY_WRITE)) {
        if (n > 1) /* a part was written */
            (void)below(file)->pMethods->xWrite(below(file), in, n / 2, at);
        return faulty.result;
    }
    return below(file)->pMethods->xWrite(below(file), in, n, at);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails(FAULTY_TRUNCATE) ? faulty.result
                                  : below(file)->pMethods->xTruncate(below(file), size);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    return fails(FAULTY_SYNC) ? SQLITE_IOERR_FSYNC
                              : below(file)->pMethods->xSync(below(file), flags);
}

static int faulty_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return below(file)->pMethods->xFileSize(below(file), out);
}

static int faulty_lock(sqlite3_file *file, int lock)
{
    return below(file)->pMethods->xLock(below(file), lock);
}

static int faulty_unlock(sqlite3_file *file, int lock)
{
    return below(file)->pMethods->xUnlock(below(file), lock);
}

static int faulty_reserved(sqlite3_file *file, int *out)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), out);
}

static int faulty_control(sqlite3_file *file, int what, void *argument)
{
    return below(file)->pMethods->xFileControl(below(file), what, argument);
}

static int faulty_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int faulty_traits(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

/* Version 1: without shared memory, which an exclusive connection does not need. */
static const sqlite3_io_methods faulty_methods = {.iVersion = 1,
                                                  .xClose = faulty_close,
                                                  .xRead = faulty_read,
                                                  .xWrite = faulty_write,
                                                  .xTruncate = faulty_truncate,
                                                  .xSync = faulty_sync,
                                                  .xFileSize = faulty_size,
                                                  .xLock = faulty_lock,
                                                  .xUnlock = faulty_unlock,
                                                  .xCheckReservedLock = faulty_reserved,
                                                  .xFileControl = faulty_control,
                                                  .xSectorSize = faulty_sector,
                                                  .xDeviceCharacteristics = faulty_traits};

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct faulty_file *f = (struct faulty_file *)file;
    (void)vfs;
    f->file.pMethods = NULL;
    f->below = sqlite3_malloc(faulty.below->szOsFile);
    if (f->below == NULL)
        return SQLITE_NOMEM;
    memset(f->below, 0, (size_t)faulty.below->szOsFile);
    const int result = faulty.below->xOpen(faulty.below, name, f->below, flags, out);
    if (result == SQLITE_OK)
        f->file.pMethods = &faulty_methods;
    else
        sqlite3_free(f->below);
    return result;
}

/* Makes the file system SQLite's default one. */
static inline void faulty_begin(void)
{
    faulty.below = sqlite3_vfs_find(NULL);
    faulty.vfs = *faulty.below;
    faulty.vfs.szOsFile = (int)sizeof(struct faulty_file);
    faulty.vfs.zName = "faulty";
    faulty.vfs.pNext = NULL;
    faulty.vfs.xOpen = faulty_open;
    faulty.fails_at = 0;
    ck_assert_int_eq(sqlite3_vfs_register(&faulty.vfs, 1), SQLITE_OK);
}

static inline void faulty_end(void)
{
    ck_assert_int_eq(sqlite3_vfs_unregister(&faulty.vfs), SQLITE_OK);
}

/* Lets the n-th call of that kind from now fail, and so many behind it. 0: none fails. */
static inline void faulty_arm(enum faulty_call call, size_t n, size_t times, int result)
{
    faulty.call = call;
    faulty.fails_at = n;
    faulty.times = times;
    faulty.seen = 0;
    faulty.result = result;
}

#endif
