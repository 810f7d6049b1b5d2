#include "proto/reply/reply_query.h"

#include "proto/reply/reply_body.h"
#include "proto/reply/reply_columns_body.h"
#include "proto/reply/reply_query_body.h"

#include <math.h>

static void put_box_name(struct wire_out *out, const obb_query *query,
                         const struct obb_version *box)
{
    if (query->by_id)
        wire_out_integer(out, obb_view_id(box));
    else
        wire_out_string(out, obb_view_name(box));
}

/* ---- What `want` adds about a pair ----------------------------------------------------------- */

static void put_mtv(struct wire_out *out, const obb_separation *separation, int dimensions)
{
    if (separation->gap > 0.0)
        return;
    wire_out_key(out, "mtv");
    const wire_out_scope object = wire_out_object(out);
    wire_out_key(out, "normal");
    wire_put_derived(out, separation->normal, dimensions);
    wire_out_key(out, "depth");
    wire_put_derived_number(out, -separation->gap);
    wire_out_object_end(out, object);
}

static void put_axis(struct wire_out *out, const obb_separation *separation, int dimensions)
{
    wire_out_key(out, "axis");
    const wire_out_scope object = wire_out_object(out);
    wire_out_key(out, "name");
    wire_out_string(out, obb_str_of(obb_sat_axis_name(separation->axis)));
    wire_out_key(out, "normal");
    wire_put_derived(out, separation->normal, dimensions);
    wire_out_key(out, "gap");
    wire_put_derived_number(out, separation->gap);
    wire_out_object_end(out, object);
}

static void put_distance(struct wire_out *out, const obb_witness *witness, int dimensions)
{
    wire_out_key(out, "distance");
    wire_put_derived_number(out, witness->distance);
    wire_out_key(out, "points");
    wire_out_array(out, 2);
    wire_put_derived(out, witness->on_a, dimensions);
    wire_put_derived(out, witness->on_b, dimensions);
    wire_out_array_end(out);
}

static void put_details(struct wire_out *out, const obb_query *query, const obb_details *details)
{
    static const char *const relations[] = {[OBB_SEPARATE] = "separate",
                                            [OBB_TOUCHING] = "touching",
                                            [OBB_INTERSECTING] = "intersecting",
                                            [OBB_CONTAINS] = "contains",
                                            [OBB_INSIDE] = "inside"};
    if (query->want & OBB_WANT_RELATION) {
        wire_out_key(out, "relation");
        wire_out_string(out, obb_str_of(relations[details->relation]));
    }
    if (query->want & OBB_WANT_MTV)
        put_mtv(out, &details->separation, query->dimensions);
    if (query->want & OBB_WANT_DISTANCE)
        put_distance(out, &details->witness, query->dimensions);
    if (query->want & OBB_WANT_AXIS)
        put_axis(out, &details->separation, query->dimensions);
    if (query->want & OBB_WANT_VOLUME) {
        wire_out_key(out, "volume");
        wire_put_derived_number(out, details->volume);
        wire_out_key(out, "iou");
        wire_put_derived_number(out, details->iou);
    }
}

/* ---- What `want` adds about boxes ------------------------------------------------------------ */

static void put_data(struct wire_out *out, const struct obb_version *box)
{
    const obb_str data = box != NULL ? obb_view_attributes(box).data : (obb_str){0};
    if (data.length != 0)
        wire_out_data(out, data);
    else
        wire_out_null(out);
}

static void put_entity(struct wire_out *out, const struct obb_version *box)
{
    const obb_str entity = box != NULL ? obb_view_attributes(box).entity : (obb_str){0};
    if (entity.length != 0)
        wire_out_string(out, entity);
    else
        wire_out_null(out);
}

static void put_pose_of(struct wire_out *out, const struct obb_view *view,
                        const struct obb_version *box)
{
    if (box == NULL) {
        wire_out_null(out);
        return;
    }
    const obb_box pose = obb_view_pose(view, box);
    const wire_out_scope object = wire_out_object(out);
    wire_put_pose(out, &pose, obb_view_info_get(view)->dimensions);
    wire_put_local(out, box, obb_view_info_get(view)->dimensions);
    wire_out_object_end(out, object);
}

/* Writes the additions of one box: data and entity if it has them, and its pose. */
static void put_box_additions(struct wire_out *out, const struct obb_view *view,
                              const obb_query *query, const struct obb_version *box)
{
    const obb_attributes attributes = obb_view_attributes(box);
    if ((query->want & OBB_WANT_DATA) && attributes.data.length != 0) {
        wire_out_key(out, "data");
        wire_out_data(out, attributes.data);
    }
    if ((query->want & OBB_WANT_ENTITY) && attributes.entity.length != 0) {
        wire_out_key(out, "entity");
        wire_out_string(out, attributes.entity);
    }
    if (query->want & OBB_WANT_POSE) {
        wire_out_key(out, "pose");
        put_pose_of(out, view, box);
    }
}

/* Writes the additions of two boxes as arrays of two. An element is null if the box has none, or if
 * it is not stored (NULL). */
static void put_pair_additions(struct wire_out *out, const struct obb_view *view,
                               const obb_query *query, const struct obb_version *a,
                               const struct obb_version *b)
{
    if (query->want & OBB_WANT_DATA) {
        wire_out_key(out, "data");
        wire_out_array(out, 2);
        put_data(out, a);
        put_data(out, b);
        wire_out_array_end(out);
    }
    if (query->want & OBB_WANT_ENTITY) {
        wire_out_key(out, "entity");
        wire_out_array(out, 2);
        put_entity(out, a);
        put_entity(out, b);
        wire_out_array_end(out);
    }
    if (query->want & OBB_WANT_POSE) {
        wire_out_key(out, "pose");
        wire_out_array(out, 2);
        put_pose_of(out, view, a);
        put_pose_of(out, view, b);
        wire_out_array_end(out);
    }
}

/* ---- Answers to single items ----------------------------------------------------------------- */

static void put_missing(struct wire_out *out, const obb_answer *answer)
{
    wire_out_key(out, "missing");
    wire_out_array(out, answer->missing_count);
    for (size_t i = 0; i < answer->missing_count; i++) {
        const obb_ref *ref = answer->missing[i];
        if (ref->kind == OBB_REF_ID)
            wire_out_integer(out, ref->id);
        else /* of a box that is written in a frame, the frame is missing */
            wire_out_string(out, ref->kind == OBB_REF_FRAMED ? ref->framed->frame : ref->name);
    }
    wire_out_array_end(out);
}

static void put_pair_answer(struct wire_out *out, const struct obb_view *view,
                            const obb_query *query, const obb_answer *answer)
{
    wire_out_key(out, "overlap");
    wire_out_bool(out, answer->overlap);
    if (answer->details != NULL)
        put_details(out, query, answer->details);
    put_pair_additions(out, view, query, answer->pair[0], answer->pair[1]);
}

static void put_cut(struct wire_out *out, bool truncated, size_t count)
{
    wire_put_truncated(out, truncated);
    if (truncated)
        wire_put_count(out, "count", count);
}

static void put_hit(struct wire_out *out, const obb_query *query, const obb_hit *hit,
                    double max_distance)
{
    if (query->kind == OBB_QUERY_RAY) {
        wire_out_key(out, "distance");
        wire_put_derived_number(out, hit->distance);
    }
    if (query->kind == OBB_QUERY_SWEEP || isfinite(max_distance)) {
        wire_out_key(out, "fraction");
        wire_put_derived_number(out, hit->fraction);
    }
    wire_out_key(out, "point");
    wire_put_derived(out, hit->point, query->dimensions);
    wire_out_key(out, "normal");
    wire_put_derived(out, hit->normal, query->dimensions);
    if (hit->started_inside) {
        wire_out_key(out, query->kind == OBB_QUERY_RAY ? "started_inside" : "started_overlapping");
        wire_out_bool(out, true);
    }
}

static void put_hits(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                     size_t item, const obb_answer *answer)
{
    const double max_distance =
        query->kind == OBB_QUERY_RAY ? query->items.rays[item].max_distance : 0.0;
    wire_out_key(out, "hits");
    wire_out_array(out, answer->hit_count);
    for (size_t i = 0; i < answer->hit_count; i++) {
        const obb_hit *hit = &answer->hits[i];
        const wire_out_scope entry = wire_out_object(out);
        wire_out_key(out, "box");
        put_box_name(out, query, hit->box);
        put_hit(out, query, hit, max_distance);
        put_box_additions(out, view, query, hit->box);
        wire_out_object_end(out, entry);
    }
    wire_out_array_end(out);
    put_cut(out, answer->truncated, answer->count);
}

static void put_bare_boxes(struct wire_out *out, const obb_query *query, const obb_answer *answer)
{
    const size_t count = answer->hit_count;
    if (!query->by_id) {
        wire_out_array(out, count);
        for (size_t i = 0; i < count; i++)
            wire_out_string(out, obb_view_name(answer->hits[i].box));
        wire_out_array_end(out);
        return;
    }
    /* bare lists are in the order of ids, so the last id is the largest */
    wire_out_ids(out, count, count > 0 ? obb_view_id(answer->hits[count - 1].box) : 0);
    for (size_t i = 0; i < count; i++)
        wire_out_id(out, obb_view_id(answer->hits[i].box));
    wire_out_ids_end(out);
}

static void put_boxes(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                      const obb_answer *answer)
{
    const bool nearest = query->kind == OBB_QUERY_NEAREST;
    wire_out_key(out, "boxes");
    if (!nearest && query->want == 0) {
        put_bare_boxes(out, query, answer);
    } else {
        wire_out_array(out, answer->hit_count);
        for (size_t i = 0; i < answer->hit_count; i++) {
            const obb_hit *found = &answer->hits[i];
            const wire_out_scope entry = wire_out_object(out);
            wire_out_key(out, "box");
            put_box_name(out, query, found->box);
            if (nearest) {
                wire_out_key(out, "distance");
                wire_put_derived_number(out, found->distance);
                wire_out_key(out, "point");
                wire_put_derived(out, found->point, query->dimensions);
            }
            if (found->details != NULL)
                put_details(out, query, found->details);
            put_box_additions(out, view, query, found->box);
            wire_out_object_end(out, entry);
        }
        wire_out_array_end(out);
    }
    put_cut(out, answer->truncated, answer->count);
}

/* ---- Explanations ---------------------------------------------------------------------------- */

static void put_explanation(struct wire_out *out, const obb_query *query, const obb_explanation *e)
{
    static const char *const outcomes[] = {
        [OBB_OUTCOME_HIT] = "hit",       [OBB_OUTCOME_BEHIND] = "behind",
        [OBB_OUTCOME_MISSED] = "missed", [OBB_OUTCOME_FILTERED] = "filtered",
        [OBB_OUTCOME_ABSENT] = "absent", [OBB_OUTCOME_CUT] = "cut"};
    static const char *const reasons[] = {[OBB_FILTERED_NOT] = "",
                                          [OBB_FILTERED_BY_MASK] = "mask",
                                          [OBB_FILTERED_BY_CATEGORY] = "category",
                                          [OBB_FILTERED_BY_PREFIX] = "prefix",
                                          [OBB_FILTERED_BY_EXCLUDE] = "exclude",
                                          [OBB_FILTERED_BY_ENTITY] = "entity",
                                          [OBB_FILTERED_BY_SELF] = "self"};
    const wire_out_scope entry = wire_out_object(out);
    wire_out_key(out, "box");
    if (e->box != NULL)
        put_box_name(out, query, e->box);
    else if (e->asked->kind == OBB_REF_ID)
        wire_out_integer(out, e->asked->id);
    else
        wire_out_string(out, e->asked->name);
    wire_out_key(out, "verdict");
    wire_out_string(out, obb_str_of(outcomes[e->outcome]));
    if (e->outcome == OBB_OUTCOME_FILTERED) {
        wire_out_key(out, "by");
        wire_out_string(out, obb_str_of(reasons[e->by]));
    }
    if (e->outcome == OBB_OUTCOME_MISSED) {
        wire_out_key(out, "gap");
        wire_put_derived_number(out, e->gap);
        if (e->has_axis)
            put_axis(out, &e->axis, query->dimensions);
    }
    if (e->outcome == OBB_OUTCOME_BEHIND) {
        wire_out_key(out, "behind");
        put_box_name(out, query, e->behind);
    }
    wire_out_object_end(out, entry);
}

static void put_explanations(struct wire_out *out, const obb_query *query, const obb_answer *answer)
{
    if (answer->explain == NULL)
        return;
    wire_out_key(out, "explain");
    wire_out_array(out, query->explain_count);
    for (size_t i = 0; i < query->explain_count; i++)
        put_explanation(out, query, &answer->explain[i]);
    wire_out_array_end(out);
}

/* Writes the answer to an item. If the items have times of their own, the answer says its own. */
static void put_answer(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                       const obb_result *result, size_t item)
{
    const obb_answer *answer = &result->answers[item];
    const wire_out_scope object = wire_out_object(out);
    if (result->views != NULL) {
        view = result->views[item];
        wire_put_at(out, view);
    }
    if (answer->missing_count > 0)
        put_missing(out, answer);
    else if (query->kind == OBB_QUERY_PAIRS)
        put_pair_answer(out, view, query, answer);
    else if (query->kind == OBB_QUERY_RAY || query->kind == OBB_QUERY_SWEEP)
        put_hits(out, view, query, item, answer);
    else
        put_boxes(out, view, query, answer);
    put_explanations(out, query, answer);
    wire_out_object_end(out, object);
}

/* ---- All pairs ------------------------------------------------------------------------------- */

/* Writes one pair as a value. */
static void put_pair(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                     const obb_result *result, size_t i)
{
    wire_out_scope object = {0};
    if (query->want != 0) {
        object = wire_out_object(out);
        wire_out_key(out, "pair");
    }
    if (query->by_id) {
        wire_out_array(out, 2);
        wire_out_integer(out, obb_result_id(result, i, false));
        wire_out_integer(out, obb_result_id(result, i, true));
        wire_out_array_end(out);
    } else {
        wire_out_strings(out, obb_view_name(result->pairs[i].a), obb_view_name(result->pairs[i].b));
    }
    if (query->want != 0) {
        if (result->pair_details != NULL)
            put_details(out, query, &result->pair_details[i]);
        put_pair_additions(out, view, query, result->pairs[i].a, result->pairs[i].b);
        wire_out_object_end(out, object);
    }
}

/* A name is three dependent loads away from its pair, an id two. Gathering many of them ahead lets
 * the memory serve the loads in parallel. */
enum { AHEAD = 32 };

/* Returns a number that no id of the listed pairs is above. If it needs more than 32 bits, it is
 * the largest of them, or 0 if there are none. */
static uint64_t largest_id(const obb_result *result)
{
    if (result->ids_below <= UINT32_MAX)
        return result->ids_below;
    uint64_t largest = 0;
    if (result->pair_ranks == NULL) {
        for (size_t i = 0; i < result->pair_count; i++) {
            const uint64_t id = obb_view_id(result->pairs[i].b);
            largest = id > largest ? id : largest;
        }
        return largest;
    }
    for (size_t i = 0; i < result->pair_count; i++) {
        const uint32_t rank = (uint32_t)result->pair_ranks[i];
        largest = rank > largest ? rank : largest;
    }
    return result->pair_count > 0 ? result->rank_base + largest : 0;
}

static void put_flat_ids(struct wire_out *out, const obb_result *result)
{
    uint64_t ids[AHEAD][2];
    wire_out_ids(out, 2 * result->pair_count, out->cbor ? largest_id(result) : 0);
    if (result->pair_ranks != NULL) {
        wire_out_id_pairs(out, result->rank_base, result->pair_ranks, result->pair_count);
        wire_out_ids_end(out);
        return;
    }
    for (size_t i = 0; i < result->pair_count; i += AHEAD) {
        const size_t left = result->pair_count - i, count = left < AHEAD ? left : AHEAD;
        for (size_t j = 0; j < count; j++) {
            ids[j][0] = obb_view_id(result->pairs[i + j].a);
            ids[j][1] = obb_view_id(result->pairs[i + j].b);
        }
        wire_out_ids_part(out, &ids[0][0], 2 * count);
    }
    wire_out_ids_end(out);
}

static void put_name_pairs(struct wire_out *out, const obb_result *result)
{
    obb_str names[AHEAD][2];
    wire_out_array(out, result->pair_count);
    for (size_t i = 0; i < result->pair_count; i += AHEAD) {
        const size_t left = result->pair_count - i, count = left < AHEAD ? left : AHEAD;
        for (size_t j = 0; j < count; j++) {
            names[j][0] = obb_view_name(result->pairs[i + j].a);
            names[j][1] = obb_view_name(result->pairs[i + j].b);
            __builtin_prefetch(names[j][0].bytes);
            __builtin_prefetch(names[j][1].bytes);
        }
        for (size_t j = 0; j < count; j++)
            wire_out_strings(out, names[j][0], names[j][1]);
    }
    wire_out_array_end(out);
}

static void put_all_pairs(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                          const obb_result *result)
{
    wire_out_key(out, "count");
    wire_out_integer(out, result->count);
    if (query->count_only)
        return;
    wire_out_key(out, "pairs");
    if (query->by_id && query->want == 0) {
        put_flat_ids(out, result);
    } else if (query->want == 0) {
        put_name_pairs(out, result);
    } else {
        wire_out_array(out, result->pair_count);
        for (size_t i = 0; i < result->pair_count; i++)
            put_pair(out, view, query, result, i);
        wire_out_array_end(out);
    }
    wire_put_truncated(out, result->truncated);
}

/* ---- The face -------------------------------------------------------------------------------- */

void wire_put_tag(struct wire_out *out, const obb_query *query)
{
    if (!query->has_tag)
        return;
    wire_out_key(out, "tag");
    wire_out_string(out, query->tag);
}

static void put_with(struct wire_out *out, const obb_query *query)
{
    if (query->with == NULL)
        return;
    wire_out_key(out, "with");
    wire_out_bool(out, true);
}

void wire_put_result(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                     const obb_result *result)
{
    wire_put_tag(out, query);
    put_with(out, query);
    if (query->has_at)
        wire_put_at(out, view);
    if (query->kind == OBB_QUERY_ALL_PAIRS) {
        put_all_pairs(out, view, query, result);
        return;
    }
    if (query->columns) {
        wire_put_columns(out, query, result);
        return;
    }
    wire_out_key(out, "results");
    wire_out_array(out, result->answer_count);
    for (size_t i = 0; i < result->answer_count; i++)
        put_answer(out, view, query, result, i);
    wire_out_array_end(out);
}

void wire_write_result(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                       const obb_query *query, const obb_result *result)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_now(&out, view);
    wire_put_result(&out, view, query, result);
    wire_out_object_end(&out, object);
}

void wire_write_pair_lines(struct wire_buf *buf, const struct obb_view *view,
                           const obb_query *query, const obb_result *result, size_t from, size_t to)
{
    struct wire_out out = wire_out_json(buf);
    for (size_t i = from; i < to; i++) {
        put_pair(&out, view, query, result, i);
        wire_buf_append(buf, "\n", 1);
        out.comma = false;
    }
}

void wire_write_pair_end(struct wire_buf *buf, const struct obb_view *view, const obb_query *query,
                         uint64_t count, bool truncated)
{
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    wire_out_key(&out, "count");
    wire_out_integer(&out, count);
    wire_put_now(&out, view);
    wire_put_tag(&out, query);
    put_with(&out, query);
    if (query->has_at)
        wire_put_at(&out, view);
    wire_put_truncated(&out, truncated);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}
