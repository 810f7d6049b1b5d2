#include "proto/codec/media.h"

#include "core/obb.h"

#include <assert.h>
#include <string.h>

static const obb_str types[] = {
    [WIRE_JSON] = {"application/json", sizeof "application/json" - 1},
    [WIRE_CBOR] = {"application/cbor", sizeof "application/cbor" - 1},
    [WIRE_NDJSON] = {"application/x-ndjson", sizeof "application/x-ndjson" - 1},
    [WIRE_EVENTS] = {"text/event-stream", sizeof "text/event-stream" - 1},
    [WIRE_PROBLEM] = {"application/problem+json", sizeof "application/problem+json" - 1},
};

const char *wire_media_type(wire_media media) { return types[media].bytes; }

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

static bool same_word(obb_str a, obb_str b)
{
    if (a.length != b.length)
        return false;
    for (size_t i = 0; i < a.length; i++)
        if (lower(a.bytes[i]) != lower(b.bytes[i]))
            return false;
    return true;
}

static const char *past_space(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Returns the end of a token (RFC 9110, 5.6.2). The slash of a type counts as part of it. */
static const char *past_token(const char *at)
{
    const char *const others = "!#$%&'*+-.^_`|~/";
    while (*at != '\0' && ((lower(*at) >= 'a' && lower(*at) <= 'z') || (*at >= '0' && *at <= '9') ||
                           strchr(others, *at) != NULL))
        at++;
    return at;
}

/* Reads one parameter from its semicolon on, without its quotes. Returns its end, or NULL if it is
 * malformed. A bare semicolon is a parameter without a name. */
static const char *read_parameter(const char *at, obb_str *name, obb_str *value)
{
    at = past_space(at + 1);
    const char *end = past_token(at);
    *name = (obb_str){.bytes = at, .length = (size_t)(end - at)};
    *value = (obb_str){.bytes = end, .length = 0};
    if (*end != '=')
        return name->length == 0 ? past_space(end) : NULL;
    at = end + 1;
    if (*at == '"') {
        end = ++at;
        while (*end != '\0' && *end != '"')
            end += *end == '\\' && end[1] != '\0' ? 2 : 1;
        if (*end == '\0')
            return NULL;
        *value = (obb_str){.bytes = at, .length = (size_t)(end - at)};
        end++;
    } else {
        end = past_token(at);
        *value = (obb_str){.bytes = at, .length = (size_t)(end - at)};
        if (value->length == 0)
            return NULL;
    }
    return past_space(end);
}

bool wire_media_from_content_type(const char *value, wire_media *out)
{
    if (value == NULL)
        return false;
    if (strcmp(value, types[WIRE_JSON].bytes) == 0) { /* the common case */
        *out = WIRE_JSON;
        return true;
    }
    const char *at = past_space(value), *end = past_token(at);
    const obb_str type = {.bytes = at, .length = (size_t)(end - at)};
    wire_media media = WIRE_PROBLEM;
    for (int m = WIRE_JSON; m <= WIRE_NDJSON; m++)
        if (same_word(types[m], type))
            media = (wire_media)m;
    if (media == WIRE_PROBLEM)
        return false;
    end = past_space(end);
    while (end != NULL && *end == ';') {
        obb_str name, word;
        end = read_parameter(end, &name, &word);
        if (same_word(name, obb_str_of("charset")) && !same_word(word, obb_str_of("utf-8")))
            return false; /* JSON between systems is UTF-8 (RFC 8259, 8.1) */
    }
    if (end == NULL || *end != '\0')
        return false;
    *out = media;
    return true;
}

/* ---- Accept ---------------------------------------------------------------------------------- */

/* Returns a weight in thousandths. A weight that cannot be read counts as 1000, as if there were
 * none. */
static int read_weight(obb_str text)
{
    int weight = 0, scale = 1000;
    size_t i = 0;
    if (text.length == 0 || text.length > 5 || (text.bytes[0] != '0' && text.bytes[0] != '1'))
        return 1000;
    for (; i < text.length; i++) {
        const char c = text.bytes[i];
        if (i == 1 ? c != '.' : c < '0' || c > '9')
            return 1000;
        if (i != 1) {
            weight += (c - '0') * scale;
            scale /= 10;
        }
    }
    return weight > 1000 ? 1000 : weight;
}

enum { NO_MATCH, ANYTHING, ANY_OF_TYPE, EXACTLY };

/* Tells how closely a range such as application/(star) names the type. */
static int closeness(obb_str range, obb_str type)
{
    if (same_word(range, type))
        return EXACTLY;
    if (same_word(range, obb_str_of("*/*")))
        return ANYTHING;
    const char *slash = memchr(type.bytes, '/', type.length);
    const size_t upto = (size_t)(slash - type.bytes) + 1;
    const bool star = range.length == upto + 1 && range.bytes[upto] == '*';
    return star && same_word((obb_str){range.bytes, upto}, (obb_str){type.bytes, upto})
               ? ANY_OF_TYPE
               : NO_MATCH;
}

/* Reads one element of the list and returns its end. *range is empty if the element is
 * malformed. */
static const char *read_range(const char *at, obb_str *range, int *weight)
{
    const char *end = past_token(at);
    *range = (obb_str){.bytes = at, .length = (size_t)(end - at)};
    *weight = 1000;
    end = past_space(end);
    while (end != NULL && *end == ';') {
        obb_str name, value;
        at = end;
        end = read_parameter(end, &name, &value);
        if (end != NULL && same_word(name, obb_str_of("q")))
            *weight = read_weight(value);
    }
    if (end == NULL || (*end != ',' && *end != '\0')) {
        range->length = 0;
        end = end == NULL ? at : end;
        while (*end != ',' && *end != '\0')
            end++;
    }
    return end;
}

bool wire_media_from_accept(const char *value, const wire_media *offered, size_t count,
                            wire_media *out)
{
    assert(count > 0 && count <= sizeof types / sizeof *types);
    /* the common cases: no header, or exactly the first medium */
    if (value == NULL || strcmp(value, types[offered[0]].bytes) == 0 ||
        *past_space(value) == '\0') {
        *out = offered[0];
        return true;
    }
    int close[sizeof types / sizeof *types] = {0}, weights[sizeof types / sizeof *types] = {0};
    for (const char *at = value; *at != '\0'; at += *at == ',') {
        obb_str range;
        int weight;
        at = read_range(past_space(at), &range, &weight);
        for (size_t i = 0; i < count; i++) {
            const int match = closeness(range, types[offered[i]]);
            if (match > close[i]) { /* the closest range decides */
                close[i] = match;
                weights[i] = weight;
            }
        }
    }
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = weights[i] > weights[best] ? i : best;
    *out = offered[best];
    return weights[best] > 0;
}
