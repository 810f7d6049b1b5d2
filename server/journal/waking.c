#include "server/journal/waking.h"

#include <stddef.h>
#include <string.h>

enum {
    ASKS = 6,           /* of which nothing is heard */
    FETCH_PATIENCES = 5 /* with pieces that no server has: a newer snapshot took their place */
};

/* A record that counts. The bytes are in the same block. */
struct srv_woken {
    struct srv_woken *next;
    struct srv_waking *waking;
    uint64_t seq;
    bool in_parts, has_pieces;
    struct srv_fetch fetch;
    size_t length;
    char bytes[];
};

static const char no_memory[] = "there is not enough memory";

static void finish(struct srv_waking *w, const char *why)
{
    if (w->is_over)
        return;
    w->is_over = true;
    w->done(w, why);
}

static bool add_to(struct srv_waking *w, struct srv_woken_list *list, uint64_t seq, obb_str bytes,
                   bool in_parts)
{
    struct srv_woken *r = obb_malloc(1, sizeof *r + bytes.length);
    if (r == NULL)
        return false;
    obb_budget_charge(w->budget, sizeof *r + bytes.length);
    *r = (struct srv_woken){.waking = w, .seq = seq, .in_parts = in_parts, .length = bytes.length};
    memcpy(r->bytes, bytes.bytes, bytes.length);
    *(list->last != NULL ? &list->last->next : &list->first) = r;
    list->last = r;
    w->count++;
    return true;
}

void srv_waking_add(struct srv_waking *w, uint64_t seq, obb_str bytes, bool in_parts)
{
    if (w->is_over)
        return;
    struct srv_woken_list *list = w->is_read ? &w->records : &w->later;
    if (!add_to(w, list, seq, bytes, in_parts))
        w->why = no_memory; /* the next look tells */
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void go_on(struct srv_waking *w, uint64_t now_ms);

static void on_snapshot(struct srv_fetch *fetch, bool found)
{
    struct srv_waking *w =
        (struct srv_waking *)(void *)((char *)fetch - offsetof(struct srv_waking, snapshot));
    w->has_snapshot = found;
    if (found)
        go_on(w, w->heard_ms);
    else
        finish(w, "the pieces of its snapshot are not there, or are damaged");
}

static void on_pieces(struct srv_fetch *fetch, bool found)
{
    struct srv_woken *r =
        (struct srv_woken *)(void *)((char *)fetch - offsetof(struct srv_woken, fetch));
    struct srv_waking *w = r->waking;
    r->has_pieces = found;
    if (found)
        go_on(w, w->heard_ms);
    else
        finish(w, "the parts of a record are not there, or are damaged");
}

/* Gets the pieces of the next record that has some. Returns false if none is left. */
static bool fetch_next(struct srv_waking *w, uint64_t now_ms)
{
    struct srv_woken *r = w->fetching != NULL ? w->fetching : w->records.first;
    while (r != NULL && (!r->in_parts || r->has_pieces)) {
        w->fetching = r;
        r = r->next;
    }
    if (r == NULL)
        return false;
    w->fetching = r;
    if (r->fetch.all != NULL)
        return true; /* under way */
    wire_record record;
    if (wire_record_head((obb_str){.bytes = r->bytes, .length = r->length}, &record) != OBB_OK) {
        finish(w, "a record of it is damaged");
        return true;
    }
    r->fetch = (struct srv_fetch){
        .set = record.id, .done = on_pieces, .patience_ms = FETCH_PATIENCES * w->patience_ms};
    srv_fetch_begin(w->pieces, &r->fetch, now_ms);
    return true;
}

static void go_on(struct srv_waking *w, uint64_t now_ms)
{
    w->heard_ms = now_ms;
    if (w->is_over || !w->is_read || (wire_record_id_is(w->set) && !w->has_snapshot) ||
        fetch_next(w, now_ms))
        return;
    finish(w, w->why);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void ask(struct srv_waking *w, uint64_t now_ms)
{
    const uint64_t from = w->read >= w->from ? w->read + 1 : w->from;
    w->heard_ms = now_ms;
    w->is_asked = w->stream->read(w->stream, w->name, from, w->tag);
    w->asks += w->is_asked;
}

static void stop_reading(struct srv_waking *w)
{
    if (w->is_asked)
        w->stream->unread(w->stream, w->tag);
    w->is_asked = false;
}

void srv_waking_begin(struct srv_waking *w, uint64_t now_ms)
{
    w->slices.budget = w->budget;
    ask(w, now_ms);
    if (!wire_record_id_is(w->set))
        return;
    w->snapshot = (struct srv_fetch){
        .set = w->set, .done = on_snapshot, .patience_ms = FETCH_PATIENCES * w->patience_ms};
    srv_fetch_begin(w->pieces, &w->snapshot, now_ms);
}

/* Judges a record. Returns false if the scene cannot be made of it; w->why then says why. */
static bool judge(struct srv_waking *w, uint64_t seq, obb_str one)
{
    wire_record head;
    struct wire_buf whole = {0};
    uint64_t from;
    bool is_whole;
    if (!srv_slices_read(&w->slices, &w->chain, seq, &one, &head, &is_whole, &whole, &from)) {
        obb_budget_give(w->budget, whole.capacity);
        wire_buf_fini(&whole);
        w->why = "a record of it is damaged, or there is not enough memory";
        return false;
    }
    const srv_link link = is_whole ? srv_link_of(&head) : (srv_link){.kind = WIRE_RECORD_WHOLE};
    if (link.kind != WIRE_RECORD_WHOLE && srv_chain_read(&w->chain, &link, seq) != SRV_CHAIN_VOID) {
        const bool makes = link.kind == WIRE_RECORD_MADE;
        const bool is_first = !wire_record_id_is(w->set) && w->records.first == NULL;
        srv_slices_drop(&w->slices, UINT64_MAX);
        if (link.kind == WIRE_RECORD_GONE || makes != is_first)
            w->why = "the log says another thing than before";
        else if (!add_to(w, &w->records, seq, one, link.in_parts))
            w->why = no_memory;
    }
    obb_budget_give(w->budget, whole.capacity);
    wire_buf_fini(&whole);
    return w->why == NULL;
}

/* All messages up to `until` are read. */
static void end_reading(struct srv_waking *w, uint64_t now_ms)
{
    stop_reading(w);
    if (w->is_read)
        return;
    w->is_read = true;
    if (!wire_record_id_equal(w->chain.newest, w->newest) || !w->chain.is_there) {
        finish(w, "messages of it were purged meanwhile, or the server differs");
        return;
    }
    if (w->later.first != NULL) {
        *(w->records.last != NULL ? &w->records.last->next : &w->records.first) = w->later.first;
        w->records.last = w->later.last;
        w->later = (struct srv_woken_list){NULL, NULL};
    }
    go_on(w, now_ms);
}

void srv_waking_read(struct srv_waking *w, uint64_t seq, obb_str bytes, uint64_t now_ms)
{
    obb_str one;
    if (w->is_over || w->is_read || seq <= w->read || seq < w->from)
        return;
    w->heard_ms = now_ms;
    w->asks = 0;
    w->read = seq;
    while (seq <= w->until && bytes.length > 0) {
        if (!wire_record_next(&bytes, &one))
            w->why = "a message about it is damaged";
        if (w->why != NULL || !judge(w, seq, one)) {
            stop_reading(w);
            finish(w, w->why);
            return;
        }
    }
    if (seq >= w->until)
        end_reading(w, now_ms);
}

void srv_waking_look(struct srv_waking *w, uint64_t now_ms)
{
    if (w->is_over)
        return;
    if (w->why != NULL) {
        stop_reading(w);
        finish(w, w->why);
        return;
    }
    if (w->is_read || (w->is_asked && now_ms - w->heard_ms < 2 * w->patience_ms))
        return;
    stop_reading(w);
    if (w->asks >= ASKS)
        finish(w, "nothing is heard of its messages");
    else
        ask(w, now_ms);
}

/* ---- The end --------------------------------------------------------------------------------- */

const srv_woken_record *srv_waking_list(struct srv_waking *w, size_t *out_count)
{
    if (w->list == NULL)
        w->list = obb_malloc(w->count + 1, sizeof *w->list);
    if (w->list == NULL)
        return NULL;
    size_t count = 0;
    for (const struct srv_woken *r = w->records.first; r != NULL; r = r->next)
        w->list[count++] = (srv_woken_record){.seq = r->seq,
                                              .bytes = {r->bytes, r->length},
                                              .pieces = r->fetch.pieces,
                                              .piece_count = r->fetch.count};
    *out_count = count;
    return w->list;
}

static void free_records(struct srv_waking *w, struct srv_woken_list *list)
{
    for (struct srv_woken *r = list->first, *next; r != NULL; r = next) {
        next = r->next;
        srv_fetch_end(&r->fetch);
        obb_budget_give(w->budget, sizeof *r + r->length);
        obb_free(r);
    }
    *list = (struct srv_woken_list){NULL, NULL};
}

void srv_waking_end(struct srv_waking *w)
{
    w->is_over = true;
    stop_reading(w);
    srv_fetch_end(&w->snapshot);
    srv_slices_drop(&w->slices, UINT64_MAX);
    free_records(w, &w->records);
    free_records(w, &w->later);
    obb_free(w->list);
    w->list = NULL;
}
