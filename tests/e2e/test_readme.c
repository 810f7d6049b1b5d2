/* The README's tour is true: every command in its ```console blocks is run against a daemon with
 * the demo scene, in order, and must print what stands below it. Times on the server's clock are
 * the one thing that may differ. */
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As the README writes them. */
#define ADDRESS "localhost:7480"
#define PROGRAM "build/obbd"

struct text {
    char *bytes;
    size_t length, capacity;
};

static void append(struct text *text, const char *bytes, size_t count)
{
    if (text->capacity - text->length < count + 1) {
        text->capacity = (text->length + count + 1) * 2;
        text->bytes = realloc(text->bytes, text->capacity);
        ck_assert_ptr_nonnull(text->bytes);
    }
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

static void clear(struct text *text)
{
    text->length = 0;
    append(text, "", 0);
}

/* The command with another text in place of one that the README writes. */
static void with(const char *command, const char *written, const char *real, struct text *out)
{
    clear(out);
    for (const char *at; (at = strstr(command, written)) != NULL; command = at + strlen(written)) {
        append(out, command, (size_t)(at - command));
        append(out, real, strlen(real));
    }
    append(out, command, strlen(command));
}

/* The command with the real port and the program that is tested. */
static void as_here(const char *command, int port, struct text *out)
{
    const char *program = getenv("OBBD");
    struct text half = {0};
    with(command, ADDRESS, test_text("127.0.0.1:%d", port), &half);
    with(half.bytes, PROGRAM, program != NULL ? program : PROGRAM, out);
    free(half.bytes);
}

/* Puts 0 in place of every number after "time": in place. */
static void without_times(struct text *text)
{
    static const char key[] = "\"time\":";
    char *to = text->bytes;
    for (const char *from = text->bytes; *from != '\0';) {
        if (strncmp(from, key, sizeof key - 1) == 0) {
            memmove(to, from, sizeof key - 1);
            to += sizeof key - 1;
            from += sizeof key - 1;
            from += strspn(from, "0123456789.eE+-");
            *to++ = '0';
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    text->length = (size_t)(to - text->bytes);
}

static void run(const char *command, struct text *out)
{
    clear(out);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a shell's view is what is tested */
    ck_assert_ptr_nonnull(pipe);
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, pipe)) > 0;)
        append(out, bytes, got);
    const int status = pclose(pipe);
    ck_assert_msg(status == 0, "status %d of: %s", status, command);
    while (out->length > 0 && out->bytes[out->length - 1] == '\n')
        out->bytes[--out->length] = '\0';
}

/* Does the shell want another line: after a backslash, or inside quotes? */
static bool goes_on(const char *command)
{
    bool quoted = false;
    for (const char *c = command; *c != '\0'; c++)
        quoted ^= *c == '\'';
    const size_t length = strlen(command);
    return quoted || (length >= 2 && strcmp(command + length - 2, "\\\n") == 0);
}

START_TEST(every_command_of_the_tour_prints_what_the_readme_shows)
{
    FILE *readme = fopen("README.md", "r");
    ck_assert_ptr_nonnull(readme);
    struct test_daemon daemon;
    daemon_start(&daemon, (const char *[]){"--demo=still", NULL});

    struct text command = {0}, expected = {0}, real = {0}, answer = {0};
    clear(&command);
    clear(&expected);
    bool in_block = false, in_command = false;
    size_t commands = 0;
    char *line = NULL;
    size_t capacity = 0;
    for (;;) {
        const bool more = getline(&line, &capacity, readme) > 0;
        const bool fence = more && strncmp(line, "```", 3) == 0;
        const bool starts = more && in_block && !in_command && strncmp(line, "$ ", 2) == 0;
        if (command.length > 0 && !in_command && (!more || fence || starts)) {
            as_here(command.bytes, daemon.port, &real);
            run(real.bytes, &answer);
            while (expected.length > 0 && expected.bytes[expected.length - 1] == '\n')
                expected.bytes[--expected.length] = '\0';
            without_times(&answer);
            without_times(&expected);
            ck_assert_msg(strcmp(answer.bytes, expected.bytes) == 0,
                          "%sprints\n%s\nwhere the README shows\n%s", command.bytes, answer.bytes,
                          expected.bytes);
            clear(&command);
            clear(&expected);
            commands++;
        }
        if (!more)
            break;
        if (fence) {
            in_block = !in_block && strncmp(line, "```console", 10) == 0;
        } else if (starts || in_command) {
            const char *words = starts ? line + 2 : line;
            append(&command, words, strlen(words));
            in_command = goes_on(command.bytes);
        } else if (in_block) {
            append(&expected, line, strlen(line));
        }
    }
    printf("ran %zu commands of the README\n", commands);
    ck_assert_uint_ge(commands, 5);
    free(line);
    free(command.bytes);
    free(expected.bytes);
    free(real.bytes);
    free(answer.bytes);
    (void)fclose(readme);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

START_TEST(make_run_prints_the_lines_to_try)
{
    struct test_daemon daemon;
    daemon_start(&daemon, (const char *[]){"--demo=still", NULL});
    FILE *out = fdopen(dup(daemon.out), "r");
    ck_assert_ptr_nonnull(out);
    /* what came before the ready line was read stands in `said`; the rest is still in the pipe */
    char lines[8192];
    (void)snprintf(lines, sizeof lines, "%s", daemon.said);
    char *line = NULL;
    size_t capacity = 0, tried = 0;
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    while (getline(&line, &capacity, out) > 0)
        (void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s", line);
    free(line);
    (void)fclose(out);

    daemon_start(&daemon, (const char *[]){"--demo=still", NULL});
    struct text answer = {0};
    char *rest = NULL;
    for (char *each = strtok_r(lines, "\n", &rest); each != NULL;
         each = strtok_r(NULL, "\n", &rest)) {
        char *curl = strstr(each, "curl ");
        if (curl == NULL)
            continue;
        char *host = strstr(curl, "127.0.0.1:");
        ck_assert_msg(host != NULL, "no address in: %s", curl);
        const char *after = host + strlen("127.0.0.1:");
        after += strspn(after, "0123456789");
        run(test_text("%.*s127.0.0.1:%d%s 2>/dev/null", (int)(host - curl), curl, daemon.port,
                      after),
            &answer);
        ck_assert_msg(strstr(answer.bytes, "\"revision\"") != NULL ||
                          strstr(answer.bytes, "\"scenes\"") != NULL,
                      "%s answers %s", curl, answer.bytes);
        tried++;
    }
    free(answer.bytes);
    ck_assert_uint_eq(tried, 3);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("readme");
    TCase *tc = tcase_create("readme");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, every_command_of_the_tour_prints_what_the_readme_shows);
    tcase_add_test(tc, make_run_prints_the_lines_to_try);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
