/* Edits: prepared on the loop or on the pool, committed on the loop. Of the writer. */
#ifndef SRV_WRITE_EDIT_BODY_H
#define SRV_WRITE_EDIT_BODY_H

#include "server/scenes/write.h"

/* Returns whether the op makes its scene if there is none. */
bool srv_write_may_make(const srv_op *op);

/* SRV_OP_EDIT. */
void srv_write_edit(struct srv_write *w);

/* SRV_OP_CONFIGURE: new settings are an edit that changes no box. */
void srv_write_configure(struct srv_write *w);

#endif
