#include "tests/bench/service/pairs.h"

#include "tests/bench/service/scene.h"
#include "tests/proto/cbor_maker.h"
#include "tests/support/cbor.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CROWD = 100000, QUERIES = 40 };
#define SECONDS 1.0 /* of a load */

static void must(bool good)
{
    if (!good)
        exit(1);
}

/* ---- Core ------------------------------------------------------------------------------------ */

/* Returns a view of a scene of core that has the boxes. */
static struct obb_view *open_core(const bench_scene *scene, struct obb_scene **out_scene)
{
    const obb_settings settings = {.dimensions = 3, .history_commits = 4, .history_span = 100};
    obb_put *puts = calloc(scene->count, sizeof *puts);
    char(*names)[16] = calloc(scene->count, sizeof *names);
    must(puts != NULL && names != NULL);
    for (size_t i = 0; i < scene->count; i++) {
        const int length = snprintf(names[i], sizeof names[i], "box-%zu", i + 1);
        puts[i] = (obb_put){.target.name = {.bytes = names[i], .length = (size_t)length},
                            .parts = OBB_PUT_ALL,
                            .attributes = {.category = 1, .mask = UINT32_MAX},
                            .box = scene->boxes[i]};
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = scene->count};
    struct obb_arena arena = {0};
    struct obb_prepared *prepared;
    struct obb_view *view;
    obb_committed committed;
    obb_fault fault;
    must(obb_scene_create(obb_str_of("core"), &settings, 0, NULL, out_scene) == OBB_OK &&
         obb_edit_prepare(*out_scene, &edit, 1, SIZE_MAX / 2, &arena, &prepared, &fault) == OBB_OK);
    obb_edit_commit(prepared, &committed);
    must(obb_view_open(*out_scene, NULL, &view, NULL, NULL) == OBB_OK);
    obb_arena_fini(&arena);
    free(puts);
    free(names);
    return view;
}

static double cpu_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Returns microseconds per query. */
static double run_core(const struct obb_view *view, size_t *out_pairs)
{
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = 3,
                             .by_id = true,
                             .limit = SIZE_MAX,
                             .filter = {.category = UINT32_MAX, .mask = UINT32_MAX}};
    const double begun = cpu_clock();
    for (int i = 0; i < QUERIES; i++) {
        struct obb_plan *plan;
        must(obb_plan_create(view, &query, NULL, NULL, &plan) == OBB_OK &&
             obb_plan_run(plan) == OBB_OK);
        *out_pairs = obb_plan_result(plan)->pair_count;
        obb_plan_destroy(plan);
    }
    return (cpu_clock() - begun) / QUERIES;
}

/* ---- The daemon ------------------------------------------------------------------------------ */

/* {"by":"id"}, whose first answer is the expected one. */
static load_request make_question(bench_meter *meter, const bench_scene *scene, size_t *out_pairs)
{
    struct cbor_maker m = {0};
    maker_head(&m, 5, 1);
    maker_text(&m, "by", 2);
    maker_text(&m, "id", 2);
    load_request question =
        meter_request(scene->name, "query/all-pairs", "application/cbor", m.bytes, m.length);
    free(m.bytes);
    double cpu;
    question.expected = meter_send(meter, &question, &cpu, &question.expected_length);
    json_t *answer =
        question.expected != NULL ? cbor_read(question.expected, question.expected_length) : NULL;
    *out_pairs = json_array_size(json_object_get(answer, "pairs")) / 2;
    json_decref(answer);
    return question;
}

double pairs_measure(bench_meter *meter, int rounds)
{
    bench_scene crowd;
    scene_make(&crowd, "pairs", CROWD);
    size_t puts_count, pairs, of_core = 0;
    load_request *puts = scene_puts(&crowd, crowd.count, &puts_count);
    (void)meter_drop(meter, &puts[0]);
    load_request question = make_question(meter, &crowd, &pairs);
    struct obb_scene *scene;
    struct obb_view *view = open_core(&crowd, &scene);
    double daemon[METER_ROUNDS], core[METER_ROUNDS], ratio[METER_ROUNDS], p50 = 0;
    for (int i = 0; i < rounds; i++) {
        daemon[i] = meter_load(meter, &question, 1, SECONDS, &p50);
        core[i] = run_core(view, &of_core);
        ratio[i] = daemon[i] / core[i];
    }
    meter->failures += puts_count != 1 || pairs == 0 || pairs != of_core;
    const double median = meter_median(ratio, rounds);
    (void)printf("all %zu pairs of %d boxes by id: service, CBOR, %.2f ms, core %.2f ms of CPU; "
                 "%.2f; p50 %.2f ms\n",
                 pairs, CROWD, meter_median(daemon, rounds) / 1e3, meter_median(core, rounds) / 1e3,
                 median, p50);
    obb_view_close(view);
    obb_scene_destroy(scene);
    load_request_free(&question);
    load_request_free(&puts[0]);
    free(puts);
    scene_free(&crowd);
    return median;
}
