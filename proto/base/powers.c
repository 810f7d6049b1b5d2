#include "proto/base/powers.h"

const uint64_t wire_powers[WIRE_POWER_MAX - WIRE_POWER_MIN + 1][2] = {
#include "proto/base/powers_table.h"
};
