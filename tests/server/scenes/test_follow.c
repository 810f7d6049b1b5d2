/* Several services over one log in memory: each writes, and follows the others. */
#include "server/scenes/durable.h"
#include "server/scenes/follow.h"

#include "core/versions/version.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum {
    NODES = 3,
    SCENES = 3,
    SLOTS = 8,
    LARGE = 400,
    FLIGHTS = 64,
    CALLS = 64,
    ASIDES = 8,
    KEPT = 4000,
    WRITERS = 400 /* most nodes that were ever begun */
};

static test_rng rng;
static struct srv_loop *loop;
static struct srv_pool *pool;

/* ---- The log --------------------------------------------------------------------------------- */

struct message {
    char name[16];
    char *bytes;
    size_t length;
    bool is_purged;
};

static struct {
    struct message *messages; /* owned */
    size_t count, room;
    size_t lost, repeated, unheard, slices;
} the_log;

/* Damage that messages take on their way to a node, and scenes in its memory. */
static struct {
    unsigned on_way, in_memory; /* one in so many; 0: none */
    size_t delivered, remembered;
    size_t found; /* of what was remembered otherwise */
} damage;

/* Writes the message with a box at another place, and otherwise as it was: its checksums are right.
 * Returns false if no box of it stands anywhere. */
static bool forge(const struct message *m, struct wire_buf *out)
{
    obb_str rest = {.bytes = m->bytes, .length = m->length}, one;
    struct obb_arena arena;
    bool forged = false;
    obb_arena_init(&arena);
    while (rest.length > 0) {
        wire_record record;
        ck_assert(wire_record_next(&rest, &one));
        if (wire_slice_is(one)) {
            wire_buf_append(out, one.bytes, one.length);
            continue;
        }
        ck_assert_int_eq(wire_record_read(one, &arena, &record), OBB_OK);
        for (size_t i = 0; i < record.effects.count && !forged; i++)
            if (record.effects.list[i].kind >= OBB_EFFECT_PUT &&
                (record.effects.list[i].parts & OBB_PUT_CENTER) != 0) {
                ((obb_effect *)(uintptr_t)record.effects.list)[i].box.center.x += 0.5;
                forged = true;
            }
        wire_record_write(&record, 3, out);
    }
    obb_arena_fini(&arena);
    return forged;
}

static bool strikes(unsigned one_in) { return one_in != 0 && test_below(&rng, one_in) == 0; }

static void reach_log(const struct message *m)
{
    if (the_log.count == the_log.room) {
        the_log.room = the_log.room == 0 ? 1024 : 2 * the_log.room;
        the_log.messages = realloc(the_log.messages, the_log.room * sizeof *the_log.messages);
        ck_assert_ptr_nonnull(the_log.messages);
    }
    struct message *copy = &the_log.messages[the_log.count++];
    the_log.slices += wire_slice_is((obb_str){.bytes = m->bytes, .length = m->length});
    *copy = *m;
    copy->bytes = malloc(m->length);
    memcpy(copy->bytes, m->bytes, m->length);
}

/* ---- Pieces beside the log ------------------------------------------------------------------- */

static bool with_snapshots; /* else nodes write none, and live as long as the log */
static bool with_sleep;     /* scenes that others make are not held at first, and go now and then */

static struct {
    struct kept {
        char key[96];
        char *bytes; /* owned */
        size_t length;
    } kept[KEPT];
    size_t count, purges, missed;
} beside;

/* What a node asks of the store beside the log, or the removal of messages. */
struct call {
    enum { PUT, GET, DROP, PURGE } kind;
    char key[96]; /* or the name of a scene */
    char *bytes;  /* owned; of PUT */
    size_t length;
    uint64_t tag, seq;
};

static struct kept *find_kept(const char *key)
{
    for (size_t i = 0; i < beside.count; i++)
        if (strcmp(beside.kept[i].key, key) == 0)
            return &beside.kept[i];
    return NULL;
}

static void keep(struct call *call)
{
    struct kept *kept = find_kept(call->key);
    if (kept == NULL) {
        ck_assert_uint_lt(beside.count, KEPT);
        kept = &beside.kept[beside.count++];
        memcpy(kept->key, call->key, sizeof kept->key);
        kept->bytes = NULL;
    }
    free(kept->bytes);
    kept->bytes = call->bytes;
    kept->length = call->length;
    call->bytes = NULL;
}

static void drop_kept(const char *set)
{
    const size_t length = strlen(set);
    for (size_t i = beside.count; i-- > 0;)
        if (strncmp(beside.kept[i].key, set, length) == 0 && beside.kept[i].key[length] == '.') {
            free(beside.kept[i].bytes);
            beside.kept[i] = beside.kept[--beside.count];
        }
}

static void purge_log(const char *name, uint64_t seq)
{
    ck_assert_uint_le(seq, the_log.count); /* the last message stays */
    for (size_t i = 0; i + 1 < seq; i++)
        if (strcmp(the_log.messages[i].name, name) == 0) {
            beside.purges += !the_log.messages[i].is_purged;
            the_log.messages[i].is_purged = true;
        }
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct flight {
    struct message message; /* its bytes are owned */
    uint64_t tag;
    bool arrived;
};

static struct obb_budget budget; /* it is full */

static struct node {
    struct srv_stream stream; /* first */
    struct srv_stream_calls calls;
    struct flight flights[FLIGHTS];
    size_t flying, at;
    bool away, began;
    struct call asked[CALLS];
    size_t asking;
    struct aside { /* what is read beside the log */
        char name[16];
        uint64_t tag; /* 0: none */
        size_t at;
    } asides[ASIDES];
    size_t end; /* of the log when the node began */
    bool told_end;
    bool retires;    /* it takes no op any more */
    bool is_stuck;   /* until a message is purged that it has not read */
    size_t spared;   /* the place of the last message that reached it otherwise: it comes once so */
    char struck[16]; /* the scene that is damaged in memory here; "": none */
    uint64_t of_epoch; /* likewise */

    struct obb_store *store;
    struct srv_drain drain;
    struct srv_locks locks;
    struct srv_snapshots snapshots;
    struct srv_writer writer;
    struct srv_follower follower;
    struct srv_journal *journal;
    bool caught_up;
    size_t events, removals;
    struct srv_wake_wait wakes[SCENES];
} nodes[NODES];

static struct node *node_of(struct srv_stream *stream) { return (struct node *)stream; }

static bool stream_begin(struct srv_stream *stream, const struct srv_stream_calls *calls)
{
    node_of(stream)->calls = *calls;
    node_of(stream)->began = true;
    return true;
}

static bool stream_append(struct srv_stream *stream, obb_str name, uint64_t tag, obb_str bytes)
{
    struct node *n = node_of(stream);
    if (n->flying == FLIGHTS || n->away)
        return false;
    struct flight *f = &n->flights[n->flying++];
    *f = (struct flight){.tag = tag};
    memcpy(f->message.name, name.bytes, name.length);
    f->message.bytes = malloc(bytes.length);
    memcpy(f->message.bytes, bytes.bytes, bytes.length);
    f->message.length = bytes.length;
    return true;
}

static bool ask(struct srv_stream *stream, struct call call, obb_str key)
{
    struct node *n = node_of(stream);
    if (n->away || n->asking == CALLS) {
        free(call.bytes);
        return false;
    }
    (void)snprintf(call.key, sizeof call.key, "%.*s", (int)key.length, key.bytes);
    n->asked[n->asking++] = call;
    return true;
}

static bool stream_put(struct srv_stream *stream, obb_str key, uint64_t tag, obb_str bytes)
{
    char *copy = malloc(bytes.length);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes.bytes, bytes.length);
    return ask(stream,
               (struct call){.kind = PUT, .bytes = copy, .length = bytes.length, .tag = tag}, key);
}

static bool stream_get(struct srv_stream *stream, obb_str key, uint64_t tag)
{
    return ask(stream, (struct call){.kind = GET, .tag = tag}, key);
}

static bool stream_removes(struct srv_stream *stream)
{
    (void)stream;
    return true;
}

static bool stream_drop(struct srv_stream *stream, obb_str set, uint64_t tag)
{
    return ask(stream, (struct call){.kind = DROP, .tag = tag}, set);
}

static bool stream_purge(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    return ask(stream, (struct call){.kind = PURGE, .tag = tag, .seq = seq}, name);
}

static void stream_rewind(struct srv_stream *stream, uint64_t seq)
{
    ck_assert_uint_le(seq, node_of(stream)->at);
    node_of(stream)->at = (size_t)seq - 1;
}

static bool stream_read(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    struct node *n = node_of(stream);
    for (size_t i = 0; i < ASIDES && !n->away; i++)
        if (n->asides[i].tag == 0) {
            n->asides[i] = (struct aside){.tag = tag, .at = (size_t)seq - 1};
            memcpy(n->asides[i].name, name.bytes, name.length);
            return true;
        }
    return false;
}

static void stream_unread(struct srv_stream *stream, uint64_t tag)
{
    struct node *n = node_of(stream);
    for (size_t i = 0; i < ASIDES; i++)
        if (n->asides[i].tag == tag)
            n->asides[i].tag = 0;
}

/* Delivers a message beside the log, or stops without a word. */
static void read_aside(struct node *n)
{
    struct aside *a = &n->asides[test_below(&rng, ASIDES)];
    if (a->tag == 0 || n->away)
        return;
    if (test_below(&rng, 200) == 0) {
        a->tag = 0;
        return;
    }
    while (a->at < the_log.count && (the_log.messages[a->at].is_purged ||
                                     strcmp(the_log.messages[a->at].name, a->name) != 0))
        a->at++;
    if (a->at == the_log.count)
        return;
    const struct message m = the_log.messages[a->at++];
    n->calls.read(n->calls.context, a->tag, a->at, (obb_str){.bytes = m.bytes, .length = m.length});
}

/* Does something that a node has asked for. The node hears of it, or not. */
static void answer_call(struct node *n)
{
    if (n->asking == 0)
        return;
    const size_t i = test_below(&rng, n->asking), fate = test_below(&rng, 30);
    struct call call = n->asked[i];
    n->asked[i] = n->asked[--n->asking];
    if (call.kind == GET) {
        const struct kept *kept = find_kept(call.key);
        beside.missed += kept == NULL;
        if (kept == NULL || fate == 0)
            n->calls.got(n->calls.context, call.tag, SRV_STREAM_MISSING, obb_str_of(""));
        else
            n->calls.got(n->calls.context, call.tag, SRV_STREAM_FOUND,
                         (obb_str){.bytes = kept->bytes, .length = kept->length});
        return;
    }
    if (fate > 0 && call.kind == PUT)
        keep(&call);
    else if (fate > 0 && call.kind == DROP)
        drop_kept(call.key);
    else if (fate > 0 && call.kind == PURGE)
        purge_log(call.key, call.seq);
    free(call.bytes);
    if (fate > 1)
        n->calls.appended(n->calls.context, call.tag, fate > 2);
}

static void stream_resume(struct srv_stream *stream) { (void)stream; }

static bool stream_connected(struct srv_stream *stream) { return !node_of(stream)->away; }

static uint64_t stream_lag_ms(struct srv_stream *stream)
{
    (void)stream;
    return 0;
}

static void stream_close(struct srv_stream *stream)
{
    struct node *n = node_of(stream);
    while (n->flying > 0)
        free(n->flights[--n->flying].message.bytes);
    while (n->asking > 0)
        free(n->asked[--n->asking].bytes);
}

/* Something happens to a message under way: it reaches the log or not, its sender hears or not. */
static void move_flight(struct node *n)
{
    if (n->flying == 0)
        return;
    const size_t i = test_below(&rng, n->flying), fate = test_below(&rng, 20);
    struct flight f = n->flights[i];
    if (!f.arrived && fate == 0) {
        the_log.lost++;
    } else if (!f.arrived) {
        reach_log(&f.message);
        n->flights[i].arrived = true;
        the_log.repeated += fate == 1;
        if (fate == 1) /* will come once more */
            n->flights[i].arrived = false;
        return;
    }
    n->flights[i] = n->flights[--n->flying];
    free(f.message.bytes);
    the_log.unheard += fate == 2;
    if (fate != 2)
        n->calls.appended(n->calls.context, f.tag, f.arrived && fate != 3);
}

/* Messages behind the place of a node. */
static size_t left_for(const struct node *n)
{
    size_t left = the_log.count - n->at;
    for (size_t i = n->at; with_snapshots && i < the_log.count; i++)
        left -= the_log.messages[i].is_purged;
    return left;
}

static void deliver(struct node *n)
{
    while (n->at < the_log.count && the_log.messages[n->at].is_purged)
        n->at++;
    if (n->at >= n->end && !n->told_end) {
        n->told_end = true;
        n->calls.caught_up(n->calls.context);
    }
    if (n->at == the_log.count || !n->calls.wants(n->calls.context))
        return;
    const struct message m = the_log.messages[n->at++];
    struct wire_buf forged = {0};
    obb_str bytes = {.bytes = m.bytes, .length = m.length};
    if (n->caught_up && n->at > n->spared && strikes(damage.on_way) && forge(&m, &forged)) {
        bytes = (obb_str){.bytes = forged.bytes, .length = forged.length};
        n->spared = n->at;
        damage.delivered++;
    }
    n->calls.delivered(n->calls.context, obb_str_of(m.name), n->at, left_for(n), bytes);
    wire_buf_fini(&forged);
}

static void foreign(void *context, const srv_foreign *record)
{
    srv_follow(&((struct node *)context)->follower, record);
}

static void on_caught_up(void *context) { ((struct node *)context)->caught_up = true; }

static bool may_sleep(void *context, obb_str name)
{
    return obb_store_find(((struct node *)context)->store, name) == NULL;
}

static void on_lost(void *context, const char *why)
{
    (void)context;
    ck_abort_msg("%s", why);
}

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    (void)op;
    (void)scene;
    ((struct node *)context)->events += committed->changed;
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    (void)op;
    (void)scene;
    ((struct node *)context)->removals++;
}

static wire_record_id new_id(void *context)
{
    return srv_tails_new_id(&((struct node *)context)->writer.tails);
}

static void on_snapshot(void *context, obb_str name, const wire_record *record)
{
    struct node *n = context;
    const struct obb_scene *scene = obb_store_find(n->store, name);
    struct srv_tail *tail = scene != NULL ? srv_tail_of(scene) : NULL;
    if (tail != NULL)
        srv_snapshot_told(&n->snapshots, srv_tail_journaled(tail), record->base_id);
}

/* No snapshot may be damaged. One that was removed meanwhile is passed over, and so is what is left
 * of the messages behind it, or what does not come within a few milliseconds. */
static void on_warning(void *context, obb_str name, bool again, const char *why)
{
    struct node *n = context;
    ck_assert_msg(
        again || strstr(why, "are not there") != NULL || damage.in_memory != 0 ||
            (damage.on_way != 0 && strstr(why, "has another hash") != NULL) ||
            ((with_sleep || damage.on_way != 0) && (strstr(why, "were purged meanwhile") != NULL ||
                                                    strstr(why, "nothing is heard") != NULL)),
        "%.*s: %s", (int)name.length, name.bytes, why);
    if (again && obb_str_equal(name, obb_str_of(n->struck))) {
        n->struck[0] = '\0';
        damage.found++;
    }
}

static uint64_t writers[WRITERS]; /* of all nodes that were ever begun */
static size_t writer_count;

static void begin_node(struct node *n)
{
    *n = (struct node){.stream = {.begin = stream_begin,
                                  .append = stream_append,
                                  .resume = stream_resume,
                                  .put = stream_put,
                                  .get = stream_get,
                                  .removes = stream_removes,
                                  .drop = stream_drop,
                                  .purge = stream_purge,
                                  .rewind = stream_rewind,
                                  .read = stream_read,
                                  .unread = stream_unread,
                                  .connected = stream_connected,
                                  .lag_ms = stream_lag_ms,
                                  .close = stream_close},
                       .end = the_log.count};
    ck_assert_int_eq(obb_store_create(SCENES, 100000, NULL, &n->store), OBB_OK);
    n->locks = (struct srv_locks){.pool = pool, .drain = &n->drain};
    n->writer = (struct srv_writer){
        .store = n->store, .locks = &n->locks, .pool = pool, .drain = &n->drain};
    n->follower = (struct srv_follower){
        .writer = &n->writer, .loop = loop, .drain = &n->drain, .lost = on_lost};
    ck_assert(srv_follower_init(&n->follower));
    /* Messages that are sent again because the machine is slow would make it slower still: the log
     * would grow faster than it is read. */
    const uint64_t patience_ms = (uint64_t)test_timeout(2.5);
    const srv_shared_options options = {.loop = loop,
                                        .stream = &n->stream,
                                        .budget = &budget,
                                        .patience_ms = patience_ms,
                                        .message_bytes = 4000, /* large ops go in slices */
                                        .writer = test_random(&rng),
                                        .keep_ms = 3,
                                        .foreign = foreign,
                                        .snapshot = on_snapshot,
                                        .may_sleep = with_sleep ? may_sleep : NULL,
                                        .warn = on_warning,
                                        .caught_up = on_caught_up,
                                        .lost = on_lost,
                                        .context = n};
    ck_assert(srv_shared_create(&options, &n->journal));
    n->follower.journal = n->journal;
    n->snapshots = (struct srv_snapshots){.journal = n->journal,
                                          .pool = pool,
                                          .locks = &n->locks,
                                          .drain = &n->drain,
                                          .remember = srv_durable_remember,
                                          .new_id = new_id,
                                          .context = n,
                                          .least = with_snapshots ? 20000 : UINT64_MAX};
    ck_assert_uint_lt(writer_count, WRITERS);
    writers[writer_count++] = options.writer;
    n->writer.tails = (struct srv_tails){.journal = n->journal,
                                         .snapshots = &n->snapshots,
                                         .locks = &n->locks,
                                         .drain = &n->drain,
                                         .writer = options.writer,
                                         .hashes = true};
    srv_writer_listen(
        &n->writer,
        (srv_write_listener){.on_commit = on_commit, .on_remove = on_remove, .context = n});
}

static void end_node(struct node *n)
{
    srv_follower_stop(&n->follower);
    srv_snapshots_stop(&n->snapshots);
    n->away = false;
    while (!srv_drain_empty(&n->drain)) {
        answer_call(n);
        move_flight(n);
        srv_loop_step(loop, 1);
    }
    srv_journal_destroy(n->journal);
    srv_follower_fini(&n->follower);
    srv_writer_fini(&n->writer);
    obb_store_destroy(n->store);
}

/* ---- Ops ------------------------------------------------------------------------------------- */

static const char *const scene_names[SCENES] = {"a", "b", "c"};
static char box_names[LARGE][16];

struct slot {
    struct srv_write write; /* first */
    struct node *node;
    struct obb_arena arena;
    obb_edit edit;
    obb_put *puts; /* owned */
    obb_pose pose;
    obb_target remove;
    char condition[24], id[16];
    size_t number; /* of the op */
    bool busy;
};

static struct slot slots[SLOTS];

/* What its client was told of each op with an id. */
struct told {
    bool good, unknown;
    uint64_t revision;
};
static struct told *told; /* owned */
static size_t op_count, op_room;
static struct counts {
    size_t good, refused, journal, removed, made, configured, large, conditions, unknown;
} counts;

static void on_done(struct srv_write *w)
{
    struct slot *slot = (struct slot *)w;
    slot->busy = false;
    const bool good = w->status == OBB_OK && w->refused_by == SRV_REFUSED_BY_NONE;
    counts.good += good;
    counts.journal += w->refused_by == SRV_REFUSED_BY_JOURNAL;
    counts.refused += !good;
    counts.removed += good && w->op.kind == SRV_OP_REMOVE;
    counts.configured += good && w->op.kind == SRV_OP_CONFIGURE;
    counts.made += good && w->made_scene;
    counts.conditions += good && w->op.if_match != NULL;
    ck_assert(!w->repeated);
    const bool unknown =
        w->refused_by == SRV_REFUSED_BY_JOURNAL && w->journal == SRV_JOURNAL_UNKNOWN;
    counts.unknown += unknown;
    /* only where a scene was loaded again */
    ck_assert(!unknown || atomic_load(&srv_journal_figures(slot->node->journal)->differed) > 0);
    told[slot->number] =
        (struct told){.good = good, .unknown = unknown, .revision = w->committed.moment.revision};
    if (good && w->op.kind != SRV_OP_REMOVE) { /* whoever was answered sees it here */
        obb_scene_info info;
        obb_scene_info_without_bounds(w->scene, &info);
        ck_assert_uint_ge(info.now.revision, w->committed.moment.revision);
    }
}

static void make_puts(struct slot *slot, size_t count)
{
    slot->puts = calloc(count, sizeof *slot->puts);
    const size_t first = test_below(&rng, 20);
    for (size_t i = 0; i < count; i++) {
        slot->puts[i] = (obb_put){.target = {.name = obb_str_of(box_names[(first + i) % LARGE])},
                                  .parts = OBB_PUT_ALL,
                                  .attributes = {.category = 1, .mask = 1}};
        ck_assert_int_eq(obb_box_from_pose((obb_vec3){test_uniform(&rng, -9, 9), 1, 2},
                                           (obb_vec3){1, 1, 1}, (obb_quat){0, 0, 0, 1}, 0, 3,
                                           &slot->puts[i].box),
                         OBB_OK);
    }
    slot->edit.puts = slot->puts;
    slot->edit.put_count = count;
}

static void start_op(struct slot *slot, struct node *n)
{
    const obb_str name = obb_str_of(scene_names[test_below(&rng, SCENES)]);
    obb_arena_fini(&slot->arena);
    obb_arena_init(&slot->arena);
    free(slot->puts);
    slot->puts = NULL;
    slot->node = n;
    slot->number = op_count++;
    if (op_count > op_room) {
        op_room = op_room == 0 ? 4096 : 2 * op_room;
        told = realloc(told, op_room * sizeof *told);
        ck_assert_ptr_nonnull(told);
    }
    (void)snprintf(slot->id, sizeof slot->id, "%zu", slot->number);
    srv_op op = {.kind = SRV_OP_EDIT,
                 .scene = name,
                 .edit = &slot->edit,
                 .sent_id = obb_str_of(slot->id),
                 .id = obb_str_of(slot->id)};
    op.settings = (obb_settings){.dimensions = 3, .history_span = 1e3, .history_commits = 8};
    slot->edit = (obb_edit){.dimensions = 3};
    switch (test_below(&rng, 30)) {
    case 0:
        op.kind = SRV_OP_CREATE;
        op.edit = NULL;
        op.id = op.sent_id = (obb_str){NULL, 0};
        break;
    case 1:
        op.kind = SRV_OP_CONFIGURE;
        op.settings.history_commits = (uint32_t)(5 + test_below(&rng, 5));
        op.edit = NULL;
        op.id = op.sent_id = (obb_str){NULL, 0};
        break;
    case 2:
        if (test_below(&rng, 4) == 0) {
            op.kind = SRV_OP_REMOVE;
            op.edit = NULL;
            op.id = op.sent_id = (obb_str){NULL, 0};
        } else { /* on the pool */
            make_puts(slot, LARGE);
            slot->edit.replace_all = test_below(&rng, 2) == 0;
            counts.large++;
        }
        break;
    case 3:
    case 4:
        slot->remove = (obb_target){.name = obb_str_of(box_names[test_below(&rng, 20)])};
        slot->edit.removes = &slot->remove;
        slot->edit.remove_count = 1;
        slot->edit.remove_must_exist = true;
        break;
    case 5: { /* on the state that its client has seen here */
        const struct obb_scene *scene = obb_store_find(n->store, name);
        obb_scene_info info = {0};
        if (scene != NULL)
            srv_scene_info(&n->locks, scene, &info, NULL);
        (void)snprintf(slot->condition, sizeof slot->condition, "\"%llu\"",
                       (unsigned long long)info.now.revision);
        op.if_match = slot->condition;
        make_puts(slot, 1);
        break;
    }
    case 6: /* changes nothing */
        break;
    case 7:
        slot->pose = (obb_pose){.target = {.name = obb_str_of(box_names[test_below(&rng, 20)])},
                                .center = {test_uniform(&rng, -9, 9), 0, 0},
                                .has_center = true};
        slot->edit.poses = &slot->pose;
        slot->edit.pose_count = 1;
        break;
    default:
        make_puts(slot, 1 + test_below(&rng, 5));
        break;
    }
    slot->write = (struct srv_write){.op = op, .arena = &slot->arena, .done = on_done};
    slot->busy = true;
    srv_write(&n->writer, &slot->write);
}

/* ---- What the log says ----------------------------------------------------------------------- */

/* The scenes of the log, made by a plain reading of it. */
static struct model {
    struct obb_scene *scene;
    wire_record_id newest;
    uint64_t epoch;
} model[SCENES];

static size_t model_at, model_counts, model_void, model_whole;
static unsigned char *counted; /* owned: of each op with an id: how often it counts */
static uint64_t *counted_revision;

/* The slices of records that are under way, by writer. */
static struct assembled {
    wire_record_id id;
    uint64_t slices;
    struct wire_buf bytes;
} assembled[SCENES][WRITERS];

static void read_record(size_t s, obb_str bytes);

/* A record in slices counts if it follows the newest one when each of its slices is read. */
static void read_slice(size_t s, obb_str bytes)
{
    wire_slice slice;
    ck_assert_int_eq(wire_slice_read(bytes, &slice), OBB_OK);
    size_t n = 0;
    while (writers[n] != slice.id.writer)
        ck_assert_uint_lt(++n, writer_count);
    struct assembled *a = &assembled[s][n];
    if (slice.base.writer != model[s].newest.writer ||
        slice.base.counter != model[s].newest.counter ||
        (slice.kind == WIRE_RECORD_MADE) != (model[s].scene == NULL))
        return;
    if (!wire_record_id_equal(a->id, slice.id)) {
        a->id = slice.id;
        a->slices = a->bytes.length = 0;
    }
    if (slice.number != a->slices)
        return;
    a->slices++;
    wire_buf_append(&a->bytes, slice.bytes.bytes, slice.bytes.length);
    if (a->slices == slice.count)
        read_record(s, (obb_str){.bytes = a->bytes.bytes, .length = a->bytes.length});
}

static void read_record(size_t s, obb_str bytes)
{
    if (wire_slice_is(bytes)) {
        read_slice(s, bytes);
        return;
    }
    struct obb_arena arena;
    obb_arena_init(&arena);
    wire_record record;
    ck_assert_int_eq(wire_record_read(bytes, &arena, &record), OBB_OK);
    struct model *m = &model[s];
    if (record.kind == WIRE_RECORD_WHOLE) {
        model_whole++;
        obb_arena_fini(&arena);
        return;
    }
    const bool counts_here = record.base.writer == m->newest.writer &&
                             record.base.counter == m->newest.counter &&
                             (record.kind == WIRE_RECORD_MADE) == (m->scene == NULL);
    model_counts += counts_here;
    model_void += !counts_here;
    if (counts_here) {
        m->newest = record.id;
        if (record.kind == WIRE_RECORD_MADE) {
            ck_assert_int_eq(
                obb_scene_create(record.name, &record.effects.settings, 0, NULL, &m->scene),
                OBB_OK);
            m->epoch = record.epoch;
        }
        ck_assert_uint_eq(record.epoch, m->epoch);
        if (record.kind == WIRE_RECORD_GONE) {
            obb_scene_destroy(m->scene);
            m->scene = NULL;
        } else if (record.effects.appends || record.effects.time_stated) {
            struct obb_prepared *prepared;
            obb_committed committed;
            record.effects.has_settings &= record.kind != WIRE_RECORD_MADE;
            ck_assert_int_eq(
                obb_effects_prepare(m->scene, &record.effects, false, &arena, &prepared), OBB_OK);
            obb_edit_commit(prepared, &committed);
        }
        if (record.kind != WIRE_RECORD_GONE) {
            obb_scene_info info;
            obb_scene_info_without_bounds(m->scene, &info);
            ck_assert(record.has_boxes && record.boxes == info.boxes);
        }
        if (record.commit_id.length > 0) {
            size_t number = 0;
            for (size_t i = 0; i < record.commit_id.length; i++)
                number = 10 * number + (size_t)(record.commit_id.bytes[i] - '0');
            ck_assert_uint_lt(number, op_count);
            counted[number]++;
            counted_revision[number] = record.effects.moment.revision;
        }
    }
    obb_arena_fini(&arena);
}

static void read_log(void)
{
    counted = realloc(counted, op_count);
    counted_revision = realloc(counted_revision, op_count * sizeof *counted_revision);
    static size_t known;
    if (model_at == 0)
        known = 0;
    memset(counted + known, 0, op_count - known);
    known = op_count;
    for (; model_at < the_log.count; model_at++) {
        const struct message *m = &the_log.messages[model_at];
        obb_str rest = {.bytes = m->bytes, .length = m->length}, one;
        while (rest.length > 0) {
            ck_assert(wire_record_next(&rest, &one));
            read_record((size_t)(m->name[0] - 'a'), one);
        }
    }
}

static bool any_busy(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].busy)
            return true;
    return false;
}

static void pump(void)
{
    struct node *n = &nodes[test_below(&rng, NODES)];
    if (test_below(&rng, 2) == 0)
        move_flight(n);
    for (size_t i = test_below(&rng, 6); i > 0; i--)
        answer_call(n);
    for (size_t i = test_below(&rng, 30); i > 0; i--)
        read_aside(n);
    if (n->is_stuck) {
        srv_loop_step(loop, 0);
        return;
    }
    for (size_t i = test_below(&rng, 6); i > 0; i--)
        deliver(n);
    n->calls.rest(n->calls.context);
    srv_loop_step(loop, 0);
}

/* Returns whether the node has judged, and applied, what counts in the log. */
static bool has_followed(const struct node *n)
{
    for (size_t s = 0; s < SCENES; s++) {
        const obb_str name = obb_str_of(scene_names[s]);
        if (model[s].scene == NULL
                ? obb_store_find(n->store, name) != NULL
                : !wire_record_id_equal(srv_journal_newest(n->journal, name), model[s].newest))
            return false;
    }
    return srv_drain_empty(&n->drain);
}

static size_t facts_compared;

static bool is_equal(const struct node *n, size_t s)
{
    srv_asleep asleep;
    if (srv_journal_asleep(n->journal, obb_str_of(scene_names[s]), &asleep)) {
        obb_scene_info info;
        if (model[s].scene == NULL)
            return false;
        obb_scene_info_without_bounds(model[s].scene, &info);
        facts_compared++;
        return asleep.epoch == model[s].epoch && asleep.revision == info.now.revision &&
               asleep.knows_boxes && asleep.boxes == info.boxes;
    }
    struct obb_scene *scene = obb_store_find(n->store, obb_str_of(scene_names[s]));
    if (scene == NULL || model[s].scene == NULL)
        return scene == NULL && model[s].scene == NULL;
    return obb_scene_epoch(scene) == model[s].epoch &&
           obb_scene_hash(scene) == obb_scene_hash(model[s].scene);
}

/* A node that differs goes on to load what it lacks. */
static bool all_equal(void)
{
    for (size_t i = 0; i < NODES; i++)
        for (size_t s = 0; s < SCENES; s++)
            if (!is_equal(&nodes[i], s))
                return false;
    return true;
}

static bool lacks_purged(const struct node *n)
{
    for (size_t i = n->at; i < the_log.count; i++)
        if (the_log.messages[i].is_purged)
            return true;
    return false;
}

static void on_woken(struct srv_wake_wait *wait, bool good)
{
    (void)good;
    wait->done = NULL;
}

/* Somebody asks for a scene. */
static void want(struct node *n, size_t s)
{
    if (n->wakes[s].done != NULL)
        return;
    n->wakes[s] = (struct srv_wake_wait){.done = on_woken};
    if (!srv_journal_wake(n->journal, obb_str_of(scene_names[s]), &n->wakes[s]))
        n->wakes[s].done = NULL;
}

/* Nobody has asked for a scene for long. */
static void let_sleep(struct node *n, size_t s)
{
    struct obb_scene *scene = obb_store_find(n->store, obb_str_of(scene_names[s]));
    if (scene != NULL && srv_writer_at_rest(&n->writer, scene) &&
        srv_shared_sleep(n->journal, obb_str_of(scene_names[s])))
        srv_writer_let_sleep(&n->writer, scene);
}

static void sleep_or_wake(void)
{
    struct node *n = &nodes[test_below(&rng, NODES)];
    const size_t s = test_below(&rng, SCENES);
    if (test_below(&rng, 2) == 0)
        let_sleep(n, s);
    else
        want(n, s);
}

/* Wakes all, and returns whether none sleeps. */
static bool all_awake(void)
{
    bool awake = true;
    for (size_t i = 0; i < NODES; i++)
        for (size_t s = 0; s < SCENES; s++)
            if (srv_journal_asleep(nodes[i].journal, obb_str_of(scene_names[s]), NULL)) {
                ck_assert(is_equal(&nodes[i], s));
                want(&nodes[i], s);
                awake = false;
            } else if (nodes[i].wakes[s].done != NULL) {
                awake = false;
            }
    return awake;
}

/* Lets everybody come to rest, and compares all with the log. A node judges a part of what it was
 * sent in each turn of the loop. */
static void compare(void)
{
    for (bool rest = false; !rest;) {
        rest = !any_busy();
        for (size_t i = 0; i < NODES; i++) {
            nodes[i].away = nodes[i].is_stuck = false;
            while (nodes[i].flying > 0)
                move_flight(&nodes[i]);
            while (nodes[i].asking > 0)
                answer_call(&nodes[i]);
            for (int k = 0; k < 100; k++)
                read_aside(&nodes[i]);
            do
                deliver(&nodes[i]);
            while (nodes[i].at < the_log.count);
            nodes[i].calls.rest(nodes[i].calls.context);
            srv_loop_step(loop, rest && !with_snapshots && !with_sleep ? 0 : 1);
        }
        if (!rest)
            continue;
        read_log();
        for (size_t i = 0; i < NODES; i++)
            rest = rest && nodes[i].at == the_log.count && nodes[i].flying == 0 &&
                   nodes[i].asking == 0 && nodes[i].caught_up && has_followed(&nodes[i]);
        rest = rest && (!with_snapshots || all_equal()) && all_awake();
    }
    for (size_t i = 0; i < NODES; i++)
        for (size_t s = 0; s < SCENES; s++) {
            struct obb_scene *scene = obb_store_find(nodes[i].store, obb_str_of(scene_names[s]));
            ck_assert((scene != NULL) == (model[s].scene != NULL));
            if (scene == NULL)
                continue;
            ck_assert_uint_eq(obb_scene_epoch(scene), model[s].epoch);
            ck_assert_uint_eq(obb_scene_hash(scene), obb_scene_hash(model[s].scene));
        }
    for (size_t i = 0; i < op_count; i++)
        if (counted[i] > 0 || told[i].good) {
            ck_assert_uint_le(counted[i], 1);
            /* ops without an id, and those that changed nothing, are only told of */
            ck_assert(counted[i] == 0 || told[i].good || told[i].unknown);
            if (counted[i] == 1 && told[i].good)
                ck_assert_uint_eq(counted_revision[i], told[i].revision);
        }
}

static void begin_all(uint64_t seed)
{
    rng = (test_rng){seed};
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 2, 64, NULL, &pool));
    the_log.count = model_at = op_count = writer_count = 0;
    beside.count = beside.purges = beside.missed = 0;
    for (size_t i = 0; i < LARGE; i++)
        (void)snprintf(box_names[i], sizeof box_names[i], "b%zu", i);
    for (size_t i = 0; i < SLOTS; i++)
        obb_arena_init(&slots[i].arena);
    for (size_t i = 0; i < NODES; i++)
        begin_node(&nodes[i]);
}

static void end_all(void)
{
    for (size_t i = 0; i < NODES; i++)
        end_node(&nodes[i]);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
    for (size_t i = 0; i < SLOTS; i++) {
        obb_arena_fini(&slots[i].arena);
        free(slots[i].puts);
        slots[i].puts = NULL;
    }
    for (size_t s = 0; s < SCENES; s++) {
        obb_scene_destroy(model[s].scene);
        model[s] = (struct model){.scene = NULL};
        for (size_t i = 0; i < WRITERS; i++) {
            wire_buf_fini(&assembled[s][i].bytes);
            assembled[s][i] = (struct assembled){.slices = 0};
        }
    }
    while (beside.count > 0)
        free(beside.kept[--beside.count].bytes);
    for (size_t i = 0; i < the_log.count; i++)
        free(the_log.messages[i].bytes);
    free(the_log.messages);
    the_log.messages = NULL;
    the_log.room = 0;
    free(told);
    free(counted);
    free(counted_revision);
    told = NULL;
    counted = NULL;
    counted_revision = NULL;
    op_room = 0;
}

static struct sleeps {
    uint64_t sleeps, wakes, failures;
} ended; /* of nodes that have ended */

static struct sleeps sleeps_so_far(void)
{
    struct sleeps sum = ended;
    for (size_t i = 0; i < NODES; i++) {
        const struct srv_journal_figures *f = srv_journal_figures(nodes[i].journal);
        sum.sleeps += atomic_load(&f->sleeps);
        sum.wakes += atomic_load(&f->wakes);
        sum.failures += atomic_load(&f->wake_failures);
    }
    return sum;
}

static void print_sleeps(void)
{
    const struct sleeps sum = sleeps_so_far();
    if (with_sleep)
        printf("%llu times a scene went to sleep, %llu times one was woken, %llu tries failed, %zu "
               "comparisons of one that slept\n",
               (unsigned long long)sum.sleeps, (unsigned long long)sum.wakes,
               (unsigned long long)sum.failures, facts_compared);
}

static uint64_t conflicts(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < NODES; i++)
        sum += atomic_load(&srv_journal_figures(nodes[i].journal)->conflicts);
    return sum;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Returns whether everything was seen often enough. Void records are counted when all is
 * compared. */
static bool enough(void)
{
    return model_void > 300 &&
           (!with_sleep || (sleeps_so_far().sleeps >= 500 && sleeps_so_far().wakes >= 500)) &&
           counts.good >= 2000 && counts.refused >= 100 && counts.journal >= 10 &&
           counts.removed >= 5 && counts.made >= 5 && counts.conditions >= 20 &&
           counts.configured >= 20 && counts.large >= 30 && conflicts() >= 300 &&
           the_log.slices >= 200 && the_log.lost >= 20 && the_log.repeated >= 20 &&
           the_log.unheard >= 20;
}

static void run_services(uint64_t seed)
{
    begin_all(seed);
    counts = (struct counts){0};
    model_counts = model_void = 0;
    the_log.slices = the_log.lost = the_log.repeated = the_log.unheard = 0;
    while (!enough()) {
        struct slot *slot = &slots[test_below(&rng, SLOTS)];
        struct node *n = &nodes[test_below(&rng, NODES)];
        if (!slot->busy)
            start_op(slot, &nodes[test_below(&rng, NODES)]);
        n->away = test_below(&rng, n->away ? 30 : 1000) == 0 ? !n->away : n->away;
        if (with_sleep && test_below(&rng, 10) == 0)
            sleep_or_wake();
        pump();
        if (test_below(&rng, 1000) == 0)
            compare();
    }
    compare();
    printf(
        "%zu ops: %zu good, %zu refused, %zu of them by the journal; %zu scenes made, %zu "
        "removed, %zu settings, %zu large, %zu with a condition; %zu records count, %zu are "
        "void, %llu conflicts; %zu messages, %zu slices, %zu lost, %zu repeated, %zu unheard of\n",
        op_count, counts.good, counts.refused, counts.journal, counts.made, counts.removed,
        counts.configured, counts.large, counts.conditions, model_counts, model_void,
        (unsigned long long)conflicts(), the_log.count, the_log.slices, the_log.lost,
        the_log.repeated, the_log.unheard);
    print_sleeps();
    for (size_t i = 0; i < NODES && !with_sleep; i++) /* all have told the same */
        ck_assert(nodes[i].events == nodes[0].events && nodes[i].removals == nodes[0].removals);
    end_all();
}

START_TEST(all_services_come_to_what_the_log_says)
{
    with_snapshots = with_sleep = false;
    for (uint64_t seed = 1; seed <= test_effort(2); seed++)
        run_services(seed);
}
END_TEST

static struct figures {
    size_t restarts;
    uint64_t loads, differed, snapshots, passed_over;
} figures;

static void add_figures(const struct node *n)
{
    const struct srv_journal_figures *f = srv_journal_figures(n->journal);
    figures.loads += atomic_load(&f->loads);
    figures.differed += atomic_load(&f->differed);
    figures.snapshots += atomic_load(&f->snapshots);
    figures.passed_over += atomic_load(&f->passed_over);
}

static struct figures figures_so_far(void)
{
    const struct figures before = figures;
    for (size_t i = 0; i < NODES; i++)
        add_figures(&nodes[i]);
    const struct figures sum = figures;
    figures = before;
    return sum;
}

static bool is_idle(const struct node *n)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].busy && slots[i].node == n)
            return false;
    return true;
}

/* Ends a node that takes no op any more, and begins another one in its place. */
static void restart(struct node *n)
{
    n->retires = true;
    if (!is_idle(n))
        return;
    add_figures(n);
    const struct srv_journal_figures *f = srv_journal_figures(n->journal);
    ended.sleeps += atomic_load(&f->sleeps);
    ended.wakes += atomic_load(&f->wakes);
    ended.failures += atomic_load(&f->wake_failures);
    for (size_t s = 0; s < SCENES; s++)
        srv_wake_wait_leave(&n->wakes[s]);
    end_node(n);
    begin_node(n);
    figures.restarts++;
}

static bool enough_snapshots(void)
{
    const struct figures f = figures_so_far();
    if (with_sleep)
        return f.restarts >= 5 && f.loads >= 100 && f.snapshots >= 25 && beside.purges >= 300 &&
               counts.removed >= 2 && sleeps_so_far().sleeps >= 200;
    return f.restarts >= 5 && f.loads >= 15 && f.differed >= 3 && f.snapshots >= 25 &&
           beside.purges >= 300 && counts.removed >= 2;
}

static void run_with_snapshots(uint64_t seed)
{
    begin_all(seed);
    counts = (struct counts){0};
    figures = (struct figures){0};
    model_whole = 0;
    while (!enough_snapshots()) {
        struct slot *slot = &slots[test_below(&rng, SLOTS)];
        struct node *n = &nodes[test_below(&rng, NODES)];
        if (!slot->busy && n->caught_up && !n->retires && !n->is_stuck)
            start_op(slot, n);
        n = &nodes[test_below(&rng, NODES)];
        if (n->retires || (n->caught_up && !n->is_stuck && test_below(&rng, 5000) == 0))
            restart(n);
        if (test_below(&rng, 3000) == 0)
            nodes[0].is_stuck = nodes[0].caught_up && !nodes[0].retires;
        if (nodes[0].is_stuck && lacks_purged(&nodes[0]))
            nodes[0].is_stuck = false;
        if (with_sleep && test_below(&rng, 10) == 0)
            sleep_or_wake();
        pump();
        if (test_below(&rng, 30000) == 0)
            compare();
    }
    compare();
    const struct figures f = figures_so_far();
    printf("%zu ops: %zu good, %zu scenes made, %zu removed; %zu messages, %zu of them purged; "
           "%llu snapshots, %llu loaded, %llu times because messages were purged, %llu passed "
           "over; %zu ops of which nobody knows; %zu nodes, %zu pieces left\n",
           op_count, counts.good, counts.made, counts.removed, the_log.count, beside.purges,
           (unsigned long long)f.snapshots, (unsigned long long)f.loads,
           (unsigned long long)f.differed, (unsigned long long)f.passed_over, counts.unknown,
           writer_count, beside.count);
    print_sleeps();
    end_all();
}

/* Nodes write snapshots, purge what they hold, end, and begin from them; some are so slow that what
 * they have not read is purged. */
START_TEST(services_that_begin_late_or_lag_come_to_what_the_log_says)
{
    with_snapshots = true;
    with_sleep = false;
    for (uint64_t seed = 1; seed <= test_effort(1); seed++)
        run_with_snapshots(seed);
}
END_TEST

START_TEST(scenes_that_sleep_wake_to_what_the_log_says)
{
    with_snapshots = false;
    with_sleep = true;
    ended = (struct sleeps){0};
    for (uint64_t seed = 1; seed <= test_effort(2); seed++)
        run_services(seed);
}
END_TEST

/* Messages are purged while they are read to wake a scene. */
START_TEST(scenes_that_sleep_wake_from_snapshots)
{
    with_snapshots = with_sleep = true;
    for (uint64_t seed = 1; seed <= test_effort(2); seed++) {
        ended = (struct sleeps){0};
        run_with_snapshots(seed);
    }
}
END_TEST

/* Moves a box in the memory of a node, behind the back of the service. */
static void strike(struct node *n)
{
    const char *name = scene_names[test_below(&rng, SCENES)];
    struct obb_scene *scene = obb_store_find(n->store, obb_str_of(name));
    struct obb_view *view;
    if (n->struck[0] != '\0' || !n->caught_up || scene == NULL || srv_tail_of(scene) == NULL ||
        srv_scene_locked(&n->locks, scene) || !srv_tail_empty(srv_tail_of(scene)))
        return;
    ck_assert_int_eq(srv_view_open(&n->locks, scene, NULL, &view, NULL, NULL), OBB_OK);
    const struct obb_version *box = obb_view_next(view, test_below(&rng, 20));
    if (box != NULL) {
        ((struct obb_version *)(uintptr_t)box)->box.center.y += 0.25;
        (void)snprintf(n->struck, sizeof n->struck, "%s", name);
        n->of_epoch = obb_scene_epoch(scene);
        damage.remembered++;
    }
    srv_view_close(&n->locks, view);
}

/* Returns whether a node holds a scene that was struck and is not found out. */
static bool is_struck(struct node *n)
{
    const struct obb_scene *scene =
        n->struck[0] != '\0' ? obb_store_find(n->store, obb_str_of(n->struck)) : NULL;
    if (scene == NULL || obb_scene_epoch(scene) != n->of_epoch) /* it has ended */
        n->struck[0] = '\0';
    return n->struck[0] != '\0';
}

static bool any_struck(void)
{
    bool any = false;
    for (size_t i = 0; i < NODES; i++)
        any = is_struck(&nodes[i]) || any;
    return any;
}

static uint64_t disputed(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < NODES; i++)
        sum += atomic_load(&srv_journal_figures(nodes[i].journal)->disputed);
    return sum;
}

static bool enough_damage(size_t least)
{
    return damage.delivered + damage.found >= least && counts.good >= 1000 &&
           figures_so_far().differed >= least && counts.removed >= 2 &&
           (damage.in_memory == 0 || disputed() > 0);
}

static void run_damaged(uint64_t seed, size_t least)
{
    begin_all(seed);
    counts = (struct counts){0};
    figures = (struct figures){0};
    damage.delivered = damage.remembered = damage.found = 0;
    const unsigned in_memory = damage.in_memory;
    for (bool ends = false; !ends;) {
        struct slot *slot = &slots[test_below(&rng, SLOTS)];
        struct node *n = &nodes[test_below(&rng, NODES)];
        if (!slot->busy)
            start_op(slot, n);
        if (strikes(in_memory))
            strike(&nodes[test_below(&rng, NODES)]);
        pump();
        if (test_below(&rng, 3000) == 0 && !any_struck())
            compare();
        ends = enough_damage(least) && !any_struck();
    }
    compare();
    const struct figures f = figures_so_far();
    printf("%zu ops: %zu good; %zu messages, %zu of them other ones on their way; "
           "%zu boxes moved in memory, %zu of them found; %llu scenes loaded again, %llu records "
           "believed; %zu ops of which nobody knows\n",
           op_count, counts.good, the_log.count, damage.delivered, damage.remembered, damage.found,
           (unsigned long long)f.differed, (unsigned long long)disputed(), counts.unknown);
}

/* One message in a hundred is another one for one node: it loads the scene again, and finds the
 * right one. */
START_TEST(what_is_damaged_on_its_way_is_found_and_mended)
{
    for (int snapshots = 0; snapshots < 2; snapshots++) {
        with_snapshots = snapshots == 1;
        with_sleep = false;
        damage.on_way = 100;
        run_damaged(31, 30);
        ck_assert_uint_ge(damage.delivered, 30);
        ck_assert_uint_eq(disputed(), 0);
        end_all();
    }
    damage.on_way = 0;
}
END_TEST

/* A box stands elsewhere in the memory of a node: the node finds it out when the box changes. */
START_TEST(what_is_damaged_in_memory_is_found_and_mended)
{
    with_snapshots = with_sleep = false;
    damage.in_memory = 300;
    run_damaged(33, 20);
    ck_assert_uint_ge(damage.found, 20);
    end_all();
    damage.in_memory = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("follow");
    TCase *tc = tcase_create("follow");
    TCase *damaged = tcase_create("damaged");
    tcase_set_timeout(tc, test_patience(60));
    tcase_set_timeout(damaged, test_patience(60));
    tcase_add_test(tc, all_services_come_to_what_the_log_says);
    tcase_add_test(tc, services_that_begin_late_or_lag_come_to_what_the_log_says);
    tcase_add_test(tc, scenes_that_sleep_wake_to_what_the_log_says);
    tcase_add_test(tc, scenes_that_sleep_wake_from_snapshots);
    tcase_add_test(damaged, what_is_damaged_on_its_way_is_found_and_mended);
    tcase_add_test(damaged, what_is_damaged_in_memory_is_found_and_mended);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, damaged);
    return test_main(suite);
}
