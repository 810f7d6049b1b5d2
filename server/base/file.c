#include "server/base/file.h"

#include "core/obb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 20 };

/* Reads up to `size` bytes. Returns their number, or -1. */
static ssize_t read_all(int file, char *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t n = read(file, bytes + length, size - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        length += (size_t)n;
    }
    return (ssize_t)length;
}

/* Reads the open file. Returns NULL on failure; *reason then says why. */
static char *read_open(int file, size_t *out_length, const char **reason)
{
    struct stat about;
    if (fstat(file, &about) != 0) {
        *reason = strerror(errno);
        return NULL;
    }
    if (!S_ISREG(about.st_mode)) {
        *reason = S_ISDIR(about.st_mode) ? strerror(EISDIR) : "is not a regular file";
        return NULL;
    }
    char *bytes = obb_malloc(LARGEST + 2, 1);
    const ssize_t length = bytes != NULL ? read_all(file, bytes, LARGEST + 1) : -1;
    if (length >= 0 && length <= LARGEST) {
        bytes[length] = '\0';
        *out_length = (size_t)length;
        return bytes;
    }
    *reason = bytes == NULL ? "there is not enough memory"
              : length < 0  ? strerror(errno)
                            : "is longer than 1 MiB";
    obb_free(bytes);
    return NULL;
}

char *srv_file_read(const char *what, const char *path, size_t *out_length, char *error,
                    size_t error_size)
{
    /* without O_NONBLOCK, to open a FIFO would wait for a writer */
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const char *reason = file < 0 ? strerror(errno) : NULL;
    char *bytes = file >= 0 ? read_open(file, out_length, &reason) : NULL;
    if (bytes == NULL)
        (void)snprintf(error, error_size, "%s %.200s: %s", what, path, reason);
    if (file >= 0)
        (void)close(file);
    return bytes;
}
