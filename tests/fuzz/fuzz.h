/* A fuzz target is a file with the function below. It aborts on a finding. libFuzzer drives it, or
 * driver.c, which replays the inputs that are kept. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Aborts unless `good`; prints `what`, which names the finding. */
static inline void fuzz_check(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

/* The rest of the input, for targets that read it as choices and not as text. */
struct fuzz_input {
    const uint8_t *bytes;
    size_t left;
};

/* Returns the next byte; 0 when the input is used up. */
static inline int fuzz_next(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

#endif
