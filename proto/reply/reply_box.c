#include "proto/reply/reply_box.h"

#include "proto/base/double.h"
#include "proto/reply/reply_body.h"
#include "proto/request/request_params.h"

/* The edges of a box as pairs of corners. Two corners share an edge if their indexes differ in one
 * bit. The edges along x come first, then y, then z, each in the order of the first corner. */
static const unsigned char edges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                           {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

static void put_axes(struct wire_out *out, const obb_solid *solid)
{
    wire_out_key(out, "axes");
    wire_out_array(out, (size_t)solid->dimensions);
    for (int i = 0; i < solid->dimensions; i++)
        wire_put_derived(out, solid->axis[i], solid->dimensions);
    wire_out_array_end(out);
}

static void put_corners(struct wire_out *out, const obb_solid *solid, const obb_vec3 corners[8])
{
    const size_t count = solid->dimensions == 2 ? 4 : 8;
    wire_out_key(out, "corners");
    wire_out_array(out, count);
    for (size_t i = 0; i < count; i++)
        wire_put_derived(out, corners[i], solid->dimensions);
    wire_out_array_end(out);
}

/* Writes the planes of the faces, in the order -x +x -y +y -z +z of the box's axes: an outward unit
 * normal n, and d with n * p + d = 0 on the face and below 0 inside. */
static void put_planes(struct wire_out *out, const obb_solid *solid)
{
    const size_t dimensions = (size_t)solid->dimensions;
    wire_out_key(out, "planes");
    wire_out_array(out, 2 * dimensions);
    for (int face = 0; face < 2 * solid->dimensions; face++) {
        const int i = face / 2;
        const obb_vec3 n = face % 2 == 0 ? obb_negate(solid->axis[i]) : solid->axis[i];
        const double d = -(obb_dot(n, solid->center) + obb_component(solid->half_extents, i));
        double plane[4] = {n.x + 0.0, n.y + 0.0, n.z + 0.0, d + 0.0};
        plane[dimensions] = d + 0.0;
        wire_out_doubles(out, plane, dimensions + 1);
    }
    wire_out_array_end(out);
}

static void put_edges(struct wire_out *out, const obb_solid *solid, const obb_vec3 corners[8])
{
    /* In the plane a box has the corners 0 to 3, so the edges 0, 1, 4 and 5. */
    wire_out_key(out, "edges");
    wire_out_array(out, solid->dimensions == 2 ? 4 : 12);
    for (size_t i = 0; i < 12; i++) {
        if (solid->dimensions == 2 && edges[i][1] > 3)
            continue;
        wire_out_array(out, 2);
        wire_put_derived(out, corners[edges[i][0]], solid->dimensions);
        wire_put_derived(out, corners[edges[i][1]], solid->dimensions);
        wire_out_array_end(out);
    }
    wire_out_array_end(out);
}

static void put_matrix(struct wire_out *out, const obb_solid *solid)
{
    double matrix[16];
    obb_solid_matrix(solid, matrix);
    for (int i = 0; i < 16; i++)
        matrix[i] += 0.0;
    wire_out_key(out, "matrix");
    wire_out_doubles(out, matrix, 16);
}

static void put_derived_members(struct wire_out *out, const obb_solid *solid, unsigned include)
{
    obb_vec3 corners[8];
    obb_solid_corners(solid, corners);
    if (include & WIRE_INCLUDE_AXES)
        put_axes(out, solid);
    if (include & WIRE_INCLUDE_CORNERS)
        put_corners(out, solid, corners);
    if (include & WIRE_INCLUDE_PLANES)
        put_planes(out, solid);
    if (include & WIRE_INCLUDE_EDGES)
        put_edges(out, solid, corners);
    if (include & WIRE_INCLUDE_AABB) {
        const obb_bounds bounds = obb_solid_bounds(solid);
        wire_out_key(out, "aabb");
        wire_put_bounds(out, &bounds, solid->dimensions);
    }
    if (include & WIRE_INCLUDE_MATRIX)
        put_matrix(out, solid);
    if (include & WIRE_INCLUDE_VOLUME) {
        wire_out_key(out, "volume");
        wire_put_derived_number(out, obb_solid_volume(solid));
    }
}

static void put_identity(struct wire_out *out, const struct obb_version *box)
{
    wire_out_key(out, "name");
    wire_out_string(out, obb_view_name(box));
    wire_out_key(out, "id");
    wire_out_integer(out, obb_view_id(box));
}

/* Writes from when the ttl of an exported box counts. */
static void put_since(struct wire_out *out, const struct obb_view *view,
                      const struct obb_version *box)
{
    if (!obb_view_attributes(box).has_ttl)
        return;
    wire_out_key(out, "since");
    wire_out_double(out, obb_view_since(view, box));
}

/* exported: the box goes to another scene, where other commits change it. */
static void put_box_members(struct wire_out *out, const struct obb_view *view,
                            const struct obb_version *box, bool exported)
{
    const int dimensions = obb_view_info_get(view)->dimensions;
    const obb_box pose = obb_view_pose(view, box);
    const obb_attributes attributes = obb_view_attributes(box);
    put_identity(out, box);
    if (!exported) {
        wire_out_key(out, "changed");
        wire_out_integer(out, obb_view_changed(box));
    }
    wire_put_pose(out, &pose, dimensions);
    wire_put_local(out, box, dimensions);
    wire_put_attributes(out, &attributes);
    if (exported)
        put_since(out, view, box);
}

/* Writes what a PUT of the box takes: the pose in its frame if it has one. */
static void put_stored_members(struct wire_out *out, const struct obb_view *view,
                               const struct obb_version *box)
{
    const int dimensions = obb_view_info_get(view)->dimensions;
    const obb_attributes attributes = obb_view_attributes(box);
    obb_str frame;
    obb_box local;
    if (!obb_view_local(box, &frame, &local)) {
        put_box_members(out, view, box, true);
        return;
    }
    put_identity(out, box);
    wire_out_key(out, "half_extents");
    wire_out_vector(out, local.half_extents, dimensions);
    wire_put_local(out, box, dimensions);
    wire_put_attributes(out, &attributes);
    put_since(out, view, box);
}

void wire_write_box(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                    const struct obb_version *box, unsigned include, bool has_at)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    put_box_members(&out, view, box, false);
    if (include != 0) {
        const obb_solid solid = obb_view_solid(view, box);
        put_derived_members(&out, &solid, include);
    }
    wire_put_now(&out, view);
    if (has_at)
        wire_put_at(&out, view);
    wire_out_object_end(&out, object);
}

void wire_write_boxes(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                      const struct obb_version *const *boxes, size_t count, bool has_at, bool more)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_now(&out, view);
    if (has_at)
        wire_put_at(&out, view);
    wire_out_key(&out, "boxes");
    wire_out_array(&out, count);
    for (size_t i = 0; i < count; i++) {
        const wire_out_scope entry = wire_out_object(&out);
        put_box_members(&out, view, boxes[i], false);
        wire_out_object_end(&out, entry);
    }
    wire_out_array_end(&out);
    if (more && count > 0) {
        char text[WIRE_INTEGER_ROOM];
        const size_t length = wire_integer_write(obb_view_id(boxes[count - 1]), text);
        wire_out_key(&out, "cursor");
        wire_out_string(&out, (obb_str){text, length});
    }
    wire_out_object_end(&out, object);
}

void wire_write_export_box(struct wire_buf *buf, const struct obb_view *view,
                           const struct obb_version *box)
{
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    put_stored_members(&out, view, box);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}
