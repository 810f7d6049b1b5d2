/* The event loop: the one thread that owns scenes and connections. A narrow face over libuv, which
 * only this room knows.
 *
 * All functions except srv_clock and srv_bell_ring are called on the loop's thread. Callbacks run
 * one at a time, and never inside the call that asked for them. */
#ifndef SRV_LOOP_H
#define SRV_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct srv_bell;
struct srv_loop;
struct srv_timer;
struct srv_watch;
struct uv_loop_s;

typedef void srv_callback(void *context);

/* Returns false without memory or descriptors. */
bool srv_loop_create(struct srv_loop **out);

/* Closes the loop. All timers and watches must have been destroyed, and no job may be under way in
 * a pool. Accepts NULL. */
void srv_loop_destroy(struct srv_loop *loop);

/* Runs callbacks until srv_loop_stop. */
void srv_loop_run(struct srv_loop *loop);

/* Runs the callbacks that are due, after waiting for one for at most `wait_ms`. For a caller that
 * runs the loop by hand. */
void srv_loop_step(struct srv_loop *loop, int wait_ms);

/* Ends srv_loop_run. No turn is taken any more. */
void srv_loop_stop(struct srv_loop *loop);

/* Returns monotonic milliseconds, read once a turn of the loop: precise enough for deadlines. */
uint64_t srv_loop_now_ms(const struct srv_loop *loop);

/* Returns monotonic seconds, read now: for measurements. Safe from any thread. */
double srv_clock(void);

/* A turn: work that several callbacks ask for and that is done once for all of them. If
 * srv_loop_due was called, the loop calls `turn` before it sleeps and after it wakes. `turn`
 * returns true to be called again before the loop sleeps. A loop has one turn; NULL removes it. */
typedef bool srv_turn(void *context);
void srv_loop_set_turn(struct srv_loop *loop, srv_turn *turn, void *context);
void srv_loop_due(struct srv_loop *loop);

/* Calls `rest` each time before the loop sleeps, after the turn. A loop has one; NULL removes
 * it. */
void srv_loop_set_rest(struct srv_loop *loop, srv_callback *rest, void *context);

/* Calls `callback` on each SIGINT and SIGTERM, and `hangup` on each SIGHUP, until the loop is
 * destroyed. If hangup is NULL, SIGHUP keeps its default. Called once for a loop. Returns false if
 * the system refuses. */
bool srv_loop_signals(struct srv_loop *loop, srv_callback *callback, srv_callback *hangup,
                      void *context);

/* Returns false without memory. */
bool srv_timer_create(struct srv_loop *loop, srv_callback *callback, void *context,
                      struct srv_timer **out);
/* Calls the callback in in_ms, then every then_every_ms; 0: once. A timer that was started before
 * forgets its earlier time. */
void srv_timer_start(struct srv_timer *timer, uint64_t in_ms, uint64_t then_every_ms);

/* Lets the timer rest until it is started anew. */
void srv_timer_stop(struct srv_timer *timer);

/* Stops and frees the timer. Accepts NULL. */
void srv_timer_destroy(struct srv_timer *timer);

/* HALF_CLOSED: the peer sends no more. HANGUP: both directions are closed, or the connection was
 * reset. A peer that sends urgent data is not watched for HANGUP any more. */
enum { SRV_READABLE = 1, SRV_HALF_CLOSED = 2, SRV_HANGUP = 4 };

/* A watch calls `callback` again and again while one of `events` holds on the descriptor. The
 * descriptor stays the caller's and must be open until the watch is destroyed. Returns false
 * without memory, or if the descriptor cannot be watched. */
typedef void srv_watch_callback(void *context, unsigned events);
bool srv_watch_create(struct srv_loop *loop, int descriptor, unsigned events,
                      srv_watch_callback *callback, void *context, struct srv_watch **out);

/* Stops the calls until srv_watch_go. Both may be repeated. */
void srv_watch_pause(struct srv_watch *watch);
void srv_watch_go(struct srv_watch *watch);

/* Watches for these events from now on, and goes. */
void srv_watch_change(struct srv_watch *watch, unsigned events);

/* Stops and frees the watch. Accepts NULL. */
void srv_watch_destroy(struct srv_watch *watch);

/* A bell: other threads ring it, and the loop then calls `callback`, once for all rings since the
 * call before. Returns false without memory or descriptors. */
bool srv_bell_create(struct srv_loop *loop, srv_callback *callback, void *context,
                     struct srv_bell **out);

/* Rings the bell. Safe from any thread while the bell exists. Costs a system call, or nothing if
 * the call of an earlier ring is still to come. */
void srv_bell_ring(struct srv_bell *bell);

/* Frees the bell, which no thread may ring any more. Accepts NULL. */
void srv_bell_destroy(struct srv_bell *bell);

const char *srv_loop_version(void); /* of libuv */

/* For pool.c. */
struct uv_loop_s *srv_loop_uv(struct srv_loop *loop);

#endif
