#include "server/http/route.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    srv_method method;
} methods[] = {{"GET", SRV_GET},        {"HEAD", SRV_GET},  {"PUT", SRV_PUT},
               {"PATCH", SRV_PATCH},    {"POST", SRV_POST}, {"DELETE", SRV_DELETE},
               {"OPTIONS", SRV_OPTIONS}};

srv_method srv_method_of(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, name) == 0)
            return methods[i].method;
    return SRV_NO_METHOD;
}

const char *srv_method_name(srv_method method)
{
    size_t i = 0; /* GET comes before HEAD, which stands for the same */
    while (methods[i].method != method)
        i++;
    return methods[i].name;
}

/* ---- Targets --------------------------------------------------------------------------------- */

static const char no_memory[] = "";

/* Decodes a text, into a copy in the arena if there is anything to decode. Returns NULL or a
 * sentence. */
static const char *decode(obb_str text, bool plus, struct obb_arena *arena, obb_str *out)
{
    *out = text;
    size_t i = 0;
    unsigned char seen = 0;
    for (; i < text.length && text.bytes[i] != '%' && !(plus && text.bytes[i] == '+'); i++)
        seen |= (unsigned char)text.bytes[i];
    if (i == text.length && seen < 0x80)
        return NULL;
    if (i < text.length) {
        char *bytes = obb_arena_alloc(arena, text.length, 1);
        if (bytes == NULL)
            return no_memory;
        size_t length = 0;
        for (i = 0; i < text.length; i++) {
            if (plus && text.bytes[i] == '+') {
                bytes[length++] = ' ';
            } else if (text.bytes[i] != '%') {
                bytes[length++] = text.bytes[i];
            } else {
                const int high = i + 2 < text.length ? obb_hex_digit(text.bytes[i + 1]) : -1;
                const int low = i + 2 < text.length ? obb_hex_digit(text.bytes[i + 2]) : -1;
                if (high < 0 || low < 0)
                    return "the target has a % without two hexadecimal digits after it";
                bytes[length++] = (char)(high * 16 + low);
                i += 2;
            }
        }
        *out = (obb_str){.bytes = bytes, .length = length};
    }
    return obb_utf8_valid(*out) ? NULL : "the target is not UTF-8";
}

static obb_str slice(obb_str text, size_t from, size_t to)
{
    return (obb_str){.bytes = text.bytes + from, .length = to - from};
}

static size_t find(obb_str text, size_t from, char c)
{
    const char *at = from < text.length ? memchr(text.bytes + from, c, text.length - from) : NULL;
    return at != NULL ? (size_t)(at - text.bytes) : text.length;
}

static const char *read_path(obb_str path, struct obb_arena *arena, srv_target *out)
{
    for (size_t from = 1; from < path.length || (from == path.length && path.length > 1);) {
        const size_t to = find(path, from, '/');
        if (out->part_count >= SRV_MAX_PARTS) {
            out->part_count = SRV_MAX_PARTS + 1;
            return NULL;
        }
        const char *fault =
            decode(slice(path, from, to), false, arena, &out->parts[out->part_count]);
        if (fault != NULL)
            return fault;
        out->part_count++;
        from = to + 1;
    }
    return NULL;
}

static const char *read_params(obb_str query, struct obb_arena *arena, srv_target *out)
{
    size_t count = 1;
    for (size_t i = 0; i < query.length; i++)
        count += query.bytes[i] == '&';
    out->params = obb_arena_alloc(arena, count, sizeof *out->params);
    if (out->params == NULL)
        return no_memory;
    for (size_t from = 0; from < query.length;) {
        const size_t to = find(query, from, '&');
        size_t equals = find(query, from, '=');
        if (equals > to)
            equals = to;
        wire_param *param = &out->params[out->param_count];
        const char *fault = decode(slice(query, from, equals), true, arena, &param->key);
        if (fault == NULL)
            fault =
                decode(slice(query, equals < to ? equals + 1 : to, to), true, arena, &param->value);
        if (fault != NULL)
            return fault;
        if (to > from) /* an empty text between two & is no parameter */
            out->param_count++;
        from = to + 1;
    }
    return NULL;
}

static bool starts(obb_str text, const char *with)
{
    const size_t length = strlen(with);
    return text.length >= length && memcmp(text.bytes, with, length) == 0;
}

const char *srv_target_read(obb_str text, struct obb_arena *arena, srv_target *out,
                            bool *out_no_memory)
{
    *out = (srv_target){0};
    *out_no_memory = false;
    bool good = true;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        good &= c > 0x20 && c != 0x7f && c != '#';
    }
    if (!good)
        return "the target has a blank, a control character or a #";
    if (text.length == 1 && text.bytes[0] == '*') {
        out->asterisk = true;
        return NULL;
    }
    if (starts(text, "http://") || starts(text, "https://")) {
        const size_t from = find(text, 0, '/') + 2;
        size_t to = from;
        while (to < text.length && text.bytes[to] != '/' && text.bytes[to] != '?')
            to++;
        out->authority = slice(text, from, to);
        if (out->authority.length == 0)
            return "the target has no host";
        text = slice(text, to, text.length);
        if (text.length == 0 || text.bytes[0] == '?')
            return "the target has no path";
    }
    if (text.length == 0 || text.bytes[0] != '/')
        return "the target does not start with /";

    const size_t question = find(text, 0, '?');
    const char *fault = read_path(slice(text, 0, question), arena, out);
    if (fault == NULL && question < text.length)
        fault = read_params(slice(text, question + 1, text.length), arena, out);
    if (fault != no_memory)
        return fault;
    *out_no_memory = true;
    return NULL;
}

/* ---- Routes ---------------------------------------------------------------------------------- */

/* A route's pattern in parts. A part in braces has length 0. */
struct pattern {
    obb_str parts[SRV_MAX_PARTS];
    size_t part_count;
};

struct srv_routes {
    const srv_route *table;
    struct pattern *patterns; /* one per route */
    size_t count;
};

bool srv_routes_create(const srv_route *table, size_t count, struct srv_routes **out)
{
    struct srv_routes *routes = obb_calloc(1, sizeof *routes);
    if (routes == NULL)
        return false;
    routes->table = table;
    routes->count = count;
    routes->patterns = obb_calloc(count, sizeof *routes->patterns);
    if (routes->patterns == NULL) {
        obb_free(routes);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const obb_str text = obb_str_of(table[i].pattern);
        struct pattern *pattern = &routes->patterns[i];
        for (size_t from = 1; from < text.length;) {
            const size_t to = find(text, from, '/');
            assert(to > from && pattern->part_count < SRV_MAX_PARTS);
            pattern->parts[pattern->part_count++] = text.bytes[from] == '{'
                                                        ? (obb_str){.bytes = "", .length = 0}
                                                        : slice(text, from, to);
            from = to + 1;
        }
    }
    *out = routes;
    return true;
}

void srv_routes_destroy(struct srv_routes *routes)
{
    if (routes == NULL)
        return;
    obb_free(routes->patterns);
    obb_free(routes);
}

size_t srv_routes_count(const struct srv_routes *routes) { return routes->count; }

const srv_route *srv_route_at(const struct srv_routes *routes, size_t index)
{
    return &routes->table[index];
}

size_t srv_route_index(const struct srv_routes *routes, const srv_route *route)
{
    return (size_t)(route - routes->table);
}

static bool matches(const struct pattern *pattern, const srv_target *target)
{
    if (pattern->part_count != target->part_count)
        return false;
    for (size_t i = pattern->part_count; i-- > 0;) /* most routes begin with the same parts */
        if (pattern->parts[i].length != 0 && !obb_str_equal(pattern->parts[i], target->parts[i]))
            return false;
    return true;
}

/* Returns "GET, HEAD, OPTIONS" for bits 1 << srv_method, or NULL without memory. */
static const char *allow_of(unsigned found, struct obb_arena *arena)
{
    size_t length = 0;
    char *text = obb_arena_alloc(arena, 64, 1);
    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (found & 1u << methods[i].method) {
            const size_t size = strlen(methods[i].name);
            assert(length + 2 + size < 64);
            if (length != 0) {
                memcpy(text + length, ", ", 2);
                length += 2;
            }
            memcpy(text + length, methods[i].name, size);
            length += size;
        }
    text[length] = '\0';
    return text;
}

const srv_route *srv_routes_find(const struct srv_routes *routes, srv_method method,
                                 const srv_target *target, struct obb_arena *arena,
                                 const char **out_allow)
{
    unsigned found = 0;
    for (size_t i = 0; i < routes->count; i++) {
        if (!matches(&routes->patterns[i], target))
            continue;
        if (routes->table[i].method == method)
            return &routes->table[i];
        found |= 1u << routes->table[i].method;
    }
    *out_allow = found != 0 ? allow_of(found | 1u << SRV_OPTIONS, arena) : NULL;
    return NULL;
}
