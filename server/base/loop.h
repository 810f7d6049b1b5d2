/* The event loop: the one thread that owns scenes and connections. A narrow face over libuv, which no other file but
 * pool.c knows.
 *
 * Everything here is called on the loop's thread. Callbacks run one at a time and never from inside the call that
 * asked for them. */
#ifndef SRV_LOOP_H
#define SRV_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct srv_loop;
struct srv_timer;
struct srv_watch;
struct uv_loop_s;

typedef void srv_callback(void *context);

/* false: no memory or no descriptors left. */
bool srv_loop_create(struct srv_loop **out);

/* Closes the loop after the last callbacks of closed timers and watches have run. NULL is fine. All timers and watches must have
 * been destroyed, and no job may be under way in a pool. */
void srv_loop_destroy(struct srv_loop *loop);

void srv_loop_run(struct srv_loop *loop);  /* returns after srv_loop_stop */
void srv_loop_stop(struct srv_loop *loop); /* from now on no turn is taken */

/* Monotonic milliseconds, taken once a turn: good for deadlines. */
uint64_t srv_loop_now_ms(const struct srv_loop *loop);

/* Monotonic seconds read now; any thread. Good for measuring. */
double srv_clock(void);

/* Work that must be done at most once each time the loop goes round, whatever asked for it: `turn` is called before the loop
 * sleeps and after it wakes, when srv_loop_due was called since. It returns true to be called again without
 * sleeping. One per loop. */
typedef bool srv_turn(void *context);
void srv_loop_set_turn(struct srv_loop *loop, srv_turn *turn, void *context);
void srv_loop_due(struct srv_loop *loop);

/* Calls `callback` on each of SIGINT, SIGTERM and, where hangup is not NULL, that one on SIGHUP. Once per loop; until
 * the loop is destroyed. false: the system refused. */
bool srv_loop_signals(struct srv_loop *loop, srv_callback *callback, srv_callback *hangup,
                      void *context);

bool srv_timer_create(struct srv_loop *loop, srv_callback *callback, void *context,
                      struct srv_timer **out);
void srv_timer_start(struct srv_timer *timer, uint64_t in_ms, uint64_t then_every_ms); /* 0: once */
void srv_timer_destroy(struct srv_timer *timer); /* NULL is fine */

enum { SRV_READABLE = 1, SRV_HANGUP = 2 }; /* HANGUP: the other side has closed its half */

/* Calls `callback` while one of `events` holds on the descriptor, which stays the caller's and must be open until the
 * watch is destroyed. */
typedef void srv_watch_callback(void *context, unsigned events);
bool srv_watch_create(struct srv_loop *loop, int descriptor, unsigned events,
                      srv_watch_callback *callback, void *context, struct srv_watch **out);
void srv_watch_pause(struct srv_watch *watch); /* until srv_watch_go; both may be repeated */
void srv_watch_go(struct srv_watch *watch);
void srv_watch_destroy(struct srv_watch *watch); /* NULL is fine */

const char *srv_loop_version(void); /* of libuv */

/* For pool.c. */
struct uv_loop_s *srv_loop_uv(struct srv_loop *loop);

#endif
