/* An event stream read from a connection: taken out of its chunks, message by message. */
#ifndef TEST_SUPPORT_FOLLOWER_H
#define TEST_SUPPORT_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>

struct follower {
    int fd;
    char *
        text; /* the head, later the stream without chunk heads, terminated; messages up to `taken` are given */
    size_t length, capacity, taken;
    enum follower_part { HEAD, SIZE, CHUNK, CHUNK_END, LAST, DONE } part; /* what comes next */
    size_t left;                                                          /* of the chunk */
    bool ended; /* as it should: with the last chunk */
};

struct follower_message {
    const char *event, *data; /* "" where there is none; valid until the next call */
    long id;                  /* -1: none */
};

/* Sends the GET for `path` on the connection, which is the follower's from then on. last: Last-Event-ID, or NULL. */
void follower_open(struct follower *f, int fd, const char *path, const char *last);
void follower_close(struct follower *f);

/* The next message, comments left out; false: the stream ended, or nothing came for `ms`. The test fails when the
 * answer is not 200 and an event stream. */
bool follower_next(struct follower *f, int ms, struct follower_message *out);

#endif
