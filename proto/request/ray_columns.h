/* Rays in columns: one array of all origins, one of all directions or targets, and so on. Internal
 * to the room. */
#ifndef WIRE_RAY_COLUMNS_H
#define WIRE_RAY_COLUMNS_H

#include "proto/codec/cursor.h"

/* Reads {"origins","directions" or "targets","max_distances","times"} into the rays, the count and
 * the times of the query, in the arena; without "times" those stay NULL. Returns false if the
 * cursor failed. */
bool wire_read_ray_columns(struct wire_cursor *c, int dimensions, obb_query *query);

#endif
