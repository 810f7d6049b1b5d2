#include "server/scenes/parts.h"

static bool next_of_step(const void *source, obb_effect_place *place, obb_effect *out)
{
    return obb_step_next(source, place, out);
}

static bool next_of_commit(const void *source, obb_effect_place *place, obb_effect *out)
{
    return obb_prepared_next(source, place, out);
}

struct srv_parts srv_parts_of_step(const obb_step *step)
{
    return (struct srv_parts){.next = next_of_step, .source = step};
}

struct srv_parts srv_parts_of_commit(const struct obb_prepared *prepared)
{
    return (struct srv_parts){.next = next_of_commit, .source = prepared};
}

/* Writes the next effect of whatever kind. Returns false if there is none. */
static bool next(const struct srv_parts *parts, obb_effect_place *place, obb_effect *out)
{
    while (!parts->next(parts->source, place, out)) {
        if (place->kind + 1 == OBB_EFFECT_KINDS)
            return false;
        *place = (obb_effect_place){.kind = (obb_effect_kind)(place->kind + 1)};
    }
    return true;
}

bool srv_parts_list(struct srv_parts *parts, size_t most, size_t bytes, struct obb_arena *arena,
                    obb_effects *out)
{
    obb_effect *list = NULL, effect;
    size_t capacity = 0, texts = 0;
    out->count = 0;
    while (!parts->over && out->count < most && texts < bytes) {
        if (!next(parts, &parts->place, &effect)) {
            parts->over = true;
            break;
        }
        if (out->count == capacity) {
            const size_t larger = capacity == 0 ? 64 : 2 * capacity < most ? 2 * capacity : most;
            list = obb_arena_grow(arena, list, capacity, larger, sizeof *list);
            if (list == NULL)
                return false;
            capacity = larger;
        }
        list[out->count++] = effect;
        texts += effect.name.length + effect.frame.length + effect.attributes.data.length +
                 effect.attributes.entity.length;
    }
    obb_effect_place place = parts->place;
    parts->over = parts->over || !next(parts, &place, &effect);
    out->list = list;
    return true;
}

void srv_parts_write(struct srv_parts *parts, const obb_effects *listed, uint64_t epoch,
                     int dimensions, struct wire_buf *out)
{
    const wire_record record = {.kind = WIRE_RECORD_PART,
                                .epoch = epoch,
                                .id.counter = parts->count++,
                                .in_parts = !parts->over,
                                .effects = {.list = listed->list, .count = listed->count}};
    wire_record_write(&record, dimensions, out);
}
