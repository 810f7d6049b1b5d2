/* Requests that wait for a state which this process does not have yet, over a log of many
 * processes: a revision that a client has seen at another process, or the newest state of all
 * (`fresh`). Without such a log nobody waits: a revision of the future is gone (410), and what this
 * process has is the newest.
 *
 * A request about a scene that sleeps (srv_journal_asleep) waits likewise, until the scene is held
 * here, before its handler is called.
 *
 * A request that waits holds no worker, no lock and no view, only what it has sent. It is woken by
 * the commit that makes the revision, or by a mark of the log that was read; then its handler is
 * called anew. It is answered with 503 after SRV_AWAIT_MS, at the end of the service, and if too
 * many wait. Those who wait for one scene are in the order of their revisions, so a commit looks at
 * those that it wakes, and at one more.
 *
 * Loop only. */
#ifndef SRV_AWAIT_H
#define SRV_AWAIT_H

#include "server/scenes/services.h"
#include "server/scenes/work.h"
#include "server/scenes/writer.h"

enum {
    SRV_AWAIT_MS = 5000,
    SRV_AWAIT_WAKE_MS = 60000, /* for a scene that sleeps; --request-timeout ends it before */
    SRV_AWAIT_MOST = 4096,     /* requests that wait at a time */
    SRV_AWAIT_BUCKETS = 256
};

struct srv_await;
struct srv_awaited_scene;

/* Zeroed except for the first group. */
struct srv_awaits {
    struct srv_loop *loop;
    struct obb_store *store;
    const struct srv_locks *locks;
    struct obb_budget *budget;   /* the names of scenes that are awaited draw from it */
    struct srv_journal *journal; /* of many processes; NULL: nobody waits */

    struct srv_bell *bell;
    struct srv_timer *timer;
    struct srv_awaited_scene *scenes[SRV_AWAIT_BUCKETS]; /* owned */
    struct srv_await *ready, *last_ready;                /* are called anew in the next turn */
    struct srv_await *first, *last;                      /* all that wait, by their deadlines */
    size_t count;
    bool stopped;
};

/* Returns false without memory. */
bool srv_awaits_init(struct srv_awaits *awaits);

/* Answers all that wait: the service ends. */
void srv_awaits_stop(struct srv_awaits *awaits);

/* No request may wait any more. Zeroes are fine. */
void srv_awaits_fini(struct srv_awaits *awaits);

/* Returns whether somebody waits for a revision of a scene of this name. */
bool srv_awaits_name(struct srv_awaits *awaits, obb_str name);

/* Returns true if the request is about a scene that sleeps: it waits until the scene is held here,
 * and its handler is called then. Also returns true after answering the request if that is not
 * possible at this moment. Otherwise notes that the scene is used. For srv_services.precede. */
bool srv_request_wakes(struct srv_request *request);

/* Does the same for a scene of this name, which the request need not be about. */
bool srv_request_wakes_name(struct srv_request *request, obb_str name);

/* Wakes those whose revision is there. */
srv_write_listener srv_awaits_listener(struct srv_awaits *awaits);

/* Returns true if the request waits until the state of the scene that its path names is as new as
 * `what` says; its handler is called anew then. Also returns true after answering the request if it
 * cannot wait. Of a request without scene only what->fresh counts. */
bool srv_request_awaits(struct srv_request *request, const wire_freshness *what);

/* Does the same for a request that changes the scene: states count, too, that are not durable
 * yet. */
bool srv_change_awaits(struct srv_request *request, const wire_freshness *what);

/* Returns whether a read may wait for its scene, as its query string says: then the scene may be of
 * another epoch at first. */
bool srv_request_may_await(const struct srv_request *request);

/* As srv_path_scene, for a read. The scene is as new as `what` and `at` say, which may be NULL, and
 * its present state is one that If-Match names.
 * Without a log of many processes a revision of the future is a 410. */
struct obb_scene *srv_path_scene_at(struct srv_request *request, const wire_freshness *what,
                                    const obb_at *at);

/* The same for a read of one box, which If-Match is about. */
struct obb_scene *srv_path_box_scene_at(struct srv_request *request, const wire_freshness *what,
                                        const obb_at *at, obb_str box);

#endif
