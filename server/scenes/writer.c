#include "server/scenes/writer.h"

#include "server/scenes/async_destroy.h"
#include "server/scenes/conditions.h"
#include "server/scenes/epoch.h"
#include "server/scenes/loop_time.h"

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
    if (w->made_scene)
        w->epoch = epoch;
    return status;
}

static obb_status remove_scene(struct srv_write *w)
{
    struct obb_scene *dead = NULL;
    const obb_status status = obb_store_remove(w->writer->store, w->op.scene, &dead);
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

/* Closes the view of a copy, and destroys a copy that is in no store. */
static void drop_copy(struct srv_write *w)
{
    srv_view_close(w->writer->locks, w->op.from);
    w->op.from = NULL;
    srv_async_destroy(w->writer->pool, w->writer->drain, w->made_copy);
    w->made_copy = NULL;
}

static void refuse(struct srv_write *w, srv_refused by, obb_status status)
{
    drop_copy(w);
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

static void prepare(struct srv_write *w, size_t box_room, size_t byte_room)
{
    const double begun = srv_clock();
    /* room for a commit may be made from histories; a dry run takes none */
    obb_scene_set_room(w->scene, w->op.dry_run ? SIZE_MAX : byte_room);
    w->status = obb_edit_prepare(w->scene, w->op.edit, w->now_ms, box_room, w->arena, &w->prepared,
                                 &w->fault);
    rehearse(w);
    w->seconds = srv_clock() - begun;
}

static size_t prepare_step(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    prepare(w, w->lock.promised, w->writer->memory.limit == 0 ? SIZE_MAX : w->lock.promised_bytes);
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

/* Commits what was prepared, unless it is only a check. */
static void finish_edit(struct srv_write *w)
{
    struct srv_writer *writer = w->writer;
    if (w->status != OBB_OK) {
        obb_scene_settle(w->scene);
        refuse(w, SRV_REFUSED_BY_SCENE, w->status);
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
    const double begun = srv_clock();
    obb_edit_commit(w->prepared, &w->committed);
    w->seconds += srv_clock() - begun;
    tell_commit(w);
    succeed(w);
    /* A commit that made its scene smaller, or took more than was estimated, may be over the limit.
     * The queries of the commit have their views by now. */
    (void)srv_scene_memory_shed(&writer->memory, NULL, 0);
}

/* Submits the job of an edit whose scene is locked. */
static srv_submitted submit(struct srv_write *w)
{
    w->status = OBB_CANCELLED; /* if the pool gives the job up before prepare_step */
    return srv_pool_submit(w->writer->pool, &w->job);
}

static void prepared(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    srv_lock_promise(w->writer->locks, &w->lock, 0);
    if (shed(w)) {
        obb_scene_info_without_bounds(w->scene, &w->lock.info);
        srv_lock_promise(w->writer->locks, &w->lock, w->fault.bytes);
        if (submit(w) == SRV_SUBMITTED)
            return;
        w->status = OBB_NO_MEMORY;
    }
    if (w->status == OBB_OK && w->prepared != NULL && w->cancelled != NULL &&
        atomic_load(w->cancelled)) {
        w->status = OBB_CANCELLED;
        w->job.advance = discard_step;
        w->job.background = true;
        w->job.cancelled = NULL;
        if (srv_pool_submit(w->writer->pool, &w->job) == SRV_SUBMITTED)
            return;
        obb_edit_discard(w->prepared);
    }
    if (w->status == OBB_OK && w->op.dry_run && w->cancelled != NULL && atomic_load(w->cancelled)) {
        w->status = OBB_CANCELLED;
        obb_rehearsal_end(&w->rehearsal);
    }
    srv_lock_release(w->writer->locks, &w->lock);
    finish_edit(w);
    srv_lock_wake(&w->lock);
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
static double edit_cost(const struct obb_scene *scene, const obb_edit *edit, double now_ms,
                        bool dry_run)
{
    enum { EXPIRING = 16384 }; /* more are too many for the loop, whatever their number */
    double merges = 0;
    for (size_t i = 0; i < edit->merge_count; i++)
        merges += merge_cost(&edit->merges[i], edit->dimensions);
    double moments = 0;
    for (size_t i = 0; i < edit->moment_count && moments <= SRV_LOOP_NS; i++)
        moments += 100.0 * (double)obb_needed_count(&edit->moments[i]);
    const double entries =
        merges + moments + frames_cost(scene, edit) +
        200.0 * (double)obb_edit_expiring(scene, edit, now_ms, EXPIRING) +
        100.0 * (double)(edit->if_box_count + edit->remove_count + edit->pose_count) +
        400.0 * (double)edit->transform_count + 1600.0 * (double)edit->put_count;
    /* A rehearsal copies the boxes that are touched, and does the edit again. To find the boxes of
     * frames, it looks at all boxes. */
    obb_scene_info info = {.boxes = 0};
    if (edit->with_frames > 0)
        obb_scene_info_without_bounds(scene, &info);
    const double rehearsed = dry_run || edit->with_entries > 0
                                 ? 20e3 + 3.0 * entries + 2000.0 * (double)edit->with_entries +
                                       60.0 * (double)edit->with_frames * (double)info.boxes
                                 : 0.0;
    return entries + rehearsed;
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
    return e->replace_all || e->frame_count > 0 ||
           (e->put_count > 0 && e->puts[0].parts == OBB_PUT_ALL);
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
    if (w->at_once ||
        (edit_cost(w->scene, e, w->now_ms, w->op.dry_run) <= SRV_LOOP_NS && !e->replace_all)) {
        prepare(w, free_room, srv_scene_memory_room(&w->writer->memory));
        if (shed(w))
            prepare(w, free_room, srv_scene_memory_room(&w->writer->memory));
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
    describe_commit(w);
    tell_commit(w);
    succeed(w);
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

static void configure(struct srv_write *w)
{
    bool changed = false;
    if (w->scene == NULL) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_SCENE);
        return;
    }
    const obb_status status = obb_scene_configure(w->scene, &w->op.settings, w->now_ms, &changed);
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_SCENE, status);
        return;
    }
    if (changed) {
        describe_commit(w);
        tell_commit(w);
    }
    succeed(w);
}

static void remove_op(struct srv_write *w)
{
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

/* Puts the copy into the store. The scene in its place, if any, is unlocked. */
static void adopt_copy(struct srv_write *w)
{
    obb_scene_info info;
    uint64_t epoch = w->op.epoch;
    obb_scene_info_without_bounds(w->made_copy, &info);
    w->fault.bytes = obb_scene_bytes(w->made_copy);
    if (!boxes_fit(w, info.boxes + info.frames)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    if (!srv_scene_memory_shed(&w->writer->memory, NULL, w->fault.bytes)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_SCENE_MEMORY);
        return;
    }
    if (epoch == 0 && !srv_epoch_draw(&epoch)) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_NO_MEMORY);
        return;
    }
    if (w->scene != NULL) {
        tell_remove(w);
        (void)remove_scene(w); /* makes the room for which adopting may ask */
    }
    const obb_status status = obb_store_adopt(w->writer->store, w->made_copy, epoch);
    if (status != OBB_OK) {
        refuse(w, SRV_REFUSED_BY_STORE, status);
        return;
    }
    w->scene = w->made_copy;
    w->made_copy = NULL;
    w->epoch = epoch;
    w->made_scene = true;
    drop_copy(w);
    describe_commit(w);
    tell_commit(w);
    succeed(w);
}

static void begin(struct srv_write *w);

static void copied(struct srv_job *job)
{
    struct srv_write *w = (struct srv_write *)job;
    w->is_copied = true;
    begin(w); /* the scenes may be others by now */
}

static void copy_op(struct srv_write *w)
{
    if (w->scene != NULL && !w->op.replace) {
        refuse(w, SRV_REFUSED_BY_STORE, OBB_BAD_VALUE);
        return;
    }
    if (w->is_copied) {
        if (w->status == OBB_OK && w->cancelled != NULL && atomic_load(w->cancelled))
            w->status = OBB_CANCELLED;
        if (w->status == OBB_OK)
            adopt_copy(w);
        else
            refuse(w, SRV_REFUSED_BY_SCENE, w->status);
        return;
    }
    const obb_view_info *from = obb_view_info_get(w->op.from);
    if (!boxes_fit(w, from->boxes + from->frames)) {
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_LIMIT);
        return;
    }
    w->job.advance = copy_step;
    w->job.done = copied;
    w->job.cancelled = w->cancelled;
    const srv_submitted submitted = submit(w);
    if (submitted != SRV_SUBMITTED)
        refuse(w, SRV_REFUSED_BY_QUEUE, submitted == SRV_QUEUE_FULL ? OBB_LIMIT : OBB_NO_MEMORY);
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
    obb_scene_info_without_bounds(w->scene, &info);
    const uint64_t last = info.now.revision;
    const obb_target box = {.name = w->op.if_match_box};
    w->changed = box.name.length > 0 ? obb_scene_changed(w->scene, &box) : 0;
    const uint64_t first = w->changed != 0 ? w->changed : last;
    return srv_tags_hold(w->op.if_match, first, last, w->epoch, false);
}

static void begin(struct srv_write *w)
{
    w->now_ms = srv_clock() * 1e3;
    w->scene = obb_store_find(w->writer->store, w->op.scene);
    if (w->scene != NULL && srv_lock_wait(w->writer->locks, w->scene, &w->wait))
        return;
    w->epoch = w->scene != NULL ? obb_scene_epoch(w->scene) : 0;
    if (!epoch_holds(w)) {
        refuse(w, SRV_REFUSED_BY_EPOCH, OBB_REVISION);
        return;
    }
    if (!condition_holds(w)) {
        refuse(w, SRV_REFUSED_BY_CONDITION, OBB_REVISION);
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
    }
}

static void begin_again(struct srv_wait *wait)
{
    begin((struct srv_write *)(void *)((char *)wait - offsetof(struct srv_write, wait)));
}

void srv_write(struct srv_writer *writer, struct srv_write *w)
{
    w->writer = writer;
    w->wait.again = begin_again;
    begin(w);
}

void srv_write_cancel(struct srv_write *w)
{
    if (w->wait.lock != NULL) {
        srv_lock_unwait(&w->wait);
        refuse(w, SRV_REFUSED_BY_SCENE, OBB_CANCELLED);
    } else {
        if (w->job.cancelled != NULL) /* not while what was prepared is being discarded */
            srv_pool_cancelled(&w->job);
    }
}
