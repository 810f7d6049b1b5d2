/* A log that many processes append to and read, as the journal sees it: messages under names, in
 * one order for all. How they travel is the stream's own. Loop only. */
#ifndef SRV_STREAM_H
#define SRV_STREAM_H

#include "core/obb.h"

/* What the stream tells. Set before srv_stream.begin is called. */
struct srv_stream_calls {
    /* The message with this tag is in the log, or nobody knows. Called at most once a message. */
    void (*appended)(void *context, uint64_t tag, bool known);
    /* The next message of the log. seq: its place; grows from message to message. */
    void (*delivered)(void *context, obb_str name, uint64_t seq, obb_str bytes);
    /* Returns false if nothing may be delivered before srv_stream.resume. */
    bool (*wants)(void *context);
    /* No further message is there at this moment, or enough were delivered for one turn. Called
     * after messages were delivered. */
    void (*rest)(void *context);
    /* Everything was delivered that was in the log when the stream began. Called once. */
    void (*caught_up)(void *context);
    void *context;
};

struct srv_stream {
    /* Begins to deliver, from the first message on. Returns false without memory or threads. */
    bool (*begin)(struct srv_stream *stream, const struct srv_stream_calls *calls);
    /* Sends a message, which is copied. Returns false if that is impossible at this moment:
     * `appended` is then not called. */
    bool (*append)(struct srv_stream *stream, obb_str name, uint64_t tag, obb_str bytes);
    void (*resume)(struct srv_stream *stream); /* messages are wanted again */
    bool (*connected)(struct srv_stream *stream);
    void (*close)(struct srv_stream *stream); /* frees the stream, too; no call comes any more */
};

#endif
