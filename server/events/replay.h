/* What a returning subscriber is given: the latest messages of a scene, kept by commit and by set
 * of topics.
 *
 * A client that lost its stream comes back with the revision of the last message that it had
 * (Last-Event-ID). If all messages since are still kept for its topics, it gets them and goes on.
 * Otherwise it must start anew. */
#ifndef SRV_REPLAY_H
#define SRV_REPLAY_H

#include "server/events/message.h"

enum {
    SRV_TOPIC_SETS = WIRE_TOPICS + 1, /* a set of topics is a number of WIRE_TOPIC_… bits */
    SRV_REPLAY_COMMITS = 256,         /* at most as many commits are kept, */
    SRV_REPLAY_BYTES = 1 << 20        /* and at most as many bytes of their messages */
};

/* The messages of one commit. */
struct srv_messages {
    /* The messages for this set of topics were written: a subscriber wants them or may come back
     * for them. */
    bool covered[SRV_TOPIC_SETS];
    struct srv_message *of[SRV_TOPIC_SETS]; /* references; NULL: the commit has none for that set */
    size_t bytes;                           /* of their texts */
};

/* Gives the references back. `covered` stays. */
void srv_messages_clear(struct srv_messages *messages);

struct srv_replay {
    struct srv_messages *ring; /* owned, SRV_REPLAY_COMMITS of them */
    size_t oldest, count, bytes;
};

/* Returns false if there is no memory; then *out needs no srv_replay_fini. */
bool srv_replay_init(struct srv_replay *out, struct obb_budget *budget);
void srv_replay_fini(struct srv_replay *replay);

/* Adds the messages of the next commit, and forgets the oldest ones beyond the limits. Takes the
 * references over: *messages is zeroed. */
void srv_replay_add(struct srv_replay *replay, struct srv_messages *messages);

/* Forgets everything. */
void srv_replay_clear(struct srv_replay *replay);

/* Finds the first message of `topics` after revision `last` and up to revision `present`, which is
 * that of the messages added last. The later ones follow it in its feed. *out is NULL if there is
 * none, and no reference. Returns false if some of them are not kept. O(commits since `last`). */
bool srv_replay_resume(const struct srv_replay *replay, unsigned topics, uint64_t last,
                       uint64_t present, struct srv_message **out);

#endif
