/* Problems of edits that core refused. */
#ifndef WIRE_EDIT_PROBLEM_H
#define WIRE_EDIT_PROBLEM_H

#include "proto/request/request_commit.h"

/* Returns the problem of the `with` of a query that core refused, as that of a commit with the same
 * entry. The pointer begins with "/with", or with "/queries/<index>/with" if the index is not
 * SIZE_MAX. */
wire_problem wire_problem_of_with(obb_status status, const obb_fault *fault, const obb_query *query,
                                  size_t index, struct obb_arena *arena);

/* Returns the problem of an edit that core refused, with a pointer to the entry that `fault` names.
 *
 * commit   NULL for a request about a single box or frame, or an import. The fault of a single one
 *          may lie in its frame, in `with` or in a part of the transform, which has a pointer.
 *          Elsewhere a 422 points at the whole body, and other problems have no pointer.
 * edit     the refused edit; the commit's own if there is a commit.
 * arena    holds the pointer. If it has no memory, the problem has no pointer. */
wire_problem wire_problem_of_edit(obb_status status, const obb_fault *fault,
                                  const wire_commit *commit, const obb_edit *edit,
                                  struct obb_arena *arena);

#endif
