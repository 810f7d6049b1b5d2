/* Log streams: answers that tell the log of a scene. First the state that the log begins with, then
 * each commit since, out of the history; and then, if the client follows, the commits as they come.
 *
 * A stream holds a view of the last state that it has told of, and so all states after it. So what
 * it has yet to tell is there, however fast commits come. A client that takes too long for that is
 * cut (see paged_answer.h). Loop only. */
#ifndef SRV_LOG_STREAM_H
#define SRV_LOG_STREAM_H

#include "proto/wire.h"
#include "server/scenes/writer.h"

struct srv_log_stream;

/* All log streams of a service. Zeroed. */
struct srv_log_streams {
    struct srv_log_stream *first;
    bool stopped; /* the service ends */
};

/* Returns a listener for the writer, through which streams that follow hear of commits. Costs
 * nothing if there is no stream. */
srv_write_listener srv_log_listener(struct srv_log_streams *streams);

/* Answers the request with the log of the scene, which is unlocked. Answers 410 if the history does
 * not reach back to the state that it should begin with. */
void srv_log_stream_start(struct srv_log_streams *streams, struct srv_request *request,
                          struct obb_scene *scene, const wire_log_params *params);

/* For the end of the service: streams that follow end once they have told what there is. */
void srv_log_streams_stop(struct srv_log_streams *streams);

#endif
