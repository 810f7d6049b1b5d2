#include "server/scenes/paged_answer.h"

#include "server/scenes/services.h"

#include <stddef.h>

static struct srv_paged_answer *answer_of(struct srv_stream *stream)
{
    return (struct srv_paged_answer *)(void *)((char *)stream -
                                               offsetof(struct srv_paged_answer, stream));
}

static size_t step(struct srv_job *job)
{
    struct srv_paged_answer *p = (struct srv_paged_answer *)job;
    const size_t chunks = p->advance != NULL ? p->advance(p) : 0;
    if (chunks == 0)
        p->last = !p->write(p);
    return chunks;
}

static void run_chunk(struct srv_job *job, size_t chunk)
{
    struct srv_paged_answer *p = (struct srv_paged_answer *)job;
    p->chunk(p, chunk);
}

static void hand_over(struct srv_paged_answer *p)
{
    srv_stream_give(&p->stream, &p->piece);
    if (p->last)
        srv_stream_end(&p->stream);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_paged_answer *p = request->work;
    if (p->stream.working)
        srv_pool_cancelled(&p->work.job); /* on_done cuts the stream */
    else
        srv_stream_cut(&p->stream);
}

static void on_done(struct srv_job *job)
{
    struct srv_paged_answer *p = (struct srv_paged_answer *)job;
    p->stream.working = false;
    if (atomic_load(&p->work.request->cancelled))
        srv_stream_cut(&p->stream);
    else
        hand_over(p);
}

static void on_hungry(struct srv_stream *stream)
{
    struct srv_paged_answer *p = answer_of(stream);
    struct srv_pool *pool = p->work.request->services->pool;
    if (p->cheap) {
        p->last = !p->write(p);
        hand_over(p);
        return;
    }
    /* an answer that has begun must go on: if the queue is full, the job is not counted by it */
    p->work.job.beside = false;
    srv_submitted submitted = srv_pool_submit(pool, &p->work.job);
    if (submitted == SRV_QUEUE_FULL) {
        p->work.job.beside = true;
        submitted = srv_pool_submit(pool, &p->work.job);
    }
    stream->working = submitted == SRV_SUBMITTED;
    if (!stream->working)
        srv_stream_cut(stream);
}

static void on_closed(struct srv_stream *stream)
{
    struct srv_paged_answer *p = answer_of(stream);
    wire_buf_fini(&p->piece);
    p->closed(p);
}

void srv_paged_answer_start(struct srv_paged_answer *p, struct srv_request *request,
                            wire_media media)
{
    p->work.request = request;
    p->work.job.advance = step;
    p->work.job.chunk = run_chunk;
    p->work.job.done = on_done;
    p->work.job.cancelled = &request->cancelled;
    p->stream.hungry = on_hungry;
    p->stream.closed = on_closed;
    request->work = p;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, wire_media_type(media), &p->stream);
}
