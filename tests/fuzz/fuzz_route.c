/* Reads the input as the head of a request. The parser of targets agrees with a slow reader, and
 * reads a target that is written anew as the same. The table finds the route that a walk over all
 * patterns finds. Parameters are values in range, or a 400 whose sentence can be written as JSON.
 * Headers are refused if and only if two readers could see two different requests. Epochs, the ids
 * of events and lists of entity tags are what slow readers of them find. */
#include "server/events/subscriber.h"
#include "server/http/headers.h"
#include "server/routes/table.h"
#include "server/scenes/conditions.h"
#include "server/scenes/lock.h"
#include "server/scenes/services.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- Parameters ------------------------------------------------------------------------------ */

static void check_at(bool has_at, const obb_at *at)
{
    fuzz_check(has_at == (at->kind != OBB_AT_NOW) && isfinite(at->time), "a state in range");
    fuzz_check((double)at->revision <= OBB_MAX_WHOLE, "a revision in range");
}

static void check_params(const wire_param *params, size_t count, struct obb_arena *arena)
{
    wire_box_params box;
    wire_list_params list;
    enum { READERS = 9 };
    wire_problem problem[READERS] = {{0}};
    bool good[READERS];
    good[0] = wire_read_box_params(params, count, arena, &box, &problem[0]);
    if (good[0])
        check_at(box.has_at, &box.at);
    good[1] = wire_read_box_list_params(params, count, arena, &list, &problem[1]);
    if (good[1]) {
        check_at(list.has_at, &list.at);
        fuzz_check(list.limit >= 1 && list.limit <= 10000, "a limit in range");
    }
    good[2] = wire_read_scene_list_params(params, count, arena, &list, &problem[2]);
    fuzz_check(!good[2] || (list.limit >= 1 && list.limit <= 10000), "a limit in range");
    good[3] = wire_read_no_params(params, count, arena, &problem[3]);
    fuzz_check(good[3] == (count == 0), "no parameters are none");
    wire_event_params events;
    good[4] = wire_read_event_params(params, count, arena, &events, &problem[4]);
    fuzz_check(!good[4] || (events.topics != 0 && (events.topics & ~(unsigned)WIRE_TOPICS) == 0),
               "some topics");
    good[5] = wire_read_frame_params(params, count, arena, &box, &problem[5]);
    if (good[5])
        check_at(box.has_at, &box.at);
    good[6] = wire_read_frame_list_params(params, count, arena, &list, &problem[6]);
    fuzz_check(!good[6] || (list.limit >= 1 && list.limit <= 10000), "a limit in range");
    wire_recorded_params recorded;
    good[7] = wire_read_recorded_params(params, count, arena, &recorded, &problem[7]);
    fuzz_check(!good[7] || (recorded.limit >= 1 && recorded.limit <= 10000), "a limit in range");
    wire_log_params log;
    good[8] = wire_read_log_params(params, count, arena, &log, &problem[8]);
    fuzz_check(!good[8] || (double)log.from <= OBB_MAX_WHOLE, "a revision in range");
    fuzz_check(!good[4] || (events.rate >= 0 && events.rate <= 1000), "a rate in range");
    for (int i = 0; i < READERS; i++)
        fuzz_check(good[i] || (problem[i].status == 400 && problem[i].detail != NULL &&
                               obb_utf8_valid(obb_str_of(problem[i].detail))),
                   "a refusal that can be written");
}

/* ---- Targets --------------------------------------------------------------------------------- */

static void put_encoded(struct wire_buf *out, obb_str text)
{
    char code[4];
    for (size_t i = 0; i < text.length; i++) {
        (void)snprintf(code, sizeof code, "%%%02x", (unsigned)(unsigned char)text.bytes[i]);
        wire_buf_append(out, code, 3);
    }
}

/* Every byte of the parts and parameters as %xx. */
static void write_target(const srv_target *target, struct wire_buf *out)
{
    for (size_t i = 0; i < target->part_count; i++) {
        wire_buf_append(out, "/", 1);
        put_encoded(out, target->parts[i]);
    }
    if (target->part_count == 0)
        wire_buf_append(out, "/", 1);
    for (size_t i = 0; i < target->param_count; i++) {
        wire_buf_append(out, i == 0 ? "?" : "&", 1);
        put_encoded(out, target->params[i].key);
        wire_buf_append(out, "=", 1);
        put_encoded(out, target->params[i].value);
    }
}

static void check_same(const srv_target *a, const srv_target *b)
{
    fuzz_check(a->part_count == b->part_count && a->param_count == b->param_count,
               "a target written anew has other parts");
    for (size_t i = 0; i < a->part_count; i++)
        fuzz_check(obb_str_equal(a->parts[i], b->parts[i]) && obb_utf8_valid(a->parts[i]),
                   "a part of a target changes when it is written anew, or is not UTF-8");
    for (size_t i = 0; i < a->param_count; i++)
        fuzz_check(obb_str_equal(a->params[i].key, b->params[i].key) &&
                       obb_str_equal(a->params[i].value, b->params[i].value) &&
                       obb_utf8_valid(a->params[i].key) && obb_utf8_valid(a->params[i].value),
                   "a parameter changes when it is written anew, or is not UTF-8");
}

static void check_anew(const srv_target *target, struct obb_arena *arena)
{
    struct wire_buf text = {0};
    srv_target again;
    bool no_memory;
    write_target(target, &text);
    fuzz_check(srv_target_read((obb_str){text.bytes, text.length}, arena, &again, &no_memory) ==
                   NULL,
               "a target written anew is refused");
    check_same(target, &again);
    wire_buf_fini(&text);
}

/* Does a pattern fit, part by part? */
static bool fits(const char *pattern, const srv_target *target)
{
    size_t part = 0;
    for (const char *at = pattern; *at == '/' && at[1] != '\0'; part++) {
        const char *end = at + 1 + strcspn(at + 1, "/");
        const obb_str text = {at + 1, (size_t)(end - at - 1)};
        if (part >= target->part_count ||
            (text.bytes[0] != '{' && !obb_str_equal(text, target->parts[part])))
            return false;
        at = end;
    }
    return part == target->part_count;
}

static void check_route(const char *method_name, const srv_target *target, struct obb_arena *arena)
{
    static const char *const names[] = {
        [SRV_GET] = "GET",   [SRV_PUT] = "PUT",       [SRV_PATCH] = "PATCH",
        [SRV_POST] = "POST", [SRV_DELETE] = "DELETE", [SRV_OPTIONS] = "OPTIONS"};
    struct srv_routes *routes;
    if (!srv_routes_create(srv_route_table, srv_route_count, &routes))
        return;
    const srv_method method = srv_method_of(method_name);
    const char *allow = NULL;
    const srv_route *found = srv_routes_find(routes, method, target, arena, &allow);
    bool expected = false, exists = false;
    for (size_t i = 0; i < srv_route_count; i++) {
        if (!fits(srv_route_table[i].pattern, target))
            continue;
        exists = true;
        expected = expected || srv_route_table[i].method == method;
        fuzz_check(found != NULL || strstr(allow, names[srv_route_table[i].method]) != NULL,
                   "a method is missing in Allow");
    }
    fuzz_check((found != NULL) == expected, "a route is not found, or another one is");
    fuzz_check(found == NULL || (found->method == method && fits(found->pattern, target)),
               "a route that does not fit");
    fuzz_check(found != NULL || (allow != NULL) == exists, "Allow for a path that there is not");
    srv_routes_destroy(routes);
}

static void check_target(const char *method, obb_str text)
{
    struct obb_arena arena;
    srv_target target;
    bool no_memory;
    obb_arena_init(&arena);
    const char *fault = srv_target_read(text, &arena, &target, &no_memory);
    fuzz_check(!no_memory, "no memory for a target");
    if (fault != NULL) {
        fuzz_check(*fault != '\0', "a refusal without a sentence");
    } else if (!target.asterisk) {
        if (target.part_count <= SRV_MAX_PARTS)
            check_anew(&target, &arena);
        check_route(method, &target, &arena);
        check_params(target.params, target.param_count, &arena);
    }
    obb_arena_fini(&arena);
}

/* ---- Headers --------------------------------------------------------------------------------- */

/* What a reader who trusts nothing makes of the fields. */
struct strict {
    bool broken, odd; /* odd: a NUL that ends its line, which does no harm */
    int hosts, lengths, codings, types, tokens, origins, epochs;
    uint64_t length;
};

static void read_strictly(struct strict *strict, obb_str name, obb_str value)
{
    char text[32] = "";
    strict->broken = strict->broken || name.length == 0;
    for (size_t i = 0; i < name.length; i++)
        strict->broken = strict->broken ||
                         !(isalnum((unsigned char)name.bytes[i]) ||
                           (name.bytes[i] != '\0' && strchr("!#$%&'*+-.^_`|~", name.bytes[i])));
    for (size_t i = 0; i < value.length; i++)
        if (value.bytes[i] == '\0')
            strict->odd = true;
        else
            strict->broken = strict->broken ||
                             ((unsigned char)value.bytes[i] < ' ' && value.bytes[i] != '\t') ||
                             value.bytes[i] == 127;
    if (name.length >= sizeof text)
        return;
    (void)snprintf(text, sizeof text, "%.*s", (int)name.length, name.bytes);
    strict->hosts += strcasecmp(text, "host") == 0;
    strict->types += strcasecmp(text, "content-type") == 0;
    strict->tokens += strcasecmp(text, "authorization") == 0;
    strict->origins += strcasecmp(text, "origin") == 0;
    strict->epochs += strcasecmp(text, "obbd-if-epoch") == 0;
    if (strcasecmp(text, "transfer-encoding") == 0) {
        strict->codings++;
        strict->broken =
            strict->broken || value.length != 7 || strncasecmp(value.bytes, "chunked", 7) != 0;
    } else if (strcasecmp(text, "content-length") == 0) {
        strict->lengths++;
        strict->broken = strict->broken || value.length == 0 || value.length > 19;
        strict->length = 0;
        for (size_t i = 0; i < value.length; i++) {
            strict->broken = strict->broken || !isdigit((unsigned char)value.bytes[i]);
            strict->length = strict->length * 10 + (uint64_t)(value.bytes[i] - '0');
        }
    }
}

/* Cuts the lines as libmicrohttpd leaves them: names and values terminated where they stand. false:
 * it would have ended the connection by itself. */
static bool take_headers(char *at, char *end, srv_headers *h, struct strict *strict)
{
    while (at < end && *at != '\n' && !(*at == '\r' && at + 1 < end && at[1] == '\n')) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *colon = memchr(at, ':', (size_t)(end - at));
        if (newline == NULL || colon == NULL || colon > newline || *at == ' ' || *at == '\t' ||
            memchr(at, '\0', (size_t)(colon - at)) != NULL)
            return false;
        char *stop = newline > colon + 1 && newline[-1] == '\r' ? newline - 1 : newline;
        char *value = colon + 1;
        while (value < stop && (*value == ' ' || *value == '\t'))
            value++;
        read_strictly(strict, (obb_str){at, (size_t)(colon - at)},
                      (obb_str){value, (size_t)(stop - value)});
        *colon = *stop = '\0';
        srv_headers_take(h, at, (size_t)(colon - at), value, strlen(value));
        at = newline + 1;
    }
    if (at >= end)
        return false;
    srv_headers_finish(h, true, (uintptr_t)at + (*at == '\r' ? 2 : 1));
    return true;
}

/* ---- Epochs and revisions -------------------------------------------------------------------- */

#define EPOCH      UINT64_C(0x00c0ffee01234567) /* of the scene */
#define EPOCH_TEXT "00c0ffee01234567"

enum { FIRST = 15, LAST = 17, MOST_TAGS = 16 }; /* revisions whose tags are looked for */

/* A request about a scene, which is not there. */
static void begin_request(struct srv_request *request)
{
    static struct srv_services services;
    static struct srv_locks locks;
    if (services.store == NULL)
        fuzz_check(obb_store_create(1, 1, NULL, &services.store) == OBB_OK, "memory");
    services.locks = &locks;
    *request = (struct srv_request){.services = &services, .epoch = EPOCH};
    request->target.parts[SRV_SCENE_PART] = obb_str_of("s");
    request->target.part_count = SRV_SCENE_PART + 1;
    obb_arena_init(&request->arena);
}

static void check_epoch(const char *text)
{
    struct srv_request request;
    wire_problem problem = {0};
    begin_request(&request);
    bool expected = strlen(text) == 16;
    for (const char *at = text; *at != '\0'; at++)
        expected = expected && isxdigit((unsigned char)*at);
    request.if_epoch_sent = text;
    fuzz_check(srv_epoch_check(&request, SRV_MAKES_NONE_YET, &problem) == expected,
               "an epoch is taken for what it is not");
    fuzz_check(request.has_if_epoch == expected, "an epoch is there, or not");
    fuzz_check(!expected || request.if_epoch == strtoull(text, NULL, 16), "another epoch");
    fuzz_check(expected || (problem.status == 400 && problem.detail != NULL &&
                            obb_utf8_valid(obb_str_of(problem.detail))),
               "a refusal that can be written");
    obb_arena_fini(&request.arena);
}

static void check_event_id(const char *text)
{
    struct srv_request request;
    struct srv_subscriber s = {.returns = false};
    begin_request(&request);
    char digits[17] = "";
    const size_t length = strcspn(text, ".");
    bool is_revision = length > 0 && length < sizeof digits;
    for (size_t i = 0; i < length && is_revision; i++)
        is_revision = isdigit((unsigned char)text[i]) != 0;
    if (is_revision)
        memcpy(digits, text, length);
    is_revision =
        is_revision && (text[length] == '\0' || strcmp(text + length, "." EPOCH_TEXT) == 0);
    request.last_event_id = text;
    srv_subscriber_init(&s, &request, &(wire_event_params){.topics = 1});
    fuzz_check(s.returns, "who comes back is taken for somebody new");
    fuzz_check(s.last == (is_revision ? strtoull(digits, NULL, 10) : UINT64_MAX),
               "an event that was not the last one");
    obb_arena_fini(&request.arena);
}

struct tag {
    obb_str opaque; /* between the quotes */
    bool weak;
};

/* Reads a list of tags as RFC 9110, sections 5.6.1 and 8.8.3, allows it. false: it is none. */
static bool read_tags(const char *at, struct tag *tags, size_t *count)
{
    for (*count = 0;; (*count)++) {
        at += strspn(at, " \t,");
        if (*at == '\0')
            return true;
        const bool weak = strncmp(at, "W/", 2) == 0;
        at += weak ? 2 : 0;
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (end == NULL || *count == MOST_TAGS)
            return false;
        tags[*count] = (struct tag){{at + 1, (size_t)(end - at - 1)}, weak};
        for (const char *c = at + 1; c < end; c++)
            if ((unsigned char)*c <= ' ' || *c == 127)
                return false;
        at = end + 1 + strspn(end + 1, " \t");
        if (*at != ',' && *at != '\0')
            return false;
    }
}

/* Writes the tags of a revision, in quotes: without the epoch and with it. */
static void write_tags(int revision, char (*out)[40])
{
    (void)snprintf(out[0], sizeof out[0], "\"%d\"", revision);
    (void)snprintf(out[1], sizeof out[1], "\"%d." EPOCH_TEXT "\"", revision);
}

static bool is_sought(obb_str opaque)
{
    char tags[2][40];
    for (int revision = FIRST; revision <= LAST; revision++) {
        write_tags(revision, tags);
        for (int i = 0; i < 2; i++)
            if (opaque.length == strlen(tags[i]) - 2 &&
                memcmp(opaque.bytes, tags[i] + 1, opaque.length) == 0)
                return true;
    }
    return false;
}

/* Returns whether one of the sought tags, or the one that stands for all, is anywhere in the
 * text. */
static bool could_hold(const char *text)
{
    char tags[2][40];
    bool could = strchr(text, '*') != NULL;
    for (int revision = FIRST; revision <= LAST; revision++) {
        write_tags(revision, tags);
        could = could || strstr(text, tags[0]) != NULL || strstr(text, tags[1]) != NULL;
    }
    return could;
}

/* Returns the revision of a tag, 0: it has none. */
static uint64_t revision_of(obb_str opaque)
{
    char text[40] = "", again[64];
    unsigned long long revision;
    if (opaque.length == 0 || opaque.length >= sizeof text)
        return 0;
    memcpy(text, opaque.bytes, opaque.length);
    char *dot = strchr(text, '.');
    if (dot != NULL && (strlen(dot) != 17 || strspn(dot + 1, "0123456789abcdef") != 16))
        return 0;
    if (dot != NULL)
        *dot = '\0';
    revision = strtoull(text, NULL, 10);
    (void)snprintf(again, sizeof again, "%llu", revision);
    return strcmp(text, again) == 0 ? revision : 0; /* beyond the largest number, too */
}

static void check_tags(const char *text)
{
    struct tag tags[MOST_TAGS];
    size_t count = 0;
    const bool all = strcmp(text, "*") == 0;
    if (!all && !read_tags(text, tags, &count)) {
        fuzz_check(!srv_tags_hold(text, FIRST, LAST, EPOCH, true) || could_hold(text),
                   "a tag that is not there");
        (void)srv_tags_least(text);
        return;
    }
    bool strong = all, any = all;
    uint64_t least = all || count == 0 ? 0 : UINT64_MAX;
    for (size_t i = 0; !all && i < count; i++) {
        const uint64_t revision = tags[i].weak ? 0 : revision_of(tags[i].opaque);
        strong = strong || (!tags[i].weak && is_sought(tags[i].opaque));
        any = any || is_sought(tags[i].opaque);
        least = revision < least ? revision : least;
    }
    fuzz_check(srv_tags_hold(text, FIRST, LAST, EPOCH, false) == strong, "strong tags");
    fuzz_check(srv_tags_hold(text, FIRST, LAST, EPOCH, true) == any, "weak tags");
    fuzz_check(srv_tags_least(text) == least, "the least revision");
}

static void check_conditions(const srv_headers *h)
{
    if (h->if_epoch != NULL)
        check_epoch(h->if_epoch);
    if (h->last_event_id != NULL)
        check_event_id(h->last_event_id);
    if (h->if_match != NULL)
        check_tags(h->if_match);
    if (h->if_none_match != NULL)
        check_tags(h->if_none_match);
}

/* ---- Headers as a whole ---------------------------------------------------------------------- */

static void check_values(const srv_headers *h)
{
    static const char *const names[] = {"obbd.example"};
    static const wire_media offered[] = {WIRE_JSON, WIRE_CBOR, WIRE_NDJSON};
    wire_media media = WIRE_PROBLEM;
    fuzz_check(h->content_type == NULL || !wire_media_from_content_type(h->content_type, &media) ||
                   media != WIRE_PROBLEM,
               "a type of ours");
    media = WIRE_PROBLEM;
    fuzz_check(!wire_media_from_accept(h->accept, offered, 3, &media) || media != WIRE_PROBLEM,
               "a type that was offered");
    if (h->host != NULL && srv_host_is_known(obb_str_of(h->host), names, 1)) {
        const size_t length = strcspn(h->host, ":");
        fuzz_check((length == 9 && strncasecmp(h->host, "localhost", 9) == 0) ||
                       (length == 9 && strncmp(h->host, "127.0.0.1", 9) == 0) ||
                       (length == 12 && strncasecmp(h->host, "obbd.example", 12) == 0) ||
                       strncmp(h->host, "[::1]", 5) == 0,
                   "a host that nobody named");
    }
}

static void check_headers(char *text, size_t length)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    srv_headers h = {.arena = &arena};
    struct strict strict = {0};
    if (take_headers(text, text + length, &h, &strict) && !strict.odd) {
        const bool broken = strict.broken || strict.hosts > 1 || strict.lengths > 1 ||
                            strict.codings > 1 || strict.types > 1 || strict.tokens > 1 ||
                            strict.origins > 1 || strict.epochs > 1 ||
                            (strict.codings > 0 && strict.lengths > 0);
        fuzz_check((h.fault != NULL) == broken, "headers are taken for what they are not");
        fuzz_check(broken || (h.has_length == (strict.lengths == 1) && h.length == strict.length &&
                              h.chunked == (strict.codings == 1)),
                   "a body of another length");
    }
    if (h.fault == NULL) {
        check_values(&h);
        check_conditions(&h);
    }
    obb_arena_fini(&arena);
}

/* METHOD SP target [SP version] LF, then header lines and an empty one. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, length);
    text[length] = '\0';
    char *newline = memchr(text, '\n', length), *end = newline != NULL ? newline : text + length;
    char *space = memchr(text, ' ', (size_t)(end - text));
    if (space != NULL) {
        const char *target = space + 1;
        const char *stop = memchr(target, ' ', (size_t)(end - target));
        *space = '\0';
        check_target(text, (obb_str){target, (size_t)((stop != NULL ? stop : end) - target)});
    }
    if (newline != NULL)
        check_headers(newline + 1, (size_t)(text + length - newline - 1));
    free(text);
    return 0;
}
