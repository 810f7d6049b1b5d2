/* Daemons over one log: servers of NATS, and nodes, which are daemons with --journal. All are child
 * processes on loopback. A function that meets an error of its own fails the test.
 *
 * One thread starts and ends them. Callers may work on other threads meanwhile. */
#ifndef TEST_SUPPORT_CLUSTER_H
#define TEST_SUPPORT_CLUSTER_H

#include "tests/support/daemon.h"
#include "tests/support/nats.h"

#include <stdatomic.h>
#include <stdint.h>

enum { CLUSTER_SERVERS = 3, CLUSTER_NODES = 3 };

struct test_node {
    struct test_daemon obbd;
    struct http_client *client;
    bool runs;
    atomic_int port; /* for callers; 0: it does not run */
};

struct test_cluster {
    struct test_nats servers[CLUSTER_SERVERS];
    size_t server_count;
    struct test_node nodes[CLUSTER_NODES];
    const char
        *idle; /* seconds: --journal-idle; requests then take half a second. NULL: as usual */
};

/* Starts one server, or three that keep the log on each of them. No node runs yet. */
void cluster_init(struct test_cluster *cluster, size_t servers);

/* Ends all that runs and removes the log. Each node must end with status 0. */
void cluster_fini(struct test_cluster *cluster);

/* cluster_start waits until the node is ready, cluster_launch only until it listens. */
void cluster_start(struct test_cluster *cluster, size_t node);
void cluster_launch(struct test_cluster *cluster, size_t node);

/* Ends a node in order; cluster_kill does so with SIGKILL. */
void cluster_stop(struct test_cluster *cluster, size_t node);
void cluster_kill(struct test_cluster *cluster, size_t node);

/* Waits until a node answers a GET with this status. */
void cluster_wait(struct test_cluster *cluster, size_t node, const char *path, long status);

/* Returns an integer that the node says of the scene, or -1. */
int64_t cluster_number(struct test_cluster *cluster, size_t node, const char *scene,
                       const char *member);

/* Waits until the node says that of the scene. */
void cluster_wait_number(struct test_cluster *cluster, size_t node, const char *scene,
                         const char *member, int64_t value);

/* Returns all that can be read of a scene: its states by their hashes, and its boxes. The caller
 * owns it. */
char *cluster_picture(struct test_cluster *cluster, size_t node, const char *scene);

/* Returns how many nodes that run show another picture of the scene than the first one. */
size_t cluster_different(struct test_cluster *cluster, const char *scene);

/* Returns a metric without labels. */
double cluster_metric(struct test_cluster *cluster, size_t node, const char *name);

/* A client of one node at a time. If the node ends, the next call goes to another one. Zeroed
 * except for the first group, and fd -1. One thread at a time. */
struct test_caller {
    struct test_cluster *cluster;
    size_t nodes; /* it calls the first ones */
    size_t at;    /* the node that it calls first */
    int fd;
};

/* Sends a request, and reads the answer with its head. Waits until a node runs. Returns the status;
 * 0: the connection broke, and whether the node did it is unknown. */
int caller_exchange(struct test_caller *caller, const char *request, char *answer, size_t size);
void caller_close(struct test_caller *caller);

#endif
