#include "core/base/status.h"

#include <assert.h>
#include <stddef.h>

static const struct {
    const char *name, *sentence;
} table[] = {
#define OBB_STATUS_ROW(id, name, sentence) [id] = {name, sentence},
    OBB_STATUS_TABLE(OBB_STATUS_ROW)
#undef OBB_STATUS_ROW
};

const char *obb_status_name(obb_status status)
{
    assert((size_t)status < sizeof table / sizeof table[0]);
    return table[status].name;
}

const char *obb_status_sentence(obb_status status)
{
    assert((size_t)status < sizeof table / sizeof table[0]);
    return table[status].sentence;
}
