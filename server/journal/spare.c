#include "server/journal/spare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool srv_spare_make(const char *path, size_t bytes)
{
    struct stat found;
    if (stat(path, &found) == 0 && (size_t)found.st_size >= bytes)
        return true;
    const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    const bool made = posix_fallocate(file, 0, (off_t)bytes) == 0;
    const bool closed = close(file) == 0;
    if (made && closed)
        return true;
    srv_spare_give_up(path);
    return false;
}

void srv_spare_give_up(const char *path) { (void)unlink(path); }
