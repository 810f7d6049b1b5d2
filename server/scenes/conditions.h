/* Conditions of requests: If-Match and If-None-Match. A scene's entity tag is its revision and its
 * epoch in quotes, as in "41.0123456789abcdef". Without the epoch, "41" counts as the same tag.
 * Source: RFC 9110, sections 8.8.3 and 13.1. */
#ifndef SRV_CONDITIONS_H
#define SRV_CONDITIONS_H

#include "server/http/answer.h"

/* Returns whether `list`, a header's list of entity tags, holds the tag of a revision from
 * `first` to `last`, of this epoch. "*" holds every tag. weak: W/"1" counts as "1". O(length of the
 * list). */
bool srv_tags_hold(const char *list, uint64_t first, uint64_t last, uint64_t epoch, bool weak);

/* Returns whether the list is "*". */
bool srv_tags_any(const char *list);

/* Returns the least revision that the list names, or 0 if it names something else, too: "*", a weak
 * tag, or one that is no revision. */
uint64_t srv_tags_least(const char *list);

/* Sets the answer's ETag to `revision` and request->epoch, which is set. If If-None-Match holds
 * that tag, sends 304 and returns true. */
bool srv_not_modified(struct srv_request *request, uint64_t revision);

#endif
