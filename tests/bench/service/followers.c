#include "tests/bench/service/followers.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A message begins so. The data of a message has no line feed, so it is in no other place. */
static const char mark[] = "\nevent: boxes\n";
enum { MARK = sizeof mark - 1, BLOCK = 1 << 18 };

struct follower {
    char tail[MARK]; /* of what was read: a mark may begin in it */
    size_t tail_length, messages;
    double bytes;
    bool gone;
};

struct followers {
    size_t count;
    struct pollfd *ready;
    struct follower *list;
    pthread_t thread;
    atomic_bool stopped;
    char block[MARK + BLOCK];
};

static void receive(followers *all, size_t i)
{
    struct follower *f = &all->list[i];
    memcpy(all->block, f->tail, f->tail_length);
    const ssize_t got = read(all->ready[i].fd, all->block + f->tail_length, BLOCK);
    if (got <= 0) {
        f->gone = true;
        all->ready[i].events = 0;
        all->ready[i].fd = -1 - all->ready[i].fd;
        return;
    }
    f->bytes += (double)got;
    const char *at = all->block, *end = all->block + f->tail_length + got;
    for (const char *line; (line = memchr(at, '\n', (size_t)(end - at))) != NULL; at = line + 1) {
        if (end - line < MARK)
            break;
        f->messages += memcmp(line, mark, MARK) == 0;
    }
    /* a mark that is not whole begins in the last bytes */
    f->tail_length = (size_t)(end - all->block) < MARK - 1 ? (size_t)(end - all->block) : MARK - 1;
    memcpy(f->tail, end - f->tail_length, f->tail_length);
}

static void *read_all(void *context)
{
    followers *all = context;
    while (!atomic_load(&all->stopped)) {
        if (poll(all->ready, all->count, 20) <= 0)
            continue;
        for (size_t i = 0; i < all->count; i++)
            if (all->ready[i].revents != 0)
                receive(all, i);
    }
    return NULL;
}

static void release(followers *all)
{
    for (size_t i = 0; i < all->count; i++)
        close(all->list[i].gone ? -1 - all->ready[i].fd : all->ready[i].fd);
    free(all->ready);
    free(all->list);
    free(all);
}

followers *followers_open(const load_address *address, const char *path, size_t count)
{
    char request[256];
    const int length =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    followers *all = calloc(1, sizeof *all);
    if (all == NULL)
        return NULL;
    all->ready = calloc(count, sizeof *all->ready);
    all->list = calloc(count, sizeof *all->list);
    bool good = all->ready != NULL && all->list != NULL;
    for (size_t i = 0; i < count && good; i++) {
        const int fd = socket(address->as.ss_family, SOCK_STREAM, 0);
        good = fd >= 0 &&
               connect(fd, (const struct sockaddr *)&address->as, address->length) == 0 &&
               write(fd, request, (size_t)length) == length;
        if (fd >= 0)
            all->ready[all->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    good = good && pthread_create(&all->thread, NULL, read_all, all) == 0;
    if (good)
        return all;
    release(all);
    return NULL;
}

followers_tally followers_close(followers *all)
{
    atomic_store(&all->stopped, true);
    pthread_join(all->thread, NULL);
    followers_tally tally = {.fewest = SIZE_MAX};
    for (size_t i = 0; i < all->count; i++) {
        const struct follower *f = &all->list[i];
        tally.messages += f->messages;
        tally.fewest = f->messages < tally.fewest ? f->messages : tally.fewest;
        tally.most = f->messages > tally.most ? f->messages : tally.most;
        tally.gone += f->gone;
        tally.bytes += f->bytes;
    }
    release(all);
    return tally;
}
