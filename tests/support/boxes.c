#include "tests/support/boxes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *boxes_name(boxes_kind kind)
{
    static const char *const names[BOXES_KINDS] = {
        [BOXES_UNIFORM] = "uniform",   [BOXES_CLUSTERED] = "clustered",
        [BOXES_SIZES] = "sizes",       [BOXES_CITY] = "city",
        [BOXES_STICKS] = "sticks",     [BOXES_EQUAL] = "equal",
        [BOXES_POINT] = "point",       [BOXES_FAR] = "far",
        [BOXES_THIN] = "thin",         [BOXES_GRID] = "grid",
        [BOXES_OUTLIERS] = "outliers", [BOXES_ISLANDS] = "islands",
        [BOXES_TINY] = "tiny"};
    return names[kind];
}

/* ---- Parts of a box; only sqrt of libm, so that scenes have the same bits everywhere --------- */

/* By Newton's method. */
static double cube_root(double x)
{
    double root = 1;
    for (int i = 0; i < 60; i++)
        root -= (root - x / (root * root)) / 3;
    return root;
}

/* A uniform rotation: a point of the unit ball in four dimensions, pushed to the sphere. */
static obb_quat any_rotation(test_rng *rng)
{
    for (;;) {
        const obb_quat q = {test_uniform(rng, -1, 1), test_uniform(rng, -1, 1),
                            test_uniform(rng, -1, 1), test_uniform(rng, -1, 1)};
        const double squared = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
        if (squared > 0.01 && squared <= 1) {
            const double scale = 1 / sqrt(squared);
            return (obb_quat){q.x * scale, q.y * scale, q.z * scale, q.w * scale};
        }
    }
}

static obb_quat about_z(test_rng *rng)
{
    const obb_quat q = any_rotation(rng);
    const double scale = 1 / sqrt(q.z * q.z + q.w * q.w + 1e-30);
    return (obb_quat){0, 0, q.z * scale, q.w * scale};
}

static obb_vec3 any_place(test_rng *rng, double side)
{
    const double x = test_uniform(rng, 0, side), y = test_uniform(rng, 0, side);
    return (obb_vec3){x, y, test_uniform(rng, 0, side)};
}

static obb_vec3 any_extents(test_rng *rng, double least, double most)
{
    const double x = test_uniform(rng, least, most), y = test_uniform(rng, least, most);
    return (obb_vec3){x, y, test_uniform(rng, least, most)};
}

/* The plane's form of what was made for space. */
static obb_box flattened(test_rng *rng, obb_box box)
{
    box.center.z = 0;
    box.half_extents.z = 0;
    box.rotation = (obb_quat){0, 0, 0, 1};
    box.angle = test_uniform(rng, -180, 180);
    return box;
}

#define LEAST 0.20 /* half extents of a uniform scene with a box per cubic unit */
#define MOST  0.36

obb_box boxes_random(test_rng *rng, double side, int dimensions)
{
    obb_box box = {.center = any_place(rng, side), .half_extents = any_extents(rng, LEAST, MOST)};
    box.rotation = any_rotation(rng);
    return dimensions == 2 ? flattened(rng, box) : box;
}

/* About normal: the sum of four uniform numbers, standard deviation 1. */
static double bell(test_rng *rng)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += test_uniform(rng, -1, 1);
    return sum * 0.8660254037844386;
}

static obb_box clustered(uint64_t seed, size_t i, test_rng *rng, double side)
{
    test_rng of_cluster = {.s = seed * 7919 + i / 1000};
    const obb_vec3 middle = any_place(&of_cluster, side);
    obb_box box = boxes_random(rng, 1, 3);
    const double x = bell(rng), y = bell(rng), z = bell(rng);
    box.center = obb_add(middle, obb_scale((obb_vec3){x, y, z}, 4.0));
    return box;
}

/* Numbers fall with the third power of the size, so that each decade fills the same volume. */
static obb_box sized(test_rng *rng, double side)
{
    obb_box box = boxes_random(rng, side, 3);
    const double least = 0.3, u = test_uniform(rng, 0, 1);
    /* The inverse of the distribution of sizes from least to 1000 * least with density s^-4. */
    const double root = cube_root(1 / (1 - u * (1 - 1e-9)));
    box.half_extents = obb_scale(any_extents(rng, 0.3, 1.0), least * root);
    return box;
}

static obb_box house(uint64_t seed, test_rng *rng, double side)
{
    const double street = 8; /* a block is this wide, its houses stand in one direction */
    obb_box box = {.center = any_place(rng, side)};
    test_rng of_block = {.s = seed + (uint64_t)(box.center.x / street) * 65537 +
                              (uint64_t)(box.center.y / street)};
    box.half_extents = any_extents(rng, 0.25, 0.7);
    box.half_extents.z = test_uniform(rng, 0.5, 5);
    box.center.z = box.half_extents.z;
    box.rotation = about_z(&of_block);
    return box;
}

static obb_box stick(test_rng *rng, double side)
{
    obb_box box = boxes_random(rng, side, 3);
    const double half = test_uniform(rng, 1.0, 2.0);
    box.half_extents = (obb_vec3){half, half / 50, half / 50};
    return box;
}

static obb_box thin(test_rng *rng, double side, size_t i)
{
    obb_box box = boxes_random(rng, side, 3);
    box.half_extents = obb_scale(box.half_extents, 2);
    if (i % 4 != 3)
        box.half_extents.z = 0;
    if (i % 4 == 1 || i % 4 == 2)
        box.half_extents.y = 0;
    if (i % 4 == 2)
        box.half_extents.x = 0;
    if (i % 3 == 0)
        box.rotation = (obb_quat){0, 0, 0, 1};
    return box;
}

static obb_box in_grid(size_t i, size_t count, int dimensions)
{
    size_t side = 1;
    while ((dimensions == 3 ? side * side * side : side * side) < count)
        side++;
    const size_t x = i % side, y = i / side % side, z = i / side / side;
    const obb_vec3 place = {(double)x, (double)y, dimensions == 3 ? (double)z : 0};
    return (obb_box){.center = place,
                     .half_extents = {0.5, 0.5, dimensions == 3 ? 0.5 : 0},
                     .rotation = {0, 0, 0, 1}};
}

static obb_box outlying(test_rng *rng, double side, size_t i)
{
    obb_box box = boxes_random(rng, side, 3);
    if (i % 97 == 13)
        box.center = obb_scale(box.center, 1e9 / side);
    if (i % 101 == 7)
        box.half_extents = obb_scale(box.half_extents, 1e8);
    return box;
}

void boxes_make(boxes_kind kind, size_t count, int dimensions, uint64_t seed, obb_box *out)
{
    const double n = (double)(count > 0 ? count : 1);
    const double side = dimensions == 3 && kind != BOXES_CITY ? cube_root(n) : sqrt(n);
    const obb_vec3 far = {1e8, -1e8, dimensions == 3 ? 1e8 : 0};
    test_rng rng = {.s = seed};
    for (size_t i = 0; i < count; i++) {
        obb_box box;
        switch (kind) {
        case BOXES_UNIFORM:
            box = boxes_random(&rng, side, 3);
            break;
        case BOXES_CLUSTERED:
            box = clustered(seed, i, &rng, 2 * side);
            break;
        case BOXES_SIZES:
            box = sized(&rng, 2 * side);
            break;
        case BOXES_CITY:
            box = house(seed, &rng, 1.2 * side);
            break;
        case BOXES_STICKS:
            box = stick(&rng, side);
            break;
        case BOXES_EQUAL:
            box = (obb_box){.center = {(double)(i % 16) * 10, 0, 0},
                            .half_extents = {1, 2, 3},
                            .rotation = {0, 0, 0.6, 0.8}};
            break;
        case BOXES_POINT:
            box = boxes_random(&rng, side, 3);
            box.center = (obb_vec3){1, 2, 3};
            break;
        case BOXES_FAR:
            box = boxes_random(&rng, side, 3);
            box.center = obb_add(box.center, far);
            break;
        case BOXES_THIN:
            box = thin(&rng, side, i);
            break;
        case BOXES_GRID:
            box = in_grid(i, count, dimensions);
            break;
        case BOXES_OUTLIERS:
            box = outlying(&rng, side, i);
            break;
        case BOXES_ISLANDS:
            box = boxes_random(&rng, side * 0.8, 3);
            if (i % 2 == 0)
                box.center = obb_add(box.center, obb_scale(far, -5));
            else
                box.center = obb_add(box.center, obb_scale(far, 5));
            break;
        case BOXES_TINY:
            box = boxes_random(&rng, side, 3);
            box.center = obb_scale(box.center, 1e-6);
            box.half_extents = obb_scale(box.half_extents, 1e-6);
            break;
        }
        out[i] = dimensions == 2 && kind != BOXES_GRID ? flattened(&rng, box) : box;
    }
}

/* ---- Versions -------------------------------------------------------------------------------- */

void boxes_copy(const void *boxes, size_t first, size_t count, obb_box *out)
{
    memcpy(out, (const obb_box *)boxes + first, count * sizeof *out);
}

void boxes_world_init(struct boxes_world *world, size_t capacity, int dimensions)
{
    *world = (struct boxes_world){.dimensions = dimensions, .capacity = capacity};
    /* At cache lines, as in the pool of a scene. */
    const size_t bytes = (capacity > 0 ? capacity : 1) * sizeof *world->versions;
    world->versions = aligned_alloc(64, bytes);
    if (world->versions == NULL) {
        (void)fprintf(stderr, "no memory for %zu versions\n", capacity);
        exit(EXIT_FAILURE);
    }
    memset(world->versions, 0, bytes);
}

void boxes_world_fini(struct boxes_world *world)
{
    free(world->versions);
    *world = (struct boxes_world){0};
}

struct obb_version *boxes_world_add(struct boxes_world *world, const obb_box *box, uint64_t id,
                                    uint64_t born, struct obb_version *before)
{
    if (world->count == world->capacity) {
        (void)fprintf(stderr, "more than %zu versions\n", world->capacity);
        exit(EXIT_FAILURE);
    }
    const uint32_t self = (uint32_t)world->count;
    struct obb_version *version = &world->versions[world->count++];
    version->box = *box;
    version->category = 1;
    version->mask = UINT32_MAX;
    version->self = self & (OBB_MAX_VERSIONS - 1);
    version->id = id != 0 ? id : before->id;
    obb_version_publish(version, born, OBB_NEVER);
    return version;
}
