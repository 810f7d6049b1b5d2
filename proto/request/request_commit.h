/* Commits: groups of changes that are applied together, and queries that are answered with them. */
#ifndef WIRE_REQUEST_COMMIT_H
#define WIRE_REQUEST_COMMIT_H

#include "proto/request/edit_groups.h"
#include "proto/request/request.h"

enum {
    WIRE_COMMIT_QUERIES = 100000, /* the most queries of one commit */
    WIRE_COMMIT_ID = 64           /* the most bytes of its id */
};

/* The edit, the queries, and how the client wrote the edit. Moment i of the edit belongs to
 * query i. */
typedef struct wire_commit {
    obb_edit edit;
    const obb_query *queries; /* to be answered on the result */
    size_t query_count;
    /* After a fault in the `with` of the last query: the query has what is before. */
    bool has_flawed;
    wire_edit_form form;
    obb_str id;    /* that the client gave the commit, up to WIRE_COMMIT_ID bytes; length 0: none */
    bool dry_run;  /* nothing is kept */
    bool repeated; /* for the answer: the commit was applied before; a decoder says false */
    bool has_tag;  /* some query has a tag */
    obb_str tag;   /* the first one */
} wire_commit;

/* Reads a commit. If the first member of `pose` is an array, the poses are in columns. If the
 * member "names" of `put` is an array, the puts are.
 *
 * Of several faults the one counts that comes first in the order of application (id, time, restart,
 * if_revision, remove, remove_frames, frames, put, pose, transform,
 * queries), and inside a group that of the first entry. Of columns,
 * those that no row can mend come first (unknown fields, lengths), then the rows in their order. An
 * unknown field of the commit comes before all of them.
 *
 * If this returns false, *out holds what is applied before the fault: whole groups, and the entries
 * of the group at fault that come before it. The scene may refuse one of those, and its refusal
 * counts before the fault. */
bool wire_read_commit(const wire_body *body, int dimensions, struct obb_arena *arena,
                      wire_commit *out, wire_problem *problem);

#endif
