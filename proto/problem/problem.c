#include "proto/problem/problem.h"

#include "proto/problem/detail.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Seconds. If a queue or memory stays full for longer, a longer wait does not help either. */
enum { RETRY_AFTER = 1 };

struct row {
    int status, retry_after;
    const char *name, *sentence, *rule;
};

/* Returns the HTTP status of a status of core. */
static int status_of_core(obb_status status)
{
    switch (status) {
    case OBB_OK:
        return 200;
    case OBB_NO_MEMORY:
    case OBB_CANCELLED:
        return 503;
    case OBB_BAD_NUMBER:
    case OBB_BAD_EXTENT:
    case OBB_BAD_ROTATION:
    case OBB_NOT_ORTHONORMAL:
    case OBB_SHEARED:
    case OBB_SINGULAR:
    case OBB_NOT_A_BOX:
    case OBB_BAD_COUNT:
    case OBB_BAD_NAME:
    case OBB_BAD_VALUE:
        return 422;
    case OBB_NO_SCENE:
    case OBB_NO_BOX:
    case OBB_NO_FRAME:
        return 404;
    case OBB_FRAMED:
    case OBB_DIMENSIONS:
    case OBB_TIME_BACKWARDS:
        return 409;
    case OBB_GONE:
        return 410;
    case OBB_REVISION:
        return 412;
    case OBB_LIMIT:
    case OBB_SCENE_MEMORY:
        return 413;
    }
    return 500;
}

/* Returns what a status of core allows, for the detail. */
static const char *rule_of_core(obb_status status)
{
    switch (status) {
    case OBB_OK:
        break;
    case OBB_NO_MEMORY:
        return "all memory is in use, and the request may be sent again";
    case OBB_CANCELLED:
        return "the work was given up, and the request may be sent again";
    case OBB_BAD_NUMBER:
        return "a number is finite, and coordinates and lengths are at most 1e9 in magnitude";
    case OBB_BAD_EXTENT:
        return "a half extent, a radius or a distance is 0 to 1e9";
    case OBB_BAD_ROTATION:
        return "a quaternion or an axis has a length of at least 1e-6";
    case OBB_NOT_ORTHONORMAL:
        return "axes are perpendicular and of length 1, within 1e-6";
    case OBB_SHEARED:
        return "a box stays a box, so it is sheared by at most 1e-6";
    case OBB_SINGULAR:
        return "at least two axes of a box keep a length";
    case OBB_NOT_A_BOX:
        return "corners form a box, within 1e-6 of its size";
    case OBB_BAD_COUNT:
        return "another number of elements is needed here";
    case OBB_BAD_NAME:
        return "a name is 1 to 128 bytes of UTF-8 without control characters, and neither \".\" "
               "nor \"..\"";
    case OBB_BAD_VALUE:
        return "another value is needed here";
    case OBB_NO_SCENE:
        return "the scene is not there";
    case OBB_NO_BOX:
        return "the box is not there";
    case OBB_NO_FRAME:
        return "the frame is not there";
    case OBB_FRAMED:
        return "a box in a frame moves with it, or by a pose in it";
    case OBB_DIMENSIONS:
        return "a request has the dimensions of its scene";
    case OBB_TIME_BACKWARDS:
        return "a time is not before that of the last commit";
    case OBB_GONE:
        return "a state is kept as long as the history of its scene says";
    case OBB_REVISION:
        return "a condition asks for the present revision";
    case OBB_LIMIT:
        return "the service is full";
    case OBB_SCENE_MEMORY:
        return "a commit that makes the scene smaller always has room";
    }
    return "the request was not carried out";
}

static const struct row wire_rows[] = {
#define ROW(id, status, name, sentence, rule) {status, 0, name, sentence, rule},
    WIRE_CAUSE_TABLE(ROW)
#undef ROW
};

static const struct row http_rows[] = {
    {400, 0, "bad-request", "the request is not valid", NULL},
    {401, 0, "unauthorized", "this needs a valid token", NULL},
    {403, 0, "forbidden", "this is not allowed", NULL},
    {404, 0, "not-found", "there is nothing at this path", NULL},
    {405, 0, "method-not-allowed", "this path does not take this method", NULL},
    {406, 0, "not-acceptable", "no media type that is accepted can be given", NULL},
    {413, 0, "too-large", "the request is larger than this service takes", NULL},
    {415, 0, "unsupported-media-type", "the body's content type is missing or not one of ours",
     NULL},
    {429, RETRY_AFTER, "too-many-requests", "this client sends more than its rate", NULL},
    {500, 0, "internal", "the service is at fault", NULL},
    {503, RETRY_AFTER, "unavailable", "the service is overloaded or shutting down", NULL},
    {507, 0, "insufficient-storage", "the disk of the journal is full", NULL},
};

static wire_problem problem_of_row(const struct row *row)
{
    return (wire_problem){.status = row->status,
                          .type = row->name,
                          .title = row->sentence,
                          .detail = row->rule,
                          .retry_after = row->retry_after};
}

wire_problem wire_problem_of(obb_status status)
{
    const int http = status_of_core(status);
    return problem_of_row(&(struct row){.status = http,
                                        .retry_after = http == 503 ? RETRY_AFTER : 0,
                                        .name = obb_status_name(status),
                                        .sentence = obb_status_sentence(status),
                                        .rule = rule_of_core(status)});
}

wire_problem wire_problem_of_cause(wire_cause cause)
{
    if (cause < WIRE_MALFORMED)
        return wire_problem_of((obb_status)cause);
    return problem_of_row(&wire_rows[cause - WIRE_MALFORMED]);
}

wire_problem wire_problem_of_name(obb_status status, obb_str name, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(status);
    const struct wire_shown shown = wire_show(name);
    assert(status == OBB_BAD_NAME || status == OBB_NO_SCENE || status == OBB_NO_BOX ||
           status == OBB_NO_FRAME);
    problem.detail = status == OBB_BAD_NAME
                         ? wire_detail(arena, "found %s; %s", shown.text, problem.detail)
                         : wire_detail(arena, "there is no %s %s",
                                       status == OBB_NO_SCENE ? "scene"
                                       : status == OBB_NO_BOX ? "box"
                                                              : "frame",
                                       shown.text);
    return problem;
}

/* Returns how a detail names the state. */
static const char *show_at(const obb_at *at, struct obb_arena *arena)
{
    static const char *const names[] = {
        [OBB_AT_REVISION] = "revision", [OBB_AT_TIME] = "time", [OBB_AT_AGO] = "ago"};
    if (at->kind == OBB_AT_NOW)
        return "the present";
    const double asked = at->kind == OBB_AT_REVISION ? (double)at->revision : at->time;
    return wire_detail(arena, "%s %s", names[at->kind], wire_show_number(asked).text);
}

wire_problem wire_problem_of_gone(const obb_at *at, obb_moment oldest, obb_moment newest,
                                  struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_GONE);
    problem.has_range = true;
    problem.oldest = oldest;
    problem.newest = newest;
    problem.detail = wire_detail(
        arena, "found %s; kept are the revisions %" PRIu64 " to %" PRIu64 ", of the times %s to %s",
        show_at(at, arena), oldest.revision, newest.revision, wire_show_number(oldest.time).text,
        wire_show_number(newest.time).text);
    return problem;
}

wire_problem wire_problem_of_revision(const uint64_t *found, obb_str asked, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_REVISION);
    const struct wire_shown shown = wire_show(asked);
    const int length = (int)strlen(shown.text) - 2; /* entity tags have quotes of their own */
    const char *const text = shown.text + 1;
    problem.detail =
        found == NULL
            ? wire_detail(arena, "found no scene; the condition asks for %.*s", length, text)
            : wire_detail(arena,
                          "found the scene at revision %" PRIu64 "; the condition asks for %.*s",
                          *found, length, text);
    return problem;
}

wire_problem wire_problem_of_if_box(obb_str name, uint64_t changed, uint64_t asked,
                                    struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_REVISION);
    const struct wire_shown shown = wire_show(name);
    if (changed == 0)
        problem.detail =
            wire_detail(arena,
                        "found no box %s; the condition asks for one that was last changed "
                        "by revision %" PRIu64 " or before",
                        shown.text, asked);
    else if (asked == 0)
        problem.detail = wire_detail(
            arena, "found the box %s; the condition asks that there is none", shown.text);
    else if (changed <= asked)
        problem.detail = wire_detail(arena,
                                     "found revision %" PRIu64
                                     ", which the scene has not reached; the box %s was last "
                                     "changed by revision %" PRIu64,
                                     asked, shown.text, changed);
    else
        problem.detail = wire_detail(arena,
                                     "found the box %s changed by revision %" PRIu64
                                     "; the condition asks for no change after revision %" PRIu64,
                                     shown.text, changed, asked);
    return problem;
}

wire_problem wire_problem_of_box_match(obb_str name, uint64_t changed, uint64_t present,
                                       obb_str asked, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_REVISION);
    const struct wire_shown shown = wire_show(asked);
    problem.detail = wire_detail(arena,
                                 "found the box %s as of the revisions %" PRIu64 " to %" PRIu64
                                 "; the condition asks for %.*s",
                                 wire_show(name).text, changed, present,
                                 (int)strlen(shown.text) - 2, shown.text + 1);
    return problem;
}

wire_problem wire_problem_of_presence(const char *kind, obb_str name, bool is_there,
                                      struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_REVISION);
    problem.detail = is_there ? wire_detail(arena, "found the %s %s, which If-None-Match rules out",
                                            kind, wire_show(name).text)
                              : wire_detail(arena, "found no %s %s; If-Match asks for one", kind,
                                            wire_show(name).text);
    return problem;
}

wire_problem wire_problem_of_taken_scene(obb_str name, struct obb_arena *arena)
{
    static const struct row row = {409, 0, "scene-exists", "a scene of this name is there already",
                                   NULL};
    wire_problem problem = problem_of_row(&row);
    problem.pointer = "/to";
    problem.detail = wire_detail(
        arena, "found the scene %s, whose place a copy takes only if \"replace\" is true",
        wire_show(name).text);
    return problem;
}

wire_problem wire_problem_of_commit_id(obb_str id, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_BAD_VALUE);
    problem.pointer = "/id";
    problem.detail = wire_detail(arena,
                                 "found %s, the id of an earlier commit, which had other puts, "
                                 "poses, transforms or frames; a commit is repeated as it was, in "
                                 "any order",
                                 wire_show(id).text);
    return problem;
}

wire_problem wire_problem_of_durable(bool durable, bool exists, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_BAD_VALUE);
    problem.pointer = "/durable";
    problem.detail = exists ? wire_detail(arena,
                                          "found %s; the scene was made with %s, which stays as "
                                          "it is as long as the scene is there",
                                          durable ? "false" : "true", durable ? "true" : "false")
                            : "found true; this service keeps no journal, so scenes are in memory "
                              "alone (--data)";
    return problem;
}

wire_problem wire_problem_of_epoch(uint64_t found, uint64_t asked, struct obb_arena *arena)
{
    static const struct row row = {
        412, 0, "epoch", "the scene is of another epoch than the condition asks for", NULL};
    wire_problem problem = problem_of_row(&row);
    problem.detail =
        found == 0
            ? wire_detail(arena, "found no scene; the condition asks for the epoch %016" PRIx64,
                          asked)
            : wire_detail(arena,
                          "found the epoch %016" PRIx64 "; the condition asks for %016" PRIx64,
                          found, asked);
    return problem;
}

wire_problem wire_problem_of_dimensions(int has, int sent, struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_DIMENSIONS);
    problem.detail = wire_detail(
        arena,
        "found %d dimensions; the scene has %d, which may change while it has no box and no frame",
        sent, has);
    return problem;
}

wire_problem wire_problem_of_past_dimensions(const obb_at *at, int has, int sent,
                                             struct obb_arena *arena)
{
    if (at->kind == OBB_AT_NOW)
        return wire_problem_of_dimensions(has, sent, arena);
    wire_problem problem = wire_problem_of(OBB_DIMENSIONS);
    problem.detail = wire_detail(arena, "found %s, which has %d dimensions; the query has %d",
                                 show_at(at, arena), has, sent);
    return problem;
}

wire_problem wire_problem_of_limit(const char *what, uint64_t limit, const char *option,
                                   struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_LIMIT);
    problem.detail =
        wire_detail(arena, "there are at most %" PRIu64 " %s (%s)", limit, what, option);
    return problem;
}

wire_problem wire_problem_of_scene_memory(size_t bytes, size_t free_bytes, size_t limit,
                                          struct obb_arena *arena)
{
    wire_problem problem = wire_problem_of(OBB_SCENE_MEMORY);
    problem.detail = wire_detail(arena,
                                 "found a commit of about %zu bytes; %zu of %zu bytes are free "
                                 "(--scene-memory), and a commit that makes the scene smaller "
                                 "always has room",
                                 bytes, free_bytes, limit);
    return problem;
}

wire_problem wire_problem_http(int status, const char *detail)
{
    for (size_t i = 0; i < sizeof http_rows / sizeof *http_rows; i++)
        if (http_rows[i].status == status) {
            wire_problem problem = problem_of_row(&http_rows[i]);
            problem.detail = detail;
            return problem;
        }
    assert(false && "a status without a row");
    return wire_problem_http(500, detail);
}
