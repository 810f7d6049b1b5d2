/* Pairs of boxes, in the classes at which tests of boxes typically fail, with fixed seeds. */
#ifndef TEST_SUPPORT_PAIRS_H
#define TEST_SUPPORT_PAIRS_H

#include "tests/support/exact.h"
#include "tests/support/test.h"

#define PAIRS_TABLE(X)                                          \
    X(PAIRS_RANDOM, "random")                                   \
    X(PAIRS_NEAR, "near touching, both signs")                  \
    X(PAIRS_CROSS, "one cross axis separates")                  \
    X(PAIRS_PARALLEL, "parallel")                               \
    X(PAIRS_NEAR_PARALLEL, "near-parallel, 1e-1 to 1e-12")      \
    X(PAIRS_LONG_NEAR_PARALLEL, "long, edges at 1e-5 to 1e-12") \
    X(PAIRS_CONTAINED, "contained")                             \
    X(PAIRS_IDENTICAL, "identical")                             \
    X(PAIRS_FLAT, "flat: one zero extent")                      \
    X(PAIRS_STICK, "stick: two zero extents")                   \
    X(PAIRS_POINT, "point: three zero extents")                 \
    X(PAIRS_LONG, "aspect 1e6 to 1")                            \
    X(PAIRS_FAR, "metre boxes at 1e8")                          \
    X(PAIRS_TINY, "extents of 1e-6")                            \
    X(PAIRS_SIZES, "sizes 1e4 to 1")                            \
    X(PAIRS_CONTACT, "exact contact along coordinate axes")

enum pairs_class {
#define PAIRS_ENUM(id, name) id,
    PAIRS_TABLE(PAIRS_ENUM)
#undef PAIRS_ENUM
        PAIRS_CLASSES
};
const char *pairs_name(enum pairs_class kind);

/* A pair of boxes. In space the numbers are those that core would store. In the plane rotations are
 * about z and of any length, and exact_solid makes the solids. The index of a case spreads the
 * parameter of its class, such as the nine axes or the decades of the angle. */
struct pairs_case {
    exact_box a, b;
    obb_solid solid_a, solid_b; /* the solids that core makes of a and b */
};
struct pairs_case pairs_make(enum pairs_class kind, int dimensions, size_t index, test_rng *rng);

#endif
