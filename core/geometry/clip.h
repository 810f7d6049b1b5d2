/* The volume of the intersection of two boxes. */
#ifndef OBB_CLIP_H
#define OBB_CLIP_H

#include "core/geometry/box.h"

/* Returns the volume of the intersection (in the plane its area), in scene units to the third
 * (second) power. It is 0 if the boxes only touch, and never more than the smaller volume. It is
 * exactly the smaller volume if one box holds the other and all axes are coordinate axes.
 * Exchanging a and b keeps the bits.
 *
 * Accuracy off by at most 2^-46 of the pair's extent times the surface of the smaller box, which is
 *          the effect that the rounding of a rotation has on any such volume. This is within 1e-9
 *          of the smaller volume unless the smaller box is thinner than 5e-5 of the extent, and in
 *          practice down to 1e-6 of the extent. EXACTNESS.md has the proof.
 * Cost     0.1 us for boxes apart, 1 us for others; no allocation; any thread.
 * Source   the planes of the larger box cut the polyhedron of the smaller box one after the
 *          other (Sutherland and Hodgman, "Reentrant polygon clipping", 1974, carried over to a
 *          boundary of edges). The volume is summed over edges by the divergence theorem. */
double obb_clip_volume(const obb_solid *a, const obb_solid *b);

#endif
