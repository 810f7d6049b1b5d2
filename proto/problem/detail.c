#include "proto/problem/detail.h"

#include "proto/base/double.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

void wire_shorten(char *text, size_t length)
{
    if (length <= WIRE_SHOWN) {
        text[length] = '\0';
        return;
    }
    size_t cut = WIRE_SHOWN;
    while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    memcpy(text + cut, ELLIPSIS, sizeof ELLIPSIS);
}

struct wire_shown wire_show(obb_str text)
{
    struct wire_shown shown;
    size_t length = 0;
    char *const out = shown.text + 1;
    const char *const end = text.bytes + text.length;
    for (const char *at = text.bytes; at < end;) {
        const size_t valid = obb_utf8_length(at, end), size = valid > 0 ? valid : 1;
        if (size > WIRE_SHOWN - length) {
            memcpy(out + length, ELLIPSIS, sizeof ELLIPSIS - 1);
            length += sizeof ELLIPSIS - 1;
            break;
        }
        if (valid == 0 || (unsigned char)*at < 0x20 || *at == 0x7f)
            out[length] = '?';
        else
            memcpy(out + length, at, size);
        at += size;
        length += size;
    }
    shown.text[0] = out[length] = '"';
    out[length + 1] = '\0';
    return shown;
}

struct wire_shown wire_show_number(double number)
{
    struct wire_shown shown;
    shown.text[wire_double_write(number, shown.text)] = '\0';
    return shown;
}

const char *wire_detail(struct obb_arena *arena, const char *format, ...)
{
    va_list first, second;
    va_start(first, format);
    va_copy(second, first);
    const int length = vsnprintf(NULL, 0, format, first);
    assert(length >= 0);
    char *text = obb_arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)length + 1, format, second);
    va_end(second);
    va_end(first);
    return text != NULL ? text : "there is not enough memory to say more";
}

const char *wire_list_words(struct obb_arena *arena, const obb_str *words, int count)
{
    const char *list = "";
    for (int i = 0; i < count; i++)
        list = wire_detail(arena, "%s%s%.*s", list, i > 0 ? ", " : "", (int)words[i].length,
                           words[i].bytes);
    return list;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

/* Returns the edits between two texts of at most 64 bytes (optimal string alignment, as in
 * Damerau, "A technique for computer detection and correction of spelling errors", 1964). The case
 * of a letter is no edit. */
static size_t edits(obb_str a, obb_str b)
{
    size_t row[3][65];
    for (size_t j = 0; j <= b.length; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a.length; i++) {
        size_t *const here = row[i % 3], *const above = row[(i + 2) % 3];
        const size_t *const two_above = row[(i + 1) % 3];
        here[0] = i;
        for (size_t j = 1; j <= b.length; j++) {
            const bool same = lower(a.bytes[i - 1]) == lower(b.bytes[j - 1]);
            here[j] = least(above[j - 1] + !same, least(above[j], here[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a.bytes[i - 1]) == lower(b.bytes[j - 2]) &&
                lower(a.bytes[i - 2]) == lower(b.bytes[j - 1]))
                here[j] = least(here[j], two_above[j - 2] + 1);
        }
    }
    return row[a.length % 3][b.length];
}

obb_str wire_nearest(obb_str text, const obb_str *known, int count)
{
    const obb_str head = {.bytes = text.bytes, .length = least(text.length, 64)};
    int nearest = 0;
    size_t fewest = SIZE_MAX;
    for (int i = 0; i < count; i++)
        if (obb_str_equal(known[i], text))
            return known[i];
    for (int i = 0; i < count; i++) {
        assert(known[i].length <= 64);
        const size_t distance = edits(head, known[i]);
        if (distance < fewest) {
            fewest = distance;
            nearest = i;
        }
    }
    return known[nearest];
}
