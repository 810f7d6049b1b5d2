#include "server/events/events.h"

#include "server/scenes/work.h"

#include <assert.h>

enum {
    TICK_MS = 5000,
    COMMENT_TICKS = 3 /* a comment every 15 s */
};

struct srv_events {
    struct srv_channels channels;
    struct srv_timer *timer;
    size_t ticks;
};

static void on_tick(void *context)
{
    struct srv_events *events = context;
    const bool speak = ++events->ticks % COMMENT_TICKS == 0;
    struct srv_message *comment = speak ? srv_message_create(NULL) : NULL;
    if (comment != NULL)
        wire_event_comment(&comment->text);
    srv_channels_tick(&events->channels, comment);
    srv_message_unref(comment);
}

bool srv_events_create(struct srv_loop *loop, const struct srv_channels *collaborators,
                       struct srv_events **out)
{
    struct srv_events *events = obb_calloc(1, sizeof *events);
    if (events == NULL)
        return false;
    events->channels = *collaborators;
    if (!srv_timer_create(loop, on_tick, events, &events->timer)) {
        obb_free(events);
        return false;
    }
    srv_timer_start(events->timer, TICK_MS, TICK_MS);
    *out = events;
    return true;
}

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    struct srv_events *events = context;
    struct srv_channel *channel = srv_channel_find(&events->channels, scene);
    (void)op;
    if (channel != NULL && committed->changed)
        srv_channel_commit(channel, scene);
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    (void)op;
    struct srv_events *events = context;
    srv_channels_remove(&events->channels, scene);
}

static bool holds(void *context, const struct obb_scene *scene)
{
    const struct srv_events *events = context;
    return srv_channel_find(&events->channels, scene) != NULL;
}

srv_write_listener srv_events_listener(struct srv_events *events)
{
    return (srv_write_listener){
        .on_commit = on_commit, .on_remove = on_remove, .holds = holds, .context = events};
}

void srv_events_follow(struct srv_events *events, struct srv_request *request,
                       struct obb_scene *scene, const wire_event_params *params)
{
    if (events->channels.stopped) {
        srv_reply_cancelled(request);
        return;
    }
    struct srv_channel *channel = srv_channel_find(&events->channels, scene);
    if (channel == NULL)
        channel = srv_channel_create(&events->channels, scene);
    if (channel == NULL)
        srv_reply_status(request, OBB_NO_MEMORY);
    else
        srv_channel_join(channel, scene, request, params);
}

void srv_events_query(struct srv_events *events, const struct obb_scene *scene,
                      const wire_recorded_row *row)
{
    struct srv_channel *channel = srv_channel_find(&events->channels, scene);
    if (channel != NULL)
        srv_channel_query(channel, row);
}

void srv_events_stop(struct srv_events *events) { srv_channels_stop(&events->channels); }

void srv_events_destroy(struct srv_events *events)
{
    if (events == NULL)
        return;
    assert(events->channels.first == NULL);
    srv_timer_destroy(events->timer);
    obb_free(events);
}
