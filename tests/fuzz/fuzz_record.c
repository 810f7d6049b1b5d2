/* Reads the input as an exported scene. An imported scene exports to bytes that import to the same
 * scene and export to the same bytes again. Every truncated export is refused. An export with
 * flipped bits is refused, or is such a scene again. */
#include "proto/wire.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Does the scene refuse a box for its frame: one that is not there, or in which it is out of
 * range? */
static bool of_frames(const obb_edit *edit, obb_status status)
{
    bool framed = false;
    for (size_t i = 0; i < edit->put_count; i++)
        framed = framed || edit->puts[i].frame.length > 0;
    return framed && (status == OBB_NO_FRAME || status == OBB_BAD_NUMBER);
}

/* Returns NULL if the import is refused, with a status that blames the bytes. */
static struct obb_scene *import_scene(const char *bytes, size_t length)
{
    static const obb_settings settings = {.dimensions = 3};
    struct obb_arena arena;
    struct obb_scene *scene = NULL;
    obb_arena_init(&arena);
    const wire_body body = {.bytes = bytes, .length = length, .media = WIRE_NDJSON};
    obb_edit edit;
    wire_problem problem = {0};
    if (!wire_read_import(&body, &arena, &edit, &problem)) {
        fuzz_check(problem.status == 400 || problem.status == 422, "a refusal of another kind");
    } else if (obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &scene) == OBB_OK) {
        struct obb_prepared *prepared;
        obb_committed committed;
        obb_fault fault;
        const obb_status status =
            obb_edit_prepare(scene, &edit, 0, SIZE_MAX, &arena, &prepared, &fault);
        fuzz_check(status == OBB_OK || of_frames(&edit, status),
                   "what was read as an import cannot be imported");
        if (status == OBB_OK) {
            obb_edit_commit(prepared, &committed);
            fuzz_check(committed.changed && committed.put == edit.put_count, "boxes are lost");
        } else {
            obb_scene_destroy(scene);
            scene = NULL;
        }
    }
    obb_arena_fini(&arena);
    return scene;
}

static void export_scene(struct obb_scene *scene, struct wire_buf *out)
{
    obb_scene_info info;
    struct obb_view *view;
    obb_scene_info_without_bounds(scene, &info);
    fuzz_check(obb_view_open(scene, NULL, &view, NULL, NULL) == OBB_OK, "no view");
    wire_write_export_head(out, obb_str_of("s"), &info.settings, view);
    obb_str last = {0};
    bool behind = false; /* the first frame is the one from the empty name on */
    for (const struct obb_version *frame; (frame = obb_view_next_frame(view, last, behind)) != NULL;
         behind = true) {
        wire_write_export_frame(out, view, frame);
        last = obb_view_name(frame);
    }
    uint64_t after = 0;
    for (const struct obb_version *box; (box = obb_view_next(view, after)) != NULL;
         after = obb_view_id(box))
        wire_write_export_box(out, view, box);
    obb_view_close(view);
    fuzz_check(!out->failed, "no memory for an export");
}

/* Takes over the scene; its export in `out`. */
static void check_round(struct obb_scene *scene, struct wire_buf *out)
{
    struct wire_buf again = {0};
    export_scene(scene, out);
    struct obb_scene *copy = import_scene(out->bytes, out->length);
    fuzz_check(copy != NULL, "an export is refused");
    fuzz_check(obb_scene_hash(copy) == obb_scene_hash(scene), "the import is another scene");
    export_scene(copy, &again);
    fuzz_check(again.length == out->length && memcmp(again.bytes, out->bytes, out->length) == 0,
               "the same scene exports to other bytes");
    wire_buf_fini(&again);
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}

/* In a block of just that size, so that a sanitizer sees one byte too many. */
static struct obb_scene *import_prefix(const char *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, bytes, length);
    struct obb_scene *scene = import_scene(copy, length);
    free(copy);
    return scene;
}

static void check_truncated(const struct wire_buf *text)
{
    const size_t whole = text->length - 1; /* the last line needs no end */
    for (size_t i = 0; i < 16; i++)
        fuzz_check(import_prefix(text->bytes, whole * i / 16) == NULL, "half an export is taken");
    for (size_t i = 0; i + 1 < whole; i++)
        if (text->bytes[i] == '\n')
            fuzz_check(import_prefix(text->bytes, i + 1) == NULL, "an export lacks boxes");
}

static void check_flipped(struct wire_buf *text)
{
    enum { FLIPS = 16 };
    uint32_t random = (uint32_t)text->length;
    for (int i = 0; i < FLIPS; i++) {
        random = random * 1664525 + 1013904223; /* of Numerical Recipes */
        const size_t at = (random >> 8) % text->length;
        const char was = text->bytes[at];
        text->bytes[at] = (char)(was ^ 1 << (random >> 5 & 7));
        struct obb_scene *scene = import_scene(text->bytes, text->length);
        if (scene != NULL) {
            struct wire_buf other = {0};
            check_round(scene, &other);
            wire_buf_fini(&other);
        }
        text->bytes[at] = was;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length > 1 << 14)
        return 0;
    struct obb_scene *scene = import_scene((const char *)bytes, length);
    if (scene == NULL)
        return 0;
    struct wire_buf text = {0};
    check_round(scene, &text);
    check_truncated(&text);
    check_flipped(&text);
    wire_buf_fini(&text);
    return 0;
}
