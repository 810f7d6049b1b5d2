/* The recorder alone, with requests that no client sent: what it keeps, in which order, within
 * which bounds, and what it gives back. */
#include "server/base/loop.h"
#include "server/events/recorder.h"
#include "server/scenes/services.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct srv_locks locks;
static struct srv_metrics metrics;
static struct obb_budget budget;
static struct obb_store *store;
static struct srv_events *events;
static struct srv_recorder recorder;
static struct srv_services services;
static struct obb_scene *scene; /* "s", with the boxes a at 1, b at 2.5 and c at 90 */

static struct obb_scene *add(const char *name, uint32_t record)
{
    const obb_settings settings = {
        .dimensions = 3, .history_span = 500, .history_commits = 64, .record = record};
    struct obb_scene *made = NULL;
    ck_assert_int_eq(obb_store_add(store, obb_str_of(name), &settings, 1, 0, &made), OBB_OK);
    tick(made, 1, "+a:1 +b:2.5 +c:90");
    return made;
}

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 1, 8, NULL, &pool));
    drain = (struct srv_drain){.holds = 0};
    metrics = (struct srv_metrics){.queries_unrecorded_total = 0};
    obb_budget_init(&budget, 1 << 20);
    ck_assert_int_eq(obb_store_create(10, 1000, NULL, &store), OBB_OK);
    locks = (struct srv_locks){.pool = pool, .drain = &drain};
    const struct srv_channels channels = {
        .loop = loop, .budget = &budget, .locks = &locks, .metrics = &metrics};
    ck_assert(srv_events_create(loop, &channels, &events));
    recorder = (struct srv_recorder){
        .budget = &budget, .store = store, .locks = &locks, .events = events, .metrics = &metrics};
    services = (struct srv_services){.metrics = &metrics,
                                     .budget = &budget,
                                     .store = store,
                                     .locks = &locks,
                                     .events = events,
                                     .recorder = &recorder};
    scene = add("s", 3);
}

/* Nothing is drawn from the budget once all is forgotten. */
static void teardown(void)
{
    srv_recorder_fini(&recorder);
    ck_assert_uint_eq(recorder.held, 0);
    ck_assert_uint_eq(atomic_load(&recorder.waiting), 0);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_events_destroy(events);
    obb_store_destroy(store);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A request for points, with its answer. */
struct asked {
    struct srv_request request;
    struct srv_recording recording;
    char body[128];
    obb_query query;
    struct obb_view *view;
    struct obb_plan *plan;
};

/* Asks for the boxes at x and writes the answer. */
static void ask(struct asked *a, struct obb_scene *of, const char *name, double x, const char *tag)
{
    wire_problem problem;
    *a = (struct asked){.request.services = &services, .request.number = 7};
    struct srv_request *request = &a->request;
    obb_arena_init(&request->arena);
    request->target.parts[SRV_SCENE_PART] = obb_str_of(name);
    request->target.part_count = SRV_SCENE_PART + 1;
    request->accept = WIRE_JSON;
    const int length =
        tag != NULL
            ? snprintf(a->body, sizeof a->body, "{\"points\":[[%g,0,0]],\"tag\":\"%s\"}", x, tag)
            : snprintf(a->body, sizeof a->body, "{\"points\":[[%g,0,0]]}", x);
    request->body = (wire_body){.bytes = a->body, .length = (size_t)length, .media = WIRE_JSON};
    ck_assert(
        wire_read_query(&request->body, OBB_QUERY_POINT, 3, &request->arena, &a->query, &problem));
    ck_assert_int_eq(obb_view_open(of, NULL, &a->view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_plan_create(a->view, &a->query, NULL, NULL, &a->plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(a->plan), OBB_OK);
    wire_write_result(&request->reply, WIRE_JSON, a->view, &a->query, obb_plan_result(a->plan));
}

static void make(struct asked *a)
{
    const struct obb_view *const views[] = {a->view};
    const obb_result *const results[] = {obb_plan_result(a->plan)};
    const srv_answered answered = {
        .queries = &a->query, .count = 1, .views = views, .results = results};
    srv_recording_make(&a->recording, &a->request, &answered);
}

static void forget(struct asked *a)
{
    srv_recording_drop(&a->recording);
    obb_plan_destroy(a->plan);
    obb_view_close(a->view);
    wire_buf_fini(&a->request.reply);
    obb_arena_fini(&a->request.arena);
}

/* Records one query from beginning to end. */
static void record(struct obb_scene *of, const char *name, double x, const char *tag)
{
    struct asked a;
    ask(&a, of, name, x, tag);
    srv_recording_begin(&a.recording, &a.request);
    ck_assert(a.recording.on);
    make(&a);
    srv_recording_keep(&a.recording, &a.request, of);
    forget(&a);
}

/* ---- What is kept ---------------------------------------------------------------------------- */

/* The ids that are found, as "1 2 3". */
static const char *found(const struct obb_scene *of, wire_recorded_params params)
{
    static char text[256];
    struct srv_record *records[64];
    const size_t count = srv_recorder_find(&recorder, of, &params, records, 64);
    int length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, i > 0 ? " %d" : "%d",
                           (int)records[i]->id);
        srv_record_unref(records[i]);
    }
    return text;
}

START_TEST(the_last_queries_are_kept_in_order)
{
    ck_assert_str_eq(found(scene, (wire_recorded_params){.limit = 1}), "");
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 0);
    record(scene, "s", 1, "x");  /* 1: a */
    record(scene, "s", 50, "x"); /* 2: nothing */
    record(scene, "s", 90, "");  /* 3: c */
    ck_assert_str_eq(found(scene, (wire_recorded_params){.limit = 1}), "1 2 3");
    record(scene, "s", 1.75, NULL); /* 4: a, b */
    record(scene, "s", 7, "y");     /* 5: nothing */
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 3);
    const struct {
        wire_recorded_params params;
        const char *ids;
    } rows[] = {
        {{.limit = 1}, "3 4 5"},
        {{.after_id = 3}, "4 5"},
        {{.after_id = 5}, ""},
        {{.has_hit = true, .hit = true}, "3 4"},
        {{.has_hit = true}, "5"},
        {{.has_tag = true, .tag = obb_str_of("y")}, "5"},
        {{.has_tag = true}, "3"}, /* an empty tag is a tag, no tag is none */
        {{.has_tag = true, .tag = obb_str_of("x")}, ""},
        {{.has_tag = true, .tag = obb_str_of("y"), .has_hit = true, .hit = true}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(strcmp(found(scene, rows[i].params), rows[i].ids) == 0, "row %zu: %s", i,
                      found(scene, rows[i].params));
    struct srv_record *records[2]; /* no more than there is room for */
    ck_assert_uint_eq(srv_recorder_find(&recorder, scene, &(wire_recorded_params){0}, records, 2),
                      2);
    for (int i = 0; i < 2; i++)
        srv_record_unref(records[i]);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 0);
}
END_TEST

START_TEST(a_record_holds_query_and_answer)
{
    struct srv_record *one = NULL;
    record(scene, "s", 1.75, "t");
    ck_assert_uint_eq(srv_recorder_find(&recorder, scene, &(wire_recorded_params){0}, &one, 1), 1);
    char text[512];
    (void)snprintf(text, sizeof text, "%.*s", (int)one->text.length, one->text.bytes);
    static const char *const parts[] = {
        "\"kind\":\"point\"", "\"query\":{\"points\":[[1.75,0,0]],\"tag\":\"t\"}",
        "\"boxes\":[\"a\",\"b\"]", "\"request\":\"7\"", "\"revision\":1"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(text, parts[i]) != NULL, "no %s in %s", parts[i], text);
    ck_assert(one->hit && one->has_tag && obb_str_equal(one->tag, obb_str_of("t")));
    srv_record_unref(one);
}
END_TEST

static void tell_settings(uint32_t most)
{
    const srv_write_listener listener = srv_recorder_listener(&recorder);
    const obb_committed committed = {.changed = true};
    const srv_op op = {.kind = SRV_OP_CONFIGURE};
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_settings settings = {
        .dimensions = 3, .history_span = 500, .history_commits = 64, .record = most};
    const obb_edit edit = {.dimensions = 3, .settings = &settings};
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 1000, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
    listener.on_commit(listener.context, &op, scene, &committed);
}

START_TEST(settings_and_removals_give_room_back)
{
    const srv_write_listener listener = srv_recorder_listener(&recorder);
    const srv_op op = {.kind = SRV_OP_REMOVE};
    for (int i = 0; i < 3; i++)
        record(scene, "s", i, NULL);
    const size_t held = recorder.held;
    tell_settings(1);
    ck_assert_str_eq(found(scene, (wire_recorded_params){0}), "3");
    ck_assert(recorder.held > 0 && recorder.held < held);
    tell_settings(0);
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 0);
    ck_assert_uint_eq(recorder.held, 0);
    record(scene, "s", 1, NULL); /* not recorded, and not missed */
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 0);
    tell_settings(2);
    record(scene, "s", 1, NULL);
    ck_assert_str_eq(found(scene, (wire_recorded_params){0}), "4"); /* no id comes twice */

    struct obb_scene *other = add("other", 9);
    record(other, "other", 1, NULL);
    ck_assert_str_eq(found(other, (wire_recorded_params){0}), "1");
    struct srv_record *kept = NULL; /* held by a listing, so it stays behind its scene */
    ck_assert_uint_eq(srv_recorder_find(&recorder, other, &(wire_recorded_params){0}, &kept, 1), 1);
    listener.on_remove(listener.context, &op, other);
    ck_assert_uint_eq(srv_recorder_count(&recorder, other), 0);
    ck_assert_uint_gt(kept->text.length, 20);
    ck_assert_int_eq(memcmp(kept->text.bytes, "\"kind\":\"point\"", 14), 0);
    srv_record_unref(kept);
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 1);
    listener.on_remove(listener.context, &op, scene);
    listener.on_remove(listener.context, &op, scene); /* nothing is left to be forgotten */
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 0);
}
END_TEST

/* The loop runs until the pool has freed what the recorder gave it. */
static void free_on_pool(void)
{
    ck_assert_uint_eq(drain.holds, 1);
    while (!srv_drain_empty(&drain))
        srv_loop_step(loop, 10);
}

START_TEST(many_queries_are_forgotten_on_the_pool)
{
    enum { MANY = 200 };
    const srv_write_listener listener = srv_recorder_listener(&recorder);
    const srv_op op = {.kind = SRV_OP_REMOVE};
    tell_settings(MANY);
    for (int i = 0; i < MANY; i++)
        record(scene, "s", i, NULL);
    struct srv_record *kept = NULL; /* the oldest, which a listing holds */
    ck_assert_uint_eq(srv_recorder_find(&recorder, scene, &(wire_recorded_params){0}, &kept, 1), 1);
    const size_t held = recorder.held, used = obb_budget_used(&budget);
    tell_settings(MANY / 2);
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), MANY / 2);
    ck_assert(recorder.held > held / 3 && recorder.held < held * 2 / 3);
    free_on_pool();
    ck_assert_uint_lt(obb_budget_used(&budget), used * 2 / 3);
    ck_assert_uint_eq(kept->id, 1);
    srv_record_unref(kept);

    fault_arm(1); /* no memory for a job: the loop does it */
    listener.on_remove(listener.context, &op, scene);
    const size_t asked = fault_seen();
    fault_arm(0);
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(drain.holds, 0);
    ck_assert_uint_eq(recorder.held, 0);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);

    for (int i = 0; i < MANY; i++)
        record(scene, "s", i, NULL);
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), MANY / 2);
    listener.on_remove(listener.context, &op, scene);
    ck_assert_uint_eq(recorder.held, 0);
    free_on_pool();
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

START_TEST(a_query_of_a_scene_that_went_is_forgotten)
{
    struct asked a;
    struct obb_scene *dead = NULL;
    ask(&a, scene, "s", 1, NULL);
    srv_recording_begin(&a.recording, &a.request);
    make(&a);
    ck_assert_uint_gt(atomic_load(&recorder.waiting), 0);
    ck_assert_int_eq(obb_store_remove(store, obb_str_of("s"), &dead), OBB_OK);
    struct obb_scene *anew = add("s", 3);
    srv_recording_keep(&a.recording, &a.request, scene);
    ck_assert_uint_eq(srv_recorder_count(&recorder, anew), 0);
    ck_assert_uint_eq(atomic_load(&recorder.waiting), 0);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 0);
    obb_plan_destroy(a.plan);
    obb_scene_destroy(obb_view_close(a.view));
    a.plan = NULL;
    wire_buf_fini(&a.request.reply);
    obb_arena_fini(&a.request.arena);
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------- */

START_TEST(records_take_a_quarter_of_the_budget)
{
    obb_budget_init(&budget, 16384);
    tell_settings(1000);
    for (int i = 0; i < 60; i++)
        record(scene, "s", i, NULL);
    const size_t kept = srv_recorder_count(&recorder, scene);
    ck_assert(kept > 5 && kept < 30);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 60 - kept);
    ck_assert_uint_le(recorder.held, 4096);
    ck_assert_uint_gt(recorder.held, 3072);
    tell_settings(2); /* a record takes the place of the oldest one, so it has room */
    record(scene, "s", 1, "last");
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 2);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 60 - kept);
}
END_TEST

START_TEST(only_so_much_waits_to_be_kept)
{
    enum { MANY = 1500 };
    static struct asked all[MANY];
    size_t made = 0, left_out = 0;
    for (int i = 0; i < MANY; i++) {
        ask(&all[i], scene, "s", i, "waiting");
        srv_recording_begin(&all[i].recording, &all[i].request);
        make(&all[i]);
        made += all[i].recording.first != NULL;
        left_out += all[i].recording.left_out;
    }
    const size_t waiting = atomic_load(&recorder.waiting);
    const size_t most = (size_t)256 << 10;
    ck_assert(waiting > most && waiting < most + 1024);
    ck_assert(made > 100 && left_out > 100 && made + left_out == MANY);
    ck_assert_uint_eq(obb_budget_used(&budget) > waiting, true);
    for (int i = 0; i < MANY; i++) {
        if (i % 2 == 0)
            srv_recording_keep(&all[i].recording, &all[i].request, scene);
        forget(&all[i]); /* the others are dropped */
    }
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 3);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, left_out / 2);
    srv_recording_skip(&(struct srv_recording){.recorder = &recorder});
    ck_assert_uint_eq(metrics.queries_unrecorded_total, left_out / 2 + 1);
}
END_TEST

START_TEST(without_memory_a_query_is_counted_and_not_kept)
{
    size_t failed = 0, kept = 0;
    for (size_t n = 1; kept == 0; n++) {
        struct asked a;
        ask(&a, scene, "s", 1, "t");
        const double before = (double)metrics.queries_unrecorded_total;
        fault_arm(n);
        srv_recording_begin(&a.recording, &a.request);
        if (a.recording.on) {
            make(&a);
            srv_recording_keep(&a.recording, &a.request, scene);
        }
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        kept = srv_recorder_count(&recorder, scene);
        ck_assert_double_eq((double)metrics.queries_unrecorded_total - before, kept == 0);
        ck_assert(reached || kept == 1);
        failed += kept == 0;
        forget(&a);
    }
    ck_assert_uint_ge(failed, 3); /* the text of the query, that of the record, record, ring */
}
END_TEST

/* Records a query that no request asked. */
static void record_own(struct obb_scene *of, struct asked *a)
{
    const srv_own_query own = {.query = &a->query,
                               .view = a->view,
                               .result = obb_plan_result(a->plan),
                               .sent = {a->body, strlen(a->body)},
                               .request = obb_str_of("own-1")};
    srv_recorder_add(&recorder, of, &own);
}

START_TEST(a_query_of_the_service_itself_is_kept_as_those_of_clients_are)
{
    struct asked a;
    struct srv_record *records[2];
    record(scene, "s", 1, "t");
    ask(&a, scene, "s", 1, "t");
    record_own(scene, &a);
    const wire_recorded_params all = {.limit = 2};
    ck_assert_uint_eq(srv_recorder_find(&recorder, scene, &all, records, 2), 2);
    ck_assert_int_eq(records[0]->hit, records[1]->hit);
    ck_assert(obb_str_equal(records[0]->tag, records[1]->tag));
    char sent[1024], own[1024];
    (void)snprintf(sent, sizeof sent, "%.*s", (int)records[0]->text.length, records[0]->text.bytes);
    (void)snprintf(own, sizeof own, "%.*s", (int)records[1]->text.length, records[1]->text.bytes);
    char *ends[] = {strstr(sent, "\"request\":\"7\""), strstr(own, "\"request\":\"own-1\"")};
    ck_assert(ends[0] != NULL && ends[1] != NULL);
    *ends[0] = *ends[1] = '\0';
    ck_assert_str_eq(own, sent);
    for (size_t i = 0; i < 2; i++)
        srv_record_unref(records[i]);
    forget(&a);

    struct obb_scene *other = add("silent", 0);
    ask(&a, other, "silent", 1, NULL);
    record_own(other, &a);
    ck_assert_uint_eq(srv_recorder_count(&recorder, other), 0);
    forget(&a);
    ck_assert_uint_eq(metrics.queries_unrecorded_total, 0);
}
END_TEST

START_TEST(without_memory_a_query_of_the_service_is_counted_and_not_kept)
{
    size_t failed = 0, kept = 0;
    for (size_t n = 1; kept == 0; n++) {
        struct asked a;
        ask(&a, scene, "s", 1, "t");
        const uint64_t before = metrics.queries_unrecorded_total;
        fault_arm(n);
        record_own(scene, &a);
        fault_arm(0);
        kept = srv_recorder_count(&recorder, scene);
        ck_assert_uint_eq(metrics.queries_unrecorded_total - before, kept == 0);
        failed += kept == 0;
        forget(&a);
    }
    ck_assert_uint_ge(failed, 3); /* the answer, the text, the record, the ring */
}
END_TEST

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 200 };

static void *make_many(void *context)
{
    struct asked *all = context;
    for (int i = 0; i < EACH; i++)
        make(&all[i]);
    return NULL;
}

/* Workers make records while others do; the loop keeps them. */
START_TEST(records_are_made_on_any_thread)
{
    static struct asked all[THREADS][EACH];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < EACH; i++) {
            ask(&all[t][i], scene, "s", t, NULL);
            srv_recording_begin(&all[t][i].recording, &all[t][i].request);
        }
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&threads[t], NULL, make_many, all[t]), 0);
    for (int i = 0; i < 50; i++)
        record(scene, "s", i, "loop");
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
    size_t made = 0, left_out = 0;
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < EACH; i++) {
            made += all[t][i].recording.first != NULL;
            left_out += all[t][i].recording.left_out;
            srv_recording_keep(&all[t][i].recording, &all[t][i].request, scene);
            forget(&all[t][i]);
        }
    printf("%zu records made by %d threads, %zu left out\n", made, THREADS, left_out);
    ck_assert_uint_eq(made + left_out, (size_t)THREADS * EACH);
    ck_assert_uint_gt(made, THREADS * EACH / 4);
    ck_assert_uint_eq(metrics.queries_unrecorded_total >= left_out, true);
    ck_assert_uint_eq(srv_recorder_count(&recorder, scene), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorder");
    TCase *tc = tcase_create("recorder");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, the_last_queries_are_kept_in_order);
    tcase_add_test(tc, a_record_holds_query_and_answer);
    tcase_add_test(tc, settings_and_removals_give_room_back);
    tcase_add_test(tc, many_queries_are_forgotten_on_the_pool);
    tcase_add_test(tc, a_query_of_a_scene_that_went_is_forgotten);
    tcase_add_test(tc, records_take_a_quarter_of_the_budget);
    tcase_add_test(tc, only_so_much_waits_to_be_kept);
    tcase_add_test(tc, without_memory_a_query_is_counted_and_not_kept);
    tcase_add_test(tc, a_query_of_the_service_itself_is_kept_as_those_of_clients_are);
    tcase_add_test(tc, without_memory_a_query_of_the_service_is_counted_and_not_kept);
    tcase_add_test(tc, records_are_made_on_any_thread);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
