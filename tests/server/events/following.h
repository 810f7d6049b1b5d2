/* Clients that follow scenes of the service in this process, over real sockets. For the programs of
 * this folder: each includes it once. */
#ifndef TEST_SERVER_FOLLOWING_H
#define TEST_SERVER_FOLLOWING_H

#include "tests/server/service.h"
#include "tests/support/follower.h"

#include <time.h>

__attribute__((unused)) static void follow(struct follower *f, const char *path, const char *last)
{
    follower_open(f, dial(), path, last);
}

__attribute__((unused)) static void expect(struct follower *f, const char *event, long id,
                                           const char *data)
{
    struct follower_message message;
    ck_assert_msg(follower_next(f, FOLLOWER_PATIENT, &message), "no %s came: %s", event, f->text);
    ck_assert_str_eq(message.event, event);
    ck_assert_msg(strstr(message.data, data) != NULL, "%s instead of %s", message.data, data);
    ck_assert_msg(message.id == id, "%s: id %ld, not %ld", event, message.id, id);
}

static inline void expect_nothing(struct follower *f)
{
    struct follower_message message;
    follower_await(f);
    ck_assert_msg(!follower_next(f, 50, &message), "%s", message.event);
    ck_assert(!f->ended);
}

#define BOX(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"

#endif
