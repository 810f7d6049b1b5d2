/* The header line of an export, for decoders of files that begin with one. Internal to the room. */
#ifndef WIRE_REQUEST_IMPORT_BODY_H
#define WIRE_REQUEST_IMPORT_BODY_H

#include "proto/codec/cursor.h"

struct wire_export_header {
    obb_settings settings;
    double boxes, frames, time;
    bool has_boxes, has_frames, has_time;
    bool framed;   /* the version knows frames */
    obb_str scene; /* length 0: not stated */
    /* The rest only describes the exported state: an import ignores it. */
    bool has_revision, has_hash, has_ids;
    uint64_t revision;
    uint64_t hash;           /* obb_digest_content */
    uint64_t exact, next_id; /* obb_digest_exact, and the id of the next new box */
};

/* Reads the header. Format, version, dimensions and history are always there. Returns false if the
 * cursor failed. */
bool wire_read_export_header(struct wire_cursor *c, struct wire_export_header *out);

#endif
