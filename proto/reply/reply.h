/* What several replies have in common. Internal to proto. */
#ifndef WIRE_REPLY_H
#define WIRE_REPLY_H

#include "proto/codec/out.h"
#include "proto/wire.h"

static inline struct wire_out wire_out_of(struct wire_buf *buf, wire_media media)
{
    return media == WIRE_CBOR ? wire_out_cbor(buf) : wire_out_json(buf);
}

/* Members "revision" and "time" of the open object. */
void wire_put_moment(struct wire_out *out, obb_moment moment);

/* Members "revision" and "time" of the scene's newest state when the view was opened. */
void wire_put_now(struct wire_out *out, const struct obb_view *view);

/* Member "at": the state that was looked at. */
void wire_put_at(struct wire_out *out, const struct obb_view *view);

/* Members "center", "half_extents", and "rotation" or, in the plane, "angle": the numbers as they are kept. */
void wire_put_pose(struct wire_out *out, const obb_box *box, int dimensions);

/* Members "category", "mask", "group", and "entity" and "data" where set. */
void wire_put_attributes(struct wire_out *out, const obb_attributes *attributes);

/* A value: a computed vector or number, in which a negative zero says nothing and is written as 0. */
void wire_put_derived(struct wire_out *out, obb_vec3 v, int dimensions);
void wire_put_derived_number(struct wire_out *out, double value);

/* A value: {"min","max"}. */
void wire_put_bounds(struct wire_out *out, const obb_bounds *bounds, int dimensions);

/* A member: a count. */
void wire_put_count(struct wire_out *out, const char *key, size_t count);

/* Members of a query's answer other than "revision" and "time". */
void wire_put_result(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                     const obb_result *result);

#endif
