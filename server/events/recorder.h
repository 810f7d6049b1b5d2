/* The recorder: it keeps the last queries of each scene whose setting `record` asks for that, with
 * their answers, and tells them to those who follow the topic queries.
 *
 * A recording is what one request adds. It is made where the answer is written, on any thread, and
 * kept on the loop. Recorded queries draw from the budget, and take at most a quarter of it
 * together. Without room, or while more than 256 KiB wait to be kept, a query is left out and
 * counted (obbd_queries_unrecorded_total). Many that are forgotten at a time are freed on the
 * pool. */
#ifndef SRV_RECORDER_H
#define SRV_RECORDER_H

#include "server/base/metrics.h"
#include "server/events/events.h"

#include <stdatomic.h>

/* A recorded query. Its text never changes, so any thread may read it while somebody holds it. */
struct srv_record {
    struct srv_record *next; /* the next one of its recording, or of its scene */
    atomic_size_t references;
    uint64_t id; /* of its scene, from 1 on */
    bool hit, has_tag;
    obb_str tag, text; /* wire_write_recorded; both lie behind the record */
};

struct srv_ring;

/* Zeroed except for the first group. */
struct srv_recorder {
    struct obb_budget *budget;
    struct obb_store *store;
    struct srv_locks *locks; /* its drain is held while forgotten queries are freed on its pool */
    struct srv_events *events;
    struct srv_metrics *metrics;

    struct srv_ring *rings; /* of the scenes that have recorded queries */
    size_t held;            /* bytes of all recorded queries in the rings */
    atomic_size_t waiting;  /* bytes of those that were made and not kept yet */
};

/* What a request records. Zeroed: nothing. */
struct srv_recording {
    bool on;
    struct srv_recorder *recorder;
    obb_str request_id, token; /* in the request's arena */
    struct srv_record *first, *last;
    size_t left_out;
};

/* The queries of a request with their results. */
typedef struct srv_answered {
    const obb_query *queries;
    size_t count;
    const struct obb_view *const *views; /* of each query as many as obb_query_views says */
    const obb_result *const *results;
    bool of_commit;
    /* Where the result of each query lies in the reply, of a commit that is answered in JSON; else
     * NULL. */
    const size_t (*entries)[2];
} srv_answered;

/* A query that the service itself has asked of a scene, without a request. */
typedef struct srv_own_query {
    const obb_query *query;
    const struct obb_view *view; /* that it was asked about; one view */
    const obb_result *result;
    obb_str sent;    /* the query as JSON that can be posted to .../query/{kind} */
    obb_str request; /* what stands for the id of a request */
} srv_own_query;

/* Returns a listener for the writer, through which the recorder hears of scenes that go, and of
 * settings. */
srv_write_listener srv_recorder_listener(struct srv_recorder *recorder);

/* Turns a recording on, for a request whose scene records. Called in the handler, because the token
 * may be gone later. Without memory the recording stays off, and counts as left out. */
void srv_recording_begin(struct srv_recording *recording, struct srv_request *request);

/* Makes the records of a recording that is on. request->reply holds the answer. Any thread.
 * O(body + answer). */
void srv_recording_make(struct srv_recording *recording, struct srv_request *request,
                        const srv_answered *answered);

/* Keeps what was made, and tells it. scene: the one that was asked, which may be removed by now. */
void srv_recording_keep(struct srv_recording *recording, struct srv_request *request,
                        const struct obb_scene *scene);

/* Keeps and tells a query of the service itself, if the scene records queries. Without room it is
 * left out and counted. On the loop. O(answer). */
void srv_recorder_add(struct srv_recorder *recorder, struct obb_scene *scene,
                      const srv_own_query *own);

/* Counts a query that is not recorded because its answer is a stream. */
void srv_recording_skip(struct srv_recording *recording);

/* Forgets what was made and not kept. Zeroes are fine. */
void srv_recording_drop(struct srv_recording *recording);

/* Finds the recorded queries of a scene behind params->after_id with the tag and the hit of
 * `params`, oldest first. They are held: give them back with srv_record_unref. The box is not
 * looked at. Writes at most `room`, which is srv_recorder_count at most, and returns how many. */
size_t srv_recorder_count(const struct srv_recorder *recorder, const struct obb_scene *scene);
size_t srv_recorder_find(struct srv_recorder *recorder, const struct obb_scene *scene,
                         const wire_recorded_params *params, struct srv_record **out, size_t room);

/* Any thread. */
void srv_record_unref(struct srv_record *record);

/* Forgets everything. No job of the pool may be left. */
void srv_recorder_fini(struct srv_recorder *recorder);

#endif
