#include "server/journal/pieces.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    KEY = 96,
    ASK_AGAIN = 20 /* times patience_ms: without memory the stream may forget to answer */
};

/* Sets the tags of pieces apart from those of messages of the log. */
#define PIECE_TAG (UINT64_C(1) << 63)

static uint64_t next_tag(struct srv_pieces *all) { return PIECE_TAG | ++all->tag; }

/* Writes "writer-counter", which begins all keys of a set. */
static obb_str set_key(wire_record_id set, char out[static KEY])
{
    const int length = snprintf(out, KEY, "%016" PRIx64 "-%" PRIu64, set.writer, set.counter);
    return (obb_str){.bytes = out, .length = (size_t)length};
}

static obb_str slice_key(wire_record_id set, uint64_t piece, uint64_t slice, char out[static KEY])
{
    const int length = snprintf(out, KEY, "%016" PRIx64 "-%" PRIu64 ".%" PRIu64 ".%" PRIu64,
                                set.writer, set.counter, piece, slice);
    return (obb_str){.bytes = out, .length = (size_t)length};
}

/* ---- Entries --------------------------------------------------------------------------------- */

static uint64_t slices_of(const struct srv_pieces *all, const struct srv_entry *entry)
{
    const uint64_t slices = (entry->bytes.length + all->slice_bytes - 1) / all->slice_bytes;
    return slices > 0 ? slices : 1;
}

/* Sends the record of an entry, under the name that it says. */
static bool send_record(struct srv_pieces *all, const struct srv_entry *entry)
{
    wire_record record;
    return wire_record_head(entry->bytes, &record) == OBB_OK &&
           all->stream->append(all->stream, record.name, entry->tag, entry->bytes);
}

/* Sends the next slice of a piece, a record, or the word that a set goes. */
static void send(struct srv_pieces *all, struct srv_entry *entry, uint64_t now_ms)
{
    char key[KEY];
    entry->tag = next_tag(all);
    entry->moved_ms = now_ms;
    bool sent = false;
    if (entry->kind == SRV_ENTRY_DROPPED) {
        sent = all->stream->drop(all->stream, set_key(entry->link.id, key), entry->tag);
    } else if (entry->kind == SRV_ENTRY_SNAPSHOT) {
        sent = send_record(all, entry);
    } else {
        const size_t from = entry->slices * all->slice_bytes, left = entry->bytes.length - from;
        const wire_slice slice = {.kind = WIRE_RECORD_PART,
                                  .id = entry->link.id,
                                  .base = {.writer = entry->count, .counter = entry->number},
                                  .number = entry->slices,
                                  .count = slices_of(all, entry),
                                  .bytes = {entry->bytes.bytes + from,
                                            left < all->slice_bytes ? left : all->slice_bytes}};
        wire_buf_restart(&all->message, all->message.capacity);
        wire_slice_write(&slice, &all->message);
        sent =
            !all->message.failed &&
            all->stream->put(
                all->stream, slice_key(entry->link.id, entry->number, entry->slices, key),
                entry->tag, (obb_str){.bytes = all->message.bytes, .length = all->message.length});
    }
    if (!sent)
        entry->tag = 0; /* the next look tries again */
}

static void settle(struct srv_pieces *all, struct srv_entry *entry, srv_journal_status status)
{
    *(entry->previous != NULL ? &entry->previous->next : &all->first) = entry->next;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
    entry->settled(entry, status);
    entry->released(entry);
}

void srv_pieces_append(struct srv_pieces *all, struct srv_entry *entry, uint64_t now_ms)
{
    entry->slices = 0;
    entry->heard_ms = now_ms;
    entry->previous = NULL;
    entry->next = all->first;
    if (entry->next != NULL)
        entry->next->previous = entry;
    all->first = entry;
    send(all, entry, now_ms);
}

bool srv_pieces_appended(struct srv_pieces *all, uint64_t tag, bool known, uint64_t now_ms)
{
    if ((tag & PIECE_TAG) == 0)
        return false;
    struct srv_entry *entry = all->first;
    while (entry != NULL && entry->tag != tag)
        entry = entry->next;
    if (entry == NULL)
        return true; /* it was sent again meanwhile */
    entry->tag = 0;
    if (!known)
        return true; /* the next look sends it again */
    entry->slices++;
    entry->heard_ms = now_ms;
    if (entry->kind != SRV_ENTRY_CHUNK || entry->slices == slices_of(all, entry))
        settle(all, entry, SRV_JOURNAL_OK);
    else
        send(all, entry, now_ms);
    return true;
}

static void set_dropped(struct srv_entry *entry, srv_journal_status status)
{
    (void)entry;
    (void)status;
}

static void free_dropped(struct srv_entry *entry) { obb_free(entry); }

void srv_pieces_drop(struct srv_pieces *all, wire_record_id set, uint64_t now_ms)
{
    struct srv_entry *entry = obb_calloc(1, sizeof *entry);
    if (entry == NULL)
        return;
    *entry = (struct srv_entry){.kind = SRV_ENTRY_DROPPED,
                                .link = {.id = set},
                                .settled = set_dropped,
                                .released = free_dropped};
    srv_pieces_append(all, entry, now_ms);
}

void srv_pieces_give_up(struct srv_pieces *all)
{
    while (all->first != NULL)
        settle(all, all->first, SRV_JOURNAL_FAILED);
}

/* ---- Fetches --------------------------------------------------------------------------------- */

static void ask(struct srv_fetch *f, uint64_t now_ms)
{
    struct srv_pieces *all = f->all;
    char key[KEY];
    f->tag = next_tag(all);
    f->asked_ms = now_ms;
    const uint64_t piece = f->slice == 0 ? f->count : f->count - 1;
    if (!all->stream->get(all->stream, slice_key(f->set, piece, f->slice, key), f->tag))
        f->tag = 0; /* the next look asks again */
}

void srv_fetch_begin(struct srv_pieces *all, struct srv_fetch *f, uint64_t now_ms)
{
    f->all = all;
    f->under_way = true;
    f->previous = NULL;
    f->next = all->fetches;
    if (f->next != NULL)
        f->next->previous = f;
    all->fetches = f;
    ask(f, now_ms);
}

static void leave(struct srv_fetch *f)
{
    *(f->previous != NULL ? &f->previous->next : &f->all->fetches) = f->next;
    if (f->next != NULL)
        f->next->previous = f->previous;
    f->under_way = false;
}

static void finish(struct srv_fetch *f, bool found)
{
    leave(f);
    f->done(f, found);
}

void srv_fetch_end(struct srv_fetch *f)
{
    if (f->all == NULL)
        return;
    if (f->under_way)
        leave(f);
    for (size_t i = 0; i < f->count; i++) {
        obb_budget_give(f->all->budget, f->pieces[i].capacity);
        wire_buf_fini(&f->pieces[i]);
    }
    obb_free(f->pieces);
    *f = (struct srv_fetch){.all = NULL};
}

/* Makes room for another piece. Returns false without memory. */
static bool begin_piece(struct srv_fetch *f)
{
    if (f->count == f->room) {
        const size_t room = f->room == 0 ? 16 : 2 * f->room;
        struct wire_buf *pieces = obb_realloc(f->pieces, room, sizeof *pieces);
        if (pieces == NULL)
            return false;
        f->pieces = pieces;
        f->room = room;
    }
    f->pieces[f->count++] = (struct wire_buf){0};
    return true;
}

/* Takes the slice that was asked for. Returns false if it is another one, or without memory. */
static bool take(struct srv_fetch *f, obb_str bytes)
{
    wire_slice slice;
    if (wire_slice_read(bytes, &slice) != OBB_OK || !wire_record_id_equal(slice.id, f->set) ||
        slice.number != f->slice || (f->slice == 0 && !begin_piece(f)) ||
        slice.base.counter != f->count - 1)
        return false;
    struct wire_buf *piece = &f->pieces[f->count - 1];
    const size_t before = piece->capacity;
    wire_buf_append(piece, slice.bytes.bytes, slice.bytes.length);
    obb_budget_charge(f->all->budget, piece->capacity - before);
    if (slice.base.writer != 0)
        f->total = slice.base.writer;
    f->slice = slice.number + 1 < slice.count ? slice.number + 1 : 0;
    return !piece->failed && (f->total == 0 || f->count <= f->total);
}

static uint64_t patience_of(const struct srv_fetch *f)
{
    return f->patience_ms != 0 ? f->patience_ms : SRV_PIECES_PATIENCE_MS;
}

void srv_pieces_got(struct srv_pieces *all, uint64_t tag, srv_stream_found found, obb_str bytes,
                    uint64_t now_ms)
{
    struct srv_fetch *f = all->fetches;
    while (f != NULL && f->tag != tag)
        f = f->next;
    if (f == NULL)
        return; /* given up, or asked for again */
    f->tag = 0;
    if (f->misses == 0)
        f->missing_ms = now_ms;
    f->misses = found == SRV_STREAM_MISSING ? f->misses + 1 : 0;
    const bool is_gone = f->misses >= SRV_PIECES_MISSES && now_ms - f->missing_ms >= patience_of(f);
    if (found != SRV_STREAM_FOUND && !is_gone)
        return; /* a server that lags may not have it yet: the next look asks again */
    if (is_gone || !take(f, bytes))
        finish(f, false);
    else if (f->slice == 0 && f->count == f->total)
        finish(f, true);
    else
        ask(f, now_ms);
}

/* ---- Looks ----------------------------------------------------------------------------------- */

void srv_pieces_look(struct srv_pieces *all, uint64_t now_ms)
{
    const bool away = !all->stream->connected(all->stream);
    for (struct srv_entry *e = all->first, *next; e != NULL; e = next) {
        next = e->next;
        const bool is_still = now_ms - e->moved_ms >= all->patience_ms;
        if ((is_still && away) || now_ms - e->heard_ms >= SRV_PIECES_PATIENCE_MS)
            settle(all, e, SRV_JOURNAL_FAILED);
        else if (is_still || (e->tag == 0 && !away))
            send(all, e, now_ms);
    }
    for (struct srv_fetch *f = all->fetches, *next; f != NULL; f = next) {
        next = f->next;
        if (f->tag == 0 || now_ms - f->asked_ms >= ASK_AGAIN * all->patience_ms)
            ask(f, now_ms);
    }
}

void srv_pieces_fini(struct srv_pieces *all) { wire_buf_fini(&all->message); }
