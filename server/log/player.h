/* Playing a log: --replay. Makes the scene of a log at the start, and then commits what the log
 * says, at the pace at which it was recorded or faster. Clients see the states, ids and revisions
 * that were recorded. If somebody else changes the scene, or a line cannot be read, it stops and
 * says so. Loop only. */
#ifndef SRV_PLAYER_H
#define SRV_PLAYER_H

#include "server/base/drain.h"
#include "server/base/log.h"
#include "server/scenes/writer.h"

struct srv_player;

/* What it works with. */
struct srv_player_options {
    const char *path; /* of the log */
    double speed;     /* units of the scene's time in a millisecond: 1 is as recorded */
    struct srv_loop *loop;
    struct srv_pool *pool;     /* reads the file */
    struct srv_writer *writer; /* makes and changes the scene */
    struct srv_drain *drain;   /* held while it reads or commits */
    const struct srv_log *log;
};

/* Makes the scene, before the loop runs. Returns false if the file cannot be read, or the scene
 * cannot be made: error then holds one line. */
bool srv_player_create(const struct srv_player_options *options, struct srv_player **out,
                       char *error, size_t error_size);

/* Begins to play. NULL is fine. */
void srv_player_start(struct srv_player *player);

/* For the end of the service: no further commit begins. NULL is fine. */
void srv_player_stop(struct srv_player *player);

/* Nothing may be under way: it never started, or the drain is empty after srv_player_stop. NULL is
 * fine. */
void srv_player_destroy(struct srv_player *player);

#endif
