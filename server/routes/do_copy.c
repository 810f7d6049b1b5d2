/* Copies of scenes: POST /v1/scenes/{scene}/copy. */
#include "server/access/admit.h"
#include "server/routes/do_scene.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/change.h"
#include "server/scenes/scenes.h"

#include <string.h>

struct copy {
    struct srv_change change; /* first */
    wire_copy sent;
    bool good;
    wire_problem problem;
};

static void copy_read(struct srv_work *work)
{
    struct copy *c = (struct copy *)work;
    struct srv_request *request = work->request;
    c->good = wire_read_copy(&request->body, &request->arena, &c->sent, &c->problem);
}

/* Returns the path of the scene, or NULL without memory. */
static const char *path_of(obb_str scene, struct obb_arena *arena)
{
    static const char base[] = "/v1/scenes/", digits[] = "0123456789ABCDEF";
    const size_t base_length = sizeof base - 1;
    char *path = obb_arena_alloc(arena, base_length + 3 * scene.length + 1, 1);
    if (path == NULL)
        return NULL;
    memcpy(path, base, base_length);
    char *at = path + base_length;
    for (size_t i = 0; i < scene.length; i++) {
        const unsigned char c = (unsigned char)scene.bytes[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~", c) != NULL) {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = digits[c >> 4];
            *at++ = digits[c & 15];
        }
    }
    *at = '\0';
    return path;
}

static void copy_reply(struct srv_change *change)
{
    struct srv_request *request = change->work.request;
    request->location = path_of(change->op.scene, &request->arena);
    srv_reply_scene(request, 201, change->write.scene);
}

/* Returns whether the sender may make the scene. Otherwise answers the request. */
static bool may_write(struct srv_request *request, obb_str scene)
{
    const char *reason = NULL;
    if ((request->scopes & WIRE_SCOPE_WRITE) == 0)
        reason = "a copy needs the scope write, which the token, or a page of any origin, lacks";
    else if (!srv_admit_scene(request->services->admit, request, scene))
        reason = "the token is not for the scene that the copy makes";
    if (reason == NULL)
        return true;
    const wire_problem problem = wire_problem_http(403, reason);
    srv_reply_problem(request, &problem);
    return false;
}

static void copy_apply(struct srv_work *work)
{
    struct copy *c = (struct copy *)work;
    struct srv_request *request = work->request;
    srv_op *op = &c->change.op;
    if (!c->good) {
        srv_reply_problem(request, &c->problem);
        return;
    }
    if (!may_write(request, c->sent.to))
        return;
    struct obb_scene *scene = srv_path_scene_at(request, NULL, c->sent.has_at ? &c->sent.at : NULL);
    if (scene == NULL)
        return;
    op->from = srv_open_view(request, scene, c->sent.has_at ? &c->sent.at : NULL);
    if (op->from == NULL)
        return;
    op->kind = SRV_OP_COPY;
    op->scene = c->sent.to;
    op->copy = obb_copy_of(op->from, c->sent.to, srv_clock() * 1e3);
    op->replace = c->sent.replace;
    c->change.applied = copy_reply;
    srv_change_start(&c->change);
}

void srv_do_copy(struct srv_request *request)
{
    obb_str name;
    if (!srv_no_params(request) || !srv_path_name(request, SRV_SCENE_PART, &name))
        return;
    struct copy *c = srv_work_room(request, sizeof *c);
    if (c == NULL)
        return;
    c->change.work.request = request;
    srv_work_decode(&c->change.work, copy_read, copy_apply);
}
