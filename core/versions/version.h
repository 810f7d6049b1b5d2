/* Versions of boxes: the one place where poses and attributes are stored. Internal to core.
 *
 * A scene is multi-versioned. A box (struct obb_record: id and name, for life) has a chain of
 * versions, newest first. Each version is born at the revision at which the version before it
 * died. A version is immutable once published; only `died` is set later, by the commit that
 * replaces or removes it, and the links to its neighbours. If that commit is reverted, both are as
 * before. A version that no kept state holds leaves the chain, so the chain may have gaps.
 *
 * A state of the scene is a revision r. The state holds every version with born <= r < died. So a
 * snapshot is a number and a pin, the past costs as much as the boxes that moved, and readers need
 * no locks: a commit beyond r can write any `died` without changing the answer for r.
 *
 * Slots are used again. When no kept state and no open view needs a version, its slot gets another
 * version, which is born later than any of those states. Code that keeps pointers to versions for
 * longer than one view (the indexes of the broad phase do) must remember the revision at which it
 * gathered them, `built`, and call obb_version_alive first. If the version in the slot was born
 * after `built`, it is another version than the one gathered. Until obb_version_alive has returned
 * true, only `born` and `died` may be read. */
#ifndef OBB_VERSION_H
#define OBB_VERSION_H

#include "core/base/alloc.h"
#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/versions/hash_table.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define OBB_NEVER      UINT64_MAX /* `died` of a version that is current */
#define OBB_NO_VERSION UINT32_MAX /* end of a chain */
#define OBB_NO_TTL     (-1.0)     /* `ttl` of a version that never expires */
#define OBB_NO_PLACE   UINT32_MAX /* `expiry` of a record that no expiry holds */

/* An interned string (see interned.h): an immutable text, either an entity or data as compact JSON.
 * Equal texts of one scene are one string, so two entities are equal if their pointers are. */
struct obb_interned {
    struct obb_link link;
    union {
        struct obb_interned *retired; /* the writer's: the next string that awaits its release */
        /* Of the small scene of an overlay (core/scene/overlay.c), while views of it are open: the
         * string that its boxes have for this text. NULL: no box of those views has the text. */
        const struct obb_interned *lent;
    };
    uint32_t references; /* the writer's: extras of versions that have it */
    uint32_t length;
    char bytes[];
};

/* A box for its whole life; or a frame, with the id 0, which stands in the list of rigs by name
 * (rig.h) and in neither the hash table nor the id tree. */
struct obb_record {
    struct obb_link link;    /* by name; removed namesakes follow the latest */
    uint64_t id;             /* positive, given in the order sent, never used again in the scene */
    _Atomic uint32_t newest; /* newest version, also of a removed box */
    uint32_t expiry;         /* the writer's: place in the heap of core/scene/expiry.h */
    uint8_t length;          /* of the name */
    uint8_t place;           /* the writer's: in a block of records (core/scene/record.c) */
    char name[];
};

/* What a frame has and most boxes have not. A version that differs from obb_no_extras in one of
 * these members has extras. Versions of one box that follow each other share them until a member
 * changes. With a ttl no version shares them: `since` changes with each version. */
struct obb_extras {
    union {
        struct obb_record *record; /* of the versions */
        struct obb_extras *next;   /* of free extras: the next ones */
    };
    struct obb_interned *entity; /* NULL: none */
    struct obb_interned *data;   /* NULL: none */
    union {
        struct obb_mount *mount; /* of a box: its frame and its pose in it, or NULL */
        struct obb_rig *rig;     /* of a frame (id 0): its rig; box.half_extents are 0 */
    };
    double ttl;        /* milliseconds from `since` until it expires, or OBB_NO_TTL */
    double since;      /* time of the last change (core/scene/expiry.h); 0 without a ttl */
    uint32_t versions; /* the writer's: how many versions have them; 0 in obb_no_extras */
};

/* No texts, no mount and no ttl; and no record. */
extern const struct obb_extras obb_no_extras;

struct obb_version {
    obb_box box;
    uint64_t id; /* the record's; beside the box, since the broad phase reads only these two */
    uint32_t category, mask;
    int32_t group;
    uint32_t self : 29;        /* own index in the pool */
    uint32_t put : 1;          /* a put of the commit that made it names its box */
    uint32_t interpolated : 1; /* poses between the version before and this one are interpolated:
                                 * the pose changed, and not by a teleport */
    uint32_t has_extras : 1;   /* which member of the union of its links counts */
    _Atomic uint64_t born;     /* revision that made it */
    _Atomic uint64_t died;     /* revision that replaced or removed it */
};

/* The broad phase, which meets versions in no order of memory, reads two whole cache lines of each:
 * the pool puts each version at the beginning of a line. */
_Static_assert(sizeof(struct obb_version) == (size_t)2 * OBB_LINE, "a version fills two lines");

/* What the broad phase does not read of a version. */
struct obb_version_links {
    union {
        struct obb_record *record; /* the box of the version; only the writer may change it */
        struct obb_extras *extras; /* they have the record */
    };
    _Atomic uint32_t
        older; /* version before that is kept, or OBB_NO_VERSION (core/scene/reclaim.h) */
    _Atomic uint32_t
        newer; /* version after that is kept, or OBB_NO_VERSION; read it after `died` */
};

/* Returns true if the attributes of the box exclude no other: any two such boxes may be a pair
 * (obb_filter_pair). */
static inline bool obb_version_plain(const struct obb_version *version)
{
    return version->group == 0 && version->mask == UINT32_MAX && version->category != 0;
}

/* The pool of version slots. Its pages never move, so readers hold plain pointers while the writer
 * adds more. Each page has its own list of free slots, so the pool knows the pages without a slot
 * in use. A page is no large block (trash.h): each `with` of a query makes a scene of its own, and
 * with pages of 512 versions its end was a job for another thread, a fifth of the query's cost. */
#define OBB_VERSION_PAGE 256
#define OBB_MAX_VERSIONS ((uint32_t)1 << 29)
struct obb_version_page {
    struct obb_version versions[OBB_VERSION_PAGE];
    struct obb_version_links links[OBB_VERSION_PAGE]; /* of the version at the same place */
};

#define OBB_NO_PAGE UINT32_MAX
struct obb_page_list {
    uint32_t first, count;
};

struct obb_versions {
    _Atomic(struct obb_version_page **) pages; /* replaced when the table grows */
    /* The rest is the writer's. */
    struct obb_page_slots *slots; /* of each page; as many as page_capacity */
    /* Pages with free slots: some, all, and all without memory. */
    struct obb_page_list some, all, bare;
    struct obb_extras_block *extras_blocks; /* the memory of all extras */
    struct obb_extras *free_extras;         /* a list through `next` */
    uint32_t extras_count;                  /* extras that a version has */
    struct obb_version_page ***outgrown; /* former tables, each twice as large as the one before */
    struct obb_version_run *runs;        /* pages that lie in one block, newest first */
    uint32_t page_count, page_capacity, outgrown_count;
    uint32_t begun; /* pages of which a slot was used; the memory of the others may not be there */
    uint32_t count; /* slots ever used; the slots beyond are untouched */
    uint32_t free_count;
};

/* Makes an empty pool, which takes no memory yet. */
void obb_versions_init(struct obb_versions *pool);

/* Frees all pages, with all versions and extras in them. Nobody may read any longer. The pool is
 * empty afterwards, and may be used again. */
void obb_versions_fini(struct obb_versions *pool);

/* Makes room for `count` more versions. If that takes many pages, they lie in one block: their
 * memory comes in larger pieces then, and only as slots are used. Slots that get free meanwhile are
 * used before. Returns false if there is no memory. The writer's. */
bool obb_versions_reserve(struct obb_versions *pool, size_t count);

/* Returns a slot for a version of that record, without extras, and with `self` set; or NULL if
 * there is no memory or OBB_MAX_VERSIONS are in use. The caller fills in all other members, `died`
 * last (obb_version_publish). The writer's. */
struct obb_version *obb_versions_take(struct obb_versions *pool, struct obb_record *record);

/* Returns the extras of a version that no reader has seen, for writing; no other version has them.
 * A version without extras gets those of obb_no_extras. A version that shares its extras gets a
 * copy, and the caller adds references to the entity, the data and the mount. NULL: there is no
 * memory, and the version is as before. The writer's. */
struct obb_extras *obb_versions_extend(struct obb_versions *pool, struct obb_version *version);

/* Gives a version without extras, which no reader has seen, those of another version of its
 * record, which have no ttl. No reference is added: each belongs to the extras. The writer's. */
void obb_versions_share_extras(const struct obb_version *from, struct obb_version *version);

/* Gives back the slot of a version that died, and its extras unless other versions have them, too.
 * The caller has dropped the references of extras that go. The writer's. */
void obb_versions_give(struct obb_versions *pool, struct obb_version *version);

/* Gives back the memory of up to `most` pages that have no slot in use. Stops when no more of them
 * keep memory than there are pages with slots in use. A reader that still looks at such a slot
 * finds a dead version. The writer's. About 5 us a page. */
void obb_versions_shrink(struct obb_versions *pool, size_t most);

/* Counts the free slots by the lists of the pages. O(slots). For checks. */
size_t obb_versions_count_free(const struct obb_versions *pool);

/* Returns the bytes of the versions that are in use, of their extras, and of the tables. The
 * writer's. */
size_t obb_versions_bytes(const struct obb_versions *pool);

/* Returns the bytes of `count` of the versions that are in use, if their part of all extras is as
 * large as their part of all versions. The writer's. */
size_t obb_versions_share(const struct obb_versions *pool, size_t count);

/* Returns the bytes of the pages and blocks that are held for versions and extras not in use. O(all
 * extras). The writer's. */
size_t obb_versions_unused(const struct obb_versions *pool);

/* Returns slot i, for the writer. */
static inline struct obb_version *obb_versions_slot(struct obb_versions *pool, uint32_t i)
{
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE]->versions[i % OBB_VERSION_PAGE];
}

/* Returns version i, for any thread. */
static inline const struct obb_version *obb_version_at(const struct obb_versions *pool, uint32_t i)
{
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE]->versions[i % OBB_VERSION_PAGE];
}

/* Returns the links of version i. Any thread, also one that does not know whether the version is
 * alive; the writer alone may change them. */
static inline struct obb_version_links *obb_version_links_at(const struct obb_versions *pool,
                                                             uint32_t i)
{
    struct obb_version_page **pages = atomic_load_explicit(&pool->pages, memory_order_acquire);
    return &pages[i / OBB_VERSION_PAGE]->links[i % OBB_VERSION_PAGE];
}

/* Returns the links of a version of a pool that is alive. Any thread; the writer alone may change
 * them. */
static inline struct obb_version_links *obb_version_links(const struct obb_version *version)
{
    const uint32_t place = version->self % OBB_VERSION_PAGE;
    return &((struct obb_version_page *)(uintptr_t)(version - place))->links[place];
}

/* Returns the extras of a version, obb_no_extras if it has none: only obb_version_record knows the
 * record. Any thread. */
static inline const struct obb_extras *obb_version_extras(const struct obb_version *version)
{
    return version->has_extras ? obb_version_links(version)->extras : &obb_no_extras;
}

/* Returns the extras of a version for writing, or NULL if it has none. What is written is written
 * to all versions that share them. The writer's. */
static inline struct obb_extras *obb_version_own_extras(const struct obb_version *version)
{
    return version->has_extras ? obb_version_links(version)->extras : NULL;
}

/* Returns whether other versions have the extras of a version, too. The writer's. */
static inline bool obb_version_shares(const struct obb_version *version)
{
    return obb_version_extras(version)->versions > 1;
}

/* Returns the box or frame of a version. Any thread. */
static inline struct obb_record *obb_version_record(const struct obb_version *version)
{
    const struct obb_version_links *links = obb_version_links(version);
    return version->has_extras ? links->extras->record : links->record;
}

/* Returns how a box stands in its frame, or NULL: it stands in none. Any thread. */
static inline struct obb_mount *obb_version_mount(const struct obb_version *version)
{
    return obb_version_extras(version)->mount;
}

/* Returns the rig of a frame. Any thread. */
static inline struct obb_rig *obb_version_rig(const struct obb_version *version)
{
    return obb_version_extras(version)->rig;
}

/* Prefetches a version without its links. */
static inline void obb_version_prefetch(const struct obb_version *version)
{
    __builtin_prefetch(&version->box);
    __builtin_prefetch(&version->died);
}

/* Prefetches version i with its links. */
static inline void obb_versions_prefetch(const struct obb_versions *pool, uint32_t i)
{
    obb_version_prefetch(obb_version_at(pool, i));
    __builtin_prefetch(obb_version_links_at(pool, i));
}

/* Returns the version after that is kept, or OBB_NO_VERSION. A reader must have read `died` before.
 * Any thread. */
static inline uint32_t obb_version_newer(const struct obb_version *version)
{
    return atomic_load_explicit(&obb_version_links(version)->newer, memory_order_relaxed);
}

/* Sets the version before. A reader that sees the new value sees everything that the writer did
 * before. */
static inline void obb_version_set_older(const struct obb_version *version, uint32_t older)
{
    atomic_store_explicit(&obb_version_links(version)->older, older, memory_order_release);
}

/* Publishes a version. A slot that is used again must never look like its former version with a new
 * end: this function writes `born` before `died`, and obb_version_alive reads `born` after
 * `died`. */
static inline void obb_version_publish(struct obb_version *version, uint64_t born, uint64_t died)
{
    atomic_store_explicit(&version->born, born, memory_order_release);
    atomic_store_explicit(&version->died, died, memory_order_release);
}

/* Returns whether the version that the slot held at revision `built` (<= revision) is part of the
 * state of `revision`. Any thread that holds a view of that state. */
static inline bool obb_version_alive(const struct obb_version *version, uint64_t built,
                                     uint64_t revision)
{
    return revision < atomic_load_explicit(&version->died, memory_order_acquire) &&
           atomic_load_explicit(&version->born, memory_order_relaxed) <= built;
}

/* Returns whether the version is the pose of a frame, and not a box. Such versions are in no index,
 * no bounds and no count of boxes. */
static inline bool obb_version_is_frame(const struct obb_version *version)
{
    return version->id == 0;
}

/* Returns the name of a box or frame. */
static inline obb_str obb_record_name(const struct obb_record *record)
{
    return (obb_str){.bytes = record->name, .length = record->length};
}

/* Returns the text of an interned string; the empty text for NULL. */
static inline obb_str obb_interned_text(const struct obb_interned *interned)
{
    return interned == NULL ? (obb_str){.bytes = "", .length = 0}
                            : (obb_str){.bytes = interned->bytes, .length = interned->length};
}

#endif
