/* obbd.h - the client of obbd, the collision service, for C99 and C++.
 *
 * A program copies obbd.h and obbd.c, or links the library that `make install` puts in place. The
 * client needs libcurl, or a transport of the program's own (obbd_transport).
 *
 * One obbd is for one thread. Each thread of a program opens its own. */
#ifndef OBBD_H
#define OBBD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OBBD_VERSION "0.1.0"

typedef struct obbd obbd;               /* the service, by its address */
typedef struct obbd_tick obbd_tick;     /* builds one commit after the other for a scene */
typedef struct obbd_events obbd_events; /* follows a scene */
typedef struct obbd_stream obbd_stream; /* an answer that goes on */

/* Text in an answer, UTF-8, without a zero at its end. */
typedef struct obbd_text {
    const char *bytes;
    size_t size;
} obbd_text;

/* Returns whether the text is `other`. */
bool obbd_is(obbd_text text, const char *other);

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value in an answer. It points into the answer and is valid as long as the answer. The value
 * that is all zeros is absent. Every function below takes an absent value. */
typedef struct obbd_value {
    const unsigned char *at;
    const unsigned char *end;
} obbd_value;

typedef enum obbd_type {
    OBBD_ABSENT,
    OBBD_NULL,
    OBBD_BOOL,
    OBBD_NUMBER,
    OBBD_TEXT,
    OBBD_LIST,
    OBBD_MAP
} obbd_type;

obbd_type obbd_type_of(obbd_value value);

/* Returns the member of a map, absent if the map has none of this name. O(members). */
obbd_value obbd_get(obbd_value map, const char *name);

/* Returns how many items a list has, or members a map; else 0. */
size_t obbd_count(obbd_value value);

/* Steps through a list. The item is absent before the first step. Returns false at the end. In a
 * map the items are name, value, name, value. A list that holds numbers alone is read by
 * obbd_numbers. */
bool obbd_next(obbd_value list, obbd_value *item);

/* Return 0, false and an empty text where the value is of another type. */
double obbd_number(obbd_value value);
bool obbd_true(obbd_value value);
obbd_text obbd_text_of(obbd_value value);

/* Copies at most n numbers of a list to `out`. Returns how many it copied. */
size_t obbd_numbers(obbd_value list, size_t n, double *out);

/* Returns the value as JSON, ended by a zero, to be freed with free(); NULL without memory. */
char *obbd_json(obbd_value value);

/* ---- The service ----------------------------------------------------------------------------- */

/* One part of a body: it lies where the program has it. */
typedef struct obbd_part {
    const void *bytes;
    size_t size;
} obbd_part;

typedef struct obbd_field {
    const char *name;
    const char *value;
} obbd_field;

/* A request as a transport gets it. The transport adds Host and Content-Length, and puts the path
 * of its address, if it has one, before the path of the request. */
typedef struct obbd_http {
    const char *method;
    const char *path; /* begins with / */
    const obbd_field *fields;
    size_t field_count;
    const obbd_part *parts; /* of the body, to be sent one after the other */
    size_t part_count;
    size_t size;   /* of all parts together */
    bool has_body; /* is there a body? It may be empty. */
} obbd_http;

/* The head of an answer. The transport fills it; `fields` is valid until `end` is called. */
typedef struct obbd_head {
    int status;
    const char *fields; /* "Name: value", a line each, ended by a zero */
    char why[200];      /* what broke, where a function returns less than 0 */
} obbd_head;

/* What functions of a transport and obbd_stream_read return in place of 0 or a size. */
enum {
    OBBD_REFUSED = -1, /* no connection was made, so nothing of the request can have arrived */
    OBBD_BROKEN = -2,  /* the connection broke */
    OBBD_LATE = -3     /* nothing came in time */
};

/* Three functions that carry requests, for programs that have HTTP of their own. A transport must
 * not send a request twice by itself. timeout_ms below 0 means no limit. */
typedef struct obbd_transport {
    void *context;
    /* Sends a request and waits for the head of its answer. Returns 0 and the exchange, or a number
     * of the enum above. */
    int (*send)(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                void **out_exchange);
    /* Reads some bytes of the body. Returns how many, 0 at the end of the body, or OBBD_BROKEN or
     * OBBD_LATE. */
    long (*read)(void *context, void *exchange, void *bytes, size_t size, int timeout_ms);
    /* Ends the exchange, wherever it stands in the body. */
    void (*end)(void *context, void *exchange);
} obbd_transport;

typedef struct obbd_options {
    const char *token; /* NULL: OBBD_TOKEN, else none */
    /* Gives a token; `refused` says that the one before was not good. Takes the place of
     * `token`. */
    const char *(*token_of)(void *context, bool refused);
    void *token_context;
    int timeout_ms;                  /* for a call with all its attempts; 0 means 10000 */
    int retries;                     /* how often a call may be sent again; 0 means 3, -1 never */
    const char *ca_file;             /* certificates to trust with https; NULL for the system's */
    const obbd_transport *transport; /* NULL for libcurl; else it must live as long as the obbd */
} obbd_options;

/* Opens a client. Nothing is sent yet.
 *
 * url      http://..., https://... or unix:/path; NULL: OBBD_URL, else http://localhost:7480. A
 *          path behind the host is put before the path of each request
 * options  NULL for the defaults; strings are copied
 * Returns NULL without memory. If the address is wrong, obbd_why says so, and every call fails. */
obbd *obbd_open(const char *url, const obbd_options *options);

/* Closes all of it: connections, ticks, events and streams. Takes NULL. */
void obbd_close(obbd *o);

typedef enum obbd_error {
    OBBD_FINE,
    OBBD_PROBLEM, /* the daemon refused the request, or another server answered in its place;
                   * nothing was changed */
    OBBD_LOST,    /* ids and revisions of the scene began anew, or it is gone; on_lost has run */
    OBBD_DISCONNECTED, /* no connection, or none that lasted; nothing was changed */
    OBBD_UNKNOWN,      /* the connection broke behind a change: it was made or not */
    OBBD_UNANSWERED,   /* the commit was made, some of its queries were not answered */
    OBBD_MISUSED,      /* the program asked for what cannot be sent; nothing was sent */
    OBBD_NO_MEMORY
} obbd_error;

/* Why the last call failed. Valid until the next call with this obbd. */
typedef struct obbd_problem {
    obbd_error error;
    int status;          /* of the answer; 0 without one */
    const char *type;    /* such as "/problems/bad-extent"; "" if the daemon said none */
    const char *detail;  /* what was found and what is allowed */
    const char *pointer; /* JSON pointer into the body; NULL for none */
    const char *text;    /* detail, and the pointer in brackets */
} obbd_problem;

/* Never NULL; the error is OBBD_FINE if the last call did not fail. */
const obbd_problem *obbd_why(const obbd *o);

/* "Problem", "Lost" and so on. */
const char *obbd_error_name(obbd_error error);

/* ---- Commits --------------------------------------------------------------------------------- */

/* Returns a builder for commits to a scene. It keeps its memory from commit to commit. NULL without
 * memory. obbd_close frees it, or obbd_tick_free before that. */
obbd_tick *obbd_tick_new(obbd *o, const char *scene);
void obbd_tick_free(obbd_tick *t);

/* Returns the address of the scene in the web editor, valid until obbd_close; NULL if only a unix
 * socket is known. */
const char *obbd_page(const obbd_tick *t);

/* Vectors of this builder have two numbers and rotations are angles: for scenes of two
 * dimensions. */
void obbd_tick_plane(obbd_tick *t);

/* The functions below add to the next commit. They return nothing: what cannot be sent is told by
 * obbd_commit. Strings are copied. */

void obbd_tick_time(obbd_tick *t, double time);

/* A box. What is 0 or NULL is not sent, except center and half. */
typedef struct obbd_box {
    double center[3];
    double half[3];
    double rotation[4]; /* x, y, z, w */
    double degrees;     /* counter-clockwise, in the plane */
    const char *entity;
    const char *frame;
    const char *data; /* JSON */
    uint32_t category, mask;
    int32_t group;
    double ttl;
} obbd_box;

void obbd_tick_put(obbd_tick *t, const char *name, const obbd_box *box);

/* n boxes by columns. Arrays are sent from where they lie: they must stay as they are until the
 * commit is answered. One commit takes one load, or boxes by obbd_tick_put. */
typedef struct obbd_load {
    size_t n;
    const char *const *names;
    const double *centers;   /* 3n, in the plane 2n */
    const double *half;      /* 3n, in the plane 2n; of one box with one_half */
    bool one_half;           /* all boxes have the same half extents */
    const double *rotations; /* 4n, in the plane n angles in degrees; NULL for none */
    const char *entity;      /* of all boxes; NULL for none */
    uint32_t category, mask; /* of all boxes; 0 is not sent */
} obbd_load;

void obbd_tick_load(obbd_tick *t, const obbd_load *load);

/* Poses n boxes by their ids. The arrays are kept by pointer until the commit is answered. Several
 * calls for one commit are one column, so all must have rotations, or none.
 *
 * ids        an array of obbd_ids, or one of the program with ids of obbd_id
 * centers    3n numbers, in the plane 2n
 * rotations  4n numbers, in the plane n angles; NULL keeps the rotations */
void obbd_tick_pose(obbd_tick *t, size_t n, const uint32_t *ids, const float *centers,
                    const float *rotations);
void obbd_tick_pose64(obbd_tick *t, size_t n, const uint32_t *ids, const double *centers,
                      const double *rotations);

typedef struct obbd_pose {
    double center[3];
    double rotation[4]; /* all 0: stays as it is */
    double degrees;     /* in the plane; sent with `turned` */
    bool turned;
    bool teleport; /* nothing lies between the pose before and this one */
} obbd_pose;

/* Poses one box by its name. */
void obbd_tick_move(obbd_tick *t, const char *name, const obbd_pose *pose);

typedef struct obbd_transform {
    double translate[3];
    double axis[3]; /* all 0: no rotation; not used in the plane */
    double degrees;
    double scale[3]; /* all 0: none */
    bool local;      /* in the space of the box */
} obbd_transform;

void obbd_tick_transform(obbd_tick *t, const char *name, const obbd_transform *how);
void obbd_tick_remove(obbd_tick *t, const char *name);

/* Any other member of a commit, in JSON: obbd_tick_set(t, "if_revision", "41"). */
void obbd_tick_set(obbd_tick *t, const char *member, const char *json);

/* How often the next commit may be sent again (0 never), and its milliseconds with all attempts. */
void obbd_tick_retries(obbd_tick *t, int retries);
void obbd_tick_timeout(obbd_tick *t, int timeout_ms);

/* ---- Queries --------------------------------------------------------------------------------- */

/* What state a query asks; all zeros is the one that the commit makes. */
typedef struct obbd_moment {
    int kind;
    unsigned flags;
    double value;
} obbd_moment;

enum {
    OBBD_CLAMP = 0, /* beyond the history: its nearest end */
    OBBD_EXACT = 1, /* beyond the history: a problem, 410 */
    OBBD_WHOLE = 2  /* the last commit until then, nothing between two commits */
};

obbd_moment obbd_at(double time, unsigned flags);
obbd_moment obbd_ago(double ms, unsigned flags);
obbd_moment obbd_at_revision(uint64_t revision);

/* How a query is asked. What is 0 or NULL is not sent. */
typedef struct obbd_ask {
    obbd_moment at;
    const double *times;       /* rays: n, each ray is judged at its own */
    const char *mode;          /* rays, sweeps: "closest", "any", "all", "closest_per_entity" */
    const char *inside;        /* rays: "hit", "exit", "ignore" */
    const char *except_entity; /* boxes of this entity take no part */
    const uint32_t *except;    /* nor do these boxes */
    size_t except_count;
    const char *prefix; /* only boxes whose names begin so */
    uint32_t category, mask;
    double margin;
    double max_distance; /* nearest */
    uint32_t k;          /* nearest: how many, 1 by default */
    uint32_t limit;
    bool count_only; /* all pairs */
    bool by_name;    /* the answer names boxes, in place of their ids */
    const char *tag;
    bool unrecorded;  /* a scene that records queries leaves it out */
    bool fresh;       /* of the newest state of all daemons over one log */
    const char *more; /* further members, as a JSON object: "{\"want\":[\"mtv\"]}" */
} obbd_ask;

typedef struct obbd_ray {
    double origin[3];
    double direction[3];
    double max_distance; /* 0 for none; the daemon refuses less than 0, and NaN */
} obbd_ray;

/* A shape: a name, a box, a frustum, or a radius. A radius makes a capsule from a to b if `capsule`
 * is set, or if b is neither a nor all zeros. Otherwise it makes a sphere around a. So set
 * `capsule` if b may be the origin. */
typedef struct obbd_shape {
    const char *name;    /* a box of the scene */
    const obbd_box *box; /* one that is not stored */
    double a[3], b[3];   /* the center of a sphere is a */
    double radius;
    const double *frustum; /* 16 numbers */
    bool capsule;          /* from a to b, wherever they are */
} obbd_shape;

typedef struct obbd_sweep {
    const char *name;
    const obbd_box *box; /* in place of a name */
    double motion[3];
} obbd_sweep;

/* Each returns the number of the query in the commit, or -1 if it cannot be sent. `ask` may be
 * NULL. */
int obbd_tick_rays(obbd_tick *t, size_t n, const obbd_ray *rays, const obbd_ask *ask);
int obbd_tick_sweeps(obbd_tick *t, size_t n, const obbd_sweep *sweeps, const obbd_ask *ask);
int obbd_tick_shapes(obbd_tick *t, size_t n, const obbd_shape *shapes, const obbd_ask *ask);
int obbd_tick_points(obbd_tick *t, size_t n, const double *points, const obbd_ask *ask);
int obbd_tick_nearest(obbd_tick *t, size_t n, const double *points, const obbd_ask *ask);
int obbd_tick_pairs(obbd_tick *t, size_t n, const uint32_t *ids, const obbd_ask *ask); /* 2n ids */
int obbd_tick_all_pairs(obbd_tick *t, const obbd_ask *ask);

/* Any query in JSON, with its "kind". */
int obbd_tick_query(obbd_tick *t, const char *json);

/* ---- Answers --------------------------------------------------------------------------------- */

typedef struct obbd_answer {
    uint64_t revision;
    double time;
    uint32_t removed, put, posed, transformed;
    bool repeated;    /* the daemon knew the commit already: this is its answer from then */
    obbd_value value; /* all of it */
    obbd_tick *tick;
} obbd_answer;

/* Applies the changes and asks the queries, all or nothing. The builder is empty then.
 *
 * A commit gets an id by which the scene knows it again, so it is sent again if the connection
 * breaks. A commit with a time and poses is a tick: it gets none and is not sent again, unless
 * obbd_tick_retries says so, for the next one is better.
 * Returns the answer, valid until the next commit or query of this builder; NULL on failure
 * (obbd_why). */
const obbd_answer *obbd_commit(obbd_tick *t);

/* Asks the one query of the builder by itself, which needs a token to read only. Its number is
 * 0. */
const obbd_answer *obbd_query(obbd_tick *t);

/* After OBBD_UNANSWERED: the answer of the commit, which was made. Else NULL. */
const obbd_answer *obbd_committed(const obbd_tick *t);

/* Returns the whole answer of a query. */
obbd_value obbd_result(const obbd_answer *a, int query);

/* A box that was found. Members that the kind of query does not tell are 0. */
typedef struct obbd_hit {
    uint32_t id;
    obbd_text name; /* with by_name */
    double distance, fraction;
    double point[3], normal[3];
    obbd_value value; /* where the answer has an object for it */
} obbd_hit;

/* Returns how many boxes the item (ray, sweep, shape, point) found, and the first of them in
 * `*out_hits`, the others behind it. Valid as long as the answer. */
size_t obbd_hits(const obbd_answer *a, int query, size_t item, const obbd_hit **out_hits);

/* Returns the first one, or NULL. */
const obbd_hit *obbd_first_hit(const obbd_answer *a, int query, size_t item);

/* Returns whether a pair of obbd_tick_pairs overlaps. */
bool obbd_overlap(const obbd_answer *a, int query, size_t item);

/* Returns how many pairs of all pairs are listed, and their ids, two each, in `*out_ids`: a view on
 * the answer if it is aligned, else a copy. "count" of obbd_result says how many there are. */
size_t obbd_pairs(const obbd_answer *a, int query, const uint32_t **out_ids);

typedef struct obbd_state {
    uint64_t revision;
    double time;
    bool clamped; /* the moment that was asked lies beyond the history */
} obbd_state;

/* Tells which state a query about the past saw. Returns false if the query asked the present. */
bool obbd_seen(const obbd_answer *a, int query, size_t item, obbd_state *out_state);

/* ---- Ids ------------------------------------------------------------------------------------- */

/* Returns the id of a box that was put or learned through this obbd; 0 if it is not known. A bare
 * id belongs to the epoch of the latest call: after OBBD_LOST ask for all of them again. */
uint32_t obbd_id(obbd_tick *t, const char *name);

/* Returns the ids of n boxes, or NULL if one is not known. obbd_close frees the array, or
 * obbd_ids_free. After OBBD_LOST the array is refused by every commit, so no wrong box moves. */
const uint32_t *obbd_ids(obbd_tick *t, size_t n, const char *const *names);
void obbd_ids_free(obbd_tick *t, const uint32_t *ids);

/* Returns the id of a box like obbd_id, and asks the daemon for it where it is not known, because
 * the box was there before this program. 0 on failure. */
uint32_t obbd_learn(obbd_tick *t, const char *name);

/* Reads the ids of all boxes of the scene, with a request for each 10,000. */
bool obbd_learn_all(obbd_tick *t);

/* Deletes the scene and forgets its ids. True, too, if there is no such scene. */
bool obbd_delete(obbd_tick *t);

/* Scenes are in memory: after a restart their ids mean other boxes. If a call notices that, the ids
 * are forgotten, `put` runs, and the call fails with OBBD_LOST. `put` gets an empty builder and
 * puts the boxes again. It may commit; if it does not, the client does. If the last commit of this
 * builder fails, the next call to the scene runs `put` again, and fails with OBBD_LOST, too. */
void obbd_on_lost(obbd *o, const char *scene, void (*put)(void *context, obbd_tick *t),
                  void *context);

/* ---- Events ---------------------------------------------------------------------------------- */

enum { OBBD_COLLISIONS = 1, OBBD_BOXES = 2, OBBD_COMMITS = 4, OBBD_QUERIES = 8 };

typedef enum obbd_event_kind {
    OBBD_NOTHING, /* no message came in time */
    OBBD_STATE,   /* begin anew with this set of pairs */
    OBBD_BEGIN,
    OBBD_END,
    OBBD_CHANGED, /* of the topic boxes */
    OBBD_COMMITTED,
    OBBD_QUERIED,
    OBBD_GONE,  /* the scene was deleted; the last event */
    OBBD_FAILED /* obbd_why says why; there are no more events */
} obbd_event_kind;

/* A message. Valid until the next call with these events. */
typedef struct obbd_event {
    obbd_event_kind kind;
    uint64_t revision;
    double time;
    obbd_text reason; /* why pairs ended */
    obbd_value value; /* all of it */
    obbd_value pair;  /* where obbd_event_pair stands */
} obbd_event;

/* Which events; what is 0 or NULL is not sent. */
typedef struct obbd_follow_options {
    const char *prefix;
    const char *entity;
    uint32_t category;
    bool poses; /* with poses of the boxes that changed */
    /* Messages a second of each kind. A pair that came and went between two messages is in the end
     * and in the begin after it. The two cancel out: count for each pair how often it began and
     * ended. */
    double rate;
    int silence_ms; /* without a byte the connection counts as broken; 0 means 45000 */
} obbd_follow_options;

/* Follows a scene, over breaks and restarts of the daemon, until the scene is deleted. The
 * connection is made by the first obbd_event_next. NULL without memory. obbd_close ends it, or
 * obbd_unfollow. */
obbd_events *obbd_follow(obbd *o, const char *scene, unsigned topics);
obbd_events *obbd_follow_with(obbd *o, const char *scene, unsigned topics,
                              const obbd_follow_options *options);
void obbd_unfollow(obbd_events *e);

/* Waits for the next message. Returns false if none came within timeout_ms (below 0: no limit), and
 * at the end, which out->kind tells apart. With 0 it returns at once, except for a call that makes
 * the connection: the first takes up to the timeout of the client, later ones up to a second.
 *
 * A revision that was cut in the middle comes again whole, so treat pairs as a set. */
bool obbd_event_next(obbd_events *e, obbd_event *out, int timeout_ms);

/* Steps through the pairs of a message. Returns false at the end. */
bool obbd_event_pair(obbd_event *event, obbd_text *out_a, obbd_text *out_b);

/* ---- Everything else ------------------------------------------------------------------------- */

typedef struct obbd_call {
    const char *const *headers; /* "Name: value", ended by NULL; NULL for none */
    const char *type;           /* Content-Type of a body that is not JSON */
    size_t size;                /* of the body; 0: it ends with a zero */
    bool cbor;                  /* the body goes out in CBOR, and the answer comes in CBOR */
    bool again;                 /* a change may be sent again if the connection broke */
    int timeout_ms;             /* 0: as the client has it */
    int retries;                /* 0: as the client has it; -1 never */
} obbd_call;

/* An answer. Valid until the next call with this obbd. */
typedef struct obbd_reply {
    int status;
    const char *fields; /* the header, "Name: value" a line */
    const char *body;   /* JSON, also of an answer in CBOR; or text; ended by a zero */
    size_t size;
    obbd_value value; /* of JSON and CBOR */
} obbd_reply;

/* Sends any request of the contract. Returns NULL with obbd_why for a status other than
 * 2xx and 304, and for an answer under /v1/ of a type that the daemon does not send.
 *
 * body  JSON, or what call->type says; NULL for none
 * call  NULL for the defaults */
const obbd_reply *obbd_request(obbd *o, const char *method, const char *path, const char *body,
                               const obbd_call *call);

/* Returns the last answer that obbd_request or obbd_stream_open got, also a problem; NULL if there
 * is none. */
const obbd_reply *obbd_last(const obbd *o);

/* Returns a field of the header, empty if it is not there. */
obbd_text obbd_header(const obbd_reply *reply, const char *name);

/* Opens an answer that goes on, as GET /v1/scenes/{scene}/log?follow=true. NULL with obbd_why. */
obbd_stream *obbd_stream_open(obbd *o, const char *path, const obbd_call *call);

/* Returns how many bytes came, 0 at the end, OBBD_BROKEN, or OBBD_LATE if none came within
 * timeout_ms (below 0: no limit), after which it may be called again. */
long obbd_stream_read(obbd_stream *stream, void *bytes, size_t size, int timeout_ms);
void obbd_stream_close(obbd_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
