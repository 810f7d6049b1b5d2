/* Versions of boxes: the one place where poses and attributes live. Internal to core.
 *
 * A scene is multi-versioned. A box (struct obb_record: id and name, for life) has a chain of versions, newest
 * first, each born where the one before it died. A version is immutable once published; only `newer` and `died` are set
 * once, when a later commit replaces or removes it. A state of the scene is a revision r: it holds every version
 * with born <= r < died. So a snapshot is a number and a pin, the past costs as much as what moved, and readers
 * need no locks: whatever a commit beyond r writes into `died` leaves the answer for r as it was.
 *
 * Slots are used again. When no kept state and no open view needs a version any longer, its slot gets another one, which is
 * born later than any of those states. So whoever keeps pointers to versions for longer than one view (the indexes of the
 * broad phase do) must remember the revision they were gathered at, `built`, and ask obb_version_alive: a slot whose
 * version was born after `built` is not the one that was meant. Nothing but born and died may be read before that. */
#ifndef OBB_VERSION_H
#define OBB_VERSION_H

#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/versions/hash_table.h"

#include <stdatomic.h>
#include <stdint.h>

#define OBB_NEVER      UINT64_MAX /* `died` of a version that is current */
#define OBB_NO_VERSION UINT32_MAX /* end of a chain */

/* An interned immutable text (an entity, or data as compact JSON): equal texts of one scene are one string, so two
 * entities are equal when their pointers are. */
struct obb_interned {
    struct obb_link link;
    struct obb_interned *retired; /* the writer's: the next that awaits its release */
    uint32_t references;          /* the writer's: by versions */
    uint32_t length;
    char bytes[];
};

struct obb_record {
    struct obb_link link;    /* by name; namesakes that are gone follow the latest */
    uint64_t id;             /* positive, given in the order sent, never used again in its scene */
    _Atomic uint32_t newest; /* newest version, also of a box that is gone */
    uint8_t length;          /* of the name */
    char name[];
};

struct obb_version {
    obb_box box;
    uint64_t
        id; /* the record's: here and beside the box, for the broad phase reads both and no more */
    uint32_t category, mask;
    int32_t group;
    uint32_t self : 31;          /* own index in the pool */
    uint32_t interpolated : 1;   /* between the version before and this one poses are interpolated:
                                      * the pose is another, and not by teleport */
    struct obb_interned *entity; /* NULL: none */
    struct obb_interned *data;   /* NULL: none */
    struct obb_record *record;   /* whose version this is; the writer's, but to read */
    _Atomic uint64_t born;       /* revision that made it */
    _Atomic uint64_t died;       /* revision that replaced or removed it */
    uint32_t older;         /* version before, or OBB_NO_VERSION; valid while a view needs it */
    _Atomic uint32_t newer; /* version after, or OBB_NO_VERSION; to be read after died */
};

/* Pages that never move, so that readers hold plain pointers while the writer adds more. */
#define OBB_VERSION_PAGE 512
#define OBB_MAX_VERSIONS ((uint32_t)1 << 31)
struct obb_versions {
    _Atomic(struct obb_version **) pages; /* replaced when it grows */
    /* The writer's alone. */
    struct obb_version ***outgrown; /* the tables before, each twice as large as the last */
    uint32_t page_count, page_capacity, outgrown_count;
    uint32_t count; /* slots ever used; those beyond are untouched */
    uint32_t free;  /* list through `older` */
    uint32_t free_count;
};

void obb_versions_init(struct obb_versions *pool);
void obb_versions_fini(struct obb_versions *pool);

/* A slot with `self` set and all else to be filled by the caller, died last (obb_version_publish); NULL when there is no
 * memory or OBB_MAX_VERSIONS are in use. */
struct obb_version *obb_versions_take(struct obb_versions *pool);
void obb_versions_give(struct obb_versions *pool, struct obb_version *version); /* one that died */
size_t obb_versions_bytes(const struct obb_versions *pool);

static inline struct obb_version *obb_versions_slot(struct obb_versions *pool, uint32_t i)
{
    struct obb_version **pages = atomic_load_explicit(&pool->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE][i % OBB_VERSION_PAGE];
}

static inline const struct obb_version *obb_version_at(const struct obb_versions *pool, uint32_t i)
{
    struct obb_version **pages = atomic_load_explicit(&pool->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE][i % OBB_VERSION_PAGE];
}

/* Brings the whole version into the cache. */
static inline void obb_version_prefetch(const struct obb_version *version)
{
    __builtin_prefetch(&version->box);
    __builtin_prefetch(&version->box.rotation.w);
    __builtin_prefetch(&version->newer);
}

/* A slot that is used again must never look like its former version with a new end: born is written before died here,
 * and read after it by obb_version_alive. */
static inline void obb_version_publish(struct obb_version *version, uint64_t born, uint64_t died)
{
    atomic_store_explicit(&version->born, born, memory_order_relaxed);
    atomic_store_explicit(&version->died, died, memory_order_release);
}

/* Is what `version` pointed to after revision `built` (<= revision) part of the state after `revision`? Any thread
 * that holds a view of that state. */
static inline bool obb_version_alive(const struct obb_version *version, uint64_t built,
                                     uint64_t revision)
{
    return revision < atomic_load_explicit(&version->died, memory_order_acquire) &&
           atomic_load_explicit(&version->born, memory_order_relaxed) <= built;
}

static inline obb_str obb_record_name(const struct obb_record *record)
{
    return (obb_str){.bytes = record->name, .length = record->length};
}

/* The text of an interned string; of NULL the empty one. */
static inline obb_str obb_interned_text(const struct obb_interned *interned)
{
    return interned == NULL ? (obb_str){.bytes = "", .length = 0}
                            : (obb_str){.bytes = interned->bytes, .length = interned->length};
}

#endif
