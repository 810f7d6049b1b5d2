#include "server/scenes/follow.h"

#include <stdio.h>

enum {
    RETRY_MS = 100,
    READ_FACTOR = 8 /* a record that is read takes about so many times its bytes */
};

/* A record on its way through the writer. */
struct srv_following {
    struct srv_write write; /* first */
    struct srv_follower *follower;
    srv_foreign record;
    struct obb_arena arena;
    size_t charged; /* of the writer's budget, in any case: what was asked of others must go on */
    struct srv_following *next;
};

static void begin(struct srv_follower *follower, struct srv_following *f);

static void free_following(struct srv_following *f)
{
    obb_arena_fini(&f->arena);
    obb_budget_give(f->follower->writer->budget, f->charged);
    obb_free(f);
}

/* Frees what was applied before this turn of the loop. */
static void on_bell(void *context)
{
    struct srv_follower *follower = context;
    struct srv_following *f = follower->ended;
    follower->ended = NULL;
    for (struct srv_following *next; f != NULL; f = next) {
        next = f->next;
        free_following(f);
    }
}

static void on_timer(void *context)
{
    struct srv_follower *follower = context;
    struct srv_following *f = follower->retried;
    follower->retried = NULL;
    for (struct srv_following *next; f != NULL; f = next) {
        next = f->next;
        begin(follower, f);
    }
}

static void lose(struct srv_follower *follower, const srv_foreign *record, const char *cause)
{
    char why[400];
    (void)snprintf(why, sizeof why, "scene %s, record %llu of the log cannot be applied: %s",
                   wire_show(record->name).text, (unsigned long long)record->seq, cause);
    follower->lost(follower->context, why);
}

static const char *why_differs(const struct srv_write *w)
{
    return w->differs ? "it has another hash after a record than its writer found"
                      : "a record does not fit it";
}

/* The record is not applied: the scene here is not what the log says. Nobody may write a snapshot
 * of it. Returns false if nothing can be done about that. */
static bool load_again(struct srv_follower *follower, struct srv_write *w, obb_str name)
{
    const struct obb_scene *scene = obb_store_find(follower->writer->store, name);
    struct srv_tail *tail = scene != NULL ? srv_tail_of(scene) : NULL;
    if (!srv_shared_differs(follower->journal, name, why_differs(w)))
        return false;
    if (tail != NULL)
        srv_snapshots_pause(srv_tail_journaled(tail));
    return true;
}

static const char *why_lost(const struct srv_write *w)
{
    return w->status == OBB_LIMIT && w->refused_by == SRV_REFUSED_BY_STORE
               ? "there are more than --scene-limit allows"
               : obb_status_name(w->status);
}

static void on_done(struct srv_write *w)
{
    struct srv_following *f = (struct srv_following *)w;
    struct srv_follower *follower = f->follower;
    struct srv_journal *journal = follower->journal;
    const obb_status status = w->status;
    const srv_foreign record = f->record;
    if (status == OBB_NO_MEMORY && !record.wakes && !follower->stopped) {
        f->next = follower->retried;
        follower->retried = f;
        srv_timer_start(follower->timer, RETRY_MS, 0);
        return;
    }
    f->next = follower->ended;
    follower->ended = f;
    srv_bell_ring(follower->bell);
    if (status == OBB_OK && record.is_unchecked)
        srv_shared_checked(journal, record.name, !w->differs);
    if (status == OBB_OK)
        srv_shared_applied(journal, record.name);
    else if (record.wakes && status != OBB_BAD_VALUE)
        srv_shared_refused(journal, record.name,
                           status == OBB_NO_MEMORY ? "there is not enough memory"
                                                   : "there is no room for it");
    else if (record.wakes && w->differs && !follower->stopped)
        (void)srv_shared_differs(journal, record.name, why_differs(w));
    else if ((record.is_snapshot || record.wakes) && status == OBB_BAD_VALUE && !follower->stopped)
        srv_shared_refused(journal, record.name,
                           "it is damaged, or does not hold what its hashes say");
    else if (!follower->stopped && (record.is_snapshot || !load_again(follower, w, record.name)))
        lose(follower, &record, why_lost(w));
    srv_drain_release(follower->drain);
}

static void begin(struct srv_follower *follower, struct srv_following *f)
{
    obb_arena_reset(&f->arena);
    f->write = (struct srv_write){.op = {.kind = SRV_OP_FOLLOW,
                                         .scene = f->record.name,
                                         .record = f->record.bytes,
                                         .seq = f->record.seq,
                                         .pieces = f->record.pieces,
                                         .piece_count = f->record.piece_count,
                                         .is_unchecked = f->record.is_unchecked,
                                         .replaces = f->record.replaces,
                                         .woken = f->record.wakes ? &f->record : NULL},
                                  .arena = &f->arena,
                                  .done = on_done};
    srv_write(follower->writer, &f->write);
}

void srv_follow(struct srv_follower *follower, const srv_foreign *record)
{
    struct srv_following *f = obb_calloc(1, sizeof *f);
    if (f == NULL) {
        lose(follower, record, obb_status_name(OBB_NO_MEMORY));
        return;
    }
    f->follower = follower;
    f->record = *record;
    size_t bytes = record->bytes.length;
    for (size_t i = 0; i < record->piece_count; i++)
        bytes += record->pieces[i].length;
    for (size_t i = 0; i < record->record_count; i++)
        bytes += record->records[i].bytes.length;
    /* a scene that wakes is read piece by piece */
    f->charged = sizeof *f + (record->wakes ? bytes : READ_FACTOR * bytes);
    obb_budget_charge(follower->writer->budget, f->charged);
    obb_arena_init(&f->arena);
    srv_drain_hold(follower->drain);
    begin(follower, f);
}

bool srv_follower_init(struct srv_follower *follower)
{
    return srv_bell_create(follower->loop, on_bell, follower, &follower->bell) &&
           srv_timer_create(follower->loop, on_timer, follower, &follower->timer);
}

void srv_follower_stop(struct srv_follower *follower)
{
    follower->stopped = true;
    for (struct srv_following *f = follower->retried, *next; f != NULL; f = next) {
        next = f->next;
        f->next = follower->ended;
        follower->ended = f;
        srv_drain_release(follower->drain);
    }
    follower->retried = NULL;
}

void srv_follower_fini(struct srv_follower *follower)
{
    if (follower->bell == NULL)
        return;
    on_bell(follower);
    srv_timer_destroy(follower->timer);
    srv_bell_destroy(follower->bell);
}
