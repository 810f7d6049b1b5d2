/* A fuzz target is a file with this one function; it aborts on a finding. libFuzzer drives it, or driver.c, which replays what
 * was found before. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer names it. NOLINTNEXTLINE(readability-identifier-naming) */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
