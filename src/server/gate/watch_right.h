/*
 * watch_right - ends a watch when its user loses the right to watch.
 *
 * A request is authorized when it arrives, but a watch may last for an hour. So each watch is
 * checked again every 15 to 25 s: whether the account, pod or node that its token is bound to
 * still exists, and whether the user and the impersonator, if any, still have the right. If not,
 * the watch ends. When the client reconnects, it is rejected.
 *
 * Threads: the stream's loop; the check itself runs on the state's loop.
 */
#ifndef SERVER_GATE_WATCH_RIGHT_H
#define SERVER_GATE_WATCH_RIGHT_H

struct exchange;
struct watch_right;

/* For a watch that is about to start on the exchange's stream; allocated in the stream's memory. */
struct watch_right *watch_right_new(struct exchange *x);

/* The watch has ended. */
void watch_right_end(struct watch_right *r);

#endif
