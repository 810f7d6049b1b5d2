#include "server/scenes/scene_memory.h"

#include <stdint.h>

/* Shedding makes room for 1 / SLACK of the limit more, so it is seldom needed. Once there is room
 * for the commit at hand, it gives up at most MORE_STATES further states, so that the loop goes on.
 * To look at 900 scenes takes about 700 us. */
#define SLACK       64
#define MORE_STATES 128

/* A scene that may give up states. */
struct history {
    struct obb_scene *scene;
    size_t bytes;
    size_t most; /* bytes that it can give up at most */
};

size_t srv_scene_memory_room(const struct srv_scene_memory *memory)
{
    if (memory->limit == 0)
        return SIZE_MAX;
    const size_t taken = obb_store_bytes(memory->store) + memory->locks->promised_bytes;
    return taken < memory->limit ? memory->limit - taken : 0;
}

static bool has_room(const struct srv_scene_memory *memory, size_t bytes)
{
    if (memory->limit == 0)
        return true;
    const size_t taken = obb_store_bytes(memory->store) + memory->locks->promised_bytes;
    return taken <= memory->limit && bytes <= memory->limit - taken;
}

static bool is_untouchable(const struct srv_scene_memory *memory, const struct obb_scene *scene,
                           const struct obb_scene *mine)
{
    return scene != mine && srv_scene_locked(memory->locks, scene);
}

/* Puts the history at i into its place in the heap, in which the largest history comes first. */
static void sift_down(struct history *heap, size_t count, size_t i)
{
    const struct history moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && heap[child + 1].bytes > heap[child].bytes)
            child++;
        if (heap[child].bytes <= moved.bytes)
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Gives up cached pairs until there is room, and lists the histories. Returns how many there are;
 * they are complete unless there is room. */
static size_t drop_pairs(struct srv_scene_memory *memory, const struct obb_scene *mine,
                         size_t bytes, struct history *out)
{
    const size_t scenes = obb_store_scenes(memory->store);
    size_t count = 0;
    for (size_t i = 0; i < scenes && !has_room(memory, bytes); i++) {
        struct obb_scene *scene = obb_store_at(memory->store, i);
        memory->looks++;
        if (is_untouchable(memory, scene, mine))
            continue;
        obb_scene_drop_pairs(scene);
        out[count++] = (struct history){scene, obb_scene_history_bytes(scene),
                                        obb_scene_forgettable_bytes(scene)};
    }
    return count;
}

/* Returns whether there is room for `bytes`, or might be without the histories. If there is no
 * room, the list has all of them. For no bytes there always might be room: the scenes shall come as
 * near to the limit as they can. */
static bool might_have_room(const struct srv_scene_memory *memory, const struct history *histories,
                            size_t count, size_t bytes)
{
    const size_t taken = obb_store_bytes(memory->store) + memory->locks->promised_bytes;
    const size_t needed = taken + bytes > memory->limit ? taken + bytes - memory->limit : 0;
    size_t most = 0;
    for (size_t i = 0; i < count && most < needed; i++)
        most += histories[i].most;
    return bytes == 0 || most >= needed;
}

/* Gives up the oldest states of the largest histories until there is room for `target` bytes, or
 * until there is room for `bytes` and enough states are given up. */
static void forget(const struct srv_scene_memory *memory, struct history *heap, size_t count,
                   size_t bytes, size_t target)
{
    size_t given_up = 0;
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
    while (count > 0 && !has_room(memory, target) &&
           (given_up < MORE_STATES || !has_room(memory, bytes))) {
        if (obb_scene_forget(heap->scene)) {
            heap->bytes = obb_scene_history_bytes(heap->scene);
            given_up++;
        } else {
            *heap = heap[--count];
        }
        sift_down(heap, count, 0);
    }
}

/* Makes room by srv_scene_memory_shed, or finds out whether that might make any. */
static bool make_room(struct srv_scene_memory *memory, const struct obb_scene *mine, size_t bytes,
                      bool only_asks)
{
    if (has_room(memory, bytes))
        return true;
    if (bytes > memory->limit)
        return false;
    const size_t target = bytes < memory->limit ? bytes + memory->limit / SLACK : bytes;
    struct history *histories = obb_calloc(obb_store_scenes(memory->store) + 1, sizeof *histories);
    if (histories == NULL)
        return false;
    const size_t count = drop_pairs(memory, mine, target, histories);
    const bool might = might_have_room(memory, histories, count, bytes);
    if (might && !only_asks)
        forget(memory, histories, count, bytes, target);
    obb_free(histories);
    return only_asks ? might : has_room(memory, bytes);
}

bool srv_scene_memory_shed(struct srv_scene_memory *memory, const struct obb_scene *mine,
                           size_t bytes)
{
    return make_room(memory, mine, bytes, false);
}

bool srv_scene_memory_might_shed(struct srv_scene_memory *memory, const struct obb_scene *mine,
                                 size_t bytes)
{
    return make_room(memory, mine, bytes, true);
}
