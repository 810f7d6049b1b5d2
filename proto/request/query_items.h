/* The items of queries: pairs, shapes, points, rays, sweeps and boxes. Internal to the room. */
#ifndef WIRE_QUERY_ITEMS_H
#define WIRE_QUERY_ITEMS_H

#include "proto/codec/cursor.h"

/* A query while its fields are read, in whatever order they come. */
struct wire_query_reading {
    struct wire_cursor *c;
    int dimensions;
    obb_query *query;
    bool has_id;     /* a box was given by its id, which needs "by":"id" */
    size_t id_place; /* of the first such id */
    bool flat_pairs; /* the pairs were one flat array, which needs "by":"id" too */
    bool by_name;    /* "by":"name" was sent */
    int float_bits;  /* of the computed numbers of columns; 0: not sent */
    size_t at_place; /* of the member of `at` that names a moment; 0: none does */
    bool has_flaw;   /* a fault lies in `with`: */
    struct wire_fault flaw;
};

enum wire_item_kind {
    WIRE_ITEM_SHAPE,
    WIRE_ITEM_POINT,
    WIRE_ITEM_RAY,
    WIRE_ITEM_SWEEP,
    WIRE_ITEM_BOX,
    WIRE_ITEM_KINDS
};

/* Each returns false if the cursor failed. */

/* Reads the id of a box, and notes its place. */
bool wire_read_item_id(struct wire_query_reading *r, uint64_t *out);

/* Reads [["a","b"],...] or the flat [1,2,...] into the query's items. */
bool wire_read_pairs(struct wire_query_reading *r);

/* Reads points, each an array or all in one flat array. */
bool wire_read_points(struct wire_query_reading *r);

/* Reads rays, as an array of objects or in columns. */
bool wire_read_rays(struct wire_query_reading *r);

/* Reads an array of items of one kind into the query's items. */
bool wire_read_items(struct wire_query_reading *r, enum wire_item_kind kind);

#endif
