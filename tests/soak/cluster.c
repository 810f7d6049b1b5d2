/* Two nodes over one log on three servers, for SECONDS (environment; 60 by default), while nodes
 * and servers are killed, stopped for three seconds, and started anew.
 *
 * Six writers set registers, which are boxes, and six readers read all of them. Each writes down
 * what it did, when it began, and when the answer was there. Afterwards the revisions give the
 * order of the writes. The whole is linearizable if that order agrees with the clock, each
 * conditional write found the revision that it named, and each reading holds what its revision
 * makes it hold. Plain readings may lag. They may not go back at one node, nor behind what that
 * node has acknowledged, also when it was started anew. */
#include "tests/soak/history.h"
#include "tests/soak/peer.h"
#include "tests/support/test.h"
#include "tests/support/writers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    NODES = 2,
    WRITERS = 6,
    READERS = 6,
    REGISTERS = 8,
    /* At most. So few commits are made that an id is remembered while its node is stopped. */
    WRITER_RESTS_MS = 30,
    READER_RESTS_MS = 8, /* likewise at most */
    STOPPED_MS = 3000,
    AFTER_EACH_MS = 500,
    STAYS = 100,   /* operations, about, before a client goes to another node */
    PROGRESS = 30, /* commits after each event */
    ROOM = 8192,
    PLANTED = 2000,
    LONGEST = 24 * 3600
};

#define SCENE "/v1/scenes/registers"

enum kind { WRITE, SWAP, REFUSED_SWAP, READ, FRESH, KINDS };

struct operation {
    double start, end;
    uint64_t revision; /* REFUSED_SWAP: the one that was not the newest */
    size_t node;       /* that answered */
    enum kind kind;
    size_t target;              /* of writes: the register */
    uint32_t values[REGISTERS]; /* of writes: the first one */
};

struct client {
    pthread_t thread;
    size_t number;
    struct test_caller caller;
    struct operation *operations;
    size_t count, capacity;
    size_t broken, refused; /* answers */
    /* The newest revision that the node has answered with, to this client. */
    uint64_t known;
    size_t known_at;
};

static struct test_cluster cluster;
static struct client clients[WRITERS + READERS];
static atomic_bool over, has_fresh;
static atomic_size_t acknowledged;

static void note(struct client *c, const struct operation *o)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 4096 : 2 * c->capacity;
        c->operations = realloc(c->operations, c->capacity * sizeof *c->operations);
        ck_assert_ptr_nonnull(c->operations);
    }
    c->operations[c->count++] = *o;
    c->known = o->kind == REFUSED_SWAP ? 0 : o->revision;
    c->known_at = o->node;
}

/* Now and then a client goes to another node. Else all would stay with one that never ended. */
static void wander(struct client *c, test_rng *rng)
{
    if (test_below(rng, STAYS) > 0)
        return;
    caller_close(&c->caller);
    c->caller.at = test_below(rng, NODES);
}

static uint64_t number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    ck_assert_msg(at != NULL, "%s: %s", word, text);
    return strtoull(at + strlen(word), NULL, 10);
}

/* ---- Writers --------------------------------------------------------------------------------- */

/* condition: the revision that must be the newest one; UINT64_MAX: any. */
static const char *write_text(const struct client *c, const struct operation *o, uint64_t condition)
{
    char body[256], wanted[48] = "";
    if (condition != UINT64_MAX)
        (void)snprintf(wanted, sizeof wanted, "\"if_revision\":%llu,",
                       (unsigned long long)condition);
    const int length = snprintf(
        body, sizeof body, "{\"id\":\"%zu-%u\",%s\"pose\":{\"r%zu\":{\"center\":[%u,0,0]}}}",
        c->number, (unsigned)o->values[0], wanted, o->target, (unsigned)o->values[0]);
    return test_text("POST " SCENE "/commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                     "application/json\r\nContent-Length: %d\r\n\r\n%s",
                     length, body);
}

/* Writes until that is acknowledged. A conditional write whose first outcome is unknown goes on
 * without the condition: it has an id, so it is made at most once. So does one that another node
 * refused, which may not have had the revision yet. */
static void write_one(struct client *c, struct operation *o)
{
    char answer[ROOM];
    uint64_t condition = o->kind == SWAP ? c->known : UINT64_MAX;
    for (o->start = peer_seconds();;) {
        const int status =
            caller_exchange(&c->caller, write_text(c, o, condition), answer, sizeof answer);
        o->end = peer_seconds();
        o->node = c->caller.at;
        if (status == 200)
            break;
        if (status == 412 && condition != UINT64_MAX && o->node == c->known_at) {
            o->kind = REFUSED_SWAP;
            o->revision = condition;
            return;
        }
        ck_assert_msg(status == 503 || status == 0 || condition != UINT64_MAX, "%s", answer);
        c->broken += status == 0;
        c->refused += status == 503;
        condition = UINT64_MAX;
        o->kind = WRITE;
        test_rest(WRITER_RESTS_MS);
    }
    o->revision = number_behind(answer, "\"revision\":");
    ck_assert_msg(condition == UINT64_MAX || o->revision == condition + 1, "%s", answer);
    atomic_fetch_add(&acknowledged, 1);
}

static void *run_writer(void *context)
{
    struct client *c = context;
    test_rng rng = {.s = c->number + 1};
    for (uint32_t n = 1; !atomic_load(&over); n++) {
        wander(c, &rng);
        const bool swaps = c->known > 0 && c->known_at == c->caller.at && test_below(&rng, 3) == 0;
        struct operation o = {.kind = swaps ? SWAP : WRITE,
                              .target = test_below(&rng, REGISTERS),
                              .values = {n * WRITERS + (uint32_t)c->number}};
        write_one(c, &o);
        note(c, &o);
        test_rest((long)test_below(&rng, WRITER_RESTS_MS));
    }
    caller_close(&c->caller);
    return NULL;
}

/* ---- Readers --------------------------------------------------------------------------------- */

static void read_registers(const char *answer, struct operation *o)
{
    o->revision = number_behind(answer, "\"revision\":");
    for (size_t r = 0; r < REGISTERS; r++) {
        const char *box = strstr(answer, test_text("\"name\":\"r%zu\"", r));
        ck_assert_msg(box != NULL, "%s", answer);
        o->values[r] = (uint32_t)number_behind(box, "\"center\":[");
    }
}

static void *run_reader(void *context)
{
    struct client *c = context;
    char answer[ROOM];
    test_rng rng = {.s = c->number + 1};
    while (!atomic_load(&over)) {
        wander(c, &rng);
        const bool fresh = atomic_load(&has_fresh) && test_below(&rng, 2) == 0;
        struct operation o = {.kind = fresh ? FRESH : READ, .start = peer_seconds()};
        const int status = caller_exchange(
            &c->caller,
            fresh ? "GET " SCENE "/boxes?fresh=true HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  : "GET " SCENE "/boxes HTTP/1.1\r\nHost: localhost\r\n\r\n",
            answer, sizeof answer);
        o.end = peer_seconds();
        o.node = c->caller.at;
        ck_assert_msg(status == 200 || status == 0 || (status == 503 && fresh), "%s", answer);
        c->broken += status == 0;
        c->refused += status == 503;
        if (status == 200) {
            read_registers(answer, &o);
            note(c, &o);
        }
        test_rest((long)test_below(&rng, READER_RESTS_MS));
    }
    caller_close(&c->caller);
    return NULL;
}

/* ---- What befalls them ----------------------------------------------------------------------- */

static struct test_nats *some_server(test_rng *rng)
{
    struct test_nats *leader = nats_leader(cluster.servers, CLUSTER_SERVERS, "OBBD");
    return leader != NULL && test_below(rng, 2) == 0
               ? leader
               : &cluster.servers[test_below(rng, CLUSTER_SERVERS)];
}

static void stop_a_while(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    test_rest(STOPPED_MS);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
}

static const char *const events[] = {"a node killed", "a node stopped", "a server killed",
                                     "a server stopped", "all servers killed at once"};
enum { EVENTS = sizeof events / sizeof events[0] };

static void befall(size_t event, test_rng *rng)
{
    const size_t node = test_below(rng, NODES);
    struct test_nats *server = some_server(rng);
    switch (event) {
    case 0:
        cluster_kill(&cluster, node);
        test_rest((long)test_below(rng, 2000));
        cluster_start(&cluster, node);
        break;
    case 1:
        stop_a_while(cluster.nodes[node].obbd.pid);
        break;
    case 2:
        nats_end(server, SIGKILL);
        test_rest((long)test_below(rng, 2000));
        nats_start(server);
        break;
    case 3:
        stop_a_while(server->pid);
        break;
    default:
        for (size_t i = 0; i < CLUSTER_SERVERS; i++)
            nats_end(&cluster.servers[i], SIGKILL);
        for (size_t i = 0; i < CLUSTER_SERVERS; i++)
            nats_start(&cluster.servers[i]);
        break;
    }
}

/* Waits until writes go on. */
static void wait_for_progress(const char *after)
{
    const size_t wanted = atomic_load(&acknowledged) + PROGRESS;
    const double begun = peer_seconds();
    while (atomic_load(&acknowledged) < wanted) {
        ck_assert_msg(peer_seconds() - begun < test_timeout(120), "%s: no write goes on", after);
        test_rest(5);
    }
    printf("%-28s writes went on after %.1f s\n", after, peer_seconds() - begun);
}

/* ---- The check ------------------------------------------------------------------------------- */

static struct operation *all;
static size_t all_count;

static bool is_write(const struct operation *o) { return o->kind == WRITE || o->kind == SWAP; }

/* By revision, a write before what read it. */
static int by_revision(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    if (x->revision != y->revision)
        return x->revision < y->revision ? -1 : 1;
    return (int)is_write(y) - (int)is_write(x);
}

static void gather(void)
{
    for (size_t i = 0; i < WRITERS + READERS; i++)
        all_count += clients[i].count;
    all = calloc(all_count, sizeof *all);
    ck_assert_ptr_nonnull(all);
    size_t at = 0;
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        memcpy(all + at, clients[i].operations, clients[i].count * sizeof *all);
        at += clients[i].count;
        free(clients[i].operations);
    }
    qsort(all, all_count, sizeof *all, by_revision);
}

static uint64_t position_of(const struct operation *o)
{
    return 2 * o->revision + (is_write(o) ? 0 : 1);
}

/* Of a node: its readings and what it acknowledged. node NODES: the writes of all nodes, and the
 * readings that must be fresh. */
static size_t order_violations(size_t node)
{
    history_operation *chosen = calloc(all_count + 1, sizeof *chosen);
    size_t count = 0;
    ck_assert_ptr_nonnull(chosen);
    for (size_t i = 0; i < all_count; i++) {
        const struct operation *o = &all[i];
        const bool here = node == NODES ? is_write(o) || o->kind == FRESH
                                        : o->node == node && o->kind != REFUSED_SWAP;
        if (here)
            chosen[count++] = (history_operation){o->start, o->end, position_of(o)};
    }
    const size_t violations = history_violations(chosen, count);
    printf("%zu operations %s: %zu out of order\n", count,
           node == NODES ? "that are linearizable" : test_text("of node %zu", node), violations);
    free(chosen);
    return violations;
}

/* Each revision is one write, and each reading holds the newest values at its revision. */
static size_t value_violations(void)
{
    uint32_t values[REGISTERS] = {0};
    uint64_t revision = 1; /* made the registers */
    size_t wrong = 0;
    for (size_t i = 0; i < all_count; i++) {
        const struct operation *o = &all[i];
        if (is_write(o)) {
            if (o->revision != revision + 1 && wrong++ < 5)
                printf("revision %llu comes behind %llu\n", (unsigned long long)o->revision,
                       (unsigned long long)revision);
            revision = o->revision;
            values[o->target] = o->values[0];
        } else if (o->kind != REFUSED_SWAP &&
                   (o->revision != revision || memcmp(o->values, values, sizeof values) != 0) &&
                   wrong++ < 5) {
            printf("a reading of revision %llu at node %zu is not that of %llu\n",
                   (unsigned long long)o->revision, o->node, (unsigned long long)revision);
        }
    }
    return wrong;
}

/* A refused swap says that its revision was not the newest one. It is wrong if that revision was
 * acknowledged before the swap began, and the next one was begun after its end. */
static size_t refusal_violations(void)
{
    const struct operation **writes = calloc(all_count + 3, sizeof *writes);
    size_t wrong = 0;
    ck_assert_ptr_nonnull(writes);
    for (size_t i = 0; i < all_count; i++)
        if (is_write(&all[i]) && all[i].revision <= all_count + 1)
            writes[all[i].revision] = &all[i];
    for (size_t i = 0; i < all_count; i++) {
        const struct operation *o = &all[i];
        if (o->kind != REFUSED_SWAP || o->revision > all_count)
            continue;
        const struct operation *named = writes[o->revision], *next = writes[o->revision + 1];
        wrong += named != NULL && named->end < o->start && (next == NULL || next->start > o->end);
    }
    free(writes);
    return wrong;
}

static void begin_clients(void)
{
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        struct client *c = &clients[i];
        *c = (struct client){
            .number = i,
            .caller = {.cluster = &cluster, .nodes = NODES, .at = i % NODES, .fd = -1}};
        ck_assert_int_eq(pthread_create(&c->thread, NULL, i < WRITERS ? run_writer : run_reader, c),
                         0);
    }
}

static void make_registers(void)
{
    char body[1024] = "{\"put\":{";
    struct http_answer answer = {0};
    for (size_t r = 0; r < REGISTERS; r++) {
        const size_t length = strlen(body);
        (void)snprintf(body + length, sizeof body - length,
                       "%s\"r%zu\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}%s",
                       r > 0 ? "," : "", r, r + 1 == REGISTERS ? "}}" : "");
    }
    http_send(cluster.nodes[0].client, "POST", SCENE "/commit", NULL, body, &answer);
    ck_assert_int_eq(answer.status, 200);
    for (size_t i = 0; i < NODES; i++)
        cluster_wait_number(&cluster, i, "registers", "revision", 1);
    http_send(cluster.nodes[0].client, "GET", SCENE "/boxes?fresh=true", NULL, NULL, &answer);
    atomic_store(&has_fresh, answer.status == 200);
    http_answer_fini(&answer);
}

START_TEST(writes_are_linearizable_whatever_ends)
{
    static size_t counts[KINDS];
    test_rng rng = {.s = 20261123};
    size_t broken = 0, refused = 0;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    const size_t seconds = peer_run_seconds(15, LONGEST);
    cluster_init(&cluster, CLUSTER_SERVERS);
    for (size_t i = 0; i < NODES; i++)
        cluster_start(&cluster, i);
    make_registers();
    begin_clients();
    const double end = peer_seconds() + (double)seconds;
    size_t happened = 0;
    for (; peer_seconds() < end || happened < EVENTS; happened++) {
        test_rest(AFTER_EACH_MS);
        befall(happened % EVENTS, &rng);
        wait_for_progress(events[happened % EVENTS]);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        ck_assert_int_eq(pthread_join(clients[i].thread, NULL), 0);
        broken += clients[i].broken;
        refused += clients[i].refused;
    }
    gather();
    for (size_t i = 0; i < all_count; i++)
        counts[all[i].kind]++;
    const int64_t last = (int64_t)(counts[WRITE] + counts[SWAP]) + 1;
    cluster_start(&cluster, NODES); /* late */
    for (size_t i = 0; i <= NODES; i++)
        cluster_wait_number(&cluster, i, "registers", "revision", last);
    printf("%zu writes, %zu conditional ones, %zu refused; %zu readings, %zu fresh; %zu answers "
           "503, %zu without an answer; %zu events\n",
           counts[WRITE], counts[SWAP], counts[REFUSED_SWAP], counts[READ], counts[FRESH], refused,
           broken, happened);
    size_t violations = value_violations() + refusal_violations();
    for (size_t node = 0; node <= NODES; node++)
        violations += order_violations(node);
    ck_assert_uint_eq(violations, 0);
    ck_assert_uint_eq(cluster_different(&cluster, "registers"), 0);
    ck_assert(counts[SWAP] > 0 && counts[REFUSED_SWAP] > 0 && counts[READ] > counts[WRITE]);
    ck_assert(broken > 0 && counts[WRITE] > 100);
    free(all);
    cluster_fini(&cluster);
}
END_TEST

/* 64 clients of two nodes, with nothing in their way. */
START_TEST(two_nodes_on_one_scene_leave_no_gap_and_no_duplicate)
{
    struct http_answer answer = {0};
    cluster_init(&cluster, CLUSTER_SERVERS);
    for (size_t i = 0; i < NODES; i++)
        cluster_start(&cluster, i);
    http_send(cluster.nodes[0].client, "PUT", "/v1/scenes/s", NULL,
              "{\"history\":{\"commits\":2000}}", &answer);
    ck_assert_int_eq(answer.status, 201);
    http_answer_fini(&answer);
    struct test_writers writers = {
        .cluster = &cluster, .nodes = NODES, .scene = "s", .count = 64, .commits = 313};
    writers_start(&writers);
    ck_assert_uint_eq(writers_join(&writers), 0);
    cluster_start(&cluster, NODES); /* late */
    ck_assert_uint_eq(writers_different(&writers), 0);
    const double conflicts = cluster_metric(&cluster, 0, "obbd_journal_conflicts_total") +
                             cluster_metric(&cluster, 1, "obbd_journal_conflicts_total");
    printf("%zu commits of two nodes, %.0f conflicts: no gap, no duplicate\n",
           writers.count * writers.commits, conflicts);
    ck_assert(conflicts > 0);
    cluster_fini(&cluster);
}
END_TEST

/* ---- Purges ---------------------------------------------------------------------------------- */

enum { BOXES = 2000, BEGINS_EVERY = 10 };

#define LARGE "/v1/scenes/large"

/* Moves all boxes at node 0, or makes them. What they hold makes long records. */
static void move_all(size_t commit)
{
    struct http_answer answer = {0};
    char *body = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&body, &length);
    ck_assert_ptr_nonnull(out);
    for (int i = 0; i < BOXES; i++)
        (void)fprintf(
            out, "%s\"b%d\":{\"center\":[%d,%zu,0],\"half_extents\":[1,1,1],\"data\":\"%0150zu\"}",
            i > 0 ? "," : "{\"put\":{", i, 3 * i, commit, commit);
    (void)fprintf(out, "}}");
    (void)fclose(out);
    http_send(cluster.nodes[0].client, "POST", LARGE "/commit", NULL, body, &answer);
    ck_assert_msg(answer.status == 200, "%ld %s", answer.status, answer.body);
    http_answer_fini(&answer);
    free(body);
}

/* Lets node 1 stand still most of the time, so that it lags. */
static void *slow_down(void *context)
{
    test_rng rng = {.s = 20261127};
    while (!atomic_load(&over)) {
        ck_assert_int_eq(kill(cluster.nodes[1].obbd.pid, SIGSTOP), 0);
        test_rest((long)test_below(&rng, STOPPED_MS));
        ck_assert_int_eq(kill(cluster.nodes[1].obbd.pid, SIGCONT), 0);
        test_rest((long)test_below(&rng, AFTER_EACH_MS));
    }
    return context;
}

/* One server, whose log is purged in any version. */
START_TEST(purges_meet_slow_readers_and_those_who_begin)
{
    pthread_t slow;
    struct http_answer answer = {0};
    double loads = 0;
    size_t commits = 0, begun = 0;
    const double end = peer_seconds() + (double)peer_run_seconds(15, LONGEST) / 2;
    atomic_store(&over, false);
    cluster_init(&cluster, 1);
    for (size_t i = 0; i < 2; i++)
        cluster_start(&cluster, i);
    move_all(commits++);
    cluster_wait(&cluster, 1, LARGE, 200); /* it holds the scene from now on */
    ck_assert_int_eq(pthread_create(&slow, NULL, slow_down, NULL), 0);
    for (; peer_seconds() < end || begun < 3; commits++) {
        move_all(commits);
        if (commits % BEGINS_EVERY > 0)
            continue;
        cluster_start(&cluster, 2);
        cluster_wait(&cluster, 2, LARGE, 200);
        http_send(cluster.nodes[2].client, "GET", LARGE "/boxes/b7?fresh=true", NULL, NULL,
                  &answer);
        ck_assert_msg(answer.status == 200 &&
                          strstr(answer.body, test_text("\"center\":[21,%zu,0]", commits)) != NULL,
                      "%ld %s", answer.status, answer.body);
        loads += cluster_metric(&cluster, 2, "obbd_journal_loads_total");
        if (begun++ % 2 == 0)
            cluster_kill(&cluster, 2);
        else
            cluster_stop(&cluster, 2);
    }
    atomic_store(&over, true);
    ck_assert_int_eq(pthread_join(slow, NULL), 0);
    cluster_start(&cluster, 2);
    for (size_t i = 0; i < NODES + 1; i++)
        cluster_wait_number(&cluster, i, "large", "revision", (int64_t)commits);
    const double snapshots = cluster_metric(&cluster, 0, "obbd_journal_snapshots_total"),
                 purges = cluster_metric(&cluster, 0, "obbd_journal_purges_total"),
                 differed = cluster_metric(&cluster, 1, "obbd_journal_differed_total");
    printf("%zu commits of %d boxes, %.0f snapshots, %.0f purges; a node began %zu times and "
           "loaded %.0f snapshots; the slow one lagged %.0f times until something was purged\n",
           commits, BOXES, snapshots, purges, begun, loads, differed);
    ck_assert_uint_eq(cluster_different(&cluster, "large"), 0);
    ck_assert(purges > 0 && loads > 0);
    http_answer_fini(&answer);
    cluster_fini(&cluster);
}
END_TEST

/* The check finds what it is there for: random histories whose order is right, and the same with
 * one operation that took effect outside its time. */
START_TEST(an_order_against_the_clock_is_found)
{
    static history_operation history[PLANTED];
    test_rng rng = {.s = 17};
    for (size_t round = 0; round < test_effort(50); round++) {
        for (size_t i = 0; i < PLANTED; i++) {
            const double at = (double)i;
            history[i] = (history_operation){.start = at - test_uniform(&rng, 0, 30),
                                             .end = at + test_uniform(&rng, 0, 30),
                                             .position = i};
        }
        ck_assert_uint_eq(history_violations(history, PLANTED), 0);
        const size_t planted = 100 + test_below(&rng, PLANTED - 200);
        history[planted].position += 70; /* another one has it, too, and began after its end */
        ck_assert_uint_gt(history_violations(history, PLANTED), 0);
    }
}
END_TEST

int main(void)
{
    (void)setenv("OBBD_LOG_LEVEL", "error", 0); /* no lines between the figures */
    Suite *suite = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, an_order_against_the_clock_is_found);
    tcase_add_test(tc, writes_are_linearizable_whatever_ends);
    tcase_add_test(tc, two_nodes_on_one_scene_leave_no_gap_and_no_duplicate);
    tcase_add_test(tc, purges_meet_slow_readers_and_those_who_begin);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
