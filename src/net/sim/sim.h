/*
 * sim - a seeded world that stands in for the real one.
 *
 * Its loops implement loop.h, conn.h and listener.h, so servers, clients and
 * whole roles run in it unchanged: many hosts in one process and one thread,
 * with a virtual clock, a network that delays, cuts and breaks, and children,
 * signals and folders that do what the test says. Nothing waits for real time.
 *
 * Everything is drawn from the seed: which loop gets the next turn of those
 * that have something due, what of it that turn brings and in which order, how
 * bytes are cut, how long they travel. Any order that independent loops and
 * connections may show in reality may come up. What reality keeps in order
 * (the bytes of a connection, the posts of one sender) stays in order. Equal
 * seeds give equal runs, as long as the code under test takes its randomness
 * from loop_prng() and its time from its loop.
 *
 * The simulation checks by assert that time never goes back, that nobody is
 * called after a free, that a crashed host hears nothing, and that only a
 * loop's own turn (or the test, between turns) touches what belongs to it: a
 * wrong thread in reality is a failed assert here.
 * Threads: all of it belongs to the one thread that runs it.
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

/* What becomes of a child process. All zero: it exits with status 0 at once. */
struct sim_fate {
	bool missing; /* there is no such program: -ERR_NOT_FOUND */
	int64_t after_ms; /* it ends by itself after this time; -1: never */
	int status, signal; /* and that is how */
	int64_t term_ms; /* SIGTERM: 0: it dies of it; > 0: exits 0 so much later; -1: ignored */
};

/* Zero means the default. Chances are from 0 to 1. */
struct sim_opts {
	uint64_t seed;
	/* One way between two hosts; 50 and 2000. Within a host it is a tenth of that. */
	int64_t latency_min_us, latency_max_us;
	/* Most bytes on their way in one direction, drawn anew for each; 64 KiB. */
	size_t pipe_max;
	double refuse; /* chance that a connect fails though somebody listens; 0 */
	double lose; /* chance of each delivery to lose its connection instead; 0 */
	double stall; /* chance of each turn to be followed by a hold-up of the loop; 0 */
	int64_t stall_max_ms; /* how long that lasts at most; 100 */
	int64_t give_up_ms; /* unacknowledged bytes end a connection, as TCP does; 900 s */
	/*
	 * The longest that an end does not notice that the connection is lost, or the peer's
	 * machine down, without writing, as TCP's keep-alive has it; 0: it never does.
	 */
	int64_t keepalive_ms;
	/*
	 * Who listens on a unix path has a real file of that type there, as who looks into folders
	 * expects it: their watches are told, it goes with the listener, and a crash leaves it.
	 */
	bool unix_files;
	/* Decides about a child before it starts; NULL: no program exists. */
	void (*spawn)(void *arg, const struct loop_child_opts *opts, struct sim_fate *ret_fate);
	/* One line per event, without newline, borrowed; NULL: none. */
	void (*trace)(void *arg, struct str line);
	void *arg; /* of both */
};

struct sim *sim_new(const struct sim_opts *opts);

/* All loops must have been freed. NULL allowed. */
void sim_free(struct sim *s);

/*
 * A loop on the host of that name, which is made by its first loop. Loops of
 * one name are threads of one host: they share its wall clock, its signals, its
 * place in the network and its end. A loop made under the name of a crashed
 * host restarts that host.
 *
 * loop_free() frees it: as in reality, what was opened on it is closed before,
 * and what is posted or deferred still runs. loop_stop() means that it gets no
 * more turns. loop_run() runs the whole world until the loop is stopped, or
 * nothing is left to happen; it is not for use inside a turn.
 */
struct loop *sim_loop_new(struct sim *s, const char *host);

/* --- time ------------------------------------------------------------------ */

/*
 * One turn of one loop, after moving the time to when there is something to
 * do. False when nothing can ever happen again, unless the test does it.
 */
bool sim_step(struct sim *s);

/* Turns until so much time has passed; it has passed in any case. */
void sim_run_for(struct sim *s, int64_t ms);

/* Turns until the condition holds, looked at between turns; false: it did not within the time. */
bool sim_run_until(struct sim *s, bool (*holds)(void *arg), void *arg, int64_t max_ms);

/* Milliseconds since the world began, and turns. */
int64_t sim_elapsed_ms(const struct sim *s);
uint64_t sim_turns(const struct sim *s);

/* Sets the wall clock of the loop's host off by so much; in all worlds it is 2024 at first. */
void sim_skew(struct loop *l, int64_t ns);

/* --- network ----------------------------------------------------------------- */

/*
 * Addresses are only names, in one name space for all hosts: a connect reaches
 * the listener with the same text. Besides, a listener on any address ("[::]",
 * "0.0.0.0") is reached by every address with its port, and "host:port" reaches
 * what listens on that port on the host of that name. Listening on port 0 gets
 * a free one. Without listener a connect is refused.
 *
 * sim_cut() stops all that travels between two hosts (NULL: any), both ways:
 * connects get no answer, bytes wait. sim_heal() lets them go on; it undoes the
 * cut that was made with the same names, or with NULL, NULL all cuts.
 */
void sim_cut(struct sim *s, const char *a, const char *b);
void sim_heal(struct sim *s, const char *a, const char *b);

/*
 * Loses each connection with this chance. What is on its way is gone. An end
 * hears of it after the latency, or only when it next writes; that of a unix
 * socket always after the latency. Returns how many.
 */
size_t sim_break_conns(struct sim *s, double chance);

/* Ends of connections that are not freed, those that wait to be accepted included. */
size_t sim_conns(const struct sim *s);

enum sim_crash {
	SIM_CRASH_PROCESS, /* the kernel closes its sockets: peers see an end or a reset */
	SIM_CRASH_MACHINE, /* silence until the host is restarted or the peer gives up */
};

/*
 * Ends the loop's host: none of its loops gets a turn, so timers, tasks and
 * messages never run. Not to be called from a turn of that host.
 *
 * The memory of what ran there is the test's business. What its code can free
 * by the usual verbs may be freed so: they reach nobody. What frees itself only
 * when its connection fails needs sim_loop_bury(). Conns, listeners and handles
 * that nobody freed go with loop_free(); messages in the inbox are dropped as
 * they are, and tasks still run there, for they are how frees end.
 */
void sim_loop_crash(struct loop *l, enum sim_crash how);

/*
 * Lets the code of a crashed host take note, cut off from the world, so that it
 * frees what it holds: the inbox runs, all conns fail, deferred tasks run until
 * none is left. Timers do not.
 */
void sim_loop_bury(struct loop *l);

/*
 * For code that frees itself only after waiting: the next timer of a crashed host fires, with the
 * loops' time moved on to it, and what follows from it is buried as above. The world's time stays.
 * False: it has no timer.
 */
bool sim_loop_bury_timer(struct loop *l);

/* The loop's host gets no turn for so long, as after SIGSTOP; what comes meanwhile waits. */
void sim_pause(struct loop *l, int64_t ms);

/* From now on nothing is refused, lost or held up by chance, and nobody is held up any more. */
void sim_calm(struct sim *s);

/* --- signals and folders ------------------------------------------------------- */

/* The signal's handlers on all loops of the host run soon; pending ones merge. */
void sim_raise(struct loop *l, int signum);

/*
 * Folders are names, too, and exist until sim_rmdir(). sim_touch() says that an
 * entry of one has changed: its watches hear of it, perhaps merged, perhaps
 * without the name. sim_rmdir() ends them with -ERR_NOT_FOUND, which is also
 * what new watches get, until sim_mkdir().
 */
void sim_touch(struct sim *s, const char *path, const char *name);
void sim_rmdir(struct sim *s, const char *path);
void sim_mkdir(struct sim *s, const char *path);

DEFINE_CLEANUP(sim_free, struct sim *);

#endif
