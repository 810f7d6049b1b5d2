/* Measures the decoding of bodies to requests, beside jansson and simdjson. Best of several runs,
 * in one process. */
#include "proto/codec/cursor.h"
#include "proto/codec/walk.h"
#include "proto/wire.h"
#include "tests/bench/simdjson_peer.h"
#include "tests/proto/cbor_maker.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <time.h>

enum { PADDING = 64 };

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct text {
    char *bytes; /* owned, with PADDING more behind */
    size_t length, room;
};

static void add(struct text *t, const char *format, double a, double b, double c)
{
    if (t->room - t->length < 256) {
        t->room = t->room == 0 ? 4096 : t->room * 2;
        t->bytes = realloc(t->bytes, t->room + PADDING);
        if (t->bytes == NULL)
            abort();
    }
    /* the formats are those below */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    t->length += (size_t)snprintf(t->bytes + t->length, 256, format, a, b, c);
#pragma GCC diagnostic pop
}

/* A commit that puts boxes; digits: of each number, 17 or few. */
static struct text boxes_of(int count, bool long_numbers)
{
    struct text t = {0};
    test_rng rng = {.s = 1};
    add(&t, "{\"put\":{", 0, 0, 0);
    for (int i = 0; i < count; i++) {
        double r[10], square = 0;
        for (int k = 0; k < 10; k++) {
            r[k] = test_uniform(&rng, k < 3 ? -100 : 0.1, k < 3 ? 100 : 1);
            square += k >= 6 ? r[k] * r[k] : 0;
        }
        const double scale = 1 / sqrt(square);
        add(&t, i > 0 ? ",\"crate-%.0f\":{" : "\"crate-%.0f\":{", i, 0, 0);
        add(&t, long_numbers ? "\"center\":[%.17g,%.17g,%.17g]," : "\"center\":[%.3f,%.3f,%.3f],",
            r[0], r[1], r[2]);
        add(&t,
            long_numbers ? "\"half_extents\":[%.17g,%.17g,%.17g],"
                         : "\"half_extents\":[%.2f,%.2f,%.2f],",
            r[3], r[4], r[5]);
        if (long_numbers) {
            add(&t, "\"rotation\":[%.17g,%.17g,%.17g,", r[6] * scale, r[7] * scale, r[8] * scale);
            add(&t, "%.17g]}", r[9] * scale, 0, 0);
        } else {
            add(&t, "\"rotation\":[0,0,0,1]}", 0, 0, 0);
        }
    }
    add(&t, "}}", 0, 0, 0);
    return t;
}

/* A game tick: poses by name (or in columns) and ray queries. */
static struct text tick_of(int poses, int rays, bool columns)
{
    struct text t = {0};
    test_rng rng = {.s = 2};
    add(&t, "{\"time\":1234.5,\"pose\":{", 0, 0, 0);
    if (columns) {
        add(&t, "\"ids\":[1", 0, 0, 0);
        for (int i = 1; i < poses; i++)
            add(&t, ",%.0f", i + 1, 0, 0);
        add(&t, "],\"rotations\":[0,0,0,1", 0, 0, 0);
        for (int i = 1; i < poses; i++)
            add(&t, ",0,0,0,1", 0, 0, 0);
        add(&t, "],\"centers\":[", 0, 0, 0);
    }
    for (int i = 0; i < poses; i++) {
        const double x = test_uniform(&rng, -100, 100), z = test_uniform(&rng, -100, 100);
        if (columns) {
            add(&t, i > 0 ? ",%.3f,%.3f,%.3f" : "%.3f,%.3f,%.3f", x, 1, z);
        } else {
            add(&t, i > 0 ? ",\"box-%.0f\":{\"center\":[" : "\"box-%.0f\":{\"center\":[", i, 0, 0);
            add(&t, "%.3f,%.3f,%.3f],\"rotation\":[0,0,0,1]}", x, 1, z);
        }
    }
    add(&t, columns ? "]}" : "}", 0, 0, 0);
    add(&t, ",\"queries\":[{\"kind\":\"ray\",\"rays\":[", 0, 0, 0);
    for (int i = 0; i < rays; i++) {
        add(&t, i > 0 ? ",{\"origin\":[%.3f,%.3f,%.3f]" : "{\"origin\":[%.3f,%.3f,%.3f]",
            test_uniform(&rng, -100, 100), 1, test_uniform(&rng, -100, 100));
        add(&t, ",\"direction\":[%.3f,%.3f,%.3f],\"max_distance\":50}", test_uniform(&rng, -1, 1),
            0.5, test_uniform(&rng, -1, 1));
    }
    add(&t, "]}]}", 0, 0, 0);
    return t;
}

struct job {
    wire_body body;
    bool is_query;
    struct obb_arena arena;
};

static bool decode(struct job *job)
{
    wire_commit commit;
    obb_query query;
    wire_problem problem;
    obb_arena_reset(&job->arena);
    return job->is_query
               ? wire_read_query(&job->body, OBB_QUERY_PAIRS, 3, &job->arena, &query, &problem)
               : wire_read_commit(&job->body, 3, &job->arena, &commit, &problem);
}

static bool walk(struct job *job)
{
    struct wire_cursor c;
    obb_arena_reset(&job->arena);
    if (job->body.media == WIRE_CBOR)
        wire_cbor_open(&c, job->body.bytes, job->body.length, &job->arena);
    else
        wire_json_open(&c, job->body.bytes, job->body.length, &job->arena);
    return wire_skip(&c) && wire_finish(&c);
}

/* What simdjson_peer_sum does, through our cursor. */
static bool by_cursor(struct job *job)
{
    struct wire_cursor c;
    obb_str key;
    double numbers[4], sum = 0;
    size_t count;
    obb_arena_reset(&job->arena);
    wire_json_open(&c, job->body.bytes, job->body.length, &job->arena);
    if (!wire_enter_object(&c) || !wire_next_key(&c, &key) || !wire_enter_object(&c))
        return false;
    while (wire_next_key(&c, &key)) {
        sum += (double)key.length;
        if (!wire_enter_object(&c))
            return false;
        while (wire_next_key(&c, &key)) {
            if (!wire_read_numbers(&c, numbers, 4, &count))
                return false;
            for (size_t i = 0; i < count; i++)
                sum += numbers[i];
        }
    }
    return !c.failed && sum != 0;
}

static bool by_jansson(struct job *job)
{
    json_t *tree = json_loadb(job->body.bytes, job->body.length, JSON_REJECT_DUPLICATES, NULL);
    json_decref(tree);
    return tree != NULL;
}

static bool by_simdjson(struct job *job)
{
    return !isnan(simdjson_peer_sum(job->body.bytes, job->body.length));
}

static bool by_simdjson_tree(struct job *job)
{
    return simdjson_peer_tree(job->body.bytes, job->body.length) > 0;
}

/* Nanoseconds of the best run in about a quarter of a second; 0 when it fails. */
static double best_of(bool (*run)(struct job *job), struct job *job)
{
    double best = 0;
    const double begun = now_ns();
    for (int i = 0; i < 5 || now_ns() - begun < 2.5e8; i++) {
        const double start = now_ns();
        if (!run(job))
            return 0;
        const double took = now_ns() - start;
        best = i == 0 || took < best ? took : best;
    }
    return best;
}

static void report(const char *name, const char *how, const struct job *job, double ns)
{
    printf("%s,%s,%zu,%.0f,%.0f\n", name, how, job->body.length, ns,
           ns > 0 ? (double)job->body.length * 1e3 / ns : 0);
}

static void measure(const char *name, struct text text, bool is_query, bool is_boxes)
{
    struct job job = {.body = {.bytes = text.bytes, .length = text.length, .media = WIRE_JSON},
                      .is_query = is_query};
    report(name, "request", &job, best_of(decode, &job));
    report(name, "syntax", &job, best_of(walk, &job));
    if (is_boxes) {
        report(name, "cursor", &job, best_of(by_cursor, &job));
        report(name, "simdjson", &job, best_of(by_simdjson, &job));
        report(name, "simdjson_tree", &job, best_of(by_simdjson_tree, &job));
    }
    report(name, "jansson", &job, best_of(by_jansson, &job));
    for (int typed = 0; typed < 2; typed++) {
        struct cbor_maker m = {0};
        if (!maker_from_json(&m, text.bytes, text.length, typed == 1))
            abort();
        job.body =
            (wire_body){.bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
        report(name, typed == 1 ? "cbor_typed" : "cbor", &job, best_of(decode, &job));
        free(m.bytes);
    }
    obb_arena_fini(&job.arena);
    free(text.bytes);
}

int main(void)
{
    struct text pair = {0};
    add(&pair, "{\"pairs\":[[\"player-1\",\"crate-8\"]],\"want\":[\"mtv\"]}", 0, 0, 0);
    printf("body,how,bytes,ns,megabytes_per_second\n");
    measure("one-pair", pair, true, false);
    static const struct {
        const char *name;
        int count;
        bool long_numbers;
    } boxes[] = {{"1-box", 1, false},           {"10-boxes", 10, false},
                 {"100-boxes", 100, false},     {"1000-boxes", 1000, false},
                 {"10000-boxes", 10000, false}, {"10000-boxes-17-digits", 10000, true}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        measure(boxes[i].name, boxes_of(boxes[i].count, boxes[i].long_numbers), false, true);
    measure("tick-1000-poses-64-rays", tick_of(1000, 64, false), false, false);
    measure("tick-in-columns", tick_of(1000, 64, true), false, false);
    measure("10000-poses-in-columns", tick_of(10000, 0, true), false, false);
    return 0;
}
