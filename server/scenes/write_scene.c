#include "server/scenes/write_scene_body.h"

#include "server/scenes/write_base_body.h"

/* The record of a scene that was made is settled, or its parts have failed. The scene was hidden
 * meanwhile. */
static void settle_made(struct srv_write *w, srv_journal_status status, uint64_t seq, size_t bytes)
{
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    struct srv_tail *tail = srv_tail_of(w->scene);
    srv_lock_release(w->writer->locks, &w->lock);
    srv_write_settle_remembered(w, true); /* if the scene goes, so does what it remembers */
    if (status == SRV_JOURNAL_OK) {
        srv_snapshots_add(snapshots, srv_tail_journaled(tail));
        srv_write_succeed_and_shed(w);
        srv_snapshot_written(snapshots, srv_tail_journaled(tail), seq, bytes);
    } else {
        srv_tail_destroy(tail);
        if (status == SRV_JOURNAL_SUPERSEDED) {
            srv_write_begin_behind(w);
            return;
        }
        if (w->in_parts && w->cancelled != NULL && atomic_load(w->cancelled))
            srv_write_refuse(w, SRV_REFUSED_BY_SCENE,
                             OBB_CANCELLED); /* its client gave the parts up */
        else
            srv_write_refuse_by_journal(w, status);
    }
    srv_lock_wake(&w->lock);
}

static void on_made(struct srv_record_entry *record, srv_journal_status status)
{
    struct srv_write *w = record->context;
    struct srv_snapshot *parts = w->parts;
    w->parts = NULL;
    if (parts != NULL)
        srv_snapshot_parts_end(parts, srv_journal_may_hold(status));
    settle_made(w, status, record->entry.seq, record->size);
}

/* Commits what was prepared, if anything, to a scene that the op has made, and that stays locked
 * and hidden. */
static void commit_made(struct srv_write *w)
{
    if (w->prepared != NULL)
        obb_edit_commit(w->prepared, &w->committed);
    else
        srv_write_describe(w);
}

static void append_made(struct srv_write *w)
{
    const struct srv_tails *tails = &w->writer->tails;
    struct srv_record_entry *record = w->record;
    w->record = NULL;
    srv_record_entry_append(record, tails->journal, tails->drain, on_made, w);
}

/* The parts of the record are told of what was prepared: it is committed afterwards. */
static void on_parts_made(void *context, srv_journal_status status)
{
    struct srv_write *w = context;
    commit_made(w);
    if (status != SRV_JOURNAL_OK) {
        w->parts = NULL;
        settle_made(w, status, 0, 0);
        return;
    }
    srv_record_entry_name_parts(w->record, w->parts);
    append_made(w);
}

void srv_write_make_durable(struct srv_write *w)
{
    if (!srv_write_make_tail(w, w->scene) || !srv_write_remember(w)) {
        srv_tail_destroy(srv_tail_of(w->scene));
        srv_lock_release(w->writer->locks, &w->lock);
        srv_write_refuse_prepared(w);
        srv_lock_wake(&w->lock);
        return;
    }
    if (!w->in_parts) {
        commit_made(w);
        append_made(w);
        return;
    }
    const struct srv_parts parts = srv_parts_of_commit(w->prepared);
    w->parts = srv_snapshot_parts(w->writer->tails.snapshots, w->number, w->record->entry.link.id,
                                  w->epoch, w->op.edit->dimensions, &parts, on_parts_made, w);
    if (w->parts == NULL)
        on_parts_made(w, SRV_JOURNAL_FAILED);
}

void srv_write_hide(struct srv_write *w)
{
    if (srv_lock_take(w->writer->locks, &w->lock, w->scene, true, 0)) {
        srv_write_make_durable(w);
        return;
    }
    srv_write_refuse_prepared(w);
}

void srv_write_create(struct srv_write *w)
{
    const obb_status status = srv_write_make_scene(w, &w->op.settings);
    if (status != OBB_OK) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    if (w->number == 0) {
        srv_write_describe(w);
        srv_write_tell_commit(w);
        srv_write_succeed(w);
        return;
    }
    const wire_record record = {
        .kind = WIRE_RECORD_MADE,
        .base = w->made_base,
        .name = w->op.scene,
        .has_boxes = true,
        .effects = {.has_settings = true, .settings = w->op.settings, .first_id = 1, .next_id = 1}};
    w->record = srv_tails_encode(&w->writer->tails, w->scene, w->number, w->op.settings.dimensions,
                                 &record);
    if (w->record != NULL)
        srv_write_hide(w);
    else
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
}

void srv_write_load(struct srv_write *w)
{
    obb_status status = w->op.effects->count <= obb_store_box_room(w->writer->store)
                            ? srv_write_make_scene(w, &w->op.settings)
                            : OBB_LIMIT;
    if (status != OBB_OK) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    status = obb_effects_prepare(w->scene, w->op.effects, true, w->arena, &w->prepared);
    if (status != OBB_OK) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, status);
        return;
    }
    obb_edit_commit(w->prepared, &w->committed);
    srv_write_tell_commit(w);
    srv_write_succeed(w);
}

/* The record of a scene's end is settled. The scene was locked meanwhile. */
static void on_gone(struct srv_record_entry *record, srv_journal_status status)
{
    struct srv_write *w = record->context;
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    srv_lock_release(w->writer->locks, &w->lock);
    if (status == SRV_JOURNAL_OK) {
        srv_snapshot_written(snapshots, NULL, record->entry.seq, record->bytes.length);
        srv_snapshots_remove(snapshots, srv_tail_journaled(w->tail));
        srv_write_tell_remove(w);
        srv_tail_destroy(w->tail);
        (void)srv_write_remove_scene(w);
        srv_write_succeed(w);
    } else {
        srv_snapshots_go_on(srv_tail_journaled(w->tail));
        if (status == SRV_JOURNAL_SUPERSEDED) {
            srv_write_begin_behind(w);
            return;
        }
        srv_write_refuse_by_journal(w, status);
    }
    srv_lock_wake(&w->lock);
}

/* Removes a durable scene, of which everything is durable. */
static void remove_durable(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    const wire_record record = {.kind = WIRE_RECORD_GONE};
    w->record = srv_tails_encode(tails, w->scene, srv_write_number(w), 3, &record);
    if (w->record == NULL || !srv_lock_take(w->writer->locks, &w->lock, w->scene, false, 0)) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
        return;
    }
    struct srv_record_entry *gone = w->record;
    w->record = NULL;
    srv_snapshots_pause(srv_tail_journaled(w->tail));
    srv_record_entry_append(gone, tails->journal, tails->drain, on_gone, w);
}

void srv_write_remove(struct srv_write *w)
{
    if (w->tail != NULL) {
        remove_durable(w);
        return;
    }
    if (w->scene != NULL)
        srv_write_tell_remove(w);
    const obb_status status = srv_write_remove_scene(w);
    if (status == OBB_OK)
        srv_write_succeed(w);
    else
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, status);
}
