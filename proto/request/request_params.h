/* Parameters of query strings. An unknown, repeated or malformed parameter is a 400.
 *
 * Each wire_read_… function returns false if it refuses the parameters, or if the arena finds no
 * memory. *problem then says what to answer, and *out is not to be read. */
#ifndef WIRE_REQUEST_PARAMS_H
#define WIRE_REQUEST_PARAMS_H

#include "core/obb.h"
#include "proto/problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One parameter, percent-decoded. Decoders take them in the order sent. */
typedef struct wire_param {
    obb_str key, value; /* value has length 0 if there was no "=" */
} wire_param;

/* How new the state must be that an answer is given from. Zeroes: as it is. */
typedef struct wire_freshness {
    bool has_revision;
    bool fresh;        /* the newest state of all processes over one log */
    uint64_t revision; /* with has_revision: at least this one */
} wire_freshness;

/* The derived geometry that an answer about a box may include. */
enum {
    WIRE_INCLUDE_AXES = 1,
    WIRE_INCLUDE_CORNERS = 2,
    WIRE_INCLUDE_PLANES = 4,
    WIRE_INCLUDE_EDGES = 8,
    WIRE_INCLUDE_AABB = 16,
    WIRE_INCLUDE_MATRIX = 32,
    WIRE_INCLUDE_VOLUME = 64
};

typedef struct wire_box_params {
    unsigned include; /* of WIRE_INCLUDE_… */
    bool has_at;
    obb_at at;
    wire_freshness freshness;
} wire_box_params;

/* Reads the parameters of one box. */
bool wire_read_box_params(const wire_param *params, size_t count, struct obb_arena *arena,
                          wire_box_params *out, wire_problem *problem);

/* Reads the parameters of one frame: a point in time, without `include`. */
bool wire_read_frame_params(const wire_param *params, size_t count, struct obb_arena *arena,
                            wire_box_params *out, wire_problem *problem);

typedef struct wire_list_params {
    size_t limit;
    uint64_t after_id;  /* boxes: list after this id */
    obb_str after_name; /* scenes, frames: list after this name */
    obb_str prefix;     /* boxes, frames; length 0: any */
    obb_str entity;     /* boxes; length 0: any */
    bool has_at;
    obb_at at;
    wire_freshness freshness; /* of scenes: only `fresh` */
} wire_list_params;

/* Read the parameters of lists: of boxes, of frames, of scenes. */
bool wire_read_box_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                               wire_list_params *out, wire_problem *problem);
bool wire_read_frame_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                 wire_list_params *out, wire_problem *problem);
bool wire_read_scene_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                 wire_list_params *out, wire_problem *problem);

enum {
    WIRE_TOPIC_COLLISIONS = 1,
    WIRE_TOPIC_BOXES = 2,
    WIRE_TOPIC_COMMITS = 4,
    WIRE_TOPIC_QUERIES = 8,
    WIRE_TOPICS = 15 /* all of them; the default */
};

/* What a client asks of an event stream. */
typedef struct wire_event_params {
    unsigned topics; /* a set of WIRE_TOPIC_… */
    obb_str prefix;  /* of the names of boxes; length 0: any */
    obb_str entity;  /* of boxes; length 0: any */
    bool has_category;
    uint32_t category; /* boxes share a bit with it */
    bool pose;         /* with the poses of boxes */
    double rate;       /* messages a second, above 0 and at most 1,000; 0: one for each commit */
    wire_freshness freshness; /* of the state that the stream begins with; no part of its kind */
} wire_event_params;

/* Reads the parameters of an event stream. */
bool wire_read_event_params(const wire_param *params, size_t count, struct obb_arena *arena,
                            wire_event_params *out, wire_problem *problem);

/* Returns whether some boxes are left out. */
bool wire_event_params_filter(const wire_event_params *params);

/* Returns whether two streams are sent the same messages. */
bool wire_event_params_equal(const wire_event_params *a, const wire_event_params *b);

/* Which recorded queries are listed. */
typedef struct wire_recorded_params {
    size_t limit;
    uint64_t after_id; /* list after this id */
    bool has_tag, has_hit;
    obb_str tag;
    bool hit;    /* whether the answer found something */
    obb_str box; /* that the query or its answer names; length 0: any */
    wire_freshness freshness;
} wire_recorded_params;

/* Reads the parameters of the list of recorded queries. */
bool wire_read_recorded_params(const wire_param *params, size_t count, struct obb_arena *arena,
                               wire_recorded_params *out, wire_problem *problem);

typedef struct wire_log_params {
    bool has_from; /* false: from the oldest state that is kept */
    uint64_t from; /* the log begins with the state after this revision */
    bool follow;   /* the log goes on as commits come */
    wire_freshness freshness;
} wire_log_params;

/* Reads the parameters of a log. */
bool wire_read_log_params(const wire_param *params, size_t count, struct obb_arena *arena,
                          wire_log_params *out, wire_problem *problem);

/* Reads the parameters of a read that has no others. */
bool wire_read_freshness_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                wire_freshness *out, wire_problem *problem);

/* Refuses every parameter. */
bool wire_read_no_params(const wire_param *params, size_t count, struct obb_arena *arena,
                         wire_problem *problem);

#endif
