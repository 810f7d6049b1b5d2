#include "server/scenes/write_follow_body.h"

#include "server/journal/shared.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/remembered.h"
#include "server/scenes/write_base_body.h"

/* Compares the scene after the record with the hash in the record. */
static void check_hash(struct srv_write *w, const wire_record *record)
{
    const obb_effects after = obb_prepared_summary(w->prepared);
    w->fingerprint = obb_prepared_fingerprint(w->prepared, w->fingerprint);
    w->differs =
        record->has_hash && record->hash != obb_fingerprint_hash(w->fingerprint, &after.settings,
                                                                 after.moment, after.next_id);
    if (w->differs && !w->op.is_unchecked)
        w->status = OBB_BAD_VALUE;
}

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
    w->fingerprint = srv_tail_fingerprint(srv_tail_of(w->scene));
    if (record.kind == WIRE_RECORD_MADE) {
        w->effects.has_settings = false; /* the scene has them already */
        if (!w->effects.appends && !w->effects.time_stated)
            return;
    }
    w->status = obb_effects_prepare(w->scene, &w->effects, false, w->arena, &w->prepared);
    if (w->status == OBB_OK && w->writer->tails.hashes)
        check_hash(w, &record);
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

/* Remembers the commit of the record, if it has an id, in any case: what was applied elsewhere must
 * be known here, too. Returns false without memory. */
static bool remember_record(struct srv_write *w)
{
    if (w->followed_id.length == 0)
        return true;
    struct srv_companion *companion = srv_companion_of(w->scene);
    if (companion->remembered == NULL)
        companion->remembered = srv_remembered_create(w->writer->budget);
    if (companion->remembered == NULL || !srv_remembered_push(companion->remembered, w->followed_id,
                                                              w->answer, w->effects.moment, true))
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
        if (w->tail != NULL && !w->op.replaces) /* what is there is to be replaced */
            srv_snapshots_go_on(srv_tail_journaled(w->tail));
    }
    if (w->made_scene)
        srv_tail_destroy(srv_tail_of(w->scene));
    srv_write_refuse(w, by, status);
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
        srv_write_describe(w);
    obb_scene_keep_up(w->scene, w->now_ms);
    struct srv_tail *tail = srv_tail_of(w->scene);
    srv_tail_follow(tail, w->followed, w->op.seq, w->fingerprint);
    if (w->made_scene)
        srv_snapshots_add(snapshots, srv_tail_journaled(tail));
    srv_write_tell_commit(w);
    srv_snapshot_followed(snapshots, srv_tail_journaled(tail), w->op.seq, followed_bytes(&w->op));
    struct srv_writer *writer = w->writer;
    srv_gathered_fini(&w->gathered);
    srv_write_succeed(w);
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
    srv_write_tell_remove(w);
    srv_tail_destroy(w->tail);
    (void)srv_write_remove_scene(w);
    srv_write_succeed(w);
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
        srv_write_tell_remove(w);
        (void)srv_write_remove_scene(w);
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
    return srv_write_make_tail(w, w->scene) ? OBB_OK : OBB_NO_MEMORY;
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

/* Gives a copy of a piece to the loader: the record may be tried again. */
static bool load_piece(struct srv_write *w, const struct wire_buf *piece, size_t number,
                       size_t count, uint64_t from)
{
    struct wire_buf copy = {0};
    wire_buf_append(&copy, piece->bytes, piece->length);
    const bool good = !copy.failed &&
                      (count == 0 ? srv_scene_loader_piece(w->loader, from, &copy)
                                  : srv_scene_loader_chunk(w->loader, number, count, from, &copy));
    if (copy.failed)
        w->status = OBB_NO_MEMORY;
    wire_buf_fini(&copy);
    return good;
}

/* Loads the pieces of a copy or a snapshot. from: the place behind which records count. */
static bool load_chunks(struct srv_write *w, uint64_t from)
{
    const size_t count = w->op.piece_count;
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = load_piece(w, &w->op.pieces[i], i, count, from);
    return good;
}

/* Loads a record that follows. */
static bool load_record(struct srv_write *w, const srv_woken_record *record)
{
    bool good = true;
    for (size_t i = 0; i < record->piece_count && good; i++)
        good = load_piece(w, &record->pieces[i], i, 0, record->seq);
    return good && srv_scene_loader_record(w->loader, record->seq, record->bytes);
}

/* Notes whether what was loaded is what the record says. */
static void judge_loaded(struct srv_write *w, bool good)
{
    const srv_restored_scene *restored = &w->loader->restored;
    if (!good && w->status == OBB_OK)
        w->status = w->loader->no_memory ? OBB_NO_MEMORY : OBB_BAD_VALUE;
    if (good && (restored->journaled.scene == NULL ||
                 !wire_record_id_equal(restored->journaled.newest, w->followed)))
        w->status = OBB_BAD_VALUE; /* it is another one than the record says */
    w->differs = good && w->loader->differs;
    if (w->differs && w->status == OBB_OK && !w->op.is_unchecked)
        w->status = OBB_BAD_VALUE;
}

/* Loads the copy. On the pool. */
static size_t load_copy_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->status = OBB_OK;
    judge_loaded(w, load_chunks(w, w->op.seq));
    return 0;
}

/* Loads a scene that wakes: its snapshot or its making, and the records behind it. On the pool. */
static size_t load_woken_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    const srv_foreign *woken = w->op.woken;
    w->status = OBB_OK;
    w->loader->is_exact = true;
    const srv_woken_record first = {.seq = woken->from,
                                    .bytes = woken->bytes,
                                    .pieces = woken->pieces,
                                    .piece_count = woken->piece_count};
    bool good = woken->is_snapshot || is_copy(&w->op) ? load_chunks(w, woken->from)
                                                      : load_record(w, &first);
    for (size_t i = 0; i < woken->record_count && good; i++)
        good = load_record(w, &woken->records[i]);
    judge_loaded(w, good);
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
                                            .bytes = restored->journaled.bytes,
                                            .fingerprint = restored->journaled.fingerprint,
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
        srv_write_remove_replaced(w);
    } else {
        (void)srv_write_remove_scene(w); /* it only kept the place */
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
    srv_write_describe(w);
    srv_write_tell_commit(w);
    srv_snapshot_followed(writer->tails.snapshots, journaled, w->op.seq, w->op.record.length);
    srv_write_succeed(w);
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
    w->loader->hashes = w->writer->tails.hashes;
    if (w->tail != NULL)
        srv_snapshots_pause(srv_tail_journaled(w->tail));
    follow_on_pool(w, w->op.woken != NULL ? load_woken_step : load_copy_step, copy_loaded);
}

void srv_write_follow(struct srv_write *w)
{
    wire_record head;
    obb_status status = wire_record_head(w->op.record, &head);
    w->made_scene = w->differs = false;
    w->prepared = NULL;
    w->fingerprint = 0;
    w->followed = head.kind == WIRE_RECORD_WHOLE ? head.base : head.id;
    if (status == OBB_OK && w->op.woken != NULL) {
        w->followed = w->op.woken->newest;
        if ((w->tail != NULL && !w->op.replaces) || !head.effects.has_settings)
            refuse_record(w, SRV_REFUSED_BY_STORE, OBB_BAD_VALUE);
        else
            follow_copy(w, &head);
        return;
    }
    if (status == OBB_OK &&
        (head.kind == WIRE_RECORD_WHOLE || (head.kind == WIRE_RECORD_MADE && is_copy(&w->op)))) {
        follow_copy(w, &head);
        return;
    }
    if (status == OBB_OK && head.kind == WIRE_RECORD_MADE)
        status = head.effects.has_settings ? make_of_record(w, &head) : OBB_BAD_VALUE;
    else if (status == OBB_OK && w->tail != NULL && w->op.replaces && head.kind == WIRE_RECORD_GONE)
        w->epoch = head.epoch; /* whatever was there */
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
