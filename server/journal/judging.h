/* What was read of a strand is judged, record by record: one that counts settles an entry of this
 * process, or is handed over to be applied. Snapshots are loaded where messages lack. */
#ifndef SRV_JUDGING_H
#define SRV_JUDGING_H

#include "server/journal/strand_body.h"

/* Judges all that was delivered, name by name: so entries are taken back once, and not for each
 * foreign record. */
void srv_judging_rest(void *context);

/* What was handed over about a strand is applied or loaded: as srv_shared_applied. */
void srv_judging_applied(struct srv_shared *j, struct srv_strand *s);

/* What was handed over about a strand cannot be loaded: as srv_shared_refused. */
void srv_judging_refused(struct srv_shared *j, struct srv_strand *s, const char *why);

/* The scene here is not what the log says: as srv_shared_differs. */
bool srv_judging_differs(struct srv_shared *j, struct srv_strand *s, const char *why);

/* As srv_shared_checked. */
void srv_judging_checked(struct srv_shared *j, struct srv_strand *s, bool is_right);

#endif
