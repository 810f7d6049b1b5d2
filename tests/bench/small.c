#include "tests/bench/small.h"

#include "tests/bench/service/meter.h"

#include <stdio.h>
#include <string.h>

load_group small_commits(const load_address *address, const char *scene,
                         load_request requests[static SMALL_COMMITS], size_t connections,
                         uint64_t gap_us)
{
    for (size_t i = 0; i < SMALL_COMMITS; i++) {
        char body[128];
        (void)snprintf(body, sizeof body, "{\"pose\":{\"box-%zu\":{\"center\":[0,%zu,%zu]}}}",
                       i / 2 + 1, i % 2, i / 2);
        requests[i] = meter_request(scene, "commit", "application/json", body, strlen(body));
    }
    return (load_group){.address = *address,
                        .requests = requests,
                        .request_count = SMALL_COMMITS,
                        .connections = connections,
                        .gap_us = gap_us};
}

void small_free(load_request requests[static SMALL_COMMITS])
{
    for (size_t i = 0; i < SMALL_COMMITS; i++)
        load_request_free(&requests[i]);
}
