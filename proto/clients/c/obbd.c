/* obbd.c - the client of obbd in one file; obbd.h says what it offers.
 *
 * From top to bottom: bytes, CBOR written and read, JSON to CBOR and back, HTTP over libcurl, the
 * rules of sending, scenes with their ids, the builder, queries, commits and answers, ids, events,
 * and requests of any kind. Everything is kept as CBOR in between; JSON is made of it and turned
 * into it. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "obbd.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef OBBD_NO_CURL /* defined by a program whose transport is its own */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers are sent as they lie in memory, which must be little-endian"
#endif

#define DEPTH_MOST 128 /* levels of a value: 64 of an answer, and 64 of data in it */

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* A buffer that grows. Without memory it takes nothing more and says so in `failed`. */
struct bytes {
    unsigned char *data;
    size_t size, room;
    bool failed;
};

static void bytes_free(struct bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

static void bytes_clear(struct bytes *b)
{
    b->size = 0;
    b->failed = false;
}

/* Returns room for `size` more bytes, or NULL. */
static unsigned char *bytes_reserve(struct bytes *b, size_t size)
{
    if (b->failed)
        return NULL;
    if (size > b->room - b->size) {
        size_t room = b->room < 256 ? 256 : b->room;
        while (room - b->size < size)
            room *= 2;
        unsigned char *data = realloc(b->data, room);
        if (data == NULL) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->room = room;
    }
    return b->data + b->size;
}

static void bytes_add(struct bytes *b, const void *from, size_t size)
{
    unsigned char *to = bytes_reserve(b, size);
    if (to == NULL || size == 0)
        return;
    memcpy(to, from, size);
    b->size += size;
}

static void bytes_byte(struct bytes *b, unsigned byte)
{
    const unsigned char one = (unsigned char)byte;
    bytes_add(b, &one, 1);
}

static void bytes_string(struct bytes *b, const char *text) { bytes_add(b, text, strlen(text)); }

/* The bytes as a string: ends them by a zero that does not count. "" without memory. */
static const char *bytes_ended(struct bytes *b)
{
    if (bytes_reserve(b, 1) == NULL)
        return "";
    b->data[b->size] = 0;
    return (const char *)b->data;
}

static bool same_text(obbd_text a, obbd_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

static obbd_text text_of_string(const char *string) { return (obbd_text){string, strlen(string)}; }

bool obbd_is(obbd_text text, const char *other) { return same_text(text, text_of_string(other)); }

static char *copied(const char *string)
{
    const size_t size = strlen(string) + 1;
    char *copy = malloc(size);
    if (copy != NULL)
        memcpy(copy, string, size);
    return copy;
}

/* ---- CBOR, written (RFC 8949; typed arrays RFC 8746) ----------------------------------------- */

enum { WHOLE, MINUS, RAW, TEXT, LIST, MAP, TAG, SIMPLE }; /* major types */
enum { TAG_U8 = 64, TAG_U32 = 70, TAG_F32 = 85, TAG_F64 = 86 };
enum { FALSE_BYTE = 0xf4, TRUE_BYTE = 0xf5, NULL_BYTE = 0xf6 };

/* Writes the head of an item into `out`; returns its size. */
static size_t head_write(unsigned char out[9], unsigned major, uint64_t n)
{
    const unsigned size = n < 24 ? 0 : n <= 0xff ? 1 : n <= 0xffff ? 2 : n <= 0xffffffff ? 4 : 8;
    const unsigned info = size == 0   ? (unsigned)n
                          : size == 1 ? 24U
                          : size == 2 ? 25U
                          : size == 4 ? 26U
                                      : 27U;
    out[0] = (unsigned char)(major << 5 | info);
    for (unsigned i = 0; i < size; i++)
        out[1 + i] = (unsigned char)(n >> (8 * (size - 1 - i)));
    return 1 + size;
}

static void put_head(struct bytes *b, unsigned major, uint64_t n)
{
    unsigned char head[9];
    bytes_add(b, head, head_write(head, major, n));
}

/* Leaves room for the head of a list, map or text whose length is not known yet; returns its
 * place. */
static size_t head_open(struct bytes *b)
{
    bytes_byte(b, 0);
    return b->size - 1;
}

static void head_close(struct bytes *b, size_t at, unsigned major, uint64_t n)
{
    unsigned char head[9];
    const size_t size = head_write(head, major, n);
    if (bytes_reserve(b, size) == NULL)
        return;
    if (size > 1)
        memmove(b->data + at + size, b->data + at + 1, b->size - at - 1);
    memcpy(b->data + at, head, size);
    b->size += size - 1;
}

static void put_text(struct bytes *b, const char *text)
{
    put_head(b, TEXT, strlen(text));
    bytes_string(b, text);
}

static void put_bool(struct bytes *b, bool is) { bytes_byte(b, is ? TRUE_BYTE : FALSE_BYTE); }

static void put_double(struct bytes *b, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bytes_byte(b, 0xfb);
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes_byte(b, (unsigned)(bits >> shift) & 0xff);
}

static void put_doubles(struct bytes *b, size_t n, const double *x)
{
    put_head(b, LIST, n);
    for (size_t i = 0; i < n; i++)
        put_double(b, x[i]);
}

/* The head of a typed array; the numbers follow as they lie in memory. */
static void put_typed_head(struct bytes *b, unsigned tag, size_t size)
{
    put_head(b, TAG, tag);
    put_head(b, RAW, size);
}

static void put_typed(struct bytes *b, unsigned tag, const void *numbers, size_t size)
{
    put_typed_head(b, tag, size);
    bytes_add(b, numbers, size);
}

/* ---- CBOR, read ------------------------------------------------------------------------------ */

struct item {
    unsigned major, info;
    uint64_t n;
    const unsigned char *body; /* behind the head */
};

static bool item_read(const unsigned char *at, const unsigned char *end, struct item *out)
{
    if (at == NULL || at >= end)
        return false;
    out->major = *at >> 5;
    out->info = *at & 31;
    out->n = out->info;
    out->body = at + 1;
    if (out->info < 24)
        return true;
    if (out->info > 27)
        return false;
    const size_t size = (size_t)1 << (out->info - 24);
    if ((size_t)(end - out->body) < size)
        return false;
    out->n = 0;
    for (size_t i = 0; i < size; i++)
        out->n = out->n << 8 | *out->body++;
    return true;
}

/* Returns the end of the value that begins at `at`; NULL if it ends too early. */
static const unsigned char *item_skip(const unsigned char *at, const unsigned char *end)
{
    for (uint64_t left = 1; left > 0; left--) {
        struct item item;
        if (!item_read(at, end, &item))
            return NULL;
        at = item.body;
        const bool counts = item.major >= RAW && item.major <= MAP;
        if (counts && item.n > (uint64_t)(end - at))
            return NULL;
        if (item.major == RAW || item.major == TEXT)
            at += item.n;
        else if (item.major == LIST || item.major == MAP)
            left += item.major == MAP ? 2 * item.n : item.n;
        else if (item.major == TAG)
            left++;
    }
    return at;
}

/* A list of numbers of one type, as they lie in memory. */
struct typed {
    unsigned tag;
    size_t width, n;
    const unsigned char *at;
};

static bool typed_read(obbd_value value, struct typed *out)
{
    struct item tag, raw;
    if (!item_read(value.at, value.end, &tag) || tag.major != TAG ||
        !item_read(tag.body, value.end, &raw) || raw.major != RAW ||
        raw.n > (uint64_t)(value.end - raw.body))
        return false;
    if (tag.n != TAG_U8 && tag.n != TAG_U32 && tag.n != TAG_F32 && tag.n != TAG_F64)
        return false;
    out->tag = (unsigned)tag.n;
    out->width = out->tag == TAG_U8 ? 1 : out->tag == TAG_F64 ? 8 : 4;
    out->n = (size_t)raw.n / out->width;
    out->at = raw.body;
    return raw.n % out->width == 0;
}

static double typed_number(const struct typed *typed, size_t i)
{
    const unsigned char *at = typed->at + i * typed->width;
    if (typed->tag == TAG_F64) {
        double x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    if (typed->tag == TAG_F32) {
        float x;
        memcpy(&x, at, sizeof x);
        return (double)x;
    }
    uint32_t x = *at;
    if (typed->tag == TAG_U32)
        memcpy(&x, at, sizeof x);
    return x;
}

/* Returns how many bytes the character at `at` has; 0 if it is no UTF-8. */
static size_t utf8_size(const unsigned char *at, const unsigned char *end)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t size = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (size < 2)
        return size;
    if (*at >= 0xf8 || (size_t)(end - at) < size)
        return 0;
    uint32_t code = *at & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

static bool utf8_is(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        const size_t size = utf8_size(at, end);
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

/* Returns the end of the value at `at` if all of it is CBOR as far as the contract uses it; else
 * NULL. The accessors below rely on that. */
static const unsigned char *value_check(const unsigned char *at, const unsigned char *end,
                                        int depth)
{
    struct item item;
    if (depth > DEPTH_MOST || !item_read(at, end, &item))
        return NULL;
    const size_t left = (size_t)(end - item.body);
    if (item.major == TEXT)
        return item.n <= left && utf8_is(item.body, item.body + item.n) ? item.body + item.n : NULL;
    if (item.major == TAG) {
        struct typed typed;
        const unsigned char *next = item_skip(at, end);
        struct item raw;
        const bool big =
            (item.n == 2 || item.n == 3) && item_read(item.body, end, &raw) && raw.major == RAW;
        return next != NULL && (big || typed_read((obbd_value){at, next}, &typed)) ? next : NULL;
    }
    if (item.major == LIST || item.major == MAP) {
        if (item.n > left)
            return NULL;
        at = item.body;
        for (uint64_t i = 0; i < item.n; i++) {
            if (item.major == MAP) {
                if (at >= end || *at >> 5 != TEXT)
                    return NULL;
                at = value_check(at, end, depth + 1);
            }
            at = at == NULL ? NULL : value_check(at, end, depth + 1);
            if (at == NULL)
                return NULL;
        }
        return at;
    }
    if (item.major == SIMPLE)
        return (item.info >= 20 && item.info <= 22) || item.info == 26 || item.info == 27
                   ? item.body
                   : NULL;
    return item.major == RAW ? NULL : item.body;
}

/* Returns the bytes as a value; absent if they are no CBOR, or something follows. */
static obbd_value value_of(const struct bytes *b)
{
    const unsigned char *end = b->data + b->size;
    if (b->size == 0 || value_check(b->data, end, 0) != end)
        return (obbd_value){NULL, NULL};
    return (obbd_value){b->data, end};
}

obbd_type obbd_type_of(obbd_value value)
{
    struct item item;
    if (!item_read(value.at, value.end, &item))
        return OBBD_ABSENT;
    if (item.major == TAG)
        return item.n == 2 || item.n == 3 ? OBBD_NUMBER : OBBD_LIST;
    if (item.major == SIMPLE)
        return item.info == 22 ? OBBD_NULL : item.info < 22 ? OBBD_BOOL : OBBD_NUMBER;
    return item.major == TEXT   ? OBBD_TEXT
           : item.major == LIST ? OBBD_LIST
           : item.major == MAP  ? OBBD_MAP
                                : OBBD_NUMBER;
}

obbd_text obbd_text_of(obbd_value value)
{
    struct item item;
    if (!item_read(value.at, value.end, &item) || item.major != TEXT)
        return (obbd_text){"", 0};
    return (obbd_text){(const char *)item.body, (size_t)item.n};
}

size_t obbd_count(obbd_value value)
{
    struct item item;
    struct typed typed;
    if (typed_read(value, &typed))
        return typed.n;
    const bool is = item_read(value.at, value.end, &item);
    return is && (item.major == LIST || item.major == MAP) ? (size_t)item.n : 0;
}

bool obbd_next(obbd_value list, obbd_value *item)
{
    struct item head;
    if (!item_read(list.at, list.end, &head) || (head.major != LIST && head.major != MAP))
        return false;
    const unsigned char *at = item->at == NULL ? head.body : item->end;
    if (at >= list.end)
        return false;
    *item = (obbd_value){at, item_skip(at, list.end)};
    return true;
}

obbd_value obbd_get(obbd_value map, const char *name)
{
    const obbd_text wanted = text_of_string(name);
    obbd_value key = {NULL, NULL};
    if (obbd_type_of(map) != OBBD_MAP)
        return key;
    while (obbd_next(map, &key)) {
        const bool is = same_text(obbd_text_of(key), wanted);
        if (!obbd_next(map, &key) || is)
            return key;
    }
    return (obbd_value){NULL, NULL};
}

double obbd_number(obbd_value value)
{
    struct item item;
    if (!item_read(value.at, value.end, &item))
        return 0;
    if (item.major == WHOLE)
        return (double)item.n;
    if (item.major == MINUS)
        return -1 - (double)item.n;
    if (item.major == SIMPLE && item.info == 27) {
        double x;
        memcpy(&x, &item.n, sizeof x);
        return x;
    }
    if (item.major == SIMPLE && item.info == 26) {
        const uint32_t bits = (uint32_t)item.n;
        float x;
        memcpy(&x, &bits, sizeof x);
        return (double)x;
    }
    if (item.major == TAG && (item.n == 2 || item.n == 3)) {
        struct item raw;
        double x = 0;
        if (item_read(item.body, value.end, &raw))
            for (uint64_t i = 0; i < raw.n; i++)
                x = x * 256 + raw.body[i];
        return item.n == 2 ? x : -1 - x;
    }
    return 0;
}

static uint64_t u64_of(double x) { return x >= 0 && x < 18446744073709551616.0 ? (uint64_t)x : 0; }

static uint64_t whole_of(obbd_value value)
{
    struct item item;
    if (item_read(value.at, value.end, &item) && item.major == WHOLE)
        return item.n;
    return u64_of(obbd_number(value));
}

/* A number as an id or a count; 0 if it is none. */
static uint32_t u32_of(double x) { return x >= 0 && x < 4294967296.0 ? (uint32_t)x : 0; }

bool obbd_true(obbd_value value)
{
    return value.at != NULL && value.at < value.end && *value.at == TRUE_BYTE;
}

size_t obbd_numbers(obbd_value list, size_t n, double *out)
{
    struct typed typed;
    size_t count = 0;
    if (typed_read(list, &typed)) {
        for (; count < n && count < typed.n; count++)
            out[count] = typed_number(&typed, count);
        return count;
    }
    obbd_value item = {NULL, NULL};
    while (count < n && obbd_type_of(list) == OBBD_LIST && obbd_next(list, &item))
        out[count++] = obbd_number(item);
    return count;
}

/* ---- JSON to CBOR ---------------------------------------------------------------------------- */

struct json {
    const char *at, *end;
    struct bytes *out;
};

/* The next character; a zero at the end, as in the text itself. */
static char json_peek(const struct json *j)
{
    if (j->at < j->end)
        return *j->at;
    return '\0';
}

static void json_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

static bool json_word(struct json *j, const char *word, unsigned byte)
{
    const size_t size = strlen(word);
    if ((size_t)(j->end - j->at) < size || memcmp(j->at, word, size) != 0)
        return false;
    j->at += size;
    bytes_byte(j->out, byte);
    return true;
}

static bool json_hex(struct json *j, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        const char c = json_peek(j);
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static void put_utf8(struct bytes *b, uint32_t code)
{
    if (code < 0x80) {
        bytes_byte(b, code);
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes_byte(b, (0xff00U >> (more + 1) & 0xffU) | code >> (6 * more));
    for (int i = more - 1; i >= 0; i--)
        bytes_byte(b, 0x80U | (code >> (6 * i) & 0x3fU));
}

static bool json_escape(struct json *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char c = json_peek(j);
    j->at += j->at < j->end;
    const char *known = c == 0 ? NULL : strchr(from, c);
    if (known != NULL) {
        bytes_byte(j->out, (unsigned char)to[known - from]);
        return true;
    }
    uint32_t code, low;
    if (c != 'u' || !json_hex(j, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u')
            return false;
        j->at += 2;
        if (!json_hex(j, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return false;
    }
    put_utf8(j->out, code);
    return true;
}

static bool json_text(struct json *j)
{
    if (j->at >= j->end || *j->at++ != '"')
        return false;
    const size_t head = head_open(j->out), begin = j->out->size;
    for (;;) {
        const char *run = j->at;
        while (j->at < j->end && *j->at != '"' && *j->at != '\\' && (unsigned char)*j->at >= 0x20)
            j->at++;
        bytes_add(j->out, run, (size_t)(j->at - run));
        if (j->at >= j->end || (unsigned char)*j->at < 0x20)
            return false;
        if (*j->at++ == '"')
            break;
        if (!json_escape(j))
            return false;
    }
    if (j->out->failed || !utf8_is(j->out->data + begin, j->out->data + j->out->size))
        return false;
    head_close(j->out, head, TEXT, j->out->size - begin);
    return true;
}

/* Writes a whole number of any length. */
static void put_whole(struct bytes *b, bool minus, const char *digits, size_t size)
{
    unsigned char big[512] = {0}; /* the least byte first */
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned carry = (unsigned)(digits[i] - '0');
        for (size_t k = 0; k < used || carry > 0; k++) {
            carry += 10U * big[k];
            big[k] = (unsigned char)carry;
            carry >>= 8;
            used = k + 1 > used ? k + 1 : used;
        }
    }
    if (minus && used > 0) /* CBOR says -1 - n */
        for (size_t k = 0; big[k]-- == 0; k++)
            ;
    while (used > 0 && big[used - 1] == 0)
        used--;
    if (used > 8) {
        put_head(b, TAG, minus ? 3 : 2);
        put_head(b, RAW, used);
        while (used > 0)
            bytes_byte(b, big[--used]);
        return;
    }
    uint64_t n = 0;
    while (used > 0)
        n = n << 8 | big[--used];
    put_head(b, minus ? MINUS : WHOLE, n);
}

static bool json_digits(struct json *j)
{
    const char *begin = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return j->at > begin;
}

static bool json_number(struct json *j)
{
    const char *begin = j->at;
    const bool minus = *begin == '-';
    j->at += minus;
    const char *digits = j->at;
    if (!json_digits(j) || (*digits == '0' && j->at > digits + 1))
        return false;
    const size_t count = (size_t)(j->at - digits);
    bool whole = !(minus && *digits == '0');
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        whole = false;
        if (!json_digits(j))
            return false;
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        j->at++;
        whole = false;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if (!json_digits(j))
            return false;
    }
    if (whole && count <= 1200) { /* fewer than 512 bytes */
        put_whole(j->out, minus, digits, count);
        return true;
    }
    /* strtod reads the point of the locale, and needs a zero at the end. */
    const size_t size = (size_t)(j->at - begin);
    char local[64], *copy = size < sizeof local ? local : malloc(size + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, begin, size);
    copy[size] = 0;
    char *point = strchr(copy, '.');
    if (point != NULL)
        *point = localeconv()->decimal_point[0];
    const double x = strtod(copy, NULL);
    if (copy != local)
        free(copy);
    put_double(j->out, x);
    return isfinite(x);
}

static bool json_value(struct json *j, int depth);

static bool json_items(struct json *j, char end, unsigned major, int depth)
{
    const size_t head = head_open(j->out);
    uint64_t n = 0;
    j->at++;
    json_space(j);
    if (j->at < j->end && *j->at == end) {
        j->at++;
        head_close(j->out, head, major, 0);
        return true;
    }
    for (;; n++) {
        json_space(j);
        if (major == MAP) {
            if (!json_text(j))
                return false;
            json_space(j);
            if (j->at >= j->end || *j->at++ != ':')
                return false;
        }
        if (!json_value(j, depth + 1))
            return false;
        json_space(j);
        const char next = json_peek(j);
        j->at += j->at < j->end;
        if (next == end)
            break;
        if (next != ',')
            return false;
    }
    head_close(j->out, head, major, n + 1);
    return true;
}

static bool json_value(struct json *j, int depth)
{
    json_space(j);
    if (depth > DEPTH_MOST || j->at >= j->end)
        return false;
    const char c = *j->at;
    if (c == '{' || c == '[')
        return json_items(j, c == '{' ? '}' : ']', c == '{' ? MAP : LIST, depth);
    if (c == '"')
        return json_text(j);
    if (c == '-' || (c >= '0' && c <= '9'))
        return json_number(j);
    return json_word(j, "true", TRUE_BYTE) || json_word(j, "false", FALSE_BYTE) ||
           json_word(j, "null", NULL_BYTE);
}

/* Adds the value of a JSON text. Returns false, and adds nothing, if it is none. */
static bool put_json(struct bytes *b, const char *text, size_t size)
{
    const size_t before = b->size;
    struct json j = {text, text + size, b};
    bool is = json_value(&j, 0);
    json_space(&j);
    is = is && j.at == j.end;
    if (!is)
        b->size = before;
    return is;
}

/* ---- CBOR to JSON ---------------------------------------------------------------------------- */

/* Writes the shortest digits that read back to the same number. */
static bool json_put_double(struct bytes *b, double x)
{
    char text[40];
    if (!isfinite(x))
        return false;
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    for (char *at = text; *at != 0; at++)
        if (*at == localeconv()->decimal_point[0])
            *at = '.';
    bytes_string(b, text);
    if (x == 0 && signbit(x))
        bytes_string(b, ".0");
    return true;
}

static void json_put_text(struct bytes *b, obbd_text text)
{
    bytes_byte(b, '"');
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        char escape[8];
        if (c == '"' || c == '\\') {
            bytes_byte(b, '\\');
            bytes_byte(b, c);
        } else if (c < 0x20) {
            (void)snprintf(escape, sizeof escape, "\\u%04x", c);
            bytes_string(b, escape);
        } else {
            bytes_byte(b, c);
        }
    }
    bytes_byte(b, '"');
}

/* Writes a whole number of any length: its bytes are divided by ten again and again. */
static void json_put_whole(struct bytes *b, bool minus, const unsigned char *from, size_t size)
{
    unsigned char big[512] = {0}, digits[1300];
    size = size < sizeof big - 1 ? size : sizeof big - 1;
    memcpy(big + 1, from, size);
    size++;
    if (minus) /* -1 - n */
        for (size_t k = size; k > 0 && ++big[k - 1] == 0; k--)
            ;
    size_t count = 0, first = 0;
    do {
        unsigned rest = 0;
        for (size_t k = first; k < size; k++) {
            rest = rest << 8 | big[k];
            big[k] = (unsigned char)(rest / 10);
            rest %= 10;
        }
        digits[count++] = (unsigned char)('0' + rest);
        while (first < size && big[first] == 0)
            first++;
    } while (first < size && count < sizeof digits);
    if (minus)
        bytes_byte(b, '-');
    while (count > 0)
        bytes_byte(b, digits[--count]);
}

/* Adds a value, which was checked, as JSON. Returns false if a number in it is not finite. */
static bool json_put(struct bytes *b, obbd_value value)
{
    struct item item;
    struct typed typed;
    obbd_value member = {NULL, NULL};
    if (!item_read(value.at, value.end, &item))
        return false;
    const obbd_type type = obbd_type_of(value);
    if (type == OBBD_TEXT) {
        json_put_text(b, obbd_text_of(value));
        return true;
    }
    if (typed_read(value, &typed)) {
        bytes_byte(b, '[');
        for (size_t i = 0; i < typed.n; i++) {
            if (i > 0)
                bytes_byte(b, ',');
            if (!json_put_double(b, typed_number(&typed, i)))
                return false;
        }
        bytes_byte(b, ']');
        return true;
    }
    if (type == OBBD_LIST || type == OBBD_MAP) {
        const bool map = type == OBBD_MAP;
        bytes_byte(b, map ? '{' : '[');
        for (size_t i = 0; obbd_next(value, &member); i++) {
            if (i > 0)
                bytes_byte(b, map && i % 2 == 1 ? ':' : ',');
            if (!json_put(b, member))
                return false;
        }
        bytes_byte(b, map ? '}' : ']');
        return true;
    }
    if (item.major == TAG) {
        struct item raw;
        if (item_read(item.body, value.end, &raw))
            json_put_whole(b, item.n == 3, raw.body, (size_t)raw.n);
        return true;
    }
    if (item.major == WHOLE || item.major == MINUS) {
        unsigned char big[8];
        for (unsigned i = 0; i < 8; i++)
            big[i] = (unsigned char)(item.n >> (56 - 8 * i));
        json_put_whole(b, item.major == MINUS, big, sizeof big);
        return true;
    }
    if (type == OBBD_NUMBER)
        return json_put_double(b, obbd_number(value));
    bytes_string(b, type == OBBD_NULL ? "null" : obbd_true(value) ? "true" : "false");
    return true;
}

char *obbd_json(obbd_value value)
{
    struct bytes b = {0};
    if (!json_put(&b, value)) {
        bytes_clear(&b);
        bytes_string(&b, "null");
    }
    (void)bytes_ended(&b);
    if (b.failed)
        bytes_free(&b);
    return (char *)b.data;
}

/* ---- Time ------------------------------------------------------------------------------------ */

#define NEVER 1e300

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void sleep_ms(double ms)
{
    const struct timespec time = {(time_t)(ms / 1e3), (long)(fmod(ms, 1e3) * 1e6)};
    if (ms > 0)
        (void)nanosleep(&time, NULL);
}

static double deadline_of(int timeout_ms) { return timeout_ms < 0 ? NEVER : now_ms() + timeout_ms; }

/* What is left until the deadline, as transports and poll take it. */
static int left_of(double deadline)
{
    if (deadline >= NEVER)
        return -1;
    const double left = ceil(deadline - now_ms());
    return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left;
}

/* ---- Fields of a header ---------------------------------------------------------------------- */

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (char)(c + ('a' - 'A'));
    return c;
}

static bool same_name(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

/* Finds a field among lines of "Name: value". */
static obbd_text field_of(const char *lines, const char *name)
{
    const size_t size = strlen(name);
    while (lines != NULL && *lines != 0) {
        const size_t line = strcspn(lines, "\n");
        if (line > size && lines[size] == ':' && same_name(lines, name, size)) {
            const char *value = lines + size + 1, *end = lines + line;
            while (value < end && (*value == ' ' || *value == '\t'))
                value++;
            while (end > value && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
                end--;
            return (obbd_text){value, (size_t)(end - value)};
        }
        lines += line + (lines[line] == '\n');
    }
    return (obbd_text){"", 0};
}

obbd_text obbd_header(const obbd_reply *reply, const char *name)
{
    return field_of(reply->fields, name);
}

/* ---- HTTP/1.1 on connections that libcurl makes ---------------------------------------------- */

/* libcurl finds the host, connects and speaks TLS. The requests are written here, because libcurl
 * would send one again by itself if a kept connection broke, and because parts go out in one
 * gathered write. */
#ifndef OBBD_NO_CURL

#define IDLE_MS \
    5000.0 /* the daemon closes idle connections after 10 s; the client leaves before that */
#define INPUT     65536
#define IOV_PARTS 64

struct wire {
    char *url;    /* with the scheme */
    char *host;   /* as the header says it */
    char *prefix; /* what the address has behind the host */
    char *path;   /* of a unix socket, or NULL */
    char *ca_file;
    bool secure;
    struct link *idle; /* the last one used first */
    struct bytes head;
    obbd_part *parts;
    size_t part_room;
};

/* A connection, and the exchange on it. */
struct link {
    struct link *next;
    struct wire *wire;
    CURL *easy;
    curl_socket_t socket;
    bool secure;
    double free_since;
    struct bytes fields;
    bool chunked, until_close, kept, ended;
    bool crlf;     /* the end of a chunk is still to be read */
    uint64_t left; /* bytes of the body, or of the chunk */
    size_t from, to;
    char input[INPUT]; /* received and not read: from `from` to `to` */
};

static void link_free(struct link *l)
{
    if (l == NULL)
        return;
    if (l->easy != NULL)
        curl_easy_cleanup(l->easy);
    bytes_free(&l->fields);
    free(l);
}

/* Waits until the socket is ready. Returns 0 or OBBD_LATE or OBBD_BROKEN. */
static int link_wait(const struct link *l, short events, double deadline)
{
    for (;;) {
        struct pollfd one = {.fd = l->socket, .events = events};
        const int n = poll(&one, 1, left_of(deadline));
        if (n > 0)
            return 0;
        if (n == 0)
            return OBBD_LATE;
        if (errno != EINTR)
            return OBBD_BROKEN;
    }
}

static int errno_meaning(void)
{
#if EWOULDBLOCK != EAGAIN
    if (errno == EWOULDBLOCK)
        return OBBD_LATE;
#endif
    return errno == EAGAIN ? OBBD_LATE : OBBD_BROKEN;
}

/* Receives what is there: how many bytes, 0 if the connection was closed, OBBD_LATE if nothing
 * is. */
static long link_try(struct link *l, void *bytes, size_t size)
{
    if (l->secure) {
        size_t got = 0;
        const CURLcode code = curl_easy_recv(l->easy, bytes, size, &got);
        return code == CURLE_OK ? (long)got : code == CURLE_AGAIN ? OBBD_LATE : OBBD_BROKEN;
    }
    for (;;) {
        const ssize_t got = recv(l->socket, bytes, size, MSG_DONTWAIT);
        if (got >= 0)
            return (long)got;
        if (errno != EINTR)
            return errno_meaning();
    }
}

static long link_receive(struct link *l, void *bytes, size_t size, double deadline)
{
    for (;;) {
        const long got = link_try(l, bytes, size);
        if (got != OBBD_LATE)
            return got;
        const int waited = link_wait(l, POLLIN, deadline);
        if (waited != 0)
            return waited;
    }
}

/* Sends as much as goes in one write, from byte `done` of the first part on. */
static long link_send_some(struct link *l, const obbd_part *parts, size_t count, size_t done)
{
    const char *first = parts->bytes;
    if (l->secure) {
        size_t sent = 0;
        const CURLcode code = curl_easy_send(l->easy, first + done, parts->size - done, &sent);
        return code == CURLE_OK ? (long)sent : code == CURLE_AGAIN ? OBBD_LATE : OBBD_BROKEN;
    }
    struct iovec pieces[IOV_PARTS];
    struct msghdr message;
    memset(&message, 0, sizeof message);
    size_t n = 0;
    for (; n < count && n < IOV_PARTS; n++) {
        const uintptr_t at = (uintptr_t)parts[n].bytes; /* sendmsg does not write there */
        pieces[n].iov_base = (void *)(n == 0 ? at + done : at);
        pieces[n].iov_len = n == 0 ? parts[n].size - done : parts[n].size;
    }
    message.msg_iov = pieces;
    message.msg_iovlen = n;
    for (;;) {
        const ssize_t sent = sendmsg(l->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            return (long)sent;
        if (errno != EINTR)
            return errno_meaning();
    }
}

static int link_send(struct link *l, const obbd_part *parts, size_t count, double deadline)
{
    size_t done = 0;
    while (count > 0) {
        if (done >= parts->size) {
            done -= parts->size;
            parts++;
            count--;
            continue;
        }
        const long sent = link_send_some(l, parts, count, done);
        if (sent >= 0) {
            done += (size_t)sent;
            continue;
        }
        const int waited = sent == OBBD_LATE ? link_wait(l, POLLOUT, deadline) : OBBD_BROKEN;
        if (waited != 0)
            return waited;
    }
    return 0;
}

/* Has the daemon closed this idle connection, or said something that nobody asked for? */
static bool link_left(struct link *l)
{
    char byte;
    return l->from < l->to || link_try(l, &byte, 1) != OBBD_LATE;
}

static struct link *wire_take(struct wire *w)
{
    const double oldest = now_ms() - IDLE_MS;
    struct link *taken = NULL;
    while (w->idle != NULL && taken == NULL) {
        struct link *l = w->idle;
        w->idle = l->next;
        if (l->free_since >= oldest && !link_left(l))
            taken = l;
        else
            link_free(l);
    }
    return taken;
}

static struct link *wire_connect(struct wire *w, double deadline, char why[200])
{
    struct link *l = malloc(sizeof *l);
    char error[CURL_ERROR_SIZE] = "";
    if (l == NULL)
        return NULL;
    memset(l, 0, offsetof(struct link, input));
    l->wire = w;
    l->secure = w->secure;
    CURL *easy = l->easy = curl_easy_init();
    CURLcode code = easy == NULL ? CURLE_OUT_OF_MEMORY : CURLE_OK;
    if (easy != NULL) {
        const int left = left_of(deadline);
        (void)curl_easy_setopt(easy, CURLOPT_URL, w->url);
        (void)curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
        (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
        (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, left < 1 ? 1L : (long)left);
        if (w->path != NULL)
            (void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, w->path);
        if (w->ca_file != NULL)
            (void)curl_easy_setopt(easy, CURLOPT_CAINFO, w->ca_file);
        code = curl_easy_perform(easy);
        (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
        if (code == CURLE_OK)
            code = curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &l->socket);
    }
    if (code == CURLE_OK)
        return l;
    (void)snprintf(why, 200, "no connection to %.80s: %.90s", w->path != NULL ? w->path : w->url,
                   error[0] != 0 ? error : curl_easy_strerror(code));
    link_free(l);
    return NULL;
}

/* Finds the end of the next line in the input, receiving more until it is there. Returns the size
 * of the line with its end, or OBBD_BROKEN or OBBD_LATE; then nothing of it is lost. */
static long link_line(struct link *l, double deadline)
{
    size_t looked = 0;
    for (;;) {
        const char *end = memchr(l->input + l->from + looked, '\n', l->to - l->from - looked);
        if (end != NULL)
            return (long)(end - (l->input + l->from)) + 1;
        looked = l->to - l->from;
        if (l->from > 0) {
            memmove(l->input, l->input + l->from, looked);
            l->from = 0;
            l->to = looked;
        }
        if (l->to == INPUT)
            return OBBD_BROKEN;
        const long got = link_receive(l, l->input + l->to, INPUT - l->to, deadline);
        if (got <= 0)
            return got == 0 ? OBBD_BROKEN : got;
        l->to += (size_t)got;
    }
}

/* Reads the header of an answer into l->fields, a line each. Returns the status or less than 0. */
static int link_head(struct link *l, double deadline)
{
    int status = 0;
    do {
        bool first = true;
        bytes_clear(&l->fields);
        for (;; first = false) {
            const long size = link_line(l, deadline);
            if (size < 0)
                return (int)size;
            const char *line = l->input + l->from;
            l->from += (size_t)size;
            const size_t text = (size_t)size - (size >= 2 && line[size - 2] == '\r' ? 2 : 1);
            if (first) {
                if (text < 12 || memcmp(line, "HTTP/1.", 7) != 0)
                    return OBBD_BROKEN;
                status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
                continue;
            }
            if (text == 0)
                break;
            bytes_add(&l->fields, line, text);
            bytes_byte(&l->fields, '\n');
        }
    } while (status >= 100 && status < 200);
    return l->fields.failed || status < 200 || status > 999 ? OBBD_BROKEN : status;
}

static uint64_t digits_of(obbd_text text, unsigned base)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char c = lower(text.bytes[i]);
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                      : base;
        if (digit >= base || n >> 59 != 0)
            break;
        n = n * base + digit;
    }
    return n;
}

static void wire_write_head(struct wire *w, const obbd_http *request)
{
    struct bytes *head = &w->head;
    bytes_clear(head);
    bytes_string(head, request->method);
    bytes_byte(head, ' ');
    bytes_string(head, w->prefix);
    bytes_string(head, request->path);
    bytes_string(head, " HTTP/1.1\r\nHost: ");
    bytes_string(head, w->host);
    bytes_string(head, "\r\n");
    for (size_t i = 0; i < request->field_count; i++) {
        bytes_string(head, request->fields[i].name);
        bytes_string(head, ": ");
        bytes_string(head, request->fields[i].value);
        bytes_string(head, "\r\n");
    }
    if (request->has_body) {
        char length[48];
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n", request->size);
        bytes_string(head, length);
    }
    bytes_string(head, "\r\n");
}

static int wire_send(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                     void **out_exchange)
{
    struct wire *w = context;
    const double deadline = deadline_of(timeout_ms);
    const size_t count = request->part_count + 1;
    if (count > w->part_room) {
        obbd_part *parts = realloc(w->parts, count * sizeof *parts);
        w->parts = parts != NULL ? parts : w->parts;
        w->part_room = parts != NULL ? count : w->part_room;
    }
    wire_write_head(w, request);
    if (count > w->part_room || w->head.failed) {
        (void)snprintf(head->why, sizeof head->why, "no memory");
        return OBBD_REFUSED;
    }
    w->parts[0] = (obbd_part){w->head.data, w->head.size};
    if (request->part_count > 0)
        memcpy(w->parts + 1, request->parts, request->part_count * sizeof *w->parts);
    struct link *l = wire_take(w);
    if (l == NULL)
        l = wire_connect(w, deadline, head->why);
    if (l == NULL)
        return OBBD_REFUSED;
    /* A daemon that refuses a body may answer and close before it has read all. */
    const int sent = link_send(l, w->parts, count, deadline);
    const int status = sent == OBBD_LATE ? OBBD_LATE : link_head(l, deadline);
    if (status < 0) {
        (void)snprintf(head->why, sizeof head->why, "%s",
                       status == OBBD_LATE ? "no answer in time" : "the connection broke");
        link_free(l);
        return status;
    }
    head->status = status;
    head->fields = bytes_ended(&l->fields);
    const obbd_text length = field_of(head->fields, "Content-Length");
    const bool empty = strcmp(request->method, "HEAD") == 0 || status == 204 || status == 304;
    l->chunked = !empty && field_of(head->fields, "Transfer-Encoding").size > 0;
    l->until_close = !empty && !l->chunked && length.size == 0;
    l->left = empty || l->chunked ? 0 : digits_of(length, 10);
    const obbd_text close = field_of(head->fields, "Connection");
    l->kept =
        sent == 0 && !l->until_close && !(close.size == 5 && same_name(close.bytes, "close", 5));
    l->ended = !l->chunked && !l->until_close && l->left == 0;
    l->crlf = false;
    *out_exchange = l;
    return 0;
}

/* Reads the line that begins a chunk, and the lines behind the last. Returns 0 or less. */
static long link_chunk(struct link *l, double deadline)
{
    for (;;) {
        const long size = link_line(l, deadline);
        if (size < 0)
            return size;
        const obbd_text line = {l->input + l->from, (size_t)size};
        l->from += line.size;
        if (l->crlf) {
            l->crlf = false;
            continue;
        }
        l->left = digits_of(line, 16);
        if (l->left > 0)
            return 0;
        if (line.bytes[0] != '0')
            return OBBD_BROKEN;
        l->ended = true;
        if (link_line(l, deadline) == 2) /* no trailers: the daemon sends none */
            l->from += 2;
        else
            l->kept = false;
        return 0;
    }
}

static long wire_read(void *context, void *exchange, void *bytes, size_t size, int timeout_ms)
{
    struct link *l = exchange;
    const double deadline = deadline_of(timeout_ms);
    (void)context;
    if (!l->ended && l->chunked && l->left == 0) {
        const long begun = link_chunk(l, deadline);
        if (begun < 0)
            return begun;
    }
    if (l->ended)
        return 0;
    if (!l->until_close && size > l->left)
        size = (size_t)l->left;
    long got;
    if (l->from < l->to) {
        got = (long)(size < l->to - l->from ? size : l->to - l->from);
        memcpy(bytes, l->input + l->from, (size_t)got);
        l->from += (size_t)got;
    } else {
        l->from = l->to = 0;
        got = link_receive(l, bytes, size, deadline);
        if (got < 0)
            return got;
    }
    if (l->until_close) {
        l->ended = got == 0;
        return got;
    }
    if (got == 0)
        return OBBD_BROKEN;
    l->left -= (uint64_t)got;
    l->crlf = l->chunked && l->left == 0;
    l->ended = !l->chunked && l->left == 0;
    return got;
}

static void wire_end(void *context, void *exchange)
{
    struct link *l = exchange;
    (void)context;
    if (!l->ended || !l->kept) {
        link_free(l);
        return;
    }
    l->free_since = now_ms();
    l->next = l->wire->idle;
    l->wire->idle = l;
}

static void wire_free(struct wire *w)
{
    if (w == NULL)
        return;
    while (w->idle != NULL) {
        struct link *l = w->idle;
        w->idle = l->next;
        link_free(l);
    }
    free(w->url);
    free(w->host);
    free(w->prefix);
    free(w->path);
    free(w->ca_file);
    free(w->parts);
    bytes_free(&w->head);
    free(w);
    curl_global_cleanup();
}

static struct wire *wire_new(const char *base, const char *socket_path, const char *ca_file)
{
    struct wire *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    const char *host = strstr(base, "://") + 3;
    w->secure = strncmp(base, "https", 5) == 0;
    w->url = copied(base);
    w->host = copied(host);
    w->prefix = copied(host + strcspn(host, "/"));
    w->path = socket_path != NULL ? copied(socket_path) : NULL;
    w->ca_file = ca_file != NULL ? copied(ca_file) : NULL;
    if (w->url != NULL && w->host != NULL && w->prefix != NULL &&
        (socket_path == NULL) == (w->path == NULL) && (ca_file == NULL) == (w->ca_file == NULL)) {
        w->host[strcspn(w->host, "/")] = 0;
        return w;
    }
    wire_free(w);
    return NULL;
}

#endif

/* ---- The service ----------------------------------------------------------------------------- */

#define ADDRESS       "http://localhost:7480"
#define TYPE_CBOR     "application/cbor"
#define TYPE_JSON     "application/json"
#define TYPE_PROBLEM  "application/problem+json"
#define TYPE_LINES    "application/x-ndjson"
#define TYPE_EVENTS   "text/event-stream"
#define TIMEOUT_MS    10000
#define RETRIES       3
#define WAIT_FIRST_MS 50.0 /* before another attempt, if the daemon names no time */
#define WAIT_MOST_MS  2000.0
#define EPOCH_SIZE    17 /* 16 hex digits and a zero */
#define SMALL_PART \
    512 /* bytes that are copied beside others rather than sent from where they lie */
#define READ_AT_ONCE    65536
#define PAGE_OF_BOXES   "10000"
#define SILENCE_MS      45000 /* three comments of the daemon */
#define WAIT_LEAST_MS   250.0 /* before a stream is made again */
#define WAIT_STREAM_MS  5000.0
#define REOPEN_LEAST_MS 1000

/* What came back: the header, and the body as it came. */
struct incoming {
    int status;
    struct bytes fields, body, json; /* json: of an answer that came in JSON, as CBOR */
    obbd_value value;
};

struct why {
    obbd_problem problem;
    struct bytes text; /* where its strings are */
};

struct obbd {
    char *base, *path; /* for curl lines; the path of a unix socket, or NULL */
    char *token;       /* "Bearer ...", or NULL */
    const char *(*token_of)(void *context, bool refused);
    void *token_context;
    int timeout_ms, retries;
    bool debug;
    char *misused; /* what is wrong with the address, or NULL */
    obbd_transport transport;
#ifndef OBBD_NO_CURL
    struct wire *wire;
#endif
    uint64_t random;
    char session[EPOCH_SIZE];
    uint64_t commits;
    struct why why;
    obbd_field *fields;
    size_t field_room;
    struct incoming last;
    obbd_reply reply;
    bool replied;
    struct bytes body, scratch, lines;
    struct scene *scenes;
    obbd_tick *ticks;
    obbd_events *events;
    obbd_stream *streams;
};

static void incoming_clear(struct incoming *in)
{
    in->status = 0;
    bytes_clear(&in->fields);
    bytes_clear(&in->body);
    bytes_clear(&in->json);
    in->value = (obbd_value){NULL, NULL};
}

static void incoming_free(struct incoming *in)
{
    bytes_free(&in->fields);
    bytes_free(&in->body);
    bytes_free(&in->json);
}

const char *obbd_error_name(obbd_error error)
{
    static const char *const names[] = {"Fine",    "Problem",    "Lost",    "Disconnected",
                                        "Unknown", "Unanswered", "Misused", "NoMemory"};
    return (size_t)error < sizeof names / sizeof *names ? names[error] : "";
}

/* Notes why a call fails; texts may be what was noted before. */
static obbd_error fail(obbd *o, obbd_error error, int status, obbd_text type, obbd_text detail,
                       obbd_text pointer)
{
    struct bytes b = {0};
    bytes_add(&b, type.bytes, type.size);
    bytes_byte(&b, 0);
    const size_t at_detail = b.size;
    bytes_add(&b, detail.bytes, detail.size);
    bytes_byte(&b, 0);
    const size_t at_pointer = b.size;
    bytes_add(&b, pointer.bytes, pointer.size);
    bytes_byte(&b, 0);
    const size_t at_text = b.size;
    bytes_add(&b, detail.bytes, detail.size);
    if (pointer.size > 0) {
        bytes_string(&b, " (");
        bytes_add(&b, pointer.bytes, pointer.size);
        bytes_byte(&b, ')');
    }
    bytes_byte(&b, 0);
    bytes_free(&o->why.text);
    o->why.text = b;
    if (b.failed) {
        o->why.problem = (obbd_problem){OBBD_NO_MEMORY, 0, "", "no memory", NULL, "no memory"};
        return OBBD_NO_MEMORY;
    }
    const char *texts = (const char *)b.data;
    o->why.problem = (obbd_problem){
        .error = error,
        .status = status,
        .type = texts,
        .detail = texts + at_detail,
        .pointer = pointer.size > 0 ? texts + at_pointer : NULL,
        .text = texts + at_text,
    };
    return error;
}

static obbd_error fail_with(obbd *o, obbd_error error, const char *detail)
{
    const obbd_text none = {"", 0};
    return fail(o, error, 0, none, text_of_string(detail), none);
}

static void fine(obbd *o) { o->why.problem = (obbd_problem){OBBD_FINE, 0, "", "", NULL, ""}; }

const obbd_problem *obbd_why(const obbd *o) { return &o->why.problem; }

/* A number from 0 to 1. */
static double random_of(obbd *o)
{
    o->random ^= o->random << 13;
    o->random ^= o->random >> 7;
    o->random ^= o->random << 17;
    return (double)(o->random >> 11) / 9007199254740992.0;
}

static void random_begin(obbd *o)
{
    uint64_t session = 0;
    FILE *file = fopen("/dev/urandom", "rb");
    if (file == NULL || fread(&session, sizeof session, 1, file) != 1)
        session = (uint64_t)(now_ms() * 1e6) ^ (uint64_t)(uintptr_t)o;
    if (file != NULL)
        (void)fclose(file);
    o->random = session | 1;
    (void)snprintf(o->session, sizeof o->session, "%016llx", (unsigned long long)session);
}

/* Returns false without memory. */
static bool token_take(obbd *o, const char *token)
{
    static const char bearer[] = "Bearer ";
    free(o->token);
    o->token = NULL;
    if (token == NULL || *token == 0)
        return true;
    const size_t size = sizeof bearer + strlen(token);
    o->token = malloc(size);
    if (o->token != NULL)
        (void)snprintf(o->token, size, "%s%s", bearer, token);
    return o->token != NULL;
}

/* Returns the first byte that must not stand in a head: a control character, and a blank unless
 * `blanks` says otherwise. A byte of 0 is the end of a text that has none. */
static unsigned char wrong_byte_of(const char *text, bool blanks)
{
    for (; *text != 0; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool blank = c == ' ' || c == '\t';
        if (blank ? !blanks : c < ' ' || c == 0x7f)
            return c;
    }
    return 0;
}

/* Sets the address and the transport. Returns false without memory. */
static bool address_take(obbd *o, const char *url, const obbd_options *options)
{
    const bool over_socket = strncmp(url, "unix:", 5) == 0;
    const char *base = over_socket ? "http://localhost" : url;
    const bool known = strncmp(base, "http://", 7) == 0 || strncmp(base, "https://", 8) == 0;
    const char *host = known ? strstr(base, "://") + 3 : "";
    o->base = copied(base);
    o->path = over_socket ? copied(url + 5) : NULL;
    if (o->base == NULL || (over_socket && o->path == NULL))
        return false;
    for (size_t size = strlen(o->base); size > 0 && o->base[size - 1] == '/'; size--)
        o->base[size - 1] = 0;
    if (*host == 0 || *host == '/' || strpbrk(host, "?#") != NULL ||
        wrong_byte_of(host, false) != 0) {
        static const char wrong[] =
            "found the address \"%s\"; it is http://..., https://... or unix:/path";
        const size_t size = sizeof wrong + strlen(url);
        o->misused = malloc(size);
        if (o->misused == NULL)
            return false;
        (void)snprintf(o->misused, size, wrong, url);
        fail_with(o, OBBD_MISUSED, o->misused);
        return true;
    }
    if (options->transport != NULL) {
        o->transport = *options->transport;
        return true;
    }
#ifdef OBBD_NO_CURL
    o->misused = copied("found no transport; this client is built without libcurl");
    return o->misused != NULL;
#else
    o->wire = wire_new(o->base, o->path, options->ca_file);
    o->transport = (obbd_transport){o->wire, wire_send, wire_read, wire_end};
    return o->wire != NULL;
#endif
}

obbd *obbd_open(const char *url, const obbd_options *options)
{
    static const obbd_options defaults;
    obbd *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    options = options != NULL ? options : &defaults;
    const char *debug = getenv("OBBD_DEBUG");
    o->debug = debug != NULL && strcmp(debug, "1") == 0;
    o->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS;
    o->retries = options->retries == 0 ? RETRIES : options->retries < 0 ? 0 : options->retries;
    o->token_of = options->token_of;
    o->token_context = options->token_context;
    fine(o);
    random_begin(o);
    const bool asks = options->token != NULL || options->token_of != NULL;
    const bool taken = token_take(o, asks ? options->token : getenv("OBBD_TOKEN"));
    url = url != NULL ? url : getenv("OBBD_URL");
    if (!taken || !address_take(o, url != NULL && *url != 0 ? url : ADDRESS, options)) {
        obbd_close(o);
        return NULL;
    }
    return o;
}

/* ---- Requests as commands for a shell -------------------------------------------------------- */

static void put_quoted(struct bytes *b, const char *text, size_t size)
{
    bytes_byte(b, '\'');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'')
            bytes_string(b, "'\\'");
        bytes_byte(b, (unsigned char)text[i]);
    }
    bytes_byte(b, '\'');
}

/* Prints the command that sends the same request. A body in CBOR becomes JSON, and a token
 * $TOKEN. */
static void print_curl(obbd *o, const obbd_http *request)
{
    struct bytes line = {0}, body = {0};
    bool cbor = false;
    bytes_string(&line, "curl -s -X ");
    bytes_string(&line, request->method);
    if (o->path != NULL) {
        bytes_string(&line, " --unix-socket ");
        put_quoted(&line, o->path, strlen(o->path));
    }
    for (size_t i = 0; i < request->field_count; i++) {
        const char *name = request->fields[i].name, *value = request->fields[i].value;
        cbor = cbor || (strcmp(name, "Content-Type") == 0 && strcmp(value, TYPE_CBOR) == 0);
        if (strcmp(name, "Authorization") == 0) {
            bytes_string(&line, " -H \"Authorization: Bearer $TOKEN\"");
        } else if (strcmp(value, TYPE_JSON) != 0 && strcmp(value, TYPE_CBOR) != 0) {
            struct bytes field = {0};
            bytes_string(&field, name);
            bytes_string(&field, ": ");
            bytes_string(&field, value);
            bytes_string(&line, " -H ");
            put_quoted(&line, (const char *)field.data, field.size);
            bytes_free(&field);
        }
    }
    if (request->has_body) {
        struct bytes json = {0};
        for (size_t i = 0; i < request->part_count; i++)
            bytes_add(&body, request->parts[i].bytes, request->parts[i].size);
        const bool as_json = cbor && json_put(&json, value_of(&body));
        bytes_string(&line, " --json ");
        put_quoted(&line, (const char *)(as_json ? json.data : body.data),
                   as_json ? json.size : body.size);
        bytes_free(&json);
    }
    bytes_byte(&line, ' ');
    struct bytes address = {0};
    bytes_string(&address, o->base);
    bytes_string(&address, request->path);
    put_quoted(&line, (const char *)address.data, address.size);
    (void)fprintf(stderr, "%s\n", bytes_ended(&line));
    bytes_free(&address);
    bytes_free(&line);
    bytes_free(&body);
}

/* ---- Sending: what may be sent again, and how long to wait ----------------------------------- */

/* A request of this client, to be sent by the rules. */
struct sending {
    const char *method, *path;
    const obbd_field *fields;
    size_t field_count;
    const obbd_part *parts;
    size_t part_count;
    bool has_body;
    bool changes;   /* if the connection breaks behind it, nobody can tell whether it was applied */
    bool again;     /* it may be sent again all the same, because the daemon knows it again */
    int timeout_ms; /* for all attempts */
    int retries;
    void **stream; /* the exchange of an answer that goes on: only its head is awaited */
};

static bool fields_room(obbd *o, size_t count)
{
    if (count <= o->field_room)
        return true;
    obbd_field *fields = realloc(o->fields, count * sizeof *fields);
    if (fields == NULL)
        return false;
    o->fields = fields;
    o->field_room = count;
    return true;
}

/* Reads the body that belongs to in->fields. Returns 0 or what the transport returned. */
static int body_read(obbd *o, void *exchange, struct incoming *in, double deadline)
{
    for (;;) {
        unsigned char *room = bytes_reserve(&in->body, READ_AT_ONCE);
        if (room == NULL)
            return OBBD_BROKEN;
        const long got = o->transport.read(o->transport.context, exchange, room, READ_AT_ONCE,
                                           left_of(deadline));
        if (got <= 0)
            return (int)got;
        in->body.size += (size_t)got;
    }
}

/* The media type of the body, without its parameters; empty if the header names none. */
static obbd_text type_of(const struct incoming *in)
{
    obbd_text type = field_of((const char *)in->fields.data, "Content-Type");
    type.size = type.size == 0 ? 0 : strcspn(type.bytes, "; \t\r\n");
    return type;
}

static bool is_type(obbd_text type, const char *other)
{
    return type.size == strlen(other) && same_name(type.bytes, other, type.size);
}

/* Reads the value of a body in CBOR or JSON. Returns false if it says to be one and is not. */
static bool incoming_read(struct incoming *in)
{
    const obbd_text type = type_of(in);
    if (in->body.size == 0)
        return true;
    if (is_type(type, TYPE_CBOR)) {
        in->value = value_of(&in->body);
        return in->value.at != NULL;
    }
    if (!is_type(type, TYPE_JSON) && !is_type(type, TYPE_PROBLEM))
        return true;
    if (!put_json(&in->json, (const char *)in->body.data, in->body.size))
        return false;
    in->value = value_of(&in->json);
    return in->value.at != NULL;
}

/* The types in which the daemon answers a request under /v1/: that of lines or of events, if the
 * request accepts only that, else each of the four. Returns how many; 0 for other paths, which have
 * types of their own. */
static size_t expected_of(const obbd_http *request, const char *types[4])
{
    static const char *const all[] = {TYPE_JSON, TYPE_CBOR, TYPE_LINES, TYPE_EVENTS};
    if (strncmp(request->path, "/v1/", 4) != 0)
        return 0;
    memcpy(types, all, sizeof all);
    for (size_t i = 0; i < request->field_count; i++) {
        const obbd_field *field = &request->fields[i];
        if (strlen(field->name) != 6 || !same_name(field->name, "accept", 6))
            continue;
        if (strcmp(field->value, TYPE_LINES) == 0 || strcmp(field->value, TYPE_EVENTS) == 0) {
            types[0] = field->value;
            return 1;
        }
    }
    return 4;
}

/* Is this an answer of the daemon? Between here and there may be somebody who says 200 and means a
 * page to log in. */
static bool answers(const struct incoming *in, const char *const *types, size_t count)
{
    const obbd_text length = field_of((const char *)in->fields.data, "Content-Length");
    if (count == 0 || in->status == 204 || in->status == 304 || obbd_is(length, "0"))
        return true;
    const obbd_text type = type_of(in);
    for (size_t i = 0; i < count; i++)
        if (is_type(type, types[i]))
            return true;
    return false;
}

/* Says that the answer is of none of these types. */
static obbd_error fail_of_type(obbd *o, const struct incoming *in, const char *const *types,
                               size_t count)
{
    const obbd_text type = type_of(in);
    char detail[300];
    int size = snprintf(detail, sizeof detail,
                        "found %.*s, as another server or a proxy would send it; an answer is",
                        type.size == 0   ? 7
                        : type.size < 80 ? (int)type.size
                                         : 80,
                        type.size == 0 ? "no type" : type.bytes);
    for (size_t i = 0; i < count; i++)
        size += snprintf(detail + size, sizeof detail - (size_t)size, "%s %s", i == 0 ? "" : " or",
                         types[i]);
    return fail(o, OBBD_PROBLEM, in->status, text_of_string(""), text_of_string(detail),
                text_of_string(""));
}

static obbd_error fail_as_told(obbd *o, const struct incoming *in)
{
    const obbd_text detail = obbd_text_of(obbd_get(in->value, "detail"));
    char other[128];
    (void)snprintf(
        other, sizeof other,
        "found the status %d without a problem, as another server or a proxy would send it",
        in->status);
    return fail(o, OBBD_PROBLEM, in->status, obbd_text_of(obbd_get(in->value, "type")),
                detail.size > 0 ? detail : text_of_string(other),
                obbd_text_of(obbd_get(in->value, "pointer")));
}

static obbd_error fail_unknown(obbd *o)
{
    char detail[600];
    (void)snprintf(detail, sizeof detail, "%.500s; the change was made or not",
                   o->why.problem.text);
    return fail_with(o, OBBD_UNKNOWN, detail);
}

/* Is this no answer to the request? A redirect is none: the daemon sends none, and the address is
 * the program's to change. */
static bool refuses(int status) { return status >= 300 && status != 304; }

/* Makes one attempt. Returns OBBD_FINE, OBBD_PROBLEM or OBBD_DISCONNECTED; *out_refused says that
 * nothing can have arrived. */
static obbd_error attempt(obbd *o, const struct sending *s, const obbd_http *request,
                          struct incoming *in, double deadline, bool *out_refused)
{
    obbd_head head;
    void *exchange = NULL;
    memset(&head, 0, sizeof head);
    incoming_clear(in);
    *out_refused = false;
    const int sent =
        o->transport.send(o->transport.context, request, left_of(deadline), &head, &exchange);
    if (sent < 0) {
        *out_refused = sent == OBBD_REFUSED;
        return fail_with(o, OBBD_DISCONNECTED, head.why);
    }
    in->status = head.status;
    bytes_string(&in->fields, head.fields);
    (void)bytes_ended(&in->fields);
    const char *types[4];
    const size_t expected = expected_of(request, types);
    const bool is_answer =
        in->fields.failed || refuses(head.status) || answers(in, types, expected);
    if (s->stream != NULL && !refuses(head.status) && is_answer) {
        *s->stream = exchange;
        return in->fields.failed ? fail_with(o, OBBD_NO_MEMORY, "no memory") : OBBD_FINE;
    }
    const int read = body_read(o, exchange, in, deadline);
    o->transport.end(o->transport.context, exchange);
    if (in->fields.failed || in->body.failed)
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    if (read < 0)
        return fail_with(o, OBBD_DISCONNECTED,
                         read == OBBD_LATE ? "no answer in time" : "the connection broke");
    if (!is_answer)
        return fail_of_type(o, in, types, expected);
    const bool is_read = incoming_read(in);
    if (refuses(head.status))
        return fail_as_told(o, in);
    return is_read ? OBBD_FINE : fail_with(o, OBBD_DISCONNECTED, "the answer cannot be read");
}

/* Checks that no part of the head ends it early, as a token does that was read with the end of its
 * line. The detail does not tell the token. */
static obbd_error head_check(obbd *o, const obbd_http *request)
{
    static const char marks[] = "!#$%&'*+-.^_`|~0123456789" /* RFC 9110, 5.6.2 */
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char word[] = "letters, digits and some marks stand there",
                      line[] = "printable characters, blanks and tabs stand there";
    char where[100] = "", detail[200];
    const char *allowed = word;
    unsigned char found = (unsigned char)request->method[strspn(request->method, marks)];
    if (found != 0 || *request->method == 0) {
        (void)snprintf(where, sizeof where, "the method");
    } else if (*request->path == 0 || (found = wrong_byte_of(request->path, false)) != 0) {
        (void)snprintf(where, sizeof where, "the path");
        allowed = "printable characters stand there, a blank as %20";
    }
    for (size_t i = 0; where[0] == 0 && i < request->field_count; i++) {
        const char *name = request->fields[i].name;
        found = (unsigned char)name[strspn(name, marks)];
        if (found != 0 || *name == 0) {
            (void)snprintf(where, sizeof where, "the name of a header");
        } else if ((found = wrong_byte_of(request->fields[i].value, true)) != 0) {
            if (i == 0 && o->token != NULL)
                (void)snprintf(where, sizeof where, "the token");
            else
                (void)snprintf(where, sizeof where, "the header %.80s", name);
            allowed = line;
        }
    }
    if (where[0] == 0)
        return OBBD_FINE;
    (void)snprintf(detail, sizeof detail, "found the byte 0x%02X in %s; %s", (unsigned)found, where,
                   allowed);
    return fail_with(o, OBBD_MISUSED, detail);
}

/* Sends a request by the rules and reads its answer. Returns OBBD_FINE or what obbd_why says. */
static obbd_error send_by_rules(obbd *o, const struct sending *s, struct incoming *in)
{
    if (o->misused != NULL)
        return fail_with(o, OBBD_MISUSED, o->misused);
    if (!fields_room(o, s->field_count + 1))
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    if (o->token == NULL && o->token_of != NULL &&
        !token_take(o, o->token_of(o->token_context, false)))
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    const double deadline = now_ms() + s->timeout_ms;
    obbd_http request = {.method = s->method,
                         .path = s->path,
                         .fields = o->fields,
                         .parts = s->parts,
                         .part_count = s->part_count,
                         .has_body = s->has_body};
    for (size_t i = 0; i < s->part_count; i++)
        request.size += s->parts[i].size;
    bool cut = false, refused_token = false;
    int cancelled = 0;
    for (int tries = 0;; tries++) {
        request.field_count = 0;
        if (o->token != NULL)
            o->fields[request.field_count++] = (obbd_field){"Authorization", o->token};
        if (s->field_count > 0)
            memcpy(o->fields + request.field_count, s->fields, s->field_count * sizeof *s->fields);
        request.field_count += s->field_count;
        obbd_error error = head_check(o, &request);
        if (error != OBBD_FINE)
            return error;
        if (o->debug && tries == 0)
            print_curl(o, &request);
        const double longer = WAIT_FIRST_MS * (double)(1U << (tries < 16 ? tries : 16));
        double wait = (longer < WAIT_MOST_MS ? longer : WAIT_MOST_MS) * (0.5 + random_of(o) / 2);
        bool refused, last = tries >= s->retries;
        error = attempt(o, s, &request, in, deadline, &refused);
        if (error == OBBD_FINE) {
            fine(o);
            return OBBD_FINE;
        }
        if (error == OBBD_PROBLEM) {
            if (in->status == 401 && o->token_of != NULL && !refused_token) {
                refused_token = true;
                if (!token_take(o, o->token_of(o->token_context, true)))
                    return fail_with(o, OBBD_NO_MEMORY, "no memory");
                tries--;
                continue;
            }
            if (in->status != 429 && in->status != 503)
                return error;
            /* Took longer than --request-timeout, or the service ends: worth one more attempt. */
            if (strcmp(o->why.problem.type, "/problems/cancelled") == 0)
                last = last || ++cancelled > 1;
            wait +=
                1e3 * strtod(field_of((const char *)in->fields.data, "Retry-After").bytes, NULL);
        } else if (error == OBBD_DISCONNECTED) {
            cut = cut || !refused;
            last = last || (!refused && s->changes && !s->again);
        } else { /* no memory to read the answer */
            return s->changes ? fail_unknown(o) : error;
        }
        if (last || now_ms() + wait >= deadline)
            return cut && s->changes ? fail_unknown(o) : error;
        sleep_ms(wait);
    }
}

/* ---- Scenes: what the client knows of them --------------------------------------------------- */

struct known {
    uint32_t hash; /* 0: the place is empty */
    uint32_t id;   /* 0: forgotten */
    size_t at, size;
};

/* Ids by name: places of a power of two, probed one after the other. */
struct table {
    struct known *places;
    size_t room, used;
    struct bytes names;
};

/* An array of ids that was given out, and when. */
struct given {
    struct given *next;
    char epoch[EPOCH_SIZE];
    size_t n;
    uint32_t ids[];
};

struct scene {
    struct scene *next;
    char *name, *path, *commit_path;
    char *page;                    /* NULL if the daemon has no address that a browser takes */
    char epoch[EPOCH_SIZE];        /* "" until an answer says it */
    char epoch_of_ids[EPOCH_SIZE]; /* when an id was asked for last */
    struct table ids;
    struct given *given;
    void (*put)(void *context, obbd_tick *t);
    void *put_context;
    obbd_tick *put_tick;
    bool owed;       /* the scene was lost, and `put` has not succeeded since */
    bool putting;    /* `put` runs */
    bool put_failed; /* so did the last commit of `put_tick` */
};

static uint32_t hash_of(obbd_text name)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (unsigned char)name.bytes[i]) * 16777619U;
    return hash | 1;
}

/* Returns the place of a name, or the empty one where it belongs. The table is never full. */
static struct known *table_find(const struct table *table, obbd_text name, uint32_t hash)
{
    for (size_t i = hash;; i++) {
        struct known *place = &table->places[i & (table->room - 1)];
        if (place->hash == 0)
            return place;
        const obbd_text there = {(const char *)table->names.data + place->at, place->size};
        if (place->hash == hash && same_text(there, name))
            return place;
    }
}

static void table_add(struct table *table, obbd_text name, uint32_t id);

/* Makes room for one more name, without those that were forgotten. */
static bool table_grow(struct table *table)
{
    if (4 * (table->used + 1) <= 3 * table->room)
        return true;
    struct table grown = {0};
    size_t live = 0;
    for (size_t i = 0; i < table->room; i++)
        live += table->places[i].id != 0;
    grown.room = 64;
    while (grown.room < 2 * (live + 1))
        grown.room *= 2;
    grown.places = calloc(grown.room, sizeof *grown.places);
    if (grown.places == NULL)
        return false;
    for (size_t i = 0; i < table->room; i++) {
        const struct known *place = &table->places[i];
        if (place->id != 0)
            table_add(&grown, (obbd_text){(const char *)table->names.data + place->at, place->size},
                      place->id);
    }
    free(table->places);
    bytes_free(&table->names);
    *table = grown;
    return true;
}

static void table_add(struct table *table, obbd_text name, uint32_t id)
{
    if (!table_grow(table))
        return; /* the id stays unknown */
    struct known *place = table_find(table, name, hash_of(name));
    if (place->hash == 0) {
        const size_t at = table->names.size;
        bytes_add(&table->names, name.bytes, name.size);
        if (table->names.failed) {
            table->names.failed = false;
            return;
        }
        *place = (struct known){hash_of(name), 0, at, name.size};
        table->used++;
    }
    place->id = id;
}

static uint32_t table_id(const struct table *table, obbd_text name)
{
    return table->room == 0 ? 0 : table_find(table, name, hash_of(name))->id;
}

static void table_remove(struct table *table, obbd_text name)
{
    if (table->room > 0)
        table_find(table, name, hash_of(name))->id = 0;
}

static void table_clear(struct table *table)
{
    if (table->room > 0)
        memset(table->places, 0, table->room * sizeof *table->places);
    table->used = 0;
    bytes_clear(&table->names);
}

/* Adds text as it stands in a path or a query string: letters, digits and a few marks as they
 * are. */
static void put_escaped(struct bytes *b, const char *text)
{
    for (; *text != 0; text++) {
        const char c = *text;
        const bool plain = (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
                           c == '-' || c == '_' || c == '.' || c == '~';
        char escape[4];
        (void)snprintf(escape, sizeof escape, "%%%02X", (unsigned char)c);
        if (plain)
            bytes_byte(b, (unsigned char)c);
        else
            bytes_string(b, escape);
    }
}

static void scene_free(struct scene *s)
{
    while (s->given != NULL) {
        struct given *given = s->given;
        s->given = given->next;
        free(given);
    }
    free(s->ids.places);
    bytes_free(&s->ids.names);
    free(s->name);
    free(s->path);
    free(s->commit_path);
    free(s->page);
    free(s);
}

/* Returns what is known of the scene of this name; NULL without memory. */
static struct scene *scene_of(obbd *o, const char *name)
{
    for (struct scene *s = o->scenes; s != NULL; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    struct scene *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    const bool has_page = o->path == NULL && o->misused == NULL;
    struct bytes path = {0}, page = {0};
    bytes_string(&path, "/v1/scenes/");
    put_escaped(&path, name);
    s->name = copied(name);
    s->path = copied(bytes_ended(&path));
    bytes_string(&path, "/commit");
    s->commit_path = copied(bytes_ended(&path));
    if (has_page) {
        bytes_string(&page, o->base);
        bytes_string(&page, "/#");
        put_escaped(&page, name);
        s->page = copied(bytes_ended(&page));
    }
    const bool is = !path.failed && !page.failed && s->name != NULL && s->path != NULL &&
                    s->commit_path != NULL && (s->page != NULL || !has_page);
    bytes_free(&page);
    bytes_free(&path);
    if (!is) {
        scene_free(s);
        return NULL;
    }
    s->next = o->scenes;
    o->scenes = s;
    return s;
}

void obbd_on_lost(obbd *o, const char *scene, void (*put)(void *context, obbd_tick *t),
                  void *context)
{
    struct scene *s = scene_of(o, scene);
    if (s == NULL)
        return;
    s->put = put;
    s->put_context = context;
    s->owed = s->owed && put != NULL;
}

static void scene_forget(struct scene *s)
{
    table_clear(&s->ids);
    s->epoch[0] = 0;
}

static bool tick_is_empty(const obbd_tick *t);
static const obbd_answer *commit_made(obbd_tick *t);

/* Lets the boxes be put again. It stays owed if the commit of `put` failed, which obbd_why says, or
 * if the scene was lost meanwhile. */
static void scene_put_again(obbd *o, struct scene *s)
{
    scene_forget(s);
    fine(o);
    if (s->put_tick == NULL)
        s->put_tick = obbd_tick_new(o, s->name);
    if (s->put_tick == NULL) {
        (void)fail_with(o, OBBD_NO_MEMORY, "no memory");
        return;
    }
    s->owed = s->put_failed = false;
    s->putting = true;
    s->put(s->put_context, s->put_tick);
    if (s->put_tick != NULL && !tick_is_empty(s->put_tick))
        (void)commit_made(s->put_tick);
    s->putting = false;
    s->owed = s->owed || s->put_failed;
}

/* Forgets what was known in the epoch, and lets the boxes be put again. What obbd_why says
 * stays. */
static void scene_lost(obbd *o, struct scene *s, const char *epoch)
{
    if (strcmp(epoch, s->epoch) == 0) {
        scene_forget(s);
        s->owed = s->put != NULL;
    }
    if (!s->owed || s->putting)
        return;
    const struct why why = o->why;
    memset(&o->why, 0, sizeof o->why);
    scene_put_again(o, s);
    bytes_free(&o->why.text);
    o->why = why;
}

/* The scene was lost before this call: lets the boxes be put again, and fails. */
static obbd_error fail_lost_before(obbd *o, struct scene *s)
{
    char detail[600];
    scene_put_again(o, s);
    if (s->owed)
        (void)snprintf(detail, sizeof detail,
                       "found the scene lost, and its boxes could not be put again: %.450s",
                       o->why.problem.text);
    else
        (void)snprintf(detail, sizeof detail,
                       "found the scene lost; its boxes were put again, so ask for their ids");
    return fail(o, OBBD_LOST, 412, text_of_string("/problems/epoch"), text_of_string(detail),
                text_of_string(""));
}

static bool is_no_scene(const obbd *o)
{
    return strcmp(o->why.problem.type, "/problems/no-scene") == 0;
}

static bool is_anew(const obbd *o)
{
    return strcmp(o->why.problem.type, "/problems/epoch") == 0 || is_no_scene(o);
}

static void epoch_take(char epoch[EPOCH_SIZE], const struct incoming *in)
{
    const obbd_text told = field_of((const char *)in->fields.data, "Obbd-Epoch");
    if (told.size == EPOCH_SIZE - 1) {
        memcpy(epoch, told.bytes, told.size);
        epoch[told.size] = 0;
    }
}

/* Sends a request to the scene; it names the epoch in which its ids and revisions were given. */
static obbd_error scene_send(obbd *o, struct scene *s, const char *epoch, bool cbor,
                             struct sending *sending, struct incoming *in)
{
    char stated[EPOCH_SIZE];
    obbd_field fields[3];
    const bool deletes = strcmp(sending->method, "DELETE") == 0; /* no scene need be there */
    if (s->owed && !s->putting && !deletes)
        return fail_lost_before(o, s);
    memcpy(stated, epoch, sizeof stated); /* the scene's may change meanwhile */
    sending->fields = fields;
    sending->field_count = 0;
    if (cbor)
        fields[sending->field_count++] = (obbd_field){"Accept", TYPE_CBOR};
    if (sending->has_body)
        fields[sending->field_count++] = (obbd_field){"Content-Type", cbor ? TYPE_CBOR : TYPE_JSON};
    if (stated[0] != 0)
        fields[sending->field_count++] = (obbd_field){"Obbd-If-Epoch", stated};
    obbd_error error = send_by_rules(o, sending, in);
    sending->fields = NULL;
    if (error == OBBD_FINE && stated[0] == 0 && s->epoch[0] == 0)
        epoch_take(s->epoch, in);
    if (error == OBBD_PROBLEM && stated[0] != 0 && is_anew(o) && !(deletes && is_no_scene(o))) {
        scene_lost(o, s, stated);
        error = o->why.problem.error = OBBD_LOST;
    }
    return error;
}

/* ---- The builder ----------------------------------------------------------------------------- */

/* Bytes that are sent from where they lie, before byte `at` of the frame. */
struct splice {
    size_t at;
    obbd_part part;
};

/* A column of poses: pieces one behind the other. */
struct column {
    obbd_part *pieces;
    size_t count, room, size;
};

/* Entries of one member of a commit. */
struct group {
    struct bytes bytes;
    size_t count;
};

/* What was read of the answer to one query: hits of all items, or a copy of its pairs. Items begin
 * at `starts`. */
struct found {
    bool read;
    obbd_hit *hits;
    size_t hit_count, hit_room;
    size_t *starts;
    size_t start_count, start_room;
    uint32_t *pairs;
    size_t pair_room;
};

struct obbd_tick {
    obbd_tick *next;
    obbd *o;
    struct scene *scene;
    unsigned width;

    bool has_time;
    double time;
    struct group put, move, transform, remove, other, queries;
    struct column ids, centers, rotations;
    unsigned pose_width; /* bytes of a number; 0 without poses */
    bool pose_rotates;
    char epoch[EPOCH_SIZE]; /* in which the ids of the poses were given; "" without ids */
    obbd_load load;
    bool has_load;
    struct bytes load_names;
    bool typed;          /* numbers go out as they lie, or ids come back: CBOR */
    bool moves, changes; /* told by obbd_tick_set */
    bool dry, has_id;
    int retries; /* -1: as the client has it */
    int timeout_ms;
    const char *wrong; /* why the commit cannot be sent */

    struct bytes frame, json;
    struct splice *splices;
    size_t splice_count, splice_room;
    obbd_part *parts;
    size_t part_count, part_room;

    struct incoming in, again;
    obbd_answer answer;
    bool made;
    obbd_value *results;
    struct found *found;
    size_t result_count, result_room;
};

/* Makes room for one more item of `size` bytes. Returns false without memory. */
static bool list_room(void **list, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    const size_t more = *room == 0 ? 16 : 2 * *room;
    void *grown = realloc(*list, more * size);
    if (grown == NULL)
        return false;
    *list = grown;
    *room = more;
    return true;
}

static bool parts_room(obbd_tick *t)
{
    void *list = t->parts;
    const bool is = list_room(&list, &t->part_room, t->part_count, sizeof *t->parts);
    t->parts = list;
    return is;
}

static void wrong(obbd_tick *t, const char *detail)
{
    if (t->wrong == NULL)
        t->wrong = detail;
}

static void group_clear(struct group *group)
{
    bytes_clear(&group->bytes);
    group->count = 0;
}

/* Empties the builder for the next commit; memory is kept. */
static void tick_clear(obbd_tick *t)
{
    group_clear(&t->put);
    group_clear(&t->move);
    group_clear(&t->transform);
    group_clear(&t->remove);
    group_clear(&t->other);
    group_clear(&t->queries);
    t->ids.count = t->centers.count = t->rotations.count = 0;
    t->ids.size = t->centers.size = t->rotations.size = 0;
    bytes_clear(&t->load_names);
    t->pose_width = 0;
    t->has_time = t->has_load = t->typed = t->moves = t->changes = t->dry = t->has_id = false;
    t->epoch[0] = 0;
    t->wrong = NULL;
    t->retries = -1;
    t->timeout_ms = t->o->timeout_ms;
}

static bool tick_is_empty(const obbd_tick *t)
{
    return t->wrong == NULL && !t->has_time && !t->has_load && t->pose_width == 0 &&
           t->put.count + t->move.count + t->transform.count + t->remove.count + t->other.count +
                   t->queries.count ==
               0;
}

obbd_tick *obbd_tick_new(obbd *o, const char *scene)
{
    obbd_tick *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->o = o;
    t->scene = scene_of(o, scene);
    if (t->scene == NULL) {
        free(t);
        return NULL;
    }
    t->width = 3;
    tick_clear(t);
    t->next = o->ticks;
    o->ticks = t;
    return t;
}

static void tick_destroy(obbd_tick *t)
{
    struct group *const groups[] = {&t->put,    &t->move,  &t->transform,
                                    &t->remove, &t->other, &t->queries};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        bytes_free(&groups[i]->bytes);
    for (size_t i = 0; i < t->result_room; i++) {
        free(t->found[i].hits);
        free(t->found[i].starts);
        free(t->found[i].pairs);
    }
    free(t->ids.pieces);
    free(t->centers.pieces);
    free(t->rotations.pieces);
    bytes_free(&t->load_names);
    bytes_free(&t->frame);
    bytes_free(&t->json);
    free(t->splices);
    free(t->parts);
    incoming_free(&t->in);
    incoming_free(&t->again);
    free(t->results);
    free(t->found);
    free(t);
}

const char *obbd_page(const obbd_tick *t) { return t->scene->page; }

void obbd_tick_free(obbd_tick *t)
{
    if (t == NULL)
        return;
    for (obbd_tick **at = &t->o->ticks; *at != NULL; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    if (t->scene->put_tick == t)
        t->scene->put_tick = NULL;
    tick_destroy(t);
}

void obbd_tick_plane(obbd_tick *t) { t->width = 2; }

void obbd_tick_time(obbd_tick *t, double time)
{
    t->time = time;
    t->has_time = true;
}

void obbd_tick_retries(obbd_tick *t, int retries) { t->retries = retries < 0 ? 0 : retries; }

void obbd_tick_timeout(obbd_tick *t, int timeout_ms) { t->timeout_ms = timeout_ms; }

/* A map that is being written: its members are counted, for its head stands before them. */
struct map {
    struct bytes *bytes;
    size_t head;
    uint64_t members;
};

static struct map map_open(struct bytes *b) { return (struct map){b, head_open(b), 0}; }

static void map_close(const struct map *map)
{
    head_close(map->bytes, map->head, MAP, map->members);
}

/* Begins the member of this name; its value is written next. */
static struct bytes *member(struct map *map, const char *name)
{
    map->members++;
    put_text(map->bytes, name);
    return map->bytes;
}

static void member_text(struct map *map, const char *name, const char *value)
{
    if (value != NULL)
        put_text(member(map, name), value);
}

static void member_whole(struct map *map, const char *name, uint64_t value)
{
    if (value != 0)
        put_head(member(map, name), WHOLE, value);
}

static void member_double(struct map *map, const char *name, double value)
{
    if (value != 0)
        put_double(member(map, name), value);
}

static bool is_zero(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* A quaternion or, in the plane, an angle; not where it is 0. */
static void member_rotation(struct map *map, unsigned width, const double rotation[4],
                            double degrees)
{
    if (width == 2)
        member_double(map, "angle", degrees);
    else if (!is_zero(rotation, 4))
        put_doubles(member(map, "rotation"), 4, rotation);
}

static void put_box(obbd_tick *t, struct bytes *b, const obbd_box *box)
{
    struct map map = map_open(b);
    put_doubles(member(&map, "center"), t->width, box->center);
    put_doubles(member(&map, "half_extents"), t->width, box->half);
    member_rotation(&map, t->width, box->rotation, box->degrees);
    member_text(&map, "entity", box->entity);
    member_text(&map, "frame", box->frame);
    member_whole(&map, "category", box->category);
    member_whole(&map, "mask", box->mask);
    member_double(&map, "group", box->group);
    member_double(&map, "ttl", box->ttl);
    if (box->data != NULL && !put_json(member(&map, "data"), box->data, strlen(box->data)))
        wrong(t, "the data of a box is no JSON");
    map_close(&map);
}

void obbd_tick_put(obbd_tick *t, const char *name, const obbd_box *box)
{
    put_text(&t->put.bytes, name);
    put_box(t, &t->put.bytes, box);
    t->put.count++;
    if (t->has_load)
        wrong(t, "a commit puts boxes by name or loads columns, not both");
}

void obbd_tick_load(obbd_tick *t, const obbd_load *load)
{
    if (t->has_load || t->put.count > 0)
        wrong(t, "a commit puts boxes by name or loads columns, not both");
    t->load = *load;
    t->has_load = t->typed = true;
    for (size_t i = 0; i < load->n; i++)
        put_text(&t->load_names, load->names[i]);
}

static void column_add(obbd_tick *t, struct column *column, const void *bytes, size_t size)
{
    void *list = column->pieces;
    if (!list_room(&list, &column->room, column->count, sizeof *column->pieces)) {
        wrong(t, "no memory");
        return;
    }
    column->pieces = list;
    column->pieces[column->count++] = (obbd_part){bytes, size};
    column->size += size;
}

/* Returns the epoch in which an array of ids was given. */
static const char *epoch_of(const struct scene *s, const uint32_t *ids)
{
    const char *epoch = s->epoch_of_ids[0] != 0 ? s->epoch_of_ids : s->epoch;
    for (const struct given *given = s->given; given != NULL; given = given->next)
        if (ids >= given->ids && ids < given->ids + given->n)
            epoch = given->epoch;
    return epoch;
}

static void tick_pose(obbd_tick *t, size_t n, const uint32_t *ids, const void *centers,
                      const void *rotations, unsigned width)
{
    if (t->move.count > 0)
        wrong(t, "a commit poses boxes by name or by id, not both");
    if (t->pose_width != 0 && (t->pose_width != width || t->pose_rotates != (rotations != NULL)))
        wrong(t, "all poses of a commit have numbers of one type, and all have rotations or none");
    t->pose_width = width;
    t->pose_rotates = rotations != NULL;
    t->typed = true;
    const char *epoch = epoch_of(t->scene, ids);
    if (t->epoch[0] == 0 || strcmp(epoch, t->scene->epoch) != 0)
        memcpy(t->epoch, epoch, sizeof t->epoch);
    column_add(t, &t->ids, ids, n * sizeof *ids);
    column_add(t, &t->centers, centers, n * t->width * width);
    if (rotations != NULL)
        column_add(t, &t->rotations, rotations, n * (t->width == 2 ? 1 : 4) * width);
}

void obbd_tick_pose(obbd_tick *t, size_t n, const uint32_t *ids, const float *centers,
                    const float *rotations)
{
    tick_pose(t, n, ids, centers, rotations, sizeof *centers);
}

void obbd_tick_pose64(obbd_tick *t, size_t n, const uint32_t *ids, const double *centers,
                      const double *rotations)
{
    tick_pose(t, n, ids, centers, rotations, sizeof *centers);
}

void obbd_tick_move(obbd_tick *t, const char *name, const obbd_pose *pose)
{
    if (t->pose_width != 0)
        wrong(t, "a commit poses boxes by name or by id, not both");
    put_text(&t->move.bytes, name);
    struct map map = map_open(&t->move.bytes);
    put_doubles(member(&map, "center"), t->width, pose->center);
    if (t->width == 2 && pose->turned)
        put_double(member(&map, "angle"), pose->degrees);
    if (t->width == 3)
        member_rotation(&map, 3, pose->rotation, 0);
    if (pose->teleport)
        put_bool(member(&map, "teleport"), true);
    map_close(&map);
    t->move.count++;
}

void obbd_tick_transform(obbd_tick *t, const char *name, const obbd_transform *how)
{
    put_text(&t->transform.bytes, name);
    struct map map = map_open(&t->transform.bytes);
    if (!is_zero(how->translate, 3))
        put_doubles(member(&map, "translate"), t->width, how->translate);
    if (how->degrees != 0) {
        struct map rotate = map_open(member(&map, "rotate"));
        if (t->width == 3)
            put_doubles(member(&rotate, "axis"), 3, how->axis);
        put_double(member(&rotate, "degrees"), how->degrees);
        map_close(&rotate);
    }
    if (!is_zero(how->scale, 3))
        put_doubles(member(&map, "scale"), t->width, how->scale);
    if (how->local)
        put_text(member(&map, "space"), "local");
    map_close(&map);
    t->transform.count++;
}

void obbd_tick_remove(obbd_tick *t, const char *name)
{
    put_text(&t->remove.bytes, name);
    t->remove.count++;
}

void obbd_tick_set(obbd_tick *t, const char *member, const char *json)
{
    static const char *const changing[] = {"frames", "remove_frames", "put",
                                           "pose",   "transform",     "remove"};
    put_text(&t->other.bytes, member);
    if (!put_json(&t->other.bytes, json, strlen(json)))
        wrong(t, "a member given to obbd_tick_set is no JSON");
    t->other.count++;
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        t->changes = t->changes || strcmp(member, changing[i]) == 0;
    t->moves = t->moves || strcmp(member, "frames") == 0 || strcmp(member, "pose") == 0;
    t->dry = t->dry || (strcmp(member, "dry_run") == 0 && strstr(json, "true") != NULL);
    t->has_id = t->has_id || strcmp(member, "id") == 0;
}

/* ---- Queries --------------------------------------------------------------------------------- */

enum { AT_TIME = 1, AT_AGO, AT_REVISION };

obbd_moment obbd_at(double time, unsigned flags) { return (obbd_moment){AT_TIME, flags, time}; }
obbd_moment obbd_ago(double ms, unsigned flags) { return (obbd_moment){AT_AGO, flags, ms}; }

obbd_moment obbd_at_revision(uint64_t revision)
{
    return (obbd_moment){AT_REVISION, OBBD_EXACT, (double)revision};
}

static void put_moment(struct bytes *b, const obbd_moment *at)
{
    struct map map = map_open(b);
    if (at->kind == AT_REVISION)
        put_head(member(&map, "revision"), WHOLE, (uint64_t)at->value);
    else if (at->kind != 0)
        put_double(member(&map, at->kind == AT_AGO ? "ago" : "time"), at->value);
    if (!(at->flags & OBBD_EXACT))
        put_bool(member(&map, "clamp"), true);
    if (at->flags & OBBD_WHOLE)
        put_bool(member(&map, "interpolate"), false);
    map_close(&map);
}

static void put_filter(struct map *query, const obbd_ask *ask)
{
    if (ask->except_entity == NULL && ask->except_count == 0 && ask->prefix == NULL &&
        ask->category == 0 && ask->mask == 0)
        return;
    struct map map = map_open(member(query, "filter"));
    if (ask->except_entity != NULL) {
        put_head(member(&map, "exclude_entities"), LIST, 1);
        put_text(map.bytes, ask->except_entity);
    }
    if (ask->except_count > 0) {
        put_head(member(&map, "exclude"), LIST, ask->except_count);
        for (size_t i = 0; i < ask->except_count; i++)
            put_head(map.bytes, WHOLE, ask->except[i]);
    }
    member_text(&map, "prefix", ask->prefix);
    member_whole(&map, "category", ask->category);
    member_whole(&map, "mask", ask->mask);
    map_close(&map);
}

static const obbd_ask plain_ask;

static struct map query_open(obbd_tick *t, const char *kind)
{
    struct map query = map_open(&t->queries.bytes);
    member_text(&query, "kind", kind);
    return query;
}

/* Writes the options of the query and ends it; returns its number. `columns`: the answer comes in
 * columns. */
static int query_close(obbd_tick *t, struct map *query, const obbd_ask *ask, bool columns)
{
    if (ask->at.kind != 0 || ask->times != NULL)
        put_moment(member(query, "at"), &ask->at);
    member_text(query, "mode", ask->mode);
    member_text(query, "inside", ask->inside);
    put_filter(query, ask);
    member_double(query, "margin", ask->margin);
    member_double(query, "max_distance", ask->max_distance);
    member_whole(query, "k", ask->k);
    member_whole(query, "limit", ask->limit);
    if (ask->count_only)
        put_bool(member(query, "count_only"), true);
    member_text(query, "tag", ask->tag);
    if (ask->unrecorded)
        put_bool(member(query, "record"), false);
    if (ask->fresh)
        put_bool(member(query, "fresh"), true);
    if (columns)
        put_bool(member(query, "columns"), true);
    else if (!ask->by_name)
        put_text(member(query, "by"), "id");
    t->typed = t->typed || columns || !ask->by_name;
    if (ask->more != NULL) {
        struct bytes *more = &t->json;
        struct item item = {0};
        bytes_clear(more);
        if (!put_json(more, ask->more, strlen(ask->more)) ||
            !item_read(more->data, more->data + more->size, &item) || item.major != MAP) {
            wrong(t, "`more` of a query is no JSON object");
        } else {
            bytes_add(query->bytes, item.body, (size_t)(more->data + more->size - item.body));
            query->members += item.n;
        }
    }
    map_close(query);
    return (int)t->queries.count++;
}

/* The rays as columns: `width` numbers of each, beginning at a member of obbd_ray. */
static void put_ray_column(struct map *map, const char *name, size_t n, const double *first,
                           unsigned width)
{
    const size_t stride = sizeof(obbd_ray) / sizeof *first;
    put_typed_head(member(map, name), TAG_F64, n * width * sizeof *first);
    for (size_t i = 0; i < n; i++)
        bytes_add(map->bytes, first + i * stride, width * sizeof *first);
}

int obbd_tick_rays(obbd_tick *t, size_t n, const obbd_ray *rays, const obbd_ask *ask)
{
    ask = ask != NULL ? ask : &plain_ask;
    size_t bounded = 0;
    for (size_t i = 0; i < n; i++)
        bounded += rays[i].max_distance != 0; /* the daemon refuses what is no length */
    const bool uniform = n > 0 && (bounded == 0 || bounded == n);
    const bool first =
        ask->mode == NULL || strcmp(ask->mode, "closest") == 0 || strcmp(ask->mode, "any") == 0;
    const bool columns = uniform && first && !ask->by_name && ask->more == NULL;
    if (ask->times != NULL && !uniform) {
        wrong(t, "rays with times all have a max_distance, or none has");
        return -1;
    }
    struct map query = query_open(t, "ray");
    if (columns || ask->times != NULL) {
        struct map map = map_open(member(&query, "rays"));
        put_ray_column(&map, "origins", n, rays->origin, t->width);
        put_ray_column(&map, "directions", n, rays->direction, t->width);
        if (bounded > 0)
            put_ray_column(&map, "max_distances", n, &rays->max_distance, 1);
        if (ask->times != NULL)
            put_typed(member(&map, "times"), TAG_F64, ask->times, n * sizeof *ask->times);
        map_close(&map);
        t->typed = true;
    } else {
        put_head(member(&query, "rays"), LIST, n);
        for (size_t i = 0; i < n; i++) {
            struct map map = map_open(query.bytes);
            put_doubles(member(&map, "origin"), t->width, rays[i].origin);
            put_doubles(member(&map, "direction"), t->width, rays[i].direction);
            member_double(&map, "max_distance", rays[i].max_distance);
            map_close(&map);
        }
    }
    return query_close(t, &query, ask, columns);
}

static void put_box_or_name(obbd_tick *t, struct bytes *b, const char *name, const obbd_box *box)
{
    if (box != NULL)
        put_box(t, b, box);
    else if (name != NULL)
        put_text(b, name);
    else
        wrong(t, "a shape or sweep has neither a name nor a box");
}

int obbd_tick_sweeps(obbd_tick *t, size_t n, const obbd_sweep *sweeps, const obbd_ask *ask)
{
    struct map query = query_open(t, "sweep");
    put_head(member(&query, "sweeps"), LIST, n);
    for (size_t i = 0; i < n; i++) {
        struct map map = map_open(query.bytes);
        put_box_or_name(t, member(&map, "box"), sweeps[i].name, sweeps[i].box);
        put_doubles(member(&map, "motion"), t->width, sweeps[i].motion);
        map_close(&map);
    }
    return query_close(t, &query, ask != NULL ? ask : &plain_ask, false);
}

static void put_shape(obbd_tick *t, struct bytes *b, const obbd_shape *shape)
{
    const bool same = shape->a[0] == shape->b[0] && shape->a[1] == shape->b[1] &&
                      (t->width == 2 || shape->a[2] == shape->b[2]);
    const bool point = !shape->capsule && (same || is_zero(shape->b, t->width));
    if (shape->frustum == NULL && !(shape->radius > 0)) {
        put_box_or_name(t, b, shape->name, shape->box);
        return;
    }
    struct map map = map_open(b);
    if (shape->frustum != NULL) {
        put_doubles(member(&map, "frustum"), 16, shape->frustum);
    } else {
        struct map round = map_open(member(&map, point ? "sphere" : "capsule"));
        put_doubles(member(&round, point ? "center" : "a"), t->width, shape->a);
        if (!point)
            put_doubles(member(&round, "b"), t->width, shape->b);
        put_double(member(&round, "radius"), shape->radius);
        map_close(&round);
    }
    map_close(&map);
}

int obbd_tick_shapes(obbd_tick *t, size_t n, const obbd_shape *shapes, const obbd_ask *ask)
{
    struct map query = query_open(t, "overlap");
    put_head(member(&query, "shapes"), LIST, n);
    for (size_t i = 0; i < n; i++)
        put_shape(t, query.bytes, &shapes[i]);
    return query_close(t, &query, ask != NULL ? ask : &plain_ask, false);
}

static int tick_points(obbd_tick *t, const char *kind, size_t n, const double *points,
                       const obbd_ask *ask)
{
    struct map query = query_open(t, kind);
    put_typed(member(&query, "points"), TAG_F64, points, n * t->width * sizeof *points);
    t->typed = true;
    return query_close(t, &query, ask != NULL ? ask : &plain_ask, false);
}

int obbd_tick_points(obbd_tick *t, size_t n, const double *points, const obbd_ask *ask)
{
    return tick_points(t, "point", n, points, ask);
}

int obbd_tick_nearest(obbd_tick *t, size_t n, const double *points, const obbd_ask *ask)
{
    return tick_points(t, "nearest", n, points, ask);
}

int obbd_tick_pairs(obbd_tick *t, size_t n, const uint32_t *ids, const obbd_ask *ask)
{
    obbd_ask by_id = ask != NULL ? *ask : plain_ask;
    by_id.by_name = false;
    struct map query = query_open(t, "pairs");
    put_typed(member(&query, "pairs"), TAG_U32, ids, 2 * n * sizeof *ids);
    return query_close(t, &query, &by_id, false);
}

int obbd_tick_all_pairs(obbd_tick *t, const obbd_ask *ask)
{
    struct map query = query_open(t, "all-pairs");
    return query_close(t, &query, ask != NULL ? ask : &plain_ask, false);
}

int obbd_tick_query(obbd_tick *t, const char *json)
{
    struct bytes *b = &t->queries.bytes;
    const size_t before = b->size;
    if (!put_json(b, json, strlen(json)) || b->failed) {
        wrong(t, "a query given to obbd_tick_query is no JSON");
        return -1;
    }
    const obbd_value query = {b->data + before, b->data + b->size};
    t->typed = t->typed || obbd_is(obbd_text_of(obbd_get(query, "by")), "id") ||
               obbd_true(obbd_get(query, "columns"));
    return (int)t->queries.count++;
}

/* ---- Commits --------------------------------------------------------------------------------- */

/* Adds bytes that stay where they are; few of them are copied. */
static void splice(obbd_tick *t, const void *bytes, size_t size)
{
    void *list = t->splices;
    if (size <= SMALL_PART) {
        bytes_add(&t->frame, bytes, size);
        return;
    }
    if (!list_room(&list, &t->splice_room, t->splice_count, sizeof *t->splices)) {
        t->frame.failed = true;
        return;
    }
    t->splices = list;
    t->splices[t->splice_count++] = (struct splice){t->frame.size, {bytes, size}};
}

static void frame_begin(obbd_tick *t)
{
    bytes_clear(&t->frame);
    t->splice_count = 0;
}

static void splice_group(obbd_tick *t, struct map *map, const char *name, unsigned major,
                         const struct group *group)
{
    if (group->count == 0)
        return;
    put_head(member(map, name), major, group->count);
    splice(t, group->bytes.data, group->bytes.size);
    t->frame.failed = t->frame.failed || group->bytes.failed;
}

static void splice_column(obbd_tick *t, struct map *map, const char *name, unsigned tag,
                          const struct column *column)
{
    put_typed_head(member(map, name), tag, column->size);
    for (size_t i = 0; i < column->count; i++)
        splice(t, column->pieces[i].bytes, column->pieces[i].size);
}

static void splice_doubles(obbd_tick *t, struct map *map, const char *name, const double *x,
                           size_t n)
{
    if (x == NULL)
        return;
    put_typed_head(member(map, name), TAG_F64, n * sizeof *x);
    splice(t, x, n * sizeof *x);
}

/* The head of a map stands before what is spliced in, so its members are counted first: `count`
 * must be what map->members is at the end. */
static struct map frame_map(obbd_tick *t, uint64_t count)
{
    put_head(&t->frame, MAP, count);
    return (struct map){&t->frame, 0, 0};
}

static void frame_load(obbd_tick *t, struct map *commit)
{
    const obbd_load *load = &t->load;
    const size_t width = t->width;
    (void)member(commit, "put");
    struct map map = frame_map(t, 3U + (load->rotations != NULL) + (load->entity != NULL) +
                                      (load->category != 0) + (load->mask != 0));
    put_head(member(&map, "names"), LIST, load->n);
    splice(t, t->load_names.data, t->load_names.size);
    t->frame.failed = t->frame.failed || t->load_names.failed;
    splice_doubles(t, &map, "centers", load->centers, width * load->n);
    splice_doubles(t, &map, "half_extents", load->half, load->one_half ? width : width * load->n);
    splice_doubles(t, &map, width == 2 ? "angles" : "rotations", load->rotations,
                   (width == 2 ? 1 : 4) * load->n);
    member_text(&map, "entities", load->entity);
    member_whole(&map, "category", load->category);
    member_whole(&map, "mask", load->mask);
}

static void frame_poses(obbd_tick *t, struct map *commit)
{
    const unsigned tag = t->pose_width == sizeof(float) ? TAG_F32 : TAG_F64;
    (void)member(commit, "pose");
    struct map map = frame_map(t, t->pose_rotates ? 3 : 2);
    splice_column(t, &map, "ids", TAG_U32, &t->ids);
    splice_column(t, &map, "centers", tag, &t->centers);
    if (t->pose_rotates)
        splice_column(t, &map, t->width == 2 ? "angles" : "rotations", tag, &t->rotations);
}

/* Writes the commit into the frame and its splices; `id` may be NULL. */
static void frame_commit(obbd_tick *t, const char *id)
{
    frame_begin(t);
    struct map map = frame_map(t, t->other.count + (id != NULL) + t->has_time +
                                      (t->remove.count > 0) + (t->put.count > 0 || t->has_load) +
                                      (t->move.count > 0 || t->pose_width != 0) +
                                      (t->transform.count > 0) + (t->queries.count > 0));
    member_text(&map, "id", id);
    splice(t, t->other.bytes.data, t->other.bytes.size);
    t->frame.failed = t->frame.failed || t->other.bytes.failed;
    if (t->has_time)
        put_double(member(&map, "time"), t->time);
    splice_group(t, &map, "remove", LIST, &t->remove);
    splice_group(t, &map, "put", MAP, &t->put);
    if (t->has_load)
        frame_load(t, &map);
    splice_group(t, &map, "pose", MAP, &t->move);
    if (t->pose_width != 0)
        frame_poses(t, &map);
    splice_group(t, &map, "transform", MAP, &t->transform);
    splice_group(t, &map, "queries", LIST, &t->queries);
}

static void part_add(obbd_tick *t, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (!parts_room(t)) {
        t->frame.failed = true;
        return;
    }
    t->parts[t->part_count++] = (obbd_part){bytes, size};
}

/* Turns the frame and its splices into parts, in CBOR, or as JSON where that can say it. Returns
 * whether it is CBOR. */
static bool frame_parts(obbd_tick *t, bool cbor)
{
    size_t from = 0;
    t->part_count = 0;
    for (size_t i = 0; i < t->splice_count; i++) {
        part_add(t, t->frame.data + from, t->splices[i].at - from);
        part_add(t, t->splices[i].part.bytes, t->splices[i].part.size);
        from = t->splices[i].at;
    }
    part_add(t, t->frame.data + from, t->frame.size - from);
    if (cbor)
        return true;
    struct bytes whole = {0};
    for (size_t i = 0; i < t->part_count; i++)
        bytes_add(&whole, t->parts[i].bytes, t->parts[i].size);
    bytes_clear(&t->json);
    const bool is = json_put(&t->json, (obbd_value){whole.data, whole.data + whole.size});
    t->frame.failed = t->frame.failed || whole.failed || t->json.failed;
    bytes_free(&whole);
    if (!is) /* a number that is not finite: the daemon says which */
        return true;
    t->part_count = 0;
    part_add(t, t->json.data, t->json.size);
    return false;
}

/* Sends the frame to the scene. */
static obbd_error frame_send(obbd_tick *t, const char *path, const char *epoch, bool cbor,
                             struct sending *sending, struct incoming *in)
{
    obbd *o = t->o;
    cbor = frame_parts(t, cbor);
    if (t->frame.failed)
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    sending->method = "POST";
    sending->path = path;
    sending->parts = t->parts;
    sending->part_count = t->part_count;
    sending->has_body = true;
    sending->timeout_ms = t->timeout_ms;
    return scene_send(o, t->scene, epoch, cbor, sending, in);
}

/* Makes the lists of results as long as the queries. */
static bool results_room(obbd_tick *t, size_t count)
{
    if (count <= t->result_room)
        return true;
    obbd_value *results = realloc(t->results, count * sizeof *results);
    t->results = results != NULL ? results : t->results;
    struct found *found = results == NULL ? NULL : realloc(t->found, count * sizeof *found);
    if (found == NULL)
        return false;
    t->found = found;
    memset(found + t->result_room, 0, (count - t->result_room) * sizeof *found);
    t->result_room = count;
    return true;
}

static uint32_t count_of(obbd_value answer, const char *name)
{
    return u32_of(obbd_number(obbd_get(answer, name)));
}

/* Reads the parts of an answer that every commit and query has. */
static obbd_error answer_read(obbd_tick *t, bool commit)
{
    const obbd_value value = t->in.value;
    t->answer = (obbd_answer){
        .revision = whole_of(obbd_get(value, "revision")),
        .time = obbd_number(obbd_get(value, "time")),
        .removed = count_of(value, "removed"),
        .put = count_of(value, "put"),
        .posed = count_of(value, "posed"),
        .transformed = count_of(value, "transformed"),
        .repeated = obbd_true(obbd_get(value, "repeated")),
        .value = value,
        .tick = t,
    };
    const obbd_value results = obbd_get(value, "results");
    t->result_count = commit ? obbd_count(results) : 1;
    if (!results_room(t, t->result_count))
        return fail_with(t->o, OBBD_NO_MEMORY, "no memory");
    for (size_t i = 0; i < t->result_count; i++)
        t->found[i].read = false;
    if (!commit) {
        t->results[0] = value;
        return OBBD_FINE;
    }
    obbd_value result = {NULL, NULL};
    for (size_t i = 0; i < t->result_count && obbd_next(results, &result); i++)
        t->results[i] = result;
    return OBBD_FINE;
}

static void note_put(obbd_tick *t)
{
    struct scene *s = t->scene;
    const obbd_value ids = obbd_get(t->in.value, "ids");
    obbd_value name = {NULL, NULL}, id = name;
    const struct group *removed = &t->remove;
    const unsigned char *at = removed->bytes.data, *end = at + removed->bytes.size;
    for (size_t i = 0; i < removed->count; i++) {
        const obbd_value one = {at, end};
        table_remove(&s->ids, obbd_text_of(one));
        at = item_skip(at, end);
    }
    if (obbd_type_of(ids) == OBBD_MAP) {
        while (obbd_next(ids, &name)) {
            id = name;
            (void)obbd_next(ids, &id);
            table_add(&s->ids, obbd_text_of(name), u32_of(obbd_number(id)));
            name = id;
        }
        return;
    }
    struct typed typed;
    const bool columns = typed_read(ids, &typed);
    for (size_t i = 0; t->has_load && i < t->load.n; i++) {
        if (!columns && !obbd_next(ids, &id))
            return;
        const double number = columns ? i < typed.n ? typed_number(&typed, i) : 0 : obbd_number(id);
        table_add(&s->ids, text_of_string(t->load.names[i]), u32_of(number));
    }
}

/* Writes a query once more, about the state that the commit made. */
static void put_query_again(struct bytes *b, obbd_value query, const obbd_answer *made)
{
    struct map map = map_open(b);
    obbd_value name = {NULL, NULL};
    const obbd_value at = obbd_get(query, "at"), ago = obbd_get(at, "ago");
    while (obbd_next(query, &name)) {
        obbd_value value = name;
        (void)obbd_next(query, &value);
        if (!obbd_is(obbd_text_of(name), "at") || ago.at == NULL) {
            bytes_add(b, name.at, (size_t)(value.end - name.at));
            map.members++;
        }
        name = value;
    }
    if (at.at == NULL || ago.at != NULL) {
        struct map state = map_open(member(&map, "at"));
        if (ago.at == NULL)
            put_head(member(&state, "revision"), WHOLE, made->revision);
        else
            put_double(member(&state, "time"), made->time - obbd_number(ago));
        name = (obbd_value){NULL, NULL};
        while (ago.at != NULL && obbd_next(at, &name)) {
            obbd_value value = name;
            (void)obbd_next(at, &value);
            if (!obbd_is(obbd_text_of(name), "ago")) {
                bytes_add(b, name.at, (size_t)(value.end - name.at));
                state.members++;
            }
            name = value;
        }
        map_close(&state);
    }
    map_close(&map);
}

static bool is_open(const obbd_tick *t, size_t i)
{
    return obbd_get(t->results[i], "problem").at != NULL;
}

/* The commit was made, but a query was not answered, for a reason that the problem tells. */
static obbd_error fail_unanswered(obbd *o, int status, obbd_text type, obbd_text told,
                                  obbd_text pointer)
{
    char detail[600];
    (void)snprintf(detail, sizeof detail,
                   "the commit was made, its queries were not answered: %.*s",
                   (int)(told.size < 500 ? told.size : 500), told.bytes);
    return fail(o, OBBD_UNANSWERED, status, type, text_of_string(detail), pointer);
}

/* Asks those queries again, of the same state, that the daemon could not answer behind the
 * commit. If that fails, too, the error is OBBD_UNANSWERED, whatever the reason: the commit was
 * made. */
static obbd_error ask_again(obbd_tick *t, bool cbor, int retries)
{
    size_t open = 0;
    for (size_t i = 0; i < t->result_count; i++)
        open += is_open(t, i);
    if (open == 0)
        return OBBD_FINE;
    if (retries > 0) {
        const unsigned char *at = t->queries.bytes.data, *end = at + t->queries.bytes.size;
        frame_begin(t);
        struct map map = frame_map(t, 1);
        put_head(member(&map, "queries"), LIST, open);
        for (size_t i = 0; i < t->result_count && at != end; i++) {
            const obbd_value query = {at, item_skip(at, end)};
            if (is_open(t, i))
                put_query_again(&t->frame, query, &t->answer);
            at = query.end;
        }
        struct sending sending = {.retries = retries};
        const obbd_problem *why = &t->o->why.problem;
        if (frame_send(t, t->scene->commit_path, t->scene->epoch, cbor, &sending, &t->again) !=
            OBBD_FINE)
            return fail_unanswered(t->o, why->status, text_of_string(why->type),
                                   text_of_string(why->detail),
                                   text_of_string(why->pointer == NULL ? "" : why->pointer));
        const obbd_value results = obbd_get(t->again.value, "results");
        obbd_value result = {NULL, NULL};
        for (size_t i = 0; i < t->result_count; i++)
            if (is_open(t, i) && obbd_next(results, &result))
                t->results[i] = result;
    }
    for (size_t i = 0; i < t->result_count; i++) {
        const obbd_value problem = obbd_get(t->results[i], "problem");
        const obbd_text none = {"", 0};
        if (problem.at != NULL)
            return fail_unanswered(t->o, 0, none, obbd_text_of(obbd_get(problem, "detail")), none);
    }
    return OBBD_FINE;
}

/* Sends what the builder holds; the builder stays as it is. */
static obbd_error commit_send(obbd_tick *t)
{
    obbd *o = t->o;
    struct scene *s = t->scene;
    const bool poses = t->pose_width != 0 || t->move.count > 0;
    const bool tick = t->has_time && (poses || t->moves);
    struct sending sending = {.retries = t->retries >= 0 ? t->retries : tick ? 0 : o->retries};
    char id[48] = "";
    if (t->wrong != NULL)
        return fail_with(o, OBBD_MISUSED, t->wrong);
    sending.changes = !t->dry && (t->has_time || poses || t->changes || t->has_load ||
                                  t->put.count + t->remove.count + t->transform.count > 0);
    if (sending.changes && sending.retries > 0 && !t->has_id)
        (void)snprintf(id, sizeof id, "%s-%llu", o->session, (unsigned long long)++o->commits);
    sending.again = t->has_id || id[0] != 0;
    const bool cbor = t->typed;
    frame_commit(t, id[0] != 0 ? id : NULL);
    const char *epoch = t->epoch[0] != 0 ? t->epoch : s->epoch;
    obbd_error error = frame_send(t, s->commit_path, epoch, cbor, &sending, &t->in);
    if (error != OBBD_FINE)
        return error;
    error = answer_read(t, true);
    if (error != OBBD_FINE)
        return sending.changes ? fail_unknown(o) : error;
    t->made = true;
    if (!t->dry)
        note_put(t);
    if (obbd_true(obbd_get(t->in.value, "ids_omitted")))
        (void)obbd_learn_all(t);
    fine(o);
    return ask_again(t, cbor, sending.retries);
}

static const obbd_answer *commit_made(obbd_tick *t)
{
    t->made = false;
    const obbd_error error = commit_send(t);
    tick_clear(t);
    if (t == t->scene->put_tick)
        t->scene->put_failed = !t->made;
    return error == OBBD_FINE ? &t->answer : NULL;
}

const obbd_answer *obbd_commit(obbd_tick *t) { return commit_made(t); }

const obbd_answer *obbd_committed(const obbd_tick *t) { return t->made ? &t->answer : NULL; }

/* Sends the one query of the builder. */
static obbd_error query_send(obbd_tick *t)
{
    obbd *o = t->o;
    struct sending sending = {.retries = t->retries >= 0 ? t->retries : o->retries};
    const struct bytes *b = &t->queries.bytes;
    obbd_value name = {NULL, NULL};
    if (t->wrong != NULL)
        return fail_with(o, OBBD_MISUSED, t->wrong);
    t->queries.count--;
    const bool alone = tick_is_empty(t);
    t->queries.count++;
    if (t->queries.count != 1 || !alone)
        return fail_with(o, OBBD_MISUSED, "obbd_query sends one query and nothing else");
    const obbd_value query = {b->data, b->data + b->size};
    const obbd_text kind = obbd_text_of(obbd_get(query, "kind"));
    frame_begin(t);
    struct map map = map_open(&t->frame);
    while (obbd_next(query, &name)) {
        obbd_value value = name;
        (void)obbd_next(query, &value);
        if (!obbd_is(obbd_text_of(name), "kind")) {
            bytes_add(&t->frame, name.at, (size_t)(value.end - name.at));
            map.members++;
        }
        name = value;
    }
    map_close(&map);
    struct bytes *path = &o->lines;
    bytes_clear(path);
    bytes_string(path, t->scene->path);
    bytes_string(path, "/query/");
    bytes_add(path, kind.bytes, kind.size);
    (void)bytes_ended(path);
    if (path->failed || b->failed)
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    const obbd_error error =
        frame_send(t, (const char *)path->data, t->scene->epoch, t->typed, &sending, &t->in);
    return error == OBBD_FINE ? answer_read(t, false) : error;
}

const obbd_answer *obbd_query(obbd_tick *t)
{
    t->made = false;
    const obbd_error error = query_send(t);
    tick_clear(t);
    return error == OBBD_FINE ? &t->answer : NULL;
}

/* ---- Answers --------------------------------------------------------------------------------- */

obbd_value obbd_result(const obbd_answer *a, int query)
{
    const obbd_value none = {NULL, NULL};
    if (a == NULL || query < 0 || (size_t)query >= a->tick->result_count)
        return none;
    return a->tick->results[query];
}

/* Returns an item of a list; O(item). */
static obbd_value item_of(obbd_value list, size_t item)
{
    obbd_value one = {NULL, NULL};
    for (size_t i = 0; i <= item; i++)
        if (!obbd_next(list, &one))
            return (obbd_value){NULL, NULL};
    return one;
}

/* The numbers of a list, one after the other. */
struct numbers {
    obbd_value list, item;
    struct typed typed;
    bool is_typed;
    size_t at;
};

static struct numbers numbers_of(obbd_value list)
{
    struct numbers numbers = {.list = list};
    numbers.is_typed = typed_read(list, &numbers.typed);
    return numbers;
}

static double numbers_next(struct numbers *numbers)
{
    if (numbers->is_typed)
        return numbers->at < numbers->typed.n ? typed_number(&numbers->typed, numbers->at++) : 0;
    return obbd_next(numbers->list, &numbers->item) ? obbd_number(numbers->item) : 0;
}

static obbd_hit *hit_add(struct found *found)
{
    void *list = found->hits;
    if (!list_room(&list, &found->hit_room, found->hit_count, sizeof *found->hits))
        return NULL;
    found->hits = list;
    obbd_hit *hit = &found->hits[found->hit_count++];
    memset(hit, 0, sizeof *hit);
    return hit;
}

/* Begins the next item. */
static bool start_add(struct found *found)
{
    void *list = found->starts;
    if (!list_room(&list, &found->start_room, found->start_count, sizeof *found->starts))
        return false;
    found->starts = list;
    found->starts[found->start_count++] = found->hit_count;
    return true;
}

static bool found_read_columns(struct found *found, obbd_value columns, unsigned width)
{
    struct numbers boxes = numbers_of(obbd_get(columns, "boxes"));
    struct numbers distances = numbers_of(obbd_get(columns, "distances"));
    struct numbers fractions = numbers_of(obbd_get(columns, "fractions"));
    struct numbers points = numbers_of(obbd_get(columns, "points"));
    struct numbers normals = numbers_of(obbd_get(columns, "normals"));
    const size_t n = obbd_count(boxes.list);
    for (size_t i = 0; i < n; i++) {
        obbd_hit hit = {.id = u32_of(numbers_next(&boxes))};
        hit.distance = numbers_next(&distances);
        hit.fraction = numbers_next(&fractions);
        for (unsigned k = 0; k < width; k++)
            hit.point[k] = numbers_next(&points);
        for (unsigned k = 0; k < width; k++)
            hit.normal[k] = numbers_next(&normals);
        if (!start_add(found))
            return false;
        if (hit.id == 0)
            continue;
        obbd_hit *to = hit_add(found);
        if (to == NULL)
            return false;
        *to = hit;
    }
    return true;
}

/* Reads a box as an answer names it: by name, by id, or in an object. */
static void hit_name(obbd_hit *hit, obbd_value box)
{
    if (obbd_type_of(box) == OBBD_TEXT)
        hit->name = obbd_text_of(box);
    else
        hit->id = u32_of(obbd_number(box));
}

static bool found_read_item(struct found *found, obbd_value item)
{
    obbd_value list = obbd_get(item, "hits"), one = {NULL, NULL};
    if (list.at == NULL)
        list = obbd_get(item, "boxes");
    struct typed typed;
    if (typed_read(list, &typed)) {
        for (size_t i = 0; i < typed.n; i++) {
            obbd_hit *hit = hit_add(found);
            if (hit == NULL)
                return false;
            hit->id = u32_of(typed_number(&typed, i));
        }
        return true;
    }
    while (obbd_next(list, &one)) {
        obbd_hit *hit = hit_add(found);
        if (hit == NULL)
            return false;
        if (obbd_type_of(one) != OBBD_MAP) {
            hit_name(hit, one);
            continue;
        }
        hit_name(hit, obbd_get(one, "box"));
        hit->distance = obbd_number(obbd_get(one, "distance"));
        hit->fraction = obbd_number(obbd_get(one, "fraction"));
        (void)obbd_numbers(obbd_get(one, "point"), 3, hit->point);
        (void)obbd_numbers(obbd_get(one, "normal"), 3, hit->normal);
        hit->value = one;
    }
    return true;
}

/* Reads the hits of a query, once. Without memory it has none, and obbd_why says so. */
static const struct found *found_of(const obbd_answer *a, int query)
{
    const obbd_value result = obbd_result(a, query);
    if (result.at == NULL)
        return NULL;
    struct found *found = &a->tick->found[query];
    if (found->read)
        return found;
    found->read = true;
    found->hit_count = found->start_count = 0;
    const obbd_value columns = obbd_get(result, "columns"), items = obbd_get(result, "results");
    obbd_value item = {NULL, NULL};
    bool is = columns.at == NULL || found_read_columns(found, columns, a->tick->width);
    while (is && columns.at == NULL && obbd_next(items, &item))
        is = start_add(found) && found_read_item(found, item);
    if (!is || !start_add(found)) {
        found->start_count = 0;
        (void)fail_with(a->tick->o, OBBD_NO_MEMORY, "no memory");
    }
    return found;
}

size_t obbd_hits(const obbd_answer *a, int query, size_t item, const obbd_hit **out_hits)
{
    const struct found *found = found_of(a, query);
    *out_hits = NULL;
    if (found == NULL || item + 1 >= found->start_count)
        return 0;
    const size_t from = found->starts[item], count = found->starts[item + 1] - from;
    if (count > 0)
        *out_hits = found->hits + from;
    return count;
}

const obbd_hit *obbd_first_hit(const obbd_answer *a, int query, size_t item)
{
    const obbd_hit *hits;
    (void)obbd_hits(a, query, item, &hits);
    return hits;
}

bool obbd_overlap(const obbd_answer *a, int query, size_t item)
{
    return obbd_true(
        obbd_get(item_of(obbd_get(obbd_result(a, query), "results"), item), "overlap"));
}

size_t obbd_pairs(const obbd_answer *a, int query, const uint32_t **out_ids)
{
    const obbd_value pairs = obbd_get(obbd_result(a, query), "pairs");
    struct typed typed;
    const size_t n = obbd_count(pairs);
    *out_ids = NULL;
    if (n == 0)
        return 0;
    if (typed_read(pairs, &typed) && typed.tag == TAG_U32 &&
        (uintptr_t)typed.at % sizeof(uint32_t) == 0) {
        *out_ids = (const uint32_t *)(const void *)typed.at;
        return n / 2;
    }
    struct found *found = &a->tick->found[query];
    if (n > found->pair_room) {
        uint32_t *copy = realloc(found->pairs, n * sizeof *copy);
        if (copy == NULL) {
            (void)fail_with(a->tick->o, OBBD_NO_MEMORY, "no memory");
            return 0;
        }
        found->pairs = copy;
        found->pair_room = n;
    }
    struct numbers numbers = numbers_of(pairs);
    for (size_t i = 0; i < n; i++)
        found->pairs[i] = u32_of(numbers_next(&numbers));
    *out_ids = found->pairs;
    return n / 2;
}

static double nth(obbd_value list, size_t item)
{
    struct typed typed;
    if (typed_read(list, &typed))
        return item < typed.n ? typed_number(&typed, item) : 0;
    return obbd_number(item_of(list, item));
}

bool obbd_seen(const obbd_answer *a, int query, size_t item, obbd_state *out_state)
{
    const obbd_value result = obbd_result(a, query), columns = obbd_get(result, "columns");
    obbd_value at = obbd_get(result, "at");
    if (at.at == NULL && obbd_get(columns, "times").at != NULL) {
        if (item >= obbd_count(obbd_get(columns, "times")))
            return false;
        *out_state = (obbd_state){u64_of(nth(obbd_get(columns, "revisions"), item)),
                                  nth(obbd_get(columns, "times"), item),
                                  nth(obbd_get(columns, "clamped"), item) != 0};
        return true;
    }
    if (at.at == NULL)
        at = obbd_get(item_of(obbd_get(result, "results"), item), "at");
    if (at.at == NULL)
        return false;
    *out_state = (obbd_state){whole_of(obbd_get(at, "revision")), obbd_number(obbd_get(at, "time")),
                              obbd_true(obbd_get(at, "clamped"))};
    return true;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

uint32_t obbd_id(obbd_tick *t, const char *name)
{
    struct scene *s = t->scene;
    memcpy(s->epoch_of_ids, s->epoch, sizeof s->epoch);
    return table_id(&s->ids, text_of_string(name));
}

const uint32_t *obbd_ids(obbd_tick *t, size_t n, const char *const *names)
{
    struct scene *s = t->scene;
    struct given *given = malloc(sizeof *given + n * sizeof *given->ids);
    if (given == NULL) {
        (void)fail_with(t->o, OBBD_NO_MEMORY, "no memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        given->ids[i] = table_id(&s->ids, text_of_string(names[i]));
        if (given->ids[i] == 0) {
            char detail[240];
            (void)snprintf(detail, sizeof detail,
                           "the id of '%.150s' is not known: put the box, or learn its id, first",
                           names[i]);
            (void)fail_with(t->o, OBBD_MISUSED, detail);
            free(given);
            return NULL;
        }
    }
    given->n = n;
    memcpy(given->epoch, s->epoch, sizeof s->epoch);
    given->next = s->given;
    s->given = given;
    fine(t->o);
    return given->ids;
}

void obbd_ids_free(obbd_tick *t, const uint32_t *ids)
{
    for (struct given **at = &t->scene->given; *at != NULL; at = &(*at)->next)
        if ((*at)->ids == ids) {
            struct given *given = *at;
            *at = given->next;
            free(given);
            return;
        }
}

/* Sends a request without a body to the scene; its answer is o->last. */
static obbd_error scene_call(obbd_tick *t, const char *method, const char *rest,
                             const char *escaped)
{
    obbd *o = t->o;
    struct bytes path = {0};
    bytes_string(&path, t->scene->path);
    bytes_string(&path, rest);
    put_escaped(&path, escaped);
    struct sending sending = {.method = method,
                              .path = bytes_ended(&path),
                              .changes = strcmp(method, "GET") != 0,
                              .timeout_ms = o->timeout_ms,
                              .retries = o->retries};
    o->replied = false;
    const obbd_error error = path.failed ? fail_with(o, OBBD_NO_MEMORY, "no memory")
                                         : scene_send(o, t->scene, t->scene->epoch,
                                                      !sending.changes, &sending, &o->last);
    bytes_free(&path);
    return error;
}

uint32_t obbd_learn(obbd_tick *t, const char *name)
{
    const uint32_t known = obbd_id(t, name);
    if (known != 0)
        return known;
    if (scene_call(t, "GET", "/boxes/", name) != OBBD_FINE)
        return 0;
    table_add(&t->scene->ids, text_of_string(name), count_of(t->o->last.value, "id"));
    return obbd_id(t, name);
}

bool obbd_learn_all(obbd_tick *t)
{
    static const char all[] = "/boxes?limit=" PAGE_OF_BOXES,
                      next[] = "/boxes?limit=" PAGE_OF_BOXES "&cursor=";
    struct bytes cursor = {0};
    bool is = true, more = false;
    do {
        is = scene_call(t, "GET", more ? next : all, bytes_ended(&cursor)) == OBBD_FINE;
        const obbd_value boxes = obbd_get(t->o->last.value, "boxes");
        obbd_value box = {NULL, NULL};
        while (is && obbd_next(boxes, &box))
            table_add(&t->scene->ids, obbd_text_of(obbd_get(box, "name")), count_of(box, "id"));
        const obbd_text told = obbd_text_of(obbd_get(t->o->last.value, "cursor"));
        bytes_clear(&cursor);
        bytes_add(&cursor, told.bytes, told.size);
        more = told.size > 0;
    } while (is && more && !cursor.failed);
    is = is && !cursor.failed;
    bytes_free(&cursor);
    return is;
}

bool obbd_delete(obbd_tick *t)
{
    if (scene_call(t, "DELETE", "", "") != OBBD_FINE && !is_no_scene(t->o))
        return false;
    fine(t->o);
    scene_forget(t->scene);
    t->scene->owed = false;
    return true;
}

/* ---- Requests of any kind -------------------------------------------------------------------- */

/* Does a request change nothing? Those that read, and queries: a POST to
 * /v1/scenes/{scene}/query/{kind}. Scenes and boxes may be named query, too. */
static bool only_asks(const char *method, const char *path)
{
    static const char scenes[] = "/v1/scenes/", query[] = "/query/";
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0)
        return true;
    if (strcmp(method, "POST") != 0 || strncmp(path, scenes, sizeof scenes - 1) != 0)
        return false;
    const char *scene = path + sizeof scenes - 1, *rest = scene + strcspn(scene, "/?#");
    if (rest == scene || strncmp(rest, query, sizeof query - 1) != 0)
        return false;
    const char *kind = rest + sizeof query - 1, *end = kind + strcspn(kind, "/?#");
    return end > kind && *end != '/';
}

/* Copies "Name: value" lines into o->lines as strings, and lets `fields` point there. Returns how
 * many, or -1 without memory. */
static int call_fields(obbd *o, const obbd_call *call, obbd_field **out_fields)
{
    size_t count = 0;
    struct bytes *lines = &o->lines;
    bytes_clear(lines);
    for (; call->headers != NULL && call->headers[count] != NULL; count++) {
        bytes_string(lines, call->headers[count]);
        bytes_byte(lines, 0);
    }
    obbd_field *fields = malloc((count + 2) * sizeof *fields);
    if (fields == NULL || lines->failed) {
        free(fields);
        return -1;
    }
    char *at = (char *)lines->data;
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(at);
        char *colon = strchr(at, ':');
        fields[i] = (obbd_field){at, ""};
        if (colon != NULL) {
            *colon = 0;
            fields[i].value = colon + 1 + strspn(colon + 1, " ");
        }
        at += size + 1;
    }
    *out_fields = fields;
    return (int)count;
}

static void reply_read(obbd *o)
{
    struct incoming *in = &o->last;
    bytes_clear(&o->body);
    const bool cbor = in->value.at != NULL && in->value.at == in->body.data;
    if (cbor && json_put(&o->body, in->value))
        o->reply.body = bytes_ended(&o->body);
    else
        o->reply.body = bytes_ended(&in->body);
    o->reply.size = cbor ? o->body.size : in->body.size;
    o->reply.status = in->status;
    o->reply.fields = bytes_ended(&in->fields);
    o->reply.value = in->value;
    o->replied = in->status != 0;
}

static obbd_error call_send(obbd *o, const char *method, const char *path, const char *body,
                            const obbd_call *call, void **stream)
{
    static const obbd_call plain_call;
    call = call != NULL ? call : &plain_call;
    obbd_field *fields = NULL;
    const int count = call_fields(o, call, &fields);
    if (count < 0)
        return fail_with(o, OBBD_NO_MEMORY, "no memory");
    size_t used = (size_t)count;
    bool accepts = false;
    for (size_t i = 0; i < used; i++)
        accepts =
            accepts || (strlen(fields[i].name) == 6 && same_name(fields[i].name, "accept", 6));
    obbd_part part = {body, body == NULL ? 0 : call->size > 0 ? call->size : strlen(body)};
    bool cbor = false;
    bytes_clear(&o->scratch);
    if (body != NULL && call->type == NULL && call->cbor)
        cbor = put_json(&o->scratch, body, part.size); /* what is no JSON is sent as it stands */
    if (cbor)
        part = (obbd_part){o->scratch.data, o->scratch.size};
    if (call->cbor && !accepts)
        fields[used++] = (obbd_field){"Accept", TYPE_CBOR};
    if (body != NULL)
        fields[used++] = (obbd_field){"Content-Type", call->type != NULL ? call->type
                                                      : cbor             ? TYPE_CBOR
                                                                         : TYPE_JSON};
    const struct sending sending = {
        .method = method,
        .path = path,
        .fields = fields,
        .field_count = used,
        .parts = &part,
        .part_count = body != NULL,
        .has_body = body != NULL,
        .changes = !only_asks(method, path),
        .again = call->again,
        .timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : o->timeout_ms,
        .retries = call->retries == 0  ? o->retries
                   : call->retries < 0 ? 0
                                       : call->retries,
        .stream = stream,
    };
    const obbd_error error = o->scratch.failed ? fail_with(o, OBBD_NO_MEMORY, "no memory")
                                               : send_by_rules(o, &sending, &o->last);
    reply_read(o);
    free(fields);
    return error;
}

const obbd_reply *obbd_request(obbd *o, const char *method, const char *path, const char *body,
                               const obbd_call *call)
{
    incoming_clear(&o->last);
    return call_send(o, method, path, body, call, NULL) == OBBD_FINE ? &o->reply : NULL;
}

const obbd_reply *obbd_last(const obbd *o) { return o->replied ? &o->reply : NULL; }

struct obbd_stream {
    obbd_stream *next;
    obbd *o;
    void *exchange;
};

obbd_stream *obbd_stream_open(obbd *o, const char *path, const obbd_call *call)
{
    obbd_stream *stream = calloc(1, sizeof *stream);
    incoming_clear(&o->last);
    if (stream == NULL) {
        (void)fail_with(o, OBBD_NO_MEMORY, "no memory");
        return NULL;
    }
    if (call_send(o, "GET", path, NULL, call, &stream->exchange) != OBBD_FINE) {
        if (stream->exchange != NULL)
            o->transport.end(o->transport.context, stream->exchange);
        free(stream);
        return NULL;
    }
    stream->o = o;
    stream->next = o->streams;
    o->streams = stream;
    return stream;
}

long obbd_stream_read(obbd_stream *stream, void *bytes, size_t size, int timeout_ms)
{
    const obbd_transport *transport = &stream->o->transport;
    return transport->read(transport->context, stream->exchange, bytes, size, timeout_ms);
}

void obbd_stream_close(obbd_stream *stream)
{
    if (stream == NULL)
        return;
    obbd *o = stream->o;
    for (obbd_stream **at = &o->streams; *at != NULL; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    o->transport.end(o->transport.context, stream->exchange);
    free(stream);
}

/* ---- Events ---------------------------------------------------------------------------------- */

struct obbd_events {
    obbd_events *next;
    obbd *o;
    struct scene *scene;
    char *path;
    double silence_ms;
    void *exchange; /* NULL: no connection */
    bool began, over;
    double wait, open_at, heard_at; /* open_at: no attempt before */
    char last[64];                  /* the message to go on behind */
    char id[64];                    /* the last id of this connection */
    char kind[16];
    struct bytes input; /* received; read up to `from` */
    size_t from;
    struct bytes data, value;
    struct incoming in;
};

obbd_events *obbd_follow(obbd *o, const char *scene, unsigned topics)
{
    return obbd_follow_with(o, scene, topics, NULL);
}

static void put_parameter(struct bytes *b, const char *name, const char *value)
{
    if (value == NULL)
        return;
    bytes_byte(b, '&');
    bytes_string(b, name);
    bytes_byte(b, '=');
    put_escaped(b, value);
}

obbd_events *obbd_follow_with(obbd *o, const char *scene, unsigned topics,
                              const obbd_follow_options *options)
{
    static const obbd_follow_options defaults;
    static const char *const names[] = {"collisions", "boxes", "commits", "queries"};
    struct scene *s = scene_of(o, scene);
    obbd_events *e = calloc(1, sizeof *e);
    struct bytes path = {0};
    char number[32];
    if (s == NULL || e == NULL) {
        free(e);
        return NULL;
    }
    options = options != NULL ? options : &defaults;
    bytes_string(&path, s->path);
    bytes_string(&path, "/events?topics=");
    const char *between = "";
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (topics & 1U << i) {
            bytes_string(&path, between);
            bytes_string(&path, names[i]);
            between = "%2C";
        }
    put_parameter(&path, "prefix", options->prefix);
    put_parameter(&path, "entity", options->entity);
    (void)snprintf(number, sizeof number, "%u", (unsigned)options->category);
    put_parameter(&path, "category", options->category != 0 ? number : NULL);
    put_parameter(&path, "include", options->poses ? "pose" : NULL);
    bytes_clear(&e->data);
    if (options->rate > 0 && json_put_double(&e->data, options->rate))
        put_parameter(&path, "rate", bytes_ended(&e->data));
    (void)bytes_ended(&path);
    if (path.failed || e->data.failed) {
        bytes_free(&path);
        bytes_free(&e->data);
        free(e);
        return NULL;
    }
    e->o = o;
    e->scene = s;
    e->path = (char *)path.data;
    e->silence_ms = options->silence_ms > 0 ? options->silence_ms : SILENCE_MS;
    e->wait = WAIT_LEAST_MS;
    e->next = o->events;
    o->events = e;
    return e;
}

static void events_leave(obbd_events *e)
{
    if (e->exchange != NULL)
        e->o->transport.end(e->o->transport.context, e->exchange);
    e->exchange = NULL;
    bytes_clear(&e->input);
    bytes_clear(&e->data);
    e->from = 0;
    e->id[0] = e->kind[0] = 0;
}

static void events_destroy(obbd_events *e)
{
    events_leave(e);
    free(e->path);
    bytes_free(&e->input);
    bytes_free(&e->data);
    bytes_free(&e->value);
    incoming_free(&e->in);
    free(e);
}

void obbd_unfollow(obbd_events *e)
{
    if (e == NULL)
        return;
    for (obbd_events **at = &e->o->events; *at != NULL; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    events_destroy(e);
}

/* Leaves the connection; the next one is made after a while. */
static void events_break(obbd_events *e)
{
    events_leave(e);
    e->open_at = now_ms() + e->wait * (0.5 + random_of(e->o) / 2);
    e->wait = 2 * e->wait < WAIT_STREAM_MS ? 2 * e->wait : WAIT_STREAM_MS;
}

static obbd_error events_request(obbd_events *e, int timeout_ms)
{
    obbd *o = e->o;
    obbd_field fields[2] = {{"Accept", TYPE_EVENTS}, {"Last-Event-ID", e->last}};
    const struct sending sending = {
        .method = "GET",
        .path = e->path,
        .fields = fields,
        .field_count = e->last[0] != 0 ? 2 : 1,
        .timeout_ms = e->began ? timeout_ms : o->timeout_ms,
        .retries = e->began ? 0 : o->retries,
        .stream = &e->exchange,
    };
    return send_by_rules(o, &sending, &e->in);
}

/* Makes the connection. Returns false if there is none; e->over says that there will be none. */
static bool events_open(obbd_events *e, int timeout_ms)
{
    obbd *o = e->o;
    struct scene *s = e->scene;
    char epoch[EPOCH_SIZE] = "";
    obbd_error error = events_request(e, timeout_ms);
    if (error == OBBD_PROBLEM && e->began && s->put != NULL && is_no_scene(o)) {
        scene_lost(o, s, s->epoch);
        if (!s->owed)
            error = events_request(e, timeout_ms);
    }
    if (error == OBBD_FINE) {
        epoch_take(epoch, &e->in);
        const bool other = s->epoch[0] != 0 && epoch[0] != 0 && strcmp(s->epoch, epoch) != 0;
        if (other || s->owed)
            scene_lost(o, s, s->epoch);
        e->began = true;
        e->heard_at = now_ms();
        return true;
    }
    /* A scene that is not there behind a break will be put again, for a scene that is deleted says
     * `gone`. */
    const int status = o->why.problem.status;
    const bool passing =
        error == OBBD_DISCONNECTED || status == 429 || status == 503 || is_no_scene(o);
    if (e->began && passing)
        events_break(e);
    else
        e->over = true;
    return false;
}

static void take_short(char *to, size_t room, obbd_text text)
{
    const size_t size = text.size < room ? text.size : room - 1;
    memcpy(to, text.bytes, size);
    to[size] = 0;
}

/* Reads the lines that are there. Returns true at the end of a message. */
static bool events_lines(obbd_events *e)
{
    for (;;) {
        const char *line = (const char *)e->input.data + e->from;
        const size_t there = e->input.size - e->from;
        const char *end = there == 0 ? NULL : memchr(line, '\n', there);
        if (end == NULL) {
            if (e->from > 0)
                memmove(e->input.data, line, there);
            e->input.size = there;
            e->from = 0;
            return false;
        }
        const size_t size = (size_t)(end - line);
        e->from += size + 1;
        if (size == 0) {
            if (e->data.size > 0 || e->data.failed)
                return true;
            e->kind[0] = 0;
            continue;
        }
        const char *colon = memchr(line, ':', size); /* at 0 in a comment */
        const size_t name = colon != NULL ? (size_t)(colon - line) : size;
        size_t skip = colon != NULL ? name + 1 : size;
        skip += skip < size && line[skip] == ' ';
        const obbd_text field = {line, name}, text = {line + skip, size - skip};
        if (obbd_is(field, "id")) {
            take_short(e->id, sizeof e->id, text);
        } else if (obbd_is(field, "event")) {
            take_short(e->kind, sizeof e->kind, text);
        } else if (obbd_is(field, "data")) {
            if (e->data.size > 0)
                bytes_byte(&e->data, '\n');
            bytes_add(&e->data, text.bytes, text.size);
        }
    }
}

static obbd_event_kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        obbd_event_kind kind;
    } kinds[] = {{"state", OBBD_STATE},     {"begin", OBBD_BEGIN},   {"end", OBBD_END},
                 {"boxes", OBBD_CHANGED},   {"query", OBBD_QUERIED}, {"gone", OBBD_GONE},
                 {"commit", OBBD_COMMITTED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return OBBD_NOTHING;
}

static void events_fail(obbd_events *e)
{
    events_leave(e);
    e->over = true;
    (void)fail_with(e->o, OBBD_NO_MEMORY, "no memory");
}

/* Reads the message that ended. Returns false if it is not for the program. */
static bool events_message(obbd_events *e, obbd_event *out)
{
    const obbd_event_kind kind = kind_of(e->kind);
    const bool ends = strcmp(e->kind, "overrun") == 0 || strcmp(e->kind, "shutdown") == 0;
    bytes_clear(&e->value);
    const bool is = put_json(&e->value, (const char *)e->data.data, e->data.size);
    if (e->data.failed || e->value.failed) {
        events_fail(e);
        return false;
    }
    bytes_clear(&e->data);
    e->kind[0] = 0;
    if (ends || !is) {
        events_break(e);
        return false;
    }
    e->wait = WAIT_LEAST_MS;
    if (e->id[0] != 0)
        memcpy(e->last, e->id, sizeof e->last);
    if (kind == OBBD_NOTHING)
        return false;
    const obbd_value value = {e->value.data, e->value.data + e->value.size};
    *out = (obbd_event){.kind = kind,
                        .revision = whole_of(obbd_get(value, "revision")),
                        .time = obbd_number(obbd_get(value, "time")),
                        .reason = obbd_text_of(obbd_get(value, "reason")),
                        .value = value};
    if (kind == OBBD_GONE) {
        events_leave(e);
        e->over = true;
    }
    return true;
}

/* Waits until something comes or the connection is lost. Returns false if nothing came in time. */
static bool events_receive(obbd_events *e, double deadline)
{
    const double silent_at = e->heard_at + e->silence_ms;
    const double until = silent_at < deadline ? silent_at : deadline;
    unsigned char *room = bytes_reserve(&e->input, READ_AT_ONCE);
    const obbd_transport *transport = &e->o->transport;
    if (room == NULL) {
        events_fail(e);
        return true;
    }
    const long got =
        transport->read(transport->context, e->exchange, room, READ_AT_ONCE, left_of(until));
    if (got > 0) {
        e->input.size += (size_t)got;
        e->heard_at = now_ms();
        return true;
    }
    if (got == OBBD_LATE && now_ms() < silent_at)
        return deadline >= NEVER || now_ms() < deadline;
    events_break(e);
    return true;
}

bool obbd_event_next(obbd_events *e, obbd_event *out, int timeout_ms)
{
    const double deadline = deadline_of(timeout_ms);
    const bool over = e->over;
    memset(out, 0, sizeof *out);
    if (!over)
        fine(e->o);
    while (!e->over) {
        if (e->exchange != NULL) {
            if (events_lines(e)) {
                if (events_message(e, out))
                    return true;
            } else if (!events_receive(e, deadline)) {
                return false;
            }
            continue;
        }
        if (deadline < e->open_at) {
            sleep_ms(deadline - now_ms());
            fine(e->o);
            return false;
        }
        sleep_ms(e->open_at - now_ms());
        const int left = left_of(deadline);
        const int most = left < 0 || left > e->o->timeout_ms ? e->o->timeout_ms : left;
        (void)events_open(e, most > REOPEN_LEAST_MS ? most : REOPEN_LEAST_MS);
    }
    if (!over)
        out->kind = OBBD_FAILED;
    return false;
}

bool obbd_event_pair(obbd_event *event, obbd_text *out_a, obbd_text *out_b)
{
    obbd_value name = {NULL, NULL};
    if (!obbd_next(obbd_get(event->value, "pairs"), &event->pair))
        return false;
    (void)obbd_next(event->pair, &name);
    *out_a = obbd_text_of(name);
    (void)obbd_next(event->pair, &name);
    *out_b = obbd_text_of(name);
    return true;
}

/* ---- The end --------------------------------------------------------------------------------- */

void obbd_close(obbd *o)
{
    if (o == NULL)
        return;
    while (o->events != NULL) {
        obbd_events *e = o->events;
        o->events = e->next;
        events_destroy(e);
    }
    while (o->streams != NULL) {
        obbd_stream *stream = o->streams;
        o->streams = stream->next;
        o->transport.end(o->transport.context, stream->exchange);
        free(stream);
    }
    while (o->ticks != NULL) {
        obbd_tick *t = o->ticks;
        o->ticks = t->next;
        tick_destroy(t);
    }
    while (o->scenes != NULL) {
        struct scene *s = o->scenes;
        o->scenes = s->next;
        scene_free(s);
    }
#ifndef OBBD_NO_CURL
    wire_free(o->wire);
#endif
    free(o->base);
    free(o->path);
    free(o->token);
    free(o->misused);
    free(o->fields);
    incoming_free(&o->last);
    bytes_free(&o->why.text);
    bytes_free(&o->body);
    bytes_free(&o->scratch);
    bytes_free(&o->lines);
    free(o);
}
