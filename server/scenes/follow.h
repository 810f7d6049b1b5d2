/* Following: the records of other processes, applied through the writer. Loop only. */
#ifndef SRV_FOLLOW_H
#define SRV_FOLLOW_H

#include "server/journal/shared.h"
#include "server/scenes/writer.h"

struct srv_following;

/* Zeroed except for the first group. */
struct srv_follower {
    struct srv_writer *writer;
    struct srv_loop *loop;
    struct srv_drain *drain; /* held while a record is being applied */
    /* A record cannot be applied, for another reason than want of memory, and its scene cannot be
     * loaded again. */
    void (*lost)(void *context, const char *why);
    void *context;

    struct srv_journal *journal; /* set once it is created: hears what is applied */
    struct srv_bell *bell;
    struct srv_timer *timer;
    struct srv_following *ended, *retried; /* owned: lists of them */
    bool stopped;
};

/* Makes ready to follow. Returns false without memory. */
bool srv_follower_init(struct srv_follower *follower);

/* Gives up what is tried again. For the end of the service. */
void srv_follower_stop(struct srv_follower *follower);

/* Nothing is being applied any more. Zeroes are fine. */
void srv_follower_fini(struct srv_follower *follower);

/* Applies a record, or loads a snapshot, as srv_shared_options.foreign. If there is no memory, it
 * is tried again a little later. A snapshot that is damaged is refused (srv_shared_refused), and so
 * is a record that does not fit the scene (srv_shared_differs). */
void srv_follow(struct srv_follower *follower, const srv_foreign *record);

#endif
