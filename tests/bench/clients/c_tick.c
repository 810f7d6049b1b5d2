/* c_tick.c SOCKET - what a tick of 1,000 poses and 64 rays takes with the C client, in turns with
 * the same bytes written to a bare socket. Prints rows of CSV as clients.sh names them, one of the
 * time and one of the CPU of this program. Fails if an answer is wrong. */
#include <obbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { POSES = 1000, RAYS = 64, ROUNDS = 40, TICKS = 50, SIDE = 10 };

static uint32_t ids[POSES];
static float centers[3 * POSES], rotations[4 * POSES];
static obbd_ray rays[RAYS];

static void fail(const char *what)
{
    (void)fprintf(stderr, "c_tick: %s\n", what);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double cpu_us(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* ---- The tick -------------------------------------------------------------------------------- */

/* A lattice of boxes that stand apart. Each ray hits the box that it is aimed at. */
static void put_boxes(obbd_tick *t)
{
    char name[16];
    for (size_t i = 0; i < POSES; i++) {
        const size_t cell[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        const obbd_box box = {.half = {1, 1, 1}};
        for (size_t k = 0; k < 3; k++)
            centers[3 * i + k] = 4 * (float)cell[k];
        rotations[4 * i + 3] = 1;
        (void)snprintf(name, sizeof name, "box %u", (unsigned)i % POSES);
        obbd_tick_put(t, name, &box);
    }
    if (obbd_commit(t) == NULL)
        fail("the boxes could not be put");
    for (size_t i = 0; i < POSES; i++) {
        (void)snprintf(name, sizeof name, "box %u", (unsigned)i % POSES);
        ids[i] = obbd_id(t, name);
    }
    for (size_t i = 0; i < RAYS; i++) {
        const size_t cell = i / SIDE;
        rays[i].origin[0] = -10;
        rays[i].origin[1] = 4.0 * (double)(i % SIDE);
        rays[i].origin[2] = 4.0 * (double)cell;
        rays[i].direction[0] = 1;
    }
}

/* Builds the tick. Boxes go to and fro, so that each tick changes all of them. */
static int build(obbd_tick *t, unsigned number)
{
    for (size_t i = 0; i < POSES; i++)
        centers[3 * i] = 4 * (float)(i % SIDE) + (number % 2 == 0 ? 0.5F : 0);
    obbd_tick_pose(t, POSES, ids, centers, rotations);
    return obbd_tick_rays(t, RAYS, rays, NULL);
}

static void tick(obbd_tick *t, unsigned number)
{
    const int query = build(t, number);
    const obbd_answer *a = obbd_commit(t);
    if (a == NULL || a->posed != POSES)
        fail("a tick failed");
    for (size_t i = 0; i < RAYS; i++) {
        const obbd_hit *hit = obbd_first_hit(a, query, i);
        if (hit == NULL || hit->id != ids[i * SIDE] || hit->distance != (number % 2 == 0 ? 9.5 : 9))
            fail("a ray hit another box");
    }
}

/* ---- The same bytes over a bare socket ------------------------------------------------------- */

/* A transport that keeps the request in place of sending it. */
static struct kept {
    char bytes[1 << 17];
    size_t size;
} kept[2];

static int keep(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                void **out_exchange)
{
    struct kept *k = *(struct kept **)context;
    (void)timeout_ms;
    (void)head;
    (void)out_exchange;
    k->size = (size_t)snprintf(k->bytes, sizeof k->bytes,
                               "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n",
                               request->method, request->path, request->size);
    for (size_t i = 0; i < request->field_count; i++)
        k->size += (size_t)snprintf(k->bytes + k->size, sizeof k->bytes - k->size, "%s: %s\r\n",
                                    request->fields[i].name, request->fields[i].value);
    memcpy(k->bytes + k->size, "\r\n", 2);
    k->size += 2;
    for (size_t i = 0; i < request->part_count; i++) {
        if (k->size + request->parts[i].size > sizeof k->bytes)
            fail("a tick is too large");
        memcpy(k->bytes + k->size, request->parts[i].bytes, request->parts[i].size);
        k->size += request->parts[i].size;
    }
    return OBBD_REFUSED;
}

static void keep_ticks(void)
{
    struct kept *place = &kept[0];
    const obbd_transport transport = {.context = &place, .send = keep};
    obbd *o =
        obbd_open("http://localhost", &(obbd_options){.transport = &transport, .retries = -1});
    obbd_tick *t = obbd_tick_new(o, "bench");
    for (unsigned i = 0; i < 2; i++) {
        place = &kept[i];
        (void)build(t, i);
        (void)obbd_commit(t);
    }
    obbd_close(o);
}

static int bare_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (made < 0 || connect(made, (struct sockaddr *)&address, sizeof address) != 0)
        fail("the socket cannot be reached");
    return made;
}

static void bare_tick(int made, unsigned number)
{
    static char answer[1 << 16];
    const struct kept *k = &kept[number % 2];
    if (write(made, k->bytes, k->size) != (ssize_t)k->size)
        fail("the request could not be written");
    for (size_t size = 0;;) {
        const ssize_t got = read(made, answer + size, sizeof answer - 1 - size);
        if (got <= 0)
            fail("no answer");
        size += (size_t)got;
        answer[size] = 0;
        const char *body = strstr(answer, "\r\n\r\n"), *length = strstr(answer, "Content-Length: ");
        if (body == NULL)
            continue;
        if (strncmp(answer, "HTTP/1.1 200", 12) != 0 || length == NULL)
            fail("the request was refused");
        if (size == (size_t)(body + 4 - answer) + strtoul(length + 16, NULL, 10))
            return;
    }
}

/* ---- Figures --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `n` figures of the client and of the bare socket, in microseconds. Sorts them. */
static void print_row(const char *job, const char *must, size_t n, double *client, double *bare)
{
    qsort(client, n, sizeof *client, by_size);
    qsort(bare, n, sizeof *bare, by_size);
    (void)printf("%s,%s,%.0f,%.0f,%.0f,%.0f\n", job, must, client[0], client[n / 2], bare[0],
                 client[0] - bare[0]);
}

int main(int argc, char **argv)
{
    static double us[2][ROUNDS * TICKS], cpu[2][ROUNDS]; /* of the client, of the bare socket */
    char url[200];
    if (argc != 2)
        fail("the path of a unix socket is wanted");
    (void)snprintf(url, sizeof url, "unix:%s", argv[1]);
    obbd *o = obbd_open(url, NULL);
    obbd_tick *t = obbd_tick_new(o, "bench");
    put_boxes(t);
    keep_ticks();
    const int made = bare_socket(argv[1]);
    for (size_t turn = 0; turn < 2 * (size_t)ROUNDS; turn++) {
        const size_t round = turn / 2, bare = turn % 2;
        const double begun = cpu_us();
        for (size_t i = 0; i < TICKS; i++) {
            const double at = now_us();
            if (bare == 0)
                tick(t, (unsigned)i);
            else
                bare_tick(made, (unsigned)i);
            us[bare][round * TICKS + i] = now_us() - at;
        }
        cpu[bare][round] = (cpu_us() - begun) / TICKS;
    }
    print_row("C: tick of 1000 poses and 64 rays", "250", (size_t)ROUNDS * TICKS, us[0], us[1]);
    print_row("C: CPU of that", "", ROUNDS, cpu[0], cpu[1]);
    (void)close(made);
    obbd_close(o);
    return 0;
}
