/* The volume that two boxes share. */
#ifndef OBB_CLIP_H
#define OBB_CLIP_H

#include "core/box.h"

/* Volume of the intersection (area in the plane), within 1e-9 of the smaller volume; 0 when they only touch. */
double obb_clip_volume(const obb_solid *a, const obb_solid *b);

#endif
