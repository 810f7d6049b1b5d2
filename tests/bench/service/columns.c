#include "tests/bench/service/columns.h"

#include "tests/bench/service/scene.h"
#include "tests/proto/cbor_maker.h"
#include "tests/support/cbor.h"

#include <stdio.h>

enum { CROWD = 100000, FEW = 10000, RAYS = 10000, STATES = 20 };
#define FIRST 1e6  /* ms: the time of the first of the states, after the clock of any daemon */
#define STEP  16.0 /* ms between two commits */

/* ---- Bodies ---------------------------------------------------------------------------------- */

static void put_key(struct cbor_maker *m, const char *key) { maker_text(m, key, strlen(key)); }

static void put_column(struct cbor_maker *m, const char *key, const bench_scene *scene, int width,
                       const double *(*row)(const obb_box *box))
{
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI) */
    double *values = malloc(scene->count * (size_t)width * sizeof *values);
    if (values == NULL)
        exit(1);
    for (size_t i = 0; i < scene->count; i++)
        memcpy(values + i * (size_t)width, row(&scene->boxes[i]), (size_t)width * sizeof *values);
    put_key(m, key);
    maker_typed(m, MAKER_F64, values, scene->count * (size_t)width);
    free(values);
}

static const double *center_of(const obb_box *box) { return &box->center.x; }
static const double *extents_of(const obb_box *box) { return &box->half_extents.x; }
static const double *rotation_of(const obb_box *box) { return &box->rotation.x; }

/* {"put":{"names","centers","half_extents","rotations"}} */
static struct cbor_maker put_body(const bench_scene *scene)
{
    struct cbor_maker m = {0};
    char name[32];
    maker_head(&m, 5, 1);
    put_key(&m, "put");
    maker_head(&m, 5, 4);
    put_key(&m, "names");
    maker_head(&m, 4, scene->count);
    for (size_t i = 0; i < scene->count; i++) {
        (void)snprintf(name, sizeof name, "box-%zu", i + 1);
        put_key(&m, name);
    }
    put_column(&m, "centers", scene, 3, center_of);
    put_column(&m, "half_extents", scene, 3, extents_of);
    put_column(&m, "rotations", scene, 4, rotation_of);
    return m;
}

/* {"time","pose":{"ids","centers"}} and, if so, "queries":[all pairs by id]: each box a little
 * beside its place. */
static struct cbor_maker pose_body(const bench_scene *scene, double time, bool ask)
{
    struct cbor_maker m = {0};
    test_rng rng = {.s = 7 + (uint64_t)time};
    double *values = malloc(3 * scene->count * sizeof *values);
    if (values == NULL)
        exit(1);
    maker_head(&m, 5, ask ? 3 : 2);
    put_key(&m, "time");
    maker_number(&m, time);
    put_key(&m, "pose");
    maker_head(&m, 5, 2);
    put_key(&m, "ids");
    for (size_t i = 0; i < scene->count; i++)
        values[i] = (double)(i + 1);
    maker_typed(&m, MAKER_U32, values, scene->count);
    put_key(&m, "centers");
    for (size_t i = 0; i < 3 * scene->count; i++)
        values[i] = center_of(&scene->boxes[i / 3])[i % 3] + test_uniform(&rng, -0.5, 0.5);
    maker_typed(&m, MAKER_F64, values, 3 * scene->count);
    if (ask) {
        put_key(&m, "queries");
        maker_head(&m, 4, 1);
        maker_head(&m, 5, 2);
        put_key(&m, "kind");
        put_key(&m, "all-pairs");
        put_key(&m, "by");
        put_key(&m, "id");
    }
    free(values);
    return m;
}

/* Rays through the scene: with a time each, or all at the time `at`. */
static struct cbor_maker ray_body(const bench_scene *scene, bool timed, double at)
{
    static const char *const keys[] = {"origins", "targets"};
    struct cbor_maker m = {0};
    static double values[3 * RAYS];
    test_rng rng = {.s = 99};
    maker_head(&m, 5, timed ? 2 : 3);
    put_key(&m, "columns");
    maker_put(&m, "\xf5", 1);
    put_key(&m, "rays");
    maker_head(&m, 5, timed ? 3 : 2);
    for (int k = 0; k < 2; k++) {
        /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
        for (size_t i = 0; i < 3 * RAYS; i++)
            values[i] = test_uniform(&rng, -scene->half, scene->half);
        put_key(&m, keys[k]);
        maker_typed(&m, MAKER_F64, values, (size_t)3 * RAYS);
    }
    if (timed) {
        for (size_t i = 0; i < RAYS; i++)
            values[i] = FIRST + test_uniform(&rng, 0, STATES * STEP);
        put_key(&m, "times");
        maker_typed(&m, MAKER_F64, values, RAYS);
        return m;
    }
    put_key(&m, "at");
    maker_head(&m, 5, 1);
    put_key(&m, "time");
    maker_number(&m, at);
    return m;
}

/* ---- Measures -------------------------------------------------------------------------------- */

static double measure_puts(bench_meter *meter, const bench_scene *crowd, int rounds)
{
    double map[METER_ROUNDS], columns[METER_ROUNDS];
    struct cbor_maker m = put_body(crowd);
    for (int i = 0; i < rounds; i++) {
        char name[2][32];
        bench_scene other = *crowd;
        size_t count, length;
        (void)snprintf(name[0], sizeof name[0], "map-%d", i);
        (void)snprintf(name[1], sizeof name[1], "columns-%d", i);
        other.name = name[0];
        load_request *puts = scene_puts(&other, crowd->count, &count);
        load_request in_columns =
            meter_request(name[1], "commit", "application/cbor", m.bytes, m.length);
        map[i] = meter_drop(meter, &puts[0]);
        char *body = meter_send(meter, &in_columns, &columns[i], &length);
        json_t *answer = body != NULL ? cbor_read(body, length) : NULL;
        meter->failures +=
            json_array_size(json_object_get(answer, "ids")) != crowd->count || count != 1;
        if (i == 0)
            meter_compare(meter, name[0], name[1]);
        json_decref(answer);
        free(body);
        load_request_free(&puts[0]);
        load_request_free(&in_columns);
        free(puts);
    }
    const double by_map = meter_median(map, rounds), by_columns = meter_median(columns, rounds);
    (void)printf("put of 100000 boxes: JSON map %.1f ms, CBOR columns %.1f ms of CPU\n", by_map,
                 by_columns);
    free(m.bytes);
    return by_columns / by_map;
}

static double send_poses(bench_meter *meter, const bench_scene *crowd, const char *name,
                         double time, bool ask)
{
    struct cbor_maker m = pose_body(crowd, time, ask);
    load_request request = meter_request(name, "commit", "application/cbor", m.bytes, m.length);
    const double cpu = meter_drop(meter, &request);
    load_request_free(&request);
    free(m.bytes);
    return cpu;
}

static double measure_poses(bench_meter *meter, const bench_scene *crowd, int rounds)
{
    static const char name[] = "columns-0"; /* whose ids are 1 to 100,000 */
    struct cbor_maker m = {0};
    double poses[METER_ROUNDS], pairs[METER_ROUNDS], both[METER_ROUNDS];
    maker_head(&m, 5, 1);
    put_key(&m, "by");
    put_key(&m, "id");
    load_request ask =
        meter_request(name, "query/all-pairs", "application/cbor", m.bytes, m.length);
    for (int i = -1; i < rounds; i++) { /* the first round warms up */
        const double time = 1e6 + 2e3 * i, alone = send_poses(meter, crowd, name, time, false);
        const double asked = meter_drop(meter, &ask);
        const double together = send_poses(meter, crowd, name, time + 1e3, true);
        if (i >= 0) {
            poses[i] = alone;
            pairs[i] = asked;
            both[i] = together;
        }
    }
    const double p = meter_median(poses, rounds), a = meter_median(pairs, rounds),
                 b = meter_median(both, rounds);
    (void)printf("100000 poses %.1f ms, all pairs %.1f ms, both in one commit %.1f ms of CPU\n", p,
                 a, b);
    load_request_free(&ask);
    free(m.bytes);
    return b / (p + a);
}

/* Sends the same rays a few times. Returns the mean of one, without pauses, and counts the hits of
 * the first. */
static double send_rays(bench_meter *meter, load_request *request, size_t *out_hits)
{
    enum { TIMES = 10 };
    const double before = server_cpu(meter->obbd);
    for (int i = 0; i < TIMES; i++) {
        size_t length = 0;
        char *body = load_exchange(&meter->obbd->tcp, request, &length);
        meter->checked++;
        meter->failures += body == NULL;
        json_t *answer = i == 0 && body != NULL ? cbor_read(body, length) : NULL;
        const json_t *columns = json_object_get(answer, "columns");
        for (size_t k = 0; i == 0 && k < json_array_size(json_object_get(columns, "boxes")); k++)
            *out_hits +=
                json_integer_value(json_array_get(json_object_get(columns, "boxes"), k)) != 0;
        json_decref(answer);
        free(body);
    }
    return (server_cpu(meter->obbd) - before) * 1e3 / TIMES;
}

static double measure_rays(bench_meter *meter, int rounds)
{
    static const char name[] = "rays";
    static const char history[] = "{\"history\":{\"span\":10000,\"commits\":64}}";
    bench_scene scene;
    scene_make(&scene, name, FEW);
    struct cbor_maker put = put_body(&scene);
    load_request make = load_request_make("PUT", "/v1/scenes/rays", "application/json", NULL,
                                          history, sizeof history - 1);
    load_request fill = meter_request(name, "commit", "application/cbor", put.bytes, put.length);
    (void)meter_drop(meter, &make);
    (void)meter_drop(meter, &fill);
    for (int i = 0; i <= STATES; i++)
        (void)send_poses(meter, &scene, name, FIRST + STEP * i, false);
    struct cbor_maker timed = ray_body(&scene, true, 0),
                      alone = ray_body(&scene, false, FIRST + STATES * STEP / 2 + 7);
    load_request at_times =
        meter_request(name, "query/ray", "application/cbor", timed.bytes, timed.length);
    load_request at_one =
        meter_request(name, "query/ray", "application/cbor", alone.bytes, alone.length);
    const double cold = meter_drop(meter, &at_times);
    double many[METER_ROUNDS], one[METER_ROUNDS];
    size_t hits[2] = {0, 0};
    for (int i = 0; i < rounds; i++) {
        one[i] = send_rays(meter, &at_one, &hits[0]);
        many[i] = send_rays(meter, &at_times, &hits[1]);
    }
    /* the same rays through boxes that hardly moved */
    meter->failures += hits[0] < RAYS / 4 || hits[1] < RAYS / 4;
    const double m = meter_median(many, rounds), o = meter_median(one, rounds);
    (void)printf(
        "10000 rays: at one time %.2f ms, at 10000 times %.2f ms of CPU, the first time %.2f "
        "ms\n",
        o, m, cold);
    load_request_free(&make);
    load_request_free(&fill);
    load_request_free(&at_times);
    load_request_free(&at_one);
    free(put.bytes);
    free(timed.bytes);
    free(alone.bytes);
    scene_free(&scene);
    return m / o;
}

struct columns_figures columns_measure(bench_meter *meter, int rounds)
{
    bench_scene crowd;
    scene_make(&crowd, "crowd", CROWD);
    struct columns_figures figures;
    figures.put = measure_puts(meter, &crowd, rounds);
    figures.poses = measure_poses(meter, &crowd, rounds);
    figures.rays = measure_rays(meter, rounds);
    scene_free(&crowd);
    return figures;
}
