#include "proto/request/orientation.h"

#include "proto/request/object.h"
#include "proto/request/value.h"

static bool read_axes(struct wire_cursor *c, obb_quat *out)
{
    const size_t place = wire_place(c);
    obb_vec3 axes[3];
    int count = 0;
    if (!wire_enter_array(c))
        return false;
    for (; wire_next_item(c); count++)
        if (count == 3 ? !wire_fail_at(c, WIRE_BAD_LENGTH, place, "axes are two or three vectors")
                       : !wire_read_vector(c, 3, WIRE_ANY, &axes[count]))
            return false;
    if (c->failed)
        return false;
    if (count < 2)
        return wire_fail_at(c, WIRE_BAD_LENGTH, place, "axes are two or three vectors");
    if (count == 2)
        axes[2] = obb_cross(axes[0], axes[1]);
    return wire_check_status(c, obb_quat_from_axes(axes, out), place);
}

bool wire_read_axis_angle(struct wire_cursor *c, obb_quat *out)
{
    enum { AXIS, DEGREES, COUNT };
    static const obb_str fields[COUNT] = {
        [AXIS] = WIRE_FIELD("axis"), [DEGREES] = WIRE_FIELD("degrees")};
    struct wire_object o;
    obb_vec3 axis = {0};
    double degrees = 0.0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == AXIS ? !wire_read_vector(c, 3, WIRE_ANY, &axis)
                          : !wire_read_real(c, WIRE_ANY, &degrees))
            return false;
    return !c->failed && wire_object_need(&o, AXIS) && wire_object_need(&o, DEGREES) &&
           wire_check_status(c, obb_quat_from_axis_angle(axis, degrees, out), o.where[AXIS]);
}

bool wire_read_quaternion(struct wire_cursor *c, obb_quat *out)
{
    double q[4];
    if (!wire_read_reals(c, WIRE_ANY, q, 4))
        return false;
    *out = (obb_quat){q[0], q[1], q[2], q[3]};
    return true;
}

bool wire_read_orientation(struct wire_cursor *c, enum wire_orientation_field field, int dimensions,
                           struct wire_orientation *out)
{
    struct wire_orientation orientation = {
        .given = true, .place = wire_place(c), .rotation = {0.0, 0.0, 0.0, 1.0}};
    if (out->given)
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, orientation.place,
                            "a box is turned in one way");
    if ((field == WIRE_ORIENTATION_ANGLE) != (dimensions == 2))
        return wire_fail_at(c, WIRE_UNKNOWN_FIELD, orientation.place,
                            dimensions == 2 ? WIRE_SPATIAL_ONLY : WIRE_PLANAR_ONLY);
    bool read = false;
    switch (field) {
    case WIRE_ORIENTATION_ROTATION:
        read = wire_read_quaternion(c, &orientation.rotation);
        break;
    case WIRE_ORIENTATION_AXES:
        read = read_axes(c, &orientation.rotation);
        break;
    case WIRE_ORIENTATION_AXIS_ANGLE:
        read = wire_read_axis_angle(c, &orientation.rotation);
        break;
    case WIRE_ORIENTATION_ANGLE:
        read = wire_read_real(c, WIRE_ANY, &orientation.angle);
        break;
    }
    if (read)
        *out = orientation;
    return read;
}
