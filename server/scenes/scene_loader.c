#include "server/scenes/scene_loader.h"

#include "server/scenes/gather.h"

#include <stdio.h>
#include <string.h>

void srv_scene_loader_init(struct srv_scene_loader *l, uint64_t number,
                           const struct obb_kernels *kernels)
{
    *l = (struct srv_scene_loader){.number = number, .kernels = kernels};
    l->restored.journaled.number = number;
    obb_arena_init(&l->kept);
    obb_arena_init(&l->scratch);
}

static void drop_chunks(struct srv_scene_loader *l)
{
    for (size_t i = 0; i < l->chunk_count; i++)
        wire_buf_fini(&l->chunks[i]);
    obb_free(l->chunks);
    l->chunks = NULL;
    l->chunk_count = l->chunk_room = 0;
}

void srv_scene_loader_fini(struct srv_scene_loader *l)
{
    obb_scene_destroy(l->restored.journaled.scene);
    drop_chunks(l);
    obb_free(l->commits);
    obb_arena_fini(&l->kept);
    obb_arena_fini(&l->scratch);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

/* `where` names the record or piece, as "record 17" or "its snapshot". */
static bool fault(struct srv_scene_loader *l, const char *where, const char *what)
{
    const struct obb_scene *scene = l->restored.journaled.scene;
    if (scene != NULL)
        (void)snprintf(l->error, sizeof l->error, "scene %s, %s: %s",
                       wire_show(obb_scene_name(scene)).text, where, what);
    else
        (void)snprintf(l->error, sizeof l->error, "scene number %llu, %s: %s",
                       (unsigned long long)l->number, where, what);
    return false;
}

static bool refuse(struct srv_scene_loader *l, const char *where, obb_status status)
{
    l->no_memory = status == OBB_NO_MEMORY;
    return fault(l, where,
                 status == OBB_NO_MEMORY ? "there is not enough memory"
                 : status == OBB_LIMIT   ? "a newer obbd wrote it"
                                         : "it is damaged");
}

/* ---- Remembered commits ---------------------------------------------------------------------- */

static bool keep_text(struct srv_scene_loader *l, obb_str text, obb_str *out)
{
    char *bytes = obb_arena_alloc(&l->kept, text.length, 1);
    if (bytes == NULL)
        return false;
    memcpy(bytes, text.bytes, text.length);
    *out = (obb_str){.bytes = bytes, .length = text.length};
    return true;
}

static obb_status remember(struct srv_scene_loader *l, const wire_record *record)
{
    srv_restored_scene *restored = &l->restored;
    srv_restored_commit commit = {.moment = record->effects.moment};
    if (record->commit_id.length == 0)
        return OBB_OK;
    if (restored->commit_count == l->commit_room) {
        const size_t room = l->commit_room == 0 ? 64 : 2 * l->commit_room;
        srv_restored_commit *commits = obb_realloc(l->commits, room, sizeof *commits);
        if (commits == NULL)
            return OBB_NO_MEMORY;
        restored->commits = l->commits = commits;
        l->commit_room = room;
    }
    if (!keep_text(l, record->commit_id, &commit.id) ||
        !keep_text(l, record->answer, &commit.answer))
        return OBB_NO_MEMORY;
    l->commits[restored->commit_count++] = commit;
    return OBB_OK;
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static obb_status make_scene(struct srv_scene_loader *l, const wire_record *record)
{
    if (l->restored.journaled.scene != NULL || !record->effects.has_settings)
        return OBB_BAD_VALUE;
    l->restored.epoch = record->epoch;
    return obb_scene_create(record->name, &record->effects.settings, 0.0, l->kernels,
                            &l->restored.journaled.scene);
}

/* Notes the fingerprint of the scene after a record of the log, and whether the record says so. */
static void compare(struct srv_scene_loader *l, const wire_record *record,
                    const struct obb_prepared *prepared)
{
    uint64_t *fingerprint = &l->restored.journaled.fingerprint;
    const obb_effects after = obb_prepared_summary(prepared);
    *fingerprint = obb_prepared_fingerprint(prepared, *fingerprint);
    if (record->has_hash)
        l->differs = record->hash != obb_fingerprint_hash(*fingerprint, &after.settings,
                                                          after.moment, after.next_id);
}

/* Lets the scene forget its oldest states beyond the limit. */
static void forget(const struct srv_scene_loader *l)
{
    struct obb_scene *scene = l->restored.journaled.scene;
    while (l->limit > 0 && obb_scene_bytes(scene) > l->limit && obb_scene_forget(scene))
        ;
}

/* Does what a record says. begins: it is the first one of a snapshot. The records of a snapshot
 * hold the hash of the state that they make, which must be right. */
static obb_status apply(struct srv_scene_loader *l, const wire_record *record,
                        const obb_effects *effects, bool in_snapshot, bool begins)
{
    struct obb_scene *scene = l->restored.journaled.scene;
    struct obb_prepared *prepared = NULL;
    obb_committed committed;
    const obb_status st = obb_effects_prepare(scene, effects, begins, &l->scratch, &prepared);
    if (st != OBB_OK)
        return st;
    if (l->hashes && !in_snapshot)
        compare(l, record, prepared);
    obb_edit_commit(prepared, &committed);
    forget(l);
    const bool wrong = in_snapshot && record->has_hash && obb_scene_hash(scene) != record->hash;
    return wrong ? OBB_BAD_VALUE : OBB_OK;
}

static bool is_remembered(const struct srv_scene_loader *l, obb_str id)
{
    for (size_t i = l->restored.commit_count; i-- > 0 && id.length > 0;)
        if (obb_str_equal(l->commits[i].id, id))
            return true;
    return false;
}

/* Returns whether a record comes behind the newest one of its scene. A record that does not name
 * the one before it may: it is of an older version, or follows one. */
static bool follows(const struct srv_scene_loader *l, const wire_record *record)
{
    return !wire_record_id_is(record->base) ||
           wire_record_id_equal(record->base, l->restored.journaled.newest);
}

/* Returns whether the snapshot holds what a record says: it was made while commits were written.
 *
 * A record that names the newest one as the one before it is never known, whatever its commit's id:
 * a client may use an id again once the scene has forgotten the id. Of the other records, a commit
 * that changed nothing, at the same time as the one before, is known by its id if it has one, or
 * because it does not follow the newest record of the snapshot. Otherwise it makes no difference
 * whether it is applied again. */
static bool is_known(const struct srv_scene_loader *l, const wire_record *record)
{
    const obb_effects *effects = &record->effects;
    obb_scene_info info;
    if (l->restored.journaled.snapshot == 0 ||
        (wire_record_id_is(record->base) && follows(l, record)))
        return false;
    obb_scene_info_without_bounds(l->restored.journaled.scene, &info);
    if (effects->appends)
        return effects->moment.revision <= info.now.revision;
    return effects->moment.revision < info.now.revision ||
           (effects->moment.revision == info.now.revision &&
            (effects->moment.time < info.now.time || is_remembered(l, record->commit_id) ||
             (effects->moment.time == info.now.time && !l->goes_on && !follows(l, record))));
}

static obb_status make(struct srv_scene_loader *l, const wire_record *record)
{
    obb_status st = make_scene(l, record);
    obb_effects effects = record->effects;
    effects.has_settings = false;
    if (st == OBB_OK && (effects.appends || effects.time_stated))
        st = apply(l, record, &effects, false, false);
    l->restored.journaled.newest = record->id;
    return st == OBB_OK ? remember(l, record) : st;
}

static obb_status change(struct srv_scene_loader *l, const wire_record *record)
{
    if (l->restored.journaled.scene == NULL)
        return OBB_BAD_VALUE;
    if (!l->is_exact && is_known(l, record))
        return OBB_OK;
    if (!follows(l, record))
        return OBB_BAD_VALUE;
    const obb_status st = apply(l, record, &record->effects, false, false);
    if (st != OBB_OK)
        return st;
    l->restored.journaled.newest = record->id;
    l->goes_on = true;
    return remember(l, record);
}

/* ---- Lists in pieces ------------------------------------------------------------------------- */

/* Keeps a piece, whose bytes are left empty. */
static bool keep_piece(struct srv_scene_loader *l, struct wire_buf *bytes)
{
    if (l->chunk_count == l->chunk_room) {
        const size_t room = l->chunk_room == 0 ? 16 : 2 * l->chunk_room;
        struct wire_buf *chunks = obb_realloc(l->chunks, room, sizeof *chunks);
        if (chunks == NULL)
            return false;
        l->chunks = chunks;
        l->chunk_room = room;
    }
    l->chunks[l->chunk_count++] = *bytes;
    *bytes = (struct wire_buf){0};
    return true;
}

/* Calls `visit` with each record of the pieces. */
static obb_status each_record(struct srv_scene_loader *l,
                              obb_status (*visit)(struct srv_scene_loader *l,
                                                  const wire_record *record, void *context),
                              void *context)
{
    obb_status st = OBB_OK;
    for (size_t i = 0; i < l->chunk_count && st == OBB_OK; i++) {
        obb_str rest = {.bytes = l->chunks[i].bytes, .length = l->chunks[i].length}, one;
        while (st == OBB_OK && rest.length > 0) {
            wire_record record;
            obb_arena_reset(&l->scratch);
            st = wire_record_next(&rest, &one) ? wire_record_read(one, &l->scratch, &record)
                                               : OBB_BAD_VALUE;
            if (st == OBB_OK)
                st = visit(l, &record, context);
        }
    }
    return st;
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

static obb_status gather_boxes(struct srv_scene_loader *l, const wire_record *record, void *context)
{
    (void)l;
    return record->kind == WIRE_RECORD_BOXES ? srv_gather(context, &record->effects) : OBB_OK;
}

/* What follows the first state. */
static obb_status go_on(struct srv_scene_loader *l, const wire_record *record, void *context)
{
    struct srv_gathered *parts = context;
    if (record->kind == WIRE_RECORD_PART)
        return srv_gather_part(parts, record);
    if (record->kind == WIRE_RECORD_COMMIT) {
        wire_record whole = *record;
        obb_status st = srv_gathered_join(parts, &whole);
        if (st == OBB_OK)
            st = apply(l, &whole, &whole.effects, true, false);
        srv_gathered_fini(parts);
        return st;
    }
    if (record->kind == WIRE_RECORD_REMEMBERED)
        return remember(l, record);
    return record->kind == WIRE_RECORD_BOXES || record->kind == WIRE_RECORD_SNAPSHOT
               ? OBB_OK
               : OBB_BAD_VALUE;
}

static obb_status load_state(struct srv_scene_loader *l)
{
    struct srv_gathered boxes = {.list = NULL};
    obb_status st = each_record(l, gather_boxes, &boxes);
    obb_arena_reset(&l->scratch);
    obb_str first = {.bytes = l->chunks[0].bytes, .length = l->chunks[0].length}, head;
    wire_record record = {.kind = WIRE_RECORD_KINDS};
    if (st == OBB_OK)
        st = wire_record_next(&first, &head) ? wire_record_read(head, &l->scratch, &record)
                                             : OBB_BAD_VALUE;
    if (st == OBB_OK && (record.kind != WIRE_RECORD_SNAPSHOT || !record.has_hash))
        st = OBB_BAD_VALUE;
    if (st == OBB_OK)
        st = make_scene(l, &record);
    if (st == OBB_OK) {
        obb_effects effects = record.effects;
        effects.has_settings = false;
        effects.list = boxes.list;
        effects.count = boxes.count;
        l->restored.journaled.snapshot = record.id.counter;
        l->restored.journaled.newest = record.base;
        st = apply(l, &record, &effects, true, true);
    }
    srv_gathered_fini(&boxes);
    return st;
}

bool srv_scene_loader_chunk(struct srv_scene_loader *l, uint64_t number, uint64_t count,
                            uint64_t from, struct wire_buf *bytes)
{
    struct srv_journaled *journaled = &l->restored.journaled;
    if (number != l->chunk_count || journaled->scene != NULL)
        return refuse(l, "its snapshot", OBB_BAD_VALUE);
    if (!keep_piece(l, bytes))
        return refuse(l, "its snapshot", OBB_NO_MEMORY);
    journaled->size += l->chunks[number].length;
    if (number + 1 < count)
        return true;
    journaled->first = from;
    journaled->chunks = count;
    obb_status st = load_state(l);
    struct srv_gathered parts = {.list = NULL};
    if (st == OBB_OK)
        st = each_record(l, go_on, &parts);
    if (st == OBB_OK && parts.parts > 0)
        st = OBB_BAD_VALUE; /* of a commit that is not there */
    srv_gathered_fini(&parts);
    drop_chunks(l);
    if (st == OBB_OK && l->hashes)
        journaled->fingerprint = obb_scene_fingerprint(journaled->scene);
    return st == OBB_OK || refuse(l, "its snapshot", st);
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool refuse_record(struct srv_scene_loader *l, uint64_t seq, obb_status status)
{
    char where[40];
    (void)snprintf(where, sizeof where, "record %llu", (unsigned long long)seq);
    return refuse(l, where, status);
}

/* Is the record kept for another scene? */
static bool is_over(const struct srv_scene_loader *l, uint64_t seq)
{
    return l->restored.journaled.snapshot != 0 && seq < l->restored.journaled.first;
}

bool srv_scene_loader_piece(struct srv_scene_loader *l, uint64_t seq, struct wire_buf *bytes)
{
    if (is_over(l, seq))
        return true;
    l->restored.journaled.bytes += bytes->length;
    return keep_piece(l, bytes) || refuse_record(l, seq, OBB_NO_MEMORY);
}

static obb_status gather_parts(struct srv_scene_loader *l, const wire_record *record, void *context)
{
    (void)l;
    return record->kind == WIRE_RECORD_PART ? srv_gather_part(context, record) : OBB_BAD_VALUE;
}

static obb_status apply_record(struct srv_scene_loader *l, obb_str bytes)
{
    struct srv_gathered parts = {.list = NULL};
    wire_record record;
    obb_status st = each_record(l, gather_parts, &parts);
    obb_arena_reset(&l->scratch);
    if (st == OBB_OK)
        st = wire_record_read(bytes, &l->scratch, &record);
    if (st == OBB_OK)
        st = srv_gathered_join(&parts, &record);
    if (st == OBB_OK)
        st = record.kind == WIRE_RECORD_COMMIT ? change(l, &record)
             : record.kind == WIRE_RECORD_MADE ? make(l, &record)
                                               : OBB_BAD_VALUE;
    srv_gathered_fini(&parts);
    drop_chunks(l);
    return st;
}

bool srv_scene_loader_record(struct srv_scene_loader *l, uint64_t seq, obb_str bytes)
{
    struct srv_journaled *journaled = &l->restored.journaled;
    if (is_over(l, seq))
        return true;
    const obb_status st = apply_record(l, bytes);
    if (st != OBB_OK)
        return refuse_record(l, seq, st);
    if (journaled->first == 0)
        journaled->first = seq;
    journaled->bytes += bytes.length;
    l->records++;
    return true;
}

bool srv_scene_loader_row(struct srv_scene_loader *l, struct srv_row *row)
{
    if (row->is_piece)
        return srv_scene_loader_piece(l, row->seq, &row->bytes);
    if (row->seq == 0)
        return srv_scene_loader_chunk(l, row->number, row->count, row->from, &row->bytes);
    return srv_scene_loader_record(
        l, row->seq, (obb_str){.bytes = row->bytes.bytes, .length = row->bytes.length});
}

bool srv_scene_loader_end(struct srv_scene_loader *l)
{
    return l->restored.journaled.scene != NULL ||
           fault(l, "its beginning", "neither its making nor a snapshot of it is there");
}
