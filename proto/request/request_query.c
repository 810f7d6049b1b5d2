#include "proto/request/request_query.h"

#include "proto/codec/walk.h"
#include "proto/request/edit_groups_body.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/query_items.h"
#include "proto/request/request_body.h"
#include "proto/request/request_query_body.h"
#include "proto/request/value.h"

#include <math.h>

enum { DEFAULT_LIMIT = 10000, DEFAULT_PAIR_LIMIT = 1000000 };

static const obb_str kind_names[OBB_QUERY_KINDS] = {
    [OBB_QUERY_PAIRS] = WIRE_FIELD("pairs"),     [OBB_QUERY_ALL_PAIRS] = WIRE_FIELD("all-pairs"),
    [OBB_QUERY_OVERLAP] = WIRE_FIELD("overlap"), [OBB_QUERY_POINT] = WIRE_FIELD("point"),
    [OBB_QUERY_RAY] = WIRE_FIELD("ray"),         [OBB_QUERY_SWEEP] = WIRE_FIELD("sweep"),
    [OBB_QUERY_NEAREST] = WIRE_FIELD("nearest"),
};

bool wire_query_kind(obb_str name, obb_query_kind *out)
{
    for (int i = 0; i < OBB_QUERY_KINDS; i++)
        if (obb_str_equal(kind_names[i], name)) {
            *out = (obb_query_kind)i;
            return true;
        }
    return false;
}

obb_str wire_query_kind_name(obb_query_kind kind) { return kind_names[kind]; }

enum query_field {
    KIND,
    PAIRS,
    SHAPES,
    POINTS,
    RAYS,
    SWEEPS,
    BOXES,
    K,
    MAX_DISTANCE,
    MODE,
    INSIDE,
    WANT,
    FILTER,
    MARGIN,
    BY,
    LIMIT,
    COUNT_ONLY,
    AT,
    EXPLAIN,
    WITH,
    TAG,
    RECORD,
    COLUMNS,
    FLOAT,
    FRESH,
    QUERY_FIELDS
};

static const obb_str query_fields[QUERY_FIELDS] = {
    [KIND] = WIRE_FIELD("kind"),
    [PAIRS] = WIRE_FIELD("pairs"),
    [SHAPES] = WIRE_FIELD("shapes"),
    [POINTS] = WIRE_FIELD("points"),
    [RAYS] = WIRE_FIELD("rays"),
    [SWEEPS] = WIRE_FIELD("sweeps"),
    [BOXES] = WIRE_FIELD("boxes"),
    [K] = WIRE_FIELD("k"),
    [MAX_DISTANCE] = WIRE_FIELD("max_distance"),
    [MODE] = WIRE_FIELD("mode"),
    [INSIDE] = WIRE_FIELD("inside"),
    [WANT] = WIRE_FIELD("want"),
    [FILTER] = WIRE_FIELD("filter"),
    [MARGIN] = WIRE_FIELD("margin"),
    [BY] = WIRE_FIELD("by"),
    [LIMIT] = WIRE_FIELD("limit"),
    [COUNT_ONLY] = WIRE_FIELD("count_only"),
    [AT] = WIRE_FIELD("at"),
    [EXPLAIN] = WIRE_FIELD("explain"),
    [WITH] = WIRE_FIELD("with"),
    [TAG] = WIRE_FIELD("tag"),
    [RECORD] = WIRE_FIELD("record"),
    [COLUMNS] = WIRE_FIELD("columns"),
    [FLOAT] = WIRE_FIELD("float"),
    [FRESH] = WIRE_FIELD("fresh"),
};

#define KIND_BIT(kind) (1u << (kind))
#define EVERY_KIND     (KIND_BIT(OBB_QUERY_KINDS) - 1u)
#define KINDS_WITH_PAIRS \
    (KIND_BIT(OBB_QUERY_PAIRS) | KIND_BIT(OBB_QUERY_ALL_PAIRS) | KIND_BIT(OBB_QUERY_OVERLAP))

#define KINDS_WITH_COLUMNS \
    (KIND_BIT(OBB_QUERY_RAY) | KIND_BIT(OBB_QUERY_SWEEP) | KIND_BIT(OBB_QUERY_NEAREST))

/* The kinds of query that may have the field. */
static const unsigned kinds_with[QUERY_FIELDS] = {
    [KIND] = EVERY_KIND,
    [PAIRS] = KIND_BIT(OBB_QUERY_PAIRS),
    [SHAPES] = KIND_BIT(OBB_QUERY_OVERLAP),
    [POINTS] = KIND_BIT(OBB_QUERY_POINT) | KIND_BIT(OBB_QUERY_NEAREST),
    [RAYS] = KIND_BIT(OBB_QUERY_RAY),
    [SWEEPS] = KIND_BIT(OBB_QUERY_SWEEP),
    [BOXES] = KIND_BIT(OBB_QUERY_NEAREST),
    [K] = KIND_BIT(OBB_QUERY_NEAREST),
    [MAX_DISTANCE] = KIND_BIT(OBB_QUERY_NEAREST),
    [MODE] = KIND_BIT(OBB_QUERY_RAY) | KIND_BIT(OBB_QUERY_SWEEP),
    [INSIDE] = KIND_BIT(OBB_QUERY_RAY),
    [WANT] = EVERY_KIND,
    [FILTER] = EVERY_KIND,
    [MARGIN] = KINDS_WITH_PAIRS,
    [BY] = EVERY_KIND,
    [LIMIT] = EVERY_KIND,
    [COUNT_ONLY] = KIND_BIT(OBB_QUERY_ALL_PAIRS),
    [AT] = EVERY_KIND,
    [EXPLAIN] = EVERY_KIND & ~(KIND_BIT(OBB_QUERY_PAIRS) | KIND_BIT(OBB_QUERY_ALL_PAIRS)),
    [WITH] = EVERY_KIND,
    [TAG] = EVERY_KIND,
    [RECORD] = EVERY_KIND,
    [COLUMNS] = KINDS_WITH_COLUMNS,
    [FLOAT] = KINDS_WITH_COLUMNS,
    [FRESH] = EVERY_KIND,
};

/* The field that a kind of query needs; nearest needs POINTS or BOXES. */
static const int items_of[OBB_QUERY_KINDS] = {
    [OBB_QUERY_PAIRS] = PAIRS,    [OBB_QUERY_ALL_PAIRS] = -1, [OBB_QUERY_OVERLAP] = SHAPES,
    [OBB_QUERY_POINT] = POINTS,   [OBB_QUERY_RAY] = RAYS,     [OBB_QUERY_SWEEP] = SWEEPS,
    [OBB_QUERY_NEAREST] = POINTS,
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_want(struct wire_query_reading *r)
{
    static const obb_str words[] = {
        WIRE_FIELD("relation"), WIRE_FIELD("mtv"),  WIRE_FIELD("distance"), WIRE_FIELD("axis"),
        WIRE_FIELD("volume"),   WIRE_FIELD("data"), WIRE_FIELD("entity"),   WIRE_FIELD("pose")};
    struct wire_cursor *c = r->c;
    if (!wire_enter_array(c))
        return false;
    while (wire_next_item(c)) {
        const size_t place = wire_place(c);
        int word;
        if (!wire_read_word(c, words, (int)(sizeof words / sizeof *words), &word))
            return false;
        const unsigned bit = 1u << word;
        if ((bit & OBB_WANT_OF_PAIR) != 0 && (KIND_BIT(r->query->kind) & KINDS_WITH_PAIRS) == 0)
            return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, "this kind of query has no pairs");
        r->query->want |= bit;
    }
    return !c->failed;
}

/* Reads names. If the query is by id, ids may stand among them. */
static bool read_exclude(struct wire_query_reading *r)
{
    struct wire_cursor *c = r->c;
    if (!wire_enter_array(c))
        return false;
    struct wire_list names = wire_list_begin(c, sizeof(obb_str)),
                     ids = wire_list_begin(c, sizeof(uint64_t));
    while (wire_next_item(c)) {
        const bool by_id = wire_peek(c) == WIRE_KIND_NUMBER;
        void *item = wire_list_add(by_id ? &ids : &names);
        if (item == NULL || (by_id ? !wire_read_item_id(r, item) : !wire_read_name(c, item)))
            return false;
    }
    obb_filter *filter = &r->query->filter;
    filter->exclude = (const obb_str *)(const void *)names.items;
    filter->exclude_count = names.count;
    filter->exclude_ids = (const uint64_t *)(const void *)ids.items;
    filter->exclude_id_count = ids.count;
    return !c->failed;
}

static bool read_filter(struct wire_query_reading *r)
{
    enum { CATEGORY, MASK, EXCLUDE, EXCLUDE_ENTITIES, PREFIX, COUNT };
    static const obb_str fields[COUNT] = {[CATEGORY] = WIRE_FIELD("category"),
                                          [MASK] = WIRE_FIELD("mask"),
                                          [EXCLUDE] = WIRE_FIELD("exclude"),
                                          [EXCLUDE_ENTITIES] = WIRE_FIELD("exclude_entities"),
                                          [PREFIX] = WIRE_FIELD("prefix")};
    struct wire_cursor *c = r->c;
    obb_filter *filter = &r->query->filter;
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        double whole = 0.0;
        bool read;
        switch (field) {
        case CATEGORY:
            read = filter->has_category = wire_read_whole(c, 0, (double)UINT32_MAX, &whole);
            filter->category = (uint32_t)whole;
            break;
        case MASK:
            read = filter->has_mask = wire_read_whole(c, 0, (double)UINT32_MAX, &whole);
            filter->mask = (uint32_t)whole;
            break;
        case EXCLUDE:
            read = read_exclude(r);
            break;
        case EXCLUDE_ENTITIES:
            read = wire_read_names(c, &filter->exclude_entities, &filter->exclude_entity_count);
            break;
        default:
            read = wire_read_string(c, &filter->prefix);
            break;
        }
        if (!read)
            return false;
    }
    return !c->failed;
}

#define NO_MOMENT "\"revision\", \"time\" or \"ago\" is missing"

/* Reads `at`. Without must_name, it may name no moment: its kind is then OBB_AT_NOW. *out_place:
 * that of the member that names a moment. */
static bool read_at(struct wire_cursor *c, bool must_name, obb_at *out, size_t *out_place)
{
    enum { REVISION, TIME, AGO, INTERPOLATE, CLAMP, COUNT };
    static const obb_str fields[COUNT] = {[REVISION] = WIRE_FIELD("revision"),
                                          [TIME] = WIRE_FIELD("time"),
                                          [AGO] = WIRE_FIELD("ago"),
                                          [INTERPOLATE] = WIRE_FIELD("interpolate"),
                                          [CLAMP] = WIRE_FIELD("clamp")};
    static const obb_at_kind kinds[] = {
        [REVISION] = OBB_AT_REVISION, [TIME] = OBB_AT_TIME, [AGO] = OBB_AT_AGO};
    struct wire_object o;
    obb_at at = {.kind = OBB_AT_NOW};
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        double whole;
        bool interpolate = true;
        if (field <= AGO) {
            if (at.kind != OBB_AT_NOW)
                return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field],
                                    "exactly one of revision, time and ago is needed here");
            at.kind = kinds[field];
            *out_place = o.where[field];
        }
        if (field == REVISION) {
            if (!wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole))
                return false;
            at.revision = (uint64_t)whole;
        } else if (field <= AGO) {
            if (!wire_read_real(c, field == AGO ? WIRE_SPAN : WIRE_TIME, &at.time))
                return false;
        } else if (field == CLAMP) {
            if (!wire_read_bool(c, &at.clamp))
                return false;
        } else {
            if (!wire_read_bool(c, &interpolate))
                return false;
            at.no_interpolation = !interpolate;
        }
    }
    if (c->failed)
        return false;
    if (at.kind == OBB_AT_NOW && must_name)
        return wire_fail_at(c, WIRE_MISSING_FIELD, o.place, NO_MOMENT);
    *out = at;
    return true;
}

bool wire_read_at(struct wire_cursor *c, obb_at *out)
{
    size_t place;
    return read_at(c, true, out, &place);
}

/* Reads names. If the query is by id, ids may stand among them. */
static bool read_explain(struct wire_query_reading *r)
{
    struct wire_list refs;
    if (!wire_list_begin_limited(&refs, r->c, sizeof(obb_ref), WIRE_MAX_EXPLAIN,
                                 "at most 16 boxes are explained"))
        return false;
    while (wire_next_item(r->c)) {
        obb_ref *ref = wire_list_add(&refs);
        if (ref == NULL)
            return false;
        ref->kind = wire_peek(r->c) == WIRE_KIND_NUMBER ? OBB_REF_ID : OBB_REF_NAME;
        if (!(ref->kind == OBB_REF_ID ? wire_read_item_id(r, &ref->id)
                                      : wire_read_name(r->c, &ref->name)))
            return false;
    }
    r->query->explain = (const obb_ref *)(const void *)refs.items;
    r->query->explain_count = (uint16_t)refs.count;
    return !r->c->failed;
}

static bool read_tag(struct wire_cursor *c, obb_str *out)
{
    const size_t place = wire_place(c);
    if (!wire_read_string(c, out))
        return false;
    return out->length <= WIRE_MAX_TAG ||
           wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, "a tag is at most 64 bytes");
}

static bool read_float(struct wire_query_reading *r)
{
    const size_t place = wire_place(r->c);
    static const char rule[] = "a float has 32 or 64 bits";
    double bits;
    if (!wire_read_number(r->c, &bits)) {
        if (wire_beyond_doubles(r->c))
            r->c->fault.detail = rule;
        return false;
    }
    r->float_bits = (int)(bits == 32.0 ? 32 : 64);
    return bits == 32.0 || bits == 64.0 || wire_fail_at(r->c, WIRE_OBB_BAD_VALUE, place, rule);
}

/* ---- The object ------------------------------------------------------------------------------ */

static bool read_field(struct wire_query_reading *r, int field)
{
    static const obb_str modes[] = {[OBB_CLOSEST] = WIRE_FIELD("closest"),
                                    [OBB_ANY] = WIRE_FIELD("any"),
                                    [OBB_ALL] = WIRE_FIELD("all"),
                                    [OBB_CLOSEST_PER_ENTITY] = WIRE_FIELD("closest_per_entity")};
    static const obb_str insides[] = {[OBB_INSIDE_HIT] = WIRE_FIELD("hit"),
                                      [OBB_INSIDE_EXIT] = WIRE_FIELD("exit"),
                                      [OBB_INSIDE_IGNORE] = WIRE_FIELD("ignore")};
    static const obb_str bys[] = {WIRE_FIELD("name"), WIRE_FIELD("id")};
    struct wire_cursor *c = r->c;
    obb_query *q = r->query;
    int word = 0;
    double whole = 0.0;
    bool read = false;
    switch ((enum query_field)field) {
    case KIND:
        if (!wire_read_word(c, &kind_names[q->kind], 1, &word))
            return false;
        return true;
    case PAIRS:
        return wire_read_pairs(r);
    case SHAPES:
        return wire_read_items(r, WIRE_ITEM_SHAPE);
    case POINTS:
        return wire_read_points(r);
    case RAYS:
        return wire_read_rays(r);
    case SWEEPS:
        return wire_read_items(r, WIRE_ITEM_SWEEP);
    case BOXES:
        return wire_read_items(r, WIRE_ITEM_BOX);
    case K:
        read = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
        q->k = (size_t)whole;
        return read;
    case MAX_DISTANCE:
        return wire_read_real(c, WIRE_DISTANCE, &q->max_distance);
    case MODE:
        read = wire_read_word(c, modes, (int)(sizeof modes / sizeof *modes), &word);
        q->mode = (obb_mode)word;
        return read;
    case INSIDE:
        read = wire_read_word(c, insides, (int)(sizeof insides / sizeof *insides), &word);
        q->inside = (obb_inside)word;
        return read;
    case WANT:
        return read_want(r);
    case FILTER:
        return read_filter(r);
    case MARGIN:
        return wire_read_real(c, WIRE_MARGIN, &q->margin);
    case BY:
        read = wire_read_word(c, bys, 2, &word);
        q->by_id = word == 1;
        r->by_name = word == 0;
        return read;
    case LIMIT:
        read = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
        q->limit = (size_t)whole;
        return q->has_limit = read;
    case COUNT_ONLY:
        return wire_read_bool(c, &q->count_only);
    case AT:
        /* rays may have times of their own */
        return q->has_at = read_at(c, q->kind != OBB_QUERY_RAY, &q->at, &r->at_place);
    case EXPLAIN:
        return q->has_explain = read_explain(r);
    case WITH:
        return wire_read_with(c, r->dimensions, &q->with);
    case TAG:
        return q->has_tag = read_tag(c, &q->tag);
    case RECORD:
        read = wire_read_bool(c, &q->unrecorded);
        q->unrecorded = !q->unrecorded;
        return read;
    case COLUMNS:
        return wire_read_bool(c, &q->columns);
    case FLOAT:
        return read_float(r);
    case FRESH:
        return wire_read_bool(c, &q->fresh);
    case QUERY_FIELDS:
        break;
    }
    return false;
}

/* Finds the kind that the next object states, wherever the field stands. The cursor goes back to
 * the object. */
static bool find_kind(struct wire_cursor *c, obb_query_kind *out)
{
    const struct wire_mark mark = wire_mark(c);
    const size_t place = wire_place(c);
    obb_str key;
    if (!wire_enter_object(c))
        return false;
    while (wire_next_key(c, &key)) {
        int word;
        if (!obb_str_equal(key, query_fields[KIND])) {
            if (!wire_skip(c))
                return false;
            continue;
        }
        if (!wire_read_word(c, kind_names, OBB_QUERY_KINDS, &word))
            return false;
        *out = (obb_query_kind)word;
        wire_rewind(c, &mark);
        return true;
    }
    return wire_fail_at(c, WIRE_MISSING_FIELD, place, "\"kind\" is missing");
}

/* Checks what columns of an answer rule out, and takes over what they imply. */
static bool columns_agree(struct wire_query_reading *r, const struct wire_object *o)
{
    obb_query *q = r->query;
    struct wire_cursor *c = r->c;
    if (!q->columns)
        return r->float_bits == 0 ||
               wire_fail_at(c, WIRE_FIELD_CONFLICT, o->where[FLOAT],
                            "float is for answers in columns (\"columns\":true)");
    if (r->by_name)
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, o->where[BY],
                            "an answer in columns is by \"id\"");
    if (wire_object_has(o, WANT))
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, o->where[WANT],
                            "an answer in columns has no additions");
    if (wire_object_has(o, EXPLAIN))
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, o->where[EXPLAIN],
                            "an answer in columns explains nothing");
    if (q->mode != OBB_CLOSEST && q->mode != OBB_ANY)
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, o->where[MODE],
                            "an answer in columns is of mode \"closest\" or \"any\"");
    if (q->k > 1)
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, o->where[K],
                            "an answer in columns has one box an item: k is 0 or 1");
    q->by_id = true;
    q->narrow = r->float_bits == 32;
    q->limit = DEFAULT_LIMIT;
    q->has_limit = false;
    return true;
}

/* Checks that `at` names a moment, unless the rays have times of their own. */
static bool moments_agree(struct wire_query_reading *r, const struct wire_object *o)
{
    obb_query *q = r->query;
    if (q->times == NULL)
        return !q->has_at || r->at_place != 0 ||
               wire_fail_at(r->c, WIRE_MISSING_FIELD, o->where[AT], NO_MOMENT);
    if (r->at_place != 0)
        return wire_fail_at(r->c, WIRE_FIELD_CONFLICT, r->at_place,
                            "rays with times take only clamp and interpolate here");
    q->at.kind = OBB_AT_TIME;
    q->has_at = false;
    return true;
}

/* Checks the rules that need all fields. */
static bool fields_agree(struct wire_query_reading *r, const struct wire_object *o)
{
    const obb_query *q = r->query;
    struct wire_cursor *c = r->c;
    const int items = items_of[q->kind];
    if (q->kind == OBB_QUERY_NEAREST) {
        const bool points = wire_object_has(o, POINTS), boxes = wire_object_has(o, BOXES);
        if (points && boxes)
            return wire_fail_at(c, WIRE_FIELD_CONFLICT,
                                o->where[BOXES] > o->where[POINTS] ? o->where[BOXES]
                                                                   : o->where[POINTS],
                                "exactly one of points and boxes is needed here");
        if (!points && !boxes)
            return wire_fail_at(c, WIRE_MISSING_FIELD, o->place,
                                "\"points\" or \"boxes\" is missing");
    } else if (items >= 0 && !wire_object_need(o, items)) {
        return false;
    }
    if (!moments_agree(r, o) || !columns_agree(r, o))
        return false;
    if (r->has_id && !q->by_id)
        return wire_fail_at(c, WIRE_WRONG_TYPE, r->id_place,
                            "boxes are named here; with \"by\":\"id\" they may be meant by id");
    if (r->flat_pairs && !q->by_id)
        return wire_fail_item(c, WIRE_WRONG_TYPE, o->where[PAIRS], 0,
                              "pairs are arrays of two, or with \"by\":\"id\" one flat array");
    if (q->kind == OBB_QUERY_OVERLAP && (q->want & OBB_WANT_OF_PAIR) != 0)
        for (size_t i = 0; i < q->count; i++)
            if (!q->items.shapes[i].is_ref)
                return wire_fail_at(
                    c, WIRE_OBB_BAD_VALUE, o->where[WANT],
                    "what is wanted here is of two boxes, and not every shape is one");
    return true;
}

/* Reads the fields. A fault in `with` is kept aside, because the other fields say which state the
 * changes are laid over. */
static bool read_fields(struct wire_query_reading *r, struct wire_object *o)
{
    struct wire_cursor *c = r->c;
    for (int field; (field = wire_object_next(o)) >= 0;) {
        if ((kinds_with[field] & KIND_BIT(r->query->kind)) == 0)
            return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o->where[field],
                                "this does not fit this kind of query");
        const struct wire_mark mark = wire_mark(c);
        if (read_field(r, field))
            continue;
        if (field != WITH || r->query->with == NULL)
            return false;
        r->has_flaw = true;
        r->flaw = c->fault;
        c->failed = false;
        wire_rewind(c, &mark);
        if (!wire_skip(c))
            return false;
    }
    return !c->failed;
}

bool wire_read_query_object(struct wire_cursor *c, const obb_query_kind *kind, int dimensions,
                            obb_query *out)
{
    obb_query query = {.dimensions = dimensions, .k = 1, .max_distance = (double)INFINITY};
    struct wire_query_reading r = {.c = c, .dimensions = dimensions, .query = &query};
    struct wire_object o;
    out->with = NULL;
    if (kind != NULL)
        query.kind = *kind;
    else if (!find_kind(c, &query.kind))
        return false;
    query.limit = query.kind == OBB_QUERY_ALL_PAIRS ? DEFAULT_PAIR_LIMIT : DEFAULT_LIMIT;
    if (!wire_object_enter(&o, c, query_fields, QUERY_FIELDS))
        return false;
    o.kinds_with = kinds_with;
    o.kinds = KIND_BIT(query.kind);
    const bool sound = read_fields(&r, &o) && fields_agree(&r, &o);
    if (sound)
        *out = query;
    else if (!r.has_flaw || wire_problem_of_cause(c->fault.cause).status != 422)
        return false;
    if (!r.has_flaw)
        return true;
    c->failed = false; /* of two faults the first in the text counts */
    return wire_fail_item(c, r.flaw.cause, r.flaw.place, r.flaw.item, r.flaw.detail);
}

bool wire_read_query(const wire_body *body, obb_query_kind kind, int dimensions,
                     struct obb_arena *arena, obb_query *out, wire_problem *problem)
{
    struct wire_cursor c;
    wire_body_open(&c, body, arena);
    if (wire_body_close(&c, wire_read_query_object(&c, &kind, dimensions, out), problem))
        return true;
    problem->has_tag =
        problem->status == 422 && wire_find_tag(body, SIZE_MAX, arena, &problem->tag);
    return false;
}

/* ---- Finding queries in a body --------------------------------------------------------------- */

/* Moves to the value of the object's member `key`. Returns false if there is none. */
static bool enter_member(struct wire_cursor *c, obb_str key)
{
    obb_str found;
    if (wire_peek(c) != WIRE_KIND_OBJECT || !wire_enter_object(c))
        return false;
    while (wire_next_key(c, &found)) {
        if (obb_str_equal(found, key))
            return true;
        if (!wire_skip(c))
            return false;
    }
    return false;
}

static const obb_str queries_key = WIRE_FIELD("queries");

bool wire_copy_queries(const wire_body *body, bool of_commit, struct obb_arena *arena,
                       struct wire_buf *out, size_t *ends, size_t count)
{
    struct wire_cursor c;
    wire_body_open(&c, body, arena);
    if (of_commit && count > 0 && (!enter_member(&c, queries_key) || !wire_enter_array(&c)))
        return false;
    for (size_t i = 0; i < count; i++) {
        if ((of_commit && !wire_next_item(&c)) || !wire_transcode(&c, out))
            return false;
        ends[i] = out->length;
    }
    return true;
}

bool wire_find_tag(const wire_body *body, size_t query, struct obb_arena *arena, obb_str *out)
{
    struct wire_cursor c;
    const wire_body whole = {.bytes = body->bytes, .length = body->length, .media = body->media};
    obb_str tag;
    wire_body_open(&c, &whole, arena);
    if (query != SIZE_MAX) {
        if (!enter_member(&c, queries_key) || wire_peek(&c) != WIRE_KIND_ARRAY ||
            !wire_enter_array(&c))
            return false;
        for (size_t i = 0; i < query; i++)
            if (!wire_next_item(&c) || !wire_skip(&c))
                return false;
        if (!wire_next_item(&c))
            return false;
    }
    if (!enter_member(&c, query_fields[TAG]) || !read_tag(&c, &tag))
        return false;
    *out = tag;
    return true;
}
