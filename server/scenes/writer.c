#include "server/scenes/writer.h"

#include "server/scenes/async_destroy.h"
#include "server/scenes/conditions.h"
#include "server/scenes/epoch.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/remembered.h"

#include <assert.h>
#include <stddef.h>

/* ---- Listeners ------------------------------------------------------------------------------- */

void srv_writer_listen(struct srv_writer *writer, srv_write_listener listener)
{
    assert(writer->listener_count < SRV_WRITE_LISTENERS);
    writer->listeners[writer->listener_count++] = listener;
}

static void tell_commit(const struct srv_write *w)
{
    const struct srv_writer *writer = w->writer;
    for (size_t i = 0; i < writer->listener_count; i++)
        if (writer->listeners[i].on_commit != NULL)
            writer->listeners[i].on_commit(writer->listeners[i].context, &w->op, w->scene,
                                           &w->committed);
}

static void tell_remove(const struct srv_write *w)
{
    const struct srv_writer *writer = w->writer;
    for (size_t i = 0; i < writer->listener_count; i++)
        if (writer->listeners[i].on_remove != NULL)
            writer->listeners[i].on_remove(writer->listeners[i].context, &w->op, w->scene);
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static obb_status make_scene(struct srv_write *w, const obb_settings *settings)
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

static obb_status remove_scene(struct srv_write *w)
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

/* New settings count as a commit that changed no box. */
static void describe_commit(struct srv_write *w)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(w->scene, &info);
    w->committed = (obb_committed){.moment = info.now, .changed = true};
}

/* ---- The ends of an op ----------------------------------------------------------------------- */

static void begin_anew(struct srv_write *w);

/* Takes the tail from a copy, if it has one: the copy will not be durable. */
static void forsake_copy(struct srv_write *w, const struct obb_scene *copy)
{
    struct srv_tail *tail = srv_tail_of(copy);
    if (tail != NULL)
        srv_snapshots_remove(w->writer->tails.snapshots, srv_tail_journaled(tail));
    srv_tail_destroy(tail);
}

/* Closes the view of a copy, and destroys a copy that is in no store. */
static void drop_copy(struct srv_write *w)
{
    srv_view_close(w->writer->locks, w->op.from);
    w->op.from = NULL;
    if (w->made_copy != NULL) {
        forsake_copy(w, w->made_copy);
        srv_companion_drop(&w->writer->companions, w->made_copy);
    }
    srv_async_destroy(w->writer->pool, w->writer->drain, w->made_copy);
    w->made_copy = NULL;
}

static void drop_record(struct srv_write *w)
{
    srv_record_entry_destroy(w->record);
    w->record = NULL;
    w->in_parts = false;
    wire_buf_fini(&w->outcome);
}

static void refuse(struct srv_write *w, srv_refused by, obb_status status)
{
    drop_copy(w);
    drop_record(w);
    if (w->made_scene) {
        (void)remove_scene(w); /* no listener has heard of it */
        w->epoch = 0;
    }
    w->made_scene = false;
    w->refused_by = by;
    w->status = status;
    w->done(w);
}

static void succeed(struct srv_write *w)
{
    w->refused_by = SRV_REFUSED_BY_NONE;
    w->status = OBB_OK;
    w->done(w);
}

static void refuse_by_journal(struct srv_write *w, srv_journal_status status)
{
    w->journal = status;
    refuse(w, SRV_REFUSED_BY_JOURNAL, OBB_NO_MEMORY);
}

/* ---- Refusals that rest on what is not durable yet ------------------------------------------- */

static struct srv_write *write_of(struct srv_tail_item *item)
{
    return (struct srv_write *)(void *)((char *)item - offsetof(struct srv_write, item));
}

static void refusal_durable(struct srv_tail_item *item)
{
    struct srv_write *w = write_of(item);
    refuse(w, w->refused_by, w->status);
}

static void refusal_revert(struct srv_tail_item *item) { (void)item; /* it has changed nothing */ }

static void refusal_again(struct srv_tail_item *item) { begin_anew(write_of(item)); }

/* Refuses an op for what it found in its scene: once that is durable. */
static void refuse_after(struct srv_write *w, srv_refused by, obb_status status)
{
    static const srv_tail_calls calls = {
        .durable = refusal_durable, .revert = refusal_revert, .again = refusal_again};
    if (w->tail == NULL || srv_tail_empty(w->tail) || status == OBB_CANCELLED) {
        refuse(w, by, status);
        return;
    }
    w->refused_by = by;
    w->status = status;
    srv_tail_rest(w->tail, &w->item, &calls);
}

/* ---- Edits ----------------------------------------------------------------------------------- */

/* Rehearses the prepared edit, if it is a dry run or its queries have changes of their own. */
static void rehearse(struct srv_write *w)
{
    if (w->status != OBB_OK || (!w->op.dry_run && w->op.edit->with_entries == 0))
        return;
    obb_fault fault;
    w->status = obb_rehearse(w->prepared, w->arena, &w->rehearsal, &fault);
    if (w->status != OBB_OK) {
        w->fault = fault;
        obb_rehearsal_end(&w->rehearsal);
        obb_edit_discard(w->prepared);
        w->prepared = NULL;
    } else if (w->op.dry_run) {
        obb_prepared_describe(w->prepared, &w->committed);
    } else {
        obb_rehearsal_end(&w->rehearsal);
    }
}

/* Returns what the journal calls the scene of the op; 0: it is not durable. */
static uint64_t number_of(const struct srv_write *w)
{
    return w->tail != NULL ? srv_tail_journaled(w->tail)->number : w->number;
}

/* Describes what the prepared edit does. If it does too much for one record, w->in_parts is set,
 * and there is no list. */
static obb_status describe_effects(struct srv_write *w, struct obb_arena *arena, bool on_pool,
                                   obb_effects *out)
{
    /* what the loop prepares is small */
    if (!on_pool || !srv_journal_holds_pieces(w->writer->tails.journal))
        return obb_prepared_effects(w->prepared, arena, out);
    struct srv_parts parts = srv_parts_of_commit(w->prepared);
    *out = obb_prepared_summary(w->prepared);
    if (!srv_parts_list(&parts, SRV_WHOLE_EFFECTS, SRV_WHOLE_BYTES, arena, out))
        return OBB_NO_MEMORY;
    w->in_parts = !parts.over;
    if (w->in_parts)
        out->count = 0;
    return OBB_OK;
}

/* Encodes what the prepared edit does for the journal. An edit that changes nothing, states no time
 * and has no id needs no record. */
static obb_status encode_record(struct srv_write *w, bool on_pool)
{
    struct srv_tails *tails = &w->writer->tails;
    wire_record record = {.kind = w->made_scene ? WIRE_RECORD_MADE : WIRE_RECORD_COMMIT,
                          .base = w->made_base,
                          .name = w->made_scene ? w->op.scene : (obb_str){NULL, 0},
                          .commit_id = w->op.id,
                          .answer = {w->outcome.bytes, w->outcome.length}};
    struct obb_arena scratch; /* the list takes much more room than its bytes */
    obb_arena_init(&scratch);
    scratch.budget = tails->budget;
    obb_status status = describe_effects(w, &scratch, on_pool, &record.effects);
    record.in_parts = w->in_parts;
    if (w->made_scene && !record.effects.has_settings) {
        record.effects.has_settings = true;
        record.effects.settings = w->made_settings;
    }
    if (status == OBB_OK && (w->made_scene || w->op.id.length > 0 || record.effects.appends ||
                             record.effects.time_stated)) {
        w->record =
            srv_tails_encode(tails, w->scene, number_of(w), w->op.edit->dimensions, &record);
        if (w->record == NULL)
            status = OBB_NO_MEMORY;
    }
    obb_arena_fini(&scratch);
    return status;
}

/* Encodes what will be needed of the prepared edit, while a worker prepares it, or the loop: its
 * outcome if it has an id, and its record if its scene is durable. */
static void encode(struct srv_write *w, bool on_pool)
{
    if (w->status != OBB_OK || w->op.check_only || w->op.dry_run)
        return;
    if (w->op.id.length > 0) {
        obb_prepared_describe(w->prepared, &w->committed);
        w->outcome.budget = w->writer->budget;
        wire_write_outcome(&w->outcome, w->op.edit, &w->committed);
        if (w->outcome.failed)
            w->status = OBB_NO_MEMORY;
    }
    if (w->status == OBB_OK && number_of(w) != 0)
        w->status = encode_record(w, on_pool);
    if (w->status != OBB_OK) {
        obb_edit_discard(w->prepared);
        w->prepared = NULL;
    }
}

/* The moment of a query was refused: if the scene refuses the changes of a query before it, that
 * refusal comes first. */
static void check_queries_before(struct srv_write *w, size_t box_room)
{
    obb_edit edit = *w->op.edit;
    obb_fault fault;
    obb_rehearsal rehearsal = {.views = NULL};
    struct obb_prepared *prepared;
    edit.moment_count = w->fault.index;
    if (obb_edit_prepare(w->scene, &edit, w->now_ms, box_room, w->arena, &prepared, &fault) !=
        OBB_OK)
        return;
    const obb_status status = obb_rehearse(prepared, w->arena, &rehearsal, &fault);
    obb_rehearsal_end(&rehearsal);
    obb_edit_discard(prepared);
    if (status == OBB_OK || !fault.of_with)
        return;
    w->status = status;
    w->fault = fault;
}

static void prepare(struct srv_write *w, size_t box_room, size_t byte_room, bool on_pool)
{
    const double begun = srv_clock();
    /* room for a commit may be made from histories; a dry run takes none */
    obb_scene_set_room(w->scene, w->op.dry_run ? SIZE_MAX : byte_room);
    w->status = obb_edit_prepare(w->scene, w->op.edit, w->now_ms, box_room, w->arena, &w->prepared,
                                 &w->fault);
    rehearse(w);
    if (w->status != OBB_OK && w->fault.group == OBB_GROUP_MOMENT && w->op.edit->with_entries > 0)
        check_queries_before(w, box_room);
    encode(w, on_pool);
    w->seconds = srv_clock() - begun;
}

static size_t prepare_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    prepare(w, w->lock.promised, w->writer->memory.limit == 0 ? SIZE_MAX : w->lock.promised_bytes,
            true);
    if (w->status != OBB_OK)
        return 0;
    if (w->op.check_only || w->op.dry_run) {
        obb_edit_discard(w->prepared);
        w->prepared = NULL;
    } else {
        obb_edit_seal(w->prepared);
    }
    return 0;
}

static size_t discard_step(struct srv_job *job)
{
    obb_edit_discard(((struct srv_write *)job)->prepared);
    return 0;
}

/* Returns true if the edit was refused for want of --scene-memory, and there is room for it now. */
static bool shed(struct srv_write *w)
{
    if (w->status != OBB_SCENE_MEMORY || w->has_shed)
        return false;
    w->has_shed = true;
    return srv_scene_memory_shed(&w->writer->memory, w->scene, w->fault.bytes);
}

/* Ends a dry run: the scene stays as it is. */
static void finish_dry_run(struct srv_write *w)
{
    obb_scene_info info;
    if (w->prepared != NULL) /* else a worker has discarded it */
        obb_edit_discard(w->prepared);
    obb_scene_info_without_bounds(w->scene, &info);
    w->committed.moment = info.now;
    w->committed.changed = false;
    srv_views_opened(w->writer->locks, w->rehearsal.opened_count);
    refuse(w, SRV_REFUSED_BY_NONE, OBB_OK);
}

/* A commit that made its scene smaller, or took more than was estimated, may be over the limit. The
 * queries of the commit have their views by now. */
static void succeed_and_shed(struct srv_write *w)
{
    struct srv_writer *writer = w->writer;
    if (w->committed.changed || w->op.kind == SRV_OP_EDIT)
        tell_commit(w);
    succeed(w);
    (void)srv_scene_memory_shed(&writer->memory, NULL, 0);
}

/* ---- Commits that are remembered ------------------------------------------------------------- */

/* Remembers the prepared edit as pending, if it has an id. Returns false without memory. */
static bool remember(struct srv_write *w)
{
    if (w->op.id.length == 0)
        return true;
    struct srv_companion *companion = srv_companion_make(&w->writer->companions, w->scene);
    if (companion != NULL && companion->remembered == NULL)
        companion->remembered = srv_remembered_create(w->writer->budget);
    const obb_str outcome = {w->outcome.bytes, w->outcome.length};
    if (companion != NULL && companion->remembered != NULL &&
        srv_remembered_push(companion->remembered, w->op.id, outcome, w->committed.moment)) {
        w->is_remembered = true;
        wire_buf_fini(&w->outcome);
    }
    return w->is_remembered;
}

/* Refuses an op that was prepared, and for which there is no memory. */
static void refuse_prepared(struct srv_write *w)
{
    if (w->prepared != NULL)
        obb_edit_discard(w->prepared);
    refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
}

static void settle_remembered(struct srv_write *w, bool published)
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

static void commit_durable(struct srv_tail_item *item)
{
    struct srv_write *w = write_of(item);
    obb_edit_publish(w->prepared);
    settle_remembered(w, true);
    succeed_and_shed(w);
}

static void commit_revert(struct srv_tail_item *item)
{
    struct srv_write *w = write_of(item);
    obb_edit_revert(w->prepared);
    settle_remembered(w, false);
}

static void commit_failed(struct srv_tail_item *item, srv_journal_status status)
{
    refuse_by_journal(write_of(item), status);
}

static void commit_again(struct srv_tail_item *item) { begin_anew(write_of(item)); }

/* Applies what was prepared to a durable scene, and answers once that is durable. */
static void apply(struct srv_write *w)
{
    static const srv_tail_calls calls = {.durable = commit_durable,
                                         .revert = commit_revert,
                                         .failed = commit_failed,
                                         .again = commit_again};
    struct srv_record_entry *record = w->record;
    if (!remember(w)) {
        refuse_prepared(w);
        return;
    }
    const double begun = srv_clock();
    obb_edit_apply(w->prepared, &w->committed);
    w->seconds += srv_clock() - begun;
    w->record = NULL;
    const struct srv_parts parts = srv_parts_of_commit(w->prepared);
    if (record != NULL && w->in_parts)
        srv_tail_append_in_parts(w->tail, &w->item, &calls, record, &parts, w->op.edit->dimensions);
    else if (record != NULL)
        srv_tail_append(w->tail, &w->item, &calls, record);
    else if (!srv_tail_empty(w->tail))
        srv_tail_rest(w->tail, &w->item, &calls);
    else
        commit_durable(&w->item);
}

/* Begins an op anew that had made or locked a scene, after another process came first. */
static void begin_behind(struct srv_write *w)
{
    if (w->made_scene)
        (void)remove_scene(w); /* no listener has heard of it */
    w->made_scene = false;
    w->number = 0;
    srv_lock_wake(&w->lock); /* whoever applies what came first goes before */
    begin_anew(w);
}

/* The record of a scene that was made is settled, or its parts have failed. The scene was hidden
 * meanwhile. */
static void settle_made(struct srv_write *w, srv_journal_status status, uint64_t seq, size_t bytes)
{
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    struct srv_tail *tail = srv_tail_of(w->scene);
    srv_lock_release(w->writer->locks, &w->lock);
    settle_remembered(w, true); /* if the scene goes, so does what it remembers */
    if (status == SRV_JOURNAL_OK) {
        srv_snapshots_add(snapshots, srv_tail_journaled(tail));
        succeed_and_shed(w);
        srv_snapshot_written(snapshots, srv_tail_journaled(tail), seq, bytes);
    } else {
        srv_tail_destroy(tail);
        if (status == SRV_JOURNAL_SUPERSEDED) {
            begin_behind(w);
            return;
        }
        if (w->in_parts && w->cancelled != NULL && atomic_load(w->cancelled))
            refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED); /* its client gave the parts up */
        else
            refuse_by_journal(w, status);
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

/* Gives a scene that the op has made a tail, behind the record of its making, if it has one.
 * Returns false without memory. */
static bool make_tail(struct srv_write *w, struct obb_scene *scene)
{
    struct srv_journaled journaled = {.scene = scene, .number = w->number, .newest = w->copy_id};
    if (w->record != NULL)
        journaled.newest = w->record->entry.link.id;
    struct srv_companion *companion = srv_companion_make(&w->writer->companions, scene);
    return companion != NULL && srv_tail_create(&w->writer->tails, companion, &journaled);
}

/* Commits what was prepared, if anything, to a scene that the op has made, and that stays locked
 * and hidden. */
static void commit_made(struct srv_write *w)
{
    if (w->prepared != NULL)
        obb_edit_commit(w->prepared, &w->committed);
    else
        describe_commit(w);
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

/* Makes a scene that the op has made durable. It stays locked and hidden until then. */
static void make_durable(struct srv_write *w)
{
    if (!make_tail(w, w->scene) || !remember(w)) {
        srv_tail_destroy(srv_tail_of(w->scene));
        srv_lock_release(w->writer->locks, &w->lock);
        refuse_prepared(w);
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

/* Locks a scene that the op has made on the loop, and makes it durable. */
static void hide(struct srv_write *w)
{
    if (srv_lock_take(w->writer->locks, &w->lock, w->scene, true, 0)) {
        make_durable(w);
        return;
    }
    refuse_prepared(w);
}

/* Commits what was prepared, unless it is only a check. */
static void finish_edit(struct srv_write *w)
{
    if (w->status != OBB_OK) {
        obb_scene_settle(w->scene);
        refuse_after(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    if (w->op.dry_run) {
        finish_dry_run(w);
        return;
    }
    if (w->op.check_only) {
        if (w->prepared != NULL) /* else a worker has discarded it */
            obb_edit_discard(w->prepared);
        refuse(w, SRV_REFUSED_BY_NONE, OBB_OK);
        return;
    }
    if (w->number != 0) {
        hide(w);
        return;
    }
    if (w->tail != NULL) {
        apply(w);
        return;
    }
    if (!remember(w)) {
        refuse_prepared(w);
        return;
    }
    const double begun = srv_clock();
    obb_edit_commit(w->prepared, &w->committed);
    w->seconds += srv_clock() - begun;
    settle_remembered(w, true);
    succeed_and_shed(w);
}

/* Submits the job of an edit whose scene is locked. */
static srv_submitted submit(struct srv_write *w)
{
    w->status = OBB_CANCELLED; /* if the pool gives the job up before prepare_step */
    return srv_pool_submit(w->writer->pool, &w->job);
}

/* Gives up what was prepared, on the pool. Returns false if nothing was, or the pool refused. */
static bool give_up(struct srv_write *w)
{
    if (w->status != OBB_OK || w->prepared == NULL)
        return false;
    w->status = OBB_CANCELLED;
    w->job.advance = discard_step;
    w->job.background = true;
    if (srv_pool_submit(w->writer->pool, &w->job) == SRV_SUBMITTED)
        return true;
    obb_edit_discard(w->prepared);
    return false;
}

static void prepared(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    const bool cancelled = w->cancelled != NULL && atomic_load(w->cancelled);
    srv_lock_promise(w->writer->locks, &w->lock, 0);
    if (shed(w)) {
        obb_scene_info_without_bounds(w->scene, &w->lock.info);
        srv_lock_promise(w->writer->locks, &w->lock, w->fault.bytes);
        if (submit(w) == SRV_SUBMITTED)
            return;
        w->status = OBB_NO_MEMORY;
    }
    w->job.cancelled = NULL; /* what follows is not given up: it is soon over, or will be durable */
    if (w->tail != NULL && srv_tail_failing(w->tail))
        w->rests_on_failure = true;
    if ((w->rests_on_failure || cancelled) && give_up(w))
        return;
    if (w->status == OBB_OK && w->op.dry_run && cancelled) {
        w->status = OBB_CANCELLED;
        obb_rehearsal_end(&w->rehearsal);
    }
    if (w->status == OBB_OK && w->number != 0 && !w->op.check_only && !w->op.dry_run) {
        make_durable(w);
        return;
    }
    srv_lock_release(w->writer->locks, &w->lock);
    if (!w->rests_on_failure) {
        finish_edit(w);
        srv_lock_wake(&w->lock);
        return;
    }
    srv_lock_wake(&w->lock); /* takes the change back */
    if (cancelled)
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    else
        begin_anew(w);
}

/* A merge in space looks for the tight fit of a hull: 150 us for two boxes, and 60 us a box for
 * many. In the plane it takes 1.5 us a box. */
static double merge_cost(const obb_merge *merge, int dimensions)
{
    const double boxes = 1.0 + (double)merge->with_count;
    return dimensions == 3 ? 150e3 + 60e3 * boxes : 1500.0 * boxes;
}

/* Returns about how many boxes stand in the frames that the edit moves or removes. The function
 * looks up only the first frames of each group, and takes the others to be like them: a look takes
 * up to 20 us if there are many frames, and the loop computes for at most a millisecond. */
static size_t likely_framed(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { LOOKS = 25 };
    obb_edit first = {.frames = edit->frames,
                      .frame_count = edit->frame_count,
                      .remove_frames = edit->remove_frames,
                      .remove_frame_count = edit->remove_frame_count};
    const size_t all = first.frame_count + first.remove_frame_count;
    if (all == 0)
        return 0;
    if (first.frame_count > LOOKS)
        first.frame_count = LOOKS;
    if (first.remove_frame_count > LOOKS)
        first.remove_frame_count = LOOKS;
    const size_t looked = first.frame_count + first.remove_frame_count;
    return (obb_edit_framed(scene, &first) * all + looked - 1) / looked;
}

/* Returns the part of the frames in edit_cost. */
static double frames_cost(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { CACHED = 10000 }; /* frames whose names the caches hold */
    const size_t frames = edit->frame_count + edit->remove_frame_count;
    if (frames == 0)
        return 0;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    const double found = (info.frames <= CACHED ? 1e3 : 20e3) * (double)frames;
    return found > SRV_LOOP_NS ? found : found + 200.0 * (double)likely_framed(scene, edit);
}

/* Returns roughly how many nanoseconds preparing takes: the figures of make bench-costs, doubled
 * for cold names and caches. */
static double edit_cost(const struct srv_write *w)
{
    const struct obb_scene *scene = w->scene;
    const obb_edit *edit = w->op.edit;
    enum { EXPIRING = 16384 }; /* more are too many for the loop, whatever their number */
    double merges = 0;
    for (size_t i = 0; i < edit->merge_count; i++)
        merges += merge_cost(&edit->merges[i], edit->dimensions);
    double moments = 0;
    for (size_t i = 0; i < edit->moment_count && moments <= SRV_LOOP_NS; i++)
        moments += 100.0 * (double)obb_needed_count(&edit->moments[i]);
    const double entries =
        merges + moments + frames_cost(scene, edit) +
        200.0 * (double)obb_edit_expiring(scene, edit, w->now_ms, EXPIRING) +
        100.0 * (double)(edit->if_box_count + edit->remove_count + edit->pose_count) +
        400.0 * (double)edit->transform_count + 1600.0 * (double)edit->put_count;
    /* A rehearsal copies the boxes that are touched, and does the edit again. To find the boxes of
     * frames, it looks at all boxes. */
    obb_scene_info info = {.boxes = 0};
    if (edit->with_frames > 0)
        obb_scene_info_without_bounds(scene, &info);
    const double rehearsed = w->op.dry_run || edit->with_entries > 0
                                 ? 20e3 + 3.0 * entries + 2000.0 * (double)edit->with_entries +
                                       60.0 * (double)edit->with_frames * (double)info.boxes
                                 : 0.0;
    const double encoded = number_of(w) == 0
                               ? 0.0
                               : 300.0 * (double)(edit->remove_count + edit->pose_count +
                                                  edit->transform_count + edit->put_count);
    return entries + rehearsed + encoded;
}

/* Returns more bytes than the commit of an edit with short texts adds. An edit of long texts comes
 * back, and knows its bytes then: obb_edit_bytes looks at all entries, which is the pool's work. So
 * does an edit of frames of which the first hold fewer boxes than the others. */
static size_t likely_bytes(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { ENTRY_BYTES = 512, COMMIT_BYTES = 4096 };
    return COMMIT_BYTES + ENTRY_BYTES * (edit->remove_count + edit->put_count + edit->pose_count +
                                         edit->transform_count + edit->merge_count +
                                         edit->frame_count + likely_framed(scene, edit));
}

static void prepare_on_pool(struct srv_write *w, size_t free_room)
{
    struct srv_writer *writer = w->writer;
    /* until the commit, what the edit may add is taken from the room of all others */
    const size_t most = w->op.edit->put_count + w->op.edit->frame_count;
    const size_t promised = most < free_room ? most : free_room;
    if (!srv_lock_take(writer->locks, &w->lock, w->scene, w->made_scene, promised)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
        return;
    }
    if (writer->memory.limit > 0) {
        const size_t bytes = likely_bytes(w->scene, w->op.edit);
        const size_t byte_room = srv_scene_memory_room(&writer->memory);
        srv_lock_promise(writer->locks, &w->lock, bytes < byte_room ? bytes : byte_room);
    }
    w->job.advance = prepare_step;
    w->job.done = prepared;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = submit(w);
    if (submitted == SRV_SUBMITTED)
        return;
    srv_lock_release(writer->locks, &w->lock);
    refuse(w, SRV_REFUSED_BY_QUEUE, submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
}

/* Returns whether the op makes its scene if there is none. */
static bool may_make(const srv_op *op)
{
    const obb_edit *e = op->edit;
    if (op->kind != SRV_OP_EDIT)
        return op->kind == SRV_OP_CREATE;
    obb_put scratch;
    return e->replace_all || e->frame_count > 0 ||
           (e->put_count > 0 && obb_edit_put_without_box(e, 0, &scratch)->parts == OBB_PUT_ALL);
}

static void edit(struct srv_write *w)
{
    const obb_edit *e = w->op.edit;
    if (w->scene == NULL) {
        const obb_status status =
            may_make(&w->op) ? make_scene(w, e->settings != NULL ? e->settings : &w->op.settings)
                             : OBB_NO_SCENE;
        if (status != OBB_OK) {
            refuse(w, SRV_REFUSED_BY_STORE, status);
            return;
        }
    }
    const size_t room = obb_store_box_room(w->writer->store);
    const size_t promised = w->writer->locks->promised_boxes;
    const size_t free_room = room > promised ? room - promised : 0;
    if (w->at_once || (edit_cost(w) <= SRV_LOOP_NS && !e->replace_all)) {
        prepare(w, free_room, srv_scene_memory_room(&w->writer->memory), false);
        if (shed(w))
            prepare(w, free_room, srv_scene_memory_room(&w->writer->memory), false);
        finish_edit(w);
    } else {
        prepare_on_pool(w, free_room);
    }
}

/* ---- The other kinds ------------------------------------------------------------------------- */

static void create(struct srv_write *w)
{
    const obb_status status = make_scene(w, &w->op.settings);
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    if (w->number == 0) {
        describe_commit(w);
        tell_commit(w);
        succeed(w);
        return;
    }
    const wire_record record = {
        .kind = WIRE_RECORD_MADE,
        .base = w->made_base,
        .name = w->op.scene,
        .effects = {.has_settings = true, .settings = w->op.settings, .first_id = 1, .next_id = 1}};
    w->record = srv_tails_encode(&w->writer->tails, w->scene, w->number, w->op.settings.dimensions,
                                 &record);
    if (w->record != NULL)
        hide(w);
    else
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
}

static void load(struct srv_write *w)
{
    obb_status status = w->op.effects->count <= obb_store_box_room(w->writer->store)
                            ? make_scene(w, &w->op.settings)
                            : OBB_LIMIT;
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    status = obb_effects_prepare(w->scene, w->op.effects, true, w->arena, &w->prepared);
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_SCENE, status);
        return;
    }
    obb_edit_commit(w->prepared, &w->committed);
    tell_commit(w);
    succeed(w);
}

/* New settings are a commit that changes no box. */
static void configure(struct srv_write *w)
{
    if (w->scene == NULL) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_SCENE);
        return;
    }
    w->settings_edit =
        (obb_edit){.dimensions = w->op.settings.dimensions, .settings = &w->op.settings};
    w->op.edit = &w->settings_edit;
    prepare(w, 0, SIZE_MAX, false);
    finish_edit(w);
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
        tell_remove(w);
        srv_tail_destroy(w->tail);
        (void)remove_scene(w);
        succeed(w);
    } else {
        srv_snapshots_go_on(srv_tail_journaled(w->tail));
        if (status == SRV_JOURNAL_SUPERSEDED) {
            begin_behind(w);
            return;
        }
        refuse_by_journal(w, status);
    }
    srv_lock_wake(&w->lock);
}

/* Removes a durable scene, of which everything is durable. */
static void remove_durable(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    const wire_record record = {.kind = WIRE_RECORD_GONE};
    w->record = srv_tails_encode(tails, w->scene, number_of(w), 3, &record);
    if (w->record == NULL || !srv_lock_take(w->writer->locks, &w->lock, w->scene, false, 0)) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
        return;
    }
    struct srv_record_entry *gone = w->record;
    w->record = NULL;
    srv_snapshots_pause(srv_tail_journaled(w->tail));
    srv_record_entry_append(gone, tails->journal, tails->drain, on_gone, w);
}

static void remove_op(struct srv_write *w)
{
    if (w->tail != NULL) {
        remove_durable(w);
        return;
    }
    if (w->scene != NULL)
        tell_remove(w);
    const obb_status status = remove_scene(w);
    if (status == OBB_OK)
        succeed(w);
    else
        refuse(w, SRV_REFUSED_BY_STORE, status);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

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
    w->seconds = srv_clock() - begun;
    return 0;
}

/* Removes the scene in whose place the copy comes. The journal says already that it is gone. */
static void remove_replaced(struct srv_write *w)
{
    tell_remove(w);
    if (w->tail != NULL) {
        srv_snapshots_remove(w->writer->tails.snapshots, srv_tail_journaled(w->tail));
        srv_tail_destroy(w->tail);
        w->tail = NULL;
    }
    (void)remove_scene(w);
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
        remove_replaced(w);
        const obb_status status = adopt_copy(w); /* in the room of the scene that was removed */
        assert(status == OBB_OK);
        (void)status;
    }
    if (w->is_stored)
        srv_snapshots_add(w->writer->tails.snapshots, srv_tail_journaled(srv_tail_of(w->scene)));
    drop_copy(w);
    drop_record(w);
    describe_commit(w);
    tell_commit(w);
    succeed(w);
}

/* Another process came first: begins the copy anew, whose pieces are dropped. */
static void copy_anew(struct srv_write *w)
{
    struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    forsake_copy(w, copy);
    if (w->made_copy != NULL) {
        srv_companion_drop(&w->writer->companions, copy);
        srv_async_destroy(w->writer->pool, w->writer->drain, copy);
    }
    w->made_copy = NULL;
    w->is_copied = w->is_stored = false;
    w->copy_id = (wire_record_id){0};
    begin_behind(w);
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
            forsake_copy(w, w->scene);
        refuse_by_journal(w, status);
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
        .effects = {.moment = info.now, .has_settings = true, .settings = info.settings}};
    struct srv_record_entry *entry = srv_record_entry_create(
        &record, w->op.scene, w->number, info.settings.dimensions, tails->budget);
    if (entry == NULL)
        return false;
    srv_record_entry_append(entry, tails->journal, tails->drain, on_named, w);
    return true;
}

static void on_sealed(void *context, srv_journal_status status) { copy_settled(context, status); }

static void on_replaced_gone(struct srv_record_entry *record, srv_journal_status status)
{
    struct srv_write *w = record->context;
    if (status == SRV_JOURNAL_OK)
        srv_snapshot_written(w->writer->tails.snapshots, NULL, record->entry.seq,
                             record->bytes.length);
    copy_settled(w, status);
}

/* Lets the journal say that the copy is whole, if it shall be durable, and that the scene in its
 * place is gone, if that is durable. */
static void settle_copy(struct srv_write *w)
{
    struct srv_tails *tails = &w->writer->tails;
    struct srv_record_entry *gone = w->record;
    const struct obb_scene *copy = w->made_copy != NULL ? w->made_copy : w->scene;
    if (w->tail != NULL)
        srv_snapshots_pause(srv_tail_journaled(w->tail));
    if (!w->is_stored) {
        w->record = NULL;
        srv_record_entry_append(gone, tails->journal, tails->drain, on_replaced_gone, w);
        return;
    }
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
    const bool named = w->is_stored && !srv_journal_seals(w->writer->tails.journal);
    if (w->tail != NULL && !named) {
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
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    if (!srv_scene_memory_shed(&w->writer->memory, NULL, w->fault.bytes)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_SCENE_MEMORY);
        return;
    }
    const obb_status status = w->scene == NULL ? adopt_copy(w) : OBB_OK;
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_STORE, status);
    } else if (!w->is_stored && w->tail == NULL) {
        succeed_copy(w);
    } else if (!lock_and_settle(w, boxes)) {
        if (w->made_scene)
            forsake_copy(w, w->scene);
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
    }
}

static void begin(struct srv_write *w);

/* All pieces of the copy are in the journal. */
static void on_stored(void *context, srv_journal_status status)
{
    struct srv_write *w = context;
    if (status == SRV_JOURNAL_OK) {
        w->is_stored = true;
        begin(w); /* the scenes may be others by now */
    } else {
        refuse_by_journal(w, status);
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
    return make_tail(w, w->made_copy) &&
           srv_snapshot_make(tails->snapshots, srv_tail_journaled(srv_tail_of(w->made_copy)),
                             on_stored, w);
}

static void copied(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->is_copied = true;
    w->job.cancelled = NULL;
    begin(w); /* the scenes may be others by now */
}

static void finish_copy(struct srv_write *w)
{
    if (w->status == OBB_OK && !w->is_stored && w->cancelled != NULL && atomic_load(w->cancelled))
        w->status = OBB_CANCELLED;
    if (w->status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    if (w->is_stored || w->writer->tails.journal == NULL || w->op.in_memory)
        place_copy(w);
    else if (!store_copy(w))
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
}

static void copy_op(struct srv_write *w)
{
    if (w->scene != NULL && !w->op.replace) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_BAD_VALUE);
        return;
    }
    if (w->is_copied) {
        finish_copy(w);
        return;
    }
    const obb_view_info *from = obb_view_info_get(w->op.from);
    if (!boxes_fit(w, from->boxes + from->frames)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    w->op.copy.epoch = w->op.epoch;
    if (w->op.copy.epoch == 0 && !srv_epoch_draw(&w->op.copy.epoch)) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
        return;
    }
    w->job.advance = copy_step;
    w->job.done = copied;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = submit(w);
    if (submitted != SRV_SUBMITTED)
        refuse(w, SRV_REFUSED_BY_QUEUE, submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
}

/* ---- Records of other processes -------------------------------------------------------------- */

/* Reads the record, and prepares what it says, if its scene goes on. Any thread. */
static void prepare_record(struct srv_write *w)
{
    wire_record record;
    w->status = wire_record_read(w->op.record, w->arena, &record);
    if (w->status != OBB_OK)
        return;
    for (size_t i = 0; record.in_parts && i < w->op.piece_count && w->status == OBB_OK; i++) {
        const obb_str piece = {.bytes = w->op.pieces[i].bytes, .length = w->op.pieces[i].length};
        struct obb_arena scratch = {.chunks = NULL};
        w->status = srv_gather_records(&w->gathered, piece, &scratch);
        obb_arena_fini(&scratch);
    }
    if (w->status == OBB_OK)
        w->status = srv_gathered_join(&w->gathered, &record);
    if (w->status != OBB_OK)
        return;
    w->effects = record.effects;
    w->followed_id = record.commit_id;
    w->answer = record.answer;
    if (record.kind == WIRE_RECORD_MADE) {
        w->effects.has_settings = false; /* the scene has them already */
        if (!w->effects.appends && !w->effects.time_stated)
            return;
    }
    w->status = obb_effects_prepare(w->scene, &w->effects, false, w->arena, &w->prepared);
}

static size_t prepare_record_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    prepare_record(w);
    if (w->prepared != NULL)
        obb_edit_seal(w->prepared);
    return 0;
}

static size_t nothing_step(struct srv_job *job)
{
    (void)job;
    return 0;
}

/* Remembers the commit of the record, if it has an id. Returns false without memory. */
static bool remember_record(struct srv_write *w)
{
    if (w->followed_id.length == 0)
        return true;
    struct srv_companion *companion = srv_companion_of(w->scene);
    if (companion->remembered == NULL)
        companion->remembered = srv_remembered_create(w->writer->budget);
    if (companion->remembered == NULL ||
        !srv_remembered_push(companion->remembered, w->followed_id, w->answer, w->effects.moment))
        return false;
    srv_remembered_publish(companion->remembered);
    return true;
}

/* Frees what a copy of another process was loaded with. */
static void drop_loader(struct srv_write *w)
{
    srv_scene_loader_fini(w->loader);
    obb_free(w->loader);
    w->loader = NULL;
}

static void refuse_record(struct srv_write *w, srv_refused by, obb_status status)
{
    if (w->prepared != NULL)
        obb_edit_discard(w->prepared);
    w->prepared = NULL;
    srv_gathered_fini(&w->gathered);
    if (w->loader != NULL) {
        drop_loader(w);
        if (w->tail != NULL)
            srv_snapshots_go_on(srv_tail_journaled(w->tail));
    }
    if (w->made_scene)
        srv_tail_destroy(srv_tail_of(w->scene));
    refuse(w, by, status);
}

/* Returns the bytes of the record and its pieces. */
static size_t followed_bytes(const srv_op *op)
{
    size_t bytes = op->record.length;
    for (size_t i = 0; i < op->piece_count; i++)
        bytes += op->pieces[i].length;
    return bytes;
}

/* Commits what the record says. The scene is unlocked, and nothing of it waits. */
static void finish_record(struct srv_write *w)
{
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    if (w->status == OBB_OK && !remember_record(w))
        w->status = OBB_NO_MEMORY;
    if (w->status != OBB_OK) {
        refuse_record(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    if (w->prepared != NULL)
        obb_edit_commit(w->prepared, &w->committed);
    else
        describe_commit(w);
    obb_scene_keep_up(w->scene, w->now_ms);
    struct srv_tail *tail = srv_tail_of(w->scene);
    srv_tail_follow(tail, w->followed, w->op.seq);
    if (w->made_scene)
        srv_snapshots_add(snapshots, srv_tail_journaled(tail));
    tell_commit(w);
    srv_snapshot_followed(snapshots, srv_tail_journaled(tail), w->op.seq, followed_bytes(&w->op));
    struct srv_writer *writer = w->writer;
    srv_gathered_fini(&w->gathered);
    succeed(w);
    (void)srv_scene_memory_shed(&writer->memory, NULL, 0);
}

static void record_prepared(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    srv_lock_release(w->writer->locks, &w->lock);
    finish_record(w);
    srv_lock_wake(&w->lock);
}

/* Ends the scene as the record says. */
static void record_of_end(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    struct srv_snapshots *snapshots = w->writer->tails.snapshots;
    srv_lock_release(w->writer->locks, &w->lock);
    srv_snapshot_written(snapshots, NULL, w->op.seq, w->op.record.length);
    srv_snapshots_remove(snapshots, srv_tail_journaled(w->tail));
    tell_remove(w);
    srv_tail_destroy(w->tail);
    (void)remove_scene(w);
    succeed(w);
    srv_lock_wake(&w->lock);
}

/* Locks the scene, and goes on with `done` when the pool has done `advance`. */
static void follow_on_pool(struct srv_write *w, size_t (*advance)(struct srv_job *job),
                           void (*done)(struct srv_job *job))
{
    if (!srv_lock_take(w->writer->locks, &w->lock, w->scene, w->made_scene, 0)) {
        refuse_record(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
        return;
    }
    w->job.advance = advance;
    w->job.done = done;
    w->job.background = true;
    if (srv_pool_submit(w->writer->pool, &w->job) == SRV_SUBMITTED)
        return;
    srv_lock_release(w->writer->locks, &w->lock);
    refuse_record(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
    srv_lock_wake(&w->lock);
}

/* Adds the scene of a record to the store, in place of one that is only here, in memory. */
static obb_status add_of_record(struct srv_write *w, const wire_record *head)
{
    if (w->scene != NULL) {
        tell_remove(w);
        (void)remove_scene(w);
    }
    const obb_status status = obb_store_add(w->writer->store, w->op.scene, &head->effects.settings,
                                            head->epoch, w->now_ms, &w->scene);
    w->made_scene = status == OBB_OK;
    return status;
}

/* Makes the scene of a record. */
static obb_status make_of_record(struct srv_write *w, const wire_record *head)
{
    const obb_status status = w->tail == NULL ? add_of_record(w, head) : OBB_BAD_VALUE;
    if (status != OBB_OK)
        return status;
    w->epoch = head->epoch;
    w->number = srv_journal_number(w->writer->tails.journal);
    return make_tail(w, w->scene) ? OBB_OK : OBB_NO_MEMORY;
}

/* Returns whether the pieces of a record are those of a copy. */
static bool is_copy(const srv_op *op)
{
    wire_record first;
    obb_str rest = {.length = 0}, one;
    if (op->piece_count > 0)
        rest = (obb_str){.bytes = op->pieces[0].bytes, .length = op->pieces[0].length};
    return wire_record_next(&rest, &one) && wire_record_head(one, &first) == OBB_OK &&
           first.kind == WIRE_RECORD_SNAPSHOT;
}

/* Loads the copy. On the pool. */
static size_t load_copy_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    const size_t count = w->op.piece_count;
    bool good = true;
    w->status = OBB_OK;
    for (size_t i = 0; i < count && good; i++) {
        struct wire_buf copy = {0}; /* the record may be tried again */
        wire_buf_append(&copy, w->op.pieces[i].bytes, w->op.pieces[i].length);
        good = !copy.failed && srv_scene_loader_chunk(w->loader, i, count, w->op.seq, &copy);
        if (copy.failed)
            w->status = OBB_NO_MEMORY;
        wire_buf_fini(&copy);
    }
    const srv_restored_scene *restored = &w->loader->restored;
    if (!good && w->status == OBB_OK)
        w->status = w->loader->no_memory ? OBB_NO_MEMORY : OBB_BAD_VALUE;
    if (good && (restored->journaled.scene == NULL ||
                 !wire_record_id_equal(restored->journaled.newest, w->followed)))
        w->status = OBB_BAD_VALUE; /* it is another one than the record says */
    return 0;
}

/* Gives a loaded scene a tail, and the commits that it remembers. Returns false without memory. */
static bool complete_loaded(struct srv_write *w, struct srv_companion *companion)
{
    struct srv_writer *writer = w->writer;
    const srv_restored_scene *restored = &w->loader->restored;
    const struct srv_journaled journaled = {.scene = companion->scene,
                                            .number = srv_journal_number(writer->tails.journal),
                                            .newest = w->followed,
                                            .place = w->op.seq,
                                            .size = restored->journaled.size};
    if (!srv_remembered_resume(&companion->remembered, writer->budget, restored->commits,
                               restored->commit_count))
        return false;
    return srv_tail_create(&writer->tails, companion, &journaled);
}

/* Puts the loaded scene in the place of the scene that is there. */
static obb_status place_loaded(struct srv_write *w)
{
    struct srv_writer *writer = w->writer;
    struct obb_scene *copy = w->loader->restored.journaled.scene;
    struct srv_companion *companion = srv_companion_make(&writer->companions, copy);
    if (companion == NULL || !complete_loaded(w, companion)) {
        srv_companion_drop(&writer->companions, copy);
        return OBB_NO_MEMORY;
    }
    if (w->tail != NULL) {
        remove_replaced(w);
    } else {
        (void)remove_scene(w); /* it only kept the place */
        w->made_scene = false;
    }
    obb_scene_resume(copy, w->now_ms);
    const obb_status status = obb_store_adopt(writer->store, copy, w->loader->restored.epoch);
    if (status != OBB_OK) {
        srv_tail_destroy(companion->tail);
        srv_companion_drop(&writer->companions, copy);
        return status;
    }
    w->scene = copy;
    w->epoch = w->loader->restored.epoch;
    w->loader->restored.journaled.scene = NULL; /* the store's */
    return OBB_OK;
}

static void copy_loaded(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    struct srv_writer *writer = w->writer;
    srv_lock_release(writer->locks, &w->lock);
    if (w->status == OBB_OK)
        w->status = place_loaded(w);
    if (w->status != OBB_OK) {
        refuse_record(w, SRV_REFUSED_BY_SCENE, w->status);
        srv_lock_wake(&w->lock);
        return;
    }
    drop_loader(w);
    struct srv_journaled *journaled = srv_tail_journaled(srv_tail_of(w->scene));
    srv_snapshots_add(writer->tails.snapshots, journaled);
    describe_commit(w);
    tell_commit(w);
    srv_snapshot_followed(writer->tails.snapshots, journaled, w->op.seq, w->op.record.length);
    succeed(w);
    srv_lock_wake(&w->lock);
    (void)srv_scene_memory_shed(&writer->memory, NULL, 0);
}

/* Makes the scene of a record from a copy or a snapshot, perhaps in place of a scene. An empty
 * scene keeps the place, hidden, if none is there. */
static void follow_copy(struct srv_write *w, const wire_record *head)
{
    w->loader = obb_calloc(1, sizeof *w->loader);
    const obb_status status = w->loader == NULL ? OBB_NO_MEMORY
                              : w->tail == NULL ? add_of_record(w, head)
                                                : OBB_OK;
    if (status != OBB_OK) {
        obb_free(w->loader);
        w->loader = NULL;
        refuse_record(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    srv_scene_loader_init(w->loader, 0, obb_store_kernels(w->writer->store));
    if (w->tail != NULL)
        srv_snapshots_pause(srv_tail_journaled(w->tail));
    follow_on_pool(w, load_copy_step, copy_loaded);
}

static void follow(struct srv_write *w)
{
    wire_record head;
    obb_status status = wire_record_head(w->op.record, &head);
    w->made_scene = false;
    w->prepared = NULL;
    w->followed = head.kind == WIRE_RECORD_WHOLE ? head.base : head.id;
    if (status == OBB_OK &&
        (head.kind == WIRE_RECORD_WHOLE || (head.kind == WIRE_RECORD_MADE && is_copy(&w->op)))) {
        follow_copy(w, &head);
        return;
    }
    if (status == OBB_OK && head.kind == WIRE_RECORD_MADE)
        status = head.effects.has_settings ? make_of_record(w, &head) : OBB_BAD_VALUE;
    else if (status == OBB_OK && (w->tail == NULL || w->epoch != head.epoch))
        status = OBB_BAD_VALUE;
    if (status != OBB_OK) {
        refuse_record(w, SRV_REFUSED_BY_STORE, status);
    } else if (head.kind == WIRE_RECORD_GONE) {
        /* not at once: whoever waits for the tail must leave it first */
        srv_snapshots_pause(srv_tail_journaled(w->tail));
        follow_on_pool(w, nothing_step, record_of_end);
    } else if (w->op.record.length > SRV_LOOP_BODY || head.in_parts) {
        follow_on_pool(w, prepare_record_step, record_prepared);
    } else {
        prepare_record(w);
        finish_record(w);
    }
}

/* ---- The door -------------------------------------------------------------------------------- */

static bool epoch_holds(const struct srv_write *w)
{
    if (w->op.if_epoch == NULL || (w->scene == NULL && !may_make(&w->op)))
        return true;
    return w->scene != NULL && w->epoch == *w->op.if_epoch;
}

static bool condition_holds(struct srv_write *w)
{
    if (w->op.if_match == NULL || (w->scene == NULL && w->op.kind == SRV_OP_REMOVE))
        return true;
    if (w->scene == NULL)
        return false;
    obb_scene_info info;
    obb_scene_tail_info(w->scene, &info);
    const uint64_t last = info.now.revision;
    const obb_target box = {.name = w->op.if_match_box};
    w->changed = box.name.length > 0 ? obb_scene_tail_changed(w->scene, &box) : 0;
    const uint64_t first = w->changed != 0 ? w->changed : last;
    return srv_tags_hold(w->op.if_match, first, last, w->epoch, false);
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

/* Answers a commit that the scene remembers. */
static void repeat(struct srv_write *w, const srv_remembered_commit *commit)
{
    const obb_status status =
        wire_read_outcome(commit->outcome, w->op.edit, w->arena, &w->committed);
    w->repeated = status == OBB_OK;
    if (w->repeated)
        succeed(w);
    else
        refuse(w, status == OBB_NO_MEMORY ? SRV_REFUSED_BY_SCENE : SRV_REFUSED_BY_ID, status);
}

/* Returns true if the scene remembers the commit of that id: it is answered, or waits until the
 * first one is durable. */
static bool is_repeated(struct srv_write *w)
{
    const struct srv_companion *companion = w->scene != NULL ? srv_companion_of(w->scene) : NULL;
    if (companion == NULL || w->op.id.length == 0)
        return false;
    obb_scene_info info;
    obb_scene_tail_info(w->scene, &info);
    const srv_remembered_commit *commit =
        srv_remembered_find(companion->remembered, w->op.id, info.now.time);
    if (commit == NULL)
        return false;
    if (!commit->pending || !srv_tail_waits(w->tail, true, &w->tail_wait))
        repeat(w, commit);
    return true;
}

static void begin(struct srv_write *w)
{
    w->now_ms = srv_clock() * 1e3;
    w->scene = obb_store_find(w->writer->store, w->op.scene);
    if (w->scene != NULL && srv_lock_wait(w->writer->locks, w->scene, &w->wait))
        return;
    w->tail = w->scene != NULL ? srv_tail_of(w->scene) : NULL;
    if (w->tail != NULL && srv_tail_waits(w->tail, needs_empty_tail(w), &w->tail_wait))
        return;
    w->epoch = w->scene != NULL ? obb_scene_epoch(w->scene) : 0;
    if (w->op.kind == SRV_OP_FOLLOW) {
        follow(w);
        return;
    }
    if (!epoch_holds(w)) {
        refuse_after(w, SRV_REFUSED_BY_EPOCH, OBB_REVISION);
        return;
    }
    if (is_repeated(w))
        return;
    if (!condition_holds(w)) {
        refuse_after(w, SRV_REFUSED_BY_CONDITION, OBB_REVISION);
        return;
    }
    switch (w->op.kind) {
    case SRV_OP_CREATE:
        create(w);
        break;
    case SRV_OP_CONFIGURE:
        configure(w);
        break;
    case SRV_OP_EDIT:
        edit(w);
        break;
    case SRV_OP_LOAD:
        load(w);
        break;
    case SRV_OP_COPY:
        copy_op(w);
        break;
    case SRV_OP_REMOVE:
        remove_op(w);
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

/* Begins an op once more that rested on a change which was taken back. */
static void begin_anew(struct srv_write *w)
{
    drop_record(w);
    w->prepared = NULL;
    w->refused_by = SRV_REFUSED_BY_NONE;
    w->status = OBB_OK;
    w->fault = (obb_fault){0};
    w->committed = (obb_committed){0};
    w->lock = (struct srv_scene_lock){0};
    w->seconds = 0;
    w->has_shed = false;
    w->rests_on_failure = false;
    begin(w);
}

void srv_write(struct srv_writer *writer, struct srv_write *w)
{
    w->writer = writer;
    w->wait.again = begin_again;
    w->tail_wait.again = begin_in_turn;
    w->tail_wait.goes_first = w->op.kind == SRV_OP_FOLLOW;
    begin(w);
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
    } else if (w->wait.lock != NULL) {
        srv_lock_unwait(&w->wait);
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else if (w->tail_wait.tail != NULL) {
        srv_tail_unwait(&w->tail_wait);
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else {
        if (w->job.cancelled != NULL) /* not once it is prepared */
            srv_pool_cancelled(&w->job);
    }
}
