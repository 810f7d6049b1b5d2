/* A request with a step on the pool, after which it goes on on the loop. And the answers that all
 * handlers share. */
#ifndef SRV_WORK_H
#define SRV_WORK_H

#include "server/base/pool.h"
#include "server/http/answer.h"

/* The first member of whatever a handler keeps of a request. In the request's arena, zeroed. */
struct srv_work {
    struct srv_job job; /* first */
    struct srv_request *request;
    void (*step)(struct srv_work *work), (*decoded)(struct srv_work *work); /* srv_work_decode's */
    void (*then)(struct srv_work *work);
};

/* Submits work->job, whose advance and chunk are set. Then calls `then` on the loop; if the job was
 * given up, request->cancelled is set. Returns false if the pool is full or out of memory:
 * *out_problem says which, and `then` is not called. */
bool srv_work_submit(struct srv_work *work, void (*then)(struct srv_work *work),
                     wire_problem *out_problem);

/* Does the same, except that false has answered the request. */
bool srv_work_start(struct srv_work *work, void (*then)(struct srv_work *work));

/* Calls `decode` and then, on the loop, `then`. `decode` may touch only the body and the request's
 * arena. A body of up to SRV_LOOP_BODY bytes is decoded at once. A longer one, and one that turns
 * out to ask for slow work (wire_body.postponed), is decoded on the pool. If the request is
 * cancelled meanwhile, answers it instead of calling `then`. */
void srv_work_decode(struct srv_work *work, void (*decode)(struct srv_work *work),
                     void (*then)(struct srv_work *work));

/* Returns the problem of a job that the pool did not take, and counts full queues. */
wire_problem srv_problem_of_pool(struct srv_services *services, srv_submitted submitted);

/* Returns the problem of a cancelled request. */
wire_problem srv_problem_cancelled(const struct srv_request *request);

/* Answers a cancelled request. */
void srv_reply_cancelled(struct srv_request *request);

/* Calls the handler of a request anew that has waited, and answers it instead if its token does not
 * admit it any more. */
void srv_request_again(struct srv_request *request);

/* Returns the problem of a status of core. */
wire_problem srv_problem_of_status(obb_status status);

/* Answers with it. */
void srv_reply_status(struct srv_request *request, obb_status status);

/* Returns `size` zeroed bytes of the request's arena. Returns NULL after answering the request if
 * there is no memory. */
void *srv_work_room(struct srv_request *request, size_t size);

/* Answers with the problem of a name in the path: OBB_BAD_NAME, OBB_NO_SCENE or OBB_NO_BOX. */
void srv_reply_name(struct srv_request *request, obb_status status, obb_str name);

#endif
