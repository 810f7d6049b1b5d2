/* A scene of three boxes to write replies about, and the document that describes those replies. */
#ifndef TEST_PROTO_YARD_H
#define TEST_PROTO_YARD_H

#include "proto/wire.h"
#include "tests/proto/written.h"

static struct schema *schema;
static struct obb_arena arena;
static struct obb_scene *scene;
static struct obb_view *view;
static const struct obb_version *a, *b, *c;

static inline obb_put put_of(const char *name, obb_vec3 center, obb_vec3 half_extents)
{
    return (obb_put){
        .target = {.name = obb_str_of(name)},
        .parts = OBB_PUT_ALL,
        .box = {.center = center, .half_extents = half_extents, .rotation = {0.0, 0.0, 0.0, 1.0}},
        .attributes = {.category = 1, .mask = UINT32_MAX}};
}

static inline void apply(struct obb_scene *to, const obb_edit *edit, obb_committed *out)
{
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(to, edit, 0.0, 1000000, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, out);
}

static inline const struct obb_version *find(const struct obb_view *in, const char *name)
{
    const struct obb_version *box = obb_view_find(in, obb_str_of(name));
    ck_assert_ptr_nonnull(box);
    return box;
}

static inline struct obb_scene *make_scene(int dimensions)
{
    struct obb_scene *made;
    const obb_settings settings = {
        .dimensions = dimensions, .history_span = 500.0, .history_commits = 64};
    ck_assert_int_eq(obb_scene_create(obb_str_of("yard"), &settings, 0.0, NULL, &made), OBB_OK);
    return made;
}

static inline void make(void)
{
    const obb_str text = wire_openapi();
    schema = schema_load(text.bytes, text.length);
    ck_assert_ptr_nonnull(schema);
    obb_arena_init(&arena);
    scene = make_scene(3);
    obb_put puts[3] = {put_of("a", (obb_vec3){1.0, -0.0, 0.1}, (obb_vec3){1.0, 2.0, 3.0}),
                       put_of("b \"\\\n", (obb_vec3){2.5, 0.0, 0.0}, (obb_vec3){1.0, 1.0, 0.0}),
                       put_of("\xe2\x98\x83", (obb_vec3){-1e9, 1e9, 5e-324}, (obb_vec3){0})};
    puts[1].attributes = (obb_attributes){.category = 6,
                                          .mask = 0,
                                          .group = -2147483647 - 1,
                                          .entity = obb_str_of("player \"1\""),
                                          .data = obb_str_of("{\"hp\":[1,2.5,null]}")};
    puts[1].box.rotation = (obb_quat){0.0, 0.0, 0.6, 0.8};
    puts[1].target.name = obb_str_of("b \"\\");
    obb_committed committed;
    apply(scene,
          &(obb_edit){
              .dimensions = 3, .has_time = true, .time = 1000.5, .puts = puts, .put_count = 3},
          &committed);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    a = find(view, "a");
    b = find(view, "b \"\\");
    c = find(view, "\xe2\x98\x83");
}

static inline void discard(void)
{
    obb_view_close(view);
    obb_scene_destroy(scene);
    obb_arena_fini(&arena);
    schema_free(schema);
}

/* Opens a view of a new scene in the plane, with the box "p" turned by `angle` degrees. The caller
 * closes the view and destroys the scene. */
static inline struct obb_view *open_plane(double angle, struct obb_scene **out_scene)
{
    obb_put put = put_of("p", (obb_vec3){3.0, -4.0, 0.0}, (obb_vec3){2.0, 0.5, 0.0});
    put.box.angle = angle;
    obb_committed committed;
    struct obb_view *plane;
    *out_scene = make_scene(2);
    apply(*out_scene, &(obb_edit){.dimensions = 2, .has_time = true, .puts = &put, .put_count = 1},
          &committed);
    ck_assert_int_eq(obb_view_open(*out_scene, NULL, &plane, NULL, NULL), OBB_OK);
    return plane;
}

/* check_written with the schema of the document. */
static inline void check_reply(const char *schema_name, struct wire_buf *json,
                               struct wire_buf *cbor, const char *expected)
{
    check_written(schema, schema_name, json, cbor, expected);
}

static inline void check_box(const struct obb_view *in, const struct obb_version *box,
                             unsigned include, bool has_at, const char *expected)
{
    struct wire_buf json = {0}, cbor = {0};
    wire_write_box(&json, WIRE_JSON, in, box, include, has_at);
    wire_write_box(&cbor, WIRE_CBOR, in, box, include, has_at);
    check_reply("BoxAnswer", &json, &cbor, expected);
}

/* The lines are exactly those, and an answer of the target that the document allows. Empties the
 * buffer. */
static inline void check_lines(struct wire_buf *lines, const char *method, const char *target,
                               const char *type, const char *expected)
{
    ck_assert_msg(lines->length == strlen(expected) &&
                      memcmp(lines->bytes, expected, lines->length) == 0,
                  "%.*s", (int)lines->length, lines->bytes);
    const char *fault =
        schema_check(schema, &(struct schema_exchange){.method = method,
                                                       .target = target,
                                                       .status = 200,
                                                       .answer_type = type,
                                                       .answer = lines->bytes,
                                                       .answer_length = lines->length});
    ck_assert_msg(fault == NULL, "%s", fault);
    wire_buf_fini(lines);
}

#define HEAD "{\"revision\":1,\"time\":1000.5,"
#define B    "\"b \\\"\\\\\""

#endif
