#include "proto/request/pose_columns.h"

#include "proto/codec/walk.h"
#include "proto/problem/detail.h"
#include "proto/request/list.h"
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
    struct wire_column column[COLUMN_FIELDS];
    size_t length[COLUMN_FIELDS]; /* elements that were sent */
    size_t sound;                 /* the rows before it have no fault of an element */
    struct wire_fault fault;      /* of an element in row `sound`, if that is not SIZE_MAX */
};

/* Returns how many elements of a column make a row. */
static size_t width_of(int field, int dimensions)
{
    return field == CENTERS ? (size_t)dimensions : field == ROTATIONS ? 4 : 1;
}

/* Reads a column again in which an element is at fault. Keeps the elements before it, and counts
 * them all. Notes the fault if no other column has one in an earlier row. */
static bool read_before_fault(struct wire_cursor *c, int field, size_t width,
                              const struct wire_mark *begin, struct columns *columns)
{
    const bool names = field == NAMES;
    size_t sound = 0, all = 0;
    c->failed = false;
    wire_rewind(c, begin);
    if (!wire_enter_array(c))
        return false; /* no element, but the column itself is at fault */
    struct wire_list list = wire_list_begin(c, names ? sizeof(obb_str) : sizeof(double));
    for (; wire_next_item(c); sound++) {
        void *element = wire_list_add(&list);
        if (element == NULL || !(names ? wire_read_name(c, element) : wire_read_number(c, element)))
            break;
    }
    if (c->fault.cause == WIRE_OBB_NO_MEMORY)
        return false;
    const struct wire_fault fault = c->fault;
    c->failed = false;
    wire_rewind(c, begin);
    for (bool entered = wire_enter_array(c); entered && wire_next_item(c) && wire_skip(c);)
        all++;
    if (c->failed)
        return false;
    if (names)
        columns->names = (const obb_str *)(const void *)list.items;
    columns->column[field] =
        (struct wire_column){.type = WIRE_DOUBLES, .values = list.items, .count = sound};
    columns->length[field] = all;
    if (sound / width < columns->sound) {
        columns->sound = sound / width;
        columns->fault = fault;
    }
    return true;
}

static bool read_column(struct wire_cursor *c, int field, size_t width, struct columns *columns)
{
    const struct wire_mark begin = wire_mark(c);
    struct wire_column *column = &columns->column[field];
    if (field == NAMES ? wire_read_names(c, &columns->names, &column->count)
                       : wire_read_column(c, column)) {
        columns->length[field] = column->count;
        return true;
    }
    return wire_problem_of_cause(c->fault.cause).status == 422 &&
           read_before_fault(c, field, width, &begin, columns);
}

/* Checks the length of a column. An absent column passes. */
static bool right_length(const struct wire_object *o, const struct columns *columns, int field,
                         size_t rows, size_t width)
{
    const size_t count = columns->length[field];
    return !wire_object_has(o, field) || (count % width == 0 && count / width == rows) ||
           wire_fail_at(
               o->c, WIRE_BAD_LENGTH, o->where[field],
               wire_detail(o->c->arena, "%zu rows of %zu each are needed here", rows, width));
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
                                  wire_limits[WIRE_COORDINATE].rule);
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
            return wire_fail_item(c, WIRE_OBB_BAD_NUMBER, o->where[ANGLES], i,
                                  wire_limits[WIRE_ANY].rule);
        out->has_rotation = true;
    }
    return true;
}

bool wire_read_pose_columns(struct wire_cursor *c, int dimensions, const obb_pose **out,
                            size_t *out_count, bool *by_names)
{
    struct wire_object o;
    struct columns columns = {.sound = SIZE_MAX};
    if (!wire_object_enter(&o, c, column_fields, COLUMN_FIELDS))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == (dimensions == 2 ? ROTATIONS : ANGLES))
            return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o.where[field],
                                dimensions == 2 ? "a 2-D scene has angles"
                                                : "a 3-D scene has rotations");
        if (wire_object_has(&o, NAMES) && wire_object_has(&o, IDS))
            return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field],
                                "exactly one of names and ids is needed here");
        if (!read_column(c, field, width_of(field, dimensions), &columns))
            return false;
    }
    if (c->failed)
        return false;
    const bool has_names = wire_object_has(&o, NAMES);
    if (!has_names && !wire_object_has(&o, IDS))
        return wire_fail_at(c, WIRE_MISSING_FIELD, o.place, "\"names\" or \"ids\" is missing");
    const size_t count = columns.length[has_names ? NAMES : IDS];
    if (!wire_object_need(&o, CENTERS))
        return false;
    for (int field = CENTERS; field < COLUMN_FIELDS; field++)
        if (!right_length(&o, &columns, field, count, width_of(field, dimensions)))
            return false;

    const size_t sound = count < columns.sound ? count : columns.sound;
    obb_pose *poses = obb_arena_alloc(c->arena, sound, sizeof *poses);
    if (poses == NULL)
        return wire_fail_memory(c);
    *out = poses;
    *out_count = 0;
    *by_names = has_names;
    struct rows rows;
    for (size_t i = 0; i < sound; i++) {
        if (i % ROWS == 0)
            get_rows(&o, &columns, i, sound - i < ROWS ? sound - i : ROWS, (size_t)dimensions,
                     &rows);
        if (!make_pose(&o, &columns, &rows, i, (size_t)dimensions, &poses[i]))
            return false;
        *out_count = i + 1;
    }
    return columns.sound == SIZE_MAX || wire_fail_item(c, columns.fault.cause, columns.fault.place,
                                                       columns.fault.item, columns.fault.detail);
}
