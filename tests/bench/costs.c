/* Measures the time of queries and commits, beside the estimate of obb_query_cost. The constants of
 * that function, and the limits of server/scenes/loop_time.h that decide between loop and pool,
 * come from these figures. Best of several runs, one thread, as CSV. */
#include "proto/wire.h"
#include "tests/bench/service/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_SECONDS 0.02 /* of measuring a row */

struct rig {
    bench_scene boxes;
    struct obb_scene *scene;
    struct obb_arena arena;
    double clock_ms;
};

static void require(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static obb_str name_of(char room[static 32], size_t i)
{
    const int length = snprintf(room, 32, "box-%zu", i + 1);
    return (obb_str){.bytes = room, .length = (size_t)length};
}

/* Encodes what the prepared edit does, as a durable scene does for its journal. */
static void encode(const struct obb_prepared *prepared)
{
    struct obb_arena scratch;
    struct wire_buf bytes = {0};
    wire_record record = {.kind = WIRE_RECORD_COMMIT};
    obb_arena_init(&scratch);
    require(obb_prepared_effects(prepared, &scratch, &record.effects) == OBB_OK, "effects");
    wire_record_write(&record, 3, &bytes);
    require(!bytes.failed, "memory");
    wire_buf_fini(&bytes);
    obb_arena_fini(&scratch);
}

/* One commit; seconds. */
static double commit(struct rig *rig, const obb_edit *edit, bool encoded)
{
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    obb_arena_reset(&rig->arena);
    const double start = load_clock();
    require(obb_edit_prepare(rig->scene, edit, rig->clock_ms += 16, SIZE_MAX / 2, &rig->arena,
                             &prepared, &fault) == OBB_OK,
            "a commit");
    if (encoded)
        encode(prepared);
    obb_edit_commit(prepared, &committed);
    return load_clock() - start;
}

static void fill(struct rig *rig, size_t count)
{
    scene_make(&rig->boxes, "costs", count);
    const obb_settings settings = {.dimensions = 3, .history_span = 500, .history_commits = 64};
    require(obb_scene_create(obb_str_of("costs"), &settings, 0, NULL, &rig->scene) == OBB_OK,
            "a scene");
    obb_put *puts = calloc(count, sizeof *puts);
    char(*names)[32] = calloc(count, sizeof *names);
    require(puts != NULL && names != NULL, "memory");
    for (size_t i = 0; i < count; i++) {
        puts[i] = (obb_put){.target.name = name_of(names[i], i),
                            .parts = OBB_PUT_ALL,
                            .attributes = {.category = 1, .mask = UINT32_MAX}};
        const obb_box *box = &rig->boxes.boxes[i];
        require(obb_box_from_pose(box->center, box->half_extents, box->rotation, 0, 3,
                                  &puts[i].box) == OBB_OK,
                "a box");
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = count};
    const double took = commit(rig, &edit, false);
    (void)printf("put,%zu,%zu,,%.0f,,,,\n", count, count, took * 1e9);
    free(puts);
    free(names);
}

/* ---- Queries, from their JSON to their answer's ---------------------------------------------- */

struct row {
    const char *name;
    obb_query_kind kind;
    const char *member;  /* of the body: the list of items */
    const char *options; /* more members, each behind a comma */
    void (*item)(FILE *out, const bench_scene *scene, test_rng *rng);
};

static void vector(FILE *out, const char *key, test_rng *rng, double half)
{
    (void)fprintf(out, "%s[%.3f,", key, test_uniform(rng, -half, half));
    (void)fprintf(out, "%.3f,", test_uniform(rng, -half, half));
    (void)fprintf(out, "%.3f]", test_uniform(rng, -half, half));
}

static void pair_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    const size_t a = test_below(rng, scene->count), b = test_below(rng, scene->count);
    (void)fprintf(out, "[\"box-%zu\",\"box-%zu\"]", a + 1, b + 1);
}

static void shape_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    vector(out, "{\"center\":", rng, scene->half);
    (void)fprintf(out, ",\"half_extents\":[1,1,1],\"rotation\":[0.5,0.5,0.5,0.5]}");
}

static void large_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    vector(out, "{\"center\":", rng, scene->half);
    (void)fprintf(out, ",\"half_extents\":[%.3f,%.3f,%.3f]}", scene->half / 2, scene->half / 2,
                  scene->half / 2);
}

static void point_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    vector(out, "", rng, scene->half);
}

static void ray_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    vector(out, "{\"origin\":", rng, scene->half);
    vector(out, ",\"direction\":", rng, 1);
    (void)fprintf(out, ",\"max_distance\":50}");
}

static void sweep_item(FILE *out, const bench_scene *scene, test_rng *rng)
{
    (void)fputs("{\"box\":", out);
    shape_item(out, scene, rng);
    vector(out, ",\"motion\":", rng, 20);
    (void)fputc('}', out);
}

static const struct row rows[] = {
    {"pairs", OBB_QUERY_PAIRS, "pairs", "", pair_item},
    {"pairs want mtv", OBB_QUERY_PAIRS, "pairs", ",\"want\":[\"mtv\",\"relation\"]", pair_item},
    {"pairs want distance", OBB_QUERY_PAIRS, "pairs", ",\"want\":[\"distance\"]", pair_item},
    {"pairs want volume", OBB_QUERY_PAIRS, "pairs", ",\"want\":[\"volume\"]", pair_item},
    {"overlap", OBB_QUERY_OVERLAP, "shapes", "", shape_item},
    {"overlap want mtv", OBB_QUERY_OVERLAP, "shapes", ",\"want\":[\"mtv\"]", shape_item},
    {"overlap large", OBB_QUERY_OVERLAP, "shapes", "", large_item},
    {"point", OBB_QUERY_POINT, "points", "", point_item},
    {"ray", OBB_QUERY_RAY, "rays", "", ray_item},
    {"ray all", OBB_QUERY_RAY, "rays", ",\"mode\":\"all\"", ray_item},
    {"sweep", OBB_QUERY_SWEEP, "sweeps", "", sweep_item},
    {"sweep all", OBB_QUERY_SWEEP, "sweeps", ",\"mode\":\"all\"", sweep_item},
    {"nearest", OBB_QUERY_NEAREST, "points", "", point_item},
    {"nearest k 16", OBB_QUERY_NEAREST, "points", ",\"k\":16", point_item},
    {"nearest boxes", OBB_QUERY_NEAREST, "boxes", "", shape_item},
    {"all-pairs", OBB_QUERY_ALL_PAIRS, NULL, "\"limit\":1000000", NULL},
};

static char *body_of(const struct row *row, const bench_scene *scene, size_t items,
                     size_t *out_length)
{
    char *text;
    FILE *out = open_memstream(&text, out_length);
    require(out != NULL, "memory");
    test_rng rng = {.s = 7};
    (void)fputc('{', out);
    for (size_t i = 0; i < items; i++) {
        (void)fprintf(out, i == 0 ? "\"%s\":[" : ",", row->member);
        row->item(out, scene, &rng);
    }
    (void)fprintf(out, "%s%s}", items > 0 ? "]" : "", row->options);
    (void)fclose(out);
    return text;
}

static double least(double a, double b) { return a < b ? a : b; }

static void measure(struct rig *rig, const struct row *row, size_t items)
{
    size_t length;
    char *text = body_of(row, &rig->boxes, items, &length);
    const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON};
    struct obb_view *view;
    require(obb_view_open(rig->scene, NULL, &view, NULL, NULL) == OBB_OK, "a view");
    double decoding = HUGE_VAL, running = HUGE_VAL, writing = HUGE_VAL, said = 0;
    const double begun = load_clock();
    for (int i = 0; i < 5 || load_clock() - begun < LEAST_SECONDS; i++) {
        obb_query query;
        wire_problem problem;
        struct obb_plan *plan;
        struct wire_buf answer = {0};
        obb_arena_reset(&rig->arena);
        const double start = load_clock();
        const bool read = wire_read_query(&body, row->kind, 3, &rig->arena, &query, &problem);
        const double decoded = load_clock();
        require(read, text);
        said = obb_query_cost(view, &query);
        const double asked = load_clock();
        require(obb_plan_create(view, &query, NULL, NULL, &plan) == OBB_OK &&
                    obb_plan_run(plan) == OBB_OK,
                row->name);
        const double ran = load_clock();
        wire_write_result(&answer, WIRE_JSON, view, &query, obb_plan_result(plan));
        const double written = load_clock();
        obb_plan_destroy(plan);
        require(!answer.failed, "memory");
        wire_buf_fini(&answer);
        decoding = least(decoding, decoded - start);
        running = least(running, ran - asked);
        writing = least(writing, written - ran);
    }
    (void)printf("%s,%zu,%zu,%.0f,%.0f,%.2f,%zu,%.0f,%.0f\n", row->name, rig->boxes.count, items,
                 said, running * 1e9, said / (running * 1e9), length, decoding * 1e9,
                 writing * 1e9);
    obb_view_close(view);
    free(text);
}

/* ---- Commits --------------------------------------------------------------------------------- */

static void poses(struct rig *rig, size_t count, bool encoded)
{
    obb_pose *list = calloc(count, sizeof *list);
    require(list != NULL, "memory");
    double best = HUGE_VAL;
    const double begun = load_clock();
    for (int i = 0; i < 5 || load_clock() - begun < LEAST_SECONDS; i++) {
        for (size_t k = 0; k < count; k++) {
            const obb_vec3 step = {0.25 * (i % 2), 0, 0};
            list[k] = (obb_pose){.target = {.has_id = true, .id = k + 1},
                                 .center = obb_add(rig->boxes.boxes[k].center, step),
                                 .has_center = true};
        }
        const obb_edit edit = {.dimensions = 3, .poses = list, .pose_count = count};
        best = least(best, commit(rig, &edit, encoded));
    }
    (void)printf("%s,%zu,%zu,,%.0f,,,,\n", encoded ? "pose recorded" : "pose", rig->boxes.count,
                 count, best * 1e9);
    free(list);
}

int main(void)
{
    static const size_t sizes[] = {100, 10000, 100000};
    (void)printf("what,boxes,items,said_ns,took_ns,said/took,body_bytes,decode_ns,write_ns\n");
    size_t measured = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct rig rig = {0};
        fill(&rig, sizes[s]);
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            const bool whole = rows[r].member == NULL;
            for (size_t items = whole ? 0 : 1; items <= (whole ? 0 : 64); items += 63) {
                measure(&rig, &rows[r], items);
                measured++;
            }
        }
        for (size_t count = 1; count <= sizes[s] && count <= 10000; count *= 10) {
            poses(&rig, count, false);
            poses(&rig, count, true);
        }
        obb_scene_destroy(rig.scene);
        obb_arena_fini(&rig.arena);
        scene_free(&rig.boxes);
    }
    (void)printf("%zu rows of queries\n", measured);
    return measured == 0;
}
