#include "server/scenes/snapshot.h"

#include <string.h>

enum { LOOKS = 4 }; /* at the oldest records, while a snapshot's worth is written */

/* What a snapshot does next. The parts of a record go their way as its pieces do. */
enum phase {
    PARTS,  /* tell of a commit: parts of its record */
    STEPS,  /* tell of the commits after the oldest state */
    FRAMES, /* tell of the frames of the oldest state */
    BOXES,  /* tell of its boxes */
    END,    /* say what the newest state is like */
    HEAD,   /* say what the oldest state is like: the first piece, which is made last */
    WORD,   /* say that the snapshot is whole. Of parts: nothing, their owner says it */
    DROP,   /* say that its pieces are not needed */
    OVER
};

struct srv_snapshot {
    struct srv_job job; /* first; makes a piece */
    struct srv_entry entry;
    struct srv_snapshots *all;
    struct srv_journaled *scene; /* NULL: its memory has gone, or these are parts of a record */
    struct srv_snapshot *previous, *next;
    srv_snapshot_done *done; /* of srv_snapshot_make or srv_snapshot_seal, or NULL */
    void *context;
    const struct wire_buf *gone; /* the last record of the scene that is replaced, or NULL */
    uint64_t replaces;           /* its number */
    atomic_bool cancelled;
    enum phase phase;
    bool on_pool, in_journal;
    bool paused;              /* the entry failed: it is handed over again when the journal works */
    bool renews;              /* only the word of the last snapshot is written anew */
    bool needs_seal, is_held; /* the word needs srv_snapshot_seal; waits for it */
    bool of_record;           /* the pieces are parts of a record */
    bool is_named;            /* the log may hold the record that names them: they stay */
    wire_record_id record;    /* that names the pieces, if one does */
    srv_journal_status status; /* of the entry */

    uint64_t number, from, mark;  /* as in srv_journaled */
    wire_record_id newest_record; /* the newest one that the snapshot holds */
    uint64_t newest_place;        /* of that one */
    uint64_t bytes_before;        /* scene->bytes at the beginning */
    uint64_t chunks, size;        /* so far; chunk 0 is the head, or the first part of a record */

    /* What the pieces are made of. */
    struct obb_view *view;  /* the oldest state */
    struct obb_view *later; /* the same, and all states after it; until the steps are told */
    obb_step *steps;        /* owned, of the budget; to the newest published state */
    size_t step_count, step;
    struct srv_parts parts;  /* of the step, or of the record */
    int dimensions;          /* of the record */
    obb_settings settings;   /* of the oldest state */
    obb_moment moment;       /* likewise */
    uint64_t next_id, epoch; /* likewise */
    bool time_stated;        /* of the scene */
    obb_settings newest_settings;
    obb_moment newest; /* with the time until which it has held */
    size_t newest_boxes;
    uint64_t newest_next_id;
    const struct obb_version *frame; /* the last one that was told of, or NULL */
    uint64_t box;                    /* likewise; 0: none */
    obb_digest oldest_digest, changes;
    struct wire_buf piece;
    struct obb_arena arena;
    bool no_memory; /* for the piece */
};

/* ---- Making pieces: on any thread ------------------------------------------------------------ */

static int dimensions_of(const struct srv_snapshot *s) { return s->settings.dimensions; }

/* Says that a state held until a later time. */
static void tell_until(struct srv_snapshot *s, obb_moment moment, uint64_t next_id, int dimensions)
{
    const wire_record record = {
        .kind = WIRE_RECORD_COMMIT,
        .effects = {.moment = moment, .time_stated = s->time_stated, .next_id = next_id}};
    wire_record_write(&record, dimensions, &s->piece);
}

static void digest_effects(struct srv_snapshot *s, const obb_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        const obb_effect *effect = &effects->list[i];
        if (effect->before != NULL)
            obb_digest_remove(&s->changes, effect->before);
        if (effect->after != NULL)
            obb_digest_add(&s->changes, effect->after);
    }
}

/* Tells of the rest of a step, as a record or in parts, or of its next part. Returns false without
 * memory. */
static bool tell_step(struct srv_snapshot *s, const obb_step *step)
{
    obb_effects listed;
    const int dimensions = step->settings.dimensions;
    if (s->parts.source == NULL)
        s->parts = srv_parts_of_step(step);
    obb_arena_reset(&s->arena);
    if (!srv_parts_list(&s->parts, SRV_PART_EFFECTS, SRV_PART_BYTES, &s->arena, &listed))
        return false;
    digest_effects(s, &listed);
    const bool in_parts = !s->parts.over || s->parts.count > 0;
    if (in_parts)
        srv_parts_write(&s->parts, &listed, s->epoch, dimensions, &s->piece);
    if (!s->parts.over)
        return true;
    wire_record record = {.kind = WIRE_RECORD_COMMIT,
                          .epoch = s->epoch,
                          .in_parts = in_parts,
                          .effects = obb_step_summary(step)};
    record.effects.list = in_parts ? NULL : listed.list;
    record.effects.count = in_parts ? 0 : listed.count;
    wire_record_write(&record, dimensions, &s->piece);
    if (step->until > step->moment.time)
        tell_until(s, (obb_moment){step->moment.revision, step->until}, step->next_id, dimensions);
    s->parts = (struct srv_parts){.source = NULL};
    s->step++;
    return true;
}

static bool tell_steps(struct srv_snapshot *s)
{
    bool good = true;
    while (s->step < s->step_count && s->piece.length < SRV_PART_BYTES && good)
        good = tell_step(s, &s->steps[s->step]);
    return good;
}

/* Tells of a commit, as far as a piece goes. Returns false without memory. */
static bool tell_parts(struct srv_snapshot *s)
{
    obb_effects listed;
    while (!s->parts.over && s->piece.length < SRV_PART_BYTES) {
        obb_arena_reset(&s->arena);
        if (!srv_parts_list(&s->parts, SRV_PART_EFFECTS, SRV_PART_BYTES, &s->arena, &listed))
            return false;
        srv_parts_write(&s->parts, &listed, s->epoch, s->dimensions, &s->piece);
    }
    return true;
}

/* Adds a box or a frame as it was made. */
static void add(struct srv_snapshot *s, const struct obb_version *version, obb_effect *out)
{
    *out = obb_effect_of(NULL, version);
    out->changed = obb_view_changed(version);
    if (out->attributes.has_ttl)
        out->since = obb_view_since(s->view, version);
    obb_digest_add(&s->oldest_digest, version);
}

/* The next frame or box of the oldest state, or NULL. */
static const struct obb_version *next_version(struct srv_snapshot *s)
{
    if (s->phase == FRAMES) {
        const struct obb_version *frame = obb_view_next_frame(
            s->view, s->frame != NULL ? obb_view_name(s->frame) : (obb_str){.bytes = ""},
            s->frame != NULL);
        s->frame = frame != NULL ? frame : s->frame;
        return frame;
    }
    const struct obb_version *box = obb_view_next(s->view, s->box);
    s->box = box != NULL ? obb_view_id(box) : s->box;
    return box;
}

static bool tell_boxes(struct srv_snapshot *s)
{
    obb_arena_reset(&s->arena);
    obb_effect *list = obb_arena_alloc(&s->arena, SRV_PART_EFFECTS, sizeof *list);
    if (list == NULL)
        return false;
    wire_record record = {.kind = WIRE_RECORD_BOXES, .epoch = s->epoch, .effects = {.list = list}};
    size_t texts = 0;
    while (record.effects.count < SRV_PART_EFFECTS && texts < SRV_PART_BYTES) {
        const struct obb_version *version = next_version(s);
        if (version == NULL && s->phase == BOXES) {
            s->phase = END;
            break;
        }
        if (version == NULL) {
            s->phase = BOXES;
            continue;
        }
        obb_effect *effect = &list[record.effects.count++];
        add(s, version, effect);
        texts += effect->attributes.data.length + effect->attributes.entity.length;
    }
    if (record.effects.count > 0)
        wire_record_write(&record, dimensions_of(s), &s->piece);
    return true;
}

/* A commit that does nothing, with the hash of the newest state: loading compares it. */
static void tell_end(struct srv_snapshot *s)
{
    obb_digest digest = s->oldest_digest;
    digest.identity += s->changes.identity;
    const wire_record record = {
        .kind = WIRE_RECORD_COMMIT,
        .epoch = s->epoch,
        .has_hash = true,
        .hash = obb_digest_exact(&digest, &s->newest_settings, s->newest, s->newest_next_id),
        .effects = {
            .moment = s->newest, .time_stated = s->time_stated, .next_id = s->newest_next_id}};
    wire_record_write(&record, s->newest_settings.dimensions, &s->piece);
}

static void tell_head(struct srv_snapshot *s)
{
    const wire_record record = {
        .kind = WIRE_RECORD_SNAPSHOT,
        .epoch = s->epoch,
        .id = {.counter = s->number},
        .base = s->newest_record,
        .name = obb_scene_name(obb_view_scene(s->view)),
        .has_hash = true,
        .hash = obb_digest_exact(&s->oldest_digest, &s->settings, s->moment, s->next_id),
        .effects = {.moment = s->moment,
                    .appends = s->moment.revision > 0,
                    .time_stated = s->time_stated,
                    .has_settings = true,
                    .settings = s->settings,
                    .next_id = s->next_id}};
    wire_record_write(&record, dimensions_of(s), &s->piece);
}

static size_t make_piece(struct srv_job *job)
{
    struct srv_snapshot *s = (struct srv_snapshot *)job;
    bool good = true;
    wire_buf_restart(&s->piece, s->piece.capacity);
    if (s->phase == PARTS) {
        good = tell_parts(s);
        if (good && s->parts.over)
            s->phase = WORD;
    } else if (s->phase == STEPS) {
        good = tell_steps(s);
        if (good && s->step == s->step_count)
            s->phase = FRAMES;
    } else if (s->phase == FRAMES || s->phase == BOXES) {
        good = tell_boxes(s);
    } else if (s->phase == END) {
        tell_end(s);
        s->phase = HEAD;
    } else {
        tell_head(s);
        s->phase = WORD;
    }
    s->no_memory = !good || s->piece.failed;
    return 0;
}

/* ---- The log --------------------------------------------------------------------------------- */

/* Forgets the records that nobody needs any more. */
static void forget(struct srv_snapshots *all)
{
    uint64_t edge = all->last_seq + 1;
    for (const struct srv_journaled *scene = all->first; scene != NULL; scene = scene->next)
        if (scene->first != 0 && scene->first < edge)
            edge = scene->first;
    for (const struct srv_snapshot *s = all->under_way; s != NULL; s = s->next)
        /* while a worker makes a piece, the phase is the worker's, and is not DROP */
        if ((s->on_pool || s->phase != DROP) && s->from < edge)
            edge = s->from;
    srv_journal_forget(all->journal, edge);
}

static uint64_t more(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void begin(struct srv_snapshots *all, struct srv_journaled *scene);
static void renew(struct srv_snapshots *all, struct srv_journaled *scene);

static uint64_t least_of(const struct srv_snapshots *all)
{
    return all->least != 0 ? all->least : SRV_SNAPSHOT_LEAST;
}

static bool is_due(const struct srv_snapshots *all, const struct srv_journaled *scene)
{
    const uint64_t limit = more(least_of(all), scene->size);
    return !scene->ends && scene->bytes > (scene->is_left ? 2 * limit : limit);
}

/* Returns the scene whose records are the oldest, if the log holds too much because of it. */
static struct srv_journaled *find_pin(struct srv_snapshots *all)
{
    struct srv_journaled *pin = NULL;
    for (struct srv_journaled *scene = all->first; scene != NULL; scene = scene->next)
        if (scene->first != 0 && !scene->ends && (pin == NULL || scene->first < pin->first))
            pin = scene;
    all->checked = all->total;
    if (pin == NULL || all->total - pin->mark < all->needed)
        return NULL;
    const uint64_t excess = all->total - pin->mark - all->needed;
    return excess > more(least_of(all), pin->size) ? pin : NULL;
}

/* There is no memory for a snapshot. Some more records come before the next one is tried. */
static void meet_no_memory(struct srv_snapshots *all, const struct srv_journaled *scene)
{
    all->rests_until = all->total + least_of(all) / LOOKS;
    srv_journal_count_failure(all->journal);
    if (all->log != NULL)
        SRV_LOG(all->log, SRV_WARN, "snapshot", srv_bytes("scene", obb_scene_name(scene->scene)),
                srv_text("why", "there is not enough memory"));
}

/* Begins the snapshot that is the most due, if none is under way. */
static void look(struct srv_snapshots *all)
{
    struct srv_journaled *due = NULL;
    if (all->regular != NULL || all->stopped || all->total < all->rests_until)
        return;
    for (struct srv_journaled *scene = all->first; scene != NULL; scene = scene->next)
        if (is_due(all, scene) && (due == NULL || scene->bytes > due->bytes))
            due = scene;
    if (due != NULL) {
        begin(all, due);
        return;
    }
    if (all->new_id != NULL)
        return; /* no scene keeps the records of another one */
    struct srv_journaled *pin = find_pin(all);
    if (pin != NULL && pin->bytes == 0 && pin->snapshot != 0)
        renew(all, pin);
    else if (pin != NULL)
        begin(all, pin);
}

/* ---- The end of a snapshot ------------------------------------------------------------------- */

static void close_views(struct srv_snapshot *s)
{
    srv_view_close(s->all->locks, s->later);
    srv_view_close(s->all->locks, s->view);
    s->view = s->later = NULL;
}

static void free_snapshot(struct srv_snapshot *s)
{
    struct srv_snapshots *all = s->all;
    close_views(s);
    *(s->previous != NULL ? &s->previous->next : &all->under_way) = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    if (all->regular == s)
        all->regular = NULL;
    if (s->scene != NULL)
        s->scene->under_way = NULL;
    obb_budget_free(s->steps);
    obb_arena_fini(&s->arena);
    wire_buf_fini(&s->piece);
    obb_free(s);
    srv_drain_release(all->drain);
}

/* Notes that the snapshot is whole. */
static void take_over(struct srv_snapshot *s)
{
    struct srv_journaled *scene = s->scene;
    scene->is_left = false;
    scene->first = s->from;
    scene->mark = s->mark;
    if (scene->added)
        s->all->needed -= s->bytes_before;
    scene->bytes -= s->bytes_before;
    if (s->renews)
        return;
    scene->snapshot = s->number;
    scene->chunks = s->chunks;
    scene->size = s->size;
}

static void advance(struct srv_snapshot *s);

/* Ends the snapshot without its word. If some pieces are in the journal, they must be dropped. */
static void give_up(struct srv_snapshot *s, srv_journal_status status)
{
    srv_snapshot_done *done = s->done;
    s->done = NULL;
    close_views(s);
    if (s->scene != NULL)
        s->scene->under_way = NULL;
    s->scene = NULL;
    if (s->all->regular == s)
        s->all->regular = NULL;
    s->phase = s->size > 0 && !s->renews && !s->is_named && !s->all->stopped ? DROP : OVER;
    if (done != NULL)
        done(s->context, status);
    advance(s);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void write_piece(const struct srv_entry *entry, struct wire_buf *out)
{
    const struct srv_snapshot *s =
        (const struct srv_snapshot *)(const void *)((const char *)entry -
                                                    offsetof(struct srv_snapshot, entry));
    wire_buf_append(out, s->piece.bytes, s->piece.length);
}

static void write_gone(const struct srv_entry *entry, struct wire_buf *out)
{
    const struct srv_snapshot *s =
        (const struct srv_snapshot *)(const void *)((const char *)entry -
                                                    offsetof(struct srv_snapshot, entry));
    wire_buf_append(out, s->gone->bytes, s->gone->length);
}

static struct srv_snapshot *snapshot_of(struct srv_entry *entry)
{
    return (struct srv_snapshot *)(void *)((char *)entry - offsetof(struct srv_snapshot, entry));
}

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    struct srv_snapshot *s = snapshot_of(entry);
    s->status = status;
    if (status == SRV_JOURNAL_OK && entry->replaces != 0)
        srv_snapshot_written(s->all, NULL, entry->seq, s->gone->length);
}

static void finish(struct srv_snapshot *s)
{
    struct srv_snapshots *all = s->all;
    srv_snapshot_done *done = s->done;
    void *context = s->context;
    take_over(s);
    if (all->log != NULL && !s->renews)
        SRV_LOG(all->log, SRV_DEBUG, "snapshot",
                srv_bytes("scene", obb_scene_name(s->scene->scene)),
                srv_integer("chunks", (int64_t)s->chunks), srv_integer("bytes", (int64_t)s->size));
    free_snapshot(s);
    if (done != NULL)
        done(context, SRV_JOURNAL_OK);
    forget(all);
    look(all);
}

static void on_released(struct srv_entry *entry)
{
    struct srv_snapshot *s = snapshot_of(entry);
    s->in_journal = false;
    if (s->status != SRV_JOURNAL_OK) {
        if (s->phase != DROP && (s->done != NULL || s->scene == NULL || s->all->stopped))
            give_up(s, s->status);
        else if (s->all->stopped)
            free_snapshot(s);
        else
            s->paused = true;
        return;
    }
    if (entry->kind == SRV_ENTRY_CHUNK)
        s->size += s->piece.length;
    if (entry->kind == SRV_ENTRY_DROPPED)
        s->phase = OVER;
    if (entry->kind == SRV_ENTRY_SNAPSHOT && s->scene != NULL)
        finish(s);
    else
        advance(s);
}

static void append(struct srv_snapshot *s, srv_entry_kind kind, uint64_t number)
{
    const uint64_t replaces = kind == SRV_ENTRY_SNAPSHOT ? s->replaces : 0;
    s->entry = (struct srv_entry){.kind = kind,
                                  .scene = s->entry.scene,
                                  .number = number,
                                  .snapshot = s->number,
                                  .count = s->phase == WORD ? s->chunks : 0,
                                  .link = {.id = s->record},
                                  .from = s->from,
                                  .bytes = {s->piece.bytes, s->piece.length},
                                  .replaces = replaces,
                                  .hurries = s->done != NULL,
                                  .write = kind == SRV_ENTRY_CHUNK ? write_piece
                                           : replaces != 0         ? write_gone
                                                                   : NULL,
                                  .settled = on_settled,
                                  .released = on_released};
    s->paused = false;
    s->in_journal = true;
    srv_journal_append(s->all->journal, &s->entry);
}

/* Hands over the word that the snapshot is whole. */
static void append_word(struct srv_snapshot *s)
{
    wire_buf_restart(&s->piece, s->piece.capacity);
    if (s->all->new_id != NULL) {
        const wire_record record = {.kind = WIRE_RECORD_WHOLE,
                                    .epoch = s->epoch,
                                    .id = s->record,
                                    .base = s->newest_record,
                                    .base_id = s->size,
                                    .seen = s->newest_place,
                                    .has_boxes = true,
                                    .boxes = s->newest_boxes,
                                    .name = obb_scene_name(obb_view_scene(s->view)),
                                    .effects = {.moment = s->newest,
                                                .has_settings = true,
                                                .settings = s->newest_settings,
                                                .next_id = s->newest_next_id}};
        wire_record_write(&record, s->newest_settings.dimensions, &s->piece);
    }
    if (!s->piece.failed) {
        s->is_named = s->all->new_id != NULL;
        append(s, SRV_ENTRY_SNAPSHOT, s->chunks);
        return;
    }
    meet_no_memory(s->all, s->scene);
    give_up(s, SRV_JOURNAL_FAILED);
}

/* Hands the entry over again that failed. */
static void append_again(struct srv_snapshot *s) { append(s, s->entry.kind, s->entry.number); }

/* ---- The way of a snapshot ------------------------------------------------------------------- */

static void piece_made(struct srv_job *job)
{
    struct srv_snapshot *s = (struct srv_snapshot *)job;
    s->on_pool = false;
    if (s->no_memory && s->scene != NULL)
        meet_no_memory(s->all, s->scene);
    if (atomic_load(&s->cancelled) || s->no_memory) {
        give_up(s, SRV_JOURNAL_FAILED);
        return;
    }
    if (s->phase > STEPS && s->later != NULL) { /* the steps are told */
        srv_view_close(s->all->locks, s->later);
        s->later = NULL;
    }
    if (s->piece.length == 0)
        advance(s);
    else if (s->phase == WORD && !s->of_record)
        append(s, SRV_ENTRY_CHUNK, 0);
    else
        append(s, SRV_ENTRY_CHUNK, s->chunks++);
}

/* Does what comes next. The snapshot may be freed. */
static void advance(struct srv_snapshot *s)
{
    if (s->on_pool || s->in_journal)
        return;
    if (s->phase == OVER) {
        free_snapshot(s);
        return;
    }
    if (s->phase == DROP) {
        append(s, SRV_ENTRY_DROPPED, 0);
        return;
    }
    if (atomic_load(&s->cancelled)) {
        give_up(s, SRV_JOURNAL_FAILED);
        return;
    }
    if (s->phase == WORD && (s->needs_seal || s->of_record)) {
        srv_snapshot_done *done = s->done;
        s->done = NULL;
        s->is_held = s->needs_seal;
        done(s->context, SRV_JOURNAL_OK);
        return;
    }
    if (s->phase == WORD) {
        append_word(s);
        return;
    }
    s->on_pool = true;
    if (srv_pool_submit(s->all->pool, &s->job) != SRV_SUBMITTED) {
        s->on_pool = false;
        if (s->scene != NULL)
            meet_no_memory(s->all, s->scene);
        give_up(s, SRV_JOURNAL_FAILED);
    }
}

/* ---- The beginning of a snapshot ------------------------------------------------------------- */

/* Makes what pieces of the scene of that number need. Returns NULL without memory. */
static struct srv_snapshot *create_pieces(struct srv_snapshots *all, uint64_t scene)
{
    struct srv_snapshot *s = obb_calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->all = all;
    s->entry.scene = scene;
    s->job.advance = make_piece;
    s->job.done = piece_made;
    s->job.background = true;
    s->job.cancelled = &s->cancelled;
    obb_arena_init(&s->arena);
    s->arena.budget = s->piece.budget = all->budget;
    s->next = all->under_way;
    if (s->next != NULL)
        s->next->previous = s;
    all->under_way = s;
    srv_drain_hold(all->drain);
    return s;
}

static struct srv_snapshot *create(struct srv_snapshots *all, struct srv_journaled *scene)
{
    struct srv_snapshot *s = create_pieces(all, scene->number);
    if (s == NULL)
        return NULL;
    s->scene = scene;
    s->from = all->last_seq + 1;
    s->mark = all->total;
    s->bytes_before = scene->bytes;
    s->phase = STEPS;
    s->chunks = 1; /* the head */
    scene->under_way = s;
    return s;
}

/* Looks up the commits after the oldest state. */
static bool find_steps(struct srv_snapshot *s)
{
    const uint64_t count = s->newest.revision - s->moment.revision;
    s->newest_settings = s->settings;
    s->newest_next_id = s->next_id;
    if (count == 0)
        return true;
    s->steps = obb_budget_calloc(s->all->budget, (size_t)count, sizeof *s->steps);
    if (s->steps == NULL)
        return false;
    for (; s->step_count < count; s->step_count++) {
        obb_step *step = &s->steps[s->step_count];
        if (!obb_view_step(s->later, s->moment.revision + s->step_count + 1, step))
            return false;
        s->newest_settings = step->settings;
        s->newest_next_id = step->next_id;
    }
    return true;
}

/* Opens the views and reads all that may only be read on the loop. */
static bool prepare(struct srv_snapshot *s)
{
    struct obb_scene *scene = s->scene->scene;
    struct srv_locks *locks = s->all->locks;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    const obb_at at = {.kind = OBB_AT_REVISION, .revision = info.oldest.revision};
    if (srv_view_open(locks, scene, &at, &s->view, NULL, NULL) != OBB_OK ||
        srv_view_open(locks, scene, &at, &s->later, NULL, NULL) != OBB_OK)
        return false;
    obb_view_keep_later(s->later);
    s->number = srv_journal_number(s->all->journal);
    s->newest_record = s->record = s->scene->newest;
    s->newest_place = s->scene->place;
    s->moment = info.oldest;
    s->newest = info.now;
    s->newest_boxes = info.boxes;
    s->settings = *obb_view_settings(s->view);
    s->next_id = obb_view_next_id(s->view);
    s->epoch = obb_scene_epoch(scene);
    s->time_stated = obb_copy_of(s->view, obb_scene_name(scene), 0.0).time_stated;
    if (!find_steps(s))
        return false;
    const double until = obb_view_until(s->view);
    if (until > s->moment.time)
        tell_until(s, (obb_moment){s->moment.revision, until}, s->next_id, dimensions_of(s));
    if (s->all->remember != NULL)
        s->all->remember(s->all->context, s->scene, &s->piece);
    return !s->piece.failed;
}

/* Begins a snapshot. Returns NULL without memory. */
static struct srv_snapshot *create_and_prepare(struct srv_snapshots *all,
                                               struct srv_journaled *scene)
{
    struct srv_snapshot *s = create(all, scene);
    if (s != NULL && !prepare(s)) {
        free_snapshot(s);
        s = NULL;
    }
    if (s == NULL)
        meet_no_memory(all, scene);
    return s;
}

/* Hands over the piece that was made while the snapshot was prepared, if there is one. */
static void set_out(struct srv_snapshot *s)
{
    if (s->piece.length > 0)
        append(s, SRV_ENTRY_CHUNK, s->chunks++);
    else
        advance(s);
}

/* Returns whether a snapshot of the scene may begin: records up to the last one then count no more.
 * So all of them must be published. */
static bool may_begin(const struct srv_snapshots *all, const struct srv_journaled *scene)
{
    return scene->under_way == NULL && scene->unpublished == 0 &&
           !srv_scene_locked(all->locks, scene->scene);
}

static void begin(struct srv_snapshots *all, struct srv_journaled *scene)
{
    if (!may_begin(all, scene))
        return;
    struct srv_snapshot *s = create_and_prepare(all, scene);
    if (s == NULL)
        return;
    all->regular = s;
    if (all->new_id != NULL)
        s->record = all->new_id(all->context);
    set_out(s);
}

/* Lets the last snapshot of a scene that has not changed count from here on. */
static void renew(struct srv_snapshots *all, struct srv_journaled *scene)
{
    if (!may_begin(all, scene))
        return;
    struct srv_snapshot *s = create(all, scene);
    if (s == NULL) {
        meet_no_memory(all, scene);
        return;
    }
    all->regular = s;
    s->renews = true;
    s->phase = WORD;
    s->number = scene->snapshot;
    s->chunks = scene->chunks;
    advance(s);
}

/* ---- The face -------------------------------------------------------------------------------- */

void srv_snapshots_add(struct srv_snapshots *all, struct srv_journaled *scene)
{
    scene->added = true;
    scene->previous = NULL;
    scene->next = all->first;
    if (scene->next != NULL)
        scene->next->previous = scene;
    all->first = scene;
    all->needed += scene->bytes;
}

/* Gives up the snapshot of a scene that is under way, if there is one. */
static void detach(struct srv_journaled *scene)
{
    struct srv_snapshot *s = scene->under_way;
    if (s == NULL)
        return;
    scene->under_way = NULL;
    s->scene = NULL;
    atomic_store(&s->cancelled, true);
    if (s->paused || s->is_held)
        give_up(s, SRV_JOURNAL_FAILED);
    else if (s->on_pool)
        srv_pool_cancelled(&s->job);
}

void srv_snapshots_pause(struct srv_journaled *scene)
{
    const struct srv_snapshot *s = scene->under_way;
    scene->ends = true;
    /* The word that a snapshot is whole comes before the word that the scene is gone. */
    if (s == NULL || !s->in_journal || s->entry.kind != SRV_ENTRY_SNAPSHOT)
        detach(scene);
}

void srv_snapshots_go_on(struct srv_journaled *scene) { scene->ends = false; }

void srv_snapshots_remove(struct srv_snapshots *all, struct srv_journaled *scene)
{
    if (scene->added) {
        *(scene->previous != NULL ? &scene->previous->next : &all->first) = scene->next;
        if (scene->next != NULL)
            scene->next->previous = scene->previous;
        all->needed -= scene->bytes;
        scene->added = false;
    }
    detach(scene);
}

/* Counts a record. */
static void count(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t seq,
                  size_t bytes)
{
    if (seq == 0)
        seq = all->last_seq +
              1; /* records get their places in the order in which they were appended */
    if (scene != NULL) {
        if (scene->first == 0) {
            scene->first = seq;
            scene->mark = all->total;
        }
        scene->place = more(scene->place, seq);
        scene->bytes += bytes;
        all->needed += bytes;
    }
    all->last_seq = more(all->last_seq, seq);
    all->total += bytes;
}

void srv_snapshot_followed(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t seq,
                           size_t bytes)
{
    const bool was_due = is_due(all, scene);
    count(all, scene, seq, bytes);
    if (!was_due && is_due(all, scene))
        scene->is_left = true;
}

void srv_snapshot_told(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t size)
{
    if (scene->added)
        all->needed -= scene->bytes;
    scene->bytes = 0;
    scene->size = size;
    scene->is_left = false;
    if (scene->under_way != NULL && !scene->under_way->is_named)
        detach(scene);
}

void srv_snapshot_written(struct srv_snapshots *all, struct srv_journaled *scene, uint64_t seq,
                          size_t bytes)
{
    count(all, scene, seq, bytes);
    for (struct srv_snapshot *s = all->under_way, *next; s != NULL; s = next) {
        next = s->next;
        if (s->paused)
            append_again(s);
    }
    if (all->regular == NULL && ((scene != NULL && is_due(all, scene)) ||
                                 LOOKS * (all->total - all->checked) >= least_of(all)))
        look(all);
}

bool srv_snapshot_make(struct srv_snapshots *all, struct srv_journaled *scene,
                       srv_snapshot_done *done, void *context)
{
    struct srv_snapshot *s = create_and_prepare(all, scene);
    if (s == NULL)
        return false;
    s->done = done;
    s->context = context;
    s->needs_seal = true;
    set_out(s);
    return true;
}

bool srv_snapshot_seal(struct srv_journaled *scene, uint64_t replaces, const struct wire_buf *gone,
                       srv_snapshot_done *done, void *context)
{
    struct srv_snapshot *s = scene->under_way;
    if (s == NULL)
        return false;
    s->needs_seal = s->is_held = false;
    s->replaces = replaces;
    s->gone = gone;
    s->done = done;
    s->context = context;
    advance(s);
    return true;
}

void srv_snapshot_named(struct srv_journaled *scene)
{
    if (scene->under_way != NULL)
        finish(scene->under_way);
}

struct srv_snapshot *srv_snapshot_parts(struct srv_snapshots *all, uint64_t scene,
                                        wire_record_id record, uint64_t epoch, int dimensions,
                                        const struct srv_parts *parts, srv_snapshot_done *done,
                                        void *context)
{
    struct srv_snapshot *s = create_pieces(all, scene);
    if (s == NULL)
        return NULL;
    s->of_record = true;
    s->record = record;
    s->phase = PARTS;
    s->number = srv_journal_number(all->journal);
    s->epoch = epoch;
    s->dimensions = dimensions;
    s->parts = *parts;
    s->done = done;
    s->context = context;
    s->on_pool = true;
    if (srv_pool_submit(all->pool, &s->job) == SRV_SUBMITTED)
        return s;
    free_snapshot(s);
    return NULL;
}

uint64_t srv_snapshot_number(const struct srv_snapshot *s) { return s->number; }

uint64_t srv_snapshot_size(const struct srv_snapshot *s) { return s->size; }

void srv_snapshot_parts_cancel(struct srv_snapshot *s)
{
    atomic_store(&s->cancelled, true);
    if (s->on_pool)
        srv_pool_cancelled(&s->job);
}

void srv_snapshot_parts_end(struct srv_snapshot *s, bool named)
{
    if (named)
        free_snapshot(s);
    else
        give_up(s, SRV_JOURNAL_FAILED);
}

void srv_snapshots_stop(struct srv_snapshots *all)
{
    all->stopped = true;
    for (struct srv_snapshot *s = all->under_way, *next; s != NULL; s = next) {
        next = s->next;
        /* its record is as good as accepted; while a worker makes a piece, the phase is the
         * worker's, and is not after WORD */
        if (s->of_record && (s->on_pool || s->phase <= WORD))
            continue;
        atomic_store(&s->cancelled, true);
        if (s->paused && s->phase == DROP)
            free_snapshot(s);
        else if (s->paused || s->is_held)
            give_up(s, SRV_JOURNAL_FAILED);
        else if (s->on_pool)
            srv_pool_cancelled(&s->job);
    }
}
