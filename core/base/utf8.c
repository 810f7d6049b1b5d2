#include "core/base/utf8.h"

#include "core/base/word.h"

size_t obb_utf8_length(const char *at, const char *end)
{
    if (at == end)
        return 0;
    const unsigned char first = (unsigned char)*at;
    if (first < 0x80)
        return 1;
    /* The range of the second byte excludes overlong forms, surrogates and code points beyond
     * U+10FFFF (RFC 3629, 4). */
    unsigned char low = 0x80, high = 0xbf;
    size_t length = 0;
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        low = first == 0xe0 ? 0xa0 : low;
        high = first == 0xed ? 0x9f : high;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        low = first == 0xf0 ? 0x90 : low;
        high = first == 0xf4 ? 0x8f : high;
    }
    if (length == 0 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        const unsigned char c = (unsigned char)at[i];
        if (c < low || c > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

bool obb_utf8_valid(obb_str text)
{
    const char *at = text.bytes, *end = at + text.length;
    while (at < end) {
        const size_t take = end - at < 8 ? (size_t)(end - at) : 8;
        if ((obb_word_of(at, take) & 0x8080808080808080u) == 0) { /* most text is ASCII */
            at += take;
            continue;
        }
        const size_t length = obb_utf8_length(at, end);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

size_t obb_utf8_put(uint32_t code, char out[static 4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
