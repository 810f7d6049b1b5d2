/* Records of other processes over the same log, and scenes that they name pieces of. Of the
 * writer. */
#ifndef SRV_WRITE_FOLLOW_BODY_H
#define SRV_WRITE_FOLLOW_BODY_H

#include "server/scenes/write.h"

/* SRV_OP_FOLLOW. */
void srv_write_follow(struct srv_write *w);

#endif
