/* Copies of scenes: made on the pool, stored by the journal before anybody sees them, and put in
 * the place of a scene in one step. Of the writer. */
#ifndef SRV_WRITE_COPY_BODY_H
#define SRV_WRITE_COPY_BODY_H

#include "server/scenes/write.h"

/* SRV_OP_COPY. */
void srv_write_copy(struct srv_write *w);

#endif
