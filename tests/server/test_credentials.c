/* The files that SIGHUP reads again. */
#include "tests/server/secure.h"

static void setup_tokens(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, NULL});
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1/boxes/a", BOX), 201);
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/other/boxes/a", BOX), 201);
}

START_TEST(a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken)
{
    write_file(tokens, "{\"tokens\":[");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    wait_ms(50);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    write_file(tokens, "{\"tokens\":[]}");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    int answer = 200;
    for (int i = 0; i < 100 && answer == 200; i++) {
        wait_ms(10);
        answer = ask_with(READER, "GET", "/v1/scenes", "%s", "");
    }
    ck_assert_int_eq(answer, 401);
    write_file(tokens, token_file);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    for (int i = 0; i < 100 && answer == 401; i++) {
        wait_ms(10);
        answer = ask_with(READER, "GET", "/v1/scenes", "%s", "");
    }
    ck_assert_int_eq(answer, 200);
}
END_TEST

/* What no file of tokens is, in its place. */
static void put_fifo(void) { ck_assert_int_eq(mkfifo(tokens, 0600), 0); }
static void put_folder(void) { ck_assert_int_eq(mkdir(tokens, 0700), 0); }
static void put_device(void) { ck_assert_int_eq(symlink("/dev/zero", tokens), 0); }
static void put_too_much(void)
{
    write_file(tokens, token_file);
    ck_assert_int_eq(truncate(tokens, (off_t)8 << 30), 0);
}

START_TEST(a_hangup_does_not_wait_for_what_is_no_file)
{
    static void (*const puts[])(void) = {put_fifo, put_folder, put_device, put_too_much};
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        ck_assert_int_eq(remove(tokens), 0);
        puts[i]();
        ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
        wait_ms(50);
        ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    }
}
END_TEST

START_TEST(https_serves_and_takes_new_certificates_on_a_hangup)
{
    static struct heard_bytes out;
    CURL *kept = secure_client(first_certificate);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK);
    ck_assert_str_eq(out.bytes, "{\"scenes\":[]}");
    CURL *stranger = secure_client(second_certificate);
    ck_assert_int_ne(fetch(stranger, &out), CURLE_OK);

    /* a key that does not belong to the certificate: what is in use stays */
    write_file(key, second_key);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    wait_ms(100);
    ck_assert_int_ne(fetch(stranger, &out), CURLE_OK);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK);

    write_file(certificate, second_certificate);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    CURLcode answer = CURLE_GOT_NOTHING;
    for (int i = 0; i < 100 && answer != CURLE_OK; i++) {
        wait_ms(10);
        answer = fetch(stranger, &out);
    }
    ck_assert_int_eq(answer, CURLE_OK);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK); /* on the connection that it has */
    long connects = 1;
    curl_easy_getinfo(kept, CURLINFO_NUM_CONNECTS, &connects);
    ck_assert_int_eq(connects, 0);
    curl_easy_cleanup(kept);
    kept = secure_client(first_certificate);
    ck_assert_int_ne(fetch(kept, &out), CURLE_OK);
    curl_easy_cleanup(kept);
    curl_easy_cleanup(stranger);
}
END_TEST

/* Returns whether a client that speaks no version but the one at `index` is served. */
static bool speaks(size_t index)
{
    static const long versions[] = {
        CURL_SSLVERSION_TLSv1_0 | CURL_SSLVERSION_MAX_TLSv1_0,
        CURL_SSLVERSION_TLSv1_1 | CURL_SSLVERSION_MAX_TLSv1_1,
        CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2,
        CURL_SSLVERSION_TLSv1_3 | CURL_SSLVERSION_MAX_TLSv1_3,
    };
    static struct heard_bytes out;
    CURL *curl = secure_client(first_certificate);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, versions[index]);
    const CURLcode answer = fetch(curl, &out);
    curl_easy_cleanup(curl);
    return answer == CURLE_OK;
}

START_TEST(https_is_of_1_2_and_newer)
{
    ck_assert(!speaks(0));
    ck_assert(!speaks(1));
    ck_assert(speaks(2));
    ck_assert(speaks(3));
}
END_TEST

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Suite *suite = suite_create("credentials");
    TCase *tokens_case = tcase_create("tokens");
    tcase_add_checked_fixture(tokens_case, setup_tokens, stop_and_remove);
    tcase_set_timeout(tokens_case, test_timeout(60));
    tcase_add_test(tokens_case,
                   a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken);
    tcase_add_test(tokens_case, a_hangup_does_not_wait_for_what_is_no_file);
    suite_add_tcase(suite, tokens_case);
    TCase *secure = tcase_create("secure");
    tcase_add_checked_fixture(secure, setup_secure, stop_and_remove);
    tcase_set_timeout(secure, test_timeout(60));
    tcase_add_test(secure, https_serves_and_takes_new_certificates_on_a_hangup);
    tcase_add_test(secure, https_is_of_1_2_and_newer);
    suite_add_tcase(suite, secure);
    return test_main(suite);
}
