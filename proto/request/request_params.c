#include "proto/request/request_params.h"

#include "proto/base/number.h"
#include "proto/problem/detail.h"
#include "proto/request/object.h"
#include "proto/request/request_query.h"
#include "proto/request/value.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_PAGE = 1000, LARGEST_PAGE = 10000, MOST_RATE = 1000 };

typedef enum param {
    INCLUDE,
    AT_TIME,
    AT_REVISION,
    LIMIT,
    CURSOR,
    PREFIX,
    ENTITY,
    TOPICS,
    CATEGORY,
    RATE,
    FROM,
    FOLLOW,
    TAG,
    HIT,
    BOX,
    REVISION,
    FRESH,
    PARAMS
} param;

static const obb_str names[PARAMS] = {
    [INCLUDE] = WIRE_FIELD("include"),
    [AT_TIME] = WIRE_FIELD("at_time"),
    [AT_REVISION] = WIRE_FIELD("at_revision"),
    [LIMIT] = WIRE_FIELD("limit"),
    [CURSOR] = WIRE_FIELD("cursor"),
    [PREFIX] = WIRE_FIELD("prefix"),
    [ENTITY] = WIRE_FIELD("entity"),
    [TOPICS] = WIRE_FIELD("topics"),
    [CATEGORY] = WIRE_FIELD("category"),
    [RATE] = WIRE_FIELD("rate"),
    [FROM] = WIRE_FIELD("from"),
    [FOLLOW] = WIRE_FIELD("follow"),
    [TAG] = WIRE_FIELD("tag"),
    [HIT] = WIRE_FIELD("hit"),
    [BOX] = WIRE_FIELD("box"),
    [REVISION] = WIRE_FIELD("revision"),
    [FRESH] = WIRE_FIELD("fresh"),
};

#define BIT(param) (1u << (param))

/* How new the state must be. */
#define FRESHNESS (BIT(REVISION) | BIT(FRESH))

static const char revision_rule[] = "a revision is a whole number from 0 to 2^53";

static bool refuse(wire_problem *problem, struct obb_arena *arena, obb_str found, const char *rule)
{
    *problem = wire_problem_of_cause(WIRE_BAD_QUERY_STRING);
    problem->detail = wire_detail(arena, "found %s; %s", wire_show(found).text, rule);
    return false;
}

/* Refuses a parameter that is not among those allowed. */
static bool refuse_param(wire_problem *problem, struct obb_arena *arena, obb_str found,
                         unsigned allowed)
{
    obb_str known[PARAMS];
    int count = 0;
    for (int p = 0; p < PARAMS; p++)
        if ((allowed & BIT(p)) != 0)
            known[count++] = names[p];
    *problem = wire_problem_of_cause(WIRE_BAD_QUERY_STRING);
    problem->detail =
        count == 0 ? wire_detail(arena, "found the parameter %s; none is known here",
                                 wire_show(found).text)
                   : wire_detail(arena, "found the parameter %s; the nearest known one is \"%s\"",
                                 wire_show(found).text, wire_nearest(found, known, count).bytes);
    return false;
}

/* Finds the values of the allowed parameters. *seen is the set of those that were sent. */
static bool collect(const wire_param *params, size_t count, unsigned allowed,
                    struct obb_arena *arena, obb_str values[static PARAMS], unsigned *seen,
                    wire_problem *problem)
{
    *seen = 0;
    for (size_t i = 0; i < count; i++) {
        int found = -1;
        for (int p = 0; p < PARAMS; p++)
            if ((allowed & BIT(p)) != 0 && obb_str_equal(names[p], params[i].key))
                found = p;
        if (found < 0)
            return refuse_param(problem, arena, params[i].key, allowed);
        if ((*seen & BIT(found)) != 0)
            return refuse(problem, arena, params[i].key, "a parameter is sent once");
        *seen |= BIT(found);
        values[found] = params[i].value;
    }
    return true;
}

static bool real(obb_str text, double *out)
{
    const char *end = text.bytes + text.length;
    return text.length > 0 && wire_number_read(text.bytes, end, out) == end && isfinite(*out);
}

/* Reads a number of digits only. */
static bool whole(obb_str text, double low, double high, double *out)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
    return real(text, out) && *out >= low && *out <= high;
}

static bool read_at(const obb_str values[static PARAMS], unsigned seen, struct obb_arena *arena,
                    bool *has_at, obb_at *at, wire_problem *problem)
{
    double number;
    *has_at = (seen & (BIT(AT_TIME) | BIT(AT_REVISION))) != 0;
    *at = (obb_at){.kind = OBB_AT_NOW};
    if ((seen & BIT(AT_TIME)) != 0 && (seen & BIT(AT_REVISION)) != 0)
        return refuse(problem, arena, names[AT_REVISION],
                      "at_time was sent, too, and one is enough");
    if ((seen & BIT(AT_TIME)) != 0) {
        if (!real(values[AT_TIME], &number) || wire_range_check(WIRE_TIME, number) != OBB_OK)
            return refuse(problem, arena, values[AT_TIME], wire_limits[WIRE_TIME].rule);
        *at = (obb_at){.kind = OBB_AT_TIME, .time = number};
    }
    if ((seen & BIT(AT_REVISION)) != 0) {
        if (!whole(values[AT_REVISION], 0, OBB_MAX_WHOLE, &number))
            return refuse(problem, arena, values[AT_REVISION], revision_rule);
        *at = (obb_at){.kind = OBB_AT_REVISION, .revision = (uint64_t)number};
    }
    return true;
}

static bool read_limit(const obb_str values[static PARAMS], unsigned seen, struct obb_arena *arena,
                       size_t *out, wire_problem *problem)
{
    double number = DEFAULT_PAGE;
    if ((seen & BIT(LIMIT)) != 0 && !whole(values[LIMIT], 1, LARGEST_PAGE, &number))
        return refuse(problem, arena, values[LIMIT], "a limit is a whole number from 1 to 10000");
    *out = (size_t)number;
    return true;
}

/* Reads a cursor that is an id. */
static bool read_id_cursor(const obb_str values[static PARAMS], unsigned seen,
                           struct obb_arena *arena, uint64_t *out, wire_problem *problem)
{
    double number;
    if ((seen & BIT(CURSOR)) == 0)
        return true;
    if (!whole(values[CURSOR], 1, OBB_MAX_WHOLE, &number))
        return refuse(problem, arena, values[CURSOR], "a cursor comes from the page before");
    *out = (uint64_t)number;
    return true;
}

/* Reads a word that is true or false. */
static bool read_truth(obb_str value, const char *rule, struct obb_arena *arena, bool *out,
                       wire_problem *problem)
{
    *out = obb_str_equal(value, obb_str_of("true"));
    return *out || obb_str_equal(value, obb_str_of("false")) || refuse(problem, arena, value, rule);
}

/* Reads how new the state must be. "fresh" may stand without a value. */
static bool read_freshness(const obb_str values[static PARAMS], unsigned seen,
                           struct obb_arena *arena, wire_freshness *out, wire_problem *problem)
{
    double number = 0;
    *out = (wire_freshness){.has_revision = (seen & BIT(REVISION)) != 0};
    if (out->has_revision && !whole(values[REVISION], 0, OBB_MAX_WHOLE, &number))
        return refuse(problem, arena, values[REVISION], revision_rule);
    out->revision = (uint64_t)number;
    if ((seen & BIT(FRESH)) != 0 && values[FRESH].length == 0)
        out->fresh = true;
    else if ((seen & BIT(FRESH)) != 0)
        return read_truth(values[FRESH], "fresh is true or false, or stands alone", arena,
                          &out->fresh, problem);
    return true;
}

/* Reads the names of boxes and entities that a list or a stream is narrowed to. */
static bool read_names(const obb_str values[static PARAMS], unsigned seen, struct obb_arena *arena,
                       obb_str *prefix, obb_str *entity, wire_problem *problem)
{
    if ((seen & BIT(PREFIX)) != 0)
        *prefix = values[PREFIX];
    if ((seen & BIT(ENTITY)) != 0) {
        if (!obb_name_valid(values[ENTITY]))
            return refuse(problem, arena, values[ENTITY], wire_problem_of(OBB_BAD_NAME).detail);
        *entity = values[ENTITY];
    }
    return true;
}

/* Reads a list of at least one word, separated by commas, as a set: bit i is word i. */
static bool read_words(obb_str list, const obb_str *words, int count, struct obb_arena *arena,
                       unsigned *out, wire_problem *problem)
{
    const char *at = list.bytes, *end = at + list.length;
    *out = 0;
    for (bool more = true; more;) {
        const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        const char *stop = comma != NULL ? comma : end;
        const obb_str word = {.bytes = at, .length = (size_t)(stop - at)};
        unsigned bit = 0;
        for (int i = 0; i < count; i++)
            if (obb_str_equal(words[i], word))
                bit = BIT(i);
        if (bit == 0)
            return refuse(problem, arena, word,
                          wire_detail(arena, "one or more of %s are needed here",
                                      wire_list_words(arena, words, count)));
        *out |= bit;
        more = comma != NULL;
        at = stop + more;
    }
    return true;
}

bool wire_read_box_params(const wire_param *params, size_t count, struct obb_arena *arena,
                          wire_box_params *out, wire_problem *problem)
{
    static const obb_str words[] = {
        /* in the order of the bits WIRE_INCLUDE_… */
        WIRE_FIELD("axes"), WIRE_FIELD("corners"), WIRE_FIELD("planes"), WIRE_FIELD("edges"),
        WIRE_FIELD("aabb"), WIRE_FIELD("matrix"),  WIRE_FIELD("volume")};
    obb_str values[PARAMS];
    unsigned seen;
    wire_box_params result = {.include = 0};
    if (!collect(params, count, BIT(INCLUDE) | BIT(AT_TIME) | BIT(AT_REVISION) | FRESHNESS, arena,
                 values, &seen, problem) ||
        !read_at(values, seen, arena, &result.has_at, &result.at, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem))
        return false;
    if ((seen & BIT(INCLUDE)) != 0 &&
        !read_words(values[INCLUDE], words, (int)(sizeof words / sizeof *words), arena,
                    &result.include, problem))
        return false;
    *out = result;
    return true;
}

bool wire_read_box_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                               wire_list_params *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    wire_list_params result = {.limit = DEFAULT_PAGE};
    if (!collect(params, count,
                 BIT(LIMIT) | BIT(CURSOR) | BIT(PREFIX) | BIT(ENTITY) | BIT(AT_TIME) |
                     BIT(AT_REVISION) | FRESHNESS,
                 arena, values, &seen, problem) ||
        !read_at(values, seen, arena, &result.has_at, &result.at, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem) ||
        !read_limit(values, seen, arena, &result.limit, problem))
        return false;
    if (!read_id_cursor(values, seen, arena, &result.after_id, problem))
        return false;
    if (!read_names(values, seen, arena, &result.prefix, &result.entity, problem))
        return false;
    *out = result;
    return true;
}

bool wire_read_frame_params(const wire_param *params, size_t count, struct obb_arena *arena,
                            wire_box_params *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    wire_box_params result = {.include = 0};
    if (!collect(params, count, BIT(AT_TIME) | BIT(AT_REVISION) | FRESHNESS, arena, values, &seen,
                 problem) ||
        !read_at(values, seen, arena, &result.has_at, &result.at, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem))
        return false;
    *out = result;
    return true;
}

/* Reads the page of a list that is ordered by name. */
static bool read_page_by_name(const wire_param *params, size_t count, unsigned more,
                              struct obb_arena *arena, wire_list_params *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    wire_list_params result = {.limit = DEFAULT_PAGE};
    if (!collect(params, count, BIT(LIMIT) | BIT(CURSOR) | more, arena, values, &seen, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem) ||
        !read_limit(values, seen, arena, &result.limit, problem))
        return false;
    if ((seen & BIT(PREFIX)) != 0)
        result.prefix = values[PREFIX];
    if ((seen & BIT(CURSOR)) != 0) {
        if (!obb_name_valid(values[CURSOR]))
            return refuse(problem, arena, values[CURSOR], "a cursor comes from the page before");
        result.after_name = values[CURSOR];
    }
    *out = result;
    return true;
}

bool wire_read_scene_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                 wire_list_params *out, wire_problem *problem)
{
    return read_page_by_name(params, count, BIT(FRESH), arena, out, problem);
}

bool wire_read_frame_list_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                 wire_list_params *out, wire_problem *problem)
{
    return read_page_by_name(params, count, BIT(PREFIX) | FRESHNESS, arena, out, problem);
}

bool wire_read_event_params(const wire_param *params, size_t count, struct obb_arena *arena,
                            wire_event_params *out, wire_problem *problem)
{
    static const obb_str topics[] = {/* in the order of the bits WIRE_TOPIC_… */
                                     WIRE_FIELD("collisions"), WIRE_FIELD("boxes"),
                                     WIRE_FIELD("commits"), WIRE_FIELD("queries")};
    static const obb_str includes[] = {WIRE_FIELD("pose")};
    enum { TOPIC_WORDS = sizeof topics / sizeof *topics };
    obb_str values[PARAMS];
    unsigned seen, include = 0;
    double number = 0;
    wire_event_params result = {.topics = WIRE_TOPICS};
    if (!collect(params, count,
                 BIT(TOPICS) | BIT(PREFIX) | BIT(ENTITY) | BIT(CATEGORY) | BIT(INCLUDE) |
                     BIT(RATE) | FRESHNESS,
                 arena, values, &seen, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem) ||
        !read_names(values, seen, arena, &result.prefix, &result.entity, problem))
        return false;
    if ((seen & BIT(TOPICS)) != 0 &&
        !read_words(values[TOPICS], topics, TOPIC_WORDS, arena, &result.topics, problem))
        return false;
    if ((seen & BIT(INCLUDE)) != 0 &&
        !read_words(values[INCLUDE], includes, 1, arena, &include, problem))
        return false;
    result.pose = include != 0;
    result.has_category = (seen & BIT(CATEGORY)) != 0;
    if (result.has_category) {
        if (!whole(values[CATEGORY], 0, UINT32_MAX, &number))
            return refuse(problem, arena, values[CATEGORY],
                          "a category is a whole number from 0 to 4294967295");
        result.category = (uint32_t)number;
    }
    if ((seen & BIT(RATE)) != 0) {
        if (!real(values[RATE], &result.rate) || !(result.rate > 0 && result.rate <= MOST_RATE))
            return refuse(problem, arena, values[RATE],
                          "a rate is a number of messages a second, above 0 and at most 1000");
    }
    *out = result;
    return true;
}

bool wire_event_params_filter(const wire_event_params *params)
{
    return params->prefix.length > 0 || params->entity.length > 0 || params->has_category;
}

bool wire_event_params_equal(const wire_event_params *a, const wire_event_params *b)
{
    return a->topics == b->topics && obb_str_equal(a->prefix, b->prefix) &&
           obb_str_equal(a->entity, b->entity) && a->has_category == b->has_category &&
           a->category == b->category && a->pose == b->pose &&
           !(a->rate < b->rate || a->rate > b->rate);
}

bool wire_read_log_params(const wire_param *params, size_t count, struct obb_arena *arena,
                          wire_log_params *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    double from = 0;
    wire_log_params result = {.follow = false};
    if (!collect(params, count, BIT(FROM) | BIT(FOLLOW) | FRESHNESS, arena, values, &seen,
                 problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem))
        return false;
    result.has_from = (seen & BIT(FROM)) != 0;
    if (result.has_from && !whole(values[FROM], 0, OBB_MAX_WHOLE, &from))
        return refuse(problem, arena, values[FROM], revision_rule);
    result.from = (uint64_t)from;
    if ((seen & BIT(FOLLOW)) != 0 &&
        !read_truth(values[FOLLOW], "follow is true or false", arena, &result.follow, problem))
        return false;
    *out = result;
    return true;
}

bool wire_read_recorded_params(const wire_param *params, size_t count, struct obb_arena *arena,
                               wire_recorded_params *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    wire_recorded_params result = {.after_id = 0};
    if (!collect(params, count,
                 BIT(TAG) | BIT(HIT) | BIT(BOX) | BIT(LIMIT) | BIT(CURSOR) | FRESHNESS, arena,
                 values, &seen, problem) ||
        !read_freshness(values, seen, arena, &result.freshness, problem) ||
        !read_limit(values, seen, arena, &result.limit, problem) ||
        !read_id_cursor(values, seen, arena, &result.after_id, problem))
        return false;
    result.has_hit = (seen & BIT(HIT)) != 0;
    if (result.has_hit &&
        !read_truth(values[HIT], "hit is true or false", arena, &result.hit, problem))
        return false;
    result.has_tag = (seen & BIT(TAG)) != 0;
    if (result.has_tag) {
        if (values[TAG].length > WIRE_MAX_TAG)
            return refuse(problem, arena, values[TAG], "a tag is at most 64 bytes");
        result.tag = values[TAG];
    }
    if ((seen & BIT(BOX)) != 0) {
        if (!obb_name_valid(values[BOX]))
            return refuse(problem, arena, values[BOX], wire_problem_of(OBB_BAD_NAME).detail);
        result.box = values[BOX];
    }
    *out = result;
    return true;
}

bool wire_read_freshness_params(const wire_param *params, size_t count, struct obb_arena *arena,
                                wire_freshness *out, wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    return collect(params, count, FRESHNESS, arena, values, &seen, problem) &&
           read_freshness(values, seen, arena, out, problem);
}

bool wire_read_no_params(const wire_param *params, size_t count, struct obb_arena *arena,
                         wire_problem *problem)
{
    obb_str values[PARAMS];
    unsigned seen;
    return collect(params, count, 0, arena, values, &seen, problem);
}
