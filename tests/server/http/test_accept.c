/* Accepting connections, up to the limit. */
#include "tests/server/http_service.h"

static void setup_few(void) { start_with(4, 8u << 20, NULL, 0, NULL); }

START_TEST(beyond_the_limit_clients_wait_their_turn)
{
    char heard[1024];
    int clients[4];
    for (int i = 0; i < 4; i++) {
        clients[i] = dial();
        say(clients[i], "GET /hello HTTP/1.1\r\n" H "\r\n");
        ck_assert(!hear(clients[i], heard, sizeof heard, 30));
        ck_assert_int_eq(status_of(heard), 200);
    }
    const int fifth = dial(); /* in the backlog */
    say(fifth, "GET /hello HTTP/1.1\r\n" H "\r\n");
    ck_assert(!overhear(fifth, heard, sizeof heard, 50));
    ck_assert_str_eq(heard, "");
    close(clients[2]);
    ck_assert(!hear(fifth, heard, sizeof heard, PATIENCE_MS));
    ck_assert_int_eq(status_of(heard), 200);
    close(fifth);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            close(clients[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("accept");
    TCase *tc = http_case(suite, setup_few);
    tcase_add_test(tc, beyond_the_limit_clients_wait_their_turn);
    return test_main(suite);
}
