/* What the daemon is made of, for the files of server/ that make it up. Other folders see server.h alone. */
#ifndef SRV_STATE_H
#define SRV_STATE_H

#include "server/base/config.h"
#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/metrics.h"
#include "server/base/pool.h"
#include "server/http/answer.h"
#include "server/http/http.h"
#include "server/http/listen.h"
#include "server/http/request.h"
#include "server/http/route.h"
#include "server/http/stream.h"

/* The longest that the loop may compute at a stretch is about 200 us, see architecture in README.md. A hop to the pool costs
 * about 20 us of CPU and as much in latency, so what is estimated below this line is done on the spot. */
#define SRV_LOOP_NS 100000.0

/* Bodies up to this are decoded on the loop: about 100 us, as a byte takes 1.6 to 2.5 ns (make bench-codecs), or 4 with cold
 * caches. What takes longer than its bytes say is postponed, see srv_work_decode. */
#define SRV_LOOP_BODY 40960u

struct srv_rebuild;

struct srv_services {
    const srv_config *config;
    srv_log log;
    struct srv_metrics metrics;
    struct srv_loop *loop;
    struct srv_pool *pool;
    struct srv_routes *routes;
    struct srv_http *http;
    struct obb_store *store;
    srv_listener *listeners; /* owned, config->listen.count of them */
    struct srv_timer *drain, *lag;
    double lag_due;               /* when the timer should call next, seconds of srv_clock */
    double lag_worst, lag_before; /* microseconds: of this window, and the one before */
    size_t lag_count;
    struct srv_rebuild *rebuilds; /* under way */
    struct srv_gate *gates;       /* closed scenes: an edit is prepared, bounds are measured */
    size_t promised_boxes;        /* by them */
    size_t open_views;
    size_t burials; /* scenes that are being destroyed on the pool */
    struct srv_events *events;
    struct srv_auth *auth;                   /* NULL: everybody may do everything */
    struct srv_rate *token_rate, *peer_rate; /* NULL: no limit */
    bool draining;                           /* a signal has asked for the end */
};

/* ---- do_admin.c ------------------------------------------------------------------------------------------------ */
srv_handler srv_do_health, srv_do_ready, srv_do_metrics, srv_do_openapi;

/* ---- do_scene.c, do_box.c, do_query.c, do_commit.c --------------------------------------------------------------- */
srv_handler srv_do_scene_list, srv_do_scene_put, srv_do_scene_get, srv_do_scene_delete;
srv_handler srv_do_box_list, srv_do_box_put, srv_do_box_get, srv_do_box_patch, srv_do_box_delete,
    srv_do_box_transform, srv_do_box_merge;
srv_handler srv_do_query, srv_do_commit;
srv_handler srv_do_export, srv_do_import, srv_do_events;

/* ---- server.c ---------------------------------------------------------------------------------------------------- */

/* Something that the end waits for is over. */
void srv_server_may_end(struct srv_services *services);

#endif
