/* Cancelling: long work polls a flag that another thread sets. */
#ifndef OBB_CANCEL_H
#define OBB_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns *cancel. Tests wrap it at link time to make the n-th poll answer true. */
bool obb_cancel_poll(const atomic_bool *cancel);

/* Returns true if the work is cancelled. NULL: it cannot be cancelled. */
static inline bool obb_cancelled(const atomic_bool *cancel)
{
    return cancel != NULL && obb_cancel_poll(cancel);
}

#endif
