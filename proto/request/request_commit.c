#include "proto/request/request_commit.h"

#include "proto/request/edit_groups_body.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/request_query.h"
#include "proto/request/request_query_body.h"
#include "proto/request/value.h"

#include <stddef.h>

/* In the order of application, in which the first fault counts. */
enum commit_field {
    ID,
    TIME,
    RESTART,
    IF_REVISION,
    IF_BOX,
    IGNORE_MISSING,
    DRY_RUN,
    GROUPS, /* the first of the groups of changes */
    QUERIES = GROUPS + WIRE_GROUPS,
    COMMIT_FIELDS
};

static const obb_str commit_fields[COMMIT_FIELDS] = {
    [ID] = WIRE_FIELD("id"),
    [TIME] = WIRE_FIELD("time"),
    [RESTART] = WIRE_FIELD("restart"),
    [IF_REVISION] = WIRE_FIELD("if_revision"),
    [IF_BOX] = WIRE_FIELD("if_box"),
    [IGNORE_MISSING] = WIRE_FIELD("ignore_missing"),
    [DRY_RUN] = WIRE_FIELD("dry_run"),
    [GROUPS + WIRE_GROUP_REMOVE] = WIRE_FIELD("remove"),
    [GROUPS + WIRE_GROUP_REMOVE_FRAMES] = WIRE_FIELD("remove_frames"),
    [GROUPS + WIRE_GROUP_FRAMES] = WIRE_FIELD("frames"),
    [GROUPS + WIRE_GROUP_PUT] = WIRE_FIELD("put"),
    [GROUPS + WIRE_GROUP_POSE] = WIRE_FIELD("pose"),
    [GROUPS + WIRE_GROUP_TRANSFORM] = WIRE_FIELD("transform"),
    [QUERIES] = WIRE_FIELD("queries"),
};

/* ---- Queries --------------------------------------------------------------------------------- */

/* Writes moment i of the edit for query i: if core finds a fault with a moment, the query of that
 * index is at fault. */
static bool need_moments(struct wire_cursor *c, wire_commit *commit)
{
    const size_t count = commit->query_count;
    obb_needed_moment *moments = obb_arena_alloc(c->arena, count, sizeof *moments);
    if (moments == NULL) {
        commit->query_count = 0; /* an earlier fault may be told, and the entries before it used */
        return wire_fail_memory(c);
    }
    for (size_t i = 0; i < count; i++) {
        const obb_query *query = &commit->queries[i];
        moments[i] = obb_query_moments(query);
        if (query->with != NULL) {
            const size_t views = obb_query_views(query);
            commit->edit.with_entries += views * (1 + obb_edit_entries(query->with));
            if (query->with->remove_frame_count + query->with->frame_count > 0)
                commit->edit.with_frames += views;
        }
        if (query->has_tag && !commit->has_tag) {
            commit->has_tag = true;
            commit->tag = query->tag;
        }
    }
    commit->edit.moments = moments;
    commit->edit.moment_count = count;
    return true;
}

static bool read_queries(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    struct wire_list list;
    if (!wire_list_begin_limited(&list, c, sizeof(obb_query), WIRE_COMMIT_QUERIES,
                                 "a commit takes at most 100,000 queries"))
        return false;
    size_t whole = 0;
    bool flawed = false;
    for (; wire_next_item(c); whole++) {
        obb_query *query = wire_list_add(&list);
        if (query == NULL || !wire_read_query_object(c, NULL, dimensions, query)) {
            flawed = query != NULL && query->with != NULL;
            break;
        }
    }
    commit->queries = (const obb_query *)(const void *)list.items;
    commit->query_count = whole + flawed;
    commit->has_flawed = flawed;
    return need_moments(c, commit) && !c->failed;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

/* After a fault, the edit holds the conditions that come before it. */
static bool read_if_boxes(struct wire_cursor *c, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_if_box));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_if_box *condition = wire_list_add(&list);
        double revision;
        if (condition == NULL || !wire_read_whole(c, 0, OBB_MAX_WHOLE, &revision))
            break;
        *condition = (obb_if_box){.target = {.name = name}, .revision = (uint64_t)revision};
    }
    edit->if_boxes = (const obb_if_box *)(const void *)list.items;
    edit->if_box_count = whole;
    return wire_names_differ(&list, place, offsetof(obb_if_box, target.name));
}

/* ---- The commit ------------------------------------------------------------------------------ */

static bool read_id(struct wire_cursor *c, obb_str *out)
{
    const size_t place = wire_place(c);
    if (!wire_read_string(c, out))
        return false;
    static const char rule[] = "an id of a commit has 1 to 64 bytes";
    if (out->length == 0)
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, rule);
    return out->length <= WIRE_COMMIT_ID ||
           wire_fail_item(c, WIRE_TOO_LONG, place, WIRE_ITS_TEXT, rule);
}

static bool read_field(void *context, struct wire_cursor *c, int field)
{
    wire_commit *commit = context;
    obb_edit *edit = &commit->edit;
    double whole;
    switch (field) {
    case ID:
        return read_id(c, &commit->id);
    case TIME:
        return edit->has_time = wire_read_real(c, WIRE_TIME, &edit->time);
    case RESTART:
        return wire_read_bool(c, &edit->restart);
    case IF_REVISION:
        edit->has_if_revision = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
        if (edit->has_if_revision)
            edit->if_revision = (uint64_t)whole;
        return edit->has_if_revision;
    case IF_BOX:
        return read_if_boxes(c, edit);
    case IGNORE_MISSING:
        return wire_read_bool(c, &edit->ignore_missing);
    case DRY_RUN:
        return wire_read_bool(c, &commit->dry_run);
    case QUERIES:
        return read_queries(c, edit->dimensions, commit);
    default:
        return wire_read_group(c, (enum wire_group)(field - GROUPS), edit, &commit->form);
    }
}

/* Keeps only what is applied before the fault in that field: the groups before it, and of the group
 * itself the entries that were read. */
static void keep_before(int field, wire_commit *commit)
{
    obb_edit *edit = &commit->edit;
    commit->id.length = 0; /* a commit with a fault is not remembered */
    edit->has_time = edit->has_time && TIME < field;
    edit->restart = edit->restart && RESTART < field;
    edit->has_if_revision = edit->has_if_revision && IF_REVISION < field;
    edit->if_box_count = IF_BOX <= field ? edit->if_box_count : 0;
    wire_keep_groups(edit, field - GROUPS);
    commit->query_count = QUERIES <= field ? commit->query_count : 0;
    commit->has_flawed = commit->has_flawed && QUERIES <= field;
    edit->moment_count = commit->query_count;
}

static bool read_commit(struct wire_cursor *c, wire_commit *commit, int *out_fault_field)
{
    struct wire_object o;
    *out_fault_field = TIME;
    if (!wire_object_enter(&o, c, commit_fields, COMMIT_FIELDS))
        return false;
    const bool good = wire_read_in_order(&o, read_field, commit, out_fault_field);
    if (!commit->edit.restart || wire_object_has(&o, TIME) || (!good && *out_fault_field < RESTART))
        return good;
    *out_fault_field = RESTART; /* comes before the faults of later fields */
    c->failed = false;
    return wire_fail_at(c, WIRE_MISSING_FIELD, o.where[RESTART],
                        "\"time\" is missing; a commit that restarts the clock states it");
}

bool wire_read_commit(const wire_body *body, int dimensions, struct obb_arena *arena,
                      wire_commit *out, wire_problem *problem)
{
    struct wire_cursor c;
    int fault_field;
    *out = (wire_commit){.edit = {.dimensions = dimensions}};
    wire_body_open(&c, body, arena);
    const bool good = wire_body_close(&c, read_commit(&c, out, &fault_field), problem);
    if (good)
        return true;
    keep_before(fault_field, out);
    if (fault_field == QUERIES && problem->status == 422)
        problem->has_tag =
            wire_find_tag(body, out->query_count - out->has_flawed, arena, &problem->tag);
    return false;
}
