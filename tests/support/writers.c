#include "tests/support/writers.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sends a commit until it is acknowledged. Returns its revision. */
static uint64_t write_one(struct test_writer *w, size_t n)
{
    char answer[4096], body[256], request[512];
    const int length = snprintf(body, sizeof body,
                                "{\"id\":\"%zu-%zu\",\"put\":{\"w%zu-%zu\":{\"center\":[%zu,0,0],"
                                "\"half_extents\":[1,1,1]}}}",
                                w->number, n, w->number, n, n);
    (void)snprintf(request, sizeof request,
                   "POST /v1/scenes/%s/commit HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                   "application/json\r\nContent-Length: %d\r\n\r\n%s",
                   w->all->scene, length, body);
    for (;;) {
        const int status = caller_exchange(&w->caller, request, answer, sizeof answer);
        ck_assert_msg(status == 200 || status == 503 || status == 0, "%s", answer);
        w->refused += status == 503;
        w->broken += status == 0;
        if (status == 503)
            test_rest(10);
        if (status != 200)
            continue;
        const char *revision = strstr(answer, "\"revision\":");
        ck_assert_ptr_nonnull(revision);
        w->repeated += strstr(answer, "\"repeated\":true") != NULL;
        return strtoull(revision + strlen("\"revision\":"), NULL, 10);
    }
}

static void *run(void *context)
{
    struct test_writer *w = context;
    struct test_writers *all = w->all;
    for (size_t n = 0; n < all->commits; n++) {
        while (atomic_load(&all->acknowledged) >= atomic_load(&all->allowed))
            test_rest(1);
        const double begun = test_now();
        w->revisions[n] = write_one(w, n);
        const double took = test_now() - begun;
        w->longest = took > w->longest ? took : w->longest;
        atomic_fetch_add(&all->acknowledged, 1);
    }
    caller_close(&w->caller);
    return NULL;
}

void writers_start(struct test_writers *all)
{
    all->writers = calloc(all->count, sizeof *all->writers);
    ck_assert_ptr_nonnull(all->writers);
    for (size_t i = 0; i < all->count; i++) {
        struct test_writer *w = &all->writers[i];
        w->all = all;
        w->number = i;
        w->caller = (struct test_caller){
            .cluster = all->cluster, .nodes = all->nodes, .at = i % all->nodes, .fd = -1};
        w->revisions = calloc(all->commits, sizeof *w->revisions);
        ck_assert_ptr_nonnull(w->revisions);
        ck_assert_int_eq(pthread_create(&w->thread, NULL, run, w), 0);
    }
}

void writers_wait(struct test_writers *all, size_t count, size_t then_allowed)
{
    atomic_store(&all->allowed, then_allowed);
    for (int n = 0; atomic_load(&all->acknowledged) < count; n++) {
        ck_assert_msg(n < 24000, "%zu of %zu commits are acknowledged",
                      atomic_load(&all->acknowledged), count);
        test_rest(5);
    }
}

size_t writers_join(struct test_writers *all)
{
    const size_t total = all->count * all->commits;
    size_t wrong = 0;
    unsigned char *seen = calloc(total + 1, 1);
    ck_assert_ptr_nonnull(seen);
    atomic_store(&all->allowed, total);
    for (size_t i = 0; i < all->count; i++) {
        struct test_writer *w = &all->writers[i];
        ck_assert_int_eq(pthread_join(w->thread, NULL), 0);
        all->repeated += w->repeated;
        all->refused += w->refused;
        all->broken += w->broken;
        all->longest = w->longest > all->longest ? w->longest : all->longest;
        for (size_t n = 0; n < all->commits; n++) {
            const uint64_t revision = w->revisions[n];
            const bool right = revision >= 1 && revision <= total && seen[revision] == 0;
            wrong += !right;
            if (right)
                seen[revision] = 1;
        }
        free(w->revisions);
    }
    free(all->writers);
    free(seen);
    all->writers = NULL;
    return wrong;
}

size_t writers_different(const struct test_writers *all)
{
    const int64_t total = (int64_t)(all->count * all->commits);
    size_t different = 0;
    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        if (!all->cluster->nodes[i].runs)
            continue;
        cluster_wait_number(all->cluster, i, all->scene, "revision", total);
        different += cluster_number(all->cluster, i, all->scene, "boxes") != total;
    }
    return different + cluster_different(all->cluster, all->scene);
}
