/* Query shapes other than boxes, against boxes. Closed sets throughout. */
#ifndef OBB_SHAPE_H
#define OBB_SHAPE_H

#include "core/geometry/box.h"

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
    obb_vec3 normals[6]; /* frustum: outward unit normals of -x +x -y +y -z +z of clip space */
    double offsets[6];   /* dot(normal, x) <= offset inside */
} obb_shape;

/* Return in *out a sphere, or the points within radius of the segment a..b; *out is written only on
 * OBB_OK. In the plane z is 0, and the sphere is a disc.
 *
 * Errors   OBB_BAD_NUMBER if a number is not finite or beyond OBB_MAX_COORDINATE; OBB_BAD_EXTENT
 *          for a negative radius. */
obb_status obb_shape_sphere(obb_vec3 center, double radius, obb_shape *out);
obb_status obb_shape_capsule(obb_vec3 a, obb_vec3 b, double radius, obb_shape *out);

/* Returns the box as a shape. */
obb_shape obb_shape_box(const obb_solid *box);

/* Returns in *out the frustum that a view-projection matrix shows; *out is written only on OBB_OK.
 * 3-D only.
 *
 * matrix   column-major, clip z in -1..1; perspective, parallel or mirrored, either sign of w.
 * Errors   OBB_BAD_NUMBER if a number is not finite; OBB_SINGULAR if the matrix has no inverse or
 *          no finite corners (a far plane at infinity, or a corner beyond 1e15).
 * Source   Gribb and Hartmann, "Fast Extraction of Viewing Frustum Planes", 2001. */
obb_status obb_shape_frustum(const double matrix[static 16], obb_shape *out);

/* Returns bounds that hold the shape grown by margin (a negative margin counts as 0), rounded
 * outwards. */
obb_bounds obb_shape_bounds(const obb_shape *shape, double margin);

/* Returns whether the box comes within margin of the shape.
 *
 * margin   scene units. margin > 0 is a Euclidean distance. margin < 0 means that they must
 *          penetrate that deep: the least distance by which one must be moved for the two to part.
 *          For a sphere or capsule that is its radius less the distance of its centre or segment
 *          from the box or, if the centre or segment meets the box, plus its depth in the box. For
 *          a box or frustum it is the depth by the separating axes.
 * Accuracy exact if the distances are, as for boxes parallel to the coordinate axes. Otherwise the
 *          answer is right if the distance (or depth) differs from the margin by more than 1e-13 of
 *          the pair's scale, the largest distance between a point of the shape and one of the box.
 *          For a frustum this is about its computed corners, which are as accurate as the matrix's
 *          conditioning allows; without a margin it is the gap by its separating axes that must
 *          differ. Extents below 1e-140 are outside of this promise: the squares of their lengths
 *          underflow, and a pair that is apart may count as overlapping.
 * Cost     sphere 40 flops, capsule and box that of closest.h and sat.h, frustum about 3,000 flops,
 *          and twelve times obb_closest_segment within a positive margin.
 * Source   separating axes of convex polyhedra: Ericson, "Real-Time Collision Detection", 2005,
 *          5.2.1. */
bool obb_shape_overlap(const obb_shape *shape, const obb_solid *box, double margin);

/* Returns the Euclidean distance of the shape and the box, 0 if they touch or overlap.
 *
 * Accuracy within 1e-12 of the pair's scale, as above.
 * Cost     that of closest.h; of a frustum about 3,000 flops and twelve times
 *          obb_closest_segment. */
double obb_shape_distance(const obb_shape *shape, const obb_solid *box);

/* Returns obb_shape_overlap for two boxes; symmetric. */
bool obb_shape_boxes(const obb_solid *a, const obb_solid *b, double margin);

#endif
