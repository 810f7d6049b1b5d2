/* The table of routes: for each its method, path, handler, the media types of body and answer, and
 * the scope that a token needs. */
#ifndef SRV_TABLE_H
#define SRV_TABLE_H

#include "server/http/route.h"

extern const srv_route srv_route_table[];
extern const size_t srv_route_count;

#endif
