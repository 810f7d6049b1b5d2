/* The members that several replies share. Internal to the room. */
#ifndef WIRE_REPLY_BODY_H
#define WIRE_REPLY_BODY_H

#include "proto/codec/media.h"
#include "proto/codec/out.h"

/* Returns a writer of CBOR for WIRE_CBOR, and of JSON for all other media. */
static inline struct wire_out wire_out_of(struct wire_buf *buf, wire_media media)
{
    return media == WIRE_CBOR ? wire_out_cbor(buf) : wire_out_json(buf);
}

/* Writes the members "revision" and "time" of the open object. */
void wire_put_moment(struct wire_out *out, obb_moment moment);

/* Writes the member `key`: {"revision","time"}. */
void wire_put_named_moment(struct wire_out *out, const char *key, obb_moment moment);

/* Writes the members "revision" and "time" of the scene's newest state when the view was opened. */
void wire_put_now(struct wire_out *out, const struct obb_view *view);

/* Writes the member "at": the state that the view shows. */
void wire_put_at(struct wire_out *out, const struct obb_view *view);

/* Writes the members "center", "half_extents", and "rotation" or, in the plane, "angle": the stored
 * numbers. */
void wire_put_pose(struct wire_out *out, const obb_box *box, int dimensions);

/* Writes the member "rotation" or, in the plane, "angle". */
void wire_put_rotation(struct wire_out *out, const obb_box *box, int dimensions);

/* Writes center and rotation (or angle), as members of the open object. */
void wire_put_place(struct wire_out *out, const obb_box *box, int dimensions);

/* Writes frame and local, the pose in the frame, if the box stands in one. */
void wire_put_local(struct wire_out *out, const struct obb_version *box, int dimensions);

/* Writes the members "category", "mask", "group", and "entity" and "data" if the box has them. */
void wire_put_attributes(struct wire_out *out, const obb_attributes *attributes);

/* Write a computed number or vector as a value. A negative zero is written as 0, because its sign
 * means nothing there. */
void wire_put_derived_number(struct wire_out *out, double value);
void wire_put_derived(struct wire_out *out, obb_vec3 v, int dimensions);

/* Writes the value {"min","max"}. */
void wire_put_bounds(struct wire_out *out, const obb_bounds *bounds, int dimensions);

/* Writes the settings of a scene: the members "dimensions", "history" and "record". */
void wire_put_settings(struct wire_out *out, const obb_settings *settings);

/* Writes the member `key`: a count. */
void wire_put_count(struct wire_out *out, const char *key, size_t count);

/* Writes the member "truncated": true if the answer is truncated, otherwise nothing. */
void wire_put_truncated(struct wire_out *out, bool truncated);

#endif
