#include "proto/codec/cursor.h"

#include "proto/base/keys.h"
#include "proto/base/le.h"

#include <string.h>

/* ---- Faults ---------------------------------------------------------------------------------- */

bool wire_fail_item(struct wire_cursor *c, wire_cause cause, size_t place, size_t item,
                    const char *detail)
{
    if (!c->failed) {
        c->failed = true;
        c->fault =
            (struct wire_fault){.cause = cause, .detail = detail, .place = place, .item = item};
    }
    return false;
}

bool wire_fail_at(struct wire_cursor *c, wire_cause cause, size_t place, const char *detail)
{
    return wire_fail_item(c, cause, place, WIRE_NO_ITEM, detail);
}

bool wire_fail_memory(struct wire_cursor *c)
{
    return wire_fail_at(c, WIRE_OBB_NO_MEMORY, 0, NULL);
}

bool wire_fail_cancelled(struct wire_cursor *c)
{
    return wire_fail_at(c, (wire_cause)OBB_CANCELLED, 0, NULL);
}

bool wire_spend(struct wire_cursor *c, size_t effort)
{
    if (c->postponed == NULL)
        return true;
    c->effort += effort < WIRE_EASY ? (unsigned)effort : WIRE_EASY;
    if (c->effort < WIRE_EASY)
        return true;
    *c->postponed = true;
    return wire_fail_cancelled(c);
}

bool wire_level_left(struct wire_cursor *c, unsigned depth)
{
    return depth < c->most || wire_fail_malformed(c, c->at, "more than 64 levels");
}

/* ---- Places ---------------------------------------------------------------------------------- */

struct wire_mark wire_mark(struct wire_cursor *c)
{
    struct wire_mark mark = {.at = c->at, .depth = c->depth, .fresh = c->fresh};
    if (c->depth > 0)
        mark.level = c->levels[c->depth - 1];
    return mark;
}

void wire_rewind(struct wire_cursor *c, const struct wire_mark *mark)
{
    c->at = mark->at;
    c->depth = mark->depth;
    c->fresh = mark->fresh;
    if (c->depth > 0)
        c->levels[c->depth - 1] = mark->level;
}

void wire_column_get(const struct wire_column *column, size_t first, size_t count, double *out)
{
    const char *bytes = column->values;
    switch (column->type) {
    case WIRE_DOUBLES:
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    case WIRE_F64LE: /* the same */
#endif
        memcpy(out, bytes + first * sizeof *out, count * sizeof *out);
        break;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    case WIRE_F64LE:
        for (size_t i = 0; i < count; i++)
            out[i] = wire_f64le(bytes + (first + i) * 8);
        break;
#endif
    case WIRE_F32LE:
        for (size_t i = 0; i < count; i++)
            out[i] = wire_f32le(bytes + (first + i) * 4);
        break;
    case WIRE_U32LE:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)wire_u32le(bytes + (first + i) * 4);
        break;
    }
}

bool wire_check_keys(struct wire_cursor *c, size_t place, const obb_str *first, size_t count,
                     size_t stride)
{
    switch (wire_keys_check(first, count, stride, c->cancel, c->arena, NULL)) {
    case WIRE_KEYS_DIFFER:
        return true;
    case WIRE_KEYS_REPEAT:
        return wire_fail_at(c, WIRE_MALFORMED, place, "an object has the same key twice");
    case WIRE_KEYS_CANCELLED:
        return wire_fail_cancelled(c);
    case WIRE_KEYS_NO_MEMORY:
        break;
    }
    return wire_fail_memory(c);
}
