/* What the handlers and the rooms of server/ work with. server.c fills it at the start and owns
 * everything in it. */
#ifndef SRV_SERVICES_H
#define SRV_SERVICES_H

#include "server/base/config.h"

#include <stdbool.h>

struct obb_budget;
struct obb_store;
struct srv_admit;
struct srv_awaits;
struct srv_events;
struct srv_journal;
struct srv_locks;
struct srv_log;
struct srv_log_streams;
struct srv_metrics;
struct srv_pool;
struct srv_recorder;
struct srv_request;
struct srv_starved;
struct srv_writer;

enum { SRV_SCENE_PART = 2 }; /* the part of a path that names a scene: /v1/scenes/{scene} */

struct srv_services {
    const srv_config *config;      /* every option */
    const struct srv_log *log;     /* where log lines go */
    struct srv_metrics *metrics;   /* what /metrics tells */
    struct obb_budget *budget;     /* of --memory-limit: all that requests take draws from it */
    struct srv_pool *pool;         /* the threads for heavy work */
    struct obb_store *store;       /* all scenes: for finding; only the writer changes it */
    struct srv_locks *locks;       /* which scenes are locked; opens and closes views */
    struct srv_writer *writer;     /* the one door through which the store changes */
    struct srv_events *events;     /* the event streams */
    struct srv_recorder *recorder; /* keeps queries with their answers */
    struct srv_log_streams *logs;  /* the streams of scenes' logs */
    struct srv_starved *starved;   /* answers that wait for memory */
    struct srv_awaits *awaits;     /* requests that wait for states of other processes */
    struct srv_journal *journal;   /* of --data or --journal; NULL: scenes live in memory */
    struct srv_admit *admit;       /* tokens and rates: which requests may go on to their route */
    /* Called before each handler. Returns true if the request waits, after which its handler is
     * called, or was answered. */
    bool (*precede)(struct srv_request *request);
    bool draining;  /* a signal has asked for the end */
    bool restoring; /* the scenes of --data or --journal are not there yet */
};

#endif
