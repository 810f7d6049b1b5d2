/* Marks: messages of the log that say nothing. Whoever appends one, and reads it, has read all that
 * was in the log before: so also what any other process had read by then.
 *
 * One mark is under way at a time, for all who waited when it was sent. Whoever comes while it is
 * under way waits for the next one.
 *
 * A mark is no record: it holds the id of its process and a number, 16 bytes. Nobody else waits for
 * it. SRV_MARKS_CLEAR_MS after a process has read its second mark, it sends one that removes all of
 * its earlier ones. So the log keeps the marks of some seconds, and at rest one of each process
 * that ever sent one.
 *
 * Loop only. */
#ifndef SRV_MARKS_H
#define SRV_MARKS_H

#include "server/journal/stream.h"

#include <stdbool.h>
#include <stdint.h>

/* Seldom enough: old servers look through the whole log for what is to be removed. */
enum { SRV_MARKS_CLEAR_MS = 10000 };

struct srv_mark_wait;

struct srv_mark_waits {
    struct srv_mark_wait *first, *last;
};

/* Somebody who wants to know all that is in the log at this moment. In the owner's memory, zeroed
 * except for the first group, until `read`, or until it is taken out. */
struct srv_mark_wait {
    /* Of the scene, whose records that come before the mark are to be applied. Lives as long as
     * this. Length 0: those of all scenes. */
    obb_str name;
    /* All is applied. Must not call the journal. Called once. */
    void (*read)(struct srv_mark_wait *wait);

    struct srv_mark_waits *in; /* NULL: it does not wait */
    struct srv_mark_wait *previous, *next;
    uint64_t place; /* of the mark; 0: it was not read yet */
};

void srv_mark_waits_add(struct srv_mark_waits *waits, struct srv_mark_wait *wait);

/* Takes it out of whatever it waits in, if it waits. */
void srv_mark_wait_leave(struct srv_mark_wait *wait);

/* Zeroed except for the first group. */
struct srv_marks {
    struct srv_stream *stream;
    uint64_t writer;      /* the random number of this process */
    uint64_t patience_ms; /* a mark that is not shown for so long is sent again */

    struct srv_mark_waits next, sent; /* for the mark behind the one under way; for that one */
    uint64_t counter;                 /* of the mark under way, or of the last one */
    bool is_sent;                     /* it is under way, and may be in the log */
    uint64_t tag, moved_ms;           /* likewise: of its message; when it was sent last */
    uint64_t tags;                    /* that were given */
    bool is_there;                    /* a mark of this process is in the log */
    uint64_t clears;                  /* the mark with this counter removes those before it */
    uint64_t clear_ms; /* when one is sent that does; 0: none stands before the last */
};

/* Lets somebody wait for a mark, which is sent now, or once the one under way is read. */
void srv_marks_add(struct srv_marks *marks, struct srv_mark_wait *wait, uint64_t now_ms);

/* A mark was delivered, with this place. Returns those who waited for it: none, unless it is the
 * one under way. The caller takes them out. Then sends the next one if somebody waits for it. */
struct srv_mark_waits srv_marks_read(struct srv_marks *marks, uint64_t seq, obb_str bytes,
                                     uint64_t now_ms);

/* As in srv_stream_calls. Returns false if the tag is not of a mark. */
bool srv_marks_appended(struct srv_marks *marks, uint64_t tag, bool known, uint64_t now_ms);

/* Sends again what is not shown, and removes old marks. Call it a few times within patience_ms. */
void srv_marks_look(struct srv_marks *marks, uint64_t now_ms);

#endif
