/* Measures core: kernels, all pairs, single queries, the past, ticks, loads. A row uses one thread
 * unless it names more. Every result is compared with golden.csv, which is the same for every CPU,
 * kernel and number of workers.
 *
 * Usage: benchmark OUT.csv GOLDEN.csv. Environment: BASE (an earlier OUT.csv), QUICK (without the
 * million), LEARN (writes the golden results anew), COMMIT. */
#include "core/obb.h"
#include "tests/bench/core/crew.h"
#include "tests/bench/core/ours.h"
#include "tests/bench/core/report.h"
#include "tests/support/boxes.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MILLION = 1000000 };

static report_runs runs;

static void require(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "failed: %s\n", what);
    exit(EXIT_FAILURE);
}

static bool quick(void)
{
    const char *text = getenv("QUICK");
    return text != NULL && *text != '\0';
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static void kernel_row(const char *what, struct ours_kernel_pairs *pairs, size_t count,
                       const char *kernel)
{
    const size_t again = count < 100000 ? 64 : 1;
    size_t hits = 0;
    report_begin(&runs);
    while (report_goes_on(&runs)) {
        double took = 0;
        uint64_t hash = count;
        for (size_t i = 0; i < again; i++) {
            hash = count;
            took += ours_kernel_run(pairs, kernel, &hash, &hits);
        }
        report_add(&runs, took, hash);
    }
    report_row(what, count, kernel, 1, &runs, (double)(count * again), "ns");
    if (hits < count * 2 / 5 || hits > count * 3 / 5)
        report_failure("the pairs of the kernels do not overlap in half of the cases");
}

static void kernels(void)
{
    report_title("kernels, a pair");
    static const struct {
        const char *what, *doubles, *floats;
        size_t count;
    } rows[] = {
        {"the same pairs", "the same pairs in doubles", "the same pairs without bounds", 2048},
        {"pairs from memory", "pairs from memory in doubles", "pairs from memory without bounds",
         MILLION}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ours_kernel_pairs *pairs = ours_kernel_pairs_make(rows[i].count);
        for (const char *k = ours_next_kernel(NULL); k != NULL; k = ours_next_kernel(k))
            kernel_row(rows[i].what, pairs, rows[i].count, k);
        if (ours_has_floats())
            kernel_row(rows[i].floats, pairs, rows[i].count, "floats");
        kernel_row(rows[i].doubles, pairs, rows[i].count, "double");
        ours_kernel_pairs_free(pairs);
    }
}

/* ---- All pairs ------------------------------------------------------------------------------- */

static ours_pairs pairs_row(const char *what, struct ours_world *world, const char *kernel,
                            unsigned workers, bool exact)
{
    ours_pairs found = {0};
    report_begin(&runs);
    while (report_goes_on(&runs)) {
        const double took = ours_all_pairs(world, kernel, workers, exact, &found);
        report_add(&runs, took, ours_pairs_hash(&found));
    }
    report_row(what, ours_world_count(world), kernel, workers, &runs, 1, "ms");
    return found;
}

static void all_pairs(void)
{
    report_title("all pairs, index built and asked");
    for (size_t s = 0; s < OURS_SCENES; s++) {
        const ours_scene *scene = &ours_scenes[s];
        if (quick() && scene->count >= MILLION)
            continue;
        char what[64];
        struct ours_world *world = ours_world_make(scene, 0, 0);
        (void)snprintf(what, sizeof what, "all pairs %s", scene->name);
        ours_pairs found = {0};
        for (const char *k = ours_next_kernel(NULL); k != NULL; k = ours_next_kernel(k))
            found = pairs_row(what, world, k, 1, true);
        if (scene->count >= 100000)
            (void)pairs_row(what, world, ours_widest_kernel(), 2, true);
        (void)snprintf(what, sizeof what, "pairs of %s", scene->name);
        report_figure(what, scene->count, "-", (double)found.count, "pairs");
        (void)snprintf(what, sizeof what, "left to the double test %s", scene->name);
        report_figure(what, scene->count, "-",
                      100.0 * (double)found.doubtful / (double)found.candidates, "%");
        (void)snprintf(what, sizeof what, "floats without bounds %s", scene->name);
        if (ours_has_floats())
            (void)pairs_row(what, world, "floats", 1, false);
        ours_world_free(world);
    }
}

/* A sample is the mean of a few steps, so that the rebuilds among them count. */
static void moving(const char *what, size_t moves)
{
    enum { SAMPLES = 10, STEPS = 4 };
    const ours_scene scene = {"uniform", 100000};
    struct ours_world *world = ours_world_make(&scene, (size_t)SAMPLES * STEPS, moves);
    double took[SAMPLES] = {0};
    ours_pairs found;
    (void)ours_all_pairs(world, NULL, 1, true, &found);
    uint64_t hash = ours_pairs_hash(&found);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t k = 0; k < STEPS; k++) {
            const uint32_t *moved;
            (void)ours_world_move(world, &moved);
            took[i] += ours_pairs_again(world, &found) / STEPS;
            hash = report_mix(hash, ours_pairs_hash(&found));
        }
    report_begin(&runs);
    for (size_t i = 0; i < SAMPLES; i++)
        report_add(&runs, took[i], hash);
    report_row(what, scene.count, ours_widest_kernel(), 1, &runs, 1, "ms");
    ours_world_free(world);
}

static void exactness(void)
{
    /* In turn, so that both see the same machine. */
    static report_runs others;
    if (!ours_has_floats())
        return;
    const ours_scene scene = {"uniform", 100000};
    struct ours_world *world = ours_world_make(&scene, 0, 0);
    ours_pairs found;
    report_begin(&runs);
    report_begin(&others);
    while (report_goes_on(&runs)) {
        report_add(&runs, ours_all_pairs(world, NULL, 1, true, &found), found.count);
        report_add(&others, ours_all_pairs(world, "floats", 1, false, &found), found.count);
    }
    report_figure("cost of exactness uniform", scene.count, ours_widest_kernel(),
                  100.0 * (report_least(&runs) / report_least(&others) - 1), "%");
    ours_world_free(world);
}

/* By the clock on the wall, one worker and two in turn. */
static void gain(const ours_scene *scene)
{
    static report_runs both;
    struct ours_world *world = ours_world_make(scene, 0, 0);
    ours_pairs found;
    report_begin(&runs);
    report_begin(&both);
    while (report_goes_on(&runs))
        for (unsigned workers = 1; workers <= 2; workers++) {
            (void)ours_all_pairs(world, NULL, workers, true, &found);
            report_add(workers == 1 ? &runs : &both, found.wall, found.count);
        }
    report_figure("gain of a second worker", scene->count, ours_widest_kernel(),
                  report_least(&runs) / report_least(&both), "x");
    ours_world_free(world);
}

static void query_row(const char *what, struct ours_world *world,
                      double (*ask)(const struct ours_world *, size_t, uint64_t *, size_t *))
{
    enum { COUNT = 1000 };
    size_t hits = 0;
    report_begin(&runs);
    while (report_goes_on(&runs)) {
        uint64_t hash = COUNT;
        const double took = ask(world, COUNT, &hash, &hits);
        report_add(&runs, took, hash);
    }
    report_row(what, ours_world_count(world), ours_widest_kernel(), 1, &runs, COUNT, "ns");
    if (hits < COUNT / 4)
        report_failure("queries that find nothing");
}

static double first_rays(const struct ours_world *world, size_t count, uint64_t *hash,
                         size_t *out_hits)
{
    return ours_rays(world, count, hash, out_hits, NULL);
}

static void index_queries(void)
{
    report_title("single queries, the index alone");
    const ours_scene scene = {"uniform", 100000};
    struct ours_world *world = ours_world_make(&scene, 0, 0);
    ours_pairs found;
    (void)ours_all_pairs(world, NULL, 1, true, &found);
    query_row("overlap of a box (index)", world, ours_overlaps);
    query_row("closest ray (index)", world, first_rays);
    ours_world_free(world);
}

/* ---- A scene --------------------------------------------------------------------------------- */

struct rig {
    struct obb_scene *scene;
    obb_box *boxes;
    size_t count;
    double side, time;
    struct obb_arena arena; /* of the last commit */
    test_rng rng;
    obb_pose *poses;
};

/* One commit; seconds. */
static double commit(struct rig *rig, obb_edit *edit, obb_committed *out)
{
    struct obb_prepared *prepared;
    obb_fault fault;
    edit->dimensions = 3;
    edit->has_time = true;
    edit->time = rig->time += 16;
    obb_arena_reset(&rig->arena);
    const double begun = report_clock(1);
    require(obb_edit_prepare(rig->scene, edit, rig->time, SIZE_MAX / 2, &rig->arena, &prepared,
                             &fault) == OBB_OK,
            "a commit");
    obb_edit_commit(prepared, out);
    return report_clock(1) - begun;
}

/* The service rebuilds beside the work what has decayed; here, between the samples. */
static void rebuild(struct rig *rig)
{
    if (!obb_scene_decayed(rig->scene))
        return;
    struct obb_view *view;
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh;
    require(obb_view_open(rig->scene, NULL, &view, NULL, NULL) == OBB_OK &&
                obb_view_rebuild(view, NULL, &rebuild) == OBB_OK &&
                obb_rebuild_finish(rebuild, &fresh) == OBB_OK &&
                obb_scene_rebase(rig->scene, fresh) == OBB_OK,
            "a rebuild");
    obb_view_close(view);
}

/* A uniform scene of boxes "1" to "count"; seconds of the commit that put them. */
static double rig_fill(struct rig *rig, size_t count)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 500, .history_commits = 32};
    *rig = (struct rig){.count = count, .side = round(cbrt((double)count)), .rng = {.s = 20261122}};
    require(obb_scene_create(obb_str_of("bench"), &settings, 0, NULL, &rig->scene) == OBB_OK,
            "a scene");
    rig->boxes = calloc(count, sizeof *rig->boxes);
    rig->poses = calloc(count, sizeof *rig->poses);
    obb_put *puts = calloc(count, sizeof *puts);
    char(*names)[16] = calloc(count, sizeof *names);
    require(rig->boxes != NULL && rig->poses != NULL && puts != NULL && names != NULL, "memory");
    boxes_make(BOXES_UNIFORM, count, 3, 20261120, rig->boxes);
    for (size_t i = 0; i < count; i++) {
        const obb_box *box = &rig->boxes[i];
        const int length = snprintf(names[i], sizeof names[i], "%zu", i + 1);
        puts[i] = (obb_put){.target.name = {.bytes = names[i], .length = (size_t)length},
                            .parts = OBB_PUT_ALL,
                            .attributes = {.category = 1, .mask = UINT32_MAX}};
        require(obb_box_from_pose(box->center, box->half_extents, box->rotation, 0, 3,
                                  &puts[i].box) == OBB_OK,
                "a box");
    }
    obb_edit edit = {.puts = puts, .put_count = count};
    obb_committed committed;
    const double took = commit(rig, &edit, &committed);
    free(puts);
    free(names);
    return took;
}

static void rig_free(struct rig *rig)
{
    obb_scene_destroy(rig->scene);
    obb_arena_fini(&rig->arena);
    free(rig->boxes);
    free(rig->poses);
}

static double signed_unit(test_rng *rng) { return test_uniform(rng, -1, 1); }

static obb_vec3 within(test_rng *rng, double side)
{
    const double x = test_uniform(rng, 0, side), y = test_uniform(rng, 0, side);
    return (obb_vec3){x, y, test_uniform(rng, 0, side)};
}

static obb_vec3 step(test_rng *rng, double size)
{
    const double x = signed_unit(rng), y = signed_unit(rng);
    return obb_scale((obb_vec3){x, y, signed_unit(rng)}, size);
}

/* Moves one box in so many by up to half a unit; the edit is good until the next. */
static obb_edit moves(struct rig *rig, size_t count)
{
    const size_t stride = rig->count / count, first = test_below(&rig->rng, stride);
    for (size_t k = 0; k < count; k++) {
        obb_box *box = &rig->boxes[first + k * stride];
        box->center = obb_add(box->center, step(&rig->rng, 0.5));
        rig->poses[k] = (obb_pose){.target = {.has_id = true, .id = first + k * stride + 1},
                                   .center = box->center,
                                   .has_center = true};
    }
    return (obb_edit){.poses = rig->poses, .pose_count = count};
}

/* ---- Queries as the service runs them -------------------------------------------------------- */

static uint64_t hash_of_answers(const obb_result *result)
{
    uint64_t hash = result->answer_count;
    for (size_t i = 0; i < result->answer_count; i++) {
        const obb_answer *answer = &result->answers[i];
        hash = report_mix(hash, answer->hit_count);
        for (size_t k = 0; k < answer->hit_count; k++)
            hash = report_mix_double(report_mix(hash, obb_view_id(answer->hits[k].box)),
                                     answer->hits[k].distance);
    }
    hash = report_mix(hash, result->pair_count);
    for (size_t i = 0; i < result->pair_count; i++)
        hash = report_mix(report_mix(hash, obb_result_id(result, i, false)),
                          obb_result_id(result, i, true));
    return hash;
}

static size_t advance_plan(void *plan, obb_status *out_status)
{
    return obb_plan_advance(plan, out_status);
}

static obb_status run_plan_chunk(void *plan, size_t chunk) { return obb_plan_chunk(plan, chunk); }

/* Opens the view that the query asks for, runs the query, and closes the view. Returns seconds,
 * without those of the hash. crew NULL: this thread only. */
static double ask(struct rig *rig, const obb_query *query, struct crew *crew, unsigned workers,
                  uint64_t *out_hash)
{
    struct obb_view *view;
    struct obb_plan *plan;
    const double begun = report_clock(workers);
    require(obb_view_open(rig->scene, query->has_at ? &query->at : NULL, &view, NULL, NULL) ==
                    OBB_OK &&
                obb_plan_create(view, query, NULL, NULL, &plan) == OBB_OK,
            "a plan");
    const crew_work work = {advance_plan, run_plan_chunk, plan};
    require((crew != NULL ? crew_run(crew, &work) : obb_plan_run(plan)) == OBB_OK, "a query");
    const double ran = report_clock(workers);
    *out_hash = hash_of_answers(obb_plan_result(plan));
    const double closing = report_clock(workers);
    obb_plan_destroy(plan);
    obb_view_close(view);
    return report_clock(workers) - closing + ran - begun;
}

enum { ITEMS = 1024 };

/* Items for every kind of query about a uniform scene. */
struct items {
    obb_query_shape shapes[ITEMS];
    obb_shape boxes[ITEMS];
    obb_vec3 points[ITEMS];
    obb_ray rays[ITEMS];
    obb_query_sweep sweeps[ITEMS];
    obb_box movers[ITEMS];
};

static struct items *items_make(double side)
{
    struct items *items = calloc(1, sizeof *items);
    require(items != NULL, "memory");
    test_rng rng = {.s = 20261121};
    for (size_t i = 0; i < ITEMS; i++) {
        items->movers[i] = boxes_random(&rng, side, 3);
        const obb_solid solid = obb_solid_from_box(&items->movers[i], 3);
        items->boxes[i] = obb_shape_box(&solid);
        items->shapes[i] = (obb_query_shape){.shape = &items->boxes[i]};
        items->points[i] = within(&rng, side);
        require(obb_ray_make(within(&rng, side), step(&rng, 1), HUGE_VAL, &items->rays[i]) ==
                    OBB_OK,
                "a ray");
        items->sweeps[i] = (obb_query_sweep){
            .ref = {.kind = OBB_REF_INLINE, .box = &items->movers[i]}, .motion = step(&rng, 10)};
    }
    return items;
}

static obb_query query_of(obb_query_kind kind, const struct items *items, size_t count)
{
    obb_query query = {.kind = kind,
                       .dimensions = 3,
                       .count = count,
                       .k = 1,
                       .max_distance = HUGE_VAL,
                       .limit = SIZE_MAX,
                       .filter = {.category = UINT32_MAX, .mask = UINT32_MAX}};
    if (kind == OBB_QUERY_OVERLAP)
        query.items.shapes = items->shapes;
    else if (kind == OBB_QUERY_POINT || kind == OBB_QUERY_NEAREST)
        query.items.points = items->points;
    else if (kind == OBB_QUERY_RAY)
        query.items.rays = items->rays;
    else if (kind == OBB_QUERY_SWEEP)
        query.items.sweeps = items->sweeps;
    return query;
}

static void ask_row(const char *what, struct rig *rig, const obb_query *query, unsigned workers)
{
    struct crew *crew = crew_create(workers);
    report_begin(&runs);
    while (report_goes_on(&runs)) {
        uint64_t hash;
        const double took = ask(rig, query, crew, workers, &hash);
        report_add(&runs, took, hash);
    }
    crew_destroy(crew);
    const bool whole = query->kind == OBB_QUERY_ALL_PAIRS;
    report_row(what, rig->count, ours_widest_kernel(), workers, &runs,
               whole ? 1 : (double)query->count, whole ? "ms" : "ns");
}

static void single_queries(struct rig *rig)
{
    report_title("queries of a scene, an item of 1,024");
    struct items *items = items_make(rig->side);
    static const struct {
        const char *what;
        obb_query_kind kind;
    } rows[] = {{"overlap of a box", OBB_QUERY_OVERLAP},
                {"point", OBB_QUERY_POINT},
                {"closest ray", OBB_QUERY_RAY},
                {"nearest", OBB_QUERY_NEAREST},
                {"sweep", OBB_QUERY_SWEEP}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const obb_query query = query_of(rows[i].kind, items, ITEMS);
        ask_row(rows[i].what, rig, &query, 1);
    }
    const obb_query pairs = query_of(OBB_QUERY_ALL_PAIRS, items, 0);
    ask_row("all pairs of a scene", rig, &pairs, 1);
    ask_row("all pairs of a scene", rig, &pairs, 2);
    free(items);
}

static void medium(void)
{
    struct rig rig;
    (void)rig_fill(&rig, 100000);
    single_queries(&rig);
    rig_free(&rig);
}

/* ---- Ticks, the past, events ----------------------------------------------------------------- */

/* The least seconds of some runs. */
static double quickest(struct rig *rig, const obb_query *query)
{
    enum { RUNS = 5 };
    double least = HUGE_VAL;
    for (int i = 0; i < RUNS; i++) {
        uint64_t hash;
        const double took = ask(rig, query, NULL, 1, &hash);
        least = took < least ? took : least;
    }
    return least;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Measures rays in the present, at every commit of the history, and between each two, while the
 * scene changes. The layers of a state depend on the time since their rebuild, and a ray costs up
 * to twice as much before a rebuild as after it. So the slowest is compared with the median of the
 * present. */
static void dearest_rays(struct rig *rig, obb_query *query)
{
    enum { STATES = 13, BACK = 28, POSES = 1000 };
    double now[STATES], at_commits = 0.0, between = 0.0;
    for (int state = 0; state < STATES; state++) {
        query->has_at = false;
        now[state] = quickest(rig, query);
        query->has_at = true;
        for (int i = 1; i <= BACK; i++) {
            query->at = (obb_at){.kind = OBB_AT_TIME, .time = rig->time - 16.0 * i};
            at_commits = fmax(at_commits, quickest(rig, query));
            query->at.time += 7;
            between = fmax(between, quickest(rig, query));
        }
        obb_edit edit = moves(rig, POSES);
        obb_committed committed;
        (void)commit(rig, &edit, &committed);
        rebuild(rig);
    }
    qsort(now, STATES, sizeof now[0], by_size);
    const double ns = 1e9 / (double)query->count;
    report_figure("closest ray now: the cheapest state", rig->count, "-", now[0] * ns, "ns");
    report_figure("closest ray now: the median", rig->count, "-", now[STATES / 2] * ns, "ns");
    report_figure("closest ray now: the dearest", rig->count, "-", now[STATES - 1] * ns, "ns");
    report_figure("closest ray: the dearest commit", rig->count, "-", at_commits * ns, "ns");
    report_figure("closest ray: the dearest between two", rig->count, "-", between * ns, "ns");
}

static void ticks(void)
{
    enum { TICKS = 100, POSES = 1000, RAYS = 64 };
    report_title("ticks and the past");
    struct rig rig;
    (void)rig_fill(&rig, 10000);
    struct items *items = items_make(rig.side);
    double took[TICKS];
    uint64_t all = 0;
    for (size_t i = 0; i < TICKS; i++) {
        obb_edit edit = moves(&rig, POSES);
        obb_committed committed;
        obb_query query = query_of(OBB_QUERY_RAY, items, RAYS);
        query.items.rays = items->rays + i % (ITEMS / RAYS) * RAYS;
        uint64_t hash;
        took[i] = commit(&rig, &edit, &committed);
        took[i] += ask(&rig, &query, NULL, 1, &hash);
        all = report_mix(all, hash);
        rebuild(&rig);
    }
    all = report_mix(all, obb_scene_hash(rig.scene));
    report_begin(&runs);
    for (size_t i = 0; i < TICKS; i++)
        report_add(&runs, took[i], all);
    report_row("tick of 1000 poses and 64 rays", rig.count, ours_widest_kernel(), 1, &runs, 1,
               "ms");

    /* The same rays now, at an earlier commit, and between two. */
    obb_query query = query_of(OBB_QUERY_RAY, items, ITEMS);
    ask_row("closest ray now", &rig, &query, 1);
    query.has_at = true;
    query.at = (obb_at){.kind = OBB_AT_TIME, .time = rig.time - 64};
    ask_row("closest ray four commits ago", &rig, &query, 1);
    query.at.time = rig.time - 64 + 7;
    ask_row("closest ray between two commits", &rig, &query, 1);

    /* The first to ask between two commits pays for an index of the interpolated boxes. */
    report_begin(&runs);
    uint64_t hash = 0;
    for (size_t i = 0; i < 20; i++) {
        struct obb_view *view;
        query.at.time = rig.time - 16 * (double)(i + 6) + 7;
        const double begun = report_clock(1);
        require(obb_view_open(rig.scene, &query.at, &view, NULL, NULL) == OBB_OK, "a view");
        const double opened = report_clock(1) - begun;
        hash = obb_view_info_get(view)->boxes;
        report_add(&runs, opened, hash);
        obb_view_close(view);
    }
    report_row("first view between two commits", rig.count, ours_widest_kernel(), 1, &runs, 1,
               "ms");
    dearest_rays(&rig, &query);
    free(items);
    rig_free(&rig);
}

/* Mixes in the pairs that began, or else those that ended while both boxes stayed. */
static uint64_t hash_of_changes(uint64_t hash, const obb_contact_change *changes, size_t count,
                                bool begun)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const obb_box_pair *pair = begun ? &changes[i].after : &changes[i].before;
        if (changes[i].removed || (changes[i].after.a != NULL) != begun)
            continue;
        hash = report_mix(report_mix(hash, obb_view_id(pair->a)), obb_view_id(pair->b));
        found++;
    }
    return report_mix(hash, found);
}

/* The set of contacts behind the stream of events, taken from commit to commit. */
static void contacts(const char *what, size_t count, size_t moved, size_t commits)
{
    struct rig rig;
    (void)rig_fill(&rig, count);
    const obb_query query = query_of(OBB_QUERY_ALL_PAIRS, NULL, 0);
    struct obb_view *before, *after;
    struct obb_plan *plan;
    struct obb_contacts *set;
    struct obb_arena arena;
    obb_arena_init(&arena);
    require(obb_view_open(rig.scene, NULL, &before, NULL, NULL) == OBB_OK &&
                obb_plan_create(before, &query, NULL, NULL, &plan) == OBB_OK &&
                obb_plan_run(plan) == OBB_OK,
            "all pairs");
    const obb_result *result = obb_plan_result(plan);
    require(obb_contacts_create(NULL, result->pairs, result->pair_count, NULL, &set) == OBB_OK,
            "contacts");
    obb_plan_destroy(plan);
    double *took = calloc(commits, sizeof *took), *committing = calloc(commits, sizeof *took);
    require(took != NULL && committing != NULL, "memory");
    uint64_t hash = 0;
    for (size_t i = 0; i < commits; i++) {
        obb_edit edit = moves(&rig, moved);
        obb_committed committed;
        const obb_contact_change *changes;
        size_t change_count;
        committing[i] = commit(&rig, &edit, &committed);
        require(obb_view_open(rig.scene, NULL, &after, NULL, NULL) == OBB_OK, "a view");
        obb_arena_reset(&arena);
        const double begun = report_clock(1);
        require(obb_contacts_advance(set, before, after, &committed, false, NULL, &arena, &changes,
                                     &change_count) == OBB_OK,
                "contacts");
        took[i] = report_clock(1) - begun;
        hash = hash_of_changes(hash, changes, change_count, true);
        hash = hash_of_changes(hash, changes, change_count, false);
        obb_view_close(before);
        before = after;
        rebuild(&rig);
    }
    hash = report_mix(hash, obb_contacts_count(set));
    char name[64];
    report_begin(&runs);
    for (size_t i = 0; i < commits; i++)
        report_add(&runs, committing[i], hash);
    (void)snprintf(name, sizeof name, "%s: commit", what);
    report_row(name, count, ours_widest_kernel(), 1, &runs, 1, "ms");
    report_begin(&runs);
    for (size_t i = 0; i < commits; i++)
        report_add(&runs, took[i], hash);
    (void)snprintf(name, sizeof name, "%s: contacts", what);
    report_row(name, count, ours_widest_kernel(), 1, &runs, 1, "ms");
    obb_view_close(before);
    obb_contacts_destroy(set);
    obb_arena_fini(&arena);
    free(took);
    free(committing);
    rig_free(&rig);
}

/* ---- A million ------------------------------------------------------------------------------- */

static size_t heap_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void million(size_t count)
{
    report_title("a large scene");
    struct rig rig;
    const size_t before = heap_in_use();
    const double took = rig_fill(&rig, count);
    obb_arena_fini(&rig.arena);
    const size_t apart = count * (sizeof *rig.boxes + sizeof *rig.poses);
    report_begin(&runs);
    report_add(&runs, took, obb_scene_hash(rig.scene));
    report_row("load in one commit", count, ours_widest_kernel(), 1, &runs, 1, "ms");
    report_figure("memory of a box", count, "-",
                  (double)(heap_in_use() - before - apart) / (double)count, "B");

    const obb_query pairs = query_of(OBB_QUERY_ALL_PAIRS, NULL, 0);
    ask_row("all pairs of a scene", &rig, &pairs, 1);
    ask_row("all pairs of a scene", &rig, &pairs, 2);
    struct items *items = items_make(rig.side);
    const obb_query one = query_of(OBB_QUERY_OVERLAP, items, 1);
    ask_row("one overlap query", &rig, &one, 1);

    enum { COMMITS = 50 };
    double each[COMMITS];
    for (size_t i = 0; i < COMMITS; i++) {
        obb_edit edit = moves(&rig, 1);
        obb_committed committed;
        each[i] = commit(&rig, &edit, &committed);
    }
    const uint64_t hash = obb_scene_hash(rig.scene);
    report_begin(&runs);
    for (size_t i = 0; i < COMMITS; i++)
        report_add(&runs, each[i], hash);
    report_row("one move", count, ours_widest_kernel(), 1, &runs, 1, "ms");
    ask_row("one overlap query after moves", &rig, &one, 1);
    free(items);
    rig_free(&rig);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s OUT.csv GOLDEN.csv\n", argv[0]);
        return EXIT_FAILURE;
    }
    const double begun = report_clock(0);
    report_open(argv[1], getenv("BASE"), argv[2], getenv("LEARN") != NULL);
    kernels();
    all_pairs();
    moving("a tenth moved: all pairs again", 10000);
    moving("a hundredth moved: all pairs again", 1000);
    exactness();
    gain(&(ours_scene){"uniform", 100000});
    if (!quick())
        gain(&(ours_scene){"uniform", MILLION});
    index_queries();
    medium();
    ticks();
    contacts("1000 of 10000 moved", 10000, 1000, 100);
    contacts("1 of 100000 moved", 100000, 1, 100);
    contacts("a tenth of 100000 moved", 100000, 10000, 20);
    if (!quick())
        million(MILLION);
    const int failed = report_close();
    (void)printf("%.0f seconds\n", report_clock(0) - begun);
    return failed;
}
