#include "tests/bench/service/scene.h"

#include "tests/proto/cbor_maker.h"
#include "tests/support/cbor.h"

#include <stdio.h>

#define UNSURE     1e-3 /* scene units: gaps that floats may misjudge */
#define UNSURE_RAY 1e-2
#define REACH      50.0

static void *must(void *memory)
{
    if (memory == NULL) {
        (void)fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static double thousandth(double x) { return round(x * 1000) / 1000; }

/* Numbers of few digits, as clients send them, and floats at that, so that every engine has the
 * same. Rotations are floats with all their digits, as clients write them who compute. */
static double sixteenth(double x) { return round(x * 16) / 16; }

static obb_quat random_turn(test_rng *rng)
{
    double q[4], square = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = test_uniform(rng, -1, 1);
        square += q[i] * q[i];
    }
    const double scale = 1 / sqrt(square);
    return (obb_quat){(double)(float)(q[0] * scale), (double)(float)(q[1] * scale),
                      (double)(float)(q[2] * scale), (double)(float)(q[3] * scale)};
}

static obb_vec3 random_place(test_rng *rng, double half)
{
    const double x = test_uniform(rng, -half, half), y = test_uniform(rng, -half, half);
    return (obb_vec3){sixteenth(x), sixteenth(y), sixteenth(test_uniform(rng, -half, half))};
}

static obb_box random_box(test_rng *rng, double half)
{
    const double x = test_uniform(rng, 0.5, 1.5), y = test_uniform(rng, 0.5, 1.5);
    return (obb_box){
        .center = random_place(rng, half),
        .half_extents = {thousandth(x), thousandth(y), thousandth(test_uniform(rng, 0.5, 1.5))},
        .rotation = random_turn(rng)};
}

static obb_solid solid_of(const obb_box *box)
{
    obb_box kept;
    if (obb_box_from_pose(box->center, box->half_extents, box->rotation, 0, 3, &kept) != OBB_OK)
        abort();
    return obb_solid_from_box(&kept, 3);
}

void scene_make(bench_scene *scene, const char *name, size_t count)
{
    *scene = (bench_scene){.name = name, .count = count, .half = 1.7 * cbrt((double)count)};
    scene->boxes = must(calloc(count, sizeof *scene->boxes));
    scene->solids = must(calloc(count, sizeof *scene->solids));
    test_rng rng = {.s = 20261120 + count};
    for (size_t i = 0; i < count; i++) {
        scene->boxes[i] = random_box(&rng, scene->half);
        scene->solids[i] = solid_of(&scene->boxes[i]);
    }
}

void scene_free(bench_scene *scene)
{
    free(scene->boxes);
    free(scene->solids);
    *scene = (bench_scene){0};
}

/* ---- Requests -------------------------------------------------------------------------------- */

static load_request request_of(const bench_scene *scene, const char *method, const char *what,
                               const char *type, const void *body, size_t length)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/%s", scene->name, what);
    return load_request_make(method, path, type, type, body, length);
}

/* To the last bit: 17 digits tell any two doubles apart. */
static void write_pose(FILE *f, obb_vec3 center, obb_quat q)
{
    (void)fprintf(f, "\"center\":[%.9g,%.9g,%.9g],\"rotation\":[%.17g,%.17g,%.17g,%.17g]", center.x,
                  center.y, center.z, q.x, q.y, q.z, q.w);
}

/* The members of a box. */
static void write_members(FILE *f, const obb_box *box)
{
    write_pose(f, box->center, box->rotation);
    (void)fprintf(f, ",\"half_extents\":[%.9g,%.9g,%.9g]", box->half_extents.x, box->half_extents.y,
                  box->half_extents.z);
}

static void write_box(FILE *f, const obb_box *box)
{
    (void)fputc('{', f);
    write_members(f, box);
    (void)fputc('}', f);
}

load_request *scene_puts(const bench_scene *scene, size_t size, size_t *out_count)
{
    *out_count = (scene->count + size - 1) / size;
    load_request *requests = must(calloc(*out_count, sizeof *requests));
    for (size_t r = 0; r < *out_count; r++) {
        char *text;
        size_t length;
        FILE *f = must(open_memstream(&text, &length));
        (void)fputs("{\"put\":{", f);
        for (size_t i = r * size; i < (r + 1) * size && i < scene->count; i++) {
            (void)fprintf(f, "%s\"box-%zu\":", i > r * size ? "," : "", i + 1);
            write_box(f, &scene->boxes[i]);
        }
        (void)fputs("}}", f);
        (void)fclose(f);
        requests[r] = request_of(scene, "POST", "commit", "application/json", text, length);
        free(text);
    }
    return requests;
}

load_request scene_import(const bench_scene *scene, const char *name)
{
    char *text, path[128];
    size_t length;
    FILE *f = must(open_memstream(&text, &length));
    (void)fputs(
        "{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":3,\"history\":{\"span\":500,"
        "\"commits\":64}}\n",
        f);
    for (size_t i = 0; i < scene->count; i++) {
        (void)fprintf(f, "{\"name\":\"box-%zu\",", i + 1);
        write_members(f, &scene->boxes[i]);
        (void)fputs("}\n", f);
    }
    (void)fclose(f);
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/import", name);
    const load_request request =
        load_request_make("POST", path, "application/x-ndjson", NULL, text, length);
    free(text);
    return request;
}

static size_t box_of(const bench_scene *scene, size_t n)
{
    test_rng rng = {.s = 1000 + n};
    return test_below(&rng, scene->count);
}

load_request scene_get(const bench_scene *scene, size_t n)
{
    char what[64];
    (void)snprintf(what, sizeof what, "boxes/box-%zu", box_of(scene, n) + 1);
    return request_of(scene, "GET", what, "application/json", NULL, 0);
}

/* Every other pair is one of neighbours. */
static void pair_of(const bench_scene *scene, size_t n, size_t out[static 2])
{
    test_rng rng = {.s = 2000 + n};
    out[0] = test_below(&rng, scene->count);
    out[1] = (out[0] + 1 + test_below(&rng, scene->count - 1)) % scene->count;
    if (n % 2 != 0)
        return;
    double best = HUGE_VAL;
    for (size_t i = 0; i < scene->count; i++) {
        const obb_vec3 d = obb_sub(scene->boxes[i].center, scene->boxes[out[0]].center);
        const double square = obb_dot(d, d);
        if (i != out[0] && square < best) {
            best = square;
            out[1] = i;
        }
    }
}

load_request scene_pair(const bench_scene *scene, size_t n)
{
    size_t pair[2];
    pair_of(scene, n, pair);
    char body[128];
    const int length = snprintf(body, sizeof body, "{\"pairs\":[[\"box-%zu\",\"box-%zu\"]]}",
                                pair[0] + 1, pair[1] + 1);
    return request_of(scene, "POST", "query/pairs", "application/json", body, (size_t)length);
}

static obb_box shape_of(const bench_scene *scene, size_t n)
{
    test_rng rng = {.s = 3000 + n};
    return random_box(&rng, scene->half);
}

load_request scene_overlap(const bench_scene *scene, size_t n)
{
    const obb_box shape = shape_of(scene, n);
    char *text;
    size_t length;
    FILE *f = must(open_memstream(&text, &length));
    (void)fputs("{\"shapes\":[", f);
    write_box(f, &shape);
    (void)fputs("]}", f);
    (void)fclose(f);
    const load_request request =
        request_of(scene, "POST", "query/overlap", "application/json", text, length);
    free(text);
    return request;
}

load_request scene_all_pairs(const bench_scene *scene)
{
    return request_of(scene, "POST", "query/all-pairs", "application/json", "{}", 2);
}

struct ray {
    obb_vec3 origin, direction;
};

struct tick {
    obb_box *boxes;
    struct ray rays[SCENE_RAYS];
};

static struct tick tick_of(const bench_scene *scene, size_t n)
{
    test_rng rng = {.s = 4000 + n};
    struct tick tick = {.boxes = must(calloc(scene->count, sizeof *tick.boxes))};
    for (size_t i = 0; i < scene->count; i++) { /* a step away from where it was put */
        const obb_vec3 step = random_place(&rng, 1);
        tick.boxes[i] = scene->boxes[i];
        tick.boxes[i].center = obb_add(tick.boxes[i].center, step);
        tick.boxes[i].rotation = random_turn(&rng);
    }
    for (size_t i = 0; i < SCENE_RAYS; i++) {
        tick.rays[i].origin = random_place(&rng, scene->half);
        tick.rays[i].direction = random_place(&rng, 1);
        if (tick.rays[i].direction.x == 0)
            tick.rays[i].direction.x = 1;
    }
    return tick;
}

static load_request tick_json(const bench_scene *scene, const struct tick *tick)
{
    char *text;
    size_t length;
    FILE *f = must(open_memstream(&text, &length));
    (void)fputs("{\"pose\":{", f);
    for (size_t i = 0; i < scene->count; i++) {
        (void)fprintf(f, "%s\"box-%zu\":{", i > 0 ? "," : "", i + 1);
        write_pose(f, tick->boxes[i].center, tick->boxes[i].rotation);
        (void)fputc('}', f);
    }
    (void)fputs("},\"queries\":[{\"kind\":\"ray\",\"rays\":[", f);
    for (size_t i = 0; i < SCENE_RAYS; i++) {
        const struct ray *r = &tick->rays[i];
        (void)fprintf(f,
                      "%s{\"origin\":[%.9g,%.9g,%.9g],\"direction\":[%.9g,%.9g,%.9g],"
                      "\"max_distance\":%g}",
                      i > 0 ? "," : "", r->origin.x, r->origin.y, r->origin.z, r->direction.x,
                      r->direction.y, r->direction.z, REACH);
    }
    (void)fputs("]}]}", f);
    (void)fclose(f);
    const load_request request =
        request_of(scene, "POST", "commit", "application/json", text, length);
    free(text);
    return request;
}

static void maker_key(struct cbor_maker *m, const char *key) { maker_text(m, key, strlen(key)); }

static void maker_vector(struct cbor_maker *m, const char *key, obb_vec3 v)
{
    const double values[3] = {v.x, v.y, v.z};
    maker_key(m, key);
    maker_typed(m, MAKER_F32, values, 3);
}

static load_request tick_cbor(const bench_scene *scene, const struct tick *tick)
{
    const size_t count = scene->count;
    struct cbor_maker m = {0};
    double *values = must(malloc(count * 4 * sizeof *values));
    maker_head(&m, 5, 2);
    maker_key(&m, "pose");
    maker_head(&m, 5, 3);
    maker_key(&m, "ids");
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(i + 1); /* as they were put, in this order */
    maker_typed(&m, MAKER_U32, values, count);
    maker_key(&m, "centers");
    for (size_t i = 0; i < count; i++) {
        values[3 * i] = tick->boxes[i].center.x;
        values[3 * i + 1] = tick->boxes[i].center.y;
        values[3 * i + 2] = tick->boxes[i].center.z;
    }
    maker_typed(&m, MAKER_F32, values, 3 * count);
    maker_key(&m, "rotations");
    for (size_t i = 0; i < count; i++) {
        values[4 * i] = tick->boxes[i].rotation.x;
        values[4 * i + 1] = tick->boxes[i].rotation.y;
        values[4 * i + 2] = tick->boxes[i].rotation.z;
        values[4 * i + 3] = tick->boxes[i].rotation.w;
    }
    maker_typed(&m, MAKER_F32, values, 4 * count);
    maker_key(&m, "queries");
    maker_head(&m, 4, 1);
    maker_head(&m, 5, 2);
    maker_key(&m, "kind");
    maker_key(&m, "ray");
    maker_key(&m, "rays");
    maker_head(&m, 4, SCENE_RAYS);
    for (size_t i = 0; i < SCENE_RAYS; i++) {
        maker_head(&m, 5, 3);
        maker_vector(&m, "origin", tick->rays[i].origin);
        maker_vector(&m, "direction", tick->rays[i].direction);
        maker_key(&m, "max_distance");
        maker_number(&m, REACH);
    }
    free(values);
    const load_request request =
        request_of(scene, "POST", "commit", "application/cbor", m.bytes, m.length);
    free(m.bytes);
    return request;
}

load_request scene_tick(const bench_scene *scene, size_t n, bool cbor)
{
    struct tick tick = tick_of(scene, n);
    const load_request request = cbor ? tick_cbor(scene, &tick) : tick_json(scene, &tick);
    free(tick.boxes);
    return request;
}

/* ---- What is right --------------------------------------------------------------------------- */

static json_t *json_of(const char *body, size_t length)
{
    return json_loadb(body, length, 0, NULL);
}

/* The only result of the batch. */
static json_t *result_of(json_t *answer)
{
    json_t *results = json_object_get(answer, "results");
    return json_array_size(results) == 1 ? json_array_get(results, 0) : NULL;
}

/* The index of the box of that name; the scene's count when there is none. */
static size_t index_of(const bench_scene *scene, json_t *name)
{
    const char *text = json_string_value(name);
    char *end;
    if (text == NULL || strncmp(text, "box-", 4) != 0)
        return scene->count;
    const size_t number = strtoul(text + 4, &end, 10);
    return *end == '\0' && number >= 1 && number <= scene->count ? number - 1 : scene->count;
}

bool scene_get_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    const obb_box *box = &scene->boxes[box_of(scene, n)];
    const double wanted[] = {box->center.x, box->center.y, box->center.z};
    json_t *answer = json_of(body, length);
    const json_t *center = json_object_get(answer, "center");
    bool right = json_array_size(center) == 3;
    for (size_t i = 0; i < 3 && right; i++)
        right = json_number_value(json_array_get(center, i)) == wanted[i];
    json_decref(answer);
    return right;
}

bool scene_pair_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    size_t pair[2];
    pair_of(scene, n, pair);
    const double gap = obb_sat_separation(&scene->solids[pair[0]], &scene->solids[pair[1]]).gap;
    json_t *answer = json_of(body, length);
    const json_t *overlap = json_object_get(result_of(answer), "overlap");
    const bool right =
        json_is_boolean(overlap) && (fabs(gap) < UNSURE || json_is_true(overlap) == (gap <= 0));
    json_decref(answer);
    return right;
}

static double radius_of(const obb_solid *solid)
{
    return sqrt(obb_dot(solid->half_extents, solid->half_extents));
}

static double gap_of(const obb_solid *a, const obb_solid *b)
{
    const obb_vec3 d = obb_sub(b->center, a->center);
    const double apart = sqrt(obb_dot(d, d)) - radius_of(a) - radius_of(b);
    return apart > UNSURE ? apart : obb_sat_separation(a, b).gap;
}

bool scene_overlap_right(const bench_scene *scene, size_t n, const char *body, size_t length)
{
    const obb_box shape = shape_of(scene, n);
    const obb_solid solid = solid_of(&shape);
    json_t *answer = json_of(body, length);
    json_t *boxes = json_object_get(result_of(answer), "boxes");
    bool right = json_is_array(boxes);
    bool *listed = must(calloc(scene->count + 1, sizeof *listed));
    for (size_t i = 0; i < json_array_size(boxes); i++) {
        const size_t index = index_of(scene, json_array_get(boxes, i));
        right = right && index < scene->count && !listed[index];
        listed[index] = true;
    }
    for (size_t i = 0; i < scene->count && right; i++) {
        const double gap = gap_of(&solid, &scene->solids[i]);
        right = fabs(gap) < UNSURE || listed[i] == (gap <= 0);
    }
    free(listed);
    json_decref(answer);
    return right;
}

struct low {
    double x;
    size_t index;
};

static int by_low(const void *a, const void *b)
{
    const double x = ((const struct low *)a)->x, y = ((const struct low *)b)->x;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t key_of(const bench_scene *scene, size_t a, size_t b)
{
    return a < b ? a * (uint64_t)scene->count + b : b * (uint64_t)scene->count + a;
}

/* All pairs that must be there are among the `count` sorted keys; *out_maybe: those that may be. */
static bool all_listed(const bench_scene *scene, const uint64_t *keys, size_t count,
                       size_t *out_maybe, size_t *out_sure)
{
    struct low *lows = must(calloc(scene->count, sizeof *lows));
    bool right = true;
    *out_maybe = *out_sure = 0;
    for (size_t i = 0; i < scene->count; i++)
        lows[i] =
            (struct low){.x = scene->solids[i].center.x - radius_of(&scene->solids[i]), .index = i};
    qsort(lows, scene->count, sizeof *lows, by_low);
    for (size_t i = 0; i < scene->count && right; i++) {
        const obb_solid *a = &scene->solids[lows[i].index];
        const double end = a->center.x + radius_of(a) + UNSURE;
        for (size_t k = i + 1; k < scene->count && lows[k].x <= end && right; k++) {
            const double gap = gap_of(a, &scene->solids[lows[k].index]);
            const uint64_t key = key_of(scene, lows[i].index, lows[k].index);
            const bool is_listed = bsearch(&key, keys, count, sizeof key, by_number) != NULL;
            *out_maybe += is_listed && fabs(gap) < UNSURE;
            *out_sure += gap <= -UNSURE;
            right = fabs(gap) < UNSURE || is_listed == (gap <= 0);
        }
    }
    free(lows);
    return right;
}

bool scene_all_pairs_right(const bench_scene *scene, const char *body, size_t length)
{
    json_t *answer = json_of(body, length);
    const json_t *pairs = json_object_get(answer, "pairs");
    const size_t count = json_array_size(pairs);
    uint64_t *keys = must(calloc(count + 1, sizeof *keys));
    bool right =
        count > 0 && json_integer_value(json_object_get(answer, "count")) == (json_int_t)count;
    for (size_t i = 0; i < count && right; i++) {
        json_t *pair = json_array_get(pairs, i);
        const size_t a = index_of(scene, json_array_get(pair, 0));
        const size_t b = index_of(scene, json_array_get(pair, 1));
        right = a < scene->count && b < scene->count && a != b;
        keys[i] = key_of(scene, a, b);
    }
    qsort(keys, count, sizeof *keys, by_number);
    for (size_t i = 1; i < count && right; i++)
        right = keys[i] != keys[i - 1];
    size_t maybe = 0, sure = 0;
    right = right && all_listed(scene, keys, count, &maybe, &sure) && maybe + sure == count;
    free(keys);
    json_decref(answer);
    return right;
}

/* The distance at which the ray enters the box, HUGE_VAL when it does not within reach. */
static double ray_enters(const struct ray *ray, const obb_solid *box)
{
    const double size = sqrt(obb_dot(ray->direction, ray->direction));
    const obb_vec3 from = obb_sub(ray->origin, box->center);
    const double half[] = {box->half_extents.x, box->half_extents.y, box->half_extents.z};
    double enter = 0, leave = REACH;
    for (int i = 0; i < 3; i++) {
        const double o = obb_dot(from, box->axis[i]);
        const double d = obb_dot(ray->direction, box->axis[i]) / size;
        const double a = (-half[i] - o) / d, b = (half[i] - o) / d;
        enter = fmax(enter, fmin(a, b));
        leave = fmin(leave, fmax(a, b));
    }
    return enter <= leave ? enter : HUGE_VAL;
}

static bool hit_right(const bench_scene *scene, const struct ray *ray, const obb_solid *solids,
                      json_t *result)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < scene->count; i++)
        best = fmin(best, ray_enters(ray, &solids[i]));
    json_t *hits = json_object_get(result, "hits"), *hit = json_array_get(hits, 0);
    if (!json_is_array(hits) || json_array_size(hits) > 1)
        return false;
    if (hit == NULL) { /* none, or it grazes, or at the end of its reach */
        double inner = HUGE_VAL;
        for (size_t i = 0; i < scene->count; i++) {
            obb_solid smaller = solids[i];
            smaller.half_extents.x -= UNSURE;
            smaller.half_extents.y -= UNSURE;
            smaller.half_extents.z -= UNSURE;
            inner = fmin(inner, ray_enters(ray, &smaller));
        }
        return inner > REACH - UNSURE_RAY;
    }
    const size_t index = index_of(scene, json_object_get(hit, "box"));
    const double distance = json_number_value(json_object_get(hit, "distance"));
    if (index == scene->count || fabs(distance - best) > UNSURE_RAY)
        return false;
    obb_solid larger = solids[index];
    larger.half_extents.x += UNSURE;
    larger.half_extents.y += UNSURE;
    larger.half_extents.z += UNSURE;
    return ray_enters(ray, &larger) <= distance + UNSURE_RAY;
}

bool scene_tick_right(const bench_scene *scene, size_t n, bool cbor, const char *body,
                      size_t length)
{
    struct tick tick = tick_of(scene, n);
    obb_solid *solids = must(calloc(scene->count, sizeof *solids));
    for (size_t i = 0; i < scene->count; i++)
        solids[i] = solid_of(&tick.boxes[i]);
    json_t *answer = cbor ? cbor_read(body, length) : json_of(body, length);
    const json_t *results = json_object_get(result_of(answer), "results");
    bool right = json_integer_value(json_object_get(answer, "posed")) == (json_int_t)scene->count &&
                 json_array_size(results) == SCENE_RAYS;
    size_t hits = 0;
    for (size_t i = 0; i < SCENE_RAYS && right; i++) {
        json_t *result = json_array_get(results, i);
        right = hit_right(scene, &tick.rays[i], solids, result);
        hits += json_array_size(json_object_get(result, "hits"));
    }
    json_decref(answer);
    free(solids);
    free(tick.boxes);
    return right && hits > SCENE_RAYS / 4; /* all misses would prove nothing */
}
