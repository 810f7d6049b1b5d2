/* Clients that write to one scene of a cluster at once. Each commit has an id and puts a box of
 * its own. Its writer sends it until it is acknowledged, and to another node if one ends. So each
 * commit makes one revision, and the revisions that were acknowledged are all from the first one
 * on, each once. */
#ifndef TEST_SUPPORT_WRITERS_H
#define TEST_SUPPORT_WRITERS_H

#include "tests/support/cluster.h"

#include <pthread.h>

struct test_writers;

struct test_writer {
    struct test_writers *all;
    pthread_t thread;
    size_t number;
    struct test_caller caller;
    size_t repeated, refused, broken;
    double longest;      /* seconds from the first attempt of a commit to its acknowledgement */
    uint64_t *revisions; /* of its commits, as acknowledged */
};

/* Zeroed except for the first group. */
struct test_writers {
    struct test_cluster *cluster;
    size_t nodes; /* they write to the first ones */
    const char *scene;
    size_t count;
    size_t commits;        /* of each */
    atomic_size_t allowed; /* no more are begun, about; at first as many as the caller says */

    atomic_size_t acknowledged;
    /* After writers_join. */
    size_t repeated, refused, broken; /* answers */
    double longest;
    struct test_writer *writers;
};

/* The scene must be there, and have revision 0. */
void writers_start(struct test_writers *all);

/* Allows more commits, and waits until so many are acknowledged. */
void writers_wait(struct test_writers *all, size_t count, size_t then_allowed);

/* Waits until all are acknowledged. Returns how many revisions were acknowledged for no commit, or
 * for several. */
size_t writers_join(struct test_writers *all);

/* After that: waits until each node that runs has the last revision of the scene. Returns how many
 * of them have another number of boxes, or show another picture than the first one. */
size_t writers_different(const struct test_writers *all);

#endif
