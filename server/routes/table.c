/* The one table of routes. */
#include "server/routes/table.h"

#include "server/routes/handlers.h"

#define ONE(media) (1u << (media))
#define BOTH       (ONE(WIRE_JSON) | ONE(WIRE_CBOR))
#define SCENE      "/v1/scenes/{scene}"
#define BOX        SCENE "/boxes/{box}"
#define FRAME      SCENE "/frames/{frame}"

/* In the order of the API's description. Routes are compared in this order, so of two that match
 * the first wins. */
const srv_route srv_route_table[] = {
    {SRV_GET, "/", srv_do_page, 0, 0, SRV_OPEN},
    {SRV_GET, "/healthz", srv_do_health, 0, ONE(WIRE_JSON), SRV_OPEN},
    {SRV_GET, "/readyz", srv_do_ready, 0, ONE(WIRE_JSON), SRV_OPEN},
    {SRV_GET, "/metrics", srv_do_metrics, 0, 0, SRV_READ},
    {SRV_GET, "/openapi.json", srv_do_openapi, 0, ONE(WIRE_JSON), SRV_OPEN},
    {SRV_GET, "/docs", srv_do_docs, 0, 0, SRV_OPEN},

    {SRV_GET, "/v1/scenes", srv_do_scene_list, 0, BOTH, SRV_READ},
    {SRV_PUT, SCENE, srv_do_scene_put, BOTH, BOTH, SRV_WRITE},
    {SRV_GET, SCENE, srv_do_scene_get, 0, BOTH, SRV_READ},
    {SRV_DELETE, SCENE, srv_do_scene_delete, 0, 0, SRV_ADMIN},
    {SRV_GET, SCENE "/export", srv_do_export, 0, ONE(WIRE_NDJSON), SRV_READ},
    {SRV_GET, SCENE "/log", srv_do_log, 0, ONE(WIRE_NDJSON), SRV_READ},
    {SRV_POST, SCENE "/import", srv_do_import, ONE(WIRE_NDJSON), BOTH, SRV_WRITE},

    /* the scope write, for the scene that is made, is checked when the body is decoded */
    {SRV_POST, SCENE "/copy", srv_do_copy, BOTH, BOTH, SRV_READ},

    {SRV_GET, SCENE "/boxes", srv_do_box_list, 0, BOTH, SRV_READ},
    {SRV_PUT, BOX, srv_do_box_put, BOTH, BOTH, SRV_WRITE},
    {SRV_GET, BOX, srv_do_box_get, 0, BOTH, SRV_READ},
    {SRV_PATCH, BOX, srv_do_box_patch, BOTH, BOTH, SRV_WRITE},
    {SRV_DELETE, BOX, srv_do_box_delete, 0, 0, SRV_WRITE},
    {SRV_POST, BOX "/transform", srv_do_box_transform, BOTH, BOTH, SRV_WRITE},
    {SRV_POST, BOX "/merge", srv_do_box_merge, BOTH, BOTH, SRV_WRITE},

    {SRV_GET, SCENE "/frames", srv_do_frame_list, 0, BOTH, SRV_READ},
    {SRV_PUT, FRAME, srv_do_frame_put, BOTH, BOTH, SRV_WRITE},
    {SRV_GET, FRAME, srv_do_frame_get, 0, BOTH, SRV_READ},
    {SRV_DELETE, FRAME, srv_do_frame_delete, 0, 0, SRV_WRITE},

    {SRV_GET, SCENE "/events", srv_do_events, 0, ONE(WIRE_EVENTS), SRV_READ},
    {SRV_GET, SCENE "/queries", srv_do_recorded, 0, BOTH, SRV_READ},
    /* changes need the scope write, queries the scope read: checked when the commit is decoded */
    {SRV_POST, SCENE "/commit", srv_do_commit, BOTH, BOTH, SRV_READ_OR_WRITE},
    {SRV_POST, SCENE "/query/all-pairs", srv_do_query, BOTH, BOTH | ONE(WIRE_NDJSON), SRV_READ},
    {SRV_POST, SCENE "/query/{kind}", srv_do_query, BOTH, BOTH, SRV_READ},
};
const size_t srv_route_count = sizeof srv_route_table / sizeof srv_route_table[0];

srv_makes srv_route_makes(const srv_route *route)
{
    if (route->handler == srv_do_commit)
        return SRV_MAKES_SCENE_BY_BODY;
    return route->method == SRV_PUT || route->handler == srv_do_import ? SRV_MAKES_SCENE
                                                                       : SRV_MAKES_NO_SCENE;
}
