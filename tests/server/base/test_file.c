/* Small files, and what stands in their place. */
#include "core/obb.h"
#include "server/base/file.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 20 };

static char folder[64], path[128], error[512];

static void setup(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-file-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
}

static void teardown(void)
{
    (void)remove(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(all);
    while (readdir(all) != NULL)
        count++;
    (void)closedir(all);
    return count;
}

/* Writes `size` bytes: the first and the last are x, between them is a hole. */
static void make(off_t size)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    if (size > 0) {
        ck_assert_int_eq(fputc('x', file), 'x');
        ck_assert_int_eq(fseeko(file, size - 1, SEEK_SET), 0);
        ck_assert_int_eq(fputc('x', file), 'x');
    }
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_refusal(const char *name, const char *reason)
{
    size_t length = 7;
    const size_t before = count_descriptors();
    char expected[512];
    (void)snprintf(expected, sizeof expected, "--file %s: %s", name, reason);
    ck_assert_ptr_null(srv_file_read("--file", name, &length, error, sizeof error));
    ck_assert_str_eq(error, expected);
    ck_assert_uint_eq(length, 7);
    ck_assert_uint_eq(count_descriptors(), before);
}

START_TEST(a_file_is_read_whole_up_to_a_mebibyte)
{
    static const off_t sizes[] = {0, 1, 4097, LARGEST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make(sizes[i]);
        size_t length = SIZE_MAX;
        char *bytes = srv_file_read("--file", path, &length, error, sizeof error);
        ck_assert_msg(bytes != NULL, "%s", error);
        ck_assert_uint_eq(length, (size_t)sizes[i]);
        ck_assert_int_eq(bytes[length], '\0');
        ck_assert(length == 0 || (bytes[0] == 'x' && bytes[length - 1] == 'x'));
        obb_free(bytes);
    }
}
END_TEST

START_TEST(what_is_longer_is_refused)
{
    make(LARGEST + 1);
    expect_refusal(path, "is longer than 1 MiB");
    make((off_t)64 << 30);
    expect_refusal(path, "is longer than 1 MiB");
}
END_TEST

START_TEST(a_fifo_is_refused_and_not_waited_for)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_refusal(path, "is not a regular file");
}
END_TEST

START_TEST(folders_devices_and_nothing_are_refused)
{
    expect_refusal(folder, "Is a directory");
    expect_refusal("/dev/zero", "is not a regular file");
    expect_refusal("/dev/null", "is not a regular file");
    expect_refusal(path, "No such file or directory");
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    expect_refusal(path, "is not a regular file");
}
END_TEST

START_TEST(want_of_memory_is_an_error)
{
    make(1);
    fault_arm(1);
    expect_refusal(path, "there is not enough memory");
    fault_arm(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = tcase_create("file");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(10));
    tcase_add_test(tc, a_file_is_read_whole_up_to_a_mebibyte);
    tcase_add_test(tc, what_is_longer_is_refused);
    tcase_add_test(tc, a_fifo_is_refused_and_not_waited_for);
    tcase_add_test(tc, folders_devices_and_nothing_are_refused);
    tcase_add_test(tc, want_of_memory_is_an_error);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
