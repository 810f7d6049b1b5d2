#include "server/scenes/paged_answer.h"

#include "server/scenes/lock.h"
#include "server/scenes/services.h"

#include <stddef.h>

static struct srv_paged_answer *answer_of(struct srv_stream *stream)
{
    return (struct srv_paged_answer *)(void *)((char *)stream -
                                               offsetof(struct srv_paged_answer, stream));
}

static size_t step(struct srv_job *job)
{
    struct srv_paged_answer *a = (struct srv_paged_answer *)job;
    const size_t chunks = a->advance != NULL ? a->advance(a) : 0;
    if (chunks == 0)
        a->last = !a->write(a);
    return chunks;
}

static void run_chunk(struct srv_job *job, size_t chunk)
{
    struct srv_paged_answer *a = (struct srv_paged_answer *)job;
    a->chunk(a, chunk);
}

static void hand_over(struct srv_paged_answer *a)
{
    srv_stream_give(&a->stream, &a->piece);
    if (a->last)
        srv_stream_end(&a->stream);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_paged_answer *a = request->work;
    if (a->stream.working)
        srv_pool_cancelled(&a->work.job); /* on_done cuts the stream */
    else
        srv_stream_cut(&a->stream);
}

static void on_done(struct srv_job *job)
{
    struct srv_paged_answer *a = (struct srv_paged_answer *)job;
    a->stream.working = false;
    if (atomic_load(&a->work.request->cancelled))
        srv_stream_cut(&a->stream);
    else
        hand_over(a);
}

/* Returns whether the scene would still keep the state without this answer. */
static bool state_is_kept(const struct srv_paged_answer *a)
{
    const struct srv_services *services = a->work.request->services;
    const struct obb_scene *scene = obb_view_scene(a->view);
    obb_scene_info info;
    srv_scene_info(services->locks, scene, &info, NULL);
    return obb_store_find(services->store, obb_scene_name(scene)) == scene &&
           info.oldest.revision <= obb_view_info_get(a->view)->at.revision;
}

static void hold_anew(struct srv_paged_answer *a)
{
    a->until = srv_clock() + (double)a->work.request->services->config->request_timeout_ms / 1e3;
}

static void on_drained(struct srv_stream *stream)
{
    struct srv_paged_answer *a = answer_of(stream);
    struct srv_pool *pool = a->work.request->services->pool;
    if (a->next != NULL && !a->next(a)) {
        a->asleep = true;
        return;
    }
    if (srv_clock() > a->until && !state_is_kept(a)) {
        srv_stream_cut(stream);
        return;
    }
    if (a->cheap) {
        a->last = !a->write(a);
        hand_over(a);
        return;
    }
    /* an answer that has begun must go on: if the queue is full, the job is not counted by it */
    a->work.job.background = false;
    srv_submitted submitted = srv_pool_submit(pool, &a->work.job);
    if (submitted == SRV_QUEUE_FULL) {
        a->work.job.background = true;
        submitted = srv_pool_submit(pool, &a->work.job);
    }
    stream->working = submitted == SRV_SUBMITTED;
    if (!stream->working)
        srv_stream_cut(stream);
}

static void on_closed(struct srv_stream *stream)
{
    struct srv_paged_answer *a = answer_of(stream);
    wire_buf_fini(&a->piece);
    a->closed(a);
}

void srv_paged_answer_start(struct srv_paged_answer *a, struct srv_request *request,
                            wire_media media)
{
    a->work.request = request;
    hold_anew(a);
    a->piece.budget = a->stream.pending.budget = request->services->budget;
    a->work.job.advance = step;
    a->work.job.chunk = run_chunk;
    a->work.job.done = on_done;
    a->work.job.cancelled = &request->cancelled;
    a->stream.on_drained = on_drained;
    a->stream.on_closed = on_closed;
    request->work = a;
    request->on_cancel = on_cancel;
    srv_reply_stream(request, 200, wire_media_type(media), &a->stream);
}

void srv_paged_answer_move(struct srv_paged_answer *a, const struct obb_view *view)
{
    a->view = view;
    hold_anew(a);
}

void srv_paged_answer_wake(struct srv_paged_answer *a)
{
    if (!a->asleep)
        return;
    a->asleep = false;
    hold_anew(a);
    on_drained(&a->stream);
}
