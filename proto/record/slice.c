#include "proto/record/slice.h"

#include "proto/base/crc32c.h"
#include "proto/base/le.h"

#include <string.h>

enum { CHECKED_FROM = 8, NUMBERS_FROM = 10, NUMBERS = 6 };

static void set_number(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

void wire_slice_write(const wire_slice *slice, struct wire_buf *out)
{
    const size_t start = out->length;
    const uint64_t numbers[NUMBERS] = {slice->id.writer,    slice->id.counter, slice->base.writer,
                                       slice->base.counter, slice->number,     slice->count};
    unsigned char head[WIRE_SLICE_HEAD] = {0};
    head[CHECKED_FROM] = WIRE_SLICE;
    head[CHECKED_FROM + 1] = (unsigned char)slice->kind;
    for (size_t i = 0; i < NUMBERS; i++)
        set_number(head + NUMBERS_FROM + 8 * i, numbers[i], 8);
    wire_buf_append(out, head, sizeof head);
    wire_buf_append(out, slice->bytes.bytes, slice->bytes.length);
    const size_t length = out->length - start;
    if (length > UINT32_MAX)
        out->failed = true;
    if (out->failed)
        return;
    unsigned char *at = (unsigned char *)out->bytes + start;
    set_number(at, length, 4);
    set_number(at + 4, wire_crc32c(out->bytes + start + CHECKED_FROM, length - CHECKED_FROM), 4);
}

bool wire_slice_is(obb_str bytes)
{
    return bytes.length > CHECKED_FROM && bytes.bytes[CHECKED_FROM] == WIRE_SLICE;
}

static uint64_t number_at(const char *at)
{
    return wire_u32le(at) | (uint64_t)wire_u32le(at + 4) << 32;
}

obb_status wire_slice_read(obb_str bytes, wire_slice *out)
{
    uint64_t numbers[NUMBERS];
    if (bytes.length < WIRE_SLICE_HEAD || !wire_slice_is(bytes) ||
        wire_u32le(bytes.bytes) != bytes.length ||
        wire_u32le(bytes.bytes + 4) !=
            wire_crc32c(bytes.bytes + CHECKED_FROM, bytes.length - CHECKED_FROM))
        return OBB_BAD_VALUE;
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = number_at(bytes.bytes + NUMBERS_FROM + 8 * i);
    const unsigned kind = (unsigned char)bytes.bytes[CHECKED_FROM + 1];
    if (kind >= WIRE_RECORD_KINDS || numbers[4] >= numbers[5])
        return OBB_BAD_VALUE;
    *out = (wire_slice){.kind = (wire_record_kind)kind,
                        .id = {numbers[0], numbers[1]},
                        .base = {numbers[2], numbers[3]},
                        .number = numbers[4],
                        .count = numbers[5],
                        .bytes = {bytes.bytes + WIRE_SLICE_HEAD, bytes.length - WIRE_SLICE_HEAD}};
    return OBB_OK;
}
