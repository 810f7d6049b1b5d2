#include "server/scenes/paged_answer.h"

#include "server/scenes/lock.h"
#include "server/scenes/services.h"

#include <stddef.h>

enum {
    PIECE = 65536,     /* bytes; a worker writes it in about a millisecond */
    SHORT_PIECE = 5120 /* likewise, on the loop, in less than SRV_LOOP_NS */
};

static struct srv_paged_answer *answer_of(struct srv_stream *stream)
{
    return (struct srv_paged_answer *)(void *)((char *)stream -
                                               offsetof(struct srv_paged_answer, stream));
}

static struct srv_services *services_of(const struct srv_paged_answer *a)
{
    return a->work.request->services;
}

bool srv_paged_answer_has_room(struct srv_paged_answer *a, size_t line)
{
    if (a->piece.failed || a->starved || a->piece.length >= a->enough)
        return false;
    if (wire_buf_room(&a->piece, line) != NULL)
        return true;
    a->piece.failed = false; /* the lines before are whole */
    a->starved = true;
    return false;
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

/* Nothing will be written any more. */
static void close_owner(struct srv_paged_answer *a)
{
    if (a->over)
        return;
    a->over = true;
    a->closed(a);
}

/* Gives the stream what was written, or waits for memory if nothing could be. */
static void hand_over(struct srv_paged_answer *a)
{
    obb_view_rest(a->view, true);
    if (a->starved && a->piece.length == 0 && !a->piece.failed && !a->last) {
        wire_buf_fini(&a->piece);
        a->stream.working = true; /* so that its wait has an end */
        srv_starved_wait(services_of(a)->starved, &a->starving);
        return;
    }
    srv_starved_fed(&a->starving);
    srv_stream_give(&a->stream, &a->piece);
    if (!a->last)
        return;
    close_owner(a); /* the sockets may hold the rest for minutes, and need no view for that */
    srv_stream_end(&a->stream);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_paged_answer *a = request->work;
    if (a->starving.waits) {
        srv_starved_leave(services_of(a)->starved, &a->starving);
        a->stream.working = false;
    }
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
    const struct srv_services *services = services_of(a);
    const struct obb_scene *scene = obb_view_scene(a->view);
    obb_scene_info info;
    srv_scene_info(services->locks, scene, &info, NULL);
    return obb_store_find(services->store, obb_scene_name(scene)) == scene &&
           info.oldest.revision <= obb_view_info_get(a->view)->at.revision;
}

static void hold_anew(struct srv_paged_answer *a)
{
    a->until = srv_clock() + (double)services_of(a)->config->request_timeout_ms / 1e3;
}

static void submit(struct srv_paged_answer *a)
{
    struct srv_pool *pool = services_of(a)->pool;
    a->enough = PIECE;
    /* an answer that has begun must go on: if the queue is full, the job is not counted by it */
    a->work.job.background = false;
    srv_submitted submitted = srv_pool_submit(pool, &a->work.job);
    if (submitted == SRV_QUEUE_FULL) {
        a->work.job.background = true;
        submitted = srv_pool_submit(pool, &a->work.job);
    }
    a->stream.working = submitted == SRV_SUBMITTED;
    if (!a->stream.working)
        srv_stream_cut(&a->stream);
}

/* Writes a piece on the loop. If nothing was written and more will come, a worker goes on: the
 * stream has just asked for bytes, and would sleep without any. */
static void write_now(struct srv_paged_answer *a, size_t enough)
{
    a->enough = enough;
    a->last = !a->write(a);
    if (a->piece.length > 0 || a->last || a->starved || a->piece.failed) {
        hand_over(a);
        return;
    }
    a->light = false; /* `advance` comes first, also if the worker finds no memory for it */
    submit(a);
}

/* Returns false if the view was held for --request-timeout and nobody else needs its state. Called
 * once each --request-timeout, which counts from a moment a little before hold_anew. */
static bool may_go_on(struct srv_stream *stream)
{
    const struct srv_paged_answer *a = answer_of(stream);
    const double slack = (double)services_of(a)->config->request_timeout_ms / 1e3 / 16;
    return a->over || a->asleep || srv_clock() < a->until - slack || state_is_kept(a);
}

static void begin_piece(struct srv_paged_answer *a)
{
    if (srv_clock() > a->until && !state_is_kept(a)) {
        srv_stream_cut(&a->stream);
        return;
    }
    srv_stream_take_back(&a->stream, &a->piece);
    obb_view_rest(a->view, false);
    a->starved = false;
    if (a->cheap)
        write_now(a, PIECE);
    else if (a->light && srv_pool_busy(services_of(a)->pool))
        write_now(a, SHORT_PIECE);
    else
        submit(a);
}

static void on_drained(struct srv_stream *stream)
{
    struct srv_paged_answer *a = answer_of(stream);
    a->asleep = a->next != NULL && !a->next(a);
    if (a->asleep)
        obb_view_rest(a->view, true); /* it may be another one now */
    else
        begin_piece(a);
}

static void on_memory(struct srv_starving *starving)
{
    struct srv_paged_answer *a =
        (struct srv_paged_answer *)(void *)((char *)starving -
                                            offsetof(struct srv_paged_answer, starving));
    a->stream.working = false;
    begin_piece(a);
}

static void on_closed(struct srv_stream *stream)
{
    struct srv_paged_answer *a = answer_of(stream);
    srv_starved_leave(services_of(a)->starved, &a->starving);
    wire_buf_fini(&a->piece);
    close_owner(a);
}

void srv_paged_answer_start(struct srv_paged_answer *a, struct srv_request *request,
                            wire_media media)
{
    a->work.request = request;
    hold_anew(a);
    /* in place of the reply, which has the same bytes without a draw: an answer of short lines goes
     * on while the budget is empty */
    a->piece = request->reply;
    a->piece.length = 0;
    request->reply = (struct wire_buf){.budget = a->piece.budget, .own = a->piece.own};
    a->stream.pending = request->reply;
    a->starving.again = on_memory;
    a->work.job.advance = step;
    a->work.job.chunk = run_chunk;
    a->work.job.done = on_done;
    a->work.job.cancelled = &request->cancelled;
    a->stream.on_drained = on_drained;
    a->stream.on_closed = on_closed;
    a->stream.may_go_on = may_go_on;
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
