#include "server/pieces.h"

#include <stddef.h>

static struct srv_pieces *pieces_of(struct srv_stream *stream)
{
    return (struct srv_pieces *)(void *)((char *)stream - offsetof(struct srv_pieces, stream));
}

static size_t write_step(struct srv_job *job)
{
    struct srv_pieces *p = (struct srv_pieces *)job;
    p->last = !p->write(p);
    return 0;
}

static void hand_over(struct srv_pieces *p)
{
    srv_stream_give(&p->stream, &p->piece);
    if (p->last)
        srv_stream_end(&p->stream);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_pieces *p = request->work;
    if (p->busy)
        srv_pool_cancelled(&p->work.job); /* on_done cuts */
    else
        srv_stream_cut(&p->stream);
}

static void on_done(struct srv_job *job)
{
    struct srv_pieces *p = (struct srv_pieces *)job;
    p->busy = false;
    if (atomic_load(&p->work.request->cancelled))
        srv_stream_cut(&p->stream);
    else
        hand_over(p);
}

static void on_hungry(struct srv_stream *stream)
{
    struct srv_pieces *p = pieces_of(stream);
    struct srv_request *request = p->work.request;
    p->busy = !p->cheap && srv_pool_submit(request->server->pool, &p->work.job) == SRV_SUBMITTED;
    if (p->busy)
        return;
    /* here, too, when the pool takes no more: the answer has begun and must go on */
    p->last = !p->write(p);
    hand_over(p);
}

static void on_closed(struct srv_stream *stream)
{
    struct srv_pieces *p = pieces_of(stream);
    wire_buf_fini(&p->piece);
    p->closed(p);
}

void srv_pieces_start(struct srv_pieces *p, struct srv_request *request, wire_media media)
{
    p->work.request = request;
    p->work.job.advance = write_step;
    p->work.job.chunk = NULL;
    p->work.job.done = on_done;
    p->work.job.cancelled = &request->cancelled;
    p->stream.hungry = on_hungry;
    p->stream.closed = on_closed;
    request->work = p;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, wire_media_type(media), &p->stream);
}
