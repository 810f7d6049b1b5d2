/* The commits of a scene that it remembers by the ids which clients gave them, so that a commit
 * that is sent again is not applied again. Of those that are published, a scene remembers the last
 * 1,024, for 10 minutes of its clock, and as long as they take at most 4 MiB. Loop only. */
#ifndef SRV_REMEMBERED_H
#define SRV_REMEMBERED_H

#include "core/obb.h"

#include <stdbool.h>

enum { SRV_REMEMBERED_COMMITS = 1024, SRV_REMEMBERED_MS = 600000, SRV_REMEMBERED_BYTES = 4 << 20 };

struct srv_remembered;

/* A commit. The texts live until the next call that changes the list. */
typedef struct srv_remembered_commit {
    obb_str id;
    obb_str outcome;   /* wire_read_outcome */
    obb_moment moment; /* of the scene after it */
    bool pending;      /* it is not durable yet */
} srv_remembered_commit;

/* A commit whose id the journal remembers. */
typedef struct srv_restored_commit {
    obb_str id;     /* as the client chose it */
    obb_str answer; /* as the record held it */
    obb_moment moment;
} srv_restored_commit;

/* Makes an empty list. What is remembered counts against the budget, which may be NULL. Returns
 * NULL without memory. */
struct srv_remembered *srv_remembered_create(struct obb_budget *budget);
void srv_remembered_destroy(struct srv_remembered *remembered); /* NULL is fine */

/* Finds a commit by its id, as remembered at this time of the scene. NULL: it is not remembered.
 * `remembered` may be NULL. O(commits), some 2 us. */
const srv_remembered_commit *srv_remembered_find(const struct srv_remembered *remembered,
                                                 obb_str id, double time);

/* Remembers a pending commit behind all others, with copies of its texts. They draw from the
 * budget; in_any_case: they count against it also beyond its limit. Returns false without memory.
 * O(1). */
bool srv_remembered_push(struct srv_remembered *remembered, obb_str id, obb_str outcome,
                         obb_moment moment, bool in_any_case);

/* The oldest pending commit is published. Commits that are remembered long enough are forgotten. */
void srv_remembered_publish(struct srv_remembered *remembered);

/* Forgets the newest commit, which is pending and was taken back. */
void srv_remembered_revert(struct srv_remembered *remembered);

/* Returns the i-th published commit, oldest first, or NULL behind the last one. */
const srv_remembered_commit *srv_remembered_at(const struct srv_remembered *remembered, size_t i);

/* Remembers commits that were read from the journal, oldest first: as published ones, and in any
 * case. The list is made if it is NULL and there are any. Returns false without memory. */
bool srv_remembered_resume(struct srv_remembered **remembered, struct obb_budget *budget,
                           const srv_restored_commit *commits, size_t count);

#endif
