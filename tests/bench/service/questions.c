#include "tests/bench/service/questions.h"

#include "tests/bench/service/scene.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { BOXES = 10000, ASKED = 64, ENTRIES = 100, STEPS = 8 };
#define SECONDS 0.5 /* of a load */
#define SCENE   "asked"

static const char json[] = "application/json";

static load_request ask(const char *what, const char *body)
{
    return meter_request(SCENE, what, json, body, strlen(body));
}

/* Sends the request once, keeps the answer as the expected one from the word `from` on (NULL: all
 * of it), and returns it as JSON, which the caller owns. NULL: a failure, which is counted. */
static json_t *expect_same(bench_meter *meter, load_request *request, const char *from)
{
    request->expected = load_exchange(&meter->obbd->tcp, request, &request->expected_length);
    request->from = from;
    meter->checked++;
    meter->failures += request->expected == NULL;
    return request->expected != NULL
               ? json_loadb(request->expected, request->expected_length, 0, NULL)
               : NULL;
}

static void release(load_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        load_request_free(&requests[i]);
}

/* ---- Explain --------------------------------------------------------------------------------- */

static const struct kind {
    const char *what, *list; /* the path, and the member of a result that lists boxes */
} kinds[] = {{"query/ray", "hits"}, {"query/overlap", "boxes"}, {"query/nearest", "boxes"}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The n-th question of a kind, without its last brace. */
static void question(const bench_scene *scene, size_t kind, size_t n, char *out, size_t size)
{
    test_rng rng = {.s = 500 + 100 * kind + n};
    double x[3], y[3];
    for (int i = 0; i < 3; i++) {
        x[i] = test_uniform(&rng, -scene->half, scene->half);
        y[i] = test_uniform(&rng, 0.5, 1.5);
    }
    if (kind == 0)
        (void)snprintf(out, size,
                       "{\"rays\":[{\"origin\":[%.9g,%.9g,%.9g],\"direction\":[%.9g,%.9g,%.9g],"
                       "\"max_distance\":50}]",
                       x[0], x[1], x[2], y[0], y[1], y[2]);
    else if (kind == 1)
        (void)snprintf(out, size,
                       "{\"shapes\":[{\"center\":[%.9g,%.9g,%.9g],"
                       "\"half_extents\":[%.9g,%.9g,%.9g]}]",
                       x[0], x[1], x[2], y[0], y[1], y[2]);
    else
        (void)snprintf(out, size, "{\"points\":[[%.9g,%.9g,%.9g]]", x[0], x[1], x[2]);
}

/* The name of the first box that the answer lists; NULL: none. */
static const char *first_box(json_t *answer, const char *list)
{
    json_t *result = json_array_get(json_object_get(answer, "results"), 0);
    json_t *first = json_array_get(json_object_get(result, list), 0);
    return json_string_value(json_is_object(first) ? json_object_get(first, "box") : first);
}

/* Makes a question and the same with `explain` of one box: every other time the first one that was
 * found. Explaining must change no result. Returns whether the box was a hit. */
static bool make_both(bench_meter *meter, const bench_scene *scene, size_t kind, size_t n,
                      load_request *out_plain, load_request *out_explained)
{
    char body[512], name[32];
    test_rng rng = {.s = 900 + n};
    question(scene, kind, n, body, sizeof body - 64);
    const size_t length = strlen(body);
    (void)snprintf(name, sizeof name, "box-%zu", 1 + test_below(&rng, scene->count));
    memcpy(body + length, "}", 2);
    *out_plain = ask(kinds[kind].what, body);
    json_t *plain = expect_same(meter, out_plain, NULL);
    const char *found = n % 2 == 0 ? first_box(plain, kinds[kind].list) : NULL;
    (void)snprintf(body + length, sizeof body - length, ",\"explain\":[\"%s\"]}",
                   found != NULL ? found : name);
    *out_explained = ask(kinds[kind].what, body);
    json_t *explained = expect_same(meter, out_explained, NULL);
    json_t *result = json_array_get(json_object_get(explained, "results"), 0);
    json_t *reason = json_incref(json_array_get(json_object_get(result, "explain"), 0));
    const char *verdict = json_string_value(json_object_get(reason, "verdict"));
    const bool hit = verdict != NULL && strcmp(verdict, "hit") == 0;
    (void)json_object_del(result, "explain");
    meter->failures += verdict == NULL || !json_equal(plain, explained) || (found != NULL && !hit);
    json_decref(reason);
    json_decref(explained);
    json_decref(plain);
    return hit;
}

static double measure_explain(bench_meter *meter, const bench_scene *scene, int rounds)
{
    double worst = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        load_request plain[ASKED], explained[ASKED];
        double cpu[2][METER_ROUNDS], p50[2] = {0, 0};
        size_t hits = 0;
        for (size_t n = 0; n < ASKED; n++)
            hits += make_both(meter, scene, kind, n, &plain[n], &explained[n]);
        meter->failures +=
            hits < ASKED / 8 || hits > ASKED * 7 / 8; /* both verdicts are measured */
        for (int i = 0; i < rounds; i++) {
            cpu[0][i] = meter_load(meter, plain, ASKED, SECONDS, &p50[0]);
            cpu[1][i] = meter_load(meter, explained, ASKED, SECONDS, &p50[1]);
        }
        const double without = meter_median(cpu[0], rounds), with = meter_median(cpu[1], rounds);
        (void)printf("%s in %d boxes: %.1f us of CPU, %.3f ms; with explain of one box %.1f us, "
                     "%.3f ms; ratio %.2f\n",
                     kinds[kind].what, BOXES, without, p50[0], with, p50[1], with / without);
        worst = with / without > worst ? with / without : worst;
        release(plain, ASKED);
        release(explained, ASKED);
    }
    return worst;
}

/* ---- With ------------------------------------------------------------------------------------ */

/* {"box-1":{"center"}, …}: the n-th poses of the first boxes. The first of them stands at
 * (n,0,0). */
static void write_poses(FILE *f, const bench_scene *scene, size_t n)
{
    test_rng rng = {.s = 700 + n};
    for (size_t i = 0; i < ENTRIES; i++) {
        const double x = test_uniform(&rng, -scene->half, scene->half);
        const double y = test_uniform(&rng, -scene->half, scene->half);
        const double z = test_uniform(&rng, -scene->half, scene->half);
        (void)fprintf(f, "%s\"box-%zu\":{\"center\":[%.9g,%.9g,%.9g]}", i > 0 ? "," : "{", i + 1,
                      i > 0 ? x : (double)n, i > 0 ? y : 0, i > 0 ? z : 0);
    }
    (void)fputc('}', f);
}

static load_request make_step(const bench_scene *scene, size_t n, bool commit)
{
    char rays[160], *body;
    size_t length;
    (void)snprintf(rays, sizeof rays,
                   "\"rays\":[{\"origin\":[%zu,40,0],\"direction\":[0,-1,0],\"max_distance\":80}]",
                   n);
    FILE *f = open_memstream(&body, &length);
    if (f == NULL)
        exit(1);
    (void)fprintf(f, commit ? "{\"pose\":" : "{%s,\"with\":{\"pose\":", rays);
    write_poses(f, scene, n);
    if (commit)
        (void)fprintf(f, ",\"queries\":[{\"kind\":\"ray\",%s}]}", rays);
    else
        (void)fputs("}}", f);
    (void)fclose(f);
    const load_request request = ask(commit ? "commit" : "query/ray", body);
    free(body);
    return request;
}

static double measure_with(bench_meter *meter, const bench_scene *scene, int rounds)
{
    load_request with[STEPS], commit[STEPS];
    double cpu[2][METER_ROUNDS], p50[2] = {0, 0};
    size_t hits = 0;
    for (size_t n = 0; n < STEPS; n++) { /* all poses are of the same boxes: the last one decides */
        with[n] = make_step(scene, n, false);
        commit[n] = make_step(scene, n, true);
        json_t *asked = expect_same(meter, &with[n], "\"results\"");
        json_t *made = expect_same(meter, &commit[n], "\"results\"");
        json_t *results = json_object_get(asked, "results");
        hits += first_box(asked, "hits") != NULL;
        meter->failures += !json_equal(
            results,
            json_object_get(json_array_get(json_object_get(made, "results"), 0), "results"));
        json_decref(asked);
        json_decref(made);
    }
    meter->failures += hits == 0;
    for (int i = 0; i < rounds; i++) {
        cpu[0][i] = meter_load(meter, with, STEPS, SECONDS, &p50[0]);
        cpu[1][i] = meter_load(meter, commit, STEPS, SECONDS, &p50[1]);
    }
    const double asked = meter_median(cpu[0], rounds), made = meter_median(cpu[1], rounds);
    (void)printf("ray in %d boxes with %d poses: %.1f us of CPU, %.3f ms; as a commit and a query "
                 "%.1f us, %.3f ms; ratio %.2f\n",
                 BOXES, ENTRIES, asked, p50[0], made, p50[1], asked / made);
    release(with, STEPS);
    release(commit, STEPS);
    return asked / made;
}

struct questions_figures questions_measure(bench_meter *meter, int rounds)
{
    bench_scene scene;
    size_t count;
    scene_make(&scene, SCENE, BOXES);
    load_request *puts = scene_puts(&scene, BOXES, &count);
    (void)meter_drop(meter, &puts[0]);
    load_request_free(&puts[0]);
    free(puts);
    struct questions_figures figures;
    figures.explain = measure_explain(meter, &scene, rounds);
    figures.with = measure_with(meter, &scene, rounds);
    scene_free(&scene);
    return figures;
}
