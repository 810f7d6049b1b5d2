/* What the soak programs share: connections to the daemon that behave well or badly, scenes of
 * boxes, and order statistics. */
#ifndef SOAK_PEER_H
#define SOAK_PEER_H

#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns monotonic seconds. */
double peer_seconds(void);

/* Returns SECONDS of the environment, 60 if it is absent. Fails the test if it is not in
 * least..most. */
size_t peer_run_seconds(size_t least, size_t most);

/* Opens a blocking connection to the daemon's port on loopback. If `narrow`, the receive buffer is
 * as small as the system allows, so that the daemon notices a slow reader early. Returns the
 * descriptor, or -1 if the daemon takes no connection. */
int peer_connect(int port, bool narrow);

/* Closes the connection. If `reset`, with a reset, which drops what is still to be sent. */
void peer_close(int fd, bool reset);

/* Sends one whole request over a blocking connection and reads the answer, terminated, into the
 * room. The answer must have a Content-Length and fit. Returns its status, or 0 if the connection
 * ends or stays silent for 30 s. */
int peer_exchange(int fd, const char *request, size_t length, char *answer, size_t room);

/* Makes the scene in commits of 1,000: boxes "b00000", "b00001", … of half extent 1 with some
 * `data`, their centres random in a square (3-D: at height 0) from -half_width to half_width. */
void peer_put_boxes(struct http_client *client, const char *scene, int dimensions, int count,
                    double half_width, test_rng *rng);

/* Sorts the values and returns the one below which this share of them lies (1: the largest); 0 if
 * there are none. */
double peer_quantile(double *values, size_t count, double share);

#endif
