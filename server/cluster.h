/* The log of --journal, which many daemons share: this one follows it from its beginning, or from
 * snapshots on, and takes part in it. On the loop's thread. */
#ifndef SRV_CLUSTER_H
#define SRV_CLUSTER_H

#include "server/base/config.h"
#include "server/scenes/services.h"
#include "server/scenes/writer.h"

struct srv_cluster;

typedef struct srv_cluster_options {
    const srv_config *config; /* the options that begin with --journal */
    struct srv_loop *loop;
    struct srv_writer *writer; /* whose tails are set */
    struct srv_awaits *awaits;
    const struct srv_log *log;
    void (*ready)(void *context);  /* all is there that was in the log at the beginning */
    void (*failed)(void *context); /* it cannot go on: srv_cluster_error says why */
    void *context;
} srv_cluster_options;

/* Opens the client library and the files of the options. Returns false with one line in error. */
bool srv_cluster_open(const srv_cluster_options *options, struct srv_cluster **out, char *error,
                      size_t error_size);

/* Begins to follow the log, whenever its servers can be reached. Scenes come through the writer
 * from now on. Returns false without memory or threads. */
bool srv_cluster_begin(struct srv_cluster *cluster);

/* The service ends: whatever waits for the log is given up soon. */
void srv_cluster_stop(struct srv_cluster *cluster);

/* No entry may be unsettled, and no record be on its way. Accepts NULL. */
void srv_cluster_destroy(struct srv_cluster *cluster);

/* Returns NULL before srv_cluster_begin. */
struct srv_journal *srv_cluster_journal(const struct srv_cluster *cluster);

/* Returns one line after `failed` was called. */
const char *srv_cluster_error(const struct srv_cluster *cluster);

#endif
