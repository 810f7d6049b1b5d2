/* Reads the input as what clients do to the whole service: requests of all routes, split,
 * pipelined, stalled or spoilt, event streams, clients that close or reset, allocations that fail.
 * The loop is run by hand, --memory-limit is 8 MiB and --request-timeout a second.
 *
 * Every answer is one that the published document allows. A 503 carries Retry-After, and a problem
 * has a detail. Each whole request is answered. Revisions never go back. Nothing is done for a
 * request whose Obbd-If-Epoch is not the epoch of its scene. At rest nothing is drawn from the
 * memory limit, no job waits, each scene agrees with the list of its boxes, and an import of its
 * export holds the same. The service ends when it is told to. */
#include "proto/wire.h"
#include "server/base/loop.h"
#include "server/server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/cbor.h"
#include "tests/support/fault.h"
#include "tests/support/schema.h"
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    CLIENTS = 4,
    WAITING = 6, /* requests of one client that are not answered yet */
    STEPS = 40,
    BODY = 1 << 19, /* bytes of a request's body at most */
    ROOM = 4 << 20, /* bytes of answers that a client keeps */
    TIMEOUT_MS = 1000,
    PATIENCE_MS = 20000,
    SCENES = 3
};

/* ---- What was asked -------------------------------------------------------------------------- */

struct asked {
    char method[8], target[320];
    const char *type; /* of the body; NULL: none */
    char *body;       /* owned */
    size_t length;
    int scene;     /* the number of its scene; -1: none */
    bool follows;  /* an event stream, which nobody waits for */
    bool fallible; /* an allocation may have failed since it was sent, or it was not sent whole */
    char if_epoch[48]; /* its Obbd-If-Epoch; "": none */
};

struct client {
    int fd;       /* -1: none */
    bool half;    /* the sending half is closed */
    bool partial; /* the last request was not sent whole */
    double since; /* ms: when it opened, or heard the last answer */
    struct asked waiting[WAITING];
    size_t count, got;
    char *heard; /* ROOM bytes */
};

static struct client clients[CLIENTS];
static struct srv_server *server;
static struct srv_loop *loop;
static struct schema *published;
static char socket_path[64];
static size_t fault_in;          /* allocations until one fails; 0: none */
static bool authorised;          /* the service knows tokens */
static bool narrow;              /* --memory-limit is 1 MiB */
static bool wide;                /* the input chooses among all templates, else the first of them */
static bool conditional;         /* many requests name an epoch, or a revision with its epoch */
static double revisions[SCENES]; /* the newest that was answered */
static char epochs[SCENES][48];  /* as the last answer about it said; "": no answer did */
static bool deleted[SCENES];     /* somebody asked for that */

static const char *const scenes[SCENES] = {"a", "b%2Fc", "flat"};

static void finding(const struct asked *asked, const char *what, const char *more, size_t length)
{
    (void)fprintf(stderr, "%s %s: %s\n%.*s\n-> %.*s\n", asked->method, asked->target, what,
                  (int)(asked->length < 2000 ? asked->length : 2000),
                  asked->body != NULL ? asked->body : "", (int)(length < 3000 ? length : 3000),
                  more);
    fuzz_check(false, what);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static double now_ms(void) { return srv_clock() * 1e3; }

/* Runs what is due; if nothing is, sleeps for a moment. */
static void turn(bool sleep)
{
    fault_arm(fault_in);
    srv_loop_step(loop, sleep ? 1 : 0);
    const size_t seen = fault_seen();
    fault_arm(0);
    if (fault_in == 0)
        return;
    if (seen < fault_in) {
        fault_in -= seen;
        return;
    }
    fault_in = 0;
    for (int i = 0; i < CLIENTS; i++)
        for (size_t k = 0; k < clients[i].count; k++)
            clients[i].waiting[k].fallible = true;
}

static char *find(char *in, size_t length, const char *sought, size_t size)
{
    for (char *at = in; length >= size; at++, length--)
        if (memcmp(at, sought, size) == 0)
            return at;
    return NULL;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void forget(struct asked *asked)
{
    free(asked->body);
    *asked = (struct asked){0};
}

static void close_client(struct client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    c->half = c->partial = false;
    for (size_t i = 0; i < c->count; i++)
        forget(&c->waiting[i]);
    c->count = c->got = 0;
}

/* Copies the value of a header field. NULL: it is not there. */
static const char *field_of(const char *head, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
            (void)snprintf(out, size, "%.*s", (int)strcspn(line + 4 + length, "\r"),
                           line + 4 + length);
            return out;
        }
    return NULL;
}

/* Notes the newest revision of a scene. */
static void follow_revision(const struct asked *asked, json_t *answer)
{
    json_t *revision = json_object_get(answer, "revision");
    if (asked->scene < 0 || !json_is_number(revision) || json_object_get(answer, "at") != NULL ||
        strstr(asked->target, "at_") != NULL)
        return;
    const double r = json_number_value(revision);
    if (r > revisions[asked->scene])
        revisions[asked->scene] = r;
}

static void check_problem(const struct asked *asked, const char *head, const char *type,
                          json_t *problem)
{
    char value[16];
    if (type == NULL || strcmp(type, "application/problem+json") != 0)
        finding(asked, "a refusal that is no problem", head, strlen(head));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (detail == NULL || *detail == '\0')
        finding(asked, "a problem without detail", head, strlen(head));
    if (json_integer_value(json_object_get(problem, "status")) == 503 &&
        field_of(head, "Retry-After", value, sizeof value) == NULL)
        finding(asked, "503 without Retry-After", head, strlen(head));
}

/* Keeps the epoch of the scene. A request that was done has named that epoch, or none. */
static void check_epoch(const struct asked *asked, int status, const char *head)
{
    char room[48];
    const char *epoch = field_of(head, "Obbd-Epoch", room, sizeof room);
    const bool copies = strstr(asked->target, "/copy") != NULL; /* it answers the copy's epoch */
    if (asked->scene >= 0 && epoch != NULL && !copies)
        (void)snprintf(epochs[asked->scene], sizeof epochs[0], "%s", epoch);
    if (asked->scene < 0 || asked->if_epoch[0] == '\0' || status >= 400)
        return;
    const bool good = copies ? strlen(asked->if_epoch) == 16 &&
                                   strspn(asked->if_epoch, "0123456789abcdefABCDEF") == 16
                             : epoch != NULL && strcasecmp(epoch, asked->if_epoch) == 0;
    if (!good)
        finding(asked, asked->if_epoch, head, strlen(head));
}

/* body: of the answer, with its chunks joined. */
static void judge(const struct asked *asked, int status, const char *head, const char *body,
                  size_t length)
{
    char room[80];
    const char *type = field_of(head, "Content-Type", room, sizeof room);
    const bool headless = strcmp(asked->method, "HEAD") == 0;
    if (status == 500 || status == 501)
        finding(asked, "the service has failed", head, strlen(head));
    check_epoch(asked, status, head);
    const char *fault =
        schema_check(published, &(struct schema_exchange){.method = asked->method,
                                                          .target = asked->target,
                                                          .request_type = asked->type,
                                                          .request = asked->body,
                                                          .request_length = asked->length,
                                                          .status = status,
                                                          .answer_type = type,
                                                          .answer = body,
                                                          .answer_length = length});
    if (fault != NULL)
        finding(asked, fault, head, strlen(head));
    if (headless || type == NULL || strstr(type, "json") == NULL || strstr(type, "nd") != NULL)
        return;
    json_t *answer = json_loadb(body, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (status >= 400)
        check_problem(asked, head, type, answer);
    else
        follow_revision(asked, answer);
    json_decref(answer);
}

/* Joins the chunks at `bytes` in place. Returns the length of the whole; 0: it is not all there
 * yet. */
static size_t join_chunks(char *bytes, size_t length, size_t *out_joined)
{
    size_t at = 0, joined = 0;
    for (;;) {
        char *end;
        const char *line = find(bytes + at, length - at, "\r\n", 2);
        if (line == NULL)
            return 0;
        const size_t size = strtoul(bytes + at, &end, 16);
        const size_t data = (size_t)(line + 2 - bytes);
        if (size + 2 > length - data)
            return 0;
        if (size == 0) {
            *out_joined = joined;
            return data + 2;
        }
        memmove(bytes + joined, bytes + data, size);
        joined += size;
        at = data + size + 2;
    }
}

/* Takes the first answer off what the client has heard. false: it is not all there. */
static bool take_answer(struct client *c)
{
    static char head[8192], joined[ROOM];
    char value[32];
    char *end = find(c->heard, c->got, "\r\n\r\n", 4);
    if (end == NULL || c->count == 0)
        return false;
    const size_t head_length = (size_t)(end + 4 - c->heard);
    fuzz_check(head_length < sizeof head, "a head as long as that");
    memcpy(head, c->heard, head_length);
    head[head_length] = '\0';
    struct asked *asked = &c->waiting[0];
    const int status = (int)strtol(head + 9, NULL, 10);
    const bool bare = strcmp(asked->method, "HEAD") == 0 || status == 204 || status == 304;
    const char *body = c->heard + head_length;
    size_t length = 0, whole = head_length;
    if (bare) {
        ;
    } else if (field_of(head, "Content-Length", value, sizeof value) != NULL) {
        length = strtoul(value, NULL, 10);
        whole += length;
        if (whole > c->got)
            return false;
    } else if (asked->follows && status == 200) {
        return false;
    } else {
        memcpy(joined, body, c->got - head_length);
        const size_t size = join_chunks(joined, c->got - head_length, &length);
        if (size == 0)
            return false;
        body = joined;
        whole += size;
    }
    c->since = now_ms(); /* the service's time runs while the answer is judged for long */
    judge(asked, status, head, body, length);
    forget(asked);
    memmove(c->waiting, c->waiting + 1, --c->count * sizeof *c->waiting);
    c->waiting[c->count] = (struct asked){0};
    memmove(c->heard, c->heard + whole, c->got -= whole);
    if (field_of(head, "Connection", value, sizeof value) != NULL &&
        strcasecmp(value, "close") == 0) {
        close_client(c); /* it may refuse a request before its body, and drops what follows */
        return false;
    }
    return true;
}

/* The service has closed the connection. */
static void check_closed(const struct client *c)
{
    const struct asked *asked = &c->waiting[0];
    if (c->count == 0 || asked->fallible || asked->follows || (c->partial && c->count == 1))
        return;
    /* the connection had been idle, or the answer waited for memory, for too long: this process was
     * kept from running. The service's time began before the client has heard the answer before */
    if (now_ms() - c->since >= TIMEOUT_MS * 0.6)
        return;
    /* a stream that was cut says so by its missing end */
    if (find(c->heard, c->got, "Transfer-Encoding: chunked", 26) != NULL)
        return;
    finding(asked, "a whole request is not answered", c->heard, c->got);
}

static void hear(struct client *c)
{
    while (c->fd >= 0) {
        if (c->got == ROOM) { /* it reads no more */
            close_client(c);
            return;
        }
        const ssize_t n = recv(c->fd, c->heard + c->got, ROOM - c->got, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            check_closed(c);
            close_client(c);
            return;
        }
        c->got += (size_t)n;
        while (take_answer(c))
            ;
    }
}

static bool awaits(const struct client *c)
{
    return c->fd >= 0 && c->count > 0 && !c->waiting[0].follows && !(c->partial && c->count == 1);
}

/* Runs the loop until the client waits for nothing. */
static void await(struct client *c)
{
    const double begin = now_ms();
    while (awaits(c)) {
        turn(true);
        for (int i = 0; i < CLIENTS; i++)
            hear(&clients[i]);
        if (awaits(c) && now_ms() - begin > PATIENCE_MS)
            finding(&c->waiting[0], "a request is stuck", c->heard, c->got);
    }
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A connection that may soon be closed because it is idle is not used any more. */
static struct client *opened(struct client *c)
{
    hear(c);
    if (c->fd >= 0 && now_ms() - c->since < TIMEOUT_MS * 0.5 && !c->half && !c->partial &&
        c->count < WAITING && !(c->count > 0 && c->waiting[c->count - 1].follows))
        return c;
    if (c->fd >= 0) {
        await(c);
        close_client(c);
    }
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", socket_path);
    c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    fuzz_check(c->fd >= 0 && connect(c->fd, (const struct sockaddr *)&at, sizeof at) == 0,
               "a connection");
    c->since = now_ms();
    return c;
}

static void say(struct client *c, const char *bytes, size_t length)
{
    const double begin = now_ms();
    for (size_t sent = 0; c->fd >= 0 && sent < length;) {
        const ssize_t n = send(c->fd, bytes + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            break; /* what the service said is still to be read */
        sent += n > 0 ? (size_t)n : 0;
        turn(n < 0);
        if (c->count > 0)
            hear(c);
        fuzz_check(now_ms() - begin < PATIENCE_MS, "the service reads no more");
    }
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* Templates: # number, + length, % whole number, @ name in quotes, ^ box, ? query, ! want, $ state,
 * ~ changes. */
static const char *const numbers[] = {"0",   "1",    "-1", "0.5", "2.25", "10",  "-0.0", "1e-7",
                                      "90",  "360",  "-3", "7",   "100",  "3.5", "-2",   "4",
                                      "0.1", "-0.5", "12", "6",   "5",    "-5",  "8",    "0.25"};
static const char *const lengths[] = {"1", "0.5", "2", "0", "3", "0.25", "1e-6", "40"};
static const char *const wholes[] = {"0", "1", "2", "3", "4", "5", "17", "100", "4096", "10000"};
static const char *const names[] = {"\"a\"",  "\"b\"",  "\"c\"",  "\"d/e\"", "\"\xc3\xa9\"",
                                    "\"n1\"", "\"n2\"", "\"n3\"", "\"n40\"", "\"gone\""};
/* in place of one of these, now and then */
static const char *const wrong[] = {"null", "\"x\"",      "1e300",        "-1",
                                    "1.5",  "4294967295", "[]",           "{}",
                                    "\"\"", "1e10",       "\"x\\u0000\"", "9007199254740993",
                                    "true", "\".\""};
/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): some are longer than a line */
static const char *const boxes[] = {
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+]}",
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+]}",
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+],\"rotation\":[#,#,#,1],\"category\":%,\"mask\":%,"
    "\"group\":%,\"entity\":@,\"data\":{\"k\":[#,@,null]}}",
    "{\"min\":[-1,-1,-1],\"max\":[+,+,+],\"position\":[#,#,#],\"axis_angle\":{\"axis\":[0,#,1],"
    "\"degrees\":#}}",
    "{\"matrix\":[+,0,0,0,0,+,0,0,0,0,+,0,#,#,#,1]}",
    "{\"points\":[[#,#,#],[#,#,#],[#,#,#],[#,#,#],[0,0,1]],\"fit\":\"tight\"}",
    "{\"points\":[[#,#,#],[#,#,#],[#,#,#]],\"fit\":\"aabb\",\"entity\":@}",
    "{\"center\":[#,#],\"half_extents\":[+,+],\"angle\":#}",
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+]}",
    "{\"corners\":[[0,0,0],[+,0,0],[0,1,0],[1,1,0],[0,0,1],[1,0,1],[0,1,1],[1,1,1]]}",
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+],\"axes\":[[1,0,0],[0,1,0]]}"};
static const char *const queries[] = {
    "\"kind\":\"all-pairs\",\"limit\":%,\"want\":[!]",
    "\"kind\":\"all-pairs\",\"count_only\":true,\"at\":$",
    "\"kind\":\"all-pairs\",\"margin\":#,\"by\":\"id\"",
    "\"kind\":\"pairs\",\"pairs\":[[@,@],[@,^]],\"want\":[!,!]",
    "\"kind\":\"pairs\",\"pairs\":[%,%,%,%],\"by\":\"id\"",
    "\"kind\":\"overlap\",\"shapes\":[^,@,{\"sphere\":{\"center\":[#,#,#],\"radius\":+}}],\"want\":"
    "[!]",
    "\"kind\":\"overlap\",\"shapes\":[{\"capsule\":{\"a\":[#,#,#],\"b\":[#,#,#],\"radius\":+}}],"
    "\"margin\":#",
    "\"kind\":\"overlap\",\"shapes\":[{\"frustum\":[1,0,0,0,0,1,0,0,0,0,-1,-1,0,0,#,0]}],\"at\":$",
    "\"kind\":\"point\",\"points\":[[#,#,#]],\"filter\":{\"category\":%,\"mask\":%,\"exclude\":[@],"
    "\"prefix\":\"n\"}",
    "\"kind\":\"point\",\"points\":[[#,#,#],[#,#,#]],\"filter\":{\"exclude_entities\":[@]}",
    "\"kind\":\"ray\",\"rays\":[{\"origin\":[#,#,#],\"direction\":[#,#,1],\"max_distance\":+}],"
    "\"mode\":\"all\"",
    "\"kind\":\"ray\",\"rays\":[{\"from\":[#,#,#],\"to\":[#,#,#]}],\"inside\":\"exit\",\"want\":["
    "\"data\",\"pose\"]",
    "\"kind\":\"ray\",\"rays\":[{\"from\":[#,#],\"to\":[#,#]}],\"mode\":\"closest_per_entity\","
    "\"at\":$",
    "\"kind\":\"sweep\",\"sweeps\":[{\"box\":^,\"motion\":[#,#,#]},{\"box\":@,\"motion\":[#,#,#]}],"
    "\"mode\":\"all\"",
    "\"kind\":\"nearest\",\"points\":[[#,#,#]],\"k\":%,\"max_distance\":+",
    "\"kind\":\"nearest\",\"boxes\":[^,@],\"k\":3,\"want\":[\"entity\"],\"at\":$",
    "\"kind\":@"};
static const char *const more_boxes[] = {
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+],\"ttl\":%}",
    "{\"center\":[#,#,#],\"half_extents\":[+,+,+],\"frame\":@}",
    "{\"half_extents\":[+,+,+],\"frame\":@,\"local\":{\"center\":[#,#,#],\"rotation\":[0,#,0,1]}}",
    "{\"min\":[-1,-1,-1],\"max\":[+,+,+],\"frame\":null,\"ttl\":null}"};
static const char *const more_queries[] = {
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): some are longer than a line */
    "\"kind\":\"ray\",\"rays\":{\"origins\":[#,#,#,#,#,#],\"directions\":[0,0,1,#,0,1],"
    "\"max_distances\":+,\"times\":[#,#]},\"columns\":true,\"at\":{\"clamp\":true}",
    "\"kind\":\"ray\",\"rays\":{\"origins\":[#,#,#],\"targets\":[#,#,#],\"times\":[#]},\"tag\":@",
    "\"kind\":\"ray\",\"rays\":[{\"from\":[#,#,#],\"to\":[#,#,#]}],\"explain\":[@,@],\"filter\":{"
    "\"mask\":%,\"exclude\":[@]}",
    "\"kind\":\"sweep\",\"sweeps\":[{\"box\":@,\"motion\":[#,#,#]}],\"columns\":true,\"float\":32",
    "\"kind\":\"sweep\",\"sweeps\":[{\"box\":@,\"motion\":[#,#,#]}],\"explain\":[@],\"by\":\"id\"",
    "\"kind\":\"nearest\",\"points\":[#,#,#,#,#,#],\"columns\":true,\"at\":$",
    "\"kind\":\"nearest\",\"points\":[#,#,#],\"explain\":[@],\"max_distance\":+",
    "\"kind\":\"point\",\"points\":[#,#,#],\"explain\":[@,@],\"tag\":@",
    "\"kind\":\"overlap\",\"shapes\":[^,@],\"explain\":[@],\"margin\":#,\"with\":{\"put\":{@:^}}",
    "\"kind\":\"overlap\",\"shapes\":[@],\"with\":{~},\"at\":$",
    "\"kind\":\"all-pairs\",\"with\":{~}",
    "\"kind\":\"ray\",\"rays\":[{\"from\":[#,#,#],\"to\":[#,#,#]}],\"with\":{~},\"explain\":[@]",
    "\"kind\":\"pairs\",\"pairs\":[[@,@]],\"with\":{~},\"tag\":\"\""};
/* Changes of a commit or of a query. */
static const char *const changes[] = {
    "\"put\":{\"names\":[@,@],\"centers\":[#,#,#,#,#,#],\"half_extents\":[+,+,+],\"ttl\":[%,null],"
    "\"entities\":@,\"frames\":[@,null],\"category\":[%,%],\"mask\":%}",
    "\"put\":{\"names\":[@],\"centers\":[#,#,#],\"half_extents\":[+,+,+],\"rotations\":[0,#,0,1],"
    "\"group\":%}",
    "\"frames\":{@:{\"center\":[#,#,#],\"teleport\":true},@:{\"rotation\":[#,0,0,1]}}",
    "\"frames\":{\"names\":[@,@],\"centers\":[#,#,#,#,#,#],\"rotations\":[0,0,0,1,#,0,0,1]},"
    "\"put\":{@:^,@:^}",
    "\"remove_frames\":[@],\"remove\":[@]",
    "\"pose\":{@:{\"center\":[#,#,#]}},\"put\":{@:^}",
    "\"pose\":{\"ids\":[%],\"centers\":[#,#,#]}",
    "\"transform\":{@:{\"translate\":[#,#,#]}}",
    "\"remove\":[@,@]"};
static const char *const wants[] = {"\"relation\"", "\"mtv\"",  "\"distance\"", "\"axis\"",
                                    "\"volume\"",   "\"data\"", "\"pose\"",     "\"entity\""};
static const char *const states[] = {"{\"revision\":%}", "{\"time\":#}", "{\"ago\":#}",
                                     "{\"time\":#,\"interpolate\":false,\"clamp\":true}"};
static const char *const commits[] = {
    "{\"put\":{@:^}}",
    "{\"put\":{@:^,@:^,@:^},\"queries\":[{?},{?}]}",
    "{\"ignore_missing\":true,\"pose\":{@:{\"center\":[#,#,#],\"teleport\":true},@:{\"rotation\":[#"
    ",#,#,1]}}}",
    "{\"remove\":[@,@],\"put\":{@:^},\"if_revision\":%,\"queries\":[{?}]}",
    "{\"pose\":{\"names\":[@,@],\"centers\":[#,#,#,#,#,#],\"rotations\":[0,0,0,1,#,0,0,1]},"
    "\"ignore_missing\":true}",
    "{\"pose\":{\"ids\":[%,%],\"centers\":[#,#,#,#,#,#]},\"queries\":[{?}],\"ignore_missing\":"
    "true}",
    "{\"transform\":{@:{\"rotate\":{\"axis\":[0,1,#],\"degrees\":#},\"translate\":[#,#,#],"
    "\"space\":\"local\"}}}",
    "{\"queries\":[{?},{?},{?}]}",
    "{\"time\":#}",
    "{}"};
static const char *const more_commits[] = {"{~}",
                                           "{~,\"ignore_missing\":true,\"queries\":[{?},{?}]}",
                                           "{\"dry_run\":true,~,\"queries\":[{?}]}",
                                           "{\"time\":%,\"put\":{@:^}}",
                                           "{\"time\":%,\"restart\":true,~}",
                                           "{\"restart\":true,~}",
                                           "{\"if_box\":{@:%},~}",
                                           "{\"time\":%,\"ignore_missing\":true,~}"};
static const char *const others[] = {
    "{\"dimensions\":3,\"history\":{\"span\":#,\"commits\":%}}",
    "{\"dimensions\":2}",
    "{\"translate\":[#,#,#],\"rotate\":{\"axis\":[0,0,1],\"degrees\":#},\"scale\":[+,1,1]}",
    "{\"with\":[@,@]}",
    "{\"center\":[#,#,#]}",
    "{\"half_extents\":[+,+,+],\"data\":[#,@],\"mask\":%}"};

static const char *const more_others[] = {"{\"record\":%,\"history\":{\"span\":%,\"commits\":%}}",
                                          "{\"record\":%}",
                                          "{\"frame\":null}",
                                          "{\"frame\":@,\"ttl\":%}",
                                          "{\"center\":[#,#,#],\"rotation\":[0,#,0,1]}",
                                          "{\"rotation\":[#,0,0,1],\"teleport\":true}",
                                          "{\"to\":\"flat\",\"replace\":true}",
                                          "{\"to\":\"b/c\",\"replace\":true,\"at\":$}",
                                          "{\"to\":@}"};

struct text {
    char *bytes; /* BODY of them */
    size_t length;
};

static void add(struct text *t, const char *bytes, size_t length)
{
    if (length < BODY - t->length) {
        memcpy(t->bytes + t->length, bytes, length);
        t->length += length;
    }
}

#define COUNT(table)       (sizeof(table) / sizeof *(table))
#define PICK(table, input) (table)[(size_t)fuzz_next(input) % COUNT(table)]
/* Inputs that are not wide choose as they did before there were more. */
#define PICK_ANY(table, input) \
    (wide && fuzz_next(input) % 2 == 0 ? PICK(more_##table, input) : PICK(table, input))

static const char *scalar(const char *const *table, size_t count, struct fuzz_input *in)
{
    const size_t which = (size_t)fuzz_next(in);
    return which < 252 ? table[which % count] : PICK(wrong, in);
}

static void expand(struct text *t, const char *template, struct fuzz_input *in)
{
    for (const char *c = template; *c != '\0'; c++) {
        const char *nested = NULL, *plain = NULL;
        switch (*c) {
        case '#':
            plain = scalar(numbers, COUNT(numbers), in);
            break;
        case '+':
            plain = scalar(lengths, COUNT(lengths), in);
            break;
        case '%':
            plain = scalar(wholes, COUNT(wholes), in);
            break;
        case '@':
            plain = scalar(names, COUNT(names), in);
            break;
        case '!':
            plain = PICK(wants, in);
            break;
        case '^':
            nested = PICK_ANY(boxes, in);
            break;
        case '?':
            nested = PICK_ANY(queries, in);
            break;
        case '~':
            nested = PICK(changes, in);
            break;
        case '$':
            nested = PICK(states, in);
            break;
        default:
            add(t, c, 1);
        }
        if (nested != NULL)
            expand(t, nested, in);
        if (plain != NULL)
            add(t, plain, strlen(plain));
    }
}

/* So many boxes at once, in a row that its step makes dense or loose. */
static void put_many(struct text *t, struct fuzz_input *in)
{
    const int count = fuzz_next(in) * 8, first = fuzz_next(in) * 4;
    const double step = (double)(fuzz_next(in) % 16) / 4;
    char line[160];
    add(t, "{\"put\":{", 8);
    for (int i = 0; i < count; i++) {
        const int length =
            snprintf(line, sizeof line, "%s\"n%d\":{\"center\":[%g,0,0],\"half_extents\":[1,1,1]}",
                     i > 0 ? "," : "", first + i, step * i);
        add(t, line, (size_t)length);
    }
    add(t, "}", 1);
    if (fuzz_next(in) % 2 == 0)
        expand(t, ",\"queries\":[{?}]", in);
    add(t, "}", 1);
}

static void write_import(struct text *t, struct fuzz_input *in)
{
    static const char *const lines[] = {
        "{\"name\":@,\"center\":[#,#,#],\"half_extents\":[+,+,+]}\n",
        "{\"name\":\"n1\",\"min\":[0,0,0],\"max\":[1,+,1]}\n",
        "{\"name\":@,\"center\":[#,#],\"half_extents\":[+,+]}\n", "\n"};
    static const char *const more_lines[] = {
        "{\"frame\":@,\"center\":[#,#,#],\"rotation\":[0,#,0,1]}\n",
        "{\"name\":@,\"half_extents\":[+,+,+],\"frame\":@,\"local\":{\"center\":[#,#,#],"
        "\"rotation\":[0,"
        "0,0,1]}}\n",
        "{\"name\":@,\"center\":[#,#,#],\"half_extents\":[+,+,+],\"ttl\":%}\n"};
    const char *head = wide && fuzz_next(in) % 2 == 0
                           ? "{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":3,\"time\":%,"
                             "\"record\":%}\n"
                       : fuzz_next(in) % 8 != 0
                           ? "{\"format\":\"obbd-scene\",\"version\":1,\"scene\":\"x\","
                             "\"dimensions\":3,\"revision\":%,\"time\":#}\n"
                           : "{\"version\":%}\n";
    expand(t, head, in);
    for (int n = fuzz_next(in) % 8; n > 0; n--)
        expand(t, PICK_ANY(lines, in), in);
}

/* As CBOR, if the text is JSON. */
static bool to_cbor(struct text *t)
{
    size_t length = 0;
    json_t *value = json_loadb(t->bytes, t->length, JSON_ALLOW_NUL, NULL);
    char *bytes = value != NULL ? cbor_written(value, &length) : NULL;
    json_decref(value);
    if (bytes == NULL || length > BODY) {
        free(bytes);
        return false;
    }
    memcpy(t->bytes, bytes, length);
    t->length = length;
    free(bytes);
    return true;
}

static void spoil(struct text *t, struct fuzz_input *in)
{
    for (int n = fuzz_next(in) % 6; n > 0 && t->length > 0; n--) {
        const size_t at = (size_t)(fuzz_next(in) * 256 + fuzz_next(in)) % t->length;
        t->bytes[at] = (char)fuzz_next(in);
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

enum kind { NO_BODY, COMMIT, MANY, QUERY, ONE_BOX, OTHER, IMPORT };

struct service_route {
    const char *method, *target; /* S: the scene, B: a box or frame, Q: a kind of query */
    enum kind kind;
};

static const struct service_route routes[] = {
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"POST", "/v1/scenes/S/commit", MANY},
    {"PUT", "/v1/scenes/S/boxes/B", ONE_BOX},
    {"POST", "/v1/scenes/S/query/Q", QUERY},
    {"POST", "/v1/scenes/S/query/all-pairs", QUERY},
    {"GET", "/v1/scenes/S/boxes/B?include=axes,corners,planes,edges,aabb,matrix,volume", NO_BODY},
    {"GET", "/v1/scenes/S/boxes/B?at_revision=2", NO_BODY},
    {"GET", "/v1/scenes/S/boxes?limit=3&prefix=n", NO_BODY},
    {"GET", "/v1/scenes/S/boxes?limit=10000", NO_BODY},
    {"GET", "/v1/scenes/S", NO_BODY},
    {"HEAD", "/v1/scenes/S", NO_BODY},
    {"PUT", "/v1/scenes/S", OTHER},
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"DELETE", "/v1/scenes/S", NO_BODY},
    {"PATCH", "/v1/scenes/S/boxes/B", OTHER},
    {"DELETE", "/v1/scenes/S/boxes/B", NO_BODY},
    {"POST", "/v1/scenes/S/boxes/B/transform", OTHER},
    {"POST", "/v1/scenes/S/boxes/B/merge", OTHER},
    {"GET", "/v1/scenes/S/export", NO_BODY},
    {"POST", "/v1/scenes/S/import", IMPORT},
    {"GET", "/v1/scenes/S/events", NO_BODY},
    {"GET", "/v1/scenes/S/events?topics=boxes,commits", NO_BODY},
    {"GET", "/v1/scenes?limit=2", NO_BODY},
    {"GET", "/metrics", NO_BODY},
    {"GET", "/v1/scenes/S/boxes?cursor=x&limit=0", NO_BODY},
    {"POST", "/v1/nowhere", OTHER},
    {"OPTIONS", "/v1/scenes/S/nowhere", NO_BODY},
};
static const struct service_route more_routes[] = {
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"POST", "/v1/scenes/S/commit", COMMIT},
    {"POST", "/v1/scenes/S/query/Q", QUERY},
    {"POST", "/v1/scenes/S/query/Q", QUERY},
    {"POST", "/v1/scenes/S/copy", OTHER},
    {"PUT", "/v1/scenes/S", OTHER},
    {"PUT", "/v1/scenes/S/boxes/B", ONE_BOX},
    {"PATCH", "/v1/scenes/S/boxes/B", OTHER},
    {"PUT", "/v1/scenes/S/frames/B", OTHER},
    {"GET", "/v1/scenes/S/frames/B", NO_BODY},
    {"GET", "/v1/scenes/S/frames?limit=2&prefix=n", NO_BODY},
    {"GET", "/v1/scenes/S/frames?at_revision=3", NO_BODY},
    {"DELETE", "/v1/scenes/S/frames/B", NO_BODY},
    {"GET", "/v1/scenes/S/log", NO_BODY},
    {"GET", "/v1/scenes/S/log?from=1", NO_BODY},
    {"GET", "/v1/scenes/S/log?follow=true", NO_BODY},
    {"GET", "/v1/scenes/S/queries?limit=2", NO_BODY},
    {"GET", "/v1/scenes/S/queries?hit=true&box=a&tag=b", NO_BODY},
    {"GET", "/v1/scenes/S/events?topics=queries,boxes&include=pose", NO_BODY},
    {"GET", "/v1/scenes/S/events?prefix=n&category=3&rate=100", NO_BODY},
    {"POST", "/v1/scenes/S/import", IMPORT},
};
static const char *const box_names[] = {"a", "b", "c", "d%2Fe", "n1", "n2", "n40", "gone"};
static const char *const kinds[] = {"pairs", "overlap", "point",   "ray",
                                    "sweep", "nearest", "nothing", "all-pairs"};

static void write_target(const char *template, struct fuzz_input *in, struct asked *out)
{
    size_t length = 0;
    for (const char *c = template; *c != '\0' && length + 40 < sizeof out->target; c++) {
        const char *part = NULL;
        if (*c == 'S')
            part = scenes[out->scene = fuzz_next(in) % 8 % SCENES];
        else if (*c == 'B')
            part = PICK(box_names, in);
        else if (*c == 'Q')
            part = PICK(kinds, in);
        if (part != NULL)
            length +=
                (size_t)snprintf(out->target + length, sizeof out->target - length, "%s", part);
        else
            out->target[length++] = *c;
    }
    out->target[length] = '\0';
}

static void write_body(enum kind kind, struct fuzz_input *in, struct text *t)
{
    switch (kind) {
    case NO_BODY:
        break;
    case COMMIT:
        expand(t, PICK_ANY(commits, in), in);
        break;
    case MANY:
        put_many(t, in);
        break;
    case ONE_BOX:
        expand(t, "^", in);
        break;
    case OTHER:
        expand(t, PICK_ANY(others, in), in);
        break;
    case IMPORT:
        write_import(t, in);
        break;
    case QUERY: {
        struct text whole = {.bytes = t->bytes};
        expand(&whole, "{?}", in);
        /* without its kind, which is in the path */
        char *comma = memchr(t->bytes, ',', whole.length);
        if (comma != NULL && fuzz_next(in) % 16 != 0) {
            *comma = '{';
            memmove(t->bytes, comma, whole.length - (size_t)(comma - t->bytes));
            whole.length -= (size_t)(comma - t->bytes);
        }
        t->length = whole.length;
    }
    }
}

static const char *const extras[] = {"If-Match: \"1\"\r\n",
                                     "If-Match: *\r\n",
                                     "If-None-Match: \"2\"\r\n",
                                     "Accept: application/cbor\r\n",
                                     "Accept: application/x-ndjson\r\n",
                                     "Accept: text/html\r\n",
                                     "Last-Event-ID: 1\r\n",
                                     "X-Request-Id: r-1\r\n",
                                     "Origin: http://evil.example\r\n",
                                     "Authorization: Bearer nobody\r\n",
                                     "Connection: close\r\n",
                                     "Accept: application/cbor, application/x-ndjson;q=0.5\r\n"};
static const char *const tokens[] = {
    "Authorization: Bearer admin\r\n", "Authorization: Bearer admin\r\n",
    "Authorization: Bearer writer\r\n", "Authorization: Bearer reader\r\n"};

/* Writes a field with an epoch or a revision: those of the scene's last answer, those of another
 * scene, or spoilt ones. */
static void write_condition(struct fuzz_input *in, struct asked *asked, char *out, size_t size)
{
    static const char *const forms[] = {"Obbd-If-Epoch: E",       "Obbd-If-Epoch: E",
                                        "If-Match: \"R.E\"",      "If-Match: \"1\", \"R.E\"",
                                        "If-None-Match: \"R.E\"", "If-None-Match: W/\"R.E\", \"3\"",
                                        "Last-Event-ID: R.E",     "Last-Event-ID: R"};
    const char *form = PICK(forms, in);
    const int which = fuzz_next(in);
    const int scene = asked->scene >= 0 && which % 4 != 3 ? asked->scene : which / 4 % SCENES;
    char epoch[48];
    (void)snprintf(epoch, sizeof epoch, "%s",
                   epochs[scene][0] != '\0' ? epochs[scene] : "00c0ffee01234567");
    const size_t digits = strlen(epoch);
    const size_t at = (size_t)fuzz_next(in) % digits;
    switch (which / 16) {
    case 10: /* another digit */
    case 11:
        epoch[at] = "0123456789abcdef"[fuzz_next(in) % 16];
        break;
    case 12: /* in capitals */
        for (size_t i = 0; i < digits; i++)
            if (epoch[i] >= 'a' && epoch[i] <= 'f')
                epoch[i] = (char)(epoch[i] - 'a' + 'A');
        break;
    case 13: /* too short */
        epoch[at] = '\0';
        break;
    case 14: /* too long */
        (void)snprintf(epoch + digits, sizeof epoch - digits, "%d", fuzz_next(in));
        break;
    case 15: /* no digit. Control characters would break the whole field */
        epoch[at] = (char)(' ' + fuzz_next(in) % 95);
        break;
    default:
        break;
    }
    if (strncmp(form, "Obbd", 4) == 0)
        (void)snprintf(asked->if_epoch, sizeof asked->if_epoch, "%s", epoch);
    size_t length = 0;
    for (const char *c = form; *c != '\0' && length + 64 < size; c++)
        if (*c == 'E' && (c[1] == '\0' || c[1] == '"'))
            length += (size_t)snprintf(out + length, size - length, "%s", epoch);
        else if (*c == 'R' && (c[1] == '\0' || c[1] == '.'))
            length +=
                (size_t)snprintf(out + length, size - length, "%.0f",
                                 (which % 4 == 2 ? 0 : revisions[scene]) + fuzz_next(in) % 3 - 1);
        else
            out[length++] = *c;
    (void)snprintf(out + length, size - length, "\r\n");
}

/* Says head and body, in one of the ways in which a body may come. */
static void say_request(struct client *c, struct fuzz_input *in, const char *head,
                        const struct text *body)
{
    static char bytes[BODY + 4096];
    const int how = fuzz_next(in);
    const bool chunked = how % 4 == 1 && body->length > 0;
    size_t length;
    if (chunked)
        length = (size_t)snprintf(
            bytes, sizeof bytes, "%sTransfer-Encoding: chunked\r\n\r\n%zx\r\n", head, body->length);
    else
        length = (size_t)snprintf(bytes, sizeof bytes, "%sContent-Length: %zu\r\n\r\n", head,
                                  body->length);
    memcpy(bytes + length, body->bytes, body->length);
    length += body->length;
    if (chunked) {
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
        memcpy(bytes + length, "\r\n0\r\n\r\n", 7);
        length += 7;
    }
    size_t stops = length;
    if (how / 4 % 8 == 7) {
        c->partial = true;
        stops = (size_t)(fuzz_next(in) * 256 + fuzz_next(in)) % length;
    }
    const size_t cut = how / 32 % 4 == 3 ? stops / 2 : stops;
    say(c, bytes, cut);
    if (cut < stops) {
        turn(true);
        say(c, bytes + cut, stops - cut);
    }
}

static void ask(struct client *c, struct fuzz_input *in)
{
    static char room[BODY], head[2048];
    char condition[256] = "";
    struct text body = {.bytes = room};
    const struct service_route route = PICK_ANY(routes, in);
    const int form = fuzz_next(in);
    struct asked asked = {.scene = -1};
    (void)snprintf(asked.method, sizeof asked.method, "%s", route.method);
    write_target(route.target, in, &asked);
    write_body(route.kind, in, &body);
    const bool has_body = route.kind != NO_BODY;
    asked.type = route.kind == IMPORT ? "application/x-ndjson" : "application/json";
    if (form % 4 == 3 && route.kind != IMPORT && to_cbor(&body))
        asked.type = "application/cbor";
    if (form / 4 % 16 == 15)
        spoil(&body, in);
    if (!has_body || form == 255)
        asked.type = NULL;
    asked.follows =
        strstr(asked.target, "/events") != NULL || strstr(asked.target, "follow=true") != NULL;
    const char *extra = fuzz_next(in) % 4 == 0 ? PICK(extras, in) : "";
    if (conditional && fuzz_next(in) % 2 == 0)
        write_condition(in, &asked, condition, sizeof condition);
    (void)snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s%s%s%s",
                   asked.method, asked.target, asked.type != NULL ? "Content-Type: " : "",
                   asked.type != NULL ? asked.type : "", asked.type != NULL ? "\r\n" : "", extra,
                   condition,
                   authorised && strstr(extra, "Authorization") == NULL ? PICK(tokens, in) : "");
    asked.length = body.length;
    asked.body = malloc(body.length + 1);
    fuzz_check(asked.body != NULL, "memory");
    asked.body[body.length] = '\0';
    memcpy(asked.body, room, body.length); /* NOLINT(bugprone-not-null-terminated-result) */
    asked.fallible = false;
    c = opened(c);
    c->waiting[c->count++] = asked;
    if (asked.scene >= 0 && strcmp(asked.method, "DELETE") == 0)
        deleted[asked.scene] = true;
    if (strstr(asked.target, "/copy") != NULL) /* it may replace any of them */
        memset(deleted, true, sizeof deleted);
    say_request(c, in, head, &body);
    if (c->count > 0 && now_ms() - c->since > TIMEOUT_MS * 0.6)
        c->waiting[c->count - 1].fallible = true; /* it came too late */
}

static void step(struct fuzz_input *in)
{
    const int what = fuzz_next(in);
    struct client *c = &clients[what / 16 % CLIENTS];
    switch (what % 16) {
    case 8: /* goes, or closes its sending half */
    case 9:
        if (c->fd >= 0 && what / 64 % 2 == 0 && !c->partial) {
            (void)shutdown(c->fd, SHUT_WR);
            c->half = true;
        } else {
            close_client(c);
        }
        break;
    case 10:
        fault_in = 1 + (size_t)fuzz_next(in);
        break;
    case 11:
        for (int n = fuzz_next(in) % 32; n > 0; n--)
            turn(n % 8 == 0);
        break;
    case 12: /* pipelines */
    case 13:
        ask(c, in);
        break;
    default:
        ask(c, in);
        await(c);
    }
    for (int i = 0; i < CLIENTS; i++)
        hear(&clients[i]);
}

/* ---- At rest --------------------------------------------------------------------------------- */

static const char *plain_answer; /* the body of the last answer */
static size_t plain_length;

/* Asks once and waits. Returns the status; 0: the time was over before all was said or heard. */
static int fetch_once(const char *method, const char *target, const char *type, const char *body,
                      size_t length)
{
    static char head[1024], room[ROOM];
    struct client *c = &clients[0];
    close_client(c);
    c = opened(c);
    const int size =
        snprintf(head, sizeof head,
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n%s"
                 "Content-Length: %zu\r\n\r\n",
                 method, target, type, authorised ? tokens[0] : "", length);
    say(c, head, (size_t)size);
    say(c, body, length);
    const double begin = now_ms();
    for (bool closed = false; !closed;) {
        turn(true);
        for (ssize_t n;
             !closed && (n = recv(c->fd, c->heard + c->got, ROOM - c->got, MSG_DONTWAIT)) != -1;) {
            c->got += (size_t)n;
            closed = n == 0;
        }
        fuzz_check(now_ms() - begin < PATIENCE_MS, "a plain request is stuck");
    }
    const char *end = find(c->heard, c->got, "\r\n\r\n", 4);
    if (end == NULL) {
        close_client(c);
        return 0;
    }
    plain_length = c->got - (size_t)(end + 4 - c->heard);
    memcpy(room, end + 4, plain_length);
    const bool chunked = find(c->heard, (size_t)(end - c->heard), "chunked", 7) != NULL;
    const bool whole = !chunked || join_chunks(room, plain_length, &plain_length) != 0;
    room[plain_length] = '\0';
    plain_answer = room;
    const int status = whole ? (int)strtol(c->heard + 9, NULL, 10) : 0;
    close_client(c);
    return status;
}

/* Asks again while the time of a request was over. */
static int fetch(const char *method, const char *target, const char *type, const char *body,
                 size_t length)
{
    const double begin = now_ms();
    for (;;) {
        const int status = fetch_once(method, target, type, body, length);
        if ((status != 0 && status != 503) || narrow)
            return status;
        fuzz_check(now_ms() - begin < PATIENCE_MS, "a plain request is refused again and again");
    }
}

static double metric(const char *name)
{
    const char *line = strstr(plain_answer, name);
    fuzz_check(line != NULL, "a metric is missing");
    return strtod(line + strlen(name), NULL);
}

/* Scenes that were followed keep messages for 25 s, unless they are deleted. */
static void delete_scenes(void)
{
    char path[64];
    for (int i = 0; i < SCENES; i++) {
        (void)snprintf(path, sizeof path, "/v1/scenes/%s", scenes[i]);
        (void)fetch("DELETE", path, "text/plain", "", 0);
    }
    (void)fetch("DELETE", "/v1/scenes/again", "text/plain", "", 0);
}

static void check_rest(void)
{
    const double begin = now_ms();
    for (;;) {
        fuzz_check(fetch("GET", "/metrics", "text/plain", "", 0) == 200, "the metrics");
        const double bytes = metric("\nobbd_in_flight_bytes "), jobs = metric("\nobbd_queue ");
        const double scenes_left = metric("\nobbd_scenes "), boxes_left = metric("\nobbd_boxes ");
        fuzz_check(scenes_left > 0 || boxes_left == 0, "boxes are counted that are in no scene");
        if (bytes == 0 && jobs == 0)
            return;
        if (now_ms() - begin > PATIENCE_MS)
            (void)fprintf(stderr, "%g bytes, %g jobs, %g connections\n", bytes, jobs,
                          metric("\nobbd_connections "));
        fuzz_check(now_ms() - begin <= PATIENCE_MS, "something is left of the requests");
    }
}

/* Skips the members of a box that an import gives anew: its id, and since when its ttl counts. */
static const char *behind_anew(const char *at, const char *end)
{
    static const char *const keys[] = {",\"id\":", ",\"since\":"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        const size_t length = strlen(keys[i]);
        if ((size_t)(end - at) < length || memcmp(at, keys[i], length) != 0)
            continue;
        for (at += length; at < end && *at != ',' && *at != '}'; at++)
            ;
    }
    return at;
}

/* Compares the lines of two exports. */
static bool same_but_anew(const char *a, const char *a_end, const char *b, const char *b_end)
{
    for (;; a++, b++) {
        a = behind_anew(a, a_end);
        b = behind_anew(b, b_end);
        if (a == a_end || b == b_end)
            return a == a_end && b == b_end;
        if (*a != *b)
            return false;
    }
}

/* The scene, the list of its boxes and its export agree, and an import of the export is the
 * same. */
static void check_scene(int scene)
{
    char path[64];
    static char export[ROOM];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s", scenes[scene]);
    const int status = fetch("GET", path, "text/plain", "", 0);
    if (status == 404)
        return;
    fuzz_check(status == 200, "a scene at rest");
    json_t *is = json_loadb(plain_answer, plain_length, 0, NULL);
    fuzz_check(deleted[scene] ||
                   json_number_value(json_object_get(is, "revision")) >= revisions[scene],
               "a commit that was answered is lost");
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/boxes?limit=10000", scenes[scene]);
    const int listed = fetch("GET", path, "text/plain", "", 0);
    if (narrow && listed == 503) {
        json_decref(is);
        return;
    }
    fuzz_check(listed == 200, "boxes at rest");
    json_t *list = json_loadb(plain_answer, plain_length, 0, NULL);
    const size_t count = json_array_size(json_object_get(list, "boxes"));
    fuzz_check((double)count == json_number_value(json_object_get(is, "boxes")) || count == 10000,
               "the list of boxes is not as long as the scene says");
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/export", scenes[scene]);
    fuzz_check(fetch("GET", path, "text/plain", "", 0) == 200, "an export at rest");
    const size_t length = plain_length;
    memcpy(export, plain_answer, length);
    (void)fetch("DELETE", "/v1/scenes/again", "text/plain", "", 0);
    const int imported =
        fetch("POST", "/v1/scenes/again/import", "application/x-ndjson", export, length);
    json_decref(is);
    json_decref(list);
    if (imported == 413 || (narrow && imported == 503))
        return; /* more boxes than --box-limit */
    if (imported != 200 && imported != 201)
        (void)fprintf(stderr, "%d %.300s\n%.1000s\n", imported, plain_answer, export);
    fuzz_check(imported == 200 || imported == 201, "an import of an export");
    fuzz_check(fetch("GET", "/v1/scenes/again/export", "text/plain", "", 0) == 200, "its export");
    const char *const from = memchr(export, '\n', length);
    const char *const again = memchr(plain_answer, '\n', plain_length);
    const bool same = same_but_anew(from, export + length, again, plain_answer + plain_length);
    if (!same)
        (void)fprintf(stderr, "%.2000s\n%.2000s\n", export, plain_answer);
    fuzz_check(same, "an export holds other boxes after its import");
}

/* ---- The service ----------------------------------------------------------------------------- */

/* The tokens "admin", "writer" and "reader", in a file without a name. */
static const char *token_path(void)
{
    static const char text[] =
        "{\"tokens\":["
        "{\"name\":\"r\",\"sha256\":"
        "\"3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30\","
        "\"scopes\":[\"read\"],\"scenes\":[\"*\"]},"
        "{\"name\":\"w\",\"sha256\":"
        "\"b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5\","
        "\"scopes\":[\"read\",\"write\"],\"scenes\":[\"a\",\"b*\"]},"
        "{\"name\":\"a\",\"sha256\":"
        "\"8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918\","
        "\"scopes\":[\"read\",\"write\",\"admin\"],\"scenes\":[\"*\"]}]}";
    static char path[64];
    static FILE *file; /* open as long as the process */
    if (file == NULL) {
        file = tmpfile();
        fuzz_check(file != NULL && fputs(text, file) >= 0 && fflush(file) == 0, "a file");
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    }
    return path;
}

static void set_up(void)
{
    const obb_str text = wire_openapi();
    published = schema_load(text.bytes, text.length);
    fuzz_check(published != NULL, "the published document");
    (void)snprintf(socket_path, sizeof socket_path, "%s/obbd-fuzz-%ld.sock", test_folder(),
                   (long)getpid());
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.fd = -1, .heard = malloc(ROOM)};
        fuzz_check(clients[i].heard != NULL, "memory");
    }
}

static bool start(struct fuzz_input *in, srv_config *config)
{
    static char *no_environment[] = {NULL};
    static char listen[80];
    const int how = fuzz_next(in);
    char error[256];
    authorised = how % 2 == 1;
    narrow = how / 4 % 4 == 3;
    wide = how / 64 >= 2;
    conditional = how / 64 == 2;
    (void)snprintf(listen, sizeof listen, "unix:%s", socket_path);
    const char *const words[] = {"obbd",
                                 "--listen",
                                 listen,
                                 "--workers",
                                 how / 2 % 2 == 1 ? "2" : "1",
                                 "--memory-limit",
                                 narrow ? "1MiB" : "8MiB",
                                 "--request-timeout",
                                 "1000",
                                 "--log-level",
                                 "error",
                                 "--connection-limit",
                                 "16",
                                 "--queue-limit",
                                 "4",
                                 "--box-limit",
                                 "3000",
                                 authorised ? "--token-file" : NULL,
                                 token_path()};
    char *argv[20];
    int argc = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words && words[i] != NULL; i++)
        argv[argc++] = (char *)(uintptr_t)words[i];
    fuzz_check(srv_config_read(argc, argv, no_environment, config, error, sizeof error),
               "the options");
    fault_in = how / 16 % 4 == 3 ? 1 + (size_t)fuzz_next(in) : 0;
    fault_arm(fault_in);
    const bool created = srv_server_create(config, &server, error, sizeof error);
    const bool failed = fault_in > 0 && fault_seen() >= fault_in;
    fault_arm(0);
    fuzz_check(created || failed, error);
    fault_in = 0;
    if (!created) {
        srv_config_fini(config);
        return false;
    }
    loop = srv_server_loop(server);
    return true;
}

static void end(srv_config *config, bool at_rest)
{
    static FILE *nowhere;
    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    const double begin = now_ms();
    (void)raise(SIGTERM);
    fuzz_check(srv_server_run(server, nowhere) == EXIT_SUCCESS, "the end");
    fuzz_check(now_ms() - begin < (at_rest ? 3000 : 4900), "the service ends too late");
    for (int i = 0; i < CLIENTS; i++)
        close_client(&clients[i]);
    srv_server_destroy(server);
    srv_config_fini(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_input in = {.bytes = bytes, .left = length};
    srv_config config;
    if (published == NULL)
        set_up();
    memset(revisions, 0, sizeof revisions);
    memset(deleted, 0, sizeof deleted);
    memset(epochs, 0, sizeof epochs);
    if (!start(&in, &config))
        return 0;
    const bool at_rest = fuzz_next(&in) % 4 != 0;
    for (int i = 0; i < STEPS && in.left > 0; i++)
        step(&in);
    fault_in = 0;
    if (at_rest) {
        for (int i = 0; i < CLIENTS; i++) {
            await(&clients[i]);
            close_client(&clients[i]);
        }
        for (int i = 0; i < SCENES; i++)
            check_scene(i);
        delete_scenes();
        check_rest();
    }
    end(&config, at_rest);
    return 0;
}
