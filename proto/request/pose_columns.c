#include "proto/request/pose_columns.h"

#include "proto/request/object.h"
#include "proto/request/value.h"

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

/* Checks the length of a column. An absent column passes. */
static bool right_length(const struct wire_object *o, const struct columns *columns, int field,
                         size_t rows, size_t width)
{
    const size_t count = columns->column[field].count;
    return !wire_object_has(o, field) || (count % width == 0 && count / width == rows) ||
           wire_fail_at(o->c, WIRE_BAD_LENGTH, o->where[field],
                        "the columns are of different lengths");
}

/* A block of rows as doubles: the type of a column is looked up once a block. */
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

/* Makes the pose of row i, which is in the block `rows`. */
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

bool wire_read_pose_columns(struct wire_cursor *c, int dimensions, const obb_pose **out,
                            size_t *out_count, bool *by_names)
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
    const bool has_names = wire_object_has(&o, NAMES);
    if (!has_names && !wire_object_has(&o, IDS))
        return wire_fail_at(c, WIRE_MISSING_FIELD, o.place, "\"names\" or \"ids\" is missing");
    const size_t count = has_names ? columns.name_count : columns.column[IDS].count;
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
    *out = poses;
    *out_count = count;
    *by_names = has_names;
    return true;
}
