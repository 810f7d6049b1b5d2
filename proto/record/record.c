#include "proto/record/record.h"

#include "proto/base/crc32c.h"
#include "proto/base/le.h"

#include <string.h>

enum {
    LENGTH_AT = 0,
    CHECKSUM_AT = 4,
    CHECKED_FROM = 8,
    LONGEST_NAME = 255,
    LEAST_EFFECT = 2 /* bytes */
};

/* What is there, in one byte. */
enum {
    APPENDS = 1,
    TIME_STATED = 2,
    REPLACES_ALL = 4,
    HAS_SETTINGS = 8,
    HAS_HASH = 16,
    PLANAR = 32,
    RESTARTS = 64,
    BASED = 128 /* from version 3 on: the base follows */
};

/* In the byte of the kind. */
enum {
    IN_PARTS = 128, /* from version 4 on */
    HAS_BOXES = 64  /* from version 6 on: their number follows */
};

/* The first byte of an effect. */
enum {
    KIND_BITS = 3, /* an index of `kinds` */
    TELEPORTED = 4,
    FRAMED = 8,    /* the frame of the box and its pose in it follow */
    OF_FRAME = 16, /* the effect is one on a frame: 0 removed, 3 made or moved */
    CARRIED = 32,
    TIMED =
        64, /* the box has a ttl: it follows, and the time from which it counts. Of a removed box:
                 * it expired */
    /* Of a new box or frame: the revision that last changed it follows. Of a changed box: a put
     * names it. */
    CHANGED = 128,
    PUT = 128
};

static const obb_effect_kind kinds[] = {OBB_EFFECT_REMOVED, OBB_EFFECT_PUT, OBB_EFFECT_NEW,
                                        OBB_EFFECT_POSED};

/* ---- Ids ------------------------------------------------------------------------------------- */

bool wire_record_id_equal(wire_record_id a, wire_record_id b)
{
    return a.writer == b.writer && a.counter == b.counter;
}

bool wire_record_id_is(wire_record_id id) { return id.writer != 0 || id.counter != 0; }

/* Returns whether a base is an earlier record of the same writer: then the distance is enough. */
static bool is_near(wire_record_id id, wire_record_id base)
{
    return base.writer == id.writer && base.counter < id.counter;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_u8(struct wire_buf *out, unsigned value)
{
    const unsigned char byte = (unsigned char)value;
    wire_buf_append(out, &byte, 1);
}

static void put_fixed(struct wire_buf *out, uint64_t value, size_t bytes)
{
    unsigned char room[8];
    for (size_t i = 0; i < bytes; i++)
        room[i] = (unsigned char)(value >> (8 * i));
    wire_buf_append(out, room, bytes);
}

static void put_u64(struct wire_buf *out, uint64_t value) { put_fixed(out, value, 8); }

static void put_f64(struct wire_buf *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u64(out, bits);
}

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
static void put_varint(struct wire_buf *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_u8(out, (unsigned)(value & 127u) | 128u);
    put_u8(out, (unsigned)value);
}

static void put_text(struct wire_buf *out, obb_str text)
{
    put_varint(out, text.length);
    wire_buf_append(out, text.bytes, text.length);
}

static void put_vector(struct wire_buf *out, obb_vec3 v, bool planar)
{
    put_f64(out, v.x);
    put_f64(out, v.y);
    if (!planar)
        put_f64(out, v.z);
}

static void put_rotation(struct wire_buf *out, const obb_box *box, bool planar)
{
    if (planar) {
        put_f64(out, box->angle);
        return;
    }
    put_f64(out, box->rotation.x);
    put_f64(out, box->rotation.y);
    put_f64(out, box->rotation.z);
    put_f64(out, box->rotation.w);
}

static unsigned effect_bits(const obb_effect *effect)
{
    unsigned bits = (effect->teleported ? TELEPORTED : 0u) |
                    (effect->frame.length > 0 ? FRAMED : 0u) | (effect->carried ? CARRIED : 0u) |
                    (effect->expired || effect->attributes.has_ttl ? TIMED : 0u) |
                    (effect->changed != 0 ? CHANGED : 0u) | (effect->put ? PUT : 0u);
    if (effect->kind == OBB_EFFECT_FRAME)
        return bits | OF_FRAME | 3u;
    if (effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return bits | OF_FRAME;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        bits |= kinds[i] == effect->kind ? i : 0u;
    return bits;
}

static void put_frame_effect(struct wire_buf *out, const obb_effect *effect, bool planar)
{
    put_text(out, effect->name);
    if (effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return;
    put_varint(out, effect->parts);
    if (effect->parts & OBB_PUT_CENTER)
        put_vector(out, effect->box.center, planar);
    if (effect->parts & OBB_PUT_ROTATION)
        put_rotation(out, &effect->box, planar);
    if (effect->changed != 0)
        put_varint(out, effect->changed);
}

static void put_effect(struct wire_buf *out, const obb_effect *effect, uint64_t id_before,
                       bool planar)
{
    const int64_t step = (int64_t)(effect->id - id_before);
    put_u8(out, effect_bits(effect));
    put_varint(out, (uint64_t)step << 1 ^ (uint64_t)(step >> 63)); /* small also when negative */
    if (effect->kind == OBB_EFFECT_REMOVED)
        return;
    if (effect->kind == OBB_EFFECT_FRAME || effect->kind == OBB_EFFECT_FRAME_REMOVED) {
        put_frame_effect(out, effect, planar);
        return;
    }
    if (effect->kind == OBB_EFFECT_NEW)
        put_text(out, effect->name);
    else
        put_varint(out, effect->parts);
    if (effect->parts & OBB_PUT_CENTER)
        put_vector(out, effect->box.center, planar);
    if (effect->parts & OBB_PUT_HALF_EXTENTS)
        put_vector(out, effect->box.half_extents, planar);
    if (effect->parts & OBB_PUT_ROTATION)
        put_rotation(out, &effect->box, planar);
    if (effect->parts & OBB_PUT_CATEGORY)
        put_fixed(out, effect->attributes.category, 4);
    if (effect->parts & OBB_PUT_MASK)
        put_fixed(out, effect->attributes.mask, 4);
    if (effect->parts & OBB_PUT_GROUP)
        put_fixed(out, (uint32_t)effect->attributes.group, 4);
    if (effect->parts & OBB_PUT_ENTITY)
        put_text(out, effect->attributes.entity);
    if (effect->parts & OBB_PUT_DATA)
        put_text(out, effect->attributes.data);
    if (effect->attributes.has_ttl) {
        put_f64(out, effect->attributes.ttl);
        put_f64(out, effect->since);
    }
    if (effect->changed != 0)
        put_varint(out, effect->changed);
    if (effect->frame.length == 0)
        return;
    put_text(out, effect->frame);
    put_vector(out, effect->local.center, planar);
    put_rotation(out, &effect->local, planar);
}

static unsigned head_bits(const wire_record *record, int dimensions)
{
    const obb_effects *e = &record->effects;
    return (e->appends ? APPENDS : 0u) | (e->restarts ? RESTARTS : 0u) |
           (e->time_stated ? TIME_STATED : 0u) | (e->replaces_all ? REPLACES_ALL : 0u) |
           (e->has_settings ? HAS_SETTINGS : 0u) | (record->has_hash ? HAS_HASH : 0u) |
           (dimensions == 2 ? PLANAR : 0u) | (wire_record_id_is(record->base) ? BASED : 0u);
}

/* The distance to an earlier record of the same writer; or 0, and the id of the base. */
static void put_base(struct wire_buf *out, wire_record_id id, wire_record_id base)
{
    if (!wire_record_id_is(base))
        return;
    if (is_near(id, base)) {
        put_varint(out, id.counter - base.counter);
        return;
    }
    put_varint(out, 0);
    put_u64(out, base.writer);
    put_u64(out, base.counter);
}

void wire_record_write(const wire_record *record, int dimensions, struct wire_buf *out)
{
    const obb_effects *e = &record->effects;
    const bool planar = dimensions == 2;
    const size_t start = out->length;
    put_u64(out, 0); /* length and checksum */
    put_u8(out, WIRE_RECORD_VERSION);
    put_u8(out, (unsigned)record->kind | (record->in_parts ? IN_PARTS : 0u) |
                    (record->has_boxes ? HAS_BOXES : 0u));
    put_u8(out, head_bits(record, dimensions));
    const uint64_t fixed[] = {record->epoch,         record->id.writer, record->id.counter,
                              record->base_revision, record->base_id,   record->seen,
                              e->moment.revision,    e->next_id};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        put_u64(out, fixed[i]);
    put_f64(out, e->moment.time);
    put_base(out, record->id, record->base);
    put_text(out, record->name);
    put_text(out, record->commit_id);
    put_text(out, record->answer);
    if (record->has_hash)
        put_u64(out, record->hash);
    if (record->has_boxes)
        put_varint(out, record->boxes);
    if (e->has_settings) {
        put_u8(out, (unsigned)e->settings.dimensions);
        put_f64(out, e->settings.history_span);
        put_fixed(out, e->settings.history_commits, 4);
        put_fixed(out, e->settings.record, 4);
    }
    const size_t counts[] = {e->removed, e->put, e->posed, e->transformed, e->count};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        put_varint(out, counts[i]);
    for (size_t i = 0; i < e->count; i++)
        put_effect(out, &e->list[i], i > 0 ? e->list[i - 1].id : 0, planar);
    const size_t length = out->length - start;
    if (length > UINT32_MAX)
        out->failed = true;
    if (out->failed)
        return;
    char *bytes = out->bytes + start;
    const uint32_t numbers[] = {(uint32_t)length,
                                wire_crc32c(bytes + CHECKED_FROM, length - CHECKED_FROM)};
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (char)(numbers[i / 4] >> (8 * (i % 4)));
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What is left to read. After a read beyond the end, or of a value that cannot be, `bad` is set and
 * all reads give zeroes. */
struct input {
    const char *at, *end;
    bool bad;
};

static const char *take(struct input *in, size_t length)
{
    static const char zeroes[8];
    if (in->bad || (size_t)(in->end - in->at) < length) {
        in->bad = true;
        return zeroes;
    }
    const char *at = in->at;
    in->at += length;
    return at;
}

static unsigned get_u8(struct input *in) { return (unsigned char)*take(in, 1); }
static uint32_t get_u32(struct input *in) { return wire_u32le(take(in, 4)); }
static double get_f64(struct input *in) { return wire_f64le(take(in, 8)); }

static uint64_t get_u64(struct input *in)
{
    const char *at = take(in, 8);
    return wire_u32le(at) | (uint64_t)wire_u32le(at + 4) << 32;
}

static uint64_t get_varint(struct input *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned byte = get_u8(in);
        value |= (uint64_t)(byte & 127u) << shift;
        if (byte < 128) {
            in->bad |= byte == 0 && shift > 0;  /* not the shortest form */
            in->bad |= shift == 63 && byte > 1; /* beyond 64 bits */
            return value;
        }
    }
    in->bad = true;
    return 0;
}

static obb_str get_text(struct input *in, size_t longest)
{
    const uint64_t length = get_varint(in);
    if (length > longest)
        in->bad = true;
    if (in->bad)
        return obb_str_of("");
    const char *bytes = take(in, (size_t)length);
    return (obb_str){.bytes = in->bad ? "" : bytes, .length = in->bad ? 0 : (size_t)length};
}

static obb_vec3 get_vector(struct input *in, bool planar)
{
    obb_vec3 v = {.x = get_f64(in)};
    v.y = get_f64(in);
    if (!planar)
        v.z = get_f64(in);
    return v;
}

static void get_rotation(struct input *in, bool planar, obb_box *box)
{
    if (planar) {
        box->angle = get_f64(in);
        return;
    }
    box->rotation.x = get_f64(in);
    box->rotation.y = get_f64(in);
    box->rotation.z = get_f64(in);
    box->rotation.w = get_f64(in);
}

static void get_changed(struct input *in, unsigned head, obb_effect *out)
{
    if ((head & CHANGED) == 0)
        return;
    out->changed = get_varint(in);
    in->bad |= out->changed == 0;
}

static void get_frame_effect(struct input *in, unsigned head, bool planar, obb_effect *out)
{
    const bool removed = (head & KIND_BITS) == 0;
    in->bad |= out->id != 0 || (head & (FRAMED | CARRIED | TIMED)) != 0 ||
               (!removed && (head & KIND_BITS) != 3) ||
               (removed && (out->teleported || (head & CHANGED) != 0));
    out->kind = removed ? OBB_EFFECT_FRAME_REMOVED : OBB_EFFECT_FRAME;
    out->name = get_text(in, LONGEST_NAME);
    if (removed)
        return;
    const uint64_t parts = get_varint(in);
    in->bad |= (parts & ~(uint64_t)OBB_PUT_POSE) != 0;
    out->parts = (unsigned)parts & OBB_PUT_POSE;
    if (out->parts & OBB_PUT_CENTER)
        out->box.center = get_vector(in, planar);
    if (out->parts & OBB_PUT_ROTATION)
        get_rotation(in, planar, &out->box);
    get_changed(in, head, out);
}

static obb_effect get_effect(struct input *in, uint64_t id_before, bool planar, unsigned version)
{
    const unsigned head = get_u8(in);
    const uint64_t step = get_varint(in);
    obb_effect effect = {.kind = kinds[head & KIND_BITS],
                         .id = id_before + (step >> 1 ^ (0u - (step & 1u))),
                         .box = {.rotation = {.w = 1.0}},
                         .local = {.rotation = {.w = 1.0}},
                         .teleported = (head & TELEPORTED) != 0,
                         .carried = (head & CARRIED) != 0};
    if ((head & OF_FRAME) != 0) {
        get_frame_effect(in, head, planar, &effect);
        return effect;
    }
    if (effect.kind == OBB_EFFECT_REMOVED) {
        in->bad |= (head & (FRAMED | CARRIED | PUT)) != 0;
        effect.expired = (head & TIMED) != 0;
        return effect;
    }
    if (effect.kind == OBB_EFFECT_NEW) {
        effect.name = get_text(in, LONGEST_NAME);
        effect.parts = OBB_PUT_ALL;
    } else {
        const uint64_t parts = get_varint(in);
        in->bad |= (parts & ~(uint64_t)OBB_PUT_ALL) != 0;
        effect.parts = (unsigned)parts & OBB_PUT_ALL;
    }
    if (effect.parts & OBB_PUT_CENTER)
        effect.box.center = get_vector(in, planar);
    if (effect.parts & OBB_PUT_HALF_EXTENTS)
        effect.box.half_extents = get_vector(in, planar);
    if (effect.parts & OBB_PUT_ROTATION)
        get_rotation(in, planar, &effect.box);
    if (effect.parts & OBB_PUT_CATEGORY)
        effect.attributes.category = get_u32(in);
    if (effect.parts & OBB_PUT_MASK)
        effect.attributes.mask = get_u32(in);
    if (effect.parts & OBB_PUT_GROUP)
        effect.attributes.group = (int32_t)get_u32(in);
    if (effect.parts & OBB_PUT_ENTITY)
        effect.attributes.entity = get_text(in, SIZE_MAX);
    if (effect.parts & OBB_PUT_DATA)
        effect.attributes.data = get_text(in, SIZE_MAX);
    effect.attributes.has_ttl = (head & TIMED) != 0;
    if (effect.attributes.has_ttl) {
        effect.attributes.ttl = get_f64(in);
        effect.since = get_f64(in);
    }
    if (effect.kind == OBB_EFFECT_NEW)
        get_changed(in, head, &effect);
    else
        effect.put = version > 1 ? (head & PUT) != 0 : effect.kind == OBB_EFFECT_PUT;
    in->bad |= version == 1 && (head & PUT) != 0;
    if ((head & FRAMED) == 0)
        return effect;
    effect.frame = get_text(in, LONGEST_NAME);
    in->bad |= effect.frame.length == 0;
    effect.local.center = get_vector(in, planar);
    effect.local.half_extents = effect.box.half_extents;
    get_rotation(in, planar, &effect.local);
    return effect;
}

static obb_status get_effects(struct input *in, bool planar, unsigned version,
                              struct obb_arena *arena, obb_effects *out)
{
    size_t *const counts[] = {&out->removed, &out->put, &out->posed, &out->transformed};
    for (size_t i = 0; i < sizeof counts / sizeof *counts && version > 1; i++)
        *counts[i] = (size_t)get_varint(in);
    const uint64_t count = get_varint(in);
    if (in->bad || count > (size_t)(in->end - in->at) / LEAST_EFFECT)
        return OBB_BAD_VALUE;
    obb_effect *list = obb_arena_alloc(arena, (size_t)count, sizeof *list);
    if (list == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < count && !in->bad; i++)
        list[i] = get_effect(in, i > 0 ? list[i - 1].id : 0, planar, version);
    out->list = list;
    out->count = (size_t)count;
    return in->bad || in->at != in->end ? OBB_BAD_VALUE : OBB_OK;
}

static wire_record_id get_base(struct input *in, wire_record_id id)
{
    const uint64_t step = get_varint(in);
    if (step > 0) {
        in->bad |= step > id.counter;
        return (wire_record_id){id.writer, id.counter - step};
    }
    wire_record_id base = {.writer = get_u64(in)};
    base.counter = get_u64(in);
    in->bad |= is_near(id, base);
    return base;
}

static void get_head(struct input *in, unsigned bits, wire_record *out)
{
    obb_effects *e = &out->effects;
    uint64_t *const fixed[] = {&out->epoch,         &out->id.writer, &out->id.counter,
                               &out->base_revision, &out->base_id,   &out->seen,
                               &e->moment.revision, &e->next_id};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        *fixed[i] = get_u64(in);
    e->moment.time = get_f64(in);
    e->appends = (bits & APPENDS) != 0;
    e->time_stated = (bits & TIME_STATED) != 0;
    e->replaces_all = (bits & REPLACES_ALL) != 0;
    e->has_settings = (bits & HAS_SETTINGS) != 0;
    e->restarts = (bits & RESTARTS) != 0;
    out->has_hash = (bits & HAS_HASH) != 0;
    if ((bits & BASED) != 0) {
        out->base = get_base(in, out->id);
        in->bad |= !wire_record_id_is(out->base);
    }
    out->name = get_text(in, LONGEST_NAME);
    out->commit_id = get_text(in, SIZE_MAX);
    out->answer = get_text(in, SIZE_MAX);
    if (out->has_hash)
        out->hash = get_u64(in);
    if (out->has_boxes)
        out->boxes = get_varint(in);
    if (e->has_settings) {
        e->settings.dimensions = (int)get_u8(in);
        e->settings.history_span = get_f64(in);
        e->settings.history_commits = get_u32(in);
        e->settings.record = get_u32(in);
        in->bad |= !obb_settings_valid(&e->settings);
    }
}

/* Only a part, and a commit without a list of its own, can be in parts. */
static bool parts_fit(const wire_record *record)
{
    return !record->in_parts || record->kind == WIRE_RECORD_PART ||
           ((record->kind == WIRE_RECORD_COMMIT || record->kind == WIRE_RECORD_MADE) &&
            record->effects.count == 0);
}

bool wire_record_next(obb_str *rest, obb_str *out)
{
    const size_t length = rest->length < CHECKED_FROM ? 0 : wire_u32le(rest->bytes + LENGTH_AT);
    if (length < CHECKED_FROM || length > rest->length)
        return false;
    *out = (obb_str){.bytes = rest->bytes, .length = length};
    *rest = (obb_str){.bytes = rest->bytes + length, .length = rest->length - length};
    return true;
}

/* Reads up to the effects, which begin at in->at. */
static obb_status read_head(obb_str bytes, struct input *in, unsigned *out_version,
                            unsigned *out_bits, wire_record *out)
{
    *out = (wire_record){.kind = WIRE_RECORD_KINDS};
    if (bytes.length < CHECKED_FROM + 3 || wire_u32le(bytes.bytes + LENGTH_AT) != bytes.length ||
        wire_u32le(bytes.bytes + CHECKSUM_AT) !=
            wire_crc32c(bytes.bytes + CHECKED_FROM, bytes.length - CHECKED_FROM))
        return OBB_BAD_VALUE;
    *in = (struct input){.at = bytes.bytes + CHECKED_FROM, .end = bytes.bytes + bytes.length};
    const unsigned version = get_u8(in), kind_byte = get_u8(in), bits = get_u8(in);
    const unsigned kind = kind_byte & ~(unsigned)(IN_PARTS | HAS_BOXES);
    if (version > WIRE_RECORD_VERSION)
        return OBB_LIMIT;
    out->in_parts = (kind_byte & IN_PARTS) != 0;
    out->has_boxes = (kind_byte & HAS_BOXES) != 0;
    if (version == 0 || kind >= WIRE_RECORD_KINDS || (version < 3 && (bits & BASED) != 0) ||
        (version < 4 && (kind == WIRE_RECORD_PART || out->in_parts)) ||
        (version < 5 && kind == WIRE_RECORD_WHOLE) || (version < 6 && out->has_boxes))
        return OBB_BAD_VALUE;
    out->kind = (wire_record_kind)kind;
    get_head(in, bits, out);
    *out_version = version;
    *out_bits = bits;
    return in->bad ? OBB_BAD_VALUE : OBB_OK;
}

obb_status wire_record_head(obb_str bytes, wire_record *out)
{
    struct input in;
    unsigned version, bits;
    return read_head(bytes, &in, &version, &bits, out);
}

obb_status wire_record_read(obb_str bytes, struct obb_arena *arena, wire_record *out)
{
    struct input in;
    unsigned version, bits;
    const obb_status status = read_head(bytes, &in, &version, &bits, out);
    if (status != OBB_OK)
        return status;
    const obb_status st = get_effects(&in, (bits & PLANAR) != 0, version, arena, &out->effects);
    return st == OBB_OK && !parts_fit(out) ? OBB_BAD_VALUE : st;
}
