#include "server/scenes/writer.h"

#include "server/events/events.h"
#include "server/scenes/scenes.h"

#include <assert.h>
#include <stddef.h>

/* ---- The end of scenes --------------------------------------------------------------------------------------------- */

struct burial {
    struct srv_job job;
    struct srv_services *services;
    struct obb_scene *scene;
};

static size_t burial_step(struct srv_job *job)
{
    obb_scene_destroy(((struct burial *)job)->scene);
    return 0;
}

static void buried(struct srv_job *job)
{
    struct srv_services *services = ((struct burial *)job)->services;
    services->burials--;
    obb_free(job);
    srv_server_may_end(services);
}

/* Destroys a scene that is in no store and has no view; NULL is fine. On the pool, as a million boxes take 60 ms; where there is
 * no memory for that, here. */
static void bury(struct srv_services *services, struct obb_scene *scene)
{
    if (scene == NULL)
        return;
    struct burial *b = obb_calloc(1, sizeof *b);
    if (b != NULL) {
        b->job.advance = burial_step;
        b->job.done = buried;
        b->job.beside = true;
        b->services = services;
        b->scene = scene;
        if (srv_pool_submit(services->pool, &b->job) == SRV_SUBMITTED) {
            services->burials++;
            return;
        }
        obb_free(b);
    }
    obb_scene_destroy(scene);
}

/* ---- Gates --------------------------------------------------------------------------------------------------------- */

static struct srv_gate *gate_of(const struct srv_services *services, const struct obb_scene *scene)
{
    struct srv_gate *gate = services->gates; /* as a rule there is none */
    while (gate != NULL && gate->scene != scene)
        gate = gate->next;
    return gate;
}

/* false: no memory. */
static bool gate_close(struct srv_services *services, struct srv_gate *gate,
                       struct obb_scene *scene, bool hidden, size_t promised)
{
    gate->closing = obb_malloc(services->open_views, sizeof(struct obb_view *));
    if (gate->closing == NULL)
        return false;
    obb_scene_info_without_bounds(scene, &gate->info);
    gate->scene = scene;
    gate->hidden = hidden;
    gate->promised = promised;
    gate->next = services->gates;
    services->gates = gate;
    services->promised_boxes += promised;
    return true;
}

/* From here on the scene may be touched; what waits has still to be called. */
static void gate_lift(struct srv_services *services, struct srv_gate *gate)
{
    struct srv_gate **at = &services->gates;
    while (*at != gate)
        at = &(*at)->next;
    *at = gate->next;
    services->promised_boxes -= gate->promised;
    for (size_t i = 0; i < gate->closing_count; i++)
        bury(services, obb_view_close(gate->closing[i]));
    obb_free(gate->closing);
}

static void unlink_wait(struct srv_wait *wait)
{
    struct srv_gate *gate = wait->gate;
    *(wait->previous != NULL ? &wait->previous->next : &gate->first) = wait->next;
    *(wait->next != NULL ? &wait->next->previous : &gate->last) = wait->previous;
    wait->gate = NULL;
}

static void gate_call(struct srv_gate *gate)
{
    while (gate->first != NULL) {
        struct srv_wait *wait = gate->first;
        unlink_wait(wait);
        wait->again(wait);
    }
}

bool srv_scene_closed(const struct srv_services *services, const struct obb_scene *scene)
{
    return gate_of(services, scene) != NULL;
}

bool srv_wait_for(struct srv_services *services, const struct obb_scene *scene,
                  struct srv_wait *wait)
{
    struct srv_gate *gate = gate_of(services, scene);
    if (gate == NULL)
        return false;
    wait->gate = gate;
    wait->next = NULL;
    wait->previous = gate->last;
    *(gate->last != NULL ? &gate->last->next : &gate->first) = wait;
    gate->last = wait;
    return true;
}

/* A request that waits, in its arena. */
struct parked {
    struct srv_wait wait;
    struct srv_request *request;
};

static void parked_again(struct srv_wait *wait)
{
    struct srv_request *request = ((struct parked *)wait)->request;
    request->on_cancel = NULL;
    request->route->handler(request);
}

static void parked_cancel(struct srv_request *request)
{
    struct parked *p = request->work;
    unlink_wait(&p->wait);
    srv_reply_cancelled(request);
}

bool srv_request_waits(struct srv_request *request, const struct obb_scene *scene)
{
    if (gate_of(request->services, scene) == NULL)
        return false;
    struct parked *p = srv_work_room(request, sizeof *p);
    if (p == NULL)
        return true;
    p->wait.again = parked_again;
    p->request = request;
    request->work = p;
    request->on_cancel = parked_cancel;
    return srv_wait_for(request->services, scene, &p->wait);
}

void srv_scene_info(const struct srv_services *services, const struct obb_scene *scene,
                    obb_scene_info *out, bool *out_hidden)
{
    const struct srv_gate *gate = gate_of(services, scene);
    if (gate != NULL)
        *out = gate->info;
    else
        obb_scene_info_without_bounds(scene, out);
    if (out_hidden != NULL)
        *out_hidden = gate != NULL && gate->hidden;
}

obb_status srv_view_open(struct srv_services *services, struct obb_scene *scene, const obb_at *at,
                         struct obb_view **out, obb_moment *out_oldest, obb_moment *out_newest)
{
    assert(gate_of(services, scene) == NULL);
    const obb_status status = obb_view_open(scene, at, out, out_oldest, out_newest);
    services->open_views += status == OBB_OK;
    return status;
}

void srv_view_close(struct srv_services *services, struct obb_view *view)
{
    if (view == NULL)
        return;
    services->open_views--;
    struct srv_gate *gate =
        services->gates != NULL ? gate_of(services, obb_view_scene(view)) : NULL;
    if (gate != NULL)
        gate->closing[gate->closing_count++] = view;
    else
        bury(services, obb_view_close(view));
}

obb_status srv_scene_remove(struct srv_services *services, obb_str name)
{
    struct obb_scene *dead = NULL;
    const obb_status status = obb_store_remove(services->store, name, &dead);
    bury(services, dead);
    return status;
}

/* ---- Measuring scenes ----------------------------------------------------------------------------------------------- */

#define MEASURE_NS 40.0 /* a box, about: 38 ms of a million */

struct measuring {
    struct srv_job job;
    struct srv_gate gate;
    struct srv_request *request;
    int status;
};

static size_t measure_step(struct srv_job *job)
{
    obb_scene_info info;
    obb_scene_info_get(((struct measuring *)job)->gate.scene, &info);
    return 0;
}

static void measured(struct srv_job *job)
{
    struct measuring *m = (struct measuring *)job;
    gate_lift(m->request->services, &m->gate);
    srv_reply_scene(m->request, m->status, m->gate.scene);
    gate_call(&m->gate); /* the request lives at least until the loop is back in libmicrohttpd */
}

bool srv_reply_measures(struct srv_request *request, int status, struct obb_scene *scene)
{
    struct srv_services *services = request->services;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    if (obb_scene_measured(scene) || MEASURE_NS * (double)info.boxes <= SRV_LOOP_NS)
        return false;
    /* what was changed must be answered: where there is no memory for the job it is done here, by the caller */
    struct measuring *m = obb_arena_alloc(&request->arena, 1, sizeof *m);
    if (m == NULL)
        return false;
    *m = (struct measuring){.request = request, .status = status};
    m->job.advance = measure_step;
    m->job.done = measured;
    m->job.beside = true;
    if (!gate_close(services, &m->gate, scene, false, 0))
        return false;
    if (srv_pool_submit(services->pool, &m->job) == SRV_SUBMITTED)
        return true;
    gate_lift(services, &m->gate);
    return false;
}

/* ---- Commits ------------------------------------------------------------------------------------------------------ */

static void prepare(struct srv_change *c, size_t room)
{
    const double begun = srv_clock();
    c->status = obb_edit_prepare(c->scene, c->edit, c->now_ms, room, &c->work.request->arena,
                                 &c->prepared, &c->fault);
    c->seconds = srv_clock() - begun;
}

static size_t prepare_step(struct srv_job *job)
{
    struct srv_change *c = (struct srv_change *)job;
    prepare(c, c->gate.promised);
    return 0;
}

static void refuse(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    if (c->made_scene)
        (void)srv_scene_remove(request->services, c->scene_name);
    if (c->status == OBB_CANCELLED) {
        srv_reply_cancelled(request);
        return;
    }
    if (c->status == OBB_OK) {
        srv_reply_problem(request, c->flaw);
        return;
    }
    wire_problem problem =
        wire_problem_of_edit(c->status, &c->fault, c->commit, c->edit, &request->arena);
    if (c->status == OBB_LIMIT)
        problem.detail =
            wire_problem_of_limit("boxes in all scenes", request->services->config->box_limit,
                                  "--box-limit", &request->arena)
                .detail;
    srv_reply_problem(request, &problem);
}

static void finish(struct srv_change *c)
{
    struct srv_services *services = c->work.request->services;
    if (c->status == OBB_OK && c->flaw != NULL)
        obb_edit_discard(c->prepared);
    if (c->status != OBB_OK || c->flaw != NULL) {
        refuse(c);
        return;
    }
    const double begun = srv_clock();
    obb_edit_commit(c->prepared, &c->committed);
    services->metrics.commit_ns_total += (uint64_t)((c->seconds + srv_clock() - begun) * 1e9);
    services->metrics.commits_total += c->committed.changed;
    srv_events_commit(services->events, c->scene, c->edit, &c->committed);
    srv_rebuild_if_decayed(services, c->scene);
    c->applied(c);
}

static void prepared(struct srv_work *work)
{
    struct srv_change *c = (struct srv_change *)work;
    struct srv_services *services = work->request->services;
    if (c->status == OBB_OK && atomic_load(&work->request->cancelled)) {
        obb_edit_discard(c->prepared);
        c->status = OBB_CANCELLED;
    }
    gate_lift(services, &c->gate);
    finish(c); /* the request lives at least until the loop is back in libmicrohttpd */
    gate_call(&c->gate);
}

/* Nanoseconds that preparing takes, roughly: from make bench-costs, and twice that for names and caches that are cold. */
static double edit_cost(const obb_edit *edit)
{
    return 100.0 * (double)(edit->remove_count + edit->pose_count) +
           400.0 * (double)edit->transform_count + 1600.0 * (double)edit->put_count +
           5000.0 * (double)edit->merge_count;
}

/* The scene to change, made when it may be; false: the request is answered. */
static bool find_scene(struct srv_change *c)
{
    struct srv_services *services = c->work.request->services;
    const obb_edit *edit = c->edit;
    if (!srv_if_match(c->work.request, c->scene))
        return false;
    if (c->scene != NULL)
        return true;
    obb_status status = OBB_NO_SCENE;
    if (edit->replace_all || (edit->put_count > 0 && edit->puts[0].parts == OBB_PUT_ALL)) {
        const obb_settings settings =
            edit->settings != NULL ? *edit->settings : srv_default_settings(services);
        status = obb_store_add(services->store, c->scene_name, &settings, c->now_ms, &c->scene);
    }
    c->made_scene = status == OBB_OK;
    if (status == OBB_NO_SCENE)
        srv_reply_name(c->work.request, status, c->scene_name);
    else if (status != OBB_OK)
        srv_reply_store(c->work.request, status);
    return c->made_scene;
}

/* A change that waits for its scene. */
struct waiting_change {
    struct srv_wait wait;
    struct srv_change *change;
};

static void change_again(struct srv_wait *wait)
{
    struct srv_change *c = ((struct waiting_change *)wait)->change;
    c->work.request->on_cancel = NULL;
    srv_change_start(c);
}

/* true: it waits, or was answered for want of memory. */
static bool change_waits(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    if (c->scene == NULL || gate_of(request->services, c->scene) == NULL)
        return false;
    struct waiting_change *w = srv_work_room(request, sizeof *w);
    if (w == NULL)
        return true;
    w->wait.again = change_again;
    w->change = c;
    request->work = w; /* its wait comes first, as in struct parked */
    request->on_cancel = parked_cancel;
    return srv_wait_for(request->services, c->scene, &w->wait);
}

void srv_change_start(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    struct srv_services *services = request->services;
    c->now_ms = srv_now_ms();
    c->scene = obb_store_find(services->store, c->scene_name);
    if (change_waits(c) || !find_scene(c))
        return;
    const size_t room = obb_store_box_room(services->store);
    const size_t free_room = room > services->promised_boxes ? room - services->promised_boxes : 0;
    if (edit_cost(c->edit) <= SRV_LOOP_NS && !c->edit->replace_all) {
        prepare(c, free_room);
        finish(c);
        return;
    }
    /* what the edit may add is taken from the room that others have until it is made */
    const size_t promised = c->edit->put_count < free_room ? c->edit->put_count : free_room;
    if (!gate_close(services, &c->gate, c->scene, c->made_scene, promised)) {
        c->status = OBB_NO_MEMORY;
        refuse(c);
        return;
    }
    c->status = OBB_CANCELLED; /* unless it comes to be prepared */
    c->work.job.advance = prepare_step;
    c->work.job.chunk = NULL;
    if (srv_work_start(&c->work, prepared))
        return;
    gate_lift(services, &c->gate);
    if (c->made_scene)
        (void)srv_scene_remove(services, c->scene_name);
}
