/* Query shapes other than boxes, against boxes. Closed sets throughout. */
#ifndef OBB_SHAPE_H
#define OBB_SHAPE_H

#include "core/box.h"

#include <stdbool.h>

typedef enum obb_shape_kind {
    OBB_SHAPE_BOX,
    OBB_SHAPE_SPHERE,
    OBB_SHAPE_CAPSULE,
    OBB_SHAPE_FRUSTUM
} obb_shape_kind;

typedef struct obb_shape {
    obb_shape_kind kind;
    obb_solid box;       /* OBB_SHAPE_BOX */
    obb_vec3 a, b;       /* sphere: a is the centre; capsule: the segment a..b */
    double radius;       /* scene units, >= 0 */
    obb_vec3 corners[8]; /* frustum: corner i by the signs of clip space, as corners of a box */
    obb_vec3 normals[6]; /* frustum: outward unit normals of its faces */
    double offsets[6];   /* dot(normal, x) <= offset inside */
} obb_shape;

/* OBB_BAD_NUMBER, OBB_BAD_EXTENT for a negative radius. */
obb_status obb_shape_sphere(obb_vec3 center, double radius, obb_shape *out);
obb_status obb_shape_capsule(obb_vec3 a, obb_vec3 b, double radius, obb_shape *out);
obb_shape obb_shape_box(const obb_solid *box);

/* A column-major view-projection matrix, clip z in -1..1. OBB_SINGULAR when it has no inverse or no finite corners.
 * 3-D only. */
obb_status obb_shape_frustum(const double matrix[static 16], obb_shape *out);

/* Bounds that hold the shape grown by margin (>= 0). */
obb_bounds obb_shape_bounds(const obb_shape *shape, double margin);

/* Does the box come within margin of the shape? Negative: they must penetrate that deep (for a sphere or
 * capsule: the shape with its radius shrunk by it; depth of a frustum by its separating axes). */
bool obb_shape_overlap(const obb_shape *shape, const obb_solid *box, double margin);

#endif
