/* Running queries for a request: the one of a query, or all of a commit. */
#ifndef SRV_DO_QUERY_H
#define SRV_DO_QUERY_H

#include "server/scenes/work.h"

/* Queries one after the other, the chunks of each shared by the workers. */
struct srv_plans {
    struct srv_work work; /* first */
    const obb_query *queries;
    struct obb_view **views; /* one each, open; owned */
    struct obb_plan **plans; /* one each, owned */
    size_t count, current;
    uint64_t candidates, doubts; /* of plans that were closed already */
    _Atomic int status;          /* obb_status: the first that went wrong */
    void (*write)(
        struct srv_plans *plans); /* all results are there: writes request->reply; any thread */
};

/* Makes room for so many; fill views and then set count. false: the request is answered. */
bool srv_plans_room(struct srv_plans *p, struct srv_request *request, const obb_query *queries,
                    size_t count);

/* Runs them by what they will cost, here or on the pool, and then `then` on the loop, which answers and closes. false: the
 * pool takes no more, as *out_problem says, and nothing follows. */
bool srv_plans_start(struct srv_plans *p, void (*then)(struct srv_work *work),
                     wire_problem *out_problem);

void srv_plans_close(struct srv_plans *p);

#endif
