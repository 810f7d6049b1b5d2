#include "proto/request/ray_columns.h"

#include "proto/request/columns.h"
#include "proto/request/value.h"

#include <math.h>

enum column_field { ORIGINS, DIRECTIONS, TARGETS, MAX_DISTANCES, TIMES, COLUMN_FIELDS };
static const obb_str column_fields[COLUMN_FIELDS] = {
    [ORIGINS] = WIRE_FIELD("origins"), [DIRECTIONS] = WIRE_FIELD("directions"),
    [TARGETS] = WIRE_FIELD("targets"), [MAX_DISTANCES] = WIRE_FIELD("max_distances"),
    [TIMES] = WIRE_FIELD("times"),
};
static const struct wire_column_rule rules[COLUMN_FIELDS] = {
    [ORIGINS] = {.width = 0, .range = WIRE_COORDINATE},
    [DIRECTIONS] = {.width = 0},
    [TARGETS] = {.width = 0, .range = WIRE_COORDINATE},
    [MAX_DISTANCES] = {.width = 1, .may_be_one = true, .range = WIRE_DISTANCE},
    [TIMES] = {.width = 1, .range = WIRE_TIME},
};

/* A block of rows as doubles: the type of a column is looked up once a block. */
#define ROWS 32
struct rows {
    double origins[ROWS * 3], ways[ROWS * 3], max_distances[ROWS], times[ROWS];
};

static void get_rows(const struct wire_columns *columns, int way, size_t first, size_t count,
                     struct rows *rows)
{
    wire_columns_numbers(columns, ORIGINS, first, count, rows->origins);
    wire_columns_numbers(columns, way, first, count, rows->ways);
    if (wire_columns_has(columns, MAX_DISTANCES))
        wire_columns_numbers(columns, MAX_DISTANCES, first, count, rows->max_distances);
    if (wire_columns_has(columns, TIMES))
        wire_columns_numbers(columns, TIMES, first, count, rows->times);
}

/* Checks a vector of row i. */
static bool take_vector(const struct wire_columns *columns, int field, wire_range range, size_t i,
                        const double *v, obb_vec3 *out)
{
    const size_t dimensions = (size_t)columns->dimensions;
    for (size_t k = 0; k < dimensions; k++)
        if (wire_range_check(range, v[k]) != OBB_OK)
            return wire_columns_fail(columns, field, i, k, WIRE_OBB_BAD_NUMBER,
                                     wire_limits[range].rule);
    *out = (obb_vec3){v[0], v[1], dimensions == 3 ? v[2] : 0.0};
    return true;
}

/* Checks a number of row i. */
static bool check_number(const struct wire_columns *columns, int field, wire_range range, size_t i,
                         double value)
{
    const obb_status status = wire_range_check(range, value);
    return status == OBB_OK ||
           wire_columns_fail(columns, field, i, 0, (wire_cause)status, wire_limits[range].rule);
}

/* Makes ray i of row `row` of the block. */
static bool make_ray(const struct wire_columns *columns, int way, const struct rows *rows,
                     size_t row, size_t i, obb_ray *out)
{
    const size_t dimensions = (size_t)columns->dimensions;
    obb_vec3 origin = {0}, direction = {0};
    double distance = (double)INFINITY;
    if (!take_vector(columns, ORIGINS, WIRE_COORDINATE, i, &rows->origins[row * dimensions],
                     &origin) ||
        !take_vector(columns, way, way == TARGETS ? WIRE_COORDINATE : WIRE_ANY, i,
                     &rows->ways[row * dimensions], &direction))
        return false;
    if (way == TARGETS) {
        direction = obb_sub(direction, origin);
        distance = obb_length(direction);
    } else if (wire_columns_has(columns, MAX_DISTANCES)) {
        distance = rows->max_distances[row];
        if (!check_number(columns, MAX_DISTANCES, WIRE_DISTANCE, i, distance))
            return false;
    }
    if (wire_columns_has(columns, TIMES) &&
        !check_number(columns, TIMES, WIRE_TIME, i, rows->times[row]))
        return false;
    const obb_status status = obb_ray_make(origin, direction, distance, out);
    return status == OBB_OK ||
           wire_columns_fail(columns, way, i, 0, (wire_cause)status,
                             status == OBB_BAD_VALUE ? "a ray has a length above 0" : NULL);
}

/* Reads the columns. *out_way is the column that says where the rays go. */
static bool read_columns(struct wire_columns *columns, int *out_way)
{
    struct wire_object *o = &columns->object;
    for (int field; (field = wire_object_next(o)) >= 0;) {
        if (wire_object_has(o, TARGETS) &&
            (wire_object_has(o, DIRECTIONS) || wire_object_has(o, MAX_DISTANCES)))
            return wire_fail_at(o->c, WIRE_FIELD_CONFLICT, o->where[field],
                                "rays have directions and max_distances, or targets");
        if (!wire_columns_read(columns, field))
            return false;
    }
    if (o->c->failed || !wire_object_need(o, ORIGINS))
        return false;
    *out_way = wire_object_has(o, TARGETS) ? TARGETS : DIRECTIONS;
    if (!wire_object_has(o, *out_way))
        return wire_fail_at(o->c, WIRE_MISSING_FIELD, o->place,
                            "\"directions\" or \"targets\" is missing");
    return wire_columns_end(columns, ORIGINS);
}

/* Checks the value for all rows where there is no row. */
static bool check_for_all(const struct wire_columns *columns)
{
    const struct wire_columns one = wire_columns_for_all(columns);
    double distance;
    if (!wire_columns_has(&one, MAX_DISTANCES))
        return true;
    wire_columns_numbers(&one, MAX_DISTANCES, 0, 1, &distance);
    return check_number(&one, MAX_DISTANCES, WIRE_DISTANCE, 0, distance);
}

bool wire_read_ray_columns(struct wire_cursor *c, int dimensions, obb_query *query)
{
    struct wire_columns columns;
    int way = DIRECTIONS;
    if (!wire_columns_enter(&columns, c, column_fields, rules, COLUMN_FIELDS, dimensions) ||
        !read_columns(&columns, &way) || (columns.rows == 0 && !check_for_all(&columns)))
        return false;
    const size_t sound = wire_columns_sound_rows(&columns);
    obb_ray *rays = obb_arena_alloc(c->arena, sound, sizeof *rays);
    double *times =
        wire_columns_has(&columns, TIMES) ? obb_arena_alloc(c->arena, sound, sizeof *times) : NULL;
    if (rays == NULL || (times == NULL && wire_columns_has(&columns, TIMES)))
        return wire_fail_memory(c);
    struct rows rows;
    for (size_t i = 0; i < sound; i++) {
        if (i % ROWS == 0) {
            if (!wire_goes_on(c))
                return false;
            get_rows(&columns, way, i, sound - i < ROWS ? sound - i : ROWS, &rows);
        }
        if (!make_ray(&columns, way, &rows, i % ROWS, i, &rays[i]))
            return false;
        if (times != NULL)
            times[i] = rows.times[i % ROWS];
    }
    query->items.rays = rays;
    query->count = sound;
    query->times = times;
    return wire_columns_sound(&columns);
}
