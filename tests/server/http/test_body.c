/* Bodies: their sizes, their limit, and the memory that they share. */
#include "tests/server/http_service.h"

START_TEST(bodies_of_any_size_arrive_whole)
{
    static const size_t sizes[] = {1, 1000, 32767, 65536, 65537, 300000, 1u << 20};
    static char body[1u << 20];
    char head[256], heard[4096], expected[64];
    memset(body, 1, sizeof body);
    const int s = dial();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int chunked = 0; chunked < 2; chunked++) {
            (void)snprintf(head, sizeof head, "POST /count HTTP/1.1\r\n" H TYPE "%s: %zu\r\n\r\n",
                           chunked ? "Transfer-Encoding: chunked\r\nX" : "Content-Length",
                           sizes[i]);
            say(s, head);
            if (chunked) {
                (void)snprintf(head, sizeof head, "%zx\r\n", sizes[i]);
                say(s, head);
            }
            say_bytes(s, body, sizes[i]);
            if (chunked)
                say(s, "\r\n0\r\n\r\n");
            (void)snprintf(expected, sizeof expected, "\r\n\r\n%zu %zu", sizes[i], sizes[i]);
            ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
            ck_assert_msg(strstr(heard, expected) != NULL, "%zu: %s", sizes[i], heard);
        }
    close(s);
}
END_TEST

/* Waits until the stock holds a block, or none. The limit of the test ends it otherwise. */
static void await_stock(bool filled)
{
    while ((obb_stock_bytes() > 0) != filled)
        wait_ms(1);
}

START_TEST(a_body_lies_in_a_block_in_stock_and_gives_it_back)
{
    enum { SIZE = 300000, FIRST = 70000 };
    static char body[SIZE];
    char heard[4096];
    memset(body, 1, sizeof body);
    obb_stock_set_limit(1u << 20, NULL, NULL);
    char *block = obb_malloc(SIZE, 1);
    memset(block, 2, SIZE);
    obb_free(block);
    const int s = dial();
    for (int i = 0; i < 3; i++) {
        await_stock(true);
        say(s, "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 300000\r\n\r\n");
        say_bytes(s, body, FIRST);
        await_stock(false);
        say_bytes(s, body + FIRST, SIZE - FIRST);
        ck_assert(!hear(s, heard, sizeof heard, PATIENCE_MS));
        ck_assert_msg(strstr(heard, "\r\n\r\n300000 300000") != NULL, "%s", heard);
    }
    await_stock(true);
    close(s);
    obb_stock_set_limit(0, NULL, NULL);
}
END_TEST

START_TEST(who_sends_too_much_reads_why)
{
    static char body[4u << 20];
    char heard[4096];
    /* declared: refused at the headers, while the client goes on sending all of it before it
     * reads */
    int s = dial();
    say(s, "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 4194304\r\n\r\n");
    say_bytes(s, body, sizeof body / 8);
    ck_assert(hear(s, heard, sizeof heard, 1000));
    ck_assert_int_eq(status_of(heard), 413);
    close(s);
    /* in chunks: refused when it is too much, and what is left forgotten */
    s = dial();
    say(s, "POST /count HTTP/1.1\r\n" H TYPE "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 4; i++) {
        say(s, "80000\r\n");
        say_bytes(s, body, 0x80000);
        say(s, "\r\n");
    }
    say(s, "0\r\n\r\n");
    (void)hear(s, heard, sizeof heard, PATIENCE_MS);
    ck_assert_int_eq(status_of(heard), 413);
    close(s);
}
END_TEST

START_TEST(bodies_in_flight_share_a_budget)
{
    static char body[1u << 20];
    char heard[4096];
    int senders[8];
    for (int i = 0; i < 8; i++) { /* 8 MB is the budget: each holds 1 MB less a byte of the body */
        senders[i] = dial();
        say(senders[i], "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 1048576\r\n\r\n");
        say_bytes(senders[i], body, sizeof body - 1);
    }
    while (obb_budget_used(&budget) < 7u << 20) /* until all eight have drawn, and not just seven */
        wait_ms(1);
    const struct exchange small = {"GET /hello HTTP/1.1\r\n" H "\r\n", 200, false, "hello", 0};
    check(&small, 1);
    const int s = dial();
    say(s, "POST /count HTTP/1.1\r\n" H TYPE "Content-Length: 1048576\r\n\r\n");
    say_bytes(s, body, sizeof body);
    (void)hear(s, heard, sizeof heard, PATIENCE_MS);
    ck_assert_int_eq(status_of(heard), 503);
    ck_assert_ptr_nonnull(strstr(heard, "Retry-After: 1"));
    close(s);
    for (int i = 0; i < 8; i++)
        close(senders[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("body");
    TCase *tc = http_case(suite, setup);
    tcase_add_test(tc, bodies_of_any_size_arrive_whole);
    tcase_add_test(tc, a_body_lies_in_a_block_in_stock_and_gives_it_back);
    tcase_add_test(tc, who_sends_too_much_reads_why);
    tcase_add_test(tc, bodies_in_flight_share_a_budget);
    return test_main(suite);
}
