/* The index against brute force in doubles, on every named scene and every kernel. */
#include "core/geometry/sat.h"
#include "core/index/index.h"
#include "tests/support/boxes.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 257, 1000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Kernels of this CPU, without "auto". */
static size_t kernels_here(const struct obb_kernels *out[OBB_KERNEL_COUNT])
{
    size_t count = 0;
    for (int k = OBB_KERNEL_SCALAR; k < OBB_KERNEL_COUNT; k++)
        if (obb_kernels_choose((obb_kernel)k) != NULL)
            out[count++] = obb_kernels_choose((obb_kernel)k);
    return count;
}

struct scene {
    struct boxes_world world;
    const struct obb_version **versions;
    obb_solid *solids;
    obb_bounds *bounds;
    size_t count;
};

static struct scene scene_of(boxes_kind kind, size_t count, int dimensions, uint64_t seed)
{
    struct scene scene = {.count = count};
    obb_box *boxes = malloc((count + 1) * sizeof *boxes);
    scene.versions = malloc((count + 1) * sizeof *scene.versions);
    scene.solids = malloc((count + 1) * sizeof *scene.solids);
    scene.bounds = malloc((count + 1) * sizeof *scene.bounds);
    ck_assert(boxes != NULL && scene.versions != NULL && scene.solids != NULL &&
              scene.bounds != NULL);
    boxes_make(kind, count, dimensions, seed, boxes);
    boxes_world_init(&scene.world, count, dimensions);
    for (size_t i = 0; i < count; i++) {
        scene.versions[i] = boxes_world_add(&scene.world, &boxes[i], i + 1, 1, NULL);
        scene.solids[i] = obb_solid_from_box(&boxes[i], dimensions);
        scene.bounds[i] = obb_solid_bounds(&scene.solids[i]);
    }
    free(boxes);
    return scene;
}

static void scene_free(struct scene *scene)
{
    boxes_world_fini(&scene->world);
    free(scene->versions);
    free(scene->solids);
    free(scene->bounds);
}

static struct obb_index *index_of(const struct scene *scene, const struct obb_kernels *kernels)
{
    struct obb_index *index = NULL;
    ck_assert_int_eq(obb_index_build(scene->versions, NULL, scene->count, scene->world.dimensions,
                                     kernels, NULL, NULL, &index),
                     OBB_OK);
    ck_assert_uint_eq(obb_index_count(index), scene->count);
    return index;
}

/* What a walk visited: how often each version, with which verdict. */
struct seen {
    const struct scene *scene;
    unsigned char *times, *sure;
    size_t visits;
};

static struct seen seen_of(const struct scene *scene)
{
    return (struct seen){
        .scene = scene, .times = calloc(scene->count + 1, 1), .sure = calloc(scene->count + 1, 1)};
}

static void seen_free(struct seen *seen)
{
    free(seen->times);
    free(seen->sure);
}

static bool see(void *context, const struct obb_version *version, obb_verdict verdict)
{
    struct seen *seen = context;
    seen->times[version->id - 1]++;
    seen->sure[version->id - 1] = verdict == OBB_SURE;
    seen->visits++;
    return true;
}

static double see_reach(void *context, const struct obb_version *version, double max_distance)
{
    (void)see(context, version, OBB_DOUBT);
    return max_distance;
}

static bool bounds_meet(const obb_bounds *a, const obb_bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}

START_TEST(every_index_is_valid_and_holds_each_version_once)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    ck_assert_uint_ge(kernel_count, 1);
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 0; s < SIZES; s++) {
                struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                for (size_t k = 0; k < kernel_count; k++) {
                    struct obb_index *index = index_of(&scene, kernels[k]);
                    ck_assert_msg(obb_index_validate(index), "%s, %zu", boxes_name(kind), sizes[s]);
                    struct seen seen = seen_of(&scene);
                    const struct obb_version *const *all = obb_index_versions(index);
                    for (size_t i = 0; i < scene.count; i++)
                        see(&seen, all[i], OBB_DOUBT);
                    for (size_t i = 0; i < scene.count; i++)
                        ck_assert_uint_eq(seen.times[i], 1);
                    seen_free(&seen);
                    obb_index_unref(index);
                }
                scene_free(&scene);
            }
}
END_TEST

START_TEST(an_index_of_a_few_keeps_their_order_and_finds_all_that_overlap)
{
    static const size_t counts[] = {1, 15, 16, 17, 100, OBB_INDEX_FEW};
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    size_t hits = 0, misses = 0;
    for (size_t round = 0; round < (size_t)BOXES_KINDS * 2 * kernel_count; round++)
        for (size_t s = 0; s < sizeof counts / sizeof counts[0]; s++) {
            const boxes_kind kind = (boxes_kind)(round / 2 % BOXES_KINDS);
            struct scene scene = scene_of(kind, counts[s], 2 + (int)(round % 2), 20261123 + s);
            struct obb_index *index = NULL;
            ck_assert_int_eq(obb_index_build_few(scene.versions, scene.count,
                                                 scene.world.dimensions,
                                                 kernels[round / 2 / BOXES_KINDS], &index),
                             OBB_OK);
            ck_assert_msg(obb_index_validate(index), "%s, %zu", boxes_name(kind), counts[s]);
            ck_assert_uint_eq(obb_index_count(index), scene.count);
            for (size_t i = 0; i < scene.count; i++)
                ck_assert_ptr_eq(obb_index_versions(index)[i], scene.versions[i]);
            for (size_t q = 0; q < scene.count; q += 7) {
                struct seen seen = seen_of(&scene);
                ck_assert(obb_index_overlap(index, &scene.solids[q], 0, &seen, see));
                for (size_t i = 0; i < scene.count; i++) {
                    const bool overlap = obb_sat_overlap(&scene.solids[q], &scene.solids[i]);
                    ck_assert_uint_le(seen.times[i], 1);
                    ck_assert(!overlap || seen.times[i] == 1);
                    ck_assert(overlap || !seen.sure[i]);
                    hits += overlap && i != q;
                    misses += !overlap;
                }
                seen_free(&seen);
            }
            obb_index_unref(index);
            scene_free(&scene);
        }
    ck_assert_uint_gt(hits, 1000);
    ck_assert_uint_gt(misses, 1000);
}
END_TEST

/* In phases, the chunks of each run backwards. */
static struct obb_index *index_backwards(const struct scene *scene, size_t *chunks)
{
    struct obb_build *build;
    obb_status status = obb_build_create(scene->versions, NULL, scene->count,
                                         scene->world.dimensions, NULL, NULL, NULL, &build);
    ck_assert_int_eq(status, OBB_OK);
    for (size_t n; (n = obb_build_advance(build, &status)) > 0; *chunks += n)
        for (size_t i = n; i-- > 0;)
            ck_assert_int_eq(obb_build_chunk(build, i), OBB_OK);
    ck_assert_int_eq(status, OBB_OK);
    struct obb_index *index = obb_build_take(build);
    obb_build_destroy(build);
    return index;
}

START_TEST(chunks_of_building_run_in_any_order)
{
    size_t chunks = 0, looked_at = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++) {
        struct scene scene = scene_of(kind, 20011, kind % 2 == 0 ? 3 : 2, 20261126);
        struct obb_index *index = index_of(&scene, NULL);
        struct obb_index *other = index_backwards(&scene, &chunks);
        ck_assert_msg(obb_index_validate(index), "%s", boxes_name(kind));
        ck_assert_msg(obb_index_validate(other), "%s", boxes_name(kind));
        for (size_t i = 0; i < scene.count; i++, looked_at++)
            ck_assert_ptr_eq(obb_index_versions(index)[i], obb_index_versions(other)[i]);
        obb_index_unref(index);
        obb_index_unref(other);
        scene_free(&scene);
    }
    (void)printf("building: %zu boxes in %zu chunks\n", looked_at, chunks);
    ck_assert_uint_gt(chunks, 12 * (size_t)BOXES_KINDS);
}
END_TEST

/* Bounds about one box or between two of the scene, so that every scene gives hits. */
static obb_bounds some_bounds(const struct scene *scene, test_rng *rng)
{
    const obb_bounds *a = &scene->bounds[test_below(rng, scene->count)];
    const obb_bounds *b = &scene->bounds[test_below(rng, scene->count)];
    switch (test_below(rng, 4)) {
    case 0:
        return *a;
    case 1:
        return (obb_bounds){a->min, a->min};
    case 2:
        return (obb_bounds){obb_min(a->min, b->min), obb_max(a->min, b->min)};
    default:
        return (obb_bounds){{-1e10, -1e10, -1e10}, {1e10, 1e10, 1e10}};
    }
}

START_TEST(bounds_find_all_that_meet_them_once_and_little_else)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    test_rng rng = {.s = 20261121};
    size_t asked = 0, found = 0, visits = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 1; s < SIZES; s++) {
                struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                struct obb_index *index = index_of(&scene, kernels[s % kernel_count]);
                for (size_t q = 0; q < test_effort(20); q++, asked++) {
                    const obb_bounds bounds = some_bounds(&scene, &rng);
                    struct seen seen = seen_of(&scene);
                    ck_assert(obb_index_query(index, &bounds, &seen, see));
                    for (size_t i = 0; i < scene.count; i++) {
                        const bool meets = bounds_meet(&scene.bounds[i], &bounds);
                        ck_assert_uint_le(seen.times[i], 1);
                        ck_assert_msg(!meets || seen.times[i] == 1, "%s %d %zu box %zu",
                                      boxes_name(kind), dimensions, sizes[s], i);
                        found += meets;
                    }
                    visits += seen.visits;
                    seen_free(&seen);
                }
                obb_index_unref(index);
                scene_free(&scene);
            }
    ck_assert_uint_gt(asked, 1000);
    ck_assert_uint_gt(found, asked);
    (void)printf("bounds: %zu asked, %zu met, %zu visited\n", asked, found, visits);
    ck_assert_uint_lt(visits, found + found / 10);
}
END_TEST

static bool stop_at_third(void *context, const struct obb_version *version, obb_verdict verdict)
{
    (void)version;
    (void)verdict;
    size_t *visits = context;
    return ++*visits < 3;
}

START_TEST(a_walk_ends_when_it_is_told)
{
    struct scene scene = scene_of(BOXES_POINT, 1000, 3, 5);
    struct obb_index *index = index_of(&scene, NULL);
    size_t visits = 0;
    ck_assert(!obb_index_query(index, &scene.bounds[0], &visits, stop_at_third));
    ck_assert_uint_eq(visits, 3);
    visits = 0;
    ck_assert(!obb_index_overlap(index, &scene.solids[0], 0, &visits, stop_at_third));
    ck_assert_uint_eq(visits, 3);
    obb_index_unref(index);
    scene_free(&scene);
}
END_TEST

/* Do they overlap, or do they after b has moved the separation and no farther than margin? At a
 * negative margin: is the overlap that deep? (A gap along an axis alone says less: the distance is
 * larger where corners face each other.) */
static bool within(const obb_solid *a, const obb_solid *b, double margin)
{
    if (margin == 0)
        return obb_sat_overlap(a, b);
    const obb_separation s = obb_sat_separation(a, b);
    if (margin < 0 || s.gap <= 0)
        return s.gap <= margin;
    obb_solid moved = *b;
    moved.center = obb_sub(moved.center, obb_scale(s.normal, s.gap * (1 + 1e-9)));
    return s.gap < margin * (1 - 1e-6) && obb_sat_overlap(a, &moved);
}

START_TEST(overlap_visits_all_that_do_and_is_sure_of_none_that_does_not)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    static const double margins[] = {0, 0.25, -0.125};
    test_rng rng = {.s = 20261122};
    size_t asked = 0, hits = 0, sure = 0, visits = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 1; s < SIZES; s++)
                for (size_t k = 0; k < kernel_count; k++) {
                    struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                    struct obb_index *index = index_of(&scene, kernels[k]);
                    for (size_t q = 0; q < test_effort(20); q++, asked++) {
                        const obb_solid *box = &scene.solids[test_below(&rng, scene.count)];
                        const double margin = margins[q % 3];
                        struct seen seen = seen_of(&scene);
                        ck_assert(obb_index_overlap(index, box, margin, &seen, see));
                        for (size_t i = 0; i < scene.count; i++) {
                            const bool overlap = within(box, &scene.solids[i], margin);
                            ck_assert_uint_le(seen.times[i], 1);
                            ck_assert_msg(!overlap || seen.times[i] == 1,
                                          "%s %d %zu box %zu not visited", boxes_name(kind),
                                          dimensions, sizes[s], i);
                            ck_assert_msg(overlap || !seen.sure[i], "%s %d %zu box %zu is no hit",
                                          boxes_name(kind), dimensions, sizes[s], i);
                            hits += overlap && margin == 0;
                            sure += seen.sure[i] && margin == 0;
                            visits += seen.times[i] && margin == 0;
                        }
                        seen_free(&seen);
                    }
                    obb_index_unref(index);
                    scene_free(&scene);
                }
    (void)printf("overlap: %zu asked, %zu hits, %zu sure, %zu visited\n", asked, hits, sure,
                 visits);
    ck_assert_uint_gt(asked, 1000);
    ck_assert_uint_gt(hits, asked);
}
END_TEST

/* Casts one ray by itself. Returns the last greatest distance. */
static double cast_ray(const struct obb_index *index, const obb_ray *ray, obb_vec3 grow,
                       bool closest, void *context, obb_index_reach *visit)
{
    struct obb_cast cast = {.ray = *ray, .context = context};
    obb_index_rays(index, &cast, 1, grow, closest, visit);
    return cast.ray.max_distance;
}

static bool ray_meets(const obb_ray *ray, const obb_bounds *b, double max_distance)
{
    double near = 0, far = max_distance;
    for (int i = 0; i < 3; i++) {
        const double o = obb_component(ray->origin, i), d = obb_component(ray->direction, i);
        const double low = obb_component(b->min, i) - o, high = obb_component(b->max, i) - o;
        if (d == 0) {
            if (low > 0 || high < 0)
                return false;
            continue;
        }
        near = fmax(near, d > 0 ? low / d : high / d);
        far = fmin(far, d > 0 ? high / d : low / d);
    }
    return near <= far;
}

START_TEST(rays_visit_all_that_they_hit_and_moving_boxes_all_whose_bounds_they_meet)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    test_rng rng = {.s = 20261123};
    size_t asked = 0, met = 0, visits = 0, hits = 0, hit_visits = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 1; s < SIZES; s++) {
                struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                struct obb_index *index = index_of(&scene, kernels[s % kernel_count]);
                for (size_t q = 0; q < test_effort(20); q++, asked++) {
                    const obb_vec3 from = scene.solids[test_below(&rng, scene.count)].center;
                    const obb_vec3 to = scene.bounds[test_below(&rng, scene.count)].min;
                    obb_vec3 way = obb_sub(to, from);
                    if (q % 4 == 0 || !(obb_length(way) > 0))
                        way = (obb_vec3){q % 8 == 0, q % 8 != 0, 0};
                    const double length = obb_length(way);
                    const obb_ray ray = {.origin = from,
                                         .direction = obb_scale(way, 1 / length),
                                         .max_distance = q % 3 == 0 ? HUGE_VAL : length};
                    const obb_vec3 grow = q % 2 == 0 ? (obb_vec3){0} : (obb_vec3){0.5, 0.25, 0};
                    struct seen seen = seen_of(&scene);
                    ck_assert(cast_ray(index, &ray, grow, false, &seen, see_reach) ==
                              ray.max_distance);
                    for (size_t i = 0; i < scene.count; i++) {
                        const obb_bounds grown = {obb_sub(scene.bounds[i].min, grow),
                                                  obb_add(scene.bounds[i].max, grow)};
                        obb_ray_hit hit;
                        const bool meets =
                            q % 2 == 0 ? obb_ray_cast(&ray, &scene.solids[i], OBB_INSIDE_HIT, &hit)
                                       : ray_meets(&ray, &grown, ray.max_distance);
                        ck_assert_uint_le(seen.times[i], 1);
                        ck_assert_msg(!meets || seen.times[i] == 1, "%s %d %zu box %zu",
                                      boxes_name(kind), dimensions, sizes[s], i);
                        *(q % 2 == 0 ? &hits : &met) += meets;
                    }
                    *(q % 2 == 0 ? &hit_visits : &visits) += seen.visits;
                    seen_free(&seen);
                }
                obb_index_unref(index);
                scene_free(&scene);
            }
    (void)printf("rays: %zu asked, %zu met, %zu visited; %zu hit, %zu visited\n", asked, met,
                 visits, hits, hit_visits);
    ck_assert_uint_gt(asked, 1000);
    ck_assert_uint_gt(met, asked);
    ck_assert_uint_lt(visits, met + met / 4);
    ck_assert_uint_gt(hits, asked);
    ck_assert_uint_lt(hit_visits, hits + hits / 50);
}
END_TEST

/* The closest hit of a ray so far, as a query keeps it. */
struct closest {
    const struct scene *scene;
    const obb_ray *ray;
    obb_inside inside;
    double distance;
    uint64_t id; /* 0: none */
    size_t visits;
};

static double see_closest(void *context, const struct obb_version *version, double max_distance)
{
    struct closest *closest = context;
    const obb_solid *solid = &closest->scene->solids[version->id - 1];
    obb_ray_hit hit;
    closest->visits++;
    if (!obb_ray_cast(closest->ray, solid, closest->inside, &hit))
        return max_distance;
    if (closest->id == 0 || hit.distance < closest->distance ||
        (!(hit.distance > closest->distance) && version->id < closest->id)) {
        closest->distance = hit.distance;
        closest->id = version->id;
    }
    return fmin(max_distance, closest->distance);
}

START_TEST(the_closest_hit_of_a_ray_is_found_with_few_visits)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    test_rng rng = {.s = 20261124};
    size_t asked = 0, met = 0, hits = 0, visits = 0, outside = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 1; s < SIZES; s++) {
                struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                struct obb_index *index = index_of(&scene, kernels[s % kernel_count]);
                for (size_t q = 0; q < test_effort(30); q++, asked++) {
                    /* From a corner of some bounds, a centre, or a point of a surface, to a
                     * centre. */
                    const size_t a = test_below(&rng, scene.count),
                                 b = test_below(&rng, scene.count);
                    const obb_solid *solid = &scene.solids[a];
                    obb_vec3 from = scene.bounds[a].max;
                    if (q % 3 == 1)
                        from = solid->center;
                    else if (q % 3 == 2)
                        from = obb_add(solid->center,
                                       obb_scale(solid->axis[0], solid->half_extents.x));
                    obb_vec3 way = obb_sub(scene.solids[b].center, from);
                    if (q % 7 == 0 || !(obb_length(way) > 0))
                        way = (obb_vec3){q % 2 == 0, q % 2 != 0, 0};
                    obb_ray ray;
                    if (dimensions == 2)
                        from.z = way.z = 0;
                    ck_assert_int_eq(
                        obb_ray_make(from, way, q % 5 == 0 ? obb_length(way) : HUGE_VAL, &ray),
                        OBB_OK);
                    struct closest best = {
                        .scene = &scene, .ray = &ray, .inside = (obb_inside)(q % 4 % 3)};
                    (void)cast_ray(index, &ray, (obb_vec3){0}, true, &best, see_closest);
                    struct closest truth = best;
                    truth.id = truth.visits = 0;
                    for (size_t i = 0; i < scene.count; i++) {
                        const uint64_t before = truth.id;
                        (void)see_closest(&truth, scene.versions[i], HUGE_VAL);
                        obb_ray_hit hit;
                        hits += obb_ray_cast(&ray, &scene.solids[i], best.inside, &hit);
                        outside += truth.id != before && truth.distance > 0;
                    }
                    ck_assert_msg(best.id == truth.id, "%s %d %zu: %ju at %g, truth %ju at %g",
                                  boxes_name(kind), dimensions, sizes[s], (uintmax_t)best.id,
                                  best.distance, (uintmax_t)truth.id, truth.distance);
                    met += best.id != 0;
                    visits += best.visits;
                }
                obb_index_unref(index);
                scene_free(&scene);
            }
    (void)printf("closest: %zu asked, %zu met, %zu hits, %zu visits, %zu from outside\n", asked,
                 met, hits, visits, outside);
    ck_assert_uint_gt(met, asked / 2);
    ck_assert_uint_gt(outside, met / 2);
    ck_assert_uint_lt(visits, hits / 2);
}
END_TEST

/* A closest hit, and in which order its walk visited versions. */
struct way {
    struct closest closest;
    uint64_t order;
    size_t most; /* visits, after which the walk is ended */
};

static double see_way(void *context, const struct obb_version *version, double max_distance)
{
    struct way *way = context;
    way->order = way->order * 0x9e3779b97f4a7c15u + version->id;
    const double reach = see_closest(&way->closest, version, max_distance);
    return way->closest.visits == way->most ? -1 : reach;
}

/* Some rays miss all boxes, some may go nowhere, and some are ended by a visit. */
START_TEST(a_ray_among_others_is_walked_as_it_is_alone)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    test_rng rng = {.s = 20261125};
    size_t visited = 0, missed = 0, ended = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (size_t s = 1; s < SIZES; s++) {
            struct scene scene = scene_of(kind, sizes[s], 3, 20261120 + s);
            struct obb_index *index = index_of(&scene, kernels[s % kernel_count]);
            for (size_t round = 0; round < test_effort(12); round++) {
                const bool closest = round % 3 != 0;
                const obb_vec3 grow = round % 6 == 0 ? (obb_vec3){0.5, 0.25, 0} : (obb_vec3){0};
                const size_t count = round == 0 ? OBB_CASTS : test_below(&rng, OBB_CASTS + 1);
                struct obb_cast casts[OBB_CASTS];
                struct way ways[OBB_CASTS];
                obb_ray rays[OBB_CASTS];
                for (size_t i = 0; i < count; i++) {
                    const size_t lot = test_below(&rng, 8);
                    const obb_vec3 from = scene.bounds[test_below(&rng, scene.count)].max;
                    const obb_vec3 to = scene.solids[test_below(&rng, scene.count)].center;
                    obb_vec3 way = obb_sub(to, from);
                    if (!(obb_length(way) > 0))
                        way = (obb_vec3){1, 0, 0};
                    ck_assert_int_eq(obb_ray_make(lot == 0 ? (obb_vec3){9e8, 9e8, 9e8} : from, way,
                                                  HUGE_VAL, &rays[i]),
                                     OBB_OK);
                    if (lot == 1)
                        rays[i].max_distance = -1;
                    ways[i] = (struct way){.closest = {.scene = &scene, .ray = &rays[i]},
                                           .most = lot == 2 ? 1 + i % 3 : SIZE_MAX};
                    casts[i] = (struct obb_cast){.ray = rays[i], .context = &ways[i]};
                }
                obb_index_rays(index, casts, count, grow, closest, see_way);
                for (size_t i = 0; i < count; i++) {
                    struct way alone = {.closest = {.scene = &scene, .ray = &rays[i]},
                                        .most = ways[i].most};
                    const double reach = cast_ray(index, &rays[i], grow, closest, &alone, see_way);
                    ck_assert(reach == casts[i].ray.max_distance);
                    ck_assert_uint_eq(ways[i].order, alone.order);
                    ck_assert_uint_eq(ways[i].closest.visits, alone.closest.visits);
                    ck_assert_uint_eq(ways[i].closest.id, alone.closest.id);
                    visited += alone.closest.visits;
                    missed += alone.closest.visits == 0;
                    ended += alone.closest.visits == alone.most;
                    ck_assert(rays[i].max_distance >= 0 || alone.closest.visits == 0);
                }
            }
            obb_index_unref(index);
            scene_free(&scene);
        }
    (void)printf("rays together: %zu visits, %zu without any, %zu ended\n", visited, missed, ended);
    ck_assert_uint_gt(visited, 10000);
    ck_assert_uint_gt(missed, 500);
    ck_assert_uint_gt(ended, 200);
}
END_TEST

static double apart(const obb_bounds *a, const obb_bounds *b)
{
    const obb_vec3 by = obb_max(obb_sub(a->min, b->max), obb_sub(b->min, a->max));
    return obb_length(obb_max(by, (obb_vec3){0}));
}

/* Narrows the reach to the nearest bounds found so far, as a search for the nearest does. */
struct nearest {
    struct seen seen;
    const obb_bounds *from;
    double least;
};

static double see_nearest(void *context, const struct obb_version *version, double max_distance)
{
    struct nearest *nearest = context;
    (void)see(&nearest->seen, version, OBB_DOUBT);
    const double distance = apart(nearest->from, &nearest->seen.scene->bounds[version->id - 1]);
    nearest->least = fmin(nearest->least, distance);
    return fmin(nearest->least, max_distance);
}

START_TEST(nearest_finds_the_nearest_bounds_and_visits_few_others)
{
    const struct obb_kernels *kernels[OBB_KERNEL_COUNT];
    const size_t kernel_count = kernels_here(kernels);
    test_rng rng = {.s = 20261124};
    size_t asked = 0, visits = 0, all = 0;
    for (boxes_kind kind = 0; kind < BOXES_KINDS; kind++)
        for (int dimensions = 2; dimensions <= 3; dimensions++)
            for (size_t s = 1; s < SIZES; s++) {
                struct scene scene = scene_of(kind, sizes[s], dimensions, 20261120 + s);
                struct obb_index *index = index_of(&scene, kernels[s % kernel_count]);
                for (size_t q = 0; q < test_effort(20); q++, asked++) {
                    const obb_bounds from = some_bounds(&scene, &rng);
                    double least = HUGE_VAL;
                    for (size_t i = 0; i < scene.count; i++)
                        least = fmin(least, apart(&from, &scene.bounds[i]));
                    struct nearest nearest = {
                        .seen = seen_of(&scene), .from = &from, .least = HUGE_VAL};
                    obb_index_nearest(index, &from, HUGE_VAL, &nearest, see_nearest);
                    ck_assert_msg(nearest.least == least, "%s %d %zu: %g instead of %g",
                                  boxes_name(kind), dimensions, sizes[s], nearest.least, least);
                    visits += nearest.seen.visits;
                    all += scene.count;
                    seen_free(&nearest.seen);
                }
                obb_index_unref(index);
                scene_free(&scene);
            }
    (void)printf("nearest: %zu asked, %zu of %zu visited\n", asked, visits, all);
    ck_assert_uint_gt(asked, 1000);
}
END_TEST

START_TEST(bounds_of_a_motion_hold_the_box_on_its_whole_way)
{
    test_rng rng = {.s = 20261125};
    size_t looked_at = 0;
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
        enum { COUNT = 300 };
        struct scene scene = scene_of(BOXES_UNIFORM, COUNT, dimensions, 3);
        struct scene ends = scene_of(BOXES_UNIFORM, COUNT, dimensions, 4);
        for (size_t i = 0; i < COUNT; i++) { /* some stand, some only slide */
            obb_box *box = &ends.world.versions[i].box;
            if (i % 5 == 0)
                *box = scene.versions[i]->box;
            if (i % 5 == 1)
                box->rotation = scene.versions[i]->box.rotation;
            box->center = obb_add(scene.versions[i]->box.center, obb_scale(box->center, 0.1));
        }
        struct obb_index *index = NULL;
        ck_assert_int_eq(obb_index_build(scene.versions, ends.versions, COUNT, dimensions, NULL,
                                         NULL, NULL, &index),
                         OBB_OK);
        ck_assert(obb_index_validate(index));
        for (size_t q = 0; q < test_effort(300); q++) {
            const size_t i = test_below(&rng, COUNT);
            const obb_box between =
                obb_box_interpolate(&scene.versions[i]->box, &ends.versions[i]->box,
                                    test_uniform(&rng, 0, 1), dimensions);
            const obb_solid solid = obb_solid_from_box(&between, dimensions);
            obb_vec3 corners[8];
            obb_solid_corners(&solid, corners);
            for (int c = 0; c < (dimensions == 3 ? 8 : 4); c++, looked_at++) {
                struct seen seen = seen_of(&scene);
                ck_assert(
                    obb_index_query(index, &(obb_bounds){corners[c], corners[c]}, &seen, see));
                ck_assert_uint_eq(seen.times[i], 1);
                for (size_t k = 0; k < COUNT; k++)
                    ck_assert(!seen.sure[k]);
                seen_free(&seen);
            }
            struct seen seen = seen_of(&scene);
            ck_assert(obb_index_overlap(index, &solid, 0, &seen, see));
            ck_assert_uint_eq(seen.times[i], 1);
            for (size_t k = 0; k < COUNT; k++)
                ck_assert(!seen.sure[k]);
            seen_free(&seen);
        }
        obb_index_unref(index);
        scene_free(&scene);
        scene_free(&ends);
    }
    ck_assert_uint_gt(looked_at, 2000);
}
END_TEST

START_TEST(building_stops_when_cancelled_and_survives_each_failing_allocation)
{
    struct scene scene = scene_of(BOXES_SIZES, 3000, 3, 9);
    const atomic_bool cancelled = true;
    struct obb_index *index = NULL;
    ck_assert_int_eq(
        obb_index_build(scene.versions, NULL, scene.count, 3, NULL, &cancelled, NULL, &index),
        OBB_CANCELLED);
    ck_assert_ptr_null(index);
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        fault_arm(n);
        const obb_status status =
            obb_index_build(scene.versions, NULL, scene.count, 3, NULL, NULL, NULL, &index);
        fault_arm(0);
        if (status == OBB_OK)
            break;
        ck_assert_int_eq(status, OBB_NO_MEMORY);
        failures++;
    }
    ck_assert_uint_ge(failures, 2);
    ck_assert(obb_index_validate(index));
    obb_index_unref(index);
    failures = 0;
    for (size_t n = 1;; n++, failures++) {
        fault_arm(n);
        const obb_status status = obb_index_build_few(scene.versions, 20, 3, NULL, &index);
        fault_arm(0);
        if (status == OBB_OK)
            break;
        ck_assert_int_eq(status, OBB_NO_MEMORY);
    }
    ck_assert_uint_eq(failures, 2);
    obb_index_unref(index);
    scene_free(&scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index");
    TCase *tc = tcase_create("index");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, every_index_is_valid_and_holds_each_version_once);
    tcase_add_test(tc, an_index_of_a_few_keeps_their_order_and_finds_all_that_overlap);
    tcase_add_test(tc, chunks_of_building_run_in_any_order);
    tcase_add_test(tc, bounds_find_all_that_meet_them_once_and_little_else);
    tcase_add_test(tc, a_walk_ends_when_it_is_told);
    tcase_add_test(tc, overlap_visits_all_that_do_and_is_sure_of_none_that_does_not);
    tcase_add_test(tc, rays_visit_all_that_they_hit_and_moving_boxes_all_whose_bounds_they_meet);
    tcase_add_test(tc, the_closest_hit_of_a_ray_is_found_with_few_visits);
    tcase_add_test(tc, a_ray_among_others_is_walked_as_it_is_alone);
    tcase_add_test(tc, nearest_finds_the_nearest_bounds_and_visits_few_others);
    tcase_add_test(tc, bounds_of_a_motion_hold_the_box_on_its_whole_way);
    tcase_add_test(tc, building_stops_when_cancelled_and_survives_each_failing_allocation);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
