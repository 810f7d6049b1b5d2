/* The groups of changes, for decoders that read them as parts. Internal to the room. */
#ifndef WIRE_EDIT_GROUPS_BODY_H
#define WIRE_EDIT_GROUPS_BODY_H

#include "proto/request/edit_groups.h"
#include "proto/request/list.h"
#include "proto/request/object.h"

/* Ends an object whose keys are names: checks that they differ. Each name is kept in its item, at
 * that offset. */
bool wire_names_differ(const struct wire_list *list, size_t place, size_t offset);

/* The groups of changes, in the order of application. An object that holds them has them as fields
 * in this order, without another field between them. */
enum wire_group {
    WIRE_GROUP_REMOVE,
    WIRE_GROUP_REMOVE_FRAMES,
    WIRE_GROUP_FRAMES,
    WIRE_GROUP_PUT,
    WIRE_GROUP_POSE,
    WIRE_GROUP_TRANSFORM,
    WIRE_GROUPS
};

/* Reads one group into the edit, whose dimensions are set, and notes in *form how it is written.
 * Returns false if the cursor failed. The edit then holds the entries before the fault; of the two
 * groups that are lists of names it holds none. */
bool wire_read_group(struct wire_cursor *c, enum wire_group group, obb_edit *edit,
                     wire_edit_form *form);

/* Takes out of the edit the groups that are applied after `group`, which is at fault. Below 0 a
 * field before the groups is at fault, and all groups go; from WIRE_GROUPS on none goes. */
void wire_keep_groups(obb_edit *edit, int group);

/* Reads one pose, of a box or a frame. Fills all of *out except the target. */
bool wire_read_pose(struct wire_cursor *c, int dimensions, obb_pose *out);

/* Reads the pose of a frame that states its own name as "frame": a line of an import. */
bool wire_read_named_frame(struct wire_cursor *c, int dimensions, obb_pose *out);

/* Reads the `with` of a query. *out is in the arena. An entry at fault comes before the number of
 * entries; *out is then what is applied before the entry. After other faults *out is NULL. */
bool wire_read_with(struct wire_cursor *c, int dimensions, const obb_edit **out);

/* Reads the value of field `field` at the cursor. Returns false if the cursor failed. */
typedef bool wire_read_field(void *context, struct wire_cursor *c, int field);

/* Reads all fields of an entered object whose fields stand in the order of application. After a
 * fault it skips that field and goes on, because a field that comes later in the text may be
 * applied earlier, and then its fault counts. An unknown field counts before all others. Returns
 * false if there is a fault; if it is the fault of a field, *out_fault_field is the field. */
bool wire_read_in_order(struct wire_object *object, wire_read_field *read, void *context,
                        int *out_fault_field);

#endif
