#include "server/journal/marks.h"

#include <stddef.h>

enum { BYTES = 16 };

/* Sets the tags of marks apart from those of messages, pieces and purges. */
#define MARK_TAG (UINT64_C(1) << 61)

void srv_mark_waits_add(struct srv_mark_waits *waits, struct srv_mark_wait *wait)
{
    wait->in = waits;
    wait->next = NULL;
    wait->previous = waits->last;
    *(waits->last != NULL ? &waits->last->next : &waits->first) = wait;
    waits->last = wait;
}

void srv_mark_wait_leave(struct srv_mark_wait *wait)
{
    struct srv_mark_waits *waits = wait->in;
    if (waits == NULL)
        return;
    *(wait->previous != NULL ? &wait->previous->next : &waits->first) = wait->next;
    *(wait->next != NULL ? &wait->next->previous : &waits->last) = wait->previous;
    wait->in = NULL;
}

static void move_all(struct srv_mark_waits *from, struct srv_mark_waits *to)
{
    for (struct srv_mark_wait *wait; (wait = from->first) != NULL;) {
        srv_mark_wait_leave(wait);
        srv_mark_waits_add(to, wait);
    }
}

static void write_mark(const struct srv_marks *m, char out[static BYTES])
{
    obb_word_put(out, m->writer);
    obb_word_put(out + 8, m->counter);
}

static uint64_t new_tag(struct srv_marks *m) { return MARK_TAG | ++m->tags; }

/* Lets the next look send the mark again. */
static void send_soon(struct srv_marks *m, uint64_t now_ms)
{
    m->moved_ms = now_ms > m->patience_ms ? now_ms - m->patience_ms : 0;
}

/* Sends the mark under way, or sends it again: whichever of the two is read first serves. */
static void send(struct srv_marks *m, uint64_t now_ms)
{
    char bytes[BYTES];
    write_mark(m, bytes);
    m->tag = new_tag(m);
    m->moved_ms = now_ms;
    m->is_sent = true;
    if (!m->stream->mark(m->stream, m->tag, (obb_str){.bytes = bytes, .length = sizeof bytes},
                         m->counter == m->clears))
        send_soon(m, now_ms);
}

static bool is_time_to_clear(const struct srv_marks *m, uint64_t now_ms)
{
    return m->clear_ms != 0 && now_ms >= m->clear_ms;
}

/* Sends the next mark if somebody waits for it, or old ones are to go, and none is under way. */
static void send_next(struct srv_marks *m, uint64_t now_ms)
{
    const bool clears = is_time_to_clear(m, now_ms);
    if (m->is_sent || (m->next.first == NULL && !clears))
        return;
    move_all(&m->next, &m->sent);
    m->counter++;
    if (clears)
        m->clears = m->counter;
    send(m, now_ms);
}

void srv_marks_add(struct srv_marks *marks, struct srv_mark_wait *wait, uint64_t now_ms)
{
    wait->place = 0;
    srv_mark_waits_add(&marks->next, wait);
    send_next(marks, now_ms);
}

/* Notes that a mark of this process is in the log, and whether others stand before it. */
static void note_own(struct srv_marks *m, uint64_t counter, uint64_t now_ms)
{
    if (counter == m->clears)
        m->clear_ms = 0;
    else if (m->is_there && m->clear_ms == 0)
        m->clear_ms = now_ms + SRV_MARKS_CLEAR_MS;
    m->is_there = true;
}

struct srv_mark_waits srv_marks_read(struct srv_marks *marks, uint64_t seq, obb_str bytes,
                                     uint64_t now_ms)
{
    struct srv_mark_waits waits = {NULL, NULL};
    if (bytes.length != BYTES || obb_word_at(bytes.bytes) != marks->writer)
        return waits; /* of another process */
    const uint64_t counter = obb_word_at(bytes.bytes + BYTES / 2);
    note_own(marks, counter, now_ms);
    if (!marks->is_sent || counter != marks->counter)
        return waits;
    waits = marks->sent;
    marks->sent = (struct srv_mark_waits){NULL, NULL};
    for (struct srv_mark_wait *wait = waits.first; wait != NULL; wait = wait->next) {
        wait->in = NULL;
        wait->place = seq;
    }
    marks->is_sent = false;
    send_next(marks, now_ms);
    return waits;
}

bool srv_marks_appended(struct srv_marks *marks, uint64_t tag, bool known, uint64_t now_ms)
{
    if (tag >> 61 != MARK_TAG >> 61)
        return false;
    if (tag == marks->tag && marks->is_sent && !known)
        send_soon(marks, now_ms);
    return true;
}

void srv_marks_look(struct srv_marks *marks, uint64_t now_ms)
{
    if (marks->is_sent && now_ms - marks->moved_ms < marks->patience_ms)
        return;
    if (marks->is_sent && marks->sent.first != NULL) {
        send(marks, now_ms);
        return;
    }
    marks->is_sent = false; /* nobody waits for it any more */
    send_next(marks, now_ms);
}
