/* Small files, read whole. */
#ifndef SRV_FILE_H
#define SRV_FILE_H

#include <stddef.h>

/* Reads a regular file of 1 MiB at most. Does not wait: a FIFO or a device is refused unread. what:
 * the option that names the file, for messages. Returns the bytes, terminated by a NUL that
 * *out_length does not count; the caller frees them with obb_free. Returns NULL on failure; error
 * then holds one line that begins with `what`. */
char *srv_file_read(const char *what, const char *path, size_t *out_length, char *error,
                    size_t error_size);

#endif
