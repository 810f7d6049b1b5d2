/* The sleeper: lets scenes of a log of many processes sleep that nobody asks for, so that each
 * process holds what is asked of it, and not all that is in the log (shared.h).
 *
 * A scene goes once nobody has asked for it for `idle_s`, and earlier if there is little room: if
 * the store holds nearly as many scenes as it may, or nearly as many boxes or bytes, the scenes go
 * first that were asked for longest ago. A scene never goes while it is in use: while anything of
 * it waits, while a view of it is open, or while a stream follows it. Nor within the time that a
 * request may take, because a request looks its scene up more than once.
 *
 * Loop only. */
#ifndef SRV_SLEEPER_H
#define SRV_SLEEPER_H

#include "server/journal/shared.h"
#include "server/scenes/writer.h"

/* Zeroed except for the first group. */
struct srv_sleeper {
    struct srv_loop *loop;
    struct srv_writer *writer;
    struct srv_journal *journal;
    double idle_s;       /* 0: no scene sleeps */
    uint64_t request_ms; /* that a request may take */
    size_t scene_limit;

    struct srv_timer *timer;
};

/* Begins. Returns false without memory. */
bool srv_sleeper_start(struct srv_sleeper *sleeper);

/* Ends: no scene goes to sleep any more. Zeroes are fine. */
void srv_sleeper_stop(struct srv_sleeper *sleeper);

#endif
