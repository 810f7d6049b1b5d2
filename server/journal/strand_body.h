/* The inside of the journal of many processes (shared.h), and a strand: all that is known of one
 * name of its log. For the files of this room that are that journal. Each stands on those before:
 *
 *   strand     what is kept of a name: messages, the source of its scene, pieces that are named
 *   sending    entries on their way to the log
 *   marked     those who wait until all is applied that stands before a mark
 *   delivery   messages of the log are taken, and gaps between them are noted
 *   sleeping   scenes that are not held here, and how they wake
 *   judging    records are judged and handed over; snapshots are loaded
 *   shared     the face, and what the timer looks at */
#ifndef SRV_STRAND_BODY_H
#define SRV_STRAND_BODY_H

#include "server/journal/journal_body.h"
#include "server/journal/marks.h"
#include "server/journal/pieces.h"
#include "server/journal/purges.h"
#include "server/journal/shared_options.h"
#include "server/journal/slices.h"

enum {
    SRV_STRAND_BUCKETS = 1024,
    SRV_SHARED_PROOFS = 16, /* questions at a time whether a scene is still in the log */
    /* Looks at what waits, while a message may be under way. A failed one rests as long. */
    SRV_SHARED_LOOKS = 10,
    SRV_SHARED_PARTS_PATIENCES = 30, /* with parts that no server has */
    SRV_SHARED_TURN_US = 500,        /* for which the loop judges and applies at a stretch */
    /* Bytes of messages that wait to be judged: then no more are taken. */
    SRV_SHARED_INBOX_BYTES = 16 << 20
};

/* A message that was read and is not judged yet. */
struct srv_strand_message {
    struct srv_strand_message *next;
    uint64_t seq;
    size_t judged; /* bytes of it */
    bool is_tried; /* it speaks of a snapshot that was passed over */
    /* Messages of the log were purged between the one before about this name and this one, and
     * perhaps some about this name. */
    bool is_after_gap;
    bool is_told;  /* that the scene is loaded again */
    obb_str bytes; /* in the same block */
};

/* Pieces that a record names, or the word about a snapshot. */
struct srv_strand_named {
    struct srv_strand_named *next;
    wire_record_id set;
    uint64_t place; /* nobody needs them if the messages before a larger place are purged */
};

/* A snapshot that a message speaks of. */
struct srv_offer {
    wire_record_id set, base; /* base: the newest record that it holds */
    uint64_t place;           /* of that one */
    uint64_t seq;             /* of the message */
    obb_str record;
};

/* From where on the log is read to make the scene that is there. */
struct srv_strand_source {
    uint64_t from;           /* the place of the first message; 0: nobody knows */
    struct srv_chain before; /* the chain before the first record that counts from there on */
    wire_record_id set;      /* the pieces of the snapshot that holds what was before; or zeroes */
    struct wire_buf record;  /* likewise: the record that says so; counts against the budget */
};

/* A scene that is being woken. */
struct srv_strand_waking {
    struct srv_waking get; /* first */
    struct srv_strand *strand;
    struct wire_buf record; /* of the source, as it was then; counts against the budget */
};

/* All about one name. */
struct srv_strand {
    struct srv_strand *next; /* in its bucket */
    char *name;              /* in the same block */
    size_t name_length;
    struct srv_chain chain;
    struct srv_strand_message *first, *last; /* owned */
    struct srv_slices slices;                /* all follow the newest record that counts */
    struct wire_buf applied; /* of the foreign record that is being applied, if it had slices */
    struct srv_fetch fetch;  /* of the pieces of that record, if it comes in parts */
    obb_str in_parts;        /* that record, while its pieces are being got */
    struct srv_shared *journal;
    bool applies;   /* a foreign record is being applied, or its pieces are being got */
    uint64_t place; /* of the newest record that counts; 0: none, or the strand was forgotten */
    size_t bytes;   /* of the messages */

    /* Snapshots. */
    bool holds;                /* the first message cannot be judged before a snapshot is loaded */
    bool doubts;               /* or before it is known that none is needed */
    bool has_offer;            /* a message has come meanwhile that speaks of one */
    bool lacks_parts;          /* the pieces of the newest record that counts are not there */
    bool gave_up;              /* there is no snapshot: the messages are judged as they are */
    uint64_t patient_until;    /* looks; with a snapshot, or parts, that cannot be got */
    bool loads;                /* a snapshot is being got or loaded: */
    struct srv_offer loaded;   /* that one; without the record */
    bool is_replaced;          /* the chain is that behind it, and before was */
    struct srv_chain replaced; /* this one */
    bool has_tried;            /* at least one was passed over */
    struct srv_strand_named *named; /* owned */

    bool rereads;    /* the stream delivers its messages again, */
    uint64_t read;   /* the place of the last message that was delivered */
    uint64_t judged; /* the place of the last message of which records were judged */
    bool ends_purge; /* once its end is forgotten, its messages are purged here */
    bool is_purged;  /* that is under way */
    bool judges;     /* it is being judged */
    struct srv_strand *next_fresh;
    bool is_fresh; /* in the list of those of which messages were delivered */

    uint64_t flight; /* tag of the message that is under way; 0: none */
    struct srv_strand *next_flight;
    uint64_t moved_ms;
    uint64_t retry_ms; /* nothing is sent before; 0: whenever */
    struct srv_strand *next_waiting, *previous_waiting;
    bool is_waiting; /* in the list of those with pending entries */

    struct srv_mark_waits marked; /* whose mark is read, but not all that comes before it applied */

    /* Sleeping: the scene is there, and is not held here. Its records are judged, not applied. */
    bool sleeps;
    struct srv_strand_source source;
    /* What its newest record says. */
    uint64_t epoch, revision, boxes;
    bool knows_boxes;
    struct srv_wake_waits wakers; /* if there are some, it is in the list of those: */
    struct srv_strand *next_wanted;
    bool is_wanted;
    struct srv_strand_waking *waking; /* owned; or NULL */
    bool is_given;                    /* what was got is being loaded: as `applies` */
    size_t tries;                     /* that failed */
    uint64_t wanted_ms, wake_ms; /* since when the log is away, and it is wanted; no try before */

    /* A scene that may have ended unseen. */
    bool is_proved;  /* the log held its last message when it was asked */
    bool is_asked;   /* that is under way */
    uint64_t asked;  /* the place of that message */
    bool is_missing; /* the log does not hold it, and all is delivered that it held then */
    struct srv_mark_wait missing; /* until that is delivered */

    /* A scene that is not what the log says: it sleeps, and is there. */
    bool recovers;
    wire_record_id again;    /* the record for which it was made from the log once more */
    wire_record_id differed; /* the one whose hash was wrong after that */
    uint64_t disputed;       /* whose hashes do not count; 0: nobody's */
};

struct srv_entries {
    struct srv_entry *first, *last;
};

struct srv_shared {
    struct srv_journal journal; /* first */
    srv_shared_options options;
    struct srv_bell *bell; /* settles what could not be appended */
    struct srv_timer *timer;
    struct srv_strand *buckets[SRV_STRAND_BUCKETS];
    obb_hash_key key;
    struct srv_strand *flights[SRV_STRAND_BUCKETS]; /* those with a message under way, by its tag */
    size_t swept;                                   /* the next bucket that is swept */
    struct srv_pieces pieces;
    struct srv_purges purges;
    struct srv_marks marks;
    struct srv_mark_waits marked; /* whose mark is read; they wait for all strands */
    struct srv_strand *fresh;     /* those of which messages were delivered since the last rest */
    struct srv_strand *waiting;   /* those with pending entries */
    size_t waiting_count;         /* entries */
    struct srv_entries refused;   /* wait for the bell */
    struct wire_buf message;
    uint64_t tag;
    /* Looks at what waits, so far: a process that stood still for long is not impatient at once. */
    uint64_t looks;
    uint64_t delivered; /* looks before the last message came */
    uint64_t position;  /* its place, also if it came again */
    /* Messages that were purged before they were delivered (delivery.c). */
    uint64_t gap;      /* the place of the first message behind the last of them; 0: none */
    uint64_t gap_from; /* the place of the last message before the first of them */
    uint64_t gap_left; /* messages to be delivered until all is known about them */
    uint64_t hurry_ms; /* when what waits is given up; 0: never */
    size_t unjudged;   /* messages */
    uint64_t busy_ms;  /* since when there are some */
    size_t lacking;    /* strands whose newest record lacks its parts */
    size_t inbox;      /* their bytes */
    size_t held;       /* those of strands that wait for a snapshot: they do not fill the inbox */
    bool rereads;      /* some strand does */
    double turn_end;   /* nothing more is judged in this turn of the loop */
    struct srv_strand **asleep; /* owned; by name */
    size_t asleep_count, asleep_room;
    struct srv_strand *wanted, *last_wanted; /* somebody waits for them to be woken */
    size_t waking_count;
    uint64_t wake_tag;
    /* Whether scenes that were read at the beginning are still in the log. */
    struct {
        struct srv_strand *strand; /* NULL: nothing is asked here */
        uint64_t tag;
    } proofs[SRV_SHARED_PROOFS];
    uint64_t proof_tag;
    uint64_t began_until; /* the place of the last message that was in the log at the beginning */
    struct srv_wake_waits woken; /* are told in the next turn of the loop */
    bool read_all;               /* everything was delivered that was in the log at the beginning */
    bool told, is_lost;
};

/* Returns the journal of many processes, of which this is the face. */
static inline struct srv_shared *srv_shared_self(struct srv_journal *journal)
{
    return (struct srv_shared *)journal;
}

/* Adds to a figure. */
static inline void srv_shared_count(_Atomic uint64_t *figure, uint64_t by)
{
    atomic_fetch_add_explicit(figure, by, memory_order_relaxed);
}

/* Returns the time of the loop, in milliseconds. */
static inline uint64_t srv_shared_now_ms(const struct srv_shared *j)
{
    return srv_loop_now_ms(j->options.loop);
}

/* Between two looks at what waits, and before a failed message is sent again. */
static inline uint64_t srv_shared_rest_ms(const struct srv_shared *j)
{
    return j->options.patience_ms / SRV_SHARED_LOOKS + 1;
}

/* Begins a turn of the loop, in which it judges and applies for SRV_SHARED_TURN_US. */
static inline void srv_shared_begin_turn(struct srv_shared *j)
{
    j->turn_end = srv_clock() + SRV_SHARED_TURN_US * 1e-6;
}

/* Returns whether no message is taken: too many wait to be judged. */
static inline bool srv_shared_is_full(const struct srv_shared *j)
{
    return j->inbox - j->held >= SRV_SHARED_INBOX_BYTES;
}

/* Returns the name of a strand. */
static inline obb_str srv_strand_name(const struct srv_strand *s)
{
    return (obb_str){.bytes = s->name, .length = s->name_length};
}

/* Returns a zeroed block of the heap that counts against the budget in any case; NULL without
 * memory. */
void *srv_shared_calloc(struct srv_shared *j, size_t bytes);

/* Frees such a block. */
void srv_shared_free(struct srv_shared *j, void *block, size_t bytes);

/* Frees bytes that count against the budget. */
void srv_shared_drop_bytes(struct srv_shared *j, struct wire_buf *bytes);

/* Returns where the pointer to the strand of a name stands. NULL stands there if there is none. */
struct srv_strand **srv_strand_place(struct srv_shared *j, obb_str name);

/* Returns the strand of a name, which is made if there is none; NULL without memory. */
struct srv_strand *srv_strand_of(struct srv_shared *j, obb_str name);

/* Forgets the message of a strand that is under way, if there is one. */
void srv_strand_end_flight(struct srv_shared *j, struct srv_strand *s);

/* Nobody knows any more from where on the scene is made. */
void srv_strand_drop_source(struct srv_shared *j, struct srv_strand *s);

/* Ends the waking of a scene, if it is being woken, and frees what was got. */
void srv_strand_end_waking(struct srv_shared *j, struct srv_strand *s);

/* Forgets the pieces that nobody needs once the messages before `place` are purged. everywhere: and
 * removes them from the log. */
void srv_strand_drop_named(struct srv_shared *j, struct srv_strand *s, uint64_t place,
                           bool everywhere);

/* Notes pieces that are needed until the messages before a larger place are purged. Without memory
 * they become orphans. Where nothing is ever removed, nothing need be known of them. */
void srv_strand_note_named(struct srv_shared *j, struct srv_strand *s, wire_record_id set,
                           uint64_t place);

/* Frees a strand that was taken out of the table. */
void srv_strand_free(struct srv_shared *j, struct srv_strand *s);

/* Takes out the first message of a name, and frees it. */
void srv_strand_drop_message(struct srv_shared *j, struct srv_strand *s);

/* Lets the messages of a strand wait for a snapshot, or not. They do not fill the inbox. */
void srv_strand_set_holds(struct srv_shared *j, struct srv_strand *s, bool holds);

/* Puts a strand among those that are judged in the next turn. */
void srv_strand_add_fresh(struct srv_shared *j, struct srv_strand *s);

/* Reads the word that a snapshot is whole, which is the only record of its message. Returns false
 * if the message is another one. */
bool srv_offer_read(obb_str bytes, uint64_t seq, struct srv_offer *out);

/* Begins to wait for the pieces of a strand, or for a snapshot in their place. Pieces that are gone
 * were made needless by a snapshot of which the log speaks further on, perhaps behind its end as it
 * was at the beginning. */
void srv_strand_be_patient(const struct srv_shared *j, struct srv_strand *s);

/* Returns whether nothing is to be waited for any more: no message has come for long. */
bool srv_strand_is_impatient(const struct srv_shared *j, const struct srv_strand *s);

/* Returns whether the first message of a strand has to wait still. */
bool srv_strand_is_held(const struct srv_shared *j, const struct srv_strand *s);

/* Returns whether the hash in the newest record does not count. */
bool srv_strand_is_unchecked(const struct srv_strand *s);

/* Says that the scene is loaded again, or that a snapshot of it cannot be loaded
 * (srv_shared_options.warn). */
void srv_strand_warn(struct srv_shared *j, const struct srv_strand *s, bool again, const char *why);

/* The log cannot be followed any further: says so, once. */
void srv_shared_lose(struct srv_shared *j, const char *why);

/* Says, once, that all is applied that was in the log at the beginning, as soon as it is. */
void srv_shared_look_if_caught_up(struct srv_shared *j);

#endif
