/* Running queries for a request: the single one of a query, or all of a commit. */
#ifndef SRV_DO_QUERY_H
#define SRV_DO_QUERY_H

#include "server/events/recorder.h"
#include "server/scenes/lock.h"
#include "server/scenes/work.h"

/* Queries that run one after the other. The workers share the chunks of each. */
struct srv_plans {
    struct srv_work work; /* first */
    const obb_query *queries;
    /* Open: of each query as many as obb_query_views says, one after the other; several may be the
     * same. */
    struct obb_view **views;
    struct obb_view **opened; /* the different ones, owned */
    size_t opened_count;
    struct obb_overlay *overlay; /* of a commit that is rehearsed, under the views; owned */
    struct obb_plan **plans;     /* one each, owned */
    size_t count;
    size_t current, current_view; /* the plan that runs, and the first of its views */
    double write_ns; /* that `write` is estimated to take beside what the queries cost */
    uint64_t candidates, doubts; /* of plans that are closed already */
    _Atomic int status;          /* obb_status: the first that is not OBB_OK */
    /* Of plans on the pool: a part of --memory-limit, as large as the request leaves of it. */
    struct obb_budget budget;
    size_t beyond;   /* bytes that plans and answer would have taken, if the answer had no room */
    obb_fault fault; /* with OBB_GONE, of srv_plans_open; of a `with` if `refused` */
    bool refused;
    /* Called on any thread when all results are complete: writes request->reply. */
    void (*write)(struct srv_plans *plans);
    void (*ran)(struct srv_work *work); /* of srv_plans_start, while plans are on the pool */

    struct srv_recording recording; /* if it is on, `write` makes the records */

    /* While the views are opened. */
    struct obb_scene *scene;
    const obb_needed_moment *moments;
    bool recalled;      /* the queries are asked of an earlier present: a commit was repeated */
    obb_moment present; /* that one */
    struct srv_scene_lock lock;
    void (*then)(struct srv_plans *plans, const wire_problem *problem);
};

/* Makes room for `count` queries in the request's arena. Returns false if there is no memory. Any
 * thread. O(count). */
bool srv_plans_room(struct srv_plans *p, struct srv_request *request, const obb_query *queries,
                    size_t count);

/* Opens the views of all queries on the unlocked scene; moment i is that of query i. On the loop
 * if that is estimated to be fast, otherwise on the pool while the scene is locked. Then calls
 * `then` on the loop: problem is NULL and p->count is set, or says why no query can run. The caller
 * closes in either case. */
void srv_plans_open(struct srv_plans *p, struct obb_scene *scene, const obb_needed_moment *moments,
                    void (*then)(struct srv_plans *p, const wire_problem *problem));

/* Runs the queries, on the loop if they are estimated to be fast, otherwise on the pool. Then calls
 * `then` on the loop, which answers and closes. What a cancelled request leaves of its plans is
 * destroyed on the pool before that. Returns false if the pool takes no more work:
 * *out_problem says why, and `then` is not called. */
bool srv_plans_start(struct srv_plans *p, void (*then)(struct srv_work *work),
                     wire_problem *out_problem);

/* Call it when the answer is written, before the plans are dropped: notes what it lacked. */
void srv_plans_written(struct srv_plans *p);

/* Returns the problem of queries whose status is not OBB_OK, or whose answer has no room
 * (OBB_NO_MEMORY): 413 if even alone they could never fit. In the arena of the request. */
wire_problem srv_plans_problem(const struct srv_plans *p, obb_status status);

/* Turns the recording on, in the handler, if the scene's settings say so. */
void srv_plans_record(struct srv_plans *p, struct srv_request *request,
                      const obb_settings *settings);

/* Keeps what was recorded, when the request is answered with the results. */
void srv_plans_keep(struct srv_plans *p);

/* Destroys the plans. Any thread. */
void srv_plans_drop(struct srv_plans *p);

/* Closes plans and views, and counts what they did in the metrics. */
void srv_plans_close(struct srv_plans *p);

#endif
