/* The groups of changes of an edit: remove, remove_frames, frames, put, pose and transform. A
 * commit holds them, and so does the `with` of a query. */
#ifndef WIRE_EDIT_GROUPS_H
#define WIRE_EDIT_GROUPS_H

#include "core/obb.h"

#include <stdbool.h>

/* How the client wrote the groups: pointers of problems follow it. */
typedef struct wire_edit_form {
    bool put_columns;           /* put was sent in columns */
    bool pose_names, pose_ids;  /* pose was sent in columns, with names or with ids */
    bool frame_names;           /* frames was sent in columns */
    bool frames, remove_frames; /* stated, if only as an empty group */
} wire_edit_form;

/* The changes of a query's `with`. The query points at `edit`. */
typedef struct wire_with {
    obb_edit edit; /* first */
    wire_edit_form form;
} wire_with;

enum { WIRE_MOST_WITH = 1000 }; /* entries of a `with` */

#endif
