/* A fuzz target is a file with this one function; it aborts on a finding. libFuzzer drives it, or driver.c, which replays what
 * was found before. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* libFuzzer names it. NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A finding unless `good`. */
static inline void fuzz_check(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

/* What is left of the input, for targets that make more of it than text; zeros when it is used up. */
struct fuzz_input {
    const uint8_t *bytes;
    size_t left;
};

static inline int fuzz_next(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

#endif
