/*
 * sim_impl - private to the sim files: the parts of the world.
 *
 * sim.c has time and turns, sim/host.c hosts and their crashes, sim/conn.c the two ends of a
 * connection, sim/pipe.c the bytes between them, sim/net.c the reachability of hosts, sim/handles.c
 * signals, folders and children.
 */
#ifndef NET_SIM_SIM_IMPL_H
#define NET_SIM_SIM_IMPL_H

#include <assert.h>

#include "net/loop/backend.h"
#include "net/loop/filter.h"
#include "net/sim/pipe.h"
#include "net/sim/sim.h"

/* Several loops of one name, as threads of a process. */
struct sim_host {
	struct list link;
	char *name;
	unsigned number; /* determines its network address */
	unsigned nloops; /* ever created */
	int64_t skew; /* ns */
	bool down; /* the machine crashed: nothing answers */
};

/*
 * Something that can happen on a loop. A source lives until the end of the turn in which it was
 * closed; a closed one is never fired.
 */
struct sim_source {
	struct sim_loop *loop; /* NULL: not on a loop */
	int64_t due; /* ns; SIM_NEVER: nothing is due */
	size_t at; /* in the loop's list */
	void (*fire)(struct sim_source *s); /* called when due; must set a new `due` */
	void (*crash)(struct sim_source *s, enum sim_crash how); /* may be NULL */
	void (*bury)(struct sim_source *s); /* the host is dead: its owner may free it; or NULL */
	void (*destroy)(struct sim_source *s);
	struct list grave;
};

struct sim_loop {
	struct loop loop;
	struct clock clock;
	struct sim *sim;
	struct sim_host *host;
	unsigned thread; /* number within the host */
	VEC(struct sim_source *) sources;
	struct sim_source inbox;
	struct list handovers; /* accepted connections in the inbox */
	int64_t timer_due; /* ns */
	int64_t next; /* ns: the earliest source; not known when stale */
	int64_t held_until; /* ns: no turn before this time */
	bool stale;
	bool stopped, crashed;
};

/* An address with a listener, or one before the machine crashed. */
struct sim_port {
	struct list link;
	struct addr at;
	struct sim_host *host;
	struct sim_listener *listener; /* NULL: the machine is down */
};

struct sim_cut {
	struct sim_host *a, *b; /* NULL: any */
};

struct sim {
	struct sim_opts opts; /* defaults filled in */
	struct prng prng;
	int64_t now; /* ns, monotonic */
	uint64_t turns;
	struct sim_loop *running; /* the loop whose turn it is */
	VEC(struct sim_loop *) loops;
	VEC(struct sim_source *) ready; /* of the present turn */
	VEC(struct sim_cut) cuts;
	VEC(char *) removed; /* folders */
	struct list hosts, ports, ends, graves;
	unsigned next_conn, next_port;
	int next_pid;
};

/* An end or an error of the connection, in flight like bytes. */
struct sim_notice {
	bool sent;
	int64_t due; /* ns; SIM_NEVER: the path is cut */
};

enum sim_conn_state {
	SIM_DIALING, /* no reply yet */
	SIM_ANSWERED, /* established; the owner is notified at open_due */
	SIM_WAITING, /* established; can be accepted from open_due on */
	SIM_OPEN,
};

/* One end of a connection. */
struct sim_conn {
	struct conn conn;
	struct sim_source src;
	struct list link; /* the world's ends */
	struct list backlog; /* SIM_WAITING: the listener's */
	struct sim *sim;
	struct sim_conn *peer; /* NULL: written bytes reach nobody */
	struct sim_host *near, *far; /* far NULL: unknown yet */
	unsigned id; /* of the connection */
	bool server; /* the accepting end */
	enum sim_conn_state state;
	struct sim_pipe in;
	struct sim_notice eof, error;
	int error_code; /* errno */
	int64_t open_due; /* ns: see the states */
	int64_t writable_due; /* ns */
	int64_t last_due; /* ns: later bytes must not arrive earlier */
	bool want_write; /* a write fell short */
	bool shut; /* writing has ended */
	bool eof_told;
	bool dead; /* an error was reported */
	bool giving_up; /* `error` is a TCP timeout: it fails unless the path opens */
	struct addr peer_addr;
};

static inline struct sim_loop *sim_loop_of(struct loop *l)
{
	return CONTAINER_OF(l, struct sim_loop, loop);
}

/* Objects of a loop may be touched in its turn, by the test, or when its host is dead. */
static inline void sim_check_thread(const struct sim_loop *l)
{
	assert(!l->sim->running || l->sim->running == l || l->crashed);
	(void)l;
}

/* --- sim.c ---------------------------------------------------------------------- */

bool sim_chance(struct sim *s, double chance);
bool sim_coin(struct sim *s);
/* Uniform, both ends included. */
int64_t sim_between(struct sim *s, int64_t min, int64_t max);

/* "time host/thread text"; l may be NULL. */
void sim_trace(struct sim *s, const struct sim_loop *l, const char *fmt, ...) PRINTF_LIKE(3, 4);

void sim_source_add(struct sim_source *src, struct sim_loop *l);
void sim_source_set(struct sim_source *src, int64_t due);
/* Removes it from its loop; destroyed after the turn. */
void sim_source_close(struct sim_source *src);
/* Call it after the turn. */
void sim_destroy_closed(struct sim *s);

/* --- sim/host.c ------------------------------------------------------------------- */

/* The host of that name, created if new. NULL for NULL. */
struct sim_host *sim_host_get(struct sim *s, const char *name);

/* --- sim/conn.c ------------------------------------------------------------------ */

struct sim_conn *sim_conn_new(struct sim *s, struct sim_host *near, struct sim_host *far,
			      const struct addr *peer);
/* Moves a conn made by the server's side to the loop. */
void sim_conn_adopt(struct sim_conn *c, struct sim_loop *l);
/* Reports a failure to the owner. */
void sim_conn_fail(struct sim_conn *c, const struct error *err);
/* Sends a reset to the peer. Used for waiting ends that nobody will accept. */
void sim_conn_refuse(struct sim_conn *c);
/* Handles a crash of its host. */
void sim_conn_crash(struct sim_conn *c, enum sim_crash how);
/* Loses the connection on its way. */
void sim_conn_break(struct sim_conn *c);
/* The path between the two hosts was cut; or it may be open again. */
void sim_conn_hold(struct sim_conn *c);
void sim_conn_resend(struct sim_conn *c);

/* --- sim/net.c ------------------------------------------------------------------- */

bool sim_path_open(const struct sim *s, const struct sim_host *a, const struct sim_host *b);
int64_t sim_latency(struct sim *s, const struct sim_host *a, const struct sim_host *b);

/* Handles a connect that arrives at its address. */
void sim_conn_dial(struct sim_conn *c);
int sim_connect(struct loop *l, const struct addr *to, const struct conn_events *events, void *arg,
		struct conn **ret_conn, struct error *err);
int sim_listen(struct loop *l, const struct addr *at, const struct listener_opts *opts,
	       struct listener **ret_listener, struct error *err);
/* The host is back: replies to those that wait for it. */
void sim_host_restart(struct sim *s, struct sim_host *host);
/* Accepted connections in the inbox of a host that crashes, or of a loop that is freed. */
void sim_handovers_crash(struct sim_loop *l, enum sim_crash how);
void sim_handovers_drop(struct sim_loop *l);

/* --- sim/handles.c --------------------------------------------------------------- */

int sim_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		   struct loop_signal **ret_signal, struct error *err);
int sim_watch_new(struct loop *l, const char *path,
		  void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		  struct loop_watch **ret_watch, struct error *err);
int sim_fd_new(struct loop *l, int fd, void (*fn)(void *arg), void *arg, struct loop_fd **ret_fd,
	       struct error *err);
int sim_child_new(struct loop *l, const struct loop_child_opts *opts, struct loop_child **ret_child,
		  struct error *err);

#endif
