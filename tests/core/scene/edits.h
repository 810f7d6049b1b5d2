/* Edits of boxes on the x axis, and commits that are checked on the way. */
#ifndef TEST_CORE_SCENE_EDITS_H
#define TEST_CORE_SCENE_EDITS_H

#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static inline obb_target named(const char *name) { return (obb_target){.name = obb_str_of(name)}; }

static inline obb_target numbered(uint64_t id) { return (obb_target){.id = id, .has_id = true}; }

static inline obb_put put_at(const char *name, double x)
{
    return (obb_put){
        .target = named(name),
        .parts = OBB_PUT_ALL,
        .box = {.center = {x, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
        .attributes = {.category = 1, .mask = UINT32_MAX}};
}

static inline obb_pose pose_at(const char *name, double x)
{
    return (obb_pose){.target = named(name), .center = {x, 0, 0}, .has_center = true};
}

static inline obb_transform_edit move_by(const char *name, double x)
{
    return (obb_transform_edit){.target = named(name),
                                .transform = {.has_translate = true, .translate = {x, 0, 0}}};
}

/* Commits, or says why not; the arena keeps what the answer points to. */
static inline obb_status commit(struct obb_scene *scene, const obb_edit *edit, size_t room,
                                struct obb_arena *arena, obb_committed *out, obb_fault *out_fault)
{
    struct obb_prepared *prepared = NULL;
    const obb_status st = obb_edit_prepare(scene, edit, 0.0, room, arena, &prepared, out_fault);
    if (st == OBB_OK) {
        fault_arm(1); /* whatever is asked of the heap now is refused */
        obb_edit_commit(prepared, out);
        const size_t asked = fault_seen();
        fault_arm(0);
        ck_assert_uint_eq(asked, 0); /* commit cannot fail */
    }
    ck_assert(obb_scene_validate(scene));
    return st;
}

static inline const char *now_in(struct obb_scene *scene)
{
    static sight sight_of_now;
    sight_of_now = seen(scene, (obb_at){.kind = OBB_AT_NOW});
    return sight_of_now.text;
}

#endif
