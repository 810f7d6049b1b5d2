#include "server/scenes/write_edit_body.h"

#include "server/scenes/edit_cost_body.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/write_base_body.h"
#include "server/scenes/write_scene_body.h"

/* Rehearses the prepared edit, if it is a dry run or its queries have changes of their own. */
static void rehearse(struct srv_write *w)
{
    if (w->status != OBB_OK || (!w->op.dry_run && w->op.edit->with_entries == 0))
        return;
    obb_fault fault;
    w->status = obb_rehearse(w->prepared, w->cancelled, w->arena, &w->rehearsal, &fault);
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

/* Notes the fingerprint of the scene after the prepared edit, and the hash of that. */
static void hash(struct srv_write *w, wire_record *record)
{
    const obb_effects *after = &record->effects;
    w->fingerprint = obb_prepared_fingerprint(w->prepared, srv_tail_fingerprint(w->tail));
    record->has_hash = true;
    record->hash =
        obb_fingerprint_hash(w->fingerprint, &after->settings, after->moment, after->next_id);
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
    record.has_boxes = true;
    record.boxes = record.effects.boxes;
    if (status == OBB_OK && tails->hashes)
        hash(w, &record);
    if (w->made_scene && !record.effects.has_settings) {
        record.effects.has_settings = true;
        record.effects.settings = w->made_settings;
    }
    if (status == OBB_OK && (w->made_scene || w->op.id.length > 0 || record.effects.appends ||
                             record.effects.time_stated)) {
        w->record =
            srv_tails_encode(tails, w->scene, srv_write_number(w), w->op.edit->dimensions, &record);
        if (w->record != NULL)
            w->record->fingerprint = w->fingerprint;
        else
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
    if (w->status == OBB_OK && srv_write_number(w) != 0)
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
    const obb_status status = obb_rehearse(prepared, w->cancelled, w->arena, &rehearsal, &fault);
    obb_rehearsal_end(&rehearsal);
    obb_edit_discard(prepared);
    if (status != OBB_CANCELLED && (status == OBB_OK || !fault.of_with))
        return;
    w->status = status;
    w->fault = fault;
}

static void prepare(struct srv_write *w, size_t box_room, size_t byte_room, bool on_pool)
{
    const double begun = srv_clock();
    /* Histories may make room for a commit. Its dry run goes on as if they had. */
    obb_scene_set_room(w->scene, w->op.dry_run && w->has_shed ? SIZE_MAX : byte_room);
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

/* Returns true if the edit was refused for want of --scene-memory, and there is room for it now, or
 * for a dry run, there might be. */
static bool shed(struct srv_write *w)
{
    struct srv_scene_memory *memory = &w->writer->memory;
    if (w->status != OBB_SCENE_MEMORY || w->has_shed)
        return false;
    w->has_shed = true;
    return w->op.dry_run ? srv_scene_memory_might_shed(memory, w->scene, w->fault.bytes)
                         : srv_scene_memory_shed(memory, w->scene, w->fault.bytes);
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
    srv_write_refuse(w, SRV_REFUSED_BY_NONE, OBB_OK);
}

/* Does what may fail before the prepared edit is applied. Returns false after refusing the op. */
static bool may_apply(struct srv_write *w)
{
    obb_committed described;
    obb_prepared_describe(w->prepared, &described);
    if (w->makes != NULL && described.changed && !w->makes(w)) {
        obb_edit_discard(w->prepared);
        srv_write_refuse(w, SRV_REFUSED_BY_CALLER, OBB_NO_MEMORY);
        return false;
    }
    if (srv_write_remember(w))
        return true;
    srv_write_refuse_prepared(w);
    return false;
}

static void commit_durable(struct srv_tail_item *item)
{
    struct srv_write *w = srv_write_of(item);
    obb_edit_publish(w->prepared);
    srv_write_settle_remembered(w, true);
    srv_write_succeed_and_shed(w);
}

static void commit_revert(struct srv_tail_item *item)
{
    obb_edit_revert(srv_write_of(item)->prepared);
}

static size_t commit_changes(struct srv_tail_item *item)
{
    const struct srv_write *w = srv_write_of(item);
    const obb_committed *committed = &w->committed;
    obb_scene_info info = {.boxes = 0};
    if (committed->restarted) /* then every box with a ttl is looked at */
        obb_scene_info_without_bounds(w->scene, &info);
    return committed->made_count + committed->gone + committed->frame_count + info.boxes;
}

static void commit_reverted(struct srv_tail_item *item)
{
    srv_write_settle_remembered(srv_write_of(item), false);
}

static void commit_failed(struct srv_tail_item *item, srv_journal_status status)
{
    srv_write_refuse_by_journal(srv_write_of(item), status);
}

static void commit_again(struct srv_tail_item *item) { srv_write_begin_anew(srv_write_of(item)); }

/* Applies what was prepared to a durable scene, and answers once that is durable. */
static void apply(struct srv_write *w)
{
    static const srv_tail_calls calls = {.durable = commit_durable,
                                         .revert = commit_revert,
                                         .changes = commit_changes,
                                         .reverted = commit_reverted,
                                         .failed = commit_failed,
                                         .again = commit_again};
    struct srv_record_entry *record = w->record;
    if (!may_apply(w))
        return;
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

/* Commits what was prepared, unless it is only a check. */
static void finish_edit(struct srv_write *w)
{
    if (w->status != OBB_OK) {
        obb_scene_settle(w->scene);
        srv_write_refuse_after(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    if (w->op.dry_run) {
        finish_dry_run(w);
        return;
    }
    if (w->op.check_only) {
        if (w->prepared != NULL) /* else a worker has discarded it */
            obb_edit_discard(w->prepared);
        srv_write_refuse(w, SRV_REFUSED_BY_NONE, OBB_OK);
        return;
    }
    if (w->number != 0) {
        srv_write_hide(w);
        return;
    }
    if (w->tail != NULL) {
        apply(w);
        return;
    }
    if (!may_apply(w))
        return;
    const double begun = srv_clock();
    obb_edit_commit(w->prepared, &w->committed);
    w->seconds += srv_clock() - begun;
    srv_write_settle_remembered(w, true);
    srv_write_succeed_and_shed(w);
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
        srv_lock_promise(w->writer->locks, &w->lock, w->op.dry_run ? 0 : w->fault.bytes);
        if (srv_write_submit(w) == SRV_SUBMITTED)
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
        srv_write_make_durable(w);
        return;
    }
    srv_lock_release(w->writer->locks, &w->lock);
    if (!w->rests_on_failure) {
        finish_edit(w);
        srv_lock_wake(&w->lock);
        return;
    }
    srv_lock_wake(&w->lock); /* then the tail takes its changes back */
    if (cancelled)
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    else
        srv_write_begin_anew(w);
}

static void prepare_on_pool(struct srv_write *w, size_t free_room)
{
    struct srv_writer *writer = w->writer;
    /* until the commit, what the edit may add is taken from the room of all others */
    const size_t most = w->op.edit->put_count + w->op.edit->frame_count;
    const size_t promised = most < free_room ? most : free_room;
    if (!srv_lock_take(writer->locks, &w->lock, w->scene, w->made_scene, promised)) {
        srv_write_refuse(w, SRV_REFUSED_BY_SCENE, OBB_NO_MEMORY);
        return;
    }
    if (writer->memory.limit > 0) {
        const size_t bytes = srv_edit_likely_bytes(w->scene, w->op.edit);
        const size_t byte_room = srv_scene_memory_room(&writer->memory);
        srv_lock_promise(writer->locks, &w->lock, bytes < byte_room ? bytes : byte_room);
    }
    w->job.advance = prepare_step;
    w->job.done = prepared;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = srv_write_submit(w);
    if (submitted == SRV_SUBMITTED)
        return;
    srv_lock_release(writer->locks, &w->lock);
    srv_write_refuse(w, SRV_REFUSED_BY_QUEUE,
                     submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
}

bool srv_write_may_make(const srv_op *op)
{
    const obb_edit *e = op->edit;
    if (op->kind != SRV_OP_EDIT)
        return op->kind == SRV_OP_CREATE;
    obb_put scratch;
    return e->replace_all || e->frame_count > 0 ||
           (e->put_count > 0 && !e->puts_must_exist &&
            obb_edit_put_without_box(e, 0, &scratch)->parts == OBB_PUT_ALL);
}

void srv_write_edit(struct srv_write *w)
{
    const obb_edit *e = w->op.edit;
    if (w->scene == NULL) {
        const obb_status status =
            srv_write_may_make(&w->op)
                ? srv_write_make_scene(w, e->settings != NULL ? e->settings : &w->op.settings)
                : OBB_NO_SCENE;
        if (status != OBB_OK) {
            srv_write_refuse(w, SRV_REFUSED_BY_STORE, status);
            return;
        }
    }
    obb_scene_renew_views(w->scene);
    const size_t room = obb_store_box_room(w->writer->store);
    const size_t promised = w->writer->locks->promised_boxes;
    const size_t free_room = room > promised ? room - promised : 0;
    if (w->at_once || (srv_edit_cost(w) <= SRV_LOOP_NS && !e->replace_all)) {
        prepare(w, free_room, srv_scene_memory_room(&w->writer->memory), false);
        if (shed(w))
            prepare(w, free_room, srv_scene_memory_room(&w->writer->memory), false);
        finish_edit(w);
    } else {
        prepare_on_pool(w, free_room);
    }
}

void srv_write_configure(struct srv_write *w)
{
    if (w->scene == NULL) {
        srv_write_refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_SCENE);
        return;
    }
    w->settings_edit =
        (obb_edit){.dimensions = w->op.settings.dimensions, .settings = &w->op.settings};
    w->op.edit = &w->settings_edit;
    if (w->at_once || srv_edit_cost(w) <= SRV_LOOP_NS) { /* boxes may expire, however many */
        prepare(w, 0, SIZE_MAX, false);
        finish_edit(w);
    } else {
        prepare_on_pool(w, 0);
    }
}
