/*
 * sim - a seeded, simulated world for tests.
 *
 * Its loops implement loop.h, conn.h and listener.h, so servers, clients and whole roles run in it
 * unchanged. It simulates many hosts in one process and one thread, with a virtual clock, a network
 * that delays, splits and breaks, and children, signals and folders controlled by the test. Nothing
 * waits for real time.
 *
 * The seed determines everything: which of the loops with something due gets the next turn, which
 * events that turn delivers and in which order, how bytes are split, and how long they travel.
 * Every order that independent loops and connections can show in reality may occur. Things that are
 * ordered in reality (the bytes of a connection, the posts of one sender) stay in order. Equal
 * seeds give equal runs, as long as the code under test takes its randomness from loop_prng() and
 * its time from its loop.
 *
 * Assertions check that time never goes back, that no callback comes after a free, that a crashed
 * host gets no events, and that only a loop's own turn (or the test, between turns) touches its
 * objects. So a call from the wrong thread in reality is a failed assertion here.
 * Threads: everything belongs to the one thread that runs it.
 */
#ifndef NET_SIM_SIM_H
#define NET_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/compiler.h"
#include "base/core/str.h"

struct loop;
struct loop_child_opts;
struct sim;

/* How a child process behaves. All zero: it exits with status 0 immediately. */
struct sim_fate {
	bool missing; /* the program does not exist: -ERR_NOT_FOUND */
	int64_t after_ms; /* it ends by itself after this time; -1: never */
	int status, signal; /* with these */
	int64_t term_ms; /* SIGTERM: 0: kills it; > 0: exits with 0 so much later; -1: ignored */
};

/* Zero means the default. Probabilities are from 0 to 1. */
struct sim_opts {
	uint64_t seed;
	/* One-way latency between two hosts; 50 and 2000. Within a host it is a tenth of that. */
	int64_t latency_min_us, latency_max_us;
	/* Most bytes in flight in one direction, drawn for each connection; 64 KiB. */
	size_t pipe_max;
	double refuse; /* probability that a connect fails though there is a listener; 0 */
	double lose; /* probability that a delivery loses its connection instead; 0 */
	double stall; /* probability that a loop stalls after a turn; 0 */
	int64_t stall_max_ms; /* longest stall; 100 */
	int64_t give_up_ms; /* until unacknowledged bytes end a connection, like TCP; 900 s */
	/*
	 * The longest time until an idle end notices that its connection is lost, or the peer's
	 * machine is down, like TCP keep-alive; 0: it never notices.
	 */
	int64_t keepalive_ms;
	/*
	 * Listening on a unix path creates a real socket file there, for code that looks into
	 * folders. Watches report it, it is removed with the listener, and a crash leaves it
	 * behind.
	 */
	bool unix_files;
	/* Decides how a child behaves before it starts; NULL: no program exists. */
	void (*spawn)(void *arg, const struct loop_child_opts *opts, struct sim_fate *ret_fate);
	/* Gets one line per event, without newline, borrowed; NULL: no trace. */
	void (*trace)(void *arg, struct str line);
	void *arg; /* for both */
};

struct sim *sim_new(const struct sim_opts *opts);

/* All loops must have been freed. NULL allowed. */
void sim_free(struct sim *s);

/*
 * Makes a loop on the named host; the first loop creates the host. Loops with the same name are
 * threads of one host: they share its wall clock, signals, network address and crash. A loop made
 * with the name of a crashed host restarts that host.
 *
 * Free it with loop_free(). As in reality, close everything opened on it before; posted messages
 * and deferred tasks still run. After loop_stop() it gets no turns. loop_run() runs the whole
 * world until the loop is stopped, or nothing is left to happen; do not call it within a turn.
 */
struct loop *sim_loop_new(struct sim *s, const char *host);

/* --- time ------------------------------------------------------------------ */

/*
 * Moves time to the next event, and runs one turn of one loop. Returns false if nothing can happen
 * any more, unless the test does something.
 */
bool sim_step(struct sim *s);

/* Runs turns until this much time has passed. Time passes even if nothing happens. */
void sim_run_for(struct sim *s, int64_t ms);

/* Runs turns until the condition holds, checked between turns. Returns false if time runs out. */
bool sim_run_until(struct sim *s, bool (*holds)(void *arg), void *arg, int64_t max_ms);

/* Milliseconds since the start of the world; and the number of turns. */
int64_t sim_elapsed_ms(const struct sim *s);
uint64_t sim_turns(const struct sim *s);

/* Changes the wall clock of the loop's host by `ns`. Every world starts in 2024. */
void sim_skew(struct loop *l, int64_t ns);

/* --- network ----------------------------------------------------------------- */

/*
 * Addresses are only names, in one name space for all hosts: a connect reaches the listener with
 * the same text. In addition, a listener on any address ("[::]", "0.0.0.0") is reached by every
 * address with its port, and "host:port" reaches a listener on that port of the named host.
 * Listening on port 0 gets a free one. Without a listener a connect is refused.
 *
 * sim_cut() stops all traffic between two hosts (NULL: any), in both directions: connects get no
 * reply, bytes wait. sim_heal() undoes the cut that was made with the same names; with NULL, NULL
 * it undoes all cuts.
 */
void sim_cut(struct sim *s, const char *a, const char *b);
void sim_heal(struct sim *s, const char *a, const char *b);

/*
 * Loses each connection with this probability. Bytes in flight are lost. An end notices after the
 * latency, or only when it next writes; an end of a unix socket always after the latency. Returns
 * the number of lost connections.
 */
size_t sim_break_conns(struct sim *s, double chance);

/* The number of ends that are not freed, including those that wait to be accepted. */
size_t sim_conns(const struct sim *s);

enum sim_crash {
	SIM_CRASH_PROCESS, /* the kernel closes its sockets: peers see an end or a reset */
	SIM_CRASH_MACHINE, /* silence until the host is restarted or the peer times out */
};

/*
 * Crashes the loop's host: none of its loops gets a turn, so timers, tasks and messages never run.
 * Don't call it from a turn of that host.
 *
 * The test must free the memory of the code that ran there. Code that can be freed by its usual
 * functions may be freed that way: nobody else notices. Code that frees itself only when its
 * connection fails needs sim_loop_bury(). loop_free() frees remaining conns, listeners and handles.
 * It drops messages in the inbox, and still runs tasks, because they complete frees.
 */
void sim_loop_crash(struct loop *l, enum sim_crash how);

/*
 * Lets the code of a crashed host free its memory, cut off from the world: the inbox runs, all
 * conns fail, and deferred tasks run until none is left. Timers do not run.
 */
void sim_loop_bury(struct loop *l);

/*
 * For code that frees itself only after waiting: fires the next timer of a crashed host, with its
 * loops' time moved to it, and then does the same as sim_loop_bury(). The world's time stays.
 * Returns false if there is no timer.
 */
bool sim_loop_bury_timer(struct loop *l);

/* The loop's host gets no turn for this time, as after SIGSTOP; events wait. */
void sim_pause(struct loop *l, int64_t ms);

/* Ends all random failures, losses and stalls from now on, and all present stalls. */
void sim_calm(struct sim *s);

/* --- signals and folders ------------------------------------------------------- */

/* Runs the signal's handlers on all loops of the host, soon. Pending signals merge. */
void sim_raise(struct loop *l, int signum);

/*
 * Folders are names, too, and exist until sim_rmdir(). sim_touch() reports that an entry has
 * changed: watches get an event, possibly merged, possibly without the name. sim_rmdir() ends them
 * with -ERR_NOT_FOUND; new watches get the same, until sim_mkdir().
 */
void sim_touch(struct sim *s, const char *path, const char *name);
void sim_rmdir(struct sim *s, const char *path);
void sim_mkdir(struct sim *s, const char *path);

DEFINE_CLEANUP(sim_free, struct sim *);

#endif
