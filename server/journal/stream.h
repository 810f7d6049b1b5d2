/* A log that many processes append to and read, as the journal sees it: messages under names, in
 * one order for all, and marks (marks.h) between them. Beside the log, pieces are kept under keys,
 * for whoever asks for them. How both travel is the stream's own. Loop only. */
#ifndef SRV_JOURNAL_STREAM_H
#define SRV_JOURNAL_STREAM_H

#include "core/obb.h"

typedef enum srv_stream_found {
    SRV_STREAM_FOUND,
    SRV_STREAM_MISSING, /* the server that was asked does not have it, or not yet */
    SRV_STREAM_UNKNOWN  /* no server has answered */
} srv_stream_found;

/* What the stream tells. Set before srv_stream.begin is called. */
struct srv_stream_calls {
    /* The message with this tag is in the log, or the piece is kept, or pieces or messages are
     * removed; or nobody knows. Called at most once a tag. */
    void (*appended)(void *context, uint64_t tag, bool known);
    /* What srv_stream.get or srv_stream.has has found. Called once. */
    void (*got)(void *context, uint64_t tag, srv_stream_found found, obb_str bytes);
    /* The next message of the log; with the empty name, a mark. seq: its place; grows by 1 from
     * message to message, except after srv_stream.rewind, and where messages were removed. left:
     * how many messages stood behind it in the log when the servers sent it, and thus after every
     * purge that was made before it was sent; perhaps it is too large. */
    void (*delivered)(void *context, obb_str name, uint64_t seq, uint64_t left, obb_str bytes);
    /* Nothing stood behind the message that was delivered last, whose place is `seq`, some time
     * after it was sent. Called if `left` of that message was not 0. */
    void (*at_end)(void *context, uint64_t seq);
    /* Returns false if nothing may be delivered before srv_stream.resume. */
    bool (*wants)(void *context);
    /* One of the messages that srv_stream.read has asked for, in their order. The names of marks
     * and of other scenes are not among them. */
    void (*read)(void *context, uint64_t tag, uint64_t seq, obb_str bytes);
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
    /* Appends a mark, likewise. With `clears`, the earlier marks of this process go in the same
     * step. */
    bool (*mark)(struct srv_stream *stream, uint64_t tag, obb_str bytes, bool clears);
    /* Keeps a piece, which is copied, in place of the one under this key, if there is one. Returns
     * false as `append`. A key has up to 80 letters, digits, "-" and ".". */
    bool (*put)(struct srv_stream *stream, obb_str key, uint64_t tag, obb_str bytes);
    /* Asks for a piece. Returns false if that is impossible at this moment: `got` is then not
     * called. */
    bool (*get)(struct srv_stream *stream, obb_str key, uint64_t tag);
    /* Returns whether the servers can remove messages and pieces without harm. If not, `purge` must
     * not be called, and `drop` lets everything stay. */
    bool (*removes)(struct srv_stream *stream);
    /* Removes all pieces whose keys begin with `set` and ".". Returns false as `append`. */
    bool (*drop)(struct srv_stream *stream, obb_str set, uint64_t tag);
    /* Removes the messages under this name whose places are below `seq`. The last message of the
     * log must not be among them. Returns false as `append`. */
    bool (*purge)(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag);
    /* Asks whether the message at the place `seq` is still in the log: srv_stream_calls.got,
     * without bytes. Returns false as `get`. */
    bool (*has)(struct srv_stream *stream, uint64_t seq, uint64_t tag);
    /* Delivers the log once more, from the place `seq` on, which lies before what was delivered
     * last. Nothing else is delivered from this call on. */
    void (*rewind)(struct srv_stream *stream, uint64_t seq);
    /* Begins to deliver the messages under this name, from the place `seq` on, beside the log:
     * srv_stream_calls.read. It may stop without a word: then ask again. Returns false as
     * `append`. Never calls within this call. */
    bool (*read)(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag);
    /* No more of those are wanted. Some may still come. Each srv_stream.read needs one. */
    void (*unread)(struct srv_stream *stream, uint64_t tag);
    void (*resume)(struct srv_stream *stream); /* messages are wanted again */
    bool (*connected)(struct srv_stream *stream);
    /* Returns for how many milliseconds the log has held messages that were not delivered, about; 0
     * if it holds none. Asks nobody: without connection, it goes by what was known. */
    uint64_t (*lag_ms)(struct srv_stream *stream);
    void (*close)(struct srv_stream *stream); /* frees the stream, too; no call comes any more */
};

#endif
