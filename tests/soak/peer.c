#include "tests/soak/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

double peer_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

size_t peer_run_seconds(size_t least, size_t most)
{
    const char *text = getenv("SECONDS");
    const size_t seconds = text != NULL ? strtoul(text, NULL, 10) : 60;
    ck_assert_msg(seconds >= least && seconds <= most, "SECONDS is %zu to %zu", least, most);
    return seconds;
}

int peer_connect(int port, bool narrow)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    if (narrow) {
        const int small = 4096;
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    }
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

void peer_close(int fd, bool reset)
{
    if (reset) {
        const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(fd);
}

int peer_exchange(int fd, const char *request, size_t length, char *answer, size_t room)
{
    const struct timeval patience = {.tv_sec = 30};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (size_t at = 0; at < length;) {
        const ssize_t wrote = send(fd, request + at, length - at, MSG_NOSIGNAL);
        if (wrote <= 0)
            return 0;
        at += (size_t)wrote;
    }
    for (size_t got = 0, whole = room; got < whole;) {
        const ssize_t more = recv(fd, answer + got, room - 1 - got, 0);
        if (more <= 0)
            return 0;
        got += (size_t)more;
        answer[got] = '\0';
        const char *end = strstr(answer, "\r\n\r\n");
        const char *size = strstr(answer, "Content-Length: ");
        if (end != NULL && size != NULL)
            whole = (size_t)(end + 4 - answer) + strtoul(size + 16, NULL, 10);
        if (end != NULL && (size == NULL || whole >= room))
            return 0;
    }
    return (int)strtol(answer + strlen("HTTP/1.1 "), NULL, 10);
}

void peer_put_boxes(struct http_client *client, const char *scene, int dimensions, int count,
                    double half_width, test_rng *rng)
{
    enum { BATCH = 1000 };
    struct http_answer answer = {0};
    char *text = malloc((size_t)BATCH * 128 + 64);
    ck_assert_ptr_nonnull(text);
    const char *middle = dimensions == 2 ? "" : ",0", *third = dimensions == 2 ? "" : ",1";
    for (int begin = 0; begin < count; begin += BATCH) {
        size_t length = (size_t)sprintf(text, "{\"time\":0,\"put\":{");
        for (int i = begin; i < begin + BATCH && i < count; i++)
            length +=
                (size_t)sprintf(text + length,
                                "%s\"b%05d\":{\"center\":[%g%s,%g],\"half_extents\":[1,1%s],"
                                "\"data\":\"some text\"}",
                                i > begin ? "," : "", i, test_uniform(rng, -half_width, half_width),
                                middle, test_uniform(rng, -half_width, half_width), third);
        (void)sprintf(text + length, "}}");
        http_send(client, "POST", test_text("/v1/scenes/%s/commit", scene), NULL, text, &answer);
        ck_assert_int_eq(answer.status, 200);
    }
    free(text);
    http_answer_fini(&answer);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double peer_quantile(double *values, size_t count, double share)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    const size_t at = (size_t)((double)count * share);
    return values[at < count ? at : count - 1];
}
