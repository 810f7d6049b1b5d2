/* The table of routes: for each its method, path, handler, the media types of body and answer, and
 * the scope that a token needs. */
#ifndef SRV_TABLE_H
#define SRV_TABLE_H

#include "server/http/route.h"
#include "server/scenes/epoch.h"

extern const srv_route srv_route_table[];
extern const size_t srv_route_count;

/* Returns what a request of the route does if the scene of its path is not there. */
srv_makes srv_route_makes(const srv_route *route);

#endif
