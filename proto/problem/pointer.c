#include "proto/problem/pointer.h"

#include <stdio.h>
#include <string.h>

void wire_pointer_key(struct wire_pointer *pointer, obb_str key)
{
    size_t length = 1 + key.length;
    for (size_t i = 0; i < key.length && length <= sizeof pointer->text; i++)
        length += key.bytes[i] == '~' || key.bytes[i] == '/';
    if (pointer->full || length > sizeof pointer->text - pointer->length ||
        (key.length != 0 && memchr(key.bytes, '\0', key.length) != NULL)) {
        pointer->full = true;
        return;
    }
    char *out = pointer->text + pointer->length;
    *out++ = '/';
    for (size_t i = 0; i < key.length; i++) {
        const char c = key.bytes[i];
        if (c == '~' || c == '/') {
            *out++ = '~';
            *out++ = c == '~' ? '0' : '1';
        } else {
            *out++ = c;
        }
    }
    pointer->length += length;
}

void wire_pointer_index(struct wire_pointer *pointer, size_t index)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%zu", index);
    wire_pointer_key(pointer, (obb_str){.bytes = digits, .length = (size_t)length});
}

const char *wire_pointer_take(const struct wire_pointer *pointer, struct obb_arena *arena)
{
    char *text = obb_arena_alloc(arena, pointer->length + 1, 1);
    if (text == NULL)
        return NULL;
    memcpy(text, pointer->text, pointer->length);
    text[pointer->length] = '\0';
    return text;
}
