#include "server/scenes/write_copy_body.h"

#include "server/scenes/async_destroy.h"
#include "server/scenes/epoch.h"
#include "server/scenes/write_base_body.h"

#include <assert.h>

/* Returns whether the store has room for the boxes and frames of the copy, in place of those of the
 * scene that it replaces. */
static bool boxes_fit(const struct srv_write *w, size_t boxes)
{
    const size_t room = obb_store_box_room(w->writer->store);
    const size_t promised = w->writer->locks->promised_boxes;
    obb_scene_info info = {.boxes = 0};
    if (w->scene != NULL)
        obb_scene_info_without_bounds(w->scene, &info);
    return boxes <= info.boxes + info.frames + (room > promised ? room - promised : 0);
}

static size_t copy_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    const double begun = srv_clock();
    w->status = obb_scene_copy(&w->op.copy, w->cancelled, w->arena->budget, &w->made_copy);
    if (w->status == OBB_OK && w->writer->tails.hashes)
        w->fingerprint = obb_scene_fingerprint(w->made_copy);
    w->seconds = srv_clock() - begun;
    return 0;
}

/* Puts the copy into the store, where no scene has its name. */
static obb_status adopt_copy(struct srv_write *w)
{
    const obb_status status = obb_store_adopt(w->writer->store, w->made_copy, w->op.copy.epoch);
    if (status != OBB_OK)
        return status;
    w->scene = w->made_copy;
    w->made_copy = NULL;
    w->epoch = w->op.copy.epoch;
    w->made_scene = true;
    return OBB_OK;
}

/* Ends a copy that is as durable as it shall be. */
static void succeed_copy(struct srv_write *w)
{
    if (w->made_copy != NULL) {
        srv_write_remove_replaced(w);
        const obb_status status = adopt_copy(w); /* in the place of the scene that was removed */
        assert(status == OBB_OK);
        (void)status;
    }
    if (w->is_stored)
        srv_snapshots_add(w->writer->tails.snapshots, srv_tail_journaled(srv_tail_of(w->scene)));
    srv_write_drop_copy(w);
    srv_write_drop_record(w);
    srv_write_describe(w);
    srv_write_tell_commit(w);
    srv_write_succeed(w);
}

/* Another process came first: begins the copy anew, whose pieces are dropped. */
static void copy_anew(struct srv_write *w)
{
    struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    srv_write_forsake_copy(w, copy);
    if (w->made_copy != NULL) {
        srv_companion_drop(&w->writer->companions, copy);
        srv_async_destroy(w->writer->pool, w->writer->drain, copy);
    }
    w->made_copy = NULL;
    w->is_copied = w->is_stored = false;
    w->copy_id = (wire_record_id){0};
    srv_write_begin_behind(w);
}

/* The journal has written what becomes of the copy, and of the scene in its place, or has failed.
 * That scene, or else the hidden copy, was locked meanwhile. */
static void copy_settled(struct srv_write *w, srv_journal_status status)
{
    srv_lock_release(w->writer->locks, &w->lock);
    if (status == SRV_JOURNAL_OK) {
        succeed_copy(w);
    } else {
        if (w->tail != NULL)
            srv_snapshots_go_on(srv_tail_journaled(w->tail));
        if (status == SRV_JOURNAL_SUPERSEDED) {
            copy_anew(w);
            return;
        }
        if (w->made_scene)
            srv_write_forsake_copy(w, w->scene);
        srv_write_refuse_by_journal(w, status);
    }
    srv_lock_wake(&w->lock);
}

/* The record that names the pieces of the copy is settled. */
static void on_named(struct srv_record_entry *record, srv_journal_status status)
{
    struct srv_write *w = record->context;
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    const struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    struct srv_journaled *journaled = srv_tail_journaled(srv_tail_of(copy));
    if (status == SRV_JOURNAL_OK) {
        journaled->place = record->entry.seq;
        srv_snapshot_named(journaled);
        srv_snapshot_written(snapshots, NULL, record->entry.seq, record->bytes.length);
    }
    copy_settled(w, status);
}

/* Lets a record say that the copy is whole, and takes the place of the scene that is there. Returns
 * false without memory. */
static bool name_copy(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    const struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    obb_scene_info info;
    obb_scene_info_without_bounds(copy, &info);
    const wire_record record = {
        .kind = WIRE_RECORD_MADE,
        .epoch = w->op.copy.epoch,
        .id = w->copy_id,
        .base = w->tail != NULL ? srv_tail_journaled(w->tail)->newest
                                : srv_journal_newest(tails->journal, w->op.scene),
        .seen = srv_journal_seen(tails->journal),
        .name = w->op.scene,
        .in_parts = true,
        .has_boxes = true,
        .boxes = info.boxes,
        .effects = {.moment = info.now, .has_settings = true, .settings = info.settings}};
    struct srv_record_entry *entry = srv_record_entry_create(
        &record, w->op.scene, w->number, info.settings.dimensions, tails->budget);
    if (entry == NULL)
        return false;
    srv_record_entry_append(entry, tails->journal, tails->drain, on_named, w);
    return true;
}

static void on_sealed(void *context, srv_journal_status status) { copy_settled(context, status); }

/* Lets the journal say that the copy is whole, and that the scene in its place, if there is one, is
 * gone. */
static void settle_copy(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    struct srv_record_entry *gone = w->record;
    const struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    if (w->tail != NULL)
        srv_snapshots_pause(srv_tail_journaled(w->tail));
    if (!srv_journal_seals(tails->journal)) {
        if (!name_copy(w))
            copy_settled(w, SRV_JOURNAL_FAILED);
        return;
    }
    if (!srv_snapshot_seal(srv_tail_journaled(srv_tail_of(copy)),
                           w->tail != NULL ? srv_tail_journaled(w->tail)->number : 0,
                           gone != NULL ? &gone->bytes : NULL, on_sealed, w))
        copy_settled(w, SRV_JOURNAL_FAILED);
}

/* Locks the scene in whose place the copy comes, or the copy, which is hidden in the store, until
 * the journal has settled what becomes of them. Returns false without memory. */
static bool lock_and_settle(struct srv_write *w, size_t boxes)
{
    const wire_record record = {.kind = WIRE_RECORD_GONE};
    /* a record that names the copy says it, too */
    if (w->tail != NULL && srv_journal_seals(w->writer->tails.journal)) {
        w->record = srv_tails_encode(&w->writer->tails, w->scene,
                                     srv_tail_journaled(w->tail)->number, 3, &record);
        if (w->record == NULL)
            return false;
    }
    obb_scene_info info;
    obb_scene_info_without_bounds(w->scene, &info);
    const size_t there = info.boxes + info.frames;
    if (!srv_lock_take(w->writer->locks, &w->lock, w->scene, w->made_scene,
                       boxes > there ? boxes - there : 0))
        return false;
    if (w->made_copy != NULL && w->writer->memory.limit > 0)
        srv_lock_promise(w->writer->locks, &w->lock, w->fault.bytes);
    settle_copy(w);
    return true;
}

/* Puts the copy in its place, at once or when the journal has written that. The scene there, if
 * any, is unlocked. */
static void place_copy(struct srv_write *w)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(w->made_copy, &info);
    const size_t boxes = info.boxes + info.frames;
    w->fault.bytes = obb_scene_bytes(w->made_copy);
    if (!boxes_fit(w, boxes)) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    if (!srv_scene_memory_shed(&w->writer->memory, NULL, w->fault.bytes)) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_SCENE_MEMORY);
        return;
    }
    obb_status status = OBB_OK;
    if (w->scene == NULL)
        status = obb_store_full(w->writer->store) ? OBB_LIMIT : adopt_copy(w);
    if (status != OBB_OK) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, status);
    } else if (!w->is_stored) {
        succeed_copy(w);
    } else if (!lock_and_settle(w, boxes)) {
        if (w->made_scene)
            srv_write_forsake_copy(w, w->scene);
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
    }
}

/* All pieces of the copy are in the journal. */
static void on_stored(void *context, srv_journal_status status)
{
    struct srv_write *w = context;
    if (status == SRV_JOURNAL_OK) {
        w->is_stored = true;
        w->begin(w); /* the scenes may be others by now */
    } else {
        srv_write_refuse_by_journal(w, status);
    }
}

/* Writes the pieces of a copy that shall be durable into the journal, before anybody sees it.
 * Returns false without memory. */
static bool store_copy(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    w->number = srv_journal_number(tails->journal);
    if (!srv_journal_seals(tails->journal))
        w->copy_id = srv_tails_new_id(tails);
    return srv_write_make_tail(w, w->made_copy) &&
           srv_snapshot_make(tails->snapshots, srv_tail_journaled(srv_tail_of(w->made_copy)),
                             on_stored, w);
}

static void copied(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->is_copied = true;
    w->job.cancelled = NULL;
    w->begin(w); /* the scenes may be others by now */
}

/* Returns whether the copy shall be durable: it is as durable as the scene that it replaces, and
 * durable if it replaces none. A hidden scene is locked, so the copy waits for that. */
static bool shall_be_durable(const struct srv_write *w)
{
    return w->writer->tails.journal != NULL && (w->scene == NULL || w->tail != NULL);
}

/* Drops the pieces of a copy that is not to be durable any more. */
static void unstore_copy(struct srv_write *w)
{
    srv_write_forsake_copy(w, w->made_copy);
    w->is_stored = false;
    w->number = 0;
    w->copy_id = (wire_record_id){0};
}

/* Stores the copy or puts it in its place. Another scene may have come there since the copy began
 * last, so that the copy shall be durable, or shall not be durable any more. */
static void finish_copy(struct srv_write *w)
{
    if (w->status == OBB_OK && !w->is_stored && w->cancelled != NULL && atomic_load(w->cancelled))
        w->status = OBB_CANCELLED;
    if (w->status != OBB_OK) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    const bool durable = shall_be_durable(w);
    if (w->is_stored && !durable)
        unstore_copy(w);
    if (w->is_stored == durable)
        place_copy(w);
    else if (!store_copy(w))
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
}

void srv_write_copy(struct srv_write *w)
{
    if (w->scene != NULL && !w->op.replace) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_BAD_VALUE);
        return;
    }
    if (w->is_copied) {
        finish_copy(w);
        return;
    }
    const obb_view_info *from = obb_view_info_get(w->op.from);
    if (!boxes_fit(w, from->boxes + from->frames)) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    w->op.copy.epoch = w->op.epoch;
    if (w->op.copy.epoch == 0 && !srv_epoch_draw(&w->op.copy.epoch)) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
        return;
    }
    w->job.advance = copy_step;
    w->job.done = copied;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = srv_write_submit(w);
    if (submitted != SRV_SUBMITTED)
        srv_write_refuse(w, SRV_REFUSED_BY_QUEUE,
                         submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
}
