/* Versions of boxes: the one place where poses and attributes live. Internal to core.
 *
 * A scene is multi-versioned. A box (struct obb_record: id and name, for life) has a chain of versions, newest
 * first. A version is immutable once published; only `newer` and `died` are set once, when a later commit replaces or
 * removes it. A state of the scene is a revision r: it holds every version with born <= r < died. So a snapshot
 * is a number and a pin, the past costs as much as what moved, and readers need no locks: whatever a commit
 * beyond r writes into `died` leaves the answer for r as it was. */
#ifndef OBB_VERSION_H
#define OBB_VERSION_H

#include "core/box.h"
#include "core/str.h"

#include <stdatomic.h>
#include <stdint.h>

#define OBB_NEVER      UINT64_MAX /* `died` of a version that is current */
#define OBB_NO_VERSION UINT32_MAX /* end of a chain */

/* An interned immutable text (an entity, or data as compact JSON): equal texts of one scene are one label. */
struct obb_label {
    obb_str text;
    uint32_t hash;
    uint32_t references; /* by versions; the writer's alone */
};

struct obb_record {
    uint64_t id;  /* positive, given in the order sent, never used again in its scene */
    obb_str name; /* owned */
    uint32_t hash;
    _Atomic uint32_t
        newest; /* newest version, also of a box that is gone (until history lets it go) */
    _Atomic(struct obb_record *) namesake; /* the box of the same name before this one, or NULL */
};

struct obb_version {
    obb_box box;
    uint32_t category, mask;
    int32_t group;
    uint32_t self;                   /* own index in the pool */
    const struct obb_label *entity;  /* NULL: none */
    const struct obb_label *data;    /* NULL: none */
    const struct obb_record *record; /* whose version this is */
    uint64_t born;                   /* revision that made it */
    _Atomic uint64_t died;           /* revision that replaced or removed it */
    uint32_t older;         /* version before, or OBB_NO_VERSION; valid while a view needs it */
    _Atomic uint32_t newer; /* version after, or OBB_NO_VERSION; set before died */
    bool teleport;          /* no interpolation from the version before to this one */
};

/* Pages that never move, so that readers hold plain pointers while the writer adds more. */
#define OBB_VERSION_PAGE 1024
struct obb_versions {
    _Atomic(struct obb_version **)
        pages;                /* replaced when it grows; old tables live as long as the pool */
    uint32_t capacity, count; /* the writer's alone */
    /* the owner adds its free list and retired tables */
    void *owner;
};

static inline const struct obb_version *obb_version_at(const struct obb_versions *pool, uint32_t i)
{
    struct obb_version **pages = atomic_load_explicit(
        &((struct obb_versions *)(uintptr_t)pool)->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE][i % OBB_VERSION_PAGE];
}

/* Is the version part of the state after revision r? */
static inline bool obb_version_alive(const struct obb_version *version, uint64_t revision)
{
    return version->born <= revision &&
           revision < atomic_load_explicit(&((struct obb_version *)(uintptr_t)version)->died,
                                           memory_order_acquire);
}

#endif
