#include "tests/support/fault.h"

#include "core/base/cancel.h"

#include <stdatomic.h>

/* These names are the linker's (--wrap=malloc), not ours to choose. */
/*
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
bool __real_obb_cancel_poll(const atomic_bool *cancel);
bool __wrap_obb_cancel_poll(const atomic_bool *cancel);

static atomic_size_t seen, armed;

void fault_arm(size_t n)
{
    atomic_store(&seen, 0);
    atomic_store(&armed, n);
}

size_t fault_seen(void) { return atomic_load(&seen); }

static int fails(void) { return atomic_fetch_add(&seen, 1) + 1 == atomic_load(&armed); }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

static atomic_size_t polls;
static atomic_size_t polls_left; /* 0: not armed; 1: cancelled */

void fault_cancel(size_t n)
{
    atomic_store(&polls, 0);
    atomic_store(&polls_left, n == 0 ? 0 : n + 1);
}

size_t fault_polls(void) { return atomic_load(&polls); }

bool __wrap_obb_cancel_poll(const atomic_bool *cancel)
{
    atomic_fetch_add(&polls, 1);
    if (atomic_load(&polls_left) > 1)
        atomic_fetch_sub(&polls_left, 1);
    return atomic_load(&polls_left) == 1 || __real_obb_cancel_poll(cancel);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
