/* The one table of routes. */
#include "server/table.h"

#include "server/state.h"

#define ONE(media) (1u << (media))

/* In the order of the API's description; most asked for first where it matters. */
const srv_route srv_route_table[] = {
    {SRV_GET, "/healthz", srv_do_health, SRV_NO_BODY, ONE(WIRE_JSON), SRV_OPEN},
    {SRV_GET, "/readyz", srv_do_ready, SRV_NO_BODY, ONE(WIRE_JSON), SRV_OPEN},
    {SRV_GET, "/metrics", srv_do_metrics, SRV_NO_BODY, 0, SRV_READ},
    {SRV_GET, "/openapi.json", srv_do_openapi, SRV_NO_BODY, ONE(WIRE_JSON), SRV_OPEN},
};
const size_t srv_route_count = sizeof srv_route_table / sizeof srv_route_table[0];
