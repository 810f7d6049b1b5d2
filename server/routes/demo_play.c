#include "server/routes/demo_play.h"

#include "server/routes/demo.h"
#include "server/routes/demo_motion.h"
#include "server/scenes/loop_time.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum {
    TICK_MS = 50,
    SHOT_MS = 1000, /* from one shot to the next */
    WIDE = 4,       /* one of so many shots is aimed badly */
    SHOT = 400,     /* bytes of a shot as JSON */
    REQUEST = 32    /* bytes of what stands for the id of its request */
};

struct srv_demo_play {
    struct srv_demo_play_options options;
    struct srv_timer *timer;
    uint64_t epoch; /* of the scene; 0: it has not begun */
    double begun;   /* srv_clock */
    double ahead;   /* ms that the scene's clock is ahead of what passed since */
    double second;  /* of the scene's clock, at the commit before */
    uint64_t tick, shots;
    bool writing, stopped;

    /* The commit that is under way. */
    struct srv_write write;
    struct obb_arena arena;
    obb_edit edit;
    obb_pose frames[SRV_DEMO_FRAMES], limbs[SRV_DEMO_SWINGS];
};

/* ---- Shots ----------------------------------------------------------------------------------- */

static double distance(obb_vec3 a, obb_vec3 b) { return hypot(a.x - b.x, a.z - b.z); }

/* Writes a shot as a client would send it: a player aims at the chest of the one who is nearest, as
 * he saw him `lag` ms ago. */
static void write_shot(uint64_t number, double time, char out[static SHOT])
{
    obb_pose now[SRV_DEMO_FRAMES], then[SRV_DEMO_FRAMES];
    const int shooter = (int)(number % SRV_DEMO_PLAYERS);
    const double lag = TICK_MS * (1.0 + shooter % 4);
    srv_demo_frames(time / 1e3, now);
    srv_demo_frames((time - lag) / 1e3, then);
    int target = shooter == 0 ? 1 : 0;
    for (int i = 0; i < SRV_DEMO_PLAYERS; i++)
        if (i != shooter && distance(now[shooter].center, then[i].center) <
                                distance(now[shooter].center, then[target].center))
            target = i;
    const obb_vec3 from = now[shooter].center, to = then[target].center;
    const double wide = number % WIDE == WIDE - 1 ? 0.7 : 0.0;
    const obb_vec3 way = {to.x - from.x + wide, 1.15 - 1.5, to.z - from.z - wide};
    const double reach = distance(from, to) + 6.0;
    (void)snprintf(out, SHOT,
                   "{\"rays\":[{\"origin\":[%.3f,1.5,%.3f],\"direction\":[%.4f,%.4f,%.4f],"
                   "\"max_distance\":%.3f}],\"at\":{\"time\":%.0f,\"clamp\":true},"
                   "\"filter\":{\"exclude_entities\":[\"player-%d\"]},"
                   "\"tag\":\"player-%d at player-%d\"}",
                   from.x, from.z, way.x, way.y, way.z, reach, time - lag, shooter + 1, shooter + 1,
                   target + 1);
}

/* Asks the query and lets the recorder keep it. Gives up without memory, and if it would take the
 * loop too long. */
static void ask(struct srv_demo_play *p, struct obb_scene *scene, obb_str text, obb_str request)
{
    const wire_body body = {.bytes = text.bytes, .length = text.length, .media = WIRE_JSON};
    struct srv_locks *locks = p->options.writer->locks;
    obb_query query;
    wire_problem problem;
    struct obb_view *view = NULL;
    struct obb_plan *plan = NULL;
    double left_ns = SRV_LOOP_NS;
    if (srv_scene_locked(locks, scene) ||
        !wire_read_query(&body, OBB_QUERY_RAY, 3, &p->arena, &query, &problem) ||
        srv_view_open(locks, scene, &query.at, &view, NULL, NULL) != OBB_OK)
        return;
    if (obb_plan_create(view, &query, NULL, NULL, &plan) == OBB_OK &&
        obb_plan_try(plan, &left_ns) == OBB_OK) {
        const srv_own_query own = {.query = &query,
                                   .view = view,
                                   .result = obb_plan_result(plan),
                                   .sent = text,
                                   .request = request};
        srv_recorder_add(p->options.recorder, scene, &own);
    }
    obb_plan_destroy(plan);
    srv_view_close(locks, view);
}

static void shoot(struct srv_demo_play *p, struct obb_scene *scene)
{
    char text[SHOT], request[REQUEST];
    write_shot(p->shots, p->edit.time, text);
    (void)snprintf(request, sizeof request, "demo-%llu", (unsigned long long)++p->shots);
    ask(p, scene, obb_str_of(text), obb_str_of(request));
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

static void end(struct srv_demo_play *p, const char *why)
{
    p->stopped = true;
    srv_timer_stop(p->timer);
    SRV_LOG(p->options.log, SRV_INFO, "demo", srv_text("scene", SRV_DEMO_SCENE),
            srv_integer("ticks", (int64_t)p->tick), srv_integer("shots", (int64_t)p->shots),
            srv_text("end", why));
}

static void on_written(struct srv_write *write)
{
    struct srv_demo_play *p =
        (struct srv_demo_play *)(void *)((char *)write - offsetof(struct srv_demo_play, write));
    p->writing = false;
    if (write->status == OBB_OK) {
        const double second = floor(p->edit.time / SHOT_MS);
        p->tick++;
        p->options.metrics->commits_total += write->committed.changed;
        p->options.metrics->commit_ns_total += (uint64_t)(write->seconds * 1e9);
        if (second > p->second)
            shoot(p, write->scene);
        p->second = second;
    } /* else somebody has changed what the scene is, and may change it back */
    srv_drain_release(p->options.drain);
}

/* Sets the time of the next commit: whole ticks since the beginning, later where the scene's clock
 * is ahead. */
static void set_time(struct srv_demo_play *p, double scene_time)
{
    const double passed = floor((srv_clock() - p->begun) * 1e3 / TICK_MS) * TICK_MS;
    if (passed + p->ahead < scene_time)
        p->ahead = scene_time - passed;
    p->edit.time = passed + p->ahead;
}

static void on_tick(void *context)
{
    struct srv_demo_play *p = context;
    const struct srv_writer *writer = p->options.writer;
    const obb_str name = obb_str_of(SRV_DEMO_SCENE);
    const struct obb_scene *scene = obb_store_find(writer->store, name);
    if (p->stopped || p->writing)
        return; /* a commit of somebody else takes long */
    if (scene == NULL || obb_scene_epoch(scene) != p->epoch) {
        end(p, "the scene was removed");
        return;
    }
    obb_scene_info info;
    srv_scene_info(writer->locks, scene, &info, NULL);
    obb_arena_reset(&p->arena);
    p->edit = (obb_edit){.dimensions = 3,
                         .has_time = true,
                         .ignore_missing = true,
                         .frames = p->frames,
                         .frame_count = SRV_DEMO_FRAMES,
                         .poses = p->limbs,
                         .pose_count = SRV_DEMO_SWINGS};
    set_time(p, info.now.time);
    srv_demo_frames(p->edit.time / 1e3, p->frames);
    srv_demo_limbs(p->edit.time / 1e3, p->limbs);
    p->write = (struct srv_write){
        .op = {.kind = SRV_OP_EDIT, .scene = name, .edit = &p->edit, .if_epoch = &p->epoch},
        .arena = &p->arena,
        .done = on_written};
    p->writing = true;
    srv_drain_hold(p->options.drain);
    srv_write(p->options.writer, &p->write);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool srv_demo_play_create(const struct srv_demo_play_options *options, struct srv_demo_play **out)
{
    struct srv_demo_play *p = obb_calloc(1, sizeof *p);
    if (p == NULL || !srv_timer_create(options->loop, on_tick, p, &p->timer)) {
        obb_free(p);
        return false;
    }
    p->options = *options;
    obb_arena_init(&p->arena);
    *out = p;
    return true;
}

void srv_demo_play_start(struct srv_demo_play *p)
{
    if (p->stopped)
        return; /* the service ends already */
    p->epoch =
        obb_scene_epoch(obb_store_find(p->options.writer->store, obb_str_of(SRV_DEMO_SCENE)));
    p->begun = srv_clock();
    srv_timer_start(p->timer, TICK_MS, TICK_MS);
}

void srv_demo_play_stop(struct srv_demo_play *p)
{
    if (p == NULL || p->stopped)
        return;
    p->stopped = true;
    srv_timer_stop(p->timer);
}

void srv_demo_play_destroy(struct srv_demo_play *p)
{
    if (p == NULL)
        return;
    srv_timer_destroy(p->timer);
    obb_arena_fini(&p->arena);
    obb_free(p);
}
