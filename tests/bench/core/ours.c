#include "tests/bench/core/ours.h"

#include "core/base/stock.h"
#include "core/geometry/sat.h"
#include "core/index/join.h"
#include "core/index/packed.h"
#include "core/index/rebuild.h"
#include "core/obb.h"
#include "tests/bench/core/crew.h"
#include "tests/bench/core/floats.h"
#include "tests/bench/core/report.h"
#include "tests/support/boxes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 20261120,
    AHEAD = 16,      /* versions that are fetched ahead */
    STOCK = 64 << 20 /* bytes of freed blocks that are kept for the next, as the daemon does */
};

const ours_scene ours_scenes[OURS_SCENES] = {
    {"uniform", 1000},     {"uniform", 10000}, {"uniform", 100000}, {"uniform", 1000000},
    {"clustered", 100000}, {"sizes", 100000},  {"city", 100000},    {"sticks", 100000}};

struct ours_world {
    struct boxes_world boxes;
    size_t count;
    const struct obb_version **now; /* by id - 1 */
    double side;
    test_rng rng;
    uint64_t revision;
    struct obb_layers *layers;
    const struct obb_version **added, **ended; /* by the last move */
    uint32_t *moved;
    size_t moves, moved_count; /* boxes that a step moves, and that the last one did */
    uint64_t *pairs;           /* of the last join */
};

static void require(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "failed: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *must(void *memory)
{
    require(memory != NULL, "memory");
    return memory;
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static boxes_kind kind_of(const char *name)
{
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        if (strcmp(boxes_name(kind), name) == 0)
            return kind;
    require(false, name);
    return BOXES_KINDS;
}

struct ours_world *ours_world_make(const ours_scene *scene, size_t steps, size_t moves)
{
    obb_stock_set_limit(STOCK, NULL, NULL);
    struct ours_world *world = must(calloc(1, sizeof *world));
    const size_t n = scene->count;
    world->count = n;
    world->moves = moves;
    world->side = round(cbrt((double)n)); /* whole, as libm may round the root in either way */
    world->rng.s = SEED + 1;
    world->now = must(malloc(n * sizeof *world->now));
    world->added = must(malloc((moves + 1) * sizeof *world->added));
    world->ended = must(malloc((moves + 1) * sizeof *world->ended));
    world->moved = must(malloc((moves + 1) * sizeof *world->moved));
    obb_box *made = must(malloc(n * sizeof *made));
    boxes_make(kind_of(scene->name), n, 3, SEED, made);
    boxes_world_init(&world->boxes, n + steps * moves, 3);
    for (size_t i = 0; i < n; i++)
        world->now[i] = boxes_world_add(&world->boxes, &made[i], i + 1, 1, NULL);
    world->revision = 1;
    free(made);
    return world;
}

void ours_world_free(struct ours_world *world)
{
    if (world == NULL)
        return;
    obb_layers_unref(world->layers);
    boxes_world_fini(&world->boxes);
    free(world->now);
    free(world->added);
    free(world->ended);
    free(world->moved);
    obb_budget_free(world->pairs);
    free(world);
}

size_t ours_world_count(const struct ours_world *world) { return world->count; }

static void plain_box(const obb_box *box, ours_box *out)
{
    const obb_solid solid = obb_solid_from_box(box, 3);
    const double rotation[4] = {box->rotation.x, box->rotation.y, box->rotation.z, box->rotation.w};
    memcpy(out->rotation, rotation, sizeof rotation);
    for (int k = 0; k < 3; k++) {
        out->center[k] = obb_component(solid.center, k);
        out->half[k] = obb_component(solid.half_extents, k);
        for (int i = 0; i < 3; i++)
            out->axis[i][k] = obb_component(solid.axis[i], k);
    }
}

void ours_world_box(const struct ours_world *world, size_t i, ours_box *out)
{
    plain_box(&world->now[i]->box, out);
}

/* ---- Kernels by name ------------------------------------------------------------------------- */

const char *ours_next_kernel(const char *name)
{
    bool passed = name == NULL;
    for (int k = OBB_KERNEL_SCALAR; k < OBB_KERNEL_COUNT; k++) {
        const char *own = obb_kernel_name((obb_kernel)k);
        if (passed && obb_kernels_choose((obb_kernel)k) != NULL)
            return own;
        passed = passed || strcmp(own, name) == 0;
    }
    return NULL;
}

const char *ours_widest_kernel(void)
{
    return obb_kernel_name(obb_kernels_kind(obb_kernels_choose(OBB_KERNEL_AUTO)));
}

bool ours_has_floats(void)
{
    return floats_of(obb_kernels_kind(obb_kernels_choose(OBB_KERNEL_AUTO))) != NULL;
}

static const struct obb_kernels *kernels_of(const char *name)
{
    const struct obb_kernels *widest = obb_kernels_choose(OBB_KERNEL_AUTO);
    if (name == NULL)
        return widest;
    if (strcmp(name, "floats") == 0)
        return floats_of(obb_kernels_kind(widest));
    int k = OBB_KERNEL_SCALAR;
    while (k < OBB_KERNEL_COUNT && strcmp(obb_kernel_name((obb_kernel)k), name) != 0)
        k++;
    const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)k);
    require(kernels != NULL, name);
    return kernels;
}

/* ---- All pairs ------------------------------------------------------------------------------- */

static size_t advance_join(void *join, obb_status *out_status)
{
    return obb_join_advance(join, out_status);
}

static obb_status run_join_chunk(void *join, size_t chunk) { return obb_join_chunk(join, chunk); }

static size_t advance_build(void *build, obb_status *out_status)
{
    return obb_build_advance(build, out_status);
}

static obb_status run_build_chunk(void *build, size_t chunk)
{
    return obb_build_chunk(build, chunk);
}

/* Layers over all boxes, as a rebuild makes them. */
static struct obb_layers *build_layers(const struct ours_world *world,
                                       const struct obb_kernels *kernels, struct crew *crew)
{
    struct obb_layers *empty, *layers;
    struct obb_build *build;
    require(obb_layers_create(3, kernels, &empty) == OBB_OK &&
                obb_build_create(world->now, NULL, world->count, 3, kernels, NULL, NULL, &build) ==
                    OBB_OK,
            "a build");
    const crew_work building = {advance_build, run_build_chunk, build};
    require(crew_run(crew, &building) == OBB_OK, "a build");
    require(obb_layers_over(empty, obb_build_take(build), world->revision, &layers) == OBB_OK,
            "layers");
    obb_build_destroy(build);
    obb_layers_unref(empty);
    return layers;
}

/* The double test where floats are in doubt. */
static bool decide(void *context, const struct obb_version *a, const struct obb_version *b,
                   obb_verdict verdict, size_t *doubts)
{
    const bool exact = *(const bool *)context;
    if (verdict == OBB_SURE || !exact)
        return true;
    const obb_solid solid_a = obb_solid_from_box(&a->box, 3),
                    solid_b = obb_solid_from_box(&b->box, 3);
    ++*doubts;
    return obb_sat_overlap(&solid_a, &solid_b);
}

/* Runs a join on the index of the world. The caller destroys it. */
static struct obb_join *run_join(const struct ours_world *world, struct crew *crew,
                                 obb_join_list list, bool exact)
{
    const obb_join_wish wish = {.list = list,
                                .limit = SIZE_MAX,
                                .plain_pass = true,
                                .cache_room = SIZE_MAX,
                                .judge = decide,
                                .context = &exact};
    struct obb_join *join;
    require(obb_join_create(world->layers, world->revision, &wish, NULL, NULL, &join) == OBB_OK,
            "a join");
    const crew_work joining = {advance_join, run_join_chunk, join};
    require(crew_run(crew, &joining) == OBB_OK, "a join");
    return join;
}

static void find_pairs(struct ours_world *world, unsigned workers, struct crew *crew, bool exact,
                       ours_pairs *out)
{
    obb_budget_free(world->pairs);
    world->pairs = NULL;
    const double begun = report_clock(workers);
    struct obb_join *join = run_join(world, crew, OBB_JOIN_RANKS, exact);
    const obb_join_counts found = obb_join_count(join);
    uint64_t base;
    world->pairs = obb_join_take_ranks(join, &base);
    obb_join_destroy(join);
    *out = (ours_pairs){.list = world->pairs,
                        .base = base,
                        .count = found.listed,
                        .candidates = found.candidates,
                        .doubtful = found.doubts,
                        .join = report_clock(workers) - begun};
}

double ours_count_pairs(struct ours_world *world, size_t *out_count)
{
    struct crew *crew = crew_create(1);
    const double begun = report_clock(1);
    struct obb_join *join = run_join(world, crew, OBB_JOIN_COUNT, true);
    *out_count = obb_join_count(join).pairs;
    obb_join_destroy(join);
    const double took = report_clock(1) - begun;
    crew_destroy(crew);
    return took;
}

double ours_all_pairs(struct ours_world *world, const char *kernel, unsigned workers, bool exact,
                      ours_pairs *out)
{
    struct crew *crew = crew_create(workers);
    obb_layers_unref(world->layers);
    world->layers = NULL;
    const double begun = report_clock(workers), on_wall = report_clock(0);
    world->layers = build_layers(world, kernels_of(kernel), crew);
    const double built = report_clock(workers);
    find_pairs(world, workers, crew, exact, out);
    const double took = report_clock(workers) - begun;
    out->wall = report_clock(0) - on_wall;
    out->build = built - begun;
    crew_destroy(crew);
    return took;
}

uint64_t ours_pairs_hash(const ours_pairs *pairs)
{
    uint64_t hash = pairs->count;
    for (size_t i = 0; i < pairs->count; i++)
        hash = report_mix(hash, pairs->list[i] + (pairs->base << 32 | pairs->base));
    return hash;
}

double ours_gap(const struct ours_world *world, uint32_t id_a, uint32_t id_b)
{
    const obb_solid a = obb_solid_from_box(&world->now[id_a - 1]->box, 3);
    const obb_solid b = obb_solid_from_box(&world->now[id_b - 1]->box, 3);
    return obb_sat_separation(&a, &b).gap;
}

/* ---- A tenth moves --------------------------------------------------------------------------- */

size_t ours_world_move(struct ours_world *world, const uint32_t **out_moved)
{
    const size_t stride = world->count / world->moves;
    world->moved_count = 0;
    for (size_t i = test_below(&world->rng, stride);
         i < world->count && world->moved_count < world->moves; i += stride) {
        const struct obb_version *before = world->now[i];
        obb_box box = before->box;
        const double x = test_uniform(&world->rng, -0.5, 0.5),
                     y = test_uniform(&world->rng, -0.5, 0.5);
        box.center = obb_add(box.center, (obb_vec3){x, y, test_uniform(&world->rng, -0.5, 0.5)});
        struct obb_version *after = boxes_world_add(&world->boxes, &box, 0, world->revision + 1,
                                                    &world->boxes.versions[before->self]);
        world->added[world->moved_count] = after;
        world->ended[world->moved_count] = before;
        world->moved[world->moved_count++] = (uint32_t)i;
        world->now[i] = after;
    }
    *out_moved = world->moved;
    return world->moved_count;
}

/* As a scene does it: the broad phase is mended by the commit, and rebuilt when it has decayed. */
static void mend(struct ours_world *world)
{
    struct obb_layers *next, *fresh;
    struct obb_rebuild *rebuild;
    require(obb_layers_next(world->layers, world->added, world->moved_count, world->ended,
                            world->moved_count, world->revision + 1, NULL, &next) == OBB_OK,
            "layers");
    world->revision++;
    for (size_t i = 0; i < world->moved_count; i++) {
        if (i + AHEAD < world->moved_count)
            __builtin_prefetch(&world->ended[i + AHEAD]->died, 1);
        atomic_store_explicit(&world->boxes.versions[world->ended[i]->self].died, world->revision,
                              memory_order_release);
    }
    obb_layers_unref(world->layers);
    world->layers = next;
    if (!obb_layers_decayed(next))
        return;
    require(obb_rebuild_create(next, world->revision, NULL, &rebuild) == OBB_OK &&
                obb_rebuild_finish(rebuild, &fresh) == OBB_OK,
            "a rebuild");
    require(obb_layers_rebased(next, fresh, &world->layers) == OBB_OK, "a rebuild");
    obb_layers_unref(next);
    obb_layers_unref(fresh);
}

double ours_mend(struct ours_world *world)
{
    const double begun = report_clock(1);
    mend(world);
    return report_clock(1) - begun;
}

double ours_pairs_again(struct ours_world *world, ours_pairs *out)
{
    struct crew *crew = crew_create(1);
    const double build = ours_mend(world);
    find_pairs(world, 1, crew, true, out);
    out->build = build;
    crew_destroy(crew);
    return build + out->join;
}

/* ---- The contact set ------------------------------------------------------------------------- */

struct ours_contacts {
    const struct ours_world *world;
    struct obb_scene *scene;
    struct obb_view *before;
    struct obb_contacts *set;
    struct obb_arena of_commit, of_changes;
    obb_pose *poses;
    double time; /* of the last commit */
};

static double commit_to(struct ours_contacts *contacts, obb_edit *edit, obb_committed *out)
{
    struct obb_prepared *prepared;
    obb_fault fault;
    edit->dimensions = 3;
    edit->has_time = true;
    edit->time = contacts->time += 16;
    obb_arena_reset(&contacts->of_commit);
    const double begun = report_clock(1);
    require(obb_edit_prepare(contacts->scene, edit, edit->time, SIZE_MAX / 2, &contacts->of_commit,
                             &prepared, &fault) == OBB_OK,
            "a commit");
    obb_edit_commit(prepared, out);
    return report_clock(1) - begun;
}

static struct obb_view *newest_view(const struct ours_contacts *contacts)
{
    struct obb_view *view;
    require(obb_view_open(contacts->scene, NULL, &view, NULL, NULL) == OBB_OK, "a view");
    return view;
}

/* Puts the boxes of the world, in the order of their ids. */
static void put_boxes(struct ours_contacts *contacts)
{
    const struct ours_world *world = contacts->world;
    obb_put *puts = must(calloc(world->count, sizeof *puts));
    char(*names)[16] = must(calloc(world->count, sizeof *names));
    for (size_t i = 0; i < world->count; i++) {
        const int length = snprintf(names[i], sizeof names[i], "%zu", i + 1);
        puts[i] = (obb_put){.target.name = {.bytes = names[i], .length = (size_t)length},
                            .parts = OBB_PUT_ALL,
                            .attributes = {.category = 1, .mask = UINT32_MAX},
                            .box = world->now[i]->box};
    }
    obb_edit edit = {.puts = puts, .put_count = world->count};
    obb_committed committed;
    (void)commit_to(contacts, &edit, &committed);
    free(puts);
    free(names);
}

struct ours_contacts *ours_contacts_make(const struct ours_world *world)
{
    struct ours_contacts *contacts = must(calloc(1, sizeof *contacts));
    const obb_settings settings = {.dimensions = 3, .history_commits = 4, .history_span = 100};
    contacts->world = world;
    contacts->poses = must(calloc(world->moves + 1, sizeof *contacts->poses));
    require(obb_scene_create(obb_str_of("contacts"), &settings, 0, NULL, &contacts->scene) ==
                OBB_OK,
            "a scene");
    put_boxes(contacts);
    contacts->before = newest_view(contacts);
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS,
                             .dimensions = 3,
                             .limit = SIZE_MAX,
                             .filter = {.category = UINT32_MAX, .mask = UINT32_MAX}};
    struct obb_plan *plan;
    require(obb_plan_create(contacts->before, &query, NULL, NULL, &plan) == OBB_OK &&
                obb_plan_run(plan) == OBB_OK,
            "all pairs");
    const obb_result *result = obb_plan_result(plan);
    require(obb_contacts_create(NULL, result->pairs, result->pair_count, NULL, &contacts->set) ==
                OBB_OK,
            "contacts");
    obb_plan_destroy(plan);
    return contacts;
}

void ours_contacts_free(struct ours_contacts *contacts)
{
    if (contacts == NULL)
        return;
    obb_contacts_destroy(contacts->set);
    obb_view_close(contacts->before);
    obb_scene_destroy(contacts->scene);
    obb_arena_fini(&contacts->of_commit);
    obb_arena_fini(&contacts->of_changes);
    free(contacts->poses);
    free(contacts);
}

/* The service rebuilds beside its work what has decayed. */
static void rebuild_scene(const struct ours_contacts *contacts)
{
    if (!obb_scene_decayed(contacts->scene))
        return;
    struct obb_view *view = newest_view(contacts);
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh;
    require(obb_view_rebuild(view, NULL, &rebuild) == OBB_OK &&
                obb_rebuild_finish(rebuild, &fresh) == OBB_OK &&
                obb_scene_rebase(contacts->scene, fresh) == OBB_OK,
            "a rebuild");
    obb_view_close(view);
}

static const obb_box_pair *list_contacts(struct ours_contacts *contacts,
                                         const struct obb_view *view)
{
    const obb_box_pair *pairs;
    require(obb_contacts_list(contacts->set, view, &contacts->of_changes, &pairs) == OBB_OK,
            "the pairs of the contact set");
    return pairs;
}

double ours_contacts_again(struct ours_contacts *contacts, double *out_commit)
{
    const struct ours_world *world = contacts->world;
    for (size_t k = 0; k < world->moved_count; k++)
        contacts->poses[k] = (obb_pose){.target = {.has_id = true, .id = world->moved[k] + 1},
                                        .center = world->added[k]->box.center,
                                        .has_center = true};
    obb_edit edit = {.poses = contacts->poses, .pose_count = world->moved_count};
    obb_committed committed;
    *out_commit = commit_to(contacts, &edit, &committed);
    struct obb_view *after = newest_view(contacts);
    const obb_contact_change *changes;
    size_t change_count;
    obb_arena_reset(&contacts->of_changes);
    const double begun = report_clock(1);
    require(obb_contacts_advance(contacts->set, contacts->before, after, &committed, false, NULL,
                                 &contacts->of_changes, &changes, &change_count) == OBB_OK,
            "contacts");
    (void)list_contacts(contacts, after);
    const double took = report_clock(1) - begun;
    obb_view_close(contacts->before);
    contacts->before = after;
    rebuild_scene(contacts);
    return took;
}

void ours_contacts_check(struct ours_contacts *contacts, const ours_pairs *expected)
{
    const obb_box_pair *pairs = list_contacts(contacts, contacts->before);
    bool same = obb_contacts_count(contacts->set) == expected->count;
    for (size_t i = 0; same && i < expected->count; i++) {
        const ours_ids ids = ours_pair(expected, i);
        same = obb_view_id(pairs[i].a) == ids.a && obb_view_id(pairs[i].b) == ids.b;
    }
    require(same, "the contact set holds all pairs");
}

/* ---- Single queries -------------------------------------------------------------------------- */

static test_rng rng_of_query(size_t i) { return (test_rng){.s = SEED + 1000 + i * 2}; }

static obb_box query_box(const struct ours_world *world, size_t i)
{
    test_rng rng = rng_of_query(i);
    return boxes_random(&rng, world->side, 3);
}

void ours_query_box(const struct ours_world *world, size_t i, ours_box *out)
{
    const obb_box box = query_box(world, i);
    plain_box(&box, out);
}

static obb_ray query_ray(const struct ours_world *world, size_t i)
{
    test_rng rng = rng_of_query(i);
    obb_vec3 v[2];
    for (int k = 0; k < 2; k++) {
        v[k].x = test_uniform(&rng, -1, 1);
        v[k].y = test_uniform(&rng, -1, 1);
        v[k].z = test_uniform(&rng, -1, 1);
    }
    const obb_vec3 middle = {0.5, 0.5, 0.5};
    obb_ray ray;
    require(obb_ray_make(obb_scale(obb_add(obb_scale(v[0], 0.5), middle), world->side), v[1],
                         HUGE_VAL, &ray) == OBB_OK,
            "a ray");
    return ray;
}

void ours_query_ray(const struct ours_world *world, size_t i, ours_ray *out)
{
    const obb_ray ray = query_ray(world, i);
    for (int k = 0; k < 3; k++) {
        out->origin[k] = obb_component(ray.origin, k);
        out->direction[k] = obb_component(ray.direction, k);
    }
}

struct overlap {
    const obb_solid *box;
    uint64_t ids; /* their sum: the order is the index's own affair */
    size_t hits;
};

static bool visit_overlap(void *context, const struct obb_version *version, obb_verdict verdict)
{
    struct overlap *overlap = context;
    if (verdict != OBB_SURE) {
        const obb_solid solid = obb_solid_from_box(&version->box, 3);
        if (!obb_sat_overlap(overlap->box, &solid))
            return true;
    }
    overlap->hits++;
    overlap->ids += version->id * version->id;
    return true;
}

double ours_overlaps(const struct ours_world *world, size_t count, uint64_t *hash, size_t *out_hits)
{
    obb_solid *boxes = must(malloc(count * sizeof *boxes));
    for (size_t i = 0; i < count; i++) {
        const obb_box box = query_box(world, i);
        boxes[i] = obb_solid_from_box(&box, 3);
    }
    *out_hits = 0;
    const double begun = report_clock(1);
    for (size_t i = 0; i < count; i++) {
        struct overlap overlap = {.box = &boxes[i]};
        (void)obb_layers_overlap(world->layers, world->revision, &boxes[i], 0, &overlap,
                                 visit_overlap);
        *hash = report_mix(*hash, overlap.ids);
        *out_hits += overlap.hits;
    }
    const double took = report_clock(1) - begun;
    free(boxes);
    return took;
}

struct ray {
    obb_ray rest;
    uint64_t id; /* 0: none */
};

static double visit_ray(void *context, const struct obb_version *version, double max_distance)
{
    struct ray *ray = context;
    const obb_solid solid = obb_solid_from_box(&version->box, 3);
    obb_ray_hit hit;
    if (!obb_ray_cast(&ray->rest, &solid, OBB_INSIDE_HIT, &hit) ||
        (ray->id != 0 && hit.distance == ray->rest.max_distance && version->id > ray->id))
        return max_distance;
    ray->rest.max_distance = hit.distance;
    ray->id = version->id;
    return hit.distance;
}

double ours_rays(const struct ours_world *world, size_t count, uint64_t *hash, size_t *out_hits,
                 uint32_t *out_first)
{
    obb_ray *rays = must(malloc(count * sizeof *rays));
    for (size_t i = 0; i < count; i++)
        rays[i] = query_ray(world, i);
    *out_hits = 0;
    const double begun = report_clock(1);
    for (size_t first = 0; first < count; first += OBB_CASTS) {
        struct ray each[OBB_CASTS];
        struct obb_cast casts[OBB_CASTS];
        const size_t some = count - first < OBB_CASTS ? count - first : OBB_CASTS;
        for (size_t i = 0; i < some; i++) {
            each[i] = (struct ray){.rest = rays[first + i]};
            casts[i] = (struct obb_cast){.ray = rays[first + i], .context = &each[i]};
        }
        obb_layers_rays(world->layers, world->revision, casts, some, (obb_vec3){0}, true,
                        visit_ray);
        for (size_t i = 0; i < some; i++) {
            *hash = report_mix_double(report_mix(*hash, each[i].id), each[i].rest.max_distance);
            *out_hits += each[i].id != 0;
            if (out_first != NULL)
                out_first[first + i] = (uint32_t)each[i].id;
        }
    }
    const double took = report_clock(1) - begun;
    free(rays);
    return took;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

struct ours_kernel_pairs {
    size_t count;
    obb_box *boxes[2];
    obb_solid *solids[2];
    struct obb_packed *packed[2];
    uint32_t *numbers, *out[2];
};

struct ours_kernel_pairs *ours_kernel_pairs_make(size_t count)
{
    struct ours_kernel_pairs *pairs = must(calloc(1, sizeof *pairs));
    pairs->count = count;
    pairs->numbers = must(malloc(count * sizeof *pairs->numbers));
    for (size_t i = 0; i < count; i++)
        pairs->numbers[i] = (uint32_t)i;
    test_rng rng = {.s = SEED};
    for (int side = 0; side < 2; side++) {
        pairs->out[side] = must(malloc((count + OBB_NODE) * sizeof *pairs->out[side]));
        pairs->boxes[side] = must(malloc(count * sizeof *pairs->boxes[side]));
        pairs->solids[side] = must(malloc(count * sizeof *pairs->solids[side]));
        pairs->packed[side] = must(aligned_alloc(64, count * sizeof *pairs->packed[side]));
        for (size_t i = 0; i < count; i++) {
            /* Half of the boxes with centres in such a cube overlap. */
            const obb_box box = boxes_random(&rng, 1.16, 3);
            pairs->boxes[side][i] = box;
            pairs->solids[side][i] = obb_solid_from_box(&box, 3);
            pairs->packed[side][i] = obb_packed_from_box(&box, 3);
        }
    }
    return pairs;
}

void ours_kernel_pairs_free(struct ours_kernel_pairs *pairs)
{
    for (int side = 0; side < 2; side++) {
        free(pairs->out[side]);
        free(pairs->boxes[side]);
        free(pairs->solids[side]);
        free(pairs->packed[side]);
    }
    free(pairs->numbers);
    free(pairs);
}

void ours_kernel_pair(const struct ours_kernel_pairs *pairs, size_t i, ours_box *out_a,
                      ours_box *out_b)
{
    plain_box(&pairs->boxes[0][i], out_a);
    plain_box(&pairs->boxes[1][i], out_b);
}

static double run_doubles(struct ours_kernel_pairs *pairs, size_t *out_hits)
{
    size_t hits = 0;
    const double begun = report_clock(1);
    for (size_t i = 0; i < pairs->count; i++) {
        pairs->out[0][hits] = (uint32_t)i;
        hits += obb_sat_overlap(&pairs->solids[0][i], &pairs->solids[1][i]);
    }
    *out_hits = hits;
    return report_clock(1) - begun;
}

double ours_kernel_run(struct ours_kernel_pairs *pairs, const char *kernel, uint64_t *hash,
                       size_t *out_hits)
{
    double took;
    size_t left;
    if (strcmp(kernel, "double") == 0) {
        took = run_doubles(pairs, &left);
    } else {
        const struct obb_kernels *kernels = kernels_of(kernel);
        const struct obb_limits limits = obb_limits_of(0);
        const double begun = report_clock(1);
        left =
            kernels->test_pairs(pairs->packed[0], pairs->packed[1], pairs->numbers, pairs->numbers,
                                pairs->count, &limits, pairs->out[0], pairs->out[1]);
        took = report_clock(1) - begun;
        for (size_t k = 0; k < left; k++)
            *hash = report_mix(*hash, pairs->out[1][k]); /* the marks of sureness included */
    }
    for (size_t k = 0; k < left; k++)
        *hash = report_mix(*hash, pairs->out[0][k]);
    *out_hits = left;
    return took;
}
