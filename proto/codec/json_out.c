/* The writer of JSON: compact text, straight into the buffer. */
#include "proto/base/double.h"
#include "proto/codec/out.h"

#include <string.h>

/* Returns room for `size` bytes, after a comma if one is due. */
static char *begin(struct wire_out *out, size_t size)
{
    char *at = wire_buf_room(out->buf, size + 1);
    if (at == NULL)
        return NULL;
    *at = ',';
    at += out->comma;
    return at;
}

/* Counts the bytes that were written up to `end`. */
static void finish(struct wire_out *out, const char *end)
{
    struct wire_buf *buf = out->buf;
    wire_buf_added(buf, (size_t)(end - (buf->bytes + buf->length)));
}

static void bracket(struct wire_out *out, char c)
{
    char *at = begin(out, 1);
    if (at != NULL) {
        *at = c;
        finish(out, at + 1);
    }
    out->comma = false;
}

static void end_bracket(struct wire_out *out, char c)
{
    wire_buf_append(out->buf, &c, 1);
    out->comma = true;
}

wire_out_scope wire_json_object(struct wire_out *out)
{
    bracket(out, '{');
    return (wire_out_scope){0};
}

void wire_json_object_end(struct wire_out *out) { end_bracket(out, '}'); }

void wire_json_array(struct wire_out *out) { bracket(out, '['); }

void wire_json_array_end(struct wire_out *out) { end_bracket(out, ']'); }

void wire_json_key(struct wire_out *out, const char *key, size_t length)
{
    char *at = begin(out, length + 3);
    if (at != NULL) {
        *at++ = '"';
        memcpy(at, key, length);
        at += length;
        *at++ = '"';
        *at++ = ':';
        finish(out, at);
    }
    out->comma = false;
}

void wire_json_word(struct wire_out *out, const char *word, size_t length)
{
    char *at = begin(out, length);
    if (at != NULL) {
        memcpy(at, word, length);
        finish(out, at + length);
    }
    out->comma = true;
}

void wire_json_double(struct wire_out *out, double value)
{
    char *at = begin(out, WIRE_DOUBLE_ROOM);
    if (at != NULL)
        finish(out, at + wire_double_write(value, at));
    out->comma = true;
}

void wire_json_integer(struct wire_out *out, uint64_t value)
{
    char *at = begin(out, WIRE_INTEGER_ROOM);
    if (at != NULL)
        finish(out, at + wire_integer_write(value, at));
    out->comma = true;
}

void wire_json_negative(struct wire_out *out, uint64_t magnitude)
{
    char *at = begin(out, WIRE_INTEGER_ROOM + 1);
    if (at != NULL) {
        *at++ = '-';
        finish(out, at + wire_integer_write(magnitude, at));
    }
    out->comma = true;
}

/* ---- Strings --------------------------------------------------------------------------------- */

/* Marks the bytes of a word that need an escape: bit 7 is set in each control character, quote and
 * backslash. A borrow may also mark a byte after a true mark, so the caller only tests whether
 * there is any mark. */
static uint64_t escapes_in(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    const uint64_t control = w - ones * 0x20;
    const uint64_t quote = (w ^ (ones * '"')) - ones, backslash = (w ^ (ones * '\\')) - ones;
    return (control | quote | backslash) & ~w & high; /* ~w: only bytes below 0x80 */
}

static uint64_t load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static uint32_t load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

/* Copies text that needs no escape. Returns false if it needs one; the copied bytes are then void.
 * Copies in overlapping steps of fixed size: names are short, and a copy of variable size costs
 * more in mispredicted branches than in bytes. */
static bool copy_plain(char *at, const char *text, size_t length)
{
    if (length >= 8) {
        uint64_t found = 0, word;
        for (size_t i = 0; i + 8 < length; i += 8) {
            word = load8(text + i);
            memcpy(at + i, &word, 8);
            found |= escapes_in(word);
        }
        word = load8(text + length - 8);
        memcpy(at + length - 8, &word, 8);
        return (found | escapes_in(word)) == 0;
    }
    if (length >= 4) {
        const uint32_t first = load4(text), last = load4(text + length - 4);
        memcpy(at, &first, 4);
        memcpy(at + length - 4, &last, 4);
        return escapes_in((uint64_t)first << 32 | last) == 0;
    }
    uint64_t word = 0x2020202020202020u;
    for (size_t i = 0; i < length; i++) {
        at[i] = text[i];
        word = word << 8 | (unsigned char)text[i];
    }
    return escapes_in(word) == 0;
}

static char *copy_escaped(char *at, const char *text, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char *letter = c == '"'    ? "\""
                             : c == '\\' ? "\\"
                             : c == '\n' ? "n"
                             : c == '\r' ? "r"
                             : c == '\t' ? "t"
                                         : NULL;
        if (letter != NULL) {
            *at++ = '\\';
            *at++ = *letter;
        } else if (c < 0x20) {
            const char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            memcpy(at, escape, sizeof escape);
            at += sizeof escape;
        } else {
            *at++ = (char)c;
        }
    }
    return at;
}

/* Writes text in quotes to `at`, which has room for two bytes more than the text. Returns its end,
 * or NULL if the text needs escapes. */
static char *put_plain(char *at, obb_str text)
{
    *at++ = '"';
    if (!copy_plain(at, text.bytes, text.length))
        return NULL;
    at += text.length;
    *at++ = '"';
    return at;
}

static void put_escaped(struct wire_out *out, obb_str text)
{
    char *at = text.length < SIZE_MAX / 8 ? begin(out, text.length * 6 + 2) : NULL;
    if (at == NULL) {
        out->buf->failed = true;
        return;
    }
    *at++ = '"';
    at = copy_escaped(at, text.bytes, text.length);
    *at++ = '"';
    finish(out, at);
}

void wire_json_string(struct wire_out *out, obb_str text)
{
    char *at = begin(out, text.length + 2);
    char *end = at != NULL ? put_plain(at, text) : NULL;
    if (end != NULL)
        finish(out, end);
    else
        put_escaped(out, text);
    out->comma = true;
}

void wire_json_name_key(struct wire_out *out, obb_str key)
{
    wire_json_string(out, key);
    wire_buf_append(out->buf, ":", 1);
    out->comma = false;
}

void wire_json_strings(struct wire_out *out, obb_str a, obb_str b)
{
    char *at = begin(out, a.length + b.length + 7);
    if (at == NULL)
        return;
    *at = '[';
    char *end = put_plain(at + 1, a);
    if (end != NULL) {
        *end = ',';
        end = put_plain(end + 1, b);
    }
    if (end != NULL) {
        *end = ']';
        finish(out, end + 1);
        out->comma = true;
        return;
    }
    wire_json_array(out);
    wire_json_string(out, a);
    wire_json_string(out, b);
    wire_json_array_end(out);
}

void wire_json_data(struct wire_out *out, obb_str json)
{
    wire_json_word(out, json.bytes, json.length);
}

void wire_json_column_part(struct wire_out *out, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wire_json_double(out, values[i]);
}

void wire_json_doubles(struct wire_out *out, const double *values, size_t count)
{
    wire_json_array(out);
    wire_json_column_part(out, values, count);
    wire_json_array_end(out);
}
