/* Requests that may be heavy: a step on the pool, then on with them on the loop. */
#ifndef SRV_WORK_H
#define SRV_WORK_H

#include "server/state.h"

/* First in whatever a handler keeps of a request; zeroed, in the request's arena. */
struct srv_work {
    struct srv_job job;
    struct srv_request *request;
    void (*step)(struct srv_work *work), (*decoded)(struct srv_work *work); /* srv_work_decode's */
    void (*then)(struct srv_work *work);
};

/* Submits work->job, whose advance and chunk are set; `then` follows on the loop, with request->cancelled set when the job was
 * given up. false: the pool is full or out of memory, as *out_problem says, and nothing follows. */
bool srv_work_submit(struct srv_work *work, void (*then)(struct srv_work *work),
                     wire_problem *out_problem);

/* The same, but false has answered the request. */
bool srv_work_start(struct srv_work *work, void (*then)(struct srv_work *work));

/* Calls `decode`, which may read the body and the request's arena and nothing else: here when the body is short, and, when it is
 * not or turned out to ask for what takes long (wire_body.postponed), on the pool; then `then` on the loop, or, where the request was cancelled meanwhile, answers it. */
void srv_work_decode(struct srv_work *work, void (*decode)(struct srv_work *work),
                     void (*then)(struct srv_work *work));

/* Of a request that was cancelled; and answers it with that. */
wire_problem srv_problem_cancelled(const struct srv_request *request);
void srv_reply_cancelled(struct srv_request *request);

/* Answers with the problem of a status of core. */
void srv_reply_status(struct srv_request *request, obb_status status);

/* Answers with the problem of a name in the path: OBB_BAD_NAME, OBB_NO_SCENE or OBB_NO_BOX. */
void srv_reply_name(struct srv_request *request, obb_status status, obb_str name);

/* Zeroed room in the request's arena; NULL: there is none, and the request is answered. */
void *srv_work_room(struct srv_request *request, size_t size);

#endif
