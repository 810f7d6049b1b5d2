#include "proto/reply/reply_columns_body.h"

/* Rows are gathered in blocks: one block is written at a time. */
enum { ROWS = 64 };

/* Returns the hit of an item, or NULL: nothing was found, or the box of the item is missing. */
static const obb_hit *hit_of(const obb_result *result, size_t item)
{
    const obb_answer *answer = &result->answers[item];
    return answer->missing_count == 0 && answer->hit_count > 0 ? &answer->hits[0] : NULL;
}

static void put_boxes(struct wire_out *out, const obb_result *result)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < result->answer_count; i++) {
        const obb_hit *hit = hit_of(result, i);
        const uint64_t id = hit != NULL ? obb_view_id(hit->box) : 0;
        largest = id > largest ? id : largest;
    }
    wire_out_key(out, "boxes");
    wire_out_ids(out, result->answer_count, largest);
    for (size_t i = 0; i < result->answer_count; i++) {
        const obb_hit *hit = hit_of(result, i);
        wire_out_id(out, hit != NULL ? obb_view_id(hit->box) : 0);
    }
    wire_out_ids_end(out);
}

/* Reads one row of a column; `at` has room for it. */
typedef void row_reader(const obb_result *result, size_t item, int dimensions, double *at);

static void read_distance(const obb_result *result, size_t item, int dimensions, double *at)
{
    const obb_hit *hit = hit_of(result, item);
    (void)dimensions;
    *at = hit != NULL ? hit->distance + 0.0 : 0.0; /* computed numbers have no -0 */
}

static void read_fraction(const obb_result *result, size_t item, int dimensions, double *at)
{
    const obb_hit *hit = hit_of(result, item);
    (void)dimensions;
    *at = hit != NULL ? hit->fraction + 0.0 : 0.0;
}

static void read_vector(const obb_vec3 *v, int dimensions, double *at)
{
    at[0] = v != NULL ? v->x + 0.0 : 0.0;
    at[1] = v != NULL ? v->y + 0.0 : 0.0;
    if (dimensions == 3)
        at[2] = v != NULL ? v->z + 0.0 : 0.0;
}

static void read_point(const obb_result *result, size_t item, int dimensions, double *at)
{
    const obb_hit *hit = hit_of(result, item);
    read_vector(hit != NULL ? &hit->point : NULL, dimensions, at);
}

static void read_normal(const obb_result *result, size_t item, int dimensions, double *at)
{
    const obb_hit *hit = hit_of(result, item);
    read_vector(hit != NULL ? &hit->normal : NULL, dimensions, at);
}

static void read_time(const obb_result *result, size_t item, int dimensions, double *at)
{
    (void)dimensions;
    *at = obb_view_info_get(result->views[item])->at.time;
}

static void read_clamped(const obb_result *result, size_t item, int dimensions, double *at)
{
    (void)dimensions;
    *at = obb_view_info_get(result->views[item])->clamped ? 1.0 : 0.0;
}

/* Writes a column whose rows have `width` numbers. */
static void put_column(struct wire_out *out, const char *key, wire_out_type type,
                       const obb_result *result, int dimensions, size_t width, row_reader *read)
{
    double rows[ROWS * 3];
    const size_t count = result->answer_count;
    wire_out_key(out, key);
    wire_out_column(out, type, count * width);
    for (size_t first = 0; first < count; first += ROWS) {
        const size_t left = count - first, some = left < ROWS ? left : ROWS;
        for (size_t i = 0; i < some; i++)
            read(result, first + i, dimensions, &rows[i * width]);
        wire_out_column_part(out, type, rows, some * width);
    }
    wire_out_column_end(out);
}

/* Writes when each item was judged. Of no items, the lists are empty. */
static void put_moments(struct wire_out *out, const obb_result *result)
{
    uint64_t largest = 0;
    put_column(out, "times", WIRE_OUT_F64, result, 0, 1, read_time);
    for (size_t i = 0; i < result->answer_count; i++) {
        const uint64_t revision = obb_view_info_get(result->views[i])->at.revision;
        largest = revision > largest ? revision : largest;
    }
    wire_out_key(out, "revisions");
    wire_out_ids(out, result->answer_count, largest);
    for (size_t i = 0; i < result->answer_count; i++)
        wire_out_id(out, obb_view_info_get(result->views[i])->at.revision);
    wire_out_ids_end(out);
    put_column(out, "clamped", WIRE_OUT_U8, result, 0, 1, read_clamped);
}

void wire_put_columns(struct wire_out *out, const obb_query *query, const obb_result *result)
{
    const wire_out_type type = query->narrow ? WIRE_OUT_F32 : WIRE_OUT_F64;
    const int dimensions = query->dimensions;
    wire_out_key(out, "columns");
    const wire_out_scope object = wire_out_object(out);
    put_boxes(out, result);
    if (query->kind == OBB_QUERY_SWEEP)
        put_column(out, "fractions", type, result, dimensions, 1, read_fraction);
    else
        put_column(out, "distances", type, result, dimensions, 1, read_distance);
    put_column(out, "points", type, result, dimensions, (size_t)dimensions, read_point);
    if (query->kind != OBB_QUERY_NEAREST)
        put_column(out, "normals", type, result, dimensions, (size_t)dimensions, read_normal);
    if (query->times != NULL)
        put_moments(out, result);
    wire_out_object_end(out, object);
}
