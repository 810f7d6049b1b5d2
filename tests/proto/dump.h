/* Decoded requests as text, every bit of every number, so that two decodings can be compared. */
#ifndef TEST_PROTO_DUMP_H
#define TEST_PROTO_DUMP_H

#include "proto/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static inline void dump_str(FILE *out, obb_str text)
{
    (void)fprintf(out, "'");
    for (size_t i = 0; i < text.length; i++)
        (void)fprintf(out, text.bytes[i] > ' ' && text.bytes[i] < 0x7f ? "%c" : "\\%02x",
                      (unsigned char)text.bytes[i]);
    (void)fprintf(out, "'");
}

static inline void dump_vec(FILE *out, obb_vec3 v)
{
    (void)fprintf(out, "(%a %a %a)", v.x, v.y, v.z);
}

static inline void dump_box(FILE *out, const obb_box *box)
{
    dump_vec(out, box->center);
    dump_vec(out, box->half_extents);
    (void)fprintf(out, "(%a %a %a %a)%a", box->rotation.x, box->rotation.y, box->rotation.z,
                  box->rotation.w, box->angle);
}

static inline void dump_target(FILE *out, const obb_target *target)
{
    if (target->has_id)
        (void)fprintf(out, "#%" PRIu64, target->id);
    else
        dump_str(out, target->name);
}

static inline void dump_put(FILE *out, const obb_put *put)
{
    dump_target(out, &put->target);
    (void)fprintf(out, " parts %u ", put->parts);
    dump_box(out, &put->box);
    (void)fprintf(out, " %" PRIu32 " %" PRIu32 " %" PRId32 " ", put->attributes.category,
                  put->attributes.mask, put->attributes.group);
    dump_str(out, put->attributes.entity);
    dump_str(out, put->attributes.data);
    (void)fprintf(out, "\n");
    if (put->frame.length > 0)
        dump_str(out, put->frame);
    if (put->attributes.has_ttl)
        (void)fprintf(out, " ttl %a", put->attributes.ttl);
}

static inline void dump_pose(FILE *out, const obb_pose *pose)
{
    dump_target(out, &pose->target);
    dump_vec(out, pose->center);
    (void)fprintf(out, "(%a %a %a %a)%a %d %d %d\n", pose->rotation.x, pose->rotation.y,
                  pose->rotation.z, pose->rotation.w, pose->angle, pose->has_center,
                  pose->has_rotation, pose->teleport);
}

static inline void dump_transform(FILE *out, const obb_transform_edit *change)
{
    const obb_transform *t = &change->transform;
    dump_target(out, &change->target);
    (void)fprintf(out, " %d %d %d %d ", t->has_matrix, t->has_translate, t->has_rotate,
                  t->has_scale);
    for (int i = 0; i < 16 && t->has_matrix; i++)
        (void)fprintf(out, "%a ", t->matrix[i]);
    dump_vec(out, t->translate);
    (void)fprintf(out, "(%a %a %a %a)%a", t->rotate.x, t->rotate.y, t->rotate.z, t->rotate.w,
                  t->angle);
    dump_vec(out, t->scale);
    (void)fprintf(out, " %d\n", t->local);
}

static inline void dump_ref(FILE *out, const obb_ref *ref)
{
    if (ref->kind == OBB_REF_NAME)
        dump_str(out, ref->name);
    else if (ref->kind == OBB_REF_ID)
        (void)fprintf(out, "#%" PRIu64, ref->id);
    else if (ref->kind == OBB_REF_FRAMED) {
        dump_str(out, ref->framed->frame);
        dump_box(out, &ref->framed->local);
    } else
        dump_box(out, ref->box);
    (void)fprintf(out, ";");
}

static inline void dump_edit(FILE *out, const obb_edit *e);

static inline void dump_query(FILE *out, const obb_query *q)
{
    (void)fprintf(out, "kind %d dimensions %d count %zu\n", (int)q->kind, q->dimensions, q->count);
    for (size_t i = 0; i < q->count; i++) {
        switch (q->kind) {
        case OBB_QUERY_PAIRS:
            dump_ref(out, &q->items.pairs[i][0]);
            dump_ref(out, &q->items.pairs[i][1]);
            break;
        case OBB_QUERY_OVERLAP:
            if (q->items.shapes[i].is_ref) {
                dump_ref(out, &q->items.shapes[i].ref);
            } else {
                const obb_shape *shape = q->items.shapes[i].shape;
                (void)fprintf(out, "shape %d", (int)shape->kind);
                if (shape->kind != OBB_SHAPE_FRUSTUM) {
                    dump_vec(out, shape->a);
                    (void)fprintf(out, "%a", shape->radius);
                }
                if (shape->kind == OBB_SHAPE_CAPSULE)
                    dump_vec(out, shape->b);
                for (int k = 0; k < 8 && shape->kind == OBB_SHAPE_FRUSTUM; k++)
                    dump_vec(out, shape->corners[k]);
            }
            break;
        case OBB_QUERY_POINT:
            dump_vec(out, q->items.points[i]);
            break;
        case OBB_QUERY_RAY:
            dump_vec(out, q->items.rays[i].origin);
            dump_vec(out, q->items.rays[i].direction);
            (void)fprintf(out, "%a", q->items.rays[i].max_distance);
            if (q->times != NULL)
                (void)fprintf(out, " time %a", q->times[i]);
            break;
        case OBB_QUERY_SWEEP:
            dump_ref(out, &q->items.sweeps[i].ref);
            dump_vec(out, q->items.sweeps[i].motion);
            break;
        case OBB_QUERY_NEAREST:
            if (q->of_boxes)
                dump_ref(out, &q->items.boxes[i]);
            else
                dump_vec(out, q->items.points[i]);
            break;
        case OBB_QUERY_ALL_PAIRS:
            break;
        }
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "%d mode %d inside %d k %zu %a want %u margin %a %d %d limit %zu\n",
                  q->of_boxes, (int)q->mode, (int)q->inside, q->k, q->max_distance, q->want,
                  q->margin, q->by_id, q->count_only, q->limit);
    (void)fprintf(out, "%s%s%s\n", q->columns ? "columns " : "", q->narrow ? "narrow " : "",
                  q->times != NULL ? "timed" : "");
    if (q->has_at || q->times != NULL)
        (void)fprintf(out, "at %d %" PRIu64 " %a %d %d\n", (int)q->at.kind, q->at.revision,
                      q->at.time, q->at.no_interpolation, q->at.clamp);
    if (q->has_explain)
        (void)fprintf(out, "explain %d ", q->explain_count);
    for (size_t i = 0; i < q->explain_count; i++)
        dump_ref(out, &q->explain[i]);
    if (q->with != NULL)
        dump_edit(out, q->with);
    if (q->has_tag)
        dump_str(out, q->tag);
    const obb_filter *f = &q->filter;
    (void)fprintf(out, "filter %d %" PRIu32 " %d %" PRIu32 " ", f->has_category, f->category,
                  f->has_mask, f->mask);
    for (size_t i = 0; i < f->exclude_count; i++)
        dump_str(out, f->exclude[i]);
    for (size_t i = 0; i < f->exclude_id_count; i++)
        (void)fprintf(out, "#%" PRIu64, f->exclude_ids[i]);
    for (size_t i = 0; i < f->exclude_entity_count; i++)
        dump_str(out, f->exclude_entities[i]);
    dump_str(out, f->prefix);
    (void)fprintf(out, "\n");
}

static inline void dump_edit(FILE *out, const obb_edit *e)
{
    (void)fprintf(out, "%d: %d %a %d %d %" PRIu64 " %d\n", e->dimensions, e->has_time, e->time,
                  e->restart, e->has_if_revision, e->if_revision, e->ignore_missing);
    for (size_t i = 0; i < e->if_box_count; i++)
        (void)fprintf(out, "if %.*s: %" PRIu64 "\n", (int)e->if_boxes[i].target.name.length,
                      e->if_boxes[i].target.name.bytes, e->if_boxes[i].revision);
    for (size_t i = 0; i < e->remove_count; i++)
        dump_target(out, &e->removes[i]);
    (void)fprintf(out, "\nframes ");
    for (size_t i = 0; i < e->remove_frame_count; i++)
        dump_str(out, e->remove_frames[i]);
    for (size_t i = 0; i < e->frame_count; i++)
        dump_pose(out, &e->frames[i]);
    (void)fprintf(out, "\n");
    obb_put put;
    for (size_t i = 0; i < e->put_count; i++)
        dump_put(out, obb_edit_put(e, i, &put));
    for (size_t i = 0; i < e->pose_count; i++)
        dump_pose(out, &e->poses[i]);
    for (size_t i = 0; i < e->transform_count; i++)
        dump_transform(out, &e->transforms[i]);
    for (size_t i = 0; i < e->moment_count; i++)
        (void)fprintf(out, "moment %d %d %" PRIu64 " %a of %zu\n", e->moments[i].dimensions,
                      (int)e->moments[i].at.kind, e->moments[i].at.revision, e->moments[i].at.time,
                      obb_needed_count(&e->moments[i]));
}

/* ---- Any request, by the name of its decoder ------------------------------------------------- */

typedef enum dump_route {
    DUMP_SETTINGS,
    DUMP_BOX,
    DUMP_PATCH,
    DUMP_TRANSFORM,
    DUMP_MERGE,
    DUMP_COMMIT,
    DUMP_QUERY, /* DUMP_QUERY + kind */
    DUMP_ROUTES = DUMP_QUERY + OBB_QUERY_KINDS,
    /* beyond the routes that corpora choose by their first byte */
    DUMP_COPY = DUMP_ROUTES,
    DUMP_FRAME,
    DUMP_LOG_HEAD,
    DUMP_LOG_FRAME,
    DUMP_LOG_BOX,
    DUMP_LOG_COMMIT,
    DUMP_ALL
} dump_route;

/* Returns the route that the first two bytes of an input choose. */
static inline int dump_route_of(const uint8_t *bytes)
{
    return bytes[1] / 16 == 13 ? DUMP_ROUTES + bytes[0] % (DUMP_ALL - DUMP_ROUTES)
                               : bytes[0] % DUMP_ROUTES;
}

static inline void dump_settings(FILE *out, const obb_settings *settings)
{
    (void)fprintf(out, "%d %a %" PRIu32 " %" PRIu32 "\n", settings->dimensions,
                  settings->history_span, settings->history_commits, settings->record);
}

static inline void dump_log_head(FILE *out, const wire_log_head *head)
{
    dump_str(out, head->scene);
    dump_settings(out, &head->settings);
    (void)fprintf(out, "%" PRIu64 " %a %zu %zu %" PRIu64 " %" PRIx64 " %" PRIx64 "\n",
                  head->moment.revision, head->moment.time, head->frames, head->boxes,
                  head->next_id, head->hash, head->exact);
}

static inline void dump_log_commit(FILE *out, const wire_log_commit *commit)
{
    dump_edit(out, &commit->edit);
    if (commit->edit.settings != NULL)
        dump_settings(out, commit->edit.settings);
    (void)fprintf(out, "%" PRIu64 " %a %" PRIx64 "\n", commit->moment.revision, commit->moment.time,
                  commit->hash);
}

/* Decodes the body. True: *out_text is the request; false: *out_problem is set, in the arena, and
 * *out_text is "status pointer". The caller frees the text. */
static inline bool dump_decode(int route, const wire_body *body, int dimensions,
                               struct obb_arena *arena, char **out_text, wire_problem *out_problem)
{
    wire_problem problem = {0};
    obb_settings settings = {.dimensions = 3, .history_span = 500, .history_commits = 64};
    static const obb_settings most = {.history_span = 1e7, .history_commits = 1000};
    wire_settings sent;
    union {
        obb_put put;
        obb_transform_edit change;
        obb_merge merge;
        wire_commit commit;
        obb_query query;
        wire_copy copy;
        obb_pose pose;
        wire_log_head head;
        wire_log_commit log;
    } u;
    const obb_str name = obb_str_of("name");
    size_t size = 0;
    FILE *out = open_memstream(out_text, &size);
    if (out == NULL)
        abort();
    bool good = false;
    switch (route) {
    case DUMP_SETTINGS:
        good = wire_read_settings(body, &most, arena, &sent, &problem);
        if (good)
            settings = wire_settings_over(&sent, settings);
        if (good)
            dump_settings(out, &settings);
        break;
    case DUMP_BOX:
    case DUMP_PATCH:
        good = wire_read_box(body, dimensions, route == DUMP_PATCH, name, arena, &u.put, &problem);
        if (good)
            dump_put(out, &u.put);
        break;
    case DUMP_TRANSFORM:
        good = wire_read_transform(body, dimensions, name, arena, &u.change, &problem);
        if (good)
            dump_transform(out, &u.change);
        break;
    case DUMP_MERGE:
        good = wire_read_merge(body, name, arena, &u.merge, &problem);
        for (size_t i = 0; good && i < u.merge.with_count; i++)
            dump_target(out, &u.merge.with[i]);
        break;
    case DUMP_COMMIT:
        good = wire_read_commit(body, dimensions, arena, &u.commit, &problem);
        if (good)
            dump_edit(out, &u.commit.edit);
        if (good)
            (void)fprintf(out, "%d %d ", u.commit.dry_run, u.commit.has_tag);
        for (size_t i = 0; good && i < u.commit.query_count; i++)
            dump_query(out, &u.commit.queries[i]);
        break;
    case DUMP_COPY:
        good = wire_read_copy(body, arena, &u.copy, &problem);
        if (good)
            dump_str(out, u.copy.to);
        if (good)
            (void)fprintf(out, " %d %d %d %" PRIu64 " %a\n", u.copy.has_at, u.copy.replace,
                          (int)u.copy.at.kind, u.copy.at.revision, u.copy.at.time);
        break;
    case DUMP_FRAME:
    case DUMP_LOG_FRAME:
        good = route == DUMP_FRAME
                   ? wire_read_frame(body, dimensions, name, arena, &u.pose, &problem)
                   : wire_read_log_frame(body, dimensions, arena, &u.pose, &problem);
        if (good)
            dump_pose(out, &u.pose);
        break;
    case DUMP_LOG_HEAD:
        good = wire_read_log_head(body, arena, &u.head, &problem);
        if (good)
            dump_log_head(out, &u.head);
        break;
    case DUMP_LOG_BOX:
        good = wire_read_log_box(body, dimensions, arena, &u.put, &problem);
        if (good)
            dump_put(out, &u.put);
        break;
    case DUMP_LOG_COMMIT:
        settings.dimensions = dimensions;
        good = wire_read_log_commit(body, &settings, arena, &u.log, &problem);
        if (good)
            dump_log_commit(out, &u.log);
        break;
    default:
        good = wire_read_query(body, (obb_query_kind)(route - DUMP_QUERY), dimensions, arena,
                               &u.query, &problem);
        if (good)
            dump_query(out, &u.query);
        break;
    }
    if (!good)
        (void)fprintf(out, "%d %s", problem.status,
                      problem.pointer != NULL ? problem.pointer : "none");
    (void)fclose(out);
    *out_problem = problem;
    return good;
}

/* The same without the problem itself. */
static inline bool dump_request(int route, const wire_body *body, int dimensions, char **out_text)
{
    struct obb_arena arena;
    wire_problem problem;
    obb_arena_init(&arena);
    const bool good = dump_decode(route, body, dimensions, &arena, out_text, &problem);
    obb_arena_fini(&arena);
    return good;
}

#endif
