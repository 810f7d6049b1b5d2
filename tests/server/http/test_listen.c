#include "server/http/listen.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char error[512], folder[64], path[128], spec[160];

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-listen-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    (void)snprintf(spec, sizeof spec, "unix:%s", path);
}

static void teardown(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static bool open_at(const char *text, srv_listener *out)
{
    srv_address address;
    error[0] = '\0';
    *out = (srv_listener){.descriptor = -1};
    return srv_address_read(text, &address, error, sizeof error) &&
           srv_listener_open(&address, out, error, sizeof error);
}

static bool reachable(const srv_listener *listener)
{
    const int s = socket(listener->address.as.any.sa_family, SOCK_STREAM, 0);
    const bool good = connect(s, &listener->address.as.any, listener->address.length) == 0;
    close(s);
    return good;
}

START_TEST(addresses_are_read)
{
    static const struct {
        const char *text;
        bool loopback;
        int family;
    } good[] = {{"127.0.0.1:0", true, AF_INET}, {"127.9.9.9:80", true, AF_INET},
                {"localhost:65535", true, 0},   {"[::1]:80", true, AF_INET6},
                {"0.0.0.0:80", false, AF_INET}, {"10.0.0.1:80", false, AF_INET},
                {"[::]:80", false, AF_INET6},   {"[::ffff:127.0.0.1]:80", true, AF_INET6},
                {"unix:/tmp/x", true, AF_UNIX}, {"[::ffff:10.0.0.1]:80", false, AF_INET6}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        srv_address address;
        ck_assert_msg(srv_address_read(good[i].text, &address, error, sizeof error), "%s: %s",
                      good[i].text, error);
        ck_assert_msg(address.loopback == good[i].loopback, "%s", good[i].text);
        if (good[i].family != 0)
            ck_assert_int_eq(address.as.any.sa_family, good[i].family);
    }
    static const char *const bad[] = {"",
                                      ":",
                                      ":80",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1: 1",
                                      "127.0.0.1:+1",
                                      "127.0.0.1:1x",
                                      "::1:80",
                                      "[]:80",
                                      "[::1]",
                                      "[::1:80",
                                      "300.1.1.1:80",
                                      "unix:",
                                      "no host:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        srv_address address;
        ck_assert_msg(!srv_address_read(bad[i], &address, error, sizeof error), "\"%s\"", bad[i]);
        ck_assert_msg(strncmp(error, "--listen: ", 10) == 0, "%s", error);
        ck_assert_ptr_null(strchr(error, '\n'));
    }
}
END_TEST

START_TEST(port_0_finds_a_free_one_and_says_which)
{
    srv_listener a, b;
    ck_assert(open_at("127.0.0.1:0", &a));
    ck_assert(open_at("127.0.0.1:0", &b));
    ck_assert_str_ne(a.url, b.url);
    ck_assert_int_eq(strncmp(a.url, "http://127.0.0.1:", 17), 0);
    ck_assert_str_ne(a.url, "http://127.0.0.1:0");
    ck_assert(reachable(&a) && reachable(&b));
    srv_listener c;
    ck_assert(!open_at(a.url + strlen("http://"), &c));
    ck_assert_ptr_nonnull(strstr(error, "Address already in use"));
    ck_assert_int_eq(c.descriptor, -1);
    srv_listener_close(&a);
    ck_assert(!reachable(&a));
    srv_listener_close(&a);
    srv_listener_close(&b);
}
END_TEST

START_TEST(unix_sockets_are_guarded_replaced_and_removed)
{
    srv_listener first, second;
    struct stat file;
    ck_assert_msg(open_at(spec, &first), "%s", error);
    ck_assert_str_eq(first.url, spec);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert(S_ISSOCK(file.st_mode));
    ck_assert_int_eq(file.st_mode & 0777, 0660);
    ck_assert(reachable(&first));

    ck_assert(!open_at(spec, &second)); /* somebody answers there */
    ck_assert(reachable(&first));

    close(first.descriptor); /* as if it had died: the file stays, and nobody answers */
    ck_assert(!reachable(&first));
    ck_assert_msg(open_at(spec, &second), "%s", error);
    ck_assert(reachable(&second));
    srv_listener_close(&second);
    ck_assert_int_ne(lstat(path, &file), 0);
}
END_TEST

START_TEST(a_unix_socket_with_a_full_queue_is_in_use)
{
    srv_listener first, second;
    int waiting[16], count = 0;
    ck_assert_msg(open_at(spec, &first), "%s", error);
    ck_assert_int_eq(listen(first.descriptor, 0), 0); /* nobody accepts, as of one that hangs */
    for (bool full = false; !full; count++) {
        ck_assert_int_lt(count, 16);
        waiting[count] = socket(AF_UNIX, SOCK_STREAM, 0);
        ck_assert_int_eq(fcntl(waiting[count], F_SETFL, O_NONBLOCK), 0);
        full = connect(waiting[count], &first.address.as.any, first.address.length) != 0;
        ck_assert(!full || errno == EAGAIN);
    }
    ck_assert(!open_at(spec, &second));
    ck_assert_ptr_nonnull(strstr(error, "Address already in use"));
    while (count > 0)
        close(waiting[--count]);
    srv_listener_close(&first);
}
END_TEST

START_TEST(a_file_that_took_the_place_of_the_socket_stays)
{
    srv_listener first, second;
    struct stat file;
    ck_assert_msg(open_at(spec, &first), "%s", error);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_msg(open_at(spec, &second), "%s", error);
    srv_listener_close(&first);
    ck_assert(reachable(&second));

    ck_assert_int_eq(unlink(path), 0);
    FILE *precious = fopen(path, "w");
    ck_assert_ptr_nonnull(precious);
    ck_assert_int_eq(fclose(precious), 0);
    srv_listener_close(&second);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert(S_ISREG(file.st_mode));
}
END_TEST

START_TEST(other_files_are_never_touched)
{
    FILE *precious = fopen(path, "w");
    ck_assert_ptr_nonnull(precious);
    ck_assert_int_ge(fputs("precious", precious), 0);
    ck_assert_int_eq(fclose(precious), 0);
    srv_listener listener;
    ck_assert(!open_at(spec, &listener));
    ck_assert_ptr_nonnull(strstr(error, path));
    struct stat file;
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert(S_ISREG(file.st_mode));
    ck_assert_int_eq(file.st_size, 8);
    ck_assert_int_eq(unlink(path), 0);

    ck_assert_int_eq(symlink("/dev/null", path), 0);
    ck_assert(!open_at(spec, &listener));
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert(S_ISLNK(file.st_mode));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listen");
    TCase *tc = tcase_create("listen");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, addresses_are_read);
    tcase_add_test(tc, port_0_finds_a_free_one_and_says_which);
    tcase_add_test(tc, unix_sockets_are_guarded_replaced_and_removed);
    tcase_add_test(tc, a_unix_socket_with_a_full_queue_is_in_use);
    tcase_add_test(tc, a_file_that_took_the_place_of_the_socket_stays);
    tcase_add_test(tc, other_files_are_never_touched);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
