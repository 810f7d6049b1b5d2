#include "server/base/file.h"

#include "core/obb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20 };

char *srv_file_read(const char *what, const char *path, size_t *out_length, char *error,
                    size_t error_size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = file != NULL ? obb_malloc(LARGEST + 2, 1) : NULL;
    if (bytes == NULL) {
        (void)snprintf(error, error_size, "%s %.200s: %s", what, path, strerror(errno));
        if (file != NULL)
            (void)fclose(file);
        return NULL;
    }
    errno = 0;
    const size_t length = fread(bytes, 1, LARGEST + 1, file);
    const int reason = ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (reason == 0 && length <= LARGEST) {
        bytes[length] = '\0';
        *out_length = length;
        return bytes;
    }
    (void)snprintf(error, error_size, "%s %.200s: %s", what, path,
                   reason != 0 ? strerror(reason) : "is longer than 1 MiB");
    obb_free(bytes);
    return NULL;
}
