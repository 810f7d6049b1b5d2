/* The named scenes that tests and benchmarks share, and stored versions of boxes without a scene around them. */
#ifndef TEST_SUPPORT_BOXES_H
#define TEST_SUPPORT_BOXES_H

#include "core/geometry/box.h"
#include "core/versions/version.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first five are those of the benchmark; all have about one box per cubic unit, whatever their number. */
typedef enum boxes_kind {
    BOXES_UNIFORM, /* a cube, any rotation, half of the pairs of bounds that meet are boxes that do */
    BOXES_CLUSTERED, /* round clusters of a thousand, dense in the middle */
    BOXES_SIZES,     /* sizes from 1 to 1000, as many per decade as fill the same volume */
    BOXES_CITY,      /* a flat city: blocks of houses on the ground, turned about the vertical */
    BOXES_STICKS,    /* 50 times as long as thick */
    BOXES_EQUAL,     /* the same box again and again, but for 16 places */
    BOXES_POINT,     /* any size and rotation, one centre */
    BOXES_FAR,       /* uniform, 1e8 units from the origin */
    BOXES_THIN,      /* one, two or three half extents are zero */
    BOXES_GRID,      /* unit cubes that touch exactly */
    BOXES_OUTLIERS,  /* uniform, and a few at 1e9, and a few 1e8 across */
    BOXES_ISLANDS,   /* two small uniform clouds 1e9 apart */
    BOXES_TINY       /* uniform, but of micrometres */
} boxes_kind;
#define BOXES_BENCH_KINDS 5
#define BOXES_KINDS       13

const char *boxes_name(boxes_kind kind); /* "uniform", ... */

/* `count` boxes, the same for the same seed on every machine. In the plane (dimensions 2) z is flat. */
void boxes_make(boxes_kind kind, size_t count, int dimensions, uint64_t seed, obb_box *out);

/* One box of a uniform scene: centre within [0, side) in each coordinate. */
obb_box boxes_random(test_rng *rng, double side, int dimensions);

/* Versions as a scene keeps them, without names and attributes. */
struct boxes_world {
    int dimensions;
    size_t count, capacity;
    struct obb_version *versions; /* never move */
};

/* Room for `capacity` versions; exits when there is no memory. */
void boxes_world_init(struct boxes_world *world, size_t capacity, int dimensions);
void boxes_world_fini(struct boxes_world *world);

/* A version that is current from `born` on: of a new box when id is not 0, else the next of `before`'s box (whose `newer`
 * is set, but not its died). */
struct obb_version *boxes_world_add(struct boxes_world *world, const obb_box *box, uint64_t id,
                                    uint64_t born, struct obb_version *before);

#endif
