/* Backups: a copy of the journal in one file, also while a daemon uses it.
 *
 * The database file changes only in checkpoints, and the write-ahead log only grows between them.
 * So the copy is made under a lock of the folder, which keeps checkpoints away and lets commits go
 * on: first the database file, then the log, once more if a log of former times was begun anew
 * meanwhile. Both are then read through and put into one file.
 *
 * Source   SQLite, "WAL-mode File Format": https://sqlite.org/walformat.html. */
#ifndef SRV_BACKUP_H
#define SRV_BACKUP_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the journal of `folder` to `file`, which must not be there; it appears when the copy is
 * whole, with mode 0600. Writes one line: what was copied, or what is wrong; then returns false,
 * and nothing is left. */
bool srv_backup(const char *folder, const char *file, char *line, size_t line_size);

#endif
