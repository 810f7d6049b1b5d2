/* Orientations: the four ways in which a request says how a box is rotated. */
#ifndef WIRE_ORIENTATION_H
#define WIRE_ORIENTATION_H

#include "proto/codec/cursor.h"

enum wire_orientation_field {
    WIRE_ORIENTATION_ROTATION,   /* a quaternion */
    WIRE_ORIENTATION_AXES,       /* two or three orthonormal vectors */
    WIRE_ORIENTATION_AXIS_ANGLE, /* {"axis","degrees"} */
    WIRE_ORIENTATION_ANGLE       /* degrees, in the plane */
};

/* The orientation of a box: at most one of the four fields. */
struct wire_orientation {
    bool given;
    size_t place; /* of the field's value */
    obb_quat
        rotation; /* as sent, or made of the field; not normalised yet, so its length may be 0 */
    double angle; /* degrees, in the plane */
};

/* Reads the value of `field` into *out, which is zeroed before the first field. A second field is
 * WIRE_FIELD_CONFLICT; a field that does not fit the dimensions is WIRE_UNKNOWN_FIELD. Returns
 * false if the cursor failed. */
bool wire_read_orientation(struct wire_cursor *c, enum wire_orientation_field field, int dimensions,
                           struct wire_orientation *out);

/* Reads four numbers; the quaternion is not normalised. */
bool wire_read_quaternion(struct wire_cursor *c, obb_quat *out);

/* Reads {"axis","degrees"} as a unit quaternion. */
bool wire_read_axis_angle(struct wire_cursor *c, obb_quat *out);

#endif
