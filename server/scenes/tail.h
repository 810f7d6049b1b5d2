/* The tail of a durable scene: what was applied to it and is not durable yet, in order.
 *
 * A write joins the tail when its scene has changed in memory. It is answered when its record, and
 * all records before it, are durable. A write that changed nothing joins, too, if what it found out
 * rests on the tail: a refusal may be wrong if the commit before it fails.
 *
 * If a record fails, everything behind it fails with it. The scene is then taken back from the
 * newest change to the oldest, before anybody hears of it: on the pool if that takes long. Writes
 * without a record begin again.
 *
 * Loop only. */
#ifndef SRV_TAIL_H
#define SRV_TAIL_H

#include "server/scenes/companion.h"
#include "server/scenes/lock.h"
#include "server/scenes/record_entry.h"
#include "server/scenes/snapshot.h"

struct srv_tail;
struct srv_tail_item;

/* What the tail does with an item; on the loop, while the scene is not locked. */
typedef struct srv_tail_calls {
    /* The item and all before it are durable: the change may be seen. Called once, at the end. */
    void (*durable)(struct srv_tail_item *item);
    /* A record failed: the item's own, or one before it. Takes the change back; the tail behind it
     * is taken back already. Must not answer, nor touch another item. On the loop, or on a worker
     * while the scene is locked. NULL: the item has changed nothing. */
    void (*revert)(struct srv_tail_item *item);
    /* Returns about how many versions `revert` takes back. NULL: as there. */
    size_t (*changes)(struct srv_tail_item *item);
    /* After all are taken back, from the newest to the oldest: takes back what stands beside the
     * scene. Must not answer. On the loop. NULL: nothing does. */
    void (*reverted)(struct srv_tail_item *item);
    /* After all are taken back: the item's own record failed. Called once, at the end. */
    void (*failed)(struct srv_tail_item *item, srv_journal_status status);
    /* After all are taken back: the item has no record, and one before it failed; or another
     * process came first. Called once, at the end. */
    void (*again)(struct srv_tail_item *item);
} srv_tail_calls;

/* One write in the tail. In the caller's memory, until the end of its last call. */
struct srv_tail_item {
    const srv_tail_calls *calls;
    struct srv_tail *tail;
    struct srv_tail_item *previous, *next;
    bool has_record, settled;
    srv_journal_status status; /* of its record, with its place in the log and its bytes */
    uint64_t seq;
    size_t bytes;
    wire_record_id id;
    uint64_t fingerprint;            /* of the scene after it */
    struct srv_snapshot *parts;      /* of its record, until that is settled; or NULL */
    struct srv_record_entry *record; /* owned: waits for its parts */
};

/* Whoever waits until the tail is empty, or behind somebody who does. */
struct srv_tail_wait {
    void (*again)(struct srv_tail_wait *wait); /* set by the owner */
    struct srv_tail *tail;                     /* that it waits for; NULL: none */
    bool until_empty;                          /* false: only until it is its turn */
    bool is_turn;
    bool goes_first; /* set by the owner: it does not wait behind others */
    struct srv_tail_wait *previous, *next;
};

/* What the tails of all scenes share. Zeroed except for the first group. */
struct srv_tails {
    struct srv_journal *journal; /* NULL: no scene is durable */
    struct srv_snapshots *snapshots;
    struct srv_locks *locks;
    struct srv_drain *drain;
    struct obb_budget *budget; /* the bytes of records draw from it */
    uint64_t writer;           /* 64 random bits of this process */
    /* The records of commits carry a hash of the scene, and fingerprints of scenes are kept. */
    bool hashes;

    _Atomic uint64_t counter; /* of the last record of this process */
};

/* Makes a scene durable: gives its companion a tail. `journaled` says what the journal has of the
 * scene. Returns false without memory. */
bool srv_tail_create(struct srv_tails *tails, struct srv_companion *companion,
                     const struct srv_journaled *journaled);

/* Takes the tail, which is empty, from the companion. The scene is not durable any more. NULL is
 * fine. */
void srv_tail_destroy(struct srv_tail *tail);

/* Returns the tail of a durable scene, or NULL. */
struct srv_tail *srv_tail_of(const struct obb_scene *scene);

/* Returns what the journal has of the scene. */
struct srv_journaled *srv_tail_journaled(struct srv_tail *tail);

/* Returns an id that no record has. Any thread. */
wire_record_id srv_tails_new_id(struct srv_tails *tails);

/* Completes and encodes a record of the scene that the journal calls `number`: its epoch, its
 * writer and what it builds on. The base of a record of a scene that has no tail is the caller's.
 * `dimensions` is that of the scene after it. Returns NULL without memory. The caller appends or
 * destroys the result. Any thread, on which nothing may join the tail of the scene until the call
 * is over. */
struct srv_record_entry *srv_tails_encode(struct srv_tails *tails, const struct obb_scene *scene,
                                          uint64_t number, int dimensions,
                                          const wire_record *record);

/* Appends an item with a record, which the tail owns from now on. */
void srv_tail_append(struct srv_tail *tail, struct srv_tail_item *item, const srv_tail_calls *calls,
                     struct srv_record_entry *record);

/* Appends an item whose record comes in parts, which are written first. `record` says so, and has
 * no list. Until it is appended, whoever builds on the tail waits (srv_tail_waits). Without memory
 * the item fails, perhaps within this call. */
void srv_tail_append_in_parts(struct srv_tail *tail, struct srv_tail_item *item,
                              const srv_tail_calls *calls, struct srv_record_entry *record,
                              const struct srv_parts *parts, int dimensions);

/* Appends an item without a record. The tail must not be empty. */
void srv_tail_rest(struct srv_tail *tail, struct srv_tail_item *item, const srv_tail_calls *calls);

/* A record of another process was applied, whose id this is, from this place of the log; with the
 * fingerprint of the scene after it. The tail is empty. */
void srv_tail_follow(struct srv_tail *tail, wire_record_id id, uint64_t seq, uint64_t fingerprint);

/* Returns the fingerprint of the newest state of the scene, with its tail. NULL: of a scene that
 * holds nothing. Any thread, as srv_tails_encode. */
uint64_t srv_tail_fingerprint(const struct srv_tail *tail);

/* Returns true if nothing of the scene waits to become durable. */
bool srv_tail_empty(const struct srv_tail *tail);

/* Returns true if the tail is empty, nobody waits for it, and none of its calls is under way. */
bool srv_tail_at_rest(const struct srv_tail *tail);

/* Returns true if a record of the scene has failed and the scene is not taken back yet: what rests
 * on the tail must begin again. */
bool srv_tail_failing(const struct srv_tail *tail);

/* If the tail is failing, if the parts of a record are being written, if somebody waits already, or
 * if `until_empty` and the tail is not empty, queues `wait` and returns true. wait->again is called
 * in the order of arrival. It must look the scene up anew, and may have to wait again. */
bool srv_tail_waits(struct srv_tail *tail, bool until_empty, struct srv_tail_wait *wait);

/* Takes `wait` out of the queue of its tail. */
void srv_tail_unwait(struct srv_tail_wait *wait);

#endif
