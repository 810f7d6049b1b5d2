/* Ops that make a scene or remove it, and scenes that are made durable. Of the writer; everything
 * on the loop. */
#ifndef SRV_WRITE_SCENE_BODY_H
#define SRV_WRITE_SCENE_BODY_H

#include "server/scenes/write.h"

/* Makes a durable scene of one that the op has made and locked. It stays locked and hidden until
 * its record is settled; then the op ends. What was prepared for it is committed. */
void srv_write_make_durable(struct srv_write *w);

/* Locks a scene that the op has made on the loop, and makes it durable. */
void srv_write_hide(struct srv_write *w);

/* SRV_OP_CREATE, SRV_OP_LOAD, SRV_OP_REMOVE. */
void srv_write_create(struct srv_write *w);
void srv_write_load(struct srv_write *w);
void srv_write_remove(struct srv_write *w);

#endif
