#include "proto/record/record.h"

#include "proto/base/crc32c.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 40 };

static struct wire_buf out;
static struct obb_arena arena;
static test_rng rng;

static void setup(void)
{
    rng = (test_rng){4};
    obb_arena_init(&arena);
}

static void teardown(void)
{
    obb_arena_fini(&arena);
    wire_buf_fini(&out);
}

/* ---- Random records -------------------------------------------------------------------------- */

static char texts[1 << 16];
static size_t texts_used;

static obb_str random_text(size_t longest)
{
    const size_t length = test_below(&rng, longest + 1);
    if (texts_used + length > sizeof texts)
        texts_used = 0;
    char *bytes = texts + texts_used;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)test_random(&rng);
    texts_used += length;
    return (obb_str){.bytes = bytes, .length = length};
}

/* Any bits: also infinities, numbers that are none, and -0. */
static double random_bits(void)
{
    const uint64_t bits = test_below(&rng, 8) == 0 ? UINT64_C(1) << 63 : test_random(&rng);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static obb_box random_box(bool planar)
{
    obb_box box = {.center = {random_bits(), random_bits(), planar ? 0 : random_bits()},
                   .half_extents = {random_bits(), random_bits(), planar ? 0 : random_bits()},
                   .rotation = {.w = 1}};
    if (planar)
        box.angle = random_bits();
    else
        box.rotation = (obb_quat){random_bits(), random_bits(), random_bits(), random_bits()};
    return box;
}

/* A frame that was made, moved or removed. */
static obb_effect random_frame(bool planar)
{
    obb_effect effect = {.kind =
                             test_below(&rng, 3) == 0 ? OBB_EFFECT_FRAME_REMOVED : OBB_EFFECT_FRAME,
                         .name = random_text(255),
                         .box = {.rotation = {.w = 1}},
                         .local = {.rotation = {.w = 1}}};
    if (effect.kind == OBB_EFFECT_FRAME_REMOVED)
        return effect;
    const obb_box box = random_box(planar);
    effect.teleported = test_below(&rng, 2) == 0;
    effect.changed = test_below(&rng, 2) == 0 ? test_random(&rng) : 0;
    effect.parts = (test_below(&rng, 2) == 0 ? (unsigned)OBB_PUT_CENTER : 0u) |
                   (test_below(&rng, 2) == 0 ? (unsigned)OBB_PUT_ROTATION : 0u);
    if (effect.parts & OBB_PUT_CENTER)
        effect.box.center = box.center;
    if (effect.parts & OBB_PUT_ROTATION) {
        effect.box.rotation = box.rotation;
        effect.box.angle = box.angle;
    }
    return effect;
}

static obb_effect random_effect(bool planar)
{
    if (test_below(&rng, 5) == 0)
        return random_frame(planar);
    static const obb_effect_kind kinds[] = {OBB_EFFECT_REMOVED, OBB_EFFECT_PUT, OBB_EFFECT_NEW,
                                            OBB_EFFECT_POSED};
    obb_effect effect = {.kind = kinds[test_below(&rng, 4)],
                         .id = test_random(&rng) >> test_below(&rng, 64),
                         .box = {.rotation = {.w = 1}},
                         .local = {.rotation = {.w = 1}},
                         .teleported = test_below(&rng, 2) == 0};
    if (effect.kind == OBB_EFFECT_REMOVED) {
        effect.expired = test_below(&rng, 2) == 0;
        return effect;
    }
    const obb_box box = random_box(planar);
    effect.parts = effect.kind == OBB_EFFECT_NEW ? (unsigned)OBB_PUT_ALL
                                                 : (unsigned)test_below(&rng, OBB_PUT_ALL + 1);
    effect.put = effect.kind != OBB_EFFECT_NEW && test_below(&rng, 2) == 0;
    if (effect.kind == OBB_EFFECT_NEW) {
        effect.name = random_text(255);
        effect.changed = test_below(&rng, 2) == 0 ? test_random(&rng) : 0;
    }
    if (effect.parts & OBB_PUT_CENTER)
        effect.box.center = box.center;
    if (effect.parts & OBB_PUT_HALF_EXTENTS)
        effect.box.half_extents = box.half_extents;
    if (effect.parts & OBB_PUT_ROTATION) {
        effect.box.rotation = box.rotation;
        effect.box.angle = box.angle;
    }
    if (effect.parts & OBB_PUT_CATEGORY)
        effect.attributes.category = (uint32_t)test_random(&rng);
    if (effect.parts & OBB_PUT_MASK)
        effect.attributes.mask = (uint32_t)test_random(&rng);
    if (effect.parts & OBB_PUT_GROUP)
        effect.attributes.group = (int32_t)test_random(&rng);
    if (effect.parts & OBB_PUT_ENTITY)
        effect.attributes.entity = random_text(30);
    if (effect.parts & OBB_PUT_DATA)
        effect.attributes.data = random_text(300);
    if (test_below(&rng, 3) == 0) {
        effect.attributes.has_ttl = true;
        effect.attributes.ttl = random_bits();
        effect.since = random_bits();
    }
    if (test_below(&rng, 3) == 0) {
        effect.frame = random_text(254);
        effect.frame.length += effect.frame.length == 0;
        effect.local = random_box(planar);
        effect.carried = test_below(&rng, 2) == 0;
    }
    return effect;
}

static obb_effect effects[MOST];

/* No base, an earlier record of the same writer, or any. */
static wire_record_id random_base(wire_record_id id)
{
    if (test_below(&rng, 3) == 0)
        return (wire_record_id){0};
    if (test_below(&rng, 2) == 0)
        return (wire_record_id){id.writer, id.counter - test_below(&rng, 300)};
    return (wire_record_id){test_random(&rng), test_random(&rng)};
}

static wire_record random_record(bool planar)
{
    const size_t count = test_below(&rng, MOST);
    for (size_t i = 0; i < count; i++)
        effects[i] = random_effect(planar);
    wire_record record = {.kind = (wire_record_kind)test_below(&rng, WIRE_RECORD_KINDS),
                          .epoch = test_random(&rng),
                          .id = {test_random(&rng), test_random(&rng) >> test_below(&rng, 64)},
                          .base_revision = test_random(&rng),
                          .base_id = test_random(&rng),
                          .seen = test_random(&rng),
                          .name = random_text(255),
                          .commit_id = random_text(64),
                          .answer = random_text(200),
                          .has_hash = test_below(&rng, 2) == 0,
                          .has_boxes = test_below(&rng, 2) == 0};
    record.base = random_base(record.id);
    if (record.has_hash)
        record.hash = test_random(&rng);
    if (record.has_boxes)
        record.boxes = test_random(&rng) >> test_below(&rng, 64);
    record.effects = (obb_effects){.moment = {test_random(&rng), random_bits()},
                                   .appends = test_below(&rng, 2) == 0,
                                   .time_stated = test_below(&rng, 2) == 0,
                                   .replaces_all = test_below(&rng, 2) == 0,
                                   .restarts = test_below(&rng, 2) == 0,
                                   .has_settings = test_below(&rng, 2) == 0,
                                   .next_id = test_random(&rng),
                                   .removed = test_random(&rng) >> test_below(&rng, 64),
                                   .put = test_random(&rng) >> test_below(&rng, 64),
                                   .posed = test_random(&rng) >> test_below(&rng, 64),
                                   .transformed = test_random(&rng) >> test_below(&rng, 64),
                                   .list = effects,
                                   .count = count};
    if (record.kind == WIRE_RECORD_PART || record.kind == WIRE_RECORD_COMMIT ||
        record.kind == WIRE_RECORD_MADE)
        record.in_parts = test_below(&rng, 4) == 0;
    if (record.in_parts && record.kind != WIRE_RECORD_PART)
        record.effects.count = 0;
    if (record.effects.has_settings)
        record.effects.settings = (obb_settings){.dimensions = planar ? 2 : 3,
                                                 .history_span = test_uniform(&rng, 0, 1e6),
                                                 .history_commits = (uint32_t)test_random(&rng),
                                                 .record = (uint32_t)test_below(&rng, 10001)};
    return record;
}

static bool same_text(obb_str a, obb_str b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static bool same_effect(const obb_effect *a, const obb_effect *b)
{
    return a->kind == b->kind && a->id == b->id && same_text(a->name, b->name) &&
           /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
           a->parts == b->parts && memcmp(&a->box, &b->box, sizeof a->box) == 0 &&
           a->attributes.category == b->attributes.category &&
           a->attributes.mask == b->attributes.mask && a->attributes.group == b->attributes.group &&
           same_text(a->attributes.entity, b->attributes.entity) &&
           same_text(a->attributes.data, b->attributes.data) && a->teleported == b->teleported &&
           a->carried == b->carried && a->expired == b->expired && a->changed == b->changed &&
           a->put == b->put && a->attributes.has_ttl == b->attributes.has_ttl &&
           test_same_bits(a->attributes.ttl, b->attributes.ttl) &&
           test_same_bits(a->since, b->since) && same_text(a->frame, b->frame) &&
           /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
           memcmp(&a->local.center, &b->local.center, sizeof a->local.center) == 0 &&
           /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
           memcmp(&a->local.rotation, &b->local.rotation, sizeof a->local.rotation) == 0 &&
           test_same_bits(a->local.angle, b->local.angle);
}

static bool same_record(const wire_record *a, const wire_record *b)
{
    const obb_effects *x = &a->effects, *y = &b->effects;
    bool same = a->kind == b->kind && a->epoch == b->epoch && a->id.writer == b->id.writer &&
                a->id.counter == b->id.counter && a->base.writer == b->base.writer &&
                a->base.counter == b->base.counter && a->base_revision == b->base_revision &&
                a->base_id == b->base_id && a->seen == b->seen && same_text(a->name, b->name) &&
                same_text(a->commit_id, b->commit_id) && same_text(a->answer, b->answer) &&
                a->in_parts == b->in_parts && a->has_hash == b->has_hash && a->hash == b->hash &&
                a->has_boxes == b->has_boxes && a->boxes == b->boxes &&
                x->moment.revision == y->moment.revision &&
                test_same_bits(x->moment.time, y->moment.time) && x->appends == y->appends &&
                x->time_stated == y->time_stated && x->replaces_all == y->replaces_all &&
                x->restarts == y->restarts && x->has_settings == y->has_settings &&
                obb_settings_same(&x->settings, &y->settings) && x->next_id == y->next_id &&
                x->removed == y->removed && x->put == y->put && x->posed == y->posed &&
                x->transformed == y->transformed && x->count == y->count;
    for (size_t i = 0; i < x->count && same; i++)
        same = same_effect(&x->list[i], &y->list[i]);
    return same;
}

static obb_str written(const wire_record *record, bool planar)
{
    out.length = 0;
    wire_record_write(record, planar ? 2 : 3, &out);
    ck_assert(!out.failed);
    return (obb_str){.bytes = out.bytes, .length = out.length};
}

static obb_status read_back(obb_str bytes, wire_record *record)
{
    obb_arena_reset(&arena);
    return wire_record_read(bytes, &arena, record);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(what_is_written_is_read_to_the_bit)
{
    size_t looked = 0, with_effects = 0, in_parts = 0;
    for (; looked < test_effort(3000); looked++) {
        const bool planar = looked % 2 == 0;
        const wire_record record = random_record(planar);
        wire_record again;
        ck_assert_int_eq(read_back(written(&record, planar), &again), OBB_OK);
        ck_assert(same_record(&record, &again));
        with_effects += again.effects.count > 0;
        in_parts += again.in_parts;
    }
    printf("%zu records, %zu in parts\n", looked, in_parts);
    ck_assert_uint_gt(in_parts, looked / 20);
    ck_assert_uint_gt(with_effects, looked / 2);
}
END_TEST

START_TEST(every_beginning_of_a_record_is_refused)
{
    size_t looked = 0;
    for (size_t i = 0; i < 20; i++) {
        const wire_record record = random_record(i % 2 == 0);
        const obb_str bytes = written(&record, i % 2 == 0);
        wire_record again;
        for (size_t length = 0; length < bytes.length; length++, looked++) {
            /* a copy, so that a read behind the end is seen */
            char *cut = malloc(length + 1);
            memcpy(cut, bytes.bytes, length);
            ck_assert_int_eq(read_back((obb_str){.bytes = cut, .length = length}, &again),
                             OBB_BAD_VALUE);
            free(cut);
        }
        wire_buf_append(&out, "", 1);
        ck_assert_int_eq(read_back((obb_str){.bytes = out.bytes, .length = out.length}, &again),
                         OBB_BAD_VALUE);
    }
    printf("%zu beginnings\n", looked);
    ck_assert_uint_gt(looked, 1000);
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
    size_t looked = 0;
    for (size_t i = 0; i < 6; i++) {
        const wire_record record = random_record(i % 2 == 0);
        const obb_str bytes = written(&record, i % 2 == 0);
        wire_record again;
        for (size_t bit = 0; bit < 8 * bytes.length; bit++, looked++) {
            /* NOLINTNEXTLINE(bugprone-narrowing-conversions) */
            out.bytes[bit / 8] ^= (char)(1u << (bit % 8));
            ck_assert_int_eq(read_back(bytes, &again), OBB_BAD_VALUE);
            /* NOLINTNEXTLINE(bugprone-narrowing-conversions) */
            out.bytes[bit / 8] ^= (char)(1u << (bit % 8));
        }
    }
    printf("%zu flipped bits\n", looked);
    ck_assert_uint_gt(looked, 10000);
}
END_TEST

START_TEST(records_that_follow_each_other_are_taken_apart)
{
    enum { ROW = 20 };
    size_t ends[ROW];
    struct wire_buf row = {0};
    for (size_t i = 0; i < ROW; i++) {
        const wire_record record = random_record(i % 2 == 0);
        wire_record_write(&record, i % 2 == 0 ? 2 : 3, &row);
        ends[i] = row.length;
    }
    size_t looked = 0;
    for (size_t cut = 0; cut <= row.length; cut += 1 + row.length / 1000, looked++) {
        obb_str rest = {.bytes = row.bytes, .length = cut}, one;
        size_t i = 0;
        for (; wire_record_next(&rest, &one); i++) {
            wire_record record;
            ck_assert_ptr_eq(one.bytes + one.length, row.bytes + ends[i]);
            ck_assert_int_eq(read_back(one, &record), OBB_OK);
        }
        ck_assert(i == ROW || ends[i] > cut);
        ck_assert_uint_eq(rest.length, cut - (i > 0 ? ends[i - 1] : 0));
    }
    ck_assert_uint_gt(looked, 900);
    obb_str short_length = {.bytes = "\7\0\0\0\0\0\0\0\0", .length = 9}, one;
    ck_assert(!wire_record_next(&short_length, &one)); /* would never end */
    wire_buf_fini(&row);
}
END_TEST

START_TEST(records_are_short)
{
    obb_effect list[1000];
    memset(list, 0, sizeof list);
    for (size_t i = 0; i < 1000; i++)
        list[i] = (obb_effect){
            .kind = OBB_EFFECT_POSED, .id = 1000 + i, .parts = OBB_PUT_CENTER | OBB_PUT_ROTATION};
    wire_record record = {.kind = WIRE_RECORD_COMMIT,
                          .id = {1, 1000},
                          .base = {1, 999},
                          .effects = {.appends = true, .list = list, .count = 1000}};
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_le(written(&record, false).length, 60 * 1000);
    for (size_t i = 0; i < 1000; i++) {
        list[i].kind = OBB_EFFECT_NEW;
        list[i].parts = OBB_PUT_ALL;
        list[i].name = obb_str_of("player-12.upper-arm");
        list[i].attributes.entity = obb_str_of("player-12");
    }
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_le(written(&record, false).length, 150 * 1000);
    record.effects.count = 0;
    ck_assert_uint_le(written(&record, false).length, 100);
}
END_TEST

/* The first version and the second, as they were written once. */
START_TEST(old_records_are_read)
{
    static const unsigned char first[] = {
        0x5a, 0x00, 0x00, 0x00, 0xc0, 0x2a, 0x14, 0x59, 0x01, 0x02, 0x00, 0x07, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x6f, 0x6e, 0x65, 0x00, 0x00, 0x00};
    static const unsigned char second[] = {
        0x5e, 0x00, 0x00, 0x00, 0xd7, 0xfb, 0x53, 0xc8, 0x02, 0x02, 0x00, 0x07, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
        0x6f, 0x6e, 0x65, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x00};
    wire_record record = {
        .kind = WIRE_RECORD_GONE, .epoch = 7, .id = {8, 9}, .name = obb_str_of("one")};
    wire_record again;
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)first, .length = sizeof first}, &again), OBB_OK);
    ck_assert(same_record(&record, &again));
    record.effects = (obb_effects){.removed = 1, .put = 2, .posed = 3, .transformed = 4};
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)second, .length = sizeof second}, &again),
        OBB_OK);
    ck_assert(same_record(&record, &again));
}
END_TEST

/* Appends bytes to `out`, and sets length and checksum. */
static obb_str sealed(const unsigned char *bytes, size_t length)
{
    out.length = 0;
    wire_buf_append(&out, "\0\0\0\0\0\0\0\0", 8);
    wire_buf_append(&out, bytes, length);
    const uint32_t numbers[] = {(uint32_t)out.length, wire_crc32c(out.bytes + 8, length)};
    for (size_t i = 0; i < 8; i++)
        out.bytes[i] = (char)(numbers[i / 4] >> (8 * (i % 4)));
    return (obb_str){.bytes = out.bytes, .length = out.length};
}

/* The bytes of a base are one only, and a record of an older version has none. */
START_TEST(a_base_has_one_form)
{
    enum { BITS_AT = 2, WRITER_AT = 11, COUNTER_AT = 19, BASE_AT = 75 };
    static const struct {
        unsigned char version, length;
        unsigned char base[17]; /* with the distance, or 0 and an id */
        obb_status status;
    } cases[] = {
        {3, 1, {2}, OBB_OK},
        {3, 1, {9}, OBB_OK},                                    /* counter 0 of the writer 8 */
        {3, 1, {10}, OBB_BAD_VALUE},                            /* before its first record */
        {3, 17, {0, 7, 0, 0, 0, 0, 0, 0, 0, 3}, OBB_OK},        /* of another writer */
        {3, 17, {0, 8, 0, 0, 0, 0, 0, 0, 0, 12}, OBB_OK},       /* a later one */
        {3, 17, {0, 8, 0, 0, 0, 0, 0, 0, 0, 3}, OBB_BAD_VALUE}, /* has a shorter form */
        {3, 17, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, OBB_BAD_VALUE}, /* no record: has none */
        {2, 1, {2}, OBB_BAD_VALUE},
        {1, 1, {2}, OBB_BAD_VALUE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[BASE_AT + 17 + 8] = {cases[i].version, WIRE_RECORD_COMMIT, 128};
        wire_record record;
        bytes[WRITER_AT] = 8;
        bytes[COUNTER_AT] = 9;
        memcpy(bytes + BASE_AT, cases[i].base, cases[i].length);
        /* behind it three texts and five counts, all 0 */
        const obb_status status =
            read_back(sealed(bytes, (size_t)BASE_AT + cases[i].length + 8), &record);
        ck_assert_msg(status == cases[i].status, "case %zu: %s", i, obb_status_name(status));
        if (status != OBB_OK)
            continue;
        const bool near = cases[i].length == 1;
        ck_assert_uint_eq(record.base.writer, near ? 8 : cases[i].base[1]);
        ck_assert_uint_eq(record.base.counter, near ? 9u - cases[i].base[0] : cases[i].base[9]);
    }
}
END_TEST

/* Of the first version, a put is known by its kind, and nobody knows how many entries there
 * were. */
START_TEST(puts_of_the_first_version_are_known_by_their_kind)
{
    enum { COUNTS_AT = 86, COUNTS = 4 }; /* of a record without texts, hash and settings */
    const obb_effect list[] = {{.kind = OBB_EFFECT_PUT, .id = 1, .parts = OBB_PUT_GROUP},
                               {.kind = OBB_EFFECT_POSED, .id = 2}};
    const wire_record record = {.kind = WIRE_RECORD_COMMIT,
                                .effects = {.appends = true, .list = list, .count = 2}};
    (void)written(&record, false);
    for (size_t i = 0; i < COUNTS; i++)
        ck_assert_int_eq(out.bytes[COUNTS_AT + i], 0);
    ck_assert_int_eq(out.bytes[COUNTS_AT + COUNTS], 2); /* effects */
    out.length -= COUNTS;
    memmove(out.bytes + COUNTS_AT, out.bytes + COUNTS_AT + COUNTS, out.length - COUNTS_AT);
    out.bytes[8] = 1;
    const uint32_t numbers[] = {(uint32_t)out.length, wire_crc32c(out.bytes + 8, out.length - 8)};
    for (size_t i = 0; i < 8; i++)
        out.bytes[i] = (char)(numbers[i / 4] >> (8 * (i % 4)));
    wire_record again;
    ck_assert_int_eq(read_back((obb_str){.bytes = out.bytes, .length = out.length}, &again),
                     OBB_OK);
    ck_assert_uint_eq(again.effects.count, 2);
    ck_assert(again.effects.list[0].put && !again.effects.list[1].put);
    ck_assert_uint_eq(again.effects.put, 0);
}
END_TEST

/* The third version, as it was written once: a commit of boxes that removes box 1 and puts the pose
 * of box 2. */
START_TEST(commits_of_the_third_version_are_read)
{
    static const unsigned char third[] = {
        0x7b, 0x00, 0x00, 0x00, 0xd8, 0x68, 0xee, 0xfe, 0x03, 0x01, 0x83, 0x07, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x40, 0x02,
        0x00, 0x01, 0x63, 0x01, 0x61, 0x01, 0x00, 0x01, 0x00, 0x02, 0x00, 0x02, 0x83, 0x02,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40};
    static const obb_effect list[] = {
        {.kind = OBB_EFFECT_REMOVED, .id = 1, .box.rotation.w = 1, .local.rotation.w = 1},
        {.kind = OBB_EFFECT_POSED,
         .id = 2,
         .parts = OBB_PUT_CENTER,
         .box = {.center = {1, 2, 3}, .rotation.w = 1},
         .local.rotation.w = 1,
         .put = true}};
    const wire_record record = {.kind = WIRE_RECORD_COMMIT,
                                .epoch = 7,
                                .id = {8, 9},
                                .base = {8, 7},
                                .base_revision = 4,
                                .base_id = 3,
                                .seen = 2,
                                .commit_id = obb_str_of("c"),
                                .answer = obb_str_of("a"),
                                .effects = {.moment = {5, 2.5},
                                            .appends = true,
                                            .time_stated = true,
                                            .next_id = 3,
                                            .removed = 1,
                                            .posed = 1,
                                            .list = list,
                                            .count = 2}};
    wire_record again;
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)third, .length = sizeof third}, &again), OBB_OK);
    ck_assert(same_record(&record, &again));
}
END_TEST

/* The fourth version, as it was written once: a commit whose effects came before, in parts. */
START_TEST(commits_of_the_fourth_version_are_read)
{
    static const unsigned char fourth[] = {
        0x5e, 0x00, 0x00, 0x00, 0xe3, 0x67, 0xfb, 0x3d, 0x04, 0x81, 0x83, 0x07, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x40, 0x02,
        0x00, 0x01, 0x63, 0x01, 0x61, 0x01, 0x00, 0x01, 0x00, 0x00};
    const wire_record record = {.kind = WIRE_RECORD_COMMIT,
                                .epoch = 7,
                                .id = {8, 9},
                                .base = {8, 7},
                                .base_revision = 4,
                                .base_id = 3,
                                .seen = 2,
                                .commit_id = obb_str_of("c"),
                                .answer = obb_str_of("a"),
                                .in_parts = true,
                                .effects = {.moment = {5, 2.5},
                                            .appends = true,
                                            .time_stated = true,
                                            .next_id = 3,
                                            .removed = 1,
                                            .posed = 1}};
    wire_record again;
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)fourth, .length = sizeof fourth}, &again),
        OBB_OK);
    ck_assert(same_record(&record, &again) && again.in_parts);
}
END_TEST

/* Gives the record in `out` another version and other bits of its kind, and a fitting checksum. */
static obb_status read_changed(unsigned version, unsigned bits)
{
    wire_record again;
    out.bytes[8] = (char)version;
    out.bytes[9] = (char)((unsigned char)out.bytes[9] ^ bits);
    const uint32_t checksum = wire_crc32c(out.bytes + 8, out.length - 8);
    for (size_t i = 0; i < 4; i++)
        out.bytes[4 + i] = (char)(checksum >> (8 * i));
    return read_back((obb_str){.bytes = out.bytes, .length = out.length}, &again);
}

START_TEST(only_commits_are_in_parts)
{
    enum { IN_PARTS = 128 };
    const obb_effect one = {.kind = OBB_EFFECT_REMOVED, .id = 1};
    wire_record record = {.effects = {.appends = true, .list = &one}};
    for (int kind = 0; kind < WIRE_RECORD_KINDS; kind++) {
        const bool is_part = kind == WIRE_RECORD_PART,
                   commits = kind == WIRE_RECORD_COMMIT || kind == WIRE_RECORD_MADE;
        record.kind = (wire_record_kind)kind;
        for (size_t count = 0; count < 2; count++) {
            const bool fits = is_part || (commits && count == 0);
            record.effects.count = count;
            const bool is_new = kind == WIRE_RECORD_WHOLE;
            (void)written(&record, false);
            ck_assert_int_eq(read_changed(5, 0), OBB_OK);
            /* nobody knew of snapshots beside the log */
            ck_assert_int_eq(read_changed(4, 0), is_new ? OBB_BAD_VALUE : OBB_OK);
            ck_assert_int_eq(read_changed(4, IN_PARTS), fits ? OBB_OK : OBB_BAD_VALUE);
            /* nobody knew of parts */
            ck_assert_int_eq(read_changed(3, 0), OBB_BAD_VALUE);
            ck_assert_int_eq(read_changed(3, IN_PARTS), is_part || is_new ? OBB_BAD_VALUE : OBB_OK);
        }
    }
}
END_TEST

/* The fifth version, as it was written once: the word that a snapshot is whole. */
START_TEST(words_about_snapshots_of_the_fifth_version_are_read)
{
    static const unsigned char fifth[] = {
        0x6e, 0x00, 0x00, 0x00, 0xa9, 0x7f, 0xaa, 0xd2, 0x05, 0x07, 0x88, 0x07, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x2c, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x40, 0x02,
        0x01, 0x73, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x7f, 0x40, 0x40,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    const wire_record record = {
        .kind = WIRE_RECORD_WHOLE,
        .epoch = 7,
        .id = {8, 9},
        .base = {8, 7},
        .base_id = 300,
        .seen = 2,
        .name = obb_str_of("s"),
        .effects = {.moment = {5, 2.5},
                    .has_settings = true,
                    .settings = {.dimensions = 3, .history_span = 500, .history_commits = 64},
                    .next_id = 3}};
    wire_record again;
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)fifth, .length = sizeof fifth}, &again), OBB_OK);
    ck_assert(same_record(&record, &again) && !again.has_boxes);
}
END_TEST

START_TEST(only_the_sixth_version_says_how_many_boxes_there_are)
{
    enum { HAS_BOXES = 64 };
    const wire_record record = {.kind = WIRE_RECORD_COMMIT, .has_boxes = true, .boxes = 300};
    (void)written(&record, false);
    ck_assert_int_eq(read_changed(6, 0), OBB_OK);
    ck_assert_int_eq(read_changed(5, 0), OBB_BAD_VALUE);
    ck_assert_int_ne(read_changed(6, HAS_BOXES), OBB_OK); /* the number is in the way */
}
END_TEST

START_TEST(a_newer_record_is_told_apart)
{
    unsigned char bytes[] = {11, 0, 0, 0, 0, 0, 0, 0, WIRE_RECORD_VERSION + 1, 0, 0};
    wire_record record = {.kind = WIRE_RECORD_COMMIT};
    (void)written(&record, false);
    wire_record again;
    /* CRC-32C of the three bytes 7, 0, 0 */
    const uint32_t checksum = 0x1494c713;
    for (size_t i = 0; i < 4; i++)
        bytes[4 + i] = (unsigned char)(checksum >> (8 * i));
    ck_assert_int_eq(
        read_back((obb_str){.bytes = (const char *)bytes, .length = sizeof bytes}, &again),
        OBB_LIMIT);
}
END_TEST

START_TEST(each_failing_allocation_is_met)
{
    const wire_record record = random_record(false);
    const obb_str bytes = written(&record, false);
    wire_record again;
    size_t n = 1;
    for (;; n++) {
        struct wire_buf other = {0};
        obb_arena_fini(&arena);
        fault_arm(n);
        wire_record_write(&record, 3, &other);
        const obb_status status = wire_record_read(bytes, &arena, &again);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert(other.failed || status == OBB_NO_MEMORY || !reached);
        wire_buf_fini(&other);
        if (!reached)
            break;
    }
    ck_assert_uint_gt(n, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tests = tcase_create("bytes");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, test_patience(30));
    tcase_add_test(tests, what_is_written_is_read_to_the_bit);
    tcase_add_test(tests, every_beginning_of_a_record_is_refused);
    tcase_add_test(tests, every_flipped_bit_is_found);
    tcase_add_test(tests, records_that_follow_each_other_are_taken_apart);
    tcase_add_test(tests, records_are_short);
    tcase_add_test(tests, old_records_are_read);
    tcase_add_test(tests, a_base_has_one_form);
    tcase_add_test(tests, puts_of_the_first_version_are_known_by_their_kind);
    tcase_add_test(tests, commits_of_the_third_version_are_read);
    tcase_add_test(tests, commits_of_the_fourth_version_are_read);
    tcase_add_test(tests, only_commits_are_in_parts);
    tcase_add_test(tests, words_about_snapshots_of_the_fifth_version_are_read);
    tcase_add_test(tests, only_the_sixth_version_says_how_many_boxes_there_are);
    tcase_add_test(tests, a_newer_record_is_told_apart);
    tcase_add_test(tests, each_failing_allocation_is_met);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
