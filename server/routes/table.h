/* The one table of routes: method, path, handler, body, what the answer may be in, and the scope that a token needs. */
#ifndef SRV_TABLE_H
#define SRV_TABLE_H

#include "server/http/route.h"

extern const srv_route srv_route_table[];
extern const size_t srv_route_count;

#endif
