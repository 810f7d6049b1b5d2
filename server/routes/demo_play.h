/* The scene of --demo in motion. Twenty times a second one commit moves the players and the doors;
 * once a second a player shoots at the one who is nearest, judged as he saw him. The commits go
 * through the writer as those of clients do, and the shots are recorded as their queries are. Loop
 * only. */
#ifndef SRV_DEMO_PLAY_H
#define SRV_DEMO_PLAY_H

#include "server/base/drain.h"
#include "server/base/log.h"
#include "server/events/recorder.h"
#include "server/scenes/writer.h"

struct srv_demo_play;

/* What it works with. */
struct srv_demo_play_options {
    struct srv_loop *loop;
    struct srv_writer *writer;
    struct srv_recorder *recorder;
    struct srv_drain *drain;     /* held while it commits */
    struct srv_metrics *metrics; /* count the commits */
    const struct srv_log *log;
};

/* Returns false without memory. */
bool srv_demo_play_create(const struct srv_demo_play_options *options, struct srv_demo_play **out);

/* Begins to move the scene, which srv_demo_create has made. It goes on until the scene is removed:
 * one that is made later under its name is somebody else's. If somebody sets the scene's clock
 * ahead, it goes on from there. */
void srv_demo_play_start(struct srv_demo_play *play);

/* For the end of the service: no further commit begins. NULL is fine. */
void srv_demo_play_stop(struct srv_demo_play *play);

/* Nothing may be under way: it never started, or the drain is empty after srv_demo_play_stop. NULL
 * is fine. */
void srv_demo_play_destroy(struct srv_demo_play *play);

#endif
