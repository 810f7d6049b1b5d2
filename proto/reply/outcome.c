#include "proto/reply/outcome.h"

#include "proto/codec/cursor.h"
#include "proto/codec/out.h"

/* The numbers, in their order. Behind them stand the runs of new ids, three numbers each (the index
 * of the first put, how many puts, the id of the first), and the indexes of the poses and of the
 * transforms that were skipped. */
enum {
    REVISION,
    TIME,
    REMOVED,
    EXPIRED,
    REMOVED_FRAMES,
    PUT,
    POSED,
    TRANSFORMED,
    PUTS, /* entries of the edit */
    POSES,
    TRANSFORMS,
    RUNS,
    MISSED_POSES,
    MISSED_TRANSFORMS,
    FIXED
};

/* Returns the end of the run of ids that begins at put i. */
static size_t run_end(const uint64_t *ids, size_t i, size_t count)
{
    size_t end = i + 1;
    while (end < count && ids[end] == ids[end - 1] + 1)
        end++;
    return end;
}

static size_t count_runs(const uint64_t *ids, size_t count)
{
    size_t runs = 0;
    for (size_t i = 0; i < count;) {
        runs += ids[i] != 0;
        i = ids[i] == 0 ? i + 1 : run_end(ids, i, count);
    }
    return runs;
}

static size_t count_missed(const bool *missed, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; missed != NULL && i < count; i++)
        sum += missed[i];
    return sum;
}

static void put_missed(struct wire_out *out, const bool *missed, size_t count)
{
    for (size_t i = 0; missed != NULL && i < count; i++)
        if (missed[i])
            wire_out_double(out, (double)i);
}

void wire_write_outcome(struct wire_buf *buf, const obb_edit *edit, const obb_committed *committed)
{
    const uint64_t *ids = committed->new_ids;
    const double numbers[FIXED] = {
        [REVISION] = (double)committed->moment.revision,
        [TIME] = committed->moment.time,
        [REMOVED] = (double)committed->removed,
        [EXPIRED] = (double)committed->expired,
        [REMOVED_FRAMES] = (double)committed->removed_frames,
        [PUT] = (double)committed->put,
        [POSED] = (double)committed->posed,
        [TRANSFORMED] = (double)committed->transformed,
        [PUTS] = (double)edit->put_count,
        [POSES] = (double)edit->pose_count,
        [TRANSFORMS] = (double)edit->transform_count,
        [RUNS] = (double)count_runs(ids, edit->put_count),
        [MISSED_POSES] = (double)count_missed(committed->missed_poses, edit->pose_count),
        [MISSED_TRANSFORMS] =
            (double)count_missed(committed->missed_transforms, edit->transform_count)};
    struct wire_out out = wire_out_cbor(buf);
    wire_out_array(&out, FIXED + 3 * (size_t)numbers[RUNS] + (size_t)numbers[MISSED_POSES] +
                             (size_t)numbers[MISSED_TRANSFORMS]);
    for (size_t i = 0; i < FIXED; i++)
        wire_out_double(&out, numbers[i]);
    for (size_t i = 0; i < edit->put_count;) {
        const size_t end = ids[i] == 0 ? i + 1 : run_end(ids, i, edit->put_count);
        if (ids[i] != 0) {
            wire_out_double(&out, (double)i);
            wire_out_double(&out, (double)(end - i));
            wire_out_double(&out, (double)ids[i]);
        }
        i = end;
    }
    put_missed(&out, committed->missed_poses, edit->pose_count);
    put_missed(&out, committed->missed_transforms, edit->transform_count);
    wire_out_array_end(&out);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The numbers of an outcome that have not been read yet. `bad`: one was out of range. */
struct numbers {
    struct wire_column column;
    size_t at;
    bool bad;
};

/* Returns the next number, a whole one of at most `most`; else 0, and notes that. */
static uint64_t next(struct numbers *n, double most)
{
    double value = 0;
    if (n->at < n->column.count)
        wire_column_get(&n->column, n->at++, 1, &value);
    else
        n->bad = true;
    n->bad |= !(value >= 0 && value <= most && value == (double)(uint64_t)value);
    return n->bad ? 0 : (uint64_t)value;
}

static void read_runs(struct numbers *n, uint64_t *ids, size_t count, uint64_t runs)
{
    size_t begin = 0;
    for (uint64_t r = 0; r < runs && !n->bad; r++) {
        const uint64_t first = next(n, (double)count), length = next(n, (double)count),
                       id = next(n, OBB_MAX_WHOLE);
        n->bad |= first < begin || length == 0 || length > count - first || id == 0;
        for (uint64_t i = 0; i < length && !n->bad; i++)
            ids[first + i] = id + i;
        begin = first + length;
    }
}

/* Returns which entries were skipped, or NULL if none was or there is no memory, which is noted. */
static const bool *read_missed(struct numbers *n, size_t count, uint64_t missed,
                               struct obb_arena *arena, bool *out_no_memory)
{
    if (missed == 0 || n->bad)
        return NULL;
    bool *list = obb_arena_alloc(arena, count, sizeof *list);
    if (list == NULL) {
        *out_no_memory = true;
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        list[i] = false;
    for (uint64_t i = 0; i < missed && !n->bad; i++) {
        const uint64_t index = next(n, (double)count - 1);
        n->bad |= n->bad || list[index];
        list[index] = true;
    }
    return list;
}

obb_status wire_read_outcome(obb_str bytes, const obb_edit *edit, struct obb_arena *arena,
                             obb_committed *out)
{
    struct wire_cursor c;
    struct numbers n = {.at = 0};
    bool no_memory = false;
    wire_cbor_open(&c, bytes.bytes, bytes.length, arena);
    if (!wire_read_column(&c, &n.column) || !wire_finish(&c))
        return c.fault.cause == WIRE_OBB_NO_MEMORY ? OBB_NO_MEMORY : OBB_BAD_VALUE;
    *out = (obb_committed){.changed = true};
    out->moment.revision = next(&n, OBB_MAX_WHOLE);
    if (n.at < n.column.count)
        wire_column_get(&n.column, n.at++, 1, &out->moment.time);
    out->removed = next(&n, OBB_MAX_WHOLE);
    out->expired = next(&n, OBB_MAX_WHOLE);
    out->removed_frames = next(&n, OBB_MAX_WHOLE);
    out->put = next(&n, OBB_MAX_WHOLE);
    out->posed = next(&n, OBB_MAX_WHOLE);
    out->transformed = next(&n, OBB_MAX_WHOLE);
    const uint64_t puts = next(&n, OBB_MAX_WHOLE), poses = next(&n, OBB_MAX_WHOLE),
                   transforms = next(&n, OBB_MAX_WHOLE), runs = next(&n, OBB_MAX_WHOLE),
                   missed_poses = next(&n, OBB_MAX_WHOLE),
                   missed_transforms = next(&n, OBB_MAX_WHOLE);
    if (n.bad || puts != edit->put_count || poses != edit->pose_count ||
        transforms != edit->transform_count || missed_poses > poses ||
        missed_transforms > transforms)
        return OBB_BAD_VALUE;
    uint64_t *ids = obb_arena_alloc(arena, edit->put_count, sizeof *ids);
    if (ids == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < edit->put_count; i++)
        ids[i] = 0;
    read_runs(&n, ids, edit->put_count, runs);
    out->new_ids = ids;
    out->missed_poses = read_missed(&n, edit->pose_count, missed_poses, arena, &no_memory);
    out->missed_transforms =
        read_missed(&n, edit->transform_count, missed_transforms, arena, &no_memory);
    out->missed = missed_poses + missed_transforms;
    if (no_memory)
        return OBB_NO_MEMORY;
    return n.bad || n.at != n.column.count ? OBB_BAD_VALUE : OBB_OK;
}
