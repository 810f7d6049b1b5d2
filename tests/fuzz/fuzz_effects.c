/* Reads the input as a record of the journal, after its length and checksum were set right. What is
 * read of a record of the newest version is written again as the same bytes. Its effects are
 * refused by a scene, or make a scene that holds together and whose own effects are these. */
#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "proto/base/crc32c.h"
#include "proto/record/record.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void apply(const wire_record *record, struct obb_arena *arena)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 1000, .history_commits = 8};
    struct obb_scene *scene = NULL;
    if (obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &scene) != OBB_OK)
        return;
    struct obb_prepared *prepared;
    if (obb_effects_prepare(scene, &record->effects, record->kind == WIRE_RECORD_SNAPSHOT, arena,
                            &prepared) == OBB_OK) {
        obb_effects own;
        obb_committed committed;
        fuzz_check(obb_prepared_effects(prepared, arena, &own) == OBB_OK, "no memory");
        fuzz_check(own.moment.revision == record->effects.moment.revision, "another revision");
        obb_edit_commit(prepared, &committed);
    }
    fuzz_check(obb_scene_validate(scene), "the scene does not hold together");
    obb_scene_destroy(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct obb_arena arena;
    struct wire_buf record_bytes = {0}, again = {0};
    obb_arena_init(&arena);
    wire_buf_append(&record_bytes, bytes, length);
    if (length >= 8 && !record_bytes.failed) {
        const uint32_t head[] = {(uint32_t)length, wire_crc32c(record_bytes.bytes + 8, length - 8)};
        for (size_t i = 0; i < 8; i++)
            record_bytes.bytes[i] = (char)(head[i / 4] >> (8 * (i % 4)));
    }
    wire_record record;
    const obb_str text = {.bytes = record_bytes.bytes, .length = record_bytes.length};
    const obb_status status = length == 0 ? OBB_BAD_VALUE : wire_record_read(text, &arena, &record);
    fuzz_check(status == OBB_OK || status == OBB_BAD_VALUE || status == OBB_LIMIT,
               "a refusal of another kind");
    if (status == OBB_OK) {
        wire_record_write(&record, (record_bytes.bytes[10] & 32) != 0 ? 2 : 3, &again);
        fuzz_check(record_bytes.bytes[8] != WIRE_RECORD_VERSION ||
                       (again.length == length && memcmp(again.bytes, text.bytes, length) == 0),
                   "the same record has other bytes");
        apply(&record, &arena);
    }
    wire_buf_fini(&again);
    wire_buf_fini(&record_bytes);
    obb_arena_fini(&arena);
    return 0;
}
