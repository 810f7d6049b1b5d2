/* The rule by which a log of many writers becomes one order: which of the records about one name
 * count.
 *
 * Several processes append records to one log, and nobody holds a lock. Each record names the
 * record that it follows. A record counts if that is the newest record of its name that counts, and
 * if its kind fits: the scene of that name is made while it is not there, or in place of the one
 * that is, and changed or ended while it is there. Every other record is void, for all who read the
 * log, and forever, because no record becomes the newest one twice. So all who read the log in its
 * order come to the same scenes.
 *
 * A process writes ahead: its records follow each other before the log has shown any of them. If a
 * record of somebody else counts first, all of them are void. If nobody knows whether a record
 * reached the log, it is appended once more: at most one of the two counts.
 *
 * The rule must not need all names that ever were. So the end of a scene is forgotten once the log
 * is longer by SRV_CHAIN_WINDOW: from then on, the making of a scene of that name must follow no
 * record. The making of a scene says how far its writer had read the log, and is void if that is
 * longer ago than the window. So a copy of it that comes late never counts a second time.
 *
 * Whoever begins from a state that was written down, with the newest record that it holds, must
 * read on exactly behind the last record that was read for that state. An earlier record may have
 * been void because it came before the one that it names, and would seem to count now.
 *
 * Plain data and no waiting: the caller reads the log and appends to it. One thread at a time.
 *
 * Source   Balakrishnan et al., "Tango: distributed data structures over a shared log", SOSP
 *          2013. */
#ifndef SRV_CHAIN_H
#define SRV_CHAIN_H

#include "proto/wire.h"

enum { SRV_CHAIN_WINDOW = 1 << 18 }; /* places of the log */

/* What the rule reads of a record. */
typedef struct srv_link {
    wire_record_kind kind;   /* WIRE_RECORD_MADE, _COMMIT or _GONE */
    wire_record_id id, base; /* base: the record that it follows */
    uint64_t seen;           /* of MADE: the place up to which its writer had read the log */
    /* Of MADE: what the scene holds comes in parts. Then it may also replace the scene that is
     * there. */
    bool in_parts;
} srv_link;

/* A record of this process that the log has not shown yet. In the caller's memory. */
struct srv_pending {
    srv_link link;
    struct srv_pending *previous, *next;
};

/* The records about one name. Zeroed: there was never a scene of that name. */
struct srv_chain {
    wire_record_id newest; /* the newest record that counts; zeroes: none yet */
    bool is_there;         /* the records that count leave a scene of that name */
    uint64_t ended;        /* the place of the record that ended the last scene; 0: none did */

    struct srv_pending *first, *last; /* records of this process, each following the one before */
};

/* Returns the record that the next one has to follow, for whoever has read the log up to this
 * place. */
wire_record_id srv_chain_end(const struct srv_chain *chain, uint64_t seq);

/* Adds a record of this process that is about to be appended to the log. Returns false if the
 * record can never count: it does not follow the end of the chain, or its kind does not fit. The
 * record is then not pending, and must not be appended. O(1). */
bool srv_chain_append(struct srv_chain *chain, struct srv_pending *pending, const srv_link *link);

typedef enum srv_chain_verdict {
    SRV_CHAIN_VOID,    /* the record does not count */
    SRV_CHAIN_OWN,     /* it counts, and was the first pending one. It is not pending any more */
    SRV_CHAIN_FOREIGN, /* it counts, and was not pending here. Whatever is pending is void: call
                        * srv_chain_revert */
    SRV_CHAIN_LATE     /* it does not count, and is the first pending one. It comes too late, and so
                        * does each copy of it: call srv_chain_revert, too */
} srv_chain_verdict;

/* Returns whether a record would count if it were read now, at this place of the log. O(1). */
bool srv_chain_counts(const struct srv_chain *chain, const srv_link *link, uint64_t seq);

/* Reads the next record of the log about this name. seq: its place, which counts from 1. O(1). */
srv_chain_verdict srv_chain_read(struct srv_chain *chain, const srv_link *link, uint64_t seq);

/* Returns whether the chain may be zeroed by whoever has read the log up to this place: nothing is
 * pending, there is no scene, and its end is forgotten. */
bool srv_chain_may_forget(const struct srv_chain *chain, uint64_t seq);

/* Takes out the newest pending record, and returns it; NULL: there is none. After
 * SRV_CHAIN_FOREIGN, until none is left. Also for records whose writer gives them up: if one is in
 * the log all the same, it is then read as SRV_CHAIN_FOREIGN. */
struct srv_pending *srv_chain_revert(struct srv_chain *chain);

#endif
