#include "tests/support/cluster.h"

#include "tests/support/test.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REST_MS = 5, LOOKS = 6000 };

void cluster_init(struct test_cluster *cluster, size_t servers)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->server_count = servers;
    if (servers == 1)
        nats_init(&cluster->servers[0]);
    else
        nats_init_cluster(cluster->servers, servers);
    for (size_t i = 0; i < servers; i++)
        nats_start(&cluster->servers[i]);
}

void cluster_fini(struct test_cluster *cluster)
{
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        if (cluster->nodes[i].runs)
            cluster_stop(cluster, i);
    for (size_t i = 0; i < cluster->server_count; i++)
        nats_fini(&cluster->servers[i]);
}

void cluster_launch(struct test_cluster *cluster, size_t node)
{
    const char *arguments[2 * CLUSTER_SERVERS + 9];
    struct test_node *n = &cluster->nodes[node];
    size_t count = 0;
    for (size_t i = 0; i < cluster->server_count; i++) {
        arguments[count++] = "--journal";
        arguments[count++] = cluster->servers[i].url;
    }
    arguments[count++] = "--journal-replicas";
    arguments[count++] = cluster->server_count == 1 ? "1" : "3";
    arguments[count++] = "--journal-keep";
    arguments[count++] = "1";
    char limit[16] = "500"; /* milliseconds */
    if (cluster->idle != NULL) {
        arguments[count++] = "--journal-idle";
        arguments[count++] = cluster->idle;
    } else { /* commits of 100,000 boxes take long under a sanitizer */
        (void)snprintf(limit, sizeof limit, "%.0f", test_timeout(10000));
    }
    arguments[count++] = "--request-timeout";
    arguments[count++] = limit;
    arguments[count] = NULL;
    daemon_start(&n->obbd, arguments);
    n->client = http_open(n->obbd.url);
    n->runs = true;
}

void cluster_start(struct test_cluster *cluster, size_t node)
{
    cluster_launch(cluster, node);
    cluster_wait(cluster, node, "/readyz", 200);
    atomic_store(&cluster->nodes[node].port, cluster->nodes[node].obbd.port);
}

static void end(struct test_node *n, int status)
{
    atomic_store(&n->port, 0);
    http_close(n->client);
    ck_assert_int_eq(daemon_stop(&n->obbd), status);
    n->runs = false;
}

void cluster_stop(struct test_cluster *cluster, size_t node) { end(&cluster->nodes[node], 0); }

void cluster_kill(struct test_cluster *cluster, size_t node)
{
    ck_assert_int_eq(kill(cluster->nodes[node].obbd.pid, SIGKILL), 0);
    end(&cluster->nodes[node], -1);
}

void cluster_wait(struct test_cluster *cluster, size_t node, const char *path, long status)
{
    struct http_answer answer = {0};
    for (int n = 0; answer.status != status; n++) {
        ck_assert_msg(n < LOOKS * test_timeout(1), "%s: %ld %s", path, answer.status, answer.body);
        http_send(cluster->nodes[node].client, "GET", path, NULL, NULL, &answer);
        if (answer.status != status)
            test_rest(REST_MS);
    }
    http_answer_fini(&answer);
}

int64_t cluster_number(struct test_cluster *cluster, size_t node, const char *scene,
                       const char *member)
{
    struct http_answer answer = {0};
    http_send(cluster->nodes[node].client, "GET", test_text("/v1/scenes/%s", scene), NULL, NULL,
              &answer);
    json_t *body = json_loads(answer.body, 0, NULL);
    const int64_t found =
        answer.status == 200 ? json_integer_value(json_object_get(body, member)) : -1;
    json_decref(body);
    http_answer_fini(&answer);
    return found;
}

void cluster_wait_number(struct test_cluster *cluster, size_t node, const char *scene,
                         const char *member, int64_t value)
{
    for (int n = 0; cluster_number(cluster, node, scene, member) != value; n++) {
        ck_assert_msg(n < LOOKS * test_timeout(1), "%s of %s is not %lld at node %zu but %lld",
                      member, scene, (long long)value, node,
                      (long long)cluster_number(cluster, node, scene, member));
        test_rest(REST_MS);
    }
}

char *cluster_picture(struct test_cluster *cluster, size_t node, const char *scene)
{
    static const char *const looks[] = {"", "/export", "/log?from=oldest&follow=false"};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t k = 0; k < sizeof looks / sizeof looks[0]; k++) {
        struct http_answer answer = {0};
        http_send(cluster->nodes[node].client, "GET", test_text("/v1/scenes/%s%s", scene, looks[k]),
                  NULL, NULL, &answer);
        const char *epoch = http_header(&answer, "Obbd-Epoch");
        (void)fprintf(out, "%ld %s %s\n", answer.status, epoch != NULL ? epoch : "", answer.body);
        http_answer_fini(&answer);
    }
    (void)fclose(out);
    return text;
}

size_t cluster_different(struct test_cluster *cluster, const char *scene)
{
    char *first = NULL;
    size_t different = 0;
    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        if (!cluster->nodes[i].runs)
            continue;
        char *here = cluster_picture(cluster, i, scene);
        if (first == NULL) {
            first = here;
            continue;
        }
        size_t same = 0;
        while (first[same] != '\0' && first[same] == here[same])
            same++;
        if (first[same] != here[same]) {
            different++;
            printf("node %zu shows %.200s\nthe first one %.200s\n", i, here + same, first + same);
        }
        free(here);
    }
    free(first);
    return different;
}

double cluster_metric(struct test_cluster *cluster, size_t node, const char *name)
{
    struct http_answer answer = {0};
    http_send(cluster->nodes[node].client, "GET", "/metrics", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    const char *at = strstr(answer.body, test_text("\n%s ", name));
    ck_assert_msg(at != NULL, "%s", name);
    const double value = strtod(at + 1 + strlen(name), NULL);
    http_answer_fini(&answer);
    return value;
}

/* ---- Callers --------------------------------------------------------------------------------- */

int caller_exchange(struct test_caller *caller, const char *request, char *answer, size_t size)
{
    for (size_t tries = 0; caller->fd < 0; tries++) {
        if (tries > 0)
            caller->at = (caller->at + 1) % caller->nodes;
        if (tries > 0 && tries % caller->nodes == 0)
            test_rest(REST_MS);
        const struct test_daemon at = {.port =
                                           atomic_load(&caller->cluster->nodes[caller->at].port)};
        caller->fd = at.port != 0 ? daemon_dial(&at) : -1;
    }
    const int status = dial_exchange(caller->fd, request, answer, size);
    if (status == 0) {
        caller_close(caller);
        caller->at = (caller->at + 1) % caller->nodes;
    }
    return status;
}

void caller_close(struct test_caller *caller)
{
    if (caller->fd >= 0)
        close(caller->fd);
    caller->fd = -1;
}
