/* The journal: an ordered log of what commits did, and snapshots of scenes.
 *
 * The loop hands entries over in their order, and hears of each whether it is durable. If one is
 * not, the entries that may rest on it are not either. The loop then hears of them from the newest
 * to the oldest, and takes each back.
 *
 * There are two kinds: that of one process with a back end (grouped.h), and that of many processes
 * over one log (shared.h). All functions are called on the loop. */
#ifndef SRV_JOURNAL_H
#define SRV_JOURNAL_H

#include "server/journal/excerpt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_journal;

/* A scene of a log of many processes that is there, and that this process does not hold: it only
 * knows what the records about it say. */
typedef struct srv_asleep {
    obb_str name; /* the journal's, until the next call that may wake or end a scene */
    uint64_t epoch, revision;
    bool knows_boxes; /* false: an older obbd wrote its newest record, */
    uint64_t boxes;   /* which does not say how many there are */
} srv_asleep;

struct srv_wake_waits {
    struct srv_wake_wait *first, *last;
};

/* Somebody who waits until a scene does not sleep any more. In the owner's memory, zeroed except
 * for the first group, until `done`, or until it is taken out. */
struct srv_wake_wait {
    /* good: the scene is held here, or there is none any more: look it up. Otherwise it cannot be
     * had at this moment. Called once. */
    void (*done)(struct srv_wake_wait *wait, bool good);

    struct srv_wake_waits *in; /* NULL: it does not wait */
    struct srv_wake_wait *previous, *next;
    bool good;
};

/* Writes what waits, and frees the journal. No callback is called any more: no entry may be
 * unsettled. Accepts NULL. */
void srv_journal_destroy(struct srv_journal *journal);

/* The service ends: from now on no entry waits for company, or for a log that is away. */
void srv_journal_hurry(struct srv_journal *journal);

/* Hands an entry over. `settled` and `released` are called later, never inside this call. O(1), no
 * system call except to wake the thread. */
void srv_journal_append(struct srv_journal *journal, struct srv_entry *entry);

/* Returns whether the journal takes pieces (SRV_ENTRY_CHUNK). Otherwise they fail, and every record
 * holds all that its commit did. Any thread. */
bool srv_journal_holds_pieces(const struct srv_journal *journal);

/* Returns whether the journal takes the word that a snapshot is whole (SRV_ENTRY_SNAPSHOT) without
 * a record. Otherwise a record says it: WIRE_RECORD_WHOLE of a scene that goes on. Of a copy it is
 * the making of the scene in parts, which may replace the scene that is there. */
bool srv_journal_seals(const struct srv_journal *journal);

/* Returns a number that no scene and no snapshot of this journal has had. */
uint64_t srv_journal_number(struct srv_journal *journal);

/* Returns the record that the making of a scene has to follow: the newest record of a name that no
 * scene has. Zeroes: there is none, or nobody else writes to the log. */
wire_record_id srv_journal_newest(struct srv_journal *journal, obb_str name);

/* Returns whether a scene of this name sleeps, or is being woken, and writes what is known of it;
 * `out` may be NULL. O(1). */
bool srv_journal_asleep(const struct srv_journal *journal, obb_str name, srv_asleep *out);

/* Writes the first scene that sleeps behind this name, in the order of bytes. Returns false if
 * there is none. O(log scenes that sleep). */
bool srv_journal_next_asleep(const struct srv_journal *journal, obb_str after, srv_asleep *out);

/* Wakes a scene that sleeps: it is made from the log, in the state that the log says. Calls
 * wait->done later, never within this call. The owner may take `wait` out before
 * (srv_wake_wait_leave). Returns false if the log cannot be reached. */
bool srv_journal_wake(struct srv_journal *journal, obb_str name, struct srv_wake_wait *wait);

/* Takes it out of whatever it waits in, if it waits. */
void srv_wake_wait_leave(struct srv_wake_wait *wait);

/* Returns the place up to which the log of many processes was read; 0: nobody else writes to the
 * log. Any thread. */
uint64_t srv_journal_seen(const struct srv_journal *journal);

/* Records below `seq` are not needed any more. The journal removes them when it has time. */
void srv_journal_forget(struct srv_journal *journal, uint64_t seq);

/* Returns whether excerpts of this journal can be read: that of one process. */
bool srv_journal_has_excerpts(const struct srv_journal *journal);

/* Reads the next slice of an excerpt, of which nothing may be under way. Calls excerpt->read later,
 * never within this call. */
void srv_journal_read(struct srv_journal *journal, struct srv_excerpt *excerpt);

/* The last call about an excerpt of which a slice was read, and none is under way: the journal may
 * drop again what it does not need. Frees the rows of the slice. */
void srv_journal_read_end(struct srv_journal *journal, struct srv_excerpt *excerpt);

/* Returns SRV_JOURNAL_OK, or why entries fail at this moment. */
srv_journal_status srv_journal_state(struct srv_journal *journal);

/* Returns how many entries wait or are being written. */
size_t srv_journal_waiting(struct srv_journal *journal);

/* Returns for how many milliseconds the log of many processes has held records that are not applied
 * here, about; 0 if it holds none, or nobody else writes to the log. */
uint64_t srv_journal_lag_ms(struct srv_journal *journal);

/* Counts upkeep of the loop that failed, among the failures of the journal. */
void srv_journal_count_failure(struct srv_journal *journal);

const struct srv_journal_figures *srv_journal_figures(const struct srv_journal *journal);

#endif
