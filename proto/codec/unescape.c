#include "proto/codec/unescape.h"

#include "core/obb.h"

#include <string.h>

/* Returns the value of four hexadecimal digits, or -1 if there are none. */
static int hex4(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = obb_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

const char *wire_json_unescape(const char *at, const char *end, char out[static 4],
                               size_t *out_length)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (at == end)
        return NULL;
    if (*at != 'u') {
        const char *found = memchr(from, *at, sizeof from - 1);
        if (found == NULL)
            return NULL;
        out[0] = to[found - from];
        *out_length = 1;
        return at + 1;
    }
    int code = hex4(at + 1, end);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff))
        return NULL;
    at += 5;
    if (code >= 0xd800 && code <= 0xdbff) {
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
            return NULL;
        const int low = hex4(at + 2, end);
        if (low < 0xdc00 || low > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    *out_length = obb_utf8_put((uint32_t)code, out);
    return at;
}
