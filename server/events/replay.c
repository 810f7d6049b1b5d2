#include "server/events/replay.h"

void srv_messages_clear(struct srv_messages *messages)
{
    for (size_t i = 0; i < SRV_TOPIC_SETS; i++) {
        srv_message_unref(messages->of[i]);
        messages->of[i] = NULL;
    }
    messages->bytes = 0;
}

bool srv_replay_init(struct srv_replay *out, struct obb_budget *budget)
{
    *out = (struct srv_replay){
        .ring = obb_budget_calloc(budget, SRV_REPLAY_COMMITS, sizeof *out->ring)};
    return out->ring != NULL;
}

void srv_replay_fini(struct srv_replay *replay)
{
    srv_replay_clear(replay);
    obb_budget_free(replay->ring);
    replay->ring = NULL;
}

static struct srv_messages *messages_at(const struct srv_replay *replay, size_t i)
{
    return &replay->ring[(replay->oldest + i) % SRV_REPLAY_COMMITS];
}

static void forget_oldest(struct srv_replay *replay)
{
    struct srv_messages *oldest = messages_at(replay, 0);
    replay->bytes -= oldest->bytes;
    srv_messages_clear(oldest);
    replay->oldest = (replay->oldest + 1) % SRV_REPLAY_COMMITS;
    replay->count--;
}

void srv_replay_add(struct srv_replay *replay, struct srv_messages *messages)
{
    if (replay->count == SRV_REPLAY_COMMITS)
        forget_oldest(replay);
    *messages_at(replay, replay->count++) = *messages;
    replay->bytes += messages->bytes;
    *messages = (struct srv_messages){0};
    while (replay->bytes > SRV_REPLAY_BYTES)
        forget_oldest(replay);
}

void srv_replay_clear(struct srv_replay *replay)
{
    while (replay->count > 0)
        forget_oldest(replay);
}

bool srv_replay_resume(const struct srv_replay *replay, unsigned topics, uint64_t last,
                       uint64_t present, struct srv_message **out)
{
    if (last > present || present - last > replay->count)
        return false;
    const size_t from = replay->count - (size_t)(present - last);
    for (size_t i = from; i < replay->count; i++)
        if (!messages_at(replay, i)->covered[topics])
            return false;
    *out = NULL;
    for (size_t i = from; i < replay->count && *out == NULL; i++)
        *out = messages_at(replay, i)->of[topics];
    return true;
}
