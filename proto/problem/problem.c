#include "proto/problem/problem.h"

#include <assert.h>
#include <stddef.h>

/* Seconds. If a queue or memory stays full for longer, a longer wait does not help either. */
enum { RETRY_AFTER = 1 };

struct row {
    int status, retry_after;
    const char *name, *sentence;
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
        return 404;
    case OBB_DIMENSIONS:
    case OBB_TIME_BACKWARDS:
        return 409;
    case OBB_GONE:
        return 410;
    case OBB_REVISION:
        return 412;
    case OBB_LIMIT:
        return 413;
    }
    return 500;
}

static const struct row wire_rows[] = {
#define ROW(id, status, name, sentence) {status, 0, name, sentence},
    WIRE_CAUSE_TABLE(ROW)
#undef ROW
};

static const struct row http_rows[] = {
    {400, 0, "bad-request", "the request is not valid"},
    {401, 0, "unauthorized", "this needs a valid token"},
    {403, 0, "forbidden", "this is not allowed"},
    {404, 0, "not-found", "there is nothing at this path"},
    {405, 0, "method-not-allowed", "this path does not take this method"},
    {406, 0, "not-acceptable", "no media type that is accepted can be given"},
    {413, 0, "too-large", "the body is larger than this service takes"},
    {415, 0, "unsupported-media-type", "the body's content type is missing or not one of ours"},
    {429, RETRY_AFTER, "too-many-requests", "this client sends more than its rate"},
    {500, 0, "internal", "the service is at fault"},
    {503, RETRY_AFTER, "unavailable", "the service is overloaded or shutting down"},
};

static wire_problem problem_of_row(const struct row *row)
{
    return (wire_problem){.status = row->status,
                          .type = row->name,
                          .title = row->sentence,
                          .retry_after = row->retry_after};
}

wire_problem wire_problem_of(obb_status status)
{
    const int http = status_of_core(status);
    wire_problem problem =
        problem_of_row(&(struct row){.status = http,
                                     .retry_after = http == 503 ? RETRY_AFTER : 0,
                                     .name = obb_status_name(status),
                                     .sentence = obb_status_sentence(status)});
    /* the limit of scenes; wire_problem_of_edit names the limit of boxes */
    if (status == OBB_LIMIT)
        problem.detail = "there are as many scenes as --scene-limit allows";
    return problem;
}

wire_problem wire_problem_of_cause(wire_cause cause)
{
    if (cause < WIRE_MALFORMED)
        return wire_problem_of((obb_status)cause);
    return problem_of_row(&wire_rows[cause - WIRE_MALFORMED]);
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
