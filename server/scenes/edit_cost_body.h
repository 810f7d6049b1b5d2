/* What an edit will take, estimated before it is prepared. Of the writer. */
#ifndef SRV_EDIT_COST_BODY_H
#define SRV_EDIT_COST_BODY_H

#include "server/scenes/write.h"

/* Returns roughly how many nanoseconds preparing w->op.edit takes: the figures of make bench-costs,
 * doubled for cold names and caches. Looks up at most as many frames as the loop can. */
double srv_edit_cost(const struct srv_write *w);

/* Returns more bytes than the commit of an edit with short texts adds. An edit of long texts comes
 * back, and knows its bytes then: obb_edit_bytes looks at all entries, which is the pool's work. So
 * does an edit of frames of which the first hold fewer boxes than the others. */
size_t srv_edit_likely_bytes(const struct obb_scene *scene, const obb_edit *edit);

#endif
