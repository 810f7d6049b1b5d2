#include "server/journal/chain.h"

#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- The rule, case by case ------------------------------------------------------------------ */

static const wire_record_id none = {0, 0}, a1 = {1, 1}, a2 = {1, 2}, a3 = {1, 3}, b1 = {2, 1},
                            b2 = {2, 2};

static srv_chain_verdict reads(struct srv_chain *chain, wire_record_kind kind, wire_record_id id,
                               wire_record_id base)
{
    const srv_link link = {.kind = kind, .id = id, .base = base};
    return srv_chain_read(chain, &link, 1);
}

static bool appends(struct srv_chain *chain, struct srv_pending *pending, wire_record_kind kind,
                    wire_record_id id, wire_record_id base)
{
    const srv_link link = {.kind = kind, .id = id, .base = base};
    return srv_chain_append(chain, pending, &link);
}

START_TEST(a_record_counts_if_it_follows_the_newest_one_that_counts)
{
    struct srv_chain chain = {.is_there = false};
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a1, none),
                     SRV_CHAIN_VOID); /* there is no scene */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_GONE, a1, none), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, b1), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none), SRV_CHAIN_FOREIGN);
    ck_assert(chain.is_there && wire_record_id_equal(chain.newest, a1));
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none), SRV_CHAIN_VOID); /* once more */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, b1, none), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, b1, a1),
                     SRV_CHAIN_VOID); /* there is a scene */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, b1, a1), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a2, a1), SRV_CHAIN_VOID); /* too late */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_GONE, b2, b1), SRV_CHAIN_FOREIGN);
    ck_assert(!chain.is_there);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a3, b2), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none),
                     SRV_CHAIN_VOID); /* not back to life */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a3, b2), SRV_CHAIN_FOREIGN);
    ck_assert(chain.is_there);
}
END_TEST

START_TEST(what_is_written_ahead_counts_in_order_or_not_at_all)
{
    struct srv_chain chain = {.is_there = false};
    struct srv_pending p[3], late;
    ck_assert(!appends(&chain, &p[0], WIRE_RECORD_COMMIT, a1, none));
    ck_assert(!appends(&chain, &p[0], WIRE_RECORD_MADE, a1, b1));
    ck_assert(appends(&chain, &p[0], WIRE_RECORD_MADE, a1, none));
    ck_assert(wire_record_id_equal(srv_chain_end(&chain, 1), a1));
    ck_assert(!appends(&chain, &late, WIRE_RECORD_MADE, a2, a1)); /* it will be there */
    ck_assert(appends(&chain, &p[1], WIRE_RECORD_COMMIT, a2, a1));
    ck_assert(!appends(&chain, &late, WIRE_RECORD_COMMIT, a3, a1)); /* not behind the last one */
    ck_assert(appends(&chain, &p[2], WIRE_RECORD_GONE, a3, a2));
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a2, a1),
                     SRV_CHAIN_VOID); /* before the first */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none), SRV_CHAIN_OWN);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, b1, a1), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a2, a1), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_GONE, a3, a2), SRV_CHAIN_VOID);
    ck_assert_ptr_eq(srv_chain_revert(&chain), &p[2]); /* the newest first */
    ck_assert_ptr_eq(srv_chain_revert(&chain), &p[1]);
    ck_assert_ptr_null(srv_chain_revert(&chain));
    ck_assert(wire_record_id_equal(srv_chain_end(&chain, 1), b1));
    ck_assert(appends(&chain, &p[0], WIRE_RECORD_COMMIT, b2, b1));
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, b2, b1), SRV_CHAIN_OWN);
    ck_assert(chain.first == NULL && chain.last == NULL);
}
END_TEST

/* A record comes into the log before the one that it names, and is void. A state is written down
 * behind the second one: whoever goes on from there must not read the first one. */
START_TEST(who_begins_later_reads_on_where_the_state_ends)
{
    struct srv_chain chain = {.is_there = false};
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_MADE, a1, none), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a3, a2), SRV_CHAIN_VOID);
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a2, a1), SRV_CHAIN_FOREIGN);
    struct srv_chain right = {.newest = chain.newest, .is_there = true}, wrong = right;
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, b1, a2), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&right, WIRE_RECORD_COMMIT, b1, a2), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&wrong, WIRE_RECORD_COMMIT, a3, a2), SRV_CHAIN_FOREIGN);
    ck_assert_int_eq(reads(&wrong, WIRE_RECORD_COMMIT, b1, a2), SRV_CHAIN_VOID);
}
END_TEST

START_TEST(what_comes_in_parts_may_replace_the_scene_that_is_there)
{
    const srv_link copy = {.kind = WIRE_RECORD_MADE, .id = b1, .base = a1, .in_parts = true},
                   plain = {.kind = WIRE_RECORD_MADE, .id = b1, .base = a1},
                   behind = {.kind = WIRE_RECORD_MADE, .id = b2, .base = none, .in_parts = true};
    struct srv_chain chain = {.newest = a1, .is_there = true};
    struct srv_pending pending;
    ck_assert(!srv_chain_counts(&chain, &plain, 1) && !srv_chain_counts(&chain, &behind, 1));
    ck_assert(!srv_chain_append(&chain, &pending, &plain));
    ck_assert(srv_chain_append(&chain, &pending, &copy));
    ck_assert_int_eq(srv_chain_read(&chain, &copy, 1), SRV_CHAIN_OWN);
    ck_assert(chain.is_there && wire_record_id_equal(chain.newest, b1));
    ck_assert_int_eq(srv_chain_read(&chain, &copy, 2), SRV_CHAIN_VOID);          /* once more */
    ck_assert_int_eq(reads(&chain, WIRE_RECORD_COMMIT, a2, a1), SRV_CHAIN_VOID); /* too late */
}
END_TEST

/* The end of a scene is forgotten at a place of the log that is the same for all who read it,
 * whether they still know of the end or not. */
START_TEST(an_end_is_forgotten_and_what_comes_late_does_not_count)
{
    const uint64_t end = 10, last = end + SRV_CHAIN_WINDOW;
    const srv_link gone = {.kind = WIRE_RECORD_GONE, .id = a2, .base = a1},
                   right = {.kind = WIRE_RECORD_MADE, .id = b1, .base = a2, .seen = last},
                   wrong = {.kind = WIRE_RECORD_MADE, .id = b1, .base = none, .seen = last},
                   late = {.kind = WIRE_RECORD_MADE, .id = a1, .base = none, .seen = end};
    struct srv_chain chain = {.newest = a1, .is_there = true}, fresh = {.is_there = false};
    struct srv_pending pending;
    ck_assert(!srv_chain_may_forget(&chain, UINT64_MAX)); /* there is a scene */
    ck_assert_int_eq(srv_chain_read(&chain, &gone, end), SRV_CHAIN_FOREIGN);
    ck_assert(!srv_chain_may_forget(&chain, last) && srv_chain_may_forget(&chain, last + 1));
    ck_assert(srv_chain_counts(&chain, &right, last) && !srv_chain_counts(&chain, &wrong, last));
    ck_assert(wire_record_id_equal(srv_chain_end(&chain, last), a2));
    struct srv_chain *const both[] = {&chain, &fresh};
    for (size_t i = 0; i < 2; i++) {
        ck_assert(!srv_chain_counts(both[i], &right, last + 1));
        ck_assert(srv_chain_counts(both[i], &wrong, last + 1));
        ck_assert(!wire_record_id_is(srv_chain_end(both[i], last + 1)));
        ck_assert(!srv_chain_counts(both[i], &late, last + 1));
    }
    ck_assert(srv_chain_append(&fresh, &pending, &late));
    ck_assert(!srv_chain_may_forget(&fresh, last + 1)); /* something waits */
    ck_assert_int_eq(srv_chain_read(&fresh, &late, last + 1), SRV_CHAIN_LATE);
    ck_assert_ptr_eq(srv_chain_revert(&fresh), &pending);
    ck_assert_int_eq(srv_chain_read(&fresh, &late, last + 1), SRV_CHAIN_VOID);
    ck_assert_int_eq(srv_chain_read(&fresh, &wrong, last + 1), SRV_CHAIN_FOREIGN);
    ck_assert_uint_eq(fresh.ended, 0);
}
END_TEST

/* ---- Many processes over one log ------------------------------------------------------------- */

enum {
    NODES = 4,
    NAMES = 4,                      /* the last one is used seldom, and ends often */
    PLACES = SRV_CHAIN_WINDOW / 80, /* of the log, that a record takes */
    AHEAD = 24,                     /* records that a node has under way about one name, at most */
    FLIGHTS = 6,                    /* messages of a node that have not reached the log */
    GROUP = 8                       /* records of a message */
};

/* A record, with what it does: the value of its name was `before` and is `after`. */
struct record {
    size_t name;
    srv_link link;
    uint64_t op, before, after;
};

/* The log, with what a plain model says of each record when it is appended. */
static struct {
    pthread_mutex_t lock;
    struct line {
        struct record record;
        bool counts;
        uint64_t value; /* of the name, behind the record; 0: there is no scene */
    } * lines;          /* owned */
    size_t count, room;
    struct {
        wire_record_id newest;
        uint64_t value, ended;
    } model[NAMES];
    /* A state that somebody wrote down, for those who begin. */
    struct {
        size_t at;
        wire_record_id newest[NAMES];
        uint64_t value[NAMES], ended[NAMES];
    } snapshot;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What became of an op for its client. */
enum outcome { UNDER_WAY, GOOD, REFUSED, UNKNOWN };

struct own {
    struct srv_pending pending; /* first */
    struct record record;
    bool sent;
};

struct node {
    test_rng rng;
    uint64_t writer, counter;
    size_t at; /* lines of the log that it has read */
    struct strand {
        struct srv_chain chain;
        uint64_t value, tail;   /* published; behind what is pending */
        struct own *own[AHEAD]; /* owned: what is pending, in order */
        size_t count;
    } strands[NAMES];
    struct flight {
        struct record records[GROUP];
        size_t count;
    } flights[FLIGHTS];
    size_t flying;
    unsigned char *outcomes; /* owned: of its ops */
    size_t ops, op_room;
    uint64_t number; /* of the node */
    size_t own_read, foreign_read, void_read, again, restarts, repeats, lost;
    size_t late, forgotten;
};

static uint64_t mixed(uint64_t before, uint64_t op)
{
    test_rng rng = {before * 3 + op};
    return test_random(&rng) | 1; /* a scene that is there has a value */
}

/* Appends to the log, and asks the model. Under the lock. */
static void reach_log(const struct record *record)
{
    if (world.count == world.room) {
        world.room = world.room == 0 ? 4096 : 2 * world.room;
        world.lines = realloc(world.lines, world.room * sizeof *world.lines);
        ck_assert_ptr_nonnull(world.lines);
    }
    const srv_link *link = &record->link;
    const uint64_t seq = (world.count + 1) * PLACES, ended = world.model[record->name].ended;
    bool counts = link->base.writer == world.model[record->name].newest.writer &&
                  link->base.counter == world.model[record->name].newest.counter;
    if (world.model[record->name].value == 0)
        counts = link->kind == WIRE_RECORD_MADE && seq - link->seen <= SRV_CHAIN_WINDOW &&
                 (seq - ended > SRV_CHAIN_WINDOW ? link->base.counter == 0 : counts);
    else
        counts = counts && link->kind != WIRE_RECORD_MADE;
    if (counts) { /* whoever wrote it had seen just this state */
        ck_assert_uint_eq(record->before, world.model[record->name].value);
        world.model[record->name].newest = link->id;
        world.model[record->name].value = record->after;
        world.model[record->name].ended = record->after == 0 ? seq : 0;
    }
    world.lines[world.count++] = (struct line){
        .record = *record, .counts = counts, .value = world.model[record->name].value};
}

static void set_outcome(struct node *n, uint64_t op, enum outcome outcome)
{
    n->outcomes[op & UINT32_MAX] = (unsigned char)outcome;
}

/* Prepares an op on the newest state of a name, and writes it ahead. */
static void prepare(struct node *n, size_t name, uint64_t op)
{
    struct strand *s = &n->strands[name];
    struct own *own = calloc(1, sizeof *own);
    ck_assert_ptr_nonnull(own);
    const bool ends = s->tail != 0 && test_below(&n->rng, name == NAMES - 1 ? 2 : 20) == 0;
    *own = (struct own){
        .record = {
            .name = name, .op = op, .before = s->tail, .after = ends ? 0 : mixed(s->tail, op)}};
    own->record.link = (srv_link){.kind = s->tail == 0 ? WIRE_RECORD_MADE
                                          : ends       ? WIRE_RECORD_GONE
                                                       : WIRE_RECORD_COMMIT,
                                  .id = {n->writer, ++n->counter},
                                  .base = srv_chain_end(&s->chain, n->at * PLACES),
                                  .seen = n->at * PLACES};
    ck_assert(srv_chain_append(&s->chain, &own->pending, &own->record.link));
    s->tail = own->record.after;
    s->own[s->count++] = own;
}

static void begin_op(struct node *n)
{
    const size_t name = test_below(&n->rng, 100) == 0 ? NAMES - 1 : test_below(&n->rng, NAMES - 1);
    if (n->strands[name].count == AHEAD)
        return;
    if (n->ops == n->op_room) {
        n->op_room = n->op_room == 0 ? 1024 : 2 * n->op_room;
        n->outcomes = realloc(n->outcomes, n->op_room);
        ck_assert_ptr_nonnull(n->outcomes);
    }
    const uint64_t op = n->number << 32 | n->ops++;
    set_outcome(n, op, UNDER_WAY);
    prepare(n, name, op);
}

/* Sends what was not sent yet of a name as one message. */
static void send(struct node *n)
{
    struct strand *s = &n->strands[test_below(&n->rng, NAMES)];
    if (n->flying == FLIGHTS)
        return;
    struct flight *flight = &n->flights[n->flying];
    flight->count = 0;
    for (size_t i = 0; i < s->count && flight->count < GROUP; i++)
        if (!s->own[i]->sent) {
            s->own[i]->sent = true;
            flight->records[flight->count++] = s->own[i]->record;
        }
    n->flying += flight->count > 0;
}

/* One of the messages under way, whichever, reaches the log, perhaps twice, or is lost. */
static void land(struct node *n)
{
    if (n->flying == 0)
        return;
    struct flight *flight = &n->flights[test_below(&n->rng, n->flying)];
    const size_t fate = test_below(&n->rng, 10);
    if (fate > 0) {
        (void)pthread_mutex_lock(&world.lock);
        for (size_t i = 0; i < flight->count; i++)
            reach_log(&flight->records[i]);
        (void)pthread_mutex_unlock(&world.lock);
    }
    n->lost += fate == 0;
    if (fate > 1) /* else it is still under way, too */
        *flight = n->flights[--n->flying];
}

/* No acknowledgement came for a while: everything of a name is sent again. */
static void send_again(struct node *n)
{
    struct strand *s = &n->strands[test_below(&n->rng, NAMES)];
    for (size_t i = 0; i < s->count; i++)
        s->own[i]->sent = false;
    n->repeats += s->count > 0;
}

/* Takes all back that is pending about a name, and prepares it again, or refuses it. */
static void take_back(struct node *n, size_t name, enum outcome refused)
{
    struct strand *s = &n->strands[name];
    uint64_t ops[AHEAD];
    const size_t count = s->count;
    for (size_t i = count; i-- > 0;) {
        ops[i] = s->own[i]->record.op;
        ck_assert_ptr_eq(srv_chain_revert(&s->chain), &s->own[i]->pending);
        free(s->own[i]);
    }
    ck_assert_ptr_null(srv_chain_revert(&s->chain));
    s->count = 0;
    s->tail = s->value;
    for (size_t i = 0; i < count; i++)
        if (refused == UNKNOWN || test_below(&n->rng, 8) == 0) {
            set_outcome(n, ops[i], refused);
        } else {
            prepare(n, name, ops[i]);
            n->again++;
        }
}

static void read_log(struct node *n)
{
    (void)pthread_mutex_lock(&world.lock);
    const bool more = n->at < world.count;
    const struct line line = more ? world.lines[n->at] : (struct line){.counts = false};
    (void)pthread_mutex_unlock(&world.lock);
    if (!more)
        return;
    n->at++;
    const struct record *record = &line.record;
    struct strand *s = &n->strands[record->name];
    const srv_chain_verdict verdict = srv_chain_read(&s->chain, &record->link, n->at * PLACES);
    ck_assert_int_eq(verdict == SRV_CHAIN_OWN || verdict == SRV_CHAIN_FOREIGN, line.counts);
    if (verdict == SRV_CHAIN_OWN) {
        ck_assert_uint_eq(s->own[0]->record.op, record->op);
        set_outcome(n, record->op, GOOD);
        s->value = record->after;
        free(s->own[0]);
        s->count--;
        memmove((void *)&s->own[0], (void *)&s->own[1], s->count * sizeof s->own[0]);
    } else if (verdict == SRV_CHAIN_FOREIGN) {
        s->value = record->after;
        take_back(n, record->name, REFUSED);
    } else if (verdict == SRV_CHAIN_LATE) {
        take_back(n, record->name, REFUSED);
    }
    n->late += verdict == SRV_CHAIN_LATE;
    n->own_read += verdict == SRV_CHAIN_OWN;
    n->foreign_read += verdict == SRV_CHAIN_FOREIGN;
    n->void_read += verdict == SRV_CHAIN_VOID;
    ck_assert_uint_eq(s->value, line.value);
}

/* Forgets whatever may be forgotten: each node at moments of its own. */
static void forget(struct node *n)
{
    for (size_t i = 0; i < NAMES; i++) {
        struct strand *s = &n->strands[i];
        if (!srv_chain_may_forget(&s->chain, n->at * PLACES))
            continue;
        n->forgotten += s->chain.ended != 0;
        s->chain = (struct srv_chain){.is_there = false};
    }
}

/* Writes the node's state down for others. */
static void write_snapshot(const struct node *n)
{
    (void)pthread_mutex_lock(&world.lock);
    if (n->at > world.snapshot.at) {
        world.snapshot.at = n->at;
        for (size_t i = 0; i < NAMES; i++) {
            world.snapshot.newest[i] = n->strands[i].chain.newest;
            world.snapshot.value[i] = n->strands[i].value;
            world.snapshot.ended[i] = n->strands[i].chain.ended;
        }
    }
    (void)pthread_mutex_unlock(&world.lock);
}

/* The process ends, and another one begins where somebody's state ends. */
static void restart(struct node *n)
{
    for (size_t i = 0; i < NAMES; i++) /* what it had under way may still arrive */
        take_back(n, i, UNKNOWN);
    (void)pthread_mutex_lock(&world.lock);
    n->at = world.snapshot.at;
    for (size_t i = 0; i < NAMES; i++) {
        struct strand *s = &n->strands[i];
        s->value = s->tail = world.snapshot.value[i];
        s->chain = (struct srv_chain){.newest = world.snapshot.newest[i],
                                      .is_there = s->value != 0,
                                      .ended = world.snapshot.ended[i]};
    }
    (void)pthread_mutex_unlock(&world.lock);
    n->writer = test_random(&n->rng);
    n->counter = 0;
    n->restarts++;
}

static void step(struct node *n)
{
    const size_t what = test_below(&n->rng, 1000);
    if (what < 200)
        begin_op(n);
    else if (what < 300)
        send(n);
    else if (what < 420)
        land(n);
    else if (what < 425)
        send_again(n);
    else if (what < 427)
        take_back(n, test_below(&n->rng, NAMES), UNKNOWN); /* their clients do not wait longer */
    else if (what < 429)
        write_snapshot(n);
    else if (what < 430 && test_below(&n->rng, 20) == 0)
        restart(n);
    else if (what < 440)
        forget(n);
    else
        for (size_t i = test_below(&n->rng, 12); i > 0; i--)
            read_log(n);
}

static struct node nodes[NODES];

static void begin_world(uint64_t seed)
{
    memset(nodes, 0, sizeof nodes);
    world.count = 0;
    memset(world.model, 0, sizeof world.model);
    memset(&world.snapshot, 0, sizeof world.snapshot);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i].rng = (test_rng){seed * 1000 + i};
        nodes[i].number = i;
        nodes[i].writer = test_random(&nodes[i].rng);
    }
}

static bool is_quiet(const struct node *n)
{
    for (size_t i = 0; i < NAMES; i++)
        if (n->strands[i].count > 0)
            return false;
    return n->flying == 0 && n->at == world.count;
}

/* Lets all end what they have begun. */
static void calm_down(void)
{
    for (bool quiet = false; !quiet;) {
        quiet = true;
        for (size_t i = 0; i < NODES; i++) {
            struct node *n = &nodes[i];
            while (n->flying > 0)
                land(n);
            for (size_t k = 0; k < 20; k++)
                send(n);
            while (n->at < world.count)
                read_log(n);
            if (n->flying == 0 && !is_quiet(n))
                send_again(n);
        }
        for (size_t i = 0; i < NODES; i++)
            quiet = quiet && is_quiet(&nodes[i]);
    }
}

/* Compares what clients were told with what counts in the log, and all nodes with each other.
 * Returns whether everything was seen as often as it should be in so many steps. */
static bool judge_world(size_t steps)
{
    size_t good = 0, refused = 0, unknown = 0, unknown_there = 0, void_lines = 0;
    struct node all = {.ops = 0};
    unsigned char *times[NODES];
    for (size_t i = 0; i < NODES; i++) {
        times[i] = calloc(nodes[i].ops + 1, 1);
        ck_assert_ptr_nonnull(times[i]);
    }
    for (size_t i = 0; i < world.count; i++) {
        const uint64_t op = world.lines[i].record.op;
        void_lines += !world.lines[i].counts;
        if (world.lines[i].counts)
            ck_assert_uint_eq(times[op >> 32][op & UINT32_MAX]++, 0); /* nothing counts twice */
    }
    for (size_t i = 0; i < NODES; i++) {
        const struct node *n = &nodes[i];
        for (size_t k = 0; k < n->ops; k++) {
            const enum outcome outcome = (enum outcome)n->outcomes[k];
            ck_assert(outcome == UNKNOWN || times[i][k] == (outcome == GOOD));
            ck_assert(outcome != UNDER_WAY);
            good += outcome == GOOD;
            refused += outcome == REFUSED;
            unknown += outcome == UNKNOWN;
            unknown_there += outcome == UNKNOWN && times[i][k] == 1;
        }
        for (size_t k = 0; k < NAMES; k++) {
            ck_assert_uint_eq(n->strands[k].value, world.model[k].value);
            const struct srv_chain *chain = &n->strands[k].chain;
            ck_assert(wire_record_id_equal(chain->newest, world.model[k].newest) ||
                      srv_chain_may_forget(chain, n->at * PLACES));
        }
        all.own_read += n->own_read;
        all.foreign_read += n->foreign_read;
        all.again += n->again;
        all.restarts += n->restarts;
        all.repeats += n->repeats;
        all.lost += n->lost;
        all.late += n->late;
        all.forgotten += n->forgotten;
        free(times[i]);
    }
    printf("%zu steps: %zu records in the log, %zu of them void; %zu ops good, %zu refused, %zu "
           "unknown, of which %zu counted; read %zu own, %zu of others; %zu prepared again, %zu "
           "sent again, %zu messages lost, %zu restarts, %zu ends forgotten, %zu scenes too late\n",
           steps, world.count, void_lines, good, refused, unknown, unknown_there, all.own_read,
           all.foreign_read, all.again, all.repeats, all.lost, all.restarts, all.forgotten,
           all.late);
    return good > steps / 100 && void_lines > steps / 100 && refused > steps / 10000 &&
           unknown_there > steps / 100000 && unknown - unknown_there > steps / 100000 &&
           all.restarts > 2 && all.repeats > steps / 10000 && all.lost > steps / 1000 &&
           all.forgotten > 2 && all.late > 2;
}

static void end_world(void)
{
    for (size_t i = 0; i < NODES; i++)
        free(nodes[i].outcomes);
}

START_TEST(all_who_read_the_log_come_to_the_same)
{
    enum { STEPS = 200000 };
    for (uint64_t seed = 1; seed <= test_effort(3); seed++) {
        test_rng rng = {seed};
        begin_world(seed);
        for (size_t i = 0; i < STEPS; i++)
            step(&nodes[test_below(&rng, NODES)]);
        calm_down();
        ck_assert(judge_world(STEPS));
        end_world();
    }
}
END_TEST

enum { THREAD_STEPS = 250000 };

static void *run_node(void *context)
{
    for (size_t i = 0; i < THREAD_STEPS; i++)
        step(context);
    return NULL;
}

/* What is seen depends on how the threads take turns, so they go on until it was all seen. */
START_TEST(writers_on_threads_of_their_own_come_to_the_same)
{
    pthread_t threads[NODES];
    begin_world(77);
    do {
        for (size_t i = 0; i < NODES; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, run_node, &nodes[i]), 0);
        for (size_t i = 0; i < NODES; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        calm_down();
    } while (!judge_world((size_t)THREAD_STEPS * NODES));
    end_world();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain");
    TCase *tc = tcase_create("chain");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_record_counts_if_it_follows_the_newest_one_that_counts);
    tcase_add_test(tc, what_is_written_ahead_counts_in_order_or_not_at_all);
    tcase_add_test(tc, who_begins_later_reads_on_where_the_state_ends);
    tcase_add_test(tc, what_comes_in_parts_may_replace_the_scene_that_is_there);
    tcase_add_test(tc, an_end_is_forgotten_and_what_comes_late_does_not_count);
    tcase_add_test(tc, all_who_read_the_log_come_to_the_same);
    tcase_add_test(tc, writers_on_threads_of_their_own_come_to_the_same);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
