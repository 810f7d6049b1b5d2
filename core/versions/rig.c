#include "core/versions/rig.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"

#include <assert.h>

/* ---- Rigs ------------------------------------------------------------------------------------ */

/* Bytes on the heap. */
static size_t boxes_size(uint32_t capacity)
{
    return capacity == 0 ? 0 : obb_heap_bytes(capacity * sizeof(struct obb_record *));
}

static size_t rig_size(uint32_t height)
{
    return obb_heap_bytes(sizeof(struct obb_rig) + height * sizeof(_Atomic(struct obb_rig *)));
}

/* Returns the height of the next rig: each level has a quarter of the rigs of the level below. The
 * heights do not depend on names, so no client can choose names that make the list slow. */
static uint32_t next_height(struct obb_rigs *rigs)
{
    const uint64_t number = rigs->made++;
    uint64_t lot = obb_hash((obb_hash_key){.k0 = 0, .k1 = 0}, &number, sizeof number);
    uint32_t height = 1;
    for (; height < OBB_RIG_HEIGHT && (lot & 3) == 0; lot >>= 2)
        height++;
    return height;
}

struct obb_rig *obb_rig_create(struct obb_rigs *rigs, struct obb_record *record)
{
    const uint32_t height = next_height(rigs);
    struct obb_rig *rig = obb_malloc(1, sizeof *rig + height * sizeof(_Atomic(struct obb_rig *)));
    if (rig == NULL)
        return NULL;
    *rig = (struct obb_rig){.record = record, .height = height};
    for (uint32_t i = 0; i < height; i++)
        atomic_init(&rig->next[i], NULL);
    rigs->bytes += rig_size(height);
    return rig;
}

void obb_rig_destroy(struct obb_rigs *rigs, struct obb_rig *rig)
{
    rigs->bytes -= rig_size(rig->height) + boxes_size(rig->capacity);
    obb_free((void *)rig->boxes);
    obb_free(rig);
}

/* ---- The list -------------------------------------------------------------------------------- */

/* Returns the links of a rig, or of the head of the list for NULL. */
static _Atomic(struct obb_rig *) *links_of(struct obb_rigs *rigs, struct obb_rig *rig)
{
    return rig == NULL ? rigs->first : rig->next;
}

/* Writes for each level the last link before the first rig whose name is not before `name`. */
static void find_links(struct obb_rigs *rigs, obb_str name,
                       _Atomic(struct obb_rig *) *out[static OBB_RIG_HEIGHT])
{
    struct obb_rig *before = NULL;
    for (uint32_t level = OBB_RIG_HEIGHT; level-- > 0;) {
        _Atomic(struct obb_rig *) *link = &links_of(rigs, before)[level];
        for (struct obb_rig *rig;
             (rig = atomic_load_explicit(link, memory_order_relaxed)) != NULL &&
             obb_str_compare(obb_record_name(rig->record), name) < 0;
             link = &rig->next[level])
            before = rig;
        out[level] = link;
    }
}

void obb_rigs_insert(struct obb_rigs *rigs, struct obb_rig *rig)
{
    _Atomic(struct obb_rig *) *links[OBB_RIG_HEIGHT];
    find_links(rigs, obb_record_name(rig->record), links);
    for (uint32_t level = 0; level < rig->height; level++) {
        struct obb_rig *next = atomic_load_explicit(links[level], memory_order_relaxed);
        atomic_store_explicit(&rig->next[level], next, memory_order_relaxed);
        atomic_store_explicit(links[level], rig, memory_order_release);
    }
}

void obb_rigs_remove(struct obb_rigs *rigs, struct obb_rig *rig)
{
    _Atomic(struct obb_rig *) *links[OBB_RIG_HEIGHT];
    find_links(rigs, obb_record_name(rig->record), links);
    for (uint32_t level = 0; level < rig->height; level++) {
        _Atomic(struct obb_rig *) *link = links[level];
        for (struct obb_rig *namesake;
             (namesake = atomic_load_explicit(link, memory_order_relaxed)) != rig;
             link = &namesake->next[level])
            assert(namesake != NULL);
        /* the links of the rig stay, so readers on it can go on */
        atomic_store_explicit(link, atomic_load_explicit(&rig->next[level], memory_order_relaxed),
                              memory_order_release);
    }
}

struct obb_rig *obb_rigs_seek(const struct obb_rigs *rigs, obb_str name, bool after)
{
    const _Atomic(struct obb_rig *) *links = rigs->first;
    struct obb_rig *rig = NULL;
    for (uint32_t level = OBB_RIG_HEIGHT; level-- > 0;)
        while ((rig = atomic_load_explicit(&links[level], memory_order_acquire)) != NULL) {
            const int order = obb_str_compare(obb_record_name(rig->record), name);
            if (after ? order > 0 : order >= 0)
                break;
            links = rig->next;
        }
    return rig;
}

size_t obb_rigs_boxes(const struct obb_rigs *rigs, obb_str name)
{
    const struct obb_rig *rig = obb_rigs_seek(rigs, name, false);
    return rig != NULL && obb_str_equal(obb_record_name(rig->record), name) ? rig->count : 0;
}

/* ---- The boxes in a rig ---------------------------------------------------------------------- */

obb_status obb_rig_reserve(struct obb_rigs *rigs, struct obb_rig *rig, uint32_t count)
{
    if (count <= rig->capacity)
        return OBB_OK;
    uint32_t capacity = rig->capacity == 0 ? 4 : rig->capacity;
    while (capacity < count)
        capacity = capacity > UINT32_MAX / 2 ? UINT32_MAX : capacity * 2;
    struct obb_record **boxes = (struct obb_record **)obb_realloc((void *)rig->boxes, capacity,
                                                                  sizeof(struct obb_record *));
    if (boxes == NULL)
        return OBB_NO_MEMORY;
    rigs->bytes += boxes_size(capacity) - boxes_size(rig->capacity);
    rig->boxes = boxes;
    rig->capacity = capacity;
    return OBB_OK;
}

void obb_rig_enter(struct obb_rig *rig, struct obb_record *record, struct obb_mount *mount)
{
    assert(rig->count < rig->capacity);
    mount->seat = rig->count;
    rig->boxes[rig->count++] = record;
}

static struct obb_mount *mount_of(const struct obb_record *record, struct obb_versions *versions)
{
    return obb_version_mount(
        obb_versions_slot(versions, atomic_load_explicit(&record->newest, memory_order_relaxed)));
}

void obb_rig_leave(struct obb_rig *rig, const struct obb_mount *mount,
                   struct obb_versions *versions)
{
    assert(mount->seat < rig->count);
    const uint32_t seat = mount->seat;
    struct obb_record *last = rig->boxes[--rig->count];
    if (seat == rig->count)
        return;
    rig->boxes[seat] = last;
    mount_of(last, versions)->seat = seat;
}

void obb_rig_return(struct obb_rig *rig, struct obb_record *record, const struct obb_mount *mount,
                    struct obb_versions *versions)
{
    assert(rig->count < rig->capacity && mount->seat <= rig->count);
    const uint32_t seat = mount->seat, last = rig->count++;
    if (seat < last) {
        rig->boxes[last] = rig->boxes[seat];
        mount_of(rig->boxes[last], versions)->seat = last;
    }
    rig->boxes[seat] = record;
}

/* ---- Mounts ---------------------------------------------------------------------------------- */

struct obb_mount *obb_mount_create(struct obb_rigs *rigs, struct obb_rig *rig, const obb_box *local)
{
    struct obb_mount *mount = obb_malloc(1, sizeof *mount);
    if (mount == NULL)
        return NULL;
    *mount = (struct obb_mount){.rig = rig,
                                .center = local->center,
                                .rotation = local->rotation,
                                .angle = local->angle,
                                .references = 1};
    rigs->bytes += obb_heap_bytes(sizeof *mount);
    return mount;
}

void obb_mount_ref(struct obb_mount *mount)
{
    if (mount != NULL)
        mount->references++;
}

void obb_mount_unref(struct obb_rigs *rigs, struct obb_mount *mount)
{
    if (mount == NULL || --mount->references > 0)
        return;
    rigs->bytes -= obb_heap_bytes(sizeof *mount);
    obb_free(mount);
}

/* ---- The check ------------------------------------------------------------------------------- */

static bool seats_valid(const struct obb_rig *rig, struct obb_versions *versions)
{
    if (rig->entering != 0 || rig->count > rig->capacity)
        return false;
    for (uint32_t i = 0; i < rig->count; i++) {
        const struct obb_mount *mount = mount_of(rig->boxes[i], versions);
        if (mount == NULL || mount->rig != rig || mount->seat != i)
            return false;
    }
    return true;
}

bool obb_rigs_validate(const struct obb_rigs *rigs, struct obb_versions *versions,
                       size_t *out_count)
{
    size_t count = 0;
    for (uint32_t level = OBB_RIG_HEIGHT; level-- > 0;) {
        const struct obb_rig *before = NULL;
        size_t on_level = 0;
        for (const struct obb_rig *rig = atomic_load(&rigs->first[level]); rig != NULL;
             rig = atomic_load(&rig->next[level])) {
            if (rig->height <= level || (level == 0 && !seats_valid(rig, versions)) ||
                (before != NULL && obb_str_compare(obb_record_name(before->record),
                                                   obb_record_name(rig->record)) > 0))
                return false;
            before = rig;
            on_level++;
        }
        if (on_level < count)
            return false;
        count = on_level;
    }
    *out_count = count;
    return true;
}
