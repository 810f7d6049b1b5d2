/* Columns: an object that says many things of one kind by arrays, one array for each of their
 * properties. Thing i is row i of each array. Internal to the room.
 *
 * Of several faults those come first that no row can mend (unknown fields, lengths), then the rows
 * in their order. */
#ifndef WIRE_COLUMNS_H
#define WIRE_COLUMNS_H

#include "proto/codec/cursor.h"
#include "proto/request/object.h"
#include "proto/request/value.h"

enum { WIRE_COLUMNS = 12 }; /* the most columns of one kind of object */

typedef enum wire_column_kind {
    WIRE_COLUMN_NUMBERS,
    WIRE_COLUMN_NUMBERS_OR_NULL, /* null: a row of `nulls` */
    WIRE_COLUMN_NAMES,
    WIRE_COLUMN_NAMES_OR_NULL /* null: length 0 */
} wire_column_kind;

/* What one column holds. */
struct wire_column_rule {
    wire_column_kind kind;
    unsigned width; /* elements of a row; 0: as many as the scene has dimensions */
    /* One value may stand for all rows: a single row in place of the array, or with a width of 1
     * the value itself. */
    bool may_be_one;
    wire_range range; /* of its numbers */
    const char *rule; /* a sentence that says which numbers it holds; NULL: that of the range */
};

/* The elements of one column. */
struct wire_column_data {
    struct wire_column numbers;
    const obb_str *names;
    const bool *nulls; /* one per element; NULL: no element is null */
    size_t width;      /* elements of a row */
    size_t length;     /* elements that were sent */
    bool one;          /* the one row stands for all */
};

/* Columns while they are read. Field i of the object is column i. */
struct wire_columns {
    struct wire_object object;
    const struct wire_column_rule *rules;
    int count, dimensions;
    size_t rows;
    size_t sound;            /* the rows before it have no fault of an element's kind */
    struct wire_fault fault; /* of an element of row `sound`, if `sound` is less than `rows` */
    struct wire_column_data data[WIRE_COLUMNS];
};

/* Enters the object at the cursor. The caller goes through the fields with wire_object_next of
 * columns->object, and reads each with wire_columns_read. Returns false if the cursor failed. */
bool wire_columns_enter(struct wire_columns *columns, struct wire_cursor *c, const obb_str *fields,
                        const struct wire_column_rule *rules, int count, int dimensions);

/* Reads the value of a field. An element of the wrong kind is no failure yet: it ends the sound
 * rows. Returns false if the cursor failed. */
bool wire_columns_read(struct wire_columns *columns, int field);

/* Notes that a column is for scenes of other dimensions, and returns false. */
bool wire_columns_not_here(const struct wire_columns *columns, int field);

/* Returns the sentence that says which numbers the column holds. */
static inline const char *wire_columns_rule(const struct wire_columns *columns, int field)
{
    const struct wire_column_rule *rule = &columns->rules[field];
    return rule->rule != NULL ? rule->rule : wire_limits[rule->range].rule;
}

static inline bool wire_columns_has(const struct wire_columns *columns, int field)
{
    return wire_object_has(&columns->object, field);
}

/* Returns one row of those columns that have one value for all rows. The others are not there. */
struct wire_columns wire_columns_for_all(const struct wire_columns *columns);

/* Ends the reading: column `counted`, which was read, says how many rows there are. The other
 * columns must have as many, else WIRE_BAD_LENGTH at the first that has not, in the order of the
 * fields; at `counted` itself if its last row is not whole. Returns false if the cursor failed. */
bool wire_columns_end(struct wire_columns *columns, int counted);

/* Notes a fault in element `element` of row `row` of a column, and returns false. */
bool wire_columns_fail(const struct wire_columns *columns, int field, size_t row, size_t element,
                       wire_cause cause, const char *detail);

/* Notes the status of a quaternion that row `row` of a column holds, and returns false. The fault
 * is at the first number that is not finite, else at the row. */
bool wire_columns_fail_quaternion(const struct wire_columns *columns, int field, size_t row,
                                  const double q[static 4], obb_status status);

/* Notes that the sound rows end before `row`, unless they end earlier already. The fault is one of
 * the column's first element in that row. */
void wire_columns_refuse(struct wire_columns *columns, int field, size_t row, wire_cause cause,
                         const char *detail);

/* Returns how many rows the caller makes things of before it asks wire_columns_sound. */
static inline size_t wire_columns_sound_rows(const struct wire_columns *columns)
{
    return columns->sound < columns->rows ? columns->sound : columns->rows;
}

/* Returns true if all rows are sound. Otherwise notes the fault and returns false. */
bool wire_columns_sound(const struct wire_columns *columns);

/* Copies the numbers of `count` rows of a column that was sent, from row `first` on. */
void wire_columns_numbers(const struct wire_columns *columns, int field, size_t first, size_t count,
                          double *out);

/* Returns whether a row of a column that was sent is null. */
static inline bool wire_columns_null(const struct wire_columns *columns, int field, size_t row)
{
    const struct wire_column_data *data = &columns->data[field];
    return data->nulls != NULL && data->nulls[data->one ? 0 : row];
}

/* Returns the name in a row of a column that was sent. */
static inline obb_str wire_columns_name(const struct wire_columns *columns, int field, size_t row)
{
    const struct wire_column_data *data = &columns->data[field];
    return data->names[data->one ? 0 : row];
}

#endif
