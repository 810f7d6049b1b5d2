#include "server/base/config.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

static char error[512];

/* environment: texts "NAME=value", then NULL. */
static bool read_config(const char *const *arguments, const char *const *environment,
                        srv_config *out)
{
    static const char *const nothing[] = {NULL};
    char *argv[32] = {(char *)(uintptr_t) "obbd"};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
    error[0] = '\0';
    return srv_config_read(argc, argv,
                           (char **)(uintptr_t)(environment != NULL ? environment : nothing), out,
                           error, sizeof error);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING   ((const char *const[]){NULL})

START_TEST(defaults_are_those_of_the_contract)
{
    srv_config config;
    ck_assert(read_config(NOTHING, NULL, &config));
    ck_assert_uint_eq(config.listen.count, 1);
    ck_assert_str_eq(config.listen.items[0], "127.0.0.1:7480");
    ck_assert_uint_eq(config.workers, 0); /* as many as suit the machine */
    ck_assert_int_eq(config.demo, SRV_DEMO_OFF);
    ck_assert(!config.allow_anonymous);
    ck_assert_uint_eq(config.scene_limit, 1000);
    ck_assert_uint_eq(config.box_limit, 2000000);
    ck_assert_uint_eq(config.body_limit, 64u << 20);
    ck_assert_uint_eq(config.memory_limit, 512u << 20);
    ck_assert_uint_eq(config.connection_limit, 4096);
    ck_assert_uint_eq(config.queue_limit, 1024);
    ck_assert_uint_eq(config.request_timeout_ms, 10000);
    ck_assert_double_eq(config.history_span, 500);
    ck_assert_uint_eq(config.history_commits, 64);
    ck_assert_double_eq(config.history_max, 60000);
    ck_assert_uint_eq(config.history_commits_max, 4096);
    ck_assert_uint_eq(config.hosts.count, 0);
    ck_assert_int_eq(config.log_level, 1);
    ck_assert_int_eq(config.log_format, 0);
    ck_assert_int_eq(config.kernel, 0);
    srv_config_fini(&config);
}
END_TEST

START_TEST(where_and_how_scenes_are_kept_is_an_option)
{
    srv_config config;
    ck_assert(read_config(NOTHING, NULL, &config));
    ck_assert_ptr_null(config.data);
    srv_config_fini(&config);
    ck_assert(read_config(LIST("--data", "d"), NULL, &config));
    ck_assert_str_eq(config.data, "d");
    ck_assert_uint_eq(config.sync_ms, 0);
    srv_config_fini(&config);
    ck_assert(read_config(LIST("--sync", "commit"), LIST("OBBD_DATA=e"), &config));
    ck_assert_str_eq(config.data, "e");
    srv_config_fini(&config);
    ck_assert(read_config(LIST("--data", "d"), LIST("OBBD_SYNC=60000"), &config));
    ck_assert_uint_eq(config.sync_ms, 60000);
    srv_config_fini(&config);
    ck_assert(!read_config(NOTHING, LIST("OBBD_SYNC=5"), &config));
    ck_assert_str_eq(error, "--sync is said of --data, and there is none");
    ck_assert(!read_config(LIST("--backup", "f"), NULL, &config));
    ck_assert_str_eq(error, "--backup is said of --data, and there is none");
    static const char *const bad[] = {"0", "60001", "-1", "Commit", "5ms", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert(!read_config(LIST("--data", "d", "--sync", bad[i]), NULL, &config));
        ck_assert_ptr_nonnull(
            strstr(error, " is neither the word commit nor milliseconds from 1 to 60000"));
    }
}
END_TEST

START_TEST(the_log_of_many_daemons_is_found_by_urls_without_passwords)
{
    srv_config config;
    ck_assert(read_config(LIST("--journal", "nats://a:4222", "--journal", "tls://b"),
                          LIST("OBBD_JOURNAL_CA=ca", "OBBD_JOURNAL_REPLICAS=1"), &config));
    ck_assert_uint_eq(config.journal.count, 2);
    ck_assert_str_eq(config.journal.items[1], "tls://b");
    ck_assert_uint_eq(config.journal_replicas, 1);
    ck_assert_str_eq(config.journal_ca, "ca");
    srv_config_fini(&config);
    ck_assert(read_config(NOTHING, LIST("OBBD_JOURNAL=nats://a,nats://b,nats://c"), &config));
    ck_assert_uint_eq(config.journal.count, 3);
    ck_assert_uint_eq(config.journal_replicas, 3);
    srv_config_fini(&config);
    ck_assert(!read_config(LIST("--journal", "nats://me:secret@a"), NULL, &config));
    ck_assert_str_eq(error, "--journal: a URL must not hold a user or a password; use "
                            "--journal-credentials");
    ck_assert(!read_config(LIST("--journal", "http://a"), NULL, &config));
    ck_assert_str_eq(error, "--journal: found http://a; a URL begins with nats:// or tls://");
    ck_assert(!read_config(LIST("--journal", "nats://a", "--data", "d"), NULL, &config));
    ck_assert_str_eq(error, "--data and --journal: scenes are kept either in a folder or in a log");
    ck_assert(!read_config(LIST("--journal", "nats://a", "--demo"), NULL, &config));
    ck_assert_ptr_nonnull(strstr(error, "--journal: each daemon would make"));
    ck_assert(!read_config(LIST("--journal", "nats://a", "--journal-key", "k"), NULL, &config));
    ck_assert_str_eq(error, "--journal-cert and --journal-key go together");
    ck_assert(!read_config(LIST("--journal-ca", "f"), NULL, &config));
    ck_assert_ptr_nonnull(strstr(error, "are said of --journal, and there is none"));
    ck_assert(
        !read_config(LIST("--journal", "nats://a", "--journal-replicas", "6"), NULL, &config));
}
END_TEST

START_TEST(the_command_line_wins_over_the_environment_and_that_over_the_default)
{
    srv_config config;
    ck_assert(read_config(LIST("--workers", "3", "--listen=[::1]:0", "--listen", "unix:/tmp/a",
                               "--body-limit=2MiB", "--demo", "--log-format", "json"),
                          LIST("OBBD_WORKERS=9", "OBBD_LISTEN=1.2.3.4:5",
                               "OBBD_HOST=a.example,b.example", "OBBD_HISTORY=12.5",
                               "OBBD_LOG_LEVEL=debug", "OBBD_QUEUE_LIMIT=", "OBBD_DEMO=0"),
                          &config));
    ck_assert_uint_eq(config.workers, 3);
    ck_assert_uint_eq(config.listen.count, 2);
    ck_assert_str_eq(config.listen.items[0], "[::1]:0");
    ck_assert_str_eq(config.listen.items[1], "unix:/tmp/a");
    ck_assert_uint_eq(config.body_limit, 2u << 20);
    ck_assert_int_eq(config.demo, SRV_DEMO_MOVES);
    ck_assert_int_eq(config.log_format, 1);
    ck_assert_uint_eq(config.hosts.count, 2);
    ck_assert_str_eq(config.hosts.items[0], "a.example");
    ck_assert_str_eq(config.hosts.items[1], "b.example");
    ck_assert_double_eq(config.history_span, 12.5);
    ck_assert_int_eq(config.log_level, 0);
    ck_assert_uint_eq(config.queue_limit, 1024); /* an empty variable is none */
    srv_config_fini(&config);
}
END_TEST

START_TEST(the_demo_moves_stands_still_or_is_not_there)
{
    static const struct {
        const char *argument, *variable;
        int demo;
    } rows[] = {{NULL, "OBBD_DEMO=0", SRV_DEMO_OFF},
                {NULL, "OBBD_DEMO=1", SRV_DEMO_MOVES},
                {NULL, "OBBD_DEMO=still", SRV_DEMO_STILL},
                {"--demo", "OBBD_DEMO=still", SRV_DEMO_MOVES},
                {"--demo=1", "OBBD_DEMO=0", SRV_DEMO_MOVES},
                {"--demo=0", "OBBD_DEMO=1", SRV_DEMO_OFF},
                {"--demo=still", "OBBD_DEMO=1", SRV_DEMO_STILL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        srv_config config;
        ck_assert_msg(read_config(LIST(rows[i].argument), LIST(rows[i].variable), &config), "%s",
                      error);
        ck_assert_msg(config.demo == rows[i].demo, "row %zu: %d", i, config.demo);
        srv_config_fini(&config);
    }
}
END_TEST

START_TEST(variables_of_others_are_theirs)
{
    srv_config config;
    ck_assert_msg(read_config(NOTHING,
                              LIST("OBBD=/usr/bin/obbd", "MY_OBBD_WORKERS=x", "obbd_workers=x",
                                   "OBBDWORKERS=x", "PATH=/bin", "OBBD_URL=http://h:1",
                                   "OBBD_TOKEN=x", "OBBD_BIN=/bin/x", "OBBD_DEBUG=1"),
                              &config),
                  "%s", error);
    ck_assert_uint_eq(config.workers, 0);
    srv_config_fini(&config);
}
END_TEST

START_TEST(what_is_wrong_is_said_in_one_line)
{
    static const struct {
        const char *arguments[4];
        const char *environment[2];
        const char *says;
    } wrong[] = {
        {{"--bogus"}, {NULL}, "unknown option \"--bogus\""},
        {{"--boxlimit"}, {NULL}, "unknown option \"--boxlimit\"; the nearest is --box-limit"},
        {{"--porbe"}, {NULL}, "unknown option \"--porbe\"; the nearest is --probe"},
        {{"-workers"}, {NULL}, "unknown option \"-workers\"; the nearest is --workers"},
        {{NULL},
         {"OBBD_BOXLIMIT=10"},
         "unknown variable \"OBBD_BOXLIMIT\"; the nearest is OBBD_BOX_LIMIT"},
        {{"--box-limit=5"}, {"OBBD_BOX_LIMITS=10"}, "unknown variable \"OBBD_BOX_LIMITS\""},
        {{NULL}, {"OBBD_=1"}, "unknown variable \"OBBD_\""},
        {{NULL}, {"OBBD_URLS=x"}, "unknown variable \"OBBD_URLS\""},
        {{NULL}, {"OBBD_TOKENS=x"}, "unknown variable \"OBBD_TOKENS\""},
        {{NULL},
         {"OBBD_workers=1"},
         "unknown variable \"OBBD_workers\"; the nearest is OBBD_WORKERS"},
        {{NULL}, {"OBBD_BOGUS="}, "unknown variable \"OBBD_BOGUS\""},
        {{NULL},
         {"OBBD_PORT_7480_TCP=tcp://10.0.0.1:7480"},
         "unknown variable \"OBBD_PORT_7480_TCP\""},
        {{NULL}, {"OBBD_PROBE=1"}, "OBBD_PROBE: --probe stands only on the command line"},
        {{NULL},
         {"OBBD_"
          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=1"},
         "unknown variable \"OBBD_AAAA"},
        {{"--Workers", "1"}, {NULL}, "unknown option \"--Workers\""},
        {{"serve"}, {NULL}, "unknown option \"serve\""},
        {{"-"}, {NULL}, "unknown option \"-\""},
        {{""}, {NULL}, "unknown option \"\""},
        {{"--work=1"}, {NULL}, "unknown option \"--work\""},
        {{"--workers"}, {NULL}, "--workers needs a value"},
        {{"--workers", "0"}, {NULL}, "--workers: \"0\" is not a whole number from 1 to 1024"},
        {{"--workers", "1025"}, {NULL}, "--workers: \"1025\""},
        {{"--workers", "2 "}, {NULL}, "--workers: \"2 \""},
        {{"--workers", "-1"}, {NULL}, "--workers: \"-1\""},
        {{"--workers", "+1"}, {NULL}, "--workers: \"+1\""},
        {{"--workers", "1e1"}, {NULL}, "--workers: \"1e1\""},
        {{"--workers", "18446744073709551617"}, {NULL}, "--workers: \"18446744073709551617\""},
        {{"--workers="}, {NULL}, "--workers: \"\""},
        {{"--workers=1", "--workers=2"}, {NULL}, "--workers is given twice"},
        {{"--probe=1"}, {NULL}, "--probe takes no value"},
        {{"--demo=stil"}, {NULL}, "--demo: \"stil\" is none of 0, 1, still"},
        {{"--demo", "still"}, {NULL}, "unknown option \"still\""},
        {{"--demo", "--demo=still"}, {NULL}, "--demo is given twice"},
        {{"--body-limit", "1KB"}, {NULL}, "--body-limit: \"1KB\" is not a size"},
        {{"--body-limit", "1000"}, {NULL}, "--body-limit: \"1000\""},
        {{"--body-limit", "99999999999GiB"}, {NULL}, "--body-limit: \"99999999999GiB\""},
        {{"--history", "nan"}, {NULL}, "--history: \"nan\""},
        {{"--history", "-1"}, {NULL}, "--history: \"-1\""},
        {{"--history", " 1"}, {NULL}, "--history: \" 1\""},
        {{"--history", "0x10"}, {NULL}, "--history: \"0x10\" is not a number from 0 to 1e+15"},
        {{"--host", "a b"}, {NULL}, "--host: \"a b\" is not a name of a host"},
        {{NULL}, {"OBBD_HOST=a,a/b"}, "OBBD_HOST: \"a/b\" is not a name of a host"},
        {{"--cors-origin", "https://editor.example/"},
         {NULL},
         "--cors-origin: \"https://editor.example/\" is neither * nor scheme://host[:port]"},
        {{"--scopes", "read"}, {NULL}, "--scopes is said of a --new-token"},
        {{"--scenes", "x"}, {NULL}, "--scenes is said of a --new-token"},
        {{"--probe", "--scenes", "x"}, {NULL}, "--scenes is said of a --new-token"},
        {{"--journal-replicas", "3"}, {NULL}, "--journal-replicas is said of --journal, and there"},
        {{"--journal-keep=9", "--data=d"},
         {NULL},
         "--journal-keep is said of --journal, and there"},
        {{NULL},
         {"OBBD_JOURNAL_IDLE=600"},
         "--journal-idle is said of --journal, and there is none"},
        {{"--probe", "--verify", "f"},
         {NULL},
         "--probe, --verify, --check-data, --backup and --new"},
        {{"--backup=f", "--check-data=d", "--data=d"}, {NULL}, "--probe, --verify, --check-data,"},
        {{"--new-token=n", "--probe"},
         {NULL},
         "--probe, --verify, --check-data, --backup and --new"},
        {{"--token-file=f", "--allow-anonymous"}, {NULL}, "--token-file and --allow-anonymous: "},
        {{"--token-file=f"}, {"OBBD_ALLOW_ANONYMOUS=1"}, "--token-file and --allow-anonymous: "},
        {{"--log-level", "loud"},
         {NULL},
         "--log-level: \"loud\" is not one of debug|info|warn|error"},
        {{"--log-level", "info|warn"}, {NULL}, "--log-level: \"info|warn\""},
        {{"--listen", ""}, {NULL}, "--listen: needs a value"},
        {{NULL}, {"OBBD_WORKERS=many"}, "OBBD_WORKERS: \"many\""},
        {{NULL}, {"OBBD_DEMO=yes"}, "OBBD_DEMO: \"yes\" is none of 0, 1, still"},
        {{NULL}, {"OBBD_HOST=a,,b"}, "OBBD_HOST: needs a value"},
    };
    const size_t count = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < count; i++) {
        const char *arguments[5] = {NULL}, *environment[3] = {NULL};
        memcpy(arguments, wrong[i].arguments, sizeof wrong[i].arguments);
        memcpy(environment, wrong[i].environment, sizeof wrong[i].environment);
        srv_config config;
        ck_assert_msg(!read_config(arguments, environment, &config), "%s", wrong[i].says);
        ck_assert_msg(strncmp(error, wrong[i].says, strlen(wrong[i].says)) == 0, "\"%s\" says: %s",
                      wrong[i].says, error);
        ck_assert_ptr_null(strchr(error, '\n'));
    }
    ck_assert_uint_gt(count, 20);
}
END_TEST

/* Taken by the option as they are, or refused with a sentence that quotes them. */
static void check_values(const char *option, const char *const *values, bool good)
{
    for (; *values != NULL; values++) {
        srv_config config;
        char quoted[48];
        (void)snprintf(quoted, sizeof quoted, "\"%.40s", *values);
        const bool taken = read_config(LIST(option, *values), NULL, &config);
        ck_assert_msg(taken == good, "%s %s: %s", option, *values, error);
        if (taken)
            srv_config_fini(&config);
        else
            ck_assert_msg(strstr(error, quoted) != NULL, "%s: %s", *values, error);
    }
}

START_TEST(names_of_hosts_are_those_that_can_be_asked_for)
{
    check_values("--host",
                 LIST("obbd", "OBBD.example", "obbd.example.", "a_b-1.local", "192.168.0.7",
                      "[::1]", "[FE80::1:2]", "[::ffff:127.0.0.1]"),
                 true);
    check_values("--host",
                 LIST("*", " ", "a b", "a:80", "[::1]:80", "::1", "[]", "[::1", "[::1]]",
                      "[1::2::3]", "[fe80::1%eth0]", "http://a", "a/", "user@a", "\xc3\xa4.example",
                      "[00000:00000:00000:00000:00000:00000:00000:00000:00000]"),
                 false);
}
END_TEST

START_TEST(origins_are_those_that_browsers_send)
{
    check_values("--cors-origin",
                 LIST("*", "https://editor.example", "http://localhost:3000", "http://127.0.0.1:1",
                      "https://[::1]:65535", "http://[::1]", "https://editor.example:80",
                      "http://editor.example:443", "tauri://localhost", "a+b-c.1://d"),
                 true);
    check_values("--cors-origin",
                 LIST("foo", "null", "**", "example.com/path", "editor.example", "://a", "https://",
                      "https:/a", "https:a", "https://editor.example/", "https://a/path",
                      "https://a?", "https://a#", "https://user@a", "https://*.example",
                      "HTTPS://a", "https://A", "1a://b", "https://a:", "https://a:0",
                      "https://a:08", "https://a:8x", "https://a:65536", "https://a:-1",
                      "https://a:443", "http://a:80", "https://a:1:2", "https://::1",
                      "https://[::1", "https://[::1]a", " https://a", "https://a b",
                      "https://\xc3\xa4.example"),
                 false);
}
END_TEST

START_TEST(numbers_are_decimal)
{
    check_values("--history", LIST("0", "12.5", "007", "1e3", "1E+3", "5.", "1000000000000000"),
                 true);
    check_values("--history",
                 LIST("0x10", "0X1p3", "inf", "nan", "-1", "+1", "", "1e999", "infinity", "1,5",
                      "1e", "1e3.5", "1..2", "1d3", "-0", "1 "),
                 false);
}
END_TEST

START_TEST(help_names_every_option_with_its_variable_and_default)
{
    static const char *const flags[] = {
#define SRV_OPTION(kind, flag, field, fallback, low, high, argument, help) flag, fallback,
#define SRV_COMMAND(kind, flag, field, argument, help)                     flag, "",
#include "server/base/config.def"
#undef SRV_COMMAND
#undef SRV_OPTION
    };
    char text[16384];
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    srv_config_help(out);
    ck_assert_int_eq(fclose(out), 0);
    size_t looked_at = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i += 2, looked_at++) {
        char sought[64];
        (void)snprintf(sought, sizeof sought, "--%s", flags[i]);
        const char *at = strstr(text, sought);
        ck_assert_msg(at != NULL, "%s", flags[i]);
        ck_assert_msg(strstr(at, flags[i + 1]) != NULL, "default of %s", flags[i]);
    }
    ck_assert_uint_gt(looked_at, 10);
    ck_assert_ptr_nonnull(strstr(text, "OBBD_BODY_LIMIT"));

    srv_config config;
    ck_assert(read_config(LIST("--help", "--workers", "2"), NULL, &config));
    ck_assert(config.help);
    srv_config_fini(&config);
    ck_assert(read_config(LIST("--version"), LIST("OBBD_WORKERS=broken"), &config));
    ck_assert(config.version);
    srv_config_fini(&config);
}
END_TEST

START_TEST(every_failing_allocation_is_an_error)
{
    size_t n = 1, failures = 0;
    for (;; n++) {
        srv_config config;
        fault_arm(n);
        const bool good =
            read_config(LIST("--listen", "127.0.0.1:1"), LIST("OBBD_HOST=a,b"), &config);
        const size_t seen = fault_seen();
        fault_arm(0);
        if (good) {
            srv_config_fini(&config);
            ck_assert_uint_lt(seen, n);
            break;
        }
        failures++;
        ck_assert_ptr_nonnull(strstr(error, "not enough memory"));
    }
    ck_assert_uint_ge(failures, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tc = tcase_create("config");
    tcase_add_test(tc, defaults_are_those_of_the_contract);
    tcase_add_test(tc, where_and_how_scenes_are_kept_is_an_option);
    tcase_add_test(tc, the_log_of_many_daemons_is_found_by_urls_without_passwords);
    tcase_add_test(tc, the_command_line_wins_over_the_environment_and_that_over_the_default);
    tcase_add_test(tc, the_demo_moves_stands_still_or_is_not_there);
    tcase_add_test(tc, variables_of_others_are_theirs);
    tcase_add_test(tc, what_is_wrong_is_said_in_one_line);
    tcase_add_test(tc, names_of_hosts_are_those_that_can_be_asked_for);
    tcase_add_test(tc, origins_are_those_that_browsers_send);
    tcase_add_test(tc, numbers_are_decimal);
    tcase_add_test(tc, help_names_every_option_with_its_variable_and_default);
    tcase_add_test(tc, every_failing_allocation_is_an_error);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
