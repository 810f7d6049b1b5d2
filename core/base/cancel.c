#include "core/base/cancel.h"

bool obb_cancel_poll(const atomic_bool *cancel)
{
    return atomic_load_explicit(cancel, memory_order_relaxed);
}
