#include "core/scene/name.h"

#include "core/base/utf8.h"

#include <string.h>

bool obb_name_valid(obb_str name)
{
    if (name.length == 0 || name.length > OBB_MAX_NAME)
        return false;
    if (name.bytes[0] == '.' && (name.length == 1 || (name.length == 2 && name.bytes[1] == '.')))
        return false;
    bool plain = true; /* all bytes from 0x20 to 0x7e, as in nearly all names */
    size_t at = 0;
    for (; name.length - at >= 8; at += 8) {
        uint64_t v;
        memcpy(&v, name.bytes + at, sizeof v);
        /* The top bit of a byte that is not plain is set in one of the three terms. A borrow or
         * carry out of that byte only reaches bytes above it. */
        plain &= ((v | (v - 0x2020202020202020u) | (v + 0x0101010101010101u)) &
                  0x8080808080808080u) == 0;
    }
    for (; at < name.length; at++) {
        const unsigned char c = (unsigned char)name.bytes[at];
        plain &= c >= 0x20 && c < 0x7f;
    }
    const char *p = name.bytes, *end = p + name.length;
    while (p < end && !plain) {
        const unsigned char first = (unsigned char)*p;
        const size_t length = obb_utf8_length(p, end);
        /* C1 controls, U+0080 to U+009F, are the bytes c2 80 to c2 9f */
        const bool is_c1 = length == 2 && first == 0xc2 && (unsigned char)p[1] <= 0x9f;
        if (length == 0 || first < 0x20 || first == 0x7f || is_c1)
            return false;
        p += length;
    }
    return true;
}
