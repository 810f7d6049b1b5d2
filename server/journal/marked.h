/* Those who wait until all is applied that stands before a mark of the log (marks.h). */
#ifndef SRV_MARKED_H
#define SRV_MARKED_H

#include "server/journal/strand_body.h"

/* Tells those who wait for a strand, in the order of their marks. */
void srv_marked_release(struct srv_strand *s);

/* Tells those who wait for all strands. It takes long if there is something to judge: then only the
 * timer calls it. */
void srv_marked_release_all(struct srv_shared *j);

/* A mark was read. Those who wait for it wait from now on until all is applied that stands before
 * it: of their strand, or of all. */
void srv_marked_meet(struct srv_shared *j, uint64_t seq, obb_str bytes);

#endif
