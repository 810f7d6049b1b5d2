#include "server/base/config.h"

#include "core/obb.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { LIST, HOSTS, ORIGINS, COUNT, SIZE, NUMBER, FLAG, MODE, CHOICE, SYNC, TEXT };

struct option {
    enum kind kind;
    const char *flag;
    size_t offset; /* of the field in srv_config */
    const char *fallback;
    double low, high;
    const char *argument, *help;
    bool command;
};

static const struct option options[] = {
#define SRV_OPTION(kind, flag, field, fallback, low, high, argument, help) \
    {kind, flag, offsetof(srv_config, field), fallback, low, high, argument, help, false},
#define SRV_COMMAND(kind, flag, field, argument, help) \
    {kind, flag, offsetof(srv_config, field), "", 0, 0, argument, help, true},
#include "server/base/config.def"
#undef SRV_COMMAND
#undef SRV_OPTION
};
enum { OPTIONS = sizeof options / sizeof options[0] };

static bool is_list(const struct option *option)
{
    return option->kind == LIST || option->kind == HOSTS || option->kind == ORIGINS;
}

/* ---- One value ------------------------------------------------------------------------------- */

/* The reason why a value was refused. The text continues a sentence that begins with the option's
 * name. */
struct fault {
    char text[200];
};

static bool whole(const char *text, const char **out_end, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    *out = value;
    *out_end = end;
    return true;
}

static bool read_count(const struct option *option, const char *text, void *field,
                       struct fault *fault)
{
    uint64_t value;
    const char *end;
    if (!whole(text, &end, &value) || *end != '\0' || (double)value < option->low ||
        (double)value > option->high) {
        (void)snprintf(fault->text, sizeof fault->text,
                       "\"%.40s\" is not a whole number from %.0f to %.0f", text, option->low,
                       option->high);
        return false;
    }
    *(uint64_t *)field = value;
    return true;
}

static bool read_sync(const struct option *option, const char *text, void *field,
                      struct fault *fault)
{
    uint64_t value = 0;
    const char *end = "";
    const bool at_commit = strcmp(text, "commit") == 0;
    if (!at_commit && (!whole(text, &end, &value) || *end != '\0' || (double)value < option->low ||
                       (double)value > option->high)) {
        (void)snprintf(fault->text, sizeof fault->text,
                       "\"%.40s\" is neither the word commit nor milliseconds from %.0f to %.0f",
                       text, option->low, option->high);
        return false;
    }
    *(uint64_t *)field = value;
    return true;
}

static bool read_size(const struct option *option, const char *text, void *field,
                      struct fault *fault)
{
    static const struct {
        const char *suffix;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    uint64_t value;
    const char *end;
    if (whole(text, &end, &value))
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strcmp(end, units[i].suffix) == 0) {
                const double bytes = (double)value * (double)(1u << units[i].shift);
                if (bytes < option->low || bytes > option->high)
                    break;
                *(uint64_t *)field = value << units[i].shift;
                return true;
            }
    (void)snprintf(fault->text, sizeof fault->text,
                   "\"%.40s\" is not a size from %.0f to %.0f bytes (KiB, MiB and GiB may follow)",
                   text, option->low, option->high);
    return false;
}

static bool read_number(const struct option *option, const char *text, void *field,
                        struct fault *fault)
{
    char *end;
    const double value = strtod(text, &end);
    /* strtod takes words, white space and hexadecimal numbers, too */
    if (!isdigit((unsigned char)text[0]) || strpbrk(text, "xX") != NULL || *end != '\0' ||
        value < option->low || value > option->high) {
        (void)snprintf(fault->text, sizeof fault->text, "\"%.40s\" is not a number from %g to %g",
                       text, option->low, option->high);
        return false;
    }
    *(double *)field = value;
    return true;
}

/* Returns the index of a word among those of ARGUMENT, or -1. */
static int index_of(const struct option *option, const char *text)
{
    const size_t length = strlen(text);
    int index = 0;
    for (const char *word = option->argument; word != NULL; index++) {
        const char *bar = strchr(word, '|');
        const size_t size = bar != NULL ? (size_t)(bar - word) : strlen(word);
        if (size == length && memcmp(word, text, length) == 0)
            return index;
        word = bar != NULL ? bar + 1 : NULL;
    }
    return -1;
}

static bool read_choice(const struct option *option, const char *text, void *field,
                        struct fault *fault)
{
    const int index = index_of(option, text);
    if (index >= 0) {
        *(int *)field = index;
        return true;
    }
    (void)snprintf(fault->text, sizeof fault->text, "\"%.40s\" is not one of %s", text,
                   option->argument);
    return false;
}

/* Returns whether a Host field may hold the text in front of the port. */
static bool is_host(const char *text, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    char v6[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (length > 2 && text[0] == '[' && text[length - 1] == ']' && length - 2 < sizeof v6) {
        memcpy(v6, text + 1, length - 2);
        v6[length - 2] = '\0';
        return inet_pton(AF_INET6, v6, &address) == 1;
    }
    return length > 0 && strspn(text, plain) >= length;
}

/* Returns whether browsers send the text in an Origin field (RFC 6454, 6.2): in lower case, and
 * with a port only if it is not the scheme's own. `null` is refused: pages of any site can send it
 * from a sandboxed frame, so an operator who listed it would let all of them write. */
static bool is_origin(const char *text)
{
    static const char scheme[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
    const size_t length = strspn(text, scheme);
    if (!islower((unsigned char)text[0]) || strncmp(text + length, "://", 3) != 0 ||
        strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL)
        return false;
    const char *host = text + length + 3;
    const size_t host_length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (host_length > strlen(host) || !is_host(host, host_length))
        return false;
    const char *colon = host + host_length, *end;
    if (*colon == '\0')
        return true;
    uint64_t port;
    if (*colon != ':' || colon[1] == '0' || !whole(colon + 1, &end, &port) || *end != '\0' ||
        port > 65535)
        return false;
    return !(port == 80 && strncmp(text, "http:", 5) == 0) &&
           !(port == 443 && strncmp(text, "https:", 6) == 0);
}

static bool read_list(const struct option *option, const char *text, void *field,
                      struct fault *fault)
{
    srv_list *list = field;
    if (text[0] == '\0') {
        (void)snprintf(fault->text, sizeof fault->text, "needs a value");
        return false;
    }
    if (option->kind == HOSTS && !is_host(text, strlen(text))) {
        (void)snprintf(
            fault->text, sizeof fault->text,
            "\"%.40s\" is not a name of a host, without port, like obbd.example or [::1]", text);
        return false;
    }
    if (option->kind == ORIGINS && strcmp(text, "*") != 0 && !is_origin(text)) {
        (void)snprintf(fault->text, sizeof fault->text,
                       "\"%.40s\" is neither * nor scheme://host[:port] as browsers write it: in "
                       "lower case, without path, final slash or the scheme's own port",
                       text);
        return false;
    }
    const char **items = obb_realloc(list->items, list->count + 1, sizeof *items);
    if (items == NULL) {
        (void)snprintf(fault->text, sizeof fault->text, "there is not enough memory");
        return false;
    }
    list->items = items;
    items[list->count++] = text;
    return true;
}

static bool read_text(const char *text, void *field, struct fault *fault)
{
    if (text[0] == '\0') {
        (void)snprintf(fault->text, sizeof fault->text, "needs a value");
        return false;
    }
    *(const char **)field = text;
    return true;
}

static bool read_flag(const char *text, void *field, struct fault *fault)
{
    if (strcmp(text, "1") != 0 && strcmp(text, "0") != 0) {
        (void)snprintf(fault->text, sizeof fault->text, "\"%.40s\" is neither 0 nor 1", text);
        return false;
    }
    *(bool *)field = text[0] == '1';
    return true;
}

static bool read_mode(const struct option *option, const char *text, void *field,
                      struct fault *fault)
{
    const bool digit = strcmp(text, "0") == 0 || strcmp(text, "1") == 0;
    const int index = digit ? text[0] - '0' - 2 : index_of(option, text);
    if (digit || index >= 0) {
        *(int *)field = index + 2;
        return true;
    }
    (void)snprintf(fault->text, sizeof fault->text, "\"%.40s\" is none of 0, 1, %s", text,
                   option->argument);
    return false;
}

static bool read_value(const struct option *option, const char *text, srv_config *config,
                       struct fault *fault)
{
    void *field = (char *)config + option->offset;
    switch (option->kind) {
    case LIST:
    case HOSTS:
    case ORIGINS:
        return read_list(option, text, field, fault);
    case COUNT:
        return read_count(option, text, field, fault);
    case SIZE:
        return read_size(option, text, field, fault);
    case NUMBER:
        return read_number(option, text, field, fault);
    case FLAG:
        return read_flag(text, field, fault);
    case MODE:
        return read_mode(option, text, field, fault);
    case CHOICE:
        return read_choice(option, text, field, fault);
    case SYNC:
        return read_sync(option, text, field, fault);
    case TEXT:
        return read_text(text, field, fault);
    }
    assert(0);
    return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

enum {
    PREFIX = sizeof "OBBD_" - 1,
    VARIABLE = 64 /* bytes of the longest variable */
};

static void variable_of(const struct option *option, char out[static VARIABLE])
{
    size_t n = (size_t)snprintf(out, VARIABLE, "OBBD_");
    for (const char *c = option->flag; *c != '\0' && n + 1 < VARIABLE; c++)
        out[n++] = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
    out[n] = '\0';
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Returns the number of letters to insert, delete or replace (Levenshtein's distance) between a
 * name as it was given and a flag. Ignores case, and takes _ for -. */
static size_t distance(const char *given, size_t length, const char *flag)
{
    size_t row[VARIABLE]; /* from the given letters so far to each beginning of the flag */
    const size_t flag_length = least(strlen(flag), VARIABLE - 1);
    for (size_t j = 0; j <= flag_length; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        const char letter = (char)(given[i] == '_' ? '-' : tolower((unsigned char)given[i]));
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= flag_length; j++) {
            const size_t replaced = diagonal + (letter != flag[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[flag_length];
}

/* Returns the option whose name is nearest to a name that is none. commands: whether options that
 * stand only on the command line count. */
static const struct option *nearest(const char *given, size_t length, bool commands)
{
    const struct option *best = &options[0];
    size_t best_distance = SIZE_MAX;
    for (size_t o = 0; o < OPTIONS; o++) {
        const size_t d = distance(given, length, options[o].flag);
        if (d < best_distance && (commands || !options[o].command)) {
            best_distance = d;
            best = &options[o];
        }
    }
    return best;
}

/* ---- Sources --------------------------------------------------------------------------------- */

enum { QUOTED = 60 }; /* letters of a name that is none: further ones are not quoted */

static bool read_arguments(int argc, char **argv, srv_config *config, bool seen[static OPTIONS],
                           char *error, size_t error_size)
{
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            config->help = true;
            continue;
        }
        if (strcmp(argument, "--version") == 0) {
            config->version = true;
            continue;
        }
        const char *equals = strchr(argument, '=');
        const size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
        size_t o = 0;
        while (o < OPTIONS &&
               !(length == strlen(options[o].flag) + 2 && memcmp(argument, "--", 2) == 0 &&
                 memcmp(argument + 2, options[o].flag, length - 2) == 0))
            o++;
        if (o == OPTIONS) {
            const size_t quoted = least(length, QUOTED), dashes = strspn(argument, "-");
            const size_t skipped = least(dashes, quoted);
            (void)snprintf(error, error_size,
                           "unknown option \"%.*s\"; the nearest is --%s (see --help)", (int)quoted,
                           argument, nearest(argument + skipped, quoted - skipped, true)->flag);
            return false;
        }
        const struct option *option = &options[o];
        if (seen[o] && !is_list(option)) {
            (void)snprintf(error, error_size, "--%s is given twice", option->flag);
            return false;
        }
        seen[o] = true;
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (option->kind == FLAG) {
            if (value != NULL) {
                (void)snprintf(error, error_size, "--%s takes no value", option->flag);
                return false;
            }
            value = "1";
        } else if (value == NULL && option->kind == MODE) {
            value = "1";
        } else if (value == NULL) {
            if (i + 1 == argc) {
                (void)snprintf(error, error_size, "--%s needs a value", option->flag);
                return false;
            }
            value = argv[++i];
        }
        struct fault fault;
        if (!read_value(option, value, config, &fault)) {
            (void)snprintf(error, error_size, "--%s: %s", option->flag, fault.text);
            return false;
        }
    }
    return true;
}

/* Reads the values of a list variable, split by commas. The texts are kept in config->split. */
static bool read_variable_list(const struct option *option, const char *value, srv_config *config,
                               char **room, struct fault *fault)
{
    const size_t size = strlen(value) + 1;
    char *text = memcpy(*room, value, size);
    *room += size;
    for (char *item = text; item != NULL;) {
        char *comma = strchr(item, ',');
        if (comma != NULL)
            *comma = '\0';
        if (!read_value(option, item, config, fault))
            return false;
        item = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

/* Returns the option of a variable, whose name has `length` letters; NULL: none. */
static const struct option *option_of(const char *variable, size_t length)
{
    char name[VARIABLE];
    for (size_t o = 0; o < OPTIONS; o++) {
        variable_of(&options[o], name);
        if (strlen(name) == length && memcmp(name, variable, length) == 0)
            return &options[o];
    }
    return NULL;
}

/* Reads one variable, "OBBD_NAME=value". If the command line has said the option, only checks the
 * name. room: for the texts of a list. */
static bool read_variable(const char *variable, srv_config *config, char **room,
                          bool seen[static OPTIONS], char *error, size_t error_size)
{
    const size_t length = strcspn(variable, "=");
    const char *value = variable + length + (variable[length] == '=');
    const struct option *option = option_of(variable, length);
    if (option == NULL) {
        const size_t quoted = least(length, QUOTED);
        char name[VARIABLE];
        variable_of(nearest(variable + PREFIX, quoted - PREFIX, false), name);
        (void)snprintf(error, error_size,
                       "unknown variable \"%.*s\"; the nearest is %s (see --help)", (int)quoted,
                       variable, name);
        return false;
    }
    if (option->command) {
        (void)snprintf(error, error_size, "%.*s: --%s stands only on the command line", (int)length,
                       variable, option->flag);
        return false;
    }
    bool *option_seen = &seen[option - options];
    if (*option_seen || value[0] == '\0')
        return true;
    *option_seen = true;
    struct fault fault;
    if (is_list(option) ? read_variable_list(option, value, config, room, &fault)
                        : read_value(option, value, config, &fault))
        return true;
    (void)snprintf(error, error_size, "%.*s: %s", (int)length, variable, fault.text);
    return false;
}

/* Is the variable one of the daemon's? Those of the clients begin like them: a program that has
 * them may start the daemon. */
static bool is_ours(const char *variable)
{
    static const char *const of_clients[] = {
        "OBBD_URL=", "OBBD_TOKEN=", "OBBD_BIN=", "OBBD_DEBUG="};
    for (size_t i = 0; i < sizeof of_clients / sizeof of_clients[0]; i++)
        if (strncmp(variable, of_clients[i], strlen(of_clients[i])) == 0)
            return false;
    return strncmp(variable, "OBBD_", PREFIX) == 0;
}

static bool read_environment(char **environment, srv_config *config, bool seen[static OPTIONS],
                             char *error, size_t error_size)
{
    size_t size = 1;
    for (char **variable = environment; *variable != NULL; variable++)
        if (is_ours(*variable))
            size += strlen(*variable); /* more than its value and a NUL */
    config->split = obb_malloc(size, 1);
    if (config->split == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    char *room = config->split;
    for (char **variable = environment; *variable != NULL; variable++)
        if (is_ours(*variable) && !read_variable(*variable, config, &room, seen, error, error_size))
            return false;
    return true;
}

/* Checks the options of --journal with each other. Never quotes a URL that may hold a password. */
static bool journal_fits(const srv_config *config, char *error, size_t error_size)
{
    const size_t count = config->journal.count;
    const bool rest = config->journal_credentials != NULL || config->journal_ca != NULL ||
                      config->journal_cert != NULL || config->journal_key != NULL;
    enum { MOST_URLS = 16 };
    if (count == 0 && !rest)
        return true;
    if (count == 0)
        (void)snprintf(
            error, error_size,
            "--journal-credentials, -ca, -cert and -key are said of --journal, and there "
            "is none");
    else if (config->data != NULL)
        (void)snprintf(error, error_size,
                       "--data and --journal: scenes are kept either in a folder or in a log");
    else if (config->demo || config->replay != NULL)
        (void)snprintf(error, error_size,
                       "--journal: each daemon would make the scene of --demo or --replay anew");
    else if (count > MOST_URLS)
        (void)snprintf(error, error_size, "--journal: found %zu URLs; at most %d", count,
                       (int)MOST_URLS);
    else if ((config->journal_cert == NULL) != (config->journal_key == NULL))
        (void)snprintf(error, error_size, "--journal-cert and --journal-key go together");
    else
        for (size_t i = 0; i <= count; i++) {
            const char *url = i < count ? config->journal.items[i] : NULL;
            if (url == NULL)
                return true;
            if (strchr(url, '@') != NULL) {
                (void)snprintf(error, error_size,
                               "--journal: a URL must not hold a user or a password; use "
                               "--journal-credentials");
                break;
            }
            if (strncmp(url, "nats://", 7) != 0 && strncmp(url, "tls://", 6) != 0) {
                (void)snprintf(error, error_size,
                               "--journal: found %s; a URL begins with nats:// or tls://", url);
                break;
            }
        }
    return false;
}

/* Returns the first option of the list that was given and does nothing without --journal, or
 * NULL. */
static const char *idle_journal_option(const bool seen[static OPTIONS])
{
    static const char *const flags[] = {"journal-replicas", "journal-keep", "journal-idle"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        for (size_t o = 0; o < OPTIONS; o++)
            if (seen[o] && strcmp(options[o].flag, flags[i]) == 0)
                return flags[i];
    return NULL;
}

/* Returns how many things are asked for that are done instead of serving. */
static int count_commands(const srv_config *config)
{
    return config->probe + (config->verify != NULL) + (config->check_data != NULL) +
           (config->backup != NULL) + (config->new_token != NULL);
}

bool srv_config_read(int argc, char **argv, char **environment, srv_config *out, char *error,
                     size_t error_size)
{
    bool seen[OPTIONS] = {false};
    *out = (srv_config){0};
    if (!read_arguments(argc, argv, out, seen, error, error_size))
        goto fail;
    if (out->help || out->version)
        return true;
    if (out->new_token == NULL && (out->scopes != NULL || out->scenes != NULL)) {
        (void)snprintf(error, error_size, "--%s is said of a --new-token, and there is none",
                       out->scopes != NULL ? "scopes" : "scenes");
        goto fail;
    }
    if (count_commands(out) > 1) {
        (void)snprintf(error, error_size,
                       "--probe, --verify, --check-data, --backup and --new-token: one at a time");
        goto fail;
    }
    if (!read_environment(environment, out, seen, error, error_size))
        goto fail;
    for (size_t o = 0; o < OPTIONS; o++) {
        struct fault fault;
        if (seen[o] || options[o].fallback[0] == '\0')
            continue;
        if (!read_value(&options[o], options[o].fallback, out, &fault)) {
            (void)snprintf(error, error_size, "--%s: %s", options[o].flag, fault.text);
            goto fail;
        }
    }
    if (out->replay == NULL && out->replay_speed != 1.0) {
        (void)snprintf(error, error_size,
                       "--replay-speed is said of a --replay, and there is none");
        goto fail;
    }
    if (out->data == NULL && out->backup != NULL) {
        (void)snprintf(error, error_size, "--backup is said of --data, and there is none");
        goto fail;
    }
    if (out->data == NULL && out->sync_ms != 0) {
        (void)snprintf(error, error_size, "--sync is said of --data, and there is none");
        goto fail;
    }
    const char *idle = out->journal.count == 0 ? idle_journal_option(seen) : NULL;
    if (idle != NULL) {
        (void)snprintf(error, error_size, "--%s is said of --journal, and there is none", idle);
        goto fail;
    }
    if (out->token_file != NULL && out->allow_anonymous) {
        (void)snprintf(error, error_size,
                       "--token-file and --allow-anonymous: either tokens say who may do what, or "
                       "everybody may do everything");
        goto fail;
    }
    if (!journal_fits(out, error, error_size))
        goto fail;
    return true;

fail:
    srv_config_fini(out);
    return false;
}

void srv_config_fini(srv_config *config)
{
    for (size_t o = 0; o < OPTIONS; o++)
        if (is_list(&options[o]))
            obb_free(((srv_list *)(void *)((char *)config + options[o].offset))->items);
    obb_free(config->split);
    *config = (srv_config){0};
}

static void help_line(FILE *out, const struct option *option)
{
    char left[64], name[VARIABLE];
    if (option->kind == MODE)
        (void)snprintf(left, sizeof left, "--%s [=%s]", option->flag, option->argument);
    else
        (void)snprintf(left, sizeof left, "--%s%s%s", option->flag,
                       option->argument[0] != '\0' ? " " : "", option->argument);
    (void)fprintf(out, "  %-36s %s", left, option->help);
    if (option->fallback[0] != '\0')
        (void)fprintf(out, " (%s)", option->fallback);
    (void)fputc('\n', out);
    variable_of(option, name);
    if (!option->command)
        (void)fprintf(out, "  %-36s %s\n", "", name);
}

void srv_config_help(FILE *out)
{
    (void)fputs("usage: obbd [options]\n\n"
                "A network service that answers collision queries on oriented boxes.\n\n",
                out);
    for (size_t o = 0; o < OPTIONS; o++)
        if (!options[o].command)
            help_line(out, &options[o]);
    (void)fputs("\nInstead of serving:\n\n", out);
    for (size_t o = 0; o < OPTIONS; o++)
        if (options[o].command)
            help_line(out, &options[o]);
    (void)fprintf(out, "  %-36s %s\n  %-36s %s\n\n", "--help", "this text", "--version",
                  "version of obbd and of what it is made of");
    (void)fputs("Each option of the first list may be an environment variable instead (0 or 1 for "
                "those without "
                "argument, lists split by commas); the command line wins.\n",
                out);
}
