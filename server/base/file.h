/* Small files, read whole. */
#ifndef SRV_FILE_H
#define SRV_FILE_H

#include <stddef.h>

/* The bytes of the file, terminated, owned by the caller (obb_free); NULL: error holds one line that begins with `what`, the option
 * that names it. At most 1 MiB. */
char *srv_file_read(const char *what, const char *path, size_t *out_length, char *error,
                    size_t error_size);

#endif
