/*
 * up_child - one child of `devplane up`: its process, its log, whether it is ready.
 *
 * The child's output comes through a pipe and goes into its log. Two messages in it are parsed:
 * the address at which a server is ready, and the address of a role's health endpoint, which is
 * then polled until the role is ready. supervisor.h decides whether a child that ends is
 * restarted. Threads: its loop's.
 */
#ifndef CLI_UP_CHILD_H
#define CLI_UP_CHILD_H

#include "base/report/log.h"
#include "cli/up/log.h"
#include "cli/up/roles.h"
#include "cli/up/supervisor.h"
#include "client/api/client.h"
#include "net/loop/loop.h"

struct up_child;

struct up_child_ops {
	/* Its state, pid or address has changed. */
	void (*on_change)(void *arg, struct up_child *c);
	/*
	 * Called before each start, to write its files. A failure counts as a failure of the child.
	 * `p` is the plan with memory that is freed after this start.
	 */
	int (*prepare)(void *arg, struct up_child *c, const struct up_plan *p, struct error *err);
	/* It ended; `verdict` says what follows. */
	void (*on_end)(void *arg, struct up_child *c, enum supervised_verdict verdict,
		       int64_t delay_ms);
};

struct up_child {
	struct loop *loop;
	struct up_plan *plan;
	const struct up_role *role;
	const struct up_child_ops *ops;
	void *arg;
	struct supervised supervised;
	struct up_log log;
	bool first; /* never was everything ready so far; the owner clears it */
	int in_fd; /* its next standard input, set by prepare() and closed here; 0: /dev/null */
	char url[128]; /* of a server: where it is ready; else its health endpoint; or "" */
	char failure[512]; /* why it ended last; or "" */

	/* Private. */
	struct loop_child *process; /* NULL: not running */
	struct loop_fd *reader;
	struct loop_timer again, ask, hurry;
	struct buf line;
	int fd; /* our end of its output */
	char said[512]; /* its last message about a failure */
	struct client *client;
	struct client_request request;
};

int up_child_init(struct up_child *c, struct loop *l, struct up_plan *p, const struct up_role *r,
		  struct error *err);

/* The arguments of a process that runs `words` in the role's sandbox; in the plan's arena. */
const char *const *up_child_argv(const struct up_plan *p, const struct up_role *r,
				 const char *const *words);

/* Starts it. A failure is reported as if the child had ended. */
void up_child_start(struct up_child *c);

/* Sends SIGTERM, or SIGKILL with `now`. on_end follows, even if it does not run. */
void up_child_stop(struct up_child *c, bool now);

/*
 * Shuts it down, so that it is restarted; `why` is reported as its last failure. If it does not
 * end, it is killed.
 */
void up_child_restart(struct up_child *c, const char *why);

/* 0: not running. */
int up_child_pid(const struct up_child *c);

/* It must not be running. */
void up_child_release(struct up_child *c);

#endif
