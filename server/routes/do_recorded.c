/* The queries that a scene has recorded: GET /v1/scenes/{scene}/queries. */
#include "server/events/recorder.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/scenes.h"
#include "server/scenes/work.h"

struct listing {
    struct srv_work work; /* first */
    wire_recorded_params params;
    uint64_t box_id; /* of the box in the present state; 0: it is not there, or none is asked for */
    obb_moment now;
    struct srv_record **records; /* held */
    size_t count;
};

static size_t list_write(struct srv_job *job)
{
    struct listing *l = (struct listing *)job;
    struct srv_request *request = l->work.request;
    const wire_recorded_params *params = &l->params;
    wire_recorded_row *rows = obb_arena_alloc(&request->arena, l->count, sizeof *rows);
    size_t count = 0, i = 0;
    if (rows == NULL) {
        request->reply.failed = true;
        return 0;
    }
    for (; i < l->count && count <= params->limit && !atomic_load(&request->cancelled); i++) {
        const struct srv_record *record = l->records[i];
        if (params->box.length == 0 ||
            wire_recorded_names(record->text, params->box, l->box_id, &request->arena))
            rows[count++] = (wire_recorded_row){.id = record->id, .text = record->text};
    }
    const bool more = count > params->limit;
    wire_write_recorded_list(&request->reply, request->accept, rows, more ? count - 1 : count, more,
                             l->now, &request->cancelled);
    return 0;
}

static void give_back(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        srv_record_unref(l->records[i]);
}

static void list_reply(struct srv_work *work)
{
    struct listing *l = (struct listing *)work;
    struct srv_request *request = work->request;
    give_back(l);
    if (atomic_load(&request->cancelled))
        srv_reply_cancelled(request);
    else
        srv_reply(request, 200, wire_media_type(request->accept));
}

/* Finds what the page may hold. Returns false after answering the request. */
static bool find(struct listing *l, struct srv_request *request, struct obb_scene *scene)
{
    struct srv_recorder *recorder = request->services->recorder;
    const wire_recorded_params *params = &l->params;
    struct obb_view *view = srv_open_view(request, scene, NULL);
    if (view == NULL)
        return false;
    l->now = obb_view_info_get(view)->now;
    if (params->box.length > 0) {
        const struct obb_version *box = obb_view_find(view, params->box);
        l->box_id = box != NULL ? obb_view_id(box) : 0;
    }
    srv_view_close(request->services->locks, view);
    size_t room = srv_recorder_count(recorder, scene);
    if (params->box.length == 0 && room > params->limit + 1)
        room = params->limit + 1;
    l->records = obb_arena_alloc(&request->arena, room, sizeof *l->records);
    if (l->records == NULL) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return false;
    }
    l->count = srv_recorder_find(recorder, scene, params, l->records, room);
    return true;
}

void srv_do_recorded(struct srv_request *request)
{
    wire_problem problem;
    struct listing *l = srv_work_room(request, sizeof *l);
    if (l == NULL)
        return;
    if (!wire_read_recorded_params(request->target.params, request->target.param_count,
                                   &request->arena, &l->params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    struct obb_scene *scene = srv_path_scene_at(request, &l->params.freshness, NULL);
    if (scene == NULL || !find(l, request, scene))
        return;
    size_t bytes = 0;
    for (size_t i = 0; i < l->count; i++)
        bytes += l->records[i]->text.length;
    l->work.request = request;
    l->work.job.advance = list_write;
    if (bytes <= SRV_LOOP_BODY) {
        (void)list_write(&l->work.job);
        list_reply(&l->work);
    } else if (!srv_work_start(&l->work, list_reply)) {
        give_back(l);
    }
}
