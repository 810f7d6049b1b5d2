/* Commits: groups of changes in any order of keys, and queries; and where an edit that core refused is at fault. */
#include "proto/request/request.h"

#include <stddef.h>

/* In the order in which they are applied, and so in which the first fault counts. */
enum commit_field {
    TIME,
    IF_REVISION,
    IGNORE_MISSING,
    REMOVE,
    PUT,
    POSE,
    TRANSFORM,
    QUERIES,
    COMMIT_FIELDS
};

static const obb_str commit_fields[COMMIT_FIELDS] = {
    [TIME] = WIRE_FIELD("time"),
    [IF_REVISION] = WIRE_FIELD("if_revision"),
    [IGNORE_MISSING] = WIRE_FIELD("ignore_missing"),
    [REMOVE] = WIRE_FIELD("remove"),
    [PUT] = WIRE_FIELD("put"),
    [POSE] = WIRE_FIELD("pose"),
    [TRANSFORM] = WIRE_FIELD("transform"),
    [QUERIES] = WIRE_FIELD("queries"),
};

/* ---- Groups ---------------------------------------------------------------------------------------- */

/* The end of an object whose keys are names, each kept in its item at that offset: all differ. */
static bool names_differ(const struct wire_list *list, size_t place, size_t offset)
{
    return !list->c->failed &&
           (list->count == 0 ||
            wire_check_keys(list->c, place, (const obb_str *)(const void *)(list->items + offset),
                            list->count, list->size));
}

static bool read_puts(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_put));
    while (wire_next_name(c, &name)) {
        obb_put *put = wire_list_add(&list);
        if (put == NULL || !wire_read_put(c, dimensions, false, put))
            return false;
        put->target = (obb_target){.name = name};
    }
    edit->puts = (const obb_put *)(const void *)list.items;
    edit->put_count = list.count;
    return names_differ(&list, place, offsetof(obb_put, target.name));
}

static bool read_pose(struct wire_cursor *c, int dimensions, obb_pose *out)
{
    enum { CENTER, ROTATION, TELEPORT, AXES, AXIS_ANGLE, ANGLE, COUNT };
    static const obb_str fields[COUNT] = {
        [CENTER] = WIRE_FIELD("center"),         [ROTATION] = WIRE_FIELD("rotation"),
        [TELEPORT] = WIRE_FIELD("teleport"),     [AXES] = WIRE_FIELD("axes"),
        [AXIS_ANGLE] = WIRE_FIELD("axis_angle"), [ANGLE] = WIRE_FIELD("angle")};
    static const enum wire_turning_field turnings[COUNT] = {[ROTATION] = WIRE_TURNING_ROTATION,
                                                            [AXES] = WIRE_TURNING_AXES,
                                                            [AXIS_ANGLE] = WIRE_TURNING_AXIS_ANGLE,
                                                            [ANGLE] = WIRE_TURNING_ANGLE};
    struct wire_object o;
    struct wire_turning turning = {.rotation = {0.0, 0.0, 0.0, 1.0}};
    obb_pose pose = {.has_center = false};
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == CENTER     ? !wire_read_vector(c, dimensions, WIRE_COORDINATE, &pose.center)
            : field == TELEPORT ? !wire_read_bool(c, &pose.teleport)
                                : !wire_read_turning(c, turnings[field], dimensions, &turning))
            return false;
    if (c->failed)
        return false;
    pose.has_center = wire_object_has(&o, CENTER);
    pose.has_rotation = turning.given;
    const obb_status status = obb_quat_normalise(turning.rotation, &pose.rotation);
    if (status != OBB_OK)
        return wire_fail_at(c, (wire_cause)status, turning.place, NULL);
    pose.angle = turning.angle;
    *out = pose;
    return true;
}

static bool read_poses_by_name(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_pose));
    while (wire_next_name(c, &name)) {
        obb_pose *pose = wire_list_add(&list);
        if (pose == NULL || !read_pose(c, dimensions, pose))
            return false;
        pose->target = (obb_target){.name = name};
    }
    edit->poses = (const obb_pose *)(const void *)list.items;
    edit->pose_count = list.count;
    return names_differ(&list, place, offsetof(obb_pose, target.name));
}

/* ---- Poses in columns ------------------------------------------------------------------------------ */

enum column_field { NAMES, IDS, CENTERS, ROTATIONS, ANGLES, COLUMN_FIELDS };
static const obb_str column_fields[COLUMN_FIELDS] = {
    [NAMES] = WIRE_FIELD("names"),     [IDS] = WIRE_FIELD("ids"),
    [CENTERS] = WIRE_FIELD("centers"), [ROTATIONS] = WIRE_FIELD("rotations"),
    [ANGLES] = WIRE_FIELD("angles"),
};

struct columns {
    const obb_str *names;
    size_t name_count;
    struct wire_column column[COLUMN_FIELDS];
};

/* An absent column is of the right length. */
static bool right_length(const struct wire_object *o, const struct columns *columns, int field,
                         size_t rows, size_t width)
{
    const size_t count = columns->column[field].count;
    return !wire_object_has(o, field) || (count % width == 0 && count / width == rows) ||
           wire_fail_at(o->c, WIRE_BAD_LENGTH, o->where[field],
                        "the columns are of different lengths");
}

/* Some rows of the columns as doubles: which kind of number a column has is asked once for all of them. */
#define ROWS 32
struct rows {
    size_t first;
    double ids[ROWS], centers[ROWS * 3], rotations[ROWS * 4], angles[ROWS];
};

static void get_rows(const struct wire_object *o, const struct columns *columns, size_t first,
                     size_t count, size_t dimensions, struct rows *out)
{
    out->first = first;
    if (wire_object_has(o, IDS))
        wire_column_get(&columns->column[IDS], first, count, out->ids);
    wire_column_get(&columns->column[CENTERS], first * dimensions, count * dimensions,
                    out->centers);
    if (wire_object_has(o, ROTATIONS))
        wire_column_get(&columns->column[ROTATIONS], first * 4, count * 4, out->rotations);
    if (wire_object_has(o, ANGLES))
        wire_column_get(&columns->column[ANGLES], first, count, out->angles);
}

/* The pose of row i of the columns, which is in `rows`. */
static bool make_pose(const struct wire_object *o, const struct columns *columns,
                      const struct rows *rows, size_t i, size_t dimensions, obb_pose *out)
{
    struct wire_cursor *c = o->c;
    const size_t row = i - rows->first;
    *out = (obb_pose){.has_center = true, .rotation = {0.0, 0.0, 0.0, 1.0}};
    if (wire_object_has(o, NAMES)) {
        out->target.name = columns->names[i];
    } else {
        const double id = rows->ids[row];
        if (!(id >= 1.0 && id <= OBB_MAX_WHOLE) || id != (double)(uint64_t)id)
            return wire_fail_item(c, WIRE_OBB_BAD_VALUE, o->where[IDS], i,
                                  "an id is a positive whole number");
        out->target.id = (uint64_t)id;
        out->target.has_id = true;
    }

    const double *center = &rows->centers[row * dimensions];
    for (size_t k = 0; k < dimensions; k++)
        if (wire_range_check(WIRE_COORDINATE, center[k]) != OBB_OK)
            return wire_fail_item(c, WIRE_OBB_BAD_NUMBER, o->where[CENTERS], i * dimensions + k,
                                  "coordinates are at most 1e9 in magnitude");
    out->center = (obb_vec3){center[0], center[1], dimensions == 3 ? center[2] : 0.0};

    if (wire_object_has(o, ROTATIONS)) {
        const double *q = &rows->rotations[row * 4];
        const obb_status status =
            obb_quat_normalise((obb_quat){q[0], q[1], q[2], q[3]}, &out->rotation);
        if (status != OBB_OK)
            return wire_fail_item(c, (wire_cause)status, o->where[ROTATIONS], i * 4, NULL);
        out->has_rotation = true;
    }
    if (wire_object_has(o, ANGLES)) {
        out->angle = rows->angles[row];
        if (wire_range_check(WIRE_ANY, out->angle) != OBB_OK)
            return wire_fail_item(c, WIRE_OBB_BAD_NUMBER, o->where[ANGLES], i, NULL);
        out->has_rotation = true;
    }
    return true;
}

static bool read_columns(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    struct wire_object o;
    struct columns columns = {.names = NULL};
    if (!wire_object_enter(&o, c, column_fields, COLUMN_FIELDS))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == (dimensions == 2 ? ROTATIONS : ANGLES))
            return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o.where[field],
                                dimensions == 2 ? "a 2-D scene has angles"
                                                : "a 3-D scene has rotations");
        if (wire_object_has(&o, NAMES) && wire_object_has(&o, IDS))
            return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field], "names or ids");
        if (field == NAMES ? !wire_read_names(c, &columns.names, &columns.name_count)
                           : !wire_read_column(c, &columns.column[field]))
            return false;
    }
    if (c->failed)
        return false;
    const bool by_names = wire_object_has(&o, NAMES);
    if (!by_names && !wire_object_has(&o, IDS))
        return wire_fail_at(c, WIRE_MISSING_FIELD, o.place, "\"names\" or \"ids\" is missing");
    const size_t count = by_names ? columns.name_count : columns.column[IDS].count;
    if (!wire_object_need(&o, CENTERS) ||
        !right_length(&o, &columns, CENTERS, count, (size_t)dimensions) ||
        !right_length(&o, &columns, ROTATIONS, count, 4) ||
        !right_length(&o, &columns, ANGLES, count, 1))
        return false;

    obb_pose *poses = obb_arena_alloc(c->arena, count, sizeof *poses);
    if (poses == NULL)
        return wire_fail_memory(c);
    struct rows rows;
    for (size_t i = 0; i < count; i++) {
        if (i % ROWS == 0)
            get_rows(&o, &columns, i, count - i < ROWS ? count - i : ROWS, (size_t)dimensions,
                     &rows);
        if (!make_pose(&o, &columns, &rows, i, (size_t)dimensions, &poses[i]))
            return false;
    }
    commit->edit.poses = poses;
    commit->edit.pose_count = count;
    commit->columnar_names = by_names;
    commit->columnar_ids = !by_names;
    return true;
}

/* The columnar form has arrays where the other has objects; the first member tells. */
static bool is_columnar(struct wire_cursor *c)
{
    const struct wire_mark mark = wire_mark(c);
    obb_str key;
    const bool columnar =
        wire_enter_object(c) && wire_next_key(c, &key) && wire_peek(c) == WIRE_KIND_ARRAY;
    if (!c->failed)
        wire_rewind(c, &mark);
    return columnar;
}

static bool read_poses(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    if (is_columnar(c))
        return read_columns(c, dimensions, commit);
    return !c->failed && read_poses_by_name(c, dimensions, &commit->edit);
}

/* ---- Transforms and queries ------------------------------------------------------------------------ */

static bool read_transforms(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_transform_edit));
    while (wire_next_name(c, &name)) {
        obb_transform_edit *change = wire_list_add(&list);
        if (change == NULL || !wire_read_transform_members(c, dimensions, &change->transform))
            return false;
        change->target = (obb_target){.name = name};
    }
    edit->transforms = (const obb_transform_edit *)(const void *)list.items;
    edit->transform_count = list.count;
    return names_differ(&list, place, offsetof(obb_transform_edit, target.name));
}

/* Writes moment i of the edit for query i: if core finds a fault with a moment, the query of that
 * index is at fault. */
static bool need_moments(struct wire_cursor *c, wire_commit *commit)
{
    const size_t count = commit->query_count;
    obb_needed_moment *moments = obb_arena_alloc(c->arena, count, sizeof *moments);
    if (moments == NULL)
        return wire_fail_memory(c);
    for (size_t i = 0; i < count; i++) {
        const obb_query *query = &commit->queries[i];
        moments[i] = (obb_needed_moment){.dimensions = query->dimensions};
        if (query->has_at)
            moments[i].at = query->at;
    }
    commit->edit.moments = moments;
    commit->edit.moment_count = count;
    return true;
}

static bool read_queries(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_query));
    while (wire_next_item(c)) {
        obb_query *query = wire_list_add(&list);
        if (query == NULL || !wire_read_query_object(c, NULL, dimensions, query))
            return false;
    }
    if (c->failed)
        return false;
    commit->queries = (const obb_query *)(const void *)list.items;
    commit->query_count = list.count;
    return need_moments(c, commit);
}

/* ---- The commit ------------------------------------------------------------------------------------ */

static bool read_group(struct wire_cursor *c, int field, wire_commit *commit)
{
    obb_edit *edit = &commit->edit;
    double whole;
    switch ((enum commit_field)field) {
    case TIME:
        return edit->has_time = wire_read_real(c, WIRE_TIME, &edit->time);
    case IF_REVISION:
        edit->has_if_revision = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
        if (edit->has_if_revision)
            edit->if_revision = (uint64_t)whole;
        return edit->has_if_revision;
    case IGNORE_MISSING:
        return wire_read_bool(c, &edit->ignore_missing);
    case REMOVE:
        return wire_read_targets(c, &edit->removes, &edit->remove_count);
    case PUT:
        return read_puts(c, edit->dimensions, edit);
    case POSE:
        return read_poses(c, edit->dimensions, commit);
    case TRANSFORM:
        return read_transforms(c, edit->dimensions, edit);
    case QUERIES:
        return read_queries(c, edit->dimensions, commit);
    case COMMIT_FIELDS:
        break;
    }
    return false;
}

/* Leaves of a commit the groups that are applied before that field. */
static void keep_before(int field, wire_commit *commit)
{
    obb_edit *edit = &commit->edit;
    edit->has_time = edit->has_time && TIME < field;
    edit->has_if_revision = edit->has_if_revision && IF_REVISION < field;
    edit->remove_count = REMOVE < field ? edit->remove_count : 0;
    edit->put_count = PUT < field ? edit->put_count : 0;
    edit->pose_count = POSE < field ? edit->pose_count : 0;
    edit->transform_count = TRANSFORM < field ? edit->transform_count : 0;
    edit->moment_count = commit->query_count = 0; /* nothing comes after them */
}

/* A group with a fault is passed over, since one that comes later in the text may be applied, and so be at fault, before
 * it. A field that nobody knows comes first of all. */
static bool read_commit(struct wire_cursor *c, wire_commit *commit, int *out_fault_field)
{
    struct wire_object o;
    struct wire_fault first = {.place = 0};
    int first_field = COMMIT_FIELDS;
    *out_fault_field = TIME;
    if (!wire_object_enter(&o, c, commit_fields, COMMIT_FIELDS))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        const struct wire_mark mark = wire_mark(c);
        if (read_group(c, field, commit))
            continue;
        if (c->fault.cause == WIRE_MALFORMED || c->fault.cause == WIRE_OBB_NO_MEMORY)
            return false;
        if (field < first_field) {
            first_field = field;
            first = c->fault;
        }
        c->failed = false;
        wire_rewind(c, &mark);
        if (!wire_skip(c))
            return false;
    }
    if (c->failed || first_field == COMMIT_FIELDS)
        return !c->failed;
    *out_fault_field = first_field;
    return wire_fail_item(c, first.cause, first.place, first.item, first.detail);
}

bool wire_read_commit(const wire_body *body, int dimensions, struct obb_arena *arena,
                      wire_commit *out, wire_problem *problem)
{
    struct wire_cursor c;
    int fault_field;
    *out = (wire_commit){.edit = {.dimensions = dimensions}};
    wire_body_open(&c, body, arena);
    const bool good = wire_body_close(&c, read_commit(&c, out, &fault_field), problem);
    if (!good)
        keep_before(fault_field, out);
    return good;
}

/* ---- Faults that core found ------------------------------------------------------------------------ */

static void point_at_target(struct wire_pointer *pointer, const char *group,
                            const obb_target *target)
{
    wire_pointer_key(pointer, obb_str_of(group));
    wire_pointer_key(pointer, target->name);
}

/* What of a transform core could not carry out, or, where the box that it made leaves the range, what was applied last. */
static void point_at_part(struct wire_pointer *pointer, obb_status status,
                          const obb_transform_edit *change)
{
    const obb_transform *t = &change->transform;
    if (wire_problem_of(status).status != 422)
        return;
    const bool scale = status == OBB_SHEARED || status == OBB_SINGULAR || !t->has_translate;
    wire_pointer_key(pointer, obb_str_of(t->has_matrix ? "matrix" : scale ? "scale" : "translate"));
}

/* The entry of a commit's body that the fault names. */
static void point_at_entry(struct wire_pointer *pointer, obb_status status, const obb_fault *fault,
                           const wire_commit *commit, const obb_edit *edit)
{
    const size_t i = fault->index;
    switch (fault->group) {
    case OBB_GROUP_TIME:
        wire_pointer_key(pointer, commit_fields[TIME]);
        break;
    case OBB_GROUP_IF_REVISION:
        if (commit->edit.has_if_revision) /* else it came as a header */
            wire_pointer_key(pointer, commit_fields[IF_REVISION]);
        break;
    case OBB_GROUP_REMOVE:
        wire_pointer_key(pointer, commit_fields[REMOVE]);
        wire_pointer_index(pointer, i);
        break;
    case OBB_GROUP_PUT:
        point_at_target(pointer, "put", &edit->puts[i].target);
        break;
    case OBB_GROUP_POSE:
        if (commit->columnar_names || commit->columnar_ids) {
            wire_pointer_key(pointer, commit_fields[POSE]);
            wire_pointer_key(pointer, column_fields[commit->columnar_names ? NAMES : IDS]);
            wire_pointer_index(pointer, i);
        } else {
            point_at_target(pointer, "pose", &edit->poses[i].target);
        }
        break;
    case OBB_GROUP_TRANSFORM:
        point_at_target(pointer, "transform", &edit->transforms[i].target);
        point_at_part(pointer, status, &edit->transforms[i]);
        break;
    case OBB_GROUP_MOMENT:
        wire_pointer_key(pointer, commit_fields[QUERIES]);
        wire_pointer_index(pointer, i);
        if (status == OBB_GONE)
            wire_pointer_key(pointer, obb_str_of("at"));
        break;
    case OBB_GROUP_MERGE: /* a commit has none */
    case OBB_GROUP_NONE:
        break;
    }
}

wire_problem wire_problem_of_edit(obb_status status, const obb_fault *fault,
                                  const wire_commit *commit, const obb_edit *edit,
                                  struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(status);
    struct wire_pointer pointer = {.length = 0};
    if (status == OBB_GONE) {
        problem.has_range = true;
        problem.oldest = fault->oldest;
        problem.newest = fault->newest;
    }
    if (status == OBB_LIMIT)
        problem.detail = "there are as many boxes, in all scenes, as --box-limit allows";
    if (fault->group == OBB_GROUP_TRANSFORM && edit->transforms[fault->index].transform.has_matrix)
        problem.detail = wire_matrix_detail(status);
    if (commit != NULL) {
        point_at_entry(&pointer, status, fault, commit, edit);
    } else if (fault->group == OBB_GROUP_TIME) { /* in the header of an import */
        wire_pointer_index(&pointer, 0);
        wire_pointer_key(&pointer, commit_fields[TIME]);
    } else if (fault->group == OBB_GROUP_TRANSFORM) {
        point_at_part(&pointer, status, &edit->transforms[fault->index]);
    } else if (fault->group == OBB_GROUP_MERGE && problem.status == 422) {
        wire_pointer_key(&pointer, obb_str_of("with"));
    } else if (fault->group == OBB_GROUP_MERGE && status == OBB_NO_BOX &&
               fault->member < edit->merges[fault->index].with_count) {
        wire_pointer_key(&pointer, obb_str_of("with"));
        wire_pointer_index(&pointer, fault->member);
    }
    if (status == OBB_BAD_NUMBER &&
        (fault->group == OBB_GROUP_TRANSFORM || fault->group == OBB_GROUP_MERGE))
        problem.detail = "the box would reach beyond coordinates or half extents of 1e9";
    if (pointer.length > 0)
        problem.pointer = wire_pointer_take(&pointer, arena);
    return problem;
}
