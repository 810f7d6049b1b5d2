#include "server/journal/nats.h"

#include "server/journal/nats_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    WAIT_MS = 1000,         /* for an answer of a server */
    RETRY_MS = 200,         /* before something that failed is tried again */
    PASS_MS = 100,          /* for the library to take one message that has come */
    WATCH_MS = 500,         /* between two looks at whether the log is delivered */
    STUCK_LOOKS = 4,        /* so often nothing came, although there was more */
    HEARTBEAT_MS = 500,     /* of the consumer */
    LEADER_TRIES = 40,      /* to read from the server that leads */
    ONE_TURN = 64,          /* messages that the loop takes at a time */
    QUEUE_BYTES = 16 << 20, /* of messages that wait for the loop: the library then keeps them */
    TOKEN = 400
};

static const char stream_name[] = "OBBD", subjects[] = "obbd.commit.*", prefix[] = "obbd.commit.",
                  piece_stream[] = "OBBDS", piece_subjects[] = "obbd.snap.>",
                  piece_prefix[] = "obbd.snap.", stream_info[] = "$JS.API.STREAM.INFO.OBBD",
                  stream_get[] = "$JS.API.STREAM.MSG.GET.OBBD";

/* Something for the loop. */
struct arrival {
    struct arrival *next;
    enum { APPENDED, GOT, READ, DELIVERED, AT_END, CAUGHT_UP } kind;
    uint64_t tag;  /* of APPENDED, GOT and READ; of DELIVERED and AT_END: a place in the log */
    uint64_t seq;  /* of READ: its place in the log */
    uint64_t left; /* of DELIVERED: messages behind it */
    bool known;
    srv_stream_found found;
    natsMsg *message; /* owned; of DELIVERED, GOT and READ */
};

/* Pieces to get or to remove, or messages of the log to read beside it or to remove. */
struct errand {
    struct errand *next;
    uint64_t tag;
    enum { GET, HAS, DROP, PURGE, ASIDE, END_ASIDE } kind;
    uint64_t seq; /* of HAS: the message; of PURGE: the first that stays; of ASIDE: that is read */
    char subject[sizeof prefix + TOKEN];
};

/* Messages of one scene that are read beside the log. */
struct aside {
    struct aside *previous, *next;
    struct nats *nats;
    uint64_t tag;
    uint64_t count; /* of the messages that came; the server numbers them, too */
    bool has_gap;   /* none is taken any more: whoever waits asks again */
    bool is_over;   /* it was ended */
    natsSubscription *subscription;
};

/* A message to send. */
struct departure {
    struct departure *next;
    uint64_t tag;
    bool clears; /* it removes those before it with its subject */
    char subject[sizeof prefix + TOKEN];
    size_t length;
    char bytes[];
};

struct nats {
    struct srv_stream stream; /* first */
    srv_nats_options options;
    struct srv_stream_calls calls;
    struct srv_nats_library n;
    struct srv_bell *bell;
    char inbox[64];      /* where acknowledgements come */
    char mark_token[24]; /* of the marks of this process */

    pthread_t keeper, sender, runner;
    pthread_mutex_t lock;
    pthread_cond_t wake, room; /* for the sender and the keeper; for callbacks */
    /* Under the lock. */
    struct arrival *first_arrival, **last_arrival; /* of the log, in its order */
    struct arrival *first_answer, **last_answer;   /* to what was sent and asked: they go first */
    struct errand *first_errand, **last_errand;
    size_t arrived_bytes;
    struct departure *first_departure, **last_departure;
    bool stop;
    uint64_t reading; /* how often the log was asked for, or is to be asked for anew */
    /* Whose messages are taken. NULL: none are, or it is not known yet which server they come
     * from. Another subscription may still call back: it keeps its address until then. */
    natsSubscription *source;
    uint64_t count;       /* of the messages that came from there; the server numbers them, too */
    struct aside *asides; /* owned; until the library has called their callbacks last */
    bool is_due;          /* the log is to be asked for anew */
    uint64_t read;        /* the last message that was taken over */
    uint64_t left;        /* messages behind it, as the server said with it; or 0 */
    uint64_t taken;       /* likewise by the loop */
    uint64_t end, end_ms; /* a place of the log that was its last one then */
    uint64_t read_all;    /* the last one of the log at the beginning; 0: nobody knows yet */
    bool knows_end, told_end;

    /* The keeper's, until the end. */
    natsOptions *settings;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *acks, *follow;

    atomic_bool is_connected, is_ready; /* ready: the stream is there, and read */
    atomic_bool removes;                /* messages of one name can be removed without harm */
    atomic_bool is_old;                 /* the servers are older than 2.10 */
};

static struct nats *self(struct srv_stream *stream) { return (struct nats *)stream; }

/* ---- Names and tokens ------------------------------------------------------------------------ */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* What the tokens of marks begin with. They have no name. Older daemons pass by what is no token of
 * theirs, and take its place in the log for one that was purged. */
enum { MARK = '~' };

/* Writes the token of a name, of 1 to 255 bytes. */
static void write_token(obb_str name, char *out)
{
    unsigned bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < name.length; i++) {
        bits = (bits << 8 | (unsigned char)name.bytes[i]) & 0xffffU;
        for (held += 8; held >= 6; held -= 6)
            *out++ = digits[bits >> (held - 6) & 63U];
    }
    if (held > 0)
        *out++ = digits[bits << (6 - held) & 63U];
    *out = '\0';
}

/* Reads a token. Returns false if it is none. */
static bool read_token(const char *token, char out[static 256], size_t *out_length)
{
    unsigned bits = 0;
    unsigned held = 0;
    size_t length = 0;
    *out_length = 0;
    if (token[0] == MARK)
        return true;
    for (; *token != '\0'; token++) {
        const char *digit = strchr(digits, *token);
        if (digit == NULL || length == 255)
            return false;
        bits = (bits << 6 | (unsigned)(digit - digits)) & 0xffffU;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[length++] = (char)(bits >> held);
        }
    }
    *out_length = length;
    return length > 0;
}

/* ---- For the loop ---------------------------------------------------------------------------- */

static size_t bytes_of(const struct nats *s, const struct arrival *a)
{
    return a->message != NULL ? (size_t)s->n.natsMsg_GetDataLength(a->message) : 0;
}

static void free_arrival(struct nats *s, struct arrival *a)
{
    obb_budget_give(s->options.budget, sizeof *a + bytes_of(s, a));
    if (a->message != NULL)
        s->n.natsMsg_Destroy(a->message);
    obb_free(a);
}

/* Hands something to the loop, and counts it. Under the lock. Returns false without memory. */
static bool hand_over(struct nats *s, struct arrival arrival)
{
    struct arrival *a = obb_malloc(1, sizeof *a);
    if (a == NULL)
        return false;
    *a = arrival;
    a->next = NULL;
    obb_budget_charge(s->options.budget, sizeof *a + bytes_of(s, a));
    struct arrival ***last = a->kind < DELIVERED ? &s->last_answer : &s->last_arrival;
    **last = a;
    *last = &a->next;
    srv_bell_ring(s->bell);
    return true;
}

/* Takes the next answer, or else the next arrival of the log if those are wanted. */
static struct arrival *take(struct nats *s, bool wants_log)
{
    (void)pthread_mutex_lock(&s->lock);
    struct arrival *a = s->first_answer;
    if (a != NULL) {
        s->first_answer = a->next;
        if (a->next == NULL)
            s->last_answer = &s->first_answer;
        (void)pthread_mutex_unlock(&s->lock);
        return a;
    }
    a = wants_log ? s->first_arrival : NULL;
    if (a != NULL) {
        s->first_arrival = a->next;
        if (a->next == NULL)
            s->last_arrival = &s->first_arrival;
        s->arrived_bytes -= bytes_of(s, a);
        if (a->kind == DELIVERED)
            s->taken = a->tag;
        (void)pthread_cond_signal(&s->room);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return a;
}

static void tell(struct nats *s, const struct arrival *a)
{
    if (a->kind == APPENDED) {
        s->calls.appended(s->calls.context, a->tag, a->known);
    } else if (a->kind == GOT) {
        const char *bytes = a->message != NULL ? s->n.natsMsg_GetData(a->message) : "";
        s->calls.got(s->calls.context, a->tag, a->found,
                     (obb_str){.bytes = bytes, .length = bytes_of(s, a)});
    } else if (a->kind == READ) {
        s->calls.read(
            s->calls.context, a->tag, a->seq,
            (obb_str){.bytes = s->n.natsMsg_GetData(a->message), .length = bytes_of(s, a)});
    } else if (a->kind == AT_END) {
        s->calls.at_end(s->calls.context, a->tag);
    } else if (a->kind == CAUGHT_UP) {
        s->calls.caught_up(s->calls.context);
    } else {
        char name[256];
        size_t length;
        if (read_token(s->n.natsMsg_GetSubject(a->message) + strlen(prefix), name, &length))
            s->calls.delivered(
                s->calls.context, (obb_str){.bytes = name, .length = length}, a->tag, a->left,
                (obb_str){.bytes = s->n.natsMsg_GetData(a->message), .length = bytes_of(s, a)});
    }
}

static void on_bell(void *context)
{
    struct nats *s = context;
    struct arrival *a = NULL;
    const double end = srv_clock() + ONE_TURN * 1e-6;
    do {
        a = take(s, s->calls.wants(s->calls.context));
        if (a == NULL)
            break;
        tell(s, a);
        free_arrival(s, a);
    } while (srv_clock() < end);
    s->calls.rest(s->calls.context);
    if (a != NULL)
        srv_bell_ring(s->bell); /* there may be more */
}

/* ---- Callbacks of the library, on its threads ------------------------------------------------ */

/* Takes no more messages. The keeper asks for the log anew, from behind what was taken. Under the
 * lock. */
static void end_reading(struct nats *s)
{
    s->reading++;
    s->source = NULL;
    s->is_due = true;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_cond_broadcast(&s->room);
}

static void on_disconnected(natsConnection *connection, void *context)
{
    struct nats *s = context;
    (void)connection;
    atomic_store(&s->is_connected, false);
}

static void on_reconnected(natsConnection *connection, void *context)
{
    struct nats *s = context;
    (void)connection;
    atomic_store(&s->is_connected, true);
    (void)pthread_mutex_lock(&s->lock);
    end_reading(s); /* what the server sent meanwhile is lost */
    (void)pthread_mutex_unlock(&s->lock);
}

/* The library says this on standard error otherwise. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                     void *context)
{
    struct nats *s = context;
    (void)connection;
    if ((status != NATS_MISSED_HEARTBEAT && status != NATS_MISMATCH) ||
        !atomic_load(&s->is_connected))
        return;
    (void)pthread_mutex_lock(&s->lock);
    struct aside *side = s->asides;
    while (side != NULL && side->subscription != subscription)
        side = side->next;
    if (side != NULL)
        side->has_gap = true;
    else
        end_reading(s);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Returns what stands behind the first occurrence of a word in an answer of a server; of length 0
 * if there is nothing. */
static obb_str behind(struct nats *s, natsMsg *answer, const char *word)
{
    const char *at = s->n.natsMsg_GetData(answer);
    const size_t length = strlen(word);
    for (size_t left = (size_t)s->n.natsMsg_GetDataLength(answer); left > length; left--, at++)
        if (memcmp(at, word, length) == 0)
            return (obb_str){.bytes = at + length, .length = left - length};
    return (obb_str){0};
}

/* An acknowledgement is the object {"stream":"OBBD","seq":N}, or has a member "error". */
static bool is_good(struct nats *s, natsMsg *message)
{
    return !s->n.natsMsg_IsNoResponders(message) && s->n.natsMsg_GetDataLength(message) > 0 &&
           behind(s, message, "\"error\"").length == 0;
}

static void on_ack(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *context)
{
    struct nats *s = context;
    (void)connection;
    (void)subscription;
    const char *tag = strrchr(s->n.natsMsg_GetSubject(message), '.') + 1;
    const struct arrival arrival = {
        .kind = APPENDED, .tag = strtoull(tag, NULL, 10), .known = is_good(s, message)};
    (void)pthread_mutex_lock(&s->lock);
    if (!s->stop)
        (void)hand_over(s, arrival); /* without memory: the journal sends once more */
    (void)pthread_mutex_unlock(&s->lock);
    s->n.natsMsg_Destroy(message);
}

/* Tells once that the log was read that was there at the beginning. Under the lock. */
static void look_at_end(struct nats *s)
{
    if (!s->knows_end || s->told_end || s->read < s->read_all)
        return;
    s->told_end = hand_over(s, (struct arrival){.kind = CAUGHT_UP});
}

/* Returns whether the log may have messages in the gap before this one. A server before 2.9.12 that
 * removes messages of one name moves each reader of the log to the first message that it leaves of
 * that name, past those of other names (https://github.com/nats-io/nats-server/pull/3838). If
 * several such servers keep the log, only marks remove messages: those before them. */
static bool may_skip(struct nats *s, natsMsg *message)
{
    const char *clears = NULL;
    return atomic_load(&s->is_old) &&
           (atomic_load(&s->removes) ||
            s->n.natsMsgHeader_Get(message, JSMsgRollup, &clears) == NATS_OK);
}

/* Returns the place of the first message of the log that is not before `from`, as the server says
 * that leads it; or 0 if that cannot be found out. */
static uint64_t first_from(struct nats *s, natsConnection *connection, uint64_t from)
{
    char request[96];
    natsMsg *answer = NULL;
    uint64_t place = 0;
    (void)snprintf(request, sizeof request, "{\"seq\":%llu,\"next_by_subj\":\"%s\"}",
                   (unsigned long long)from, subjects);
    if (s->n.natsConnection_RequestString(&answer, connection, stream_get, request, WAIT_MS) !=
        NATS_OK)
        return 0;
    const obb_str number = behind(s, answer, "\"seq\":");
    for (size_t i = 0; i < number.length && '0' <= number.bytes[i] && number.bytes[i] <= '9'; i++)
        place = place * 10 + (uint64_t)(number.bytes[i] - '0');
    s->n.natsMsg_Destroy(answer);
    return place;
}

/* Ends the reading if the log has a message between the last one that was taken and this one, or if
 * nobody knows. Under the lock, which it gives up meanwhile. */
static void look_at_gap(struct nats *s, const natsSubscription *source, natsConnection *connection,
                        uint64_t seq)
{
    const uint64_t from = s->read + 1;
    (void)pthread_mutex_unlock(&s->lock);
    const uint64_t place = first_from(s, connection, from);
    (void)pthread_mutex_lock(&s->lock);
    if (source == s->source && place < seq)
        end_reading(s);
}

static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *context)
{
    struct nats *s = context;
    jsMsgMetaData *about = NULL;
    if (s->n.natsMsg_GetMetaData(&about, message) != NATS_OK) {
        s->n.natsMsg_Destroy(message);
        return;
    }
    const uint64_t seq = about->Sequence.Stream, left = about->NumPending;
    const uint64_t number = about->Sequence.Consumer;
    s->n.jsMsgMetaData_Destroy(about);
    (void)pthread_mutex_lock(&s->lock);
    const uint64_t reading = s->reading;
    while ((s->source == NULL || (s->source == subscription && s->arrived_bytes > QUEUE_BYTES)) &&
           !s->stop && reading == s->reading)
        (void)pthread_cond_wait(&s->room, &s->lock);
    bool taken = false;
    if (subscription == s->source && number != ++s->count)
        end_reading(s); /* one before this was lost on its way */
    if (subscription == s->source && !s->stop && seq > s->read + 1 && may_skip(s, message))
        look_at_gap(s, subscription, connection, seq);
    if (seq > s->read && !s->stop && subscription == s->source) {
        taken = hand_over(
            s, (struct arrival){.kind = DELIVERED, .tag = seq, .left = left, .message = message});
        if (taken) {
            s->read = seq;
            s->left = left;
            s->arrived_bytes += (size_t)s->n.natsMsg_GetDataLength(message);
        } else {
            end_reading(s);
        }
        look_at_end(s);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (!taken)
        s->n.natsMsg_Destroy(message);
}

/* A message that is read beside the log. */
static void on_aside(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *context)
{
    struct aside *side = context;
    struct nats *s = side->nats;
    jsMsgMetaData *about = NULL;
    (void)connection;
    (void)subscription;
    bool taken = false;
    if (s->n.natsMsg_GetMetaData(&about, message) == NATS_OK) {
        const uint64_t seq = about->Sequence.Stream, number = about->Sequence.Consumer;
        s->n.jsMsgMetaData_Destroy(about);
        (void)pthread_mutex_lock(&s->lock);
        side->has_gap = side->has_gap || number != ++side->count;
        taken = !side->has_gap && !side->is_over && !s->stop &&
                hand_over(s, (struct arrival){
                                 .kind = READ, .tag = side->tag, .seq = seq, .message = message});
        side->has_gap = side->has_gap || !taken;
        (void)pthread_mutex_unlock(&s->lock);
    }
    if (!taken)
        s->n.natsMsg_Destroy(message);
}

/* The end of a subscription, on its own thread, which still holds a reference to it. The thread of
 * the library that reads from the server may have looked the subscription up just before, and holds
 * none: until 3.6 it went on with freed memory (nats.c issue 637). The server answers behind what
 * it sent, and the same thread reads the answer. After that nobody has the subscription in hand. */
static void on_over(void *context)
{
    struct nats *s = context;
    if (s->n.natsConnection_FlushTimeout(s->connection, WAIT_MS) != NATS_OK)
        s->n.nats_Sleep(PASS_MS); /* nothing is read any more, or only slowly */
}

/* No callback of it is under way any more. */
static void on_aside_over(void *context)
{
    struct aside *side = context;
    struct nats *s = side->nats;
    on_over(s);
    (void)pthread_mutex_lock(&s->lock);
    *(side->previous != NULL ? &side->previous->next : &s->asides) = side->next;
    if (side->next != NULL)
        side->next->previous = side->previous;
    (void)pthread_mutex_unlock(&s->lock);
    obb_free(side);
}

/* ---- The keeper ------------------------------------------------------------------------------ */

/* Waits; with `is_eager`, only until the log is to be asked for anew. Returns false if the stream
 * is being closed. */
static bool rest(struct nats *s, long ms, bool is_eager)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&s->lock);
    int waited = 0;
    while (!s->stop && !(is_eager && s->is_due) && waited == 0)
        waited = pthread_cond_timedwait(&s->wake, &s->lock, &until);
    const bool goes_on = !s->stop;
    (void)pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void tell_trouble(struct nats *s, const char *what, natsStatus status)
{
    SRV_LOG(s->options.log, SRV_WARN, "journal-away", srv_text("why", what),
            srv_text("status", s->n.natsStatus_GetText(status)));
}

/* Makes a stream, unless it is there. Returns NATS_OK if it is; the caller frees *out. */
static natsStatus make_stream(struct nats *s, const char *name, const char *subject,
                              jsStreamInfo **out)
{
    jsStreamConfig config;
    jsErrCode code = (jsErrCode)0;
    const char *wanted[] = {subject};
    natsStatus status = s->n.js_GetStreamInfo(out, s->js, name, NULL, &code);
    if (status == NATS_NOT_FOUND) {
        (void)s->n.jsStreamConfig_Init(&config);
        config.Name = name;
        config.Subjects = wanted;
        config.SubjectsLen = 1;
        config.Storage = js_FileStorage;
        config.Replicas = (int64_t)s->options.replicas;
        config.DenyDelete = true;
        config.AllowDirect = true;
        config.AllowRollup = true;
        status = s->n.js_AddStream(out, s->js, &config, NULL, &code);
    }
    if (status == NATS_OK && !(*out)->Config->AllowRollup) { /* an older daemon made it */
        jsStreamInfo *before = *out;
        *out = NULL;
        before->Config->AllowRollup = true;
        status = s->n.js_UpdateStream(out, s->js, before->Config, NULL, &code);
        s->n.jsStreamInfo_Destroy(before);
    }
    return status;
}

/* Makes both streams, unless they are there, and notes where the log ends. */
static natsStatus make_streams(struct nats *s)
{
    jsStreamInfo *info = NULL;
    natsStatus status = make_stream(s, piece_stream, piece_subjects, &info);
    s->n.jsStreamInfo_Destroy(info);
    info = NULL;
    if (status == NATS_OK)
        status = make_stream(s, stream_name, subjects, &info);
    if (status == NATS_OK) {
        (void)pthread_mutex_lock(&s->lock);
        if (!s->knows_end)
            s->read_all = info->State.LastSeq;
        s->knows_end = true;
        (void)pthread_mutex_unlock(&s->lock);
    }
    s->n.jsStreamInfo_Destroy(info);
    return status;
}

static uint64_t read_so_far(struct nats *s)
{
    (void)pthread_mutex_lock(&s->lock);
    const uint64_t read = s->read;
    (void)pthread_mutex_unlock(&s->lock);
    return read;
}

/* Begins a reading of the log, and writes from which place on. Returns its number. */
static uint64_t begin_reading(struct nats *s, uint64_t *out_from)
{
    (void)pthread_mutex_lock(&s->lock);
    end_reading(s); /* of callbacks that are under way */
    s->is_due = false;
    *out_from = s->read + 1;
    const uint64_t reading = s->reading;
    (void)pthread_mutex_unlock(&s->lock);
    return reading;
}

/* Asks for the messages of a subject from a place on. Whoever takes them watches their order: a
 * consumer that the library calls ordered is made anew by a thread of its own, which ends the
 * process if the connection is closed meanwhile, or has no room to send (3.4.1). */
static natsStatus ask(struct nats *s, const char *subject, uint64_t from, natsMsgHandler taker,
                      void *context, natsSubscription **out)
{
    jsSubOptions options;
    jsErrCode code = (jsErrCode)0;
    (void)s->n.jsSubOptions_Init(&options);
    options.Config.AckPolicy = js_AckNone;
    options.Config.MaxDeliver = 1;
    options.Config.FlowControl = true;
    options.Config.Heartbeat = HEARTBEAT_MS * INT64_C(1000000);
    options.Config.MemoryStorage = true;
    options.Config.Replicas = 1;
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = from;
    const natsStatus status =
        s->n.js_Subscribe(out, s->js, subject, taker, context, NULL, &options, &code);
    if (status == NATS_OK) { /* with a limit, the library drops messages */
        (void)s->n.natsSubscription_SetPendingLimits(*out, -1, -1);
        (void)s->n.natsSubscription_SetOnCompleteCB(*out, on_over, s);
    }
    return status;
}

/* Finds out whether what was asked for comes from the server that leads the log, or there is only
 * one; and whether one alone keeps the log. */
static natsStatus find_source(struct nats *s, bool *out_leads, bool *out_alone)
{
    jsStreamInfo *stream = NULL;
    jsConsumerInfo *consumer = NULL;
    jsErrCode code = (jsErrCode)0;
    natsStatus status = s->n.js_GetStreamInfo(&stream, s->js, stream_name, NULL, &code);
    if (status == NATS_OK)
        status = s->n.natsSubscription_GetConsumerInfo(&consumer, s->follow, NULL, &code);
    if (status == NATS_OK && stream->Cluster != NULL) {
        const char *leader = stream->Cluster->Leader;
        const char *source = consumer->Cluster != NULL ? consumer->Cluster->Leader : NULL;
        *out_leads = leader != NULL && source != NULL && strcmp(leader, source) == 0;
    } else {
        *out_leads = status == NATS_OK;
    }
    *out_alone = status == NATS_OK && stream->Config->Replicas < 2;
    s->n.jsStreamInfo_Destroy(stream);
    s->n.jsConsumerInfo_Destroy(consumer);
    return status;
}

/* Finds out whether the servers are older than 2.10. Since then they say the time in what they tell
 * about a stream. */
static natsStatus look_at_age(struct nats *s, bool *out_is_old)
{
    natsMsg *answer = NULL;
    const natsStatus status =
        s->n.natsConnection_RequestString(&answer, s->connection, stream_info, "", WAIT_MS);
    if (status != NATS_OK)
        return status;
    *out_is_old = behind(s, answer, "\"ts\":").length == 0;
    s->n.natsMsg_Destroy(answer);
    return NATS_OK;
}

/* Several servers before 2.9.21 cannot remove messages of one name: one that is killed within
 * minutes forgets all that came before, of all names, when it starts again
 * (https://github.com/nats-io/nats-server/issues/4196). */
static void note_removal(struct nats *s, bool removes)
{
    const bool could = atomic_exchange(&s->removes, removes) || !atomic_load(&s->is_ready);
    if (could && !removes)
        SRV_LOG(s->options.log, SRV_WARN, "journal-grows",
                srv_text("why", "nats-server before 2.10 may lose what is not purged"));
}

/* Asks for the log behind what was read, and lets it come from the server that leads it. A server
 * that led before and was killed may hold another message at a place than all others do, forever
 * (2.9.10). The servers choose at random which of them sends, so they are asked until it is that
 * one. */
static natsStatus subscribe(struct nats *s)
{
    for (int tries = 1;; tries++) {
        uint64_t from = 0;
        bool leads = false, alone = false, is_old = false;
        const uint64_t reading = begin_reading(s, &from);
        s->n.natsSubscription_Destroy(s->follow);
        s->follow = NULL;
        natsStatus status = ask(s, subjects, from, on_message, s, &s->follow);
        if (status == NATS_OK)
            status = find_source(s, &leads, &alone);
        if (status != NATS_OK)
            return status;
        if (!leads && tries < LEADER_TRIES) {
            (void)s->n.natsSubscription_Unsubscribe(s->follow); /* or its consumer stays a while */
            continue;
        }
        if (!leads)
            tell_trouble(s, "the log is read from a server that does not lead it", NATS_OK);
        status = look_at_age(s, &is_old);
        if (status != NATS_OK)
            return status;
        note_removal(s, alone || !is_old);
        atomic_store(&s->is_old, is_old);
        atomic_store(&s->is_ready, true); /* before anybody hears that all is read */
        (void)pthread_mutex_lock(&s->lock);
        if (reading == s->reading) {
            s->source = s->follow;
            s->count = 0;
        }
        look_at_end(s);
        (void)pthread_cond_broadcast(&s->room);
        (void)pthread_mutex_unlock(&s->lock);
        return NATS_OK;
    }
}

static natsStatus connect_once(struct nats *s)
{
    jsOptions options;
    natsStatus status = NATS_OK;
    if (s->connection == NULL) {
        status = s->n.natsConnection_Connect(&s->connection, s->settings);
        if (status != NATS_OK)
            return status;
        atomic_store(&s->is_connected, true);
    }
    if (s->js == NULL) {
        (void)s->n.jsOptions_Init(&options);
        options.Wait = WAIT_MS;
        status = s->n.natsConnection_JetStream(&s->js, s->connection, &options);
    }
    if (status == NATS_OK && s->acks == NULL) {
        char all[sizeof s->inbox + 2];
        (void)snprintf(all, sizeof all, "%s.*", s->inbox);
        status = s->n.natsConnection_Subscribe(&s->acks, s->connection, all, on_ack, s);
        if (status == NATS_OK)
            (void)s->n.natsSubscription_SetOnCompleteCB(s->acks, on_over, s);
    }
    if (status == NATS_OK)
        status = make_streams(s);
    return status == NATS_OK ? subscribe(s) : status;
}

/* Returns the last message of the log, or 0 if that cannot be found out. */
static uint64_t end_of_log(struct nats *s)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = (jsErrCode)0;
    if (s->n.js_GetStreamInfo(&info, s->js, stream_name, NULL, &code) != NATS_OK)
        return 0;
    const uint64_t last = info->State.LastSeq;
    s->n.jsStreamInfo_Destroy(info);
    return last;
}

static uint64_t now_ms(void) { return (uint64_t)(srv_clock() * 1e3); }

/* Notes where the log ends at this moment, if the loop has taken all that was known before. */
static void note_end(struct nats *s, uint64_t last)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->taken >= s->end) {
        s->end = last;
        s->end_ms = now_ms();
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* Tells that nothing is left behind the last message, if the server said otherwise with it. Servers
 * of 2.9 go on counting messages that were removed meanwhile. `read` is the last message that was
 * taken over before the log was asked for its end, `last`. A server that knows of less than was
 * read does not know the end. */
static void tell_end(struct nats *s, uint64_t read, uint64_t last)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->left > 0 && s->read == read && last == read &&
        hand_over(s, (struct arrival){.kind = AT_END, .tag = read}))
        s->left = 0;
    (void)pthread_mutex_unlock(&s->lock);
}

static bool is_due(struct nats *s)
{
    (void)pthread_mutex_lock(&s->lock);
    const bool rewound = s->is_due;
    (void)pthread_mutex_unlock(&s->lock);
    return rewound;
}

/* Asks for the log anew whenever that is due, or if it is not delivered. */
static void watch(struct nats *s)
{
    uint64_t before = 0, wanted = 0;
    size_t stuck = 0;
    bool has_failed = false;
    while (rest(s, has_failed ? RETRY_MS : WATCH_MS, !has_failed)) {
        const uint64_t read = read_so_far(s);
        stuck = read == before && wanted > read ? stuck + 1 : 0;
        before = read;
        if (has_failed || stuck >= STUCK_LOOKS || is_due(s)) {
            has_failed = subscribe(s) != NATS_OK;
            stuck = 0;
            continue;
        }
        const uint64_t last = end_of_log(s);
        if (last == 0)
            continue;
        note_end(s, wanted = last);
        tell_end(s, read, last);
    }
}

static void *keep(void *context)
{
    struct nats *s = context;
    natsStatus told = NATS_OK;
    for (;;) {
        const natsStatus status = connect_once(s);
        if (status == NATS_OK)
            break;
        if (status != told)
            tell_trouble(s, "the servers or the stream cannot be reached", status);
        told = status;
        if (!rest(s, RETRY_MS, false))
            return NULL;
    }
    SRV_LOG(s->options.log, SRV_INFO, "journal", srv_text("stream", stream_name));
    watch(s);
    return NULL;
}

/* ---- The sender ------------------------------------------------------------------------------ */

static natsStatus publish(struct nats *s, const struct departure *d, const char *reply)
{
    natsMsg *message = NULL;
    if (!d->clears)
        return s->n.natsConnection_PublishRequest(s->connection, d->subject, reply, d->bytes,
                                                  (int)d->length);
    natsStatus status = s->n.natsMsg_Create(&message, d->subject, reply, d->bytes, (int)d->length);
    if (status == NATS_OK)
        status = s->n.natsMsgHeader_Set(message, JSMsgRollup, JSMsgRollupSubject);
    if (status == NATS_OK)
        status = s->n.natsConnection_PublishMsg(s->connection, message);
    s->n.natsMsg_Destroy(message);
    return status;
}

static void send_one(struct nats *s, const struct departure *d)
{
    char reply[sizeof s->inbox + 24];
    (void)snprintf(reply, sizeof reply, "%s.%llu", s->inbox, (unsigned long long)d->tag);
    if (publish(s, d, reply) == NATS_OK)
        return;
    (void)pthread_mutex_lock(&s->lock);
    (void)hand_over(s, (struct arrival){.kind = APPENDED, .tag = d->tag, .known = false});
    (void)pthread_mutex_unlock(&s->lock);
}

static void *run_sender(void *context)
{
    struct nats *s = context;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        struct departure *d = s->first_departure;
        if (d == NULL) {
            (void)pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        s->first_departure = d->next;
        if (d->next == NULL)
            s->last_departure = &s->first_departure;
        (void)pthread_mutex_unlock(&s->lock);
        send_one(s, d);
        obb_budget_free(d);
        (void)pthread_mutex_lock(&s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- The runner of errands ------------------------------------------------------------------- */

static srv_stream_found found_by(natsStatus status)
{
    return status == NATS_OK          ? SRV_STREAM_FOUND
           : status == NATS_NOT_FOUND ? SRV_STREAM_MISSING
                                      : SRV_STREAM_UNKNOWN;
}

static struct arrival run_get(struct nats *s, const struct errand *e)
{
    jsDirectGetMsgOptions options;
    struct arrival answer = {.kind = GOT, .tag = e->tag};
    (void)s->n.jsDirectGetMsgOptions_Init(&options);
    options.LastBySubject = e->subject;
    answer.found =
        found_by(s->n.js_DirectGetMsg(&answer.message, s->js, piece_stream, NULL, &options));
    return answer;
}

/* The server that leads the stream answers. */
static struct arrival run_has(struct nats *s, const struct errand *e)
{
    natsMsg *message = NULL;
    const natsStatus status = s->n.js_GetMsg(&message, s->js, stream_name, e->seq, NULL, NULL);
    s->n.natsMsg_Destroy(message);
    return (struct arrival){.kind = GOT, .tag = e->tag, .found = found_by(status)};
}

static struct arrival run_drop(struct nats *s, const struct errand *e)
{
    jsOptions options;
    jsErrCode code = (jsErrCode)0;
    (void)s->n.jsOptions_Init(&options);
    options.Wait = WAIT_MS;
    options.Stream.Purge.Subject = e->subject;
    const natsStatus status = s->n.js_PurgeStream(s->js, piece_stream, &options, &code);
    return (struct arrival){.kind = APPENDED, .tag = e->tag, .known = status == NATS_OK};
}

static struct arrival run_purge(struct nats *s, const struct errand *e)
{
    jsOptions options;
    jsErrCode code = (jsErrCode)0;
    (void)s->n.jsOptions_Init(&options);
    options.Wait = WAIT_MS;
    options.Stream.Purge.Subject = e->subject;
    options.Stream.Purge.Sequence = e->seq;
    const natsStatus status = s->n.js_PurgeStream(s->js, stream_name, &options, &code);
    return (struct arrival){.kind = APPENDED, .tag = e->tag, .known = status == NATS_OK};
}

/* Asks for messages of one scene. If that fails, they are asked for again by whoever waits. */
static void run_aside(struct nats *s, const struct errand *e)
{
    struct aside *side = obb_calloc(1, sizeof *side);
    if (side == NULL)
        return;
    side->nats = s;
    side->tag = e->tag;
    if (ask(s, e->subject, e->seq, on_aside, side, &side->subscription) != NATS_OK) {
        obb_free(side);
        return;
    }
    (void)pthread_mutex_lock(&s->lock);
    side->next = s->asides;
    if (side->next != NULL)
        side->next->previous = side;
    s->asides = side;
    (void)pthread_mutex_unlock(&s->lock);
}

/* Ends what is read beside the log with this tag, or, for 0, with any. Returns false if there is
 * nothing. */
static bool end_aside(struct nats *s, uint64_t tag)
{
    (void)pthread_mutex_lock(&s->lock);
    struct aside *side = s->asides;
    while (side != NULL && (side->is_over || (tag != 0 && side->tag != tag)))
        side = side->next;
    natsSubscription *subscription = side != NULL ? side->subscription : NULL;
    if (side != NULL)
        side->is_over = true;
    (void)pthread_mutex_unlock(&s->lock);
    if (side == NULL)
        return false;
    /* if it cannot be set, the memory goes at the end */
    (void)s->n.natsSubscription_SetOnCompleteCB(subscription, on_aside_over, side);
    s->n.natsSubscription_Destroy(subscription);
    return true;
}

static void *run_errands(void *context)
{
    struct nats *s = context;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        struct errand *e = s->first_errand;
        if (e == NULL) {
            (void)pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        s->first_errand = e->next;
        if (e->next == NULL)
            s->last_errand = &s->first_errand;
        (void)pthread_mutex_unlock(&s->lock);
        if (e->kind == ASIDE || e->kind == END_ASIDE) {
            if (e->kind == ASIDE)
                run_aside(s, e);
            else
                (void)end_aside(s, e->tag);
            obb_budget_free(e);
            (void)pthread_mutex_lock(&s->lock);
            continue;
        }
        const struct arrival answer = e->kind == GET    ? run_get(s, e)
                                      : e->kind == HAS  ? run_has(s, e)
                                      : e->kind == DROP ? run_drop(s, e)
                                                        : run_purge(s, e);
        obb_budget_free(e);
        (void)pthread_mutex_lock(&s->lock);
        /* without memory: whoever asked asks once more */
        if (!hand_over(s, answer) && answer.message != NULL)
            s->n.natsMsg_Destroy(answer.message);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Returns an errand, whose subject is the caller's to write; NULL if nothing can be asked at this
 * moment, or without memory. */
static struct errand *create_errand(struct nats *s, uint64_t tag)
{
    if (!atomic_load(&s->is_ready) || !atomic_load(&s->is_connected))
        return NULL;
    struct errand *e = obb_budget_calloc(s->options.budget, 1, sizeof *e);
    if (e != NULL)
        e->tag = tag;
    return e;
}

static void send_on_errand(struct nats *s, struct errand *e)
{
    (void)pthread_mutex_lock(&s->lock);
    *s->last_errand = e;
    s->last_errand = &e->next;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- The stream ------------------------------------------------------------------------------ */

static bool connected(struct srv_stream *stream)
{
    struct nats *s = self(stream);
    return atomic_load(&s->is_ready) && atomic_load(&s->is_connected);
}

static void resume(struct srv_stream *stream) { srv_bell_ring(self(stream)->bell); }

/* Makes a message to send, whose subject is the caller's to write. Returns NULL if nothing can be
 * sent at this moment, or without memory. */
static struct departure *create_departure(struct nats *s, uint64_t tag, obb_str bytes)
{
    if (!connected(&s->stream))
        return NULL;
    struct departure *d = obb_budget_malloc(s->options.budget, 1, sizeof *d + bytes.length);
    if (d == NULL)
        return NULL;
    d->next = NULL;
    d->tag = tag;
    d->clears = false;
    d->length = bytes.length;
    memcpy(d->bytes, bytes.bytes, bytes.length);
    return d;
}

static void depart(struct nats *s, struct departure *d)
{
    (void)pthread_mutex_lock(&s->lock);
    *s->last_departure = d;
    s->last_departure = &d->next;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
}

static bool append(struct srv_stream *stream, obb_str name, uint64_t tag, obb_str bytes)
{
    struct nats *s = self(stream);
    struct departure *d = create_departure(s, tag, bytes);
    if (d == NULL)
        return false;
    memcpy(d->subject, prefix, sizeof prefix);
    write_token(name, d->subject + strlen(prefix));
    depart(s, d);
    return true;
}

static bool mark(struct srv_stream *stream, uint64_t tag, obb_str bytes, bool clears)
{
    struct nats *s = self(stream);
    struct departure *d = create_departure(s, tag, bytes);
    if (d == NULL)
        return false;
    (void)snprintf(d->subject, sizeof d->subject, "%s%s", prefix, s->mark_token);
    d->clears = clears;
    depart(s, d);
    return true;
}

static bool put(struct srv_stream *stream, obb_str key, uint64_t tag, obb_str bytes)
{
    struct nats *s = self(stream);
    struct departure *d = create_departure(s, tag, bytes);
    if (d == NULL)
        return false;
    (void)snprintf(d->subject, sizeof d->subject, "%s%.*s", piece_prefix, (int)key.length,
                   key.bytes);
    depart(s, d);
    return true;
}

static bool get(struct srv_stream *stream, obb_str key, uint64_t tag)
{
    struct nats *s = self(stream);
    struct errand *e = create_errand(s, tag);
    if (e == NULL)
        return false;
    (void)snprintf(e->subject, sizeof e->subject, "%s%.*s", piece_prefix, (int)key.length,
                   key.bytes);
    e->kind = GET;
    send_on_errand(s, e);
    return true;
}

static bool has(struct srv_stream *stream, uint64_t seq, uint64_t tag)
{
    struct nats *s = self(stream);
    struct errand *e = create_errand(s, tag);
    if (e == NULL)
        return false;
    e->kind = HAS;
    e->seq = seq;
    send_on_errand(s, e);
    return true;
}

static bool removes(struct srv_stream *stream) { return atomic_load(&self(stream)->removes); }

static bool drop(struct srv_stream *stream, obb_str set, uint64_t tag)
{
    struct nats *s = self(stream);
    if (!removes(stream)) {
        (void)pthread_mutex_lock(&s->lock);
        const bool good =
            hand_over(s, (struct arrival){.kind = APPENDED, .tag = tag, .known = true});
        (void)pthread_mutex_unlock(&s->lock);
        return good;
    }
    struct errand *e = create_errand(s, tag);
    if (e == NULL)
        return false;
    (void)snprintf(e->subject, sizeof e->subject, "%s%.*s.>", piece_prefix, (int)set.length,
                   set.bytes);
    e->kind = DROP;
    send_on_errand(s, e);
    return true;
}

static bool purge(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    struct nats *s = self(stream);
    struct errand *e = create_errand(s, tag);
    if (e == NULL)
        return false;
    memcpy(e->subject, prefix, sizeof prefix);
    write_token(name, e->subject + strlen(prefix));
    e->kind = PURGE;
    e->seq = seq;
    send_on_errand(s, e);
    return true;
}

static bool read_aside(struct srv_stream *stream, obb_str name, uint64_t seq, uint64_t tag)
{
    struct nats *s = self(stream);
    struct errand *e = create_errand(s, tag);
    if (e == NULL)
        return false;
    memcpy(e->subject, prefix, sizeof prefix);
    write_token(name, e->subject + strlen(prefix));
    e->kind = ASIDE;
    e->seq = seq;
    send_on_errand(s, e);
    return true;
}

static void unread_aside(struct srv_stream *stream, uint64_t tag)
{
    struct nats *s = self(stream);
    struct errand *e = obb_budget_calloc(s->options.budget, 1, sizeof *e);
    if (e == NULL) /* it goes at the end: what it delivers is passed by */
        return;
    e->tag = tag;
    e->kind = END_ASIDE;
    send_on_errand(s, e);
}

static void rewind_log(struct srv_stream *stream, uint64_t seq)
{
    struct nats *s = self(stream);
    (void)pthread_mutex_lock(&s->lock);
    struct arrival *a = s->first_arrival;
    s->first_arrival = NULL;
    s->last_arrival = &s->first_arrival;
    s->arrived_bytes = 0;
    s->read = s->taken = seq - 1;
    s->left = 0;
    end_reading(s);
    for (struct arrival *next; a != NULL; a = next) {
        next = a->next;
        if (a->kind == CAUGHT_UP) /* told once the messages before it have come again */
            s->told_end = false;
        free_arrival(s, a);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static uint64_t lag_ms(struct srv_stream *stream)
{
    struct nats *s = self(stream);
    (void)pthread_mutex_lock(&s->lock);
    const uint64_t lag = s->taken < s->end ? now_ms() - s->end_ms : 0;
    (void)pthread_mutex_unlock(&s->lock);
    return lag;
}

static bool begin(struct srv_stream *stream, const struct srv_stream_calls *calls)
{
    struct nats *s = self(stream);
    s->calls = *calls;
    void *(*const threads[])(void *) = {keep, run_sender, run_errands};
    pthread_t *const places[] = {&s->keeper, &s->sender, &s->runner};
    size_t count = 0;
    while (count < 3 && pthread_create(places[count], NULL, threads[count], s) == 0)
        count++;
    if (count == 3)
        return true;
    (void)pthread_mutex_lock(&s->lock);
    s->stop = true;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_mutex_unlock(&s->lock);
    while (count > 0)
        (void)pthread_join(*places[--count], NULL);
    return false;
}

static void close_stream(struct srv_stream *stream)
{
    struct nats *s = self(stream);
    (void)pthread_mutex_lock(&s->lock);
    const bool began = !s->stop && s->calls.delivered != NULL;
    s->stop = true;
    (void)pthread_cond_broadcast(&s->wake);
    (void)pthread_cond_broadcast(&s->room);
    (void)pthread_mutex_unlock(&s->lock);
    if (began) {
        (void)pthread_join(s->keeper, NULL);
        (void)pthread_join(s->sender, NULL);
        (void)pthread_join(s->runner, NULL);
    }
    while (end_aside(s, 0))
        ;
    s->n.natsSubscription_Destroy(s->follow);
    s->n.natsSubscription_Destroy(s->acks);
    s->n.jsCtx_Destroy(s->js);
    s->n.natsConnection_Destroy(s->connection);
    s->n.natsOptions_Destroy(s->settings);
    for (struct arrival *a = take(s, true); a != NULL; a = take(s, true)) /* none comes any more */
        free_arrival(s, a);
    (void)s->n.nats_CloseAndWait(0); /* no callback is under way any more */
    for (struct aside *side = s->asides, *next; side != NULL; side = next) {
        next = side->next;
        obb_free(side);
    }
    for (struct departure *d = s->first_departure, *next; d != NULL; d = next) {
        next = d->next;
        obb_budget_free(d);
    }
    for (struct errand *e = s->first_errand, *next; e != NULL; e = next) {
        next = e->next;
        obb_budget_free(e);
    }
    srv_bell_destroy(s->bell);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_cond_destroy(&s->room);
    (void)pthread_mutex_destroy(&s->lock);
    obb_free(s);
}

/* Sets the options of the connection. */
static natsStatus set_options(struct nats *s)
{
    const srv_nats_options *o = &s->options;
    struct srv_nats_library *n = &s->n;
    const char *urls[SRV_NATS_URLS];
    for (size_t i = 0; i < o->url_count; i++)
        urls[i] = o->urls[i];
    natsStatus status = n->natsOptions_Create(&s->settings);
    if (status == NATS_OK)
        status = n->natsOptions_SetServers(s->settings, urls, (int)o->url_count);
    if (status == NATS_OK && o->ca != NULL) {
        status = n->natsOptions_SetSecure(s->settings, true);
        if (status == NATS_OK)
            status = n->natsOptions_LoadCATrustedCertificates(s->settings, o->ca);
    }
    if (status == NATS_OK && o->certificate != NULL)
        status = n->natsOptions_LoadCertificatesChain(s->settings, o->certificate, o->key);
    if (status == NATS_OK && o->credentials != NULL)
        status = n->natsOptions_SetUserCredentialsFromFiles(s->settings, o->credentials, NULL);
    if (status != NATS_OK)
        return status;
    (void)n->natsOptions_SetMaxReconnect(s->settings, -1);
    (void)n->natsOptions_SetReconnectWait(s->settings, 50);
    (void)n->natsOptions_SetReconnectJitter(s->settings, 20, 20);
    (void)n->natsOptions_SetPingInterval(s->settings, 1000);
    (void)n->natsOptions_SetMaxPingsOut(s->settings, 2);
    (void)n->natsOptions_SetTimeout(s->settings, WAIT_MS);
    (void)n->natsOptions_SetSendAsap(s->settings, true);
    (void)n->natsOptions_SetDisconnectedCB(s->settings, on_disconnected, s);
    (void)n->natsOptions_SetReconnectedCB(s->settings, on_reconnected, s);
    return n->natsOptions_SetErrorHandler(s->settings, on_error, s);
}

static bool make_threads_ready(struct nats *s)
{
    pthread_condattr_t monotonic;
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    (void)snprintf(s->inbox, sizeof s->inbox, "_INBOX.obbd-%016llx", (unsigned long long)random);
    (void)snprintf(s->mark_token, sizeof s->mark_token, "%c%016llx", MARK,
                   (unsigned long long)random);
    s->last_arrival = &s->first_arrival;
    s->last_departure = &s->first_departure;
    s->last_answer = &s->first_answer;
    s->last_errand = &s->first_errand;
    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    const bool good = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
                      pthread_mutex_init(&s->lock, NULL) == 0 &&
                      pthread_cond_init(&s->wake, &monotonic) == 0 &&
                      pthread_cond_init(&s->room, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    return good && srv_bell_create(s->options.loop, on_bell, s, &s->bell);
}

bool srv_nats_open(const srv_nats_options *options, struct srv_stream **out, char *error,
                   size_t error_size)
{
    struct nats *s = obb_calloc(1, sizeof *s);
    (void)snprintf(error, error_size, "there is not enough memory");
    if (s == NULL)
        return false;
    s->stream = (struct srv_stream){.begin = begin,
                                    .append = append,
                                    .mark = mark,
                                    .put = put,
                                    .get = get,
                                    .has = has,
                                    .removes = removes,
                                    .drop = drop,
                                    .purge = purge,
                                    .rewind = rewind_log,
                                    .read = read_aside,
                                    .unread = unread_aside,
                                    .resume = resume,
                                    .connected = connected,
                                    .lag_ms = lag_ms,
                                    .close = close_stream};
    s->options = *options;
    if (!srv_nats_library_open(&s->n, error, error_size)) {
        obb_free(s);
        return false;
    }
    const natsStatus status = set_options(s);
    if (status == NATS_OK && make_threads_ready(s)) {
        *out = &s->stream;
        return true;
    }
    if (status != NATS_OK)
        (void)snprintf(error, error_size, "the options of the connection: %s",
                       s->n.natsStatus_GetText(status));
    s->n.natsOptions_Destroy(s->settings);
    obb_free(s);
    return false;
}
