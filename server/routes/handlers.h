/* The handlers that the table of routes names, by file. Each answers its request once, now or later
 * (see srv_handler). */
#ifndef SRV_HANDLERS_H
#define SRV_HANDLERS_H

#include "server/http/route.h"

/* do_admin.c */
srv_handler srv_do_health, srv_do_ready, srv_do_metrics, srv_do_openapi;

/* do_scene.c */
srv_handler srv_do_scene_list, srv_do_scene_put, srv_do_scene_get, srv_do_scene_delete;

/* do_copy.c */
srv_handler srv_do_copy;

/* do_box.c */
srv_handler srv_do_box_list, srv_do_box_put, srv_do_box_get, srv_do_box_patch, srv_do_box_delete,
    srv_do_box_transform, srv_do_box_merge;

/* do_frame.c */
srv_handler srv_do_frame_list, srv_do_frame_put, srv_do_frame_get, srv_do_frame_delete;

/* do_query.c, do_commit.c */
srv_handler srv_do_query, srv_do_commit;

/* do_export.c, do_events.c, do_log.c, do_recorded.c */
srv_handler srv_do_export, srv_do_import, srv_do_events, srv_do_log, srv_do_recorded;

/* page.c: GET /, the web editor, and GET /docs, the reference of the API. A program that was built
 * without node answers with a page that says how to build these. Query parameters are the page's
 * own. */
srv_handler srv_do_page, srv_do_docs;

#endif
