#include "server/scenes/writer.h"

#include "server/scenes/conditions.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/remembered.h"
#include "server/scenes/write_base_body.h"
#include "server/scenes/write_copy_body.h"
#include "server/scenes/write_edit_body.h"
#include "server/scenes/write_follow_body.h"
#include "server/scenes/write_scene_body.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define RECALL_NS 100.0 /* about, to find an entry of a commit in its outcome */

void srv_writer_listen(struct srv_writer *writer, srv_write_listener listener)
{
    assert(writer->listener_count < SRV_WRITE_LISTENERS);
    writer->listeners[writer->listener_count++] = listener;
}

static bool epoch_holds(const struct srv_write *w)
{
    if (w->op.if_epoch == NULL || (w->scene == NULL && !srv_write_may_make(&w->op)))
        return true;
    return w->scene != NULL && w->epoch == *w->op.if_epoch;
}

/* Notes whether the scene of the op is there, or the box or the frame that its conditions name. */
static void look_for_target(struct srv_write *w)
{
    const obb_target box = {.name = w->op.if_match_box};
    const obb_str frame = w->op.if_match_frame;
    w->changed = 0;
    w->ruled_out = false;
    w->is_there = w->scene != NULL;
    if (w->is_there && box.name.length > 0) {
        w->changed = obb_scene_tail_changed(w->scene, &box);
        w->is_there = w->changed != 0;
    } else if (w->is_there && frame.length > 0) {
        w->is_there = obb_scene_tail_has_frame(w->scene, frame);
    }
}

static bool condition_holds(struct srv_write *w)
{
    const char *match = w->op.if_match, *none = w->op.if_none_match;
    if ((match == NULL && none == NULL) || (w->scene == NULL && w->op.kind == SRV_OP_REMOVE))
        return true;
    look_for_target(w);
    if (w->scene == NULL)
        return match == NULL;
    obb_scene_info info;
    obb_scene_tail_info(w->scene, &info);
    const uint64_t last = info.now.revision;
    const uint64_t first = w->changed != 0 ? w->changed : last;
    w->ruled_out = none != NULL && w->is_there && srv_tags_hold(none, first, last, w->epoch, true);
    if (w->ruled_out || match == NULL)
        return !w->ruled_out;
    /* what is not there and cannot be made is a 404 */
    if (srv_tags_any(match) && !w->is_there && srv_write_may_make(&w->op))
        return false;
    return srv_tags_hold(match, first, last, w->epoch, false);
}

/* Returns whether the op needs a scene of which everything is durable: it looks at states, or does
 * away with them. */
static bool needs_empty_tail(const struct srv_write *w)
{
    return w->op.kind == SRV_OP_REMOVE || w->op.kind == SRV_OP_COPY ||
           w->op.kind == SRV_OP_FOLLOW ||
           (w->op.kind == SRV_OP_EDIT &&
            (w->op.dry_run || w->op.check_only || w->op.edit->with_entries > 0));
}

/* Answers a commit that the scene remembers, once its outcome is read. */
static void answer_repeated(struct srv_write *w)
{
    w->repeated = w->status == OBB_OK;
    if (w->repeated)
        srv_write_succeed(w);
    else
        srv_write_refuse(w, w->status == OBB_BAD_VALUE ? SRV_REFUSED_BY_ID : SRV_REFUSED_BY_SCENE,
                         w->status);
}

static size_t recall_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->status = wire_read_outcome(w->answer, w->op.edit, w->cancelled, w->arena, &w->committed);
    return 0;
}

static void recalled(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->job.cancelled = NULL;
    srv_lock_release(w->writer->locks, &w->lock);
    answer_repeated(w);
    srv_lock_wake(&w->lock);
}

/* Reads a long outcome on the pool. The scene is locked meanwhile, so that it stays. */
static void recall_on_pool(struct srv_write *w, obb_str outcome)
{
    struct srv_locks *locks = w->writer->locks;
    char *copy = obb_arena_alloc(w->arena, outcome.length, 1);
    if (copy == NULL || !srv_lock_take(locks, &w->lock, w->scene, false, 0)) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
        return;
    }
    memcpy(copy, outcome.bytes, outcome.length);
    w->answer = (obb_str){copy, outcome.length};
    w->job.advance = recall_step;
    w->job.done = recalled;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = srv_write_submit(w);
    if (submitted == SRV_SUBMITTED)
        return;
    srv_lock_release(locks, &w->lock);
    srv_write_refuse(w, SRV_REFUSED_BY_QUEUE,
                     submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
}

/* Answers a commit that the scene remembers. */
static void repeat(struct srv_write *w, const srv_remembered_commit *commit)
{
    if (!w->at_once && RECALL_NS * (double)obb_edit_entries(w->op.edit) > SRV_LOOP_NS) {
        recall_on_pool(w, commit->outcome);
        return;
    }
    w->status = wire_read_outcome(commit->outcome, w->op.edit, NULL, w->arena, &w->committed);
    answer_repeated(w);
}

/* Returns true if the scene remembers the commit of that id: it is answered, or waits until the
 * first one is durable. */
static bool is_repeated(struct srv_write *w)
{
    const struct srv_companion *companion = w->scene != NULL ? srv_companion_of(w->scene) : NULL;
    if (companion == NULL || w->op.sent_id.length == 0)
        return false;
    obb_scene_info info;
    obb_scene_tail_info(w->scene, &info);
    const srv_remembered_commit *commit =
        srv_remembered_find(companion->remembered, w->op.sent_id, info.now.time);
    if (commit == NULL)
        return false;
    if (!commit->pending || !srv_tail_waits(w->tail, true, &w->tail_wait))
        repeat(w, commit);
    return true;
}

static void on_woken(struct srv_wake_wait *wait, bool good)
{
    struct srv_write *w =
        (struct srv_write *)(void *)((char *)wait - offsetof(struct srv_write, wake_wait));
    if (good)
        w->begin(w);
    else
        srv_write_refuse_by_journal(w, SRV_JOURNAL_FAILED);
}

/* Returns true if the scene sleeps: the op waits until it is woken, or is refused. */
static bool waits_for_sleeper(struct srv_write *w)
{
    struct srv_journal *journal = w->writer->tails.journal;
    if (journal == NULL || w->op.kind == SRV_OP_FOLLOW ||
        !srv_journal_asleep(journal, w->op.scene, NULL))
        return false;
    w->wake_wait = (struct srv_wake_wait){.done = on_woken};
    if (!srv_journal_wake(journal, w->op.scene, &w->wake_wait))
        srv_write_refuse_by_journal(w, SRV_JOURNAL_FAILED);
    return true;
}

static void begin(struct srv_write *w)
{
    if (waits_for_sleeper(w))
        return;
    w->now_ms = srv_clock() * 1e3;
    w->scene = obb_store_find(w->writer->store, w->op.scene);
    if (w->scene != NULL && srv_lock_wait(w->writer->locks, w->scene, &w->wait))
        return;
    w->tail = w->scene != NULL ? srv_tail_of(w->scene) : NULL;
    if (w->tail != NULL && srv_tail_waits(w->tail, needs_empty_tail(w), &w->tail_wait))
        return;
    w->epoch = w->scene != NULL ? obb_scene_epoch(w->scene) : 0;
    if (w->op.kind == SRV_OP_FOLLOW) {
        srv_write_follow(w);
        return;
    }
    if (!epoch_holds(w)) {
        srv_write_refuse_after(w, SRV_REFUSED_BY_EPOCH, OBB_REVISION);
        return;
    }
    if (is_repeated(w))
        return;
    if (!condition_holds(w)) {
        srv_write_refuse_after(w, SRV_REFUSED_BY_CONDITION, OBB_REVISION);
        return;
    }
    switch (w->op.kind) {
    case SRV_OP_CREATE:
        srv_write_create(w);
        break;
    case SRV_OP_CONFIGURE:
        srv_write_configure(w);
        break;
    case SRV_OP_EDIT:
        srv_write_edit(w);
        break;
    case SRV_OP_LOAD:
        srv_write_load(w);
        break;
    case SRV_OP_COPY:
        srv_write_copy(w);
        break;
    case SRV_OP_REMOVE:
        srv_write_remove(w);
        break;
    case SRV_OP_FOLLOW: /* follows above: it has no conditions */
        break;
    }
}

static void begin_again(struct srv_wait *wait)
{
    begin((struct srv_write *)(void *)((char *)wait - offsetof(struct srv_write, wait)));
}

static void begin_in_turn(struct srv_tail_wait *wait)
{
    begin((struct srv_write *)(void *)((char *)wait - offsetof(struct srv_write, tail_wait)));
}

void srv_write(struct srv_writer *writer, struct srv_write *w)
{
    w->writer = writer;
    w->begin = begin;
    w->wait.again = begin_again;
    w->tail_wait.again = begin_in_turn;
    w->tail_wait.goes_first = w->op.kind == SRV_OP_FOLLOW;
    begin(w);
}

bool srv_writer_at_rest(const struct srv_writer *writer, struct obb_scene *scene)
{
    struct srv_tail *tail = srv_tail_of(scene);
    if (tail == NULL || !srv_tail_at_rest(tail) || srv_scene_locked(writer->locks, scene) ||
        obb_scene_viewed(scene) || srv_tail_journaled(tail)->under_way != NULL)
        return false;
    for (size_t i = 0; i < writer->listener_count; i++) {
        const srv_write_listener *listener = &writer->listeners[i];
        if (listener->holds != NULL && listener->holds(listener->context, scene))
            return false;
    }
    return true;
}

void srv_writer_let_sleep(struct srv_writer *writer, struct obb_scene *scene)
{
    struct srv_write w = {.op = {.kind = SRV_OP_REMOVE, .scene = obb_scene_name(scene)},
                          .writer = writer};
    struct srv_tail *tail = srv_tail_of(scene);
    w.scene = scene;
    srv_snapshots_remove(writer->tails.snapshots, srv_tail_journaled(tail));
    srv_tail_destroy(tail);
    (void)srv_write_remove_scene(&w);
}

void srv_writer_fini(struct srv_writer *writer)
{
    while (writer->companions.first != NULL) {
        struct srv_companion *companion = writer->companions.first;
        srv_tail_destroy(companion->tail);
        srv_companion_drop(&writer->companions, companion->scene);
    }
}

void srv_write_cancel(struct srv_write *w)
{
    if (w->parts != NULL && w->record != NULL) { /* its record is not appended yet */
        srv_snapshot_parts_cancel(w->parts);
    } else if (w->wake_wait.in != NULL) {
        srv_wake_wait_leave(&w->wake_wait);
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else if (w->wait.lock != NULL) {
        srv_lock_unwait(&w->wait);
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else if (w->tail_wait.tail != NULL) {
        srv_tail_unwait(&w->tail_wait);
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else {
        if (w->job.cancelled != NULL) /* not once it is prepared */
            srv_pool_cancelled(&w->job);
    }
}
