#include "core/scene/digest.h"

#include "core/base/hash.h"
#include "core/base/word.h"
#include "core/scene/name.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <assert.h>
#include <string.h>

enum { WHOLES = 29, TEXTS = 4 }; /* of a box at most */

/* What is hashed: numbers of 8 little-endian bytes each, and texts behind their lengths, so that
 * the hash is the same on every CPU and no text can run into the next one. */
struct hashed {
    unsigned char bytes[8 * (WHOLES + TEXTS) + 3 * OBB_MAX_NAME + OBB_MAX_DATA];
    size_t length;
};

static void add_whole(struct hashed *hashed, uint64_t value)
{
    assert(hashed->length + sizeof value <= sizeof hashed->bytes);
    obb_word_put(hashed->bytes + hashed->length, value);
    hashed->length += sizeof value;
}

static void add_double(struct hashed *hashed, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_whole(hashed, bits);
}

static void add_text(struct hashed *hashed, obb_str text)
{
    add_whole(hashed, text.length);
    assert(hashed->length + text.length <= sizeof hashed->bytes);
    memcpy(hashed->bytes + hashed->length, text.bytes, text.length);
    hashed->length += text.length;
}

static uint64_t hash_of(const struct hashed *hashed)
{
    return obb_hash((obb_hash_key){0}, hashed->bytes, hashed->length);
}

static void add_pose(struct hashed *hashed, const obb_box *pose)
{
    const double parts[] = {pose->center.x,   pose->center.y,   pose->center.z,   pose->rotation.x,
                            pose->rotation.y, pose->rotation.z, pose->rotation.w, pose->angle};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_double(hashed, parts[i]);
}

static uint64_t hash_of_frame(const struct obb_version *version)
{
    struct hashed hashed;
    hashed.length = 0;
    add_pose(&hashed, &version->box);
    add_text(&hashed, obb_record_name(obb_version_record(version)));
    return hash_of(&hashed);
}

/* Adds everything of a box except its box. */
static void add_rest(struct hashed *hashed, const struct obb_version *version)
{
    add_whole(hashed, version->category);
    add_whole(hashed, version->mask);
    add_whole(hashed, (uint64_t)(int64_t)version->group);
    add_text(hashed, obb_record_name(obb_version_record(version)));
    const struct obb_extras *extras = obb_version_extras(version);
    add_text(hashed, obb_interned_text(extras->entity));
    add_text(hashed, obb_interned_text(extras->data));
    obb_str frame;
    obb_box local;
    if (obb_view_local(version, &frame, &local)) {
        add_pose(hashed, &local);
        add_text(hashed, frame);
    }
    if (extras->ttl >= 0.0)
        add_double(hashed, extras->ttl);
}

static uint64_t hash_of_box(const struct obb_version *version)
{
    const obb_box *box = &version->box;
    const double parts[] = {box->center.x,       box->center.y,       box->center.z,
                            box->half_extents.x, box->half_extents.y, box->half_extents.z,
                            box->rotation.x,     box->rotation.y,     box->rotation.z,
                            box->rotation.w,     box->angle};
    struct hashed hashed;
    hashed.length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_double(&hashed, parts[i]);
    add_rest(&hashed, version);
    return hash_of(&hashed);
}

/* Returns the hash of a box with its id: one more round over the hash without it. */
static uint64_t with_id(uint64_t hash, uint64_t id)
{
    struct hashed hashed;
    hashed.length = 0;
    add_whole(&hashed, hash);
    add_whole(&hashed, id);
    return hash_of(&hashed);
}

static uint64_t hash_of_version(const struct obb_version *version)
{
    return obb_version_is_frame(version) ? hash_of_frame(version) : hash_of_box(version);
}

void obb_digest_add(obb_digest *digest, const struct obb_version *box)
{
    const uint64_t hash = hash_of_version(box);
    digest->content += hash;
    digest->identity += with_id(hash, box->id);
}

void obb_digest_remove(obb_digest *digest, const struct obb_version *box)
{
    const uint64_t hash = hash_of_version(box);
    digest->content -= hash;
    digest->identity -= with_id(hash, box->id);
}

static void add_settings(struct hashed *hashed, const obb_settings *settings)
{
    add_whole(hashed, (uint64_t)settings->dimensions);
    add_double(hashed, settings->history_span);
    add_whole(hashed, settings->history_commits);
    if (settings->record > 0) /* scenes that do not record keep the hashes that they ever had */
        add_whole(hashed, settings->record);
}

uint64_t obb_digest_content(const obb_digest *digest, const obb_settings *settings, double time)
{
    struct hashed hashed;
    hashed.length = 0;
    add_settings(&hashed, settings);
    add_double(&hashed, time);
    add_whole(&hashed, digest->content);
    return hash_of(&hashed);
}

uint64_t obb_digest_exact(const obb_digest *digest, const obb_settings *settings, obb_moment moment,
                          uint64_t next_id)
{
    struct hashed hashed;
    hashed.length = 0;
    add_settings(&hashed, settings);
    add_double(&hashed, moment.time);
    add_whole(&hashed, moment.revision);
    add_whole(&hashed, next_id);
    add_whole(&hashed, digest->identity);
    return hash_of(&hashed);
}

uint64_t obb_scene_hash(struct obb_scene *scene)
{
    obb_digest digest = {0};
    const struct obb_view view = obb_view_of_now(scene);
    for (const struct obb_version *box = obb_view_next(&view, 0); box != NULL;
         box = obb_view_next(&view, box->id))
        obb_digest_add(&digest, box);
    for (const struct obb_version *frame = obb_view_next_frame(&view, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(&view, obb_view_name(frame), true))
        obb_digest_add(&digest, frame);
    return obb_digest_exact(&digest, &view.state->settings, view.info.now, view.next_id);
}

/* ---- Fingerprints ---------------------------------------------------------------------------- */

/* Upper bits of a word are brought down before it is multiplied: two signs that change would else
 * cancel each other. */
static uint64_t word_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ bits >> 32;
}

/* Returns by how much a number adds more than another one. key: random and odd. */
static inline uint64_t differ(double after, double before, uint64_t key)
{
    return (word_of(after) - word_of(before)) * key;
}

/* Returns by how much the box of a version adds more to a fingerprint than the one before did: a
 * sum of words, each times a number of its own, and then times one of the box. */
static uint64_t difference_of(const struct obb_version *after, const obb_box *before)
{
    const obb_box *a = &after->box, *b = before;
    uint64_t key = after->id * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (differ(a->center.x, b->center.x, 0x2f5ba1c9d8e7364b) +
            differ(a->center.y, b->center.y, 0x9b1d4f60a7c2e835) +
            differ(a->center.z, b->center.z, 0xc46e92f17b053da9) +
            differ(a->half_extents.x, b->half_extents.x, 0x5d83e0b6942fc71f) +
            differ(a->half_extents.y, b->half_extents.y, 0xe17a3c58d06b9f43) +
            differ(a->half_extents.z, b->half_extents.z, 0x38c5f7e21d94ab67) +
            differ(a->rotation.x, b->rotation.x, 0x76f09d4ab3e8512d) +
            differ(a->rotation.y, b->rotation.y, 0xad2648c3f95170eb) +
            differ(a->rotation.z, b->rotation.z, 0x14b9e75d62cf8a31) +
            differ(a->rotation.w, b->rotation.w, 0xd350a68e4f7b1c95) +
            differ(a->angle, b->angle, 0x8ae4c12b7d96f053)) *
           ((key ^ key >> 29) | 1);
}

/* Returns the part of a fingerprint that is everything else of a box. */
static uint64_t fingerprint_of_rest(const struct obb_version *version)
{
    struct hashed hashed;
    hashed.length = 0;
    add_whole(&hashed, version->id);
    add_rest(&hashed, version);
    return hash_of(&hashed);
}

static bool has_same_rest(const struct obb_version *a, const struct obb_version *b)
{
    return obb_version_extras(a) == obb_version_extras(b) && a->category == b->category &&
           a->mask == b->mask && a->group == b->group;
}

static uint64_t fingerprint_of(const struct obb_version *version)
{
    return obb_version_is_frame(version)
               ? with_id(hash_of_frame(version), 0)
               : difference_of(version, &(obb_box){.angle = 0}) + fingerprint_of_rest(version);
}

void obb_fingerprint_change(uint64_t *fingerprint, const struct obb_version *before,
                            const struct obb_version *after)
{
    if (before != NULL && after != NULL && !obb_version_is_frame(after) &&
        has_same_rest(before, after)) {
        *fingerprint += difference_of(after, &before->box);
        return;
    }
    if (before != NULL)
        *fingerprint -= fingerprint_of(before);
    if (after != NULL)
        *fingerprint += fingerprint_of(after);
}

uint64_t obb_fingerprint_hash(uint64_t fingerprint, const obb_settings *settings, obb_moment moment,
                              uint64_t next_id)
{
    const obb_digest digest = {.identity = fingerprint};
    return obb_digest_exact(&digest, settings, moment, next_id);
}

uint64_t obb_scene_fingerprint(struct obb_scene *scene)
{
    uint64_t fingerprint = 0;
    const struct obb_view view = obb_view_of_now(scene);
    for (const struct obb_version *box = obb_view_next(&view, 0); box != NULL;
         box = obb_view_next(&view, box->id))
        obb_fingerprint_change(&fingerprint, NULL, box);
    for (const struct obb_version *frame = obb_view_next_frame(&view, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(&view, obb_view_name(frame), true))
        obb_fingerprint_change(&fingerprint, NULL, frame);
    return fingerprint;
}
