#include "server/scenes/sleeper.h"

enum {
    LONGEST_MS = 1000, /* between two looks */
    SHORTEST_MS = 20,
    FOR_ROOM = 16, /* scenes that go at one look because there is little room */
    SHARE = 8      /* of which one is kept free: of scenes, boxes and bytes */
};

static uint64_t idle_ms(const struct srv_sleeper *s) { return (uint64_t)(s->idle_s * 1e3); }

/* For so long a scene stays in any case. */
static uint64_t least_ms(const struct srv_sleeper *s) { return s->request_ms + LONGEST_MS; }

/* Returns for how long nobody has asked for the scene. */
static uint64_t unused_ms(struct srv_companion *companion, uint64_t now)
{
    if (companion->used_ms == 0)
        companion->used_ms = now;
    return now - companion->used_ms;
}

/* Lets the scene sleep, if it is at rest. If it is in use, the time begins anew. */
static bool let_sleep(struct srv_sleeper *s, struct srv_companion *companion, uint64_t now)
{
    struct obb_scene *scene = companion->scene;
    if (!srv_writer_at_rest(s->writer, scene)) {
        companion->used_ms = now;
        return false;
    }
    if (!srv_shared_sleep(s->journal, obb_scene_name(scene)))
        return false;
    srv_writer_let_sleep(s->writer, scene);
    return true;
}

static bool lacks_room(const struct srv_sleeper *s)
{
    const struct obb_store *store = s->writer->store;
    const size_t bytes = s->writer->memory.limit, boxes = obb_store_boxes(store);
    return obb_store_scenes(store) >= s->scene_limit - s->scene_limit / SHARE ||
           obb_store_box_room(store) < (boxes + obb_store_box_room(store)) / SHARE ||
           (bytes > 0 && obb_store_bytes(store) > bytes - bytes / SHARE);
}

/* Returns the scene that was asked for longest ago, of those that may go; or NULL. */
static struct srv_companion *longest_unused(const struct srv_sleeper *s, uint64_t now)
{
    struct srv_companion *longest = NULL;
    for (struct srv_companion *c = s->writer->companions.first; c != NULL; c = c->next)
        if (c->tail != NULL && unused_ms(c, now) >= least_ms(s) &&
            (longest == NULL || c->used_ms < longest->used_ms))
            longest = c;
    return longest;
}

static void on_timer(void *context)
{
    struct srv_sleeper *s = context;
    const uint64_t now = srv_loop_now_ms(s->loop);
    const uint64_t least = least_ms(s), idle = idle_ms(s) > least ? idle_ms(s) : least;
    for (struct srv_companion *c = s->writer->companions.first, *next; c != NULL; c = next) {
        next = c->next;
        if (c->tail != NULL && unused_ms(c, now) >= idle)
            (void)let_sleep(s, c, now);
    }
    for (int i = 0; i < FOR_ROOM && lacks_room(s); i++) {
        struct srv_companion *c = longest_unused(s, now);
        if (c == NULL)
            break;
        if (!let_sleep(s, c, now))
            c->used_ms = now;
    }
}

bool srv_sleeper_start(struct srv_sleeper *s)
{
    if (s->idle_s == 0)
        return true;
    if (!srv_timer_create(s->loop, on_timer, s, &s->timer))
        return false;
    const uint64_t quarter = idle_ms(s) / 4;
    const uint64_t every = quarter > LONGEST_MS    ? LONGEST_MS
                           : quarter < SHORTEST_MS ? SHORTEST_MS
                                                   : quarter;
    srv_timer_start(s->timer, every, every);
    return true;
}

void srv_sleeper_stop(struct srv_sleeper *s)
{
    srv_timer_destroy(s->timer);
    s->timer = NULL;
}
