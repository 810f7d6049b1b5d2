/* The groups of changes, for decoders that read them as parts. Internal to the room.
 *
 * Each function reads one group into the edit. It returns false if the cursor failed; the edit then
 * holds the entries of the group that come before the fault. */
#ifndef WIRE_EDIT_GROUPS_BODY_H
#define WIRE_EDIT_GROUPS_BODY_H

#include "proto/request/edit_groups.h"
#include "proto/request/list.h"
#include "proto/request/object.h"

/* Ends an object whose keys are names: checks that they differ. Each name is kept in its item, at
 * that offset. */
bool wire_names_differ(const struct wire_list *list, size_t place, size_t offset);

/* Reads the names of frames. */
bool wire_read_remove_frames(struct wire_cursor *c, obb_edit *edit, wire_edit_form *form);

/* Reads the poses of frames. If the member "names" of the object is an array, they are in columns,
 * which have no ids. */
bool wire_read_frames(struct wire_cursor *c, int dimensions, obb_edit *edit, wire_edit_form *form);

/* Reads one pose, of a box or a frame. Fills all of *out except the target. */
bool wire_read_pose(struct wire_cursor *c, int dimensions, obb_pose *out);

/* Reads the pose of a frame that states its own name as "frame": a line of an import. */
bool wire_read_named_frame(struct wire_cursor *c, int dimensions, obb_pose *out);

/* Reads puts. If the member "names" of the object is an array, the puts are in columns. */
bool wire_read_puts(struct wire_cursor *c, int dimensions, obb_edit *edit, wire_edit_form *form);

/* Reads poses. If the first member of the object is an array, the poses are in columns. */
bool wire_read_poses(struct wire_cursor *c, int dimensions, obb_edit *edit, wire_edit_form *form);

/* Reads the `with` of a query. *out is in the arena. An entry at fault comes before the number of
 * entries; *out is then what is applied before the entry. After other faults *out is NULL. */
bool wire_read_with(struct wire_cursor *c, int dimensions, const obb_edit **out);

bool wire_read_transforms(struct wire_cursor *c, int dimensions, obb_edit *edit);

/* Reads the value of field `field` at the cursor. Returns false if the cursor failed. */
typedef bool wire_read_group(void *context, struct wire_cursor *c, int field);

/* Reads all fields of an entered object whose fields stand in the order of application. After a
 * fault it skips that field and goes on, because a field that comes later in the text may be
 * applied earlier, and then its fault counts. An unknown field counts before all others. Returns
 * false if there is a fault; if it is the fault of a field, *out_fault_field is the field. */
bool wire_read_groups(struct wire_object *object, wire_read_group *read, void *context,
                      int *out_fault_field);

#endif
