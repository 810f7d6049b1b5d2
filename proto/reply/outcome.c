#include "proto/reply/outcome.h"

#include "proto/base/le.h"
#include "proto/codec/cursor.h"
#include "proto/codec/out.h"

/* An outcome is, little-endian:
 *
 *   form      u8    NAMED, or ORDERED if there would be more than MOST_NAMED hashes
 *   count     u32   of the hashes; ORDERED: 0
 *   entries   u64   of the hashes of all entries: NAMED, their sum, the same for every order;
 *                   ORDERED, a hash of their sequence
 *   hashes    u64 each, of the new boxes, the poses that were skipped, and the transforms that were
 *   numbers   an array of CBOR
 *
 * Older journals hold the numbers only, which begin with the head of an array. An object has no
 * order, so the entries of a repeated commit are found by the hashes of their names. Large commits
 * would push all others out of what a scene remembers: theirs are known by their order. */
enum { NAMED = 1, ORDERED = 2, MOST_NAMED = 1 << 18, NAMED_HEAD = 13, FIRST_ARRAY = 0x80 };

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

/* The groups of entries whose names count. */
enum group { GROUP_PUT = 1, GROUP_POSE, GROUP_TRANSFORM, GROUP_FRAME };

/* Journals hold these hashes: they stay as they are. */
static uint64_t hash_target(enum group group, const obb_target *target)
{
    const obb_hash_key key = {.k0 = 0x6f626264206f7574, .k1 = 2 * (uint64_t)group + target->has_id};
    unsigned char id[8];
    if (!target->has_id)
        return obb_hash(key, target->name.bytes, target->name.length);
    wire_put_u64le(id, target->id);
    return obb_hash(key, id, sizeof id);
}

static uint64_t hash_put(const obb_edit *edit, size_t i)
{
    obb_put scratch;
    return hash_target(GROUP_PUT, &obb_edit_put_without_box(edit, i, &scratch)->target);
}

static uint64_t hash_pose(const obb_edit *edit, size_t i)
{
    return hash_target(GROUP_POSE, &edit->poses[i].target);
}

static uint64_t hash_transform(const obb_edit *edit, size_t i)
{
    return hash_target(GROUP_TRANSFORM, &edit->transforms[i].target);
}

static uint64_t hash_frame(const obb_edit *edit, size_t i)
{
    return hash_target(GROUP_FRAME, &edit->frames[i].target);
}

static bool given_up(const atomic_bool *cancel, size_t i)
{
    enum { POLLED = 4096 };
    return i % POLLED == 0 && obb_cancelled(cancel);
}

/* Writes a hash of all entries and of whether the ids of all puts are wanted, as the form says.
 * Returns false if the work is cancelled. */
static bool hash_entries(const obb_edit *edit, int form, const atomic_bool *cancel, uint64_t *out)
{
    const struct {
        size_t count;
        uint64_t (*hash)(const obb_edit *edit, size_t i);
    } groups[] = {{edit->put_count, hash_put},
                  {edit->pose_count, hash_pose},
                  {edit->transform_count, hash_transform},
                  {edit->frame_count, hash_frame}};
    /* By Horner's rule; a sequence in another order has another value. */
    const uint64_t by = form == ORDERED ? 0x9e3779b97f4a7c15 : 1;
    uint64_t sum = edit->all_put_ids;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            if (given_up(cancel, i))
                return false;
            sum = sum * by + groups[g].hash(edit, i);
        }
    *out = sum;
    return true;
}

static unsigned char *put_hashes(unsigned char *at, const obb_edit *edit,
                                 const obb_committed *committed)
{
    const bool *poses = committed->missed_poses, *transforms = committed->missed_transforms;
    for (size_t i = 0; i < edit->put_count; i++)
        if (committed->new_ids[i] != 0)
            at = wire_put_u64le(at, hash_put(edit, i));
    for (size_t i = 0; poses != NULL && i < edit->pose_count; i++)
        if (poses[i])
            at = wire_put_u64le(at, hash_pose(edit, i));
    for (size_t i = 0; transforms != NULL && i < edit->transform_count; i++)
        if (transforms[i])
            at = wire_put_u64le(at, hash_transform(edit, i));
    return at;
}

/* Writes what stands before the numbers. */
static void put_named(struct wire_buf *buf, const obb_edit *edit, const obb_committed *committed)
{
    size_t count = count_missed(committed->missed_poses, edit->pose_count) +
                   count_missed(committed->missed_transforms, edit->transform_count);
    for (size_t i = 0; i < edit->put_count; i++)
        count += committed->new_ids[i] != 0;
    const int form = count > MOST_NAMED ? ORDERED : NAMED;
    if (form == ORDERED)
        count = 0;
    unsigned char *room = (unsigned char *)wire_buf_room(buf, NAMED_HEAD + 8 * count);
    if (room == NULL)
        return;
    *room = (unsigned char)form;
    unsigned char *at = wire_put_u32le(room + 1, (uint32_t)count);
    uint64_t entries = 0;
    (void)hash_entries(edit, form, NULL, &entries);
    at = wire_put_u64le(at, entries);
    if (form == NAMED)
        at = put_hashes(at, edit, committed);
    wire_buf_added(buf, (size_t)(at - room));
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
    put_named(buf, edit, committed);
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

/* Reads an outcome as if its entries came in the order of the first time. */
static obb_status read_in_order(obb_str bytes, const obb_edit *edit, struct obb_arena *arena,
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

/* What an outcome says of names: hashes, in the order of the first time. */
struct names {
    const char *hashes; /* the next one */
    size_t count;       /* so many are left */
    const atomic_bool *cancel;
};

/* Returns the next `count` hashes with the index of each, ordered by the hashes; or NULL: there is
 * no memory, or the work is cancelled. `count` is at most n->count. */
static const struct obb_ranked *order_hashes(struct names *n, size_t count, struct obb_arena *arena)
{
    struct obb_ranked *list = obb_arena_alloc(arena, count, sizeof *list),
                      *spare = obb_arena_alloc(arena, count, sizeof *spare);
    if (list == NULL || spare == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct obb_ranked){.major = wire_u64le(n->hashes + 8 * i), .minor = i};
    n->hashes += 8 * count;
    n->count -= count;
    return obb_sort_ranked(list, count, spare, n->cancel);
}

/* Returns the place of the hash in the list, or `count`. */
static size_t find_hash(const struct obb_ranked *list, size_t count, uint64_t hash)
{
    size_t begin = 0, end = count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (list[middle].major < hash)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < count && list[begin].major == hash ? begin : count;
}

/* Gives the new ids to the puts by their names. Puts have different names: each hash is there once,
 * or two collide, and the ids cannot be told. */
static obb_status name_ids(struct names *n, const obb_edit *edit, struct obb_arena *arena,
                           obb_committed *committed)
{
    size_t count = 0, found = 0;
    for (size_t i = 0; i < edit->put_count; i++)
        count += committed->new_ids[i] != 0;
    if (count > n->count)
        return OBB_BAD_VALUE;
    uint64_t *first = obb_arena_alloc(arena, count, sizeof *first),
             *ids = obb_arena_alloc(arena, edit->put_count, sizeof *ids);
    const struct obb_ranked *list = order_hashes(n, count, arena);
    if (first == NULL || ids == NULL || list == NULL)
        return obb_cancelled(n->cancel) ? OBB_CANCELLED : OBB_NO_MEMORY;
    for (size_t i = 0, at = 0; i < edit->put_count; i++)
        if (committed->new_ids[i] != 0)
            first[at++] = committed->new_ids[i];
    for (size_t i = 1; i < count; i++)
        if (list[i].major == list[i - 1].major)
            return OBB_BAD_VALUE;
    for (size_t i = 0; i < edit->put_count; i++) {
        if (given_up(n->cancel, i))
            return OBB_CANCELLED;
        const size_t at = find_hash(list, count, hash_put(edit, i));
        ids[i] = at < count ? first[list[at].minor] : 0;
        found += at < count;
    }
    committed->new_ids = ids;
    return found == count ? OBB_OK : OBB_BAD_VALUE;
}

/* Finds the `count` entries that were skipped by their names. */
static obb_status name_missed(struct names *n, const obb_edit *edit, size_t entries,
                              uint64_t (*hash)(const obb_edit *edit, size_t i),
                              struct obb_arena *arena, const bool **missed)
{
    const size_t count = count_missed(*missed, entries);
    size_t found = 0;
    if (count == 0)
        return OBB_OK;
    if (count > n->count)
        return OBB_BAD_VALUE;
    bool *named = obb_arena_alloc(arena, entries, sizeof *named);
    const struct obb_ranked *list = order_hashes(n, count, arena);
    if (named == NULL || list == NULL)
        return obb_cancelled(n->cancel) ? OBB_CANCELLED : OBB_NO_MEMORY;
    for (size_t i = 0; i < entries; i++) {
        if (given_up(n->cancel, i))
            return OBB_CANCELLED;
        found += named[i] = find_hash(list, count, hash(edit, i)) < count;
    }
    *missed = named;
    return found == count ? OBB_OK : OBB_BAD_VALUE;
}

obb_status wire_read_outcome(obb_str bytes, const obb_edit *edit, const atomic_bool *cancel,
                             struct obb_arena *arena, obb_committed *out)
{
    if (bytes.length > 0 && (unsigned char)bytes.bytes[0] >= FIRST_ARRAY)
        return read_in_order(bytes, edit, arena, out);
    if (bytes.length < NAMED_HEAD || (bytes.bytes[0] != NAMED && bytes.bytes[0] != ORDERED))
        return OBB_BAD_VALUE;
    const int form = (unsigned char)bytes.bytes[0];
    struct names n = {
        .hashes = bytes.bytes + NAMED_HEAD, .count = wire_u32le(bytes.bytes + 1), .cancel = cancel};
    if (n.count > (bytes.length - NAMED_HEAD) / 8)
        return OBB_BAD_VALUE;
    const obb_str numbers = {n.hashes + 8 * n.count, bytes.length - NAMED_HEAD - 8 * n.count};
    obb_status status = read_in_order(numbers, edit, arena, out);
    uint64_t entries = 0;
    if (status == OBB_OK && !hash_entries(edit, form, cancel, &entries))
        return OBB_CANCELLED;
    if (status == OBB_OK && wire_u64le(bytes.bytes + 5) != entries)
        return OBB_BAD_VALUE;
    if (form == ORDERED)
        return status == OBB_OK && n.count > 0 ? OBB_BAD_VALUE : status;
    if (status == OBB_OK)
        status = name_ids(&n, edit, arena, out);
    if (status == OBB_OK)
        status = name_missed(&n, edit, edit->pose_count, hash_pose, arena, &out->missed_poses);
    if (status == OBB_OK)
        status = name_missed(&n, edit, edit->transform_count, hash_transform, arena,
                             &out->missed_transforms);
    return status == OBB_OK && n.count > 0 ? OBB_BAD_VALUE : status;
}
