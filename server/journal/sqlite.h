/* The journal in a SQLite database: DIR/journal.db, and its write-ahead log. Only sqlite.c knows
 * SQLite.
 *
 * Each row carries a keyed sum of itself, and a record's sum continues that of the record before
 * it. So a file that was cut or changed is either found to be damaged, or holds the beginning of
 * the log as it was written.
 *
 * Source   SQLite, "Write-Ahead Logging", "Atomic Commit In SQLite": https://sqlite.org/wal.html,
 *          https://sqlite.org/atomiccommit.html. */
#ifndef SRV_SQLITE_H
#define SRV_SQLITE_H

#include "server/journal/backend.h"

/* Opens the journal in the folder `dir`, which is made if it is not there (mode 0700), and locks
 * it: a second process is refused. If the disk is full, the back end opens all the same, and
 * backend->trouble says so. Returns false on any other error; error then holds one line. The caller
 * loads the back end, and gives it to a journal or closes it. */
bool srv_sqlite_open(const char *dir, struct srv_backend **out, char *error, size_t error_size);

/* Shows the visitor all that counts. Called once, before the first entry is added. Returns false
 * if the journal is damaged or the visitor stops; error then holds one line. Cost: one pass over
 * the files. */
bool srv_sqlite_load(struct srv_backend *backend, const struct srv_backend_visitor *visitor,
                     char *error, size_t error_size);

/* Looks at every page of the files for damage that loading may not meet. Returns false with one
 * line in error. */
bool srv_sqlite_check(struct srv_backend *backend, char *error, size_t error_size);

/* Reads a copy of a database through, with the write-ahead log beside it, compares every sum, and
 * puts both into one file. Returns false if it is not whole; error then holds one line. */
bool srv_sqlite_seal(const char *path, char *error, size_t error_size);

#endif
