/* Durable scenes at the start and in snapshots: what a restored scene goes on with, and what a
 * snapshot holds beside the states of its scene. Loop only. */
#ifndef SRV_DURABLE_H
#define SRV_DURABLE_H

#include "server/scenes/restore.h"
#include "server/scenes/writer.h"

/* Goes on with a scene that was restored, and is in the store: it is durable, gets snapshots and
 * remembers its commits. Returns false without memory. */
bool srv_durable_resume(struct srv_writer *writer, const srv_restored_scene *scene);

/* For struct srv_snapshots: appends a record for each commit that the scene remembers. */
void srv_durable_remember(void *context, const struct srv_journaled *scene, struct wire_buf *out);

#endif
