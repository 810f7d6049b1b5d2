/* Purges: messages of a log of many processes that nobody needs any more. A newer snapshot holds
 * what they say, or the scene ended long ago. They are removed name by name, one purge at a time,
 * and again and again until the servers have done it.
 *
 * Loop only. */
#ifndef SRV_PURGES_H
#define SRV_PURGES_H

#include "server/journal/stream.h"

struct srv_purge;

/* Zeroed except for the first group. */
struct srv_purges {
    struct srv_stream *stream;
    struct obb_budget *budget; /* what waits draws from it, in any case; NULL: nothing is counted */
    uint64_t patience_ms; /* a purge of which nothing is heard for so long is asked for again */
    /* The messages about the name with places below `seq` are removed. */
    void (*done)(void *context, obb_str name, uint64_t seq);
    void *context;

    struct srv_purge *first; /* owned; the next one that is due */
    uint64_t tag;
    uint64_t asked; /* the tag of what is under way; 0: nothing */
    uint64_t asked_ms;
};

/* Removes the messages about a name, which is copied, with places below `seq`: once it is `due_ms`.
 * Returns false if the stream removes nothing, or without memory. O(purges that wait). */
bool srv_purges_add(struct srv_purges *all, obb_str name, uint64_t seq, uint64_t due_ms);

/* As in srv_stream_calls. Returns false if the tag is not of a purge. */
bool srv_purges_appended(struct srv_purges *all, uint64_t tag, bool known, uint64_t now_ms);

/* Asks for what is due. Call it a few times within patience_ms. */
void srv_purges_look(struct srv_purges *all, uint64_t now_ms);

/* Forgets what waits. Whoever writes the next snapshot of the name purges as much. */
void srv_purges_fini(struct srv_purges *all);

#endif
