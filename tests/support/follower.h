/* Reads an event stream from a connection: removes the chunk heads and returns message by
 * message. */
#ifndef TEST_SUPPORT_FOLLOWER_H
#define TEST_SUPPORT_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>

struct follower {
    int fd;
    char *text; /* the head, later the stream without chunk heads; returned up to `taken` */
    size_t length, capacity, taken;
    size_t searched; /* no message ends before it, or at `taken` */
    enum follower_part { HEAD, SIZE, CHUNK, CHUNK_END, LAST, DONE } part; /* expected next */
    size_t left;                                                          /* bytes of the chunk */
    bool ended; /* in order, with the last chunk */
};

struct follower_message {
    const char *event, *data; /* "": none. Valid until the next call */
    const char *id_text;      /* likewise: "<revision>.<epoch>" */
    long id;                  /* the revision of it; -1: none */
};

/* Sends the GET for `path` on the connection and takes ownership of it. last: the Last-Event-ID, or
 * NULL. */
void follower_open(struct follower *f, int fd, const char *path, const char *last);
void follower_close(struct follower *f);

/* Waits for the head of the answer: then the daemon tells the follower of each later commit. */
void follower_await(struct follower *f);

enum { FOLLOWER_PATIENT = -1 }; /* `ms` for what is sure to come: only the test's limit ends it */

/* Writes the next message, skipping comments. False: the stream ended, or nothing came for `ms`
 * milliseconds. Fails the test if the answer is not an event stream with status 200. */
bool follower_next(struct follower *f, int ms, struct follower_message *out);

#endif
