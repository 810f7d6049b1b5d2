/* Equal logs, in random scenes and in real ones, are in tests/e2e. */
#include "server/log/verify.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Written down once: of version 2 of the format, with a line of each kind. */
static const char yard[] =
    "{\"format\":\"obbd-scene\",\"version\":2,\"scene\":\"yard\",\"dimensions\":3,\"histo"
    "ry\":{\"span\":500,\"commits\":64},\"boxes\":2,\"frames\":0,\"revision\":2,\"time\":"
    "10,\"hash\":\"55f209f4d9ae8250\",\"ids\":{\"next\":4,\"hash\":\"ff2103dc6155c257\"}}"
    "\n"
    "{\"name\":\"crate 1\",\"id\":2,\"center\":[1,-2,0.1],\"half_extents\":[1,2,3],\"rota"
    "tion\":[0.07590629374775568,0.15181258749551135,0.22771888124326703,0.95881973486819"
    "3],\"category\":6,\"mask\":4294967295,\"group\":-5}\n"
    "{\"name\":\"door\",\"id\":3,\"center\":[-0.0,1e-7,123456789.5],\"half_extents\":[1,0"
    ",1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,\"entity\""
    ":\"gate\",\"data\":{\"hp\":[1,2.50]}}\n"
    "{\"time\":16.5,\"pose\":{\"crate 1\":{\"center\":[3,0,9]},\"door\":{\"rotation\":[0,"
    "0.6,0,0.8],\"teleport\":true}},\"revision\":3,\"hash\":\"ef260abb072f8f99\"}\n"
    "{\"time\":20,\"revision\":3,\"hash\":\"c03320c0865b8b6b\"}\n"
    "{\"time\":20,\"settings\":{\"dimensions\":3,\"history\":{\"span\":700,\"commits\":32"
    "}},\"revision\":4,\"hash\":\"8675b0496824517e\"}\n"
    "{\"time\":40,\"remove\":[\"door\"],\"put\":{\"door\":{\"center\":[7,7,7],\"half_exte"
    "nts\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":12,\"group\":0},\"lamp"
    "\":{\"center\":[0,0,4],\"half_extents\":[0,0,0],\"rotation\":[0,0,0,1],\"category\":"
    "1,\"mask\":4294967295,\"group\":0}},\"pose\":{\"crate 1\":{\"center\":[4.07446254557"
    "0293,0,8.567307334556455],\"rotation\":[0.0896666183332801,0.21006397090863613,0.222"
    "66017125179707,0.9477634060359631]}},\"revision\":5,\"hash\":\"b2eff1c7f83dbf7a\"}\n"
    "{\"time\":40,\"put\":{\"lamp\":{\"center\":[0,0,4],\"half_extents\":[0,0,0],\"rotati"
    "on\":[0,0,0,1],\"category\":1,\"mask\":3,\"group\":0}},\"revision\":6,\"hash\":\"807"
    "f0c8388bc827d\"}\n";

/* Likewise, with frames: moved, teleported, changed, removed. */
static const char rig[] =
    "{\"format\":\"obbd-scene\",\"version\":2,\"scene\":\"a\",\"dimensions\":3,\"history"
    "\":{\"span\":500,\"commits\":64},\"boxes\":3,\"frames\":2,\"revision\":2,\"time\":2,"
    "\"hash\":\"da6f148663e3e14a\",\"ids\":{\"next\":4,\"hash\":\"271580c08d1a4b50\"}}\n"
    "{\"frame\":\"ann\",\"center\":[5,6,7.1],\"rotation\":[0.07590629374775568,0.15181258"
    "749551135,0.22771888124326703,0.958819734868193]}\n"
    "{\"frame\":\"bob\",\"center\":[0,0,0],\"rotation\":[0,0,0,1]}\n"
    "{\"name\":\"x\",\"id\":1,\"half_extents\":[1,1,1],\"frame\":\"ann\",\"local\":{\"cen"
    "ter\":[0.1,2,3],\"rotation\":[0.03579799939575169,0,0.10739399818725508,0.9935718556"
    "765875]},\"category\":1,\"mask\":4294967295,\"group\":0}\n"
    "{\"name\":\"y\",\"id\":2,\"center\":[-0.0,0.1,1e-7],\"half_extents\":[1,1,1],\"rotat"
    "ion\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}\n"
    "{\"name\":\"z\",\"id\":3,\"half_extents\":[1,1,1],\"frame\":\"bob\",\"local\":{\"cen"
    "ter\":[1,1,1],\"rotation\":[0,0,0,1]},\"category\":1,\"mask\":4294967295,\"group\":0"
    "}\n"
    "{\"time\":3,\"frames\":{\"bob\":{\"center\":[5,6,7.1],\"teleport\":true}},\"pose\":{"
    "\"x\":{\"center\":[0.2,0,0],\"rotation\":[0.03579799939575169,0,0.10739399818725508,"
    "0.9935718556765875]}},\"revision\":3,\"hash\":\"7afc71bf94b020cd\"}\n"
    "{\"time\":3,\"put\":{\"x\":{\"center\":[0.17003881976129342,0.09194595527967664,-0.0"
    "5131024344021551],\"half_extents\":[1,1,1],\"rotation\":[0.12604594617223158,0.15083"
    "67142729795,0.3237919693623766,0.9254833686551651],\"category\":1,\"mask\":429496729"
    "5,\"group\":0,\"frame\":\"bob\"}},\"revision\":4,\"hash\":\"628e30654198083b\"}\n"
    "{\"time\":3,\"put\":{\"x\":{\"center\":[5.170038819761293,6.091945955279677,7.048689"
    "756559784],\"half_extents\":[1,1,1],\"rotation\":[0.12604594617223158,0.150836714272"
    "9795,0.3237919693623766,0.9254833686551651],\"category\":1,\"mask\":4294967295,\"gro"
    "up\":0}},\"revision\":5,\"hash\":\"690011ae64c3ea01\"}\n"
    "{\"time\":4,\"remove\":[\"z\"],\"remove_frames\":[\"bob\"],\"revision\":6,\"hash\":"
    "\"6754749b1172e103\"}\n";

static char path[64], line[600];

static void start(void)
{
    (void)snprintf(path, sizeof path, "%s/obbd-verify-XXXXXX", test_folder());
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    (void)close(file);
}

static void stop(void) { (void)unlink(path); }

static srv_verdict verify(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    return srv_verify(path, line, sizeof line);
}

/* Returns the text with the first `from` replaced. */
static const char *with(const char *from, const char *to)
{
    static char text[sizeof yard + 64];
    const char *at = strstr(yard, from);
    ck_assert_msg(at != NULL, "%s", from);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - yard), yard, to, at + strlen(from));
    return text;
}

START_TEST(a_log_that_was_kept_is_equal)
{
    ck_assert_int_eq(verify(yard, sizeof yard - 1), SRV_VERIFY_EQUAL);
    char expected[200];
    (void)snprintf(expected, sizeof expected,
                   "%s: equal; 5 commits up to revision 6 of the scene \"yard\"", path);
    ck_assert_str_eq(line, expected);
    ck_assert_msg(verify(rig, sizeof rig - 1) == SRV_VERIFY_EQUAL, "%s", line);
    /* the first lines of a log are a log */
    const char *third = strchr(strchr(strchr(yard, '\n') + 1, '\n') + 1, '\n') + 1;
    ck_assert_int_eq(verify(yard, (size_t)(third - yard)), SRV_VERIFY_EQUAL);
    /* other tools may write the same numbers otherwise */
    const char *other = with("[1,-2,0.1]", "[1.0, -2e0, 0.10000]");
    ck_assert_int_eq(verify(other, strlen(other)), SRV_VERIFY_EQUAL);
}
END_TEST

START_TEST(what_differs_is_named)
{
    static const struct {
        const char *from, *to, *says;
    } rows[] = {
        {"\"center\":[3,0,9]", "\"center\":[3,0,8]", ": revision 3 differs (line 4): its hash is "},
        {"\"time\":20,\"revision\"", "\"time\":21,\"revision\"",
         ": revision 3 differs (line 5): its hash is "},
        {"\"span\":700", "\"span\":701", ": revision 4 differs (line 6): its hash is "},
        {"b2eff1c7f83dbf7a", "b2eff1c7f83dbf7b",
         ": revision 5 differs (line 7): its hash is b2eff1c7f83dbf7a, and the log says "
         "b2eff1c7f83dbf7b"},
        {"\"revision\":5", "\"revision\":6",
         ": revision 5 differs (line 7): revision 6 does not follow revision 4"},
        {"\"lamp\":{", "\"lump\":{", ": revision 5 differs (line 7): its hash is "},
        {"\"pose\":{\"crate 1\":{\"center\":[4", "\"pose\":{\"crate 2\":{\"center\":[4",
         ": revision 5 differs (line 7): there is no box of this name"},
        {"\"mask\":12", "\"mask\":-12", ": revision 5 differs (line 7): /put/door/mask: found -12"},
        {"\"mask\":3,", "\"mask\":3;", ": revision 6 differs (line 8): "},
        {"\"id\":2,", "\"id\":1,", ": revision 2 differs (line 3): its hash is "},
        {"\"id\":2,", "\"id\":3,", ": revision 2 differs (line 3): its boxes cannot be: "},
        {"\"id\":2,", "", ": revision 2 differs (line 2): \"id\" is missing"},
        {"\"next\":4", "\"next\":5", ": revision 2 differs (line 3): its hash is "},
        {"\"boxes\":2", "\"boxes\":3", ": revision 2 differs (line 4): "},
        {"\"boxes\":2", "\"boxes\":1", ": revision 2 differs (line 2): its hash is "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = with(rows[i].from, rows[i].to);
        ck_assert_msg(verify(text, strlen(text)) == SRV_VERIFY_DIFFERS, "%s: %s", rows[i].to, line);
        ck_assert_msg(strncmp(line, path, strlen(path)) == 0 &&
                          strstr(line, rows[i].says) == line + strlen(path),
                      "%s: %s", rows[i].to, line);
        ck_assert_ptr_null(strchr(line, '\n'));
    }
}
END_TEST

/* Hashes are of states by what they hold (server/README.md says so, too). */
START_TEST(another_way_between_the_same_states_is_equal)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {",\"teleport\":true", ""},
        {"\"teleport\":true", "\"teleport\":false"},
        {"\"center\":[3,0,9]}", "\"center\":[3,0,9],\"teleport\":true}"},
        {"\"remove\":[\"door\"],", ""}, /* the put replaces the box, which keeps its id */
        {"\"remove\":[\"door\"]", "\"remove\":[\"door\",\"nobody\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = with(rows[i].from, rows[i].to);
        ck_assert_msg(verify(text, strlen(text)) == SRV_VERIFY_EQUAL, "row %zu: %s", i, line);
    }
}
END_TEST

START_TEST(what_is_no_log_is_unreadable)
{
    static const char *const others[] = {"", "\n", "{}\n", "[]\n", "obbd\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_int_eq(verify(others[i], strlen(others[i])), SRV_VERIFY_UNREADABLE);
        ck_assert_int_eq(strncmp(line, path, strlen(path)), 0);
    }
    const char *text = with("obbd-scene", "obbd-match");
    ck_assert_int_eq(verify(text, strlen(text)), SRV_VERIFY_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(line, ", line 1: /format: found \"obbd-match\""));
    ck_assert_int_eq(srv_verify("/", line, sizeof line), SRV_VERIFY_UNREADABLE);
    ck_assert_str_eq(line, "/: Is a directory");
    ck_assert_int_eq(srv_verify("/nobody/home", line, sizeof line), SRV_VERIFY_UNREADABLE);
    ck_assert_str_eq(line, "/nobody/home: No such file or directory");
}
END_TEST

/* How many lines of the logs above make their first state: the head, frames and boxes. */
static size_t first_state_lines(const char *log)
{
    size_t lines = 0;
    for (; strncmp(log, "{\"time\"", 7) != 0; log = strchr(log, '\n') + 1)
        lines++;
    return lines;
}

static unsigned long long revision_of(const char *log, size_t begin)
{
    return strtoull(strstr(log + begin, "\"revision\":") + 11, NULL, 10);
}

/* Returns the number that the line of verify has behind these words. */
static unsigned long long number_behind(const char *words)
{
    const char *at = strstr(line, words);
    ck_assert_msg(at != NULL, "%s", line);
    return strtoull(at + strlen(words), NULL, 10);
}

/* Checks what verify said about `text`, a log with a flipped digit in its line number `at`, which
 * begins at byte `begin`. A fault of the first state may show at a later line of it, or one line
 * behind it, where a frame or a box was expected. */
static void check_named(const char *log, const char *text, size_t at, size_t begin)
{
    if (at == 1 && strstr(line, ", line 1: ") != NULL)
        return; /* no log any more */
    const unsigned long long revision = number_behind(": revision "),
                             named = number_behind(" differs (line ");
    const size_t first = first_state_lines(log);
    if (at <= first) {
        ck_assert_msg(named >= at && named <= first + 1, "line %zu: %s", at, line);
        return;
    }
    /* the commit itself, by its revision; or by the flipped one, which its line says */
    ck_assert_msg(named == at &&
                      (revision == revision_of(log, begin) || revision == revision_of(text, begin)),
                  "line %zu: %s", at, line);
}

/* Flips each digit of the log in turn. *same counts those that make no difference: the last digit
 * of a number that stays the same double, or one of a rotation ([0,0,0,2] is [0,0,0,1]). Returns
 * how many were flipped. */
static size_t flip_digits(const char *log, size_t length, size_t *same)
{
    static char text[sizeof yard + sizeof rig];
    size_t flipped = 0, at = 1, line_begin = 0;
    for (size_t i = 0; i < length; i++) {
        if (log[i] == '\n') {
            line_begin = i + 1;
            at++;
        }
        if (!isdigit((unsigned char)log[i]))
            continue;
        memcpy(text, log, length + 1);
        text[i] = (char)('0' + (log[i] - '0' + 1) % 10);
        flipped++;
        if (verify(text, length) != SRV_VERIFY_EQUAL) {
            check_named(log, text, at, line_begin);
            continue;
        }
        size_t begin = i;
        while (begin > 0 && strchr("+-.e0123456789", log[begin - 1]) != NULL)
            begin--;
        const double before = strtod(log + begin, NULL), after = strtod(text + begin, NULL);
        ck_assert_msg(before == after || strncmp(log + begin - 17, "rotation\":[0,0,0,1]", 19) == 0,
                      "%.40s: %s", log + begin, line);
        ++*same;
    }
    return flipped;
}

START_TEST(every_flipped_digit_is_found_and_named)
{
    size_t same = 0;
    const size_t flipped =
        flip_digits(yard, sizeof yard - 1, &same) + flip_digits(rig, sizeof rig - 1, &same);
    printf("verify: %zu digits flipped, %zu of them without a difference\n", flipped, same);
    ck_assert_uint_gt(flipped, 700);
    ck_assert_uint_lt(same, flipped / 20);
}
END_TEST

START_TEST(every_cut_is_found_except_between_lines)
{
    size_t whole = 0;
    for (size_t length = 0; length < sizeof yard - 1; length++)
        whole += verify(yard, length) == SRV_VERIFY_EQUAL;
    ck_assert_uint_eq(whole, 5); /* behind the boxes, and behind each commit but the last */
}
END_TEST

START_TEST(without_memory_it_says_so)
{
    (void)verify(yard, sizeof yard - 1);
    bool done = false;
    size_t failed = 0;
    for (size_t n = 1; !done; n++) {
        fault_arm(n);
        const srv_verdict verdict = srv_verify(path, line, sizeof line);
        done = fault_seen() < n;
        fault_arm(0);
        ck_assert(done ? verdict == SRV_VERIFY_EQUAL : verdict != SRV_VERIFY_EQUAL);
        ck_assert_msg(done || strstr(line, "memory") != NULL, "%s", line);
        failed += !done;
    }
    ck_assert_uint_gt(failed, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify");
    TCase *tc = tcase_create("verify");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_log_that_was_kept_is_equal);
    tcase_add_test(tc, what_differs_is_named);
    tcase_add_test(tc, another_way_between_the_same_states_is_equal);
    tcase_add_test(tc, what_is_no_log_is_unreadable);
    tcase_add_test(tc, every_flipped_digit_is_found_and_named);
    tcase_add_test(tc, every_cut_is_found_except_between_lines);
    tcase_add_test(tc, without_memory_it_says_so);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
