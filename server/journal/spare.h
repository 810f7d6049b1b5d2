/* The spare file: room on the disk that is held for the moment when the disk is full. Without it a
 * full database cannot even delete. */
#ifndef SRV_SPARE_H
#define SRV_SPARE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the file `path` with `bytes` of the disk behind it, if it is not there. Returns false if
 * the disk has no room, or for any other error; the file is then not there. */
bool srv_spare_make(const char *path, size_t bytes);

/* Gives the room back. */
void srv_spare_give_up(const char *path);

#endif
