/* The named scenes that tests and benchmarks share, and stored versions of boxes without a
 * scene. */
#ifndef TEST_SUPPORT_BOXES_H
#define TEST_SUPPORT_BOXES_H

#include "core/geometry/box.h"
#include "core/versions/version.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The benchmarks use the first five. Every kind has about one box per cubic unit, for any count. */
typedef enum boxes_kind {
    BOXES_UNIFORM,   /* a cube, any rotation; of the pairs whose bounds meet, half touch */
    BOXES_CLUSTERED, /* round clusters of a thousand, dense in the middle */
    BOXES_SIZES,     /* sizes from 1 to 1000, as many per decade as fill the same volume */
    BOXES_CITY,      /* a flat city: blocks of houses on the ground, turned about the vertical */
    BOXES_STICKS,    /* 50 times as long as thick */
    BOXES_EQUAL,     /* copies of one box, at 16 places */
    BOXES_POINT,     /* any size and rotation, one centre */
    BOXES_FAR,       /* uniform, 1e8 units from the origin */
    BOXES_THIN,      /* one, two or three half extents are zero */
    BOXES_GRID,      /* unit cubes that touch exactly */
    BOXES_OUTLIERS,  /* uniform, and a few at 1e9, and a few 1e8 across */
    BOXES_ISLANDS,   /* two small uniform clouds 1e9 apart */
    BOXES_TINY       /* uniform, of micrometres */
} boxes_kind;
#define BOXES_KINDS 13

const char *boxes_name(boxes_kind kind); /* "uniform", ... */

/* Writes `count` boxes, the same for a seed on every machine. In the plane (dimensions 2) z is
 * flat. */
void boxes_make(boxes_kind kind, size_t count, int dimensions, uint64_t seed, obb_box *out);

/* Returns a box of a uniform scene, with each coordinate of the centre in [0, side). */
obb_box boxes_random(test_rng *rng, double side, int dimensions);

/* Copies boxes from the list `boxes`: an obb_put_make_boxes (core/scene/edit.h). */
void boxes_copy(const void *boxes, size_t first, size_t count, obb_box *out);

/* Holds versions as a scene keeps them, without names and attributes. */
struct boxes_world {
    int dimensions;
    size_t count, capacity;
    struct obb_version *versions; /* never move */
};

/* Allocates room for `capacity` versions. Ends the program if there is no memory. */
void boxes_world_init(struct boxes_world *world, size_t capacity, int dimensions);
void boxes_world_fini(struct boxes_world *world);

/* Returns a version that is current from revision `born` on. If id is not 0, it is the first
 * version of a new box. Otherwise it is the next version of the box of `before`, whose
 * `died` stays. The versions are in no pool: they have no links. */
struct obb_version *boxes_world_add(struct boxes_world *world, const obb_box *box, uint64_t id,
                                    uint64_t born, struct obb_version *before);

#endif
