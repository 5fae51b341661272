/*
 * watch_right - a watch goes on only while its user may watch.
 *
 * Rights are decided when a request comes, and a watch may last for an hour. So each watch asks
 * again every 15 to 25 s: whether the account, pod or node is there that its token is bound to,
 * and whether the user, or the one who impersonates, still has the right. When not, it ends, and
 * the client that comes again is refused.
 *
 * Threads: the stream's loop; the question itself is decided at the state.
 */
#ifndef SERVER_GATE_WATCH_RIGHT_H
#define SERVER_GATE_WATCH_RIGHT_H

struct exchange;
struct watch_right;

/* For a watch that is about to start on the exchange's stream; in the stream's memory. */
struct watch_right *watch_right_new(struct exchange *x);

/* The watch is over. */
void watch_right_end(struct watch_right *r);

#endif
