#include "server/scenes/write_base_body.h"

#include "server/scenes/async_destroy.h"
#include "server/scenes/epoch.h"
#include "server/scenes/remembered.h"

#include <stddef.h>

void srv_write_tell_commit(const struct srv_write *w)
{
    const struct srv_writer *writer = w->writer;
    for (size_t i = 0; i < writer->listener_count; i++)
        if (writer->listeners[i].on_commit != NULL)
            writer->listeners[i].on_commit(writer->listeners[i].context, &w->op, w->scene,
                                           &w->committed);
}

void srv_write_tell_remove(const struct srv_write *w)
{
    const struct srv_writer *writer = w->writer;
    for (size_t i = 0; i < writer->listener_count; i++)
        if (writer->listeners[i].on_remove != NULL)
            writer->listeners[i].on_remove(writer->listeners[i].context, &w->op, w->scene);
}

obb_status srv_write_make_scene(struct srv_write *w, const obb_settings *settings)
{
    w->fault.bytes = obb_scene_empty_bytes(w->op.scene);
    if (!srv_scene_memory_shed(&w->writer->memory, NULL, w->fault.bytes))
        return OBB_SCENE_MEMORY;
    uint64_t epoch = w->op.epoch;
    if (epoch == 0 && !srv_epoch_draw(&epoch))
        return OBB_NO_MEMORY;
    const obb_status status =
        obb_store_add(w->writer->store, w->op.scene, settings, epoch, w->now_ms, &w->scene);
    w->made_scene = status == OBB_OK;
    if (!w->made_scene)
        return status;
    w->epoch = epoch;
    struct srv_journal *journal = w->writer->tails.journal;
    if (journal != NULL && !w->op.in_memory && !w->at_once) {
        w->number = srv_journal_number(journal);
        w->made_base = srv_journal_newest(journal, w->op.scene);
    }
    w->made_settings = *settings;
    return OBB_OK;
}

obb_status srv_write_remove_scene(struct srv_write *w)
{
    struct obb_scene *dead = NULL;
    const obb_status status = obb_store_remove(w->writer->store, w->op.scene, &dead);
    if (status == OBB_OK)
        srv_companion_drop(&w->writer->companions, w->scene);
    if (w->at_once)
        obb_scene_destroy(dead);
    else
        srv_async_destroy(w->writer->pool, w->writer->drain, dead);
    w->scene = NULL;
    return status;
}

void srv_write_describe(struct srv_write *w)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(w->scene, &info);
    w->committed = (obb_committed){.moment = info.now, .changed = true};
}

void srv_write_forsake_copy(struct srv_write *w, const struct obb_scene *copy)
{
    struct srv_tail *tail = srv_tail_of(copy);
    if (tail != NULL)
        srv_snapshots_remove(w->writer->tails.snapshots, srv_tail_journaled(tail));
    srv_tail_destroy(tail);
}

void srv_write_drop_copy(struct srv_write *w)
{
    srv_view_close(w->writer->locks, w->op.from);
    w->op.from = NULL;
    if (w->made_copy != NULL) {
        srv_write_forsake_copy(w, w->made_copy);
        srv_companion_drop(&w->writer->companions, w->made_copy);
    }
    srv_async_destroy(w->writer->pool, w->writer->drain, w->made_copy);
    w->made_copy = NULL;
}

void srv_write_drop_record(struct srv_write *w)
{
    srv_record_entry_destroy(w->record);
    w->record = NULL;
    w->in_parts = false;
    wire_buf_fini(&w->outcome);
}

void srv_write_refuse(struct srv_write *w, srv_refused by, obb_status status)
{
    srv_write_drop_copy(w);
    srv_write_drop_record(w);
    if (w->made_scene) {
        (void)srv_write_remove_scene(w); /* no listener has heard of it */
        w->epoch = 0;
    }
    w->made_scene = false;
    w->refused_by = by;
    w->status = status;
    w->done(w);
}

void srv_write_succeed(struct srv_write *w)
{
    w->refused_by = SRV_REFUSED_BY_NONE;
    w->status = OBB_OK;
    w->done(w);
}

void srv_write_refuse_by_journal(struct srv_write *w, srv_journal_status status)
{
    w->journal = status;
    srv_write_refuse(w, SRV_REFUSED_BY_JOURNAL, OBB_NO_MEMORY);
}

void srv_write_begin_anew(struct srv_write *w)
{
    srv_write_drop_record(w);
    w->prepared = NULL;
    w->refused_by = SRV_REFUSED_BY_NONE;
    w->status = OBB_OK;
    w->fault = (obb_fault){0};
    w->committed = (obb_committed){0};
    w->lock = (struct srv_scene_lock){0};
    w->seconds = 0;
    w->has_shed = false;
    w->rests_on_failure = false;
    w->begin(w);
}

void srv_write_begin_behind(struct srv_write *w)
{
    if (w->made_scene)
        (void)srv_write_remove_scene(w); /* no listener has heard of it */
    w->made_scene = false;
    w->number = 0;
    srv_lock_wake(&w->lock); /* whoever applies what came first goes before */
    srv_write_begin_anew(w);
}

struct srv_write *srv_write_of(struct srv_tail_item *item)
{
    return (struct srv_write *)(void *)((char *)item - offsetof(struct srv_write, item));
}

static void refusal_durable(struct srv_tail_item *item)
{
    struct srv_write *w = srv_write_of(item);
    srv_write_refuse(w, w->refused_by, w->status);
}

static void refusal_again(struct srv_tail_item *item) { srv_write_begin_anew(srv_write_of(item)); }

void srv_write_refuse_after(struct srv_write *w, srv_refused by, obb_status status)
{
    static const srv_tail_calls calls = {.durable = refusal_durable, .again = refusal_again};
    if (w->tail == NULL || srv_tail_empty(w->tail) || status == OBB_CANCELLED) {
        srv_write_refuse(w, by, status);
        return;
    }
    w->refused_by = by;
    w->status = status;
    srv_tail_rest(w->tail, &w->item, &calls);
}

void srv_write_succeed_and_shed(struct srv_write *w)
{
    struct srv_writer *writer = w->writer;
    if (w->committed.changed || w->op.kind == SRV_OP_EDIT)
        srv_write_tell_commit(w);
    srv_write_succeed(w);
    (void)srv_scene_memory_shed(&writer->memory, NULL, 0);
}

uint64_t srv_write_number(const struct srv_write *w)
{
    return w->tail != NULL ? srv_tail_journaled(w->tail)->number : w->number;
}

bool srv_write_make_tail(struct srv_write *w, struct obb_scene *scene)
{
    struct srv_journaled journaled = {
        .scene = scene, .number = w->number, .newest = w->copy_id, .fingerprint = w->fingerprint};
    if (w->record != NULL)
        journaled.newest = w->record->entry.link.id;
    struct srv_companion *companion = srv_companion_make(&w->writer->companions, scene);
    return companion != NULL && srv_tail_create(&w->writer->tails, companion, &journaled);
}

void srv_write_remove_replaced(struct srv_write *w)
{
    srv_write_tell_remove(w);
    if (w->tail != NULL) {
        srv_snapshots_remove(w->writer->tails.snapshots, srv_tail_journaled(w->tail));
        srv_tail_destroy(w->tail);
        w->tail = NULL;
    }
    (void)srv_write_remove_scene(w);
}

bool srv_write_remember(struct srv_write *w)
{
    if (w->op.id.length == 0)
        return true;
    struct srv_companion *companion = srv_companion_make(&w->writer->companions, w->scene);
    if (companion != NULL && companion->remembered == NULL)
        companion->remembered = srv_remembered_create(w->writer->budget);
    const obb_str outcome = {w->outcome.bytes, w->outcome.length};
    if (companion != NULL && companion->remembered != NULL &&
        srv_remembered_push(companion->remembered, w->op.id, outcome, w->committed.moment, false)) {
        w->is_remembered = true;
        wire_buf_fini(&w->outcome);
    }
    return w->is_remembered;
}

void srv_write_refuse_prepared(struct srv_write *w)
{
    if (w->prepared != NULL)
        obb_edit_discard(w->prepared);
    srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
}

void srv_write_settle_remembered(struct srv_write *w, bool published)
{
    if (!w->is_remembered)
        return;
    w->is_remembered = false;
    struct srv_remembered *remembered = srv_companion_of(w->scene)->remembered;
    if (published)
        srv_remembered_publish(remembered);
    else
        srv_remembered_revert(remembered);
}

srv_submitted srv_write_submit(struct srv_write *w)
{
    w->status = OBB_CANCELLED; /* if the pool gives the job up before prepare_step */
    return srv_pool_submit(w->writer->pool, &w->job);
}
