#include "server/http/headers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char hidden[] = "a header field is folded, has no name, or holds a NUL";

/* The characters of a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110, 5.6.2), a bit for
 * each. */
#define BIT(c)          (UINT64_C(1) << ((c)&63))
#define RANGE(from, to) ((BIT(to) - BIT(from)) | BIT(to))
static const uint64_t token_bits[2] = {
    BIT('!') | BIT('#') | BIT('$') | BIT('%') | BIT('&') | BIT('\'') | BIT('*') | BIT('+') |
        BIT('-') | BIT('.') | RANGE('0', '9'),
    RANGE('A', 'Z') | RANGE('a', 'z') | BIT('^') | BIT('_') | BIT('`') | BIT('|') | BIT('~')};

static bool is_token(const char *name, size_t length)
{
    bool good = length > 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)name[i];
        good &= c < 128 && (token_bits[c >> 6 & 1] & BIT(c)) != 0;
    }
    return good;
}

static bool is_value(const char *value, size_t length)
{
    bool good = true;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)value[i];
        good &= (c >= 0x20 || c == '\t') && c != 0x7f;
    }
    return good;
}

static bool same(const char *text, size_t length, const char *known, size_t known_length)
{
    return length == known_length && strncasecmp(text, known, length) == 0;
}

/* Appends a further line of a list field after a comma, which means the same (RFC 9110, 5.3). */
static void join(srv_headers *h, const char **field, const char *value)
{
    if (*field == NULL) {
        *field = value;
        return;
    }
    const size_t first = strlen(*field), second = strlen(value);
    char *text = obb_arena_alloc(h->arena, first + second + 3, 1);
    if (text == NULL) {
        h->no_memory = true;
        return;
    }
    (void)snprintf(text, first + second + 3, "%s, %s", *field, value);
    *field = text;
}

/* Returns the value without blanks at its end, which do not belong to it (RFC 9110, 5.5). */
static const char *without_blanks(srv_headers *h, const char *value, size_t length)
{
    size_t kept = length;
    while (kept > 0 && (value[kept - 1] == ' ' || value[kept - 1] == '\t'))
        kept--;
    if (kept == length)
        return value;
    char *text = obb_arena_alloc(h->arena, kept + 1, 1);
    if (text == NULL) {
        h->no_memory = true;
        return value;
    }
    memcpy(text, value, kept);
    text[kept] = '\0';
    return text;
}

static void once(srv_headers *h, const char **field, const char *value, const char *fault)
{
    if (*field != NULL)
        h->fault = fault;
    *field = value;
}

static void take_length(srv_headers *h, const char *value, size_t length)
{
    uint64_t declared = 0;
    bool good = length > 0 && length < 20; /* 19 digits fit */
    for (size_t i = 0; i < length && good; i++) {
        good = isdigit((unsigned char)value[i]);
        declared = declared * 10 + (uint64_t)(value[i] - '0');
    }
    if (!good)
        h->fault = "Content-Length is not a number";
    else if (h->has_length)
        h->fault = "there are two Content-Length fields";
    h->has_length = true;
    h->length = declared;
}

static void take_coding(srv_headers *h, const char *value, size_t length)
{
    if (h->chunked)
        h->fault = "there are two Transfer-Encoding fields";
    else if (!same(value, length, "chunked", 7))
        h->fault = "the only transfer encoding is chunked";
    h->chunked = true;
}

void srv_headers_take(srv_headers *h, const char *name, size_t name_length, const char *value,
                      size_t value_length)
{
    /* libmicrohttpd ends values at a NUL, and appends the second line of a folded field to its
     * name. Names and values lie in one buffer in the order of the request, with the end of a line
     * (two bytes at most) in between. If there are more bytes, a NUL hides them. If the order
     * differs, the field was folded. */
    const uintptr_t from = (uintptr_t)name, to = (uintptr_t)value;
    if (to <= from + name_length ||
        (h->previous_end != 0 && (from < h->previous_end || from - h->previous_end > 2)))
        h->fault = hidden;
    h->previous_end = to + value_length;

    if (!is_token(name, name_length))
        h->fault = "the name of a header field is not a token";
    else if (!is_value(value, value_length))
        h->fault = "a header field holds a control character";

    /* The length and coding of the body are left as libmicrohttpd has read them, too. */
    const char *const sent = value;
    value = without_blanks(h, value, value_length);

#define IS(known) same(name, name_length, known, sizeof(known) - 1)
    switch (name_length) {
    case 4:
        if (IS("Host"))
            once(h, &h->host, value, "there are two Host fields");
        break;
    case 6:
        if (IS("Origin"))
            once(h, &h->origin, value, "there are two Origin fields");
        else if (IS("Accept"))
            join(h, &h->accept, value);
        else if (IS("Expect"))
            h->expects = true;
        break;
    case 8:
        if (IS("If-Match"))
            join(h, &h->if_match, value);
        break;
    case 12:
        if (IS("Content-Type"))
            once(h, &h->content_type, value, "there are two Content-Type fields");
        else if (IS("X-Request-Id"))
            h->request_id = value;
        break;
    case 13:
        if (IS("If-None-Match"))
            join(h, &h->if_none_match, value);
        else if (IS("Last-Event-ID"))
            h->last_event_id = value;
        else if (IS("Authorization"))
            once(h, &h->authorization, value, "there are two Authorization fields");
        else if (IS("Obbd-If-Epoch"))
            once(h, &h->if_epoch, value, "there are two Obbd-If-Epoch fields");
        break;
    case 14:
        if (IS("Content-Length"))
            take_length(h, sent, value_length);
        break;
    case 17:
        if (IS("Transfer-Encoding"))
            take_coding(h, sent, value_length);
        break;
    case 29:
        if (IS("Access-Control-Request-Method"))
            h->request_method = value;
        break;
    default:
        break;
    }
#undef IS
}

void srv_headers_finish(srv_headers *h, bool http_1_1, uintptr_t end)
{
    /* libmicrohttpd takes a line that starts with a colon for the end of the headers. More bytes
     * than two line ends are then left. */
    if (h->fault == NULL && h->previous_end != 0 && end - h->previous_end > 4)
        h->fault = hidden;
    if (h->chunked && h->has_length)
        h->fault = "there are both Content-Length and Transfer-Encoding";
    else if (h->chunked && !http_1_1)
        h->fault = "HTTP/1.0 has no transfer encodings";
}

/* Returns whether host is "name" or "name:port". */
static bool host_is(obb_str host, const char *name)
{
    const size_t length = strlen(name);
    if (host.length < length || strncasecmp(host.bytes, name, length) != 0)
        return false;
    if (host.length == length)
        return true;
    if (host.bytes[length] != ':')
        return false;
    for (size_t i = length + 1; i < host.length; i++)
        if (!isdigit((unsigned char)host.bytes[i]))
            return false;
    return true;
}

bool srv_host_is_known(obb_str host, const char *const *names, size_t count)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (host_is(host, own[i]))
            return true;
    for (size_t i = 0; i < count; i++)
        if (host_is(host, names[i]))
            return true;
    return false;
}
